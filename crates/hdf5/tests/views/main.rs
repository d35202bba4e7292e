//! Views of files that libscda has written, as programs for HDF5 read them: h5py, h5dump, h5stat, netCDF4, xarray and VTK, where they are
//! installed. `SCDA_HDF5_PYTHON` names another Python than `python3`.
#![allow(clippy::cast_possible_truncation)] // test data

mod appended;
mod checked;
mod file;
mod layouts;
mod programs;
mod random;
#[allow(dead_code)] // other tests use the rest
#[path = "../../../../tests/common/rng.rs"]
mod rng;
#[path = "../../../../tests/common/sampled.rs"]
mod sampled;
mod series;
mod sizes;
#[path = "../../../../tests/common/skipped.rs"]
mod skipped;
mod types;
mod vtk;
