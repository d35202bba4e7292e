//! MPI sessions (MPI 4), with which programs can use MPI without `MPI_Init`.

use super::{succeeded, sys};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Whether this library has an open session, so that MPI is running.
pub fn is_open() -> bool {
    OPEN.load(Relaxed) > 0
}

/// A session of this library. It keeps MPI running even if the program ends its own sessions first.
#[derive(Debug)]
pub struct Session(sys::Handle);

// SAFETY: MPI lets any thread use a handle, within the level of thread support that the program requested,
// and the library uses none from two threads at once.
unsafe impl Send for Session {}

impl Session {
    /// `None` if this MPI has no sessions.
    pub fn open() -> Option<Self> {
        let mut session = sys::Handle::NONE;
        // SAFETY: sessions may begin at any time; writes one handle.
        let begun = unsafe { sys::session_init(&raw mut session) };
        if !succeeded(begun) {
            return None;
        }
        OPEN.fetch_add(1, Relaxed);
        Some(Self(session))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Relaxed);
        // SAFETY: MPI created this session for the library, and everything that the library derived from
        // communicators of the program's sessions has been freed.
        let _ = unsafe { sys::session_finalize(&raw mut self.0) };
    }
}
