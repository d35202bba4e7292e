//! An encoder that chooses a method for each element: by its length, one of two that search for repetitions,
//! or one that only counts bytes. In shuffled numbers, each byte plane is judged by itself: the low-order
//! planes are mostly noise, where a search finds nothing.

use super::block::Blocks;
use super::huffman::BitWriter;
use super::matches::Matcher;
use super::probe::{pays, repetitions_pay};
use super::{MOST_SHORTENED, shortest};
use libdeflater::{CompressionError, CompressionLvl, Compressor, adler32};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::make;

/// Up to this length, clearing libdeflate's tables costs more than its speed saves.
const SHORT_BYTES: usize = 256;
/// Up to this length, testing whether repetitions pay takes longer than looking for them.
const PROBED_BYTES: usize = 16384;
/// The size of a block whose bytes are only counted.
const BLOCK_BYTES: usize = 1 << 15;

/// Up to this length, planes are also compressed one by one if repetitions pay.
const SHORT_PLANES: usize = 4096;
/// Shorter planes are not worth blocks of their own.
const MIN_PLANE_BYTES: usize = 1 << 10;

fn libdeflate(level: i32) -> Result<Compressor> {
    let known = CompressionLvl::new(level).unwrap_or_default();
    make("libdeflate's compressor", || Compressor::new(known))
}

#[cold]
fn failed(error: CompressionError) -> Error {
    Error::new(ErrorKind::Internal, format!("compressing: {error}"))
}

/// The levels of libdeflate for planes, by level, including those that [`shortest`] also tries.
const LEVELS_OF_PLANES: [&[i32]; 10] =
    [&[0], &[1], &[2, 1], &[3, 2, 1], &[4, 2, 1], &[5, 2], &[6, 5], &[7, 5], &[8, 5], &[9, 5]];
/// From this level on, the other ways are always tried.
const SLOW_LEVEL: u32 = 8;

/// An encoder of one level. Its output depends only on the level and the data.
pub struct AdaptiveEncoder {
    level: u32,
    libdeflate: Compressor,
    /// For planes; created when needed.
    of_planes: Vec<Compressor>,
    matcher: Matcher,
    blocks: Blocks,
}

impl AdaptiveEncoder {
    /// # Errors
    /// `Memory`.
    pub fn new(level: u32) -> Result<Self> {
        Ok(Self {
            level,
            libdeflate: libdeflate(level.cast_signed())?,
            of_planes: Vec::new(),
            matcher: Matcher::new(level)?,
            blocks: Blocks::new(),
        })
    }

    /// The size of the buffer that [`Self::compress`] needs for `n` bytes in `planes` planes.
    pub fn bound(&mut self, n: usize, planes: usize) -> usize {
        // A block is never longer than a stored one.
        let stored = 2 + n + 6 * (n / BLOCK_BYTES + 1) + 4 + BitWriter::SLACK;
        let libdeflate = self.libdeflate.zlib_compress_bound(n);
        match planes {
            0..=1 => stored.max(libdeflate),
            // The blocks of planes, which end early, and what libdeflate adds to the rest.
            _ => stored + 6 * planes.min(n / MIN_PLANE_BYTES) + 5 + (libdeflate - n) + 16,
        }
    }

    /// Writes the zlib stream of `data`, which has `planes` planes of bytes, to the start of `out`; returns its length.
    pub fn compress(&mut self, data: &[u8], planes: usize, out: &mut [u8]) -> Result<usize> {
        let plane_bytes = data.len() / planes.max(1);
        if self.level > 0 && planes > 1 && plane_bytes >= MIN_PLANE_BYTES {
            return self.compress_planes(data, planes, out);
        }
        let is_short = data.len() <= SHORT_BYTES;
        let mut has_repetitions = || data.len() <= PROBED_BYTES || repetitions_pay(data, &mut self.matcher);
        if self.level == 0 || !is_short && has_repetitions() {
            return self.libdeflate.zlib_compress(data, out).map_err(failed);
        }
        out[..2].copy_from_slice(&self.header());
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

    /// Like [`Self::compress`], for long planes. Up to the first plane in which repetitions pay, each is
    /// written in blocks of its own: as one repeated byte, or without repetitions. The rest is left to
    /// libdeflate, unless it is too short for that.
    fn compress_planes(&mut self, data: &[u8], planes: usize, out: &mut [u8]) -> Result<usize> {
        let plane_bytes = data.len() / planes;
        if self.of_planes.is_empty() {
            let levels = LEVELS_OF_PLANES.get(self.level as usize).copied().unwrap_or_default();
            self.of_planes = levels.iter().map(|level| libdeflate(*level)).collect::<Result<_>>()?;
        }
        out[..2].copy_from_slice(&self.header());
        let mut writer = BitWriter::new(out, 2);
        // The bytes after the last plane belong to it.
        let at = |plane: usize| if plane == planes { data.len() } else { plane * plane_bytes };
        let (blocks, matcher) = (&mut self.blocks, &mut self.matcher);
        let mut done = 0;
        for plane in 0..planes {
            let bytes = &data[at(plane)..at(plane + 1)];
            let is_constant = bytes[1..] == bytes[..bytes.len() - 1];
            if !is_constant && bytes.chunks(BLOCK_BYTES).any(|block| pays(block, matcher)) {
                break;
            }
            done = at(plane + 1);
            for block in bytes.chunks(BLOCK_BYTES) {
                if is_constant {
                    blocks.write_tokens(block, matcher.tokens(block), false, &mut writer);
                } else {
                    blocks.write_literals(block, false, &mut writer);
                }
            }
        }
        let rest = &data[done..];
        let length = if rest.len() <= SHORT_PLANES {
            for block in rest.chunks(plane_bytes.min(BLOCK_BYTES)) {
                blocks.write_tokens(block, matcher.tokens(block), false, &mut writer);
            }
            writer.end_of_stream();
            writer.length()
        } else {
            writer.end_of_part();
            let start = writer.length();
            let ways = &mut self.of_planes;
            // The slowest levels find distant repetitions, which may cost more bytes than a quick search
            // would.
            let enough = if self.level >= SLOW_LEVEL { usize::MAX } else { rest.len() / MOST_SHORTENED };
            start
                + shortest(ways.len(), enough, &mut out[start..], |way, out| {
                    ways[way].deflate_compress(rest, out).map_err(failed)
                })?
        };
        out[length..length + 4].copy_from_slice(&adler32(data).to_be_bytes());
        Ok(length + 4)
    }

    /// The header of the stream: a window of 32 KiB and the class of the level, divisible by 31 as RFC 1950
    /// requires.
    fn header(&self) -> [u8; 2] {
        match self.level {
            0..=1 => [0x78, 0x01],
            2..=5 => [0x78, 0x5e],
            6 => [0x78, 0x9c],
            _ => [0x78, 0xda],
        }
    }
}
