//! Writes datasets whose items are read in parts, so that they need not fit in memory. For a process that
//! writes alone.

use super::DatasetWriter;
use super::chunk_exchange::{Plan, PlannedArray};
use super::chunked::{ChunkWriter, is_text};
use super::layouts::{Layouts, StoredDataset};
use super::selection::Selection;
use crate::file::encoding::EncodedElements;
use crate::file::options::{Encode, MostThreads};
use crate::file::team::Failure;
use crate::file::writer::section_encoder::{DataStream, SectionEncoder, check_alone, read, read_again};
use crate::file::writer::sections::{Tail, too_large};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{renew, resize};
use scda_base::numbers::to_usize;
use scda_codec::ARRAY_CONVENTION;
use scda_codec::chunk::ChunkCodec;
use scda_format::dataset::bools::{Bools, find_other};
use scda_format::dataset::{DataType, Dataset, IndexBox, Layout, metadata};
use scda_format::header::{SectionType, UserString};
use scda_format::layout::product;
use scda_ranks::Partition;
use std::io;

fn reading(error: io::Error) -> Error {
    Error::io("reading the data to write", error)
}

/// Takes the chunks of each part; returns whether to continue.
type Take<'a> = &'a mut dyn FnMut(&mut ChunkWriter<'_>, EncodedElements) -> Result<bool, Failure>;

impl DatasetWriter<'_> {
    /// Writes a dataset whose data are read in parts.
    pub(in crate::file::writer) fn dataset_from(
        &mut self,
        dataset: &Dataset,
        data: &mut dyn DataStream,
    ) -> Result<(), Failure> {
        let (dataset, text) = self.begin_dataset(dataset)?;
        let dataset = &*dataset;
        check_alone(self.sections.team())?;
        let mut bools;
        let data: &mut dyn DataStream = match dataset.data_type {
            DataType::Bool => {
                bools = Bools::new(data);
                &mut bools
            }
            _ => data,
        };
        if dataset.layout == Layout::Contiguous {
            return self.contiguous_from(dataset, text, data);
        }
        let bytes = dataset.data_bytes()?;
        if bytes <= self.sections.params().tuning.limits.streamed_bytes {
            let (mut all, region) = (Vec::new(), [IndexBox::all(&dataset.shape)]);
            resize(&mut all, bytes)?;
            read_part(dataset, data, &region[0], &mut all)?;
            let selection = Selection::of_bytes(dataset, &region, &all)?;
            return self.write_selection(dataset, text, &selection, None);
        }
        match dataset.layout {
            Layout::Auto { .. } => self.smaller_from(dataset, text, data),
            _ => {
                self.chunks().write_from(dataset, &text, |this, put| this.encode_parts(dataset, data, 1, put))
            }
        }
    }

    fn contiguous_from(
        &mut self,
        dataset: &Dataset,
        mut text: String,
        data: &mut dyn DataStream,
    ) -> Result<(), Failure> {
        let (rows, row_bytes) = dataset.rows()?;
        metadata::align(&mut text, dataset.data_bytes()?, self.sections.end());
        self.sections.write_metadata(dataset.convention(), &text)?;
        let mut plain = SectionEncoder { sections: self.sections, compression: self.compression };
        plain.array_from(dataset.name.as_bytes(), rows, row_bytes, data, Encode::None)
    }

    /// Writes a dataset in chunks if these are smaller: a sample of them is tried first, then all. They are
    /// kept if they are few.
    fn smaller_from(
        &mut self,
        dataset: &Dataset,
        text: String,
        data: &mut dyn DataStream,
    ) -> Result<(), Failure> {
        // Tested now, before anything is read.
        read_again(data)?;
        let layouts = Layouts::new(dataset, text, self.sections.params().level)?;
        let (StoredDataset { dataset: chunked, text }, choice) = (&layouts.chunked, layouts.choice);
        let mut is_smaller = true;
        if let Some(step) = choice.sample_step() {
            let mut bytes = 0;
            self.chunks().encode_parts(chunked, data, step, &mut |_, encoded| {
                bytes += encoded.bytes();
                Ok(true)
            })?;
            read_again(data)?;
            is_smaller = choice.sample_pays(step, bytes);
        }
        let (mut bytes, mut kept) = (0, Some((Vec::new(), 0)));
        let most = self.sections.params().tuning.limits.streamed_bytes;
        if is_smaller {
            self.chunks().encode_parts(chunked, data, 1, &mut |_, encoded| {
                bytes += encoded.bytes();
                if let Some((parts, memory)) = &mut kept {
                    *memory += encoded.bytes() + 8 * encoded.sizes.len() as u64;
                    parts.push(encoded);
                }
                kept = kept.take().filter(|(_, memory)| *memory <= most);
                // The size can only grow from here.
                is_smaller = choice.chunks_are_smaller(bytes);
                Ok(is_smaller)
            })?;
            read_again(data)?;
        }
        if !is_smaller {
            let StoredDataset { dataset, text } = layouts.contiguous;
            return self.contiguous_from(&dataset, text, data);
        }
        self.chunks().write_from(chunked, text, |this, put| match kept {
            Some((parts, _)) => parts.into_iter().try_for_each(|part| put(this, part).map(drop)),
            None => this.encode_parts(chunked, data, 1, put),
        })
    }
}

impl ChunkWriter<'_> {
    /// Writes metadata, and encoded chunks as they become available.
    fn write_from(
        &mut self,
        dataset: &Dataset,
        text: &str,
        chunks: impl FnOnce(&mut Self, Take<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.sections.write_metadata(dataset.convention(), text)?;
        let (name, grid) = (UserString::new(dataset.name.as_bytes())?, dataset.grid()?);
        let count = grid.chunks();
        if is_text(dataset) {
            self.sections.describe(SectionType::Array, &name, count, grid.chunk_bytes())?;
            self.sections.write_size_note(ARRAY_CONVENTION, true, grid.chunk_bytes())?;
        } else {
            self.sections.describe(SectionType::Varray, &name, count, 0)?;
        }
        self.sections.output.write_all()?;
        let mut tail = Tail::of_varray(self.sections.end(), count, self.sections.params())?;
        let mut done = 0;
        chunks(self, &mut |this, encoded| {
            let batch = Partition { offset: done, count: encoded.sizes.len() as u64, total: count };
            done += batch.count;
            tail.put_encoded(this.sections, batch, &encoded)?;
            Ok(true)
        })?;
        self.sections.sealer.iter_mut().for_each(|sealer| sealer.note_plain_size(tail.total));
        Ok(tail.finish(self.sections, &name, count)?)
    }

    /// Encodes one chunk in `step` of a dataset, part by part.
    fn encode_parts(
        &mut self,
        dataset: &Dataset,
        data: &mut dyn DataStream,
        step: u64,
        put: Take<'_>,
    ) -> Result<(), Failure> {
        let grid = dataset.grid()?;
        let params = self.sections.params();
        let limits = params.tuning.limits;
        let codecs = [ChunkCodec::of(dataset, params.encoder, params.level, params.line_break)];
        let (has_boxes, part_bytes) = (data.boxes().is_some(), limits.streamed_bytes);
        let most = match (has_boxes, step) {
            (true, 1) => part_bytes / grid.chunk_bytes(),
            // Only the wanted chunks are read.
            (true, _) => 1,
            (false, _) => grid.layer_chunks().max(part_bytes / grid.chunk_bytes()),
        };
        let mut all = Vec::new();
        let mut first = 0;
        while first < grid.chunks() {
            let (chunks, region) = grid.slab(first, most.max(1));
            first = chunks.end;
            if has_boxes && step > 1 && !Plan::is_sampled(chunks.start, step, grid.chunks()) {
                continue;
            }
            let bytes = product(region.items()?, dataset.data_type.item_bytes()).ok_or_else(too_large)?;
            let is_fill = data.boxes().map_or(Ok(false), |boxes| boxes.is_fill(&region)).map_err(reading)?;
            let (regions, bytes) = match is_fill {
                true => (&[][..], 0),
                false => (std::slice::from_ref(&region), to_usize(bytes)),
            };
            // A chunk of fill values needs no memory, and a damaged one only up to the damage.
            renew(&mut all, bytes)?;
            if !is_fill {
                read_part(dataset, data, &region, &mut all[..bytes])?;
            }
            let selection = Selection::of_bytes(dataset, regions, &all[..bytes])?;
            let array = PlannedArray::new(dataset, dataset.grid()?, &selection);
            let plan = Plan::new(self.sections.team(), vec![array], MostThreads::ONE, &limits)?;
            let plan = plan.sampling(step);
            let batch = plan.batch(chunks)?;
            let mut encoded = [EncodedElements::default()];
            if self.encode_batch(&plan, &batch, &codecs, &mut encoded)?.is_some() {
                return Err(Error::new(ErrorKind::Internal, "a part of a dataset overlaps itself").into());
            }
            let [encoded] = encoded;
            if !put(self, encoded)? {
                break;
            }
        }
        Ok(())
    }
}

/// Reads a box of a dataset, or the next items in C order.
fn read_part(dataset: &Dataset, from: &mut dyn DataStream, region: &IndexBox, data: &mut [u8]) -> Result<()> {
    let Some(boxes) = from.boxes() else { return read(from, data) };
    boxes.read_box(region, data).map_err(reading)?;
    if dataset.data_type == DataType::Bool
        && let Some((place, byte)) = find_other(data)
    {
        let words = format!("data: found the bool {byte} at item {place} of a box, expected 0 or 1");
        return Err(Error::argument(words));
    }
    Ok(())
}
