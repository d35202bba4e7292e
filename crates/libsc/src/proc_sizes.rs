//! Sums the sizes of all ranks' elements. libsc's function takes no file, and hence no communicator: we find
//! one by the number of ranks for which there are counts.

use super::arrays::{ArrayIn, ArrayOut, sc_array};
use super::errors::{sc_scda_ferror, tell};
use super::files::world;
use super::libsc::resize;
use super::open_files::{closed, last_open};
use scda::bindings::Sizes;
use scda_base::error::{Error, ErrorKind, Result};
use scda_c::context::{Context, run};
use scda_c::memory::Out;
use scda_c::{Outcome, caught};
use std::ffi::c_int;
use std::ptr::null_mut;

/// A word with this bit is an error code, not a sum.
const IS_ERROR: u64 = 1 << 63;

/// Computes the bytes of a varray on each rank, which the functions for varrays take as `proc_sizes`.
///
/// Collective over the ranks of the file opened last, among the open files with as many ranks as
/// `elem_counts` has numbers; if there is none, over `MPI_COMM_WORLD`. `elem_counts` has a number for
/// each rank, `elem_sizes` one for each element of this rank. `proc_sizes` is resized to the length of
/// `elem_counts` and filled. Returns 0, or -1 on error; files stay open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sc_scda_proc_sizes(
    elem_sizes: ArrayIn<'_>,
    elem_counts: ArrayIn<'_>,
    proc_sizes: *mut sc_array,
    errcode: Out<'_, sc_scda_ferror>,
) -> c_int {
    let mut is_first = true;
    let run = || {
        let ranks = elem_counts.get("elem_counts").map(|counts| counts.elem_count as u64);
        let mut own = None;
        let words = gather(ranks.ok(), |size, rank| {
            is_first = rank == 0;
            // SAFETY: C passes arrays of libsc, or NULL.
            let sum = unsafe { sum(elem_sizes, elem_counts, proc_sizes, size, rank) };
            // The other ranks get the error code; its message stays on this rank.
            sum.unwrap_or_else(|error| IS_ERROR | u64::from(own.insert(error).code().unsigned_abs()))
        })?;
        if let Some((rank, word)) = words.iter().enumerate().find(|(_, word)| *word & IS_ERROR != 0) {
            let kind = c_int::try_from(word & !IS_ERROR).ok().and_then(ErrorKind::from_code);
            let error = Error::new(kind.unwrap_or(ErrorKind::Internal), "error of this rank").on_rank(rank);
            return Err(own.unwrap_or(error));
        }
        // SAFETY: C passes an array of libsc, which has room for a number for each rank by now.
        let sums = unsafe { ArrayOut::at(proc_sizes) };
        sums.numbers(words.len() as u64, "proc_sizes")?.copy_from_slice(&words);
        Ok((0, Outcome::Success))
    };
    let (status, code) = caught(-1, run);
    tell(code, errcode, is_first);
    status
}

/// Gathers a word of each rank, by rank, over the ranks that [`sc_scda_proc_sizes`] describes. `mine` makes
/// this rank's word, given the number of ranks and the number of this one.
fn gather(ranks: Option<u64>, mine: impl FnOnce(u64, usize) -> u64) -> Result<Vec<u64>> {
    let Some(file) = last_open(|size| ranks.is_none_or(|ranks| ranks == size)) else {
        let comm = world(ranks)?;
        return comm.allgather(mine(comm.size() as u64, comm.rank()));
    };
    let word = mine(file.size, file.rank);
    let mut words = Vec::new();
    let exchange = |context: &mut Context| {
        words = context.proc_counts(word)?;
        Ok(Outcome::Success)
    };
    let (f, code) = caught(null_mut(), || run(file.handle(), exchange));
    if f.is_null() {
        closed(file.handle());
        let kind = ErrorKind::from_code(code).unwrap_or(ErrorKind::Internal);
        return Err(Error::new(kind, "the ranks did not meet in sc_scda_proc_sizes"));
    }
    Ok(words)
}

/// The sum of this rank's sizes. Also makes room for the sums of all ranks.
///
/// # Safety
/// `proc_sizes` satisfies [`sc_scda_proc_sizes`].
unsafe fn sum(
    elem_sizes: ArrayIn<'_>,
    elem_counts: ArrayIn<'_>,
    proc_sizes: *mut sc_array,
    ranks: u64,
    rank: usize,
) -> Result<u64> {
    let counts = elem_counts.numbers(ranks, "elem_counts")?;
    let sizes = elem_sizes.numbers(counts[rank], "elem_sizes")?;
    // SAFETY: the caller's array is NULL or may be read.
    unsafe { ArrayIn::at(proc_sizes) }.get("proc_sizes")?;
    // SAFETY: aligned, and the caller lets nobody else use it.
    if let Some(proc_sizes) = unsafe { proc_sizes.as_mut() } {
        // SAFETY: the caller has an array of libsc there.
        unsafe { resize(proc_sizes, counts.len(), "proc_sizes") }?;
    }
    Sizes::Each(sizes).total()
}
