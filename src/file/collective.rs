//! Collective calls for libraries that build on this one: agreements on their own errors, and exchanges between the ranks of an
//! open file.

use super::session::{Session, SessionState};
use super::team::{Function, split};
use super::{Reader, Writer};
use scda_base::error::{Error, Result};
use scda_base::memory::resize;
use scda_ranks::Partition;

/// An open file, whose ranks agree on errors that a library above this one has found, and exchange what it needs.
///
/// Every function but [`rank`](Self::rank) and [`size`](Self::size) is collective. An error of any rank is returned on all ranks, and closes
/// the file: a rank with an error takes part with it.
pub trait Collective {
    /// This rank, from 0.
    fn rank(&mut self) -> usize;
    /// The number of ranks.
    fn size(&mut self) -> usize;
    /// What this rank has, unless a rank has an error.
    ///
    /// # Errors
    /// That of the lowest rank that has one, and those of all calls since the ranks last agreed.
    fn agree_on<T>(&mut self, mine: Result<T>) -> Result<T>;
    /// Fills in, for each of these counts, what the ranks below this one have, and what all have. All ranks pass as many.
    ///
    /// # Errors
    /// `Range` if a sum exceeds 63 bits; those of [`Self::agree_on`].
    fn spread(&mut self, parts: Result<&mut [Partition]>) -> Result<()>;
    /// The bytes of all ranks, one after the other, on all ranks: for what is small.
    ///
    /// # Errors
    /// `Range` for 2 GiB and more; `Memory`; those of [`Self::agree_on`].
    fn gather_all(&mut self, mine: Result<&[u8]>) -> Result<Vec<u8>>;
}

/// The most bytes that [`Collective::gather_all`] returns: MPI counts them by an `int`.
const MOST_GATHERED: u64 = i32::MAX as u64;

impl<S: SessionState> Session<S> {
    fn agree_on<T>(&mut self, mine: Result<T>) -> Result<T> {
        self.operate(|state| {
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
        self.operate(|state| {
            state.team().note_call(Function::Agree);
            let (parts, mine) = split(parts);
            let spread = state.team().agree(mine)?.spread_all(parts);
            // An error of one rank alone is one of all in this call.
            state.team().agree(spread)?;
            Ok(())
        })
    }

    fn gather_all(&mut self, mine: Result<&[u8]>) -> Result<Vec<u8>> {
        self.operate(|state| {
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
}

macro_rules! collective {
    ($file:ty) => {
        impl Collective for $file {
            fn rank(&mut self) -> usize {
                self.session().ranks().rank
            }
            fn size(&mut self) -> usize {
                self.session().ranks().size
            }
            fn agree_on<T>(&mut self, mine: Result<T>) -> Result<T> {
                self.session().agree_on(mine)
            }
            fn spread(&mut self, parts: Result<&mut [Partition]>) -> Result<()> {
                self.session().spread(parts)
            }
            fn gather_all(&mut self, mine: Result<&[u8]>) -> Result<Vec<u8>> {
                self.session().gather_all(mine)
            }
        }
    };
}
collective!(Writer);
collective!(Reader);
