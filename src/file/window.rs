//! Reading ahead: a part of the file that rank 0 reads once and all ranks have.

use super::team::{Failure, Team};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::ParallelFile;

/// The bytes read ahead where nothing is known of what follows.
const FIRST_BYTES: u64 = 4096;

/// A part of the file that all ranks have in memory, the same on all.
pub struct Window {
    start: u64,
    bytes: Vec<u8>,
    /// The most bytes to read ahead.
    limit: u64,
}

impl Window {
    pub fn new(limit: usize) -> Self {
        Self { start: 0, bytes: Vec::new(), limit: limit as u64 }
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// These bytes of the file, if the window holds all of them.
    pub fn get(&self, offset: u64, length: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)
    }

    /// Moves the window so that it begins at `offset` and holds at least `length` bytes, which the
    /// file has. Collective; nothing happens if it holds them already.
    ///
    /// As long as one window follows the other the file is being walked, and they double in size.
    /// A jump over data begins anew with a small one.
    pub fn cover(
        &mut self,
        team: &mut Team,
        file: &mut dyn ParallelFile,
        file_size: u64,
        offset: u64,
        length: u64,
    ) -> Result<(), Failure> {
        if self.get(offset, length).is_some() {
            return Ok(());
        }
        // A step over a padding, or over what is no longer than the window, is no jump.
        let near = self.end() + self.bytes.len() as u64;
        let follows = !self.bytes.is_empty() && (self.start..=near).contains(&offset);
        let ahead = if follows { 2 * self.bytes.len() as u64 } else { FIRST_BYTES };
        let bytes = ahead.min(self.limit).max(length).min(file_size - offset);
        team.agree(Ok(()))?;
        // One byte more tells the others whether rank 0 could read.
        let room = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_add(1);
        self.bytes.clear();
        self.bytes.resize(room, 0);
        let (text, failed) = self.bytes.split_at_mut(room - 1);
        let read = if team.rank() == 0 { file.read_at(offset, text) } else { Ok(()) };
        failed[0] = u8::from(read.is_err());
        team.comm().broadcast(&mut self.bytes, 0)?;
        let failed = self.bytes.pop() != Some(0);
        self.start = offset;
        if failed {
            self.bytes.clear();
            team.agree(read)?;
            // Rank 0 had an error to agree on.
            return Err(Error::new(ErrorKind::Internal, "an error of reading was lost").into());
        }
        Ok(())
    }
}
