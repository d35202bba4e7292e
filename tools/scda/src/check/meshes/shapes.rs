//! Forests of any shapes (docs/t8code.md): their trees and elements.

use super::checksum::{Quadrants, expect_mesh};
use super::column::Datasets;
use super::connectivity::Connectivity;
use super::{Checked, wrong};
use scda::DataType;
use scda_meshes::checksum::term;
use scda_meshes::names::{SHAPED_PARTS, SHAPED_TREE_PARTS};

/// Coordinates are in units of 2^-30 of the edge of a tree.
const BITS: u32 = 30;

/// Whether a dataset of this name is a part of such a forest alone.
pub fn has(name: &str) -> bool {
    SHAPED_PARTS.contains(&name) || SHAPED_TREE_PARTS.contains(&name)
}

/// The finest level, of which positions count elements.
const fn finest(dimension: usize) -> u32 {
    if dimension == 3 { 21 } else { BITS }
}

/// A shape of trees.
#[derive(Clone, Copy, PartialEq)]
enum TreeShape {
    /// A line, a quadrilateral or a hexahedron.
    Box,
    Triangle,
    Tetrahedron,
    Prism,
    Pyramid,
}

impl TreeShape {
    /// That of a number of VTK, and its faces. `None` if no tree of this dimension has it.
    fn new(number: i64, dimension: usize) -> Option<(Self, u64)> {
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

    /// The other corners of an element of this type, as multiples of its edge from corner 0, as far as they say whether it lies in its
    /// tree. `None` if there is no such type.
    fn corners(self, kind: i64) -> Option<&'static [[i64; 3]]> {
        // From the first corner to the last one along the axes in each order.
        const TETRAHEDRA: [[[i64; 3]; 3]; 6] = [
            [[1, 0, 0], [1, 0, 1], [1, 1, 1]],
            [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
            [[0, 1, 0], [1, 1, 0], [1, 1, 1]],
            [[0, 1, 0], [0, 1, 1], [1, 1, 1]],
            [[0, 0, 1], [0, 1, 1], [1, 1, 1]],
            [[0, 0, 1], [1, 0, 1], [1, 1, 1]],
        ];
        const PRISMS: [[[i64; 3]; 2]; 2] = [[[1, 0, 0], [1, 1, 1]], [[0, 1, 0], [1, 1, 1]]];
        const PYRAMIDS: [[[i64; 3]; 4]; 2] =
            [[[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1]], [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, -1]]];
        let kind = usize::try_from(kind).ok()?;
        match self {
            Self::Box => (kind == 0).then_some(&[[1, 1, 1]]),
            Self::Triangle | Self::Prism => PRISMS.get(kind).map(<[_; 2]>::as_slice),
            Self::Pyramid if kind >= 6 => PYRAMIDS.get(kind - 6).map(<[_; 4]>::as_slice),
            Self::Tetrahedron | Self::Pyramid => TETRAHEDRA.get(kind).map(<[_; 3]>::as_slice),
        }
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

    /// How many elements of the finest level an element of this type and level has, or the tree itself, at level 0.
    fn size(self, dimension: usize, kind: i64, level: u32) -> u128 {
        let depth = finest(dimension) - level;
        match self {
            Self::Pyramid if kind >= 6 => 2 * 8_u128.pow(depth) - 6_u128.pow(depth),
            _ => 1 << (depth as usize * dimension),
        }
    }
}

/// The position of a square or cube: the bits of its coordinates in turn, those of x lowest.
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

/// An element of a tree, in a mesh that is checked from element to element.
struct Element {
    corner: [i64; 3],
    level: i64,
    kind: i64,
    position: u128,
}

impl Element {
    /// Compares an element with its tree and with the end of the one before it, and returns its own end. An error is in words, after
    /// the place of the dataset in [`SHAPED_PARTS`].
    fn check(&self, shape: TreeShape, dimension: usize, begin: u128) -> Result<u128, (usize, String)> {
        let most = finest(dimension);
        let level = u32::try_from(self.level).ok().filter(|&level| level <= most);
        let Some(level) = level else {
            return Err((1, format!("found level {}, expected at most {most}", self.level)));
        };
        let Some(others) = shape.corners(self.kind) else {
            return Err((2, format!("found type {}, which its tree does not have", self.kind)));
        };
        let edge = 1_i64 << (BITS - level);
        let place = |of: &[i64; 3]| {
            std::array::from_fn(|axis| if axis < dimension { self.corner[axis] + edge * of[axis] } else { 0 })
        };
        let is_multiple = self.corner[..dimension].iter().all(|coordinate| coordinate % edge == 0);
        if !is_multiple || !shape.has(self.corner) || !others.iter().all(|of| shape.has(place(of))) {
            let found = &self.corner[..dimension];
            return Err((0, format!("found {found:?}, expected multiples of {edge} that lie in the tree")));
        }
        let end = self.position + shape.size(dimension, self.kind, level);
        let whole = shape.size(dimension, 6, 0);
        if self.position < begin || end > whole {
            let found = self.position;
            return Err((3, format!("found {found} to {end}, expected a part of {begin} to {whole}")));
        }
        if shape == TreeShape::Box && self.position != morton(self.corner, dimension) {
            let expected = morton(self.corner, dimension);
            return Err((3, format!("found {}, expected {expected} by its coordinates", self.position)));
        }
        Ok(end)
    }
}

/// Checks the elements of a mesh, whose trees have these shapes.
pub fn elements(
    datasets: &mut Datasets<'_>,
    dimension: usize,
    parts: [u64; 5],
    shapes: u64,
) -> Checked<Quadrants> {
    let mut corners = datasets.typed(parts[0], DataType::Int32, &[None, Some(dimension as u64)])?;
    let quadrants = corners.rows();
    let mut level = datasets.typed(parts[1], DataType::Uint8, &[Some(quadrants)])?;
    let mut kind = datasets.typed(parts[2], DataType::Uint8, &[Some(quadrants)])?;
    let mut position = datasets.typed(parts[3], DataType::Uint64, &[Some(quadrants)])?;
    let mut offset = datasets.typed(parts[4], DataType::Int64, &[None])?;
    let trees = offset.rows().saturating_sub(1);
    let mut shape = datasets.typed(shapes, DataType::Uint8, &[Some(trees)])?;
    let all = i64::try_from(quadrants).unwrap_or(i64::MAX);
    let mut begin = if offset.rows() > 0 { offset.next(datasets)? } else { -1 };
    if begin != 0 || trees == 0 {
        return wrong(parts[4], format!("found {begin} as the first of {} numbers, expected 0", trees + 1));
    }
    let mut checksum = 0_u64;
    for tree in 0..trees {
        let end = offset.next(datasets)?;
        if end <= begin || end > all || (tree + 1 == trees && end != all) {
            let number = tree + 1;
            return wrong(
                parts[4],
                format!("number {number}: found {end}, expected more than {begin}, and {all} at the end"),
            );
        }
        let number = shape.next(datasets)?;
        let Some((shape, _)) = TreeShape::new(number, dimension) else {
            return wrong(shapes, format!("tree {tree}: found shape {number}"));
        };
        let mut after = 0;
        for at in begin..end {
            let mut corner = [0; 3];
            for coordinate in &mut corner[..dimension] {
                *coordinate = corners.next(datasets)?;
            }
            let element = Element {
                corner,
                level: level.next(datasets)?,
                kind: kind.next(datasets)?,
                position: u128::from(position.next(datasets)?.cast_unsigned()),
            };
            after = match element.check(shape, dimension, after) {
                Ok(after) => after,
                Err((part, words)) => {
                    return wrong(parts[part], format!("element {at}, in tree {tree}: {words}"));
                }
            };
            // It fits 64 bits, as all positions of the file.
            let place = u64::try_from(element.position).unwrap_or(u64::MAX);
            checksum = checksum.wrapping_add(term(place, tree, element.level.unsigned_abs()));
        }
        begin = end;
    }
    expect_mesh(Some(&corners), parts[0], checksum, "that it begins")?;
    Ok(Quadrants { quadrants, trees, checksum })
}

impl Connectivity<'_, '_, '_> {
    /// Checks the trees of a forest of any shapes. Returns how many there are, and the section of their shapes.
    pub fn check_shapes(&mut self) -> Checked<(u64, u64)> {
        let (first, dimension) = (self.first, self.dimension);
        let (faces, corners) = (2 * dimension as u64, 1_u64 << dimension);
        let [Some(to_face), Some(shapes)] = ["tree_to_face", "tree_shape"].map(|name| self.part(name)) else {
            return wrong(first, "no tree_to_face or no tree_shape follows it");
        };
        let mut shape = self.datasets.typed(shapes, DataType::Uint8, &[None])?;
        let trees = shape.rows();
        self.datasets.bound(&shape)?;
        let shown = &[Some(trees), Some(faces)];
        let most = i64::try_from(trees).unwrap_or(i64::MAX) - 1;
        let (_, tree_neighbour) = self.bounded(first, DataType::Int64, shown, -1, most)?;
        let (_, face_neighbour) =
            self.bounded(to_face, DataType::Int8, shown, -1, i64::try_from(4 * faces).unwrap_or(0) - 1)?;
        let n = usize::try_from(faces).unwrap_or(0);
        let index = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        for tree in 0..trees {
            let number = shape.next(self.datasets)?;
            let Some((_, has)) = TreeShape::new(number, dimension) else {
                return wrong(
                    shapes,
                    format!("tree {tree}: found shape {number}, expected one of dimension {dimension}"),
                );
            };
            if tree_neighbour.is_empty() {
                continue; // there are too many
            }
            for face in 0..n {
                let at = usize::try_from(tree).unwrap_or(usize::MAX) * n + face;
                let (behind, code) = (tree_neighbour[at], face_neighbour[at]);
                let is_there = (face as u64) < has;
                if is_there != (behind >= 0) || is_there != (code >= 0) {
                    let words = format!("tree {tree}: face {face} leads to tree {behind}, of {has} faces");
                    return wrong(first, words);
                }
                if is_there {
                    let back = index(behind) * n + index(code) % n;
                    if (index(tree_neighbour[back]), index(face_neighbour[back]) % n) != (at / n, face) {
                        let words = format!(
                            "tree {tree}: face {face} leads to tree {behind}, which does not lead back"
                        );
                        return wrong(first, words);
                    }
                }
            }
        }
        if let Some(vertices) = self.part("tree_vertices") {
            self.datasets.typed(vertices, DataType::Float64, &[Some(trees), Some(corners), Some(3)])?;
        }
        Ok((trees, shapes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: i64 = 1 << 29;

    fn element(corner: [i64; 3], level: i64, kind: i64, position: u128) -> Element {
        Element { corner, level, kind, position }
    }

    #[test]
    fn the_children_of_a_pyramid_fill_it() {
        // Those of t8code, in its order: type, and corner 0 in halves.
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
            assert_eq!(wrong.check(TreeShape::Box, 2, quarter).unwrap_err().0, part);
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
