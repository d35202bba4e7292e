//! What a writer records before it removes sealed sections: a note or, if no seal is where the file is to end,
//! a block with the tables of a new seal. docs/format.md, "Rolling back", specifies their bytes.

use super::header::{SectionType, parse_section_header, put_section_header};
use super::index::{TABLE_PADDING_BYTES, parse_entries, put_entries, table_padding};
use super::padding::LineBreak;
use super::seal::{SEAL_BYTES, Seal};
use super::{COUNT_BYTES, FILE_HEADER_BYTES, INLINE_BYTES, SECTION_HEADER_BYTES};
use scda_base::error::Result;
use scda_base::memory::reserve;

/// The user string of the note, an inline section.
pub const TRUNCATION: &[u8] = b"scda truncation 00";
/// Bytes of the note.
pub const TRUNCATION_BYTES: usize = SECTION_HEADER_BYTES + INLINE_BYTES;

/// The unit that file systems bring to the disk at once has at most this size, and begins at a multiple of its size.
const PAGE_BYTES: u64 = 1 << 16;

/// The offset of the note in a file of `size` bytes that is to be truncated to `length` bytes: not in the page where
/// the file is then to end.
#[must_use]
pub fn offset(size: u64, length: u64) -> u64 {
    size.max(length.next_multiple_of(PAGE_BYTES)).next_multiple_of(INLINE_BYTES as u64)
}

/// The note that a file is to be truncated to `length` bytes.
#[must_use]
pub fn bytes(length: u64, style: LineBreak) -> [u8; TRUNCATION_BYTES] {
    let mut bytes = [0; TRUNCATION_BYTES];
    let (line, data) = bytes.split_at_mut(SECTION_HEADER_BYTES);
    put_section_header(line, SectionType::Inline, TRUNCATION, style);
    put_entries(data, b"L", &[length], style);
    bytes
}

/// The length to which a file is to be truncated, if these bytes, which begin at `offset`, are a note: byte for byte
/// as it is written, with a length at which a seal can end. Does not check the seal.
#[must_use]
pub fn parse(bytes: &[u8; TRUNCATION_BYTES], offset: u64) -> Option<u64> {
    let (line, data) = bytes.split_first_chunk()?;
    let (kind, user) = parse_section_header(line).ok()?;
    if kind != SectionType::Inline || *user != *TRUNCATION {
        return None;
    }
    let [length] = parse_entries(data, b"L", 0).ok()?;
    let is_written =
        [LineBreak::Unix, LineBreak::Mime].iter().any(|&style| self::bytes(length, style) == *bytes);
    let is_possible = length >= (FILE_HEADER_BYTES + SEAL_BYTES) as u64 && length < offset;
    (is_written && is_possible).then_some(length)
}

/// The user string of the block with the tables of a new seal.
pub const NEW_END: &[u8] = b"scda truncation 01";
/// Bytes of the header of the block.
pub const NEW_END_HEADER_BYTES: usize = SECTION_HEADER_BYTES + COUNT_BYTES;
/// Bytes of its last entries and of its padding. The block is valid only once these are there.
pub const NEW_END_TAIL_BYTES: usize = LETTERS.len() * COUNT_BYTES + TABLE_PADDING_BYTES;
/// Bytes of the seal at the end of its tables, and of what follows.
pub const NEW_END_LAST_BYTES: usize = SEAL_BYTES + NEW_END_TAIL_BYTES;
/// The letters of its last entries.
const LETTERS: [u8; 2] = *b"OL";

/// A new end of a file, whose tables are in a block at its old end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewEnd {
    /// The offset where the tables are now.
    pub tables: u64,
    /// The offset where they are to be, at the end of the sections that stay.
    pub offset: u64,
    /// The length that the file is to have, including the seal of the tables.
    pub length: u64,
    /// The length that it has for readers until then, up to the last seal before `offset`, or to the end of its header.
    pub stays: u64,
}

impl NewEnd {
    /// The size of the tables in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.length - self.offset
    }

    /// The header of the block.
    #[must_use]
    pub fn header(&self, style: LineBreak) -> [u8; NEW_END_HEADER_BYTES] {
        let mut bytes = [0; NEW_END_HEADER_BYTES];
        let (line, entry) = bytes.split_at_mut(SECTION_HEADER_BYTES);
        put_section_header(line, SectionType::Block, NEW_END, style);
        put_entries(entry, b"E", &[self.bytes() + (LETTERS.len() * COUNT_BYTES) as u64], style);
        bytes
    }

    /// The bytes after the tables.
    #[must_use]
    pub fn tail(&self, style: LineBreak) -> [u8; NEW_END_TAIL_BYTES] {
        let mut bytes = [0; NEW_END_TAIL_BYTES];
        let (entries, padding) = bytes.split_at_mut(LETTERS.len() * COUNT_BYTES);
        put_entries(entries, &LETTERS, &[self.offset, self.stays], style);
        padding.copy_from_slice(&table_padding(1, style));
        bytes
    }

    /// The new end that is announced at the end of a file of `size` bytes, whose last bytes these are: the seal in them
    /// must be possible at its place, and the rest must be byte for byte as it is written. The caller still has to
    /// compare the header of the block.
    #[must_use]
    pub fn parse(bytes: &[u8; NEW_END_LAST_BYTES], size: u64) -> Option<Self> {
        let (seal, tail) = bytes.split_first_chunk::<SEAL_BYTES>()?;
        let [offset, stays] = parse_entries(tail, &LETTERS, 0).ok()?;
        let seal = hidden_seal(seal)?.0;
        let length = seal.length;
        let tables = size.checked_sub(NEW_END_TAIL_BYTES as u64 + length.checked_sub(offset)?)?;
        let this = Self { tables, offset, length, stays };
        let is_written =
            [LineBreak::Unix, LineBreak::Mime].iter().any(|&style| this.tail(style)[..] == *tail);
        let is_possible = stays <= offset
            && offset <= seal.index
            && length <= tables.checked_sub(NEW_END_HEADER_BYTES as u64)?
            && [offset, stays, tables].iter().all(|at| at.is_multiple_of(INLINE_BYTES as u64));
        (is_written && is_possible).then_some(this)
    }

    /// The block in two parts: the second one makes it valid, and is written once the first one is in stable storage.
    /// Until then, the seal in it must not pass for a damaged one at the end of the file, so its first line is zeros.
    ///
    /// # Errors
    /// `Memory`.
    pub fn block(&self, tables: &[u8], style: LineBreak) -> Result<[Vec<u8>; 2]> {
        let mut first = Vec::new();
        reserve(&mut first, NEW_END_HEADER_BYTES + tables.len())?;
        first.extend(self.header(style));
        first.extend(tables);
        let seal = first.len() - SEAL_BYTES;
        first[seal..seal + INLINE_BYTES].fill(0);
        Ok([first, self.tail(style).to_vec()])
    }

    /// The seal that these bytes of the block stand for, and its own bytes.
    #[must_use]
    pub fn seal(bytes: &[u8; SEAL_BYTES]) -> Option<(Seal, [u8; SEAL_BYTES])> {
        hidden_seal(bytes)
    }
}

/// The seal, if these bytes are a seal except for the first line; and its bytes.
fn hidden_seal(bytes: &[u8; SEAL_BYTES]) -> Option<(Seal, [u8; SEAL_BYTES])> {
    let length = Seal::length_in(bytes)?;
    [LineBreak::Unix, LineBreak::Mime].into_iter().find_map(|style| {
        let mut all = *bytes;
        let any = Seal { index: 0, previous: 0, sections: 0, length: SEAL_BYTES as u64, crc: 0 }.bytes(style);
        all[..INLINE_BYTES].copy_from_slice(&any[..INLINE_BYTES]);
        let is_hidden = bytes[..INLINE_BYTES] == [0; INLINE_BYTES];
        let seal = Seal::parse(&all, length.checked_sub(SEAL_BYTES as u64)?).filter(|_| is_hidden)?;
        Some((seal, all))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use scda_base::numbers::to_usize;

    #[test]
    fn a_new_end_is_read_as_it_is_written_and_nothing_else_is_one() {
        for style in [LineBreak::Unix, LineBreak::Mime] {
            let (offset, stays) = (2048, 1696);
            let length = offset + 160 + 160 + SEAL_BYTES as u64;
            let seal = Seal { index: offset, previous: stays - 288, sections: 5, length, crc: 7 };
            let mut tables = vec![1; to_usize(length - offset) - SEAL_BYTES];
            tables.extend(seal.bytes(style));
            let at = super::offset(5000, length);
            let tables_at = at + NEW_END_HEADER_BYTES as u64;
            let new_end = NewEnd { tables: tables_at, offset, length, stays };
            let block = new_end.block(&tables, style).unwrap().concat();
            let size = at + block.len() as u64;
            let last: [u8; NEW_END_LAST_BYTES] = *block.last_chunk().unwrap();
            let hidden = last.first_chunk().unwrap();
            assert!(!Seal::was_here(hidden) && NewEnd::seal(hidden) == Some((seal, seal.bytes(style))));
            assert_eq!(NewEnd::parse(&last, size), Some(new_end));
            assert!(block.starts_with(&new_end.header(style)));
            // Too few bytes.
            assert_eq!(NewEnd::parse(&last, 700), None);
            // The rest of the seal is covered by its checksum.
            for at in (0..INLINE_BYTES).chain(SEAL_BYTES..NEW_END_LAST_BYTES) {
                let mut changed = last;
                changed[at] ^= 1;
                assert_ne!(NewEnd::parse(&changed, size), Some(new_end), "{at}");
            }
        }
    }

    #[test]
    fn a_note_is_read_as_it_is_written_and_nothing_else_is_one() {
        for style in [LineBreak::Unix, LineBreak::Mime] {
            let whole = bytes(1696, style);
            assert_eq!(parse(&whole, 5000), Some(1696));
            // The seal must end before the note.
            assert_eq!(parse(&whole, 1696), None);
            assert_eq!(parse(&bytes(415, style), 5000), None);
            for at in 0..TRUNCATION_BYTES {
                let mut changed = whole;
                changed[at] ^= 1;
                assert_ne!(parse(&changed, 5000), Some(1696), "{at}");
            }
            assert_eq!((offset(5000, 1696), offset(70_001, 1696)), (1 << 16, 70_016));
            // A note of which a part has not reached the disk.
            for line in [0..32, 32..64, 64..96] {
                let mut torn = whole;
                torn[line].fill(0);
                assert_eq!(parse(&torn, 5000), None);
            }
        }
    }
}
