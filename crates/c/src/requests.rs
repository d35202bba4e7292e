//! What the program has not completed before `MPI_Finalize`: commits and closes that it has not waited for
//! are completed, with a warning; about files that it has not closed, there is only a warning.

use super::context::{BEGUN, Context, for_each_writer, forget_begun, look, run, run_close, scda_fcontext_t};
use scda::bindings::{BindingCalls, PendingRequest, ReaderCalls, WriterCalls};
use std::ptr::without_provenance_mut;

/// Records that a commit or close has begun on this file.
pub fn note(f: *mut scda_fcontext_t) {
    forget_begun(f);
    BEGUN.with(|files| files.push(f.addr()));
}

/// Called when a file is opened for writing.
pub fn watch_finalize() {
    scda_ranks::mpi::at_finalize(complete_all);
}

/// The file with a commit or close that has begun, if there is only one.
pub fn only() -> Option<*mut scda_fcontext_t> {
    let all = BEGUN.with(|files| files.clone());
    let mut pending =
        all.into_iter().map(without_provenance_mut).filter(|&f| state_of(f).0 != PendingRequest::Nothing);
    let first = pending.next()?;
    pending.next().is_none().then_some(first)
}

/// Whether the close of a file has begun.
pub fn is_closing(f: *mut scda_fcontext_t) -> bool {
    state_of(f).0 == PendingRequest::Close
}

/// What has begun on a file and not completed, and this rank.
fn state_of(f: *mut scda_fcontext_t) -> (PendingRequest, usize) {
    let state = look(f, |context| {
        let pending = match context {
            Context::Writing(writer) => writer.pending(),
            Context::Reading(reader, _) => reader.pending(),
        };
        (pending, context.ranks().rank)
    });
    state.unwrap_or((PendingRequest::Nothing, 0))
}

fn complete_all() {
    let all = BEGUN.with(std::mem::take);
    all.into_iter().for_each(|file| complete(without_provenance_mut(file)));
    for_each_writer(|writer| {
        if let Some(loss) = writer.loss() {
            eprintln!("libscda: MPI_Finalize: {loss}");
        }
    });
}

/// Completes what has begun on a file, unless a later call has done so. Rank 0 prints a warning.
fn complete(f: *mut scda_fcontext_t) {
    let (pending, rank) = state_of(f);
    let completed = match pending {
        PendingRequest::Nothing => return,
        PendingRequest::Commit => run(f, |context| context.writer()?.flush()).map(drop),
        PendingRequest::Close => run_close(f).map(drop),
    };
    if rank == 0 {
        let outcome = completed.map_or_else(|error| error.to_string(), |()| "it went well".into());
        let call = if pending == PendingRequest::Close { "scda_fclose_begin" } else { "scda_fcommit_begin" };
        eprintln!("libscda: MPI_Finalize completes a request of {call} that was not waited for: {outcome}");
    }
}
