//! The data of a section: what may be called, and with which arguments.

use super::{CurrentSection, Expect, KnownSizes, Sections, exceeds_63_bits};
use crate::file::source::{Sink, Sizes};
use crate::file::team::{Failure, Function, Topic};
use scda_base::error::{Error, Result};
use scda_format::INLINE_BYTES;
use scda_format::header::SectionType;
use scda_format::layout::SectionLayout;
use scda_ranks::Partition;
use scda_ranks::hash::{mix, mix_and_sum};
use scda_ranks::partition::hash_of_counts;

impl Sections {
    /// The current section, if it is of this type and its data come next.
    #[inline(always)]
    pub fn expect_data(&mut self, function: Function, section_type: SectionType) -> Result<CurrentSection> {
        self.team.note_call(function);
        match self.cursor.expect {
            Expect::Data(current) if current.section_type == section_type => Ok(current),
            _ => Err(self.no_data(section_type)),
        }
    }

    /// Data of this type do not come next.
    #[cold]
    fn no_data(&self, section_type: SectionType) -> Error {
        match self.cursor.expect {
            Expect::CutData(current) if current.section_type == section_type => self.cut(&current),
            _ => self.out_of_order(&data_of(section_type)),
        }
    }

    #[cold]
    pub fn out_of_order(&self, wanted: &str) -> Error {
        let expected = match &self.cursor.expect {
            Expect::Header => "the header of a section".to_owned(),
            Expect::Data(current) => data_of(current.section_type),
            Expect::VarraySizes(_) => "the sizes of a section 'V'".to_owned(),
            Expect::VarrayData(..) => "the data of a section 'V'".to_owned(),
            Expect::CutData(_) => "ranges of a section that the end of the file cuts".to_owned(),
        };
        Error::usage(format!("this call reads {wanted}; the next call must read {expected}"))
            .at(self.cursor.position)
    }

    /// Notes and checks the number of bytes that the section's header said.
    pub fn check_size(&mut self, size: u64, expected: u64) -> Result<()> {
        self.team.note(Topic::Number, size);
        if size == expected { Ok(()) } else { Err(unlike_header("size E", size, expected)) }
    }

    /// Notes and checks the partition of the section's elements.
    pub fn check_counts(&mut self, counts: &[u64], expected: u64) -> Result<Partition> {
        let elements = self.team.note_partition(Topic::Counts, counts)?;
        if elements.total != expected {
            return Err(unlike_header("the sum of the counts N_q", elements.total, expected));
        }
        Ok(elements)
    }

    /// The section is done.
    pub fn advance(&mut self, end: u64) {
        self.cursor.position = end;
        self.cursor.expect = Expect::Header;
    }

    pub fn read_inline(&mut self, root: usize, data: Option<&mut [u8; INLINE_BYTES]>) -> Result<(), Failure> {
        let current = self.expect_data(Function::ReadInline, SectionType::Inline)?;
        let is_root = self.team.check_root(root)?;
        let bytes = self.look(current.layout.data, INLINE_BYTES as u64)?;
        if let (true, Some(data)) = (is_root, data) {
            data.copy_from_slice(bytes);
        }
        self.advance(current.layout.end);
        Ok(())
    }

    pub fn read_block(
        &mut self,
        size: u64,
        root: usize,
        data: Result<Option<&mut [u8]>>,
    ) -> Result<(), Failure> {
        let current = self.expect_data(Function::ReadBlock, SectionType::Block)?;
        let is_root = self.team.check_root(root)?;
        self.check_size(size, current.size)?;
        let layout = current.layout;
        let small = self.look_if_small(layout)?;
        let mine = data.and_then(|data| match data {
            Some(data) if is_root => self.read_own_block(&current, data),
            _ => Ok(()),
        });
        if small && !current.decoded {
            // Everything is in memory: only a wrong length of the user's memory can be an error.
            self.team.defer(mine);
        } else {
            self.team.agree(mine)?;
        }
        self.advance(layout.end);
        Ok(())
    }

    pub fn read_array(&mut self, counts: &[u64], size: u64, data: Result<Sink<'_>>) -> Result<(), Failure> {
        let current = self.expect_data(Function::ReadArray, SectionType::Array)?;
        let elements = self.check_counts(counts, current.count)?;
        self.check_size(size, current.size)?;
        let sizes = Sizes::Fixed { count: elements.count, size };
        let data = data.and_then(|mut data| data.check(sizes).map(|()| data));
        if current.decoded {
            // A copy, so that what the short way needs can stay in registers.
            return self.read_compressed(&{ current }, elements, sizes, data);
        }
        // The product is bounded by that of the header.
        let offset = current.layout.data + elements.offset * size;
        if self.look_if_small(current.layout)? {
            let mine = data.and_then(|data| self.read_own_elements(offset, sizes, data));
            // Everything is in memory: only a wrong length of the user's memory can be an error.
            self.team.defer(mine);
        } else {
            self.read_large(current.layout, offset, sizes, data)?;
        }
        self.advance(current.layout.end);
        Ok(())
    }

    /// Reads this rank's elements of a large section, which begin at `offset`; small pieces by some ranks of each node for all.
    /// This rank may have an error already.
    fn read_large(
        &mut self,
        layout: SectionLayout,
        offset: u64,
        sizes: Sizes<'_>,
        data: Result<Sink<'_>>,
    ) -> Result<(), Failure> {
        let Self { route, team, params, file, .. } = self;
        let Some(relay) = route.relay(team, &params.tuning, layout.bytes())? else {
            let mine = data.and_then(|data| self.read_own_elements(offset, sizes, data));
            self.team.agree(mine)?;
            return Ok(());
        };
        let (data, mine) = match data {
            Ok(data) => (data, Ok(())),
            Err(error) => (Sink::Skip, Err(error)),
        };
        // The ranks of a node are to meet: from here on all of them take part.
        let agreed = team.agree(mine)?;
        let mine = match data {
            Sink::Contiguous(memory) => relay.read(&agreed, &mut **file, offset, memory),
            // What goes to memory of many pieces, each rank reads itself.
            data => {
                let others = relay.read(&agreed, &mut **file, offset, &mut []);
                others.and_then(|()| self.read_own_elements(offset, sizes, data))
            }
        };
        self.team.agree(mine)?;
        Ok(())
    }

    pub fn read_varray_sizes(
        &mut self,
        counts: &[u64],
        sizes: Result<Option<&mut [u64]>>,
    ) -> Result<(), Failure> {
        self.team.note_call(Function::ReadVarraySizes);
        let current = match self.cursor.expect {
            Expect::VarraySizes(current) => current,
            Expect::CutData(current) if current.section_type == SectionType::Varray => {
                return Err(self.cut(&current).into());
            }
            _ => return Err(self.out_of_order("the sizes of a section 'V'").into()),
        };
        let elements = self.check_counts(counts, current.count)?;
        let sizes = sizes.and_then(|sizes| {
            sizes.as_ref().map_or(Ok(()), |sizes| check_room(sizes, elements.count))?;
            Ok(sizes)
        });
        let known = self.learn_sizes(&current, counts, elements, sizes)?;
        self.cursor.expect = Expect::VarrayData(current, known);
        Ok(())
    }

    /// Reads the sizes of the elements as the user sees them: where this rank's data lie, and a
    /// hash by which the sizes that the user gives later are compared.
    fn learn_sizes(
        &mut self,
        current: &CurrentSection,
        counts: &[u64],
        elements: Partition,
        out: Result<Option<&mut [u64]>>,
    ) -> Result<KnownSizes, Failure> {
        let (entries, letter) = current.user_sizes();
        let mut sizes_hash = 0;
        let (mut out, mine) = match out {
            Ok(out) => (out, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let bytes = self.look_at_sizes(current, entries, letter, elements, mine, |index, size| {
            sizes_hash = mix(sizes_hash, size);
            if let Some(out) = &mut out {
                out[index] = size;
            }
        })?;
        if current.decoded {
            self.check_expansion(bytes.total, current.layout.start)?;
        } else {
            self.varray_layout(current, bytes.total)?;
        }
        Ok(KnownSizes { counts_hash: hash_of_counts(counts), sizes_hash, bytes })
    }

    pub fn read_varray(
        &mut self,
        counts: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Result<(Option<&[u64]>, Sink<'_>)>,
    ) -> Result<(), Failure> {
        self.team.note_call(Function::ReadVarray);
        let Expect::VarrayData(current, mut known) = self.cursor.expect else {
            return Err(self.out_of_order("the data of a section 'V'").into());
        };
        let elements = self.check_counts(counts, current.count)?;
        self.team.note(Topic::ProcSizes, u64::from(proc_sizes.is_some()));
        let given = proc_sizes.map(|sizes| self.team.note_partition(Topic::ProcSizes, sizes)).transpose()?;
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
        let layout = self.varray_layout(&current, known.bytes.total)?;
        let offset = layout.data + known.bytes.offset;
        if self.look_if_small(layout)? {
            let mine = data.and_then(|data| self.read_own_elements(offset, Sizes::Each(sizes), data));
            self.team.agree(mine)?;
        } else {
            self.read_large(layout, offset, Sizes::Each(sizes), data)?;
        }
        self.advance(layout.end);
        Ok(())
    }

    /// The layout of the varray in the file, now that the bytes of all its elements are known.
    pub fn varray_layout(&self, current: &CurrentSection, total: u64) -> Result<SectionLayout> {
        let start = current.layout.start;
        let layout = SectionLayout::varray(start, current.count, total)
            .ok_or_else(|| exceeds_63_bits(&[total]).at(start))?;
        self.check_end("varray", start, layout.end)?;
        Ok(layout)
    }
}

/// An error unless there is room for `expected` sizes.
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
fn data_of(section_type: SectionType) -> String {
    format!("the data of a section '{}'", char::from(section_type.letter()))
}

#[cold]
fn unlike_header(what: &str, found: u64, expected: u64) -> Error {
    Error::argument(format!("{what}: found {found}, expected {expected} as in the header"))
}
