//! Where data to write come from, and where data that are read go to.

use crate::error::{Error, Result};

/// Elements in memory of their own, to be written.
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

/// Elements in memory of their own, to be read into.
pub trait ElementsMut {
    /// The number of elements.
    fn count(&self) -> usize;
    /// The memory of one element, of its size in bytes; `None` to skip the element.
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

/// This rank's data to write.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// One element after the other in one piece of memory.
    Contiguous(&'a [u8]),
    /// Each element in memory of its own: the paper's indirect addressing.
    Indirect(&'a dyn Elements),
}

/// Memory for this rank's data to read.
pub enum Sink<'a> {
    /// One element after the other in one piece of memory.
    Contiguous(&'a mut [u8]),
    /// Each element into memory of its own: the paper's indirect addressing.
    Indirect(&'a mut dyn ElementsMut),
    /// The data of this rank are not wanted.
    Skip,
}

/// The sizes of this rank's elements in bytes.
#[derive(Clone, Copy)]
pub(crate) enum Sizes<'a> {
    /// This many elements of the same size each.
    Fixed { count: u64, size: u64 },
    /// A size for each element.
    Each(&'a [u64]),
}

impl Sizes<'_> {
    pub fn count(&self) -> usize {
        match self {
            // More elements than can be addressed are caught when the memory is compared.
            Self::Fixed { count, .. } => usize::try_from(*count).unwrap_or(usize::MAX),
            Self::Each(sizes) => sizes.len(),
        }
    }

    pub fn size(&self, index: usize) -> u64 {
        match self {
            Self::Fixed { size, .. } => *size,
            Self::Each(sizes) => sizes[index],
        }
    }

    /// The size of an element for which there is memory.
    pub fn bytes(&self, index: usize) -> usize {
        usize::try_from(self.size(index)).unwrap_or(usize::MAX)
    }

    /// All bytes.
    ///
    /// # Errors
    /// `Range` if they leave 63 bits.
    pub fn total(&self) -> Result<u64> {
        use crate::format::layout::{product, sum};
        match self {
            Self::Fixed { count, size } => product(*count, *size),
            Self::Each(sizes) => sizes.iter().try_fold(0, |total, &size| sum(total, size)),
        }
        .ok_or_else(|| Error::range("the sizes of the elements: found a sum that leaves 63 bits"))
    }
}

/// The memory that belongs to an element is not of its size.
fn mismatch(what: &str, index: usize, found: usize, expected: u64) -> Error {
    Error::argument(format!("{what} {index}: found {found} bytes of memory, expected {expected}"))
}

impl<'a> Source<'a> {
    /// No data.
    pub(crate) const EMPTY: Source<'static> = Source::Contiguous(&[]);

    /// An error if the memory is not of these sizes.
    ///
    /// # Errors
    /// `Argument`.
    pub(super) fn check(&self, sizes: Sizes<'_>) -> Result<()> {
        match self {
            Self::Contiguous(data) => {
                let expected = sizes.total()?;
                if data.len() as u64 == expected {
                    return Ok(());
                }
                Err(Error::argument(format!("data: found {} bytes, expected {expected}", data.len())))
            }
            Self::Indirect(elements) => {
                let (found, expected) = (elements.count(), sizes.count());
                if found != expected {
                    return Err(Error::argument(format!(
                        "data: found {found} elements, expected {expected}"
                    )));
                }
                (0..expected).try_for_each(|index| {
                    let (found, size) = (elements.element(index).len(), sizes.size(index));
                    if found as u64 == size { Ok(()) } else { Err(mismatch("element", index, found, size)) }
                })
            }
        }
    }

    /// Hands out the data in pieces, in order.
    ///
    /// # Errors
    /// The first that `each` returns.
    pub(super) fn for_each_piece(&self, mut each: impl FnMut(&'a [u8]) -> Result<()>) -> Result<()> {
        match *self {
            Self::Contiguous(data) => each(data),
            Self::Indirect(elements) => {
                (0..elements.count()).try_for_each(|index| each(elements.element(index)))
            }
        }
    }

    /// The last byte of the data.
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
    /// Whether nothing is wanted.
    pub(super) fn is_skip(&self) -> bool {
        matches!(self, Self::Skip)
    }

    /// An error if the memory is not of these sizes.
    ///
    /// # Errors
    /// `Argument`.
    pub(super) fn check(&mut self, sizes: Sizes<'_>) -> Result<()> {
        match self {
            Self::Contiguous(data) => Source::Contiguous(data).check(sizes),
            Self::Indirect(elements) => {
                let (found, expected) = (elements.count(), sizes.count());
                if found != expected {
                    return Err(Error::argument(format!(
                        "data: found {found} elements, expected {expected}"
                    )));
                }
                (0..expected).try_for_each(|index| match elements.element_mut(index) {
                    Some(memory) if memory.len() as u64 != sizes.size(index) => {
                        Err(mismatch("element", index, memory.len(), sizes.size(index)))
                    }
                    _ => Ok(()),
                })
            }
            Self::Skip => Ok(()),
        }
    }

    /// The memory of one element, of `size` bytes at `offset` of this rank's data; `None` to skip it.
    /// The memory was checked.
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
