//! Text that is safe to show on a terminal, and messages on standard error.

pub use scda_base::error::is_unseen;

use scda_base::error::EscapedText;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes lines to standard error. If nobody can read them, they are lost.
pub fn complain(text: &str) {
    let lines: Vec<_> = text.lines().map(visible).collect();
    let _ = writeln!(io::stderr(), "scda: {}", lines.join("\n"));
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

/// Appends bytes as escapes.
pub fn push_escaped(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        text.push_str("\\x");
        push_hex(text, &[*byte]);
    }
}

/// Appends the bytes of a character as escapes.
pub fn push_unseen(text: &mut String, c: char) {
    push_escaped(text, c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Text in one line, with escapes for invisible characters.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    // Writing to a string cannot fail.
    let _ = EscapedText(&mut shown).write_str(text);
    shown
}

/// Writes JSON that is safe for terminals: invisible characters occur only in strings, where an escape means the same.
pub struct VisibleJson<W>(pub W);

impl<W: std::fmt::Write> std::fmt::Write for VisibleJson<W> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        // Between its parts, JSON has white space.
        let is_hidden = |c: char| !matches!(c, '\n' | '\t' | '\r') && is_unseen(c);
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_hidden(*c)) {
            // All of them are of the first plane of Unicode, for which one escape is enough.
            write!(self.0, "{}\\u{:04x}", &rest[..at], u32::from(c))?;
            rest = &rest[at + c.len_utf8()..];
        }
        self.0.write_str(rest)
    }
}

/// Text that represents bytes without loss: UTF-8, with escapes for invisible characters, quotes, backslashes, and
/// bytes that are not UTF-8.
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
