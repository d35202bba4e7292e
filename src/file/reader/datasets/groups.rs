//! Groups of datasets, and their attributes.

use super::DatasetReader;
use crate::file::reader::Reader;
use crate::file::reader::local_reader::ReadsLocally;
use crate::file::reader::sections::CurrentSection;
use crate::file::team::{Failure, Function};
use scda_base::error::{Error, ErrorKind, Result};
use scda_format::dataset::{
    GROUP_CONVENTION, Group, group_of, group_user, named_group, parse, stored_path, without_root,
};
use scda_format::header::SectionType;

impl Reader {
    /// The group at this path (see [`Group::path`]) with its attributes, a JSON object: those that were
    /// written last. `None` if the file has no such group. A slash may precede the path. The position in the file
    /// does not change.
    ///
    /// # Errors
    /// `Argument` for a path that no group can have, `Format` if the section of this user string is no group; those of
    /// [`Self::find`], [`Self::seek_section`], [`Self::next_section`] and [`Self::read_block`].
    pub fn group(&mut self, path: &str) -> Result<Option<Group>> {
        self.session.operate(|state| state.datasets().find_group(path))
    }
}

impl DatasetReader<'_> {
    /// See [`Reader::group`].
    pub(in crate::file::reader) fn find_group(&mut self, path: &str) -> Result<Option<Group>, Failure> {
        let path = without_root(path);
        let user = group_user(&stored_path(named_group(path).unwrap_or(path)))?;
        self.aside(|this| {
            if this.lookup().find_pair(user.as_bytes(), -1, false)?.is_none() {
                return Ok(None);
            }
            let Some(group) = this.read_group()? else {
                let what = format!("section \"{user}\" is not a group: none is announced before it");
                return Err(Error::new(ErrorKind::Format, what).at(this.sections.position()).into());
            };
            Ok(Some(group))
        })
    }

    /// The group, with the attributes in the block that follows, if the header just read is the inline
    /// section of a group.
    pub(in crate::file::reader) fn read_group(&mut self) -> Result<Option<Group>, Failure> {
        self.team().note_call(Function::Group);
        let (Some(header), Some(current)) = (self.sections.header(), self.sections.cursor.current_data())
        else {
            return Ok(None);
        };
        if header.section_type != SectionType::Inline || *header.user != *GROUP_CONVENTION {
            return Ok(None);
        }
        let (path, block) = self.block_after(&current, "group", "whose user string ends in '/'", group_of)?;
        let text = self.read_text(&block)?;
        let attributes = parse::group(&text).map_err(|error| error.further(block.layout.data))?;
        Ok(Some(Group::new(path, attributes)))
    }

    /// Reads the header of the block with attributes that follows an inline section, and parses its user
    /// string.
    pub(super) fn block_after<T>(
        &mut self,
        inline: &CurrentSection,
        what: &str,
        expected: &str,
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<(T, CurrentSection), Failure> {
        self.sections.advance(inline.layout.end);
        let wrong = |found: &str, at| {
            let words = format!("{what}: found {found}, expected a block {expected} with its attributes");
            Error::new(ErrorKind::Format, words).at(at)
        };
        if !self.lookup().next_section(true)? {
            return Err(wrong("the end of the file", self.sections.position()).into());
        }
        let (at, header) = (self.sections.position(), self.sections.header());
        let said = header.and_then(|header| parse(&header.user));
        let block =
            self.sections.cursor.current_data().filter(|block| block.section_type == SectionType::Block);
        Ok(said.zip(block).ok_or_else(|| wrong("another section", at))?)
    }
}
