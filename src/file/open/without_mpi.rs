//! Without MPI there is no MPI-IO to choose.

use crate::error::{Error, ErrorKind, Result};
use crate::file::params::Params;
use crate::file::target::Target;
use crate::file::team::{Failure, Team};
use crate::storage::ParallelFile;
use std::path::Path;

#[derive(Clone, Copy)]
pub enum Access {
    Read,
    Append,
}

fn chosen() -> Failure {
    Failure::Mine(Error::new(ErrorKind::Internal, "MPI-IO was chosen without MPI"))
}

pub fn open(
    _: &mut Team,
    _: &Path,
    _: &Params,
    _: Access,
    _: impl FnOnce() -> Result<()>,
) -> Result<Box<dyn ParallelFile>, Failure> {
    Err(chosen())
}

pub fn lock(
    _: &mut Team,
    _: Box<dyn ParallelFile>,
    _: &mut Target,
) -> Result<(Box<dyn ParallelFile>, u64), Failure> {
    Err(chosen())
}

pub fn create(
    _: &mut Team,
    _: &Path,
    _: &mut Params,
    _: &mut Target,
    _: &[u8],
) -> Result<Box<dyn ParallelFile>, Failure> {
    Err(chosen())
}
