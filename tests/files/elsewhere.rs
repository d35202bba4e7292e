//! Files that are read by a program's own reader of bytes.

use crate::common::options;
use scda::{Encode, ErrorKind, ReadAt, ReadAtFile, Reader, Result, Sink, Solo, Source, Writer};
use std::io;
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
    let mut reader = Reader::open_at(ReadAtFile(source), Path::new("memory"), &options())?;
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
    let mut writer = Writer::create(Solo, &path, b"memory", &options()).unwrap();
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
