//! The formats that the Python package imports.

use super::{Format, Import, ImportSource};
use crate::fail::{Fail, Result};
use crate::files::is_standard;
use crate::python;

/// Of a format whose files name no others.
const OPTIONS: &[&str] = &["--strict", "--without"];
/// Of one whose files do.
const OPTIONS_WITH_EXTERNAL: &[&str] = &["--strict", "--without", "--external"];

/// What they have in common.
const PACKAGED: Format = Format {
    name: "",
    beginning: None,
    magics: &[],
    endings: &[],
    members: &[],
    options: OPTIONS,
    import: run,
};

pub const HDF5: Format = Format {
    name: "HDF5",
    beginning: Some(r"\x89HDF"),
    magics: &[b"\x89HDF\r\n\x1a\n"],
    endings: &["h5", "hdf5"],
    options: OPTIONS_WITH_EXTERNAL,
    ..PACKAGED
};
pub const NETCDF: Format = Format {
    name: "NetCDF",
    beginning: Some("CDF"),
    magics: &[b"CDF\x01", b"CDF\x02", b"CDF\x05"],
    endings: &["nc", "nc4"],
    ..PACKAGED
};
pub const NUMPY: Format =
    Format { name: "NumPy", beginning: Some("PK"), magics: &[b"PK\x03\x04"], endings: &["npz"], ..PACKAGED };
pub const ZARR: Format =
    Format { name: "Zarr", members: &["zarr.json", ".zgroup", ".zarray", ".zmetadata"], ..PACKAGED };
pub const AMREX: Format =
    Format { name: "AMReX", members: &["Header"], options: OPTIONS_WITH_EXTERNAL, ..PACKAGED };

fn run(format: &Format, source: ImportSource, import: &Import<'_>) -> Result<()> {
    if is_standard(import.from) {
        let words = format!("expected the name of a file of {}", format.name);
        return Err(Fail::file(source.name(), words));
    }
    python::run(import.arguments)
}
