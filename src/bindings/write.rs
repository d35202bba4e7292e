//! Writing, with arguments that may be errors of this rank.

use super::BindingCalls;
use crate::file::{Encode, Given, Params, Pending, Source, ThisRank, Writer};
use crate::items::Data;
use crate::texts::Texts;
use scda_base::error::{Error, Result};
use scda_format::INLINE_BYTES;
use scda_format::dataset::{Dataset, Region};
use scda_format::header::UserString;
use scda_ranks::Communicator;
use scda_storage::lent::Lent;
use std::path::Path;

/// The calls of [`Writer`] with arguments that may be errors of this rank. Where memory may be `lent`, it is that of the data, which stays
/// as it is if [`Params::lend`] says so.
///
/// The errors of each are those of the method of [`Writer`] that has the name without `if_valid`, and those that are passed.
#[allow(clippy::missing_errors_doc)] // above
pub trait WriterCalls: BindingCalls + Sized {
    /// As [`Writer::create`].
    fn create_if_valid(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        user: Result<UserString>,
        params: Result<Params>,
    ) -> Result<Self>;

    /// As [`Writer::append`].
    fn append_if_valid(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        params: Result<Params>,
    ) -> Result<Self>;

    /// Where the file is written, if it was there before: with [`Params::atomic`] its copy. An absolute path. Not collective. `None` after
    /// an error.
    fn appended(&self) -> Option<&Path>;

    /// As [`Writer::inline`].
    fn inline_if_valid(&mut self, user: &[u8], root: usize, data: Result<&[u8; INLINE_BYTES]>) -> Result<()>;

    /// As [`Writer::block`].
    fn block_if_valid(
        &mut self,
        lent: Option<Lent>,
        user: &[u8],
        root: usize,
        size: u64,
        data: Result<&[u8]>,
        encode: Encode,
    ) -> Result<()>;

    /// As [`Writer::array`].
    fn array_if_valid(
        &mut self,
        lent: Option<Lent>,
        user: &[u8],
        counts: &[u64],
        size: u64,
        data: Result<Source<'_>>,
        encode: Encode,
    ) -> Result<()>;

    /// As [`Writer::varray`]; `data` are the size of each element of this rank, and the elements.
    fn varray_if_valid(
        &mut self,
        lent: Option<Lent>,
        user: &[u8],
        counts: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Result<(&[u64], Source<'_>)>,
        encode: Encode,
    ) -> Result<()>;

    /// As [`Writer::dataset`].
    fn dataset_if_valid(
        &mut self,
        lent: Option<Lent>,
        dataset: &Dataset,
        boxes: Result<(&[Region], Data<'_>)>,
    ) -> Result<()>;

    /// As [`Writer::datasets`].
    fn datasets_if_valid(&mut self, all: &[Given<'_>]) -> Result<()>;

    /// As [`Writer::field`].
    fn field_if_valid(
        &mut self,
        lent: Option<Lent>,
        dataset: &Dataset,
        counts: &[u64],
        data: Result<Data<'_>>,
    ) -> Result<()>;

    /// As [`Writer::own_field`].
    fn own_field_if_valid(
        &mut self,
        lent: Option<Lent>,
        dataset: &Dataset,
        count: u64,
        data: Result<Data<'_>>,
    ) -> Result<()>;

    /// As [`Writer::texts`].
    fn texts_if_valid(&mut self, dataset: &Dataset, count: u64, items: Result<&Texts>) -> Result<()>;

    /// What was begun on this file and not completed. Not collective.
    fn pending(&self) -> Pending;
}

impl BindingCalls for Writer {
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

impl WriterCalls for Writer {
    fn create_if_valid(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        user: Result<UserString>,
        params: Result<Params>,
    ) -> Result<Self> {
        Self::create_if_valid(comm, path, user, params)
    }

    fn append_if_valid(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        params: Result<Params>,
    ) -> Result<Self> {
        Self::append_if_valid(comm, path, params)
    }

    fn appended(&self) -> Option<&Path> {
        Self::appended(self)
    }

    #[inline]
    fn inline_if_valid(&mut self, user: &[u8], root: usize, data: Result<&[u8; INLINE_BYTES]>) -> Result<()> {
        self.write(|sections| sections.inline(user, root, data))
    }

    #[inline]
    fn block_if_valid(
        &mut self,
        lent: Option<Lent>,
        user: &[u8],
        root: usize,
        size: u64,
        data: Result<&[u8]>,
        encode: Encode,
    ) -> Result<()> {
        self.write_lent(lent, |sections| sections.block(user, root, size, data, encode))
    }

    #[inline]
    fn array_if_valid(
        &mut self,
        lent: Option<Lent>,
        user: &[u8],
        counts: &[u64],
        size: u64,
        data: Result<Source<'_>>,
        encode: Encode,
    ) -> Result<()> {
        self.write_lent(lent, |sections| sections.array(user, counts, size, data, encode))
    }

    #[inline]
    fn varray_if_valid(
        &mut self,
        lent: Option<Lent>,
        user: &[u8],
        counts: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Result<(&[u64], Source<'_>)>,
        encode: Encode,
    ) -> Result<()> {
        self.write_lent(lent, |sections| sections.varray(user, counts, proc_sizes, data, encode))
    }

    #[inline]
    fn dataset_if_valid(
        &mut self,
        lent: Option<Lent>,
        dataset: &Dataset,
        boxes: Result<(&[Region], Data<'_>)>,
    ) -> Result<()> {
        self.write_dataset(lent, |datasets| datasets.dataset(dataset, boxes))
    }

    #[inline]
    fn datasets_if_valid(&mut self, all: &[Given<'_>]) -> Result<()> {
        self.given_datasets(all)
    }

    #[inline]
    fn field_if_valid(
        &mut self,
        lent: Option<Lent>,
        dataset: &Dataset,
        counts: &[u64],
        data: Result<Data<'_>>,
    ) -> Result<()> {
        self.write_dataset(lent, |datasets| datasets.field(dataset, counts, data))
    }

    #[inline]
    fn own_field_if_valid(
        &mut self,
        lent: Option<Lent>,
        dataset: &Dataset,
        count: u64,
        data: Result<Data<'_>>,
    ) -> Result<()> {
        self.write_dataset(lent, |datasets| datasets.own_field(dataset, count, data))
    }

    fn texts_if_valid(&mut self, dataset: &Dataset, count: u64, items: Result<&Texts>) -> Result<()> {
        self.write_dataset(None, |datasets| datasets.texts(dataset, count, items))
    }

    fn pending(&self) -> Pending {
        Self::pending(self)
    }
}
