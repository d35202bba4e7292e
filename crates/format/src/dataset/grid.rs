//! How a dataset is divided into chunks.

use super::index_box::{IndexBox, too_many};
use crate::layout::product;
use scda_base::error::{Error, Result};
use scda_base::memory::reserve;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

/// The most bytes of a chunk whose shape the user leaves open. Measurements (docs/performance.md, "Chunks of
/// datasets"), which are alike for all types, show that larger chunks are hardly smaller compressed, and are
/// read more slowly.
const DEFAULT_CHUNK_BYTES: u64 = 512 << 10;

/// The array of a dataset, cut into chunks of one shape, in C order. Chunks at the end of a dimension extend
/// beyond the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkGrid {
    shape: Vec<u64>,
    chunk: Vec<u64>,
    /// The number of chunks in each dimension.
    counts: Vec<u64>,
    chunks: u64,
    chunk_bytes: u64,
}

impl ChunkGrid {
    /// Cuts an array with items of `item_bytes` bytes into chunks of shape `chunk`.
    ///
    /// # Errors
    /// `Argument` for a chunk shape of another number of dimensions or with a 0; `Range` where the bytes of the array or
    /// of all chunks exceed 63 bits.
    pub fn new(shape: &[u64], chunk: &[u64], item_bytes: u64) -> Result<Self> {
        if chunk.len() != shape.len() {
            return Err(Error::argument(format!(
                "chunk shape: found {} dimensions, expected {}",
                chunk.len(),
                shape.len()
            )));
        }
        if let Some(dimension) = chunk.iter().position(|&n| n == 0) {
            return Err(Error::argument(format!(
                "chunk shape: found 0 in dimension {dimension}, expected at least 1"
            )));
        }
        let counts: Vec<u64> = shape.iter().zip(chunk).map(|(n, chunk)| n.div_ceil(*chunk)).collect();
        // So that no product of some of the dimensions exceeds 63 bits either, where one is 0.
        let bytes_of = |what, shape: &[u64], start| {
            let bytes = shape.iter().try_fold(start, |all, &n| product(all, n.max(1)));
            bytes.ok_or_else(|| too_many(what, shape))
        };
        bytes_of("shape", shape, item_bytes)?;
        let chunk_bytes = bytes_of("chunk shape", chunk, item_bytes)?;
        bytes_of("chunks", &counts, chunk_bytes)?;
        let chunks = counts.iter().product();
        Ok(Self { shape: shape.to_vec(), chunk: chunk.to_vec(), counts, chunks, chunk_bytes })
    }

    /// Cuts an array into parts of at most about `most` bytes that follow one another in C order.
    ///
    /// # Errors
    /// `Range` where the bytes of the array exceed 63 bits.
    pub fn of_runs(shape: &[u64], item_bytes: u64, most: u64) -> Result<Self> {
        let mut strip = vec![1; shape.len()];
        let mut bytes = item_bytes;
        for (strip, &n) in strip.iter_mut().zip(shape).rev() {
            *strip = (most / bytes).clamp(1, n.max(1));
            bytes *= *strip;
            if *strip < n {
                break;
            }
        }
        Self::new(shape, &strip, item_bytes)
    }

    /// The shape of a chunk.
    pub fn chunk_shape(&self) -> &[u64] {
        &self.chunk
    }

    /// The number of chunks.
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// The bytes of a chunk, which is stored whole even where it extends beyond the array.
    pub fn chunk_bytes(&self) -> u64 {
        self.chunk_bytes
    }

    /// The part of the array that a chunk covers.
    pub fn region_of(&self, chunk: u64) -> IndexBox {
        let mut region = IndexBox::all(&self.chunk);
        let mut rest = chunk;
        for dimension in (0..self.counts.len()).rev() {
            let start = rest % self.counts[dimension] * self.chunk[dimension];
            rest /= self.counts[dimension];
            region.start[dimension] = start;
            region.count[dimension] = self.chunk[dimension].min(self.shape[dimension] - start);
        }
        region
    }

    /// The number of chunks of a layer, the smallest group whose items follow one another in C order.
    pub fn layer_chunks(&self) -> u64 {
        let thick = self.chunk.iter().position(|&n| n > 1).unwrap_or(self.chunk.len());
        self.counts.iter().skip(thick + 1).product()
    }

    /// At most `most` chunks from `first` on that form a box, and the items of that box. `first` is 0 or the
    /// end of the previous such box. If `most` is at least a layer, the items follow one another in C order.
    pub fn slab(&self, first: u64, most: u64) -> (Range<u64>, IndexBox) {
        let mut region = self.region_of(first);
        let mut chunks = 1;
        for dimension in (0..self.counts.len()).rev() {
            let index = region.start[dimension] / self.chunk[dimension];
            let more = (most / chunks).min(self.counts[dimension] - index);
            let end = (region.start[dimension] + more * self.chunk[dimension]).min(self.shape[dimension]);
            region.count[dimension] = end - region.start[dimension];
            chunks *= more;
            if more < self.counts[dimension] {
                break;
            }
        }
        (first..first + chunks, region)
    }

    /// How many items of a box that lies in the array are in a chunk.
    pub fn items_of(&self, chunk: u64, region: &IndexBox) -> u64 {
        let (mut rest, mut items) = (chunk, 1);
        for dimension in (0..self.counts.len()).rev() {
            let start = rest % self.counts[dimension] * self.chunk[dimension];
            rest /= self.counts[dimension];
            let end = (start + self.chunk[dimension]).min(region.start[dimension] + region.count[dimension]);
            items *= end.saturating_sub(start.max(region.start[dimension]));
        }
        items
    }

    /// The chunks that have items of a box that lies in the array.
    pub fn touched_by(&self, region: &IndexBox) -> ChunkBox {
        let mut touched = ChunkBox { first: 0, steps: Vec::new(), count: 1 };
        let mut step = 1;
        for dimension in (0..self.counts.len()).rev() {
            let (start, count) = (region.start[dimension], region.count[dimension]);
            let chunk = self.chunk[dimension];
            let first = start / chunk;
            let n = if count == 0 { 0 } else { (start + count - 1) / chunk - first + 1 };
            touched.first += first * step;
            touched.steps.push((n, step));
            touched.count *= n;
            step *= self.counts[dimension];
        }
        touched
    }
}

/// The chunks that have items of a box: they form a box of chunks.
#[derive(Clone, Debug)]
pub struct ChunkBox {
    first: u64,
    /// From the last dimension to the first: the number of chunks, and the distance from each to the next.
    steps: Vec<(u64, u64)>,
    count: u64,
}

impl ChunkBox {
    /// The number of these chunks.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The chunk at this position among them, in ascending order.
    pub fn nth(&self, number: u64) -> Option<u64> {
        if number >= self.count {
            return None;
        }
        let mut rest = number;
        Some(self.steps.iter().fold(self.first, |chunk, &(n, step)| {
            let index = rest % n;
            rest /= n;
            chunk + index * step
        }))
    }
}

/// Visits the chunks that have items of any of several boxes: yields each chunk, in ascending order, with the
/// number of a box.
pub struct Visits {
    regions: Vec<ChunkBox>,
    /// For each unfinished box: its next chunk, the number of the box, and the position of the chunk in it.
    next: BinaryHeap<Reverse<(u64, usize, u64)>>,
}

impl Visits {
    /// For these boxes, which lie in the array.
    ///
    /// # Errors
    /// `Memory`.
    pub fn new(grid: &ChunkGrid, regions: &[IndexBox]) -> Result<Self> {
        let (mut touched, mut next) = (Vec::new(), Vec::new());
        reserve(&mut touched, regions.len())?;
        reserve(&mut next, regions.len())?;
        for (index, region) in regions.iter().enumerate() {
            let chunks = grid.touched_by(region);
            next.extend(chunks.nth(0).map(|first| Reverse((first, index, 0))));
            touched.push(chunks);
        }
        Ok(Self { regions: touched, next: next.into() })
    }

    /// The chunk that comes next.
    pub fn peek(&self) -> Option<u64> {
        self.next.peek().map(|Reverse((chunk, ..))| *chunk)
    }
}

impl Iterator for Visits {
    type Item = (u64, usize);

    fn next(&mut self) -> Option<(u64, usize)> {
        let mut first = self.next.peek_mut()?;
        let Reverse((chunk, region, number)) = *first;
        match self.regions[region].nth(number + 1) {
            Some(next) => *first = Reverse((next, region, number + 1)),
            None => drop(PeekMut::pop(first)),
        }
        Some((chunk, region))
    }
}

/// The shape of chunks if the user gives none: the shape of the array, with the largest dimension (the first
/// of several) halved until a chunk is small enough. So the chunks at the ends extend little beyond the
/// array.
pub fn default_chunk_shape(shape: &[u64], item_bytes: u64) -> Vec<u64> {
    let mut chunk: Vec<u64> = shape.iter().map(|&n| n.max(1)).collect();
    let is_small = |chunk: &[u64]| {
        let bytes = chunk.iter().try_fold(item_bytes, |all, &n| product(all, n));
        bytes.is_some_and(|bytes| bytes <= DEFAULT_CHUNK_BYTES)
    };
    while !is_small(&chunk) {
        let largest = chunk.iter_mut().rev().max_by_key(|n| **n).filter(|n| **n > 1);
        let Some(largest) = largest else { break };
        *largest = largest.div_ceil(2);
    }
    chunk
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use scda_base::error::ErrorKind;

    #[test]
    fn products_are_bounded_by_63_bits() {
        let grid =
            |shape: &[u64], chunk: &[u64], item| ChunkGrid::new(shape, chunk, item).map_err(|e| e.kind());
        for (shape, chunk, item) in [
            (&[1 << 60][..], &[1][..], 8),
            (&[1 << 32, 1 << 31], &[1, 1], 1),
            (&[1], &[1 << 62], 2),
            (&[0, 1 << 40, 1 << 40], &[1, 1, 1], 1),
            // The array fits; whole chunks do not.
            (&[(1 << 61) + 1], &[1 << 61], 2),
            (&[u64::MAX], &[1], 1),
        ] {
            assert_eq!(grid(shape, chunk, item), Err(ErrorKind::Range), "{shape:?}");
        }
        assert_eq!(grid(&[4], &[0], 1), Err(ErrorKind::Argument));
        assert_eq!(grid(&[4], &[1, 1], 1), Err(ErrorKind::Argument));
        let grid = grid(&[1 << 40, 3], &[1, 2], 8).unwrap();
        assert_eq!((grid.chunks(), grid.chunk_bytes()), (2 << 40, 16));
    }

    #[test]
    fn arrays_without_items_and_without_dimensions() {
        for (shape, chunks) in [(&[0_u64, 5][..], 0), (&[3, 0], 0), (&[], 1), (&[1], 1)] {
            let chunk = default_chunk_shape(shape, 8);
            assert_eq!(ChunkGrid::new(shape, &chunk, 8).unwrap().chunks(), chunks, "{shape:?}");
        }
        let grid = ChunkGrid::new(&[], &[], 8).unwrap();
        assert_eq!((grid.chunk_bytes(), grid.region_of(0)), (8, IndexBox::all(&[])));
        assert_eq!(grid.touched_by(&IndexBox::all(&[])).nth(0), Some(0));
    }

    #[test]
    fn default_chunks() {
        assert_eq!(default_chunk_shape(&[100, 5], 8), [100, 5]);
        assert_eq!(default_chunk_shape(&[1 << 20], 8), [1 << 16]);
        assert_eq!(default_chunk_shape(&[512, 512, 512], 8), [32, 32, 64]);
        assert_eq!(default_chunk_shape(&[1_000_003, 5], 8), [7813, 5]);
        assert_eq!(default_chunk_shape(&[3], 1 << 24), [1]);
        assert!(default_chunk_shape(&[], 8).is_empty());
        let most = default_chunk_shape(&[u64::MAX, u64::MAX], 1);
        assert!(most.iter().product::<u64>() <= DEFAULT_CHUNK_BYTES);
    }

    proptest! {
        #[test]
        fn each_item_is_in_one_chunk(
            dimensions in prop::collection::vec((0..7_u64, 1..5_u64, 0..7_u64, 0..7_u64), 0..4),
        ) {
            let shape: Vec<u64> = dimensions.iter().map(|d| d.0).collect();
            let chunk: Vec<u64> = dimensions.iter().map(|d| d.1).collect();
            let grid = ChunkGrid::new(&shape, &chunk, 1).unwrap();
            let items: u64 = (0..grid.chunks()).map(|n| grid.region_of(n).items().unwrap()).sum();
            prop_assert_eq!(items, shape.iter().product::<u64>());

            let start: Vec<u64> = dimensions.iter().map(|d| d.2.min(d.0)).collect();
            let count = dimensions.iter().zip(&start).map(|(d, start)| d.3.min(d.0 - start));
            let region = IndexBox::new(start.clone(), count.collect::<Vec<_>>());
            let touched = grid.touched_by(&region);
            let found: Vec<u64> = (0..touched.count()).filter_map(|n| touched.nth(n)).collect();
            let meets = |&n: &u64| grid.region_of(n).intersection(&region).is_some();
            let naive: Vec<u64> = (0..grid.chunks()).filter(meets).collect();
            prop_assert_eq!(&found, &naive);
            prop_assert_eq!(touched.nth(touched.count()), None);
            for chunk in 0..grid.chunks() {
                let common = grid.region_of(chunk).intersection(&region).map_or(0, |part| part.items().unwrap());
                prop_assert_eq!(grid.items_of(chunk, &region), common);
            }

            let all = IndexBox::all(&shape);
            let mut expected: Vec<_> = naive.iter().map(|&n| (n, 1)).collect();
            expected.extend((0..grid.chunks()).flat_map(|n| [(n, 0), (n, 2)]));
            expected.sort_unstable();
            let visits = Visits::new(&grid, &[all.clone(), region, all]).unwrap();
            prop_assert_eq!(visits.collect::<Vec<_>>(), expected);
        }
    }
}
