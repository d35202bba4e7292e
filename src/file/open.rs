//! Opens the file of a Writer or Reader, in steps, with an agreement after each.
//!
//! The ranks first agree on the arguments. Rank 0 creates or opens the file; then one rank of each other node opens
//! it, compares its inode, and hands it to the ranks of its node. Everything that can be checked is checked before
//! `MPI_File_open`, in which a failing rank would leave the others waiting.

#[cfg(feature = "mpi")]
mod mpi_io;
#[cfg(not(feature = "mpi"))]
mod without_mpi;

use super::options::{MostThreads, Options, ReadOptions, Tuning, WriteOptions};
use super::target::Target;
use super::team::{FINE, Failure, Function, MOST_WORDS, Team, Topic, split};
use rustix::fs::OFlags;
use scda_base::environment::{Environment, Io};
use scda_base::error::{Error, ErrorKind, Result, quote_path};
use scda_base::memory;
use scda_base::numbers::MAX_OFFSET;
use scda_format::FILE_HEADER_BYTES;
use scda_ranks::hash::{mix, mix_bytes};
use scda_ranks::{Communicator, machine};
use scda_storage::faults::FaultyFile;
use scda_storage::file_system::{self, FileSystem, Status};
use scda_storage::handover::{self, Handover};
use scda_storage::lustre::{self, Layout, LayoutRequest};
use scda_storage::posix::PosixFile;
use scda_storage::{Driver, ParallelFile, names};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
#[cfg(not(feature = "mpi"))]
use without_mpi as mpi_io;

/// Opens a file by `open`, if neither the path nor the parameters are wrong on any rank. Collective.
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
        team.note_bytes(Topic::FileName, path.as_os_str().as_encoded_bytes());
        team.note_counts(Topic::Parameters, &options.words());
        let _limited = memory::limited(options.tuning().max_memory, 0);
        let opened = open(team, path, &mut options)?;
        Ok((options, opened))
    };
    match open(&mut team) {
        Ok((options, opened)) => Ok((team, options, opened)),
        Err(failure) => Err(team.settle(failure)),
    }
}

/// Creates the file for writing, or empties it, and writes its header at once, so that a failure is an error of
/// opening. Collective.
pub fn create(
    team: &mut Team,
    path: &Path,
    params: &mut WriteOptions,
    header: &[u8],
) -> Result<(Box<dyn ParallelFile>, Target), Failure> {
    // No file is changed before the ranks agree on the arguments.
    let choice = choose(team, path, &mut params.tuning, Some(&mut params.background_bytes))?;
    let mut target = Target::new(choice.real, params, choice.is_coherent);
    target.open_to_read(choice.needs_locks);
    let nodes = choice.nodes_on_lustre(team)?;
    target.set_layout(choice.layout(team, nodes, &params.tuning));
    match create_on_all(team, &choice, (params, nodes), &mut target, header) {
        Ok(file) => Ok((file, target)),
        Err(failure) => {
            target.discard();
            Err(failure)
        }
    }
}

fn create_on_all(
    team: &mut Team,
    choice: &Choice<'_>,
    (params, nodes): (&mut WriteOptions, u64),
    target: &mut Target,
    header: &[u8],
) -> Result<Box<dyn ParallelFile>, Failure> {
    let driver = choice.driver;
    let name = choice.name_to_write(params, target);
    let create = |goal: &Path| {
        let name = if params.atomic { goal.to_owned() } else { names::target_path(choice.real) };
        mpi_io::create(&name, choice.prefix, &params.tuning)
    };
    let first = match team.rank() {
        0 => choice.check_name(team, &name).and_then(|()| target.prepare(driver, create)).map(Some),
        _ => Ok(None),
    };
    let rank = team.rank();
    let (opened, size) =
        open_posix(team, choice, first, || target.open_again(rank, driver, choice.needs_locks))?;
    if params.atomic && nodes > 1 {
        lock_group(team, &opened)?;
    }
    let mut file = open_by_driver(team, choice, &name, params, target, opened)?;
    let emptied = if size > 0 { empty(team, driver, &mut *file) } else { Ok(()) };
    match emptied.and_then(|()| begin(team, driver, &mut *file, params, target, header)) {
        Ok(()) => Ok(file),
        Err(failure) => Err(close(team, driver, file, failure)),
    }
}

/// Removes what a file holds, when all ranks have found that file, so that nothing is lost otherwise. Truncating costs, on ext4 a
/// write-back at close, even where there is nothing to truncate.
fn empty(team: &mut Team, driver: Driver, file: &mut dyn ParallelFile) -> Result<(), Failure> {
    team.agree(Ok(()))?;
    if driver == Driver::MpiIo {
        // ROMIO's driver for NFS has each rank truncate the file, and none wait: the header would be lost.
        let truncated = file.truncate(0);
        team.agree(truncated)?;
    } else if team.rank() == 0 {
        let truncated = file.truncate(0);
        team.defer(truncated);
    }
    Ok(())
}

/// The file to be written that this rank has open, as the driver has it.
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
            let is_first = team.rank() == 0;
            let check_name = || if is_first { target.check_name() } else { Ok(()) };
            mpi_io::open(team, name, choice.prefix, &params.tuning, mpi_io::Access::ReadWrite, check_name)?
        }
        _ => Box::new(opened),
    };
    Ok(with_faults(team, &params.tuning, file))
}

/// Writes the header of a file, and finds its stripes.
fn begin(
    team: &mut Team,
    driver: Driver,
    file: &mut dyn ParallelFile,
    params: &mut WriteOptions,
    target: &Target,
    header: &[u8],
) -> Result<(), Failure> {
    let is_first = team.rank() == 0;
    let mut mine = if is_first { file.write_at(0, &[header]) } else { Ok(()) };
    let is_synced = is_header_synced(params);
    if driver != Driver::MpiIo && is_first && is_synced {
        mine = mine.and_then(|()| file.sync());
    }
    let mut block = [if is_first { target.block_bytes().min(FINE) } else { FINE }];
    team.agree_with(mine, &mut block)?;
    params.tuning.find_stripe(block[0]);
    if driver == Driver::MpiIo && is_synced {
        let synced = file.sync();
        team.agree(synced)?;
    }
    Ok(())
}

/// Closes a file after an error.
fn close(team: &mut Team, driver: Driver, file: Box<dyn ParallelFile>, failure: Failure) -> Failure {
    // With MPI-IO all ranks close it together.
    let failure = if driver == Driver::MpiIo { Failure::Agreed(team.settle(failure)) } else { failure };
    let _ = file.close();
    failure
}

/// Whether the header of a new file is brought to stable storage before anything follows it: so a file that is to be sealed has all
/// of its header, or nothing but its header is missing (`Target::check_begun`). A part file is nothing without its seal.
fn is_header_synced(params: &WriteOptions) -> bool {
    params.seal && !params.atomic
}

/// Opens the file for reading: the one that `which` finds for the name as the file system knows it. Tells its size, and what
/// `examine` finds on rank 0, which gets the file and its size. Collective.
pub fn open(
    team: &mut Team,
    path: &Path,
    params: &mut ReadOptions,
    which: impl FnOnce(&mut Team, &Path, &ReadOptions) -> Result<PathBuf, Failure>,
    examine: impl FnOnce(&mut dyn ParallelFile, u64) -> Result<Ends>,
) -> Result<(Box<dyn ParallelFile>, Ends), Failure> {
    let choice = choose(team, path, &mut params.tuning, None)?;
    let real = which(team, choice.real, params)?;
    // NONBLOCK: opening a pipe would wait for a writer.
    let open = || {
        if !choice.is_coherent {
            file_system::look_again(&real);
        }
        PosixFile::open(&real, OFlags::RDONLY | OFlags::NONBLOCK)
    };
    let first = if team.rank() == 0 { open().and_then(PosixFile::regular).map(Some) } else { Ok(None) };
    let (opened, size) = open_posix(team, &choice, first, open)?;
    let is_first = team.rank() == 0;
    let block = if is_first { opened.block_bytes().unwrap_or(0) } else { 0 };
    let mut file = with_faults(team, &params.tuning, Box::new(opened));
    let found = if is_first { examine(&mut *file, size) } else { Ok(Ends::all(size)) };
    let (seen, found) = match choice.driver {
        Driver::MpiIo => (None, found.and_then(|ends| file.close().map(|()| ends))),
        _ => (Some(file), found),
    };
    let (ends, mine) = split(found);
    let [bytes, read, sections, first] = ends.words();
    // Four numbers are shared at most; of a block, few bits count.
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

/// A file that existed before, open for reading and writing.
pub(crate) struct ExistingFile {
    pub file: Box<dyn ParallelFile>,
    pub target: Target,
    pub size: u64,
}

/// Opens a file that exists for reading and writing, as it is. With [`WriteOptions::atomic`] that is a copy of it, which
/// [`Target::complete`] gives its name, and which may be that of an older file: what `which` finds for the name as the file system knows
/// it. Collective.
pub(crate) fn append(
    team: &mut Team,
    path: &Path,
    params: &mut WriteOptions,
    which: impl FnOnce(&mut Team, &Path) -> Result<Option<PathBuf>, Failure>,
) -> Result<ExistingFile, Failure> {
    let choice = choose(team, path, &mut params.tuning, Some(&mut params.background_bytes))?;
    let older = which(team, choice.real)?;
    let mut target = Target::new(choice.real, params, choice.is_coherent);
    target.open_to_read(choice.needs_locks);
    if params.atomic {
        let nodes = choice.nodes_on_lustre(team)?;
        target.set_layout(choice.layout(team, nodes, &params.tuning));
    }
    match append_on_all(team, &choice, params, &mut target, older.as_deref()) {
        Ok((file, size)) => Ok(ExistingFile { file, target, size }),
        Err(failure) => {
            target.discard();
            Err(failure)
        }
    }
}

fn append_on_all(
    team: &mut Team,
    choice: &Choice<'_>,
    params: &mut WriteOptions,
    target: &mut Target,
    older: Option<&Path>,
) -> Result<(Box<dyn ParallelFile>, u64), Failure> {
    let driver = choice.driver;
    let is_first = team.rank() == 0;
    let name = choice.name_to_write(params, target);
    let first = match is_first {
        true => {
            choice.check_name(team, &name).and_then(|()| target.prepare_to_append(driver, older)).map(Some)
        }
        false => Ok(None),
    };
    let rank = team.rank();
    let (opened, size) = open_posix(team, choice, first, || target.open_again(rank, driver, true))?;
    let file = open_by_driver(team, choice, &name, params, target, opened)?;
    let mut block = [if is_first { target.block_bytes().min(FINE) } else { FINE }];
    team.agree_with(Ok(()), &mut block)?;
    params.tuning.find_stripe(block[0]);
    Ok((file, size))
}

/// Where a file ends, in bytes from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The bytes of the file.
    pub file: u64,
    /// Those that are read: up to the last seal, if nothing else is committed.
    pub read: u64,
    /// Where the sections end: from there on there are only seals.
    pub sections: u64,
    /// Where the first section begins.
    pub first: u64,
    /// Rank 0: the checksum of the seal that ends what is read; 0 if there is none. On other ranks 0.
    pub seal: u64,
}

impl Ends {
    /// Those of a file that is read as it is.
    pub fn all(size: u64) -> Self {
        Self { file: size, read: size, sections: size, first: FILE_HEADER_BYTES as u64, seal: 0 }
    }

    /// For all ranks.
    pub fn words(self) -> [u64; 4] {
        [self.file, self.read, self.sections, self.first]
    }

    /// See [`Self::words`]; `seal` is what this rank knows.
    pub fn of([file, read, sections, first]: [u64; 4], seal: u64) -> Self {
        Self { file, read, sections, first, seal }
    }

    /// An error if what is read ends before `end`.
    pub fn check(self, what: &str, offset: u64, end: u64) -> Result<()> {
        if end <= self.read { Ok(()) } else { Err(cut_off(what, offset, end, self.read)) }
    }
}

/// The file ends before `end`.
#[cold]
pub fn cut_off(what: &str, offset: u64, end: u64, file_size: u64) -> Error {
    Error::short_file(what, end, file_size).at(offset)
}

/// Wraps the file if faults are to be injected.
pub fn with_faults(team: &Team, tuning: &Tuning, file: Box<dyn ParallelFile>) -> Box<dyn ParallelFile> {
    match tuning.faults {
        Some(faults) => Box::new(FaultyFile::new(file, faults, team.rank())),
        None => file,
    }
}

/// Whether a file can be opened with MPI-IO.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MpiIo {
    /// There is no MPI.
    Absent,
    There,
    /// Hints ask for it.
    AskedFor,
}

impl MpiIo {
    fn of(team: &Team, tuning: &Tuning) -> Self {
        #[cfg(feature = "mpi")]
        let (has_mpi, has_hints) = (team.as_mpi().is_some(), !tuning.hints.is_none());
        #[cfg(not(feature = "mpi"))]
        let (has_mpi, has_hints) = (team.size() == 0, tuning.threads == 0);
        match () {
            () if !has_mpi => Self::Absent,
            () if has_hints => Self::AskedFor,
            () => Self::There,
        }
    }
}

/// How a file is opened.
struct Choice<'a> {
    driver: Driver,
    /// Whether every rank finds its file system coherent between nodes, and the environment does not deny it. Where it only says so,
    /// locks and names are still those of another one.
    is_coherent: bool,
    /// Whether all ranks are on one node.
    is_one_node: bool,
    /// Whether several nodes write by POSIX where that is right with a lock on each of them alone.
    needs_locks: bool,
    /// Whether every rank finds Lustre, which POSIX is to write.
    is_lustre: bool,
    /// Rank 0: the number of stripes of a new file that the environment asks for; 0: none.
    stripe_count: u64,
    /// What this rank finds.
    system: Option<FileSystem>,
    /// Whether the file is written.
    writes: bool,
    /// Its name as the file system knows it.
    real: &'a Path,
    /// What the program has put before it for ROMIO.
    prefix: &'a OsStr,
}

/// The driver that is used: rank 0 decides, and where it leaves that to the file system, every rank must
/// find it coherent. Rank 0 also decides whether the ranks agree in every call, and on stripes and their writers. With it the
/// ranks agree for the first time, on what is to be opened, and find the greatest number of their threads. A file that is written has memory
/// for doing so in the background.
fn choose<'a>(
    team: &mut Team,
    path: &'a Path,
    tuning: &mut Tuning,
    background: Option<&mut u64>,
) -> Result<Choice<'a>, Failure> {
    let (writes, asked) = (background.is_some(), background.as_deref().copied().unwrap_or(0));
    let threads = FINE - tuning.threads as u64;
    let mut words = [FINE; MOST_WORDS];
    // A malformed variable is an error on a rank that is not asked, too.
    let environment = Environment::read();
    let stripe_count = environment.as_ref().map_or(0, |environment| environment.stripe_count);
    let mine = if team.rank() == 0 {
        environment
            .and_then(|environment| wanted((tuning, asked), &environment, MpiIo::of(team, tuning)))
            .map(|DriverChoice { driver, is_coherent, check, writers, stripe_bytes, background_bytes }| {
                let driver = match driver {
                    Driver::Posix => 0,
                    Driver::MpiIo => 1,
                    Driver::Auto => 2,
                };
                let said = is_coherent.map_or(2, u64::from);
                let packed = driver + 4 * said + 16 * u64::from(check);
                words[..4].copy_from_slice(&[packed, writers, stripe_bytes, background_bytes]);
            })
    } else {
        environment.map(drop)
    };
    let node = team.node() & FINE;
    words[5..].copy_from_slice(&[threads, node, FINE - node]);
    let system = FileSystem::of(path).or_else(|_| FileSystem::of(names::without_romio_prefix(path)));
    // Where no folder is, no driver opens a file: the error is that of opening it.
    words[4] = match &system {
        Ok(system) if system.name == Some(file_system::LUSTRE) => LUSTRE,
        Ok(system) if system.is_coherent => COHERENT,
        Ok(system) => BY_LOCKS * u64::from(system.is_exact_by_locks),
        Err(error) => COHERENT * u64::from(error.kind() == ErrorKind::NoSuchFile),
    };
    team.agree_with(mine, &mut words)?;
    let [packed, writers, stripe, found, sharing, threads, node, other] = words;
    let (driver, said, check) = (packed % 4, packed / 4 % 4, packed / 16);
    tuning.most_threads = MostThreads(FINE - threads);
    (tuning.check, tuning.writers_per_node, tuning.stripe_bytes) = (check == 1, writers, stripe);
    if tuning.check {
        team.tell_waits(|words| eprintln!("{words}"));
    }
    let is_one_node = node == FINE - other;
    let posix = Posix::of(sharing, said, is_one_node);
    let is_posix = driver == 0 || driver == 2 && posix != Posix::WholePages;
    let system = system.ok();
    if is_posix {
        if writes && posix == Posix::WholePages {
            return Err(writes_whole_pages(system).into());
        }
        if let Some(bytes) = background {
            *bytes = found;
        }
    } else if asked > 0 {
        let words = "background_bytes: only the POSIX driver can write in the background, not MPI-IO";
        return Err(Error::argument(words).into());
    }
    let is_asked = driver == 1;
    let driver = if is_posix { Driver::Posix } else { Driver::MpiIo };
    // A program that asks for MPI-IO means by a name what MPI-IO does. No other name has a prefix.
    let real = if driver == Driver::MpiIo && is_asked { mpi_io::real_path(path) } else { path };
    let prefix = names::romio_prefix(path, real);
    let is_lustre = sharing == LUSTRE && is_posix;
    let is_coherent = sharing >= COHERENT && said != 0;
    let needs_locks = is_posix && writes && posix == Posix::WithLocks;
    Ok(Choice {
        driver,
        is_coherent,
        is_one_node,
        needs_locks,
        is_lustre,
        stripe_count,
        system,
        writes,
        real,
        prefix,
    })
}

/// What all ranks find of the file system, in the words of their agreement: the least counts.
const BY_LOCKS: u64 = 1;
const COHERENT: u64 = 2;
const LUSTRE: u64 = 3;

/// What POSIX does when all ranks write to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Posix {
    /// It writes what it is told to.
    Exact,
    /// It does so as long as each node has a lock.
    WithLocks,
    /// Nodes overwrite each other's bytes in a page.
    WholePages,
}

impl Posix {
    /// `sharing` is what all ranks find; `said` is what the environment says: 0, 1, or 2 for nothing.
    fn of(sharing: u64, said: u64, is_one_node: bool) -> Self {
        match (sharing, said) {
            // One node has one cache.
            _ if is_one_node => Self::Exact,
            (_, 1) | (COHERENT.., 2) => Self::Exact,
            (BY_LOCKS, _) => Self::WithLocks,
            _ => Self::WholePages,
        }
    }
}

/// The error where ranks on several nodes would write by POSIX, and each node writes whole pages, with what it knows of them.
fn writes_whole_pages(system: Option<FileSystem>) -> Error {
    let name = system.and_then(|system| system.name).unwrap_or("a file system of an unknown kind");
    Error::argument(format!(
        "driver: found POSIX on {name} with ranks on several nodes: each node writes whole pages, so that neighbours in a page \
         overwrite each other; use MPI-IO, or say by SCDA_COHERENT=1 that all nodes see at once what any of them writes"
    ))
}

/// The choice of rank 0.
struct DriverChoice {
    /// `Auto` if the file system decides.
    driver: Driver,
    /// What is said of the file system.
    is_coherent: Option<bool>,
    /// Whether the ranks agree in every call.
    check: bool,
    /// The writers of a node.
    writers: u64,
    stripe_bytes: u64,
    /// Memory for writing in the background.
    background_bytes: u64,
}

/// What is wanted by parameters, or else by the environment of rank 0.
fn wanted(
    (tuning, background_bytes): (&Tuning, u64),
    environment: &Environment,
    mpi_io: MpiIo,
) -> Result<DriverChoice> {
    let driver = match tuning.driver {
        Driver::MpiIo if mpi_io == MpiIo::Absent => {
            return Err(Error::argument("driver: MPI-IO needs MPI, which is not there"));
        }
        Driver::Auto if mpi_io == MpiIo::Absent => Driver::Posix,
        Driver::Auto if mpi_io == MpiIo::AskedFor => Driver::MpiIo,
        Driver::Auto => match environment.io {
            Some(Io::Mpi) => Driver::MpiIo,
            Some(Io::Posix) => Driver::Posix,
            None => Driver::Auto,
        },
        driver => driver,
    };
    let or = |value: u64, otherwise: u64| if value == 0 { otherwise } else { value };
    Ok(DriverChoice {
        driver,
        is_coherent: environment.coherent,
        check: tuning.check || environment.check == Some(true),
        writers: or(tuning.writers_per_node, environment.writers_per_node),
        stripe_bytes: or(tuning.stripe_bytes, environment.stripe_bytes),
        background_bytes: or(background_bytes, environment.background_bytes),
    })
}

/// The file that rank 0 has opened, and on the other ranks the same one: on each node one rank opens it, from which the others get it
/// (`scda_storage::handover`). On nodes of different file systems the same name is not enough. With the size that rank 0 finds. With
/// MPI-IO, each rank opens it, before MPI-IO does so by its name: that would wait for a rank that does not see it, and write to as many
/// files as there are.
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
    // Ranks in other folders may mean another file: these open it themselves.
    let name = std::path::absolute(choice.real).unwrap_or_default();
    let place = mix_bytes(team.node(), name.as_os_str().as_encoded_bytes());
    let handover = |number| if is_handed_over { Handover::of(number, place) } else { Handover::Alone };
    let number = handover::number();
    // The others of its node connect to rank 0, which has it open.
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
        let patience = if choice.is_coherent || choice.is_one_node { Duration::ZERO } else { NAME_CACHE };
        let file = open_when_seen(patience, &mut open).map_err(|error| match error.kind() {
            // The job must not take it for missing, and write it anew.
            ErrorKind::NoSuchFile => {
                Error::new(ErrorKind::BadFile, "open: this rank does not see the file that rank 0 has opened")
            }
            _ => error,
        })?;
        choice.check_same(&file.first_status()?, first_inode, owner)?;
        with_cache(file)
    };
    let (file, mine) = split(match first {
        Some(file) => with_cache(file).map(Some),
        None if handover.takes() => Ok(None),
        None => open().map(Some),
    });
    // Whoever takes the file has connected by now. And as long as one node alone has it open, the server of NFS may leave whole pages to
    // that node in spite of its lock (a write delegation): so nothing is written before.
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

/// Takes Lustre's group lock on all ranks, or on none: a rank without it would wait for the others until they close the file. Nobody else
/// looks into a part file, and waits for them.
fn lock_group(team: &mut Team, file: &PosixFile) -> Result<(), Failure> {
    let is_locked = file.lock_group();
    let mut all = [1 + u64::from(is_locked)];
    team.agree_with(Ok(()), &mut all)?;
    if is_locked && all == [1] {
        file.unlock_group();
    }
    Ok(())
}

/// The inode of a file. Devices have none to compare.
fn inode(status: &Status) -> u64 {
    if status.is_regular { status.identity.inode } else { 0 }
}

impl Choice<'_> {
    /// The name by which the file is written: as the program has it, which may be shorter than the absolute path of a part file.
    fn name_to_write(&self, params: &WriteOptions, target: &Target) -> PathBuf {
        if params.atomic { target.goal() } else { self.real }.to_owned()
    }

    /// On Lustre, the number of nodes that write the file; 0 elsewhere.
    fn nodes_on_lustre(&self, team: &mut Team) -> Result<u64, Failure> {
        if !self.is_lustre {
            return Ok(0);
        }
        let node = Ok(team.node());
        let nodes: BTreeSet<u64> = team.gather(node)?.into_iter().collect();
        Ok(nodes.len() as u64)
    }

    /// Rank 0: the layout of a new file.
    fn layout(&self, team: &Team, nodes: u64, tuning: &Tuning) -> Option<Layout> {
        let count = if tuning.stripe_count == 0 { self.stripe_count } else { tuning.stripe_count };
        let wanted = LayoutRequest { count, bytes: tuning.stripe_bytes };
        if self.is_lustre && team.rank() == 0 { lustre::layout_for(self.real, nodes, wanted) } else { None }
    }

    /// Checks before anything is changed that MPI-IO, if it is used, can take a name.
    fn check_name(&self, team: &Team, name: &Path) -> Result<()> {
        match self.driver {
            Driver::MpiIo => mpi_io::check_name(name, self.prefix, team.size()),
            _ => Ok(()),
        }
    }

    /// What makes equal inodes of a file system of one node different files: the node, and the device.
    fn owner(&self, status: &Status) -> u64 {
        // Nodes with overlays of the same image find the same files in them, unless these are written.
        let is_own =
            |system: FileSystem| system.is_of_one_node && (self.writes || system.name != Some("overlay"));
        match status.is_regular && self.system.is_some_and(is_own) {
            true => mix(machine(), status.identity.device),
            false => 0,
        }
    }

    /// Checks that this is the file that rank 0 has opened.
    fn check_same(&self, found: &Status, first_inode: u64, first_owner: u64) -> Result<()> {
        let own = inode(found);
        let words = if own != first_inode {
            format!("(inode {own}) than rank 0 (inode {first_inode})")
        } else if self.owner(found) != first_owner {
            let name = self.system.and_then(|system| system.name).unwrap_or("file system");
            format!("than rank 0: each node has a {name} of its own")
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::BadFile, format!("open: this rank sees another file of this name {words}")))
    }
}

/// Opens a file that another node has opened or created. Its name may take this long to be seen here.
fn open_when_seen(patience: Duration, mut open: impl FnMut() -> Result<PosixFile>) -> Result<PosixFile> {
    let (began, mut pause) = (Instant::now(), Duration::from_millis(10));
    loop {
        match open() {
            Err(error) if error.kind() == ErrorKind::NoSuchFile && began.elapsed() < patience => {
                std::thread::sleep(pause);
                pause = (2 * pause).min(Duration::from_secs(1));
            }
            opened => return opened,
        }
    }
}

/// How long NFS may remember that a name was not there: `acdirmax`, by default.
const NAME_CACHE: Duration = Duration::from_secs(60);

/// The error for an impossible state: no rank had an error, but this one has no file.
fn lost() -> Error {
    Error::new(ErrorKind::Internal, "an error of opening was lost")
}

#[cfg(test)]
mod tests {
    use super::*;
    use scda_ranks::machine::pretended::MACHINE;
    use scda_ranks::{ThreadComm, run_on_threads};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn team(comm: ThreadComm, path: &Path) -> Team {
        Team::new(Box::new(comm), &quote_path(path))
    }

    fn params(atomic: bool) -> WriteOptions {
        let tuning = Tuning { driver: Driver::Posix, ..Tuning::default() };
        WriteOptions { atomic, tuning, ..WriteOptions::default() }
    }

    /// Opens on one rank.
    fn append_alone(path: &Path, params: &WriteOptions) -> Result<ExistingFile> {
        let mut all = run_on_threads(1, |comm| {
            let mut team = team(comm, path);
            append(&mut team, path, &mut params.clone(), |_, _| Ok(None))
                .map_err(|failure| team.settle(failure))
        });
        all.remove(0)
    }

    fn kind(result: Result<ExistingFile>) -> ErrorKind {
        result.err().unwrap().kind()
    }

    #[test]
    fn posix_is_chosen_by_what_the_file_system_can_do() {
        const UNKNOWN: u64 = 0;
        const NOTHING: u64 = 2;
        for (sharing, said, several_nodes) in [
            (UNKNOWN, NOTHING, Posix::WholePages),
            (UNKNOWN, 0, Posix::WholePages),
            (UNKNOWN, 1, Posix::Exact),
            (BY_LOCKS, NOTHING, Posix::WithLocks),
            (BY_LOCKS, 0, Posix::WithLocks),
            (BY_LOCKS, 1, Posix::Exact),
            (COHERENT, NOTHING, Posix::Exact),
            (COHERENT, 0, Posix::WholePages),
            (LUSTRE, NOTHING, Posix::Exact),
            (LUSTRE, 0, Posix::WholePages),
        ] {
            assert_eq!(Posix::of(sharing, said, false), several_nodes, "{sharing} {said}");
            assert_eq!(Posix::of(sharing, said, true), Posix::Exact);
        }
    }

    #[test]
    fn appending_keeps_what_is_there_and_every_rank_may_read_and_write() {
        for size in [1, 3] {
            for atomic in [false, true] {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("f");
                std::fs::write(&path, "old.").unwrap();
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
                let inode = std::fs::metadata(&path).unwrap().ino();
                run_on_threads(size, |comm| {
                    let mut team = team(comm, &path);
                    let ExistingFile { mut file, mut target, size: found } =
                        append(&mut team, &path, &mut params(atomic), |_, _| Ok(None)).ok().unwrap();
                    assert_eq!((found, target.goal() == path), (4, !atomic));
                    let mut old = [0; 4];
                    file.read_at(0, &mut old).unwrap();
                    assert_eq!(&old, b"old.");
                    file.write_at(4 + team.rank() as u64, &[b"+"]).unwrap();
                    assert!(team.agree(file.close()).is_ok());
                    if team.rank() == 0 {
                        assert_eq!(std::fs::read(&path).unwrap().len(), if atomic { 4 } else { 4 + size });
                        target.complete(4 + size as u64, |_, _| true).unwrap();
                    }
                });
                assert_eq!(std::fs::read(&path).unwrap(), ["old.", &"+".repeat(size)].concat().as_bytes());
                let status = std::fs::metadata(&path).unwrap();
                assert_eq!((status.mode() & 0o777, status.ino() != inode), (0o640, atomic));
                assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
            }
        }
    }

    #[test]
    fn only_a_regular_file_that_exists_is_appended_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        for atomic in [false, true] {
            let params = params(atomic);
            assert_eq!(kind(append_alone(&path, &params)), ErrorKind::NoSuchFile);
            assert_eq!(kind(append_alone(folder.path(), &params)), ErrorKind::BadFile);
            assert_eq!(kind(append_alone(Path::new("/dev/null"), &params)), ErrorKind::BadFile);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    /// What two ranks on different machines get, of which the file system is taken for this.
    fn from_two_machines(open: impl Fn(&mut Team) -> Result<()> + Sync) -> Vec<ErrorKind> {
        run_on_threads(2, |comm| {
            MACHINE.set(Some(comm.rank() as u64));
            let mut team = team(comm, Path::new("f"));
            open(&mut team).map_or_else(|error| error.kind(), |()| ErrorKind::Internal)
        })
    }

    #[test]
    fn two_machines_have_no_local_file_in_common() {
        // Not an overlay, as a container has, of which nodes may have copies to read.
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "old").unwrap();
        let settled = |team: &mut Team, opened: Result<(), Failure>| opened.map_err(|f| team.settle(f));
        for atomic in [false, true] {
            let all = from_two_machines(|team| {
                let created = create(team, &path, &mut params(atomic), b"header").map(drop);
                settled(team, created)
            });
            assert_eq!(all, [ErrorKind::BadFile; 2]);
            let all = from_two_machines(|team| {
                let appended = append(team, &path, &mut params(atomic), |_, _| Ok(None)).map(drop);
                settled(team, appended)
            });
            assert_eq!(all, [ErrorKind::BadFile; 2]);
        }
        let all = from_two_machines(|team| {
            let which = |_: &mut Team, path: &Path, _: &ReadOptions| Ok(path.to_owned());
            let read = open(team, &path, &mut ReadOptions::default(), which, |_, size| Ok(Ends::all(size)))
                .map(drop);
            settled(team, read)
        });
        assert_eq!(all, [ErrorKind::BadFile; 2]);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_name_that_comes_later_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let open = || PosixFile::open(&path, OFlags::RDONLY);
        let error = open_when_seen(Duration::ZERO, open).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::NoSuchFile);
        let (mut tries, patience) = (0, Duration::from_secs(60));
        let opened = open_when_seen(patience, || {
            tries += 1;
            if tries == 3 {
                std::fs::write(&path, "").unwrap();
            }
            open()
        });
        assert!(opened.is_ok() && tries == 3);
        // Any other error is told at once.
        let folder = open_when_seen(patience, || PosixFile::open(folder.path(), OFlags::RDONLY));
        assert_eq!(folder.err().unwrap().kind(), ErrorKind::BadFile);
    }

    #[test]
    fn two_do_not_append_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("f"), folder.path().join("link"));
        std::fs::write(&path, "old").unwrap();
        symlink("f", &link).unwrap();
        for atomic in [false, true] {
            let ExistingFile { file, mut target, .. } = append_alone(&path, &params(atomic)).unwrap();
            for other in [false, true] {
                assert_eq!(kind(append_alone(&link, &params(other))), ErrorKind::FileInUse);
            }
            // The first one is not disturbed.
            assert!(target.goal().exists());
            file.close().unwrap();
            target.complete(3, |_, _| true).unwrap();
            drop(target);
        }
        // Nor after an error that leaves the file as it is.
        let ExistingFile { file, mut target, .. } = append_alone(&link, &params(true)).unwrap();
        file.close().unwrap();
        target.discard();
        drop(target);
        append_alone(&path, &params(false)).unwrap().file.close().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }
}
