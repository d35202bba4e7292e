//! Conversions between the number types of files, memory and MPI, and sums of sizes that fit a file.

/// The largest offset or size of a file: 63 bits, as in `off_t` and `MPI_Offset`.
pub const MAX_OFFSET: u64 = i64::MAX as u64;

/// `a * b` if it fits 63 bits.
#[must_use]
pub fn product(a: u64, b: u64) -> Option<u64> {
    a.checked_mul(b).filter(|&p| p <= MAX_OFFSET)
}

/// `a + b` if it fits 63 bits.
#[must_use]
pub fn sum(a: u64, b: u64) -> Option<u64> {
    a.checked_add(b).filter(|&s| s <= MAX_OFFSET)
}

/// A number of bytes or elements as a `usize`.
///
/// For numbers that are known to fit, because they describe something in memory or were compared with a
/// bound. This is one documented place instead of many casts that could truncate. If a number does not fit
/// after all, on a 32-bit machine, the result is the largest `usize`; no slice or allocation has that length,
/// so it cannot be mistaken for a small number.
#[inline]
pub fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// 2 to a power from -1074 to 1023. Exact on all machines, which Rust guarantees neither for `powi` nor for
/// `exp2`.
pub fn power_of_two(power: i32) -> f64 {
    match power {
        -1022.. => f64::from_bits(u64::from((power + 1023).cast_unsigned()) << 52),
        _ => f64::from_bits(1 << (power + 1074)),
    }
}

/// The most bytes that [`put_packed`] writes.
pub const PACKED_BYTES: usize = 10;

/// Writes a number in groups of seven bits, the lowest first, each with the highest bit of its byte set if
/// another one follows. Returns the number of bytes.
#[inline]
pub fn put_packed(number: u64, out: &mut [u8]) -> usize {
    let (mut rest, mut bytes) = (number, 0);
    while rest >= 0x80 {
        out[bytes] = rest.to_le_bytes()[0] | 0x80;
        bytes += 1;
        rest >>= 7;
    }
    out[bytes] = rest.to_le_bytes()[0];
    bytes + 1
}

/// The number of bytes that [`put_packed`] writes.
#[inline]
pub fn packed_bytes(number: u64) -> u64 {
    u64::from((number | 1).ilog2()) / 7 + 1
}

/// Removes a number that [`put_packed`] has written from the beginning of `rest`; `None` if there is none.
pub fn take_packed(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, others) = rest.split_first()?;
        if shift == 63 && byte > 1 {
            return None;
        }
        *rest = others;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn packed_numbers_come_back() {
        for number in [0, 1, 127, 128, 16_383, 16_384, super::MAX_OFFSET, u64::MAX] {
            let mut bytes = [0; super::PACKED_BYTES];
            let length = super::put_packed(number, &mut bytes);
            assert_eq!(length as u64, super::packed_bytes(number));
            let mut rest = &bytes[..length];
            assert_eq!((super::take_packed(&mut rest), rest), (Some(number), &[][..]));
            assert_eq!(super::take_packed(&mut &bytes[..length - 1]), None);
        }
        // More than 64 bits.
        let mut bytes = [0xff; super::PACKED_BYTES];
        bytes[super::PACKED_BYTES - 1] = 2;
        assert_eq!(super::take_packed(&mut &bytes[..]), None);
    }

    #[test]
    fn powers_of_two_are_exact() {
        let powers = (-1074..=1023).map(super::power_of_two).collect::<Vec<_>>();
        assert_eq!((powers[0], powers[1074]), (5e-324, 1.0));
        assert!(powers.windows(2).all(|pair| pair[0] + pair[0] == pair[1]));
    }

    #[test]
    fn a_number_is_never_taken_for_a_smaller_one() {
        assert_eq!(super::to_usize(0), 0);
        assert_eq!(super::to_usize(1 << 31), 1 << 31);
        assert_eq!(super::to_usize(u64::MAX), usize::MAX);
    }
}
