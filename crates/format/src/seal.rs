//! The seal: the block at the end of all sections written so far. docs/format.md, "Sealed files", specifies its bytes.

use super::header::{SectionType, parse_section_header, put_section_header};
use super::index::{
    CRC_TAIL_BYTES, ROW_BYTES, TABLE_HEADER_BYTES, TABLE_PADDING_BYTES, crc_tail, parse_entries, put_entries,
};
use super::layout::MAX_OFFSET;
use super::padding::LineBreak;
use super::{COUNT_BYTES, FILE_HEADER_BYTES, INLINE_BYTES, SECTION_HEADER_BYTES, crc};
use scda_base::error::{Error, ErrorKind, Result};

/// The user string of the seal, a block.
pub const SEAL: &[u8] = b"scda seal 00";
/// Bytes of a seal, including header and padding.
pub const SEAL_BYTES: usize = DATA + DATA_BYTES + TABLE_PADDING_BYTES;

/// The offset of the data.
const DATA: usize = SECTION_HEADER_BYTES + COUNT_BYTES;
/// Bytes of data: five entries.
const DATA_BYTES: usize = LETTERS.len() * COUNT_BYTES;
/// The letters of the entries.
const LETTERS: [u8; 5] = *b"IPNLC";
/// The offset of the CRC, which covers everything before it, beginning with the index.
const CRC: usize = SEAL_BYTES - CRC_TAIL_BYTES;

/// The least size of a section in bytes.
const LEAST_SECTION_BYTES: u64 = (SECTION_HEADER_BYTES + INLINE_BYTES) as u64;
/// Bytes of an index without its rows.
const INDEX_FRAME_BYTES: u64 = (TABLE_HEADER_BYTES + TABLE_PADDING_BYTES) as u64;

/// The contents of a seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal {
    /// Offset of the index.
    pub index: u64,
    /// Offset of the previous seal, 0 if there is none.
    pub previous: u64,
    /// Number of sections before it; the header of the file and the sections of seals do not count.
    pub sections: u64,
    /// Length of the file up to the end of the seal.
    pub length: u64,
    /// CRC of all bytes from the beginning of the index to the entry `C`.
    pub crc: u64,
}

impl Seal {
    /// The seal with its CRC filled in. `index_crc` is the CRC of the index with header and padding.
    #[must_use]
    pub fn with_crc(self, index_crc: u64, style: LineBreak) -> Self {
        Self { crc: Self::crc_of(index_crc, &self.bytes(style)), ..self }
    }

    /// The CRC that a seal with these bytes must have. `index_crc` is the CRC of the index with header and padding.
    #[must_use]
    pub fn crc_of(index_crc: u64, seal: &[u8; SEAL_BYTES]) -> u64 {
        crc::extend(index_crc, &seal[..CRC])
    }

    /// All bytes of the section.
    #[must_use]
    pub fn bytes(&self, style: LineBreak) -> [u8; SEAL_BYTES] {
        let mut bytes = [0; SEAL_BYTES];
        let (header, data) = bytes.split_at_mut(DATA);
        let (line, size) = header.split_at_mut(SECTION_HEADER_BYTES);
        put_section_header(line, SectionType::Block, SEAL, style);
        put_entries(size, b"E", &[DATA_BYTES as u64], style);
        put_entries(data, &LETTERS, &[self.index, self.previous, self.sections, self.length], style);
        bytes[CRC..].copy_from_slice(&crc_tail(self.crc, style));
        bytes
    }

    /// The seal, if these bytes at `offset` in a file are one: byte for byte as seals are written, with numbers
    /// that are possible at that offset. Checks neither the CRC nor the rest of the file.
    #[must_use]
    pub fn parse(bytes: &[u8; SEAL_BYTES], offset: u64) -> Option<Self> {
        let (line, _) = bytes.split_first_chunk()?;
        let (kind, user) = parse_section_header(line).ok()?;
        if kind != SectionType::Block || *user != *SEAL {
            return None;
        }
        let [index, previous, sections, length, crc] = parse_entries(&bytes[DATA..], &LETTERS, 0).ok()?;
        let seal = Self { index, previous, sections, length, crc };
        let is_possible = offset.checked_add(SEAL_BYTES as u64) == Some(length) && seal.is_possible();
        let is_written = [LineBreak::Unix, LineBreak::Mime].iter().any(|&style| seal.bytes(style) == *bytes);
        (is_possible && is_written).then_some(seal)
    }

    /// The length of the file in these bytes, if they are a seal.
    #[must_use]
    pub fn length_in(bytes: &[u8; SEAL_BYTES]) -> Option<u64> {
        parse_entries(&bytes[DATA..], &LETTERS, 0).ok().map(|[_, _, _, length, _]| length)
    }

    /// True if all of these bytes, which are no valid seal, have reached the disk: in a seal that reached it only in
    /// part, the first or the last line is all zeros.
    #[must_use]
    pub fn is_all_there(bytes: &[u8; SEAL_BYTES]) -> bool {
        let is_written = |line: &[u8]| line.iter().any(|&byte| byte != 0);
        is_written(&bytes[..INLINE_BYTES]) && is_written(&bytes[SEAL_BYTES - INLINE_BYTES..])
    }

    /// True if these bytes, which are no valid seal, are a damaged one: all of them are there, and most of its name and
    /// size.
    #[must_use]
    pub fn was_here(bytes: &[u8; SEAL_BYTES]) -> bool {
        let any = Self { index: 0, previous: 0, sections: 0, length: SEAL_BYTES as u64, crc: 0 };
        let words = (0..2 + SEAL.len() + 1).chain(SECTION_HEADER_BYTES..SECTION_HEADER_BYTES + 6);
        let (all, expected) = (words.clone().count(), any.bytes(LineBreak::Unix));
        let alike = words.filter(|&at| bytes[at] == expected[at]).count();
        alike >= all * 3 / 4 && Self::is_all_there(bytes)
    }

    /// Offset of the seal.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.length - SEAL_BYTES as u64
    }

    /// Number of rows of the index, if the numbers allow for an index.
    fn rows_between(&self) -> Option<u64> {
        let end = self.length.checked_sub(SEAL_BYTES as u64)?;
        let rows = end.checked_sub(self.index)?.checked_sub(INDEX_FRAME_BYTES)?;
        (rows % ROW_BYTES as u64 == 0).then_some(rows / ROW_BYTES as u64)
    }

    /// Number of rows of the index.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows_between().unwrap_or(0)
    }

    /// True if the numbers are consistent.
    fn is_possible(&self) -> bool {
        let Some(rows) = self.rows_between() else { return false };
        // The first index has a row for the header of the file.
        let rows_fit = if self.previous == 0 {
            self.sections.checked_add(1) == Some(rows)
        } else {
            let end = self.previous.checked_add(SEAL_BYTES as u64);
            self.previous.is_multiple_of(32)
                && rows <= self.sections
                // Without sections, there are only tables between the two seals.
                && end.is_some_and(|end| end <= self.index)
        };
        let room = self.index.checked_sub(FILE_HEADER_BYTES as u64);
        let sections_fit = room.is_some_and(|room| self.sections <= room / LEAST_SECTION_BYTES);
        rows_fit && sections_fit && self.index.is_multiple_of(32) && self.length <= MAX_OFFSET
    }

    /// Fails if `previous`, at the offset that this seal gives, cannot be its previous seal.
    ///
    /// # Errors
    /// `Format` at the offset of this seal.
    pub fn check_previous(&self, previous: &Self) -> Result<()> {
        let rows = self.sections.checked_sub(previous.sections);
        if previous.offset() == self.previous && rows == Some(self.rows()) {
            return Ok(());
        }
        let words = format!(
            "seal: found {} rows and {} sections, expected a row for each after the {} of the previous seal at byte {}",
            self.rows(),
            self.sections,
            previous.sections,
            self.previous,
        );
        Err(Error::new(ErrorKind::Format, words).at(self.offset()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::additions::{ATTRIBUTES_CONVENTION, ROWS_CONVENTION};
    use crate::dataset::{DATASET_CONVENTION, GROUP_CONVENTION};
    use proptest::prelude::*;

    const STYLES: [LineBreak; 2] = [LineBreak::Unix, LineBreak::Mime];

    /// A seal for `sections` sections, after an index, in a file without another seal.
    fn seal(sections: u64) -> Seal {
        let index = 128 + 96 * sections;
        let length = index + INDEX_FRAME_BYTES + (sections + 1) * ROW_BYTES as u64 + SEAL_BYTES as u64;
        Seal { index, previous: 0, sections, length, crc: 7 }
    }

    #[test]
    fn a_seal_is_nine_lines_of_text() {
        let seal = Seal { crc: u64::MAX, ..seal(3) };
        let text = "B scda seal 00 ------------------------------------------------\n\
            E 160 -------------------------\n\
            I 416 -------------------------\n\
            P 0 ---------------------------\n\
            N 3 ---------------------------\n\
            L 1504 ------------------------\n\
            C 18446744073709551615 --------\n\
            ==============================\n\n";
        assert_eq!(
            seal.bytes(LineBreak::Unix).escape_ascii().to_string(),
            text.as_bytes().escape_ascii().to_string()
        );
        assert_eq!(Seal::parse(&seal.bytes(LineBreak::Unix), 1216), Some(seal));
        assert_eq!(Seal::parse(&seal.bytes(LineBreak::Unix), 1217), None);
        assert_eq!((seal.rows(), seal.offset()), (4, 1216));
    }

    #[test]
    fn a_damaged_seal_is_told_from_one_that_did_not_all_come_to_the_disk() {
        let seal = seal(3).bytes(LineBreak::Unix);
        let was_here = |range: std::ops::Range<usize>, byte| {
            let mut bytes = seal;
            bytes[range].fill(byte);
            Seal::was_here(&bytes)
        };
        // 15 bytes of the name and 6 of the size; three quarters of them suffice.
        assert!(was_here(0..0, 0) && was_here(2..8, b'x') && was_here(64..70, b'x'));
        assert!(was_here(70..256, b'x') && was_here(257..288, 0));
        assert!(!was_here(2..9, b'x'));
        // What a killed job leaves of one of our sections may have as many bytes: it is no damaged seal.
        for user in [ROWS_CONVENTION, DATASET_CONVENTION, GROUP_CONVENTION, ATTRIBUTES_CONVENTION] {
            let mut bytes = seal;
            bytes[2..2 + user.len()].copy_from_slice(user);
            bytes[2 + user.len()] = b' ';
            assert!(!Seal::was_here(&bytes), "{}", String::from_utf8_lossy(user));
        }
        assert!(!was_here(256..288, 0) && !was_here(0..32, 0));
    }

    #[test]
    fn numbers_that_are_impossible_are_no_seal() {
        let first = seal(3);
        let second = Seal {
            index: first.length + 960,
            previous: first.offset(),
            sections: 13,
            length: first.length + 960 + INDEX_FRAME_BYTES + 10 * ROW_BYTES as u64 + SEAL_BYTES as u64,
            crc: 0,
        };
        let parse = |seal: Seal| Seal::parse(&seal.bytes(LineBreak::Mime), seal.length.wrapping_sub(288));
        assert_eq!((parse(first), parse(second)), (Some(first), Some(second)));
        assert!(second.check_previous(&first).is_ok());
        for wrong in [
            Seal { sections: 4, ..first },
            Seal { sections: u64::MAX, ..first },
            Seal { index: first.index - 32, ..first },
            Seal { index: first.length, ..first },
            Seal { index: 96, length: 96 + 160 + 160 + 288, sections: 0, ..first },
            Seal { previous: 1, ..first },
            Seal { length: first.length + 32, ..first },
            Seal { length: u64::MAX, ..first },
            Seal { length: 0, ..first },
            Seal { previous: 0, ..second },
            Seal { previous: second.index - 256, ..second },
            Seal { previous: second.previous + 1, ..second },
            Seal { previous: u64::MAX, ..second },
            Seal { sections: 9, ..second },
            Seal { sections: second.index / 96, ..second },
        ] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
        // No rows, but room for a view of HDF5.
        let view = Seal { index: second.length - 288 - INDEX_FRAME_BYTES, sections: 3, ..second };
        assert_eq!(parse(view), Some(view));
        for wrong in [Seal { sections: 4, ..first }, Seal { length: first.length + 160, ..first }] {
            let error = second.check_previous(&wrong).unwrap_err();
            assert_eq!((error.kind(), error.offset()), (ErrorKind::Format, Some(second.offset())));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "many minutes")]
    fn every_flipped_bit_is_another_seal_or_none() {
        for style in STYLES {
            let seal = seal(3).with_crc(crc::of(b"the index"), style);
            let bytes = seal.bytes(style);
            assert_eq!(Seal::crc_of(crc::of(b"the index"), &bytes), seal.crc);
            for bit in 0..8 * SEAL_BYTES {
                let mut flipped = bytes;
                flipped[bit / 8] ^= 1 << (bit % 8);
                if let Some(other) = Seal::parse(&flipped, seal.offset()) {
                    assert_ne!(other, seal);
                    // What the parser misses, the CRC detects.
                    assert_ne!(Seal::crc_of(crc::of(b"the index"), &flipped), other.crc, "bit {bit}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn seals_come_back(sections in 0..1_u64 << 40, crc in any::<u64>()) {
            for style in STYLES {
                let seal = Seal { crc, ..seal(sections) };
                prop_assert_eq!(Seal::parse(&seal.bytes(style), seal.offset()), Some(seal));
            }
        }

        #[test]
        fn no_bytes_of_a_seal_panic(
            numbers in any::<[u64; 5]>(), bits in any::<[u32; 5]>(), offset in any::<u64>(), is_mine in any::<bool>(),
            changes in proptest::collection::vec((0..SEAL_BYTES, any::<u8>()), 0..4), any in any::<[u8; 32]>(),
        ) {
            let [index, previous, sections, length, crc] = std::array::from_fn(|i| numbers[i] >> (bits[i] % 64));
            let seal = Seal { index, previous, sections, length, crc };
            let mut bytes = seal.bytes(LineBreak::Unix);
            changes.iter().for_each(|&(place, byte)| bytes[place] = byte);
            let offset = if is_mine { length.wrapping_sub(288) } else { offset };
            if let Some(seal) = Seal::parse(&bytes, offset) {
                prop_assert!(seal.offset() == offset && seal.index < offset && seal.previous < seal.index);
            }
            let _ = Seal::parse(&std::array::from_fn(|i| any[i % 32]), offset);
        }
    }
}
