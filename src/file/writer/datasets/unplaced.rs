//! Compressed datasets without a place in the file yet: the thread compresses them while the program goes on.
//!
//! Where their data end is known when all ranks have exchanged the sizes, and only the calls may do so. So the call that writes
//! such a dataset copies its chunks, and gives them to the thread; [`DatasetWriter::place`] exchanges the sizes of all datasets that
//! wait, in the next call that needs to know where the file ends, and writes them as if they were passed there. Calls behind them wait, too
//! ([`behind`](super::behind)).

use super::DatasetWriter;
use super::behind::{Copied, LaterCall, region_bytes};
use super::chunked::{BYTES_PER_CHUNK, ChunkPieces, EncodedChunks, prepare};
use super::layouts::{Layouts, ToStore};
use super::pieces::{Chunk, Overlap, Passed, Plan, Round};
use super::ready::is_text;
use crate::file::encoding::{CHUNK_BYTES, Encoded, on_threads};
use crate::file::team::{FINE, Failure};
use crate::file::writer::WriterState;
use scda_base::error::{Error, Result};
use scda_base::memory::reserve;
use scda_base::numbers::to_usize;
use scda_codec::chunk::{ChunkCodec, ChunkEncoder};
use scda_format::dataset::Dataset;
use scda_ranks::Partition;
use scda_storage::lent::Lent;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a dataset takes beside its chunks and metadata while it waits.
const DATASET_BYTES: u64 = 1024;

/// What waits for its place, in the order of the calls. The same on all ranks.
#[derive(Default)]
pub(in crate::file::writer) struct Unplaced {
    pub(super) waiting: Vec<Waiting>,
    /// The memory that is reserved for it: the same number on all ranks.
    pub(super) reserved: u64,
    encoders: Arc<Mutex<Vec<ChunkEncoder>>>,
}

#[allow(clippy::large_enum_variant)] // there are few calls
pub(super) enum Waiting {
    Chunks(Chunks),
    Call(LaterCall),
}

/// A dataset in chunks.
pub(super) struct Chunks {
    dataset: Dataset,
    text: String,
    chunks: (Partition, u64),
    made: Arc<Mutex<Made>>,
    /// What is written instead if that is smaller.
    instead: Option<(Layouts, Copied, Option<Partition>)>,
}

/// What is written instead of chunks if that is smaller: the plain data, perhaps with the rows that all ranks know.
pub(super) struct Instead<'a> {
    pub layouts: &'a Layouts,
    pub passed: Passed<'a>,
    pub rows: Option<Partition>,
}

/// What the thread has made of a dataset.
#[derive(Default)]
struct Made {
    encoded: Encoded,
    time: Duration,
}

/// Chunks of datasets that follow one another, each with the number of its dataset.
#[derive(Default)]
struct ChunkBatch {
    parts: Vec<(usize, BatchPart)>,
    copied: Vec<u8>,
    bytes: usize,
}

enum BatchPart {
    /// This number of the bytes that were copied.
    Copied(usize),
    Lent(Lent),
    /// A chunk that is not stored.
    Fill,
}

impl Unplaced {
    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

impl DatasetWriter<'_> {
    /// The memory for which the thread compresses the chunks of this plan, of datasets with these metadata; `None` if there is no thread, or not
    /// as much memory: then the call compresses. Those that wait are placed if there is none beside them. All ranks know, and what takes
    /// `more` memory.
    pub(super) fn room_behind<'t>(
        &mut self,
        texts: impl Iterator<Item = &'t String>,
        plan: &Plan<'_>,
        more: u64,
    ) -> Result<Option<u64>, Failure> {
        if !self.sections.queue().is_background() {
            return Ok(None);
        }
        let most = self.sections.queue().most_reserved();
        // The text, and the dataset with its attributes.
        let known = texts.map(|text| DATASET_BYTES + 2 * text.len() as u64).sum::<u64>();
        let bytes = plan.most_bytes(BYTES_PER_CHUNK).saturating_add(known).saturating_add(more);
        if self.unplaced.reserved.saturating_add(bytes) > most {
            self.place()?;
        }
        Ok((bytes <= most).then_some(bytes))
    }

    /// As [`Self::room_behind`], of a dataset that is kept as chunks and as plain data until all ranks know which are smaller.
    pub(super) fn room_for_both(
        &mut self,
        layouts: &Layouts,
        plan: &Plan<'_>,
        passed: &Passed<'_>,
    ) -> Result<Option<u64>, Failure> {
        if !self.sections.queue().is_background() {
            return Ok(None);
        }
        let regions = passed.regions().len() as u64 * region_bytes(&layouts.contiguous.dataset);
        // The most of any rank.
        let mut least = [FINE - passed.bytes().saturating_add(regions).min(FINE)];
        self.sections.team.agree_with(Ok(()), &mut least)?;
        let texts = [&layouts.chunked.text, &layouts.contiguous.text];
        self.room_behind(texts.into_iter(), plan, FINE - least[0])
    }

    /// Copies the chunks of datasets for the thread, into so much memory. Each has its metadata, and one may have what is written `instead`.
    pub(super) fn keep_datasets(
        &mut self,
        datasets: &[&Dataset],
        texts: Vec<String>,
        plan: &Plan<'_>,
        bytes: u64,
        instead: Option<Instead<'_>>,
    ) -> Result<(), Failure> {
        let mut waiting = Vec::new();
        // All ranks have the same datasets in the end: what can fail on one of them does so before they agree.
        let room = self.sections.queue().reserve(bytes);
        let room = room.and_then(|()| reserve(&mut waiting, datasets.len()));
        let room = room.and_then(|()| reserve(&mut self.unplaced.waiting, datasets.len()));
        self.sections.tolerate(room, ())?;
        for ((number, dataset), text) in datasets.iter().enumerate().zip(texts) {
            let (dataset, chunks) = ((*dataset).clone(), plan.chunks_of(number));
            waiting.push(Chunks { dataset, text, chunks, made: Arc::default(), instead: None });
        }
        self.sections.queue().hold();
        if let Some(Instead { layouts, passed, rows }) = instead {
            let began = Instant::now();
            let ToStore { dataset, text } = &layouts.contiguous;
            let copied = Copied::new(dataset, &passed, text);
            let copied = copied.map(|copied| waiting[0].instead = Some((layouts.clone(), copied, rows)));
            self.sections.team.defer(copied);
            self.sections.queue().note_copied(passed.bytes(), began);
        }
        let mine = self.for_each_window(datasets, plan, |this, window, codecs| {
            this.keep_window(plan, window, codecs, &waiting)
        });
        let agreed = mine.and_then(|mine| self.sections.team.agree(mine).map(drop));
        self.sections.queue().go_on();
        agreed?;
        self.unplaced.waiting.extend(waiting.into_iter().map(Waiting::Chunks));
        self.unplaced.reserved += bytes;
        Ok(())
    }

    /// Gives the chunks of a window to the thread, up to an overlap.
    fn keep_window(
        &mut self,
        plan: &Plan<'_>,
        window: &Round,
        codecs: &[ChunkCodec],
        waiting: &[Chunks],
    ) -> Result<Option<Overlap>> {
        plan.for_each_alike(&window.chunks, codecs, |chunks, codec| {
            self.keep_alike(plan, window, chunks, codec, waiting)
        })
    }

    fn keep_alike(
        &mut self,
        plan: &Plan<'_>,
        window: &Round,
        chunks: Range<u64>,
        codec: ChunkCodec,
        waiting: &[Chunks],
    ) -> Result<Option<Overlap>> {
        let Range { start, end } = chunks;
        let (mut batches, mut buffer) = (Vec::<ChunkBatch>::new(), Vec::new());
        for chunk in start..end {
            let number = plan.array_of(chunk);
            let array = &plan.arrays()[number];
            let bytes = to_usize(array.grid().chunk_bytes());
            let began = Instant::now();
            let left = (end - chunk).saturating_mul(bytes as u64);
            if batches.last().is_none_or(|batch| batch.bytes >= CHUNK_BYTES) {
                if batches.len() == self.sections.params.threads {
                    self.give(std::mem::take(&mut batches), codec, waiting)?;
                }
                reserve(&mut batches, 1)?;
                batches.push(ChunkBatch::default());
            }
            let Some(batch) = batches.last_mut() else { continue };
            let part = match plan.assemble(window, chunk, &mut buffer)? {
                Chunk::Overlap(index) => return Ok(Some((number, index))),
                Chunk::Unknown => continue,
                Chunk::Fill if is_text(&waiting[number].dataset) => {
                    let room = batch.room(bytes, left)?;
                    array.put_fill(room);
                    BatchPart::Copied(bytes)
                }
                Chunk::Fill => BatchPart::Fill,
                Chunk::Bytes(from) => match self.sections.queue().lent(from) {
                    Some(lent) => BatchPart::Lent(lent),
                    None => {
                        batch.copy(from, left)?;
                        self.sections.queue().note_copied(bytes as u64, began);
                        BatchPart::Copied(bytes)
                    }
                },
            };
            reserve(&mut batch.parts, 1)?;
            batch.parts.push((number, part));
            batch.bytes += bytes;
        }
        self.give(batches, codec, waiting)?;
        Ok(None)
    }

    /// Gives batches to the thread, which compresses each on a thread of its own.
    fn give(&mut self, batches: Vec<ChunkBatch>, codec: ChunkCodec, waiting: &[Chunks]) -> Result<()> {
        let Some(&(first, _)) = batches.iter().find_map(|batch| batch.parts.first()) else { return Ok(()) };
        let title = waiting[first].dataset.title();
        let encoders = Arc::clone(&self.unplaced.encoders);
        let most = self.sections.params.limits.encoded_bytes;
        let made: Vec<_> = waiting.iter().map(|one| Arc::clone(&one.made)).collect();
        let compress = move || {
            let began = Instant::now();
            let mut encoders = lock(&encoders);
            prepare(&mut encoders, codec, batches.len())?;
            let jobs =
                encoders.iter_mut().zip(batches).map(|(encoder, batch)| move || batch.encode(encoder, most));
            for pieces in on_threads(jobs.collect()) {
                for (number, more) in pieces? {
                    lock(&made[number]).encoded.append(more)?;
                }
            }
            lock(&made[first]).time += began.elapsed();
            Ok(())
        };
        self.sections.queue().behind(move || compress().map_err(|error: Error| error.of(&title)))
    }

    /// Gives what waits its place: exchanges the sizes of all datasets, and writes them.
    pub(in crate::file::writer) fn place(&mut self) -> Result<(), Failure> {
        if self.unplaced.is_empty() { Ok(()) } else { self.place_all() }
    }

    #[cold]
    fn place_all(&mut self) -> Result<(), Failure> {
        let mine = self.sections.queue().settle();
        let part = |one: &Waiting| match one {
            Waiting::Chunks(Chunks { made, .. }) => {
                Partition { count: lock(made).encoded.bytes(), ..Partition::default() }
            }
            Waiting::Call(_) => Partition::default(),
        };
        let mut parts: Vec<Partition> = self.unplaced.waiting.iter().map(part).collect();
        self.sections.must_agree();
        let agreed = self.sections.team.agree(mine)?;
        let waiting = std::mem::take(&mut self.unplaced.waiting);
        agreed.spread_all(&mut parts)?;
        for (one, bytes) in waiting.into_iter().zip(parts) {
            match one {
                Waiting::Chunks(Chunks { dataset, text, chunks, made, instead }) => {
                    let Made { encoded, time } = std::mem::take(&mut *lock(&made));
                    self.compression.spent.add_time(encoded.bytes(), time);
                    let encoded = EncodedChunks { encoded, bytes };
                    match instead {
                        Some((layouts, copied, rows)) if !layouts.chunks_are_smaller(bytes.total)? => {
                            self.write_copied(vec![copied], rows)?;
                        }
                        _ => self.write_chunks(&dataset, &text, chunks, &encoded)?,
                    }
                }
                Waiting::Call(call) => call(self)?,
            }
            self.sections.end_call_if_any()?;
        }
        let reserved = std::mem::take(&mut self.unplaced.reserved);
        self.sections.queue().release(reserved);
        // A call that is refused has changed nothing.
        self.sections.begin_call();
        Ok(())
    }
}

impl WriterState {
    /// After an error that all ranks know: the datasets that wait were reported as written, and get their place all the same, unless
    /// the error is one of storage or communication. Returns the error that this has, if it has one.
    pub(in crate::file::writer) fn place_after_error(&mut self, error: &Error) -> Option<Error> {
        if self.unplaced.is_empty() || error.kind().is_of_system() {
            return None;
        }
        self.sections.team.begin_after_error().then_some(())?;
        let failure = self.datasets().place().err()?;
        Some(self.sections.team.settle(failure))
    }
}

impl ChunkBatch {
    /// Memory for a chunk of `bytes` bytes, of `left` that are to come.
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

    /// Encodes its chunks: those of each dataset, with its number. The memory for them has `most` bytes, unless they are fewer or longer.
    fn encode(self, encoder: &mut ChunkEncoder, most: u64) -> Result<Vec<(usize, Encoded)>> {
        let mut pieces = ChunkPieces::new(most);
        let mut rest = &*self.copied;
        for (number, part) in &self.parts {
            let bytes = match part {
                BatchPart::Copied(bytes) => {
                    let (own, others) = rest.split_at(*bytes);
                    rest = others;
                    Some(own)
                }
                BatchPart::Lent(lent) => Some(lent.bytes()),
                BatchPart::Fill => None,
            };
            pieces.begin(*number, self.bytes as u64)?;
            pieces.put(encoder, bytes)?;
        }
        pieces.end()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
