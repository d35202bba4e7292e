//! Datasets: a block of metadata, and the section of their data.
//!
//! The data of a contiguous dataset are an array section. Where each rank passes whole rows in the order of the ranks, as
//! codes with adaptive meshes do, they are written straight from its memory. Otherwise, and for chunks, the ranks bring
//! the parts of the array to those who write them (`pieces`): so the file does not depend on who passes what.

mod behind;
mod chunked;
mod contiguous;
mod dataset_stream;
mod extended;
mod layouts;
mod own_rows;
mod owners;
mod pieces;
mod ready;
mod rows;
mod texts;
mod unplaced;

pub(super) use pieces::Passed;
pub(super) use unplaced::Unplaced;

use self::extended::Extended;
use self::layouts::{Layouts, ToStore};
use self::own_rows::KnownRows;
use self::pieces::check_apart;
use self::ready::{Ready, ready};
use self::unplaced::Instead;
use super::kinds::{Compression, SectionWriter};
use super::sections::Sections;
use crate::file::params::Encode;
use crate::file::team::{FINE, Failure, Function, MOST_WORDS, Topic};
use crate::items::Data;
use scda_base::error::{Error, Result};
use scda_base::floats::in_default;
use scda_format::INLINE_BYTES;
use scda_format::dataset::codecs::Codecs;
use scda_format::dataset::metadata;
use scda_format::dataset::{Dataset, GROUP_CONVENTION, GROUP_DATA, Layout, Region, group_user};
use scda_format::layout::{self};
use scda_ranks::Partition;
use scda_ranks::partition::is_known;
use std::borrow::Cow;

/// The most contiguous datasets that are written together: an agreement has a number for each.
const MOST_IN_TURNS: usize = MOST_WORDS;

/// Longer metadata are not remembered.
const MOST_KNOWN_BYTES: usize = 1 << 14;

/// The boxes of this rank, and their items.
pub type Boxes<'a> = (&'a [Region], Data<'a>);

/// A dataset, and the boxes of this rank with their items, which may be an error of this rank.
#[derive(Debug)]
pub struct Given<'a> {
    /// The dataset.
    pub dataset: &'a Dataset,
    /// The boxes of this rank, and their items.
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
    rows: KnownRows,
    /// The lengths of datasets to which rows were added: the same on all ranks.
    extended: Extended,
}

/// Writes datasets.
pub(crate) struct DatasetWriter<'a> {
    sections: &'a mut Sections,
    compression: &'a mut Compression,
    cache: &'a mut DatasetCache,
    unplaced: &'a mut Unplaced,
}

impl<'a> DatasetWriter<'a> {
    pub(super) fn new(
        sections: &'a mut Sections,
        compression: &'a mut Compression,
        cache: &'a mut DatasetCache,
        unplaced: &'a mut Unplaced,
    ) -> Self {
        Self { sections, compression, cache, unplaced }
    }
}

/// Whether two datasets are the same. Bounds of errors, which most have not, are floating-point numbers.
fn are_same(one: &Dataset, other: &Dataset) -> bool {
    let [bounds, others] =
        [one, other].map(|one| [one.max_relative_error, one.max_absolute_error].map(f64::to_bits));
    bounds == others && if bounds == [0; 2] { one == other } else { in_default(|| one == other) }
}

impl DatasetWriter<'_> {
    /// To write the sections of a dataset that are no more than that.
    fn plain(&mut self) -> SectionWriter<'_> {
        SectionWriter::new(self.sections, self.compression)
    }

    /// Writes a dataset.
    pub(crate) fn dataset(&mut self, dataset: &Dataset, boxes: Result<Boxes<'_>>) -> Result<(), Failure> {
        let (dataset, text) = self.begin_dataset(dataset)?;
        self.check_apart(&dataset, &boxes)?;
        self.write_dataset(&dataset, text, boxes, None)
    }

    /// Where nobody else knows of the call, boxes that meet are an error before anything is written.
    fn check_apart(&self, dataset: &Dataset, boxes: &Result<Boxes<'_>>) -> Result<()> {
        match boxes {
            Ok((regions, _)) if self.sections.team.is_alone() => check_apart(dataset, regions),
            _ => Ok(()),
        }
    }

    /// The dataset of this name has changed: before rows are added to it, it is read again.
    pub(super) fn forget_extended(&mut self, name: &str) {
        self.cache.extended.forget(name);
    }

    /// What was written last failed, and the file goes on without it.
    pub(super) fn forget_failed(&mut self) {
        self.cache.extended.forget_all();
    }

    /// Writes datasets one after the other, each as a call of its own. The chunks of several are compressed together, and the rows of
    /// several contiguous ones written together.
    pub(crate) fn datasets(&mut self, all: &[Given<'_>]) -> Result<(), Failure> {
        self.sections.team.note(Topic::Dataset, all.len() as u64);
        all.iter().try_for_each(|one| self.check_apart(one.dataset, &one.boxes))?;
        let mut rest = all;
        while let Some(first) = rest.first() {
            let (now, later) = rest.split_at(self.together(rest));
            rest = later;
            if now.len() == 1 {
                self.dataset(first.dataset, first.boxes())?;
                self.sections.end_call_if_any()?;
            } else {
                self.several_datasets(now)?;
            }
        }
        Ok(())
    }

    /// How many of these datasets, at least one, are written together.
    fn together(&self, all: &[Given<'_>]) -> usize {
        // Rows of a dataset that is written in this call are no part of the same exchange.
        let is_alike = |one: &&Given<'_>| one.dataset.extends == all[0].dataset.extends;
        let contiguous = all.iter().take_while(is_alike).take(MOST_IN_TURNS);
        let contiguous = contiguous.take_while(|one| one.dataset.layout == Layout::Contiguous).count();
        // More would only take more memory, and a thread that is alone gains nothing.
        if contiguous > 0 || self.sections.team.is_alone() && self.sections.params.threads == 1 {
            return contiguous.max(1);
        }
        let ranks = self.sections.team.size() as u64;
        let (mut bytes, most) = (0, self.sections.params.limits.together_bytes.saturating_mul(ranks));
        let count = all.iter().take_while(is_alike).take_while(|Given { dataset, .. }| {
            bytes = layout::sum(bytes, dataset.data_bytes().unwrap_or(u64::MAX)).unwrap_or(u64::MAX);
            bytes <= most && matches!(dataset.layout, Layout::Chunked { .. })
        });
        count.count().max(1)
    }

    /// Writes several datasets, all of which are chunked, or all contiguous.
    fn several_datasets(&mut self, all: &[Given<'_>]) -> Result<(), Failure> {
        let (mut datasets, mut texts, mut data) = (Vec::new(), Vec::new(), Vec::new());
        for one in all {
            let (dataset, text) = self.begin_dataset(one.dataset)?;
            datasets.push(dataset);
            texts.push(text);
            let items = one.boxes().and_then(|boxes| ready(one.dataset, boxes, &self.sections.params.limits));
            data.push(self.sections.tolerate(items, Ready::NONE)?);
        }
        let mut passed = Vec::new();
        for ((Given { boxes, .. }, dataset), data) in all.iter().zip(&datasets).zip(&data) {
            // What is wrong with them was noted above.
            let boxes =
                boxes.as_ref().map_or(Ok(Passed::NONE), |(regions, _)| Passed::new(dataset, regions, data));
            passed.push((&**dataset, self.sections.tolerate(boxes, Passed::NONE)?));
        }
        if all[0].dataset.layout == Layout::Contiguous {
            if !self.unplaced.is_empty() {
                let each = passed.iter().zip(&texts);
                let each = each.map(|((dataset, passed), text)| (*dataset, passed, text.as_str()));
                if self.keep_contiguous(&each.collect::<Vec<_>>(), None)? {
                    return Ok(());
                }
            }
            return self.contiguous_datasets(passed.into_iter().zip(texts).collect());
        }
        let plan = self.plan(passed)?;
        let datasets: Vec<&Dataset> = datasets.iter().map(|dataset| &**dataset).collect();
        if let Some(bytes) = self.room_behind(texts.iter(), &plan, 0)? {
            return self.keep_datasets(&datasets, texts, &plan, bytes, None);
        }
        let encoded = self.encode_datasets(&datasets, &plan)?;
        for (number, (encoded, text)) in encoded.into_iter().zip(&texts).enumerate() {
            self.write_chunks(datasets[number], text, plan.chunks_of(number), &encoded)?;
            self.sections.end_call()?;
        }
        Ok(())
    }

    /// Writes a dataset of which the ranks have these counts of indices of the first dimension.
    pub(crate) fn field(
        &mut self,
        dataset: &Dataset,
        counts: &[u64],
        data: Result<Data<'_>>,
    ) -> Result<(), Failure> {
        let (dataset, text) = self.begin_dataset(dataset)?;
        let rows = self.sections.team.note_partition(Topic::Counts, counts)?;
        let Some(&first) = dataset.shape.first() else {
            return Err(Error::argument("field: the dataset needs at least one dimension").into());
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
        self.write_dataset(&dataset, text, boxes, Some((rows, counts)))
    }

    /// Writes a dataset of which this rank has `count` indices of the first dimension, which has the sum of all ranks.
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
                let words = "field: the dataset needs at least one dimension";
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
        if self.keep_group(&user, &text)? { Ok(()) } else { self.write_group(&user, &text) }
    }

    fn write_group(&mut self, user: &str, text: &str) -> Result<(), Failure> {
        self.pair((GROUP_CONVENTION, GROUP_DATA), user, text.len() as u64, text.as_bytes())
    }

    /// Writes an inline section, and a block of `bytes` bytes, which rank 0 has.
    pub(super) fn pair(
        &mut self,
        (convention, words): (&[u8], &[u8; INLINE_BYTES]),
        user: &str,
        bytes: u64,
        text: &[u8],
    ) -> Result<(), Failure> {
        self.plain().inline(convention, 0, Ok(words))?;
        self.sections.end_section()?;
        self.plain().block(user.as_bytes(), 0, bytes, Ok(text), Encode::None)
    }

    /// Notes and checks what must be the same on all ranks; returns the dataset as it is written, and its metadata.
    fn begin_dataset<'d>(&mut self, dataset: &'d Dataset) -> Result<(Cow<'d, Dataset>, String), Failure> {
        self.sections.team.note_call(Function::WriteDataset);
        dataset.require_fixed()?;
        let dataset = self.as_written(dataset)?;
        let text = self.metadata(&dataset)?;
        self.sections.team.note_bytes(Topic::Dataset, dataset.name.as_bytes());
        self.sections.team.note_bytes(Topic::Dataset, text.as_bytes());
        self.sections.team.note(Topic::Dataset, dataset.level.map_or(FINE, u64::from));
        Ok((dataset, text))
    }

    /// The metadata of a dataset; those of the last one if this differs only in its name.
    fn metadata(&mut self, dataset: &Dataset) -> Result<String> {
        if let Some((known, text)) = &mut self.cache.metadata {
            known.name.clone_from(&dataset.name);
            if are_same(known, dataset) {
                dataset.check_own_name()?;
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
        let data = self
            .sections
            .tolerate(ready(dataset, (regions, data), &self.sections.params.limits), Ready::NONE)?;
        self.write_ready(dataset, text, regions, &data, rows)
    }

    /// Writes metadata and data as they are in the file.
    fn write_ready(
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
            Layout::Contiguous => return self.keep_or_write(dataset, text, passed, rows),
            Layout::Chunked { .. } => {
                let plan = self.plan_of(dataset, passed, counts)?;
                if let Some(bytes) = self.room_behind(std::iter::once(&text), &plan, 0)? {
                    return self.keep_datasets(&[dataset], vec![text], &plan, bytes, None);
                }
                let encoded = self.encode_dataset(dataset, &plan)?;
                return self.write_chunks(dataset, &text, plan.chunks_of(0), &encoded);
            }
            Layout::Auto { .. } => {}
        }
        let layouts = Layouts::new(dataset, text, self.sections.params.level)?;
        let plan = self.plan_if_it_pays(&layouts, passed, counts)?;
        let passed = Passed::new(&layouts.contiguous.dataset, regions, data);
        let passed = self.sections.tolerate(passed, Passed::NONE)?;
        if let Some(plan) = plan {
            let ToStore { dataset, text } = &layouts.chunked;
            if let Some(bytes) = self.room_for_both(&layouts, &plan, &passed)? {
                let instead = Instead { layouts: &layouts, passed, rows };
                return self.keep_datasets(&[dataset], vec![text.clone()], &plan, bytes, Some(instead));
            }
            let encoded = self.encode_dataset(dataset, &plan)?;
            if layouts.chunks_are_smaller(encoded.bytes.total)? {
                self.place()?;
                return self.write_chunks(dataset, text, plan.chunks_of(0), &encoded);
            }
        }
        let ToStore { dataset, text } = &layouts.contiguous;
        self.keep_or_write(dataset, text.clone(), passed, rows)
    }

    /// Writes a contiguous dataset, or keeps it behind what waits.
    fn keep_or_write(
        &mut self,
        dataset: &Dataset,
        text: String,
        passed: Passed<'_>,
        rows: Option<Partition>,
    ) -> Result<(), Failure> {
        let kept = self.keep_contiguous(&[(dataset, &passed, &text)], rows)?;
        if kept { Ok(()) } else { self.one_contiguous(dataset, text, passed, rows) }
    }

    /// Writes the block of metadata.
    fn put_metadata(&mut self, dataset: &Dataset, text: &str) -> Result<(), Failure> {
        self.plain().block(dataset.convention(), 0, text.len() as u64, Ok(text.as_bytes()), Encode::None)?;
        self.sections.end_section()
    }
}
