//! The POSIX driver: `pwrite` and `pread` by every rank.

use super::ParallelFile;
use super::calls::{MAX_CALL_BYTES, read_all, retry, system};
use super::descriptors;
use super::file_system::Status;
use super::lock::{self, Share};
use super::lustre::{self, Layout};
use rustix::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use scda_base::error::{Error, ErrorKind, Result};
use std::io::IoSlice;
use std::path::Path;

/// The most pieces of one system call, well below `IOV_MAX`.
const MAX_PIECES: usize = 64;

/// The bytes of a stripe of a file, on Lustre; else those of a block.
///
/// # Errors
/// Those of the file system.
pub fn block_bytes(path: &Path) -> Result<u64> {
    PosixFile::open(path, OFlags::RDONLY | OFlags::NONBLOCK)?.block_bytes()
}

/// What the cache of the node has of a file that other nodes write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cache {
    /// What they have written.
    Coherent,
    /// What was there when it was read.
    Apart,
    /// As `Apart`, and this node writes at the same time as they do.
    Exact,
}

/// A file descriptor of this rank.
pub struct PosixFile {
    file: OwnedFd,
    /// Whether another rank of the node has opened it, and has the locks of both.
    is_taken: bool,
    is_locked: bool,
    cache: Cache,
    /// Whether this rank has written to it.
    is_changed: bool,
    /// What was found when it was opened, if it was looked at.
    first_status: Option<Status>,
}

impl PosixFile {
    /// Opens `path` with these flags; a new file gets the mode 0666 less the umask.
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

    /// Creates a file that must not exist, also not as a link, with this mode less the umask, for reading and writing. On Lustre, it
    /// gets this layout, if Lustre takes it.
    ///
    /// # Errors
    /// Those of `open`: after an error there is no new file.
    pub fn create_new(path: &Path, mode: u32, layout: Option<Layout>) -> Result<Self> {
        let Some(layout) = layout else {
            return Self::open_with_mode(
                path,
                OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW,
                mode,
            );
        };
        let created = lustre::create_new(path, Mode::from_raw_mode(mode), layout);
        created.map(Self::of).map_err(|error| Error::io("open", error))
    }

    fn open_with_mode(path: &Path, flags: OFlags, mode: u32) -> Result<Self> {
        let mode = Mode::from_raw_mode(mode);
        let file = descriptors::open(path, flags, mode).map_err(|error| Error::io("open", error))?;
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

    /// Says that the file is on NFS, whose nodes do not see at once what another one writes: [`ParallelFile::look_again`] asks the server.
    /// What a job that was killed has left in the cache is dropped.
    pub fn cache_apart(&mut self) {
        self.cache = Cache::Apart;
        self.drop_cache();
    }

    /// Lets this node write exactly the bytes of the program to a file that other nodes write at the same time, not whole pages, until all
    /// its ranks have closed the file. It is a regular one, open for reading, too. This node then keeps nothing in its cache across [`ParallelFile::sync`] and
    /// [`ParallelFile::close`]: NFS takes what other nodes wrote before for unchanged if this one has written, too.
    ///
    /// # Errors
    /// `Io` if there are no locks.
    pub fn write_exactly(&mut self) -> Result<()> {
        self.cache = Cache::Exact;
        if self.is_taken { Ok(()) } else { lock::write_exactly(&self.file) }
    }

    /// Drops what the cache of the node has of the file, but for what is still to be written.
    fn drop_cache(&self) {
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed);
    }

    /// This file, if it is one whose size can be relied on.
    ///
    /// # Errors
    /// `BadFile` for a device or pipe.
    pub fn regular(self) -> Result<Self> {
        if self.status()?.is_regular {
            return Ok(self);
        }
        Err(Error::new(ErrorKind::BadFile, "a device or pipe, not a file"))
    }

    /// Takes the lock of the program that writes this file, without waiting. It is held until the file is closed. A file system without
    /// locks does not give it: then there is no protection, and that is no error.
    ///
    /// # Errors
    /// `FileInUse` if another program has it.
    pub fn lock(&mut self) -> Result<()> {
        self.lock_as(Share::All)
    }

    /// Shares the lock with the other ranks: first the one that has it, then each of the others. So it is held as long as
    /// any rank lives.
    ///
    /// # Errors
    /// As those of [`Self::lock`].
    pub fn share_lock(&mut self, rank: usize) -> Result<()> {
        self.lock_as(Share::OfRank(u32::try_from(rank).unwrap_or(u32::MAX)))
    }

    fn unlock(&mut self) {
        if std::mem::take(&mut self.is_locked) {
            lock::unlock(&self.file);
        }
    }

    /// Whether this process has the lock.
    pub fn is_locked(&self) -> bool {
        self.is_locked
    }

    fn lock_as(&mut self, share: Share) -> Result<()> {
        if lock::lock(&self.file, share, self.is_locked)? {
            self.is_locked = true;
        } else {
            // Nobody waits for a lock that could not be shared.
            self.unlock();
        }
        Ok(())
    }

    /// Lets this file, which is empty, share all blocks of another one. `false` where that cannot be.
    pub(super) fn clone_from(&self, from: &Self) -> bool {
        #[cfg(target_os = "linux")]
        return retry(|| rustix::fs::ioctl_ficlone(&self.file, &from.file)).is_ok();
        #[cfg(not(target_os = "linux"))]
        return false;
    }

    /// Copies up to `bytes` bytes at `offset` of another file to the same place, and returns how many. `None` where the
    /// kernel cannot.
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

    /// As [`ParallelFile::read_at`], which may be called by several threads.
    ///
    /// # Errors
    /// Those of `pread`, and `ShortFile`.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let read =
            |offset, step: &mut [u8]| system("pread", || rustix::io::pread(&self.file, &mut *step, offset));
        read_all("pread", offset, buffer, read, || Ok(self.status()?.size))
    }

    /// The bytes of a stripe, on Lustre; else those of a block.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn block_bytes(&self) -> Result<u64> {
        Ok(lustre::stripe_bytes(&self.file).unwrap_or(self.status()?.block_bytes))
    }

    /// Takes Lustre's lock of the group of ranks that write this file, or leaves that to the rank that has opened it for this one: see
    /// [`lustre`]. `false` if it was refused.
    #[must_use]
    pub fn lock_group(&self) -> bool {
        self.is_taken || lustre::lock_group(&self.file)
    }

    /// Gives that lock back.
    pub fn unlock_group(&self) {
        if !self.is_taken {
            lustre::unlock_group(&self.file);
        }
    }

    /// What `fstat` said when the file was opened: asking a parallel file system once more costs a request, and each rank asks. Its size may
    /// have changed.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn first_status(&self) -> Result<Status> {
        self.first_status.map_or_else(|| self.status(), Ok)
    }

    /// What `fstat` says.
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
    fn write_at(&mut self, mut offset: u64, pieces: &[&[u8]]) -> Result<()> {
        self.is_changed = true;
        let mut left: Vec<&[u8]> = pieces.iter().copied().filter(|piece| !piece.is_empty()).collect();
        while let Some(first) = left.first() {
            let written = if left.len() == 1 || first.len() >= MAX_CALL_BYTES {
                let step = first.len().min(MAX_CALL_BYTES);
                retry(|| rustix::io::pwrite(&self.file, &first[..step], offset))
            } else {
                let mut room = MAX_CALL_BYTES;
                let fits = |piece: &&&[u8]| room.checked_sub(piece.len()).map(|less| room = less).is_some();
                let slices: Vec<IoSlice<'_>> =
                    left.iter().take(MAX_PIECES).take_while(fits).map(|piece| IoSlice::new(piece)).collect();
                retry(|| rustix::io::pwritev(&self.file, &slices, offset))
            };
            let mut written = match written {
                Ok(0) => Err(Error::new(ErrorKind::Io, "pwrite: found 0 bytes written")),
                Ok(n) => Ok(n),
                Err(e) => Err(Error::io("pwrite", e)),
            }
            .map_err(|e| e.at(offset))?;
            offset += written as u64;
            left.retain_mut(|piece| {
                let done = written.min(piece.len());
                written -= done;
                *piece = &piece[done..];
                !piece.is_empty()
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
        match retry(|| rustix::fs::fsync(&self.file)) {
            // A device that cannot be synced has nothing to sync.
            Ok(()) | Err(Errno::INVAL | Errno::ROFS) => {
                if self.cache == Cache::Exact {
                    self.drop_cache();
                }
                Ok(())
            }
            Err(e) => Err(Error::io("fsync", e)),
        }
    }

    fn look_again(&mut self) {
        if self.cache != Cache::Coherent {
            lock::ask_server(&self.file);
            self.drop_cache();
        }
    }

    /// Network file systems report at close what they could not write; dropping the descriptor would hide that.
    ///
    /// An interrupted close is not called again: the descriptor is gone, also after an error, and its number may
    /// already be that of another thread's file. It is an error, because it may have interrupted writing.
    #[allow(unsafe_code)] // no safe function returns what `close` does
    fn close(mut self: Box<Self>) -> Result<()> {
        // A process that was forked off may have the descriptor, too, and would keep the lock.
        self.unlock();
        // Closing writes all that is left there in any case.
        let synced = if self.cache == Cache::Exact && self.is_changed { self.sync() } else { Ok(()) };
        // SAFETY: `into_raw_fd` gives up the descriptor that this file owned, so it is open, and nothing uses or
        // closes it after this.
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
    fn pieces_land_one_after_the_other() {
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
    fn nodes_that_write_exactly_are_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let mut files = [open(&path), open(&path)];
        for file in &mut files {
            file.cache_apart();
            file.write_exactly().unwrap();
            file.write_at(0, &[b"abc"]).unwrap();
        }
        // As HDF5 does that reads, and as those who begin to write.
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
        // A lock for reading needs a file that is read.
        let mut unread = PosixFile::open(&path, OFlags::WRONLY).unwrap();
        assert_eq!(unread.write_exactly().unwrap_err().kind(), ErrorKind::Io);
    }

    #[test]
    fn a_folder_is_no_file() {
        let error = PosixFile::open(Path::new("/tmp"), OFlags::RDONLY).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::BadFile);
    }
}
