//! Attributes of a dataset that were set later.

use super::DatasetReader;
use crate::error::{Error, ErrorKind, Result};
use crate::file::reader::lookup::Later;
use crate::file::team::Failure;
use crate::format::dataset::Dataset;
use crate::format::dataset::later::{self, ATTRIBUTES_CONVENTION, later_user};
use crate::format::header::SectionType;

impl DatasetReader<'_> {
    /// Takes the attributes that were set later of a dataset whose data begin at this offset, with this user string; where they
    /// begin. That may be known. The section that is being read does not change.
    pub(super) fn take_later(
        &mut self,
        dataset: &mut Dataset,
        (data, user): (u64, &[u8]),
        known: Option<Later>,
    ) -> Result<Option<u64>, Failure> {
        let found = match known {
            Some(found) => found,
            None => self.lookup().later(data, user)?,
        };
        self.lookup().note_later(data, found);
        let Later::At(offset) = found else { return Ok(None) };
        let user = later_user(data, std::str::from_utf8(user).unwrap_or_default());
        let before = self.sections.leave_section();
        dataset.attributes = self.read_later(offset, &user)?;
        self.sections.return_to(before);
        Ok(Some(offset))
    }

    /// The attributes in the pair that begins at this offset, whose block has this user string.
    pub(in crate::file::reader) fn read_later(&mut self, offset: u64, user: &str) -> Result<String, Failure> {
        self.sections.advance(offset);
        let is_there = self.lookup().next_section(true)?;
        let header = self.sections.header().filter(|header| {
            is_there && header.section_type == SectionType::Inline && *header.user == *ATTRIBUTES_CONVENTION
        });
        let Some(inline) = header.and_then(|_| self.sections.current_data()) else {
            let words = format!(
                "section \"{user}\": found another section before it, expected that of attributes of a dataset"
            );
            return Err(Error::new(ErrorKind::Format, words).at(offset).into());
        };
        let is_it = |found: &[u8]| (found == user.as_bytes()).then_some(());
        let expected = format!("\"{user}\"");
        let ((), block) = self.block_behind(&inline, "attributes of a dataset", &expected, is_it)?;
        let text = self.read_text(&block)?;
        Ok(later::attributes(&text).map_err(|error| error.further(block.layout.data))?)
    }
}
