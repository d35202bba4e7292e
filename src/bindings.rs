//! For bindings to other languages: the calls of [`Writer`] and [`Reader`], with arguments that may be
//! errors of this rank.
//!
//! Languages other than Rust can pass arguments that are wrong on one rank alone, such as NULL or memory of
//! the wrong length. That rank must not leave a collective call, or the others would wait for it. It takes
//! part with the error in place of the argument, and all ranks get this error at their next agreement.
//! Arguments that must be the same on all ranks are not passed as errors: [`BindingCalls::fail`] ends the
//! call on all ranks.

pub use crate::file::{
    DatasetBoxes, Operation, PendingRequest, RankRequest, Sizes, ThisRank, append_if_valid, create_if_valid,
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

    /// Records an error of this rank, which all ranks return when they next agree.
    fn refuse(&mut self, error: Error);

    /// Closes the file on all ranks, because of an error that this rank found in an argument.
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
    /// Executes the operation, like the [`Writer`] method of the same name. `lent` is the caller's memory of
    /// the data, which is not copied if [`WriteOptions::lend`](crate::WriteOptions::lend) is set.
    #[inline(always)] // so that a call has only what concerns its own operation
    fn write(&mut self, lent: Option<LentMemory>, operation: Operation<'_>) -> Result<()> {
        let (state, call) = self.session().begin()?;
        let result = state.perform_lent(lent, operation);
        self.session().end(&call, result)
    }

    /// Which operations on this file have begun and not completed. Not collective.
    fn pending(&mut self) -> PendingRequest {
        self.session().state().map_or(PendingRequest::Nothing, |state| state.commits.pending)
    }

    /// Whether this rank has written everything that was passed: see
    /// [`CommitRequest::test`](crate::CommitRequest::test). Not collective.
    fn is_settled(&mut self) -> bool {
        self.session().state().is_none_or(WriterState::is_settled)
    }

    /// The numbers of the commits that have begun and were not waited for, which closing completes. Not
    /// collective.
    fn not_waited_for(&mut self) -> Vec<u64> {
        self.session().state_mut().map(|state| state.commits.take_not_waited_for()).unwrap_or_default()
    }

    /// Records that nobody will wait for the commit that has begun last. Not collective.
    fn forgo_wait(&mut self) {
        self.session().state_mut().into_iter().for_each(|state| state.commits.forgo_wait());
    }

    /// What is lost if the file is never closed, in words; `None` if nothing is, and on all ranks but the
    /// first. Not collective.
    fn loss(&mut self) -> Option<String> {
        self.session().state_mut().and_then(WriterState::loss)
    }

    /// Like [`Writer::close_begin`], for bindings that cannot give the writer away. Only [`Writer::close`]
    /// may follow.
    fn begin_close(&mut self) -> Result<()> {
        self.session().operate(WriterState::begin_close)
    }
}

impl WriterCalls for Writer {}

/// The calls of [`Reader`] with arguments that may be errors of this rank.
///
/// The errors of each are those of its argument, and those of the method of the same name without `if_valid`.
#[allow(clippy::missing_errors_doc)] // above
pub trait ReaderCalls: OpenFile<State = ReaderState> {
    /// Like [`Reader::next_section`], without a copy.
    #[inline]
    fn next_header(&mut self, decode: bool) -> Result<Option<&Section>> {
        let found = self.session().operate(|state| state.next_section(decode))?;
        Ok(self.session().state().and_then(ReaderState::header).filter(|_| found))
    }

    /// Like [`Reader::read_block`].
    #[inline]
    fn read_block_if_valid(&mut self, size: u64, root: usize, data: Result<Option<&mut [u8]>>) -> Result<()> {
        self.session().operate(|state| state.sections().data().read_block(size, root, data))
    }

    /// Like [`Reader::read_array`].
    #[inline]
    fn read_array_if_valid(&mut self, counts: &[u64], size: u64, data: Result<Sink<'_>>) -> Result<()> {
        self.session().operate(|state| state.sections().data().read_array(counts, size, data))
    }

    /// Like [`Reader::read_varray_sizes`].
    #[inline]
    fn read_varray_sizes_if_valid(
        &mut self,
        counts: &[u64],
        sizes: Result<Option<&mut [u64]>>,
    ) -> Result<()> {
        self.session().operate(|state| state.sections().data().read_varray_sizes(counts, sizes))
    }

    /// Like [`Reader::read_varray`]; `data` has the sizes of this rank's elements, and the memory for them.
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

    /// Like [`SectionRanges::read_block`](crate::SectionRanges::read_block).
    #[inline]
    fn read_block_range_if_valid(&mut self, part: Result<(Range<u64>, Option<&mut [u8]>)>) -> Result<()> {
        self.session().operate(|state| state.sections().ranges().read_block_range(part))
    }

    /// Like [`SectionRanges::read_array`](crate::SectionRanges::read_array).
    #[inline]
    fn read_array_range_if_valid(&mut self, size: u64, part: Result<(Range<u64>, Sink<'_>)>) -> Result<()> {
        self.session().operate(|state| state.sections().ranges().read_array_range(size, part))
    }

    /// Like [`SectionRanges::read_varray_sizes`](crate::SectionRanges::read_varray_sizes).
    #[inline]
    fn read_varray_sizes_range_if_valid(
        &mut self,
        part: Result<(Range<u64>, Option<&mut [u64]>)>,
    ) -> Result<()> {
        self.session().operate(|state| state.sections().ranges().read_varray_sizes_range(part))
    }

    /// Like [`SectionRanges::read_varray`](crate::SectionRanges::read_varray).
    #[inline]
    fn read_varray_range_if_valid(
        &mut self,
        sizes: &[u64],
        part: Result<(Range<u64>, Sink<'_>)>,
    ) -> Result<()> {
        self.session().operate(|state| state.sections().ranges().read_varray_range(sizes, part))
    }

    /// Like [`DatasetHandle::read`].
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

    /// Like [`Reader::read_datasets`].
    fn read_datasets_if_valid(&mut self, all: Vec<RankRequest<'_>>) -> Result<()> {
        self.session().operate(|state| state.datasets().read_datasets(all))
    }

    /// Like [`DatasetHandle::read_texts`].
    fn read_texts_if_valid(
        &mut self,
        dataset: &DatasetHandle,
        regions: Result<&[IndexBox]>,
    ) -> Result<Texts> {
        self.session().operate(|state| state.datasets().read_texts(dataset, regions))
    }

    /// Like [`Streams::read_sizes`].
    fn read_streams_sizes_if_valid(
        &mut self,
        streams: &Streams,
        counts: &[u64],
        sizes: Result<Option<&mut [u64]>>,
    ) -> Result<()> {
        self.session().operate(|state| state.streams().read_streams_sizes(streams, counts, sizes))
    }

    /// Like [`Streams::read`]; `data` has the sizes of this rank's streams, and the memory for them.
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

    /// Returns an error if the memory limit of the file ([`Tuning::max_memory`](crate::Tuning::max_memory))
    /// does not allow the `bytes` bytes that the program is about to allocate. Not collective.
    fn check_memory(&mut self, bytes: u64) -> Result<()> {
        self.session().locally(|_| memory::check(bytes))
    }

    /// The first half of closing, in which the ranks agree to close. Only [`Reader::close`] may follow.
    fn begin_close(&mut self) -> Result<()> {
        self.session().operate(ReaderState::begin_close)
    }

    /// Whether closing has begun. Not collective.
    fn pending(&mut self) -> PendingRequest {
        if self.check_not_closing().is_ok() { PendingRequest::Nothing } else { PendingRequest::Close }
    }

    /// Returns an error if closing has begun. Not collective.
    fn check_not_closing(&mut self) -> Result<()> {
        self.session().state().map_or(Ok(()), ReaderState::check_not_closing)
    }
}

impl ReaderCalls for Reader {}

/// The shape in memory of a box with these counts: `shape` if it is given, otherwise `count`.
///
/// # Errors
/// `Argument` if the two have different numbers of items.
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
