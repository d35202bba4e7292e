//! Chunks as zlib and gzip streams. Only zlib streams are written.

use super::{ChunkCodec, ChunkCompressor, DecoderState, EncodeChunk, EncodedChunk};
use super::{bad, only_decoded, read_whole};
use crate::deflate::Deflater;
use crate::element::can_expand;
use crate::inflate::Inflater;
use flate2::bufread::{GzDecoder, ZlibDecoder};
use scda_base::error::Result;
use scda_base::memory::{grow, reserve};
use scda_format::dataset::codecs::{Gzip, Zlib};

/// Encodes shuffled items of `planes` bytes.
struct ZlibEncoder {
    deflater: Deflater,
    planes: usize,
    stream: Vec<u8>,
}

impl EncodeChunk for ZlibEncoder {
    fn encode(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        let bound = self.deflater.bound(chunk.len(), self.planes);
        grow(&mut self.stream, bound)?;
        let length = self.deflater.compress(chunk, self.planes, &mut self.stream[..bound])?;
        reserve(out, length)?;
        out.extend_from_slice(&self.stream[..length]);
        Ok(length)
    }
}

fn inflater(state: &mut DecoderState) -> Result<&mut Inflater> {
    Ok(match &mut state.inflater {
        Some(inflater) => inflater,
        none => none.insert(Box::new(Inflater::new(state.strict)?)),
    })
}

impl ChunkCompressor for Zlib {
    fn encoder(&self, codec: &ChunkCodec) -> Result<Box<dyn EncodeChunk>> {
        let level = u32::try_from(self.level).unwrap_or(u32::MAX);
        let deflater = Deflater::new(codec.encoder, level)?;
        Ok(Box::new(ZlibEncoder { deflater, planes: codec.item_bytes, stream: Vec::new() }))
    }

    fn can_expand(&self, encoded: u64, n: u64) -> bool {
        can_expand(encoded, n)
    }

    fn decode(&self, chunk: EncodedChunk<'_>, state: &mut DecoderState, out: &mut [u8]) -> Result<()> {
        let done = inflater(state)?.inflate(chunk.with_zeros, out);
        done.map_err(|what| bad(format!("zlib stream: {what}")))
    }

    fn decode_any(&self, chunk: &[u8], _: &mut DecoderState) -> Result<Vec<u8>> {
        read_whole(ZlibDecoder::new(chunk), ZlibDecoder::into_inner, "zlib stream")
    }
}

impl ChunkCompressor for Gzip {
    fn encoder(&self, _: &ChunkCodec) -> Result<Box<dyn EncodeChunk>> {
        only_decoded("gzip streams")
    }

    fn can_expand(&self, encoded: u64, n: u64) -> bool {
        can_expand(encoded, n)
    }

    fn decode(&self, chunk: EncodedChunk<'_>, state: &mut DecoderState, out: &mut [u8]) -> Result<()> {
        let done = inflater(state)?.gunzip(chunk.bytes, out);
        done.map_err(|what| bad(format!("gzip stream: {what}")))
    }

    fn decode_any(&self, chunk: &[u8], _: &mut DecoderState) -> Result<Vec<u8>> {
        read_whole(GzDecoder::new(chunk), GzDecoder::into_inner, "gzip stream")
    }
}
