//! The inputs and results of a view.

use crate::attribute::Value;
use scda_base::error::Result;
use scda_format::dataset::DataType;

/// An array whose data are stored in the view.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The type of its items.
    pub data_type: DataType,
    /// The number of items in each dimension.
    pub shape: Vec<u64>,
    /// Their bytes, in little-endian order.
    pub bytes: Vec<u8>,
    /// Its attributes.
    pub attributes: Vec<(String, Value)>,
}

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
