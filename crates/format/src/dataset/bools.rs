//! Items of type `bool`, one byte each.

use super::DataType;
use scda_base::error::{Error, ErrorKind};
use scda_base::numbers::to_usize;
use std::io::{self, Read};

/// The first byte that is no bool: its place and value. Readers in other languages may take it for either.
#[must_use]
pub fn find_other(data: &[u8]) -> Option<(usize, u8)> {
    // All of them at once first: that is done with vector instructions.
    let is_found = data.iter().fold(0, |all, byte| all | byte) > 1;
    data.iter().copied().enumerate().find(|(_, byte)| is_found && *byte > 1)
}

/// Whether items of a type are bools, or have some as members.
pub fn has_bools(data_type: DataType) -> bool {
    let mut found = false;
    data_type.for_each_leaf(&mut |_, leaf| found |= leaf == DataType::Bool);
    found
}

/// The first item with a bool that is none: its place, and the byte.
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

/// Bytes that are read, all of which must be bools.
pub struct Bools<R> {
    from: R,
    position: u64,
}

impl<R> Bools<R> {
    /// Those that come from there.
    pub fn new(from: R) -> Self {
        Self { from, position: 0 }
    }

    /// Where they come from.
    pub fn inner(&mut self) -> &mut R {
        &mut self.from
    }

    /// The reader, to go back to the first bool.
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
