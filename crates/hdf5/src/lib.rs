//! Views: HDF5 metadata for the contents of an scda file, with which any program for HDF5 reads the file in
//! place (docs/hdf5.md).
//!
//! A [`View`] is made from a list of datasets and groups; its bytes are the data of a block of the file. They
//! depend only on this list and the offset of the block. No I/O.
#![cfg_attr(test, allow(clippy::cast_possible_truncation))] // test data
#![forbid(unsafe_code)]

mod attribute;
mod auxiliary;
mod buffer;
mod bytes;
mod check;
mod checksum;
mod chunks;
mod collections;
mod datatype;
mod dense;
mod filters;
mod group;
mod heap;
mod item;
mod links;
mod message;
mod names;
mod outline;
mod parts;
mod plan;
mod previous_view;
mod reuse;
mod scales;
mod superblock;
mod tree;
mod view;
mod vtk;
mod writer;

pub use check::{ViewCounts, check, not_shown};
pub use checksum::checksum;
pub use item::{Data, DatasetView, Part};
pub use outline::{Extent, Outline};
pub use parts::{Previous, ViewBytes};
pub use superblock::{SUPERBLOCK_BYTES, Superblock};
pub use view::{Objects, View};

/// The offset of the superblock in the file, from which HDF5 counts addresses.
pub const BASE: u64 = scda_format::hdf5::SUPERBLOCK_OFFSET;
/// HDF5's address of something that does not exist.
const UNDEFINED: u64 = u64::MAX;

pub use scda_format::hdf5::{RESERVED as RESERVED_CONVENTION, RESERVED_BYTES, VIEW as VIEW_CONVENTION};
/// The text before the superblock in that block, for human readers.
const RESERVED_TEXT: &str = "If this file is also an HDF5 file, its HDF5 superblock is at byte 512, its HDF5 objects\n\
    are in blocks named \"scda hdf5 view 00\", and its data are in the sections of scda.\n\
    Any HDF5 program can read the file, but only scda may change it.\n";

/// The initial data of the block with the superblock: a text and zeros.
#[must_use]
pub fn reserved() -> [u8; RESERVED_BYTES] {
    const BEFORE: usize = RESERVED_BYTES - SUPERBLOCK_BYTES;
    let mut data = [b' '; RESERVED_BYTES];
    data[..RESERVED_TEXT.len()].copy_from_slice(RESERVED_TEXT.as_bytes());
    data[BEFORE - 1] = b'\n';
    data[BEFORE..].fill(0);
    data
}
