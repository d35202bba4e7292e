//! For bindings to other languages: the calls of [`Writer`] and [`Reader`], with arguments that may be
//! errors of this rank.
//!
//! Languages other than Rust can pass arguments that are wrong on one rank alone, such as NULL or memory of
//! the wrong length. This rank must not leave a collective call, or the others would wait for it. It takes
//! part with the error in place of the argument, and all ranks get this error at their next agreement.
//! Arguments that must be the same on all ranks are not passed as errors: [`BindingCalls::fail`] ends the
//! call on all ranks.

pub use crate::file::{
    DatasetBoxes, Operation, Pending, RankRequest, Sizes, ThisRank, append_if_valid, create_if_valid,
    open_if_valid,
};
use crate::file::{
    DatasetHandle, OpenFile, Reader, ReaderState, Section, SessionState, Sink, Streams, Writer, WriterState,
};
use crate::items::{self, DataMut, Memory};
use crate::texts::Texts;
use scda_base::error::{Error, Result};
use scda_base::memory;
use scda_format::dataset::{DataType, IndexBox};
use scda_storage::lent_memory::LentMemory;
use std::ops::Range;

/// What bindings do with any open file.
pub trait BindingCalls {
    /// The ranks of the file. Not collective.
    fn ranks(&mut self) -> ThisRank;

    /// Notes an error of this rank, with which all ranks fail when they next agree.
    fn refuse(&mut self, error: Error);

    /// Fails on all ranks with an error that this one noticed in an argument, and closes the file.
    fn fail(&mut self, error: Error) -> Error;
}

impl<F: OpenFile> BindingCalls for F {
    #[inline]
    fn ranks(&mut self) -> ThisRank {
        self.session().ranks()
    }

    fn refuse(&mut self, error: Error) {
        self.session().refuse(error);
    }

    fn fail(&mut self, error: Error) -> Error {
        self.session().fail(error)
    }
}

/// The calls of [`Writer`] with arguments that may be errors of this rank.
#[allow(clippy::missing_errors_doc)] // those that are passed, and those of the calls
pub trait WriterCalls: OpenFile<State = WriterState> {
    /// Writes what the operation says: as the method of [`Writer`] of its name. Where memory is `lent`, it is that of the data, which stays as
    /// it is if [`WriteOptions::lend`](crate::WriteOptions::lend) says so.
    #[inline(always)] // so that a call has only what concerns its own operation
    fn write(&mut self, lent: Option<LentMemory>, operation: Operation<'_>) -> Result<()> {
        let (state, call) = self.session().begin()?;
        let result = state.perform_lent(lent, operation);
        self.session().end(&call, result)
    }

    /// What was begun on this file and not completed. Not collective.
    fn pending(&mut self) -> Pending {
        self.session().state().map_or(Pending::Nothing, WriterState::pending)
    }

    /// Whether this rank has written all that was passed: see [`CommitRequest::test`](crate::CommitRequest::test). Not collective.
    fn is_settled(&mut self) -> bool {
        self.session().state().is_none_or(WriterState::is_settled)
    }

    /// As [`Writer::close_begin`]; after it, only [`Writer::close`] may be called. For who cannot give the writer away.
    fn begin_close(&mut self) -> Result<()> {
        self.session().operate(WriterState::begin_close)
    }
}

impl WriterCalls for Writer {}

/// The calls of [`Reader`] with arguments that may be errors of this rank.
///
/// The errors of each are those of the method that has the name without `if_valid`, and those that are passed.
#[allow(clippy::missing_errors_doc)] // above
pub trait ReaderCalls: OpenFile<State = ReaderState> {
    /// As [`Reader::next_section`], without a copy.
    #[inline]
    fn next_header(&mut self, decode: bool) -> Result<Option<&Section>> {
        let found = self.session().operate(|state| state.next_section(decode))?;
        Ok(self.session().state().and_then(ReaderState::header).filter(|_| found))
    }

    /// As [`Reader::read_block`].
    #[inline]
    fn read_block_if_valid(&mut self, size: u64, root: usize, data: Result<Option<&mut [u8]>>) -> Result<()> {
        self.session().operate(|state| state.sections().data().read_block(size, root, data))
    }

    /// As [`Reader::read_array`].
    #[inline]
    fn read_array_if_valid(&mut self, counts: &[u64], size: u64, data: Result<Sink<'_>>) -> Result<()> {
        self.session().operate(|state| state.sections().data().read_array(counts, size, data))
    }

    /// As [`Reader::read_varray_sizes`].
    #[inline]
    fn read_varray_sizes_if_valid(
        &mut self,
        counts: &[u64],
        sizes: Result<Option<&mut [u64]>>,
    ) -> Result<()> {
        self.session().operate(|state| state.sections().data().read_varray_sizes(counts, sizes))
    }

    /// As [`Reader::read_varray`]; `data` are the size of each element of this rank, and the memory for the elements.
    #[inline]
    fn read_varray_if_valid(
        &mut self,
        counts: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Result<(&[u64], Sink<'_>)>,
    ) -> Result<()> {
        let data = data.map(|(sizes, data)| (Some(sizes), data));
        self.session().operate(|state| state.sections().data().read_varray(counts, proc_sizes, data))
    }

    /// As [`SectionRanges::read_block`](crate::SectionRanges::read_block).
    #[inline]
    fn read_block_range_if_valid(&mut self, part: Result<(Range<u64>, Option<&mut [u8]>)>) -> Result<()> {
        self.session().operate(|state| state.sections().ranges().read_block_range(part))
    }

    /// As [`SectionRanges::read_array`](crate::SectionRanges::read_array).
    #[inline]
    fn read_array_range_if_valid(&mut self, size: u64, part: Result<(Range<u64>, Sink<'_>)>) -> Result<()> {
        self.session().operate(|state| state.sections().ranges().read_array_range(size, part))
    }

    /// As [`SectionRanges::read_varray_sizes`](crate::SectionRanges::read_varray_sizes).
    #[inline]
    fn read_varray_sizes_range_if_valid(
        &mut self,
        part: Result<(Range<u64>, Option<&mut [u64]>)>,
    ) -> Result<()> {
        self.session().operate(|state| state.sections().ranges().read_varray_sizes_range(part))
    }

    /// As [`SectionRanges::read_varray`](crate::SectionRanges::read_varray).
    #[inline]
    fn read_varray_range_if_valid(
        &mut self,
        sizes: &[u64],
        part: Result<(Range<u64>, Sink<'_>)>,
    ) -> Result<()> {
        self.session().operate(|state| state.sections().ranges().read_varray_range(sizes, part))
    }

    /// As [`DatasetHandle::read`].
    #[inline]
    fn read_dataset_if_valid(
        &mut self,
        dataset: &DatasetHandle,
        boxes: Result<(Vec<IndexBox>, DataMut<'_>)>,
    ) -> Result<()> {
        self.session().operate(|state| match boxes {
            Ok((regions, data)) => state.datasets().read_dataset(dataset, Ok((&regions, data))),
            Err(error) => state.datasets().read_dataset(dataset, Err(error)),
        })
    }

    /// As [`Reader::read_datasets`].
    fn read_datasets_if_valid(&mut self, all: Vec<RankRequest<'_>>) -> Result<()> {
        self.session().operate(|state| state.datasets().read_datasets(all))
    }

    /// As [`DatasetHandle::read_texts`].
    fn read_texts_if_valid(
        &mut self,
        dataset: &DatasetHandle,
        regions: Result<&[IndexBox]>,
    ) -> Result<Texts> {
        self.session().operate(|state| state.datasets().read_texts(dataset, regions))
    }

    /// As [`Streams::read_sizes`].
    fn read_streams_sizes_if_valid(
        &mut self,
        streams: &Streams,
        counts: &[u64],
        sizes: Result<Option<&mut [u64]>>,
    ) -> Result<()> {
        self.session().operate(|state| state.streams().read_streams_sizes(streams, counts, sizes))
    }

    /// As [`Streams::read`]; `data` are the size of each stream of this rank, and the memory for the streams.
    fn read_streams_if_valid(
        &mut self,
        streams: &Streams,
        counts: &[u64],
        data: Result<(&[u64], Sink<'_>)>,
    ) -> Result<()> {
        self.session().operate(|state| state.streams().read_streams(streams, counts, data))
    }

    /// The word of rank 0, unless a rank passes an error.
    fn of_first_rank(&mut self, word: Result<u64>) -> Result<u64> {
        self.session().operate(|state| Ok(state.team().share(0, word.map(|word| [word]))?[0]))
    }

    /// An error if a file may not ask for `bytes` bytes of memory, which the program is about to take for it: see
    /// [`Tuning::max_memory`](crate::Tuning::max_memory). Not collective.
    fn check_memory(&mut self, bytes: u64) -> Result<()> {
        self.session().locally(|_| memory::check(bytes))
    }

    /// The first half of closing: the ranks agree to. Only [`Reader::close`] may follow.
    fn begin_close(&mut self) -> Result<()> {
        self.session().operate(ReaderState::begin_close)
    }

    /// Whether closing was begun. Not collective.
    fn pending(&mut self) -> Pending {
        if self.check_not_closing().is_ok() { Pending::Nothing } else { Pending::Close }
    }

    /// An error if closing was begun. Not collective.
    fn check_not_closing(&mut self) -> Result<()> {
        self.session().state().map_or(Ok(()), ReaderState::check_not_closing)
    }
}

impl ReaderCalls for Reader {}

/// The numbers of indices in memory of the items of a box with these numbers of indices: `shape`, if that is given.
///
/// # Errors
/// `Argument` for another number of items.
pub fn shape_in_memory<'a>(shape: Option<&'a [u64]>, count: &'a [u64]) -> Result<&'a [u64]> {
    items::in_memory(shape, count)
}

/// An item of type `from` as one of type `to`, in the machine's byte order and without gaps.
///
/// # Errors
/// The errors of [`Memory::of_type`].
pub fn convert_item(item: &[u8], from: DataType, to: DataType) -> Result<Vec<u8>> {
    let items = Memory::packed(item).of_type(from).items(&[], to)?;
    let mut converted = vec![0; scda_base::numbers::to_usize(items.bytes())];
    items.gather(0, &mut converted);
    Ok(converted)
}
