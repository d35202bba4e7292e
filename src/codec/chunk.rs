//! One chunk of a dataset: its bytes shuffled, then compressed; and back.

use super::deflate::{Deflater, Encoder};
use super::element::ElementEncoder;
use super::inflate::{Inflater, ZEROS};
use super::shuffle::{shuffle, unshuffle};
use crate::error::{Error, ErrorKind, Result};
use crate::format::padding::LineBreak;
use crate::memory::{grow, reserve};
use crate::numbers::to_usize;

/// How chunks are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkCodec {
    /// Which library compresses.
    pub encoder: Encoder,
    /// The level, 0 to 9.
    pub level: u32,
    /// The bytes of the items that are shuffled; 1: nothing is.
    pub item_bytes: usize,
    /// As an element of the compression convention, with this line break; else as a zlib stream.
    pub text: Option<LineBreak>,
}

/// Encodes chunks one after the other, with state made once.
pub struct ChunkEncoder {
    codec: ChunkCodec,
    method: Method,
    shuffled: Vec<u8>,
    stream: Vec<u8>,
}

enum Method {
    Stream(Deflater),
    Text(Box<ElementEncoder>),
}

impl ChunkEncoder {
    /// # Errors
    /// `Argument` if the level is not 0 to 9; `Memory`.
    pub fn new(codec: ChunkCodec) -> Result<Self> {
        let ChunkCodec { encoder, level, text, .. } = codec;
        let method = match text {
            None => Method::Stream(Deflater::new(encoder, level)?),
            Some(style) => {
                let encoder = ElementEncoder::new(encoder, level, style)?;
                Method::Text(Box::new(encoder.of_planes(codec.item_bytes)))
            }
        };
        Ok(Self { codec, method, shuffled: Vec::new(), stream: Vec::new() })
    }

    /// How it encodes.
    pub fn codec(&self) -> ChunkCodec {
        self.codec
    }

    /// Appends the encoded chunk to `out` and returns how many bytes that was.
    ///
    /// # Errors
    /// `Memory`.
    pub fn encode(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        let mut data = chunk;
        if self.codec.item_bytes > 1 {
            grow(&mut self.shuffled, chunk.len())?;
            let shuffled = &mut self.shuffled[..chunk.len()];
            shuffle(chunk, self.codec.item_bytes, shuffled);
            data = shuffled;
        }
        match &mut self.method {
            Method::Text(encoder) => encoder.encode(data, out),
            Method::Stream(deflater) => {
                let bound = deflater.bound(data.len(), self.codec.item_bytes);
                grow(&mut self.stream, bound)?;
                let length = deflater.compress(data, self.codec.item_bytes, &mut self.stream[..bound])?;
                reserve(out, length)?;
                out.extend_from_slice(&self.stream[..length]);
                Ok(length)
            }
        }
    }
}

/// Undoes zlib and shuffling, with memory that is used again.
pub struct ChunkDecoder {
    strict: bool,
    inflater: Option<Box<Inflater>>,
    /// The stream, and the zeros behind it.
    stream: Vec<u8>,
    shuffled: Vec<u8>,
}

impl ChunkDecoder {
    /// `strict`: as [`Inflater::new`].
    pub fn new(strict: bool) -> Self {
        Self { strict, inflater: None, stream: Vec::new(), shuffled: Vec::new() }
    }

    /// Memory into which a stream of so many bytes is to be read.
    ///
    /// # Errors
    /// `Memory`.
    pub fn stream(&mut self, bytes: u64) -> Result<&mut [u8]> {
        let bytes = to_usize(bytes);
        grow(&mut self.stream, bytes.saturating_add(ZEROS))?;
        self.stream[bytes..bytes + ZEROS].fill(0);
        Ok(&mut self.stream[..bytes])
    }

    /// Decompresses the stream of so many bytes that was read, and sorts the bytes of the items of this size back.
    ///
    /// # Errors
    /// `Decode` if the stream is not one of as many bytes as `out` has; `Memory`.
    pub fn inflate(&mut self, bytes: u64, item_bytes: Option<u64>, out: &mut [u8]) -> Result<()> {
        let inflater = match &mut self.inflater {
            Some(inflater) => inflater,
            none => none.insert(Box::new(Inflater::new(self.strict)?)),
        };
        let stream = &self.stream[..to_usize(bytes) + ZEROS];
        let bad = |what: String| Error::new(ErrorKind::Decode, format!("zlib stream: {what}"));
        let Some(item_bytes) = item_bytes else { return inflater.inflate(stream, out).map_err(bad) };
        grow(&mut self.shuffled, out.len())?;
        let shuffled = &mut self.shuffled[..out.len()];
        inflater.inflate(stream, shuffled).map_err(bad)?;
        unshuffle(shuffled, to_usize(item_bytes), out);
        Ok(())
    }

    /// Sorts the bytes back that `read` puts into memory.
    ///
    /// # Errors
    /// Those of `read`; `Memory`.
    pub fn unshuffle(
        &mut self,
        item_bytes: Option<u64>,
        out: &mut [u8],
        read: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let Some(item_bytes) = item_bytes else { return read(out) };
        grow(&mut self.shuffled, out.len())?;
        let shuffled = &mut self.shuffled[..out.len()];
        read(shuffled)?;
        unshuffle(shuffled, to_usize(item_bytes), out);
        Ok(())
    }
}

/// Turns the bytes of each number around.
pub fn swap(data: &mut [u8], number_bytes: u64) {
    match number_bytes {
        2 => data.as_chunks_mut::<2>().0.iter_mut().for_each(|number| number.reverse()),
        4 => data.as_chunks_mut::<4>().0.iter_mut().for_each(|number| number.reverse()),
        8 => data.as_chunks_mut::<8>().0.iter_mut().for_each(|number| number.reverse()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    use proptest::prelude::*;

    /// Planes of every nature.
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
            more in 0..8_usize, level in 0..=9_u32,
        ) {
            let planes: Vec<Vec<u8>> = natures.iter().map(|&nature| plane(nature, items)).collect();
            let item_bytes = planes.len();
            let mut data: Vec<u8> = (0..items).flat_map(|i| planes.iter().map(move |plane| plane[i])).collect();
            // Bytes that are no whole item.
            data.resize(data.len() + more % item_bytes, 9);
            let codec = ChunkCodec { encoder: Encoder::Fast, level, item_bytes, text: None };
            let mut out = Vec::new();
            ChunkEncoder::new(codec).unwrap().encode(&data, &mut out).unwrap();
            let mut sorted = Vec::new();
            flate2::read::ZlibDecoder::new(&out[..]).read_to_end(&mut sorted).unwrap();
            let mut found = vec![0; data.len()];
            unshuffle(&sorted, item_bytes, &mut found);
            prop_assert!(found == data);
            // Each plane of one byte takes next to nothing.
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
            let codec = ChunkCodec { encoder, level, item_bytes, text: None };
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
    }
}
