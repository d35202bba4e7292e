//! The table of names in every 16th seal: the user strings of the sections of many seals, and the offsets of
//! those seals. docs/format.md, "Names", specifies its bytes.

use super::header::{SectionType, UserString, parse_line, put_line};
use super::index::{
    CRC_TAIL_BYTES, TABLE_HEADER_BYTES, TABLE_PADDING_BYTES, crc_tail, hash_of_user, order_of_users,
    parse_crc_tail, parse_entries, put_entries, row_of_sorted, table_header,
};
use super::padding::LineBreak;
use super::{COUNT_BYTES, SECTION_HEADER_BYTES, crc};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{grow, reserve};
use scda_base::numbers::to_usize;
use std::cmp::Ordering;

/// The user string of the table, an array.
pub const NAMES: &[u8] = b"scda names 00";
/// Bytes of a row.
pub const NAME_BYTES: usize = SECTION_HEADER_BYTES + COUNT_BYTES;
/// A table covers this number of seals, or a power of it.
pub const BASE: u64 = 16;
/// The most names of a table.
pub const MOST_NAMES: u64 = 1 << 18;

/// Bytes of the last row of a table and the padding after it.
const END_BYTES: usize = NAME_BYTES + TABLE_PADDING_BYTES;

/// A seal of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SealRow {
    /// Its offset; 0 for the beginning of the file, which precedes the first seal.
    pub offset: u64,
    /// The number of sections before it.
    pub sections: u64,
    /// Its checksum.
    pub crc: u64,
}

/// A section of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its type.
    pub section: SectionType,
    /// Its user string.
    pub user: UserString,
    /// Its number in the file, from 0.
    pub number: u64,
}

impl Name {
    /// Compares by hash, by user string, then by number.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        let key = |name: &Self| (hash_of_user(&name.user), name.user, name.number);
        key(self).cmp(&key(other))
    }

    /// Parses a row of a name, which is at offset `at` in the file.
    ///
    /// # Errors
    /// `Format` or `Range`, with the byte offset.
    pub fn parse(row: &[u8; NAME_BYTES], at: u64) -> Result<Self> {
        let (line, entries) = row.split_at(SECTION_HEADER_BYTES);
        let line = line.first_chunk().unwrap_or(&[0; SECTION_HEADER_BYTES]);
        let (section, user) = parse_line(line).map_err(|error| error.at(at))?;
        let [number] = parse_entries(entries, b"N", at + SECTION_HEADER_BYTES as u64)?;
        let section = section.ok_or_else(|| {
            Error::new(ErrorKind::Format, "row of names: found the header of the file, expected a section")
                .at(at)
        })?;
        Ok(Self { section, user, number })
    }

    fn put(&self, row: &mut [u8], style: LineBreak) {
        let (line, entries) = row.split_at_mut(SECTION_HEADER_BYTES);
        put_line(line, Some(self.section), &self.user, style);
        put_entries(entries, b"N", &[self.number], style);
    }
}

impl SealRow {
    /// Parses a row of a seal, which is at offset `at` in the file.
    ///
    /// # Errors
    /// `Format` or `Range`, with the byte offset.
    pub fn parse(row: &[u8; NAME_BYTES], at: u64) -> Result<Self> {
        let [offset, sections, crc] = parse_entries(row, b"ONC", at)?;
        Ok(Self { offset, sections, crc })
    }

    fn put(&self, row: &mut [u8], style: LineBreak) {
        put_entries(row, b"ONC", &[self.offset, self.sections, self.crc], style);
    }
}

/// The last row of a table, which says what the table covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The number of its seal, from 1.
    pub seal: u64,
    /// The number of seals that it covers, its own the last of them.
    pub seals: u64,
    /// The checksum of the table.
    pub crc: u64,
}

impl End {
    /// Parses the last bytes of a table with `rows` rows in all, which are at offset `at` in the file.
    ///
    /// # Errors
    /// `Format` or `Range`, with the byte offset, also if the numbers are impossible.
    pub fn parse(bytes: &[u8; END_BYTES], at: u64, rows: u64) -> Result<Self> {
        let [seal, seals] = parse_entries(&bytes[..2 * COUNT_BYTES], b"KS", at)?;
        let tail = bytes.last_chunk().unwrap_or(&[0; CRC_TAIL_BYTES]);
        let crc = parse_crc_tail(tail, at + (END_BYTES - CRC_TAIL_BYTES) as u64)?;
        let is_power = seals >= BASE && seals.is_power_of_two() && seals.trailing_zeros().is_multiple_of(4);
        // At least one section is sealed with the table.
        let has_rows = rows.checked_sub(1).is_some_and(|rows| seals < rows && rows - seals <= MOST_NAMES);
        if is_power && has_rows && seal > 0 && seal.is_multiple_of(seals) {
            return Ok(Self { seal, seals, crc });
        }
        let words = format!("table of names: found K = {seal} and S = {seals} in {rows} rows");
        Err(Error::new(ErrorKind::Format, words).at(at))
    }
}

/// A table among the tables of a seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Where its rows begin.
    pub rows: u64,
    /// How many names it has.
    pub names: u64,
    /// Its last row.
    pub end: End,
}

impl Table {
    /// The table from `start` to `index`, whose last bytes these are.
    ///
    /// # Errors
    /// As [`End::parse`].
    pub fn parse(start: u64, index: u64, bytes: &[u8; END_BYTES]) -> Result<Self> {
        let rows = start + TABLE_HEADER_BYTES as u64;
        let count = index.saturating_sub(rows) / NAME_BYTES as u64;
        let end = End::parse(bytes, Self::end_offset(index), count)?;
        Ok(Self { rows, names: count - end.seals - 1, end })
    }

    /// The offset of the last row of a table that ends at `index`.
    #[must_use]
    pub fn end_offset(index: u64) -> u64 {
        index.saturating_sub(END_BYTES as u64)
    }

    /// The offset of the row of a name.
    #[must_use]
    pub fn name_offset(&self, name: u64) -> u64 {
        self.rows + (self.end.seals + name) * NAME_BYTES as u64
    }

    /// The bytes of all rows but the last.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.end.seals + self.names) * NAME_BYTES as u64
    }
}

/// How many seals the table of seal number `seal` covers; `None` if that seal has no table. `sections`
/// returns how many sections the last n seals have.
///
/// # Errors
/// The errors of `sections`.
pub fn span(seal: u64, mut sections: impl FnMut(u64) -> Result<u64>) -> Result<Option<u64>> {
    let (mut span, mut next) = (None, BASE);
    while seal > 0 && seal.is_multiple_of(next) && sections(next)? <= MOST_NAMES {
        span = Some(next);
        next = next.saturating_mul(BASE);
    }
    Ok(span)
}

/// Whether the seal with this number can have a table.
#[must_use]
pub fn has_table(seal: u64) -> bool {
    seal.is_multiple_of(BASE)
}

/// All bytes of the table of seal number `seal`: first the rows of `seals`, from the one before the first
/// section whose name is here; then those of `names`, which are in the order of the file.
///
/// # Errors
/// `Memory`.
pub fn table(seal: u64, seals: &[SealRow], names: &[Name], style: LineBreak) -> Result<Vec<u8>> {
    let order = order_of_users(names.len(), |number| Some(&names[number].user))?;
    let count = seals.len() + names.len();
    let mut bytes = Vec::new();
    reserve(&mut bytes, TABLE_HEADER_BYTES + count * NAME_BYTES + END_BYTES)?;
    bytes.extend_from_slice(&table_header(NAMES, count as u64 + 1, NAME_BYTES, style));
    grow(&mut bytes, TABLE_HEADER_BYTES + count * NAME_BYTES)?;
    let rows = bytes[TABLE_HEADER_BYTES..].chunks_mut(NAME_BYTES);
    let mut rows = rows.into_iter();
    seals.iter().zip(&mut rows).for_each(|(seal, row)| seal.put(row, style));
    let places = order.into_iter().map(|sorted| to_usize(row_of_sorted(sorted)));
    places.zip(rows).for_each(|(number, row)| names[number].put(row, style));
    let mut end = [0; 2 * COUNT_BYTES];
    put_entries(&mut end, b"KS", &[seal, seals.len() as u64], style);
    bytes.extend_from_slice(&end);
    let tail = crc_tail(crc::of(&bytes), style);
    bytes.extend_from_slice(&tail);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(user: &[u8], number: u64) -> Name {
        Name { section: SectionType::Block, user: UserString::new(user).unwrap(), number }
    }

    #[test]
    fn a_table_comes_back_and_any_damage_shows() {
        let seals: Vec<SealRow> =
            (0..16).map(|k| SealRow { offset: 1024 * k, sections: k / 8, crc: u64::MAX - k }).collect();
        let names = [name(b"u", 0), name(b"u", 1), name(b"mesh", 2)];
        for style in [LineBreak::Unix, LineBreak::Mime] {
            let bytes = table(32, &seals, &names, style).unwrap();
            let (start, index) = (3200, 3200 + bytes.len() as u64);
            assert!(index.is_multiple_of(32));
            let found = Table::parse(start, index, bytes.last_chunk().unwrap()).unwrap();
            assert_eq!((found.end.seal, found.end.seals, found.names), (32, 16, 3));
            assert_eq!((Table::end_offset(index), found.rows, found.bytes()), (index - 128, 3328, 19 * 96));
            assert_eq!(found.end.crc, crc::of(&bytes[..bytes.len() - CRC_TAIL_BYTES]));
            let row = |at: u64| bytes[to_usize(at - start)..].first_chunk().unwrap();
            let found_names: Vec<Name> =
                (0..3).map(|i| Name::parse(row(found.name_offset(i)), 0).unwrap()).collect();
            assert_eq!(found_names, [name(b"mesh", 2), name(b"u", 0), name(b"u", 1)]);
            assert_eq!(SealRow::parse(row(found.rows + 96), 0).unwrap(), seals[1]);
            for at in bytes.len() - CRC_TAIL_BYTES..bytes.len() {
                let mut wrong = bytes.clone();
                wrong[at] ^= 1;
                let parsed = Table::parse(start, index, wrong.last_chunk().unwrap());
                assert!(parsed.is_err() || parsed.unwrap().end.crc != found.end.crc, "{at}");
            }
        }
    }

    #[test]
    fn impossible_ends_are_none() {
        let end = |seal, seals, rows| {
            let mut bytes = [0; END_BYTES];
            put_entries(&mut bytes, b"KS", &[seal, seals], LineBreak::Unix);
            bytes[2 * COUNT_BYTES..].copy_from_slice(&crc_tail(7, LineBreak::Unix));
            End::parse(&bytes, 0, rows).is_ok()
        };
        assert!(end(16, 16, 18) && end(512, 256, 300) && end(512, 16, 18) && end(16, 16, 17 + MOST_NAMES));
        assert!(!end(16, 16, 17) && !end(16, 16, 0) && !end(16, 16, 18 + MOST_NAMES));
        assert!(!end(0, 16, 18) && !end(17, 16, 18) && !end(16, 1, 18) && !end(64, 32, 300));
    }

    #[test]
    fn the_span_is_the_largest_power_that_has_few_names() {
        let of = |seal, each: u64| span(seal, |seals| Ok(seals * each)).unwrap();
        assert_eq!(
            [1, 15, 16, 17, 240, 256, 512, 4096, 4112].map(|seal| of(seal, 10)),
            [None, None, Some(16), None, Some(16), Some(256), Some(256), Some(4096), Some(16)]
        );
        assert_eq!(
            [of(256, 1024), of(256, 1025), of(256, 16384), of(256, 16385)],
            [Some(256), Some(16), Some(16), None]
        );
    }
}
