//! A file that is open: one thread uses it at a time, and errors of the core become exceptions.

use crate::errors::{Cause, closed, left_locked};
use pyo3::prelude::*;
use scda_base::panics::catch;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// A file that is open, until an error or the program closes it.
pub struct OpenFile<T> {
    path: String,
    open: Mutex<Option<T>>,
    /// The process that opened it.
    process: u32,
    /// Whether a process that was forked off may use its copy.
    works_after_fork: bool,
    pub cause: Cause,
}

/// What an operation on a file returns: nothing if the file is closed; and nothing at all if this process has been forked off from one
/// whose thread used the file.
type Found<R> = Option<Option<scda::Result<R>>>;

impl<T: Send> OpenFile<T> {
    pub fn new(path: String, open: T, works_after_fork: bool, cause: Cause) -> Self {
        Self { path, open: Mutex::new(Some(open)), process: std::process::id(), works_after_fork, cause }
    }

    /// Works on the file, without Python's global lock: waiting for another thread that does must not keep that from taking it.
    pub fn operate<R: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut Option<T>) -> Option<scda::Result<R>> + Send,
    ) -> PyResult<R> {
        let found = py.detach(|| self.caught(operation));
        self.result(py, found)
    }

    /// As [`Self::operate`], by who does not have the global lock. A panic is an error of the core.
    pub fn caught<R>(&self, operation: impl FnOnce(&mut Option<T>) -> Option<scda::Result<R>>) -> Found<R> {
        let mut open = self.locked()?;
        Some(catch(|| Ok(operation(&mut open))).unwrap_or_else(|error| Some(Err(error))))
    }

    /// What an operation returns to Python.
    pub fn result<R>(&self, py: Python<'_>, found: Found<R>) -> PyResult<R> {
        match found {
            Some(Some(result)) => result.map_err(|error| self.raise(py, &error)),
            None if self.works_after_fork => Err(left_locked(py, &self.path)),
            _ => Err(closed(py, &self.path)),
        }
    }

    /// The exception for an error of the core.
    pub fn raise(&self, py: Python<'_>, error: &scda::Error) -> PyErr {
        self.cause.raise(py, &self.path, error)
    }

    /// The file, when no other thread uses it. `None` in a process that was forked off and may not use it, or while a thread did that this
    /// process does not have.
    pub fn locked(&self) -> Option<MutexGuard<'_, Option<T>>> {
        let is_ours = self.is_ours();
        match self.open.try_lock() {
            _ if !is_ours && !self.works_after_fork => None,
            Err(TryLockError::WouldBlock) if !is_ours => None,
            Err(TryLockError::WouldBlock) => Some(self.open.lock().unwrap_or_else(PoisonError::into_inner)),
            Err(TryLockError::Poisoned(open)) => Some(open.into_inner()),
            Ok(open) => Some(open),
        }
    }

    /// Whether this process has opened it.
    pub fn is_ours(&self) -> bool {
        std::process::id() == self.process
    }

    /// The file, if it is still open when its owner is dropped.
    pub fn take(&mut self) -> Option<T> {
        self.open.get_mut().unwrap_or_else(PoisonError::into_inner).take()
    }
}
