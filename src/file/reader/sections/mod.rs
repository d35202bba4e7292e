//! The sections of a file in their order: the position of the ranks among them, and how they read their data.

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
pub(super) use seals::SealReader;
pub(super) use tables::{IndexReader, describe};

use self::cursor::ExpectedCall;
use self::local_reader::ReadsLocally;
use super::Section;
use super::chain::Chain;
use super::index::{Extent, gone_back};
use crate::file::open::Ends;
use crate::file::options::ReadOptions;
use crate::file::statistics::Statistics;
use crate::file::team::{Failure, Function, Team, split};
use scda_base::error::{Error, Result};
use scda_base::memory::{self, AllowanceGuard};
use scda_format::header::SectionType;
use scda_format::layout::SectionLayout;
use scda_ranks::Partition;
use scda_storage::ParallelFile;

/// The sections of a file, as its ranks read them one by one. What a rank reads alone is read by [`Ranges`], what a seal says by
/// [`SealReader`] and [`IndexReader`].
pub(crate) struct Sections {
    input: Input,
    cursor: Cursor,
    /// The seals that this rank has read.
    chain: Chain,
}

/// The section whose data come next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CurrentSection {
    /// What the user knows of it: see [`Section`].
    pub section_type: SectionType,
    pub count: u64,
    pub size: u64,
    pub decoded: bool,
    /// The section in the file that has the data: the second one of a compressed pair. Of a varray,
    /// the layout is that without data until the sizes are known.
    pub layout: SectionLayout,
    /// Offset of the U entries of a compressed varray.
    size_entries: Option<u64>,
    /// Whether ranges of it were read: then the next header may follow.
    in_ranges: bool,
}

/// What reading the sizes of a varray has told.
#[derive(Clone, Copy)]
struct KnownVarraySizes {
    /// The partition that the sizes were read with.
    counts_hash: u64,
    /// The sizes of this rank.
    sizes_hash: u64,
    /// The bytes of the elements as the user sees them.
    bytes: Partition,
}

impl ReadsLocally for Sections {
    #[inline(always)]
    fn sections(&mut self) -> &mut Sections {
        self
    }
}

impl Sections {
    /// A file that is open, with its size and where its sections end.
    pub fn new(team: Team, file: Box<dyn ParallelFile>, ends: Ends, params: ReadOptions) -> Self {
        let input = Input::new(team, file, ends, params);
        Self { input, cursor: Cursor::new(ends.first), chain: Chain::new(ends.read) }
    }

    /// The file and its ranks.
    #[inline(always)]
    pub fn input(&mut self) -> &mut Input {
        &mut self.input
    }

    /// The file and its ranks, of which no section is read any more.
    pub fn into_input(self) -> Input {
        self.input
    }

    #[inline(always)]
    pub fn params(&self) -> &ReadOptions {
        self.input.params()
    }

    /// Where the file ends.
    #[inline]
    pub fn ends(&self) -> Ends {
        self.input.ends()
    }

    pub fn statistics(&self) -> Statistics {
        self.input.statistics()
    }

    /// What is expected next.
    #[inline(always)]
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Offset of the next section, or of the current one as long as its data are expected.
    #[inline]
    pub fn position(&self) -> u64 {
        self.cursor.position()
    }

    /// The header that was read last.
    #[inline]
    pub fn header(&self) -> Option<&Section> {
        self.cursor.header()
    }

    /// The next header is expected there.
    #[inline(always)]
    pub fn advance(&mut self, end: u64) {
        self.cursor.advance(end);
    }

    /// Nobody has to read or skip the data of the current section.
    pub fn let_go_on(&mut self) {
        self.cursor.let_go_on();
    }

    /// Goes back to where the ranks were.
    pub fn return_to(&mut self, cursor: Cursor) {
        self.cursor = cursor;
    }

    /// Expects a header in place of what comes next, which is returned, to [come back](Self::return_to).
    pub fn leave_section(&mut self) -> Cursor {
        let before = self.cursor;
        self.cursor.expect_header();
        before
    }

    /// What reads the data of the current section.
    #[inline(always)]
    pub fn data(&mut self) -> DataReader<'_> {
        DataReader::new(self)
    }

    /// What this rank reads of the current section alone.
    #[inline]
    pub fn ranges(&mut self) -> Ranges<'_> {
        Ranges::new(self)
    }

    /// Whether the file ends with a seal, by which sections are found.
    pub fn is_sealed(&self) -> bool {
        self.ends().sections < self.ends().read
    }

    /// The seals, which this rank reads alone.
    pub fn seals(&mut self) -> SealReader<'_> {
        SealReader::new(&mut self.input, &mut self.chain)
    }

    /// The indexes of the seals, which this rank reads alone.
    pub fn index(&mut self) -> IndexReader<'_> {
        IndexReader::new(self)
    }

    /// From now on errors leave the file open: see [`Inspector::tolerate_damage`](super::Inspector::tolerate_damage).
    pub fn tolerate_damage(&mut self) -> Result<()> {
        self.check_alone("reading what is left of a file")?;
        self.input.tolerate_damage();
        Ok(())
    }

    /// Returns an error if there are other ranks, which would have to take part.
    pub fn check_alone(&mut self, what: &str) -> Result<()> {
        let (size, position) = (self.input.team().size(), self.position());
        if self.input.team().is_alone() {
            return Ok(());
        }
        Err(Error::usage(format!(
            "{what}: only a rank that reads alone can do this; this file is open on {size} ranks"
        ))
        .at(position))
    }

    /// Runs with the sections of seals shown.
    pub fn with_seals<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let raw = self.input.show_seals(true);
        let result = read(self);
        self.input.show_seals(raw);
        result
    }

    /// See [`Reader::refresh`](super::Reader::refresh).
    pub fn refresh(&mut self) -> Result<bool, Failure> {
        self.input.team().note_call(Function::Refresh);
        let before = self.ends();
        let found = match self.input.team().rank() {
            0 => self.grown(),
            _ => Ok(before),
        };
        let (found, mine) = split(found);
        let ends = Ends::of(self.input.team().share(0, mine.map(|()| found.words()))?, found.seal);
        if ends.read == before.read {
            self.input.set_ends(Ends { file: ends.file, ..before });
            return Ok(false);
        }
        self.input.set_ends(ends);
        self.input.file().look_again();
        if self.cursor.expects_header() && self.cursor.position() < ends.first {
            // The header may have been incomplete.
            self.cursor.advance(ends.first);
        }
        // What was found by the seal that was the last one.
        self.chain = Chain::new(ends.read);
        Ok(true)
    }

    /// Where the file ends now, if all seals that are known are still in it.
    fn grown(&mut self) -> Result<Ends> {
        let (extent, before) = (Extent::of(self.params()), self.ends());
        self.input.file().look_again();
        let ends = extent.grown(self.input.file(), before)?;
        match self.chain.changed(self.input.file())? {
            Some(offset) => Err(gone_back(offset)),
            None => Ok(ends),
        }
    }

    /// Limits the memory for what follows.
    pub fn limit_memory(&self) -> Option<AllowanceGuard> {
        memory::limited(self.params().tuning.max_memory, self.position())
    }
}
