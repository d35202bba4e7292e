//! Count entries: a letter, a space, a decimal number, padded to 32 bytes (paper, section 2.4).

use super::COUNT_BYTES;
use super::padding::{LineBreak, dashes, strip_dashes};
use scda_base::error::{Error, ErrorKind, Result, quote};

/// The most decimal digits of a count.
const MAX_DIGITS: usize = 26;

/// Numbers below this limit take the fast paths, which process eight digits at once.
const SHORT_LIMIT: u64 = 100_000_000;
/// The most digits of such a number, in an entry and in a word.
const SHORT_DIGITS: usize = 8;
/// Where an entry's number begins.
const NUMBER: usize = 2;
/// Short numbers differ only in the first half of the entry.
const HALF: usize = COUNT_BYTES / 2;

/// For each number of digits: the bytes that follow them in the first half of an entry. All other bytes are
/// 0.
const SHORT_TAILS: [u128; SHORT_DIGITS + 1] = {
    let mut tails = [0; SHORT_DIGITS + 1];
    let mut digits = 0;
    while digits <= SHORT_DIGITS {
        let mut half = [b'-'; HALF];
        let mut i = 0;
        while i < NUMBER + digits {
            half[i] = 0;
            i += 1;
        }
        half[i] = b' ';
        tails[digits] = u128::from_le_bytes(half);
        digits += 1;
    }
    tails
};

/// The space after the letter, in the first half of an entry.
const LETTER_END: u128 = (b' ' as u128) << 8;

/// Eight copies of a byte.
const fn eight(byte: u8) -> u64 {
    u64::from_le_bytes([byte; SHORT_DIGITS])
}

/// The eight decimal digits of a short number, the first in the lowest byte, as values 0 to 9.
const fn split_digits(value: u64) -> u64 {
    // Splits into two halves, then four quarters, then eight digits. Each division is a product and a shift.
    let halves = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((halves * 10_486) >> 20) & 0x7f_0000_007f;
    let quarters = hundreds | (halves - 100 * hundreds) << 16;
    let tens = ((quarters * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (quarters - 10 * tens) << 8
}

/// The number that eight decimal digits stand for, the first in the lowest byte.
const fn join_digits(digits: u64) -> u64 {
    // Joins pairs, then groups of four, then all digits; each result is in the upper part of its field.
    let pairs = digits.wrapping_mul(10 << 8 | 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000 << 32 | 1) >> 32
}

/// The text of a short number, the first digit in the lowest byte, and how many digits it has.
#[inline]
fn short_text(value: u64) -> (u64, usize) {
    let digits = split_digits(value);
    // Keeps the last digit even if it is zero.
    let zeros = (digits | 1 << 56).trailing_zeros() / 8;
    ((digits | eight(b'0')) >> (8 * zeros), SHORT_DIGITS - zeros as usize)
}

/// Formats count entries with one letter and one kind of line break.
///
/// All bytes but the digits are prepared in advance, so an entry only takes a copy and the digits.
#[derive(Clone, Copy, Debug)]
pub struct CountFormat {
    letter: u8,
    style: LineBreak,
}

impl CountFormat {
    /// Entries that begin with `letter`: `N`, `E` or `U`.
    #[must_use]
    #[inline]
    pub const fn new(letter: u8, style: LineBreak) -> Self {
        Self { letter, style }
    }

    /// The entry of `value`.
    #[must_use]
    #[inline]
    pub fn entry(&self, value: u64) -> [u8; COUNT_BYTES] {
        let mut entry = [0; COUNT_BYTES];
        self.put(value, &mut entry);
        entry
    }

    /// Fills the entry of `value`.
    #[inline]
    pub fn put(&self, value: u64, entry: &mut [u8; COUNT_BYTES]) {
        if value >= SHORT_LIMIT {
            return self.put_long(value, entry);
        }
        let (text, count) = short_text(value);
        let half =
            u128::from(text) << (8 * NUMBER) | SHORT_TAILS[count] | u128::from(self.letter) | LETTER_END;
        entry[..HALF].copy_from_slice(&half.to_le_bytes());
        entry[HALF..].copy_from_slice(&dashes::<HALF>(self.style));
    }

    #[inline(never)]
    fn put_long(&self, value: u64, entry: &mut [u8; COUNT_BYTES]) {
        let low = [value / SHORT_LIMIT % SHORT_LIMIT, value % SHORT_LIMIT];
        let first = value / SHORT_LIMIT / SHORT_LIMIT;
        let (first, low) = if first > 0 { (first, &low[..]) } else { (low[0], &low[1..]) };
        let (text, count) = short_text(first);
        *entry = dashes(self.style);
        entry[..NUMBER].copy_from_slice(&[self.letter, b' ']);
        // The first digits. The next eight overwrite the bytes after them.
        entry[NUMBER..NUMBER + SHORT_DIGITS].copy_from_slice(&text.to_le_bytes());
        let mut end = NUMBER + count;
        for &value in low {
            let text = split_digits(value) | eight(b'0');
            entry[end..end + SHORT_DIGITS].copy_from_slice(&text.to_le_bytes());
            end += SHORT_DIGITS;
        }
        entry[end] = b' ';
    }

    /// Appends the entries of `values` to `out`.
    pub fn append(&self, values: &[u64], out: &mut Vec<u8>) {
        let mut entries = [[0; COUNT_BYTES]; 32];
        for values in values.chunks(entries.len()) {
            for (entry, &value) in entries.iter_mut().zip(values) {
                self.put(value, entry);
            }
            out.extend_from_slice(entries[..values.len()].as_flattened());
        }
    }
}

/// Splits eight bytes that begin with digits into the values of the digits, in the low bytes; the bytes after
/// them, in the other bytes; and the number of digits.
#[inline]
fn leading_digits(text: u64) -> (u64, u64, usize) {
    // Digits become 0 to 9. The sum sets the highest bit of the first byte that is not a digit.
    let digits = text ^ eight(b'0');
    let others = (digits.wrapping_add(eight(0x76)) | digits) & eight(0x80);
    let count = others.trailing_zeros() / 8;
    // All bits below the first other byte, or all bits if there is none.
    let mask = ((others & others.wrapping_neg()) >> 7).wrapping_sub(1);
    (digits & mask, text & !mask, count as usize)
}

/// Eight bytes of an entry, from `at` on.
#[inline]
fn word(entry: &[u8; COUNT_BYTES], at: usize) -> u64 {
    entry[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Parses the number in a valid count entry that begins with `letter`, if it has at most 15 digits. `None`
/// does not mean that the entry is invalid.
#[inline(always)]
fn parse_short(entry: &[u8; COUNT_BYTES], letter: u8) -> Option<u64> {
    let (digits, rest, count) = leading_digits(word(entry, NUMBER));
    let leads_with_zero = digits & 0xff == 0 && count > 1;
    if entry[..NUMBER] != [letter, b' '] || leads_with_zero || count == 0 {
        return None;
    }
    if count == SHORT_DIGITS {
        return parse_longer(entry, digits);
    }
    let dashes = |start| word(entry, start) == eight(b'-');
    let all_well = rest == WORD_TAILS[count] && dashes(NUMBER + SHORT_DIGITS) && dashes(18) && dashes(22);
    all_well.then(|| join_digits(align(digits, count)))
}

/// Continues [`parse_short`] at the ninth digit, if there is one. Everything before it is valid.
#[inline(never)]
fn parse_longer(entry: &[u8; COUNT_BYTES], first: u64) -> Option<u64> {
    let (digits, rest, count) = leading_digits(word(entry, NUMBER + SHORT_DIGITS));
    let dashes = |start| word(entry, start) == eight(b'-');
    let all_well = count < SHORT_DIGITS && rest == WORD_TAILS[count] && dashes(18) && dashes(22);
    all_well.then(|| join_digits(first) * POWERS[count] + join_digits(align(digits, count)))
}

/// Moves up to seven digits to the end of their word, with zeros before them.
#[inline]
const fn align(digits: u64, count: usize) -> u64 {
    digits << 8 << (56 - 8 * count)
}

/// For each number of digits in eight bytes: the bytes that follow them. All other bytes are 0.
const WORD_TAILS: [u64; SHORT_DIGITS] = {
    let mut tails = [0; SHORT_DIGITS];
    let mut digits = 0;
    while digits < SHORT_DIGITS {
        let dashes = eight(b'-') << (8 * digits);
        tails[digits] = dashes - (((b'-' - b' ') as u64) << (8 * digits));
        digits += 1;
    }
    tails
};

/// The powers of ten that a short number needs.
const POWERS: [u64; SHORT_DIGITS] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];

/// The number in a count entry that must begin with `letter`.
///
/// # Errors
/// `Format` if the entry is malformed, `Range` if the number needs more than 64 bits.
#[inline]
pub fn parse_count(entry: &[u8; COUNT_BYTES], letter: u8) -> Result<u64> {
    match parse_short(entry, letter) {
        Some(value) => Ok(value),
        None => parse_any(entry, letter),
    }
}

#[cold]
fn parse_any(entry: &[u8; COUNT_BYTES], letter: u8) -> Result<u64> {
    let malformed = |expected: &str| {
        Error::new(ErrorKind::Format, format!("count entry: found {}, expected {expected}", quote(entry)))
    };
    if entry[0] != letter || entry[1] != b' ' {
        return Err(malformed(&format!("'{}' and a space", char::from(letter))));
    }
    let digits = strip_dashes(&entry[2..])
        .ok_or_else(|| malformed("a number padded by a space, dashes and two bytes"))?;
    let is_number = matches!(digits, [b'0'] | [b'1'..=b'9', ..])
        && digits.len() <= MAX_DIGITS
        && digits.iter().all(u8::is_ascii_digit);
    if !is_number {
        return Err(malformed("1 to 26 digits without sign or leading zero"));
    }
    digits
        .iter()
        .try_fold(0_u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
        .ok_or_else(|| {
            Error::range(format!("count entry: found {}, expected a number of 64 bits", quote(digits)))
        })
}

/// Parses consecutive entries that begin with `letter`, and passes each number on with its index.
///
/// # Errors
/// The errors of `parse_count`, with the byte offset of the entry in the file; `offset` is that of `bytes`.
pub fn parse_counts(
    bytes: &[u8],
    letter: u8,
    offset: u64,
    mut each: impl FnMut(usize, u64) -> Result<()>,
) -> Result<()> {
    let (entries, rest) = bytes.as_chunks::<COUNT_BYTES>();
    debug_assert!(rest.is_empty());
    for (index, entry) in entries.iter().enumerate() {
        if let Err(error) = parse_count(entry, letter).and_then(|value| each(index, value)) {
            return Err(error.at(offset + (index * COUNT_BYTES) as u64));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(text: &str) -> [u8; COUNT_BYTES] {
        let mut entry = [b'-'; COUNT_BYTES];
        entry[..text.len()].copy_from_slice(text.as_bytes());
        entry
    }

    #[test]
    fn entries_as_the_paper_draws_them() {
        assert_eq!(&CountFormat::new(b'E', LineBreak::Unix).entry(15), b"E 15 --------------------------\n");
        assert_eq!(&CountFormat::new(b'N', LineBreak::Mime).entry(0), b"N 0 --------------------------\r\n");
    }

    #[test]
    fn numbers_that_are_none_are_format_errors() {
        for bad in ["E  ", "E 01 ", "E -1 ", "E +1 ", "E 0x1 ", "E 1 2 ", "E", "N 1 ", "E1 ", "E 1", "E 1_ "]
        {
            assert_eq!(parse_count(&entry(bad), b'E').unwrap_err().kind(), ErrorKind::Format, "{bad}");
        }
    }

    #[test]
    fn twenty_six_digits_are_a_number_beyond_range() {
        let nines = format!("E {} ", "9".repeat(26));
        assert_eq!(parse_count(&entry(&nines), b'E').unwrap_err().kind(), ErrorKind::Range);
        assert_eq!(parse_count(&entry("E 18446744073709551615 "), b'E').unwrap(), u64::MAX);
        assert_eq!(
            parse_count(&entry("E 18446744073709551616 "), b'E').unwrap_err().kind(),
            ErrorKind::Range
        );
    }

    /// The number, or the text of the error.
    fn words(result: Result<u64>) -> std::result::Result<u64, String> {
        result.map_err(|error| format!("{:?} {error}", error.kind()))
    }

    #[test]
    fn short_numbers_of_each_number_of_digits() {
        let format = CountFormat::new(b'E', LineBreak::Unix);
        let tens = (0..=20).map(|digits| 10_u64.saturating_pow(digits));
        let most = if cfg!(miri) { 200 } else { 20_000 };
        for value in tens.flat_map(|ten| [ten - 1, ten, ten.saturating_add(1)]).chain(0..most) {
            assert!(format.entry(value).starts_with(format!("E {value} -").as_bytes()), "{value}");
            assert_eq!(
                parse_short(&format.entry(value), b'E'),
                Some(value).filter(|&v| v < 1_000_000_000_000_000)
            );
            if value < SHORT_LIMIT {
                assert_eq!(join_digits(split_digits(value)), value);
            }
        }
    }

    proptest! {
        #[test]
        fn numbers_come_back(value in any::<u64>(), mime in any::<bool>(), q in any::<[u8; 2]>()) {
            let style = if mime { LineBreak::Mime } else { LineBreak::Unix };
            let mut entry = CountFormat::new(b'U', style).entry(value);
            prop_assert_eq!(parse_count(&entry, b'U').unwrap(), value);
            entry[30..].copy_from_slice(&q);
            prop_assert_eq!(parse_count(&entry, b'U').unwrap(), value);
        }

        #[test]
        fn entries_are_those_of_a_plain_formatter(
            bits in 0..64_u32, value in any::<u64>(), mime in any::<bool>(),
        ) {
            let value = value >> bits;
            let (style, end) = if mime { (LineBreak::Mime, "\r\n") } else { (LineBreak::Unix, "-\n") };
            let plain = format!("{:-<30}{end}", format!("N {value} "));
            let entry = CountFormat::new(b'N', style).entry(value);
            prop_assert_eq!(entry.escape_ascii().to_string(), plain.as_bytes().escape_ascii().to_string());
            let mut all = b"before".to_vec();
            CountFormat::new(b'N', style).append(&[value; 3], &mut all);
            prop_assert_eq!(all, ["before", &plain, &plain, &plain].concat().into_bytes());
        }

        #[test]
        fn any_bytes_are_parsed_as_by_the_long_way(bytes in any::<[u8; 32]>()) {
            let _ = parse_count(&bytes, b'E');
            prop_assert_eq!(words(parse_count(&bytes, b'E')), words(parse_any(&bytes, b'E')));
        }

        #[test]
        fn damaged_entries_are_parsed_as_by_the_long_way(
            bits in 0..64_u32, value in any::<u64>(), place in 0..32_usize,
            byte in prop_oneof![Just(b'-'), Just(b' '), b'/'..=b':', any::<u8>()],
        ) {
            let mut entry = CountFormat::new(b'E', LineBreak::Unix).entry(value >> bits);
            entry[place] = byte;
            prop_assert_eq!(words(parse_count(&entry, b'E')), words(parse_any(&entry, b'E')));
        }
    }
}
