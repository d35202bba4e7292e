//! The items of a dataset in a file, for the writer of another.

use super::ordered_items::OrderedItems;
use super::{Found, to_little};
use crate::fail::{Fail, Result};
use crate::progress::Progress;
use scda::{BoxStream, DataStream, IndexBox, Reader, target_path};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

/// Makes a temporary file.
type Spool<'a> = Box<dyn FnMut() -> Result<File> + 'a>;

/// The items of a dataset: in C order, or any boxes.
pub struct Source<'a> {
    reader: &'a mut Reader,
    found: &'a Found,
    /// Of the file that they are written to: what needs a temporary file has it in that folder.
    path: &'a Path,
    order: OrderedItems<Spool<'a>>,
    /// What was read in C order, and how much of it was handed out.
    data: Vec<u8>,
    used: usize,
    share: Share<'a>,
}

/// The part of a task that is to write a dataset.
pub struct Share<'a> {
    pub progress: &'a mut Progress,
    /// What is done before the dataset, and with it.
    pub range: Range<u64>,
    /// How many bytes are read, all in all, and how many were.
    pub all: u64,
    pub read: u64,
}

impl Share<'_> {
    fn add(&mut self, bytes: usize) {
        self.read += bytes as u64;
        let part = u128::from(self.read.min(self.all)) * u128::from(self.range.end - self.range.start);
        let part = u64::try_from(part / u128::from(self.all.max(1))).unwrap_or(0);
        self.progress.set(self.range.start + part);
    }
}

impl<'a> Source<'a> {
    /// Items for the file of this path.
    pub fn new(reader: &'a mut Reader, found: &'a Found, path: &'a Path, share: Share<'a>) -> Self {
        let order = in_order(found, path);
        Self { reader, found, path, order, data: Vec::new(), used: 0, share }
    }
}

fn in_order<'a>(found: &Found, path: &'a Path) -> OrderedItems<Spool<'a>> {
    OrderedItems::new(found, Box::new(move || spool(path)))
}

/// A temporary file that has no name, in the folder of a file that is to be written.
fn spool(path: &Path) -> Result<File> {
    let path = target_path(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::tempfile_in(folder).map_err(|e| Fail::file(&folder.display().to_string(), e))
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
        self.order = in_order(self.found, self.path);
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
        let read = self.found.handle.read(self.reader, std::slice::from_ref(region), &mut *data);
        read.map_err(io::Error::other)?;
        to_little(self.found.dataset.data_type, data);
        self.share.add(data.len());
        Ok(())
    }

    fn is_fill(&mut self, region: &IndexBox) -> io::Result<bool> {
        self.found.handle.is_fill(self.reader, region).map_err(io::Error::other)
    }
}
