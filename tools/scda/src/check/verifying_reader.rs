//! Reads a file whose sections go into another file. Sealed sections are compared with their checksums first, others
//! are decoded.

use super::additions::{AdditionsCheck, Relation};
use super::decoding::undecodable;
use super::finding::{Fault, Finding, Scan, words};
use super::sealed::{finding, invalid, is_of_row, section_number};
use super::sums::sums;
use super::walk::walk;
use crate::datasets::{Item, Walk, dataset_at};
use crate::fail::{Fail, Result, is_invalid};
use crate::files::Input;
use scda::{Error, Reader, Section};
use scda::{SealedPart, Seals};
use scda_format::index::Row;
use std::fs::File;

/// A reader that goes through a file, and compares its sections with the seals.
pub struct VerifyingReader {
    pub reader: Reader,
    name: String,
    threads: usize,
    file: File,
    /// Reads the seals.
    beside: Reader,
    /// Empty for a file without a seal, in which nothing can be compared.
    seals: Vec<SealedPart>,
    /// The seal whose rows were read last, and some of its rows, from the row `first` on.
    place: Option<usize>,
    first: u64,
    rows: Vec<Row>,
    /// Two readers that decode what is not sealed.
    decoding: Option<[Reader; 2]>,
    /// Checks additions to datasets that were checked before.
    later: AdditionsCheck,
}

impl VerifyingReader {
    /// Opens the file. Compares its header if that is sealed.
    ///
    /// # Errors
    /// A difference, and the errors of the reader.
    pub fn new(input: &Input) -> Result<Self> {
        let (reader, mut beside) = (input.open_damaged(false)?, input.open_damaged(false)?);
        let file = input.file().map_err(|error| Fail::file(input.name(), error))?;
        let Seals { all: seals, fault } = beside.inspect().seals()?;
        let (name, threads) = (input.name().to_owned(), input.threads());
        let (place, first, rows, decoding, later) = (None, 0, Vec::new(), None, AdditionsCheck::default());
        let mut verified =
            Self { reader, name, threads, file, beside, seals, place, first, rows, decoding, later };
        match fault {
            Some(fault) => Err(verified.differs(&Finding::of_seal(1, Fault::Invalid(fault)))),
            None => verified.at(0).map(|()| verified),
        }
    }

    /// Reads the next header, and compares it with the index. Sections that look like a dataset or group, but are none,
    /// are compared as a whole.
    ///
    /// # Errors
    /// The first difference, and the errors of the reader.
    pub fn next(&mut self, walk: &mut Walk<'_>) -> Result<Option<Item>> {
        let position = self.reader.position();
        let item = match walk.next(&mut self.reader) {
            Ok(item) => item,
            Err(error) => return self.explain(position, error),
        };
        if let Some(item) = &item {
            match item.fault() {
                Some(_) => self.compare(item)?,
                None => item.sections().try_for_each(|section| self.compare_header(section))?,
            }
        }
        Ok(item)
    }

    /// Skips an item whose first header was read.
    ///
    /// # Errors
    /// The first difference, and the errors of the reader.
    pub fn skip(&mut self, item: &Item) -> Result<()> {
        item.skip(&mut self.reader).or_else(|error| self.explain(Some(item.section.offset), error))
    }

    /// Compares the sections of an item as far as they are sealed.
    ///
    /// # Errors
    /// The first difference, and the errors of the file system.
    pub fn compare(&mut self, item: &Item) -> Result<()> {
        item.sections().try_for_each(|section| self.at(section.offset))?;
        if let Some(dataset) = item.dataset() {
            // The attributes of the item, in two sections.
            if let Some(later) = dataset.later_attributes()
                && let Some((_, _, row)) = self.row_at(later)?
            {
                self.at(later)?;
                self.at(row.end())?;
            }
            let mut added = dataset.added_rows().flat_map(|rows| [rows.metadata, rows.data]);
            added.try_for_each(|offset| self.at(offset))?;
        }
        match item.fault().map(|_| self.row_at(item.section.offset)).transpose()? {
            // The expected second section.
            Some(Some((_, _, row))) => self.at(row.end()),
            _ => Ok(()),
        }
    }

    /// Like [`Self::compare`], before an item is copied. If the copy `gets_seal`, also decodes what is not sealed.
    ///
    /// # Errors
    /// The first error, and the errors of the file system.
    pub fn check(&mut self, input: &Input, item: &Item, gets_seal: bool) -> Result<()> {
        self.compare(item)?;
        if gets_seal && let Some(finding) = self.undecodable(input, item)? {
            return Err(self.differs(&finding));
        }
        Ok(())
    }

    /// Decodes those sections of an item that no seal covers, and returns an error in them, which the seal of a copy
    /// would make look valid.
    fn undecodable(&mut self, input: &Input, item: &Item) -> Result<Option<Finding>> {
        let rows = match self.later.look(item, false, &mut self.beside) {
            Relation::Rows(rows) if item.others.is_empty() => Some(rows),
            _ => None,
        };
        let mut unsealed = Vec::new();
        for (number, section) in (item.number..).zip(item.sections()) {
            if self.row_at(section.offset)?.is_none() {
                unsealed.push((number, section));
            }
        }
        if unsealed.is_empty() && rows.is_none() {
            return Ok(None);
        }
        let [reader, of_datasets] = match &mut self.decoding {
            Some(readers) => readers,
            none => none.insert([input.open_damaged(true)?, input.open_damaged(true)?]),
        };
        // A section that is not compressed has nothing to decode.
        for (number, section) in unsealed.iter().filter(|(_, section)| section.decoded) {
            let mut scan = Scan { sections: number - 1, ..Scan::new(0) };
            walk(reader, &mut scan, section.offset, section.offset + 1)?;
            if let Some(finding) = scan.findings.pop() {
                return Ok(Some(finding));
            }
        }
        match (item.readable(), rows) {
            // Rows added to it are sealed, like everything in their file; otherwise, they are items of their own.
            (Some(_), _) if unsealed.iter().any(|(number, _)| *number == item.last()) => {
                // A handle must be read by the reader that has opened it.
                let Some(dataset) = dataset_at(of_datasets, item.section.offset)? else { return Ok(None) };
                undecodable(of_datasets, reader, item.last(), &dataset)
            }
            (_, Some(rows)) => {
                let how = (true, !unsealed.is_empty());
                self.later.check_rows((of_datasets, reader), item, &rows, how)
            }
            _ => Ok(None),
        }
    }

    /// Compares everything sealed.
    ///
    /// # Errors
    /// The first difference, and the errors of the file system.
    pub fn compare_all(&mut self) -> Result<()> {
        for sealed in self.seals.clone() {
            self.row_at(sealed.begin())?;
            loop {
                for (number, row) in (self.first..).zip(self.rows.clone()) {
                    self.compare_row(&sealed, number, &row)?;
                }
                if !self.next_rows(&sealed)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Compares the header of a section with the index; if they differ, compares the section.
    fn compare_header(&mut self, section: &Section) -> Result<()> {
        match self.row_at(section.offset)? {
            None => Ok(()),
            Some((_, _, row)) if is_of_row(section, &row) => Ok(()),
            Some(_) => self.at(section.offset),
        }
    }

    /// Compares the section that begins at this offset if it is sealed.
    ///
    /// # Errors
    /// As for [`Self::compare`]. If the index has no section there, damage before it has led to this offset.
    pub fn at(&mut self, offset: u64) -> Result<()> {
        let Some((sealed, number, row)) = self.row_at(offset)? else { return Ok(()) };
        if row.offset == offset {
            return self.compare_row(&sealed, number, &row);
        }
        self.compare_all()?;
        let what = format!("byte {offset}: found a section, expected one that the index has");
        Err(Fail::Invalid(format!("{}: {what}", self.name)))
    }

    /// Explains the error of a reader at the section at this offset.
    ///
    /// # Errors
    /// `error`, or the difference between the section and its checksum.
    fn explain<T>(&mut self, offset: Option<u64>, error: Error) -> Result<T> {
        if let Some(offset) = offset.filter(|_| is_invalid(&error)) {
            self.at(offset)?;
        }
        Err(error.into())
    }

    fn compare_row(&mut self, sealed: &SealedPart, number: u64, row: &Row) -> Result<()> {
        let found = sums(&self.file, std::slice::from_ref(row), self.threads);
        let found = found.map_err(|error| Fail::file(&self.name, error))?[0];
        if found == row.crc {
            return Ok(());
        }
        let located = self.beside.inspect().locate(sealed, number, row, found)?;
        let section = section_number(sealed, number, row);
        let finding = finding(&mut self.beside, section, row, located);
        Err(self.differs(&finding))
    }

    fn differs(&self, finding: &Finding) -> Fail {
        let words = words(finding);
        match finding.error {
            Fault::NoMemory(_) => Fail::file(&self.name, words),
            _ => Fail::Invalid(format!("{}: {words}; scda salvage saves what is intact", self.name)),
        }
    }

    /// The row whose section contains this offset; `None` if the offset is not sealed.
    fn row_at(&mut self, offset: u64) -> Result<Option<(SealedPart, u64, Row)>> {
        let place = self.seals.partition_point(|sealed| sealed.seal.length <= offset);
        let Some(&sealed) = self.seals.get(place) else { return Ok(None) };
        if self.place != Some(place) {
            let checked = self.beside.inspect().check_index(&sealed);
            if let Some(error) = invalid(checked)? {
                let number = (1..).nth(place).unwrap_or(0);
                return Err(self.differs(&Finding::of_seal(number, Fault::Invalid(error))));
            }
        }
        if self.place.replace(place) != Some(place) || self.rows.first().is_none_or(|row| row.offset > offset)
        {
            (self.first, self.rows) = (0, Vec::new());
        }
        while self.rows.last().is_none_or(|row| row.end() <= offset) {
            if !self.next_rows(&sealed)? {
                return Ok(None);
            }
        }
        let at = self.rows.partition_point(|row| row.end() <= offset);
        Ok((self.first..).zip(&self.rows).nth(at).map(|(number, &row)| (sealed, number, row)))
    }

    /// Reads the rows after those in memory; returns false if there are none.
    fn next_rows(&mut self, sealed: &SealedPart) -> Result<bool> {
        let first = self.first + self.rows.len() as u64;
        if first >= sealed.seal.rows() {
            return Ok(false);
        }
        let begin = self.rows.last().map_or(sealed.begin(), Row::end);
        self.beside.inspect().read_rows(sealed, first, begin, &mut self.rows)?;
        self.first = first;
        Ok(true)
    }
}
