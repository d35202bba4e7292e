//! A file of any bytes that gets its name only when it is complete, as a file of sections does with
//! [`WriteOptions::atomic`].

use super::options::WriteOptions;
use super::target::Target;
use scda_base::environment::Environment;
use scda_base::error::{Error, Result, quote_path};
use scda_base::fork::Process;
use scda_storage::file_system::FileSystem;
use scda_storage::posix::PosixFile;
use scda_storage::{Driver, ParallelFile};
use std::path::Path;

/// A file that gets its name only when it is complete and on stable storage. Until then its bytes go to its
/// part file, which is removed if this is dropped early.
pub struct AtomicFile {
    name: String,
    target: Target,
    /// The part file, until it is closed.
    file: Option<PosixFile>,
    bytes: u64,
    /// The error of a write, after which the file is not complete.
    error: Option<Error>,
    /// The process that created the file.
    process: Process,
}

impl AtomicFile {
    /// Creates the part file. Its permissions are those of the file that it will replace, or else `mode`
    /// without the bits of the umask.
    ///
    /// # Errors
    /// Those of the file system; `BadFile` if the name is that of a folder, pipe or device.
    pub fn create(path: impl AsRef<Path>, mode: u32) -> Result<Self> {
        let path = path.as_ref();
        let mut params = WriteOptions::default();
        (params.atomic, params.sync, params.mode) = (true, true, mode);
        // If there is no folder, creating the file reports it.
        let found = FileSystem::of(path).map_or(true, |system| system.is_coherent);
        let is_coherent = found && Environment::read()?.coherent != Some(false);
        let mut this = Self {
            name: quote_path(path),
            target: Target::new(path, &params, is_coherent),
            file: None,
            bytes: 0,
            error: None,
            process: Process::this(),
        };
        let file = this.target.prepare(Driver::Posix, |_| Ok(()));
        this.file = Some(this.named(file)?);
        Ok(this)
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Those of the file system. All later calls then return the same error.
    pub fn write(&mut self, data: &[u8]) -> Result<()> {
        self.check()?;
        let bytes = self.bytes;
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_at(bytes, &[data]));
        self.bytes += data.len() as u64;
        self.error = self.named(written).err();
        self.check()
    }

    /// Brings the file to stable storage and gives it its name, unless another process has removed or
    /// replaced the part file.
    ///
    /// # Errors
    /// Those of the file system, and that of a write which has failed. In that case, no file has changed.
    pub fn finish(mut self) -> Result<()> {
        self.check()?;
        let closed = self.file.take().map_or(Ok(()), |mut file| {
            file.sync()?;
            Box::new(file).close()
        });
        let completed = closed.and_then(|()| self.target.complete(self.bytes, |_, _| true));
        self.named(completed)
    }

    /// Returns an error in a forked process, and after a write that has failed.
    fn check(&self) -> Result<()> {
        self.named(self.process.check())?;
        self.error.as_ref().map_or(Ok(()), |error| Err(error.again()))
    }

    /// Adds the name of the file to an error.
    fn named<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error: Error| error.in_file(&self.name))
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if self.process.is_this() {
            self.target.discard();
        }
    }
}
