//! The ranks of a communicator of mpi4py.
#![allow(unsafe_code)]

use scda::{Driver, Mpi, Result};

/// A communicator of mpi4py, by its Fortran number.
pub fn ranks_of(number: i32) -> Result<Mpi> {
    // SAFETY: `Ranks` in scda/_ranks.py passes the result of its duplicate's `py2f`. It sends no messages in it while
    // the core works, and frees it after the core has closed the file.
    unsafe { Mpi::of_fortran(number) }
}

/// The driver with which several ranks access a file, by its name in Python.
pub fn driver(comm: Option<i32>, name: &str) -> Driver {
    match name {
        "posix" => Driver::Posix,
        "mpi-io" if comm.is_some() => Driver::MpiIo,
        _ => Driver::Auto,
    }
}
