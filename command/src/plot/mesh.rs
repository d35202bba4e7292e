//! The meshes of a file as polygons: forests of trees (docs/forest.md) and cells of any shapes (docs/cells.md).

use super::meaning::{Meaning, attributes};
use super::shapes;
use crate::datasets::slabs;
use crate::fail::{Fail, Result};
use crate::output::visible;
use scda::internals::to_usize;
use scda::{Dataset, Reader, Region, internals};
use std::collections::HashMap;

/// The most cells of a mesh, and numbers of a dataset, that are drawn: all of them are in memory.
const MOST: u64 = 1 << 25;
/// The edge of a tree.
const TREE: f64 = 1_073_741_824.0;

/// What kind of mesh a group is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// A forest of so many dimensions.
    Forest(usize),
    Cells,
}

/// The kind that the attributes of a group tell; `None` if it is no mesh, or one of a later version.
pub fn kind(group_attributes: &str) -> Option<Kind> {
    let attributes = attributes(group_attributes);
    let number = |key: &str| attributes.get(key).and_then(serde_json::Value::as_u64);
    match (number("scda_forest"), number("dimension"), number("scda_cells")) {
        (Some(1), Some(2), _) => Some(Kind::Forest(2)),
        (Some(1), Some(3), _) => Some(Kind::Forest(3)),
        (_, _, Some(1)) => Some(Kind::Cells),
        _ => None,
    }
}

/// The folders of a group in which fields stand.
pub const FIELDS: [&str; 3] = ["/fields/", "/cell_fields/", "/point_fields/"];

/// Polygons, each of a cell.
#[derive(Default)]
pub struct Faces {
    pub points: Vec<[f64; 3]>,
    /// Where the points of each polygon begin, and where the last ones end.
    pub begins: Vec<usize>,
    pub cells: Vec<u32>,
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
    pub kind: Kind,
    pub cells: usize,
    /// The numbers of points that cells have, to average fields at points.
    corners: Option<(Vec<usize>, Vec<usize>)>,
    pub faces: Faces,
    /// The least and the greatest coordinates.
    pub bounds: [[f64; 3]; 2],
    /// Whether all cells are in the plane of x and y.
    pub is_flat: bool,
    /// The level of the quadrants of a forest.
    pub levels: Vec<f64>,
}

/// A plane through a mesh in space: an axis, and the coordinate on it.
pub type Cut = Option<(usize, f64)>;

/// The numbers of a dataset, and its shape.
type Numbers = (Vec<u64>, Vec<f64>);

/// Finds the datasets of a group up to the end of a step.
struct Parts<'a> {
    reader: &'a mut Reader,
    group: &'a str,
    /// The section that ends the step.
    end: u64,
}

impl Parts<'_> {
    fn fail<T>(&self, words: impl std::fmt::Display) -> Result<T> {
        Err(Fail::Trouble(format!("{}: {words}", visible(self.group))))
    }

    /// The sections of a name.
    fn sections(&mut self, name: &str) -> Result<Vec<u64>> {
        let full = format!("{}/{name}", self.group);
        Ok(self.reader.find_all(internals::stored_name(&full).as_bytes())?)
    }

    /// The numbers of the last dataset of a name from section `begin` on, before the end of the step.
    fn last(&mut self, name: &str, begin: u64) -> Result<Option<Numbers>> {
        let all = self.sections(name)?;
        let record = all.partition_point(|&number| number < self.end).checked_sub(1);
        let Some(record) = record.filter(|&record| all[record] >= begin) else { return Ok(None) };
        let full = format!("{}/{name}", self.group);
        let Some(dataset) = self.reader.find_dataset(&full, i64::try_from(record).unwrap_or(0))? else {
            return Ok(None);
        };
        Ok(Some((dataset.shape.clone(), read(self.reader, &dataset)?)))
    }

    fn need(&mut self, name: &str, begin: u64) -> Result<Numbers> {
        match self.last(name, begin)? {
            Some(found) => Ok(found),
            None => self.fail(format_args!("found no {name}, which a mesh has")),
        }
    }
}

/// All numbers of the reader's current dataset.
fn read(reader: &mut Reader, dataset: &Dataset) -> Result<Vec<f64>> {
    let name = visible(&dataset.name);
    let items = dataset.shape.iter().fold(1_u64, |all, &n| all.saturating_mul(n));
    let meaning = Meaning::new(dataset).filter(|_| items <= 32 * MOST);
    let meaning =
        meaning.ok_or_else(|| Fail::Trouble(format!("{name}: cannot be drawn: no numbers, or too many")))?;
    let (mut numbers, mut data) = (Vec::new(), Vec::new());
    for slab in slabs::Slabs::new(dataset, Region::all(&dataset.shape)) {
        slabs::read(reader, dataset, &slab, &mut data)?;
        meaning.append(&data, &mut numbers);
    }
    Ok(numbers)
}

/// A whole number of a file as an index; what is none is an index that nothing has.
fn index(number: f64) -> usize {
    usize::try_from(super::axis::whole(number)).unwrap_or(usize::MAX)
}

/// The section at which the step ends that a section belongs to.
pub fn end_of_step(reader: &mut Reader, group: &str, section: u64) -> Result<u64> {
    let times = reader.find_all(internals::stored_name(&format!("{group}/time")).as_bytes())?;
    Ok(times.get(times.partition_point(|&number| number <= section)).copied().unwrap_or(u64::MAX))
}

impl Mesh {
    /// The mesh of a group, of the step that ends with a section.
    pub fn load(reader: &mut Reader, group: &str, kind: Kind, end: u64, cut: Cut) -> Result<Self> {
        let mut parts = Parts { reader, group, end };
        let mut mesh = match kind {
            Kind::Forest(dimension) => forest(&mut parts, dimension, cut)?,
            Kind::Cells => cells(&mut parts, cut)?,
        };
        let (mut least, mut most) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for point in &mesh.faces.points {
            for axis in 0..3 {
                (least[axis], most[axis]) = (least[axis].min(point[axis]), most[axis].max(point[axis]));
            }
        }
        if least.iter().chain(&most).any(|end| !end.is_finite()) {
            match cut {
                Some(_) => (least, most) = ([0.0; 3], [1.0; 3]),
                None => return parts.fail("found no cells to draw, or points that are no numbers"),
            }
        }
        mesh.bounds = [least, most];
        #[allow(clippy::float_cmp)] // the same number
        let is_flat = least[2] == most[2];
        mesh.is_flat = is_flat;
        Ok(mesh)
    }

    /// A number for each cell from a field: of several in a cell the one with this number, or without it the mean of those at corners,
    /// and the length of a vector.
    pub fn of_field(
        &self,
        reader: &mut Reader,
        dataset: &Dataset,
        component: Option<usize>,
    ) -> Result<Vec<f64>> {
        let values = read(reader, dataset)?;
        let rows = dataset.shape.first().copied().map_or(0, to_usize);
        let per_row = values.len() / rows.max(1);
        if component.is_some_and(|component| component >= per_row) {
            return Err(Fail::Trouble(format!(
                "found {per_row} numbers in a row, expected a component before that"
            )));
        }
        let at_corners = dataset.dimension_names.get(1).is_some_and(|name| name.as_deref() == Some("corner"));
        let is_vector = dataset.shape.len() == 2 && (2..=3).contains(&per_row);
        let of_row = |row: usize| {
            let all = &values[row * per_row..(row + 1) * per_row];
            match component {
                Some(component) => all[component],
                None if at_corners => all.iter().sum::<f64>() / super::figure::units(all.len().max(1)),
                None if is_vector => all.iter().map(|number| number * number).sum::<f64>().sqrt(),
                None => all.first().copied().unwrap_or(f64::NAN),
            }
        };
        if dataset.name.contains("/point_fields/")
            && let Some((points, begins)) = &self.corners
        {
            let mean = |ends: &[usize]| {
                let some = points.get(ends[0]..ends[1]).unwrap_or_default();
                let sum: f64 =
                    some.iter().map(|&point| if point < rows { of_row(point) } else { f64::NAN }).sum();
                sum / super::figure::units(some.len())
            };
            return Ok(begins.windows(2).map(mean).collect());
        }
        if rows != self.cells {
            let (name, cells) = (visible(&dataset.name), self.cells);
            return Err(Fail::Trouble(format!(
                "{name}: found {rows} rows, expected {cells}, one for each cell of the mesh"
            )));
        }
        Ok((0..rows).map(of_row).collect())
    }
}

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
            let begin = vertex.saturating_mul(3);
            match self.vertices.get(begin..begin.saturating_add(3)) {
                Some(&[x, y, z]) => [x, y, z],
                // Without a geometry, the trees stand in a row.
                _ => {
                    let bit = |k: usize| super::figure::units(corner >> k & 1);
                    [super::figure::units(tree) * 1.1 + bit(0), bit(1), bit(2)]
                }
            }
        };
        (0..self.corners).map(at).collect()
    }
}

/// The point of a tree with these coordinates, from 0 to 1.
fn between(tree: &[[f64; 3]], at: [f64; 3]) -> [f64; 3] {
    let mut point = [0.0; 3];
    for (corner, vertex) in tree.iter().enumerate() {
        let part = |axis: usize| if corner >> axis & 1 == 1 { at[axis] } else { 1.0 - at[axis] };
        let weight = part(0) * part(1) * if tree.len() == 8 { part(2) } else { 1.0 };
        (0..3).for_each(|axis| point[axis] += weight * vertex[axis]);
    }
    point
}

fn forest(parts: &mut Parts<'_>, dimension: usize, cut: Cut) -> Result<Mesh> {
    let (shape, coordinates) = parts.need("coordinates", 0)?;
    let (levels, offsets) = (parts.need("level", 0)?.1, parts.need("tree_offsets", 0)?.1);
    let joined = parts.sections("tree_to_tree")?;
    let end = parts.end;
    let begin = joined.iter().copied().rfind(|&number| number < end).unwrap_or(0);
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
            (0..dimension).for_each(|axis| low[axis] = coordinates[cell * dimension + axis] / TREE);
            let point = |corner: usize| {
                let bit = |axis: usize| if corner >> axis & 1 == 1 { size } else { 0.0 };
                between(&corners, [0, 1, 2].map(|axis| low[axis] + bit(axis)))
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
    let (bounds, is_flat) = ([[0.0; 3]; 2], false);
    Ok(Mesh { kind: Kind::Forest(dimension), cells, corners: None, faces, bounds, is_flat, levels })
}

fn cells(parts: &mut Parts<'_>, cut: Cut) -> Result<Mesh> {
    let points = parts.need("points", 0)?.1;
    let (corners, offsets) = (parts.need("cell_points", 0)?.1, parts.need("cell_offsets", 0)?.1);
    let types = parts.need("cell_types", 0)?.1;
    let cells = types.len();
    if cells as u64 > MOST || offsets.len() != cells + 1 {
        let offsets = offsets.len();
        return parts.fail(format_args!(
            "found {cells} cells and {offsets} offsets, expected at most {MOST}, and one more"
        ));
    }
    let corners: Vec<_> = corners.into_iter().map(index).collect();
    let begins: Vec<_> = offsets.into_iter().map(index).collect();
    let point =
        |point: usize| match points.get(point.saturating_mul(3)..point.saturating_mul(3).saturating_add(3)) {
            Some(&[x, y, z]) => [x, y, z],
            _ => [f64::NAN; 3],
        };
    let mut faces = Faces::default();
    // The faces of cells in space that no other cell has are seen.
    let mut seen: HashMap<[usize; 4], Option<(usize, Vec<usize>)>> = HashMap::new();
    for cell in 0..cells {
        let Some(of_cell) = corners.get(begins[cell]..begins[cell + 1]) else {
            return parts.fail(format_args!("cell {cell}: found points that the mesh does not have"));
        };
        let shape = index(types[cell]);
        match shapes::faces_of(shape) {
            Some(solid) => {
                if of_cell.len() <= solid.iter().copied().flatten().copied().max().unwrap_or(0) {
                    return parts.fail(format_args!("cell {cell}: found too few points for its shape"));
                }
                if let Some(cut) = cut {
                    let all: Vec<_> = of_cell.iter().map(|&corner| point(corner)).collect();
                    if let Some(section) = shapes::section(&all, solid, cut) {
                        faces.push(cell, section);
                    }
                    continue;
                }
                for face in solid {
                    let face: Vec<_> = face.iter().map(|&corner| of_cell[corner]).collect();
                    let mut key = [usize::MAX; 4];
                    key[..face.len()].copy_from_slice(&face);
                    key.sort_unstable();
                    let inner = seen.contains_key(&key);
                    seen.insert(key, (!inner).then_some((cell, face)));
                }
            }
            None => {
                for polygon in shapes::polygons(shape, of_cell) {
                    faces.push(cell, polygon.iter().map(|&corner| point(corner)));
                }
            }
        }
    }
    let mut outer: Vec<_> = seen.into_values().flatten().collect();
    outer.sort_unstable();
    outer.into_iter().for_each(|(cell, face)| faces.push(cell, face.into_iter().map(point)));
    let (bounds, is_flat) = ([[0.0; 3]; 2], false);
    Ok(Mesh {
        kind: Kind::Cells,
        cells,
        corners: Some((corners, begins)),
        faces,
        bounds,
        is_flat,
        levels: Vec::new(),
    })
}
