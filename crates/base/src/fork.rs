//! Forked processes: what holds in a child that was forked while other threads of the program were in this
//! library. Only the thread that called `fork` exists in the child: locks held by other threads stay locked
//! forever, and their work is never finished.
//!
//! So a fork waits until no thread is changing [global](Global) state, and a file that belongs to the parent
//! is recognized by the [number of forks](Process) before it was opened.

use crate::error::{Error, Result};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of forks between this process and the first one that used the library.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// Held while something global is used, and during a fork.
static GATE: Mutex<()> = Mutex::new(());

thread_local! {
    static FORKING: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
}

fn pass_gate() -> MutexGuard<'static, ()> {
    GATE.lock().unwrap_or_else(PoisonError::into_inner)
}

extern "C" fn before() {
    let _ = FORKING.try_with(|gate| gate.replace(Some(pass_gate())));
}

extern "C" fn after() {
    let _ = FORKING.try_with(RefCell::take);
}

extern "C" fn after_in_child() {
    FORKS.fetch_add(1, Relaxed);
    after();
}

/// Counts forks from now on.
#[allow(unsafe_code)]
fn watch() {
    static IS_WATCHING: AtomicBool = AtomicBool::new(false);
    if !IS_WATCHING.swap(true, Relaxed) {
        // SAFETY: the functions have the type that is called, and do only what is allowed in a forked
        // process: they lock, count and unlock. If there is no memory for them, as the result would say,
        // forks are not counted.
        unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after_in_child)) };
    }
}

/// A value that all threads share, used by one at a time. In a forked process it is intact and not locked.
pub struct Global<T>(Mutex<T>);

impl<T> Global<T> {
    /// A value that all threads share.
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Calls `body` with the value. `body` must not use anything else that is global.
    pub fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        watch();
        let _gate = pass_gate();
        body(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Identifies a process among those that it forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process(u32);

impl Process {
    /// The current process.
    pub fn this() -> Self {
        watch();
        Self(FORKS.load(Relaxed))
    }

    /// Whether this is the current process.
    #[inline]
    pub fn is_this(self) -> bool {
        self.0 == FORKS.load(Relaxed)
    }

    /// Returns an error if the current process was forked from this one.
    ///
    /// # Errors
    /// `Usage`.
    #[inline]
    pub fn check(self) -> Result<()> {
        if self.is_this() { Ok(()) } else { Err(forked()) }
    }
}

/// Whether the current process was not forked from one that has used the library.
pub fn is_in_first_process() -> bool {
    watch();
    FORKS.load(Relaxed) == 0
}

#[cold]
fn forked() -> Error {
    Error::usage("the file belongs to the process that opened it; this process was forked from it")
}
