//! Keeps file descriptors from being 0, 1 or 2: if the program has closed these, other parts of it may still
//! print to them.

use super::calls::retry;
use rustix::fd::{AsRawFd as _, OwnedFd, RawFd};
use rustix::fs::{Mode, OFlags};
use std::path::Path;

/// The lowest descriptor that this library uses.
const LEAST: RawFd = 3;

/// Opens a file. Every file of this library is opened here, or by MPI while a [`DescriptorGuard`] exists.
///
/// # Errors
/// Those of `open`, and of `fcntl` if there is no other descriptor.
pub fn open(path: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    above_standard(retry(|| rustix::fs::open(path, flags | OFlags::CLOEXEC, mode))?)
}

/// Moves an open file to another descriptor if it has one of these.
pub(super) fn above_standard(file: OwnedFd) -> rustix::io::Result<OwnedFd> {
    if file.as_raw_fd() >= LEAST { Ok(file) } else { rustix::io::fcntl_dupfd_cloexec(&file, LEAST) }
}

#[cfg(feature = "mpi")]
pub use occupied::DescriptorGuard;

#[cfg(feature = "mpi")]
mod occupied {
    use super::{LEAST, Mode, OFlags, OwnedFd, Path, retry};
    use rustix::fd::AsRawFd as _;
    use scda_base::fork::Global;

    /// How many guards exist, and the descriptors that they occupy.
    static HELD: Global<(usize, Vec<OwnedFd>)> = Global::new((0, Vec::new()));

    /// As long as it lives, no file that is opened gets descriptor 0, 1 or 2.
    pub struct DescriptorGuard(());

    impl DescriptorGuard {
        /// Occupies these descriptors if they are free.
        pub fn take() -> Self {
            HELD.with(|(holders, free)| {
                *holders += 1;
                // If no descriptor is left, nobody else can open anything, either.
                while let Ok(file) = retry(|| {
                    rustix::fs::open(Path::new("/dev/null"), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
                }) && file.as_raw_fd() < LEAST
                {
                    free.push(file);
                }
            });
            Self(())
        }
    }

    impl Drop for DescriptorGuard {
        fn drop(&mut self) {
            HELD.with(|(holders, free)| {
                *holders -= 1;
                if *holders == 0 {
                    free.clear();
                }
            });
        }
    }
}
