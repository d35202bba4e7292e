//! The inputs and results of a view.

use scda_base::error::Result;

/// The current view of a file.
pub struct Previous<'a> {
    /// The offset of its root group in the file, from the superblock.
    pub root: u64,
    /// Reads bytes of the file at an offset.
    pub read: &'a mut dyn FnMut(u64, &mut [u8]) -> Result<()>,
}

/// The bytes of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewBytes {
    /// The data of its block.
    pub bytes: Vec<u8>,
    /// The offset of the root group in the file.
    pub root: u64,
}
