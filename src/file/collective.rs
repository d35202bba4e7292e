//! Collective calls that files have in common: agreements on errors of the program or of a library that builds on this one, and
//! exchanges between the ranks.

use super::session::{OpenFile, SessionState};
use super::source::Sizes;
use super::team::{Function, partition_of, split};
use scda_base::error::{Error, Result};
use scda_base::memory::resize;
use scda_ranks::{Partition, PartitionTable};

/// An open file, [`Writer`](crate::Writer) or [`Reader`](crate::Reader), as a group of ranks: they agree on errors that the caller has
/// found, and exchange what they need.
///
/// Every function but [`rank`](Self::rank) and [`size`](Self::size) is collective. An error of any rank is returned on all ranks, and closes
/// the file: a rank with an error takes part with it.
pub trait Collective {
    /// This rank, from 0.
    fn rank(&mut self) -> usize;
    /// The number of ranks.
    fn size(&mut self) -> usize;
    /// The `count` of every rank, by rank: what calls take as `counts`, made from the number of elements that each rank has.
    ///
    /// # Errors
    /// Those of all calls since the ranks last agreed.
    fn proc_counts(&mut self, count: u64) -> Result<Vec<u64>>;
    /// The partition in which this rank has `count` elements, to be made once: it stands for the `counts` that other calls take, and takes
    /// no work that grows with the number of ranks.
    ///
    /// # Errors
    /// `Range` if the sum exceeds 63 bits, and those of all calls since the ranks last agreed.
    fn partition(&mut self, count: u64) -> Result<PartitionTable>;
    /// The sum of `sizes` on every rank, by rank: what [`Writer::varray`](crate::Writer::varray) and
    /// [`Reader::read_varray`](crate::Reader::read_varray) take as `proc_sizes`.
    ///
    /// # Errors
    /// `Range` if a sum exceeds 63 bits.
    fn proc_sizes(&mut self, sizes: &[u64]) -> Result<Vec<u64>>;
    /// What this rank has, unless a rank has an error.
    ///
    /// # Errors
    /// That of the lowest rank that has one, and those of all calls since the ranks last agreed.
    fn agree_on<T>(&mut self, mine: Result<T>) -> Result<T>;
    /// Fills in, for each of these counts, what the ranks below this one have, and what all have. All ranks pass as many.
    ///
    /// # Errors
    /// `Range` if a sum exceeds 63 bits; the errors of [`Self::agree_on`].
    fn spread(&mut self, parts: Result<&mut [Partition]>) -> Result<()>;
    /// The bytes of all ranks, one after the other, on all ranks: for what is small.
    ///
    /// # Errors
    /// `Range` for 2 GiB and more; `Memory`; the errors of [`Self::agree_on`].
    fn gather_all(&mut self, mine: Result<&[u8]>) -> Result<Vec<u8>>;
    /// Closes the file on all ranks because this one cannot go on, and says why. The others get this error, which is returned, from the call
    /// they are in or from their next one that meets: a rank that leaves alone must not keep them waiting. A file that was being written is
    /// incomplete; an atomic write leaves the old one.
    fn abandon(self, why: &str) -> Error;
}

/// The most bytes that [`Collective::gather_all`] returns: MPI counts them by an `int`.
const MOST_GATHERED: u64 = i32::MAX as u64;

impl<F: OpenFile> Collective for F {
    #[inline]
    fn rank(&mut self) -> usize {
        self.session().ranks().rank
    }

    #[inline]
    fn size(&mut self) -> usize {
        self.session().ranks().size
    }

    fn proc_counts(&mut self, count: u64) -> Result<Vec<u64>> {
        self.session().operate(|state| {
            state.team().note_call(Function::ProcCounts);
            state.team().gather(Ok(count))
        })
    }

    fn partition(&mut self, count: u64) -> Result<PartitionTable> {
        self.session().operate(|state| {
            state.team().note_call(Function::Partition);
            partition_of(state.team(), count)
        })
    }

    fn proc_sizes(&mut self, sizes: &[u64]) -> Result<Vec<u64>> {
        self.session().operate(|state| {
            state.team().note_call(Function::ProcSizes);
            state.team().gather(Sizes::Each(sizes).total())
        })
    }

    fn agree_on<T>(&mut self, mine: Result<T>) -> Result<T> {
        self.session().operate(|state| {
            state.team().note_call(Function::Agree);
            let (value, mine) = match mine {
                Ok(value) => (Some(value), Ok(())),
                Err(error) => (None, Err(error)),
            };
            state.team().agree(mine)?;
            value.ok_or_else(|| Error::usage("an error was lost").into())
        })
    }

    fn spread(&mut self, parts: Result<&mut [Partition]>) -> Result<()> {
        self.session().operate(|state| {
            state.team().note_call(Function::Agree);
            let (parts, mine) = split(parts);
            let spread = state.team().agree(mine)?.spread_all(parts);
            // An error of one rank alone is one of all in this call.
            state.team().agree(spread)?;
            Ok(())
        })
    }

    fn gather_all(&mut self, mine: Result<&[u8]>) -> Result<Vec<u8>> {
        self.session().operate(|state| {
            let team = state.team();
            team.note_call(Function::Agree);
            let (mine, error) = split(mine);
            let room = team.agree(error)?.spread(mine.len() as u64).and_then(|part| {
                let mut all = Vec::new();
                if part.total > MOST_GATHERED {
                    return Err(Error::range(format!("found {} bytes of all ranks to exchange", part.total)));
                }
                resize(&mut all, part.total)?;
                Ok(all)
            });
            let (mut all, room) = split(room);
            let rank = team.rank();
            let agreed = team.agree(room)?;
            if all.is_empty() {
                return Ok(all); // on all ranks
            }
            let mut gathered = Vec::new();
            let first = agreed.comm().gather(mine, &mut gathered);
            if rank == 0 && gathered.len() == all.len() {
                all = gathered;
            }
            let second = agreed.comm().broadcast(&mut all, 0);
            team.agree(first.and(second))?;
            Ok(all)
        })
    }

    fn abandon(mut self, why: &str) -> Error {
        self.session().fail(Error::argument(why))
    }
}
