//! The files that are open, by the handles that C has of them.

use super::{Outcome, guard};
use crate::error::{Error, Result};
use crate::file::{Reader, Writer};
use std::ffi::c_int;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file that is open for writing or reading. Opaque.
pub struct scda_fcontext {
    _private: [u8; 0],
}

/// A file that is open for writing or reading. Opaque.
pub type scda_fcontext_t = scda_fcontext;

/// A file that is open.
pub enum Context {
    Writing(Writer),
    Reading(Reader),
}

/// The handles given out, and their files; a file is taken out while a function works on it.
struct Registry {
    last: usize,
    files: Vec<(usize, Option<Box<Context>>)>,
}

static OPEN_FILES: Mutex<Registry> = Mutex::new(Registry { last: 0, files: Vec::new() });

fn registry() -> MutexGuard<'static, Registry> {
    OPEN_FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives a file a handle, which is never given again.
pub fn register(context: Context) -> *mut scda_fcontext_t {
    let mut registry = registry();
    registry.last += 1;
    let handle = registry.last;
    registry.files.push((handle, Some(Box::new(context))));
    without_provenance_mut(handle)
}

/// Takes the file of a handle out.
fn take(f: *const scda_fcontext_t) -> Result<Box<Context>> {
    if f.is_null() {
        return Err(Error::argument("file context: found NULL"));
    }
    let mut registry = registry();
    match registry.files.iter_mut().find(|(handle, _)| *handle == f.addr()) {
        Some((_, context)) => {
            context.take().ok_or_else(|| Error::usage("file context: another thread is using it"))
        }
        None => Err(Error::usage("file context: it was closed already, or was never open")),
    }
}

/// Puts a file back in its place, or gives up the handle.
fn put_back(f: *const scda_fcontext_t, context: Option<Box<Context>>) {
    let mut registry = registry();
    let Some(index) = registry.files.iter().position(|(handle, _)| *handle == f.addr()) else {
        return;
    };
    match context {
        Some(_) => registry.files[index].1 = context,
        None => drop(registry.files.swap_remove(index)),
    }
}

/// Whether reading has come to the end, or the handle has no file to read from.
pub fn at_end(f: *const scda_fcontext_t) -> bool {
    let registry = registry();
    match registry.files.iter().find(|(handle, _)| *handle == f.addr()) {
        Some((_, Some(context))) => match &**context {
            Context::Reading(reader) => reader.at_end(),
            Context::Writing(_) => true,
        },
        _ => true,
    }
}

/// Gives up its handle when a function leaves without having put its file back.
struct Lease(*mut scda_fcontext_t);

impl Drop for Lease {
    fn drop(&mut self) {
        put_back(self.0, None);
    }
}

/// Runs a function on an open file. On error the file is closed and its handle given up.
///
/// # Safety
/// `err` is NULL or may be written.
pub unsafe fn with(
    f: *mut scda_fcontext_t,
    err: *mut c_int,
    body: impl FnOnce(&mut Context) -> Result<Outcome>,
) -> *mut scda_fcontext_t {
    let run = || {
        let mut context = take(f)?;
        let lease = Lease(f);
        let outcome = body(&mut context)?;
        std::mem::forget(lease);
        put_back(f, Some(context));
        Ok((f, outcome))
    };
    // SAFETY: by contract.
    unsafe { guard(err, null_mut(), run) }
}

/// Closes a file and gives up its handle. 0 if that went well.
///
/// # Safety
/// `err` is NULL or may be written.
pub unsafe fn close(f: *mut scda_fcontext_t, err: *mut c_int) -> c_int {
    let run = || {
        let context = take(f)?;
        drop(Lease(f));
        match *context {
            Context::Writing(writer) => writer.close()?,
            Context::Reading(reader) => reader.close()?,
        }
        Ok((0, Outcome::Success))
    };
    // SAFETY: by contract.
    unsafe { guard(err, -1, run) }
}

impl Context {
    /// Fails on all ranks with an error of an argument.
    pub fn fail(&mut self, error: Error) -> Error {
        match self {
            Self::Writing(writer) => writer.fail(error),
            Self::Reading(reader) => reader.fail(error),
        }
    }

    /// A value, or failure on all ranks.
    pub fn require<T>(&mut self, value: Result<T>) -> Result<T> {
        value.map_err(|error| self.fail(error))
    }

    /// The number of ranks, and this one.
    pub fn ranks(&mut self) -> (u64, usize) {
        let (size, rank) = match self {
            Self::Writing(writer) => writer.ranks(),
            Self::Reading(reader) => reader.ranks(),
        };
        (size as u64, rank)
    }

    /// The file, if it is open for writing.
    pub fn writer(&mut self) -> Result<&mut Writer> {
        match self {
            Self::Writing(writer) => Ok(writer),
            Self::Reading(reader) => {
                Err(reader.fail(Error::usage("found a function for writing on a file open for reading")))
            }
        }
    }

    /// The file, if it is open for reading.
    pub fn reader(&mut self) -> Result<&mut Reader> {
        match self {
            Self::Reading(reader) => Ok(reader),
            Self::Writing(writer) => {
                Err(writer.fail(Error::usage("found a function for reading on a file open for writing")))
            }
        }
    }
}
