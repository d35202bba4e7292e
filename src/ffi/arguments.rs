//! The arguments of a C function that must be the same on all ranks. If one is wrong on this rank, all ranks
//! fail with it.

use super::context::Context;
use super::pointers::{PerRank, UserText};
use crate::file::{Reader, ThisRank, Writer};
use scda_base::error::{Error, Result};
use scda_ranks::partition::{is_known, known_count};
use std::ffi::c_int;

/// A file that a C function was called on.
pub trait Arguments {
    fn ranks(&mut self) -> ThisRank;
    /// Fails on all ranks.
    fn fail(&mut self, error: Error) -> Error;

    /// A value, or failure on all ranks.
    #[inline]
    fn require<T>(&mut self, value: Result<T>) -> Result<T> {
        value.map_err(|error| self.fail(error))
    }

    /// The root of a section without a partition.
    #[inline]
    fn root(&mut self, root: c_int) -> Result<Root> {
        let rank = self.require(usize::try_from(root).map_err(|_| no_rank(root)))?;
        Ok(Root { rank, is_here: self.ranks().rank == rank })
    }

    /// A user string to write.
    #[inline]
    fn user_string<'a>(&mut self, userstr: UserText<'a>, len: Option<&usize>) -> Result<&'a [u8]> {
        self.require(userstr.bytes(len))
    }

    /// The counts of all ranks, and that of this one.
    #[inline]
    fn counts<'a>(&mut self, nq: PerRank<'a>) -> Result<(&'a [u64], u64)> {
        let ThisRank { rank, size } = self.ranks();
        let counts = self.require(nq.counts(size))?;
        let own = if is_known(counts) { known_count(counts) } else { Some(counts[rank]) };
        Ok((counts, own.unwrap_or(0)))
    }

    /// The bytes of all ranks; `None` for NULL.
    #[inline]
    fn sums<'a>(&mut self, sq: PerRank<'a>) -> Result<Option<&'a [u64]>> {
        let size = self.ranks().size;
        self.require(sq.sums(size))
    }
}

/// The rank that has the data of a section without a partition.
#[derive(Clone, Copy)]
pub struct Root {
    pub rank: usize,
    /// Whether it is this rank.
    pub is_here: bool,
}

impl Root {
    /// The bytes that this rank has of a section of `all` bytes.
    #[inline]
    pub fn own_bytes(self, all: u64) -> u64 {
        if self.is_here { all } else { 0 }
    }
}

#[cold]
fn no_rank(found: c_int) -> Error {
    Error::argument(format!("root: found {found}, expected 0 or more"))
}

impl Arguments for Writer {
    #[inline]
    fn ranks(&mut self) -> ThisRank {
        Self::ranks(self)
    }
    fn fail(&mut self, error: Error) -> Error {
        Self::fail(self, error)
    }
}

impl Arguments for Reader {
    #[inline]
    fn ranks(&mut self) -> ThisRank {
        Self::ranks(self)
    }
    fn fail(&mut self, error: Error) -> Error {
        Self::fail(self, error)
    }
}

impl Arguments for Context {
    fn ranks(&mut self) -> ThisRank {
        match self {
            Self::Writing(writer) => Arguments::ranks(writer),
            Self::Reading(reader, _) => Arguments::ranks(reader),
        }
    }
    fn fail(&mut self, error: Error) -> Error {
        match self {
            Self::Writing(writer) => writer.fail(error),
            Self::Reading(reader, _) => reader.fail(error),
        }
    }
}
