//! The encoding of boxes in messages between ranks.

use super::PlannedArray;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::numbers::{packed_bytes, take_packed};
use scda_format::dataset::IndexBox;

/// The number of lengths that are exchanged before the parts: those of the boxes, and of their data.
pub(super) const LENGTHS: usize = 2;
pub(super) type Lengths = [u64; LENGTHS];

/// The numbers of a box in a message.
pub(super) fn header(chunk: u64, region: &IndexBox) -> impl Iterator<Item = u64> {
    std::iter::once(chunk).chain(region.start.iter().chain(&region.count).copied())
}

/// Adds the size of a box in a chunk, and that of its data.
pub(super) fn count_part(lengths: &mut Lengths, chunk: u64, region: &IndexBox, array: &PlannedArray<'_>) {
    lengths[0] += header(chunk, region).map(packed_bytes).sum::<u64>();
    lengths[1] += region.count.iter().product::<u64>() * array.item_bytes as u64;
}

/// The position of a part within its chunk.
pub(super) fn relative(mut part: IndexBox, chunk: &IndexBox) -> IndexBox {
    part.start.iter_mut().zip(&chunk.start).for_each(|(start, chunk)| *start -= chunk);
    part
}

/// Removes a number from the beginning of a message.
pub(super) fn take_number(rest: &mut &[u8]) -> Result<u64> {
    take_packed(rest).ok_or_else(torn)
}

/// The error for a message that no rank can have sent.
#[cold]
pub(super) fn torn() -> Error {
    Error::new(ErrorKind::Internal, "parts of chunks: bytes that no rank has sent")
}
