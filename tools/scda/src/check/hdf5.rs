//! Where the superblock of HDF5 leads, in a file that has room for one.

use super::finding::{Fault, Finding, Note, Scan};
use crate::fail::Result;
use scda::{Error, ErrorKind, Reader, SealedPart, SuperblockState};
use scda_format::hdf5::SUPERBLOCK_OFFSET;

/// Compares the superblock with the seals. A view that is out of date is only said to be so.
///
/// # Errors
/// Those of reading.
pub fn check(reader: &mut Reader, scan: &mut Scan, seals: &[SealedPart]) -> Result<()> {
    let (Some(state), Some(last)) = (reader.superblock()?, seals.last()) else { return Ok(()) };
    let expected = reader.superblock_up_to(last.seal.length)?;
    let wrong = |words: String| {
        let error = Error::new(ErrorKind::Format, format!("superblock of HDF5: {words}"));
        Finding::of_header(Fault::Invalid(error.at(SUPERBLOCK_OFFSET)))
    };
    let again = "the next program that appends to the file writes it again";
    let note = match state {
        SuperblockState::None if expected.is_some() => {
            format!("HDF5: the view has no superblock yet, so other programs do not find it; {again}")
        }
        SuperblockState::None => return Ok(()),
        SuperblockState::Torn => {
            format!("HDF5: the superblock was not written whole, so other programs find no view; {again}")
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
            let root = reader.superblock_up_to(found.end)?.map_or(0, |superblock| superblock.root);
            if root != found.root {
                let words =
                    format!("found the root group at byte {}, expected {root}, that of the view", found.root);
                scan.findings.push(wrong(words));
                return Ok(());
            }
            if seal + 1 == seals.len() {
                return Ok(());
            }
            format!("HDF5: other programs see the file as of seal {} of {}; {again}", seal + 1, seals.len())
        }
    };
    scan.notes.push(Note { number: 0, words: note });
    Ok(())
}
