//! Streams of tasks. A set of streams is a block with the number of tasks, an array of their chunks, and an
//! array with the bytes of each stream. docs/streams.md specifies their bytes.

use super::entry::CountFormat;
use super::index::{parse_entries, put_entries};
use super::layout::{SectionLayout, product};
use super::padding::LineBreak;
use super::{COUNT_BYTES, SECTION_HEADER_BYTES};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::resize;

/// The user string of the block before the chunks.
pub const STREAMS: &[u8] = b"scda streams 00";
/// The user string of the array after the chunks.
pub const STREAM_BYTES: &[u8] = b"scda stream bytes 00";
/// The most bytes of a chunk.
pub const MAX_CHUNK_BYTES: u64 = 1 << 30;
/// The largest multiple at which the data of the chunks are made to begin, in bytes.
const MAX_ALIGNMENT: u64 = 1 << 20;
/// The letters of the entries of the block: tasks, bytes of a chunk, and the number of the part.
const LETTERS: [u8; 3] = *b"PCK";
/// Bytes of these entries.
pub const ENTRIES_BYTES: usize = LETTERS.len() * COUNT_BYTES;
/// The letter of the entry with the bytes of a stream.
pub const BYTES_LETTER: u8 = b'U';
/// The most bytes of the block's data.
pub const MAX_BLOCK_BYTES: u64 = ENTRIES_BYTES as u64 + MAX_ALIGNMENT;

/// A part of a set of streams: chunk `r` of task `p` is element `r * tasks + p` of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPart {
    /// The number of streams, one for each task.
    pub tasks: u64,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
    /// 0 for the part that begins the set, and one more for each part that continues it.
    pub part: u64,
}

impl StreamPart {
    /// Returns an error unless chunks can have `bytes` bytes.
    ///
    /// # Errors
    /// `Argument`.
    pub fn check_chunk_bytes(bytes: u64) -> Result<()> {
        if (1..=MAX_CHUNK_BYTES).contains(&bytes) {
            return Ok(());
        }
        Err(Error::argument(format!("chunk_bytes: found {bytes}, expected 1 to {MAX_CHUNK_BYTES}")))
    }

    /// The data of the chunks begin at a multiple of this: the largest power of two that divides the bytes of
    /// a chunk, up to a limit. So chunks of whole pages do not share pages.
    fn alignment(&self) -> u64 {
        let power = 1 << self.chunk_bytes.trailing_zeros();
        u64::clamp(power, COUNT_BYTES as u64, MAX_ALIGNMENT)
    }

    /// The length of [`Self::text`] in bytes.
    #[must_use]
    pub fn text_bytes(&self, start: u64) -> u64 {
        let data = |bytes: u64| {
            let block = SectionLayout::block(start, bytes)?;
            Some(SectionLayout::array(block.end, 0, 0)?.data)
        };
        let least = ENTRIES_BYTES as u64;
        least + data(least).map_or(0, |data| data.next_multiple_of(self.alignment()) - data)
    }

    /// The data of the block, which begins at `start` of the file: the entries, and lines of dashes that
    /// align the data of the array after it.
    ///
    /// # Errors
    /// `Memory`.
    pub fn text(&self, start: u64, style: LineBreak) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        resize(&mut text, self.text_bytes(start))?;
        let (entries, lines) = text.split_at_mut(ENTRIES_BYTES);
        put_entries(entries, &LETTERS, &[self.tasks, self.chunk_bytes, self.part], style);
        for line in lines.as_chunks_mut::<COUNT_BYTES>().0 {
            line.fill(b'-');
            if let Some(end) = line.last_mut() {
                *end = b'\n';
            }
        }
        Ok(text)
    }

    /// Parses the data of the block, which lie at `offset` of the file. What follows the entries is ignored.
    ///
    /// # Errors
    /// `Format`, with the byte offset.
    pub fn parse(text: &[u8], offset: u64) -> Result<Self> {
        let wrong = |what: String| Error::new(ErrorKind::Format, format!("streams: {what}")).at(offset);
        let Some(entries) = text.get(..ENTRIES_BYTES) else {
            let found = text.len();
            return Err(wrong(format!("found a block of {found} bytes, expected at least {ENTRIES_BYTES}")));
        };
        let [tasks, chunk_bytes, part] = parse_entries(entries, &LETTERS, offset)?;
        if tasks == 0 {
            return Err(wrong("found 0 tasks, expected at least 1".into()));
        }
        if !(1..=MAX_CHUNK_BYTES).contains(&chunk_bytes) {
            let found = format!("found chunks of {chunk_bytes} bytes, expected 1 to {MAX_CHUNK_BYTES}");
            return Err(wrong(found));
        }
        Ok(Self { tasks, chunk_bytes, part })
    }

    /// The number of chunks that `bytes` bytes of a stream take.
    #[must_use]
    pub fn rounds(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.chunk_bytes)
    }

    /// The layout of the array of chunks at `start`, in which each stream has `rounds` chunks. `None` if it exceeds 63 bits.
    #[must_use]
    pub fn layout(&self, start: u64, rounds: u64) -> Option<SectionLayout> {
        SectionLayout::array(start, product(rounds, self.tasks)?, self.chunk_bytes)
    }

    /// The place of a byte of a task's stream; `None` if its offset exceeds 63 bits.
    #[must_use]
    pub fn place(&self, task: u64, byte: u64) -> Option<InChunk> {
        let (round, within) = (byte / self.chunk_bytes, byte % self.chunk_bytes);
        let chunk = product(round, self.tasks)?.checked_add(task)?;
        let at = product(chunk, self.chunk_bytes)?.checked_add(within)?;
        Some(InChunk { at, left: self.chunk_bytes - within })
    }
}

/// The place of a byte of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InChunk {
    /// Its offset in the data of the array.
    pub at: u64,
    /// The bytes from it to the end of its chunk, including it.
    pub left: u64,
}

/// The entry with the bytes of a stream.
#[must_use]
pub fn bytes_entry(bytes: u64, style: LineBreak) -> [u8; COUNT_BYTES] {
    CountFormat::new(BYTES_LETTER, style).entry(bytes)
}

/// Bytes of the header of the array of chunks. Space is kept for it until the length of the array is known.
pub const HEADER_BYTES: u64 = (SECTION_HEADER_BYTES + 2 * COUNT_BYTES) as u64;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn chunks_of_whole_pages_are_aligned() {
        let alignment = |chunk_bytes| StreamPart { tasks: 1, chunk_bytes, part: 0 }.alignment();
        let bytes = [1, 96, 4096, 12_288, 3 << 19, 1 << 20, 3 << 22];
        assert_eq!(bytes.map(alignment), [32, 32, 4096, 4096, 1 << 19, 1 << 20, 1 << 20]);
        assert_eq!(MAX_BLOCK_BYTES, 96 + (1 << 20));
    }

    #[test]
    #[cfg_attr(miri, ignore = "many minutes")]
    fn a_block_brings_the_chunks_to_their_place() {
        for chunk_bytes in [1, 32, 96, 4096, 12_288, 1 << 20, 3 << 20, 1 << 30] {
            let set = StreamPart { tasks: 5, chunk_bytes, part: 3 };
            for start in [128, 160, 4096, 1 << 40] {
                let text = set.text(start, LineBreak::Unix).unwrap();
                assert!(text.len() as u64 <= MAX_BLOCK_BYTES);
                assert_eq!(StreamPart::parse(&text, 0).unwrap(), set);
                let block = SectionLayout::block(start, text.len() as u64).unwrap();
                let data = set.layout(block.end, 2).unwrap().data;
                assert_eq!(data, block.end + HEADER_BYTES);
                assert_eq!(data % set.alignment(), 0);
                assert!(set.alignment() == 32 || chunk_bytes % set.alignment() == 0);
            }
        }
    }

    #[test]
    fn what_no_set_can_have_is_an_error() {
        let set = StreamPart { tasks: 1, chunk_bytes: 1, part: 0 };
        let text = set.text(128, LineBreak::Mime).unwrap();
        let error = |text: &[u8]| StreamPart::parse(text, 1000).unwrap_err().to_string();
        assert_eq!(error(&text[..95]), "byte 1000: streams: found a block of 95 bytes, expected at least 96");
        let with = |at: usize, digit| {
            let mut text = text.clone();
            text[at] = digit;
            error(&text)
        };
        assert_eq!(with(2, b'0'), "byte 1000: streams: found 0 tasks, expected at least 1");
        assert_eq!(with(34, b'0'), "byte 1000: streams: found chunks of 0 bytes, expected 1 to 1073741824");
        assert!(with(32, b'E').starts_with("byte 1032: "));
        for bytes in [0, MAX_CHUNK_BYTES + 1, u64::MAX] {
            assert!(StreamPart::check_chunk_bytes(bytes).is_err());
        }
        assert!(StreamPart { tasks: u64::MAX >> 1, chunk_bytes: 2, part: 0 }.place(0, 3).is_none());
    }

    proptest! {
        #[test]
        fn each_byte_has_a_place_of_its_own(tasks in 1..5_u64, chunk_bytes in 1..6_u64, rounds in 0..4_u64) {
            let set = StreamPart { tasks, chunk_bytes, part: 0 };
            let mut places = Vec::new();
            for task in 0..tasks {
                for byte in 0..rounds * chunk_bytes {
                    let InChunk { at, left } = set.place(task, byte).unwrap();
                    prop_assert_eq!(set.place(task, byte + left - 1).unwrap(), InChunk { at: at + left - 1, left: 1 });
                    places.push(at);
                }
            }
            places.sort_unstable();
            let all = set.layout(0, rounds).unwrap().data_bytes;
            prop_assert_eq!(places, (0..all).collect::<Vec<_>>());
        }
    }
}
