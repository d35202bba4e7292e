//! Compresses the chunks of datasets on the ranks that own them, and writes them.

use super::chunk_exchange::{Batch, Chunk, Overlap, Plan, PlannedArray};
use super::contiguous::ContiguousDataset;
use super::layouts::{LayoutChoice, Layouts};
use super::selection::{Selection, overlapping};
use crate::file::encoding::{EncodedBytes, EncodedElements, on_threads};
use crate::file::options::{Tuning, WriteOptions};
use crate::file::team::Failure;
use crate::file::writer::section_encoder::Compression;
use crate::file::writer::sections::{Block, Elements, SectionWriter, too_large};
use scda_base::error::Result;
use scda_base::memory::{grow, push, reserve, reserve_count};
use scda_base::numbers::to_usize;
use scda_codec::ARRAY_CONVENTION;
use scda_codec::chunk::{ChunkCodec, ChunkEncoder};
use scda_format::dataset::{Dataset, Layout};
use scda_format::header::SectionType;
use scda_format::layout::SectionLayout;
use scda_ranks::Partition;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// The memory of a chunk besides its bytes, while it waits for the thread, and while its encoded bytes wait
/// for their offset.
pub(super) const BYTES_PER_CHUNK: u64 = 128;
/// Fewer bytes than this are not worth a thread.
const BYTES_PER_THREAD: u64 = 1 << 18;

/// A dataset in chunks, and its metadata.
#[derive(Clone, Copy)]
pub(super) struct ChunkedDataset<'a> {
    pub dataset: &'a Dataset,
    pub text: &'a str,
    /// What is written instead if the chunks are not smaller.
    pub alternative: Option<(LayoutChoice, ContiguousDataset<'a>)>,
}

/// The chunks of this rank.
pub(super) struct EncodedChunks {
    pub encoded: EncodedElements,
    /// Their bytes among those of all ranks.
    pub bytes: Partition,
}

/// Encodes the chunks of datasets, and writes them at the end of the file.
pub(super) struct ChunkWriter<'a> {
    pub(super) sections: &'a mut SectionWriter,
    pub(super) compression: &'a mut Compression,
}

impl ChunkWriter<'_> {
    /// The plan of which ranks have which parts of the chunks, on all ranks.
    pub fn plan<'p>(&mut self, all: &[(&Dataset, &'p Selection<'p>)]) -> Result<Plan<'p>, Failure> {
        let plan = self.own_plan(all);
        Plan::agree_on(plan, self.sections.team_mut(), true)
    }

    /// The same for one dataset, of which all ranks may know the rows of each.
    pub fn plan_of<'p>(
        &mut self,
        dataset: &Dataset,
        selection: &'p Selection<'p>,
        counts: Option<&[u64]>,
    ) -> Result<Plan<'p>, Failure> {
        let all = [(dataset, selection)];
        match counts {
            Some(counts) => Ok(self.own_plan(&all)?.of_rows(&dataset.shape, counts)?),
            None => self.plan(&all),
        }
    }

    /// The plan for the chunks of a dataset, if a sample shows that they may be smaller than the uncompressed
    /// data. `counts` has the number of rows of each rank, if all ranks have consecutive rows.
    pub fn plan_if_it_pays<'p>(
        &mut self,
        Layouts { chunked, choice, .. }: &Layouts,
        selection: &'p Selection<'p>,
        counts: Option<&[u64]>,
    ) -> Result<Option<Plan<'p>>, Failure> {
        let mut plan = self.plan_of(&chunked.dataset, selection, counts)?;
        if let Some(step) = choice.sample_step() {
            plan = plan.sampling(step);
            let encoded = self.encode_datasets(&[&chunked.dataset], &plan)?;
            plan = plan.sampling(1);
            if !choice.sample_pays(step, encoded.iter().map(|one| one.bytes.total).sum()) {
                return Ok(None);
            }
        }
        Ok(Some(plan))
    }

    /// The plan with the parts of this rank.
    fn own_plan<'p>(&self, all: &[(&Dataset, &'p Selection<'p>)]) -> Result<Plan<'p>> {
        let mut arrays = Vec::new();
        reserve(&mut arrays, all.len())?;
        for (dataset, selection) in all {
            arrays.push(PlannedArray::new(dataset, dataset.grid()?, selection));
        }
        let Tuning { most_threads, limits, .. } = &self.sections.params().tuning;
        Plan::new(self.sections.team(), arrays, *most_threads, limits)
    }

    /// Calls a function with the chunks of this rank, round by round, up to an overlap, which is an error of
    /// this rank.
    pub fn for_each_batch(
        &mut self,
        datasets: &[&Dataset],
        plan: &Plan<'_>,
        mut each: impl FnMut(&mut Self, &Batch, &[ChunkCodec]) -> Result<Option<Overlap>>,
    ) -> Result<Result<()>, Failure> {
        let codec = |dataset: &&Dataset| {
            let params = self.sections.params();
            ChunkCodec::of(dataset, params.encoder, params.level, params.line_break)
        };
        let codecs: Vec<ChunkCodec> = datasets.iter().map(codec).collect();
        let mut overlap = None;
        for round in 0..plan.rounds() {
            let batch = plan.round(self.sections.team_mut(), round)?;
            if self.sections.team().has_deferred() || overlap.is_some() {
                continue;
            }
            match each(self, &batch, &codecs) {
                Ok(found) => overlap = found,
                Err(error) => self.sections.team_mut().defer(Err(error)),
            }
        }
        // At the end, so that the error names the overlap in the first chunk, whichever ranks have the parts.
        Ok(overlap.map_or(Ok(()), |(number, index)| Err(overlapping(datasets[number], &index))))
    }

    /// Encodes the chunks of this rank, and determines where their bytes are among those of all.
    pub fn encode_datasets(
        &mut self,
        datasets: &[&Dataset],
        plan: &Plan<'_>,
    ) -> Result<Vec<EncodedChunks>, Failure> {
        let mut encoded: Vec<EncodedElements> = datasets.iter().map(|_| EncodedElements::default()).collect();
        let mine = self.for_each_batch(datasets, plan, |this, batch, codecs| {
            this.encode_batch(plan, batch, codecs, &mut encoded)
        })?;
        let mut bytes: Vec<Partition> =
            encoded.iter().map(|one| Partition { count: one.bytes(), ..Partition::default() }).collect();
        self.sections.output.must_agree();
        self.sections.team_mut().agree(mine)?.spread_all(&mut bytes)?;
        Ok(encoded.into_iter().zip(bytes).map(|(encoded, bytes)| EncodedChunks { encoded, bytes }).collect())
    }

    /// Writes the metadata and encoded chunks of a dataset. `chunks` has those of this rank, and the size of
    /// each before encoding.
    pub fn write(
        &mut self,
        dataset: &Dataset,
        text: &str,
        (chunks, chunk_bytes): (Partition, u64),
        EncodedChunks { encoded, bytes }: &EncodedChunks,
    ) -> Result<(), Failure> {
        let name = dataset.name.as_bytes();
        let block = SectionLayout::block(self.sections.end(), text.len() as u64).ok_or_else(too_large)?;
        let layout = SectionLayout::varray(block.end, chunks.total, bytes.total).ok_or_else(too_large)?;
        if !is_text(dataset) && self.sections.is_written_in_one_run(block, layout)? {
            let block = Block { layout: block, user: dataset.convention(), data: text.as_bytes() };
            let (section, count, size) = (SectionType::Varray, chunks.total, bytes.total);
            let varray = Elements { section, layout, user: name, count, size };
            return self.sections.write_encoded_pair(&block, &varray, (chunks, *bytes), encoded);
        }
        self.sections.write_metadata(dataset.convention(), text)?;
        if is_text(dataset) {
            self.sections.describe(SectionType::Array, name, chunks.total, chunk_bytes)?;
            self.sections.write_size_note(ARRAY_CONVENTION, self.sections.team().rank() == 0, chunk_bytes)?;
        } else {
            self.sections.describe(SectionType::Varray, name, chunks.total, bytes.total)?;
        }
        let layout =
            SectionLayout::varray(self.sections.end(), chunks.total, bytes.total).ok_or_else(too_large)?;
        self.sections.write_encoded(name, layout, chunks, *bytes, encoded)
    }

    /// Encodes the chunks of a batch, and appends them to those that are encoded. Returns the first index
    /// that two parts have, with the number of the dataset.
    pub fn encode_batch(
        &mut self,
        plan: &Plan<'_>,
        batch: &Batch,
        codecs: &[ChunkCodec],
        encoded: &mut [EncodedElements],
    ) -> Result<Option<Overlap>> {
        plan.for_each_codec_group(&batch.chunks, codecs, |chunks, codec| {
            self.encode_alike(plan, batch, chunks, codec, encoded)
        })
    }

    /// Encodes the chunks of a batch that are encoded in the same way.
    fn encode_alike(
        &mut self,
        plan: &Plan<'_>,
        batch: &Batch,
        chunks: Range<u64>,
        codec: ChunkCodec,
        encoded: &mut [EncodedElements],
    ) -> Result<Option<Overlap>> {
        let Range { start, end } = chunks;
        let bytes = (end - start).saturating_mul(plan.arrays[plan.array_of(start)].grid.chunk_bytes());
        let most = to_usize((bytes / BYTES_PER_THREAD).min(end - start).max(1));
        let threads = self.sections.params().tuning.threads.clamp(1, most);
        prepare(&mut self.compression.chunk_encoders, codec, threads)?;
        let cut = |thread: usize| start + (end - start) * thread as u64 / threads as u64;
        let params = self.sections.params();
        let jobs =
            self.compression.chunk_encoders.iter_mut().take(threads).enumerate().map(|(thread, encoder)| {
                let chunks = cut(thread)..cut(thread + 1);
                move || encode_chunks(encoder, plan, batch, chunks, params)
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

/// Whether chunks are elements of the compression convention.
pub(super) fn is_text(dataset: &Dataset) -> bool {
    matches!(dataset.layout, Layout::Chunked { text: true, .. })
}

/// Makes encoders until there are `threads` of them.
pub(super) fn prepare(encoders: &mut Vec<ChunkEncoder>, codec: ChunkCodec, threads: usize) -> Result<()> {
    if encoders.first().is_some_and(|encoder| encoder.codec() != codec) {
        encoders.clear();
    }
    while encoders.len() < threads {
        encoders.push(ChunkEncoder::new(codec)?);
    }
    Ok(())
}

/// The encoded chunks of datasets, each with its number, up to an overlap.
type NumberedChunks = (Vec<(usize, EncodedElements)>, Option<Overlap>);

/// Encodes these chunks of a batch, up to the first one with an overlap; returns those of each dataset with
/// its number.
fn encode_chunks(
    encoder: &mut ChunkEncoder,
    plan: &Plan<'_>,
    batch: &Batch,
    chunks: Range<u64>,
    params: &WriteOptions,
) -> Result<NumberedChunks> {
    let (mut batches, mut buffer) = (ChunkBatches::new(params.tuning.limits.encoded_bytes), Vec::new());
    // A chunk of the compression convention is stored with its full size.
    let must_be_whole = encoder.codec().is_text();
    let end = chunks.end;
    for chunk in chunks.filter(|chunk| plan.samples(*chunk)) {
        params.interrupt.check()?;
        let number = plan.array_of(chunk);
        let array = &plan.arrays[number];
        batches.begin(number, (end - chunk).saturating_mul(array.grid.chunk_bytes()))?;
        match plan.assemble(batch, chunk, &mut buffer)? {
            Chunk::Overlap(index) => return Ok((batches.end()?, Some((number, index)))),
            Chunk::Unknown => {}
            Chunk::Bytes(bytes) => batches.put(encoder, Some(bytes))?,
            Chunk::Fill if must_be_whole => {
                let bytes = to_usize(array.grid.chunk_bytes());
                let mut filled = Vec::new();
                grow(&mut filled, bytes)?;
                array.put_fill(&mut filled);
                batches.put(encoder, Some(&filled))?;
            }
            Chunk::Fill => batches.put(encoder, None)?,
        }
    }
    Ok((batches.end()?, None))
}

/// Encoded chunks of consecutive datasets, those of each with its number.
#[derive(Default)]
pub(super) struct ChunkBatches {
    all: Vec<(usize, EncodedElements)>,
    /// The encoded bytes of the last datasets.
    out: Vec<u8>,
    /// For each of these, its index in `all`, and where its bytes begin.
    starts: Vec<(usize, usize)>,
    /// The bytes of the chunks still to come, before encoding.
    left: u64,
    /// The memory for encoded chunks, unless less is needed or one chunk needs more.
    most: u64,
}

impl ChunkBatches {
    pub fn new(most: u64) -> Self {
        Self { most, ..Self::default() }
    }

    /// Begins the dataset with this number, whose chunks have `left` bytes.
    pub fn begin(&mut self, number: usize, left: u64) -> Result<()> {
        self.left = left;
        if self.all.last().is_none_or(|(last, _)| *last != number) {
            reserve(&mut self.all, 1)?;
            push(&mut self.starts, (self.all.len(), self.out.len()))?;
            self.all.push((number, EncodedElements::default()));
        }
        Ok(())
    }

    /// Encodes a chunk; `None`: it is not stored.
    pub fn put(&mut self, encoder: &mut ChunkEncoder, chunk: Option<&[u8]>) -> Result<()> {
        let mut size = 0;
        if let Some(chunk) = chunk {
            if self.out.capacity() - self.out.len() < chunk.len() {
                self.end_memory()?;
                reserve_count(&mut self.out, self.left.min(self.most))?;
            }
            size = encoder.encode(chunk, &mut self.out)?;
        }
        if let Some((_, encoded)) = self.all.last_mut() {
            push(&mut encoded.sizes, size as u64)?;
        }
        Ok(())
    }

    pub fn end(mut self) -> Result<Vec<(usize, EncodedElements)>> {
        self.end_memory()?;
        Ok(self.all)
    }

    /// Gives the datasets their bytes, and continues the last one in new memory.
    fn end_memory(&mut self) -> Result<()> {
        let memory = Arc::new(std::mem::take(&mut self.out));
        let mut end = memory.len();
        for &(place, start) in self.starts.iter().rev() {
            let (chunks, range) = (&mut self.all[place].1.chunks, start..end);
            push(chunks, EncodedBytes { memory: Arc::clone(&memory), range })?;
            end = start;
        }
        self.starts.clear();
        self.starts.extend(self.all.len().checked_sub(1).map(|last| (last, 0)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scda_codec::Encoder;
    use scda_format::dataset::{DataType, Layout};
    use scda_format::padding::LineBreak;

    #[test]
    fn datasets_that_share_memory_get_their_own_bytes() {
        let mut dataset = Dataset::new("a", DataType::Uint8, [3000]);
        dataset.layout = Layout::Chunked { shape: Some(vec![300]), text: false };
        let codec = ChunkCodec::of(&dataset, Encoder::Fast, 6, LineBreak::Unix);
        let encoder = || ChunkEncoder::new(codec).unwrap();
        let (mut batches, mut together) = (ChunkBatches::new(1 << 10), encoder());
        let mut expected: Vec<(usize, Vec<u64>, Vec<u8>)> = Vec::new();
        // Dataset 4 has no bytes. The memory is longer than three of these chunks, and shorter than all of
        // them.
        let numbers = [0, 0, 3, 4, 4, 5, 5, 5, 5, 5, 9];
        for (place, number) in numbers.into_iter().enumerate() {
            let data: Vec<u8> = (0..300).map(|i| ((i * (i + place) * 7919) >> 5) as u8).collect();
            let chunk = (number != 4).then_some(&data[..]);
            if expected.last().is_none_or(|(last, ..)| *last != number) {
                expected.push((number, Vec::new(), Vec::new()));
            }
            let (_, sizes, bytes) = expected.last_mut().unwrap();
            sizes.push(chunk.map_or(0, |chunk| encoder().encode(chunk, bytes).unwrap() as u64));
            batches.begin(number, (300 * (numbers.len() - place)) as u64).unwrap();
            batches.put(&mut together, chunk).unwrap();
        }
        let found: Vec<_> = batches
            .end()
            .unwrap()
            .into_iter()
            .map(|(number, EncodedElements { sizes, chunks })| {
                let bytes: Vec<&[u8]> = chunks.iter().map(AsRef::as_ref).collect();
                (number, sizes, bytes.concat())
            })
            .collect();
        assert_eq!(found, expected);
    }
}
