//! Requests to stop: signals and a deadline, remembered until the program asks for them.

use crate::error::{Error, Result};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Whether one of the signals has come.
static NOTED: AtomicBool = AtomicBool::new(false);
/// The deadline, in nanoseconds after [`START`]; the greatest number if there is none.
static DEADLINE: AtomicU64 = AtomicU64::new(u64::MAX);
static START: OnceLock<Instant> = OnceLock::new();

/// The numbers of signals are less than this.
const SIGNALS: usize = 65;
/// What handled each signal before, and whether that takes three arguments.
static BEFORE: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(libc::SIG_DFL) }; SIGNALS];
static TAKES_INFO: [AtomicBool; SIGNALS] = [const { AtomicBool::new(false) }; SIGNALS];

/// A handler with one argument, and one with three (`SA_SIGINFO`).
type Short = extern "C" fn(c_int);
type Long = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Notes a signal, and calls the handler of the program, if it had one. It does nothing else: a signal may come in the middle of anything.
#[allow(unsafe_code)]
extern "C" fn note(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    NOTED.store(true, SeqCst);
    let number = usize::try_from(signal).unwrap_or(0);
    let (Some(before), Some(takes_info)) = (BEFORE.get(number), TAKES_INFO.get(number)) else { return };
    let before = before.load(SeqCst);
    if [libc::SIG_DFL, libc::SIG_IGN].contains(&before) {
        return;
    }
    if takes_info.load(SeqCst) {
        // SAFETY: `sigaction` said that this is a handler with three arguments.
        let before: Long = unsafe { std::mem::transmute(before) };
        before(signal, info, context);
    } else {
        // SAFETY: likewise with one argument.
        let before: Short = unsafe { std::mem::transmute(before) };
        before(signal);
    }
}

/// From now on, this signal is noted, and no longer ends the process. A handler that the program has for it is called, too.
///
/// # Errors
/// `Argument` for a signal that has no handler, such as `SIGKILL`.
#[allow(unsafe_code)]
pub fn watch_signal(signal: c_int) -> Result<()> {
    let wrong = || Error::argument(format!("signal {signal}: it cannot be handled"));
    let number = usize::try_from(signal).ok().filter(|&number| number < SIGNALS).ok_or_else(wrong)?;
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: it fills what the pointer leads to.
    if unsafe { libc::sigaction(signal, null_mut(), before.as_mut_ptr()) } != 0 {
        return Err(wrong());
    }
    // SAFETY: it was filled, and before that it was all zeros.
    let mut action = unsafe { before.assume_init() };
    let own = note as *const () as usize;
    if action.sa_sigaction == own {
        return Ok(());
    }
    // The signal may come as soon as it is handled.
    TAKES_INFO[number].store(action.sa_flags & libc::SA_SIGINFO != 0, SeqCst);
    BEFORE[number].store(action.sa_sigaction, SeqCst);
    action.sa_sigaction = own;
    action.sa_flags =
        action.sa_flags & (libc::SA_ONSTACK | libc::SA_NODEFER) | libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: the handler does only what a handler may do.
    match unsafe { libc::sigaction(signal, &raw const action, null_mut()) } {
        0 => Ok(()),
        _ => Err(wrong()),
    }
}

/// From now on, a stop counts as requested when this time is over; `None`: not by the time.
pub fn watch_deadline(after: Option<Duration>) {
    let start = *START.get_or_init(Instant::now);
    let deadline = after.and_then(|after| start.elapsed().checked_add(after));
    let nanos = deadline.and_then(|deadline| u64::try_from(deadline.as_nanos()).ok());
    DEADLINE.store(nanos.unwrap_or(u64::MAX), SeqCst);
}

/// Whether this process was asked to stop, by a signal or by the time.
#[must_use]
pub fn is_noted() -> bool {
    let is_over = || {
        let elapsed = START.get().map_or(0, |start| start.elapsed().as_nanos());
        elapsed >= u128::from(DEADLINE.load(SeqCst))
    };
    NOTED.load(SeqCst) || is_over()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    static CALLS: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn of_program(_: c_int) {
        CALLS.fetch_add(1, SeqCst);
    }

    /// In one test: both change what is global.
    #[test]
    #[allow(unsafe_code)]
    fn signals_and_deadlines_are_noted_and_the_handler_of_the_program_stays() {
        assert!(!is_noted());
        watch_deadline(Some(Duration::from_secs(1000)));
        assert!(!is_noted());
        watch_deadline(Some(Duration::ZERO));
        assert!(is_noted());
        watch_deadline(None);
        assert!(!is_noted());
        // SAFETY: the handler adds to a number.
        unsafe { libc::signal(libc::SIGUSR1, of_program as *const () as usize) };
        for _ in 0..2 {
            watch_signal(libc::SIGUSR1).unwrap();
        }
        watch_signal(libc::SIGUSR2).unwrap();
        assert!(!is_noted());
        // SAFETY: both are handled.
        assert_eq!(unsafe { libc::raise(libc::SIGUSR2) }, 0);
        assert!(is_noted() && CALLS.load(SeqCst) == 0);
        // SAFETY: likewise.
        assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
        assert_eq!(CALLS.load(SeqCst), 1);
        for signal in [libc::SIGKILL, -1, 0, 1000] {
            watch_signal(signal).unwrap_err();
        }
    }
}
