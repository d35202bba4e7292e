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

const EXPORT_EXAMPLES: &str = "\
Examples:
  scda export flow.scda flow.h5
  scda export flow.scda flow.nc --without 'mesh/*'";

const EXPORT: &str = r#"What becomes of
  several records        one dataset, whose unlimited first dimension, named as in xarray, counts
                         them; attributes scda_records, their number, and scda_record_attributes, a
                         JSON list of those that differ. If type, shape or fill value differ:
                         datasets 0, 1, ... of a group with their name, in HDF5 with scda_records
  chunks by zlib         the same chunks, except text chunks and chunks larger than the array
  other chunks           shuffled and deflated. With --blosc (needs the package hdf5plugin), frames
                         of Blosc stay the same, for readers with HDF5's filter 32001
  names of dimensions    those of scda_scales; else dimension scales if a dataset of one dimension
                         has that name, else labels. In NetCDF-4 all are scales; those without a
                         name are rho_dim_0 and so on
  fill value             the fill value, with _FillValue in NetCDF-4 for floating-point numbers,
                         unless it is 0; omitted for arrays, lists, opaque items with a tag, structs
                         with texts of variable length, and in NetCDF-4 for S
  attributes             numbers, texts, and lists of these, in HDF5 also bools and arrays of
                         several dimensions, of the types in scda_types; without it int64, float64
                         (also "NaN", "Infinity", "-Infinity"), texts of variable length (in
                         NetCDF-4 NC_CHAR, lists NC_STRING), but of the type of the data
                         flag_values, flag_masks, valid_range, valid_min, valid_max, actual_range,
                         _FillValue and missing_value. Other values are JSON texts, which the list
                         scda_json names
  scda_max_shape         dimensions that may grow
  scda_enum              an enumeration, in NetCDF-4 if scda_named_types has it, else flag_values
                         and flag_meanings
  structs                compound types
  texts                  those of bytes have a fixed length, in NetCDF-4 as characters with one
                         more dimension; others a variable one. Omitted are texts of any length
                         with a NUL character
  times                  integers with units as CF has them; scda_item says what they were
  bytes of any length    lists of the type in scda_type, else of uint8
  bool, complex numbers, raw bytes
                         enumeration, compound (r, i) and opaque type of h5py. In NetCDF-4, bool is
                         int8 with dtype = "bool"
  scda_links             links; a dataset that was changed since the import is no link but a dataset
                         of its own. In NetCDF-4 omitted, but datasets have all their names
  float16, names that NetCDF has not
                         omitted in NetCDF-4, which also takes names for the same that differ only
                         in their form of Unicode: all are written in the form NFC, and reported
  user string; order of records; codec, level and shuffle of other chunks; groups, blocks and
  inline sections of up to 64 KiB (not of a file that was imported)
                         in HDF5 the attributes scda_user, scda_places, scda_codec (zstd 1
                         shuffle), and scda_sections, a JSON list with the number of datasets
                         before each; scda import restores all"#;

/// Write the datasets to an HDF5 or NetCDF file
///
/// The end of OUT tells which: .h5, .hdf5 and .hdf are HDF5, .nc and .nc4 NetCDF-4. Groups, attributes and dimensions go over; several
/// records are one dataset whose first dimension counts them. Chunks by zlib are copied without being compressed anew, others become such.
/// What OUT has no place for is left out, with a line for each thing; the exit code is then 3. Runs the Python package scda with h5py, by
/// python3 or the interpreter that SCDA_PYTHON names.
#[derive(clap::Args)]
#[command(after_help = EXPORT_EXAMPLES, after_long_help = format!("{EXPORT}\n\n{EXPORT_EXAMPLES}"))]
pub struct ExportArgs {
    /// The file to read
    file: PathBuf,
    /// The file to write
    pub out: PathBuf,
    /// Copy chunks by zstd and lz4 as they are, for readers that have HDF5's filter 32001; otherwise they are deflated
    #[arg(long)]
    blosc: bool,
    /// Leave out the datasets of this name, which may be a pattern
    #[arg(long, value_name = "NAME")]
    without: Vec<String>,
    /// Stop at the first thing that OUT has no place for, instead of leaving it out
    #[arg(long)]
    strict: bool,
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
