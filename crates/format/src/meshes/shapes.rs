//! Forests of any shapes (docs/t8code.md): the rules for their trees and elements.

use super::MeshError;
use super::checksum::term;
use super::parts::SHAPED;

/// Coordinates are in units of 2^-30 of a tree's edge.
pub const BITS: u32 = 30;

/// The finest level; positions count elements of this level.
#[must_use]
pub const fn finest(dimension: usize) -> u32 {
    if dimension == 3 { 21 } else { BITS }
}

/// A shape of trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeShape {
    /// A line, a quadrilateral or a hexahedron.
    Box,
    /// One of two triangles of a quadrilateral.
    Triangle,
    /// One of six tetrahedra of a hexahedron.
    Tetrahedron,
    /// One of two prisms of a hexahedron.
    Prism,
    /// One of three pyramids of a hexahedron.
    Pyramid,
}

impl TreeShape {
    /// The shape with a VTK number, and its number of faces; `None` if no tree of this dimension can have it.
    #[must_use]
    pub fn new(number: u8, dimension: usize) -> Option<(Self, u64)> {
        Some(match (number, dimension) {
            (3, 1) => (Self::Box, 2),
            (5, 2) => (Self::Triangle, 3),
            (9, 2) => (Self::Box, 4),
            (10, 3) => (Self::Tetrahedron, 4),
            (12, 3) => (Self::Box, 6),
            (13, 3) => (Self::Prism, 5),
            (14, 3) => (Self::Pyramid, 5),
            _ => return None,
        })
    }

    /// Whether a point is in the tree, whose edge is 2^30.
    fn has(self, [x, y, z]: [i64; 3]) -> bool {
        [x, y, z].iter().all(|c| (0..=1 << BITS).contains(c))
            && match self {
                Self::Box => true,
                Self::Triangle | Self::Prism => y <= x,
                Self::Tetrahedron => y <= z && z <= x,
                Self::Pyramid => z <= x && z <= y,
            }
    }

    /// The number of elements of the finest level in an element of this type and level. The tree itself has
    /// level 0.
    fn size(self, dimension: usize, kind: i64, level: u32) -> u128 {
        let depth = finest(dimension) - level;
        match self {
            Self::Pyramid if kind >= 6 => 2 * 8_u128.pow(depth) - 6_u128.pow(depth),
            _ => 1 << (depth as usize * dimension),
        }
    }
}

/// The position of a square or cube: the interleaved bits of its coordinates, those of x lowest.
fn morton(corner: [i64; 3], dimension: usize) -> u128 {
    let mut index = 0;
    for bit in 0..finest(dimension) {
        for (axis, &coordinate) in corner[..dimension].iter().enumerate() {
            let found = coordinate >> (BITS - finest(dimension) + bit) & 1;
            index |= u128::from(found.unsigned_abs()) << (bit as usize * dimension + axis);
        }
    }
    index
}

/// An element of a tree, for checking.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Its first corner; 0 on missing axes.
    pub corner: [i64; 3],
    /// Its level.
    pub level: i64,
    /// Its type.
    pub kind: i64,
    /// The number of finest elements of the tree before it.
    pub position: u64,
}

impl Element {
    /// From the datasets of a mesh.
    #[inline]
    #[must_use]
    pub fn new(coordinates: &[i32], level: u8, kind: u8, position: u64) -> Self {
        let mut corner = [0; 3];
        corner.iter_mut().zip(coordinates).for_each(|(to, from)| *to = i64::from(*from));
        Self { corner, level: level.into(), kind: kind.into(), position }
    }

    /// Checks an element against its tree and the end of the previous element, and returns its own end.
    ///
    /// # Errors
    /// If it is wrong.
    pub fn check(&self, shape: TreeShape, dimension: usize, begin: u128) -> Result<u128, MeshError> {
        let wrong = |part: usize, words| Err(MeshError::new(SHAPED[part].name, words));
        let position = u128::from(self.position);
        let most = finest(dimension);
        let level = u32::try_from(self.level).ok().filter(|&level| level <= most);
        let Some(level) = level else {
            return wrong(1, format!("found level {}, expected at most {most}", self.level));
        };
        let Some(corners) = shape.corners(dimension, self.kind) else {
            return wrong(2, format!("found type {}, which does not occur in its tree", self.kind));
        };
        let edge = 1_i64 << (BITS - level);
        let place = |of: &[i64; 3]| {
            std::array::from_fn(|axis| if axis < dimension { self.corner[axis] + edge * of[axis] } else { 0 })
        };
        let is_multiple = self.corner[..dimension].iter().all(|coordinate| coordinate % edge == 0);
        if !is_multiple || !corners.iter().all(|of| shape.has(place(of))) {
            let found = &self.corner[..dimension];
            return wrong(0, format!("found {found:?}, expected multiples of {edge} inside the tree"));
        }
        let end = position + shape.size(dimension, self.kind, level);
        let whole = shape.size(dimension, 6, 0);
        if position < begin || end > whole {
            let found = self.position;
            return wrong(3, format!("found {found} to {end}, expected a part of {begin} to {whole}"));
        }
        if shape == TreeShape::Box && position != morton(self.corner, dimension) {
            let expected = morton(self.corner, dimension);
            return wrong(3, format!("found {}, expected {expected} by its coordinates", self.position));
        }
        Ok(end)
    }
}

/// Checks the elements of a mesh one after the other: each must be in its tree, after the previous one.
#[derive(Clone, Debug)]
pub struct ElementCheck {
    dimension: usize,
    number: u64,
    first_tree: u64,
    /// The index of the tree, from the first one.
    at: usize,
    /// The end of the previous element; `None` if it is unknown.
    end: Option<u128>,
}

impl ElementCheck {
    /// Begins with element `first`, which is in tree `first_tree`.
    #[must_use]
    pub fn new(dimension: usize, first: u64, first_tree: u64) -> Self {
        Self { dimension, number: first, first_tree, at: 0, end: (first == 0).then_some(0) }
    }

    /// Adds the next element. `offsets` has the beginning and end of the elements of each tree from the first
    /// one on, `shapes` the shapes of these trees. Returns the element's contribution to the checksum.
    ///
    /// # Errors
    /// If it, or the shape of its tree, is wrong.
    pub fn add(&mut self, offsets: &[i64], shapes: &[u8], element: &Element) -> Result<u64, MeshError> {
        let number = self.number;
        if offsets.get(self.at + 1).is_some_and(|offset| offset.unsigned_abs() <= number) {
            (self.at, self.end) = (self.at + 1, Some(0));
        }
        let (tree, shape) = (self.first_tree + self.at as u64, shapes.get(self.at).copied().unwrap_or(0));
        let Some((shape, _)) = TreeShape::new(shape, self.dimension) else {
            let words =
                format!("tree {tree}: found shape {shape}, expected one of dimension {}", self.dimension);
            return Err(MeshError::new("tree_shape", words));
        };
        let least = self.end.unwrap_or_else(|| element.position.into());
        let checked = element.check(shape, self.dimension, least);
        self.end = Some(checked.map_err(|wrong| wrong.of("element", number, tree))?);
        self.number += 1;
        Ok(term(element.position, tree, element.level.unsigned_abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: i64 = 1 << 29;

    fn element(corner: [i64; 3], level: i64, kind: i64, position: u128) -> Element {
        Element { corner, level, kind, position: u64::try_from(position).unwrap() }
    }

    #[test]
    fn the_children_of_a_pyramid_fill_it() {
        // Elements of t8code, in its order: type, and corner 0 in halves.
        let shape = TreeShape::Pyramid;
        let size = |kind| shape.size(3, kind, 1);
        assert_eq!(6 * size(6) + 4 * size(0), shape.size(3, 6, 0));
        let tip = element([HALF; 3], 1, 6, shape.size(3, 6, 0) - size(6));
        assert_eq!(tip.check(shape, 3, 0), Ok(shape.size(3, 6, 0)));
        let reversed = element([HALF; 3], 1, 7, 0);
        assert_eq!(reversed.check(shape, 3, 0), Ok(size(7)));
    }

    #[test]
    fn squares_have_the_positions_of_morton() {
        let quarter = 1 << 58;
        assert_eq!(element([HALF, 0, 0], 1, 0, quarter).check(TreeShape::Box, 2, quarter), Ok(2 * quarter));
        for (wrong, part) in [
            (element([0, HALF, 0], 1, 0, quarter), 3),
            (element([HALF, 0, 0], 1, 0, quarter - 1), 3),
            (element([HALF, 0, 0], 1, 1, quarter), 2),
            (element([HALF, 0, 0], 31, 0, quarter), 1),
            (element([HALF, 0, 0], -1, 0, quarter), 1),
            (element([HALF, 0, 0], 0, 0, quarter), 0),
            (element([2 * HALF, 0, 0], 1, 0, quarter), 0),
        ] {
            assert_eq!(wrong.check(TreeShape::Box, 2, quarter).unwrap_err().part, SHAPED[part].name);
        }
    }

    #[test]
    fn elements_lie_in_their_trees() {
        assert!(element([0, 0, 0], 1, 1, 0).check(TreeShape::Triangle, 2, 0).is_err()); // above the diagonal
        assert!(element([HALF, 0, 0], 1, 1, 0).check(TreeShape::Triangle, 2, 0).is_ok());
        assert!(element([HALF, 0, 0], 1, 3, 0).check(TreeShape::Tetrahedron, 3, 0).is_err());
        assert!(element([0, 0, 0], 1, 0, 0).check(TreeShape::Tetrahedron, 3, 0).is_ok());
        assert!(element([0, 0, 0], 1, 7, 0).check(TreeShape::Pyramid, 3, 0).is_err());
        assert!(element([0, 0, 0], 1, 8, 0).check(TreeShape::Pyramid, 3, 0).is_err());
    }
}
