//! One chunk of a dataset: its bytes shuffled, then compressed.

use super::deflate::{Deflater, Encoder};
use super::element::ElementEncoder;
use super::shuffle::shuffle;
use crate::error::Result;
use crate::format::padding::LineBreak;
use crate::memory::{grow, reserve};

/// How chunks are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkCodec {
    pub encoder: Encoder,
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
            Some(style) => Method::Text(Box::new(ElementEncoder::new(encoder, level, style)?)),
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
                let bound = deflater.bound(data.len());
                grow(&mut self.stream, bound)?;
                let length = deflater.compress(data, &mut self.stream[..bound])?;
                reserve(out, length)?;
                out.extend_from_slice(&self.stream[..length]);
                Ok(length)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::shuffle::unshuffle;
    use std::io::Read;

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
}
