//! Bytes on their way to the file: gathered in a buffer, or staged and written through.

use crate::error::{Error, ErrorKind, Result};
use crate::storage::ParallelFile;

/// Takes the bytes of a section that this rank owns, in the order of their offsets.
pub trait Outlet {
    /// Takes the pieces, which lie one after the other from `offset`.
    fn put(&mut self, offset: u64, pieces: &[&[u8]]) -> Result<()>;
}

/// The offset and length of bytes that lie together in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    offset: u64,
    length: usize,
}

/// Bytes of this rank that wait to be written with those of the other ranks.
#[derive(Default)]
pub struct Pending {
    extents: Vec<Extent>,
    bytes: Vec<u8>,
}

impl Outlet for Pending {
    fn put(&mut self, offset: u64, pieces: &[&[u8]]) -> Result<()> {
        self.append(offset, pieces);
        Ok(())
    }
}

impl Pending {
    /// Takes the pieces, which lie one after the other from `offset`.
    pub fn append(&mut self, offset: u64, pieces: &[&[u8]]) {
        let length = pieces.iter().map(|piece| piece.len()).sum();
        match self.extents.last_mut() {
            Some(last) if last.offset + last.length as u64 == offset => last.length += length,
            _ if length > 0 => self.extents.push(Extent { offset, length }),
            _ => {}
        }
        for piece in pieces {
            self.bytes.extend_from_slice(piece);
        }
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.extents.clear();
        self.bytes.clear();
    }

    /// The extents with their bytes.
    fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.extents.iter().scan(0, |start, extent| {
            let bytes = &self.bytes[*start..*start + extent.length];
            *start += extent.length;
            Some((extent.offset, bytes))
        })
    }

    /// Writes everything, for a rank that is alone.
    pub fn write(&self, file: &mut dyn ParallelFile) -> Result<()> {
        self.iter().try_for_each(|(offset, bytes)| file.write_at(offset, &[bytes]))
    }

    /// Everything as one message: offset, length and bytes of each extent.
    pub fn message(&self) -> Vec<u8> {
        let mut message = Vec::with_capacity(self.bytes.len() + 16 * self.extents.len());
        for (offset, bytes) in self.iter() {
            message.extend_from_slice(&offset.to_le_bytes());
            message.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            message.extend_from_slice(bytes);
        }
        message
    }
}

/// The bytes of the file from `start` to `end`, from the messages of all ranks.
pub fn assemble(mut messages: &[u8], start: u64, end: u64) -> Result<Vec<u8>> {
    let broken = || Error::new(ErrorKind::Internal, "the ranks' pieces do not make up the file");
    let mut region = vec![0; usize::try_from(end - start).map_err(|_| broken())?];
    let mut filled = 0;
    while let Some((offset, rest)) = messages.split_first_chunk::<8>() {
        let (length, rest) = rest.split_first_chunk::<8>().ok_or_else(broken)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| broken())?;
        let (bytes, rest) = rest.split_at_checked(length).ok_or_else(broken)?;
        let at = u64::from_le_bytes(*offset).checked_sub(start).and_then(|at| usize::try_from(at).ok());
        let at = at.ok_or_else(broken)?;
        let room = at.checked_add(length).and_then(|end| region.get_mut(at..end)).ok_or_else(broken)?;
        room.copy_from_slice(bytes);
        filled += length;
        messages = rest;
    }
    if filled == region.len() { Ok(region) } else { Err(broken()) }
}

/// The bytes of the staging buffer.
const STAGE_BYTES: usize = 1 << 20;

/// Writes through to the file. Small pieces are staged, large ones go straight from their memory,
/// together with what is staged before them.
pub struct Stage<'a> {
    file: &'a mut dyn ParallelFile,
    offset: u64,
    buffer: Vec<u8>,
}

impl<'a> Stage<'a> {
    pub fn new(file: &'a mut dyn ParallelFile) -> Self {
        Self { file, offset: 0, buffer: Vec::new() }
    }

    /// Writes what is staged.
    pub fn finish(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.file.write_at(self.offset, &[&self.buffer])?;
            self.buffer.clear();
        }
        Ok(())
    }
}

impl Outlet for Stage<'_> {
    fn put(&mut self, offset: u64, pieces: &[&[u8]]) -> Result<()> {
        if self.offset + self.buffer.len() as u64 != offset {
            self.finish()?;
        }
        if self.buffer.is_empty() {
            self.offset = offset;
        }
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        if self.buffer.len() + length > STAGE_BYTES {
            let staged = [self.buffer.as_slice()];
            let all: Vec<&[u8]> = staged.iter().chain(pieces).copied().collect();
            self.file.write_at(self.offset, &all)?;
            self.buffer.clear();
            self.offset = offset + length as u64;
        } else {
            for piece in pieces {
                self.buffer.extend_from_slice(piece);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Remembers what is written, and how.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Writes>>);

    type Writes = Vec<(u64, Vec<u8>)>;

    impl ParallelFile for Log {
        fn write_at(&mut self, offset: u64, pieces: &[&[u8]]) -> Result<()> {
            self.0.lock().unwrap().push((offset, pieces.concat()));
            Ok(())
        }
        fn read_at(&mut self, _: u64, _: &mut [u8]) -> Result<()> {
            unreachable!("the outlets only write")
        }
        fn size(&mut self) -> Result<u64> {
            Ok(0)
        }
        fn truncate(&mut self) -> Result<()> {
            Ok(())
        }
        fn sync(&mut self) -> Result<()> {
            Ok(())
        }
        fn close(self: Box<Self>) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn pieces_of_several_ranks_make_up_the_file() {
        let (mut a, mut b) = (Pending::default(), Pending::default());
        a.put(10, &[b"ab", b"c"]).unwrap();
        a.put(13, &[b"d"]).unwrap();
        a.put(14, &[]).unwrap();
        b.put(14, &[b"ef"]).unwrap();
        a.put(16, &[b"g"]).unwrap();
        assert_eq!(a.extents.len(), 2);
        let all = [a.message(), b.message()].concat();
        assert_eq!(assemble(&all, 10, 17).unwrap(), b"abcdefg");
        assert!(assemble(&all, 10, 18).is_err());
        assert!(assemble(&all, 11, 17).is_err());
        assert!(assemble(&all, 10, 16).is_err());
        assert!(assemble(&all[..all.len() - 1], 10, 17).is_err());
    }

    #[test]
    fn large_pieces_leave_with_what_is_staged_before_them() {
        let mut log = Log::default();
        let writes = Arc::clone(&log.0);
        let large = vec![7; STAGE_BYTES];
        let mut stage = Stage::new(&mut log);
        stage.put(0, &[b"head"]).unwrap();
        stage.put(4, &[&large, b"tail"]).unwrap();
        stage.put(8 + STAGE_BYTES as u64, &[b"more"]).unwrap();
        stage.put(5_000_000, &[b"elsewhere"]).unwrap();
        stage.finish().unwrap();
        let writes: Vec<(u64, usize)> =
            writes.lock().unwrap().iter().map(|(offset, bytes)| (*offset, bytes.len())).collect();
        let end = 8 + STAGE_BYTES;
        assert_eq!(writes, [(0, end), (end as u64, 4), (5_000_000, 9)]);
    }
}
