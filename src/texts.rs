//! Items of variable length in memory.

use scda_base::error::Result;
use scda_base::memory::reserve;

/// A sequence of texts or byte strings: the items of a dataset of
/// [`DataType::String`](crate::DataType::String) or
/// [`DataType::VariableBytes`](crate::DataType::VariableBytes).
///
/// ```
/// let names: scda::Texts = ["H", "He"].into_iter().collect();
/// assert_eq!((names.len(), names.get(1)), (2, Some(&b"He"[..])));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// Where each item ends in the bytes.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Texts {
    /// An empty sequence.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reserves memory for `items` more items of `bytes` bytes in all.
    pub(crate) fn reserve(&mut self, items: usize, bytes: usize) -> Result<()> {
        reserve(&mut self.bytes, bytes)?;
        reserve(&mut self.ends, items)
    }

    /// Appends an item.
    ///
    /// # Errors
    /// `Memory`.
    pub fn push(&mut self, item: &[u8]) -> Result<()> {
        reserve(&mut self.bytes, item.len())?;
        reserve(&mut self.ends, 1)?;
        self.bytes.extend_from_slice(item);
        self.ends.push(self.bytes.len());
        Ok(())
    }

    /// The number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of an item.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..end])
    }

    /// The bytes of each item.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index).unwrap_or_default())
    }

    /// Each item as text; an item that is not UTF-8 becomes an empty text. Those of a
    /// [`DataType::String`](crate::DataType::String) dataset always are UTF-8.
    pub fn strs(&self) -> impl ExactSizeIterator<Item = &str> {
        self.iter().map(|item| std::str::from_utf8(item).unwrap_or_default())
    }

    /// The bytes of all items, without gaps.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for Texts {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut texts = Self::new();
        for item in items {
            texts.bytes.extend_from_slice(item.as_ref());
            texts.ends.push(texts.bytes.len());
        }
        texts
    }
}
