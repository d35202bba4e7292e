//! `scda import`: a file from one of another system.

use crate::fail::{Fail, Result};
use crate::files::check_free;
use crate::foreign::{FORMATS, Format, Import, Source, in_words, names};
use crate::output::complain;
use std::ffi::OsString;
use std::path::PathBuf;

/// Import a file of HDF5, NetCDF, NumPy, SDF or SIONlib, or a plotfile of AMReX
///
/// Each array of an HDF5, NetCDF, .npz or SDF file becomes a dataset with its name. The streams of the tasks of a SIONlib file become the
/// elements of a varray, and what else the file says becomes datasets and attributes; of several physical files, IN is the first. A
/// plotfile of AMReX, IN being its folder, becomes a mesh of patches. The
/// beginning of the file tells which of them it is. docs/tools.md says what is written. HDF5, NetCDF, .npz and plotfiles need the Python
/// package scda: python3, or the interpreter that SCDA_PYTHON names, runs it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda import flow.h5 flow.scda
  scda import flow.nc flow.scda --without 'time_bnds'
  scda import state.sdf state.scda; scda ls state.scda
  scda import plt00010 plt00010.scda
  scda import restart.sion restart.scda; scda cat restart.scda sion/streams --range 3:4 > task-3")]
pub struct Args {
    /// The file to import
    #[arg(value_name = "IN")]
    from: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    to: PathBuf,
    /// Import what is whole in a damaged file of SDF or SIONlib
    #[arg(long)]
    salvage: bool,
    /// Leave out the arrays of this name, which may be a pattern; not from SDF and SIONlib
    #[arg(long, value_name = "NAME")]
    without: Vec<String>,
    /// Stop at the first thing that an scda file has no place for, instead of leaving it out; not from SDF and SIONlib
    #[arg(long)]
    strict: bool,
    /// Do not seal the new file
    #[arg(long)]
    no_seal: bool,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
}

/// `arguments` are those of the whole command.
pub fn run(args: &Args, arguments: &[OsString]) -> Result<()> {
    check_free(&args.to, args.force)?;
    let source = Source::new(&args.from)?;
    let Some(format) = recognise(&source)? else { return Err(not_recognised(&source)) };
    let given =
        [("--salvage", args.salvage), ("--strict", args.strict), ("--without", !args.without.is_empty())];
    for (option, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
        if !format.options().contains(&option) {
            let others = names(|format| format.options().contains(&option));
            return Err(Fail::file(source.name(), format_args!("{option} is for files of {others}")));
        }
    }
    let Args { from, to, salvage, no_seal, force, .. } = args;
    let import = Import { from, to, salvage: *salvage, seal: !no_seal, force: *force, arguments };
    format.import(source, &import)
}

/// The format that the file has.
fn recognise(source: &Source) -> Result<Option<&'static dyn Format>> {
    for format in FORMATS {
        if format.recognise(source)? {
            return Ok(Some(format));
        }
    }
    Ok(None)
}

fn not_recognised(source: &Source) -> Fail {
    let name = source.name();
    if let Source::Folder(..) = source {
        return Fail::file(name, "found a folder without Header, expected a file or a plotfile of AMReX");
    }
    let (mut beginnings, mut formats) = (Vec::new(), Vec::new());
    for format in FORMATS {
        if let Some(beginning) = format.beginning() {
            beginnings.push(format!("\"{beginning}\""));
            formats.push(format.name());
        }
    }
    let (beginnings, formats) = (in_words(&beginnings), in_words(&formats));
    complain(&format!("{name}: byte 0: found none of {beginnings}, which files of {formats} begin with"));
    Fail::Said(crate::fail::NO)
}
