//! Keeps the names of sections in memory, on the rank that looks sections up.

use super::SectionReader;
use crate::file::reader::chain::SealGroup;
use scda_base::error::Result;
use scda_base::memory::{self, reserve_count};
use scda_format::crc;
use scda_format::names::Name;
use std::ops::Range;

/// Names are kept until they take about this much memory.
const KEPT_BYTES: u64 = 64 << 20;

/// A search in an index or table takes about eight small reads, which on a disk or a network take about as long
/// as reading this many bytes at once.
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

/// The names of a group of seals.
#[derive(Default)]
struct GroupNames {
    searches: u64,
    /// True if they are damaged, so that each name must be compared with its neighbours.
    is_damaged: bool,
    names: Option<NamesByHash>,
}

/// The names of sections, by the group of seals, counted from the end of the file.
#[derive(Default)]
pub(super) struct SealNames {
    groups: Vec<GroupNames>,
    /// The memory of the names.
    bytes: u64,
    /// All names of the last groups, for [`Self::recent`].
    recent: Vec<Vec<Name>>,
}

impl SealNames {
    /// The number of groups that were searched, from the end of the file on.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// The names of a group, once searches in it have cost as much as reading them all; `None`: they must be
    /// searched for in the file. Counts one more search.
    pub fn of(
        &mut self,
        sections: &mut SectionReader,
        number: usize,
        group: &SealGroup,
    ) -> Result<Option<&NamesByHash>> {
        if self.groups.len() <= number {
            self.groups.resize_with(number + 1, GroupNames::default);
        }
        let own = &mut self.groups[number];
        own.searches += 1;
        let (numbers, most) = (group.sections(), sections.params().tuning.bounded(KEPT_BYTES));
        let count = numbers.end.saturating_sub(numbers.start);
        let bytes = self.bytes.saturating_add(count.saturating_mul(size_of::<(u64, u64)>() as u64));
        let is_worth_it = group.names_bytes() <= own.searches.saturating_mul(SEARCH_BYTES) && bytes <= most;
        if own.names.is_none() && !own.is_damaged && is_worth_it {
            // The names have a limit of their own.
            let _temporary = memory::temporary();
            let mut names = Vec::new();
            reserve_count(&mut names, count)?;
            let take = |name: Name| {
                names.push((crc::of(&name.user), name.number));
                Ok(())
            };
            match sections.seals().scan_names(number, take) {
                Ok(true) => (own.names, self.bytes) = (Some(NamesByHash::new(names)), bytes),
                // The search in the file finds the damage.
                Err(error) if !error.kind().is_of_file() => return Err(error),
                _ => own.is_damaged = true,
            }
        }
        Ok(own.names.as_ref())
    }

    /// All names of a group with few, one of the last ones, after those of the groups that follow it.
    pub fn recent(&mut self, sections: &mut SectionReader, number: usize) -> Result<&[Name]> {
        if self.recent.len() <= number {
            self.recent.push(sections.seals().names(number)?);
        }
        Ok(&self.recent[number])
    }
}
