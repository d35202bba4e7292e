//! Sets attributes of datasets and groups that are already in the file.

use super::WriterState;
use crate::file::reader::{DatasetPlace, OwnReader};
use crate::file::team::{Failure, Function, Topic, on_rank_0};
use scda_base::error::{Error, Result};
use scda_format::dataset::additions::{self, ATTRIBUTES_CONVENTION, ATTRIBUTES_DATA, later_user};
use scda_format::dataset::{
    GROUP_CONVENTION, GROUP_DATA, group_user, metadata, named_group, stored_name, stored_path, without_root,
};
use serde_json::json;

impl WriterState {
    pub(super) fn set_attributes(&mut self, name: &str, record: i64, changes: &str) -> Result<(), Failure> {
        let name = without_root(name);
        let team = self.sections.team_mut();
        team.note_call(Function::SetAttributes);
        team.note_bytes(Topic::Dataset, &["the name"], name.as_bytes());
        team.note_bytes(Topic::Dataset, &["the attributes"], changes.as_bytes());
        team.note_named(Topic::Number, &["the record"], &[record.cast_unsigned()]);
        if !self.sections.is_sealed() {
            let words = "attributes can be set later only in a file that was opened with params.seal";
            return Err(Error::usage(words).into());
        }
        self.scheduler().place()?;
        self.sections.flush_for_rank_0()?;
        let found = on_rank_0(self.sections.team().rank(), || {
            self.sections.read_own(|own| changed(own, name, record, changes))
        });
        let (data, text) = self.sections.team_mut().tolerate(found, (None, String::new()))?;
        let words = [u64::from(data.is_none()), data.unwrap_or(0), text.len() as u64];
        let [is_group, data, bytes] = self.sections.team_mut().share(0, Ok(words))?;
        let (announcement, user) = if is_group == 1 {
            let path = named_group(name).unwrap_or(name);
            ((GROUP_CONVENTION, GROUP_DATA), group_user(&stored_path(path))?)
        } else {
            let name = stored_name(name);
            // Adding rows reads the dataset again.
            self.cache.extended.forget(&name);
            ((ATTRIBUTES_CONVENTION, ATTRIBUTES_DATA), later_user(data, &name))
        };
        self.plain().write_pair(announcement, user.as_bytes(), bytes, text.as_bytes())
    }
}

/// The text of the block with the new attributes and, for a dataset, the offset of its data. A name without a
/// slash at its end is that of a group if no dataset has it.
fn changed(own: &mut OwnReader, name: &str, record: i64, changes: &str) -> Result<(Option<u64>, String)> {
    let mut path = named_group(name);
    let dataset = if path.is_none() { own.dataset(name, record)? } else { None };
    let is_other = path.is_none() && dataset.is_none();
    if is_other && own.dataset(name, -1)?.is_none() && own.group(name)?.is_some() {
        path = Some(name);
    }
    if let Some(path) = path {
        // The full name of a group without attributes, if the user string is a shortened one.
        let name = || if stored_path(path) == path { json!({}) } else { json!({ "scda_name": path }) };
        let present = own.group(path)?.unwrap_or_else(|| name().to_string());
        let attributes = additions::changed(&present, changes)?;
        return Ok((None, metadata::of_group(&attributes)?));
    }
    let Some(DatasetPlace { data, dataset, .. }) = dataset else {
        return Err(Error::not_found(match own.dataset(name, -1)? {
            Some(_) => format!("dataset \"{name}\": there is no record {record} of it"),
            None => format!(
                "there is no dataset or group \"{name}\"; to begin the attributes of a group: \"{name}/\""
            ),
        }));
    };
    Ok((Some(data), additions::text(&additions::changed(&dataset.attributes, changes)?)?))
}
