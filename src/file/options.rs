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

/// The largest aggregation buffer: what is gathered from it must fit the counts of MPI.
const MAX_AGGREGATION_BYTES: usize = 64 << 20;
/// A section of this number of bytes is small for any number of ranks. Measured with `benches`.
const SMALL_BYTES: usize = 64 << 10;
/// A section of this number of bytes for each rank is small, too. Measured with `benches`.
const SMALL_BYTES_PER_RANK: usize = 4 << 10;
/// The most files of one name that are kept.
const MAX_KEPT: u64 = 1000;
/// The most threads that make sense.
const MAX_THREADS: usize = 1024;

/// Whether a section is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encode {
    /// Plain.
    #[default]
    None,
    /// Compressed by the convention of the paper's section 3.
    Always,
    /// Compressed if the whole section gets smaller by it, else plain. The choice depends on the
    /// data (and the encoder and the level) alone, not on the partition.
    ///
    /// A sample at fixed places among the bytes of all elements comes first: a 32nd of the section, at least
    /// 8 KiB and at most 256 KiB; all of it below 16 KiB. If by counting its bytes and repetitions nearby,
    /// or else by encoding it, it gets larger by more than a sixteenth, the section is plain and no more
    /// is tried; so data that cannot be compressed cost little. Noise that comes again only far away may be
    /// taken for noise. Else all elements are compressed, and the exact size decides. Where elements are
    /// so small that they can only grow, nothing is tried.
    Auto,
}

/// The greatest number of threads of a rank: the same on all ranks, which the number of one rank need not be. What the ranks do
/// together depends on this one alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MostThreads(pub(super) u64);

impl MostThreads {
    /// For what is not done by threads.
    pub const ONE: Self = Self(1);

    pub fn get(self) -> u64 {
        self.0
    }
}

/// How a file is accessed, whether it is written or read: speed and memory, not what is in the file. All ranks pass the same, but may have
/// different numbers of threads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tuning {
    /// The number of threads by which this rank compresses or decompresses the elements of a section; other ranks may have other
    /// numbers. The file does not depend on it.
    pub threads: usize,
    /// What the ranks agree on when they open the file.
    pub(crate) most_threads: MostThreads,
    /// The most bytes of memory for small sections, which are buffered when writing and read ahead when
    /// reading; at most 64 MiB. Less is used where that is as fast. 0: nothing is buffered.
    pub aggregation_bytes: usize,
    /// For large sections of which a rank has less than a stripe on average: how many ranks of each node write and read for all
    /// ranks of the node, through memory that these share, each whole stripes. 0: one for each stripe of a node's data, at most
    /// 8, if the ranks are on several nodes; on one node each rank writes and reads its own. Up to 1024. No effect where the
    /// ranks of a node do not share memory. Where this is 0, the environment variable `SCDA_WRITERS_PER_NODE` of rank 0 decides if
    /// it is set.
    pub writers_per_node: u64,
    /// The bytes of a stripe: what one server of a parallel file system has of a file before the next one follows, and gives
    /// locks on. Up to 4 GiB. 0: what Lustre says of the file, elsewhere the block size of the file (`st_blksize`), if it is at least 64
    /// KiB or `writers_per_node` is given. Where this is 0, the environment variable `SCDA_STRIPE_BYTES` of rank 0 decides if it is
    /// set.
    pub stripe_bytes: u64,
    /// On Lustre, the number of stripes of a new file that the POSIX driver writes, at most 2000; a server may have several of them. 0: two
    /// stripes for each node, of [`Self::stripe_bytes`] or 4 MiB, if the ranks are on several nodes and neither the folder nor the file
    /// system has a layout that somebody chose. Where Lustre refuses, and elsewhere, the file is as the file system makes it. Where this
    /// is 0, the environment variable `SCDA_STRIPE_COUNT` of rank 0 decides if it is set.
    pub stripe_count: u64,
    /// How the ranks access the file. With `Auto`, the environment variable `SCDA_IO` (`mpi` or
    /// `posix`) of rank 0 decides if it is set.
    pub driver: Driver,
    /// The most bytes of memory that an operation takes on each rank for what a file asks for that is read, or opened to append, in one
    /// piece and in all; more is the error `Memory`, which says where. For files of unknown origin, of
    /// which a few bytes can ask for a chunk, an index or metadata of any size. Caches take a quarter of it at most;
    /// buffers of some MiB count, memory of the program does not. 0: no limit.
    pub max_memory: u64,
    /// The ranks agree on arguments and errors in every call, at the cost of one small reduction, and not
    /// only in calls that synchronize them anyway. The environment variable `SCDA_CHECK=1` of rank 0 turns it on.
    pub check: bool,
    /// At which sizes the work on datasets is divided.
    pub limits: Limits,
    /// Accesses of the file that fail on purpose, to test how a program handles errors.
    pub faults: Option<Faults>,
    /// Hints for MPI-IO; with the driver `Auto` they select it.
    #[cfg(feature = "mpi")]
    pub hints: scda_storage::mpi_io::Hints,
}

/// Whether a sealed file with datasets is also an HDF5 file, which h5py, h5dump, netCDF-4 and other programs open where it lies
/// (docs/hdf5.md): when it is created, it gets room for HDF5's superblock, 448 bytes; later, a view of its datasets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hdf5 {
    /// Closing writes a view of all datasets, also where the file was appended to. A file without room for the superblock gets none.
    #[default]
    Close,
    /// Each commit writes one as well. `Argument` for a new file without [`WriteOptions::seal`], and when appending to a file without room.
    Commits,
    /// A new file has no room. When appending, this is [`Self::Close`] if the file has it.
    Never,
}

/// The choices when a file is created, or opened to append to it. All ranks pass the same.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriteOptions {
    /// What concerns speed and memory alone.
    pub tuning: Tuning,
    /// The line breaks of paddings and compressed data.
    pub line_break: LineBreak,
    /// Which library compresses.
    pub encoder: Encoder,
    /// The level of compression, 0 to 9.
    pub level: u32,
    /// The file appears under its name only when it is complete, at close.
    pub atomic: bool,
    /// Closing brings the file to stable storage. `atomic` implies it, unless `later`.
    pub sync: bool,
    /// An atomic file gets its name without being brought to stable storage first, unless `sync`: a job that is
    /// killed leaves the old file or the new one, but where the system itself stops, the name may belong to an incomplete
    /// file.
    pub later: bool,
    /// An atomic file: how many of the files that had its name before stay, as a code keeps its last checkpoints. When
    /// the new file is complete and in stable storage, the file that had the name, `state.scda`, becomes
    /// `state.1.scda`, that one `state.2.scda`, and so on; the oldest one goes. Each of them is a whole file at any moment,
    /// except where the file system has no hard links. Only whole files are moved and removed: a number whose name belongs to
    /// anything else, such as a torn file or a folder, is passed over. At most 1000; 0: none stays. Not with `later`.
    ///
    /// A link is followed: these files are beside the one that it points to.
    pub keep: u64,
    /// Appending to a sealed file: 0: after its last seal. Otherwise the number of sections that stay, wherever the seals are: what follows is
    /// removed when the file is opened, of an atomic file when it is complete. `Argument` if these are more than the file has, or if the
    /// last of them belongs to the next one, as the metadata of a dataset do; the file is as it was.
    ///
    /// `Argument` where a file is created, too.
    pub append_after: u64,
    /// Appending to a sealed file: goes on after a step: a dataset that the program writes first in each step, such as its time, and which of its
    /// records, as for [`Reader::dataset_record`]. What precedes the next record of this name stays, and what follows that is removed, as with
    /// [`Self::append_after`]. `Argument` if there is no such record. Not together with [`Self::append_after`]. The path of a mesh's group,
    /// with a slash at its end, stands for its time steps.
    ///
    /// [`Reader::dataset_record`]: crate::Reader::dataset_record
    pub append_record: Option<(String, i64)>,
    /// After an error, or [`Collective::abandon`](crate::Collective::abandon), bytes that are no section follow
    /// the sections of a file that is not atomic, so that no reader takes it for complete. A file that has a seal of this
    /// writer, or was opened to append to it, is cut back instead: to the last seal, or to where it ended before.
    pub mark_incomplete: bool,
    /// Closing writes a seal, by which readers know that the file is whole, check it, and find sections by
    /// name (docs/format.md, "Sealed files"). It takes 256 bytes for each section and 1152 more, of which 448 are for [`Self::hdf5`], and 32
    /// for each 4096 elements of compressed and variable sections. A sealed file to which sections are appended is sealed again in any case.
    pub seal: bool,
    /// With [`Self::seal`]: whether the file is also an HDF5 file.
    pub hdf5: Hdf5,
    /// Sections may have the user strings of the compression convention, as copies of the sections of a
    /// compressed pair have, one by one. Without it they are errors: the file could not be read. With [`Self::seal`] a
    /// process that writes alone may write both sections of a pair, which get one row of the index; for several ranks they
    /// are errors.
    pub raw: bool,
    /// The most bytes of memory of each rank for writing in the background: every call copies what it writes, and a thread
    /// of the file writes it, which makes no call of MPI. 0: none, every call writes itself. At least 1 MiB otherwise. Not with
    /// MPI-IO. See [`Writer::commit_begin`](crate::Writer::commit_begin).
    pub background_bytes: u64,
    /// Writing in the background: the memory that a call of [`bindings`](crate::bindings) is lent stays as it is until what is written
    /// from it was waited for, so it is not copied.
    pub lend: bool,
    /// Stops compression from another thread.
    pub interrupt: Interrupt,
    /// An atomic file with [`Driver::Posix`]: its permissions, less the umask, unless it replaces another file, whose permissions
    /// it gets then.
    #[doc(hidden)] // for the command and the Python package; with MPI-IO, MPI decides
    pub mode: u32,
}

/// The choices when a file is opened for reading. All ranks pass the same.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadOptions {
    /// What concerns speed and memory alone.
    pub tuning: Tuning,
    /// A file that was created to be sealed: only what its last seal covers, which is all that was committed. What a killed
    /// job has left after it, or another one writes there now, is as if it were not there ([`Reader::left_out`]
    /// tells). On by default; off, and with [`Self::raw`], all that is there is read.
    ///
    /// [`Reader::left_out`]: crate::Reader::left_out
    pub to_seal: bool,
    /// The bytes of each section are compared with the checksum in the index of the file before its header is
    /// read, by all ranks together; and when the file is opened, those of its header and of the seal at its end. What
    /// differs is the error `Checksum`, as is a file without a seal at its end. Not together with `raw`.
    pub verify: bool,
    /// How many of the older files that [`WriteOptions::keep`] keeps may stand in for a file that is missing, or torn or damaged so that
    /// it has no seal: the first one is read that has one ([`Reader::age`]), up to that seal. So a job restarts from the last whole state.
    /// At most 1000; 0: none; then a file needs no seal. With `to_seal` only.
    ///
    /// [`Reader::age`]: crate::Reader::age
    pub keep: u64,
    /// The sections of a seal are shown.
    pub raw: bool,
    /// An element whose zlib stream RFC 1951 forbids is an error, even if its data can be read. Each
    /// element is decoded twice, the second time by zlib: this is for checking files.
    pub strict: bool,
    /// The most bytes of decompressed chunks of datasets that each rank keeps, so that boxes that are read one by one, and
    /// are parts of the same chunks, do not decompress them again. Those that were not used for longest go first. By default
    /// [`Self::DEFAULT_CACHE_BYTES`]; 0: none. A call that reads several boxes, or most items of its chunks, keeps none.
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

/// The options of a call that opens a file.
pub(super) trait Options {
    fn tuning(&self) -> &Tuning;

    /// An error for what has no meaning.
    fn validate(&self, function: Function) -> Result<()>;

    /// The values that must be the same on all ranks, for the comparison.
    fn words(&self) -> Vec<u64>;
}

/// An error if a number is not in its range.
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
        if self.background_bytes > 0 && self.background_bytes < LEAST_BACKGROUND_BYTES {
            let (found, least) = (self.background_bytes, LEAST_BACKGROUND_BYTES);
            let words = format!("background_bytes: found {found}, expected 0 or at least {least}");
            return Err(Error::argument(words));
        }
        Ok(())
    }

    fn words(&self) -> Vec<u64> {
        let own = [
            u64::from(self.line_break == LineBreak::Mime),
            u64::from(self.encoder == Encoder::Zlib),
            u64::from(self.level),
            u64::from(self.atomic),
            u64::from(self.sync),
            u64::from(self.later),
            self.keep,
            self.append_after,
            self.append_record.as_ref().map_or(0, |(name, _)| crc::of(name.as_bytes())),
            self.append_record.as_ref().map_or(0, |&(_, record)| record.cast_unsigned()),
            u64::from(self.mark_incomplete),
            u64::from(self.seal),
            self.hdf5 as u64,
            u64::from(self.raw),
            self.background_bytes,
            u64::from(self.lend),
        ];
        [&own[..], &self.tuning.words()].concat()
    }
}

impl Options for ReadOptions {
    fn tuning(&self) -> &Tuning {
        &self.tuning
    }

    fn validate(&self, _: Function) -> Result<()> {
        check_ranges(&[("keep", self.keep, 0, MAX_KEPT)])?;
        self.tuning.validate()?;
        if self.keep > 0 && (self.raw || !self.to_seal) {
            return Err(Error::argument(format!("keep: {} needs to_seal, and not raw", self.keep)));
        }
        if self.raw && self.verify {
            return Err(Error::argument("verify cannot be combined with raw"));
        }
        Ok(())
    }

    fn words(&self) -> Vec<u64> {
        let own = [
            u64::from(self.to_seal),
            u64::from(self.verify),
            self.keep,
            u64::from(self.raw),
            u64::from(self.strict),
            self.cache_bytes,
        ];
        [&own[..], &self.tuning.words()].concat()
    }
}

impl WriteOptions {
    /// The default level of compression: the knee of the curve in `benches/records`. Lower levels give larger
    /// files for integers; higher ones are much slower and save little.
    pub const DEFAULT_LEVEL: u32 = 2;
}

impl ReadOptions {
    /// The default size of the cache of decompressed chunks.
    pub const DEFAULT_CACHE_BYTES: u64 = 16 << 20;
}

impl Tuning {
    /// The default size of the aggregation buffer.
    pub const DEFAULT_AGGREGATION_BYTES: usize = 4 << 20;

    /// The most bytes of a section, or of a part of one, that is buffered to be written with others, and
    /// read with the headers. The same on all ranks. Beyond it, or beyond some KiB for each rank, an access
    /// by every rank costs less than copying.
    pub(super) fn small_bytes(&self, ranks: usize) -> usize {
        (self.aggregation_bytes / 8).min(SMALL_BYTES.max(ranks.saturating_mul(SMALL_BYTES_PER_RANK)))
    }

    /// The bytes of a cache, where memory is limited.
    pub(super) fn bounded(&self, bytes: u64) -> u64 {
        if self.max_memory == 0 { bytes } else { bytes.min(self.max_memory / 4) }
    }

    /// The bytes of each of the two halves of the memory that the ranks of a node share for small
    /// sections. More than stays in a cache makes nothing faster: the pages of new memory cost as much
    /// as writing them to the file.
    pub(super) fn half_bytes(&self, ranks: usize) -> usize {
        4 * self.small_bytes(ranks)
    }

    /// Takes the block size of the file for the bytes of a stripe, if these were not given. Blocks of a local file system are
    /// no stripes, unless the user wants writers. The same on all ranks.
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
        ])?;
        #[cfg(feature = "mpi")]
        if self.driver == Driver::Posix && !self.hints.is_none() {
            return Err(Error::argument("info: hints for MPI-IO cannot be combined with the POSIX driver"));
        }
        Ok(())
    }

    fn words(&self) -> [u64; 9] {
        [
            self.aggregation_bytes as u64,
            self.writers_per_node,
            self.stripe_bytes,
            self.stripe_count,
            self.driver as u64,
            self.max_memory,
            u64::from(self.check),
            self.limits.word(),
            self.faults.map_or(0, |faults| faults.every),
        ]
    }
}
