//! Checks the superblock of HDF5, in a file with room for one, and the view to which it leads.

use super::finding::{Fault, Finding, Note, Scan};
use crate::fail::{Result, is_invalid};
use crate::files::Input;
use crate::hidden;
use crate::read_ahead::ReadAhead;
use scda::{Error, ErrorKind, Reader, SealedPart, SuperblockState};
use scda_format::hdf5::{BLOCK_HEAD_BYTES, SUPERBLOCK_BYTES, SUPERBLOCK_OFFSET, VIEW_TAIL_BYTES};
use scda_format::index::Row;
use scda_hdf5::{Previous, Superblock};

/// Compares the superblock with the seals, and checks the view, if there are no other errors. A view that is out of
/// date is only reported as such.
///
/// # Errors
/// The errors of reading.
pub fn check(reader: &mut Reader, input: &Input, scan: &mut Scan, seals: &[SealedPart]) -> Result<()> {
    let Some(state) = reader.inspect().superblock()? else { return Ok(()) };
    let Some(last) = seals.last().filter(|_| !scan.has_damaged_seal()) else { return Ok(()) };
    let expected = reader.inspect().superblock_up_to(last.seal.length)?;
    let wrong = |words: String| {
        let error = Error::new(ErrorKind::Format, format!("superblock of HDF5: {words}"));
        Finding::of_header(Fault::Invalid(error.at(SUPERBLOCK_OFFSET)))
    };
    let shown = match state {
        SuperblockState::View(found) => Some(found),
        _ => expected,
    };
    let again = "scda hdf5 writes it again, as does the next program that appends to the file";
    let note = match state {
        SuperblockState::None if expected.is_some() => {
            format!("HDF5: the view has no superblock yet, so other programs do not find it; {again}")
        }
        SuperblockState::None => return Ok(()),
        SuperblockState::Damaged(found) => {
            let expected =
                expected.and_then(|expected| expected.to_bytes().ok()).unwrap_or([0; SUPERBLOCK_BYTES]);
            let differs = found.iter().zip(expected).position(|(found, expected)| *found != expected);
            let at = differs.unwrap_or(0);
            let words = format!(
                "superblock of HDF5: found {:#04x}, expected {:#04x}, so other programs cannot open the file; {again}",
                found[at], expected[at]
            );
            let error = Error::new(ErrorKind::Format, words).at(SUPERBLOCK_OFFSET + at as u64);
            scan.findings.push(Finding::of_header(Fault::Invalid(error)));
            return Ok(());
        }
        SuperblockState::Foreign => {
            scan.findings.push(wrong("found one that another program has written".into()));
            return Ok(());
        }
        SuperblockState::View(found) => {
            let seal = seals.iter().position(|sealed| sealed.seal.length == found.end);
            let Some(seal) = seal else {
                let words =
                    format!("found the end of the file at byte {}, expected the end of a seal", found.end);
                scan.findings.push(wrong(words));
                return Ok(());
            };
            let root = reader.inspect().superblock_up_to(found.end)?.map_or(0, |superblock| superblock.root);
            if root != found.root {
                let words =
                    format!("found the root group at byte {}, expected {root}, that of the view", found.root);
                scan.findings.push(wrong(words));
                return Ok(());
            }
            if seal + 1 == seals.len() {
                return check_view(reader, input, scan, seals, found);
            }
            format!("HDF5: other programs see the file as of seal {} of {}; {again}", seal + 1, seals.len())
        }
    };
    scan.notes.push(Note { number: 0, words: note });
    shown.map_or(Ok(()), |shown| check_view(reader, input, scan, seals, shown))
}

/// Checks the view of a superblock: all its objects, that they refer to data of sections, and its outline.
fn check_view(
    reader: &mut Reader,
    input: &Input,
    scan: &mut Scan,
    seals: &[SealedPart],
    Superblock { root, end }: Superblock,
) -> Result<()> {
    if !scan.findings.is_empty() {
        return Ok(());
    }
    let number = seals.partition_point(|sealed| sealed.seal.length < end);
    let data = places_of_data(reader, seals.get(..=number).unwrap_or(seals))?;
    let mut is_data = |offset: u64, bytes: u64| {
        let place = data.partition_point(|(begin, _)| *begin <= offset);
        place > 0 && offset.checked_add(bytes).is_some_and(|end| end <= data[place - 1].1)
    };
    let mut ahead = ReadAhead::new(input, end)?;
    let mut read = |offset: u64, to: &mut [u8]| ahead.read(offset, to);
    let checked = scda_hdf5::check(Previous { root, read: &mut read }, end, &mut is_data);
    let seals = seals.get(..=number).unwrap_or(seals);
    let checked = checked.and_then(|_| reader.inspect().check_outline(root, seals));
    match checked.and_then(|()| hidden::lines(&mut ahead, Superblock { root, end })) {
        Ok(lines) => scan.notes.extend(lines.into_iter().map(|words| Note { number: 0, words })),
        Err(error) if is_invalid(&error) => {
            scan.findings.push(Finding::of_seal(number as u64 + 1, Fault::Invalid(error)));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// The places of the data of sealed sections and views, in the order of the file.
fn places_of_data(reader: &mut Reader, seals: &[SealedPart]) -> Result<Vec<(u64, u64)>> {
    let (mut all, mut rows) = (Vec::new(), Vec::new());
    for sealed in seals {
        let (mut number, mut end) = (0, sealed.begin());
        while number < sealed.seal.rows() {
            reader.inspect().read_rows(sealed, number, end, &mut rows)?;
            let layouts = rows.iter().filter(|row| !row.is_compressed).filter_map(|row| row.data_section(0));
            all.extend(layouts.map(|layout| (layout.data, layout.padding())));
            (number, end) = (number + rows.len() as u64, rows.last().map_or(end, Row::end));
        }
        if sealed.start < sealed.anchors {
            all.push((sealed.start + BLOCK_HEAD_BYTES as u64, sealed.anchors - VIEW_TAIL_BYTES as u64));
        }
    }
    Ok(all)
}
