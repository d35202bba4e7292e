//! The sections that a program has written after the last seal, for a reader of the file that is still being
//! written.

use scda_base::error::Result;
use scda_base::memory::{copy, push, reserve};
use scda_base::numbers::to_usize;
use scda_format::index::Row;
use std::collections::BTreeMap;

/// The approximate memory of a user string and its sections in a map.
const NAME_BYTES: usize = 192;

/// The sections after the last seal of a file, from the rows that its writer keeps of them. They are found as if
/// they were sealed.
#[derive(Default)]
pub(in crate::file::reader) struct UnsealedSections {
    /// The number of sealed sections.
    pub(super) sealed: u64,
    /// The number of rows that were added, one of which may be that of the file header.
    rows: usize,
    offsets: Vec<u64>,
    /// The numbers of the sections with each user string, in their order.
    named: BTreeMap<Vec<u8>, Vec<u64>>,
}

impl UnsealedSections {
    /// No sections, after this number of sealed ones.
    pub fn after(sealed: u64) -> Self {
        Self { sealed, ..Self::default() }
    }

    /// Adds those of all rows after the last seal that are new.
    pub fn note(&mut self, rows: &[Row]) -> Result<()> {
        let new = rows.get(self.rows..).unwrap_or_default();
        // A map cannot report that memory is lacking, so this is tested before.
        reserve(&mut Vec::<[u8; NAME_BYTES]>::new(), new.len())?;
        for row in new {
            if row.section.is_some() {
                let number = self.end();
                push(self.named.entry(copy(&row.user)?).or_default(), number)?;
                push(&mut self.offsets, row.offset)?;
            }
            self.rows += 1;
        }
        Ok(())
    }

    /// The number of all sections.
    pub(super) fn end(&self) -> u64 {
        self.sealed + self.offsets.len() as u64
    }

    /// The offset of the section of this number, which is not sealed.
    pub(super) fn offset_of(&self, number: u64) -> Option<u64> {
        self.offsets.get(to_usize(number.checked_sub(self.sealed)?)).copied()
    }

    /// The numbers of the sections with this user string.
    pub fn named(&self, user: &[u8]) -> &[u64] {
        self.named.get(user).map_or(&[], Vec::as_slice)
    }
}
