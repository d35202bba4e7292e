//! The file that is written: its names, and what happens to them at the end.

use super::params::Params;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::file_system::{self, Status};
use crate::storage::posix::PosixFile;
use crate::storage::{Driver, ParallelFile};
use crate::storage::{copy, names};
use rustix::fs::OFlags;
use std::path::{Path, PathBuf};

/// Sections end at multiples of so many bytes.
const SECTION_BYTES: u64 = 32;
/// What follows the sections of an incomplete file; no section ends where it ends.
const INCOMPLETE: &[u8] = b"incomplete: its writer was stopped\n";

/// The file that is written.
pub struct Target {
    /// Its name, absolute: the program may change its working folder.
    path: PathBuf,
    /// The part file: where an atomic write goes until it is renamed.
    part: Option<PathBuf>,
    /// Whether a new name is to be brought to stable storage, too.
    sync: bool,
    /// Whether that of an atomic write is, without `sync`.
    sync_part: bool,
    /// Rank 0: the file that has the name before.
    old: Option<Status>,
    /// Rank 0: which file is written, to find out if it is removed or replaced.
    status: Option<Status>,
    /// Rank 0: this write has created the part file.
    has_part: bool,
    /// Rank 0: the file of which the part file began as a copy, locked until the part file has its name.
    copied: Option<PosixFile>,
}

impl Target {
    pub fn new(path: &Path, params: &Params) -> Self {
        let mut path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        if params.atomic {
            path = names::target_path(&path);
        }
        let part = params.atomic.then(|| names::part_path(&path));
        let (sync, sync_part) = (params.sync, params.sync || !params.later);
        Self { path, part, sync, sync_part, old: None, status: None, has_part: false, copied: None }
    }

    /// The name under which the file is written.
    pub fn goal(&self) -> &Path {
        self.part.as_deref().unwrap_or(&self.path)
    }

    /// Rank 0: checks that the file may be written, and with POSIX creates it. MPI-IO creates it later.
    pub fn prepare(&mut self, driver: Driver) -> Result<Option<PosixFile>> {
        self.check()?;
        self.part.as_deref().map_or(Ok(()), file_system::remove_stale)?;
        if driver == Driver::MpiIo {
            return Ok(None);
        }
        let mut file = match &self.part {
            Some(part) => PosixFile::create_new(part, self.first_mode())?,
            None => PosixFile::open(&self.path, OFlags::WRONLY | OFlags::CREATE)?,
        };
        self.opened(|| file.status().map(Some))?;
        if self.part.is_none() && self.status.is_some_and(|status| status.is_regular) {
            // Nobody appends to it meanwhile. Who creates a file takes it from whoever has it.
            let _ = file.lock();
        }
        // Truncating costs, on ext4 a write-back at close, even where there is nothing to truncate.
        if self.status.is_some_and(|status| status.is_regular && status.size > 0) {
            file.truncate(0)?;
        }
        Ok(Some(file))
    }

    /// Rank 0: opens the file that exists, to append to it. An atomic write appends to a copy.
    pub fn prepare_to_append(&mut self) -> Result<PosixFile> {
        self.check()?;
        let mut old = PosixFile::open(&self.path, OFlags::RDWR | OFlags::NONBLOCK)?.regular()?;
        old.lock()?;
        let status = old.status()?;
        if file_system::status(&self.path)?.map(|found| found.identity) != Some(status.identity) {
            // An atomic write that had the lock has replaced it.
            return Err(Error::new(
                ErrorKind::FileInUse,
                "open: found that the file was replaced while it was opened",
            ));
        }
        self.old = Some(status);
        let Some(part) = &self.part else {
            self.status = Some(status);
            return Ok(old);
        };
        file_system::remove_stale(part)?;
        let mut part = PosixFile::create_new(part, self.first_mode())?;
        self.opened(|| part.status().map(Some))?;
        copy::copy(&mut old, &mut part, status.size)?;
        self.copied = Some(old);
        Ok(part)
    }

    /// The mode with which a part file is created: nobody who may not open the old file may ever open this one.
    fn first_mode(&self) -> u32 {
        self.old.map_or(0o666, |old| old.mode & 0o600 | 0o200)
    }

    /// Checks that the file may be written, before anything is changed.
    fn check(&mut self) -> Result<()> {
        self.old = file_system::status(&self.path)?;
        match self.old {
            Some(old) if old.is_folder || old.is_stream || self.part.is_some() && !old.is_regular => {
                return Err(Error::new(
                    ErrorKind::BadFile,
                    "found a folder, pipe or device, expected a file",
                ));
            }
            Some(_) => {
                file_system::check_writable(&self.path)?;
                if self.part.is_some() {
                    file_system::check_replaceable(&self.path)?;
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Rank 0: the size in bytes that the file had when it was opened. On other ranks 0.
    #[cfg(feature = "mpi")]
    pub fn size(&self) -> u64 {
        self.status.map_or(0, |status| status.size)
    }

    /// Rank 0: the block size of the file, when it is open.
    pub fn block_bytes(&self) -> u64 {
        self.status.map_or(0, |status| status.block_bytes)
    }

    /// Rank 0: the file is open under its name, and nothing is written to it yet.
    #[cfg(feature = "mpi")]
    pub fn opened_by_name(&mut self) -> Result<()> {
        let goal = self.goal().to_owned();
        self.opened(|| file_system::status(&goal))
    }

    /// As above; `status` tells which file it is.
    fn opened(&mut self, status: impl FnOnce() -> Result<Option<Status>>) -> Result<()> {
        self.has_part = self.part.is_some();
        self.status = status()?;
        let Some(status) = self.status else {
            return Err(Error::new(
                ErrorKind::FileInUse,
                "open: found that the file was removed while it was opened",
            ));
        };
        match (&self.part, self.old) {
            (Some(part), Some(old)) => file_system::adopt(part, status.identity, &old),
            _ => Ok(()),
        }
    }

    /// Rank 0, when all ranks have closed the file: compares its size with what was written, and
    /// gives an atomic write its name.
    pub fn complete(&self, expected: u64) -> Result<()> {
        if self.status.is_some_and(|status| !status.is_regular) {
            return Ok(());
        }
        let lost = |found: &str| {
            Error::new(ErrorKind::Io, format!("close: found {found}, expected {expected} bytes"))
        };
        let Some(found) = file_system::fresh_status(self.goal())? else {
            return Err(lost("the file removed"));
        };
        if self.status.is_some_and(|status| status.identity != found.identity) {
            return Err(lost("another file under its name"));
        }
        if found.size != expected {
            return Err(lost(&format!("{} bytes in the file", found.size)).at(found.size.min(expected)));
        }
        match &self.part {
            Some(part) => file_system::commit(part, &self.path, found.identity, self.sync_part),
            None if self.sync => self.sync_name(),
            None => Ok(()),
        }
    }

    /// Rank 0: brings the name of a new file to stable storage. That of an atomic write is brought there when it gets it.
    pub fn sync_name(&self) -> Result<()> {
        if self.part.is_some() || self.old.is_some() {
            return Ok(());
        }
        file_system::sync_folder(&names::target_path(&self.path))
    }

    /// Rank 0, when writing failed and all ranks have closed the file: removes an incomplete atomic write; the old
    /// file stays. Any other file is marked, if that is wanted.
    pub fn give_up(&self, mark: bool) {
        self.discard();
        if mark && self.part.is_none() {
            // The sections in it are right all the same.
            let _ = self.mark_incomplete();
        }
    }

    /// Lets the file end where no section ends, if it still is the one that was written.
    fn mark_incomplete(&self) -> Result<()> {
        // Not waiting for somebody to read a pipe of this name.
        let mut file = PosixFile::open(&self.path, OFlags::WRONLY | OFlags::NONBLOCK)?;
        let found = file.status()?;
        let is_ours =
            self.status.is_some_and(|status| status.is_regular && status.identity == found.identity);
        if is_ours && found.size % SECTION_BYTES == 0 {
            file.write_at(found.size, &[INCOMPLETE])?;
        }
        Box::new(file).close()
    }

    /// When writing failed: removes an incomplete atomic write. The old file stays.
    pub fn discard(&self) {
        let Some(part) = self.part.as_deref().filter(|_| self.has_part) else { return };
        let found = file_system::link_status(part).ok().flatten();
        // Without a status, the step after its creation failed.
        let is_ours = self.status.is_none_or(|status| found.is_some_and(|s| s.identity == status.identity));
        if is_ours {
            // If it cannot be removed, its name says what it is.
            let _ = file_system::remove_stale(part);
        }
    }
}
