//! Caches pages of a file, for small reads near one another.

use scda_base::error::Result;
use scda_base::memory::resize;
use scda_base::numbers::to_usize;
use scda_storage::ParallelFile;
use std::collections::BTreeMap;

/// Pages of a file, by their offsets.
#[derive(Default)]
pub struct Pages {
    page_bytes: u64,
    /// The most pages that are kept.
    most: usize,
    /// Where the part of the file that does not change ends.
    end: u64,
    pages: BTreeMap<u64, Vec<u8>>,
}

impl Pages {
    /// For at most `most` pages of `page_bytes` bytes, of a file that does not change before `end`.
    pub fn new(page_bytes: u64, most: usize, end: u64) -> Self {
        Self { page_bytes, most, end, pages: BTreeMap::new() }
    }

    /// Fills `bytes` from `offset` on.
    pub fn read(&mut self, file: &mut dyn ParallelFile, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let end = offset.saturating_add(bytes.len() as u64);
        if bytes.len() as u64 > self.page_bytes || end > self.end {
            return file.read_at(offset, bytes);
        }
        let mut at = offset;
        while at < end {
            let start = at - at % self.page_bytes;
            if !self.pages.contains_key(&start) {
                let mut page = Vec::new();
                resize(&mut page, self.page_bytes.min(self.end - start))?;
                file.read_at(start, &mut page)?;
                // Dropping all at once saves keeping an order; those that are needed often soon return.
                if self.pages.len() == self.most {
                    self.pages.clear();
                }
                self.pages.insert(start, page);
            }
            let page = &self.pages[&start];
            let now = (start + self.page_bytes).min(end);
            let to = to_usize(at - offset)..to_usize(now - offset);
            bytes[to].copy_from_slice(&page[to_usize(at - start)..to_usize(now - start)]);
            at = now;
        }
        Ok(())
    }
}
