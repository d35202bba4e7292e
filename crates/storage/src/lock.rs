//! The lock that programs hold while they write a file. It covers bytes beyond any file, so that it never
//! conflicts with other locks: programs for HDF5 lock whole files with `flock`, and MPI-IO locks the bytes
//! that it writes.
//!
//! Like `flock`, it belongs to the open file description: forked processes share it, closing another
//! descriptor of the file does not release it, and two writers in one process exclude each other.

use super::calls::retry;
use rustix::fd::AsFd;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use scda_base::error::{Error, ErrorKind, Result};

/// The part of the lock to take. A program that begins to write takes all of it; then each of its ranks holds
/// a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// All of it.
    All,
    /// That of a rank.
    OfRank(u32),
}

/// Takes a lock on a file that is open for writing, without waiting, and releases other parts that were held
/// (`holds`). Returns whether there is a lock: Lustre and NFS support them depending on mount options. It is
/// held until [`unlock`], or until nobody has the file open.
///
/// # Errors
/// `FileInUse` if another program has it.
pub fn lock(file: impl AsFd, share: Share, holds: bool) -> Result<bool> {
    match retry(|| set(&file, share, holds)) {
        Ok(()) => Ok(true),
        Err(Errno::AGAIN | Errno::ACCESS) => Err(Error::new(
            ErrorKind::FileInUse,
            "lock: another program is writing the file, or this one has already opened it",
        )),
        Err(_) => Ok(false),
    }
}

/// Releases the lock, including for forked processes.
pub fn unlock(file: impl AsFd) {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    if retry(|| bytes::set(&file, libc::F_UNLCK, 0..bytes::COUNT)).is_ok() {
        return;
    }
    let _ = retry(|| flock(&file, FlockOperation::Unlock));
}

/// Takes a shared lock on a byte beyond any file, which any number of programs may hold. Linux's NFS client
/// writes whole pages if it considers them its own, so that two nodes would overwrite each other's bytes in a
/// page; while any byte is locked on a node, that node writes only the bytes of its program. A shared lock
/// does not disturb readers of the file, including HDF5's `flock`.
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

/// Takes such a lock and releases it, after which network file systems ask their server for changes. If the
/// lock is refused, they ask after some seconds.
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

/// Locks on bytes, which belong to an open file.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod bytes {
    use super::{AsFd, Errno, Share};
    use rustix::fd::AsRawFd as _;
    use std::ops::Range;

    /// The first byte of the lock, and the number of bytes: one for each rank.
    const FIRST: i64 = 1 << 62;
    pub const COUNT: i64 = 1 << 32;
    /// A byte before them that is only locked for sharing.
    pub const SHARED: Range<i64> = -1..0;
    /// Another such byte.
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

    /// Locks or unlocks these bytes.
    #[allow(unsafe_code, clippy::cast_possible_truncation)] // no safe function has these locks; small numbers
    pub fn set(file: impl AsFd, kind: i32, range: Range<i64>) -> rustix::io::Result<()> {
        let mut lock = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: FIRST + range.start,
            l_len: range.end - range.start,
            l_pid: 0,
        };
        // SAFETY: the descriptor is open while it is borrowed.
        match unsafe { libc::fcntl(file.as_fd().as_raw_fd(), libc::F_OFD_SETLK, &raw mut lock) } {
            -1 => Err(std::io::Error::last_os_error()
                .raw_os_error()
                .map_or(Errno::IO, Errno::from_raw_os_error)),
            _ => Ok(()),
        }
    }
}
