//! Meshes of points and cells of any shapes (docs/cells.md): the rules for their numbers.

use super::MeshError;

/// The number of points of a cell, by VTK shape.
enum PointCount {
    Of(u64),
    /// Any number: chains, strips, polygons, sets of points, and Lagrange and Bézier shapes.
    Any,
    /// Not a shape that is described by points.
    None,
}

fn points_of(shape: u8) -> PointCount {
    PointCount::Of(match shape {
        0 => 0,
        1 => 1,
        3 => 2,
        5 | 21 => 3,
        8..=10 | 35 => 4,
        14 => 5,
        13 | 22 | 30 => 6,
        34 => 7,
        11 | 12 | 23 => 8,
        28 => 9,
        15 | 24 => 10,
        16 | 31 => 12,
        27 => 13,
        26 => 15,
        32 => 18,
        37 => 19,
        25 => 20,
        33 => 24,
        29 => 27,
        2 | 4 | 6 | 7 | 36 | 41 | 68..=81 => return PointCount::Any,
        _ => return PointCount::None,
    })
}

/// Checks the cells of a mesh one after the other.
#[derive(Clone, Debug)]
pub struct CellChecker {
    next: u64,
    begin: i64,
    all: i64,
}

impl CellChecker {
    /// Begins with cell `first`, whose points begin at number `begin` of the `all` points of all cells.
    ///
    /// # Errors
    /// If the first offset is wrong.
    pub fn new(first: u64, begin: i64, all: u64) -> Result<Self, MeshError> {
        if first == 0 && begin != 0 {
            return Err(MeshError::new("cell_offsets", format!("number 0: found {begin}, expected 0")));
        }
        Ok(Self { next: first, begin, all: i64::try_from(all).unwrap_or(i64::MAX) })
    }

    /// Adds the next cell, whose points end before number `end`.
    ///
    /// # Errors
    /// If the cell is wrong.
    #[inline]
    pub fn add(&mut self, shape: u8, end: i64) -> Result<(), MeshError> {
        let &mut Self { next: cell, begin, all } = self;
        if end < begin || end > all {
            let number = cell + 1;
            let words = format!("number {number}: found {end}, expected {begin} to {all}");
            return Err(MeshError::new("cell_offsets", words));
        }
        let found = (end - begin).unsigned_abs();
        match points_of(shape) {
            PointCount::Of(expected) if found != expected => {
                let words = format!(
                    "cell {cell}: found {found} points, expected {expected}, as cells of type {shape} have"
                );
                return Err(MeshError::new("cell_offsets", words));
            }
            PointCount::None => {
                let words = format!(
                    "cell {cell}: found type {shape}, expected a shape of VTK that its points describe"
                );
                return Err(MeshError::new("cell_types", words));
            }
            PointCount::Of(_) | PointCount::Any => {}
        }
        (self.next, self.begin) = (cell + 1, end);
        Ok(())
    }

    /// Requires that the last cell ends with the last point.
    ///
    /// # Errors
    /// If it does not.
    pub fn end(&self) -> Result<(), MeshError> {
        let &Self { next, begin, all } = self;
        if begin == all {
            return Ok(());
        }
        let words = format!("number {next}: found {begin}, expected {all}, the end of cell_points");
        Err(MeshError::new("cell_offsets", words))
    }
}

/// Requires that entry `at` in the points of all cells, `found`, is one of the `points` points of the mesh.
///
/// # Errors
/// If it is not.
#[inline]
pub fn check_point(at: u64, found: i64, points: u64) -> Result<(), MeshError> {
    if u64::try_from(found).is_ok_and(|found| found < points) {
        return Ok(());
    }
    let words = format!("number {at}: found {found}, expected a point from 0 to below {points}");
    Err(MeshError::new("cell_points", words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_checked_in_batches() {
        let mut checked = CellChecker::new(0, 0, 7).unwrap();
        checked.add(5, 3).unwrap();
        let mut rest = CellChecker::new(1, 3, 7).unwrap();
        assert!(rest.end().is_err());
        rest.add(9, 7).unwrap();
        rest.end().unwrap();
        let wrong = |shape, end| CellChecker::new(1, 3, 7).unwrap().add(shape, end).unwrap_err();
        assert_eq!(wrong(9, 8).words, "number 2: found 8, expected 3 to 7");
        assert_eq!((wrong(42, 7).part, wrong(12, 7).part), ("cell_types", "cell_offsets"));
        assert!(CellChecker::new(0, 1, 7).is_err());
        assert!(
            check_point(0, -1, 5).is_err() && check_point(0, 5, 5).is_err() && check_point(0, 4, 5).is_ok()
        );
    }
}
