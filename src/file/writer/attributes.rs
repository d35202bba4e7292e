//! Attributes that are set when the file already has what they are for.

use super::{Writer, WriterState};
use crate::file::reader::{DatasetPlace, OwnReader};
use crate::file::team::{Failure, Function, Topic};
use scda_base::error::{Error, Result};
use scda_format::dataset::later::{self, ATTRIBUTES_CONVENTION, ATTRIBUTES_DATA, later_user};
use scda_format::dataset::{GROUP_CONVENTION, GROUP_DATA, group_user, metadata, stored_name, stored_path};
use serde_json::json;

impl Writer {
    /// Sets attributes of a dataset that is in the file already, of this job or an earlier one, or of a group; the others stay. The
    /// `changes` are a JSON object: a member that is `null` takes its attribute away.
    ///
    /// The name is that of a dataset, and `record` which of its name, as in [`Reader::dataset_record`](crate::Reader::dataset_record);
    /// or the path of a group with a slash at its end, `/` for the file itself, and `record` is not looked at. The file must be a sealed one
    /// ([`Params::seal`](crate::Params::seal)), and the attributes count with the next seal. They are appended: nothing in the file changes.
    ///
    /// ```
    /// use scda::{DataType, Dataset, Params, Reader, Region, Solo, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("state.scda");
    /// let mut params = Params::default();
    /// params.seal = true;
    /// let mut file = Writer::create(Solo, &path, b"my simulation", &params)?;
    /// file.dataset(&Dataset::new("rho", DataType::Uint8, [3]), &[Region::all(&[3])], b"abc")?;
    /// file.close()?;
    /// let mut file = Writer::append(Solo, &path, &params)?;
    /// file.set_attributes("rho", -1, r#"{"units": "kg m-3"}"#)?;
    /// file.set_attributes("/", -1, r#"{"title": "A run"}"#)?;
    /// file.close()?;
    /// let mut file = Reader::open(Solo, &path, &Params::default())?;
    /// let rho = file.dataset_record("rho", -1)?.expect("a dataset");
    /// assert_eq!(rho.attributes, r#"{"units":"kg m-3"}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` for a file without seals; `Argument` for a dataset that the file does not have, and what is no JSON object or sets
    /// `scda_name`; `Format` for a damaged dataset or group; those of [`Self::flush`].
    pub fn set_attributes(&mut self, name: &str, record: i64, changes: &str) -> Result<()> {
        self.session.operate(|state| {
            state.check_no_streams()?;
            state.set_attributes(name, record, changes)?;
            state.sections.end_call()
        })
    }
}

impl WriterState {
    fn set_attributes(&mut self, name: &str, record: i64, changes: &str) -> Result<(), Failure> {
        let team = &mut self.sections.team;
        team.note_call(Function::SetAttributes);
        team.note_bytes(Topic::Dataset, name.as_bytes());
        team.note_bytes(Topic::Dataset, changes.as_bytes());
        team.note(Topic::Number, record.cast_unsigned());
        if !self.sections.is_sealed() {
            let words = "attributes can be set later only in a file that was opened with params.seal";
            return Err(Error::usage(words).into());
        }
        self.sections.flush()?;
        let found = match self.sections.team.rank() {
            0 => self.sections.read_own(|own| changed(own, name, record, changes)),
            _ => Ok((0, String::new())),
        };
        let (data, text) = self.sections.tolerate(found, (0, String::new()))?;
        let [data, bytes] = self.sections.team.share(0, Ok([data, text.len() as u64]))?;
        if let Some(path) = group_path(name) {
            let user = group_user(&stored_path(path))?;
            return self.datasets().pair((GROUP_CONVENTION, GROUP_DATA), &user, bytes, text.as_bytes());
        }
        let name = stored_name(name);
        self.datasets().forget_extended(&name);
        let user = later_user(data, &name);
        self.datasets().pair((ATTRIBUTES_CONVENTION, ATTRIBUTES_DATA), &user, bytes, text.as_bytes())
    }
}

/// The path of the group that this name means; `None` if it means a dataset.
fn group_path(name: &str) -> Option<&str> {
    if name == "/" { Some(name) } else { name.strip_suffix('/').filter(|path| *path != "/") }
}

/// The text of the block with the new attributes; of a dataset, also where its data begin.
fn changed(own: &mut OwnReader, name: &str, record: i64, changes: &str) -> Result<(u64, String)> {
    if let Some(path) = group_path(name) {
        // The name of one that has none yet, if the user string does not tell it.
        let name = || if stored_path(path) == path { json!({}) } else { json!({ "scda_name": path }) };
        let present = own.group(path)?.unwrap_or_else(|| name().to_string());
        let attributes = later::changed(&present, changes)?;
        return Ok((0, metadata::of_group(&attributes)?));
    }
    let Some(DatasetPlace { data, dataset, .. }) = own.dataset(name, record)? else {
        return Err(Error::argument(format!("dataset \"{name}\": there is no record {record} of it")));
    };
    Ok((data, later::text(&later::changed(&dataset.attributes, changes)?)?))
}
