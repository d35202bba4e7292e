//! Writes datasets: a block of metadata, and the section of their data.
//!
//! The data of a contiguous dataset are an array section. If each rank passes whole rows in the order of the
//! ranks, as codes with adaptive meshes do, they are written directly from its memory. Otherwise, and for
//! chunks, the ranks send the parts of the array to those that write them, so the file does not depend on
//! which rank passes what.

mod added_rows;
mod background_chunks;
mod chunk_exchange;
mod chunked;
mod contiguous;
mod dataset_stream;
mod layouts;
mod owners;
mod row_partition;
mod rows;
mod schedule;
mod selection;
mod texts;

pub(super) use row_partition::RowPartitionCache;
pub(super) use schedule::{PendingWrites, Scheduler};

use self::added_rows::ExtendedDatasets;
use self::chunked::{ChunkWriter, ChunkedDataset};
use self::contiguous::ContiguousDataset;
use self::layouts::{Layouts, StoredDataset};
use self::schedule::Write;
use self::selection::{Selection, check_separate};
use super::section_encoder::Compression;
use super::sections::SectionWriter;
use crate::file::team::{FINE, Failure, Function, MOST_WORDS, Topic, partition_of};
use crate::items::Data;
use scda_base::error::{Error, Result};
use scda_base::floats::in_default;
use scda_format::dataset::codecs::Codecs;
use scda_format::dataset::metadata;
use scda_format::dataset::{Dataset, IndexBox, Layout, group_user, named_group};
use scda_format::layout::sum;
use scda_ranks::Partition;
use scda_ranks::partition::is_known;
use std::borrow::Cow;

/// The most contiguous datasets that are written together: an agreement has a number for each.
const MOST_IN_TURNS: usize = MOST_WORDS;

/// Longer metadata are not kept.
const MOST_KNOWN_BYTES: usize = 1 << 14;

/// The boxes of this rank, and their items.
pub type Boxes<'a> = (&'a [IndexBox], Data<'a>);

/// A dataset, and the boxes of this rank with their items, which may be an error of this rank.
#[derive(Debug)]
pub struct DatasetBoxes<'a> {
    /// The dataset.
    pub dataset: &'a Dataset,
    /// The boxes of this rank, and their items.
    pub boxes: Result<Boxes<'a>, &'a Error>,
}

impl<'a> DatasetBoxes<'a> {
    fn boxes(&self) -> Result<Boxes<'a>> {
        self.boxes.map_err(Error::again)
    }
}

/// What the ranks keep about the last datasets.
#[derive(Default)]
pub(super) struct DatasetCache {
    /// The last dataset, and its metadata.
    metadata: Option<(Dataset, String)>,
    /// The numbers of rows of datasets to which rows were added, the same on all ranks.
    pub(super) extended: ExtendedDatasets,
}

/// Checks the datasets that users write, and plans how they are stored.
pub(super) struct DatasetWriter<'a> {
    pub(super) sections: &'a mut SectionWriter,
    pub(super) compression: &'a mut Compression,
    pub(super) rows: &'a mut RowPartitionCache,
    pub(super) pending: &'a mut PendingWrites,
    pub(super) cache: &'a mut DatasetCache,
}

/// Whether two datasets are the same. Most have no error bounds, which are floating-point numbers.
fn are_same(one: &Dataset, other: &Dataset) -> bool {
    let [bounds, others] =
        [one, other].map(|one| [one.max_relative_error, one.max_absolute_error].map(f64::to_bits));
    bounds == others && if bounds == [0; 2] { one == other } else { in_default(|| one == other) }
}

impl DatasetWriter<'_> {
    fn scheduler(&mut self) -> Scheduler<'_> {
        Scheduler {
            sections: self.sections,
            compression: self.compression,
            rows: self.rows,
            pending: self.pending,
        }
    }

    fn chunks(&mut self) -> ChunkWriter<'_> {
        ChunkWriter { sections: self.sections, compression: self.compression }
    }

    /// Writes a dataset.
    pub(super) fn dataset(&mut self, dataset: &Dataset, boxes: Result<Boxes<'_>>) -> Result<(), Failure> {
        let (dataset, text) = self.begin_dataset(dataset)?;
        self.check_separate(&dataset, &boxes)?;
        self.write_boxes(&dataset, text, boxes, None)
    }

    /// If the rank is alone, returns an error for overlapping boxes before anything is written.
    fn check_separate(&self, dataset: &Dataset, boxes: &Result<Boxes<'_>>) -> Result<()> {
        match boxes {
            Ok((regions, _)) if self.sections.team().is_alone() => check_separate(dataset, regions),
            _ => Ok(()),
        }
    }

    /// Writes datasets one after the other, each like a call of its own. The chunks of several are compressed
    /// together, and the rows of several contiguous ones are written together.
    pub(super) fn datasets(&mut self, all: &[DatasetBoxes<'_>]) -> Result<(), Failure> {
        self.sections.team_mut().note_named(Topic::Dataset, &["the number"], &[all.len() as u64]);
        all.iter().try_for_each(|one| self.check_separate(one.dataset, &one.boxes()))?;
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

    /// How many of these datasets are written together, at least one.
    fn together(&self, all: &[DatasetBoxes<'_>]) -> usize {
        // Datasets and rows that are added to them are not in the same exchange.
        let is_alike = |one: &&DatasetBoxes<'_>| one.dataset.extends == all[0].dataset.extends;
        let contiguous = all.iter().take_while(is_alike).take(MOST_IN_TURNS);
        let contiguous = contiguous.take_while(|one| one.dataset.layout == Layout::Contiguous).count();
        // More would only take more memory, and a single thread gains nothing.
        if contiguous > 0 || self.sections.team().is_alone() && self.sections.params().tuning.threads == 1 {
            return contiguous.max(1);
        }
        let ranks = self.sections.team().size() as u64;
        let (mut bytes, most) =
            (0, self.sections.params().tuning.limits.together_bytes.saturating_mul(ranks));
        let count = all.iter().take_while(is_alike).take_while(|DatasetBoxes { dataset, .. }| {
            bytes = sum(bytes, dataset.data_bytes().unwrap_or(u64::MAX)).unwrap_or(u64::MAX);
            bytes <= most && matches!(dataset.layout, Layout::Chunked { .. })
        });
        count.count().max(1)
    }

    /// Writes several datasets, all of which are in chunks, or all contiguous.
    fn several_datasets(&mut self, all: &[DatasetBoxes<'_>]) -> Result<(), Failure> {
        let mut described = Vec::new();
        for one in all {
            let (dataset, text) = self.begin_dataset(one.dataset)?;
            let selection = one
                .boxes()
                .and_then(|boxes| Selection::new(&dataset, boxes, &self.sections.params().tuning.limits));
            described.push((dataset, text, self.sections.team_mut().tolerate(selection, Selection::EMPTY)?));
        }
        if all[0].dataset.layout == Layout::Contiguous {
            let each = described.iter().map(|(dataset, text, selection)| ContiguousDataset {
                dataset,
                text,
                selection,
                rows: None,
            });
            return self.scheduler().submit(Write::Contiguous(&each.collect::<Vec<_>>()));
        }
        let selections: Vec<_> =
            described.iter().map(|(dataset, _, selection)| (&**dataset, selection)).collect();
        let plan = self.chunks().plan(&selections)?;
        let each =
            described.iter().map(|(dataset, text, _)| ChunkedDataset { dataset, text, alternative: None });
        self.scheduler().submit(Write::Chunked(&each.collect::<Vec<_>>(), &plan))
    }

    /// Writes a dataset whose first dimension is distributed over the ranks with these counts.
    pub(super) fn field(
        &mut self,
        dataset: &Dataset,
        counts: &[u64],
        data: Result<Data<'_>>,
    ) -> Result<(), Failure> {
        let (dataset, text) = self.begin_dataset(dataset)?;
        let rows = self.sections.team_mut().note_partition(Topic::Counts, counts)?;
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
        let mut region = IndexBox::all(&dataset.shape);
        (region.start[0], region.count[0]) = (rows.offset, rows.count);
        let regions = [region];
        let boxes = data.map(|data| (&regions[..], data));
        // With the counts of all ranks, it is known what each of them passes.
        let counts = (!is_known(counts)).then_some(counts);
        self.write_boxes(&dataset, text, boxes, Some((rows, counts)))
    }

    /// Writes a dataset of which this rank has `count` indices of the first dimension, whose size is the sum
    /// over all ranks.
    pub(super) fn own_field(
        &mut self,
        dataset: &Dataset,
        count: u64,
        data: Result<Data<'_>>,
    ) -> Result<(), Failure> {
        self.sections.team_mut().note_call(Function::WriteField);
        let rows = partition_of(self.sections.team_mut(), count)?;
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
    pub(super) fn group(&mut self, path: &str, attributes: &str) -> Result<(), Failure> {
        self.sections.team_mut().note_call(Function::WriteGroup);
        let path = named_group(path).unwrap_or(path);
        let (user, text) = (group_user(path)?, metadata::of_group(attributes)?);
        self.sections.team_mut().note_bytes(Topic::Dataset, &["the metadata"], text.as_bytes());
        self.scheduler().submit(Write::Group(&user, &text))
    }

    /// Records and checks what must be the same on all ranks; returns the dataset as it is written, and its
    /// metadata.
    fn begin_dataset<'d>(&mut self, dataset: &'d Dataset) -> Result<(Cow<'d, Dataset>, String), Failure> {
        self.sections.team_mut().note_call(Function::WriteDataset);
        dataset.require_fixed()?;
        let dataset = self.as_written(dataset)?;
        let text = self.metadata(&dataset)?;
        self.sections.team_mut().note_bytes(Topic::Dataset, &["the name"], dataset.name.as_bytes());
        self.note_metadata(&text, dataset.level);
        Ok((dataset, text))
    }

    /// Records metadata, which must be the same on all ranks, and the level of compression, which they lack.
    fn note_metadata(&mut self, text: &str, level: Option<u32>) {
        let team = self.sections.team_mut();
        team.note_bytes(Topic::Dataset, &["the metadata"], text.as_bytes());
        team.note_named(Topic::Dataset, &["level"], &[level.map_or(FINE, u64::from)]);
    }

    /// The metadata of a dataset; reuses those of the last one if only the name differs.
    fn metadata(&mut self, dataset: &Dataset) -> Result<String> {
        if let Some((known, text)) = &mut self.cache.metadata {
            known.name.clone_from(&dataset.name);
            if are_same(known, dataset) {
                dataset.check_own_name()?;
                return Ok(text.clone());
            }
        }
        let text = metadata::of_dataset(dataset, &Codecs::of(dataset, self.sections.params().level))?;
        self.cache.metadata = (text.len() <= MOST_KNOWN_BYTES).then(|| (dataset.clone(), text.clone()));
        Ok(text)
    }

    /// Writes metadata and data. If all ranks have consecutive rows, `rows` are those of this rank, and the
    /// number of each rank's rows if it is known.
    fn write_boxes(
        &mut self,
        dataset: &Dataset,
        text: String,
        boxes: Result<Boxes<'_>>,
        rows: Option<(Partition, Option<&[u64]>)>,
    ) -> Result<(), Failure> {
        let selection =
            boxes.and_then(|boxes| Selection::new(dataset, boxes, &self.sections.params().tuning.limits));
        let selection = self.sections.team_mut().tolerate(selection, Selection::EMPTY)?;
        self.write_selection(dataset, text, &selection, rows)
    }

    fn write_selection(
        &mut self,
        dataset: &Dataset,
        text: String,
        selection: &Selection<'_>,
        rows: Option<(Partition, Option<&[u64]>)>,
    ) -> Result<(), Failure> {
        let (rows, counts) = rows.unzip();
        let counts = counts.flatten();
        match &dataset.layout {
            Layout::Contiguous => {
                let one = ContiguousDataset { dataset, text: &text, selection, rows };
                self.scheduler().submit(Write::Contiguous(&[one]))
            }
            Layout::Chunked { .. } => {
                let plan = self.chunks().plan_of(dataset, selection, counts)?;
                let one = ChunkedDataset { dataset, text: &text, alternative: None };
                self.scheduler().submit(Write::Chunked(&[one], &plan))
            }
            Layout::Auto { .. } => {
                let layouts = Layouts::new(dataset, text, self.sections.params().level)?;
                let plan = self.chunks().plan_if_it_pays(&layouts, selection, counts)?;
                let StoredDataset { dataset, text } = &layouts.contiguous;
                let plain = ContiguousDataset { dataset, text, selection, rows };
                let Some(plan) = plan else {
                    return self.scheduler().submit(Write::Contiguous(&[plain]));
                };
                let StoredDataset { dataset, text } = &layouts.chunked;
                let one = ChunkedDataset { dataset, text, alternative: Some((layouts.choice, plain)) };
                self.scheduler().submit(Write::Chunked(&[one], &plan))
            }
        }
    }
}
