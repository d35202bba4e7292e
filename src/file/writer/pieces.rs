//! The parts of chunks that the ranks have, and how they come to the ranks that own the chunks.
//!
//! Each rank owns chunks that follow one another, about as many bytes as others that are passed. In rounds, each rank sends to each other the parts of a few of the
//! chunks that this one owns. A round costs two agreements, or one if all ranks know who has what, and memory for a window of chunks; none is
//! needed where all ranks have the parts of their own chunks.

use super::datasets::Ready;
use super::owners::{Bins, Owners};
use super::rows::Rows;
use crate::error::{Error, ErrorKind, Result};
use crate::file::team::{FINE, Failure, Team, split};
use crate::format::dataset::{ChunkGrid, Dataset, MAX_DIMENSIONS, Region, Runs};
use crate::format::layout::{product, sum};
use crate::items::Items;
use crate::memory::{grow, reserve, reserve_count, resize};
use crate::numbers::to_usize;
use crate::parallel::Partition;
use std::ops::Range;

/// The bytes of the chunks that a rank gets the parts of in a round. Fewer in tests, which then have several rounds.
pub(super) const WINDOW_BYTES: u64 = if cfg!(debug_assertions) { 8 << 10 } else { 16 << 20 };
/// If no rank passes more, it does not matter who owns what.
const BALANCED_BYTES: u64 = if cfg!(debug_assertions) { 2 << 10 } else { 64 << 10 };
/// In chunks of up to so many parts each is compared with each, in others bits say which items are there.
const FEW_PARTS: usize = 8;
/// The lengths that are exchanged before the parts: those of the boxes, and of their data.
const LENGTHS: usize = 2;
type Lengths = [u64; LENGTHS];

/// The data that this rank passes: boxes, and their items.
pub(super) struct Passed<'a> {
    regions: &'a [Region],
    /// Where the bytes of each begin if they follow one another, and where those of the last one end.
    starts: Vec<u64>,
    data: &'a Ready<'a>,
}

impl<'a> Passed<'a> {
    /// Nothing.
    pub const NONE: Self = Self { regions: &[], starts: Vec::new(), data: &Ready::NONE };

    /// # Errors
    /// `Argument` for regions outside of the array and data of another length; `Memory`.
    pub fn new(dataset: &Dataset, regions: &'a [Region], data: &'a Ready<'a>) -> Result<Self> {
        let item_bytes = dataset.data_type.item_bytes();
        let mut starts = Vec::new();
        reserve(&mut starts, regions.len() + 1)?;
        let mut end = 0;
        starts.push(end);
        for (number, region) in regions.iter().enumerate() {
            dataset.check_region(number, region)?;
            let bytes = product(region.items()?, item_bytes);
            end = bytes
                .and_then(|bytes| sum(end, bytes))
                .ok_or_else(|| Error::range("regions: found more than 63 bits of bytes"))?;
            starts.push(end);
        }
        if let Ready::Packed(data) = data
            && end != data.len() as u64
        {
            return Err(Error::argument(format!(
                "data: found {} bytes, expected the {end} of the regions",
                data.len()
            )));
        }
        Ok(Self { regions, starts, data })
    }

    /// The bytes of all regions.
    pub fn bytes(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The data of all regions, if they lie one after the other.
    pub fn packed(&self) -> Option<&'a [u8]> {
        match self.data {
            Ready::Packed(data) => Some(data),
            Ready::Boxes(_) => None,
        }
    }

    /// Copies the data from a byte on, as many as there is room for: whole items.
    pub fn gather(&self, start: u64, out: &mut [u8]) {
        let boxes = match self.data {
            Ready::Packed(data) => {
                let start = to_usize(start);
                return out.copy_from_slice(&data[start..start + out.len()]);
            }
            Ready::Boxes(boxes) => boxes,
        };
        let first = self.starts.partition_point(|&other| other <= start).saturating_sub(1);
        let (mut at, mut rest) = (start, out);
        for (items, range) in boxes.iter().zip(self.starts.windows(2)).skip(first) {
            let now = to_usize(range[1].saturating_sub(at)).min(rest.len());
            let (own, later) = rest.split_at_mut(now);
            // That all of them fit was checked.
            items.gather_bytes(at - range[0], own);
            at += now as u64;
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
    }

    /// Hands out the data in order, each piece with whether it is the last one: all in one, if they lie one after the other, or in pieces
    /// of so many bytes.
    ///
    /// # Errors
    /// `Memory`; the first that `each` returns.
    pub fn for_each_piece(&self, most: u64, mut each: impl FnMut(&[u8], bool) -> Result<()>) -> Result<()> {
        if let Some(data) = self.packed() {
            return each(data, true);
        }
        let (mut piece, mut done, all) = (Vec::new(), 0, self.bytes());
        while done < all {
            resize(&mut piece, most.min(all - done))?;
            self.gather(done, &mut piece);
            done += piece.len() as u64;
            each(&piece, done == all)?;
        }
        Ok(())
    }

    /// The items of a region.
    fn items(&self, number: usize) -> Origin<'a> {
        match self.data {
            Ready::Packed(data) => Origin::Bytes(&data[to_usize(self.starts[number])..]),
            Ready::Boxes(boxes) => {
                boxes[number].packed().map_or(Origin::Items(&boxes[number]), Origin::Bytes)
            }
        }
    }

    /// The indices of the first dimension that the regions have, if these are all that the array has there, one region
    /// after the other.
    pub fn rows(&self, shape: &[u64]) -> Option<Range<u64>> {
        let mut rows: Option<Range<u64>> = None;
        let (&all, inner) = shape.split_first().unwrap_or((&1, &[]));
        for region in self.regions.iter().filter(|region| !region.count.contains(&0)) {
            let (&start, starts) = region.start.split_first().unwrap_or((&0, &[]));
            let (&count, counts) = region.count.split_first().unwrap_or((&1, &[]));
            let is_whole = starts.iter().all(|&start| start == 0) && counts == inner;
            let follows = rows.as_ref().is_none_or(|rows| rows.end == start);
            if !is_whole || !follows || start + count > all {
                return None;
            }
            rows = Some(rows.map_or(start, |rows| rows.start)..start + count);
        }
        Some(rows.unwrap_or(0..0))
    }
}

/// A dataset, and what this rank passes of it.
pub(super) struct Array<'a> {
    grid: ChunkGrid,
    item_bytes: usize,
    /// The item that stands where nothing is passed.
    fill: Vec<u8>,
    passed: Passed<'a>,
    /// The number of its first chunk among those of all datasets of the plan.
    first: u64,
}

/// Which parts of which chunks this rank has, and who owns these. The chunks of several datasets are numbered one
/// dataset after the other.
pub(super) struct Plan<'a> {
    arrays: Vec<Array<'a>>,
    /// The number of all chunks.
    chunks: u64,
    /// Chunks, in ascending order, each with the number of a region that has items of it.
    parts: Vec<(u64, usize)>,
    owners: Owners,
    rank: usize,
    /// The most chunks of a window.
    window: u64,
    /// One chunk in so many is wanted: see [`Plan::sampling`].
    step: u64,
    /// Whether any rank has a part of another's chunk.
    exchanges: bool,
    /// The rows of each rank, if all of them know these.
    rows: Option<Rows>,
}

/// The chunks of a round, with their parts.
pub(super) struct Window {
    pub chunks: Range<u64>,
    /// What the other ranks sent: boxes, and their data.
    received: Vec<u8>,
    /// In the order of the chunks.
    places: Vec<(u64, Place)>,
    /// Whether the data were sent; else there are more than the chunks have room for.
    has_data: bool,
}

/// Where a part of a chunk is.
#[derive(Clone, Copy)]
enum Place {
    /// In the region of this number.
    Own(usize),
    /// Where its box, and where its data begin in what was received.
    Received { header: usize, data: usize },
}

/// A chunk, as its parts make it.
pub(super) enum Chunk<'a> {
    /// It has the fill value everywhere.
    Fill,
    /// Its bytes.
    Bytes(&'a [u8]),
    /// The first index that two parts have.
    Overlap(Vec<u64>),
    /// Its data were not sent, because another chunk has an overlap.
    Unknown,
}

/// Where items are.
#[derive(Clone, Copy)]
enum Origin<'a> {
    /// One after the other, and then others.
    Bytes(&'a [u8]),
    /// Those of a box, as they lie in memory.
    Items(&'a Items<'a>),
}

/// A part of a chunk: a box in it, and where its items are.
struct Part<'a> {
    /// Relative to the chunk.
    region: Region,
    items: u64,
    from: Origin<'a>,
    /// The array that they are a part of, and where in it; none: nothing but the items.
    within: Option<(&'a [u64], Vec<u64>)>,
}

impl<'a> Array<'a> {
    pub fn new(dataset: &Dataset, grid: ChunkGrid, passed: Passed<'a>) -> Self {
        Self {
            grid,
            item_bytes: to_usize(dataset.data_type.item_bytes()),
            fill: dataset.fill_item().into_owned(),
            passed,
            first: 0,
        }
    }

    pub fn grid(&self) -> &ChunkGrid {
        &self.grid
    }
}

impl<'a> Plan<'a> {
    /// Of this rank alone: whether it must exchange is not yet known. A window has at least so many chunks.
    ///
    /// # Errors
    /// `Range` if there are more than 63 bits of chunks; `Memory`.
    pub fn new(team: &Team, mut arrays: Vec<Array<'a>>, least_window: u64) -> Result<Self> {
        let (mut parts, mut chunks, mut chunk_bytes) = (Vec::new(), 0, 1);
        for array in &mut arrays {
            array.first = chunks;
            for (number, region) in array.passed.regions.iter().enumerate() {
                let touched = array.grid.touched_by(region);
                reserve_count(&mut parts, touched.count())?;
                let touched = (0..touched.count()).map_while(|n| touched.nth(n));
                parts.extend(touched.map(|chunk| (array.first + chunk, number)));
            }
            chunks = sum(chunks, array.grid.chunks())
                .ok_or_else(|| Error::range("datasets: found more than 63 bits of chunks"))?;
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
            window: (WINDOW_BYTES / chunk_bytes).max(least_window).max(1),
            step: 1,
            exchanges: false,
            rows: None,
        })
    }

    /// The plan of one dataset of which each rank has so many rows: what all ranks know need not be agreed on. Each chunk is passed
    /// whole, so that the same number of chunks is the same work.
    ///
    /// # Errors
    /// `Memory`.
    pub fn of_rows(mut self, shape: &[u64], counts: &[u64]) -> Result<Self> {
        let rows = Rows::new(counts, shape, &self.arrays[0].grid)?;
        self.exchanges = rows.cross(&self.owners);
        self.rows = Some(rows);
        Ok(self)
    }

    /// Finds out together whether the ranks must exchange. Each passes its plan, if it has one. With `balance`, the ranks get
    /// chunks of which about as many bytes are passed; else as many chunks.
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
        // The agreement had the error of a rank without a plan.
        let (bins, mut plan) = plan.ok_or_else(|| Error::new(ErrorKind::Internal, "a plan was lost"))?;
        let (all_own, least, most) = (least[0] > 0, least[1], FINE - least[2]);
        plan.exchanges = !all_own;
        let is_balanced = most <= BALANCED_BYTES || all_own && most - least <= most / 4;
        if let Some(mut bins) = bins.filter(|_| !is_balanced) {
            agreed.comm().allreduce_sum(bins.sums())?;
            plan.owners.balance(&bins);
            plan.exchanges = true;
        }
        Ok(plan)
    }

    /// The bytes that this rank passes.
    fn bytes(&self) -> u64 {
        self.arrays.iter().map(|array| array.passed.bytes()).sum()
    }

    /// The bytes that this rank passes of the chunks.
    fn bins(&self) -> Result<Bins> {
        let chunk_bytes = self.arrays.iter().map(|array| array.grid.chunk_bytes()).max();
        let mut bins = Bins::new(self.chunks, chunk_bytes.unwrap_or(1))?;
        for &(chunk, number) in &self.parts {
            let array = &self.arrays[self.array_of(chunk)];
            let items = array.grid.items_of(chunk - array.first, &array.passed.regions[number]);
            bins.add(chunk, items * array.item_bytes as u64);
        }
        Ok(bins)
    }

    /// The number of the dataset that a chunk is of.
    pub fn array_of(&self, chunk: u64) -> usize {
        self.arrays.partition_point(|array| array.first <= chunk) - 1
    }

    /// The datasets.
    pub fn arrays(&self) -> &[Array<'a>] {
        &self.arrays
    }

    /// From now on, one chunk in so many is wanted.
    pub fn sampling(self, step: u64) -> Self {
        Self { step, ..self }
    }

    /// Whether a chunk is wanted.
    pub fn wants(&self, chunk: u64) -> bool {
        Self::is_sampled(chunk, self.step, self.chunks)
    }

    /// Whether a chunk, of so many, is the one that is wanted of the `step` chunks that it is among. Not the same one of each: what the
    /// data repeat would make all of them alike.
    pub fn is_sampled(chunk: u64, step: u64, chunks: u64) -> bool {
        let group = chunk / step;
        let length = step.min(chunks - group * step);
        chunk % step == (group.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % length
    }

    /// A window with these chunks, for a rank that is alone.
    pub fn window(&self, chunks: Range<u64>) -> Result<Window> {
        let mut window = Window { chunks, received: Vec::new(), places: Vec::new(), has_data: true };
        self.place(&mut window)?;
        Ok(window)
    }

    /// The chunks of a dataset that this rank owns, among all of it.
    pub fn own(&self, array: usize) -> Partition {
        let Array { grid, first, .. } = &self.arrays[array];
        let own = self.owners.of(self.rank);
        let [start, end] = [own.start, own.end].map(|chunk| chunk.saturating_sub(*first).min(grid.chunks()));
        Partition { offset: start, count: end - start, total: grid.chunks() }
    }

    /// The chunks of a dataset that this rank owns, and the bytes of each.
    pub fn chunks_of(&self, array: usize) -> (Partition, u64) {
        (self.own(array), self.arrays[array].grid.chunk_bytes())
    }

    /// The number behind the last chunk of a dataset.
    pub fn end_of(&self, array: usize) -> u64 {
        self.arrays[array].first + self.arrays[array].grid.chunks()
    }

    /// The number of rounds, the same on all ranks.
    pub fn rounds(&self) -> u64 {
        self.owners.most().div_ceil(self.window)
    }

    /// The chunks of a rank in a round.
    fn window_of(&self, rank: usize, round: u64) -> Range<u64> {
        let Range { start, end } = self.owners.of(rank);
        let start = round.saturating_mul(self.window).saturating_add(start).min(end);
        start..start.saturating_add(self.window).min(end)
    }

    /// The parts that this rank has of these chunks.
    fn parts_of(&self, chunks: &Range<u64>) -> &[(u64, usize)] {
        let start = self.parts.partition_point(|(chunk, _)| *chunk < chunks.start);
        let count = self.parts[start..].partition_point(|(chunk, _)| *chunk < chunks.end);
        &self.parts[start..start + count]
    }

    /// Brings the parts of the chunks of a round to their owners. An error that this rank alone has waits for the next
    /// agreement, which the next round has, or the caller.
    pub fn round(&self, team: &mut Team, round: u64) -> Result<Window, Failure> {
        let chunks = self.window_of(self.rank, round);
        let mut window = Window { chunks, received: Vec::new(), places: Vec::new(), has_data: true };
        if self.exchanges {
            self.exchange(team, round, &mut window)?;
        }
        let placed = self.place(&mut window);
        team.defer(placed);
        Ok(window)
    }

    fn place(&self, window: &mut Window) -> Result<()> {
        let own = self.parts_of(&window.chunks);
        reserve(&mut window.places, own.len())?;
        window.places.extend(own.iter().map(|&(chunk, number)| (chunk, Place::Own(number))));
        if !window.places.is_sorted_by_key(|(chunk, _)| *chunk) {
            window.places.sort_by_key(|(chunk, _)| *chunk);
        }
        Ok(())
    }

    /// The lengths of what this rank sends to each other one in a round, and of what it gets, by an exchange.
    fn exchanged_lengths(&self, team: &mut Team, round: u64) -> Result<Result<[Vec<Lengths>; 2]>, Failure> {
        let mut lengths = Vec::new();
        let mine = resize(&mut lengths, (8 * LENGTHS * team.size()) as u64).map(|()| {
            let (all, _) = lengths.as_chunks_mut::<8>();
            for (rank, [headers, data]) in all.as_chunks_mut().0.iter_mut().enumerate() {
                let [header_bytes, data_bytes] = self.lengths_to(rank, round);
                (*headers, *data) = (header_bytes.to_ne_bytes(), data_bytes.to_ne_bytes());
            }
        });
        let mut others = Vec::new();
        let mine = mine.and(resize(&mut others, lengths.len() as u64));
        let exchanged = team.agree(mine)?.comm().alltoall(&lengths, &mut others);
        let read = |lengths: &[u8]| -> Vec<Lengths> {
            let (words, _) = lengths.as_chunks::<8>();
            words.as_chunks().0.iter().map(|pair| pair.map(u64::from_ne_bytes)).collect()
        };
        Ok(exchanged.map(|()| [read(&lengths), read(&others)]))
    }

    /// The same, where all ranks know the rows of each.
    fn known_lengths(&self, rows: &Rows, ranks: usize, round: u64) -> Result<[Vec<Lengths>; 2]> {
        let mut both = [Vec::new(), Vec::new()];
        for lengths in &mut both {
            reserve(lengths, ranks)?;
            lengths.resize(ranks, [0; LENGTHS]);
        }
        let [sending, receiving] = &mut both;
        for rank in rows.ranks_that_own(&self.owners, self.rank) {
            sending[rank] = self.lengths_to(rank, round);
        }
        let chunks = self.window_of(self.rank, round);
        for rank in rows.ranks_with(&chunks).filter(|&rank| rank != self.rank) {
            receiving[rank] = self.lengths_of_rows(rows, rank, &chunks);
        }
        Ok(both)
    }

    /// Exchanges lengths, if they are not known, then boxes with their data.
    fn exchange(&self, team: &mut Team, round: u64, window: &mut Window) -> Result<(), Failure> {
        let lengths = match &self.rows {
            Some(rows) => self.known_lengths(rows, team.size(), round),
            None => self.exchanged_lengths(team, round)?,
        };
        let ([sending, receiving], exchanged) = split(lengths);
        // More data than the chunks have room for: some of them overlap. The boxes tell where.
        let rooms = self.arrays.iter().map(|array| {
            let [start, end] = [window.chunks.start, window.chunks.end]
                .map(|chunk| chunk.saturating_sub(array.first).min(array.grid.chunks()));
            (end - start) * array.grid.chunk_bytes()
        });
        let room: u64 = rooms.sum();
        let fits = receiving.iter().fold(0, |sum: u64, [_, data]| sum.saturating_add(*data)) <= room;
        let total = |lengths: &[Lengths], has_data: bool| -> u64 {
            lengths.iter().map(|[headers, data]| headers + if has_data { *data } else { 0 }).sum()
        };
        let mut sent = Vec::new();
        let mine = exchanged
            .and_then(|()| resize(&mut window.received, total(&receiving, fits)))
            .and_then(|()| reserve_count(&mut sent, total(&sending, true)));
        let mut least = [if fits { FINE } else { 0 }];
        let agreed = team.agree_with(mine, &mut least)?;
        window.has_data = least[0] == FINE;
        let bytes = |lengths: &[Lengths]| -> Vec<usize> {
            lengths
                .iter()
                .map(|[headers, data]| to_usize(headers + if window.has_data { *data } else { 0 }))
                .collect()
        };
        let (sent_bytes, received_bytes) = (bytes(&sending), bytes(&receiving));
        window.received.truncate(received_bytes.iter().sum());
        for (rank, [header_bytes, _]) in sending.iter().enumerate() {
            self.pack(rank, round, *header_bytes, window.has_data, &mut sent);
        }
        // Nothing since the agreement can fail: there is room for all that was packed.
        let comm = agreed.comm();
        let exchanged = comm.alltoallv(&sent, &sent_bytes, &mut window.received, &received_bytes);
        let placed = exchanged.and_then(|()| self.place_received(window, &receiving));
        if placed.is_err() {
            window.places.clear();
        }
        team.defer(placed);
        Ok(())
    }

    /// The bytes of the boxes and of the data that another rank gets.
    fn lengths_to(&self, rank: usize, round: u64) -> Lengths {
        let mut lengths = [0; LENGTHS];
        self.for_each_part_to(rank, round, |chunk, array, part| {
            count_part(&mut lengths, chunk, &part.region, array);
        });
        lengths
    }

    /// The bytes that another rank sends of these chunks: what [`Self::lengths_to`] says there.
    fn lengths_of_rows(&self, rows: &Rows, rank: usize, chunks: &Range<u64>) -> Lengths {
        let (array, own, touched) = (&self.arrays[0], rows.region(rank), rows.chunks_of(rank));
        let mut lengths = [0; LENGTHS];
        for chunk in touched.start.max(chunks.start)..touched.end.min(chunks.end) {
            let region = array.grid.region_of(chunk);
            if let Some(part) = region.intersection(&own).filter(|_| self.wants(chunk)) {
                count_part(&mut lengths, chunk - chunks.start, &relative(part, &region), array);
            }
        }
        lengths
    }

    /// Appends what another rank gets: the boxes, of so many bytes, then their data. There is room for both.
    fn pack(&self, rank: usize, round: u64, header_bytes: u64, with_data: bool, out: &mut Vec<u8>) {
        let mut headers = out.len();
        out.resize(headers + to_usize(header_bytes), 0);
        self.for_each_part_to(rank, round, |chunk, array, part| {
            let mut header = Header { out: &mut out[headers..], bytes: 0 };
            put_header(&mut header, chunk, &part.region);
            headers += header.bytes;
            if with_data {
                let count = &part.region.count;
                for run in part.runs((count, &[0; MAX_DIMENSIONS][..count.len()])) {
                    part.from.append(run.from, to_usize(run.items), array.item_bytes, out);
                }
            }
        });
    }

    /// The parts that this rank has of the chunks of another in a round: each with the number of the chunk in the window.
    fn for_each_part_to(&self, rank: usize, round: u64, mut each: impl FnMut(u64, &Array<'_>, &Part<'_>)) {
        if rank == self.rank {
            return;
        }
        let chunks = self.window_of(rank, round);
        // A chunk may have many parts.
        let mut last = None;
        for &(chunk, number) in self.parts_of(&chunks).iter().filter(|(chunk, _)| self.wants(*chunk)) {
            let (array, region) = match last.take() {
                Some((same, array, region)) if same == chunk => (array, region),
                _ => {
                    let array = &self.arrays[self.array_of(chunk)];
                    (array, array.grid.region_of(chunk - array.first))
                }
            };
            if let Some(part) = array.own_part(&region, number) {
                each(chunk - chunks.start, array, &part);
            }
            last = Some((chunk, array, region));
        }
    }

    /// Finds the boxes among what was received, and their data.
    fn place_received(&self, window: &mut Window, lengths: &[Lengths]) -> Result<()> {
        let mut message = 0;
        for &[header_bytes, data_bytes] in lengths {
            let (mut header, end) = (message, message + to_usize(header_bytes));
            let mut data = end;
            while header < end {
                let mut rest = &window.received[header..end];
                let (chunk, region) = self.header(&mut rest, &window.chunks)?;
                let item_bytes = self.arrays[self.array_of(chunk)].item_bytes;
                reserve(&mut window.places, 1)?;
                window.places.push((chunk, Place::Received { header, data }));
                if window.has_data {
                    data += to_usize(region.items()?) * item_bytes;
                }
                header = end - rest.len();
            }
            message = end + if window.has_data { to_usize(data_bytes) } else { 0 };
            if data != message {
                return Err(torn());
            }
        }
        Ok(())
    }

    /// Reads the number of a chunk and a box in it.
    fn header(&self, rest: &mut &[u8], chunks: &Range<u64>) -> Result<(u64, Region)> {
        let chunk =
            sum(chunks.start, take_number(rest)?).filter(|chunk| chunks.contains(chunk)).ok_or_else(torn)?;
        let shape = self.arrays[self.array_of(chunk)].grid.chunk_shape();
        let mut region = Region::all(shape);
        for number in region.start.iter_mut().chain(&mut region.count) {
            *number = take_number(rest)?;
        }
        region.check(shape, String::new).map_err(|_| torn())?;
        Ok((chunk, region))
    }

    /// The parts of a chunk.
    fn parts_at<'b>(
        &'b self,
        window: &'b Window,
        array: &'b Array<'_>,
        chunk: &Region,
        places: &[(u64, Place)],
    ) -> Result<Vec<Part<'b>>> {
        let mut parts = Vec::new();
        reserve(&mut parts, places.len())?;
        for &(_, place) in places {
            parts.push(match place {
                Place::Own(number) => array.own_part(chunk, number).ok_or_else(torn)?,
                Place::Received { header, data } => {
                    let (_, region) = self.header(&mut &window.received[header..], &window.chunks)?;
                    let items = region.items()?;
                    let from = Origin::Bytes(window.received.get(data..).unwrap_or_default());
                    Part { region, items, from, within: None }
                }
            });
        }
        Ok(parts)
    }

    /// A chunk of the window, put together in `buffer` if need be.
    pub fn assemble<'b>(
        &'b self,
        window: &'b Window,
        chunk: u64,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Chunk<'b>> {
        let start = window.places.partition_point(|(other, _)| *other < chunk);
        let count = window.places[start..].partition_point(|(other, _)| *other == chunk);
        let places = &window.places[start..start + count];
        let array = &self.arrays[self.array_of(chunk)];
        let (origin, shape) = (array.grid.region_of(chunk - array.first), array.grid.chunk_shape());
        let chunk_bytes = array.grid.chunk_bytes();
        let bytes = to_usize(chunk_bytes);
        let item_bytes = array.item_bytes;
        let parts = self.parts_at(window, array, &origin, places)?;
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
        let overlap = |items: u64| {
            let mut index = origin.start.clone();
            let mut rest = items;
            for (index, &n) in index.iter_mut().zip(shape).rev() {
                *index += rest % n;
                rest /= n;
            }
            Ok(Chunk::Overlap(index))
        };
        if let Some(items) = first_overlap(shape, &parts)? {
            return overlap(items);
        }
        if !window.has_data {
            return Ok(Chunk::Unknown);
        }
        if places.is_empty() {
            return Ok(Chunk::Fill);
        }
        grow(buffer, bytes)?;
        let buffer = &mut buffer[..bytes];
        let items: u64 = parts.iter().map(|part| part.items).sum();
        if items * (item_bytes as u64) < chunk_bytes {
            array.put_fill(buffer);
        }
        for part in &parts {
            for run in part.runs((shape, &part.region.start)) {
                let (to, length) = (to_usize(run.to) * item_bytes, to_usize(run.items) * item_bytes);
                part.from.copy(run.from, item_bytes, &mut buffer[to..to + length]);
            }
        }
        Ok(if array.is_fill(buffer) { Chunk::Fill } else { Chunk::Bytes(buffer) })
    }
}

impl Array<'_> {
    /// The part of a chunk that a region of this rank has.
    fn own_part(&self, chunk: &Region, number: usize) -> Option<Part<'_>> {
        let region = &self.passed.regions[number];
        let part = chunk.intersection(region)?;
        let from_start = part.start.iter().zip(&region.start).map(|(part, region)| part - region).collect();
        Some(Part {
            items: part.count.iter().product(),
            region: relative(part, chunk),
            from: self.passed.items(number),
            within: Some((&region.count, from_start)),
        })
    }

    /// Puts the fill value everywhere.
    pub fn put_fill(&self, bytes: &mut [u8]) {
        if self.fill.iter().all(|&byte| byte == self.fill[0]) {
            return bytes.fill(self.fill[0]);
        }
        for item in bytes.chunks_exact_mut(self.item_bytes) {
            item.copy_from_slice(&self.fill);
        }
    }

    /// Whether all items are the fill value.
    fn is_fill(&self, bytes: &[u8]) -> bool {
        // Each item is the one before it.
        bytes.starts_with(&self.fill) && bytes[self.item_bytes..] == bytes[..bytes.len() - self.item_bytes]
    }
}

/// The first item of a chunk of this shape that two parts have: its number in C order.
fn first_overlap(shape: &[u64], parts: &[Part<'_>]) -> Result<Option<u64>> {
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

impl Origin<'_> {
    /// Appends so many items, from one on. There is room for them.
    #[inline]
    fn append(&self, item: u64, items: usize, item_bytes: usize, out: &mut Vec<u8>) {
        match self {
            Self::Bytes(bytes) => {
                let start = to_usize(item) * item_bytes;
                out.extend_from_slice(&bytes[start..start + items * item_bytes]);
            }
            Self::Items(own) => {
                let end = out.len();
                out.resize(end + items * item_bytes, 0);
                own.gather(item, &mut out[end..]);
            }
        }
    }

    /// Copies items, from one on, as many as there is room for.
    #[inline]
    fn copy(&self, item: u64, item_bytes: usize, to: &mut [u8]) {
        match self {
            Self::Bytes(bytes) => {
                let start = to_usize(item) * item_bytes;
                copy(&bytes[start..start + to.len()], to);
            }
            // That all of them fit was checked.
            Self::Items(items) => _ = items.gather(item, to),
        }
    }
}

impl Part<'_> {
    /// The runs of its items, from where they are to an array where the box begins at an index.
    fn runs(&self, to: (&[u64], &[u64])) -> Runs {
        let count = &self.region.count;
        match &self.within {
            Some((shape, start)) => Runs::new(count, (shape, start), to),
            None => Runs::new(count, (count, &[0; MAX_DIMENSIONS][..count.len()]), to),
        }
    }
}

/// Which items are there.
struct Bits(Vec<u64>);

impl Bits {
    fn new(items: u64) -> Result<Self> {
        let mut words = Vec::new();
        resize(&mut words, items.div_ceil(64))?;
        Ok(Self(words))
    }

    /// Notes items; returns the first of them that was noted before.
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

/// Copies few bytes as fast as many.
#[inline]
fn copy(from: &[u8], to: &mut [u8]) {
    match (from, to) {
        (&[a, b, c, d], [x, y, z, w]) => (*x, *y, *z, *w) = (a, b, c, d),
        (&[a, b, c, d, e, f, g, h], to) => to.copy_from_slice(&[a, b, c, d, e, f, g, h]),
        (from, to) => to.copy_from_slice(from),
    }
}

/// What takes the numbers of a box.
trait Numbers {
    fn put(&mut self, number: u64);
}

/// Puts numbers one after the other, in groups of 7 bits.
struct Header<'a> {
    out: &'a mut [u8],
    bytes: usize,
}

impl Numbers for Header<'_> {
    fn put(&mut self, number: u64) {
        let mut rest = number;
        while rest >= 0x80 {
            self.out[self.bytes] = rest.to_le_bytes()[0] | 0x80;
            self.bytes += 1;
            rest >>= 7;
        }
        self.out[self.bytes] = rest.to_le_bytes()[0];
        self.bytes += 1;
    }
}

/// Counts the bytes of numbers.
struct Counter(u64);

impl Numbers for Counter {
    fn put(&mut self, number: u64) {
        self.0 += u64::from((number | 1).ilog2()) / 7 + 1;
    }
}

fn put_header(out: &mut impl Numbers, chunk: u64, region: &Region) {
    out.put(chunk);
    region.start.iter().chain(&region.count).for_each(|&number| out.put(number));
}

/// Adds the bytes of a box in a chunk, and of its data.
fn count_part(lengths: &mut Lengths, chunk: u64, region: &Region, array: &Array<'_>) {
    let mut header = Counter(0);
    put_header(&mut header, chunk, region);
    lengths[0] += header.0;
    lengths[1] += region.count.iter().product::<u64>() * array.item_bytes as u64;
}

/// A part of a chunk, as it lies in it.
fn relative(mut part: Region, chunk: &Region) -> Region {
    part.start.iter_mut().zip(&chunk.start).for_each(|(start, chunk)| *start -= chunk);
    part
}

/// A number that [`Numbers::put`] has put.
fn take_number(rest: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, others) = rest.split_first().ok_or_else(torn)?;
        *rest = others;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(torn())
}

/// What no rank has sent.
#[cold]
fn torn() -> Error {
    Error::new(ErrorKind::Internal, "parts of chunks: found bytes that no rank has sent")
}
