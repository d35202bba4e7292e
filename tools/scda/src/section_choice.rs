//! Chooses the sections that `scda copy` copies.

use crate::datasets::Item;
use crate::fail::{Fail, Result};
use crate::select::{self, Selection};
use scda::Reader;
use std::ops::AddAssign;

/// Totals of what was copied.
#[derive(Clone, Copy, Default)]
pub struct CopyTotals {
    pub sections: u64,
    /// The size of these sections in the files that they come from.
    pub bytes: u64,
}

impl AddAssign for CopyTotals {
    fn add_assign(&mut self, other: Self) {
        self.sections += other.sections;
        self.bytes += other.bytes;
    }
}

/// Determines which sections are copied.
pub struct SectionChoice<'a> {
    pub select: &'a [Selection],
    delete: &'a [Selection],
    /// For each selection, the number of sections that it has left out.
    deleted: Vec<u64>,
}

impl<'a> SectionChoice<'a> {
    pub fn new(select: &'a [Selection], delete: &'a [Selection]) -> Self {
        Self { select, delete, deleted: vec![0; delete.len()] }
    }

    /// True if an item is copied. The reader must have read its header.
    pub fn wants(&mut self, item: &Item, reader: &mut Reader) -> Result<bool> {
        if !select::any_of(self.select, item, Some(&mut *reader))? {
            return Ok(false);
        }
        let mut is_wanted = true;
        for (selection, deleted) in self.delete.iter().zip(&mut self.deleted) {
            if select::any_of(std::slice::from_ref(selection), item, Some(&mut *reader))? {
                *deleted += 1;
                is_wanted = false;
            }
        }
        Ok(is_wanted)
    }

    /// Fails if something that was to be deleted does not exist.
    pub fn check(&self, name: &str) -> Result<()> {
        if let Some(place) = self.deleted.iter().position(|&count| count == 0) {
            let selection = &self.delete[place];
            return Err(Fail::file(name, format_args!("--delete: {selection} matches none of its sections")));
        }
        Ok(())
    }
}
