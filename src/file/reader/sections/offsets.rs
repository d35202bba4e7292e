//! Finds the offsets of elements of different sizes, and reads elements there.

use super::cursor::OffsetHint;
use super::local_reader::ReadsLocally;
use super::seals::nearest_anchor;
use super::{CurrentSection, Ranges, exceeds_63_bits};
use crate::file::source::{Sink, Sizes};
use scda_base::error::Result;
use scda_base::memory::{self, reserve_count};
use scda_format::COUNT_BYTES;
use scda_format::index::{ANCHOR_ELEMENTS, Row};
use scda_format::layout::{SectionLayout, sum};
use scda_ranks::Partition;

impl Ranges<'_> {
    /// Records that the elements from the known one up to this one were read.
    pub fn went_to(&mut self, index: u64, offset: u64) {
        if let Some(known) = &mut self.sections.cursor.known_offset {
            (known.index, known.offset) = (index, offset);
        }
    }

    /// The offset in the file of the element with this index.
    pub fn element_offset(&mut self, current: &CurrentSection, index: u64) -> Result<u64> {
        let entries = current.layout.entries;
        let known = self
            .sections
            .cursor
            .known_offset
            .filter(|known| known.entries == entries && known.index <= index);
        let mut known =
            known.unwrap_or(OffsetHint { entries, index: 0, offset: current.layout.data, by_anchor: false });
        if index - known.index > ANCHOR_ELEMENTS
            && let Some((index, offset)) = nearest_anchor(self.sections, current.layout.data, index)?
        {
            known = OffsetHint { entries, index, offset, by_anchor: true };
        }
        let mut offset = known.offset;
        let first = entries + known.index * COUNT_BYTES as u64;
        self.input()
            .read_own_entries(first, index - known.index, b'E', |_, size| {
                offset = sum(offset, size).ok_or_else(|| exceeds_63_bits(&[offset, size]))?;
                Ok(())
            })
            .map_err(|error| current.conform(error))?;
        self.input().ends.check("varray", current.layout.start, offset)?;
        self.sections.cursor.known_offset = Some(OffsetHint { index, offset, ..known });
        Ok(offset)
    }

    /// Decodes a range of a compressed array or varray; `sizes` are those of the decoded elements.
    pub fn decode_own_range(
        &mut self,
        current: &CurrentSection,
        part: Partition,
        sizes: Sizes<'_>,
        data: Sink<'_>,
    ) -> Result<()> {
        let start = self.element_offset(current, part.offset)?;
        let _temporary = memory::temporary();
        let mut encoded_sizes = Vec::new();
        reserve_count(&mut encoded_sizes, part.count)?;
        let first = current.layout.entries + part.offset * COUNT_BYTES as u64;
        let mut end = start;
        self.input()
            .read_own_entries(first, part.count, b'E', |_, size| {
                end = sum(end, size).ok_or_else(|| exceeds_63_bits(&[end, size]))?;
                encoded_sizes.push(size);
                Ok(())
            })
            .map_err(|error| current.conform(error))?;
        self.input().ends.check("varray", current.layout.start, end)?;
        self.input().decode_own_elements(start, &encoded_sizes, sizes, data)?;
        self.went_to(part.offset + part.count, end);
        Ok(())
    }

    /// Reads the stored element sizes of a section, as many at a time as one anchor covers. Passes their
    /// indices, the offset of the first, and the sizes to the caller.
    pub fn hand_out(
        &mut self,
        row: &Row,
        anchors: &mut impl FnMut(&Row, Partition, u64, &[u64]) -> Result<()>,
    ) -> Result<()> {
        let layout = row.data_section(0);
        let SectionLayout { entries, data, .. } = layout.ok_or_else(|| exceeds_63_bits(&[row.count]))?;
        let (mut batch, mut at, mut done) = (Vec::new(), data, 0);
        let mut give = |batch: &mut Vec<u64>, done: &mut u64| -> Result<()> {
            let part = Partition { offset: *done, count: batch.len() as u64, total: row.count };
            anchors(row, part, at, batch)?;
            let bytes = Sizes::Each(batch).total()?;
            at = sum(at, bytes).ok_or_else(|| exceeds_63_bits(&[at, bytes]))?;
            *done += batch.len() as u64;
            batch.clear();
            Ok(())
        };
        self.input().read_own_entries(entries, row.count, b'E', |_, size| {
            batch.push(size);
            if batch.len() as u64 == ANCHOR_ELEMENTS { give(&mut batch, &mut done) } else { Ok(()) }
        })?;
        if batch.is_empty() { Ok(()) } else { give(&mut batch, &mut done) }
    }
}
