//! The calls of a writer for sections, datasets and streams.

use super::datasets::DatasetBoxes;
use super::operation::Operation;
use super::section_encoder::{DataStream, ElementStream, SectionEncoder};
use super::{Writer, WriterState};
use crate::file::options::Encode;
use crate::file::source::Source;
use crate::file::team::Failure;
use crate::items::Data;
use crate::texts::Texts;
use scda_base::error::{Error, Result};
use scda_format::INLINE_BYTES;
use scda_format::dataset::{Dataset, IndexBox};
use std::io::Read;

/// Sections.
impl Writer {
    /// Writes an inline section (paper, section 2.3): the 32 bytes of rank `root`. `data` is ignored on other
    /// ranks.
    ///
    /// # Errors
    /// `Argument`, `Usage`, and the errors of the file system.
    pub fn inline(&mut self, user: &[u8], root: usize, data: Option<&[u8; INLINE_BYTES]>) -> Result<()> {
        let data = data.ok_or_else(|| Error::argument("data: the root rank passes none"));
        self.write(Operation::Inline { user, root, data: data.as_ref().copied() })
    }

    /// Writes a block (paper, section 2.4): `size` bytes of rank `root`. `data` is ignored on other ranks.
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
            None if size > 0 => Err(Error::argument("data: the root rank passes none")),
            data => Ok(data.unwrap_or_default()),
        };
        self.write(Operation::Block { user, root, size, data: data.as_ref().copied(), encode })
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
        self.write(Operation::Array { user, counts, size, data: Ok(data), encode })
    }

    /// Writes a varray (paper, section 2.6) in which rank p has `counts[p]` elements. `sizes` holds the size
    /// of each element of this rank, and `proc_sizes` the sum of these sizes on each rank, which is computed
    /// if it is not given.
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
        self.write(Operation::Varray { user, counts, proc_sizes, data: Ok((sizes, data)), encode })
    }

    /// Writes sections, datasets and streams whose data are read while they are written, so that they need
    /// not fit in memory. For a process that writes alone.
    pub fn incremental(&mut self) -> IncrementalWriter<'_> {
        IncrementalWriter(self)
    }
}

/// Writes data while reading them in parts, for a process that writes alone. The bytes of the file are those
/// of [`Writer`].
pub struct IncrementalWriter<'a>(&'a mut Writer);

/// Datasets.
impl Writer {
    /// Writes a dataset: a block with its description, and a section with its data (docs/datasets.md). Each
    /// rank passes any boxes of the array and their items, with numbers in the byte order of the machine: in
    /// C order, the items of one box after those of the previous one, or each box in the layout that
    /// [`Memory`](crate::Memory) describes. Items that no rank passes have the fill value. The file does not
    /// depend on which rank passes what, nor on the layout in memory.
    ///
    /// ```
    /// use scda::{DataType, Dataset, WriteOptions, IndexBox, Solo, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("state.scda");
    /// let mut file = Writer::create(Solo, &path, b"my simulation", &WriteOptions::default())?;
    /// let mut density = Dataset::new("density", DataType::Float64, [2, 3]);
    /// density.attributes = r#"{"units": "kg/m^3"}"#.into();
    /// let all = [1.0, 1.1, 1.2, 2.0, 2.1, 2.2_f64].map(f64::to_ne_bytes).concat();
    /// file.dataset(&density, &[IndexBox::all(&density.shape)], &all)?;
    /// file.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` for an impossible dataset, for boxes outside the array, for an index in two boxes of any
    /// ranks, and for a bool that is neither 0 nor 1; `NotFound` for a dataset to extend; `Range`, `Usage`,
    /// `Memory`, and the errors of the file system.
    pub fn dataset<'a>(
        &mut self,
        dataset: &Dataset,
        regions: &'a [IndexBox],
        data: impl Into<Data<'a>>,
    ) -> Result<()> {
        self.write(Operation::Dataset { dataset, boxes: Ok((regions, data.into())) })
    }

    /// Writes datasets one after the other; the bytes of the file are those of [`Self::dataset`] for each.
    /// Each comes with the boxes of this rank and their items; all ranks pass the same datasets in the same
    /// order. Datasets in chunks are compressed together, up to 16 MiB of items for each rank: the ranks
    /// exchange data once for all of them, and a dataset of few chunks does not make most ranks wait for the
    /// others.
    ///
    /// ```
    /// use scda::{DataType, Dataset, Layout, WriteOptions, IndexBox, Solo, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("state.scda");
    /// let mut file = Writer::create(Solo, &path, b"my simulation", &WriteOptions::default())?;
    /// let [density, pressure] = ["density", "pressure"].map(|name| {
    ///     let mut dataset = Dataset::new(name, DataType::Float64, [100, 50]);
    ///     dataset.layout = Layout::Chunked { shape: None, text: false };
    ///     dataset
    /// });
    /// let (all, data) = ([IndexBox::all(&[100, 50])], vec![0; 100 * 50 * 8]);
    /// file.datasets(&[(&density, &all, &data), (&pressure, &all, &data)])?;
    /// file.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Self::dataset`]. The file then ends after one of the datasets, or with its previous
    /// contents.
    pub fn datasets<'a, D: Into<Data<'a>> + Copy>(
        &mut self,
        datasets: &[(&'a Dataset, &'a [IndexBox], D)],
    ) -> Result<()> {
        let all = datasets.iter().map(|&(dataset, regions, data)| {
            let boxes = Ok((regions, data.into()));
            DatasetBoxes { dataset, boxes }
        });
        self.write(Operation::Datasets(&all.collect::<Vec<_>>()))
    }

    /// Writes a dataset whose first dimension is distributed over the ranks: rank p has `counts[p]` of its
    /// indices, in the order of the ranks, with all indices of the other dimensions. If it is contiguous, it
    /// is written directly from `data`, as by [`Self::array`], unless the items are scattered in memory.
    ///
    /// # Errors
    /// The errors of [`Self::dataset`]; `Argument` for counts whose sum differs from the first dimension.
    pub fn field<'a>(&mut self, dataset: &Dataset, counts: &[u64], data: impl Into<Data<'a>>) -> Result<()> {
        self.write(Operation::Field { dataset, counts, data: Ok(data.into()) })
    }

    /// Like [`Self::field`], if a rank knows only its own number of indices of the first dimension: the ranks
    /// add them up, and the first number of the dataset's shape is ignored. For many fields with the same
    /// partition, [`Collective::partition`](crate::Collective::partition) costs less.
    ///
    /// # Errors
    /// The errors of [`Self::field`].
    pub fn own_field<'a>(&mut self, dataset: &Dataset, count: u64, data: impl Into<Data<'a>>) -> Result<()> {
        self.write(Operation::OwnField { dataset, count, data: Ok(data.into()) })
    }

    /// Writes a dataset of items of variable length, [`DataType::String`](crate::DataType::String) or
    /// [`DataType::VariableBytes`](crate::DataType::VariableBytes). This rank has `count` indices of the
    /// first dimension, in the order of the ranks. The ranks add them up, and the first number of the
    /// dataset's shape is ignored.
    ///
    /// Such a dataset is always divided into chunks of whole indices of the first dimension, by default of
    /// about 512 KiB. [`Layout::Contiguous`](crate::Layout::Contiguous) means that they are not compressed.
    ///
    /// ```
    /// use scda::{DataType, Dataset, ReadOptions, Reader, IndexBox, Solo, Texts, WriteOptions, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("names.scda");
    /// let mut file = Writer::create(Solo, &path, b"my simulation", &WriteOptions::default())?;
    /// let names: Texts = ["Merkur", "Vénus", "Erde"].into_iter().collect();
    /// file.texts(&Dataset::new("names", DataType::String, [3]), 3, &names)?;
    /// file.close()?;
    /// let mut file = Reader::open(Solo, &path, &ReadOptions::default())?;
    /// let found = file.dataset("names")?.expect("a dataset");
    /// let read = found.read_texts(&mut file, &[IndexBox::new([1], [2])])?;
    /// assert_eq!(read.strs().collect::<Vec<_>>(), ["Vénus", "Erde"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` for another type, a wrong number of items, text that is not UTF-8, and chunks of other
    /// shapes; `Range` for a chunk of more than 2^31 − 1 bytes; the errors of [`Self::dataset`].
    pub fn texts(&mut self, dataset: &Dataset, count: u64, items: &Texts) -> Result<()> {
        self.write(Operation::Texts { dataset, count, items: Ok(items) })
    }

    /// Writes the attributes of a group of datasets, a JSON object. The path is what precedes the last slash
    /// in the names of its datasets, with or without that slash, or `/` for the whole file. If attributes are
    /// written again, readers see the later ones.
    ///
    /// # Errors
    /// `Argument` for an impossible path or attributes, `Usage`, `Memory`, and the errors of the file system.
    pub fn group(&mut self, path: &str, attributes: &str) -> Result<()> {
        self.write(Operation::Group { path, attributes })
    }

    /// Sets attributes of a group, or of a dataset in the file that this job or an earlier one has written.
    /// Other attributes do not change. `changes` is a JSON object; a member that is `null` removes its
    /// attribute.
    ///
    /// The name is that of a dataset, and `record` its record, as in
    /// [`Reader::dataset_record`](crate::Reader::dataset_record); or it is the path of a group with a slash
    /// at its end, `/` for the file itself, and `record` is ignored. The file must be a sealed one
    /// ([`WriteOptions::seal`](crate::WriteOptions::seal)), and the attributes become valid with the next
    /// seal. They are appended: nothing in the file changes.
    ///
    /// ```
    /// use scda::{DataType, Dataset, ReadOptions, Reader, IndexBox, Solo, WriteOptions, Writer};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("state.scda");
    /// let mut params = WriteOptions::default();
    /// params.seal = true;
    /// let mut file = Writer::create(Solo, &path, b"my simulation", &params)?;
    /// file.dataset(&Dataset::new("rho", DataType::Uint8, [3]), &[IndexBox::all(&[3])], b"abc")?;
    /// file.close()?;
    /// let mut file = Writer::append(Solo, &path, &params)?;
    /// file.set_attributes("rho", -1, r#"{"units": "kg m-3"}"#)?;
    /// file.set_attributes("/", -1, r#"{"title": "A run"}"#)?;
    /// file.close()?;
    /// let mut file = Reader::open(Solo, &path, &ReadOptions::default())?;
    /// let rho = file.dataset("rho")?.expect("a dataset");
    /// assert_eq!(rho.attributes, r#"{"units":"kg m-3"}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` for a file without seals; `NotFound` for a dataset that the file does not have; `Argument` for
    /// changes that are not a JSON object or set `scda_name`; `Format` for a damaged dataset or group; those
    /// of [`Self::flush`].
    pub fn set_attributes(&mut self, name: &str, record: i64, changes: &str) -> Result<()> {
        self.write(Operation::Attributes { name, record, changes })
    }
}

/// Streams of tasks.
impl Writer {
    /// Begins a set of streams: from now on each rank writes its own stream by [`Self::write_stream`],
    /// independently of the others, until [`Self::end_streams`]. The file stores them in chunks of
    /// `chunk_bytes` bytes, 1 to 2^30; 0: a stripe ([`Tuning::stripe_bytes`](crate::Tuning::stripe_bytes)),
    /// at least 1 MiB and at most 64 MiB. The size should be a multiple of the file system's block size, so
    /// that no two ranks write the same block.
    ///
    /// Until the end, only [`Self::flush`] and [`Self::commit`] may be called as well.
    ///
    /// ```
    /// use scda::{ReadOptions, Reader, Solo, WriteOptions, Writer, run_on_threads};
    /// use std::io::Read;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("log.scda");
    /// run_on_threads(3, |comm| {
    ///     let rank = scda::Communicator::rank(&comm);
    ///     let mut file = Writer::create(comm, &path, b"an example", &WriteOptions::default())?;
    ///     file.begin_streams(b"log", 4)?; // collective; chunks of 4 bytes, for the example
    ///     for step in 0..rank {
    ///         file.write_stream(format!("step {step}\n").as_bytes())?; // this rank alone
    ///     }
    ///     file.end_streams()?; // collective
    ///     file.close()
    /// })
    /// .into_iter()
    /// .collect::<scda::Result<Vec<()>>>()?;
    ///
    /// let mut file = Reader::open(Solo, &path, &ReadOptions::default())?;
    /// let streams = file.streams_record(b"log", 0)?.expect("the set of streams");
    /// let stream = streams.stream(&mut file, 2)?;
    /// let mut text = String::new();
    /// stream.reader(&mut file).read_to_string(&mut text)?;
    /// assert_eq!((streams.tasks(), &*text), (3, "step 0\nstep 1\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Argument`, `Usage`, `Memory`, and the errors of the file system.
    pub fn begin_streams(&mut self, user: &[u8], chunk_bytes: u64) -> Result<()> {
        self.session.operate(|state| state.begin_streams(user, chunk_bytes))
    }

    /// Appends bytes to this rank's stream. Long data are written directly from `data`, short ones are
    /// collected. Not collective: no message is sent.
    ///
    /// # Errors
    /// `Usage` if there are no streams; `Range`, `Memory`, and the errors of the file system. The other ranks
    /// get the error when all ranks next agree, in [`Self::flush`], [`Self::commit`] or
    /// [`Self::end_streams`], which then close the file.
    pub fn write_stream(&mut self, data: &[u8]) -> Result<()> {
        self.session.locally(|state| state.write_stream(data))
    }

    /// The number of bytes that this rank has written to its stream; 0 without streams. Not collective.
    #[must_use]
    pub fn stream_bytes(&self) -> u64 {
        self.session.state().and_then(WriterState::stream_bytes).unwrap_or(0)
    }

    /// Ends the streams that [`Self::begin_streams`] has begun.
    ///
    /// # Errors
    /// `Usage` if there are none; those of [`Self::write_stream`] on all ranks; `Range` and the errors of the
    /// file system.
    pub fn end_streams(&mut self) -> Result<()> {
        self.session.operate(WriterState::end_streams)
    }
}

impl IncrementalWriter<'_> {
    /// Writes to the end of the file at once: the data are there only during the call.
    fn write(&mut self, write: impl FnOnce(&mut WriterState) -> Result<(), Failure>) -> Result<()> {
        self.0.session.operate(|state| {
            state.check_no_streams()?;
            state.scheduler().place()?;
            write(state)?;
            state.sections.end_call_if_any()
        })
    }

    /// Writes a section with this user string.
    fn write_section(
        &mut self,
        user: &[u8],
        write: impl FnOnce(&mut SectionEncoder<'_>) -> Result<(), Failure>,
    ) -> Result<()> {
        self.write(|state| {
            state.cache.extended.forget_section(user);
            write(&mut state.plain())
        })
    }

    /// Writes a block whose `size` bytes are read from `data` in parts, so that they need not fit in memory,
    /// unless the block is compressed.
    ///
    /// # Errors
    /// The errors of [`Writer::block`] and of reading, and `Usage` if there is more than one rank.
    pub fn block(&mut self, user: &[u8], size: u64, data: &mut dyn Read, encode: Encode) -> Result<()> {
        self.write_section(user, |plain| plain.block_from(user, size, data, encode))
    }

    /// Writes an array of `count` elements of `size` bytes, which are read from `data` in parts: of some MiB
    /// for each thread, or of one element if it is compressed.
    ///
    /// [`Encode::Auto`] decides as in [`Writer::array`]. It reads the data up to three times, and compresses
    /// them twice if that pays.
    ///
    /// # Errors
    /// Those of [`Writer::array`] and [`Self::block`]; `Argument` for [`Encode::Auto`] and long data that can
    /// be read only once.
    pub fn array(
        &mut self,
        user: &[u8],
        count: u64,
        size: u64,
        data: &mut dyn DataStream,
        encode: Encode,
    ) -> Result<()> {
        self.write_section(user, |plain| plain.array_from(user, count, size, data, encode))
    }

    /// Writes a varray of `count` elements, whose sizes and bytes are read in parts, as in [`Self::array`].
    ///
    /// # Errors
    /// The errors of [`Writer::varray`] and of [`Self::array`].
    pub fn varray(
        &mut self,
        user: &[u8],
        count: u64,
        elements: &mut dyn ElementStream,
        encode: Encode,
    ) -> Result<()> {
        self.write_section(user, |plain| plain.varray_from(user, count, elements, encode))
    }

    /// Writes a dataset whose items are read from `data` in parts, with numbers in little-endian byte order
    /// as in the file. The bytes of the file are those of [`Writer::dataset`]. For a process that writes
    /// alone. The items are read in C order. For a dataset in chunks, they are read as boxes if
    /// [`DataStream::boxes`] provides them; otherwise a layer of chunks must fit in memory.
    ///
    /// [`Layout::Auto`](crate::Layout::Auto) compresses more than 64 MiB up to twice: first to find out
    /// whether that pays.
    ///
    /// # Errors
    /// Those of [`Writer::dataset`] and [`Self::array`]; `Argument` for `Layout::Auto` and more than 64 MiB
    /// of data that cannot be read again.
    pub fn dataset(&mut self, dataset: &Dataset, data: &mut dyn DataStream) -> Result<()> {
        self.write(|state| state.datasets().dataset_from(dataset, data))
    }

    /// Writes a set of streams like [`Writer::begin_streams`] and the following calls: `open` returns the
    /// stream of each of `tasks` tasks, which is read to its end. The streams need not fit in memory.
    ///
    /// # Errors
    /// `Usage` on more than one rank, `Argument` for 0 tasks, those of `open` and of reading, and those of
    /// [`Writer::begin_streams`].
    pub fn streams(
        &mut self,
        user: &[u8],
        chunk_bytes: u64,
        tasks: u64,
        open: &mut dyn FnMut(u64) -> std::io::Result<Box<dyn std::io::Read>>,
    ) -> Result<()> {
        self.write(|state| state.streams().write_from(user, chunk_bytes, tasks, open))
    }
}
