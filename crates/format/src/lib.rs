//! The meaning of the bytes of a file (paper, section 2). Uses neither I/O nor MPI.
#![cfg_attr(test, allow(clippy::cast_possible_truncation))] // test data
#![forbid(unsafe_code)]

pub mod crc;
pub mod dataset;
pub mod entry;
pub mod hdf5;
pub mod header;
pub mod hexadecimal;
pub mod index;
pub mod layout;
pub mod meshes;
pub mod names;
pub mod padding;
#[cfg(all(test, not(miri)))] // millions of calls
#[path = "tests/proofs.rs"]
mod proofs;
pub mod seal;
pub mod streams;
pub mod superblock;
pub mod truncation;

/// Bytes of the file header: magic and vendor, user string, empty padding (paper, figure 1).
pub const FILE_HEADER_BYTES: usize = 128;
/// Bytes of the type and user string that open every section.
pub const SECTION_HEADER_BYTES: usize = 64;
/// Bytes of a count entry (N, E or U).
pub const COUNT_BYTES: usize = 32;
/// Bytes of data in an inline section (paper, section 2.3).
pub const INLINE_BYTES: usize = 32;
/// The longest user string in bytes.
pub const USER_STRING_BYTES: usize = 58;
/// The longest vendor string in bytes.
pub const VENDOR_STRING_BYTES: usize = 20;
/// The highest compression level.
pub const MAX_LEVEL: u32 = 9;
/// The user string of the first section of a compressed block (paper, equation 8).
pub const BLOCK_CONVENTION: &[u8] = b"B compressed scda 00";
/// The user string of the first section of a compressed array (paper, equation 9).
pub const ARRAY_CONVENTION: &[u8] = b"A compressed scda 00";
/// The user string of the first section of a compressed varray (paper, equation 10).
pub const VARRAY_CONVENTION: &[u8] = b"V compressed scda 00";
/// All three of them.
pub const COMPRESSION_CONVENTIONS: [&[u8]; 3] = [BLOCK_CONVENTION, ARRAY_CONVENTION, VARRAY_CONVENTION];
