//! Reading.

use crate::BytesMut;
use crate::errors::{Cause, closed};
use crate::ranks::Ranks;
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use scda::{INLINE_BYTES, Params, Section, Sink, Solo};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Letter, user string, N, E, compressed, offset, offset of the data.
type Header<'py> = (char, Bound<'py, PyBytes>, u64, u64, bool, u64, u64);

/// A file that is being read.
///
/// Sections are named by their offset. An error closes a file of several ranks; a process that reads alone
/// goes on, for the other sections may be whole.
#[pyclass(frozen, module = "scda._core")]
pub struct Reader {
    path: PathBuf,
    decode: bool,
    user: Vec<u8>,
    open: Mutex<Option<scda::Reader>>,
    cause: Cause,
}

/// The section at an offset, whose data are read next.
fn go_to(reader: &mut scda::Reader, offset: u64, decode: bool) -> scda::Result<Option<Section>> {
    reader.seek(offset)?;
    reader.next_section(decode)
}

impl Reader {
    fn operate<T: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut Option<scda::Reader>) -> Option<scda::Result<T>> + Send,
    ) -> PyResult<T> {
        // Waiting for another thread that reads must not keep that from taking the global lock.
        let result = py.detach(|| operation(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner)));
        let path = self.path.to_string_lossy();
        match result {
            Some(result) => result.map_err(|error| self.cause.raise(py, &path, &error)),
            None => Err(closed(py, &path)),
        }
    }

    fn read<T: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut scda::Reader) -> scda::Result<T> + Send,
    ) -> PyResult<T> {
        self.operate(py, |open| open.as_mut().map(operation))
    }

    /// Reads bytes into memory of the caller, or else into new `bytes`.
    fn read_into<'py>(
        &self,
        py: Python<'py>,
        length: usize,
        out: Option<BytesMut<'py>>,
        operation: impl FnOnce(&mut scda::Reader, &mut [u8]) -> scda::Result<()> + Send,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if let Some(mut out) = out {
            let memory = out.as_slice_mut()?;
            self.read(py, |reader| operation(reader, memory))?;
            return Ok(None);
        }
        PyBytes::new_with(py, length, |memory| self.read(py, |reader| operation(reader, memory))).map(Some)
    }
}

#[pymethods]
impl Reader {
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        ranks: Option<&Bound<'_, PyAny>>,
        threads: usize,
        decode: bool,
    ) -> PyResult<Self> {
        let mut params = Params::default();
        params.threads = threads;
        let cause = Cause::default();
        let ranks = ranks.map(|ranks| Ranks::new(ranks, cause.clone())).transpose()?;
        let opened = py.detach(|| match ranks {
            Some(ranks) => scda::Reader::open(ranks, &path, &params),
            None => {
                let mut reader = scda::Reader::open(Solo, &path, &params)?;
                reader.tolerate_damage()?;
                Ok(reader)
            }
        });
        let reader = opened.map_err(|error| cause.raise(py, &path.to_string_lossy(), &error))?;
        Ok(Self { path, decode, user: reader.user().to_vec(), open: Mutex::new(Some(reader)), cause })
    }

    #[getter]
    fn user<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.user)
    }

    fn header<'py>(&self, py: Python<'py>, offset: u64) -> PyResult<Option<Header<'py>>> {
        let section = self.read(py, |reader| go_to(reader, offset, self.decode))?;
        Ok(section.map(|section| {
            let Section { section_type, user, count, size, decoded, offset, data_offset, .. } = section;
            let letter = char::from(section_type.letter());
            (letter, PyBytes::new(py, &user), count, size, decoded, offset, data_offset)
        }))
    }

    fn end(&self, py: Python<'_>, offset: u64) -> PyResult<u64> {
        self.read(py, |reader| {
            go_to(reader, offset, self.decode)?;
            reader.skip()?;
            Ok(reader.position().unwrap_or(offset))
        })
    }

    fn read_inline<'py>(&self, py: Python<'py>, offset: u64) -> PyResult<Bound<'py, PyBytes>> {
        let mut data = [0; INLINE_BYTES];
        self.read(py, |reader| {
            go_to(reader, offset, self.decode)?;
            reader.read_inline(0, Some(&mut data))
        })?;
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
        self.read_into(py, size, out, |reader, memory| {
            go_to(reader, offset, self.decode)?;
            reader.read_block(size as u64, 0, Some(memory))
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
        self.read_into(py, usize::try_from(length)?, out, |reader, memory| {
            go_to(reader, offset, self.decode)?;
            reader.read_array_range(start..stop, size, Sink::Contiguous(memory))
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
        self.read(py, |reader| {
            go_to(reader, offset, self.decode)?;
            reader.read_varray_sizes_range(start..stop, memory)
        })
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
        self.read_into(py, usize::try_from(length)?, out, |reader, memory| {
            go_to(reader, offset, self.decode)?;
            reader.read_varray_range(start..stop, sizes, Sink::Contiguous(memory))
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
        self.read(py, |reader| {
            go_to(reader, offset, self.decode)?;
            reader.read_array(&counts, size, Sink::Contiguous(memory))
        })
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
        self.read(py, |reader| {
            go_to(reader, offset, self.decode)?;
            reader.read_varray_sizes(&counts, Some(memory))
        })
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
        self.read(py, |reader| reader.read_varray(&counts, Some(sizes), None, Sink::Contiguous(memory)))
    }

    fn proc_counts(&self, py: Python<'_>, count: u64) -> PyResult<Vec<u64>> {
        self.read(py, |reader| reader.proc_counts(count))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.operate(py, |open| Some(open.take().map_or(Ok(()), scda::Reader::close)))
    }

    fn abandon(&self, py: Python<'_>, why: &str) -> PyResult<()> {
        self.operate(py, |open| {
            if let Some(reader) = open.take() {
                let _ = reader.abandon(why);
            }
            Some(Ok(()))
        })
    }
}
