//! Options for opening a file.

use super::interrupt::Interrupt;
use super::limits::Limits;
use super::stripes;
use super::team::Function;
use scda_base::environment::{LEAST_BACKGROUND_BYTES, MAX_STRIPE_BYTES, MAX_STRIPES, MAX_WRITERS};
use scda_base::error::{Error, Result};
use scda_codec::{Encoder, MAX_LEVEL};
use scda_format::crc;
use scda_format::padding::LineBreak;
use scda_storage::Driver;
use scda_storage::faults::Faults;

/// The largest aggregation buffer: what is gathered from it must fit MPI's counts.
const MAX_AGGREGATION_BYTES: usize = 64 << 20;
/// A section of at most this size is small for any number of ranks. Measured with `benches`.
const SMALL_BYTES: usize = 64 << 10;
/// A section of at most this size for each rank is small, too. Measured with `benches`.
const SMALL_BYTES_PER_RANK: usize = 4 << 10;
/// The most older files that can be kept.
const MAX_KEPT: u64 = 1000;
/// The most threads that are allowed.
const MAX_THREADS: usize = 1024;

/// Whether a section is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encode {
    /// Not compressed.
    #[default]
    None,
    /// Compressed by the convention of the paper's section 3.
    Always,
    /// Compressed if that makes the whole section smaller. The choice depends on the data (and the encoder
    /// and level) alone, not on the partition.
    ///
    /// A sample is tried first, at fixed places among the bytes of all elements: a 32nd of the section, at
    /// least 8 KiB and at most 256 KiB; below 16 KiB, everything. If the sample grows by more than a
    /// sixteenth, as estimated from its byte counts and nearby repetitions, or otherwise by encoding it, the
    /// section is stored uncompressed, and nothing else is tried; so data that cannot be compressed cost
    /// little. Noise that repeats only at a large distance may count as incompressible. Otherwise all
    /// elements are compressed, and the exact size decides. Elements too small to become smaller are not
    /// tried.
    Auto,
}

/// The largest number of threads of any rank, the same on all ranks, unlike the number of one rank.
/// Collective steps depend on this number only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MostThreads(pub u64);

impl MostThreads {
    /// For steps that use no threads.
    pub const ONE: Self = Self(1);
}

/// How a file is accessed for reading or writing: speed and memory, not contents. The same on all ranks,
/// except for the number of threads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tuning {
    /// The number of threads with which this rank compresses or decompresses elements. It may differ between
    /// ranks, and does not affect the file.
    pub threads: usize,
    /// The number on which the ranks agree when they open the file.
    pub(crate) most_threads: MostThreads,
    /// The most bytes of memory for small sections, which are buffered in writing and read ahead in reading;
    /// at most 64 MiB. Less is used where that is as fast. 0: no buffering.
    pub aggregation_bytes: usize,
    /// For large sections of which a rank has less than a stripe on average: the number of ranks of each node
    /// (aggregators) that write and read whole stripes for all its ranks, through shared memory; at most
    /// 1024. 0: if the ranks are on several nodes, one for each stripe of a node's data, at most 8; on a
    /// single node, each rank accesses its own bytes. No effect where the ranks of a node cannot share
    /// memory. If this is 0, the environment variable `SCDA_WRITERS_PER_NODE` of rank 0 is used instead, if
    /// set.
    pub writers_per_node: u64,
    /// The size of a stripe in bytes: the part of a file that one server of a parallel file system stores,
    /// and locks, before the next server's part follows. At most 4 GiB. 0: on Lustre, the stripe size of the
    /// file; elsewhere the block size of the file (`st_blksize`), if it is at least 64 KiB or
    /// `writers_per_node` is given. If this is 0, the environment variable `SCDA_STRIPE_BYTES` of rank 0 is
    /// used instead, if set.
    pub stripe_bytes: u64,
    /// On Lustre, the number of stripes of a new file that the POSIX driver writes, at most 2000; a server
    /// may store several of them. 0: two stripes for each node, of [`Self::stripe_bytes`] or 4 MiB each, if
    /// the ranks are on several nodes and neither the folder nor the file system has a layout that somebody
    /// chose. If Lustre refuses, and on other file systems, the file has the file system's default layout. If
    /// this is 0, the environment variable `SCDA_STRIPE_COUNT` of rank 0 is used instead, if set.
    pub stripe_count: u64,
    /// How the ranks access the file. With `Auto`, the environment variable `SCDA_IO` (`mpi` or `posix`) of
    /// rank 0 decides, if set.
    pub driver: Driver,
    /// The most bytes of memory that an operation allocates on each rank on behalf of a file that is read or
    /// opened to append, for a single object and in all. Exceeding it is the error `Memory`, with the offset.
    /// Meant for files of unknown origin, in which a few bytes can claim a chunk, an index or metadata of any
    /// size. Caches take at most a quarter of it; buffers of some MiB count as well, memory of the program
    /// does not. 0: no limit.
    pub max_memory: u64,
    /// Makes the ranks agree on arguments and errors in every call, at the cost of one small reduction each,
    /// rather than only in calls that synchronize them anyway. The environment variable `SCDA_CHECK=1` of
    /// rank 0 turns it on.
    pub check: bool,
    /// The sizes that decide how work on datasets is divided.
    pub limits: Limits,
    /// Makes accesses of the file fail on purpose, to test how a program handles errors.
    pub faults: Option<Faults>,
    /// Hints for MPI-IO. With the driver `Auto`, they select MPI-IO.
    #[cfg(feature = "mpi")]
    pub hints: scda_storage::mpi_io::Hints,
}

/// Whether a sealed file with datasets is also an HDF5 file, which h5py, h5dump, netCDF-4 and other programs
/// can open in place (docs/hdf5.md). A new file then reserves 448 bytes for HDF5's superblock, and later gets
/// a view of its datasets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hdf5 {
    /// Closing writes a view of all datasets, including those of a file that is appended to. A file without
    /// room for the superblock gets none.
    #[default]
    Close,
    /// Each commit writes a view, too. `Argument` for a new file without [`WriteOptions::seal`], and when
    /// appending to a file without room for the superblock.
    Commits,
    /// A new file reserves no room. When appending to a file that has it, this is [`Self::Close`].
    Never,
}

/// Options for creating a file, or opening it to append. The same on all ranks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Options that affect only speed and memory.
    pub tuning: Tuning,
    /// The line breaks of paddings and compressed data.
    pub line_break: LineBreak,
    /// Which library compresses.
    pub encoder: Encoder,
    /// The level of compression, 0 to 9.
    pub level: u32,
    /// The file appears under its name only when it is complete, at close.
    pub atomic: bool,
    /// Closing brings the file to stable storage. Implied by `atomic` without `later`.
    pub sync: bool,
    /// An atomic file gets its name without being brought to stable storage first, unless `sync` is set. If
    /// the job is killed, the name belongs to the old file or the new one; after a crash of the system, it
    /// may belong to an incomplete file.
    pub later: bool,
    /// For an atomic file: how many of the files that had its name before are kept, as codes keep their last
    /// checkpoints. When the new file is complete and on stable storage, the file with the name,
    /// `state.scda`, becomes `state.1.scda`, that one `state.2.scda`, and so on; the oldest one is removed.
    /// Each of them is a whole file at any moment, except on file systems without hard links. Only whole
    /// files are renamed and removed: a number whose name belongs to anything else, such as a torn file or a
    /// folder, is skipped. At most 1000; 0: none is kept. Not with `later`.
    ///
    /// If the name is a link, these files are next to the file that it refers to.
    pub keep: u64,
    /// For appending to a sealed file: the number of sections to keep, wherever its seals are; 0: those up to
    /// the last seal. The rest is removed when the file is opened, or of an atomic file when it is completed.
    /// `Argument`, without changing the file, if the file has fewer sections, or if the last of them belongs
    /// together with the next one, as the metadata of a dataset do.
    ///
    /// Also `Argument` if a file is created.
    pub append_after: u64,
    /// For appending to a sealed file: continues after a step of the program, given by a dataset that the
    /// program writes first in each step, such as its time, and by a record of it, as for
    /// [`Reader::dataset_record`]. Everything before the next record of this dataset is kept, and the rest is
    /// removed, as with [`Self::append_after`]. The path of a mesh's group, with a slash at its end, stands
    /// for the mesh's time steps. `NotFound` if there is no such record; `Argument` if [`Self::append_after`]
    /// is set as well.
    ///
    /// [`Reader::dataset_record`]: crate::Reader::dataset_record
    pub append_record: Option<(String, i64)>,
    /// After an error or [`Collective::abandon`](crate::Collective::abandon), bytes that form no section are
    /// appended to a file that is not atomic, so that no reader takes it for complete. A file with a seal of
    /// this writer, or one that was opened to append, is truncated instead: to the last seal, or to its
    /// previous end.
    pub mark_incomplete: bool,
    /// Closing writes a seal, with which readers recognize a complete file, check it, and find sections by
    /// name (docs/format.md, "Sealed files"). It takes 160 bytes for each section and 1056 more, of which 448
    /// are for [`Self::hdf5`], and 32 for each 4096 elements of compressed and variable sections. A sealed
    /// file that is appended to is always sealed again.
    pub seal: bool,
    /// With [`Self::seal`]: whether the file is also an HDF5 file.
    pub hdf5: Hdf5,
    /// Allows user strings of the compression convention, with which the sections of a compressed pair can be
    /// copied one by one. Otherwise they are errors, because the file might not be readable. With
    /// [`Self::seal`], only a process that writes alone may use them, and must write both sections of a pair,
    /// which get one row of the index; on several ranks they are errors.
    pub raw: bool,
    /// The most bytes of memory on each rank for writing in the background: calls copy their data, which a
    /// thread of the file writes without calling MPI. 0: every call writes its data itself. Otherwise at
    /// least 1 MiB. Not with MPI-IO. See [`Writer::commit_begin`](crate::Writer::commit_begin).
    pub background_bytes: u64,
    /// With writing in the background: memory that is lent to a call of [`bindings`](crate::bindings) does
    /// not change until the program has waited for the write, so it is not copied.
    pub lend: bool,
    /// Stops compression from another thread.
    pub interrupt: Interrupt,
    /// The permissions of an atomic file with [`Driver::Posix`], less the bits of the umask, unless it
    /// replaces another file, whose permissions it keeps.
    #[doc(hidden)] // for the command and the Python package; with MPI-IO, MPI decides
    pub mode: u32,
}

/// Options for opening a file to read. The same on all ranks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Options that affect only speed and memory.
    pub tuning: Tuning,
    /// Of a file that was created to be sealed, reads only what its last seal covers, that is, what was
    /// committed. What a killed job has left after it, or another job is writing there, is ignored
    /// ([`Reader::left_out`] has its size). On by default. Without it, and with [`Self::raw`], everything is
    /// read.
    ///
    /// [`Reader::left_out`]: crate::Reader::left_out
    pub to_seal: bool,
    /// The bytes of each section are compared with the checksum in the file's index before its header is
    /// used, by all ranks together; when the file is opened, so are the file header and the seal at the end.
    /// A difference is the error `Checksum`, as is a file that does not end with a seal. Not together with
    /// `raw`.
    pub verify: bool,
    /// How many of the older files that [`WriteOptions::keep`] keeps may stand in for a file that is missing,
    /// or has no seal because it is torn or damaged. The newest one with a seal is read ([`Reader::age`]), up
    /// to that seal, so that a job restarts from the last complete state. At most 1000; 0: none, and the file
    /// needs no seal. Only with `to_seal`.
    ///
    /// [`Reader::age`]: crate::Reader::age
    pub keep: u64,
    /// Shows the sections of seals.
    pub raw: bool,
    /// An element whose zlib stream violates RFC 1951 is an error even if its data can be decoded. Each
    /// element is decoded twice, the second time by zlib; this is meant for checking files.
    pub strict: bool,
    /// The most bytes of decompressed chunks that each rank keeps, so that boxes that are read one by one
    /// from the same chunks do not decompress them again. The least recently used chunks are dropped first.
    /// By default [`Self::DEFAULT_CACHE_BYTES`]; 0: none. A call that reads several boxes, or most items of
    /// its chunks, keeps none.
    pub cache_bytes: u64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            threads: 1,
            most_threads: MostThreads::ONE,
            aggregation_bytes: Self::DEFAULT_AGGREGATION_BYTES,
            writers_per_node: 0,
            stripe_bytes: 0,
            stripe_count: 0,
            driver: Driver::default(),
            max_memory: 0,
            check: false,
            limits: Limits::default(),
            faults: None,
            #[cfg(feature = "mpi")]
            hints: scda_storage::mpi_io::Hints::default(),
        }
    }
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            tuning: Tuning::default(),
            line_break: LineBreak::default(),
            encoder: Encoder::default(),
            level: Self::DEFAULT_LEVEL,
            atomic: false,
            sync: false,
            later: false,
            keep: 0,
            append_after: 0,
            append_record: None,
            mark_incomplete: false,
            seal: false,
            hdf5: Hdf5::default(),
            raw: false,
            background_bytes: 0,
            lend: false,
            interrupt: Interrupt::default(),
            mode: 0o666,
        }
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            tuning: Tuning::default(),
            to_seal: true,
            verify: false,
            keep: 0,
            raw: false,
            strict: false,
            cache_bytes: Self::DEFAULT_CACHE_BYTES,
        }
    }
}

/// A value to be compared between the ranks, and its name in messages; `#` begins the name of a hash.
pub(super) type NamedValue = (&'static [&'static str; 1], u64);

/// The options of a call that opens a file.
pub(super) trait Options {
    fn tuning(&self) -> &Tuning;

    /// Returns an error for invalid options.
    fn validate(&self, function: Function) -> Result<()>;

    /// The values to be compared between the ranks, in addition to those of [`Tuning`].
    fn values(&self) -> Vec<NamedValue>;
}

/// The largest size of memory that may be chosen. More is a negative number in a program that converts it.
const MOST_BYTES: u64 = i64::MAX as u64;

/// Returns an error if a number is not in its range.
fn check_ranges(numbers: &[(&str, u64, u64, u64)]) -> Result<()> {
    numbers.iter().try_for_each(|&(name, value, least, most)| match value {
        value if (least..=most).contains(&value) => Ok(()),
        _ => Err(Error::argument(format!("{name}: found {value}, expected {least} to {most}"))),
    })
}

impl Options for WriteOptions {
    fn tuning(&self) -> &Tuning {
        &self.tuning
    }

    fn validate(&self, function: Function) -> Result<()> {
        check_ranges(&[
            ("level", u64::from(self.level), 0, u64::from(MAX_LEVEL)),
            ("keep", self.keep, 0, MAX_KEPT),
            ("background_bytes", self.background_bytes, 0, MOST_BYTES),
        ])?;
        self.tuning.validate()?;
        if self.keep > 0 && !(self.atomic && (self.sync || !self.later)) {
            return Err(Error::argument(format!(
                "keep: found {}, which needs `atomic`, and `sync` not switched off",
                self.keep
            )));
        }
        if self.hdf5 == Hdf5::Commits && !self.seal && matches!(function, Function::Create) {
            return Err(Error::argument("hdf5: a commit has a view only in a sealed file"));
        }
        let goes_back = self.append_after > 0 || self.append_record.is_some();
        if goes_back && matches!(function, Function::Create) {
            let words = "append_after, append_record: found a place in a new file, which has none";
            return Err(Error::argument(words));
        }
        if self.append_after > 0 && self.append_record.is_some() {
            return Err(Error::argument("append_after, append_record: found both"));
        }
        if matches!(&self.append_record, Some((name, _)) if name.is_empty()) {
            return Err(Error::argument("the name of the dataset to append after: found an empty one"));
        }
        if self.background_bytes > 0 && self.background_bytes < LEAST_BACKGROUND_BYTES {
            let (found, least) = (self.background_bytes, LEAST_BACKGROUND_BYTES);
            let words = format!("background_bytes: found {found}, expected 0 or at least {least}");
            return Err(Error::argument(words));
        }
        Ok(())
    }

    fn values(&self) -> Vec<NamedValue> {
        vec![
            (&["line_break"], u64::from(self.line_break == LineBreak::Mime)),
            (&["encoder"], u64::from(self.encoder == Encoder::Zlib)),
            (&["level"], u64::from(self.level)),
            (&["atomic"], u64::from(self.atomic)),
            (&["sync"], u64::from(self.sync)),
            (&["later"], u64::from(self.later)),
            (&["keep"], self.keep),
            (&["append_after"], self.append_after),
            (&["#append_name"], self.append_record.as_ref().map_or(0, |(name, _)| crc::of(name.as_bytes()))),
            (
                &["append_record"],
                self.append_record.as_ref().map_or(0, |&(_, record)| record.cast_unsigned()),
            ),
            (&["mark_incomplete"], u64::from(self.mark_incomplete)),
            (&["seal"], u64::from(self.seal)),
            (&["hdf5"], self.hdf5 as u64),
            (&["raw"], u64::from(self.raw)),
            (&["background_bytes"], self.background_bytes),
            (&["lend"], u64::from(self.lend)),
        ]
    }
}

impl Options for ReadOptions {
    fn tuning(&self) -> &Tuning {
        &self.tuning
    }

    fn validate(&self, _: Function) -> Result<()> {
        check_ranges(&[("keep", self.keep, 0, MAX_KEPT), ("cache_bytes", self.cache_bytes, 0, MOST_BYTES)])?;
        self.tuning.validate()?;
        if self.keep > 0 && (self.raw || !self.to_seal) {
            return Err(Error::argument(format!("keep: {} needs to_seal, and not raw", self.keep)));
        }
        if self.raw && self.verify {
            return Err(Error::argument("verify cannot be combined with raw"));
        }
        Ok(())
    }

    fn values(&self) -> Vec<NamedValue> {
        vec![
            (&["to_seal"], u64::from(self.to_seal)),
            (&["verify"], u64::from(self.verify)),
            (&["keep"], self.keep),
            (&["raw"], u64::from(self.raw)),
            (&["strict"], u64::from(self.strict)),
            (&["cache_bytes"], self.cache_bytes),
        ]
    }
}

impl WriteOptions {
    /// The default level of compression, a compromise according to `benches/records`: lower levels give
    /// larger files for integers; higher ones are much slower and save little.
    pub const DEFAULT_LEVEL: u32 = 2;
}

impl ReadOptions {
    /// The default size of the cache of decompressed chunks.
    pub const DEFAULT_CACHE_BYTES: u64 = 16 << 20;
}

impl Tuning {
    /// The default size of the aggregation buffer.
    pub const DEFAULT_AGGREGATION_BYTES: usize = 4 << 20;

    /// The largest section, or part of one, that is buffered to be written with others, and read with the
    /// headers. The same on all ranks. Above it, or above some KiB for each rank, an access by every rank
    /// costs less than copying.
    pub(super) fn small_bytes(&self, ranks: usize) -> usize {
        (self.aggregation_bytes / 8).min(SMALL_BYTES.max(ranks.saturating_mul(SMALL_BYTES_PER_RANK)))
    }

    /// The size of a cache, reduced if memory is limited.
    pub(super) fn bounded(&self, bytes: u64) -> u64 {
        if self.max_memory == 0 { bytes } else { bytes.min(self.max_memory / 4) }
    }

    /// The size of each half of the memory that the ranks of a node share for small sections. More than fits
    /// a processor cache brings nothing: the pages of new memory cost as much as writing them to the file.
    pub(super) fn half_bytes(&self, ranks: usize) -> usize {
        4 * self.small_bytes(ranks)
    }

    /// Uses the block size of the file as the stripe size if none was given. Blocks of a local file system
    /// are not stripes, unless the user requests aggregators. The same on all ranks.
    pub(super) fn find_stripe(&mut self, block_bytes: u64) {
        if self.stripe_bytes == 0 {
            let stripe = if self.writers_per_node > 0 { block_bytes } else { stripes::of_block(block_bytes) };
            self.stripe_bytes = stripe.min(MAX_STRIPE_BYTES);
        }
    }

    fn validate(&self) -> Result<()> {
        check_ranges(&[
            ("threads", self.threads as u64, 1, MAX_THREADS as u64),
            ("aggregation_bytes", self.aggregation_bytes as u64, 0, MAX_AGGREGATION_BYTES as u64),
            ("writers_per_node", self.writers_per_node, 0, MAX_WRITERS),
            ("stripe_bytes", self.stripe_bytes, 0, MAX_STRIPE_BYTES),
            ("stripe_count", self.stripe_count, 0, MAX_STRIPES),
            ("max_memory", self.max_memory, 0, MOST_BYTES),
        ])?;
        #[cfg(feature = "mpi")]
        if self.driver == Driver::Posix && !self.hints.is_none() {
            return Err(Error::argument("info: hints for MPI-IO cannot be combined with the POSIX driver"));
        }
        Ok(())
    }

    /// The values to be compared between the ranks.
    pub(super) fn values(&self) -> [NamedValue; 9] {
        [
            (&["aggregation_bytes"], self.aggregation_bytes as u64),
            (&["writers_per_node"], self.writers_per_node),
            (&["stripe_bytes"], self.stripe_bytes),
            (&["stripe_count"], self.stripe_count),
            (&["driver"], self.driver as u64),
            (&["max_memory"], self.max_memory),
            (&["check"], u64::from(self.check)),
            (&["#limits"], self.limits.word()),
            (&["faults"], self.faults.map_or(0, |faults| faults.every)),
        ]
    }
}
