//! For bindings to other languages: the calls of [`Writer`](crate::Writer) and [`Reader`](crate::Reader), with arguments that may be
//! errors of this rank.
//!
//! Languages other than Rust can pass arguments that are wrong on one rank alone, such as NULL or memory of
//! the wrong length. This rank must not leave a collective call, or the others would wait for it. It takes
//! part with the error in place of the argument, and all ranks get this error at their next agreement.
//! Arguments that must be the same on all ranks are not passed as errors: [`BindingCalls::fail`] ends the
//! call on all ranks.

mod read;
mod write;

pub use self::read::ReaderCalls;
pub use self::write::WriterCalls;
pub use crate::file::{DatasetBoxes, Operation, Pending, RankRequest, Sizes, ThisRank};
use crate::items::{self, Memory};
use scda_base::error::{Error, Result};
use scda_format::dataset::DataType;

/// What bindings do with any open file.
pub trait BindingCalls {
    /// The ranks of the file. Not collective.
    fn ranks(&mut self) -> ThisRank;

    /// Notes an error of this rank, with which all ranks fail when they next agree.
    fn refuse(&mut self, error: Error);

    /// Fails on all ranks with an error that this one noticed in an argument, and closes the file.
    fn fail(&mut self, error: Error) -> Error;
}

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
/// Those of [`Memory::of_type`].
pub fn convert_item(item: &[u8], from: DataType, to: DataType) -> Result<Vec<u8>> {
    let items = Memory::packed(item).of_type(from).items(&[], to)?;
    let mut converted = vec![0; scda_base::numbers::to_usize(items.bytes())];
    items.gather(0, &mut converted);
    Ok(converted)
}
