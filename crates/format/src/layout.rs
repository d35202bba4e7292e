//! The offsets of the parts of a section. Pure arithmetic, checked to 63 bits.

use super::padding::data_padding_bytes;
use super::{COUNT_BYTES, INLINE_BYTES, SECTION_HEADER_BYTES};
use scda_base::error::Error;
pub use scda_base::numbers::{MAX_OFFSET, product, sum};

const HEADER: u64 = SECTION_HEADER_BYTES as u64;
const COUNT: u64 = COUNT_BYTES as u64;

/// The error for a section that would end beyond 63 bits.
#[must_use]
pub fn too_large() -> Error {
    Error::range("section: its end in the file would exceed 63 bits")
}

/// The offsets of a section's parts: header, size entries, data, padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionLayout {
    /// Offset of the section.
    pub start: u64,
    /// Offset of the size entries, or of the data if there are none.
    pub entries: u64,
    /// Offset of the data.
    pub data: u64,
    /// Bytes of data.
    pub data_bytes: u64,
    /// Offset of the byte after the padding.
    pub end: u64,
}

impl SectionLayout {
    /// An inline section (figure 2).
    #[must_use]
    #[inline]
    pub fn inline(start: u64) -> Option<Self> {
        let data = sum(start, HEADER)?;
        let end = sum(data, INLINE_BYTES as u64)?;
        Some(Self { start, entries: data, data, data_bytes: INLINE_BYTES as u64, end })
    }

    /// A block of `size` bytes (figure 3).
    #[must_use]
    #[inline]
    pub fn block(start: u64, size: u64) -> Option<Self> {
        Self::padded(start, HEADER + COUNT, 0, size)
    }

    /// An array of `n` elements of `size` bytes (figure 4).
    #[must_use]
    #[inline]
    pub fn array(start: u64, n: u64, size: u64) -> Option<Self> {
        Self::padded(start, HEADER + 2 * COUNT, 0, product(n, size)?)
    }

    /// A varray of `n` elements with `total` bytes in all (figure 5).
    #[must_use]
    #[inline]
    pub fn varray(start: u64, n: u64, total: u64) -> Option<Self> {
        Self::padded(start, HEADER + COUNT, product(n, COUNT)?, total)
    }

    #[inline]
    fn padded(start: u64, header: u64, entry_bytes: u64, data_bytes: u64) -> Option<Self> {
        // The last sum is the greatest.
        let entries = start.checked_add(header)?;
        let data = entries.checked_add(entry_bytes)?;
        let end = data.checked_add(data_bytes)?.checked_add(data_padding_bytes(data_bytes))?;
        (end <= MAX_OFFSET).then_some(Self { start, entries, data, data_bytes, end })
    }

    /// Offset of the padding.
    #[must_use]
    #[inline]
    pub fn padding(&self) -> u64 {
        self.data + self.data_bytes
    }

    /// Bytes of the whole section.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sections_without_data() {
        assert_eq!(SectionLayout::inline(128).unwrap().bytes(), 96);
        assert_eq!(SectionLayout::block(128, 0).unwrap().bytes(), 128);
        assert_eq!(SectionLayout::array(128, u64::MAX, 0).unwrap().bytes(), 160);
        assert_eq!(SectionLayout::varray(128, 0, 0).unwrap().bytes(), 128);
    }

    #[test]
    fn beyond_63_bits_there_is_no_layout() {
        assert_eq!(SectionLayout::array(128, 1 << 32, 1 << 32), None);
        assert_eq!(SectionLayout::array(128, 1 << 31, 1 << 32), None);
        assert_eq!(SectionLayout::block(128, MAX_OFFSET), None);
        assert_eq!(SectionLayout::varray(128, 1 << 58, 0), None);
        assert_eq!(SectionLayout::varray(128, 1, MAX_OFFSET), None);
        assert_eq!(SectionLayout::inline(MAX_OFFSET - 95), None);
        assert!(SectionLayout::inline(MAX_OFFSET - 96).is_some());
    }

    proptest! {
        #[test]
        fn parts_follow_one_another_and_sections_are_multiples_of_32(
            start in 0..1_u64 << 40, n in 0..1_u64 << 30, size in 0..1_u64 << 30,
        ) {
            for layout in [SectionLayout::block(start, size), SectionLayout::array(start, n, size), SectionLayout::varray(start, n, size)] {
                let l = layout.unwrap();
                prop_assert!(l.start < l.entries && l.entries <= l.data && l.padding() + 7 <= l.end);
                prop_assert_eq!(l.bytes() % 32, 0);
            }
        }
    }
}
