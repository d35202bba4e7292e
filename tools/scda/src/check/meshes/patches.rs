//! Meshes of patches (docs/patches.md).

use super::column::{Datasets, Parts};
use super::steps::{MeshSteps, belongs, expect_rows};
use super::{MeshGroup, MeshResult, Stop, section_of, wrong};
use scda_base::numbers::to_usize;
use scda_format::meshes::checksum::Checksum;
use scda_format::meshes::parts::PATCHES;
use scda_format::meshes::{Convention, DIMENSION};
use scda_meshes::patches::read_each;
use std::collections::BTreeMap;

/// The most comparisons with which the check looks for patches that share cells.
const MOST_COMPARISONS: u64 = 100_000_000;

/// The most patches of a mesh, because those of a level are kept in memory.
const MOST_PATCHES: u64 = 1 << 22;

/// A box of cells: the first cell and the end on each axis; 0 and 1 on axes that the mesh does not have.
type CellBox = [(i64, i64); 3];

/// Checks a mesh according to this convention.
pub fn check(mesh: &MeshGroup, datasets: &mut Datasets) -> MeshResult {
    if mesh.version(Convention::Patches)?.is_none() {
        return Ok(());
    }
    let dimension = match mesh.whole_number(DIMENSION) {
        Some(d @ 1..=3) => to_usize(d),
        _ => return mesh.wrong_attribute(DIMENSION, "1, 2 or 3"),
    };
    let steps = MeshSteps::new(mesh, datasets)?;
    let mut meshes = BTreeMap::new();
    for parts in mesh.together(PATCHES)? {
        meshes.insert(parts[0], patches(datasets, dimension, parts)?);
    }
    let mut of_steps = Vec::new();
    for (step, _) in steps.iter() {
        of_steps.push(*steps.last(step, mesh, &meshes, "there is no mesh")?.1);
    }
    steps.fields(mesh, "fields/", |_, number, step| {
        let (cells, checksum) = of_steps[step];
        let field = expect_rows(datasets, number, cells, "cell")?;
        belongs(field.as_ref(), number, step, checksum)
    })
}

/// Checks the datasets of a mesh, and returns the number of cells and the checksum.
fn patches(datasets: &mut Datasets, dimension: usize, parts: [u64; 5]) -> MeshResult<(u64, Checksum)> {
    let boxes = parts[0];
    let count = datasets.open(boxes)?.map_or(0, |boxes| boxes.rows());
    let mut source = Parts { datasets, section: &|part| section_of(&PATCHES, &parts, part), first: boxes };
    let (mut same_level, mut last, mut comparisons, mut numbers) = (Vec::new(), 0, 0, 0_u64..);
    let found = read_each(&mut source, dimension, |level, cells, _| {
        if count > MOST_PATCHES {
            let words = format!("mesh not checked: found {count} patches, more than {MOST_PATCHES}");
            return Err(Stop::TooLarge(boxes, words));
        }
        if level > last {
            apart(&mut same_level, boxes, last, &mut comparisons)?;
            last = level;
        }
        let (first, n) = cells.split_at(dimension);
        let mut place: CellBox = [(0, 1); 3];
        for ((place, first), n) in place.iter_mut().zip(first).zip(n) {
            *place = (*first, first + n);
        }
        same_level.extend(numbers.next().map(|patch| (place, patch)));
        Ok(())
    })?;
    apart(&mut same_level, boxes, last, &mut comparisons)?;
    Ok((found.cells, found.checksum))
}

/// Requires that patches of a level have no cell in common. Empties the list.
fn apart(patches: &mut Vec<(CellBox, u64)>, boxes: u64, level: i32, comparisons: &mut u64) -> MeshResult {
    patches.sort_unstable();
    for (at, (one, number)) in patches.iter().enumerate() {
        for (other, second) in patches[at + 1..].iter().take_while(|(other, _)| other[0].0 < one[0].1) {
            *comparisons += 1;
            if *comparisons > MOST_COMPARISONS {
                let words = "mesh not checked: too many patches of a level lie side by side".to_owned();
                return Err(Stop::TooLarge(boxes, words));
            }
            if one.iter().zip(other).all(|(a, b)| a.0 < b.1 && b.0 < a.1) {
                let (first, second) = (number.min(second), number.max(second));
                return wrong(
                    boxes,
                    format!("found patches {first} and {second} of level {level} with cells in common"),
                );
            }
        }
    }
    patches.clear();
    Ok(())
}
