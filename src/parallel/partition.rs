//! The partition of N elements among P ranks (paper, section A.1).

use crate::error::{Error, Result};
use crate::format::layout;

/// A consecutive range of something that is distributed over the ranks: elements or bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// What the ranks below this one have in all: C_p of the paper.
    pub offset: u64,
    /// What this rank has: N_p.
    pub count: u64,
    /// What all ranks have: N.
    pub total: u64,
}

impl Partition {
    /// This rank's part, given the counts of all ranks.
    ///
    /// # Errors
    /// `Argument` if there is not one count for each rank, `Range` if their sum exceeds 63 bits.
    #[inline(always)]
    pub fn new(counts: &[u64], rank: usize, size: usize) -> Result<Self> {
        Self::summed(counts, rank, size, wrapping_sum)
    }

    /// As [`Self::new`]. If there are many counts, `sum` gets all of them, in their order, in two pieces; of each it returns the sum modulo
    /// 2^64, and the bits that any count has.
    #[inline(always)]
    pub(crate) fn summed(
        counts: &[u64],
        rank: usize,
        size: usize,
        sum: impl FnMut(&[u64]) -> (u64, u64),
    ) -> Result<Self> {
        if counts.len() != size {
            return Err(miscounted(counts.len(), size));
        }
        if let [count] = *counts {
            // All is on the one rank.
            let total = layout::sum(0, count).ok_or_else(too_large)?;
            return Ok(Self { offset: 0, count, total });
        }
        let add = |sum, counts: &[u64]| counts.iter().try_fold(sum, |sum, &count| layout::sum(sum, count));
        let (below, others) = counts.split_at(rank);
        let sums = if counts.len() > FEW {
            sums_of_many(below, others, sum)
        } else {
            add(0, below).and_then(|offset| Some((offset, add(offset, others)?)))
        };
        let (offset, total) = sums.ok_or_else(too_large)?;
        Ok(Self { offset, count: counts[rank], total })
    }

    /// Whether this rank owns the first of all.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.count > 0 && self.offset == 0
    }

    /// Whether this rank owns the last of all.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.count > 0 && self.offset + self.count == self.total
    }
}

/// Up to so many counts are added one by one.
pub(crate) const FEW: usize = 16;

/// The sums of the counts below a rank, and of all, if they fit 63 bits.
#[inline(never)]
fn sums_of_many(
    below: &[u64],
    others: &[u64],
    mut sum: impl FnMut(&[u64]) -> (u64, u64),
) -> Option<(u64, u64)> {
    // Both sums first: `sum` gets all counts.
    let (below_sum, others_sum) = (sum(below), sum(others));
    let offset = total(below, below_sum)?;
    Some((offset, layout::sum(offset, total(others, others_sum)?)?))
}

/// The sum of counts modulo 2^64, and the bits that any of them has. Without a check in it, the loop takes several counts at once.
fn wrapping_sum(counts: &[u64]) -> (u64, u64) {
    counts.iter().fold((0, 0), |(sum, bits), &count| (count.wrapping_add(sum), bits | count))
}

/// The sum of counts, if it fits 63 bits, from what [`wrapping_sum`] returns for them.
fn total(counts: &[u64], (sum, bits): (u64, u64)) -> Option<u64> {
    // Wherever the sum can wrap, it is not used.
    if bits <= layout::MAX_OFFSET / counts.len().max(1) as u64 {
        return Some(sum);
    }
    counts.iter().try_fold(0, |sum, &count| layout::sum(sum, count))
}

#[cold]
fn miscounted(found: usize, size: usize) -> Error {
    Error::argument(format!("partition: found {found} counts, expected one for each of {size} ranks"))
}

#[cold]
fn too_large() -> Error {
    Error::range("partition: found counts whose sum exceeds 63 bits, expected it to fit")
}

/// The counts of `n` elements spread evenly over `size` ranks, in order.
///
/// ```
/// assert_eq!(scda::uniform_partition(10, 4), [2, 3, 2, 3]);
/// ```
#[must_use]
pub fn uniform_partition(n: u64, size: usize) -> Vec<u64> {
    let cut = |rank: usize| u128::from(n) * rank as u128 / size.max(1) as u128;
    // Each difference is at most n.
    (0..size).map(|rank| u64::try_from(cut(rank + 1) - cut(rank)).unwrap_or(n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn offsets_are_the_sums_of_the_ranks_below() {
        let part = |rank| Partition::new(&[0, 3, 0, 2, 0], rank, 5).unwrap();
        assert_eq!(part(1), Partition { offset: 0, count: 3, total: 5 });
        assert_eq!(part(3), Partition { offset: 3, count: 2, total: 5 });
        let first: Vec<bool> = (0..5).map(|rank| part(rank).is_first()).collect();
        let last: Vec<bool> = (0..5).map(|rank| part(rank).is_last()).collect();
        assert_eq!(first, [false, true, false, false, false]);
        assert_eq!(last, [false, false, false, true, false]);
    }

    #[test]
    fn counts_beyond_63_bits_are_out_of_range() {
        for counts in [[u64::MAX, 0], [1 << 62, 1 << 62], [u64::MAX, u64::MAX]] {
            assert_eq!(Partition::new(&counts, 0, 2).unwrap_err().kind(), ErrorKind::Range);
        }
        assert_eq!(Partition::new(&[1], 0, 2).unwrap_err().kind(), ErrorKind::Argument);
    }

    #[test]
    fn the_sums_of_many_counts_are_exact() {
        let most = layout::MAX_OFFSET;
        for size in [FEW, FEW + 1, 1000] {
            for (rank, large) in [(0, size - 1), (size - 1, 0), (size / 2, size / 2)] {
                let mut counts: Vec<u64> = (0..size as u64).collect();
                let rest = counts.iter().sum::<u64>() - counts[large];
                counts[large] = most - rest;
                let part = Partition::new(&counts, rank, size).unwrap();
                let offset = counts[..rank].iter().sum();
                assert_eq!(part, Partition { offset, count: counts[rank], total: most });
                for wrong in [counts[large] + 1, most + 1, u64::MAX] {
                    counts[large] = wrong;
                    assert_eq!(Partition::new(&counts, rank, size).unwrap_err().kind(), ErrorKind::Range);
                }
            }
            // The sum of 64 bits is a small one.
            let mut counts = vec![0; size];
            counts[..2].fill(1 << 63);
            assert_eq!(Partition::new(&counts, 0, size).unwrap_err().kind(), ErrorKind::Range);
        }
    }

    #[test]
    fn uniform_partitions_are_complete() {
        for (n, size) in [(0, 3), (1, 3), (u64::MAX, 7), (100, 1)] {
            assert_eq!(uniform_partition(n, size).iter().sum::<u64>(), n);
        }
    }
}
