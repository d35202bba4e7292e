//! Reads a file, section by section.

mod canonical;
mod chain;
mod data;
mod datasets;
mod entries;
mod finding;
mod hdf5;
mod index;
mod inspect;
mod last;
mod locate;
mod lookup;
mod pages;
mod read_back;
mod recovery_scan;
mod rollback;
mod sections;
mod streams;

pub(super) use chain::{Chain, crc_of};
pub use data::SectionRanges;
pub use datasets::{AddedRows, DatasetHandle, RankRequest, Request};
pub use entries::{Content, Entries, Entry};
pub use hdf5::SuperblockState;
pub(super) use hdf5::{NewView, new_view, renewed_superblock};
pub use index::SealedPart;
pub use inspect::{Inspector, LocatedError, Seals};
pub(crate) use last::is_kept;
pub(super) use last::newest_whole;
pub use lookup::EntryName;
pub(super) use read_back::{DatasetPlace, OwnReader};
pub(super) use recovery_scan::{RecoveryScan, RecoveryScanner, Rollback};
pub(super) use rollback::{AppendPlace, KeptSections, LastSeal};
pub use streams::{Stream, StreamReader, Streams};

use self::datasets::{DatasetReader, ReadCache};
use self::index::Extent;
use self::inspect::SealInspector;
use self::lookup::{Lookup, LookupCache};
use self::sections::{SectionReader, local_reader};
use self::streams::{StreamSets, TaskReader};
use super::open::{self, Ends};
use super::options::ReadOptions;
use super::session::{OpenFile, Session, SessionState};
use super::statistics::{self, Statistics};
use super::team::{Failure, Function, Team};
use scda_base::error::{Error, Result};
use scda_base::memory::AllowanceGuard;
use scda_format::header::{FileHeader, SectionType, UserString};
use scda_ranks::{Communicator, Solo};
use scda_storage::ParallelFile;
use scda_storage::names::kept_target_path;
use std::path::{Path, PathBuf};

/// The header of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// The type; that of the uncompressed data if the section is decoded.
    pub section_type: SectionType,
    /// The user string.
    pub user: UserString,
    /// The number of elements N of an array or varray; otherwise 0.
    pub count: u64,
    /// The bytes E of a block, or of each element of an array; otherwise 0.
    pub size: u64,
    /// Whether the data are decompressed when they are read.
    pub decoded: bool,
    /// The offset of the section in the file, in bytes; for a decoded section, of the first section of the
    /// pair.
    pub offset: u64,
    /// The offset of the data as stored in the file, plain or compressed.
    pub data_offset: u64,
}

/// A file that is being read.
///
/// All methods are collective unless stated otherwise: every rank calls them in the same order and with the
/// same arguments, except for the memory for its own data. After [`Reader::next_section`], the data of the
/// section must be read, or skipped by passing no memory for them. After an error, the file is closed on all
/// ranks and further calls are errors, unless [`Inspector::tolerate_damage`] was called; the memory passed to
/// the failed call has unspecified contents.
///
/// ```
/// use scda::{ReadOptions, Reader, Sink, Solo};
/// # use scda::{Encode, Source, WriteOptions, Writer};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("state.scda");
/// # let mut file = Writer::create(Solo, &path, b"", &WriteOptions::default())?;
/// # file.array(b"field", &[2], 4, Source::Contiguous(b"abcdefgh"), Encode::Always)?;
/// # file.close()?;
/// let mut file = Reader::open(Solo, &path, &ReadOptions::default())?;
/// let section = file.next_section(true)?.expect("a section");
/// let mut data = vec![0; (section.count * section.size) as usize];
/// file.read_array(&[section.count], section.size, Sink::Contiguous(&mut data))?;
/// assert_eq!(data, b"abcdefgh");
/// assert!(file.at_end());
/// file.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reader {
    header: Box<FileHeader>,
    path: PathBuf,
    age: u64,
    session: Session<ReaderState>,
}

/// The state of a [`Reader`] whose file is open.
pub struct ReaderState {
    sections: SectionReader,
    lookup: LookupCache,
    datasets: ReadCache,
    /// The sets of streams of the name that was listed last.
    streams: Option<StreamSets>,
    /// Whether closing has begun, after which no other call is allowed.
    is_closing: bool,
}

impl Reader {
    /// Opens a file and reads its header (paper, section A.3).
    ///
    /// # Errors
    /// `Format`, `UnsupportedVersion`, `ShortFile`, `Argument` for invalid parameters, `Checksum` with
    /// [`ReadOptions::verify`], and the errors of the file system.
    pub fn open(
        comm: impl Communicator + 'static,
        path: impl AsRef<Path>,
        params: &ReadOptions,
    ) -> Result<Self> {
        open_if_valid(Box::new(comm), Ok(path.as_ref()), Ok(params.clone()))
    }

    /// Like [`Self::open`], for a process that reads alone from a file that it has open
    /// ([`SharedFile`](crate::SharedFile)), or from [anything that can be read at
    /// offsets](crate::ReadAtFile). Errors refer to it as `name`.
    ///
    /// # Errors
    /// The errors of [`Self::open`], and those of `file`, for example `Io`.
    pub fn open_at(
        file: impl ParallelFile + 'static,
        name: impl AsRef<Path>,
        params: &ReadOptions,
    ) -> Result<Self> {
        let name = name.as_ref();
        let opened = open_by(Box::new(Solo), Ok(name), Ok(params.clone()), |team, _, params| {
            if params.keep > 0 {
                return Err(Error::argument("keep: older files are looked for in folders only").into());
            }
            let mut file = open::with_faults(team, &params.tuning, Box::new(file));
            let size = file.size()?;
            let ends = Extent::of(params).ends(&mut *file, size)?;
            params.tuning.find_stripe(0);
            Ok((file, ends))
        });
        Ok(Reader { path: name.to_owned(), ..opened? })
    }

    /// The path of the open file: with [`ReadOptions::keep`], perhaps an older file than that of the name.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The age of the open file among those that the name has had: 0 is the newest. See
    /// [`ReadOptions::keep`].
    #[must_use]
    pub fn age(&self) -> u64 {
        self.age
    }

    /// The file header: its user string, and the vendor string, which names the program that wrote the file.
    /// Line breaks in the rest of the file may differ from those of the header: see
    /// [`Inspector::check_canonical`].
    #[must_use]
    pub fn header(&self) -> &FileHeader {
        &self.header
    }

    /// How this rank has spent its time since the file was opened. `None` after an error. Not collective.
    #[must_use]
    pub fn statistics(&self) -> Option<Statistics> {
        self.session.state().map(|state| state.sections.input.statistics())
    }

    /// The number of bytes after the last seal that are not read (see [`ReadOptions::to_seal`]). `None` after
    /// an error. Not collective.
    #[must_use]
    pub fn left_out(&self) -> Option<u64> {
        self.session.state().map(|state| {
            let ends = state.sections.ends();
            ends.file - ends.read
        })
    }

    /// Checks whether the file has grown, and if so, makes the new part readable: what another job has
    /// committed meanwhile, or with [`ReadOptions::to_seal`] off, anything. The position does not change.
    /// Returns whether there is more to read. Collective.
    ///
    /// # Errors
    /// `FileInUse` if a job has rolled back a seal that was read
    /// ([`WriteOptions::append_after`](crate::WriteOptions::append_after)) or created the file anew: open it
    /// again. This is noticed by the last seal and, on rank 0, by the seals with which sections were found;
    /// data without a seal are not compared. `ShortFile` if a file that does not end with a seal has become
    /// shorter. Also the errors of the file system.
    pub fn refresh(&mut self) -> Result<bool> {
        self.session.operate(ReaderState::refresh)
    }

    /// Whether the file ends with a seal, so that all of it is sealed. Always false with [`ReadOptions::raw`]
    /// and after an error. Not collective.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.session.state().is_some_and(|state| state.sections.is_sealed())
    }

    /// Whether no section follows; the seals at the end of a file are not sections. Not collective. While the
    /// data of a section remain to be read the result is false, and after an error it is true.
    #[must_use]
    pub fn at_end(&self) -> bool {
        self.session.state().is_none_or(|state| state.sections.at_end())
    }

    /// Reads the header of the next section (paper, section A.5.1); `None` at the end of the file. With
    /// `decode`, the two sections of a compressed one appear as the original section. The sections of seals
    /// are skipped, unless [`ReadOptions::raw`] is set.
    ///
    /// # Errors
    /// `Format`, `ShortFile`, `Range`, `Decode`, `Usage`, `Checksum` with [`ReadOptions::verify`], and the errors of the file
    /// system.
    pub fn next_section(&mut self, decode: bool) -> Result<Option<Section>> {
        self.session.operate(|state| {
            let found = state.lookup().next_section(decode)?;
            Ok(state.sections.header().copied().filter(|_| found))
        })
    }

    /// Closes the file.
    ///
    /// # Errors
    /// Errors of this rank that the other ranks do not know yet. The file is closed in any case.
    pub fn close(mut self) -> Result<()> {
        if let Some(state) = self.session.state_mut() {
            state.is_closing = false;
        }
        self.session.operate(|state| {
            state.team().note_call(Function::Close);
            state.team().agree(Ok(()))?;
            Ok(())
        })?;
        let state = self.session.take()?;
        let (times, size) = (state.sections.input.statistics(), state.sections.ends().read);
        let times = Statistics::are_wanted().then(|| times.of_reading());
        let (mut team, file) = state.sections.input.into_parts();
        let closed = file.close();
        match statistics::close(&mut team, closed, &format!("{size} bytes, read"), times) {
            Ok(()) => Ok(()),
            Err(failure) => Err(team.settle(failure)),
        }
    }
}

/// Like [`Reader::open`], for arguments that may be an error of this rank.
///
/// # Errors
/// That of the arguments, and the errors of [`Reader::open`].
pub fn open_if_valid(
    comm: Box<dyn Communicator>,
    path: Result<&Path>,
    params: Result<ReadOptions>,
) -> Result<Reader> {
    let (mut age, mut found) = (0, PathBuf::new());
    let opened = open_by(comm, path, params, |team, path, params| {
        let extent = Extent::of(params);
        let which = |team: &mut Team, real: &Path, params: &ReadOptions| {
            age = last::agreed_age(team, real, params)?;
            found = kept_target_path(path, real, age);
            team.rename(&found);
            Ok(kept_target_path(real, real, age))
        };
        open::open(team, path, params, which, |file, size| extent.ends(file, size))
    });
    Ok(Reader { path: found, age, ..opened? })
}

/// Opens a file with `open`, and reads its header.
fn open_by(
    comm: Box<dyn Communicator>,
    path: Result<&Path>,
    params: Result<ReadOptions>,
    open: impl FnOnce(&mut Team, &Path, &mut ReadOptions) -> Result<(Box<dyn ParallelFile>, Ends), Failure>,
) -> Result<Reader> {
    let (team, params, (file, ends)) = open::if_valid(comm, Function::Open, path, params, open)?;
    let mut session = Session::new(ReaderState::new(team, file, ends, params));
    let header = session.operate(|state| {
        let header = state.sections().file_header()?;
        if state.sections().params().verify {
            state.lookup().verify_ends()?;
        }
        Ok(header)
    })?;
    Ok(Reader { header: Box::new(header), session, path: PathBuf::new(), age: 0 })
}

impl OpenFile for Reader {
    type State = ReaderState;

    #[inline(always)]
    fn session(&mut self) -> &mut Session<ReaderState> {
        &mut self.session
    }
}

impl ReaderState {
    /// The state for an open file with these ends.
    fn new(team: Team, file: Box<dyn ParallelFile>, ends: Ends, params: ReadOptions) -> Self {
        let datasets = ReadCache::new(&params);
        let sections = SectionReader::new(team, file, ends, params);
        Self { sections, lookup: LookupCache::default(), datasets, streams: None, is_closing: false }
    }

    #[inline(always)]
    pub(crate) fn sections(&mut self) -> &mut SectionReader {
        &mut self.sections
    }

    #[inline(always)]
    fn lookup(&mut self) -> Lookup<'_> {
        Lookup { sections: &mut self.sections, cache: &mut self.lookup }
    }

    /// See [`Reader::next_section`]. Returns whether there is a section; [`SectionReader::header`] has its header.
    #[inline]
    pub(crate) fn next_section(&mut self, decode: bool) -> Result<bool, Failure> {
        self.lookup().next_section(decode)
    }

    /// The header of the section that was read last.
    #[inline]
    pub(crate) fn header(&self) -> Option<&Section> {
        self.sections.header()
    }

    /// The first half of closing, in which the ranks agree to close. Only [`Reader::close`] may follow.
    pub(crate) fn begin_close(&mut self) -> Result<(), Failure> {
        self.team().note_call(Function::CloseBegin);
        self.team().agree(Ok(()))?;
        self.is_closing = true;
        Ok(())
    }

    /// Returns an error if closing has begun.
    pub(crate) fn check_not_closing(&self) -> Result<()> {
        if self.is_closing { Err(Error::usage("the file is being closed; wait for that")) } else { Ok(()) }
    }

    pub(crate) fn datasets(&mut self) -> DatasetReader<'_> {
        DatasetReader { sections: &mut self.sections, lookup: &mut self.lookup, cache: &mut self.datasets }
    }

    pub(crate) fn streams(&mut self) -> TaskReader<'_> {
        TaskReader { sections: &mut self.sections, lookup: &mut self.lookup, listed: &mut self.streams }
    }

    fn inspector(&mut self) -> SealInspector<'_> {
        SealInspector { sections: &mut self.sections }
    }

    /// See [`Reader::refresh`].
    fn refresh(&mut self) -> Result<bool, Failure> {
        let has_grown = self.sections.refresh()?;
        if has_grown {
            self.lookup.forget_end();
            self.streams = None;
        }
        Ok(has_grown)
    }
}

impl SessionState for ReaderState {
    fn team(&mut self) -> &mut Team {
        &mut self.sections.input.team
    }

    fn works_after_fork(&mut self) -> bool {
        self.sections.input.team.is_alone()
    }

    fn checks_every_call(&self) -> bool {
        self.sections.params().tuning.check
    }

    fn begin(&mut self) -> Result<(), Failure> {
        Ok(self.check_not_closing()?)
    }

    fn limit_memory(&self) -> Option<AllowanceGuard> {
        self.sections.limit_memory()
    }

    fn survives(&mut self, _: &Failure) -> bool {
        self.sections.input.is_tolerant
    }

    fn drop_alone(self) {
        if self.sections.input.team.is_alone() {
            let _ = self.sections.input.into_parts().1.close();
            return;
        }
        self.sections.input.leak_shared();
        self.datasets.leak_shared();
    }

    fn abandon(self, _: &Error) {
        let _ = self.sections.input.into_parts().1.close();
    }
}
