//! Stopping in time: signals and deadlines.

use super::mpi_types::Comm;
use super::{Outcome, guard};
use scda::stop;
use scda_base::error::{Error, Result};
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::time::Duration;

/// A stop is requested by the signal SIGTERM, which Slurm and others send before they kill a job.
pub const SCDA_STOP_TERM: c_int = 1;
/// By SIGUSR1, such as that of Slurm's `--signal`.
pub const SCDA_STOP_USR1: c_int = 2;
/// By SIGUSR2, which LSF sends when the time of a job is over.
pub const SCDA_STOP_USR2: c_int = 4;
/// By SIGINT, as from Ctrl-C.
pub const SCDA_STOP_INT: c_int = 8;
/// By SIGXCPU, when a limit of the processor's time is reached.
pub const SCDA_STOP_XCPU: c_int = 16;

/// The signals by their constants.
const SIGNALS: [(c_int, c_int); 5] = [
    (SCDA_STOP_TERM, libc::SIGTERM),
    (SCDA_STOP_USR1, libc::SIGUSR1),
    (SCDA_STOP_USR2, libc::SIGUSR2),
    (SCDA_STOP_INT, libc::SIGINT),
    (SCDA_STOP_XCPU, libc::SIGXCPU),
];

/// From now on, signals and a deadline request a stop, which `scda_stop_requested` tells all ranks. The signals no longer end the process. A
/// handler that the program has set before this call is called, too. A stop that was requested stays requested; another call of this
/// function adds signals and replaces the deadline.
///
/// Not collective: all ranks should call it, each may have another deadline. MPI need not be running: before `MPI_Init`, no signal comes too
/// early.
///
/// @param [in] signals  Which signals: the sum of some of `SCDA_STOP_TERM`, ... 0: `SCDA_STOP_TERM + SCDA_STOP_USR1`.
/// @param [in] seconds  A stop is also requested when so many seconds are over. 0: not by the time.
/// @param [out] err     The error code. May be NULL.
/// @return              0, or -1 on error.
/// Errors: `SCDA_ERR_ARG` for other signals, and for a time that is negative or no number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_stop_watch(
    signals: c_int,
    seconds: f64,
    err: Option<&mut MaybeUninit<c_int>>,
) -> c_int {
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

/// Whether any rank was asked to stop, by a signal or by the time (`scda_stop_watch`): the same answer on all ranks. So a program asks once in
/// each step, and writes a checkpoint and ends if the answer is 1. Once it is 1, it stays so.
///
/// Collective: the ranks exchange a few bytes in a duplicate of `comm`.
///
/// @param [in] comm  The communicator.
/// @param [out] err  The error code. May be NULL.
/// @return           1 if a stop was requested, 0 if not, -1 on error.
/// Errors: `SCDA_ERR_MPI`, `SCDA_ERR_USAGE` if MPI is not running.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_stop_requested(comm: Comm<'_>, err: Option<&mut MaybeUninit<c_int>>) -> c_int {
    guard(err, -1, || Ok((c_int::from(stop::requested(&*comm.duplicate()?)?), Outcome::Success)))
}
