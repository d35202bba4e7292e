//! Meshes of patches (docs/patches.md).

use super::checksum::expect_mesh;
use super::column::Datasets;
use super::steps::{MeshSteps, expect_rows};
use super::{Checked, MeshGroup, Stop, wrong};
use scda_meshes::names::{DIMENSION, PATCH_PARTS, PATCHES, TIME};
use scda_meshes::patches::{Patches, read_record};
use std::collections::BTreeMap;

/// Whether patches have cells in common is looked for by no more comparisons.
const MOST_COMPARISONS: u64 = 100_000_000;

/// Whether a dataset of this name is a part of the mesh.
pub fn has(name: &str) -> bool {
    name == TIME || PATCH_PARTS.contains(&name) || name.starts_with("fields/")
}

/// A box of cells: the first one and the one after the last one, on each axis; of axes that the mesh lacks 0 and 1.
type CellBox = [(i64, i64); 3];

/// Checks a mesh of this convention.
pub fn check(mesh: &MeshGroup, datasets: &mut Datasets<'_>) -> Checked {
    if mesh.version(PATCHES, 1)?.is_none() {
        return Ok(());
    }
    let dimension = match mesh.whole_number(DIMENSION) {
        Some(d @ 1..=3) => d,
        _ => return mesh.wrong_attribute(DIMENSION, "1, 2 or 3"),
    };
    let steps = MeshSteps::new(mesh, datasets)?;
    let mut meshes = BTreeMap::new();
    for (record, parts) in (0..).zip(mesh.together(PATCH_PARTS)?) {
        let patches = read_record(&mut datasets.reader, &mesh.name, dimension, record)?;
        apart(&patches, parts[0])?;
        meshes.insert(parts[0], (patches.cells, patches.checksum.0));
    }
    let (mut rows, mut checksums) = (Vec::new(), Vec::new());
    for (step, begin, end) in steps.iter() {
        let Some((_, &(cells, checksum))) = meshes.range(..end).next_back() else {
            return wrong(begin.max(mesh.number), format!("there is no mesh up to the end of step {step}"));
        };
        rows.push(cells);
        checksums.push(checksum);
    }
    steps.fields(mesh, "fields/", &rows, |_, number, rows| {
        let field = expect_rows(datasets, number, rows, "cell")?;
        match steps.of(number) {
            Some(step) => expect_mesh(field.as_ref(), number, checksums[step], &format!("of step {step}")),
            None => Ok(()),
        }
    })
}

/// Requires that patches of a level have no cell in common.
fn apart(mesh: &Patches, boxes: u64) -> Checked {
    let axes = mesh.frame.dimension;
    let cells = |cells: &[i64]| -> CellBox {
        std::array::from_fn(|axis| {
            if axis < axes { (cells[axis], cells[axis] + cells[axes + axis]) } else { (0, 1) }
        })
    };
    let all = (0..).zip(mesh.boxes.chunks_exact(2 * axes)).zip(&mesh.level);
    let mut patches: Vec<(i32, CellBox, u64)> =
        all.map(|((number, found), &level)| (level, cells(found), number)).collect();
    patches.sort_unstable();
    let mut comparisons = 0;
    for (at, (level, one, number)) in patches.iter().enumerate() {
        let beside = |(on, other, _): &&(i32, CellBox, u64)| on == level && other[0].0 < one[0].1;
        for (_, other, second) in patches[at + 1..].iter().take_while(beside) {
            comparisons += 1;
            if comparisons > MOST_COMPARISONS {
                let words = "mesh not checked: too many patches of a level lie side by side".to_owned();
                return Err(Stop::TooLarge(boxes, words));
            }
            if one.iter().zip(other).all(|(a, b)| a.0 < b.1 && b.0 < a.1) {
                let (first, second) = (number.min(second), number.max(second));
                let words =
                    format!("found patches {first} and {second} of level {level} with cells in common");
                return wrong(boxes, words);
            }
        }
    }
    Ok(())
}
