//! Interrupts compression from another thread.

use scda_base::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops the compression of a section from another thread, between two elements. Clones stop the same files.
///
/// The call that compresses then fails on all ranks, and the file is closed. This cannot be undone.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Stops all files that were opened with this one in their parameters.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns an error if it was stopped.
    pub(super) fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) { Err(Error::usage("interrupted by the program")) } else { Ok(()) }
    }
}
