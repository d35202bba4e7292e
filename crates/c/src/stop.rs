//! Stopping in time: signals and deadlines.

use super::memory::Out;
use super::mpi_types::Comm;
use super::{Outcome, guard};
use scda::stop;
use scda_base::error::{Error, Result};
use std::ffi::c_int;
use std::time::Duration;

/// Stop on the signal SIGTERM, which Slurm and others send before they kill a job.
pub const SCDA_STOP_TERM: c_int = 1;
/// Stop on SIGUSR1, for example with Slurm's `--signal`.
pub const SCDA_STOP_USR1: c_int = 2;
/// Stop on SIGUSR2, which LSF sends when the time of a job is over.
pub const SCDA_STOP_USR2: c_int = 4;
/// Stop on SIGINT, which Ctrl-C sends.
pub const SCDA_STOP_INT: c_int = 8;
/// Stop on SIGXCPU, at the limit of processor time.
pub const SCDA_STOP_XCPU: c_int = 16;

/// The signals by their constants.
const SIGNALS: [(c_int, c_int); 5] = [
    (SCDA_STOP_TERM, libc::SIGTERM),
    (SCDA_STOP_USR1, libc::SIGUSR1),
    (SCDA_STOP_USR2, libc::SIGUSR2),
    (SCDA_STOP_INT, libc::SIGINT),
    (SCDA_STOP_XCPU, libc::SIGXCPU),
];

/// From now on, signals and a deadline request a stop, which `scda_stop_requested` tells all ranks. The
/// signals no longer end the process. A handler that the program set before this call is called as well. A
/// stop that was requested stays requested; another call of this function adds signals and replaces the
/// deadline.
///
/// Not collective: all ranks should call it, with the same or different deadlines. MPI need not be running,
/// so call it before `MPI_Init` to miss no signal.
///
/// @param [in] signals  The signals: the sum of some of `SCDA_STOP_TERM`, ... 0: `SCDA_STOP_TERM +
///                      SCDA_STOP_USR1`.
/// @param [in] seconds  A stop is also requested after this many seconds. 0: no deadline.
/// @param [out] err     The error code. May be NULL.
/// @return              0, or -1 on error.
/// Errors: `SCDA_ERR_ARG` for other signals, and for a time that is negative or not a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_stop_watch(signals: c_int, seconds: f64, err: Out<'_, c_int>) -> c_int {
    let body = || {
        watch(signals, seconds)?;
        Ok((0, Outcome::Success))
    };
    guard(err, -1, body)
}

fn watch(signals: c_int, seconds: f64) -> Result<()> {
    let wanted = if signals == 0 { SCDA_STOP_TERM | SCDA_STOP_USR1 } else { signals };
    let all = SIGNALS.iter().fold(0, |all, (bit, _)| all | bit);
    if wanted & !all != 0 {
        return Err(Error::argument(format!(
            "signals: found {signals}, expected a sum of SCDA_STOP_TERM, ..."
        )));
    }
    let after = Duration::try_from_secs_f64(seconds)
        .map_err(|_| Error::argument(format!("seconds: found {seconds}, expected 0 or more, up to 2^64")))?;
    let after = Some(after).filter(|after| !after.is_zero());
    let numbers: Vec<c_int> =
        SIGNALS.iter().filter(|(bit, _)| wanted & bit != 0).map(|&(_, signal)| signal).collect();
    stop::watch(&numbers, after)
}

/// Whether any rank was asked to stop, by a signal or by a deadline (`scda_stop_watch`). The answer is the
/// same on all ranks, and once 1 it stays 1. Call it once in each step; if the answer is 1, write a
/// checkpoint and end.
///
/// Collective: the ranks exchange a few bytes in a duplicate of `comm`.
///
/// @param [in] comm  The communicator.
/// @param [out] err  The error code. May be NULL.
/// @return           1 if a stop was requested, 0 if not, -1 on error.
/// Errors: `SCDA_ERR_MPI`, `SCDA_ERR_USAGE` if MPI is not running.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_stop_requested(comm: Comm<'_>, err: Out<'_, c_int>) -> c_int {
    guard(err, -1, || Ok((c_int::from(stop::requested(&*comm.duplicate()?)?), Outcome::Success)))
}
