//! Writes contiguous datasets: rows straight from the memory of the ranks, or batches that their owners
//! assemble from the parts of all ranks.

use super::chunk_exchange::{Batch, Chunk, Plan, PlannedArray};
use super::row_partition::RowPartitionCache;
use super::selection::{Selection, overlapping};
use crate::file::options::MostThreads;
use crate::file::source::Source;
use crate::file::sums::SummedFile;
use crate::file::team::Failure;
use crate::file::writer::output::Parts;
use crate::file::writer::sections::{Block, Elements, Gather, LocalElements, Pair, SectionWriter, too_large};
use scda_base::error::Result;
use scda_base::memory::resize;
use scda_base::numbers::to_usize;
use scda_format::dataset::metadata;
use scda_format::dataset::{ChunkGrid, Dataset, IndexBox};
use scda_format::header::SectionType;
use scda_format::layout::{SectionLayout, sum};
use scda_ranks::Partition;
use scda_storage::queue::Queue;

/// The number of batches of a contiguous dataset that an exchange round brings to their owners.
const STRIPS_OF_EXCHANGE: u64 = 4;

/// The memory that a copy of a dataset takes besides its data and texts.
const COPY_BYTES: u64 = 1024;

/// A contiguous dataset, with its metadata and this rank's selection.
#[derive(Clone, Copy)]
pub(super) struct ContiguousDataset<'a> {
    pub dataset: &'a Dataset,
    pub text: &'a str,
    pub selection: &'a Selection<'a>,
    /// The rows of this rank, if all ranks know that their rows are in the order of ranks.
    pub rows: Option<Partition>,
}

/// The same, with a copy of its items.
pub(super) struct ContiguousCopy {
    dataset: Dataset,
    text: String,
    selection: Selection<'static>,
    rows: Option<Partition>,
}

impl ContiguousDataset<'_> {
    /// The memory that a copy takes.
    ///
    /// # Errors
    /// `Range` if that exceeds 63 bits.
    pub fn copied_bytes(&self) -> Result<u64> {
        let region_bytes = (size_of::<IndexBox>() + 2 * size_of_val(&*self.dataset.shape)) as u64;
        let regions = self.selection.regions().len() as u64 * region_bytes;
        let texts = COPY_BYTES + 2 * self.text.len() as u64;
        sum(self.selection.bytes(), regions + texts).ok_or_else(too_large)
    }

    /// # Errors
    /// `Memory`.
    pub fn copied(&self) -> Result<ContiguousCopy> {
        let Self { dataset, text, selection, rows } = *self;
        let (dataset, text) = (dataset.clone(), text.to_owned());
        Ok(ContiguousCopy { dataset, text, selection: selection.copied()?, rows })
    }
}

impl ContiguousCopy {
    pub fn dataset(&self) -> ContiguousDataset<'_> {
        let Self { dataset, text, selection, rows } = self;
        ContiguousDataset { dataset, text, selection, rows: *rows }
    }
}

/// A contiguous dataset and its place in the file.
struct PlacedDataset<'a> {
    dataset: &'a Dataset,
    text: String,
    selection: &'a Selection<'a>,
    /// The rows of this rank, if the rows are in the order of ranks.
    own: Option<Partition>,
    block: SectionLayout,
    layout: SectionLayout,
    rows: u64,
    row_bytes: u64,
    /// Whether it is written [together](SectionWriter::is_written_in_one_run) with its metadata and with other datasets.
    is_in_one_run: bool,
}

impl PlacedDataset<'_> {
    /// The counts in the header of its array, each with its letter.
    fn counts(&self) -> [(u8, u64); 2] {
        [(b'N', self.rows), (b'E', self.row_bytes)]
    }

    /// The bytes of this rank among those of the data.
    fn bytes(&self) -> Partition {
        let own = self.own.unwrap_or_default();
        // The products are bounded by those of the layout.
        let (offset, count) = (own.offset * self.row_bytes, own.count * self.row_bytes);
        Partition { offset, count, total: self.layout.data_bytes }
    }

    fn pair(&self) -> Pair<'_> {
        Pair {
            block: Block { layout: self.block, user: self.dataset.convention(), data: self.text.as_bytes() },
            array: Elements {
                section: SectionType::Array,
                layout: self.layout,
                user: self.dataset.name.as_bytes(),
                count: self.rows,
                size: self.row_bytes,
            },
            bytes: self.bytes(),
            source: self.selection,
            item_bytes: self.dataset.data_type.item_bytes(),
        }
    }
}

/// Writes contiguous datasets at the end of the file.
pub(super) struct ContiguousWriter<'a> {
    pub(super) sections: &'a mut SectionWriter,
    pub(super) known: &'a mut RowPartitionCache,
}

impl ContiguousWriter<'_> {
    /// Writes datasets, at most [`MOST_IN_TURNS`](super::MOST_IN_TURNS) of them. Consecutive ones whose rows
    /// are in the order of ranks are written together.
    pub fn write(&mut self, all: &[ContiguousDataset<'_>]) -> Result<(), Failure> {
        let own = match all {
            [ContiguousDataset { rows: Some(rows), .. }] => vec![Some(*rows)],
            all => self
                .known
                .find(self.sections.team_mut(), all.iter().map(|one| (one.dataset, one.selection)))?,
        };
        let mut together: Vec<PlacedDataset<'_>> = Vec::new();
        for (one, own) in all.iter().zip(own) {
            let start = together.last().map_or(self.sections.end(), |last| last.layout.end);
            let one = self.placed(*one, own, start)?;
            if one.is_in_one_run {
                together.push(one);
                continue;
            }
            self.write_together(&std::mem::take(&mut together))?;
            match one.own {
                Some(rows) => self.write_rows(&one, rows)?,
                None => self.write_in_runs(one)?,
            }
            self.sections.end_call()?;
        }
        self.write_together(&together)
    }

    fn write_together(&mut self, all: &[PlacedDataset<'_>]) -> Result<(), Failure> {
        if all.is_empty() {
            return Ok(());
        }
        let pairs: Vec<Pair<'_>> = all.iter().map(PlacedDataset::pair).collect();
        self.sections.write_pairs(&pairs)?;
        self.sections.end_call()
    }

    /// Plans how a dataset that begins at an offset of the file is written; `own` are the rows of this rank,
    /// if the rows are in the order of ranks.
    fn placed<'d>(
        &mut self,
        ContiguousDataset { dataset, text, selection, .. }: ContiguousDataset<'d>,
        own: Option<Partition>,
        start: u64,
    ) -> Result<PlacedDataset<'d>, Failure> {
        let (rows, row_bytes) = dataset.rows()?;
        let mut text = text.to_owned();
        metadata::align(&mut text, dataset.data_bytes()?, start);
        let block = SectionLayout::block(start, text.len() as u64).ok_or_else(too_large)?;
        let layout = SectionLayout::array(block.end, rows, row_bytes).ok_or_else(too_large)?;
        let is_in_one_run = own.is_some() && self.sections.is_written_in_one_run(block, layout)?;
        Ok(PlacedDataset { dataset, text, selection, own, block, layout, rows, row_bytes, is_in_one_run })
    }

    /// Brings the parts of a contiguous dataset to the owners of its batches, who write them.
    fn write_in_runs(&mut self, one: PlacedDataset<'_>) -> Result<(), Failure> {
        let counts = one.counts();
        let PlacedDataset { dataset, text, selection, layout, rows, row_bytes, .. } = one;
        let item_bytes = dataset.data_type.item_bytes();
        let limits = self.sections.params().tuning.limits;
        let grid = ChunkGrid::of_runs(&dataset.shape, item_bytes, limits.exchange_bytes / STRIPS_OF_EXCHANGE);
        let plan = grid.and_then(|grid| {
            let arrays = vec![PlannedArray::new(dataset, grid, selection)];
            Plan::new(self.sections.team(), arrays, MostThreads::ONE, &limits)
        });
        let plan = Plan::agree_on(plan, self.sections.team_mut(), false)?;
        self.sections.write_metadata(dataset.convention(), &text)?;
        self.sections.describe(SectionType::Array, dataset.name.as_bytes(), rows, row_bytes)?;
        self.write_runs(dataset, &plan, layout, &counts)
    }

    /// Writes the metadata and the rows of this rank, which are gathered first unless they are packed.
    fn write_rows(&mut self, one: &PlacedDataset<'_>, elements: Partition) -> Result<(), Failure> {
        let PlacedDataset { dataset, text, selection, layout, rows, row_bytes, .. } = one;
        let (mut gathered, name) = (Vec::new(), dataset.name.as_bytes());
        let data = selection.batch(0, u64::MAX, &mut gathered);
        let data = self.sections.team_mut().tolerate(data, &[])?;
        self.sections.write_metadata(dataset.convention(), text)?;
        self.sections.describe(SectionType::Array, name, *rows, *row_bytes)?;
        let local = LocalElements { elements, bytes: one.bytes(), entries: None };
        let data = Source::Contiguous(data);
        self.sections.write_elements(SectionType::Array, name, *layout, &one.counts(), &local, data)
    }

    /// Writes the data of a contiguous dataset in batches, each by its owner.
    fn write_runs(
        &mut self,
        dataset: &Dataset,
        plan: &Plan<'_>,
        layout: SectionLayout,
        counts: &[(u8, u64)],
    ) -> Result<(), Failure> {
        let item_bytes = dataset.data_type.item_bytes();
        let shape = &dataset.shape;
        // Strips also follow one another in the file.
        let grid = &plan.arrays[0].grid;
        let offset = |run: u64| {
            if run == grid.chunks() {
                return layout.data_bytes;
            }
            let start = grid.region_of(run).start;
            start.iter().zip(shape).fold(0, |at, (index, n)| at * n + index) * item_bytes
        };
        let own = plan.owned_chunks(0);
        let (start, end) = (offset(own.offset), offset(own.offset + own.count));
        let bytes = Partition { offset: start, count: end - start, total: layout.data_bytes };
        let mut overlap = None;
        let mut buffer = Vec::new();
        let name = dataset.name.as_bytes();
        self.sections.write_in_parts(name, layout, counts, bytes, plan.rounds(), |this, round, out| {
            let batch = plan.round(this.team_mut(), round)?;
            for run in batch.chunks.clone() {
                if this.team().has_deferred() || overlap.is_some() {
                    break;
                }
                let bytes = to_usize(offset(run + 1) - offset(run));
                match put_run(plan, &batch, (run, bytes), &mut buffer, &mut this.output.file, out) {
                    // Reported after the last round, when the first overlap of all ranks is known.
                    Ok(found) => overlap = found,
                    Err(error) => this.team_mut().defer(Err(error)),
                }
            }
            if round + 1 == plan.rounds()
                && let Some(index) = &overlap
            {
                this.team_mut().defer(Err(overlapping(dataset, index)));
            }
            Ok(())
        })
    }
}

/// Appends a batch of `bytes` bytes; returns the first index that two parts have in common, if there is one.
fn put_run(
    plan: &Plan<'_>,
    batch: &Batch,
    (run, bytes): (u64, usize),
    buffer: &mut Vec<u8>,
    file: &mut Queue<SummedFile>,
    out: &mut Parts,
) -> Result<Option<Vec<u64>>> {
    let array = &plan.arrays[0];
    let batch = plan.parts_of_chunk(batch, run)?;
    if array.is_filled_with_zeros()
        && let Some(runs) = batch.sparse_runs(bytes as u64, out.has_cheap_accesses())?
    {
        let mut at = 0;
        let overlap = batch.for_each_run(&runs, buffer, |start, bytes| {
            out.put_zeros(file, start - at)?;
            at = start + bytes.len() as u64;
            out.put(file, bytes)
        })?;
        if overlap.is_none() {
            out.put_zeros(file, bytes as u64 - at)?;
        }
        return Ok(overlap);
    }
    match batch.assemble(buffer)? {
        Chunk::Overlap(index) => return Ok(Some(index)),
        Chunk::Unknown => {}
        Chunk::Bytes(all) => out.put(file, &all[..bytes])?,
        Chunk::Fill => {
            resize(buffer, bytes as u64)?;
            array.put_fill(buffer);
            out.put(file, buffer)?;
        }
    }
    Ok(None)
}
