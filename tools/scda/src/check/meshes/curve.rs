//! Whether quadrants fill a tree in the order of the Morton curve.

/// The finest level: coordinates are in units of 2^-30 of the edge of a tree.
const MAX_LEVEL: u8 = 30;

/// The quadrants of one tree, one after the other.
pub struct TreeCurve {
    dimension: usize,
    /// Where the next quadrant begins; `None` if the tree is full.
    next: Option<[u32; 3]>,
}

impl TreeCurve {
    /// An empty tree of 2 or 3 dimensions.
    pub fn new(dimension: usize) -> Self {
        Self { dimension, next: Some([0; 3]) }
    }

    /// Adds a quadrant. An error is in words.
    pub fn add(&mut self, corner: &[i32], level: u8) -> Result<(), String> {
        if level > MAX_LEVEL {
            return Err(format!("found level {level}, expected at most {MAX_LEVEL}"));
        }
        let Some(next) = self.next else {
            return Err("found a quadrant after the end of its tree".to_owned());
        };
        let edge = 1_u32 << (MAX_LEVEL - level);
        for (dimension, (&found, expected)) in corner.iter().zip(next).enumerate() {
            if u32::try_from(found) != Ok(expected) {
                return Err(format!(
                    "found coordinate {dimension} {found}, expected {expected}, where the quadrant before ends"
                ));
            }
            if expected % edge != 0 {
                return Err(format!(
                    "found coordinate {dimension} {found}, expected a multiple of {edge} for level {level}"
                ));
            }
        }
        self.next = after(next, level, self.dimension);
        Ok(())
    }

    /// Whether the tree is full.
    pub fn is_full(&self) -> bool {
        self.next.is_none()
    }
}

/// Where the quadrant after this one begins.
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
