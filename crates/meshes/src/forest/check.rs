//! Checks the mesh and the trees of a forest in bounded memory.

use super::connectivity::bounded;
use super::read::{open_mesh, partition};
use crate::read::{Numbers, Source, numbers, open, open_after, open_if};
use scda_base::numbers::to_usize;
use scda_format::meshes::MeshError;
use scda_format::meshes::attributes::expect_mesh;
use scda_format::meshes::checksum::{Checksum, term};
use scda_format::meshes::forest::{MOST_RANKS, TreeCurve, check_tree_offset};
use scda_format::meshes::parts::{
    COUNT, PARTITION, POSITION, TREE_SHAPE, TREE_TO_FACE, TREE_TO_TREE_64, TREE_VERTICES, TYPE,
};
use scda_format::meshes::shapes::{Element, TreeShape};

/// A mesh that was checked.
#[derive(Clone, Copy, Debug)]
pub struct Mesh {
    /// The number of quadrants or elements.
    pub quadrants: u64,
    /// The number of trees.
    pub trees: u64,
    /// The checksum of the mesh.
    pub checksum: Checksum,
}

/// Checks a mesh of `d` axes: its elements if `has_shapes`, otherwise its quadrants.
///
/// # Errors
/// If the mesh is invalid, and those of the source.
pub fn mesh<S: Source>(source: &mut S, d: usize, has_shapes: bool) -> Result<Mesh, S::Error> {
    let [coordinates, level, offsets] = open_mesh(source, d)?;
    let (quadrants, trees) = (coordinates.shape[0], offsets.shape[0] - 1);
    let mut of_shapes = None;
    if has_shapes {
        let kind = open(source, &TYPE, d, Some(quadrants))?;
        let position = open(source, &POSITION, d, Some(quadrants))?;
        let shape = open(source, &TREE_SHAPE, d, Some(trees))?;
        of_shapes = Some((Numbers::new(kind), Numbers::new(position), Numbers::new(shape)));
    }
    let [mut coordinates, mut level, mut offsets] = [coordinates, level, offsets].map(Numbers::new);
    let mut begin = offsets.next(source)?;
    source.hold(check_tree_offset(0, 0, begin, quadrants, false))?;
    let (mut corner, mut checksum) = (vec![0; d], Checksum::default());
    for tree in 0..trees {
        let end = offsets.next(source)?;
        source.hold(check_tree_offset(tree + 1, begin, end, quadrants, tree + 1 == trees))?;
        let (mut curve, mut after, mut of_tree) = (TreeCurve::new(d), 0, TreeShape::Box);
        if let Some((.., shape)) = &mut of_shapes {
            let number = shape.next(source)?;
            (of_tree, _) = source.hold(shape_of(tree, number, d))?;
        }
        for at in begin..end {
            // The types have been checked.
            for coordinate in &mut corner {
                *coordinate = i32::try_from(coordinates.next(source)?).unwrap_or(i32::MIN);
            }
            let on = u8::try_from(level.next(source)?).unwrap_or(u8::MAX);
            let (mut number, mut what) = (at.unsigned_abs(), "quadrant");
            let added = if let Some((kind, position, _)) = &mut of_shapes {
                let kind = u8::try_from(kind.next(source)?).unwrap_or(u8::MAX);
                (number, what) = (position.next(source)?.cast_unsigned(), "element");
                let element = Element::new(&corner, on, kind, number);
                element.check(of_tree, d, after).map(|end| after = end)
            } else {
                curve.add(&corner, on)
            };
            source.hold(added.map_err(|wrong| wrong.of(what, at.unsigned_abs(), tree)))?;
            checksum = checksum.and(term(number, tree, on.into()));
        }
        if !has_shapes {
            source.hold(curve.end(end.unsigned_abs() - 1, tree))?;
        }
        begin = end;
    }
    source.hold(expect_mesh(&coordinates.attributes, "coordinates", checksum, "that it begins"))?;
    Ok(Mesh { quadrants, trees, checksum })
}

/// The shape of a tree, and its number of faces.
fn shape_of(tree: u64, number: impl Into<i64>, d: usize) -> Result<(TreeShape, u64), MeshError> {
    let number = number.into();
    u8::try_from(number).ok().and_then(|number| TreeShape::new(number, d)).ok_or_else(|| {
        MeshError::new(
            "tree_shape",
            format!("tree {tree}: found shape {number}, expected one of dimension {d}"),
        )
    })
}

/// Checks a partition of the quadrants of a mesh.
///
/// # Errors
/// If the partition is invalid, and those of the source.
pub fn partition_of<S: Source>(source: &mut S, quadrants: u64) -> Result<(), S::Error> {
    let column = open(source, &PARTITION, 0, None)?;
    let found = column.shape[0];
    if !(2..=MOST_RANKS + 1).contains(&found) {
        let words = format!("found {found} numbers, expected 2 to {}", MOST_RANKS + 1);
        return source.hold(Err(MeshError::new(PARTITION.name, words)));
    }
    partition(source, column, quadrants).map(drop)
}

/// Checks the trees of a forest of any shapes, and returns their number.
///
/// # Errors
/// If the trees are invalid, and those of the source.
pub fn trees<S: Source>(source: &mut S, d: usize) -> Result<u64, S::Error> {
    let shape = open_after(source, &TREE_TO_TREE_64, &TREE_SHAPE, d, None)?;
    let (trees, faces) = (shape.shape[0], 2 * d as u64);
    source.bound(&shape)?;
    let to_tree = open(source, &TREE_TO_TREE_64, d, Some(trees))?;
    let to_face = open_after(source, &TREE_TO_TREE_64, &TREE_TO_FACE, d, Some(trees))?;
    let to_tree = bounded(source, &TREE_TO_TREE_64, to_tree, i64::from_ne_bytes, (-1, trees))?;
    let to_face = bounded(source, &TREE_TO_FACE, to_face, i8::from_ne_bytes, (-1, 4 * faces))?;
    numbers(source, shape, u8::from_ne_bytes, |first, batch| {
        for (tree, &number) in (first..).zip(batch) {
            let (_, has) = shape_of(tree, number, d)?;
            // A check does not keep the faces of too many trees.
            if !to_tree.is_empty() {
                check_faces(tree, has, 2 * d, &to_tree, &to_face)?;
            }
        }
        Ok(())
    })?;
    open_if(source, &TREE_VERTICES, d, Some(trees))?;
    Ok(trees)
}

/// Requires that each face of a tree leads to a face that leads back, and that the tree has no further faces.
/// All numbers must be within their bounds.
fn check_faces(tree: u64, has: u64, n: usize, to_tree: &[i64], to_face: &[i8]) -> Result<(), MeshError> {
    let index = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
    for face in 0..n {
        let at = to_usize(tree) * n + face;
        let (across, code) = (to_tree[at], i64::from(to_face[at]));
        let is_there = (face as u64) < has;
        let what = if is_there != (across >= 0) || is_there != (code >= 0) {
            format!("of {has} faces")
        } else {
            let leads_back =
                |back: usize| (index(to_tree[back]), index(to_face[back].into()) % n) == (at / n, face);
            if !is_there || leads_back(index(across) * n + index(code) % n) {
                continue;
            }
            "which does not lead back".to_owned()
        };
        let words = format!("tree {tree}: face {face} leads to tree {across}, {what}");
        return Err(MeshError::new("tree_to_tree", words));
    }
    Ok(())
}

/// The number of values of a field with a variable number of values per quadrant: the sum of the part `count`.
///
/// # Errors
/// If a count is negative, or the sum is too large; and those of the source.
pub fn sum_of_counts<S: Source>(source: &mut S, quadrants: u64) -> Result<u64, S::Error> {
    let counts = open(source, &COUNT, 0, Some(quadrants))?;
    let (mut counts, mut sum) = (Numbers::new(counts), 0_u64);
    for quadrant in 0..quadrants {
        let count = counts.next(source)?;
        let more = u64::try_from(count).ok().and_then(|count| sum.checked_add(count));
        let words = || MeshError::new(COUNT.name, format!("quadrant {quadrant}: found {count} values"));
        sum = source.hold(more.ok_or_else(words))?;
    }
    Ok(sum)
}
