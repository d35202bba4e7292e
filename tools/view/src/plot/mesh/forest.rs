//! Forests of squares and cubes (docs/forest.md).

use super::parts::{MOST, Parts, index, point};
use super::{Cut, Faces, Mesh, shapes};
use crate::fail::Result;
use crate::plot::figure::units;
use scda_meshes::forest::geometry::TREE_EDGE;
use scda_meshes::forest::shapes::TreeShape;

/// Where a tree puts a point of it.
struct Geometry {
    corners: usize,
    vertices: Vec<f64>,
    of_trees: Vec<f64>,
}

impl Geometry {
    /// The corners of a tree in space.
    fn tree(&self, tree: usize) -> Vec<[f64; 3]> {
        let at = |corner: usize| {
            let vertex = self.of_trees.get(tree * self.corners + corner).map_or(usize::MAX, |&v| index(v));
            // Without a geometry, the trees stand in a row.
            point(&self.vertices, vertex).unwrap_or_else(|| {
                let bit = |k: usize| units(corner >> k & 1);
                [units(tree) * 1.1 + bit(0), bit(1), bit(2)]
            })
        };
        (0..self.corners).map(at).collect()
    }
}

/// The mesh of a step.
pub fn load(parts: &mut Parts<'_>, dimension: usize, cut: Cut) -> Result<Mesh> {
    let (shape, coordinates) = parts.need("coordinates", 0)?;
    let (levels, offsets) = (parts.need("level", 0)?.1, parts.need("tree_offsets", 0)?.1);
    let begin = parts.section("tree_to_tree")?;
    let (to_tree, to_face) = (parts.need("tree_to_tree", begin)?.1, parts.need("tree_to_face", begin)?.1);
    let vertices = parts.last("vertices", begin)?.map(|(_, numbers)| numbers).unwrap_or_default();
    let of_trees = parts.last("tree_to_vertex", begin)?.map(|(_, numbers)| numbers).unwrap_or_default();
    let cells = levels.len();
    if shape != [cells as u64, dimension as u64] || cells as u64 > MOST || offsets.len() < 2 {
        return parts.fail(format_args!(
            "found {cells} quadrants in {dimension} dimensions and coordinates of shape {shape:?}, expected at most {MOST} that fit"
        ));
    }
    let geometry = Geometry { corners: 1 << dimension, vertices, of_trees };
    let mut faces = Faces::default();
    for tree in 0..offsets.len() - 1 {
        let corners = geometry.tree(tree);
        let is_end = |face: usize| {
            let at = 2 * dimension * tree + face;
            to_tree.get(at).is_none_or(|&to| index(to) == tree)
                && to_face.get(at).is_none_or(|&to| index(to) == face)
        };
        let ends: Vec<_> = (0..2 * dimension).map(is_end).collect();
        for cell in index(offsets[tree]).min(cells)..index(offsets[tree + 1]).min(cells) {
            let size = 0.5_f64.powf(levels[cell]);
            let mut low = [0.0; 3];
            (0..dimension).for_each(|axis| low[axis] = coordinates[cell * dimension + axis] / TREE_EDGE);
            let point = |corner: usize| {
                let bit = |axis: usize| if corner >> axis & 1 == 1 { size } else { 0.0 };
                TreeShape::Box.place(&corners, [0, 1, 2].map(|axis| low[axis] + bit(axis)))
            };
            if dimension == 2 {
                faces.push(cell, [0, 1, 3, 2].map(point));
                continue;
            }
            if let Some(cut) = cut {
                let points: Vec<_> = (0..8).map(point).collect();
                if let Some(section) = shapes::section(&points, &shapes::VOXEL, cut) {
                    faces.push(cell, section);
                }
                continue;
            }
            for (face, _) in ends.iter().enumerate().filter(|(_, is_end)| **is_end) {
                let (axis, side) = (face / 2, face % 2);
                let at_end = if side == 0 { low[axis] <= 0.0 } else { low[axis] + size >= 1.0 };
                if at_end {
                    faces.push(cell, shapes::VOXEL[face].iter().map(|&corner| point(corner)));
                }
            }
        }
    }
    Ok(Mesh { levels, ..Mesh::new(cells, faces) })
}
