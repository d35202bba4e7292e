//! Seals among the sections: skips them, and finds sections and elements by them.

use super::{CurrentSection, Input};
use crate::file::reader::chain::{Chain, SealGroup, Span, differs};
use crate::file::reader::index::{SealedPart, may_be_of_seal};
use crate::file::team::Failure;
use scda_base::error::Result;
use scda_format::index::{ANCHOR_BYTES, ANCHOR_ELEMENTS, CRC_TAIL_BYTES, TABLE_HEADER_BYTES};
use scda_format::names::Name;

/// The end of the seal, if the section whose header was read is a part of one. Collective.
#[inline(always)]
pub(super) fn end_of_seal(
    input: &mut Input,
    user: &[u8],
    section: &CurrentSection,
) -> Result<Option<u64>, Failure> {
    let is_suspect = may_be_of_seal(section.section_type, user, section.size);
    if !is_suspect || input.params().raw { Ok(None) } else { find_end_of_seal(input, user, section) }
}

#[cold]
fn find_end_of_seal(
    input: &mut Input,
    user: &[u8],
    section: &CurrentSection,
) -> Result<Option<u64>, Failure> {
    // A few bytes at several places, so one rank reads them.
    let found = match input.team().rank() {
        0 => {
            let end = input.end();
            SealedPart::around(input.file(), end, (section.section_type, user), section.layout)
        }
        _ => Ok(None),
    };
    let end = found.map(|sealed| [sealed.map_or(0, |sealed| sealed.seal.length)]);
    let [end] = input.team().share(0, end)?;
    Ok((end > 0).then_some(end))
}

/// Reads the seals of a file, on this rank alone.
pub(crate) struct SealReader<'a> {
    input: &'a mut Input,
    chain: &'a mut Chain,
}

impl<'a> SealReader<'a> {
    pub(super) fn new(input: &'a mut Input, chain: &'a mut Chain) -> Self {
        Self { input, chain }
    }

    /// A seal by its number, counted from the end: 0 for the last of the file; `None` if there are fewer.
    pub fn seal(&mut self, from_end: usize) -> Result<Option<SealedPart>> {
        self.chain.seal(self.input.file(), from_end)
    }

    /// The seal at this offset, if there is one.
    pub fn seal_at(&mut self, offset: u64) -> Result<Option<SealedPart>> {
        let end = self.input.end();
        SealedPart::at(self.input.file(), end, offset)
    }

    /// The last seal that satisfies the predicate; all seals before it in the file satisfy it, too.
    pub fn seal_where(&mut self, is_wanted: impl Fn(Span) -> bool) -> Result<(usize, SealedPart)> {
        self.chain.seal_where(self.input.file(), is_wanted)
    }

    /// Some of the seals, counted from the last ones of the file; `None` if there are fewer pieces.
    pub fn group_of_seals(&mut self, number: usize) -> Result<Option<SealGroup>> {
        self.chain.piece(self.input.file(), number)
    }

    /// The names of the sections of a piece of the seals.
    pub fn names_of_group(&mut self, number: usize) -> Result<Vec<Name>> {
        self.chain.names(self.input.file(), number)
    }

    /// Fills these bytes of the indexes from this offset on.
    pub fn read_index_bytes(&mut self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.chain.read_index_bytes(self.input.file(), offset, bytes)
    }

    /// Hands out the user string and number of each section of a piece; whether their checksum is right.
    pub fn scan_names(
        &mut self,
        piece: &SealGroup,
        each: impl FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<bool> {
        self.chain.scan_names(self.input.file(), piece, each)
    }

    /// Whether the checksum of the index of a seal was compared.
    pub fn is_checked(&self, from_end: usize) -> bool {
        self.chain.is_checked(from_end)
    }

    /// Compares the checksum of the index of a seal, once.
    pub fn check_index(&mut self, from_end: usize) -> Result<()> {
        self.chain.check_index(self.input.file(), from_end)
    }

    /// Compares the checksum of the anchors of a seal, once.
    pub fn check_anchors(&mut self, from_end: usize) -> Result<()> {
        self.chain.check_anchors(self.input.file(), from_end)
    }

    /// The nearest anchor at or before element `index` of a section, if there is one: the number of its element and the offset.
    /// `data` is the offset of the data of the section.
    pub fn anchor(&mut self, data: u64, index: u64) -> Result<Option<(u64, u64)>> {
        let wanted = index / ANCHOR_ELEMENTS;
        let ends = self.input.ends();
        if wanted == 0 || ends.sections == ends.read {
            return Ok(None);
        }
        let (from_end, sealed) = self.seal_where(|span| span.begin <= data)?;
        if data >= sealed.start || sealed.anchors == sealed.names {
            return Ok(None);
        }
        self.check_anchors(from_end)?;
        let bytes = sealed.names - sealed.anchors - (TABLE_HEADER_BYTES + CRC_TAIL_BYTES) as u64;
        let count = bytes / ANCHOR_BYTES as u64;
        let first = sealed.anchors + TABLE_HEADER_BYTES as u64;
        let (mut least, mut most) = (0, count);
        while least < most {
            let middle = u64::midpoint(least, most);
            if self.anchor_at(first, middle)? < data { least = middle + 1 } else { most = middle }
        }
        let place = least + wanted - 1;
        if place >= count {
            return Err(differs(
                "anchors",
                &format!("{count} of them"),
                "those of this section",
                sealed.anchors,
            ));
        }
        let offset = self.anchor_at(first, place)?;
        if offset > sealed.start {
            return Err(differs("anchors", &offset.to_string(), "the offset of an element", sealed.anchors));
        }
        Ok(Some((wanted * ANCHOR_ELEMENTS, offset)))
    }

    fn anchor_at(&mut self, first: u64, number: u64) -> Result<u64> {
        let mut anchor = 0;
        self.input.read_own_entries(first + number * ANCHOR_BYTES as u64, 1, b'O', |_, offset| {
            anchor = offset;
            Ok(())
        })?;
        Ok(anchor)
    }
}
