//! `scda hdf5`: a view, by which programs for HDF5 read the file.

use crate::fail::{Fail, Result};
use crate::files::{Input, OutputFile, Resources};
use crate::output::{Output, for_each_file, visible};
use crate::seal::check_all_sealed;
use scda::{SuperblockState, WriteOptions};
use std::path::{Path, PathBuf};

/// Add an HDF5 view of all datasets to files
///
/// Programs for HDF5 (h5py, h5dump, netCDF-4, xarray and others) then open the file as it is (docs/hdf5.md).
/// The file must have room for an HDF5 superblock, as sealed files have by default; scda copy --hdf5 makes a
/// copy that has room. A program that writes such a file adds the view when it closes the file, so this
/// command is needed only for what a job has committed and not closed.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 all files have a view of their contents; 2 a file has no room for the superblock, or another error.

Examples:
  scda hdf5 series.scda
  scda copy --hdf5 state.scda state.h5        a copy with room for it")]
pub struct Args {
    /// The files to change
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    resources: Resources,
}

fn renew(out: &mut Output, path: &Path, resources: &Resources) -> Result<()> {
    if path.as_os_str() == "-" {
        return Err(Fail::Trouble("-: a view can be added only to a file".to_owned()));
    }
    let input = Input::new(path, resources)?;
    let name = visible(input.name());
    if input.open()?.inspect().superblock()?.is_none() {
        let words = "it has no room for an HDF5 superblock; scda copy --hdf5 makes a copy that has room";
        return Err(Fail::file(input.name(), words));
    }
    check_all_sealed(&input)?;
    let mut params = WriteOptions::default();
    resources.set(&mut params.tuning);
    params.line_break = input.open()?.header().line_break;
    OutputFile::append(path, params, &[])?.finish()?;
    match input.open()?.inspect().superblock()? {
        Some(SuperblockState::View(_)) => out.text(format_args!("{name}: is also an HDF5 file\n")),
        _ => out.text(format_args!("{name}: contains nothing that HDF5 can show\n")),
    }
}

pub fn run(args: &Args) -> Result<()> {
    for_each_file(&args.files, |out, path| renew(out, path, &args.resources))
}
