//! The POSIX driver: `pwrite` and `pread` on every rank.

use super::ParallelFile;
use super::calls::{MAX_CALL_BYTES, read_all, retry, system};
use super::descriptors;
use super::file_system::{Status, missing_folder};
use super::lock::{self, Share};
use super::lustre::{self, Layout};
use rustix::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use scda_base::error::{Error, ErrorKind, Result};
use std::io::IoSlice;
use std::path::Path;

/// The most runs in one system call, well below `IOV_MAX`.
const MAX_RUNS: usize = 64;

/// A flag for [`PosixFile::open`] and [`PosixFile::create_new`]: NFS 4.1 and newer do not delegate the file to
/// this node. Each other node that opens a delegated file waits 0.1 s until the delegation is returned. Linux
/// asks for none if a file is opened with `O_DIRECT`, which is cleared at once.
#[cfg(target_os = "linux")]
pub const UNDELEGATED: OFlags = OFlags::DIRECT;
#[cfg(not(target_os = "linux"))]
pub const UNDELEGATED: OFlags = OFlags::empty();

/// The stripe size of a file on Lustre; elsewhere the block size.
///
/// # Errors
/// Those of the file system.
pub fn block_bytes(path: &Path) -> Result<u64> {
    PosixFile::open(path, OFlags::RDONLY | OFlags::NONBLOCK)?.block_bytes(true)
}

/// What this node's cache has of a file that other nodes write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cache {
    /// What the others have written.
    Coherent,
    /// What was there when it was read.
    Apart,
    /// Like `Apart`, and this node writes at the same time as others.
    Exact,
}

/// A file descriptor of this rank.
pub struct PosixFile {
    file: OwnedFd,
    /// Whether another rank of the node has opened it, and holds the locks for both.
    is_taken: bool,
    is_locked: bool,
    cache: Cache,
    /// Whether this rank has written to it.
    is_changed: bool,
    /// The status when the file was opened, if it was queried.
    first_status: Option<Status>,
}

impl PosixFile {
    /// Opens `path` with these flags. A new file gets the permissions 0666 less the bits of the umask.
    ///
    /// # Errors
    /// Those of `open`, and `BadFile` for a folder.
    pub fn open(path: &Path, flags: OFlags) -> Result<Self> {
        let mut this = Self::open_with_mode(path, flags, 0o666)?;
        let status = this.status()?;
        if status.is_folder {
            return Err(Error::new(ErrorKind::BadFile, "open: a folder, not a file"));
        }
        this.first_status = Some(status);
        Ok(this)
    }

    /// Creates a file that must not exist, not even as a link, for reading and writing, with further flags and
    /// this mode less the bits of the umask. On Lustre, it gets this layout if Lustre accepts it.
    ///
    /// # Errors
    /// Those of `open`. After an error there is no new file.
    pub fn create_new(path: &Path, flags: OFlags, mode: u32, layout: Option<Layout>) -> Result<Self> {
        let Some(layout) = layout else {
            return Self::open_with_mode(
                path,
                flags | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW,
                mode,
            );
        };
        let created = lustre::create_new(path, Mode::from_raw_mode(mode), layout);
        created.map(Self::of).map_err(|error| Error::io("open", error))
    }

    fn open_with_mode(path: &Path, flags: OFlags, mode: u32) -> Result<Self> {
        let mode = Mode::from_raw_mode(mode);
        let file = descriptors::open(path, flags, mode).map_err(|error| {
            let error = Error::io("open", error);
            let is_missing = error.kind() == ErrorKind::NoSuchFile;
            is_missing.then(|| missing_folder(path)).flatten().unwrap_or(error)
        })?;
        if flags.intersects(UNDELEGATED) {
            system("fcntl", || {
                rustix::fs::fcntl_setfl(&file, rustix::fs::fcntl_getfl(&file)?.difference(UNDELEGATED))
            })?;
        }
        Ok(Self::of(file))
    }

    fn of(file: OwnedFd) -> Self {
        let (is_taken, is_locked, is_changed) = (false, false, false);
        Self { file, is_taken, is_locked, cache: Cache::Coherent, is_changed, first_status: None }
    }

    /// A file that another rank of the node has opened.
    pub(super) fn taken(file: OwnedFd) -> Self {
        Self { is_taken: true, ..Self::of(file) }
    }

    /// Tells that the file is on a file system such as NFS, whose nodes do not see at once what other nodes
    /// write; [`ParallelFile::look_again`] then asks the server. Drops what a killed job has left in the
    /// cache.
    pub fn cache_apart(&mut self) {
        self.cache = Cache::Apart;
        self.drop_cache();
    }

    /// Makes this node write exactly the program's bytes, rather than whole pages, to a file that other nodes
    /// write at the same time, until all its ranks have closed the file. It must be a regular file that is
    /// open for reading, too. This node then keeps nothing in its cache after [`ParallelFile::sync`] and
    /// [`ParallelFile::close`]: if this node has written, NFS assumes that earlier data of other nodes are
    /// unchanged.
    ///
    /// # Errors
    /// `Io` if there are no locks.
    pub fn write_exactly(&mut self) -> Result<()> {
        self.cache = Cache::Exact;
        if self.is_taken { Ok(()) } else { lock::write_exactly(&self.file) }
    }

    /// Drops what the node's cache has of the file, except for what is not written yet.
    fn drop_cache(&self) {
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed);
    }

    /// Returns the file if it is a regular one, whose size can be relied on.
    ///
    /// # Errors
    /// `BadFile` for a device or pipe.
    pub fn regular(self) -> Result<Self> {
        if self.status()?.is_regular {
            return Ok(self);
        }
        Err(Error::new(ErrorKind::BadFile, "a device or pipe, not a file"))
    }

    /// Takes the lock of the program that writes this file, without waiting. It is held until the file is
    /// closed. A file system without locks gives no protection, which is not an error.
    ///
    /// # Errors
    /// `FileInUse` if another program holds it.
    pub fn lock(&mut self) -> Result<()> {
        self.lock_as(Share::All)
    }

    /// Shares the lock with the other ranks: first the one that holds it calls this, then each of the others.
    /// So it is held as long as any rank lives.
    ///
    /// # Errors
    /// Those of [`Self::lock`].
    pub fn share_lock(&mut self, rank: usize) -> Result<()> {
        self.lock_as(Share::OfRank(u32::try_from(rank).unwrap_or(u32::MAX)))
    }

    fn unlock(&mut self) {
        if std::mem::take(&mut self.is_locked) {
            lock::unlock(&self.file);
        }
    }

    /// Whether this process holds the lock.
    pub fn is_locked(&self) -> bool {
        self.is_locked
    }

    fn lock_as(&mut self, share: Share) -> Result<()> {
        if lock::lock(&self.file, share, self.is_locked)? {
            self.is_locked = true;
        } else {
            // A lock that could not be shared must not block others.
            self.unlock();
        }
        Ok(())
    }

    /// Makes this file, which is empty, share all blocks of another one. Returns `false` if that is
    /// impossible.
    pub(super) fn clone_from(&self, from: &Self) -> bool {
        #[cfg(target_os = "linux")]
        return retry(|| rustix::fs::ioctl_ficlone(&self.file, &from.file)).is_ok();
        #[cfg(not(target_os = "linux"))]
        return false;
    }

    /// Copies up to `bytes` bytes at `offset` of another file to the same place, and returns their number;
    /// `None` if the kernel cannot.
    pub(super) fn copy_range_from(&self, from: &Self, offset: u64, bytes: usize) -> Option<usize> {
        #[cfg(target_os = "linux")]
        return retry(|| {
            let (mut start, mut end) = (offset, offset);
            rustix::fs::copy_file_range(&from.file, Some(&mut start), &self.file, Some(&mut end), bytes)
        })
        .ok();
        #[cfg(not(target_os = "linux"))]
        return None;
    }

    /// Like [`ParallelFile::read_at`], but may be called by several threads.
    ///
    /// # Errors
    /// Those of `pread`, and `ShortFile`.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let read =
            |offset, step: &mut [u8]| system("pread", || rustix::io::pread(&self.file, &mut *step, offset));
        read_all("pread", offset, buffer, read, || Ok(self.status()?.size))
    }

    /// The stripe size if it is on Lustre; elsewhere the block size. To ask for the kind of the file system
    /// is a request to the server of others, such as NFS.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn block_bytes(&self, may_be_on_lustre: bool) -> Result<u64> {
        let stripe = if may_be_on_lustre { lustre::stripe_bytes(&self.file) } else { None };
        stripe.map_or_else(|| Ok(self.first_status()?.block_bytes), Ok)
    }

    /// Takes Lustre's group lock for the ranks that write this file, unless another rank has opened it for
    /// this one and does so: see [`lustre`]. Returns `false` if it is refused.
    #[must_use]
    pub fn lock_group(&self) -> bool {
        self.is_taken || lustre::lock_group(&self.file)
    }

    /// Releases the group lock.
    pub fn unlock_group(&self) {
        if !self.is_taken {
            lustre::unlock_group(&self.file);
        }
    }

    /// The status when the file was opened, which saves each rank a request to a parallel file system. The
    /// size may have changed.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn first_status(&self) -> Result<Status> {
        self.first_status.map_or_else(|| self.status(), Ok)
    }

    /// The current status, from `fstat`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn status(&self) -> Result<Status> {
        system("fstat", || rustix::fs::fstat(&self.file)).map(|stat| Status::new(&stat))
    }
}

impl AsFd for PosixFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl ParallelFile for PosixFile {
    fn write_at(&mut self, mut offset: u64, runs: &[&[u8]]) -> Result<()> {
        self.is_changed = true;
        let mut left: Vec<&[u8]> = runs.iter().copied().filter(|run| !run.is_empty()).collect();
        while let Some(first) = left.first() {
            let written = if left.len() == 1 || first.len() >= MAX_CALL_BYTES {
                let step = first.len().min(MAX_CALL_BYTES);
                retry(|| rustix::io::pwrite(&self.file, &first[..step], offset))
            } else {
                let mut room = MAX_CALL_BYTES;
                let fits = |run: &&&[u8]| room.checked_sub(run.len()).map(|less| room = less).is_some();
                let slices: Vec<IoSlice<'_>> =
                    left.iter().take(MAX_RUNS).take_while(fits).map(|run| IoSlice::new(run)).collect();
                retry(|| rustix::io::pwritev(&self.file, &slices, offset))
            };
            let mut written = match written {
                Ok(0) => Err(Error::new(ErrorKind::Io, "pwrite: found 0 bytes written")),
                Ok(n) => Ok(n),
                Err(e) => Err(Error::io("pwrite", e)),
            }
            .map_err(|e| e.at(offset))?;
            offset += written as u64;
            left.retain_mut(|run| {
                let done = written.min(run.len());
                written -= done;
                *run = &run[done..];
                !run.is_empty()
            });
        }
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.read(offset, buffer)
    }

    fn size(&mut self) -> Result<u64> {
        self.status().map(|status| status.size)
    }

    fn truncate(&mut self, length: u64) -> Result<()> {
        system("ftruncate", || rustix::fs::ftruncate(&self.file, length)).map_err(|e| e.at(length))
    }

    fn sync(&mut self) -> Result<()> {
        self.sync_alone()?;
        if self.cache == Cache::Exact {
            self.drop_cache();
        }
        Ok(())
    }

    /// On NFS, the next write to a page that the cache no longer has would read it first.
    fn sync_alone(&mut self) -> Result<()> {
        match retry(|| rustix::fs::fsync(&self.file)) {
            // A device that cannot be synced has nothing to sync.
            Ok(()) | Err(Errno::INVAL | Errno::ROFS) => Ok(()),
            Err(e) => Err(Error::io("fsync", e)),
        }
    }

    fn has_written(&mut self) -> bool {
        self.is_changed
    }

    fn look_again(&mut self) {
        if self.cache != Cache::Coherent {
            lock::ask_server(&self.file);
            self.drop_cache();
        }
    }

    /// Network file systems report at close what they could not write. Dropping the descriptor would hide
    /// that.
    ///
    /// An interrupted close is not repeated: the descriptor is gone even after an error, and its number may
    /// already belong to another thread's file. The interruption is an error, because it may have interrupted
    /// writing.
    #[allow(unsafe_code)] // no safe function returns what `close` does
    fn close(mut self: Box<Self>) -> Result<()> {
        // A forked process may have the descriptor, too, and would keep the lock.
        self.unlock();
        // Closing writes the rest in any case.
        let synced = if self.cache == Cache::Exact && self.is_changed { self.sync() } else { Ok(()) };
        // SAFETY: `into_raw_fd` gives up the descriptor that this file owned, so it is open, and nothing uses
        // or closes it after this.
        match unsafe { libc::close(self.file.into_raw_fd()) } {
            0 => synced,
            _ => synced.and(Err(Error::io("close", std::io::Error::last_os_error()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path) -> PosixFile {
        PosixFile::open(path, OFlags::CREATE | OFlags::RDWR).unwrap()
    }

    #[test]
    fn runs_land_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let mut file = open(&path);
        file.write_at(2, &[b"ab", b"", b"cde"]).unwrap();
        file.write_at(0, &[b"xy"]).unwrap();
        assert_eq!(file.status().unwrap().size, 7);
        let mut text = [0; 4];
        file.read_at(1, &mut text).unwrap();
        assert_eq!(&text, b"yabc");
        Box::new(file).close().unwrap();
        assert_eq!(std::fs::read(path).unwrap(), b"xyabcde");
    }

    #[test]
    fn reading_past_the_end_is_a_short_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = open(&folder.path().join("f"));
        file.write_at(0, &[b"1234"]).unwrap();
        let error = file.read_at(2, &mut [0; 3]).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::ShortFile, Some(4)));
    }

    #[test]
    fn a_full_device_is_an_error_with_its_offset() {
        let mut file = PosixFile::open(Path::new("/dev/full"), OFlags::WRONLY).unwrap();
        let error = file.write_at(5, &[b"1"]).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::NoSpace, Some(5)));
    }

    #[test]
    fn a_file_that_is_not_delegated_is_cached_nevertheless() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        let opened = PosixFile::open(&old, OFlags::CREATE | OFlags::RDWR | UNDELEGATED);
        let created = PosixFile::create_new(&new, UNDELEGATED, 0o600, None);
        for file in [opened, created] {
            match file {
                Ok(file) => assert!(!rustix::fs::fcntl_getfl(&file).unwrap().intersects(UNDELEGATED)),
                // Older versions of tmpfs refuse `O_DIRECT`.
                Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "{error}"),
            }
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_one_rank_alone_has_written_stays_in_the_cache() {
        use rustix::io::{IoSliceMut, ReadWriteFlags, preadv2};
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let mut file = open(&folder.path().join("f"));
        let is_cached = |file: &PosixFile| {
            preadv2(file, &mut [IoSliceMut::new(&mut [0; 4])], 0, ReadWriteFlags::NOWAIT).is_ok()
        };
        file.write_exactly().unwrap();
        file.write_at(0, &[&[1; 4096]]).unwrap();
        file.sync_alone().unwrap();
        if !is_cached(&file) {
            println!("skipped: this file system does not tell what is in its cache");
            return;
        }
        let is_of_memory = rustix::fs::fstatfs(&file).unwrap().f_type == 0x0102_1994;
        // On a busy machine, the kernel may still use the page, and keeps it then.
        let is_dropped = (0..100).any(|_| {
            file.sync().unwrap();
            !is_cached(&file) || {
                std::thread::sleep(std::time::Duration::from_millis(10));
                false
            }
        });
        assert!(is_dropped || is_of_memory);
    }

    #[test]
    fn nodes_that_write_exactly_are_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let mut files = [open(&path), open(&path)];
        for file in &mut files {
            file.cache_apart();
            file.write_exactly().unwrap();
            file.write_at(0, &[b"abc"]).unwrap();
        }
        // Like HDF5 when it reads, and like a program that begins to write.
        let other = open(&path);
        rustix::fs::flock(&other, rustix::fs::FlockOperation::NonBlockingLockShared).unwrap();
        let mut writer = open(&path);
        writer.lock().unwrap();
        for mut file in files {
            file.sync().unwrap();
            file.look_again();
            let mut found = [0; 3];
            file.read_at(0, &mut found).unwrap();
            assert_eq!(&found, b"abc");
            Box::new(file).close().unwrap();
        }
        // A shared lock requires a file that is open for reading.
        let mut unread = PosixFile::open(&path, OFlags::WRONLY).unwrap();
        assert_eq!(unread.write_exactly().unwrap_err().kind(), ErrorKind::Io);
    }

    #[test]
    fn a_folder_is_no_file() {
        let error = PosixFile::open(Path::new("/tmp"), OFlags::RDONLY).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::BadFile);
    }
}
