//! Writing.

use crate::Bytes;
use crate::errors::{Cause, invalid};
use crate::ranks::Ranks;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use scda::{Encode, Encoder, LineBreak, Params, Solo, Source};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A file that is being written. After an error it is closed, on all ranks.
#[pyclass(frozen, module = "scda._core")]
pub struct Writer {
    path: String,
    open: Mutex<Option<scda::Writer>>,
    cause: Cause,
}

impl Writer {
    fn operate<T: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut Option<scda::Writer>) -> Option<scda::Result<T>> + Send,
    ) -> PyResult<T> {
        // Waiting for another thread that writes must not keep that from taking the global lock.
        let result = py.detach(|| operation(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner)));
        match result {
            Some(result) => result.map_err(|error| self.cause.raise(py, &self.path, &error)),
            None => Err(crate::errors::closed(py, &self.path)),
        }
    }

    fn write<T: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut scda::Writer) -> scda::Result<T> + Send,
    ) -> PyResult<T> {
        self.operate(py, |open| open.as_mut().map(operation))
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
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        user: Vec<u8>,
        ranks: Option<&Bound<'_, PyAny>>,
        style: &str,
        encoder: &str,
        level: u32,
        threads: usize,
        atomic: bool,
        sync: bool,
    ) -> PyResult<Self> {
        let mut params = Params::default();
        params.line_break = match style {
            "unix" => LineBreak::Unix,
            "mime" => LineBreak::Mime,
            _ => return Err(invalid(format!("style: found {style:?}, expected \"unix\" or \"mime\""))),
        };
        params.encoder = match encoder {
            "fast" => Encoder::Fast,
            "zlib" => Encoder::Zlib,
            _ => return Err(invalid(format!("encoder: found {encoder:?}, expected \"fast\" or \"zlib\""))),
        };
        (params.level, params.threads, params.atomic, params.sync) = (level, threads, atomic, sync);
        let cause = Cause::default();
        let ranks = ranks.map(|ranks| Ranks::new(ranks, cause.clone())).transpose()?;
        let created = py.detach(|| match ranks {
            Some(ranks) => scda::Writer::create(ranks, &path, &user, &params),
            None => scda::Writer::create(Solo, &path, &user, &params),
        });
        let path = path.to_string_lossy().into_owned();
        let open = created.map_err(|error| cause.raise(py, &path, &error))?;
        Ok(Self { path, open: Mutex::new(Some(open)), cause })
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
        self.write(py, |writer| writer.block(user, root, size, data, encode))
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
        let (encode, data) = (encode_of(encode)?, Source::Contiguous(data.as_slice()?));
        self.write(py, |writer| writer.array(user, &counts, size, data, encode))
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
        let (encode, data) = (encode_of(encode)?, Source::Contiguous(data.as_slice()?));
        let sizes = sizes.as_slice()?;
        self.write(py, |writer| writer.varray(user, &counts, sizes, None, data, encode))
    }

    fn proc_counts(&self, py: Python<'_>, count: u64) -> PyResult<Vec<u64>> {
        self.write(py, |writer| writer.proc_counts(count))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, scda::Writer::flush)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.operate(py, |open| open.take().map(scda::Writer::close))
    }

    fn abandon(&self, py: Python<'_>, why: &str) -> PyResult<()> {
        self.operate(py, |open| {
            if let Some(writer) = open.take() {
                let _ = writer.abandon(why);
            }
            Some(Ok(()))
        })
    }
}
