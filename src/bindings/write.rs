//! Writing, with arguments that may be errors of this rank.

use super::BindingCalls;
use crate::file::{Operation, Pending, ThisRank, WriteOptions, Writer};
use scda_base::error::{Error, Result};
use scda_format::header::UserString;
use scda_ranks::Communicator;
use scda_storage::lent_memory::LentMemory;
use std::path::Path;

/// The calls of [`Writer`] with arguments that may be errors of this rank.
///
/// The errors of each are those of the method of [`Writer`] that has the name without `if_valid`, and those that are passed.
#[allow(clippy::missing_errors_doc)] // above
pub trait WriterCalls: BindingCalls + Sized {
    /// As [`Writer::create`].
    fn create_if_valid(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        user: Result<UserString>,
        params: Result<WriteOptions>,
    ) -> Result<Self>;

    /// As [`Writer::append`], or with a user string [`Writer::append_or_create`].
    fn append_if_valid(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        user: Result<Option<UserString>>,
        params: Result<WriteOptions>,
    ) -> Result<Self>;

    /// Writes what the operation says: as the method of [`Writer`] of its name. Where memory is `lent`, it is that of the data, which stays as
    /// it is if [`WriteOptions::lend`](crate::WriteOptions::lend) says so.
    fn write(&mut self, lent: Option<LentMemory>, operation: Operation<'_>) -> Result<()>;

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
        params: Result<WriteOptions>,
    ) -> Result<Self> {
        Self::create_if_valid(comm, path, user, params)
    }

    fn append_if_valid(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        user: Result<Option<UserString>>,
        params: Result<WriteOptions>,
    ) -> Result<Self> {
        Self::append_if_valid(comm, path, user, params)
    }

    #[inline(always)] // so that a call has only what concerns its own operation
    fn write(&mut self, lent: Option<LentMemory>, operation: Operation<'_>) -> Result<()> {
        self.write_lent(lent, operation)
    }

    fn pending(&self) -> Pending {
        Self::pending(self)
    }
}
