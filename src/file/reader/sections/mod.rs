//! Reads the sections of a file in their order: the position of the ranks among them, and their data.

mod cursor;
mod data;
mod elements;
mod header;
mod input;
pub(super) mod local_reader;
mod offsets;
mod ranges;
mod seals;
mod tables;

pub(super) use cursor::Cursor;
pub(crate) use data::DataReader;
pub(super) use data::{check_room, other_sizes};
pub(super) use header::exceeds_63_bits;
pub(super) use input::{BATCH_BYTES, Input};
pub(super) use ranges::Ranges;
pub(super) use tables::{IndexReader, describe};

use self::cursor::ExpectedCall;
use self::local_reader::ReadsLocally;
use super::Section;
use super::chain::{Chain, SealReader};
use super::index::{Extent, gone_back};
use crate::file::open::Ends;
use crate::file::options::ReadOptions;
use crate::file::team::{Failure, Function, Team, on_rank_0, split};
use scda_base::error::{Error, Result};
use scda_base::memory::{self, AllowanceGuard};
use scda_format::header::SectionType;
use scda_format::layout::SectionLayout;
use scda_ranks::Partition;
use scda_storage::ParallelFile;

/// The sections of a file, which its ranks read one by one. [`Ranges`] reads the ranges of one rank;
/// [`SealReader`] and [`IndexReader`] read seals.
pub(crate) struct SectionReader {
    /// The file and its ranks.
    pub(in crate::file::reader) input: Input,
    /// The position, and what is expected next.
    pub(in crate::file::reader) cursor: Cursor,
    /// The seals that this rank has read.
    chain: Chain,
}

/// The section whose data are expected next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CurrentSection {
    /// The section as the user sees it: see [`Section`].
    pub section_type: SectionType,
    pub count: u64,
    pub size: u64,
    pub decoded: bool,
    /// The layout of the section with the data in the file, which is the second one of a compressed pair. For
    /// a varray, without data until the sizes are known.
    pub layout: SectionLayout,
    /// Offset of the U entries of a compressed varray, in the first section of the pair.
    pub size_entries: Option<u64>,
}

/// What is known once the sizes of a varray have been read.
#[derive(Clone, Copy)]
struct KnownVarraySizes {
    /// A hash of the partition with which the sizes were read.
    counts_hash: u64,
    /// A hash of the sizes of this rank.
    sizes_hash: u64,
    /// The bytes of this rank among those of all elements, as the user sees them.
    bytes: Partition,
}

impl ReadsLocally for SectionReader {
    #[inline(always)]
    fn sections(&mut self) -> &mut SectionReader {
        self
    }
}

impl SectionReader {
    /// For an open file with these ends.
    pub fn new(team: Team, file: Box<dyn ParallelFile>, ends: Ends, params: ReadOptions) -> Self {
        let input = Input::new(team, file, ends, params);
        Self { input, cursor: Cursor::new(ends.first), chain: Chain::new(ends.read) }
    }

    #[inline(always)]
    pub fn params(&self) -> &ReadOptions {
        &self.input.params
    }

    /// Where the file ends.
    #[inline]
    pub fn ends(&self) -> Ends {
        self.input.ends
    }

    /// Offset of the next section, or of the current one while its data are expected.
    #[inline]
    pub fn position(&self) -> u64 {
        self.cursor.position()
    }

    /// The header that was read last.
    #[inline]
    pub fn header(&self) -> Option<&Section> {
        self.cursor.header.as_ref()
    }

    /// Moves to `end`, where a header is expected next.
    #[inline(always)]
    pub fn advance(&mut self, end: u64) {
        self.cursor.advance(end);
    }

    /// Expects a header next. Returns the position, to which the caller returns.
    pub fn leave_section(&mut self) -> Cursor {
        let before = self.cursor;
        self.cursor.expect = ExpectedCall::Header;
        before
    }

    /// Reads the data of the current section.
    #[inline(always)]
    pub fn data(&mut self) -> DataReader<'_> {
        DataReader { sections: self }
    }

    /// Reads ranges of the current section on this rank alone.
    #[inline]
    pub fn ranges(&mut self) -> Ranges<'_> {
        Ranges { sections: self }
    }

    /// Whether the file ends with a seal, by which sections can be found.
    pub fn is_sealed(&self) -> bool {
        self.ends().sections < self.ends().read
    }

    /// Reads the seals on this rank alone.
    pub fn seals(&mut self) -> SealReader<'_> {
        self.chain.on(self.input.file())
    }

    /// Reads the indexes of the seals on this rank alone.
    pub fn index(&mut self) -> IndexReader<'_> {
        IndexReader { sections: self }
    }

    /// Makes errors leave the file open: see
    /// [`Inspector::tolerate_damage`](super::Inspector::tolerate_damage).
    pub fn tolerate_damage(&mut self) -> Result<()> {
        self.check_alone("reading what is left of a file")?;
        self.input.is_tolerant = true;
        Ok(())
    }

    /// Returns an error if there are other ranks, which would have to take part.
    pub fn check_alone(&mut self, what: &str) -> Result<()> {
        let (size, position) = (self.input.team.size(), self.position());
        if self.input.team.is_alone() {
            return Ok(());
        }
        Err(Error::usage(format!(
            "{what}: only a rank that reads alone can do this; this file is open on {size} ranks"
        ))
        .at(position))
    }

    /// Runs `read` with the sections of seals shown.
    pub fn with_seals<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let raw = std::mem::replace(&mut self.input.params.raw, true);
        let result = read(self);
        self.input.params.raw = raw;
        result
    }

    /// See [`Reader::refresh`](super::Reader::refresh).
    pub fn refresh(&mut self) -> Result<bool, Failure> {
        self.input.team.note_call(Function::Refresh);
        let before = self.ends();
        let (found, mine) = split(on_rank_0(self.input.team.rank(), || self.grown()));
        let ends = Ends::of(self.input.team.share(0, mine.map(|()| found.words()))?, found.seal);
        if ends.read == before.read {
            self.input.ends = Ends { file: ends.file, ..before };
            return Ok(false);
        }
        self.input.ends = ends;
        self.input.file().look_again();
        if self.cursor.expects_header() && self.cursor.position() < ends.first {
            // The header may have been incomplete.
            self.cursor.advance(ends.first);
        }
        // The chain started from the previous last seal.
        self.chain = Chain::new(ends.read);
        Ok(true)
    }

    /// Finds where the file ends now, and checks that all known seals are still in it.
    fn grown(&mut self) -> Result<Ends> {
        let (extent, before) = (Extent::of(self.params()), self.ends());
        self.input.file().look_again();
        let ends = extent.grown(self.input.file(), before)?;
        match self.seals().changed()? {
            Some(offset) => Err(gone_back(offset)),
            None => Ok(ends),
        }
    }

    /// Limits the memory for what follows.
    pub fn limit_memory(&self) -> Option<AllowanceGuard> {
        memory::limited(self.params().tuning.max_memory, self.position())
    }
}
