//! One rank that stands for many.

use scda::{Communicator, Result};

/// Rank 0 of any number of ranks, the others of which have no elements: so it can go on without them.
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
    fn allreduce_min(&self, _: &mut [u64]) -> Result<()> {
        Ok(())
    }
    fn allreduce_sum(&self, _: &mut [u64]) -> Result<()> {
        Ok(())
    }
    fn exscan_sum(&self, values: &mut [u64]) -> Result<()> {
        values.fill(0);
        Ok(())
    }
    fn allgather(&self, value: u64) -> Result<Vec<u64>> {
        let mut all = vec![0; self.size];
        all[0] = value;
        Ok(all)
    }
    fn broadcast(&self, _: &mut [u8], _: usize) -> Result<()> {
        Ok(())
    }
    fn gather(&self, bytes: &[u8], all: &mut Vec<u8>) -> Result<()> {
        all.clear();
        all.extend_from_slice(bytes);
        Ok(())
    }
}
