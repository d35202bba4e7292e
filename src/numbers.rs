//! Numbers between the types that files, memory and MPI have for them.

/// A number of bytes or elements as memory counts them.
///
/// For numbers that are known to fit, because they are those of something in memory or were compared with a bound; this
/// says so in one place instead of a cast that could cut digits off. A number that does not fit after all, on a machine
/// of 32 bits, becomes the greatest one: no slice or allocation has that length, so that it cannot pass for a small one.
#[inline]
pub fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_number_is_never_taken_for_a_smaller_one() {
        assert_eq!(super::to_usize(0), 0);
        assert_eq!(super::to_usize(1 << 31), 1 << 31);
        assert_eq!(super::to_usize(u64::MAX), usize::MAX);
    }
}
