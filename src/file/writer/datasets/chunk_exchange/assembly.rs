//! Assembles the chunks of a round from their parts.

use super::parts::{Chunk, first_overlap};
use super::wire::torn;
use super::{Batch, ChunkPart, Place, Plan, PlannedArray};
use crate::file::writer::datasets::selection::Origin;
use crate::file::writer::output::HOLE_BYTES;
use scda_base::error::Result;
use scda_base::memory::{grow, reserve};
use scda_base::numbers::to_usize;
use scda_format::dataset::{CommonRun, IndexBox};

/// A sparse chunk has at most one run per this number of bytes, which bounds the memory for its runs.
const BYTES_OF_RUN: u64 = 4 << 10;
/// Copying runs of this size takes longer than the system call that writes each.
const LONG_RUN_BYTES: u64 = 64 << 10;

/// A run of consecutive items of a part, and where the part is in memory.
type PartRun<'a> = (CommonRun, Origin<'a>);

/// The parts of a chunk of the batch.
pub(in crate::file::writer::datasets) struct ChunkParts<'a> {
    array: &'a PlannedArray<'a>,
    /// The box of the dataset that the chunk covers.
    region: IndexBox,
    parts: Vec<ChunkPart<'a>>,
    /// Whether the data of the parts were sent.
    has_data: bool,
}

impl Plan<'_> {
    /// The parts of a chunk.
    pub fn parts_of_chunk<'b>(&'b self, batch: &'b Batch, chunk: u64) -> Result<ChunkParts<'b>> {
        let start = batch.places.partition_point(|(other, _)| *other < chunk);
        let count = batch.places[start..].partition_point(|(other, _)| *other == chunk);
        let places = &batch.places[start..start + count];
        let array = &self.arrays[self.array_of(chunk)];
        let region = array.grid.region_of(chunk - array.first);
        let mut parts = Vec::new();
        reserve(&mut parts, places.len())?;
        for &(_, place) in places {
            parts.push(match place {
                Place::RankData(number) => array.own_part(&region, number).ok_or_else(torn)?,
                Place::Received { header, data } => {
                    let (_, region) = self.header(&mut &batch.received[header..], &batch.chunks)?;
                    let items = region.items()?;
                    let from = Origin::Bytes(batch.received.get(data..).unwrap_or_default());
                    ChunkPart { region, items, from, within: None }
                }
            });
        }
        Ok(ChunkParts { array, region, parts, has_data: batch.has_data })
    }

    /// A chunk of the batch, assembled in `buffer` where necessary.
    pub fn assemble<'b>(
        &'b self,
        batch: &'b Batch,
        chunk: u64,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Chunk<'b>> {
        self.parts_of_chunk(batch, chunk)?.assemble(buffer)
    }
}

impl<'a> ChunkParts<'a> {
    /// The bytes of all parts.
    fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.items).sum::<u64>() * self.array.item_bytes as u64
    }

    /// The runs of all parts, in C order, if at least half of the first `bytes` bytes of the chunk are gaps of
    /// [`HOLE_BYTES`] or more, or if accesses are cheap and the runs long.
    pub fn sparse_runs(&self, bytes: u64, are_cheap: bool) -> Result<Option<Vec<PartRun<'a>>>> {
        let shape = self.array.grid.chunk_shape();
        let of_parts = || self.parts.iter().map(|part| (part.runs((shape, &part.region.start)), part.from));
        let count: usize = of_parts().map(|(runs, _)| runs.size_hint().0).sum();
        let are_long = are_cheap && count as u64 <= self.bytes() / LONG_RUN_BYTES;
        if !are_long && (self.bytes() > bytes / 2 || count as u64 > bytes / BYTES_OF_RUN) {
            return Ok(None);
        }
        let mut all = Vec::new();
        reserve(&mut all, count)?;
        all.extend(of_parts().flat_map(|(runs, from)| runs.map(move |run| (run, from))));
        if !all.is_sorted_by_key(|(run, _)| run.to) {
            all.sort_unstable_by_key(|(run, _)| run.to);
        }
        let (item_bytes, mut at, mut gaps) = (self.array.item_bytes as u64, 0, 0);
        let ends = all.iter().map(|(run, _)| (run.to * item_bytes, run.items * item_bytes));
        for (start, length) in ends.chain([(bytes, 0)]) {
            gaps += Some(start.saturating_sub(at)).filter(|&gap| gap >= HOLE_BYTES).unwrap_or(0);
            at = at.max(start + length);
        }
        Ok(Some(all).filter(|_| are_long || gaps >= bytes / 2))
    }

    /// The index in the dataset of an item of the chunk.
    fn index_of(&self, items: u64) -> Vec<u64> {
        let mut index = self.region.start.clone();
        let mut rest = items;
        for (index, &n) in index.iter_mut().zip(self.array.grid.chunk_shape()).rev() {
            *index += rest % n;
            rest /= n;
        }
        index
    }

    /// Calls `each` with the place in the chunk and the bytes of each run, copied to `buffer` where
    /// necessary. If two runs have an item in common, only returns the index of the first such item.
    pub fn for_each_run(
        &self,
        runs: &[PartRun<'_>],
        buffer: &mut Vec<u8>,
        mut each: impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<Option<Vec<u64>>> {
        let item_bytes = self.array.item_bytes;
        if let Some(both) = runs.windows(2).find(|both| both[0].0.to + both[0].0.items > both[1].0.to) {
            return Ok(Some(self.index_of(both[1].0.to)));
        }
        for (run, from) in runs.iter().filter(|_| self.has_data) {
            let (start, bytes) = (to_usize(run.from) * item_bytes, to_usize(run.items) * item_bytes);
            let to = run.to * item_bytes as u64;
            if let Origin::Bytes(all) = from
                && let Some(found) = all.get(start..).and_then(|all| all.get(..bytes))
            {
                each(to, found)?;
                continue;
            }
            grow(buffer, bytes)?;
            from.copy(run.from, item_bytes, &mut buffer[..bytes]);
            each(to, &buffer[..bytes])?;
        }
        Ok(None)
    }

    /// The chunk, assembled in `buffer` where necessary.
    pub fn assemble<'b>(&self, buffer: &'b mut Vec<u8>) -> Result<Chunk<'b>>
    where
        'a: 'b,
    {
        let (array, parts, shape) = (self.array, &self.parts, self.array.grid.chunk_shape());
        let chunk_bytes = array.grid.chunk_bytes();
        let bytes = to_usize(chunk_bytes);
        let item_bytes = array.item_bytes;
        if let [part] = &parts[..]
            && part.items * item_bytes as u64 == chunk_bytes
            && let Origin::Bytes(from) = part.from
            && let mut runs = part.runs((shape, &part.region.start))
            && let (Some(run), None) = (runs.next(), runs.next())
            && let Some(bytes) =
                from.get(to_usize(run.from) * item_bytes..).and_then(|from| from.get(..bytes))
        {
            return Ok(if array.is_fill(bytes) { Chunk::Fill } else { Chunk::Bytes(bytes) });
        }
        if let Some(items) = first_overlap(shape, parts)? {
            return Ok(Chunk::Overlap(self.index_of(items)));
        }
        if !self.has_data {
            return Ok(Chunk::Unknown);
        }
        if parts.is_empty() {
            return Ok(Chunk::Fill);
        }
        grow(buffer, bytes)?;
        let buffer = &mut buffer[..bytes];
        if self.bytes() < chunk_bytes {
            array.put_fill(buffer);
        }
        for part in parts {
            for run in part.runs((shape, &part.region.start)) {
                let (to, length) = (to_usize(run.to) * item_bytes, to_usize(run.items) * item_bytes);
                part.from.copy(run.from, item_bytes, &mut buffer[to..to + length]);
            }
        }
        Ok(if array.is_fill(buffer) { Chunk::Fill } else { Chunk::Bytes(buffer) })
    }
}
