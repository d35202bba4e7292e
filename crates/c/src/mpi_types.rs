//! The types of MPI in the interface, or their substitutes in a build without MPI.

use scda::Tuning;
use scda_base::error::Result;
use scda_ranks::Communicator;
#[cfg(feature = "mpi")]
use scda_ranks::mpi::{of_fortran, sys};
use std::ffi::c_int;
use std::marker::PhantomData;

#[cfg(feature = "mpi")]
pub use scda_ranks::mpi::{MpiHandle as MPI_Comm, MpiHandle as MPI_Info};

/// The substitute for a communicator.
#[cfg(not(feature = "mpi"))]
pub type MPI_Comm = *mut std::ffi::c_void;
/// The substitute for hints.
#[cfg(not(feature = "mpi"))]
pub type MPI_Info = *mut std::ffi::c_void;

/// The value of `SCDA_COMM_SELF` in Fortran, and of the substitute. No address and no handle of a real MPI
/// equals it.
const SELF: c_int = 0x5cda_5e1f;

/// A valid communicator. For cbindgen it is the handle.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Comm<'a>(MPI_Comm, PhantomData<&'a ()>);

impl Comm<'_> {
    /// # Safety
    /// It is valid during the lifetime.
    pub unsafe fn of(comm: MPI_Comm) -> Self {
        Self(comm, PhantomData)
    }

    /// The communicator of a file, duplicated from the user's.
    #[cfg(feature = "mpi")]
    pub fn duplicate(self) -> Result<Box<dyn Communicator>> {
        // SAFETY: it is valid.
        Ok(Box::new(unsafe { scda_ranks::mpi::Mpi::duplicate(self.0) }?))
    }

    /// The communicator of a file, which is this process.
    #[cfg(not(feature = "mpi"))]
    #[allow(clippy::cast_possible_truncation)]
    pub fn duplicate(self) -> Result<Box<dyn Communicator>> {
        // The substitute is a pointer, but a real mpi.h may have made it an int, so only 32 bits are defined.
        if self.0 as usize as u32 == SELF.cast_unsigned() {
            return Ok(Box::new(scda_ranks::Solo));
        }
        Err(scda_base::error::Error::argument(
            "communicator: this libscda was built without MPI and takes only SCDA_COMM_SELF",
        ))
    }
}

/// A communicator from its number in Fortran.
///
/// # Safety
/// `comm` is `SCDA_COMM_SELF` of Fortran, or a valid communicator of MPI in Fortran.
#[cfg(feature = "mpi")]
pub unsafe fn comm_of_fortran<'a>(comm: c_int) -> Comm<'a> {
    let comm = match comm {
        SELF => sys::comm_self(),
        // SAFETY: MPI is running, and the caller has a valid communicator of Fortran. `duplicate` rejects the
        // null communicator.
        comm => of_fortran(|| unsafe { sys::comm_of_fortran(comm) }).unwrap_or(sys::comm_null()),
    };
    Comm(comm, PhantomData)
}

/// The substitute with the same value.
///
/// # Safety
/// None.
#[cfg(not(feature = "mpi"))]
pub unsafe fn comm_of_fortran<'a>(comm: c_int) -> Comm<'a> {
    Comm(std::ptr::without_provenance_mut(comm.cast_unsigned() as usize), PhantomData)
}

/// Stores hints, from their number in Fortran, in the parameters.
///
/// # Safety
/// `info` is `MPI_INFO_NULL` or valid hints of MPI in Fortran, until the file is open.
#[cfg(feature = "mpi")]
pub unsafe fn hints_of_fortran(info: c_int, tuning: &mut Tuning) {
    // SAFETY: MPI is running, and the caller has valid hints of Fortran.
    if let Some(info) = of_fortran(|| unsafe { sys::info_of_fortran(info) }) {
        // SAFETY: the hints stay valid until the file is open, as the caller guarantees.
        tuning.hints = unsafe { scda_storage::mpi_io::Hints::from_raw(info) };
    }
}

/// Hints have no meaning without MPI.
///
/// # Safety
/// None.
#[cfg(not(feature = "mpi"))]
pub unsafe fn hints_of_fortran(_info: c_int, _tuning: &mut Tuning) {}
