//! `scda attr`: attributes of datasets, groups and the file.

use crate::check::VerifyingReader;
use crate::datasets::{Item, LAST_RECORD, Walk, attribute_lines, attributes_of, by_index};
use crate::fail::{Fail, Result};
use crate::files::{Input, LockedInput, OutputFile, Resources};
use crate::output::{Output, complain};
use crate::seal::check_all_sealed;
use crate::storage_options::StorageOptions;
use scda::{Content, DataType, Section};
use scda_base::numbers::to_usize;
use scda_format::dataset::json::{MAX_DEPTH, checked, compact};
use scda_format::dataset::without_root;
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
    /// Which one of several datasets with this name: number K, from 0, or from -1, the last one, backwards
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
    block: Section,
    attributes: String,
    /// The type of a dataset; `None` for a group.
    data_type: Option<DataType>,
}

impl Args {
    fn is_group(&self) -> bool {
        self.name.ends_with('/')
    }

    /// This item as an owner of attributes, if it is a dataset or a group.
    fn owner(item: &Item) -> Option<Owner> {
        let (block, attributes, data_type) = match &item.content {
            Content::Dataset(dataset) => (&item.section, &dataset.attributes, Some(dataset.data_type)),
            Content::Group(group) => (item.others.first()?, &group.attributes, None),
            _ => return None,
        };
        Some(Owner { block: *block, attributes: attributes.clone(), data_type })
    }

    /// Finds the object; `None` for a group without attributes. With `compared`, sections that look like a dataset or
    /// group but are not one are compared with their checksums.
    fn find(&self, input: &Input, mut compared: Option<&mut VerifyingReader>) -> Result<Option<Owner>> {
        let mut reader = input.open_damaged(false)?;
        let start = reader.position().unwrap_or(0);
        let mut walk = Walk::new(input, false);
        let record = self.record.unwrap_or(LAST_RECORD);
        let indexed = by_index(&mut reader, |reader| {
            let number = reader.find(self.name.as_bytes(), record)?.and_then(|n| n.checked_sub(1));
            let item = number.map(|number| walk.at(reader, number)).transpose()?.flatten();
            Ok(item.as_ref().and_then(Self::owner))
        });
        let refused = self.is_group() && self.record.is_some();
        if let Some(owner) = indexed?.filter(|_| !refused) {
            return Ok(Some(owner));
        }
        reader.seek(start)?;
        walk.number = 0;
        let (mut found, mut faults, mut group) = (Vec::new(), Vec::new(), None);
        while let Some(item) = walk.next(&mut reader)? {
            let user: &[u8] = item.user();
            if user == self.name.as_bytes() {
                found.push(Self::owner(&item));
            }
            if user.strip_suffix(b"/") == Some(self.name.as_bytes()) {
                group = Self::owner(&item).or(group);
            }
            if let Some(fault) = item.fault() {
                compared.as_mut().map_or(Ok(()), |compared| compared.compare(&item))?;
                faults.push(fault.to_string());
            }
            item.skip(&mut reader)?;
        }
        let owners = found.iter().flatten().count();
        if found.is_empty() && group.is_some() && self.record.is_none() {
            return Ok(group);
        }
        if owners == 0 {
            // The damaged item may be the wanted one.
            faults.iter().for_each(|fault| complain(fault));
        }
        if self.is_group() {
            // The last attributes of a group in the file apply.
            return match self.record {
                None => Ok(found.into_iter().flatten().last()),
                Some(_) => Err(Fail::Trouble("--record can be used with datasets only".to_owned())),
            };
        }
        let (trouble, count) = (|words: String| Err(Fail::file(input.name(), words)), found.len() as u64);
        if owners == 0 {
            return trouble(format!("there is no dataset or group named {}", self.name));
        }
        // As in the library, sections of that name that are no datasets count, too.
        let back = count.checked_sub(record.unsigned_abs());
        let chosen = match u64::try_from(record).ok().or(back).filter(|&place| place < count) {
            Some(place) => found.swap_remove(to_usize(place)),
            None => return trouble(format!("--record {record}: found {count} datasets of that name")),
        };
        match chosen {
            Some(owner) => Ok(Some(owner)),
            None => trouble(format!("the section named {} is not a dataset", self.name)),
        }
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
    let owner = args.find(&input, from.as_mut()).or_else(|fail| {
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
        from.at(owner.block.offset)?;
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
