//! A section whose arguments have been checked, so that it can be written at any offset.

use crate::file::options::Encode;
use crate::file::source::Source;
use crate::file::writer::sections::too_large;
use scda_base::error::Result;
use scda_base::memory::{copy, reserve_count};
use scda_format::layout::sum;
use scda_ranks::Partition;

/// What all ranks know of a section besides its user string.
#[derive(Clone, Copy)]
pub(in crate::file::writer) enum Shape {
    Inline { root: usize },
    Block { root: usize, size: u64 },
    Array { elements: Partition, size: u64 },
    Varray { elements: Partition, bytes: Partition },
}

/// A section, with the data of this rank.
#[derive(Clone, Copy)]
pub(in crate::file::writer) struct PreparedSection<'a> {
    pub(super) shape: Shape,
    pub(super) user: &'a [u8],
    /// The sizes of the elements of a varray.
    pub(super) sizes: &'a [u64],
    pub(super) data: Source<'a>,
    pub(super) encode: Encode,
}

/// An uncompressed section, with a copy of its data.
pub(in crate::file::writer) struct SectionCopy {
    shape: Shape,
    user: Vec<u8>,
    sizes: Vec<u64>,
    data: Vec<u8>,
}

impl PreparedSection<'_> {
    /// Whether it may be compressed.
    pub fn is_encoded(&self) -> bool {
        self.encode != Encode::None
    }

    /// The memory of a copy.
    ///
    /// # Errors
    /// `Range` if it exceeds 63 bits.
    pub fn copied_bytes(&self) -> Result<u64> {
        let mut bytes = size_of_val(self.sizes) as u64;
        self.data.for_each_run(|batch| {
            bytes = sum(bytes, batch.len() as u64).ok_or_else(too_large)?;
            Ok(())
        })?;
        Ok(bytes)
    }

    /// # Errors
    /// `Memory`.
    pub fn copied(&self) -> Result<SectionCopy> {
        let (sizes, mut data) = (copy(self.sizes)?, Vec::new());
        reserve_count(&mut data, self.copied_bytes()?)?;
        self.data.for_each_run(|batch| {
            data.extend_from_slice(batch);
            Ok(())
        })?;
        Ok(SectionCopy { shape: self.shape, user: copy(self.user)?, sizes, data })
    }
}

impl SectionCopy {
    pub fn section(&self) -> PreparedSection<'_> {
        let Self { shape, user, sizes, data } = self;
        PreparedSection { shape: *shape, user, sizes, data: Source::Contiguous(data), encode: Encode::None }
    }
}
