//! Compression of one element (paper, section 3): bytes in, bytes out, with reusable state.
#![cfg_attr(not(test), forbid(unsafe_code))]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))] // test data

mod adaptive;
mod base64;
mod block;
pub mod chunk;
mod deflate;
mod element;
mod huffman;
mod inflate;
mod matches;
mod probe;
#[cfg(test)]
#[path = "tests/proofs.rs"]
mod proofs;
mod rounding;
pub mod shuffle;
pub mod texts;

pub use deflate::Encoder;
pub use element::{
    ElementDecoder, ElementEncoder, MIN_ENCODED_BYTES, can_expand, max_encoded_bytes, other_line_break,
};
use scda_base::error::Result;
use scda_base::memory::copy;
use scda_format::header::SectionType;
pub use scda_format::{ARRAY_CONVENTION, BLOCK_CONVENTION, MAX_LEVEL, VARRAY_CONVENTION};

/// Data that shrink to one byte in this number, or less, are mostly repetitions: the order of levels then
/// says nothing about sizes, and all are quick.
const MOST_SHORTENED: usize = 32;

/// Compresses in several ways into the same memory: in way 0, and, if the result has at most `enough` bytes,
/// also in the others. Leaves the shortest result there, the first one of equal ones, and returns its length.
fn shortest<O: AsMut<[u8]> + ?Sized>(
    ways: usize,
    enough: usize,
    out: &mut O,
    mut compress: impl FnMut(usize, &mut O) -> Result<usize>,
) -> Result<usize> {
    let best = compress(0, out)?;
    if best > enough || ways == 1 {
        return Ok(best);
    }
    let mut kept = copy(&out.as_mut()[..best])?;
    for way in 1..ways {
        let length = compress(way, out)?;
        if length < kept.len() {
            kept.clear();
            kept.extend_from_slice(&out.as_mut()[..length]);
        }
    }
    out.as_mut()[..kept.len()].copy_from_slice(&kept);
    Ok(kept.len())
}

/// The type of the compressed section that begins with a section of this type and user string; `None` if it
/// is not the first of a pair.
#[inline(always)]
pub fn compressed_type(first: SectionType, user: &[u8]) -> Option<SectionType> {
    match (first, user) {
        (SectionType::Inline, BLOCK_CONVENTION) => Some(SectionType::Block),
        (SectionType::Inline, ARRAY_CONVENTION) => Some(SectionType::Array),
        (SectionType::Array, VARRAY_CONVENTION) => Some(SectionType::Varray),
        _ => None,
    }
}

/// The type of the second section of the pair for a compressed section.
pub fn second_type(compressed: SectionType) -> SectionType {
    if compressed == SectionType::Block { SectionType::Block } else { SectionType::Varray }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_is_there_then() {
        for (lengths, enough, best) in [
            ([5, 4, 3], 5, 2),
            ([5, 3, 4], 5, 1),
            ([5, 3, 3], 5, 1),
            ([5, 5, 6], 5, 0),
            ([5, 4, 3], 4, 0), // too many bytes for other ways
        ] {
            let mut out = Vec::new();
            let length = shortest(lengths.len(), enough, &mut out, |way, out| {
                *out = vec![way as u8; lengths[way]];
                Ok(out.len())
            });
            assert_eq!(out[..length.unwrap()], vec![best as u8; lengths[best]], "{lengths:?}");
        }
    }
}
