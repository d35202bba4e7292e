//! Opens files with MPI-IO.

use super::lost;
use crate::file::options::Tuning;
use crate::file::team::{Failure, Team, split};
use scda_base::error::Result;
use scda_storage::ParallelFile;
use scda_storage::mpi_io::{MpiFile, MpiName, complete, is_romio};
use scda_storage::names::without_romio_prefix;
use std::ffi::OsStr;
use std::path::Path;

pub use scda_storage::mpi_io::Access;

/// The path in the file system of the file that MPI-IO would open.
pub fn real_path(path: &Path) -> &Path {
    let real = without_romio_prefix(path);
    if real != path && is_romio() { real } else { path }
}

/// Checks that MPI-IO can take a name.
pub fn check_name(path: &Path, prefix: &OsStr, ranks: usize) -> Result<()> {
    MpiName::new(path, prefix, ranks).map(drop)
}

/// Creates a file on this rank alone. It must not exist.
pub fn create(path: &Path, prefix: &OsStr, params: &Tuning) -> Result<()> {
    MpiFile::create(&MpiName::new(path, prefix, 1)?, &complete(params.hints)?)
}

/// Opens a file with MPI-IO, after every rank has found what it needs. `opened` is called once the file is
/// open.
pub fn open(
    team: &mut Team,
    path: &Path,
    prefix: &OsStr,
    params: &Tuning,
    access: Access,
    opened: impl FnOnce() -> Result<()>,
) -> Result<Box<dyn ParallelFile>, Failure> {
    // Either all ranks have their hints and a name, or none opens the file: in ROMIO, ranks with different
    // hints wait for each other.
    let name = MpiName::new(path, prefix, team.size());
    let (known, mine) = split(name.and_then(|name| Ok(Some((name, complete(params.hints)?)))));
    team.agree(mine)?;
    let (name, hints) = known.ok_or_else(lost)?;
    let (file, mine) = MpiFile::open(team.as_mpi(), &name, access, &hints);
    let mine = if file.is_some() { mine.and(opened()) } else { mine };
    if let Err(failure) = team.agree(mine) {
        // Closing is collective, so the file is closed only if it is open on all ranks.
        if team.after_error().all(file.is_some())
            && let Some(file) = file
        {
            let _ = Box::new(file).close();
        }
        return Err(failure);
    }
    Ok(Box::new(file.ok_or_else(lost)?))
}
