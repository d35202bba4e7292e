//! Forests of trees (docs/forest.md), also of any shapes (docs/t8code.md).

use super::checksum::{Quadrants, expect_mesh};
use super::column::{Column, Datasets};
use super::connectivity::Connectivity;
use super::shapes;
use super::steps::{MeshSteps, expect_rows};
use super::{Checked, MeshGroup, hold, hold_at, wrong};
use scda::DataType;
use scda_meshes::checksum::term;
use scda_meshes::forest::rules::{self, MOST_RANKS, TreeCurve};
use scda_meshes::names::DIMENSION;
use scda_meshes::names::{DATA, FOREST, FOREST_PARTS, PARTITION, SHAPED_PARTS, TIME};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Whether a dataset of this name is a part of a forest.
pub fn has(name: &str) -> bool {
    FOREST_PARTS.contains(&name)
        || [TIME, PARTITION, DATA].contains(&name)
        || Connectivity::has(name)
        || shapes::has(name)
        || name.starts_with("fields/")
}

/// Checks a forest of this convention.
pub fn check(mesh: &MeshGroup, datasets: &mut Datasets<'_>) -> Checked {
    let Some(version) = mesh.version(FOREST, 2)? else { return Ok(()) };
    let dimension = match mesh.whole_number(DIMENSION) {
        Some(1) if version == 2 => 1,
        Some(2) => 2,
        Some(3) => 3,
        _ => return mesh.wrong_attribute(DIMENSION, if version == 2 { "1 to 3" } else { "2 or 3" }),
    };
    let steps = MeshSteps::new(mesh, datasets)?;
    let of_steps = if version == 2 {
        of_any_shapes(mesh, datasets, dimension, &steps)?
    } else {
        of_quadrants(mesh, datasets, dimension, &steps)?
    };
    let rows: Vec<_> = of_steps.iter().map(|mesh| mesh.quadrants).collect();
    let checksums: Vec<_> = of_steps.iter().map(|mesh| mesh.checksum).collect();
    let belongs = |column: Option<&Column>, number| match steps.of(number) {
        Some(step) => expect_mesh(column, number, checksums[step], &format!("of step {step}")),
        None => Ok(()),
    };
    steps.fields(mesh, "data", &rows, |_, number, rows| {
        let is_raw = |found| matches!(found, DataType::Raw(_));
        let data = datasets.expect(number, is_raw, "bytes (r8, r16, ...)", &[Some(rows)])?;
        belongs(Some(&data), number)
    })?;
    steps.fields(mesh, "fields/", &rows, |name, number, rows| {
        let (begin, end) = steps.range(number);
        match mesh.last(&format!("{name}:count"), begin, end) {
            Some(counts) => {
                belongs(datasets.open(number)?.as_ref(), number)?;
                ragged(datasets, number, counts, rows)
            }
            None => {
                let field =
                    expect_rows(datasets, number, rows, if version == 2 { "element" } else { "quadrant" })?;
                belongs(field.as_ref(), number)?;
                if version == 2 { Ok(()) } else { at_corners(field, number, dimension) }
            }
        }
    })
}

/// The connectivities of a forest, each from its first section on, in order.
fn connectivities(mesh: &MeshGroup) -> impl Iterator<Item = (u64, u64)> {
    let first = mesh.all("tree_to_tree");
    let ends = first.iter().skip(1).copied().chain([u64::MAX]);
    first.iter().copied().zip(ends)
}

/// The last of the meshes or connectivities before the end of a step.
fn of_step<'a, T>(
    found: &'a BTreeMap<u64, T>,
    what: &str,
    mesh: &MeshGroup,
    (step, begin, end): (usize, u64, u64),
) -> Checked<(u64, &'a T)> {
    match found.range(..end).next_back() {
        Some((&number, found)) => Ok((number, found)),
        None => wrong(begin.max(mesh.number), format!("there is no {what} up to the end of step {step}")),
    }
}

/// Checks the meshes and connectivities of a forest of squares or cubes, and returns the mesh of each step.
fn of_quadrants(
    mesh: &MeshGroup,
    datasets: &mut Datasets<'_>,
    dimension: usize,
    steps: &MeshSteps,
) -> Checked<Vec<Quadrants>> {
    let mut sizes = BTreeMap::new();
    for parts in mesh.together(["coordinates", "level", "tree_offsets"])? {
        sizes.insert(parts[0], quadrants(datasets, dimension, parts)?);
    }
    for &number in mesh.all("partition") {
        match sizes.range(..number).next_back() {
            Some((_, mesh)) => partition(datasets, number, mesh.quadrants)?,
            None => return wrong(number, "a partition before the first mesh"),
        }
    }
    // Of a mesh that was checked, so no damaged number makes the arrays of the connectivity endless.
    let most_trees = sizes.values().map(|mesh| mesh.trees).max().unwrap_or(0);
    let mut trees = BTreeMap::new();
    for (first, end) in connectivities(mesh) {
        let mut connectivity = Connectivity { mesh, datasets, dimension, first, end };
        trees.insert(first, connectivity.check(most_trees)?);
    }
    let mut all = Vec::new();
    for step in steps.iter() {
        let (number, &found) = of_step(&sizes, "mesh", mesh, step)?;
        let (_, in_connectivity) = of_step(&trees, "connectivity", mesh, step)?;
        if found.trees != *in_connectivity {
            return wrong(
                number,
                format!(
                    "found {} trees, expected {in_connectivity} as in the connectivity of step {}",
                    found.trees, step.0
                ),
            );
        }
        all.push(found);
    }
    Ok(all)
}

/// Likewise of a forest of any shapes: what an element can be depends on its tree.
fn of_any_shapes(
    mesh: &MeshGroup,
    datasets: &mut Datasets<'_>,
    dimension: usize,
    steps: &MeshSteps,
) -> Checked<Vec<Quadrants>> {
    let meshes: BTreeMap<_, _> =
        mesh.together(SHAPED_PARTS)?.into_iter().map(|parts| (parts[0], parts)).collect();
    let mut trees = BTreeMap::new();
    for (first, end) in connectivities(mesh) {
        let mut connectivity = Connectivity { mesh, datasets, dimension, first, end };
        trees.insert(first, connectivity.check_shapes()?);
    }
    let mut checked = BTreeMap::new();
    let mut all = Vec::new();
    for step in steps.iter() {
        let (number, parts) = of_step(&meshes, "mesh", mesh, step)?;
        let (of_trees, (count, shapes)) = of_step(&trees, "trees", mesh, step)?;
        let found = match checked.entry((number, of_trees)) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => *entry.insert(shapes::elements(datasets, dimension, *parts, *shapes)?),
        };
        if found.trees != *count {
            let words = format!("found {} trees, expected {count}, as in step {}", found.trees, step.0);
            return wrong(number, words);
        }
        all.push(found);
    }
    Ok(all)
}

/// Checks how many values a quadrant has, if they are at its corners.
fn at_corners(field: Option<Column>, number: u64, dimension: usize) -> Checked {
    let expected = 1 << dimension;
    match field.and_then(|field| field.second("corner")) {
        Some(found) if found != expected => wrong(
            number,
            format!("dimension corner: found {found}, expected {expected}, the corners of a quadrant"),
        ),
        _ => Ok(()),
    }
}

/// Checks the quadrants.
fn quadrants(
    datasets: &mut Datasets<'_>,
    dimension: usize,
    [coordinates, levels, offsets]: [u64; 3],
) -> Checked<Quadrants> {
    let mut corners = datasets.typed(coordinates, DataType::Int32, &[None, Some(dimension as u64)])?;
    let quadrants = corners.rows();
    let mut level = datasets.typed(levels, DataType::Uint8, &[Some(quadrants)])?;
    let mut offset = datasets.typed(offsets, DataType::Int64, &[None])?;
    let Some(trees @ 1..) = offset.rows().checked_sub(1) else {
        return wrong(offsets, format!("found {} numbers, expected at least 2", offset.rows()));
    };
    let mut begin = offset.next(datasets)?;
    hold(offsets, rules::check_tree_offset(0, 0, begin, quadrants, false))?;
    let mut corner = vec![0; dimension];
    let mut checksum = 0_u64;
    for tree in 0..trees {
        let end = offset.next(datasets)?;
        let is_last = tree + 1 == trees;
        hold(offsets, rules::check_tree_offset(tree + 1, begin, end, quadrants, is_last))?;
        let mut curve = TreeCurve::new(dimension);
        for quadrant in begin..end {
            for coordinate in &mut corner {
                // Of the type that was compared.
                *coordinate = i32::try_from(corners.next(datasets)?).unwrap_or(i32::MIN);
            }
            let level = u8::try_from(level.next(datasets)?).unwrap_or(u8::MAX);
            checksum = checksum.wrapping_add(term(quadrant.unsigned_abs(), tree, u64::from(level)));
            let added = curve
                .add(&corner, level)
                .map_err(|wrong| wrong.of("quadrant", quadrant.unsigned_abs(), tree));
            hold_at(|part| if part == "level" { levels } else { coordinates }, added)?;
        }
        hold(coordinates, curve.end(end.unsigned_abs() - 1, tree))?;
        begin = end;
    }
    expect_mesh(Some(&corners), coordinates, checksum, "that it begins")?;
    Ok(Quadrants { quadrants, trees, checksum })
}

/// Checks which rank had which quadrants.
fn partition(datasets: &mut Datasets<'_>, number: u64, quadrants: u64) -> Checked {
    let mut column = datasets.typed(number, DataType::Int64, &[None])?;
    let Some(ranks @ 1..=MOST_RANKS) = column.rows().checked_sub(1) else {
        return wrong(number, format!("found {} numbers, expected 2 to {}", column.rows(), MOST_RANKS + 1));
    };
    let mut before = 0;
    for rank in 0..=ranks {
        let found = column.next(datasets)?;
        hold(number, rules::check_partition(rank, ranks, before, found, quadrants))?;
        before = found;
    }
    Ok(())
}

/// Checks a field with as many values for each quadrant as the counts say.
fn ragged(datasets: &mut Datasets<'_>, number: u64, counts: u64, quadrants: u64) -> Checked {
    let Some(values) = datasets.open(number)? else { return Ok(()) };
    let mut column = datasets.typed(counts, DataType::Int64, &[Some(quadrants)])?;
    let mut sum = 0_u64;
    for quadrant in 0..quadrants {
        let count = column.next(datasets)?;
        let Some(more) = u64::try_from(count).ok().and_then(|count| sum.checked_add(count)) else {
            return wrong(counts, format!("quadrant {quadrant}: found {count} values"));
        };
        sum = more;
    }
    if values.shape().is_empty() || values.rows() != sum {
        return wrong(
            number,
            format!("found {} values, expected {sum}, the sum of the counts", values.rows()),
        );
    }
    Ok(())
}
