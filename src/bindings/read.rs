//! Reading, with arguments that may be errors of this rank.

use super::BindingCalls;
use crate::file::{DatasetHandle, RankRequest, ReadOptions, Reader, Section, Sink, Streams, ThisRank};
use crate::items::DataMut;
use crate::texts::Texts;
use scda_base::error::{Error, Result};
use scda_format::dataset::IndexBox;
use scda_ranks::Communicator;
use std::ops::Range;
use std::path::Path;

/// The calls of [`Reader`] with arguments that may be errors of this rank.
///
/// The errors of each are those of the method of [`Reader`] that has the name without `if_valid`, and those that are passed.
#[allow(clippy::missing_errors_doc)] // above
pub trait ReaderCalls: BindingCalls + Sized {
    /// As [`Reader::open`].
    fn open_if_valid(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        params: Result<ReadOptions>,
    ) -> Result<Self>;

    /// As [`Reader::next_section`], without a copy.
    fn next_header(&mut self, decode: bool) -> Result<Option<&Section>>;

    /// As [`Reader::read_block`].
    fn read_block_if_valid(&mut self, size: u64, root: usize, data: Result<Option<&mut [u8]>>) -> Result<()>;

    /// As [`Reader::read_array`].
    fn read_array_if_valid(&mut self, counts: &[u64], size: u64, data: Result<Sink<'_>>) -> Result<()>;

    /// As [`Reader::read_varray_sizes`].
    fn read_varray_sizes_if_valid(&mut self, counts: &[u64], sizes: Result<Option<&mut [u64]>>)
    -> Result<()>;

    /// As [`Reader::read_varray`]; `data` are the size of each element of this rank, and the memory for the elements.
    fn read_varray_if_valid(
        &mut self,
        counts: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Result<(&[u64], Sink<'_>)>,
    ) -> Result<()>;

    /// As [`Reader::read_block_range`].
    fn read_block_range_if_valid(&mut self, part: Result<(Range<u64>, Option<&mut [u8]>)>) -> Result<()>;

    /// As [`Reader::read_array_range`].
    fn read_array_range_if_valid(&mut self, size: u64, part: Result<(Range<u64>, Sink<'_>)>) -> Result<()>;

    /// As [`Reader::read_varray_sizes_range`].
    fn read_varray_sizes_range_if_valid(
        &mut self,
        part: Result<(Range<u64>, Option<&mut [u64]>)>,
    ) -> Result<()>;

    /// As [`Reader::read_varray_range`].
    fn read_varray_range_if_valid(
        &mut self,
        sizes: &[u64],
        part: Result<(Range<u64>, Sink<'_>)>,
    ) -> Result<()>;

    /// As [`DatasetHandle::read`].
    fn read_dataset_if_valid(
        &mut self,
        dataset: &DatasetHandle,
        boxes: Result<(Vec<IndexBox>, DataMut<'_>)>,
    ) -> Result<()>;

    /// As [`Reader::read_datasets`].
    fn read_datasets_if_valid(&mut self, all: Vec<RankRequest<'_>>) -> Result<()>;

    /// As [`DatasetHandle::read_texts`].
    fn read_texts_if_valid(&mut self, dataset: &DatasetHandle, regions: Result<&[IndexBox]>)
    -> Result<Texts>;

    /// As [`Reader::read_streams_sizes`].
    fn read_streams_sizes_if_valid(
        &mut self,
        streams: &Streams,
        counts: &[u64],
        sizes: Result<Option<&mut [u64]>>,
    ) -> Result<()>;

    /// As [`Reader::read_streams`]; `data` are the size of each stream of this rank, and the memory for the streams.
    fn read_streams_if_valid(
        &mut self,
        streams: &Streams,
        counts: &[u64],
        data: Result<(&[u64], Sink<'_>)>,
    ) -> Result<()>;

    /// The word of rank 0, unless a rank passes an error.
    fn of_first_rank(&mut self, word: Result<u64>) -> Result<u64>;

    /// The first half of closing: the ranks agree to. Only [`Reader::close`] may follow.
    fn begin_close(&mut self) -> Result<()>;

    /// Whether closing was begun. Not collective.
    fn is_closing(&self) -> bool;

    /// The error of what follows then.
    fn closing() -> Error;
}

impl BindingCalls for Reader {
    #[inline]
    fn ranks(&mut self) -> ThisRank {
        Self::ranks(self)
    }

    fn refuse(&mut self, error: Error) {
        Self::refuse(self, error);
    }

    fn fail(&mut self, error: Error) -> Error {
        Self::fail(self, error)
    }
}

impl ReaderCalls for Reader {
    fn open_if_valid(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        params: Result<ReadOptions>,
    ) -> Result<Self> {
        Self::open_if_valid(comm, path, params)
    }

    #[inline]
    fn next_header(&mut self, decode: bool) -> Result<Option<&Section>> {
        Self::next_header(self, decode)
    }

    #[inline]
    fn read_block_if_valid(&mut self, size: u64, root: usize, data: Result<Option<&mut [u8]>>) -> Result<()> {
        self.read(|state| state.sections().data().read_block(size, root, data))
    }

    #[inline]
    fn read_array_if_valid(&mut self, counts: &[u64], size: u64, data: Result<Sink<'_>>) -> Result<()> {
        self.read(|state| state.sections().data().read_array(counts, size, data))
    }

    #[inline]
    fn read_varray_sizes_if_valid(
        &mut self,
        counts: &[u64],
        sizes: Result<Option<&mut [u64]>>,
    ) -> Result<()> {
        self.read(|state| state.sections().data().read_varray_sizes(counts, sizes))
    }

    #[inline]
    fn read_varray_if_valid(
        &mut self,
        counts: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Result<(&[u64], Sink<'_>)>,
    ) -> Result<()> {
        let data = data.map(|(sizes, data)| (Some(sizes), data));
        self.read(|state| state.sections().data().read_varray(counts, proc_sizes, data))
    }

    #[inline]
    fn read_block_range_if_valid(&mut self, part: Result<(Range<u64>, Option<&mut [u8]>)>) -> Result<()> {
        self.read(|state| state.sections().ranges().read_block_range(part))
    }

    #[inline]
    fn read_array_range_if_valid(&mut self, size: u64, part: Result<(Range<u64>, Sink<'_>)>) -> Result<()> {
        self.read(|state| state.sections().ranges().read_array_range(size, part))
    }

    #[inline]
    fn read_varray_sizes_range_if_valid(
        &mut self,
        part: Result<(Range<u64>, Option<&mut [u64]>)>,
    ) -> Result<()> {
        self.read(|state| state.sections().ranges().read_varray_sizes_range(part))
    }

    #[inline]
    fn read_varray_range_if_valid(
        &mut self,
        sizes: &[u64],
        part: Result<(Range<u64>, Sink<'_>)>,
    ) -> Result<()> {
        self.read(|state| state.sections().ranges().read_varray_range(sizes, part))
    }

    #[inline]
    fn read_dataset_if_valid(
        &mut self,
        dataset: &DatasetHandle,
        boxes: Result<(Vec<IndexBox>, DataMut<'_>)>,
    ) -> Result<()> {
        match boxes {
            Ok((regions, data)) => dataset.read_own(self, Ok((&regions, data))),
            Err(error) => dataset.read_own(self, Err(error)),
        }
    }

    fn read_datasets_if_valid(&mut self, all: Vec<RankRequest<'_>>) -> Result<()> {
        self.read_own_datasets(all)
    }

    fn read_texts_if_valid(
        &mut self,
        dataset: &DatasetHandle,
        regions: Result<&[IndexBox]>,
    ) -> Result<Texts> {
        dataset.read_own_texts(self, regions)
    }

    fn read_streams_sizes_if_valid(
        &mut self,
        streams: &Streams,
        counts: &[u64],
        sizes: Result<Option<&mut [u64]>>,
    ) -> Result<()> {
        self.read(|state| state.streams().read_streams_sizes(streams, counts, sizes))
    }

    fn read_streams_if_valid(
        &mut self,
        streams: &Streams,
        counts: &[u64],
        data: Result<(&[u64], Sink<'_>)>,
    ) -> Result<()> {
        self.read(|state| state.streams().read_streams(streams, counts, data))
    }

    fn of_first_rank(&mut self, word: Result<u64>) -> Result<u64> {
        Self::of_first_rank(self, word)
    }

    fn begin_close(&mut self) -> Result<()> {
        Self::begin_close(self)
    }

    fn is_closing(&self) -> bool {
        Self::is_closing(self)
    }

    fn closing() -> Error {
        Self::closing()
    }
}
