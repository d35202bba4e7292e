//! The numbers of datasets one after the other, in bounded memory.

use super::{Checked, Stop, wrong};
use crate::datasets::ordered_items::OrderedItems;
use crate::datasets::{Found, Pair, Walk, attributes_of};
use crate::fail::{Fail, Result};
use crate::files::{Input, temporary_file};
use scda::{DataType, Reader, Section};
use scda_format::dataset::json::compact;
use std::fs::File;

/// The most bytes that one byte of a dataset may become: a chunk of 1 MiB of one value takes at least 32.
const MOST_FOR_ONE: u64 = 1 << 15;
/// The bytes of a dataset that are read however it is stored.
const MOST_FREE: u64 = 1 << 20;

/// The file, whose datasets are read in turn.
pub struct Datasets<'a> {
    pub reader: Reader,
    pub walk: Walk<'a>,
    /// The section of the dataset that the reader of `walk` has found.
    current: Option<u64>,
}

/// A dataset of integers, or one of which the type and shape are asked.
pub struct Column {
    number: u64,
    found: Box<Found>,
    order: OrderedItems<fn() -> Result<File>>,
    data: Vec<u8>,
    at: usize,
}

impl<'a> Datasets<'a> {
    pub fn new(input: &'a Input) -> Result<Self> {
        Ok(Self { reader: input.open_damaged(false)?, walk: Walk::new(input, false), current: None })
    }

    /// The header of the section with this number, from 0 on.
    pub fn header(&mut self, number: u64) -> Result<Option<Section>> {
        self.reader.seek_section(number)?;
        Ok(self.reader.next_section(true)?)
    }

    /// Goes to the dataset whose data are this section.
    fn go_to(&mut self, number: u64) -> Result<Option<Box<Found>>> {
        self.current = None;
        let Some(before) = number.checked_sub(1) else { return Ok(None) };
        let Some(item) = self.walk.at(&mut self.reader, before)? else { return Ok(None) };
        let Some(Pair::Dataset(found)) = item.pair else { return Ok(None) };
        self.current = Some(number);
        Ok(Some(found))
    }

    /// The dataset whose data are the section with this number, from 0 on. `None` if that is no dataset that can be read.
    pub fn open(&mut self, number: u64) -> Result<Option<Column>> {
        let found = self.go_to(number)?.filter(|found| found.dataset.unsupported.is_none());
        Ok(found.map(|found| {
            let order = OrderedItems::new(&found, temporary_file as fn() -> Result<File>);
            Column { number, found, order, data: Vec::new(), at: 0 }
        }))
    }

    /// The dataset at a section, which must have one of these types, and this shape; `None` stands for any number of indices.
    pub fn expect(
        &mut self,
        number: u64,
        is_type: impl Fn(DataType) -> bool,
        types: &str,
        shape: &[Option<u64>],
    ) -> Checked<Column> {
        let Some(column) = self.open(number)? else {
            return wrong(number, "no dataset that can be read");
        };
        let fits =
            |(found, expected): (&u64, &Option<u64>)| expected.is_none_or(|expected| *found == expected);
        let is_shape = column.shape().len() == shape.len() && column.shape().iter().zip(shape).all(fits);
        if !is_type(column.data_type()) || !is_shape {
            let any = |n: &Option<u64>| n.map_or_else(|| "any".to_owned(), |n| n.to_string());
            let expected = shape.iter().map(any).collect::<Vec<_>>().join("x");
            let found = column.shape().iter().map(u64::to_string).collect::<Vec<_>>().join("x");
            let found_type = column.data_type();
            return wrong(
                number,
                format!("found type {found_type} and shape {found}, expected {types} and {expected}"),
            );
        }
        Ok(column)
    }

    /// Requires that the section of a dataset has bytes for its numbers. A chunk of the fill value alone has none, so that a small
    /// file may have any number of numbers, which would take as long.
    pub fn bound(&mut self, column: &Column) -> Checked {
        let stored = self.stored(column.number)?;
        let most = stored.saturating_mul(MOST_FOR_ONE).max(MOST_FREE);
        let (found, bytes) = (column.rows(), column.rows().saturating_mul(column.data_type().item_bytes()));
        if bytes <= most {
            return Ok(());
        }
        let words = format!("mesh not checked: found {found} numbers in a section of {stored} bytes");
        Err(Stop::TooLarge(column.number, words))
    }

    /// The bytes of the section with this number in the file.
    fn stored(&mut self, number: u64) -> Result<u64> {
        self.reader.seek_section(number)?;
        let Some(section) = self.reader.next_section(true)? else { return Ok(0) };
        self.reader.skip()?;
        Ok(self.reader.position().map_or(0, |end| end - section.offset))
    }

    /// As [`Self::expect`], of one type.
    pub fn typed(&mut self, number: u64, data_type: DataType, shape: &[Option<u64>]) -> Checked<Column> {
        self.expect(number, |found| found == data_type, &data_type.to_string(), shape)
    }
}

impl Column {
    pub fn data_type(&self) -> DataType {
        self.found.dataset.data_type
    }

    pub fn shape(&self) -> &[u64] {
        &self.found.dataset.shape
    }

    /// How many indices the dimension of this name has that is the second one.
    pub fn second(&self, name: &str) -> Option<u64> {
        let is_called = self.found.dataset.dimension_names.get(1)?.as_deref() == Some(name);
        self.shape().get(1).copied().filter(|_| is_called)
    }

    /// The value of an attribute, as JSON.
    pub fn attribute(&self, key: &str) -> Option<String> {
        let members = attributes_of(&self.found.dataset.attributes);
        members.iter().find(|member| member.key == key).map(|member| compact(member.text))
    }

    /// How many indices the first dimension has; 1 if there is none.
    pub fn rows(&self) -> u64 {
        self.shape().first().copied().unwrap_or(1)
    }

    /// The next number; of `uint64` and `float64`, the one with the same bits.
    pub fn next(&mut self, datasets: &mut Datasets<'_>) -> Result<i64> {
        while self.at == self.data.len() {
            if datasets.current != Some(self.number) {
                datasets.go_to(self.number)?;
            }
            if !self.order.next(&mut datasets.reader, &self.found, &mut self.data)? {
                return Err(Fail::Trouble("a dataset has no more numbers".to_owned()));
            }
            self.at = 0;
        }
        let rest = &self.data[self.at..];
        let end = || Fail::Trouble("found a part of a number".to_owned());
        let (number, bytes) = match self.data_type() {
            DataType::Int8 => (i64::from(i8::from_le_bytes(*rest.first_chunk().ok_or_else(end)?)), 1),
            DataType::Uint8 => (i64::from(u8::from_le_bytes(*rest.first_chunk().ok_or_else(end)?)), 1),
            DataType::Int32 => (i64::from(i32::from_le_bytes(*rest.first_chunk().ok_or_else(end)?)), 4),
            DataType::Int64 | DataType::Uint64 | DataType::Float64 => {
                (i64::from_le_bytes(*rest.first_chunk().ok_or_else(end)?), 8)
            }
            other => return Err(Fail::Trouble(format!("found numbers of type {other}"))),
        };
        self.at += bytes;
        Ok(number)
    }
}
