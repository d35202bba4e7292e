//! Assigns chunks to the ranks that compress and write them, or rows to those that pass them: consecutive ones,
//! in the order of the ranks.

use scda_base::error::Result;
use scda_base::memory::{reserve, resize};
use scda_base::numbers::to_usize;
use scda_ranks::uniform_partition;
use std::ops::Range;

/// The bytes of chunks are counted in at most this many bins.
const MOST_BINS: u64 = 1024;
/// A chunk of which nothing is passed takes this fraction of the time of another.
const EMPTY_SHARE: u64 = 64;

/// The first chunk or row of each rank, and the number of all.
pub(super) struct Owners(Vec<u64>);

impl Owners {
    /// All ranks have the same number of chunks.
    ///
    /// # Errors
    /// `Memory`.
    pub fn uniform(chunks: u64, ranks: usize) -> Result<Self> {
        Self::of_counts(uniform_partition(chunks, ranks).into_iter())
    }

    /// The ranks have these numbers of chunks.
    ///
    /// # Errors
    /// `Memory`.
    pub fn of_counts(counts: impl ExactSizeIterator<Item = u64>) -> Result<Self> {
        let (mut starts, mut end) = (Vec::new(), 0);
        reserve(&mut starts, counts.len() + 1)?;
        starts.push(0);
        starts.extend(counts.map(|count| {
            end += count;
            end
        }));
        Ok(Self(starts))
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.0.len() - 1
    }

    /// The chunks of a rank.
    pub fn of(&self, rank: usize) -> Range<u64> {
        self.0[rank]..self.0[rank + 1]
    }

    /// The ranks that own these chunks, and perhaps some that own none.
    pub fn with(&self, chunks: &Range<u64>) -> Range<usize> {
        if chunks.is_empty() {
            return 0..0;
        }
        let ranks = &self.0[..self.ranks()];
        // If several ranks begin at the same chunk, the last one has it.
        let from = ranks.partition_point(|&start| start <= chunks.start).saturating_sub(1);
        from..ranks.partition_point(|&start| start < chunks.end).max(from)
    }

    /// The most chunks of any rank.
    pub fn most(&self) -> u64 {
        self.0.windows(2).map(|owner| owner[1] - owner[0]).max().unwrap_or(0)
    }

    /// Distributes chunks so that each rank's take about the same time.
    pub fn balance(&mut self, bins: &Bins) {
        let total: u128 = bins.all().map(|(.., weight)| weight).sum();
        let ranks = self.ranks();
        let (mut bins, mut below) = (bins.all().peekable(), 0);
        for rank in 1..ranks {
            let wanted = total * rank as u128 / ranks as u128;
            while let Some((.., weight)) = bins.next_if(|(.., weight)| below + weight <= wanted) {
                below += weight;
            }
            if let Some(&(start, count, weight)) = bins.peek() {
                // The nearest chunk, if all chunks of the bin take the same time.
                let chunks = ((wanted - below) * u128::from(count) + weight / 2) / weight;
                self.0[rank] = start + u64::try_from(chunks).unwrap_or(count).min(count);
            }
        }
    }
}

/// The bytes passed of consecutive chunks, in bins.
pub(super) struct Bins {
    chunks: u64,
    chunk_bytes: u64,
    /// The number of chunks in a bin.
    step: u64,
    /// The bytes in each bin, followed by a 1, so that the sums over ranks are not all 0.
    sums: Vec<u64>,
}

impl Bins {
    /// # Errors
    /// `Memory`.
    pub fn new(chunks: u64, chunk_bytes: u64) -> Result<Self> {
        let step = chunks.div_ceil(MOST_BINS).max(1);
        let mut sums = Vec::new();
        resize(&mut sums, chunks.div_ceil(step) + 1)?;
        sums[to_usize(chunks.div_ceil(step))] = 1;
        Ok(Self { chunks, chunk_bytes, step, sums })
    }

    /// Adds bytes of a chunk.
    pub fn add(&mut self, chunk: u64, bytes: u64) {
        self.sums[to_usize(chunk / self.step)] += bytes;
    }

    /// The bytes, to be summed over all ranks.
    pub fn sums(&mut self) -> &mut [u64] {
        &mut self.sums
    }

    /// Each bin: its first chunk, the number of its chunks, and the time that they take, which is not 0.
    fn all(&self) -> impl Iterator<Item = (u64, u64, u128)> {
        let empty = u128::from(self.chunk_bytes.div_ceil(EMPTY_SHARE));
        (0..self.chunks).step_by(to_usize(self.step)).zip(&self.sums).map(move |(start, &bytes)| {
            let count = self.step.min(self.chunks - start);
            (start, count, u128::from(bytes) + u128::from(count) * empty)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The number of chunks of each rank if 1000 bytes are passed of some chunks.
    fn counts(chunks: u64, ranks: usize, passed: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut owners = Owners::uniform(chunks, ranks).unwrap();
        let mut bins = Bins::new(chunks, 1000).unwrap();
        passed.into_iter().for_each(|chunk| bins.add(chunk, 1000));
        owners.balance(&bins);
        (0..ranks).map(|rank| owners.of(rank)).map(|own| own.end - own.start).collect()
    }

    #[test]
    fn ranks_get_as_many_bytes() {
        assert_eq!(counts(12, 4, 0..12), [3; 4]);
        assert_eq!(counts(10, 3, 0..10), [3, 4, 3]);
        // A corner, and the end.
        assert_eq!(counts(1000, 4, 0..100), [29, 28, 29, 914]);
        assert_eq!(counts(1000, 2, 900..1000), [943, 57]);
        // More than there are bins.
        assert_eq!(counts(1 << 20, 4, 0..1 << 20), [1 << 18; 4]);
        assert_eq!(counts(1 << 20, 4, []), [1 << 18; 4]);
        let corner = counts(1 << 20, 2, 0..1 << 16);
        assert!((40_000..41_000).contains(&corner[0]), "{corner:?}");
        // More ranks than chunks.
        assert_eq!(counts(2, 4, 0..2), [1, 0, 1, 0]);
        assert_eq!(counts(0, 2, []), [0; 2]);
    }

    proptest! {
        #[test]
        fn nobody_has_much_more_than_the_others(
            chunks in 1..3000_u64, ranks in 1..9_usize, passed in prop::collection::vec(any::<u64>(), 0..300),
        ) {
            let passed: Vec<u64> = passed.iter().map(|n| n % chunks).collect();
            let mut owners = Owners::uniform(chunks, ranks).unwrap();
            let mut bins = Bins::new(chunks, 1000).unwrap();
            passed.iter().for_each(|&chunk| bins.add(chunk, 1000));
            owners.balance(&bins);
            let all: u64 = (0..ranks).map(|rank| owners.of(rank).count() as u64).sum();
            prop_assert_eq!(all, chunks);
            let weights: Vec<u128> = bins.all().map(|(.., weight)| weight).collect();
            let (total, most) = (weights.iter().sum::<u128>(), weights.iter().max().unwrap());
            let step = bins.step;
            for own in (0..ranks).map(|rank| owners.of(rank)) {
                let weight: u128 = own.clone().map(|chunk| weights[to_usize(chunk / step)] / u128::from(step)).sum();
                prop_assert!(weight <= total / ranks as u128 + 2 * most, "{own:?} of {total}: {weight}");
            }
        }
    }
}
