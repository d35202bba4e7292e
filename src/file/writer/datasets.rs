//! Datasets: a block of metadata, and the section of their data.
//!
//! The data of a contiguous dataset are an array section. Where each rank passes whole rows in the order of the ranks, as
//! codes with adaptive meshes do, they are written straight from its memory. Otherwise, and for chunks, the ranks bring
//! the parts of the array to those who write them (`pieces`): so the file does not depend on who passes what.

use super::kinds::{Compression, SectionWriter};
use super::layouts::{Layouts, Stored};
use super::pieces::{Array, Chunk, Passed, Plan, WINDOW_BYTES, Window};
use super::sections::{Behind, Block, LocalElements, Sections, too_large};
use crate::codec::ARRAY_CONVENTION;
use crate::codec::chunk::{ChunkCodec, ChunkEncoder, swap_items};
use crate::error::{Error, ErrorKind, Result};
use crate::file::encoding::{CHUNK_BYTES, Encoded, on_threads};
use crate::file::interrupt::Interrupt;
use crate::file::params::Encode;
use crate::file::source::Source;
use crate::file::team::{FINE, Failure, Function, Topic, split};
use crate::format::dataset::bools::{find_other_item, has_bools};
use crate::format::dataset::codecs::Codecs;
use crate::format::dataset::metadata;
use crate::format::dataset::{
    ChunkGrid, DATASET_CONVENTION, Dataset, GROUP_CONVENTION, GROUP_DATA, Layout as DataLayout, Region,
    check_name, does_not_fit, group_user,
};
use crate::format::header::SectionType;
use crate::format::layout::{self, Layout};
use crate::items::{Data, Items};
use crate::memory::{copy, grow, reserve, resize};
use crate::numbers::to_usize;
use crate::parallel::Partition;
use crate::parallel::partition::is_known;
use std::borrow::Cow;
use std::ops::Range;
use std::time::Instant;

/// A contiguous dataset is brought to those who write it in strips of about so many bytes.
const STRIP_BYTES: u64 = WINDOW_BYTES / 4;
/// Datasets are compressed together as long as their arrays have no more bytes in all, for each rank. Fewer in tests.
const TOGETHER_BYTES: u64 = if cfg!(debug_assertions) { 300 << 10 } else { 16 << 20 };
/// How many distributions of rows over the ranks are remembered, of arrays of different lengths.
const MOST_KNOWN: usize = 16;
/// Longer metadata are not remembered.
const MOST_KNOWN_BYTES: usize = 1 << 14;
/// Less than this is not worth a thread.
const BYTES_PER_THREAD: u64 = 1 << 18;

/// A rank whose boxes lie scattered in memory gathers so many bytes at once: they stay in the processor's cache. Fewer in tests.
const GATHERED_BYTES: u64 = if cfg!(debug_assertions) { 1 << 10 } else { 1 << 20 };

/// The boxes of this rank, and their items.
pub(crate) type Boxes<'a> = (&'a [Region], Data<'a>);
/// The chunks of this rank.
pub(super) struct EncodedChunks {
    pub encoded: Encoded,
    /// Their bytes among those of all ranks.
    pub bytes: Partition,
}

/// A dataset, and the boxes of this rank with their items, which may be an error of this rank.
pub(crate) struct Given<'a> {
    pub dataset: &'a Dataset,
    pub boxes: Result<Boxes<'a>>,
}

impl<'a> Given<'a> {
    fn boxes(&self) -> Result<Boxes<'a>> {
        self.boxes.as_ref().copied().map_err(Error::again)
    }
}

/// What the ranks know of the datasets that were written last.
#[derive(Default)]
pub(super) struct DatasetCache {
    /// The last one, and its metadata.
    metadata: Option<(Dataset, String)>,
    /// How the ranks have rows, of arrays of different numbers of rows: the same ones on all ranks.
    rows: Vec<Partition>,
}

/// Writes datasets.
pub(crate) struct DatasetWriter<'a> {
    pub(super) sections: &'a mut Sections,
    pub(super) compression: &'a mut Compression,
    pub(super) cache: &'a mut DatasetCache,
}

impl DatasetWriter<'_> {
    /// To write the sections of a dataset that are no more than that.
    pub(super) fn plain(&mut self) -> SectionWriter<'_> {
        SectionWriter { sections: self.sections, compression: self.compression }
    }

    /// Writes a dataset.
    pub(crate) fn dataset(&mut self, dataset: &Dataset, boxes: Result<Boxes<'_>>) -> Result<(), Failure> {
        let text = self.begin_dataset(dataset)?;
        self.write_dataset(dataset, text, boxes, None)
    }

    /// Writes datasets one after the other, each as a call of its own. The chunks of several are compressed together.
    pub(crate) fn datasets(&mut self, all: &[Given<'_>]) -> Result<(), Failure> {
        self.sections.team.note(Topic::Dataset, all.len() as u64);
        let mut rest = all;
        while let Some(first) = rest.first() {
            let (now, later) = rest.split_at(self.together(rest));
            rest = later;
            if now.len() == 1 {
                self.dataset(first.dataset, first.boxes())?;
                self.sections.end_call()?;
            } else {
                self.chunked_datasets(now)?;
            }
        }
        Ok(())
    }

    /// How many of these datasets, at least one, are compressed together. More than that would only take more memory, and a
    /// thread that is alone gains nothing.
    fn together(&self, all: &[Given<'_>]) -> usize {
        if self.sections.team.is_alone() && self.sections.params.threads == 1 {
            return 1;
        }
        let (mut bytes, most) = (0, TOGETHER_BYTES.saturating_mul(self.sections.team.size() as u64));
        let count = all.iter().take_while(|Given { dataset, .. }| {
            bytes = layout::sum(bytes, dataset.data_bytes().unwrap_or(u64::MAX)).unwrap_or(u64::MAX);
            bytes <= most && matches!(dataset.layout, DataLayout::Chunked { .. })
        });
        count.count().max(1)
    }

    /// Writes several datasets, all of which are chunked.
    fn chunked_datasets(&mut self, all: &[Given<'_>]) -> Result<(), Failure> {
        let (mut texts, mut data) = (Vec::new(), Vec::new());
        for one in all {
            texts.push(self.begin_dataset(one.dataset)?);
            let items = one.boxes().and_then(|boxes| ready(one.dataset, boxes));
            data.push(self.sections.tolerate(items, Ready::NONE)?);
        }
        let mut passed = Vec::new();
        for (Given { dataset, boxes }, data) in all.iter().zip(&data) {
            // What is wrong with them was noted above.
            let boxes =
                boxes.as_ref().map_or(Ok(Passed::NONE), |(regions, _)| Passed::new(dataset, regions, data));
            passed.push((*dataset, self.sections.tolerate(boxes, Passed::NONE)?));
        }
        let plan = self.plan(passed)?;
        let datasets: Vec<&Dataset> = all.iter().map(|one| one.dataset).collect();
        let encoded = self.encode_datasets(&datasets, &plan)?;
        for (number, (encoded, text)) in encoded.into_iter().zip(&texts).enumerate() {
            self.write_chunks(datasets[number], text, plan.chunks_of(number), &encoded)?;
            self.sections.end_call()?;
        }
        Ok(())
    }

    /// Writes a dataset of which each rank has so many indices of the first dimension.
    pub(crate) fn field(
        &mut self,
        dataset: &Dataset,
        counts: &[u64],
        data: Result<Data<'_>>,
    ) -> Result<(), Failure> {
        let text = self.begin_dataset(dataset)?;
        let rows = self.sections.team.note_partition(Topic::Counts, counts)?;
        let Some(&first) = dataset.shape.first() else {
            return Err(
                Error::argument("field: found a dataset without dimensions, expected at least one").into()
            );
        };
        if rows.total != first {
            return Err(Error::argument(format!(
                "counts N_q: found the sum {}, expected the {first} indices of the first dimension",
                rows.total
            ))
            .into());
        }
        let mut region = Region::all(&dataset.shape);
        (region.start[0], region.count[0]) = (rows.offset, rows.count);
        let regions = [region];
        let boxes = data.map(|data| (&regions[..], data));
        // Who knows the counts of all ranks knows what each of them passes.
        let counts = (!is_known(counts)).then_some(counts);
        self.write_dataset(dataset, text, boxes, Some((rows, counts)))
    }

    /// Writes a dataset of which this rank has so many indices of the first dimension, which is as long as all ranks say.
    pub(crate) fn own_field(
        &mut self,
        dataset: &Dataset,
        count: u64,
        data: Result<Data<'_>>,
    ) -> Result<(), Failure> {
        self.sections.team.note_call(Function::WriteField);
        let rows = self.sections.team.partition_of(count)?;
        let mut dataset = dataset.clone();
        match dataset.shape.first_mut() {
            Some(first) => *first = rows.total(),
            None => {
                let words = "field: found a dataset without dimensions, expected at least one";
                return Err(Error::argument(words).into());
            }
        }
        self.field(&dataset, &rows, data)
    }

    /// Writes the attributes of a group.
    pub(crate) fn group(&mut self, path: &str, attributes: &str) -> Result<(), Failure> {
        self.sections.team.note_call(Function::WriteGroup);
        let (user, text) = (group_user(path)?, metadata::of_group(attributes)?);
        self.sections.team.note_bytes(Topic::Dataset, text.as_bytes());
        self.plain().inline(GROUP_CONVENTION, 0, Ok(GROUP_DATA))?;
        self.sections.end_section()?;
        self.plain().block(user.as_bytes(), 0, text.len() as u64, Ok(text.as_bytes()), Encode::None)
    }

    /// Notes and checks what must be the same on all ranks; returns the metadata.
    pub(super) fn begin_dataset(&mut self, dataset: &Dataset) -> Result<String> {
        self.sections.team.note_call(Function::WriteDataset);
        dataset.require_fixed()?;
        let text = self.metadata(dataset)?;
        self.sections.team.note_bytes(Topic::Dataset, dataset.name.as_bytes());
        self.sections.team.note_bytes(Topic::Dataset, text.as_bytes());
        self.sections.team.note(Topic::Dataset, dataset.level.map_or(FINE, u64::from));
        Ok(text)
    }

    /// The metadata of a dataset; those of the last one if this differs only in its name.
    fn metadata(&mut self, dataset: &Dataset) -> Result<String> {
        if let Some((known, text)) = &mut self.cache.metadata {
            known.name.clone_from(&dataset.name);
            if known == dataset {
                check_name(&dataset.name)?;
                return Ok(text.clone());
            }
        }
        let text = metadata::of_dataset(dataset, &Codecs::of(dataset, self.sections.params.level))?;
        self.cache.metadata = (text.len() <= MOST_KNOWN_BYTES).then(|| (dataset.clone(), text.clone()));
        Ok(text)
    }

    /// Writes metadata and data. `rows` are those of this rank, and how many each has if that is known, if all ranks have rows in their order.
    fn write_dataset(
        &mut self,
        dataset: &Dataset,
        text: String,
        boxes: Result<Boxes<'_>>,
        rows: Option<(Partition, Option<&[u64]>)>,
    ) -> Result<(), Failure> {
        let (regions, data) = self.sections.tolerate(boxes, (&[], Data::Packed(&[])))?;
        let data = self.sections.tolerate(ready(dataset, (regions, data)), Ready::NONE)?;
        self.write_ready(dataset, text, regions, &data, rows)
    }

    /// Writes metadata and data as they are in the file.
    pub(super) fn write_ready(
        &mut self,
        dataset: &Dataset,
        text: String,
        regions: &[Region],
        data: &Ready<'_>,
        rows: Option<(Partition, Option<&[u64]>)>,
    ) -> Result<(), Failure> {
        let (rows, counts) = rows.unzip();
        let counts = counts.flatten();
        let passed = self.sections.tolerate(Passed::new(dataset, regions, data), Passed::NONE)?;
        match &dataset.layout {
            DataLayout::Contiguous => return self.contiguous(dataset, text, passed, rows),
            DataLayout::Chunked { .. } => {
                let plan = self.plan_of(dataset, passed, counts)?;
                let encoded = self.encode_dataset(dataset, &plan)?;
                return self.write_chunks(dataset, &text, plan.chunks_of(0), &encoded);
            }
            DataLayout::Auto { .. } => {}
        }
        let layouts = Layouts::new(dataset, text, self.sections.params.level)?;
        if let Some((plan, encoded)) = self.encode_if_smaller(&layouts, passed, counts)? {
            let Stored { dataset, text } = &layouts.chunked;
            return self.write_chunks(dataset, text, plan.chunks_of(0), &encoded);
        }
        let Stored { dataset, text } = layouts.contiguous;
        let passed = self.sections.tolerate(Passed::new(&dataset, regions, data), Passed::NONE)?;
        self.contiguous(&dataset, text, passed, rows)
    }

    /// Writes the block of metadata.
    pub(super) fn put_metadata(&mut self, text: &str) -> Result<(), Failure> {
        self.plain().block(DATASET_CONVENTION, 0, text.len() as u64, Ok(text.as_bytes()), Encode::None)?;
        self.sections.end_section()
    }

    fn contiguous(
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

    /// Who has which parts of the chunks, on all ranks.
    fn plan<'a>(&mut self, all: Vec<(&Dataset, Passed<'a>)>) -> Result<Plan<'a>, Failure> {
        let plan = self.own_plan(all);
        Plan::agree_on(plan, &mut self.sections.team, true)
    }

    /// The same of one dataset, of which all ranks may know how many rows each has.
    pub(super) fn plan_of<'a>(
        &mut self,
        dataset: &Dataset,
        passed: Passed<'a>,
        counts: Option<&[u64]>,
    ) -> Result<Plan<'a>, Failure> {
        let all = vec![(dataset, passed)];
        match counts {
            Some(counts) => Ok(self.own_plan(all)?.of_rows(&dataset.shape, counts)?),
            None => self.plan(all),
        }
    }

    /// Which parts of the chunks this rank has.
    fn own_plan<'a>(&self, all: Vec<(&Dataset, Passed<'a>)>) -> Result<Plan<'a>> {
        let array = |(dataset, passed): (&Dataset, _)| Ok(Array::new(dataset, dataset.grid()?, passed));
        let arrays: Result<Vec<_>> = all.into_iter().map(array).collect();
        arrays.and_then(|arrays| Plan::new(&self.sections.team, arrays, self.sections.params.threads as u64))
    }

    /// As [`Self::encode_datasets`], of the one dataset of the plan.
    pub(super) fn encode_dataset(
        &mut self,
        dataset: &Dataset,
        plan: &Plan<'_>,
    ) -> Result<EncodedChunks, Failure> {
        let mut encoded = self.encode_datasets(&[dataset], plan)?;
        Ok(encoded.pop().ok_or_else(|| Error::new(ErrorKind::Internal, "no dataset was encoded"))?)
    }

    /// Encodes the chunks of this rank, and finds where their bytes lie.
    fn encode_datasets(
        &mut self,
        datasets: &[&Dataset],
        plan: &Plan<'_>,
    ) -> Result<Vec<EncodedChunks>, Failure> {
        let codec = |dataset: &&Dataset| {
            let params = &self.sections.params;
            ChunkCodec::of(dataset, params.encoder, params.level, params.line_break)
        };
        let codecs: Vec<ChunkCodec> = datasets.iter().map(codec).collect();
        let mut encoded: Vec<Encoded> = datasets.iter().map(|_| Encoded::default()).collect();
        let mut overlap = None;
        for round in 0..plan.rounds() {
            let window = plan.round(&mut self.sections.team, round)?;
            if self.sections.team.has_deferred() || overlap.is_some() {
                continue;
            }
            match self.encode_window(plan, &window, &codecs, &mut encoded) {
                Ok(found) => overlap = found,
                Err(error) => self.sections.team.defer(Err(error)),
            }
        }
        // Only now, so that whoever has which part, the overlap that is named is that of the first chunk.
        let mine = overlap.map_or(Ok(()), |(number, index)| Err(overlapping(datasets[number], &index)));
        let mut bytes: Vec<Partition> =
            encoded.iter().map(|one| Partition { count: one.bytes(), ..Partition::default() }).collect();
        self.sections.must_agree();
        self.sections.team.agree(mine)?.spread_all(&mut bytes)?;
        Ok(encoded.into_iter().zip(bytes).map(|(encoded, bytes)| EncodedChunks { encoded, bytes }).collect())
    }

    /// Writes metadata and encoded chunks of a dataset: those of this rank, and the bytes of each before it was encoded.
    pub(super) fn write_chunks(
        &mut self,
        dataset: &Dataset,
        text: &str,
        (chunks, chunk_bytes): (Partition, u64),
        EncodedChunks { encoded, bytes }: &EncodedChunks,
    ) -> Result<(), Failure> {
        let name = dataset.name.as_bytes();
        let block = Layout::block(self.sections.end(), text.len() as u64).ok_or_else(too_large)?;
        let layout = Layout::varray(block.end, chunks.total, bytes.total).ok_or_else(too_large)?;
        if !is_text(dataset) && self.sections.leave_together(block, layout)? {
            let block = Block(block, DATASET_CONVENTION, text.as_bytes());
            let counts = [(b'N', chunks.total)];
            let varray = Behind(SectionType::Varray, layout, name, &counts);
            self.sections.begin_together(&block, &varray, [chunks.total, bytes.total])?;
            return self.sections.write_encoded_behind_block(&block, &varray, (chunks, *bytes), encoded);
        }
        self.put_metadata(text)?;
        if is_text(dataset) {
            self.sections.describe(SectionType::Array, name, chunks.total, chunk_bytes)?;
            self.sections.write_size_note(ARRAY_CONVENTION, self.sections.team.rank() == 0, chunk_bytes)?;
        } else {
            self.sections.describe(SectionType::Varray, name, chunks.total, bytes.total)?;
        }
        let layout = Layout::varray(self.sections.end(), chunks.total, bytes.total).ok_or_else(too_large)?;
        self.sections.write_encoded(name, layout, chunks, *bytes, encoded)
    }

    /// Encodes the chunks of a window, behind those that are encoded; returns the first index that two parts have, with the
    /// number of the dataset.
    pub(super) fn encode_window(
        &mut self,
        plan: &Plan<'_>,
        window: &Window,
        codecs: &[ChunkCodec],
        encoded: &mut [Encoded],
    ) -> Result<Option<Overlap>> {
        let mut start = window.chunks.start;
        while start < window.chunks.end {
            let first = plan.array_of(start);
            let codec = codecs[first];
            let alike = codecs[first..].iter().take_while(|other| **other == codec).count();
            let end = plan.end_of(first + alike - 1).min(window.chunks.end);
            let overlap = self.encode_alike(plan, window, start..end, codec, encoded)?;
            if overlap.is_some() {
                return Ok(overlap);
            }
            start = end;
        }
        Ok(None)
    }

    /// Encodes chunks of a window in one way.
    fn encode_alike(
        &mut self,
        plan: &Plan<'_>,
        window: &Window,
        chunks: Range<u64>,
        codec: ChunkCodec,
        encoded: &mut [Encoded],
    ) -> Result<Option<Overlap>> {
        let Range { start, end } = chunks;
        let bytes = (end - start).saturating_mul(plan.arrays()[plan.array_of(start)].grid().chunk_bytes());
        let most = to_usize((bytes / BYTES_PER_THREAD).min(end - start).max(1));
        let threads = self.sections.params.threads.clamp(1, most);
        if self.compression.chunk_encoders.first().is_some_and(|encoder| encoder.codec() != codec) {
            self.compression.chunk_encoders.clear();
        }
        while self.compression.chunk_encoders.len() < threads {
            self.compression.chunk_encoders.push(ChunkEncoder::new(codec)?);
        }
        let cut = |thread: usize| start + (end - start) * thread as u64 / threads as u64;
        let stop = &self.sections.params.interrupt;
        let jobs =
            self.compression.chunk_encoders.iter_mut().take(threads).enumerate().map(|(thread, encoder)| {
                let chunks = cut(thread)..cut(thread + 1);
                move || encode_chunks(encoder, plan, window, chunks, stop)
            });
        let began = Instant::now();
        let all = on_threads(jobs.collect());
        self.compression.spent.add(0, began);
        for done in all {
            let (more, overlap) = done?;
            if overlap.is_some() {
                return Ok(overlap);
            }
            for (number, more) in more {
                self.compression.spent.add(more.bytes(), Instant::now());
                encoded[number].append(more)?;
            }
        }
        Ok(None)
    }
}

/// The number of a dataset, and an index of it that two parts have.
type Overlap = (usize, Vec<u64>);
/// The encoded chunks of datasets, each with its number, up to an overlap.
type Pieces = (Vec<(usize, Encoded)>, Option<Overlap>);

/// Encodes these chunks of a window, up to the first one that has an index twice: those of each dataset, with its number.
fn encode_chunks(
    encoder: &mut ChunkEncoder,
    plan: &Plan<'_>,
    window: &Window,
    chunks: Range<u64>,
    interrupt: &Interrupt,
) -> Result<Pieces> {
    let (mut all, _) = Pieces::default();
    let (mut buffer, mut out) = (Vec::new(), Vec::new());
    // A chunk of the compression convention has all its bytes.
    let must_be_whole = encoder.codec().is_text();
    for chunk in chunks.filter(|chunk| plan.wants(*chunk)) {
        interrupt.check()?;
        let number = plan.array_of(chunk);
        let is_next = all.last().is_none_or(|(last, _)| *last != number);
        if is_next || out.len() >= CHUNK_BYTES {
            end_piece(&mut all, &mut out)?;
        }
        if is_next {
            reserve(&mut all, 1)?;
            all.push((number, Encoded::default()));
        }
        let array = &plan.arrays()[number];
        let size = match plan.assemble(window, chunk, &mut buffer)? {
            Chunk::Overlap(index) => return Ok((all, Some((number, index)))),
            Chunk::Unknown => continue,
            Chunk::Bytes(bytes) => encoder.encode(bytes, &mut out)?,
            Chunk::Fill if must_be_whole => {
                let bytes = to_usize(array.grid().chunk_bytes());
                let mut filled = Vec::new();
                grow(&mut filled, bytes)?;
                array.put_fill(&mut filled);
                encoder.encode(&filled, &mut out)?
            }
            Chunk::Fill => 0,
        };
        if let Some((_, encoded)) = all.last_mut() {
            reserve(&mut encoded.sizes, 1)?;
            encoded.sizes.push(size as u64);
        }
    }
    end_piece(&mut all, &mut out)?;
    Ok((all, None))
}

/// What was encoded goes to the last dataset.
fn end_piece(all: &mut [(usize, Encoded)], out: &mut Vec<u8>) -> Result<()> {
    if let Some((_, encoded)) = all.last_mut() {
        reserve(&mut encoded.chunks, 1)?;
        encoded.chunks.push(std::mem::take(out));
    }
    Ok(())
}

/// Whether the chunks are elements of the compression convention.
pub(super) fn is_text(dataset: &Dataset) -> bool {
    matches!(dataset.layout, DataLayout::Chunked { text: true, .. })
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

/// So many bytes of a dataset, which are whole items, are gathered at once.
fn piece_bytes(dataset: &Dataset) -> u64 {
    let item_bytes = dataset.data_type.item_bytes();
    (GATHERED_BYTES / item_bytes).max(1) * item_bytes
}

/// The items of this rank as they are written: compared with the regions, in little-endian order, and bools are 0 or 1.
pub(super) enum Ready<'a> {
    /// One box after the other, each in C order.
    Packed(Cow<'a, [u8]>),
    /// Each box as it lies in memory.
    Boxes(Vec<Items<'a>>),
}

impl Ready<'_> {
    pub const NONE: Self = Self::Packed(Cow::Borrowed(&[]));
}

/// # Errors
/// `Argument` for another number of boxes than of regions, for memory that does not fit them, and for other bools; `Range`; `Memory`.
fn ready<'a>(dataset: &Dataset, (regions, data): Boxes<'a>) -> Result<Ready<'a>> {
    let memories = match data {
        Data::Packed(data) => return Ok(Ready::Packed(little_endian(dataset, data)?)),
        Data::Boxes(memories) => memories,
    };
    if memories.len() != regions.len() {
        let words = format!("data: found memory for {} boxes, expected {}", memories.len(), regions.len());
        return Err(Error::argument(words));
    }
    let (mut boxes, mut bytes) = (Vec::new(), 0);
    reserve(&mut boxes, regions.len())?;
    for (number, (region, memory)) in regions.iter().zip(memories).enumerate() {
        dataset.check_region(number, region)?;
        let items = memory.items(&region.count, dataset.data_type)?;
        bytes = layout::sum(bytes, items.bytes()).ok_or_else(too_large)?;
        boxes.push(items);
    }
    if let [one] = &*boxes
        && let Some(data) = one.packed()
    {
        return Ok(Ready::Packed(little_endian(dataset, data)?));
    }
    let is_swapped = cfg!(target_endian = "big") && dataset.data_type.has_byte_order();
    if bytes <= GATHERED_BYTES || is_swapped {
        let mut data = Vec::new();
        resize(&mut data, bytes)?;
        let mut rest = &mut *data;
        for (items, region) in boxes.iter().zip(regions) {
            let (own, later) = rest.split_at_mut(to_usize(items.bytes()));
            check_fit(dataset, region, items.gather(0, own))?;
            rest = later;
        }
        check_bools(dataset, &data, 0)?;
        if is_swapped {
            swap_items(&mut data, dataset.data_type);
        }
        return Ok(Ready::Packed(Cow::Owned(data)));
    }
    let (mut piece, mut before) = (Vec::new(), 0);
    let is_bool = has_bools(dataset.data_type);
    for (items, region) in boxes.iter().zip(regions).filter(|(items, _)| is_bool || items.may_misfit()) {
        for start in (0..items.bytes()).step_by(to_usize(piece_bytes(dataset))) {
            resize(&mut piece, piece_bytes(dataset).min(items.bytes() - start))?;
            check_fit(dataset, region, items.gather_bytes(start, &mut piece))?;
            check_bools(dataset, &piece, before + start)?;
        }
        before += items.bytes();
    }
    Ok(Ready::Boxes(boxes))
}

/// An error for an item of a region that has no number of the type in the file.
fn check_fit(dataset: &Dataset, region: &Region, misfit: Option<u64>) -> Result<()> {
    misfit.map_or(Ok(()), |item| Err(does_not_fit(dataset, &region.index_of(item))))
}

/// The bytes of items in little-endian order. An error for bools that are neither 0 nor 1.
fn little_endian<'a>(dataset: &Dataset, data: &'a [u8]) -> Result<Cow<'a, [u8]>> {
    check_bools(dataset, data, 0)?;
    if cfg!(target_endian = "little") || !dataset.data_type.has_byte_order() {
        return Ok(Cow::Borrowed(data));
    }
    let mut swapped = copy(data)?;
    swap_items(&mut swapped, dataset.data_type);
    Ok(Cow::Owned(swapped))
}

/// An error for bools that are neither 0 nor 1, which others may take for either; so many bytes are before them.
fn check_bools(dataset: &Dataset, data: &[u8], before: u64) -> Result<()> {
    find_other_item(dataset.data_type, data).map_or(Ok(()), |(place, byte)| {
        let place = before / dataset.data_type.item_bytes() + place as u64;
        Err(Error::argument(format!("data: found the bool {byte} at item {place}, expected 0 or 1")))
    })
}

#[cold]
fn overlapping(dataset: &Dataset, index: &[u64]) -> Error {
    let name = &dataset.name;
    Error::argument(format!(
        "dataset \"{name}\": found index {index:?} in two regions, expected each in one at most"
    ))
}
