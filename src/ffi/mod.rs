//! The C interface: pointers in, error codes out.
//!
//! It does what the public Rust interface does. Of C's arguments more can be wrong on one rank alone, such
//! as NULL; so the functions run the operations of `Writer` and `Reader` with data that may be an error, which
//! all ranks get when they next agree.
//!
//! Every function is one call of `guard`, which turns a panic into an error code. C knows a file by a number
//! that is stored in a pointer. A context that was freed already is thus an error: no such pointer is ever
//! dereferenced.
//!
//! The C caller guarantees what `include/scda.h` says of each argument. Comments on `unsafe` code name that
//! guarantee as what "C passes".
#![allow(unsafe_code, non_camel_case_types)]
#![allow(clippy::missing_safety_doc)] // the header says it, in the terms of C
#![allow(rustdoc::broken_intra_doc_links)] // Doxygen's [in] and [out] are no links

mod append;
mod arguments;
mod boxes;
mod context;
mod dataset;
mod errors;
mod given;
mod memory;
mod mpi_types;
mod notes;
mod open;
mod params;
mod ranges;
mod read;
mod read_datasets;
#[cfg(feature = "sc")]
mod sc;
mod seal_state;
mod sections;
mod streams;
mod write;
mod write_datasets;

pub use append::*;
pub use boxes::{scda_box, scda_box_init, scda_box_t};
pub use context::{scda_fcontext, scda_fcontext_t};
pub use dataset::*;
pub use errors::*;
pub use mpi_types::{MPI_Comm, MPI_Info};
pub use notes::scda_fnote;
pub use open::*;
pub use params::*;
pub use ranges::*;
pub use read::*;
pub use read_datasets::*;
pub use sections::*;
pub use streams::*;
pub use write::*;
pub use write_datasets::*;

use crate::error::{Error, ErrorKind, Result};
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a function returns by its error code, apart from errors.
enum Outcome {
    Success,
    EndOfFile,
}

impl From<()> for Outcome {
    fn from((): ()) -> Self {
        Self::Success
    }
}

thread_local! {
    /// The message of the last error of this thread.
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Runs the body of a C function, sets `*err` (NULL: not wanted), and keeps the message of an
/// error. Returns what the body returns, or `on_error`.
///
/// # Safety
/// `err` is NULL or may be written.
unsafe fn guard<T>(err: *mut c_int, on_error: T, body: impl FnOnce() -> Result<(T, Outcome)>) -> T {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(Error::of_panic(&*panic)));
    let (value, code) = match result {
        Ok((value, Outcome::Success)) => (value, 0),
        Ok((value, Outcome::EndOfFile)) => {
            keep_message(ErrorKind::EndOfFile.text());
            (value, ErrorKind::EndOfFile.code())
        }
        Err(error) => {
            keep_message(&error.to_string());
            (on_error, error.code())
        }
    };
    if !err.is_null() {
        // SAFETY: not NULL, so the caller lets it be written.
        unsafe { err.write(code) };
    }
    value
}

/// Keeps the text of the last error of this thread.
fn keep_message(text: &str) {
    let text = CString::new(text.replace('\0', "\\0")).unwrap_or_default();
    // A thread that is about to end has no message any more.
    let _ = LAST_ERROR.try_with(|last| *last.borrow_mut() = text);
}

/// The text of the last error of this thread.
fn last_error() -> *const c_char {
    LAST_ERROR.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}
