//! The two paddings of the format (paper, section 2.1).

/// The line breaks that a writer uses. A reader accepts both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineBreak {
    /// `\n`, the default.
    #[default]
    Unix,
    /// `\r\n`.
    Mime,
}

impl LineBreak {
    /// What ends the lines of compressed data (paper, section 3.1).
    pub const fn in_base64(self) -> [u8; 2] {
        match self {
            Self::Unix => *b"=\n",
            Self::Mime => *b"\r\n",
        }
    }
}

/// The fewest bytes of data padding.
const MIN_DATA_PADDING: u64 = 7;
/// Data and padding together are a multiple of this.
pub const DATA_DIVISOR: u64 = 32;
/// The most bytes of data padding.
pub const MAX_DATA_PADDING: usize = 38;

/// A field of dashes that ends with a line break of two bytes, to be filled with at most D - 4 bytes and a
/// space.
#[must_use]
#[inline]
pub const fn dashes<const D: usize>(style: LineBreak) -> [u8; D] {
    let mut field = [b'-'; D];
    field[D - 1] = b'\n';
    if matches!(style, LineBreak::Mime) {
        field[D - 2] = b'\r';
    }
    field
}

/// Puts the content and a space into a field of dashes.
#[inline(always)]
pub fn fill(field: &mut [u8], content: &[u8]) {
    debug_assert!(content.len() + 4 <= field.len());
    field[..content.len()].copy_from_slice(content);
    field[content.len()] = b' ';
}

/// The content of a field padded with dashes, parsed from the right: two bytes of any value, at
/// least one dash, one space. `None` if the field is not of that form.
#[must_use]
#[inline]
pub fn strip_dashes(field: &[u8]) -> Option<&[u8]> {
    const WORD: usize = 8;
    let dashed = &field[..field.len().checked_sub(2)?];
    let mut rest = dashed;
    // Word by word, as long as whole words remain.
    while let Some((before, word)) = rest.split_last_chunk() {
        let others = u64::from_le_bytes(*word) ^ u64::from_le_bytes([b'-'; WORD]);
        if others != 0 {
            rest = &rest[..rest.len() - others.leading_zeros() as usize / WORD];
            break;
        }
        rest = before;
    }
    while let [before @ .., b'-'] = rest {
        rest = before;
    }
    if rest.len() == dashed.len() {
        return None;
    }
    rest.strip_suffix(b" ")
}

/// The number of bytes that pad `n` bytes of data to a multiple of 32: 7 to 38.
#[must_use]
pub const fn data_padding_bytes(n: u64) -> u64 {
    let p = DATA_DIVISOR - n % DATA_DIVISOR;
    if p < MIN_DATA_PADDING { p + DATA_DIVISOR } else { p }
}

/// Writes the padding after `n` bytes of data. `last` is the last byte of data (`None` if there are no data).
#[inline(always)]
pub fn data_padding(text: &mut [u8; MAX_DATA_PADDING], n: u64, last: Option<u8>, style: LineBreak) -> &[u8] {
    let len = usize::try_from(data_padding_bytes(n)).unwrap_or(MAX_DATA_PADDING);
    *text = [b'='; MAX_DATA_PADDING];
    if last != Some(b'\n') {
        text[..2].copy_from_slice(match style {
            LineBreak::Unix => b"\n=",
            LineBreak::Mime => b"\r\n",
        });
    }
    // Copies whose lengths the compiler knows.
    match style {
        LineBreak::Unix => text[len - 2..len].copy_from_slice(b"\n\n"),
        LineBreak::Mime => text[len - 4..len].copy_from_slice(b"\r\n\r\n"),
    }
    &text[..len]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dashes_as_the_paper_draws_them() {
        let field = |style| {
            let mut field = dashes::<16>(style);
            fill(&mut field, b"abc");
            field
        };
        assert_eq!(&field(LineBreak::Unix), b"abc -----------\n");
        assert_eq!(&field(LineBreak::Mime), b"abc ----------\r\n");
    }

    #[test]
    fn fields_without_dash_or_space_are_refused() {
        for bad in [&b""[..], b"-", b"--", b"a--", b"abc xy", b"abc-----", b"--------", b"abc -"] {
            assert_eq!(strip_dashes(bad), None, "{}", bad.escape_ascii());
        }
        assert_eq!(strip_dashes(b" -xy"), Some(&b""[..]));
    }

    #[test]
    fn data_padding_of_each_style() {
        let text = |n, last, style| data_padding(&mut [0; MAX_DATA_PADDING], n, last, style).to_vec();
        assert_eq!(text(0, None, LineBreak::Unix), b"\n=============================\n\n");
        assert_eq!(text(0, None, LineBreak::Mime), b"\r\n==========================\r\n\r\n");
        assert_eq!(text(25, Some(b'x'), LineBreak::Unix), b"\n====\n\n");
        assert_eq!(text(25, Some(b'x'), LineBreak::Mime), b"\r\n=\r\n\r\n");
        assert_eq!(text(25, Some(b'\n'), LineBreak::Unix), b"=====\n\n");
        assert_eq!(text(25, Some(b'\n'), LineBreak::Mime), b"===\r\n\r\n");
    }

    proptest! {
        #[test]
        fn data_padding_is_7_to_38_bytes_to_a_multiple_of_32(n in 0..u64::MAX / 2) {
            let p = data_padding_bytes(n);
            prop_assert!((7..=38).contains(&p));
            prop_assert_eq!((n + p) % 32, 0);
            for style in [LineBreak::Unix, LineBreak::Mime] {
                let mut text = [0; MAX_DATA_PADDING];
                prop_assert_eq!(data_padding(&mut text, n, Some(0), style).len() as u64, p);
            }
        }

        #[test]
        fn dashes_give_back_any_content_whatever_the_line_break(
            content in proptest::collection::vec(prop_oneof![Just(b'-'), Just(b' '), any::<u8>()], 0..=58),
            q in any::<[u8; 2]>(),
        ) {
            let mut field = dashes::<62>(LineBreak::Unix);
            fill(&mut field, &content);
            field[60..].copy_from_slice(&q);
            prop_assert_eq!(strip_dashes(&field), Some(&content[..]));
        }
    }
}
