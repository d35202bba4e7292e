//! Compression of one element (paper, section 3): bytes in, bytes out, with reusable state.

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
pub mod shuffle;

use crate::format::header::SectionType;
pub use crate::format::{ARRAY_CONVENTION, BLOCK_CONVENTION, MAX_LEVEL, VARRAY_CONVENTION};
pub use deflate::Encoder;
pub use element::{
    ElementDecoder, ElementEncoder, MIN_ENCODED_BYTES, can_expand, max_encoded_bytes, other_line_break,
};

/// Whether a section of this type with this user string must be the first one of a compressed pair.
#[inline]
pub fn begins_pair(section: SectionType, user: &[u8]) -> bool {
    match section {
        SectionType::Inline => user == BLOCK_CONVENTION || user == ARRAY_CONVENTION,
        SectionType::Array => user == VARRAY_CONVENTION,
        SectionType::Block | SectionType::Varray => false,
    }
}
