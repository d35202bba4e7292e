//! What a view of HDF5 shows (docs/hdf5.md), as one rank finds it in the sections of a file: those that the seals have, and those after them.

use super::Reader;
use super::chain::compare_crc;
use super::index::SealedPart;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{reserve, resize};
use scda_base::numbers::to_usize;
use scda_format::dataset::additions::{
    ATTRIBUTES_CONVENTION, ROWS_CONVENTION, attributes, first_row, later_of, later_user, rows_of, rows_user,
};
use scda_format::dataset::parse::{self, KnownMetadata};
use scda_format::dataset::stored_dataset::{DataSection, StoredDataset, is_metadata};
use scda_format::dataset::{GROUP_CONVENTION, group_of};
use scda_format::entry::parse_count;
use scda_format::hdf5::{
    BLOCK_HEAD_BYTES, LONG_HEADER_BYTES, SUPERBLOCK_BYTES, SUPERBLOCK_OFFSET, VIEW_TAIL_BYTES,
    parse_view_tail, view_section,
};
use scda_format::header::SectionType;
use scda_format::index::{ROW_BYTES, Row};
use scda_format::layout::{SectionLayout, sum};
use scda_format::padding::LineBreak;
use scda_format::seal::{SEAL_BYTES, Seal};
use scda_format::{COUNT_BYTES, crc};
use scda_hdf5::{Data, Entry, Part, Previous, Superblock, View, ViewBytes};
use scda_storage::ParallelFile;
use std::collections::{BTreeMap, HashMap};

/// Rows that are read at once.
const ROWS: u64 = 512;
/// What is read at once of the texts of datasets, and where they lie close together.
const FEW_BYTES: u64 = 4 << 10;
const MANY_BYTES: u64 = 64 << 10;

/// What is unreadable in a file that is no reason to write no view of the rest.
const UNREADABLE: &str = "damaged, or not as datasets are written";

/// A view to be written.
#[derive(Default)]
pub(in crate::file) struct NewView {
    /// The section with it; empty if the previous view shows the same.
    pub section: Vec<u8>,
    /// The offset in the file of the root group.
    pub root: u64,
}

impl Reader {
    /// Whether the file has room for the superblock of HDF5.
    #[doc(hidden)]
    #[must_use]
    pub fn has_superblock(&self) -> bool {
        self.session.state().is_some_and(|state| state.sections.ends().first == LONG_HEADER_BYTES)
    }

    /// What is in the place of the superblock; `None` if there is no room for one. Not collective.
    #[doc(hidden)]
    pub fn superblock(&mut self) -> Result<Option<SuperblockState>> {
        let has_room = self.has_superblock();
        self.session.operate(|state| {
            let file = state.sections().input().file();
            Ok(if has_room { Some(SuperblockState::of(file)?) } else { None })
        })
    }

    /// See [`superblock_up_to`].
    #[doc(hidden)]
    pub fn superblock_up_to(&mut self, sealed: u64) -> Result<Option<Superblock>> {
        self.session.operate(|state| Ok(superblock_up_to(state.sections().input().file(), sealed)?))
    }

    /// See [`renewed_superblock`]; `None` also if there is no room for one.
    #[doc(hidden)]
    pub fn renewed_superblock(&mut self, end: u64) -> Result<Option<[u8; SUPERBLOCK_BYTES]>> {
        let has_room = self.has_superblock();
        self.session.operate(|state| {
            let file = state.sections().input().file();
            Ok(if has_room { renewed_superblock(file, end)? } else { None })
        })
    }
}

/// Where the data of a dataset are.
enum Place {
    Plain(u64),
    Chunks(u64, Vec<u64>),
    Text,
}

/// A dataset of the file, with what was added to it.
struct Found {
    user: String,
    parts: Vec<(StoredDataset, Place)>,
    attributes: String,
    /// How many rows it has.
    rows: u64,
    is_unreadable: bool,
}

/// What the sections of a file have said so far.
#[derive(Default)]
struct Contents {
    found: Vec<Found>,
    /// The datasets by the offsets of their data.
    by_data: HashMap<u64, usize>,
    groups: BTreeMap<String, String>,
    /// What cannot be shown, and why.
    hidden: Vec<(String, &'static str)>,
    /// The section before.
    before: Option<Row>,
    known: KnownMetadata,
}

/// A file whose texts are read, some of them at once.
struct Texts<'a> {
    file: &'a mut dyn ParallelFile,
    end: u64,
    start: u64,
    near: Vec<u8>,
}

/// The view of a file whose sections end at `end`, where its block is to begin; the last seal ends at `sealed`, or at 0 if there is none, and
/// these are the rows of what follows it. `None` if nothing can be shown, or the previous view cannot be gone on from because the file is damaged.
///
/// # Errors
/// Those of reading; `Memory`.
pub(in crate::file) fn new_view(
    file: &mut dyn ParallelFile,
    end: u64,
    sealed: u64,
    rows: &[Row],
    style: LineBreak,
) -> Result<Option<NewView>> {
    match try_view(file, end, sealed, rows, style) {
        // What a checker reports must not keep a job from closing its file.
        Err(error) if error.kind().is_of_file() => Ok(None),
        found => found,
    }
}

fn try_view(
    file: &mut dyn ParallelFile,
    end: u64,
    sealed: u64,
    rows: &[Row],
    style: LineBreak,
) -> Result<Option<NewView>> {
    let previous = SuperblockState::of(file)?.view().filter(|superblock| superblock.end <= sealed);
    let mut contents = Contents::default();
    let mut before = None;
    let mut texts = Texts { file: &mut *file, end, start: 0, near: Vec::new() };
    for sealed in seals(&mut *texts.file, sealed)? {
        contents.read_index(&mut texts, &sealed)?;
        if previous.is_some_and(|previous| previous.end == sealed.seal.length) {
            before = Some(contents.view(&mut *texts.file)?);
        }
    }
    rows.iter().try_for_each(|row| contents.add(&mut texts, row))?;
    if contents.is_empty() {
        return Ok(None);
    }
    let view = contents.view(&mut *texts.file)?;
    let offset = end + BLOCK_HEAD_BYTES as u64;
    let mut read = |offset: u64, bytes: &mut [u8]| file.read_at(offset, bytes);
    let after = previous.zip(before).map(|(Superblock { root, .. }, before)| {
        view.write_after(offset, &before, Previous { root, read: &mut read })
    });
    let ViewBytes { bytes, root } = match after {
        Some(Err(error)) if error.kind().is_of_file() => view.write(offset)?,
        Some(written) => written?,
        None => view.write(offset)?,
    };
    let section = if bytes.is_empty() { Vec::new() } else { view_section(&bytes, root, style)? };
    Ok(Some(NewView { section, root }))
}

/// What is in the place of the superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuperblockState {
    /// Zeros: there is no view.
    None,
    /// A superblock that leads to a view.
    View(Superblock),
    /// Bytes by which HDF5 finds nothing: those of a write that was torn.
    Torn,
    /// What HDF5 takes for a superblock, and libscda does not write: another program has changed the file.
    Foreign,
}

impl SuperblockState {
    /// Of a file that has room for a superblock.
    ///
    /// # Errors
    /// Those of reading.
    pub(in crate::file) fn of(file: &mut dyn ParallelFile) -> Result<Self> {
        let mut bytes = [0; SUPERBLOCK_BYTES];
        file.read_at(SUPERBLOCK_OFFSET, &mut bytes)?;
        let (start, sum) = bytes.split_at(SUPERBLOCK_BYTES - 4);
        Ok(match Superblock::of_bytes(&bytes) {
            Ok(None) => Self::None,
            Ok(Some(superblock)) => Self::View(superblock),
            Err(_) if scda_hdf5::checksum(start).to_le_bytes() == *sum => Self::Foreign,
            Err(_) => Self::Torn,
        })
    }

    fn view(self) -> Option<Superblock> {
        match self {
            Self::View(superblock) => Some(superblock),
            _ => None,
        }
    }
}

/// The superblock of a file that is to end with the seal that ends at `sealed`: that of its last view; `None` if there is none.
///
/// # Errors
/// Those of reading.
pub(in crate::file) fn superblock_up_to(
    file: &mut dyn ParallelFile,
    sealed: u64,
) -> Result<Option<Superblock>> {
    let mut offset = sealed.checked_sub(SEAL_BYTES as u64);
    while let Some(at) = offset {
        let Some(found) = SealedPart::at(file, sealed, at)? else { return Ok(None) };
        if found.start < found.anchors {
            let mut tail = [0; VIEW_TAIL_BYTES];
            let start = found.anchors - VIEW_TAIL_BYTES as u64;
            file.read_at(start, &mut tail)?;
            let root = parse_view_tail(&tail, start).ok().map(|(root, _)| root);
            let superblock = root.map(|root| Superblock { root, end: found.seal.length });
            return Ok(superblock.filter(|superblock| superblock.to_bytes().is_ok()));
        }
        offset = Some(found.seal.previous).filter(|&previous| previous > 0);
    }
    Ok(None)
}

/// The superblock that a file is to have instead of the one that it has, if it is to end at `end`: with a seal, or the header of the file.
///
/// # Errors
/// `Format` if another program has written a superblock; those of reading.
pub(in crate::file) fn renewed_superblock(
    file: &mut dyn ParallelFile,
    end: u64,
) -> Result<Option<[u8; SUPERBLOCK_BYTES]>> {
    match SuperblockState::of(file)? {
        SuperblockState::None => return Ok(None),
        SuperblockState::View(found) if found.end <= end => return Ok(None),
        SuperblockState::View(_) | SuperblockState::Torn => {}
        SuperblockState::Foreign => {
            let words = "superblock of HDF5: found one that another program has written; change the file by scda alone";
            return Err(Error::new(ErrorKind::Format, words).at(SUPERBLOCK_OFFSET));
        }
    }
    let bytes = match superblock_up_to(file, end)? {
        Some(superblock) => superblock.to_bytes()?,
        None => [0; SUPERBLOCK_BYTES],
    };
    Ok(Some(bytes))
}

/// The seals of a file, the last of which ends at `end`; the first one comes first.
fn seals(file: &mut dyn ParallelFile, end: u64) -> Result<Vec<SealedPart>> {
    let mut all = Vec::new();
    let mut next = end.checked_sub(SEAL_BYTES as u64);
    while let Some(offset) = next {
        let sealed = SealedPart::at(file, end, offset)?;
        let sealed = sealed
            .ok_or_else(|| Error::new(ErrorKind::Checksum, "seal: found none, expected one").at(offset))?;
        reserve(&mut all, 1)?;
        all.push(sealed);
        next = Some(sealed.seal.previous).filter(|&previous| previous > 0);
    }
    all.reverse();
    Ok(all)
}

impl Texts<'_> {
    /// Bytes of the file.
    fn read(&mut self, offset: u64, bytes: u64) -> Result<&[u8]> {
        let end = offset.checked_add(bytes).filter(|&end| end <= self.end);
        let end = end.ok_or_else(|| Error::short_file("section", offset.saturating_add(bytes), self.end))?;
        let near = self.start + self.near.len() as u64;
        if offset < self.start || end > near {
            // Small datasets follow one another; where large data lie between them, each text is read by itself.
            let is_close =
                (near..near + MANY_BYTES).contains(&offset) || (self.start..near).contains(&offset);
            let ahead = if is_close { MANY_BYTES } else { FEW_BYTES };
            resize(&mut self.near, bytes.max(ahead.min(self.end - offset)))?;
            self.start = offset;
            self.file.read_at(offset, &mut self.near)?;
        }
        let place = to_usize(offset - self.start);
        Ok(&self.near[place..place + to_usize(bytes)])
    }

    /// The sizes of the elements of a varray, whose entries begin at this offset.
    fn sizes(&mut self, entries: u64, count: u64) -> Result<Vec<u64>> {
        let mut sizes = Vec::new();
        let mut done = 0;
        while done < count {
            let now = (count - done).min(MANY_BYTES / COUNT_BYTES as u64);
            let at = entries + done * COUNT_BYTES as u64;
            let text = self.read(at, now * COUNT_BYTES as u64)?;
            reserve(&mut sizes, to_usize(now))?;
            for entry in text.as_chunks().0 {
                sizes.push(parse_count(entry, b'E').map_err(|error| error.at(at))?);
            }
            done += now;
        }
        Ok(sizes)
    }
}

impl Contents {
    fn is_empty(&self) -> bool {
        self.found.is_empty() && self.groups.is_empty() && self.hidden.is_empty()
    }

    /// Adds the sections that an index has, if its checksum is right.
    fn read_index(&mut self, texts: &mut Texts<'_>, sealed: &SealedPart) -> Result<()> {
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
    fn add(&mut self, texts: &mut Texts<'_>, row: &Row) -> Result<()> {
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
            && let Some(found) = self.by_data.get(&data).and_then(|&number| self.found.get_mut(number))
            && *second.user == *later_user(data, &found.user).as_bytes()
        {
            let (_, text) = text(texts, second)?;
            found.attributes = attributes(&text)?;
        }
        Ok(())
    }

    fn add_dataset(&mut self, texts: &mut Texts<'_>, metadata: &Row, data: &Row) -> Result<()> {
        let (at, text) = text(texts, metadata)?;
        let stored = StoredDataset::new(&mut self.known, &text, at, described(data)?)?;
        let place = place(texts, data)?;
        let (attributes, rows) = (stored.dataset.attributes.clone(), rows_of_dataset(&stored));
        reserve(&mut self.found, 1)?;
        self.by_data.try_reserve(1).map_err(|_| Error::memory(size_of::<(u64, usize)>()))?;
        self.by_data.insert(data.offset, self.found.len());
        self.found.push(Found {
            user: String::from_utf8_lossy(&data.user).into_owned(),
            parts: vec![(stored, place)],
            attributes,
            rows,
            is_unreadable: false,
        });
        Ok(())
    }

    fn add_rows(&mut self, texts: &mut Texts<'_>, metadata: &Row, data: &Row) -> Result<()> {
        let Some((of, _)) = rows_of(&data.user) else { return Ok(()) };
        let Some(found) = self.by_data.get(&of).and_then(|&number| self.found.get_mut(number)) else {
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
            Ok(true)
        })();
        match is_read {
            Err(error) if error.kind().is_of_file() => found.is_unreadable = true,
            is_read => found.is_unreadable |= !is_read?,
        }
        Ok(())
    }

    /// What HDF5 shows of it. Small arrays of meshes are read from the file.
    fn view(&self, file: &mut dyn ParallelFile) -> Result<View> {
        let mut view = View::new();
        for (path, attributes) in &self.groups {
            view.group(path, attributes)?;
        }
        for Found { parts, attributes, is_unreadable, .. } in &self.found {
            let Some((stored, _)) = parts.first() else { continue };
            let name = &stored.dataset.name;
            if *is_unreadable {
                view.hide(name, UNREADABLE)?;
                continue;
            }
            let mut all = Vec::new();
            reserve(&mut all, parts.len())?;
            for (stored, place) in parts {
                let data = match place {
                    Place::Plain(offset) => Data::Plain(*offset),
                    Place::Chunks(offset, sizes) => Data::Chunks(*offset, sizes),
                    Place::Text => Data::Text,
                };
                all.push(Part { stored, data });
            }
            let added = view.dataset(&Entry { name, attributes, parts: &all });
            match added {
                Err(error) if error.kind() != ErrorKind::Memory => view.hide(name, UNREADABLE)?,
                added => added?,
            }
        }
        for (name, why) in &self.hidden {
            view.hide(name, why)?;
        }
        view.meshes(&mut |offset, bytes| file.read_at(offset, bytes))?;
        Ok(view)
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
