//! Where the elements of trees are: their corners in the tree, and those in space.

use super::shapes::TreeShape;

/// The edge of a tree, in the units of coordinates.
pub const TREE_EDGE: f64 = 1_073_741_824.0;

const CUBE: [[i64; 3]; 8] =
    [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]];
const TRIANGLES: [[[i64; 3]; 3]; 2] = [[[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [0, 1, 0], [1, 1, 0]]];
const PRISMS: [[[i64; 3]; 6]; 2] = [
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1]],
    [[0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]],
];
/// From the first corner to the last one along the axes in each order.
const TETRAHEDRA: [[[i64; 3]; 4]; 6] = [
    [[0, 0, 0], [1, 0, 0], [1, 0, 1], [1, 1, 1]],
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]],
    [[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1]],
    [[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 1]],
    [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]],
    [[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1]],
];
const PYRAMIDS: [[[i64; 3]; 5]; 2] = [
    [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1]],
    [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, -1]],
];

impl TreeShape {
    /// The corners of an element of this type, as multiples of its edge from corner 0, in the order of docs/t8code.md; those of the tree
    /// itself are those of [`Self::ROOT`]. `None` if there is no such type.
    #[must_use]
    pub fn corners(self, dimension: usize, kind: i64) -> Option<&'static [[i64; 3]]> {
        let kind = usize::try_from(kind).ok()?;
        match self {
            Self::Box => (kind == 0).then(|| &CUBE[..1 << dimension]),
            Self::Triangle => TRIANGLES.get(kind).map(<[_; 3]>::as_slice),
            Self::Prism => PRISMS.get(kind).map(<[_; 6]>::as_slice),
            Self::Pyramid if kind >= 6 => PYRAMIDS.get(kind - 6).map(<[_; 5]>::as_slice),
            Self::Tetrahedron | Self::Pyramid => TETRAHEDRA.get(kind).map(<[_; 4]>::as_slice),
        }
    }

    /// The type of the element that fills a tree.
    #[must_use]
    pub fn root(self) -> i64 {
        if self == Self::Pyramid { 6 } else { 0 }
    }

    /// The shape of an element of this type.
    #[must_use]
    pub fn of_element(self, kind: i64) -> Self {
        if self == Self::Pyramid && kind < 6 { Self::Tetrahedron } else { self }
    }

    /// The number that VTK has for this shape.
    #[must_use]
    pub fn number(self, dimension: usize) -> u8 {
        match self {
            Self::Box => [1, 3, 9, 12][dimension.min(3)],
            Self::Triangle => 5,
            Self::Tetrahedron => 10,
            Self::Prism => 13,
            Self::Pyramid => 14,
        }
    }

    /// Where a tree with these corners puts a point of it, whose coordinates are from 0 to 1. The corners are 2, 4 or 8, as many as the tree
    /// has axes; of a shape that has fewer, the first ones count.
    #[must_use]
    pub fn place(self, tree: &[[f64; 3]], [x, y, z]: [f64; 3]) -> [f64; 3] {
        let weighted = |weights: &[f64]| {
            [0, 1, 2].map(|axis| weights.iter().zip(tree).map(|(weight, corner)| weight * corner[axis]).sum())
        };
        let triangle = [1.0 - x, x - y, y];
        match self {
            Self::Box => between(tree, [x, y, z]),
            Self::Triangle => weighted(&triangle),
            Self::Tetrahedron => weighted(&[1.0 - x, x - z, z - y, y]),
            Self::Prism => weighted(
                &[triangle.map(|weight| weight * (1.0 - z)), triangle.map(|weight| weight * z)].concat(),
            ),
            Self::Pyramid if z >= 1.0 => tree[4],
            Self::Pyramid => {
                let base = between(&tree[..4], [(x - z) / (1.0 - z), (y - z) / (1.0 - z), 0.0]);
                [0, 1, 2].map(|axis| (1.0 - z) * base[axis] + z * tree[4][axis])
            }
        }
    }
}

/// A point between 2, 4 or 8 corners, linear in each coordinate: as p4est has it.
fn between(tree: &[[f64; 3]], at: [f64; 3]) -> [f64; 3] {
    let mut points = [[0.0; 3]; 8];
    points[..tree.len()].copy_from_slice(tree);
    for axis in (0..3).filter(|axis| tree.len() >> axis > 1).rev() {
        let half = 1 << axis;
        for corner in 0..half {
            points[corner] =
                [0, 1, 2].map(|k| (1.0 - at[axis]) * points[corner][k] + at[axis] * points[corner + half][k]);
        }
    }
    points[0]
}

/// Elements in space.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    /// Points that cells of one tree share.
    pub points: Vec<[f64; 3]>,
    /// The points of each cell, as many as a box has; -1 for those that its shape does not have.
    pub cells: Vec<i64>,
    /// The shape of each cell, by the numbers of VTK.
    pub shapes: Vec<u8>,
}

/// An element of a tree.
#[derive(Clone, Copy, Debug)]
pub struct PlacedElement {
    /// The number of the tree.
    pub tree: usize,
    /// The shape of the tree.
    pub shape: TreeShape,
    /// The first corner; 0 on axes that there are not.
    pub corner: [i64; 3],
    /// The level, at most 30.
    pub level: u8,
    /// The type, one that the tree has.
    pub kind: i64,
}

impl Cells {
    /// Elements in space, whose trees have these corners: 2^`dimension` each. Points come in the order of trees, and of their coordinates in
    /// the tree, x fastest.
    #[must_use]
    pub fn new(
        dimension: usize,
        corners_of_trees: &[[f64; 3]],
        elements: impl Iterator<Item = PlacedElement>,
    ) -> Self {
        const NONE: u128 = u128::MAX;
        let (mut nodes, mut found) = (Vec::new(), Self::default());
        let mut shape_of = std::collections::BTreeMap::new();
        for PlacedElement { tree, shape, corner, level, kind } in elements {
            let edge = 1_i64 << (30 - level.min(30));
            let corners = shape.corners(dimension, kind).unwrap_or_default();
            let node = |of: &[i64; 3]| {
                let [x, y, z] = [0, 1, 2]
                    .map(|axis| u128::from((corner[axis] + edge * of[axis]).unsigned_abs() & 0x7fff_ffff));
                (tree as u128) << 93 | z << 62 | y << 31 | x
            };
            nodes.extend(corners.iter().map(node).chain(std::iter::repeat(NONE)).take(1 << dimension));
            found.shapes.push(shape.of_element(kind).number(dimension));
            shape_of.insert(tree, shape);
        }
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        order.sort_unstable_by_key(|&at| nodes[at]);
        found.cells = vec![-1; nodes.len()];
        let mut before = NONE;
        for at in order {
            let node = nodes[at];
            if node == NONE {
                break; // the last ones
            }
            if node != before {
                let tree = usize::try_from(node >> 93).unwrap_or(usize::MAX);
                let coordinate = |shift: u32| {
                    f64::from(u32::try_from(node >> shift & 0x7fff_ffff).unwrap_or(0)) / TREE_EDGE
                };
                let corners = &corners_of_trees[tree << dimension..][..1 << dimension];
                let shape = shape_of.get(&tree).copied().unwrap_or(TreeShape::Box);
                found.points.push(shape.place(corners, [0, 31, 62].map(coordinate)));
                before = node;
            }
            found.cells[at] = i64::try_from(found.points.len()).unwrap_or(0) - 1;
        }
        found
    }
}
