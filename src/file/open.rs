//! Opening the file behind a Writer or Reader: step by step, and agreed after each.

use super::params::Params;
use super::target::Target;
use super::team::{Failure, Team, split};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::faults::Faulty;
#[cfg(feature = "mpi")]
use crate::storage::mpi_io::{Access, MpiFile, complete};
use crate::storage::place::{self, Status};
use crate::storage::posix::PosixFile;
use crate::storage::{Driver, ParallelFile};
use rustix::fs::OFlags;
use std::path::Path;
#[cfg(not(feature = "mpi"))]
use without_mpi::{Access, create_mpi_io, open_mpi_io};

/// The environment variable that chooses the driver where the program does not.
const DRIVER_VARIABLE: &str = "SCDA_IO";
/// The environment variable that, set to 1, has the ranks agree in every call.
const CHECK_VARIABLE: &str = "SCDA_CHECK";

/// Creates the file for writing, or empties it. Collective.
pub fn create(
    team: &mut Team,
    path: &Path,
    params: &mut Params,
) -> Result<(Box<dyn ParallelFile>, Target), Failure> {
    // Nothing is touched before the ranks agree on what.
    team.agree(Ok(()))?;
    let mut target = Target::new(real_path(team, path, params), params.atomic);
    match create_target(team, path, params, &mut target) {
        Ok(file) => Ok((with_faults(team, params, file), target)),
        Err(failure) => {
            target.discard();
            Err(failure)
        }
    }
}

fn create_target(
    team: &mut Team,
    path: &Path,
    params: &mut Params,
    target: &mut Target,
) -> Result<Box<dyn ParallelFile>, Failure> {
    let driver = choose(team, path, params)?;
    let prepared = if team.rank() == 0 { target.prepare(driver) } else { Ok(None) };
    let (first, mine) = split(prepared);
    if driver == Driver::MpiIo {
        team.agree(mine)?;
        return create_mpi_io(team, path, params, target);
    }
    open_posix(team, first, mine, || PosixFile::open(target.goal(), OFlags::WRONLY))
}

/// Opens the file for reading and tells its size. Collective.
pub fn open(
    team: &mut Team,
    path: &Path,
    params: &mut Params,
) -> Result<(Box<dyn ParallelFile>, u64), Failure> {
    team.agree(Ok(()))?;
    let driver = choose(team, path, params)?;
    let real = real_path(team, path, params);
    // Not waiting for somebody to write into a pipe.
    let open = || PosixFile::open(real, OFlags::RDONLY | OFlags::NONBLOCK);
    let first = if team.rank() == 0 { open().and_then(regular).map(Some) } else { Ok(None) };
    let (first, mine) = split(first);
    // With MPI-IO, too: a rank that does not see the file would leave the others waiting in
    // MPI_File_open.
    let seen = open_posix(team, first, mine, open)?;
    let file =
        if driver == Driver::Posix { seen } else { open_mpi_io(team, path, params, Access::Read, || {})? };
    let mut file = with_faults(team, params, file);
    let size = if team.rank() == 0 { file.size() } else { Ok(0) };
    match team.share(size) {
        Ok(size) => Ok((file, size)),
        Err(failure) => Err(close(team, file, failure)),
    }
}

/// Closes a file on all ranks, when they know why.
fn close(team: &mut Team, file: Box<dyn ParallelFile>, failure: Failure) -> Failure {
    let error = team.settle(failure);
    let _ = file.close();
    Failure::Agreed(error)
}

/// Lets accesses fail, if that is wanted.
fn with_faults(team: &Team, params: &Params, file: Box<dyn ParallelFile>) -> Box<dyn ParallelFile> {
    match params.faults {
        Some(faults) => Box::new(Faulty::new(file, faults, team.rank())),
        None => file,
    }
}

/// Whether there is MPI-IO, and whether it is asked for by hints or by a name with a prefix.
fn mpi_io(team: &Team, path: &Path, params: &Params) -> (bool, bool) {
    #[cfg(feature = "mpi")]
    let (has_mpi, has_hints) = (team.comm().as_mpi().is_some(), !params.hints.is_none());
    #[cfg(not(feature = "mpi"))]
    let (has_mpi, has_hints) = (team.comm().size() == 0, false);
    let may = has_mpi && params.driver != Driver::Posix;
    (has_mpi, may && (has_hints || place::without_romio_prefix(path) != path))
}

/// The name as the file system knows it.
fn real_path<'a>(team: &Team, path: &'a Path, params: &Params) -> &'a Path {
    if mpi_io(team, path, params).1 { place::without_romio_prefix(path) } else { path }
}

/// The driver that is used: rank 0 decides, and every rank must find the file system coherent. Rank 0 also
/// decides whether the ranks agree in every call.
fn choose(team: &mut Team, path: &Path, params: &mut Params) -> Result<Driver, Failure> {
    let (has_mpi, asked_for) = mpi_io(team, path, params);
    let mut coherent = [2];
    if params.driver == Driver::Auto && has_mpi && !asked_for && !team.is_alone() {
        coherent = [1 + u64::from(
            place::FileSystem::of(real_path(team, path, params)).is_ok_and(|kind| kind.is_coherent),
        )];
        team.comm().allreduce_min(&mut coherent)?;
    }
    let choice = match params.driver {
        Driver::MpiIo if !has_mpi => Err(Error::argument("driver: found MPI-IO, but there is no MPI here")),
        Driver::Auto if !has_mpi => Ok(Driver::Posix),
        Driver::Auto if asked_for => Ok(Driver::MpiIo),
        Driver::Auto => match std::env::var(DRIVER_VARIABLE).as_deref() {
            Ok("mpi") => Ok(Driver::MpiIo),
            Ok("posix") => Ok(Driver::Posix),
            // The environment of rank 0 counts.
            Ok(other) if team.rank() == 0 => Err(Error::argument(format!(
                "{DRIVER_VARIABLE}: found \"{other}\", expected \"mpi\" or \"posix\""
            ))),
            _ if coherent == [2] => Ok(Driver::Posix),
            _ => Ok(Driver::MpiIo),
        },
        driver => Ok(driver),
    };
    let check = match std::env::var(CHECK_VARIABLE).as_deref() {
        Ok("1") => Ok(true),
        Ok(other) if other != "0" && team.rank() == 0 => {
            Err(Error::argument(format!("{CHECK_VARIABLE}: found \"{other}\", expected \"0\" or \"1\"")))
        }
        _ => Ok(params.check),
    };
    let choice = choice.and_then(|driver| Ok((driver == Driver::Posix, check?)));
    let bits = team.share(choice.map(|(posix, check)| u64::from(posix) | u64::from(check) << 1))?;
    params.check = bits & 2 != 0;
    Ok(if bits & 1 != 0 { Driver::Posix } else { Driver::MpiIo })
}

/// Opens with POSIX on the ranks other than 0, which has opened already, and makes sure that all
/// have the same file: on nodes of different file systems the same name is not enough.
fn open_posix(
    team: &mut Team,
    first: Option<PosixFile>,
    mine: Result<()>,
    open: impl FnOnce() -> Result<PosixFile>,
) -> Result<Box<dyn ParallelFile>, Failure> {
    let identity = |status: Status| if status.is_regular { status.identity.1 } else { 0 };
    let inode = mine.and_then(|()| first.as_ref().map_or(Ok(0), |file| file.status().map(identity)));
    let inode = team.share(inode)?;
    let opened = match first {
        Some(file) => Ok(file),
        None => open().and_then(|file| match identity(file.status()?) {
            own if own == inode => Ok(file),
            own => Err(Error::new(
                ErrorKind::BadFile,
                format!(
                    "open: found another file of this name (inode {own}), expected that of rank 0 ({inode})"
                ),
            )),
        }),
    };
    let (file, mine) = split(opened.map(Some));
    team.agree(mine)?;
    Ok(Box::new(file.ok_or_else(lost)?))
}

/// What cannot be: no rank had an error, and this one has no file.
fn lost() -> Error {
    Error::new(ErrorKind::Internal, "an error of opening was lost")
}

/// The file, if it is one whose size can be relied on.
fn regular(file: PosixFile) -> Result<PosixFile> {
    if file.status()?.is_regular {
        return Ok(file);
    }
    Err(Error::new(ErrorKind::BadFile, "found a device or pipe, expected a file"))
}

/// Opens with MPI-IO, where every rank is known to find what it needs. `opened` is called where that went
/// well.
#[cfg(feature = "mpi")]
fn open_mpi_io(
    team: &mut Team,
    path: &Path,
    params: &Params,
    access: Access,
    opened: impl FnOnce(),
) -> Result<Box<dyn ParallelFile>, Failure> {
    // All with the same hints, or none: ROMIO would let ranks that differ wait for each other.
    let (hints, mine) = split(complete(params.hints).map(Some));
    team.agree(mine)?;
    let hints = hints.ok_or_else(lost)?;
    let (file, mine) = MpiFile::open(team.comm().as_mpi(), path, access, &hints);
    if file.is_some() {
        opened();
    }
    if let Err(failure) = team.agree(mine) {
        // Closing takes all ranks.
        let mut open_on_all = [1 + u64::from(file.is_some())];
        let _ = team.comm().allreduce_min(&mut open_on_all);
        if let (Some(file), [2]) = (file, open_on_all) {
            let _ = Box::new(file).close();
        }
        return Err(failure);
    }
    Ok(Box::new(file.ok_or_else(lost)?))
}

/// Creates a file with MPI-IO: hints, and the prefix that names a driver of ROMIO, work only in its
/// hands.
#[cfg(feature = "mpi")]
fn create_mpi_io(
    team: &mut Team,
    path: &Path,
    params: &Params,
    target: &mut Target,
) -> Result<Box<dyn ParallelFile>, Failure> {
    // A rank that cannot open would leave the others waiting in MPI_File_open.
    team.agree(place::check_writable(target.goal()))?;
    let part = params.atomic.then(|| target.goal().to_owned());
    let (name, access) = part.as_deref().map_or((path, Access::Write), |part| (part, Access::WriteNew));
    let is_first = team.rank() == 0;
    let opened = || {
        if is_first {
            target.opened();
        }
    };
    let mut file = open_mpi_io(team, name, params, access, opened)?;
    match empty(team, &mut *file) {
        Ok(()) => Ok(file),
        Err(failure) => Err(close(team, file, failure)),
    }
}

/// Truncates a file that MPI-IO opened for writing, which leaves what it had. Rank 0 asks for the
/// size, for it may differ between ranks while others change it.
#[cfg(feature = "mpi")]
fn empty(team: &mut Team, file: &mut dyn ParallelFile) -> Result<(), Failure> {
    let size = if team.rank() == 0 { file.size() } else { Ok(0) };
    let size = team.share(size)?;
    // Truncating takes all ranks: none may have lost the size.
    team.agree(Ok(()))?;
    if size == 0 {
        return Ok(());
    }
    let truncated = file.truncate();
    team.agree(truncated)
}

/// Without MPI there is no MPI-IO to choose.
#[cfg(not(feature = "mpi"))]
mod without_mpi {
    use super::{Error, ErrorKind, Failure, ParallelFile, Params, Path, Result, Target, Team};

    pub enum Access {
        Read,
    }

    fn chosen() -> Failure {
        Failure::Mine(Error::new(ErrorKind::Internal, "MPI-IO was chosen without MPI"))
    }

    pub fn open_mpi_io(
        _: &mut Team,
        _: &Path,
        _: &Params,
        _: Access,
        _: impl FnOnce(),
    ) -> Result<Box<dyn ParallelFile>, Failure> {
        Err(chosen())
    }

    pub fn create_mpi_io(
        _: &mut Team,
        _: &Path,
        _: &Params,
        _: &mut Target,
    ) -> Result<Box<dyn ParallelFile>, Failure> {
        Err(chosen())
    }
}
