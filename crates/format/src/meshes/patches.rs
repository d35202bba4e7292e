//! Patches of block-structured codes (docs/patches.md): the rules for their levels and boxes.

use super::MeshError;
use super::checksum::{Checksum, term};

/// The most cells of all patches.
pub const MOST: u64 = 1 << 60;
/// The most levels, so that a damaged number costs no memory.
const MOST_LEVELS: u64 = 1000;

/// The levels and the domain of a mesh of patches. The same on all ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// The number of axes: d, 1 to 3.
    pub dimension: usize,
    /// For each level and axis: the number of cells side by side in one cell of the previous level; 1 for
    /// level 0.
    pub ratio: Vec<i32>,
    /// The first cell on each axis, followed by the number of cells on each axis, in cells of level 0.
    pub domain: Vec<i64>,
    /// The lower bound of the domain on each axis, followed by the size of a cell of level 0 on each axis.
    pub geometry: Vec<f64>,
}

impl Frame {
    /// The number of levels.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.ratio.len().checked_div(self.dimension).unwrap_or(0)
    }

    /// Requires that levels, ratios, domain and geometry are consistent.
    ///
    /// # Errors
    /// If they are not.
    pub fn check(&self) -> Result<(), MeshError> {
        let (d, levels) = (self.dimension, self.levels());
        if !(1..=3).contains(&d) || levels == 0 || self.ratio.len() != levels * d {
            let numbers = self.ratio.len();
            let words = format!(
                "found {numbers} numbers for {d} axes and {levels} levels, expected a number for each of 1 to 3 axes on each level"
            );
            return Err(MeshError::new("ratio", words));
        }
        check_levels(levels as u64)?;
        for (place, &ratio) in self.ratio.iter().enumerate() {
            if ratio < 1 || (place < d && ratio != 1) {
                let level = place / d;
                let words =
                    format!("level {level}: found {ratio}, expected a positive number, and 1 for level 0");
                return Err(MeshError::new("ratio", words));
            }
        }
        for (part, found) in [("domain", self.domain.len()), ("geometry", self.geometry.len())] {
            if found != 2 * d {
                let words = format!("found {found} numbers, expected {}, 2 for each axis", 2 * d);
                return Err(MeshError::new(part, words));
            }
        }
        for axis in 0..d {
            let (first, cells) = (self.domain[axis], self.domain[d + axis]);
            if cells < 1 || first.checked_add(cells).is_none() {
                let words = match cells {
                    ..1 => format!("axis {axis}: found {cells} cells, expected at least 1"),
                    _ => format!(
                        "axis {axis}: found {cells} cells from {first} on, expected indices of 64 bits"
                    ),
                };
                return Err(MeshError::new("domain", words));
            }
            // Compares bits, from the smallest positive number up to the largest finite one, because the program's
            // floating-point environment does not affect them.
            let size = self.geometry[d + axis].to_bits();
            if size == 0 || size >= f64::INFINITY.to_bits() {
                let words = format!(
                    "axis {axis}: found cells of size {}, expected a positive, finite number",
                    self.geometry[d + axis]
                );
                return Err(MeshError::new("geometry", words));
            }
        }
        Ok(())
    }

    /// The number of cells of a patch, which must be within the domain. `cells` has its first cell on each
    /// axis, followed by its number of cells.
    ///
    /// # Errors
    /// If it is wrong.
    fn patch(&self, number: u64, level: usize, cells: &[i64]) -> Result<u64, MeshError> {
        let d = self.dimension;
        let mut all = 1_u64;
        for axis in 0..d {
            let (first, n) = (cells[axis], cells[d + axis]);
            let domain = self.domain[axis]..self.domain[axis] + self.domain[d + axis];
            let is_inside = |cell| self.coarse(level, axis, cell).is_some_and(|cell| domain.contains(&cell));
            let last = u64::try_from(n).ok().filter(|&n| n > 0).and_then(|_| first.checked_add(n - 1));
            let is_inside = is_inside(first) && last.is_some_and(is_inside);
            match all.checked_mul(n.unsigned_abs()).filter(|&all| all < MOST && is_inside) {
                Some(product) => all = product,
                None => {
                    let words = format!(
                        "patch {number}: found {n} cells from {first} on axis {axis}, expected cells inside the domain"
                    );
                    return Err(MeshError::new("boxes", words));
                }
            }
        }
        Ok(all)
    }

    /// The cell of level 0 that contains a cell of a level.
    fn coarse(&self, level: usize, axis: usize, cell: i64) -> Option<i64> {
        let ratios = self.ratio[axis..].iter().step_by(self.dimension).skip(1).take(level);
        ratios.copied().try_fold(cell, |cell, ratio| cell.checked_div_euclid(ratio.into()))
    }
}

/// Checks the patches of a mesh one after the other.
#[derive(Clone, Debug)]
pub struct PatchChecker<'a> {
    frame: &'a Frame,
    next: u64,
    level: i32,
    /// The cells of the patches so far.
    pub cells: u64,
    /// The contribution of the patches so far to the checksum.
    pub checksum: Checksum,
}

impl<'a> PatchChecker<'a> {
    /// Begins with patch `first`.
    #[must_use]
    pub fn new(frame: &'a Frame, first: u64) -> Self {
        Self { frame, next: first, level: 0, cells: 0, checksum: Checksum::default() }
    }

    /// Adds the next patch. Returns the number of its cells.
    ///
    /// # Errors
    /// If it is wrong.
    pub fn add(&mut self, level: i32, cells: &[i64]) -> Result<u64, MeshError> {
        let number = self.next;
        let (least, most) = (self.level, self.frame.levels() - 1);
        let found = usize::try_from(level).ok().filter(|&found| found <= most && level >= least);
        let Some(found) = found else {
            let words = format!("patch {number}: found level {level}, expected {least} to {most}");
            return Err(MeshError::new("level", words));
        };
        let n = self.frame.patch(number, found, cells)?;
        self.checksum = self.checksum.and(term_of(number, level, cells));
        self.cells += n;
        (self.next, self.level) = (number + 1, level);
        if self.cells >= MOST {
            return Err(MeshError::new(
                "boxes",
                format!("patch {number}: found more than 2^60 cells in the patches up to this one"),
            ));
        }
        Ok(n)
    }

    /// Requires that there is a patch.
    ///
    /// # Errors
    /// If there is none.
    pub fn end(&self) -> Result<(), MeshError> {
        if self.next == 0 {
            Err(MeshError::new("boxes", "found no patches, expected at least 1"))
        } else {
            Ok(())
        }
    }
}

/// Requires that patches are ordered by level.
///
/// # Errors
/// If one with a level follows one with a higher level `before`.
pub fn check_order(number: u64, before: i32, level: i32) -> Result<(), MeshError> {
    if level >= before {
        return Ok(());
    }
    let words = format!(
        "patch {number}: found level {level} after level {before}, expected patches in the order of their levels"
    );
    Err(MeshError::new("level", words))
}

/// The contribution of a patch to the checksum of the mesh.
fn term_of(number: u64, level: i32, cells: &[i64]) -> u64 {
    let begin = term(number, 0, i64::from(level).cast_unsigned());
    cells.iter().fold(begin, |value, n| term(value, 0, n.cast_unsigned()))
}

/// Requires that a mesh has at most 1000 levels.
///
/// # Errors
/// If it has more.
pub fn check_levels(levels: u64) -> Result<(), MeshError> {
    if levels <= MOST_LEVELS {
        return Ok(());
    }
    Err(MeshError::new("ratio", format!("found {levels} levels, expected at most {MOST_LEVELS}")))
}
