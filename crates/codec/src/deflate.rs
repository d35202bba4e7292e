//! zlib streams (RFC 1950), by either of two libraries.

use super::MAX_LEVEL;
use super::adaptive::AdaptiveEncoder;
use flate2::{Compress, Compression, FlushCompress, Status};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::make;
use scda_base::numbers::to_usize;

/// Which library compresses. Whatever the encoder, any zlib stream is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoder {
    /// Chooses a method for each element: libdeflate for long elements with repetitions, an encoder of this
    /// library for short ones and for those without repetitions. One to thirteen times as fast as zlib at the
    /// same level, at about the same size.
    /// The bytes depend on the data, the level, and the versions of this library and of libdeflate, which is
    /// built in.
    #[default]
    Fast,
    /// zlib: the stream is that of zlib's `compress2` at the same level, so that files agree with those of
    /// other implementations.
    Zlib,
}

#[cold]
fn failed(what: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("compressing: {what}"))
}

/// The most bytes passed to zlib in one call, which counts them in 32 bits.
const ZLIB_STEP: usize = 1 << 30;

/// A compressor of one kind and level, reused for all elements.
pub enum Deflater {
    Fast(Box<AdaptiveEncoder>),
    Zlib(Compress),
}

impl Deflater {
    /// A compressor for levels 0 to 9.
    ///
    /// # Errors
    /// `Argument` for another level, `Memory`.
    pub fn new(encoder: Encoder, level: u32) -> Result<Self> {
        if level > MAX_LEVEL {
            return Err(Error::argument(format!("level: found {level}, expected 0 to {MAX_LEVEL}")));
        }
        Ok(match encoder {
            Encoder::Fast => Self::Fast(Box::new(AdaptiveEncoder::new(level)?)),
            Encoder::Zlib => {
                Self::Zlib(make("zlib's compressor", || Compress::new(Compression::new(level), true))?)
            }
        })
    }

    /// The size of the buffer that [`Self::compress`] needs for `n` bytes in `planes` planes. For zlib it is
    /// `compressBound`, on which the stream of level 0 depends.
    pub fn bound(&mut self, n: usize, planes: usize) -> usize {
        match self {
            Self::Fast(adaptive) => adaptive.bound(n, planes),
            Self::Zlib(_) => n + (n >> 12) + (n >> 14) + (n >> 25) + 13,
        }
    }

    /// Writes the stream of `data` to the start of `out`, of [`Self::bound`] bytes; returns its length.
    /// Shuffled numbers have more than one plane of bytes.
    pub fn compress(&mut self, data: &[u8], planes: usize, out: &mut [u8]) -> Result<usize> {
        match self {
            Self::Fast(adaptive) => adaptive.compress(data, planes, out),
            Self::Zlib(stream) => {
                stream.reset();
                let mut input = data;
                let mut length = 0;
                loop {
                    let (step, flush) = match input.get(..ZLIB_STEP) {
                        Some(step) if input.len() > ZLIB_STEP => (step, FlushCompress::None),
                        _ => (input, FlushCompress::Finish),
                    };
                    let before = (stream.total_in(), stream.total_out());
                    let status = stream
                        .compress(step, &mut out[length..], flush)
                        .map_err(|e| failed(&e.to_string()))?;
                    // Both are at most the length of a slice.
                    input = &input[to_usize(stream.total_in() - before.0)..];
                    length += to_usize(stream.total_out() - before.1);
                    match status {
                        Status::StreamEnd => return Ok(length),
                        Status::Ok => {}
                        Status::BufError => return Err(failed("buffer too small")),
                    }
                }
            }
        }
    }
}
