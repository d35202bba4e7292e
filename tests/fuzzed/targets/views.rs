//! HDF5 views: any bytes are checked to the end.

use scda_hdf5::{BASE, Previous, Superblock, check, checksum};

/// A file with a view.
pub fn views(input: &[u8]) {
    let Some(superblock) = input.get(BASE as usize..).and_then(|rest| rest.first_chunk::<48>()) else {
        return;
    };
    let root = match Superblock::of_bytes(superblock) {
        Ok(Some(superblock)) => superblock.root,
        // Most inputs would end here.
        _ => superblock[36..].first_chunk().map_or(0, |root| u64::from_le_bytes(*root)).saturating_add(BASE),
    };
    look(input, root);
    let mut mended = input.to_vec();
    mend(&mut mended);
    look(&mended, root);
}

fn look(bytes: &[u8], root: u64) {
    let mut read = |offset: u64, to: &mut [u8]| {
        to.copy_from_slice(&bytes[offset as usize..][..to.len()]);
        Ok(())
    };
    let end = bytes.len() as u64;
    let mut is_data = |offset: u64, bytes: u64| offset.checked_add(bytes).is_some_and(|last| last <= end);
    if let Err(error) = check(Previous { root, read: &mut read }, end, &mut is_data) {
        assert_ne!(error.kind(), scda::ErrorKind::Memory, "{error}");
    }
}

/// Gives object headers and headers of trees and heaps the checksums that they should have.
fn mend(bytes: &mut [u8]) {
    for at in 0..bytes.len().saturating_sub(150) {
        let end = match &bytes[at..at + 4] {
            b"OHDR" => {
                let width = 1 << (bytes[at + 5] & 3);
                let length = bytes[at + 6..][..width]
                    .iter()
                    .rev()
                    .fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
                at.saturating_add(6 + width).saturating_add(length.min(1 << 32) as usize)
            }
            b"BTHD" => at + 34,
            b"FRHP" => at + 142,
            b"FAHD" => at + 24,
            _ => continue,
        };
        if end + 4 <= bytes.len() {
            let sum = checksum(&bytes[at..end]);
            bytes[end..end + 4].copy_from_slice(&sum.to_le_bytes());
        }
    }
}
