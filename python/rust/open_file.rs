//! An open file: one thread uses it at a time, and errors of the core become exceptions.

use crate::errors::{Cause, closed, left_locked};
use pyo3::prelude::*;
use scda_base::panics::catch;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// A file that stays open until an error or the program closes it.
pub struct OpenFile<T> {
    path: String,
    open: Mutex<Option<T>>,
    /// The process that opened it.
    process: u32,
    /// True if a forked process may use its copy.
    works_after_fork: bool,
    pub cause: Cause,
}

/// The result of an operation on a file. The inner option is None if the file is closed; the outer one is None if
/// this process was forked while a thread of its parent was using the file.
type Found<R> = Option<Option<scda::Result<R>>>;

impl<T: Send> OpenFile<T> {
    pub fn new(path: String, open: T, works_after_fork: bool, cause: Cause) -> Self {
        Self { path, open: Mutex::new(Some(open)), process: std::process::id(), works_after_fork, cause }
    }

    /// Runs an operation on the file, without Python's global lock: if this waits for another thread, that thread must
    /// be able to take the global lock.
    pub fn operate<R: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut Option<T>) -> Option<scda::Result<R>> + Send,
    ) -> PyResult<R> {
        let found = py.detach(|| self.caught(operation));
        self.result(py, found)
    }

    /// Like [`Self::operate`], for callers that do not hold the global lock. A panic becomes an error of the core.
    pub fn caught<R>(&self, operation: impl FnOnce(&mut Option<T>) -> Option<scda::Result<R>>) -> Found<R> {
        let mut open = self.locked()?;
        Some(catch(|| Ok(operation(&mut open))).unwrap_or_else(|error| Some(Err(error))))
    }

    /// The value of an operation's result for Python, or the exception.
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

    /// The file, as soon as no other thread uses it. `None` in a forked process that may not use it, or if it was
    /// locked by a thread that exists only in the parent.
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

    /// True if this process has opened the file.
    pub fn is_ours(&self) -> bool {
        std::process::id() == self.process
    }

    /// The file, for the owner's drop, if it is still open.
    pub fn take(&mut self) -> Option<T> {
        self.open.get_mut().unwrap_or_else(PoisonError::into_inner).take()
    }
}
