//! Ranks: how elements are distributed over them, and how they communicate.
#![cfg_attr(test, allow(clippy::cast_possible_truncation))] // test data

pub mod hash;
pub mod machine;
#[cfg(feature = "mpi")]
#[allow(unsafe_code)]
pub mod mpi;
mod nodes;
pub mod partition;
#[cfg(feature = "rsmpi")]
#[allow(unsafe_code)]
mod rsmpi;
#[allow(unsafe_code)]
mod shared;
#[cfg(any(test, feature = "doubles"))]
pub mod simulated;
mod threads;

pub use machine::machine;
pub use nodes::Nodes;
pub use partition::FEW;
pub use partition::{Partition, PartitionTable, uniform_partition};
pub use shared::SharedMemory;
pub use shared::share_memory;
pub use threads::{ThreadComm, run_on, run_on_threads};

use scda_base::error::Result;
use scda_base::memory::reserve;
use scda_base::numbers::to_usize;

/// The most values that rank 0 gathers at a time.
const GATHERED_VALUES: usize = 1 << 20;

/// The most bytes that [`Communicator::alltoallv`] sends at a time if it is made of broadcasts.
const BROADCAST_BYTES: usize = 1 << 14;

/// The few collectives that the library needs, on 64-bit values and on bytes.
///
/// Every function except [`rank`](Self::rank) and [`size`](Self::size) is collective: all ranks call it in
/// the same order. Arguments have the same length on all ranks, unless stated otherwise.
pub trait Communicator: Send {
    /// This rank, from 0.
    fn rank(&self) -> usize;
    /// The number of ranks.
    fn size(&self) -> usize;
    /// Replaces each value by its minimum over all ranks. Not all minima may be 0. Values from 2^63 on may be
    /// taken as negative, by all ranks alike; MPICH 4.0 does so.
    ///
    /// # Errors
    /// `Mpi`, as for all functions of this trait. If there is no result, all values are then 0. Otherwise
    /// they are the result, and possibly only this rank has an error, while the others continue.
    fn allreduce_min(&self, values: &mut [u64]) -> Result<()>;
    /// Replaces each value by its sum over all ranks. Not all sums may be 0.
    ///
    /// # Errors
    /// `Mpi`; the values are then like those after [`allreduce_min`](Self::allreduce_min).
    fn allreduce_sum(&self, values: &mut [u64]) -> Result<()>;
    /// Replaces each value by its sum over the ranks below this one.
    ///
    /// # Errors
    /// `Mpi`.
    fn exscan_sum(&self, values: &mut [u64]) -> Result<()>;
    /// The values of all ranks, by rank.
    ///
    /// # Errors
    /// `Mpi`.
    fn allgather(&self, value: u64) -> Result<Vec<u64>>;
    /// Sends `bytes` from `root` to all ranks.
    ///
    /// # Errors
    /// `Mpi`.
    fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<()>;
    /// On rank 0, fills `all` with the bytes of all ranks in their order; their lengths may differ. On other
    /// ranks `all` becomes empty.
    ///
    /// # Errors
    /// `Mpi`.
    fn gather(&self, bytes: &[u8], all: &mut Vec<u8>) -> Result<()>;
    /// On rank 0, replaces each value by the exclusive or over all ranks. On other ranks the values become
    /// meaningless.
    ///
    /// # Errors
    /// `Mpi`.
    fn reduce_xor(&self, values: &mut [u64]) -> Result<()> {
        // In small steps, so that rank 0 needs little memory for the values of all ranks.
        let step = (GATHERED_VALUES / self.size()).max(1);
        let (mut sent, mut all) = (Vec::new(), Vec::new());
        let mut result = Ok(());
        for part in values.chunks_mut(step) {
            sent.clear();
            let room = reserve(&mut sent, size_of_val(part));
            if room.is_ok() {
                sent.extend(part.iter().flat_map(|value| value.to_ne_bytes()));
            }
            // The other ranks continue with this exchange, and with the next step.
            result = result.and(room).and(self.gather(&sent, &mut all));
            if self.rank() == 0 {
                part.fill(0);
                for (value, bytes) in (0..part.len()).cycle().zip(all.as_chunks().0) {
                    part[value] ^= u64::from_ne_bytes(*bytes);
                }
            }
        }
        result
    }
    /// Sends each rank its part of `sent`, and fills `received` with the parts that the ranks send to this
    /// one, both in the order of the ranks. `sent_bytes` and `received_bytes` are the lengths of these parts,
    /// which sender and receiver both know.
    ///
    /// By default, each rank broadcasts everything that it sends.
    ///
    /// # Errors
    /// `Mpi`. The received bytes are then meaningless; the other ranks may continue.
    fn alltoallv(
        &self,
        sent: &[u8],
        sent_bytes: &[usize],
        received: &mut [u8],
        received_bytes: &[usize],
    ) -> Result<()> {
        let mut message = [0; BROADCAST_BYTES];
        let (mut filled, mut result) = (0, Ok(()));
        for (root, &expected) in received_bytes.iter().enumerate() {
            // Where this rank's part begins in what the root sends, and where everything ends.
            let (mut start, mut end) = (0, 0);
            for first in (0..self.size()).step_by(BROADCAST_BYTES / 8) {
                let ranks = first..self.size().min(first + BROADCAST_BYTES / 8);
                let message = &mut message[..8 * ranks.len()];
                if root == self.rank() {
                    for (bytes, length) in
                        message.as_chunks_mut().0.iter_mut().zip(&sent_bytes[ranks.clone()])
                    {
                        *bytes = (*length as u64).to_ne_bytes();
                    }
                }
                self.broadcast(message, root)?;
                for (rank, bytes) in ranks.zip(message.as_chunks().0) {
                    let length = to_usize(u64::from_ne_bytes(*bytes));
                    start += if rank < self.rank() { length } else { 0 };
                    end += length;
                }
            }
            let own = &mut received[filled..filled + expected];
            filled += expected;
            for first in (0..end).step_by(BROADCAST_BYTES) {
                let last = end.min(first + BROADCAST_BYTES);
                let message = &mut message[..last - first];
                if root == self.rank() {
                    message.copy_from_slice(&sent[first..last]);
                }
                // The other ranks continue with the next message.
                result = result.and(self.broadcast(message, root));
                let (from, to) = (start.clamp(first, last), (start + expected).clamp(first, last));
                if from < to {
                    own[from - start..to - start].copy_from_slice(&message[from - first..to - first]);
                }
            }
        }
        result
    }
    /// Sends each rank its part of `sent`, and fills `received` with the parts that the ranks send to this
    /// one, both in the order of the ranks. All parts have the same length.
    ///
    /// By default, this calls [`alltoallv`](Self::alltoallv).
    ///
    /// # Errors
    /// `Mpi`. The received bytes are then meaningless; the other ranks may continue.
    fn alltoall(&self, sent: &[u8], received: &mut [u8]) -> Result<()> {
        let equal = vec![sent.len() / self.size(); self.size()];
        self.alltoallv(sent, &equal, received, &equal)
    }
    /// Memory of `bytes` bytes that all ranks share; `None` on all ranks if they cannot share memory, for
    /// example between nodes. Small sections are buffered in it for writing and reading; without it they are
    /// sent as messages.
    ///
    /// # Safety
    /// There are only two permitted callers: this library, which divides the bytes among the ranks so that
    /// none writes where another reads; and an implementation of this function for a communicator with the
    /// same ranks and numbers, which returns the result unchanged and keeps nothing of it.
    ///
    /// # Errors
    /// `Mpi`.
    #[allow(unsafe_code)] // a promise of the caller
    unsafe fn share_memory(&self, bytes: usize) -> Result<Option<SharedMemory>> {
        let _ = bytes;
        Ok(None)
    }
    /// The nodes of the ranks, so that exchanges between nodes can go through one rank of each. `None` on all
    /// ranks if they are on one node, if each has its own, or if that is unknown.
    ///
    /// # Errors
    /// `Mpi`.
    fn nodes(&self) -> Result<Option<Nodes>> {
        Ok(None)
    }
    /// A number that identifies this rank's node. Ranks with the same number share the caches of one kernel;
    /// ranks with different numbers are on different nodes. Not collective.
    #[doc(hidden)]
    fn node(&self) -> u64 {
        machine()
    }
    /// The underlying MPI communicator, for MPI-IO.
    #[cfg(feature = "mpi")]
    #[doc(hidden)]
    fn as_mpi(&self) -> Option<&mpi::Mpi> {
        None
    }
}

/// The communicator of a single process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Solo;

impl Communicator for Solo {
    fn rank(&self) -> usize {
        0
    }
    fn size(&self) -> usize {
        1
    }
    fn allreduce_min(&self, _: &mut [u64]) -> Result<()> {
        Ok(())
    }
    fn allreduce_sum(&self, _: &mut [u64]) -> Result<()> {
        Ok(())
    }
    fn reduce_xor(&self, _: &mut [u64]) -> Result<()> {
        Ok(())
    }
    fn exscan_sum(&self, values: &mut [u64]) -> Result<()> {
        values.fill(0);
        Ok(())
    }
    fn allgather(&self, value: u64) -> Result<Vec<u64>> {
        Ok(vec![value])
    }
    fn broadcast(&self, _: &mut [u8], _: usize) -> Result<()> {
        Ok(())
    }
    fn alltoallv(&self, sent: &[u8], _: &[usize], received: &mut [u8], _: &[usize]) -> Result<()> {
        received.copy_from_slice(sent);
        Ok(())
    }
    fn gather(&self, bytes: &[u8], all: &mut Vec<u8>) -> Result<()> {
        all.clear();
        reserve(all, bytes.len())?;
        all.extend_from_slice(bytes);
        Ok(())
    }
    #[allow(unsafe_code)]
    unsafe fn share_memory(&self, bytes: usize) -> Result<Option<SharedMemory>> {
        Ok(shared::Allocation::new(bytes).as_ref().map(SharedMemory::from_allocation))
    }
}
