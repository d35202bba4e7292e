//! Parts of chunks, and the datasets that they belong to.

use super::wire::relative;
use super::{ChunkPart, PlannedArray};
use crate::file::writer::datasets::selection::Selection;
use scda_base::error::Result;
use scda_base::memory::resize;
use scda_base::numbers::to_usize;
use scda_format::dataset::{ChunkGrid, Dataset, IndexBox, MAX_DIMENSIONS, Runs};

/// In chunks of at most this many parts, each pair is compared; in others, a bitmap records the items.
const FEW_PARTS: usize = 8;

/// A chunk assembled from its parts.
pub(in crate::file::writer::datasets) enum Chunk<'a> {
    /// All items have the fill value.
    Fill,
    /// Its bytes.
    Bytes(&'a [u8]),
    /// The first index that two parts have.
    Overlap(Vec<u64>),
    /// Its data were not sent, because another chunk has an overlap.
    Unknown,
}

impl<'a> PlannedArray<'a> {
    pub fn new(dataset: &Dataset, grid: ChunkGrid, selection: &'a Selection<'a>) -> Self {
        Self {
            grid,
            item_bytes: to_usize(dataset.data_type.item_bytes()),
            fill: dataset.fill_item().into_owned(),
            selection,
            first: 0,
        }
    }
}

impl PlannedArray<'_> {
    /// The part of a chunk in a box of this rank.
    pub(super) fn own_part(&self, chunk: &IndexBox, number: usize) -> Option<ChunkPart<'_>> {
        let region = &self.selection.regions()[number];
        let part = chunk.intersection(region)?;
        let from_start = part.start.iter().zip(&region.start).map(|(part, region)| part - region).collect();
        Some(ChunkPart {
            items: part.count.iter().product(),
            region: relative(part, chunk),
            from: self.selection.items(number),
            within: Some((&region.count, from_start)),
        })
    }

    /// Fills memory with the fill value.
    pub fn put_fill(&self, bytes: &mut [u8]) {
        if self.fill.iter().all(|&byte| byte == self.fill[0]) {
            return bytes.fill(self.fill[0]);
        }
        for item in bytes.chunks_exact_mut(self.item_bytes) {
            item.copy_from_slice(&self.fill);
        }
    }

    /// Whether the fill value consists of zero bytes.
    pub fn is_filled_with_zeros(&self) -> bool {
        self.fill.iter().all(|&byte| byte == 0)
    }

    /// Whether all items are the fill value.
    pub(super) fn is_fill(&self, bytes: &[u8]) -> bool {
        // Each item equals the previous one.
        bytes.starts_with(&self.fill) && bytes[self.item_bytes..] == bytes[..bytes.len() - self.item_bytes]
    }
}

/// The first item, as a number in C order, that two parts of a chunk of this shape have.
pub(super) fn first_overlap(shape: &[u64], parts: &[ChunkPart<'_>]) -> Result<Option<u64>> {
    let number = |index: &[u64]| index.iter().zip(shape).fold(0, |at, (index, n)| at * n + index);
    if parts.len() <= FEW_PARTS {
        let pairs =
            parts.iter().enumerate().flat_map(|(i, part)| parts[..i].iter().map(move |other| (part, other)));
        let common = pairs.filter_map(|(part, other)| part.region.intersection(&other.region));
        return Ok(common.map(|common| number(&common.start)).min());
    }
    let mut bits = Bits::new(shape.iter().product())?;
    let runs = parts.iter().flat_map(|part| part.runs((shape, &part.region.start)));
    Ok(runs.filter_map(|run| bits.set(run.to, run.items)).min())
}

impl ChunkPart<'_> {
    /// The runs of its items, from where they are to an array in which the box begins at an index.
    pub(super) fn runs(&self, to: (&[u64], &[u64])) -> Runs {
        let count = &self.region.count;
        match &self.within {
            Some((shape, start)) => Runs::new(count, (shape, start), to),
            None => Runs::new(count, (count, &[0; MAX_DIMENSIONS][..count.len()]), to),
        }
    }
}

/// A bitmap of items.
struct Bits(Vec<u64>);

impl Bits {
    fn new(items: u64) -> Result<Self> {
        let mut words = Vec::new();
        resize(&mut words, items.div_ceil(64))?;
        Ok(Self(words))
    }

    /// Records items; returns the first of them that was recorded before.
    fn set(&mut self, start: u64, count: u64) -> Option<u64> {
        let end = start + count;
        let (mut at, mut found) = (start, None);
        while at < end {
            let (word, bit) = (to_usize(at / 64), at % 64);
            let now = (64 - bit).min(end - at);
            let mask = (u64::MAX >> (64 - now)) << bit;
            let both = self.0[word] & mask;
            if both != 0 && found.is_none() {
                found = Some(at - bit + u64::from(both.trailing_zeros()));
            }
            self.0[word] |= mask;
            at += now;
        }
        found
    }
}
