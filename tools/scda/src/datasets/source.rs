//! Supplies the items of a dataset in a file to the writer of another file.

use super::ordered_items::OrderedItems;
use super::to_little;
use crate::fail::Fail;
use crate::progress;
use scda::{BoxStream, DataStream, DatasetHandle, IndexBox, Reader};
use std::io::{self, Read};
use std::ops::Range;

/// The items of a dataset, in C order or by boxes.
pub struct Source<'a> {
    reader: &'a mut Reader,
    found: &'a DatasetHandle,
    order: OrderedItems,
    /// Items that were read in C order, and how many of their bytes were returned.
    data: Vec<u8>,
    used: usize,
    share: Share,
}

/// The share of a dataset in a larger task.
pub struct Share {
    /// The progress before and after the dataset.
    pub range: Range<u64>,
    /// The number of bytes to read, and of those that were read.
    pub all: u64,
    pub read: u64,
}

impl Share {
    fn add(&mut self, bytes: usize) {
        self.read += bytes as u64;
        let part = u128::from(self.read.min(self.all)) * u128::from(self.range.end - self.range.start);
        let part = u64::try_from(part / u128::from(self.all.max(1))).unwrap_or(0);
        progress::set(self.range.start + part);
    }
}

impl<'a> Source<'a> {
    pub fn new(reader: &'a mut Reader, found: &'a DatasetHandle, share: Share) -> Self {
        Self { reader, found, order: OrderedItems::new(found), data: Vec::new(), used: 0, share }
    }
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.used == self.data.len() {
            self.used = 0;
            if !self.order.next(self.reader, self.found, &mut self.data).map_err(Fail::into_io)? {
                self.data.clear();
                return Ok(0);
            }
            self.share.add(self.data.len());
        }
        let left = &self.data[self.used..];
        let step = left.len().min(buffer.len());
        buffer[..step].copy_from_slice(&left[..step]);
        self.used += step;
        Ok(step)
    }
}

impl DataStream for Source<'_> {
    fn rewind(&mut self) -> io::Result<()> {
        self.order = OrderedItems::new(self.found);
        self.data.clear();
        self.used = 0;
        Ok(())
    }

    fn boxes(&mut self) -> Option<&mut dyn BoxStream> {
        Some(self)
    }
}

impl BoxStream for Source<'_> {
    fn read_box(&mut self, region: &IndexBox, data: &mut [u8]) -> io::Result<()> {
        let read = self.found.read(self.reader, std::slice::from_ref(region), &mut *data);
        read.map_err(io::Error::other)?;
        to_little(self.found.data_type, data);
        self.share.add(data.len());
        Ok(())
    }

    fn is_fill(&mut self, region: &IndexBox) -> io::Result<bool> {
        self.found.is_fill(self.reader, region).map_err(io::Error::other)
    }
}
