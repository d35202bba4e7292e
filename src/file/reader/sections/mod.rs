//! The sections of a file, one behind the other: where the ranks are among them, and how they read their data.

pub(super) mod alone;
mod data;
mod elements;
mod header;
mod offsets;
mod ranges;
mod seals;
mod tables;

pub(super) use data::{check_room, other_sizes};
pub(super) use elements::BATCH_BYTES;
pub(super) use header::{cut_off, exceeds_63_bits};
pub(super) use tables::describe;

use self::alone::{Alone, ReadsAlone};
use self::offsets::KnownOffset;
use super::Section;
use super::chain::Chain;
use super::index::{Extent, gone_back};
use crate::file::encoding::Decoders;
use crate::file::open::Ends;
use crate::file::options::ReadOptions;
use crate::file::relay::Route;
use crate::file::statistics::Statistics;
use crate::file::team::{Failure, Function, Team, split};
use crate::file::window::Window;
use scda_base::error::Result;
use scda_base::memory::{self, Limited};
use scda_format::FILE_HEADER_BYTES;
use scda_format::header::SectionType;
use scda_format::layout::SectionLayout;
use scda_ranks::Partition;
use scda_storage::ParallelFile;
use scda_storage::timed::{Reads, Timed};
use std::time::{Duration, Instant};

/// The file and the ranks that read it, section by section.
pub(crate) struct Sections {
    team: Team,
    file: Box<Timed>,
    params: ReadOptions,
    ends: Ends,
    /// The most bytes of a section, or of a part of one, that is read with the headers.
    small_bytes: u64,
    window: Window,
    route: Route,
    cursor: Cursor,
    /// What this rank has to read alone, once it did.
    alone: Option<Box<Alone>>,
    /// The seals that this rank has read.
    chain: Chain,
    decoders: Decoders,
    /// What was read, and decompressed, since it was opened.
    reads: Reads,
    decoded_bytes: u64,
    decoding: Duration,
    /// Whether errors leave the file open, and a section that the end of the file cuts is no error.
    tolerant: bool,
}

/// Where the ranks are in the file.
#[derive(Clone, Copy)]
pub(crate) struct Cursor {
    /// Offset of the next section, or of the current one as long as its data are expected.
    position: u64,
    expect: Expect,
    /// The header that was read last.
    header: Option<Section>,
    known_offset: Option<KnownOffset>,
}

/// What must be called next.
#[derive(Clone, Copy)]
enum Expect {
    Header,
    Data(CurrentSection),
    VarraySizes(CurrentSection),
    VarrayData(CurrentSection, KnownSizes),
    /// Ranges of a section whose header is whole, and that the end of the file cuts.
    CutData(CurrentSection),
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
struct KnownSizes {
    /// The partition that the sizes were read with.
    counts_hash: u64,
    /// The sizes of this rank.
    sizes_hash: u64,
    /// The bytes of the elements as the user sees them.
    bytes: Partition,
}

impl Expect {
    fn current(&self) -> Option<&CurrentSection> {
        match self {
            Self::Header => None,
            Self::Data(current)
            | Self::VarraySizes(current)
            | Self::VarrayData(current, _)
            | Self::CutData(current) => Some(current),
        }
    }

    fn current_mut(&mut self) -> Option<&mut CurrentSection> {
        match self {
            Self::Header => None,
            Self::Data(current)
            | Self::VarraySizes(current)
            | Self::VarrayData(current, _)
            | Self::CutData(current) => Some(current),
        }
    }
}

impl ReadsAlone for Sections {
    fn sections(&mut self) -> &mut Sections {
        self
    }
}

impl Sections {
    /// A file that is open, with its size and where its sections end.
    pub fn new(team: Team, file: Box<dyn ParallelFile>, ends: Ends, params: ReadOptions) -> Self {
        let reads = Reads::default();
        Self {
            window: Window::new(&team, &params.tuning),
            route: Route::default(),
            small_bytes: params.tuning.small_bytes(team.size()) as u64,
            decoders: Decoders::new(params.strict),
            team,
            file: Box::new(Timed::new(file, reads.clone())),
            ends,
            params,
            cursor: Cursor {
                position: FILE_HEADER_BYTES as u64,
                expect: Expect::Header,
                header: None,
                known_offset: None,
            },
            alone: None,
            chain: Chain::new(ends.read),
            reads,
            decoded_bytes: 0,
            decoding: Duration::ZERO,
            tolerant: false,
        }
    }

    /// The ranks.
    #[inline(always)]
    pub fn team(&mut self) -> &mut Team {
        &mut self.team
    }

    /// The file, for what this rank reads of it alone.
    #[inline]
    pub fn file(&mut self) -> &mut dyn ParallelFile {
        &mut *self.file
    }

    /// Reads another file from now on, and gives back the one of before.
    pub fn exchange_file(&mut self, file: &mut Box<dyn ParallelFile>) {
        self.file.exchange(file);
    }

    #[inline]
    pub fn params(&self) -> &ReadOptions {
        &self.params
    }

    /// From now on, the file ends there: for a file of which more is known than its seals say.
    pub fn set_ends(&mut self, ends: Ends) {
        self.ends = ends;
    }

    /// Where the file ends.
    #[inline]
    pub fn ends(&self) -> Ends {
        self.ends
    }

    /// Offset of the next section, or of the current one as long as its data are expected.
    #[inline]
    pub fn position(&self) -> u64 {
        self.cursor.position
    }

    /// The header that was read last.
    #[inline]
    pub fn header(&self) -> Option<&Section> {
        self.cursor.header.as_ref()
    }

    /// Goes back to where the ranks were.
    pub fn return_to(&mut self, cursor: Cursor) {
        self.cursor = cursor;
    }

    /// Expects a header in place of what comes next, which is returned, to [come back](Self::return_to).
    pub fn leave_section(&mut self) -> Cursor {
        let before = self.cursor;
        self.cursor.expect = Expect::Header;
        before
    }

    /// Whether a header comes next.
    #[inline]
    pub fn expects_header(&self) -> bool {
        matches!(self.cursor.expect, Expect::Header)
    }

    /// The section whose data, or sizes, come next.
    pub fn current(&self) -> Option<CurrentSection> {
        self.cursor.expect.current().copied()
    }

    /// As [`Self::current`], if the file has all of it.
    pub fn whole_current(&self) -> Option<CurrentSection> {
        self.current().filter(|_| !matches!(self.cursor.expect, Expect::CutData(_)))
    }

    /// The section whose data come next: no varray, and the file has all of it.
    pub fn current_data(&self) -> Option<CurrentSection> {
        match self.cursor.expect {
            Expect::Data(current) => Some(current),
            _ => None,
        }
    }

    /// The varray of which no sizes were read yet.
    pub fn current_varray(&self) -> Option<CurrentSection> {
        match self.cursor.expect {
            Expect::VarraySizes(current) => Some(current),
            _ => None,
        }
    }

    /// Nobody has to read or skip the data of the current section.
    pub fn let_go_on(&mut self) {
        if let Some(current) = self.cursor.expect.current_mut() {
            current.in_ranges = true;
        }
    }

    /// From now on errors leave the file open: see [`Reader::tolerate_damage`](super::Reader::tolerate_damage).
    pub fn tolerate_damage(&mut self) -> Result<()> {
        self.check_alone("reading what is left of a file")?;
        self.tolerant = true;
        Ok(())
    }

    /// Whether errors leave the file open.
    pub fn is_tolerant(&self) -> bool {
        self.tolerant
    }

    /// Runs with the sections of seals shown.
    pub fn with_seals<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let raw = std::mem::replace(&mut self.params.raw, true);
        let result = read(self);
        self.params.raw = raw;
        result
    }

    /// Lets this rank be alone: the ranks are in what is returned, until it is [given back](Self::rejoin).
    pub fn leave(&mut self) -> Box<Alone> {
        let mut alone = self.alone.take().unwrap_or_else(|| Box::new(Alone::new(&self.team, &self.params)));
        alone.swap(&mut self.team, &mut self.window);
        alone
    }

    /// This rank is with the others again.
    pub fn rejoin(&mut self, mut ranks: Box<Alone>) {
        ranks.swap(&mut self.team, &mut self.window);
        self.alone = Some(ranks);
    }

    /// See [`Reader::refresh`](super::Reader::refresh).
    pub fn refresh(&mut self) -> Result<bool, Failure> {
        self.team.note_call(Function::Refresh);
        let found = match self.team.rank() {
            0 => self.grown(),
            _ => Ok(self.ends),
        };
        let (found, mine) = split(found);
        let ends = Ends::of(self.team.share(0, mine.map(|()| found.words()))?, found.seal);
        self.ends.file = ends.file;
        if ends.read == self.ends.read {
            return Ok(false);
        }
        self.ends = ends;
        // What was found by the seal that was the last one.
        self.chain = Chain::new(ends.read);
        Ok(true)
    }

    /// Where the file ends now, if all seals that are known are still in it.
    fn grown(&mut self) -> Result<Ends> {
        let ends = Extent::of(&self.params).grown(&mut *self.file, self.ends)?;
        match self.chain.changed(&mut *self.file)? {
            Some(offset) => Err(gone_back(offset)),
            None => Ok(ends),
        }
    }

    /// Limits the memory for what follows.
    pub fn limit_memory(&self) -> Option<Limited> {
        memory::limited(self.params.tuning.max_memory, self.cursor.position)
    }

    /// The beginning of the file, with its header.
    pub fn look_at_beginning(&mut self) -> Result<&[u8], Failure> {
        self.look(0, self.ends.read.min(FILE_HEADER_BYTES as u64))
    }

    /// `bytes` bytes were decompressed since `began`.
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

    pub fn close(self) -> Result<()> {
        self.file.close()
    }

    /// Leaves what the ranks share as it is: giving it back takes all of them.
    pub fn leak_shared(self) {
        let Self { team, window, route, .. } = self;
        std::mem::forget((team, window, route));
    }
}
