//! The arguments of a C function that must be the same on all ranks. If one is wrong on this rank, all ranks
//! fail with it.

use super::context::Context;
use super::memory::{slice, user_string};
use crate::error::{Error, Result};
use crate::file::{Reader, ThisRank, Writer};
use crate::parallel::partition::{KNOWN_WORDS, is_known, known_count};
use std::ffi::{c_char, c_int};

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

    /// The root of a section without a partition, and whether it is this rank.
    #[inline]
    fn root(&mut self, root: c_int) -> Result<(usize, bool)> {
        let root = self.require(usize::try_from(root).map_err(|_| no_rank(root)))?;
        Ok((root, self.ranks().rank == root))
    }

    /// A user string to write.
    ///
    /// # Safety
    /// As [`user_string`].
    #[inline]
    unsafe fn user_string<'a>(&mut self, userstr: *const c_char, len: *const usize) -> Result<&'a [u8]> {
        // SAFETY: the caller passes what `user_string` asks for.
        self.require(unsafe { user_string(userstr, len) })
    }

    /// The counts of all ranks, and that of this one.
    ///
    /// # Safety
    /// `nq` is NULL, or one entry per rank, or the numbers of a partition that was made, may be read there for the lifetime.
    #[inline]
    unsafe fn counts<'a>(&mut self, nq: *const u64) -> Result<(&'a [u64], u64)> {
        let ThisRank { rank, size } = self.ranks();
        // SAFETY: the caller has at least one number there.
        let known = self.require(unsafe { slice(nq, 1, "Nq") }.map(is_known))?;
        let words = if known { KNOWN_WORDS } else { size } as u64;
        // SAFETY: the caller has one entry per rank there, or the numbers of a partition, of which this is the first.
        let counts = self.require(unsafe { slice(nq, words, "Nq") })?;
        let own = if known { known_count(counts) } else { Some(counts[rank]) };
        Ok((counts, own.unwrap_or(0)))
    }

    /// The bytes of all ranks; `None` for NULL.
    ///
    /// # Safety
    /// `sq` is NULL, or one entry per rank may be read there for the lifetime.
    #[inline]
    unsafe fn sums<'a>(&mut self, sq: *const u64) -> Result<Option<&'a [u64]>> {
        let size = self.ranks().size as u64;
        // SAFETY: not NULL, so the caller has one entry per rank there.
        let sums = (!sq.is_null()).then(|| unsafe { slice(sq, size, "Sq") });
        self.require(sums.transpose())
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
