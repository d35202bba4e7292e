//! Forests of trees (docs/forest.md), including those of any shapes (docs/t8code.md).

use super::column::{Column, Datasets, Parts};
use super::steps::{MeshSteps, expect_rows};
use super::{MeshGroup, MeshResult, section_of, wrong};
use scda::DataType;
use scda_meshes::forest::check::{self, Mesh};
use scda_meshes::forest::read::connectivity;
use scda_meshes::names::{
    CONNECTIVITY_PARTS, DATA, DIMENSION, FOREST, FOREST_PARTS, PARTITION, SHAPED_PARTS, SHAPED_TREE_PARTS,
    TIME,
};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// True if a dataset with this name is a part of a forest.
pub fn has(name: &str) -> bool {
    let parts: [&[_]; 4] = [&[TIME, PARTITION, DATA], &SHAPED_PARTS, &CONNECTIVITY_PARTS, &SHAPED_TREE_PARTS];
    parts.iter().any(|parts| parts.contains(&name)) || name.starts_with("fields/")
}

/// Checks a forest according to this convention.
pub fn check(mesh: &MeshGroup, datasets: &mut Datasets) -> MeshResult {
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
    steps.fields(mesh, "data", &rows, |_, number, rows| {
        let is_raw = |found| matches!(found, DataType::Raw(_));
        let data = datasets.expect(number, is_raw, "bytes (r8, r16, ...)", &[Some(rows)])?;
        steps.belongs(Some(&data), number, &checksums)
    })?;
    steps.fields(mesh, "fields/", &rows, |name, number, rows| {
        let (begin, end) = steps.range(number);
        match mesh.last(&format!("{name}:count"), begin, end) {
            Some(counts) => {
                steps.belongs(datasets.open(number)?.as_ref(), number, &checksums)?;
                ragged(datasets, number, counts, rows)
            }
            None => {
                let field =
                    expect_rows(datasets, number, rows, if version == 2 { "element" } else { "quadrant" })?;
                steps.belongs(field.as_ref(), number, &checksums)?;
                if version == 2 { Ok(()) } else { at_corners(field, number, dimension) }
            }
        }
    })
}

/// The connectivities of a forest in order, each with its first section.
fn connectivities(mesh: &MeshGroup) -> impl Iterator<Item = (u64, u64)> {
    let first = mesh.all("tree_to_tree");
    let ends = first.iter().skip(1).copied().chain([u64::MAX]);
    first.iter().copied().zip(ends)
}

/// The last mesh or connectivity before the end of a step.
fn of_step<'a, T>(
    found: &'a BTreeMap<u64, T>,
    what: &str,
    mesh: &MeshGroup,
    (step, begin, end): (usize, u64, u64),
) -> MeshResult<(u64, &'a T)> {
    match found.range(..end).next_back() {
        Some((&number, found)) => Ok((number, found)),
        None => wrong(begin.max(mesh.number), format!("there is no {what} up to the end of step {step}")),
    }
}

/// Checks the meshes and connectivities of a forest of squares or cubes, and returns the mesh of each step.
fn of_quadrants(
    mesh: &MeshGroup,
    datasets: &mut Datasets,
    dimension: usize,
    steps: &MeshSteps,
) -> MeshResult<Vec<Mesh>> {
    let mut sizes = BTreeMap::new();
    for parts in mesh.together(FOREST_PARTS)? {
        let section = |part: &str| section_of(&FOREST_PARTS, &parts, part);
        let mut source = Parts { datasets, section: &section, first: parts[0] };
        sizes.insert(parts[0], check::mesh(&mut source, dimension, false)?);
    }
    for &number in mesh.all("partition") {
        match sizes.range(..number).next_back() {
            Some((_, mesh)) => {
                let mut source = Parts { datasets, section: &|_| Some(number), first: number };
                check::partition_of(&mut source, mesh.quadrants)?;
            }
            None => return wrong(number, "a partition before the first mesh"),
        }
    }
    // From a mesh that has been checked, so that damaged numbers cannot make the arrays of the connectivity huge.
    let most_trees = sizes.values().map(|mesh| mesh.trees).max().unwrap_or(0);
    let mut trees = BTreeMap::new();
    for (first, end) in connectivities(mesh) {
        let section = |part: &str| mesh.last(part, first, end);
        let mut source = Parts { datasets, section: &section, first };
        trees.insert(first, connectivity(&mut source, dimension, most_trees)?.trees);
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

/// The same for a forest of any shapes, in which the tree determines what an element can be.
fn of_any_shapes(
    mesh: &MeshGroup,
    datasets: &mut Datasets,
    dimension: usize,
    steps: &MeshSteps,
) -> MeshResult<Vec<Mesh>> {
    let meshes: BTreeMap<_, _> =
        mesh.together(SHAPED_PARTS)?.into_iter().map(|parts| (parts[0], parts)).collect();
    let mut trees = BTreeMap::new();
    for (first, end) in connectivities(mesh) {
        let section = |part: &str| mesh.last(part, first, end);
        let count = check::trees(&mut Parts { datasets, section: &section, first }, dimension)?;
        trees.insert(first, (count, section("tree_shape")));
    }
    let mut checked = BTreeMap::new();
    let mut all = Vec::new();
    for step in steps.iter() {
        let (number, parts) = of_step(&meshes, "mesh", mesh, step)?;
        let (of_trees, (count, shapes)) = of_step(&trees, "trees", mesh, step)?;
        let found = match checked.entry((number, of_trees)) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let section = |part: &str| section_of(&SHAPED_PARTS, parts, part).or(*shapes);
                let mut source = Parts { datasets, section: &section, first: number };
                *entry.insert(check::mesh(&mut source, dimension, true)?)
            }
        };
        if found.trees != *count {
            let words = format!("found {} trees, expected {count}, as in step {}", found.trees, step.0);
            return wrong(number, words);
        }
        all.push(found);
    }
    Ok(all)
}

/// Checks the number of values of a quadrant, if they are at its corners.
fn at_corners(field: Option<Column>, number: u64, dimension: usize) -> MeshResult {
    let expected = 1 << dimension;
    match field.and_then(|field| field.second("corner")) {
        Some(found) if found != expected => wrong(
            number,
            format!("dimension corner: found {found}, expected {expected}, the corners of a quadrant"),
        ),
        _ => Ok(()),
    }
}

/// Checks a field with a variable number of values for each quadrant, given by the counts.
fn ragged(datasets: &mut Datasets, number: u64, counts: u64, quadrants: u64) -> MeshResult {
    let Some(values) = datasets.open(number)? else { return Ok(()) };
    let mut source = Parts { datasets, section: &|_| Some(counts), first: counts };
    let sum = check::sum_of_counts(&mut source, quadrants)?;
    if values.shape.is_empty() || values.rows() != sum {
        let found = values.rows();
        return wrong(number, format!("found {found} values, expected {sum}, the sum of the counts"));
    }
    Ok(())
}
