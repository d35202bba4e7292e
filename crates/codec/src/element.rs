//! Encodes and decodes one element: its size and a zlib stream, in base64 (paper, section 3.1).

use super::base64;
use super::deflate::{Deflater, Encoder};
use super::inflate::{Inflater, ZEROS};
use super::probe::least_bytes;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::grow;
use scda_format::padding::LineBreak;

/// The bytes before the stream: the size in 8 bytes and the letter `z`.
const PREFIX_BYTES: usize = 9;
const STREAM_MARK: u8 = b'z';

/// The fewest bytes of an encoded element: its size, the mark and an empty stream of 8 bytes.
pub const MIN_ENCODED_BYTES: u64 = 26;

/// Whether an element of `n` bytes can have `encoded` bytes when encoded: deflate repeats at most 258 bytes
/// in 2 bits, and base64 does not shrink. Detects a false size before memory is allocated for it.
#[must_use]
pub fn can_expand(encoded: u64, n: u64) -> bool {
    n / 1032 <= encoded
}

/// The most bytes that an element of `n` bytes may have when encoded, which bounds the memory for decoding.
/// Data that cannot be compressed take 1.37 times `n`.
#[must_use]
pub fn max_encoded_bytes(n: u64) -> u64 {
    n.saturating_mul(2).saturating_add(1 << 16)
}

/// The most scratch memory that is kept between elements.
const KEPT_BYTES: usize = 16 << 20;

/// Frees the memory of a large element.
fn trim(buffer: &mut Vec<u8>) {
    if buffer.len() > KEPT_BYTES {
        *buffer = Vec::new();
    }
}

/// Where, in an encoded element or in whole lines of one, the first line break begins that does not have this
/// style.
#[must_use]
pub fn other_line_break(text: &[u8], style: LineBreak) -> Option<usize> {
    base64::other_line_break(text, style.in_base64())
}

/// Compresses elements, reusing its state.
pub struct ElementEncoder {
    deflater: Deflater,
    line_break: [u8; 2],
    stream: Vec<u8>,
    /// The planes of bytes in an element: more than one for shuffled numbers.
    planes: usize,
}

impl ElementEncoder {
    /// # Errors
    /// `Argument` if the level is not 0 to 9; `Memory`.
    pub fn new(encoder: Encoder, level: u32, style: LineBreak) -> Result<Self> {
        let line_break = style.in_base64();
        Ok(Self { deflater: Deflater::new(encoder, level)?, line_break, stream: Vec::new(), planes: 1 })
    }

    /// Sets the number of planes of bytes in an element.
    #[must_use]
    pub fn of_planes(self, planes: usize) -> Self {
        Self { planes, ..self }
    }

    /// Appends the encoded element to `out`, and returns its size.
    ///
    /// # Errors
    /// `Memory`.
    pub fn encode(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        let used = self.compress(data)?;
        let encoded = base64::encoded_bytes(used);
        let start = out.len();
        grow(out, start + encoded)?;
        base64::encode(&self.stream[..used], self.line_break, &mut out[start..]);
        trim(&mut self.stream);
        Ok(encoded)
    }

    /// A low estimate of the size of an encoded element, without encoding it.
    #[must_use]
    pub fn estimate(data: &[u8]) -> usize {
        base64::encoded_bytes(PREFIX_BYTES + least_bytes(data))
    }

    /// The size of the encoded element.
    ///
    /// # Errors
    /// `Memory`.
    pub fn measure(&mut self, data: &[u8]) -> Result<usize> {
        self.compress(data).map(base64::encoded_bytes)
    }

    /// Prepares the bytes to be written in base64, and returns their number.
    fn compress(&mut self, data: &[u8]) -> Result<usize> {
        let bound = self.deflater.bound(data.len(), self.planes);
        grow(&mut self.stream, PREFIX_BYTES + bound)?;
        self.stream[..8].copy_from_slice(&(data.len() as u64).to_be_bytes());
        self.stream[8] = STREAM_MARK;
        let room = &mut self.stream[PREFIX_BYTES..PREFIX_BYTES + bound];
        Ok(PREFIX_BYTES + self.deflater.compress(data, self.planes, room)?)
    }
}

/// Decompresses elements, reusing its state.
pub struct ElementDecoder {
    inflater: Inflater,
    stream: Vec<u8>,
}

impl ElementDecoder {
    /// `strict`: see `Inflater::new`.
    ///
    /// # Errors
    /// `Memory`.
    pub fn new(strict: bool) -> Result<Self> {
        Ok(Self { inflater: Inflater::new(strict)?, stream: Vec::new() })
    }

    /// Decodes `text` into `out`, which has the size given by the file's metadata.
    ///
    /// # Errors
    /// `Decode`: base64, size, mark, stream or checksum is wrong. The contents of `out` are then unspecified.
    pub fn decode(&mut self, text: &[u8], out: &mut [u8]) -> Result<()> {
        let bad = |message: String| Error::new(ErrorKind::Decode, message);
        let expected = out.len() as u64;
        if text.len() as u64 > max_encoded_bytes(expected) {
            return Err(bad(format!(
                "compressed element: found {} encoded bytes, expected at most {} for {expected} bytes",
                text.len(),
                max_encoded_bytes(expected)
            )));
        }
        grow(&mut self.stream, base64::decoded_room(text.len()) + ZEROS)?;
        let filled = base64::decode(text, &mut self.stream).ok_or_else(|| {
            bad("compressed element: found text that is not base64 in lines of 76 characters".into())
        })?;
        self.stream[filled..filled + ZEROS].fill(0);
        let Some((size, rest)) = self.stream[..filled].split_first_chunk::<8>() else {
            return Err(bad(format!(
                "compressed element: found {filled} decoded bytes, expected at least {PREFIX_BYTES}"
            )));
        };
        let size = u64::from_be_bytes(*size);
        if size != expected {
            return Err(bad(format!("compressed element: found size {size}, expected {expected}")));
        }
        if rest.first() != Some(&STREAM_MARK) {
            return Err(bad("compressed element: expected 'z' after its size".into()));
        }
        let stream = &self.stream[PREFIX_BYTES..filled + ZEROS];
        let inflated = self.inflater.inflate(stream, out).map_err(|what| bad(format!("zlib stream: {what}")));
        trim(&mut self.stream);
        inflated
    }
}

#[cfg(test)]
mod tests;
