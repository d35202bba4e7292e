//! Stand-in for MPI-IO in a build without MPI.

use crate::file::options::Tuning;
use crate::file::team::{Failure, Team};
use scda_base::error::{Error, ErrorKind, Result};
use scda_storage::ParallelFile;
use std::ffi::OsStr;
use std::path::Path;

#[derive(Clone, Copy)]
pub enum Access {
    Read,
    ReadWrite,
}

fn chosen() -> Error {
    Error::new(ErrorKind::Internal, "MPI-IO was chosen without MPI")
}

pub fn real_path(path: &Path) -> &Path {
    path
}

pub fn check_name(_: &Path, _: &OsStr, _: usize) -> Result<()> {
    Err(chosen())
}

pub fn create(_: &Path, _: &OsStr, _: &Tuning) -> Result<()> {
    Err(chosen())
}

pub fn open(
    _: &mut Team,
    _: &Path,
    _: &OsStr,
    _: &Tuning,
    _: Access,
    _: impl FnOnce() -> Result<()>,
) -> Result<Box<dyn ParallelFile>, Failure> {
    Err(chosen().into())
}
