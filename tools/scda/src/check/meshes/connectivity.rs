//! How the trees of a forest are joined, and where they are.

use super::column::Datasets;
use super::{Checked, MeshGroup, hold, hold_at, wrong};
use scda::DataType;
use scda_meshes::forest::rules::{self, MOST_ATTRIBUTES, SharedKind};
use scda_meshes::names::CONNECTIVITY_PARTS;

/// If the trees have more faces, edges or corners than this, those are not compared with one another, because they would not fit into
/// memory.
const MOST_KEPT: u64 = 1 << 24;

/// A connectivity: the sections from its `tree_to_tree` to the next one.
pub struct Connectivity<'m, 'd, 'a> {
    pub mesh: &'m MeshGroup,
    pub datasets: &'d mut Datasets<'a>,
    pub dimension: usize,
    pub first: u64,
    pub end: u64,
}

impl Connectivity<'_, '_, '_> {
    /// Whether a dataset of this name is a part of one.
    pub fn has(name: &str) -> bool {
        CONNECTIVITY_PARTS.contains(&name)
    }

    /// The dataset of this name.
    pub(super) fn part(&self, name: &str) -> Option<u64> {
        self.mesh.last(name, self.first, self.end)
    }

    /// The numbers of a dataset, each from `least` to `most`. All are returned if there are few enough.
    pub(super) fn bounded(
        &mut self,
        number: u64,
        data_type: DataType,
        shape: &[Option<u64>],
        least: i64,
        most: i64,
    ) -> Checked<(u64, Vec<i64>)> {
        let mut column = self.datasets.typed(number, data_type, shape)?;
        let rows = column.rows();
        let count = column.shape().iter().product::<u64>();
        let mut kept = Vec::new();
        for at in 0..count {
            let found = column.next(self.datasets)?;
            if found < least || found > most {
                let row = at / (count / rows.max(1)).max(1);
                return wrong(number, format!("row {row}: found {found}, expected {least} to {most}"));
            }
            if count <= MOST_KEPT {
                kept.push(found);
            }
        }
        Ok((rows, kept))
    }

    /// Checks it, and returns the number of trees.
    pub fn check(&mut self, most_trees: u64) -> Checked<u64> {
        let first = self.first;
        let (faces, corners) = (2 * self.dimension as u64, 1_u64 << self.dimension);
        let trees = self.datasets.typed(first, DataType::Int32, &[None, Some(faces)])?.rows();
        if trees == 0 || trees > most_trees {
            return wrong(
                first,
                format!("found {trees} trees, expected at most {most_trees}, as in the mesh"),
            );
        }
        let most = i64::try_from(trees).unwrap_or(i64::MAX) - 1;
        let (_, to_tree) = self.bounded(first, DataType::Int32, &[None, Some(faces)], 0, most)?;
        let Some(number) = self.part("tree_to_face") else {
            return wrong(first, "no tree_to_face follows it");
        };
        let codes = i64::try_from(faces * corners / 2).unwrap_or(0);
        let (_, to_face) = self.bounded(number, DataType::Int8, &[Some(trees), Some(faces)], 0, codes - 1)?;
        // Both are empty if there are too many.
        hold(first, rules::check_faces(self.dimension, &to_tree, &to_face))?;
        if let Some(number) = self.part("vertices") {
            let vertices = self.datasets.typed(number, DataType::Float64, &[None, Some(3)])?.rows();
            if vertices == 0 || vertices > rules::most_vertices(trees, self.dimension) {
                return wrong(number, format!("found {vertices} vertices for {trees} trees"));
            }
            let Some(number) = self.part("tree_to_vertex") else {
                return wrong(number, "no tree_to_vertex follows it");
            };
            let most = i64::try_from(vertices).unwrap_or(i64::MAX) - 1;
            self.bounded(number, DataType::Int32, &[Some(trees), Some(corners)], 0, most)?;
        }
        if self.dimension == 3 {
            self.shared(SharedKind::EDGES, trees)?;
        }
        self.shared(SharedKind::corners(self.dimension), trees)?;
        if let Some(number) = self.part("tree_attributes") {
            let is_raw = |found| matches!(found, DataType::Raw(_));
            let attributes = self.datasets.expect(number, is_raw, "bytes (r8, r16, ...)", &[Some(trees)])?;
            let bytes = attributes.data_type().item_bytes().saturating_mul(trees);
            if bytes > MOST_ATTRIBUTES {
                return wrong(number, format!("found {bytes} bytes, expected at most {MOST_ATTRIBUTES}"));
            }
        }
        Ok(trees)
    }

    /// Checks where the entries of edges or corners begin. All offsets are returned if there are few enough.
    fn offsets(&mut self, kind: SharedKind, number: u64, entries: u64) -> Checked<Vec<i64>> {
        let mut column = self.datasets.typed(number, DataType::Int32, &[None])?;
        let rows = column.rows();
        let (mut before, mut kept) = (0, Vec::new());
        if rows == 0 {
            hold(number, kind.check_offset((0, 0), 0, -1, entries))?;
        }
        for row in 0..rows {
            let found = column.next(self.datasets)?;
            hold(number, kind.check_offset((row, rows), before, found, entries))?;
            before = found;
            if rows <= MOST_KEPT {
                kept.push(found);
            }
        }
        Ok(kept)
    }

    /// Checks what several trees share: edges or corners.
    fn shared(&mut self, kind: SharedKind, trees: u64) -> Checked {
        let [tree_to, offsets, to_tree, to_code] = kind.parts.map(|name| self.part(name));
        let Some(tree_to) = tree_to else { return Ok(()) };
        let (Some(offsets), Some(to_tree), Some(to_code)) = (offsets, to_tree, to_code) else {
            return wrong(tree_to, format!("found not all of {} after it", kind.parts[1..].join(", ")));
        };
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let count = self.datasets.typed(offsets, DataType::Int32, &[None])?.rows().saturating_sub(1);
        let (most, most_entries) = (trees.saturating_mul(kind.each), trees.saturating_mul(kind.codes));
        let entries = self.datasets.typed(to_tree, DataType::Int32, &[None])?.rows();
        if count > most || entries > most_entries {
            let what = kind.what;
            return wrong(
                offsets,
                format!(
                    "found {count} {what}s with {entries} entries, expected at most {most} with {most_entries}"
                ),
            );
        }
        let begins = self.offsets(kind, offsets, entries)?;
        let (_, owners) = self.bounded(to_tree, DataType::Int32, &[Some(entries)], 0, signed(trees) - 1)?;
        let (_, codes) =
            self.bounded(to_code, DataType::Int8, &[Some(entries)], 0, signed(kind.codes) - 1)?;
        let shape = [Some(trees), Some(kind.each)];
        let (_, named) = self.bounded(tree_to, DataType::Int32, &shape, -1, signed(count) - 1)?;
        if count > 0 && begins.is_empty() {
            return Ok(()); // there are too many
        }
        if named.is_empty() || owners.len() as u64 != entries {
            return Ok(());
        }
        // A bit for each direction.
        let mut seen = vec![0_u8; named.len()];
        let checked = kind.check(&named, &begins, &owners, &codes, &mut seen);
        hold_at(|part| if part == kind.parts[0] { tree_to } else { to_tree }, checked)
    }
}
