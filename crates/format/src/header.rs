//! The file header and the opening 64 bytes of a section (paper, figures 1 to 5).

use super::padding::{LineBreak, MAX_DATA_PADDING, dashes, data_padding, fill, strip_dashes};
use super::{FILE_HEADER_BYTES, SECTION_HEADER_BYTES, USER_STRING_BYTES, VENDOR_STRING_BYTES};
use scda_base::error::{Error, ErrorKind, QUOTED_BYTES, Result, quote};
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

/// Identifies the format and its version, with the space that follows.
const MAGIC: &[u8; 8] = b"scdata0 ";
/// The beginning of the magic, common to all versions of the format.
const MAGIC_FAMILY: &[u8] = b"scdat";
/// The padded vendor string, which follows the magic.
const VENDOR_FIELD: std::ops::Range<usize> = 8..32;
/// The letter that opens the file header's user string.
const FILE_LETTER: u8 = b'F';

/// A user string: 0 to 58 bytes with any values.
#[derive(Clone, Copy)]
pub struct UserString {
    /// The string; the bytes after it have no meaning.
    bytes: [u8; USER_STRING_BYTES],
    len: u8,
}

impl UserString {
    /// The empty user string.
    pub const EMPTY: Self = Self { bytes: [0; USER_STRING_BYTES], len: 0 };

    /// A user string of these bytes.
    ///
    /// # Errors
    /// `Argument` if there are more than 58.
    pub fn new(text: &[u8]) -> Result<Self> {
        Self::check(text)?;
        let mut bytes = [0; USER_STRING_BYTES];
        bytes[..text.len()].copy_from_slice(text);
        Ok(Self { bytes, len: short_length(text) })
    }

    /// Returns an error if there are more bytes than a user string can have.
    ///
    /// # Errors
    /// `Argument`.
    #[inline]
    pub fn check(text: &[u8]) -> Result<()> {
        if text.len() <= USER_STRING_BYTES { Ok(()) } else { Err(too_long(text.len())) }
    }
}

/// A user string in place: in the field of a header, which is padded correctly.
#[derive(Clone, Copy)]
pub struct UserField<'a> {
    bytes: &'a [u8; USER_STRING_BYTES],
    len: u8,
}

impl<'a> UserField<'a> {
    #[inline]
    fn parse(field: &'a [u8; SECTION_HEADER_BYTES - 2]) -> Option<Self> {
        // The shortest padding has four bytes, so the string has at most 58.
        let len = short_length(strip_dashes(field)?);
        field.first_chunk().map(|bytes| Self { bytes, len })
    }

    /// A copy of the string.
    #[must_use]
    #[inline(always)]
    pub fn copied(self) -> UserString {
        UserString { bytes: *self.bytes, len: self.len }
    }
}

impl Deref for UserField<'_> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// The length of a text that is no longer than a user string.
#[allow(clippy::cast_possible_truncation)] // at most 58
fn short_length(text: &[u8]) -> u8 {
    text.len() as u8
}

#[cold]
fn too_long(found: usize) -> Error {
    Error::argument(format!("user string: found {found} bytes, expected at most {USER_STRING_BYTES}"))
}

impl PartialEq for UserString {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for UserString {}

impl Ord for UserString {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl PartialOrd for UserString {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Deref for UserString {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Debug for UserString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.escape_ascii())
    }
}

/// The four types of section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionType {
    /// 32 bytes of data.
    Inline,
    /// Global data of a given size.
    Block,
    /// Elements of one size.
    Array,
    /// Elements of their own sizes.
    Varray,
}

impl SectionType {
    /// The letter in the file: `I`, `B`, `A` or `V`.
    #[must_use]
    pub fn letter(self) -> u8 {
        match self {
            Self::Inline => b'I',
            Self::Block => b'B',
            Self::Array => b'A',
            Self::Varray => b'V',
        }
    }

    fn from_letter(letter: u8) -> Option<Self> {
        match letter {
            b'I' => Some(Self::Inline),
            b'B' => Some(Self::Block),
            b'A' => Some(Self::Array),
            b'V' => Some(Self::Varray),
            _ => None,
        }
    }
}

/// Writes a letter, a space and a padded string: 64 bytes.
#[inline(always)]
fn put_lettered(header: &mut [u8], letter: u8, user: &[u8], style: LineBreak) {
    header.copy_from_slice(&dashes::<SECTION_HEADER_BYTES>(style));
    header[0] = letter;
    header[1] = b' ';
    fill(&mut header[2..], user);
}

/// The user string in a field of 64 bytes. The caller has checked its letter.
#[inline]
fn lettered_user(header: &[u8; SECTION_HEADER_BYTES]) -> Result<UserField<'_>> {
    let field = header.last_chunk().filter(|_| header[1] == b' ');
    field.and_then(UserField::parse).ok_or_else(|| user_error(header))
}

/// The error for a field without a valid user string.
#[cold]
fn user_error(header: &[u8; SECTION_HEADER_BYTES]) -> Error {
    let words = if header[1] == b' ' {
        let found = quote(&header[2..]);
        // The last byte that is no padding, if that is not in what is shown.
        let padding = header[2..SECTION_HEADER_BYTES - 2].iter().rposition(|&byte| byte != b'-');
        let wrong = padding
            .filter(|&at| at >= QUOTED_BYTES)
            .map_or(String::new(), |at| format!(" with {} at its byte {at}", quote(&header[2 + at..3 + at])));
        format!(
            "user string: found {found}{wrong}, expected it to be padded by a space, dashes and two bytes"
        )
    } else {
        format!("section header: found {}, expected a space after the type", quote(&header[..2]))
    };
    Error::new(ErrorKind::Format, words)
}

/// The first 128 bytes of a file. A vendor string is at most 20 bytes long.
#[must_use]
pub fn file_header(vendor: &[u8], user: &[u8], style: LineBreak) -> [u8; FILE_HEADER_BYTES] {
    let vendor = &vendor[..vendor.len().min(VENDOR_STRING_BYTES)];
    let mut header = [0; FILE_HEADER_BYTES];
    header[..32].copy_from_slice(&dashes::<32>(style));
    header[..8].copy_from_slice(MAGIC);
    fill(&mut header[VENDOR_FIELD], vendor);
    put_line(&mut header[32..96], None, user, style);
    header[96..].copy_from_slice(data_padding(&mut [0; MAX_DATA_PADDING], 0, None, style));
    header
}

/// The contents of a file header.
#[derive(Clone, Copy)]
pub struct FileHeader {
    /// The user string of the file.
    pub user: UserString,
    /// The program that wrote the file.
    pub vendor: UserString,
    /// The line breaks of the header; the rest of the file may have others.
    pub line_break: LineBreak,
}

/// The end of the vendor string of files that are to have a seal.
pub const SEAL_MARK: &[u8] = b" sealed";

impl FileHeader {
    /// Whether the file was created to be sealed: without a seal, nothing after its header is committed.
    #[must_use]
    pub fn has_seal_mark(&self) -> bool {
        self.vendor.ends_with(SEAL_MARK)
    }
}

/// Parses the header of a file. `bytes` are its first 128 bytes, or all of it if it is shorter.
///
/// # Errors
/// `Format` if it is not an scda file, `UnsupportedVersion` if it has another version of the format,
/// `ShortFile` if it is truncated.
pub fn parse_file_header(bytes: &[u8]) -> Result<FileHeader> {
    let seen = &bytes[..bytes.len().min(MAGIC.len())];
    if seen != &MAGIC[..seen.len()] {
        return Err(magic_error(seen).at(0));
    }
    let Some(header) = bytes.first_chunk::<FILE_HEADER_BYTES>() else {
        return Err(Error::short_file("file header", FILE_HEADER_BYTES as u64, bytes.len() as u64).at(0));
    };
    let Some(vendor) = strip_dashes(&header[VENDOR_FIELD]) else {
        return Err(Error::new(
            ErrorKind::Format,
            format!(
                "vendor string: found {}, expected it to be padded by a space, dashes and two bytes",
                quote(&header[VENDOR_FIELD])
            ),
        )
        .at(8));
    };
    let (_, rest) = header.split_at(VENDOR_FIELD.end);
    let lettered: &[u8; SECTION_HEADER_BYTES] = rest.first_chunk().unwrap_or(&[0; SECTION_HEADER_BYTES]);
    if lettered[0] != FILE_LETTER {
        let mut found = quote(&lettered[..1]);
        if bytes[..VENDOR_FIELD.end + 1].ends_with(b"\r\n") && bytes[..VENDOR_FIELD.end - 1].ends_with(b"-") {
            found = "line feeds that were replaced by carriage return and line feed".to_owned();
        }
        return Err(Error::new(ErrorKind::Format, format!("file header: found {found}, expected 'F'")).at(32));
    }
    Ok(FileHeader {
        user: lettered_user(lettered).map_err(|e| e.at(32))?.copied(),
        vendor: UserString::new(vendor)?,
        line_break: if header[VENDOR_FIELD].ends_with(b"\r\n") { LineBreak::Mime } else { LineBreak::Unix },
    })
}

/// Whether these bytes can begin a file header of this version.
#[must_use]
pub fn begins_as_header(bytes: &[u8]) -> bool {
    bytes.iter().zip(MAGIC).all(|(found, expected)| found == expected)
}

/// The error for first bytes that are not the magic of this version.
fn magic_error(seen: &[u8]) -> Error {
    // Versions are numbered in hexadecimal from a0 to ff (figure 1).
    let version = seen
        .strip_prefix(MAGIC_FAMILY)
        .filter(|rest| matches!(rest, [b'a'..=b'f', b'0'..=b'9' | b'a'..=b'f', b' ']));
    match version {
        Some(version) => Error::new(
            ErrorKind::UnsupportedVersion,
            format!("scda version: found \"{}\", expected \"a0\"", version[..2].escape_ascii()),
        ),
        _ => Error::new(
            ErrorKind::Format,
            format!("not an scda file: found {}, expected {}", quote(seen), quote(MAGIC)),
        ),
    }
}

/// Fills the opening 64 bytes of a section. A user string is at most 58 bytes long.
#[inline]
pub fn put_section_header(header: &mut [u8], section: SectionType, user: &[u8], style: LineBreak) {
    put_lettered(header, section.letter(), user, style);
}

/// Fills the 64 bytes that open a section, or those of the file header with its user string.
pub(super) fn put_line(line: &mut [u8], section: Option<SectionType>, user: &[u8], style: LineBreak) {
    put_lettered(line, section.map_or(FILE_LETTER, SectionType::letter), user, style);
}

/// Parses the type and user string of a section; for a file header, `None` and the user string of the file.
///
/// # Errors
/// `Format`.
pub(super) fn parse_line(line: &[u8; SECTION_HEADER_BYTES]) -> Result<(Option<SectionType>, UserString)> {
    if line[0] == FILE_LETTER {
        return Ok((None, lettered_user(line)?.copied()));
    }
    parse_section_header(line).map(|(section, user)| (Some(section), user))
}

/// Parses the type and user string in the opening 64 bytes of a section.
///
/// # Errors
/// `Format`.
#[inline(always)]
pub fn parse_section_header(header: &[u8; SECTION_HEADER_BYTES]) -> Result<(SectionType, UserString)> {
    section_header_fields(header).map(|(section, user)| (section, user.copied()))
}

/// The same as [`parse_section_header`], without a copy.
///
/// # Errors
/// `Format`.
#[inline(always)]
pub fn section_header_fields(header: &[u8; SECTION_HEADER_BYTES]) -> Result<(SectionType, UserField<'_>)> {
    let section = SectionType::from_letter(header[0]).ok_or_else(|| type_error(header))?;
    Ok((section, lettered_user(header)?))
}

#[cold]
fn type_error(header: &[u8; SECTION_HEADER_BYTES]) -> Error {
    let mut found = quote(&header[..1]);
    if header.starts_with(MAGIC) {
        // As `cat` joins files; `scda join` joins what is in them.
        found = format!("the header of another scda file, {}", quote(MAGIC));
    }
    Error::new(ErrorKind::Format, format!("section type: found {found}, expected 'I', 'B', 'A' or 'V'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_has_happened() {
        let mut header = [b'-'; SECTION_HEADER_BYTES];
        put_section_header(&mut header, SectionType::Array, b"flow/rho", LineBreak::Unix);
        let words =
            |header: &[u8; SECTION_HEADER_BYTES]| parse_section_header(header).unwrap_err().to_string();
        let mut wrong = header;
        wrong[54] = b',';
        assert_eq!(
            words(&wrong),
            "user string: found \"flow/rho -------------------------------\"... with \",\" at its byte 52, \
             expected it to be padded by a space, dashes and two bytes"
        );
        wrong = header;
        wrong[12] = b',';
        assert!(words(&wrong).contains("found \"flow/rho -,-") && !words(&wrong).contains("at its byte"));
        wrong = header;
        wrong[0] = b's';
        assert_eq!(words(&wrong), "section type: found \"s\", expected 'I', 'B', 'A' or 'V'");
        let file = file_header(b"a", &UserString::new(b"b").unwrap(), LineBreak::Unix);
        assert_eq!(
            words(file.first_chunk().unwrap()),
            "section type: found the header of another scda file, \"scdata0 \", expected 'I', 'B', 'A' or 'V'"
        );
        // A transfer as text.
        let text: Vec<u8> = file
            .iter()
            .flat_map(|&byte| if byte == b'\n' { &b"\r\n"[..] } else { std::slice::from_ref(&byte) }.to_vec())
            .collect();
        let found = parse_file_header(&text).err().unwrap().to_string();
        assert!(found.contains("line feeds that were replaced by carriage return and line feed"), "{found}");
    }

    #[test]
    fn the_header_of_the_authors_reference_file() {
        let user = UserString::new(b"This is a test file").unwrap();
        let header = file_header(b"libsc", &user, LineBreak::Unix);
        let reference = include_bytes!("../../../tests/vectors/libsc-2.8.7-reference.scda");
        assert_eq!(header, reference[..FILE_HEADER_BYTES]);
        let found = parse_file_header(reference).unwrap();
        assert_eq!((found.user, &*found.vendor, found.line_break), (user, &b"libsc"[..], LineBreak::Unix));
        let mime = file_header(b"", &user, LineBreak::Mime);
        assert_eq!(parse_file_header(&mime).unwrap().line_break, LineBreak::Mime);
    }

    #[test]
    fn other_versions_are_told_from_other_files() {
        let mut header = file_header(b"v", &UserString::new(b"").unwrap(), LineBreak::Unix);
        for (magic, kind) in [
            (b"scdata1 ", ErrorKind::UnsupportedVersion),
            (b"scdatff ", ErrorKind::UnsupportedVersion),
            (b"scdat9f ", ErrorKind::Format),
            (b"scdatA0 ", ErrorKind::Format),
            (b"scdata0-", ErrorKind::Format),
            (b"p4data0 ", ErrorKind::Format),
        ] {
            header[..8].copy_from_slice(magic);
            assert_eq!(parse_file_header(&header).err().unwrap().kind(), kind, "{}", magic.escape_ascii());
        }
    }

    #[test]
    fn a_short_file_is_told_from_another_file() {
        let header = file_header(b"v", &UserString::new(b"").unwrap(), LineBreak::Unix);
        for cut in 0..FILE_HEADER_BYTES {
            assert_eq!(parse_file_header(&header[..cut]).err().unwrap().kind(), ErrorKind::ShortFile);
        }
        assert_eq!(parse_file_header(b"GIF89a").err().unwrap().kind(), ErrorKind::Format);
    }

    #[test]
    fn the_beginning_of_a_header_is_told_from_other_bytes() {
        let header = file_header(b"v", b"u", LineBreak::Unix);
        assert!((0..=FILE_HEADER_BYTES).all(|length| begins_as_header(&header[..length])));
        assert!((0..8).all(|at| {
            let mut other = header;
            other[at] ^= 1;
            !begins_as_header(&other)
        }));
    }

    #[test]
    fn fifty_eight_bytes_and_no_more() {
        assert!(UserString::new(&[b'-'; 58]).is_ok());
        assert_eq!(UserString::new(&[b'-'; 59]).unwrap_err().kind(), ErrorKind::Argument);
    }
}
