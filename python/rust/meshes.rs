//! The rules of meshes, for arrays that Python has read.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use scda_meshes::patches::{Checked, Frame};
use scda_meshes::{MeshError, particles};

/// Integers of 64 bits of Python.
type Integers<'py> = PyReadonlyArray1<'py, i64>;
/// Integers of 32 bits of Python.
type SmallIntegers<'py> = PyReadonlyArray1<'py, i32>;
/// Floating-point numbers of Python.
type Numbers<'py> = PyReadonlyArray1<'py, f64>;

/// The name of a dataset that is wrong, and how it is.
type WrongPart = (String, String);

/// Where the cells of each patch of a mesh begin, with the end of all, and the checksum of the mesh; or the dataset that is wrong, and how.
#[pyfunction]
pub fn patch_mesh(
    dimension: usize,
    boxes: Integers<'_>,
    level: SmallIntegers<'_>,
    ratio: SmallIntegers<'_>,
    domain: Integers<'_>,
    geometry: Numbers<'_>,
) -> PyResult<(Vec<u64>, String, Option<WrongPart>)> {
    let frame = Frame {
        dimension,
        ratio: ratio.as_slice()?.to_vec(),
        domain: domain.as_slice()?.to_vec(),
        geometry: geometry.as_slice()?.to_vec(),
    };
    let (boxes, level) = (boxes.as_slice()?, level.as_slice()?);
    let mut offsets = vec![0];
    let mut check = || {
        frame.check()?;
        let mut checked = Checked::new(&frame, 0);
        for (level, cells) in level.iter().zip(boxes.chunks_exact(2 * dimension)) {
            checked.add(*level, cells)?;
            offsets.push(checked.cells);
        }
        checked.end()?;
        Ok(checked.checksum)
    };
    Ok(match check() {
        Ok(checksum) => (offsets, checksum.to_string(), None),
        Err(MeshError { part, words }) => (Vec::new(), String::new(), Some((part.to_owned(), words))),
    })
}

/// What is wrong with the offsets of particles, if anything is.
#[pyfunction]
pub fn wrong_offsets(offsets: Integers<'_>) -> PyResult<Option<String>> {
    let offsets = offsets.as_slice()?;
    let checked =
        particles::check_count(offsets.len() as u64).and_then(|()| particles::check_offsets(offsets));
    Ok(checked.err().map(|MeshError { words, .. }| words))
}
