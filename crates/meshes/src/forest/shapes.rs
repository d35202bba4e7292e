//! Forests of any shapes (docs/t8code.md): the rules for their trees and elements, and reading them.

use super::{format, rows};
use crate::checksum::{Checksum, of_all, term};
use crate::names::{DIMENSION, FOREST, SHAPED_PARTS, part_name};
use crate::steps::{group as attributes_of, last, need, open, read_rows, sections};
use crate::{MeshError, attributes};
use scda::{Collective, DataType, DatasetHandle, Error, ErrorKind, Reader, Result};
use std::ops::Range;

/// Coordinates are in units of 2^-30 of a tree's edge.
pub(crate) const BITS: u32 = 30;

/// The finest level; positions count elements of this level.
#[must_use]
pub const fn finest(dimension: usize) -> u32 {
    if dimension == 3 { 21 } else { BITS }
}

/// A shape of trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeShape {
    /// A line, a quadrilateral or a hexahedron.
    Box,
    /// One of two triangles of a quadrilateral.
    Triangle,
    /// One of six tetrahedra of a hexahedron.
    Tetrahedron,
    /// One of two prisms of a hexahedron.
    Prism,
    /// One of three pyramids of a hexahedron.
    Pyramid,
}

impl TreeShape {
    /// The shape with a VTK number, and its number of faces; `None` if no tree of this dimension can have it.
    #[must_use]
    pub fn new(number: u8, dimension: usize) -> Option<(Self, u64)> {
        Some(match (number, dimension) {
            (3, 1) => (Self::Box, 2),
            (5, 2) => (Self::Triangle, 3),
            (9, 2) => (Self::Box, 4),
            (10, 3) => (Self::Tetrahedron, 4),
            (12, 3) => (Self::Box, 6),
            (13, 3) => (Self::Prism, 5),
            (14, 3) => (Self::Pyramid, 5),
            _ => return None,
        })
    }

    /// Whether a point is in the tree, whose edge is 2^30.
    fn has(self, [x, y, z]: [i64; 3]) -> bool {
        [x, y, z].iter().all(|c| (0..=1 << BITS).contains(c))
            && match self {
                Self::Box => true,
                Self::Triangle | Self::Prism => y <= x,
                Self::Tetrahedron => y <= z && z <= x,
                Self::Pyramid => z <= x && z <= y,
            }
    }

    /// The number of elements of the finest level in an element of this type and level. The tree itself has
    /// level 0.
    fn size(self, dimension: usize, kind: i64, level: u32) -> u128 {
        let depth = finest(dimension) - level;
        match self {
            Self::Pyramid if kind >= 6 => 2 * 8_u128.pow(depth) - 6_u128.pow(depth),
            _ => 1 << (depth as usize * dimension),
        }
    }
}

/// The position of a square or cube: the interleaved bits of its coordinates, those of x lowest.
fn morton(corner: [i64; 3], dimension: usize) -> u128 {
    let mut index = 0;
    for bit in 0..finest(dimension) {
        for (axis, &coordinate) in corner[..dimension].iter().enumerate() {
            let found = coordinate >> (BITS - finest(dimension) + bit) & 1;
            index |= u128::from(found.unsigned_abs()) << (bit as usize * dimension + axis);
        }
    }
    index
}

/// An element of a tree, for checking.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Its first corner; 0 on missing axes.
    pub corner: [i64; 3],
    /// Its level.
    pub level: i64,
    /// Its type.
    pub kind: i64,
    /// The number of finest elements of the tree before it.
    pub position: u64,
}

impl Element {
    /// From the datasets of a mesh.
    #[must_use]
    pub fn new(coordinates: &[i32], level: u8, kind: u8, position: u64) -> Self {
        let mut corner = [0; 3];
        corner.iter_mut().zip(coordinates).for_each(|(to, from)| *to = i64::from(*from));
        Self { corner, level: level.into(), kind: kind.into(), position }
    }

    /// Checks an element against its tree and the end of the previous element, and returns its own end.
    ///
    /// # Errors
    /// If it is wrong.
    pub fn check(&self, shape: TreeShape, dimension: usize, begin: u128) -> Result<u128, MeshError> {
        let wrong = |part: usize, words| Err(MeshError::new(SHAPED_PARTS[part], words));
        let position = u128::from(self.position);
        let most = finest(dimension);
        let level = u32::try_from(self.level).ok().filter(|&level| level <= most);
        let Some(level) = level else {
            return wrong(1, format!("found level {}, expected at most {most}", self.level));
        };
        let Some(corners) = shape.corners(dimension, self.kind) else {
            return wrong(2, format!("found type {}, which does not occur in its tree", self.kind));
        };
        let edge = 1_i64 << (BITS - level);
        let place = |of: &[i64; 3]| {
            std::array::from_fn(|axis| if axis < dimension { self.corner[axis] + edge * of[axis] } else { 0 })
        };
        let is_multiple = self.corner[..dimension].iter().all(|coordinate| coordinate % edge == 0);
        if !is_multiple || !corners.iter().all(|of| shape.has(place(of))) {
            let found = &self.corner[..dimension];
            return wrong(0, format!("found {found:?}, expected multiples of {edge} inside the tree"));
        }
        let end = position + shape.size(dimension, self.kind, level);
        let whole = shape.size(dimension, 6, 0);
        if position < begin || end > whole {
            let found = self.position;
            return wrong(3, format!("found {found} to {end}, expected a part of {begin} to {whole}"));
        }
        if shape == TreeShape::Box && position != morton(self.corner, dimension) {
            let expected = morton(self.corner, dimension);
            return wrong(3, format!("found {}, expected {expected} by its coordinates", self.position));
        }
        Ok(end)
    }
}

/// Checks the elements of a mesh one after the other: each must be in its tree, after the previous one.
#[derive(Clone, Debug)]
pub struct ElementCheck {
    dimension: usize,
    number: u64,
    first_tree: u64,
    /// The index of the tree, from the first one.
    at: usize,
    /// The end of the previous element; `None` if it is unknown.
    end: Option<u128>,
}

impl ElementCheck {
    /// Begins with element `first`, which is in tree `first_tree`.
    #[must_use]
    pub fn new(dimension: usize, first: u64, first_tree: u64) -> Self {
        Self { dimension, number: first, first_tree, at: 0, end: (first == 0).then_some(0) }
    }

    /// Adds the next element. `offsets` has the beginning and end of the elements of each tree from the first
    /// one on, `shapes` the shapes of these trees. Returns the element's contribution to the checksum.
    ///
    /// # Errors
    /// If it, or the shape of its tree, is wrong.
    pub fn add(&mut self, offsets: &[i64], shapes: &[u8], element: &Element) -> Result<u64, MeshError> {
        let number = self.number;
        if offsets.get(self.at + 1).is_some_and(|offset| offset.unsigned_abs() <= number) {
            (self.at, self.end) = (self.at + 1, Some(0));
        }
        let (tree, shape) = (self.first_tree + self.at as u64, shapes.get(self.at).copied().unwrap_or(0));
        let Some((shape, _)) = TreeShape::new(shape, self.dimension) else {
            let words =
                format!("tree {tree}: found shape {shape}, expected one of dimension {}", self.dimension);
            return Err(MeshError::new("tree_shape", words));
        };
        let least = self.end.unwrap_or_else(|| element.position.into());
        let checked = element.check(shape, self.dimension, least);
        self.end = Some(checked.map_err(|wrong| wrong.of("element", number, tree))?);
        self.number += 1;
        Ok(term(element.position, tree, element.level.unsigned_abs()))
    }
}

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
        let attributes = attributes_of(file, group, FOREST, 2)?;
        let dimension =
            attributes::whole_number(&attributes, DIMENSION).and_then(|d| usize::try_from(d).ok());
        let Some(dimension) = dimension.filter(|d| (1..=3).contains(d)) else {
            let found = attributes::value(&attributes, DIMENSION).unwrap_or_else(|| "none".to_owned());
            let words = format!("the forest {group}: found the dimension {found}, expected 1 to 3");
            return file.agree_on(Err(Error::new(ErrorKind::Format, words)));
        };
        let up_to = 0..sections(file, group, step)?.end;
        let mut found = Self { group: group.to_owned(), step, up_to, dimension, trees: 0 };
        found.trees =
            found.open(file, "tree_to_tree", DataType::Int64, &[None, Some(2 * dimension as u64)])?.shape[0];
        Ok(found)
    }

    /// The last dataset of this name before the end of the step.
    fn open(
        &self,
        file: &mut Reader,
        part: &str,
        data_type: DataType,
        shape: &[Option<u64>],
    ) -> Result<DatasetHandle> {
        let name = part_name(&self.group, part)?;
        let record = need(file, &name, &self.up_to, self.step)?;
        open(file, &name, record, data_type, shape)
    }

    /// Reads `n` trees from `first` on.
    ///
    /// # Errors
    /// `Format` if there are none; `Memory`; those of [`DatasetHandle::read`].
    pub fn trees(&self, file: &mut Reader, first: u64, n: u64) -> Result<Trees> {
        let (all, d) = (Some(self.trees), self.dimension);
        let of_faces = [all, Some(2 * d as u64)];
        let mut rows_of = |part, data_type, shape: &[Option<u64>]| {
            let dataset = self.open(file, part, data_type, shape)?;
            let regions = rows(&dataset.shape, first, n);
            Ok::<_, Error>((dataset, regions))
        };
        let (to_tree, trees) = rows_of("tree_to_tree", DataType::Int64, &of_faces)?;
        let (to_face, _) = rows_of("tree_to_face", DataType::Int8, &of_faces)?;
        let (shape, shapes) = rows_of("tree_shape", DataType::Uint8, &[all])?;
        let mut found = Trees {
            to_tree: read_rows(file, &to_tree, &trees, i64::from_ne_bytes)?,
            to_face: read_rows(file, &to_face, &trees, i8::from_ne_bytes)?,
            shape: read_rows(file, &shape, &shapes, u8::from_ne_bytes)?,
            vertices: Vec::new(),
        };
        // The vertices of these trees follow their `tree_to_tree`.
        let begin = part_name(&self.group, "tree_to_tree")?;
        let record = need(file, &begin, &self.up_to, self.step)?;
        let begin = file.find(begin.as_bytes(), record)?.unwrap_or(0);
        let name = part_name(&self.group, "tree_vertices")?;
        if let Some(record) = last(file, &name, &(begin..self.up_to.end))? {
            let shape = [all, Some(1 << d), Some(3)];
            let dataset = open(file, &name, record, DataType::Float64, &shape)?;
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
        let mut part = |part, data_type, shape: &[Option<u64>]| {
            open(file, &part_name(group, part)?, record, data_type, shape)
        };
        let coordinates = part("coordinates", DataType::Int32, &[None, Some(d as u64)])?;
        let all = coordinates.shape[0];
        let level = part("level", DataType::Uint8, &[Some(all)])?;
        let kind = part("type", DataType::Uint8, &[Some(all)])?;
        let position = part("position", DataType::Uint64, &[Some(all)])?;
        let offsets = part("tree_offsets", DataType::Int64, &[Some(self.trees + 1)])?;
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
        let shapes = self.open(file, "tree_shape", DataType::Uint8, &[Some(self.trees)])?;
        let trees = (found.tree_offsets.len() as u64).saturating_sub(1);
        found.tree_shape =
            read_rows(file, &shapes, &rows(&shapes.shape, found.first_tree, trees), u8::from_ne_bytes)?;
        let own = file.agree_on(self.check(begin, &found).map_err(format(group)))?;
        found.checksum = of_all(file, own)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: i64 = 1 << 29;

    fn element(corner: [i64; 3], level: i64, kind: i64, position: u128) -> Element {
        Element { corner, level, kind, position: u64::try_from(position).unwrap() }
    }

    #[test]
    fn the_children_of_a_pyramid_fill_it() {
        // Elements of t8code, in its order: type, and corner 0 in halves.
        let shape = TreeShape::Pyramid;
        let size = |kind| shape.size(3, kind, 1);
        assert_eq!(6 * size(6) + 4 * size(0), shape.size(3, 6, 0));
        let tip = element([HALF; 3], 1, 6, shape.size(3, 6, 0) - size(6));
        assert_eq!(tip.check(shape, 3, 0), Ok(shape.size(3, 6, 0)));
        let reversed = element([HALF; 3], 1, 7, 0);
        assert_eq!(reversed.check(shape, 3, 0), Ok(size(7)));
    }

    #[test]
    fn squares_have_the_positions_of_morton() {
        let quarter = 1 << 58;
        assert_eq!(element([HALF, 0, 0], 1, 0, quarter).check(TreeShape::Box, 2, quarter), Ok(2 * quarter));
        for (wrong, part) in [
            (element([0, HALF, 0], 1, 0, quarter), 3),
            (element([HALF, 0, 0], 1, 0, quarter - 1), 3),
            (element([HALF, 0, 0], 1, 1, quarter), 2),
            (element([HALF, 0, 0], 31, 0, quarter), 1),
            (element([HALF, 0, 0], -1, 0, quarter), 1),
            (element([HALF, 0, 0], 0, 0, quarter), 0),
            (element([2 * HALF, 0, 0], 1, 0, quarter), 0),
        ] {
            assert_eq!(wrong.check(TreeShape::Box, 2, quarter).unwrap_err().part, SHAPED_PARTS[part]);
        }
    }

    #[test]
    fn elements_lie_in_their_trees() {
        assert!(element([0, 0, 0], 1, 1, 0).check(TreeShape::Triangle, 2, 0).is_err()); // above the diagonal
        assert!(element([HALF, 0, 0], 1, 1, 0).check(TreeShape::Triangle, 2, 0).is_ok());
        assert!(element([HALF, 0, 0], 1, 3, 0).check(TreeShape::Tetrahedron, 3, 0).is_err());
        assert!(element([0, 0, 0], 1, 0, 0).check(TreeShape::Tetrahedron, 3, 0).is_ok());
        assert!(element([0, 0, 0], 1, 7, 0).check(TreeShape::Pyramid, 3, 0).is_err());
        assert!(element([0, 0, 0], 1, 8, 0).check(TreeShape::Pyramid, 3, 0).is_err());
    }
}
