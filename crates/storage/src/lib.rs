//! Files that all ranks write and read at the same time, by one of two drivers.
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

/// How the ranks access the file. The bytes in the file are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// POSIX if all ranks are on one node, on file systems known to be coherent between nodes, on NFS, and
    /// without MPI; otherwise, and if hints are given, MPI-IO.
    #[default]
    Auto,
    /// MPI-IO.
    MpiIo,
    /// `pwrite` and `pread` on every rank.
    Posix,
}

/// A file that is open on all ranks.
///
/// Reading and writing are independent, not collective, so that a rank whose access fails leaves no other
/// waiting, and counts are right; collective writes of Open MPI report success on a full disk. The accesses
/// of this library are contiguous, so collective buffering would gain nothing. The ranks agree on the result
/// afterwards.
///
/// For a file that is only read, writing, truncating and syncing are `Internal` errors by default.
pub trait ParallelFile: Send {
    /// Writes consecutive runs from `offset` on. Writing only a part of them is an error.
    ///
    /// # Errors
    /// Those of the file system.
    fn write_at(&mut self, _offset: u64, _runs: &[&[u8]]) -> Result<()> {
        Err(read_only())
    }

    /// Fills `buffer` from `offset` on.
    ///
    /// # Errors
    /// `ShortFile` if the file ends before, `Io` if it does not end and yet no byte could be read, and those
    /// of the file system.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()>;

    /// The current size of the file. Not collective.
    ///
    /// # Errors
    /// Those of the file system.
    fn size(&mut self) -> Result<u64>;

    /// Truncates the file to `length` bytes, at most its size. Collective: every rank calls it, while none of
    /// them writes.
    ///
    /// # Errors
    /// Those of the file system.
    fn truncate(&mut self, _length: u64) -> Result<()> {
        Err(read_only())
    }

    /// Brings written data to stable storage. Collective.
    ///
    /// # Errors
    /// Those of the file system.
    fn sync(&mut self) -> Result<()> {
        Err(read_only())
    }

    /// Like [`Self::sync`], by the only rank that has written so far: what its node's cache has of the file
    /// is up to date, and is kept.
    ///
    /// # Errors
    /// Those of the file system.
    fn sync_alone(&mut self) -> Result<()> {
        self.sync()
    }

    /// Whether this rank may have written to the file.
    fn has_written(&mut self) -> bool {
        true
    }

    /// Lets this rank read what other nodes have brought to stable storage, even if the cache of its node
    /// hides it. Not collective.
    fn look_again(&mut self) {}

    /// Closes the file. Collective.
    ///
    /// # Errors
    /// Errors that the file system reports only now.
    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// The error for changing a file that is only read.
fn read_only() -> Error {
    Error::new(ErrorKind::Internal, "a file that is only read cannot be changed")
}
