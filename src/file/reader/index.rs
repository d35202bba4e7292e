//! Recognises the seals in a file that is read, and skips them.

use super::{Current, ReaderState};
use crate::error::{Error, ErrorKind, Result};
use crate::file::open::Ends;
use crate::file::team::Failure;
use crate::format::FILE_HEADER_BYTES;
use crate::format::header::{SectionType, parse_file_header};
use crate::format::index::{
    ANCHOR_BYTES, ANCHORS, INDEX, ROW_BYTES, Row, TABLE_HEADER_BYTES, TABLE_PADDING_BYTES, parse_table_header,
};
use crate::format::seal::{SEAL, SEAL_BYTES, Seal};
use crate::memory::resize;
use crate::storage::ParallelFile;

/// Bytes of a table without its elements.
const TABLE_FRAME_BYTES: u64 = (TABLE_HEADER_BYTES + TABLE_PADDING_BYTES) as u64;

/// A seal of the file, and the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// What it says.
    pub seal: Seal,
    /// The offset of its anchors, or of its index if there are none.
    pub start: u64,
    /// The number of sections before the first one that it seals.
    pub first: u64,
}

impl Sealed {
    /// The seal at `offset`, if there is one: see docs/format.md, "The seal".
    pub(super) fn at(file: &mut dyn ParallelFile, size: u64, offset: u64) -> Result<Option<Self>> {
        let near = Near::seal_at(file, size, offset, NEAR_BYTES)?;
        Self::among(file, size, offset, [&near, &Near::default()])
    }

    /// As [`Self::at`], of bytes that were read at once near this seal and the one before it.
    pub(super) fn among(
        file: &mut dyn ParallelFile,
        size: u64,
        offset: u64,
        near: [&Near; 2],
    ) -> Result<Option<Self>> {
        let mut file = Bytes { file, size, near };
        let Some(seal) = file.seal_at(offset)? else { return Ok(None) };
        if file.table_at(seal.index, INDEX, ROW_BYTES)? != Some(seal.rows()) {
            return Ok(None);
        }
        let mut first = 0;
        if seal.previous > 0 {
            match file.seal_at(seal.previous)? {
                Some(previous) if seal.check_previous(&previous).is_ok() => first = previous.sections,
                _ => return Ok(None),
            }
        }
        let start = file.start_of(&seal)?;
        Ok(Some(Self { seal, start, first }))
    }

    /// The offset of what it seals; that of the first seal includes the header of the file.
    #[must_use]
    pub fn begin(&self) -> u64 {
        if self.seal.previous == 0 { 0 } else { self.seal.previous + SEAL_BYTES as u64 }
    }
}

/// So many bytes up to the end of a seal are read at once: of a seal of few sections all that is looked at.
pub(super) const NEAR_BYTES: u64 = 4096;

/// The bytes up to the end of a seal, read at once.
#[derive(Default)]
pub(super) struct Near {
    start: u64,
    bytes: Vec<u8>,
}

impl Near {
    /// Reads so many bytes up to the end of what would be a seal at `offset`, if the file is long enough.
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

    /// All that was read from `offset` on; empty if that was not read.
    pub(super) fn from(&self, offset: u64) -> &[u8] {
        let place = offset.checked_sub(self.start).and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| self.bytes.get(place..)).unwrap_or_default()
    }

    /// How many bytes were read.
    pub(super) fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The bytes at `offset`, if they have the form of a seal.
    pub(super) fn parse(&self, offset: u64) -> Option<Seal> {
        self.from(offset).first_chunk().and_then(|bytes| Seal::parse(bytes, offset))
    }
}

/// Bytes at `offset`, if the file of this size is long enough.
fn bytes_at<const N: usize>(file: &mut dyn ParallelFile, size: u64, offset: u64) -> Result<Option<[u8; N]>> {
    if offset.checked_add(N as u64).is_none_or(|end| end > size) {
        return Ok(None);
    }
    let mut bytes = [0; N];
    file.read_at(offset, &mut bytes)?;
    Ok(Some(bytes))
}

/// A file of this size, and bytes of it that were read before.
struct Bytes<'a> {
    file: &'a mut dyn ParallelFile,
    size: u64,
    near: [&'a Near; 2],
}

impl Bytes<'_> {
    /// Bytes at `offset`, if the file is long enough.
    fn at<const N: usize>(&mut self, offset: u64) -> Result<Option<[u8; N]>> {
        let known = self.near.iter().find_map(|near| near.from(offset).first_chunk());
        known.map_or_else(|| bytes_at(&mut *self.file, self.size, offset), |bytes| Ok(Some(*bytes)))
    }

    /// The bytes at `offset`, if they have the form of a seal.
    fn seal_at(&mut self, offset: u64) -> Result<Option<Seal>> {
        Ok(self.at(offset)?.and_then(|bytes| Seal::parse(&bytes, offset)))
    }

    /// The number of elements of the table of this name at `offset`, if there is one.
    fn table_at(&mut self, offset: u64, user: &[u8], element: usize) -> Result<Option<u64>> {
        Ok(self.at(offset)?.and_then(|header| parse_table_header(&header, user, element)))
    }

    /// The offset of the anchors of a seal, or of its index if it has none: where its last section ends.
    fn start_of(&mut self, seal: &Seal) -> Result<u64> {
        if seal.rows() == 0 {
            return Ok(seal.index);
        }
        let at = seal.offset() - (TABLE_PADDING_BYTES + ROW_BYTES) as u64;
        let row: Option<[u8; ROW_BYTES]> = self.at(at)?;
        // A wrong row cannot lead elsewhere: the anchors must begin at this offset.
        let end = row.and_then(|row| Row::parse(&row, at).ok()).map_or(seal.index, |row| row.end());
        // Its last entry is their checksum.
        let anchors = if end < seal.index { self.table_at(end, ANCHORS, ANCHOR_BYTES)? } else { None };
        let anchors = anchors.filter(|&count| count > 1);
        let has_anchors = anchors.and_then(|count| table_end(end, count, ANCHOR_BYTES)) == Some(seal.index);
        Ok(if has_anchors { end } else { seal.index })
    }
}

/// The end of a table with this number of elements at `offset`.
fn table_end(offset: u64, count: u64, element: usize) -> Option<u64> {
    count.checked_mul(element as u64)?.checked_add(TABLE_FRAME_BYTES)?.checked_add(offset)
}

/// The bytes that are read at once to find a seal.
const CHUNK_BYTES: u64 = 1 << 20;
/// Sections begin at multiples of so many bytes.
pub(super) const STEP: usize = 32;

/// Whether a section may begin here that is a seal.
pub(super) fn begins_seal(line: &[u8]) -> bool {
    line.strip_prefix(b"B ").is_some_and(|user| user.starts_with(SEAL))
}

/// Where a file ends for a reader. With `to_seal`, one that was created to be sealed ends behind its last seal, and before the first one
/// behind its header.
pub(super) fn ends(file: &mut dyn ParallelFile, size: u64, to_seal: bool) -> Result<Ends> {
    let mut sections = end_of_sections(file, size)?;
    let mut read = size;
    if to_seal && sections == size && is_to_be_sealed(file, size)? {
        check_end(file, size)?;
        read = last_seal(file, size)?.unwrap_or(FILE_HEADER_BYTES as u64);
        sections = end_of_sections(file, read)?;
    }
    Ok(Ends { file: size, read, sections })
}

/// An error if a seal ended the file, and is damaged: what it committed must not be taken for what a killed job has left.
fn check_end(file: &mut dyn ParallelFile, size: u64) -> Result<()> {
    let offset = size.checked_sub(SEAL_BYTES as u64).filter(|offset| offset.is_multiple_of(STEP as u64));
    let Some(offset) = offset else { return Ok(()) };
    let bytes = bytes_at::<SEAL_BYTES>(file, size, offset)?;
    if bytes.is_some_and(|bytes| Seal::was_here(&bytes)) {
        let words = "end of the file: found a damaged seal, expected a whole one";
        return Err(Error::new(ErrorKind::Checksum, words).at(offset));
    }
    Ok(())
}

/// Whether the header of the file has the mark of those that are to be sealed. What is wrong with the header is said when it is read.
fn is_to_be_sealed(file: &mut dyn ParallelFile, size: u64) -> Result<bool> {
    let header = bytes_at::<FILE_HEADER_BYTES>(file, size, 0)?;
    Ok(header.is_some_and(|header| parse_file_header(&header).is_ok_and(|header| header.has_seal_mark())))
}

/// The end of the last seal of a file. All that is behind it is read.
fn last_seal(file: &mut dyn ParallelFile, size: u64) -> Result<Option<u64>> {
    let step = STEP as u64;
    let (mut end, mut bytes) = (size.next_multiple_of(step), Vec::new());
    while end > 0 {
        let start = end.saturating_sub(CHUNK_BYTES);
        resize(&mut bytes, end.min(size) - start)?;
        file.read_at(start, &mut bytes)?;
        for (offset, line) in
            (start..).step_by(STEP).zip(bytes.chunks(STEP)).collect::<Vec<_>>().into_iter().rev()
        {
            if begins_seal(line)
                && let Some(sealed) = Sealed::at(file, size, offset)?
            {
                return Ok(Some(sealed.seal.length));
            }
        }
        end = start;
    }
    Ok(None)
}

/// The end of the sections of a file, behind which there are only seals; without a seal, the end of the file.
fn end_of_sections(file: &mut dyn ParallelFile, size: u64) -> Result<u64> {
    let mut end = size;
    // A seal of no sections directly follows the one before.
    while let Some(offset) = end.checked_sub(SEAL_BYTES as u64) {
        match Sealed::at(file, size, offset)? {
            Some(sealed) => end = sealed.start,
            None => break,
        }
    }
    Ok(end)
}

/// Whether a section with this header may be a part of a seal.
#[inline(always)]
fn may_be_of_seal(section_type: SectionType, user: &[u8], size: u64) -> bool {
    match section_type {
        SectionType::Array => {
            user == INDEX && size == ROW_BYTES as u64 || user == ANCHORS && size == ANCHOR_BYTES as u64
        }
        SectionType::Block => user == SEAL,
        SectionType::Inline | SectionType::Varray => false,
    }
}

impl ReaderState {
    /// The end of the seal, if the section whose header was read is a part of one. Collective.
    #[inline(always)]
    pub(super) fn end_of_seal(&mut self, user: &[u8], section: &Current) -> Result<Option<u64>, Failure> {
        let is_suspect = may_be_of_seal(section.section_type, user, section.size);
        if !is_suspect || self.params.raw { Ok(None) } else { self.find_end_of_seal(user, section) }
    }

    #[cold]
    fn find_end_of_seal(&mut self, user: &[u8], section: &Current) -> Result<Option<u64>, Failure> {
        // A few bytes at several places, so one rank reads them.
        let found = if self.team.rank() == 0 { self.seal_with(user, section) } else { Ok(None) };
        let end = found.map(|sealed| [sealed.map_or(0, |sealed| sealed.seal.length)]);
        let [end] = self.team.share(0, end)?;
        Ok((end > 0).then_some(end))
    }

    /// The seal of which this section is a part.
    fn seal_with(&mut self, user: &[u8], section: &Current) -> Result<Option<Sealed>> {
        let (file, size, start, end) = (&mut *self.file, self.size, section.layout.start, section.layout.end);
        let offset = match section.section_type {
            SectionType::Block => Some(start),
            _ if user == INDEX => Some(end),
            _ => {
                let near = Near::default();
                let rows =
                    Bytes { file: &mut *file, size, near: [&near; 2] }.table_at(end, INDEX, ROW_BYTES)?;
                rows.and_then(|rows| table_end(end, rows, ROW_BYTES))
            }
        };
        let Some(offset) = offset else { return Ok(None) };
        let sealed = Sealed::at(file, size, offset)?;
        Ok(sealed.filter(|sealed| [sealed.start, sealed.seal.index, offset].contains(&start)))
    }
}
