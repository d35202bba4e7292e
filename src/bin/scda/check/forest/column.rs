//! The numbers of a dataset one after the other, in bounded memory.

use crate::datasets::in_order::InOrder;
use crate::datasets::{Found, Pair, Walk};
use crate::fail::{Fail, Result};
use crate::files::{Input, temporary_file};
use scda::DataType;
use std::fs::File;

/// A dataset of integers.
pub struct Column<'a> {
    walk: Walk<'a>,
    found: Box<Found>,
    order: InOrder<fn() -> Result<File>>,
    data: Vec<u8>,
    at: usize,
}

impl<'a> Column<'a> {
    /// The dataset whose data are the section with this number, from 0 on. `None` if that is no dataset that can be read.
    pub fn open(input: &'a Input, number: u64) -> Result<Option<Self>> {
        let mut reader = input.open_damaged(false)?;
        let mut walk = Walk::new(input, false);
        let Some(before) = number.checked_sub(1) else { return Ok(None) };
        let Some(item) = walk.at(&mut reader, before)? else { return Ok(None) };
        match item.pair {
            Some(Pair::Dataset(found)) if found.dataset.unsupported.is_none() => {
                let order = InOrder::new(&found, temporary_file as fn() -> Result<File>);
                Ok(Some(Self { walk, found, order, data: Vec::new(), at: 0 }))
            }
            _ => Ok(None),
        }
    }

    pub fn data_type(&self) -> DataType {
        self.found.dataset.data_type
    }

    pub fn shape(&self) -> &[u64] {
        &self.found.dataset.shape
    }

    /// The next number.
    pub fn next(&mut self) -> Result<i64> {
        while self.at == self.data.len() {
            if !self.order.next(self.walk.dataset_reader()?, &self.found, &mut self.data)? {
                return Err(Fail::Trouble("found no more numbers in a dataset".to_owned()));
            }
            self.at = 0;
        }
        let rest = &self.data[self.at..];
        let end = || Fail::Trouble("found a part of a number".to_owned());
        let (number, bytes) = match self.data_type() {
            DataType::Int8 => (i64::from(i8::from_le_bytes(*rest.first_chunk().ok_or_else(end)?)), 1),
            DataType::Uint8 => (i64::from(u8::from_le_bytes(*rest.first_chunk().ok_or_else(end)?)), 1),
            DataType::Int32 => (i64::from(i32::from_le_bytes(*rest.first_chunk().ok_or_else(end)?)), 4),
            DataType::Int64 => (i64::from_le_bytes(*rest.first_chunk().ok_or_else(end)?), 8),
            other => return Err(Fail::Trouble(format!("found numbers of type {other:?}"))),
        };
        self.at += bytes;
        Ok(number)
    }
}
