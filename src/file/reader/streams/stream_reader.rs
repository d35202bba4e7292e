//! A stream as `std::io::Read` and `Seek`.

use super::Stream;
use crate::file::reader::Reader;
use scda_base::numbers::to_usize;
use std::io::{self, Read, Seek, SeekFrom};

/// Reads the stream of a task sequentially, or from any byte on.
pub struct StreamReader<'a> {
    pub(super) reader: &'a mut Reader,
    pub(super) stream: Stream,
    pub(super) position: u64,
}

impl std::fmt::Debug for StreamReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamReader")
            .field("stream", &self.stream)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl Read for StreamReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = to_usize(self.stream.bytes.saturating_sub(self.position));
        let count = buffer.len().min(left);
        if count == 0 {
            return Ok(0);
        }
        let read = self.stream.read(self.reader, self.position, &mut buffer[..count]);
        read.map_err(io::Error::other)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for StreamReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(step) => self.stream.bytes.checked_add_signed(step),
            SeekFrom::Current(step) => self.position.checked_add_signed(step),
        };
        self.position = position.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}
