//! How the trees of a forest are joined, and where they are.

use super::column::Datasets;
use super::{Checked, MeshGroup, wrong};
use scda::DataType;
use scda_meshes::names::CONNECTIVITY_PARTS;

/// If the trees have more faces, edges or corners than this, those are not compared with one another, because they would not fit into
/// memory.
const MOST_KEPT: u64 = 1 << 24;

/// The most bytes of the attributes of all trees.
const MOST_ATTRIBUTES: u64 = 1 << 28;

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
        // In the order of trees and faces; both are empty if there are too many.
        let index = |number: i64| usize::try_from(number).unwrap_or(0);
        let n = index(i64::try_from(faces).unwrap_or(0));
        for (at, (&tree, &code)) in to_tree.iter().zip(&to_face).enumerate() {
            let back = index(tree) * n + index(code) % n;
            let expected = (at / n, at % n + index(code) / n * n);
            if (index(to_tree[back]), index(to_face[back])) != expected || (back == at && index(code) >= n) {
                return wrong(
                    first,
                    format!(
                        "tree {}: face {} leads to tree {tree}, which does not lead back",
                        at / n,
                        at % n
                    ),
                );
            }
        }
        if let Some(number) = self.part("vertices") {
            let vertices = self.datasets.typed(number, DataType::Float64, &[None, Some(3)])?.rows();
            if vertices == 0 || vertices > trees.saturating_mul(corners).saturating_add(1 << 20) {
                return wrong(number, format!("found {vertices} vertices for {trees} trees"));
            }
            let Some(number) = self.part("tree_to_vertex") else {
                return wrong(number, "no tree_to_vertex follows it");
            };
            let most = i64::try_from(vertices).unwrap_or(i64::MAX) - 1;
            self.bounded(number, DataType::Int32, &[Some(trees), Some(corners)], 0, most)?;
        }
        if self.dimension == 3 {
            self.shared("edge", 12, 24, trees)?;
        }
        self.shared("corner", corners, corners, trees)?;
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

    /// Checks what several trees share: edges or corners.
    fn shared(&mut self, what: &str, each: u64, codes: u64, trees: u64) -> Checked {
        let names = [
            format!("tree_to_{what}"),
            format!("{what}_offsets"),
            format!("{what}_to_tree"),
            format!("{what}_to_{what}"),
        ];
        let [tree_to, offsets, to_tree, to_code] = names.each_ref().map(|name| self.part(name));
        let Some(tree_to) = tree_to else { return Ok(()) };
        let (Some(offsets), Some(to_tree), Some(to_code)) = (offsets, to_tree, to_code) else {
            return wrong(tree_to, format!("found not all of {} after it", names[1..].join(", ")));
        };
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let mut column = self.datasets.typed(offsets, DataType::Int32, &[None])?;
        let count = column.rows().saturating_sub(1);
        let (most, most_entries) = (trees.saturating_mul(each), trees.saturating_mul(codes));
        let entries = self.datasets.typed(to_tree, DataType::Int32, &[None])?.rows();
        if count > most || entries > most_entries {
            return wrong(
                offsets,
                format!(
                    "found {count} {what}s with {entries} entries, expected at most {most} with {most_entries}"
                ),
            );
        }
        let (_, owners) = self.bounded(to_tree, DataType::Int32, &[Some(entries)], 0, signed(trees) - 1)?;
        let (_, codes) = self.bounded(to_code, DataType::Int8, &[Some(entries)], 0, signed(codes) - 1)?;
        let (_, named) =
            self.bounded(tree_to, DataType::Int32, &[Some(trees), Some(each)], -1, signed(count) - 1)?;
        let mut begin = if column.rows() > 0 { column.next(self.datasets)? } else { 0 };
        if begin != 0 || count == 0 {
            return wrong(
                offsets,
                format!("found {begin} as the first of {} numbers, expected 0 and another one", count + 1),
            );
        }
        let is_kept = !named.is_empty() && owners.len() as u64 == entries;
        // A bit for each direction.
        let mut seen = vec![0_u8; named.len()];
        for number in 0..count {
            let end = column.next(self.datasets)?;
            if end < begin || end > signed(entries) || (number + 1 == count && end != signed(entries)) {
                let row = number + 1;
                return wrong(
                    offsets,
                    format!("number {row}: found {end}, expected at least {begin}, and {entries} at the end"),
                );
            }
            for entry in if is_kept { begin..end } else { 0..0 } {
                let at = usize::try_from(entry).unwrap_or(usize::MAX);
                let (Some(&tree), Some(&code)) = (owners.get(at), codes.get(at)) else { continue };
                let place = usize::try_from(tree * signed(each) + code % signed(each)).unwrap_or(usize::MAX);
                let direction = 1 << (code / signed(each));
                if named[place] != signed(number) || seen[place] & direction != 0 {
                    return wrong(
                        to_tree,
                        format!("entry {entry}, of {what} {number}, is not that of tree {tree}"),
                    );
                }
                seen[place] |= direction;
            }
            begin = end;
        }
        let without = |(&number, &seen): (&i64, &u8)| number >= 0 && seen == 0;
        if let Some(place) = named.iter().zip(&seen).position(without).filter(|_| is_kept) {
            let (tree, at, number) = (place as u64 / each, place as u64 % each, named[place]);
            return wrong(tree_to, format!("tree {tree}: {what} {at} has number {number}, without an entry"));
        }
        Ok(())
    }
}
