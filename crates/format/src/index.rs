//! The tables of a seal: the index, with a row for each section, and the anchors of compressed and variable sections.
//! docs/format.md, "Sealed files", specifies their bytes.

use super::crc;
use super::entry::{CountFormat, parse_count};
use super::header::{
    SectionType, UserString, parse_line, parse_section_header, put_line, put_section_header,
};
use super::hexadecimal::{self, DIGITS};
use super::layout::{MAX_OFFSET, SectionLayout};
use super::padding::{LineBreak, MAX_DATA_PADDING, dashes, data_padding};
use super::superblock::{LONG_HEADER_BYTES, SUPERBLOCK_BYTES, crc_without_superblock};
use super::{COUNT_BYTES, FILE_HEADER_BYTES, INLINE_BYTES, SECTION_HEADER_BYTES};
use scda_base::error::{Error, ErrorKind, Result, quote};
use scda_base::memory::reserve;
use scda_base::numbers::to_usize;
use std::cmp::Ordering;

/// The user string of the array of anchors.
pub const ANCHORS: &[u8] = b"scda anchors 00";
/// The user string of the index, an array.
pub const INDEX: &[u8] = b"scda index 00";

/// Bytes of an anchor.
pub const ANCHOR_BYTES: usize = COUNT_BYTES;
/// The number of elements from one anchor to the next.
pub const ANCHOR_ELEMENTS: u64 = 4096;
/// Bytes of a row of the index: a line of 64, and one of 96 with its numbers.
pub const ROW_BYTES: usize = 160;
/// Bytes of the header of an array.
pub const TABLE_HEADER_BYTES: usize = SECTION_HEADER_BYTES + 2 * COUNT_BYTES;
/// Bytes of padding of a table; its data always fill a multiple of 32.
pub const TABLE_PADDING_BYTES: usize = 32;
/// Bytes from the entry `C` at the end of the anchors or the seal to the end of the section.
pub const CRC_TAIL_BYTES: usize = COUNT_BYTES + TABLE_PADDING_BYTES;

/// Bytes of a number in a row: its letter, a space, its digits.
pub const NUMBER_BYTES: usize = 2 + DIGITS;
/// The letters of the numbers of a row. The third is `U` for a compressed pair.
const LETTERS: [u8; 5] = *b"LNECS";
/// Index of the number `E` or `U`.
const SIZE: usize = 2;
/// A number of a row: its offset in the row, and its letter.
#[derive(Clone, Copy, Debug)]
pub struct NumberPlace(usize, u8);
/// The end of a section.
pub const END: NumberPlace = NumberPlace::new(0);
/// The hash and number of the row with this place in the order of hashes.
pub const SORTED: NumberPlace = NumberPlace::new(LETTERS.len() - 1);

/// The header of a table: an array with this number of elements and this element size.
#[must_use]
pub fn table_header(user: &[u8], count: u64, size: usize, style: LineBreak) -> [u8; TABLE_HEADER_BYTES] {
    let mut header = [0; TABLE_HEADER_BYTES];
    let (line, entries) = header.split_at_mut(SECTION_HEADER_BYTES);
    put_section_header(line, SectionType::Array, user, style);
    put_entries(entries, b"NE", &[count, size as u64], style);
    header
}

/// The number of elements, if these bytes are the header of the table with this name and element size.
#[must_use]
pub fn parse_table_header(header: &[u8; TABLE_HEADER_BYTES], user: &[u8], size: usize) -> Option<u64> {
    let (line, entries) = header.split_first_chunk()?;
    let is_table =
        parse_section_header(line).is_ok_and(|(kind, found)| kind == SectionType::Array && &*found == user);
    let [count, found] = parse_entries(entries, b"NE", 0).ok()?;
    (is_table && found == size as u64).then_some(count)
}

/// The padding of a table with this number of elements. Each element ends with a line break.
#[must_use]
pub fn table_padding(count: u64, style: LineBreak) -> [u8; TABLE_PADDING_BYTES] {
    let mut padding = [0; TABLE_PADDING_BYTES];
    let last = (count > 0).then_some(b'\n');
    padding.copy_from_slice(data_padding(&mut [0; MAX_DATA_PADDING], 0, last, style));
    padding
}

/// The number of bytes that identify the end of an index.
pub const INDEX_END_BYTES: usize = ROW_BYTES + TABLE_PADDING_BYTES;

/// True if an index ends with these bytes, which are at offset `at`: its last row or, if it has none, its header; and
/// its padding.
#[must_use]
pub fn is_end_of_index(bytes: &[u8; INDEX_END_BYTES], at: u64) -> bool {
    let (rest, padding) = bytes.split_at(ROW_BYTES);
    let is_padding = |count| {
        [LineBreak::Unix, LineBreak::Mime].iter().any(|&style| table_padding(count, style) == *padding)
    };
    let is_row = |row| Row::parse_end(row).is_some_and(|end| end <= at);
    let is_empty = |header| parse_table_header(header, INDEX, ROW_BYTES) == Some(0);
    is_padding(1) && rest.first_chunk().is_some_and(is_row)
        || is_padding(0) && rest.last_chunk().is_some_and(is_empty)
}

/// The end of the anchors and of a seal: the entry `C` and the padding.
#[must_use]
pub fn crc_tail(crc: u64, style: LineBreak) -> [u8; CRC_TAIL_BYTES] {
    let mut tail = [0; CRC_TAIL_BYTES];
    let (entry, padding) = tail.split_at_mut(COUNT_BYTES);
    put_entries(entry, b"C", &[crc], style);
    padding.copy_from_slice(&table_padding(1, style));
    tail
}

/// The CRC in a tail. No CRC covers these bytes, so they must be exactly as they are written.
///
/// # Errors
/// `Format`, with the byte offset in the file; `offset` is the offset of the tail.
pub fn parse_crc_tail(tail: &[u8; CRC_TAIL_BYTES], offset: u64) -> Result<u64> {
    let [crc] = parse_entries(&tail[..COUNT_BYTES], b"C", offset)?;
    if [LineBreak::Unix, LineBreak::Mime].iter().any(|&style| crc_tail(crc, style) == *tail) {
        return Ok(crc);
    }
    let text = "entry C and padding: found bytes that differ from those written for this number";
    Err(Error::new(ErrorKind::Format, text).at(offset))
}

/// Fills entries with these letters and values.
pub(super) fn put_entries(entries: &mut [u8], letters: &[u8], values: &[u64], style: LineBreak) {
    let (entries, _) = entries.as_chunks_mut();
    for ((entry, &letter), &value) in entries.iter_mut().zip(letters).zip(values) {
        CountFormat::new(letter, style).put(value, entry);
    }
}

/// The values of entries with these letters, which are at `offset` in the file.
pub(super) fn parse_entries<const N: usize>(
    entries: &[u8],
    letters: &[u8; N],
    offset: u64,
) -> Result<[u64; N]> {
    let (entries, _) = entries.as_chunks();
    let mut values = [0; N];
    for (at, (entry, &letter)) in entries.iter().zip(letters).enumerate() {
        values[at] =
            parse_count(entry, letter).map_err(|error| error.at(offset + (at * COUNT_BYTES) as u64))?;
    }
    Ok(values)
}

impl NumberPlace {
    /// The number with this index. A space precedes each number except the first.
    const fn new(index: usize) -> Self {
        Self(SECTION_HEADER_BYTES + index * (NUMBER_BYTES + 1), LETTERS[index])
    }

    /// The same, for a row of a compressed pair or of a plain section.
    const fn of(index: usize, is_compressed: bool) -> Self {
        let Self(at, letter) = Self::new(index);
        Self(at, if is_compressed && index == SIZE { b'U' } else { letter })
    }

    /// The offset of the number in a row.
    #[must_use]
    pub const fn offset(self) -> u64 {
        self.0 as u64
    }

    /// Parses the number, which is at offset `at` in the file.
    ///
    /// # Errors
    /// `Format`, with the byte offset.
    pub fn parse(self, bytes: &[u8; NUMBER_BYTES], at: u64) -> Result<u64> {
        let [letter, b' ', digits @ ..] = bytes else { return Err(self.wrong(bytes, at)) };
        let value = hexadecimal::parse(digits).filter(|_| *letter == self.1);
        value.ok_or_else(|| self.wrong(bytes, at))
    }

    #[cold]
    fn wrong(self, found: &[u8], at: u64) -> Error {
        let letter = char::from(self.1);
        let words = format!(
            "row of the index: found {}, expected '{letter}', a space, and {DIGITS} digits 0 to 9 or a to f",
            quote(found)
        );
        Error::new(ErrorKind::Format, words).at(at)
    }

    /// Fills in the number in a row of spaces.
    fn put(self, value: u64, row: &mut [u8; ROW_BYTES]) {
        row[self.0] = self.1;
        row[self.0 + 2..][..DIGITS].copy_from_slice(&hexadecimal::digits(value));
    }
}

/// A row of the index. It describes a section, or the header of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The type that a decoding reader returns; `None` for the header of the file.
    pub section: Option<SectionType>,
    /// The user string of the section, or of the file.
    pub user: UserString,
    /// True for a compressed pair of sections.
    pub is_compressed: bool,
    /// Its offset in the file.
    pub offset: u64,
    /// The size in the file in bytes; for a pair, of both sections.
    pub bytes: u64,
    /// The number of elements of an array or varray, otherwise 0.
    pub count: u64,
    /// The size of the data before compression in bytes; for an array, of one element.
    pub size: u64,
    /// The CRC of the section's bytes in the file.
    pub crc: u64,
    /// The hash and number of the row with this place in the order of hashes.
    pub sorted: u64,
}

impl Row {
    /// The offset of the first byte after the section.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset + self.bytes
    }

    /// The number of anchors of the section.
    #[must_use]
    pub fn anchors(&self) -> u64 {
        let has_anchors = match self.section {
            Some(SectionType::Varray) => true,
            Some(SectionType::Array) => self.is_compressed,
            _ => false,
        };
        if has_anchors { self.count.saturating_sub(1) / ANCHOR_ELEMENTS } else { 0 }
    }

    /// True for the header of a file with room for the superblock of HDF5.
    #[must_use]
    pub fn has_superblock(&self) -> bool {
        self.section.is_none() && self.bytes == LONG_HEADER_BYTES
    }

    /// The checksum for the row, given the checksum `found` of the bytes. If they include the superblock, which does not
    /// count, `read` reads it.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn crc_of<E>(
        &self,
        found: u64,
        read: impl FnOnce(&mut [u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<u64, E> {
        if !self.has_superblock() {
            return Ok(found);
        }
        let mut superblock = [0; SUPERBLOCK_BYTES];
        read(&mut superblock)?;
        Ok(crc_without_superblock(found, &superblock, self.end()))
    }

    /// The hash of the user string; 0 for the header of the file.
    #[must_use]
    pub fn hash(&self) -> u64 {
        if self.section.is_some() { hash_of_user(&self.user) } else { 0 }
    }

    /// Compares rows by their order in the numbers `S`, regardless of their own numbers. The header of the file comes
    /// first.
    #[must_use]
    pub fn compare_names(&self, other: &Self) -> Ordering {
        let key = |row: &Self| (row.section.is_some(), row.hash(), row.user);
        key(self).cmp(&key(other))
    }

    /// Fills the bytes of the row.
    pub fn put(&self, row: &mut [u8; ROW_BYTES], style: LineBreak) {
        let (line, numbers) = row.split_at_mut(SECTION_HEADER_BYTES);
        put_line(line, self.section, &self.user, style);
        numbers.fill(b' ');
        if let Some(line_break) = numbers.last_chunk_mut() {
            *line_break = dashes::<2>(style);
        }
        let values = [self.end(), self.count, self.size, self.crc, self.sorted];
        for (index, value) in values.into_iter().enumerate() {
            NumberPlace::of(index, self.is_compressed).put(value, row);
        }
    }

    /// Parses a row, which is at offset `at` in the file. Its section begins at `begin`, where the previous one ends.
    ///
    /// # Errors
    /// `Format` or `Range`, with the byte offset, if it is not a row or its numbers contradict one another.
    pub fn parse(row: &[u8; ROW_BYTES], begin: u64, at: u64) -> Result<Self> {
        let (section, user) = Self::parse_name(row).map_err(|error| error.at(at))?;
        let is_compressed = row[NumberPlace::new(SIZE).0] == b'U';
        let [end, count, size, crc, sorted] = Self::parse_numbers(row, is_compressed, at)?;
        let bytes = end.checked_sub(begin).ok_or_else(|| {
            let words =
                format!("row of the index: found the end {end}, expected more than {begin}, the beginning");
            Error::new(ErrorKind::Format, words).at(at)
        })?;
        let row = Self { section, user, is_compressed, offset: begin, bytes, count, size, crc, sorted };
        row.check().map_err(|error| error.at(at))?;
        Ok(row)
    }

    /// The end of a row's section, if the bytes have the form of a row.
    #[must_use]
    pub fn parse_end(row: &[u8; ROW_BYTES]) -> Option<u64> {
        let is_compressed = row[NumberPlace::new(SIZE).0] == b'U';
        let [end, ..] =
            Self::parse_name(row).and_then(|_| Self::parse_numbers(row, is_compressed, 0)).ok()?;
        Some(end)
    }

    fn parse_numbers(row: &[u8; ROW_BYTES], is_compressed: bool, at: u64) -> Result<[u64; LETTERS.len()]> {
        let mut numbers = [0; LETTERS.len()];
        for (index, number) in numbers.iter_mut().enumerate() {
            let place = NumberPlace::of(index, is_compressed);
            let bytes = row[place.0..].first_chunk().unwrap_or(&[0; NUMBER_BYTES]);
            *number = place.parse(bytes, at + place.offset())?;
            let before = row[place.0 - 1];
            if index > 0 && before != b' ' {
                let words = format!(
                    "row of the index: found '{}', expected a space between two numbers",
                    before.escape_ascii()
                );
                return Err(Error::new(ErrorKind::Format, words).at(at + place.offset() - 1));
            }
        }
        Ok(numbers)
    }

    /// The type and user string in the bytes of a row; no type for the header of the file.
    ///
    /// # Errors
    /// `Format` if they do not have the form of the beginning of a row.
    pub fn parse_name(row: &[u8; ROW_BYTES]) -> Result<(Option<SectionType>, UserString)> {
        parse_line(row.first_chunk().unwrap_or(&[0; SECTION_HEADER_BYTES]))
    }

    /// Fails if the numbers contradict one another.
    fn check(&self) -> Result<()> {
        let Self { section, is_compressed, offset, bytes, count, size, .. } = *self;
        let wrong = |found: String, expected: String| {
            let words = format!("row of the index: found {found}, expected {expected}");
            Err(Error::new(ErrorKind::Format, words))
        };
        let has_elements = matches!(section, Some(SectionType::Array | SectionType::Varray));
        if count != 0 && !has_elements {
            return wrong(format!("{count} elements"), "none, as it is neither an array nor a varray".into());
        }
        if is_compressed && matches!(section, None | Some(SectionType::Inline)) {
            return wrong(
                "the entry U".into(),
                "the entry E, as only other sections can be compressed".into(),
            );
        }
        let only_size = match section {
            None => Some(0),
            Some(SectionType::Inline) => Some(INLINE_BYTES as u64),
            _ => None,
        };
        if let Some(only_size) = only_size.filter(|&only_size| only_size != size) {
            return wrong(format!("{size} bytes of data"), only_size.to_string());
        }
        if section.is_none() && offset != 0 {
            return wrong(format!("the header of the file at offset {offset}"), "it at offset 0".into());
        }
        let (least, most) = match self.possible_bytes() {
            Some(possible) if offset.checked_add(bytes).is_some_and(|end| end <= MAX_OFFSET) => possible,
            _ => return Err(Error::range("row of the index: the end of its section exceeds 63 bits")),
        };
        if bytes < least || bytes > most || bytes % 32 != 0 || offset % 32 != 0 {
            let more = if is_compressed { " or more" } else { "" };
            return wrong(
                format!("{bytes} bytes at offset {offset}"),
                format!("{least}{more}, according to the other numbers, and multiples of 32 for both"),
            );
        }
        Ok(())
    }

    /// The first section of a compressed pair; `None` if this is no pair, or if its end exceeds 63 bits.
    #[must_use]
    pub fn first_of_pair(&self) -> Option<SectionLayout> {
        match self.section.filter(|_| self.is_compressed)? {
            SectionType::Varray => SectionLayout::array(self.offset, self.count, COUNT_BYTES as u64),
            _ => SectionLayout::inline(self.offset),
        }
    }

    /// The section of the file that has the data; for a pair, the second one. `stored` is the size of compressed data.
    /// `None` if its end exceeds 63 bits, and for the header of the file.
    #[must_use]
    pub fn data_section(&self, stored: u64) -> Option<SectionLayout> {
        let Self { count, size, is_compressed, .. } = *self;
        let start = if is_compressed { self.first_of_pair()?.end } else { self.offset };
        match self.section? {
            SectionType::Inline => SectionLayout::inline(start),
            SectionType::Block => SectionLayout::block(start, if is_compressed { stored } else { size }),
            SectionType::Array if !is_compressed => SectionLayout::array(start, count, size),
            SectionType::Varray if !is_compressed => SectionLayout::varray(start, count, size),
            SectionType::Array | SectionType::Varray => SectionLayout::varray(start, count, stored),
        }
    }

    /// The fewest and the most bytes that the section can have, given its other numbers; `None` beyond 63 bits.
    fn possible_bytes(&self) -> Option<(u64, u64)> {
        if self.section.is_none() {
            let is_long = self.bytes == LONG_HEADER_BYTES;
            let bytes = if is_long { LONG_HEADER_BYTES } else { FILE_HEADER_BYTES as u64 };
            return Some((bytes, bytes));
        }
        // Compressed data can have any length.
        let layout = self.data_section(0)?;
        if self.is_compressed {
            return Some((layout.end - self.offset, MAX_OFFSET));
        }
        Some((layout.bytes(), layout.bytes()))
    }
}

/// The bits of a number `S` with the hash of a user string; the others are the number of a row.
const HASH_BITS: u64 = !(u32::MAX as u64);

/// The hash of a user string by which rows are sorted: the upper 32 bits of its checksum.
#[must_use]
pub fn hash_of_user(user: &[u8]) -> u64 {
    hash_of_sorted(crc::of(user))
}

/// The hash in a number `S`.
#[must_use]
pub fn hash_of_sorted(sorted: u64) -> u64 {
    sorted & HASH_BITS
}

/// The number of the row in a number `S`.
#[must_use]
pub fn row_of_sorted(sorted: u64) -> u64 {
    sorted & !HASH_BITS
}

/// Fills in the order of hashes.
///
/// # Errors
/// `Memory`; `Range` for more rows than an index can have.
pub fn sort_rows(rows: &mut [Row]) -> Result<()> {
    let order = order_of_users(rows.len(), |number| rows[number].section.map(|_| &rows[number].user))?;
    rows.iter_mut().zip(order).for_each(|(row, sorted)| row.sorted = sorted);
    Ok(())
}

/// The numbers `S` for these user strings, in order: first those without one, then by hash, by user string, and by
/// number.
///
/// # Errors
/// `Memory`; `Range` for more than an index can have.
pub(super) fn order_of_users<'a>(
    count: usize,
    user: impl Fn(usize) -> Option<&'a UserString>,
) -> Result<Vec<u64>> {
    if count as u64 > 1 << 32 {
        return Err(Error::range(format!("index: {count} rows exceed 2^32: commit more often")));
    }
    let mut order = Vec::new();
    reserve(&mut order, count)?;
    let hash = |number| user(number).map_or(0, |user| hash_of_user(user));
    order.extend((0..count).map(|number| hash(number) | number as u64));
    order.sort_unstable();
    // Different user strings rarely have the same hash.
    let user_at = |sorted| user(to_usize(row_of_sorted(sorted)));
    for same in order.chunk_by_mut(|&a, &b| hash_of_sorted(a) == hash_of_sorted(b)) {
        same.sort_unstable_by(|&a, &b| user_at(a).cmp(&user_at(b)).then(a.cmp(&b)));
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::file_header;
    use proptest::prelude::*;

    const STYLES: [LineBreak; 2] = [LineBreak::Unix, LineBreak::Mime];

    fn user(text: &[u8]) -> UserString {
        UserString::new(text).unwrap()
    }

    fn row(section: Option<SectionType>, text: &[u8], count: u64, size: u64) -> Row {
        let offset = if section.is_some() { 128 } else { 0 };
        let user = user(text);
        let row =
            Row { section, user, is_compressed: false, offset, bytes: 0, count, size, crc: 0, sorted: 0 };
        Row { bytes: row.possible_bytes().unwrap().0, ..row }
    }

    fn bytes(row: &Row, style: LineBreak) -> [u8; ROW_BYTES] {
        let mut bytes = [0; ROW_BYTES];
        row.put(&mut bytes, style);
        bytes
    }

    #[test]
    fn a_row_is_two_lines_of_text() {
        let mut row = row(Some(SectionType::Varray), b"coefficients", 3, 20);
        row.crc = u64::MAX - 1;
        row.sorted = 7;
        let text = "V coefficients ------------------------------------------------\n\
            L 0000000000000160 N 0000000000000003 E 0000000000000014 C fffffffffffffffe S 0000000000000007-\n";
        assert_eq!(
            bytes(&row, LineBreak::Unix).escape_ascii().to_string(),
            text.as_bytes().escape_ascii().to_string()
        );
        row.is_compressed = true;
        row.bytes = 1 << 20;
        let text = bytes(&row, LineBreak::Mime);
        assert_eq!(&text[102..120], b"U 0000000000000014");
        assert_eq!(&text[140..], b"S 0000000000000007\r\n");
        assert_eq!(Row::parse(&text, row.offset, 0).unwrap(), row);
        assert_eq!(Row::parse_end(&text), Some(128 + (1 << 20)));
    }

    #[test]
    fn the_first_row_begins_as_the_line_of_the_file() {
        for style in STYLES {
            let row = row(None, b"a file", 0, 0);
            assert_eq!(bytes(&row, style)[..64], file_header(b"v", b"a file", style)[32..96]);
            assert_eq!(Row::parse(&bytes(&row, style), 0, 0).unwrap(), row);
        }
    }

    #[test]
    fn rows_that_contradict_themselves_are_refused() {
        use SectionType::{Array, Block, Inline, Varray};
        let block = row(Some(Block), b"b", 0, 100);
        let array = row(Some(Array), b"a", 10, 100);
        let varray = row(Some(Varray), b"v", 10, 100);
        let inline = row(Some(Inline), b"i", 0, 32);
        let file = row(None, b"f", 0, 0);
        for wrong in [
            Row { bytes: block.bytes + 32, ..block },
            Row { count: 1, ..block },
            Row { size: 1 << 40, ..block },
            Row { offset: 129, ..block },
            Row { count: 9, ..array },
            Row { count: 11, ..varray },
            Row { size: 31, ..inline },
            Row { bytes: 128, ..inline },
            Row { is_compressed: true, ..inline },
            Row { is_compressed: true, ..file },
            Row { size: 1, ..file },
            Row { offset: 32, ..file },
            Row { is_compressed: true, bytes: 96 + 96, ..block },
            Row { is_compressed: true, count: 1 << 40, bytes: 1 << 40, ..array },
            Row { is_compressed: true, bytes: (1 << 40) + 1, ..varray },
        ] {
            let error = Row::parse(&bytes(&wrong, LineBreak::Unix), wrong.offset, 4096).unwrap_err();
            assert_eq!((error.kind(), error.offset()), (ErrorKind::Format, Some(4096)), "{wrong:?}: {error}");
        }
        for wrong in [
            Row { offset: MAX_OFFSET - 95, ..block },
            Row { count: 1 << 40, size: 1 << 40, ..array },
            Row { is_compressed: true, bytes: MAX_OFFSET, ..varray },
        ] {
            let error = Row::parse(&bytes(&wrong, LineBreak::Unix), wrong.offset, 4096).unwrap_err();
            assert_eq!((error.kind(), error.offset()), (ErrorKind::Range, Some(4096)), "{wrong:?}: {error}");
        }
        for (place, byte, found) in [
            (83, b'M', "byte 4179: row of the index: found \"M 000000000000000a\", expected 'N',"),
            (100, b'A', "byte 4179: row of the index: found \"N 000000000000000A\", expected 'N',"),
            (101, b'-', "byte 4197: row of the index: found '-', expected"),
        ] {
            let mut text = bytes(&array, LineBreak::Unix);
            text[place] = byte;
            let error = Row::parse(&text, array.offset, 4096).unwrap_err();
            assert!(error.to_string().starts_with(found), "{error}");
            assert_eq!(Row::parse_end(&text), None);
        }
        let text = bytes(&array, LineBreak::Unix);
        let error = Row::parse(&text, array.end() + 32, 4096).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Format, Some(4096)));
    }

    #[test]
    fn anchors_stand_for_every_4096_elements_but_the_first() {
        let varray = row(Some(SectionType::Varray), b"", 0, 0);
        let array = row(Some(SectionType::Array), b"", 0, 0);
        for (count, anchors) in [(0, 0), (1, 0), (4096, 0), (4097, 1), (8192, 1), (8193, 2)] {
            assert_eq!(Row { count, ..varray }.anchors(), anchors);
            assert_eq!(Row { count, is_compressed: true, ..array }.anchors(), anchors);
            assert_eq!(Row { count, ..array }.anchors(), 0);
        }
    }

    #[test]
    fn the_end_of_an_index_is_known() {
        for style in STYLES {
            let section = row(Some(SectionType::Block), b"b", 0, 100);
            let full = [&bytes(&section, style)[..], &table_padding(1, style)].concat();
            let header = table_header(INDEX, 0, ROW_BYTES, style);
            let empty = [&[b'x'; 32][..], &header, &table_padding(0, style)].concat();
            let is_end = |end: &[u8], at| is_end_of_index(end.first_chunk().unwrap(), at);
            assert!(is_end(&full, section.end()) && is_end(&empty, 0));
            // A section cannot end after its row.
            assert!(!is_end(&full, section.end() - 32));
            for (end, from) in [(&full, 0), (&empty, 32)] {
                let other = |place: usize| {
                    let mut other = end.clone();
                    other[place] = 0;
                    other
                };
                assert!((from..192).step_by(32).all(|place| !is_end(&other(place), section.end())));
            }
            // An incomplete index, which ends with the beginning of another row.
            let next = [&bytes(&section, style)[..], &bytes(&section, style)[..32]].concat();
            assert!(!is_end(&next, section.end()));
        }
    }

    #[test]
    fn tables_begin_as_arrays_do() {
        for style in STYLES {
            let header = table_header(INDEX, 12, ROW_BYTES, style);
            assert!(header.starts_with(b"A scda index 00 ---"));
            assert_eq!(parse_table_header(&header, INDEX, ROW_BYTES), Some(12));
            assert_eq!(parse_table_header(&header, ANCHORS, ROW_BYTES), None);
            assert_eq!(parse_table_header(&header, INDEX, ANCHOR_BYTES), None);
            let mut other = header;
            other[0] = b'V';
            assert_eq!(parse_table_header(&other, INDEX, ROW_BYTES), None);
        }
        assert_eq!(&table_padding(0, LineBreak::Unix), b"\n=============================\n\n");
        assert_eq!(&table_padding(1, LineBreak::Unix), b"==============================\n\n");
    }

    #[test]
    fn user_strings_of_one_hash_are_sorted_themselves() {
        let [a, b] = [&b"1e8a011168"[..], b"b49070953"];
        assert_eq!(hash_of_user(a), hash_of_user(b));
        let mut rows = [b, a, b, a].map(|name| row(Some(SectionType::Inline), name, 0, 32));
        sort_rows(&mut rows).unwrap();
        assert_eq!(rows.map(|row| row_of_sorted(row.sorted)), [1, 3, 0, 2]);
    }

    proptest! {
        #[test]
        fn user_strings_are_sorted_as_by_the_naive_way(
            names in proptest::collection::vec(proptest::collection::vec(b'a'..b'c', 0..3), 0..40), has_header in any::<bool>(),
            common in proptest::sample::select(vec![0, 1, 20]), spread in proptest::sample::select(vec![1, 9]),
        ) {
            // User strings with a common beginning, and those that differ only after some zero bytes.
            let names: Vec<Vec<u8>> = names.iter().map(|name| {
                let rest = name.iter().flat_map(|&byte| std::iter::once(byte).chain(std::iter::repeat_n(0, spread - 1)));
                std::iter::repeat_n(b'b', common).chain(rest).collect()
            }).collect();
            let mut rows: Vec<Row> = names.iter().map(|name| row(Some(SectionType::Inline), name, 0, 32)).collect();
            if has_header {
                rows.insert(0, row(None, b"zzz", 0, 0));
            }
            sort_rows(&mut rows).unwrap();
            let key = |(i, row): (usize, &Row)| {
                let hash = if row.section.is_some() { crc::of(&row.user) >> 32 } else { 0 };
                ((row.section.is_some(), hash, row.user.to_vec(), i), hash << 32 | i as u64)
            };
            let mut naive: Vec<_> = rows.iter().enumerate().map(key).collect();
            naive.sort();
            let naive: Vec<_> = naive.into_iter().map(|(_, sorted)| sorted).collect();
            prop_assert_eq!(rows.iter().map(|row| row.sorted).collect::<Vec<_>>(), naive);
        }

        #[test]
        fn rows_come_back(
            kind in 0..4_usize, text in proptest::collection::vec(any::<u8>(), 0..=58), offset in 0..1_u64 << 50,
            count in 0..1_u64 << 20, size in 0..1_u64 << 40, crc in any::<u64>(), sorted in any::<u64>(),
            more in proptest::option::of(0..1_u64 << 30),
        ) {
            let kind = [SectionType::Inline, SectionType::Block, SectionType::Array, SectionType::Varray][kind];
            let mut row = match kind {
                SectionType::Inline => row(Some(kind), &text, 0, 32),
                SectionType::Block => row(Some(kind), &text, 0, size),
                _ => row(Some(kind), &text, count, size),
            };
            (row.offset, row.crc, row.sorted) = (32 * offset, crc, sorted);
            if let Some(more) = more.filter(|_| kind != SectionType::Inline) {
                row.is_compressed = true;
                row.bytes = row.possible_bytes().unwrap().0 + 32 * more;
            }
            for style in STYLES {
                prop_assert_eq!(Row::parse(&bytes(&row, style), row.offset, 0).unwrap(), row);
            }
        }

        #[test]
        fn no_bytes_of_a_row_panic(
            changes in proptest::collection::vec((0..ROW_BYTES, any::<u8>()), 0..4),
            numbers in any::<[u64; 6]>(), kind in 0..5_usize, is_compressed in any::<bool>(),
        ) {
            let [mut offset, mut length, count, size, crc, sorted] = numbers;
            (offset, length) = (offset >> 1, length >> 1);
            let section = [None, Some(SectionType::Inline), Some(SectionType::Block), Some(SectionType::Array), Some(SectionType::Varray)][kind];
            let row = Row { section, user: user(b"x"), is_compressed, offset, bytes: length, count, size, crc, sorted };
            let mut text = bytes(&row, LineBreak::Unix);
            changes.iter().for_each(|&(place, byte)| text[place] = byte);
            if let Ok(row) = Row::parse(&text, offset, 1 << 40) {
                prop_assert!(row.end() <= MAX_OFFSET);
                prop_assert_eq!(Row::parse(&bytes(&row, LineBreak::Mime), offset, 0).unwrap(), row);
            }
        }

        #[test]
        fn tails_have_one_form_in_each_style(crc in any::<u64>(), place in 0..CRC_TAIL_BYTES, bit in 0..8_u8) {
            for style in STYLES {
                let mut tail = crc_tail(crc, style);
                prop_assert_eq!(parse_crc_tail(&tail, 0).unwrap(), crc);
                tail[place] ^= 1 << bit;
                prop_assert!(parse_crc_tail(&tail, 0).ok() != Some(crc));
            }
        }
    }
}
