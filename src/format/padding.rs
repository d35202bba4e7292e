//! The two paddings of the format (paper, section 2.1).

/// The line breaks that are written. Reading takes any.
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
    pub(crate) const fn in_base64(self) -> [u8; 2] {
        match self {
            Self::Unix => *b"=\n",
            Self::Mime => *b"\r\n",
        }
    }
}

/// The fewest bytes that data are padded with.
const MIN_DATA_PADDING: u64 = 7;
/// Padded data fill a multiple of this.
const DATA_DIVISOR: u64 = 32;
/// The most bytes that data are padded with.
pub const MAX_DATA_PADDING: usize = 38;

/// Pads with dashes: `field` begins with `n` bytes of content, at most `field.len() - 4`, and is
/// completed by a space, dashes and two bytes of line break.
pub fn fill_dashes(field: &mut [u8], n: usize, style: LineBreak) {
    let d = field.len();
    debug_assert!(n + 4 <= d);
    field[n] = b' ';
    field[n + 1..d - 2].fill(b'-');
    field[d - 2..].copy_from_slice(match style {
        LineBreak::Unix => b"-\n",
        LineBreak::Mime => b"\r\n",
    });
}

/// The content of a field padded with dashes, parsed from the right: two bytes of anything, at
/// least one dash, one space. `None` if the field is not of that form.
#[must_use]
pub fn strip_dashes(field: &[u8]) -> Option<&[u8]> {
    let dashed = &field[..field.len().checked_sub(2)?];
    let undashed = &dashed[..dashed.iter().rposition(|&b| b != b'-')? + 1];
    if undashed.len() == dashed.len() {
        return None;
    }
    undashed.strip_suffix(b" ")
}

/// The number of bytes that pad `n` bytes of data: 7 to 38, to a multiple of 32.
#[must_use]
pub const fn data_padding_bytes(n: u64) -> u64 {
    let p = DATA_DIVISOR - n % DATA_DIVISOR;
    if p < MIN_DATA_PADDING { p + DATA_DIVISOR } else { p }
}

/// The padding of data bytes.
#[derive(Clone, Copy, Debug)]
pub struct DataPadding {
    bytes: [u8; MAX_DATA_PADDING],
    len: usize,
}

impl DataPadding {
    /// The padding of `n` bytes of data, the last of which is `last` (`None` if there are none).
    #[must_use]
    pub fn new(n: u64, last: Option<u8>, style: LineBreak) -> Self {
        let len = usize::try_from(data_padding_bytes(n)).unwrap_or(MAX_DATA_PADDING);
        let mut bytes = [b'='; MAX_DATA_PADDING];
        let (begin, end): (&[u8], &[u8]) = match style {
            LineBreak::Unix => (b"\n=", b"\n\n"),
            LineBreak::Mime => (b"\r\n", b"\r\n\r\n"),
        };
        if last != Some(b'\n') {
            bytes[..2].copy_from_slice(begin);
        }
        bytes[len - end.len()..len].copy_from_slice(end);
        Self { bytes, len }
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dashes_as_the_paper_draws_them() {
        let mut field = *b"abc.............";
        fill_dashes(&mut field, 3, LineBreak::Unix);
        assert_eq!(&field, b"abc -----------\n");
        fill_dashes(&mut field, 3, LineBreak::Mime);
        assert_eq!(&field, b"abc ----------\r\n");
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
        let text = |n, last, style| DataPadding::new(n, last, style).as_slice().to_vec();
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
                prop_assert_eq!(DataPadding::new(n, Some(0), style).as_slice().len() as u64, p);
            }
        }

        #[test]
        fn dashes_give_back_any_content_whatever_the_line_break(
            content in proptest::collection::vec(prop_oneof![Just(b'-'), Just(b' '), any::<u8>()], 0..=58),
            q in any::<[u8; 2]>(),
        ) {
            let mut field = [0; 62];
            field[..content.len()].copy_from_slice(&content);
            fill_dashes(&mut field, content.len(), LineBreak::Unix);
            field[60..].copy_from_slice(&q);
            prop_assert_eq!(strip_dashes(&field), Some(&content[..]));
        }
    }
}
