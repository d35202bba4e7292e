//! Reads from an object of Python in place of a file.

use crate::errors::Cause;
use pyo3::prelude::*;
use scda::ReadAt;
use std::io;

/// An object of `scda._source`.
pub struct Source {
    python: Py<PyAny>,
    cause: Cause,
}

impl Source {
    pub fn new(source: &Bound<'_, PyAny>, cause: Cause) -> Self {
        Self { python: source.clone().unbind(), cause }
    }

    /// Calls Python. The exception becomes the cause of the core's exception.
    fn call<T>(&self, call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>) -> io::Result<T> {
        Python::attach(|py| {
            call(py, self.python.bind(py)).map_err(|exception| {
                let kind = match () {
                    () if exception.is_instance_of::<pyo3::exceptions::PyFileNotFoundError>(py) => {
                        io::ErrorKind::NotFound
                    }
                    () if exception.is_instance_of::<pyo3::exceptions::PyPermissionError>(py) => {
                        io::ErrorKind::PermissionDenied
                    }
                    () => io::ErrorKind::Other,
                };
                let error = io::Error::new(kind, exception.to_string());
                self.cause.keep(exception);
                error
            })
        })
    }
}

impl ReadAt for Source {
    fn size(&mut self) -> io::Result<u64> {
        self.call(|_, source| source.call_method0("size")?.extract())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let length = buffer.len();
        let found = self.call(|_, source| {
            let read = source.call_method1("read_at", (offset, length))?;
            let bytes: &[u8] = read.extract()?;
            if bytes.len() == length {
                buffer.copy_from_slice(bytes);
            }
            Ok(bytes.len())
        })?;
        if found == length {
            return Ok(());
        }
        let words = format!("found {found} bytes, expected {length}");
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, words))
    }
}
