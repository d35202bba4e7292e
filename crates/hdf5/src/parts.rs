//! What callers pass to a view and get from it.

use crate::attribute::Value;
use scda_base::error::Result;
use scda_format::dataset::DataType;

/// An array whose data are in the view.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The type of its items.
    pub data_type: DataType,
    /// How many there are in each dimension.
    pub shape: Vec<u64>,
    /// Their bytes, in little-endian order.
    pub bytes: Vec<u8>,
    /// Its attributes.
    pub attributes: Vec<(String, Value)>,
}

/// The view that a file has.
pub struct Previous<'a> {
    /// The offset in the file of its root group, as its superblock has it.
    pub root: u64,
    /// Reads bytes of the file at an offset.
    pub read: &'a mut dyn FnMut(u64, &mut [u8]) -> Result<()>,
}

/// The bytes of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewBytes {
    /// The data of its block.
    pub bytes: Vec<u8>,
    /// The offset in the file of the root group.
    pub root: u64,
}
