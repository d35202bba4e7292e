//! The file that is written: its names, and what happens to them at the end.

use crate::error::{Error, ErrorKind, Result};
use crate::storage::place::{self, Status};
use crate::storage::posix::PosixFile;
use crate::storage::{Driver, ParallelFile};
use rustix::fs::OFlags;
use std::path::{Path, PathBuf};

/// The file that is written.
pub struct Target {
    /// Its name, which a change of the working folder does not change.
    path: PathBuf,
    /// Where an atomic write goes before it is renamed.
    part: Option<PathBuf>,
    /// Rank 0: what an atomic write is to replace.
    old: Option<Status>,
    /// Rank 0: which file it is, to notice that it was removed or replaced.
    status: Option<Status>,
}

/// What a link points to, whether that exists or not: it is replaced, not the link.
fn followed(mut path: PathBuf) -> PathBuf {
    // As many links as Linux follows.
    for _ in 0..40 {
        match std::fs::read_link(&path) {
            Ok(to) => path = place::folder(&path).join(to),
            Err(_) => break,
        }
    }
    path
}

impl Target {
    pub fn new(path: &Path, atomic: bool) -> Self {
        let mut path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        if atomic {
            path = followed(path);
        }
        let part = atomic.then(|| place::part(&path));
        Self { path, part, old: None, status: None }
    }

    /// The name under which the file is written.
    pub fn goal(&self) -> &Path {
        self.part.as_deref().unwrap_or(&self.path)
    }

    /// Rank 0: notices what forbids writing, and with POSIX creates the file. With MPI-IO it is
    /// created later.
    pub fn prepare(&mut self, driver: Driver) -> Result<Option<PosixFile>> {
        self.old = place::status(&self.path)?;
        match self.old {
            Some(old) if old.is_folder || old.is_stream || self.part.is_some() && !old.is_regular => {
                return Err(Error::new(
                    ErrorKind::BadFile,
                    "found a folder, pipe or device, expected a file",
                ));
            }
            Some(_) => {
                place::check_writable(&self.path)?;
                if self.part.is_some() {
                    place::check_replaceable(&self.path)?;
                }
            }
            None => {}
        }
        if let Some(part) = &self.part {
            place::remove_stale(part)?;
        }
        if driver == Driver::MpiIo {
            return Ok(None);
        }
        let mut flags = OFlags::WRONLY | OFlags::CREATE;
        let mut mode = 0o666;
        if self.part.is_some() {
            flags |= OFlags::EXCL | OFlags::NOFOLLOW;
            // From the beginning nobody may open the new file who may not open the old one.
            mode &= self.old.map_or(mode, |old| old.mode & 0o700 | 0o200);
        }
        let mut file = PosixFile::open_with_mode(self.goal(), flags, mode)?;
        let status = file.status()?;
        self.status = Some(status);
        self.opened();
        // Truncating costs, on ext4 a write-back at close, even where there is nothing to truncate.
        if status.is_regular && status.size > 0 {
            file.truncate()?;
        }
        Ok(Some(file))
    }

    /// Rank 0: the size in bytes that the file had when it was opened. On other ranks 0.
    #[cfg(feature = "mpi")]
    pub fn size(&self) -> u64 {
        self.status.map_or(0, |status| status.size)
    }

    /// Rank 0: the file is open, and nothing is written to it yet.
    pub fn opened(&mut self) {
        if self.status.is_none() {
            self.status = place::status(self.goal()).ok().flatten();
        }
        if let (Some(part), Some(old), Some(status)) = (&self.part, self.old, self.status) {
            // Not every file system has permissions.
            let _ = place::adopt(part, status.identity, &old);
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
        let Some(found) = place::fresh_status(self.goal())? else {
            return Err(lost("the file removed"));
        };
        if self.status.is_some_and(|status| status.identity != found.identity) {
            return Err(lost("another file under its name"));
        }
        if found.size != expected {
            return Err(lost(&format!("{} bytes in the file", found.size)).at(found.size.min(expected)));
        }
        match &self.part {
            Some(part) => place::commit(part, &self.path, found.identity),
            None => Ok(()),
        }
    }

    /// When writing failed: rank 0 removes an incomplete atomic write. The old file stays.
    pub fn discard(&self) {
        if let (Some(part), Some(status)) = (&self.part, self.status) {
            let ours = place::link_status(part).ok().flatten().is_some_and(|s| s.identity == status.identity);
            if ours {
                // What cannot be removed has a name that tells what it is.
                let _ = place::remove_stale(part);
            }
        }
    }
}
