//! The user strings of the sections of the last seals, cached by the rank that looks sections up: each index
//! or table is read once.

use super::Sections;
use crate::file::reader::chain::SealGroup;
use scda_base::error::Result;
use scda_base::memory::{self, copy, reserve, reserve_count};
use scda_format::crc;
use scda_format::names::Name;
use std::collections::BTreeMap;
use std::ops::Range;

/// Names are kept until they take about so much memory.
const KEPT_BYTES: u64 = 64 << 20;
/// What a user string takes, in a map.
const NAME_BYTES: usize = 128;

/// A search in a long index or table takes some eight small reads, and on a disk or a network these take about as long as reading
/// so many bytes at once.
const SEARCH_BYTES: u64 = 4 << 20;

/// The hash of the user string of each of some sections, with the number of the section, sorted: 16 bytes for each. Names of which the
/// hash is the same are as good as impossible; one that is looked up is compared with the section.
#[derive(Default)]
pub(super) struct NamesByHash(Vec<(u64, u64)>);

impl NamesByHash {
    /// Sorts these.
    pub fn new(mut names: Vec<(u64, u64)>) -> Self {
        names.sort_unstable();
        Self(names)
    }

    /// The sections of this user string, in the order of the file, as far as their numbers are among these.
    pub fn sections_of(&self, user: &[u8], numbers: Range<u64>) -> &[(u64, u64)] {
        let hash = crc::of(user);
        let place = |number| self.0.partition_point(|&found| found < (hash, number));
        let (first, end) = (place(numbers.start), place(numbers.end));
        self.0.get(first..end).unwrap_or_default()
    }
}

/// The names of a long piece.
#[derive(Default)]
struct ScannedNames {
    searches: u64,
    /// They are damaged, so that only what is compared beside a name tells whether it is right.
    is_damaged: bool,
    names: Option<NamesByHash>,
}

/// The names of the sections of the last seals of a file.
#[derive(Default)]
pub(super) struct SealNames {
    /// The numbers of the sections of each user string, the last one first.
    sections: BTreeMap<Vec<u8>, Vec<u64>>,
    /// How many pieces of the chain of seals these are, from the end of the file on; and the long ones among them, whose names are
    /// not kept.
    pieces: usize,
    long: Vec<usize>,
    /// What look-ups in long ones have cost, and their names once it was as much as reading them all.
    scanned: BTreeMap<usize, ScannedNames>,
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

    /// The user strings of the sections in these pieces, with the last section of each.
    pub fn last_sections(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.sections.iter().filter_map(|(user, sections)| Some((&**user, *sections.first()?)))
    }

    /// The names of a long piece, if so many searches in it have been paid for that reading them all has cost no more. This is one more.
    pub fn scanned(
        &mut self,
        sections: &mut Sections,
        number: usize,
        piece: &SealGroup,
    ) -> Result<Option<&NamesByHash>> {
        let of_piece = self.scanned.entry(number).or_default();
        of_piece.searches += 1;
        let (numbers, bytes) = (piece.sections(), piece.names_bytes());
        let count = numbers.end.saturating_sub(numbers.start);
        let most = sections.params().tuning.bounded(KEPT_BYTES);
        let is_worth_it = bytes <= of_piece.searches.saturating_mul(SEARCH_BYTES)
            && count.saturating_mul(size_of::<(u64, u64)>() as u64) <= most;
        if of_piece.names.is_none() && !of_piece.is_damaged && is_worth_it {
            // What is kept has a limit of its own.
            let _temporary = memory::temporary();
            let mut names = Vec::new();
            reserve_count(&mut names, count)?;
            let mut take = |user: &[u8], number| {
                names.push((crc::of(user), number));
                Ok(())
            };
            match sections.seals().scan_names(piece, &mut take) {
                Ok(true) => of_piece.names = Some(NamesByHash::new(names)),
                Err(error) if !error.kind().is_of_file() => return Err(error),
                _ => of_piece.is_damaged = true,
            }
        }
        Ok(of_piece.names.as_ref())
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
