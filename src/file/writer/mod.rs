//! Writing a file, section by section.

mod attributes;
mod background;
mod dataset_calls;
mod datasets;
mod kinds;
mod names;
mod sealing;
mod section_calls;
mod sections;
#[cfg(test)]
mod simulation;
mod state;
mod stream_calls;
mod streams;

pub use background::{Closing, CommitRequest, Pending};
pub use datasets::Given;
pub use kinds::{BoxStream, DataStream, ElementStream};

use super::open::{self, ExistingFile};
use super::params::Params;
use super::reader::{Surveyor, is_kept};
use super::session::{Session, ThisRank};
use super::statistics::{self, Statistics};
use super::sums::{SummedFile, Sums};
use super::target::Target;
use super::team::{Failure, Function, Team, Topic};
use background::Commits;
use datasets::{DatasetCache, DatasetWriter, Unplaced};
use kinds::Compression;
use scda_base::error::{Error, Result};
use scda_format::header::{UserString, file_header};
use scda_format::padding::LineBreak;
use scda_format::{FILE_HEADER_BYTES, VENDOR_STRING_BYTES, truncation};
use scda_ranks::{Communicator, KnownPartition};
use scda_storage::ParallelFile;
use scda_storage::lent::Lent;
use sealing::Sealer;
use sections::{Progress, Sections};
use std::path::Path;
use streams::OwnStream;

/// What this library writes into the vendor string.
const VENDOR: &str = concat!("libscda ", env!("CARGO_PKG_VERSION"));
/// And into that of a file that is to be sealed, with the mark that says so.
const SEALED_VENDOR: &str =
    concat!("libscda ", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"), " sealed");
const _: () = assert!(SEALED_VENDOR.len() <= VENDOR_STRING_BYTES);

/// A file that is being written.
///
/// All functions that do not say otherwise are collective: every rank calls them in the same order, with the same arguments
/// except for the data and the sizes of its own elements. After an error the file is closed on all
/// ranks and ends with the last whole section; further calls are errors.
///
/// Dropping a writer without [`Writer::close`] does not close the file on the other ranks, and its buffered sections
/// are lost; a writer that is alone writes them first. An atomic write is undone.
///
/// Small plain sections are buffered and written together. So a later call reports a full disk, at the latest
/// [`Writer::flush`] or [`Writer::close`]; without [`Params::check`], this holds for any error that only one
/// rank can notice, such as data of the wrong length.
///
/// ```
/// use scda::{Encode, Params, Solo, Source, Writer};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("state.scda");
/// let mut file = Writer::create(Solo, &path, b"my simulation", &Params::default())?;
/// file.block(b"parameters", 0, 6, Some(b"dt=0.1"), Encode::None)?;
/// // Two elements of four bytes, all on the one rank that there is.
/// file.array(b"field", &[2], 4, Source::Contiguous(b"abcdefgh"), Encode::Always)?;
/// file.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a file is complete only when it is closed"]
pub struct Writer {
    session: Session<WriterState>,
    user: UserString,
    /// Of a file that was there before: the bytes that were cut off when it was opened.
    cut_off: Option<u64>,
}

/// What a file has to which sections are appended.
struct AppendedFile {
    /// Where the next section goes.
    end: u64,
    user: UserString,
    /// Whether it has a seal, or was to get one.
    is_sealed: bool,
    /// Whether seals are cut off.
    gives_up_seals: bool,
    /// What its next seal is to say, if it gets one.
    sealer: Option<Sealer>,
    sums: Option<Sums>,
}

/// Brings to stable storage, behind all of a file, that it is to be cut to the seal that ends at `length`. File systems may bring the
/// page of the cut to the disk, with zeros in place of what is cut off, before the new length: the seals behind it would still be there,
/// and lead to damaged bytes. Collective.
fn note_truncation(
    team: &mut Team,
    file: &mut dyn ParallelFile,
    size: u64,
    length: u64,
    style: LineBreak,
) -> Result<(), Failure> {
    let note = truncation::bytes(length, style);
    let mine = match team.rank() {
        0 => file.write_at(truncation::offset(size, length), &[&note]),
        _ => Ok(()),
    };
    let noted = match team.agree(mine) {
        Ok(_) => {
            let synced = file.sync();
            team.agree(synced).map(drop)
        }
        Err(failure) => Err(failure),
    };
    if noted.is_err() && !team.is_lost() {
        // The file is as it was; if it cannot be, the next job goes on where this one was to.
        let _ = file.truncate(size);
    }
    noted
}

/// What a [`Writer`] has while its file is open.
pub(crate) struct WriterState {
    sections: Sections,
    compression: Compression,
    datasets: DatasetCache,
    unplaced: Unplaced,
    /// The stream of this rank, from the beginning of a set of streams to its end.
    stream: Option<OwnStream>,
    target: Target,
    commits: Commits,
    /// Whether arguments that are refused before anything is written leave the file open.
    tolerant: bool,
}

impl Writer {
    /// Creates a file, or empties one that exists, and writes its header (paper, section A.3).
    ///
    /// # Errors
    /// `Argument` for a user string of more than 58 bytes and for parameters without meaning, and
    /// the errors of the file system.
    pub fn create(
        comm: impl Communicator + 'static,
        path: &Path,
        user: &[u8],
        params: &Params,
    ) -> Result<Self> {
        Self::create_if_valid(Box::new(comm), Ok(path), UserString::new(user), Ok(params.clone()))
    }

    /// As [`Self::create`], if no rank has a wrong argument.
    pub(crate) fn create_if_valid(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        user: Result<UserString>,
        params: Result<Params>,
    ) -> Result<Self> {
        let create = |team: &mut Team, path: &Path, params: &mut Params| {
            let user = user?;
            team.note_bytes(Topic::UserString, &user);
            let vendor = if params.seal { SEALED_VENDOR } else { VENDOR };
            let header = file_header(vendor.as_bytes(), &user, params.line_break);
            let (file, target) = open::create(team, path, params, &header)?;
            let (sealer, sums) = match params.seal {
                true => Some(Sealer::new(team, user, &header)).unzip(),
                false => (None, None),
            };
            Ok((SummedFile::new(file, sums), target, sealer, user))
        };
        let (team, params, (file, target, sealer, user)) =
            open::if_valid(comm, Function::Create, path, params, create)?;
        let progress = Progress::of_new_file(FILE_HEADER_BYTES as u64);
        let session = Self::begin(team, file, target, params, sealer, progress);
        Ok(Self { session, user, cut_off: None })
    }

    /// Opens an existing file to write more sections behind those that it has. Its user string and its sections stay.
    ///
    /// If the file has a seal, writing continues behind the last one, which stays valid for the part of the file before it.
    /// Sections that were not committed, because a job was killed while it appended, are cut off, whole or not;
    /// [`Self::bytes_cut_off`] tells how many bytes. Closing seals the new sections, with [`Params::seal`] or without.
    ///
    /// A file that was created with [`Params::seal`] and has no seal yet is cut back to its header. Another file without a
    /// seal must be whole; with [`Params::seal`], its old sections are sealed before this returns, as they are: compressed data are
    /// not decoded, so damage in them is sealed, too. The command `scda seal` decodes them first.
    ///
    /// # Errors
    /// Those of [`Reader::open`](crate::Reader::open) and of reading the headers of a file that is not whole;
    /// `Checksum` if the index of the last seal, or of the one that [`Params::behind`] chose, is damaged; other sealed bytes are not
    /// compared. `FileInUse` if somebody else writes it, and the errors of the file system. The file is as it was.
    pub fn append(comm: impl Communicator + 'static, path: &Path, params: &Params) -> Result<Self> {
        Self::append_if_valid(Box::new(comm), Ok(path), Ok(params.clone()))
    }

    /// As [`Self::append`], if no rank has a wrong argument.
    pub(crate) fn append_if_valid(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        params: Result<Params>,
    ) -> Result<Self> {
        let (team, params, ExistingFile { file, mut target, size }) =
            open::if_valid(comm, Function::Append, path, params, open::append)?;
        let mut reading = Surveyor::new(team, file, size, &params);
        let limited = reading.limit_memory();
        let found = Self::continued(&mut reading, &params);
        drop(limited);
        let (mut team, mut file) = reading.into_parts();
        let result = found.and_then(|found| {
            // Nothing was changed before all ranks know where to go on.
            if found.end < size {
                if found.gives_up_seals && !params.atomic {
                    note_truncation(&mut team, &mut *file, size, found.end, params.line_break)?;
                }
                let cut = file.truncate(found.end);
                team.agree(cut)?;
                // After a loss of power, nothing of it comes back among what is written now.
                let synced = file.sync();
                team.agree(synced)?;
            }
            Ok(found)
        });
        match result {
            Ok(AppendedFile { end, user, is_sealed, sealer, sums, .. }) => {
                let file = SummedFile::new(file, sums);
                let (is_first_seal, is_copy) = (sealer.is_some() && !is_sealed, params.atomic);
                let mut session =
                    Self::begin(team, file, target, params, sealer, Progress::of_whole_file(end));
                if is_first_seal {
                    // What is appended is cut off if it is not committed; what the file had is not.
                    session.operate(|state| state.sections.seal(!is_copy))?;
                }
                Ok(Self { session, user, cut_off: Some(size - end) })
            }
            Err(failure) => {
                let error = team.settle(failure);
                let _ = file.close();
                if team.rank() == 0 {
                    target.discard();
                }
                Err(error)
            }
        }
    }

    /// Looks at a file to which sections are to be appended.
    fn continued(reading: &mut Surveyor, params: &Params) -> Result<AppendedFile, Failure> {
        let mut survey = reading.survey()?;
        let (end, user) = (survey.end, survey.header.user);
        let (is_sealed, gives_up_seals) = (survey.is_sealed(), survey.gives_up_seals());
        if !params.seal && !is_sealed {
            return Ok(AppendedFile { end, user, is_sealed, gives_up_seals, sealer: None, sums: None });
        }
        let mut sealer = Sealer::continued(&survey);
        let sums =
            reading.sum_up(&survey, |row, part, data, sizes| sealer.note_surveyed(row, part, data, sizes))?;
        sealer.take_surveyed(&mut survey);
        Ok(AppendedFile { end, user, is_sealed, gives_up_seals, sealer: Some(sealer), sums: Some(sums) })
    }

    /// The user string of the file.
    #[must_use]
    pub fn user(&self) -> &UserString {
        &self.user
    }

    /// The bytes that [`Self::append`] has cut off: what a job that was killed while it appended had not sealed, and what is
    /// behind the seal that [`Params::behind`] chose.
    #[must_use]
    pub fn bytes_cut_off(&self) -> u64 {
        self.cut_off.unwrap_or(0)
    }

    /// Where the file is written, if it was there before: with [`Params::atomic`] its copy. An absolute path. Not collective. `None` after
    /// an error.
    #[must_use]
    pub fn appended(&self) -> Option<&Path> {
        self.cut_off.and(self.session.state()).map(|state| state.target.goal())
    }

    /// Whether closing writes a seal. Not collective. After an error, there is no telling: false.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.session.state().is_some_and(|state| state.sections.is_sealed())
    }

    /// Where in the file the next section begins, in bytes. Not collective. `None` after an error, and while compressed datasets wait
    /// for their place: see [`Params::background_bytes`].
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        let state = self.session.state().filter(|state| state.unplaced.is_empty());
        state.map(|state| state.sections.end())
    }

    pub(super) fn session(&mut self) -> &mut Session<WriterState> {
        &mut self.session
    }

    /// Begins to write sections: see [`Sections::new`].
    fn begin(
        team: Team,
        file: SummedFile,
        target: Target,
        params: Params,
        sealer: Option<Sealer>,
        progress: Progress,
    ) -> Session<WriterState> {
        Session::new(WriterState {
            sections: Sections::new(team, params, file, sealer, progress),
            compression: Compression::default(),
            datasets: DatasetCache::default(),
            unplaced: Unplaced::default(),
            stream: None,
            target,
            commits: Commits::default(),
            tolerant: false,
        })
    }

    /// For a process that writes alone: from now on, a call that is refused for its arguments (`Argument` or `Range`) before
    /// anything of it is written leaves the file open, as it was; [`Self::is_open`] tells.
    ///
    /// # Errors
    /// `Usage` if there is more than one rank.
    pub fn tolerate_arguments(&mut self) -> Result<()> {
        self.session.operate(|state| {
            if !state.sections.team.is_alone() {
                return Err(
                    Error::usage("tolerating arguments: only a rank that writes alone can do this").into()
                );
            }
            state.tolerant = true;
            Ok(())
        })
    }

    /// Whether the file is open: not closed, by [`Self::close`] or an error. Not collective.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.session.state().is_some()
    }

    /// Writes one section of the user. The C interface calls it with data that may be an error of this rank.
    #[inline]
    pub(crate) fn write(
        &mut self,
        section: impl FnOnce(&mut DatasetWriter<'_>) -> Result<(), Failure>,
    ) -> Result<()> {
        self.call(|state| section(&mut state.datasets()))
    }

    /// As [`Self::write`], of data in this memory, which stays as it is if [`Params::lend`] says so.
    pub(crate) fn write_lent(
        &mut self,
        lent: Option<Lent>,
        section: impl FnOnce(&mut DatasetWriter<'_>) -> Result<(), Failure>,
    ) -> Result<()> {
        self.call(|state| state.lending(lent, |state| section(&mut state.datasets())))
    }

    /// As [`Self::write_lent`], of a dataset or group.
    pub(crate) fn write_dataset(
        &mut self,
        lent: Option<Lent>,
        dataset: impl FnOnce(&mut DatasetWriter<'_>) -> Result<(), Failure>,
    ) -> Result<()> {
        self.session.operate_ahead(|state| {
            state.check_no_streams()?;
            state.lending(lent, |state| dataset(&mut state.datasets()))?;
            state.sections.end_call_if_any()
        })
    }

    #[inline]
    fn call(&mut self, write: impl FnOnce(&mut WriterState) -> Result<(), Failure>) -> Result<()> {
        self.session.operate_ahead(|state| {
            state.check_no_streams()?;
            write(state)?;
            if state.unplaced.is_empty() { state.sections.end_call() } else { Ok(()) }
        })
    }

    /// Writes all buffered sections, and lets all ranks know whether all went well until now.
    ///
    /// # Errors
    /// Those of all sections since the last flush.
    pub fn flush(&mut self) -> Result<()> {
        self.session.operate(|state| {
            state.sections.team.note_call(Function::Flush);
            state.streams().flush();
            state.sections.flush()
        })
    }

    /// The `count` of every rank, by rank: what [`Self::array`] and [`Self::varray`] take as `counts`, made
    /// from the number of elements that each rank has.
    ///
    /// # Errors
    /// Those of all calls since the ranks last agreed.
    pub fn proc_counts(&mut self, count: u64) -> Result<Vec<u64>> {
        self.session.proc_counts(count)
    }

    /// The partition in which this rank has `count` elements, to be made once: it stands for the `counts` that
    /// [`Self::array`], [`Self::varray`] and [`Self::field`] take, and takes no work that grows with the number of ranks.
    ///
    /// # Errors
    /// `Range` if the sum exceeds 63 bits, and those of all calls since the ranks last agreed.
    pub fn partition(&mut self, count: u64) -> Result<KnownPartition> {
        self.session.partition(count)
    }

    /// Writes everything, and a seal of it: a record of all sections with their checksums, by which a reader knows that
    /// the file is whole up to here (docs/format.md, "Sealed files"). On success all is in stable storage, and a job
    /// that is killed later loses nothing of it; except with [`Params::atomic`], where the file has its name only when
    /// it is closed.
    ///
    /// # Errors
    /// `Usage` without [`Params::seal`]; those of all sections since the last flush.
    pub fn commit(&mut self) -> Result<()> {
        self.session.operate(|state| {
            state.sections.team.note_call(Function::Commit);
            state.check_sealed()?;
            state.commit_between_parts()
        })
    }

    /// The sum of `sizes` on every rank, by rank: what [`Self::varray`] takes as `proc_sizes`.
    ///
    /// # Errors
    /// `Range` if a sum exceeds 63 bits.
    pub fn proc_sizes(&mut self, sizes: &[u64]) -> Result<Vec<u64>> {
        self.session.proc_sizes(sizes)
    }

    /// Writes the buffered sections and closes the file. Only success means that every byte is in it: errors
    /// of all ranks, and the size of the file, are checked. Call it on every file.
    ///
    /// # Errors
    /// Those of all sections since the last flush, and the errors of the file system. The file is
    /// closed regardless.
    pub fn close(mut self) -> Result<()> {
        let was_begun = self.session.state_mut().is_some_and(WriterState::end_closing);
        let closed = self.finish();
        if was_begun { closed.map_err(|error| error.of_request("close request")) } else { closed }
    }

    fn finish(mut self) -> Result<()> {
        self.session.operate(|state| {
            state.sections.team.note_call(Function::Close);
            state.check_no_streams()?;
            let Params { sync, atomic, later, .. } = state.sections.params;
            // An atomic write gets its name later, so its seal may be synced together with what it seals.
            state.sections.seal(sync && !atomic)?;
            if atomic && (sync || !later) { state.sections.sync() } else { Ok(()) }
        })?;
        let state = self.session.take()?;
        let statistics = Statistics::are_wanted().then(|| state.statistics());
        let WriterState { sections, mut target, .. } = state;
        let (mut team, file, params, end) = sections.into_parts();
        let finish = |team: &mut Team, target: &mut Target| -> Result<(), Failure> {
            team.agree_finally(file.close())?;
            let complete = if team.rank() == 0 { target.complete(end, is_kept) } else { Ok(()) };
            let times = statistics.map(|statistics| statistics.of_writing());
            statistics::close(team, complete, &format!("{end} bytes"), times)
        };
        finish(&mut team, &mut target).map_err(|failure| {
            if team.rank() == 0 {
                target.give_up(params.mark_incomplete);
            }
            team.settle(failure)
        })
    }

    /// Closes the file on all ranks because this one cannot go on, and says why. The others get this error,
    /// which is returned, from the call they are in or from their next one that meets: a rank that leaves alone
    /// must not keep them waiting. The file is incomplete; an atomic write leaves the old one.
    pub fn abandon(mut self, why: &str) -> Error {
        self.session.fail(Error::argument(why))
    }

    /// Drops the writer as if the process were killed: writes nothing more and leaves the file as it is, an atomic
    /// write under its temporary name. Not collective. For a process that was forked off, and where the file may
    /// be another one by now.
    pub fn forget(mut self) {
        if let Ok(state) = self.session.take() {
            state.sections.leak_shared();
        }
    }

    pub(crate) fn ranks(&mut self) -> ThisRank {
        self.session.ranks()
    }

    /// Notes an error of this rank, with which all ranks fail when they next agree.
    pub(crate) fn refuse(&mut self, error: Error) {
        self.session.refuse(error);
    }

    /// Fails on all ranks with an error that this one noticed in an argument, and closes the file.
    pub(crate) fn fail(&mut self, error: Error) -> Error {
        self.session.fail(error)
    }
}
