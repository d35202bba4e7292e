//! Walks sections by their headers, and reads all their data.

use super::finding::{Fault, Finding, Scan};
use crate::data_batches::{DataBatches, first_unreadable};
use crate::fail::Result;
use crate::progress;
use scda::{Reader, Section, SectionType};

/// Reads a section to its end.
fn read(reader: &mut Reader, batches: &mut DataBatches, base: u64) -> Result<()> {
    let mut bytes = 0;
    while batches.next(reader)? {
        bytes += batches.data().len() as u64;
        // The position in the file is known only for uncompressed data.
        progress::set(if batches.is_decoded() { 0 } else { base + bytes });
    }
    Ok(reader.skip()?)
}

/// Goes to a section and reads its header.
pub fn header_at(reader: &mut Reader, position: u64, decode: bool) -> Option<Section> {
    reader.seek(position).ok()?;
    reader.next_section(decode).ok()?
}

/// Examines a section whose header or data have given an error. `batches` tells how far its data were read.
fn examine(
    reader: &mut Reader,
    number: u64,
    position: u64,
    header: Option<Section>,
    batches: Option<&DataBatches>,
    error: Fault,
) -> Finding {
    let mut finding = Finding { section: header, ..Finding::of_section(number, error) };
    if let (Some(section), Some(batches)) = (header, batches) {
        finding.user = Some(section.user);
        if matches!(section.section_type, SectionType::Array | SectionType::Varray) {
            finding.element = match batches.is_done() {
                true => None,
                false => first_unreadable(reader, &section, batches.range()),
            };
            finding.leading = finding.element.unwrap_or(if batches.is_done() { section.count } else { 0 });
        }
    } else if let Some(mut section) = header_at(reader, position, false) {
        // In a broken pair, the second half has the user string.
        if section.second_of_pair().is_some() {
            let second = reader.skip().ok().and_then(|()| reader.next_section(false).ok()?);
            let Some(second) = second else { return finding };
            section = second;
        }
        finding.user = Some(section.user);
    }
    finding
}

/// Skips a damaged section, if its headers and sizes tell its end.
fn step_over(reader: &mut Reader, position: u64) -> Option<()> {
    if header_at(reader, position, true).is_some() && reader.skip().is_ok() {
        return Some(());
    }
    let section = header_at(reader, position, false)?;
    reader.skip().ok()?;
    // The second half of a broken pair is no section. If it does not even have the right type, its end is unknown.
    if let Some(second) = section.second_of_pair() {
        reader.next_section(false).ok()?.filter(|section| section.section_type == second)?;
        reader.skip().ok()?;
    }
    Some(())
}

/// Reads all sections between two offsets of the file, up to any damage that hides where the next section
/// is.
///
/// # Errors
/// Errors that say nothing about the file.
pub fn walk(reader: &mut Reader, scan: &mut Scan, start: u64, until: u64) -> Result<()> {
    reader.seek(start)?;
    loop {
        let position = reader.position().unwrap_or(until);
        if position >= until {
            return Ok(());
        }
        let number = scan.sections + 1;
        let (mut section, mut batches) = (None, None);
        let result = match reader.next_section(true) {
            Ok(None) => return Ok(()),
            Ok(Some(header)) => {
                section = Some(header);
                let batches = batches.insert(DataBatches::all(&header));
                read(reader, batches, header.data_offset)
            }
            Err(error) => Err(error.into()),
        };
        // There may be a seal before it.
        let position = section.map_or(position, |section| section.offset);
        let broken_seal = section.and_then(|section| section.broken_seal());
        if broken_seal.is_some() && scan.has_damaged_seal() {
            // It belongs to the damaged seal, and is no section of the user.
            if step_over(reader, position).is_none() {
                return Ok(());
            }
            continue;
        }
        scan.sections = number;
        match result {
            Ok(()) => match broken_seal {
                None => scan.add_whole(number, position..reader.position().unwrap_or(position)),
                Some(error) => {
                    let user = section.map(|section| section.user);
                    let finding = Finding::of_section(number, Fault::Invalid(error));
                    scan.findings.push(Finding { section, user, ..finding });
                }
            },
            Err(fail) => {
                let error = Fault::of(fail)?;
                let mut finding = examine(reader, number, position, section, batches.as_ref(), error);
                if section.is_some_and(|section| section.broken_seal().is_some()) {
                    finding.leading = 0;
                }
                scan.add_finding(finding);
                if step_over(reader, position).is_none() {
                    return Ok(());
                }
            }
        }
        progress::set(reader.position().unwrap_or(0));
    }
}
