//! Sends parts of chunks, that is, boxes and their data, to the ranks that own the chunks.

use super::wire::{LENGTHS, Lengths, count_part, header, relative, take_number, torn};
use super::{Batch, ChunkPart, Place, Plan, PlannedArray};
use crate::file::team::{FINE, Failure, Team, split};
use crate::file::writer::datasets::rows::Rows;
use scda_base::error::Result;
use scda_base::memory::{push, reserve, reserve_count, resize};
use scda_base::numbers::{put_packed, to_usize};
use scda_format::dataset::{IndexBox, MAX_DIMENSIONS};
use scda_format::layout::sum;
use std::ops::Range;

impl Plan<'_> {
    /// The lengths of what this rank sends to and receives from every other rank in a round, found by an
    /// exchange.
    pub(super) fn exchanged_lengths(
        &self,
        team: &mut Team,
        round: u64,
    ) -> Result<Result<[Vec<Lengths>; 2]>, Failure> {
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

    /// The same, if all ranks know the rows of each.
    pub(super) fn known_lengths(&self, rows: &Rows, ranks: usize, round: u64) -> Result<[Vec<Lengths>; 2]> {
        let mut both = [Vec::new(), Vec::new()];
        for lengths in &mut both {
            reserve(lengths, ranks)?;
            lengths.resize(ranks, [0; LENGTHS]);
        }
        let [sending, receiving] = &mut both;
        for rank in self.owners.with(&rows.chunks_of(self.rank)) {
            sending[rank] = self.lengths_to(rank, round);
        }
        let chunks = self.chunks_in_round(self.rank, round);
        for rank in rows.ranks_with(&chunks).filter(|&rank| rank != self.rank) {
            receiving[rank] = self.lengths_of_rows(rows, rank, &chunks);
        }
        Ok(both)
    }

    /// Exchanges the lengths, if they are not known, and then the boxes with their data.
    pub(super) fn exchange(&self, team: &mut Team, round: u64, batch: &mut Batch) -> Result<(), Failure> {
        let lengths = match &self.rows {
            Some(rows) => self.known_lengths(rows, team.size(), round),
            None => self.exchanged_lengths(team, round)?,
        };
        let ([sending, receiving], exchanged) = split(lengths);
        // If there are more data than fit the chunks, some parts overlap. The boxes tell where.
        let rooms = self.arrays.iter().map(|array| {
            let [start, end] = [batch.chunks.start, batch.chunks.end]
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
            .and_then(|()| resize(&mut batch.received, total(&receiving, fits)))
            .and_then(|()| reserve_count(&mut sent, total(&sending, true)));
        let mut least = [if fits { FINE } else { 0 }];
        let agreed = team.agree_with(mine, &mut least)?;
        batch.has_data = least[0] == FINE;
        let bytes = |lengths: &[Lengths]| -> Vec<usize> {
            lengths
                .iter()
                .map(|[headers, data]| to_usize(headers + if batch.has_data { *data } else { 0 }))
                .collect()
        };
        let (sent_bytes, received_bytes) = (bytes(&sending), bytes(&receiving));
        batch.received.truncate(received_bytes.iter().sum());
        for (rank, [header_bytes, _]) in sending.iter().enumerate() {
            self.pack(rank, round, *header_bytes, batch.has_data, &mut sent);
        }
        // Nothing can fail after the agreement: the memory for everything that was packed is there.
        let comm = agreed.comm();
        let exchanged = comm.alltoallv(&sent, &sent_bytes, &mut batch.received, &received_bytes);
        let placed = exchanged.and_then(|()| self.place_received(batch, &receiving));
        if placed.is_err() {
            batch.places.clear();
        }
        team.defer(placed);
        Ok(())
    }

    /// The sizes of the boxes and the data for another rank.
    pub(super) fn lengths_to(&self, rank: usize, round: u64) -> Lengths {
        let mut lengths = [0; LENGTHS];
        self.for_each_part_to(rank, round, |chunk, array, part| {
            count_part(&mut lengths, chunk, &part.region, array);
        });
        lengths
    }

    /// The sizes of what another rank sends of these chunks, equal to its [`Self::lengths_to`].
    pub(super) fn lengths_of_rows(&self, rows: &Rows, rank: usize, chunks: &Range<u64>) -> Lengths {
        let (array, own, touched) = (&self.arrays[0], rows.region(rank), rows.chunks_of(rank));
        let mut lengths = [0; LENGTHS];
        for chunk in touched.start.max(chunks.start)..touched.end.min(chunks.end) {
            let region = array.grid.region_of(chunk);
            if let Some(part) = region.intersection(&own).filter(|_| self.samples(chunk)) {
                count_part(&mut lengths, chunk - chunks.start, &relative(part, &region), array);
            }
        }
        lengths
    }

    /// Appends what another rank gets: the boxes, of `bytes` bytes, and then their data. The memory for both
    /// is reserved.
    pub(super) fn pack(
        &self,
        rank: usize,
        round: u64,
        header_bytes: u64,
        with_data: bool,
        out: &mut Vec<u8>,
    ) {
        let mut headers = out.len();
        out.resize(headers + to_usize(header_bytes), 0);
        self.for_each_part_to(rank, round, |chunk, array, part| {
            header(chunk, &part.region).for_each(|number| headers += put_packed(number, &mut out[headers..]));
            if with_data {
                let count = &part.region.count;
                for run in part.runs((count, &[0; MAX_DIMENSIONS][..count.len()])) {
                    part.from.append(run.from, to_usize(run.items), array.item_bytes, out);
                }
            }
        });
    }

    /// This rank's parts of another rank's chunks in a round, each with the number of the chunk in the
    /// batch.
    pub(super) fn for_each_part_to(
        &self,
        rank: usize,
        round: u64,
        mut each: impl FnMut(u64, &PlannedArray<'_>, &ChunkPart<'_>),
    ) {
        if rank == self.rank {
            return;
        }
        let chunks = self.chunks_in_round(rank, round);
        // A chunk may have many parts.
        let mut last = None;
        for &(chunk, number) in self.parts_of(&chunks).iter().filter(|(chunk, _)| self.samples(*chunk)) {
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

    /// Finds the boxes, and their data, in what was received.
    pub(super) fn place_received(&self, batch: &mut Batch, lengths: &[Lengths]) -> Result<()> {
        let mut message = 0;
        for &[header_bytes, data_bytes] in lengths {
            let (mut header, end) = (message, message + to_usize(header_bytes));
            let mut data = end;
            while header < end {
                let mut rest = &batch.received[header..end];
                let (chunk, region) = self.header(&mut rest, &batch.chunks)?;
                let item_bytes = self.arrays[self.array_of(chunk)].item_bytes;
                push(&mut batch.places, (chunk, Place::Received { header, data }))?;
                if batch.has_data {
                    data += to_usize(region.items()?) * item_bytes;
                }
                header = end - rest.len();
            }
            message = end + if batch.has_data { to_usize(data_bytes) } else { 0 };
            if data != message {
                return Err(torn());
            }
        }
        Ok(())
    }

    /// Parses the number of a chunk and a box in it.
    pub(super) fn header(&self, rest: &mut &[u8], chunks: &Range<u64>) -> Result<(u64, IndexBox)> {
        let chunk =
            sum(chunks.start, take_number(rest)?).filter(|chunk| chunks.contains(chunk)).ok_or_else(torn)?;
        let shape = self.arrays[self.array_of(chunk)].grid.chunk_shape();
        let mut region = IndexBox::all(shape);
        for number in region.start.iter_mut().chain(&mut region.count) {
            *number = take_number(rest)?;
        }
        region.check(shape, String::new).map_err(|_| torn())?;
        Ok((chunk, region))
    }
}
