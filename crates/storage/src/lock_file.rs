//! Lock files, for file systems on which the file itself cannot be locked.
//!
//! On NFS, `flock` locks all bytes against other nodes, so programs for HDF5 that read the file would wait
//! for the job, and the job for them. So jobs lock another file next to it, which is removed when the lock is
//! released.

use super::ParallelFile;
use super::file_system::{fresh_status, link_status, remove};
use super::names::lock_path;
use super::posix::PosixFile;
use rustix::fs::OFlags;
use scda_base::error::{Error, ErrorKind, Result, quote_path};
use scda_base::fork::Process;
use std::path::{Path, PathBuf};

/// How often to try to take the lock while others release it and remove the file.
const TRIES: usize = 100;

/// A lock that this process holds until this is dropped.
pub struct LockFile {
    file: Option<PosixFile>,
    path: PathBuf,
    /// The process that holds the lock: a forked child does not release it.
    process: Process,
}

impl LockFile {
    /// Takes the lock of the programs that write `path`, without waiting. On a file system without locks
    /// there is no protection, which is not an error.
    ///
    /// # Errors
    /// `FileInUse` if another program holds it; those of the file system.
    pub fn take(path: &Path) -> Result<Self> {
        let path = lock_path(path);
        let named = |error: Error| {
            Error::new(
                error.kind(),
                format!("{}, which jobs lock while they write the file: {error}", quote_path(&path)),
            )
        };
        for _ in 0..TRIES {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
            let opened = PosixFile::open(&path, flags).and_then(PosixFile::regular);
            let mut file = opened.map_err(named)?;
            file.lock()?;
            // The previous holder may have removed the file after it was opened here.
            let mine = file.status().ok().map(|status| status.identity);
            if mine.is_some() && fresh_status(&path)?.map(|status| status.identity) == mine {
                return Ok(Self { file: Some(file), path, process: Process::this() });
            }
        }
        Err(Error::new(ErrorKind::FileInUse, "other programs keep writing the file"))
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        let Some(file) = self.file.take().filter(|_| self.process.is_this()) else { return };
        // While the lock is held, nobody else uses a file of this name for it.
        let found = link_status(&self.path).ok().flatten().map(|status| status.identity);
        if found.is_some() && found == file.status().ok().map(|status| status.identity) {
            let _ = remove(&self.path);
        }
        let _ = Box::new(file).close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    #[test]
    fn one_has_the_lock_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::os::unix::fs::symlink("f", folder.path().join("link")).unwrap();
        let lock = LockFile::take(&path).unwrap();
        for name in ["f", "link"] {
            let error = LockFile::take(&folder.path().join(name)).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::FileInUse);
        }
        drop(lock);
        // A file that a killed job has left does no harm.
        std::fs::write(lock_path(&path), "").unwrap();
        drop(LockFile::take(&path).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn of_many_never_two_have_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let (path, holders, taken) = (folder.path().join("f"), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let Ok(lock) = LockFile::take(&path) else { continue };
                        assert_eq!(holders.fetch_add(1, SeqCst), 0);
                        std::thread::yield_now();
                        taken.fetch_add(1, SeqCst);
                        holders.fetch_sub(1, SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_link_in_its_place_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("f"), folder.path().join("other"));
        std::os::unix::fs::symlink(&other, lock_path(&path)).unwrap();
        let error = LockFile::take(&path).err().unwrap();
        assert!(error.to_string().contains("f.scda-lock"), "{error}");
        assert!(!other.exists());
    }
}
