//! Opens the file of a Writer or Reader, in steps, with an agreement after each.
//!
//! The ranks first agree on the arguments. Rank 0 creates or opens the file; then one rank of each other node
//! opens it, compares its inode, and hands it to the ranks of its node. Everything that can be checked is
//! checked before `MPI_File_open`, in which one failing rank would leave the others waiting.

mod choice;
#[cfg(feature = "mpi")]
mod mpi_io;
#[cfg(not(feature = "mpi"))]
mod without_mpi;

use self::choice::{Choice, choose, inode};
use super::options::{Options, ReadOptions, Tuning, WriteOptions};
use super::target::Target;
use super::team::{FINE, Failure, Function, Team, Topic, on_rank_0, split};
use rustix::fs::OFlags;
use scda_base::error::{Error, ErrorKind, Result, quote_path};
use scda_base::memory;
use scda_base::numbers::MAX_OFFSET;
use scda_format::FILE_HEADER_BYTES;
use scda_ranks::Communicator;
use scda_ranks::hash::mix_bytes;
use scda_storage::faults::FaultyFile;
use scda_storage::file_system;
use scda_storage::handover::{self, Handover};
use scda_storage::posix::PosixFile;
use scda_storage::{Driver, ParallelFile, names};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
#[cfg(not(feature = "mpi"))]
use without_mpi as mpi_io;

/// Opens a file with `open`, unless the path or the parameters are wrong on a rank. Collective.
pub fn if_valid<O: Options, T>(
    comm: Box<dyn Communicator>,
    function: Function,
    path: Result<&Path>,
    options: Result<O>,
    open: impl FnOnce(&mut Team, &Path, &mut O) -> Result<T, Failure>,
) -> Result<(Team, O, T)> {
    let mut team = Team::new(comm, &path.as_ref().map_or(String::new(), |path| quote_path(path)));
    let open = |team: &mut Team| -> Result<_, Failure> {
        let (path, mut options) = (path?, options?);
        options.validate(function)?;
        team.note_call(function);
        team.note_bytes(Topic::FileName, &[], path.as_os_str().as_encoded_bytes());
        for (name, value) in options.values().into_iter().chain(options.tuning().values()) {
            team.note_named(Topic::Parameters, name, &[value]);
        }
        let _limited = memory::limited(options.tuning().max_memory, 0);
        let opened = open(team, path, &mut options)?;
        Ok((options, opened))
    };
    match open(&mut team) {
        Ok((options, opened)) => Ok((team, options, opened)),
        Err(failure) => Err(team.settle(failure)),
    }
}

/// A file that is open for writing.
pub(crate) struct WritableFile {
    pub file: Box<dyn ParallelFile>,
    pub target: Target,
    /// The size of the file that was found.
    pub size: u64,
}

/// What a file to be written contains when it has been opened.
enum Start<'a> {
    /// This header, and nothing else.
    New(&'a [u8]),
    /// What it has, or with [`WriteOptions::atomic`], what this older file has.
    Existing(Option<PathBuf>),
}

/// Creates the file for writing, or empties it, and writes its header at once, so that a failure is reported
/// by the call that opens it. Collective.
pub(crate) fn create(
    team: &mut Team,
    path: &Path,
    params: &mut WriteOptions,
    header: &[u8],
) -> Result<WritableFile, Failure> {
    open_to_write(team, path, params, |_, _| Ok(Start::New(header)))
}

/// Opens an existing file for reading and writing, without changing it. With [`WriteOptions::atomic`] it is a
/// copy, which [`Target::complete`] gives the name. It may be a copy of an older file: of the one that
/// `which` chooses for the name as the file system knows it. Collective.
pub(crate) fn append(
    team: &mut Team,
    path: &Path,
    params: &mut WriteOptions,
    which: impl FnOnce(&mut Team, &Path) -> Result<Option<PathBuf>, Failure>,
) -> Result<WritableFile, Failure> {
    open_to_write(team, path, params, |team, real| which(team, real).map(Start::Existing))
}

fn open_to_write<'a>(
    team: &mut Team,
    path: &Path,
    params: &mut WriteOptions,
    start: impl FnOnce(&mut Team, &Path) -> Result<Start<'a>, Failure>,
) -> Result<WritableFile, Failure> {
    // No file is changed before the ranks agree on the arguments.
    let choice = choose(team, path, &mut params.tuning, Some(&mut params.background_bytes))?;
    let start = start(team, choice.real)?;
    let mut target = Target::new(choice.real, params, choice.is_coherent);
    target.may_be_on_lustre = choice.may_be_on_lustre();
    if choice.needs_locks {
        target.write_by_locks(choice.is_nfs());
    }
    let mut nodes = 0;
    if params.atomic || matches!(start, Start::New(_)) {
        nodes = choice.nodes_on_lustre(team)?;
        target.layout = choice.layout(team, nodes, &params.tuning);
    }
    match open_on_all(team, &choice, (params, nodes), &mut target, &start) {
        Ok((file, size)) => Ok(WritableFile { file, target, size }),
        Err(failure) => {
            target.discard();
            Err(failure)
        }
    }
}

fn open_on_all(
    team: &mut Team,
    choice: &Choice<'_>,
    (params, nodes): (&mut WriteOptions, u64),
    target: &mut Target,
    start: &Start<'_>,
) -> Result<(Box<dyn ParallelFile>, u64), Failure> {
    let (rank, driver) = (team.rank(), choice.driver);
    let name = choice.name_to_write(params, target);
    let create = |goal: &Path| {
        let name = if params.atomic { goal.to_owned() } else { names::target_path(choice.real) };
        mpi_io::create(&name, choice.prefix, &params.tuning)
    };
    let first = on_rank_0(rank, || {
        choice.check_name(team, &name)?;
        Ok(Some(match start {
            Start::New(_) => target.prepare(driver, create)?,
            Start::Existing(older) => target.prepare_to_append(driver, older.as_deref())?,
        }))
    });
    let is_read = choice.needs_locks || matches!(start, Start::Existing(_));
    let (opened, size) = open_posix(team, choice, first, || target.open_again(rank, driver, is_read))?;
    let Start::New(header) = start else {
        let file = open_by_driver(team, choice, &name, params, target, opened)?;
        find_stripe(team, Ok(()), &mut params.tuning, target)?;
        return Ok((file, size));
    };
    if params.atomic && nodes > 1 {
        lock_group(team, &opened)?;
    }
    let mut file = open_by_driver(team, choice, &name, params, target, opened)?;
    let emptied = if size > 0 { empty(team, driver, &mut *file) } else { Ok(()) };
    match emptied.and_then(|()| begin(team, driver, &mut *file, params, target, header)) {
        Ok(()) => Ok((file, size)),
        Err(failure) => Err(close(team, driver, file, failure)),
    }
}

/// Agrees on `mine`, and determines the stripe size, which rank 0 has found.
fn find_stripe(
    team: &mut Team,
    mine: Result<()>,
    tuning: &mut Tuning,
    target: &Target,
) -> Result<(), Failure> {
    let mut block = [if team.rank() == 0 { target.block_bytes.min(FINE) } else { FINE }];
    team.agree_with(mine, &mut block)?;
    tuning.find_stripe(block[0]);
    Ok(())
}

/// Removes the contents of a file once all ranks have found it, so that nothing is lost if they fail earlier.
/// On ext4, truncating costs a write-back at close even if the file is empty.
fn empty(team: &mut Team, driver: Driver, file: &mut dyn ParallelFile) -> Result<(), Failure> {
    team.agree(Ok(()))?;
    if driver == Driver::MpiIo {
        // With ROMIO's NFS driver, every rank would truncate the file without waiting for the others, and the
        // header would be lost.
        let truncated = file.truncate(0);
        team.agree(truncated)?;
    } else if team.rank() == 0 {
        let truncated = file.truncate(0);
        team.defer(truncated);
    }
    Ok(())
}

/// Opens the file, which this rank has open for writing, with the driver.
fn open_by_driver(
    team: &mut Team,
    choice: &Choice<'_>,
    name: &Path,
    params: &WriteOptions,
    target: &mut Target,
    opened: PosixFile,
) -> Result<Box<dyn ParallelFile>, Failure> {
    let file = match choice.driver {
        Driver::MpiIo => {
            let left = target.leave_to_mpi_io(opened);
            team.agree(left)?;
            let rank = team.rank();
            let check_name = || on_rank_0(rank, || target.check_name());
            mpi_io::open(team, name, choice.prefix, &params.tuning, mpi_io::Access::ReadWrite, check_name)?
        }
        _ => Box::new(opened),
    };
    Ok(with_faults(team, &params.tuning, file))
}

/// Writes the file header, and determines the stripes.
fn begin(
    team: &mut Team,
    driver: Driver,
    file: &mut dyn ParallelFile,
    params: &mut WriteOptions,
    target: &Target,
    header: &[u8],
) -> Result<(), Failure> {
    let is_synced = is_header_synced(params);
    let mine = on_rank_0(team.rank(), || {
        file.write_at(0, &[header])?;
        if is_synced && driver != Driver::MpiIo { file.sync_alone() } else { Ok(()) }
    });
    find_stripe(team, mine, &mut params.tuning, target)?;
    if is_synced && driver == Driver::MpiIo {
        let synced = file.sync();
        team.agree(synced)?;
    }
    Ok(())
}

/// Closes a file after an error.
fn close(team: &mut Team, driver: Driver, file: Box<dyn ParallelFile>, failure: Failure) -> Failure {
    // With MPI-IO, closing is collective.
    let failure = if driver == Driver::MpiIo { Failure::Agreed(team.settle(failure)) } else { failure };
    let _ = file.close();
    failure
}

/// Whether the header of a new file is brought to stable storage before anything follows it. A file to be
/// sealed needs this, so that its header is either complete or all that was written (`Target::check_begun`).
/// A part file counts only with its seal.
fn is_header_synced(params: &WriteOptions) -> bool {
    params.seal && !params.atomic
}

/// Opens a file for reading: the one that `which` chooses for the name as the file system knows it. Returns
/// its ends, and the result of `examine`, which rank 0 calls with the file and its size. Collective.
pub fn open(
    team: &mut Team,
    path: &Path,
    params: &mut ReadOptions,
    which: impl FnOnce(&mut Team, &Path, &ReadOptions) -> Result<PathBuf, Failure>,
    examine: impl FnOnce(&mut dyn ParallelFile, u64) -> Result<Ends>,
) -> Result<(Box<dyn ParallelFile>, Ends), Failure> {
    let choice = choose(team, path, &mut params.tuning, None)?;
    let real = which(team, choice.real, params)?;
    // Without NONBLOCK, opening a pipe would wait for a writer.
    let open = || {
        if !choice.is_coherent {
            file_system::look_again(&real);
        }
        PosixFile::open(&real, OFlags::RDONLY | OFlags::NONBLOCK)
    };
    let first = on_rank_0(team.rank(), || open().and_then(PosixFile::regular).map(Some));
    let (opened, size) = open_posix(team, &choice, first, open)?;
    let is_first = team.rank() == 0;
    let block = if is_first { opened.block_bytes(choice.may_be_on_lustre()).unwrap_or(0) } else { 0 };
    let mut file = with_faults(team, &params.tuning, Box::new(opened));
    let found = if is_first { examine(&mut *file, size) } else { Ok(Ends::all(size)) };
    let (seen, found) = match choice.driver {
        Driver::MpiIo => (None, found.and_then(|ends| file.close().map(|()| ends))),
        _ => (Some(file), found),
    };
    let (ends, mine) = split(found);
    let [bytes, read, sections, first] = ends.words();
    // At most four numbers can be shared, so two are packed into one: only a few bits of a block matter.
    let words = [bytes, read, sections, block.min(MAX_OFFSET / 1024) * 1024 + first];
    let [bytes, read, sections, packed] = team.share(0, mine.map(|()| words))?;
    let (block, first) = (packed / 1024, packed % 1024);
    params.tuning.find_stripe(block);
    let file = match choice.driver {
        Driver::MpiIo => {
            let file =
                mpi_io::open(team, &real, choice.prefix, &params.tuning, mpi_io::Access::Read, || Ok(()))?;
            with_faults(team, &params.tuning, file)
        }
        _ => seen.ok_or_else(lost)?,
    };
    Ok((file, Ends::of([bytes, read, sections, first], ends.seal)))
}

/// Where the parts of a file end, in bytes from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The size of the file.
    pub file: u64,
    /// The end of the readable part: after the last seal if only committed data are read.
    pub read: u64,
    /// The end of the sections; only seals follow.
    pub sections: u64,
    /// The beginning of the first section.
    pub first: u64,
    /// On rank 0, the checksum of the seal at the end of the readable part, or 0 if there is none. On other
    /// ranks 0.
    pub seal: u64,
}

impl Ends {
    /// For a file that is read completely.
    pub fn all(size: u64) -> Self {
        Self { file: size, read: size, sections: size, first: FILE_HEADER_BYTES as u64, seal: 0 }
    }

    /// As words, to be sent to all ranks.
    pub fn words(self) -> [u64; 4] {
        [self.file, self.read, self.sections, self.first]
    }

    /// See [`Self::words`]; `seal` is the value of this rank.
    pub fn of([file, read, sections, first]: [u64; 4], seal: u64) -> Self {
        Self { file, read, sections, first, seal }
    }

    /// Returns an error if the readable part ends before `end`.
    pub fn check(self, what: &str, offset: u64, end: u64) -> Result<()> {
        if end <= self.read { Ok(()) } else { Err(truncated(what, offset, end, self.read)) }
    }
}

/// The error for a file that ends before `end`.
#[cold]
pub fn truncated(what: &str, offset: u64, end: u64, file_size: u64) -> Error {
    Error::short_file(what, end, file_size).at(offset)
}

/// Wraps the file if faults are to be injected.
pub fn with_faults(team: &Team, tuning: &Tuning, file: Box<dyn ParallelFile>) -> Box<dyn ParallelFile> {
    match tuning.faults {
        Some(faults) => Box::new(FaultyFile::new(file, faults, team.rank())),
        None => file,
    }
}

/// Opens the same file as rank 0: one rank of each node opens it, and hands it to the others of its node
/// (`scda_storage::handover`). Returns also the size that rank 0 finds. The same name does not suffice,
/// because nodes may have different file systems. With MPI-IO, every rank opens the file this way before
/// MPI-IO opens it by name: MPI-IO would wait for a rank that does not see the file, and write to several
/// files if the ranks see different ones.
fn open_posix(
    team: &mut Team,
    choice: &Choice<'_>,
    first: Result<Option<PosixFile>>,
    mut open: impl FnMut() -> Result<PosixFile>,
) -> Result<(PosixFile, u64), Failure> {
    let (mut first, mine) = split(first);
    let mine = match &mut first {
        Some(file) if !team.is_alone() && file.is_locked() => mine.and_then(|()| file.share_lock(0)),
        _ => mine,
    };
    let is_handed_over = choice.driver != Driver::MpiIo && !team.is_alone();
    // Ranks in other working folders may mean another file, so they open it themselves.
    let name = std::path::absolute(choice.real).unwrap_or_default();
    let place = mix_bytes(team.node(), name.as_os_str().as_encoded_bytes());
    let handover = |number| if is_handed_over { Handover::of(number, place) } else { Handover::Alone };
    let number = handover::number();
    // The others of its node connect to rank 0, which has the file open.
    let own = first.is_some().then(|| handover(number));
    let words = |file: &PosixFile| {
        let status = file.status()?;
        Ok([inode(&status), choice.owner(&status), number, status.size])
    };
    let known = mine.and_then(|()| first.as_ref().map_or(Ok([0; 4]), words));
    let [first_inode, owner, number, size] = team.share(0, known)?;
    let handover = own.unwrap_or_else(|| handover(number));
    let with_cache = |mut file: PosixFile| {
        if choice.driver != Driver::MpiIo && choice.system.is_some_and(|system| system.is_exact_by_locks) {
            file.cache_apart();
        }
        if choice.needs_locks {
            file.write_exactly()?;
        }
        Ok(file)
    };
    let mut open = || {
        let patience = |error: &Error| match error.kind() {
            _ if choice.is_coherent || choice.is_one_node => Duration::ZERO,
            ErrorKind::NoSuchFile => NAME_CACHE,
            ErrorKind::BadFile => FILE_CACHE,
            _ => Duration::ZERO,
        };
        let opened = open_when_seen(patience, || {
            let file = open()?;
            choice.check_same(&file.first_status()?, first_inode, owner)?;
            Ok(file)
        });
        let file = opened.map_err(|error| match error.kind() {
            // The job must not conclude that the file is missing, and write it anew.
            ErrorKind::NoSuchFile => {
                Error::new(ErrorKind::BadFile, "open: this rank does not see the file that rank 0 has opened")
            }
            _ => error,
        })?;
        with_cache(file)
    };
    let (file, mine) = split(match first {
        Some(file) => with_cache(file).map(Some),
        None if handover.takes() => Ok(None),
        None => open().map(Some),
    });
    // By now, every rank that takes the file from another has connected. As long as only one node has it
    // open, an NFS server may delegate writing whole pages to that node in spite of its lock (a write
    // delegation), so nothing is written before this.
    team.agree(mine)?;
    let file = match file {
        Some(file) => {
            handover.give(&file);
            file
        }
        None => handover.take().map_or_else(open, with_cache)?,
    };
    Ok((file, size))
}

/// Takes Lustre's group lock on all ranks or on none: a rank without it would wait until the others close the
/// file. A part file is opened by nobody else, who would have to wait.
fn lock_group(team: &mut Team, file: &PosixFile) -> Result<(), Failure> {
    let is_locked = file.lock_group();
    let mut all = [1 + u64::from(is_locked)];
    team.agree_with(Ok(()), &mut all)?;
    if is_locked && all == [1] {
        file.unlock_group();
    }
    Ok(())
}

/// Opens a file that another node has opened or created. After an error, tries again for the time that
/// `patience` returns: this node may remember that there was no such name, or which file had it.
fn open_when_seen(
    patience: impl Fn(&Error) -> Duration,
    mut open: impl FnMut() -> Result<PosixFile>,
) -> Result<PosixFile> {
    let (began, mut pause) = (Instant::now(), Duration::from_millis(10));
    loop {
        match open() {
            Err(error) if began.elapsed() < patience(&error) => {
                std::thread::sleep(pause);
                pause = (2 * pause).min(Duration::from_secs(1));
            }
            opened => return opened,
        }
    }
}

/// How long NFS may remember that a name was not there: `acdirmax`, by default.
const NAME_CACHE: Duration = Duration::from_secs(60);

/// How long a node may remember the file that had a name before: FUSE, and with it GlusterFS, for a second by
/// default.
const FILE_CACHE: Duration = Duration::from_secs(3);

/// The error for an impossible state: no rank reported an error, but this one has no file.
fn lost() -> Error {
    Error::new(ErrorKind::Internal, "an error of opening was lost")
}

#[cfg(test)]
mod tests;
