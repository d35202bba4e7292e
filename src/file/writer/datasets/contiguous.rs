//! Contiguous datasets: rows straight from the memory of the ranks, or strips of their parts.

use super::DatasetWriter;
use super::chunked::{overlapping, piece_bytes};
use super::pieces::{Array, Chunk, Passed, Plan, WINDOW_BYTES, Window};
use crate::error::Result;
use crate::file::source::Source;
use crate::file::team::{FINE, Failure, split};
use crate::file::writer::sections::{Behind, Block, LocalElements, too_large};
use crate::format::dataset::metadata;
use crate::format::dataset::{ChunkGrid, DATASET_CONVENTION, Dataset};
use crate::format::header::SectionType;
use crate::format::layout::{self, Layout};
use crate::memory::{reserve, resize};
use crate::numbers::to_usize;
use crate::parallel::Partition;

/// How many distributions of rows over the ranks are remembered, of arrays of different lengths.
const MOST_KNOWN: usize = 16;

/// A contiguous dataset is brought to those who write it in strips of about so many bytes.
const STRIP_BYTES: u64 = WINDOW_BYTES / 4;

impl DatasetWriter<'_> {
    pub(super) fn contiguous(
        &mut self,
        dataset: &Dataset,
        mut text: String,
        passed: Passed<'_>,
        own: Option<Partition>,
    ) -> Result<(), Failure> {
        let (rows, row_bytes) = dataset.rows()?;
        let name = dataset.name.as_bytes();
        let own = if own.is_none() { self.own_rows(dataset, &passed, rows)? } else { own };
        if let Some(own) = own {
            metadata::align(&mut text, dataset.data_bytes()?, self.sections.end());
            return self.write_rows(dataset, &text, own, row_bytes, &passed);
        }
        let item_bytes = dataset.data_type.item_bytes();
        let grid = ChunkGrid::new(&dataset.shape, &strip(&dataset.shape, item_bytes), item_bytes);
        let plan =
            grid.and_then(|grid| Plan::new(&self.sections.team, vec![Array::new(dataset, grid, passed)], 1));
        let plan = Plan::agree_on(plan, &mut self.sections.team, false)?;
        metadata::align(&mut text, dataset.data_bytes()?, self.sections.end());
        self.put_metadata(&text)?;
        self.sections.describe(SectionType::Array, name, rows, row_bytes)?;
        let layout = Layout::array(self.sections.end(), rows, row_bytes).ok_or_else(too_large)?;
        self.write_strips(dataset, &plan, layout, &[(b'N', rows), (b'E', row_bytes)])
    }

    /// The indices of the first dimension that this rank has, if each rank passes whole rows, and all of them in the order
    /// of the ranks are the array.
    fn own_rows(
        &mut self,
        dataset: &Dataset,
        passed: &Passed<'_>,
        rows: u64,
    ) -> Result<Option<Partition>, Failure> {
        let own = passed.rows(&dataset.shape);
        if self.sections.team.is_alone() {
            let has_all = own == Some(0..rows);
            return Ok(has_all.then_some(Partition { offset: 0, count: rows, total: rows }));
        }
        let count = own.as_ref().map_or(FINE, |own| own.end - own.start);
        let is_at = |offset| own.as_ref().is_some_and(|own| own.is_empty() || own.start == offset);
        // The fields of a step are distributed alike. What the ranks found out once they need only recognize.
        let known = self.cache.rows.iter().find(|known| known.total == rows).copied();
        let is_known = known.is_some_and(|known| is_at(known.offset) && count == known.count);
        let mut least = [u64::from(is_known)];
        let agreed = self.sections.team.agree_with(Ok(()), &mut least)?;
        if least == [1] {
            return Ok(known);
        }
        let (counts, mine) = split(agreed.comm().allgather(count));
        let sum = |counts: &[u64]| counts.iter().try_fold(0, |sum, &count| layout::sum(sum, count));
        let below = counts.get(..self.sections.team.rank()).and_then(sum);
        let follows = below.filter(|&below| sum(&counts) == Some(rows) && is_at(below));
        least = [u64::from(follows.is_some())];
        self.sections.team.agree_with(mine, &mut least)?;
        let Some(offset) = follows.filter(|_| least == [1]) else { return Ok(None) };
        let found = Partition { offset, count, total: rows };
        self.cache.rows.retain(|known| known.total != rows);
        if self.cache.rows.len() == MOST_KNOWN {
            self.cache.rows.remove(0);
        }
        reserve(&mut self.cache.rows, 1)?;
        self.cache.rows.push(found);
        Ok(Some(found))
    }

    /// Writes metadata and the rows of this rank: straight from its memory if they are packed, else gathered.
    fn write_rows(
        &mut self,
        dataset: &Dataset,
        text: &str,
        rows: Partition,
        row_bytes: u64,
        passed: &Passed<'_>,
    ) -> Result<(), Failure> {
        let name = dataset.name.as_bytes();
        let block = Layout::block(self.sections.end(), text.len() as u64).ok_or_else(too_large)?;
        let layout = Layout::array(block.end, rows.total, row_bytes).ok_or_else(too_large)?;
        // The products are bounded by the layout's.
        let bytes = Partition {
            offset: rows.offset * row_bytes,
            count: rows.count * row_bytes,
            total: layout.data_bytes,
        };
        let counts = [(b'N', rows.total), (b'E', row_bytes)];
        if !self.sections.leave_together(block, layout)? {
            let mut gathered = Vec::new();
            let data = match passed.packed() {
                Some(data) => Ok(data),
                None => resize(&mut gathered, passed.bytes()).map(|()| {
                    passed.gather(0, &mut gathered);
                    &*gathered
                }),
            };
            let data = self.sections.tolerate(data, &[])?;
            self.put_metadata(text)?;
            self.sections.describe(SectionType::Array, name, rows.total, row_bytes)?;
            let local = LocalElements { elements: rows, bytes, entries: None };
            let data = Source::Contiguous(data);
            return self.sections.write_elements(SectionType::Array, name, layout, &counts, &local, data);
        }
        let block = Block(block, DATASET_CONVENTION, text.as_bytes());
        let array = Behind(SectionType::Array, layout, name, &counts);
        self.sections.begin_together(&block, &array, [rows.total, row_bytes])?;
        self.sections.write_behind_block(&block, &array, bytes, (passed, piece_bytes(dataset)))
    }

    /// Writes the data of a contiguous dataset in strips, each by the rank that owns it.
    fn write_strips(
        &mut self,
        dataset: &Dataset,
        plan: &Plan<'_>,
        layout: Layout,
        counts: &[(u8, u64)],
    ) -> Result<(), Failure> {
        let item_bytes = dataset.data_type.item_bytes();
        let shape = &dataset.shape;
        // Strips follow one another in the file, too.
        let grid = plan.arrays()[0].grid();
        let offset = |strip: u64| {
            if strip == grid.chunks() {
                return layout.data_bytes;
            }
            let start = grid.region_of(strip).start;
            start.iter().zip(shape).fold(0, |at, (index, n)| at * n + index) * item_bytes
        };
        let own = plan.own(0);
        let (start, end) = (offset(own.offset), offset(own.offset + own.count));
        let bytes = Partition { offset: start, count: end - start, total: layout.data_bytes };
        let mut overlap = None;
        let mut buffer = Vec::new();
        let name = dataset.name.as_bytes();
        self.sections.write_in_parts(name, layout, counts, bytes, plan.rounds(), |this, round, out| {
            let window = plan.round(&mut this.team, round)?;
            if this.team.has_deferred() || overlap.is_some() {
                return Ok(());
            }
            for strip in window.chunks.clone() {
                let bytes = to_usize(offset(strip + 1) - offset(strip));
                let put = put_strip(plan, &window, strip, bytes, &mut buffer, out);
                match put {
                    Ok(None) => {}
                    Ok(Some(index)) => {
                        // Reported after the last round, when the first overlap of all ranks is known.
                        overlap = Some(index);
                        break;
                    }
                    Err(error) => {
                        this.team.defer(Err(error));
                        break;
                    }
                }
            }
            if round + 1 == plan.rounds()
                && let Some(index) = &overlap
            {
                this.team.defer(Err(overlapping(dataset, index)));
            }
            Ok(())
        })
    }
}

/// Appends a strip, of so many bytes within the array; returns the first index that two parts have, if there is one.
fn put_strip(
    plan: &Plan<'_>,
    window: &Window,
    strip: u64,
    bytes: usize,
    buffer: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<Option<Vec<u64>>> {
    let found = plan.assemble(window, strip, buffer)?;
    let start = out.len();
    reserve(out, bytes)?;
    match found {
        Chunk::Overlap(index) => return Ok(Some(index)),
        Chunk::Unknown => {}
        Chunk::Bytes(all) => out.extend_from_slice(&all[..bytes]),
        Chunk::Fill => {
            out.resize(start + bytes, 0);
            plan.arrays()[0].put_fill(&mut out[start..]);
        }
    }
    Ok(None)
}

/// The shape of strips: parts of the array that follow one another in C order, of about so many bytes.
fn strip(shape: &[u64], item_bytes: u64) -> Vec<u64> {
    let mut strip = vec![1; shape.len()];
    let mut bytes = item_bytes;
    for (strip, &n) in strip.iter_mut().zip(shape).rev() {
        *strip = (STRIP_BYTES / bytes).clamp(1, n.max(1));
        bytes *= *strip;
        if *strip < n {
            break;
        }
    }
    strip
}
