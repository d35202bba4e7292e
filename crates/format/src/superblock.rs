//! The superblock of HDF5 in a file, which no checksum of scda covers (docs/hdf5.md).

use super::crc;

/// The offset of the superblock in the file.
pub const SUPERBLOCK_OFFSET: u64 = 512;
/// The bytes of a superblock of version 2.
pub const SUPERBLOCK_BYTES: usize = 48;
/// The bytes of the header of a file that has the block with the superblock.
pub const LONG_HEADER_BYTES: u64 = 576;
const SUPERBLOCK_END: u64 = SUPERBLOCK_OFFSET + SUPERBLOCK_BYTES as u64;

/// The checksum that bytes would have with a superblock of zeros: `found` is their checksum as they are. They
/// begin before the superblock and end at `end`.
#[must_use]
pub fn crc_without_superblock(found: u64, superblock: &[u8; SUPERBLOCK_BYTES], end: u64) -> u64 {
    let change = crc::of(superblock) ^ crc::of(&[0; SUPERBLOCK_BYTES]);
    found ^ crc::shift(change, end.saturating_sub(SUPERBLOCK_END))
}

/// Clears the part of the superblock that is in `bytes`, which begin at this offset of the file.
pub fn clear_superblock(offset: u64, bytes: &mut [u8]) {
    let at = |place: u64| {
        usize::try_from(place.saturating_sub(offset)).map_or(bytes.len(), |at| at.min(bytes.len()))
    };
    let range = at(SUPERBLOCK_OFFSET)..at(SUPERBLOCK_END);
    bytes[range].fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_superblock_does_not_count() {
        let mut bytes: Vec<u8> = (0..576_u32).map(|n| (n % 251) as u8).collect();
        let superblock = *bytes[512..].first_chunk().unwrap();
        let found = crc::of(&bytes);
        for start in [0, 500, 512, 530, 559, 560, 570] {
            let mut part = bytes[start..].to_vec();
            clear_superblock(start as u64, &mut part);
            let zeros = part.iter().zip(&bytes[start..]).filter(|(now, before)| now != before).count();
            assert!(zeros <= 560_usize.saturating_sub(start.max(512)), "{start}");
            assert!(
                start >= 560
                    || part[512_usize.saturating_sub(start)..560 - start].iter().all(|&byte| byte == 0)
            );
        }
        clear_superblock(0, &mut bytes);
        assert_eq!(crc_without_superblock(found, &superblock, 576), crc::of(&bytes));
    }
}
