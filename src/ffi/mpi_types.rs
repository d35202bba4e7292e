//! The types of MPI in the interface, or their stand-ins in a build without MPI.

use crate::error::Result;
use crate::file::Params;
use crate::parallel::Communicator;
#[cfg(feature = "mpi")]
use crate::parallel::mpi::sys;
use std::ffi::c_int;

#[cfg(feature = "mpi")]
pub use crate::parallel::mpi::{MpiHandle as MPI_Comm, MpiHandle as MPI_Info};

/// The stand-in for a communicator.
#[cfg(not(feature = "mpi"))]
pub type MPI_Comm = *mut std::ffi::c_void;
/// The stand-in for hints.
#[cfg(not(feature = "mpi"))]
pub type MPI_Info = *mut std::ffi::c_void;

/// The value of `SCDA_COMM_SELF` in Fortran, and of the stand-in; no address and no handle of a real
/// MPI equals it.
const SELF: c_int = 0x5cda_5e1f;

/// The communicator of a file, duplicated from the user's.
///
/// # Safety
/// `comm` is a valid communicator.
#[cfg(feature = "mpi")]
pub unsafe fn communicator(comm: MPI_Comm) -> Result<Box<dyn Communicator>> {
    // SAFETY: the caller's `comm` is a valid communicator.
    Ok(Box::new(unsafe { crate::parallel::mpi::Mpi::duplicate(comm) }?))
}

/// The communicator of a file: this process.
///
/// # Safety
/// None: the value is only compared.
#[cfg(not(feature = "mpi"))]
#[allow(clippy::cast_possible_truncation)]
pub unsafe fn communicator(comm: MPI_Comm) -> Result<Box<dyn Communicator>> {
    // The stand-in is a pointer, but a real mpi.h may have made it an int: only 32 bits are defined.
    if comm as usize as u32 == SELF.cast_unsigned() {
        return Ok(Box::new(crate::parallel::Solo));
    }
    Err(crate::error::Error::argument(
        "communicator: this libscda was built without MPI and takes only SCDA_COMM_SELF",
    ))
}

/// A communicator that Fortran knows by a number.
///
/// # Safety
/// `comm` is `SCDA_COMM_SELF` of Fortran, or a valid communicator of MPI in Fortran.
#[cfg(feature = "mpi")]
pub unsafe fn comm_of_fortran(comm: c_int) -> MPI_Comm {
    if comm == SELF {
        return sys::comm_self();
    }
    // Open MPI ends a program that asks before MPI is initialised. `communicator` makes that an error.
    if !crate::parallel::mpi::is_running() {
        return sys::comm_null();
    }
    // SAFETY: MPI is running, and the caller has a valid communicator of Fortran.
    unsafe { sys::comm_of_fortran(comm) }
}

/// The stand-in of the same value.
///
/// # Safety
/// None.
#[cfg(not(feature = "mpi"))]
pub unsafe fn comm_of_fortran(comm: c_int) -> MPI_Comm {
    std::ptr::without_provenance_mut(comm.cast_unsigned() as usize)
}

/// Puts the hints that Fortran knows by a number into the parameters.
///
/// # Safety
/// `info` is `MPI_INFO_NULL` or valid hints of MPI in Fortran, until the file is open.
#[cfg(feature = "mpi")]
pub unsafe fn hints_of_fortran(info: c_int, params: &mut Params) {
    if crate::parallel::mpi::is_running() {
        // SAFETY: MPI is running, and the caller has valid hints of Fortran.
        let info = unsafe { sys::info_of_fortran(info) };
        // SAFETY: the hints stay valid until the file is open, as the caller guarantees.
        params.hints = unsafe { crate::storage::mpi_io::Hints::from_raw(info) };
    }
}

/// Hints have no meaning without MPI.
///
/// # Safety
/// None.
#[cfg(not(feature = "mpi"))]
pub unsafe fn hints_of_fortran(_info: c_int, _params: &mut Params) {}
