//! What a physical file of SIONlib says at its beginning.

use super::MAGIC;
use crate::Foreign;
use scda_base::error::{Error, ErrorKind, Result, quote};
use scda_base::memory::{reserve_count, resize};
use scda_format::layout::{product, sum};

/// The numbers that all versions of the format have.
const COMMON_BYTES: usize = 32;
/// From version 3 on: the number of the file, and two words of flags.
const LATER_BYTES: usize = 20;
const PREFIX_BYTES: usize = 1024;
/// The versions of the format that are known.
const VERSIONS: std::ops::RangeInclusive<u32> = 2..=5;
/// From this one on, the sizes of chunks are those in the file; before, they are rounded up to blocks of the file system.
const ALIGNED: u32 = 4;
/// From this one on, where the block counts begin is where the chunks end.
const EXACT: u32 = 5;

/// The first block of metadata of a physical file, and what follows from it.
#[derive(Debug)]
pub struct SionHeader {
    /// The order of the numbers of the file.
    pub big_endian: bool,
    /// The order that the data were said to have.
    pub big_endian_data: bool,
    /// The version of SIONlib, 1000 for a main version.
    pub version: u32,
    /// Its patch level.
    pub patch_level: u32,
    /// The version of the format.
    pub format_version: u32,
    /// Chunks begin at multiples of this number of bytes, except where the writer chose otherwise.
    pub fs_block_bytes: u64,
    /// The number of tasks in this physical file.
    pub tasks: u64,
    /// The number of physical files.
    pub files: u64,
    /// Which of them it is, and two words of flags; from version 3 on.
    pub later: Option<(u32, [u64; 2])>,
    /// The name of the first file when it was made.
    pub prefix: Vec<u8>,
    /// The most blocks of a task; 0 in a file that was not closed.
    pub max_blocks: u64,
    /// Where the block counts begin; 0 in a file that was not closed.
    pub counts_at: u64,
    /// The number that each task had.
    pub ranks: Vec<i64>,
    /// The bytes of a chunk of each task, as they are in the file.
    pub chunk_bytes: Vec<u64>,
    /// For each task: where its first chunk begins, and the bytes it has.
    pub chunks: Vec<(u64, u64)>,
    /// From a chunk to the next one of the same task.
    pub skip: u64,
    /// Where the first chunk begins.
    pub data: u64,
}

/// Numbers of a header in the byte order of the file.
struct Words<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl Words<'_> {
    /// The number of four bytes at a place.
    fn four(&self, at: usize) -> u32 {
        let word = self.bytes[at..].first_chunk().copied().unwrap_or_default();
        if self.big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }

    /// The number of eight bytes at a place.
    fn eight(&self, at: usize) -> u64 {
        let word = self.bytes[at..].first_chunk().copied().unwrap_or_default();
        if self.big_endian { u64::from_be_bytes(word) } else { u64::from_le_bytes(word) }
    }
}

impl SionHeader {
    /// Reads and checks it.
    pub(super) fn read(file: &Foreign) -> Result<Self> {
        let mut common = [0; COMMON_BYTES];
        file.read("header of SIONlib", 0, &mut common)?;
        if !common.starts_with(MAGIC) {
            return Err(file.wrong(0, "SIONlib", quote(&common[..MAGIC.len()]), quote(MAGIC)));
        }
        let [big_endian, big_endian_data] = match [common[4], common[5], common[6], common[7]] {
            [a @ (0 | 1), b @ (0 | 1), c, d] if (a, b) == (d, c) => [a == 1, b == 1],
            _ => {
                let expected = "bytes 0 or 1, the first as the last, the second as the third";
                return Err(file.wrong(4, "byte order", quote(&common[4..8]), expected));
            }
        };
        let words = |bytes| Words { bytes, big_endian };
        let common = words(&common);
        let format_version = common.four(16);
        if !VERSIONS.contains(&format_version) {
            let (first, last) = (VERSIONS.start(), VERSIONS.end());
            let message = format!(
                "version of the format of SIONlib: found {format_version}, expected {first} to {last}"
            );
            let error = Error::new(ErrorKind::UnsupportedVersion, message);
            return Err(error.at(16).in_file(file.name()));
        }
        let positive = |what: &str, at: usize| match common.four(at) {
            found @ 1..=0x7fff_ffff => Ok(u64::from(found)),
            found => Err(file.wrong(at as u64, what, found, "1 to 2147483647")),
        };
        let fs_block_bytes = positive("bytes of a block of the file system", 20)?;
        let (tasks, files) = (positive("tasks", 24)?, positive("physical files", 28)?);

        let later_bytes = if format_version >= 3 { LATER_BYTES } else { 0 };
        let ranks_at = (COMMON_BYTES + later_bytes + PREFIX_BYTES) as u64;
        let tail_at = ranks_at + 16 * tasks;
        let end = tail_at + 12;
        file.check_end("first metadata block", 0, end)?;
        let mut rest = Vec::new();
        resize(&mut rest, (later_bytes + PREFIX_BYTES) as u64)?;
        file.read("first metadata block", COMMON_BYTES as u64, &mut rest)?;
        let (later, prefix) = rest.split_at(later_bytes);
        let later = words(later);
        let later = (later_bytes > 0).then(|| (later.four(0), [later.eight(4), later.eight(12)]));
        let prefix = prefix.split(|&byte| byte == 0).next().unwrap_or_default().to_vec();

        let (mut ranks, mut chunk_bytes) = (Vec::new(), Vec::new());
        reserve_count(&mut ranks, tasks)?;
        reserve_count(&mut chunk_bytes, tasks)?;
        file.numbers("global ranks", ranks_at, tasks, big_endian, |_, rank| {
            ranks.push(rank);
            Ok(())
        })?;
        let sizes_at = ranks_at + 8 * tasks;
        file.numbers("sizes of chunks", sizes_at, tasks, big_endian, |task, size| {
            let size = u64::try_from(size);
            chunk_bytes.push(size.map_err(|_| {
                file.wrong(sizes_at + 8 * task, "bytes of a chunk", "a negative number", "0 or more")
            })?);
            Ok(())
        })?;
        let mut tail = [0; 12];
        file.read("first metadata block", tail_at, &mut tail)?;
        let tail = words(&tail);
        let max_blocks = match tail.four(0) {
            found @ 0..=0x7fff_ffff => u64::from(found),
            _ => {
                return Err(file.wrong(tail_at, "most blocks of a task", "a negative number", "0 or more"));
            }
        };
        let mut header = Self {
            big_endian,
            big_endian_data,
            version: common.four(8),
            patch_level: common.four(12),
            format_version,
            fs_block_bytes,
            tasks,
            files,
            later,
            prefix,
            max_blocks,
            counts_at: tail.eight(4),
            ranks,
            chunk_bytes,
            chunks: Vec::new(),
            skip: 0,
            data: end.next_multiple_of(fs_block_bytes),
        };
        header.place_chunks(file, sizes_at)?;
        header.check_end_of_chunks(file, tail_at)?;
        Ok(header)
    }

    /// Finds where the first chunk of each task begins; the sizes of chunks are at `sizes_at`.
    fn place_chunks(&mut self, file: &Foreign, sizes_at: u64) -> Result<()> {
        reserve_count(&mut self.chunks, self.tasks)?;
        let mut at = self.data;
        for (task, &size) in (0..).zip(&self.chunk_bytes) {
            let whole = if self.format_version >= ALIGNED {
                Some(size)
            } else {
                size.checked_next_multiple_of(self.fs_block_bytes)
            };
            let next = whole.and_then(|whole| Some((whole, sum(at, whole)?)));
            let (whole, next) = next.ok_or_else(|| {
                file.wrong(sizes_at + 8 * task, "bytes of a chunk", size, "a sum below 2^63")
            })?;
            self.chunks.push((at, whole));
            at = next;
        }
        self.skip = at - self.data;
        Ok(())
    }

    /// Whether the file was never closed: then nothing says how many bytes the tasks have written.
    pub(super) fn was_never_closed(&self) -> bool {
        (self.max_blocks, self.counts_at) == (0, 0)
    }

    /// The block counts of a closed file follow the last block.
    fn check_end_of_chunks(&self, file: &Foreign, tail_at: u64) -> Result<()> {
        if self.was_never_closed() {
            return Ok(());
        }
        let end = product(self.max_blocks, self.skip).and_then(|bytes| sum(self.data, bytes));
        match end {
            Some(end) if end == self.counts_at => Ok(()),
            Some(end) if end < self.counts_at && self.format_version < EXACT => Ok(()),
            Some(end) => Err(file.wrong(
                tail_at + 4,
                "start of the second metadata block",
                self.counts_at,
                format!("{end}, after {} blocks of chunks", self.max_blocks),
            )),
            None => {
                Err(file.wrong(tail_at, "most blocks of a task", self.max_blocks, "chunks below 2^63 bytes"))
            }
        }
    }

    /// Where the second metadata block ends, without the mapping after it.
    pub(super) fn tables_end(&self) -> Option<u64> {
        let numbers = sum(self.max_blocks, 1).and_then(|rows| product(rows, self.tasks))?;
        sum(self.counts_at, product(numbers, 8)?)
    }

    /// How key-value records are stored, if at all: from version 5 on, in the upper half of the first flags.
    #[must_use]
    pub fn key_values(&self) -> Option<u64> {
        let (_, [flags, _]) = self.later.filter(|_| self.format_version >= 5)?;
        // Before there were any, the flags were 0.
        Some(flags >> 32).filter(|&mode| mode != 0)
    }

    /// Whether the number of tasks in the mapping follows the second metadata block, if that is known. A process that writes alone
    /// calls its file number 1, and writes it; ranks number their files from 0, and write it into the first of several.
    pub(super) fn mapping_word(&self) -> Option<bool> {
        let (number, _) = self.later.filter(|_| self.format_version >= EXACT)?;
        Some(number == u32::from(self.files == 1))
    }
}
