//! The superblock, with which HDF5 finds a view.

use crate::checksum::checksum;
use crate::{BASE, UNDEFINED};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::numbers::MAX_OFFSET;

pub use scda_format::hdf5::SUPERBLOCK_BYTES;

/// HDF5's signature, the version (2), the sizes of addresses and lengths, and the flags.
const BEGINNING: [u8; 12] = *b"\x89HDF\r\n\x1a\n\x02\x08\x08\x00";

/// A superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// The offset in the file of the object header of the root group.
    pub root: u64,
    /// The end of the file for HDF5: that of the seal that covers the view.
    pub end: u64,
}

impl Superblock {
    /// Its bytes, at offset [`BASE`] of the file.
    ///
    /// # Errors
    /// `Range` unless the root group is between the superblock and the end.
    pub fn to_bytes(self) -> Result<[u8; SUPERBLOCK_BYTES]> {
        if !self.is_valid() {
            return Err(Error::range(format!(
                "superblock of HDF5: found the root group at byte {} of {}",
                self.root, self.end
            )));
        }
        let mut bytes = [0; SUPERBLOCK_BYTES];
        bytes[..12].copy_from_slice(&BEGINNING);
        for (place, number) in [BASE, UNDEFINED, self.end, self.root - BASE].into_iter().enumerate() {
            bytes[12 + 8 * place..][..8].copy_from_slice(&number.to_le_bytes());
        }
        let sum = checksum(&bytes[..44]);
        bytes[44..].copy_from_slice(&sum.to_le_bytes());
        Ok(bytes)
    }

    /// The superblock with these bytes; `None` if they are all zero, so that there is no view yet.
    ///
    /// # Errors
    /// `Format` if they are not the superblock of a view.
    pub fn of_bytes(bytes: &[u8; SUPERBLOCK_BYTES]) -> Result<Option<Self>> {
        if *bytes == [0; SUPERBLOCK_BYTES] {
            return Ok(None);
        }
        let number = |at: usize| {
            bytes[at..].first_chunk::<8>().map_or(UNDEFINED, |number| u64::from_le_bytes(*number))
        };
        let superblock = Self { root: number(36).saturating_add(BASE), end: number(28) };
        match superblock.is_valid().then(|| superblock.to_bytes()) {
            Some(Ok(again)) if again == *bytes => Ok(Some(superblock)),
            _ => Err(Error::new(
                ErrorKind::Format,
                "found an HDF5 superblock that is damaged or was not written by libscda",
            )
            .at(BASE)),
        }
    }

    fn is_valid(self) -> bool {
        BASE + SUPERBLOCK_BYTES as u64 <= self.root && self.root < self.end && self.end <= MAX_OFFSET
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let superblock = Superblock { root: 560, end: 1 << 40 };
        let bytes = superblock.to_bytes().unwrap();
        assert_eq!(Superblock::of_bytes(&bytes).unwrap(), Some(superblock));
        assert_eq!(Superblock::of_bytes(&[0; 48]).unwrap(), None);
        for at in 0..bytes.len() {
            let mut other = bytes;
            other[at] ^= 1;
            assert_eq!(Superblock::of_bytes(&other).unwrap_err().offset(), Some(BASE), "{at}");
        }
        for (root, end) in [(559, 1000), (600, 600), (600, u64::MAX)] {
            assert_eq!(Superblock { root, end }.to_bytes().unwrap_err().kind(), ErrorKind::Range);
        }
    }
}
