//! The chunks of a physical file of SIONlib.

use super::header::SionHeader;
use crate::Foreign;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::reserve_count;
use scda_base::numbers::to_usize;

/// A physical file: some of the tasks.
pub struct Physical {
    pub file: Foreign,
    pub header: SionHeader,
    lengths: TaskLengths,
}

/// How many bytes the tasks have written.
enum TaskLengths {
    /// For each task: its blocks, and the bytes in all of them.
    Known(Vec<(u64, u64)>),
    /// Nothing says so, or what says so is wrong. The chunks end here.
    Lost(u64, Option<Error>),
}

impl Physical {
    /// With `salvage`, lengths that cannot be right are lost ones.
    pub fn open(file: Foreign, salvage: bool) -> Result<Self> {
        let header = SionHeader::read(&file)?;
        let end = header.tables_end().unwrap_or(u64::MAX);
        let lengths = match header.counts_at {
            _ if header.was_never_closed() => TaskLengths::Lost(file.size(), None),
            counts_at if end > file.size() => TaskLengths::Lost(file.size().min(counts_at), None),
            counts_at => match lengths(&file, &header) {
                Ok(lengths) => TaskLengths::Known(lengths),
                Err(error) if salvage && error.kind() == ErrorKind::Format => {
                    TaskLengths::Lost(counts_at, Some(error))
                }
                Err(error) => return Err(error),
            },
        };
        Ok(Self { file, header, lengths })
    }

    /// Why it is not known how many bytes each task has written.
    pub fn lost_lengths(&self) -> Option<Error> {
        let Self { file, header, lengths } = self;
        match lengths {
            TaskLengths::Known(_) => None,
            TaskLengths::Lost(_, Some(error)) => Some(error.again()),
            TaskLengths::Lost(..) if header.was_never_closed() => {
                let message = "the file was never closed: how many bytes the tasks have written is not known";
                Some(Error::new(ErrorKind::ShortFile, message).in_file(file.name()))
            }
            TaskLengths::Lost(..) => {
                let what = "second metadata block, without which it is not known how many bytes the tasks have written";
                let end = header.tables_end().unwrap_or(u64::MAX);
                Some(Error::short_file(what, end, file.size()).at(header.counts_at).in_file(file.name()))
            }
        }
    }

    /// An error unless this is the physical file of this number, counted from 0, of `count` files.
    pub fn check_number(&self, number: u64, count: u64) -> Result<()> {
        let Self { file, header, .. } = self;
        if header.files != count {
            let expected = format!("{count}, as in the first");
            return Err(file.wrong(28, "physical files", header.files, expected));
        }
        match header.later {
            Some((found, _)) if count > 1 && u64::from(found) != number => {
                let expected = match number {
                    0 => "0, that of the first of several files, whose name has no number at its end"
                        .to_owned(),
                    _ => number.to_string(),
                };
                Err(file.wrong(32, "number of the physical file", found, expected))
            }
            _ => Ok(()),
        }
    }

    /// Whether the file says how many bytes each task has written.
    pub fn knows_lengths(&self) -> bool {
        matches!(self.lengths, TaskLengths::Known(_))
    }

    /// The blocks of a task; if that is not known, those that the file has room for.
    pub fn blocks(&self, task: usize) -> u64 {
        match &self.lengths {
            TaskLengths::Known(lengths) => lengths[task].0,
            TaskLengths::Lost(end, _) => match self.header.chunks[task] {
                (at, 1..) if at < *end => (end - at).div_ceil(self.header.skip),
                _ => 0,
            },
        }
    }

    /// The bytes of a task; if that is not known, those of its chunks.
    pub fn bytes(&self, task: usize) -> u64 {
        match &self.lengths {
            TaskLengths::Known(lengths) => lengths[task].1,
            TaskLengths::Lost(end, _) => self.blocks(task).checked_sub(1).map_or(0, |whole| {
                let (at, size) = self.header.chunks[task];
                whole * size + (end - at - whole * self.header.skip).min(size)
            }),
        }
    }

    /// Where a block of a task begins, and the bytes in it.
    pub fn block(&self, task: usize, block: u64) -> Result<(u64, u64)> {
        let (first, size) = self.header.chunks[task];
        // Within the file, which has all blocks.
        let at = first + block * self.header.skip;
        let bytes = match self.lengths {
            TaskLengths::Lost(end, _) => size.min(end.saturating_sub(at)),
            TaskLengths::Known(_) => {
                let mut bytes = 0;
                let entry = self.row_at(block) + 8 * task as u64;
                self.file.numbers("bytes in a block", entry, 1, self.header.big_endian, |_, found| {
                    bytes = used(&self.file, entry, found, size)?;
                    Ok(())
                })?;
                bytes
            }
        };
        Ok((at, bytes))
    }

    /// Where the bytes of all tasks in a block are stored.
    fn row_at(&self, block: u64) -> u64 {
        self.header.counts_at + 8 * self.header.tasks * (block + 1)
    }

    /// Hands out the bytes of each task in a block. Only if they are known.
    pub fn row(&self, block: u64, mut each: impl FnMut(usize, u64)) -> Result<()> {
        if block >= self.header.max_blocks {
            return Ok(());
        }
        let (at, tasks) = (self.row_at(block), self.header.tasks);
        self.file.numbers("bytes in a block", at, tasks, self.header.big_endian, |task, found| {
            let size = self.header.chunks[to_usize(task)].1;
            each(to_usize(task), used(&self.file, at + 8 * task, found, size)?);
            Ok(())
        })
    }
}

/// The bytes that are used of a chunk of this size. None is also -1, as the description of the format has it.
fn used(file: &Foreign, at: u64, found: i64, size: u64) -> Result<u64> {
    let used = if found == -1 { Some(0) } else { u64::try_from(found).ok() };
    used.filter(|&used| used <= size).ok_or_else(|| {
        file.wrong(at, "bytes in a block", found, format!("0 to {size}, the size of the chunk"))
    })
}

/// The blocks and bytes of each task.
fn lengths(file: &Foreign, header: &SionHeader) -> Result<Vec<(u64, u64)>> {
    let mut lengths = Vec::new();
    reserve_count(&mut lengths, header.tasks)?;
    let (counts_at, most) = (header.counts_at, header.max_blocks);
    file.numbers("block counts", counts_at, header.tasks, header.big_endian, |task, found| {
        let blocks = u64::try_from(found).ok().filter(|&blocks| blocks <= most);
        let blocks = blocks.ok_or_else(|| {
            file.wrong(counts_at + 8 * task, "blocks of a task", found, format!("0 to {most}"))
        })?;
        lengths.push((blocks, 0));
        Ok(())
    })?;
    let (rows_at, all) = (counts_at + 8 * header.tasks, header.tasks * most);
    file.numbers("bytes in a block", rows_at, all, header.big_endian, |index, found| {
        let (block, task) = (index / header.tasks, to_usize(index % header.tasks));
        let at = rows_at + 8 * index;
        let used = used(file, at, found, header.chunks[task].1)?;
        let (blocks, bytes) = &mut lengths[task];
        if block >= *blocks && used > 0 {
            return Err(file.wrong(at, "bytes in a block", found, format!("none after {blocks} blocks")));
        }
        *bytes += used;
        Ok(())
    })?;
    Ok(lengths)
}
