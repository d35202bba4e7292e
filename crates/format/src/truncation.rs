//! The note that precedes a truncation of sealed sections. docs/format.md, "Rolling back", specifies its bytes.

use super::header::{SectionType, parse_section_header, put_section_header};
use super::index::{parse_entries, put_entries};
use super::padding::LineBreak;
use super::seal::SEAL_BYTES;
use super::{FILE_HEADER_BYTES, INLINE_BYTES, SECTION_HEADER_BYTES};

/// The user string of the note, an inline section.
pub const TRUNCATION: &[u8] = b"scda truncation 00";
/// Bytes of the note.
pub const TRUNCATION_BYTES: usize = SECTION_HEADER_BYTES + INLINE_BYTES;

/// What file systems bring to the disk at once is no longer than this, and begins at a multiple of it.
const PAGE_BYTES: u64 = 1 << 16;

/// Where in a file of `size` bytes the note goes that it is to be cut to `length` bytes: not into the page of the cut.
#[must_use]
pub fn offset(size: u64, length: u64) -> u64 {
    size.max(length.next_multiple_of(PAGE_BYTES)).next_multiple_of(INLINE_BYTES as u64)
}

/// All bytes of the note that a file is to be cut to `length` bytes.
#[must_use]
pub fn bytes(length: u64, style: LineBreak) -> [u8; TRUNCATION_BYTES] {
    let mut bytes = [0; TRUNCATION_BYTES];
    let (line, data) = bytes.split_at_mut(SECTION_HEADER_BYTES);
    put_section_header(line, SectionType::Inline, TRUNCATION, style);
    put_entries(data, b"L", &[length], style);
    bytes
}

/// The length to which these bytes, which begin at `offset`, say that a file is to be cut: they must be a note byte for byte as it is
/// written, and a seal can end there. This does not check the seal.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_is_written_and_nothing_else_is_one() {
        for style in [LineBreak::Unix, LineBreak::Mime] {
            let whole = bytes(1696, style);
            assert_eq!(parse(&whole, 5000), Some(1696));
            // A seal must end before it.
            assert_eq!(parse(&whole, 1696), None);
            assert_eq!(parse(&bytes(415, style), 5000), None);
            for at in 0..TRUNCATION_BYTES {
                let mut changed = whole;
                changed[at] ^= 1;
                assert_ne!(parse(&changed, 5000), Some(1696), "{at}");
            }
            assert_eq!((offset(5000, 1696), offset(70_001, 1696)), (1 << 16, 70_016));
            // A part that has not come to the disk.
            for line in [0..32, 32..64, 64..96] {
                let mut torn = whole;
                torn[line].fill(0);
                assert_eq!(parse(&torn, 5000), None);
            }
        }
    }
}
