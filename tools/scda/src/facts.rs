//! JSON objects for sections, datasets, groups and errors.

use crate::datasets::unsupported;
use crate::fail::Fail;
use crate::output::hex;
use crate::rows::Row;
use scda::{DatasetHandle, Group, Layout, Section, SectionType};
use scda_format::dataset::{fill, type_to_json};
use serde_json::{Map, Value, json};

/// Bytes as a string if they are UTF-8, else in hexadecimal, under a name that says so.
pub fn put_bytes(object: &mut Map<String, Value>, name: &str, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => object.insert(name.to_owned(), text.into()),
        Err(_) => object.insert(format!("{name}_hex"), hex(bytes).into()),
    };
}

/// The facts of a section; `row` has those that need reading on.
pub fn facts(number: u64, section: &Section) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("number".into(), number.into());
    object.insert("type".into(), char::from(section.section_type.letter()).to_string().into());
    put_bytes(&mut object, "user", &section.user);
    if matches!(section.section_type, SectionType::Array | SectionType::Varray) {
        object.insert("N".into(), section.count.into());
    }
    if matches!(section.section_type, SectionType::Array | SectionType::Block) {
        object.insert("E".into(), section.size.into());
    }
    object
}

/// The facts of a dataset, whose second section has this number; without attributes, whose text is kept as it is.
pub fn dataset_facts(number: u64, dataset: &DatasetHandle) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("number".into(), number.into());
    object.insert("type".into(), "D".into());
    object.insert("user".into(), dataset.name.as_str().into());
    let data_type = serde_json::from_str(&type_to_json(dataset.data_type)).unwrap_or_default();
    object.insert("data_type".into(), data_type);
    object.insert("shape".into(), json!(dataset.shape));
    let layout = match dataset.layout {
        Layout::Chunked { text: true, .. } => "text",
        Layout::Chunked { .. } => "chunks",
        _ => "contiguous",
    };
    object.insert("layout".into(), layout.into());
    if layout != "contiguous" {
        object.insert("chunk".into(), json!(dataset.chunk_shape()));
        if layout == "chunks" {
            object.insert("codec".into(), dataset.codec.to_string().into());
        }
        object.insert("shuffle".into(), dataset.shuffle.into());
        if let Some(level) = dataset.level {
            object.insert("level".into(), level.into());
        }
    }
    if !dataset.fill_value.is_empty() {
        object.insert("fill_value".into(), fill::to_json(dataset.data_type, &dataset.fill_value));
    }
    if !dataset.dimension_names.is_empty() {
        object.insert("dimension_names".into(), json!(dataset.dimension_names));
    }
    if let Some(why) = unsupported(dataset) {
        object.insert("unsupported".into(), why.into());
    }
    object
}

/// The facts of a group, whose second section has this number; without attributes.
pub fn group_facts(number: u64, group: &Group) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("number".into(), number.into());
    object.insert("type".into(), "G".into());
    object.insert("user".into(), group.path.as_str().into());
    object
}

/// Further facts of a section, which were measured.
pub fn more_facts(object: &mut Map<String, Value>, row: &Row) {
    object.insert("encoded".into(), row.section.decoded.into());
    if let Some((least, most)) = row.extremes {
        object.insert("size_min".into(), least.into());
        object.insert("size_mean".into(), row.mean().into());
        object.insert("size_max".into(), most.into());
    }
    object.insert("bytes".into(), row.bytes.into());
    object.insert("stored_bytes".into(), row.stored.into());
    object.insert("offset".into(), row.section.offset.into());
    object.insert("data_offset".into(), row.section.data_offset.into());
}

/// An error as an object.
pub fn error(error: &scda::Error) -> Value {
    json!({ "code": error.code(), "kind": error.kind().text(), "message": error.to_string(), "offset": error.offset() })
}

/// Why a command ends early, as an object.
pub fn failure(fail: &Fail) -> Value {
    match fail {
        Fail::Scda(fault) => error(fault),
        Fail::Invalid(words) | Fail::Trouble(words) => json!({ "message": words }),
        Fail::Said(_) | Fail::Quiet => Value::Null,
    }
}
