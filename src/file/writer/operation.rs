//! A writing call as data, and its way to the file: [`Writer::write`] checks it, and a
//! [`Scheduler`](super::datasets::Scheduler) decides when it is executed.

use super::datasets::{Boxes, DatasetBoxes};
use super::section_encoder::PreparedSection;
use super::{Writer, WriterState};
use crate::file::options::Encode;
use crate::file::source::Source;
use crate::file::team::Failure;
use crate::items::Data;
use crate::texts::Texts;
use scda_base::error::{Error, Result};
use scda_format::INLINE_BYTES;
use scda_format::dataset::Dataset;
use scda_storage::lent_memory::LentMemory;

/// A writing call with the arguments of the [`Writer`] method that it names. Data may be an error of this
/// rank, which all ranks return when they next agree.
#[allow(missing_docs)] // the arguments are those of the methods
pub enum Operation<'a> {
    /// [`Writer::inline`].
    Inline { user: &'a [u8], root: usize, data: Result<&'a [u8; INLINE_BYTES], &'a Error> },
    /// [`Writer::block`].
    Block { user: &'a [u8], root: usize, size: u64, data: Result<&'a [u8], &'a Error>, encode: Encode },
    /// [`Writer::array`].
    Array {
        user: &'a [u8],
        counts: &'a [u64],
        size: u64,
        data: Result<Source<'a>, &'a Error>,
        encode: Encode,
    },
    /// [`Writer::varray`]; the data are the sizes of this rank's elements, and the elements.
    Varray {
        user: &'a [u8],
        counts: &'a [u64],
        proc_sizes: Option<&'a [u64]>,
        data: Result<(&'a [u64], Source<'a>), &'a Error>,
        encode: Encode,
    },
    /// [`Writer::dataset`].
    Dataset { dataset: &'a Dataset, boxes: Result<Boxes<'a>, &'a Error> },
    /// [`Writer::datasets`].
    Datasets(&'a [DatasetBoxes<'a>]),
    /// [`Writer::field`].
    Field { dataset: &'a Dataset, counts: &'a [u64], data: Result<Data<'a>, &'a Error> },
    /// [`Writer::own_field`].
    OwnField { dataset: &'a Dataset, count: u64, data: Result<Data<'a>, &'a Error> },
    /// [`Writer::texts`].
    Texts { dataset: &'a Dataset, count: u64, items: Result<&'a Texts, &'a Error> },
    /// [`Writer::group`].
    Group { path: &'a str, attributes: &'a str },
    /// [`Writer::set_attributes`].
    Attributes { name: &'a str, record: i64, changes: &'a str },
}

impl Writer {
    /// Executes an operation.
    #[inline(always)] // so that a call has only what concerns its own operation
    pub(super) fn write(&mut self, operation: Operation<'_>) -> Result<()> {
        let (state, call) = self.session.begin()?;
        let result = state.perform(operation);
        self.session.end(&call, result)
    }
}

impl WriterState {
    /// Like [`Self::perform`], for data in memory that is lent if
    /// [`WriteOptions::lend`](crate::WriteOptions::lend) is set.
    #[inline(always)]
    pub(crate) fn perform_lent(
        &mut self,
        lent: Option<LentMemory>,
        operation: Operation<'_>,
    ) -> Result<(), Failure> {
        self.lend(lent);
        let result = self.perform(operation);
        self.lend(None);
        result
    }

    /// Checks an operation, and executes it now or later.
    #[inline(always)]
    fn perform(&mut self, operation: Operation<'_>) -> Result<(), Failure> {
        self.check_no_streams()?;
        match operation {
            Operation::Inline { user, root, data } => {
                let section = self.plain().prepare_inline(user, root, data)?;
                self.submit(section)?;
            }
            Operation::Block { user, root, size, data, encode } => {
                self.cache.extended.forget_section(user);
                let section = self.plain().prepare_block(user, root, size, data, encode)?;
                self.submit(section)?;
            }
            Operation::Array { user, counts, size, data, encode } => {
                self.cache.extended.forget_section(user);
                let section = self.plain().prepare_array(user, counts, size, data, encode)?;
                self.submit(section)?;
            }
            Operation::Varray { user, counts, proc_sizes, data, encode } => {
                self.cache.extended.forget_section(user);
                let section = self.plain().prepare_varray(user, counts, proc_sizes, data, encode)?;
                self.submit(section)?;
            }
            Operation::Dataset { dataset, boxes } => {
                self.datasets().dataset(dataset, boxes.map_err(Error::again))?
            }
            Operation::Datasets(all) => self.datasets().datasets(all)?,
            Operation::Field { dataset, counts, data } => {
                self.datasets().field(dataset, counts, data.map_err(Error::again))?
            }
            Operation::OwnField { dataset, count, data } => {
                self.datasets().own_field(dataset, count, data.map_err(Error::again))?;
            }
            Operation::Texts { dataset, count, items } => {
                self.datasets().texts(dataset, count, items.map_err(Error::again))?
            }
            Operation::Group { path, attributes } => self.datasets().group(path, attributes)?,
            Operation::Attributes { name, record, changes } => self.set_attributes(name, record, changes)?,
        }
        self.sections.end_call_if_any()
    }

    /// Writes a section whose arguments have been checked, in nearly all cases at once.
    #[inline(always)]
    fn submit(&mut self, section: PreparedSection<'_>) -> Result<(), Failure> {
        match self.pending.is_empty() {
            true => self.plain().write(section),
            false => self.scheduler().submit_section(section),
        }
    }
}
