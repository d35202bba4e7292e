//! Opening and closing the file behind a Writer or Reader.

use super::params::Params;
use super::team::{Failure, Team, split};
use crate::error::{Error, ErrorKind, Result};
use crate::parallel::Communicator;
use crate::storage::faults::Faulty;
#[cfg(feature = "mpi")]
use crate::storage::mpi_io::{Access, MpiFile};
use crate::storage::place::{self, Status};
use crate::storage::posix::PosixFile;
use crate::storage::{Driver, ParallelFile};
use rustix::fs::OFlags;
use std::path::{Path, PathBuf};

/// The environment variable that chooses the driver where the program does not.
const DRIVER_VARIABLE: &str = "SCDA_IO";

/// The names of a file that is written.
pub struct Target {
    path: PathBuf,
    /// Where an atomic write goes before it is renamed.
    part: Option<PathBuf>,
    /// Rank 0: which file it is, to notice that it was removed or replaced.
    status: Option<Status>,
}

/// The driver that is used, decided by rank 0.
fn choose(comm: &dyn Communicator, params: &Params, path: &Path) -> Result<Driver> {
    #[cfg(feature = "mpi")]
    let (has_mpi, has_hints) = (comm.as_mpi().is_some(), !params.hints.is_none());
    #[cfg(not(feature = "mpi"))]
    let (has_mpi, has_hints) = (false, false);
    match params.driver {
        Driver::MpiIo if !has_mpi => Err(Error::argument("driver: found MPI-IO, but there is no MPI here")),
        Driver::Auto if !has_mpi => Ok(Driver::Posix),
        Driver::Auto if has_hints => Ok(Driver::MpiIo),
        Driver::Auto => match std::env::var(DRIVER_VARIABLE).as_deref() {
            Ok("mpi") => Ok(Driver::MpiIo),
            Ok("posix") => Ok(Driver::Posix),
            Ok(other) => Err(Error::argument(format!(
                "{DRIVER_VARIABLE}: found \"{other}\", expected \"mpi\" or \"posix\""
            ))),
            Err(_) if comm.size() == 1 || place::is_coherent(path) => Ok(Driver::Posix),
            Err(_) => Ok(Driver::MpiIo),
        },
        driver => Ok(driver),
    }
}

/// What rank 0 finds out before the others open.
struct Prepared {
    driver: Driver,
    /// With POSIX: the file, open on rank 0.
    file: Option<PosixFile>,
}

/// Lets all ranks open with the driver that rank 0 chose, which is returned, too.
fn open_all(
    team: &mut Team,
    params: &Params,
    prepared: Result<Option<Prepared>>,
    posix: impl FnOnce() -> Result<PosixFile>,
    #[cfg(feature = "mpi")] mpi_io: (&Path, Access),
) -> Result<(Box<dyn ParallelFile>, Driver), Failure> {
    let (prepared, mine) = split(prepared);
    let choice = u64::from(prepared.as_ref().is_some_and(|p| p.driver == Driver::MpiIo));
    let choice = team.share(mine.map(|()| choice))?;
    let opened: Result<Box<dyn ParallelFile>> = match (choice, prepared.and_then(|p| p.file)) {
        (0, Some(file)) => Ok(Box::new(file)),
        (0, None) => posix().map(|file| Box::new(file) as _),
        #[cfg(feature = "mpi")]
        _ => open_mpi_io(team, params, mpi_io),
        #[cfg(not(feature = "mpi"))]
        _ => Err(Error::new(ErrorKind::Internal, "MPI-IO was chosen without MPI")),
    };
    let (file, mine) = split(opened.map(Some));
    team.agree(mine)?;
    let file = file.ok_or_else(|| Error::new(ErrorKind::Internal, "an error of opening was lost"))?;
    let driver = if choice == 0 { Driver::Posix } else { Driver::MpiIo };
    Ok(match params.faults {
        Some(faults) => (Box::new(Faulty::new(file, faults, team.rank())), driver),
        None => (file, driver),
    })
}

#[cfg(feature = "mpi")]
fn open_mpi_io(
    team: &Team,
    params: &Params,
    (path, access): (&Path, Access),
) -> Result<Box<dyn ParallelFile>> {
    let mpi = team.comm().as_mpi();
    let mpi = mpi.ok_or_else(|| Error::new(ErrorKind::Internal, "MPI-IO was chosen without MPI"))?;
    Ok(Box::new(MpiFile::open(mpi, &c_name(path)?, access, params.hints)?))
}

#[cfg(feature = "mpi")]
fn c_name(path: &Path) -> Result<std::ffi::CString> {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::argument("file name: found a NUL byte inside"))
}

/// Creates the file for writing, or empties it. Collective.
pub fn create(
    team: &mut Team,
    path: &Path,
    params: &Params,
) -> Result<(Box<dyn ParallelFile>, Target), Failure> {
    let real = place::without_romio_prefix(path).to_owned();
    let part = params.atomic.then(|| place::part(&real));
    let goal = part.as_deref().unwrap_or(&real);
    let prepared = if team.rank() == 0 {
        prepare_writing(team.comm(), params, &real, part.as_deref()).map(Some)
    } else {
        Ok(None)
    };
    let status = match &prepared {
        Ok(Some(Prepared { file: Some(file), .. })) => file.status().ok(),
        _ => None,
    };
    #[cfg(feature = "mpi")]
    let mpi_io = match &part {
        Some(part) => (part.as_path(), Access::WriteNew),
        None => (path, Access::Write),
    };
    let opened = open_all(
        team,
        params,
        prepared,
        || PosixFile::open(goal, OFlags::WRONLY),
        #[cfg(feature = "mpi")]
        mpi_io,
    );
    let mut target = Target { path: real.clone(), part: part.clone(), status };
    let mut file = match opened {
        Ok((file, Driver::Posix)) => return Ok((file, target)),
        Ok((file, _)) => file,
        Err(failure) => {
            target.discard();
            return Err(failure);
        }
    };
    if team.rank() == 0 {
        target.status = place::status(goal).ok().flatten();
    }
    match empty(team, &mut *file) {
        Ok(()) => Ok((file, target)),
        Err(failure) => {
            let _ = file.close();
            target.discard();
            Err(failure)
        }
    }
}

/// Truncates a file that MPI-IO opened for writing, which leaves what it had. Rank 0 asks for the
/// size, for it may differ between ranks while others change it.
fn empty(team: &mut Team, file: &mut dyn ParallelFile) -> Result<(), Failure> {
    let size = if team.rank() == 0 { file.size() } else { Ok(0) };
    if team.share(size)? == 0 {
        return Ok(());
    }
    let truncated = file.truncate();
    team.agree(truncated)
}

/// Rank 0: chooses the driver, notices what forbids writing, and creates the file with POSIX. With
/// MPI-IO the file is created by `MPI_File_open`, for hints work only then.
fn prepare_writing(
    comm: &dyn Communicator,
    params: &Params,
    path: &Path,
    part: Option<&Path>,
) -> Result<Prepared> {
    let driver = choose(comm, params, path)?;
    let old = place::status(path)?;
    if old.is_some_and(|old| old.is_folder) {
        return Err(Error::new(ErrorKind::BadFile, "found a folder, expected a file"));
    }
    if let Some(part) = part {
        if old.is_some_and(|old| !old.is_regular) {
            return Err(Error::new(ErrorKind::BadFile, "atomic: found a device or pipe, expected a file"));
        }
        place::remove_stale(part)?;
    }
    if driver == Driver::MpiIo {
        place::check_writable(path, part.is_none() && old.is_some())?;
        return Ok(Prepared { driver, file: None });
    }
    let Some(part) = part else {
        let mut file = PosixFile::open(path, OFlags::WRONLY | OFlags::CREATE)?;
        // Truncating costs, on ext4 a write-back at close, even where there is nothing to truncate.
        if file.status()?.is_regular && file.status()?.size > 0 {
            file.truncate()?;
        }
        return Ok(Prepared { driver, file: Some(file) });
    };
    let new_only = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let file = PosixFile::open(part, new_only)?;
    if let Some(old) = old {
        file.set_mode(old.mode)?;
    }
    Ok(Prepared { driver, file: Some(file) })
}

/// Opens the file for reading and tells its size. Collective.
pub fn open(team: &mut Team, path: &Path, params: &Params) -> Result<(Box<dyn ParallelFile>, u64), Failure> {
    let real = place::without_romio_prefix(path);
    let prepared =
        if team.rank() == 0 { prepare_reading(team.comm(), params, real).map(Some) } else { Ok(None) };
    let (mut file, _) = open_all(
        team,
        params,
        prepared,
        || PosixFile::open(real, OFlags::RDONLY),
        #[cfg(feature = "mpi")]
        (path, Access::Read),
    )?;
    let size = if team.rank() == 0 { file.size() } else { Ok(0) };
    match team.share(size) {
        Ok(size) => Ok((file, size)),
        Err(failure) => {
            let _ = file.close();
            Err(failure)
        }
    }
}

/// Rank 0: chooses the driver, and opens the file with POSIX or notices what forbids to.
fn prepare_reading(comm: &dyn Communicator, params: &Params, path: &Path) -> Result<Prepared> {
    let driver = choose(comm, params, path)?;
    let file = PosixFile::open(path, OFlags::RDONLY | OFlags::NONBLOCK)?;
    if !file.is_regular() {
        return Err(Error::new(ErrorKind::BadFile, "found a device or pipe, expected a file"));
    }
    Ok(Prepared { driver, file: (driver != Driver::MpiIo).then_some(file) })
}

impl Target {
    /// Rank 0, when all ranks have closed the file: compares its size with what was written, and
    /// gives an atomic write its name.
    pub fn complete(&self, expected: u64) -> Result<()> {
        let goal = self.part.as_deref().unwrap_or(&self.path);
        if self.status.is_some_and(|status| !status.is_regular) {
            return Ok(());
        }
        let lost = |found: &str| {
            Error::new(ErrorKind::Io, format!("close: found {found}, expected {expected} bytes"))
        };
        let Some(found) = place::status(goal)? else {
            return Err(lost("the file removed"));
        };
        if self.status.is_some_and(|status| status.identity != found.identity) {
            return Err(lost("another file under its name"));
        }
        if found.size != expected {
            return Err(lost(&format!("{} bytes in the file", found.size)).at(found.size.min(expected)));
        }
        match &self.part {
            Some(part) => place::commit(part, &self.path, found.identity),
            None => Ok(()),
        }
    }

    /// When writing failed: rank 0 removes an incomplete atomic write. The old file stays.
    pub fn discard(&self) {
        if let (Some(part), Some(status)) = (&self.part, self.status) {
            let ours = place::status(part).ok().flatten().is_some_and(|s| s.identity == status.identity);
            if ours {
                // What cannot be removed has a name that tells what it is.
                let _ = place::remove_stale(part);
            }
        }
    }
}
