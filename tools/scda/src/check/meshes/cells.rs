//! Meshes of points and cells (docs/cells.md).

use super::column::Datasets;
use super::steps::{MeshSteps, expect_rows};
use super::{Checked, MeshGroup, last, wrong};
use scda::DataType;
use scda_meshes::names::{CELL_PARTS, CELLS, TIME};

/// Whether a dataset of this name is a part of the mesh.
pub fn has(name: &str) -> bool {
    name == TIME
        || CELL_PARTS.contains(&name)
        || name.starts_with("point_fields/")
        || name.starts_with("cell_fields/")
}

/// How many points a cell of a shape of VTK has.
enum PointCount {
    Of(u64),
    /// Chains, strips, polygons, sets of points, and shapes of Lagrange and Bézier.
    Any,
    /// No shape that its points describe.
    None,
}

fn points_of(shape: i64) -> PointCount {
    PointCount::Of(match shape {
        0 => 0,
        1 => 1,
        3 => 2,
        5 | 21 => 3,
        8..=10 | 35 => 4,
        14 => 5,
        13 | 22 | 30 => 6,
        34 => 7,
        11 | 12 | 23 => 8,
        28 => 9,
        15 | 24 => 10,
        16 | 31 => 12,
        27 => 13,
        26 => 15,
        32 => 18,
        37 => 19,
        25 => 20,
        33 => 24,
        29 => 27,
        2 | 4 | 6 | 7 | 36 | 41 | 68..=81 => return PointCount::Any,
        _ => return PointCount::None,
    })
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
    let all = i64::try_from(corner.rows()).unwrap_or(i64::MAX);
    // There are as many types.
    datasets.bound(&offset)?;

    let mut begin = offset.next(datasets)?;
    if begin != 0 {
        return wrong(offsets, format!("number 0: found {begin}, expected 0"));
    }
    for cell in 0..cells {
        let (shape, end) = (shape.next(datasets)?, offset.next(datasets)?);
        if end < begin || end > all {
            let number = cell + 1;
            return wrong(offsets, format!("number {number}: found {end}, expected {begin} to {all}"));
        }
        let found = (end - begin).unsigned_abs();
        match points_of(shape) {
            PointCount::Of(expected) if found != expected => {
                return wrong(
                    offsets,
                    format!(
                        "cell {cell}: found {found} points, expected {expected}, as cells of type {shape} have"
                    ),
                );
            }
            PointCount::None => {
                return wrong(
                    types,
                    format!(
                        "cell {cell}: found type {shape}, expected a shape of VTK that its points describe"
                    ),
                );
            }
            PointCount::Of(_) | PointCount::Any => {}
        }
        begin = end;
    }
    if begin != all {
        return wrong(
            offsets,
            format!("number {cells}: found {begin}, expected {all}, the end of cell_points"),
        );
    }
    datasets.bound(&corner)?;
    for at in 0..all {
        let found = corner.next(datasets)?;
        if u64::try_from(found).is_ok_and(|found| found < points) {
            continue;
        }
        return wrong(
            corners,
            format!("number {at}: found {found}, expected a point from 0 on, before {points}"),
        );
    }
    Ok((points, cells))
}
