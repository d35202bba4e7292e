//! Files of other systems: `scda import` and its readers of SDF and SIONlib, and the commands that the Python package has (`vtk`). Every length and offset in a file of another system is checked before it is used.
#![forbid(unsafe_code)]

mod formats;
pub mod import;
pub mod python;
pub mod sdf;
pub mod sion;

use rustix::fs::OFlags;
use scda::DataStream;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::resize;
use scda_base::numbers::to_usize;
use scda_tools::{fail, files, output, progress};
use std::fmt::Display;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Bytes that are read at once: whole words.
const PIECE_BYTES: usize = 1 << 16;

/// A file of another system.
pub struct Foreign {
    file: File,
    name: String,
    size: u64,
}

impl Foreign {
    /// Opens a file, whose name in messages is `name`.
    ///
    /// # Errors
    /// Those of the file system, and `BadFile` for what is no file.
    pub fn open(path: &Path, name: &str) -> Result<Self> {
        let open = || -> io::Result<_> {
            // Opening a pipe would wait for a writer.
            let flags = OFlags::NONBLOCK.bits().cast_signed();
            let file = File::options().read(true).custom_flags(flags).open(path)?;
            let status = file.metadata()?;
            Ok((file, status))
        };
        let (file, status) = open().map_err(|e| Error::io("open", e).in_file(name))?;
        if !status.is_file() {
            return Err(Error::new(ErrorKind::BadFile, "a folder, pipe or device, not a file").in_file(name));
        }
        Ok(Self { file, name: name.to_owned(), size: status.len() })
    }

    /// The name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bytes of the file.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What the system says of the file.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn status(&self) -> Result<Metadata> {
        self.file.metadata().map_err(|e| Error::io("fstat", e).in_file(&self.name))
    }

    /// Whether the file begins with these bytes.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn begins_with(&self, magic: &[u8]) -> Result<bool> {
        let mut found = vec![0; magic.len()];
        if self.size < magic.len() as u64 {
            return Ok(false);
        }
        self.read("the beginning", 0, &mut found)?;
        Ok(found == magic)
    }

    /// An error of what stands at a byte of this file.
    fn wrong(&self, offset: u64, what: &str, found: impl Display, expected: impl Display) -> Error {
        let message = format!("{what}: found {found}, expected {expected}");
        Error::new(ErrorKind::Format, message).at(offset).in_file(&self.name)
    }

    /// An error unless the file has all bytes up to `end`, where what begins at `offset` ends.
    fn check_end(&self, what: &str, offset: u64, end: u64) -> Result<()> {
        if end <= self.size {
            return Ok(());
        }
        Err(Error::short_file(what, end, self.size).at(offset).in_file(&self.name))
    }

    /// Fills the buffer with the bytes at an offset.
    fn read(&self, what: &str, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.check_end(what, offset, offset.saturating_add(buffer.len() as u64))?;
        self.file.read_exact_at(buffer, offset).map_err(|e| Error::io(what, e).at(offset).in_file(&self.name))
    }

    /// Hands out numbers of 8 bytes, each with its index.
    fn numbers(
        &self,
        what: &str,
        offset: u64,
        count: u64,
        big_endian: bool,
        mut each: impl FnMut(u64, i64) -> Result<()>,
    ) -> Result<()> {
        let end = count.checked_mul(8).and_then(|bytes| offset.checked_add(bytes)).unwrap_or(u64::MAX);
        self.check_end(what, offset, end)?;
        let (mut piece, mut at, mut index) = (Vec::new(), offset, 0);
        while at < end {
            resize(&mut piece, (end - at).min(PIECE_BYTES as u64))?;
            self.read(what, at, &mut piece)?;
            for &number in piece.as_chunks::<8>().0 {
                each(
                    index,
                    if big_endian { i64::from_be_bytes(number) } else { i64::from_le_bytes(number) },
                )?;
                index += 1;
            }
            at += piece.len() as u64;
        }
        Ok(())
    }
}

/// Reads what a function makes, piece by piece. An empty piece is the end.
struct PieceReader<F> {
    make: F,
    piece: Vec<u8>,
    taken: usize,
}

impl<F: FnMut(&mut Vec<u8>) -> Result<()>> PieceReader<F> {
    fn new(make: F) -> Self {
        Self { make, piece: Vec::new(), taken: 0 }
    }
}

impl<F: FnMut(&mut Vec<u8>) -> Result<()>> Read for PieceReader<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.piece.len() {
            self.taken = 0;
            self.piece.clear();
            (self.make)(&mut self.piece).map_err(io::Error::other)?;
        }
        let rest = &self.piece[self.taken..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        Ok(count)
    }
}

impl<F: FnMut(&mut Vec<u8>) -> Result<()>> DataStream for PieceReader<F> {}

/// The least of the length of a buffer and a number.
fn at_most(length: usize, number: u64) -> usize {
    length.min(to_usize(number))
}
