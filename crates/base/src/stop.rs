//! Requests to stop: signals and a deadline, recorded until the program asks for them.

use crate::error::{Error, Result};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Whether one of the signals has arrived.
static NOTED: AtomicBool = AtomicBool::new(false);
/// The deadline, in nanoseconds after [`START`]; the largest number if there is none.
static DEADLINE: AtomicU64 = AtomicU64::new(u64::MAX);
static START: OnceLock<Instant> = OnceLock::new();

/// All signal numbers are less than this.
const SIGNALS: usize = 65;
/// A program may set a handler after ours that calls ours, and then watch the signal again, so our handler
/// can be in the chain several times. Each time it is a different function that knows what to call; a single
/// function would call itself without end.
const LEVELS: usize = 4;
/// The handler that each level calls, and whether it takes three arguments.
static BEFORE: [[AtomicUsize; SIGNALS]; LEVELS] =
    [const { [const { AtomicUsize::new(NOTHING) }; SIGNALS] }; LEVELS];
static TAKES_INFO: [[AtomicBool; SIGNALS]; LEVELS] =
    [const { [const { AtomicBool::new(false) }; SIGNALS] }; LEVELS];
/// The signal is not handled at this level. No function has this address, which is that of `SIG_ERR`.
const NOTHING: usize = usize::MAX;
static NOTES: [Long; LEVELS] = [note::<0>, note::<1>, note::<2>, note::<3>];

/// A handler with one argument, and one with three (`SA_SIGINFO`).
type Short = extern "C" fn(c_int);
type Long = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Records a signal, and calls the program's handler, if it had one. It does nothing else, because a signal
/// may interrupt anything.
#[allow(unsafe_code)]
extern "C" fn note<const LEVEL: usize>(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    NOTED.store(true, SeqCst);
    let number = usize::try_from(signal).unwrap_or(0);
    let (Some(before), Some(takes_info)) = (BEFORE[LEVEL].get(number), TAKES_INFO[LEVEL].get(number)) else {
        return;
    };
    let before = before.load(SeqCst);
    if [libc::SIG_DFL, libc::SIG_IGN, NOTHING].contains(&before) {
        return;
    }
    if takes_info.load(SeqCst) {
        // SAFETY: `sigaction` reported that this is a handler with three arguments.
        let before: Long = unsafe { std::mem::transmute(before) };
        before(signal, info, context);
    } else {
        // SAFETY: likewise, with one argument.
        let before: Short = unsafe { std::mem::transmute(before) };
        before(signal);
    }
}

/// From now on, this signal is recorded instead of ending the process. A handler that the program has for it
/// is called as well.
///
/// # Errors
/// `Argument` for a signal that cannot be handled, such as `SIGKILL`, and if the program has set too many
/// handlers, each followed by another call of this function.
#[allow(unsafe_code)]
pub fn watch_signal(signal: c_int) -> Result<()> {
    let wrong = || Error::argument(format!("signal {signal}: it cannot be handled"));
    let number = usize::try_from(signal).ok().filter(|&number| number < SIGNALS).ok_or_else(wrong)?;
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: it fills the struct that the pointer refers to.
    if unsafe { libc::sigaction(signal, null_mut(), before.as_mut_ptr()) } != 0 {
        return Err(wrong());
    }
    // SAFETY: it was filled, and was all zeros before.
    let mut action = unsafe { before.assume_init() };
    let handler = action.sa_sigaction;
    if NOTES.iter().any(|&note| note as usize == handler) {
        return Ok(());
    }
    let level = BEFORE.iter().position(|level| [handler, NOTHING].contains(&level[number].load(SeqCst)));
    let level = level.ok_or_else(|| {
        Error::argument(format!(
            "signal {signal}: the program has set more than {LEVELS} handlers, each after watching it"
        ))
    })?;
    // The signal may arrive as soon as it is handled.
    TAKES_INFO[level][number].store(action.sa_flags & libc::SA_SIGINFO != 0, SeqCst);
    BEFORE[level][number].store(handler, SeqCst);
    action.sa_sigaction = NOTES[level] as usize;
    action.sa_flags =
        action.sa_flags & (libc::SA_ONSTACK | libc::SA_NODEFER) | libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: the handler does only what is allowed in a handler.
    match unsafe { libc::sigaction(signal, &raw const action, null_mut()) } {
        0 => Ok(()),
        _ => Err(wrong()),
    }
}

/// From now on, a stop is also requested once this time is over; `None` removes the deadline.
pub fn watch_deadline(after: Option<Duration>) {
    let start = *START.get_or_init(Instant::now);
    let deadline = after.and_then(|after| start.elapsed().checked_add(after));
    let nanos = deadline.and_then(|deadline| u64::try_from(deadline.as_nanos()).ok());
    DEADLINE.store(nanos.unwrap_or(u64::MAX), SeqCst);
}

/// Whether this process was asked to stop, by a signal or by the deadline.
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
    static NEXT: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn of_program(_: c_int) {
        CALLS.fetch_add(1, SeqCst);
    }

    /// Chains like programs do: calls the handler that it replaced.
    #[allow(unsafe_code)]
    extern "C" fn chained(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        CALLS.fetch_add(100, SeqCst);
        // SAFETY: it replaced a handler with three arguments.
        let next: Long = unsafe { std::mem::transmute(NEXT.load(SeqCst)) };
        next(signal, info, context);
    }

    /// One test, because both change global state.
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
        // SAFETY: the handler only adds to a number.
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
        // A handler is set after ours, calls ours, and is watched again: each must be called once.
        // SAFETY: a struct of integers, for which zeros are valid.
        let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
        let mut replaced = action;
        action.sa_sigaction = chained as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        // SAFETY: the handler takes three arguments, as the flag says.
        assert_eq!(unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, &raw mut replaced) }, 0);
        NEXT.store(replaced.sa_sigaction, SeqCst);
        for _ in 0..2 {
            watch_signal(libc::SIGUSR1).unwrap();
            // SAFETY: it is handled.
            assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
        }
        assert_eq!(CALLS.load(SeqCst), 1 + 2 * 101);
        // Handlers that replace ours again and again need no more levels than there are handlers.
        for handler in [of_program as *const () as usize, libc::SIG_IGN, libc::SIG_DFL].repeat(3) {
            // SAFETY: as above.
            unsafe { libc::signal(libc::SIGUSR2, handler) };
            watch_signal(libc::SIGUSR2).unwrap();
        }
        for signal in [libc::SIGKILL, -1, 0, 1000] {
            watch_signal(signal).unwrap_err();
        }
    }
}
