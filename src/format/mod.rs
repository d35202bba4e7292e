//! What the bytes of a file mean (paper, section 2). No I/O and no MPI.
#![forbid(unsafe_code)]

pub mod crc;
pub mod entry;
pub mod header;
pub mod index;
pub mod layout;
pub mod padding;
pub mod seal;

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
