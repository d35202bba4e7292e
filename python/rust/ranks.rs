//! The ranks of a communicator of mpi4py.
#![allow(unsafe_code)]

use scda::{Driver, Mpi, Result};

/// A communicator of mpi4py, by its number in Fortran.
pub fn ranks_of(number: i32) -> Result<Mpi> {
    // SAFETY: `Ranks` in scda/_ranks.py gives what its duplicate's `py2f` says. It sends nothing in it while the core works, and frees
    // it when the core has closed the file.
    unsafe { Mpi::of_fortran(number) }
}

/// By what several ranks reach a file, by its name in Python.
pub fn driver(comm: Option<i32>, name: &str) -> Driver {
    match name {
        "posix" => Driver::Posix,
        "mpi-io" if comm.is_some() => Driver::MpiIo,
        _ => Driver::Auto,
    }
}
