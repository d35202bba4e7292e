//! Reads what was added to datasets later: attributes and rows.

use super::DatasetReader;
use super::handle::DatasetHandle;
use super::selection::{OpenDataset, RowSection};
use crate::file::options::ReadOptions;
use crate::file::reader::local_reader::ReadsLocally;
use crate::file::reader::lookup::LastAddition;
use crate::file::team::Failure;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{self, reserve_count};
use scda_format::dataset::Dataset;
use scda_format::dataset::additions::{self, ATTRIBUTES_CONVENTION, ROWS_CONVENTION, later_user, rows_user};
use scda_format::dataset::parse::{self, Metadata};
use scda_format::dataset::stored_dataset::StoredDataset;
use scda_format::header::SectionType;
use scda_format::layout::sum;
use std::sync::Arc;

/// How to treat rows that were added to a dataset.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::file::reader) enum AllRows {
    /// Look up each section, so that the rows are read as those of the dataset.
    Read,
    /// Read only the number of rows, from the last section. Data cannot be read.
    Count,
}

/// The added sections of the datasets that were opened last. A program that reads several datasets in turns,
/// such as the variables of a code, then goes through the sections of each only once.
pub(super) struct AdditionCache {
    datasets: Vec<RowsOf>,
    /// The most bytes that are kept, unless one dataset alone needs more.
    most: u64,
}

/// The sections with rows that were added to a dataset.
struct RowsOf {
    /// The offset of the dataset's data, and of its last pair of rows.
    data: u64,
    last: u64,
    sections: Arc<[RowSection]>,
    /// The memory of the sections.
    bytes: u64,
}

/// [`AdditionCache::most`] where memory is not limited.
const MOST_BYTES: u64 = 16 << 20;
const MOST_DATASETS: usize = 64;

impl AdditionCache {
    pub fn new(params: &ReadOptions) -> Self {
        Self { datasets: Vec::new(), most: params.tuning.bounded(MOST_BYTES) }
    }

    /// Removes and returns the sections of a dataset, if they are up to date.
    fn take(&mut self, data: u64, last: u64) -> Option<Arc<[RowSection]>> {
        let number = self.datasets.iter().position(|known| known.data == data)?;
        let known = self.datasets.remove(number);
        (known.last == last).then_some(known.sections)
    }

    fn keep(&mut self, data: u64, last: u64, sections: Arc<[RowSection]>) {
        let bytes = sections.iter().map(RowSection::bytes).sum();
        self.datasets.push(RowsOf { data, last, sections, bytes });
        let mut bytes: u64 = self.datasets.iter().map(|known| known.bytes).sum();
        while self.datasets.len() > 1 && (self.datasets.len() > MOST_DATASETS || bytes > self.most) {
            bytes -= self.datasets.remove(0).bytes;
        }
    }
}

impl DatasetReader<'_> {
    /// See [`DatasetHandle::with_unsealed_rows`].
    pub(super) fn with_unsealed_rows(
        &mut self,
        handle: &DatasetHandle,
        pair: u64,
        before: Option<u64>,
    ) -> Result<OpenDataset, Failure> {
        let open = self.use_handle(handle)?;
        let mut stored = open.stored.clone();
        let user = rows_user(open.start(), &stored.dataset.name);
        let section = self.aside(|this| this.read_rows_section(pair, &user, &stored, before))?;
        if let Some(rows) = stored.dataset.shape.first_mut() {
            *rows = section.end();
        }
        let bytes = stored.dataset.data_bytes();
        bytes.map_err(|error| error.with_kind(ErrorKind::Range).at(pair))?;
        let OpenDataset { metadata, data, current, later, .. } = *open;
        Ok(OpenDataset { stored, metadata, data, current, later, added: vec![section].into() })
    }

    /// Replaces the attributes of a dataset by those that were set later, if there are any. Returns their
    /// offset. `data` and `user` are the offset and the user string of the dataset's data.
    pub(super) fn take_attributes(
        &mut self,
        dataset: &mut Dataset,
        (data, user): (u64, &[u8]),
        added: LastAddition,
    ) -> Result<Option<u64>, Failure> {
        let LastAddition::At(offset) = added else { return Ok(None) };
        let user = later_user(data, std::str::from_utf8(user).unwrap_or_default());
        dataset.attributes = self.read_later(offset, &user)?;
        Ok(Some(offset))
    }

    /// Reads the attributes from the pair at `offset`, whose block has this user string.
    fn read_later(&mut self, offset: u64, user: &str) -> Result<String, Failure> {
        self.sections.advance(offset);
        self.lookup().next_section(true)?;
        let header = self.sections.header().filter(|header| {
            header.section_type == SectionType::Inline && *header.user == *ATTRIBUTES_CONVENTION
        });
        let Some(inline) = header.and_then(|_| self.sections.cursor.current_data()) else {
            let words = format!(
                "attributes of {}: the section before them is not the one that announces attributes",
                named(additions::later_of(user.as_bytes()))
            );
            return Err(Error::new(ErrorKind::Format, words).at(offset).into());
        };
        let is_it = |found: &[u8]| (found == user.as_bytes()).then_some(());
        let expected = format!("\"{user}\"");
        let ((), block) = self.block_after(&inline, "attributes of a dataset", &expected, is_it)?;
        let text = self.read_text(&block)?;
        Ok(additions::attributes(&text).map_err(|error| error.further(block.layout.data))?)
    }

    /// The sections with rows that were added to a dataset whose data begin at `data`, in their order, if
    /// they are to be read. Sets the shape to that of all rows.
    pub(super) fn take_rows(
        &mut self,
        stored: &mut StoredDataset,
        data: u64,
        added: LastAddition,
        rows: AllRows,
    ) -> Result<Arc<[RowSection]>, Failure> {
        let LastAddition::At(last) = added else { return Ok(Arc::default()) };
        let sections: Arc<[RowSection]> = match self.cache.rows.take(data, last) {
            Some(sections) => sections,
            None => {
                let sections = match rows {
                    AllRows::Read => self.read_all_rows(stored, data)?,
                    AllRows::Count => {
                        let user = rows_user(data, &stored.dataset.name);
                        vec![self.read_rows_section(last, &user, stored, None)?]
                    }
                };
                sections.into()
            }
        };
        // There is one, unless no rows were found.
        if let (Some(rows), Some(section)) = (stored.dataset.shape.first_mut(), sections.last()) {
            *rows = section.end();
        }
        let bytes = stored.dataset.data_bytes();
        bytes.map_err(|error| error.with_kind(ErrorKind::Range).at(last))?;
        if rows == AllRows::Count {
            return Ok(Arc::default());
        }
        self.cache.rows.keep(data, last, Arc::clone(&sections));
        Ok(sections)
    }

    /// All sections with rows that were added to a dataset whose data begin at `data`, in their order.
    fn read_all_rows(&mut self, stored: &StoredDataset, data: u64) -> Result<Vec<RowSection>, Failure> {
        let user = rows_user(data, &stored.dataset.name);
        let pairs = self.lookup().pairs_after(user.as_bytes(), data)?;
        let mut sections = Vec::new();
        reserve_count(&mut sections, pairs.len() as u64)?;
        let mut rows = stored.dataset.shape.first().copied().unwrap_or(0);
        for pair in pairs {
            let section = self.read_rows_section(pair, &user, stored, Some(rows))?;
            rows = section.end();
            // In addition to the memory of the vector.
            memory::check(section.bytes() - size_of::<RowSection>() as u64)?;
            sections.push(section);
        }
        Ok(sections)
    }

    /// The metadata of the rows in the pair at `pair`, whose data have this user string, with the shape that the
    /// dataset has with them.
    pub(in crate::file::reader) fn outline_of_rows(
        &mut self,
        pair: u64,
        user: &str,
    ) -> Result<Metadata, Failure> {
        let (text, at) = self.read_rows_metadata(pair, user)?;
        let mut rows = parse::dataset("rows", &text).map_err(|error| error.further(at))?;
        let first = additions::first_row(&rows.dataset.attributes);
        let end = first.and_then(|first| sum(first, *rows.dataset.shape.first()?));
        match (end, rows.dataset.shape.first_mut()) {
            (Some(end), Some(rows)) => *rows = end,
            _ => return Err(wrong_rows(user, "no number of rows", "one", at)),
        }
        Ok(rows)
    }

    /// The section at `pair`, whose user string is `user`, with rows of a dataset. It must follow `before`
    /// rows, if that is known.
    fn read_rows_section(
        &mut self,
        pair: u64,
        user: &str,
        stored: &StoredDataset,
        expected: Option<u64>,
    ) -> Result<RowSection, Failure> {
        // The cache counts what it keeps.
        let _temporary = memory::temporary();
        let (text, at) = self.read_rows_metadata(pair, user)?;
        let data = self.read_data_header("rows of a dataset")?;
        let start = data.offset;
        if *data.user != *user.as_bytes() {
            return Err(wrong_rows(user, "another section after their metadata", "one of this name", start));
        }
        let mut rows =
            StoredDataset::of_rows(&text, at, data.section(), stored).map_err(|error| error.at(start))?;
        let found = additions::first_row(&rows.dataset.attributes);
        let Some(first) = found.filter(|&first| expected.is_none_or(|expected| expected == first)) else {
            let found = found.map_or("no first row".into(), |found| format!("the first row {found}"));
            let expected = expected.map_or("one".into(), |expected| expected.to_string());
            return Err(wrong_rows(user, &found, &expected, at));
        };
        // The rest is not needed, may be long, and there may be many sections.
        (rows.dataset.attributes, rows.dataset.dimension_names) =
            (additions::rows_attributes(first, None), Vec::new());
        let count = rows.dataset.shape.first().copied().unwrap_or(0);
        let current = self.sections.cursor.current().filter(|_| sum(first, count).is_some());
        let current = current.ok_or_else(|| wrong_rows(user, "too many rows", "fewer than 2^63", at))?;
        Ok(RowSection { stored: Box::new(rows), current, metadata: pair, data: start, first })
    }

    /// Reads the metadata of rows; returns them and their offset.
    fn read_rows_metadata(&mut self, pair: u64, user: &str) -> Result<(Vec<u8>, u64), Failure> {
        self.sections.advance(pair);
        let is_there = self.lookup().next_section(true)?;
        let header = self.sections.header().filter(|header| {
            is_there && header.section_type == SectionType::Block && *header.user == *ROWS_CONVENTION
        });
        let block = header.and_then(|_| self.sections.cursor.current_data());
        let wrong =
            || wrong_rows(user, "another section before them", "a block \"scda added rows 00\"", pair);
        let block = block.ok_or_else(wrong)?;
        Ok((self.read_text(&block)?, block.layout.data))
    }
}

/// The dataset to which something was added, for messages.
fn named(dataset: Option<(u64, &str)>) -> String {
    let named = |(data, name)| format!("the dataset \"{name}\" at byte {data}");
    dataset.map_or_else(|| "a dataset".into(), named)
}

#[cold]
fn wrong_rows(user: &str, found: &str, expected: &str, at: u64) -> Failure {
    let words =
        format!("rows of {}: found {found}, expected {expected}", named(additions::rows_of(user.as_bytes())));
    Error::new(ErrorKind::Format, words).at(at).into()
}
