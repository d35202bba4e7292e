//! Bytes on their way to the file: gathered in a buffer, or staged and written through.

use crate::error::{Error, ErrorKind, Result};
use crate::storage::ParallelFile;

/// Takes the bytes of a section that this rank owns, in the order of their offsets.
pub trait Outlet {
    /// Takes the pieces, which lie one after the other from `offset`.
    fn put(&mut self, offset: u64, pieces: &[&[u8]]) -> Result<()>;
}

/// The bytes of an extent's offset and length in a message.
const MARK_BYTES: usize = 16;

/// Bytes of this rank that wait to be written with those of the other ranks: a message of extents,
/// each with its offset in the file, its length, and its bytes.
#[derive(Default)]
pub struct Pending {
    message: Vec<u8>,
    /// Where the last extent begins in the message, and ends in the file.
    last: Option<(usize, u64)>,
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
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        if length == 0 {
            return;
        }
        let mark = match self.last {
            Some((mark, end)) if end == offset => mark,
            _ => {
                let mark = self.message.len();
                self.message.extend_from_slice(&offset.to_le_bytes());
                self.message.extend_from_slice(&[0; 8]);
                mark
            }
        };
        for piece in pieces {
            self.message.extend_from_slice(piece);
        }
        let bytes = (self.message.len() - mark - MARK_BYTES) as u64;
        self.message[mark + 8..mark + MARK_BYTES].copy_from_slice(&bytes.to_le_bytes());
        self.last = Some((mark, offset + length as u64));
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.message.clear();
        self.last = None;
    }

    /// Everything as one message.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// Writes everything, for a rank that is alone.
    pub fn write(&self, file: &mut dyn ParallelFile) -> Result<()> {
        Extents(&self.message).try_for_each(|extent| {
            let (offset, bytes) = extent?;
            file.write_at(offset, &[bytes])
        })
    }
}

/// The extents of a message: offsets in the file, and bytes.
struct Extents<'a>(&'a [u8]);

impl<'a> Iterator for Extents<'a> {
    type Item = Result<(u64, &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        let (offset, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = &[];
        let extent = rest.split_first_chunk::<8>().and_then(|(length, rest)| {
            let (bytes, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
            self.0 = rest;
            Some((u64::from_le_bytes(*offset), bytes))
        });
        Some(extent.ok_or_else(broken))
    }
}

/// What one rank cannot have received from the others.
fn broken() -> Error {
    Error::new(ErrorKind::Internal, "the ranks' pieces do not make up the file")
}

/// Fills `region` with the bytes of the file from `start` to `end`, from the messages of all ranks.
pub fn assemble(messages: &[u8], start: u64, end: u64, region: &mut Vec<u8>) -> Result<()> {
    region.resize(usize::try_from(end - start).map_err(|_| broken())?, 0);
    let mut filled = 0;
    for extent in Extents(messages) {
        let (offset, bytes) = extent?;
        let at = offset.checked_sub(start).and_then(|at| usize::try_from(at).ok()).ok_or_else(broken)?;
        let room = at.checked_add(bytes.len()).and_then(|end| region.get_mut(at..end));
        room.ok_or_else(broken)?.copy_from_slice(bytes);
        filled += bytes.len();
    }
    if filled == region.len() { Ok(()) } else { Err(broken()) }
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
        assert_eq!(Extents(a.message()).count(), 2);
        let all = [a.message(), b.message()].concat();
        let assemble = |messages: &[u8], start, end| {
            let mut region = vec![7; 3];
            super::assemble(messages, start, end, &mut region).map(|()| region)
        };
        assert_eq!(assemble(&all, 10, 17).unwrap(), b"abcdefg");
        assert!(assemble(&all, 10, 18).is_err());
        assert!(assemble(&all, 11, 17).is_err());
        assert!(assemble(&all, 10, 16).is_err());
        assert!(assemble(&all[..all.len() - 1], 10, 17).is_err());
    }

    #[test]
    fn a_rank_that_is_alone_writes_its_extents() {
        let mut log = Log::default();
        let writes = Arc::clone(&log.0);
        let mut pending = Pending::default();
        pending.append(5, &[b"ab"]);
        pending.append(7, &[b"c"]);
        pending.write(&mut log).unwrap();
        assert_eq!(*writes.lock().unwrap(), [(5, b"abc".to_vec())]);
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
