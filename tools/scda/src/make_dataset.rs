//! Writes the datasets and groups of a description.

use crate::description_data::{Data, DescriptionError, Message, Object, brief, one};
use crate::fail::Fail;
use crate::files::OutputFile;
use crate::transfer::write_texts;
use scda::{Codec, DataType, Dataset, Encode, Layout};
use scda_codec::texts;
use scda_format::dataset::codecs::Codecs;
use scda_format::dataset::{fill, metadata, type_of_json};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;

type Members<'a> = HashMap<String, &'a RawValue>;

/// The sections of a description, in their original text.
pub fn raw_sections(text: &str) -> Vec<&RawValue> {
    let sections = || {
        let file: Members<'_> = serde_json::from_str(text).ok()?;
        serde_json::from_str(file.get("sections")?.get()).ok()
    };
    sections().unwrap_or_default()
}

/// The attributes of a section in their original text, so that numbers keep their digits.
pub fn attributes(section: Option<&&RawValue>) -> Option<String> {
    let section: Members<'_> = serde_json::from_str(section?.get()).ok()?;
    section.get("attributes").map(|attributes| attributes.get().to_owned())
}

/// Writes the attributes of a group.
pub fn group(
    output: &mut OutputFile,
    mut object: Object<'_>,
    attributes: Option<String>,
) -> Result<(), DescriptionError> {
    let path = name(&mut object)?;
    let _ = object.value("attributes");
    object.finish(&["number", "offset", "data_offset"])?;
    output.writer().map_err(words)?.group(&path, attributes.as_deref().unwrap_or("{}"))?;
    Ok(())
}

fn words(fail: Fail) -> DescriptionError {
    match fail {
        Fail::Scda(error) => DescriptionError::Writing(error),
        Fail::Invalid(words) | Fail::Trouble(words) => DescriptionError::Message(words),
        Fail::Said(_) | Fail::Quiet => DescriptionError::Message("the command has ended".to_owned()),
    }
}

fn name(object: &mut Object<'_>) -> Message<String> {
    String::from_utf8(object.user()?).map_err(|_| "user: expected UTF-8".to_owned())
}

/// A dataset of a description.
struct DatasetDescription {
    dataset: Dataset,
    /// True if its rows are compressed by the convention of the format.
    is_encoded: bool,
    data: Box<dyn Read>,
}

/// Writes a dataset. `level` is the level of compression of the file.
pub fn dataset(
    output: &mut OutputFile,
    object: Object<'_>,
    attributes: Option<String>,
    folder: &Path,
    level: u32,
) -> Result<(), DescriptionError> {
    let DatasetDescription { dataset, is_encoded, mut data } =
        DatasetDescription::new(object, attributes, folder)?;
    if dataset.data_type.is_variable() && !is_encoded {
        return write_texts(output.writer().map_err(words)?, &dataset, &mut data).map_err(words);
    }
    if !is_encoded {
        return Ok(output.writer().map_err(words)?.incremental().dataset(&dataset, &mut data)?);
    }
    let text = metadata::of_dataset(&dataset, &Codecs::of(&dataset, level))?;
    output.metadata(text, 0).map_err(words)?;
    let rows = dataset.shape.first().copied().unwrap_or(1);
    let row_bytes = dataset.shape.iter().skip(1).product::<u64>() * dataset.data_type.item_bytes();
    let writer = output.writer().map_err(words)?;
    Ok(writer.incremental().array(dataset.name.as_bytes(), rows, row_bytes, &mut data, Encode::Always)?)
}

impl DatasetDescription {
    fn new(mut object: Object<'_>, attributes: Option<String>, folder: &Path) -> Message<Self> {
        let name = name(&mut object)?;
        let data_type = object.value("data_type").ok_or("expected a \"data_type\", such as float64")?;
        let data_type = type_of(data_type)?;
        let shape = object.numbers("shape")?.ok_or("expected a \"shape\", a list of whole numbers")?;
        let mut dataset = Dataset::new(name, data_type, shape);
        let is_encoded = object.typed("encoded", "true or false", Value::as_bool)?.unwrap_or(false);
        set_storage(&mut dataset, &mut object)?;
        if is_encoded && dataset.layout != Layout::Contiguous {
            return Err("encoded: chunks are always compressed; leave it out".into());
        }
        if let Some(value) = object.value("fill_value") {
            dataset.fill_value = item(data_type, value).map_err(|words| format!("fill_value: {words}"))?;
        }
        let dimension = |value: &Value| match value {
            Value::Null => Ok(None),
            Value::String(name) => Ok(Some(name.clone())),
            other => Err(format!("dimension_names: found {}, expected a string or null", brief(other))),
        };
        if let Some(names) = object.list("dimension_names")? {
            dataset.dimension_names = names.iter().map(dimension).collect::<Message<_>>()?;
        }
        let _ = object.value("attributes");
        dataset.attributes = attributes.unwrap_or_else(|| "{}".to_owned());
        let bytes = dataset.data_bytes().map_err(|error| error.to_string())?;
        let data = items(&mut object, &dataset, bytes, folder)?;
        object.finish(&["number", "bytes", "stored_bytes", "offset", "data_offset"])?;
        Ok(Self { dataset, is_encoded, data })
    }
}

/// The type with this name, or in the form of the metadata.
fn type_of(value: &Value) -> Message<DataType> {
    let by_name = value.as_str().and_then(DataType::from_name);
    let found = by_name.map_or_else(|| type_of_json(value), |found| Ok(Some(found)));
    found
        .map_err(|error| format!("data_type: {error}"))?
        .ok_or_else(|| format!("data_type: found {}, which is no type of datasets", brief(value)))
}

/// Sets how the items are stored.
fn set_storage(dataset: &mut Dataset, object: &mut Object<'_>) -> Message<()> {
    let chunk = object.numbers("chunk")?;
    dataset.layout = match (object.text("layout")?, chunk) {
        (Some("contiguous") | None, None) => Layout::Contiguous,
        (Some("chunks") | None, shape) => Layout::Chunked { shape, text: false },
        (Some("text"), shape) => Layout::Chunked { shape, text: true },
        (Some("contiguous"), Some(_)) => return Err("chunk: contiguous data have none".into()),
        (Some(other), _) => {
            return Err(format!("layout: found \"{other}\", expected contiguous, chunks or text"));
        }
    };
    if let Some(codec) = object.text("codec")? {
        let known = || Codec::NAMES.map(|(_, name)| name).join(", ");
        dataset.codec = Codec::from_name(codec)
            .ok_or_else(|| format!("codec: found \"{codec}\", expected one of {}", known()))?;
    }
    dataset.level = object.number("level")?.map(|level| u32::try_from(level).unwrap_or(u32::MAX));
    dataset.shuffle = object.typed("shuffle", "true or false", Value::as_bool)?.unwrap_or(true);
    Ok(())
}

/// The bytes of an item.
fn item(data_type: DataType, value: &Value) -> Message<Vec<u8>> {
    fill::of_json(data_type, value)
        .ok_or_else(|| format!("found {}, expected an item of {data_type}", brief(value)))
}

/// The items of a dataset of `bytes` bytes.
fn items(object: &mut Object<'_>, dataset: &Dataset, bytes: u64, folder: &Path) -> Message<Box<dyn Read>> {
    let data_type = dataset.data_type;
    let values = object.list("values")?.map(|values| -> Message<Data> {
        let mut bytes = Vec::new();
        flat(values, data_type, &mut |value| {
            let item = item(data_type, value).map_err(|words| format!("values: {words}"))?;
            if data_type.is_variable() {
                return texts::put(&mut bytes, &item).map_err(|error| error.to_string());
            }
            bytes.extend(item);
            Ok(())
        })?;
        Ok(Data { bytes: Some(bytes.len() as u64), from: Box::new(io::Cursor::new(bytes)), elements: None })
    });
    let data = one([values.transpose()?, Data::new(object, folder)?], &["values", "data"])?;
    let data = data.or_else(|| (bytes == 0).then(Data::none));
    let data = data.ok_or("data are missing: give values, data_..., data_file or generate")?;
    // Items of variable length are preceded by their lengths.
    let is_other = !data_type.is_variable() && data.bytes.is_some_and(|found| found != bytes);
    if is_other || data.elements.is_some() {
        let found = data.bytes.unwrap_or(0);
        return Err(format!("data: found {found} bytes, expected {bytes} in one piece"));
    }
    Ok(data.from)
}

/// Calls a function with the items of a list, or of nested lists.
fn flat(values: &[Value], data_type: DataType, each: &mut impl FnMut(&Value) -> Message<()>) -> Message<()> {
    // An item may be a list itself.
    let is_item = |value: &Value| fill::of_json(data_type, value).is_some();
    values.iter().try_for_each(|value| match value {
        Value::Array(inner) if !is_item(value) => flat(inner, data_type, each),
        value => each(value),
    })
}
