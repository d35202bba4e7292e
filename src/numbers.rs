//! Conversions between the number types of files, memory and MPI.

/// A number of bytes or elements as a `usize`.
///
/// For numbers that are known to fit, because they describe something in memory or were compared with a bound: one
/// documented place instead of many casts that could truncate. If a number does not fit after all, on a machine of 32
/// bits, the result is the greatest `usize`; no slice or allocation has that length, so it cannot pass for a small number.
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
