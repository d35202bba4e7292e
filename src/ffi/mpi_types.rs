//! The types of MPI in the interface, or their stand-ins in a build without MPI.

use crate::error::Result;
use crate::parallel::Communicator;

#[cfg(feature = "mpi")]
pub use mpi_sys::{MPI_Comm, MPI_Info};

/// The stand-in for a communicator.
#[cfg(not(feature = "mpi"))]
pub type MPI_Comm = *mut std::ffi::c_void;
/// The stand-in for hints.
#[cfg(not(feature = "mpi"))]
pub type MPI_Info = *mut std::ffi::c_void;

/// The stand-in's only value, `SCDA_COMM_SELF`; no address and no handle of a real MPI equals it.
#[cfg(not(feature = "mpi"))]
const SERIAL_COMM_SELF: u32 = 0x5cda_5e1f;

/// The communicator of a file, duplicated from the user's.
///
/// # Safety
/// `comm` is a valid communicator.
#[cfg(feature = "mpi")]
pub unsafe fn communicator(comm: MPI_Comm) -> Result<Box<dyn Communicator>> {
    // SAFETY: by contract.
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
    if comm as usize as u32 == SERIAL_COMM_SELF {
        return Ok(Box::new(crate::parallel::Solo));
    }
    Err(crate::error::Error::argument(
        "communicator: this libscda was built without MPI and takes only SCDA_COMM_SELF",
    ))
}
