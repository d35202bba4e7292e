//! The commands that the Python package `scda` has: `scda vtk ...` is `python3 -m scda vtk ...`.

use crate::fail::{Fail, Result};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Names the interpreter.
const VARIABLE: &str = "SCDA_PYTHON";

/// Runs the package. A folder that is named `scda` is not the package, and modules beside the user's data are not those that it imports.
const PROGRAM: &str = "\
import sys
if sys.path and sys.path[0] == '': del sys.path[0]
try:
    import scda.__main__ as scda
except ImportError as error:
    what = ' '.join(str(error).split())
    what = what if len(what) < 300 else what[:300] + '...'
    sys.exit(print(f'scda: {sys.argv[1]}: {sys.executable}: {what}; this command needs the Python package scda: '
        'pip install ./python in the source folder of libscda; SCDA_PYTHON names another interpreter', file=sys.stderr) or 2)
sys.exit(scda.main())";

/// Write a VTKHDF file, by which ParaView and others show a forest
///
/// FILE has a forest, an adaptive mesh of quadtrees or octrees. ParaView, VisIt, PyVista and VTK read OUT. If FILE has more than 64 MiB,
/// fields that are not compressed stay there, and OUT says where they are. Runs the Python package scda, by python3 or the interpreter that
/// SCDA_PYTHON names. Points and cells, patches, particles and uniform grids need no OUT: ParaView opens the file itself, if it is an HDF5
/// file as well and its name ends with .vtkhdf.
///
/// Forests become an UnstructuredGrid. Of several of them, --group names the one that is written. Cells of one tree share points, unless
/// there are values at corners; the filter Clean to Grid merges those of neighbouring trees. Time steps are those of the file. A field
/// that a step lacks is NaN; one of integers is then omitted.
///
/// Packed numbers are unpacked: times scale_factor, plus add_offset. _FillValue, missing_value, and a floating-point fill value other than 0
/// become NaN. Complex numbers become vectors of two components, raw bytes vectors of bytes, slashes in names _.
///
/// Fields that OUT has no place for are left out, with a line for each; the exit code is then 3.
///
/// Where OUT refers to FILE by its absolute path, write OUT again if FILE is moved or replaced. With --relative, HDF5 looks for FILE from
/// the folder in which the program was started: start ParaView in the folder of OUT, or set HDF5_EXTFILE_PREFIX='${ORIGIN}' in its
/// environment. Compressed or big-endian data are copied in any case.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda vtk dam.scda                   # dam.vtkhdf
  scda vtk dam.scda -o dam.vtkhdf --copy --field depth")]
pub struct VtkArgs {
    /// A file with a forest
    file: PathBuf,
    /// The VTKHDF file; if not given, the name of FILE with the ending .vtkhdf
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Copy all data, as is done by itself up to 64 MiB: OUT can be used without FILE
    #[arg(long, conflicts_with_all = ["absolute", "relative"])]
    copy: bool,
    /// Leave data in FILE, and refer to it by its absolute path, as is done by itself above
    #[arg(long, conflicts_with = "relative")]
    absolute: bool,
    /// Leave data in FILE, and refer to it by its path from the folder of OUT
    #[arg(long)]
    relative: bool,
    /// Only this field; can be given several times
    #[arg(long, value_name = "NAME")]
    field: Vec<String>,
    /// The forest [default: the only one of FILE]
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
}

/// Becomes the interpreter, which runs the command that this one was started as, with the same arguments.
///
/// # Errors
/// That the interpreter cannot be started.
pub fn run(arguments: &[OsString]) -> Result<()> {
    let python = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    let python = python.unwrap_or_else(|| OsString::from("python3"));
    let arguments = arguments.get(1..).unwrap_or_default();
    let error = Command::new(&python).arg("-c").arg(PROGRAM).args(arguments).exec();
    let name = arguments.first().map(|name| name.display().to_string()).unwrap_or_default();
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "; this command needs Python 3.9 or later",
        _ => "",
    };
    let python = python.display();
    Err(Fail::Trouble(format!("{name}: {python}: {error}{hint}; {VARIABLE} names another interpreter")))
}
