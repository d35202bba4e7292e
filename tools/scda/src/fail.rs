//! Failures of the command, and their exit codes.

use crate::terminal_text::complain;
use scda::{Error, ErrorKind};
use std::io;

/// The answer is no: a file is not valid, or files differ.
pub const NO: u8 = 1;
/// Something else went wrong.
pub const TROUBLE: u8 = 2;

/// Why a command ends early.
pub enum Fail {
    /// An error of the library, which names the file.
    Scda(Error),
    /// A file is not valid, in words.
    Invalid(String),
    /// Trouble, in words.
    Trouble(String),
    /// The message is printed already.
    Said(u8),
    /// The reader of standard output has closed it.
    Quiet,
}

/// The result of most functions of the command.
pub type Result<T, E = Fail> = std::result::Result<T, E>;

impl Fail {
    /// Trouble with a file.
    pub fn file(name: &str, what: impl std::fmt::Display) -> Self {
        Self::Trouble(format!("{name}: {what}"))
    }

    /// As an error of `std::io`, for code that implements its traits.
    pub fn into_io(self) -> io::Error {
        match self {
            Self::Scda(error) => io::Error::other(error),
            Self::Invalid(text) | Self::Trouble(text) => io::Error::other(text),
            Self::Said(_) | Self::Quiet => io::ErrorKind::Other.into(),
        }
    }

    pub fn code(&self) -> u8 {
        match self {
            Self::Scda(error) if is_invalid(first(error)) => NO,
            Self::Invalid(_) => NO,
            Self::Scda(_) | Self::Trouble(_) => TROUBLE,
            Self::Said(code) => *code,
            Self::Quiet => 0,
        }
    }

    /// Prints the message to standard error, and returns the exit code.
    pub fn report(self) -> u8 {
        let code = self.code();
        match self {
            Self::Scda(error) => complain(&first(&error).to_string()),
            Self::Invalid(text) | Self::Trouble(text) => complain(&text),
            Self::Said(_) | Self::Quiet => {}
        }
        code
    }
}

/// Combines the result of printing with another one, which counts even if the reader of the output has gone away.
pub fn and_known(printed: Result<()>, known: impl FnOnce() -> Result<()>) -> Result<()> {
    match printed {
        Ok(()) => known(),
        Err(Fail::Quiet) => known().and(Err(Fail::Quiet)),
        failed => failed,
    }
}

/// True if the error says that a file is invalid; other errors say nothing about the file.
pub fn is_invalid(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Format
            | ErrorKind::Decode
            | ErrorKind::ShortFile
            | ErrorKind::UnsupportedVersion
            | ErrorKind::Range
            | ErrorKind::Checksum
    )
}

/// The original error: an error of a writer may have been one of reading its data.
fn first(error: &Error) -> &Error {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    source.and_then(io::Error::get_ref).and_then(|inner| inner.downcast_ref::<Error>()).map_or(error, first)
}

impl From<Error> for Fail {
    fn from(error: Error) -> Self {
        Self::Scda(error)
    }
}
