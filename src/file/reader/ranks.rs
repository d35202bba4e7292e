//! Exchanges between the ranks of a file that is read.

use super::Reader;
use crate::file::session::{SessionState, ThisRank};
use crate::file::team::Function;
use scda_base::error::{Error, Result};
use scda_base::memory;
use scda_ranks::PartitionTable;

impl Reader {
    /// The `count` of every rank, by rank: what [`Self::read_array`] and
    /// [`Self::read_varray`] take as `counts`, made
    /// from the number of elements that each rank has.
    ///
    /// # Errors
    /// Those of all calls since the ranks last agreed.
    pub fn proc_counts(&mut self, count: u64) -> Result<Vec<u64>> {
        self.session.proc_counts(count)
    }

    /// The partition in which this rank has `count` elements, to be made once: it stands for the `counts` that
    /// [`Self::read_array`] and [`Self::read_varray`] take, and takes no work that grows with the number of ranks.
    ///
    /// # Errors
    /// `Range` if the sum exceeds 63 bits, and those of all calls since the ranks last agreed.
    pub fn partition(&mut self, count: u64) -> Result<PartitionTable> {
        self.session.partition(count)
    }

    /// Returns an error if a file may not ask for `bytes` bytes of memory, which the program is about to take for it: see
    /// [`Tuning::max_memory`](crate::Tuning::max_memory). Not collective.
    ///
    /// # Errors
    /// `Memory`.
    pub fn check_memory(&mut self, bytes: u64) -> Result<()> {
        self.session.locally(|_| memory::check(bytes))
    }

    /// Agrees with the other ranks on the errors so far. For language bindings whose ranks then exchange something of their own.
    ///
    /// # Errors
    /// Those of all calls since the ranks last agreed.
    #[doc(hidden)]
    pub fn agree(&mut self) -> Result<()> {
        self.session.operate(|state| {
            state.team().note_call(Function::Agree);
            state.team().agree(Ok(())).map(drop)
        })
    }

    /// The sum of `sizes` on every rank, by rank.
    ///
    /// # Errors
    /// `Range` if a sum exceeds 63 bits.
    pub fn proc_sizes(&mut self, sizes: &[u64]) -> Result<Vec<u64>> {
        self.session.proc_sizes(sizes)
    }

    pub(crate) fn ranks(&mut self) -> ThisRank {
        self.session.ranks()
    }

    /// The word of rank 0, unless a rank has an error.
    pub(crate) fn of_first_rank(&mut self, word: Result<u64>) -> Result<u64> {
        self.session.operate(|state| Ok(state.team().share(0, word.map(|word| [word]))?[0]))
    }

    /// Notes an error of this rank, with which all ranks fail when they next agree.
    pub(crate) fn refuse(&mut self, error: Error) {
        self.session.refuse(error);
    }

    /// Fails on all ranks with an error that this one noticed in an argument, and closes the file.
    pub(crate) fn fail(&mut self, error: Error) -> Error {
        self.session.fail(error)
    }
}
