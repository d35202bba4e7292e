//! Contiguous datasets: rows straight from the memory of the ranks, or strips of their parts.

use super::DatasetWriter;
use super::pieces::{Chunk, Passed, PassedArray, Plan, Round, overlapping};
use crate::file::params::MostThreads;
use crate::file::source::Source;
use crate::file::team::Failure;
use crate::file::writer::sections::{Behind, Block, InPieces, LocalElements, Pair, too_large};
use scda_base::error::Result;
use scda_base::memory::reserve;
use scda_base::numbers::to_usize;
use scda_format::dataset::metadata;
use scda_format::dataset::{ChunkGrid, Dataset};
use scda_format::header::SectionType;
use scda_format::layout::SectionLayout;
use scda_ranks::Partition;

/// A contiguous dataset goes to the ranks that write it in strips, this number in an exchange.
const STRIPS_OF_EXCHANGE: u64 = 4;

/// A contiguous dataset, and where it goes.
struct Contiguous<'a> {
    dataset: &'a Dataset,
    text: String,
    passed: Passed<'a>,
    /// The rows of this rank, if the ranks have rows in their order.
    own: Option<Partition>,
    block: SectionLayout,
    layout: SectionLayout,
    rows: u64,
    row_bytes: u64,
    /// Whether it is written [together](Sections::leave_together) with its metadata, and with others.
    goes_together: bool,
}

impl Contiguous<'_> {
    /// The counts in the header of its array, each with its letter.
    fn counts(&self) -> [(u8, u64); 2] {
        [(b'N', self.rows), (b'E', self.row_bytes)]
    }

    /// The bytes of the data, and those of this rank.
    fn bytes(&self) -> Partition {
        let own = self.own.unwrap_or_default();
        // The products are bounded by the layout's.
        let (offset, count) = (own.offset * self.row_bytes, own.count * self.row_bytes);
        Partition { offset, count, total: self.layout.data_bytes }
    }

    fn pair(&self) -> Pair<'_> {
        Pair {
            block: Block { layout: self.block, user: self.dataset.convention(), data: self.text.as_bytes() },
            array: Behind {
                section: SectionType::Array,
                layout: self.layout,
                user: self.dataset.name.as_bytes(),
                count: self.rows,
                size: self.row_bytes,
            },
            bytes: self.bytes(),
            passed: &self.passed,
            item_bytes: self.dataset.data_type.item_bytes(),
        }
    }
}

impl DatasetWriter<'_> {
    /// Writes contiguous datasets, at most [`MOST_IN_TURNS`]: those whose rows the ranks have in their order, as many as follow one
    /// another, together.
    pub(super) fn contiguous_datasets(
        &mut self,
        all: Vec<((&Dataset, Passed<'_>), String)>,
    ) -> Result<(), Failure> {
        let own = self.own_rows(all.iter().map(|((dataset, passed), _)| (*dataset, passed)))?;
        let mut waiting: Vec<Contiguous<'_>> = Vec::new();
        for (((dataset, passed), text), own) in all.into_iter().zip(own) {
            let start = waiting.last().map_or(self.sections.end(), |last| last.layout.end);
            let one = self.contiguous(dataset, text, passed, own, start)?;
            if one.goes_together {
                waiting.push(one);
                continue;
            }
            self.write_waiting(&mut waiting)?;
            self.write_waiting(&mut vec![one])?;
        }
        self.write_waiting(&mut waiting)
    }

    fn write_waiting(&mut self, waiting: &mut Vec<Contiguous<'_>>) -> Result<(), Failure> {
        if !waiting.is_empty() {
            self.write_contiguous(std::mem::take(waiting))?;
            self.sections.end_call()?;
        }
        Ok(())
    }

    pub(super) fn one_contiguous(
        &mut self,
        dataset: &Dataset,
        text: String,
        passed: Passed<'_>,
        own: Option<Partition>,
    ) -> Result<(), Failure> {
        let own = match own {
            None => self.own_rows(std::iter::once((dataset, &passed)))?[0],
            known => known,
        };
        let one = self.contiguous(dataset, text, passed, own, self.sections.end())?;
        self.write_contiguous(vec![one])
    }

    /// How a contiguous dataset that begins at an offset of the file is written; `own` are the rows of this rank, if the ranks have rows in
    /// their order.
    fn contiguous<'a>(
        &mut self,
        dataset: &'a Dataset,
        mut text: String,
        passed: Passed<'a>,
        own: Option<Partition>,
        start: u64,
    ) -> Result<Contiguous<'a>, Failure> {
        let (rows, row_bytes) = dataset.rows()?;
        metadata::align(&mut text, dataset.data_bytes()?, start);
        let block = SectionLayout::block(start, text.len() as u64).ok_or_else(too_large)?;
        let layout = SectionLayout::array(block.end, rows, row_bytes).ok_or_else(too_large)?;
        let goes_together = own.is_some() && self.sections.leave_together(block, layout)?;
        Ok(Contiguous { dataset, text, passed, own, block, layout, rows, row_bytes, goes_together })
    }

    /// Writes contiguous datasets, several only if they go together.
    fn write_contiguous(&mut self, all: Vec<Contiguous<'_>>) -> Result<(), Failure> {
        if let [Contiguous { goes_together: true, .. }, ..] = &*all {
            let pairs: Vec<Pair<'_>> = all.iter().map(Contiguous::pair).collect();
            return self.sections.write_behind_blocks(&pairs);
        }
        all.into_iter().try_for_each(|one| match one.own {
            Some(rows) => self.write_rows(&one, rows),
            None => self.write_in_strips(one),
        })
    }

    /// Brings the parts of a contiguous dataset to those who write its strips.
    fn write_in_strips(&mut self, one: Contiguous<'_>) -> Result<(), Failure> {
        let counts = one.counts();
        let Contiguous { dataset, text, passed, layout, rows, row_bytes, .. } = one;
        let item_bytes = dataset.data_type.item_bytes();
        let limits = self.sections.params.limits;
        let grid =
            ChunkGrid::of_strips(&dataset.shape, item_bytes, limits.exchange_bytes / STRIPS_OF_EXCHANGE);
        let plan = grid.and_then(|grid| {
            let arrays = vec![PassedArray::new(dataset, grid, passed)];
            Plan::new(&self.sections.team, arrays, MostThreads::ONE, &limits)
        });
        let plan = Plan::agree_on(plan, &mut self.sections.team, false)?;
        self.put_metadata(dataset, &text)?;
        self.sections.describe(SectionType::Array, dataset.name.as_bytes(), rows, row_bytes)?;
        self.write_strips(dataset, &plan, layout, &counts)
    }

    /// Writes metadata and the rows of this rank, which are gathered unless they are packed.
    fn write_rows(&mut self, one: &Contiguous<'_>, elements: Partition) -> Result<(), Failure> {
        let Contiguous { dataset, text, passed, layout, rows, row_bytes, .. } = one;
        let (mut gathered, name) = (Vec::new(), dataset.name.as_bytes());
        let data = passed.piece(0, u64::MAX, &mut gathered);
        let data = self.sections.tolerate(data, &[])?;
        self.put_metadata(dataset, text)?;
        self.sections.describe(SectionType::Array, name, *rows, *row_bytes)?;
        let local = LocalElements { elements, bytes: one.bytes(), entries: None };
        let data = Source::Contiguous(data);
        self.sections.write_elements(SectionType::Array, name, *layout, &one.counts(), &local, data)
    }

    /// Writes the data of a contiguous dataset in strips, each by the rank that owns it.
    fn write_strips(
        &mut self,
        dataset: &Dataset,
        plan: &Plan<'_>,
        layout: SectionLayout,
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

/// Appends a strip; returns the first index that two parts have, if there is one.
fn put_strip(
    plan: &Plan<'_>,
    window: &Round,
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
