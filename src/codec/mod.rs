//! Compression of one element (paper, section 3): bytes in, bytes out, with reusable state.
#![cfg_attr(not(test), forbid(unsafe_code))]

mod adaptive;
mod base64;
mod bits;
mod block;
mod blosc;
mod blosclz;
pub mod chunk;
mod deflate;
mod element;
mod huffman;
mod inflate;
mod lz4;
mod matches;
mod pcodec;
mod probe;
mod rounding;
pub mod shuffle;

use crate::format::header::SectionType;
pub use crate::format::{ARRAY_CONVENTION, BLOCK_CONVENTION, MAX_LEVEL, VARRAY_CONVENTION};
pub use deflate::Encoder;
pub use element::{
    ElementDecoder, ElementEncoder, MIN_ENCODED_BYTES, can_expand, max_encoded_bytes, other_line_break,
};

/// The type of the compressed section that begins with a section of this type and user string, if it is the first of a
/// pair.
#[inline(always)]
pub fn compressed_type(first: SectionType, user: &[u8]) -> Option<SectionType> {
    match (first, user) {
        (SectionType::Inline, BLOCK_CONVENTION) => Some(SectionType::Block),
        (SectionType::Inline, ARRAY_CONVENTION) => Some(SectionType::Array),
        (SectionType::Array, VARRAY_CONVENTION) => Some(SectionType::Varray),
        _ => None,
    }
}

/// The type of the second section of the pair for a compressed one.
pub fn second_type(compressed: SectionType) -> SectionType {
    if compressed == SectionType::Block { SectionType::Block } else { SectionType::Varray }
}
