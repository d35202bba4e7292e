//! Particles (docs/particles.md).

use super::column::{Datasets, Parts};
use super::steps::{MeshSteps, expect_rows};
use super::{MeshGroup, MeshResult, wrong};
use scda_meshes::checksum::MESH;
use scda_meshes::names::{OF_MESH, OFFSETS, PARTICLES, TIME};
use scda_meshes::particles;
use std::collections::BTreeMap;

/// For each kind of mesh, the dataset with a row for each cell, and the one that may have the checksum of the mesh.
const CELLS_OF_MESHES: [(&str, &str); 3] =
    [("level", "coordinates"), ("level", "boxes"), ("cell_types", "cell_types")];

/// True if a dataset with this name is a part of the group.
pub fn has(name: &str) -> bool {
    name == TIME || name == OFFSETS || name.starts_with("fields/")
}

/// Checks particles according to this convention, and that their cells are those of their mesh.
pub fn check(mesh: &MeshGroup, meshes: &BTreeMap<String, MeshGroup>, datasets: &mut Datasets) -> MeshResult {
    if mesh.version(PARTICLES, 1)?.is_none() {
        return Ok(());
    }
    let of = mesh.attributes.get(OF_MESH).map(|name| name.trim_matches('"'));
    let of = of.and_then(|name| meshes.get(name));
    let shared = of.filter(|of| mesh.all(TIME).is_empty() && !of.all(TIME).is_empty());
    let steps = MeshSteps::new(shared.unwrap_or(mesh), datasets)?;
    let mut counts = BTreeMap::new();
    for &number in mesh.all(OFFSETS) {
        let mut source = Parts { datasets, section: &|_| Some(number), first: number };
        let (cells, particles) = particles::check(&mut source)?;
        if let Some(of) = of {
            expect_cells(datasets, number, cells, of)?;
        }
        counts.insert(number, particles);
    }
    let mut rows = Vec::new();
    for (step, begin, end) in steps.iter() {
        match counts.range(..end).next_back() {
            Some((_, &particles)) => rows.push(particles),
            // The first steps of a mesh may have no particles.
            None if shared.is_some() => rows.push(0),
            None => {
                let words = format!("there are no offsets up to the end of step {step}");
                return wrong(begin.max(mesh.number), words);
            }
        }
    }
    steps.fields(mesh, "fields/", &rows, |_, number, rows| {
        expect_rows(datasets, number, rows, "particle").map(drop)
    })
}

/// Requires that the last mesh before some offsets has as many cells, and the same checksum if both have one.
fn expect_cells(datasets: &mut Datasets, number: u64, cells: u64, of: &MeshGroup) -> MeshResult {
    for (part, named) in CELLS_OF_MESHES {
        let (Some(part), Some(named)) = (of.last(part, 0, number), of.last(named, 0, number)) else {
            continue;
        };
        let rows = datasets.open(part)?.map_or(cells, |column| column.rows());
        if rows != cells {
            return wrong(number, format!("found {cells} cells, expected {rows}, as the mesh before has"));
        }
        let expected = datasets.open(named)?.and_then(|column| column.attribute(MESH));
        let found = datasets.open(number)?.and_then(|column| column.attribute(MESH));
        if let (Some(found), Some(expected)) = (found, expected)
            && found != expected
        {
            return wrong(number, format!("attribute {MESH}: found {found}, expected {expected}"));
        }
    }
    Ok(())
}
