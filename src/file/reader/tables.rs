//! The rows of indexes, and anchors, read by one rank. Nothing is trusted before it is checked.

use super::ReaderState;
use super::chain::{Span, differs};
use super::index::Sealed;
use crate::error::{ErrorKind, Result, quote};
use crate::format::entry::parse_count;
use crate::format::header::SectionType;
use crate::format::index::{
    ANCHOR_BYTES, ANCHOR_ELEMENTS, CRC_TAIL_BYTES, ROW_BYTES, Row, TABLE_HEADER_BYTES,
};
use crate::format::{COUNT_BYTES, INLINE_BYTES};

/// The entry `S` is the last one of a row.
const SORTED: u64 = (ROW_BYTES - COUNT_BYTES) as u64;

/// A row, which stands at `at`, has another number than the file.
fn wrong_number<T>(what: &str, found: u64, expected: u64, at: u64) -> Result<T> {
    let words = format!("{what} {expected}, as the file has it");
    Err(differs("row of the index", &found.to_string(), &words, at))
}

/// Describes a section in an error message.
pub(super) fn describe(row: &Row) -> String {
    match row.section {
        Some(section) => {
            format!("section '{}' {}", char::from(section.letter()), quote(&row.user))
        }
        None => "header of the file".to_owned(),
    }
}

impl Sealed {
    /// Number of rows before that of the first section: 1 if there is a row for the header of the file.
    #[must_use]
    pub fn header_rows(&self) -> u64 {
        u64::from(self.seal.previous == 0)
    }

    /// The offset of a row.
    #[must_use]
    pub fn row_offset(&self, row: u64) -> u64 {
        self.seal.index + TABLE_HEADER_BYTES as u64 + row * ROW_BYTES as u64
    }
}

impl ReaderState {
    /// Whether the file ends with a seal, by which sections are found.
    pub(super) fn is_sealed(&self) -> bool {
        self.end < self.size
    }

    /// A seal by its number, counted from the end: 0 for the last of the file; `None` if there are fewer.
    pub(super) fn seal(&mut self, from_end: usize) -> Result<Option<Sealed>> {
        self.chain.seal(&mut *self.file, from_end)
    }

    /// The last seal that satisfies the predicate; all seals before it in the file satisfy it, too.
    pub(super) fn seal_where(&mut self, is_wanted: impl Fn(Span) -> bool) -> Result<Option<(usize, Sealed)>> {
        self.chain.seal_where(&mut *self.file, is_wanted)
    }

    /// Fills these bytes of an index from `offset` on, from what was read with its seal if they are there.
    fn read_table(&mut self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        match self.chain.read_before(offset).get(..bytes.len()) {
            Some(known) => bytes.copy_from_slice(known),
            None => self.read_own(offset, bytes)?,
        }
        Ok(())
    }

    /// A row, not yet checked.
    pub(super) fn row(&mut self, sealed: &Sealed, row: u64) -> Result<Row> {
        let (at, mut bytes) = (sealed.row_offset(row), [0; ROW_BYTES]);
        self.read_table(at, &mut bytes)?;
        Row::parse(&bytes, at).map_err(|error| error.with_kind(ErrorKind::Checksum))
    }

    /// Which row has this index in the order of user strings, not yet checked.
    pub(super) fn sorted_row(&mut self, sealed: &Sealed, sorted: u64) -> Result<u64> {
        let at = sealed.row_offset(sorted) + SORTED;
        let mut entry = [0; COUNT_BYTES];
        self.read_table(at, &mut entry)?;
        let found = parse_count(&entry, b'S').map_err(|error| error.at(at).with_kind(ErrorKind::Checksum))?;
        match Some(found).filter(|&row| row < sealed.seal.rows()) {
            Some(row) => Ok(row),
            None => Err(differs("index", "another S", "the number of a row", at)),
        }
    }

    /// A row, compared with its neighbours and with the header of the section.
    ///
    /// The reading position of this rank is lost.
    pub(super) fn checked_row(&mut self, sealed: &Sealed, number: u64) -> Result<Row> {
        let (row, at) = (self.row(sealed, number)?, sealed.row_offset(number));
        let wrong = |what: &str, found: u64, expected: u64| wrong_number(what, found, expected, at);
        let begin = if number == 0 { sealed.begin() } else { self.row(sealed, number - 1)?.end() };
        if row.offset != begin {
            return wrong("the offset", row.offset, begin);
        }
        let end = match number + 1 == sealed.seal.rows() {
            true => sealed.start,
            false => self.row(sealed, number + 1)?.offset,
        };
        if row.end() != end {
            return wrong("the end", row.end(), end);
        }
        if row.section.is_none() != (number < sealed.header_rows()) {
            return Err(differs(
                "row of the index",
                "the header of the file",
                "a section, or the other way",
                at,
            ));
        }
        self.compare_with_header(&row, at)?;
        Ok(row)
    }

    /// Compares a row, which stands at `at`, with the header of the section.
    ///
    /// The position of this rank is lost.
    pub(super) fn compare_with_header(&mut self, row: &Row, at: u64) -> Result<()> {
        let wrong = |what: &str, found: u64, expected: u64| wrong_number(what, found, expected, at);
        if row.section.is_none() {
            return Ok(());
        }
        self.advance(row.offset);
        let found = self.look_at_section(true).map_err(|failure| self.team.settle(failure))?;
        let Some(section) = self.header.filter(|section| found && section.offset == row.offset) else {
            return Err(differs("row of the index", &describe(row), "no section there", at));
        };
        let kind = (Some(section.section_type), section.user, section.decoded, section.count);
        if kind != (row.section, row.user, row.is_compressed, row.count) {
            let words = format!(
                "{} section '{}' {} of {} elements, as in its header",
                if section.decoded { "a compressed" } else { "a" },
                char::from(section.section_type.letter()),
                quote(&section.user),
                section.count
            );
            return Err(differs(
                "row of the index",
                &format!("{} of {} elements", describe(row), row.count),
                &words,
                at,
            ));
        }
        let size = match section.section_type {
            SectionType::Inline => INLINE_BYTES as u64,
            SectionType::Block | SectionType::Array => section.size,
            // Only its size entries tell.
            SectionType::Varray => row.size,
        };
        if row.size != size {
            return wrong("the size", row.size, size);
        }
        match self.end_by_header() {
            Some(end) if end != row.end() => wrong("the end", row.end(), end),
            _ => Ok(()),
        }
    }

    /// The index of the row whose section contains this offset; `None` if it is in the seal itself.
    pub(super) fn row_at(&mut self, sealed: &Sealed, offset: u64) -> Result<Option<u64>> {
        if offset >= sealed.start {
            return Ok(None);
        }
        let (mut least, mut most) = (0, sealed.seal.rows());
        while most - least > 1 {
            let middle = u64::midpoint(least, most);
            if self.row(sealed, middle)?.offset <= offset { least = middle } else { most = middle }
        }
        if least < most {
            let row = self.row(sealed, least)?;
            if (row.offset..row.end()).contains(&offset) {
                return Ok(Some(least));
            }
        }
        Err(differs("index", "no row for this byte", "one for each section", offset))
    }

    /// The nearest anchor at or before element `index` of a section, if there is one: the number of its element and the offset.
    /// `data` is the offset of the data of the section.
    pub(super) fn anchor(&mut self, data: u64, index: u64) -> Result<Option<(u64, u64)>> {
        let wanted = index / ANCHOR_ELEMENTS;
        if wanted == 0 || !self.is_sealed() {
            return Ok(None);
        }
        let Some((from_end, sealed)) = self.seal_where(|span| span.begin <= data)? else {
            return Ok(None);
        };
        if data >= sealed.start || sealed.start == sealed.names {
            return Ok(None);
        }
        self.chain.check_anchors(&mut *self.file, from_end)?;
        let bytes = sealed.names - sealed.start - (TABLE_HEADER_BYTES + CRC_TAIL_BYTES) as u64;
        let count = bytes / ANCHOR_BYTES as u64;
        let first = sealed.start + TABLE_HEADER_BYTES as u64;
        let (mut least, mut most) = (0, count);
        while least < most {
            let middle = u64::midpoint(least, most);
            if self.anchor_at(first, middle)? < data { least = middle + 1 } else { most = middle }
        }
        let place = least + wanted - 1;
        if place >= count {
            return Err(differs(
                "anchors",
                &format!("{count} of them"),
                "those of this section",
                sealed.start,
            ));
        }
        let offset = self.anchor_at(first, place)?;
        if offset > sealed.start {
            return Err(differs("anchors", &offset.to_string(), "the offset of an element", sealed.start));
        }
        Ok(Some((wanted * ANCHOR_ELEMENTS, offset)))
    }

    fn anchor_at(&mut self, first: u64, number: u64) -> Result<u64> {
        let mut anchor = 0;
        self.read_own_entries(first + number * ANCHOR_BYTES as u64, 1, b'O', |_, offset| {
            anchor = offset;
            Ok(())
        })?;
        Ok(anchor)
    }
}
