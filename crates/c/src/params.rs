//! Parameters for opening a file.

use super::guard;
use super::mpi_types::MPI_Info;
use super::pointers::Text;
use super::versioned::{StructIn, StructOut, versioned};
use scda::{Encoder, Hdf5, ReadOptions, Tuning, WriteOptions};
use scda_base::error::{Error, Result};
use scda_base::numbers::to_usize;
use scda_codec::MAX_LEVEL;
use scda_format::padding::LineBreak;
use scda_storage::Driver;
use std::ffi::c_int;
#[cfg(not(feature = "mpi"))]
use std::ptr::null_mut;

/// Line breaks "\n" in paddings and compressed data: the default.
pub const SCDA_LINEBREAK_UNIX: c_int = 0;
/// Line breaks "\r\n" in paddings and compressed data.
pub const SCDA_LINEBREAK_MIME: c_int = 1;

/// The default. libdeflate compresses long elements with repetitions, and an encoder of this library
/// compresses the others.
pub const SCDA_ENCODER_FAST: c_int = 0;
/// zlib compresses: the streams are those of its function `compress2`.
pub const SCDA_ENCODER_ZLIB: c_int = 1;

/// The library chooses. With hints in `info` it uses MPI-IO. Otherwise it uses POSIX if all ranks are on one
/// node, on file systems known to be coherent between nodes (local ones, Lustre, GPFS, BeeGFS, OCFS2, GFS2),
/// and on NFS; and MPI-IO on all others. The environment variable `SCDA_IO` of rank 0, `mpi` or `posix`,
/// overrides the choice by file system.
pub const SCDA_DRIVER_AUTO: c_int = 0;
/// MPI-IO. An argument error in a build without MPI.
pub const SCDA_DRIVER_MPIIO: c_int = 1;
/// Every rank calls `pwrite` and `pread`. In writing, this is an argument error if the ranks are on several
/// nodes and the file system is neither NFS nor known to be coherent between them, because ranks would
/// overwrite each other's bytes within a page. If yours is coherent, set the environment variable
/// `SCDA_COHERENT=1` of rank 0. On NFS, ranks on several nodes need a mount that supports locks on bytes
/// (`fcntl`), at least local ones: `SCDA_ERR_IO` otherwise.
pub const SCDA_DRIVER_POSIX: c_int = 2;

/// Parameters for opening a file. They must be the same on all ranks, except for `threads`. Fill them by
/// `scda_params_init`, then change what you need. They are used only during the call that opens the file.
///
/// There are four parts: for every call, from `threads` on; for writing, from `linebreak` on; `keep`, for
/// writing and reading; and for reading, from `to_seal` on. They are in one struct, so that a program can
/// write and read a file with the same parameters. Reading ignores those for writing. In writing, those for
/// reading must have their defaults: `SCDA_ERR_ARG` otherwise.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct scda_params<'a> {
    /// The size of this struct in bytes, as `scda_params_init` sets it. It may be that of an older or newer version.
    pub size: usize,
    /// Every call:
    ///
    /// The number of threads with which this rank compresses or decompresses the elements of a section, 1
    /// (default) to 1024. It may differ between ranks, and does not affect the file.
    pub threads: c_int,
    /// `SCDA_DRIVER_AUTO` (default), `SCDA_DRIVER_MPIIO` or `SCDA_DRIVER_POSIX`.
    pub driver: c_int,
    /// Hints for MPI-IO. `MPI_INFO_NULL` (default): none. They continue to belong to the caller. With
    /// `SCDA_DRIVER_POSIX` they are an argument error; a build without MPI ignores them.
    pub info: MPI_Info,
    /// The most bytes of memory for small sections, which are buffered in writing and read ahead in reading:
    /// 4 MiB (default), at most 64 MiB. The library uses less where that is as fast. 0: every section is
    /// written at once.
    pub aggregation_bytes: u64,
    /// For large sections of which a rank has less than a stripe on average: the number of aggregators, that
    /// is, ranks of each node that write and read whole stripes for all its ranks, through shared memory; at
    /// most 1024. 0 (default): if the ranks are on several nodes, one for each stripe of a node's data, at
    /// most 8; on a single node, each rank accesses its own bytes. No effect if the ranks of a node cannot
    /// share memory. If this is 0, the environment variable `SCDA_WRITERS_PER_NODE` of rank 0 is used
    /// instead.
    pub writers_per_node: u64,
    /// The size of a stripe of the file in bytes, which a parallel file system locks as a whole; at most 4
    /// GiB. 0 (default): on Lustre, the stripe size of the file; elsewhere its block size, if it is at least
    /// 64 KiB or `writers_per_node` is given. If this is 0, the environment variable `SCDA_STRIPE_BYTES` of
    /// rank 0 is used instead.
    pub stripe_bytes: u64,
    /// On Lustre, the number of stripes of a new file that the POSIX driver writes, at most 2000; a server
    /// may store several of them. 0 (default): two for each node, of `stripe_bytes` or 4 MiB each, if the
    /// ranks are on several nodes and neither the folder nor the file system has a layout that somebody
    /// chose. If Lustre refuses, and on other file systems, the file has the file system's default layout. If
    /// this is 0, the environment variable `SCDA_STRIPE_COUNT` of rank 0 is used instead.
    pub stripe_count: u64,
    /// Reading, and opening to append: the most bytes of memory that a call allocates on each rank on behalf
    /// of the file, for a single object and in all; `SCDA_ERR_MEMORY` if it needs more, with a message that
    /// gives the offset. Meant for files of unknown origin, in which a few bytes can claim a chunk, an index
    /// or metadata of any size. Caches take at most a quarter of it; buffers of a few MiB count as well,
    /// memory of the program does not. At most 2^63 - 1; 0 (default): no limit.
    pub max_memory: u64,
    /// 1: to find mistakes in a program, the ranks agree on errors and compare their arguments in every call,
    /// by one small reduction. The environment variable `SCDA_CHECK=1` of rank 0 has the same effect in any
    /// program. 0 (default): they do so only in calls that synchronize the ranks anyway.
    pub check: c_int,
    /// Writing:
    ///
    /// `SCDA_LINEBREAK_UNIX` (default) or `SCDA_LINEBREAK_MIME`.
    pub linebreak: c_int,
    /// `SCDA_ENCODER_FAST` (default) or `SCDA_ENCODER_ZLIB`.
    pub encoder: c_int,
    /// The level of compression, 0 to 9 (default 2).
    pub level: c_int,
    /// 1: the file gets its name only when it is complete, at close. Until then it is next to that name under
    /// a name that ends in ".scda-part", and an existing file does not change. What a killed job leaves under
    /// that name is replaced by the next job. Implies `sync`, unless that is -1. Links are followed, and the
    /// permissions of an existing file are kept. 0 (default): the file is written under its name.
    pub atomic: c_int,
    /// 1: closing brings the file to stable storage. 0 (default): the system does so later, unless `atomic`
    /// is 1. -1: later, even with `atomic`: if the job is killed, the name belongs to the old file or the new
    /// one; after a crash of the system, it may belong to an incomplete file.
    pub sync: c_int,
    /// 1 (default): `scda_fclose` and `scda_fcommit` write a seal: a record of all sections with their
    /// checksums, with which readers recognize a complete file and find each section. Each section takes 160
    /// bytes in it. The header of a new file says that the file is to be sealed, and is on stable storage
    /// when `scda_fopen_write` returns; `scda_fopen_append` removes sections that no seal covers. 0: bare
    /// sections: the file has only what the program writes, unless it has a seal already
    /// (`scda_fopen_append`).
    pub seal: c_int,
    /// Whether a file with `seal` and datasets is also an HDF5 file, which h5py, h5dump, netCDF-4 and other
    /// programs open without conversion (docs/hdf5.md). 0 (default) or 1: closing it writes a view of its
    /// datasets, also after every later append. 2: each commit does so, too. -1: a new file has no room for a
    /// view. If the creator of the file chose -1, closing never writes a view, and 2 is `SCDA_ERR_ARG`, as is
    /// creating a file with 2 and without `seal`.
    pub hdf5: c_int,
    /// For appending to a sealed file: the number of sections to keep, wherever the commits were; 0
    /// (default): those up to the last seal. The rest is removed, at once unless `atomic` is 1.
    /// `SCDA_ERR_ARG`, without changing the file, if the file has fewer sections, or if the last of them
    /// belongs together with the next one, as the metadata of a dataset do. `append_name` needs no numbers of
    /// sections.
    pub append_after: u64,
    /// For appending to a sealed file: continues after a step. NULL (default): after everything that was
    /// committed. Otherwise a C string with the name of the dataset that the program writes first in each
    /// step, such as its time: everything before the record of it that follows `append_record` is kept; this
    /// record and everything after it are removed, wherever the commits were, at once unless `atomic` is 1.
    /// For patches, particles and forests, the path of the group with a slash at its end, such as "amr/". Not
    /// together with `append_after`. The string must remain valid until the file is opened.
    pub append_name: Text<'a>,
    /// With `append_name`: the step after which the program continues: 0 is the first record, -1 (default)
    /// the last. `SCDA_ERR_NOT_FOUND`, without changing the file, if there is no such record; `SCDA_ERR_ARG`
    /// for any other number than -1 without `append_name`.
    pub append_record: i64,
    /// The most bytes of memory on each rank for writing in the background, at least 1 MiB: calls copy their
    /// data, which a thread of the file writes without calling MPI. See `scda_fcommit_begin`. An argument
    /// error with MPI-IO. 0 (default): every call writes its data itself. If this is 0, the environment
    /// variable `SCDA_BACKGROUND_BYTES` of rank 0 is used instead, except with MPI-IO.
    pub background_bytes: u64,
    /// Writing with `background_bytes`: 1: the program promises neither to change nor to free the data of a
    /// call that writes until it has waited for the next commit or close, or called `scda_fflush`.
    /// Uncompressed data of at least 64 KiB that are contiguous in memory are then written from there without
    /// a copy, and take none of `background_bytes`; this does not apply to `scda_fwrite_datasets`, nor after
    /// compressed datasets whose offsets are not known yet. 0 (default): data may be changed as soon as a
    /// call returns.
    pub lend: u64,
    /// Writing and reading:
    ///
    /// Writing with `atomic`: how many of the files that had this name before are kept. When the new file is
    /// complete and on stable storage, the file with the name, `state.scda`, becomes `state.1.scda`, that one
    /// `state.2.scda`, and so on; the oldest one is removed. Each of them is a whole file at any moment,
    /// except on file systems without hard links. Only whole files are renamed and removed: a number whose
    /// name belongs to anything else is skipped. At most 1000. 0 (default): none is kept. Not with `sync` -1.
    /// If the name is a link, these files are in the folder of the file that it refers to.
    ///
    /// Reading: how many of them may stand in for a file that is missing, or has no seal because it is torn
    /// or damaged. The newest one with a seal is read, up to its last one; `scda_get_info` returns its age.
    /// So a job restarts from the last complete state. `SCDA_ERR_FORMAT` if the file exists and none of them
    /// has a seal, otherwise the error of the file. 0 (default): none, and the file needs no seal. Not with
    /// `to_seal` 0.
    pub keep: u64,
    /// Reading:
    ///
    /// For a file that was created with `seal`: 1 (default): it ends after its last seal, and before the
    /// first one after its header. What follows has not been committed by a job that was killed or is still
    /// writing: `scda_get_info` and `scda_last_error_message` report its size, and `scda_frefresh` checks
    /// whether it has been committed meanwhile. 0: all complete sections are read.
    pub to_seal: c_int,
    /// 1: all ranks together compare the bytes of each section with its checksum before its header is
    /// returned; on opening, they compare those of the file header and the seal. `SCDA_ERR_CHECKSUM` if they
    /// differ, or if the readable part does not end with a seal. 0 (default): the bytes of sections are not
    /// compared.
    pub verify: c_int,
    /// The most bytes of decompressed chunks of datasets that each rank keeps for later boxes: 16 MiB
    /// (default). At most 2^63 - 1; 0: none. A call that reads several boxes, or most items of its chunks, keeps none.
    pub cache_bytes: u64,
}

/// Parameters for opening a file.
pub type scda_params_t<'a> = scda_params<'a>;

versioned!(scda_params_t<'_>, "params", "scda_params_init", defaults(), cache_bytes: u64);

/// Fills the parameters with the defaults, for a program that knows their first `size` bytes;
/// `scda_params_init` calls it.
///
/// Not collective.
///
/// @param [out] params  The parameters. Must not be NULL.
/// @param [in] size     The size of `*params` when the program was compiled, which is stored in its `size`.
/// @return              0, or a negative value for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_params_init_size(
    params: StructOut<'_, scda_params_t<'_>>,
    size: usize,
) -> c_int {
    guard(None, -1, || params.init(size))
}

fn defaults<'a>() -> scda_params_t<'a> {
    let (writing, reading) = (WriteOptions::default(), ReadOptions::default());
    let Tuning {
        threads, aggregation_bytes, writers_per_node, stripe_bytes, stripe_count, max_memory, ..
    } = writing.tuning;
    scda_params_t {
        size: size_of::<scda_params_t<'_>>(),
        threads: c_int::try_from(threads).unwrap_or(1),
        driver: SCDA_DRIVER_AUTO,
        info: no_info(),
        aggregation_bytes: aggregation_bytes as u64,
        writers_per_node,
        stripe_bytes,
        stripe_count,
        max_memory,
        check: 0,
        linebreak: SCDA_LINEBREAK_UNIX,
        encoder: SCDA_ENCODER_FAST,
        level: c_int::try_from(writing.level).unwrap_or(0),
        atomic: 0,
        sync: 0,
        seal: 1,
        hdf5: 0,
        append_after: writing.append_after,
        append_name: Text::NULL,
        append_record: -1,
        background_bytes: writing.background_bytes,
        lend: 0,
        keep: writing.keep,
        to_seal: c_int::from(reading.to_seal),
        verify: c_int::from(reading.verify),
        cache_bytes: reading.cache_bytes,
    }
}

/// No hints.
#[cfg(feature = "mpi")]
pub fn no_info() -> MPI_Info {
    scda_ranks::mpi::sys::info_null()
}

/// No hints.
#[cfg(not(feature = "mpi"))]
pub fn no_info() -> MPI_Info {
    null_mut()
}

fn illegal(name: &str, found: c_int, expected: &str) -> Error {
    Error::argument(format!("params.{name}: found {found}, expected {expected}"))
}

fn flag(name: &str, value: c_int) -> Result<bool> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(illegal(name, other, "0 or 1")),
    }
}

/// The parameters of a call.
pub(super) struct OpenParams<'a> {
    c: scda_params_t<'a>,
    pub tuning: Tuning,
}

impl<'a> OpenParams<'a> {
    /// The defaults of the paper's call, without a seal.
    pub fn bare() -> Self {
        Self { c: scda_params_t { seal: 0, ..defaults() }, tuning: Tuning::default() }
    }

    /// From the struct at a pointer; the defaults if it is NULL.
    pub fn of(params: StructIn<'_, scda_params_t<'a>>) -> Result<Self> {
        if params.is_null() {
            return Ok(Self { c: defaults(), tuning: Tuning::default() });
        }
        let c = params.read()?;
        let mut tuning = Tuning::default();
        tuning.threads =
            usize::try_from(c.threads).map_err(|_| illegal("threads", c.threads, "1 to 1024"))?;
        tuning.driver = match c.driver {
            SCDA_DRIVER_AUTO => Driver::Auto,
            SCDA_DRIVER_MPIIO => Driver::MpiIo,
            SCDA_DRIVER_POSIX => Driver::Posix,
            other => {
                let expected = "SCDA_DRIVER_AUTO, SCDA_DRIVER_MPIIO or SCDA_DRIVER_POSIX";
                return Err(illegal("driver", other, expected));
            }
        };
        #[cfg(feature = "mpi")]
        {
            // SAFETY: C passes a valid handle, which is used only while the file is opened.
            tuning.hints = unsafe { scda_storage::mpi_io::Hints::from_raw(c.info) };
        }
        tuning.aggregation_bytes = to_usize(c.aggregation_bytes);
        (tuning.writers_per_node, tuning.stripe_bytes, tuning.stripe_count) =
            (c.writers_per_node, c.stripe_bytes, c.stripe_count);
        (tuning.max_memory, tuning.check) = (c.max_memory, flag("check", c.check)?);
        Ok(Self { c, tuning })
    }

    pub fn into_writing(self) -> Result<WriteOptions> {
        let Self { c, .. } = &self;
        let read = defaults();
        for (name, found, expected) in [
            ("to_seal", u64::from(flag("to_seal", c.to_seal)?), u64::from(read.to_seal == 1)),
            ("verify", u64::from(flag("verify", c.verify)?), u64::from(read.verify == 1)),
            ("cache_bytes", c.cache_bytes, read.cache_bytes),
        ] {
            if found != expected {
                let words =
                    format!("params.{name}: found {found}, expected {expected} for a file that is written");
                return Err(Error::argument(words));
            }
        }
        let mut options = self.writing()?;
        options.tuning = self.tuning;
        Ok(options)
    }

    /// The options for writing.
    fn writing(&self) -> Result<WriteOptions> {
        let c = &self.c;
        let mut options = WriteOptions::default();
        options.line_break = match c.linebreak {
            SCDA_LINEBREAK_UNIX => LineBreak::Unix,
            SCDA_LINEBREAK_MIME => LineBreak::Mime,
            other => {
                return Err(illegal("linebreak", other, "SCDA_LINEBREAK_UNIX or SCDA_LINEBREAK_MIME"));
            }
        };
        options.encoder = match c.encoder {
            SCDA_ENCODER_FAST => Encoder::Fast,
            SCDA_ENCODER_ZLIB => Encoder::Zlib,
            other => {
                return Err(illegal("encoder", other, "SCDA_ENCODER_FAST or SCDA_ENCODER_ZLIB"));
            }
        };
        options.level = u32::try_from(c.level)
            .ok()
            .filter(|level| *level <= MAX_LEVEL)
            .ok_or_else(|| illegal("level", c.level, "0 to 9"))?;
        options.atomic = flag("atomic", c.atomic)?;
        options.sync = c.sync != -1 && flag("sync", c.sync)?;
        options.later = c.sync == -1;
        options.seal = flag("seal", c.seal)?;
        options.hdf5 = match c.hdf5 {
            -1 => Hdf5::Never,
            0 | 1 => Hdf5::Close,
            2 => Hdf5::Commits,
            other => return Err(illegal("hdf5", other, "-1, 0, 1 or 2")),
        };
        (options.append_after, options.background_bytes, options.keep) =
            (c.append_after, c.background_bytes, c.keep);
        if !c.append_name.is_null() {
            let name = c.append_name.utf8("params.append_name")?;
            options.append_record = Some((name.to_owned(), c.append_record));
        } else if c.append_record != -1 {
            let words = format!("append_record: found {} without append_name", c.append_record);
            return Err(Error::argument(words));
        }
        options.lend = flag("lend", c_int::try_from(c.lend).unwrap_or(-1))?;
        Ok(options)
    }

    pub fn into_reading(self) -> Result<ReadOptions> {
        // Invalid values for writing are errors here, too.
        self.writing()?;
        let Self { c, tuning } = self;
        let mut options = ReadOptions::default();
        options.tuning = tuning;
        options.to_seal = flag("to_seal", c.to_seal)?;
        options.verify = flag("verify", c.verify)?;
        (options.cache_bytes, options.keep) = (c.cache_bytes, c.keep);
        Ok(options)
    }
}
