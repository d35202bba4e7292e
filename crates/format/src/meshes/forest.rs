//! The rules for the arrays of a forest.

use super::MeshError;
use super::checksum::term;
use super::parts::{
    CORNER_OFFSETS, CORNER_TO_CORNER, CORNER_TO_TREE, EDGE_OFFSETS, EDGE_TO_EDGE, EDGE_TO_TREE, Part,
    TREE_TO_CORNER, TREE_TO_EDGE,
};

/// The finest level: coordinates are in units of 2^-30 of a tree's edge.
pub const MAX_LEVEL: u8 = 30;
/// The most bytes in the attributes of all trees, because every rank has them.
pub const MOST_ATTRIBUTES: u64 = 1 << 28;
/// More ranks than any machine has, so that a damaged number costs no time.
pub const MOST_RANKS: u64 = 1 << 24;

/// The most vertices: those that trees can use, and some unused ones.
#[must_use]
pub const fn most_vertices(trees: u64, dimension: usize) -> u64 {
    trees.saturating_mul(1 << dimension).saturating_add(1 << 20)
}

/// Requires that the offsets of trees begin with 0, grow, and end with the number of quadrants.
///
/// # Errors
/// If number `at` of the offsets, `found`, must not follow `before`.
#[inline]
pub fn check_tree_offset(
    at: u64,
    before: i64,
    found: i64,
    quadrants: u64,
    is_last: bool,
) -> Result<(), MeshError> {
    if at == 0 {
        return match found {
            0 => Ok(()),
            _ => Err(MeshError::new("tree_offsets", format!("number 0: found {found}, expected 0"))),
        };
    }
    let all = i64::try_from(quadrants).unwrap_or(i64::MAX);
    if found > before && found <= all && (!is_last || found == all) {
        return Ok(());
    }
    let words = format!("number {at}: found {found}, expected more than {before}, and {all} at the end");
    Err(MeshError::new("tree_offsets", words))
}

/// Like [`check_tree_offset`], for the offsets from number `first` on, which `before` precedes.
///
/// # Errors
/// If one of them must not follow the previous one.
pub fn check_tree_offsets(
    offsets: &[i64],
    first: u64,
    mut before: i64,
    trees: u64,
    quadrants: u64,
) -> Result<(), MeshError> {
    for (at, &found) in (first..).zip(offsets) {
        check_tree_offset(at, before, found, quadrants, at == trees)?;
        before = found;
    }
    Ok(())
}

/// Requires that numbers are between `least` and `most`. They are those from number `first` on, in rows of
/// `columns` numbers.
///
/// # Errors
/// If one of them is not.
pub fn check_bounds(
    part: &'static str,
    numbers: &[impl Copy + Into<i64>],
    (first, columns): (u64, u64),
    (least, most): (i64, i64),
) -> Result<(), MeshError> {
    let is_wrong = |number: &_| !(least..=most).contains(&number_of(*number));
    let Some(at) = numbers.iter().position(is_wrong) else { return Ok(()) };
    let (row, found) = ((first + at as u64) / columns.max(1), number_of(numbers[at]));
    Err(MeshError::new(part, format!("row {row}: found {found}, expected {least} to {most}")))
}

/// Requires that a partition begins with 0, never decreases, and ends with the number of quadrants.
///
/// # Errors
/// If number `found`, of rank `at` of `ranks`, must not follow `before`.
#[inline]
pub fn check_partition(
    at: u64,
    ranks: u64,
    before: i64,
    found: i64,
    quadrants: u64,
) -> Result<(), MeshError> {
    let all = i64::try_from(quadrants).unwrap_or(i64::MAX);
    let most = if at == 0 { 0 } else { all };
    let least = if at == ranks { all } else { before };
    if (least..=most).contains(&found) {
        return Ok(());
    }
    Err(MeshError::new("partition", format!("number {at}: found {found}, expected {least} to {most}")))
}

/// The consecutive quadrants of one tree.
#[derive(Clone, Debug)]
pub struct TreeCurve {
    dimension: usize,
    /// Where the next quadrant begins; `None` if the tree is full.
    next: Option<[u32; 3]>,
}

impl TreeCurve {
    /// An empty tree of 2 or 3 dimensions.
    #[must_use]
    pub fn new(dimension: usize) -> Self {
        Self { dimension, next: Some([0; 3]) }
    }

    /// A tree that is filled up to and including a quadrant.
    #[must_use]
    pub fn after(corner: &[i32], level: u8) -> Self {
        let mut next = [0; 3];
        next.iter_mut().zip(corner).for_each(|(to, from)| *to = from.cast_unsigned());
        Self { dimension: corner.len(), next: after(next, level.min(MAX_LEVEL), corner.len()) }
    }

    /// Adds a quadrant.
    ///
    /// # Errors
    /// If it is wrong; the error says why.
    #[inline]
    pub fn add(&mut self, corner: &[i32], level: u8) -> Result<(), MeshError> {
        let Some(next) = self.next.filter(|next| {
            let bits = if level < MAX_LEVEL { (1_u32 << (MAX_LEVEL - level)) - 1 } else { 0 };
            level <= MAX_LEVEL
                && corner
                    .iter()
                    .zip(next)
                    .all(|(found, next)| found.cast_unsigned() == *next && next & bits == 0)
        }) else {
            return Err(self.misfit(corner, level));
        };
        self.next = after(next, level, self.dimension);
        Ok(())
    }

    #[cold]
    fn misfit(&self, corner: &[i32], level: u8) -> MeshError {
        if level > MAX_LEVEL {
            return MeshError::new("level", format!("found level {level}, expected at most {MAX_LEVEL}"));
        }
        let wrong = |words| MeshError::new("coordinates", words);
        let Some(next) = self.next else {
            return wrong("found a quadrant after the end of its tree".to_owned());
        };
        let edge = 1_u32 << (MAX_LEVEL - level);
        let misfit = |(_, (found, next)): &(usize, (&i32, u32))| found.cast_unsigned() != *next;
        match corner.iter().zip(next).enumerate().find(misfit) {
            Some((axis, (found, next))) => wrong(format!(
                "found coordinate {axis} {found}, expected {next}, the end of the previous quadrant"
            )),
            None => wrong(format!("found {corner:?}, expected multiples of {edge} for level {level}")),
        }
    }

    /// Requires that the tree is full after its last quadrant.
    ///
    /// # Errors
    /// If it is not.
    pub fn end(&self, quadrant: u64, tree: u64) -> Result<(), MeshError> {
        if self.is_full() {
            return Ok(());
        }
        let words =
            format!("found quadrant {quadrant} as the last one of tree {tree}, which it leaves incomplete");
        Err(MeshError::new("coordinates", words))
    }

    /// Whether the tree is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.next.is_none()
    }
}

/// Where the quadrant after this one begins.
#[inline]
fn after(mut corner: [u32; 3], level: u8, dimension: usize) -> Option<[u32; 3]> {
    for level in (1..=level).rev() {
        let bit = 1 << (MAX_LEVEL - level);
        for coordinate in &mut corner[..dimension] {
            *coordinate ^= bit;
            if *coordinate & bit != 0 {
                return Some(corner);
            }
        }
    }
    None
}

/// Checks the quadrants of a mesh one after the other: those of a tree must fill it, in the order of the
/// curve.
#[derive(Clone, Debug)]
pub struct QuadrantCheck {
    number: u64,
    tree: usize,
    curve: TreeCurve,
}

impl QuadrantCheck {
    /// Begins with quadrant `first`, in trees with these offsets; `before` has the corner and level of the
    /// previous one.
    #[must_use]
    pub fn new(dimension: usize, offsets: &[i64], first: u64, before: Option<(&[i32], u8)>) -> Self {
        let begin = i64::try_from(first).unwrap_or(i64::MAX);
        let tree = offsets.partition_point(|&offset| offset <= begin).saturating_sub(1);
        let curve = before
            .map_or_else(|| TreeCurve::new(dimension), |(corner, level)| TreeCurve::after(corner, level));
        Self { number: first, tree, curve }
    }

    /// Adds the next quadrant. Returns its contribution to the checksum.
    ///
    /// # Errors
    /// If it is wrong.
    #[inline]
    pub fn add(&mut self, offsets: &[i64], corner: &[i32], level: u8) -> Result<u64, MeshError> {
        let number = i64::try_from(self.number).unwrap_or(i64::MAX);
        let begins = |tree: usize, at: i64| offsets.get(tree) == Some(&at);
        if begins(self.tree + 1, number) {
            self.tree += 1;
        }
        if begins(self.tree, number) {
            self.curve = TreeCurve::new(corner.len());
        }
        let (number, tree) = (self.number, self.tree as u64);
        self.curve.add(corner, level).map_err(|wrong| wrong.of("quadrant", number, tree))?;
        self.number += 1;
        if begins(self.tree + 1, i64::try_from(self.number).unwrap_or(i64::MAX)) {
            self.curve.end(number, tree)?;
        }
        Ok(term(number, tree, level.into()))
    }
}

/// A number of an array.
fn number_of(number: impl Into<i64>) -> i64 {
    number.into()
}

/// A number of an array that was compared with its bounds.
fn place(number: impl Into<i64>) -> usize {
    usize::try_from(number.into()).unwrap_or(usize::MAX)
}

/// Requires that the faces of trees are connected in pairs. The numbers must be within their bounds.
///
/// # Errors
/// If a face does not lead back.
pub fn check_faces(
    dimension: usize,
    to_tree: &[impl Copy + Into<i64>],
    to_face: &[impl Copy + Into<i64>],
) -> Result<(), MeshError> {
    let n = 2 * dimension;
    for (at, (&tree, &code)) in to_tree.iter().zip(to_face).enumerate() {
        let (tree, code) = (place(tree), place(code));
        let back = tree * n + code % n;
        let expected = (at / n, at % n + code / n * n);
        if (place(to_tree[back]), place(to_face[back])) != expected || (back == at && code >= n) {
            let (from, face) = (at / n, at % n);
            let words = format!("tree {from}: face {face} leads to tree {tree}, which does not lead back");
            return Err(MeshError::new("tree_to_tree", words));
        }
    }
    Ok(())
}

/// A kind of entity that several trees share.
#[derive(Clone, Copy, Debug)]
pub struct SharedKind {
    /// `edge` or `corner`.
    pub what: &'static str,
    /// Its datasets: the number for each tree, the offsets, the trees of the entries, and their codes.
    pub parts: [Part; 4],
    /// The number of such entities of a tree.
    pub each: u64,
    /// The number of codes for those of one tree, including directions.
    pub codes: u64,
}

impl SharedKind {
    /// The edges of cubes.
    pub const EDGES: Self = Self {
        what: "edge",
        parts: [TREE_TO_EDGE, EDGE_OFFSETS, EDGE_TO_TREE, EDGE_TO_EDGE],
        each: 12,
        codes: 24,
    };

    /// The corners of squares or cubes.
    #[must_use]
    pub const fn corners(dimension: usize) -> Self {
        let parts = [TREE_TO_CORNER, CORNER_OFFSETS, CORNER_TO_TREE, CORNER_TO_CORNER];
        Self { what: "corner", parts, each: 1 << dimension, codes: 1 << dimension }
    }

    /// Requires that offsets begin with 0, never decrease, and end with the number of entries. They are those
    /// from `first` on of `rows` offsets; `before` precedes them.
    ///
    /// # Errors
    /// If they do not.
    pub fn check_offsets(
        &self,
        offsets: &[impl Copy + Into<i64>],
        (first, rows): (u64, u64),
        mut before: i64,
        entries: u64,
    ) -> Result<(), MeshError> {
        let all = i64::try_from(entries).unwrap_or(i64::MAX);
        for (row, &offset) in (first..).zip(offsets) {
            let found = number_of(offset);
            let words = if row == 0 && (found != 0 || rows < 2) {
                format!("found {found} as the first of {rows} numbers, expected 0 and at least 2 numbers")
            } else if found < before || found > all || (row + 1 == rows && found != all) {
                format!("number {row}: found {found}, expected at least {before}, and {all} at the end")
            } else {
                before = found;
                continue;
            };
            return Err(MeshError::new(self.parts[1].name, words));
        }
        Ok(())
    }

    /// Requires that each edge (corner) of a tree with a number has an entry under this number, at most once
    /// in each direction, and that there are no other entries. The numbers must be within their bounds, and
    /// the offsets checked. `seen` has a byte, initially 0, for each number in `tree_to`.
    ///
    /// # Errors
    /// If an entry is wrong or missing.
    pub fn check(
        &self,
        tree_to: &[impl Copy + Into<i64>],
        offsets: &[impl Copy + Into<i64>],
        to_tree: &[impl Copy + Into<i64>],
        to_code: &[impl Copy + Into<i64>],
        seen: &mut [u8],
    ) -> Result<(), MeshError> {
        let (what, each) = (self.what, place(i64::try_from(self.each).unwrap_or(1)));
        for (number, bounds) in offsets.windows(2).enumerate() {
            for entry in place(bounds[0])..place(bounds[1]) {
                let (tree, code) = (place(to_tree[entry]), place(to_code[entry]));
                let at = tree * each + code % each;
                let direction = 1 << (code / each);
                if number_of(tree_to[at]) != i64::try_from(number).unwrap_or(-2) || seen[at] & direction != 0
                {
                    let words = format!("entry {entry}, of {what} {number}, does not refer to tree {tree}");
                    return Err(MeshError::new(self.parts[2].name, words));
                }
                seen[at] |= direction;
            }
        }
        match tree_to.iter().zip(seen).position(|(&number, seen)| number_of(number) >= 0 && *seen == 0) {
            Some(at) => {
                let (tree, place, number) = (at / each, at % each, number_of(tree_to[at]));
                let words = format!("tree {tree}: {what} {place} has number {number}, but no entry");
                Err(MeshError::new(self.parts[0].name, words))
            }
            None => Ok(()),
        }
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    const HALF: i32 = 1 << 29;

    #[test]
    fn quadrants_fill_a_tree() {
        let mut curve = TreeCurve::new(2);
        for corner in [[0, 0], [HALF, 0], [0, HALF]] {
            curve.add(&corner, 1).unwrap();
        }
        for (x, y) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            assert!(!curve.is_full());
            curve.add(&[HALF + x * HALF / 2, HALF + y * HALF / 2], 2).unwrap();
        }
        assert!(curve.is_full());
        curve.add(&[0, 0], 0).unwrap_err();
    }

    #[test]
    fn the_finest_quadrants_of_three_dimensions() {
        let mut curve = TreeCurve::new(3);
        for corner in [
            [0, 0, 0],
            [1, 0, 0],
            [0, 1, 0],
            [1, 1, 0],
            [0, 0, 1],
            [1, 0, 1],
            [0, 1, 1],
            [1, 1, 1],
            [2, 0, 0],
        ] {
            curve.add(&corner, 30).unwrap();
        }
        assert!(!curve.is_full());
    }

    #[test]
    fn wrong_quadrants() {
        for (first, second, level) in [
            ([0, 0], [0, 0], 1),        // twice
            ([0, 0], [0, HALF], 1),     // one is missing
            ([0, 0], [HALF, 0], 0),     // not a multiple
            ([0, 0], [HALF + 1, 0], 1), // not a corner
            ([0, 0], [-HALF, 0], 1),
            ([0, 0], [HALF, 0], 31),
        ] {
            let mut curve = TreeCurve::new(2);
            curve.add(&first, 1).unwrap();
            curve.add(&second, level).unwrap_err();
        }
    }
}
