//! Undoes Blosc's bit shuffle, which stores the first bits of all items, then the second bits, and so on.

/// The items that are unshuffled together: a byte for each bit.
const GROUP: usize = 8;

/// Unshuffles items of `item_bytes` bytes into `out`. If their number is not a multiple of 8, they were not
/// shuffled; nor were bytes after the last whole item.
pub fn unshuffle(data: &[u8], item_bytes: usize, out: &mut [u8]) {
    let items = data.len() / item_bytes;
    if !items.is_multiple_of(GROUP) {
        return out.copy_from_slice(data);
    }
    let row = items / GROUP;
    let sorted = items * item_bytes;
    out[sorted..].copy_from_slice(&data[sorted..]);
    for (group, items) in out[..sorted].chunks_exact_mut(GROUP * item_bytes).enumerate() {
        for byte in 0..item_bytes {
            let mut bits = 0_u64;
            for bit in 0..GROUP {
                let plane = (byte * GROUP + bit) * row;
                bits |= u64::from(data[plane + group]) << (GROUP * bit);
            }
            for (item, value) in transposed(bits).to_le_bytes().into_iter().enumerate() {
                items[item * item_bytes + byte] = value;
            }
        }
    }
}

/// Transposes a matrix of 8 by 8 bits.
fn transposed(mut x: u64) -> u64 {
    for (shift, mask) in
        [(7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0)]
    {
        let swapped = (x ^ (x >> shift)) & mask;
        x ^= swapped ^ (swapped << shift);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bits_change_places() {
        for bit in 0..64 {
            assert_eq!(transposed(1 << bit), 1 << (bit % 8 * 8 + bit / 8));
        }
    }

    /// The same, bit by bit.
    fn naive(data: &[u8], item_bytes: usize) -> Vec<u8> {
        let items = data.len() / item_bytes;
        let mut out = data.to_vec();
        for i in (0..items * item_bytes * 8).filter(|_| items.is_multiple_of(8)) {
            let (plane, item) = (i / items, i % items);
            let (byte, bit) = (item * item_bytes + plane / 8, plane % 8);
            let is_set = data[i / 8] >> (i % 8) & 1;
            out[byte] = out[byte] & !(1 << bit) | is_set << bit;
        }
        out
    }

    proptest! {
        #[test]
        fn bits_are_sorted_back(
            data in prop::collection::vec(any::<u8>(), 0..600), item_bytes in 1..20_usize, groups in 0..4_usize,
        ) {
            // Whole groups of items and some bytes, and any number of bytes.
            let whole = groups * GROUP * item_bytes + data.len() % item_bytes;
            for n in [whole.min(data.len()), data.len()] {
                let mut out = vec![1; n];
                unshuffle(&data[..n], item_bytes, &mut out);
                prop_assert_eq!(out, naive(&data[..n], item_bytes));
            }
        }
    }
}
