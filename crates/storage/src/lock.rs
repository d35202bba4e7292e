//! The lock that writers of a file hold. It covers bytes that no file has, so that it never conflicts with
//! other locks: programs for HDF5 lock whole files by `flock`, and MPI-IO locks the bytes that it writes.
//!
//! Like `flock`, it belongs to the open file description: forked processes share it, closing another
//! descriptor of the file does not release it, and two writers in one process exclude each other.

use super::calls::retry;
use rustix::fd::AsFd;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use scda_base::error::{Error, ErrorKind, Result};

/// What of the lock is taken. A program that begins to write takes all of it; then each of its ranks has a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// All of it.
    All,
    /// That of a rank.
    OfRank(u32),
}

/// Takes a lock on a file that is open for writing, without waiting, and gives back what else was held of it, if any was (`holds`). Whether
/// there is a lock: Lustre and NFS have some by their mount options. It is held until [`unlock`], or until nobody has the file open.
///
/// # Errors
/// `FileInUse` if another program has it.
pub fn lock(file: impl AsFd, share: Share, holds: bool) -> Result<bool> {
    match retry(|| set(&file, share, holds)) {
        Ok(()) => Ok(true),
        Err(Errno::AGAIN | Errno::ACCESS) => Err(Error::new(
            ErrorKind::FileInUse,
            "lock: another program is writing the file, or this one has it open already",
        )),
        Err(_) => Ok(false),
    }
}

/// Gives the lock back, also on behalf of processes that were forked off.
pub fn unlock(file: impl AsFd) {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    if retry(|| bytes::set(&file, libc::F_UNLCK, 0..bytes::COUNT)).is_ok() {
        return;
    }
    let _ = retry(|| flock(&file, FlockOperation::Unlock));
}

/// Takes a lock for reading of a byte that no file has, which any number of programs may have. Linux's NFS writes whole pages where it
/// takes those for its own, so that two nodes overwrite each other's bytes in a page; while any byte is locked on a node, that node
/// writes the bytes of the program and no others. A lock for reading is in nobody's way who reads the file, also not of HDF5's `flock`.
///
/// # Errors
/// `Io` if it is refused.
pub fn write_exactly(file: impl AsFd) -> Result<()> {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    let locked = retry(|| bytes::set(&file, libc::F_RDLCK, bytes::SHARED));
    #[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
    let locked = drop(file).map_or(Err(Errno::NOTSUP), Ok);
    locked.map_err(|error| {
        let words = "locking a byte, without which several nodes cannot write this file by POSIX; mount it with locks or with nolock, or use \
                     MPI-IO";
        Error::io(words, error)
    })
}

/// Takes such a lock and gives it back: then network file systems ask their server for what has changed. Where it is refused, they ask after
/// some seconds.
pub fn ask_server(file: impl AsFd) {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    for kind in [libc::F_RDLCK, libc::F_UNLCK] {
        let _ = bytes::set(&file, kind, bytes::ASKED);
    }
    #[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
    drop(file);
}

#[allow(unused_variables)] // where there is `flock` alone
fn set(file: impl AsFd, share: Share, holds: bool) -> rustix::io::Result<()> {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    match bytes::lock(&file, share, holds) {
        // Linux has such locks since version 3.15.
        Err(Errno::INVAL) => {}
        done => return done,
    }
    let how = match share {
        Share::All => FlockOperation::NonBlockingLockExclusive,
        Share::OfRank(_) => FlockOperation::NonBlockingLockShared,
    };
    flock(file, how)
}

/// Locks of bytes that belong to an open file.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod bytes {
    use super::{AsFd, Errno, Share};
    use rustix::fd::AsRawFd as _;
    use std::ops::Range;

    /// The first byte of the lock, and how many there are: one for each rank.
    const FIRST: i64 = 1 << 62;
    pub const COUNT: i64 = 1 << 32;
    /// A byte before them that nobody has alone.
    pub const SHARED: Range<i64> = -1..0;
    /// Another one.
    pub const ASKED: Range<i64> = -2..-1;

    pub fn lock(file: impl AsFd, share: Share, holds: bool) -> rustix::io::Result<()> {
        let Share::OfRank(rank) = share else { return set(file, libc::F_WRLCK, 0..COUNT) };
        let own = i64::from(rank);
        set(&file, libc::F_WRLCK, own..own + 1)?;
        for others in [0..own, own + 1..COUNT] {
            if holds && !others.is_empty() {
                set(&file, libc::F_UNLCK, others)?;
            }
        }
        Ok(())
    }

    /// Locks these bytes, or gives them back.
    #[allow(unsafe_code, clippy::cast_possible_truncation)] // no safe function has these locks; small numbers
    pub fn set(file: impl AsFd, kind: i32, range: Range<i64>) -> rustix::io::Result<()> {
        let mut lock = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: FIRST + range.start,
            l_len: range.end - range.start,
            l_pid: 0,
        };
        // SAFETY: the descriptor is open as long as it is borrowed.
        match unsafe { libc::fcntl(file.as_fd().as_raw_fd(), libc::F_OFD_SETLK, &raw mut lock) } {
            -1 => Err(std::io::Error::last_os_error()
                .raw_os_error()
                .map_or(Errno::IO, Errno::from_raw_os_error)),
            _ => Ok(()),
        }
    }
}
