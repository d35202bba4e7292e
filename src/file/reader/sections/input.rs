//! Reads the bytes of a file, for all ranks together or for one of them.

use crate::file::aggregators::Route;
use crate::file::encoding::Decoders;
use crate::file::open::Ends;
use crate::file::options::ReadOptions;
use crate::file::read_ahead::ReadAheadBuffer;
use crate::file::source::{Sink, Sizes};
use crate::file::statistics::Statistics;
use crate::file::team::{Failure, Team, split};
use scda_base::error::Result;
use scda_base::memory::{self, reserve, resize};
use scda_base::numbers::to_usize;
use scda_format::entry::parse_counts;
use scda_format::layout::SectionLayout;
use scda_format::{COUNT_BYTES, SECTION_HEADER_BYTES};
use scda_storage::ParallelFile;
use scda_storage::timed::{ReadStatistics, TimedFile};
use std::time::{Duration, Instant};

/// The most bytes of entries or elements that are read at a time into a buffer of the library.
pub const BATCH_BYTES: usize = 1 << 20;

/// The size of a section header with all its counts.
pub const LONGEST_HEADER: u64 = (SECTION_HEADER_BYTES + 2 * COUNT_BYTES) as u64;

/// The file and the ranks that read it.
pub(crate) struct Input {
    pub team: Team,
    file: Box<TimedFile>,
    pub params: ReadOptions,
    /// Where the file ends, which may be more than its seals say.
    pub ends: Ends,
    /// A section, or a part of one, of at most this many bytes is read with the headers.
    small_bytes: u64,
    pub(super) read_ahead: ReadAheadBuffer,
    route: Route,
    /// The reader for what this rank reads alone, once it has done so.
    alone: Option<Box<LocalReader>>,
    pub(super) decoders: Decoders,
    /// Statistics of reading and decompressing since the file was opened.
    reads: ReadStatistics,
    decoded_bytes: u64,
    decoding: Duration,
    /// Whether errors leave the file open, and truncated sections are tolerated: see
    /// [`Inspector::tolerate_damage`](crate::Inspector::tolerate_damage).
    pub is_tolerant: bool,
}

/// While this rank reads alone: the ranks, and their read-ahead buffer. Otherwise: the read-ahead buffer of
/// this rank alone.
pub(crate) struct LocalReader {
    pub(super) team: Team,
    read_ahead: ReadAheadBuffer,
}

impl LocalReader {
    /// For reading on this rank alone.
    pub fn new(team: &Team, params: &ReadOptions) -> Self {
        let team = team.alone();
        Self { read_ahead: ReadAheadBuffer::new(&team, &params.tuning), team }
    }

    pub fn swap(&mut self, team: &mut Team, read_ahead: &mut ReadAheadBuffer) {
        std::mem::swap(&mut self.team, team);
        std::mem::swap(&mut self.read_ahead, read_ahead);
    }
}

impl Input {
    /// For an open file with these ends.
    pub fn new(team: Team, file: Box<dyn ParallelFile>, ends: Ends, params: ReadOptions) -> Self {
        let reads = ReadStatistics::default();
        Self {
            read_ahead: ReadAheadBuffer::new(&team, &params.tuning),
            route: Route::default(),
            small_bytes: params.tuning.small_bytes(team.size()) as u64,
            decoders: Decoders::new(params.strict),
            team,
            file: Box::new(TimedFile::new(file, reads.clone())),
            ends,
            params,
            alone: None,
            reads,
            decoded_bytes: 0,
            decoding: Duration::ZERO,
            is_tolerant: false,
        }
    }

    /// Where the readable part of the file ends.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        self.ends.read
    }

    /// Whether a part of this size is read with the headers, by all ranks.
    #[inline(always)]
    pub fn is_small(&self, bytes: u64) -> bool {
        bytes <= self.small_bytes
    }

    /// The file, for reading on this rank alone.
    #[inline]
    pub fn file(&mut self) -> &mut dyn ParallelFile {
        &mut *self.file
    }

    /// Replaces the file, and returns the previous one.
    pub fn exchange_file(&mut self, file: &mut Box<dyn ParallelFile>) {
        self.file.exchange(file);
    }

    /// Makes this rank read alone: returns what it shares with the other ranks, until [`Self::rejoin`].
    pub fn leave(&mut self) -> Box<LocalReader> {
        let mut alone =
            self.alone.take().unwrap_or_else(|| Box::new(LocalReader::new(&self.team, &self.params)));
        alone.swap(&mut self.team, &mut self.read_ahead);
        alone
    }

    /// Returns to reading with the other ranks.
    pub fn rejoin(&mut self, mut ranks: Box<LocalReader>) {
        ranks.swap(&mut self.team, &mut self.read_ahead);
        self.alone = Some(ranks);
    }

    /// Bytes of the file, the same on all ranks. The file must have them. Collective.
    #[inline(always)]
    pub fn look(&mut self, offset: u64, length: u64) -> Result<&[u8], Failure> {
        self.read_ahead.cover(
            &mut self.team,
            &mut *self.file,
            &self.params.tuning,
            self.ends.read,
            offset,
            length,
        )
    }

    /// Reads a header on this rank, and copies the contents of its read-ahead buffer.
    pub fn look_ahead(&mut self, offset: u64, bytes: &mut Vec<u8>) -> Result<()> {
        let looked = self.look(offset, LONGEST_HEADER.min(self.ends.read - offset)).map(drop);
        looked.map_err(|failure| self.team.settle(failure))?;
        let ahead = self.read_ahead.to_send(offset);
        reserve(bytes, ahead.len())?;
        bytes.extend_from_slice(ahead);
        Ok(())
    }

    /// Whether rank 0 can send the contents of its read-ahead buffer to this rank.
    pub fn expect_ahead(&mut self) -> Result<bool> {
        self.read_ahead.expect()
    }

    /// Shares the offset of a header that rank 0 has found (0: none) and two other words. If the ranks
    /// [expect](Self::expect_ahead) it, also shares the read-ahead buffer that rank 0 has filled there.
    pub fn share_ahead(&mut self, found: Result<[u64; 3]>, sent: &[u8]) -> Result<[u64; 3], Failure> {
        let words = found.map(|[offset, one, other]| [offset, one, other, sent.len() as u64]);
        let (agreed, [offset, one, other, length]) = self.team.share_agreed(0, words)?;
        if length > 0 {
            self.read_ahead.receive(&agreed, offset, length, sent)?;
        }
        Ok([offset, one, other])
    }

    /// Makes all ranks read a section's data with the headers if it is small. Returns whether it is.
    #[inline(always)]
    pub fn look_if_small(&mut self, layout: SectionLayout) -> Result<bool, Failure> {
        let small = self.is_small(layout.bytes());
        if small {
            self.look(layout.data, layout.data_bytes)?;
        }
        Ok(small)
    }

    /// Reads bytes on this rank alone, from the read-ahead buffer if it has them.
    #[inline]
    pub fn read_own(&mut self, offset: u64, memory: &mut [u8]) -> Result<()> {
        match self.read_ahead.get(offset, memory.len() as u64) {
            Some(bytes) => memory.copy_from_slice(bytes),
            None if memory.is_empty() => {}
            None => self.file.read_at(offset, memory)?,
        }
        Ok(())
    }

    /// Reads and checks `count` entries from `offset` on, a bounded number at a time.
    pub fn read_own_entries(
        &mut self,
        offset: u64,
        count: u64,
        letter: u8,
        mut each: impl FnMut(usize, u64) -> Result<()>,
    ) -> Result<()> {
        let _temporary = memory::temporary();
        let mut text = Vec::new();
        let mut done = 0;
        while done < count {
            let step = (count - done).min((BATCH_BYTES / COUNT_BYTES) as u64);
            let start = offset + done * COUNT_BYTES as u64;
            resize(&mut text, step * COUNT_BYTES as u64)?;
            self.read_own(start, &mut text)?;
            let before = to_usize(done);
            parse_counts(&text, letter, start, |index, value| each(before + index, value))?;
            done += step;
        }
        Ok(())
    }

    /// Reads this rank's elements of a large section, which begin at `offset`. Where a rank's part is small,
    /// aggregators read for their node. The arguments of this rank may already be an error.
    #[inline(never)]
    pub fn read_large(
        &mut self,
        layout: SectionLayout,
        offset: u64,
        sizes: Sizes<'_>,
        data: Result<Sink<'_>>,
    ) -> Result<(), Failure> {
        let Self { route, team, params, file, .. } = self;
        let Some(aggregators) = route.aggregators(team, &params.tuning, layout.bytes())? else {
            let mine = data.and_then(|data| self.read_own_elements(offset, sizes, data));
            self.team.agree(mine)?;
            return Ok(());
        };
        let (data, mine) = split(data);
        // From here on, all ranks take part, because those of a node exchange data.
        let agreed = team.agree(mine)?;
        let mine = match data {
            Sink::Contiguous(memory) => aggregators.read(&agreed, &mut **file, offset, memory),
            // Each rank reads into non-contiguous memory by itself.
            data => {
                let others = aggregators.read(&agreed, &mut **file, offset, &mut []);
                others.and_then(|()| self.read_own_elements(offset, sizes, data))
            }
        };
        self.team.agree(mine)?;
        Ok(())
    }

    /// Counts `bytes` bytes that were decompressed since `began`.
    pub fn note_decoded(&mut self, bytes: u64, began: Instant) {
        self.decoded_bytes += bytes;
        self.decoding += began.elapsed();
    }

    pub fn statistics(&self) -> Statistics {
        let (read_bytes, reading) = self.reads.so_far();
        Statistics {
            agreeing: self.team.agreeing(),
            read_bytes,
            reading,
            decoded_bytes: self.decoded_bytes,
            decoding: self.decoding,
            ..Statistics::default()
        }
    }

    /// The ranks and the file.
    pub fn into_parts(self) -> (Team, Box<dyn ParallelFile>) {
        (self.team, self.file.into_inner())
    }

    /// Leaks the memory that ranks share: freeing it would be collective.
    pub fn leak_shared(self) {
        let Self { team, read_ahead, route, .. } = self;
        std::mem::forget((team, read_ahead, route));
    }
}
