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
    AddedRows, Content, DataType, Dataset, DatasetHandle, ErrorKind, Group, Kind, Layout, Reader, Section,
    SectionType, Streams,
};
use scda_codec::chunk::swap_items;
use scda_format::dataset::json::{JsonMember, compact, members, tokens};
use scda_format::dataset::{DATASET_CONVENTION, GROUP_CONVENTION};
use scda_format::streams::STREAMS as STREAMS_CONVENTION;
use serde_json::Value;

/// A dataset with its sections.
pub struct DatasetSections {
    /// Reads its data.
    pub handle: DatasetHandle,
    /// The dataset. If rows that were added to it cannot be read, neither can the dataset.
    pub dataset: Dataset,
    /// The block of metadata.
    pub block: Section,
    pub data: Section,
    /// The offset of its attributes, if they were set later.
    pub later: Option<u64>,
    /// Sections with rows that were added later.
    pub added: Vec<AddedRows>,
}

impl From<DatasetHandle> for DatasetSections {
    fn from(handle: DatasetHandle) -> Self {
        let (block, data) = (*handle.metadata_section(), *handle.data_section());
        let (later, added) = (handle.later_attributes(), handle.added_rows().collect::<Vec<_>>());
        let mut dataset = handle.description().clone();
        dataset.unsupported = dataset.unsupported.or_else(|| added.iter().find_map(unsupported_rows));
        Self { handle, dataset, block, data, later, added }
    }
}

/// The attributes of a group with their sections.
pub struct GroupSections {
    pub group: Group,
    /// The inline section that announces them.
    pub first: Section,
    pub block: Section,
}

/// A part of a set of streams with its sections.
pub struct StreamSections {
    pub streams: Streams,
    pub chunks: Section,
    /// The sizes of the streams.
    pub lengths: Section,
    /// The size of all streams in this part, and of the shortest and the longest one, in bytes.
    pub bytes: u64,
    pub extremes: (u64, u64),
}

/// A pair of sections that forms one item.
pub enum Pair {
    Dataset(Box<DatasetSections>),
    Group(Box<GroupSections>),
}

impl Pair {
    /// The first of the sections.
    pub fn first(&self) -> &Section {
        match self {
            Self::Dataset(found) => &found.block,
            Self::Group(found) => &found.first,
        }
    }

    /// The second of the sections.
    pub fn second(&self) -> &Section {
        match self {
            Self::Dataset(found) => &found.data,
            Self::Group(found) => &found.block,
        }
    }
}

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

/// The pair that begins with this section; `None` if there is none. Like the functions below, keeps the reader's position.
///
/// # Errors
/// An error in the metadata, or in the section after them.
pub fn pair_at(reader: &mut Reader, section: &Section) -> scda::Result<Option<Pair>> {
    if !is_first(section.section_type, &section.user) {
        return Ok(None);
    }
    let content = reader.inspect().content_at(section.offset)?;
    Ok(match content.map(|(content, sections)| (content, sections.get(1).copied())) {
        Some((Content::Dataset(handle), _)) => Some(Pair::Dataset(Box::new(handle.into()))),
        Some((Content::Group(group), Some(block))) => {
            Some(Pair::Group(Box::new(GroupSections { group, first: *section, block })))
        }
        Some((Content::Unknown(error), _)) => return Err(error),
        _ => None,
    })
}

/// The part of a set of streams that begins with this section; `None` if there is none.
///
/// # Errors
/// An error in the part.
pub fn streams_at(reader: &mut Reader, section: &Section) -> scda::Result<Option<StreamSections>> {
    if !begins_streams(section.section_type, &section.user) {
        return Ok(None);
    }
    let (streams, sections) = match reader.inspect().content_at(section.offset)? {
        Some((Content::Streams(streams), sections)) => (streams, sections),
        Some((Content::Unknown(error), _)) => return Err(error),
        _ => return Ok(None),
    };
    let (mut bytes, mut extremes) = (0, (u64::MAX, 0));
    for task in 0..streams.tasks() {
        let length = streams.stream(reader, task)?.bytes();
        // Bounded by the array of the chunks.
        bytes += length;
        extremes = (length.min(extremes.0), length.max(extremes.1));
    }
    Ok(match sections[..] {
        [_, chunks, lengths] => Some(StreamSections { streams, chunks, lengths, bytes, extremes }),
        _ => None,
    })
}

/// The numbers, from 1, of the sections of later additions to a dataset. Changes the reader's position.
///
/// # Errors
/// The errors of the index.
pub fn numbers_added(reader: &mut Reader, found: &DatasetSections) -> scda::Result<Vec<u64>> {
    let Ok(name) = std::str::from_utf8(&found.data.user) else { return Ok(Vec::new()) };
    let attributes = found.later.map(|_| Addition::Attributes);
    let rows = (!found.added.is_empty()).then_some(Addition::Rows);
    let mut numbers = Vec::new();
    for addition in [attributes, rows].into_iter().flatten() {
        let user = addition.user(found.data.offset, name);
        // The number of the second section, from 0, equals that of the first one, from 1.
        numbers.extend(reader.find_all(user.as_bytes())?.iter().flat_map(|&first| [first, first + 1]));
    }
    Ok(numbers)
}

/// Which rows cannot be read, and why.
fn unsupported_rows(rows: &AddedRows) -> Option<String> {
    let why = rows.dataset.unsupported.as_ref()?;
    let last = rows.dataset.shape.first()?.checked_sub(1)?;
    Some(format!("{why} in the rows {} to {}", rows.first, rows.first + last))
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
    let types = all.iter().find(|member| member.key == "scda_types");
    let types: Option<Value> = types.and_then(|member| serde_json::from_str(member.text).ok());
    let of_data = data_type.filter(|of| of.kind() == Kind::Float && of.number_bytes() < 8);
    let line = |member: &JsonMember<'_>| {
        let type_name = types.as_ref().and_then(|types| types.get(&*member.key)).and_then(Value::as_str);
        let is_short = match type_name {
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
pub fn remarks(dataset: &Dataset) -> String {
    let mut words = dataset.data_type.to_string();
    if let Some(units) = units(&dataset.attributes) {
        words = format!("{words}, {units}");
    }
    if let Some(why) = &dataset.unsupported {
        words = format!("{words}; cannot be read: {}", visible(why));
    }
    words
}

/// Converts the numbers of items from machine to little-endian byte order, or back.
pub fn to_little(data_type: DataType, data: &mut [u8]) {
    if cfg!(target_endian = "big") {
        swap_items(data, data_type);
    }
}
