//! Writes a file, section by section.

mod attributes;
mod calls;
mod closing;
mod commits;
mod datasets;
mod names;
mod operation;
mod output;
mod rollback;
mod sealing;
mod section_encoder;
mod sections;
#[cfg(test)]
#[path = "tests/simulation/mod.rs"]
mod simulation;
mod state;
mod streams;

pub use calls::IncrementalWriter;
pub use closing::Closing;
pub use commits::{CommitRequest, PendingRequest};
pub use datasets::DatasetBoxes;
pub use operation::Operation;
pub use section_encoder::{BoxStream, DataStream, ElementStream};
pub use state::WriterState;

use super::open::{self, WritableFile};
use super::options::{Hdf5, WriteOptions};
use super::reader::{AppendPlace, RecoveryScan, RecoveryScanner, Rollback, newest_whole, renewed_superblock};
use super::session::{OpenFile, Session};
use super::sums::{SummedFile, Sums};
use super::target::Target;
use super::team::{Failure, Function, Team, Topic, on_rank_0};
use output::{Output, Progress};
use rollback::{complete, roll_back, sync, truncate};
use scda_base::error::{Error, ErrorKind, Result};
use scda_format::hdf5::{LONG_HEADER_BYTES, SUPERBLOCK_OFFSET, reserved_section};
use scda_format::header::{UserString, file_header};
use scda_format::padding::LineBreak;
use scda_format::{FILE_HEADER_BYTES, VENDOR_STRING_BYTES, truncation};
use scda_ranks::Communicator;
use scda_storage::ParallelFile;
use sealing::Sealer;
use sections::SectionWriter;
use std::path::Path;

/// The vendor string that this library writes.
const VENDOR: &str = concat!("libscda ", env!("CARGO_PKG_VERSION"));
/// The vendor string of a file that is to be sealed, with the mark for this.
const SEALED_VENDOR: &str =
    concat!("libscda ", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"), " sealed");
const _: () = assert!(SEALED_VENDOR.len() <= VENDOR_STRING_BYTES);

/// A file that is being written.
///
/// All methods are collective unless stated otherwise: every rank calls them in the same order and with the
/// same arguments, except for the data and the sizes of its own elements. After an error, the file is closed
/// on all ranks and ends with the last complete section; further calls are errors.
///
/// Dropping a writer without [`Writer::close`] does not close the file on other ranks, and loses its buffered
/// sections; a writer that is alone writes them first. An atomic write is undone.
///
/// Small uncompressed sections are buffered and written together, so a full disk is reported by a later call,
/// at the latest by [`Writer::flush`] or [`Writer::close`]. Without [`Tuning::check`](crate::Tuning::check),
/// this holds for any error that only one rank can detect, such as data of the wrong length.
///
/// ```
/// use scda::{Encode, WriteOptions, Solo, Source, Writer};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("state.scda");
/// let mut file = Writer::create(Solo, &path, b"my simulation", &WriteOptions::default())?;
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
    /// For an existing file, the number of bytes that were removed when it was opened.
    rolled_back: Option<u64>,
}

/// A file that was opened to append, or created.
#[allow(clippy::large_enum_variant)] // there is one for a moment
enum Appendable {
    Existing(WritableFile),
    New(NewFile),
}

/// A new file.
struct NewFile {
    file: SummedFile,
    target: Target,
    sealer: Option<Sealer>,
    user: UserString,
    /// The offset after its header.
    end: u64,
}

impl NewFile {
    /// Creates a file and writes its header. Collective.
    fn create(
        team: &mut Team,
        path: &Path,
        params: &mut WriteOptions,
        user: Result<UserString>,
    ) -> Result<Self, Failure> {
        let user = user?;
        team.note_bytes(Topic::UserString, &[], &user);
        let vendor = if params.seal { SEALED_VENDOR } else { VENDOR };
        let mut header = file_header(vendor.as_bytes(), &user, params.line_break).to_vec();
        if params.seal && params.hdf5 != Hdf5::Never {
            header.extend(reserved_section(&scda_hdf5::reserved(), params.line_break));
        }
        let WritableFile { file, target, .. } = open::create(team, path, params, &header)?;
        let (sealer, sums) = match params.seal {
            true => Some(Sealer::new(team, user, &header)).unzip(),
            false => (None, None),
        };
        Ok(Self { file: SummedFile::new(file, sums), target, sealer, user, end: header.len() as u64 })
    }
}

/// Notes, at the end of a file and on stable storage, that the file is to be truncated to the seal that ends
/// at `length`. A file system may write the page at the new end to disk, with zeros in place of what is
/// removed, before it writes the new length: later seals would then still be there, and refer to damaged
/// bytes. Collective.
fn note_truncation(
    team: &mut Team,
    file: &mut dyn ParallelFile,
    size: u64,
    length: u64,
    style: LineBreak,
) -> Result<(), Failure> {
    let note = truncation::bytes(length, style);
    let mine = on_rank_0(team.rank(), || file.write_at(truncation::offset(size, length), &[&note]));
    let noted = team.agree(mine).map(drop).and_then(|()| sync(team, file));
    if noted.is_err() && !team.is_lost() {
        // Restores the file; if that fails, the next job continues where this one was to.
        let _ = file.truncate(size);
    }
    noted
}

/// Makes room for the HDF5 superblock after the header of a file of which nothing else remains. Returns the
/// end of the file. Collective.
fn lengthen_header(team: &mut Team, file: &mut dyn ParallelFile, style: LineBreak) -> Result<u64, Failure> {
    let block = reserved_section(&scda_hdf5::reserved(), style);
    // The rest is truncated first, so that after a power loss, missing parts of the block are zeros.
    truncate(team, file, FILE_HEADER_BYTES as u64)?;
    let mine = on_rank_0(team.rank(), || file.write_at(FILE_HEADER_BYTES as u64, &[&block]));
    team.agree(mine)?;
    sync(team, file)?;
    Ok(LONG_HEADER_BYTES)
}

/// Makes the HDF5 superblock that of the last view before `end`, which is the end of a seal or of the header:
/// it must never refer to what is removed next. Collective.
fn renew_superblock(team: &mut Team, file: &mut dyn ParallelFile, end: u64) -> Result<(), Failure> {
    let is_changed = on_rank_0(team.rank(), || match renewed_superblock(file, end)? {
        Some(bytes) => file.write_at(SUPERBLOCK_OFFSET, &[&bytes]).map(|()| [1]),
        None => Ok([0]),
    });
    let [is_changed] = team.share(0, is_changed)?;
    if is_changed > 0 { sync(team, file) } else { Ok(()) }
}

impl Writer {
    /// Creates a file, or empties one that exists, and writes its header (paper, section A.3).
    ///
    /// # Errors
    /// `Argument` for a user string of more than 58 bytes and for invalid parameters, and the errors of the
    /// file system.
    pub fn create(
        comm: impl Communicator + 'static,
        path: impl AsRef<Path>,
        user: &[u8],
        params: &WriteOptions,
    ) -> Result<Self> {
        create_if_valid(Box::new(comm), Ok(path.as_ref()), UserString::new(user), Ok(params.clone()))
    }

    /// Opens an existing file to append sections. Its user string and its sections do not change.
    ///
    /// If the file has a seal, writing continues after the last one, which remains valid for the part of the
    /// file before it. Sections that were not committed, because a job was killed while it appended, are
    /// removed, complete or not; [`Self::bytes_rolled_back`] returns their size. Closing seals the new
    /// sections, whatever [`WriteOptions::seal`] is.
    ///
    /// A file that was created with [`WriteOptions::seal`] and has no seal yet is truncated to its header.
    /// Any other file without a seal must be complete; with [`WriteOptions::seal`], its old sections are
    /// sealed before this returns, without decoding them, so damage in compressed data is sealed, too. The
    /// command `scda seal` decodes them first.
    ///
    /// # Errors
    /// The errors of [`Reader::open`](crate::Reader::open) and of reading the headers of an incomplete file;
    /// `Checksum` if the index of the last seal, or of the one that [`WriteOptions::append_after`] chose, is
    /// damaged; other sealed bytes are not verified. `FileInUse` if another program writes the file, and the
    /// errors of the file system. On error, the file has not changed.
    pub fn append(
        comm: impl Communicator + 'static,
        path: impl AsRef<Path>,
        params: &WriteOptions,
    ) -> Result<Self> {
        append_if_valid(Box::new(comm), Ok(path.as_ref()), Ok(None), Ok(params.clone()))
    }

    /// Opens a file as [`Self::append`] does, or creates it as [`Self::create`] does, with this user string,
    /// if there is none or if its creation was interrupted. [`Self::is_new`] tells which.
    ///
    /// With [`WriteOptions::keep`], a file that is missing, or torn so that it has no seal, is continued from
    /// the newest of the older files with one: that which [`Reader::open`](crate::Reader::open) with
    /// [`ReadOptions::keep`](crate::ReadOptions::keep) reads.
    ///
    /// # Errors
    /// The errors of [`Self::append`] and [`Self::create`]; `NoSuchFile` if the file is missing and
    /// [`WriteOptions::append_after`] or [`WriteOptions::append_record`] is set.
    pub fn append_or_create(
        comm: impl Communicator + 'static,
        path: impl AsRef<Path>,
        user: &[u8],
        params: &WriteOptions,
    ) -> Result<Self> {
        let (user, params) = (UserString::new(user).map(Some), Ok(params.clone()));
        append_if_valid(Box::new(comm), Ok(path.as_ref()), user, params)
    }

    /// The user string of the file.
    #[must_use]
    pub fn user(&self) -> &UserString {
        &self.user
    }

    /// The number of bytes that [`Self::append`] has removed: what a killed job had not sealed, and what
    /// followed the place that [`WriteOptions::append_after`] or [`WriteOptions::append_record`] chose.
    #[must_use]
    pub fn bytes_rolled_back(&self) -> u64 {
        self.rolled_back.unwrap_or(0)
    }

    /// Whether this writer has created the file. Not collective.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.rolled_back.is_none()
    }

    /// The absolute path of the file that is written, if it existed before: with [`WriteOptions::atomic`],
    /// that of its copy. `None` after an error. Not collective.
    #[must_use]
    pub fn appended(&self) -> Option<&Path> {
        self.rolled_back.and(self.session.state()).map(|state| state.target.goal())
    }

    /// Whether closing writes a seal. Always false after an error. Not collective.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.session.state().is_some_and(|state| state.sections.is_sealed())
    }

    /// The offset of the next section in the file, in bytes. `None` after an error, and while the offset is
    /// unknown because datasets are being compressed in the background ([`WriteOptions::background_bytes`]).
    /// Not collective.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        let state = self.session.state().filter(|state| state.pending.is_empty());
        state.map(|state| state.sections.end())
    }

    /// For a process that writes alone: from now on, a call that is refused because of its arguments
    /// (`Argument`, `Range` or `NotFound`), before anything of it is written, leaves the file open and unchanged;
    /// [`Self::is_open`] tells.
    ///
    /// # Errors
    /// `Usage` if there is more than one rank.
    pub fn tolerate_arguments(&mut self) -> Result<()> {
        self.session.operate(|state| {
            state.tolerant = state.sections.team().is_alone();
            let words = "tolerating arguments: only a rank that writes alone can do this";
            if state.tolerant { Ok(()) } else { Err(Error::usage(words).into()) }
        })
    }

    /// Whether the file is open, that is, closed neither by [`Self::close`] nor by an error. Not collective.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.session.state().is_some()
    }

    /// Drops the writer as if the process were killed: writes nothing more and leaves the file as it is, an
    /// atomic write under its temporary name. For a forked process, and for a file that may have been
    /// replaced. Not collective.
    pub fn forget(mut self) {
        if let Ok(state) = self.session.take() {
            state.sections.output.leak_shared();
        }
    }
}

/// Like [`Writer::create`], for arguments that may be an error of this rank.
///
/// # Errors
/// That of the arguments, and the errors of [`Writer::create`].
pub fn create_if_valid(
    comm: Box<dyn Communicator>,
    path: Result<&Path>,
    user: Result<UserString>,
    params: Result<WriteOptions>,
) -> Result<Writer> {
    let create =
        |team: &mut Team, path: &Path, params: &mut WriteOptions| NewFile::create(team, path, params, user);
    let (team, params, new) = open::if_valid(comm, Function::Create, path, params, create)?;
    Ok(of_new_file(team, params, new))
}

/// A writer for a file that was created.
fn of_new_file(team: Team, params: WriteOptions, new: NewFile) -> Writer {
    let NewFile { file, target, sealer, user, end } = new;
    let session = begin(team, file, target, params, sealer, Progress::of_new_file(end));
    Writer { session, user, rolled_back: None }
}

/// Like [`Writer::append`], or with a user string like [`Writer::append_or_create`], for arguments that may
/// be an error of this rank.
///
/// # Errors
/// That of the arguments, and the errors of [`Writer::append_or_create`].
pub fn append_if_valid(
    comm: Box<dyn Communicator>,
    path: Result<&Path>,
    user: Result<Option<UserString>>,
    params: Result<WriteOptions>,
) -> Result<Writer> {
    let append = |team: &mut Team, path: &Path, params: &mut WriteOptions| {
        let user = user?;
        if let Some(user) = &user {
            team.note_bytes(Topic::UserString, &[], user);
        }
        let wanted = params.clone();
        let failure = match open::append(team, path, params, |team, path| newest_whole(team, path, &wanted)) {
            Ok(existing) => return Ok(Appendable::Existing(existing)),
            Err(failure) => failure,
        };
        let (error, goes_back) = (team.settle(failure), !matches!(AppendPlace::of(params), AppendPlace::End));
        match user.filter(|_| error.kind() == ErrorKind::NoSuchFile && !goes_back) {
            Some(user) => Ok(Appendable::New(NewFile::create(team, path, params, Ok(user))?)),
            None => Err(Failure::Agreed(error)),
        }
    };
    match open::if_valid(comm, Function::Append, path, params, append)? {
        (team, params, Appendable::Existing(existing)) => of_existing_file(team, params, existing),
        (team, params, Appendable::New(new)) => Ok(of_new_file(team, params, new)),
    }
}

/// A writer for an existing file.
fn of_existing_file(mut team: Team, mut params: WriteOptions, existing: WritableFile) -> Result<Writer> {
    let WritableFile { mut file, mut target, size: whole } = existing;
    let (mut size, mut place) = (whole, AppendPlace::of(&params));
    let found = loop {
        let mut reading = RecoveryScanner::new(team, file, size, place.clone(), &params.tuning);
        let limited = reading.limit_memory();
        let found = scanned(&mut reading, &params);
        drop(limited);
        (team, file) = reading.into_parts();
        // Nothing changes before all ranks know where to continue.
        let ended = found.and_then(|(mut scan, seal)| {
            let may_get_superblock = params.hdf5 != Hdf5::Never && scan.may_get_superblock();
            if params.hdf5 == Hdf5::Commits && !scan.has_superblock() && !may_get_superblock {
                let words = "hdf5: the file has no room for the superblock of HDF5; scda copy --hdf5 writes a copy that has";
                return Err(Error::argument(words).into());
            }
            let (style, file) = (params.line_break, &mut *file);
            match scan.rollback.take() {
                None if may_get_superblock => Ok((None, lengthen_header(&mut team, file, style)?)),
                None => Ok((Some((scan, seal)), size)),
                Some(Rollback::Announced(new_end)) => Ok((None, complete(&mut team, file, new_end)?)),
                Some(Rollback::To(kept)) => {
                    place = AppendPlace::End;
                    if scan.has_superblock() {
                        renew_superblock(&mut team, file, kept.stays(scan.start))?;
                    }
                    Ok((None, roll_back(&mut team, file, size, kept, scan.start, style)?))
                }
            }
        });
        match ended {
            Ok((Some(found), _)) => break Ok(found),
            Ok((None, length)) => size = length,
            Err(failure) => break Err(failure),
        }
    };
    let result = found.and_then(|(scan, seal)| {
        if scan.has_superblock() && scan.is_sealed() {
            renew_superblock(&mut team, &mut *file, scan.end)?;
        }
        if scan.end < size {
            if scan.gives_up_seals() && !params.atomic {
                note_truncation(&mut team, &mut *file, size, scan.end, params.line_break)?;
            }
            truncate(&mut team, &mut *file, scan.end)?;
        }
        Ok((scan, seal))
    });
    match result {
        Ok((scan, seal)) => {
            let (end, (sealer, sums)) = (scan.end, seal.unzip());
            let file = SummedFile::new(file, sums);
            params.hdf5 = match params.hdf5 {
                // The creator of the file has decided this.
                Hdf5::Never if scan.has_superblock() => Hdf5::Close,
                wanted if scan.has_superblock() => wanted,
                _ => Hdf5::Never,
            };
            let (is_first_seal, is_copy) = (sealer.is_some() && !scan.is_sealed(), params.atomic);
            if end == whole {
                target.note_same(end);
            }
            let mut session = begin(team, file, target, params, sealer, Progress::of_whole_file(end));
            if is_first_seal {
                // If it is not committed, what is appended is removed, but not the file's previous contents.
                session.operate(|state| state.sections.seal(!is_copy, false))?;
            }
            Ok(Writer { session, user: scan.header.user, rolled_back: Some(whole.saturating_sub(end)) })
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

/// Scans a file to which sections are to be appended, and collects what its next seal must have, if it gets
/// one.
fn scanned(
    reading: &mut RecoveryScanner,
    params: &WriteOptions,
) -> Result<(RecoveryScan, Option<(Sealer, Sums)>), Failure> {
    let mut scan = reading.scan()?;
    if scan.rollback.is_some() || !params.seal && !scan.is_sealed() {
        return Ok((scan, None));
    }
    let mut sealer = Sealer::continued(&scan);
    let sums = reading.sum_up(&scan, |row, part, data, sizes| sealer.note_scanned(row, part, data, sizes))?;
    sealer.take_scanned(&mut scan);
    Ok((scan, Some((sealer, sums))))
}

/// Begins to write sections: see [`SectionWriter::new`].
fn begin(
    team: Team,
    file: SummedFile,
    target: Target,
    params: WriteOptions,
    sealer: Option<Sealer>,
    progress: Progress,
) -> Session<WriterState> {
    let is_coherent = target.is_coherent;
    let output = Output::new(team, params, file, progress);
    Session::new(WriterState::new(SectionWriter::new(output, sealer, is_coherent), target))
}

impl OpenFile for Writer {
    type State = WriterState;

    #[inline(always)]
    fn session(&mut self) -> &mut Session<WriterState> {
        &mut self.session
    }
}
