//! A running hash of a rank's arguments, by which the ranks compare them.
//!
//! The hashes always differ if the counts of elements differ on one rank only, or if up to 2^40 elements
//! moved between two of up to 2^20 ranks. Otherwise they collide with a probability of about 2^-64, unless
//! somebody constructs the arguments to that end.

/// One step of a running hash. The hashes of two sequences that differ in one value always differ.
pub fn mix(hash: u64, value: u64) -> u64 {
    hash.wrapping_mul(FACTOR).wrapping_add(value)
}

/// Odd, so that no difference is lost. One less is twice an odd number, so that no exchange is lost.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C17;

/// The steps of [`mix`] for a few numbers.
pub fn mix_all(hash: u64, values: &[u64]) -> u64 {
    values.iter().fold(hash, |hash, &value| mix(hash, value))
}

/// A sum of many numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrappingSum {
    /// The sum modulo 2^64.
    pub sum: u64,
    /// The bitwise or of the numbers.
    pub bits: u64,
}

/// Like [`mix_all`], for many numbers; also returns their sum.
#[inline(never)]
pub fn mix_and_sum(hash: u64, values: &[u64]) -> (u64, WrappingSum) {
    // Every fourth value is hashed separately, so that no step waits for the three before it.
    const FOURTH: u64 = FACTOR.wrapping_pow(4);
    let (fours, rest) = values.as_chunks::<4>();
    let start = ([0, 0, 0, hash], 0_u64, 0);
    let (hashes, sum, bits) = fours.iter().fold(start, |(hashes, sum, bits), four| {
        let step = |i: usize| hashes[i].wrapping_mul(FOURTH).wrapping_add(four[i]);
        let sum = four.iter().fold(sum, |sum: u64, &value| sum.wrapping_add(value));
        (std::array::from_fn(step), sum, four.iter().fold(bits, |bits, value| bits | value))
    });
    let hash = hashes.into_iter().fold(0, mix);
    rest.iter().fold((hash, WrappingSum { sum, bits }), |(hash, WrappingSum { sum, bits }), &value| {
        (mix(hash, value), WrappingSum { sum: sum.wrapping_add(value), bits: bits | value })
    })
}

/// The contribution of a rank's count to [`hash_of_counts`](super::partition::hash_of_counts). The hash is
/// the sum of these and of `first_term`, so ranks can compute it without knowing all counts.
pub fn term_of_count(count: u64, rank: usize, size: usize) -> u64 {
    count.wrapping_mul(power(size.saturating_sub(rank + 1)))
}

/// The value of [`hash_of_counts`](super::partition::hash_of_counts) for `size` counts of 0.
pub fn first_term(size: usize) -> u64 {
    (size as u64).wrapping_mul(power(size))
}

fn power(exponent: usize) -> u64 {
    // Powers of the factor repeat after at most 2^62 steps, and there are fewer ranks.
    FACTOR.wrapping_pow(u32::try_from(exponent).unwrap_or(0))
}

/// A step of [`mix`] for the length, and one for every eight bytes.
#[inline(never)]
pub fn mix_bytes(hash: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    words.fold(mix(hash, bytes.len() as u64), mix)
}

#[cfg(test)]
mod tests {
    use super::super::partition::hash_of_counts;
    use super::*;

    #[test]
    fn many_numbers_are_hashed_as_one_after_the_other() {
        let values: Vec<u64> = (0..200_u64).map(|value| (value * value) << (value % 50)).collect();
        for length in 0..values.len() {
            let values = &values[..length];
            let bits = values.iter().fold(0, |bits, value| bits | value);
            let sum = values.iter().fold(0, |sum: u64, &value| sum.wrapping_add(value));
            assert_eq!(mix_and_sum(7, values), (mix_all(7, values), WrappingSum { sum, bits }));
        }
    }

    #[test]
    fn the_hash_of_counts_is_a_sum_over_the_ranks() {
        for size in [1, 2, 3, 17, 100] {
            let counts: Vec<u64> = (0..size as u64).map(|rank| (rank * rank) << (rank % 40)).collect();
            let terms = counts.iter().enumerate().map(|(rank, &count)| term_of_count(count, rank, size));
            assert_eq!(terms.fold(first_term(size), u64::wrapping_add), hash_of_counts(&counts));
        }
    }

    #[test]
    fn no_move_of_elements_is_lost() {
        for log in 0..20 {
            // Moving n elements between ranks at this distance changes the hash by an odd multiple of n times
            // this.
            let change = FACTOR.wrapping_pow(1 << log).wrapping_sub(1);
            assert!(change.trailing_zeros() + 40 < 64, "2^{log} ranks apart");
        }
    }
}
