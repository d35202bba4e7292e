//! Meshes of points and cells of any shapes: docs/cells.md.

use crate::read::{Numbers, Source, numbers_if, open, open_if};
use scda_format::meshes::MeshError;
use scda_format::meshes::cells::{CellChecker, check_point};
use scda_format::meshes::parts::{CELL_OFFSETS, CELL_POINTS, CELL_TYPES, POINTS};

/// Checks a mesh, and returns the numbers of its points and cells.
///
/// # Errors
/// If the mesh is invalid, and those of the source.
pub fn check<S: Source>(source: &mut S) -> Result<(u64, u64), S::Error> {
    let points = open_if(source, &POINTS, 0, None)?;
    let points = points.ok_or_else(|| MeshError::new(POINTS.name, "is missing"));
    let points = source.hold(points)?.shape[0];
    let types = open(source, &CELL_TYPES, 0, None)?;
    let cells = types.shape[0];
    let offsets = open(source, &CELL_OFFSETS, 0, cells.checked_add(1))?;
    let corners = open(source, &CELL_POINTS, 0, None)?;
    // This also limits the number of types.
    source.bound(&offsets)?;
    let (mut types, mut offsets) = (Numbers::new(types), Numbers::new(offsets));
    let begin = offsets.next(source)?;
    let mut checked = source.hold(CellChecker::new(0, begin, corners.shape[0]))?;
    for _ in 0..cells {
        // The type has been checked.
        let shape = u8::try_from(types.next(source)?).unwrap_or(u8::MAX);
        let end = offsets.next(source)?;
        source.hold(checked.add(shape, end))?;
    }
    source.hold(checked.end())?;
    source.bound(&corners)?;
    numbers_if(source, corners, i64::from_ne_bytes, false, |first, batch| {
        (first..).zip(batch).try_for_each(|(at, &found)| check_point(at, found, points))
    })?;
    Ok((points, cells))
}
