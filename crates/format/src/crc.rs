//! The checksums of sealed files: CRC-64/NVME, computed for parts and combined.
//!
//! The CRC begins and ends with all bits inverted, so the CRC of `a` followed by `b` is
//! `shift(of(a), length of b) ^ of(b)`. Each rank therefore shifts the CRC of each of its parts by the number
//! of bytes that follow it, and the XOR of all of them, in any order, is the CRC of the whole. The CRC of an
//! empty part is 0.
//!
//! A CRC is a polynomial over the field of two elements, of degree below 64: the highest bit is its constant term.

use crc_fast::{CrcAlgorithm, Digest};

/// x^64 modulo the polynomial of the CRC: the coefficients of the polynomial below x^64.
const POLYNOMIAL: u64 = 0x9a6c_9329_ac4b_c9b5;
/// The constant polynomial 1.
const ONE: u64 = 1 << 63;

/// A number of bytes is split into this number of 8-bit digits.
const DIGITS: usize = 8;
/// x to the power of 8 times `digit` times 256 to the power of `place`, for each place and digit.
static POWERS: [[u64; 256]; DIGITS] = {
    let mut powers = [[ONE; 256]; DIGITS];
    // One more byte means a factor of x^8.
    let mut step = ONE >> 8;
    let mut place = 0;
    while place < DIGITS {
        let mut digit = 1;
        while digit < 256 {
            powers[place][digit] = multiply_slowly(powers[place][digit - 1], step);
            digit += 1;
        }
        step = multiply_slowly(powers[place][255], step);
        place += 1;
    }
    powers
};

/// For each group of four bits of a CRC: its contribution to the CRC after eight more zero bytes.
static REDUCED: [[u64; 16]; 16] = {
    let mut tables = [[0; 16]; 16];
    let mut x64 = ONE;
    let mut i = 0;
    while i < 64 {
        x64 = times_x(x64);
        i += 1;
    }
    let mut place = 0;
    while place < 16 {
        let mut value = 0;
        while value < 16 {
            tables[place][value] = multiply_slowly(x64, (value as u64) << (4 * place));
            value += 1;
        }
        place += 1;
    }
    tables
};

/// A polynomial times x, modulo the polynomial of the CRC.
const fn times_x(a: u64) -> u64 {
    a >> 1 ^ (POLYNOMIAL & (a & 1).wrapping_neg())
}

/// The product modulo the polynomial, computed bit by bit; used for the tables.
const fn multiply_slowly(mut a: u64, mut b: u64) -> u64 {
    let mut product = 0;
    while b != 0 {
        product ^= a & (b >> 63).wrapping_neg();
        a = times_x(a);
        b <<= 1;
    }
    product
}

/// The carry-less product of two numbers: 127 bits.
fn multiply_without_carries(a: u64, b: u64) -> u128 {
    /// Every fifth bit. If two numbers have no other bits, at most 13 pairs of bits add up at one place of the
    /// product, so carries do not reach the next place in use.
    const FIFTH: u128 = {
        let mut mask = 0;
        let mut bit = 0;
        while bit < 128 {
            mask |= 1 << bit;
            bit += 5;
        }
        mask
    };
    let split = |number: u64| [0, 1, 2, 3, 4].map(|first| u128::from(number) & FIFTH << first);
    let (a, b) = (split(a), split(b));
    let mut product = 0;
    for sum in 0..5 {
        let mut part = 0;
        for first in 0..5 {
            part ^= a[first] * b[(sum + 5 - first) % 5];
        }
        product ^= part & (FIFTH << sum | FIFTH >> (5 - sum));
    }
    product
}

/// The product modulo the polynomial.
#[allow(clippy::cast_possible_truncation)] // halves, and bits of a half
fn multiply(a: u64, b: u64) -> u64 {
    // A polynomial of 128 bits, the highest of which is the constant term.
    let product = multiply_without_carries(a, b) << 1;
    let (low, high) = (product as u64, (product >> 64) as u64);
    REDUCED
        .iter()
        .enumerate()
        .fold(high, |sum, (place, table)| sum ^ table[(low >> (4 * place)) as usize & 15])
}

/// The CRC of these bytes.
#[must_use]
pub fn of(bytes: &[u8]) -> u64 {
    crc_fast::checksum(CrcAlgorithm::Crc64Nvme, bytes)
}

/// The CRC-32C (Castagnoli) of bytes, as defined by Zarr's codec `crc32c`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    // The result has 32 bits.
    u32::try_from(crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes)).unwrap_or(0)
}

/// The contribution of a part with this CRC to the CRC of the whole if `bytes_after` bytes follow it.
#[must_use]
pub fn shift(mut crc: u64, mut bytes_after: u64) -> u64 {
    for powers in &POWERS {
        if bytes_after == 0 {
            break;
        }
        let [digit, ..] = bytes_after.to_le_bytes();
        if digit != 0 {
            crc = multiply(crc, powers[usize::from(digit)]);
        }
        bytes_after >>= 8;
    }
    crc
}

/// The CRC of `bytes` zero bytes.
#[must_use]
pub fn of_zeros(bytes: u64) -> u64 {
    extend_by_zeros(0, bytes)
}

/// The CRC of bytes with the CRC `crc`, followed by `bytes` zero bytes.
#[must_use]
pub fn extend_by_zeros(crc: u64, bytes: u64) -> u64 {
    // The CRC begins and ends with all bits inverted.
    !shift(!crc, bytes)
}

/// The contribution of `count` parts with this CRC, each of which ends `step` bytes after the previous one.
#[must_use]
pub fn of_many(crc: u64, step: u64, mut count: u64) -> u64 {
    let (mut sum, mut some, mut bytes) = (0, crc, step);
    while count > 0 {
        if count & 1 == 1 {
            sum = shift(sum, bytes) ^ some;
        }
        // Doubles the number of parts.
        some ^= shift(some, bytes);
        bytes = bytes.wrapping_mul(2);
        count >>= 1;
    }
    sum
}

/// The CRC of bytes with the CRC `crc`, followed by `bytes`.
#[must_use]
pub fn extend(crc: u64, bytes: &[u8]) -> u64 {
    // The state from which the crate continues is not inverted yet. Does not use shift, which would take longer for
    // short parts.
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc64Nvme, !crc);
    digest.update(bytes);
    digest.finalize()
}

/// For each value of a byte: its CRC after zero bytes in front of it, without inversion at either end.
static BYTES: [u64; 256] = {
    let mut table = [0; 256];
    let mut value = 0;
    while value < 256 {
        let (mut crc, mut bit) = (value as u64, 0);
        while bit < 8 {
            crc = times_x(crc);
            bit += 1;
        }
        table[value] = crc;
        value += 1;
    }
    table
};

/// If the CRCs of two parts of `bytes` bytes differ by this XOR, and a single byte may be the cause: the number of
/// bytes that follow it, and the XOR of its two values. At most one byte can be the cause.
///
/// Other differences are mistaken for that of one byte with a probability of about `bytes` in 2^56.
#[must_use]
pub fn single_byte(difference: u64, bytes: u64) -> Option<(u64, u8)> {
    /// The value of the byte whose entry in the table has this highest byte.
    static OF_HIGHEST: [u8; 256] = {
        let mut inverse = [0; 256];
        let mut value = u8::MAX;
        while value > 0 {
            inverse[(BYTES[value as usize] >> 56) as usize] = value;
            value -= 1;
        }
        inverse
    };
    let mut crc = difference;
    for after in 0..bytes {
        // The byte that was processed last, if there was one.
        let [highest, ..] = crc.to_be_bytes();
        let byte = OF_HIGHEST[usize::from(highest)];
        let before = crc ^ BYTES[usize::from(byte)];
        if before == 0 {
            return (byte != 0).then_some((after, byte));
        }
        crc = before << 8 | u64::from(byte);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// CRC-64/NVME by its definition, bit by bit.
    fn naive(bytes: &[u8]) -> u64 {
        !bytes.iter().fold(u64::MAX, |crc, &byte| (0..8).fold(crc ^ u64::from(byte), |crc, _| times_x(crc)))
    }

    #[test]
    fn the_check_values_of_the_standard() {
        assert_eq!(POLYNOMIAL.reverse_bits(), 0xad93_d235_94c9_3659);
        for (bytes, crc) in [
            (&b"123456789"[..], 0xae8b_1486_0a79_9888),
            (b"", 0),
            (&[0; 4096], 0x6482_d367_eb22_b64e),
            (&[0xff; 4096], 0xc0dd_ba73_02ec_a3ac),
        ] {
            assert_eq!((of(bytes), naive(bytes)), (crc, crc));
        }
    }

    #[test]
    fn a_shift_of_any_number_of_bytes_is_two_shifts() {
        let crc = of(b"something");
        for n in (0..64).flat_map(|bit| [1_u64 << bit, (1 << bit) - 1, (1 << bit) + 12345]) {
            let half = shift(crc, n / 2);
            assert_eq!(shift(shift(half, n / 2), n % 2), shift(crc, n), "{n}");
        }
    }

    #[test]
    fn zeros_and_repeated_parts_need_not_be_read() {
        for bytes in [0, 1, 7, 300] {
            assert_eq!(of_zeros(bytes), of(&vec![0; bytes as usize]));
            let all = [&b"abc"[..], &vec![0; bytes as usize]].concat();
            assert_eq!(extend_by_zeros(of(b"abc"), bytes), of(&all));
        }
        for count in [0, 1, 2, 3, 10, 13] {
            // The gaps contribute nothing.
            let sum = (0..count).fold(0, |sum, _| shift(sum, 100) ^ of(b"part"));
            assert_eq!(of_many(of(b"part"), 100, count), sum, "{count}");
        }
    }

    #[test]
    fn a_byte_that_differs_is_found_by_the_checksum() {
        let bytes: Vec<u8> = (0..3000_u32).map(|i| ((i * i) >> 3) as u8).collect();
        for at in [0, 1, 777, 2991, 2998, 2999] {
            for change in [1, 0x80, 0x41, 0xff] {
                let mut other = bytes.clone();
                other[at] ^= change;
                let difference = of(&bytes) ^ of(&other);
                assert_eq!(single_byte(difference, 3000), Some((2999 - at as u64, change)));
                assert_eq!(single_byte(difference, 2999 - at as u64), None);
                other[(at + 9) % 3000] ^= 1;
                assert_eq!(single_byte(of(&bytes) ^ of(&other), 3000), None);
            }
        }
        assert_eq!(single_byte(0, 3000), None);
    }

    proptest! {
        #[test]
        fn products_are_those_of_the_slow_way(a in any::<u64>(), b in any::<u64>()) {
            prop_assert_eq!(multiply(a, b), multiply_slowly(a, b));
            let naive = (0..64).filter(|bit| b >> bit & 1 == 1).fold(0, |sum, bit| sum ^ u128::from(a) << bit);
            prop_assert_eq!(multiply_without_carries(a, b), naive);
        }

        #[test]
        fn parts_in_any_order_make_the_whole(
            bytes in proptest::collection::vec(any::<u8>(), 0..2000),
            mut cuts in proptest::collection::vec(0..2000_usize, 0..6),
            first in 0..6_usize,
        ) {
            let whole = naive(&bytes);
            prop_assert_eq!(of(&bytes), whole);
            cuts.iter_mut().for_each(|cut| *cut = (*cut).min(bytes.len()));
            cuts.sort_unstable();
            let (starts, ends) = ([&[0], &cuts[..]].concat(), [&cuts[..], &[bytes.len()]].concat());
            let mut parts: Vec<_> = starts.iter().zip(&ends).map(|(&from, &to)| (&bytes[from..to], to)).collect();
            prop_assert_eq!(parts.iter().fold(0, |crc, (part, _)| extend(crc, part)), whole);
            let count = parts.len();
            parts.rotate_left(first % count);
            let sum = parts.iter().fold(0, |sum, (part, to)| sum ^ shift(of(part), (bytes.len() - to) as u64));
            prop_assert_eq!(sum, whole);
        }
    }
}
