//! The methods of `Reader` for the data of the current section.

use super::Reader;
use crate::file::source::Sink;
use scda_base::error::Result;
use scda_format::INLINE_BYTES;
use std::ops::Range;

impl Reader {
    /// Reads the 32 bytes of an inline section on rank `root`, where `None` skips them. On other ranks `data`
    /// is ignored (paper, section A.5.2).
    ///
    /// # Errors
    /// `Usage`, `Argument`, and the errors of the file system.
    pub fn read_inline(&mut self, root: usize, data: Option<&mut [u8; INLINE_BYTES]>) -> Result<()> {
        self.session.operate(|state| state.sections().data().read_inline(root, data))
    }

    /// Reads the data of a block on rank `root`, where `None` skips them. On other ranks `data` is ignored
    /// (paper, section A.5.3). `size` is that of the section's header.
    ///
    /// # Errors
    /// `Usage`, `Argument`, `Decode`, `Memory`, and the errors of the file system.
    pub fn read_block(&mut self, size: u64, root: usize, data: Option<&mut [u8]>) -> Result<()> {
        self.session.operate(|state| state.sections().data().read_block(size, root, Ok(data)))
    }

    /// Reads the elements of an array; rank p gets `counts[p]` of them, in the order of the ranks
    /// (paper, section A.5.4). `size` is that of the section's header.
    ///
    /// # Errors
    /// `Usage`, `Argument`, `ShortFile`, `Format`, `Decode`, `Memory`, and the errors of the file
    /// system.
    pub fn read_array(&mut self, counts: &[u64], size: u64, data: Sink<'_>) -> Result<()> {
        self.session.operate(|state| state.sections().data().read_array(counts, size, Ok(data)))
    }

    /// Reads the sizes of the elements of a varray, of which rank p has `counts[p]`; `None` skips
    /// them on this rank (paper, section A.5.5).
    ///
    /// # Errors
    /// `Usage`, `Argument`, `ShortFile`, `Format`, `Range`, `Decode`, and the errors of the file
    /// system.
    pub fn read_varray_sizes(&mut self, counts: &[u64], sizes: Option<&mut [u64]>) -> Result<()> {
        self.session.operate(|state| state.sections().data().read_varray_sizes(counts, Ok(sizes)))
    }

    /// Reads the elements of a varray after their sizes (paper, section A.5.6), in the same or another
    /// partition. `sizes` holds the sizes of this rank's elements, as read; it is ignored where the data are
    /// skipped. `proc_sizes`, if given, holds the bytes of each rank.
    ///
    /// # Errors
    /// `Usage`, `Argument`, `ShortFile`, `Format`, `Decode`, `Memory`, and the errors of the file
    /// system.
    pub fn read_varray(
        &mut self,
        counts: &[u64],
        sizes: Option<&[u64]>,
        proc_sizes: Option<&[u64]>,
        data: Sink<'_>,
    ) -> Result<()> {
        self.session
            .operate(|state| state.sections().data().read_varray(counts, proc_sizes, Ok((sizes, data))))
    }

    /// Ends the current section, whether or not its data were read. The header of the next one follows.
    ///
    /// # Errors
    /// `Format`, `ShortFile`, `Range` and `Decode` for the sizes of elements, and the errors of the file
    /// system.
    pub fn skip(&mut self) -> Result<()> {
        self.session.operate(|state| state.sections().skip())
    }

    /// Reads ranges of elements of the current section.
    pub fn ranges(&mut self) -> SectionRanges<'_> {
        SectionRanges(self)
    }
}

/// Reads ranges of elements of a section, on each rank its own: overlapping with those of others, or none.
/// The section stays current, so more ranges or all elements can be read, until the next header is read or
/// [`Reader::skip`] is called.
///
/// An element of a compressed array or of a varray begins where the previous one ends. In the sealed part of
/// a file, every 4096th element has an anchor with its offset, from which sizes are read. Elsewhere they are
/// read from the first element on, or from the end of this rank's last range if that is nearer. Each rank
/// verifies the checksum of the anchors once, before it uses them.
pub struct SectionRanges<'a>(&'a mut Reader);

impl SectionRanges<'_> {
    /// Reads some bytes of a block. A compressed block is decoded completely for each range.
    ///
    /// # Errors
    /// The errors of [`Reader::read_block`].
    pub fn read_block(&mut self, bytes: Range<u64>, data: &mut [u8]) -> Result<()> {
        self.0.session.operate(|state| state.sections().ranges().read_block_range(Ok((bytes, Some(data)))))
    }

    /// Reads some elements of an array.
    ///
    /// # Errors
    /// The errors of [`Reader::read_array`], and `Checksum`. An error of one rank is returned on all.
    pub fn read_array(&mut self, elements: Range<u64>, size: u64, data: Sink<'_>) -> Result<()> {
        self.0.session.operate(|state| state.sections().ranges().read_array_range(size, Ok((elements, data))))
    }

    /// Reads the sizes of some elements of a varray.
    ///
    /// # Errors
    /// The errors of [`Reader::read_varray_sizes`].
    pub fn read_varray_sizes(&mut self, elements: Range<u64>, sizes: &mut [u64]) -> Result<()> {
        self.0
            .session
            .operate(|state| state.sections().ranges().read_varray_sizes_range(Ok((elements, Some(sizes)))))
    }

    /// Reads some elements of a varray, with their sizes as read, which are ignored where the data are
    /// skipped.
    ///
    /// # Errors
    /// The errors of [`Reader::read_varray`], and `Checksum`.
    pub fn read_varray(&mut self, elements: Range<u64>, sizes: &[u64], data: Sink<'_>) -> Result<()> {
        self.0
            .session
            .operate(|state| state.sections().ranges().read_varray_range(sizes, Ok((elements, data))))
    }
}
