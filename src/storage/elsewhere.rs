//! A file that is no file of this system: whatever can be read at offsets.

use super::ParallelFile;
use crate::error::{Error, ErrorKind, Result};
use std::io;

/// Bytes that can be read at offsets, such as an object in a store that is reached over a network, for
/// [`Reader::open_at`](crate::Reader::open_at).
pub trait ReadAt: Send {
    /// The number of bytes now.
    ///
    /// # Errors
    /// Any.
    fn size(&mut self) -> io::Result<u64>;

    /// Fills `buffer` from `offset`.
    ///
    /// # Errors
    /// `UnexpectedEof` if the bytes end before, and any others.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

/// Nothing, in the place of a file that somebody else has.
impl ReadAt for io::Empty {
    fn size(&mut self) -> io::Result<u64> {
        Ok(0)
    }

    fn read_at(&mut self, _: u64, _: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// What is read instead of a file, by one rank alone.
pub struct Elsewhere<T>(pub T);

impl<T: ReadAt> ParallelFile for Elsewhere<T> {
    fn write_at(&mut self, _: u64, _: &[&[u8]]) -> Result<()> {
        Err(never())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.0.read_at(offset, buffer).map_err(|error| told("read", &error).at(offset))
    }

    fn size(&mut self) -> Result<u64> {
        self.0.size().map_err(|error| told("size", &error))
    }

    fn truncate(&mut self, _: u64) -> Result<()> {
        Err(never())
    }

    fn sync(&mut self) -> Result<()> {
        Err(never())
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
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

fn never() -> Error {
    Error::new(ErrorKind::Internal, "a file that is only read cannot be changed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encode, Params, Reader, Sink, Solo, Source, Writer};
    use std::path::Path;

    /// Bytes in memory that end at `end`, as if the others were lost.
    struct InMemory {
        bytes: Vec<u8>,
        end: usize,
        kind: io::ErrorKind,
    }

    impl ReadAt for InMemory {
        fn size(&mut self) -> io::Result<u64> {
            Ok(self.bytes.len() as u64)
        }

        fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
            let start = usize::try_from(offset).unwrap();
            let found = self.bytes[..self.end].get(start..start + buffer.len());
            buffer.copy_from_slice(found.ok_or_else(|| io::Error::from(self.kind))?);
            Ok(())
        }
    }

    fn read(source: InMemory) -> Result<Vec<u8>> {
        let mut reader = Reader::open_at(source, Path::new("memory"), &Params::default())?;
        let number = reader.find(b"ints", 0)?.unwrap();
        reader.seek_section(number)?;
        reader.next_section(true)?.unwrap();
        let mut data = vec![0; 40];
        reader.read_array(&[10], 4, Sink::Contiguous(&mut data))?;
        reader.close()?;
        Ok(data)
    }

    #[test]
    fn bytes_in_memory_are_read_as_a_file_is() {
        let folder = tempfile::tempdir().unwrap();
        let (path, ints) = (folder.path().join("f"), (0..40).collect::<Vec<u8>>());
        let mut writer = Writer::create(Solo, &path, b"memory", &Params::default()).unwrap();
        writer.block(b"first", 0, 5, Some(b"bytes"), Encode::None).unwrap();
        writer.array(b"ints", &[10], 4, Source::Contiguous(&ints), Encode::Always).unwrap();
        writer.close().unwrap();
        let bytes = std::fs::read(path).unwrap();
        let end = bytes.len();
        let source = |end, kind| InMemory { bytes: bytes.clone(), end, kind };
        assert_eq!(read(source(end, io::ErrorKind::Other)).unwrap(), ints);
        for (kind, expected) in [
            (io::ErrorKind::UnexpectedEof, ErrorKind::ShortFile),
            (io::ErrorKind::NotFound, ErrorKind::NoSuchFile),
            (io::ErrorKind::PermissionDenied, ErrorKind::Access),
            (io::ErrorKind::TimedOut, ErrorKind::Io),
        ] {
            let error = read(source(end - 1, kind)).unwrap_err();
            assert_eq!(error.kind(), expected);
            assert!(error.to_string().starts_with("memory: "), "{error}");
        }
    }
}
