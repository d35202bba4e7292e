//! The user strings of the sections of the last seals, cached by the rank that looks sections up: each index
//! or table is read once.

use super::Sections;
use scda_base::error::Result;
use scda_base::memory::{self, copy, reserve};
use scda_format::names::Name;
use std::collections::BTreeMap;

/// Names are kept until they take about so much memory.
const KEPT_BYTES: u64 = 64 << 20;
/// What a user string takes, in a map.
const NAME_BYTES: usize = 128;

/// The names of the sections of the last seals of a file.
#[derive(Default)]
pub(super) struct SealNames {
    /// The numbers of the sections of each user string, the last one first.
    sections: BTreeMap<Vec<u8>, Vec<u64>>,
    /// How many pieces of the chain of seals these are, from the end of the file on; and the long ones among them, whose names are
    /// not kept.
    pieces: usize,
    long: Vec<usize>,
    /// About how much memory they take.
    bytes: usize,
    /// No more are kept.
    is_full: bool,
}

impl SealNames {
    /// The number of pieces whose names are kept, but for those of the [`Self::long`] ones among them.
    pub fn pieces(&self) -> usize {
        self.pieces
    }

    /// The pieces whose names have to be searched for in the file although those of others before them are kept, the last one of the
    /// file first.
    pub fn long(&self) -> &[usize] {
        &self.long
    }

    /// The sections of this user string in these pieces, the last one first.
    pub fn sections_of(&self, user: &[u8]) -> &[u64] {
        self.sections.get(user).map_or(&[], |sections| sections)
    }

    /// Keeps the names of one more piece.
    fn keep(&mut self, names: &[Name]) -> Result<()> {
        // A map cannot fail to allocate, so whether there is memory is tried before.
        reserve(&mut Vec::<[u8; NAME_BYTES]>::new(), names.len())?;
        for Name { user, number, .. } in names.iter().rev() {
            if let Some(sections) = self.sections.get_mut(&**user) {
                reserve(sections, 1)?;
                sections.push(*number);
            } else {
                self.sections.insert(copy(user)?, vec![*number]);
                self.bytes += NAME_BYTES;
            }
            self.bytes += size_of::<u64>();
        }
        self.pieces += 1;
        Ok(())
    }

    /// Keeps the names of one more piece, towards the beginning of the file, or passes a long one. False if there is none, or if
    /// its names have to be searched for in the file, and those of all pieces before it: they are damaged, or enough is kept.
    pub fn keep_more(&mut self, sections: &mut Sections) -> Result<bool> {
        let (number, most) = (self.pieces, sections.params().tuning.bounded(KEPT_BYTES));
        if self.is_full {
            return Ok(false);
        }
        let Some(piece) = sections.seals().group_of_seals(number)? else { return Ok(false) };
        if piece.is_long() {
            reserve(&mut self.long, 1)?;
            self.long.push(number);
            self.pieces += 1;
            return Ok(true);
        }
        // What is kept has a limit of its own.
        let _temporary = memory::temporary();
        let names = sections.seals().names_of_group(number);
        let kept = names.and_then(|names| self.keep(&names));
        self.is_full = kept.is_err() || self.bytes as u64 >= most;
        match kept {
            // The search for a name returns the error.
            Err(error) if error.kind().is_of_file() => Ok(false),
            kept => kept.map(|()| true),
        }
    }
}
