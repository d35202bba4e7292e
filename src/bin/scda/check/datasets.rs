//! Metadata of datasets and groups, compared with the sections that they are for; and the sections of streams.

use super::finding::{Fault, Finding, Note, Part, Scan};
use crate::datasets::slabs;
use crate::datasets::{Found, Item, Pair, Walk, begins_streams};
use crate::fail::{Result, is_invalid};
use crate::files::Input;
use crate::progress::Progress;
use scda::{ErrorKind, Layout, Reader, Region};
use std::collections::HashSet;

/// Adds what is wrong with datasets, groups and streams. Zlib streams of chunks are decompressed if they are not sealed, or if `all`
/// are.
///
/// # Errors
/// Those that say nothing about the file.
pub fn check(input: &Input, scan: &mut Scan, strict: bool, all: bool) -> Result<()> {
    if scan.first_start == 0 {
        return Ok(());
    }
    let before = scan.findings.len();
    let damaged = scan.findings.iter().map(|finding| finding.number).collect();
    let mut reader = input.open_damaged(false)?;
    let mut progress = Progress::new(&format!("check datasets of {}", input.name()), scan.size);
    let mut walk = Walk::strict(input, strict);
    let sealed = if all { 0 } else { scan.sealed.map_or(0, |sealed| sealed.sections) };
    // Damage hides none behind it.
    let whole = |part: &Part| match part {
        Part::Sections(number, range) => Some((*number, range.clone())),
        Part::Leading(..) => None,
    };
    for (number, range) in scan.parts.iter().filter_map(whole).collect::<Vec<_>>() {
        reader.seek(range.start)?;
        walk.number = number - 1;
        while reader.position().is_some_and(|position| position < range.end) {
            let mut item = match walk.next(&mut reader) {
                Ok(Some(item)) => item,
                Ok(None) => break,
                // The scan before has found this damage.
                Err(error) if is_invalid(&error) => break,
                Err(error) => return Err(error.into()),
            };
            progress.set(item.section.offset);
            let fault = item.fault.take();
            one(scan, &damaged, &mut walk, &item, fault, sealed)?;
            match item.skip(&mut reader) {
                Err(error) if is_invalid(&error) => break,
                other => other?,
            }
        }
    }
    if scan.findings.len() > before {
        scan.findings.sort_by_key(|finding| finding.number);
    }
    Ok(())
}

fn one(
    scan: &mut Scan,
    damaged: &HashSet<u64>,
    walk: &mut Walk<'_>,
    item: &Item,
    fault: Option<scda::Error>,
    sealed: u64,
) -> Result<()> {
    // This is a consequence of damage.
    let others = if begins_streams(item.section.section_type, &item.section.user) { 2 } else { 1 };
    if let Some(fault) = fault
        && !(item.number..=item.number + others).any(|number| damaged.contains(&number))
    {
        if fault.kind() == ErrorKind::Unsupported {
            scan.notes.push(Note { number: item.number, words: fault.to_string() });
            return Ok(());
        }
        let finding = Finding::of_section(item.number, Fault::Invalid(fault));
        let user = Some(item.section.user);
        scan.findings.push(Finding { section: Some(item.section), user, of_dataset: true, ..finding });
    }
    let Some(Pair::Dataset(found)) = &item.pair else { return Ok(()) };
    if let Some(why) = &found.dataset.unsupported {
        let words =
            format!("dataset \"{}\": found {why}, which this library cannot read", found.dataset.name);
        scan.notes.push(Note { number: item.last(), words });
    } else if item.last() > sealed && !damaged.contains(&item.last()) {
        let error = match decode(walk.dataset_reader()?, found) {
            Ok(()) => return Ok(()),
            Err(fail) => Fault::of(fail)?,
        };
        let finding = Finding::of_section(item.last(), error);
        let user = Some(found.data.user);
        scan.findings.push(Finding { section: Some(found.data), user, of_dataset: true, ..finding });
    }
    Ok(())
}

/// Decompresses chunks that are zlib streams; all others are read by now.
fn decode(reader: &mut Reader, found: &Found) -> Result<()> {
    let dataset = &found.dataset;
    if !matches!(dataset.layout, Layout::Chunked { text: false, .. }) {
        return Ok(());
    }
    let (mut data, chunk) = (Vec::new(), dataset.chunk_shape());
    // In their order, so that each is decompressed once.
    slabs::of_chunks(&Region::all(&dataset.shape), &chunk, dataset.data_type.item_bytes(), slabs::MOST_BYTES)
        .try_for_each(|region| slabs::read(reader, dataset, &region, &mut data))
}
