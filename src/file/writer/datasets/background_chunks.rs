//! Compresses chunks on the background thread while the program computes: the call that writes their datasets
//! copies them.

use super::chunk_exchange::{Batch, Chunk, Overlap, Plan};
use super::chunked::{ChunkBatches, ChunkWriter, ChunkedDataset, is_text, prepare};
use super::contiguous::ContiguousCopy;
use super::layouts::LayoutChoice;
use crate::file::encoding::{CHUNK_BYTES, EncodedElements, on_threads};
use crate::file::team::Failure;
use scda_base::error::{Error, Result};
use scda_base::memory::{push, reserve};
use scda_base::numbers::to_usize;
use scda_codec::chunk::{ChunkCodec, ChunkEncoder};
use scda_format::dataset::Dataset;
use scda_ranks::Partition;
use scda_storage::lent_memory::LentMemory;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A dataset whose chunks the thread compresses.
pub(super) struct PendingChunks {
    dataset: Dataset,
    text: String,
    /// The chunks of this rank, and the size of each.
    pub chunks: (Partition, u64),
    output: Arc<Mutex<Output>>,
    alternative: Option<(LayoutChoice, ContiguousCopy)>,
}

/// The thread's results for a dataset.
#[derive(Default)]
struct Output {
    encoded: EncodedElements,
    time: Duration,
}

impl PendingChunks {
    pub fn dataset(&self) -> ChunkedDataset<'_> {
        let Self { dataset, text, alternative, .. } = self;
        let alternative = alternative.as_ref().map(|(choice, copy)| (*choice, copy.dataset()));
        ChunkedDataset { dataset, text, alternative }
    }

    /// The number of bytes that the thread has produced so far.
    pub fn encoded_bytes(&self) -> u64 {
        lock(&self.output).encoded.bytes()
    }

    /// Removes and returns the thread's results, and the time they took.
    pub fn take_encoded(&self) -> (EncodedElements, Duration) {
        let Output { encoded, time } = std::mem::take(&mut *lock(&self.output));
        (encoded, time)
    }
}

/// Chunks of consecutive datasets, each with the number of its dataset.
#[derive(Default)]
struct ChunkBatch {
    parts: Vec<(usize, BatchPart)>,
    copied: Vec<u8>,
    bytes: usize,
}

enum BatchPart {
    /// This many of the copied bytes.
    CopiedDataset(usize),
    LentMemory(LentMemory),
    /// A chunk that is not stored, because it has only the fill value.
    Fill,
}

/// The datasets whose chunks were copied, and the thread's encoders.
type ThreadWork<'a> = (&'a [PendingChunks], &'a Arc<Mutex<Vec<ChunkEncoder>>>);

impl ChunkWriter<'_> {
    /// Copies the chunks of datasets to reserved memory, and passes them to the thread.
    pub fn give_to_thread(
        &mut self,
        datasets: &[ChunkedDataset<'_>],
        plan: &Plan<'_>,
        encoders: &Arc<Mutex<Vec<ChunkEncoder>>>,
    ) -> Result<Vec<PendingChunks>, Failure> {
        let mut pending = Vec::new();
        let room = reserve(&mut pending, datasets.len());
        self.sections.team_mut().tolerate(room, ())?;
        for (number, one) in datasets.iter().enumerate() {
            let (dataset, text) = (one.dataset.clone(), one.text.to_owned());
            let chunks = plan.chunks_of(number);
            pending.push(PendingChunks { dataset, text, chunks, output: Arc::default(), alternative: None });
        }
        self.sections.output.file.hold();
        let began = Instant::now();
        for (pending, one) in pending.iter_mut().zip(datasets) {
            let Some((choice, plain)) = one.alternative else { continue };
            let copied = plain.copied().map(|copy| pending.alternative = Some((choice, copy)));
            self.sections.team_mut().defer(copied);
            self.sections.output.file.note_copied(plain.selection.bytes(), began);
        }
        let each: Vec<&Dataset> = datasets.iter().map(|one| one.dataset).collect();
        let mine = self.for_each_batch(&each, plan, |this, batch, codecs| {
            plan.for_each_codec_group(&batch.chunks, codecs, |chunks, codec| {
                this.copy_group(plan, batch, chunks, codec, (&pending, encoders))
            })
        });
        let agreed = mine.and_then(|mine| self.sections.team_mut().agree(mine).map(drop));
        self.sections.output.file.go_on();
        agreed.map(|()| pending)
    }

    /// Passes chunks of a round that have the same codec to the thread, up to an overlap.
    fn copy_group(
        &mut self,
        plan: &Plan<'_>,
        batch: &Batch,
        chunks: Range<u64>,
        codec: ChunkCodec,
        work: ThreadWork<'_>,
    ) -> Result<Option<Overlap>> {
        let Range { start, end } = chunks;
        let (mut batches, mut buffer) = (Vec::<ChunkBatch>::new(), Vec::new());
        for chunk in start..end {
            let number = plan.array_of(chunk);
            let array = &plan.arrays[number];
            let bytes = to_usize(array.grid.chunk_bytes());
            let began = Instant::now();
            let left = (end - chunk).saturating_mul(bytes as u64);
            if batches.last().is_none_or(|batch| batch.bytes >= CHUNK_BYTES) {
                if batches.len() == self.sections.params().tuning.threads {
                    self.give(std::mem::take(&mut batches), codec, work)?;
                }
                push(&mut batches, ChunkBatch::default())?;
            }
            let Some(last) = batches.last_mut() else { continue };
            let part = match plan.assemble(batch, chunk, &mut buffer)? {
                Chunk::Overlap(index) => return Ok(Some((number, index))),
                Chunk::Unknown => continue,
                Chunk::Fill if is_text(&work.0[number].dataset) => {
                    let room = last.room(bytes, left)?;
                    array.put_fill(room);
                    BatchPart::CopiedDataset(bytes)
                }
                Chunk::Fill => BatchPart::Fill,
                Chunk::Bytes(from) => match self.sections.output.file.lent(from) {
                    Some(lent) => BatchPart::LentMemory(lent),
                    None => {
                        last.copy(from, left)?;
                        self.sections.output.file.note_copied(bytes as u64, began);
                        BatchPart::CopiedDataset(bytes)
                    }
                },
            };
            push(&mut last.parts, (number, part))?;
            last.bytes += bytes;
        }
        self.give(batches, codec, work)?;
        Ok(None)
    }

    /// Passes batches to the thread, which compresses each on a thread of its own.
    fn give(
        &mut self,
        batches: Vec<ChunkBatch>,
        codec: ChunkCodec,
        (pending, encoders): ThreadWork<'_>,
    ) -> Result<()> {
        let Some(&(first, _)) = batches.iter().find_map(|batch| batch.parts.first()) else { return Ok(()) };
        let title = pending[first].dataset.title();
        let encoders = Arc::clone(encoders);
        let most = self.sections.params().tuning.limits.encoded_bytes;
        let outputs: Vec<_> = pending.iter().map(|one| Arc::clone(&one.output)).collect();
        let compress = move || {
            let began = Instant::now();
            let mut encoders = lock(&encoders);
            prepare(&mut encoders, codec, batches.len())?;
            let jobs =
                encoders.iter_mut().zip(batches).map(|(encoder, batch)| move || batch.encode(encoder, most));
            for batches in on_threads(jobs.collect()) {
                for (number, more) in batches? {
                    lock(&outputs[number]).encoded.append(more)?;
                }
            }
            lock(&outputs[first]).time += began.elapsed();
            Ok(())
        };
        self.sections.output.file.work(move || compress().map_err(|error: Error| error.of(&title)))
    }
}

impl ChunkBatch {
    /// Makes memory for a chunk of `bytes` bytes; `left` bytes are still to come.
    fn grow(&mut self, bytes: usize, left: u64) -> Result<()> {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(CHUNK_BYTES).max(bytes);
        if self.copied.is_empty() {
            reserve(&mut self.copied, most)
        } else {
            reserve(&mut self.copied, bytes)
        }
    }

    fn copy(&mut self, chunk: &[u8], left: u64) -> Result<()> {
        self.grow(chunk.len(), left)?;
        self.copied.extend_from_slice(chunk);
        Ok(())
    }

    /// Room for a chunk of `bytes` bytes.
    fn room(&mut self, bytes: usize, left: u64) -> Result<&mut [u8]> {
        self.grow(bytes, left)?;
        let start = self.copied.len();
        self.copied.resize(start + bytes, 0);
        Ok(&mut self.copied[start..])
    }

    /// Encodes the chunks; returns those of each dataset with its number. The memory for them has `most`
    /// bytes, unless less is needed or one chunk needs more.
    fn encode(self, encoder: &mut ChunkEncoder, most: u64) -> Result<Vec<(usize, EncodedElements)>> {
        let mut batches = ChunkBatches::new(most);
        let mut rest = &*self.copied;
        for (number, part) in &self.parts {
            let bytes = match part {
                BatchPart::CopiedDataset(bytes) => {
                    let (own, others) = rest.split_at(*bytes);
                    rest = others;
                    Some(own)
                }
                BatchPart::LentMemory(lent) => Some(lent.bytes()),
                BatchPart::Fill => None,
            };
            batches.begin(*number, self.bytes as u64)?;
            batches.put(encoder, bytes)?;
        }
        batches.end()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
