//! The checksum of a mesh, by which what belongs to it names it.

use super::column::Column;
use super::{Checked, wrong};

/// The attribute of a mesh and of what belongs to it: the checksum of the mesh.
pub const MESH: &str = "scda_mesh";
/// Its attribute that says how many dimensions it has.
pub const DIMENSION: &str = "dimension";

/// A mesh that was checked.
#[derive(Clone, Copy)]
pub struct Quadrants {
    pub quadrants: u64,
    pub trees: u64,
    pub checksum: u64,
}

/// What the quadrant with this number adds to the checksum of its mesh.
pub const fn term(number: u64, tree: u64, level: u64) -> u64 {
    const fn mixed(v: u64) -> u64 {
        (v ^ v >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
    }
    let place = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let what = (256 * tree).wrapping_add(level).wrapping_mul(0xd134_2543_de82_ef95);
    let v = mixed(mixed(place.wrapping_add(what)));
    v ^ v >> 32
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
