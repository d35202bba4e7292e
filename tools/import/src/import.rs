//! `scda import`: a file from one of another system.

use crate::fail::{Fail, Result};
use crate::files::{SealByDefault, check_free};
use crate::formats::{FORMATS, Format, Import, ImportSource, in_words, names};
use crate::output::complain;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  scda import flow.h5 flow.scda
  scda import flow.nc flow.scda --without 'time_bnds'
  scda import state.sdf state.scda; scda ls state.scda
  scda import plt00010 plt00010.scda
  scda import restart.sion restart.scda; scda cat restart.scda sion/streams --range 3:4 > task-3";

const DESCRIPTION: &str = r#"The user string of the new file is the name of the old one. The attribute imported of the group /
has format ("HDF5", also for NetCDF-4; "NetCDF" for the classic formats; "NPZ", "SDF" or
"SIONlib"), file, its name, bytes, its size, and complete: false if something was missing or
omitted. A damaged file is an error, exit code 1, also if it makes HDF5's library crash; of SDF and SIONlib, --salvage imports what is
whole and reports the rest, exit code 0. What an scda file cannot hold is omitted and reported,
exit code 3; with --strict it is an error, exit code 2.

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

AMReX: IN is the folder of a plotfile with lists of FABs of version 1, the default. Its cells
become a group patches with one time step; ghost cells, particles and other contents are not
imported. A symbolic link that leads out of the folder is an error without --external.

SDF: arrays become contiguous datasets, in the order of the file; those of one label records.
  label                  the name; characters that a name cannot have become _; a long one is cut,
                         and one that clashes gets ~ and a number
  f, i, c; b with 1 byte float32, float64; int8 to int64; complex64, complex128; uint8
  another type or length raw items of the big-endian bytes of the file, which is reported. A word
                         of more than 65,536 bytes becomes a last dimension of items r8
  dimensions             the shape, in the same order. More than 32 dimensions become one
The attribute sdf of a dataset has order, label (label_hex if it is no UTF-8), type,
bytes_per_word, dims, and for raw items byte_order. SDF for IDL writes unsigned integers as i: they
become negative from 2^31 or 2^63 on. Labels such as a and a/b become a dataset and a group of one
name, which Zarr refuses, and a view of HDF5 does not show.

SIONlib, formats 2 to 5 in both byte orders (tested: format 5): IN is the first physical file, or
any other if that is missing; the others are IN with .000001, .000002, ... at its end. ulimit -Hn
must allow that many open files. The new file has
  sion/global_ranks      int64 [tasks]: the number that each task had
  sion/chunk_bytes       uint64 [tasks]: the bytes of a chunk: before format 4 those asked for,
                         later those in the file
  sion/blocks            uint64 [tasks]: the number of chunks
  sion/physical_files    uint64 [tasks]: the physical file, if there are several
  sion/block_bytes       uint64 [blocks, tasks]: the bytes in each chunk, 0 if it is not used
  sion/records           uint64 [records, 4]: of key-value files: task, key, where the value begins
                         in the stream, and its bytes
  sion/streams           a varray with an element for each task, its stream: what it has written;
                         in key-value files with key and length before each value, in the byte
                         order of the file
  sion/lengths_known, sion/least_bytes
                         bool, uint64 [tasks]: without second metadata block: whether the length of
                         the stream is known; the bytes up to the last one that is not 0
  sion/found             bool [tasks]: if files are missing: whether that of the task could be read
Data stay as they are, whatever data_byte_order claims. imported also has what the file says of
itself, such as format_version; key_values, "none", "inline", or the number of an unknown mode;
tasks_in_order, false if the mapping is missing, so that the order of tasks is that of the files;
missing_files, the number that --salvage did without.

Without its second metadata block (never closed, or removed), a SIONlib file does not tell how many
bytes of each chunk are used: all are imported, with 0 where nothing was written. Block k of a task
is bytes k C to (k + 1) C of its element, with C its chunk size. Errors, which --salvage does
without, are a physical file that is missing or contradicts the others, a wrong second metadata
block or mapping, chunks that are removed, and key-value records that do not fit their stream.
Missing tasks then have empty streams and the rank -1."#;

/// Import a file of HDF5, NetCDF, NumPy, SDF or SIONlib, or a folder of AMReX or Zarr
///
/// Each array of an HDF5, NetCDF, .npz or SDF file becomes a dataset with its name. The streams of the tasks of a SIONlib file become the
/// elements of a varray, and what else the file says becomes datasets and attributes. A plotfile of AMReX becomes a mesh of patches, an array
/// of Zarr a dataset. The beginning of the file tells which of them it is. HDF5, NetCDF, .npz, plotfiles and Zarr need the Python package
/// scda: python3, or the interpreter that SCDA_PYTHON names, runs it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{DESCRIPTION}\n\n{EXAMPLES}"))]
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
    /// Also import the data that an HDF5 file has in other files, and what is beyond the symbolic links of a plotfile: only from a source
    /// that you trust, as they can lead to any of your files
    #[arg(long)]
    external: bool,
    #[command(flatten)]
    seal: SealByDefault,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
}

/// `arguments` are those of the whole command.
///
/// # Errors
/// Those of the files; those that the format finds.
pub fn run(args: &Args, arguments: &[OsString]) -> Result<()> {
    check_free(&args.to, args.force)?;
    let source = ImportSource::new(&args.from)?;
    let Some(format) = recognise(&source)? else { return Err(not_recognised(&source)) };
    let given = [
        ("--salvage", args.salvage),
        ("--strict", args.strict),
        ("--without", !args.without.is_empty()),
        ("--external", args.external),
    ];
    for (option, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
        if !format.options.contains(&option) {
            let others = names(|format| format.options.contains(&option));
            return Err(Fail::file(source.name(), format_args!("{option} is for files of {others}")));
        }
    }
    let Args { from, to, salvage, seal, force, .. } = args;
    let import = Import { from, to, salvage: *salvage, seal: *seal, force: *force, arguments };
    format.import(source, &import)
}

/// The format that the file has.
fn recognise(source: &ImportSource) -> Result<Option<&'static Format>> {
    for format in &FORMATS {
        if format.recognise(source)? {
            return Ok(Some(format));
        }
    }
    Ok(None)
}

fn not_recognised(source: &ImportSource) -> Fail {
    let name = source.name();
    if let ImportSource::Folder(..) = source {
        let words = "a folder without Header or zarr.json: neither a plotfile of AMReX nor one of Zarr";
        return Fail::file(name, words);
    }
    let (mut beginnings, mut names) = (Vec::new(), Vec::new());
    for format in &FORMATS {
        if let Some(beginning) = format.beginning {
            beginnings.push(format!("\"{beginning}\""));
            names.push(format.name);
        }
    }
    let (beginnings, names) = (in_words(&beginnings), in_words(&names));
    complain(&format!("{name}: byte 0: it begins with none of {beginnings}, as files of {names} do"));
    Fail::Said(crate::fail::NO)
}
