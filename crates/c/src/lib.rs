//! The C interface: pointers in, error codes out.
//!
//! It offers the public Rust interface to C. In C, more arguments can be wrong on a single rank, such as a
//! NULL pointer. The functions therefore run the operations of `Writer` and `Reader` with data that may be an
//! error, which all ranks receive at their next agreement.
//!
//! The body of every function is one call of `guard`, which turns a panic into an error code. A
//! `scda_fcontext_t *` is a number stored in a pointer and is never dereferenced, so using a context that was
//! already freed is an error, not undefined behaviour.
//!
//! The C caller guarantees what `include/scda.h` says about each argument. The argument's type says it as
//! well, so that no `unsafe` code is needed to use it: a single value is `Option<&T>`, or `Out<T>`
//! for output, with `None` for NULL; lists and data are `Values` and `Room`; the others are in `pointers`,
//! `versioned` and `mpi_types`. The number of values is stated only in `scda.h`, so the code that reads them
//! passes it. Elsewhere, comments call such a guarantee what "C passes".
#![allow(unsafe_code, non_camel_case_types)]
#![allow(clippy::missing_safety_doc)] // the header says it, in the terms of C
#![allow(clippy::missing_errors_doc)] // so are the errors; what is public for Rust is for crates/libsc alone
#![allow(rustdoc::broken_intra_doc_links)] // Doxygen's [in] and [out] are no links

mod append;
pub mod arguments;
mod attributes;
mod background;
mod bind;
mod boxes;
pub mod context;
mod dataset;
mod encode;
mod entries;
mod errors;
mod forest_read;
mod forest_write;
mod forests;
mod info;
mod lengths;
pub mod memory;
mod mesh_fields;
pub mod mpi_types;
mod notes;
mod open;
pub mod params;
mod particles;
mod partition;
mod patches;
pub mod pointers;
mod ranges;
mod read;
mod read_datasets;
mod read_fields;
#[cfg(feature = "mpi")]
mod requests;
mod returned_values;
mod sections;
mod steps;
mod stop;
mod streams;
mod texts;
mod types;
mod versioned;
mod write;
mod write_datasets;

pub use append::*;
pub use attributes::*;
pub use background::*;
pub use bind::*;
pub use boxes::{scda_box, scda_box_init_size, scda_box_t};
pub use context::{scda_fcontext, scda_fcontext_t};
pub use dataset::*;
pub use encode::*;
pub use entries::*;
pub use errors::*;
pub use forest_read::*;
pub use forest_write::*;
pub use forests::*;
pub use info::*;
pub use mpi_types::{MPI_Comm, MPI_Info};
pub use notes::scda_note;
pub use open::*;
pub use params::*;
pub use particles::*;
pub use partition::*;
pub use patches::*;
pub use ranges::*;
pub use read::*;
pub use read_datasets::*;
pub use read_fields::*;
pub use sections::*;
pub use steps::*;
pub use stop::*;
pub use streams::*;
pub use types::*;
pub use write::*;
pub use write_datasets::*;

use memory::Out;
use scda_base::calls;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::panics::catch;
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};

/// The result of a function according to its error code, apart from errors.
pub enum Outcome {
    /// Success.
    Success,
    /// No section follows.
    EndOfFile,
}

impl From<()> for Outcome {
    fn from((): ()) -> Self {
        Self::Success
    }
}

thread_local! {
    /// The message of this thread's last error, and the rank on which it occurred.
    static LAST_ERROR: RefCell<(CString, Option<usize>)> = RefCell::default();
}

/// Runs the body of a C function, sets `*err`, and keeps the message of an error. Returns the result of the
/// body, or `on_error`.
pub fn guard<T>(err: Out<'_, c_int>, on_error: T, body: impl FnOnce() -> Result<(T, Outcome)>) -> T {
    let (value, code) = caught(on_error, body);
    if let Some(err) = err {
        err.write(code);
    }
    value
}

/// Like [`guard`], but returns the error code as well.
pub fn caught<T, F: FnOnce() -> Result<(T, Outcome)>>(on_error: T, body: F) -> (T, c_int) {
    let _call = calls::begin(std::any::type_name::<F>());
    match catch(body) {
        Ok((value, Outcome::Success)) => (value, 0),
        Ok((value, Outcome::EndOfFile)) => {
            keep_message(ErrorKind::EndOfFile.text(), None);
            (value, ErrorKind::EndOfFile.code())
        }
        Err(error) => {
            keep_message(&error.to_string(), error.rank());
            (on_error, error.code())
        }
    }
}

/// The message for a call on NULL. Programs in Fortran do not see the NULL.
const NO_FILE: &str = "the file is not open (its context is NULL): it was closed, an earlier call failed, or it was never opened";

/// Handles a call on the NULL that a failed call has returned. The error of that call stays in `*err`, and so
/// does its message; if `*err` has none, the NULL is an error of this call.
#[cold]
fn on_null<T>(err: Out<'_, c_int>, on_error: T) -> T {
    if has_error(&err) {
        return on_error;
    }
    guard(err, on_error, || Err(Error::argument(NO_FILE)))
}

/// Whether an earlier call has left an error in `*err`, or may have done so: without `err`, that is unknown.
fn has_error(err: &Out<'_, c_int>) -> bool {
    err.as_ref().is_none_or(|err| {
        // SAFETY: C passes an `err` that has a value if the file is NULL or there is no request.
        let code = unsafe { err.assume_init_read() };
        ErrorKind::from_code(code).is_some_and(|kind| kind != ErrorKind::EndOfFile)
    })
}

/// Keeps the text of this thread's last error, and its rank.
fn keep_message(text: &str, rank: Option<usize>) {
    let text = CString::new(text.replace('\0', "\\0")).unwrap_or_default();
    // A thread that is about to end keeps no message.
    let _ = LAST_ERROR.try_with(|last| *last.borrow_mut() = (text, rank));
}

/// The text of this thread's last error.
pub fn last_error() -> *const c_char {
    LAST_ERROR.try_with(|last| last.borrow().0.as_ptr()).unwrap_or(c"".as_ptr())
}

/// The rank on which this thread's last error occurred; -1 for an error of all ranks, or none.
fn failed_rank() -> c_int {
    let rank = LAST_ERROR.try_with(|last| last.borrow().1).unwrap_or(None);
    rank.and_then(|rank| rank.try_into().ok()).unwrap_or(-1)
}
