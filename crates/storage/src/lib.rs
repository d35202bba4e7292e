//! Files that all ranks write and read at once, by one of two drivers.
#![cfg_attr(test, allow(clippy::cast_possible_truncation))] // test data

mod calls;
pub mod copy;
pub mod descriptors;
#[cfg(any(test, feature = "doubles"))]
pub mod double;
pub mod faults;
pub mod file_system;
pub mod handover;
#[allow(unsafe_code)]
pub mod lent_memory;
pub mod lock;
pub mod lock_file;
#[allow(unsafe_code)]
pub mod lustre;
#[cfg(feature = "mpi")]
#[allow(unsafe_code)]
pub mod mpi_io;
pub mod names;
pub mod posix;
pub mod queue;
pub mod read_at_file;
pub mod rotation;
pub mod shared_file;
pub mod timed;

use scda_base::error::{Error, ErrorKind, Result};

/// How the ranks reach the file. The bytes of the file are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// POSIX where all ranks are on one node, on file systems that are known to be coherent between nodes, on NFS, and
    /// where there is no MPI; MPI-IO on others and when hints are given.
    #[default]
    Auto,
    /// MPI-IO.
    MpiIo,
    /// `pwrite` and `pread` by every rank.
    Posix,
}

/// A file that is open on all ranks.
///
/// Reading and writing are independent, not collective. A rank whose access fails then leaves no other waiting, and
/// its counts are right; collective writes of Open MPI report success on a full disk. The accesses of this library
/// are contiguous, so that collective buffering would gain nothing. The ranks agree on the outcome afterwards.
///
/// A file that is only read has no calls of its own to write, truncate and sync: they are `Internal` errors.
pub trait ParallelFile: Send {
    /// Writes the pieces one after the other, beginning at `offset`. It is an error if not all is written.
    ///
    /// # Errors
    /// Those of the file system.
    fn write_at(&mut self, _offset: u64, _pieces: &[&[u8]]) -> Result<()> {
        Err(read_only())
    }

    /// Fills `buffer` from `offset`.
    ///
    /// # Errors
    /// `ShortFile` if the file ends before, `Io` if it does not and yet no byte could be read, and those of
    /// the file system.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()>;

    /// The bytes of the file now. Not collective.
    ///
    /// # Errors
    /// Those of the file system.
    fn size(&mut self) -> Result<u64>;

    /// Cuts the file to `length` bytes, which it has at least. Collective: every rank calls it, when none of them
    /// writes.
    ///
    /// # Errors
    /// Those of the file system.
    fn truncate(&mut self, _length: u64) -> Result<()> {
        Err(read_only())
    }

    /// Brings what was written to stable storage. Collective.
    ///
    /// # Errors
    /// Those of the file system.
    fn sync(&mut self) -> Result<()> {
        Err(read_only())
    }

    /// Lets this rank read what other nodes have brought to stable storage, where the cache of its own node may hide that. Not
    /// collective.
    fn look_again(&mut self) {}

    /// Closes the file. Collective.
    ///
    /// # Errors
    /// Those that the file system reports only now.
    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// The error of what changes a file that is only read.
fn read_only() -> Error {
    Error::new(ErrorKind::Internal, "a file that is only read cannot be changed")
}
