//! Sections by their user strings, in a file without a seal: by walking the headers.

use super::Lookup;
use crate::error::Result;
use crate::file::team::Failure;
use crate::format::{FILE_HEADER_BYTES, crc};
use crate::memory::reserve;
use crate::numbers::to_usize;

/// The sections of a file without a seal, up to where the headers were walked.
#[derive(Default)]
pub(super) struct Walk {
    /// The offset of each section, and the checksum of its user string.
    sections: Vec<(u64, u64)>,
    /// The offset of the next section; 0 before the first one.
    next: u64,
}

impl Walk {
    /// The number of sections up to there.
    pub(super) fn len(&self) -> u64 {
        self.sections.len() as u64
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
            let all = &self.cache.walk.sections;
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
        self.sections.advance(offset);
        let found =
            self.sections.look_at_section(true).map_err(|failure| self.sections.team().settle(failure))?;
        Ok(found && self.sections.header().is_some_and(|header| &*header.user == user))
    }

    /// Walks the headers until the section with this number is known, or to the end of the file.
    pub(super) fn walk_to(&mut self, number: u64) -> Result<()> {
        if self.cache.walk.sections.len() as u64 > number {
            return Ok(());
        }
        self.sections.advance(self.cache.walk.next.max(FILE_HEADER_BYTES as u64));
        let walked = self.walk_on(number);
        walked.map_err(|failure| self.sections.team().settle(failure))
    }

    fn walk_on(&mut self, number: u64) -> Result<(), Failure> {
        while self.cache.walk.sections.len() as u64 <= number && self.sections.look_at_section(true)? {
            let Some(&header) = self.sections.header() else { break };
            self.sections.skip()?;
            reserve(&mut self.cache.walk.sections, 1)?;
            self.cache.walk.sections.push((header.offset, crc::of(&header.user)));
            self.cache.walk.next = self.sections.position();
        }
        Ok(())
    }
}
