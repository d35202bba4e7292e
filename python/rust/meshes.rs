//! The rules of meshes, for arrays that Python has read.

use crate::Bytes;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use scda_meshes::checksum::{Checksum, term};
use scda_meshes::forest::geometry::{Cells, PlacedElement};
use scda_meshes::forest::rules::TreeCurve;
use scda_meshes::forest::shapes::{Element, TreeShape};
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

/// What the elements with these numbers add to the checksum of a mesh.
#[pyfunction]
pub fn mesh_checksum(
    numbers: PyReadonlyArray1<'_, u64>,
    trees: Integers<'_>,
    level: Bytes<'_>,
) -> PyResult<String> {
    let elements = numbers.as_slice()?.iter().zip(trees.as_slice()?).zip(level.as_slice()?);
    let terms = elements.map(|((number, tree), level)| term(*number, tree.unsigned_abs(), u64::from(*level)));
    Ok(terms.fold(Checksum::default(), Checksum::and).to_string())
}

/// The elements of a forest, which are checked one after the other.
#[pyclass(module = "scda._core")]
pub struct ElementCheck {
    dimension: usize,
    /// The elements of tree t are those from entry t to entry t + 1.
    tree_offsets: Vec<i64>,
    /// The shapes of trees; none of those of squares or cubes.
    tree_shape: Vec<u8>,
    /// The number of the next element, and its tree.
    next: u64,
    tree: usize,
    /// Of squares and cubes: the curve through the tree.
    curve: TreeCurve,
    /// Of other shapes: where the element before ends.
    end: u128,
    checksum: Checksum,
}

impl ElementCheck {
    /// Goes to the tree of the next element.
    fn enter(&mut self) -> Result<(), MeshError> {
        while self.tree_offsets.get(self.tree + 1).is_some_and(|&end| end.unsigned_abs() <= self.next) {
            if self.tree_shape.is_empty() {
                self.curve.end(self.next.saturating_sub(1), self.tree as u64)?;
            }
            (self.tree, self.curve, self.end) = (self.tree + 1, TreeCurve::new(self.dimension), 0);
        }
        Ok(())
    }

    fn check(&mut self, corner: &[i32], level: u8, other: Option<(u8, u64)>) -> Result<(), MeshError> {
        self.enter()?;
        let (tree, next) = (self.tree as u64, self.next);
        let Some((kind, position)) = other else {
            self.curve.add(corner, level).map_err(|wrong| wrong.of("quadrant", next, tree))?;
            self.checksum = self.checksum.and(term(next, tree, u64::from(level)));
            return Ok(());
        };
        let mut at = [0; 3];
        at.iter_mut().zip(corner).for_each(|(to, from)| *to = i64::from(*from));
        let element = Element { corner: at, level: level.into(), kind: kind.into(), position };
        let shape = self.tree_shape.get(self.tree).copied().unwrap_or(0);
        let shape = TreeShape::new(shape, self.dimension).map_or(TreeShape::Box, |(shape, _)| shape);
        let checked = element.check(shape, self.dimension, self.end);
        self.end = checked.map_err(|wrong| wrong.of("element", next, tree))?;
        self.checksum = self.checksum.and(term(position, tree, u64::from(level)));
        Ok(())
    }
}

#[pymethods]
impl ElementCheck {
    #[new]
    fn new(dimension: usize, tree_offsets: Integers<'_>, tree_shape: Option<Bytes<'_>>) -> PyResult<Self> {
        Ok(Self {
            dimension,
            tree_offsets: tree_offsets.as_slice()?.to_vec(),
            tree_shape: tree_shape.map_or(Ok(Vec::new()), |shape| shape.as_slice().map(<[u8]>::to_vec))?,
            next: 0,
            tree: 0,
            curve: TreeCurve::new(dimension),
            end: 0,
            checksum: Checksum::default(),
        })
    }

    /// What is wrong with the next elements, if anything is; those of any shapes have types and positions.
    fn add(
        &mut self,
        coordinates: SmallIntegers<'_>,
        level: Bytes<'_>,
        r#type: Option<Bytes<'_>>,
        position: Option<PyReadonlyArray1<'_, u64>>,
    ) -> PyResult<Option<WrongPart>> {
        let others = match (&r#type, &position) {
            (Some(kind), Some(position)) => Some((kind.as_slice()?, position.as_slice()?)),
            _ => None,
        };
        let corners = coordinates.as_slice()?.chunks_exact(self.dimension);
        for (at, (corner, &level)) in corners.zip(level.as_slice()?).enumerate() {
            let other = others.map(|(kind, position)| (kind[at], position[at]));
            if let Err(MeshError { part, words }) = self.check(corner, level, other) {
                return Ok(Some((part.to_owned(), words)));
            }
            self.next += 1;
        }
        Ok(None)
    }

    /// What is wrong with the end, if anything is; and the checksum.
    fn end(&mut self) -> (Option<WrongPart>, String) {
        let wrong = self.enter().err().map(|MeshError { part, words }| (part.to_owned(), words));
        (wrong, self.checksum.to_string())
    }
}

/// Points of elements in space, three numbers each; the points of each cell, as many as a box has, -1 for those that its shape does not have;
/// and its shape, by the numbers of VTK. Of squares and cubes there are no shapes of trees and no types.
type Placed<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u8>>);

/// Elements in space: `tree_corners` are the corners of the trees from `first_tree` on.
#[allow(clippy::too_many_arguments)]
#[pyfunction]
pub fn place_elements<'py>(
    py: Python<'py>,
    dimension: usize,
    tree_corners: Numbers<'_>,
    tree_shape: Option<Bytes<'_>>,
    trees: Integers<'_>,
    coordinates: SmallIntegers<'_>,
    level: Bytes<'_>,
    r#type: Option<Bytes<'_>>,
) -> PyResult<Placed<'py>> {
    let shapes = tree_shape.as_ref().map(|shape| shape.as_slice()).transpose()?;
    let kinds = r#type.as_ref().map(|kind| kind.as_slice()).transpose()?;
    let rows =
        trees.as_slice()?.iter().zip(coordinates.as_slice()?.chunks_exact(dimension)).zip(level.as_slice()?);
    let elements = rows.enumerate().map(|(at, ((&tree, from), &level))| {
        let mut corner = [0; 3];
        corner.iter_mut().zip(from).for_each(|(to, from)| *to = i64::from(*from));
        let tree = usize::try_from(tree).unwrap_or(0);
        let shape = shapes.and_then(|shapes| TreeShape::new(shapes[tree], dimension));
        let shape = shape.map_or(TreeShape::Box, |(shape, _)| shape);
        PlacedElement { tree, shape, corner, level, kind: kinds.map_or(0, |kinds| kinds[at].into()) }
    });
    let Cells { points, cells, shapes } =
        Cells::new(dimension, tree_corners.as_slice()?.as_chunks().0, elements);
    let points = PyArray1::from_vec(py, points.as_flattened().to_vec());
    Ok((points, PyArray1::from_vec(py, cells), PyArray1::from_vec(py, shapes)))
}
