//! The checksum of a mesh, by which what belongs to it names it.

use super::column::Column;
use super::{Checked, wrong};
use scda_meshes::checksum::MESH;

/// A mesh that was checked.
#[derive(Clone, Copy)]
pub struct Quadrants {
    pub quadrants: u64,
    pub trees: u64,
    pub checksum: u64,
}

/// Requires that a dataset which names a mesh names this one.
pub fn expect_mesh(column: Option<&Column>, number: u64, checksum: u64, whose: &str) -> Checked {
    let Some(found) = column.and_then(|column| column.attribute(MESH)) else { return Ok(()) };
    let expected = format!("\"{checksum:016x}\"");
    if found == expected {
        return Ok(());
    }
    wrong(
        number,
        format!("attribute {MESH}: found {found}, expected {expected}, the checksum of the mesh {whose}"),
    )
}
