//! Groups of datasets, and their attributes.

use super::DatasetReader;
use crate::error::{Error, ErrorKind, Result};
use crate::file::reader::Reader;
use crate::file::reader::alone::ReadsAlone;
use crate::file::team::{Failure, Function};
use crate::format::dataset::{GROUP_CONVENTION, Group, group_of, group_user, parse, stored_path};
use crate::format::header::SectionType;

impl Reader {
    /// The attributes of a group, a JSON object: those that were written last. The path is that of [`Group::path`].
    /// `None` if it has none.
    ///
    /// # Errors
    /// `Argument` for a path that no group can have, `Format` if the section of this user string is no group; those of
    /// [`Self::find`], [`Self::seek_section`], [`Self::next_section`] and [`Self::group`].
    pub fn find_group(&mut self, path: &str) -> Result<Option<String>> {
        let user = self.session.operate(|_| Ok(group_user(&stored_path(path))?))?;
        let has_before = self.session.operate(|state| state.lookup().find_pair(user.as_bytes(), -1))?;
        let Some(has_before) = has_before else { return Ok(None) };
        let found = if has_before { self.group()? } else { None };
        if let Some(group) = found {
            return Ok(Some(group.attributes));
        }
        self.session.operate(|state| {
            let what =
                format!("section \"{user}\": found another section before it, expected that of a group");
            Err(Error::new(ErrorKind::Format, what).at(state.sections().position()).into())
        })
    }

    /// The group that begins with the section whose header was just read: if this is the inline section of a group, reads it and the
    /// block with the attributes. The header of the next section follows. Else `None`, and nothing was read.
    ///
    /// # Errors
    /// `Format` for what is no group, and those of [`Self::read_block`] and [`Self::next_section`].
    pub fn group(&mut self) -> Result<Option<Group>> {
        self.session.operate(|state| state.datasets().going_back(DatasetReader::read_group))
    }
}

impl DatasetReader<'_> {
    fn read_group(&mut self) -> Result<Option<Group>, Failure> {
        self.sections.team().note_call(Function::Group);
        let (Some(header), Some(current)) = (self.sections.header(), self.sections.current_data()) else {
            return Ok(None);
        };
        if header.section_type != SectionType::Inline || *header.user != *GROUP_CONVENTION {
            return Ok(None);
        }
        self.sections.advance(current.layout.end);
        let wrong = |what: &str, at| Error::new(ErrorKind::Format, format!("group: {what}")).at(at);
        if !self.lookup().next_section(true)? {
            return Err(wrong(
                "found the end of the file, expected its attributes",
                self.sections.position(),
            )
            .into());
        }
        let (at, header) = (self.sections.position(), self.sections.header());
        let path = header.and_then(|header| group_of(&header.user));
        let (Some(path), Some(block)) = (path, self.sections.current_data()) else {
            return Err(
                wrong("found another section, expected a block whose user string ends in '/'", at).into()
            );
        };
        if block.section_type != SectionType::Block {
            return Err(wrong("found another section, expected a block with its attributes", at).into());
        }
        let text = self.read_text(&block)?;
        let attributes = parse::group(&text).map_err(|error| error.further(block.layout.data))?;
        Ok(Some(Group { path, attributes }))
    }
}
