//! MPI's numeric constants, which differ between families of libraries.

use super::sys::{Family, MpiStatus, family};
use scda_base::error::ErrorKind;
use std::ffi::c_int;
use std::ptr::without_provenance_mut;

/// `MPI_UNDEFINED`.
pub const UNDEFINED: c_int = -32766;

/// A constant of MPI, with its number in each family.
#[derive(Clone, Copy)]
pub struct FamilyNumbers {
    open_mpi: c_int,
    mpich: c_int,
    standard: c_int,
}

const fn numbers(open_mpi: c_int, mpich: c_int, standard: c_int) -> FamilyNumbers {
    FamilyNumbers { open_mpi, mpich, standard }
}

impl FamilyNumbers {
    /// The number in this family.
    pub const fn of(&self, family: Family) -> c_int {
        match family {
            Family::OpenMpi => self.open_mpi,
            Family::Mpich => self.mpich,
            Family::Standard => self.standard,
        }
    }

    /// The number in the program's MPI.
    pub fn get(&self) -> c_int {
        self.of(family().unwrap_or(Family::OpenMpi))
    }
}

macro_rules! named {
    ($($name:ident: $($number:literal),*;)*) => {
        $(
            #[doc = concat!("`MPI_", stringify!($name), "`.")]
            pub const $name: FamilyNumbers = numbers($($number),*);
        )*
        /// All of these constants, by name.
        #[cfg(test)]
        pub const NAMED: &[(&str, FamilyNumbers)] = &[$((concat!("MPI_", stringify!($name)), $name)),*];
    };
}
named! {
    MODE_CREATE: 1, 1, 2;
    MODE_RDONLY: 2, 2, 16;
    MODE_RDWR: 8, 8, 32;
    MODE_EXCL: 64, 64, 8;
    MODE_NOCHECK: 1, 1024, 1024;
    COMM_TYPE_SHARED: 0, 1, 221;
    ERR_LASTCODE: 92, 0x3fff_ffff, 0x3fff;
    ERR_INTERN: 17, 16, 17;
}

/// The address of `MPI_STATUS_IGNORE`.
pub const STATUS_IGNORE: FamilyNumbers = numbers(0, 1, 0);

/// `MPI_STATUS_IGNORE`.
pub fn status_ignore() -> *mut MpiStatus {
    without_provenance_mut(STATUS_IGNORE.get().unsigned_abs() as usize)
}

/// The MPI error classes of file access and of memory, and `MPI_ERR_OTHER`.
pub const CLASSES: [(ErrorKind, FamilyNumbers); 12] = [
    (ErrorKind::NoSuchFile, numbers(42, 37, 42)),
    (ErrorKind::Access, numbers(20, 20, 20)),
    (ErrorKind::NoSpace, numbers(41, 36, 41)),
    (ErrorKind::Quota, numbers(44, 39, 44)),
    (ErrorKind::ReadOnly, numbers(45, 40, 45)),
    (ErrorKind::FileExists, numbers(28, 25, 28)),
    (ErrorKind::BadFile, numbers(23, 22, 23)),
    (ErrorKind::FileInUse, numbers(29, 26, 29)),
    (ErrorKind::Unsupported, numbers(52, 44, 55)),
    (ErrorKind::Io, numbers(35, 32, 35)),
    (ErrorKind::Memory, numbers(39, 34, 39)),
    (ErrorKind::Mpi, numbers(16, 15, 16)),
];

/// The error class for a kind of error, if MPI has one.
pub fn class_of(kind: ErrorKind) -> Option<c_int> {
    CLASSES.iter().find(|(known, _)| *known == kind).map(|(_, numbers)| numbers.get())
}

/// The kind of error for a class, if it is known.
pub fn kind_of(class: c_int) -> Option<ErrorKind> {
    CLASSES.iter().find(|(_, numbers)| numbers.get() == class).map(|(kind, _)| *kind)
}
