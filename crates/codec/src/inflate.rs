//! Decompresses zlib streams (RFC 1950) into memory of known size.

use flate2::{Decompress, FlushDecompress, Status};
use libdeflater::{DecompressionError, Decompressor};
use scda_base::error::Result;
use scda_base::memory::make;
use scda_base::numbers::to_usize;

/// Zeros after a stream: libdeflate decodes byte by byte when it is nearer than this to the end. Measured
/// with `benches`.
pub const ZEROS: usize = 64;
/// Memory after data of up to [`ROOM_UP_TO`] bytes: libdeflate decodes byte by byte when it is nearer than
/// this to their end. Measured with `benches`.
const ROOM: usize = 320;
/// Longer data get no memory after them. Measured with `benches`.
const ROOM_UP_TO: usize = 8192;

/// Decompresses streams, reusing its state.
pub struct Inflater {
    inflater: Decompressor,
    /// zlib, if both decoders must accept each stream.
    zlib: Option<Decompress>,
    /// A buffer for short data, with additional memory after them.
    short: [u8; ROOM_UP_TO + ROOM],
}

impl Inflater {
    /// With `strict`, zlib must accept each stream, too. libdeflate also decodes streams that RFC 1951
    /// forbids, with undefined symbols or codes, as long as the size and the checksum are right; zlib rejects
    /// them, as readers of other implementations do.
    ///
    /// # Errors
    /// `Memory`.
    pub fn new(strict: bool) -> Result<Self> {
        let zlib = strict.then(|| make("zlib's decompressor", || Decompress::new(true))).transpose()?;
        let inflater = make("libdeflate's decompressor", Decompressor::new)?;
        Ok(Self { inflater, zlib, short: [0; ROOM_UP_TO + ROOM] })
    }

    /// Decompresses a gzip stream (RFC 1952) of one member into `out`. The error is what was found instead.
    pub fn gunzip(&mut self, stream: &[u8], out: &mut [u8]) -> Result<(), String> {
        let n = out.len();
        let found = self.inflater.gzip_decompress(stream, out).map_err(|error| error.to_string())?;
        if found != n {
            return Err(format!("found data of {found} bytes, expected {n}"));
        }
        // As for zlib streams. The length, in 4 bytes, follows the checksum.
        let (before, checksum) = (&stream[..stream.len().saturating_sub(4)], libdeflater::crc32(out));
        if !before.ends_with(&checksum.to_le_bytes()) {
            return Err(format!("found data after its end, expected its checksum {checksum:08x}"));
        }
        Ok(())
    }

    /// Decompresses a zlib stream, which is followed by [`ZEROS`] zeros, into `out`. The error is what was
    /// found instead.
    pub fn inflate(&mut self, with_zeros: &[u8], out: &mut [u8]) -> Result<(), String> {
        let stream = &with_zeros[..with_zeros.len().saturating_sub(ZEROS)];
        let n = out.len();
        match self.short.get_mut(..n + ROOM) {
            Some(short) => {
                fill(&mut self.inflater, with_zeros, short, n)?;
                out.copy_from_slice(&short[..n]);
            }
            None => fill(&mut self.inflater, with_zeros, out, n)?,
        }
        // libdeflate does not report where the stream ended, but its last bytes must be the checksum. Only a
        // checksum of 0 could be missing, replaced by the zeros: then the stream is decoded again without
        // them.
        let checksum = libdeflater::adler32(out);
        if checksum == 0 {
            fill(&mut self.inflater, stream, out, n)?;
        }
        if !stream.ends_with(&checksum.to_be_bytes()) {
            return Err(format!("it does not end with its checksum, {checksum:08x}"));
        }
        self.zlib.as_mut().map_or(Ok(()), |zlib| check_strictly(zlib, stream, out))
    }
}

/// Decompresses a zlib stream with zlib into memory of its size. The error is what was found instead.
fn check_strictly(zlib: &mut Decompress, stream: &[u8], out: &mut [u8]) -> Result<(), String> {
    zlib.reset(true);
    loop {
        // Both are at most the length of a slice.
        let [read, written] = [zlib.total_in(), zlib.total_out()].map(to_usize);
        match zlib.decompress(&stream[read..], &mut out[written..], FlushDecompress::Finish) {
            Ok(Status::StreamEnd) => break,
            // A call handles at most 4 GiB.
            Ok(_) if (zlib.total_in(), zlib.total_out()) > (read as u64, written as u64) => {}
            Ok(_) => return Err("zlib: found no end of the stream".to_owned()),
            Err(error) => {
                let what = error.message().unwrap_or("an error");
                return Err(format!("zlib: found a violation of RFC 1951: {what}"));
            }
        }
    }
    let found = (zlib.total_in(), zlib.total_out());
    if found == (stream.len() as u64, out.len() as u64) {
        return Ok(());
    }
    Err(format!(
        "zlib: found data of {} bytes in {}, expected {} in {}",
        found.1,
        found.0,
        out.len(),
        stream.len()
    ))
}

/// Decompresses a zlib stream of `expected` bytes into memory of at least this size. The error is what was
/// found instead.
fn fill(
    inflater: &mut Decompressor,
    stream: &[u8],
    memory: &mut [u8],
    expected: usize,
) -> Result<(), String> {
    match inflater.zlib_decompress(stream, memory) {
        Ok(n) if n == expected => Ok(()),
        Ok(n) => Err(format!("found data of {n} bytes, expected {expected}")),
        Err(DecompressionError::InsufficientSpace) => {
            Err(format!("found data of more than the expected {expected} bytes"))
        }
        Err(DecompressionError::BadData) => Err("found corrupt data or a wrong checksum".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_zlib_finds_is_told() {
        let data: Vec<u8> = (0..90_u32).map(|i| (i * i % 7) as u8).collect();
        let mut stream = Vec::with_capacity(200);
        let mut compress = flate2::Compress::new(flate2::Compression::new(6), true);
        compress.compress_vec(&data, &mut stream, flate2::FlushCompress::Finish).unwrap();
        let told = |stream: &[u8], n| check_strictly(&mut Decompress::new(true), stream, &mut vec![0; n]);
        assert_eq!(told(&stream, 90), Ok(()));
        let length = stream.len();
        for (end, n) in [(0, 90), (length - 1, 90), (length - 5, 90), (length, 89)] {
            assert_eq!(told(&stream[..end], n), Err("zlib: found no end of the stream".into()), "{end} {n}");
        }
        let expected = format!("zlib: found data of 90 bytes in {length}, expected 91 in {length}");
        assert_eq!(told(&stream, 91), Err(expected));
        stream.push(0);
        let expected = format!("zlib: found data of 90 bytes in {length}, expected 90 in {}", length + 1);
        assert_eq!(told(&stream, 90), Err(expected));
        stream[2] ^= 6;
        let found = told(&stream, 90).unwrap_err();
        assert!(found.starts_with("zlib: found a violation of RFC 1951: "), "{found}");
    }
}
