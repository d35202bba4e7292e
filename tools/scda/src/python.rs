//! The commands that are in the Python package `scda`: `scda vtk ...` is `python3 -m scda vtk ...`.

use crate::fail::{Fail, Result};
use crate::files::{SealByDefault, check_free};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The variable with the name of the interpreter.
const VARIABLE: &str = "SCDA_PYTHON";

/// Runs the package. A folder that is named `scda` is not the package, and modules beside the user's data are not those
/// that it imports.
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

/// Write a VTKHDF file, in which ParaView and others show a forest
///
/// FILE has a forest, an adaptive mesh of quadtrees or octrees. ParaView, VisIt, PyVista and VTK read OUT. If
/// FILE is larger than 64 MiB, uncompressed fields stay there, and OUT refers to them. This command runs the
/// Python package scda with python3, or with the interpreter that SCDA_PYTHON names. Points and cells,
/// patches, particles and uniform grids need no OUT: ParaView opens FILE itself if it is also an HDF5 file
/// and its name ends with .vtkhdf.
///
/// A forest becomes an UnstructuredGrid; --group selects one of several forests. Cells of one tree share
/// points, unless there are values at corners; the filter Clean to Grid merges the points of neighbouring
/// trees. Time steps are those of FILE. A field that a step lacks becomes NaN; an integer field that a step
/// lacks is left out.
///
/// Packed numbers are unpacked: multiplied by scale_factor, plus add_offset. _FillValue, missing_value, and a
/// floating-point fill value other than 0 become NaN. Complex numbers become vectors of two components, raw
/// bytes become vectors of bytes, and a slash in a name becomes _.
///
/// Fields that VTK cannot show are left out and reported, each on a line; the exit code is then 3. A mesh of
/// more than 1,048,576 cells is written in parts, which the processes of a ParaView server share.
///
/// If OUT refers to FILE by its absolute path, write OUT again after FILE is moved or replaced. With
/// --relative, HDF5 looks for FILE from the folder in which the reading program was started: start ParaView
/// in the folder of OUT, or set HDF5_EXTFILE_PREFIX='${ORIGIN}' in its environment. Compressed and big-endian
/// data are always copied.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda vtk dam.scda                   # dam.vtkhdf
  scda vtk dam.scda -o dam.vtkhdf --copy --field depth")]
pub struct VtkArgs {
    /// The file with the forest
    file: PathBuf,
    /// The VTKHDF file to write [default: the name of FILE with the ending .vtkhdf]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Copy all data, so that OUT can be used without FILE [default: up to 64 MiB]
    #[arg(long, conflicts_with_all = ["absolute", "relative"])]
    copy: bool,
    /// Leave data in FILE, and refer to FILE by its absolute path [default: above 64 MiB]
    #[arg(long, conflicts_with = "relative")]
    absolute: bool,
    /// Leave data in FILE, and refer to FILE by its path relative to the folder of OUT
    #[arg(long)]
    relative: bool,
    /// Write only this field; may be given several times
    #[arg(long, value_name = "NAME")]
    field: Vec<String>,
    /// The group of the forest to write [default: the only one of FILE]
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  scda import flow.h5 flow.scda
  scda import flow.nc flow.scda --without 'time_bnds'
  scda import state.sdf state.scda";

const DESCRIPTION: &str = r#"The user string of OUT is the name of IN. The group / gets an attribute imported, an object with
format ("HDF5", also for NetCDF-4; "NPZ" or "SDF"), file (the name of IN), bytes (its size) and
complete (false if something was missing or left out). A damaged file is an error, exit code 1, even
if it crashes the HDF5 library. What an scda file cannot hold is left out and reported, exit code 3;
with --strict it is an error, exit code 2.

HDF5, NetCDF-4 (both need h5py) and .npz become as follows; the attributes scda_... are explained
below:
  numbers, complex numbers (r, i), bools of h5py, opaque items, strings of fixed length
                         the same type. NetCDF's int8 with dtype = "bool" becomes bool if all items
                         are 0 or 1. Bools of h5py with other values become int8, with scda_enum
  other floating-point numbers, such as bfloat16
                         the next larger type; the change of type is reported
  compound types         structs; arrays in items become dimensions
  enumerations           integers, with scda_enum
  strings of variable length
                         strings of the length of the longest one; of any length instead if this
                         would take 64 MiB or more and 64 times their bytes, and they are in no
                         compound type
  references to objects  their paths
  lists of variable length
                         bytes of any length, with scda_type
  links; dimensions that no variable of their group has
                         scda_links; scda_dimensions
  chunks                 the same shape, compressed again: by zlib with the same level and shuffle
                         if HDF5's filters were these, otherwise by zstd
  data without filters   contiguous; in chunks if most chunks were never written
  fill values            the same; zeros for arrays, lists, opaque items with a tag, and structs
                         with strings of variable length, because h5py cannot read these
  attributes             JSON, with scda_types: structs and arrays become lists, references become
                         paths. Strings that are not UTF-8 are read as Latin-1
  names of dimensions    the names of dimension scales, or else the labels
  dimensions that may grow; no data space
                         scda_max_shape
  left out               data in other files, by external storage and virtual datasets, without
                         --external; references to regions; times (H5T_TIME); lists of lists, of
                         strings, or in compound types; data whose filters the HDF5 library does
                         not have (hdf5plugin adds many); names with control characters or not in
                         UTF-8; attributes of more than 4,000,000 bytes of JSON, or with a name
                         that scda import uses; datasets of more than 4,194,304 chunks (h5repack
                         makes larger ones) or records
Lost without a report: user blocks, names of types, byte order, the padding of strings, labels and
further scales of a dimension that has a scale. An array of more than 64 MiB needs as much space
again beside OUT during the import.

Attributes for what scda has no place for; xarray follows scda_max_shape and scda_types:
  scda_max_shape         a list with the maximum size of each dimension, null if it is unlimited;
                         null instead of the list if there was no data space
  scda_enum              an object: the integer for each name of an enumeration
  scda_type              of lists as bytes of any length, {"list": "int16"}: the type of their
                         items; numbers are little-endian, members of structs follow one another
                         without gaps
  scda_links             of a group, an object: for each name {"soft": path}, {"external": [file,
                         path]}, or {"hard": path} for a further name of a group, which is imported
                         once, or of a dataset, which is imported under each of its names
  scda_dimensions        of a group, an object: the sizes of the dimensions of NetCDF that no
                         variable directly in the group has, null for an unlimited one
  scda_static            true for a dataset time without dimensions: it is not the time of a record
  scda_types             an object: the type of an attribute, where its JSON would suggest another:
                         the type of the items, or string. A number is a JSON number, or "NaN"
                         (whatever its bits), "Infinity", "-Infinity"; a complex number is a list of
                         two; raw bytes are a list of integers; arrays are nested lists. A shape in
                         brackets follows the type if the lists do not show it: int16[1] (an array
                         of one item, which is the item itself in JSON; NetCDF's library gives the
                         number), float32[0,2] (no items)

SDF: arrays become contiguous datasets, in the order of the file; arrays with the same label become
records.
  label                  the name; if it is no valid name of a dataset, invalid characters become _,
                         followed by ~ and a number
  f, i, c; b with 1 byte float32, float64; int8 to int64; complex64, complex128; uint8
  another type or length raw items of the big-endian bytes of the file. More than 32 dimensions
                         become one
The attribute sdf of such a dataset holds its label, the letter of its type, and bytes_per_word. SDF
for IDL writes unsigned integers as i: from 2^31 or 2^63 on, they become negative."#;

/// Import a file of HDF5, NetCDF-4, NumPy or SDF
///
/// Each array of an HDF5, NetCDF-4, .npz or SDF file becomes a dataset with the same name. The format is
/// recognized by the first bytes of IN. This command runs the Python package scda with python3, or with the
/// interpreter that SCDA_PYTHON names.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{DESCRIPTION}\n\n{EXAMPLES}"))]
pub struct ImportArgs {
    /// The file to import
    #[arg(value_name = "IN")]
    from: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    to: PathBuf,
    /// Leave out arrays with this name, which may be a pattern
    #[arg(long, value_name = "NAME")]
    without: Vec<String>,
    /// Fail if something cannot be stored in an scda file, instead of leaving it out
    #[arg(long)]
    strict: bool,
    /// Also import data that an HDF5 file keeps in other files. Use it only if you trust the source: it can
    /// name any of your files
    #[arg(long)]
    external: bool,
    #[command(flatten)]
    seal: SealByDefault,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
}

/// Imports a file; `arguments` are those of the whole command.
pub fn run_import(args: &ImportArgs, arguments: &[OsString]) -> Result<()> {
    check_free(&args.to, args.force)?;
    run(arguments)
}

/// Replaces this process with the interpreter, which runs the same command with the same arguments.
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
