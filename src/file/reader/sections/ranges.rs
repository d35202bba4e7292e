//! Reads ranges of elements of a section, on each rank its own.

use super::{CurrentSection, ExpectedCall, SectionReader, check_room, exceeds_63_bits, other_sizes};
use crate::file::reader::local_reader::ReadsLocally;
use crate::file::source::{Sink, Sizes};
use crate::file::team::{Failure, Function, sum_of_sizes};
use scda_base::error::{Error, Result};
use scda_base::memory::{self, resize};
use scda_base::numbers::to_usize;
use scda_format::COUNT_BYTES;
use scda_format::header::SectionType;
use scda_format::layout::{SectionLayout, sum};
use scda_ranks::Partition;
use std::ops::Range;

/// Reads ranges of the current section, on this rank alone.
pub(crate) struct Ranges<'a> {
    pub(super) sections: &'a mut SectionReader,
}

impl ReadsLocally for Ranges<'_> {
    fn sections(&mut self) -> &mut SectionReader {
        self.sections
    }
}

impl Ranges<'_> {
    /// Reads this rank's range, while the other ranks read theirs. The arguments of this rank may be an
    /// error.
    fn read_range<T>(
        &mut self,
        function: Function,
        part: Result<(Range<u64>, T)>,
        read: impl FnOnce(&mut Self, Range<u64>, T) -> Result<()>,
    ) -> Result<(), Failure> {
        self.team().note_call(function);
        let mine = part.and_then(|(range, memory)| self.alone(|this| Ok(read(this, range, memory)?)));
        self.team().agree(mine)?;
        self.sections.cursor.may_go_on = true;
        Ok(())
    }

    /// Checks the range against `total`, the number of elements or the bytes of a block.
    fn check_range(&self, range: &Range<u64>, total: u64) -> Result<Partition> {
        if range.start > range.end || range.end > total {
            return Err(Error::argument(format!(
                "range of elements: found {} to {}, expected no more than the {total} of the section",
                range.start, range.end
            )));
        }
        Ok(Partition { offset: range.start, count: range.end - range.start, total })
    }

    /// Returns an error unless the file has the section up to `end`; the section may be truncated.
    fn check_cut(&self, current: &CurrentSection, end: u64) -> Result<()> {
        let file_end = self.sections.ends().read;
        if end <= file_end { Ok(()) } else { Err(current.cut(file_end)) }
    }

    /// The current section, if it has this type and ranges of its data may be read next.
    fn expect_range(&mut self, function: Function, section_type: SectionType) -> Result<CurrentSection> {
        match self.sections.cursor.expect {
            ExpectedCall::CutData(current) if current.section_type == section_type => {
                self.team().note_call(function);
                Ok(current)
            }
            _ => self.sections.expect_data(function, section_type),
        }
    }

    pub fn read_block_range(&mut self, part: Result<(Range<u64>, Option<&mut [u8]>)>) -> Result<(), Failure> {
        self.read_range(Function::ReadBlockRange, part, Self::read_own_block_range)
    }

    fn read_own_block_range(&mut self, bytes: Range<u64>, data: Option<&mut [u8]>) -> Result<()> {
        let current = self.expect_range(Function::ReadBlockRange, SectionType::Block)?;
        let part = self.check_range(&bytes, current.size)?;
        let Some(data) = data else { return Ok(()) };
        Sink::Contiguous(data).check(Sizes::Fixed { count: 1, size: part.count })?;
        // A compressed block can only be read as a whole.
        let end = if current.decoded { current.layout.padding() } else { current.layout.data + bytes.end };
        self.check_cut(&current, end)?;
        if !current.decoded {
            return self.input().read_own(current.layout.data + part.offset, data);
        }
        if part.count == part.total {
            return self.input().read_own_block(&current, data);
        }
        let _temporary = memory::temporary();
        let mut all = Vec::new();
        resize(&mut all, part.total)?;
        self.input().read_own_block(&current, &mut all)?;
        let start = to_usize(part.offset);
        data.copy_from_slice(&all[start..start + data.len()]);
        Ok(())
    }

    pub fn read_array_range(
        &mut self,
        size: u64,
        part: Result<(Range<u64>, Sink<'_>)>,
    ) -> Result<(), Failure> {
        self.read_range(Function::ReadArrayRange, part, |this, elements, data| {
            this.read_own_array_range(&elements, size, data)
        })
    }

    fn read_own_array_range(&mut self, elements: &Range<u64>, size: u64, mut data: Sink<'_>) -> Result<()> {
        let current = self.expect_range(Function::ReadArrayRange, SectionType::Array)?;
        let part = self.check_range(elements, current.count)?;
        self.sections.check_size(size, current.size)?;
        let sizes = Sizes::Fixed { count: part.count, size };
        data.check(sizes)?;
        if current.decoded {
            return self.decode_own_range(&current, part, sizes, data);
        }
        // The product is at most the one checked with the header.
        self.check_cut(&current, current.layout.data + elements.end * size)?;
        self.input().read_own_elements(current.layout.data + part.offset * size, sizes, data)
    }

    /// The current varray, if its sizes or data may be read next.
    fn expect_varray(&mut self, function: Function, wanted: &str) -> Result<CurrentSection> {
        self.team().note_call(function);
        match self.sections.cursor.expect {
            ExpectedCall::VarraySizes(current) | ExpectedCall::VarrayData(current, _) => Ok(current),
            ExpectedCall::CutData(current) if current.section_type == SectionType::Varray => Ok(current),
            _ => Err(self.sections.cursor.out_of_order(wanted)),
        }
    }

    pub fn read_varray_sizes_range(
        &mut self,
        part: Result<(Range<u64>, Option<&mut [u64]>)>,
    ) -> Result<(), Failure> {
        self.read_range(Function::ReadVarraySizesRange, part, Self::read_own_varray_sizes_range)
    }

    fn read_own_varray_sizes_range(&mut self, elements: Range<u64>, out: Option<&mut [u64]>) -> Result<()> {
        let current = self.expect_varray(Function::ReadVarraySizesRange, "the sizes of a section 'V'")?;
        let part = self.check_range(&elements, current.count)?;
        let Some(out) = out else { return Ok(()) };
        check_room(out, part.count)?;
        self.read_own_sizes(&current, part, |index, size| out[index] = size)
    }

    /// Reads the decoded sizes of these elements, and checks that the file can hold their sum.
    pub fn read_own_sizes(
        &mut self,
        current: &CurrentSection,
        part: Partition,
        mut own: impl FnMut(usize, u64),
    ) -> Result<()> {
        let (entries, letter) = current.user_sizes();
        self.check_cut(current, entries + (part.offset + part.count) * COUNT_BYTES as u64)?;
        let mut total = 0;
        self.input()
            .read_own_entries(
                entries + part.offset * COUNT_BYTES as u64,
                part.count,
                letter,
                |index, size| {
                    own(index, size);
                    total = sum(total, size).ok_or_else(|| sum_of_sizes().at(entries))?;
                    Ok(())
                },
            )
            .map_err(|error| current.conform(error))?;
        // The encoded bytes in the file must be able to stand for the decoded ones.
        if current.decoded {
            return current.check_expansion(total, self.sections.ends().read);
        }
        // The padding is not read.
        let start = current.layout.start;
        let layout = SectionLayout::varray(start, current.count, total)
            .ok_or_else(|| exceeds_63_bits(&[total]).at(start))?;
        self.input().ends.check("varray", start, layout.padding())
    }

    /// `sizes` is ignored if no data are wanted.
    pub fn read_varray_range(
        &mut self,
        sizes: &[u64],
        part: Result<(Range<u64>, Sink<'_>)>,
    ) -> Result<(), Failure> {
        self.read_range(Function::ReadVarrayRange, part, |this, elements, data| {
            this.read_own_varray_range(&elements, sizes, data)
        })
    }

    fn read_own_varray_range(&mut self, elements: &Range<u64>, sizes: &[u64], data: Sink<'_>) -> Result<()> {
        let current = self.expect_varray(Function::ReadVarrayRange, "the data of a section 'V'")?;
        let part = self.check_range(elements, current.count)?;
        if data.is_skip() {
            return Ok(());
        }
        self.read_own_varray(&current, part, sizes, data)
    }

    /// Reads these elements. `sizes` must match the decoded sizes in the file.
    pub fn read_own_varray(
        &mut self,
        current: &CurrentSection,
        part: Partition,
        sizes: &[u64],
        mut data: Sink<'_>,
    ) -> Result<()> {
        let mut same = sizes.len() as u64 == part.count;
        self.read_own_sizes(current, part, |index, size| same = same && sizes[index] == size)?;
        if !same {
            return Err(other_sizes());
        }
        let sizes = Sizes::Each(sizes);
        data.check(sizes)?;
        if part.count == 0 {
            // Finding empty elements would mean reading the sizes of all elements before them.
            return Ok(());
        }
        if current.decoded {
            return self.decode_own_range(current, part, sizes, data);
        }
        let start = self.element_offset(current, part.offset)?;
        let end = sum(start, sizes.total()?).ok_or_else(|| exceeds_63_bits(&[start]))?;
        self.input().ends.check("varray", current.layout.start, end)?;
        self.input().read_own_elements(start, sizes, data)?;
        self.went_to(part.offset + part.count, end);
        Ok(())
    }
}
