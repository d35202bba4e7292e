//! The bytes of a view, with the addresses that they will have.

use crate::BASE;
use crate::bytes::Bytes;
use scda_base::error::{Error, Result};
use scda_base::numbers::sum;

/// Consecutive bytes of the file.
pub struct ViewBuffer {
    bytes: Bytes,
    /// HDF5's address of the first byte.
    start: u64,
}

impl ViewBuffer {
    /// An empty buffer that begins at this offset of the file.
    ///
    /// # Errors
    /// `Range` for an offset before HDF5's first address, or beyond 63 bits.
    pub fn new(offset: u64) -> Result<Self> {
        let start = offset.checked_sub(BASE).filter(|_| sum(offset, 0).is_some());
        let start = start.ok_or_else(|| Error::range(format!("HDF5: found a view at byte {offset}")))?;
        Ok(Self { bytes: Bytes::new(), start })
    }

    /// The address of the next byte to be appended.
    pub fn address(&self) -> u64 {
        self.start.saturating_add(self.bytes.len() as u64)
    }

    /// Appends bytes, and returns their address.
    ///
    /// # Errors
    /// `Memory`; `Range` if the file would exceed 63 bits.
    pub fn put(&mut self, bytes: &[u8]) -> Result<u64> {
        let address = self.address();
        let end = sum(address, bytes.len() as u64).and_then(|end| sum(end, BASE));
        end.ok_or_else(|| Error::range("HDF5: the view would end beyond 63 bits"))?;
        self.bytes.put(bytes)?;
        Ok(address)
    }

    /// Overwrites bytes that were appended.
    pub fn replace(&mut self, address: u64, bytes: &[u8]) {
        let place = address.checked_sub(self.start).and_then(|place| usize::try_from(place).ok());
        if let Some(place) = place {
            self.bytes.replace(place, bytes);
        }
    }

    /// All bytes.
    pub fn into_vec(self) -> Vec<u8> {
        self.bytes.into_vec()
    }
}
