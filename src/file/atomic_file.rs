//! A file of any bytes that gets its name only when it is complete, as a file of sections does with
//! [`Params::atomic`].

use super::options::WriteOptions;
use super::target::Target;
use scda_base::environment::Environment;
use scda_base::error::{Error, Result, quote_path};
use scda_base::fork::Process;
use scda_storage::file_system::FileSystem;
use scda_storage::posix::PosixFile;
use scda_storage::{Driver, ParallelFile};
use std::path::Path;

/// A file that appears under its name when it is complete and on stable storage. Until then it is its part file, which is removed if
/// this is dropped before.
pub struct AtomicFile {
    name: String,
    target: Target,
    /// Until it is closed.
    file: Option<PosixFile>,
    bytes: u64,
    /// The process whose file it is.
    process: Process,
}

impl AtomicFile {
    /// Creates the part file. It gets the permissions of the file that it will replace, or else these, less the umask.
    ///
    /// # Errors
    /// Those of the file system, and `BadFile` if there is a folder, pipe or device of this name.
    pub fn create(path: &Path, mode: u32) -> Result<Self> {
        let mut params = WriteOptions::default();
        (params.atomic, params.sync, params.mode) = (true, true, mode);
        // Where no folder is, creating the file says so.
        let found = FileSystem::of(path).map_or(true, |system| system.is_coherent);
        let is_coherent = found && Environment::read()?.coherent != Some(false);
        let mut this = Self {
            name: quote_path(path),
            target: Target::new(path, &params, is_coherent),
            file: None,
            bytes: 0,
            process: Process::this(),
        };
        let file = this.target.prepare(Driver::Posix, |_| Ok(()));
        this.file = Some(this.named(file)?);
        Ok(this)
    }

    /// Appends to it.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&mut self, data: &[u8]) -> Result<()> {
        self.named(self.process.check())?;
        let bytes = self.bytes;
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_at(bytes, &[data]));
        self.bytes += data.len() as u64;
        self.named(written)
    }

    /// Brings it to stable storage and gives it its name, unless somebody else has removed or replaced the part file.
    ///
    /// # Errors
    /// Those of the file system. No file has changed then.
    pub fn finish(mut self) -> Result<()> {
        self.named(self.process.check())?;
        let closed = self.file.take().map_or(Ok(()), |mut file| {
            file.sync()?;
            Box::new(file).close()
        });
        let completed = closed.and_then(|()| self.target.complete(self.bytes, |_, _| true));
        self.named(completed)
    }

    /// A result with the name of the file.
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
