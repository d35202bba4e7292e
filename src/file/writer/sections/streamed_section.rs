//! Writes a section batch by batch, on a single rank: after the end of the file, its header last.

use super::output::{LONGEST_HEAD, head};
use super::{Sections, too_large};
use crate::file::encoding::EncodedElements;
use crate::file::options::WriteOptions;
use scda_base::error::Result;
use scda_base::memory::reserve;
use scda_format::COUNT_BYTES;
use scda_format::entry::CountFormat;
use scda_format::header::{SectionType, UserString};
use scda_format::layout::{SectionLayout, sum};
use scda_format::padding::{MAX_DATA_PADDING, data_padding};
use scda_ranks::Partition;
use scda_storage::ParallelFile;

/// Of a section that comes piece by piece, this number of zeros is not written, such as those that streams of tasks do not fill.
const HOLE_BYTES: usize = 64 << 10;

/// Where the next entry and the next data of a varray go.
pub(in crate::file::writer) struct Tail {
    start: u64,
    entries: u64,
    data: u64,
    /// Bytes of data that were written, and the last of them.
    total: u64,
    last: Option<u8>,
    format: CountFormat,
    text: Vec<u8>,
}

impl Tail {
    /// Of a varray that begins here: its layout is known as far as its data.
    pub fn of_varray(start: u64, count: u64, params: &WriteOptions) -> Result<Self> {
        Ok(Self::new(SectionLayout::varray(start, count, 0).ok_or_else(too_large)?, b'E', params))
    }

    /// Of a section with this layout, whose counts have this letter.
    pub fn new(layout: SectionLayout, letter: u8, params: &WriteOptions) -> Self {
        let format = CountFormat::new(letter, params.line_break);
        let SectionLayout { start, entries, data, .. } = layout;
        Self { start, entries, data, total: 0, last: None, format, text: Vec::new() }
    }

    /// The bytes of data that were written.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Puts encoded elements, which are these of all.
    pub fn put_encoded(
        &mut self,
        to: &mut Sections,
        elements: Partition,
        encoded: &EncodedElements,
    ) -> Result<()> {
        self.put_sizes(to, elements, &encoded.sizes)?;
        encoded.chunks.iter().try_for_each(|chunk| self.put_data(to, chunk.as_ref()))
    }

    /// Puts the sizes of elements, whose data follow.
    pub fn put_sizes(&mut self, to: &mut Sections, elements: Partition, sizes: &[u64]) -> Result<()> {
        to.note_elements(elements, self.data + self.total, sizes)?;
        self.put_entries(to, sizes)
    }

    /// Puts entries: those before the data of a varray, or data.
    pub fn put_entries(&mut self, to: &mut Sections, sizes: &[u64]) -> Result<()> {
        self.text.clear();
        reserve(&mut self.text, sizes.len() * COUNT_BYTES)?;
        self.format.append(sizes, &mut self.text);
        to.file.write_at(self.entries, &[&self.text])?;
        self.entries += self.text.len() as u64;
        Ok(())
    }

    pub fn put_data(&mut self, to: &mut Sections, data: &[u8]) -> Result<()> {
        let Some(&last) = data.last() else { return Ok(()) };
        let total = sum(self.total, data.len() as u64).ok_or_else(too_large)?;
        sum(self.data, total).ok_or_else(too_large)?;
        to.file.write_at(self.data + self.total, &[data])?;
        (self.total, self.last) = (total, Some(last));
        Ok(())
    }
}

impl Sections {
    /// Writes a piece of a section past the end of the file. What is 0 there becomes a hole: the rest of the section follows.
    pub(in crate::file::writer) fn put(&mut self, mut at: u64, mut piece: &[u8]) -> Result<()> {
        let is_hole = |block: &[u8]| block.iter().all(|&byte| byte == 0);
        let blocks: Vec<&[u8]> = piece.chunks(HOLE_BYTES).collect();
        for run in blocks.chunk_by(|a, b| is_hole(a) == is_hole(b)) {
            let (now, later) = piece.split_at(run.iter().map(|block| block.len()).sum());
            if !is_hole(now) {
                self.file.write_at(at, &[now])?;
            } else if let Some(sums) = self.file.now()?.sums() {
                sums.add(at, &[now]);
            }
            at += now.len() as u64;
            piece = later;
        }
        Ok(())
    }

    /// Writes the padding of a section, and last its header: a section that is not complete has none. The next
    /// section follows.
    pub(in crate::file::writer) fn finish(
        &mut self,
        layout: SectionLayout,
        head: &[u8],
        last: Option<u8>,
    ) -> Result<()> {
        self.enclose(layout, head, last)?;
        self.progress.extend(layout.end);
        self.progress.write_rest();
        if !self.held.is_waiting() {
            self.progress.release();
        }
        Ok(())
    }

    /// As [`Self::finish`], of a section before the one that was finished last.
    pub(in crate::file::writer) fn enclose(
        &mut self,
        layout: SectionLayout,
        head: &[u8],
        last: Option<u8>,
    ) -> Result<()> {
        let mut padding = [0; MAX_DATA_PADDING];
        let padding = data_padding(&mut padding, layout.data_bytes, last, self.params.line_break);
        self.file.write_at(layout.padding(), &[padding])?;
        self.file.write_at(layout.start, &[head])
    }

    /// Writes the padding and the header of a varray whose data are written.
    pub(in crate::file::writer) fn finish_varray(
        &mut self,
        user: &UserString,
        count: u64,
        tail: &Tail,
    ) -> Result<()> {
        let layout = SectionLayout::varray(tail.start, count, tail.total).ok_or_else(too_large)?;
        let mut text = [0; LONGEST_HEAD];
        let head = head(&mut text, SectionType::Varray, user, &[(b'N', count)], self.params.line_break);
        self.finish(layout, head, tail.last)
    }
}
