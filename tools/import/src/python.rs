//! The commands that the Python package `scda` has: `scda refs ...` is `python3 -m scda refs ...`.

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

/// Write references by which Zarr readers read a file
///
/// The references are kerchunk's, as JSON: where in FILE the chunks of each dataset are. The reference file system of fsspec makes them a
/// Zarr store, so that zarr, xarray and dask read FILE without the package scda, also on a web server or in an object store. Runs
/// the Python package scda, by python3 or the interpreter that SCDA_PYTHON names.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda refs flow.scda -o flow.json
  scda refs flow.scda --url s3://bucket/flow.scda -o flow.json")]
pub struct RefsArgs {
    /// The file whose chunks are referenced
    file: PathBuf,
    /// The file to write; standard output if not given
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Where readers will find FILE; its absolute path if not given
    #[arg(long)]
    url: Option<String>,
    /// Leave out the datasets of this name, which may be a pattern
    #[arg(long, value_name = "NAME")]
    without: Vec<String>,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
}

/// Write a VTKHDF file, by which ParaView and others show a file
///
/// FILE has a forest, an adaptive mesh of quadtrees or octrees, a mesh of points and cells, or datasets on a uniform grid. ParaView,
/// VisIt, PyVista and VTK read OUT. If FILE has more than 64 MiB, fields that are not compressed stay there, and OUT says where they are. Runs the Python package scda, by python3 or the
/// interpreter that SCDA_PYTHON names.
///
/// Forests and cells become an UnstructuredGrid, patches of one domain an OverlappingAMR, particles a PolyData of vertices, with each member of
/// structs as an array. Of several of them, --group names the one that is written; without it, the only mesh is. Cells of one tree of a forest share points,
/// unless there are values at corners; the filter Clean to Grid merges those of neighbouring trees. Time steps are those of the file. A field
/// that a step lacks is NaN; one of integers is then omitted.
///
/// Uniform grids, if the file has no mesh or --group names the group: datasets of one to three dimensions become an ImageData with a value at
/// each point, the last dimension as x. Datasets with the names of the dimensions hold the coordinates, equally spaced. Without --field, all
/// datasets with the shape and dimensions of the first one with the most dimensions are written. Time is records with the times of time,
/// or a dimension: one called time, one that may grow (scda_max_shape), or one whose dataset says so as CF has it. The last or first
/// dimension counts components of vectors and tensors if it is called component, axis, direction or the like; or if it alone has no dataset
/// of its name, and has 2, 3, 4, 6 or 9 indices.
///
/// Packed numbers are unpacked: times scale_factor, plus add_offset. _FillValue, missing_value, and a floating-point fill value other than 0
/// become NaN. Complex numbers become vectors of two components, raw bytes vectors of bytes, slashes in names _.
///
/// Datasets of a grid that OUT has no place for are left out, with a line for each; the exit code is then 3.
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
    /// A file with a forest, a mesh, or datasets on a uniform grid
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
    /// The mesh, the particles, or the group with the datasets of a grid [default: the only mesh of FILE]
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
