//! Recognizes the seals of a file that is read, and where the file ends for a reader.

use crate::file::open::Ends;
use crate::file::options::ReadOptions;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{reserve, resize};
use scda_base::numbers::to_usize;
use scda_format::FILE_HEADER_BYTES;
use scda_format::hdf5::{BLOCK_HEAD_BYTES, LONG_HEADER_BYTES, VIEW, end_of_view, is_reserved};
use scda_format::header::{SectionType, parse_file_header};
use scda_format::index::{
    ANCHOR_BYTES, ANCHORS, INDEX, INDEX_END_BYTES, ROW_BYTES, Row, TABLE_HEADER_BYTES, TABLE_PADDING_BYTES,
    is_end_of_index, parse_table_header,
};
use scda_format::layout::SectionLayout;
use scda_format::names::{NAME_BYTES, NAMES, Table};
use scda_format::padding::LineBreak;
use scda_format::seal::{SEAL, SEAL_BYTES, Seal};
use scda_format::truncation::{self, NEW_END_HEADER_BYTES, NEW_END_LAST_BYTES, NewEnd, TRUNCATION_BYTES};
use scda_storage::ParallelFile;

/// The bytes of a table around its elements.
const TABLE_FRAME_BYTES: u64 = (TABLE_HEADER_BYTES + TABLE_PADDING_BYTES) as u64;

/// A seal of the file, with its tables and what precedes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealedPart {
    /// The seal's contents.
    pub seal: Seal,
    /// Where the sections that it seals end: the offset of its view, anchors, names, or index.
    pub start: u64,
    /// Where its view, if any, ends: the offset of its anchors, names, or index.
    pub anchors: u64,
    /// Where its anchors, if any, end: the offset of its table of names, or of its index if it has none.
    pub names: u64,
    /// The number of sections in the file before those that it seals.
    pub first: u64,
}

impl SealedPart {
    /// The seal at `offset`, if there is one (docs/format.md, "The seal").
    pub(super) fn at(file: &mut dyn ParallelFile, size: u64, offset: u64) -> Result<Option<Self>> {
        let mut near = TailBuffer::seal_at(file, size, offset, NEAR_BYTES)?;
        if let Some(seal) = near.parse(offset) {
            near.extend_to(file, seal.previous)?;
        }
        let found = Self::among(file, size, offset, &near)?;
        let Some(Seal { previous, .. }) = found.map(|sealed| sealed.seal) else { return Ok(None) };
        let is_previous = match previous {
            0 => true,
            _ => Bytes { file, size, near: &near }.seal_at(previous)?.is_some_and(|previous| {
                found.is_some_and(|found| found.seal.check_previous(&previous).is_ok())
            }),
        };
        Ok(found.filter(|_| is_previous))
    }

    /// Like [`Self::at`], using the bytes in `near`. Does not compare the seal before it.
    pub(super) fn among(
        file: &mut dyn ParallelFile,
        size: u64,
        offset: u64,
        near: &TailBuffer,
    ) -> Result<Option<Self>> {
        let mut file = Bytes { file, size, near };
        let Some(seal) = file.seal_at(offset)? else { return Ok(None) };
        if file.table_at(seal.index, INDEX, ROW_BYTES)? != Some(seal.rows()) {
            return Ok(None);
        }
        let Some([start, anchors, names]) = file.tables_of(&seal)? else { return Ok(None) };
        let rows = seal.rows() - u64::from(seal.previous == 0);
        Ok(Some(Self { seal, start, anchors, names, first: seal.sections.saturating_sub(rows) }))
    }

    /// The size of its table of names; 0 if there is none.
    #[must_use]
    pub fn names_bytes(&self) -> u64 {
        self.seal.index - self.names
    }

    /// The offset of the end row in its table of names.
    pub(super) fn end_of_names(&self) -> u64 {
        Table::end_offset(self.seal.index)
    }

    /// Where the sections that it seals begin; for the first seal, the beginning of the file.
    #[must_use]
    pub fn begin(&self) -> u64 {
        if self.seal.previous == 0 { 0 } else { self.seal.previous + SEAL_BYTES as u64 }
    }

    /// The seal to which a section of this type and user string belongs, if it is a part of one.
    pub(super) fn around(
        file: &mut dyn ParallelFile,
        size: u64,
        (section_type, user): (SectionType, &[u8]),
        layout: SectionLayout,
    ) -> Result<Option<Self>> {
        let SectionLayout { start, end, .. } = layout;
        let offset = match section_type {
            SectionType::Block if user == SEAL => Some(start),
            _ if user == INDEX => Some(end),
            _ => {
                let near = TailBuffer::default();
                let mut bytes = Bytes { file: &mut *file, size, near: &near };
                // What follows the section, in this order. All but the index may be missing.
                let mut at = Some(end);
                let tables = [(ANCHORS, ANCHOR_BYTES), (NAMES, NAME_BYTES), (INDEX, ROW_BYTES)];
                let before = if user == VIEW {
                    0
                } else if user == ANCHORS {
                    1
                } else {
                    2
                };
                for (table, element) in tables.into_iter().skip(before) {
                    let count = at.map(|at| bytes.table_at(at, table, element)).transpose()?.flatten();
                    at = match (at, count) {
                        (Some(at), Some(count)) => table_end(at, count, element),
                        (at, _) => at.filter(|_| table != INDEX),
                    };
                }
                at
            }
        };
        let Some(offset) = offset else { return Ok(None) };
        let sealed = SealedPart::at(file, size, offset)?;
        Ok(sealed.filter(|sealed| {
            let SealedPart { seal, start: first, anchors, names, .. } = *sealed;
            [first, anchors, names, seal.index, offset].contains(&start)
        }))
    }
}

/// The bytes before the end of a seal that are read at once: enough for a seal of few sections.
pub(super) const NEAR_BYTES: u64 = 4096;
/// The most bytes before these that are read as well, if the previous seal is among them.
const MOST_BEFORE: u64 = 12 << 10;

/// The bytes up to the end of a seal, read by one call.
#[derive(Default)]
pub(super) struct TailBuffer {
    start: u64,
    pub(super) bytes: Vec<u8>,
}

impl TailBuffer {
    /// Reads up to `most` bytes, up to the end of the seal expected at `offset`. Empty if the file is
    /// shorter.
    pub(super) fn seal_at(file: &mut dyn ParallelFile, size: u64, offset: u64, most: u64) -> Result<Self> {
        let mut this = Self::default();
        if let Some(end) = offset.checked_add(SEAL_BYTES as u64).filter(|&end| end <= size) {
            let length = most.min(end);
            resize(&mut this.bytes, length)?;
            this.start = end - length;
            file.read_at(this.start, &mut this.bytes)?;
        }
        Ok(this)
    }

    /// Reads the bytes before as well, from `offset` on, if they are few: that costs no more than reading
    /// some of them.
    fn extend_to(&mut self, file: &mut dyn ParallelFile, offset: u64) -> Result<()> {
        if (self.start.saturating_sub(MOST_BEFORE)..self.start).contains(&offset) {
            let mut bytes = Vec::new();
            resize(&mut bytes, self.start - offset)?;
            file.read_at(offset, &mut bytes)?;
            reserve(&mut bytes, self.bytes.len())?;
            bytes.append(&mut self.bytes);
            (self.start, self.bytes) = (offset, bytes);
        }
        Ok(())
    }

    /// The bytes from `offset` on; empty if they were not read.
    pub(super) fn from(&self, offset: u64) -> &[u8] {
        let place = offset.checked_sub(self.start).and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| self.bytes.get(place..)).unwrap_or_default()
    }

    /// The seal at `offset`, if the bytes there have the form of one.
    pub(super) fn parse(&self, offset: u64) -> Option<Seal> {
        self.from(offset).first_chunk().and_then(|bytes| Seal::parse(bytes, offset))
    }
}

/// The bytes at `offset`, or `None` if the file is shorter.
fn bytes_at<const N: usize>(file: &mut dyn ParallelFile, size: u64, offset: u64) -> Result<Option<[u8; N]>> {
    if offset.checked_add(N as u64).is_none_or(|end| end > size) {
        return Ok(None);
    }
    let mut bytes = [0; N];
    file.read_at(offset, &mut bytes)?;
    Ok(Some(bytes))
}

/// A file of this size, and some of its bytes that have been read.
struct Bytes<'a> {
    file: &'a mut dyn ParallelFile,
    size: u64,
    near: &'a TailBuffer,
}

impl Bytes<'_> {
    /// The bytes at `offset`, or `None` if the file is shorter.
    fn at<const N: usize>(&mut self, offset: u64) -> Result<Option<[u8; N]>> {
        let known = self.near.from(offset).first_chunk();
        known.map_or_else(|| bytes_at(&mut *self.file, self.size, offset), |bytes| Ok(Some(*bytes)))
    }

    /// The seal at `offset`, if the bytes there have the form of one.
    fn seal_at(&mut self, offset: u64) -> Result<Option<Seal>> {
        Ok(self.at(offset)?.and_then(|bytes| Seal::parse(&bytes, offset)))
    }

    /// The number of elements of the table of this name at `offset`, if there is one.
    fn table_at(&mut self, offset: u64, user: &[u8], element: usize) -> Result<Option<u64>> {
        Ok(self.at(offset)?.and_then(|header| parse_table_header(&header, user, element)))
    }

    /// Where the last sealed section, the view, and the anchors end; the last of these is where the table of
    /// names begins, or the index if there is none. `None` if the seal seals no sections, but is not preceded
    /// directly by another seal.
    fn tables_of(&mut self, seal: &Seal) -> Result<Option<[u64; 3]>> {
        let at = seal.offset() - (TABLE_PADDING_BYTES + ROW_BYTES) as u64;
        // A wrong row does no harm: the tables must lead from this offset to the index without a gap.
        let end = match seal.rows() {
            0 => seal.previous + SEAL_BYTES as u64,
            _ => {
                let row: Option<[u8; ROW_BYTES]> = self.at(at)?;
                row.and_then(|row| Row::parse_end(&row)).unwrap_or(seal.index)
            }
        };
        let view = self.view_before(end, seal.index)?.unwrap_or(end);
        // The last element of the anchors is their checksum.
        let anchors = self.table_before(view, seal.index, ANCHORS, ANCHOR_BYTES)?;
        let names = anchors.unwrap_or(view);
        let table = self.table_before(names, seal.index, NAMES, NAME_BYTES)?;
        Ok(match table.unwrap_or(names) == seal.index {
            true => Some([end, view, names]),
            false => (seal.rows() > 0).then_some([seal.index; 3]),
        })
    }

    /// The end of the view's block at `offset`, if there is one that ends at or before `index`.
    fn view_before(&mut self, offset: u64, index: u64) -> Result<Option<u64>> {
        let head: Option<[u8; BLOCK_HEAD_BYTES]> = if offset < index { self.at(offset)? } else { None };
        Ok(head.and_then(|head| end_of_view(&head, offset)).filter(|&end| end <= index))
    }

    /// The end of the table with this name at `offset`, if there is one with elements that ends at or before
    /// `index`.
    fn table_before(&mut self, offset: u64, index: u64, user: &[u8], element: usize) -> Result<Option<u64>> {
        let count = if offset < index { self.table_at(offset, user, element)? } else { None };
        let end = count.filter(|&count| count > 1).and_then(|count| table_end(offset, count, element));
        Ok(end.filter(|&end| end <= index))
    }
}

/// The end of a table with this number of elements at `offset`.
fn table_end(offset: u64, count: u64, element: usize) -> Option<u64> {
    count.checked_mul(element as u64)?.checked_add(TABLE_FRAME_BYTES)?.checked_add(offset)
}

/// The bytes that are searched for a seal at a time.
pub(super) const SEARCH_BYTES: u64 = 1 << 20;
/// Sections begin at multiples of this number of bytes.
pub(super) const STEP: usize = 32;

/// The offsets at which seals may be among these bytes, which are at offset `start`.
pub(super) fn seals_among(start: u64, bytes: &[u8]) -> impl DoubleEndedIterator<Item = u64> {
    let begins_seal = |line: &[u8]| line.strip_prefix(b"B ").is_some_and(|user| user.starts_with(SEAL));
    let lines = bytes.chunks(STEP).enumerate().filter(move |(_, line)| begins_seal(line));
    lines.map(move |(number, _)| start + (number * STEP) as u64)
}

/// How much of a file a reader sees.
#[derive(Clone, Copy)]
pub(super) enum Extent {
    /// All of it, including the sections of seals.
    Raw,
    /// All of it, without the sections of seals.
    All,
    /// The part before the last seal if the file was created to be sealed; only the header if it has no seal
    /// yet.
    ToSeal,
}

impl Extent {
    pub fn of(params: &ReadOptions) -> Self {
        match params {
            ReadOptions { raw: true, .. } => Self::Raw,
            ReadOptions { to_seal: true, .. } => Self::ToSeal,
            _ => Self::All,
        }
    }

    /// Finds where the file ends. If another job shortens it meanwhile, because it removes what a killed job
    /// has left, starts again.
    pub fn ends(self, file: &mut dyn ParallelFile, mut size: u64) -> Result<Ends> {
        loop {
            match self.ends_at(file, size) {
                Err(error) if error.kind() == ErrorKind::ShortFile => {
                    let now = file.size()?;
                    if now == size {
                        return Err(error);
                    }
                    size = now;
                }
                found => return found,
            }
        }
    }

    fn ends_at(self, file: &mut dyn ParallelFile, size: u64) -> Result<Ends> {
        if matches!(self, Self::Raw) {
            return Ok(Ends { seal: seal_ending(file, size, size)?, ..Ends::all(size) });
        }
        let first = end_of_header(file, size)?;
        let (mut sections, mut seal) = end_of_sections(file, size)?;
        let mut read = size;
        if matches!(self, Self::ToSeal) && sections == size {
            if let Some(length) = truncated_to(file, size)? {
                read = length;
            } else if is_to_be_sealed(file, size)? {
                if let Some(offset) = damaged_end(file, size)? {
                    let words = match seal_of_other(file, size)? {
                        Some(length) => format!(
                            "the seal at the end of the file is that of a file of {length} bytes; this one has {size}"
                        ),
                        None => "the seal at the end of the file is damaged".to_owned(),
                    };
                    return Err(Error::new(ErrorKind::Checksum, words).at(offset));
                }
                read = last_seal(file, size)?.unwrap_or(first);
            }
            if read < size {
                (sections, seal) = end_of_sections(file, read)?;
            }
        }
        Ok(Ends { file: size, read, sections, first, seal })
    }

    /// Finds where the file ends now. Returns an error if its last seal shows that it does not continue
    /// `before`.
    pub fn grown(self, file: &mut dyn ParallelFile, before: Ends) -> Result<Ends> {
        let size = file.size()?;
        let now = self.ends(file, size)?;
        if now.read < before.read {
            let (found, known) = (now.read, before.read);
            // Only another job shortens the committed part of a file.
            let kind = if before.seal == 0 { ErrorKind::ShortFile } else { ErrorKind::FileInUse };
            let words = format!(
                "refresh: the file has shrunk: {found} bytes can be read, {known} before: open it again"
            );
            return Err(Error::new(kind, words).at(found));
        }
        // The end was read before: if the file still has this seal, it had it then.
        if before.seal != 0 && seal_ending(file, now.file, before.read)? != before.seal {
            return Err(gone_back(before.read - SEAL_BYTES as u64));
        }
        Ok(now)
    }
}

/// The error for a file that no longer has the seal at this offset.
pub(super) fn gone_back(offset: u64) -> Error {
    let words =
        "refresh: another job has removed what was read, and committed other data there: open the file again";
    Error::new(ErrorKind::FileInUse, words).at(offset)
}

/// The checksum of the seal that ends at `end` in a file of this size; 0 if there is none.
fn seal_ending(file: &mut dyn ParallelFile, size: u64, end: u64) -> Result<u64> {
    let Some(offset) = end.checked_sub(SEAL_BYTES as u64) else { return Ok(0) };
    let bytes = bytes_at(file, size, offset)?;
    Ok(bytes.and_then(|bytes| Seal::parse(&bytes, offset)).map_or(0, |seal| seal.crc))
}

/// The length of the file whose seal ends a file of this size, if it is a seal as written, but for another length: bytes
/// were inserted or lost before it, or another file follows the first one.
fn seal_of_other(file: &mut dyn ParallelFile, size: u64) -> Result<Option<u64>> {
    let Some(offset) = size.checked_sub(SEAL_BYTES as u64) else { return Ok(None) };
    let bytes = bytes_at(file, size, offset)?;
    let length = bytes.and_then(|bytes| {
        let length = Seal::length_in(&bytes)?;
        Seal::parse(&bytes, length.checked_sub(SEAL_BYTES as u64)?).map(|seal| seal.length)
    });
    Ok(length.filter(|&length| length != size))
}

/// For a file of this size that does not end with a seal: the offset of the damaged seal that did end it, if
/// there is one, according to its name or the index before it. What it committed must not be mistaken for the
/// remains of a killed job.
pub(super) fn damaged_end(file: &mut dyn ParallelFile, size: u64) -> Result<Option<u64>> {
    const BYTES: usize = INDEX_END_BYTES + SEAL_BYTES;
    let at = size.checked_sub(BYTES as u64).filter(|at| at.is_multiple_of(STEP as u64));
    let Some(at) = at else { return Ok(None) };
    let bytes = bytes_at::<BYTES>(file, size, at)?;
    let is_damaged = bytes.as_ref().is_some_and(|bytes| {
        let ends = (bytes.first_chunk(), bytes.last_chunk());
        let (Some(before), Some(seal)) = ends else { return false };
        Seal::was_here(seal) || Seal::is_all_there(seal) && is_end_of_index(before, at)
    });
    Ok(is_damaged.then_some(at + INDEX_END_BYTES as u64))
}

/// An announcement, at the end of a file, that the file is being truncated.
pub(super) enum Announcement {
    /// A note with the new end, which is that of a seal.
    Note(u64),
    /// A new end, which is still to be moved to its place.
    NewEnd(NewEnd),
}

/// The announcement at the end of a file of this size, if there is one. Takes one read for most files.
pub(super) fn announced(file: &mut dyn ParallelFile, size: u64) -> Result<Option<Announcement>> {
    let most = to_usize(size.min(NEW_END_LAST_BYTES as u64));
    if most < TRUNCATION_BYTES || !size.is_multiple_of(STEP as u64) {
        return Ok(None);
    }
    let mut last = [0; NEW_END_LAST_BYTES];
    let bytes = &mut last[NEW_END_LAST_BYTES - most..];
    file.read_at(size - most as u64, bytes)?;
    let at = size - TRUNCATION_BYTES as u64;
    if let Some(length) = bytes.last_chunk().and_then(|note| truncation::parse(note, at)) {
        let sealed = SealedPart::at(file, size, length - SEAL_BYTES as u64)?;
        return Ok(sealed.map(|sealed| Announcement::Note(sealed.seal.length)));
    }
    let Some(found) = NewEnd::parse(&last, size) else { return Ok(None) };
    let header = bytes_at(file, size, found.tables - NEW_END_HEADER_BYTES as u64)?;
    let styles = [LineBreak::Unix, LineBreak::Mime];
    let is_block = styles.iter().any(|&style| header == Some(found.header(style)));
    let stays = is_block
        && match found.stays.checked_sub(SEAL_BYTES as u64) {
            _ if found.stays == end_of_header(file, size)? => true,
            Some(seal) => SealedPart::at(file, size, seal)?.is_some(),
            None => false,
        };
    Ok(stays.then_some(Announcement::NewEnd(found)))
}

/// Where a file that is being truncated ends for readers: at the end of the last remaining seal, or of the
/// header.
pub(super) fn truncated_to(file: &mut dyn ParallelFile, size: u64) -> Result<Option<u64>> {
    Ok(announced(file, size)?.map(|found| match found {
        Announcement::Note(length) => length,
        Announcement::NewEnd(new_end) => new_end.stays,
    }))
}

/// Whether the file's header has the mark of a file to be sealed. A wrong header is reported when it is read.
fn is_to_be_sealed(file: &mut dyn ParallelFile, size: u64) -> Result<bool> {
    let header = bytes_at::<FILE_HEADER_BYTES>(file, size, 0)?;
    Ok(header.is_some_and(|header| parse_file_header(&header).is_ok_and(|header| header.has_seal_mark())))
}

/// Where the header of a file of this size ends. It includes the block that is reserved for the HDF5
/// superblock, if any.
pub(super) fn end_of_header(file: &mut dyn ParallelFile, size: u64) -> Result<u64> {
    let short = FILE_HEADER_BYTES as u64;
    let block = bytes_at(file, size, short)?;
    Ok(if block.is_some_and(|block| is_reserved(&block)) { LONG_HEADER_BYTES } else { short })
}

/// The end of the last seal of a file. Reads all that follows it.
fn last_seal(file: &mut dyn ParallelFile, size: u64) -> Result<Option<u64>> {
    let step = STEP as u64;
    let (mut end, mut bytes) = (size.next_multiple_of(step), Vec::new());
    while end > 0 {
        let start = end.saturating_sub(SEARCH_BYTES);
        resize(&mut bytes, end.min(size) - start)?;
        file.read_at(start, &mut bytes)?;
        for offset in seals_among(start, &bytes).rev() {
            if let Some(sealed) = SealedPart::at(file, size, offset)? {
                return Ok(Some(sealed.seal.length));
            }
        }
        end = start;
    }
    Ok(None)
}

/// The end of the sections of a file that only seals follow, and the checksum of the last of these. Without a
/// seal, the end of the file and 0.
fn end_of_sections(file: &mut dyn ParallelFile, size: u64) -> Result<(u64, u64)> {
    let (mut end, mut last) = (size, 0);
    // A seal of no sections follows the previous one directly.
    while let Some(offset) = end.checked_sub(SEAL_BYTES as u64)
        && let Some(sealed) = SealedPart::at(file, size, offset)?
    {
        if end == size {
            last = sealed.seal.crc;
        }
        end = sealed.start;
        if sealed.seal.rows() > 0 {
            break;
        }
    }
    Ok((end, last))
}

/// Whether a section with this header may belong to a seal.
#[inline(always)]
pub(super) fn may_be_of_seal(section_type: SectionType, user: &[u8], size: u64) -> bool {
    match section_type {
        SectionType::Array => {
            user == INDEX && size == ROW_BYTES as u64
                || user == ANCHORS && size == ANCHOR_BYTES as u64
                || user == NAMES && size == NAME_BYTES as u64
        }
        SectionType::Block => user == SEAL || user == VIEW,
        SectionType::Inline | SectionType::Varray => false,
    }
}
