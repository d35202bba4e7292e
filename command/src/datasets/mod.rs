//! Datasets and groups in a file: two sections that are one thing (docs/datasets.md).

pub mod calendar;
pub mod compare;
pub mod in_order;
pub mod slabs;
pub mod source;
pub mod times;
pub mod values;

use crate::fail::{Fail, Result, is_invalid};
use crate::files::Input;
use crate::output::visible;
use scda::internals::json::{Member, compact, members};
use scda::internals::later::{
    ATTRIBUTES_CONVENTION, ROWS_CONVENTION, later_of, later_user, rows_of, rows_user,
};
use scda::internals::{DATASET_CONVENTION, GROUP_CONVENTION, STREAMS_CONVENTION, swap_items};
use scda::{
    AddedRows, DataType, Dataset, ErrorKind, Group, Layout, Reader, Section, SectionType, Streams, UserString,
};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// A dataset with its sections.
pub struct Found {
    /// What cannot be read of the rows that were added to it cannot be read of the dataset.
    pub dataset: Dataset,
    /// The block of metadata.
    pub block: Section,
    pub data: Section,
    /// Where its attributes begin, if they were set later.
    pub later: Option<u64>,
    /// Sections with rows that were added later.
    pub added: Vec<AddedRows>,
}

/// The attributes of a group with their sections.
pub struct FoundGroup {
    pub group: Group,
    /// The inline section, which announces them.
    pub first: Section,
    pub block: Section,
}

/// A part of a set of streams with its sections.
pub struct FoundStreams {
    pub streams: Streams,
    pub chunks: Section,
    /// How many bytes each stream has.
    pub lengths: Section,
    /// The bytes of all streams in this part, and of the shortest and the longest.
    pub bytes: u64,
    pub extremes: (u64, u64),
}

/// A pair of sections that is one item.
pub enum Pair {
    Dataset(Box<Found>),
    Group(Box<FoundGroup>),
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

/// Whether a section is the metadata of a dataset, or announces those of a group: the next one belongs to it.
pub fn is_first(section_type: SectionType, user: &[u8]) -> bool {
    match section_type {
        SectionType::Block => user == DATASET_CONVENTION,
        SectionType::Inline => user == GROUP_CONVENTION,
        SectionType::Array | SectionType::Varray => false,
    }
}

/// Whether a section begins a part of a set of streams: the next two belong to it.
pub fn begins_streams(section_type: SectionType, user: &[u8]) -> bool {
    section_type == SectionType::Block && user == STREAMS_CONVENTION
}

/// What the index of a sealed file answers, if it can; `None` if the file is to be walked.
///
/// # Errors
/// Those that say nothing about the file.
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

/// The number, from 0 on, of the section of this user string: of the only one, or of several that with the number `record`.
/// `None` if there is no such section.
pub fn number_of(reader: &mut Reader, user: &[u8], record: Option<i64>) -> scda::Result<Option<u64>> {
    let found = reader.find(user, record.unwrap_or(0))?;
    let is_only = record.is_some() || reader.find(user, 1)?.is_none();
    Ok(found.filter(|_| is_only))
}

/// Finds out about pairs of sections, beside the reader that goes through the file.
pub struct Pairs<'a> {
    input: &'a Input,
    /// See [`Params::strict`](scda::Params::strict).
    strict: bool,
    reader: Option<Reader>,
}

impl<'a> Pairs<'a> {
    pub fn new(input: &'a Input) -> Self {
        Self { input, strict: false, reader: None }
    }

    /// Its reader; after [`Self::at`] has found a dataset, the data of that can be read.
    pub fn reader(&mut self) -> scda::Result<&mut Reader> {
        match &mut self.reader {
            Some(reader) => Ok(reader),
            none => Ok(none.insert(self.input.open_damaged(self.strict)?)),
        }
    }

    /// The pair that begins with this section; `None` if it is none.
    ///
    /// # Errors
    /// What is wrong with the metadata, or with the section behind them.
    pub fn at(&mut self, section: &Section) -> scda::Result<Option<Pair>> {
        if !is_first(section.section_type, &section.user) {
            return Ok(None);
        }
        let reader = self.reader()?;
        let go_to = |reader: &mut Reader| -> scda::Result<()> {
            reader.seek(section.offset)?;
            reader.next_section(true).map(drop)
        };
        go_to(reader)?;
        reader.skip()?;
        let second = reader.next_section(true)?;
        go_to(reader)?;
        if section.section_type == SectionType::Inline {
            let group = reader.group()?;
            return Ok(group
                .zip(second)
                .map(|(group, block)| Pair::Group(Box::new(FoundGroup { group, first: *section, block }))));
        }
        let dataset = reader.dataset()?;
        let (later, added) = (reader.later_attributes(), reader.added_rows().collect::<Vec<_>>());
        let Some((mut dataset, data)) = dataset.zip(second) else { return Ok(None) };
        dataset.unsupported = dataset.unsupported.or_else(|| added.iter().find_map(unsupported_rows));
        Ok(Some(Pair::Dataset(Box::new(Found { dataset, block: *section, data, later, added }))))
    }

    /// The part of a set of streams that begins with this section; `None` if none does.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn streams_at(&mut self, section: &Section) -> scda::Result<Option<FoundStreams>> {
        if !begins_streams(section.section_type, &section.user) {
            return Ok(None);
        }
        let reader = self.reader()?;
        reader.seek(section.offset)?;
        reader.next_section(true)?;
        let Some(streams) = reader.stream_part()? else { return Ok(None) };
        let (mut bytes, mut extremes) = (0, (u64::MAX, 0));
        for task in 0..streams.tasks() {
            let length = reader.stream(&streams, task)?.bytes();
            // Bounded by the array of the chunks.
            bytes += length;
            extremes = (length.min(extremes.0), length.max(extremes.1));
        }
        reader.seek(section.offset)?;
        reader.next_section(true)?;
        let mut next = || {
            reader.skip()?;
            reader.next_section(true)
        };
        let (chunks, lengths) = (next()?, next()?);
        let found = chunks.zip(lengths);
        Ok(found.map(|(chunks, lengths)| FoundStreams { streams, chunks, lengths, bytes, extremes }))
    }

    /// As [`Self::at`]; what is wrong with the metadata is returned beside, and keeps nobody from reading on.
    ///
    /// # Errors
    /// Those that say nothing about the file.
    pub fn look(&mut self, section: &Section) -> scda::Result<(Option<Pair>, Option<scda::Error>)> {
        tolerated(self.at(section))
    }

    /// As [`Self::streams_at`]; what is wrong is returned beside.
    ///
    /// # Errors
    /// Those that say nothing about the file.
    pub fn look_for_streams(
        &mut self,
        section: &Section,
    ) -> scda::Result<(Option<FoundStreams>, Option<scda::Error>)> {
        tolerated(self.streams_at(section))
    }
}

/// What keeps rows from being read, and which rows these are.
fn unsupported_rows(rows: &AddedRows) -> Option<String> {
    let why = rows.dataset.unsupported.as_ref()?;
    let last = rows.dataset.shape.first()?.checked_sub(1)?;
    Some(format!("{why} in the rows {} to {}", rows.first, rows.first + last))
}

/// What was found, or what is wrong with it. Other errors are returned.
fn tolerated<T>(found: scda::Result<Option<T>>) -> scda::Result<(Option<T>, Option<scda::Error>)> {
    match found {
        Ok(found) => Ok((found, None)),
        Err(error) if is_invalid(&error) || error.kind() == ErrorKind::Unsupported => Ok((None, Some(error))),
        Err(error) => Err(error),
    }
}

/// A section, the two of a pair, or the three of streams.
pub struct Item {
    /// The number of the first one.
    pub number: u64,
    pub section: Section,
    pub pair: Option<Pair>,
    /// Not of a [`Walk::new`].
    pub streams: Option<Box<FoundStreams>>,
    /// Why it is neither, although it begins like one.
    pub fault: Option<scda::Error>,
}

impl Item {
    /// The number of the last section.
    pub fn last(&self) -> u64 {
        self.number + u64::from(self.pair.is_some()) + 2 * u64::from(self.streams.is_some())
    }

    /// The user string of a section; of a dataset or streams the name, of a group the path with a slash.
    pub fn user(&self) -> &UserString {
        if let Some(found) = &self.streams {
            return &found.chunks.user;
        }
        self.pair.as_ref().map_or(&self.section.user, |pair| &pair.second().user)
    }

    /// The dataset, if its data can be read.
    pub fn readable(&self) -> Option<&Found> {
        match &self.pair {
            Some(Pair::Dataset(found)) if found.dataset.unsupported.is_none() => Some(found),
            _ => None,
        }
    }

    /// Goes behind it; the reader has read the header of the first section.
    pub fn skip(&self, reader: &mut Reader) -> scda::Result<()> {
        reader.skip()?;
        for _ in self.number..self.last() {
            reader.next_section(true)?;
            reader.skip()?;
        }
        Ok(())
    }
}

/// Goes through a file, sections that belong together at a time. What was added to a dataset later is a part of it, and no item.
pub struct Walk<'a> {
    /// Whether their sections are items nevertheless.
    later: bool,
    /// Whether the three sections of streams are one item.
    streams: bool,
    /// None: every section is one by itself, and compressed ones are two.
    pairs: Option<Pairs<'a>>,
    /// Where rows begin that were added to datasets that were passed.
    rows: HashSet<u64>,
    /// The user strings of blocks with attributes of such datasets.
    attributes: HashSet<String>,
    /// The number of the last section with metadata that are none to this library.
    unknown: u64,
    /// The data of such datasets, and of those with rows that were added, by where they are: themselves, or their copy.
    pub moved: HashMap<u64, Moved>,
    /// How many sections were passed.
    pub number: u64,
}

impl<'a> Walk<'a> {
    pub fn new(input: &'a Input, raw: bool) -> Self {
        let pairs = (!raw).then(|| Pairs::new(input));
        let (rows, attributes, moved) = Default::default();
        Self { pairs, later: raw, streams: false, rows, attributes, unknown: 0, moved, number: 0 }
    }

    /// The sections of streams are together, too.
    pub fn with_streams(input: &'a Input) -> Self {
        Self { streams: true, ..Self::new(input, false) }
    }

    /// As [`Self::with_streams`]; reads datasets as [`Params::strict`](scda::Params::strict) says. Sections of what was added later are items.
    pub fn strict(input: &'a Input, strict: bool) -> Self {
        let pairs = Some(Pairs { strict, ..Pairs::new(input) });
        Self { pairs, later: true, ..Self::with_streams(input) }
    }

    /// The name of the file in messages, unless every section is one by itself.
    pub fn file_name(&self) -> &'a str {
        self.pairs.as_ref().map_or("", |pairs| pairs.input.name())
    }

    /// Goes to the section with this number, from 0 on, and reads its header.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn at(&mut self, reader: &mut Reader, number: u64) -> scda::Result<Option<Item>> {
        reader.seek_section(number)?;
        self.number = number;
        self.next(reader)
    }

    /// The reader beside, that has found the dataset of the last item, whose data it can read.
    ///
    /// # Errors
    /// Trouble if there is none.
    pub fn dataset_reader(&mut self) -> Result<&mut Reader> {
        let pairs =
            self.pairs.as_mut().ok_or_else(|| Fail::Trouble("sections are no datasets".to_owned()))?;
        Ok(pairs.reader()?)
    }

    /// Reads the next header.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn next(&mut self, reader: &mut Reader) -> scda::Result<Option<Item>> {
        let section = loop {
            let Some(section) = reader.next_section(self.pairs.is_some())? else { return Ok(None) };
            if self.later || !self.passes_later(reader, &section)? {
                break section;
            }
            self.number += 2;
        };
        let mut item = Item { number: self.number + 1, section, pair: None, streams: None, fault: None };
        if let Some(pairs) = &mut self.pairs {
            (item.pair, item.fault) = pairs.look(&section)?;
            if self.streams && begins_streams(section.section_type, &section.user) {
                let (streams, fault) = pairs.look_for_streams(&section)?;
                (item.streams, item.fault) = (streams.map(Box::new), fault);
            }
        }
        if item.fault.is_some() && is_first(section.section_type, &section.user) {
            self.unknown = item.number;
        } else if self.is_of_unknown(&item) {
            self.moved.insert(section.offset, Moved { position: section.offset, user: section.user });
        }
        if let Some(Pair::Dataset(found)) = item.pair.as_ref().filter(|_| !self.later) {
            self.rows.extend(found.added.iter().map(|rows| rows.offsets[0]));
            if !found.added.is_empty() {
                let Section { offset: position, user, .. } = found.data;
                self.moved.insert(position, Moved { position, user });
            }
            let name = found.later.and(std::str::from_utf8(&found.data.user).ok());
            self.attributes.extend(name.map(|name| later_user(found.data.offset, name)));
        }
        self.number = item.last();
        Ok(Some(item))
    }

    /// The user string of the data at this offset, if they are of a dataset that was passed to which something may have been added.
    pub fn passed(&self, data: u64) -> Option<&UserString> {
        self.moved.get(&data).map(|moved| &moved.user)
    }

    /// Whether this section has the data of a dataset whose metadata are none to this library.
    pub fn is_of_unknown(&self, item: &Item) -> bool {
        let is_data = matches!(item.section.section_type, SectionType::Array | SectionType::Varray);
        is_data && self.unknown > 0 && item.number == self.unknown + 1
    }

    /// Goes behind the sections of what was added to a dataset later, if the one whose header was just read is the first of them. What
    /// was added to none stays: nobody else has it.
    fn passes_later(&self, reader: &mut Reader, section: &Section) -> scda::Result<bool> {
        let Some(announced) = announced(section.section_type, &section.user) else { return Ok(false) };
        if announced == Addition::Rows && !self.rows.contains(&section.offset) {
            return Ok(false);
        }
        reader.skip()?;
        let second = reader.next_section(true)?;
        let is_passed = second.is_some_and(|second| match added_to(second.section_type, &second.user) {
            Some(Added { addition: Addition::Attributes, .. }) => {
                let user = std::str::from_utf8(&second.user);
                announced == Addition::Attributes && user.is_ok_and(|user| self.attributes.contains(user))
            }
            Some(Added { addition, .. }) => addition == announced,
            None => false,
        });
        if is_passed {
            reader.skip()?;
            return Ok(true);
        }
        reader.seek(section.offset)?;
        reader.next_section(true)?;
        Ok(false)
    }
}

/// What is added to a dataset later.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Addition {
    Attributes,
    Rows,
}

impl Addition {
    /// The user string of the section that adds it to the dataset whose data are the section at this offset, with this user string.
    pub fn user(self, data: u64, name: &str) -> String {
        match self {
            Self::Attributes => later_user(data, name),
            Self::Rows => rows_user(data, name),
        }
    }
}

/// What a section announces, if it stands before attributes or rows that were added to a dataset later.
pub fn announced(section_type: SectionType, user: &[u8]) -> Option<Addition> {
    match section_type {
        SectionType::Inline if user == ATTRIBUTES_CONVENTION => Some(Addition::Attributes),
        SectionType::Block if user == ROWS_CONVENTION => Some(Addition::Rows),
        _ => None,
    }
}

/// What a section adds to a dataset, as its user string says.
pub struct Added {
    pub addition: Addition,
    /// Where the data of the dataset begin.
    pub data: u64,
}

/// What a section adds to a dataset, if it adds something.
pub fn added_to(section_type: SectionType, user: &[u8]) -> Option<Added> {
    let (addition, named) = match section_type {
        SectionType::Inline => return None,
        SectionType::Block => (Addition::Attributes, later_of(user)),
        SectionType::Array | SectionType::Varray => (Addition::Rows, rows_of(user)),
    };
    named.map(|(data, _)| Added { addition, data })
}

/// The data of a dataset in a copy.
#[derive(Clone, Copy)]
pub struct Moved {
    /// Where they begin.
    pub position: u64,
    pub user: UserString,
}

impl Moved {
    /// The user string of a section that adds something to it. Only names that are text can have such sections.
    pub fn user_of(&self, addition: Addition) -> scda::Result<Option<UserString>> {
        let name = std::str::from_utf8(&self.user).ok();
        name.map(|name| UserString::new(addition.user(self.position, name).as_bytes())).transpose()
    }
}

/// A shape in a word.
pub fn shape_word(shape: &[u64]) -> String {
    match shape {
        [] => "-".to_owned(),
        shape => shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x"),
    }
}

/// The shape of the chunks in a word; none if there is a single one that is not compressed.
pub fn chunk_word(dataset: &Dataset) -> String {
    match dataset.layout {
        Layout::Contiguous => "-".to_owned(),
        _ => shape_word(&dataset.chunk_shape()),
    }
}

/// What the attribute `units` says.
pub fn units(attributes: &str) -> Option<String> {
    let found = attributes_of(attributes).into_iter().find(|member| member.key == "units")?;
    Some(match serde_json::from_str(found.text).ok()? {
        Value::String(units) => visible(&units),
        other => visible(&other.to_string()),
    })
}

/// The attributes, which were checked, in order.
pub fn attributes_of(attributes: &str) -> Vec<Member<'_>> {
    members(attributes.as_bytes()).unwrap_or_default()
}

/// An attribute in a line.
pub fn attribute_line(attribute: &Member<'_>) -> String {
    format!("{} = {}", visible(&attribute.key), visible(&compact(attribute.text)))
}

/// Type, units, and what keeps the data from being read: what a list has behind the name.
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

/// Puts the numbers of items into little-endian order, or from there into that of the machine.
pub fn to_little(data_type: DataType, data: &mut [u8]) {
    if cfg!(target_endian = "big") {
        swap_items(data, data_type);
    }
}
