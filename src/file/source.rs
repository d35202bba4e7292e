//! The user's memory: sources of data to be written, and sinks for data to be read.

use scda_base::error::{Error, Result};
use scda_base::numbers::to_usize;
use scda_format::layout::{product, sum};
use std::ops::Range;

/// Elements to be written, each in memory of its own.
pub trait Elements: Sync {
    /// The number of elements.
    fn count(&self) -> usize;
    /// The bytes of one element.
    fn element(&self, index: usize) -> &[u8];
}

impl<T: AsRef<[u8]> + Sync> Elements for Vec<T> {
    fn count(&self) -> usize {
        self.len()
    }
    fn element(&self, index: usize) -> &[u8] {
        self[index].as_ref()
    }
}

/// Memory for elements to be read, each in memory of its own.
pub trait ElementsMut {
    /// The number of elements.
    fn count(&self) -> usize;
    /// The memory of one element, which has the element's size in bytes; `None` to skip the element.
    fn element_mut(&mut self, index: usize) -> Option<&mut [u8]>;
}

impl<T: AsMut<[u8]>> ElementsMut for Vec<T> {
    fn count(&self) -> usize {
        self.len()
    }
    fn element_mut(&mut self, index: usize) -> Option<&mut [u8]> {
        Some(self[index].as_mut())
    }
}

/// This rank's data to be written.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// Consecutive elements in contiguous memory.
    Contiguous(&'a [u8]),
    /// Each element in memory of its own: the paper's indirect addressing.
    Indirect(&'a dyn Elements),
}

impl<'a> Source<'a> {
    /// The data, if they are contiguous in memory.
    #[must_use]
    pub fn contiguous(&self) -> &'a [u8] {
        match *self {
            Self::Contiguous(data) => data,
            Self::Indirect(_) => &[],
        }
    }
}

/// Memory for this rank's data to be read.
#[derive(Default)]
pub enum Sink<'a> {
    /// Consecutive elements in contiguous memory.
    Contiguous(&'a mut [u8]),
    /// Each element in memory of its own: the paper's indirect addressing.
    Indirect(&'a mut dyn ElementsMut),
    /// The data of this rank are not wanted.
    #[default]
    Skip,
}

/// The sizes of this rank's elements in bytes.
#[derive(Clone, Copy, Debug)]
pub enum Sizes<'a> {
    /// Elements of equal size.
    Fixed {
        /// The number of elements.
        count: u64,
        /// The size of each in bytes.
        size: u64,
    },
    /// A size for each element.
    Each(&'a [u64]),
}

impl Sizes<'_> {
    /// The number of elements.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            // If there are more elements than can be addressed, comparing the memory reports it.
            Self::Fixed { count, .. } => to_usize(*count),
            Self::Each(sizes) => sizes.len(),
        }
    }

    /// The size of an element in bytes.
    #[must_use]
    pub fn size(&self, index: usize) -> u64 {
        match self {
            Self::Fixed { size, .. } => *size,
            Self::Each(sizes) => sizes[index],
        }
    }

    /// The size of an element whose memory exists.
    #[must_use]
    pub fn bytes(&self, index: usize) -> usize {
        to_usize(self.size(index))
    }

    /// The size of all elements in bytes.
    ///
    /// # Errors
    /// `Range` if their sum exceeds 63 bits.
    #[inline]
    pub fn total(&self) -> Result<u64> {
        match self {
            Self::Fixed { count, size } => product(*count, *size),
            Self::Each(sizes) => sum_all(sizes),
        }
        .ok_or_else(too_many_bytes)
    }
}

#[inline(never)]
fn sum_all(sizes: &[u64]) -> Option<u64> {
    sizes.iter().try_fold(0, |total, &size| sum(total, size))
}

#[cold]
fn too_many_bytes() -> Error {
    Error::range("the sum of the sizes of the elements exceeds 63 bits")
}

/// The error for memory that does not have the size of all elements.
#[cold]
fn wrong_length(found: usize, expected: u64) -> Error {
    Error::argument(format!("data: found {found} bytes, expected {expected}"))
}

/// Consecutive elements: their indices, and their bytes.
pub(crate) struct Batch {
    pub elements: Range<usize>,
    pub bytes: u64,
}

/// Groups these elements into batches of at most `most` bytes, or of one element if it is larger.
pub(crate) fn batches(sizes: Sizes<'_>, elements: Range<usize>, most: u64) -> impl Iterator<Item = Batch> {
    let mut first = elements.start;
    std::iter::from_fn(move || {
        if first >= elements.end {
            return None;
        }
        let mut bytes = sizes.size(first);
        let mut end = first + 1;
        while end < elements.end {
            let more = bytes.saturating_add(sizes.size(end));
            if more > most {
                break;
            }
            bytes = more;
            end += 1;
        }
        let elements = first..end;
        first = end;
        Some(Batch { elements, bytes })
    })
}

/// The error for memory that does not have the size of its element.
#[cold]
fn mismatch(what: &str, index: usize, found: usize, expected: u64) -> Error {
    Error::argument(format!("{what} {index}: found {found} bytes of memory, expected {expected}"))
}

/// Returns an error if memory of this length does not fit elements of these sizes.
#[inline(always)]
fn check_length(found: usize, sizes: Sizes<'_>) -> Result<()> {
    match sizes {
        Sizes::Fixed { count, size } if count.checked_mul(size) == Some(found as u64) => Ok(()),
        _ => check_total(found, sizes),
    }
}

/// Like [`check_length`], by summing all sizes.
#[inline(never)]
fn check_total(found: usize, sizes: Sizes<'_>) -> Result<()> {
    let expected = sizes.total()?;
    if found as u64 == expected { Ok(()) } else { Err(wrong_length(found, expected)) }
}

/// Returns an error if the memory of an element does not have the element's size.
fn check_elements(elements: &dyn Elements, sizes: Sizes<'_>) -> Result<()> {
    check_count(elements.count(), sizes)?;
    (0..sizes.count()).try_for_each(|index| {
        let (found, size) = (elements.element(index).len(), sizes.size(index));
        if found as u64 == size { Ok(()) } else { Err(mismatch("element", index, found, size)) }
    })
}

/// Like [`check_elements`].
fn check_elements_mut(elements: &mut dyn ElementsMut, sizes: Sizes<'_>) -> Result<()> {
    check_count(elements.count(), sizes)?;
    (0..sizes.count()).try_for_each(|index| match elements.element_mut(index) {
        Some(memory) if memory.len() as u64 != sizes.size(index) => {
            Err(mismatch("element", index, memory.len(), sizes.size(index)))
        }
        _ => Ok(()),
    })
}

/// Returns an error unless `found` is the number of sizes.
fn check_count(found: usize, sizes: Sizes<'_>) -> Result<()> {
    let expected = sizes.count();
    if found == expected {
        return Ok(());
    }
    Err(Error::argument(format!("data: found {found} elements, expected {expected}")))
}

impl<'a> Source<'a> {
    /// No data.
    pub const EMPTY: Source<'static> = Source::Contiguous(&[]);

    /// Returns an error if the memory does not match these sizes.
    ///
    /// # Errors
    /// `Argument`.
    #[inline(always)]
    pub(super) fn check(&self, sizes: Sizes<'_>) -> Result<()> {
        match self {
            Self::Contiguous(data) => check_length(data.len(), sizes),
            Self::Indirect(elements) => check_elements(*elements, sizes),
        }
    }

    /// Passes the data to `each` in contiguous parts, in order.
    ///
    /// # Errors
    /// The first error that `each` returns.
    pub(super) fn for_each_run(&self, mut each: impl FnMut(&'a [u8]) -> Result<()>) -> Result<()> {
        match *self {
            Self::Contiguous(data) => each(data),
            Self::Indirect(elements) => {
                (0..elements.count()).try_for_each(|index| each(elements.element(index)))
            }
        }
    }

    /// The last byte of the data.
    #[inline(always)]
    pub(super) fn last_byte(&self) -> Option<u8> {
        match self {
            Self::Contiguous(data) => data.last().copied(),
            Self::Indirect(elements) => {
                (0..elements.count()).rev().find_map(|index| elements.element(index).last().copied())
            }
        }
    }
}

impl Sink<'_> {
    /// Whether the data are to be skipped.
    pub(super) fn is_skip(&self) -> bool {
        matches!(self, Self::Skip)
    }

    /// Returns an error if the memory does not match these sizes.
    ///
    /// # Errors
    /// `Argument`.
    #[inline(always)]
    pub(super) fn check(&mut self, sizes: Sizes<'_>) -> Result<()> {
        match self {
            Self::Contiguous(data) => check_length(data.len(), sizes),
            Self::Indirect(elements) => check_elements_mut(*elements, sizes),
            Self::Skip => Ok(()),
        }
    }

    /// The memory of one element, of `size` bytes at `offset` of this rank's data; `None` to skip it. The
    /// memory must have been checked.
    pub(super) fn element(&mut self, index: usize, offset: u64, size: u64) -> Option<&mut [u8]> {
        match self {
            Self::Contiguous(data) => {
                let start = usize::try_from(offset).ok()?;
                let end = usize::try_from(offset + size).ok()?;
                data.get_mut(start..end)
            }
            Self::Indirect(elements) => elements.element_mut(index),
            Self::Skip => None,
        }
    }
}
