//! Shared memory of the ranks of a node, and communicators of nodes and of their leaders.

use super::{Mpi, from_mpi, is_running, numbers, succeeded, sys};
use crate::hash::mix;
use crate::shared::{Keeper, SharedMemory};
use crate::{Communicator, Nodes, Solo, machine};
use scda_base::environment::Environment;
use scda_base::error::Result;
use scda_base::floats::in_default;
use scda_base::numbers::to_usize;
use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{Ordering, fence};

/// The environment. A malformed variable was reported when the file was opened.
fn environment() -> Environment {
    Environment::read().unwrap_or_default()
}

/// The number of ranks of a node, if the environment sets it.
fn node_ranks() -> Option<usize> {
    Some(to_usize(environment().node_ranks)).filter(|&ranks| ranks > 0)
}

/// The result of deriving a communicator from another one, on this rank.
enum DerivedComm {
    /// The rank requested none.
    Unwanted,
    /// MPI returned none.
    Missing,
    /// A communicator, whose drop is collective because it frees it.
    Made {
        comm: Mpi,
        /// True if MPI reported no error on this rank.
        is_sound: bool,
    },
}

/// A derived communicator after all ranks have compared their results. Except for `mine`, it is the same on
/// all ranks.
struct Derivation {
    /// True if every rank that wants the communicator has it, and it works for all of them.
    is_there: bool,
    /// The communicator of this rank, if it wants one.
    mine: Option<Mpi>,
    /// True if the additional condition holds on all ranks.
    condition: bool,
}

impl Mpi {
    /// See [`Communicator::share_memory`]. If MPI fails, there is no shared memory, and all ranks continue
    /// without it.
    ///
    /// # Safety
    /// That of [`Communicator::share_memory`].
    pub(super) unsafe fn share(&self, bytes: usize) -> Result<Option<SharedMemory>> {
        if self.size == 1 {
            // SAFETY: the caller's promise for the only rank, which needs no window to share memory with
            // itself.
            return unsafe { Solo.share_memory(bytes) };
        }
        let may_share = environment().shared_memory != Some(false);
        let is_one_node = matches!(self.split_by_node(), DerivedComm::Made { comm, is_sound: true } if comm.size == self.size);
        let is_divided = node_ranks().is_some_and(|ranks| ranks < self.size);
        if self.all([is_one_node && may_share && !is_divided])? == [false] {
            return Ok(None);
        }
        // In Open MPI, this computes with floating-point numbers (the free part of its folder).
        let window = in_default(|| self.allocate_shared(bytes));
        let base = window.as_ref().and_then(|window| window.base(bytes));
        let [all_have_one, all_can_use_it] = self.all([window.is_some(), base.is_some()])?;
        match (window, base) {
            (Some(window), Some(base)) if all_can_use_it => {
                // SAFETY: `SharedWindow::base` has asked MPI for memory of `bytes` bytes, which the system has zeroed and
                // which lasts as long as the window.
                Ok(Some(unsafe { SharedMemory::from_raw(base, bytes, Box::new(window)) }))
            }
            (window, _) => {
                if !all_have_one {
                    // Leaked, because freeing is collective.
                    std::mem::forget(window);
                }
                Ok(None)
            }
        }
    }

    /// See [`Communicator::node`].
    pub(super) fn number_of_node(&self) -> u64 {
        mix(machine(), node_ranks().map_or(0, |ranks| self.rank / ranks) as u64)
    }

    /// See [`Communicator::nodes`]. If MPI fails, the ranks continue as if nothing were known about nodes.
    pub(super) fn find_nodes(&self) -> Result<Option<Nodes>> {
        let ranks = node_ranks();
        let Derivation { mine: Some(mut node), condition: is_divided, .. } =
            self.agree_on(self.split_by_node(), ranks.is_some())?
        else {
            return Ok(None);
        };
        if is_divided {
            let part = node.split(Some(self.rank / ranks.unwrap_or(1)));
            let Some(part) = self.agree_on(part, true)?.mine else { return Ok(None) };
            node = part;
        }
        let leads = node.rank == 0;
        let leaders = self.split(leads.then_some(0));
        let mut count = [u64::from(leads), 1];
        let counted = self.allreduce_sum(&mut count);
        let Derivation { is_there: true, condition: true, mine } = self.agree_on(leaders, counted.is_ok())?
        else {
            return Ok(None);
        };
        let [nodes, ranks] = count;
        let leaders = mine.map(|leaders| Box::new(leaders) as Box<dyn Communicator>);
        Ok((1 < nodes && nodes < ranks).then(|| Nodes::new(Box::new(node), leaders)))
    }

    /// Compares the ranks' results of deriving a communicator, and whether a condition holds on all of them.
    /// Collective.
    fn agree_on(&self, mine: DerivedComm, condition: bool) -> Result<Derivation> {
        let has_it = !matches!(mine, DerivedComm::Missing);
        let is_sound = !matches!(mine, DerivedComm::Made { is_sound: false, .. });
        let [all_have_one, all_are_sound, condition] = self.all([has_it, is_sound, condition])?;
        if !all_have_one {
            // Leaked, because freeing is collective.
            std::mem::forget(mine);
            return Ok(Derivation { is_there: false, mine: None, condition });
        }
        let mine = match mine {
            DerivedComm::Made { comm, .. } if all_are_sound => Some(comm),
            _ => None,
        };
        Ok(Derivation { is_there: all_are_sound, mine, condition })
    }

    /// Whether each of these holds on all ranks. Fails only if no rank has the result.
    fn all<const N: usize>(&self, mine: [bool; N]) -> Result<[bool; N]> {
        let mut values = mine.map(|mine| 1 + u64::from(mine));
        let reduced = self.allreduce_min(&mut values);
        if values.contains(&0) {
            reduced?;
        }
        Ok(values.map(|value| value == 2))
    }

    /// The ranks of this rank's node, in their order. Collective.
    fn split_by_node(&self) -> DerivedComm {
        let kind = numbers::COMM_TYPE_SHARED.get();
        self.derive(|new| {
            // SAFETY: `self.comm` is the duplicate that only `drop` frees; writes one handle.
            unsafe { sys::MPI_Comm_split_type(self.comm, kind, 0, sys::info_null(), new) }
        })
    }

    /// The ranks that pass the same number, in their order; ranks that pass none want no communicator.
    /// Collective.
    fn split(&self, number: Option<usize>) -> DerivedComm {
        let none = numbers::UNDEFINED;
        let color = number.map_or(Ok(none), c_int::try_from).unwrap_or(c_int::MAX);
        let derived = self.derive(|new| {
            // SAFETY: `self.comm` is the duplicate that only `drop` frees; writes one handle. Ranks with the same key keep
            // their order.
            unsafe { sys::MPI_Comm_split(self.comm, color, 0, new) }
        });
        match (number, derived) {
            (None, DerivedComm::Missing) => DerivedComm::Unwanted,
            (None, unasked) => {
                // Leaked, because freeing is collective.
                std::mem::forget(unasked);
                DerivedComm::Missing
            }
            (Some(_), derived) => derived,
        }
    }

    /// A communicator that `make` derives from `self.comm`.
    fn derive(&self, make: impl FnOnce(*mut sys::Handle) -> c_int) -> DerivedComm {
        let mut new = self.comm;
        let made = make(&raw mut new);
        if new == self.comm || new == sys::comm_null() {
            return DerivedComm::Missing;
        }
        // SAFETY: MPI has just created this communicator.
        let _ = unsafe { sys::MPI_Comm_set_errhandler(new, sys::errors_return()) };
        let (mut rank, mut size) = (0, 0);
        // SAFETY: MPI has just created this communicator; writes one int.
        let ranked = unsafe { sys::MPI_Comm_rank(new, &raw mut rank) };
        // SAFETY: MPI has just created this communicator; writes one int.
        let sized = unsafe { sys::MPI_Comm_size(new, &raw mut size) };
        let is_sound = [made, ranked, sized].into_iter().all(succeeded);
        let mut comm = Self::unknown(new, true, None);
        (comm.rank, comm.size, comm.longest_message) = (from_mpi(rank), from_mpi(size), self.longest_message);
        DerivedComm::Made { comm, is_sound }
    }

    /// A window of memory on rank 0; `None` if MPI provides none.
    fn allocate_shared(&self, bytes: usize) -> Option<SharedWindow> {
        let own = if self.rank == 0 { isize::try_from(bytes).ok()? } else { 0 };
        let mut window = SharedWindow { handle: sys::win_null(), is_locked: false, is_sound: false };
        let mut base: *mut c_void = null_mut();
        // SAFETY: `self.comm` is the duplicate that only `drop` frees; writes one pointer and one handle.
        let status = unsafe {
            sys::MPI_Win_allocate_shared(
                own,
                1,
                sys::info_null(),
                self.comm,
                (&raw mut base).cast::<c_void>(),
                &raw mut window.handle,
            )
        };
        if window.handle == sys::win_null() {
            std::mem::forget(window);
            return None;
        }
        // SAFETY: MPI has just created this window.
        let _ = unsafe { sys::MPI_Win_set_errhandler(window.handle, sys::errors_return()) };
        // The epoch lasts as long as the window.
        let mode = numbers::MODE_NOCHECK.get();
        // SAFETY: MPI has just created this window.
        let locked = unsafe { sys::MPI_Win_lock_all(mode, window.handle) };
        window.is_locked = succeeded(locked);
        window.is_sound = succeeded(status);
        Some(window)
    }
}

/// A window of shared memory.
struct SharedWindow {
    handle: sys::Handle,
    is_locked: bool,
    /// True if MPI reported no error when it created the window.
    is_sound: bool,
}

// SAFETY: MPI lets any thread use a handle, within the level of thread support that the program requested,
// and the library uses none from two threads at once.
unsafe impl Send for SharedWindow {}

impl SharedWindow {
    /// The memory of rank 0, if it is accessible and has `bytes` bytes.
    fn base(&self, bytes: usize) -> Option<NonNull<u8>> {
        let (mut length, mut unit): (isize, c_int) = (0, 0);
        let mut base: *mut c_void = null_mut();
        // SAFETY: a `SharedWindow` holds a window that MPI created and only its drop frees; writes a length,
        // an int and a pointer.
        let status = unsafe {
            sys::MPI_Win_shared_query(
                self.handle,
                0,
                &raw mut length,
                &raw mut unit,
                (&raw mut base).cast::<c_void>(),
            )
        };
        let enough = usize::try_from(length).is_ok_and(|length| length >= bytes);
        NonNull::new(base.cast::<u8>())
            .filter(|_| succeeded(status) && self.is_sound && self.is_locked && enough)
    }
}

impl Keeper for SharedWindow {
    fn sync(&self) {
        fence(Ordering::SeqCst);
        // SAFETY: a `SharedWindow` holds a window that MPI created and only its drop frees. It is locked, as
        // `base` has checked, and the call can fail only for one that is not.
        let _ = unsafe { sys::MPI_Win_sync(self.handle) };
    }
}

impl Drop for SharedWindow {
    fn drop(&mut self) {
        // Freeing waits for all ranks, which a panicking rank cannot rely on.
        if std::thread::panicking() || !is_running() {
            return;
        }
        if self.is_locked {
            // SAFETY: MPI created this window, and it is locked.
            let _ = unsafe { sys::MPI_Win_unlock_all(self.handle) };
        }
        // SAFETY: MPI created this window in `allocate_shared`, and nothing uses it after this.
        let _ = unsafe { sys::MPI_Win_free(&raw mut self.handle) };
    }
}
