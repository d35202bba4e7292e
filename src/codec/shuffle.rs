//! Sorts the bytes of items: the first bytes of all items, then the second ones, and so on. Numbers that are near one
//! another have the same first or last bytes, which then follow one another.
//!
//! These are the bytes of `numcodecs.shuffle` and of HDF5's shuffle filter. Bytes behind the last whole item stay
//! where they are.
//!
//! **Algorithm.** Items of 2, 4, 8 or 16 bytes are sorted in blocks of 64. A step separates the lower halves of all items
//! from the upper halves, until the halves are bytes. The opposite joins bytes to pairs, and these to items. Compilers make vector
//! instructions of such loops, for any processor that has them. Items of 8 bytes are sorted faster as matrices of 8 by 8
//! bytes, which are transposed within integers.

use std::array::from_fn;

/// The items of a block.
const BLOCK_ITEMS: usize = 64;
/// The largest items that are moved by vector instructions.
const MOST_BYTES: usize = 16;
/// The matrices of 8 items that are transposed at once.
const LANES: usize = 4;

/// Sorts `data`, items of so many bytes, into `out`, which has the same length.
pub fn shuffle(data: &[u8], item_bytes: usize, out: &mut [u8]) {
    if item_bytes <= 1 {
        return out.copy_from_slice(data);
    }
    let count = data.len() / item_bytes;
    let done = match item_bytes {
        2 => shuffle_blocks::<2>(data, out, count),
        4 => shuffle_blocks::<4>(data, out, count),
        8 => shuffle_blocks::<8>(data, out, count),
        16 => shuffle_blocks::<16>(data, out, count),
        _ => 0,
    };
    for first in (done..count).step_by(BLOCK_ITEMS) {
        let last = (first + BLOCK_ITEMS).min(count);
        let items = &data[first * item_bytes..last * item_bytes];
        for byte in 0..item_bytes {
            let plane = &mut out[byte * count + first..byte * count + last];
            for (to, item) in plane.iter_mut().zip(items.chunks_exact(item_bytes)) {
                *to = item[byte];
            }
        }
    }
    out[count * item_bytes..].copy_from_slice(&data[count * item_bytes..]);
}

/// The opposite of [`shuffle`].
pub fn unshuffle(data: &[u8], item_bytes: usize, out: &mut [u8]) {
    if item_bytes <= 1 {
        return out.copy_from_slice(data);
    }
    let count = data.len() / item_bytes;
    let done = match item_bytes {
        2 => unshuffle_blocks::<2>(data, out, count),
        4 => unshuffle_blocks::<4>(data, out, count),
        8 => unshuffle_blocks::<8>(data, out, count),
        16 => unshuffle_blocks::<16>(data, out, count),
        _ => 0,
    };
    for first in (done..count).step_by(BLOCK_ITEMS) {
        let last = (first + BLOCK_ITEMS).min(count);
        let items = &mut out[first * item_bytes..last * item_bytes];
        for byte in 0..item_bytes {
            let plane = &data[byte * count + first..byte * count + last];
            for (from, item) in plane.iter().zip(items.chunks_exact_mut(item_bytes)) {
                item[byte] = *from;
            }
        }
    }
    out[count * item_bytes..].copy_from_slice(&data[count * item_bytes..]);
}

/// Sorts whole blocks of `count` items; returns how many items these are.
fn shuffle_blocks<const N: usize>(data: &[u8], out: &mut [u8], count: usize) -> usize {
    let mut halves = [0; MOST_BYTES * BLOCK_ITEMS];
    let halves = &mut halves[..N * BLOCK_ITEMS];
    let mut done = 0;
    for block in data.chunks_exact(N * BLOCK_ITEMS) {
        match N {
            2 => put_pairs(block, out, count, done),
            4 => {
                let (low, high) = halves.split_at_mut(2 * BLOCK_ITEMS);
                split_4(block, low, high);
                put_pairs(halves, out, count, done);
            }
            8 => put_transposed(block, out, count, done),
            _ => {
                let (low, high) = halves.split_at_mut(8 * BLOCK_ITEMS);
                split_16(block, low, high);
                put_transposed(low, out, count, done);
                put_transposed(high, &mut out[8 * count..], count, done);
            }
        }
        done += BLOCK_ITEMS;
    }
    done
}

/// The opposite.
fn unshuffle_blocks<const N: usize>(data: &[u8], out: &mut [u8], count: usize) -> usize {
    let (mut a, mut b) = ([0; MOST_BYTES * BLOCK_ITEMS], [0; MOST_BYTES * BLOCK_ITEMS]);
    let (a, b) = (&mut a[..N * BLOCK_ITEMS], &mut b[..N * BLOCK_ITEMS]);
    let mut done = 0;
    for block in out.chunks_exact_mut(N * BLOCK_ITEMS) {
        match N {
            2 => take_pairs(data, count, done, block),
            4 => {
                take_pairs(data, count, done, a);
                join_all::<2>(a, block);
            }
            8 => {
                take_pairs(data, count, done, a);
                join_all::<2>(a, b);
                join_all::<4>(b, block);
            }
            _ => {
                take_pairs(data, count, done, a);
                join_all::<2>(a, b);
                join_all::<4>(b, a);
                join_all::<8>(a, block);
            }
        }
        done += BLOCK_ITEMS;
    }
    done
}

/// Defines a function that separates the lower and the upper halves of integers. It is not inlined: compilers know that
/// arguments of functions do not overlap.
macro_rules! split {
    ($name:ident, $integer:ty, $half:ty) => {
        #[inline(never)]
        #[allow(clippy::cast_possible_truncation)] // to the lower half
        fn $name(from: &[u8], low: &mut [u8], high: &mut [u8]) {
            // A loop for each: one that does both does not become vector instructions.
            let from = from.as_chunks().0;
            for (integer, low) in from.iter().zip(low.as_chunks_mut().0) {
                *low = (<$integer>::from_le_bytes(*integer) as $half).to_le_bytes();
            }
            for (integer, high) in from.iter().zip(high.as_chunks_mut().0) {
                *high = ((<$integer>::from_le_bytes(*integer) >> <$half>::BITS) as $half).to_le_bytes();
            }
        }
    };
}
split!(split_2, u16, u8);
split!(split_4, u32, u16);
split!(split_16, u128, u64);

/// Sorts blocks of pairs of bytes, each into two planes of `count` bytes, from byte `at` of these on.
#[inline(always)]
fn put_pairs(blocks: &[u8], planes: &mut [u8], count: usize, at: usize) {
    for (block, start) in blocks.chunks_exact(2 * BLOCK_ITEMS).zip((at..).step_by(2 * count)) {
        let (low, high) = planes[start..].split_at_mut(count);
        split_2(block, &mut low[..BLOCK_ITEMS], &mut high[..BLOCK_ITEMS]);
    }
}

/// Sorts a block of items of 8 bytes into 8 planes, as [`put_pairs`].
#[inline(always)]
fn put_transposed(block: &[u8], planes: &mut [u8], count: usize, at: usize) {
    let matrices = block.as_chunks::<8>().0.as_chunks::<{ 8 * LANES }>().0;
    for (items, at) in matrices.iter().zip((at..).step_by(8 * LANES)) {
        let mut rows = from_fn(|row| from_fn(|lane| u64::from_le_bytes(items[8 * lane + row])));
        transpose(&mut rows);
        for (row, start) in rows.iter().zip((at..).step_by(count)) {
            let plane = &mut planes[start..start + 8 * LANES];
            for (to, word) in plane.as_chunks_mut().0.iter_mut().zip(row) {
                *to = word.to_le_bytes();
            }
        }
    }
}

/// Transposes matrices of 8 by 8 bytes: exchanges blocks of 1, 2 and 4 bytes beside the diagonal.
#[inline(always)]
fn transpose(rows: &mut [[u64; LANES]; 8]) {
    let masks = [(1, 0x00ff_00ff_00ff_00ff), (2, 0x0000_ffff_0000_ffff), (4, 0x0000_0000_ffff_ffff)];
    for (distance, mask) in masks {
        for low in (0..8).filter(|row| row & distance == 0) {
            let (above, below) = rows.split_at_mut(low + distance);
            for (a, b) in above[low].iter_mut().zip(&mut below[0]) {
                let differs = ((*a >> (8 * distance)) ^ *b) & mask;
                *b ^= differs;
                *a ^= differs << (8 * distance);
            }
        }
    }
}

/// The opposite of [`put_pairs`], for several blocks.
#[inline(always)]
fn take_pairs(planes: &[u8], count: usize, at: usize, blocks: &mut [u8]) {
    for (block, start) in blocks.chunks_exact_mut(2 * BLOCK_ITEMS).zip((at..).step_by(2 * count)) {
        let (low, high) = (&planes[start..], &planes[start + count..]);
        join::<1>(&low[..BLOCK_ITEMS], &high[..BLOCK_ITEMS], block);
    }
}

/// Joins the halves of items, halves of W bytes: each two blocks of halves become one of items.
#[inline(always)]
fn join_all<const W: usize>(from: &[u8], to: &mut [u8]) {
    let half = W * BLOCK_ITEMS;
    for (from, to) in from.chunks_exact(2 * half).zip(to.chunks_exact_mut(2 * half)) {
        join::<W>(&from[..half], &from[half..], to);
    }
}

#[inline(always)]
fn join<const W: usize>(low: &[u8], high: &[u8], to: &mut [u8]) {
    let to = to.as_chunks_mut::<W>().0.as_chunks_mut().0;
    for ((item, low), high) in to.iter_mut().zip(low.as_chunks().0).zip(high.as_chunks().0) {
        *item = [*low, *high];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One byte after the other.
    fn naive(data: &[u8], item_bytes: usize) -> Vec<u8> {
        let count = data.len() / item_bytes;
        let mut out: Vec<u8> =
            (0..item_bytes).flat_map(|byte| (0..count).map(move |i| data[i * item_bytes + byte])).collect();
        out.extend(&data[count * item_bytes..]);
        out
    }

    fn check(data: &[u8], item_bytes: usize) {
        let mut sorted = vec![0; data.len()];
        shuffle(data, item_bytes, &mut sorted);
        assert_eq!(sorted, naive(data, item_bytes), "{} bytes, items of {item_bytes}", data.len());
        let mut back = vec![0; data.len()];
        unshuffle(&sorted, item_bytes, &mut back);
        assert_eq!(back, data, "{} bytes, items of {item_bytes}", data.len());
    }

    #[test]
    fn bytes_are_sorted_and_come_back() {
        let data: Vec<u8> = (0..4000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for item_bytes in [1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 100, 2999, 3001] {
            for count in [0, 1, 2, 15, 16, 63, 64, 65, 128, 150] {
                for more in [0, 1, item_bytes - 1] {
                    check(&data[..(count * item_bytes + more).min(data.len())], item_bytes);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_sorted_and_come_back(
            data in prop::collection::vec(any::<u8>(), 0..4000), item_bytes in 1..20_usize,
        ) {
            check(&data, item_bytes);
        }
    }
}
