//! Meshes of points and cells (docs/cells.md).

use super::column::{Datasets, Parts};
use super::steps::{MeshSteps, expect_rows};
use super::{MeshGroup, MeshResult, section_of};
use scda_format::meshes::Convention;
use scda_format::meshes::parts::CELLS;
use scda_meshes::cells;
use std::collections::BTreeMap;

/// Checks a mesh according to this convention.
pub fn check(mesh: &MeshGroup, datasets: &mut Datasets) -> MeshResult {
    if mesh.version(Convention::Cells)?.is_none() {
        return Ok(());
    }
    let steps = MeshSteps::new(mesh, datasets)?;
    let mut counts = BTreeMap::new();
    for parts in mesh.together(CELLS)? {
        let section = |part: &str| section_of(&CELLS, &parts, part);
        counts.insert(parts[0], cells::check(&mut Parts { datasets, section: &section, first: parts[0] })?);
    }
    let mut of_steps = Vec::new();
    for (step, _) in steps.iter() {
        of_steps.push(*steps.last(step, mesh, &counts, "there is no mesh")?.1);
    }
    steps.fields(mesh, "point_fields/", |_, number, step| {
        expect_rows(datasets, number, of_steps[step].0, "point").map(drop)
    })?;
    steps.fields(mesh, "cell_fields/", |_, number, step| {
        expect_rows(datasets, number, of_steps[step].1, "cell").map(drop)
    })
}
