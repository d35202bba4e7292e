//! Communicators of the crate `mpi`, rsmpi.

use super::mpi::Mpi;
use ::mpi::topology::Communicator;
use scda_base::error::Result;

impl Mpi {
    /// Duplicates a communicator of the crate `mpi` 0.8 (rsmpi). Collective over it.
    ///
    /// The duplicate is independent of the original, but needs MPI: close or drop the file before the
    /// `Universe` is dropped, which finalizes MPI. Later calls return a `Usage` error.
    ///
    /// ```no_run
    /// use scda::{Mpi, WriteOptions, Writer};
    ///
    /// let universe = mpi::initialize().expect("MPI is not initialised yet");
    /// let mut file = Writer::create(Mpi::new(&universe.world())?, "state.scda", b"", &WriteOptions::default())?;
    /// file.close()?;
    /// # Ok::<(), scda::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if MPI is not running, `Argument` for intercommunicators, `Mpi`.
    pub fn new(comm: &impl Communicator) -> Result<Self> {
        // SAFETY: rsmpi has only valid handles, which live as long as what it lends. `duplicate` checks that
        // MPI is running.
        unsafe { Self::duplicate(comm.as_raw().0) }
    }
}
