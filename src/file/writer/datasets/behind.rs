//! Calls behind datasets that wait for their place: plain sections, contiguous datasets and groups. Their data are copied, and the calls
//! made again when what is before them has its place.

use super::DatasetWriter;
use super::pieces::Passed;
use super::ready::Ready;
use super::unplaced::Waiting;
use crate::file::params::Encode;
use crate::file::source::{Sizes, Source};
use crate::file::team::{FINE, Failure, Function, Topic, split};
use crate::file::writer::kinds::{DataStream, ElementStream};
use scda_base::error::{Error, Result};
use scda_base::memory::{copy, reserve, resize};
use scda_base::numbers::to_usize;
use scda_format::INLINE_BYTES;
use scda_format::dataset::{Dataset, Region};
use scda_format::header::{SectionType, UserString};
use scda_format::layout::sum;
use scda_ranks::Partition;
use std::borrow::Cow;
use std::time::Instant;

/// A call that is made later, with its data.
pub(super) type LaterCall = Box<dyn FnOnce(&mut DatasetWriter<'_>) -> Result<(), Failure> + Send>;

/// What a call takes beside its data while it waits.
const CALL_BYTES: u64 = 1024;

/// A contiguous dataset with the data of this rank.
pub(super) struct Copied {
    dataset: Dataset,
    text: String,
    regions: Vec<Region>,
    data: Vec<u8>,
}

impl DatasetWriter<'_> {
    /// Keeps a call, of `bytes` bytes on this rank, if datasets wait for their place and there is room beside them; else they get it
    /// now. Tells whether the call is kept: all ranks know.
    #[inline]
    fn keep(
        &mut self,
        bytes: Result<u64>,
        copy: impl FnOnce() -> Result<LaterCall>,
    ) -> Result<bool, Failure> {
        if self.unplaced.is_empty() { Ok(false) } else { self.keep_or_place(bytes, copy) }
    }

    #[cold]
    fn keep_or_place(
        &mut self,
        bytes: Result<u64>,
        copy: impl FnOnce() -> Result<LaterCall>,
    ) -> Result<bool, Failure> {
        let bytes = self.sections.tolerate(bytes, 0)?;
        // The most of any rank.
        let mut least = [FINE - bytes.min(FINE)];
        self.sections.team.agree_with(Ok(()), &mut least)?;
        let most = (FINE - least[0]).saturating_add(CALL_BYTES);
        if self.unplaced.reserved.saturating_add(most) > self.sections.queue().most_reserved() {
            self.place()?;
            return Ok(false);
        }
        let room = self.sections.queue().reserve(most);
        let room = room.and_then(|()| reserve(&mut self.unplaced.waiting, 1));
        let began = Instant::now();
        let (call, mine) = split(room.and_then(|()| copy()).map(Some));
        // All ranks have kept the same calls.
        self.sections.team.agree(mine)?;
        self.sections.queue().note_copied(bytes, began);
        self.unplaced.waiting.extend(call.map(Waiting::Call));
        self.unplaced.reserved += most;
        Ok(true)
    }

    /// Keeps a section that is not compressed. Its user string and data are checked now, since a call that is refused writes nothing.
    fn keep_section(
        &mut self,
        (function, section, user): (Function, SectionType, &[u8]),
        encode: Encode,
        bytes: Result<u64>,
        copy: impl FnOnce() -> Result<LaterCall>,
    ) -> Result<bool, Failure> {
        self.sections.team.note_call(function);
        self.sections.team.note_bytes(Topic::UserString, user);
        self.sections.team.note(Topic::Encode, encode as u64);
        if encode != Encode::None {
            self.place()?;
            return Ok(false);
        }
        let free = UserString::check(user).and_then(|()| self.plain().check_free(section, user));
        self.keep(free.and(bytes), copy)
    }

    /// The data, where this rank is the root.
    fn of_root<T: Default>(&mut self, root: usize, data: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.sections.team.check_root(root)? { data() } else { Ok(T::default()) }
    }

    #[inline]
    pub(crate) fn inline(
        &mut self,
        user: &[u8],
        root: usize,
        data: Result<&[u8; INLINE_BYTES]>,
    ) -> Result<(), Failure> {
        if self.unplaced.is_empty() {
            self.plain().inline(user, root, data)
        } else {
            self.inline_behind(user, root, data)
        }
    }

    #[cold]
    fn inline_behind(
        &mut self,
        user: &[u8],
        root: usize,
        data: Result<&[u8; INLINE_BYTES]>,
    ) -> Result<(), Failure> {
        let own =
            self.of_root(root, || data.as_ref().map_or_else(|error| Err(error.again()), |data| Ok(**data)));
        let (own, mine) = split(own);
        let section = (Function::WriteInline, SectionType::Inline, user);
        let later = || -> Result<LaterCall> {
            let user = copy(user)?;
            Ok(Box::new(move |datasets| datasets.plain().inline(&user, root, Ok(&own))))
        };
        if self.keep_section(section, Encode::None, mine.map(|()| 0), later)? {
            return Ok(());
        }
        self.plain().inline(user, root, data)
    }

    #[inline]
    pub(crate) fn block(
        &mut self,
        user: &[u8],
        root: usize,
        size: u64,
        data: Result<&[u8]>,
        encode: Encode,
    ) -> Result<(), Failure> {
        self.note_section(user);
        if self.unplaced.is_empty() {
            self.plain().block(user, root, size, data, encode)
        } else {
            self.block_behind(user, root, size, data, encode)
        }
    }

    #[cold]
    fn block_behind(
        &mut self,
        user: &[u8],
        root: usize,
        size: u64,
        data: Result<&[u8]>,
        encode: Encode,
    ) -> Result<(), Failure> {
        self.sections.team.note(Topic::Number, size);
        let own = self.of_root(root, || {
            let data = *data.as_ref().map_err(Error::again)?;
            Source::Contiguous(data).check(Sizes::Fixed { count: 1, size }).map(|()| data)
        });
        let (own, mine) = split(own);
        let section = (Function::WriteBlock, SectionType::Block, user);
        let later = || -> Result<LaterCall> {
            let (user, own) = (copy(user)?, copy(own)?);
            Ok(Box::new(move |datasets| datasets.plain().block(&user, root, size, Ok(&own), Encode::None)))
        };
        if self.keep_section(section, encode, mine.map(|()| own.len() as u64), later)? {
            return Ok(());
        }
        self.plain().block(user, root, size, data, encode)
    }

    #[inline]
    pub(crate) fn array(
        &mut self,
        user: &[u8],
        counts: &[u64],
        size: u64,
        data: Result<Source<'_>>,
        encode: Encode,
    ) -> Result<(), Failure> {
        self.note_section(user);
        if self.unplaced.is_empty() {
            self.plain().array(user, counts, size, data, encode)
        } else {
            self.array_behind(user, counts, size, data, encode)
        }
    }

    #[cold]
    fn array_behind(
        &mut self,
        user: &[u8],
        counts: &[u64],
        size: u64,
        data: Result<Source<'_>>,
        encode: Encode,
    ) -> Result<(), Failure> {
        self.sections.team.note(Topic::Number, size);
        let elements = self.sections.team.note_partition(Topic::Counts, counts);
        let sizes = |elements: &Partition| Sizes::Fixed { count: elements.count, size };
        let checked = elements.and_then(|elements| {
            let data = data.as_ref().map_err(Error::again)?;
            data.check(sizes(&elements))?;
            Ok((Some(*data), sizes(&elements).total()?))
        });
        let ((own, bytes), mine) = split(checked);
        let more = 8 * counts.len() as u64;
        let section = (Function::WriteArray, SectionType::Array, user);
        let later = || -> Result<LaterCall> {
            let (user, counts, own) = (copy(user)?, copy_counts(counts)?, copy_data(own, bytes)?);
            Ok(Box::new(move |datasets| {
                datasets.plain().array(&user, &counts, size, Ok(Source::Contiguous(&own)), Encode::None)
            }))
        };
        if self.keep_section(section, encode, mine.map(|()| bytes.saturating_add(more)), later)? {
            return Ok(());
        }
        self.plain().array(user, counts, size, data, encode)
    }

    #[inline]
    pub(crate) fn varray(
        &mut self,
        user: &[u8],
        counts: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Result<(&[u64], Source<'_>)>,
        encode: Encode,
    ) -> Result<(), Failure> {
        self.note_section(user);
        if self.unplaced.is_empty() {
            self.plain().varray(user, counts, proc_sizes, data, encode)
        } else {
            self.varray_behind(user, counts, proc_sizes, data, encode)
        }
    }

    #[cold]
    fn varray_behind(
        &mut self,
        user: &[u8],
        counts: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Result<(&[u64], Source<'_>)>,
        encode: Encode,
    ) -> Result<(), Failure> {
        self.sections.team.note(Topic::ProcSizes, u64::from(proc_sizes.is_some()));
        let checked = data.as_ref().map_err(Error::again).and_then(|&(sizes, data)| {
            data.check(Sizes::Each(sizes))?;
            Ok((sizes, Some(data), Sizes::Each(sizes).total()?))
        });
        let ((sizes, own, bytes), mine) = split(checked);
        let more = 8 * (sizes.len() + counts.len() + proc_sizes.map_or(0, <[u64]>::len)) as u64;
        let section = (Function::WriteVarray, SectionType::Varray, user);
        let later = || -> Result<LaterCall> {
            let (user, own) = (copy(user)?, copy_data(own, bytes)?);
            let (counts, sizes) = (copy_counts(counts)?, copy_counts(sizes)?);
            let sums = proc_sizes.map(copy_counts).transpose()?;
            Ok(Box::new(move |datasets| {
                let data = Ok((&sizes[..], Source::Contiguous(&own)));
                datasets.plain().varray(&user, &counts, sums.as_deref(), data, Encode::None)
            }))
        };
        if self.keep_section(section, encode, mine.map(|()| bytes.saturating_add(more)), later)? {
            return Ok(());
        }
        self.plain().varray(user, counts, proc_sizes, data, encode)
    }

    /// Keeps contiguous datasets, with their metadata; if there is one, perhaps with the rows that all ranks know.
    pub(super) fn keep_contiguous(
        &mut self,
        all: &[(&Dataset, &Passed<'_>, &str)],
        own: Option<Partition>,
    ) -> Result<bool, Failure> {
        let bytes = all.iter().try_fold(0, |bytes, (dataset, passed, text)| {
            let regions = passed.regions().len() as u64 * region_bytes(dataset);
            sum(bytes, passed.bytes())
                .and_then(|bytes| sum(bytes, regions + CALL_BYTES + 2 * text.len() as u64))
        });
        self.keep(Ok(bytes.unwrap_or(FINE)), || {
            let mut copied = Vec::new();
            reserve(&mut copied, all.len())?;
            for &(dataset, passed, text) in all {
                copied.push(Copied::new(dataset, passed, text)?);
            }
            Ok(Box::new(move |datasets| datasets.write_copied(copied, own)))
        })
    }

    /// Writes contiguous datasets that were copied.
    pub(super) fn write_copied(
        &mut self,
        copied: Vec<Copied>,
        own: Option<Partition>,
    ) -> Result<(), Failure> {
        let ready: Vec<Ready<'_>> =
            copied.iter().map(|one| Ready::Packed(Cow::Borrowed(&one.data))).collect();
        let mut all = Vec::new();
        for (one, ready) in copied.iter().zip(&ready) {
            all.push(((&one.dataset, Passed::new(&one.dataset, &one.regions, ready)?), one.text.clone()));
        }
        match all.pop() {
            Some(((dataset, passed), text)) if all.is_empty() => {
                self.one_contiguous(dataset, text, passed, own)
            }
            last => {
                all.extend(last);
                self.contiguous_datasets(all)
            }
        }
    }

    /// Keeps a group, by its user string and attributes.
    pub(super) fn keep_group(&mut self, user: &str, text: &str) -> Result<bool, Failure> {
        self.keep(Ok((user.len() + text.len()) as u64), || {
            let (user, text) = (user.to_owned(), text.to_owned());
            Ok(Box::new(move |datasets| datasets.write_group(&user, &text)))
        })
    }

    pub(crate) fn block_from(
        &mut self,
        user: &[u8],
        size: u64,
        data: &mut dyn std::io::Read,
        encode: Encode,
    ) -> Result<(), Failure> {
        self.note_section(user);
        self.place()?;
        self.plain().block_from(user, size, data, encode)
    }

    pub(crate) fn array_from(
        &mut self,
        user: &[u8],
        count: u64,
        size: u64,
        data: &mut dyn DataStream,
        encode: Encode,
    ) -> Result<(), Failure> {
        self.note_section(user);
        self.place()?;
        self.plain().array_from(user, count, size, data, encode)
    }

    pub(crate) fn varray_from(
        &mut self,
        user: &[u8],
        count: u64,
        elements: &mut dyn ElementStream,
        encode: Encode,
    ) -> Result<(), Failure> {
        self.note_section(user);
        self.place()?;
        self.plain().varray_from(user, count, elements, encode)
    }
}

impl Copied {
    pub fn new(dataset: &Dataset, passed: &Passed<'_>, text: &str) -> Result<Self> {
        let mut data = Vec::new();
        match passed.packed() {
            Some(packed) => data = copy(packed)?,
            None => {
                resize(&mut data, passed.bytes())?;
                passed.gather(0, &mut data);
            }
        }
        let mut regions = Vec::new();
        reserve(&mut regions, passed.regions().len())?;
        regions.extend_from_slice(passed.regions());
        Ok(Self { dataset: dataset.clone(), text: text.into(), regions, data })
    }
}

/// What a region of a dataset takes in memory.
pub(super) fn region_bytes(dataset: &Dataset) -> u64 {
    (size_of::<Region>() + 2 * size_of_val(&*dataset.shape)) as u64
}

fn copy_counts(counts: &[u64]) -> Result<Vec<u64>> {
    let mut copied = Vec::new();
    reserve(&mut copied, counts.len())?;
    copied.extend_from_slice(counts);
    Ok(copied)
}

/// All elements, of `bytes` bytes.
fn copy_data(data: Option<Source<'_>>, bytes: u64) -> Result<Vec<u8>> {
    let mut copied = Vec::new();
    reserve(&mut copied, to_usize(bytes))?;
    data.iter().try_for_each(|data| {
        data.for_each_piece(|piece| {
            copied.extend_from_slice(piece);
            Ok(())
        })
    })?;
    Ok(copied)
}
