//! Chunks as Zstandard frames, which are only read; and what frames of Blosc need of zstd.

use super::{ChunkCodec, ChunkCompressor, DecoderState, EncodeChunk, EncodedChunk};
use super::{bad, only_decoded, read_whole};
use scda_base::error::{Error, ErrorKind, Result};
use scda_format::dataset::codecs::Zstd;
use zstd::stream::read::Decoder;
use zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode;
use zstd::zstd_safe::{DCtx, get_error_name};

impl ChunkCompressor for Zstd {
    fn encoder(&self, _: &ChunkCodec) -> Result<Box<dyn EncodeChunk>> {
        only_decoded("Zstandard frames alone")
    }

    fn can_expand(&self, encoded: u64, n: u64) -> bool {
        can_expand_by_zstd(encoded, n)
    }

    fn decode(&self, chunk: EncodedChunk<'_>, state: &mut DecoderState, out: &mut [u8]) -> Result<()> {
        zstd_frame(&mut state.zstd, chunk.bytes, out)?.map_err(bad)
    }

    fn decode_any(&self, chunk: &[u8], _: &mut DecoderState) -> Result<Vec<u8>> {
        let decoder = Decoder::with_buffer(chunk).map_err(|error| bad(format!("zstd: {error}")))?;
        read_whole(decoder.single_frame(), Decoder::finish, "zstd")
    }
}

/// Whether `encoded` bytes can decode to `n` bytes: a block of 4 bytes can stand for 128 KiB of equal bytes.
#[must_use]
pub fn can_expand_by_zstd(encoded: u64, n: u64) -> bool {
    n >> 15 <= encoded
}

/// The result of zstd if it cannot allocate.
const NO_MEMORY: usize = (ZSTD_ErrorCode::ZSTD_error_memory_allocation as usize).wrapping_neg();

#[cold]
pub fn no_memory() -> Error {
    Error::new(ErrorKind::Memory, "cannot allocate zstd's state")
}

#[cold]
pub fn compressing_failed(code: usize) -> Error {
    if code == NO_MEMORY {
        return no_memory();
    }
    Error::new(ErrorKind::Internal, format!("compressing: {}", get_error_name(code)))
}

/// Decodes a Zstandard frame into `out`. The inner error is what was found instead.
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

    #[test]
    fn what_zstd_returns_becomes_an_error() {
        assert_eq!(compressing_failed(NO_MEMORY).kind(), ErrorKind::Memory);
        let any = compressing_failed((ZSTD_ErrorCode::ZSTD_error_GENERIC as usize).wrapping_neg());
        assert!(any.kind() == ErrorKind::Internal && any.to_string().starts_with("compressing: "), "{any}");
    }
}
