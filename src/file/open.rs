//! Opening the file behind a Writer or Reader, in steps, with an agreement after each.
//!
//! The ranks agree on the arguments first. Rank 0 creates or opens the file; the others open it and compare the inode. What can be checked is
//! checked before `MPI_File_open`, in which a failing rank leaves the others waiting.

#[cfg(feature = "mpi")]
mod mpi_io;
#[cfg(not(feature = "mpi"))]
mod without_mpi;

use super::params::{MAX_STRIPE_BYTES, MAX_WRITERS, MostThreads, Params};
use super::target::Target;
use super::team::{FINE, Failure, Function, Team, split};
use crate::error::{Error, ErrorKind, Result};
use crate::memory;
use crate::parallel::Communicator;
use crate::storage::faults::Faulty;
use crate::storage::file_system::{self, Status};
use crate::storage::posix::PosixFile;
use crate::storage::queue::LEAST_BYTES;
use crate::storage::{Driver, ParallelFile, names};
use rustix::fs::OFlags;
use std::ops::RangeInclusive;
use std::path::Path;
#[cfg(not(feature = "mpi"))]
use without_mpi as mpi_io;

/// The environment variable that chooses the driver where the program does not.
const DRIVER_VARIABLE: &str = "SCDA_IO";
/// The environment variables that say how many ranks of a node write, and what a stripe is, where the program does not.
const WRITERS_VARIABLE: &str = "SCDA_WRITERS_PER_NODE";
const STRIPE_VARIABLE: &str = "SCDA_STRIPE_BYTES";
/// The environment variable that gives memory for writing in the background where the program does not.
const BACKGROUND_VARIABLE: &str = "SCDA_BACKGROUND_BYTES";
/// The environment variable that, set to 1, has the ranks agree in every call.
const CHECK_VARIABLE: &str = "SCDA_CHECK";

/// Opens a file by `open`, if neither the path nor the parameters are wrong on any rank. Collective.
pub fn if_valid<T>(
    comm: Box<dyn Communicator>,
    function: Function,
    path: Result<&Path>,
    params: Result<Params>,
    open: impl FnOnce(&mut Team, &Path, &mut Params) -> Result<T, Failure>,
) -> Result<(Team, Params, T)> {
    let mut team = Team::for_file(comm, &path);
    let open = |team: &mut Team| -> Result<_, Failure> {
        let (path, mut params) = (path?, params?);
        params.validate(function)?;
        team.note_open(function, path, &params.words());
        let _limited = memory::limited(params.max_memory, 0);
        let opened = open(team, path, &mut params)?;
        Ok((params, opened))
    };
    match open(&mut team) {
        Ok((params, opened)) => Ok((team, params, opened)),
        Err(failure) => Err(team.settle(failure)),
    }
}

/// Creates the file for writing, or empties it, and writes its header at once, so that a failure is an error of
/// opening. Collective.
pub fn create(
    team: &mut Team,
    path: &Path,
    params: &mut Params,
    header: &[u8],
) -> Result<(Box<dyn ParallelFile>, Target), Failure> {
    // No file is changed before the ranks agree on the arguments.
    let driver = choose(team, path, params)?;
    let mut target = Target::new(real_path(team, path, params), params);
    let created = match driver {
        Driver::MpiIo => mpi_io::create(team, path, params, &mut target, header),
        _ => create_posix(team, params, &mut target, header),
    };
    match created {
        Ok(file) => Ok((file, target)),
        Err(failure) => {
            target.discard();
            Err(failure)
        }
    }
}

fn create_posix(
    team: &mut Team,
    params: &mut Params,
    target: &mut Target,
    header: &[u8],
) -> Result<Box<dyn ParallelFile>, Failure> {
    let first = if team.rank() == 0 { target.prepare(Driver::Posix) } else { Ok(None) };
    let (opened, _) = open_posix(team, first, || target.open_again(false))?;
    let opened = opened.and_then(|file| {
        let mut file = with_faults(team, params, Box::new(file));
        if team.rank() == 0 {
            file.write_at(0, &[header])?;
            if is_header_synced(params) {
                file.sync()?;
            }
        }
        Ok(Some(file))
    });
    let (file, mine) = split(opened);
    let mut block = [if team.rank() == 0 { target.block_bytes().min(FINE) } else { FINE }];
    team.agree_with(mine, &mut block)?;
    params.find_stripe(block[0]);
    file.ok_or_else(lost).map_err(Failure::Mine)
}

/// Whether the header of a new file is brought to stable storage before anything follows it: so a file that is to be sealed has all
/// of its header, or nothing but its header is missing (`Target::check_begun`). A part file is nothing without its seal.
fn is_header_synced(params: &Params) -> bool {
    params.seal && !params.atomic
}

/// Opens the file for reading. Tells its size, and what `examine` finds on rank 0, which gets the file and its size. Collective.
pub fn open(
    team: &mut Team,
    path: &Path,
    params: &mut Params,
    examine: impl FnOnce(&mut dyn ParallelFile, u64) -> Result<Ends>,
) -> Result<(Box<dyn ParallelFile>, Ends), Failure> {
    let driver = choose(team, path, params)?;
    let real = real_path(team, path, params);
    // NONBLOCK: opening a pipe would wait for a writer.
    let open = || PosixFile::open(real, OFlags::RDONLY | OFlags::NONBLOCK);
    let first = if team.rank() == 0 { open().and_then(PosixFile::regular).map(Some) } else { Ok(None) };
    open_existing(team, path, params, (driver, mpi_io::Access::Read), (first, open), examine)
}

/// A file that existed before, open for reading and writing.
pub(crate) struct ExistingFile {
    pub file: Box<dyn ParallelFile>,
    pub target: Target,
    pub size: u64,
}

/// Opens a file that exists for reading and writing, as it is. With [`Params::atomic`] that is a copy of it, which
/// [`Target::complete`] gives its name. Collective.
pub(crate) fn append(team: &mut Team, path: &Path, params: &mut Params) -> Result<ExistingFile, Failure> {
    let driver = choose(team, path, params)?;
    let mut target = Target::new(real_path(team, path, params), params);
    let first = if team.rank() == 0 { target.prepare_to_append(driver).map(Some) } else { Ok(None) };
    // MPI-IO knows the prefix of the name; a part has none.
    let name = if params.atomic { target.goal() } else { path }.to_owned();
    let open = || target.open_again(true);
    let opened =
        open_existing(team, &name, params, (driver, mpi_io::Access::Append), (first, open), |_, size| {
            Ok(Ends::all(size))
        });
    let locked = match opened {
        Ok((file, _)) if driver == Driver::MpiIo => mpi_io::lock(team, file, &mut target),
        opened => opened.map(|(file, ends)| (file, ends.file)),
    };
    match locked {
        Ok((file, size)) => Ok(ExistingFile { file, target, size }),
        Err(failure) => {
            target.discard();
            Err(failure)
        }
    }
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
    /// Rank 0: the checksum of the seal that ends what is read; 0 if there is none. On other ranks 0.
    pub seal: u64,
}

impl Ends {
    /// Those of a file that is read as it is.
    pub fn all(size: u64) -> Self {
        Self { file: size, read: size, sections: size, seal: 0 }
    }

    /// For all ranks.
    pub fn words(self) -> [u64; 3] {
        [self.file, self.read, self.sections]
    }

    /// See [`Self::words`]; `seal` is what this rank knows.
    pub fn of([file, read, sections]: [u64; 3], seal: u64) -> Self {
        Self { file, read, sections, seal }
    }
}

/// Opens on all ranks the file that rank 0 has opened, and tells what rank 0 finds in it.
fn open_existing(
    team: &mut Team,
    name: &Path,
    params: &mut Params,
    (driver, access): (Driver, mpi_io::Access),
    (first, open): (Result<Option<PosixFile>>, impl FnOnce() -> Result<PosixFile>),
    examine: impl FnOnce(&mut dyn ParallelFile, u64) -> Result<Ends>,
) -> Result<(Box<dyn ParallelFile>, Ends), Failure> {
    // With MPI-IO, too: a rank that does not see the file would leave the others waiting in
    // MPI_File_open.
    let (opened, size) = open_posix(team, first, open)?;
    // MPI-IO opens it anew: what was copied is then sent, on network file systems, and the lock is given back, which
    // MPI-IO's own locks would wait for on NFS.
    let ((seen, words, seal), mine) = split(opened.and_then(|file| {
        let is_first = team.rank() == 0;
        let block = if is_first { file.status().map_or(0, |status| status.block_bytes) } else { 0 };
        let mut file = with_faults(team, params, Box::new(file));
        let ends = if is_first { examine(&mut *file, size)? } else { Ends::all(size) };
        let [bytes, read, sections] = ends.words();
        let words = [bytes, read, sections, block];
        match driver {
            Driver::MpiIo => file.close().map(|()| (None, words, ends.seal)),
            _ => Ok((Some(file), words, ends.seal)),
        }
    }));
    let [bytes, read, sections, block] = team.share(0, mine.map(|()| words))?;
    params.find_stripe(block);
    let file = match driver {
        Driver::MpiIo => {
            let file = mpi_io::open(team, name, params, access, || Ok(()))?;
            with_faults(team, params, file)
        }
        _ => seen.ok_or_else(lost)?,
    };
    Ok((file, Ends::of([bytes, read, sections], seal)))
}

/// Wraps the file if faults are to be injected.
fn with_faults(team: &Team, params: &Params, file: Box<dyn ParallelFile>) -> Box<dyn ParallelFile> {
    match params.faults {
        Some(faults) => Box::new(Faulty::new(file, faults, team.rank())),
        None => file,
    }
}

/// Whether a file can be opened with MPI-IO.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MpiIo {
    /// There is no MPI.
    Absent,
    There,
    /// Hints, or a name with a prefix, ask for it.
    AskedFor,
}

impl MpiIo {
    fn of(team: &Team, path: &Path, params: &Params) -> Self {
        #[cfg(feature = "mpi")]
        let (has_mpi, has_hints) = (team.as_mpi().is_some(), !params.hints.is_none());
        #[cfg(not(feature = "mpi"))]
        let (has_mpi, has_hints) = (team.size() == 0, false);
        let may = params.driver != Driver::Posix;
        match () {
            () if !has_mpi => Self::Absent,
            () if may && (has_hints || names::without_romio_prefix(path) != path) => Self::AskedFor,
            () => Self::There,
        }
    }
}

/// The name as the file system knows it.
pub fn real_path<'a>(team: &Team, path: &'a Path, params: &Params) -> &'a Path {
    match MpiIo::of(team, path, params) {
        MpiIo::AskedFor => names::without_romio_prefix(path),
        MpiIo::Absent | MpiIo::There => path,
    }
}

/// The driver that is used: rank 0 decides, and where it leaves that to the file system, every rank must
/// find it coherent. Rank 0 also decides whether the ranks agree in every call, and on stripes and their writers. With it the
/// ranks agree for the first time, on what is to be opened, and find the greatest number of their threads.
fn choose(team: &mut Team, path: &Path, params: &mut Params) -> Result<Driver, Failure> {
    let mpi_io = MpiIo::of(team, path, params);
    let threads = FINE - params.threads as u64;
    let mut words = [FINE, FINE, FINE, FINE, FINE, 2, threads];
    let mine = if team.rank() == 0 {
        wanted(params, mpi_io).map(
            |DriverChoice { driver, check, writers, stripe_bytes, background_bytes }| {
                let driver = match driver {
                    Driver::Posix => 0,
                    Driver::MpiIo => 1,
                    Driver::Auto => 2,
                };
                words = [driver, u64::from(check), writers, stripe_bytes, background_bytes, 2, threads];
            },
        )
    } else {
        Ok(())
    };
    if params.driver == Driver::Auto && mpi_io == MpiIo::There && !team.is_alone() {
        // Where no folder is, no driver opens a file: the error is that of opening it.
        let is_coherent = match file_system::FileSystem::of(real_path(team, path, params)) {
            Ok(kind) => kind.is_coherent,
            Err(error) => error.kind() == ErrorKind::NoSuchFile,
        };
        words[5] = 1 + u64::from(is_coherent);
    }
    team.agree_with(mine, &mut words)?;
    let [driver, check, writers, stripe, background, coherent, threads] = words;
    params.most_threads = MostThreads(FINE - threads);
    (params.check, params.writers_per_node, params.stripe_bytes) = (check == 1, writers, stripe);
    if params.check {
        team.tell_waits(|words| eprintln!("{words}"));
    }
    if driver == 0 || driver == 2 && coherent == 2 {
        params.background_bytes = background;
        return Ok(Driver::Posix);
    }
    if params.background_bytes > 0 {
        let words = "background_bytes: only the POSIX driver can write in the background, not MPI-IO";
        return Err(Error::argument(words).into());
    }
    Ok(Driver::MpiIo)
}

/// The choice of rank 0.
struct DriverChoice {
    /// `Auto` if the file system decides.
    driver: Driver,
    /// Whether the ranks agree in every call.
    check: bool,
    /// The writers of a node.
    writers: u64,
    stripe_bytes: u64,
    /// Memory for writing in the background.
    background_bytes: u64,
}

/// What is wanted by parameters, or else by the environment of rank 0.
fn wanted(params: &Params, mpi_io: MpiIo) -> Result<DriverChoice> {
    let driver = match params.driver {
        Driver::MpiIo if mpi_io == MpiIo::Absent => {
            return Err(Error::argument("driver: MPI-IO needs MPI, which is not there"));
        }
        Driver::Auto if mpi_io == MpiIo::Absent => Driver::Posix,
        Driver::Auto if mpi_io == MpiIo::AskedFor => Driver::MpiIo,
        Driver::Auto => match std::env::var(DRIVER_VARIABLE).as_deref() {
            Ok("mpi") => Driver::MpiIo,
            Ok("posix") => Driver::Posix,
            Ok(other) => {
                return Err(Error::argument(format!(
                    "{DRIVER_VARIABLE}: found \"{other}\", expected \"mpi\" or \"posix\""
                )));
            }
            Err(_) => Driver::Auto,
        },
        driver => driver,
    };
    let check = match std::env::var(CHECK_VARIABLE).as_deref() {
        Ok("1") => true,
        Ok(other) if other != "0" => {
            return Err(Error::argument(format!(
                "{CHECK_VARIABLE}: found \"{other}\", expected \"0\" or \"1\""
            )));
        }
        _ => params.check,
    };
    let number = |variable: &str, value: u64, range: RangeInclusive<u64>| match std::env::var(variable) {
        Ok(text) if value == 0 && text != "0" => {
            let found = text.parse().ok().filter(|found| range.contains(found));
            found.ok_or_else(|| {
                let (least, most) = range.into_inner();
                let numbers = if least == 1 {
                    "a number from 0".into()
                } else {
                    format!("0, or a number from {least}")
                };
                Error::argument(format!("{variable}: found \"{text}\", expected {numbers} to {most}"))
            })
        }
        _ => Ok(value),
    };
    Ok(DriverChoice {
        driver,
        check,
        writers: number(WRITERS_VARIABLE, params.writers_per_node, 1..=MAX_WRITERS)?,
        stripe_bytes: number(STRIPE_VARIABLE, params.stripe_bytes, 1..=MAX_STRIPE_BYTES)?,
        background_bytes: number(BACKGROUND_VARIABLE, params.background_bytes, LEAST_BYTES..=FINE - 1)?,
    })
}

/// The file that rank 0 has opened, and on the other ranks the same one, which they open now: on nodes of
/// different file systems the same name is not enough. With the size that rank 0 finds. The ranks have yet to
/// agree that all have it.
fn open_posix(
    team: &mut Team,
    first: Result<Option<PosixFile>>,
    open: impl FnOnce() -> Result<PosixFile>,
) -> Result<(Result<PosixFile>, u64), Failure> {
    let identity = |status: Status| if status.is_regular { status.identity.inode } else { 0 };
    let (mut first, mine) = split(first);
    let mine = match &mut first {
        Some(file) if !team.is_alone() && file.is_locked() => mine.and_then(|()| file.share_lock()),
        _ => mine,
    };
    let status = |file: &PosixFile| file.status().map(|status| [identity(status), status.size]);
    let known = mine.and_then(|()| first.as_ref().map_or(Ok([0; 2]), status));
    let [inode, size] = team.share(0, known)?;
    let opened = match first {
        Some(file) => Ok(file),
        None => open().and_then(|file| match identity(file.status()?) {
            own if own == inode => Ok(file),
            own => Err(Error::new(
                ErrorKind::BadFile,
                format!(
                    "open: this rank sees another file of this name (inode {own}) than rank 0 (inode {inode})"
                ),
            )),
        }),
    };
    Ok((opened, size))
}

/// The error for an impossible state: no rank had an error, but this one has no file.
fn lost() -> Error {
    Error::new(ErrorKind::Internal, "an error of opening was lost")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::{ThreadComm, run_on_threads};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn team(comm: ThreadComm, path: &Path) -> Team {
        Team::for_file(Box::new(comm), &Ok(path))
    }

    fn params(atomic: bool) -> Params {
        Params { atomic, driver: Driver::Posix, ..Params::default() }
    }

    /// Opens on one rank.
    fn append_alone(path: &Path, params: &Params) -> Result<ExistingFile> {
        let mut all = run_on_threads(1, |comm| {
            let mut team = team(comm, path);
            append(&mut team, path, &mut params.clone()).map_err(|failure| team.settle(failure))
        });
        all.remove(0)
    }

    fn kind(result: Result<ExistingFile>) -> ErrorKind {
        result.err().unwrap().kind()
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
                        append(&mut team, &path, &mut params(atomic)).ok().unwrap();
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
