//! Interrupts compression from another thread.

use scda_base::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops the compression of a section, between two elements, from another thread. Clones stop the same files.
///
/// The call that compresses then fails, on all ranks, and the file is closed. It stays stopped.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Stops all files that were opened with this one among their parameters.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// An error if it was stopped.
    pub(super) fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) { Err(Error::usage("interrupted by the program")) } else { Ok(()) }
    }
}
