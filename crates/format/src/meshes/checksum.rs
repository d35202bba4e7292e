//! The checksum of a mesh, with which fields and particles refer to the mesh that they belong to.

use std::fmt;

/// The attribute with the checksum, of a mesh and of what belongs to it.
pub const MESH: &str = "scda_mesh";

/// The checksum of a mesh. Its text form is the value of the attribute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum(pub u64);

impl Checksum {
    /// Adds the contribution of a quadrant or patch.
    #[inline]
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

/// The function h of docs/forest.md: the contribution of the quadrant with this number to the checksum of its
/// mesh.
#[inline]
#[must_use]
pub const fn term(number: u64, tree: u64, level: u64) -> u64 {
    let place = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let what = tree.wrapping_mul(256).wrapping_add(level).wrapping_mul(0xd134_2543_de82_ef95);
    mixed(place.wrapping_add(what))
}

/// The contribution of quadrants from number `first` on, with these levels, to the checksum of their mesh. `end` has
/// where the quadrants of a tree end; `None`: after all of these.
#[must_use]
pub fn of_quadrants(first: u64, level: &[u8], end: impl Fn(usize) -> Option<i64>) -> Checksum {
    let mut tree = 0_usize;
    (first..).zip(level).fold(Checksum::default(), |sum, (number, &level)| {
        while end(tree).is_some_and(|end| end.cast_unsigned() <= number) {
            tree += 1;
        }
        sum.and(term(number, tree as u64, level.into()))
    })
}

/// Mixes the bits of a number, so that each of them changes about half of the others.
#[inline]
#[must_use]
pub const fn mixed(v: u64) -> u64 {
    let v = (v ^ v >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let v = (v ^ v >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    v ^ v >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_the_page() {
        let ends = |tree: usize| [4, 5].get(tree).copied();
        let (all, rest) = (of_quadrants(0, &[1, 1, 1, 1, 0], ends), of_quadrants(3, &[1, 0], ends));
        assert_eq!(all.to_string(), "752cf7a7fb077e1f");
        assert_eq!(of_quadrants(0, &[1; 3], ends).and(rest.0), all);
        let of = |trees: [(u64, u64); 5]| {
            let terms = (0..).zip(trees).map(|(number, (tree, level))| term(number, tree, level));
            terms.fold(Checksum::default(), Checksum::and).to_string()
        };
        assert_eq!(of([(0, 1), (0, 1), (0, 1), (0, 1), (1, 0)]), "752cf7a7fb077e1f");
        assert_eq!(of([(0, 0), (1, 1), (1, 1), (1, 1), (1, 1)]), "ccb723f11a8ed25f");
    }
}
