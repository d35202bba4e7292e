//! Collective calls of any open file: agreement on errors of the program, or of a library built on this one,
//! and exchanges between the ranks.

use super::session::{OpenFile, SessionState};
use super::source::Sizes;
use super::team::{Function, partition_of, split};
use scda_base::error::{Error, Result};
use scda_base::memory::resize;
use scda_ranks::{Partition, PartitionTable};

/// The most bytes that [`Collective::gather_all`] returns, because MPI counts them in an `int`.
const MOST_GATHERED: u64 = i32::MAX as u64;

/// An open file, [`Writer`](crate::Writer) or [`Reader`](crate::Reader), as a group of ranks that agree on
/// errors of the caller and exchange data.
///
/// All functions except [`rank`](Self::rank) and [`size`](Self::size) are collective. An error of one rank is
/// returned on all ranks, and closes the file: a rank with an error passes it as its argument.
pub trait Collective: OpenFile {
    /// This rank, from 0.
    #[inline]
    fn rank(&mut self) -> usize {
        self.session().ranks().rank
    }

    /// The number of ranks.
    #[inline]
    fn size(&mut self) -> usize {
        self.session().ranks().size
    }

    /// The `count` of every rank, by rank. Calls that take `counts` expect this, made from each rank's number
    /// of elements.
    ///
    /// # Errors
    /// Those of all calls since the ranks last agreed.
    fn proc_counts(&mut self, count: u64) -> Result<Vec<u64>> {
        self.session().operate(|state| {
            state.team().note_call(Function::ProcCounts);
            state.team().gather(Ok(count))
        })
    }

    /// The partition in which this rank has `count` elements. Made once, it can replace the `counts` of other
    /// calls, and then costs nothing that grows with the number of ranks.
    ///
    /// # Errors
    /// `Range` if the sum exceeds 63 bits, and those of all calls since the ranks last agreed.
    fn partition(&mut self, count: u64) -> Result<PartitionTable> {
        self.session().operate(|state| {
            state.team().note_call(Function::Partition);
            partition_of(state.team(), count)
        })
    }

    /// The sum of `sizes` on every rank, by rank: the `proc_sizes` of
    /// [`Writer::varray`](crate::Writer::varray) and [`Reader::read_varray`](crate::Reader::read_varray).
    ///
    /// # Errors
    /// `Range` if a sum exceeds 63 bits.
    fn proc_sizes(&mut self, sizes: &[u64]) -> Result<Vec<u64>> {
        self.session().operate(|state| {
            state.team().note_call(Function::ProcSizes);
            state.team().gather(Sizes::Each(sizes).total())
        })
    }

    /// Returns this rank's value if no rank has an error.
    ///
    /// # Errors
    /// The error of the lowest rank with one, and those of all calls since the ranks last agreed.
    fn agree_on<T>(&mut self, mine: Result<T>) -> Result<T> {
        self.session().operate(|state| {
            state.team().note_call(Function::Agree);
            let (value, mine) = split(mine.map(Some));
            state.team().agree(mine)?;
            value.ok_or_else(|| Error::usage("an error was lost").into())
        })
    }

    /// Completes each of these counts by the sum of the lower ranks' counts, and by the sum of all. All ranks
    /// pass the same number of counts.
    ///
    /// # Errors
    /// `Range` if a sum exceeds 63 bits; the errors of [`Self::agree_on`].
    fn spread(&mut self, parts: Result<&mut [Partition]>) -> Result<()> {
        self.session().operate(|state| {
            state.team().note_call(Function::Agree);
            let (parts, mine) = split(parts);
            let spread = state.team().agree(mine)?.spread_all(parts);
            // Makes an error of one rank an error of all within this call.
            state.team().agree(spread)?;
            Ok(())
        })
    }

    /// The concatenation of the bytes of all ranks, on all ranks; for small data.
    ///
    /// # Errors
    /// `Range` for 2 GiB and more; `Memory`; the errors of [`Self::agree_on`].
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

    /// Closes the file on all ranks because this one cannot continue, and says why. The other ranks get this
    /// error, which is also returned, from their current call, or from their next call that synchronizes:
    /// they do not wait for a rank that leaves. A file that was being written is incomplete; an atomic write
    /// leaves the old file.
    fn abandon(mut self, why: &str) -> Error
    where
        Self: Sized,
    {
        self.session().fail(Error::argument(why))
    }
}

impl<F: OpenFile> Collective for F {}
