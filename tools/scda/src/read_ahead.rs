//! Reads many small ranges of a file that are close to one another.

use crate::fail::{Fail, Result};
use crate::files::Input;
use scda::Error;
use scda_base::numbers::to_usize;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The bytes that are read at once.
const AHEAD_BYTES: u64 = 64 << 10;

/// Bytes of a file that were read at once, because the objects of a view are close together.
pub struct ReadAhead {
    file: File,
    end: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl ReadAhead {
    /// A read-ahead buffer for a file, up to an offset.
    ///
    /// # Errors
    /// The errors of opening the file.
    pub fn new(input: &Input, end: u64) -> Result<Self> {
        let file = input.file().map_err(|error| Fail::file(input.name(), error))?;
        Ok(Self { file, end, start: 0, bytes: Vec::new() })
    }

    /// Reads bytes of the file before its end.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn read(&mut self, offset: u64, to: &mut [u8]) -> scda::Result<()> {
        let read = |bytes: &mut [u8], at: u64| {
            self.file.read_exact_at(bytes, at).map_err(|error| Error::io("read", error).at(at))
        };
        let last = offset.saturating_add(to.len() as u64);
        if to.len() as u64 > AHEAD_BYTES {
            return read(to, offset);
        }
        if offset < self.start || last > self.start + self.bytes.len() as u64 {
            self.bytes.resize(to_usize(AHEAD_BYTES.min(self.end.saturating_sub(offset))), 0);
            self.start = offset;
            read(&mut self.bytes, offset)?;
        }
        let at = to_usize(offset - self.start);
        to.copy_from_slice(&self.bytes[at..at + to.len()]);
        Ok(())
    }
}
