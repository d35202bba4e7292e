//! Local reads: one rank reads without the others.

use super::{Input, SectionReader};
use crate::file::team::{Failure, Team};
use scda_base::error::Result;
use scda_storage::ParallelFile;

/// Something that reads sections of a file, and can do so on this rank alone.
pub(in crate::file::reader) trait ReadsLocally {
    fn sections(&mut self) -> &mut SectionReader;

    /// The file and its ranks.
    #[inline(always)]
    fn input(&mut self) -> &mut Input {
        &mut self.sections().input
    }

    /// The ranks.
    #[inline(always)]
    fn team(&mut self) -> &mut Team {
        &mut self.input().team
    }

    /// The file, for reading on this rank alone.
    #[inline]
    fn file(&mut self) -> &mut dyn ParallelFile {
        self.input().file()
    }

    /// Reads on this rank alone; errors concern this rank.
    fn alone<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Failure>) -> Result<T> {
        if self.team().is_alone() {
            return read(self).map_err(|failure| self.team().settle(failure));
        }
        self.apart(|this, _| {
            let result = read(this).and_then(|value| {
                this.team().agree(Ok(()))?;
                Ok(value)
            });
            result.map_err(|failure| this.team().settle(failure))
        })
    }

    /// Lets this rank read alone, and passes the ranks to `read`, so that they can meet between local reads.
    fn apart<T>(&mut self, read: impl FnOnce(&mut Self, &mut Team) -> T) -> T {
        let mut ranks = self.input().leave();
        let result = read(self, &mut ranks.team);
        self.input().rejoin(ranks);
        result
    }

    /// Looks something up on rank 0 and shares the result. The section being read stays current.
    fn look_up<const N: usize>(
        &mut self,
        find: impl FnOnce(&mut Self) -> Result<[u64; N]>,
    ) -> Result<[u64; N], Failure> {
        let found = self.look_up_own(find).map(|found| found.unwrap_or([0; N]));
        self.team().share(0, found)
    }

    /// Looks something up on rank 0; `None` on other ranks. The section being read stays current.
    fn look_up_own<T>(&mut self, find: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if self.team().rank() > 0 {
            return Ok(None);
        }
        let before = self.sections().leave_section();
        let found = self.alone(|this| Ok(find(this)?));
        self.sections().cursor = before;
        found.map(Some)
    }

    /// Reads other sections, and returns to the section being read and the position.
    fn aside<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Failure>) -> Result<T, Failure> {
        let before = self.sections().leave_section();
        let result = read(self);
        self.sections().cursor = before;
        result
    }
}
