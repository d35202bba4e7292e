//! Reads how the trees of a forest are connected.

use crate::read::{Source, numbers, open, open_after, open_if, values};
use scda::Result;
use scda_base::memory::resize;
use scda_format::meshes::MeshError;
use scda_format::meshes::forest::{MOST_ATTRIBUTES, SharedKind, check_bounds, check_faces, most_vertices};
use scda_format::meshes::parts::{
    Part, TREE_ATTRIBUTES, TREE_TO_FACE, TREE_TO_TREE, TREE_TO_VERTEX, VERTICES,
};

/// Edges or corners that trees share.
#[derive(Clone, Debug, Default)]
pub struct SharedEntities {
    /// The number of each edge (corner) of each tree, or -1.
    pub tree_to: Vec<i32>,
    /// Where the entries of each begin and end. Empty if there are none.
    pub offsets: Vec<i32>,
    /// The tree of each entry.
    pub to_tree: Vec<i32>,
    /// The edge (corner) of that tree.
    pub to_code: Vec<i8>,
}

/// How trees are connected, and where they are.
#[derive(Clone, Debug, Default)]
pub struct Connectivity {
    /// The number of trees.
    pub trees: u64,
    /// The tree across each face.
    pub tree_to_tree: Vec<i32>,
    /// The face of that tree.
    pub tree_to_face: Vec<i8>,
    /// Three coordinates of each vertex; empty without geometry.
    pub vertices: Vec<f64>,
    /// The vertices at the corners of each tree.
    pub tree_to_vertex: Vec<i32>,
    /// Shared edges of cubes.
    pub edges: SharedEntities,
    /// Shared corners.
    pub corners: SharedEntities,
    /// The number of bytes that the program stores for each tree.
    pub attribute_bytes: u32,
    /// These bytes of all trees.
    pub attributes: Vec<u8>,
}

/// Reads and checks a connectivity of at most `most_trees` trees.
///
/// # Errors
/// If the connectivity is invalid, and those of the source.
pub fn read<S: Source>(source: &mut S, d: usize, most_trees: u64) -> Result<Connectivity, S::Error> {
    let (faces, corners) = (2 * d as u64, 1_u64 << d);
    let to_tree = open(source, &TREE_TO_TREE, d, None)?;
    let trees = to_tree.shape[0];
    if trees == 0 || trees > most_trees {
        let words = format!("found {trees} trees, expected at most {most_trees}, as in the mesh");
        return source.hold(Err(MeshError::new("tree_to_tree", words)));
    }
    let mut c = Connectivity { trees, ..Connectivity::default() };
    let to_face = open_after(source, &TREE_TO_TREE, &TREE_TO_FACE, d, Some(trees))?;
    c.tree_to_tree = bounded(source, &TREE_TO_TREE, to_tree, i32::from_ne_bytes, (0, trees))?;
    c.tree_to_face = bounded(source, &TREE_TO_FACE, to_face, i8::from_ne_bytes, (0, faces * corners / 2))?;
    // A check does not keep the faces of too many trees.
    source.hold(check_faces(d, &c.tree_to_tree, &c.tree_to_face))?;
    if let Some(vertices) = open_if(source, &VERTICES, d, None)? {
        let count = vertices.shape[0];
        if count == 0 || count > most_vertices(trees, d) {
            let words = format!("found {count} vertices for {trees} trees");
            return source.hold(Err(MeshError::new("vertices", words)));
        }
        let of_corners = open_after(source, &VERTICES, &TREE_TO_VERTEX, d, Some(trees))?;
        c.vertices = values(source, vertices, f64::from_ne_bytes)?;
        c.tree_to_vertex = bounded(source, &TREE_TO_VERTEX, of_corners, i32::from_ne_bytes, (0, count))?;
    }
    if d == 3 {
        c.edges = shared(source, &SharedKind::EDGES, d, trees)?;
    }
    c.corners = shared(source, &SharedKind::corners(d), d, trees)?;
    if let Some(attributes) = open_if(source, &TREE_ATTRIBUTES, d, Some(trees))? {
        let bytes = attributes.data_type.item_bytes();
        let all = trees.saturating_mul(bytes);
        if all > MOST_ATTRIBUTES {
            let words = format!("found {all} bytes, expected at most {MOST_ATTRIBUTES}");
            return source.hold(Err(MeshError::new("tree_attributes", words)));
        }
        c.attribute_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        c.attributes = values(source, attributes, u8::from_ne_bytes)?;
    }
    Ok(c)
}

/// The numbers of a dataset, which must be at least `least` and less than `end`.
pub(super) fn bounded<S: Source, T: Copy + Into<i64>, const N: usize>(
    source: &mut S,
    part: &Part,
    column: S::Column,
    of: fn([u8; N]) -> T,
    (least, end): (i64, u64),
) -> Result<Vec<T>, S::Error> {
    let most = i64::try_from(end).unwrap_or(i64::MAX) - 1;
    let columns = column.shape.get(1).copied().unwrap_or(1);
    numbers(source, column, of, |first, batch| {
        check_bounds(part.name, batch, (first, columns), (least, most))
    })
}

/// Reads edges or corners, if there are any.
fn shared<S: Source>(
    source: &mut S,
    kind: &SharedKind,
    d: usize,
    trees: u64,
) -> Result<SharedEntities, S::Error> {
    let [in_tree, offsets, to_tree, to_code] = &kind.parts;
    let (most, most_entries) = (trees.saturating_mul(kind.each), trees.saturating_mul(kind.codes));
    let Some(of_trees) = open_if(source, in_tree, d, Some(trees))? else {
        return Ok(SharedEntities::default());
    };
    let begins = open_after(source, in_tree, offsets, d, None)?;
    let owners = open_after(source, in_tree, to_tree, d, None)?;
    let (rows, entries) = (begins.shape[0], owners.shape[0]);
    let count = rows.saturating_sub(1);
    if rows < 2 || count > most || entries > most_entries {
        let what = kind.what;
        let words = format!(
            "found {count} {what}s with {entries} entries, expected 1 to {most} with at most {most_entries}"
        );
        return source.hold(Err(MeshError::new(offsets.name, words)));
    }
    let mut before = 0;
    let offsets = numbers(source, begins, i32::from_ne_bytes, |first, batch| {
        kind.check_offsets(batch, (first, rows), before, entries)?;
        before = batch.last().copied().map_or(before, i64::from);
        Ok(())
    })?;
    let codes = open_after(source, in_tree, to_code, d, Some(entries))?;
    let s = SharedEntities {
        offsets,
        to_tree: bounded(source, to_tree, owners, i32::from_ne_bytes, (0, trees))?,
        to_code: bounded(source, to_code, codes, i8::from_ne_bytes, (0, kind.codes))?,
        tree_to: bounded(source, in_tree, of_trees, i32::from_ne_bytes, (-1, count))?,
    };
    // A check does not keep the numbers of too many trees.
    let found = [s.tree_to.len(), s.offsets.len(), s.to_tree.len()].map(|n| n as u64);
    if found == [most, rows, entries] {
        let mut seen = Vec::new();
        source.agree(resize(&mut seen, most))?;
        source.hold(kind.check(&s.tree_to, &s.offsets, &s.to_tree, &s.to_code, &mut seen))?;
    }
    Ok(s)
}
