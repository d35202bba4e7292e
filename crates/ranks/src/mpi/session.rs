//! Communicators of MPI sessions (MPI 4), for which nobody calls `MPI_Init`.

use super::{succeeded, sys};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Whether there is a session of ours: then MPI runs.
pub fn is_open() -> bool {
    OPEN.load(Relaxed) > 0
}

/// A session of ours beside that of the program: MPI runs as long as it is open, even if the program ends its own first.
#[derive(Debug)]
pub struct Session(sys::Handle);

// SAFETY: MPI lets any thread use a handle, at the level of thread support that the program asked for, and the
// library uses none from two threads at once.
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
        // SAFETY: MPI made this session for us, and what was derived for us from those of the program is freed.
        let _ = unsafe { sys::session_finalize(&raw mut self.0) };
    }
}
