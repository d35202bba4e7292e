//! A file that is read, or standard input.

use super::names::{NEW_FILE_MODE, check_not_left, is_standard, mode_like};
use super::options::Resources;
use crate::fail::{Fail, Result};
use crate::output::complain;
use scda::{ErrorKind, ReadOptions, Reader, SharedFile, SuperblockState, Tuning};
use std::cell::{Cell, OnceCell};
use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// True once a pipe on standard input has been read.
static WAS_READ: AtomicBool = AtomicBool::new(false);

/// A file to read, or standard input.
pub struct Input {
    path: PathBuf,
    name: String,
    threads: usize,
    max_memory: u64,
    /// True if sections after the last seal are read, too.
    unsealed: bool,
    /// Why the end of the file cannot be read, if its last seal is damaged. Set by [`Self::for_check`].
    damaged_end: Cell<Option<scda::Error>>,
    /// True if a message has said how many bytes after the last seal are not read.
    has_warned: Cell<bool>,
    /// The open file, which all readers share.
    shared: OnceCell<SharedFile>,
    /// A copy of standard input, if that is a pipe: random access needs a file. It has no name, so nothing remains of
    /// it.
    spool: Option<File>,
}

impl Input {
    pub fn new(path: &Path, resources: &Resources) -> Result<Self> {
        let mut tuning = Tuning::default();
        resources.set(&mut tuning);
        let Tuning { threads, max_memory, .. } = tuning;
        let name = path.display().to_string();
        let input = |path, name, spool| Self {
            path,
            name,
            threads,
            max_memory,
            unsealed: false,
            damaged_end: Cell::new(None),
            has_warned: Cell::new(false),
            shared: OnceCell::new(),
            spool,
        };
        if !is_standard(path) {
            return Ok(input(path.to_owned(), name, None));
        }
        let name = "standard input".to_owned();
        if is_whole_file() {
            return Ok(input("/dev/stdin".into(), name, None));
        }
        if WAS_READ.swap(true, Relaxed) {
            return Err(Fail::file(&name, "is a pipe, which can be read only once"));
        }
        let spool = || -> io::Result<_> {
            let mut spool = tempfile::tempfile()?;
            io::copy(&mut io::stdin().lock(), &mut spool)?;
            Ok(spool)
        };
        let spool = spool().map_err(|e| Fail::file(&name, e))?;
        Ok(input(format!("/dev/fd/{}", spool.as_raw_fd()).into(), name, Some(spool)))
    }

    /// Chooses whether sections after the last seal are read, too.
    pub fn with_unsealed(self, unsealed: bool) -> Self {
        Self { unsealed, ..self }
    }

    /// True if sections after the last seal are read, too.
    pub fn reads_unsealed(&self) -> bool {
        self.unsealed
    }

    /// For `scda check`: reads the whole file if its last seal is damaged, and prints no message about bytes that it
    /// skips.
    pub fn for_check(self, unsealed: bool) -> Self {
        let mut params = ReadOptions::default();
        params.tuning.max_memory = self.max_memory;
        let sealed = (!unsealed).then(|| self.reader(&params));
        let damaged_end =
            sealed.and_then(|opened| opened.map_or_else(Some, |mut reader| truncated(&mut reader)));
        let unsealed = unsealed || damaged_end.is_some();
        self.has_warned.set(true);
        // Errors that do not concern a seal are found again.
        let is_of_seal =
            |error: &scda::Error| matches!(error.kind(), ErrorKind::Checksum | ErrorKind::ShortFile);
        self.damaged_end.set(damaged_end.filter(is_of_seal));
        self.with_unsealed(unsealed)
    }

    /// Takes the error of the last seal of the file.
    pub fn take_damaged_end(&self) -> Option<scda::Error> {
        self.damaged_end.take()
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The permissions for a new file that gets data of this one.
    pub fn mode(&self) -> u32 {
        let own = || self.path.metadata().map_or(NEW_FILE_MODE, |found| mode_like(&found));
        // The permissions of the copy of a pipe say nothing.
        if self.spool.is_some() { NEW_FILE_MODE } else { own() }
    }

    /// How many threads may work on it.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Fails if this is the temporary file that an interrupted write of `to` has left.
    pub fn check_not_left(&self, to: &Path) -> Result<()> {
        check_not_left(to, &self.path, &self.name)
    }

    pub fn open(&self) -> scda::Result<Reader> {
        self.open_with(false)
    }

    fn open_with(&self, strict: bool) -> scda::Result<Reader> {
        let mut params = ReadOptions::default();
        (params.tuning.threads, params.tuning.max_memory) = (self.threads, self.max_memory);
        (params.strict, params.to_seal) = (strict, !self.unsealed);
        let reader = self.reader(&params)?;
        if let Some(bytes) = reader.left_out().filter(|bytes| *bytes > 0 && !self.has_warned.replace(true)) {
            let after = if reader.is_sealed() { "its last seal" } else { "its header" };
            complain(&format!(
                "{}: incomplete: {bytes} bytes after {after} were not committed and are left out (scda ls --unsealed lists them)",
                self.name
            ));
        }
        Ok(reader)
    }

    /// Makes a reader. The file is opened only once.
    fn reader(&self, params: &ReadOptions) -> scda::Result<Reader> {
        Reader::open_at(self.shared()?.clone(), &self.path, params)
    }

    fn shared(&self) -> scda::Result<&SharedFile> {
        if let Some(shared) = self.shared.get() {
            return Ok(shared);
        }
        let opened = SharedFile::open(&self.path)?;
        Ok(self.shared.get_or_init(|| opened))
    }

    /// The file itself, for reading at offsets.
    pub fn file(&self) -> io::Result<File> {
        let shared = self.shared().map_err(io::Error::other)?;
        Ok(shared.as_fd().try_clone_to_owned()?.into())
    }

    /// Opens a file that may be damaged: it stays open after an error in a section. See [`ReadOptions::strict`].
    pub fn open_damaged(&self, strict: bool) -> scda::Result<Reader> {
        let mut reader = self.open_with(strict)?;
        reader.inspect().tolerate_damage()?;
        Ok(reader)
    }
}

/// A temporary file without a name, where the system has such files.
pub fn temporary_file() -> Result<File> {
    tempfile::tempfile().map_err(|error| Fail::Trouble(format!("temporary file: {error}")))
}

/// The error for a file that ends before the seal to which its HDF5 superblock refers, which is written after that seal.
fn truncated(reader: &mut Reader) -> Option<scda::Error> {
    let Ok(Some(SuperblockState::View(found))) = reader.inspect().superblock() else { return None };
    let size = reader.inspect().file_size().filter(|size| *size < found.end)?;
    Some(scda::Error::short_file("truncated after it was sealed", found.end, size).at(size))
}

/// True if standard input is a file that can be opened again, and nothing has been read from it.
fn is_whole_file() -> bool {
    let is_at_start = || -> io::Result<bool> {
        let mut stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        Ok(stdin.metadata()?.is_file() && stdin.stream_position()? == 0)
    };
    is_at_start().unwrap_or(false) && File::open("/dev/stdin").is_ok()
}
