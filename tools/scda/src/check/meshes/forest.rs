//! Forests of trees (docs/forest.md), including those of any shapes (docs/t8code.md).

use super::column::{Column, Datasets, Parts};
use super::steps::{MeshSteps, belongs, expect_rows};
use super::{MeshGroup, MeshResult, section_of, wrong};
use scda_format::meshes::parts::{
    DATA, ELEMENT, FOREST, PARTITION, QUADRANT, SHAPED, TREE_SHAPE, TREE_TO_TREE,
};
use scda_format::meshes::{Convention, DIMENSION};
use scda_meshes::forest::check::{self, Mesh};
use scda_meshes::forest::connectivity;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Checks a forest according to this convention.
pub fn check(mesh: &MeshGroup, datasets: &mut Datasets) -> MeshResult {
    let Some(version) = mesh.version(Convention::Forest)? else { return Ok(()) };
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
    steps.fields(mesh, DATA.name, |_, number, step| {
        let Mesh { quadrants, checksum, .. } = of_steps[step];
        let data = datasets.expect(number, &DATA, dimension, Some(quadrants))?;
        belongs(Some(&data), number, step, checksum)
    })?;
    steps.fields(mesh, "fields/", |name, number, step| {
        let Mesh { quadrants, checksum, .. } = of_steps[step];
        if let Some(counts) = mesh.last(&format!("{name}:count"), steps.range(step)) {
            belongs(datasets.open(number)?.as_ref(), number, step, checksum)?;
            return ragged(datasets, number, counts, quadrants);
        }
        let element = if version == 2 { ELEMENT } else { QUADRANT };
        let field = expect_rows(datasets, number, quadrants, element)?;
        belongs(field.as_ref(), number, step, checksum)?;
        if version == 2 { Ok(()) } else { at_corners(field, number, dimension) }
    })
}

/// The connectivities of a forest in order, each with its first section.
fn connectivities(mesh: &MeshGroup) -> impl Iterator<Item = (u64, u64)> {
    let first = mesh.all(TREE_TO_TREE.name);
    let ends = first.iter().skip(1).copied().chain([u64::MAX]);
    first.iter().copied().zip(ends)
}

/// Checks the meshes and connectivities of a forest of squares or cubes, and returns the mesh of each step.
fn of_quadrants(
    mesh: &MeshGroup,
    datasets: &mut Datasets,
    dimension: usize,
    steps: &MeshSteps,
) -> MeshResult<Vec<Mesh>> {
    let mut sizes = BTreeMap::new();
    for parts in mesh.together(FOREST)? {
        let section = |part: &str| section_of(&FOREST, &parts, part);
        let mut source = Parts { datasets, section: &section, first: parts[0] };
        sizes.insert(parts[0], check::mesh(&mut source, dimension, false)?);
    }
    for &number in mesh.all(PARTITION.name) {
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
        let section = |part: &str| mesh.last(part, first..end);
        let mut source = Parts { datasets, section: &section, first };
        trees.insert(first, connectivity::read(&mut source, dimension, most_trees)?.trees);
    }
    let mut all = Vec::new();
    for (step, _) in steps.iter() {
        let (number, &found) = steps.last(step, mesh, &sizes, "there is no mesh")?;
        let (_, expected) = steps.last(step, mesh, &trees, "there is no connectivity")?;
        if found.trees != *expected {
            let trees = found.trees;
            let words =
                format!("found {trees} trees, expected {expected} as in the connectivity of step {step}");
            return wrong(number, words);
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
    let meshes: BTreeMap<_, _> = mesh.together(SHAPED)?.into_iter().map(|parts| (parts[0], parts)).collect();
    let mut trees = BTreeMap::new();
    for (first, end) in connectivities(mesh) {
        let section = |part: &str| mesh.last(part, first..end);
        let count = check::trees(&mut Parts { datasets, section: &section, first }, dimension)?;
        trees.insert(first, (count, section(TREE_SHAPE.name)));
    }
    let mut checked = BTreeMap::new();
    let mut all = Vec::new();
    for (step, _) in steps.iter() {
        let (number, parts) = steps.last(step, mesh, &meshes, "there is no mesh")?;
        let (of_trees, (count, shapes)) = steps.last(step, mesh, &trees, "there are no trees")?;
        let found = match checked.entry((number, of_trees)) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let section = |part: &str| section_of(&SHAPED, parts, part).or(*shapes);
                let mut source = Parts { datasets, section: &section, first: number };
                *entry.insert(check::mesh(&mut source, dimension, true)?)
            }
        };
        if found.trees != *count {
            let words = format!("found {} trees, expected {count}, as in step {step}", found.trees);
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
