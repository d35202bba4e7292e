//! Finds sections by user string in the indexes of a sealed file.

use super::names::{NamesByHash, SealNames};
use crate::file::reader::chain::{SealGroup, differs};
use crate::file::reader::index::SealedPart;
use crate::file::reader::sections::SectionReader;
use scda_base::error::{Error, ErrorKind, Result};
use scda_base::memory::{reserve, reserve_count};
use scda_base::numbers::to_usize;
use scda_format::dataset::additions::{later_of, later_user, rows_of, rows_user};
use scda_format::header::UserString;
use scda_format::index::{hash_of_sorted, hash_of_user, row_of_sorted};
use scda_format::names::{NAME_BYTES, Name, Table};
use std::ops::Range;

/// Added rows are first looked for in this many of the last groups, if the names of a group have at most this
/// many bytes.
const MOST_NEAR_GROUPS: usize = 4;
const MOST_NEAR_NAMES: u64 = 64 << 10;

/// Finds sections by user string, on this rank alone.
pub(super) struct SealSearch<'a> {
    pub(super) sections: &'a mut SectionReader,
    pub(super) names: &'a mut SealNames,
    /// The names of all sections, if they were listed and the checksums of all indexes are right.
    pub(super) listed: Option<&'a NamesByHash>,
}

impl SealSearch<'_> {
    /// See [`Reader::find`](crate::Reader::find). A search from the end of the file ends with the groups of
    /// seals that cover what follows the first `least` bytes.
    pub(super) fn find(&mut self, user: &[u8], record: i64, least: u64) -> Result<Option<u64>> {
        let is_backward = record < 0;
        let mut left = record.unsigned_abs() - u64::from(is_backward);
        if is_backward {
            for number in 0.. {
                if self.is_covered(number, least)? || self.group_of_names(number)?.is_none() {
                    break;
                }
                if let Some(found) = self.find_in_group(number, user, true, &mut left)? {
                    return Ok(Some(found));
                }
            }
            return Ok(None);
        }
        for number in (0..self.groups()?).rev() {
            if let Some(found) = self.find_in_group(number, user, false, &mut left)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The section of this user string with `left` others before it in this direction, if it is in this group.
    /// Otherwise subtracts those of the group from `left`.
    fn find_in_group(
        &mut self,
        number: usize,
        user: &[u8],
        is_backward: bool,
        left: &mut u64,
    ) -> Result<Option<u64>> {
        let Some(group) = self.group_of_names(number)? else { return Ok(None) };
        let record = *left;
        if let Some(numbers) = self.kept(number, &group, user)? {
            let count = numbers.len() as u64;
            let at = if is_backward { count.checked_sub(record + 1) } else { Some(record) };
            if let Some(&(_, found)) = at.and_then(|at| numbers.get(to_usize(at))) {
                return self.section_named(found, user).map(Some);
            }
            *left -= count;
            return Ok(None);
        }
        self.check_if_short(&group)?;
        let first = self.start_of_name(&group, user)?;
        let is_there = !is_backward
            && record < names_end(&group) - first
            && *self.sorted_name(&group, first + record)?.0 == *user;
        let end = if is_there { first + record + 1 } else { self.end_of_name(&group, first, user)? };
        if record < end - first {
            let at = if is_backward { end - 1 - record } else { first + record };
            self.check_order(&group, if is_backward { end } else { first })?;
            if record > 0 {
                self.check_order(&group, at)?;
            }
            return self.section_at(&group, at, user).map(Some);
        }
        // A row may be damaged, so that the section exists although it was not found.
        self.check_absent(&group, first..end)?;
        *left -= end - first;
        Ok(None)
    }

    /// The sections of this user string in a group, if all its names are in memory.
    fn kept(&mut self, number: usize, group: &SealGroup, user: &[u8]) -> Result<Option<&[(u64, u64)]>> {
        let names = match self.listed {
            Some(listed) => Some(listed),
            None => self.names.of(self.sections, number, group)?,
        };
        Ok(names.map(|names| names.sections_of(user, group.sections())))
    }

    /// The last section of this user string if it begins after byte `least`.
    pub(super) fn find_after(&mut self, user: &[u8], least: u64) -> Result<Option<u64>> {
        let Some(number) = self.find(user, -1, least)? else { return Ok(None) };
        let (sealed, row) = self.row_of(number)?;
        let offset = self.sections.index().checked_row(&sealed, row)?.offset;
        Ok(if offset > least { Some(number) } else { None })
    }

    /// The offset of the data of the last dataset of this name, and the section with the rows that were added
    /// to it last. `None` unless one of the last seals has these rows, and nothing later that concerns a
    /// dataset of this name.
    pub(super) fn last_rows(&mut self, name: &str) -> Result<Option<(u64, u64)>> {
        for group in 0..MOST_NEAR_GROUPS {
            let near = self.group_of_names(group)?.filter(|near| near.names_bytes() <= MOST_NEAR_NAMES);
            if near.is_none() {
                break;
            }
            let names = match self.names.recent(self.sections, group) {
                Err(error) if error.kind().is_of_file() => break,
                names => names?,
            };
            let mut last = None;
            for Name { user, number, .. } in names {
                let rows = rows_of(user).filter(|&(data, _)| *rows_user(data, name).as_bytes() == **user);
                let later = later_of(user).filter(|&(data, _)| *later_user(data, name).as_bytes() == **user);
                if rows.is_some() || later.is_some() || **user == *name.as_bytes() {
                    last = last.max(Some((*number, rows.map(|(data, _)| data))));
                }
            }
            if let Some((number, data)) = last {
                let Some(data) = data else { return Ok(None) };
                return self.section_named(number, rows_user(data, name).as_bytes()).map(|n| Some((data, n)));
            }
        }
        Ok(None)
    }

    /// Whether the last `groups` groups of seals cover all that follows byte `least`.
    fn is_covered(&mut self, groups: usize, least: u64) -> Result<bool> {
        let last = match groups.checked_sub(1) {
            Some(last) if least > 0 => self.group_of_names(last)?,
            _ => None,
        };
        Ok(last.is_some_and(|group| group.begin <= least))
    }

    fn group_of_names(&mut self, number: usize) -> Result<Option<SealGroup>> {
        self.sections.seals().group(number)
    }

    /// The number of groups. Reads their names as well, which are near.
    fn groups(&mut self) -> Result<usize> {
        let mut number = 0;
        while let Some(group) = self.group_of_names(number)? {
            if self.listed.is_none() && number == self.names.len() {
                self.names.of(self.sections, number, &group)?;
            }
            number += 1;
        }
        Ok(number)
    }

    /// Verifies the checksum of a short index. That of a short table of names was verified when it was read.
    fn check_if_short(&mut self, group: &SealGroup) -> Result<()> {
        if group.is_long() || group.table.is_some() {
            return Ok(());
        }
        self.sections.seals().check_index(group.from_end)
    }

    /// Returns `number` after checking the row of this section.
    fn section_named(&mut self, number: u64, user: &[u8]) -> Result<u64> {
        let (sealed, row) = self.row_of(number)?;
        if self.sections.index().checked_row(&sealed, row)?.user[..] == *user {
            return Ok(number);
        }
        Err(differs("index", "another order", "that of the hashes of user strings", sealed.row_offset(row)))
    }

    /// The seal whose index has this section, and the number of its row.
    pub(super) fn row_of(&mut self, number: u64) -> Result<(SealedPart, u64)> {
        let (_, sealed) = self.sections.seals().seal_where(|span| span.first <= number)?;
        Ok((sealed, number - sealed.first + sealed.header_rows()))
    }

    /// The numbers of all sections with this user string, in order. Where the checksum of the names has been
    /// verified, a section is compared with its row only when it is read.
    pub(super) fn all(&mut self, user: &[u8]) -> Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for number in 0.. {
            let Some(group) = self.group_of_names(number)? else { break };
            if let Some(found) = self.kept(number, &group, user)? {
                reserve(&mut numbers, found.len())?;
                numbers.extend(found.iter().map(|&(_, number)| number));
                continue;
            }
            self.check_if_short(&group)?;
            let first = self.start_of_name(&group, user)?;
            let end = self.end_of_name(&group, first, user)?;
            // The answer implies that all other sections have other user strings.
            self.check_absent(&group, first..end)?;
            reserve_count(&mut numbers, end - first)?;
            for at in first..end {
                numbers.push(self.section_at(&group, at, user)?);
            }
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Returns an error unless the entries around this index are in the order of hashes, and the two names
    /// beside it are those of their sections, so that no single damaged row can have misled the search. Where
    /// the checksum has been verified, there is nothing to do.
    fn check_order(&mut self, group: &SealGroup, index: u64) -> Result<()> {
        if self.is_checked(group) {
            return Ok(());
        }
        let mut before = None;
        let (least, end) = (names_begin(group), names_end(group));
        for at in index.saturating_sub(2).max(least)..index.saturating_add(2).min(end) {
            let hash = self.sorted_hash(group, at)?;
            if at == index || at + 1 == index {
                let (user, number) = self.sorted_name(group, at)?;
                self.section_named(number, &user)?;
            }
            let is_ordered = match before {
                Some(before) if before == hash => {
                    self.sorted_name(group, at - 1)? < self.sorted_name(group, at)?
                }
                before => before.is_none_or(|before| before < hash),
            };
            if !is_ordered {
                return Err(another_order(group, at));
            }
            before = Some(hash);
        }
        Ok(())
    }

    /// Returns an error unless only these indices in the order of names have a certain user string.
    fn check_absent(&mut self, group: &SealGroup, found: Range<u64>) -> Result<()> {
        self.check_order(group, found.start)?;
        if found.is_empty() { Ok(()) } else { self.check_order(group, found.end) }
    }

    /// Whether the checksum of the names has been verified.
    fn is_checked(&mut self, group: &SealGroup) -> bool {
        match group.table {
            Some(_) => !group.is_long(),
            None => self.sections.seals().is_checked(group.from_end),
        }
    }

    /// The first of these indices in the order of names whose hash is at least `hash`; earlier hashes are at
    /// most `low`. Interpolates, since hashes are evenly distributed: this takes two or three pages, however
    /// many names there are. Bisects among many names of one hash.
    fn start_of_hash(
        &mut self,
        group: &SealGroup,
        among: Range<u64>,
        mut low: u64,
        hash: u64,
    ) -> Result<u64> {
        const MOST_ON_ONE_SIDE: u32 = 4;
        let Range { start: mut least, end: mut most } = among;
        let mut high = u64::MAX;
        let (mut was_before, mut on_one_side) = (false, 0);
        while least < most {
            let middle = if on_one_side < MOST_ON_ONE_SIDE {
                let share = u128::from(hash.saturating_sub(low)) * u128::from(most - least)
                    / u128::from((high - low).max(1));
                least.saturating_add(u64::try_from(share).unwrap_or(u64::MAX)).min(most - 1)
            } else {
                u64::midpoint(least, most)
            };
            let found = self.sorted_hash(group, middle)?;
            let is_before = found < hash;
            // If damage has disturbed the order, the index is wrong, which is noticed later.
            if is_before {
                (least, low) = (middle + 1, found)
            } else {
                (most, high) = (middle, found.max(low))
            }
            on_one_side =
                if is_before == was_before && on_one_side < MOST_ON_ONE_SIDE { on_one_side + 1 } else { 0 };
            was_before = is_before;
        }
        Ok(least)
    }

    /// The first index in the order of names from which on no name is less than this one.
    fn start_of_name(&mut self, group: &SealGroup, user: &[u8]) -> Result<u64> {
        let (hash, end) = (hash_of_user(user), names_end(group));
        let first = self.start_of_hash(group, names_begin(group)..end, 0, hash)?;
        let is_other = first < end
            && self.sorted_hash(group, first)? == hash
            && self.sorted_name(group, first)?.0[..] < *user;
        if !is_other {
            return Ok(first);
        }
        let end = self.end_of_hash(group, first, hash)?;
        self.bisect(group, first..end, |name| name < user)
    }

    /// The index after the last name that equals this user string, in the order of names. Equal names are
    /// consecutive, from `first` on.
    fn end_of_name(&mut self, group: &SealGroup, first: u64, user: &[u8]) -> Result<u64> {
        if first == names_end(group) || *self.sorted_name(group, first)?.0 != *user {
            return Ok(first);
        }
        let end = self.end_of_hash(group, first, hash_of_user(user))?;
        if *self.sorted_name(group, end - 1)?.0 == *user {
            return Ok(end);
        }
        self.bisect(group, first..end, |name| name <= user)
    }

    /// The index after the last name with the hash of the name at `first`.
    fn end_of_hash(&mut self, group: &SealGroup, first: u64, hash: u64) -> Result<u64> {
        let end = names_end(group);
        match hash.checked_add(NEXT_HASH) {
            Some(next) => self.start_of_hash(group, first + 1..end, hash, next),
            None => Ok(end),
        }
    }

    /// The first of these indices whose name does not satisfy the predicate.
    fn bisect(
        &mut self,
        group: &SealGroup,
        among: Range<u64>,
        is_before: impl Fn(&[u8]) -> bool,
    ) -> Result<u64> {
        let Range { start: mut least, end: mut most } = among;
        while least < most {
            let middle = u64::midpoint(least, most);
            if is_before(&self.sorted_name(group, middle)?.0) { least = middle + 1 } else { most = middle }
        }
        Ok(least)
    }

    /// The number of the section whose name is at this index in the order of names.
    fn section_at(&mut self, group: &SealGroup, index: u64, user: &[u8]) -> Result<u64> {
        let (found, number) = self.sorted_name(group, index)?;
        if *found != *user {
            return Err(another_order(group, index));
        }
        self.section_named(number, user)
    }

    /// The hash of the name at this index in the order of names.
    fn sorted_hash(&mut self, group: &SealGroup, index: u64) -> Result<u64> {
        match group.table {
            Some(table) => Ok(hash_of_user(&self.name_in_table(table, index)?.user)),
            None => self.sections.index().sorted(&group.sealed, index).map(hash_of_sorted),
        }
    }

    /// The name at this index in the order of names, and the number of its section.
    fn sorted_name(&mut self, group: &SealGroup, index: u64) -> Result<(UserString, u64)> {
        let (user, number) = if let Some(table) = group.table {
            let name = self.name_in_table(table, index)?;
            (name.user, Some(name.number))
        } else {
            let sorted = self.sections.index().sorted(&group.sealed, index)?;
            let number = row_of_sorted(sorted);
            let row = self.sections.index().row(&group.sealed, number)?;
            let is_section = row.section.is_some() && row.hash() == hash_of_sorted(sorted);
            let number = number.checked_sub(group.sealed.header_rows()).filter(|_| is_section);
            (row.user, number.map(|number| group.sealed.first + number))
        };
        match number.filter(|number| group.sections().contains(number)) {
            Some(number) => Ok((user, number)),
            None => Err(another_order(group, index)),
        }
    }

    fn name_in_table(&mut self, table: Table, index: u64) -> Result<Name> {
        let (at, mut row) = (table.name_offset(index), [0; NAME_BYTES]);
        self.sections.seals().read_index_bytes(at, &mut row)?;
        Name::parse(&row, at).map_err(|error| error.with_kind(ErrorKind::Checksum))
    }
}

/// The distance between consecutive hashes of user strings.
const NEXT_HASH: u64 = 1 << 32;

/// The index of the first name of a section, in the order of names.
fn names_begin(group: &SealGroup) -> u64 {
    group.table.map_or_else(|| group.sealed.header_rows(), |_| 0)
}

/// The index after the last name, in the order of names.
fn names_end(group: &SealGroup) -> u64 {
    group.table.map_or_else(|| group.sealed.seal.rows(), |table| table.names)
}

/// The error for a name that is not at its place in the order of names.
#[cold]
fn another_order(group: &SealGroup, index: u64) -> Error {
    let (what, at) = match group.table {
        Some(table) => ("table of names", table.name_offset(index)),
        None => ("index", group.sealed.row_offset(index)),
    };
    differs(what, "another order", "that of the hashes of user strings", at)
}
