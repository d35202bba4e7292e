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

const EXAMPLES: &str = "\
Examples:
  scda import flow.h5 flow.scda
  scda import flow.nc flow.scda --without 'time_bnds'
  scda import state.sdf state.scda
  scda import plt00010 plt00010.scda";

const DESCRIPTION: &str = r#"The user string of the new file is the name of the old one. The attribute imported of the group /
has format ("HDF5", also for NetCDF-4; "NetCDF" for the classic formats; "NPZ", "Zarr", "AMReX" or
"SDF"), file, its name, bytes, its size, and complete: false if something was missing or omitted. A
damaged file is an error, exit code 1, also if it makes HDF5's library crash. What an scda file
cannot hold is omitted and reported, exit code 3; with --strict it is an error, exit code 2.

HDF5 and NetCDF-4 (which need h5py), classic NetCDF (CDF-1, CDF-2, CDF-5) and .npz; the
attributes scda_... are explained below:
  numbers, complex ones (r, i), bools of h5py, opaque items, texts of fixed length
                         the same type. NetCDF's int8 with dtype = "bool" becomes bool if all items
                         are 0 or 1. Bools of h5py that are others become int8, with scda_enum
  other floating-point numbers, such as bfloat16
                         the next larger type; the loss of their type is reported
  compound types         structs; arrays in items: dimensions
  enumerations           integers, and scda_enum
  texts of variable length
                         texts as long as the longest one; of any length, if that took (from 64 MiB
                         on) 64 times their bytes and they are in no compound type
  references to objects  their paths
  lists of variable length
                         bytes of any length, with scda_type
  links; dimensions that no variable of their group has
                         scda_links; scda_dimensions
  chunks                 of the same shape, compressed anew: by zlib with the same level and shuffle
                         if HDF5's filters were that, else by zstd
  data without filters   contiguous; chunks if most chunks were never written
  fill values            the same; of arrays, lists, opaque items with a tag, and structs with
                         texts of variable length zeros, as h5py cannot read them
  attributes             JSON, with scda_types: structs and arrays are lists, references paths.
                         Texts that are no UTF-8 are taken as Latin-1
  names of dimensions    those of dimension scales, else labels
  dimensions that may grow; no data space
                         scda_max_shape
  omitted                data in other files, which external storage and virtual datasets name,
                         without --external; references to regions; times (H5T_TIME); lists of lists,
                         of texts, or in compound types; filters that HDF5 does not have
                         here (hdf5plugin adds many); names with control characters or not in UTF-8; attributes of
                         more than 4,000,000 bytes of JSON, or with the name of one that scda import
                         writes; datasets of more than 4,194,304 chunks (h5repack makes larger ones)
                         or records
Not kept, and not reported: user blocks, names of types, byte order, the padding of texts, labels
and further scales of a dimension beside its first scale. An array of more than 64 MiB needs as much
room again beside OUT during the import.

Attributes for what scda has not; xarray follows scda_max_shape and scda_types:
  scda_max_shape         a list with the greatest number of indices of each dimension, null if there
                         is none; null instead of the list: HDF5 had no data space
  scda_enum              an object: the integer of each name of an enumeration
  scda_type              of bytes of any length that are lists, {"list": "int16"}: the type of the
                         items of each; their numbers have the lowest byte first, members of structs
                         follow one another without gaps
  scda_links             of a group, an object: for each name {"soft": path}, {"external": [file,
                         path]}, or {"hard": path} for one more name of a group, which is imported
                         once, or of a dataset, which is imported under each of its names
  scda_dimensions        of a group, an object: the sizes of the dimensions of NetCDF that no
                         variable directly in it has, null for one that may grow
  scda_static            true of a dataset time without dimensions: it is not the time of a record
  scda_types             an object: for names of attributes their type, where another one would be
                         taken: that of items, or string. A number is one of JSON, or "NaN"
                         (whatever its bits are), "Infinity", "-Infinity"; a complex number a list
                         of two; raw bytes a list of integers; arrays are lists in lists. After the
                         type stands the shape in brackets where the lists do not tell it: int16[1]
                         (an array of one item, which is the item in JSON; from NetCDF's library it
                         is the number), float32[0,2] (no items)

Zarr (needs zarr-python 3): IN is a folder of version 2 or 3. Arrays are datasets, compressed if
they are so in Zarr: by zlib or LZ4 if that was used, else by zstd. _ARRAY_DIMENSIONS and
dimension_names become names of dimensions; the fill value of integers of version 2 with
_ARRAY_DIMENSIONS is _FillValue, too, as xarray takes it. A folder with a symbolic link or a special
file is an error.

SDF: arrays become contiguous datasets, in the order of the file; those of one label records.
  label                  the name; if no dataset can have it, its wrong characters become _, and ~
                         and a number follow
  f, i, c; b with 1 byte float32, float64; int8 to int64; complex64, complex128; uint8
  another type or length raw items of the big-endian bytes of the file. More than 32 dimensions
                         become one
The attribute sdf of such a dataset has its label, letter of the type, and bytes_per_word. SDF for IDL
writes unsigned integers as i: they become negative from 2^31 or 2^63 on."#;

/// Import a file of HDF5, NetCDF, NumPy or SDF, or a folder of Zarr
///
/// Each array of an HDF5, NetCDF, .npz or SDF file becomes a dataset with its name, and so does each array of Zarr. The beginning of the file
/// tells which of them it is. Runs the Python package scda, by python3 or the interpreter that SCDA_PYTHON names.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{DESCRIPTION}\n\n{EXAMPLES}"))]
pub struct ImportArgs {
    /// The file to import
    #[arg(value_name = "IN")]
    from: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    to: PathBuf,
    /// Leave out the arrays of this name, which may be a pattern
    #[arg(long, value_name = "NAME")]
    without: Vec<String>,
    /// Stop at the first thing that an scda file has no place for, instead of leaving it out
    #[arg(long)]
    strict: bool,
    /// Also import the data that an HDF5 file has in other files: only from a source that you trust, as they can be any of your files
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
