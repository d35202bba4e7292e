//! `scda attr`: attributes of datasets, groups and the file.

use crate::check::VerifyingReader;
use crate::datasets::{LAST_RECORD, attribute_lines, attributes_of};
use crate::fail::{Fail, Result};
use crate::files::{Input, LockedInput, OutputFile, Resources};
use crate::output::Output;
use crate::seal::check_all_sealed;
use crate::storage_options::StorageOptions;
use scda::DataType;
use scda_format::dataset::json::{MAX_DEPTH, checked, compact};
use scda_format::dataset::{group_user, stored_path, without_root};
use serde_json::Value;
use serde_json::value::RawValue;
use std::convert::Infallible;
use std::path::PathBuf;

/// Print or set attributes of a dataset, a group or the file
///
/// Prints the attributes, one in each line. KEY=VALUE sets an attribute, --remove removes one. Changes are
/// appended; what the file has stays. The file must be sealed, as by scda seal. A file that continues after
/// its last seal is refused: rewind removes the rest, salvage saves what is intact.
#[derive(clap::Args)]
#[command(after_help = "\
A VALUE that is valid JSON is used as such, any other as a string: time=1.50 is a number, time='\"1.50\"' a string; \
null removes the attribute. Numbers outside the range of float64 and duplicate keys are errors.

Examples:
  scda attr state.scda rho                    the attributes of a dataset
  scda attr state.scda rho units='kg m-3' valid_min=0
  scda attr state.scda flow/ scheme=hydro     the attributes of a group
  scda attr state.scda / title='A run' --remove time")]
pub struct Args {
    /// The file to read or change
    file: PathBuf,
    /// The name of a dataset; the path of a group, with a slash at its end if a dataset has the same name; or / for the
    /// file
    #[arg(value_parser = |name: &str| Ok::<_, Infallible>(without_root(name).to_owned()))]
    name: String,
    /// Attributes to set
    #[arg(value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Remove this attribute
    #[arg(long, value_name = "KEY")]
    remove: Vec<String>,
    /// If several datasets have this name, print or change number K: 0 is the first one, -1 the last one
    /// [default: -1]
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    record: Option<i64>,
    /// Print JSON, one object
    #[arg(long, conflicts_with_all = ["set", "remove"])]
    json: bool,
    #[command(flatten)]
    resources: Resources,
}

/// A dataset or group with its attributes.
struct Owner {
    /// The offset of its metadata.
    offset: u64,
    attributes: String,
    /// The type of a dataset; `None` for a group.
    data_type: Option<DataType>,
}

impl Args {
    fn is_group(&self) -> bool {
        self.name.ends_with('/')
    }

    /// Finds the object; `None` for a group without attributes.
    fn find(&self, input: &Input) -> Result<Option<Owner>> {
        let mut reader = input.open_damaged(false)?;
        let name = &self.name;
        let record = self.record.unwrap_or(LAST_RECORD);
        if !self.is_group()
            && let Some(dataset) = reader.dataset_record(name, record)?
        {
            let (attributes, data_type) = (dataset.attributes.clone(), Some(dataset.data_type));
            return Ok(Some(Owner { offset: dataset.metadata_section().offset, attributes, data_type }));
        }
        if self.record.is_some() && self.is_group() {
            return Err(Fail::Trouble("--record can be used with datasets only".to_owned()));
        }
        let count = reader.find_all(name.as_bytes())?.len();
        if self.record.is_some() && count > 0 {
            let words = format!("--record {record}: found {count} datasets of that name");
            return Err(Fail::file(input.name(), words));
        }
        let group = if self.record.is_none() { reader.group(name)? } else { None };
        let Some(group) = group else {
            let words = format_args!("there is no dataset or group named {name}");
            return if self.is_group() { Ok(None) } else { Err(Fail::file(input.name(), words)) };
        };
        let user = group_user(&stored_path(&group.path))?;
        let number = reader.find(user.as_bytes(), LAST_RECORD)?.unwrap_or(0);
        reader.seek_section(number)?;
        let offset = reader.next_section(true)?.map_or(0, |block| block.offset);
        Ok(Some(Owner { offset, attributes: group.attributes, data_type: None }))
    }

    /// The changes to the present attributes: an object in which `null` removes one.
    fn changes(&self, attributes: &str) -> Result<String> {
        let mut all: Vec<(&str, String)> = Vec::new();
        for key in &self.remove {
            if !attributes_of(attributes).iter().any(|member| member.key == *key) {
                return Err(Fail::Trouble(format!("--remove: there is no attribute {key}")));
            }
            all.push((key, "null".to_owned()));
        }
        for text in &self.set {
            let (key, value) = text
                .split_once('=')
                .filter(|(key, _)| !key.is_empty())
                .ok_or_else(|| Fail::Trouble(format!("found \"{text}\", expected KEY=VALUE")))?;
            // The attributes are two levels deep in the metadata.
            let value = match checked(value, MAX_DEPTH - 2) {
                Ok(()) => compact(value),
                Err(error) if serde_json::from_str::<&RawValue>(value).is_ok() => {
                    return Err(Fail::Trouble(format!("found \"{text}\": {error}")));
                }
                Err(_) => Value::from(value).to_string(),
            };
            all.retain(|(other, _)| *other != key);
            all.push((key, value));
        }
        let pairs: Vec<_> =
            all.into_iter().map(|(key, value)| format!("{}:{value}", Value::from(key))).collect();
        Ok(format!("{{{}}}", pairs.join(",")))
    }
}

pub fn run(args: &Args) -> Result<()> {
    let shows = args.set.is_empty() && args.remove.is_empty();
    if !shows && args.file.as_os_str() == "-" {
        return Err(Fail::Trouble("-: attributes can be set only in a file".to_owned()));
    }
    let locked = (!shows).then(|| LockedInput::new(&args.file)).transpose()?;
    let input = Input::new(&args.file, &args.resources)?.with_unsealed(true);
    if !shows {
        check_all_sealed(&input)?;
    }
    let mut from = (!shows).then(|| VerifyingReader::new(&input)).transpose()?;
    let owner = args.find(&input).or_else(|fail| {
        // Damage may have caused this.
        from.as_mut().map_or(Ok(()), VerifyingReader::compare_all)?;
        Err(fail)
    })?;
    let attributes = owner.as_ref().map_or("{}", |owner| &owner.attributes);
    let (Some(locked), Some(mut from)) = (locked, from) else {
        let mut out = Output::of_json(args.json)?;
        if args.json {
            out.text(format_args!("{attributes}\n"))?;
        } else {
            let data_type = owner.as_ref().and_then(|owner| owner.data_type);
            attribute_lines(attributes, data_type)
                .iter()
                .try_for_each(|line| out.text(format_args!("{line}\n")))?;
        }
        return out.finish();
    };
    if let Some(owner) = &owner {
        from.at(owner.offset)?;
    }
    let changes = args.changes(attributes)?;
    let storage = StorageOptions::default();
    let params = storage.params_like(&mut from.reader, &args.resources);
    if !from.reader.is_sealed() {
        return Err(Fail::file(input.name(), "is not sealed; after scda seal, attributes can be set"));
    }
    let mut output = OutputFile::append(&args.file, params, &[])?;
    // From here on, no other program writes the file.
    locked.check()?;
    output.writer()?.set_attributes(&args.name, args.record.unwrap_or(LAST_RECORD), &changes)?;
    output.finish()
}
