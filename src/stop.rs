//! Stopping in time: signals and a deadline become one answer that is the same on all ranks.

use scda_base::error::{Error, Result};
use scda_base::stop::{is_noted, watch_deadline, watch_signal};
use scda_ranks::Communicator;
use std::time::Duration;

/// From now on, these signals, such as `libc::SIGTERM`, are recorded instead of ending the process, and
/// [`requested`] tells all ranks. A handler that the program set before is called as well. With `after`, a
/// stop is also requested once this time is over; without it, the deadline of an earlier call no longer
/// counts. All ranks should call it, with the same or different deadlines. Not collective.
///
/// # Errors
/// `Argument` for a signal that cannot be handled, such as `SIGKILL`.
pub fn watch(signals: &[i32], after: Option<Duration>) -> Result<()> {
    signals.iter().try_for_each(|&signal| watch_signal(signal))?;
    watch_deadline(after);
    Ok(())
}

/// Whether any rank was asked to stop, by a signal or by a deadline ([`watch`]). The answer is the same on
/// all ranks, and once true it stays true. Collective, with one small message: call it once in each step.
///
/// # Errors
/// `Mpi`.
pub fn requested(comm: &(impl Communicator + ?Sized)) -> Result<bool> {
    // The minimum over all ranks; 0 would mean that there is no result.
    let mut answer = [if is_noted() { 1 } else { 2 }];
    comm.allreduce_min(&mut answer)?;
    match answer {
        [1] => Ok(true),
        [2] => Ok(false),
        [other] => Err(Error::communication(format!("stop: found the answer {other}"))),
    }
}
