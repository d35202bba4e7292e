//! Supplies the items of a dataset in a file to the writer of another file.

use super::ordered_items::OrderedItems;
use super::to_little;
use crate::fail::{Fail, Result};
use crate::progress::Progress;
use scda::{BoxStream, DataStream, DatasetHandle, IndexBox, Reader, target_path};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

/// Makes a temporary file.
type Spool<'a> = Box<dyn FnMut() -> Result<File> + 'a>;

/// The items of a dataset, in C order or by boxes.
pub struct Source<'a> {
    reader: &'a mut Reader,
    found: &'a DatasetHandle,
    /// The path of the file to write; temporary files are made in its folder.
    path: &'a Path,
    order: OrderedItems<Spool<'a>>,
    /// Items that were read in C order, and how many of their bytes were returned.
    data: Vec<u8>,
    used: usize,
    share: Share<'a>,
}

/// The share of a dataset in a larger task.
pub struct Share<'a> {
    pub progress: &'a mut Progress,
    /// The progress before and after the dataset.
    pub range: Range<u64>,
    /// The number of bytes to read, and of those that were read.
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
    /// Items for the file with this path.
    pub fn new(reader: &'a mut Reader, found: &'a DatasetHandle, path: &'a Path, share: Share<'a>) -> Self {
        let order = in_order(found, path);
        Self { reader, found, path, order, data: Vec::new(), used: 0, share }
    }
}

fn in_order<'a>(found: &DatasetHandle, path: &'a Path) -> OrderedItems<Spool<'a>> {
    OrderedItems::new(found, Box::new(move || spool(path)))
}

/// A temporary file without a name, in the folder of the file to write.
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
