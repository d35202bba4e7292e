//! Blosc 1 frames: bytes that are shuffled and compressed, block by block. We write a single block of one
//! stream, so the bytes do not depend on the number of threads, and read frames of other writers with all
//! their options.
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
use super::shuffle::{shuffle, unshuffle};
use super::{MOST_SHORTENED, shortest};
use super::{bits, blosclz};
use flate2::{Decompress, FlushDecompress, Status};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{grow, make, renew, reserve};
use scda_base::numbers::to_usize;
use scda_format::dataset::MAX_CHUNK_BYTES;
use scda_format::dataset::codecs::{BloscCompressor, BloscShuffle};
use zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode;
use zstd::zstd_safe::{CCtx, CParameter, DCtx, compress_bound, get_error_name};

/// The bytes of the header.
const HEADER: usize = 16;
/// The bytes before the stream of a frame of one block.
const BEFORE_STREAM: usize = HEADER + 8;
/// The largest block that other readers take.
const MOST_BLOCK_BYTES: usize = (i32::MAX as usize - 4 * 255) / 3;
/// A block is stored as it is unless compression saves at least one byte in this number.
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

/// The levels of zstd that stand for levels 1 to 9, with those that [`shortest`] tries, too.
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

/// How frames are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blosc {
    /// [`BloscCompressor::Zstd`] or [`BloscCompressor::Lz4`].
    pub compressor: BloscCompressor,
    /// 0 to 9; 0 stores.
    pub level: u32,
    /// [`BloscShuffle::None`] or [`BloscShuffle::Bytes`].
    pub shuffle: BloscShuffle,
    /// The bytes of an item, 1 to 255.
    pub item_bytes: u8,
}

enum Compressor {
    StoredDataset,
    Zstd(CCtx<'static>, &'static [i32]),
    Lz4(Box<Lz4>),
}

/// What zstd returns where it cannot allocate.
const NO_MEMORY: usize = (ZSTD_ErrorCode::ZSTD_error_memory_allocation as usize).wrapping_neg();

#[cold]
fn no_memory() -> Error {
    Error::new(ErrorKind::Memory, "cannot allocate zstd's state")
}

#[cold]
fn failed(code: usize) -> Error {
    if code == NO_MEMORY {
        return no_memory();
    }
    Error::new(ErrorKind::Internal, format!("compressing: {}", get_error_name(code)))
}

/// Makes frames one after the other, with memory that is used again.
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
            (0, _) => Compressor::StoredDataset,
            (level, BloscCompressor::Zstd) => {
                let levels = ZSTD_LEVELS.get(to_usize(u64::from(level)) - 1).copied();
                let levels = levels.ok_or_else(|| {
                    Error::argument(format!("level: found {}, expected 0 to 9", made.level))
                })?;
                let mut context = CCtx::try_create().ok_or_else(no_memory)?;
                // The checksum is of what was compressed, and every reader of frames compares it.
                context.set_parameter(CParameter::ChecksumFlag(true)).map_err(failed)?;
                Compressor::Zstd(context, levels)
            }
            (level, BloscCompressor::Lz4) => Compressor::Lz4(Box::new(Lz4::new(level)?)),
            (_, other) => return Err(Error::argument(format!("frames with {other:?} are only read"))),
        };
        Ok(Self { made, compressor, shuffled: Vec::new(), stream: Vec::new() })
    }

    /// Appends the frame of `data` to `out`, and returns how many bytes that was.
    ///
    /// # Errors
    /// `Memory`; `Range` for more than 2 GiB less 32 bytes.
    pub fn encode(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<usize> {
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

    /// Compresses into the memory for the stream, and returns its length; `None`: it saves too little.
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
            && !matches!(self.compressor, Compressor::StoredDataset)
        {
            grow(&mut self.shuffled, n)?;
            shuffle(data, item_bytes, &mut self.shuffled[..n]);
            bytes = &self.shuffled[..n];
        }
        let length = match &mut self.compressor {
            Compressor::StoredDataset => return Ok(None),
            Compressor::Zstd(context, levels) => {
                // With less room zstd takes slower ways.
                grow(&mut self.stream, compress_bound(n))?;
                shortest(levels.len(), n / MOST_SHORTENED, &mut self.stream[..], |way, stream| {
                    context.set_parameter(CParameter::CompressionLevel(levels[way])).map_err(failed)?;
                    context.compress2(stream, bytes).map_err(failed)
                })?
            }
            Compressor::Lz4(encoder) => encoder.encode(bytes, &mut self.stream)?,
        };
        Ok((length <= most).then_some(length))
    }
}

/// Reads frames, with memory that is used again.
#[derive(Default)]
pub struct BloscDecoder {
    zstd: Option<DCtx<'static>>,
    zlib: Option<Decompress>,
    block: Vec<u8>,
}

/// The header of a frame, compared with its length.
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

    /// How many streams a block of `block` bytes has.
    fn streams(&self, block: usize) -> usize {
        let splits = !self.flags.has(Flags::NOT_SPLIT)
            && self.item_bytes <= MOST_SPLITS
            && self.block_bytes / self.item_bytes >= LEAST_SPLIT_BYTES
            && block == self.block_bytes;
        if splits { self.item_bytes } else { 1 }
    }
}

/// Whether `n` bytes can come out of `encoded` bytes, in a frame of Zstandard or of Blosc, of whose compressors it makes most of a byte:
/// a block of 4 bytes says of 128 KiB that they are equal.
#[must_use]
pub fn can_expand_by_zstd(encoded: u64, n: u64) -> bool {
    n >> 15 <= encoded
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*word))
}

impl BloscDecoder {
    /// How many bytes of data a frame says that it has. The error is what was found instead.
    pub fn data_bytes(frame: &[u8]) -> Result<u64, String> {
        let bytes = Header::parse(frame)?.bytes as u64;
        if bytes > MAX_CHUNK_BYTES || !can_expand_by_zstd(frame.len() as u64, bytes) {
            return Err(format!("found {bytes} bytes of data in a frame of {}", frame.len()));
        }
        Ok(bytes)
    }

    /// Fills `out` with the data of a frame. The inner error is what was found instead.
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
        // A block of split streams has a whole number of items.
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

/// Fills `out` with the data of a Zstandard frame. The inner error is what was found instead.
///
/// # Errors
/// `Memory`.
pub fn zstd_frame(
    context: &mut Option<DCtx<'static>>,
    frame: &[u8],
    out: &mut [u8],
) -> Result<Result<(), String>> {
    let context = match context {
        Some(context) => context,
        none => none.insert(DCtx::try_create().ok_or_else(no_memory)?),
    };
    Ok(match context.decompress(&mut *out, frame) {
        Ok(length) if length == out.len() => Ok(()),
        Ok(length) => Err(format!("zstd: found {length} bytes, expected {}", out.len())),
        Err(NO_MEMORY) => return Err(no_memory()),
        Err(code) => Err(format!("zstd: {}", get_error_name(code))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As `data` in tests/vectors/blosc/make.py.
    fn data(n: usize, seed: u32) -> Vec<u8> {
        let (mut out, mut state) = (Vec::new(), seed);
        let next = |state: &mut u32| {
            *state = state.wrapping_mul(1_103_515_245).wrapping_add(12345) % (1 << 31);
            *state as usize
        };
        while out.len() < n {
            let drawn = next(&mut state);
            let (kind, run) = (drawn >> 28, (drawn >> 16) % 97);
            if kind < 3 || out.is_empty() {
                out.extend(std::iter::repeat_n((drawn >> 8) as u8, run + 1));
            } else if kind < 7 {
                let from = out.len() - (drawn >> 4) % out.len() - 1;
                out.extend_from_within(from..(from + run).min(out.len()));
            } else {
                (0..run).for_each(|_| out.push((next(&mut state) >> 16) as u8));
            }
        }
        out.truncate(n);
        out
    }

    #[test]
    fn frames_of_the_c_library_are_read() {
        let folder = std::env::var("SCDA_FRAMES").unwrap_or("../../tests/vectors/blosc".into());
        let all = std::fs::read(format!("{folder}/frames.bin")).unwrap();
        let (mut rest, mut read) = (&all[..], 0);
        let mut decoder = BloscDecoder::default();
        while !rest.is_empty() {
            let [n, length, seed] = [0, 4, 8].map(|at| word(rest, at).unwrap());
            let (frame, after) = rest[12..].split_at(length as usize);
            let mut out = vec![0; n as usize];
            decoder.decode(frame, &mut out).unwrap().unwrap_or_else(|what| panic!("{seed}: {what}"));
            assert!(out == data(n as usize, seed), "{seed}: {n} bytes, {:?}", &frame[..16]);
            (rest, read) = (after, read + 1);
        }
        assert!(read >= 100, "{read} frames");
    }

    fn encoder(compressor: BloscCompressor, level: u32, item_bytes: u8) -> BloscEncoder {
        let shuffle = if item_bytes > 1 { BloscShuffle::Bytes } else { BloscShuffle::None };
        BloscEncoder::new(Blosc { compressor, level, shuffle, item_bytes }).unwrap()
    }

    #[test]
    fn what_cannot_be_made_is_told() {
        let told = |compressor, level| {
            let made = Blosc { compressor, level, shuffle: BloscShuffle::None, item_bytes: 1 };
            let error = BloscEncoder::new(made).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Argument);
            error.to_string()
        };
        assert_eq!(told(BloscCompressor::Zstd, 10), "level: found 10, expected 0 to 9");
        assert_eq!(told(BloscCompressor::Snappy, 1), "frames with Snappy are only read");
        assert_eq!(failed(NO_MEMORY).kind(), ErrorKind::Memory);
        let any = failed((ZSTD_ErrorCode::ZSTD_error_GENERIC as usize).wrapping_neg());
        assert!(any.kind() == ErrorKind::Internal && any.to_string().starts_with("compressing: "), "{any}");
    }

    #[test]
    fn a_frame_is_stored_unless_it_saves_a_128th() {
        let (n, noise) = (4096, data(20_000, 7));
        let mut stored = Vec::new();
        for zeros in 0..80 {
            // All but some bytes are noise.
            let noise: Vec<u8> =
                noise.iter().zip(0..n - zeros).map(|(a, i)| a ^ ((i * i) >> 4) as u8).collect();
            let chunk = [noise, vec![0; zeros]].concat();
            let (mut frame, mut stream) = (Vec::new(), Vec::new());
            let compressed = Lz4::new(1).unwrap().encode(&chunk, &mut stream).unwrap();
            let length = encoder(BloscCompressor::Lz4, 1, 1).encode(&chunk, &mut frame).unwrap();
            let saves = BEFORE_STREAM + compressed < HEADER + n - n / LEAST_GAIN;
            assert_eq!(Flags(frame[2]).has(Flags::STORED), !saves, "{zeros} {compressed}");
            assert_eq!(length, if saves { BEFORE_STREAM + compressed } else { HEADER + n });
            stored.push(!saves);
        }
        assert!(stored.is_sorted_by(|a, b| a >= b) && stored[0] && !stored[79]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn frames_come_back(
            n in 0..20_000_usize, seed: u32, lz4: bool, level in 0..=9_u32, item_bytes in 1..20_u8, shuffles: bool,
            change: prop::sample::Index, bit in 0..8_u8,
        ) {
            let compressor = if lz4 { BloscCompressor::Lz4 } else { BloscCompressor::Zstd };
            let shuffle = if shuffles { BloscShuffle::Bytes } else { BloscShuffle::None };
            let mut encoder = BloscEncoder::new(Blosc { compressor, level, shuffle, item_bytes }).unwrap();
            let data = data(n, seed);
            let mut frame = b"before".to_vec();
            let length = encoder.encode(&data, &mut frame).unwrap();
            prop_assert_eq!(frame.len(), 6 + length);
            let mut out = vec![1; n];
            let mut decoder = BloscDecoder::default();
            decoder.decode(&frame[6..], &mut out).unwrap().unwrap();
            prop_assert!(out == data);
            prop_assert!(length <= n + HEADER);
            // Damage is an error, or other data; never more.
            let at = 6 + change.index(length);
            frame[at] ^= 1_u8 << bit;
            let _ = decoder.decode(&frame[6..], &mut out).unwrap();
        }
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        let mut frame = Vec::new();
        encoder(BloscCompressor::Zstd, 1, 4).encode(&data(1000, 1), &mut frame).unwrap();
        let mut decoder = BloscDecoder::default();
        let mut told = |change: fn(&mut Vec<u8>), expected: &str| {
            let mut frame = frame.clone();
            change(&mut frame);
            let found = decoder.decode(&frame, &mut [0; 1000]).unwrap().unwrap_err();
            assert!(found.contains(expected), "{found}");
        };
        told(|frame| frame.truncate(15), "expected a header of 16");
        told(|frame| _ = frame.pop(), "of its header");
        told(|frame| frame[0] = 5, "version 5");
        told(|frame| frame[2] |= 5, "Blosc 2");
        told(|frame| frame[3] = 0, "items of 0");
        told(|frame| frame[5] = 11, "found 3048 bytes of data, expected 1000");
        told(|frame| frame[8..12].fill(0), "blocks of 0");
        told(|frame| frame[2] = frame[2] & 31 | 5 << 5, "the compressor 5");
        told(|frame| frame[16] = 255, "no stream at byte");
        told(|frame| frame[19] = 255, "no stream at byte");
        told(|frame| frame[23] = 127, "no stream at byte");
        told(|frame| frame[24] = 0, "zstd: ");
    }

    /// A frame of `bytes` bytes of data, in one block, with these bytes after its header.
    fn frame(flags: u8, item_bytes: u8, bytes: usize, rest: &[u8]) -> Vec<u8> {
        let mut frame = vec![2, 1, flags, item_bytes];
        for word in [bytes, bytes, HEADER + rest.len()] {
            frame.extend_from_slice(&(word as u32).to_le_bytes());
        }
        [&frame, rest].concat()
    }

    #[test]
    fn streams_that_are_not_those_of_their_blocks_are_told() {
        // After the place of the only block, and the length of its stream.
        let block = |stream: &[u8]| {
            let words = [HEADER + 4, stream.len()].map(|word| (word as u32).to_le_bytes());
            [words.as_flattened(), stream].concat()
        };
        let zlib = || {
            let mut out = Vec::with_capacity(900);
            let mut zlib = flate2::Compress::new(flate2::Compression::new(6), true);
            zlib.compress_vec(&data(400, 1), &mut out, flate2::FlushCompress::Finish).unwrap();
            out
        };
        let zstd = zstd::bulk::compress(&data(399, 1), 1).unwrap();
        let format = |format: u8| format << Flags::FORMAT | Flags::NOT_SPLIT;
        let mut decoder = BloscDecoder::default();
        let mut told = |frame: Vec<u8>| decoder.decode(&frame, &mut [0; 400]).unwrap();
        assert_eq!(told(frame(format(Flags::ZLIB), 1, 400, &block(&zlib()))), Ok(()));
        for (frame, expected) in [
            (frame(Flags::STORED, 1, 400, &[0; 399]), "found 399 stored bytes, expected 400"),
            (frame(0, 3, 400, &block(&[0; 9])), "block 0: found 3 streams for 400 bytes"),
            (frame(0, 1, 400, &block(&[])), "block 0: found 0 bytes in a stream, expected 400"),
            (frame(format(Flags::ZLIB), 1, 400, &block(&zlib()[..40])), "zlib: the stream does not end"),
            (frame(format(Flags::ZLIB), 1, 400, &block(&[0; 40])), "zlib: "),
            (frame(format(Flags::ZSTD), 1, 400, &block(&zstd)), "zstd: found 399 bytes, expected 400"),
            (frame(0, 1, 400, &[1, 2, 3]), "block 0: its offset is missing"),
        ] {
            let found = told(frame).unwrap_err();
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn a_frame_has_no_more_data_than_its_bytes_can_have() {
        let told = |bytes: usize, length: usize| {
            BloscDecoder::data_bytes(&frame(0, 1, bytes, &vec![0; length - HEADER]))
        };
        for length in [HEADER, 40_000, 70_000] {
            let most = ((length << 15) | 0x7fff).min(MAX_CHUNK_BYTES as usize);
            assert_eq!(told(0, length), Ok(0));
            assert_eq!(told(1000, length), Ok(1000));
            assert_eq!(told(most, length), Ok(most as u64));
            let found = told(most + 1, length).unwrap_err();
            assert_eq!(found, format!("found {} bytes of data in a frame of {length}", most + 1));
        }
    }
}
