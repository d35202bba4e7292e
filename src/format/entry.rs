//! Count entries: a letter, a space, a decimal number, padded to 32 bytes (paper, section 2.4).

use super::COUNT_BYTES;
use super::padding::{LineBreak, fill_dashes, strip_dashes};
use crate::error::{Error, ErrorKind, Result, quote};

/// The most decimal digits of a count.
const MAX_DIGITS: usize = 26;

/// Formats count entries of one letter and one style.
///
/// The unchanging bytes are laid out once; an entry costs a copy and its digits.
#[derive(Clone, Debug)]
pub struct CountFormat {
    blank: [u8; COUNT_BYTES],
}

impl CountFormat {
    /// Entries that begin with `letter`: `N`, `E` or `U`.
    #[must_use]
    pub fn new(letter: u8, style: LineBreak) -> Self {
        let mut blank = [0; COUNT_BYTES];
        blank[0] = letter;
        blank[1] = b' ';
        fill_dashes(&mut blank[2..], 0, style);
        blank[2] = b'-';
        Self { blank }
    }

    /// The entry of `value`.
    #[must_use]
    pub fn entry(&self, value: u64) -> [u8; COUNT_BYTES] {
        let mut entry = self.blank;
        let mut buffer = itoa::Buffer::new();
        let digits = buffer.format(value).as_bytes();
        entry[2..2 + digits.len()].copy_from_slice(digits);
        entry[2 + digits.len()] = b' ';
        entry
    }

    /// Appends the entries of `values` to `out`.
    pub fn append(&self, values: &[u64], out: &mut Vec<u8>) {
        out.extend(values.iter().flat_map(|&value| self.entry(value)));
    }
}

/// The number in a count entry that must begin with `letter`.
///
/// # Errors
/// `Format` if the entry is not of the form, `Range` if the number needs more than 64 bits.
pub fn parse_count(entry: &[u8; COUNT_BYTES], letter: u8) -> Result<u64> {
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

/// Parses consecutive entries of `letter` and hands out each number with its index.
///
/// # Errors
/// As [`parse_count`], at the byte offset of the entry if `bytes` lie at `offset` of the file.
pub fn parse_counts(
    bytes: &[u8],
    letter: u8,
    offset: u64,
    mut each: impl FnMut(usize, u64) -> Result<()>,
) -> Result<()> {
    let (entries, rest) = bytes.as_chunks::<COUNT_BYTES>();
    debug_assert!(rest.is_empty());
    for (index, entry) in entries.iter().enumerate() {
        parse_count(entry, letter)
            .and_then(|value| each(index, value))
            .map_err(|error| error.at(offset + (index * COUNT_BYTES) as u64))?;
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
        fn any_bytes_are_parsed_without_panic(bytes in any::<[u8; 32]>()) {
            let _ = parse_count(&bytes, b'E');
        }
    }
}
