//! The outline of a view: what a program that appends to a file reads instead of the metadata of all records
//! and rows (docs/hdf5.md, "The outline").

use crate::buffer::ViewBuffer;
use crate::bytes::Bytes;
use crate::chunks::{Chunks, unread};
use crate::item::{DataLayout, DatasetView, Item, Part, ViewItems};
use crate::message::kind;
use crate::parts::Previous;
use crate::previous_view::{PreviousView, number};
use scda_base::error::Result;
use scda_base::numbers::to_usize;
use std::sync::Arc;

/// The outline of a view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// What does not change while records and rows are added: a view with the constants of the previous one
    /// refers to them.
    pub constants: Vec<u8>,
    /// What changes with each record.
    pub extents: Vec<u8>,
    /// Whether a view must be written even if it shows the same as the previous one.
    pub is_due: bool,
}

/// The extent of the datasets of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The number of records.
    pub records: u64,
    /// For a single record to which rows were added, the number of its rows, and the number of rows in a
    /// chunk; otherwise 0.
    pub rows: u64,
    /// See `rows`.
    pub chunk_rows: u64,
    /// For a dataset shown in chunks, the number of chunks, and the number of stored ones.
    pub chunks: u64,
    /// See `chunks`.
    pub somewhere: u64,
}

/// The places and sizes of the outline's parts, from the message of the root group.
///
/// # Errors
/// The errors of [`Outline::read`].
pub fn places(old: &mut PreviousView<'_>) -> Result<Option<[(u64, u64); 2]>> {
    let root = old.header(old.root)?;
    let message = root.iter().find(|message| message.kind == kind::READ_ONLY);
    let data: Option<&[u8; 32]> = message.and_then(|message| message.data.as_slice().try_into().ok());
    Ok(data.map(|data| {
        let part = |at: usize| (number(&data[at..at + 8]), number(&data[at + 8..at + 16]));
        [part(0), part(16)]
    }))
}

impl Outline {
    /// The outline of a view that ends before an offset of the file; `None` if it has none.
    ///
    /// # Errors
    /// `Format` if this library has not written the view; those of the reading function.
    pub fn read(view: Previous<'_>, end: u64) -> Result<Option<Self>> {
        let mut old = PreviousView::new(view, end)?;
        let Some(places) = places(&mut old)? else { return Ok(None) };
        let [constants, extents] = places;
        Ok(Some(Self {
            constants: old.bytes(constants.0, constants.1)?,
            extents: old.bytes(extents.0, extents.1)?,
            is_due: false,
        }))
    }

    /// Writes the outline; returns the data of the message for the root group.
    ///
    /// # Errors
    /// `Memory`; the errors of [`Self::read`].
    pub fn put(&self, out: &mut ViewBuffer, old: Option<&mut PreviousView<'_>>) -> Result<Bytes> {
        let length = self.constants.len() as u64;
        let mut known = None;
        if let Some(old) = old
            && let Some([(address, bytes), _]) = places(old)?
            && bytes == length
            && old.bytes(address, bytes)? == self.constants
        {
            known = Some(address);
        }
        let constants = match known {
            Some(address) => address,
            None => out.put(&self.constants)?,
        };
        let mut data = Bytes::new();
        data.long(constants)?;
        data.long(length)?;
        data.long(out.put(&self.extents)?)?;
        data.long(self.extents.len() as u64)?;
        Ok(data)
    }
}

impl Extent {
    /// The extent of a dataset with this many records.
    pub fn of(item: &Item, records: u64) -> Self {
        let (rows, chunk_rows) =
            if item.may_grow && records == 1 { (item.shape[0], item.chunk[0]) } else { (0, 0) };
        let (chunks, somewhere) = match &item.layout {
            DataLayout::Chunks(chunks) => (chunks.len() as u64, chunks.somewhere() as u64),
            DataLayout::Contiguous(_) => (0, 0),
        };
        Self { records, rows, chunk_rows, chunks, somewhere }
    }

    /// The last record of a name, and the dataset of all of them if there are several.
    ///
    /// # Errors
    /// `Format` if such a dataset cannot have an outline; the errors of [`DatasetView::new`].
    pub fn items(&self, attributes: &str, part: &Part<'_>) -> Result<(Arc<Item>, Option<Arc<Item>>)> {
        let mut item = Item::of_part(part)?.map_err(|_| unread())?;
        item.set_attributes(attributes);
        let chunks = || DataLayout::Chunks(Chunks::unread(to_usize(self.chunks), to_usize(self.somewhere)));
        if self.records > 1 {
            let mut series = Item::series(&item)?.ok_or_else(unread)?;
            Arc::make_mut(&mut series.kind).shape[0] = self.records;
            series.layout = chunks();
            return Ok((Arc::new(item), Some(Arc::new(series))));
        }
        if self.chunk_rows > 0 {
            let kind = Arc::make_mut(&mut item.kind);
            let (Some(rows), Some(chunk)) = (kind.shape.first_mut(), kind.chunk.first_mut()) else {
                return Err(unread());
            };
            (*rows, *chunk) = (self.rows, self.chunk_rows);
            (item.may_grow, item.layout) = (true, chunks());
        }
        Ok((Arc::new(item), None))
    }
}

impl DatasetView {
    /// What is shown of the dataset with other attributes, a JSON object.
    #[must_use]
    pub fn with_attributes(&self, attributes: &str) -> Self {
        let mut items = self.0.clone();
        let first = match &mut items {
            ViewItems::One(item) => Some(item),
            ViewItems::Parts(items) => items.first_mut(),
            ViewItems::Nothing(_) => None,
        };
        if let Some(first) = first {
            Arc::make_mut(first).set_attributes(attributes);
        }
        Self(items)
    }

    /// What is shown of the dataset with these additional rows; `None` if that requires all of its parts.
    /// `are_contiguous`: whether the dataset's own rows are contiguous.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn with_rows(&self, are_contiguous: bool, part: &Part<'_>) -> Result<Option<Self>> {
        let (ViewItems::One(item), Ok(rows)) = (&self.0, Item::of_part(part)?) else { return Ok(None) };
        let mut item = Item::clone(item);
        let is_added = match item.may_grow {
            true => item.add_more_rows(are_contiguous, &rows)?,
            false => item.add_rows(&[rows])?,
        };
        Ok(is_added.then(|| Self(ViewItems::One(Arc::new(item)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_whose_constants_stay_refers_to_them() {
        let outline = Outline { constants: vec![7; 100], extents: vec![1, 2, 3], is_due: false };
        let mut out = ViewBuffer::new(1 << 20).unwrap();
        let data = outline.put(&mut out, None).unwrap();
        assert_eq!((data.len(), out.into_vec().len()), (32, 103));
    }

    #[test]
    fn data_that_were_not_read_are_an_error_where_they_are_needed() {
        let chunks = Chunks::unread(300, 299);
        assert_eq!((chunks.len(), chunks.somewhere()), (300, 299));
        assert!(chunks.iter().is_err() && chunks.from(299).is_err());
        assert_eq!(chunks.from(300).unwrap().count(), 0);
    }
}
