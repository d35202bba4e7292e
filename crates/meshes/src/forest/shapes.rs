//! Reads forests of any shapes (docs/t8code.md).

use super::format;
use crate::ranks::checksum_of_all;
use crate::steps::{dimension, last, need, open, read_rows, sections};
use crate::write::rows;
use scda::{Collective, DatasetHandle, Error, ErrorKind, Reader, Result};
use scda_format::meshes::checksum::Checksum;
use scda_format::meshes::parts::{
    COORDINATES, LEVEL, POSITION, Part, TREE_OFFSETS, TREE_SHAPE, TREE_TO_FACE, TREE_TO_TREE_64,
    TREE_VERTICES, TYPE,
};
use scda_format::meshes::shapes::{Element, ElementCheck};
use scda_format::meshes::{Convention, MeshError, attributes, part_name};
use std::ops::Range;

/// The forest of any shapes in a step of a file.
#[derive(Clone, Debug)]
pub struct Shapes {
    group: String,
    step: i64,
    /// The sections up to the end of the step.
    up_to: Range<u64>,
    /// The number of axes.
    pub dimension: usize,
    /// The number of trees.
    pub trees: u64,
}

/// Consecutive trees.
#[derive(Clone, Debug, Default)]
pub struct Trees {
    /// The tree across each face, or -1.
    pub to_tree: Vec<i64>,
    /// The face of that tree, with the orientation.
    pub to_face: Vec<i8>,
    /// Their shapes.
    pub shape: Vec<u8>,
    /// Three coordinates of each corner; empty without geometry.
    pub vertices: Vec<f64>,
}

/// The elements of a rank, with the one before and the one after them.
#[derive(Clone, Debug, Default)]
pub struct Elements {
    /// The number of elements of all ranks.
    pub all: u64,
    /// The first one of this rank.
    pub first: u64,
    /// The number of elements of this rank.
    pub n: u64,
    /// 1 if the arrays begin with the element before them, otherwise 0.
    pub before: u64,
    /// 1 if the arrays end with the element after them, otherwise 0.
    pub after: u64,
    /// The tree of the first row of the arrays.
    pub first_tree: u64,
    /// Where the elements of each tree of the rows begin and end.
    pub tree_offsets: Vec<i64>,
    /// The shapes of these trees.
    pub tree_shape: Vec<u8>,
    /// The first corner of each row, `dimension` numbers.
    pub coordinates: Vec<i32>,
    /// The level of each.
    pub level: Vec<u8>,
    /// The type of each.
    pub kind: Vec<u8>,
    /// The position of each.
    pub position: Vec<u64>,
    /// The checksum of the mesh.
    pub checksum: Checksum,
}

impl Shapes {
    /// Finds the forest of a step.
    ///
    /// # Errors
    /// `NotFound` if there is no such forest or step; `Unsupported` for another version;
    /// those of [`Reader::find`].
    pub fn find(file: &mut Reader, group: &str, step: i64) -> Result<Self> {
        file.agree_on(part_name(group, "tree_vertices").map(drop))?;
        let dimension = dimension(file, group, Convention::Forest, 2, 1..=3)?;
        let up_to = 0..sections(file, group, step)?.end;
        let mut found = Self { group: group.to_owned(), step, up_to, dimension, trees: 0 };
        found.trees = found.open(file, &TREE_TO_TREE_64, None)?.shape[0];
        Ok(found)
    }

    /// The last dataset of a part before the end of the step, with this number of rows; `None`: any number.
    fn open(&self, file: &mut Reader, part: &Part, rows: Option<u64>) -> Result<DatasetHandle> {
        let name = part_name(&self.group, part.name)?;
        let record = need(file, &name, &self.up_to, self.step)?;
        open(file, (&self.group, record), part, self.dimension, rows)
    }

    /// Reads `n` trees from `first` on.
    ///
    /// # Errors
    /// `Format` if there are none; `Memory`; those of [`DatasetHandle::read`].
    pub fn trees(&self, file: &mut Reader, first: u64, n: u64) -> Result<Trees> {
        let all = Some(self.trees);
        let mut rows_of = |part| {
            let dataset = self.open(file, part, all)?;
            let regions = rows(&dataset.shape, first, n);
            Ok::<_, Error>((dataset, regions))
        };
        let (to_tree, trees) = rows_of(&TREE_TO_TREE_64)?;
        let (to_face, _) = rows_of(&TREE_TO_FACE)?;
        let (shape, shapes) = rows_of(&TREE_SHAPE)?;
        let mut found = Trees {
            to_tree: read_rows(file, &to_tree, &trees, i64::from_ne_bytes)?,
            to_face: read_rows(file, &to_face, &trees, i8::from_ne_bytes)?,
            shape: read_rows(file, &shape, &shapes, u8::from_ne_bytes)?,
            vertices: Vec::new(),
        };
        // The vertices of these trees follow their `tree_to_tree`.
        let begin = part_name(&self.group, TREE_TO_TREE_64.name)?;
        let record = need(file, &begin, &self.up_to, self.step)?;
        let begin = file.find(begin.as_bytes(), record)?.unwrap_or(0);
        let name = part_name(&self.group, TREE_VERTICES.name)?;
        if let Some(record) = last(file, &name, &(begin..self.up_to.end))? {
            let dataset = open(file, (&self.group, record), &TREE_VERTICES, self.dimension, all)?;
            found.vertices = read_rows(file, &dataset, &rows(&dataset.shape, first, n), f64::from_ne_bytes)?;
        }
        Ok(found)
    }

    /// Reads an equal share of the elements, with the one before and the one after them, and their trees.
    ///
    /// # Errors
    /// `Format` for elements that violate docs/t8code.md; `Range` for more than 32 bits can count; `Memory`;
    /// those of [`DatasetHandle::read`].
    pub fn elements(&self, file: &mut Reader) -> Result<Elements> {
        let (group, d) = (&*self.group, self.dimension);
        let name = part_name(group, "coordinates")?;
        let record = need(file, &name, &self.up_to, self.step)?;
        let mut part = |part, rows| open(file, (group, record), part, d, rows);
        let coordinates = part(&COORDINATES, None)?;
        let all = coordinates.shape[0];
        let level = part(&LEVEL, Some(all))?;
        let kind = part(&TYPE, Some(all))?;
        let position = part(&POSITION, Some(all))?;
        let offsets = part(&TREE_OFFSETS, Some(self.trees + 1))?;
        let (rank, size) = (file.rank() as u64, file.size() as u64);
        let first = all / size * rank + rank.min(all % size);
        let n = all / size + u64::from(rank < all % size);
        let mut found = Elements {
            all,
            first,
            n,
            before: u64::from(n > 0 && first > 0),
            after: u64::from(n > 0 && first + n < all),
            ..Elements::default()
        };
        let few = match () {
            () if all < self.trees => {
                let words = format!(
                    "dataset {name}: found {all} elements, expected at least one for each of {} trees",
                    self.trees
                );
                Err(Error::new(ErrorKind::Format, words))
            }
            () if all / size >= u64::from(i32::MAX.unsigned_abs()) - 64 => {
                Err(Error::range(format!("a rank would have {n} elements, expected at most 2147483647")))
            }
            () => Ok(()),
        };
        file.agree_on(few)?;
        let (begin, end) = (first - found.before, first + n + found.after);
        self.read_offsets(file, &offsets, (begin, end), &mut found)?;
        let own = |shape: &[u64]| rows(shape, begin, end - begin);
        found.coordinates = read_rows(file, &coordinates, &own(&coordinates.shape), i32::from_ne_bytes)?;
        found.level = read_rows(file, &level, &own(&level.shape), u8::from_ne_bytes)?;
        found.kind = read_rows(file, &kind, &own(&kind.shape), u8::from_ne_bytes)?;
        found.position = read_rows(file, &position, &own(&position.shape), u64::from_ne_bytes)?;
        let shapes = self.open(file, &TREE_SHAPE, Some(self.trees))?;
        let trees = (found.tree_offsets.len() as u64).saturating_sub(1);
        found.tree_shape =
            read_rows(file, &shapes, &rows(&shapes.shape, found.first_tree, trees), u8::from_ne_bytes)?;
        let own = file.agree_on(self.check(begin, &found).map_err(format(group)))?;
        found.checksum = checksum_of_all(file, own)?;
        let named =
            attributes::expect_mesh(&coordinates.attributes, "coordinates", found.checksum, "that it begins");
        // The same on all ranks.
        named.or_else(|wrong| file.agree_on(Err(format(group)(wrong))))?;
        Ok(found)
    }

    /// The tree of an element, found by bisection, with the same number of calls on all ranks.
    fn tree_of(&self, file: &mut Reader, offsets: &DatasetHandle, element: u64) -> Result<u64> {
        let (mut below, mut size) = (0, self.trees); // it is one of `size` trees from `below` on
        while size > 1 {
            let middle = below + size / 2;
            let offset = read_rows(file, offsets, &rows(&offsets.shape, middle, 1), i64::from_ne_bytes)?;
            if offset.first().is_some_and(|offset| u64::try_from(*offset).is_ok_and(|found| found <= element))
            {
                below = middle;
            }
            size -= size / 2;
        }
        Ok(below)
    }

    /// The trees of the rows from `begin` to `end`.
    fn read_offsets(
        &self,
        file: &mut Reader,
        offsets: &DatasetHandle,
        (begin, end): (u64, u64),
        found: &mut Elements,
    ) -> Result<()> {
        let wrong = |words| Err(format(&self.group)(MeshError::new("tree_offsets", words)));
        let ends = [rows(&offsets.shape, 0, 1), rows(&offsets.shape, self.trees, 1)].concat();
        let ends = read_rows(file, offsets, &ends, i64::from_ne_bytes)?;
        let all = i64::try_from(found.all).unwrap_or(i64::MAX);
        if ends != [0, all] {
            return file.agree_on(wrong(format!("found {ends:?} at its ends, expected 0 and {all}")));
        }
        found.first_tree = self.tree_of(file, offsets, begin)?;
        let last = self.tree_of(file, offsets, end.saturating_sub(1).max(begin))?;
        let count = if end > begin && last >= found.first_tree { last - found.first_tree + 1 } else { 0 };
        // Bounded by the number of elements, because the number of trees in the file must not determine the
        // memory.
        let few = match count > end - begin {
            true => wrong(format!("found {count} trees for {} elements", end - begin)),
            false => Ok(()),
        };
        file.agree_on(few)?;
        let own = if count > 0 { rows(&offsets.shape, found.first_tree, count + 1) } else { Vec::new() };
        found.tree_offsets = read_rows(file, offsets, &own, i64::from_ne_bytes)?;
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let bad =
            found.tree_offsets.windows(2).position(|pair| pair[0] < 0 || pair[1] <= pair[0] || pair[1] > all);
        let covers = found.tree_offsets.first().is_none_or(|first| *first <= signed(begin))
            && found.tree_offsets.last().is_none_or(|last| *last >= signed(end));
        let checked = match bad {
            Some(at) => {
                let (tree, found) = (found.first_tree + at as u64, &found.tree_offsets[at..at + 2]);
                wrong(format!("tree {tree}: found {found:?}, expected offsets that increase up to {all}"))
            }
            None if !covers => wrong("found offsets that do not increase".to_owned()),
            None => Ok(()),
        };
        file.agree_on(checked)
    }

    /// Checks the rows from number `begin` on. Returns this rank's contribution to the checksum.
    fn check(&self, begin: u64, found: &Elements) -> Result<Checksum, MeshError> {
        let mut check = ElementCheck::new(self.dimension, begin, found.first_tree);
        let mut sum = Checksum::default();
        for (row, corner) in found.coordinates.chunks_exact(self.dimension).enumerate() {
            let element = Element::new(corner, found.level[row], found.kind[row], found.position[row]);
            let more = check.add(&found.tree_offsets, &found.tree_shape, &element)?;
            if (found.first..found.first + found.n).contains(&(begin + row as u64)) {
                sum = sum.and(more);
            }
        }
        Ok(sum)
    }
}
