//! A file of this process that several readers share.

use super::ParallelFile;
use super::posix::PosixFile;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::OFlags;
use scda_base::error::{Result, quote_path};
use std::path::Path;
use std::sync::Arc;

/// A file that is opened for reading once for all its clones, for `Reader::open_at`. It is closed with the
/// last of them.
#[derive(Clone)]
pub struct SharedFile(Arc<PosixFile>);

impl SharedFile {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// Those of the file system; `BadFile` for a folder, device or pipe.
    pub fn open(path: &Path) -> Result<Self> {
        // Without NONBLOCK, opening a pipe would wait for a writer.
        let file = PosixFile::open(path, OFlags::RDONLY | OFlags::NONBLOCK).and_then(PosixFile::regular);
        file.map(|file| Self(Arc::new(file))).map_err(|error| error.in_file(&quote_path(path)))
    }
}

impl AsFd for SharedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl ParallelFile for SharedFile {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.0.read(offset, buffer)
    }

    fn size(&mut self) -> Result<u64> {
        self.0.status().map(|status| status.size)
    }
}
