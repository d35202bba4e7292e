//! Writes a section in parts, on a single rank, at the end of the file, with its header last.

use super::{SectionWriter, head, too_large};
use crate::file::encoding::EncodedElements;
use crate::file::options::WriteOptions;
use crate::file::writer::output::LONGEST_HEAD;
use scda_base::error::Result;
use scda_base::memory::reserve;
use scda_format::COUNT_BYTES;
use scda_format::entry::CountFormat;
use scda_format::header::{SectionType, UserString};
use scda_format::layout::{SectionLayout, sum};
use scda_ranks::Partition;
use scda_storage::ParallelFile;

/// Where the next size entry and the next data of a varray go.
pub(in crate::file::writer) struct Tail {
    start: u64,
    entries: u64,
    data: u64,
    /// The number of data bytes written, and the last byte.
    pub total: u64,
    last: Option<u8>,
    format: CountFormat,
    text: Vec<u8>,
}

impl Tail {
    /// For a varray that begins here, of which the offset of the data is known.
    pub fn of_varray(start: u64, count: u64, params: &WriteOptions) -> Result<Self> {
        Ok(Self::new(SectionLayout::varray(start, count, 0).ok_or_else(too_large)?, b'E', params))
    }

    /// For a section with this layout, whose counts have this letter.
    pub fn new(layout: SectionLayout, letter: u8, params: &WriteOptions) -> Self {
        let format = CountFormat::new(letter, params.line_break);
        let SectionLayout { start, entries, data, .. } = layout;
        Self { start, entries, data, total: 0, last: None, format, text: Vec::new() }
    }

    /// Writes encoded elements, the next `elements` of all.
    pub fn put_encoded(
        &mut self,
        to: &mut SectionWriter,
        elements: Partition,
        encoded: &EncodedElements,
    ) -> Result<()> {
        self.put_sizes(to, elements, &encoded.sizes)?;
        encoded.chunks.iter().try_for_each(|chunk| self.put_data(to, chunk.as_ref()))
    }

    /// Writes the sizes of elements, whose data follow.
    pub fn put_sizes(&mut self, to: &mut SectionWriter, elements: Partition, sizes: &[u64]) -> Result<()> {
        if let Some(sealer) = &mut to.sealer {
            sealer.note_elements(elements, self.data + self.total, sizes)?;
        }
        self.put_entries(to, sizes)
    }

    /// Writes size entries, before the data of a varray or as data.
    pub fn put_entries(&mut self, to: &mut SectionWriter, sizes: &[u64]) -> Result<()> {
        self.text.clear();
        reserve(&mut self.text, sizes.len() * COUNT_BYTES)?;
        self.format.append(sizes, &mut self.text);
        to.output.file.write_at(self.entries, &[&self.text])?;
        self.entries += self.text.len() as u64;
        Ok(())
    }

    pub fn put_data(&mut self, to: &mut SectionWriter, data: &[u8]) -> Result<()> {
        let Some(&last) = data.last() else { return Ok(()) };
        let total = sum(self.total, data.len() as u64).ok_or_else(too_large)?;
        sum(self.data, total).ok_or_else(too_large)?;
        to.output.file.write_at(self.data + self.total, &[data])?;
        (self.total, self.last) = (total, Some(last));
        Ok(())
    }

    /// Writes the padding and the header of the varray of `count` elements, after all its data. The next
    /// section follows.
    pub fn finish(&self, to: &mut SectionWriter, user: &UserString, count: u64) -> Result<()> {
        let layout = SectionLayout::varray(self.start, count, self.total).ok_or_else(too_large)?;
        let (mut text, style) = ([0; LONGEST_HEAD], to.params().line_break);
        let head = head(&mut text, SectionType::Varray, user, &[(b'N', count)], style);
        to.output.finish(layout, head, self.last)
    }
}
