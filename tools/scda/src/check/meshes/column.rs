//! Reads the datasets of meshes in bounded memory, for the rules of `scda_meshes`.

use super::{MeshResult, Stop, wrong};
use crate::datasets::ordered_items::OrderedItems;
use crate::datasets::{to_little, tolerated, unsupported};
use crate::fail::Result;
use scda::{Dataset, DatasetHandle, Reader, Section};
use scda_format::meshes::{MeshError, Part, attributes};
use scda_meshes::Source;
use std::ops::Deref;

/// The most bytes into which a byte of a dataset may expand: a chunk of 1 MiB with one value takes at least 32 bytes.
const MOST_FOR_ONE: u64 = 1 << 15;
/// The bytes of a dataset that are read regardless of its size in the file.
const MOST_FREE: u64 = 1 << 20;

/// The file.
pub struct Datasets {
    pub reader: Reader,
}

/// A dataset that is read from its first item to its last.
pub struct Column {
    number: u64,
    found: DatasetHandle,
    order: OrderedItems,
}

impl Datasets {
    /// The header of the section with this number, from 0.
    pub fn header(&mut self, number: u64) -> Result<Option<Section>> {
        self.reader.seek_section(number)?;
        Ok(self.reader.next_section(true)?)
    }

    /// The dataset whose data are the section with this number, from 0. `None` if there is none, or if it cannot be
    /// read.
    pub fn open(&mut self, number: u64) -> Result<Option<Column>> {
        let (found, _) = tolerated(self.reader.inspect().dataset_in(number))?;
        Ok(found.filter(|found| unsupported(found).is_none()).map(|found| {
            let order = OrderedItems::new(&found);
            Column { number, found, order }
        }))
    }

    /// Requires that a section is this part of a mesh of `d` axes, with this number of rows.
    pub fn expect(&mut self, number: u64, part: &Part, d: usize, rows: Option<u64>) -> MeshResult<Column> {
        let found = self.open(number)?.ok_or_else(|| UNREADABLE.to_owned());
        let fitting = found.and_then(|found| match part.fits(&found, d, rows) {
            Ok(()) => Ok(found),
            Err(MeshError { words, .. }) => Err(words),
        });
        fitting.or_else(|words| wrong(number, words))
    }

    /// The size of the section with this number in the file.
    fn stored(&mut self, number: u64) -> Result<u64> {
        let Some(section) = self.header(number)? else { return Ok(0) };
        self.reader.skip()?;
        Ok(self.reader.position().map_or(0, |end| end - section.offset))
    }
}

/// The words for a section that is not a dataset, or one that cannot be read.
const UNREADABLE: &str = "no dataset that can be read";

impl Deref for Column {
    type Target = Dataset;

    fn deref(&self) -> &Dataset {
        &self.found
    }
}

impl Column {
    /// The size of the second dimension, if it has this name.
    pub fn second(&self, name: &str) -> Option<u64> {
        let is_called = self.dimension_names.get(1)?.as_deref() == Some(name);
        self.shape.get(1).copied().filter(|_| is_called)
    }

    /// The value of an attribute, as JSON.
    pub fn attribute(&self, key: &str) -> Option<String> {
        attributes::value(&self.attributes, key)
    }

    /// The size of the first dimension; 1 if there is none.
    pub fn rows(&self) -> u64 {
        self.shape.first().copied().unwrap_or(1)
    }
}

/// The parts of a mesh.
pub struct Parts<'a> {
    pub datasets: &'a mut Datasets,
    /// The section of each part, from 0.
    pub section: &'a dyn Fn(&str) -> Option<u64>,
    /// The section that errors about missing parts refer to.
    pub first: u64,
}

impl Source for Parts<'_> {
    type Column = Column;
    type Error = Stop;
    /// If there are more faces, edges or corners of trees than this, they are not compared, to save memory.
    const MOST: Option<u64> = Some(1 << 24);

    fn open(&mut self, part: &'static str) -> MeshResult<Option<Column>> {
        let Some(number) = (self.section)(part) else { return Ok(None) };
        self.datasets.open(number)?.map_or_else(|| wrong(number, UNREADABLE), |column| Ok(Some(column)))
    }

    fn read(&mut self, column: &mut Column, bytes: &mut Vec<u8>) -> MeshResult<bool> {
        let is_more = column.order.next(&mut self.datasets.reader, &column.found, bytes)?;
        // Its items are little-endian.
        to_little(column.data_type, bytes);
        Ok(is_more)
    }

    fn hold<T>(&mut self, checked: Result<T, MeshError>) -> MeshResult<T> {
        checked.or_else(|MeshError { part, words }| wrong((self.section)(part).unwrap_or(self.first), words))
    }

    fn agree<T>(&mut self, own: scda::Result<T>) -> MeshResult<T> {
        Ok(own?)
    }

    fn bound(&mut self, column: &Column) -> MeshResult {
        let stored = self.datasets.stored(column.number)?;
        let most = stored.saturating_mul(MOST_FOR_ONE).max(MOST_FREE);
        let (found, bytes) = (column.rows(), column.rows().saturating_mul(column.data_type.item_bytes()));
        if bytes <= most {
            return Ok(());
        }
        let words = format!("mesh not checked: found {found} numbers in a section of {stored} bytes");
        Err(Stop::TooLarge(column.number, words))
    }
}
