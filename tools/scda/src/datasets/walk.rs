//! Walks the sections of a file, and combines those that belong together.

use super::{
    Addition, AdditionName, added_to, announced, begins_streams, content_of, is_first, tolerated, unsupported,
};
use crate::files::Input;
use scda::{Content, DatasetHandle, Reader, Section, SectionType, Streams, UserString};
use scda_format::dataset::additions::later_user;
use std::collections::{HashMap, HashSet};

/// The data of a dataset in a copy.
#[derive(Clone, Copy)]
pub struct MovedData {
    /// Their offset.
    pub position: u64,
    pub user: UserString,
}

impl MovedData {
    /// The user string for an addition to it. Only names that are text can have additions.
    pub fn user_of(&self, addition: Addition) -> scda::Result<Option<UserString>> {
        let name = std::str::from_utf8(&self.user).ok();
        name.map(|name| UserString::new(addition.user(self.position, name).as_bytes())).transpose()
    }
}

/// A section, or several that belong together.
pub struct Item {
    /// The number of the first section.
    pub number: u64,
    /// The first section.
    pub section: Section,
    /// The sections after it that belong to it: one of a dataset or group, two of streams.
    pub others: Vec<Section>,
    /// Streams only in a [`Walk::with_streams`].
    pub content: Content,
    /// The size of all streams in bytes.
    pub stream_bytes: u64,
}

/// The size of all streams of a part in bytes.
fn stream_bytes(reader: &mut Reader, streams: &Streams) -> scda::Result<u64> {
    // Bounded by the array of the chunks.
    (0..streams.tasks()).try_fold(0, |all, task| Ok(all + streams.stream(reader, task)?.bytes()))
}

impl Item {
    /// What begins with this section, whose header was read; `number` is its number.
    ///
    /// # Errors
    /// Errors that say nothing about the file.
    pub fn new(reader: &mut Reader, number: u64, section: Section) -> scda::Result<Self> {
        let (content, others) = content_of(reader, &section)?;
        let mut item = Self { others, content, ..Self::of_section(number, section) };
        if let Content::Streams(streams) = &item.content {
            match tolerated(stream_bytes(reader, streams).map(Some))? {
                (Some(bytes), _) => item.stream_bytes = bytes,
                (None, Some(error)) => {
                    item = Self { content: Content::Unknown(error), ..Self::of_section(number, section) }
                }
                (None, None) => {}
            }
        }
        Ok(item)
    }

    /// This section alone.
    fn of_section(number: u64, section: Section) -> Self {
        Self { number, section, others: Vec::new(), content: Content::Section, stream_bytes: 0 }
    }

    /// Its sections.
    pub fn sections(&self) -> impl Iterator<Item = &Section> {
        std::iter::once(&self.section).chain(&self.others)
    }

    /// The number of the last section.
    pub fn last(&self) -> u64 {
        self.number + self.others.len() as u64
    }

    /// The user string of a section, the name of a dataset or streams, or the path of a group, with a slash.
    pub fn user(&self) -> &UserString {
        &self.others.first().unwrap_or(&self.section).user
    }

    /// The offset of the last section, which for a dataset has its data.
    pub fn last_offset(&self) -> u64 {
        self.others.last().unwrap_or(&self.section).offset
    }

    /// Why the first section begins nothing, although it looks like it.
    pub fn fault(&self) -> Option<&scda::Error> {
        match &self.content {
            Content::Unknown(error) => Some(error),
            _ => None,
        }
    }

    /// Like [`Self::fault`], which the item then no longer has.
    pub fn take_fault(&mut self) -> Option<scda::Error> {
        match std::mem::replace(&mut self.content, Content::Section) {
            Content::Unknown(error) => Some(error),
            content => {
                self.content = content;
                None
            }
        }
    }

    /// The dataset, whether or not its data can be read.
    pub fn dataset(&self) -> Option<&DatasetHandle> {
        match &self.content {
            Content::Dataset(dataset) => Some(dataset),
            _ => None,
        }
    }

    /// The dataset, if its data can be read.
    pub fn readable(&self) -> Option<&DatasetHandle> {
        self.dataset().filter(|dataset| unsupported(dataset).is_none())
    }

    /// Skips the rest of the item. The header of its first section must have been read.
    pub fn skip(&self, reader: &mut Reader) -> scda::Result<()> {
        reader.skip()?;
        for _ in self.number..self.last() {
            reader.next_section(true)?;
            reader.skip()?;
        }
        Ok(())
    }
}

/// Walks a file item by item. Later additions to a dataset belong to it, and are no items.
pub struct Walk<'a> {
    /// True if the sections of later additions are items nevertheless.
    later: bool,
    /// True if the three sections of streams are one item.
    streams: bool,
    /// True if every section is an item, and a compressed section counts as two.
    raw: bool,
    /// The name of the file.
    name: &'a str,
    /// The offsets of rows that were added to datasets before.
    rows: HashSet<u64>,
    /// The user strings of blocks with attributes of such datasets.
    attributes: HashSet<String>,
    /// The number of the last section with metadata that this library does not know.
    unknown: u64,
    /// The data of such datasets, of those with added rows, and, if no seal ends the file, of all datasets, by offset:
    /// the original, or the copy that [`Self::goes_to`] sets. `None`: there is no copy.
    moved: HashMap<u64, Option<MovedData>>,
    /// The number of sections so far.
    pub number: u64,
}

impl<'a> Walk<'a> {
    pub fn new(input: &'a Input, raw: bool) -> Self {
        let (name, later, streams) = (input.name(), raw, false);
        let (rows, attributes, moved) = Default::default();
        Self { raw, name, later, streams, rows, attributes, unknown: 0, moved, number: 0 }
    }

    /// A walk in which the sections of streams are combined, too.
    pub fn with_streams(input: &'a Input) -> Self {
        Self { streams: true, ..Self::new(input, false) }
    }

    /// Like [`Self::with_streams`], but the sections of later additions are items.
    pub fn of_all(input: &'a Input) -> Self {
        Self { later: true, ..Self::with_streams(input) }
    }

    /// The name of the file in messages.
    pub fn file_name(&self) -> &'a str {
        self.name
    }

    /// The reader that finds datasets by their numbers; `None` if every section is an item.
    pub fn finder<'r>(&self, reader: &'r mut Reader) -> Option<&'r mut Reader> {
        (!self.raw).then_some(reader)
    }

    /// Reads the next header. The reader also reads the datasets that are found; it must [tolerate
    /// damage](scda::Inspector::tolerate_damage).
    ///
    /// # Errors
    /// The errors of the reader.
    pub fn next(&mut self, reader: &mut Reader) -> scda::Result<Option<Item>> {
        let section = loop {
            let Some(section) = reader.next_section(!self.raw)? else { return Ok(None) };
            if self.later || !self.passes_later(reader, &section)? {
                break section;
            }
            self.number += 2;
        };
        let number = self.number + 1;
        let is_whole = !self.raw && (self.streams || !begins_streams(section.section_type, &section.user));
        let item = match is_whole {
            true => Item::new(reader, number, section)?,
            false => Item::of_section(number, section),
        };
        if item.fault().is_some() && is_first(section.section_type, &section.user) {
            self.unknown = item.number;
        } else if self.is_of_unknown(&item) {
            let moved = MovedData { position: section.offset, user: section.user };
            self.moved.insert(section.offset, Some(moved));
        }
        if let Some(dataset) = item.dataset().filter(|_| !self.later) {
            self.rows.extend(dataset.added_rows().map(|rows| rows.metadata));
            let Section { offset: position, user, .. } = *dataset.data_section();
            if dataset.added_rows().next().is_some() || !reader.is_sealed() {
                self.moved.insert(position, Some(MovedData { position, user }));
            }
            let name = dataset.later_attributes().and(std::str::from_utf8(&user).ok());
            self.attributes.extend(name.map(|name| later_user(position, name)));
        }
        self.number = item.last();
        Ok(Some(item))
    }

    /// The user string of the data at this offset, if they belong to a dataset before that may have additions.
    pub fn passed(&self, data: u64) -> Option<&UserString> {
        self.moved.get(&data)?.as_ref().map(|moved| &moved.user)
    }

    /// From here on, additions to the dataset whose data are at this offset belong to its copy, with data at this
    /// position; without a position, there is no copy.
    pub fn goes_to(&mut self, data: u64, position: Option<u64>) {
        if let Some(moved) = self.moved.get_mut(&data) {
            *moved = moved.zip(position).map(|(moved, position)| MovedData { position, ..moved });
        }
    }

    /// The copy of the dataset for an addition, if the dataset came before; `Some(None)` if there is no copy.
    pub fn copy_of(&self, added: &AdditionName) -> Option<Option<MovedData>> {
        self.moved.get(&added.data).copied()
    }

    /// True if this section has the data of a dataset whose metadata this library does not know.
    pub fn is_of_unknown(&self, item: &Item) -> bool {
        let is_data = matches!(item.section.section_type, SectionType::Array | SectionType::Varray);
        is_data && self.unknown > 0 && item.number == self.unknown + 1
    }

    /// Skips the sections of a later addition, if the section whose header was just read is the first of them.
    /// Additions to no dataset are not skipped, because nothing else contains them.
    fn passes_later(&self, reader: &mut Reader, section: &Section) -> scda::Result<bool> {
        let Some(announced) = announced(section.section_type, &section.user) else { return Ok(false) };
        if announced == Addition::Rows && !self.rows.contains(&section.offset) {
            return Ok(false);
        }
        reader.skip()?;
        let second = reader.next_section(true)?;
        let is_passed = second.is_some_and(|second| match added_to(second.section_type, &second.user) {
            Some(AdditionName { addition: Addition::Attributes, .. }) => {
                let user = std::str::from_utf8(&second.user);
                announced == Addition::Attributes && user.is_ok_and(|user| self.attributes.contains(user))
            }
            Some(AdditionName { addition, .. }) => addition == announced,
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
