//! The parameters of opening a file.

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

/// The default. libdeflate compresses long elements with repetitions, an encoder of this library the
/// others.
pub const SCDA_ENCODER_FAST: c_int = 0;
/// zlib compresses: the streams are those of its function `compress2`.
pub const SCDA_ENCODER_ZLIB: c_int = 1;

/// The library chooses. With hints in `info` it uses MPI-IO. Without, it uses POSIX if all ranks are on one node, on file
/// systems that are known to be coherent between nodes (local ones, Lustre, GPFS, BeeGFS, OCFS2, GFS2), and on NFS; otherwise
/// MPI-IO. The environment variable `SCDA_IO` of rank 0, `mpi` or `posix`, overrides the choice by file system.
pub const SCDA_DRIVER_AUTO: c_int = 0;
/// MPI-IO. An argument error in a build without MPI.
pub const SCDA_DRIVER_MPIIO: c_int = 1;
/// Every rank calls `pwrite` and `pread`. An argument error of writing if the ranks are on several nodes and the file system is
/// neither NFS nor known to be coherent between them: neighbours in a page would overwrite each other. If yours is coherent,
/// say so by the environment variable `SCDA_COHERENT=1` of rank 0. On NFS, ranks on several nodes need a mount that grants
/// locks of bytes (`fcntl`), also local ones: `SCDA_ERR_IO` otherwise.
pub const SCDA_DRIVER_POSIX: c_int = 2;

/// The parameters of opening a file; they agree on all ranks, except `threads`. Fill them by `scda_params_init`, then
/// change what you need. They are used only during the call that opens the file.
///
/// They have four parts: for every call, from `threads` on; for writing, from `linebreak` on; `keep`, for writing and reading; and
/// for reading, from `to_seal` on. One struct has them all, so that a program can write and read a file with the same parameters.
/// Reading leaves those for writing alone. For writing, those for reading must have their defaults: `SCDA_ERR_ARG` otherwise.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct scda_params<'a> {
    /// The size of this struct in bytes, as `scda_params_init` sets it. It may be that of an older or newer version.
    pub size: usize,
    /// Every call:
    ///
    /// The number of threads by which this rank compresses or decompresses the elements of a section, 1
    /// (default) to 1024; other ranks may have other numbers. The file does not depend on it.
    pub threads: c_int,
    /// `SCDA_DRIVER_AUTO` (default), `SCDA_DRIVER_MPIIO` or `SCDA_DRIVER_POSIX`.
    pub driver: c_int,
    /// Hints for MPI-IO. `MPI_INFO_NULL` (default): none. They remain the caller's. With
    /// `SCDA_DRIVER_POSIX` they are an argument error; in a build without MPI they are ignored.
    pub info: MPI_Info,
    /// The most memory, in bytes, to buffer small sections when writing and to read them ahead: 4 MiB
    /// (default), at most 64 MiB. The library uses less where that is as fast. 0: every section is
    /// written at once.
    pub aggregation_bytes: u64,
    /// For large sections of which a rank has less than a stripe on average: the number of aggregators, the ranks of
    /// each node that write and read whole stripes for all ranks of the node, through memory that these share; at
    /// most 1024. 0 (default): one for each stripe of a node's data, at most 8, if the ranks are on several
    /// nodes; on one node, each rank writes and reads its own data. No effect where the ranks of a node do not
    /// share memory. The environment variable `SCDA_WRITERS_PER_NODE` of rank 0 replaces a 0.
    pub writers_per_node: u64,
    /// The bytes of a stripe of the file, on which a parallel file system gives locks; at most 4 GiB.
    /// 0 (default): what Lustre says of the file, elsewhere the block size of the file, if it is at least 64 KiB
    /// or `writers_per_node` is given. The environment variable `SCDA_STRIPE_BYTES` of rank 0 replaces a 0.
    pub stripe_bytes: u64,
    /// On Lustre, the number of stripes of a new file that the POSIX driver writes, at most 2000; a server may have
    /// several of them. 0 (default): two for each node, of `stripe_bytes` or 4 MiB, if the ranks are on several nodes
    /// and neither the folder nor the file system has a layout that somebody chose. Where Lustre refuses, and elsewhere,
    /// the file is as the file system makes it. The environment variable `SCDA_STRIPE_COUNT` of rank 0 replaces a 0.
    pub stripe_count: u64,
    /// Reading, and opening to append: the most bytes of memory that a call takes on each rank because of what the file
    /// says, in one allocation and in all; `SCDA_ERR_MEMORY` if it needs more, with a message that says where. For files of
    /// unknown origin, in which a few bytes can ask for a chunk, an index or metadata of any size. Caches take at most
    /// a quarter of it; buffers of a few MiB count, memory of the program does not. 0 (default): no limit.
    pub max_memory: u64,
    /// 1: the ranks agree on errors and compare their arguments in every call, by one small reduction, to
    /// find mistakes in a program. The environment variable `SCDA_CHECK=1` of rank 0 has the same effect
    /// in any program. 0 (default): only in calls that synchronize the ranks anyway.
    pub check: c_int,
    /// Writing:
    ///
    /// `SCDA_LINEBREAK_UNIX` (default) or `SCDA_LINEBREAK_MIME`.
    pub linebreak: c_int,
    /// `SCDA_ENCODER_FAST` (default) or `SCDA_ENCODER_ZLIB`.
    pub encoder: c_int,
    /// The level of compression, 0 to 9 (default 2).
    pub level: c_int,
    /// 1: the file gets its name only when it is complete, at close. Until then it has a name
    /// beside it that ends in ".scda-part", and an existing file stays as it is. What a killed job
    /// leaves under that name is replaced by the next job. Implies `sync`, unless that is -1. Links are followed,
    /// and the permissions of the existing file are kept. 0 (default): the file is written under its name.
    pub atomic: c_int,
    /// 1: closing transfers the file to stable storage. 0 (default): the system does so later, unless
    /// `atomic` is 1. -1: later, even with `atomic`: a job that is killed leaves the old file or the new
    /// one, but if the system itself stops, the name may belong to an incomplete file.
    pub sync: c_int,
    /// 1 (default): `scda_fclose` writes a seal, and so does `scda_fcommit`: a record of all sections with
    /// their checksums, by which readers know that the file is whole and find each section. Each section
    /// takes 256 bytes in it. The header of a new file says that the file is to be sealed, and is in stable storage
    /// when `scda_fopen_write` returns; `scda_fopen_append` removes whatever no seal follows. 0: bare sections: the file
    /// has what the program writes and no more, unless it has a seal already (`scda_fopen_append`).
    pub seal: c_int,
    /// Whether a file with `seal` and datasets is also an HDF5 file, which h5py, h5dump, netCDF-4 and other programs open without conversion
    /// (docs/hdf5.md). 0 (default) or 1: closing it, then and whenever it was appended to, writes a view of its datasets. 2: each commit
    /// does, too. -1: a new file has no room for that. Where the creator of the file chose -1, closing never writes a view, and 2 is
    /// `SCDA_ERR_ARG`, as is creating a file with 2 and without `seal`.
    pub hdf5: c_int,
    /// Appending to a sealed file: 0 (default): after its last seal. Otherwise the number of sections that stay, wherever the commits
    /// were; what follows is removed, at once unless `atomic` is 1. `SCDA_ERR_ARG` if the file has fewer, or if the last of them belongs to
    /// the next one, as the metadata of a dataset do: the file is as it was. `append_name` needs no numbers of sections.
    pub append_after: u64,
    /// Appending to a sealed file: goes on after a step. NULL (default): after everything that was committed. Otherwise the dataset that the
    /// program writes first in each step, such as its time, a C string: everything before the record that follows `append_record` of it stays;
    /// this record and all that follows are removed, wherever the commits were, at once unless `atomic` is 1. Of patches, particles and
    /// forests, the path of the group with a slash at its end, such as "amr/". Not together with `append_after`. It must stay valid until the
    /// file is opened.
    pub append_name: Text<'a>,
    /// With `append_name`: the step after which the program goes on: 0 is the first record, -1 the last. `SCDA_ERR_ARG` if there is no such
    /// record: the file is as it was.
    pub append_record: i64,
    /// The most bytes of memory of each rank for writing in the background, at least 1 MiB: calls copy what they
    /// write, and a thread of the file writes it, which makes no call of MPI. See `scda_fcommit_begin`. An argument
    /// error where MPI-IO is used. 0 (default): none, every call writes itself. The environment variable
    /// `SCDA_BACKGROUND_BYTES` of rank 0 replaces a 0, except with MPI-IO.
    pub background_bytes: u64,
    /// Writing with `background_bytes`: 1: the program promises to neither change nor free the data of a call that writes
    /// before it has waited for the commit or close that follows, or before `scda_fflush`. Plain data from 64 KiB on
    /// that are contiguous in memory are then written from there, not copied, and take none of `background_bytes`; not by
    /// `scda_fwrite_datasets`, nor after compressed datasets whose offsets are not known yet. 0 (default): data may be
    /// changed as soon as a call returns.
    pub lend: u64,
    /// Writing and reading:
    ///
    /// Writing with `atomic`: how many of the files that had this name before stay: when the new file is
    /// complete and in stable storage, the one that had the name, `state.scda`, becomes `state.1.scda`, that
    /// one `state.2.scda`, and so on; the oldest is removed. Each of them is a whole file at any moment, except
    /// where the file system has no hard links. Only whole files are moved and removed: a number whose name belongs to
    /// anything else is skipped. At most 1000. 0 (default): none stays. Not with `sync` -1.
    /// A link is followed: these files are in the folder of the file that it points to.
    ///
    /// Reading: how many of them may stand in for a file that is missing, or torn or damaged so that it has no seal: the
    /// first one is read that has a seal, up to its last one; `scda_get_info` tells its age. So a job restarts from the last
    /// whole state. `SCDA_ERR_FORMAT` if the file is there and none of them has a seal, otherwise the error of the file. 0
    /// (default): none; then a file needs no seal. Not with `to_seal` 0.
    pub keep: u64,
    /// Reading:
    ///
    /// A file that was created with `seal`: 1 (default): it ends after its last seal, and before the first one
    /// after its header. What follows was not committed, by a job that was killed or is still writing:
    /// `scda_get_info` and `scda_last_error_message` tell how much that is, `scda_frefresh` looks whether it was
    /// committed meanwhile. 0: all sections that are there are read, as far as they are whole.
    pub to_seal: c_int,
    /// 1: all ranks together compare the bytes of each section with its checksum before its header
    /// is returned; and on opening, those of the file header and of the seal. `SCDA_ERR_CHECKSUM` if they
    /// differ, or if no seal ends what is read. 0 (default): the bytes of sections are not compared.
    pub verify: c_int,
    /// The most bytes of decompressed chunks of datasets that each rank keeps for boxes that are read later:
    /// 16 MiB (default). 0: none. A call that reads several boxes, or most items of its chunks, keeps none.
    pub cache_bytes: u64,
}

/// The parameters of opening a file.
pub type scda_params_t<'a> = scda_params<'a>;

versioned!(scda_params_t<'_>, "params", "scda_params_init", defaults(), cache_bytes: u64);

/// Fills the parameters of a program that knows their first `size` bytes with the defaults: what
/// `scda_params_init` calls.
///
/// Not collective.
///
/// @param [out] params  The parameters. Must not be NULL.
/// @param [in] size     The size of `*params` where the program was compiled, which it gets as its `size`.
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
        append_record: 0,
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
    /// The defaults of the paper's call: no seal.
    pub fn bare() -> Self {
        Self { c: scda_params_t { seal: 0, ..defaults() }, tuning: Tuning::default() }
    }

    /// Those at a pointer; the defaults if it is NULL.
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

    /// The part for writing.
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
        }
        options.lend = flag("lend", c_int::try_from(c.lend).unwrap_or(-1))?;
        Ok(options)
    }

    pub fn into_reading(self) -> Result<ReadOptions> {
        // Values that no call takes are errors here, too.
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
