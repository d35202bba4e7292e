//! The methods of `Reader` for the data of the current section.

use super::Reader;
use crate::file::source::Sink;
use scda_base::error::Result;
use scda_format::INLINE_BYTES;
use std::ops::Range;

impl Reader {
    /// Reads the 32 bytes of an inline section on the rank `root`; `None` there skips them, and is
    /// ignored on other ranks (paper, section A.5.2).
    ///
    /// # Errors
    /// `Usage`, `Argument`, and the errors of the file system.
    pub fn read_inline(&mut self, root: usize, data: Option<&mut [u8; INLINE_BYTES]>) -> Result<()> {
        self.session.operate(|state| state.sections().data().read_inline(root, data))
    }

    /// Reads the data of a block on the rank `root`; `None` there skips them, and is ignored on
    /// other ranks (paper, section A.5.3). `size` is that of the section's header.
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

    /// Reads the elements of a varray after their sizes (paper, section A.5.6). The partition may
    /// differ from that of the sizes. `sizes` are those of this rank's elements, as read; they are
    /// ignored where the data are skipped. `proc_sizes`, if given, are the bytes of each rank.
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

    /// Ends the current section, whatever was read of it; the header of the next one follows.
    ///
    /// # Errors
    /// `Format`, `ShortFile`, `Range` and `Decode` for the sizes of elements, and the errors of the file
    /// system.
    pub fn skip(&mut self) -> Result<()> {
        self.session.operate(|state| state.sections().skip())
    }

    /// Ranges of elements of the current section, instead of all: each rank reads any of them.
    pub fn ranges(&mut self) -> SectionRanges<'_> {
        SectionRanges(self)
    }
}

/// Reads ranges of elements of a section, on each rank its own: any range, that of another rank, or none. The section goes on: other
/// ranges, or all elements, can be read, until the next header is read, or [`Reader::skip`].
///
/// An element of a compressed array or of a varray begins where those before it end. In the sealed part of a file an anchor
/// says so for each 4096th one, and sizes are read from there on; else from the first one on, or from the end of the last
/// range of this rank if that lies before. The checksum of the anchors is compared, once on each rank, before they are used.
pub struct SectionRanges<'a>(&'a mut Reader);

impl SectionRanges<'_> {
    /// Reads some bytes of a block. Of a compressed block, all is decoded for each range.
    ///
    /// # Errors
    /// Those of [`Reader::read_block`].
    pub fn read_block(&mut self, bytes: Range<u64>, data: &mut [u8]) -> Result<()> {
        self.0.session.operate(|state| state.sections().ranges().read_block_range(Ok((bytes, Some(data)))))
    }

    /// Reads some elements of an array.
    ///
    /// # Errors
    /// Those of [`Reader::read_array`], and `Checksum`. An error of one rank is an error of all.
    pub fn read_array(&mut self, elements: Range<u64>, size: u64, data: Sink<'_>) -> Result<()> {
        self.0.session.operate(|state| state.sections().ranges().read_array_range(size, Ok((elements, data))))
    }

    /// Reads the sizes of some elements of a varray.
    ///
    /// # Errors
    /// Those of [`Reader::read_varray_sizes`].
    pub fn read_varray_sizes(&mut self, elements: Range<u64>, sizes: &mut [u64]) -> Result<()> {
        self.0
            .session
            .operate(|state| state.sections().ranges().read_varray_sizes_range(Ok((elements, Some(sizes)))))
    }

    /// Reads some elements of a varray, with their sizes as read. The sizes are ignored where the data are skipped.
    ///
    /// # Errors
    /// Those of [`Reader::read_varray`], and `Checksum`.
    pub fn read_varray(&mut self, elements: Range<u64>, sizes: &[u64], data: Sink<'_>) -> Result<()> {
        self.0
            .session
            .operate(|state| state.sections().ranges().read_varray_range(sizes, Ok((elements, data))))
    }
}
