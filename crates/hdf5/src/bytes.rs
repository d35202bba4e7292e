//! HDF5's bytes in memory, in which numbers are little-endian.

use scda_base::error::Result;
use scda_base::memory::reserve;

/// Bytes to which numbers are appended. Failed allocations are errors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(Vec<u8>);

impl Bytes {
    /// No bytes.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// All bytes.
    pub fn into_vec(self) -> Vec<u8> {
        self.0
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Appends bytes.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() > self.0.capacity() - self.0.len() {
            // Most messages are shorter, so that they are allocated once.
            const FIRST_BYTES: usize = 64;
            let least = if self.0.capacity() == 0 { FIRST_BYTES } else { 0 };
            reserve(&mut self.0, bytes.len().max(least))?;
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    /// Reserves memory for more bytes.
    pub fn reserve(&mut self, more: usize) -> Result<()> {
        reserve(&mut self.0, more)
    }

    /// Appends zeros.
    pub fn zeros(&mut self, count: usize) -> Result<()> {
        reserve(&mut self.0, count)?;
        self.0.resize(self.0.len() + count, 0);
        Ok(())
    }

    /// Appends a number as `width` bytes, in which it must fit.
    pub fn number(&mut self, number: u64, width: usize) -> Result<()> {
        self.put(&number.to_le_bytes()[..width])
    }

    /// Appends an address or a length: 8 bytes.
    pub fn long(&mut self, number: u64) -> Result<()> {
        self.number(number, 8)
    }

    /// Overwrites bytes at an offset.
    pub fn replace(&mut self, at: usize, bytes: &[u8]) {
        if let Some(room) = self.0.get_mut(at..at + bytes.len()) {
            room.copy_from_slice(bytes);
        }
    }
}

/// The fewest bytes, at least one, in which a number fits.
pub fn width_of(number: u64) -> usize {
    (64 - number.leading_zeros() as usize).div_ceil(8).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_lowest_byte_first() {
        let mut bytes = Bytes::new();
        bytes.number(0x0102, 2).unwrap();
        bytes.long(7).unwrap();
        bytes.zeros(1).unwrap();
        bytes.replace(1, &[9]);
        bytes.replace(11, &[9]);
        assert_eq!(bytes.as_slice(), [2, 9, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
        let widths = [0, 255, 256, u64::MAX].map(width_of);
        assert_eq!(widths, [1, 1, 2, 8]);
    }
}
