//! The sections of a file as HDF5 is to see them: those that the seals list, and those after them.

use super::texts::Texts;
use crate::file::reader::chain::compare_crc;
use crate::file::reader::index::SealedPart;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{reserve, resize};
use scda_format::crc;
use scda_format::dataset::additions::{
    ATTRIBUTES_CONVENTION, ROWS_CONVENTION, attributes, first_row, later_of, later_user, rows_of, rows_user,
};
use scda_format::dataset::parse::{self, KnownMetadata};
use scda_format::dataset::stored_dataset::{DataSection, StoredDataset, is_metadata};
use scda_format::dataset::{GROUP_CONVENTION, group_of};
use scda_format::header::SectionType;
use scda_format::index::{ROW_BYTES, Row};
use scda_format::layout::{SectionLayout, sum};
use scda_format::seal::{SEAL_BYTES, Seal};
use scda_hdf5::{Data, Part, Shown, View};
use scda_storage::ParallelFile;
use std::collections::BTreeMap;

/// Rows that are read at once.
const ROWS: u64 = 512;

/// What is unreadable in a file that is no reason to write no view of the rest.
const UNREADABLE: &str = "damaged, or not as datasets are written";

/// Where the data of a dataset are.
enum Place {
    Plain(u64),
    Chunks(u64, Vec<u64>),
    Text,
}

/// A dataset of the file, with what was added to it.
struct Found {
    /// The offset in the file of the section with its data.
    data: u64,
    user: String,
    parts: Vec<(StoredDataset, Place)>,
    attributes: String,
    /// How many rows it has.
    rows: u64,
    is_unreadable: bool,
    /// What HDF5 shows of it, if nothing was added since that was made.
    shown: Option<Shown>,
}

/// What the sections of a file have said so far.
#[derive(Default)]
pub struct Contents {
    /// In the order of the file.
    found: Vec<Found>,
    groups: BTreeMap<String, String>,
    /// What cannot be shown, and why.
    hidden: Vec<(String, &'static str)>,
    /// The section before.
    before: Option<Row>,
    known: KnownMetadata,
}

impl Contents {
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of datasets, records, parts and groups, and of what cannot be shown.
    pub fn len(&self) -> usize {
        let parts: usize = self.found.iter().map(|found| found.parts.len()).sum();
        parts + self.groups.len() + self.hidden.len()
    }

    /// Adds the sections that an index has, if its checksum is right.
    pub fn read_index(&mut self, texts: &mut Texts<'_>, sealed: &SealedPart) -> Result<()> {
        let Seal { index, length, .. } = sealed.seal;
        let (mut at, mut next) = (sealed.row_offset(0), sealed.begin());
        let mut bytes = Vec::new();
        resize(&mut bytes, at - index)?;
        texts.file.read_at(index, &mut bytes)?;
        let (mut sum, mut left) = (crc::of(&bytes), sealed.seal.rows());
        while left > 0 {
            let now = left.min(ROWS);
            resize(&mut bytes, now * ROW_BYTES as u64)?;
            texts.file.read_at(at, &mut bytes)?;
            sum = crc::extend(sum, &bytes);
            for bytes in bytes.as_chunks().0 {
                let row = Row::parse(bytes, at)?;
                if row.offset != next {
                    return Err(Error::new(ErrorKind::Checksum, "row of the index: another offset").at(at));
                }
                (next, at) = (row.end(), at + ROW_BYTES as u64);
                self.add(texts, &row)?;
            }
            left -= now;
        }
        resize(&mut bytes, length - at)?;
        texts.file.read_at(at, &mut bytes)?;
        let (padding, seal) = bytes.split_at(bytes.len() - SEAL_BYTES);
        let found = Seal::crc_of(crc::extend(sum, padding), seal.first_chunk().unwrap_or(&[0; SEAL_BYTES]));
        compare_crc("index", found, sealed.seal.crc, index)
    }

    /// Adds a section, which follows those before.
    pub fn add(&mut self, texts: &mut Texts<'_>, row: &Row) -> Result<()> {
        let Some(first) = self.before.replace(*row) else { return Ok(()) };
        let added = self.add_pair(texts, &first, row);
        match added {
            Err(error) if error.kind().is_of_file() || error.kind() == ErrorKind::Unsupported => {
                let name = String::from_utf8_lossy(&row.user).into_owned();
                let is_new = error.kind() == ErrorKind::Unsupported;
                self.hide(name, if is_new { "unknown to libscda" } else { UNREADABLE })
            }
            added => added,
        }
    }

    fn hide(&mut self, name: String, why: &'static str) -> Result<()> {
        reserve(&mut self.hidden, 1)?;
        self.hidden.push((name, why));
        Ok(())
    }

    /// Adds what these two sections are together, if they are something.
    fn add_pair(&mut self, texts: &mut Texts<'_>, first: &Row, second: &Row) -> Result<()> {
        let Some(section) = first.section else { return Ok(()) };
        let user = &*first.user;
        if is_metadata(section, user) {
            return self.add_dataset(texts, first, second);
        }
        if section == SectionType::Block && user == ROWS_CONVENTION {
            return self.add_rows(texts, first, second);
        }
        let is_block = second.section == Some(SectionType::Block);
        if section != SectionType::Inline || !is_block {
            return Ok(());
        }
        if user == GROUP_CONVENTION
            && let Some(path) = group_of(&second.user)
        {
            let (_, text) = text(texts, second)?;
            self.groups.insert(path, parse::group(&text)?);
        } else if user == ATTRIBUTES_CONVENTION
            && let Some((data, _)) = later_of(&second.user)
            && let Some(found) = self.with_data(data)
            && *second.user == *later_user(data, &found.user).as_bytes()
        {
            let (_, text) = text(texts, second)?;
            found.attributes = attributes(&text)?;
            found.shown = None;
        }
        Ok(())
    }

    /// The dataset whose data are in the section at this offset.
    fn with_data(&mut self, data: u64) -> Option<&mut Found> {
        let number = self.found.binary_search_by_key(&data, |found| found.data).ok()?;
        self.found.get_mut(number)
    }

    fn add_dataset(&mut self, texts: &mut Texts<'_>, metadata: &Row, data: &Row) -> Result<()> {
        let (at, text) = text(texts, metadata)?;
        let stored = StoredDataset::new(&mut self.known, &text, at, described(data)?)?;
        let place = place(texts, data)?;
        let (attributes, rows) = (stored.dataset.attributes.clone(), rows_of_dataset(&stored));
        reserve(&mut self.found, 1)?;
        self.found.push(Found {
            data: data.offset,
            user: String::from_utf8_lossy(&data.user).into_owned(),
            parts: vec![(stored, place)],
            attributes,
            rows,
            is_unreadable: false,
            shown: None,
        });
        Ok(())
    }

    fn add_rows(&mut self, texts: &mut Texts<'_>, metadata: &Row, data: &Row) -> Result<()> {
        let Some((of, _)) = rows_of(&data.user) else { return Ok(()) };
        let Some(found) = self.with_data(of) else {
            return Ok(());
        };
        if *data.user != *rows_user(of, &found.user).as_bytes() {
            return Ok(());
        }
        let is_read = (|| -> Result<bool> {
            let (at, text) = text(texts, metadata)?;
            let Some((first, _)) = found.parts.first() else { return Ok(false) };
            let stored = StoredDataset::of_rows(&text, at, described(data)?, first)?;
            let rows = sum(found.rows, rows_of_dataset(&stored));
            let Some(rows) = rows.filter(|_| first_row(&stored.dataset.attributes) == Some(found.rows))
            else {
                return Ok(false);
            };
            let place = place(texts, data)?;
            reserve(&mut found.parts, 1)?;
            found.parts.push((stored, place));
            found.rows = rows;
            found.shown = None;
            Ok(true)
        })();
        match is_read {
            Err(error) if error.kind().is_of_file() => found.is_unreadable = true,
            is_read => found.is_unreadable |= !is_read?,
        }
        Ok(())
    }

    /// What HDF5 shows of it. Small arrays of meshes are read from the file.
    pub fn view(&mut self, file: &mut dyn ParallelFile) -> Result<View> {
        let mut view = View::new();
        for (path, attributes) in &self.groups {
            view.group(path, attributes)?;
        }
        for found in &mut self.found {
            let shown = match found.shown.take() {
                Some(shown) => Some(shown),
                None => found.show()?,
            };
            let Some((stored, _)) = found.parts.first() else { continue };
            match &shown {
                Some(shown) => view.shown(&stored.dataset.name, shown)?,
                None => view.hide(&stored.dataset.name, UNREADABLE)?,
            }
            found.shown = shown;
        }
        for (name, why) in &self.hidden {
            view.hide(name, why)?;
        }
        view.meshes(&mut |offset, bytes| file.read_at(offset, bytes))?;
        Ok(view)
    }
}

impl Found {
    /// What HDF5 shows of it; `None` if it cannot be read.
    fn show(&self) -> Result<Option<Shown>> {
        if self.is_unreadable {
            return Ok(None);
        }
        let mut parts = Vec::new();
        reserve(&mut parts, self.parts.len())?;
        for (stored, place) in &self.parts {
            let data = match place {
                Place::Plain(offset) => Data::Plain(*offset),
                Place::Chunks(offset, sizes) => Data::Chunks(*offset, sizes),
                Place::Text => Data::Text,
            };
            parts.push(Part { stored, data });
        }
        match Shown::new(&self.attributes, &parts) {
            Err(error) if error.kind() == ErrorKind::Memory => Err(error),
            shown => Ok(shown.ok()),
        }
    }
}

/// The text of a block, and where it begins.
fn text(texts: &mut Texts<'_>, row: &Row) -> Result<(u64, Vec<u8>)> {
    let layout = row.data_section(0).filter(|_| !row.is_compressed);
    let layout =
        layout.ok_or_else(|| Error::new(ErrorKind::Unsupported, "compressed metadata").at(row.offset))?;
    let bytes = texts.read(layout.data, row.size)?;
    let mut text = Vec::new();
    reserve(&mut text, bytes.len())?;
    text.extend_from_slice(bytes);
    Ok((layout.data, text))
}

/// How a section of data looks to a reader that decodes.
fn described(row: &Row) -> Result<DataSection<'_>> {
    let section_type = row.section.ok_or_else(|| Error::argument("the header of the file has no data"))?;
    let size = if section_type == SectionType::Varray { 0 } else { row.size };
    let Row { user, count, is_compressed, .. } = row;
    Ok(DataSection { section_type, user, count: *count, size, is_compressed: *is_compressed })
}

fn place(texts: &mut Texts<'_>, row: &Row) -> Result<Place> {
    if row.is_compressed {
        return Ok(Place::Text);
    }
    let layout = row.data_section(0).ok_or_else(|| Error::range("section: beyond 63 bits").at(row.offset))?;
    let SectionLayout { entries, data, .. } = layout;
    match row.section {
        Some(SectionType::Varray) => Ok(Place::Chunks(data, texts.sizes(entries, row.count)?)),
        _ => Ok(Place::Plain(data)),
    }
}

fn rows_of_dataset(stored: &StoredDataset) -> u64 {
    stored.dataset.shape.first().copied().unwrap_or(0)
}
