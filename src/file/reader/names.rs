//! The user strings of the sections of the last seals, kept by the rank that looks sections up: each index is read once.

use super::ReaderState;
use super::index::Sealed;
use crate::error::Result;
use crate::format::index::{ROW_BYTES, Row, TABLE_HEADER_BYTES};
use crate::memory::{copy, reserve};
use crate::numbers::to_usize;
use std::collections::BTreeMap;

/// The checksum of an index of up to this many bytes is compared before the index is used, and its names are kept. Of a longer
/// one it is compared only before the answer is that a section does not exist.
pub(super) const SHORT_INDEX_BYTES: u64 = 1 << 20;
/// Names are kept until they take about so much memory.
const KEPT_BYTES: usize = 64 << 20;
/// What a user string takes, in a map.
const NAME_BYTES: usize = 128;

/// The names of the sections of the last seals of a file.
#[derive(Default)]
pub(super) struct Names {
    /// The numbers of the sections of each user string, the last one first.
    sections: BTreeMap<Vec<u8>, Vec<u64>>,
    /// How many seals these are, from the last one of the file on.
    seals: usize,
    /// About how much memory they take.
    bytes: usize,
    /// No more are kept.
    is_full: bool,
}

impl Names {
    /// The number of seals whose names are kept.
    pub(super) fn seals(&self) -> usize {
        self.seals
    }

    /// The sections of this user string in these seals, the last one first.
    pub(super) fn sections_of(&self, user: &[u8]) -> &[u64] {
        self.sections.get(user).map_or(&[], |sections| sections)
    }

    /// Keeps the names of one more seal, which has these rows.
    fn keep(&mut self, sealed: &Sealed, rows: &[[u8; ROW_BYTES]]) -> Result<()> {
        let mut names = Vec::new();
        reserve(&mut names, rows.len())?;
        for (row, number) in rows.iter().skip(to_usize(sealed.header_rows())).zip(sealed.first..) {
            names.push((Row::parse_user(row)?, number));
        }
        // A map cannot fail to allocate, so whether there is memory is tried before.
        reserve(&mut Vec::<[u8; NAME_BYTES]>::new(), names.len())?;
        for (user, number) in names.iter().rev() {
            if let Some(sections) = self.sections.get_mut(&**user) {
                reserve(sections, 1)?;
                sections.push(*number);
            } else {
                self.sections.insert(copy(user)?, vec![*number]);
                self.bytes += NAME_BYTES;
            }
            self.bytes += size_of::<u64>();
        }
        self.seals += 1;
        Ok(())
    }
}

impl ReaderState {
    /// Keeps the names of one more seal, towards the beginning of the file. False if there is none, or if
    /// its index has to be searched in the file: it is long or damaged, or enough is kept.
    pub(super) fn keep_names(&mut self) -> Result<bool> {
        let from_end = self.names.seals;
        if self.names.is_full {
            return Ok(false);
        }
        let sealed = match self.seal(from_end)? {
            Some(sealed) if sealed.seal.rows().saturating_mul(ROW_BYTES as u64) <= SHORT_INDEX_BYTES => {
                sealed
            }
            _ => return Ok(false),
        };
        let mut bytes = Vec::new();
        let kept = self.read_index(from_end, &mut bytes).and_then(|()| {
            let rows = bytes[TABLE_HEADER_BYTES..].as_chunks().0;
            self.names.keep(&sealed, &rows[..to_usize(sealed.seal.rows())])
        });
        self.names.is_full = kept.is_err() || self.names.bytes >= KEPT_BYTES;
        match kept {
            // Whoever searches this index finds the error.
            Err(error) if error.kind().is_of_file() => Ok(false),
            kept => kept.map(|()| true),
        }
    }
}
