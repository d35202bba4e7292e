//! Caches the user strings of the sections of the last seals, on the rank that looks sections up. Each index
//! or table is read once.

use super::Sections;
use crate::file::reader::chain::SealGroup;
use scda_base::error::Result;
use scda_base::memory::{self, copy, reserve, reserve_count};
use scda_format::crc;
use scda_format::names::Name;
use std::collections::BTreeMap;
use std::ops::Range;

/// Names are kept until they take about this much memory.
const KEPT_BYTES: u64 = 64 << 20;
/// The memory for a user string in a map.
const NAME_BYTES: usize = 128;

/// A search in a long index or table takes about eight small reads, which on a disk or a network take about
/// as long as reading this many bytes at once.
const SEARCH_BYTES: u64 = 4 << 20;

/// The hashes of user strings with their section numbers, sorted; 16 bytes a section. Two names of equal hash
/// are extremely unlikely, and a section that is looked up is compared with its name.
#[derive(Default)]
pub(super) struct NamesByHash(Vec<(u64, u64)>);

impl NamesByHash {
    /// Sorts the pairs.
    pub fn new(mut names: Vec<(u64, u64)>) -> Self {
        names.sort_unstable();
        Self(names)
    }

    /// The sections of this user string with a number in this range, in the order of the file.
    pub fn sections_of(&self, user: &[u8], numbers: Range<u64>) -> &[(u64, u64)] {
        let hash = crc::of(user);
        let place = |number| self.0.partition_point(|&found| found < (hash, number));
        let (first, end) = (place(numbers.start), place(numbers.end));
        self.0.get(first..end).unwrap_or_default()
    }
}

/// The names of a long group.
#[derive(Default)]
struct ScannedNames {
    searches: u64,
    /// True if they are damaged, so that each name must be compared with its neighbours.
    is_damaged: bool,
    names: Option<NamesByHash>,
}

/// The names of sections in the last groups of seals of a file.
#[derive(Default)]
pub(super) struct SealNames {
    /// The numbers of the sections of each user string, the last one first.
    sections: BTreeMap<Vec<u8>, Vec<u64>>,
    /// How many groups these are, from the end of the file, and which of them are long, so that their names
    /// are not kept.
    groups: usize,
    long: Vec<usize>,
    /// The cost of look-ups in long groups so far, and their names once that exceeds the cost of reading them
    /// all.
    scanned: BTreeMap<usize, ScannedNames>,
    /// The approximate memory of the names.
    bytes: usize,
    /// True if no more names are kept.
    is_full: bool,
}

impl SealNames {
    /// The number of groups whose names are kept, including the [`Self::long`] ones, whose names are not.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// The long groups among these, whose names have to be searched for in the file, from the end of the file
    /// to its beginning.
    pub fn long(&self) -> &[usize] {
        &self.long
    }

    /// The sections of this user string in these groups, the last one first.
    pub fn sections_of(&self, user: &[u8]) -> &[u64] {
        self.sections.get(user).map_or(&[], |sections| sections)
    }

    /// The user strings of the sections in these groups, each with its last section.
    pub fn last_sections(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.sections.iter().filter_map(|(user, sections)| Some((&**user, *sections.first()?)))
    }

    /// The names of a long group, once earlier searches in it have cost as much as reading them all. Counts
    /// one more search.
    pub fn scanned(
        &mut self,
        sections: &mut Sections,
        number: usize,
        group: &SealGroup,
    ) -> Result<Option<&NamesByHash>> {
        let of_seal = self.scanned.entry(number).or_default();
        of_seal.searches += 1;
        let (numbers, bytes) = (group.sections(), group.names_bytes());
        let count = numbers.end.saturating_sub(numbers.start);
        let most = sections.params().tuning.bounded(KEPT_BYTES);
        let is_worth_it = bytes <= of_seal.searches.saturating_mul(SEARCH_BYTES)
            && count.saturating_mul(size_of::<(u64, u64)>() as u64) <= most;
        if of_seal.names.is_none() && !of_seal.is_damaged && is_worth_it {
            // The names have a limit of their own.
            let _temporary = memory::temporary();
            let mut names = Vec::new();
            reserve_count(&mut names, count)?;
            let mut take = |user: &[u8], number| {
                names.push((crc::of(user), number));
                Ok(())
            };
            match sections.seals().scan_names(group, &mut take) {
                Ok(true) => of_seal.names = Some(NamesByHash::new(names)),
                Err(error) if !error.kind().is_of_file() => return Err(error),
                _ => of_seal.is_damaged = true,
            }
        }
        Ok(of_seal.names.as_ref())
    }

    /// Keeps the names of one more group.
    fn keep(&mut self, names: &[Name]) -> Result<()> {
        // A map cannot report that memory is lacking, so this is tested before.
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
        self.groups += 1;
        Ok(())
    }

    /// Keeps the names of one more group, towards the beginning of the file, or skips a long one. False if
    /// there is no more, or if this group and all before it have to be searched in the file, because names
    /// are damaged or enough are kept.
    pub fn keep_more(&mut self, sections: &mut Sections) -> Result<bool> {
        let (number, most) = (self.groups, sections.params().tuning.bounded(KEPT_BYTES));
        if self.is_full {
            return Ok(false);
        }
        let Some(group) = sections.seals().group(number)? else { return Ok(false) };
        if group.is_long() {
            reserve(&mut self.long, 1)?;
            self.long.push(number);
            self.groups += 1;
            return Ok(true);
        }
        // The names have a limit of their own.
        let _temporary = memory::temporary();
        let names = sections.seals().names(number);
        let kept = names.and_then(|names| self.keep(&names));
        self.is_full = kept.is_err() || self.bytes as u64 >= most;
        match kept {
            // The search for a name will return the error.
            Err(error) if error.kind().is_of_file() => Ok(false),
            kept => kept.map(|()| true),
        }
    }
}
