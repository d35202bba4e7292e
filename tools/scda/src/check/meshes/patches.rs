//! Meshes of patches (docs/patches.md).

use super::checksum::{DIMENSION, expect_mesh, term};
use super::column::Datasets;
use super::steps::{MeshSteps, expect_rows};
use super::{Checked, MeshGroup, Stop, wrong};
use crate::conventions::{PATCH_PARTS, PATCHES, TIME};
use scda::DataType;
use scda_base::numbers::to_usize;
use std::collections::BTreeMap;

/// Whether patches have cells in common is looked for by no more comparisons.
const MOST_COMPARISONS: u64 = 100_000_000;

/// The most patches of a mesh: those of a level are kept.
const MOST_PATCHES: u64 = 1 << 22;

/// Whether a dataset of this name is a part of the mesh.
pub fn has(name: &str) -> bool {
    name == TIME || PATCH_PARTS.contains(&name) || name.starts_with("fields/")
}

/// A mesh that was checked.
#[derive(Clone, Copy)]
struct Patches {
    cells: u64,
    checksum: u64,
}

/// A box of cells: the first one and the one behind the last one, on each axis; of axes that the mesh lacks 0 and 1.
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
    for parts in mesh.together(PATCH_PARTS)? {
        meshes.insert(parts[0], patches(datasets, dimension, parts)?);
    }
    let (mut rows, mut checksums) = (Vec::new(), Vec::new());
    for (step, begin, end) in steps.iter() {
        let Some((_, of_step)) = meshes.range(..end).next_back() else {
            return wrong(begin.max(mesh.number), format!("there is no mesh up to the end of step {step}"));
        };
        rows.push(of_step.cells);
        checksums.push(of_step.checksum);
    }
    steps.fields(mesh, "fields/", &rows, |_, number, rows| {
        let field = expect_rows(datasets, number, rows, "cell")?;
        match steps.of(number) {
            Some(step) => expect_mesh(field.as_ref(), number, checksums[step], &format!("of step {step}")),
            None => Ok(()),
        }
    })
}

/// The domain in cells of each level, as long as these numbers have 63 bits.
fn domains(
    datasets: &mut Datasets<'_>,
    dimension: u64,
    domain: u64,
    ratios: u64,
) -> Checked<Vec<Option<CellBox>>> {
    let (axes, d) = (to_usize(dimension), Some(dimension));
    let mut corner = datasets.typed(domain, DataType::Int64, &[Some(2), d])?;
    let mut whole: CellBox = [(0, 1); 3];
    for axis in whole.iter_mut().take(axes) {
        axis.0 = corner.next(datasets)?;
    }
    for (axis, place) in whole.iter_mut().take(axes).enumerate() {
        let count = corner.next(datasets)?;
        match place.0.checked_add(count).filter(|_| count > 0) {
            Some(end) => place.1 = end,
            None => return wrong(domain, format!("axis {axis}: found {count} cells from {}", place.0)),
        }
    }
    let mut ratio = datasets.typed(ratios, DataType::Int32, &[None, d])?;
    datasets.bound(&ratio)?;
    let mut domains: Vec<Option<CellBox>> = Vec::new();
    for level in 0..ratio.rows() {
        let mut cells = if level == 0 { Some(whole) } else { domains.last().copied().flatten() };
        for axis in 0..axes {
            let found = ratio.next(datasets)?;
            if found < 1 || (level == 0 && found != 1) {
                return wrong(
                    ratios,
                    format!("level {level}: found {found}, expected a positive number; 1 of level 0"),
                );
            }
            cells = cells.and_then(|mut cells| {
                let (first, end) = cells[axis];
                cells[axis] = (first.checked_mul(found)?, end.checked_mul(found)?);
                Some(cells)
            });
        }
        domains.push(cells);
    }
    Ok(domains)
}

/// Checks the datasets of a mesh.
fn patches(
    datasets: &mut Datasets<'_>,
    dimension: u64,
    [boxes, levels, ratios, domain, geometry]: [u64; 5],
) -> Checked<Patches> {
    let (axes, d) = (to_usize(dimension), Some(dimension));
    datasets.typed(geometry, DataType::Float64, &[Some(2), d])?;
    let domains = domains(datasets, dimension, domain, ratios)?;
    let mut numbers = datasets.typed(boxes, DataType::Int64, &[None, Some(2), d])?;
    let count = numbers.rows();
    let mut level = datasets.typed(levels, DataType::Int32, &[Some(count)])?;
    if count == 0 {
        return wrong(boxes, "there is no patch");
    }
    datasets.bound(&numbers)?;
    datasets.bound(&level)?;
    if count > MOST_PATCHES {
        let words = format!("mesh not checked: found {count} patches, more than {MOST_PATCHES}");
        return Err(Stop::TooLarge(boxes, words));
    }
    let mut found = Patches { cells: 0, checksum: 0 };
    let (mut same_level, mut last) = (Vec::new(), 0);
    let mut comparisons = 0;
    for patch in 0..count {
        let on = level.next(datasets)?;
        let inside = usize::try_from(on).ok().and_then(|on| domains.get(on).copied());
        let (Some(inside), true) = (inside, on >= last) else {
            return wrong(
                levels,
                format!("patch {patch}: found level {on}, expected {last} to {}", domains.len() - 1),
            );
        };
        if on > last {
            apart(&mut same_level, boxes, last, &mut comparisons)?;
            last = on;
        }
        let mut checksum = term(patch, 0, on.cast_unsigned());
        let mut cells: CellBox = [(0, 1); 3];
        for axis in cells.iter_mut().take(axes) {
            axis.0 = numbers.next(datasets)?;
            checksum = term(checksum, 0, axis.0.cast_unsigned());
        }
        let mut all = Some(1_u64);
        for (axis, place) in cells.iter_mut().take(axes).enumerate() {
            let n = numbers.next(datasets)?;
            checksum = term(checksum, 0, n.cast_unsigned());
            let end = place.0.checked_add(n).filter(|_| n > 0);
            let inside = inside.map(|inside| inside[axis]);
            match end.zip(inside) {
                Some((end, (first, behind))) if place.0 >= first && end <= behind => place.1 = end,
                _ => {
                    let words = format!("patch {patch}: found {n} cells from {} on axis {axis}", place.0);
                    return wrong(boxes, format!("{words}, expected cells in the domain"));
                }
            }
            all = all.and_then(|all| all.checked_mul(n.unsigned_abs()));
        }
        let Some(sum) = all.and_then(|all| found.cells.checked_add(all)) else {
            return wrong(boxes, format!("patch {patch}: found more cells than a dataset may have"));
        };
        found.cells = sum;
        found.checksum = found.checksum.wrapping_add(checksum);
        same_level.push((cells, patch));
    }
    apart(&mut same_level, boxes, last, &mut comparisons)?;
    expect_mesh(Some(&numbers), boxes, found.checksum, "that it begins")?;
    Ok(found)
}

/// Requires that patches of a level, which are taken, have no cell in common.
fn apart(patches: &mut Vec<(CellBox, u64)>, boxes: u64, level: i64, comparisons: &mut u64) -> Checked {
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
