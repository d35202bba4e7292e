//! The library's only error type, and the stable integer codes of the C interface.

use std::fmt::{self, Write as _};
use std::io;
use std::path::Path;

/// What went wrong, classified by who can fix it: one kind for each stable code of the C interface.
///
/// The first five have the numbers that the format's authors use in their own library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are not an scda file or a section of one. The file is damaged, or of another format.
    Format,
    /// A function was called out of order. Fix the program.
    Usage,
    /// A compressed section does not follow the compression convention. The file is damaged.
    Decode,
    /// An argument is invalid, or the ranks disagree on one. Fix the program.
    Argument,
    /// The file ends before its sections do. It was truncated, or is still being written.
    ShortFile,
    /// An scda file of a version that this library does not support.
    UnsupportedVersion,
    /// No section follows: reading is complete. Not an error of the file.
    EndOfFile,
    /// A count, a product or a sum does not fit 63 bits.
    Range,
    /// Memory could not be allocated.
    Memory,
    /// A bug in this library. Please report it.
    Internal,
    /// A call to MPI other than file access failed.
    Mpi,
    /// The bytes of a sealed file differ from its checksums. The file is damaged.
    Checksum,
    /// The file has no such dataset, record, group, field or time step. It may be of another version of the program.
    NotFound,
    /// The file or a folder of its path does not exist.
    NoSuchFile,
    /// Permission denied.
    Access,
    /// The device is full, or the file must not become larger.
    NoSpace,
    /// A quota is exceeded.
    Quota,
    /// The file system is read-only.
    ReadOnly,
    /// The file exists already.
    FileExists,
    /// The name is not usable: a folder, too long, or not a file at all.
    BadFile,
    /// Another program or job uses the file.
    FileInUse,
    /// The file system or this build does not support the operation.
    Unsupported,
    /// Any other failure of the file system.
    Io,
}

impl ErrorKind {
    /// Every kind with its code and its one-line text, in the order of the codes.
    pub const ALL: [(ErrorKind, i32, &'static str); 23] = [
        (Self::Format, 15000, "not a valid scda file"),
        (Self::Usage, 15001, "function called out of order"),
        (Self::Decode, 15002, "compressed section breaks the compression convention"),
        (Self::Argument, 15003, "invalid argument"),
        (Self::ShortFile, 15004, "short file: it ends before its sections do"),
        (Self::UnsupportedVersion, 15005, "unsupported version of the scda format"),
        (Self::EndOfFile, 15006, "end of file: no section follows"),
        (Self::Range, 15007, "count, product or sum out of range"),
        (Self::Memory, 15008, "out of memory"),
        (Self::Internal, 15009, "internal error of libscda"),
        (Self::Mpi, 15010, "MPI call failed"),
        (Self::Checksum, 15011, "checksum of the data differs from the seal's"),
        (Self::NotFound, 15012, "not found in the file"),
        (Self::NoSuchFile, 15020, "no such file"),
        (Self::Access, 15021, "permission denied"),
        (Self::NoSpace, 15022, "no space left on device"),
        (Self::Quota, 15023, "quota exceeded"),
        (Self::ReadOnly, 15024, "read-only file system"),
        (Self::FileExists, 15025, "file exists"),
        (Self::BadFile, 15026, "unusable file name"),
        (Self::FileInUse, 15027, "file in use"),
        (Self::Unsupported, 15028, "operation not supported"),
        (Self::Io, 15029, "input/output error"),
    ];

    /// The stable code of the C interface.
    #[must_use]
    pub fn code(self) -> i32 {
        Self::ALL.iter().find(|(kind, ..)| *kind == self).map_or(15009, |(_, code, _)| *code)
    }

    /// The kind with this code.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.iter().find(|(_, c, _)| *c == code).map(|(kind, ..)| *kind)
    }

    /// A text of one line.
    #[must_use]
    pub fn text(self) -> &'static str {
        Self::ALL.iter().find(|(kind, ..)| *kind == self).map_or("", |(.., text)| *text)
    }

    /// Whether the contents of the file are the cause: it is truncated or damaged.
    pub fn is_of_file(self) -> bool {
        matches!(self, Self::Format | Self::Decode | Self::ShortFile | Self::Range | Self::Checksum)
    }

    /// Whether the cause is the file system, MPI, or this library, so that data not written yet may be lost.
    pub fn is_of_system(self) -> bool {
        match self {
            Self::Format
            | Self::Usage
            | Self::Decode
            | Self::Argument
            | Self::ShortFile
            | Self::UnsupportedVersion
            | Self::EndOfFile
            | Self::Range
            | Self::Memory
            | Self::Checksum
            | Self::NotFound => false,
            Self::Internal
            | Self::Mpi
            | Self::NoSuchFile
            | Self::Access
            | Self::NoSpace
            | Self::Quota
            | Self::ReadOnly
            | Self::FileExists
            | Self::BadFile
            | Self::FileInUse
            | Self::Unsupported
            | Self::Io => true,
        }
    }

    /// The kind of a system error whose message is in a text.
    pub fn of_text(text: &str) -> Self {
        let named = [libc::ENOSPC, libc::EFBIG, libc::EDQUOT, libc::EROFS, libc::EACCES, libc::ENOENT];
        let is_in_text = |errno: &i32| {
            let words = io::Error::from_raw_os_error(*errno).to_string();
            words.split(" (os error").next().is_some_and(|words| text.contains(words))
        };
        Self::of_errno(named.into_iter().find(is_in_text))
    }

    /// The kind of a system error, the same for every driver.
    fn of_errno(errno: Option<i32>) -> Self {
        match errno {
            Some(libc::ENOENT | libc::ENOTDIR) => Self::NoSuchFile,
            Some(libc::EACCES | libc::EPERM) => Self::Access,
            // EFBIG: the file exceeds RLIMIT_FSIZE or the limit of its file system, so for this file the
            // device is full.
            Some(libc::ENOSPC | libc::EFBIG) => Self::NoSpace,
            Some(libc::EDQUOT) => Self::Quota,
            Some(libc::EROFS) => Self::ReadOnly,
            Some(libc::EEXIST) => Self::FileExists,
            Some(libc::EISDIR | libc::ENAMETOOLONG | libc::ELOOP | libc::ENXIO | libc::EINVAL) => {
                Self::BadFile
            }
            Some(libc::EBUSY | libc::ETXTBSY) => Self::FileInUse,
            Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::ESPIPE) => Self::Unsupported,
            Some(libc::ENOMEM) => Self::Memory,
            _ => Self::Io,
        }
    }
}

/// An error, with the file, the offset, and what was found and expected, as far as they are known.
pub struct Error(Box<Detail>);

struct Detail {
    kind: ErrorKind,
    message: String,
    offset: Option<u64>,
    file: Option<String>,
    rank: Option<usize>,
    /// Whether the message already has file, offset and rank, because it comes from another rank.
    is_shared: bool,
    source: Option<io::Error>,
}

/// The result type of nearly everything here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of a kind, with a description.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Detail {
            kind,
            message: message.into(),
            offset: None,
            file: None,
            rank: None,
            is_shared: false,
            source: None,
        }))
    }

    /// A failed exchange between ranks, for implementations of a `Communicator`.
    #[must_use]
    pub fn communication(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Mpi, message)
    }

    /// An invalid argument.
    pub fn argument(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Argument, message)
    }

    /// Something that the file does not have.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// A call out of order.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// A number that exceeds 63 bits.
    pub fn range(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Range, message)
    }

    /// `bytes` bytes of memory could not be allocated.
    pub fn memory(bytes: usize) -> Self {
        Self::new(ErrorKind::Memory, format!("cannot allocate {bytes} bytes"))
    }

    /// A failed system call, with its purpose.
    pub fn io(what: &str, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        let mut error = Self::new(ErrorKind::of_errno(source.raw_os_error()), format!("{what}: {source}"));
        error.0.source = Some(source);
        error
    }

    /// The file ends at `size`, although it should have bytes up to `end`.
    pub fn short_file(what: &str, end: u64, size: u64) -> Self {
        Self::new(
            ErrorKind::ShortFile,
            format!("{what}: found the end of the file at byte {size}, expected at least {end} bytes"),
        )
    }

    /// Adds the byte offset in the file, unless one is known already.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Adds the offset of the object that the error is about: an offset that is known already counts from
    /// there.
    #[must_use]
    pub fn further(mut self, offset: u64) -> Self {
        self.0.offset = Some(offset + self.0.offset.unwrap_or(0));
        self
    }

    /// Adds what was being written when the error occurred.
    #[must_use]
    pub fn of(mut self, title: &str) -> Self {
        self.0.message = format!("{title}: {}", self.0.message);
        self
    }

    /// Adds the request that failed because of this error.
    #[must_use]
    pub fn of_request(mut self, request: &str) -> Self {
        self.0.message = format!("{} ({request})", self.0.message);
        self
    }

    /// Adds other errors, of which this one is the first.
    #[must_use]
    pub fn and_also(mut self, others: &str) -> Self {
        self.0.message = format!("{}; {others}", self.0.message);
        self
    }

    /// Adds the name of the file, unless one is known already.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        self.0.file.get_or_insert_with(|| file.to_owned());
        self
    }

    /// Adds the rank on which the error occurred.
    #[must_use]
    pub fn on_rank(mut self, rank: usize) -> Self {
        self.0.rank.get_or_insert(rank);
        self
    }

    /// Changes the kind: a bad header inside a compressed pair is a decode error, for example.
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// A copy of the error.
    pub fn again(&self) -> Self {
        let Detail { kind, ref message, offset, ref file, rank, is_shared, .. } = *self.0;
        let (message, file) = (message.clone(), file.clone());
        Self(Box::new(Detail { kind, message, offset, file, rank, is_shared, source: None }))
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The stable code of the C interface.
    #[must_use]
    pub fn code(&self) -> i32 {
        self.kind().code()
    }

    /// The rank on which it occurred; `None` if it is an error of all ranks.
    #[must_use]
    pub fn rank(&self) -> Option<usize> {
        self.0.rank
    }

    /// An error received from the rank on which it occurred, with its whole message.
    pub fn shared(kind: ErrorKind, message: String, rank: Option<usize>, offset: Option<u64>) -> Self {
        let mut error = Self::new(kind, message);
        (error.0.rank, error.0.offset, error.0.is_shared) = (rank, offset, true);
        error
    }

    /// The offset in the file at which it was noticed.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }
}

/// Messages may contain names from untrusted files, so characters that [`is_unseen`] are escaped.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = &self.0;
        let mut f = EscapedText(f);
        if detail.is_shared {
            return f.write_str(&detail.message);
        }
        if let Some(file) = &detail.file {
            write!(f, "{file}: ")?;
        }
        if let Some(offset) = detail.offset {
            write!(f, "byte {offset}: ")?;
        }
        if let Some(rank) = detail.rank {
            write!(f, "rank {rank}: ")?;
        }
        f.write_str(&detail.message)
    }
}

/// The message, as a program prints it whose `main` returns the error, and the kind.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} ({:?})", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|e| e as _)
    }
}

/// Whether a character affects a terminal other than by appearing: control characters, and those that change
/// the direction of text.
#[must_use]
pub fn is_unseen(c: char) -> bool {
    let changes_direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || changes_direction
}

/// Writes text on one line, and escapes the bytes of characters that [`is_unseen`].
pub struct EscapedText<W>(pub W);

impl<W: fmt::Write> fmt::Write for EscapedText<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_unseen(*c)) {
            self.0.write_str(&rest[..at])?;
            c.encode_utf8(&mut [0; 4]).bytes().try_for_each(|byte| write!(self.0, "\\x{byte:02x}"))?;
            rest = &rest[at + c.len_utf8()..];
        }
        self.0.write_str(rest)
    }
}

/// How many bytes of a file a message shows.
pub const QUOTED_BYTES: usize = 40;

/// Bytes of a file as text for a message, escaped, at most [`QUOTED_BYTES`] of them.
pub fn quote(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(QUOTED_BYTES)];
    let dots = if shown.len() < bytes.len() { "..." } else { "" };
    format!("\"{}\"{dots}", shown.escape_ascii())
}

/// A file name as text for a message, on one line. Of a long name only the end is shown, because it tells
/// more.
pub fn quote_path(path: &Path) -> String {
    const MOST: usize = 300;
    let text = path.to_string_lossy();
    let mut from = text.len().saturating_sub(MOST);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let mut shown = String::new();
    text[from..]
        .chars()
        .for_each(|c| if is_unseen(c) { shown.extend(c.escape_default()) } else { shown.push(c) });
    format!("{}{shown}", if from > 0 { "..." } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_the_authors_five_come_first() {
        let codes: Vec<i32> = ErrorKind::ALL.iter().map(|(_, code, _)| *code).collect();
        assert!(codes.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(codes[..5], [15000, 15001, 15002, 15003, 15004]);
        for (kind, code, text) in ErrorKind::ALL {
            assert_eq!(ErrorKind::from_code(code), Some(kind));
            assert_eq!((kind.code(), kind.text()), (code, text));
        }
    }

    #[test]
    fn a_message_says_file_offset_and_rank_once() {
        let e = Error::argument("E is wrong").at(7).at(9).in_file("a.scda").on_rank(3);
        assert_eq!(e.to_string(), "a.scda: byte 7: rank 3: E is wrong");
    }

    #[test]
    fn a_file_name_is_one_line_and_not_too_long() {
        assert_eq!(quote_path(Path::new("a dir/é.scda")), "a dir/é.scda");
        assert_eq!(quote_path(Path::new("a\nb\u{1b}[31m")), "a\\nb\\u{1b}[31m");
        let long = quote_path(Path::new(&("é".repeat(1000) + "/end")));
        assert!(long.starts_with("...é") && long.ends_with("é/end") && long.len() < 310, "{long}");
    }

    /// Messages may contain names from untrusted files.
    #[test]
    fn nothing_unseen_is_in_a_message() {
        let name = "d\u{9b}31m\u{202e}é\u{1b}[2J\n";
        let error = Error::new(ErrorKind::Format, format!("dataset \"{name}\"")).in_file("a\u{7f}").at(7);
        let shown = "a\\x7f: byte 7: dataset \"d\\xc2\\x9b31m\\xe2\\x80\\xaeé\\x1b[2J\\x0a\"";
        assert_eq!(error.to_string(), shown);
        assert_eq!(error.again().on_rank(1).to_string(), shown.replacen("7: ", "7: rank 1: ", 1));
    }

    #[test]
    fn the_words_of_the_system_have_classes() {
        let romio = "Other I/O error No space left on device";
        assert_eq!(ErrorKind::of_text(romio), ErrorKind::NoSpace);
        assert_eq!(ErrorKind::of_text("something else"), ErrorKind::Io);
    }

    #[test]
    fn system_errors_have_classes() {
        for (errno, kind) in [
            (libc::ENOENT, ErrorKind::NoSuchFile),
            (libc::ENOSPC, ErrorKind::NoSpace),
            (libc::EDQUOT, ErrorKind::Quota),
            (libc::EROFS, ErrorKind::ReadOnly),
            (libc::EIO, ErrorKind::Io),
        ] {
            assert_eq!(Error::io("x", io::Error::from_raw_os_error(errno)).kind(), kind);
        }
    }
}
