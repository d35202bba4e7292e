//! The rules of `crates/meshes` for arrays that Python has read.

use crate::{Bytes, Positions};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use scda_base::floats::in_default;
use scda_format::meshes::checksum::{Checksum, of_quadrants};
use scda_format::meshes::forest::{QuadrantCheck, check_bounds, check_tree_offsets};
use scda_format::meshes::geometry::{ElementArrays, cells};
use scda_format::meshes::patches::{Frame, PatchChecker};
use scda_format::meshes::shapes::{Element, ElementCheck};
use scda_format::meshes::{Convention, MeshError, particles};

/// 64-bit integers of Python.
type Integers<'py> = PyReadonlyArray1<'py, i64>;
/// 32-bit integers of Python.
type SmallIntegers<'py> = PyReadonlyArray1<'py, i32>;
/// Floating-point numbers of Python.
type Numbers<'py> = PyReadonlyArray1<'py, f64>;

/// The name of a dataset that is wrong, and an explanation.
type WrongPart = (String, String);

fn wrong_part(checked: Result<(), MeshError>) -> Option<WrongPart> {
    checked.err().map(|MeshError { part, words }| (part.to_owned(), words))
}

/// The type and shape of a part of a mesh, by the attribute and version of its convention, with this number of rows;
/// `None`: any number.
#[pyfunction]
pub fn mesh_part(
    convention: &str,
    version: u64,
    name: &str,
    dimension: usize,
    rows: Option<u64>,
) -> PyResult<(String, Vec<Option<u64>>)> {
    let kind = Convention::ALL.into_iter().find(|kind| kind.attribute() == convention);
    match kind.and_then(|kind| kind.part(version, name)) {
        Some(part) => Ok((part.items.to_string(), part.extents(dimension, rows).collect())),
        None => Err(PyKeyError::new_err(format!("{convention}: {name}"))),
    }
}

/// The most vertices that this number of trees may have.
#[pyfunction]
pub fn most_vertices(trees: u64, dimension: usize) -> u64 {
    scda_format::meshes::forest::most_vertices(trees, dimension)
}

/// The checksum of a mesh of quadrants.
#[pyfunction]
pub fn mesh_checksum(level: Bytes<'_>, offsets: Integers<'_>) -> PyResult<String> {
    let offsets = offsets.as_slice()?;
    Ok(of_quadrants(0, level.as_slice()?, |tree| offsets.get(tree + 1).copied()).to_string())
}

/// Finds errors in offsets of trees, beginning with number `first`; the offset before them is `before`.
#[pyfunction]
pub fn wrong_tree_offsets(
    offsets: Integers<'_>,
    first: u64,
    before: i64,
    trees: u64,
    quadrants: u64,
) -> PyResult<Option<WrongPart>> {
    Ok(wrong_part(check_tree_offsets(offsets.as_slice()?, first, before, trees, quadrants)))
}

/// Finds errors in the vertices of the corners of trees.
#[pyfunction]
pub fn wrong_corners(
    corners: SmallIntegers<'_>,
    dimension: usize,
    vertices: i64,
) -> PyResult<Option<WrongPart>> {
    let rows = (0, 1 << dimension);
    Ok(wrong_part(check_bounds("tree_to_vertex", corners.as_slice()?, rows, (0, vertices - 1))))
}

/// Checks the quadrants or elements of a mesh, one after another.
#[pyclass(module = "scda._core")]
pub struct ForestCheck {
    dimension: usize,
    offsets: Vec<i64>,
    shapes: Vec<u8>,
    quadrants: QuadrantCheck,
    elements: ElementCheck,
    sum: Checksum,
}

#[pymethods]
impl ForestCheck {
    /// For trees with these offsets and shapes; without shapes, they are squares or cubes.
    #[new]
    fn new(dimension: usize, offsets: Integers<'_>, shapes: Option<Bytes<'_>>) -> PyResult<Self> {
        let offsets = offsets.as_slice()?.to_vec();
        let shapes =
            shapes.map(|shapes| shapes.as_slice().map(<[u8]>::to_vec)).transpose()?.unwrap_or_default();
        let quadrants = QuadrantCheck::new(dimension, &offsets, 0, None);
        let elements = ElementCheck::new(dimension, 0, 0);
        Ok(Self { dimension, offsets, shapes, quadrants, elements, sum: Checksum::default() })
    }

    /// Adds quadrants, or elements with their types and positions. Returns an error in one of them, if any.
    fn add(
        &mut self,
        py: Python<'_>,
        coordinates: SmallIntegers<'_>,
        level: Bytes<'_>,
        kind: Option<Bytes<'_>>,
        position: Option<Positions<'_>>,
    ) -> PyResult<Option<WrongPart>> {
        let (coordinates, level) = (coordinates.as_slice()?, level.as_slice()?);
        let elements = kind.as_ref().zip(position.as_ref());
        let elements =
            elements.map(|(kind, at)| Ok::<_, PyErr>((kind.as_slice()?, at.as_slice()?))).transpose()?;
        Ok(wrong_part(py.detach(|| {
            for ((corner, &level), at) in coordinates.chunks_exact(self.dimension).zip(level).zip(0_usize..) {
                let more = match elements {
                    Some((kind, position)) => {
                        let element = Element::new(corner, level, kind[at], position[at]);
                        self.elements.add(&self.offsets, &self.shapes, &element)?
                    }
                    None => self.quadrants.add(&self.offsets, corner, level)?,
                };
                self.sum = self.sum.and(more);
            }
            Ok(())
        })))
    }

    /// The checksum of the quadrants or elements that were added.
    #[getter]
    fn checksum(&self) -> String {
        self.sum.to_string()
    }
}

/// Points in space; the points of the cells, concatenated; the number of points of each cell; and its shape, as
/// VTK numbers them.
type FoundCells<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<u8>>,
);

/// The cells of some quadrants or elements, which must have been checked.
#[allow(clippy::too_many_arguments)]
#[pyfunction]
pub fn forest_cells<'py>(
    py: Python<'py>,
    tree_offsets: Integers<'py>,
    tree_shape: Option<Bytes<'py>>,
    tree_corners: Numbers<'py>,
    first: u64,
    coordinates: PyReadonlyArray2<'py, i32>,
    level: Bytes<'py>,
    kind: Option<Bytes<'py>>,
    apart: bool,
    for_vtk: bool,
) -> PyResult<FoundCells<'py>> {
    let elements = ElementArrays {
        dimension: coordinates.dims()[1],
        tree_offsets: tree_offsets.as_slice()?,
        tree_shape: tree_shape.as_ref().map(|shapes| shapes.as_slice()).transpose()?,
        tree_corners: tree_corners.as_slice()?,
        first,
        coordinates: coordinates.as_slice()?,
        level: level.as_slice()?,
        kind: kind.as_ref().map(|kind| kind.as_slice()).transpose()?,
    };
    let found = py.detach(|| {
        in_default(|| {
            let mut found = cells(&elements, apart)?;
            if for_vtk {
                found.order_for_vtk();
            }
            Ok::<_, scda::Error>(found)
        })
    });
    let found = found.map_err(|error| crate::errors::of_core(py, "", &error))?;
    let points = PyArray1::from_vec(py, found.points.into_flattened());
    let rows = points.len() / 3;
    Ok((
        points.reshape([rows, 3])?,
        PyArray1::from_vec(py, found.corners),
        PyArray1::from_vec(py, found.widths),
        PyArray1::from_vec(py, found.shapes),
    ))
}

/// The offset of the cells of each patch of a mesh, followed by the end, and the checksum of the mesh; or the
/// dataset that is wrong, and an explanation.
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
    let mut checksum = Checksum::default();
    let mut check = || {
        frame.check()?;
        let mut checked = PatchChecker::new(&frame, 0);
        for (level, cells) in level.iter().zip(boxes.chunks_exact(2 * dimension)) {
            checked.add(*level, cells)?;
            offsets.push(checked.cells);
        }
        checksum = checked.checksum;
        checked.end()
    };
    let wrong = wrong_part(check());
    Ok((offsets, checksum.to_string(), wrong))
}

/// Finds errors in the offsets of particles.
#[pyfunction]
pub fn wrong_offsets(offsets: Integers<'_>) -> PyResult<Option<WrongPart>> {
    let offsets = offsets.as_slice()?;
    Ok(wrong_part(
        particles::check_count(offsets.len() as u64).and_then(|()| particles::check_offsets(offsets)),
    ))
}
