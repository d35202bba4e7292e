//! Finds sections by number and by user string: from the seals at the end of a file, otherwise by walking the
//! headers.

mod additions;
mod in_seals;
mod listing;
mod names;
mod records;
mod unsealed;
mod verify;
mod walk;

use self::additions::NoAdditionsAfter;
pub(super) use self::additions::{LastAddition, Later};
use self::in_seals::SealSearch;
pub use self::listing::EntryName;
use self::names::SealNames;
use self::records::AllNames;
pub(super) use self::unsealed::UnsealedSections;
use self::verify::{VerifiedRanges, Verifier};
use self::walk::Walk;
use super::local_reader::ReadsLocally;
use super::sections::SectionReader;
use crate::file::team::{Failure, Function, Topic, split};
use scda_base::error::{Error, Result};
use scda_base::memory::{reserve_count, resize};
use scda_base::numbers::to_usize;

/// What look-ups have read and keep.
#[derive(Default)]
pub(super) struct LookupCache {
    /// The user strings of the sections of the last seals.
    names: SealNames,
    /// The sections that this rank has walked.
    walk: Walk,
    verified: VerifiedRanges,
    none_later: NoAdditionsAfter,
    /// On rank 0, once records have been numbered.
    listed: Option<AllNames>,
    /// In a file that is still being written, its sections after the last seal.
    pub(super) unsealed: Option<UnsealedSections>,
}

impl LookupCache {
    /// Called when the file has grown. Drops what depends on its last seal or on where it ended.
    pub fn forget_end(&mut self) {
        (self.names, self.walk, self.none_later) =
            (SealNames::default(), Walk::default(), NoAdditionsAfter::default());
        self.listed = None;
    }
}

/// Moves to sections: the next one, or any other.
pub(super) struct Lookup<'a> {
    pub(super) sections: &'a mut SectionReader,
    pub(super) cache: &'a mut LookupCache,
}

impl ReadsLocally for Lookup<'_> {
    fn sections(&mut self) -> &mut SectionReader {
        self.sections
    }
}

impl Lookup<'_> {
    /// Finds sections in the indexes of a sealed file.
    fn seals(&mut self) -> SealSearch<'_> {
        let listed = self.cache.listed.as_ref().and_then(AllNames::checked);
        SealSearch { sections: self.sections, names: &mut self.cache.names, listed }
    }

    /// Verifies the checksums of sections.
    fn verifier(&mut self) -> Verifier<'_> {
        Verifier { sections: self.sections, verified: &mut self.cache.verified }
    }

    /// Whether sections can be found by seals.
    fn is_sealed(&self) -> bool {
        self.cache.unsealed.as_ref().map_or_else(|| self.sections.is_sealed(), |new| new.sealed > 0)
    }

    /// See [`Reader::next_section`](super::Reader::next_section).
    #[inline(always)]
    pub fn next_section(&mut self, decode: bool) -> Result<bool, Failure> {
        self.sections.end_section(decode)?;
        if self.sections.params().verify {
            self.verifier().verify_next()?;
        }
        self.sections.look_at_section(decode)
    }

    /// Verifies the seals at the end of the file and the header of the file. Collective.
    pub fn verify_ends(&mut self) -> Result<(), Failure> {
        self.verifier().verify_ends()
    }

    pub fn sections(&mut self) -> Result<u64, Failure> {
        self.team().note_call(Function::Sections);
        let [sections] = self.look_up(|this| Ok([this.count_sections()?]))?;
        Ok(sections)
    }

    /// The number of sealed sections.
    pub fn sealed_sections(&mut self) -> Result<u64, Failure> {
        if self.sections.is_sealed() {
            return self.sections();
        }
        self.team().note_call(Function::Sections);
        Ok(0)
    }

    pub fn seek_section(&mut self, number: u64) -> Result<(), Failure> {
        self.team().note_call(Function::SeekSection);
        self.team().note_named(Topic::Number, &["the number"], &[number]);
        let [offset] = self.look_up(|this| Ok([this.offset_of(number)?]))?;
        self.sections.advance(offset);
        Ok(())
    }

    /// See [`Reader::section`](super::Reader::section).
    pub fn section(&mut self, number: u64) -> Result<bool, Failure> {
        self.team().note_call(Function::SeekSection);
        self.team().note_named(Topic::Number, &["the number"], &[number]);
        let [offset] = self.look_up(|this| Ok([this.find_offset(number)?.unwrap_or(0)]))?;
        if offset == 0 {
            return Ok(false);
        }
        self.sections.advance(offset);
        self.next_section(true)
    }

    pub fn find(&mut self, user: &[u8], record: i64) -> Result<Option<u64>, Failure> {
        self.note_find(user, record);
        let [found] = self.look_up(|this| {
            let found = this.find_own(user, record)?;
            Ok([found.map_or(0, |number| number + 1)])
        })?;
        Ok(found.checked_sub(1))
    }

    /// Finds the second section of a pair, and reads the header of the first. Returns whether there is such a
    /// pair. If the section found is the first of the file, its own header is read. For a dataset, additions
    /// are found, too.
    pub fn find_pair(
        &mut self,
        user: &[u8],
        record: i64,
        is_dataset: bool,
    ) -> Result<Option<Later>, Failure> {
        self.note_find(user, record);
        // Rank 0 sends what it has read of the pair, so that other ranks need neither read nor agree.
        let (mut sent, is_alone) = (Vec::new(), self.team().is_alone());
        let (is_sent, room) = split(if is_alone { Ok(false) } else { self.input().expect_ahead() });
        let found = self.look_up_own(|this| {
            let Some(number) = this.find_own(user, record)? else { return Ok([0; 3]) };
            let offset = this.offset_of(number.saturating_sub(1))?;
            let later = match is_dataset {
                true => this.find_later(offset, user, |this| this.offset_of(number))?,
                false => Later::NONE,
            };
            if is_sent {
                this.input().look_ahead(offset, &mut sent)?;
            }
            let [attributes, rows] = later.words();
            Ok([offset, attributes, rows])
        });
        let found = room.and(found).map(Option::unwrap_or_default);
        let [offset, later @ ..] = self.input().share_ahead(found, &sent)?;
        if offset == 0 {
            return Ok(None);
        }
        self.sections.advance(offset);
        self.next_section(true)?;
        Ok(Some(Later::of(later)))
    }

    /// See [`SealSearch::last_rows`]. On this rank alone.
    pub fn last_rows(&mut self, user: &str) -> Result<Option<(u64, u64)>, Failure> {
        Ok(if self.is_sealed() { self.seals().last_rows(user)? } else { None })
    }

    fn note_find(&mut self, user: &[u8], record: i64) {
        self.team().note_call(Function::Find);
        self.team().note_bytes(Topic::UserString, &[], user);
        self.team().note_named(Topic::Number, &["the record"], &[record.cast_unsigned()]);
    }

    fn find_own(&mut self, user: &[u8], mut record: i64) -> Result<Option<u64>> {
        let Some(new) = &self.cache.unsealed else {
            return match self.is_sealed() {
                true => self.seals().find(user, record, 0),
                false => self.cache.walk.find(self.sections, user, record),
            };
        };
        let count = new.named(user).len() as u64;
        if record < 0 {
            if let Some(place) = count.checked_sub(record.unsigned_abs()) {
                return Ok(Some(new.named(user)[to_usize(place)]));
            }
            record = record.saturating_add_unsigned(count);
        }
        let found = if self.is_sealed() { self.seals().find(user, record, 0)? } else { None };
        if found.is_some() || record < 0 || count == 0 {
            return Ok(found);
        }
        // Sealed records come first.
        let sealed = if self.is_sealed() { self.seals().all(user)?.len() as u64 } else { 0 };
        let place = record.unsigned_abs().checked_sub(sealed);
        let new = self.cache.unsealed.as_ref().map_or(&[][..], |new| new.named(user));
        Ok(place.and_then(|place| new.get(to_usize(place)).copied()))
    }

    pub fn find_all(&mut self, user: &[u8]) -> Result<Vec<u64>, Failure> {
        self.team().note_call(Function::FindAll);
        self.team().note_bytes(Topic::UserString, &[], user);
        let found = self.look_up_own(|this| match this.is_sealed() {
            true => this.seals().all(user),
            false => this.cache.walk.all(this.sections, user),
        });
        self.share_numbers(found.map(Option::unwrap_or_default))
    }

    /// Sends the numbers of rank 0 to all ranks.
    fn share_numbers(&mut self, found: Result<Vec<u64>>) -> Result<Vec<u64>, Failure> {
        if self.team().is_alone() {
            return Ok(found?);
        }
        let bytes = found.and_then(|numbers| {
            let mut bytes = Vec::new();
            resize(&mut bytes, numbers.len() as u64 * 8)?;
            let words = bytes.as_chunks_mut().0;
            words.iter_mut().zip(numbers).for_each(|(word, number)| *word = number.to_le_bytes());
            Ok(bytes)
        });
        let mut numbers = Vec::new();
        let bytes = self.share_bytes(bytes, |length| reserve_count(&mut numbers, length / 8))?;
        numbers.extend(bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)));
        Ok(numbers)
    }

    /// Sends the bytes of rank 0 to all ranks. `make_room` reserves the memory that the caller needs for this
    /// many bytes.
    fn share_bytes(
        &mut self,
        found: Result<Vec<u8>>,
        make_room: impl FnOnce(u64) -> Result<()>,
    ) -> Result<Vec<u8>, Failure> {
        let (mut bytes, mine) = split(found);
        if self.team().is_alone() {
            mine?;
            return Ok(bytes);
        }
        let [length] = self.team().share(0, mine.map(|()| [bytes.len() as u64]))?;
        let room = resize(&mut bytes, length).and_then(|()| make_room(length));
        let sent = self.team().agree(room)?.comm().broadcast(&mut bytes, 0);
        self.team().agree(sent)?;
        Ok(bytes)
    }

    fn count_sections(&mut self) -> Result<u64> {
        if let Some(new) = &self.cache.unsealed {
            return Ok(new.end());
        }
        if self.is_sealed() {
            return Ok(self.sections.seals().seal(0)?.map_or(0, |sealed| sealed.seal.sections));
        }
        self.cache.walk.reach(self.sections, u64::MAX)?;
        Ok(self.cache.walk.len())
    }

    /// The offset of a section that must exist.
    fn offset_of(&mut self, number: u64) -> Result<u64> {
        match self.find_offset(number)? {
            Some(offset) => Ok(offset),
            None => Err(no_section(number, self.count_sections()?)),
        }
    }

    /// The offset of a section; `None` if the file has fewer sections.
    fn find_offset(&mut self, number: u64) -> Result<Option<u64>> {
        if let Some(new) = self.cache.unsealed.as_ref().filter(|new| number >= new.sealed) {
            return Ok(new.offset_of(number));
        }
        if !self.is_sealed() {
            self.cache.walk.reach(self.sections, number)?;
            return Ok(self.cache.walk.offset_of(number));
        }
        if number >= self.count_sections()? {
            return Ok(None);
        }
        let (sealed, row) = self.seals().row_of(number)?;
        Ok(Some(self.sections.index().checked_row(&sealed, row)?.offset))
    }
}

/// The error for a section number that the file does not have.
#[cold]
fn no_section(number: u64, sections: u64) -> Error {
    Error::argument(format!("number of a section: found {number}, expected one below {sections}"))
}
