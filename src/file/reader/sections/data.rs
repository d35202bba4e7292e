//! Reads the data of a section, and checks the order and arguments of the calls.

use super::local_reader::ReadsLocally;
use super::{CurrentSection, ExpectedCall, KnownVarraySizes, SectionReader};
use crate::file::read_ahead::missed;
use crate::file::source::{Sink, Sizes};
use crate::file::team::{Failure, Function, Topic, split};
use scda_base::error::{Error, Result};
use scda_base::memory::reserve_count;
use scda_base::numbers::to_usize;
use scda_format::header::SectionType;
use scda_format::{FILE_HEADER_BYTES, INLINE_BYTES};
use scda_ranks::hash::{mix, mix_and_sum};
use scda_ranks::partition::hash_of_counts;
use scda_ranks::{Partition, uniform_partition};

impl SectionReader {
    /// The current section, if it has this type and its data are expected next.
    #[inline(always)]
    pub fn expect_data(&mut self, function: Function, section_type: SectionType) -> Result<CurrentSection> {
        self.input.team.note_call(function);
        self.cursor.expect_data(section_type, self.input.end())
    }

    /// Checks the number of bytes against the section's header; it must be the same on all ranks.
    pub fn check_size(&mut self, size: u64, expected: u64) -> Result<()> {
        self.input.team.note_named(Topic::Number, &["the size"], &[size]);
        if size == expected { Ok(()) } else { Err(unlike_header("size E", size, expected)) }
    }

    /// Checks the partition of the section's elements; it must be the same on all ranks.
    pub fn check_counts(&mut self, counts: &[u64], expected: u64) -> Result<Partition> {
        let elements = self.input.team.note_partition(Topic::Counts, counts)?;
        if elements.total != expected {
            return Err(unlike_header("the sum of the counts N_q", elements.total, expected));
        }
        Ok(elements)
    }

    pub fn skip(&mut self) -> Result<(), Failure> {
        self.input.team.note_call(Function::Skip);
        let (current, known) = match self.cursor.expect {
            ExpectedCall::Header => return Ok(()),
            ExpectedCall::CutData(current) => return Err(current.cut(self.input.end()).into()),
            ExpectedCall::Data(current) | ExpectedCall::VarraySizes(current) => (current, None),
            ExpectedCall::VarrayData(current, known) => (current, Some(known.bytes.total)),
        };
        let CurrentSection { section_type, count, decoded, .. } = current;
        let end = match section_type {
            SectionType::Inline | SectionType::Block => current.layout.end,
            SectionType::Array if !decoded => current.layout.end,
            SectionType::Array | SectionType::Varray => {
                let in_ranges = self.cursor.known_offset.filter(|_| self.input.team.is_alone());
                let in_ranges = in_ranges.and_then(|known| known.total(&current));
                let total = match known.filter(|_| !decoded).or(in_ranges) {
                    Some(total) => total,
                    None => {
                        let team = &mut self.input.team;
                        let counts = uniform_partition(count, team.size());
                        let part = Partition::new(&counts, team.rank(), team.size())?;
                        let entries = current.layout.entries;
                        self.input.look_at_sizes(&current, entries, b'E', part, Ok(()), |_, _| {})?.total
                    }
                };
                current.varray_layout(total, self.input.end())?.end
            }
        };
        self.advance(end);
        Ok(())
    }

    pub fn seek(&mut self, offset: u64) -> Result<(), Failure> {
        self.input.team.note_call(Function::Seek);
        self.input.team.note_named(Topic::Number, &["the offset"], &[offset]);
        if !(FILE_HEADER_BYTES as u64..=self.input.end()).contains(&offset) {
            return Err(Error::argument(format!(
                "offset of a section: found {offset}, expected {FILE_HEADER_BYTES} to {}",
                self.input.end()
            ))
            .into());
        }
        self.advance(offset);
        Ok(())
    }
}

/// Reads the data of the current section with the calls of the paper.
pub(crate) struct DataReader<'a> {
    pub(super) sections: &'a mut SectionReader,
}

impl ReadsLocally for DataReader<'_> {
    #[inline(always)]
    fn sections(&mut self) -> &mut SectionReader {
        self.sections
    }
}

impl DataReader<'_> {
    pub fn read_inline(&mut self, root: usize, data: Option<&mut [u8; INLINE_BYTES]>) -> Result<(), Failure> {
        let current = self.sections.expect_data(Function::ReadInline, SectionType::Inline)?;
        let is_root = self.team().check_root(root)?;
        let bytes = self.input().look(current.layout.data, INLINE_BYTES as u64)?;
        if let (true, Some(data)) = (is_root, data) {
            data.copy_from_slice(bytes);
        }
        self.sections.advance(current.layout.end);
        Ok(())
    }

    #[inline(always)]
    pub fn read_block(
        &mut self,
        size: u64,
        root: usize,
        data: Result<Option<&mut [u8]>>,
    ) -> Result<(), Failure> {
        let current = self.sections.expect_data(Function::ReadBlock, SectionType::Block)?;
        let is_root = self.team().check_root(root)?;
        self.sections.check_size(size, current.size)?;
        let layout = current.layout;
        let data = data.map(|data| data.filter(|_| is_root));
        if current.decoded || !self.input().is_small(layout.bytes()) {
            // Passing a copy lets the short path keep its values in registers.
            return self.read_other_block(&{ current }, data);
        }
        let bytes = self.input().look(layout.data, layout.data_bytes)?;
        // All data are in memory, so only the length of the user's memory can be wrong.
        let mine = data.and_then(|data| match data {
            Some(data) => {
                Sink::Contiguous(&mut *data).check(Sizes::Fixed { count: 1, size })?;
                data.copy_from_slice(bytes);
                Ok(())
            }
            None => Ok(()),
        });
        self.team().defer(mine);
        self.sections.advance(layout.end);
        Ok(())
    }

    /// Reads a large or compressed block.
    #[inline(never)]
    fn read_other_block(
        &mut self,
        current: &CurrentSection,
        data: Result<Option<&mut [u8]>>,
    ) -> Result<(), Failure> {
        self.input().look_if_small(current.layout)?;
        let read = |data: &mut [u8]| self.input().read_own_block(current, data);
        let mine = data.and_then(|data| data.map_or(Ok(()), read));
        self.team().agree(mine)?;
        self.sections.advance(current.layout.end);
        Ok(())
    }

    #[inline(always)]
    pub fn read_array(&mut self, counts: &[u64], size: u64, data: Result<Sink<'_>>) -> Result<(), Failure> {
        let current = self.sections.expect_data(Function::ReadArray, SectionType::Array)?;
        let elements = self.sections.check_counts(counts, current.count)?;
        self.sections.check_size(size, current.size)?;
        let sizes = Sizes::Fixed { count: elements.count, size };
        let data = data.and_then(|mut data| data.check(sizes).map(|()| data));
        if current.decoded {
            // Passing a copy lets the short path keep its values in registers.
            return self.read_compressed(&{ current }, elements, sizes, data);
        }
        let layout = current.layout;
        // The product is at most the one checked with the header.
        let offset = layout.data + elements.offset * size;
        if !self.input().is_small(layout.bytes()) {
            self.input().read_large(layout, offset, sizes, data)?;
        } else {
            let bytes = self.input().look(layout.data, layout.data_bytes)?;
            // All data are in memory, so only the length of the user's memory can be wrong.
            let mine = match data {
                Ok(Sink::Contiguous(memory)) => {
                    let start = to_usize(elements.offset * size);
                    let own = bytes.get(start..).and_then(|bytes| bytes.get(..memory.len()));
                    own.map(|own| memory.copy_from_slice(own)).ok_or_else(missed)
                }
                data => data.and_then(|data| self.input().read_own_elements(offset, sizes, data)),
            };
            self.team().defer(mine);
        }
        self.sections.advance(layout.end);
        Ok(())
    }

    pub fn read_varray_sizes(
        &mut self,
        counts: &[u64],
        sizes: Result<Option<&mut [u64]>>,
    ) -> Result<(), Failure> {
        self.team().note_call(Function::ReadVarraySizes);
        let current = match self.sections.cursor.expect {
            ExpectedCall::VarraySizes(current) => current,
            ExpectedCall::CutData(current) if current.section_type == SectionType::Varray => {
                return Err(current.cut(self.input().end()).into());
            }
            _ => return Err(self.sections.cursor.out_of_order("the sizes of a section 'V'").into()),
        };
        let elements = self.sections.check_counts(counts, current.count)?;
        let sizes = sizes.and_then(|sizes| {
            sizes.as_ref().map_or(Ok(()), |sizes| check_room(sizes, elements.count))?;
            Ok(sizes)
        });
        let known = self.learn_sizes(&current, counts, elements, sizes)?;
        self.sections.cursor.expect = ExpectedCall::VarrayData(current, known);
        Ok(())
    }

    /// Reads the element sizes as the user sees them: determines where this rank's data are, and a hash with
    /// which the sizes that the user passes later are compared.
    fn learn_sizes(
        &mut self,
        current: &CurrentSection,
        counts: &[u64],
        elements: Partition,
        out: Result<Option<&mut [u64]>>,
    ) -> Result<KnownVarraySizes, Failure> {
        let (entries, letter) = current.user_sizes();
        let mut sizes_hash = 0;
        let (mut out, mine) = split(out);
        let bytes = self.input().look_at_sizes(current, entries, letter, elements, mine, |index, size| {
            sizes_hash = mix(sizes_hash, size);
            if let Some(out) = &mut out {
                out[index] = size;
            }
        })?;
        if current.decoded {
            current.check_expansion(bytes.total, self.input().end())?;
        } else {
            current.varray_layout(bytes.total, self.input().end())?;
        }
        Ok(KnownVarraySizes { counts_hash: hash_of_counts(counts), sizes_hash, bytes })
    }

    pub fn read_varray(
        &mut self,
        counts: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Result<(Option<&[u64]>, Sink<'_>)>,
    ) -> Result<(), Failure> {
        self.team().note_call(Function::ReadVarray);
        let ExpectedCall::VarrayData(current, mut known) = self.sections.cursor.expect else {
            return Err(self.sections.cursor.out_of_order("the data of a section 'V'").into());
        };
        let elements = self.sections.check_counts(counts, current.count)?;
        self.team().note(Topic::ProcSizes, u64::from(proc_sizes.is_some()));
        let given =
            proc_sizes.map(|sizes| self.team().note_partition(Topic::ProcSizes, sizes)).transpose()?;
        if hash_of_counts(counts) != known.counts_hash {
            known = self.learn_sizes(&current, counts, elements, Ok(None))?;
        }
        let checked = data.and_then(|(sizes, mut data)| {
            if given.is_some_and(|given| given != known.bytes) {
                return Err(Error::argument(
                    "the sizes S_q differ from the sums of the sizes E_i in the file",
                ));
            }
            let sizes = match sizes {
                _ if data.is_skip() => &[],
                Some(sizes)
                    if sizes.len() as u64 == elements.count
                        && mix_and_sum(0, sizes).0 == known.sizes_hash =>
                {
                    sizes
                }
                None if elements.count == 0 => &[],
                _ => return Err(other_sizes()),
            };
            data.check(Sizes::Each(sizes)).map(|()| (sizes, data))
        });
        let (sizes, data) = match checked {
            Ok((sizes, data)) => (sizes, Ok(data)),
            Err(error) => (&[] as &[u64], Err(error)),
        };
        if current.decoded {
            return self.read_compressed(&current, elements, Sizes::Each(sizes), data);
        }
        let layout = current.varray_layout(known.bytes.total, self.input().end())?;
        let offset = layout.data + known.bytes.offset;
        if self.input().look_if_small(layout)? {
            let mine = data.and_then(|data| self.input().read_own_elements(offset, Sizes::Each(sizes), data));
            self.team().agree(mine)?;
        } else {
            self.input().read_large(layout, offset, Sizes::Each(sizes), data)?;
        }
        self.sections.advance(layout.end);
        Ok(())
    }

    /// Reads the encoded elements of a compressed array or varray and decodes them.
    ///
    /// `sizes` are those of the decoded elements. The arguments of this rank may already be an error.
    #[inline(never)]
    pub fn read_compressed(
        &mut self,
        current: &CurrentSection,
        elements: Partition,
        sizes: Sizes<'_>,
        data: Result<Sink<'_>>,
    ) -> Result<(), Failure> {
        let (data, checked) = split(data);
        let mut encoded_sizes = Vec::new();
        let wanted = if data.is_skip() { 0 } else { elements.count };
        let mine = checked.and_then(|()| reserve_count(&mut encoded_sizes, wanted));
        let bytes = self.input().look_at_sizes(
            current,
            current.layout.entries,
            b'E',
            elements,
            mine,
            |_, size| {
                // This does not exceed the reserved memory.
                if wanted > 0 {
                    encoded_sizes.push(size);
                }
            },
        )?;
        let layout = current.varray_layout(bytes.total, self.input().end())?;
        self.input().look_if_small(layout)?;
        let decoded =
            self.input().decode_own_elements(layout.data + bytes.offset, &encoded_sizes, sizes, data);
        self.team().agree(decoded)?;
        self.sections.advance(layout.end);
        Ok(())
    }
}

/// Returns an error unless there is room for `expected` sizes.
pub fn check_room(sizes: &[u64], expected: u64) -> Result<()> {
    let found = sizes.len();
    if found as u64 == expected {
        return Ok(());
    }
    Err(Error::argument(format!("sizes E_i: found room for {found}, expected {expected}")))
}

#[cold]
pub fn other_sizes() -> Error {
    Error::argument("the sizes E_i differ from those in the file")
}

#[cold]
fn unlike_header(what: &str, found: u64, expected: u64) -> Error {
    Error::argument(format!("{what}: found {found}, expected {expected} as in the header"))
}
