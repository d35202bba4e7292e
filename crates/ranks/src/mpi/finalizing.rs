//! Calls a function when the program calls `MPI_Finalize`: MPI first deletes the attributes of
//! `MPI_COMM_SELF`, while it can still be used.

use super::{process, succeeded, sys};
use scda_base::panics::catch;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

static WORK: OnceLock<fn()> = OnceLock::new();

/// Calls `work` within `MPI_Finalize`. Only the first call has an effect. Without support for attributes, or
/// with sessions instead of `MPI_Init`, `work` is not called.
pub fn at_finalize(work: fn()) {
    if super::state() != super::State::Initialized {
        return;
    }
    WORK.get_or_init(|| {
        let mut key: c_int = 0;
        // SAFETY: both functions have the types that MPI calls, and the key is writable.
        let made = unsafe { sys::MPI_Comm_create_keyval(no_copy, delete, &raw mut key, null_mut()) };
        if succeeded(made) {
            let comm = sys::comm_self();
            // SAFETY: a valid communicator, and the key just created; the value is not used.
            let _ = unsafe { sys::MPI_Comm_set_attr(comm, key, null_mut()) };
        }
        work
    });
}

/// Keeps duplicates from getting the attribute.
unsafe extern "C" fn no_copy(
    _: sys::Handle,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI passes a writable flag.
    unsafe { flag.write(0) };
    process::SUCCESS
}

unsafe extern "C" fn delete(_: sys::Handle, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    let done = catch(|| {
        WORK.get().into_iter().for_each(|work| work());
        Ok(())
    });
    if let Err(error) = done {
        eprintln!("libscda: MPI_Finalize: {error}");
    }
    process::SUCCESS
}
