//! Finds sections by user string in a file without a seal, by walking the headers.

use super::SectionReader;
use crate::file::team::Failure;
use scda_base::error::Result;
use scda_base::memory::push;
use scda_base::numbers::to_usize;
use scda_format::crc;

/// The sections of a file without a seal, as far as their headers were walked. The last one may be truncated.
#[derive(Default)]
pub(super) struct Walk {
    /// The offset of each section, and the checksum of its user string.
    places: Vec<(u64, u64)>,
    /// The offset of the next section; `None` until the end of the last one is known.
    next: Option<u64>,
}

impl Walk {
    /// The number of sections walked so far.
    pub(super) fn len(&self) -> u64 {
        self.places.len() as u64
    }

    /// The checksums of their user strings.
    pub(super) fn hashes(&self) -> impl Iterator<Item = u64> {
        self.places.iter().map(|&(_, hash)| hash)
    }

    /// The offset of a section.
    pub(super) fn offset_of(&self, number: u64) -> Option<u64> {
        Some(self.places.get(to_usize(number))?.0)
    }

    /// The numbers of all sections with this user string, in order.
    pub(super) fn all(&mut self, sections: &mut SectionReader, user: &[u8]) -> Result<Vec<u64>> {
        let (mut numbers, hash) = (Vec::new(), crc::of(user));
        self.reach(sections, u64::MAX)?;
        for number in 0..self.places.len() {
            let (offset, found) = self.places[number];
            if found == hash && is_named(sections, offset, user)? {
                push(&mut numbers, number as u64)?;
            }
        }
        Ok(numbers)
    }

    pub(super) fn find(
        &mut self,
        sections: &mut SectionReader,
        user: &[u8],
        record: i64,
    ) -> Result<Option<u64>> {
        let (hash, is_backward) = (crc::of(user), record < 0);
        let mut left = if is_backward { record.unsigned_abs() - 1 } else { record.unsigned_abs() };
        if is_backward {
            self.reach(sections, u64::MAX)?;
        }
        // Sections before this number have been compared; in a backward search, those from it on.
        let mut at = if is_backward { self.places.len() } else { 0 };
        loop {
            let all = &self.places;
            let has = |&(_, found): &(u64, u64)| found == hash;
            let place = match is_backward {
                true => all[..at].iter().rposition(has),
                false => all[at..].iter().position(has).map(|place| at + place),
            };
            if let Some(place) = place {
                at = if is_backward { place } else { place + 1 };
                if is_named(sections, all[place].0, user)? {
                    if left == 0 {
                        return Ok(Some(place as u64));
                    }
                    left -= 1;
                }
                continue;
            }
            at = all.len();
            if !is_backward {
                self.reach(sections, at as u64)?;
            }
            if is_backward || self.places.len() == at {
                return Ok(None);
            }
        }
    }

    /// Walks the headers until the section with this number is known, or the file ends.
    pub(super) fn reach(&mut self, sections: &mut SectionReader, number: u64) -> Result<()> {
        if self.places.len() as u64 > number {
            return Ok(());
        }
        let walked = self.go_on(sections, number);
        walked.map_err(|failure| sections.input.team.settle(failure))
    }

    fn go_on(&mut self, sections: &mut SectionReader, number: u64) -> Result<(), Failure> {
        match (self.next, self.places.last()) {
            (Some(next), _) => sections.advance(next),
            (None, None) => sections.advance(sections.ends().first),
            (None, Some(&(last, _))) => {
                sections.advance(last);
                sections.look_at_section(true)?;
                sections.skip()?;
            }
        }
        loop {
            self.next = Some(sections.position());
            if !sections.look_at_section(true)? {
                return Ok(());
            }
            let Some(&header) = sections.header() else { return Ok(()) };
            push(&mut self.places, (header.offset, crc::of(&header.user)))?;
            self.next = None;
            if self.len() > number {
                return Ok(());
            }
            sections.skip()?;
        }
    }
}

/// Whether the section at this offset has the user string.
fn is_named(sections: &mut SectionReader, offset: u64, user: &[u8]) -> Result<bool> {
    sections.advance(offset);
    let found = sections.look_at_section(true).map_err(|failure| sections.input.team.settle(failure))?;
    Ok(found && sections.header().is_some_and(|header| &*header.user == user))
}
