//! Sets of streams, and the offsets of their parts.

use crate::file::reader::sections::CurrentSection;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::reserve;
use scda_format::COUNT_BYTES;
use scda_format::header::UserString;
use scda_format::layout::sum;
use scda_format::streams::StreamPart;

/// A set of streams in a file that is open for reading.
#[derive(Clone, Debug)]
pub struct Streams {
    pub(super) user: UserString,
    pub(super) parts: Vec<PartPlace>,
    /// The varray whose elements are the streams, if it is one.
    pub(super) packed: Option<CurrentSection>,
}

/// What a section with the name of a set of streams is.
pub(super) enum StreamSection {
    Part(PartPlace),
    PackedStreams(CurrentSection),
}

/// A part of a set of streams, and where the data of its sections are.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartPlace {
    pub(super) part: StreamPart,
    pub(super) chunks: u64,
    pub(super) rounds: u64,
    pub(super) bytes: u64,
}

impl PartPlace {
    /// The offset of the entry with the size of a task's stream.
    pub(super) fn entry(&self, task: u64) -> u64 {
        // The layout of the array bounds the sum.
        self.bytes + task * COUNT_BYTES as u64
    }

    /// Returns an error if there are too few chunks for `bytes` bytes of a task's stream.
    pub(super) fn check_bytes(&self, task: u64, bytes: u64) -> Result<()> {
        let most = self.rounds * self.part.chunk_bytes;
        if bytes <= most {
            return Ok(());
        }
        let message = format!("streams: found {bytes} bytes, expected at most {most}, as there are chunks");
        Err(Error::new(ErrorKind::Format, message).at(self.entry(task)))
    }
}

impl Streams {
    /// The name of the set.
    #[must_use]
    pub fn name(&self) -> &UserString {
        &self.user
    }

    /// The number of its first part: 0, except for a part that was read by itself.
    #[must_use]
    pub fn part(&self) -> u64 {
        self.parts.first().map_or(0, |first| first.part.part)
    }

    /// Adds the part that follows in the file.
    ///
    /// # Errors
    /// `Format` if it cannot follow because of its number, tasks, or chunks.
    pub fn extend(&mut self, next: &Self) -> Result<()> {
        let before = self.parts.len();
        reserve(&mut self.parts, next.parts.len())?;
        self.parts.extend(&next.parts);
        self.check(self.part(), before).inspect_err(|_| self.parts.truncate(before))
    }

    /// Checks this part against `before`, the previous part of this name in the file, if there is one.
    ///
    /// # Errors
    /// `Format` if this part neither begins a set nor continues `before` by number, tasks and chunks.
    pub fn check_follows(&self, before: Option<&Self>) -> Result<()> {
        match before {
            Some(before) if self.part() > 0 => before.clone().extend(self),
            _ => self.check(0, 0),
        }
    }

    /// The number of streams, which is that of the ranks that wrote them.
    #[must_use]
    pub fn tasks(&self) -> u64 {
        let packed = self.packed.map_or(0, |packed| packed.count);
        self.parts.first().map_or(packed, |first| first.part.tasks)
    }

    /// The size of a chunk in bytes; 0 if the streams are the elements of a varray.
    #[must_use]
    pub fn chunk_bytes(&self) -> u64 {
        self.parts.first().map_or(0, |first| first.part.chunk_bytes)
    }

    /// The offset of the data of its first part, or of the varray, which identifies the set within a file.
    #[doc(hidden)]
    #[must_use]
    pub fn number(&self) -> u64 {
        let packed = self.packed.map_or(0, |packed| packed.layout.start);
        self.parts.first().map_or(packed, |first| first.chunks)
    }

    /// The place of its last part, or of the varray, in the file.
    pub(super) fn place(&self) -> u64 {
        let packed = self.packed.map_or(0, |packed| packed.layout.start);
        self.parts.last().map_or(packed, |last| last.bytes)
    }

    /// Returns an error unless each part after the first `checked` ones continues the previous one. The first
    /// part has the number `begin`.
    pub(super) fn check(&self, begin: u64, checked: usize) -> Result<()> {
        let Some(first) = self.parts.first() else { return Ok(()) };
        let unchecked = self.parts.get(checked..).unwrap_or_default();
        for (number, part) in (begin.saturating_add(checked as u64)..).zip(unchecked) {
            let expected = StreamPart { part: number, ..first.part };
            if part.part == expected {
                continue;
            }
            let words = |StreamPart { tasks, chunk_bytes, part }| {
                format!("part {part} of {tasks} tasks with chunks of {chunk_bytes} bytes")
            };
            let message = format!("streams: found {}, expected {}", words(part.part), words(expected));
            return Err(Error::new(ErrorKind::Format, message).at(part.chunks));
        }
        Ok(())
    }
}

/// The sections of a name that are sets of streams or parts of them, by number, and those at which a set
/// begins.
pub(in crate::file::reader) struct StreamSets {
    pub(super) user: UserString,
    pub(super) sections: Vec<u64>,
    pub(super) begins: Vec<u64>,
}

/// The stream of a task, and where its bytes are.
#[derive(Clone, Debug)]
pub struct Stream {
    pub(super) task: u64,
    /// The parts, with the size of the stream in each.
    pub(super) parts: Vec<(PartPlace, u64)>,
    pub(super) bytes: u64,
}

impl Stream {
    /// The size of the stream in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns an error unless the stream has these bytes.
    ///
    /// # Errors
    /// `Argument`.
    pub fn check_range(&self, offset: u64, bytes: u64) -> Result<()> {
        if sum(offset, bytes).is_some_and(|end| end <= self.bytes) {
            return Ok(());
        }
        let most = self.bytes;
        let words = format!(
            "stream: found {bytes} bytes from byte {offset} on, expected no more than the stream has, {most}"
        );
        Err(Error::argument(words))
    }
}

pub(super) fn too_long() -> Error {
    Error::range("stream: its length exceeds 63 bits")
}
