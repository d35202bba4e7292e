//! Files outside the file system: anything that can be read at offsets.

use super::ParallelFile;
use scda_base::error::{Error, ErrorKind, Result};
use std::io;

/// Bytes that can be read at offsets, such as an object in a store on the network, for `Reader::open_at`.
pub trait ReadAt: Send {
    /// The current number of bytes.
    ///
    /// # Errors
    /// Any.
    fn size(&mut self) -> io::Result<u64>;

    /// Fills `buffer` from `offset` on.
    ///
    /// # Errors
    /// `UnexpectedEof` if the bytes end before; any others.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

/// A placeholder for a file that somebody else has.
impl ReadAt for io::Empty {
    fn size(&mut self) -> io::Result<u64> {
        Ok(0)
    }

    fn read_at(&mut self, _: u64, _: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Bytes that one rank alone reads instead of a file.
pub struct ReadAtFile<T>(pub T);

impl<T: ReadAt> ParallelFile for ReadAtFile<T> {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.0.read_at(offset, buffer).map_err(|error| told("read", &error).at(offset))
    }

    fn size(&mut self) -> Result<u64> {
        self.0.size().map_err(|error| told("size", &error))
    }
}

fn told(what: &str, error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::UnexpectedEof => ErrorKind::ShortFile,
        io::ErrorKind::NotFound => ErrorKind::NoSuchFile,
        io::ErrorKind::PermissionDenied => ErrorKind::Access,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("{what}: {error}"))
}
