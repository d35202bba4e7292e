//! Decides when a checked write is executed: now, or after chunks whose offsets are not known yet.
//!
//! The end of a compressed dataset is known once all ranks have exchanged the sizes of its chunks, which only
//! a call can do. With a thread, the call that writes such a dataset copies the chunks and passes them to the
//! thread. Until they are compressed, the offsets of later writes are unknown as well, so these are kept with
//! a copy of their data. When a call must know where the file ends, or when there is no memory for another
//! copy, [`Scheduler::place`] exchanges the sizes of all pending chunks, and executes all pending writes in
//! the order of the calls.

use super::background_chunks::PendingChunks;
use super::chunk_exchange::Plan;
use super::chunked::{BYTES_PER_CHUNK, ChunkWriter, ChunkedDataset, EncodedChunks};
use super::contiguous::{ContiguousCopy, ContiguousDataset, ContiguousWriter};
use super::row_partition::RowPartitionCache;
use crate::file::team::{FINE, Failure, only_if, split};
use crate::file::writer::section_encoder::{Compression, PreparedSection, SectionCopy, SectionEncoder};
use crate::file::writer::sections::{SectionWriter, too_large};
use scda_base::error::{Error, Result};
use scda_base::memory::reserve;
use scda_codec::chunk::ChunkEncoder;
use scda_format::dataset::{Dataset, GROUP_CONVENTION, GROUP_DATA};
use scda_format::layout::sum;
use scda_ranks::Partition;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The memory of a pending write besides its data and texts.
const WRITE_BYTES: u64 = 1024;

/// Something to be written, with this rank's data in the memory of the user.
#[derive(Clone, Copy)]
pub(super) enum Write<'a> {
    Section(PreparedSection<'a>),
    /// The user string of a group, and its attributes.
    Group(&'a str, &'a str),
    /// Contiguous datasets; those of several are written together if they consist of rows.
    Contiguous(&'a [ContiguousDataset<'a>]),
    /// Datasets in chunks, which are compressed together.
    Chunked(&'a [ChunkedDataset<'a>], &'a Plan<'a>),
}

/// A [`Write`] whose offset is not known yet, with a copy of its data.
enum PendingWrite {
    Section(SectionCopy),
    Group(String, String),
    Contiguous(Vec<ContiguousCopy>),
    Chunked(Box<PendingChunks>),
}

/// The pending writes in the order of the calls. The same on all ranks.
#[derive(Default)]
pub(in crate::file::writer) struct PendingWrites {
    writes: Vec<PendingWrite>,
    /// The memory that is reserved for them, the same on all ranks.
    reserved: u64,
    /// The encoders of the thread.
    encoders: Arc<Mutex<Vec<ChunkEncoder>>>,
}

impl PendingWrites {
    /// Whether no write is pending.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }
}

/// Executes writes, or keeps them until their offset is known.
pub(in crate::file::writer) struct Scheduler<'a> {
    pub(in crate::file::writer) sections: &'a mut SectionWriter,
    pub(in crate::file::writer) compression: &'a mut Compression,
    pub(in crate::file::writer) rows: &'a mut RowPartitionCache,
    pub(in crate::file::writer) pending: &'a mut PendingWrites,
}

impl Scheduler<'_> {
    fn chunks(&mut self) -> ChunkWriter<'_> {
        ChunkWriter { sections: self.sections, compression: self.compression }
    }

    /// Like [`Self::submit`], for a section.
    pub fn submit_section(&mut self, section: PreparedSection<'_>) -> Result<(), Failure> {
        self.submit(Write::Section(section))
    }

    /// Executes a write now, or keeps it until its offset is known.
    #[inline(never)]
    pub(super) fn submit(&mut self, write: Write<'_>) -> Result<(), Failure> {
        match self.memory_to_keep(write)? {
            Some(bytes) => self.keep(write, bytes),
            None => self.execute(write),
        }
    }

    /// The memory for a copy of this write, if it must be kept and there is enough; `None`: no write is
    /// pending any more, and this one is executed now. The same on all ranks.
    fn memory_to_keep(&mut self, write: Write<'_>) -> Result<Option<u64>, Failure> {
        let (is_background, most) =
            (self.sections.output.file.is_background(), self.sections.output.file.most_reserved());
        let bytes = match write {
            Write::Chunked(datasets, plan) if is_background => self.bytes_of_chunks(datasets, plan)?,
            _ if self.pending.is_empty() => return Ok(None),
            Write::Section(section) if section.is_encoded() => u64::MAX,
            write => self.most_bytes(write.copied_bytes())?,
        };
        if self.pending.reserved.saturating_add(bytes) > most {
            self.place()?;
            // Only chunks wait for the thread even if nothing else is pending.
            if !matches!(write, Write::Chunked(..)) {
                return Ok(None);
            }
        }
        Ok((bytes <= most).then_some(bytes))
    }

    /// The memory of a pending write that takes `bytes` on this rank: the maximum over all ranks.
    fn most_bytes(&mut self, bytes: Result<u64>) -> Result<u64, Failure> {
        let bytes = self.sections.team_mut().tolerate(bytes, 0)?;
        let mut most = [bytes.min(FINE)];
        self.sections.team_mut().agree_on_maximum(Ok(()), &mut most)?;
        Ok(most[0].saturating_add(WRITE_BYTES))
    }

    /// The memory of chunks until the thread has compressed them, and of the uncompressed data that may be
    /// written instead.
    fn bytes_of_chunks(&mut self, datasets: &[ChunkedDataset<'_>], plan: &Plan<'_>) -> Result<u64, Failure> {
        let mut bytes = plan.most_bytes(BYTES_PER_CHUNK);
        for ChunkedDataset { text, alternative, .. } in datasets {
            // The text, and the dataset with its attributes.
            bytes = bytes.saturating_add(WRITE_BYTES + 2 * text.len() as u64);
            if let Some((_, plain)) = alternative {
                bytes = bytes.saturating_add(self.most_bytes(plain.copied_bytes())?);
            }
        }
        Ok(bytes)
    }

    /// Keeps a write in this much memory.
    fn keep(&mut self, write: Write<'_>, bytes: u64) -> Result<(), Failure> {
        // All ranks must keep the same writes: steps that can fail on one of them come before an agreement.
        let count = if let Write::Chunked(datasets, _) = write { datasets.len() } else { 1 };
        let room =
            self.sections.output.file.reserve(bytes).and_then(|()| reserve(&mut self.pending.writes, count));
        self.sections.team_mut().tolerate(room, ())?;
        let kept = match write {
            Write::Chunked(datasets, plan) => {
                let encoders = Arc::clone(&self.pending.encoders);
                let chunks = self.chunks().give_to_thread(datasets, plan, &encoders)?;
                chunks.into_iter().map(|chunks| PendingWrite::Chunked(Box::new(chunks))).collect()
            }
            plain => {
                let began = Instant::now();
                let has_error = self.sections.team().has_deferred();
                let (kept, mine) = split(only_if(!has_error, || plain.copied()));
                self.sections.team_mut().agree(mine)?;
                self.sections.output.file.note_copied(plain.copied_bytes()?, began);
                kept
            }
        };
        self.pending.writes.extend(kept);
        self.pending.reserved += bytes;
        Ok(())
    }

    /// Exchanges the sizes of all chunks, and executes all pending writes.
    #[inline]
    pub fn place(&mut self) -> Result<(), Failure> {
        if self.pending.is_empty() { Ok(()) } else { self.place_all() }
    }

    #[cold]
    fn place_all(&mut self) -> Result<(), Failure> {
        let mine = self.sections.output.file.settle();
        let bytes = |write: &PendingWrite| match write {
            PendingWrite::Chunked(chunks) => chunks.encoded_bytes(),
            _ => 0,
        };
        let parts =
            self.pending.writes.iter().map(|one| Partition { count: bytes(one), ..Partition::default() });
        let mut parts: Vec<Partition> = parts.collect();
        self.sections.output.must_agree();
        let agreed = self.sections.team_mut().agree(mine)?;
        let writes = std::mem::take(&mut self.pending.writes);
        agreed.spread_all(&mut parts)?;
        for (write, bytes) in writes.into_iter().zip(parts) {
            match write {
                PendingWrite::Section(copy) => self.execute(Write::Section(copy.section()))?,
                PendingWrite::Group(user, text) => self.execute(Write::Group(&user, &text))?,
                PendingWrite::Contiguous(copies) => {
                    let all: Vec<_> = copies.iter().map(ContiguousCopy::dataset).collect();
                    self.execute(Write::Contiguous(&all))?;
                }
                PendingWrite::Chunked(chunks) => {
                    let (encoded, time) = chunks.take_encoded();
                    self.compression.spent.add_time(encoded.bytes(), time);
                    self.write_chunks(chunks.dataset(), chunks.chunks, EncodedChunks { encoded, bytes })?;
                }
            }
            self.sections.end_call_if_any()?;
        }
        let reserved = std::mem::take(&mut self.pending.reserved);
        self.sections.output.file.release(reserved);
        // A call that is refused has changed nothing.
        self.sections.output.begin_call();
        Ok(())
    }

    /// Called after an error that all ranks know. Pending writes were reported as written, so they are
    /// executed nevertheless, unless the error is one of storage or communication. Returns the error of that,
    /// if any.
    pub fn place_after_error(&mut self, error: &Error) -> Option<Error> {
        if self.pending.is_empty() || error.kind().is_of_system() {
            return None;
        }
        self.sections.team_mut().after_error().begin().then_some(())?;
        let failure = self.place().err()?;
        Some(self.sections.team_mut().settle(failure))
    }

    /// Executes a write at the end of the file.
    fn execute(&mut self, write: Write<'_>) -> Result<(), Failure> {
        match write {
            Write::Section(section) => {
                SectionEncoder { sections: self.sections, compression: self.compression }.write(section)
            }
            Write::Group(user, text) => {
                let (inline, bytes) = ((GROUP_CONVENTION, GROUP_DATA), text.len() as u64);
                let mut plain = SectionEncoder { sections: self.sections, compression: self.compression };
                plain.write_pair(inline, user.as_bytes(), bytes, text.as_bytes())
            }
            Write::Contiguous(all) => {
                ContiguousWriter { sections: self.sections, known: self.rows }.write(all)
            }
            Write::Chunked(datasets, plan) => {
                let each: Vec<&Dataset> = datasets.iter().map(|one| one.dataset).collect();
                let encoded = self.chunks().encode_datasets(&each, plan)?;
                for (number, (one, encoded)) in datasets.iter().zip(encoded).enumerate() {
                    self.write_chunks(*one, plan.chunks_of(number), encoded)?;
                    self.sections.end_call_if_any()?;
                }
                Ok(())
            }
        }
    }

    /// Writes a dataset in chunks, or its uncompressed data if these are smaller. `chunks` are those of this
    /// rank, and the size of each.
    fn write_chunks(
        &mut self,
        one: ChunkedDataset<'_>,
        chunks: (Partition, u64),
        encoded: EncodedChunks,
    ) -> Result<(), Failure> {
        match one.alternative {
            Some((choice, plain)) if !choice.chunks_are_smaller(encoded.bytes.total) => {
                drop(encoded);
                ContiguousWriter { sections: self.sections, known: self.rows }.write(&[plain])
            }
            _ => self.chunks().write(one.dataset, one.text, chunks, &encoded),
        }
    }
}

impl Write<'_> {
    /// The memory of a copy on this rank.
    fn copied_bytes(&self) -> Result<u64> {
        match self {
            Self::Section(section) => section.copied_bytes(),
            Self::Group(user, text) => Ok((user.len() + text.len()) as u64),
            Self::Contiguous(all) => {
                all.iter().try_fold(0, |bytes, one| sum(bytes, one.copied_bytes()?).ok_or_else(too_large))
            }
            // Chunks are not copied as a whole.
            Self::Chunked(..) => Ok(FINE),
        }
    }

    /// The same with a copy of its data, unless it is in chunks.
    fn copied(self) -> Result<Vec<PendingWrite>> {
        let copy = match self {
            Self::Section(section) => PendingWrite::Section(section.copied()?),
            Self::Group(user, text) => PendingWrite::Group(user.to_owned(), text.to_owned()),
            Self::Contiguous(all) => {
                let mut copies = Vec::new();
                reserve(&mut copies, all.len())?;
                for one in all {
                    copies.push(one.copied()?);
                }
                PendingWrite::Contiguous(copies)
            }
            Self::Chunked(..) => return Ok(Vec::new()),
        };
        Ok(vec![copy])
    }
}
