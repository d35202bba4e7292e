//! Where the elements of trees are: their corners in the tree and in space, and the cells that they form.

use super::shapes::{BITS, TreeShape};
use scda_base::error::Result;
use scda_base::memory::reserve;

const CUBE: [[i64; 3]; 8] =
    [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]];
const TRIANGLES: [[[i64; 3]; 3]; 2] = [[[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [0, 1, 0], [1, 1, 0]]];
const PRISMS: [[[i64; 3]; 6]; 2] = [
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1]],
    [[0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]],
];
/// Paths from the first corner to the last one, along the axes in each order.
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

/// The order of corners in VTK, by the VTK number of the shape. The second order gives cells with two
/// triangles, or with a tip, a positive volume if the first one does not.
const VTK_ORDERS: [(u8, &[usize], &[usize]); 7] = [
    (3, &[0, 1], &[0, 1]),
    (5, &[0, 1, 2], &[0, 1, 2]),
    (9, &[0, 1, 3, 2], &[0, 1, 3, 2]),
    (12, &[0, 1, 3, 2, 4, 5, 7, 6], &[0, 1, 3, 2, 4, 5, 7, 6]),
    (10, &[0, 1, 2, 3], &[0, 2, 1, 3]),
    (13, &[0, 1, 2, 3, 4, 5], &[0, 2, 1, 3, 5, 4]),
    (14, &[0, 1, 3, 2, 4], &[0, 2, 3, 1, 4]),
];

impl TreeShape {
    /// The corners of an element of this type, as multiples of its edge from corner 0, in the order of
    /// docs/t8code.md; `None` if there is no such type. The corners of the tree itself are those of type
    /// [`Self::root`].
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

    /// The shape of an element with this type.
    #[must_use]
    pub fn of_element(self, kind: i64) -> Self {
        if self == Self::Pyramid && kind < 6 { Self::Tetrahedron } else { self }
    }

    /// The VTK number of this shape.
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

    /// Maps a point of a tree, with coordinates from 0 to 1, to space. `tree` has the corners of the tree: 2,
    /// 4 or 8, depending on the number of axes. Shapes with fewer corners use the first ones.
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

/// Interpolates between 2, 4 or 8 corners, linearly in each coordinate, as p4est does.
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

/// Consecutive elements or quadrants, as in the datasets of a mesh. They have been checked.
#[derive(Clone, Copy, Debug)]
pub struct ElementArrays<'a> {
    /// The number of axes.
    pub dimension: usize,
    /// Where the elements of each tree begin and end.
    pub tree_offsets: &'a [i64],
    /// The shape of each tree; `None`: squares or cubes.
    pub tree_shape: Option<&'a [u8]>,
    /// Three coordinates for each of the 2^`dimension` corners of each tree.
    pub tree_corners: &'a [f64],
    /// The number of the first of these elements.
    pub first: u64,
    /// The first corner of each element.
    pub coordinates: &'a [i32],
    /// The level of each element.
    pub level: &'a [u8],
    /// The type of each element; `None` for squares or cubes.
    pub kind: Option<&'a [u8]>,
}

/// Cells in space, one for each element.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    /// The points.
    pub points: Vec<[f64; 3]>,
    /// The points of each cell, one cell after the other.
    pub corners: Vec<i64>,
    /// The number of points of each cell.
    pub widths: Vec<u8>,
    /// The VTK shape of each cell.
    pub shapes: Vec<u8>,
}

/// A corner of an element: the number of its tree, and z, y and x in 32 bits each, so that a single
/// comparison suffices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Node(u128);

impl Node {
    fn new(tree: usize, at: [i64; 3]) -> Self {
        // The elements have been checked, so coordinates are between 0 and 2^30.
        let of = |coordinate: i64| u128::from(coordinate.unsigned_abs() & 0xffff_ffff);
        Self((tree as u128) << 96 | of(at[2]) << 64 | of(at[1]) << 32 | of(at[0]))
    }

    fn tree(self) -> usize {
        usize::try_from(self.0 >> 96).unwrap_or(0)
    }

    /// The coordinates, as fractions of the tree's edge.
    fn at(self) -> [f64; 3] {
        let bits = [self.0, self.0 >> 32, self.0 >> 64];
        bits.map(|bits| f64::from(u32::try_from(bits & 0xffff_ffff).unwrap_or(0)) / f64::from(1_u32 << BITS))
    }
}

/// The cells of elements. Cells of one tree that touch share their points, unless `apart` is set; a hanging
/// node is a point of the smaller cells only. Corners are in the order of docs/t8code.md; for squares and
/// cubes, x varies fastest.
///
/// # Errors
/// `Memory`.
pub fn cells(elements: &ElementArrays<'_>, apart: bool) -> Result<Cells> {
    let ElementArrays { dimension, tree_offsets, tree_shape, kind, .. } = *elements;
    let whole = TreeShape::Box.number(dimension);
    let shape_of = |tree: usize| {
        let number = tree_shape.map_or(whole, |shapes| shapes.get(tree).copied().unwrap_or(whole));
        TreeShape::new(number, dimension).map_or(TreeShape::Box, |(shape, _)| shape)
    };
    let (mut found, mut nodes) = (Cells::default(), Vec::new());
    reserve(&mut found.widths, elements.level.len())?;
    reserve(&mut found.shapes, elements.level.len())?;
    reserve(&mut nodes, elements.level.len() << dimension)?;
    let begin = i64::try_from(elements.first).unwrap_or(i64::MAX);
    let mut tree = tree_offsets.partition_point(|&offset| offset <= begin).saturating_sub(1);
    for ((number, corner), at) in (begin..).zip(elements.coordinates.chunks_exact(dimension)).zip(0..) {
        if tree_offsets.get(tree + 1) == Some(&number) {
            tree += 1;
        }
        let (shape, kind) = (shape_of(tree), kind.map_or(0, |kind| kind[at]));
        let corners = shape.corners(dimension, kind.into()).unwrap_or_default();
        let edge = 1_i64 << BITS.saturating_sub(elements.level[at].into());
        nodes.extend(corners.iter().map(|offset| {
            let of =
                |axis: usize| corner.get(axis).map_or(0, |&first| i64::from(first) + edge * offset[axis]);
            Node::new(tree, [of(0), of(1), of(2)])
        }));
        found.widths.push(u8::try_from(corners.len()).unwrap_or(0));
        found.shapes.push(shape.of_element(kind.into()).number(dimension));
    }
    let mut different = Vec::new();
    reserve(&mut found.corners, nodes.len())?;
    if apart {
        found.corners.extend((0..).take(nodes.len()));
        different = nodes;
    } else {
        number_nodes(&nodes, &mut different, &mut found.corners)?;
    }
    reserve(&mut found.points, different.len())?;
    let all = elements.tree_corners.as_chunks::<3>().0;
    found.points.extend(different.iter().map(|node| {
        let tree = node.tree();
        let corners = all.get(tree << dimension..(tree + 1) << dimension).unwrap_or(&[[0.0; 3]; 8]);
        shape_of(tree).place(corners, node.at())
    }));
    Ok(found)
}

/// Sorts the nodes without duplicates into `different`, and finds the index of each node there.
fn number_nodes(nodes: &[Node], different: &mut Vec<Node>, numbers: &mut Vec<i64>) -> Result<()> {
    let mut order = Vec::new();
    reserve(&mut order, nodes.len())?;
    order.extend(nodes.iter().copied().zip(0_usize..));
    order.sort_unstable();
    numbers.resize(nodes.len(), 0);
    reserve(different, order.chunk_by(|a, b| a.0 == b.0).count())?;
    for (node, at) in order {
        if different.last() != Some(&node) {
            different.push(node);
        }
        numbers[at] = i64::try_from(different.len()).unwrap_or(i64::MAX) - 1;
    }
    Ok(())
}

impl Cells {
    /// Changes the corners of each cell to VTK's order.
    pub fn order_for_vtk(&mut self) {
        let mut begin = 0;
        for (&width, shape) in self.widths.iter().zip(&self.shapes) {
            let corners = &mut self.corners[begin..begin + usize::from(width)];
            begin += corners.len();
            let Some((_, right, left)) = VTK_ORDERS.iter().find(|(number, ..)| number == shape) else {
                continue;
            };
            let mut own = [0; 8];
            own[..corners.len()].copy_from_slice(corners);
            let is_left = right != left && {
                // The triple product of the edges to three corners around the first one, of which the third
                // is not in the plane of the others.
                let far = if *shape == 14 { 4 } else { 3 };
                let point = |at: usize| self.points[usize::try_from(own[at]).unwrap_or(0)];
                let around = [1, 2, far].map(|at| [0, 1, 2].map(|axis| point(at)[axis] - point(0)[axis]));
                determinant(around) <= 0.0
            };
            for (to, &from) in corners.iter_mut().zip(*if is_left { left } else { right }) {
                *to = own[from];
            }
        }
    }
}

fn determinant([a, b, c]: [[f64; 3]; 3]) -> f64 {
    a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQUARE: [f64; 12] = [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 4.0, 0.0, 2.0, 4.0, 0.0];

    #[test]
    fn squares_share_points() {
        let half = 1 << 29;
        let elements = ElementArrays {
            dimension: 2,
            tree_offsets: &[0, 4],
            tree_shape: None,
            tree_corners: &SQUARE,
            first: 0,
            coordinates: &[0, 0, half, 0, 0, half, half, half],
            level: &[1; 4],
            kind: None,
        };
        let mut found = cells(&elements, false).unwrap();
        assert_eq!((found.points.len(), found.points[4]), (9, [1.0, 2.0, 0.0]));
        assert_eq!(found.corners[12..], [4, 5, 7, 8]);
        found.order_for_vtk();
        assert_eq!((&found.corners[12..], &found.shapes[..]), (&[4, 5, 8, 7][..], &[9; 4][..]));
        let apart = cells(&elements, true).unwrap();
        assert_eq!((apart.points.len(), apart.points[15]), (16, [2.0, 4.0, 0.0]));
    }

    #[test]
    fn a_tetrahedron_of_negative_volume_is_turned() {
        let tree = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]].concat();
        let tree: Vec<f64> = [&tree[..], &[0.0; 12]].concat();
        let elements = ElementArrays {
            dimension: 3,
            tree_offsets: &[0, 1],
            tree_shape: Some(&[10]),
            tree_corners: &tree,
            first: 0,
            coordinates: &[0; 3],
            level: &[0],
            kind: Some(&[0]),
        };
        let mut found = cells(&elements, false).unwrap();
        let before = found.corners.clone();
        found.order_for_vtk();
        assert_eq!(found.corners, [before[0], before[2], before[1], before[3]]);
        assert_eq!((&found.widths[..], &found.shapes[..]), (&[4][..], &[10][..]));
    }
}
