//! The seals of a file, read by one rank: from the last to the first, with their rows. Nothing is trusted before it is
//! checked.

use super::ReaderState;
use super::index::{NEAR_BYTES, Near, Sealed};
use crate::error::{Error, ErrorKind, Result, quote};
use crate::format::header::SectionType;
use crate::format::index::{
    ANCHOR_BYTES, ANCHOR_ELEMENTS, CRC_TAIL_BYTES, ROW_BYTES, Row, TABLE_HEADER_BYTES, parse_crc_tail,
};
use crate::format::seal::{SEAL_BYTES, Seal};
use crate::format::{COUNT_BYTES, INLINE_BYTES, crc};
use crate::memory::{reserve, resize};

/// So many bytes are read and summed up at a time: they stay in the processor's cache.
const SUM_BYTES: u64 = 128 << 10;
/// Seals that are no further apart are read several at a time: on a disk or a network, a read takes as long as the bytes between them.
const NEAR_SEALS_BYTES: u64 = 64 << 10;
/// So many bytes with seals are read at once at most.
const MOST_NEAR_BYTES: u64 = 2 << 20;
/// The entry `S` is the last one of a row.
const SORTED: u64 = (ROW_BYTES - COUNT_BYTES) as u64;

/// The seals that are known, beginning with the last one of the file.
#[derive(Default)]
pub(super) struct Chain {
    known: Vec<Known>,
    /// What was read at once near the last of them, and near the one before that if it is not there.
    near: [Near; 2],
}

struct Known {
    sealed: Sealed,
    /// Whether the checksum of index and seal was compared.
    is_checked: bool,
    /// Whether the checksum of its anchors was compared.
    has_checked_anchors: bool,
}

/// The error for a difference between the file and what its seal says.
#[cold]
pub(super) fn differs(what: &str, found: &str, expected: &str, offset: u64) -> Error {
    let words = format!("{what}: found {found}, expected {expected}");
    Error::new(ErrorKind::Checksum, words).at(offset)
}

/// Returns an error unless the checksum is as expected.
pub(super) fn compare_crc(what: &str, found: u64, expected: u64, offset: u64) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(differs(what, &format!("the checksum {found}"), &expected.to_string(), offset))
}

/// Returns an error unless this is the checksum of the index and its seal.
fn compare_sealed_crc(seal: &Seal, found: u64) -> Result<()> {
    compare_crc(&format!("index of the seal at byte {}", seal.offset()), found, seal.crc, seal.index)
}

/// How many bytes to read at once after so many, to find a seal this far before the last one: more and more as long as that is
/// near, so that they hold several.
fn next_length(last: u64, distance: u64) -> u64 {
    if distance <= NEAR_SEALS_BYTES { (2 * last).clamp(NEAR_BYTES, MOST_NEAR_BYTES) } else { NEAR_BYTES }
}

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

    /// A seal by its number in the chain, counted from the end: 0 for the last of the file; `None` if there are fewer.
    pub(super) fn seal(&mut self, from_end: usize) -> Result<Option<Sealed>> {
        while self.chain.known.len() <= from_end {
            let (offset, namer) = match self.chain.known.last().map(|known| known.sealed.seal) {
                None => (self.size - SEAL_BYTES as u64, self.size),
                Some(seal) if seal.previous == 0 => return Ok(None),
                Some(seal) => (seal.previous, seal.offset()),
            };
            let near = self.near(offset)?;
            let previous = near.parse(offset).map_or(0, |seal| seal.previous);
            let mut before = Near::default();
            if previous > 0 && near.parse(previous).is_none() {
                let most = next_length(near.length(), offset.saturating_sub(previous));
                before = Near::seal_at(&mut *self.file, self.size, previous, most)?;
            }
            let found = Sealed::among(&mut *self.file, self.size, offset, [&near, &before])?;
            let Some(sealed) = found else {
                let words = format!("a seal, as the one at byte {namer} says");
                return Err(differs("seal", "none", &words, offset));
            };
            reserve(&mut self.chain.known, 1)?;
            self.chain.known.push(Known { sealed, is_checked: false, has_checked_anchors: false });
            self.chain.near = [near, before];
        }
        Ok(Some(self.chain.known[from_end].sealed))
    }

    /// What was read at once near what would be a seal at `offset`, with its index unless that is long.
    fn near(&mut self, offset: u64) -> Result<Near> {
        // Each seal is looked at twice: as the one before another, and then itself.
        let [last, before] = std::mem::take(&mut self.chain.near);
        if before.parse(offset).is_some() {
            return Ok(before);
        }
        if last.parse(offset).is_some_and(|seal| !last.from(seal.index).is_empty()) {
            return Ok(last);
        }
        Near::seal_at(&mut *self.file, self.size, offset, next_length(last.length(), 0))
    }

    /// The first seal in the chain that satisfies the predicate; all seals before it in the file satisfy it, too.
    pub(super) fn seal_where(
        &mut self,
        is_wanted: impl Fn(&Sealed) -> bool,
    ) -> Result<Option<(usize, Sealed)>> {
        let known = self.chain.known.partition_point(|known| !is_wanted(&known.sealed));
        for from_end in known.. {
            match self.seal(from_end)? {
                Some(sealed) if is_wanted(&sealed) => return Ok(Some((from_end, sealed))),
                Some(_) => {}
                None => break,
            }
        }
        Ok(None)
    }

    /// The CRC of these bytes of the file.
    pub(super) fn crc_of(&mut self, start: u64, end: u64) -> Result<u64> {
        let (mut at, mut sum, mut bytes) = (start, 0, Vec::new());
        while at < end {
            resize(&mut bytes, (end - at).min(SUM_BYTES))?;
            self.file.read_at(at, &mut bytes)?;
            sum = crc::extend(sum, &bytes);
            at += bytes.len() as u64;
        }
        Ok(sum)
    }

    /// Whether the checksum of this index was compared.
    pub(super) fn is_checked(&self, from_end: usize) -> bool {
        self.chain.known.get(from_end).is_some_and(|known| known.is_checked)
    }

    /// Compares the checksum of index and seal, once.
    pub(super) fn check_index(&mut self, from_end: usize) -> Result<()> {
        let Some(&Known { sealed, is_checked: false, .. }) = self.chain.known.get(from_end) else {
            return Ok(());
        };
        self.compare_index(&sealed)?;
        self.chain.known[from_end].is_checked = true;
        Ok(())
    }

    /// Reads an index, up to the end of its seal, and compares its checksum.
    pub(super) fn read_index(&mut self, from_end: usize, bytes: &mut Vec<u8>) -> Result<()> {
        let Some(&Known { sealed, .. }) = self.chain.known.get(from_end) else { return Ok(()) };
        let Seal { index, length, .. } = sealed.seal;
        resize(bytes, length - index)?;
        match self.chain.near[0].from(index).get(..bytes.len()) {
            Some(near) => bytes.copy_from_slice(near),
            None => self.file.read_at(index, bytes)?,
        }
        let (rows, seal) = bytes.split_at(bytes.len() - SEAL_BYTES);
        let found = Seal::crc_of(crc::of(rows), seal.first_chunk().unwrap_or(&[0; SEAL_BYTES]));
        compare_sealed_crc(&sealed.seal, found)?;
        self.chain.known[from_end].is_checked = true;
        Ok(())
    }

    /// Compares the checksum of index and seal.
    pub(super) fn compare_index(&mut self, sealed: &Sealed) -> Result<()> {
        let (index, offset) = (sealed.seal.index, sealed.seal.offset());
        let index_crc = self.crc_of(index, offset)?;
        let mut seal = [0; SEAL_BYTES];
        self.file.read_at(offset, &mut seal)?;
        compare_sealed_crc(&sealed.seal, Seal::crc_of(index_crc, &seal))
    }

    /// Compares the checksum of the anchors, once, if there are any.
    pub(super) fn check_anchors(&mut self, from_end: usize) -> Result<()> {
        let Some(&Known { sealed, has_checked_anchors: false, .. }) = self.chain.known.get(from_end) else {
            return Ok(());
        };
        self.compare_anchors(&sealed)?;
        self.chain.known[from_end].has_checked_anchors = true;
        Ok(())
    }

    /// Compares the checksum of the anchors, if there are any.
    pub(super) fn compare_anchors(&mut self, sealed: &Sealed) -> Result<()> {
        let (start, end) = (sealed.start, sealed.seal.index);
        if start < end {
            let tail_offset = end - CRC_TAIL_BYTES as u64;
            let found = self.crc_of(start, tail_offset)?;
            let mut tail = [0; CRC_TAIL_BYTES];
            self.file.read_at(tail_offset, &mut tail)?;
            let expected = parse_crc_tail(&tail, tail_offset);
            let expected = expected.map_err(|error| error.with_kind(ErrorKind::Checksum))?;
            compare_crc("anchors", found, expected, start)?;
        }
        Ok(())
    }

    /// A row, not yet checked.
    pub(super) fn row(&mut self, sealed: &Sealed, row: u64) -> Result<Row> {
        let (at, mut bytes) = (sealed.row_offset(row), [0; ROW_BYTES]);
        self.read_own(at, &mut bytes)?;
        Row::parse(&bytes, at).map_err(|error| error.with_kind(ErrorKind::Checksum))
    }

    /// Which row has this index in the order of user strings, not yet checked.
    pub(super) fn sorted_row(&mut self, sealed: &Sealed, sorted: u64) -> Result<u64> {
        let at = sealed.row_offset(sorted) + SORTED;
        let mut found = None;
        self.read_own_entries(at, 1, b'S', |_, row| {
            found = Some(row);
            Ok(())
        })
        .map_err(|error| {
            if error.kind() == ErrorKind::Format { error.with_kind(ErrorKind::Checksum) } else { error }
        })?;
        match found.filter(|&row| row < sealed.seal.rows()) {
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
        let Some((from_end, sealed)) = self.seal_where(|sealed| sealed.begin() <= data)? else {
            return Ok(None);
        };
        if data >= sealed.start || sealed.start == sealed.seal.index {
            return Ok(None);
        }
        self.check_anchors(from_end)?;
        let bytes = sealed.seal.index - sealed.start - (TABLE_HEADER_BYTES + CRC_TAIL_BYTES) as u64;
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
