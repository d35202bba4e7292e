//! An encoder that chooses a method for each element: one of two that find repetitions, by the element's length, or
//! one that only counts bytes.

use super::block::Blocks;
use super::huffman::BitWriter;
use super::matches::Matcher;
use super::probe::repetitions_pay;
use crate::error::Result;
use crate::memory::make;
use libdeflater::{CompressionError, CompressionLvl, Compressor, adler32};

/// Up to this length, clearing libdeflate's tables costs more than its speed saves.
const SHORT_BYTES: usize = 16384;
/// The bytes of a block whose bytes are only counted.
const BLOCK_BYTES: usize = 1 << 15;

/// An encoder of one level. Its output depends on the level and the data alone.
pub struct Adaptive {
    level: u32,
    libdeflate: Compressor,
    matcher: Matcher,
    blocks: Blocks,
}

impl Adaptive {
    /// # Errors
    /// `Memory`.
    pub fn new(level: u32) -> Result<Self> {
        let known = i32::try_from(level).ok().and_then(|level| CompressionLvl::new(level).ok());
        Ok(Self {
            level,
            libdeflate: make("libdeflate's compressor", || Compressor::new(known.unwrap_or_default()))?,
            matcher: Matcher::new(level)?,
            blocks: Blocks::new(),
        })
    }

    /// The room that [`Self::compress`] needs for `n` bytes.
    pub fn bound(&mut self, n: usize) -> usize {
        // A block is never longer than when it is stored.
        let stored = 2 + n + 6 * (n / BLOCK_BYTES + 1) + 4 + BitWriter::SLACK;
        stored.max(self.libdeflate.zlib_compress_bound(n))
    }

    /// Writes the zlib stream of `data` to the start of `out`; returns its length.
    pub fn compress(&mut self, data: &[u8], out: &mut [u8]) -> std::result::Result<usize, CompressionError> {
        let is_short = data.len() <= SHORT_BYTES;
        if self.level == 0 || !is_short && repetitions_pay(data, &mut self.matcher) {
            return self.libdeflate.zlib_compress(data, out);
        }
        // The header: a window of 32 KiB and the class of the level; divisible by 31, as RFC 1950 wants.
        out[..2].copy_from_slice(&match self.level {
            0..=1 => [0x78, 0x01],
            2..=5 => [0x78, 0x5e],
            6 => [0x78, 0x9c],
            _ => [0x78, 0xda],
        });
        let mut writer = BitWriter::new(out, 2);
        if is_short {
            self.blocks.write_tokens(data, self.matcher.tokens(data), true, &mut writer);
        } else {
            let mut rest = data;
            while let Some((block, others)) =
                rest.split_at_checked(BLOCK_BYTES).filter(|(_, o)| !o.is_empty())
            {
                self.blocks.write_literals(block, false, &mut writer);
                rest = others;
            }
            self.blocks.write_literals(rest, true, &mut writer);
        }
        writer.align();
        writer.bytes(&adler32(data).to_be_bytes());
        Ok(writer.length())
    }
}
