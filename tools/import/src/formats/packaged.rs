//! The formats that the Python package imports.

use super::{Format, Import, ImportSource};
use crate::fail::{Fail, Result};
use crate::files::is_standard;
use crate::python;
use std::path::Path;

/// A format of the package.
pub struct Packaged {
    name: &'static str,
    /// What its files begin with, for people.
    beginning: Option<&'static str>,
    /// The same, one of these.
    magics: &'static [&'static [u8]],
    /// How the names of its files end: HDF5 may begin after a block of the user's.
    endings: &'static [&'static str],
    /// If it has folders: each of them has one of these files.
    members: &'static [&'static str],
    /// The options of `scda import`.
    options: &'static [&'static str],
}

/// Of a format whose files name no others.
const OPTIONS: &[&str] = &["--strict", "--without"];
/// Of one whose files do.
const OPTIONS_WITH_EXTERNAL: &[&str] = &["--strict", "--without", "--external"];

pub static FORMATS: [Packaged; 5] = [HDF5, NETCDF, NUMPY, ZARR, AMREX];

const HDF5: Packaged = Packaged {
    name: "HDF5",
    beginning: Some(r"\x89HDF"),
    magics: &[b"\x89HDF\r\n\x1a\n"],
    endings: &["h5", "hdf5"],
    members: &[],
    options: OPTIONS_WITH_EXTERNAL,
};
const NETCDF: Packaged = Packaged {
    name: "NetCDF",
    beginning: Some("CDF"),
    magics: &[b"CDF\x01", b"CDF\x02", b"CDF\x05"],
    endings: &["nc", "nc4"],
    members: &[],
    options: OPTIONS,
};
const NUMPY: Packaged = Packaged {
    name: "NumPy",
    beginning: Some("PK"),
    magics: &[b"PK\x03\x04"],
    endings: &["npz"],
    members: &[],
    options: OPTIONS,
};
const ZARR: Packaged = Packaged {
    name: "Zarr",
    beginning: None,
    magics: &[],
    endings: &[],
    members: &["zarr.json", ".zgroup", ".zarray", ".zmetadata"],
    options: OPTIONS,
};
const AMREX: Packaged = Packaged {
    name: "AMReX",
    beginning: None,
    magics: &[],
    endings: &[],
    members: &["Header"],
    options: OPTIONS_WITH_EXTERNAL,
};

impl Format for Packaged {
    fn name(&self) -> &'static str {
        self.name
    }

    fn beginning(&self) -> Option<&'static str> {
        self.beginning
    }

    fn magics(&self) -> &'static [&'static [u8]] {
        self.magics
    }

    fn recognise(&self, source: &ImportSource) -> Result<bool> {
        if let ImportSource::Folder(path, _) = source {
            return Ok(self.members.iter().any(|member| path.join(member).is_file()));
        }
        let ending = Path::new(source.name()).extension();
        let has_ending = ending.is_some_and(|ending| self.endings.iter().any(|known| ending == *known));
        Ok(has_ending || source.begins_with_any(self.magics)?)
    }

    fn options(&self) -> &'static [&'static str] {
        self.options
    }

    fn import(&self, source: ImportSource, import: &Import<'_>) -> Result<()> {
        if is_standard(import.from) {
            let words = format!("expected the name of a file of {}", self.name);
            return Err(Fail::file(source.name(), words));
        }
        python::run(import.arguments)
    }
}
