//! Checks sealed sections by the checksums of the seals.

use super::finding::{Fault, Finding, Scan, Sealing};
use super::sums::sums;
use super::walk::{header_at, walk};
use crate::data_batches::{first_unreadable, for_each_sizes};
use crate::fail::{Fail, Result, is_invalid};
use crate::files::Input;
use scda::{Error, Reader, Section, SectionType};
use scda::{LocatedError, SealedPart, Seals};
use scda_format::index::Row;
use std::fs::File;

/// The bytes before the first section.
const FILE_HEADER_BYTES: u64 = 128;

/// Compares everything sealed with its checksums. If a seal itself is damaged, its sections are read one after
/// another.
///
/// # Errors
/// Errors that say nothing about the file.
pub fn check(reader: &mut Reader, input: &Input, scan: &mut Scan, seals: Seals) -> Result<()> {
    let Seals { all, fault } = seals;
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return Ok(()) };
    let (count, sections, bytes) = (all.len() as u64, last.seal.sections, last.seal.length);
    scan.sealed = Some(Sealing { seals: count, sections, bytes });
    let file = input.file().map_err(|error| Fail::file(input.name(), error))?;
    if let Some(fault) = fault {
        scan.findings.push(Finding::of_seal(1, Fault::Invalid(fault)));
        walk(reader, scan, FILE_HEADER_BYTES, first.begin())?;
    }
    for (number, sealed) in (1..).zip(&all) {
        scan.sections = sealed.first;
        let seals = &all[..number];
        let number = number as u64;
        let mut part = SealPart { reader, input, file: &file, scan, sealed, seals, number };
        if let Some((at, error)) = part.check()? {
            // The check of the whole seal may have found the same.
            let last = scan.findings.last().filter(|last| last.seal == Some(number));
            let is_said = last.is_some_and(
                |last| matches!(&last.error, Fault::Invalid(said) if (said.kind(), said.offset()) == (error.kind(), error.offset())),
            );
            if !is_said {
                scan.findings.push(Finding::of_seal(number, Fault::Invalid(error)));
            }
            walk(reader, scan, at.max(FILE_HEADER_BYTES), sealed.start)?;
        }
    }
    Ok(())
}

/// The part of a file that one seal covers.
struct SealPart<'a> {
    reader: &'a mut Reader,
    input: &'a Input,
    file: &'a File,
    scan: &'a mut Scan,
    sealed: &'a SealedPart,
    /// All seals up to this one.
    seals: &'a [SealedPart],
    number: u64,
}

impl SealPart<'_> {
    /// Compares everything. If the index is damaged, returns the offset from which nothing was compared, and the error.
    fn check(&mut self) -> Result<Option<(u64, Error)>> {
        let (mut number, mut end, mut anchors) = (0, self.sealed.begin(), 0);
        let mut rows = Vec::new();
        let checked = self.reader.inspect().check_seal(self.seals);
        if let Some(error) = invalid(checked)? {
            let index = self.reader.inspect().check_index(self.sealed);
            if let Some(error) = invalid(index)? {
                return Ok(Some((end, error)));
            }
            // The rows are intact, and their errors are more specific.
            self.scan.findings.push(Finding::of_seal(self.number, Fault::Invalid(error)));
        }
        while number < self.sealed.seal.rows() {
            let read = self.reader.inspect().read_rows(self.sealed, number, end, &mut rows);
            if let Some(error) = invalid(read)? {
                return Ok(Some((end, error)));
            }
            let found = sums(self.file, &rows, self.input.threads());
            let found = found.map_err(|error| Fail::file(self.input.name(), error))?;
            for (row, found) in rows.iter().zip(found) {
                self.section(number, row, found, anchors)?;
                anchors += row.anchors();
                (number, end) = (number + 1, row.end());
            }
        }
        Ok(None)
    }

    /// Compares one section, whose bytes have the checksum `found`.
    fn section(&mut self, row_number: u64, row: &Row, found: u64, anchors: u64) -> Result<()> {
        let number = section_number(self.sealed, row_number, row);
        self.scan.sections = self.scan.sections.max(number);
        let located = match found == row.crc {
            false => self.reader.inspect().locate(self.sealed, row_number, row, found)?,
            true => {
                let compared = self.reader.inspect().compare_row(self.sealed, row_number, row, anchors);
                match invalid(compared)? {
                    Some(error) => LocatedError { error, is_exact: false },
                    None if row.section.is_none() => return Ok(()),
                    None => {
                        self.scan.add_whole(number, row.offset..row.end());
                        return Ok(());
                    }
                }
            }
        };
        self.scan.add_finding(finding(self.reader, number, row, located));
        Ok(())
    }
}

/// The number of the section of a row, counted from 1; 0 for the header of the file.
pub(super) fn section_number(sealed: &SealedPart, row_number: u64, row: &Row) -> u64 {
    match row.section {
        None => 0,
        Some(_) => sealed.first + row_number + 1 - sealed.header_rows(),
    }
}

/// An error in the section of a row, and the element if it is known.
pub(super) fn finding(reader: &mut Reader, number: u64, row: &Row, located: LocatedError) -> Finding {
    let LocatedError { error, is_exact } = located;
    let offset = error.offset().filter(|_| is_exact);
    let mut finding = Finding::of_section(number, Fault::Invalid(error));
    finding.user = row.section.map(|_| row.user);
    finding.end = Some(row.end());
    finding.section =
        header_at(reader, row.offset.max(FILE_HEADER_BYTES), true).filter(|section| is_of_row(section, row));
    if let Some(section) = finding.section.filter(|_| has_elements(row)) {
        finding.element = match offset {
            Some(offset) => element_at(reader, row, offset),
            None if section.decoded => first_unreadable(reader, &section, 0..section.count),
            None => None,
        };
        finding.leading = finding.element.unwrap_or(0);
    }
    finding
}

/// The error, if it is one of the file; other errors are returned as failures.
pub(super) fn invalid(result: scda::Result<()>) -> Result<Option<Error>> {
    match result {
        Ok(()) => Ok(None),
        Err(error) if is_invalid(&error) => Ok(Some(error)),
        Err(error) => Err(error.into()),
    }
}

fn has_elements(row: &Row) -> bool {
    matches!(row.section, Some(SectionType::Array | SectionType::Varray))
}

/// True if the header agrees with the index.
pub(super) fn is_of_row(section: &Section, row: &Row) -> bool {
    Some(section.section_type) == row.section
        && (section.offset, section.user, section.decoded) == (row.offset, row.user, row.is_compressed)
        && section.count == row.count
}

/// The element that contains the byte at this offset, according to the sizes in the file.
fn element_at(reader: &mut Reader, row: &Row, offset: u64) -> Option<u64> {
    let mut section = header_at(reader, row.offset, false)?;
    if row.is_compressed {
        reader.skip().ok()?;
        section = reader.next_section(false).ok()??;
    }
    let mut left = offset.checked_sub(section.data_offset)?;
    if section.section_type == SectionType::Array {
        return left.checked_div(section.size).filter(|&element| element < section.count);
    }
    let (mut element, mut is_found) = (0, false);
    for_each_sizes(reader, section.count, |sizes| {
        for &size in sizes {
            is_found = is_found || left < size;
            if !is_found {
                (left, element) = (left - size, element + 1);
            }
        }
        Ok::<_, Error>(())
    })
    .ok()?;
    is_found.then_some(element)
}
