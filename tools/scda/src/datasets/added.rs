//! Additions to datasets: attributes and rows.

use scda::{SectionType, UserString};
use scda_format::dataset::additions::{
    ATTRIBUTES_CONVENTION, ROWS_CONVENTION, later_of, later_user, rows_of, rows_user,
};
use std::fmt;

/// What is added to a dataset later.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Addition {
    Attributes,
    Rows,
}

impl Addition {
    /// The user string of a section with this addition, for the dataset whose data are the section at this offset, with this user
    /// string.
    pub fn user(self, data: u64, name: &str) -> String {
        match self {
            Self::Attributes => later_user(data, name),
            Self::Rows => rows_user(data, name),
        }
    }
}

/// The form in messages.
impl fmt::Display for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Attributes => "attributes",
            Self::Rows => "rows",
        })
    }
}

/// The addition that a section announces, if it precedes attributes or rows that were added to a dataset later.
pub fn announced(section_type: SectionType, user: &[u8]) -> Option<Addition> {
    match section_type {
        SectionType::Inline if user == ATTRIBUTES_CONVENTION => Some(Addition::Attributes),
        SectionType::Block if user == ROWS_CONVENTION => Some(Addition::Rows),
        _ => None,
    }
}

/// The addition that a section contains, according to its user string.
pub struct AdditionName {
    pub addition: Addition,
    /// The offset of the dataset's data.
    pub data: u64,
}

/// The addition that a section contains, if any.
pub fn added_to(section_type: SectionType, user: &[u8]) -> Option<AdditionName> {
    let (addition, named) = match section_type {
        SectionType::Inline => return None,
        SectionType::Block => (Addition::Attributes, later_of(user)),
        SectionType::Array | SectionType::Varray => (Addition::Rows, rows_of(user)),
    };
    named.map(|(data, _)| AdditionName { addition, data })
}

/// The data of a dataset in a copy.
#[derive(Clone, Copy)]
pub struct MovedData {
    /// Their offset.
    pub position: u64,
    pub user: UserString,
}

impl MovedData {
    /// The user string for an addition to it. Only names that are text can have additions.
    pub fn user_of(&self, addition: Addition) -> scda::Result<Option<UserString>> {
        let name = std::str::from_utf8(&self.user).ok();
        name.map(|name| UserString::new(addition.user(self.position, name).as_bytes())).transpose()
    }
}
