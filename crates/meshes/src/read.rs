//! Reads the datasets of a mesh sequentially, for ranks that read a file together and for checks of a file.

use crate::steps::last;
use scda::{Collective, DataType, Dataset, DatasetHandle, Error, ErrorKind, IndexBox, Reader, Result};
use scda_base::memory::{reserve, resize};
use scda_format::meshes::{MeshError, Part, part_name};
use std::ops::{Deref, Range};

/// The bytes that are read at a time.
const AT_ONCE: u64 = 1 << 24;
/// The numbers that are checked at a time.
const BATCH: usize = 1 << 16;

/// Finds and reads the datasets of a mesh: for ranks that read a file together, which all make the same calls,
/// or for a check of a file. The rules of meshes work with any source.
pub trait Source {
    /// A dataset, and the position up to which it has been read.
    type Column: Deref<Target = Dataset>;
    /// The error that ends reading.
    type Error;
    /// For a check, the most numbers of a dataset that it keeps to compare them with others; a check does not
    /// read values to which no rule applies. `None`: all numbers are read and kept.
    const MOST: Option<u64>;

    /// Opens the dataset of this name. `None` if the mesh has none.
    ///
    /// # Errors
    /// If the dataset cannot be opened.
    fn open(&mut self, part: &'static str) -> Result<Option<Self::Column>, Self::Error>;

    /// Reads the next items of a dataset, in the byte order of the machine; `false` at the end.
    ///
    /// # Errors
    /// If they cannot be read, and `Memory`.
    fn read(&mut self, column: &mut Self::Column, bytes: &mut Vec<u8>) -> Result<bool, Self::Error>;

    /// Turns the result of a rule, which is the same on all ranks, into one of the source.
    ///
    /// # Errors
    /// What is wrong, and where.
    fn hold<T>(&mut self, checked: Result<T, MeshError>) -> Result<T, Self::Error>;

    /// The result of this rank, unless a rank has an error.
    ///
    /// # Errors
    /// That of the lowest rank that has one.
    fn agree<T>(&mut self, own: Result<T>) -> Result<T, Self::Error>;

    /// For a check, requires that the file has enough bytes for the numbers of a dataset: chunks of the fill
    /// value take none, so a small file may claim any number of them.
    ///
    /// # Errors
    /// If the file has too few bytes.
    fn bound(&mut self, _: &Self::Column) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Opens a dataset, if there is one, of a mesh of `d` axes. It must have the type and shape of this part, with
/// `rows` rows; `None`: any number.
pub(crate) fn open_if<S: Source>(
    source: &mut S,
    part: &Part,
    d: usize,
    rows: Option<u64>,
) -> Result<Option<S::Column>, S::Error> {
    let Some(found) = source.open(part.name)? else { return Ok(None) };
    source.hold(part.fits(&found, d, rows))?;
    Ok(Some(found))
}

/// As [`open_if`], for a dataset that must exist.
pub(crate) fn open<S: Source>(
    source: &mut S,
    part: &Part,
    d: usize,
    rows: Option<u64>,
) -> Result<S::Column, S::Error> {
    open_after(source, part, part, d, rows)
}

/// As [`open`], for a dataset that must follow `before`.
pub(crate) fn open_after<S: Source>(
    source: &mut S,
    before: &Part,
    part: &Part,
    d: usize,
    rows: Option<u64>,
) -> Result<S::Column, S::Error> {
    let found = open_if(source, part, d, rows)?;
    let words = if before.name == part.name {
        "there is none".to_owned()
    } else {
        format!("no {} follows it", part.name)
    };
    source.hold(found.ok_or_else(|| MeshError::new(before.name, words)))
}

/// The numbers of a dataset. Before memory for further ones is allocated, `check` is called with the index of
/// a number and the numbers from there on, so that a damaged number costs no memory. The result is empty if
/// there are more than a check keeps.
pub(crate) fn numbers<S: Source, T, const N: usize>(
    source: &mut S,
    column: S::Column,
    of: fn([u8; N]) -> T,
    check: impl FnMut(u64, &[T]) -> Result<(), MeshError>,
) -> Result<Vec<T>, S::Error> {
    let are_kept = S::MOST.is_none_or(|most| column.shape.iter().product::<u64>() <= most);
    numbers_if(source, column, of, are_kept, check)
}

/// As [`numbers`]. The result is empty unless `are_kept`.
pub(crate) fn numbers_if<S: Source, T, const N: usize>(
    source: &mut S,
    mut column: S::Column,
    of: fn([u8; N]) -> T,
    are_kept: bool,
    mut check: impl FnMut(u64, &[T]) -> Result<(), MeshError>,
) -> Result<Vec<T>, S::Error> {
    let (mut all, mut bytes, mut first) = (Vec::new(), Vec::new(), 0);
    while source.read(&mut column, &mut bytes)? {
        let found = bytes.as_chunks().0;
        source.agree(reserve(&mut all, if are_kept { found.len() } else { found.len().min(BATCH) }))?;
        for batch in found.chunks(BATCH) {
            let seen = if are_kept { all.len() } else { 0 };
            all.truncate(seen);
            all.extend(batch.iter().map(|bytes| of(*bytes)));
            source.hold(check(first, &all[seen..]))?;
            first += batch.len() as u64;
        }
    }
    Ok(if are_kept { all } else { Vec::new() })
}

/// The values of a dataset to which no rule applies. A check does not read them.
pub(crate) fn values<S: Source, T, const N: usize>(
    source: &mut S,
    column: S::Column,
    of: fn([u8; N]) -> T,
) -> Result<Vec<T>, S::Error> {
    if S::MOST.is_some() { Ok(Vec::new()) } else { numbers(source, column, of, |_, _| Ok(())) }
}

/// Reads the numbers of a dataset one by one, in bounded memory.
pub struct Numbers<C> {
    column: C,
    bytes: Vec<u8>,
    at: usize,
}

impl<C: Deref<Target = Dataset>> Numbers<C> {
    /// Begins with the first number that has not been read.
    pub fn new(column: C) -> Self {
        Self { column, bytes: Vec::new(), at: 0 }
    }

    /// The next number; for `uint64` and `float64`, the integer with the same bits.
    ///
    /// # Errors
    /// Those of [`Source::read`]; `Internal` after the last number.
    pub fn next<S: Source<Column = C>>(&mut self, source: &mut S) -> Result<i64, S::Error> {
        while self.at == self.bytes.len() {
            self.at = 0;
            if !source.read(&mut self.column, &mut self.bytes)? {
                return source.agree(Err(internal("a dataset has no more numbers")));
            }
        }
        let rest = &self.bytes[self.at..];
        let of_eight = || rest.first_chunk().map(|bytes| i64::from_ne_bytes(*bytes));
        let (number, bytes) = match self.column.data_type {
            DataType::Int8 => (rest.first_chunk().map(|bytes| i8::from_ne_bytes(*bytes).into()), 1),
            DataType::Uint8 => (rest.first().map(|byte| (*byte).into()), 1),
            DataType::Int32 => (rest.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes).into()), 4),
            DataType::Int64 | DataType::Uint64 | DataType::Float64 => (of_eight(), 8),
            _ => (None, 0),
        };
        self.at += bytes;
        match number {
            Some(number) => Ok(number),
            None => source.agree(Err(internal("found a part of a number"))),
        }
    }
}

impl<C: Deref<Target = Dataset>> Deref for Numbers<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.column
    }
}

fn internal(words: &str) -> Error {
    Error::new(ErrorKind::Internal, words)
}

/// Selects one of the datasets of a name.
pub(crate) enum RecordChoice {
    /// The one with this record, which the parts of a mesh share.
    Record(i64),
    /// The last one in these sections.
    Sections(Range<u64>),
}

/// A mesh that ranks read together. Rank 0 reads the file, and all ranks receive all numbers.
pub(crate) struct RankSource<'a> {
    pub file: &'a mut Reader,
    pub group: &'a str,
    pub choice: RecordChoice,
}

/// A dataset, and the next row to be read.
pub(crate) struct RankColumn {
    pub dataset: DatasetHandle,
    next: u64,
}

impl Deref for RankColumn {
    type Target = Dataset;

    fn deref(&self) -> &Dataset {
        &self.dataset
    }
}

impl Source for RankSource<'_> {
    type Column = RankColumn;
    type Error = Error;
    const MOST: Option<u64> = None;

    fn open(&mut self, part: &'static str) -> Result<Option<RankColumn>> {
        let name = part_name(self.group, part)?;
        let record = match &self.choice {
            RecordChoice::Record(record) => Some(*record),
            RecordChoice::Sections(sections) => last(self.file, &name, sections)?,
        };
        let Some(record) = record else { return Ok(None) };
        Ok(self.file.dataset_record(&name, record)?.map(RankColumn::from))
    }

    fn read(&mut self, RankColumn { dataset, next }: &mut RankColumn, bytes: &mut Vec<u8>) -> Result<bool> {
        let rows = dataset.shape.first().copied().unwrap_or(1);
        if *next == rows {
            return Ok(false);
        }
        let row_bytes = self.file.agree_on(dataset.data_bytes())?.checked_div(rows).unwrap_or(0);
        let count = AT_ONCE.checked_div(row_bytes).unwrap_or(1).max(1).min(rows - *next);
        let is_first = self.file.rank() == 0;
        // Releases the rows before, so that rank 0 holds its rows and their copy, and nothing else.
        *bytes = Vec::new();
        let mut own = Vec::new();
        let room = if is_first { resize(&mut own, count * row_bytes) } else { Ok(()) };
        self.file.agree_on(room)?;
        let mut region = IndexBox::all(&dataset.shape);
        if let (Some(start), Some(n)) = (region.start.first_mut(), region.count.first_mut()) {
            (*start, *n) = (*next, count);
        }
        dataset.read(self.file, if is_first { std::slice::from_ref(&region) } else { &[] }, &mut own)?;
        *bytes = self.file.gather_all(Ok(&own))?;
        *next += count;
        Ok(true)
    }

    fn hold<T>(&mut self, checked: Result<T, MeshError>) -> Result<T> {
        checked.or_else(|wrong| self.file.agree_on(Err(wrong.error(ErrorKind::Format, self.group))))
    }

    fn agree<T>(&mut self, own: Result<T>) -> Result<T> {
        self.file.agree_on(own)
    }
}

impl From<DatasetHandle> for RankColumn {
    fn from(dataset: DatasetHandle) -> Self {
        Self { dataset, next: 0 }
    }
}
