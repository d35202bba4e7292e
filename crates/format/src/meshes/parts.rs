//! The datasets of meshes: their names, types and shapes.

use super::MeshError;
use crate::dataset::{DataType, Dataset};
use std::fmt;

/// A dataset that a mesh must or may have.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its name in the group.
    pub name: &'static str,
    /// The type of its items.
    pub items: Items,
    /// Its dimensions.
    pub shape: &'static [Extent],
    /// The names of its dimensions; empty if they have none.
    pub dimensions: &'static [&'static str],
}

/// The type of the items of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    /// This one.
    Of(DataType),
    /// `float32` or `float64`.
    Reals,
    /// Bytes, as many as a program needs.
    Bytes,
}

/// The number of indices in a dimension of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// One for each of the things that the part describes.
    Rows,
    /// The number of axes of the mesh: d.
    Axes,
    /// The faces of a square or cube: 2 d.
    Faces,
    /// The corners of a square or cube: 2^d.
    Corners,
    /// This number.
    Fixed(u64),
}

use DataType::{Float64, Int8, Int32, Int64, Uint8, Uint64};
use Extent::{Axes, Corners, Faces, Fixed, Rows};

/// The name of the dimension of quadrants. In a forest of any shapes, it is [`ELEMENT`].
pub const QUADRANT: &str = "quadrant";
/// The name of the dimension of elements.
pub const ELEMENT: &str = "element";

/// The time, which begins a step.
pub const TIME: Part = Part::new("time", Float64, &[], &[]);

/// Of a forest: the first corner of each quadrant.
pub const COORDINATES: Part = Part::new("coordinates", Int32, &[Rows, Axes], &[QUADRANT, "axis"]);
/// The level of each quadrant.
pub const LEVEL: Part = Part::new("level", Uint8, &[Rows], &[QUADRANT]);
/// With any shapes: the type of each element.
pub const TYPE: Part = Part::new("type", Uint8, &[Rows], &[QUADRANT]);
/// With any shapes: the number of finest elements before each one.
pub const POSITION: Part = Part::new("position", Uint64, &[Rows], &[QUADRANT]);
/// Where the quadrants of each tree begin and end.
pub const TREE_OFFSETS: Part = Part::new("tree_offsets", Int64, &[Rows], &["tree_boundary"]);
/// Where the quadrants of each rank began and ended when the file was written.
pub const PARTITION: Part = Part::new("partition", Int64, &[Rows], &["rank_boundary"]);
/// The bytes that a program stores for each quadrant.
pub const DATA: Part = Part { items: Items::Bytes, ..Part::new("data", Uint8, &[Rows], &[QUADRANT]) };

/// The tree across each face. With any shapes: [`TREE_TO_TREE_64`].
pub const TREE_TO_TREE: Part = Part::new("tree_to_tree", Int32, &[Rows, Faces], &["tree", "face"]);
/// The tree across each face, with any shapes.
pub const TREE_TO_TREE_64: Part = TREE_TO_TREE.of(Int64);
/// The face of that tree.
pub const TREE_TO_FACE: Part = Part::new("tree_to_face", Int8, &[Rows, Faces], &["tree", "face"]);
/// With any shapes: the shape of each tree.
pub const TREE_SHAPE: Part = Part::new("tree_shape", Uint8, &[Rows], &["tree"]);
/// With any shapes: the coordinates of the corners of each tree.
pub const TREE_VERTICES: Part =
    Part::new("tree_vertices", Float64, &[Rows, Corners, Fixed(3)], &["tree", "tree_corner", "space"]);
/// The coordinates of each vertex.
pub const VERTICES: Part = Part::new("vertices", Float64, &[Rows, Fixed(3)], &["vertex", "space"]);
/// The vertices at the corners of each tree.
pub const TREE_TO_VERTEX: Part =
    Part::new("tree_to_vertex", Int32, &[Rows, Corners], &["tree", "tree_corner"]);
/// The edges of each tree.
pub const TREE_TO_EDGE: Part = Part::new("tree_to_edge", Int32, &[Rows, Fixed(12)], &["tree", "tree_edge"]);
/// Where the entries of each edge begin and end.
pub const EDGE_OFFSETS: Part = Part::new("edge_offsets", Int32, &[Rows], &["edge_boundary"]);
/// The tree of each entry.
pub const EDGE_TO_TREE: Part = Part::new("edge_to_tree", Int32, &[Rows], &["edge_entry"]);
/// The edge of that tree.
pub const EDGE_TO_EDGE: Part = Part::new("edge_to_edge", Int8, &[Rows], &["edge_entry"]);
/// The corners of each tree.
pub const TREE_TO_CORNER: Part =
    Part::new("tree_to_corner", Int32, &[Rows, Corners], &["tree", "tree_corner"]);
/// Where the entries of each corner begin and end.
pub const CORNER_OFFSETS: Part = Part::new("corner_offsets", Int32, &[Rows], &["corner_boundary"]);
/// The tree of each entry.
pub const CORNER_TO_TREE: Part = Part::new("corner_to_tree", Int32, &[Rows], &["corner_entry"]);
/// The corner of that tree.
pub const CORNER_TO_CORNER: Part = Part::new("corner_to_corner", Int8, &[Rows], &["corner_entry"]);
/// The bytes that a program stores for each tree.
pub const TREE_ATTRIBUTES: Part =
    Part { items: Items::Bytes, ..Part::new("tree_attributes", Uint8, &[Rows], &["tree"]) };

/// The mesh of a forest.
pub const FOREST: [Part; 3] = [COORDINATES, LEVEL, TREE_OFFSETS];
/// The mesh of a forest of any shapes.
pub const SHAPED: [Part; 5] = [COORDINATES, LEVEL, TYPE, POSITION, TREE_OFFSETS];
/// All parts of forests; a connectivity begins with [`TREE_TO_TREE`].
pub const OF_FORESTS: [Part; 22] = [
    COORDINATES,
    LEVEL,
    TYPE,
    POSITION,
    TREE_OFFSETS,
    PARTITION,
    DATA,
    TREE_TO_TREE,
    TREE_TO_FACE,
    TREE_SHAPE,
    TREE_VERTICES,
    VERTICES,
    TREE_TO_VERTEX,
    TREE_TO_EDGE,
    EDGE_OFFSETS,
    EDGE_TO_TREE,
    EDGE_TO_EDGE,
    TREE_TO_CORNER,
    CORNER_OFFSETS,
    CORNER_TO_TREE,
    CORNER_TO_CORNER,
    TREE_ATTRIBUTES,
];

/// The number of values of each quadrant, in the dataset beside a field whose name ends with `:count`.
pub const COUNT: Part = Part::new("count", Int64, &[Rows], &[QUADRANT]);

/// Of points and cells: the coordinates of each point.
pub const POINTS: Part = Part { items: Items::Reals, ..Part::new("points", Float64, &[Rows, Fixed(3)], &[]) };
/// The points of all cells, one cell after the other.
pub const CELL_POINTS: Part = Part::new("cell_points", Int64, &[Rows], &[]);
/// Where the points of each cell begin and end.
pub const CELL_OFFSETS: Part = Part::new("cell_offsets", Int64, &[Rows], &[]);
/// The VTK shape of each cell.
pub const CELL_TYPES: Part = Part::new("cell_types", Uint8, &[Rows], &[]);
/// A mesh of points and cells.
pub const CELLS: [Part; 4] = [POINTS, CELL_POINTS, CELL_OFFSETS, CELL_TYPES];

/// Of patches: the first cell of each, and its number of cells, on each axis.
pub const BOXES: Part = Part::new("boxes", Int64, &[Rows, Fixed(2), Axes], &[]);
/// The level of each patch.
pub const PATCH_LEVEL: Part = Part::new("level", Int32, &[Rows], &[]);
/// For each level and axis, the number of cells in one of the level before.
pub const RATIO: Part = Part::new("ratio", Int32, &[Rows, Axes], &[]);
/// The first cell, and the number of cells, of level 0.
pub const DOMAIN: Part = Part::new("domain", Int64, &[Fixed(2), Axes], &[]);
/// The lower bound of the domain, and the size of a cell of level 0.
pub const GEOMETRY: Part = Part::new("geometry", Float64, &[Fixed(2), Axes], &[]);
/// A mesh of patches.
pub const PATCHES: [Part; 5] = [BOXES, PATCH_LEVEL, RATIO, DOMAIN, GEOMETRY];

/// Of particles: where those of each cell begin and end.
pub const OFFSETS: Part = Part::new("offsets", Int64, &[Rows], &["cell_boundary"]);
/// The parts of particles.
pub const PARTICLES: [Part; 1] = [OFFSETS];

impl fmt::Display for Items {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Of(data_type) => data_type.fmt(f),
            Self::Reals => f.write_str("float32 or float64"),
            Self::Bytes => f.write_str("bytes (r8, r16, ...)"),
        }
    }
}

impl Part {
    const fn new(
        name: &'static str,
        data_type: DataType,
        shape: &'static [Extent],
        dimensions: &'static [&'static str],
    ) -> Self {
        Self { name, items: Items::Of(data_type), shape, dimensions }
    }

    /// The same with items of this type.
    #[must_use]
    pub const fn of(self, data_type: DataType) -> Self {
        Self { items: Items::Of(data_type), ..self }
    }

    /// Its shape in a mesh of `d` axes, with this number of rows; `None`: any number.
    pub fn extents(&self, d: usize, rows: Option<u64>) -> impl Iterator<Item = Option<u64>> {
        self.shape.iter().map(move |extent| match extent {
            Rows => rows,
            Axes => Some(d as u64),
            Faces => Some(2 * d as u64),
            Corners => Some(1 << d),
            Fixed(n) => Some(*n),
        })
    }

    /// Requires that a dataset with this type and shape can be this part, in a mesh of `d` axes.
    ///
    /// # Errors
    /// What was found, and what was expected.
    pub fn check(
        &self,
        (found, shape): (DataType, &[u64]),
        d: usize,
        rows: Option<u64>,
    ) -> Result<(), MeshError> {
        let is_type = match self.items {
            Items::Of(expected) => found == expected,
            Items::Reals => matches!(found, DataType::Float32 | Float64),
            Items::Bytes => matches!(found, DataType::Raw(_)),
        };
        let is_shape = shape.len() == self.shape.len()
            && shape.iter().zip(self.extents(d, rows)).all(|(found, n)| n.is_none_or(|n| n == *found));
        if is_type && is_shape {
            return Ok(());
        }
        let any = |n: Option<u64>| n.map_or_else(|| "any".to_owned(), |n| n.to_string());
        let expected = self.extents(d, rows).map(any).collect::<Vec<_>>().join("x");
        let shape = shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x");
        let words = format!("found type {found} and shape {shape}, expected {} and {expected}", self.items);
        Err(MeshError::new(self.name, words))
    }

    /// As [`Self::check`], for the description of a dataset.
    ///
    /// # Errors
    /// Those of [`Self::check`].
    pub fn fits(&self, found: &Dataset, d: usize, rows: Option<u64>) -> Result<(), MeshError> {
        self.check((found.data_type, &found.shape), d, rows)
    }
}
