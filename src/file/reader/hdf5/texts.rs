//! Reads the metadata of datasets, and the objects of a view, many at a time.

use crate::file::reader::pages::Pages;
use scda_base::error::{Error, Result};
use scda_base::memory::{reserve, resize};
use scda_base::numbers::to_usize;
use scda_format::COUNT_BYTES;
use scda_format::entry::parse_count;
use scda_storage::ParallelFile;

/// The bytes of a single read, and of a read where texts lie close together.
const FEW_BYTES: u64 = 4 << 10;
const MANY_BYTES: u64 = 64 << 10;

/// The size of a page of the objects of a view, and the most pages that are kept.
const PAGE_BYTES: u64 = 8 << 10;
const MOST_PAGES: usize = 64;

/// Caches the objects of a view, in a file of which nothing is read from `end` on.
pub fn pages(end: u64) -> Pages {
    Pages::new(PAGE_BYTES, MOST_PAGES, end)
}

/// A file whose metadata texts are read, several at once where they are near each other.
pub struct Texts<'a> {
    /// The file.
    pub file: &'a mut dyn ParallelFile,
    end: u64,
    start: u64,
    near: Vec<u8>,
}

impl<'a> Texts<'a> {
    /// For a file that ends at `end`.
    pub fn new(file: &'a mut dyn ParallelFile, end: u64) -> Self {
        Self { file, end, start: 0, near: Vec::new() }
    }

    /// Reads bytes of the file.
    pub fn read(&mut self, offset: u64, bytes: u64) -> Result<&[u8]> {
        let end = offset.checked_add(bytes).filter(|&end| end <= self.end);
        let end = end.ok_or_else(|| Error::short_file("section", offset.saturating_add(bytes), self.end))?;
        let near = self.start + self.near.len() as u64;
        if offset < self.start || end > near {
            // Small datasets follow one another. Where large data lie between them, each text is read by
            // itself.
            let is_close =
                (near..near + MANY_BYTES).contains(&offset) || (self.start..near).contains(&offset);
            let ahead = if is_close { MANY_BYTES } else { FEW_BYTES };
            resize(&mut self.near, bytes.max(ahead.min(self.end - offset)))?;
            self.start = offset;
            self.file.read_at(offset, &mut self.near)?;
        }
        let place = to_usize(offset - self.start);
        Ok(&self.near[place..place + to_usize(bytes)])
    }

    /// The sizes of the elements of a varray, whose size entries begin at this offset.
    pub fn sizes(&mut self, entries: u64, count: u64) -> Result<Vec<u64>> {
        let mut sizes = Vec::new();
        let mut done = 0;
        while done < count {
            let now = (count - done).min(MANY_BYTES / COUNT_BYTES as u64);
            let at = entries + done * COUNT_BYTES as u64;
            let text = self.read(at, now * COUNT_BYTES as u64)?;
            reserve(&mut sizes, to_usize(now))?;
            for entry in text.as_chunks().0 {
                sizes.push(parse_count(entry, b'E').map_err(|error| error.at(at))?);
            }
            done += now;
        }
        Ok(sizes)
    }
}
