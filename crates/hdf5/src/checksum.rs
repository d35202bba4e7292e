//! The checksum of HDF5's metadata: `lookup3` by Bob Jenkins (public domain), `hashlittle` from 0.

/// The checksum of bytes.
pub fn checksum(bytes: &[u8]) -> u32 {
    let length = u32::try_from(bytes.len() & 0xffff_ffff).unwrap_or(0);
    let start = 0xdead_beef_u32.wrapping_add(length);
    let (mut a, mut b, mut c) = (start, start, start);
    // The last block has 1 to 12 bytes.
    let (blocks, _) = bytes[..bytes.len().saturating_sub(1)].as_chunks::<12>();
    for block in blocks {
        let [x, y, z] = words(block);
        (a, b, c) = mixed(a.wrapping_add(x), b.wrapping_add(y), c.wrapping_add(z));
    }
    let rest = &bytes[12 * blocks.len()..];
    if rest.is_empty() {
        return c;
    }
    let mut block = [0; 12];
    block[..rest.len()].copy_from_slice(rest);
    let [x, y, z] = words(&block);
    last(a.wrapping_add(x), b.wrapping_add(y), c.wrapping_add(z))
}

fn words(block: &[u8; 12]) -> [u32; 3] {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *block;
    [[a, b, c, d], [e, f, g, h], [i, j, k, l]].map(u32::from_le_bytes)
}

fn mixed(mut a: u32, mut b: u32, mut c: u32) -> (u32, u32, u32) {
    a = a.wrapping_sub(c) ^ c.rotate_left(4);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(6);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(8);
    b = b.wrapping_add(a);
    a = a.wrapping_sub(c) ^ c.rotate_left(16);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(19);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(4);
    b = b.wrapping_add(a);
    (a, b, c)
}

fn last(mut a: u32, mut b: u32, mut c: u32) -> u32 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use super::checksum;

    /// Lengths on both sides of a block. From the comments of `lookup3.c`, and from the superblock of a file
    /// by h5py.
    #[test]
    fn known_values() {
        assert_eq!(checksum(b""), 0xdead_beef);
        assert_eq!(checksum(b"Four score and seven years ago"), 0x1777_0551);
    }

    #[test]
    fn every_byte_counts() {
        for length in 1..40 {
            let zeros = vec![0_u8; length];
            for at in 0..length {
                let mut other = zeros.clone();
                other[at] = 1;
                assert_ne!(checksum(&zeros), checksum(&other), "{length} {at}");
            }
        }
    }
}
