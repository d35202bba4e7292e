//! Encodes and decodes one chunk of a dataset by its codecs. Each compressor has a module, with an `impl
//! ChunkCompressor`.

mod bits;
pub(super) mod blosc;
pub(super) mod blosclz;
mod lz4;
mod pcodec;
mod zlib;
pub(super) mod zstd;

use super::deflate::Encoder;
use super::element::{ElementEncoder, max_encoded_bytes};
use super::inflate::{Inflater, ZEROS};
use super::rounding::ItemRounder;
use super::shuffle::{shuffle, unshuffle};
use ::zstd::zstd_safe::DCtx;
use blosc::BloscDecoder;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{copy, grow, renew, reserve, resize};
use scda_base::numbers::to_usize;
use scda_format::crc::crc32c;
use scda_format::dataset::codecs::{Codecs, Compressor};
use scda_format::dataset::{DataType, Dataset, MAX_CHUNK_BYTES};
use scda_format::padding::LineBreak;
use std::io::Read;

/// How a compressor encodes and decodes chunks.
trait ChunkCompressor {
    /// An encoder for a codec that has this compressor.
    ///
    /// # Errors
    /// `Argument` for a level that does not exist, or if this library only decodes; `Memory`.
    fn encoder(&self, codec: &ChunkCodec) -> Result<Box<dyn EncodeChunk>>;

    /// Whether `encoded` bytes can decode to `n` bytes. Detects a false size before memory is allocated for
    /// it.
    fn can_expand(&self, encoded: u64, n: u64) -> bool;

    /// Decodes a chunk into `out`, whose length it must have.
    ///
    /// # Errors
    /// `Decode` if it has not, or is damaged; `Memory`.
    fn decode(&self, chunk: EncodedChunk<'_>, state: &mut DecoderState, out: &mut [u8]) -> Result<()>;

    /// Decodes a chunk of items of variable length, of which nobody knows how many bytes it has.
    ///
    /// # Errors
    /// `Decode` if it is damaged, or larger than a chunk may be; `Memory`.
    fn decode_any(&self, chunk: &[u8], state: &mut DecoderState) -> Result<Vec<u8>>;
}

/// Encodes chunks, reusing its memory.
trait EncodeChunk: Send {
    /// Appends the encoded chunk to `out`, and returns its size.
    ///
    /// # Errors
    /// `Memory`; `Range` if it is too long for the format.
    fn encode(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Result<usize>;
}

impl EncodeChunk for ElementEncoder {
    fn encode(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        Self::encode(self, chunk, out)
    }
}

/// An encoded chunk.
#[derive(Clone, Copy)]
struct EncodedChunk<'a> {
    bytes: &'a [u8],
    /// With [`ZEROS`] zeros after it.
    with_zeros: &'a [u8],
}

/// What decoders keep from chunk to chunk.
struct DecoderState {
    /// See [`Inflater::new`].
    strict: bool,
    inflater: Option<Box<Inflater>>,
    zstd: Option<DCtx<'static>>,
    blosc: BloscDecoder,
}

/// How chunks of this compressor are encoded and decoded.
fn code(compressor: &Compressor) -> &dyn ChunkCompressor {
    match compressor {
        Compressor::Zlib(zlib) => zlib,
        Compressor::Gzip(gzip) => gzip,
        Compressor::Zstd(zstd) => zstd,
        Compressor::Blosc(blosc) => blosc,
        Compressor::Pcodec(pcodec) => pcodec,
    }
}

/// How chunks are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkCodec {
    /// The size of the items that are shuffled first; 1: no shuffle.
    pub item_bytes: usize,
    /// How the bytes are then compressed.
    pub method: Method,
    /// Which library makes zlib streams, alone and in text.
    pub encoder: Encoder,
    /// How the numbers are rounded before anything else, if they are.
    pub rounder: Option<ItemRounder>,
}

/// How the bytes of a chunk are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// As an element of the compression convention, at this level, with this line break.
    Text(u32, LineBreak),
    /// By a compressor.
    Compressor(Compressor),
}

impl ChunkCodec {
    /// The codec of a dataset in chunks. zlib and text chunks without a level of their own use `level`.
    pub fn of(dataset: &Dataset, encoder: Encoder, level: u32, line_break: LineBreak) -> Self {
        let codecs = Codecs::of(dataset, level);
        let text = Method::Text(dataset.level.unwrap_or(level), line_break);
        Self {
            item_bytes: codecs.shuffle.map_or(1, to_usize),
            method: codecs.compressor.map_or(text, Method::Compressor),
            encoder,
            rounder: ItemRounder::of(dataset),
        }
    }

    /// Whether chunks are stored as elements of the compression convention.
    pub fn is_text(self) -> bool {
        matches!(self.method, Method::Text(..))
    }
}

/// Encodes chunks, reusing its state.
pub struct ChunkEncoder {
    codec: ChunkCodec,
    encoder: Box<dyn EncodeChunk>,
    rounded: Vec<u8>,
    shuffled: Vec<u8>,
}

impl ChunkEncoder {
    /// # Errors
    /// `Argument` if the level is not 0 to 9; `Memory`.
    pub fn new(codec: ChunkCodec) -> Result<Self> {
        let encoder = match &codec.method {
            Method::Text(level, style) => {
                let encoder = ElementEncoder::new(codec.encoder, *level, *style)?;
                Box::new(encoder.of_planes(codec.item_bytes))
            }
            Method::Compressor(compressor) => code(compressor).encoder(&codec)?,
        };
        Ok(Self { codec, encoder, rounded: Vec::new(), shuffled: Vec::new() })
    }

    /// The codec.
    pub fn codec(&self) -> ChunkCodec {
        self.codec
    }

    /// Appends the encoded chunk to `out`, and returns its size.
    ///
    /// # Errors
    /// `Memory`.
    pub fn encode(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        let mut data = chunk;
        if let Some(rounder) = self.codec.rounder {
            self.rounded.clear();
            reserve(&mut self.rounded, chunk.len())?;
            self.rounded.extend_from_slice(chunk);
            rounder.round(&mut self.rounded);
            data = &self.rounded;
        }
        if self.codec.item_bytes > 1 {
            grow(&mut self.shuffled, chunk.len())?;
            let shuffled = &mut self.shuffled[..chunk.len()];
            shuffle(data, self.codec.item_bytes, shuffled);
            data = shuffled;
        }
        self.encoder.encode(data, out)
    }
}

/// The size of a CRC.
const CRC_BYTES: usize = 4;

/// Whether a chunk of `chunk_bytes` bytes can have `bytes` encoded bytes.
pub fn can_be_chunk(codecs: &Codecs, bytes: u64, chunk_bytes: u64) -> bool {
    let crc = if codecs.crc32c { CRC_BYTES } else { 0 };
    let Some(without) = bytes.checked_sub(crc as u64) else { return false };
    match &codecs.compressor {
        None => without == chunk_bytes,
        // Other writers may compress in blocks of any size, and add a few bytes to data that cannot be
        // compressed.
        Some(compressor) => {
            without <= max_encoded_bytes(chunk_bytes) && code(compressor).can_expand(without, chunk_bytes)
        }
    }
}

/// Decodes chunks, reusing its memory.
pub struct ChunkDecoder {
    state: DecoderState,
    /// The encoded chunk, with zeros after it.
    stream: Vec<u8>,
    shuffled: Vec<u8>,
}

impl ChunkDecoder {
    /// `strict`: see `Inflater::new`.
    pub fn new(strict: bool) -> Self {
        let state = DecoderState { strict, inflater: None, zstd: None, blosc: BloscDecoder::default() };
        Self { state, stream: Vec::new(), shuffled: Vec::new() }
    }

    /// The buffer into which an encoded chunk of `bytes` bytes is to be read.
    ///
    /// # Errors
    /// `Memory`.
    pub fn stream(&mut self, bytes: u64) -> Result<&mut [u8]> {
        let bytes = to_usize(bytes);
        grow(&mut self.stream, bytes.saturating_add(ZEROS))?;
        self.stream[bytes..bytes + ZEROS].fill(0);
        Ok(&mut self.stream[..bytes])
    }

    /// Decodes the chunk of `bytes` encoded bytes that was read into the buffer.
    ///
    /// # Errors
    /// `Decode` if it does not decode to the length of `out`; `Memory`.
    pub fn decode(&mut self, bytes: u64, codecs: &Codecs, out: &mut [u8]) -> Result<()> {
        let mut n = to_usize(bytes);
        if codecs.crc32c {
            n = check_crc(&self.stream[..n]).map_err(bad)?;
            self.stream[n..n + CRC_BYTES].fill(0);
        }
        let Some(item_bytes) = codecs.shuffle.map(to_usize) else {
            return self.decompress(n, codecs.compressor.as_ref(), out);
        };
        let mut shuffled = std::mem::take(&mut self.shuffled);
        renew(&mut shuffled, out.len())?;
        self.decompress(n, codecs.compressor.as_ref(), &mut shuffled[..out.len()])?;
        unshuffle(&shuffled[..out.len()], item_bytes, out);
        self.shuffled = shuffled;
        Ok(())
    }

    /// Decodes the chunk of `bytes` encoded bytes that was read into the buffer, of items of variable length.
    /// Its decoded length is not known before.
    ///
    /// # Errors
    /// `Decode` if it is damaged, or larger than a chunk may be; `Memory`.
    pub fn decode_any(&mut self, bytes: u64, codecs: &Codecs) -> Result<Vec<u8>> {
        let mut n = to_usize(bytes);
        if codecs.crc32c {
            n = check_crc(&self.stream[..n]).map_err(bad)?;
        }
        let stream = &self.stream[..n];
        let data = match &codecs.compressor {
            None => copy(stream)?,
            Some(compressor) => code(compressor).decode_any(stream, &mut self.state)?,
        };
        let Some(item_bytes) = codecs.shuffle.map(to_usize) else { return Ok(data) };
        let mut out = Vec::new();
        resize(&mut out, data.len() as u64)?;
        unshuffle(&data, item_bytes, &mut out);
        Ok(out)
    }

    fn decompress(&mut self, n: usize, compressor: Option<&Compressor>, out: &mut [u8]) -> Result<()> {
        let chunk = EncodedChunk { bytes: &self.stream[..n], with_zeros: &self.stream[..n + ZEROS] };
        match compressor {
            Some(compressor) => code(compressor).decode(chunk, &mut self.state, out),
            None if n == out.len() => {
                out.copy_from_slice(chunk.bytes);
                Ok(())
            }
            None => Err(bad(format!("found {n} bytes, expected {}", out.len()))),
        }
    }

    /// Unshuffles the bytes that `read` provides, which is all decoding if encoded chunks have the length of
    /// chunks.
    ///
    /// # Errors
    /// Those of `read`; `Memory`.
    pub fn unshuffle(
        &mut self,
        codecs: &Codecs,
        out: &mut [u8],
        read: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let Some(item_bytes) = codecs.shuffle.map(to_usize) else { return read(out) };
        grow(&mut self.shuffled, out.len())?;
        let shuffled = &mut self.shuffled[..out.len()];
        read(shuffled)?;
        unshuffle(shuffled, item_bytes, out);
        Ok(())
    }
}

/// All data of a stream, which must have at most `most` bytes.
fn read_all(mut from: impl Read, most: u64, what: &str) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut batch = [0; 1 << 14];
    loop {
        let n = from.read(&mut batch).map_err(|error| bad(format!("{what}: {error}")))?;
        if n == 0 {
            return Ok(out);
        }
        if (out.len() + n) as u64 > most {
            return Err(bad(format!("{what}: found more than {most} bytes of data")));
        }
        reserve(&mut out, n)?;
        out.extend_from_slice(&batch[..n]);
    }
}

#[cold]
fn only_decoded(what: &str) -> Result<Box<dyn EncodeChunk>> {
    Err(Error::argument(format!("{what} can be read, but not written")))
}

/// All data of a stream of at most [`MAX_CHUNK_BYTES`], after which no bytes may follow: `rest` returns them.
fn read_whole<'a, D: Read>(mut decoder: D, rest: impl FnOnce(D) -> &'a [u8], what: &str) -> Result<Vec<u8>> {
    let out = read_all(&mut decoder, MAX_CHUNK_BYTES, what)?;
    match rest(decoder).len() {
        0 => Ok(out),
        n => Err(bad(format!("found {n} bytes after the stream, expected none"))),
    }
}

fn bad(what: String) -> Error {
    Error::new(ErrorKind::Decode, what)
}

/// Verifies the CRC-32C at the end of the bytes, and returns the number of bytes before it. The error is what
/// was found instead.
fn check_crc(bytes: &[u8]) -> Result<usize, String> {
    let Some((data, found)) = bytes.split_last_chunk::<CRC_BYTES>() else {
        return Err(format!("found {} bytes, expected a checksum of {CRC_BYTES}", bytes.len()));
    };
    let (found, expected) = (u32::from_le_bytes(*found), crc32c(data));
    if found == expected {
        Ok(data.len())
    } else {
        Err(format!("found the CRC-32C {found:08x}, expected {expected:08x}"))
    }
}

/// Reverses the bytes of each number.
pub fn swap(data: &mut [u8], number_bytes: u64) {
    match number_bytes {
        2 => data.as_chunks_mut::<2>().0.iter_mut().for_each(|number| number.reverse()),
        4 => data.as_chunks_mut::<4>().0.iter_mut().for_each(|number| number.reverse()),
        8 => data.as_chunks_mut::<8>().0.iter_mut().for_each(|number| number.reverse()),
        _ => {}
    }
}

/// Reverses the bytes of each number in items of this type.
pub fn swap_items(data: &mut [u8], data_type: DataType) {
    let DataType::Struct(_) = data_type else { return swap(data, data_type.number_bytes()) };
    for item in data.chunks_exact_mut(to_usize(data_type.item_bytes())) {
        data_type.for_each_leaf(&mut |before, leaf| {
            let before = to_usize(before);
            swap(&mut item[before..before + to_usize(leaf.item_bytes())], leaf.number_bytes());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use scda_format::dataset::Struct;
    use scda_format::dataset::codecs::Zlib;

    fn zlib(item_bytes: usize, encoder: Encoder, level: i64) -> ChunkCodec {
        let method = Method::Compressor(Compressor::Zlib(Zlib { level }));
        ChunkCodec { item_bytes, method, encoder, rounder: None }
    }

    /// Planes of every kind.
    fn plane(nature: u8, items: usize) -> Vec<u8> {
        let noise =
            |i: usize| ((i as u32).wrapping_mul(0x9E37_79B1) ^ 0x55AA_1234).wrapping_mul(0x85EB_CA6B) >> 24;
        let bytes = (0..items).map(|i| match nature {
            0 => 7,
            1 => noise(i),
            2 => noise(i) / 16,
            3 => i as u32 / 100,
            4 => noise(i % 3000),
            _ => noise(i / 5),
        });
        bytes.map(|byte| byte as u8).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn planes_of_any_nature_come_back(
            natures in prop::collection::vec(0..6_u8, 1..9),
            items in prop_oneof![0..50_usize, 1000..1100_usize, 2000..9000_usize, 32_000..70_000_usize],
            more in 0..8_usize, level in 0..=9_i64,
        ) {
            let planes: Vec<Vec<u8>> = natures.iter().map(|&nature| plane(nature, items)).collect();
            let item_bytes = planes.len();
            let mut data: Vec<u8> = (0..items).flat_map(|i| planes.iter().map(move |plane| plane[i])).collect();
            // Bytes that do not form a whole item.
            data.resize(data.len() + more % item_bytes, 9);
            let codec = zlib(item_bytes, Encoder::Fast, level);
            let mut out = Vec::new();
            ChunkEncoder::new(codec).unwrap().encode(&data, &mut out).unwrap();
            let mut sorted = Vec::new();
            flate2::read::ZlibDecoder::new(&out[..]).read_to_end(&mut sorted).unwrap();
            let mut found = vec![0; data.len()];
            unshuffle(&sorted, item_bytes, &mut found);
            prop_assert!(found == data);
            // Each plane of one repeated byte takes almost nothing.
            if level > 0 && natures.iter().all(|&nature| nature == 0) {
                prop_assert!(out.len() < 100 + data.len() / 100);
            }
        }
    }

    #[test]
    fn zlib_and_a_plain_loop_decode_chunks() {
        let data: Vec<u8> = (0..20_000_u32).flat_map(|i| (i * i / 7).to_le_bytes()).collect();
        for (encoder, level, item_bytes, bytes) in [
            (Encoder::Fast, 0, 4, 80_000),
            (Encoder::Fast, 2, 4, 80_000),
            (Encoder::Fast, 6, 8, 80_000),
            (Encoder::Fast, 9, 4, 4000),
            (Encoder::Zlib, 6, 4, 80_000),
            (Encoder::Fast, 2, 1, 80_000),
            (Encoder::Fast, 2, 4, 0),
        ] {
            let codec = zlib(item_bytes, encoder, level);
            let mut encoder = ChunkEncoder::new(codec).unwrap();
            let mut out = b"before".to_vec();
            let length = encoder.encode(&data[..bytes], &mut out).unwrap();
            assert_eq!(out.len(), 6 + length);
            let mut sorted = Vec::new();
            flate2::read::ZlibDecoder::new(&out[6..]).read_to_end(&mut sorted).unwrap();
            let mut found = vec![0; bytes];
            unshuffle(&sorted, item_bytes, &mut found);
            assert!(found == data[..bytes], "{codec:?}");
        }
    }

    #[test]
    fn numbers_are_turned_around() {
        let turned = |number_bytes| {
            let mut data = [1, 2, 3, 4, 5, 6, 7, 8];
            swap(&mut data, number_bytes);
            data
        };
        assert_eq!(turned(1), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(turned(2), [2, 1, 4, 3, 6, 5, 8, 7]);
        assert_eq!(turned(4), [4, 3, 2, 1, 8, 7, 6, 5]);
        assert_eq!(turned(8), [8, 7, 6, 5, 4, 3, 2, 1]);
        let item = [("a", DataType::Uint8), ("b", DataType::Int16), ("c", DataType::Complex64)];
        let mut data: Vec<u8> = (0..22).collect();
        swap_items(&mut data, DataType::Struct(Struct::packed(item).unwrap()));
        let turned = [0, 2, 1, 6, 5, 4, 3, 10, 9, 8, 7];
        assert_eq!(data, [turned, turned.map(|byte| byte + 11)].concat());
        swap_items(&mut data[..4], DataType::Int32);
        assert_eq!(data[..4], [6, 1, 2, 0]);
    }

    /// The results of the decoder for a chunk, with a known and an unknown number of bytes.
    fn told(codecs: Codecs, chunk: &[u8], n: usize) -> [Result<Vec<u8>, String>; 2] {
        let mut decoder = ChunkDecoder::new(false);
        // Earlier contents must not affect the result.
        let before = decoder.stream(200).unwrap();
        assert_eq!(before.len(), 200);
        before.fill(9);
        decoder.stream(chunk.len() as u64).unwrap().copy_from_slice(chunk);
        let mut out = vec![1; n];
        let any = decoder.decode_any(chunk.len() as u64, &codecs);
        let known = decoder.decode(chunk.len() as u64, &codecs, &mut out).map(|()| out);
        [known, any].map(|found| found.map_err(|error| error.to_string()))
    }

    #[test]
    fn steps_are_undone_and_what_is_wrong_is_told() {
        let data: Vec<u8> = (0..90_u8).collect();
        let (mut sorted, mut zlib) = (vec![0; 90], Vec::new());
        shuffle(&data, 4, &mut sorted);
        flate2::read::ZlibEncoder::new(&sorted[..], flate2::Compression::new(6))
            .read_to_end(&mut zlib)
            .unwrap();
        let compressor = Some(Compressor::Zlib(Zlib { level: 6 }));
        let plain = Codecs::default();
        let shuffled = Codecs { shuffle: Some(4), compressor, ..plain };
        let checked = Codecs { crc32c: true, ..shuffled };
        let with_crc = [&zlib[..], &crc32c(&zlib).to_le_bytes()].concat();
        assert_eq!(told(shuffled, &zlib, 90), [Ok(data.clone()), Ok(data.clone())]);
        assert_eq!(told(checked, &with_crc, 90), [Ok(data.clone()), Ok(data.clone())]);
        let longer = [&zlib[..], b"x"].concat();
        for (codecs, chunk, n, expected) in [
            (checked, &with_crc[..3], 90, ["found 3 bytes, expected a checksum of 4"; 2]),
            (checked, &zlib, 90, ["found the CRC-32C"; 2]),
            (shuffled, &longer, 90, ["it does not end with its checksum", "found 1 bytes after the stream"]),
            (plain, &data, 91, ["found 90 bytes, expected 91", ""]),
        ] {
            for (found, expected) in told(codecs, chunk, n).into_iter().zip(expected) {
                assert!(found.err().unwrap_or_default().contains(expected), "{expected}");
            }
        }
    }

    #[test]
    fn a_stream_has_a_most_of_data() {
        let data = vec![7; 40_000];
        for most in [40_000, 50_000] {
            assert!(read_all(&data[..], most, "a").unwrap() == data);
        }
        for most in [0, 1, 20_000, 39_999] {
            let error = read_all(&data[..], most, "a").unwrap_err().to_string();
            assert_eq!(error, format!("a: found more than {most} bytes of data"));
        }
    }
}
