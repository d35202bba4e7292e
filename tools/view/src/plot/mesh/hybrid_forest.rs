//! Forests of any shapes (docs/t8code.md).

use super::parts::{MOST, Parts, index, point, whole};
use super::{Cut, Faces, Mesh, shapes};
use crate::fail::Result;
use crate::plot::figure::units;
use scda_meshes::forest::geometry::TREE_EDGE;
use scda_meshes::forest::shapes::TreeShape;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// A pyramid, whose base has its corners in the order of bits.
const PYRAMID: [&[usize]; 5] = [&[0, 1, 3, 2], &[0, 1, 4], &[1, 3, 4], &[3, 2, 4], &[2, 0, 4]];

/// The faces of an element in space, by its corners.
fn faces_of(shape: TreeShape) -> &'static [&'static [usize]] {
    match shape {
        TreeShape::Box => &shapes::VOXEL,
        TreeShape::Tetrahedron => &shapes::TETRAHEDRON,
        TreeShape::Prism => &shapes::WEDGE,
        TreeShape::Pyramid => &PYRAMID,
        TreeShape::Triangle => &[],
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
    let begin = parts.section("tree_to_tree")?;
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
        let Some((of_tree, _)) =
            u8::try_from(index(number)).ok().and_then(|number| TreeShape::new(number, dimension))
        else {
            return parts.fail(format_args!("tree {tree}: found shape {number}"));
        };
        let reference = of_tree.corners(dimension, of_tree.root()).unwrap_or_default();
        let corner = |(corner, at): (usize, &[i64; 3])| {
            // Without a geometry, the trees stand in a row.
            let alone =
                || [0, 1, 2].map(|axis| real(at[axis]) + if axis == 0 { 1.1 * units(tree) } else { 0.0 });
            point(&vertices, (tree << dimension) + corner).unwrap_or_else(alone)
        };
        let corners: Vec<_> = reference.iter().enumerate().map(corner).collect();
        let mut outer: HashMap<u128, Option<Face>> = HashMap::new();
        for cell in index(offsets[tree]).min(cells)..index(offsets[tree + 1]).min(cells) {
            let (kind, level) = (whole(kinds[cell]), index(levels[cell]).min(30));
            let Some(corners_of) = of_tree.corners(dimension, kind) else {
                return parts.fail(format_args!("element {cell}: found type {kind}"));
            };
            let faces_of = faces_of(of_tree.of_element(kind));
            let mut first = [0; 3];
            (0..dimension).for_each(|axis| first[axis] = whole(coordinates[cell * dimension + axis]));
            let edge = 1_i64 << (30 - level);
            let at: Vec<[i64; 3]> = corners_of
                .iter()
                .map(|corner| [0, 1, 2].map(|axis| first[axis].saturating_add(edge * corner[axis])))
                .collect();
            let points: Vec<_> =
                at.iter().map(|at| of_tree.place(&corners, at.map(|n| real(n) / TREE_EDGE))).collect();
            match (dimension, cut) {
                (3, Some(cut)) => {
                    shapes::section(&points, faces_of, cut).into_iter().for_each(|cut| faces.push(cell, cut));
                }
                (3, None) => {
                    for face in faces_of {
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
