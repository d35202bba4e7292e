//! Reads boxes of contiguous datasets, plain or compressed, run by run.

use super::BoxReader;
use super::box_buffers::BoxBuffers;
use super::selection::{Destination, Selection, bytes_of};
use crate::file::reader::local_reader::ReadsLocally;
use crate::file::reader::sections::{BATCH_BYTES, CurrentSection};
use crate::file::source::{Sink, Sizes};
use scda_base::error::Result;
use scda_base::memory::{self, resize};
use scda_base::numbers::to_usize;
use scda_format::dataset::{CommonRun, Dataset, IndexBox, Runs};
use scda_ranks::Partition;
use std::ops::Range;

/// Rows of at most this size, and at most this far apart, are read together with the bytes between them.
const NEAR_BYTES: u64 = 4096;
/// The most runs that are read together.
const MOST_RUNS: usize = 4096;

impl BoxReader<'_> {
    /// Reads boxes of plain contiguous datasets into scattered memory: some rows of each dataset in turn, so
    /// that memory in which their items are interleaved enters the processor's cache once.
    pub(super) fn read_in_turns(
        &mut self,
        parts: &[Selection<'_>],
        targets: &mut [Destination<'_, '_>],
    ) -> Result<()> {
        let most = self.sections.params().tuning.limits.turn(parts.len());
        let batches: Result<Vec<_>> = parts.iter().map(|part| part.batches(most)).collect();
        let mut batches = batches?;
        let mut is_end = false;
        while !is_end {
            is_end = true;
            for (part, batches) in parts.iter().zip(&mut batches) {
                if let Some((batch, place)) = batches.next() {
                    self.read_plain_rows(part, (&batch, place), &mut targets[part.number].room)?;
                    is_end = false;
                }
            }
        }
        Ok(())
    }

    /// Reads boxes of a contiguous dataset.
    pub(super) fn read_rows(&mut self, part: &Selection<'_>, room: &mut BoxBuffers<'_>) -> Result<()> {
        for place in part.places() {
            if part.current.decoded {
                self.decode_rows(part, place, room)?;
            } else {
                self.read_plain_rows(part, place, room)?;
            }
        }
        Ok(())
    }

    /// Reads a box of uncompressed data.
    fn read_plain_rows(
        &mut self,
        part: &Selection<'_>,
        (region, start): (&IndexBox, u64),
        room: &mut BoxBuffers<'_>,
    ) -> Result<()> {
        let Dataset { shape, data_type, .. } = &part.stored.dataset;
        let item_bytes = data_type.item_bytes();
        let _temporary = memory::temporary();
        let mut together = RunBatch::default();
        let mut buffer = Vec::new();
        let first = part.current.layout.data;
        let zeros = vec![0; region.count.len()];
        for run in Runs::new(&region.count, (shape, &region.start), (&region.count, &zeros)) {
            let run = bytes_of(run, item_bytes, start);
            if !together.takes(run) {
                self.read_together(&mut together, first, &mut buffer, room)?;
            }
            together.runs.push(run);
        }
        self.read_together(&mut together, first, &mut buffer, room)
    }

    /// Reads nearby runs with one call, from an offset of the file on.
    fn read_together(
        &mut self,
        together: &mut RunBatch,
        first: u64,
        buffer: &mut Vec<u8>,
        room: &mut BoxBuffers<'_>,
    ) -> Result<()> {
        let range = together.range();
        match together.runs.as_slice() {
            [] => {}
            [run] => {
                room.take(*run, |done, memory| self.input().read_own(first + run.from + done, memory))?
            }
            runs => {
                resize(buffer, range.end - range.start)?;
                self.input().read_own(first + range.start, buffer)?;
                for run in runs {
                    let from = to_usize(run.from - range.start);
                    room.put(run.to, &buffer[from..from + to_usize(run.items)]);
                }
            }
        }
        together.runs.clear();
        Ok(())
    }

    /// Reads a box of an array whose rows are compressed elements.
    fn decode_rows(
        &mut self,
        part: &Selection<'_>,
        (region, place): (&IndexBox, u64),
        room: &mut BoxBuffers<'_>,
    ) -> Result<()> {
        let Dataset { shape, data_type, .. } = &part.stored.dataset;
        let (item_bytes, current) = (data_type.item_bytes(), &part.current);
        let _temporary = memory::temporary();
        let mut rows = Vec::new();
        let (Some(&start), Some(&count)) = (region.start.first(), region.count.first()) else {
            // Without dimensions, there is one row.
            resize(&mut rows, item_bytes)?;
            self.decode_own(current, 0..1, Sink::Contiguous(&mut rows))?;
            room.put(place, &rows);
            return Ok(());
        };
        if region.items()? == 0 {
            return Ok(());
        }
        let step = (BATCH_BYTES as u64 / current.size.max(1)).clamp(1, count);
        let mut zeros = vec![0; shape.len()];
        let mut now = region.clone();
        let mut from = shape.clone();
        let mut done = 0;
        while done < count {
            let n = step.min(count - done);
            resize(&mut rows, n * current.size)?;
            self.decode_own(current, start + done..start + done + n, Sink::Contiguous(&mut rows))?;
            (now.start[0], now.count[0], from[0], zeros[0]) = (0, n, n, done);
            for run in Runs::new(&now.count, (&from, &now.start), (&region.count, &zeros)) {
                let run = bytes_of(run, item_bytes, place);
                let from = to_usize(run.from);
                room.put(run.to, &rows[from..from + to_usize(run.items)]);
            }
            done += n;
        }
        Ok(())
    }

    /// Decodes elements of a compressed array.
    fn decode_own(&mut self, current: &CurrentSection, elements: Range<u64>, data: Sink<'_>) -> Result<()> {
        let count = elements.end - elements.start;
        let part = Partition { offset: elements.start, count, total: current.count };
        self.sections.ranges().decode_own_range(
            current,
            part,
            Sizes::Fixed { count, size: current.size },
            data,
        )
    }
}

/// Runs of bytes, in the order of the file, that are read together.
#[derive(Default)]
struct RunBatch {
    runs: Vec<CommonRun>,
}

impl RunBatch {
    /// From the first byte of the runs to the last.
    fn range(&self) -> Range<u64> {
        let start = self.runs.first().map_or(0, |run| run.from);
        start..self.runs.last().map_or(0, |run| run.from + run.items)
    }

    /// Whether a run can be read together with these.
    fn takes(&self, run: CommonRun) -> bool {
        let range = self.range();
        self.runs.is_empty()
            || self.runs.len() < MOST_RUNS
                && run.items <= NEAR_BYTES
                && self.runs[0].items <= NEAR_BYTES
                && run.from - range.end <= NEAR_BYTES
                && run.from + run.items - range.start <= BATCH_BYTES as u64
    }
}
