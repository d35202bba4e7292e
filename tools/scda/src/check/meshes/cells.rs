//! Meshes of points and cells (docs/cells.md).

use super::column::{Datasets, Parts};
use super::steps::{MeshSteps, expect_rows};
use super::{MeshGroup, MeshResult, last, section_of, wrong};
use scda_meshes::cells;
use scda_meshes::names::{CELL_PARTS, CELLS, TIME};

/// True if a dataset with this name is a part of the mesh.
pub fn has(name: &str) -> bool {
    name == TIME
        || CELL_PARTS.contains(&name)
        || name.starts_with("point_fields/")
        || name.starts_with("cell_fields/")
}

/// Checks a mesh according to this convention.
pub fn check(mesh: &MeshGroup, datasets: &mut Datasets) -> MeshResult {
    if mesh.version(CELLS, 1)?.is_none() {
        return Ok(());
    }
    let steps = MeshSteps::new(mesh, datasets)?;
    let (mut begins, mut counts) = (Vec::new(), Vec::new());
    for parts in mesh.together(CELL_PARTS)? {
        begins.push(parts[0]);
        let section = |part: &str| section_of(&CELL_PARTS, &parts, part);
        counts.push(cells::check(&mut Parts { datasets, section: &section, first: parts[0] })?);
    }
    let (mut of_points, mut of_cells) = (Vec::new(), Vec::new());
    for (step, begin, end) in steps.iter() {
        if last(&begins, 0, end).is_none() {
            return wrong(begin.max(mesh.number), format!("there is no mesh up to the end of step {step}"));
        }
        let record = begins.partition_point(|&number| number < end) - 1;
        of_points.push(counts[record].0);
        of_cells.push(counts[record].1);
    }
    steps.fields(mesh, "point_fields/", &of_points, |_, number, rows| {
        expect_rows(datasets, number, rows, "point").map(drop)
    })?;
    steps.fields(mesh, "cell_fields/", &of_cells, |_, number, rows| {
        expect_rows(datasets, number, rows, "cell").map(drop)
    })
}
