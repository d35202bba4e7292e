//! Converts errors of the core to exceptions of Python.

use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// The exception that a source of bytes has raised, kept until the core returns an error for it.
#[derive(Clone, Default)]
pub struct Cause(Arc<Mutex<Option<PyErr>>>);

impl Cause {
    /// Keeps the exception, unless there is an earlier one.
    pub fn keep(&self, exception: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(exception);
    }

    /// The exception for an error of the core, with its cause.
    pub fn raise(&self, py: Python<'_>, path: &str, error: &scda::Error) -> PyErr {
        let exception = of_core(py, path, error);
        let cause = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if cause.is_some() {
            exception.set_cause(py, cause);
        }
        exception
    }
}

/// The exception for an error of the core.
pub fn of_core(py: Python<'_>, path: &str, error: &scda::Error) -> PyErr {
    exception(py, path, error.code(), error.offset(), &error.to_string())
}

/// The exception of the class for a code of the C interface.
pub fn exception(py: Python<'_>, path: &str, code: i32, offset: Option<u64>, message: &str) -> PyErr {
    let made = py
        .import("scda._errors")
        .and_then(|errors| errors.call_method1("exception", (code, message, offset, path)));
    made.map_or_else(|failure| failure, PyErr::from_value)
}

/// The exception for an argument that the Python side should not have passed.
pub fn invalid(message: String) -> PyErr {
    pyo3::exceptions::PyValueError::new_err(message)
}

/// The exception for a call with a closed file.
pub fn closed(py: Python<'_>, path: &str) -> PyErr {
    exception(py, path, scda::ErrorKind::Usage.code(), None, &format!("{path}: the file is closed"))
}

/// The exception for a call with a file that another thread was using in the parent process when this process
/// was forked.
pub fn left_locked(py: Python<'_>, path: &str) -> PyErr {
    let words = format!(
        "{path}: another thread was reading the file when this process was forked off; open it again in this process"
    );
    exception(py, path, scda::ErrorKind::Usage.code(), None, &words)
}
