//! The position in the sequence of sections, the same on all ranks, and what must be read next.

use super::{CurrentSection, KnownVarraySizes};
use crate::file::reader::Section;
use scda_base::error::{Error, Result};
use scda_format::header::{SectionType, UserString};

/// The offset of an element in the current varray or compressed array, known from the previous range. With
/// it, reading ranges in order reads each size entry only once.
#[derive(Clone, Copy)]
pub(super) struct OffsetHint {
    /// Offset of the size entries.
    pub(super) entries: u64,
    pub(super) index: u64,
    pub(super) offset: u64,
    /// Whether the offset comes from an anchor, rather than from the sum of all sizes before it.
    pub(super) by_anchor: bool,
}

impl OffsetHint {
    /// The bytes of all elements, if the ranges that were read in order have reached the last one.
    pub(super) fn total(&self, current: &CurrentSection) -> Option<u64> {
        let is_last =
            !self.by_anchor && self.entries == current.layout.entries && self.index == current.count;
        is_last.then(|| self.offset - current.layout.data)
    }
}

/// The position of the ranks in the file.
#[derive(Clone, Copy)]
pub(crate) struct Cursor {
    /// Offset of the next section, or of the current one while its data are expected.
    position: u64,
    pub(super) expect: ExpectedCall,
    /// The header that was read last.
    pub(super) header: Option<Section>,
    /// The offset of an element that a range has reached.
    pub(super) known_offset: Option<OffsetHint>,
    /// Whether the next header may be read even if the data of the current section were not, because ranges
    /// of them were.
    pub may_go_on: bool,
}

/// The calls that may come next.
#[derive(Clone, Copy)]
pub(super) enum ExpectedCall {
    Header,
    Data(CurrentSection),
    VarraySizes(CurrentSection),
    VarrayData(CurrentSection, KnownVarraySizes),
    /// Ranges of a section whose header is complete, but whose data are truncated by the end of the file.
    CutData(CurrentSection),
}

impl Cursor {
    /// A position before the first section, which begins at `first`.
    pub(super) fn new(first: u64) -> Self {
        Self {
            position: first,
            expect: ExpectedCall::Header,
            header: None,
            known_offset: None,
            may_go_on: false,
        }
    }

    /// Offset of the next section, or of the current one while its data are expected.
    #[inline(always)]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Whether a header is expected next.
    #[inline(always)]
    pub fn expects_header(&self) -> bool {
        matches!(self.expect, ExpectedCall::Header)
    }

    /// The section whose data or sizes are expected next.
    pub fn current(&self) -> Option<CurrentSection> {
        match self.expect {
            ExpectedCall::Header => None,
            ExpectedCall::Data(current)
            | ExpectedCall::VarraySizes(current)
            | ExpectedCall::VarrayData(current, _)
            | ExpectedCall::CutData(current) => Some(current),
        }
    }

    /// Like [`Self::current`], but `None` if the file does not have all of it.
    pub fn whole_current(&self) -> Option<CurrentSection> {
        self.current().filter(|_| !matches!(self.expect, ExpectedCall::CutData(_)))
    }

    /// The section whose data are expected next: not a varray, and complete in the file.
    pub fn current_data(&self) -> Option<CurrentSection> {
        match self.expect {
            ExpectedCall::Data(current) => Some(current),
            _ => None,
        }
    }

    /// The current varray, if no sizes were read yet.
    pub fn current_varray(&self) -> Option<CurrentSection> {
        match self.expect {
            ExpectedCall::VarraySizes(current) => Some(current),
            _ => None,
        }
    }

    /// The end of the current section, if its header alone determines it.
    pub(super) fn end_by_header(&self) -> Option<u64> {
        let current = self.current_data()?;
        (current.section_type != SectionType::Array || !current.decoded).then_some(current.layout.end)
    }

    /// Moves to `end`, where a header is expected next.
    #[inline(always)]
    pub fn advance(&mut self, end: u64) {
        self.position = end;
        self.expect = ExpectedCall::Header;
    }

    /// Expects the data of this section next. The readable part of the file ends at `end`.
    #[inline(always)]
    pub(super) fn begin_section(
        &mut self,
        user: impl FnOnce() -> UserString,
        current: CurrentSection,
        end: u64,
    ) {
        let CurrentSection { section_type, count, size, decoded, layout, .. } = current;
        self.may_go_on = false;
        self.expect = match section_type {
            _ if layout.end > end => ExpectedCall::CutData(current),
            SectionType::Varray => ExpectedCall::VarraySizes(current),
            _ => ExpectedCall::Data(current),
        };
        let (offset, data_offset) = (self.position, layout.data);
        // Copying the user string last saves a copy: it goes directly to its place.
        self.header = Some(Section { section_type, user: user(), count, size, decoded, offset, data_offset });
    }

    /// The current section, if it has this type and its data are expected next. The readable part of the file
    /// ends at `end`.
    #[inline(always)]
    pub(super) fn expect_data(&self, section_type: SectionType, end: u64) -> Result<CurrentSection> {
        match self.expect {
            ExpectedCall::Data(current) if current.section_type == section_type => Ok(current),
            _ => Err(self.no_data(section_type, end)),
        }
    }

    /// The error if data of this type are not expected.
    #[cold]
    fn no_data(&self, section_type: SectionType, end: u64) -> Error {
        match self.expect {
            ExpectedCall::CutData(current) if current.section_type == section_type => current.cut(end),
            _ => self.out_of_order(&data_of(section_type)),
        }
    }

    #[cold]
    pub fn out_of_order(&self, wanted: &str) -> Error {
        let expected = match &self.expect {
            ExpectedCall::Header => "the header of a section".to_owned(),
            ExpectedCall::Data(current) => data_of(current.section_type),
            ExpectedCall::VarraySizes(_) => "the sizes of a section 'V'".to_owned(),
            ExpectedCall::VarrayData(..) => "the data of a section 'V'".to_owned(),
            ExpectedCall::CutData(_) => "ranges of a section that the end of the file cuts".to_owned(),
        };
        Error::usage(format!("this call reads {wanted}; the next call must read {expected}"))
            .at(self.position)
    }
}

#[cold]
fn data_of(section_type: SectionType) -> String {
    format!("the data of a section '{}'", char::from(section_type.letter()))
}
