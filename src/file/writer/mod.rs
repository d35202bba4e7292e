//! Writing a file, section by section.

mod background;
mod datasets;
mod kinds;
mod names;
mod sealing;
mod sections;
#[cfg(test)]
mod simulation;
mod state;
mod streams;

#[cfg(feature = "mpi")]
pub(crate) use background::Pending;
pub use background::{Closing, CommitRequest};
pub use datasets::BoxStream;
pub(crate) use datasets::Given;
pub use kinds::{DataStream, ElementStream};

use super::open;
use super::params::{Encode, Params};
use super::reader::Surveyor;
use super::session::Session;
use super::source::Source;
use super::statistics::{self, Statistics};
use super::sums::{SummedFile, Sums};
use super::target::Target;
use super::team::{Failure, Function, Team, Topic};
use crate::error::{Error, Result};
use crate::format::dataset::{Dataset, Region};
use crate::format::header::{UserString, file_header};
use crate::format::{FILE_HEADER_BYTES, INLINE_BYTES, VENDOR_STRING_BYTES};
use crate::items::Data;
use crate::parallel::{Communicator, KnownPartition};
use crate::storage::lent::Lent;
use crate::texts::Texts;
use background::Commits;
use datasets::{DatasetCache, DatasetWriter, Unplaced};
use kinds::{Compression, SectionWriter};
use sealing::Sealer;
use sections::{Progress, Sections};
use std::io::Read;
use std::path::Path;
use streams::OwnStream;

/// What this library writes into the vendor string.
const VENDOR: &str = concat!("libscda ", env!("CARGO_PKG_VERSION"));
/// And into that of a file that is to be sealed, with the mark that says so.
const SEALED_VENDOR: &str =
    concat!("libscda ", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"), " sealed");
const _: () = assert!(SEALED_VENDOR.len() <= VENDOR_STRING_BYTES);

/// A file that is being written.
///
/// All functions that do not say otherwise are collective: every rank calls them in the same order, with the same arguments
/// except for the data and the sizes of its own elements. After an error the file is closed on all
/// ranks and ends with the last whole section; further calls are errors.
///
/// Dropping a writer without [`Writer::close`] does not close the file on the other ranks, and its buffered sections
/// are lost; a writer that is alone writes them first. An atomic write is undone.
///
/// Small plain sections are buffered and written together. So a later call reports a full disk, at the latest
/// [`Writer::flush`] or [`Writer::close`]; without [`Params::check`], this holds for any error that only one
/// rank can notice, such as data of the wrong length.
///
/// ```
/// use scda::{Encode, Params, Solo, Source, Writer};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("state.scda");
/// let mut file = Writer::create(Solo, &path, b"my simulation", &Params::default())?;
/// file.block(b"parameters", 0, 6, Some(b"dt=0.1"), Encode::None)?;
/// // Two elements of four bytes, all on the one rank that there is.
/// file.array(b"field", &[2], 4, Source::Contiguous(b"abcdefgh"), Encode::Always)?;
/// file.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a file is complete only when it is closed"]
pub struct Writer {
    session: Session<WriterState>,
    user: UserString,
    bytes_cut_off: u64,
}

/// What a file has to which sections are appended.
struct Found {
    /// Where the next section goes.
    end: u64,
    user: UserString,
    /// Whether it has a seal, or was to get one.
    is_sealed: bool,
    /// What its next seal is to say, if it gets one.
    sealer: Option<Sealer>,
    sums: Option<Sums>,
}

/// What a [`Writer`] has while its file is open.
pub(crate) struct WriterState {
    sections: Sections,
    compression: Compression,
    datasets: DatasetCache,
    unplaced: Unplaced,
    /// The stream of this rank, from the beginning of a set of streams to its end.
    stream: Option<OwnStream>,
    target: Target,
    commits: Commits,
    /// Whether arguments that are refused before anything is written leave the file open.
    tolerant: bool,
}

impl Writer {
    /// Creates a file, or empties one that exists, and writes its header (paper, section A.3).
    ///
    /// # Errors
    /// `Argument` for a user string of more than 58 bytes and for parameters without meaning, and
    /// the errors of the file system.
    pub fn create(
        comm: impl Communicator + 'static,
        path: &Path,
        user: &[u8],
        params: &Params,
    ) -> Result<Self> {
        Self::create_if_valid(Box::new(comm), Ok(path), UserString::new(user), Ok(params.clone()))
    }

    /// As [`Self::create`], if no rank has a wrong argument.
    pub(crate) fn create_if_valid(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        user: Result<UserString>,
        params: Result<Params>,
    ) -> Result<Self> {
        let create = |team: &mut Team, path: &Path, params: &mut Params| {
            let user = user?;
            team.note_bytes(Topic::UserString, &user);
            let vendor = if params.seal { SEALED_VENDOR } else { VENDOR };
            let header = file_header(vendor.as_bytes(), &user, params.line_break);
            let (file, target) = open::create(team, path, params, &header)?;
            let (sealer, sums) = match params.seal {
                true => Some(Sealer::new(team, user, &header)).unzip(),
                false => (None, None),
            };
            Ok((SummedFile::new(file, sums), target, sealer, user))
        };
        let (team, params, (file, target, sealer, user)) =
            open::if_valid(comm, Function::Create, path, params, create)?;
        let progress = Progress::of_new_file(FILE_HEADER_BYTES as u64);
        let session = Self::begin(team, file, target, params, sealer, progress);
        Ok(Self { session, user, bytes_cut_off: 0 })
    }

    /// Opens an existing file to write more sections behind those that it has. Its user string and its sections stay.
    ///
    /// If the file has a seal, writing continues behind the last one, which stays valid for the part of the file before it.
    /// Sections that were not committed, because a job was killed while it appended, are cut off, whole or not;
    /// [`Self::bytes_cut_off`] tells how many bytes. Closing seals the new sections, with [`Params::seal`] or without.
    ///
    /// A file that was created with [`Params::seal`] and has no seal yet is cut back to its header. Another file without a
    /// seal must be whole; with [`Params::seal`], its old sections are sealed before this returns.
    ///
    /// # Errors
    /// Those of [`Reader::open`](crate::Reader::open) and of reading the headers of a file that is not whole;
    /// `FileInUse` if somebody else writes it, and the errors of the file system. The file is as it was.
    pub fn append(comm: impl Communicator + 'static, path: &Path, params: &Params) -> Result<Self> {
        Self::append_if_valid(Box::new(comm), Ok(path), Ok(params.clone()))
    }

    /// As [`Self::append`], if no rank has a wrong argument.
    pub(crate) fn append_if_valid(
        comm: Box<dyn Communicator>,
        path: Result<&Path>,
        params: Result<Params>,
    ) -> Result<Self> {
        let (team, params, (file, mut target, size)) =
            open::if_valid(comm, Function::Append, path, params, open::append)?;
        let mut reading = Surveyor::new(team, file, size, &params);
        let limited = reading.limit_memory();
        let found = Self::continued(&mut reading, &params);
        drop(limited);
        let (mut team, mut file) = reading.into_parts();
        let result = found.and_then(|found| {
            // Nothing was changed before all ranks know where to go on.
            if found.end < size {
                let cut = file.truncate(found.end);
                team.agree(cut)?;
                // After a loss of power, nothing of it comes back among what is written now.
                let synced = file.sync();
                team.agree(synced)?;
            }
            Ok(found)
        });
        match result {
            Ok(Found { end, user, is_sealed, sealer, sums }) => {
                let file = SummedFile::new(file, sums);
                let (is_first_seal, is_copy) = (sealer.is_some() && !is_sealed, params.atomic);
                let mut session =
                    Self::begin(team, file, target, params, sealer, Progress::of_whole_file(end));
                if is_first_seal {
                    // What is appended is cut off if it is not committed; what the file had is not.
                    session.operate(|state| state.sections.seal(!is_copy))?;
                }
                Ok(Self { session, user, bytes_cut_off: size - end })
            }
            Err(failure) => {
                let error = team.settle(failure);
                let _ = file.close();
                if team.rank() == 0 {
                    target.discard();
                }
                Err(error)
            }
        }
    }

    /// Looks at a file to which sections are to be appended.
    fn continued(reading: &mut Surveyor, params: &Params) -> Result<Found, Failure> {
        let mut survey = reading.survey()?;
        let (end, user) = (survey.end, survey.header.user);
        let is_sealed = survey.is_sealed();
        if !params.seal && !is_sealed {
            return Ok(Found { end, user, is_sealed, sealer: None, sums: None });
        }
        let mut sealer = Sealer::continued(&survey);
        let sums =
            reading.sum_up(&survey, |row, part, data, sizes| sealer.note_surveyed(row, part, data, sizes))?;
        sealer.take_surveyed(&mut survey);
        Ok(Found { end, user, is_sealed, sealer: Some(sealer), sums: Some(sums) })
    }

    /// The user string of the file.
    #[must_use]
    pub fn user(&self) -> &UserString {
        &self.user
    }

    /// The bytes that [`Self::append`] has cut off: what a job that was killed while it appended had not sealed, and what is
    /// behind the seal that [`Params::behind`] chose.
    #[must_use]
    pub fn bytes_cut_off(&self) -> u64 {
        self.bytes_cut_off
    }

    /// Whether closing writes a seal. Not collective. After an error, there is no telling: false.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.session.state().is_some_and(|state| state.sections.is_sealed())
    }

    /// Where in the file the next section begins, in bytes. Not collective. `None` after an error, and while compressed datasets wait
    /// for their place: see [`Params::background_bytes`].
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        let state = self.session.state().filter(|state| state.unplaced.is_empty());
        state.map(|state| state.sections.end())
    }

    /// Begins to write sections: see [`Sections::new`].
    fn begin(
        team: Team,
        file: SummedFile,
        target: Target,
        params: Params,
        sealer: Option<Sealer>,
        progress: Progress,
    ) -> Session<WriterState> {
        Session::new(WriterState {
            sections: Sections::new(team, params, file, sealer, progress),
            compression: Compression::default(),
            datasets: DatasetCache::default(),
            unplaced: Unplaced::default(),
            stream: None,
            target,
            commits: Commits::default(),
            tolerant: false,
        })
    }

    /// For a process that writes alone: from now on, a call that is refused for its arguments (`Argument` or `Range`) before
    /// anything of it is written leaves the file open, as it was; [`Self::is_open`] tells.
    ///
    /// # Errors
    /// `Usage` if there is more than one rank.
    pub fn tolerate_arguments(&mut self) -> Result<()> {
        self.session.operate(|state| {
            if !state.sections.team.is_alone() {
                return Err(Error::usage("tolerating arguments: found several ranks, expected one").into());
            }
            state.tolerant = true;
            Ok(())
        })
    }

    /// Whether the file is open: not closed, by [`Self::close`] or an error. Not collective.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.session.state().is_some()
    }

    /// Writes an inline section (paper, section 2.3): 32 bytes of the rank `root`. The data of
    /// other ranks are ignored.
    ///
    /// # Errors
    /// `Argument`, `Usage`, and the errors of the file system.
    pub fn inline(&mut self, user: &[u8], root: usize, data: Option<&[u8; INLINE_BYTES]>) -> Result<()> {
        let data = data.ok_or_else(|| Error::argument("data: found none on the root rank"));
        self.write(|sections| sections.inline(user, root, data))
    }

    /// Writes a block (paper, section 2.4): `size` bytes of the rank `root`. The data of other
    /// ranks are ignored.
    ///
    /// # Errors
    /// `Argument`, `Range`, `Usage`, `Memory`, and the errors of the file system.
    pub fn block(
        &mut self,
        user: &[u8],
        root: usize,
        size: u64,
        data: Option<&[u8]>,
        encode: Encode,
    ) -> Result<()> {
        let data = match data {
            None if size > 0 => Err(Error::argument("data: found none on the root rank")),
            data => Ok(data.unwrap_or_default()),
        };
        self.write(|sections| sections.block(user, root, size, data, encode))
    }

    /// Writes an array (paper, section 2.5) of elements of `size` bytes; rank p has `counts[p]` of
    /// them, in the order of the ranks.
    ///
    /// # Errors
    /// `Argument`, `Range`, `Usage`, `Memory`, and the errors of the file system.
    pub fn array(
        &mut self,
        user: &[u8],
        counts: &[u64],
        size: u64,
        data: Source<'_>,
        encode: Encode,
    ) -> Result<()> {
        self.write(|sections| sections.array(user, counts, size, Ok(data), encode))
    }

    /// Writes a varray (paper, section 2.6): rank p has `counts[p]` elements; `sizes` are the bytes
    /// of each element of this rank, and `proc_sizes` the bytes of all elements of each rank, which
    /// are computed if they are not given.
    ///
    /// # Errors
    /// `Argument`, `Range`, `Usage`, `Memory`, and the errors of the file system.
    pub fn varray(
        &mut self,
        user: &[u8],
        counts: &[u64],
        sizes: &[u64],
        proc_sizes: Option<&[u64]>,
        data: Source<'_>,
        encode: Encode,
    ) -> Result<()> {
        self.write(|sections| sections.varray(user, counts, proc_sizes, Ok((sizes, data)), encode))
    }

    /// Writes a dataset: a block that says what it is, and a section with its data (docs/datasets.md). Each rank passes
    /// any boxes of the array, and their items with numbers in the byte order of the machine: in C order, those of one box after those
    /// of the other, or each box as it lies in memory ([`Memory`](crate::Memory)). What no rank passes has the fill value. The file does
    /// not depend on who passes what, nor on how it lies in memory.
    ///
    /// ```
    /// use scda::{DataType, Dataset, Params, Region, Solo, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("state.scda");
    /// let mut file = Writer::create(Solo, &path, b"my simulation", &Params::default())?;
    /// let mut density = Dataset::new("density", DataType::Float64, [2, 3]);
    /// density.attributes = r#"{"units": "kg/m^3"}"#.into();
    /// let all = [1.0, 1.1, 1.2, 2.0, 2.1, 2.2_f64].map(f64::to_ne_bytes).concat();
    /// file.dataset(&density, &[Region::all(&density.shape)], &all)?;
    /// file.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` for what cannot be a dataset, for boxes outside of the array, for an index that is in two boxes, of
    /// any ranks, and for a bool that is neither 0 nor 1; `Range`, `Usage`, `Memory`, and the errors of the file system.
    pub fn dataset<'a>(
        &mut self,
        dataset: &Dataset,
        regions: &'a [Region],
        data: impl Into<Data<'a>>,
    ) -> Result<()> {
        self.write_dataset(None, |datasets| datasets.dataset(dataset, Ok((regions, data.into()))))
    }

    /// Writes datasets, one after the other, as [`Self::dataset`] does each: the same bytes. Each is given with the boxes of this
    /// rank and their items; all ranks pass the same datasets in the same order. The chunks of several datasets in
    /// chunks, up to 16 MiB of items for each rank, are compressed together: the ranks exchange data once for all of them, and a
    /// dataset of few chunks does not make most ranks wait for the others.
    ///
    /// ```
    /// use scda::{DataType, Dataset, Layout, Params, Region, Solo, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("state.scda");
    /// let mut file = Writer::create(Solo, &path, b"my simulation", &Params::default())?;
    /// let [density, pressure] = ["density", "pressure"].map(|name| {
    ///     let mut dataset = Dataset::new(name, DataType::Float64, [100, 50]);
    ///     dataset.layout = Layout::Chunked { shape: None, text: false };
    ///     dataset
    /// });
    /// let (all, data) = ([Region::all(&[100, 50])], vec![0; 100 * 50 * 8]);
    /// file.datasets(&[(&density, &all, &data), (&pressure, &all, &data)])?;
    /// file.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Self::dataset`]. The file then ends behind one of the datasets, or with what was in it before.
    pub fn datasets<'a, D: Into<Data<'a>> + Copy>(
        &mut self,
        datasets: &[(&'a Dataset, &'a [Region], D)],
    ) -> Result<()> {
        let given = datasets.iter();
        let given =
            given.map(|&(dataset, regions, data)| Given { dataset, boxes: Ok((regions, data.into())) });
        self.given_datasets(&given.collect::<Vec<_>>())
    }

    /// As [`Self::datasets`]. The C interface calls it with boxes that may be errors of this rank.
    pub(crate) fn given_datasets(&mut self, all: &[Given<'_>]) -> Result<()> {
        self.session.operate(|state| {
            state.check_no_streams()?;
            state.datasets().datasets(all)
        })
    }

    /// Writes a dataset whose first dimension is distributed over the ranks: rank p has `counts[p]` indices of it, in the
    /// order of the ranks, and all of the other dimensions. Without chunks, the data are written straight from `data`,
    /// as [`Self::array`] does, unless they lie scattered in memory.
    ///
    /// # Errors
    /// Those of [`Self::dataset`]; `Argument` for counts whose sum is not the first dimension.
    pub fn field<'a>(&mut self, dataset: &Dataset, counts: &[u64], data: impl Into<Data<'a>>) -> Result<()> {
        self.write_dataset(None, |datasets| datasets.field(dataset, counts, Ok(data.into())))
    }

    /// As [`Self::field`], for who knows only how many indices of the first dimension this rank has: the ranks add them up, and the
    /// first number of the dataset's shape is not looked at. Many fields of one partition take less by [`Self::partition`].
    ///
    /// # Errors
    /// Those of [`Self::field`].
    pub fn own_field<'a>(&mut self, dataset: &Dataset, count: u64, data: impl Into<Data<'a>>) -> Result<()> {
        self.write_dataset(None, |datasets| datasets.own_field(dataset, count, Ok(data.into())))
    }

    /// Writes a dataset whose items are read from `data` part by part, with numbers in little-endian byte order as in the file: what
    /// [`Self::dataset`] writes. For a process that writes alone. The items come in C order; for chunks as boxes, if
    /// [`DataStream::boxes`] has them, else a layer of chunks must fit into memory.
    ///
    /// [`Layout::Auto`](crate::Layout::Auto) compresses more than 64 MiB up to twice: first to find out whether that pays.
    ///
    /// # Errors
    /// Those of [`Self::dataset`] and of [`Self::array_from`]; `Argument` for `Layout::Auto` and more than 64 MiB of data that cannot be
    /// read again.
    pub fn dataset_from(&mut self, dataset: &Dataset, data: &mut dyn DataStream) -> Result<()> {
        self.write_dataset(None, |datasets| datasets.dataset_from(dataset, data))
    }

    /// Writes a dataset of items of variable length, [`DataType::String`](crate::DataType::String) or
    /// [`DataType::VariableBytes`](crate::DataType::VariableBytes): this rank has `count` indices of the first dimension, in the order of the ranks.
    /// The ranks add them up, and the first number of the dataset's shape is not looked at.
    ///
    /// Such datasets are always in chunks, of whole indices of the first dimension; without a shape of chunks these have about 512 KiB.
    /// [`Layout::Contiguous`](crate::Layout::Contiguous) means that they are not compressed.
    ///
    /// ```
    /// use scda::{DataType, Dataset, Params, Reader, Region, Solo, Texts, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("names.scda");
    /// let mut file = Writer::create(Solo, &path, b"my simulation", &Params::default())?;
    /// let names: Texts = ["Merkur", "Vénus", "Erde"].into_iter().collect();
    /// file.texts(&Dataset::new("names", DataType::String, [3]), 3, &names)?;
    /// file.close()?;
    /// let mut file = Reader::open(Solo, &path, &Params::default())?;
    /// file.find_dataset("names", -1)?;
    /// let read = file.read_texts(&[Region::new([1], [2])])?;
    /// assert_eq!(read.strs().collect::<Vec<_>>(), ["Vénus", "Erde"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` for another type, another number of items, what is no UTF-8, and chunks of other shapes; `Range` for a chunk that gets
    /// more than 2^31 − 1 bytes; those of [`Self::dataset`].
    pub fn texts(&mut self, dataset: &Dataset, count: u64, items: &Texts) -> Result<()> {
        self.write_dataset(None, |datasets| datasets.texts(dataset, count, Ok(items)))
    }

    /// Writes the attributes of a group of datasets, a JSON object; the path is what the names of its datasets have before
    /// a slash, or `/` for all of the file. Attributes that are written again replace the earlier ones.
    ///
    /// # Errors
    /// `Argument` for a path or attributes that no group can have, `Usage`, `Memory`, and the errors of the file
    /// system.
    pub fn group(&mut self, path: &str, attributes: &str) -> Result<()> {
        self.write_dataset(None, |datasets| datasets.group(path, attributes))
    }

    /// Writes a block whose `size` bytes are read from `data` piece by piece, so that they need not fit memory;
    /// except if it is compressed. For a process that writes alone.
    ///
    /// # Errors
    /// Those of [`Self::block`], those of reading, and `Usage` if there is more than one rank.
    pub fn block_from(&mut self, user: &[u8], size: u64, data: &mut dyn Read, encode: Encode) -> Result<()> {
        self.write(|sections| sections.block_from(user, size, data, encode))
    }

    /// Writes an array of `count` elements of `size` bytes, which are read from `data` piece by piece: some MiB
    /// for each thread, or if it is compressed one element. For a process that writes alone.
    ///
    /// [`Encode::Auto`] decides as [`Self::array`] does. It reads the data up to three times, and compresses them
    /// twice if that pays.
    ///
    /// # Errors
    /// Those of [`Self::array`] and of [`Self::block_from`]; `Argument` for [`Encode::Auto`] and long data that can
    /// be read only once.
    pub fn array_from(
        &mut self,
        user: &[u8],
        count: u64,
        size: u64,
        data: &mut dyn DataStream,
        encode: Encode,
    ) -> Result<()> {
        self.write(|sections| sections.array_from(user, count, size, data, encode))
    }

    /// Writes a varray of `count` elements, whose sizes and bytes come piece by piece, as those of
    /// [`Self::array_from`]. For a process that writes alone.
    ///
    /// # Errors
    /// Those of [`Self::varray`] and of [`Self::array_from`].
    pub fn varray_from(
        &mut self,
        user: &[u8],
        count: u64,
        elements: &mut dyn ElementStream,
        encode: Encode,
    ) -> Result<()> {
        self.write(|sections| sections.varray_from(user, count, elements, encode))
    }

    /// Begins a set of streams: from now on each rank writes its own by [`Self::write_stream`], without the others, until
    /// [`Self::end_streams`]. The file has them in chunks of `chunk_bytes` bytes, 1 to 2^30; 0: a stripe
    /// ([`Params::stripe_bytes`]), at least 1 MiB and at most 64 MiB. A chunk should be a multiple of the file system's blocks, so that no
    /// two ranks write the same one.
    ///
    /// Until the end, only [`Self::flush`] and [`Self::commit`] may be called besides.
    ///
    /// # Errors
    /// `Argument`, `Usage`, `Memory`, and the errors of the file system.
    pub fn begin_streams(&mut self, user: &[u8], chunk_bytes: u64) -> Result<()> {
        self.session.operate(|state| {
            state.check_no_streams()?;
            state.streams().begin(user, chunk_bytes)
        })
    }

    /// Writes bytes to the end of this rank's stream. Not collective: no message is sent. What is long is written straight from
    /// `data`, the rest is collected.
    ///
    /// # Errors
    /// `Usage` if there are no streams; `Range`, `Memory`, and the errors of the file system. The other ranks learn of it when
    /// all next meet, in [`Self::flush`], [`Self::commit`] or [`Self::end_streams`], which then close the file.
    pub fn write_stream(&mut self, data: &[u8]) -> Result<()> {
        self.session.locally(|state| state.write_stream(data))
    }

    /// The bytes that this rank has written to its stream. Not collective. 0 if there are no streams.
    #[must_use]
    pub fn stream_bytes(&self) -> u64 {
        self.session.state().and_then(WriterState::stream_bytes).unwrap_or(0)
    }

    /// Ends the streams that [`Self::begin_streams`] has begun.
    ///
    /// # Errors
    /// `Usage` if there are none; those of all ranks in [`Self::write_stream`]; `Range` and the errors of the file system.
    pub fn end_streams(&mut self) -> Result<()> {
        self.session.operate(|state| state.streams().end())
    }

    /// Writes a set of streams as [`Self::begin_streams`] and the rest do, by a process that writes alone: `open` gives the
    /// stream of each of so many tasks, which is read to its end. They need not fit memory.
    ///
    /// # Errors
    /// `Usage` on more than one rank, `Argument` for 0 tasks, those of `open` and of reading, and those of [`Self::begin_streams`].
    pub fn streams_from(
        &mut self,
        user: &[u8],
        chunk_bytes: u64,
        tasks: u64,
        open: &mut dyn FnMut(u64) -> std::io::Result<Box<dyn std::io::Read>>,
    ) -> Result<()> {
        self.call(|state| state.streams().write_from(user, chunk_bytes, tasks, open))
    }

    /// Writes one section of the user. The C interface calls it with data that may be an error of this rank.
    #[inline]
    pub(crate) fn write(
        &mut self,
        section: impl FnOnce(&mut SectionWriter<'_>) -> Result<(), Failure>,
    ) -> Result<()> {
        self.call(|state| section(&mut state.plain()))
    }

    /// As [`Self::write`], of data in this memory, which stays as it is if [`Params::lend`] says so.
    pub(crate) fn write_lent(
        &mut self,
        lent: Option<Lent>,
        section: impl FnOnce(&mut SectionWriter<'_>) -> Result<(), Failure>,
    ) -> Result<()> {
        self.call(|state| state.lending(lent, |state| section(&mut state.plain())))
    }

    /// As [`Self::write_lent`], of a dataset or group.
    pub(crate) fn write_dataset(
        &mut self,
        lent: Option<Lent>,
        dataset: impl FnOnce(&mut DatasetWriter<'_>) -> Result<(), Failure>,
    ) -> Result<()> {
        self.session.operate_ahead(|state| {
            state.check_no_streams()?;
            state.lending(lent, |state| dataset(&mut state.datasets()))?;
            state.sections.end_call_if_any()
        })
    }

    #[inline]
    fn call(&mut self, write: impl FnOnce(&mut WriterState) -> Result<(), Failure>) -> Result<()> {
        self.session.operate(|state| {
            state.check_no_streams()?;
            write(state)?;
            state.sections.end_call()
        })
    }

    /// Writes all buffered sections, and lets all ranks know whether all went well until now.
    ///
    /// # Errors
    /// Those of all sections since the last flush.
    pub fn flush(&mut self) -> Result<()> {
        self.session.operate(|state| {
            state.sections.team.note_call(Function::Flush);
            state.streams().flush();
            state.sections.flush()
        })
    }

    /// The `count` of every rank, by rank: what [`Self::array`] and [`Self::varray`] take as `counts`, made
    /// from the number of elements that each rank has.
    ///
    /// # Errors
    /// Those of all calls since the ranks last agreed.
    pub fn proc_counts(&mut self, count: u64) -> Result<Vec<u64>> {
        self.session.proc_counts(count)
    }

    /// The partition in which this rank has `count` elements, to be made once: it stands for the `counts` that
    /// [`Self::array`], [`Self::varray`] and [`Self::field`] take, and takes no work that grows with the number of ranks.
    ///
    /// # Errors
    /// `Range` if the sum exceeds 63 bits, and those of all calls since the ranks last agreed.
    pub fn partition(&mut self, count: u64) -> Result<KnownPartition> {
        self.session.partition(count)
    }

    /// Writes everything, and a seal of it: a record of all sections with their checksums, by which a reader knows that
    /// the file is whole up to here (docs/format.md, "Sealed files"). On success all is in stable storage, and a job
    /// that is killed later loses nothing of it; except with [`Params::atomic`], where the file has its name only when
    /// it is closed.
    ///
    /// # Errors
    /// `Usage` without [`Params::seal`]; those of all sections since the last flush.
    pub fn commit(&mut self) -> Result<()> {
        self.session.operate(|state| {
            state.sections.team.note_call(Function::Commit);
            state.check_sealed()?;
            state.commit_between_parts()
        })
    }

    /// The sum of `sizes` on every rank, by rank: what [`Self::varray`] takes as `proc_sizes`.
    ///
    /// # Errors
    /// `Range` if a sum exceeds 63 bits.
    pub fn proc_sizes(&mut self, sizes: &[u64]) -> Result<Vec<u64>> {
        self.session.proc_sizes(sizes)
    }

    /// Writes the buffered sections and closes the file. Only success means that every byte is in it: errors
    /// of all ranks, and the size of the file, are checked. Call it on every file.
    ///
    /// # Errors
    /// Those of all sections since the last flush, and the errors of the file system. The file is
    /// closed regardless.
    pub fn close(mut self) -> Result<()> {
        let was_begun = self.session.state_mut().is_some_and(WriterState::end_closing);
        let closed = self.finish();
        if was_begun { closed.map_err(|error| error.of_request("close request")) } else { closed }
    }

    fn finish(mut self) -> Result<()> {
        self.session.operate(|state| {
            state.sections.team.note_call(Function::Close);
            state.check_no_streams()?;
            let Params { sync, atomic, later, .. } = state.sections.params;
            // An atomic write gets its name later, so its seal may be synced together with what it seals.
            state.sections.seal(sync && !atomic)?;
            if atomic && (sync || !later) { state.sections.sync() } else { Ok(()) }
        })?;
        let state = self.session.take()?;
        let statistics = Statistics::are_wanted().then(|| state.statistics());
        let WriterState { sections, mut target, .. } = state;
        let (mut team, file, params, end) = sections.into_parts();
        let finish = |team: &mut Team, target: &mut Target| -> Result<(), Failure> {
            team.agree_finally(file.close())?;
            let complete = if team.rank() == 0 { target.complete(end) } else { Ok(()) };
            let times = statistics.map(|statistics| statistics.of_writing());
            statistics::close(team, complete, &format!("{end} bytes"), times)
        };
        finish(&mut team, &mut target).map_err(|failure| {
            if team.rank() == 0 {
                target.give_up(params.mark_incomplete);
            }
            team.settle(failure)
        })
    }

    /// Closes the file on all ranks because this one cannot go on, and says why. The others get this error,
    /// which is returned, from the call they are in or from their next one that meets: a rank that leaves alone
    /// must not keep them waiting. The file is incomplete; an atomic write leaves the old one.
    pub fn abandon(mut self, why: &str) -> Error {
        self.session.fail(Error::argument(why))
    }

    /// Drops the writer as if the process were killed: writes nothing more and leaves the file as it is, an atomic
    /// write under its temporary name. Not collective. For a process that was forked off, and where the file may
    /// be another one by now.
    pub fn forget(mut self) {
        if let Ok(state) = self.session.take() {
            state.sections.leak_shared();
        }
    }

    /// The number of ranks, and this one.
    pub(crate) fn ranks(&mut self) -> (usize, usize) {
        self.session.ranks()
    }

    /// Notes an error of this rank, with which all ranks fail when they next agree.
    pub(crate) fn refuse(&mut self, error: Error) {
        self.session.refuse(error);
    }

    /// Fails on all ranks with an error that this one noticed in an argument, and closes the file.
    pub(crate) fn fail(&mut self, error: Error) -> Error {
        self.session.fail(error)
    }
}
