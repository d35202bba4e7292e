//! SIONlib: a stream of bytes of each task, in chunks of one file or of several.
//!
//! A physical file begins with its first metadata block: numbers, the ranks of its tasks, and the bytes of a chunk of each. Then come
//! blocks: a chunk of each task, one after the other. The second metadata block follows: how many blocks each task has, and
//! how many bytes of each chunk are used. In the first of several physical files a mapping follows it: for each task the
//! file, and which of its tasks it is.

mod header;
mod physical;
mod streams;

pub use header::SionHeader;
pub use streams::{Record, Records};

use super::{Foreign, PieceReader};
use physical::Physical;
use scda::{DataStream, ElementStream};
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{reserve_count, resize};
use scda_base::numbers::to_usize;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use streams::{SionStreams, TaskCursor};

/// What the file begins with.
pub const MAGIC: &[u8] = b"sion";
/// The mode of files without key-value records.
pub const NO_KEY_VALUES: u64 = 50;
/// The mode of files whose streams are key-value records.
pub const INLINE_KEY_VALUES: u64 = 51;

/// The most physical files that may be missing: a file can claim any number.
const MOST_LOST: usize = 1000;

/// What the names of all physical files but the first have at their end.
fn number_in_name(number: u64) -> String {
    format!(".{number:06}")
}

/// A file of SIONlib, with all its physical files.
pub struct Sion {
    /// The physical files, at least one, without those that cannot be read.
    files: Vec<Physical>,
    /// For each number of a physical file: which of these it is.
    numbers: Vec<Option<usize>>,
    /// Why others cannot be read: the number of each, and the error.
    lost: Vec<(usize, Error)>,
    /// For each task: the number of its physical file, and which task of that it is.
    tasks: Vec<(usize, usize)>,
    /// Whether the order of tasks is that of the mapping, or the file needs none.
    knows_order: bool,
    /// What is wrong with the mapping.
    wrong_mapping: Option<Error>,
}

impl Sion {
    /// Reads the metadata of a file. If it consists of several physical files, `file` is the first of them, and the names of the
    /// others begin with `path`.
    ///
    /// With `salvage`, other physical files may be missing or damaged, and `file` may be any of them; block counts and a mapping that are
    /// wrong are as if they were missing.
    ///
    /// # Errors
    /// `Format`, `ShortFile` and `UnsupportedVersion`, at the byte where a file is not as it should be; `Memory`, and those
    /// of the file system. What is lost with the second metadata block is no error here.
    pub fn read(file: Foreign, path: &Path, salvage: bool) -> Result<Self> {
        let opened = Physical::open(file, salvage)?;
        let count = opened.header.files;
        let given = opened.header.later.map_or(0, |(number, _)| u64::from(number));
        let (mut name, mut path) = (opened.file.name().to_owned(), path.as_os_str().to_owned());
        let mut given_at = 0;
        if salvage && (1..count).contains(&given) {
            let end = number_in_name(given);
            if let (Some(start), Some(path_start)) =
                (name.strip_suffix(&end), path.as_bytes().strip_suffix(end.as_bytes()))
            {
                (name, path) = (start.to_owned(), OsStr::from_bytes(path_start).to_owned());
                given_at = given;
            }
        }
        let (mut files, mut numbers, mut lost, mut opened) =
            (Vec::new(), Vec::new(), Vec::new(), Some(opened));
        for number in 0..count {
            let end = if number == 0 { String::new() } else { number_in_name(number) };
            let name = format!("{name}{end}");
            let file = opened.take_if(|_| number == given_at).map_or_else(
                || {
                    let mut path = path.clone();
                    path.push(&end);
                    Physical::open(Foreign::open(path.as_ref(), &name)?, salvage)
                },
                Ok,
            );
            match file.and_then(|file| file.check_number(number, count).map(|()| file)) {
                Ok(file) => {
                    numbers.push(Some(files.len()));
                    files.push(file);
                }
                Err(error) if salvage && number != given_at && lost.len() < MOST_LOST => {
                    numbers.push(None);
                    lost.push((to_usize(number), error));
                }
                Err(error) => return Err(error),
            }
        }
        let mut tasks = Vec::new();
        for (number, index) in numbers.iter().enumerate() {
            let Some(index) = *index else { continue };
            let of_file = files[index].header.tasks;
            reserve_count(&mut tasks, of_file)?;
            tasks.extend((0..to_usize(of_file)).map(|task| (number, task)));
        }
        let mut sion = Self { files, numbers, lost, tasks, knows_order: count == 1, wrong_mapping: None };
        if count > 1
            && let Err(error) = sion.read_mapping()
        {
            if !salvage || error.kind() != ErrorKind::Format {
                return Err(error);
            }
            sion.wrong_mapping = Some(error);
        }
        Ok(sion)
    }

    /// Takes the order of the tasks from the mapping in the first of several files, if that is there.
    fn read_mapping(&mut self) -> Result<()> {
        let Some(first) = self.file(0) else { return Ok(()) };
        let Physical { file, header, .. } = first;
        let Some(at) = header.tables_end().filter(|_| first.knows_lengths()) else { return Ok(()) };
        let known = self.tasks.len() as u64;
        let word = |bytes: &[u8]| {
            let word = [bytes[0], bytes[1], bytes[2], bytes[3]];
            if header.big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
        };
        if at.saturating_add(4) > file.size() {
            return Ok(());
        }
        let mut count = [0; 4];
        file.read("mapping of the tasks", at, &mut count)?;
        let count = u64::from(word(&count));
        // The files that are lost have the others.
        let is_valid = if self.lost.is_empty() { count == known } else { count > known };
        let mapped = if is_valid { count } else { known };
        if at.saturating_add(4 + 8 * mapped) > file.size() {
            return Ok(());
        }
        if !is_valid {
            let expected =
                if self.lost.is_empty() { known.to_string() } else { format!("more than {known}") };
            return Err(file.wrong(at, "tasks in the mapping", count, expected));
        }
        let mut bytes = Vec::new();
        resize(&mut bytes, 8 * count)?;
        file.read("mapping of the tasks", at + 4, &mut bytes)?;
        let mut tasks = Vec::new();
        reserve_count(&mut tasks, count)?;
        let mut seen = HashSet::new();
        for (index, pair) in bytes.chunks_exact(8).enumerate() {
            let found = (to_usize(word(pair).into()), to_usize(word(&pair[4..]).into()));
            // Of a file that is lost it is not known how many it has.
            let has = |file: &Physical| (found.1 as u64) < file.header.tasks;
            let is_there = found.0 < self.numbers.len() && self.file(found.0).is_none_or(has);
            if !is_there || !seen.insert(found) {
                let at = at + 4 + 8 * index as u64;
                let what = format!("file and task of task {index}");
                return Err(file.wrong(at, &what, format!("{found:?}"), "each task once"));
            }
            tasks.push(found);
        }
        (self.tasks, self.knows_order) = (tasks, true);
        Ok(())
    }

    /// Why physical files cannot be read, and which tasks they have as far as that is known: only with a mapping.
    pub fn lost(&self) -> impl Iterator<Item = (&Error, Vec<usize>)> {
        self.lost.iter().map(|(number, error)| {
            let all = 0..self.tasks.len();
            (error, all.filter(|&task| self.tasks[task].0 == *number).collect())
        })
    }

    /// The physical file of this number, if it can be read.
    fn file(&self, number: usize) -> Option<&Physical> {
        self.numbers[number].map(|index| &self.files[index])
    }

    /// The physical files that can be read: each with its metadata.
    pub fn files(&self) -> impl Iterator<Item = (&Foreign, &SionHeader)> {
        self.files.iter().map(|file| (&file.file, &file.header))
    }

    /// The metadata of the first physical file that can be read.
    #[must_use]
    pub fn header(&self) -> &SionHeader {
        &self.files[0].header
    }

    /// Whether there are several physical files.
    #[must_use]
    pub fn has_several_files(&self) -> bool {
        self.numbers.len() > 1
    }

    /// The number of tasks.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// The physical file of a task, if it can be read, and which of its tasks it is.
    fn task(&self, task: usize) -> Option<(&Physical, usize)> {
        let (number, task) = self.tasks[task];
        self.file(number).map(|file| (file, task))
    }

    /// The number of the physical file of a task, and which of its tasks it is.
    #[must_use]
    pub fn place(&self, task: usize) -> (usize, usize) {
        self.tasks[task]
    }

    /// Whether the physical file of a task can be read. If not, the task has no blocks.
    #[must_use]
    pub fn is_there(&self, task: usize) -> bool {
        self.task(task).is_some()
    }

    /// The number that a task had; -1 if its physical file cannot be read.
    #[must_use]
    pub fn rank(&self, task: usize) -> i64 {
        self.task(task).map_or(-1, |(file, task)| file.header.ranks[task])
    }

    /// The bytes of a chunk of a task, as the file has them.
    #[must_use]
    pub fn chunk_bytes(&self, task: usize) -> u64 {
        self.task(task).map_or(0, |(file, task)| file.header.chunk_bytes[task])
    }

    /// The blocks of a task; if they are not known, those that the file has room for.
    #[must_use]
    pub fn blocks(&self, task: usize) -> u64 {
        self.task(task).map_or(0, |(file, task)| file.blocks(task))
    }

    /// The bytes of the stream of a task; if they are not known, those of its chunks.
    #[must_use]
    pub fn bytes(&self, task: usize) -> u64 {
        self.task(task).map_or(0, |(file, task)| file.bytes(task))
    }

    /// Whether the file says how many bytes a task has written.
    #[must_use]
    pub fn knows_length(&self, task: usize) -> bool {
        self.task(task).is_some_and(|(file, _)| file.knows_lengths())
    }

    /// The bytes of a stream up to the last that is not 0: the least that were written, if their number is not known.
    ///
    /// # Errors
    /// Those of reading.
    pub fn least_bytes(&self, task: usize) -> Result<u64> {
        match self.task(task) {
            Some((file, task)) if !file.knows_lengths() => TaskCursor::new(file, task).least_bytes(),
            _ => Ok(self.bytes(task)),
        }
    }

    /// What is wrong with the mapping, if that is why the order of tasks is not known.
    #[must_use]
    pub fn wrong_mapping(&self) -> Option<&Error> {
        self.wrong_mapping.as_ref()
    }

    /// Whether the order of tasks is known.
    #[must_use]
    pub fn knows_order(&self) -> bool {
        self.knows_order
    }

    /// What is missing, in words, for each physical file: what was never written, what is removed, and what is wrong.
    pub fn missing(&self) -> impl Iterator<Item = Error> {
        self.files.iter().filter_map(Physical::lost_lengths)
    }

    /// Physical files that do not end where they should, although their data and lengths are there.
    pub fn wrong_ends(&self) -> impl Iterator<Item = Error> {
        self.files.iter().filter(|file| file.knows_lengths()).filter_map(
            |Physical { file, header, .. }| {
                let mapped = if header.files > 1 { 8 * self.tasks.len() as u64 } else { 0 };
                // How many tasks the mapping has is then not known.
                if !self.lost.is_empty() && !self.knows_order {
                    return None;
                }
                let end = header.tables_end()? + if header.mapping_word()? { 4 + mapped } else { 0 };
                (file.size() != end)
                    .then(|| file.wrong(end.min(file.size()), "end of the file", file.size(), end))
            },
        )
    }

    /// An error if data of a file are removed.
    ///
    /// # Errors
    /// `ShortFile`.
    pub fn check_data(&self) -> Result<()> {
        let mut all = self.files.iter();
        all.try_for_each(|file| {
            file.file.check_end("chunks of the tasks", file.header.data, file.header.counts_at)
        })
    }

    /// The streams of all tasks.
    #[must_use]
    pub fn streams(&self) -> impl ElementStream {
        SionStreams::new(self)
    }

    /// The records of all tasks, if they are key-value records.
    #[must_use]
    pub fn records(&self) -> Records<'_> {
        Records::new(self)
    }

    /// The most blocks of a task.
    #[must_use]
    pub fn max_blocks(&self) -> u64 {
        self.files.iter().map(|file| file.header.max_blocks).max().unwrap_or(0)
    }

    /// The bytes that each task has written in each block, for all blocks in turn; only if they are known.
    #[must_use]
    pub fn block_bytes(&self) -> impl DataStream {
        let mut block = 0;
        // Where each task of each file is in a row.
        let mut columns: Vec<Vec<usize>> =
            self.files.iter().map(|file| vec![0; to_usize(file.header.tasks)]).collect();
        for (column, &(number, task)) in self.tasks.iter().enumerate() {
            self.numbers[number].into_iter().for_each(|file| columns[file][task] = column);
        }
        PieceReader::new(move |piece| {
            if block < self.max_blocks() {
                resize(piece, 8 * self.tasks.len() as u64)?;
                for (file, columns) in self.files.iter().zip(&columns) {
                    file.row(block, |task, bytes| {
                        piece[8 * columns[task]..][..8].copy_from_slice(&bytes.to_le_bytes());
                    })?;
                }
                block += 1;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests;
