//! Finds sections by number and by user string: with the seals at the end of a file, otherwise by walking the headers.

use super::chain::differs;
use super::header::LONGEST_HEADER;
use super::index::Sealed;
use super::names::SHORT_INDEX_BYTES;
use super::{Expect, ReaderState};
use crate::error::{Error, Result};
use crate::file::team::{Failure, Function, Team, Topic, split};
use crate::file::window::Window;
use crate::format::FILE_HEADER_BYTES;
use crate::format::crc;
use crate::format::header::{SectionType, UserString};
use crate::format::index::{ROW_BYTES, Row};
use crate::memory::{reserve, reserve_count, resize};
use crate::numbers::to_usize;

/// The state of a rank that reads alone while the others do something else.
pub(super) struct Alone {
    team: Team,
    window: Window,
}

/// The sections of a file without a seal, up to where the headers were walked.
#[derive(Default)]
pub(super) struct Walk {
    /// The offset of each section, and the checksum of its user string.
    sections: Vec<(u64, u64)>,
    /// The offset of the next section; 0 before the first one.
    next: u64,
}

impl ReaderState {
    /// Reads on this rank alone; errors concern this rank.
    pub(super) fn alone<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Failure>) -> Result<T> {
        if self.team.is_alone() {
            return read(self).map_err(|failure| self.team.settle(failure));
        }
        self.apart(|this, _| {
            let result = read(this).and_then(|value| {
                this.team.agree(Ok(()))?;
                Ok(value)
            });
            result.map_err(|failure| this.team.settle(failure))
        })
    }

    /// Lets this rank be alone, and hands out the ranks: for what each reads alone, in steps between which they meet.
    pub(super) fn apart<T>(&mut self, read: impl FnOnce(&mut Self, &mut Team) -> T) -> T {
        let mut alone = self.alone.take().unwrap_or_else(|| {
            let team = self.team.alone();
            Box::new(Alone { window: Window::new(&team, &self.params), team })
        });
        let swap = |this: &mut Self, alone: &mut Alone| {
            std::mem::swap(&mut this.team, &mut alone.team);
            std::mem::swap(&mut this.window, &mut alone.window);
        };
        swap(self, &mut alone);
        let result = read(self, &mut alone.team);
        swap(self, &mut alone);
        self.alone = Some(alone);
        result
    }

    /// Looks something up on rank 0 and shares the result. The section that is being read does not change.
    pub(super) fn look_up<const N: usize>(
        &mut self,
        find: impl FnOnce(&mut Self) -> Result<[u64; N]>,
    ) -> Result<[u64; N], Failure> {
        let found = self.look_up_own(find).map(|found| found.unwrap_or([0; N]));
        self.team.share(0, found)
    }

    /// Looks something up on rank 0; `None` on the others. The section that is being read does not change.
    fn look_up_own<T>(&mut self, find: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if self.team.rank() > 0 {
            return Ok(None);
        }
        let before = (self.position, self.expect, self.header, self.known_offset);
        self.expect = Expect::Header;
        let found = self.alone(|this| Ok(find(this)?));
        (self.position, self.expect, self.header, self.known_offset) = before;
        found.map(Some)
    }

    pub(super) fn sections(&mut self) -> Result<u64, Failure> {
        self.team.note_call(Function::Sections);
        let [sections] = self.look_up(|this| Ok([this.count_sections()?]))?;
        Ok(sections)
    }

    /// The number of sections that are sealed.
    pub(super) fn sealed_sections(&mut self) -> Result<u64, Failure> {
        if self.is_sealed() {
            return self.sections();
        }
        self.team.note_call(Function::Sections);
        Ok(0)
    }

    pub(super) fn seek_section(&mut self, number: u64) -> Result<(), Failure> {
        self.team.note_call(Function::SeekSection);
        self.team.note(Topic::Size, number);
        let [offset] = self.look_up(|this| Ok([this.offset_of(number)?]))?;
        self.advance(offset);
        Ok(())
    }

    pub(super) fn find(&mut self, user: &[u8], record: i64) -> Result<Option<u64>, Failure> {
        self.note_find(user, record);
        let [found] = self.look_up(|this| {
            let found = this.find_own(user, record)?;
            Ok([found.map_or(0, |number| number + 1)])
        })?;
        Ok(found.checked_sub(1))
    }

    /// Finds the second section of a pair, and reads the header of the one before it: whether there is one. If the file begins
    /// with what was found, its own header is read.
    pub(super) fn find_pair(&mut self, user: &[u8], record: i64) -> Result<Option<bool>, Failure> {
        self.note_find(user, record);
        // With others, rank 0 sends what it has read of the pair: so nobody else reads, and the ranks need not agree on it.
        let (mut sent, is_alone) = (Vec::new(), self.team.is_alone());
        let (is_sent, room) = split(if is_alone { Ok(false) } else { self.window.expect() });
        let found = self.look_up_own(|this| {
            let Some(number) = this.find_own(user, record)? else { return Ok([0, 0]) };
            let offset = this.offset_of(number.saturating_sub(1))?;
            if is_sent {
                this.look_ahead(offset, &mut sent)?;
            }
            Ok([offset, 2 * sent.len() as u64 + u64::from(number > 0)])
        });
        let found = room.and(found).map(Option::unwrap_or_default);
        let (agreed, [offset, more]) = self.team.share_agreed(0, found)?;
        if offset == 0 {
            return Ok(None);
        }
        if more > 1 {
            self.window.receive(&agreed, offset, more / 2, &sent)?;
        }
        self.advance(offset);
        self.next_section(true)?;
        Ok(Some(more % 2 == 1))
    }

    /// Reads a header on this rank, and copies all that is read ahead with it.
    fn look_ahead(&mut self, offset: u64, bytes: &mut Vec<u8>) -> Result<()> {
        let looked = self.look(offset, LONGEST_HEADER.min(self.size - offset)).map(drop);
        looked.map_err(|failure| self.team.settle(failure))?;
        let ahead = self.window.to_send(offset);
        reserve(bytes, ahead.len())?;
        bytes.extend_from_slice(ahead);
        Ok(())
    }

    fn note_find(&mut self, user: &[u8], record: i64) {
        self.team.note_call(Function::Find);
        self.team.note_bytes(Topic::UserString, user);
        self.team.note(Topic::Size, record.cast_unsigned());
    }

    fn find_own(&mut self, user: &[u8], record: i64) -> Result<Option<u64>> {
        if self.is_sealed() { self.find_in_seals(user, record) } else { self.find_by_walking(user, record) }
    }

    pub(super) fn find_all(&mut self, user: &[u8]) -> Result<Vec<u64>, Failure> {
        self.team.note_call(Function::FindAll);
        self.team.note_bytes(Topic::UserString, user);
        let found = self.look_up_own(|this| match this.is_sealed() {
            true => this.all_in_seals(user),
            false => this.all_by_walking(user),
        });
        let (mut numbers, mine) = split(found.map(Option::unwrap_or_default));
        if self.team.is_alone() {
            mine?;
            return Ok(numbers);
        }
        let [count] = self.team.share(0, mine.map(|()| [numbers.len() as u64]))?;
        let mut bytes = Vec::new();
        let room = resize(&mut bytes, count.saturating_mul(8)).and_then(|()| {
            let words = bytes.as_chunks_mut().0;
            words.iter_mut().zip(&numbers).for_each(|(word, number)| *word = number.to_le_bytes());
            numbers.clear();
            reserve_count(&mut numbers, count)
        });
        let sent = self.team.agree(room)?.comm().broadcast(&mut bytes, 0);
        self.team.agree(sent)?;
        numbers.extend(bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)));
        Ok(numbers)
    }

    fn count_sections(&mut self) -> Result<u64> {
        if self.is_sealed() {
            return Ok(self.seal(0)?.map_or(0, |sealed| sealed.seal.sections));
        }
        self.walk_to(u64::MAX)?;
        Ok(self.walk.sections.len() as u64)
    }

    /// The offset of a section.
    fn offset_of(&mut self, number: u64) -> Result<u64> {
        if !self.is_sealed() {
            self.walk_to(number)?;
            let known = self.walk.sections.get(to_usize(number));
            return known
                .map(|&(offset, _)| offset)
                .ok_or_else(|| no_section(number, self.walk.sections.len() as u64));
        }
        let sections = self.count_sections()?;
        if number >= sections {
            return Err(no_section(number, sections));
        }
        let (sealed, row) = self.row_of(number)?;
        Ok(self.checked_row(&sealed, row)?.offset)
    }

    fn find_in_seals(&mut self, user: &[u8], record: i64) -> Result<Option<u64>> {
        let is_backward = record < 0;
        let mut left = if is_backward { record.unsigned_abs() - 1 } else { record.unsigned_abs() };
        while !(is_backward && left < self.names.sections_of(user).len() as u64) && self.keep_names()? {}
        let (kept, mut seals) = (self.names.seals(), self.names.seals());
        if is_backward {
            let sections = self.names.sections_of(user);
            if let Some(&number) = sections.get(to_usize(left)) {
                return self.section_named(number, user).map(Some);
            }
            left -= sections.len() as u64;
        }
        while !is_backward && self.seal(seals)?.is_some() {
            seals += 1;
        }
        // The seals whose names are not kept.
        for step in 0.. {
            let from_end = if is_backward { Some(kept + step) } else { seals.checked_sub(step + 1) };
            let from_end = from_end.filter(|&from_end| from_end >= kept);
            let sealed = from_end.map(|from_end| self.seal(from_end)).transpose()?.flatten();
            let (Some(from_end), Some(sealed)) = (from_end, sealed) else { break };
            let rows = sealed.seal.rows();
            if rows.saturating_mul(ROW_BYTES as u64) <= SHORT_INDEX_BYTES {
                self.check_index(from_end)?;
            }
            // The rows of this user string follow one another in the order of user strings.
            let first = self.sorted_index(&sealed, 0, |name| name < user)?;
            let is_there =
                !is_backward && left < rows - first && *self.named_row(&sealed, first + left)?.user == *user;
            let end = match is_there {
                true => first + left + 1,
                false => self.sorted_index(&sealed, first, |name| name <= user)?,
            };
            if left < end - first {
                let at = if is_backward { end - 1 - left } else { first + left };
                if !self.is_checked(from_end) {
                    self.check_order(&sealed, if is_backward { end } else { first })?;
                    if left > 0 {
                        self.check_order(&sealed, at)?;
                    }
                }
                return self.section_at(&sealed, at, user).map(Some);
            }
            // If the index is damaged, the section may exist nevertheless.
            self.check_index(from_end)?;
            left -= end - first;
        }
        let sections = self.names.sections_of(user);
        let place = (sections.len() as u64).checked_sub(left.saturating_add(1)).filter(|_| !is_backward);
        let found = place.and_then(|place| sections.get(to_usize(place)).copied());
        found.map(|number| self.section_named(number, user)).transpose()
    }

    /// The number of a section, after its row was checked.
    fn section_named(&mut self, number: u64, user: &[u8]) -> Result<u64> {
        let (sealed, row) = self.row_of(number)?;
        if self.checked_row(&sealed, row)?.user[..] == *user {
            return Ok(number);
        }
        Err(differs("index", "another order", "that of user strings", sealed.row_offset(row)))
    }

    /// The seal that has the row of this section, and the number of the row.
    fn row_of(&mut self, number: u64) -> Result<(Sealed, u64)> {
        match self.seal_where(|sealed| sealed.first <= number)? {
            Some((_, sealed)) => Ok((sealed, number - sealed.first + sealed.header_rows())),
            // The first seal of a file has no section before it.
            None => Err(differs("seal", "no row", &format!("one of section {number}"), self.end)),
        }
    }

    /// The numbers of all sections with this user string, in order.
    fn all_in_seals(&mut self, user: &[u8]) -> Result<Vec<u64>> {
        while self.keep_names()? {}
        let (mut numbers, mut seals) = (Vec::new(), self.names.seals());
        while self.seal(seals)?.is_some() {
            seals += 1;
        }
        for from_end in (self.names.seals()..seals).rev() {
            let Some(sealed) = self.seal(from_end)? else { break };
            // The answer says of all other sections that they have another user string.
            self.check_index(from_end)?;
            let first = self.sorted_index(&sealed, 0, |name| name < user)?;
            let end = self.sorted_index(&sealed, first, |name| name <= user)?;
            reserve_count(&mut numbers, end - first)?;
            for at in first..end {
                numbers.push(self.section_at(&sealed, at, user)?);
            }
        }
        let kept = numbers.len();
        let sections = self.names.sections_of(user);
        reserve(&mut numbers, sections.len())?;
        numbers.extend(sections.iter().rev());
        for &number in &numbers[kept..] {
            self.section_named(number, user)?;
        }
        Ok(numbers)
    }

    /// As [`Self::all_in_seals`], in a file without a seal.
    fn all_by_walking(&mut self, user: &[u8]) -> Result<Vec<u64>> {
        let (mut numbers, hash) = (Vec::new(), crc::of(user));
        self.walk_to(u64::MAX)?;
        for number in 0..self.walk.sections.len() {
            let (offset, found) = self.walk.sections[number];
            if found == hash && self.is_named(offset, user)? {
                reserve(&mut numbers, 1)?;
                numbers.push(number as u64);
            }
        }
        Ok(numbers)
    }

    /// An error unless the rows around this index are in the order of user strings and the two beside it are those of their
    /// sections: then no single row that is damaged has led bisection to a wrong index.
    fn check_order(&mut self, sealed: &Sealed, index: u64) -> Result<()> {
        let mut before = None;
        for at in index.saturating_sub(2).max(sealed.header_rows())..(index + 2).min(sealed.seal.rows()) {
            let number = self.sorted_row(sealed, at)?;
            let is_beside = at == index || at + 1 == index;
            let row = if is_beside { self.checked_row(sealed, number)? } else { self.row(sealed, number)? };
            let is_ordered = before
                .is_none_or(|(user, before): (UserString, u64)| (&*user, before) < (&*row.user, number));
            if !is_ordered || row.section.is_none() {
                return Err(differs("index", "another order", "that of user strings", sealed.row_offset(at)));
            }
            before = Some((row.user, number));
        }
        Ok(())
    }

    /// The first index in the order of user strings, from `least` on, whose row does not satisfy the predicate.
    fn sorted_index(
        &mut self,
        sealed: &Sealed,
        least: u64,
        is_before: impl Fn(&[u8]) -> bool,
    ) -> Result<u64> {
        let (mut least, mut most) = (least.max(sealed.header_rows()), sealed.seal.rows());
        while least < most {
            let middle = u64::midpoint(least, most);
            if is_before(&self.named_row(sealed, middle)?.user) { least = middle + 1 } else { most = middle }
        }
        Ok(least)
    }

    /// The number of the section whose row has this index in the order of user strings.
    fn section_at(&mut self, sealed: &Sealed, index: u64, user: &[u8]) -> Result<u64> {
        let row = self.sorted_row(sealed, index)?;
        let found = self.checked_row(sealed, row)?;
        if *found.user != *user || found.section.is_none() {
            let at = sealed.row_offset(index);
            return Err(differs("index", "another order", "that of user strings", at));
        }
        Ok(sealed.first + row - sealed.header_rows())
    }

    /// The row with this index in the order of user strings.
    fn named_row(&mut self, sealed: &Sealed, index: u64) -> Result<Row> {
        let row = self.sorted_row(sealed, index)?;
        self.row(sealed, row)
    }

    fn find_by_walking(&mut self, user: &[u8], record: i64) -> Result<Option<u64>> {
        let is_backward = record < 0;
        let mut left = if is_backward { record.unsigned_abs() - 1 } else { record.unsigned_abs() };
        let hash = crc::of(user);
        if is_backward {
            self.walk_to(u64::MAX)?;
        }
        for step in 0.. {
            if !is_backward {
                self.walk_to(step)?;
            }
            let all = &self.walk.sections;
            let number = if is_backward { (all.len() as u64).checked_sub(step + 1) } else { Some(step) };
            let Some((number, &(offset, found))) =
                number.and_then(|number| Some((number, all.get(to_usize(number))?)))
            else {
                break;
            };
            if found != hash || !self.is_named(offset, user)? {
                continue;
            }
            if left == 0 {
                return Ok(Some(number));
            }
            left -= 1;
        }
        Ok(None)
    }

    /// Whether the section at this offset has the user string.
    fn is_named(&mut self, offset: u64, user: &[u8]) -> Result<bool> {
        self.advance(offset);
        let found = self.look_at_section(true).map_err(|failure| self.team.settle(failure))?;
        Ok(found && self.header.is_some_and(|header| &*header.user == user))
    }

    /// Walks the headers until the section with this number is known, or to the end of the file.
    fn walk_to(&mut self, number: u64) -> Result<()> {
        if self.walk.sections.len() as u64 > number {
            return Ok(());
        }
        self.advance(self.walk.next.max(FILE_HEADER_BYTES as u64));
        let walked = self.walk_on(number);
        walked.map_err(|failure| self.team.settle(failure))
    }

    fn walk_on(&mut self, number: u64) -> Result<(), Failure> {
        while self.walk.sections.len() as u64 <= number && self.look_at_section(true)? {
            let Some(header) = self.header else { break };
            self.skip()?;
            reserve(&mut self.walk.sections, 1)?;
            self.walk.sections.push((header.offset, crc::of(&header.user)));
            self.walk.next = self.position;
        }
        Ok(())
    }

    /// The end of the current section, if its header alone determines it.
    pub(super) fn end_by_header(&self) -> Option<u64> {
        match self.expect {
            Expect::Data(current) if current.section_type != SectionType::Array || !current.decoded => {
                Some(current.layout.end)
            }
            _ => None,
        }
    }
}

/// The error for a section number that the file does not have.
#[cold]
fn no_section(number: u64, sections: u64) -> Error {
    Error::argument(format!("number of a section: found {number}, expected one below {sections}"))
}
