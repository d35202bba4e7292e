//! Byte shuffle: stores the first bytes of all items, then the second bytes, and so on. Similar numbers share
//! their first or last bytes, which then follow one another.
//!
//! The result is that of `numcodecs.shuffle` and of HDF5's shuffle filter. Bytes after the last whole item
//! are not moved.
//!
//! **Algorithm.** Items are shuffled in groups of 16, by vector instructions that interleave two rows of 16
//! bytes. Interleaving the first half of a sequence of n bytes with the second moves the byte at i to 2 i
//! modulo n − 1. Byte b of item i, of W bytes each, is at i W + b of the 16 W bytes of a group. Four
//! interleavings move it to 16 (i W + b), which is 16 b + i modulo 16 W − 1: the group is shuffled. If W is a
//! power of two, log2 W interleavings do the opposite. Items of other sizes, and of more than 8 bytes, are
//! divided into parts of such a size W; the last part overlaps the previous one if necessary. The parts
//! are collected for a block of items, and each part of the block is shuffled like items of W bytes.

use std::array::from_fn;
use wide::u8x16;

/// The items that are shuffled together, one for each byte of a row.
const GROUP_ITEMS: usize = 16;
/// The items in a block, in which one part after the other is shuffled. A cache may not hold a line of each
/// plane of 16-byte items, so lines are filled before others are begun.
const BLOCK_ITEMS: usize = 128;

/// Shuffles `data`, items of `item_bytes` bytes, into `out`, which has the same length. The item size may
/// come from a file: it may be any number, and no loop depends on it if there is no whole item.
pub fn shuffle(data: &[u8], item_bytes: usize, out: &mut [u8]) {
    if item_bytes <= 1 || item_bytes > data.len() {
        return out.copy_from_slice(data);
    }
    let count = data.len() / item_bytes;
    let in_groups = count / GROUP_ITEMS * GROUP_ITEMS;
    let (groups, rest) = data.split_at(in_groups * item_bytes);
    match item_bytes {
        2 => shuffle_groups::<2>(groups, 2, out, count),
        3 => shuffle_groups::<2>(groups, 3, out, count),
        4 => shuffle_groups::<4>(groups, 4, out, count),
        5..8 => shuffle_groups::<4>(groups, item_bytes, out, count),
        8 => shuffle_groups::<8>(groups, 8, out, count),
        16 => shuffle_groups::<8>(groups, 16, out, count),
        _ => shuffle_groups::<8>(groups, item_bytes, out, count),
    }
    let items = rest.chunks_exact(item_bytes);
    out[count * item_bytes..].copy_from_slice(items.remainder());
    for (item, at) in items.zip(in_groups..) {
        for (byte, start) in item.iter().zip((at..).step_by(count)) {
            out[start] = *byte;
        }
    }
}

/// The opposite of [`shuffle`].
pub fn unshuffle(data: &[u8], item_bytes: usize, out: &mut [u8]) {
    if item_bytes <= 1 || item_bytes > data.len() {
        return out.copy_from_slice(data);
    }
    let count = data.len() / item_bytes;
    let in_groups = count / GROUP_ITEMS * GROUP_ITEMS;
    let (groups, rest) = out.split_at_mut(in_groups * item_bytes);
    match item_bytes {
        2 => unshuffle_groups::<2>(data, 2, groups, count),
        3 => unshuffle_groups::<2>(data, 3, groups, count),
        4 => unshuffle_groups::<4>(data, 4, groups, count),
        5..8 => unshuffle_groups::<4>(data, item_bytes, groups, count),
        8 => unshuffle_groups::<8>(data, 8, groups, count),
        16 => unshuffle_groups::<8>(data, 16, groups, count),
        _ => unshuffle_groups::<8>(data, item_bytes, groups, count),
    }
    let mut items = rest.chunks_exact_mut(item_bytes);
    for (item, at) in items.by_ref().zip(in_groups..) {
        for (byte, start) in item.iter_mut().zip((at..).step_by(count)) {
            *byte = data[start];
        }
    }
    items.into_remainder().copy_from_slice(&data[count * item_bytes..]);
}

/// The offsets of parts of W bytes in an item of at least that size.
fn parts_of<const W: usize>(item_bytes: usize) -> impl Iterator<Item = usize> {
    let last = item_bytes - W;
    (0..last).step_by(W).chain([last])
}

/// Shuffles whole groups of the `count` items. The compiler makes faster code for blocks of known length.
#[inline(always)]
fn shuffle_groups<const W: usize>(groups: &[u8], item_bytes: usize, out: &mut [u8], count: usize) {
    let mut blocks = groups.chunks_exact(BLOCK_ITEMS * item_bytes);
    let mut done = 0;
    for block in blocks.by_ref() {
        shuffle_block::<W>(block, item_bytes, out, count, done);
        done += BLOCK_ITEMS;
    }
    shuffle_block::<W>(blocks.remainder(), item_bytes, out, count, done);
}

/// Shuffles a block, or a shorter one, from item `at` on.
#[inline(always)]
fn shuffle_block<const W: usize>(block: &[u8], item_bytes: usize, out: &mut [u8], count: usize, at: usize) {
    if item_bytes == W {
        return sort::<W>(block, out, count, at);
    }
    let mut parts = [[0; W]; BLOCK_ITEMS];
    let parts = &mut parts[..block.len() / item_bytes];
    for first in parts_of::<W>(item_bytes) {
        for (part, item) in parts.iter_mut().zip(block.chunks_exact(item_bytes)) {
            part.copy_from_slice(&item[first..first + W]);
        }
        sort::<W>(parts.as_flattened(), &mut out[first * count..], count, at);
    }
}

/// The opposite of [`shuffle_groups`].
#[inline(always)]
fn unshuffle_groups<const W: usize>(data: &[u8], item_bytes: usize, groups: &mut [u8], count: usize) {
    let mut blocks = groups.chunks_exact_mut(BLOCK_ITEMS * item_bytes);
    let mut done = 0;
    for block in blocks.by_ref() {
        unshuffle_block::<W>(data, item_bytes, block, count, done);
        done += BLOCK_ITEMS;
    }
    unshuffle_block::<W>(data, item_bytes, blocks.into_remainder(), count, done);
}

/// The opposite of [`shuffle_block`].
#[inline(always)]
fn unshuffle_block<const W: usize>(
    data: &[u8],
    item_bytes: usize,
    block: &mut [u8],
    count: usize,
    at: usize,
) {
    if item_bytes == W {
        return sort_back::<W>(data, count, at, block);
    }
    let mut parts = [[0; W]; BLOCK_ITEMS];
    let parts = &mut parts[..block.len() / item_bytes];
    for first in parts_of::<W>(item_bytes) {
        sort_back::<W>(&data[first * count..], count, at, parts.as_flattened_mut());
        for (part, item) in parts.iter().zip(block.chunks_exact_mut(item_bytes)) {
            item[first..first + W].copy_from_slice(part);
        }
    }
}

/// Shuffles groups of items of W bytes into W planes of `count` bytes, from byte `at` of each on.
#[inline(always)]
fn sort<const W: usize>(groups: &[u8], planes: &mut [u8], count: usize, at: usize) {
    let groups = groups.as_chunks().0.as_chunks::<W>().0;
    for (group, at) in groups.iter().zip((at..).step_by(GROUP_ITEMS)) {
        let rows = interleave(interleave(interleave(interleave(group.map(u8x16::new)))));
        for (row, start) in rows.iter().zip((at..).step_by(count)) {
            planes[start..start + GROUP_ITEMS].copy_from_slice(&row.to_array());
        }
    }
}

/// The opposite of [`sort`].
#[inline(always)]
fn sort_back<const W: usize>(planes: &[u8], count: usize, at: usize, groups: &mut [u8]) {
    let groups = groups.as_chunks_mut().0.as_chunks_mut::<W>().0;
    for (group, at) in groups.iter_mut().zip((at..).step_by(GROUP_ITEMS)) {
        let mut rows: [_; W] = from_fn(|byte| {
            let mut row = [0; GROUP_ITEMS];
            row.copy_from_slice(&planes[byte * count + at..][..GROUP_ITEMS]);
            u8x16::new(row)
        });
        rows = interleave(rows);
        if W >= 4 {
            rows = interleave(rows);
        }
        if W >= 8 {
            rows = interleave(rows);
        }
        for (to, row) in group.iter_mut().zip(rows) {
            *to = row.to_array();
        }
    }
}

/// Interleaves the bytes of the first half of the rows with those of the second half.
#[inline(always)]
fn interleave<const W: usize>(rows: [u8x16; W]) -> [u8x16; W] {
    from_fn(|i| {
        let (a, b) = (rows[i / 2], rows[W / 2 + i / 2]);
        if i % 2 == 0 { u8x16::unpack_low(a, b) } else { u8x16::unpack_high(a, b) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same, byte by byte.
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
        let data: Vec<u8> = (0..12_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for item_bytes in (1..=25).chain([40, 63, 100, 2999, 3001]) {
            for count in [0, 1, 2, 15, 16, 17, 32, 127, 128, 129, 150, 256, 300] {
                for more in [0, 1, item_bytes - 1] {
                    check(&data[..(count * item_bytes + more).min(data.len())], item_bytes);
                }
            }
        }
    }

    #[test]
    fn items_larger_than_the_data_cost_nothing() {
        let data = [1, 2, 3];
        for item_bytes in [4, usize::MAX].into_iter().chain((31..usize::BITS).map(|bit| 1 << bit)) {
            let (mut sorted, mut back) = ([0; 3], [0; 3]);
            shuffle(&data, item_bytes, &mut sorted);
            unshuffle(&sorted, item_bytes, &mut back);
            assert_eq!((sorted, back), (data, data), "items of {item_bytes} bytes");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_sorted_and_come_back(
            data in prop::collection::vec(any::<u8>(), 0..6000), item_bytes in 1..70_usize,
        ) {
            check(&data, item_bytes);
        }
    }
}
