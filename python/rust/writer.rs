//! Writes files: the class `Writer` of `scda._core`.

use crate::Bytes;
use crate::dataset::{Box, Description, Items, memories_of, regions_of};
use crate::errors::{Cause, invalid, of_core};
use crate::open_file::OpenFile;
use crate::ranks::{driver, ranks_of};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use scda::bindings::{WriterCalls, append_if_valid, create_if_valid};
use scda::{
    Collective, Communicator, Data, Dataset, Encode, Encoder, Hdf5, IndexBox, Interrupt, Layout, LineBreak,
    Solo, Source, Texts, UserString, WriteOptions,
};
use scda_base::floats::in_default;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

/// A file that is being written. An error closes it, on all ranks.
#[pyclass(frozen, module = "scda._core")]
pub struct Writer {
    file: OpenFile<scda::Writer>,
    /// A process that writes alone stops compressing when Python has a signal to handle.
    interrupt: Option<Interrupt>,
    atomic: bool,
    is_new: bool,
    /// How many bytes were removed when the file was opened.
    bytes_rolled_back: u64,
}

/// A commit in progress.
#[pyclass(frozen, module = "scda._core")]
pub struct CommitRequest(scda::CommitRequest);

/// The place after which a program continues: a number of sections, or a record of a dataset.
#[derive(Clone, FromPyObject)]
enum Place {
    Sections(u64),
    Record(String, i64),
}

/// How to write a file: members of `scda._arguments.WriteSettings`.
#[derive(FromPyObject)]
struct WriteSettings {
    driver: String,
    style: String,
    encoder: String,
    level: u32,
    threads: usize,
    atomic: bool,
    sync: bool,
    seal: bool,
    hdf5: String,
    keep: u64,
    background_bytes: u64,
    /// None: the file is created.
    append_after: Option<Place>,
    /// If true, a file that does not exist is created.
    creates: bool,
    mode: u32,
}

impl WriteSettings {
    fn options(&self) -> PyResult<WriteOptions> {
        let mut options = WriteOptions::default();
        options.line_break = match &*self.style {
            "unix" => LineBreak::Unix,
            "mime" => LineBreak::Mime,
            style => return Err(invalid(format!("style: found {style:?}"))),
        };
        options.encoder = match &*self.encoder {
            "fast" => Encoder::Fast,
            "zlib" => Encoder::Zlib,
            encoder => return Err(invalid(format!("encoder: found {encoder:?}"))),
        };
        (options.level, options.tuning.threads, options.keep) = (self.level, self.threads, self.keep);
        options.mode = self.mode;
        (options.atomic, options.sync, options.seal) = (self.atomic, self.sync, self.seal);
        options.hdf5 = match &*self.hdf5 {
            "close" => Hdf5::Close,
            "commit" => Hdf5::Commits,
            "never" => Hdf5::Never,
            hdf5 => return Err(invalid(format!("hdf5: found {hdf5:?}"))),
        };
        options.background_bytes = self.background_bytes;
        match &self.append_after {
            Some(Place::Sections(sections)) => options.append_after = *sections,
            Some(Place::Record(name, record)) => options.append_record = Some((name.clone(), *record)),
            None => {}
        }
        options.mark_incomplete = true;
        Ok(options)
    }
}

/// Compressing fewer bytes than this takes no noticeable time.
const LONG_BYTES: usize = 1 << 22;
/// How long Ctrl-C may have to wait during compression.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);

impl Writer {
    fn write<T: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut scda::Writer) -> scda::Result<T> + Send,
    ) -> PyResult<T> {
        self.file.operate(py, |open| open.as_mut().map(operation))
    }

    /// Writes a section of `bytes` bytes of data, interruptibly if compression may take long.
    fn write_data(
        &self,
        py: Python<'_>,
        bytes: usize,
        encode: Encode,
        operation: impl FnOnce(&mut scda::Writer) -> scda::Result<()> + Send,
    ) -> PyResult<()> {
        match &self.interrupt {
            Some(interrupt) if encode != Encode::None && bytes >= LONG_BYTES => {
                let work = || self.file.caught(|open| open.as_mut().map(operation));
                let result = interruptible(py, interrupt, work)?;
                self.file.result(py, result)
            }
            _ => self.write(py, operation),
        }
    }
}

/// The approximate size of the items of these boxes in bytes.
fn bytes_of(dataset: &Dataset, regions: &[IndexBox]) -> usize {
    let items = regions.iter().map(|region| region.items().unwrap_or(u64::MAX)).fold(0, u64::saturating_add);
    items.saturating_mul(dataset.data_type.item_bytes()).try_into().unwrap_or(usize::MAX)
}

/// Works on another thread, while this one lets Python handle signals. If that raises an exception, as Ctrl-C does,
/// the work is stopped.
fn interruptible<T: Send>(
    py: Python<'_>,
    interrupt: &Interrupt,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    py.detach(|| {
        std::thread::scope(|scope| {
            let (busy, ended) = mpsc::channel::<()>();
            let work = move || {
                let _until_here = busy;
                in_default(work)
            };
            let worker = std::thread::Builder::new().spawn_scoped(scope, work)?;
            let mut handled = Ok(());
            while ended.recv_timeout(BETWEEN_SIGNALS) == Err(mpsc::RecvTimeoutError::Timeout) {
                if handled.is_ok() {
                    handled = Python::attach(|py| py.check_signals());
                    if handled.is_err() {
                        interrupt.stop();
                    }
                }
            }
            let result = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            handled.map(|()| result)
        })
    })
}

impl Drop for Writer {
    /// A forked process has a copy of the writer, but does not own the file. And a file written in place may by now
    /// belong to another process.
    fn drop(&mut self) {
        let is_ours = self.file.is_ours();
        if let Some(open) = self.file.take()
            && !(is_ours && self.atomic)
        {
            open.forget();
        }
    }
}

fn encode_of(name: &str) -> PyResult<Encode> {
    match name {
        "none" => Ok(Encode::None),
        "always" => Ok(Encode::Always),
        "auto" => Ok(Encode::Auto),
        _ => Err(invalid(format!("encode: found {name:?}"))),
    }
}

#[pymethods]
impl Writer {
    /// Creates a file with a user string, or appends to one.
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        user: Vec<u8>,
        comm: Option<i32>,
        settings: WriteSettings,
    ) -> PyResult<Self> {
        let mut options = settings.options()?;
        options.tuning.driver = driver(comm, &settings.driver);
        let is_alone = comm.is_none();
        let interrupt = is_alone.then(|| options.interrupt.clone());
        let opened = py.detach(|| {
            let comm: std::boxed::Box<dyn Communicator> = match comm {
                Some(comm) => std::boxed::Box::new(ranks_of(comm)?),
                None => std::boxed::Box::new(Solo),
            };
            let user = UserString::new(&user);
            match settings.append_after {
                None => create_if_valid(comm, Ok(&path), user, Ok(options)),
                Some(_) => {
                    let user = if settings.creates { user.map(Some) } else { Ok(None) };
                    append_if_valid(comm, Ok(&path), user, Ok(options))
                }
            }
        });
        let tolerated = opened.and_then(|mut open| {
            if is_alone {
                open.tolerate_arguments()?;
            }
            Ok(open)
        });
        let path = path.to_string_lossy().into_owned();
        let open = tolerated.map_err(|error| of_core(py, &path, &error))?;
        let (bytes_rolled_back, is_new) = (open.bytes_rolled_back(), open.is_new());
        let file = OpenFile::new(path, open, false, Cause::default());
        Ok(Self { file, interrupt, atomic: settings.atomic, is_new, bytes_rolled_back })
    }

    /// True unless an error has closed the file.
    #[getter]
    fn is_open(&self) -> bool {
        self.file.locked().is_some_and(|open| open.as_ref().is_some_and(scda::Writer::is_open))
    }

    #[getter]
    fn is_new(&self) -> bool {
        self.is_new
    }

    #[getter]
    fn bytes_rolled_back(&self) -> u64 {
        self.bytes_rolled_back
    }

    fn inline(&self, py: Python<'_>, user: &[u8], root: usize, data: Option<Bytes<'_>>) -> PyResult<()> {
        let data = data.as_ref().map(|data| data.as_slice()).transpose()?;
        let data = match data {
            None => None,
            Some(bytes) => Some(
                bytes
                    .try_into()
                    .map_err(|_| invalid(format!("data: found {} bytes, expected 32", bytes.len())))?,
            ),
        };
        self.write(py, |writer| writer.inline(user, root, data))
    }

    fn block(
        &self,
        py: Python<'_>,
        user: &[u8],
        root: usize,
        size: u64,
        data: Option<Bytes<'_>>,
        encode: &str,
    ) -> PyResult<()> {
        let encode = encode_of(encode)?;
        let data = data.as_ref().map(|data| data.as_slice()).transpose()?;
        let bytes = data.map_or(0, <[u8]>::len);
        self.write_data(py, bytes, encode, |writer| writer.block(user, root, size, data, encode))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn array(
        &self,
        py: Python<'_>,
        user: &[u8],
        counts: Vec<u64>,
        size: u64,
        data: Bytes<'_>,
        encode: &str,
    ) -> PyResult<()> {
        let (encode, data) = (encode_of(encode)?, data.as_slice()?);
        self.write_data(py, data.len(), encode, |writer| {
            writer.array(user, &counts, size, Source::Contiguous(data), encode)
        })
    }

    #[allow(clippy::needless_pass_by_value)]
    fn varray(
        &self,
        py: Python<'_>,
        user: &[u8],
        counts: Vec<u64>,
        sizes: PyReadonlyArray1<'_, u64>,
        data: Bytes<'_>,
        encode: &str,
    ) -> PyResult<()> {
        let (encode, data) = (encode_of(encode)?, data.as_slice()?);
        let sizes = sizes.as_slice()?;
        self.write_data(py, data.len(), encode, |writer| {
            writer.varray(user, &counts, sizes, None, Source::Contiguous(data), encode)
        })
    }

    /// Writes datasets, one after another: for each, the boxes of this rank and their items.
    fn datasets(&self, py: Python<'_>, all: Vec<(Description, Vec<Box>, Vec<Items<'_>>)>) -> PyResult<()> {
        let (mut given, mut memories) = (Vec::new(), Vec::new());
        for (description, boxes, items) in all {
            given.push((description.dataset()?, regions_of(&boxes)));
            memories.push(items);
        }
        let memories = memories.iter().map(|items| memories_of(items)).collect::<PyResult<Vec<_>>>()?;
        let parts: Vec<(&Dataset, &[IndexBox], Data<'_>)> = given
            .iter()
            .zip(&memories)
            .map(|((dataset, regions), items)| (dataset, &**regions, Data::Boxes(items)))
            .collect();
        let is_plain = given.iter().all(|(dataset, _)| dataset.layout == Layout::Contiguous);
        let bytes =
            given.iter().map(|(dataset, regions)| bytes_of(dataset, regions)).fold(0, usize::saturating_add);
        let encode = if is_plain { Encode::None } else { Encode::Always };
        self.write_data(py, bytes, encode, |writer| writer.datasets(&parts))
    }

    /// Writes a dataset whose rows are distributed over the ranks by these counts.
    #[allow(clippy::needless_pass_by_value)]
    fn field(
        &self,
        py: Python<'_>,
        description: Description,
        counts: Vec<u64>,
        items: Items<'_>,
    ) -> PyResult<()> {
        let dataset = description.dataset()?;
        let encode = if dataset.layout == Layout::Contiguous { Encode::None } else { Encode::Always };
        let (bytes, items) = (items.0.len()?, [items]);
        let memory = memories_of(&items)?;
        self.write_data(py, bytes, encode, |writer| writer.field(&dataset, &counts, Data::Boxes(&memory)))
    }

    /// Writes a dataset of texts or bytes of any length; this rank has `count` rows.
    #[allow(clippy::needless_pass_by_value)]
    fn texts(
        &self,
        py: Python<'_>,
        description: Description,
        count: u64,
        items: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let dataset = description.dataset()?;
        let mut texts = Texts::new();
        for item in &items {
            let pushed = match item.cast::<PyString>() {
                Ok(text) => texts.push(text.to_cow()?.as_bytes()),
                Err(_) => texts.push(item.cast::<PyBytes>()?.as_bytes()),
            };
            pushed.map_err(|error| invalid(error.to_string()))?;
        }
        self.write_data(py, texts.bytes().len(), Encode::Always, |writer| {
            writer.texts(&dataset, count, &texts)
        })
    }

    fn group(&self, py: Python<'_>, path: &str, attributes: &str) -> PyResult<()> {
        self.write(py, |writer| writer.group(path, attributes))
    }

    fn set_attributes(&self, py: Python<'_>, name: &str, record: i64, changes: &str) -> PyResult<()> {
        self.write(py, |writer| writer.set_attributes(name, record, changes))
    }

    fn begin_streams(&self, py: Python<'_>, name: &[u8], chunk_bytes: u64) -> PyResult<()> {
        self.write(py, |writer| writer.begin_streams(name, chunk_bytes))
    }

    /// Appends to the stream of this rank. Not collective.
    #[allow(clippy::needless_pass_by_value)]
    fn write_stream(&self, py: Python<'_>, data: Bytes<'_>) -> PyResult<()> {
        let data = data.as_slice()?;
        self.write(py, |writer| writer.write_stream(data))
    }

    /// The size of this rank's stream in bytes. Not collective.
    fn stream_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.write(py, |writer| Ok(writer.stream_bytes()))
    }

    fn end_streams(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, scda::Writer::end_streams)
    }

    fn proc_counts(&self, py: Python<'_>, count: u64) -> PyResult<Vec<u64>> {
        self.write(py, |writer| writer.proc_counts(count))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, scda::Writer::flush)
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, scda::Writer::commit)
    }

    fn commit_begin(&self, py: Python<'_>) -> PyResult<CommitRequest> {
        self.write(py, scda::Writer::commit_begin).map(CommitRequest)
    }

    /// True if this rank has nothing left to write for a commit, or for the close. Not collective.
    fn test(&self, request: Option<&CommitRequest>) -> bool {
        let test = |writer: &mut scda::Writer| match request {
            Some(request) => request.0.test(writer),
            None => writer.is_settled(),
        };
        self.file.locked().is_none_or(|mut open| open.as_mut().is_none_or(test))
    }

    fn wait(&self, py: Python<'_>, request: &CommitRequest) -> PyResult<()> {
        self.write(py, |writer| request.0.wait(writer))
    }

    /// Where this rank has spent its time, in seconds, and bytes. Not collective. None: the file is closed.
    fn statistics(&self) -> Option<Vec<(&'static str, f64)>> {
        let found = self.file.locked()?.as_ref().and_then(scda::Writer::statistics)?;
        #[allow(clippy::cast_precision_loss)]
        let bytes = |number: u64| number as f64;
        let all = || {
            vec![
                ("agreeing", found.agreeing.as_secs_f64()),
                ("copied_bytes", bytes(found.copied_bytes)),
                ("copying", found.copying.as_secs_f64()),
                ("waiting", found.waiting.as_secs_f64()),
                ("encoded_bytes", bytes(found.encoded_bytes)),
                ("encoding", found.encoding.as_secs_f64()),
                ("written_bytes", bytes(found.written_bytes)),
                ("writing", found.writing.as_secs_f64()),
                ("syncing", found.syncing.as_secs_f64()),
            ]
        };
        Some(in_default(all))
    }

    /// Begins to close the file. Afterwards, only `test` and `close` may be called.
    fn close_begin(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, WriterCalls::begin_close)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.file.operate(py, |open| open.take().map(scda::Writer::close))
    }

    fn abandon(&self, py: Python<'_>, why: &str) -> PyResult<()> {
        self.file.operate(py, |open| {
            if let Some(writer) = open.take() {
                let _ = writer.abandon(why);
            }
            Some(Ok(()))
        })
    }
}
