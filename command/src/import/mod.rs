//! `scda import`: a file from one of another system.

mod sdf;
mod sion;

use crate::fail::{Fail, Result};
use crate::files::{Input, Output, Resources, check_free, check_replaceable};
use crate::output::complain;
use crate::python;
use scda::internals::{self, Foreign};
use scda::{Error, Params};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

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

impl Args {
    /// Whether an error of the file ends the command; if not, it is reported.
    fn tolerate(&self, error: &Error) -> Result<()> {
        if !self.salvage {
            complain(&error.to_string());
            complain("--salvage imports what is whole");
            return Err(Fail::Said(crate::fail::NO));
        }
        complain(&error.to_string());
        Ok(())
    }

    /// A new file with the name of this one as its user string. `all` are the physical files.
    fn create<'a>(
        &self,
        input: Input,
        file: &Foreign,
        all: impl IntoIterator<Item = &'a Foreign>,
    ) -> Result<Output> {
        let all = all.into_iter().map(Foreign::status).collect::<Result<Vec<_>, _>>()?;
        check_replaceable(&self.to, "is the file to import itself", all)?;
        let mut params = Params::default();
        params.seal = !self.no_seal;
        let name = file_name(file);
        let user = name.char_indices().map(|(at, c)| at + c.len_utf8());
        let end = user.take_while(|&end| end <= scda::USER_STRING_BYTES).last().unwrap_or(0);
        Output::create(&self.to, self.force, &name.as_bytes()[..end], params, &[input])
    }
}

/// The name of a file without folders.
fn file_name(file: &Foreign) -> String {
    file.name().rsplit('/').next().unwrap_or_default().to_owned()
}

/// Attributes for all of the file: where it comes from, and what else is known.
fn attributes(file: &Foreign, format: &str, is_whole: bool, more: Value) -> String {
    let mut source = json!({
        "format": format,
        "file": file_name(file),
        "bytes": file.size(),
        "complete": is_whole,
    });
    if let (Some(source), Value::Object(more)) = (source.as_object_mut(), more) {
        source.extend(more);
    }
    json!({ "imported": source }).to_string()
}

/// Whether the Python package imports it: HDF5, NetCDF or .npz. HDF5 may begin behind a block of the user's, so its name tells, too.
fn is_for_python(file: &Foreign) -> Result<bool> {
    for magic in [b"\x89HDF\r\n\x1a\n".as_slice(), b"CDF\x01", b"CDF\x02", b"CDF\x05", b"PK\x03\x04"] {
        if file.begins_with(magic)? {
            return Ok(true);
        }
    }
    let ending = Path::new(file.name()).extension();
    Ok(ending.is_some_and(|ending| ["h5", "hdf5", "nc", "nc4", "npz"].iter().any(|known| ending == *known)))
}

/// `arguments` are those of the whole command.
pub fn run(args: &Args, arguments: &[OsString]) -> Result<()> {
    check_free(&args.to, args.force)?;
    if args.from.is_dir() {
        let name = &args.from.display().to_string();
        if !args.from.join("Header").is_file() {
            return Err(Fail::file(
                name,
                "found a folder without Header, expected a file or a plotfile of AMReX",
            ));
        }
        if args.salvage {
            return Err(Fail::file(name, "--salvage is for files of SDF and SIONlib"));
        }
        return python::run(arguments);
    }
    let input = Input::new(&args.from, &Resources::default())?;
    let name = input.name().to_owned();
    let file = Foreign::open(input.path(), &name)?;
    if is_for_python(&file)? {
        if args.salvage {
            return Err(Fail::file(&name, "--salvage is for files of SDF and SIONlib"));
        }
        if args.from.as_os_str() == "-" {
            return Err(Fail::file(&name, "expected the name of an HDF5, NetCDF or .npz file"));
        }
        return python::run(arguments);
    }
    if !args.without.is_empty() || args.strict {
        let option = if args.strict { "--strict" } else { "--without" };
        return Err(Fail::file(&name, format_args!("{option} is for HDF5, NetCDF and .npz files")));
    }
    if file.begins_with(internals::sdf::MAGIC)? {
        return sdf::run(args, input, &file);
    }
    if file.begins_with(internals::sion::MAGIC)? {
        return sion::run(args, input, &file);
    }
    complain(&format!(
        "{name}: byte 0: found none of \"SDF format\", \"sion\", \"\\x89HDF\" and \"PK\", which files of SDF, SIONlib, HDF5 and .npz begin with"
    ));
    Err(Fail::Said(crate::fail::NO))
}
