//! Text as a terminal may see it, and messages on standard error.

use std::io::{self, Write};

/// Lines on standard error, if anybody is there to read them.
pub fn complain(text: &str) {
    let lines: Vec<_> = text.lines().map(visible).collect();
    let _ = writeln!(io::stderr(), "scda: {}", lines.join("\n"));
}

/// Whether a character does something to a terminal other than appearing: control characters, and those that change
/// the direction of text.
pub fn is_unseen(c: char) -> bool {
    let changes_direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || changes_direction
}

/// Appends the two hexadecimal digits of each byte.
pub fn push_hex(text: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    text.extend(digits.map(|digit| char::from(DIGITS[usize::from(digit)])));
}

/// The two hexadecimal digits of each byte.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    push_hex(&mut text, bytes);
    text
}

/// Appends bytes by escapes.
pub fn push_escaped(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        text.push_str("\\x");
        push_hex(text, &[*byte]);
    }
}

/// Appends a character by its bytes, escaped.
pub fn push_unseen(text: &mut String, c: char) {
    push_escaped(text, c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Text of one line in which characters that are unseen are escaped.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| if is_unseen(c) { push_unseen(&mut shown, c) } else { shown.push(c) });
    shown
}

/// Text that names bytes without loss: UTF-8 but for characters that are unseen, quotes and backslashes, which are
/// escaped, as are bytes that are no UTF-8.
pub fn escape(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' | '\n' | '\t' | '\r' => text.extend(c.escape_default()),
                c if is_unseen(c) => push_unseen(&mut text, c),
                c => text.push(c),
            }
        }
        push_escaped(&mut text, chunk.invalid());
    }
    text
}

/// [`escape`] in quotes.
pub fn quote(bytes: &[u8]) -> String {
    format!("\"{}\"", escape(bytes))
}
