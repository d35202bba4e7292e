//! The checksum of a mesh, by which fields and particles name the mesh that they belong to.

use std::fmt;

/// The attribute of a mesh and of what belongs to it.
pub const MESH: &str = "scda_mesh";

/// The checksum of a mesh. As text, it is what the attribute has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum(pub u64);

impl Checksum {
    /// With what one more quadrant or patch adds.
    #[must_use]
    pub const fn and(self, term: u64) -> Self {
        Self(self.0.wrapping_add(term))
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The function h of docs/forest.md: what the quadrant with this number adds to the checksum of its mesh.
#[must_use]
pub const fn term(number: u64, tree: u64, level: u64) -> u64 {
    const fn mixed(v: u64) -> u64 {
        (v ^ v >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
    }
    let place = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let what = tree.wrapping_mul(256).wrapping_add(level).wrapping_mul(0xd134_2543_de82_ef95);
    let v = mixed(mixed(place.wrapping_add(what)));
    v ^ v >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_the_page() {
        let of = |trees: [(u64, u64); 5]| {
            let terms = (0..).zip(trees).map(|(number, (tree, level))| term(number, tree, level));
            terms.fold(Checksum::default(), Checksum::and).to_string()
        };
        assert_eq!(of([(0, 1), (0, 1), (0, 1), (0, 1), (1, 0)]), "752cf7a7fb077e1f");
        assert_eq!(of([(0, 0), (1, 1), (1, 1), (1, 1), (1, 1)]), "ccb723f11a8ed25f");
    }
}
