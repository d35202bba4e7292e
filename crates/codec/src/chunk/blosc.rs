//! Blosc 1 frames: bytes that are shuffled and compressed in blocks. The encoder writes a single block with
//! one stream, so that the bytes do not depend on the number of threads. The decoder reads frames of other
//! writers with all their options.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0 | version of the frame: 2 |
//! | 1 | version of the compressor's format: 1 |
//! | 2 | flags: see [`Flags`] |
//! | 3 | bytes of an item |
//! | 4, 8, 12 | bytes of the data, of a block, of the frame: 32 bits, little-endian, as all that follow |
//! | 16 | where each block begins; and then the blocks: for each stream, how many bytes it has, and these |

use super::lz4::{self, Lz4};
use super::zstd::{can_expand_by_zstd, compressing_failed, no_memory, zstd_frame};
use super::{ChunkCodec, ChunkCompressor, DecoderState, EncodeChunk, EncodedChunk, bad};
use super::{bits, blosclz};
use crate::shuffle::{shuffle, unshuffle};
use crate::{MOST_SHORTENED, shortest};
use flate2::{Decompress, FlushDecompress, Status};
use scda_base::error::{Error, Result};
use scda_base::memory::{grow, make, renew, reserve, zeroed};
use scda_base::numbers::to_usize;
use scda_format::dataset::MAX_CHUNK_BYTES;
use scda_format::dataset::codecs::{Blosc, BloscCompressor, BloscShuffle};
use zstd::zstd_safe::{CCtx, CParameter, DCtx, compress_bound};

/// The bytes of the header.
const HEADER: usize = 16;
/// The bytes before the stream of a frame of one block.
const BEFORE_STREAM: usize = HEADER + 8;
/// The largest block that other readers accept.
const MOST_BLOCK_BYTES: usize = (i32::MAX as usize - 4 * 255) / 3;
/// A block is stored unless compression saves at least one byte in this number.
const LEAST_GAIN: usize = 128;
/// Blocks are split into a stream for each byte of an item if these have no more bytes than this, …
const MOST_SPLITS: usize = 16;
/// … and if each stream then has at least this number of bytes.
const LEAST_SPLIT_BYTES: usize = 128;

/// The flags of a frame.
struct Flags(u8);

impl Flags {
    const BYTES_SHUFFLED: u8 = 1;
    const STORED: u8 = 2;
    const BITS_SHUFFLED: u8 = 4;
    const NOT_SPLIT: u8 = 0x10;
    /// The bit at which the format of the compressor begins.
    const FORMAT: u8 = 5;
    const LZ4: u8 = 1;
    const SNAPPY: u8 = 2;
    const ZLIB: u8 = 3;
    const ZSTD: u8 = 4;

    fn has(&self, flag: u8) -> bool {
        self.0 & flag != 0
    }
}

/// The levels of zstd for levels 1 to 9, including those that [`shortest`] also tries.
const ZSTD_LEVELS: [&[i32]; 9] = [
    &[1],
    &[2, 1],
    &[3, 2, 1],
    &[3, 2, 1],
    &[7, 2, 1],
    &[7, 2, 1],
    &[13, 7, 2, 1],
    &[16, 7, 2, 1],
    &[19, 7, 2, 1],
];

enum Compressor {
    Stored,
    Zstd(CCtx<'static>, &'static [i32]),
    Lz4(Box<Lz4>),
}

/// Makes frames, reusing its memory.
pub struct BloscEncoder {
    made: Blosc,
    compressor: Compressor,
    shuffled: Vec<u8>,
    stream: Vec<u8>,
}

impl BloscEncoder {
    /// # Errors
    /// `Argument` for another compressor or level; `Memory`.
    pub fn new(made: Blosc) -> Result<Self> {
        let compressor = match (made.level, made.compressor) {
            (0, _) => Compressor::Stored,
            (level, BloscCompressor::Zstd) => {
                let levels = ZSTD_LEVELS.get(to_usize(u64::from(level)) - 1).copied();
                let levels = levels.ok_or_else(|| {
                    Error::argument(format!("level: found {}, expected 0 to 9", made.level))
                })?;
                let mut context = CCtx::try_create().ok_or_else(no_memory)?;
                // The checksum covers the compressed data, and every reader of frames verifies it.
                context.set_parameter(CParameter::ChecksumFlag(true)).map_err(compressing_failed)?;
                Compressor::Zstd(context, levels)
            }
            (level, BloscCompressor::Lz4) => Compressor::Lz4(Box::new(Lz4::new(level)?)),
            (_, other) => {
                return Err(Error::argument(format!("frames with {other:?} can be read, but not written")));
            }
        };
        Ok(Self { made, compressor, shuffled: Vec::new(), stream: Vec::new() })
    }

    /// Compresses into `self.stream`, and returns the length; `None` if that saves too little.
    fn compress(&mut self, data: &[u8]) -> Result<Option<usize>> {
        let n = data.len();
        // A stream of more bytes than this is not used.
        let Some(most) = (n - n / LEAST_GAIN).checked_sub(BEFORE_STREAM - HEADER + 1) else {
            return Ok(None);
        };
        let mut bytes = data;
        let item_bytes = usize::from(self.made.item_bytes);
        if self.made.shuffle == BloscShuffle::Bytes
            && item_bytes > 1
            && !matches!(self.compressor, Compressor::Stored)
        {
            grow(&mut self.shuffled, n)?;
            shuffle(data, item_bytes, &mut self.shuffled[..n]);
            bytes = &self.shuffled[..n];
        }
        let length = match &mut self.compressor {
            Compressor::Stored => return Ok(None),
            Compressor::Zstd(context, levels) => {
                // With a smaller buffer, zstd uses slower code.
                grow(&mut self.stream, compress_bound(n))?;
                shortest(levels.len(), n / MOST_SHORTENED, &mut self.stream[..], |way, stream| {
                    context
                        .set_parameter(CParameter::CompressionLevel(levels[way]))
                        .map_err(compressing_failed)?;
                    context.compress2(stream, bytes).map_err(compressing_failed)
                })?
            }
            Compressor::Lz4(encoder) => encoder.encode(bytes, &mut self.stream)?,
        };
        Ok((length <= most).then_some(length))
    }
}

impl EncodeChunk for BloscEncoder {
    fn encode(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        let n = data.len();
        let start = out.len();
        let too_long = |_| Error::range(format!("chunk: found {n} bytes, expected at most 2147483615"));
        i32::try_from(n + HEADER).map_err(too_long)?;
        let length = if n > MOST_BLOCK_BYTES { None } else { self.compress(data)? };
        let shuffles = self.made.shuffle == BloscShuffle::Bytes && self.made.item_bytes > 1;
        let format = if self.made.compressor == BloscCompressor::Lz4 { Flags::LZ4 } else { Flags::ZSTD };
        let flags = (format << Flags::FORMAT)
            | Flags::NOT_SPLIT
            | (u8::from(shuffles) * Flags::BYTES_SHUFFLED)
            | (u8::from(length.is_none()) * Flags::STORED);
        let bytes = match length {
            Some(length) => BEFORE_STREAM + length,
            None => HEADER + n,
        };
        reserve(out, bytes)?;
        out.extend_from_slice(&[2, 1, flags, self.made.item_bytes]);
        let word = |value: usize| (value as u64).to_le_bytes();
        let block = n.min(MOST_BLOCK_BYTES);
        for value in [n, block, bytes] {
            out.extend_from_slice(&word(value)[..4]);
        }
        match length {
            Some(length) => {
                out.extend_from_slice(&word(HEADER + 4)[..4]);
                out.extend_from_slice(&word(length)[..4]);
                out.extend_from_slice(&self.stream[..length]);
            }
            None => out.extend_from_slice(data),
        }
        Ok(out.len() - start)
    }
}

impl ChunkCompressor for Blosc {
    fn encoder(&self, _: &ChunkCodec) -> Result<Box<dyn EncodeChunk>> {
        Ok(Box::new(BloscEncoder::new(*self)?))
    }

    /// Of Blosc's compressors, zstd has the highest ratio.
    fn can_expand(&self, encoded: u64, n: u64) -> bool {
        can_expand_by_zstd(encoded, n)
    }

    fn decode(&self, chunk: EncodedChunk<'_>, state: &mut DecoderState, out: &mut [u8]) -> Result<()> {
        state.blosc.decode(chunk.bytes, out)?.map_err(bad_frame)
    }

    fn decode_any(&self, chunk: &[u8], state: &mut DecoderState) -> Result<Vec<u8>> {
        let length = BloscDecoder::data_bytes(chunk).map_err(bad_frame)?;
        // A false length costs nothing, because pages without data are never used.
        let mut out = zeroed(to_usize(length))?;
        state.blosc.decode(chunk, &mut out)?.map_err(bad_frame)?;
        Ok(out)
    }
}

fn bad_frame(what: String) -> Error {
    bad(format!("Blosc frame: {what}"))
}

/// Reads frames, reusing its memory.
#[derive(Default)]
pub struct BloscDecoder {
    zstd: Option<DCtx<'static>>,
    zlib: Option<Decompress>,
    block: Vec<u8>,
}

/// The header of a frame, after comparing it with the frame's length.
struct Header {
    flags: Flags,
    item_bytes: usize,
    bytes: usize,
    block_bytes: usize,
}

impl Header {
    fn parse(frame: &[u8]) -> Result<Self, String> {
        let Some((header, _)) = frame.split_first_chunk::<HEADER>() else {
            return Err(format!("found {} bytes, expected a header of {HEADER}", frame.len()));
        };
        let word = |at: usize| to_usize(u64::from(word(header, at).unwrap_or(0)));
        let [version, _, flags, item_bytes, ..] = *header;
        let flags = Flags(flags);
        if version == 0 || version > 2 {
            return Err(format!("found version {version}, expected 1 or 2"));
        }
        if flags.has(Flags::BYTES_SHUFFLED) && flags.has(Flags::BITS_SHUFFLED) {
            return Err("found a header of Blosc 2, which this library cannot read".into());
        }
        let found = Self { flags, item_bytes: usize::from(item_bytes), bytes: word(4), block_bytes: word(8) };
        if word(12) != frame.len() {
            return Err(format!("found {} bytes, expected the {} of its header", frame.len(), word(12)));
        }
        let blocks_are_right = found.bytes == 0 || (1..=found.bytes).contains(&found.block_bytes);
        if item_bytes == 0 || !blocks_are_right {
            return Err(format!(
                "found items of {item_bytes} and blocks of {} bytes for {} bytes of data",
                found.block_bytes, found.bytes
            ));
        }
        Ok(found)
    }

    /// The number of streams in a block of `block` bytes.
    fn streams(&self, block: usize) -> usize {
        let splits = !self.flags.has(Flags::NOT_SPLIT)
            && self.item_bytes <= MOST_SPLITS
            && self.block_bytes / self.item_bytes >= LEAST_SPLIT_BYTES
            && block == self.block_bytes;
        if splits { self.item_bytes } else { 1 }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*word))
}

impl BloscDecoder {
    /// The size of the data according to a frame. The error is what was found instead.
    pub fn data_bytes(frame: &[u8]) -> Result<u64, String> {
        let bytes = Header::parse(frame)?.bytes as u64;
        if bytes > MAX_CHUNK_BYTES || !can_expand_by_zstd(frame.len() as u64, bytes) {
            return Err(format!("found {bytes} bytes of data in a frame of {}", frame.len()));
        }
        Ok(bytes)
    }

    /// Decodes a frame into `out`. The inner error is what was found instead.
    ///
    /// # Errors
    /// `Memory`.
    pub fn decode(&mut self, frame: &[u8], out: &mut [u8]) -> Result<Result<(), String>> {
        let header = match Header::parse(frame) {
            Ok(header) if header.bytes == out.len() => header,
            Ok(header) => {
                return Ok(Err(format!("found {} bytes of data, expected {}", header.bytes, out.len())));
            }
            Err(what) => return Ok(Err(what)),
        };
        if header.flags.has(Flags::STORED) {
            let stored = &frame[HEADER..];
            if stored.len() != out.len() {
                return Ok(Err(format!("found {} stored bytes, expected {}", stored.len(), out.len())));
            }
            out.copy_from_slice(stored);
            return Ok(Ok(()));
        }
        for (number, block) in out.chunks_mut(header.block_bytes.max(1)).enumerate() {
            if let Err(what) = self.block(frame, &header, number, block)? {
                return Ok(Err(format!("block {number}: {what}")));
            }
        }
        Ok(Ok(()))
    }

    fn block(
        &mut self,
        frame: &[u8],
        header: &Header,
        number: usize,
        out: &mut [u8],
    ) -> Result<Result<(), String>> {
        let Some(start) = word(frame, HEADER + 4 * number) else {
            return Ok(Err("its offset is missing".into()));
        };
        let mut at = to_usize(u64::from(start));
        let n = out.len();
        let (item, flags) = (header.item_bytes, &header.flags);
        let is_shuffled = flags.has(Flags::BYTES_SHUFFLED) && item > 1 || flags.has(Flags::BITS_SHUFFLED);
        let mut taken = std::mem::take(&mut self.block);
        if is_shuffled {
            renew(&mut taken, n)?;
        }
        let (format, streams) = (flags.0 >> Flags::FORMAT, header.streams(n));
        // Split streams are possible only for a whole number of items.
        let stream_bytes = if n.is_multiple_of(streams) { n / streams } else { 0 };
        let to = if is_shuffled { &mut taken[..n] } else { &mut *out };
        for part in to.chunks_mut(stream_bytes.max(1)) {
            let length = word(frame, at).map_or(usize::MAX, |length| to_usize(u64::from(length)));
            let Some(stream) = frame.get(at.saturating_add(4)..).and_then(|rest| rest.get(..length)) else {
                return Ok(Err(format!("no stream at byte {at} of {}", frame.len())));
            };
            at += 4 + length;
            if stream_bytes == 0 {
                return Ok(Err(format!("found {streams} streams for {n} bytes")));
            }
            if length == part.len() {
                part.copy_from_slice(stream);
            } else if let Err(what) = self.stream(format, stream, part)? {
                return Ok(Err(what));
            }
        }
        if flags.has(Flags::BITS_SHUFFLED) && is_shuffled {
            bits::unshuffle(&taken[..n], item, out);
        } else if is_shuffled {
            unshuffle(&taken[..n], item, out);
        }
        self.block = taken;
        Ok(Ok(()))
    }

    /// Decompresses one stream.
    fn stream(&mut self, format: u8, stream: &[u8], out: &mut [u8]) -> Result<Result<(), String>> {
        let n = out.len();
        let found = match format {
            0 => blosclz::decode(stream, out),
            Flags::LZ4 => lz4::decode(stream, out),
            Flags::SNAPPY => {
                let length = snap::raw::decompress_len(stream);
                match length {
                    Ok(length) if length == n => snap::raw::Decoder::new().decompress(stream, out),
                    other => other,
                }
                .map_err(|error| format!("Snappy: {error}"))
            }
            Flags::ZLIB => {
                let zlib = match &mut self.zlib {
                    Some(zlib) => zlib,
                    none => none.insert(make("zlib's decompressor", || Decompress::new(true))?),
                };
                zlib.reset(true);
                match zlib.decompress(stream, out, FlushDecompress::Finish) {
                    Ok(Status::StreamEnd) => Ok(to_usize(zlib.total_out())),
                    Ok(_) => Err("zlib: the stream does not end".into()),
                    Err(error) => Err(format!("zlib: {error}")),
                }
            }
            Flags::ZSTD => return zstd_frame(&mut self.zstd, stream, out),
            other => Err(format!("found the compressor {other}, which this library cannot read")),
        };
        Ok(found.and_then(|length| {
            if length == n { Ok(()) } else { Err(format!("found {length} bytes in a stream, expected {n}")) }
        }))
    }
}

#[cfg(test)]
mod tests;
