//! The calls of a writer for sections.

use super::Writer;
use super::kinds::{DataStream, ElementStream};
use crate::file::params::Encode;
use crate::file::source::Source;
use scda_base::error::{Error, Result};
use scda_format::INLINE_BYTES;
use std::io::Read;

impl Writer {
    /// Writes an inline section (paper, section 2.3): 32 bytes of the rank `root`. The data of
    /// other ranks are ignored.
    ///
    /// # Errors
    /// `Argument`, `Usage`, and the errors of the file system.
    pub fn inline(&mut self, user: &[u8], root: usize, data: Option<&[u8; INLINE_BYTES]>) -> Result<()> {
        let data = data.ok_or_else(|| Error::argument("data: the root rank passes none"));
        self.write(|sections| sections.inline(user, root, data))
    }

    /// Writes a block (paper, section 2.4): `size` bytes of the rank `root`. The data of other
    /// ranks are ignored.
    ///
    /// # Errors
    /// `Argument`, `Range`, `Usage`, `Memory`, and the errors of the file system.
    pub fn block(
        &mut self,
        user: &[u8],
        root: usize,
        size: u64,
        data: Option<&[u8]>,
        encode: Encode,
    ) -> Result<()> {
        let data = match data {
            None if size > 0 => Err(Error::argument("data: the root rank passes none")),
            data => Ok(data.unwrap_or_default()),
        };
        self.write(|sections| sections.block(user, root, size, data, encode))
    }

    /// Writes an array (paper, section 2.5) of elements of `size` bytes; rank p has `counts[p]` of
    /// them, in the order of the ranks.
    ///
    /// # Errors
    /// `Argument`, `Range`, `Usage`, `Memory`, and the errors of the file system.
    pub fn array(
        &mut self,
        user: &[u8],
        counts: &[u64],
        size: u64,
        data: Source<'_>,
        encode: Encode,
    ) -> Result<()> {
        self.write(|sections| sections.array(user, counts, size, Ok(data), encode))
    }

    /// Writes a varray (paper, section 2.6): rank p has `counts[p]` elements; `sizes` are the bytes
    /// of each element of this rank, and `proc_sizes` the bytes of all elements of each rank, which
    /// are computed if they are not given.
    ///
    /// # Errors
    /// `Argument`, `Range`, `Usage`, `Memory`, and the errors of the file system.
    pub fn varray(
        &mut self,
        user: &[u8],
        counts: &[u64],
        sizes: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Source<'_>,
        encode: Encode,
    ) -> Result<()> {
        self.write(|sections| sections.varray(user, counts, proc_sizes, Ok((sizes, data)), encode))
    }

    /// Writes a block whose `size` bytes are read from `data` piece by piece, so that they need not fit memory;
    /// except if it is compressed. For a process that writes alone.
    ///
    /// # Errors
    /// Those of [`Self::block`], those of reading, and `Usage` if there is more than one rank.
    pub fn block_from(&mut self, user: &[u8], size: u64, data: &mut dyn Read, encode: Encode) -> Result<()> {
        self.write(|sections| sections.block_from(user, size, data, encode))
    }

    /// Writes an array of `count` elements of `size` bytes, which are read from `data` piece by piece: some MiB
    /// for each thread, or if it is compressed one element. For a process that writes alone.
    ///
    /// [`Encode::Auto`] decides as [`Self::array`] does. It reads the data up to three times, and compresses them
    /// twice if that pays.
    ///
    /// # Errors
    /// Those of [`Self::array`] and of [`Self::block_from`]; `Argument` for [`Encode::Auto`] and long data that can
    /// be read only once.
    pub fn array_from(
        &mut self,
        user: &[u8],
        count: u64,
        size: u64,
        data: &mut dyn DataStream,
        encode: Encode,
    ) -> Result<()> {
        self.write(|sections| sections.array_from(user, count, size, data, encode))
    }

    /// Writes a varray of `count` elements, whose sizes and bytes come piece by piece, as those of
    /// [`Self::array_from`]. For a process that writes alone.
    ///
    /// # Errors
    /// Those of [`Self::varray`] and of [`Self::array_from`].
    pub fn varray_from(
        &mut self,
        user: &[u8],
        count: u64,
        elements: &mut dyn ElementStream,
        encode: Encode,
    ) -> Result<()> {
        self.write(|sections| sections.varray_from(user, count, elements, encode))
    }
}
