//! Files that all ranks write and read at once, by one of two drivers.

mod calls;
pub mod copy;
pub mod faults;
pub mod file_system;
#[cfg(feature = "mpi")]
#[allow(unsafe_code)]
pub mod mpi_io;
pub mod names;
pub mod posix;

use crate::error::Result;

/// How the ranks reach the file. The bytes of the file are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// POSIX on file systems that are known to be coherent between the ranks' nodes, and where
    /// there is no MPI; MPI-IO on others and when hints are given.
    #[default]
    Auto,
    /// MPI-IO.
    MpiIo,
    /// `pwrite` and `pread` by every rank.
    Posix,
}

/// A file that is open on all ranks.
///
/// Reading and writing are independent, not collective: a rank whose access fails can never leave
/// another waiting, the counts tell the truth (collective writes of Open MPI report success on a
/// full disk), and the accesses of this library are contiguous, for which collective buffering has
/// nothing to gain. The ranks agree on the outcome afterwards.
pub trait ParallelFile: Send {
    /// Writes the pieces one after the other, beginning at `offset`. All is written, or it is an error.
    ///
    /// # Errors
    /// Those of the file system.
    fn write_at(&mut self, offset: u64, pieces: &[&[u8]]) -> Result<()>;

    /// Fills `buffer` from `offset`.
    ///
    /// # Errors
    /// `ShortFile` if the file ends before, `Io` if it does not and yet no byte could be read, and those of
    /// the file system.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()>;

    /// Cuts the file to `length` bytes, which it has at least. Collective: every rank calls it, when none of them
    /// writes.
    ///
    /// # Errors
    /// Those of the file system.
    fn truncate(&mut self, length: u64) -> Result<()>;

    /// Brings what was written to stable storage. Collective.
    ///
    /// # Errors
    /// Those of the file system.
    fn sync(&mut self) -> Result<()>;

    /// Closes the file. Collective.
    ///
    /// # Errors
    /// Those of the file system that it reports no earlier than now.
    fn close(self: Box<Self>) -> Result<()>;
}
