//! Sends the parts of chunks that ranks have to the ranks that own the chunks.
//!
//! Each rank owns consecutive chunks with about the same number of bytes. In rounds, each rank sends every
//! other rank the parts that it has of a few of the other's chunks. A round costs two agreements, or one if
//! all ranks know who has what, and memory for a batch of chunks; no round is needed if all ranks have the
//! parts of their own chunks.

mod assembly;
mod exchange;
mod parts;
mod wire;

pub(super) use parts::Chunk;

use super::owners::{Bins, Owners};
use super::rows::Rows;
use super::selection::{Origin, Selection};
use crate::file::limits::Limits;
use crate::file::options::MostThreads;
use crate::file::team::{FINE, Failure, Team, split};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{reserve, reserve_count};
use scda_codec::chunk::ChunkCodec;
use scda_format::dataset::{ChunkGrid, IndexBox};
use scda_format::layout::sum;
use scda_ranks::Partition;
use std::ops::Range;

/// The number of a dataset, and an index in it that two parts have.
pub(super) type Overlap = (usize, Vec<u64>);

/// A dataset, and the part of it that this rank passes.
pub(super) struct PlannedArray<'a> {
    pub grid: ChunkGrid,
    item_bytes: usize,
    /// The fill value.
    fill: Vec<u8>,
    selection: &'a Selection<'a>,
    /// The number of its first chunk among those of all datasets of the plan.
    first: u64,
}

/// Which parts of which chunks this rank has, and which ranks own the chunks. The chunks of several datasets
/// are numbered consecutively.
pub(super) struct Plan<'a> {
    /// The datasets.
    pub arrays: Vec<PlannedArray<'a>>,
    /// The number of all chunks.
    chunks: u64,
    /// Chunks, in ascending order, each with the number of a box that has items of it.
    parts: Vec<(u64, usize)>,
    owners: Owners,
    rank: usize,
    /// The most chunks in a batch.
    batch_chunks: u64,
    /// If no rank passes more, chunks are not balanced.
    balanced_bytes: u64,
    /// Only one chunk in `step` is sampled: see [`Plan::sampling`].
    step: u64,
    /// Whether any rank has a part of another's chunk.
    exchanges: bool,
    /// The rows of each rank, if all of them know these.
    rows: Option<Rows>,
}

/// The chunks of this rank in a round, with their parts.
pub(super) struct Batch {
    pub chunks: Range<u64>,
    /// The boxes and data that other ranks have sent.
    received: Vec<u8>,
    /// The parts, in the order of the chunks.
    places: Vec<(u64, Place)>,
    /// Whether data were sent; if not, there are more than fit the chunks.
    has_data: bool,
}

/// Where a part of a chunk is.
#[derive(Clone, Copy)]
enum Place {
    /// In the box of this rank with this number.
    RankData(usize),
    /// In what was received: the offsets of its box and its data.
    Received { header: usize, data: usize },
}

/// A part of a chunk: a box in it, and where its items are.
struct ChunkPart<'a> {
    /// Relative to the chunk.
    region: IndexBox,
    items: u64,
    from: Origin<'a>,
    /// The shape of the array that contains the items, and where in it they are; `None`: only the items.
    within: Option<(&'a [u64], Vec<u64>)>,
}

impl<'a> Plan<'a> {
    /// For this rank alone: whether an exchange is needed is not known yet. A batch has at least one chunk
    /// for each thread.
    ///
    /// # Errors
    /// `Range` if the number of chunks exceeds 63 bits; `Memory`.
    pub fn new(
        team: &Team,
        mut arrays: Vec<PlannedArray<'a>>,
        threads: MostThreads,
        limits: &Limits,
    ) -> Result<Self> {
        let (mut parts, mut chunks, mut chunk_bytes) = (Vec::new(), 0, 1);
        for array in &mut arrays {
            array.first = chunks;
            for (number, region) in array.selection.regions().iter().enumerate() {
                let touched = array.grid.touched_by(region);
                reserve_count(&mut parts, touched.count())?;
                let touched = (0..touched.count()).map_while(|n| touched.nth(n));
                parts.extend(touched.map(|chunk| (array.first + chunk, number)));
            }
            chunks = sum(chunks, array.grid.chunks())
                .ok_or_else(|| Error::range("datasets: the number of chunks exceeds 63 bits"))?;
            chunk_bytes = array.grid.chunk_bytes().max(chunk_bytes);
        }
        if !parts.is_sorted() {
            parts.sort_unstable();
        }
        Ok(Self {
            owners: Owners::uniform(chunks, team.size())?,
            arrays,
            chunks,
            parts,
            rank: team.rank(),
            batch_chunks: (limits.exchange_bytes / chunk_bytes).max(threads.0),
            balanced_bytes: limits.balanced_bytes,
            step: 1,
            exchanges: false,
            rows: None,
        })
    }

    /// The plan for one dataset of which all ranks know the rows of each, so that they need not agree. Each
    /// chunk is passed completely, so equal numbers of chunks are equal work.
    ///
    /// # Errors
    /// `Memory`.
    pub fn of_rows(mut self, shape: &[u64], counts: &[u64]) -> Result<Self> {
        let rows = Rows::new(counts, shape, &self.arrays[0].grid)?;
        self.exchanges = rows.cross(&self.owners);
        self.rows = Some(rows);
        Ok(self)
    }

    /// Finds out whether an exchange is needed. Each rank passes its plan, if it has one. With `balance`, the
    /// ranks get chunks of which about the same number of bytes are passed; otherwise the same number of
    /// chunks.
    pub fn agree_on(mine: Result<Self>, team: &mut Team, balance: bool) -> Result<Self, Failure> {
        let is_own = team.is_alone()
            || mine.as_ref().is_ok_and(|plan| {
                let own = plan.owners.of(plan.rank);
                plan.parts.iter().all(|(chunk, _)| own.contains(chunk))
            });
        let balance = balance && !team.is_alone();
        let mine = mine.and_then(|plan| Ok((if balance { Some(plan.bins()?) } else { None }, plan)));
        let bytes = mine.as_ref().map_or(0, |(_, plan)| plan.bytes());
        let mut least = [if is_own { FINE } else { 0 }, bytes, FINE - bytes];
        let (plan, mine) = split(mine.map(Some));
        let agreed = team.agree_with(mine, &mut least)?;
        // A rank without a plan had an error, which the agreement returned.
        let (bins, mut plan) = plan.ok_or_else(|| Error::new(ErrorKind::Internal, "a plan was lost"))?;
        let (all_own, least, most) = (least[0] > 0, least[1], FINE - least[2]);
        plan.exchanges = !all_own;
        let is_balanced = most <= plan.balanced_bytes || all_own && most - least <= most / 4;
        if let Some(mut bins) = bins.filter(|_| !is_balanced) {
            agreed.comm().allreduce_sum(bins.sums())?;
            plan.owners.balance(&bins);
            plan.exchanges = true;
        }
        Ok(plan)
    }

    /// The number of bytes that this rank passes.
    fn bytes(&self) -> u64 {
        self.arrays.iter().map(|array| array.selection.bytes()).sum()
    }

    /// The bytes that this rank passes, by chunk.
    fn bins(&self) -> Result<Bins> {
        let chunk_bytes = self.arrays.iter().map(|array| array.grid.chunk_bytes()).max();
        let mut bins = Bins::new(self.chunks, chunk_bytes.unwrap_or(1))?;
        for &(chunk, number) in &self.parts {
            let array = &self.arrays[self.array_of(chunk)];
            let items = array.grid.items_of(chunk - array.first, &array.selection.regions()[number]);
            bins.add(chunk, items * array.item_bytes as u64);
        }
        Ok(bins)
    }

    /// The number of the dataset to which a chunk belongs.
    pub fn array_of(&self, chunk: u64) -> usize {
        self.arrays.partition_point(|array| array.first <= chunk) - 1
    }

    /// Samples only one chunk in `step`.
    pub fn sampling(self, step: u64) -> Self {
        Self { step, ..self }
    }

    /// Whether a chunk is sampled: all are, unless the plan is for [`Self::sampling`].
    pub fn samples(&self, chunk: u64) -> bool {
        Self::is_sampled(chunk, self.step, self.chunks)
    }

    /// Whether a chunk, of `chunks`, is the sampled one of its group of `step` chunks. Its place differs from
    /// group to group: in periodic data, all sampled chunks could otherwise be alike.
    pub fn is_sampled(chunk: u64, step: u64, chunks: u64) -> bool {
        let group = chunk / step;
        let length = step.min(chunks - group * step);
        chunk % step == (group.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % length
    }

    /// A batch with these chunks, for a rank that is alone.
    pub fn batch(&self, chunks: Range<u64>) -> Result<Batch> {
        let mut batch = Batch { chunks, received: Vec::new(), places: Vec::new(), has_data: true };
        self.place(&mut batch)?;
        Ok(batch)
    }

    /// The chunks of a dataset that this rank owns, among all of its chunks.
    pub fn owned_chunks(&self, array: usize) -> Partition {
        let PlannedArray { grid, first, .. } = &self.arrays[array];
        let own = self.owners.of(self.rank);
        let [start, end] = [own.start, own.end].map(|chunk| chunk.saturating_sub(*first).min(grid.chunks()));
        Partition { offset: start, count: end - start, total: grid.chunks() }
    }

    /// The chunks of a dataset that this rank owns, and the size of each.
    pub fn chunks_of(&self, array: usize) -> (Partition, u64) {
        (self.owned_chunks(array), self.arrays[array].grid.chunk_bytes())
    }

    /// The number after the last chunk of a dataset.
    pub fn end_of(&self, array: usize) -> u64 {
        self.arrays[array].first + self.arrays[array].grid.chunks()
    }

    /// Passes groups of chunks that are encoded in the same way to the caller, up to an overlap. Each dataset
    /// has its own codecs.
    pub fn for_each_codec_group(
        &self,
        chunks: &Range<u64>,
        codecs: &[ChunkCodec],
        mut each: impl FnMut(Range<u64>, ChunkCodec) -> Result<Option<Overlap>>,
    ) -> Result<Option<Overlap>> {
        let mut start = chunks.start;
        while start < chunks.end {
            let first = self.array_of(start);
            let codec = codecs[first];
            let alike = codecs[first..].iter().take_while(|other| **other == codec).count();
            let end = self.end_of(first + alike - 1).min(chunks.end);
            let overlap = each(start..end, codec)?;
            if overlap.is_some() {
                return Ok(overlap);
            }
            start = end;
        }
        Ok(None)
    }

    /// The most bytes in the chunks of any rank, with `overhead` bytes more for each. The same on all ranks.
    pub fn most_bytes(&self, overhead: u64) -> u64 {
        let chunk_bytes = self.arrays.iter().map(|array| array.grid.chunk_bytes()).max().unwrap_or(0);
        self.owners.most().saturating_mul(chunk_bytes.saturating_add(overhead))
    }

    /// The number of rounds, the same on all ranks.
    pub fn rounds(&self) -> u64 {
        self.owners.most().div_ceil(self.batch_chunks)
    }

    /// The chunks of a rank in a round.
    fn chunks_in_round(&self, rank: usize, round: u64) -> Range<u64> {
        let Range { start, end } = self.owners.of(rank);
        let start = round.saturating_mul(self.batch_chunks).saturating_add(start).min(end);
        start..start.saturating_add(self.batch_chunks).min(end)
    }

    /// This rank's parts of these chunks.
    fn parts_of(&self, chunks: &Range<u64>) -> &[(u64, usize)] {
        let start = self.parts.partition_point(|(chunk, _)| *chunk < chunks.start);
        let count = self.parts[start..].partition_point(|(chunk, _)| *chunk < chunks.end);
        &self.parts[start..start + count]
    }

    /// Sends the parts of the chunks of a round to their owners. An error of this rank alone waits for the
    /// next agreement, in the next round or the caller.
    pub fn round(&self, team: &mut Team, round: u64) -> Result<Batch, Failure> {
        let chunks = self.chunks_in_round(self.rank, round);
        let mut batch = Batch { chunks, received: Vec::new(), places: Vec::new(), has_data: true };
        if self.exchanges {
            self.exchange(team, round, &mut batch)?;
        }
        let placed = self.place(&mut batch);
        team.defer(placed);
        Ok(batch)
    }

    fn place(&self, batch: &mut Batch) -> Result<()> {
        let own = self.parts_of(&batch.chunks);
        reserve(&mut batch.places, own.len())?;
        batch.places.extend(own.iter().map(|&(chunk, number)| (chunk, Place::RankData(number))));
        if !batch.places.is_sorted_by_key(|(chunk, _)| *chunk) {
            batch.places.sort_by_key(|(chunk, _)| *chunk);
        }
        Ok(())
    }
}
