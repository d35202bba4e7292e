//! Forests of any shapes (docs/t8code.md).

use super::forest::{TREE, between};
use super::parts::{MOST, Parts, index, point, whole};
use super::{Cut, Faces, Mesh, shapes};
use crate::fail::Result;
use crate::plot::figure::units;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// A pyramid, whose base has its corners in the order of bits.
const PYRAMID: [&[usize]; 5] = [&[0, 1, 3, 2], &[0, 1, 4], &[1, 3, 4], &[3, 2, 4], &[2, 0, 4]];

#[derive(Clone, Copy, PartialEq)]
enum CellShape {
    /// A line, a quadrilateral or a hexahedron.
    Box(usize),
    Triangle,
    Tetrahedron,
    Prism,
    Pyramid,
}

impl CellShape {
    /// That of a tree, by the number of VTK.
    fn of_tree(number: usize) -> Option<Self> {
        Some(match number {
            3 => Self::Box(1),
            5 => Self::Triangle,
            9 => Self::Box(2),
            10 => Self::Tetrahedron,
            12 => Self::Box(3),
            13 => Self::Prism,
            14 => Self::Pyramid,
            _ => return None,
        })
    }

    /// That of an element of this type in a tree of this shape.
    fn of_element(self, kind: usize) -> Self {
        if self == Self::Pyramid && kind < 6 { Self::Tetrahedron } else { self }
    }

    /// The corners of an element of this type, as multiples of its edge from its corner 0. Those of a tree are of its first type.
    fn corners(self, kind: usize) -> Vec<[i64; 3]> {
        let triangle = |z: i64| [[0, 0, z], if kind == 1 { [0, 1, z] } else { [1, 0, z] }, [1, 1, z]];
        match self {
            Self::Box(dimension) => {
                let bit = |corner: usize, axis: usize| i64::from(corner >> axis & 1 == 1);
                (0..1 << dimension).map(|corner| [0, 1, 2].map(|axis| bit(corner, axis))).collect()
            }
            Self::Triangle => triangle(0).to_vec(),
            Self::Prism => [triangle(0), triangle(1)].concat(),
            Self::Tetrahedron => {
                // Along one axis after the other.
                const ORDERS: [[usize; 2]; 6] = [[0, 2], [0, 1], [1, 0], [1, 2], [2, 1], [2, 0]];
                let order = ORDERS[kind.min(5)];
                let (mut first, mut second) = ([0; 3], [0; 3]);
                (first[order[0]], second[order[0]], second[order[1]]) = (1, 1, 1);
                vec![[0; 3], first, second, [1; 3]]
            }
            Self::Pyramid => {
                let tip = if kind == 7 { [0, 0, -1] } else { [1; 3] };
                vec![[0; 3], [1, 0, 0], [0, 1, 0], [1, 1, 0], tip]
            }
        }
    }

    /// The faces of one in space, by its corners.
    fn faces(self) -> &'static [&'static [usize]] {
        match self {
            Self::Box(_) => &shapes::VOXEL,
            Self::Tetrahedron => &shapes::TETRAHEDRON,
            Self::Prism => &shapes::WEDGE,
            Self::Pyramid => &PYRAMID,
            Self::Triangle => &[],
        }
    }

    /// Where the corners of a tree put a point of the reference tree.
    fn place(self, tree: &[[f64; 3]], [x, y, z]: [f64; 3]) -> [f64; 3] {
        let weighted = |weights: &[f64]| {
            [0, 1, 2].map(|axis| weights.iter().zip(tree).map(|(weight, corner)| weight * corner[axis]).sum())
        };
        let triangle = [1.0 - x, x - y, y];
        match self {
            Self::Box(_) => between(tree, [x, y, z]),
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

/// The cell of a face, and its corners in space.
type Face = (usize, Vec<[f64; 3]>);

/// What tells a face from the others of a tree, other than coarser and finer ones that lie on it: the sum of its corners, which no
/// other one of the same level has, and the level.
fn key(level: usize, corners: impl Iterator<Item = [i64; 3]>) -> u128 {
    let (mut sum, mut count) = ([0_u64; 3], 0_u64);
    for corner in corners {
        (0..3).for_each(|axis| sum[axis] = sum[axis].wrapping_add(corner[axis].cast_unsigned()));
        count += 1;
    }
    // Four corners of up to 2^30 each.
    sum.iter()
        .fold(u128::from(count) << 8 | level as u128, |key, &n| key << 34 | u128::from(n & 0x3_ffff_ffff))
}

/// The mesh of a step. In space, those faces are drawn that no element of the same level shares: all outer ones, and inside some that
/// nobody sees.
pub fn load(parts: &mut Parts<'_>, dimension: usize, cut: Cut) -> Result<Mesh> {
    let (shape, coordinates) = parts.need("coordinates", 0)?;
    let levels = parts.need("level", 0)?.1;
    let (kinds, offsets) = (parts.need("type", 0)?.1, parts.need("tree_offsets", 0)?.1);
    let begin = parts.section("tree_to_tree")?.map_or(0, |(number, _)| number);
    let of_trees = parts.need("tree_shape", begin)?.1;
    let vertices = parts.last("tree_vertices", begin)?.map(|(_, numbers)| numbers).unwrap_or_default();
    let cells = levels.len();
    if shape != [cells as u64, dimension as u64]
        || cells as u64 > MOST
        || kinds.len() != cells
        || offsets.len() != of_trees.len() + 1
    {
        return parts.fail(format_args!(
            "found {cells} elements in {dimension} dimensions and coordinates of shape {shape:?}, expected at most {MOST} that fit"
        ));
    }
    let mut faces = Faces::default();
    for (tree, &number) in of_trees.iter().enumerate() {
        let Some(of_tree) = CellShape::of_tree(index(number)) else {
            return parts.fail(format_args!("tree {tree}: found shape {number}"));
        };
        let reference = of_tree.corners(if of_tree == CellShape::Pyramid { 6 } else { 0 });
        let corner = |(corner, at): (usize, &[i64; 3])| {
            // Without a geometry, the trees stand in a row.
            let alone =
                || [0, 1, 2].map(|axis| real(at[axis]) + if axis == 0 { 1.1 * units(tree) } else { 0.0 });
            point(&vertices, (tree << dimension) + corner).unwrap_or_else(alone)
        };
        let corners: Vec<_> = reference.iter().enumerate().map(corner).collect();
        let mut outer: HashMap<u128, Option<Face>> = HashMap::new();
        for cell in index(offsets[tree]).min(cells)..index(offsets[tree + 1]).min(cells) {
            let (kind, level) = (index(kinds[cell]), index(levels[cell]).min(30));
            let element = of_tree.of_element(kind);
            let mut first = [0; 3];
            (0..dimension).for_each(|axis| first[axis] = whole(coordinates[cell * dimension + axis]));
            let edge = 1_i64 << (30 - level);
            let at: Vec<[i64; 3]> = element
                .corners(kind)
                .iter()
                .map(|corner| [0, 1, 2].map(|axis| first[axis].saturating_add(edge * corner[axis])))
                .collect();
            let points: Vec<_> =
                at.iter().map(|at| of_tree.place(&corners, at.map(|n| real(n) / TREE))).collect();
            match (dimension, cut) {
                (3, Some(cut)) => {
                    shapes::section(&points, element.faces(), cut)
                        .into_iter()
                        .for_each(|cut| faces.push(cell, cut));
                }
                (3, None) => {
                    for face in element.faces() {
                        match outer.entry(key(level, face.iter().map(|&corner| at[corner]))) {
                            Entry::Occupied(mut entry) => drop(entry.insert(None)),
                            Entry::Vacant(entry) => {
                                entry.insert(Some((
                                    cell,
                                    face.iter().map(|&corner| points[corner]).collect(),
                                )));
                            }
                        }
                    }
                }
                _ if points.len() == 4 => faces.push(cell, [0, 1, 3, 2].map(|corner| points[corner])),
                _ => faces.push(cell, points),
            }
        }
        let mut outer: Vec<_> = outer.into_values().flatten().collect();
        outer.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        outer.into_iter().for_each(|(cell, face)| faces.push(cell, face));
    }
    Ok(Mesh { levels, ..Mesh::new(cells, faces) })
}

#[allow(clippy::cast_precision_loss)] // coordinates have 31 bits
fn real(n: i64) -> f64 {
    n as f64
}
