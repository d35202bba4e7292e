//! Particles (docs/particles.md).

use super::column::{Datasets, Parts};
use super::steps::{MeshSteps, expect_rows};
use super::{MeshGroup, MeshResult, wrong};
use scda_format::meshes::checksum::MESH;
use scda_format::meshes::parts::{BOXES, CELL_TYPES, COORDINATES, LEVEL, OFFSETS, PATCH_LEVEL, TIME};
use scda_format::meshes::{Convention, OF_MESH, Part};
use scda_meshes::particles;
use std::collections::BTreeMap;

/// For each kind of mesh, the dataset with a row for each cell, and the one that may have the checksum of the mesh.
const CELLS_OF_MESHES: [(Part, Part); 3] =
    [(LEVEL, COORDINATES), (PATCH_LEVEL, BOXES), (CELL_TYPES, CELL_TYPES)];

/// Checks particles according to this convention, and that their cells are those of their mesh.
pub fn check(mesh: &MeshGroup, meshes: &BTreeMap<String, MeshGroup>, datasets: &mut Datasets) -> MeshResult {
    if mesh.version(Convention::Particles)?.is_none() {
        return Ok(());
    }
    let of = mesh.attributes.get(OF_MESH).map(|name| name.trim_matches('"'));
    let of = of.and_then(|name| meshes.get(name));
    let shared = of.filter(|of| mesh.all(TIME.name).is_empty() && !of.all(TIME.name).is_empty());
    let steps = MeshSteps::new(shared.unwrap_or(mesh), datasets)?;
    let mut counts = BTreeMap::new();
    for &number in mesh.all(OFFSETS.name) {
        let mut source = Parts { datasets, section: &|_| Some(number), first: number };
        let (cells, particles) = particles::check(&mut source)?;
        if let Some(of) = of {
            expect_cells(datasets, number, cells, of)?;
        }
        counts.insert(number, particles);
    }
    let mut rows = Vec::new();
    for (step, sections) in steps.iter() {
        // The first steps of a mesh may have no particles.
        let may_lack = shared.is_some() && counts.range(..sections.end).next().is_none();
        let particles =
            if may_lack { 0 } else { *steps.last(step, mesh, &counts, "there are no offsets")?.1 };
        rows.push(particles);
    }
    steps.fields(mesh, "fields/", |_, number, step| {
        expect_rows(datasets, number, rows[step], "particle").map(drop)
    })
}

/// Requires that the last mesh before some offsets has as many cells, and the same checksum if both have one.
fn expect_cells(datasets: &mut Datasets, number: u64, cells: u64, of: &MeshGroup) -> MeshResult {
    for (part, named) in CELLS_OF_MESHES {
        let [Some(part), Some(named)] = [part, named].map(|part| of.last(part.name, 0..number)) else {
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
