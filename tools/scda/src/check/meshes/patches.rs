//! Meshes of patches (docs/patches.md).

use super::checksum::expect_mesh;
use super::column::Datasets;
use super::steps::{MeshSteps, expect_rows};
use super::{Checked, MeshGroup, Stop, hold, wrong};
use scda::DataType;
use scda_base::numbers::to_usize;
use scda_meshes::MeshError;
use scda_meshes::names::{DIMENSION, PATCH_PARTS, PATCHES, TIME};
use scda_meshes::patches::{Frame, PatchChecker};
use std::collections::BTreeMap;

/// Whether patches have cells in common is looked for by no more comparisons.
const MOST_COMPARISONS: u64 = 100_000_000;

/// The most patches of a mesh: those of a level are kept.
const MOST_PATCHES: u64 = 1 << 22;

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
    for parts in mesh.together(PATCH_PARTS)? {
        meshes.insert(parts[0], patches(datasets, dimension, parts)?);
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

/// The frame of a mesh.
fn frame(datasets: &mut Datasets<'_>, dimension: u64, [ratio, domain, geometry]: [u64; 3]) -> Checked<Frame> {
    let d = Some(dimension);
    let mut ratios = datasets.typed(ratio, DataType::Int32, &[None, d])?;
    datasets.bound(&ratios)?;
    let mut domains = datasets.typed(domain, DataType::Int64, &[Some(2), d])?;
    let mut sizes =
        datasets.expect(geometry, |found| found == DataType::Float64, "float64", &[Some(2), d])?;
    let mut frame = Frame { dimension: to_usize(dimension), ..Frame::default() };
    for _ in 0..ratios.rows() * dimension {
        // Of the type that was compared.
        frame.ratio.push(i32::try_from(ratios.next(datasets)?).unwrap_or(0));
    }
    for _ in 0..2 * dimension {
        frame.domain.push(domains.next(datasets)?);
        frame.geometry.push(f64::from_bits(sizes.next(datasets)?.cast_unsigned()));
    }
    Ok(frame)
}

/// Checks the datasets of a mesh, and returns the number of cells and the checksum.
fn patches(datasets: &mut Datasets<'_>, dimension: u64, parts: [u64; 5]) -> Checked<(u64, u64)> {
    let section = |part: &str| parts[PATCH_PARTS.iter().position(|name| *name == part).unwrap_or(0)];
    let [boxes, levels, ratio, domain, geometry] = parts;
    let (axes, d) = (to_usize(dimension), Some(dimension));
    let frame = frame(datasets, dimension, [ratio, domain, geometry])?;
    frame.check().or_else(|MeshError { part, words }| wrong(section(part), words))?;
    let mut numbers = datasets.typed(boxes, DataType::Int64, &[None, Some(2), d])?;
    let count = numbers.rows();
    let mut level = datasets.typed(levels, DataType::Int32, &[Some(count)])?;
    datasets.bound(&numbers)?;
    datasets.bound(&level)?;
    if count > MOST_PATCHES {
        let words = format!("mesh not checked: found {count} patches, more than {MOST_PATCHES}");
        return Err(Stop::TooLarge(boxes, words));
    }
    let mut checked = PatchChecker::new(&frame, 0);
    let (mut same_level, mut last) = (Vec::new(), 0);
    let (mut comparisons, mut one) = (0, vec![0; 2 * axes]);
    for patch in 0..count {
        let on = level.next(datasets)?;
        for n in &mut one {
            *n = numbers.next(datasets)?;
        }
        // Of the type that was compared.
        let added = checked.add(i32::try_from(on).unwrap_or(-1), &one);
        added.or_else(|MeshError { part, words }| wrong(section(part), words))?;
        if on > last {
            apart(&mut same_level, boxes, last, &mut comparisons)?;
            last = on;
        }
        let mut cells: CellBox = [(0, 1); 3];
        for (axis, place) in cells.iter_mut().take(axes).enumerate() {
            *place = (one[axis], one[axis] + one[axes + axis]);
        }
        same_level.push((cells, patch));
    }
    apart(&mut same_level, boxes, last, &mut comparisons)?;
    hold(boxes, checked.end())?;
    expect_mesh(Some(&numbers), boxes, checked.checksum.0, "that it begins")?;
    Ok((checked.cells, checked.checksum.0))
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
