//! Encodes and decodes numbers as standalone files of Pcodec, with the crate `pco`.

use super::{ChunkCodec, ChunkCompressor, DecoderState, EncodeChunk, EncodedChunk, bad};
use half::f16;
use pco::data_types::Number;
use pco::errors::PcoError;
use pco::standalone::{DecompressorItem, FileDecompressor, simple_compress_into};
use pco::{ChunkConfig, FULL_BATCH_N};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::floats::in_default;
use scda_base::memory::{grow, reserve};
use scda_base::numbers::to_usize;
use scda_base::panics::catch;
use scda_format::dataset::DataType;
use scda_format::dataset::codecs::{Pcodec, is_of_pcodec};

impl ChunkCompressor for Pcodec {
    fn encoder(&self, _: &ChunkCodec) -> Result<Box<dyn EncodeChunk>> {
        Ok(Box::new(*self))
    }

    /// A few bytes can stand for 2^24 equal numbers of at most 8 bytes, and a file has more than 4 bytes for
    /// them.
    fn can_expand(&self, encoded: u64, n: u64) -> bool {
        n >> 25 <= encoded
    }

    fn decode(&self, chunk: EncodedChunk<'_>, _: &mut DecoderState, out: &mut [u8]) -> Result<()> {
        decode(chunk.bytes, self.data_type, out)?.map_err(bad)
    }

    fn decode_any(&self, _: &[u8], _: &mut DecoderState) -> Result<Vec<u8>> {
        Err(bad("Pcodec cannot encode items of variable length".into()))
    }
}

impl EncodeChunk for Pcodec {
    fn encode(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        encode(chunk, self.data_type, self.level, out)
    }
}

/// Calls a generic function for the numbers of a type, in little-endian order in files.
macro_rules! with_number {
    ($data_type:expr, $call:ident($($argument:expr),*)) => {
        match $data_type {
            DataType::Int16 => $call($($argument,)* i16::from_le_bytes, i16::to_le_bytes),
            DataType::Int32 => $call($($argument,)* i32::from_le_bytes, i32::to_le_bytes),
            DataType::Int64 => $call($($argument,)* i64::from_le_bytes, i64::to_le_bytes),
            DataType::Uint16 => $call($($argument,)* u16::from_le_bytes, u16::to_le_bytes),
            DataType::Uint32 => $call($($argument,)* u32::from_le_bytes, u32::to_le_bytes),
            DataType::Uint64 => $call($($argument,)* u64::from_le_bytes, u64::to_le_bytes),
            DataType::Float16 => $call($($argument,)* f16::from_le_bytes, f16::to_le_bytes),
            DataType::Float32 => $call($($argument,)* f32::from_le_bytes, f32::to_le_bytes),
            DataType::Float64 => $call($($argument,)* f64::from_le_bytes, f64::to_le_bytes),
            other => Err(Error::new(ErrorKind::Internal, format!("Pcodec of {other}"))),
        }
    };
}

/// Appends the Pcodec file of numbers in little-endian order to `out`, and returns its size.
///
/// # Errors
/// `Memory`.
fn encode(data: &[u8], data_type: DataType, level: u32, out: &mut Vec<u8>) -> Result<usize> {
    debug_assert!(is_of_pcodec(data_type));
    let start = out.len();
    with_number!(data_type, encode_numbers(data, level, out))?;
    Ok(out.len() - start)
}

fn encode_numbers<T: Number, const N: usize>(
    data: &[u8],
    level: u32,
    out: &mut Vec<u8>,
    from_bytes: fn([u8; N]) -> T,
    _: fn(T) -> [u8; N],
) -> Result<()> {
    // The crate ends the process if it cannot allocate, so memory of the size that it needs is requested
    // first.
    reserve(&mut Vec::<u8>::new(), data.len().saturating_mul(6))?;
    let mut numbers = Vec::new();
    reserve(&mut numbers, data.len() / N)?;
    numbers.extend(data.as_chunks().0.iter().map(|bytes| from_bytes(*bytes)));
    reserve(out, data.len() + data.len() / 64 + 256)?;
    let config = ChunkConfig::default().with_compression_level(to_usize(level.into()));
    let compress = || {
        simple_compress_into(&numbers, &config, &mut *out)
            .map(|_| ())
            .map_err(|error| Error::new(ErrorKind::Internal, format!("compressing: {error}")))
    };
    catch(|| in_default(compress))
}

/// Decodes a Pcodec file into `out`, in little-endian order. The inner error is what was found instead.
///
/// # Errors
/// `Memory`.
fn decode(file: &[u8], data_type: DataType, out: &mut [u8]) -> Result<Result<(), String>> {
    with_number!(data_type, decode_numbers(file, out))
}

/// The numbers that are decoded at a time: a multiple of the crate's batch.
const BATCH: usize = 64 * FULL_BATCH_N;

fn decode_numbers<T: Number + Default, const N: usize>(
    file: &[u8],
    out: &mut [u8],
    _: fn([u8; N]) -> T,
    to_bytes: fn(T) -> [u8; N],
) -> Result<Result<(), String>> {
    let mut batch: Vec<T> = Vec::new();
    grow(&mut batch, BATCH.min(out.len() / N))?;
    catch(|| Ok(in_default(|| fill(file, out.as_chunks_mut().0, &mut batch, to_bytes))))
}

/// Decodes a whole file, which must have as many numbers as `out`, and end there. Memory for which it has no
/// data is not touched.
fn fill<T: Number, const N: usize>(
    file: &[u8],
    out: &mut [[u8; N]],
    batch: &mut [T],
    to_bytes: fn(T) -> [u8; N],
) -> Result<(), String> {
    let count = out.len();
    let wrong = |error: PcoError| format!("Pcodec: {error}");
    let (decompressor, mut rest) = FileDecompressor::new(file).map_err(wrong)?;
    let mut done = 0;
    loop {
        let mut chunk = match decompressor.chunk_decompressor::<T, _>(rest).map_err(wrong)? {
            DecompressorItem::Chunk(chunk) => chunk,
            DecompressorItem::EndOfData(after) if done == count && after.is_empty() => return Ok(()),
            DecompressorItem::EndOfData(after) => {
                let more = after.len();
                return Err(format!(
                    "Pcodec: found {done} numbers and {more} bytes after them, expected {count} numbers"
                ));
            }
        };
        let end = done.saturating_add(chunk.n());
        if end > count {
            return Err(format!("Pcodec: found {end} numbers, expected {count}"));
        }
        while done < end {
            let n = batch.len().min(end - done);
            chunk.read(&mut batch[..n]).map_err(wrong)?;
            for (bytes, &number) in out[done..done + n].iter_mut().zip(&*batch) {
                *bytes = to_bytes(number);
            }
            done += n;
        }
        rest = chunk.into_src();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_others_are_told() {
        // More than one chunk of the crate.
        let numbers: Vec<u8> =
            (0..300_000_u32).flat_map(|i| (i.wrapping_mul(i) % 1009).to_le_bytes()).collect();
        for (data_type, number_bytes) in [(DataType::Uint32, 4), (DataType::Float32, 4), (DataType::Int16, 2)]
        {
            let mut file = b"before".to_vec();
            let length = encode(&numbers, data_type, 4, &mut file).unwrap();
            assert_eq!(file.len(), 6 + length);
            let told = |file: &[u8], n: usize| {
                let mut out = vec![1; n];
                decode(file, data_type, &mut out).unwrap().map(|()| out)
            };
            let (file, count) = (&file[6..], numbers.len() / number_bytes);
            assert!(told(file, numbers.len()).unwrap() == numbers);
            let expected = format!(
                "Pcodec: found {count} numbers and 0 bytes after them, expected {} numbers",
                count + 1
            );
            assert_eq!(told(file, numbers.len() + number_bytes), Err(expected));
            let found = told(file, numbers.len() - number_bytes).unwrap_err();
            assert!(
                found.starts_with("Pcodec: found ") && found.ends_with(&format!("expected {}", count - 1)),
                "{found}"
            );
            let expected =
                format!("Pcodec: found {count} numbers and 3 bytes after them, expected {count} numbers");
            assert_eq!(told(&[file, b"abc"].concat(), numbers.len()), Err(expected));
            for end in [0, 5, length / 2, length - 1] {
                assert!(told(&file[..end], numbers.len()).unwrap_err().starts_with("Pcodec: "), "{end}");
            }
        }
        let error = decode(&[], DataType::Uint8, &mut []).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
    }
}
