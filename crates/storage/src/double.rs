//! A test double for files, which passes each access to a function.

use super::ParallelFile;
use scda_base::error::Result;

type WriteHook = dyn FnMut(u64, &[&[u8]]) -> Result<()> + Send;
type ReadHook = dyn FnMut(u64, &mut [u8]) + Send;

/// A file that is only written or only read.
pub struct Double {
    write: Box<WriteHook>,
    read: Box<ReadHook>,
}

impl Double {
    /// Passes the offset and the runs of each write to a function.
    pub fn written(mut write: impl FnMut(u64, &[&[u8]]) + Send + 'static) -> Self {
        Self::failing(move |offset, runs| {
            write(offset, runs);
            Ok(())
        })
    }

    /// Like [`Self::written`], with a function that may fail.
    pub fn failing(write: impl FnMut(u64, &[&[u8]]) -> Result<()> + Send + 'static) -> Self {
        Self { write: Box::new(write), read: Box::new(|_, _| unreachable!("this file is only written")) }
    }

    /// Lets a function answer each read.
    pub fn read(read: impl FnMut(u64, &mut [u8]) + Send + 'static) -> Self {
        Self { write: Box::new(|_, _| unreachable!("this file is only read")), read: Box::new(read) }
    }
}

impl ParallelFile for Double {
    fn write_at(&mut self, offset: u64, runs: &[&[u8]]) -> Result<()> {
        (self.write)(offset, runs)
    }
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        (self.read)(offset, buffer);
        Ok(())
    }
    fn size(&mut self) -> Result<u64> {
        Ok(u64::MAX >> 1)
    }
    fn truncate(&mut self, _: u64) -> Result<()> {
        Ok(())
    }
    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}
