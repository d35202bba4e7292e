//! One rank that stands for many.

use scda::{Communicator, Result, Solo};

/// Rank 0 of any number of ranks, the others of which have no elements: so it can go on without them, as if it
/// were alone.
pub struct First {
    pub size: usize,
}

impl Communicator for First {
    fn rank(&self) -> usize {
        0
    }
    fn size(&self) -> usize {
        self.size
    }
    fn allreduce_min(&self, values: &mut [u64]) -> Result<()> {
        Solo.allreduce_min(values)
    }
    fn allreduce_sum(&self, values: &mut [u64]) -> Result<()> {
        Solo.allreduce_sum(values)
    }
    fn exscan_sum(&self, values: &mut [u64]) -> Result<()> {
        Solo.exscan_sum(values)
    }
    fn allgather(&self, value: u64) -> Result<Vec<u64>> {
        let mut all = vec![0; self.size];
        all[0] = value;
        Ok(all)
    }
    fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<()> {
        Solo.broadcast(bytes, root)
    }
    fn gather(&self, bytes: &[u8], all: &mut Vec<u8>) -> Result<()> {
        Solo.gather(bytes, all)
    }
}
