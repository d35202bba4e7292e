//! The extension module `scda._core`: the core's Writer and Reader for Python. `src/scda` builds on it what
//! users see; its signatures are in `src/scda/_core.pyi`.
//!
//! Python's global lock is released while the core works; the communicator takes it to call mpi4py.

mod dataset;
mod errors;
mod meshes;
mod open_file;
mod ranks;
mod reader;
mod source;
mod writer;

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use scda_base::floats::in_default;

/// Bytes of Python to write.
type Bytes<'py> = PyReadonlyArray1<'py, u8>;
/// Unsigned numbers of Python, such as sizes and positions.
type Positions<'py> = PyReadonlyArray1<'py, u64>;
/// Memory of Python to read into.
type BytesMut<'py> = PyReadwriteArray1<'py, u8>;

/// The counts of `n` elements distributed evenly over `size` ranks.
#[pyfunction]
fn uniform_partition(n: u64, size: usize) -> Vec<u64> {
    scda::uniform_partition(n, size)
}

/// The names of all types of items except raw bytes. numpy uses the same names.
#[pyfunction]
fn type_names() -> Vec<&'static str> {
    scda::DataType::names().collect()
}

/// The names of the codecs of chunks; the default comes first.
#[pyfunction]
fn codec_names() -> Vec<&'static str> {
    scda::Codec::NAMES.map(|(_, name)| name).into()
}

/// The user string of a dataset with this name.
#[pyfunction]
fn stored_name(name: &str) -> String {
    scda_format::dataset::stored_name(name).into_owned()
}

/// The path of this group in its user string, where a slash follows it.
#[pyfunction]
fn stored_path(path: &str) -> String {
    scda_format::dataset::stored_path(path).into_owned()
}

/// True if sections with this user string are a part of something that has a name, such as the metadata of a
/// dataset.
#[pyfunction]
fn is_internal(user: &[u8]) -> bool {
    scda_format::dataset::additions::is_internal(user)
}

/// From now on, these signals and a deadline request a stop.
#[pyfunction]
fn stop_watch(signals: Vec<i32>, seconds: f64) -> PyResult<()> {
    let after = std::time::Duration::try_from_secs_f64(seconds);
    let after = after.map_err(|error| errors::invalid(format!("seconds: found {seconds}: {error}")))?;
    let after = Some(after).filter(|after| !after.is_zero());
    scda::stop::watch(&signals, after).map_err(|error| errors::invalid(error.to_string()))
}

/// True if this process was asked to stop.
#[pyfunction]
fn stop_noted() -> bool {
    scda_base::stop::is_noted()
}

/// Runs the command `scda` with these arguments, the first of which is its own name. Returns its exit code.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| in_default(|| scda_command::run(arguments)))
}

/// Calls a function in the default floating-point environment, as the core does, because another library may
/// have changed it.
#[pyfunction]
fn in_default_floats<'py>(call: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    in_default(|| call.call0())
}

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::{
        codec_names, command, in_default_floats, is_internal,
        meshes::{
            ForestCheck, forest_cells, mesh_checksum, mesh_part, most_vertices, patch_mesh, wrong_corners,
            wrong_offsets, wrong_tree_offsets,
        },
        reader::{DatasetHandle, Reader, Stream, Streams},
        stop_noted, stop_watch, stored_name, stored_path, type_names, uniform_partition,
        writer::{CommitRequest, Writer},
    };

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    const DEFAULT_LEVEL: u32 = scda::WriteOptions::DEFAULT_LEVEL;
}
