//! Lists a file as its users see it: a dataset is one entry, with everything that was added to it later.

use super::datasets::{AllRows, DatasetHandle};
use super::inspect::Inspector;
use super::local_reader::ReadsLocally;
use super::lookup::EntryName;
use super::sections::SectionReader;
use super::{Reader, ReaderState, Section, Streams};
use crate::file::team::Failure;
use scda_base::error::{Error, ErrorKind, Result};
use scda_format::dataset::additions::{self, announced};
use scda_format::dataset::stored_dataset::is_metadata;
use scda_format::dataset::{DATASET_CONVENTION, Dataset, GROUP_CONVENTION, Group};
use scda_format::header::SectionType;
use scda_format::streams::STREAMS;

/// An entry of a file, as its users see it: see [`Reader::entries`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Entry {
    /// What the entry is.
    pub content: Content,
    /// Its sections: two for a dataset or group; three for each part of a set of streams (those of the first
    /// part); otherwise one. What was added later is not included.
    pub sections: Vec<Section>,
    /// The number of its first section, for [`Reader::seek_section`].
    pub number: u64,
    /// Its number among the entries of the same name, from 0, for [`Reader::dataset_record`] and
    /// [`Reader::streams_record`].
    pub record: u64,
    /// The number of entries of this name in the file.
    pub records: u64,
}

/// What an [`Entry`] is.
#[derive(Debug)]
#[non_exhaustive]
pub enum Content {
    /// A dataset.
    Dataset(DatasetHandle),
    /// A dataset, group or set of streams that this library cannot read because it is invalid or has an
    /// unknown type; the error says why. Other entries can still be listed and read.
    Unknown(Error),
    /// A group with the attributes that were written last.
    Group(Group),
    /// A set of streams of tasks.
    Streams(Streams),
    /// Any other section.
    Section,
}

impl Entry {
    /// Its name: of the dataset, the path of the group, the user string of the streams or of the section.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        match &self.content {
            Content::Dataset(dataset) => dataset.name.as_bytes(),
            Content::Group(group) => group.path.as_bytes(),
            Content::Unknown(_) | Content::Streams(_) | Content::Section => self.user(),
        }
    }

    /// The user string of the section that carries the name.
    fn user(&self) -> &[u8] {
        named(&self.sections).map_or(&[], |section| &section.user)
    }

    /// The number of the section after this entry, from which [`Reader::next_entry`] continues.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.number + self.sections.len() as u64
    }
}

/// Whether an error concerns one entry alone. All ranks have read the same bytes, so all have the error.
fn is_of_content(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Format | ErrorKind::Range | ErrorKind::Unsupported)
}

/// The section that carries the name of an entry: the first one of several only describes the others.
fn named(sections: &[Section]) -> Option<&Section> {
    sections.get(1).or(sections.first())
}

/// Iterates over the entries of a file: see [`Reader::entries`].
pub struct Entries<'a> {
    reader: &'a mut Reader,
    /// The number of the next section; `None` after the end, or an error.
    next: Option<u64>,
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.reader.next_entry(self.next?).transpose();
        self.next = match &found {
            Some(Ok(entry)) => Some(entry.end()),
            _ => None,
        };
        found
    }
}

impl Reader {
    /// Lists the file as its users see it, in the order of the file: each record of each dataset, groups,
    /// sets of streams, and all other sections. Attributes and rows that were added later belong to their
    /// dataset, later parts to their set of streams; of a group, only the attributes that were written last
    /// are listed. The position in the file does not change.
    ///
    /// If the file ends with a seal, the index locates the sections; otherwise their headers are walked. The
    /// first step reads all user strings to number the records, for which rank 0 keeps 16 bytes a section. No
    /// other memory grows with the number of sections.
    ///
    /// Each step is collective.
    ///
    /// ```
    /// use scda::{Content, ReadOptions, Reader, Solo};
    /// # use scda::{DataType, Dataset, IndexBox, WriteOptions, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("state.scda");
    /// # let mut file = Writer::create(Solo, &path, b"", &WriteOptions::default())?;
    /// # file.group("flow", "{}")?;
    /// # for _ in 0..2 {
    /// #     file.dataset(&Dataset::new("flow/rho", DataType::Float32, [3, 2]), &[IndexBox::all(&[3, 2])], &[0; 24])?;
    /// # }
    /// # file.close()?;
    /// let mut file = Reader::open(Solo, &path, &ReadOptions::default())?;
    /// let mut found = Vec::new();
    /// for entry in file.entries() {
    ///     let entry = entry?;
    ///     match &entry.content {
    ///         Content::Dataset(dataset) => found.push(format!("{} {} {:?}", dataset.name, entry.record, dataset.shape)),
    ///         Content::Group(group) => found.push(format!("{}/", group.path)),
    ///         _ => {}
    ///     }
    /// }
    /// assert_eq!(found, ["flow/", "flow/rho 0 [3, 2]", "flow/rho 1 [3, 2]"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn entries(&mut self) -> Entries<'_> {
        Entries { reader: self, next: Some(0) }
    }

    /// The first entry, as [`Self::entries`] lists them, whose first section has this number or a later one;
    /// `None` if there is none. Continue at [`Entry::end`]. Other calls may come between two entries.
    ///
    /// # Errors
    /// The errors of [`Self::section`]. An entry with invalid metadata is a [`Content::Unknown`].
    pub fn next_entry(&mut self, number: u64) -> Result<Option<Entry>> {
        self.session.operate(|state| state.aside(|state| state.next_entry(number)))
    }
}

/// Entries by offset, and names.
impl Inspector<'_> {
    /// What begins with the section at this offset, and its sections. Additions are not merged: one part of
    /// streams is listed by itself, as are sections that were added later. `None` at the end of the file. The
    /// position in the file does not change.
    ///
    /// # Errors
    /// The errors of [`Reader::next_entry`] and [`Reader::seek`].
    pub fn content_at(&mut self, offset: u64) -> Result<Option<(Content, Vec<Section>)>> {
        self.0.session.operate(|state| {
            state.aside(|state| {
                state.sections.seek(offset)?;
                if !state.lookup().next_section(true)? {
                    return Ok(None);
                }
                state.read_content().map(Some)
            })
        })
    }

    /// The names of all datasets, and the paths of all groups with attributes, each once, in the order of the
    /// file. A group is where its last attributes are. In a sealed file the indexes have the names, so that
    /// no section is read; otherwise sections are read as by [`Reader::entries`].
    ///
    /// # Errors
    /// The errors of [`Reader::entries`].
    pub fn names(&mut self) -> Result<Vec<EntryName>> {
        if let Some(names) = self.0.session.operate(|state| state.lookup().names())? {
            return Ok(names);
        }
        let mut names = Vec::new();
        for entry in self.0.entries() {
            let entry = entry?;
            let is_of =
                |convention: &[u8]| entry.sections.first().is_some_and(|first| *first.user == *convention);
            let is_group = is_of(GROUP_CONVENTION);
            if is_group || entry.record == 0 && is_of(DATASET_CONVENTION) {
                names.push(EntryName { user: entry.user().to_vec(), is_group, number: entry.number });
            }
        }
        Ok(names)
    }

    /// The description of the dataset of this name and record, with the shape of all rows. Of added sections,
    /// only the last one is read.
    ///
    /// # Errors
    /// The errors of [`Reader::dataset_record`].
    pub fn dataset_outline(&mut self, name: &str, record: i64) -> Result<Option<Dataset>> {
        self.0.session.operate(|state| {
            let open = state.datasets().find_dataset(name, record, AllRows::Count)?;
            Ok(open.map(|open| open.stored.dataset))
        })
    }

    /// The dataset whose data are in the section of this number; `None` if that section holds no dataset's
    /// data.
    ///
    /// # Errors
    /// The errors of [`Reader::dataset`] and [`Reader::section`].
    pub fn dataset_in(&mut self, number: u64) -> Result<Option<DatasetHandle>> {
        self.0.session.operate(|state| {
            state.aside(|state| {
                let Some(before) = number.checked_sub(1) else { return Ok(None) };
                if !state.lookup().section(before)? {
                    return Ok(None);
                }
                let Some(&first) = state.sections.header() else { return Ok(None) };
                if !is_metadata(first.section_type, &first.user) {
                    return Ok(None);
                }
                match state.read_whole_content(first)? {
                    (Content::Dataset(dataset), _) => Ok(Some(dataset)),
                    _ => Ok(None),
                }
            })
        })
    }
}

impl ReadsLocally for ReaderState {
    fn sections(&mut self) -> &mut SectionReader {
        &mut self.sections
    }
}

impl ReaderState {
    /// See [`Reader::next_entry`].
    fn next_entry(&mut self, mut number: u64) -> Result<Option<Entry>, Failure> {
        loop {
            if !self.lookup().section(number)? {
                return Ok(None);
            }
            if self.is_addition(number)? {
                number += 2;
                continue;
            }
            if !self.lookup().section(number)? {
                return Ok(None);
            }
            let (mut content, sections) = self.read_content()?;
            let Some(&Section { user, .. }) = named(&sections) else { return Ok(None) };
            let end = number + sections.len() as u64;
            let last = number + u64::from(sections.len() > 1);
            let (record, records) = match &mut content {
                Content::Streams(part) if part.part() > 0 => {
                    number = end;
                    continue;
                }
                Content::Streams(streams) => match self.streams().set_that_begins(last, &user) {
                    Ok((set, record, records)) => {
                        *streams = set;
                        (record, records)
                    }
                    Err(Failure::Mine(error)) if is_of_content(&error) => {
                        content = Content::Unknown(error.in_file(self.sections.input.team.file_name()));
                        self.lookup().record_of(last, &user)?
                    }
                    Err(failure) => return Err(failure),
                },
                _ => self.lookup().record_of(last, &user)?,
            };
            // Earlier attributes of a group are not valid any more.
            if matches!(content, Content::Group(_)) && record + 1 < records {
                number = end;
                continue;
            }
            return Ok(Some(Entry { content, sections, number, record, records }));
        }
    }

    /// Whether the section of this number, whose header was just read, begins an addition to a dataset.
    fn is_addition(&mut self, number: u64) -> Result<bool, Failure> {
        let Some(&Section { section_type, user, .. }) = self.sections.header() else { return Ok(false) };
        let Some(announced) = announced(section_type, &user) else { return Ok(false) };
        let follows = self.lookup().section(number + 1)?;
        let named = self.sections.header().and_then(|section| additions::named(&section.user));
        Ok(follows && named.is_some_and(|named| named.addition == announced))
    }

    /// The content that begins with the section whose header was just read, and its sections. If it is
    /// invalid, the content is [`Content::Unknown`].
    fn read_content(&mut self) -> Result<(Content, Vec<Section>), Failure> {
        let Some(&first) = self.sections.header() else {
            return Err(Error::usage("no header was read").into());
        };
        match self.read_whole_content(first) {
            Err(Failure::Mine(error)) if is_of_content(&error) => {
                let error = error.in_file(self.sections.input.team.file_name());
                let second = self.section_after(&first).unwrap_or(None);
                Ok((Content::Unknown(error), std::iter::once(first).chain(second).collect()))
            }
            other => other,
        }
    }

    /// Like [`Self::read_content`], but returns an error if the content is invalid.
    fn read_whole_content(&mut self, first: Section) -> Result<(Content, Vec<Section>), Failure> {
        if is_metadata(first.section_type, &first.user)
            && let Some(open) = self.datasets().read_metadata(None, AllRows::Read)?
        {
            let sections = vec![open.metadata, open.data];
            return Ok((Content::Dataset(self.datasets().handle(open)), sections));
        }
        if first.section_type == SectionType::Inline
            && *first.user == *GROUP_CONVENTION
            && let Some(group) = self.datasets().read_group()?
        {
            let block = self.sections.header().copied();
            return Ok((Content::Group(group), std::iter::once(first).chain(block).collect()));
        }
        if first.section_type == SectionType::Block
            && *first.user == *STREAMS
            && let Some((streams, sections)) = self.streams().read_part()?
        {
            return Ok((Content::Streams(streams), sections.to_vec()));
        }
        Ok((Content::Section, vec![first]))
    }

    /// The section after one that only describes it: the data of a dataset, the attributes of a group, the
    /// chunks of streams. `None` if a section of another kind follows.
    fn section_after(&mut self, first: &Section) -> Result<Option<Section>, Failure> {
        self.sections.seek(first.offset)?;
        if !self.lookup().next_section(true)? {
            return Ok(None);
        }
        let Some(described) = self.sections.cursor.current_data() else { return Ok(None) };
        self.sections.advance(described.layout.end);
        let follows = self.lookup().next_section(true)?;
        let second = self.sections.header().copied().filter(|_| follows);
        Ok(second.filter(|second| match first.section_type {
            SectionType::Inline => second.section_type == SectionType::Block,
            _ => matches!(second.section_type, SectionType::Array | SectionType::Varray),
        }))
    }
}
