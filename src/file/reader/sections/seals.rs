//! Seals among the sections: skips them, and uses them to find sections and elements.

use super::{CurrentSection, Input};
use crate::file::reader::chain::{Chain, SealGroup, Span, differs};
use crate::file::reader::index::{SealedPart, may_be_of_seal};
use crate::file::team::Failure;
use scda_base::error::Result;
use scda_format::index::{ANCHOR_BYTES, ANCHOR_ELEMENTS, CRC_TAIL_BYTES, TABLE_HEADER_BYTES};
use scda_format::names::Name;

/// The end of the seal, if the section whose header was just read belongs to one. Collective.
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
    // One rank reads, because only a few bytes at several places are needed.
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

    /// The seal of this number, counted from the end: 0 is the last one. `None` if there are fewer.
    pub fn seal(&mut self, from_end: usize) -> Result<Option<SealedPart>> {
        self.chain.seal(self.input.file(), from_end)
    }

    /// The seal at this offset, if there is one.
    pub fn seal_at(&mut self, offset: u64) -> Result<Option<SealedPart>> {
        let end = self.input.end();
        SealedPart::at(self.input.file(), end, offset)
    }

    /// The last seal whose span satisfies the predicate, which must hold for all seals before it, too.
    pub fn seal_where(&mut self, is_wanted: impl Fn(Span) -> bool) -> Result<(usize, SealedPart)> {
        self.chain.seal_where(self.input.file(), is_wanted)
    }

    /// The group of seals of this number, counted from the end of the file; `None` if there are fewer.
    pub fn group_of_seals(&mut self, number: usize) -> Result<Option<SealGroup>> {
        self.chain.group(self.input.file(), number)
    }

    /// The names of the sections that a group of seals covers.
    pub fn names_of_group(&mut self, number: usize) -> Result<Vec<Name>> {
        self.chain.names(self.input.file(), number)
    }

    /// Reads bytes of the indexes, from this offset on.
    pub fn read_index_bytes(&mut self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.chain.read_index_bytes(self.input.file(), offset, bytes)
    }

    /// Passes the user string and number of each section of a group to `each`. Returns whether the checksum
    /// is right.
    pub fn scan_names(
        &mut self,
        group: &SealGroup,
        each: impl FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<bool> {
        self.chain.scan_names(self.input.file(), group, each)
    }

    /// Whether the checksum of a seal's index has been verified.
    pub fn is_checked(&self, from_end: usize) -> bool {
        self.chain.is_checked(from_end)
    }

    /// Verifies the checksum of a seal's index, once.
    pub fn check_index(&mut self, from_end: usize) -> Result<()> {
        self.chain.check_index(self.input.file(), from_end)
    }

    /// Verifies the checksum of a seal's anchors, once.
    pub fn check_anchors(&mut self, from_end: usize) -> Result<()> {
        self.chain.check_anchors(self.input.file(), from_end)
    }

    /// The nearest anchor at or before element `index` of the section whose data begin at `data`, if there is
    /// one: the index of its element, and the offset.
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
