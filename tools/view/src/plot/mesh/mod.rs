//! What can be drawn as a mesh: polygons, lines and points, each of a cell. Forests (docs/forest.md), also of other shapes
//! (docs/t8code.md), points and cells (docs/cells.md), patches (docs/patches.md), and particles (docs/particles.md).

mod cells;
mod field;
mod forest;
mod hybrid_forest;
mod particles;
mod parts;
mod patches;
mod shapes;

use super::cf_decoding::attributes;
use crate::fail::Result;
pub use field::FieldPlace;
use parts::Parts;
use scda::Reader;
use scda_meshes::names::{CELLS, FOREST, PARTICLES, PATCHES};

/// What kind of mesh a group is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum MeshKind {
    /// A forest of squares or cubes, with its dimensions.
    Forest(usize),
    /// One of other shapes.
    Shaped(usize),
    Cells,
    /// Patches, with their dimensions.
    Patches(usize),
    Particles,
}

/// The kind that the attributes of a group tell; `None` if it is no mesh, or one of a later version.
pub fn kind(group_attributes: &str) -> Option<MeshKind> {
    let attributes = attributes(group_attributes);
    let number = |key: &str| attributes.get(key).and_then(serde_json::Value::as_u64);
    let dimension = number("dimension").and_then(|d| usize::try_from(d).ok()).filter(|d| (1..=3).contains(d));
    match (number(FOREST), dimension) {
        (Some(1), Some(d @ 2..)) => return Some(MeshKind::Forest(d)),
        (Some(2), Some(d)) => return Some(MeshKind::Shaped(d)),
        _ => {}
    }
    match (number(CELLS), number(PATCHES), dimension, number(PARTICLES)) {
        (Some(1), ..) => Some(MeshKind::Cells),
        (_, Some(1), Some(d), _) => Some(MeshKind::Patches(d)),
        (_, _, _, Some(1)) => Some(MeshKind::Particles),
        _ => None,
    }
}

impl MeshKind {
    /// What it is called.
    pub fn words(self) -> String {
        match self {
            Self::Forest(d) => format!("forest in {d}D"),
            Self::Shaped(d) => format!("forest of any shapes in {d}D"),
            Self::Cells => "cells".to_owned(),
            Self::Patches(d) => format!("patches in {d}D"),
            Self::Particles => "particles".to_owned(),
        }
    }

    /// What its cells are called.
    pub fn cell(self) -> &'static str {
        if self == Self::Particles { "particle" } else { "cell" }
    }
}

/// Polygons, each of a cell. Those of one or two points are points and lines, which have a width on the screen.
#[derive(Default)]
pub struct Faces {
    pub points: Vec<[f64; 3]>,
    /// Where the points of each polygon begin, and where the last ones end.
    begins: Vec<usize>,
    cells: Vec<u32>,
}

impl Faces {
    pub fn push(&mut self, cell: usize, points: impl IntoIterator<Item = [f64; 3]>) {
        if self.begins.is_empty() {
            self.begins.push(0);
        }
        self.points.extend(points);
        self.begins.push(self.points.len());
        self.cells.push(u32::try_from(cell).unwrap_or(u32::MAX));
    }

    pub fn polygons(&self) -> impl Iterator<Item = (u32, &[[f64; 3]])> {
        self.cells
            .iter()
            .zip(self.begins.windows(2))
            .map(|(&cell, ends)| (cell, &self.points[ends[0]..ends[1]]))
    }
}

/// A mesh of one step, and how to draw it.
pub struct Mesh {
    pub kind: MeshKind,
    pub cells: usize,
    /// The numbers of points that cells have, to average fields at points.
    corners: Option<(Vec<usize>, Vec<usize>)>,
    /// Where several lie upon each other, the first one is seen.
    pub faces: Faces,
    /// The least and the greatest coordinates.
    pub bounds: [[f64; 3]; 2],
    /// Whether all cells are in a plane, which is drawn with its axes.
    pub is_flat: bool,
    /// What the axes of that plane are called.
    pub axes: [&'static str; 2],
    /// The level of each cell, if it has one.
    levels: Vec<f64>,
    /// Whether finer cells cover each cell; empty if none do.
    covered: Vec<bool>,
}

/// A plane through a mesh in space: an axis, and the coordinate on it.
pub type Cut = Option<(usize, f64)>;

impl Mesh {
    fn new(cells: usize, faces: Faces) -> Self {
        Self {
            kind: MeshKind::Cells,
            cells,
            corners: None,
            faces,
            bounds: [[0.0; 3]; 2],
            is_flat: false,
            axes: ["x", "y"],
            levels: Vec::new(),
            covered: Vec::new(),
        }
    }

    /// The mesh of a group, of the step between two sections. A cut lies in the plane of the other two axes.
    pub fn load(
        reader: &mut Reader,
        group: &str,
        kind: MeshKind,
        (begin, end): (u64, u64),
        cut: Cut,
    ) -> Result<Self> {
        let mut parts = Parts { reader, group, end };
        let is_in_plane = match kind {
            MeshKind::Forest(d) | MeshKind::Shaped(d) | MeshKind::Patches(d) => d < 3,
            MeshKind::Cells => false,
            MeshKind::Particles => true,
        };
        if cut.is_some() && is_in_plane {
            return parts.fail(format_args!("{}: only a mesh in space can be cut", kind.words()));
        }
        let mut mesh = match kind {
            MeshKind::Forest(dimension) => forest::load(&mut parts, dimension, cut)?,
            MeshKind::Shaped(dimension) => hybrid_forest::load(&mut parts, dimension, cut)?,
            MeshKind::Cells => cells::load(&mut parts, cut)?,
            MeshKind::Patches(dimension) => patches::load(&mut parts, dimension, cut)?,
            MeshKind::Particles => particles::load(&mut parts, begin)?,
        };
        mesh.kind = kind;
        if let Some((axis, _)) = cut {
            let (u, v) = [(1, 2), (0, 2), (0, 1)][axis];
            mesh.faces.points.iter_mut().for_each(|point| *point = [point[u], point[v], 0.0]);
            mesh.axes = [u, v].map(|axis| ["x", "y", "z"][axis]);
        }
        let (mut least, mut most) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for point in mesh.faces.points.iter().filter(|point| point.iter().all(|number| number.is_finite())) {
            for axis in 0..3 {
                (least[axis], most[axis]) = (least[axis].min(point[axis]), most[axis].max(point[axis]));
            }
        }
        if least[0] > most[0] {
            match cut {
                Some(_) => (least, most) = ([0.0; 3], [1.0, 1.0, 0.0]),
                None => return parts.fail("there are no cells to draw, or points that are no numbers"),
            }
        }
        #[allow(clippy::float_cmp)] // the same number
        let is_flat = least[2] == most[2];
        mesh.is_flat = is_flat;
        if kind == MeshKind::Particles {
            // As much room as a point needs.
            let room: [f64; 3] = [0, 1, 2].map(|axis| (most[axis] - least[axis]) / 50.0);
            (0..3).for_each(|axis| {
                (least[axis], most[axis]) = (least[axis] - room[axis], most[axis] + room[axis])
            });
        }
        mesh.bounds = roomy(least, most, is_flat);
        Ok(mesh)
    }

    /// The level of each cell, or where it has none 0, and what that is called.
    fn alone(&self) -> (Vec<f64>, String) {
        if self.levels.is_empty() {
            return (vec![0.0; self.cells], format!("{}s", self.kind.cell()));
        }
        (self.levels.clone(), "level".to_owned())
    }
}

/// Ends of which no two are the same, of those axes that are seen.
fn roomy(mut least: [f64; 3], mut most: [f64; 3], is_flat: bool) -> [[f64; 3]; 2] {
    let axes = if is_flat { 2 } else { 3 };
    let longest = (0..axes).map(|axis| most[axis] - least[axis]).fold(0.0, f64::max);
    let room = if longest > 0.0 { longest / 20.0 } else { least[0].abs().max(1.0) / 20.0 };
    for axis in 0..axes {
        if most[axis] <= least[axis] {
            (least[axis], most[axis]) = (least[axis] - room, most[axis] + room);
        }
    }
    [least, most]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_meshes_by_their_attributes() {
        for (attributes, kind) in [
            (r#"{"scda_forest": 1, "dimension": 2}"#, Some(MeshKind::Forest(2))),
            (r#"{"scda_forest": 1, "dimension": 1}"#, None),
            (r#"{"scda_forest": 2, "dimension": 1}"#, Some(MeshKind::Shaped(1))),
            (r#"{"scda_forest": 3, "dimension": 2}"#, None),
            (r#"{"scda_cells": 1}"#, Some(MeshKind::Cells)),
            (r#"{"scda_patches": 1, "dimension": 3}"#, Some(MeshKind::Patches(3))),
            (r#"{"scda_patches": 1, "dimension": 4}"#, None),
            (r#"{"scda_particles": 1}"#, Some(MeshKind::Particles)),
            (r#"{"title": "none"}"#, None),
        ] {
            assert_eq!(super::kind(attributes), kind, "{attributes}");
        }
    }
}
