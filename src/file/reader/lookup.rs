//! Finds sections by number and by user string: with the seals at the end of a file, otherwise by walking the headers.

use super::chain::{Piece, differs};
use super::header::LONGEST_HEADER;
use super::index::Sealed;
use super::{Expect, ReaderState};
use crate::error::{Error, ErrorKind, Result};
use crate::file::team::{Failure, Function, Team, Topic, split};
use crate::file::window::Window;
use crate::format::FILE_HEADER_BYTES;
use crate::format::crc;
use crate::format::header::{SectionType, UserString};
use crate::format::names::{NAME_BYTES, Name};
use crate::memory::{reserve, reserve_count, resize};
use crate::numbers::to_usize;
use std::ops::Range;

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
        let kept = self.names.pieces();
        if is_backward {
            let sections = self.names.sections_of(user);
            if let Some(&number) = sections.get(to_usize(left)) {
                return self.section_named(number, user).map(Some);
            }
            left -= sections.len() as u64;
        }
        let pieces = if is_backward { kept } else { self.count_pieces(kept)? };
        // The pieces whose names are not kept.
        for step in 0.. {
            let number = if is_backward { Some(kept + step) } else { pieces.checked_sub(step + 1) };
            let number = number.filter(|&number| number >= kept);
            let Some(piece) = number.map(|number| self.piece_of_names(number)).transpose()?.flatten() else {
                break;
            };
            self.check_if_short(&piece)?;
            let first = self.sorted_index(&piece, 0, |name| name < user)?;
            let is_there = !is_backward
                && left < names_end(&piece) - first
                && *self.sorted_name(&piece, first + left)?.0 == *user;
            let end = if is_there { first + left + 1 } else { self.end_of_name(&piece, first, user)? };
            if left < end - first {
                let at = if is_backward { end - 1 - left } else { first + left };
                self.check_order(&piece, if is_backward { end } else { first })?;
                if left > 0 {
                    self.check_order(&piece, at)?;
                }
                return self.section_at(&piece, at, user).map(Some);
            }
            // If a row is damaged, the section may exist nevertheless.
            self.check_absent(&piece, first..end)?;
            left -= end - first;
        }
        let sections = self.names.sections_of(user);
        let place = (sections.len() as u64).checked_sub(left.saturating_add(1)).filter(|_| !is_backward);
        let found = place.and_then(|place| sections.get(to_usize(place)).copied());
        found.map(|number| self.section_named(number, user)).transpose()
    }

    fn piece_of_names(&mut self, number: usize) -> Result<Option<Piece>> {
        self.chain.piece(&mut *self.file, number)
    }

    /// The number of pieces, of which there are so many at least.
    fn count_pieces(&mut self, least: usize) -> Result<usize> {
        let mut pieces = least;
        while self.piece_of_names(pieces)?.is_some() {
            pieces += 1;
        }
        Ok(pieces)
    }

    /// Compares the checksum of an index that is short. That of a short table of names was compared when it was read.
    fn check_if_short(&mut self, piece: &Piece) -> Result<()> {
        if piece.is_long() || piece.table.is_some() {
            return Ok(());
        }
        self.chain.check_index(&mut *self.file, piece.from_end)
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
        match self.seal_where(|span| span.first <= number)? {
            Some((_, sealed)) => Ok((sealed, number - sealed.first + sealed.header_rows())),
            // The first seal of a file has no section before it.
            None => Err(differs("seal", "no row", &format!("one of section {number}"), self.end)),
        }
    }

    /// The numbers of all sections with this user string, in order.
    fn all_in_seals(&mut self, user: &[u8]) -> Result<Vec<u64>> {
        while self.keep_names()? {}
        let (mut numbers, kept) = (Vec::new(), self.names.pieces());
        for number in (kept..self.count_pieces(kept)?).rev() {
            let Some(piece) = self.piece_of_names(number)? else { break };
            self.check_if_short(&piece)?;
            let first = self.sorted_index(&piece, 0, |name| name < user)?;
            let end = self.end_of_name(&piece, first, user)?;
            // The answer says of all other sections that they have another user string.
            self.check_absent(&piece, first..end)?;
            reserve_count(&mut numbers, end - first)?;
            for at in first..end {
                numbers.push(self.section_at(&piece, at, user)?);
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

    /// An error unless the names around this index are in the order of user strings and the two beside it are those of their
    /// sections: then no single row that is damaged has led bisection to a wrong index. Where the checksum was compared, that is
    /// known.
    fn check_order(&mut self, piece: &Piece, index: u64) -> Result<()> {
        if self.is_checked(piece) {
            return Ok(());
        }
        let mut before = None;
        let (least, end) = (names_begin(piece), names_end(piece));
        for at in index.saturating_sub(2).max(least)..index.saturating_add(2).min(end) {
            let (user, number) = self.sorted_name(piece, at)?;
            if at == index || at + 1 == index {
                self.section_named(number, &user)?;
            }
            let is_ordered = before.is_none_or(|before| before < (user, number));
            if !is_ordered {
                return Err(another_order(piece, at));
            }
            before = Some((user, number));
        }
        Ok(())
    }

    /// An error unless a user string has these indices only in the order of user strings.
    fn check_absent(&mut self, piece: &Piece, found: Range<u64>) -> Result<()> {
        self.check_order(piece, found.start)?;
        if found.is_empty() { Ok(()) } else { self.check_order(piece, found.end) }
    }

    /// Whether the checksum of the names was compared.
    fn is_checked(&self, piece: &Piece) -> bool {
        match piece.table {
            Some(_) => !piece.is_long(),
            None => self.chain.is_checked(piece.from_end),
        }
    }

    /// The first index in the order of user strings, from `least` on, whose name does not satisfy the predicate.
    fn sorted_index(&mut self, piece: &Piece, least: u64, is_before: impl Fn(&[u8]) -> bool) -> Result<u64> {
        let (mut least, mut most) = (least.max(names_begin(piece)), names_end(piece));
        while least < most {
            let middle = u64::midpoint(least, most);
            if is_before(&self.sorted_name(piece, middle)?.0) { least = middle + 1 } else { most = middle }
        }
        Ok(least)
    }

    /// The index behind the last name that is this user string, in the order of user strings: they follow one another from `first` on.
    fn end_of_name(&mut self, piece: &Piece, first: u64, user: &[u8]) -> Result<u64> {
        if first == names_end(piece) || *self.sorted_name(piece, first)?.0 != *user {
            return Ok(first);
        }
        self.sorted_index(piece, first, |name| name <= user)
    }

    /// The number of the section whose name has this index in the order of user strings.
    fn section_at(&mut self, piece: &Piece, index: u64, user: &[u8]) -> Result<u64> {
        let (found, number) = self.sorted_name(piece, index)?;
        if *found != *user {
            return Err(another_order(piece, index));
        }
        self.section_named(number, user)
    }

    /// The name with this index in the order of user strings, and the number of its section.
    fn sorted_name(&mut self, piece: &Piece, index: u64) -> Result<(UserString, u64)> {
        let is_of_piece = |number| (piece.first..piece.sealed.seal.sections).contains(&number);
        let (user, number) = if let Some(table) = piece.table {
            let (at, mut row) = (table.name_offset(index), [0; NAME_BYTES]);
            self.read_own(at, &mut row)?;
            let name = Name::parse(&row, at).map_err(|error| error.with_kind(ErrorKind::Checksum))?;
            (name.user, Some(name.number))
        } else {
            let number = self.sorted_row(&piece.sealed, index)?;
            let row = self.row(&piece.sealed, number)?;
            let number = number.checked_sub(piece.sealed.header_rows()).filter(|_| row.section.is_some());
            (row.user, number.map(|number| piece.sealed.first + number))
        };
        match number.filter(|&number| is_of_piece(number)) {
            Some(number) => Ok((user, number)),
            None => Err(another_order(piece, index)),
        }
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

/// The index of the first name of a section, in the order of user strings.
fn names_begin(piece: &Piece) -> u64 {
    piece.table.map_or_else(|| piece.sealed.header_rows(), |_| 0)
}

/// The index behind the last name, in the order of user strings.
fn names_end(piece: &Piece) -> u64 {
    piece.table.map_or_else(|| piece.sealed.seal.rows(), |table| table.names)
}

/// The error for a name that has a wrong index in the order of user strings.
#[cold]
fn another_order(piece: &Piece, index: u64) -> Error {
    let (what, at) = match piece.table {
        Some(table) => ("table of names", table.name_offset(index)),
        None => ("index", piece.sealed.row_offset(index)),
    };
    differs(what, "another order", "that of user strings", at)
}

/// The error for a section number that the file does not have.
#[cold]
fn no_section(number: u64, sections: u64) -> Error {
    Error::argument(format!("number of a section: found {number}, expected one below {sections}"))
}
