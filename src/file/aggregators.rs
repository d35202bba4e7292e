//! Aggregators: some ranks of each node write and read whole stripes of the file for all ranks of the node.
//!
//! The ranks of a node share memory in two halves, each with a place for every aggregator. In each round
//! (`stripes::NodeRuns`), every rank copies its share of the bytes to be written, the ranks of the node meet,
//! and the aggregators write while all ranks fill the other half. A rank that fails takes part with the
//! others; only the agreement after the section ends the operation.

use super::node_memory::NodeMemory;
use super::options::Tuning;
use super::source::Elements;
use super::stripes::{self, NodeRuns};
use super::team::{Agreed, Failure, Team};
use scda_base::error::Result;
use scda_base::memory::reserve;
use scda_base::numbers::to_usize;
use scda_format::COUNT_BYTES;
use scda_format::entry::CountFormat;
use scda_storage::ParallelFile;
use std::ops::Range;

/// The bytes in which a rank announces its run of a section: two offsets.
const SLOT_BYTES: usize = 16;

/// How the data of large sections reach the file.
#[derive(Default)]
pub enum Route {
    /// Not decided yet, because no large section has been written or read.
    #[default]
    Unknown,
    /// Each rank writes and reads its own bytes.
    Direct,
    /// Aggregators write and read for ranks with small parts.
    Aggregated(Box<Aggregators>),
}

impl Route {
    /// The aggregators, if a section of `bytes` bytes goes through them. The answer is the same on all ranks;
    /// collective while it is undecided.
    pub fn aggregators(
        &mut self,
        team: &mut Team,
        params: &Tuning,
        bytes: u64,
    ) -> Result<Option<&mut Aggregators>, Failure> {
        if team.is_alone() || !stripes::are_small(params.stripe_bytes, bytes, team.size()) {
            return Ok(None);
        }
        if let Self::Unknown = self {
            *self = Aggregators::find(team, params)?.map_or(Self::Direct, Self::Aggregated);
        }
        match self {
            Self::Aggregated(aggregators) => Ok(Some(aggregators)),
            _ => Ok(None),
        }
    }
}

/// The ranks of this node, their shared memory, and who aggregates.
pub struct Aggregators {
    /// Two tables of the ranks' runs, and two halves with a place for each aggregator.
    node: NodeMemory,
    /// The runs of the section that the ranks of the node have. The memory is reserved.
    ranges: Vec<Range<u64>>,
    /// For each aggregator, a position at or before this rank's next part for it. The memory is reserved.
    cursors: Vec<RankCursor>,
    wanted: u64,
    stripe: u64,
    /// The size of an aggregator's place.
    step: u64,
    most_writers: usize,
    /// The table and the half to be used next.
    table: usize,
    half: usize,
}

/// Bytes of this rank that are consecutive in the file.
pub enum RankData<'a> {
    Runs(&'a [&'a [u8]]),
    /// Elements, and the bytes after them.
    Elements(&'a dyn Elements, &'a [u8]),
    /// Sizes to be written as text, and the bytes after them.
    Entries(CountFormat, &'a [u64], &'a [u8]),
}

impl<'a> RankData<'a> {
    /// The memory of one run; `None` after the last one. Sizes have no memory of their own, only the bytes
    /// after them.
    fn run(&self, index: usize) -> Option<&'a [u8]> {
        match *self {
            Self::Runs(runs) => runs.get(index).copied(),
            Self::Elements(elements, tail) => match index.checked_sub(elements.count()) {
                None => Some(elements.element(index)),
                Some(after) => (after == 0).then_some(tail),
            },
            Self::Entries(_, _, tail) => (index == 0).then_some(tail),
        }
    }

    /// The bytes before the first run: those of sizes, which are not in memory as text.
    fn text_bytes(&self) -> u64 {
        match self {
            Self::Entries(_, sizes, _) => (sizes.len() * COUNT_BYTES) as u64,
            _ => 0,
        }
    }

    fn bytes(&self) -> u64 {
        let runs = (0..).map_while(|index| self.run(index));
        self.text_bytes() + runs.map(|run| run.len() as u64).sum::<u64>()
    }

    fn is_in_memory(&self) -> bool {
        !matches!(self, Self::Entries(..))
    }

    /// The position of the first run.
    fn first(&self) -> RankCursor {
        RankCursor { index: 0, start: self.text_bytes() }
    }

    /// Passes the bytes of a range after the sizes to `each`, run by run. The cursor, at or before the range,
    /// moves to its end, so that all parts of an aggregator together cost one pass over the runs.
    fn for_each(
        &self,
        cursor: &mut RankCursor,
        range: Range<u64>,
        mut each: impl FnMut(&'a [u8]) -> Result<()>,
    ) -> Result<()> {
        while let Some(run) = self.run(cursor.index) {
            let (start, end) = (cursor.start, cursor.start + run.len() as u64);
            let part = cut(&range, &(start..end));
            if part.start < part.end {
                each(&run[to_usize(part.start - start)..to_usize(part.end - start)])?;
            }
            if end >= range.end {
                break;
            }
            *cursor = RankCursor { index: cursor.index + 1, start: end };
        }
        Ok(())
    }

    /// Copies the bytes from `start` on.
    fn copy(&self, cursor: &mut RankCursor, start: u64, to: &mut [u8]) -> Result<()> {
        let end = start + to.len() as u64;
        let text_end = self.text_bytes().clamp(start, end);
        let (text, mut rest) = to.split_at_mut(to_usize(text_end - start));
        if let Self::Entries(format, sizes, _) = self {
            let mut at = to_usize(start);
            let mut left = text;
            while !left.is_empty() {
                let mut entry = [0; COUNT_BYTES];
                format.put(sizes[at / COUNT_BYTES], &mut entry);
                let entry = &entry[at % COUNT_BYTES..];
                let (now, later) = left.split_at_mut(entry.len().min(left.len()));
                now.copy_from_slice(&entry[..now.len()]);
                at += now.len();
                left = later;
            }
        }
        self.for_each(cursor, text_end..end, |run| {
            let (now, later) = std::mem::take(&mut rest).split_at_mut(run.len());
            now.copy_from_slice(run);
            rest = later;
            Ok(())
        })
    }
}

/// A run of this rank's memory, and where it begins.
#[derive(Clone, Copy, Default)]
struct RankCursor {
    index: usize,
    start: u64,
}

/// The intersection of two ranges; empty if there is none.
fn cut(one: &Range<u64>, other: &Range<u64>) -> Range<u64> {
    let start = one.start.max(other.start);
    start..one.end.min(other.end).max(start)
}

impl Aggregators {
    /// Determines whether ranks of a node can write for one another and, unless the user has decided, whether
    /// there are several nodes. Collective.
    fn find(team: &mut Team, params: &Tuning) -> Result<Option<Box<Self>>, Failure> {
        let (stripe, wanted) = (params.stripe_bytes, params.writers_per_node);
        let (mut ranges, mut cursors) = (Vec::new(), Vec::new());
        let (mut step, mut most_writers) = (0, 0);
        let node = NodeMemory::find(team, |are_several, ranks| {
            if !are_several && wanted == 0 {
                return (None, Ok(()));
            }
            most_writers = stripes::most_writers(wanted, ranks);
            step = stripes::step_bytes(stripe, most_writers);
            let bytes = 2 * (SLOT_BYTES * ranks + most_writers * to_usize(step));
            (Some(bytes), reserve(&mut ranges, ranks).and(reserve(&mut cursors, most_writers)))
        })?;
        let aggregators = |node| {
            let (table, half) = (0, 0);
            Box::new(Self { node, ranges, cursors, wanted, stripe, step, most_writers, table, half })
        };
        Ok(node.map(aggregators))
    }

    /// Writes this rank's bytes, which begin at `offset`, directly or through an aggregator. Collective,
    /// including ranks without bytes.
    pub fn write(
        &mut self,
        agreed: &Agreed<'_>,
        file: &mut dyn ParallelFile,
        offset: u64,
        own: &RankData<'_>,
    ) -> Result<()> {
        let mine = offset..offset + own.bytes();
        let mut result = self.begin(agreed, mine.clone());
        let Ranks { rank, writers, own_writer, rounds } = self.ranks(agreed);
        self.cursors.clear();
        for round in 0..rounds {
            for writer in 0..writers {
                if round == 0 {
                    // The parts of an aggregator follow those of the previous one.
                    self.cursors.push(self.cursors.last().copied().unwrap_or_else(|| own.first()));
                }
                let part = self.plan().part(round, writer, writers);
                let part_of_mine = cut(&part, &mine);
                if part_of_mine.start < part_of_mine.end
                    && !(own_writer == Some(writer) && own.is_in_memory())
                {
                    let place = self.place(writer, &part, &part_of_mine);
                    let (cursor, to) = (&mut self.cursors[writer], self.node.memory.get_mut(place));
                    result = result.and(own.copy(cursor, part_of_mine.start - offset, to));
                }
            }
            result = result.and(self.node.meet(agreed));
            if let (Some(writer), Ok(())) = (own_writer, &result) {
                let part = self.plan().part(round, writer, writers);
                result = self.write_part(file, &part, writer, rank, (offset, own));
            }
            self.half ^= 1;
        }
        result
    }

    /// Writes an aggregator's part of the file: this rank's bytes from its own memory, those of others from
    /// the shared memory.
    fn write_part(
        &mut self,
        file: &mut dyn ParallelFile,
        part: &Range<u64>,
        writer: usize,
        rank: usize,
        (offset, own): (u64, &RankData<'_>),
    ) -> Result<()> {
        let mut run: Vec<&[u8]> = Vec::new();
        // The run's beginning and end, and from where on it is in the shared memory.
        let (mut start, mut end, mut copied) = (part.start, part.start, part.start);
        let mut cursor = self.cursors[writer];
        let shared = |range: Range<u64>| self.node.memory.get(self.place(writer, part, &range));
        for (number, range) in self.ranges.iter().enumerate() {
            let range = cut(range, part);
            if range.start == range.end {
                continue;
            }
            if range.start != end {
                reserve(&mut run, 1)?;
                run.push(shared(copied..end));
                file.write_at(start, &run)?;
                run.clear();
                (start, copied) = (range.start, range.start);
            }
            end = range.end;
            if number == rank && own.is_in_memory() {
                reserve(&mut run, 1)?;
                run.push(shared(copied..range.start));
                let range = range.start - offset..range.end - offset;
                own.for_each(&mut cursor, range, |bytes| {
                    reserve(&mut run, 1)?;
                    run.push(bytes);
                    Ok(())
                })?;
                copied = end;
            }
        }
        reserve(&mut run, 1)?;
        run.push(shared(copied..end));
        if start < end {
            file.write_at(start, &run)?;
        }
        self.cursors[writer] = cursor;
        Ok(())
    }

    /// Reads the bytes from `offset` on into this rank's memory, directly or through an aggregator.
    /// Collective, including ranks that want none.
    pub fn read(
        &mut self,
        agreed: &Agreed<'_>,
        file: &mut dyn ParallelFile,
        offset: u64,
        own: &mut [u8],
    ) -> Result<()> {
        let mine = offset..offset + own.len() as u64;
        let mut result = self.begin(agreed, mine.clone());
        let Ranks { writers: readers, own_writer: own_reader, rounds, .. } = self.ranks(agreed);
        for round in 0..rounds {
            if let (Some(reader), Ok(())) = (own_reader, &result) {
                let part = self.plan().part(round, reader, readers);
                result = self.read_part(file, &part, reader);
            }
            result = result.and(self.node.meet(agreed));
            for reader in 0..readers {
                let part = self.plan().part(round, reader, readers);
                let part_of_mine = cut(&part, &mine);
                if part_of_mine.start < part_of_mine.end {
                    let range = to_usize(part_of_mine.start - offset)..to_usize(part_of_mine.end - offset);
                    let place = self.place(reader, &part, &part_of_mine);
                    own[range].copy_from_slice(self.node.memory.get(place));
                }
            }
            self.half ^= 1;
        }
        result
    }

    /// Reads the bytes that the node needs of an aggregator's part of the file.
    fn read_part(&mut self, file: &mut dyn ParallelFile, part: &Range<u64>, reader: usize) -> Result<()> {
        let mut run = part.start..part.start;
        for number in 0..=self.ranges.len() {
            let range = self.ranges.get(number).map(|range| cut(range, part));
            if range.as_ref().is_some_and(|range| range.start == range.end) {
                continue;
            }
            match range {
                Some(range) if range.start == run.end => run.end = range.end,
                next => {
                    if run.start < run.end {
                        let place = self.place(reader, part, &run);
                        file.read_at(run.start, self.node.memory.get_mut(place))?;
                    }
                    run = next.unwrap_or_default();
                }
            }
        }
        Ok(())
    }

    /// Finds out which runs of a section the ranks of the node have.
    fn begin(&mut self, agreed: &Agreed<'_>, mine: Range<u64>) -> Result<()> {
        let comm = self.node.comm(agreed);
        let (rank, ranks) = (comm.rank(), comm.size());
        let table = self.table * SLOT_BYTES * ranks;
        let slot = self.node.memory.get_mut(table + SLOT_BYTES * rank..table + SLOT_BYTES * (rank + 1));
        slot[..8].copy_from_slice(&mine.start.to_ne_bytes());
        slot[8..].copy_from_slice(&mine.end.to_ne_bytes());
        let met = self.node.meet(agreed);
        let words = self.node.memory.get(table..table + SLOT_BYTES * ranks).as_chunks().0;
        let ranges = words.as_chunks().0.iter();
        self.ranges.clear();
        // The memory is reserved.
        self.ranges.extend(ranges.map(|[start, end]| u64::from_ne_bytes(*start)..u64::from_ne_bytes(*end)));
        self.table ^= 1;
        met
    }

    /// The ranks of the node, and their roles for this section.
    fn ranks(&self, agreed: &Agreed<'_>) -> Ranks {
        let comm = self.node.comm(agreed);
        let plan = self.plan();
        let writers = stripes::writers(self.wanted, comm.size(), plan.stripes());
        let rank = |&writer: &usize| stripes::writer_rank(writer, writers, comm.size()) == comm.rank();
        Ranks {
            rank: comm.rank(),
            writers,
            own_writer: (0..writers).find(rank),
            rounds: plan.rounds(writers),
        }
    }

    fn plan(&self) -> NodeRuns<'_> {
        NodeRuns { ranges: &self.ranges, stripe: self.stripe, step: self.step }
    }

    /// Where a range of an aggregator's part is in the shared memory.
    fn place(&self, writer: usize, part: &Range<u64>, range: &Range<u64>) -> Range<usize> {
        let places = self.node.memory.bytes() - 2 * self.most_writers * to_usize(self.step);
        let start = places + (self.half * self.most_writers + writer) * to_usize(self.step);
        start + to_usize(range.start - part.start)..start + to_usize(range.end - part.start)
    }
}

/// The ranks of a node, and their roles for a section.
struct Ranks {
    rank: usize,
    writers: usize,
    /// The number of this rank among the aggregators.
    own_writer: Option<usize>,
    rounds: u64,
}
