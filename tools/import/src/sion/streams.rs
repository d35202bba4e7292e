//! The streams of tasks, without gaps.

use super::Sion;
use super::physical::Physical;
use crate::{PIECE_BYTES, at_most};
use scda::{DataStream, ElementStream};
use scda_base::error::Result;
use std::io::{self, Read};

/// Reads the stream of one task.
pub struct TaskCursor<'a> {
    file: &'a Physical,
    task: usize,
    /// The block after the current one.
    next: u64,
    /// What is left of the current block.
    at: u64,
    left: u64,
}

impl<'a> TaskCursor<'a> {
    pub fn new(file: &'a Physical, task: usize) -> Self {
        Self { file, task, next: 0, at: 0, left: 0 }
    }

    /// Goes to the next block that has bytes, if nothing is left of the current one. Whether there is one.
    fn find(&mut self) -> Result<bool> {
        while self.left == 0 && self.next < self.file.blocks(self.task) {
            (self.at, self.left) = self.file.block(self.task, self.next)?;
            self.next += 1;
        }
        Ok(self.left > 0)
    }

    /// Fills the beginning of the buffer; 0 bytes at the end of the stream.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if !self.find()? {
            return Ok(0);
        }
        let count = at_most(buffer.len(), self.left);
        self.file.file.read("data of a task", self.at, &mut buffer[..count])?;
        self.take(count as u64);
        Ok(count)
    }

    fn take(&mut self, bytes: u64) {
        self.at += bytes;
        self.left -= bytes;
    }

    /// Fills all of the buffer, which the stream has enough bytes for.
    fn read_all(&mut self, mut buffer: &mut [u8]) -> Result<()> {
        while !buffer.is_empty() && self.find()? {
            let count = self.read(buffer)?;
            buffer = &mut buffer[count..];
        }
        debug_assert!(buffer.is_empty());
        Ok(())
    }

    fn skip(&mut self, mut bytes: u64) -> Result<()> {
        while bytes > 0 && self.find()? {
            let step = self.left.min(bytes);
            self.take(step);
            bytes -= step;
        }
        Ok(())
    }

    /// The bytes up to the last that is not 0.
    pub fn least_bytes(mut self) -> Result<u64> {
        let (mut piece, mut done, mut least) = (vec![0; PIECE_BYTES], 0, 0);
        loop {
            let count = self.read(&mut piece)?;
            if count == 0 {
                return Ok(least);
            }
            if let Some(last) = piece[..count].iter().rposition(|&byte| byte != 0) {
                least = done + last as u64 + 1;
            }
            done += count as u64;
        }
    }
}

/// The streams of all tasks, one after the other.
pub struct SionStreams<'a> {
    sion: &'a Sion,
    /// The next task whose size, and whose bytes are asked for.
    size: usize,
    next: usize,
    cursor: Option<TaskCursor<'a>>,
}

impl<'a> SionStreams<'a> {
    pub fn new(sion: &'a Sion) -> Self {
        Self { sion, size: 0, next: 0, cursor: None }
    }
}

impl Read for SionStreams<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(cursor) = &mut self.cursor {
                let count = cursor.read(buffer).map_err(io::Error::other)?;
                if count > 0 {
                    return Ok(count);
                }
            }
            if self.next == self.sion.tasks() {
                return Ok(0);
            }
            self.cursor = self.sion.task(self.next).map(|(file, task)| TaskCursor::new(file, task));
            self.next += 1;
        }
    }
}

impl DataStream for SionStreams<'_> {
    fn rewind(&mut self) -> io::Result<()> {
        *self = Self::new(self.sion);
        Ok(())
    }
}

impl ElementStream for SionStreams<'_> {
    fn read_sizes(&mut self, sizes: &mut [u64]) -> io::Result<()> {
        for size in sizes {
            *size = self.sion.bytes(self.size);
            self.size += 1;
        }
        Ok(())
    }
}

/// A key-value record in the stream of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The task.
    pub task: u64,
    /// The key, which other records may have, too.
    pub key: u64,
    /// Where the value begins in the stream.
    pub offset: u64,
    /// The bytes of the value.
    pub bytes: u64,
}

/// The records of all tasks: key and length, 8 bytes each, and the value.
pub struct Records<'a> {
    sion: &'a Sion,
    task: usize,
    cursor: Option<TaskCursor<'a>>,
    /// Where the next record begins in the stream.
    at: u64,
}

impl<'a> Records<'a> {
    pub(super) fn new(sion: &'a Sion) -> Self {
        Self { sion, task: 0, cursor: None, at: 0 }
    }

    /// The next record.
    ///
    /// # Errors
    /// `Format` where a stream does not consist of records, and those of reading.
    pub fn next_record(&mut self) -> Result<Option<Record>> {
        while self.task < self.sion.tasks() {
            let end = self.sion.bytes(self.task);
            let of_task = self.sion.task(self.task).filter(|_| self.at < end);
            let Some((file, task)) = of_task else {
                (self.task, self.at, self.cursor) = (self.task + 1, 0, None);
                continue;
            };
            let cursor = self.cursor.get_or_insert_with(|| TaskCursor::new(file, task));
            cursor.find()?;
            let place = cursor.at;
            let wrong = |found: &str, expected: &str| {
                let what = format!("key-value record of task {}, byte {} of its stream", self.task, self.at);
                file.file.wrong(place, &what, found, expected)
            };
            let mut head = [0; 16];
            let left = (end - self.at).checked_sub(head.len() as u64);
            let left = left.ok_or_else(|| wrong("the end of the stream", "16 bytes"))?;
            cursor.read_all(&mut head)?;
            let [key, bytes] = [&head[..8], &head[8..]].map(|half| {
                let number = half.iter().copied();
                let shift = |number, byte| number << 8 | u64::from(byte);
                if file.header.big_endian { number.fold(0, shift) } else { number.rev().fold(0, shift) }
            });
            if bytes > left {
                return Err(wrong(&format!("a value of {bytes} bytes"), &format!("at most {left}")));
            }
            let record = Record { task: self.task as u64, key, offset: self.at + 16, bytes };
            cursor.skip(bytes)?;
            self.at = record.offset + bytes;
            return Ok(Some(record));
        }
        Ok(None)
    }

    /// All numbers of all records as bytes, the lowest first: task, key, offset, bytes.
    #[must_use]
    pub fn numbers(mut self) -> impl DataStream {
        super::PieceReader::new(move |piece: &mut Vec<u8>| {
            while piece.len() < PIECE_BYTES
                && let Some(record) = self.next_record()?
            {
                let numbers = [record.task, record.key, record.offset, record.bytes];
                numbers.iter().for_each(|number| piece.extend(number.to_le_bytes()));
            }
            Ok(())
        })
    }
}
