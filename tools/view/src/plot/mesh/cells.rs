//! Points and cells of any shapes (docs/cells.md).

use super::parts::{MOST, Parts, index, point};
use super::{Cut, Faces, Mesh, shapes};
use crate::fail::Result;
use std::collections::HashMap;

/// The mesh of a step.
pub fn load(parts: &mut Parts<'_>, cut: Cut) -> Result<Mesh> {
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
    let point = |number: usize| point(&points, number).unwrap_or([f64::NAN; 3]);
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
                    let all: Vec<_> = polygon.iter().map(|&corner| point(corner)).collect();
                    match cut {
                        Some(cut) => {
                            shapes::trace(&all, cut).into_iter().for_each(|line| faces.push(cell, line))
                        }
                        None => faces.push(cell, all),
                    }
                }
            }
        }
    }
    let mut outer: Vec<_> = seen.into_values().flatten().collect();
    outer.sort_unstable();
    outer.into_iter().for_each(|(cell, face)| faces.push(cell, face.into_iter().map(point)));
    Ok(Mesh { corners: Some((corners, begins)), ..Mesh::new(cells, faces) })
}
