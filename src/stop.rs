//! Stopping in time: signals and a deadline become one answer that is the same on all ranks.

use scda_base::error::{Error, Result};
use scda_base::stop::{is_noted, watch_deadline, watch_signal};
use scda_ranks::Communicator;
use std::time::Duration;

/// From now on, these signals, such as `libc::SIGTERM`, are noted and no longer end the process: [`requested`] tells all ranks. A handler
/// that the program has set before is called, too. With `after`, a stop is also requested when this time is over; without, a deadline of an
/// earlier call does not count any more. Not collective: all ranks should call it, any may have another deadline.
///
/// # Errors
/// `Argument` for a signal that cannot be handled, such as `SIGKILL`.
pub fn watch(signals: &[i32], after: Option<Duration>) -> Result<()> {
    signals.iter().try_for_each(|&signal| watch_signal(signal))?;
    watch_deadline(after);
    Ok(())
}

/// Whether any rank was asked to stop, by a signal or by the time ([`watch`]): the same on all ranks. Once it was, it stays so. Collective: one
/// small message; call it once in each step, where all ranks are.
///
/// # Errors
/// `Mpi`.
pub fn requested(comm: &(impl Communicator + ?Sized)) -> Result<bool> {
    // The least of all; 0 would be no result.
    let mut answer = [if is_noted() { 1 } else { 2 }];
    comm.allreduce_min(&mut answer)?;
    match answer {
        [1] => Ok(true),
        [2] => Ok(false),
        [other] => Err(Error::communication(format!("stop: found the answer {other}"))),
    }
}
