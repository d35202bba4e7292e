//! `pwrite` and `pread` by every rank.

use super::ParallelFile;
use crate::error::{Error, ErrorKind, Result};
use rustix::fd::{IntoRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io::IoSlice;
use std::path::Path;

/// The most bytes of one system call. Linux moves at most 2 GiB less a page.
const MAX_CALL_BYTES: usize = 1 << 30;
/// The most pieces of one system call, well below `IOV_MAX`.
const MAX_PIECES: usize = 64;

/// A file descriptor of this rank.
pub struct PosixFile {
    file: OwnedFd,
}

impl PosixFile {
    /// Opens `path` with these flags; a new file gets the mode 0666 less the umask.
    ///
    /// # Errors
    /// Those of `open`, and `BadFile` for a folder.
    pub fn open(path: &Path, flags: OFlags) -> Result<Self> {
        Self::open_with_mode(path, flags, 0o666)
    }

    /// As [`Self::open`]; a new file gets this mode less the umask.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with_mode(path: &Path, flags: OFlags, mode: u32) -> Result<Self> {
        let mode = Mode::from_raw_mode(mode);
        let file = retry(|| rustix::fs::open(path, flags | OFlags::CLOEXEC, mode))
            .map_err(|e| Error::io("open", e))?;
        let this = Self { file };
        if this.status()?.is_folder {
            return Err(Error::new(ErrorKind::BadFile, "open: found a folder, expected a file"));
        }
        Ok(this)
    }

    /// What `fstat` says.
    pub fn status(&self) -> Result<super::place::Status> {
        rustix::fs::fstat(&self.file)
            .map(|stat| super::place::Status::new(&stat))
            .map_err(|e| Error::io("fstat", e))
    }
}

/// Calls again what a signal interrupted.
fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

impl ParallelFile for PosixFile {
    fn write_at(&mut self, mut offset: u64, pieces: &[&[u8]]) -> Result<()> {
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

    fn read_at(&mut self, mut offset: u64, buffer: &mut [u8]) -> Result<()> {
        let end = offset + buffer.len() as u64;
        let mut left = buffer;
        while !left.is_empty() {
            let step = left.len().min(MAX_CALL_BYTES);
            let n = retry(|| rustix::io::pread(&self.file, &mut left[..step], offset))
                .map_err(|e| Error::io("pread", e).at(offset))?;
            if n == 0 {
                return Err(Error::short_file("pread", end, offset).at(offset));
            }
            offset += n as u64;
            left = &mut left[n..];
        }
        Ok(())
    }

    fn truncate(&mut self) -> Result<()> {
        retry(|| rustix::fs::ftruncate(&self.file, 0)).map_err(|e| Error::io("ftruncate", e))
    }

    fn sync(&mut self) -> Result<()> {
        match retry(|| rustix::fs::fsync(&self.file)) {
            // A device that cannot be synced has nothing to sync.
            Ok(()) | Err(Errno::INVAL | Errno::ROFS) => Ok(()),
            Err(e) => Err(Error::io("fsync", e)),
        }
    }

    /// Network file systems report at close what they could not write, and dropping a descriptor
    /// would not tell: the one `unsafe` outside of `ffi` and `mpi`.
    #[allow(unsafe_code)]
    fn close(self: Box<Self>) -> Result<()> {
        // SAFETY: the descriptor was owned by this file, which gives it up here.
        match unsafe { libc::close(self.file.into_raw_fd()) } {
            0 => Ok(()),
            _ => Err(Error::io("close", std::io::Error::last_os_error())),
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
    fn a_folder_is_no_file() {
        let error = PosixFile::open(Path::new("/tmp"), OFlags::RDONLY).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::BadFile);
    }
}
