//! Compression of one element (paper, section 3): bytes in, bytes out, with reusable state.
#![cfg_attr(not(test), forbid(unsafe_code))] // a test calls zlib

mod adaptive;
mod base64;
mod block;
mod deflate;
mod element;
mod huffman;
mod matches;
mod probe;

use crate::format::header::SectionType;
pub use deflate::Encoder;
pub use element::{
    ElementDecoder, ElementEncoder, MIN_ENCODED_BYTES, can_expand, max_encoded_bytes, other_line_break,
};

/// The user string of the first section of a compressed block (paper, equation 8).
pub const BLOCK_CONVENTION: &[u8] = b"B compressed scda 00";
/// The user string of the first section of a compressed array (paper, equation 9).
pub const ARRAY_CONVENTION: &[u8] = b"A compressed scda 00";
/// The user string of the first section of a compressed varray (paper, equation 10).
pub const VARRAY_CONVENTION: &[u8] = b"V compressed scda 00";

/// Whether a section of this type with this user string must be the first one of a compressed pair.
#[inline]
pub fn begins_pair(section: SectionType, user: &[u8]) -> bool {
    match section {
        SectionType::Inline => user == BLOCK_CONVENTION || user == ARRAY_CONVENTION,
        SectionType::Array => user == VARRAY_CONVENTION,
        SectionType::Block | SectionType::Varray => false,
    }
}

/// The highest compression level.
pub const MAX_LEVEL: u32 = 9;
