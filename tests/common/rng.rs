//! Numbers that look random.
#![allow(clippy::cast_possible_truncation)] // test data

/// SplitMix64: the tests' own, so that they are the same everywhere.
#[derive(Clone)]
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// Bytes that compress (few values) or do not.
    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        let values = [2, 256][self.below(2) as usize];
        (0..n).map(|_| self.below(values) as u8).collect()
    }
}
