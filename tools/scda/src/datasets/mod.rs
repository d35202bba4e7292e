//! Datasets and groups in a file: pairs of sections that form one item (docs/datasets.md).

pub mod box_parts;
pub mod compare;
pub mod ordered_items;
pub mod source;
pub mod times;
pub mod values;
mod walk;

pub use scda_format::dataset::additions::{Addition, AdditionName, added_to, announced};
pub use walk::{Item, MovedData, Walk};

use crate::fail::is_invalid;
use crate::output::visible;
use scda::{
    AddedRows, Content, DataType, Dataset, DatasetHandle, ErrorKind, Kind, Layout, Reader, Section,
    SectionType,
};
use scda_codec::chunk::swap_items;
use scda_format::dataset::json::{DeclaredTypes, JsonMember, compact, members, tokens};
use scda_format::dataset::{DATASET_CONVENTION, GROUP_CONVENTION};
use scda_format::streams::STREAMS as STREAMS_CONVENTION;
use serde_json::Value;

/// The dataset whose metadata begin at this offset; `None` if there are none.
///
/// # Errors
/// An error in the metadata, or in the section after them.
pub fn dataset_at(reader: &mut Reader, offset: u64) -> scda::Result<Option<DatasetHandle>> {
    match reader.inspect().content_at(offset)? {
        Some((Content::Dataset(handle), _)) => Ok(Some(handle)),
        Some((Content::Unknown(error), _)) => Err(error),
        _ => Ok(None),
    }
}

/// True if a section is the metadata of a dataset, or announces those of a group, so that the next one belongs to it.
pub fn is_first(section_type: SectionType, user: &[u8]) -> bool {
    match section_type {
        SectionType::Block => user == DATASET_CONVENTION,
        SectionType::Inline => user == GROUP_CONVENTION,
        SectionType::Array | SectionType::Varray => false,
    }
}

/// True if a section begins a part of a set of streams, so that the next two belong to it.
pub fn begins_streams(section_type: SectionType, user: &[u8]) -> bool {
    section_type == SectionType::Block && user == STREAMS_CONVENTION
}

/// Looks something up in the index of a sealed file; `None` if the caller must walk the file.
///
/// # Errors
/// Errors that say nothing about the file.
pub fn by_index<T>(
    reader: &mut Reader,
    look: impl FnOnce(&mut Reader) -> scda::Result<Option<T>>,
) -> scda::Result<Option<T>> {
    if !reader.is_sealed() {
        return Ok(None);
    }
    match look(reader) {
        Err(error) if is_invalid(&error) => Ok(None),
        other => other,
    }
}

/// The default record of a name: the last one.
pub const LAST_RECORD: i64 = -1;

/// True if a section begins something that has several sections.
fn begins_several(section: &Section) -> bool {
    is_first(section.section_type, &section.user) || begins_streams(section.section_type, &section.user)
}

/// What begins with this section, whose header was read, and the other sections of it. Keeps the reader's position.
/// Errors that concern only this content, so that reading can continue, are a [`Content::Unknown`].
///
/// # Errors
/// Errors that say nothing about the file.
pub fn content_of(reader: &mut Reader, section: &Section) -> scda::Result<(Content, Vec<Section>)> {
    let nothing = (Content::Section, Vec::new());
    if !begins_several(section) {
        return Ok(nothing);
    }
    let (found, fault) = tolerated(reader.inspect().content_at(section.offset))?;
    Ok(match (found, fault) {
        (Some((Content::Unknown(error), _)), _) | (None, Some(error)) => {
            (Content::Unknown(error), Vec::new())
        }
        (Some((content, sections)), None) => (content, sections[1..].to_vec()),
        _ => nothing,
    })
}

/// The numbers, from 1, of the sections of later additions to a dataset. Changes the reader's position.
///
/// # Errors
/// The errors of the index.
pub fn numbers_added(reader: &mut Reader, dataset: &DatasetHandle) -> scda::Result<Vec<u64>> {
    let data = dataset.data_section();
    let Ok(name) = std::str::from_utf8(&data.user) else { return Ok(Vec::new()) };
    let attributes = dataset.later_attributes().map(|_| Addition::Attributes);
    let rows = dataset.added_rows().next().map(|_| Addition::Rows);
    let mut numbers = Vec::new();
    for addition in [attributes, rows].into_iter().flatten() {
        let user = addition.user(data.offset, name);
        // The number of the second section, from 0, equals that of the first one, from 1.
        numbers.extend(reader.find_all(user.as_bytes())?.iter().flat_map(|&first| [first, first + 1]));
    }
    Ok(numbers)
}

/// Why a dataset, or rows that were added to it, cannot be read.
pub fn unsupported(dataset: &DatasetHandle) -> Option<String> {
    let of_rows = |rows: AddedRows| {
        let why = rows.dataset.unsupported?;
        let last = rows.dataset.shape.first()?.checked_sub(1)?;
        Some(format!("{why} in the rows {} to {}", rows.first, rows.first + last))
    };
    dataset.unsupported.clone().or_else(|| dataset.added_rows().find_map(of_rows))
}

/// The result, or an error that concerns only this item, so that reading can continue. Returns other errors.
///
/// # Errors
/// Errors that say nothing about the file.
pub fn tolerated<T>(found: scda::Result<Option<T>>) -> scda::Result<(Option<T>, Option<scda::Error>)> {
    match found {
        Ok(found) => Ok((found, None)),
        Err(error) if is_invalid(&error) || error.kind() == ErrorKind::Unsupported => Ok((None, Some(error))),
        Err(error) => Err(error),
    }
}

/// A shape as text.
pub fn shape_word(shape: &[u64]) -> String {
    match shape {
        [] => "-".to_owned(),
        shape => shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x"),
    }
}

/// The shape of the chunks as text; none if there is a single chunk that is not compressed.
pub fn chunk_word(dataset: &Dataset) -> String {
    match dataset.layout {
        Layout::Contiguous => "-".to_owned(),
        _ => shape_word(&dataset.chunk_shape()),
    }
}

/// The value of the attribute `units`.
pub fn units(attributes: &str) -> Option<String> {
    let found = attributes_of(attributes).into_iter().find(|member| member.key == "units")?;
    Some(match serde_json::from_str(found.text).ok()? {
        Value::String(units) => visible(&units),
        other => visible(&other.to_string()),
    })
}

/// The attributes in order; they must have been checked.
pub fn attributes_of(attributes: &str) -> Vec<JsonMember<'_>> {
    members(attributes.as_bytes()).unwrap_or_default()
}

/// The attributes, a line each. Numbers for `float32` or `float16` data are shortened to that precision.
pub fn attribute_lines(attributes: &str, data_type: Option<DataType>) -> Vec<String> {
    let all = attributes_of(attributes);
    let types = DeclaredTypes::of(&all);
    let of_data = data_type.filter(|of| of.kind() == Kind::Float && of.number_bytes() < 8);
    let line = |member: &JsonMember<'_>| {
        let is_short = match types.get(&member.key) {
            Some(name) => {
                ["float32", "float16"].iter().any(|short| name.trim_start_matches('>').starts_with(short))
            }
            None => of_data.is_some() && OF_DATA.contains(&&*member.key),
        };
        let text = compact(member.text);
        let text = if is_short { as_single(&text) } else { text };
        format!("{} = {}", visible(&member.key), visible(&text))
    };
    all.iter().map(line).collect()
}

/// The attributes that have the type of the data, according to CF.
const OF_DATA: [&str; 6] =
    ["_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", "actual_range"];

/// JSON in which numbers are shortened to the precision of `float32` if that preserves them.
fn as_single(text: &str) -> String {
    let short = |number: &str| {
        let exact: f64 = number.parse().ok()?;
        let single: f32 = number.parse().ok()?;
        (f64::from(single).to_bits() == exact.to_bits() && number.contains(['.', 'e', 'E']))
            .then(|| format!("{single:?}"))
    };
    let mut out = String::with_capacity(text.len());
    for token in tokens(text) {
        out.push_str(&short(token).unwrap_or_else(|| token.to_owned()));
    }
    out
}

/// The remarks after the name in a list: type, units, and why the data cannot be read.
pub fn remarks(dataset: &DatasetHandle) -> String {
    let mut words = dataset.data_type.to_string();
    if let Some(units) = units(&dataset.attributes) {
        words = format!("{words}, {units}");
    }
    if let Some(why) = unsupported(dataset) {
        words = format!("{words}; cannot be read: {}", visible(&why));
    }
    words
}

/// Converts the numbers of items from machine to little-endian byte order, or back.
pub fn to_little(data_type: DataType, data: &mut [u8]) {
    if cfg!(target_endian = "big") {
        swap_items(data, data_type);
    }
}
