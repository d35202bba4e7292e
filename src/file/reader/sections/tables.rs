//! Reads rows of indexes, and anchors, on one rank. Everything is checked before it is trusted.

use super::SectionReader;
use super::input::LONGEST_HEADER;
use crate::file::reader::chain::differs;
use crate::file::reader::index::SealedPart;
use scda_base::error::{ErrorKind, Result, quote};
use scda_format::INLINE_BYTES;
use scda_format::dataset::additions::addition;
use scda_format::header::SectionType;
use scda_format::index::{
    END, NUMBER_BYTES, NumberPlace, ROW_BYTES, Row, SORTED, TABLE_HEADER_BYTES, row_of_sorted,
};

/// A section of at most this size counts as near the next one: about half of the first read-ahead.
const MOST_AROUND: u64 = 2048;

/// The error for a row at offset `at` with another number than the file.
fn wrong_number<T>(what: &str, found: u64, expected: u64, at: u64) -> Result<T> {
    let words = format!("{what} {expected}, as the file has it");
    Err(differs("row of the index", &found.to_string(), &words, at))
}

/// Describes a section in an error message.
pub fn describe(row: &Row) -> String {
    match row.section {
        Some(section) => {
            let added = addition(&row.user).map_or(String::new(), |words| format!(", {words}"));
            format!("section '{}' {}{added}", char::from(section.letter()), quote(&row.user))
        }
        None => "header of the file".to_owned(),
    }
}

impl SealedPart {
    /// The number of rows before that of the first section: 1 if the file header has a row.
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

/// Reads the index of a seal, on this rank alone.
pub(crate) struct IndexReader<'a> {
    pub(super) sections: &'a mut SectionReader,
}

impl<'a> IndexReader<'a> {
    /// A row, not yet checked.
    pub fn row(&mut self, sealed: &SealedPart, row: u64) -> Result<Row> {
        let (at, mut bytes) = (sealed.row_offset(row), [0; ROW_BYTES]);
        let begin = self.begin(sealed, row)?;
        self.sections.seals().read_index_bytes(at, &mut bytes)?;
        Row::parse(&bytes, begin, at).map_err(|error| error.with_kind(ErrorKind::Checksum))
    }

    /// Where the section of a row begins. Not checked yet.
    fn begin(&mut self, sealed: &SealedPart, row: u64) -> Result<u64> {
        row.checked_sub(1).map_or(Ok(sealed.begin()), |before| self.number(sealed, before, END))
    }

    fn number(&mut self, sealed: &SealedPart, row: u64, place: NumberPlace) -> Result<u64> {
        let (at, mut bytes) = (sealed.row_offset(row) + place.offset(), [0; NUMBER_BYTES]);
        self.sections.seals().read_index_bytes(at, &mut bytes)?;
        place.parse(&bytes, at).map_err(|error| error.with_kind(ErrorKind::Checksum))
    }

    /// The number `S` with this index, a hash and a row number. Not checked yet.
    pub fn sorted(&mut self, sealed: &SealedPart, index: u64) -> Result<u64> {
        let found = self.number(sealed, index, SORTED)?;
        if row_of_sorted(found) < sealed.seal.rows() {
            return Ok(found);
        }
        let at = sealed.row_offset(index) + SORTED.offset();
        Err(differs("index", "another S", "the number of a row", at))
    }

    /// A row, after comparing it with its neighbours and with its section's header.
    ///
    /// Changes the reading position of this rank.
    pub fn checked_row(&mut self, sealed: &SealedPart, number: u64) -> Result<Row> {
        let (row, at) = (self.row(sealed, number)?, sealed.row_offset(number));
        let wrong = |what: &str, found: u64, expected: u64| wrong_number(what, found, expected, at);
        let is_last = number + 1 == sealed.seal.rows();
        if is_last && row.end() != sealed.start {
            return wrong("the end", row.end(), sealed.start);
        }
        if row.is_compressed {
            // How many bytes a pair takes, its other numbers do not tell, but those of its neighbours do.
            let before = number.checked_sub(1);
            let after = (!is_last).then_some(number + 1);
            before.into_iter().chain(after).try_for_each(|other| self.row(sealed, other).map(drop))?;
        }
        if row.section.is_none() != (number < sealed.header_rows()) {
            return Err(differs(
                "row of the index",
                "the header of the file",
                "a section, or the other way",
                at,
            ));
        }
        if let Some(before) = number.checked_sub(1) {
            let before = self.begin(sealed, before)?;
            self.look_around(before, row.offset)?;
        }
        self.compare_with_header(&row, at)?;
        Ok(row)
    }

    /// Called before the header at `offset` is read. If the section before it begins nearby, starts the
    /// read-ahead there: a caller that looks for the second section of a pair reads the first one next.
    fn look_around(&mut self, before: u64, offset: u64) -> Result<()> {
        let input = &mut self.sections.input;
        let header = LONGEST_HEADER.min(input.end().saturating_sub(offset));
        let is_far = header == 0 || offset.checked_sub(before).is_none_or(|bytes| bytes > MOST_AROUND);
        if is_far || input.read_ahead.get(offset, header).is_some() {
            return Ok(());
        }
        let looked = input.look(before, offset + header - before).map(drop);
        looked.map_err(|failure| input.team.settle(failure))
    }

    /// Compares a row, which is at offset `at`, with its section's header.
    ///
    /// Changes the reading position of this rank.
    pub fn compare_with_header(&mut self, row: &Row, at: u64) -> Result<()> {
        let wrong = |what: &str, found: u64, expected: u64| wrong_number(what, found, expected, at);
        if row.section.is_none() {
            // In raw mode, the block with the superblock is a section.
            let first = if self.sections.params().raw { row.end() } else { self.sections.ends().first };
            return if row.end() == first {
                Ok(())
            } else {
                wrong("the end of the header", row.end(), first)
            };
        }
        self.sections.advance(row.offset);
        let found = self.sections.look_at_section(true);
        let found = found.map_err(|failure| self.sections.input.team.settle(failure))?;
        let Some(section) =
            self.sections.header().copied().filter(|section| found && section.offset == row.offset)
        else {
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
            // Only its size entries have the total.
            SectionType::Varray => row.size,
        };
        if row.size != size {
            return wrong("the size", row.size, size);
        }
        match self.sections.cursor.end_by_header() {
            Some(end) if end != row.end() => wrong("the end", row.end(), end),
            _ => Ok(()),
        }
    }

    /// The number of the row whose section contains this offset; `None` if it belongs to the seal itself.
    pub fn row_at(&mut self, sealed: &SealedPart, offset: u64) -> Result<Option<u64>> {
        if offset >= sealed.start {
            return Ok(None);
        }
        let (mut least, mut most) = (0, sealed.seal.rows());
        while most - least > 1 {
            let middle = u64::midpoint(least, most);
            if self.begin(sealed, middle)? <= offset { least = middle } else { most = middle }
        }
        if least < most {
            let row = self.row(sealed, least)?;
            if (row.offset..row.end()).contains(&offset) {
                return Ok(Some(least));
            }
        }
        Err(differs("index", "no row for this byte", "one for each section", offset))
    }
}
