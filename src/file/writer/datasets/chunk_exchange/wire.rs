//! The encoding of boxes in messages between ranks.

use super::PlannedArray;
use scda_base::error::{Error, ErrorKind, Result};
use scda_format::dataset::IndexBox;

/// The number of lengths that are exchanged before the parts: those of the boxes, and of their data.
pub(super) const LENGTHS: usize = 2;
pub(super) type Lengths = [u64; LENGTHS];

/// Receives the numbers of a box.
pub(super) trait NumberSink {
    fn put(&mut self, number: u64);
}

/// Encodes numbers in groups of 7 bits.
pub(super) struct PackedNumbers<'a> {
    pub(super) out: &'a mut [u8],
    pub(super) bytes: usize,
}

impl NumberSink for PackedNumbers<'_> {
    fn put(&mut self, number: u64) {
        let mut rest = number;
        while rest >= 0x80 {
            self.out[self.bytes] = rest.to_le_bytes()[0] | 0x80;
            self.bytes += 1;
            rest >>= 7;
        }
        self.out[self.bytes] = rest.to_le_bytes()[0];
        self.bytes += 1;
    }
}

/// Counts the bytes of encoded numbers.
struct Counter(u64);

impl NumberSink for Counter {
    fn put(&mut self, number: u64) {
        self.0 += u64::from((number | 1).ilog2()) / 7 + 1;
    }
}

pub(super) fn put_header(out: &mut impl NumberSink, chunk: u64, region: &IndexBox) {
    out.put(chunk);
    region.start.iter().chain(&region.count).for_each(|&number| out.put(number));
}

/// Adds the size of a box in a chunk, and that of its data.
pub(super) fn count_part(lengths: &mut Lengths, chunk: u64, region: &IndexBox, array: &PlannedArray<'_>) {
    let mut header = Counter(0);
    put_header(&mut header, chunk, region);
    lengths[0] += header.0;
    lengths[1] += region.count.iter().product::<u64>() * array.item_bytes as u64;
}

/// The position of a part within its chunk.
pub(super) fn relative(mut part: IndexBox, chunk: &IndexBox) -> IndexBox {
    part.start.iter_mut().zip(&chunk.start).for_each(|(start, chunk)| *start -= chunk);
    part
}

/// Decodes a number that [`NumberSink::put`] has encoded.
pub(super) fn take_number(rest: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, others) = rest.split_first().ok_or_else(torn)?;
        *rest = others;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(torn())
}

/// The error for a message that no rank can have sent.
#[cold]
pub(super) fn torn() -> Error {
    Error::new(ErrorKind::Internal, "parts of chunks: bytes that no rank has sent")
}
