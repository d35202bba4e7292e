//! Decides whether a section is compressed: blocks, arrays and varrays, in memory and as streams.

use crate::file::options::Encode;
use crate::file::team::Failure;
use crate::file::writer::sections::too_large;
use scda_codec::MIN_ENCODED_BYTES;
use scda_format::COUNT_BYTES;
use scda_format::header::SectionType;
use scda_format::layout::{SectionLayout, product};

/// A section that may be compressed, in which case a pair of sections represents it.
pub(super) struct Choice {
    pub section: SectionType,
    pub plain: SectionLayout,
    /// The number of elements. A block has one.
    pub count: u64,
    pub encode: Encode,
}

/// The two sections of a compressed one (paper, figures 6 and 7): the original sizes, and the compressed
/// data.
#[derive(Clone, Copy)]
pub(super) struct CompressedPair {
    pub first: SectionLayout,
    pub second: SectionLayout,
}

impl Choice {
    /// The layout of the pair if the compressed data have `bytes` bytes; `None` if it exceeds 63 bits.
    fn pair(&self, bytes: u64) -> Option<CompressedPair> {
        let Self { section, plain, count, .. } = *self;
        let first = match section {
            SectionType::Varray => SectionLayout::array(plain.start, count, COUNT_BYTES as u64),
            _ => SectionLayout::inline(plain.start),
        }?;
        let second = match section {
            SectionType::Block => SectionLayout::block(first.end, bytes),
            _ => SectionLayout::varray(first.end, count, bytes),
        }?;
        Some(CompressedPair { first, second })
    }

    /// Whether the pair ends before the uncompressed section would, if the compressed data have `bytes`
    /// bytes.
    pub fn is_smaller(&self, bytes: u64) -> bool {
        self.pair(bytes).is_some_and(|pair| pair.second.end < self.plain.end)
    }

    /// Decides. `None` means uncompressed; otherwise the pair is to be written, with the result of
    /// `compress`.
    ///
    /// `compress` compresses the data, and returns their new size as well; for [`Encode::Auto`], it returns
    /// `None` if a sample shows that they would grow. It is called only if compression may pay at all.
    /// Collective if `compress` is.
    pub fn decide<T>(
        &self,
        compress: impl FnOnce() -> Result<Option<(u64, T)>, Failure>,
    ) -> Result<Option<(CompressedPair, T)>, Failure> {
        // Each element takes a minimum size, whatever its data.
        let least = product(self.count, MIN_ENCODED_BYTES);
        match self.encode {
            Encode::None => return Ok(None),
            Encode::Auto if !least.is_some_and(|bytes| self.is_smaller(bytes)) => return Ok(None),
            Encode::Auto => {}
            Encode::Always => {
                least.and_then(|bytes| self.pair(bytes)).ok_or_else(too_large)?;
            }
        }
        let Some((bytes, compressed)) = compress()? else { return Ok(None) };
        if self.encode == Encode::Auto && !self.is_smaller(bytes) {
            return Ok(None);
        }
        let pair = self.pair(bytes).ok_or_else(too_large)?;
        Ok(Some((pair, compressed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decision for data of `size` bytes per element that become `bytes` bytes, and whether they were
    /// compressed.
    fn decide(
        section: SectionType,
        count: u64,
        size: u64,
        encode: Encode,
        bytes: Option<u64>,
    ) -> (bool, bool) {
        let total = count * size;
        let plain = match section {
            SectionType::Block => SectionLayout::block(128, total),
            SectionType::Array => SectionLayout::array(128, count, size),
            _ => SectionLayout::varray(128, count, total),
        };
        let choice = Choice { section, plain: plain.unwrap(), count, encode };
        let mut tried = false;
        let pair = choice.decide(|| {
            tried = true;
            Ok(bytes.map(|bytes| (bytes, ())))
        });
        (pair.ok().unwrap().is_some(), tried)
    }

    #[test]
    fn a_section_is_compressed_if_the_pair_is_smaller() {
        use SectionType::{Array, Block, Varray};
        // The first section of a pair takes 96 bytes, or 160 and an entry for each element; each element of
        // the varray after it takes an entry. Sections are padded to a multiple of 32 bytes, by at least 7.
        for (section, count, size, most) in
            [(Block, 1, 1024, 921), (Array, 4, 1024, 3897), (Varray, 4, 1024, 3801)]
        {
            assert_eq!(decide(section, count, size, Encode::None, Some(26)), (false, false));
            assert_eq!(decide(section, count, size, Encode::Always, Some(2 * count * size)), (true, true));
            assert_eq!(decide(section, count, size, Encode::Auto, None), (false, true), "a sample tells");
            assert_eq!(decide(section, count, size, Encode::Auto, Some(most)), (true, true));
            assert_eq!(decide(section, count, size, Encode::Auto, Some(most + 1)), (false, true));
            assert_eq!(decide(section, count, 20, Encode::Auto, Some(0)), (false, false), "nothing to gain");
        }
    }

    #[test]
    fn a_pair_that_exceeds_63_bits_is_an_error_only_if_it_must_be_written() {
        let count = 1 << 58;
        let plain = SectionLayout::array(128, count, 30).unwrap();
        let choice = |encode| Choice { section: SectionType::Array, plain, count, encode };
        let no_data = || -> Result<Option<(u64, ())>, Failure> { unreachable!("nothing to compress") };
        assert!(choice(Encode::Auto).decide(no_data).is_ok_and(|pair| pair.is_none()));
        assert!(choice(Encode::Always).decide(no_data).is_err());
    }
}
