//! The rows of an array that each rank has, if all ranks know them, so that each knows what it gets from the
//! others.

use super::owners::Owners;
use scda_base::error::Result;
use scda_format::dataset::{ChunkGrid, IndexBox};
use std::ops::Range;

/// Indices of the first dimension, in the order of the ranks.
pub(super) struct Rows {
    rows: Owners,
    shape: Vec<u64>,
    /// The rows in a chunk, and the number of chunks with the same rows.
    chunk_rows: u64,
    chunks_per_layer: u64,
}

impl Rows {
    /// The rows of an array of which the ranks have these counts.
    ///
    /// # Errors
    /// `Memory`.
    pub fn new(counts: &[u64], shape: &[u64], grid: &ChunkGrid) -> Result<Self> {
        let chunk_rows = grid.chunk_shape()[0];
        let rows = counts.iter().sum::<u64>();
        let chunks_per_layer = grid.chunks() / rows.div_ceil(chunk_rows).max(1);
        let rows = Owners::of_counts(counts.iter().copied())?;
        Ok(Self { rows, shape: shape.to_vec(), chunk_rows, chunks_per_layer })
    }

    /// The part of the array that a rank has.
    pub fn region(&self, rank: usize) -> IndexBox {
        let Range { start, end } = self.rows.of(rank);
        let mut region = IndexBox::all(&self.shape);
        (region.start[0], region.count[0]) = (start, end - start);
        region
    }

    /// The chunks of which a rank has items.
    pub fn chunks_of(&self, rank: usize) -> Range<u64> {
        let Range { start, end } = self.rows.of(rank);
        if start == end {
            return 0..0;
        }
        start / self.chunk_rows * self.chunks_per_layer..end.div_ceil(self.chunk_rows) * self.chunks_per_layer
    }

    /// The ranks that have items of these chunks, and perhaps some that have no rows.
    pub fn ranks_with(&self, chunks: &Range<u64>) -> Range<usize> {
        if chunks.is_empty() || self.chunks_per_layer == 0 {
            return 0..0;
        }
        let first = chunks.start / self.chunks_per_layer * self.chunk_rows;
        self.rows.with(&(first..chunks.end.div_ceil(self.chunks_per_layer) * self.chunk_rows))
    }

    /// Whether a rank has items of a chunk that another one owns.
    pub fn cross(&self, owners: &Owners) -> bool {
        (0..self.rows.ranks()).any(|rank| {
            let (touched, own) = (self.chunks_of(rank), owners.of(rank));
            !touched.is_empty() && (touched.start < own.start || touched.end > own.end)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_ranks_of_chunks_are_those_that_have_items_of_them(
            counts in prop::collection::vec(0..9_u64, 1..8), columns in 0..7_u64, chunk in (1..5_u64, 1..4_u64),
        ) {
            let shape = [counts.iter().sum(), columns];
            let grid = ChunkGrid::new(&shape, &[chunk.0, chunk.1], 1).unwrap();
            let rows = Rows::new(&counts, &shape, &grid).unwrap();
            let touches = |rank: usize, chunk: u64| grid.region_of(chunk).intersection(&rows.region(rank)).is_some();
            for rank in 0..counts.len() {
                let expected: Vec<u64> = (0..grid.chunks()).filter(|&chunk| touches(rank, chunk)).collect();
                prop_assert_eq!(rows.chunks_of(rank).collect::<Vec<u64>>(), expected);
            }
            for start in 0..grid.chunks() {
                for end in start + 1..=grid.chunks() {
                    let found = rows.ranks_with(&(start..end));
                    for rank in 0..counts.len() {
                        let has_some = (start..end).any(|chunk| touches(rank, chunk));
                        prop_assert!(!has_some || found.contains(&rank), "{start}..{end}: {rank} of {found:?}");
                    }
                }
            }
        }
    }
}
