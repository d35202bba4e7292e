//! Locates, reads and decompresses the chunks of datasets.

use super::BoxReader;
use super::box_buffers::BoxBuffers;
use super::chunk_cache::ChunkCache;
use super::chunk_offsets::ChunkOffsets;
use super::selection::Selection;
use crate::file::encoding::on_threads;
use crate::file::options::ReadOptions;
use crate::file::reader::local_reader::ReadsLocally;
use crate::file::reader::sections::exceeds_63_bits;
use crate::file::source::{Sink, Sizes};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{self, renew};
use scda_base::numbers::to_usize;
use scda_codec::can_expand;
use scda_codec::chunk::{ChunkDecoder, can_be_chunk};
use scda_format::COUNT_BYTES;
use scda_format::dataset::stored_dataset::{ElementKind, StoredDataset};
use scda_format::dataset::{CommonRun, MAX_CHUNK_BYTES, Visits};
use scda_format::layout::sum;
use scda_ranks::Partition;
use std::time::Instant;

/// The most chunk sizes that are read at once.
const MOST_SIZES: u64 = 1024;

/// How much longer than its chunk an element with items of variable length may be, in bytes.
const MOST_MORE: u64 = 1 << 16;
/// A smaller chunk is not worth a thread.
const BYTES_PER_THREAD: u64 = 1 << 17;
/// Memory for larger chunks is not kept for the next dataset.
const MOST_KEPT: u64 = 4 << 20;
/// The most bytes of chunks that are decompressed at once, except for a single larger chunk.
const BYTES_AT_ONCE: u64 = 1 << 30;

/// The most chunks of `chunk_bytes` bytes that are decompressed at once.
fn chunks_at_once(chunk_bytes: u64) -> usize {
    match chunk_bytes {
        ..BYTES_PER_THREAD => 1,
        _ => to_usize((BYTES_AT_ONCE / chunk_bytes).max(1)),
    }
}

/// Memory for reading chunks, which is reused.
pub(super) struct ChunkMemory {
    /// One for each thread.
    decoders: Vec<ChunkDecoder>,
    buffers: Vec<Vec<u8>>,
    /// Decompressed chunks of which only a part was read.
    cache: ChunkCache,
}

impl ChunkMemory {
    pub fn new(params: &ReadOptions) -> Self {
        let cache = ChunkCache::new(params.tuning.bounded(params.cache_bytes));
        Self { decoders: Vec::new(), buffers: Vec::new(), cache }
    }
}

/// Where in the file a chunk is.
#[derive(Clone, Copy)]
pub(super) struct StoredChunk {
    chunk: u64,
    pub(super) at: u64,
    bytes: u64,
}

/// A chunk that this rank wants, and the boxes that want it.
#[derive(Default)]
pub(super) struct ChunkRequest {
    pub chunk: u64,
    regions: Vec<usize>,
}

/// The chunks of a dataset that this rank wants, in their order.
pub(super) struct ChunkRequests(Visits);

impl ChunkRequests {
    /// # Errors
    /// `Memory`.
    pub fn new(part: &Selection<'_>) -> Result<Self> {
        Ok(Self(Visits::new(&part.stored.grid, &part.regions)?))
    }

    /// The next chunk.
    pub fn peek(&self) -> Option<u64> {
        self.0.peek()
    }
}

impl Iterator for ChunkRequests {
    type Item = ChunkRequest;

    fn next(&mut self) -> Option<ChunkRequest> {
        let (chunk, region) = self.0.next()?;
        let mut regions = vec![region];
        while self.peek() == Some(chunk) {
            regions.extend(self.0.next().map(|(_, region)| region));
        }
        Some(ChunkRequest { chunk, regions })
    }
}

impl Selection<'_> {
    /// The runs of bytes to copy from a chunk to memory.
    pub(super) fn wanted_runs(&self, want: &ChunkRequest) -> impl Iterator<Item = CommonRun> {
        want.regions.iter().flat_map(|&region| self.runs(want.chunk, region))
    }

    /// The memory of the whole chunk, if all of it is wanted and contiguous there.
    fn in_one_run<'b>(&self, want: &ChunkRequest, room: &'b mut BoxBuffers<'_>) -> Option<&'b mut [u8]> {
        let [region] = want.regions[..] else { return None };
        let run = self.runs(want.chunk, region).next();
        room.slice(run.filter(|run| run.items == self.stored.grid.chunk_bytes())?)
    }

    /// Whether a single box is wanted that has less than half of its chunks, so that others are likely to
    /// follow. A call that reads several boxes, or most of the items, goes through the chunks once.
    fn wants_little(&self, bytes: u64) -> bool {
        let grid = &self.stored.grid;
        let [region] = &*self.regions else { return false };
        bytes < grid.touched_by(region).count().saturating_mul(grid.chunk_bytes()) / 2
    }

    /// Copies the wanted items of a chunk.
    pub(super) fn copy(&self, want: &ChunkRequest, chunk: &[u8], room: &mut BoxBuffers<'_>) {
        for run in self.wanted_runs(want) {
            let from = to_usize(run.from);
            room.put(run.to, &chunk[from..from + to_usize(run.items)]);
        }
    }

    /// Fills memory with the fill value.
    pub(super) fn fill(&self, out: &mut [u8]) {
        match self.chunks.fill.as_slice() {
            [first, others @ ..] if others.iter().all(|byte| byte == first) => out.fill(*first),
            fill => out.chunks_exact_mut(fill.len()).for_each(|item| item.copy_from_slice(fill)),
        }
    }

    /// Decompresses a chunk that was read.
    fn decode(&self, present: StoredChunk, decoder: &mut ChunkDecoder, out: &mut [u8]) -> Result<()> {
        let codecs = &self.stored.codecs;
        if !codecs.changes_length() {
            return Ok(());
        }
        let decoded = decoder.decode(present.bytes, codecs, out);
        decoded.map_err(|error| self.of_chunk(present, error))
    }

    /// Decompresses a chunk of items of variable length that was read.
    pub(super) fn decode_texts(&self, present: StoredChunk, decoder: &mut ChunkDecoder) -> Result<Vec<u8>> {
        let decoded = decoder.decode_any(present.bytes, &self.stored.codecs);
        decoded.map_err(|error| self.of_chunk(present, error))
    }

    /// The error of decoding this chunk.
    fn of_chunk(&self, present: StoredChunk, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Decode => self.damaged(present.chunk, present.at, &error.to_string()),
            _ => error,
        }
    }

    #[cold]
    pub(super) fn damaged(&self, chunk: u64, at: u64, what: &str) -> Error {
        let name = &self.stored.dataset.name;
        Error::new(ErrorKind::Decode, format!("dataset \"{name}\": chunk {chunk}: {what}")).at(at)
    }
}

impl BoxReader<'_> {
    /// How many chunks are decompressed at once, each by a thread of its own. Only streams are.
    pub(super) fn chunk_threads(&self, stored: &StoredDataset) -> usize {
        let bytes = stored.grid.chunk_bytes();
        let most = if stored.codecs.changes_length() { chunks_at_once(bytes) } else { 1 };
        // Where memory is limited, a chunk and its bytes in the file may take half of it.
        let fitting = self.sections.params().tuning.bounded(u64::MAX) / bytes.max(1);
        self.sections.params().tuning.threads.min(most).min(to_usize(fitting.max(1)))
    }

    /// Reads the wanted chunks, each once.
    pub(super) fn read_chunks(
        &mut self,
        part: &mut Selection<'_>,
        wants: impl IntoIterator<Item = ChunkRequest>,
        room: &mut BoxBuffers<'_>,
    ) -> Result<()> {
        let chunk_bytes = part.stored.grid.chunk_bytes();
        let threads = self.chunk_threads(part.stored);
        let data_offset = part.current.layout.data;
        let keeps = self.chunks.cache.keeps(chunk_bytes) && part.wants_little(room.bytes());
        let mut buffers = std::mem::take(&mut self.chunks.buffers);
        let mut wants = wants.into_iter();
        loop {
            let mut batch = Vec::new();
            while batch.len() < threads
                && let Some(want) = wants.next()
            {
                if let Some(chunk) = self.chunks.cache.get((data_offset, want.chunk)) {
                    part.copy(&want, chunk, room);
                    continue;
                }
                match self.locate(part, want.chunk)? {
                    Some(present) => batch.push((present, want)),
                    None => part.wanted_runs(&want).try_for_each(|run| {
                        room.take(run, |_, memory| {
                            part.fill(memory);
                            Ok(())
                        })
                    })?,
                }
            }
            match &*batch {
                [] => {
                    if chunk_bytes <= MOST_KEPT {
                        self.chunks.buffers = buffers;
                    }
                    return Ok(());
                }
                // A whole chunk that is contiguous in memory is decoded there.
                [(present, want)] => {
                    if let Some(memory) = part.in_one_run(want, room) {
                        self.decode_batch(vec![(part, *present, memory)])?;
                        continue;
                    }
                }
                _ => {}
            }
            buffers.resize_with(batch.len().max(buffers.len()), Vec::new);
            // The buffer keeps its length, so that it is not cleared whenever a longer chunk follows a
            // shorter one.
            let bytes = to_usize(chunk_bytes);
            buffers.iter_mut().take(batch.len()).try_for_each(|buffer| renew(buffer, bytes))?;
            let decoded = batch.iter().zip(&mut buffers);
            let decoded = decoded.map(|((present, _), buffer)| (&*part, *present, &mut buffer[..bytes]));
            self.decode_batch(decoded.collect())?;
            for ((_, want), buffer) in batch.iter().zip(&mut buffers) {
                part.copy(want, buffer, room);
                if keeps {
                    buffer.truncate(bytes);
                    buffer.shrink_to_fit();
                    *buffer = self.chunks.cache.put((data_offset, want.chunk), std::mem::take(buffer));
                }
            }
        }
    }

    /// Reads chunks, and decompresses all of them at once, each on a thread of its own, into memory of their
    /// size.
    pub(super) fn decode_batch(
        &mut self,
        mut batch: Vec<(&Selection<'_>, StoredChunk, &mut [u8])>,
    ) -> Result<()> {
        let is_small = batch.iter().all(|(.., out)| out.len() as u64 <= MOST_KEPT);
        let _temporary = (!is_small).then(memory::temporary);
        let mut decoders = std::mem::take(&mut self.chunks.decoders);
        while decoders.len() < batch.len() {
            decoders.push(ChunkDecoder::new(self.sections.params().strict));
        }
        for ((part, present, out), decoder) in batch.iter_mut().zip(&mut decoders) {
            self.fetch(part, *present, decoder, out)?;
        }
        let decoded = |(part, _, out): &(&Selection<'_>, StoredChunk, &mut [u8])| {
            if part.stored.codecs.changes_length() { out.len() as u64 } else { 0 }
        };
        let (bytes, began) = (batch.iter().map(decoded).sum(), Instant::now());
        let jobs = batch.into_iter().zip(&mut decoders);
        let jobs = jobs.map(|((part, present, out), decoder)| move || part.decode(present, decoder, out));
        on_threads(jobs.collect()).into_iter().collect::<Result<()>>()?;
        self.input().note_decoded(bytes, began);
        if is_small {
            self.chunks.decoders = decoders;
        }
        Ok(())
    }

    /// The offset and size of a chunk in the file, after checking that the size is possible; `None` if the
    /// file has no bytes for it.
    pub(super) fn locate(&mut self, part: &mut Selection<'_>, chunk: u64) -> Result<Option<StoredChunk>> {
        let (current, stored) = (part.current, part.stored);
        let chunk_bytes = stored.grid.chunk_bytes();
        let (at, bytes) = match (stored.elements, current.decoded) {
            (ElementKind::Rows | ElementKind::Chunks, false) => {
                (current.layout.data + chunk * chunk_bytes, chunk_bytes)
            }
            (ElementKind::Rows | ElementKind::Chunks, true) => (current.layout.data, chunk_bytes),
            (ElementKind::Streams, false) => self.locate_stream(part, chunk)?,
            (ElementKind::Streams, true) => {
                let mut bytes = 0;
                let part = Partition { offset: chunk, count: 1, total: current.count };
                self.sections.ranges().read_own_sizes(&current, part, |_, size| bytes = size)?;
                (current.layout.data, bytes)
            }
        };
        if bytes == 0 {
            return Ok(None);
        }
        if stored.dataset.data_type.is_variable() {
            // The elements of a compressed section are not bytes of the file.
            let fits = !current.decoded || can_expand(current.layout.data_bytes, bytes);
            if bytes > MAX_CHUNK_BYTES + MOST_MORE || !fits {
                let message = format!("found {bytes} bytes, which cannot be a chunk");
                return Err(part.damaged(chunk, at, &message));
            }
        } else if !can_be_chunk(&stored.codecs, bytes, chunk_bytes) {
            let message = format!("found {bytes} bytes, which cannot be a chunk of {chunk_bytes}");
            return Err(part.damaged(chunk, at, &message));
        }
        Ok(Some(StoredChunk { chunk, at, bytes }))
    }

    /// The offset and size of an element of a plain varray.
    fn locate_stream(&mut self, part: &mut Selection<'_>, chunk: u64) -> Result<(u64, u64)> {
        let (current, chunks) = (part.current, &mut part.chunks);
        let known = |chunks: &ChunkOffsets| {
            let index = to_usize(chunk.checked_sub(chunks.first)?);
            let (at, end) = (*chunks.ends.get(index)?, *chunks.ends.get(index + 1)?);
            Some((at, end - at))
        };
        if let Some(found) = known(chunks) {
            return Ok(found);
        }
        let count = (chunks.last + 1 - chunk).min(MOST_SIZES);
        let mut end = self.sections.ranges().element_offset(&current, chunk)?;
        let ends = &mut chunks.ends;
        ends.clear();
        ends.push(end);
        self.input().read_own_entries(
            current.layout.entries + chunk * COUNT_BYTES as u64,
            count,
            b'E',
            |_, size| {
                end = sum(end, size).ok_or_else(|| exceeds_63_bits(&[end, size]))?;
                ends.push(end);
                Ok(())
            },
        )?;
        self.input().ends.check("varray", current.layout.start, end)?;
        self.sections.ranges().went_to(chunk + count, end);
        chunks.first = chunk;
        known(chunks).ok_or_else(|| Error::new(ErrorKind::Internal, "a chunk is not where it was found"))
    }

    /// Reads a chunk: the compressed stream for its decoder, or all of it into memory of its size.
    pub(super) fn fetch(
        &mut self,
        part: &Selection<'_>,
        StoredChunk { chunk, at, bytes }: StoredChunk,
        decoder: &mut ChunkDecoder,
        out: &mut [u8],
    ) -> Result<()> {
        let current = part.current;
        let element = Partition { offset: chunk, count: 1, total: current.count };
        let mut read = |memory: &mut [u8]| match current.decoded {
            true => {
                let size = [memory.len() as u64];
                self.sections.ranges().decode_own_range(
                    &current,
                    element,
                    Sizes::Each(&size),
                    Sink::Contiguous(memory),
                )
            }
            false => self.input().read_own(at, memory),
        };
        let codecs = &part.stored.codecs;
        if codecs.changes_length() || part.stored.dataset.data_type.is_variable() {
            read(decoder.stream(bytes)?)
        } else {
            decoder.unshuffle(codecs, out, read)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_are_decompressed_at_once_have_bounded_bytes() {
        for (bytes, chunks) in [
            (1, 1),
            ((1 << 17) - 1, 1),
            (1 << 17, 8192),
            ((1 << 20) + 1, 1023),
            (1 << 29, 2),
            ((1 << 29) + 1, 1),
            (1 << 31, 1),
            (u64::MAX, 1),
        ] {
            assert_eq!(chunks_at_once(bytes), chunks, "{bytes}");
        }
    }
}
