//! Opens files with MPI-IO.

use super::{is_header_synced, lost, with_faults};
use crate::error::Result;
use crate::file::params::Params;
use crate::file::target::Target;
use crate::file::team::{Failure, Team, split};
use crate::storage::file_system;
use crate::storage::mpi_io::{MpiFile, complete};
use crate::storage::{Driver, ParallelFile};
use std::path::Path;

pub use crate::storage::mpi_io::Access;

/// Opens with MPI-IO, where every rank is known to find what it needs. `opened` is called where the file is open.
pub fn open(
    team: &mut Team,
    path: &Path,
    params: &Params,
    access: Access,
    opened: impl FnOnce() -> Result<()>,
) -> Result<Box<dyn ParallelFile>, Failure> {
    // All ranks have their hints, or none opens: in ROMIO, ranks whose hints differ wait for each other.
    let (hints, mine) = split(complete(params.hints).map(Some));
    team.agree(mine)?;
    let hints = hints.ok_or_else(lost)?;
    let (file, mine) = MpiFile::open(team.as_mpi(), path, access, &hints);
    let mine = if file.is_some() { mine.and(opened()) } else { mine };
    if let Err(failure) = team.agree(mine) {
        // Closing is collective, so only a file that is open on all ranks is closed.
        if team.all_after_error(file.is_some())
            && let Some(file) = file
        {
            let _ = Box::new(file).close();
        }
        return Err(failure);
    }
    Ok(Box::new(file.ok_or_else(lost)?))
}

/// Closes a file on all ranks after an error.
fn close(team: &mut Team, file: Box<dyn ParallelFile>, failure: Failure) -> Failure {
    let error = team.settle(failure);
    let _ = file.close();
    Failure::Agreed(error)
}

/// Locks the file that MPI-IO has opened to append to it, and tells its size: until then, another job may have appended, too.
pub fn lock(
    team: &mut Team,
    file: Box<dyn ParallelFile>,
    target: &mut Target,
) -> Result<(Box<dyn ParallelFile>, u64), Failure> {
    let locked = if team.rank() == 0 { target.opened_by_name() } else { Ok(()) };
    match team.share(0, locked.map(|()| [target.size()])) {
        Ok([size]) => Ok((file, size)),
        Err(failure) => Err(close(team, file, failure)),
    }
}

/// Creates a file with MPI-IO: only MPI-IO understands hints, and the prefix that names a driver of ROMIO.
pub fn create(
    team: &mut Team,
    path: &Path,
    params: &mut Params,
    target: &mut Target,
    header: &[u8],
) -> Result<Box<dyn ParallelFile>, Failure> {
    let prepared = if team.rank() == 0 { target.prepare(Driver::MpiIo).map(drop) } else { Ok(()) };
    team.agree(prepared)?;
    // A rank that cannot open would leave the others waiting in MPI_File_open.
    team.agree(file_system::check_writable(target.goal()))?;
    let part = params.atomic.then(|| target.goal().to_owned());
    let (name, access) = part.as_deref().map_or((path, Access::Write), |part| (part, Access::WriteNew));
    let is_first = team.rank() == 0;
    let opened = || if is_first { target.opened_by_name() } else { Ok(()) };
    let file = open(team, name, params, access, opened)?;
    let mut file = with_faults(team, params, file);
    let emptied = empty(team, &mut *file, target).and_then(|block| {
        params.find_stripe(block);
        let written = if team.rank() == 0 { file.write_at(0, &[header]) } else { Ok(()) };
        team.agree(written).map(drop)?;
        let synced = if is_header_synced(params) { file.sync() } else { Ok(()) };
        team.agree(synced).map(drop)
    });
    match emptied {
        Ok(()) => Ok(file),
        Err(failure) => Err(close(team, file, failure)),
    }
}

/// Truncates a file that MPI-IO opened for writing, which leaves what it had: as rank 0 finds its size, for it
/// may differ between ranks while others change it. Tells the block size that rank 0 finds.
fn empty(team: &mut Team, file: &mut dyn ParallelFile, target: &Target) -> Result<u64, Failure> {
    // Truncating is collective: all ranks decide by the size that rank 0 found.
    let [size, block] = team.share(0, Ok([target.size(), target.block_bytes()]))?;
    if size > 0 {
        let truncated = file.truncate(0);
        team.agree(truncated)?;
    }
    Ok(block)
}
