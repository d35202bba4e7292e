//! Finds sections by user string in a file without a seal, by walking the headers.

use super::Lookup;
use crate::file::reader::local_reader::ReadsLocally;
use crate::file::team::Failure;
use scda_base::error::Result;
use scda_base::memory::reserve;
use scda_base::numbers::to_usize;
use scda_format::crc;

/// The sections of a file without a seal, up to where the headers were walked. The last one need not be whole.
#[derive(Default)]
pub(super) struct Walk {
    /// The offset of each section, and the checksum of its user string.
    sections: Vec<(u64, u64)>,
    /// The offset of the next section; `None` until the end of the last one is known.
    next: Option<u64>,
}

impl Walk {
    /// The number of sections up to there.
    pub(super) fn len(&self) -> u64 {
        self.sections.len() as u64
    }

    /// The checksums of their user strings.
    pub(super) fn hashes(&self) -> impl Iterator<Item = u64> {
        self.sections.iter().map(|&(_, hash)| hash)
    }

    /// The offset of a section.
    pub(super) fn offset_of(&self, number: u64) -> Option<u64> {
        Some(self.sections.get(to_usize(number))?.0)
    }
}

impl Lookup<'_> {
    /// As [`Self::all_in_seals`], in a file without a seal.
    pub(super) fn all_by_walking(&mut self, user: &[u8]) -> Result<Vec<u64>> {
        let (mut numbers, hash) = (Vec::new(), crc::of(user));
        self.walk_to(u64::MAX)?;
        for number in 0..self.cache.walk.sections.len() {
            let (offset, found) = self.cache.walk.sections[number];
            if found == hash && self.is_named(offset, user)? {
                reserve(&mut numbers, 1)?;
                numbers.push(number as u64);
            }
        }
        Ok(numbers)
    }

    pub(super) fn find_by_walking(&mut self, user: &[u8], record: i64) -> Result<Option<u64>> {
        let (hash, is_backward) = (crc::of(user), record < 0);
        let mut left = if is_backward { record.unsigned_abs() - 1 } else { record.unsigned_abs() };
        if is_backward {
            self.walk_to(u64::MAX)?;
        }
        // Those before this one were looked at; if backward, those from it on.
        let mut at = if is_backward { self.cache.walk.sections.len() } else { 0 };
        loop {
            let all = &self.cache.walk.sections;
            let has = |&(_, found): &(u64, u64)| found == hash;
            let place = match is_backward {
                true => all[..at].iter().rposition(has),
                false => all[at..].iter().position(has).map(|place| at + place),
            };
            if let Some(place) = place {
                at = if is_backward { place } else { place + 1 };
                if self.is_named(all[place].0, user)? {
                    if left == 0 {
                        return Ok(Some(place as u64));
                    }
                    left -= 1;
                }
                continue;
            }
            at = all.len();
            if !is_backward {
                self.walk_to(at as u64)?;
            }
            if is_backward || self.cache.walk.sections.len() == at {
                return Ok(None);
            }
        }
    }

    /// Whether the section at this offset has the user string.
    fn is_named(&mut self, offset: u64, user: &[u8]) -> Result<bool> {
        self.sections.advance(offset);
        let found = self.sections.look_at_section(true).map_err(|failure| self.team().settle(failure))?;
        Ok(found && self.sections.header().is_some_and(|header| &*header.user == user))
    }

    /// Walks the headers until the section with this number is known, or to the end of the file.
    pub(super) fn walk_to(&mut self, number: u64) -> Result<()> {
        if self.cache.walk.sections.len() as u64 > number {
            return Ok(());
        }
        let walked = self.walk_on(number);
        walked.map_err(|failure| self.team().settle(failure))
    }

    fn walk_on(&mut self, number: u64) -> Result<(), Failure> {
        match (self.cache.walk.next, self.cache.walk.sections.last()) {
            (Some(next), _) => self.sections.advance(next),
            (None, None) => self.sections.advance(self.sections.ends().first),
            (None, Some(&(last, _))) => {
                self.sections.advance(last);
                self.sections.look_at_section(true)?;
                self.sections.skip()?;
            }
        }
        loop {
            self.cache.walk.next = Some(self.sections.position());
            if !self.sections.look_at_section(true)? {
                return Ok(());
            }
            let Some(&header) = self.sections.header() else { return Ok(()) };
            reserve(&mut self.cache.walk.sections, 1)?;
            self.cache.walk.sections.push((header.offset, crc::of(&header.user)));
            self.cache.walk.next = None;
            if self.cache.walk.len() > number {
                return Ok(());
            }
            self.sections.skip()?;
        }
    }
}
