//! Items of type `bool`, one byte each.

use super::DataType;
use scda_base::error::{Error, ErrorKind};
use scda_base::numbers::to_usize;
use std::io::{self, Read};

/// Finds the first byte that is not a bool: its index and value. Readers in other languages may take such a
/// byte for either.
#[must_use]
pub fn find_other(data: &[u8]) -> Option<(usize, u8)> {
    // A quick check of all bytes at once, which compiles to vector instructions.
    let is_found = data.iter().fold(0, |all, byte| all | byte) > 1;
    data.iter().copied().enumerate().find(|(_, byte)| is_found && *byte > 1)
}

/// Whether the items of this type are bools or have members that are.
pub fn has_bools(data_type: DataType) -> bool {
    let mut found = false;
    data_type.for_each_leaf(&mut |_, leaf| found |= leaf == DataType::Bool);
    found
}

/// Finds the first item with an invalid bool: the item's number and the byte.
#[must_use]
pub fn find_other_item(data_type: DataType, data: &[u8]) -> Option<(usize, u8)> {
    if !matches!(data_type, DataType::Struct(_)) {
        return if data_type == DataType::Bool { find_other(data) } else { None };
    }
    let mut first: Option<(usize, u8)> = None;
    let item_bytes = to_usize(data_type.item_bytes());
    data_type.for_each_leaf(&mut |before, leaf| {
        let bytes = data.iter().skip(to_usize(before)).step_by(item_bytes).copied();
        let found = (leaf == DataType::Bool).then(|| bytes.enumerate().find(|(_, byte)| *byte > 1)).flatten();
        if let Some(found) = found {
            first = Some(first.map_or(found, |first| if found.0 < first.0 { found } else { first }));
        }
    });
    first
}

/// A reader of bytes that must all be bools.
pub struct Bools<R> {
    from: R,
    position: u64,
}

impl<R> Bools<R> {
    /// Checks what is read from `from`.
    pub fn new(from: R) -> Self {
        Self { from, position: 0 }
    }

    /// The reader underneath.
    pub fn inner(&mut self) -> &mut R {
        &mut self.from
    }

    /// The reader underneath, to be rewound to the first bool.
    pub fn begin_again(&mut self) -> &mut R {
        self.position = 0;
        &mut self.from
    }
}

impl<R: Read> Read for Bools<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        if let Some((place, byte)) = find_other(&buffer[..count]) {
            let item = self.position + place as u64;
            let words = format!("found the bool {byte} at item {item}, expected 0 or 1");
            return Err(io::Error::other(Error::new(ErrorKind::Argument, words)));
        }
        self.position += count as u64;
        Ok(count)
    }
}
