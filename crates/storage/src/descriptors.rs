//! File descriptors: never 0, 1 or 2. If the program has closed these, other parts of it may still print to
//! them.

use super::calls::retry;
use rustix::fd::{AsRawFd as _, OwnedFd, RawFd};
use rustix::fs::{Mode, OFlags};
use std::path::Path;

/// The least descriptor of a file of ours.
const LEAST: RawFd = 3;

/// Opens a file: every file of this library is opened here, or by MPI among [`DescriptorGuard`] descriptors.
///
/// # Errors
/// Those of `open`, and of `fcntl` if no other descriptor is left.
pub fn open(path: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    above_standard(retry(|| rustix::fs::open(path, flags | OFlags::CLOEXEC, mode))?)
}

/// What is open here, by a descriptor that is none of these.
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

    /// How many hold the descriptors, and those that were free.
    static HELD: Global<(usize, Vec<OwnedFd>)> = Global::new((0, Vec::new()));

    /// As long as it lives, no file that anybody opens gets the descriptor 0, 1 or 2.
    pub struct DescriptorGuard(());

    impl DescriptorGuard {
        /// Occupies these descriptors, as far as they are free.
        pub fn take() -> Self {
            HELD.with(|(holders, free)| {
                *holders += 1;
                // Without a descriptor left, nobody else opens anything, either.
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
