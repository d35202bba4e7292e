//! Arguments of a C function that must be the same on all ranks. If one is wrong on this rank, all ranks fail
//! with its error.

use super::context::Context;
use super::pointers::{PerRank, UserText};
use scda::bindings::{BindingCalls, ThisRank};
use scda_base::error::{Error, Result};
use scda_ranks::partition::{is_known, known_count};
use std::ffi::c_int;

/// Checks arguments that must be the same on all ranks.
pub trait Arguments: BindingCalls {
    /// The value; an error fails on all ranks.
    #[inline]
    fn require<T>(&mut self, value: Result<T>) -> Result<T> {
        value.map_err(|error| self.fail(error))
    }

    /// Checks the root of a section without a partition.
    #[inline]
    fn root(&mut self, root: c_int) -> Result<Root> {
        let rank = self.require(usize::try_from(root).map_err(|_| no_rank(root)))?;
        Ok(Root { rank, is_here: self.ranks().rank == rank })
    }

    /// Checks a user string to be written.
    #[inline]
    fn user_string<'a>(&mut self, userstr: UserText<'a>, len: Option<&usize>) -> Result<&'a [u8]> {
        self.require(userstr.bytes(len))
    }

    /// Checks the counts of all ranks; returns also that of this rank.
    #[inline]
    fn counts<'a>(&mut self, nq: PerRank<'a>) -> Result<(&'a [u64], u64)> {
        let ThisRank { rank, size } = self.ranks();
        let counts = self.require(nq.counts(size))?;
        let own = if is_known(counts) { known_count(counts) } else { Some(counts[rank]) };
        Ok((counts, own.unwrap_or(0)))
    }

    /// Checks the bytes of all ranks; `None` for NULL.
    #[inline]
    fn sums<'a>(&mut self, sq: PerRank<'a>) -> Result<Option<&'a [u64]>> {
        let size = self.ranks().size;
        self.require(sq.sums(size))
    }
}

/// The rank that has the data of a section without a partition.
#[derive(Clone, Copy)]
pub struct Root {
    /// Its number.
    pub rank: usize,
    /// Whether it is this rank.
    pub is_here: bool,
}

impl Root {
    /// The bytes that this rank has, if the section has `all` bytes.
    #[inline]
    pub fn own_bytes(self, all: u64) -> u64 {
        if self.is_here { all } else { 0 }
    }
}

#[cold]
fn no_rank(found: c_int) -> Error {
    Error::argument(format!("root: found {found}, expected 0 or more"))
}

impl<T: BindingCalls> Arguments for T {}

impl BindingCalls for Context {
    fn ranks(&mut self) -> ThisRank {
        match self {
            Self::Writing(writer) => writer.ranks(),
            Self::Reading(reader, _) => reader.ranks(),
        }
    }

    fn refuse(&mut self, error: Error) {
        match self {
            Self::Writing(writer) => writer.refuse(error),
            Self::Reading(reader, _) => reader.refuse(error),
        }
    }

    fn fail(&mut self, error: Error) -> Error {
        match self {
            Self::Writing(writer) => writer.fail(error),
            Self::Reading(reader, _) => reader.fail(error),
        }
    }
}
