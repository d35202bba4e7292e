//! Base64 in lines of 76 characters with two bytes of line break after each (paper, section 3.1).

use base64_simd::{Out, STANDARD};

/// Characters in a full line.
const LINE_CHARS: usize = 76;
/// Bytes that a full line encodes.
const LINE_BYTES: usize = 57;
/// Bytes of any line break.
const BREAK_BYTES: usize = 2;
/// A full line with its break.
const FULL_LINE: usize = LINE_CHARS + BREAK_BYTES;

/// The encoded size of `n` bytes.
pub fn encoded_bytes(n: usize) -> usize {
    let chars = n.div_ceil(3) * 4;
    chars + chars.div_ceil(LINE_CHARS) * BREAK_BYTES
}

/// Where, in the encoded `text` of an element, the first line break begins that differs from `line_break`.
pub fn other_line_break(text: &[u8], line_break: [u8; BREAK_BYTES]) -> Option<usize> {
    let mut breaks = (FULL_LINE..text.len()).step_by(FULL_LINE).chain([text.len()]);
    breaks.find(|&end| !text[..end].ends_with(&line_break)).map(|end| end.saturating_sub(BREAK_BYTES))
}

/// Encodes `data` into `out`, which has the size that [`encoded_bytes`] returns.
pub fn encode(data: &[u8], line_break: [u8; BREAK_BYTES], out: &mut [u8]) {
    debug_assert_eq!(out.len(), encoded_bytes(data.len()));
    for (bytes, line) in data.chunks(LINE_BYTES).zip(out.chunks_mut(FULL_LINE)) {
        let (chars, end) = line.split_at_mut(line.len() - BREAK_BYTES);
        let _ = STANDARD.encode(bytes, Out::from_slice(chars));
        end.copy_from_slice(&line_break);
    }
}

/// The size of the buffer that [`decode`] needs for `text_bytes` bytes of text.
pub fn decoded_room(text_bytes: usize) -> usize {
    text_bytes.div_ceil(FULL_LINE) * LINE_BYTES
}

/// Decodes lines of `text` to the start of `out`, of [`decoded_room`] bytes, and returns the number of
/// decoded bytes. Line breaks may be any two bytes. `None` if the text is malformed.
pub fn decode(text: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut filled = 0;
    for line in text.chunks(FULL_LINE) {
        let chars = &line[..line.len().checked_sub(BREAK_BYTES)?];
        // Only the last line may be shorter.
        if filled % LINE_BYTES != 0 || chars.is_empty() {
            return None;
        }
        let room = &mut out[filled..filled + LINE_BYTES];
        filled += STANDARD.decode(chars, Out::from_slice(room)).ok()?.len();
    }
    Some(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn line_breaks_are_compared_wherever_they_are() {
        for n in [1, 56, 57, 58, 114, 115, 171] {
            let mut text = encoded(&vec![b'x'; n], *b"=\n");
            assert_eq!(other_line_break(&text, *b"=\n"), None);
            assert_eq!(other_line_break(&text, *b"\r\n"), Some(76.min(text.len() - 2)));
            let last = text.len() - 2;
            text[last] = b'-';
            assert_eq!(other_line_break(&text, *b"=\n"), Some(last));
        }
    }

    fn encoded(data: &[u8], line_break: [u8; 2]) -> Vec<u8> {
        let mut out = vec![0; encoded_bytes(data.len())];
        encode(data, line_break, &mut out);
        out
    }

    fn decoded(text: &[u8]) -> Option<Vec<u8>> {
        let mut out = vec![7; decoded_room(text.len())];
        let n = decode(text, &mut out)?;
        out.truncate(n);
        Some(out)
    }

    #[test]
    fn lines_end_in_two_bytes_the_last_included() {
        assert_eq!(encoded(b"", *b"=\n"), b"");
        assert_eq!(encoded(b"a", *b"=\n"), b"YQ===\n");
        let two_lines = encoded(&[0; 58], *b"\r\n");
        assert_eq!(two_lines, [&[b'A'; 76][..], b"\r\nAA==\r\n"].concat());
        assert_eq!(encoded(&[0; 57], *b"=\n").len(), 78);
    }

    #[test]
    fn text_of_another_form_is_refused() {
        for bad in [&b"YQ="[..], b"YQ==\n", b"YQ==", b"Y?==\r\n", b"YQ\r\n", b"\r\n", b"YQ==YQ==\r\n"] {
            assert_eq!(decoded(bad), None, "{}", bad.escape_ascii());
        }
        let mut padded_inside = encoded(&[0; 60], *b"=\n");
        padded_inside[75] = b'=';
        assert_eq!(decoded(&padded_inside), None);
        let empty_line = [encoded(&[0; 57], *b"=\n"), b"=\n".to_vec()].concat();
        assert_eq!(decoded(&empty_line), None);
    }

    proptest! {
        #[test]
        #[cfg_attr(miri, ignore = "many minutes")]
        fn bytes_come_back_whatever_the_line_break(
            data in proptest::collection::vec(any::<u8>(), 0..400), q in any::<[u8; 2]>(),
        ) {
            prop_assert_eq!(decoded(&encoded(&data, q)), Some(data));
        }

        #[test]
        #[cfg_attr(miri, ignore = "many minutes")]
        fn any_text_is_decoded_without_panic(text in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = decoded(&text);
        }
    }
}
