//! Fault injection: a file some of whose accesses fail, to test how a program handles errors.

use super::ParallelFile;
use scda_base::error::{Error, ErrorKind, Result};

/// How often accesses fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// On average, one access in this many fails on each rank; with 1, every access does.
    pub every: u64,
    /// The seed of the pseudo-random choice. The same seed gives the same faults.
    pub seed: u64,
}

/// A file some of whose accesses fail.
pub struct FaultyFile {
    file: Box<dyn ParallelFile>,
    every: u64,
    state: u64,
}

impl FaultyFile {
    /// Wraps the file of this rank.
    #[must_use]
    pub fn new(file: Box<dyn ParallelFile>, faults: Faults, rank: usize) -> Self {
        let state = faults.seed ^ (rank as u64).wrapping_mul(0xA24B_AED4_963E_E407);
        Self { file, every: faults.every.max(1), state }
    }

    /// Returns an error if this access is to fail (SplitMix64).
    fn chance(&mut self, what: &str) -> Result<()> {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        if (z ^ (z >> 31)).is_multiple_of(self.every) {
            return Err(Error::new(ErrorKind::Io, format!("{what}: injected fault")));
        }
        Ok(())
    }
}

impl ParallelFile for FaultyFile {
    fn write_at(&mut self, offset: u64, runs: &[&[u8]]) -> Result<()> {
        self.chance("write").map_err(|e| e.at(offset))?;
        self.file.write_at(offset, runs)
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.chance("read").map_err(|e| e.at(offset))?;
        self.file.read_at(offset, buffer)
    }

    fn size(&mut self) -> Result<u64> {
        self.file.size()
    }

    fn truncate(&mut self, length: u64) -> Result<()> {
        let fault = self.chance("truncate");
        self.file.truncate(length).and(fault)
    }

    fn sync(&mut self) -> Result<()> {
        // Sync is collective: ranks without a fault must not wait for this one.
        let fault = self.chance("sync");
        self.file.sync().and(fault)
    }

    fn sync_alone(&mut self) -> Result<()> {
        let fault = self.chance("sync");
        self.file.sync_alone().and(fault)
    }

    fn has_written(&mut self) -> bool {
        self.file.has_written()
    }

    fn look_again(&mut self) {
        self.file.look_again();
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        let fault = self.chance("close");
        self.file.close().and(fault)
    }
}
