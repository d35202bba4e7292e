//! Compares metadata of datasets and groups with their sections, and checks the sections of streams.

use super::additions::{AdditionsCheck, Relation};
use super::decoding::undecodable;
use super::finding::{Fault, Finding, Note, Part, Rigour, Scan, without_file};
use super::names::Names;
use crate::datasets::{Item, Walk, begins_streams, is_first, unsupported};
use crate::fail::{Result, is_invalid};
use crate::files::Input;
use crate::incomplete_streams::IncompleteStreams;
use crate::output::{escape, quote};
use crate::progress::{self, Progress};
use scda::{Content, ErrorKind, Reader, SectionType, Streams};
use std::collections::{BTreeMap, HashSet};

/// Adds errors in datasets, groups and streams. If they are not sealed, or if everything is read, zlib streams of
/// chunks are decompressed, and bools are read.
///
/// # Errors
/// Errors that say nothing about the file.
pub fn check(input: &Input, scan: &mut Scan, rigour: Rigour) -> Result<()> {
    if scan.first_start == 0 {
        return Ok(());
    }
    let before = scan.findings.len();
    let damaged: HashSet<u64> = scan.findings.iter().map(|finding| finding.number).collect();
    let strict = rigour.is_strict();
    let (mut reader, mut beside) = (input.open_damaged(strict)?, input.open_damaged(strict)?);
    if !scan.findings.is_empty() {
        // Damage in an index or an addition would be reported for each dataset whose additions are looked up.
        reader.inspect().ignore_seals()?;
        beside.inspect().ignore_seals()?;
    }
    let _progress = Progress::new(&format!("check datasets of {}", input.name()), scan.size);
    let mut walk = Walk::of_all(input);
    let sealed = scan.sealed.filter(|_| rigour != Rigour::Thorough).map_or(0, |sealed| sealed.sections);
    // Damage hides none after this part.
    let whole = |part: &Part| match part {
        Part::Sections(number, range) => Some((*number, range.clone())),
        Part::Leading(..) => None,
    };
    let (mut later, mut names) = (AdditionsCheck::default(), Names::default());
    // Rows that were added to a dataset are valid, and were read with it, if a seal ends what is read.
    let counts = reader.is_sealed();
    let (mut chunks, mut last_parts) = (BTreeMap::new(), BTreeMap::<_, Streams>::new());
    for (number, range) in scan.parts.iter().filter_map(whole).collect::<Vec<_>>() {
        reader.seek(range.start)?;
        walk.number = number - 1;
        while reader.position().is_some_and(|position| position < range.end) {
            let mut item = match walk.next(&mut reader) {
                Ok(Some(item)) => item,
                Ok(None) => break,
                // The scan has already found this damage.
                Err(error) if is_invalid(&error) => break,
                Err(error) => return Err(error.into()),
            };
            progress::set(item.section.offset);
            if let Content::Streams(streams) = &item.content {
                let name = streams.name().to_vec();
                let numbers: &mut Vec<u64> = chunks.entry(name.clone()).or_default();
                numbers.push(item.number);
                let follows = streams.check_follows(last_parts.get(&name));
                // Damage may have hidden a part.
                last_parts.insert(name, streams.clone());
                if let Err(error) = follows
                    && scan.findings.is_empty()
                {
                    item.content = Content::Unknown(error);
                }
            }
            let is_of_unknown = walk.is_of_unknown(&item);
            names.see(&item, is_of_unknown);
            match later.look(&item, is_of_unknown, &mut beside) {
                // Damage may have hidden the dataset.
                Relation::Wrong(words) if before == 0 => {
                    scan.findings.push(Finding::of_dataset(item.number, &item.section, Fault::Words(words)));
                }
                Relation::Rows(rows)
                    if !counts && ![item.number - 1, item.number].iter().any(|n| damaged.contains(n)) =>
                {
                    let readers = (&mut beside, &mut reader);
                    let how = (before == 0, item.number > sealed);
                    scan.findings.extend(later.check_rows(readers, &item, &rows, how)?);
                    // Restores the position for what follows.
                    reader.seek(item.section.offset)?;
                    reader.next_section(true)?;
                }
                _ => {}
            }
            let fault = item.take_fault();
            if fault.is_some()
                && let Some(streams) = IncompleteStreams::find(&mut beside, input, &item.section)?
            {
                scan.notes.push(Note { number: item.number, words: streams.words() });
            }
            one(scan, &damaged, (&mut reader, &mut beside), &item, fault, sealed)?;
            match item.skip(&mut reader) {
                Err(error) if is_invalid(&error) => break,
                other => other?,
            }
        }
    }
    if scan.findings.len() > before {
        scan.findings.sort_by_key(|finding| finding.number);
    }
    if scan.findings.is_empty() {
        scan.findings.extend(names.shared(input, rigour)?);
        note_other_sections(scan, &mut reader, &chunks)?;
    }
    Ok(())
}

/// Adds notes about sections that have the name of streams but are none: a search for the streams takes such a section
/// for a damaged part. The numbers of their chunks, from 0, are in `chunks`.
fn note_other_sections(
    scan: &mut Scan,
    reader: &mut Reader,
    chunks: &BTreeMap<Vec<u8>, Vec<u64>>,
) -> Result<()> {
    for (name, numbers) in chunks {
        for number in reader.find_all(name)? {
            if numbers.binary_search(&number).is_ok() || is_varray_of_streams(reader, number)? {
                continue;
            }
            let words = format!(
                "has the name of the streams \"{}\", which are not found by that name therefore",
                escape(name)
            );
            scan.notes.push(Note { number: number + 1, words });
        }
    }
    scan.notes.sort_by_key(|note| note.number);
    Ok(())
}

/// True if the section with this number, from 0, is a set of streams whose elements are the streams. The chunks of a
/// dataset are not, even if its metadata are damaged.
fn is_varray_of_streams(reader: &mut Reader, number: u64) -> Result<bool> {
    reader.seek_section(number.saturating_sub(1))?;
    let before = reader.next_section(true)?.filter(|_| number > 0);
    reader.seek_section(number)?;
    let section = reader.next_section(true)?;
    let is_of_dataset = before.is_some_and(|before| is_first(before.section_type, &before.user));
    Ok(section.is_some_and(|found| found.section_type == SectionType::Varray && !found.decoded)
        && !is_of_dataset)
}

fn one(
    scan: &mut Scan,
    damaged: &HashSet<u64>,
    (reader, beside): (&mut Reader, &mut Reader),
    item: &Item,
    fault: Option<scda::Error>,
    sealed: u64,
) -> Result<()> {
    // A consequence of damage.
    let others = if begins_streams(item.section.section_type, &item.section.user) { 2 } else { 1 };
    if let Some(fault) = fault
        && !(item.number..=item.number + others).any(|number| damaged.contains(&number))
    {
        if fault.kind() == ErrorKind::Unsupported {
            let mut finding = Finding::of_dataset(item.number, &item.section, Fault::Words(String::new()));
            finding.find_name(beside);
            let name = finding.name.map_or(String::new(), |name| format!("dataset {}: ", quote(&name)));
            scan.notes.push(Note { number: item.number, words: name + &without_file(&fault) });
            return Ok(());
        }
        scan.findings.push(Finding::of_dataset(item.number, &item.section, Fault::Invalid(fault)));
    }
    let Some(dataset) = item.dataset() else { return Ok(()) };
    if let Some(why) = unsupported(dataset) {
        let words = format!("dataset \"{}\": found {why}, which this library cannot read", dataset.name);
        scan.notes.push(Note { number: item.last(), words });
    } else if item.last() > sealed && !damaged.contains(&item.last()) {
        scan.findings.extend(undecodable(reader, beside, item.last(), dataset)?);
    }
    Ok(())
}
