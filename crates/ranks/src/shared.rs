//! Memory that all ranks of a node share.

use super::Communicator;
use scda_base::error::Result;
use scda_base::memory::zeroed;
use std::cell::UnsafeCell;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Memory that all ranks of a communicator share, initially zero.
///
/// Between two synchronizations of the ranks (any collective), a byte is either written by one rank and read
/// by no other, or read by any. The users of the memory ensure this, and call `sync` before and after the
/// collective. All ranks drop it together.
pub struct SharedMemory {
    base: NonNull<u8>,
    bytes: usize,
    keeper: Box<dyn Keeper>,
}

/// The owner of the memory, which frees it when dropped.
pub trait Keeper: Send {
    /// Makes this rank's bytes visible to the others, and theirs to this one.
    fn sync(&self);
}

// SAFETY: memory is not tied to a thread, and `Keeper` requires `Send` of its owner.
unsafe impl Send for SharedMemory {}

impl std::fmt::Debug for SharedMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedMemory").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl SharedMemory {
    /// Wraps memory of `bytes` bytes at `base`, which exists until the keeper is dropped.
    ///
    /// # Safety
    /// The memory is initialised, may be read and written, and is accessed only by the ranks that share it.
    pub unsafe fn from_raw(base: NonNull<u8>, bytes: usize, keeper: Box<dyn Keeper>) -> Self {
        Self { base, bytes, keeper }
    }

    /// The memory of an allocation, for one process or for ranks that are threads.
    pub fn from_allocation(allocation: &Arc<Allocation>) -> Self {
        let memory = allocation.0.get();
        // SAFETY: the pointer belongs to a live allocation; nothing is read through it.
        let slice = unsafe { &raw mut **memory };
        // SAFETY: the allocation is initialised, lives as long as the keeper, and is used through
        // `SharedMemory` alone.
        unsafe {
            Self::from_raw(
                NonNull::new(slice.cast::<u8>()).unwrap_or(NonNull::dangling()),
                slice.len(),
                Box::new(Arc::clone(allocation)),
            )
        }
    }

    /// The size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes that no rank is writing.
    ///
    /// # Panics
    /// If the range is beyond the memory.
    #[inline]
    pub fn get(&self, range: Range<usize>) -> &[u8] {
        assert!(range.start <= range.end && range.end <= self.bytes, "beyond the shared memory");
        // SAFETY: in bounds, initialised, and by the rule of this type not written while it is borrowed.
        unsafe {
            std::slice::from_raw_parts(self.base.as_ptr().wrapping_add(range.start).cast_const(), range.len())
        }
    }

    /// Bytes that only this rank is using.
    ///
    /// # Panics
    /// If the range is beyond the memory.
    #[inline]
    pub fn get_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        assert!(range.start <= range.end && range.end <= self.bytes, "beyond the shared memory");
        // SAFETY: in bounds, initialised, and by the rule of this type used by nobody else while it is
        // borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().wrapping_add(range.start), range.len()) }
    }

    /// Makes this rank's bytes visible to the others, and theirs to this one. Called before and after the
    /// collective that synchronizes the ranks.
    pub fn sync(&self) {
        self.keeper.sync();
    }
}

/// Memory of `bytes` bytes that all ranks share, from [`Communicator::share_memory`]. Its users divide the
/// bytes among the ranks.
///
/// # Errors
/// Those of [`Communicator::share_memory`].
pub fn share_memory(comm: &dyn Communicator, bytes: usize) -> Result<Option<SharedMemory>> {
    // SAFETY: this is the library: each rank writes only its own bytes, and between writing and reading there
    // are `SharedMemory::sync` and a synchronization of all ranks (`file::turns`).
    unsafe { comm.share_memory(bytes) }
}

/// Memory from the heap, for one process and for ranks that are threads.
pub struct Allocation(UnsafeCell<Box<[u8]>>);

// SAFETY: accessed only through `SharedMemory`, whose users divide the bytes among the ranks.
unsafe impl Sync for Allocation {}
// SAFETY: a box of bytes is `Send`, and the cell adds nothing to it.
unsafe impl Send for Allocation {}

impl Allocation {
    /// Zeroed memory, or `None` if there is none.
    pub fn new(bytes: usize) -> Option<Arc<Self>> {
        let memory = zeroed(bytes).ok()?;
        Some(Arc::new(Self(UnsafeCell::new(memory.into_boxed_slice()))))
    }
}

impl Keeper for Arc<Allocation> {
    fn sync(&self) {
        fence(Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::share_memory;
    use crate::{Communicator, Solo, run_on_threads};

    #[test]
    fn ranks_read_what_others_wrote() {
        let seen = run_on_threads(4, |comm| {
            let mut memory = share_memory(&comm, 8).unwrap().unwrap();
            let at = 2 * comm.rank();
            memory.get_mut(at..at + 2).fill(comm.rank() as u8 + 1);
            memory.sync();
            comm.allreduce_sum(&mut [0]).unwrap();
            memory.sync();
            memory.get(0..8).to_vec()
        });
        assert!(seen.iter().all(|bytes| *bytes == [1, 1, 2, 2, 3, 3, 4, 4]));
        let alone = share_memory(&Solo, 3).unwrap().unwrap();
        assert_eq!((alone.bytes(), alone.get(1..3)), (3, [0_u8; 2].as_slice()));
    }

    /// A race that scripts/sanitize.sh must detect, to show that its checks work.
    #[test]
    #[ignore = "a deliberate error"]
    fn a_deliberate_race() {
        run_on_threads(2, |comm| {
            let mut memory = share_memory(&comm, 8).unwrap().unwrap();
            memory.get_mut(0..8).fill(comm.rank() as u8);
        });
    }

    #[test]
    #[should_panic(expected = "beyond the shared memory")]
    fn there_is_no_reaching_beyond() {
        let memory = share_memory(&Solo, 3).unwrap().unwrap();
        let _ = memory.get(2..4);
    }
}
