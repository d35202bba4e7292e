//! Reads files: the class `Reader` of `scda._core`, and handles of datasets and streams.

use crate::BytesMut;
use crate::dataset::{Box, Description, regions_of, room_of};
use crate::errors::Cause;
use crate::open_file::OpenFile;
use crate::ranks::{driver, ranks_of};
use crate::source::Source;
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use scda::bindings::ReaderCalls;
use scda::{
    Collective, Content, EntryName, INLINE_BYTES, ReadAtFile, ReadOptions, Request, Section, Sink, Solo,
};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A section: letter, user string, N, E, compressed, offset, and offset of the data.
type Header<'py> = (char, Bound<'py, PyBytes>, u64, u64, bool, u64, u64);

/// A set of streams of tasks.
#[pyclass(frozen, module = "scda._core")]
pub struct Streams(scda::Streams);

#[pymethods]
impl Streams {
    #[getter]
    fn tasks(&self) -> u64 {
        self.0.tasks()
    }

    #[getter]
    fn chunk_bytes(&self) -> u64 {
        self.0.chunk_bytes()
    }

    /// The stream of a task. Not collective.
    fn stream(&self, py: Python<'_>, file: &Reader, task: u64) -> PyResult<Stream> {
        file.alone(py, |reader| self.0.stream(reader, task)).map(Stream)
    }

    /// Reads the sizes of the streams in this rank's share.
    #[allow(clippy::needless_pass_by_value)]
    fn read_sizes(
        &self,
        py: Python<'_>,
        file: &Reader,
        counts: Vec<u64>,
        mut out: PyReadwriteArray1<'_, u64>,
    ) -> PyResult<()> {
        let memory = out.as_slice_mut()?;
        file.read(py, |open| self.0.read_sizes(&mut open.reader, &counts, Some(memory)))
    }

    /// Reads the streams in this rank's share.
    #[allow(clippy::needless_pass_by_value)]
    fn read(
        &self,
        py: Python<'_>,
        file: &Reader,
        counts: Vec<u64>,
        sizes: PyReadonlyArray1<'_, u64>,
        mut out: BytesMut<'_>,
    ) -> PyResult<()> {
        let (sizes, memory) = (sizes.as_slice()?, out.as_slice_mut()?);
        file.read(py, |open| self.0.read(&mut open.reader, &counts, sizes, Sink::Contiguous(memory)))
    }
}

/// The stream of a task.
#[pyclass(frozen, module = "scda._core")]
pub struct Stream(scda::Stream);

#[pymethods]
impl Stream {
    #[getter]
    fn nbytes(&self) -> u64 {
        self.0.bytes()
    }

    /// Reads bytes of a stream. Not collective.
    fn read(&self, py: Python<'_>, file: &Reader, offset: u64, mut out: BytesMut<'_>) -> PyResult<()> {
        let memory = out.as_slice_mut()?;
        file.alone(py, |reader| self.0.read(reader, offset, memory))
    }
}

/// A dataset of an open file.
#[pyclass(frozen, module = "scda._core")]
pub struct DatasetHandle(scda::DatasetHandle);

#[pymethods]
impl DatasetHandle {
    /// The place of its metadata: the offset of a block, and its size.
    #[getter]
    fn metadata(&self) -> (u64, u64) {
        let section = self.0.metadata_section();
        (section.offset, section.size)
    }

    /// Reads boxes of a dataset, one after another, or a single box into memory with strides. Converts the items to
    /// a type.
    #[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
    #[pyo3(signature = (file, boxes, out, r#type, first=0, strides=None))]
    fn read(
        &self,
        py: Python<'_>,
        file: &Reader,
        boxes: Vec<Box>,
        mut out: BytesMut<'_>,
        r#type: &str,
        first: usize,
        strides: Option<Vec<i64>>,
    ) -> PyResult<()> {
        let regions = regions_of(&boxes);
        let memory = room_of(&mut out, (first, strides.as_deref()), r#type, &regions)?;
        file.read(py, |open| self.0.read(&mut open.reader, &regions, memory))
    }

    /// Reads boxes of a dataset whose items are texts or bytes of any length, as a str or bytes each.
    #[allow(clippy::needless_pass_by_value)]
    fn read_texts<'py>(
        &self,
        py: Python<'py>,
        file: &Reader,
        boxes: Vec<Box>,
        is_text: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let regions = regions_of(&boxes);
        let texts = file.read(py, |open| self.0.read_texts(&mut open.reader, &regions))?;
        let object = |item: &[u8]| match is_text {
            true => Ok(PyString::from_bytes(py, item)?.into_any()),
            false => Ok(PyBytes::new(py, item).into_any()),
        };
        PyList::new(py, texts.iter().map(object).collect::<PyResult<Vec<_>>>()?)
    }
}

/// An entry of a file: its kind; its name; four numbers: its own, its place among the entries of its name, how many of
/// these there are, and the number of the section that follows it; the headers of its sections; and its content, which
/// for a group is its attributes, and for a plain section None.
type Entry<'py> = (String, Bound<'py, PyBytes>, (u64, u64, u64, u64), Vec<Header<'py>>, Bound<'py, PyAny>);

/// A file that is being read.
///
/// Sections are identified by their offset. All calls are collective. An error closes a file of several ranks; a
/// process that reads alone can continue, because other sections may be intact.
#[pyclass(frozen, module = "scda._core")]
pub struct Reader {
    path: PathBuf,
    user: Vec<u8>,
    extent: Mutex<(bool, u64)>,
    /// True if a process reads alone, and can continue after an error.
    is_alone: bool,
    file: OpenFile<Open>,
}

/// How to read a file: members of `scda._arguments.ReadSettings`.
#[derive(FromPyObject)]
struct ReadSettings {
    driver: String,
    threads: usize,
    decode: bool,
    verify: bool,
    to_seal: bool,
    cache_bytes: u64,
    max_memory: u64,
    keep: u64,
}

impl ReadSettings {
    fn options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        (options.tuning.threads, options.tuning.max_memory) = (self.threads, self.max_memory);
        (options.verify, options.to_seal) = (self.verify, self.to_seal);
        (options.cache_bytes, options.keep) = (self.cache_bytes, self.keep);
        options
    }
}

/// True if a seal ends the file, and the number of bytes after the last seal, which are not read.
fn extent_of(reader: &scda::Reader) -> (bool, u64) {
    (reader.is_sealed(), reader.left_out().unwrap_or(0))
}

struct Open {
    reader: scda::Reader,
    decode: bool,
    /// The offset of the section whose ranges can be read: its header need not be read again.
    current: Option<u64>,
    /// Without `decode`, the sections found so far, as they are in the file: a compressed section counts as two here, and
    /// as one in the core.
    stored: Vec<Section>,
}

/// The offset of the first section.
const FILE_HEADER_BYTES: u64 = 128;

impl Open {
    /// Notes the section whose header was read, so that its data can be read next.
    fn at(&mut self, section: Option<Section>) -> Option<Section> {
        self.current = section.map(|section| section.offset);
        section
    }

    /// Reads the header of the next section.
    fn next(&mut self) -> scda::Result<Option<Section>> {
        let decode = self.decode;
        let section = self.reader.next_section(decode)?;
        Ok(self.at(section))
    }

    /// Reads the header of the section at an offset.
    fn header(&mut self, offset: u64) -> scda::Result<Option<Section>> {
        self.reader.seek(offset)?;
        self.next()
    }

    /// The end of the section at an offset. For a varray, this reads its sizes.
    fn end(&mut self, offset: u64) -> scda::Result<u64> {
        let reader = self.whole(offset)?;
        reader.skip()?;
        Ok(reader.position().unwrap_or(offset))
    }

    /// The header of the section with this number; `None` if there are fewer.
    fn section(&mut self, number: u64) -> scda::Result<Option<Section>> {
        if self.decode {
            let section = self.reader.section(number)?;
            return Ok(self.at(section));
        }
        while self.stored.len() as u64 <= number {
            let next = self.stored.last().map(|last| last.offset);
            let offset = next.map_or(Ok(FILE_HEADER_BYTES), |last| self.end(last))?;
            let Some(section) = self.header(offset)? else { return Ok(None) };
            self.stored.push(section);
        }
        self.current = None;
        Ok(usize::try_from(number).ok().and_then(|number| self.stored.get(number).copied()))
    }

    /// The number of sections.
    fn sections(&mut self) -> scda::Result<u64> {
        if self.decode {
            return self.reader.sections();
        }
        while self.section(self.stored.len() as u64)?.is_some() {}
        Ok(self.stored.len() as u64)
    }

    /// The numbers of all sections with this user string.
    fn find_all(&mut self, user: &[u8]) -> scda::Result<Vec<u64>> {
        if self.decode {
            return self.reader.find_all(user);
        }
        self.sections()?;
        Ok((0..)
            .zip(&self.stored)
            .filter(|(_, found)| *found.user == *user)
            .map(|(number, _)| number)
            .collect())
    }

    /// The number of the section with this place among those with this user string.
    fn find(&mut self, user: &[u8], record: i64) -> scda::Result<Option<u64>> {
        if self.decode {
            return self.reader.find(user, record);
        }
        let all = self.find_all(user)?;
        let place = if record < 0 { record.saturating_add_unsigned(all.len() as u64) } else { record };
        Ok(usize::try_from(place).ok().and_then(|place| all.get(place).copied()))
    }

    /// Prepares the reader to read all of the section at an offset.
    fn whole(&mut self, offset: u64) -> scda::Result<&mut scda::Reader> {
        self.header(offset)?;
        self.current = None;
        Ok(&mut self.reader)
    }

    /// Prepares the reader to read ranges of the section at an offset.
    fn ranges(&mut self, offset: u64) -> scda::Result<&mut scda::Reader> {
        if self.current != Some(offset) {
            self.header(offset)?;
        }
        Ok(&mut self.reader)
    }
}

/// A dataset with its description.
fn described(handle: scda::DatasetHandle) -> (DatasetHandle, Description) {
    let rows = handle.shape.first().copied().unwrap_or(0);
    let added = handle.added_rows().next().map_or(0, |first| rows - first.first);
    let description = Description::of((handle.description().clone(), added));
    (DatasetHandle(handle), description)
}

fn header_of<'py>(py: Python<'py>, section: &Section) -> Header<'py> {
    let Section { section_type, user, count, size, decoded, offset, data_offset, .. } = *section;
    let letter = char::from(section_type.letter());
    (letter, PyBytes::new(py, &user), count, size, decoded, offset, data_offset)
}

impl Reader {
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut Open) -> scda::Result<T> + Send,
    ) -> PyResult<T> {
        self.file.operate(py, |open| {
            let result = operation(open.as_mut()?);
            if result.is_err() {
                match open {
                    Some(open) if self.is_alone => {
                        open.current = None;
                    }
                    // The core has closed the file, on all ranks.
                    _ => *open = None,
                }
            }
            Some(result)
        })
    }

    /// Runs an operation that is not collective: an error is raised on this rank only, and the file stays open.
    fn alone<T: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut scda::Reader) -> scda::Result<T> + Send,
    ) -> PyResult<T> {
        self.file.operate(py, |open| open.as_mut().map(|open| operation(&mut open.reader)))
    }

    /// Reads bytes into memory of the caller, or into a new `bytes`.
    fn read_into<'py>(
        &self,
        py: Python<'py>,
        length: usize,
        out: Option<BytesMut<'py>>,
        operation: impl FnOnce(&mut Open, &mut [u8]) -> scda::Result<()> + Send,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if let Some(mut out) = out {
            let memory = out.as_slice_mut()?;
            self.read(py, |open| operation(open, memory))?;
            return Ok(None);
        }
        self.check_memory(py, length as u64)?;
        PyBytes::new_with(py, length, |memory| self.read(py, |open| operation(open, memory))).map(Some)
    }
}

#[pymethods]
impl Reader {
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        source: Option<&Bound<'_, PyAny>>,
        comm: Option<i32>,
        settings: ReadSettings,
    ) -> PyResult<Self> {
        let mut options = settings.options();
        options.tuning.driver = driver(comm, &settings.driver);
        let cause = Cause::default();
        let is_alone = comm.is_none();
        let source = source.map(|source| Source::new(source, cause.clone()));
        let opened = py.detach(|| {
            let mut reader = match (source, comm) {
                (Some(source), _) => scda::Reader::open_at(ReadAtFile(source), &path, &options)?,
                (None, Some(comm)) => return scda::Reader::open(ranks_of(comm)?, &path, &options),
                (None, None) => scda::Reader::open(Solo, &path, &options)?,
            };
            reader.inspect().tolerate_damage()?;
            Ok(reader)
        });
        let reader = opened.map_err(|error| cause.raise(py, &path.to_string_lossy(), &error))?;
        let (path, user) = (reader.path().to_owned(), reader.header().user.to_vec());
        let extent = Mutex::new(extent_of(&reader));
        let open = Open { reader, decode: settings.decode, current: None, stored: Vec::new() };
        let file = OpenFile::new(path.to_string_lossy().into_owned(), open, true, cause);
        Ok(Self { path, user, extent, is_alone, file })
    }

    /// The path of the file, which with `keep` may be an older one.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    #[getter]
    fn user<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.user)
    }

    /// True if a seal ends the file, and the number of bytes after the last seal, which are not read.
    #[getter]
    fn extent(&self) -> (bool, u64) {
        *self.extent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        let (more, extent) = self.read(py, |open| Ok((open.reader.refresh()?, extent_of(&open.reader))))?;
        *self.extent.lock().unwrap_or_else(PoisonError::into_inner) = extent;
        Ok(more)
    }

    /// Fails if the file must not request `bytes` bytes.
    fn check_memory(&self, py: Python<'_>, bytes: u64) -> PyResult<()> {
        self.alone(py, |reader| reader.check_memory(bytes))
    }

    fn end(&self, py: Python<'_>, offset: u64) -> PyResult<u64> {
        self.read(py, |open| open.end(offset))
    }

    fn sections(&self, py: Python<'_>) -> PyResult<u64> {
        self.read(py, Open::sections)
    }

    /// Reads all headers from here on. With `verify`, compares all bytes with their checksums.
    fn walk(&self, py: Python<'_>) -> PyResult<()> {
        self.read(py, |open| {
            while open.next()?.is_some() {
                open.reader.skip()?;
            }
            Ok(())
        })
    }

    /// The header of the section with this number; None if there are fewer.
    fn section<'py>(&self, py: Python<'py>, number: u64) -> PyResult<Option<Header<'py>>> {
        let section = self.read(py, |open| open.section(number))?;
        Ok(section.map(|section| header_of(py, &section)))
    }

    fn find(&self, py: Python<'_>, user: &[u8], record: i64) -> PyResult<Option<u64>> {
        self.read(py, |open| open.find(user, record))
    }

    fn find_all(&self, py: Python<'_>, user: &[u8]) -> PyResult<Vec<u64>> {
        self.read(py, |open| open.find_all(user))
    }

    fn read_inline<'py>(&self, py: Python<'py>, offset: u64) -> PyResult<Bound<'py, PyBytes>> {
        let mut data = [0; INLINE_BYTES];
        self.read(py, |open| open.whole(offset)?.read_inline(0, Some(&mut data)))?;
        Ok(PyBytes::new(py, &data))
    }

    #[pyo3(signature = (offset, size, out=None))]
    fn read_block<'py>(
        &self,
        py: Python<'py>,
        offset: u64,
        size: usize,
        out: Option<BytesMut<'py>>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.read_into(py, size, out, |open, memory| {
            open.whole(offset)?.read_block(size as u64, 0, Some(memory))
        })
    }

    fn read_block_range<'py>(
        &self,
        py: Python<'py>,
        offset: u64,
        start: u64,
        stop: u64,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.read_into(py, usize::try_from(stop.saturating_sub(start))?, None, |open, memory| {
            open.ranges(offset)?.ranges().read_block(start..stop, memory)
        })
    }

    #[pyo3(signature = (offset, start, stop, size, out=None))]
    fn read_array<'py>(
        &self,
        py: Python<'py>,
        offset: u64,
        start: u64,
        stop: u64,
        size: u64,
        out: Option<BytesMut<'py>>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let length = (stop.saturating_sub(start)).saturating_mul(size);
        self.read_into(py, usize::try_from(length)?, out, |open, memory| {
            open.ranges(offset)?.ranges().read_array(start..stop, size, Sink::Contiguous(memory))
        })
    }

    fn read_sizes(
        &self,
        py: Python<'_>,
        offset: u64,
        start: u64,
        stop: u64,
        mut out: PyReadwriteArray1<'_, u64>,
    ) -> PyResult<()> {
        let memory = out.as_slice_mut()?;
        self.read(py, |open| open.ranges(offset)?.ranges().read_varray_sizes(start..stop, memory))
    }

    #[pyo3(signature = (offset, start, stop, sizes, out=None))]
    #[allow(clippy::needless_pass_by_value)]
    fn read_varray<'py>(
        &self,
        py: Python<'py>,
        offset: u64,
        start: u64,
        stop: u64,
        sizes: PyReadonlyArray1<'py, u64>,
        out: Option<BytesMut<'py>>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let sizes = sizes.as_slice()?;
        let length = sizes.iter().fold(0, |sum: u64, &size| sum.saturating_add(size));
        self.read_into(py, usize::try_from(length)?, out, |open, memory| {
            open.ranges(offset)?.ranges().read_varray(start..stop, sizes, Sink::Contiguous(memory))
        })
    }

    #[allow(clippy::needless_pass_by_value)]
    fn read_array_part(
        &self,
        py: Python<'_>,
        offset: u64,
        counts: Vec<u64>,
        size: u64,
        mut out: BytesMut<'_>,
    ) -> PyResult<()> {
        let memory = out.as_slice_mut()?;
        self.read(py, |open| open.whole(offset)?.read_array(&counts, size, Sink::Contiguous(memory)))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn read_sizes_part(
        &self,
        py: Python<'_>,
        offset: u64,
        counts: Vec<u64>,
        mut out: PyReadwriteArray1<'_, u64>,
    ) -> PyResult<()> {
        let memory = out.as_slice_mut()?;
        self.read(py, |open| open.whole(offset)?.read_varray_sizes(&counts, Some(memory)))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn read_varray_part(
        &self,
        py: Python<'_>,
        counts: Vec<u64>,
        sizes: PyReadonlyArray1<'_, u64>,
        mut out: BytesMut<'_>,
    ) -> PyResult<()> {
        let (sizes, memory) = (sizes.as_slice()?, out.as_slice_mut()?);
        self.read(py, |open| open.reader.read_varray(&counts, Some(sizes), None, Sink::Contiguous(memory)))
    }

    /// The dataset whose data are in the section with this number; None if it has no data of a dataset.
    fn dataset(&self, py: Python<'_>, number: u64) -> PyResult<Option<(DatasetHandle, Description)>> {
        let found = self.read(py, |open| open.reader.inspect().dataset_in(number))?;
        Ok(found.map(described))
    }

    /// The first entry that begins at or after the section with this number.
    fn next_entry<'py>(&self, py: Python<'py>, number: u64) -> PyResult<Option<Entry<'py>>> {
        let Some(entry) = self.read(py, |open| open.reader.next_entry(number))? else { return Ok(None) };
        let name = PyBytes::new(py, entry.name());
        let numbers = (entry.number, entry.record, entry.records, entry.end());
        let headers = entry.sections.iter().map(|section| header_of(py, section)).collect();
        let (kind, content) = match entry.content {
            Content::Dataset(handle) => ("dataset", described(handle).into_bound_py_any(py)?),
            Content::Group(group) => ("group", group.attributes.into_bound_py_any(py)?),
            Content::Streams(streams) => ("streams", Bound::new(py, Streams(streams))?.into_any()),
            Content::Unknown(error) => {
                ("unknown", self.file.raise(py, &error).into_value(py).into_bound(py).into_any())
            }
            _ => ("section", py.None().into_bound(py)),
        };
        Ok(Some((kind.into(), name, numbers, headers, content)))
    }

    /// The names of all datasets, and the paths of groups with attributes, which end with a slash, in the order of the file,
    /// without the file itself. A name that may be short for a longer one comes with its attributes, which have that.
    fn paths(&self, py: Python<'_>) -> PyResult<Vec<(String, Option<String>)>> {
        self.read(py, |open| {
            let mut paths = Vec::new();
            for EntryName { user, is_group, number, .. } in open.reader.inspect().names()? {
                let name = String::from_utf8_lossy(&user).into_owned();
                if is_group && name == "/" {
                    continue;
                }
                let path = if is_group { name.trim_end_matches('/') } else { &name };
                let is_short = path.bytes().rev().nth(16) == Some(b'~');
                let entry = if is_short { open.reader.next_entry(number)? } else { None };
                let attributes = entry.and_then(|entry| match entry.content {
                    Content::Dataset(dataset) => Some(dataset.attributes.clone()),
                    Content::Group(group) => Some(group.attributes),
                    _ => None,
                });
                paths.push((name, attributes));
            }
            Ok(paths)
        })
    }

    /// The dataset with this name and record number. With `is_outline`, for its description only, looks up no more than
    /// the last of the rows that were added to it.
    fn find_dataset(
        &self,
        py: Python<'_>,
        name: &str,
        record: i64,
        is_outline: bool,
    ) -> PyResult<Option<(Option<DatasetHandle>, Description)>> {
        if is_outline {
            let found = self.read(py, |open| open.reader.inspect().dataset_outline(name, record))?;
            return Ok(found.map(|dataset| (None, Description::of((dataset, 0)))));
        }
        let found = self.read(py, |open| open.reader.dataset_record(name, record))?;
        Ok(found.map(described).map(|(handle, description)| (Some(handle), description)))
    }

    /// Reads boxes of datasets.
    fn read_datasets(
        &self,
        py: Python<'_>,
        all: Vec<(PyRef<'_, DatasetHandle>, Vec<Box>, BytesMut<'_>)>,
    ) -> PyResult<()> {
        let mut given = Vec::new();
        for (handle, boxes, out) in all {
            given.push((handle.0.clone(), regions_of(&boxes), out));
        }
        let mut requests = Vec::new();
        for (dataset, regions, out) in &mut given {
            requests.push(Request { dataset, regions, data: out.as_slice_mut()?.into() });
        }
        self.read(py, |open| open.reader.read_datasets(requests))
    }

    /// The attributes of the group with this path.
    fn find_group(&self, py: Python<'_>, path: &str) -> PyResult<Option<String>> {
        self.read(py, |open| Ok(open.reader.group(path)?.map(|group| group.attributes)))
    }

    /// The set of streams with this name and record number.
    fn streams(&self, py: Python<'_>, name: &[u8], record: i64) -> PyResult<Option<Streams>> {
        let found = self.read(py, |open| open.reader.streams_record(name, record))?;
        Ok(found.map(Streams))
    }

    fn proc_counts(&self, py: Python<'_>, count: u64) -> PyResult<Vec<u64>> {
        self.read(py, |open| open.reader.proc_counts(count))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.file.operate(py, |open| Some(open.take().map_or(Ok(()), |open| open.reader.close())))
    }

    fn abandon(&self, py: Python<'_>, why: &str) -> PyResult<()> {
        self.file.operate(py, |open| {
            if let Some(open) = open.take() {
                let _ = open.reader.abandon(why);
            }
            Some(Ok(()))
        })
    }
}
