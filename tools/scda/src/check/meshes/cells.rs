//! Meshes of points and cells (docs/cells.md).

use super::column::Datasets;
use super::steps::{MeshSteps, expect_rows};
use super::{Checked, MeshGroup, hold, last, wrong};
use scda::DataType;
use scda_meshes::MeshError;
use scda_meshes::cells::{CellChecker, check_point};
use scda_meshes::names::{CELL_PARTS, CELLS, TIME};

/// Whether a dataset of this name is a part of the mesh.
pub fn has(name: &str) -> bool {
    name == TIME
        || CELL_PARTS.contains(&name)
        || name.starts_with("point_fields/")
        || name.starts_with("cell_fields/")
}

/// Checks a mesh of this convention.
pub fn check(mesh: &MeshGroup, datasets: &mut Datasets<'_>) -> Checked {
    if mesh.version(CELLS, 1)?.is_none() {
        return Ok(());
    }
    let steps = MeshSteps::new(mesh, datasets)?;
    let (mut begins, mut counts) = (Vec::new(), Vec::new());
    for parts in mesh.together(CELL_PARTS)? {
        begins.push(parts[0]);
        counts.push(sizes(datasets, parts)?);
    }
    let (mut points, mut cells) = (Vec::new(), Vec::new());
    for (step, begin, end) in steps.iter() {
        if last(&begins, 0, end).is_none() {
            return wrong(begin.max(mesh.number), format!("there is no mesh up to the end of step {step}"));
        }
        let record = begins.partition_point(|&number| number < end) - 1;
        points.push(counts[record].0);
        cells.push(counts[record].1);
    }
    steps.fields(mesh, "point_fields/", &points, |_, number, rows| {
        expect_rows(datasets, number, rows, "point").map(drop)
    })?;
    steps.fields(mesh, "cell_fields/", &cells, |_, number, rows| {
        expect_rows(datasets, number, rows, "cell").map(drop)
    })
}

/// Checks the datasets of a mesh, and returns the number of points and that of cells.
fn sizes(datasets: &mut Datasets<'_>, parts: [u64; 4]) -> Checked<(u64, u64)> {
    let [points, corners, offsets, types] = parts;
    let is_real = |found| [DataType::Float32, DataType::Float64].contains(&found);
    let points = datasets.expect(points, is_real, "float32 or float64", &[None, Some(3)])?.rows();
    let mut shape = datasets.typed(types, DataType::Uint8, &[None])?;
    let cells = shape.rows();
    let mut offset = datasets.typed(offsets, DataType::Int64, &[cells.checked_add(1)])?;
    let mut corner = datasets.typed(corners, DataType::Int64, &[None])?;
    // There are as many types.
    datasets.bound(&offset)?;
    let section = |part: &str| parts[CELL_PARTS.iter().position(|name| *name == part).unwrap_or(0)];
    let begin = offset.next(datasets)?;
    let checked = CellChecker::new(0, begin, corner.rows());
    let mut checked = hold(offsets, checked)?;
    for _ in 0..cells {
        let (shape, end) = (shape.next(datasets)?, offset.next(datasets)?);
        // Of the type that was compared.
        let added = checked.add(u8::try_from(shape).unwrap_or(u8::MAX), end);
        added.or_else(|MeshError { part, words }| wrong(section(part), words))?;
    }
    hold(offsets, checked.end())?;
    datasets.bound(&corner)?;
    for at in 0..corner.rows() {
        let found = corner.next(datasets)?;
        hold(corners, check_point(at, found, points))?;
    }
    Ok((points, cells))
}
