//! Seals among the sections: skips them, and uses them to find sections and elements.

use super::{CurrentSection, Input, SectionReader};
use crate::file::reader::chain::differs;
use crate::file::reader::index::{SealedPart, may_be_of_seal};
use crate::file::team::{Failure, on_rank_0};
use scda_base::error::Result;
use scda_format::index::{ANCHOR_BYTES, ANCHOR_ELEMENTS, CRC_TAIL_BYTES, TABLE_HEADER_BYTES};

/// The end of the seal, if the section whose header was just read belongs to one. Collective.
#[inline(always)]
pub(super) fn end_of_seal(
    input: &mut Input,
    user: &[u8],
    section: &CurrentSection,
) -> Result<Option<u64>, Failure> {
    let is_suspect = may_be_of_seal(section.section_type, user, section.size);
    if !is_suspect || input.params.raw { Ok(None) } else { find_end_of_seal(input, user, section) }
}

#[cold]
fn find_end_of_seal(
    input: &mut Input,
    user: &[u8],
    section: &CurrentSection,
) -> Result<Option<u64>, Failure> {
    // One rank reads, because only a few bytes at several places are needed.
    let found = on_rank_0(input.team.rank(), || {
        let end = input.end();
        let found = SealedPart::around(input.file(), end, (section.section_type, user), section.layout)?;
        Ok([found.map_or(0, |sealed| sealed.seal.length)])
    });
    let [end] = input.team.share(0, found)?;
    Ok((end > 0).then_some(end))
}

impl Input {
    /// The seal at this offset, if there is one. On this rank alone.
    pub fn seal_at(&mut self, offset: u64) -> Result<Option<SealedPart>> {
        let end = self.end();
        SealedPart::at(self.file(), end, offset)
    }
}

/// The nearest anchor at or before element `index` of the section whose data begin at `data`, if there is
/// one: the index of its element, and the offset.
pub(super) fn nearest_anchor(
    sections: &mut SectionReader,
    data: u64,
    index: u64,
) -> Result<Option<(u64, u64)>> {
    let wanted = index / ANCHOR_ELEMENTS;
    let ends = sections.ends();
    if wanted == 0 || ends.sections == ends.read {
        return Ok(None);
    }
    let (from_end, sealed) = sections.seals().seal_where(|span| span.begin <= data)?;
    if data >= sealed.start || sealed.anchors == sealed.names {
        return Ok(None);
    }
    sections.seals().check_anchors(from_end)?;
    let bytes = sealed.names - sealed.anchors - (TABLE_HEADER_BYTES + CRC_TAIL_BYTES) as u64;
    let count = bytes / ANCHOR_BYTES as u64;
    let first = sealed.anchors + TABLE_HEADER_BYTES as u64;
    let (mut least, mut most) = (0, count);
    while least < most {
        let middle = u64::midpoint(least, most);
        if anchor_at(&mut sections.input, first, middle)? < data { least = middle + 1 } else { most = middle }
    }
    let place = least + wanted - 1;
    if place >= count {
        return Err(differs("anchors", &format!("{count} of them"), "those of this section", sealed.anchors));
    }
    let offset = anchor_at(&mut sections.input, first, place)?;
    if offset > sealed.start {
        return Err(differs("anchors", &offset.to_string(), "the offset of an element", sealed.anchors));
    }
    Ok(Some((wanted * ANCHOR_ELEMENTS, offset)))
}

fn anchor_at(input: &mut Input, first: u64, number: u64) -> Result<u64> {
    let mut anchor = 0;
    input.read_own_entries(first + number * ANCHOR_BYTES as u64, 1, b'O', |_, offset| {
        anchor = offset;
        Ok(())
    })?;
    Ok(anchor)
}
