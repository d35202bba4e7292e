//! Commits and closes that were begun and not waited for: `MPI_Finalize` completes them, and complains.

use super::context::{Context, locally, run, run_close, scda_fcontext_t};
use crate::file::Pending;
use std::ptr::without_provenance_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The handles of the files, in the order in which something was last begun: ranks that have two of them in common have
/// them in the same order.
static FILES: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn files() -> MutexGuard<'static, Vec<usize>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something was begun on this file.
pub fn note(f: *mut scda_fcontext_t) {
    forget(f);
    files().push(f.addr());
    crate::parallel::mpi::at_finalize(complete_all);
}

/// It was waited for.
pub fn forget(f: *mut scda_fcontext_t) {
    files().retain(|&file| file != f.addr());
}

fn complete_all() {
    let all = std::mem::take(&mut *files());
    all.into_iter().for_each(|file| complete(without_provenance_mut(file)));
}

/// Completes what was begun on a file, unless a later call has. Rank 0 complains.
fn complete(f: *mut scda_fcontext_t) {
    let (mut pending, mut rank) = (Pending::Nothing, 0);
    locally(f, None, |context| {
        if let Context::Writing(writer) = context {
            (pending, rank) = (writer.pending(), writer.ranks().rank);
        }
        Ok(())
    });
    let completed = match pending {
        Pending::Nothing => return,
        Pending::Commit => run(f, |context| context.writer()?.flush()).map(drop),
        Pending::Close => run_close(f).map(drop),
    };
    if rank == 0 {
        let outcome = completed.map_or_else(|error| error.to_string(), |()| "it went well".into());
        let call = if pending == Pending::Close { "scda_fclose_begin" } else { "scda_fcommit_begin" };
        eprintln!("libscda: MPI_Finalize completes a request of {call} that was not waited for: {outcome}");
    }
}
