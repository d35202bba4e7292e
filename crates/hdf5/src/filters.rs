//! The codecs of chunks as HDF5 filters.

use crate::bytes::Bytes;
use scda_base::error::Result;
use scda_format::dataset::codecs::{BloscCompressor, BloscShuffle, Codecs, Step};

/// The numbers of filters: two are part of HDF5, two are registered with The HDF Group.
const DEFLATE: u16 = 1;
const SHUFFLE: u16 = 2;
const BLOSC: u16 = 32001;
const ZSTD: u16 = 32015;
/// Filters with numbers from here on have a name in the message.
const FIRST_NAMED: u16 = 256;

/// A filter with its parameters.
struct Filter {
    id: u16,
    values: Vec<u32>,
}

/// The message for the codecs of chunks of this size; empty if there is nothing to undo.
///
/// # Errors
/// `Memory`.
pub fn message(codecs: &Codecs, chunk_bytes: u64) -> Result<Result<Bytes, &'static str>> {
    let mut filters = Vec::new();
    for &step in &codecs.steps {
        match filter(step, chunk_bytes) {
            Ok(filter) => filters.push(filter),
            Err(why) => return Ok(Err(why)),
        }
    }
    let mut out = Bytes::new();
    if filters.is_empty() {
        return Ok(Ok(out));
    }
    out.put(&[2])?;
    out.number(filters.len() as u64, 1)?;
    for Filter { id, values } in filters {
        out.number(id.into(), 2)?;
        if id >= FIRST_NAMED {
            out.number(0, 2)?;
        }
        out.number(0, 2)?;
        out.number(values.len() as u64, 2)?;
        values.iter().try_for_each(|&value| out.number(value.into(), 4))?;
    }
    Ok(Ok(out))
}

/// The filter that undoes a step, or the reason why there is none.
fn filter(step: Step, chunk_bytes: u64) -> Result<Filter, &'static str> {
    let low = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    // A level, which only writers use.
    let level = |level: i64| u32::try_from(level.clamp(0, 22)).unwrap_or(0);
    Ok(match step {
        Step::Shuffle(size) => Filter { id: SHUFFLE, values: vec![low(size)] },
        Step::Zlib { level: of } => Filter { id: DEFLATE, values: vec![level(of).min(9)] },
        Step::Zstd { level: of, .. } => Filter { id: ZSTD, values: vec![level(of)] },
        Step::Blosc { compressor, level, shuffle, item_bytes, .. } => {
            let shuffle = match shuffle {
                BloscShuffle::None => 0,
                BloscShuffle::Bytes => 1,
                BloscShuffle::Bits => 2,
            };
            let compressor = match compressor {
                BloscCompressor::BloscLz => 0,
                BloscCompressor::Lz4 => 1,
                BloscCompressor::Lz4Hc => 2,
                BloscCompressor::Snappy => 3,
                BloscCompressor::Zlib => 4,
                BloscCompressor::Zstd => 5,
            };
            // The versions of the filter and of Blosc's frames come first.
            Filter {
                id: BLOSC,
                values: vec![2, 2, low(item_bytes), low(chunk_bytes), level, shuffle, compressor],
            }
        }
        Step::Gzip { .. } => return Err("compressed by gzip, for which HDF5 has no filter"),
        Step::Pcodec { .. } => return Err("compressed by Pcodec, for which HDF5 has no filter"),
        Step::Crc32c => return Err("with a CRC-32C, for which HDF5 has no filter"),
    })
}
