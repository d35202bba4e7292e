//! Particles in the cells of a mesh (docs/particles.md): the rules for their offsets.

use super::MeshError;
use super::parts::OFFSETS;

/// The most particles: all numbers in a file are below 2^63, with room for sums.
pub const MOST: u64 = 1 << 60;

/// Requires that the particles of a cell can be those from `begin` to `end`, of `all` if that is known.
///
/// # Errors
/// If they cannot.
#[inline]
pub fn check_cell(cell: u64, begin: i64, end: i64, all: Option<u64>) -> Result<(), MeshError> {
    let is_within = all.is_none_or(|all| end.unsigned_abs() <= all);
    if begin >= 0 && end >= begin && is_within && (cell > 0 || begin == 0) {
        return Ok(());
    }
    let most = all.map_or_else(String::new, |all| format!(", up to {all}"));
    let first = if cell == 0 { ", and 0 as begin" } else { "" };
    let words = format!(
        "cell {cell}: found particles {begin} to {end}, expected an end not before the beginning{most}{first}"
    );
    Err(MeshError::new(OFFSETS.name, words))
}

/// Requires that offsets have at least one cell.
///
/// # Errors
/// If they do not.
pub fn check_count(numbers: u64) -> Result<(), MeshError> {
    let words = || format!("found {numbers} numbers, expected at least 2");
    if numbers < 2 { Err(MeshError::new(OFFSETS.name, words())) } else { Ok(()) }
}

/// Requires that the offsets of all cells are consistent.
///
/// # Errors
/// If they are not.
pub fn check_offsets(offsets: &[i64]) -> Result<(), MeshError> {
    let mut cells = (0..).zip(offsets.windows(2));
    cells.try_for_each(|(cell, ends)| check_cell(cell, ends[0], ends[1], None))
}
