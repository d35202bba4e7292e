//! The partition of N elements among P ranks (paper, section A.1).

use super::hash::{WrappingSum, mix_all, mix_and_sum};
use scda_base::error::{Error, Result};
use scda_base::numbers;
use std::ops::Deref;

/// A consecutive range of something that is distributed over the ranks: elements or bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// The sum of the counts of lower ranks: C_p of the paper.
    pub offset: u64,
    /// The count of this rank: N_p.
    pub count: u64,
    /// The sum of all counts: N.
    pub total: u64,
}

impl Partition {
    /// This rank's part, from the counts of all ranks.
    ///
    /// # Errors
    /// `Argument` if there is not one count for each rank, `Range` if their sum exceeds 63 bits.
    #[inline(always)]
    pub fn new(counts: &[u64], rank: usize, size: usize) -> Result<Self> {
        Self::summed(counts, rank, size, wrapping_sum)
    }

    /// Like [`Self::new`]. If there are many counts, passes all of them to `sum`, in order and in two parts.
    ///
    /// # Errors
    /// As of [`Self::new`].
    #[inline(always)]
    pub fn summed(
        counts: &[u64],
        rank: usize,
        size: usize,
        sum: impl FnMut(&[u64]) -> WrappingSum,
    ) -> Result<Self> {
        if is_known(counts) {
            return from_known(counts, rank, size);
        }
        if counts.len() != size {
            return Err(miscounted(counts.len(), size));
        }
        if let [count] = *counts {
            // Everything is on the only rank.
            let total = numbers::sum(0, count).ok_or_else(too_large)?;
            return Ok(Self { offset: 0, count, total });
        }
        let add = |sum, counts: &[u64]| counts.iter().try_fold(sum, |sum, &count| numbers::sum(sum, count));
        let (below, others) = counts.split_at(rank);
        let sums = if counts.len() > FEW {
            sums_of_many(below, others, sum)
        } else {
            add(0, below).and_then(|offset| Some((offset, add(offset, others)?)))
        };
        let (offset, total) = sums.ok_or_else(too_large)?;
        Ok(Self { offset, count: counts[rank], total })
    }

    /// Whether this rank has the first element.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.count > 0 && self.offset == 0
    }

    /// Whether this rank has the last element.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.count > 0 && self.offset + self.count == self.total
    }
}

/// A partition that is made once and replaces the counts of all ranks: a call that gets it takes the same
/// time on any number of ranks. It holds this rank's part of the partition, and a hash of all counts, with
/// which the ranks compare their arguments. Either all ranks pass a partition, or all pass the counts.
///
/// As a slice of numbers, it begins with a number of more than 63 bits, which cannot be a count.
///
/// ```
/// use scda::{Collective, Encode, PartitionTable, Solo, Source, WriteOptions, Writer};
/// # let file = std::env::temp_dir().join(format!("scda-known-{}", std::process::id()));
/// let mut writer = Writer::create(Solo, &file, b"", &WriteOptions::default())?;
/// let cells: PartitionTable = writer.partition(3)?; // from each rank's own number, once
/// writer.array(b"level", &cells, 1, Source::Contiguous(&[1, 2, 2]), Encode::None)?;
/// writer.array(b"age", &cells, 2, Source::Contiguous(&[0; 6]), Encode::None)?;
/// writer.close()?;
/// # std::fs::remove_file(&file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionTable([u64; KNOWN_WORDS]);

/// The numbers of a [`PartitionTable`]: mark, number of ranks, this rank, offset, count, total, hash of the
/// counts, and a hash of all these.
pub const KNOWN_WORDS: usize = 8;
/// The first of them.
const MARK: u64 = u64::from_be_bytes(*b"\xffscdapar");

impl PartitionTable {
    /// The partition of these counts of all ranks.
    ///
    /// # Errors
    /// `Argument` if there is not one count for each rank, `Range` if their sum exceeds 63 bits.
    pub fn new(counts: &[u64], rank: usize, size: usize) -> Result<Self> {
        let part = Partition::new(counts, rank, size)?;
        Ok(Self::from_part(part, hash_of_counts(counts), rank, size))
    }

    /// The partition in which this rank has `part`, with the hash of all counts.
    pub fn from_part(part: Partition, hash: u64, rank: usize, size: usize) -> Self {
        let Partition { offset, count, total } = part;
        let mut words = [MARK, size as u64, rank as u64, offset, count, total, hash, 0];
        words[KNOWN_WORDS - 1] = mix_all(0, &words[..KNOWN_WORDS - 1]);
        Self(words)
    }

    /// An invalid partition, which calls refuse.
    pub fn none() -> Self {
        let mut words = [0; KNOWN_WORDS];
        words[0] = MARK;
        Self(words)
    }

    /// From its numbers, which are checked where they are used.
    pub fn from_words(words: [u64; KNOWN_WORDS]) -> Self {
        Self(words)
    }

    /// The numbers.
    pub fn words(&self) -> [u64; KNOWN_WORDS] {
        self.0
    }

    /// The number of elements on lower ranks.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.0[3]
    }

    /// The number of elements on this rank.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0[4]
    }

    /// The number of elements on all ranks.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0[5]
    }
}

impl Deref for PartitionTable {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.0
    }
}

/// Whether these are the numbers of a [`PartitionTable`], rather than counts.
#[inline(always)]
pub fn is_known(counts: &[u64]) -> bool {
    counts.first() == Some(&MARK)
}

/// The count of this rank, from the numbers of a [`PartitionTable`].
pub fn known_count(counts: &[u64]) -> Option<u64> {
    if is_known(counts) { counts.get(4).copied() } else { None }
}

/// The hash of the counts that these numbers of a [`PartitionTable`] represent.
pub fn known_hash(counts: &[u64]) -> Option<u64> {
    if is_known(counts) { counts.get(6).copied() } else { None }
}

/// The hash of the counts of all ranks, which covers their number and each count.
pub fn hash_of_counts(counts: &[u64]) -> u64 {
    known_hash(counts).unwrap_or_else(|| mix_and_sum(counts.len() as u64, counts).0)
}

/// This rank's part, from the numbers of a [`PartitionTable`].
#[cold]
fn from_known(words: &[u64], rank: usize, size: usize) -> Result<Partition> {
    let &[_, of_size, of_rank, offset, count, total, _, check] = words else {
        return Err(not_made());
    };
    if check != mix_all(0, &words[..KNOWN_WORDS - 1]) {
        return Err(not_made());
    }
    if (of_rank, of_size) != (rank as u64, size as u64) {
        return Err(Error::argument(format!(
            "partition: found that of rank {of_rank} of {of_size}, expected that of rank {rank} of {size}"
        )));
    }
    Ok(Partition { offset, count, total })
}

fn not_made() -> Error {
    Error::argument("partition: it was not created, or its creation failed")
}

/// Up to this many counts are added one by one.
pub const FEW: usize = 16;

/// The sums of the counts of lower ranks, and of all, if they fit 63 bits.
#[inline(never)]
fn sums_of_many(
    below: &[u64],
    others: &[u64],
    mut sum: impl FnMut(&[u64]) -> WrappingSum,
) -> Option<(u64, u64)> {
    // Both sums are computed first, because `sum` must get all counts.
    let (below_sum, others_sum) = (sum(below), sum(others));
    let offset = total(below, below_sum)?;
    Some((offset, numbers::sum(offset, total(others, others_sum)?)?))
}

/// The sum of counts. Without a check in the loop, the compiler vectorizes it.
fn wrapping_sum(counts: &[u64]) -> WrappingSum {
    let start = WrappingSum { sum: 0, bits: 0 };
    counts.iter().fold(start, |WrappingSum { sum, bits }, &count| WrappingSum {
        sum: count.wrapping_add(sum),
        bits: bits | count,
    })
}

/// The sum of counts, if it fits 63 bits.
fn total(counts: &[u64], WrappingSum { sum, bits }: WrappingSum) -> Option<u64> {
    // The sum is not used if it may have wrapped.
    if bits <= numbers::MAX_OFFSET / counts.len().max(1) as u64 {
        return Some(sum);
    }
    counts.iter().try_fold(0, |sum, &count| numbers::sum(sum, count))
}

#[cold]
fn miscounted(found: usize, size: usize) -> Error {
    Error::argument(format!("partition: found {found} counts, expected one for each of {size} ranks"))
}

#[cold]
fn too_large() -> Error {
    Error::range("partition: the sum of the counts exceeds 63 bits")
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
    use scda_base::error::ErrorKind;

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
        let most = numbers::MAX_OFFSET;
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
            // The sum wraps 64 bits to a small number.
            let mut counts = vec![0; size];
            counts[..2].fill(1 << 63);
            assert_eq!(Partition::new(&counts, 0, size).unwrap_err().kind(), ErrorKind::Range);
        }
    }

    #[test]
    fn a_known_partition_stands_for_its_counts() {
        for counts in [&[0, 3, 0, 2, 0][..], &[7], &[1; 40]] {
            for rank in 0..counts.len() {
                let known = PartitionTable::new(counts, rank, counts.len()).unwrap();
                let part = Partition::new(counts, rank, counts.len()).unwrap();
                assert_eq!(Partition::new(&known, rank, counts.len()).unwrap(), part);
                assert_eq!(
                    Partition { offset: known.offset(), count: known.count(), total: known.total() },
                    part
                );
                assert_eq!(known_hash(&known), Some(hash_of_counts(counts)));
                assert_eq!(hash_of_counts(&known), hash_of_counts(counts));
                // Of another rank, of another number of ranks, and with one number changed.
                Partition::new(&known, rank + 1, counts.len()).unwrap_err();
                Partition::new(&known, rank, counts.len() + 1).unwrap_err();
                for word in 1..KNOWN_WORDS {
                    let mut other = known.0;
                    other[word] ^= 1;
                    Partition::new(&other, rank, counts.len()).unwrap_err();
                }
                Partition::new(&known.0[..3], rank, counts.len()).unwrap_err();
            }
        }
    }

    #[test]
    fn uniform_partitions_are_complete() {
        for (n, size) in [(0, 3), (1, 3), (u64::MAX, 7), (100, 1)] {
            assert_eq!(uniform_partition(n, size).iter().sum::<u64>(), n);
        }
    }
}
