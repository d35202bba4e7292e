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
    /// The user string of the section that adds it to the dataset whose data are the section at this offset, with this user string.
    pub fn user(self, data: u64, name: &str) -> String {
        match self {
            Self::Attributes => later_user(data, name),
            Self::Rows => rows_user(data, name),
        }
    }
}

/// As in messages.
impl fmt::Display for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Attributes => "attributes",
            Self::Rows => "rows",
        })
    }
}

/// What a section announces, if it stands before attributes or rows that were added to a dataset later.
pub fn announced(section_type: SectionType, user: &[u8]) -> Option<Addition> {
    match section_type {
        SectionType::Inline if user == ATTRIBUTES_CONVENTION => Some(Addition::Attributes),
        SectionType::Block if user == ROWS_CONVENTION => Some(Addition::Rows),
        _ => None,
    }
}

/// What a section adds to a dataset, as its user string says.
pub struct AdditionName {
    pub addition: Addition,
    /// Where the data of the dataset begin.
    pub data: u64,
}

/// What a section adds to a dataset, if it adds something.
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
    /// Where they begin.
    pub position: u64,
    pub user: UserString,
}

impl MovedData {
    /// The user string of a section that adds something to it. Only names that are text can have such sections.
    pub fn user_of(&self, addition: Addition) -> scda::Result<Option<UserString>> {
        let name = std::str::from_utf8(&self.user).ok();
        name.map(|name| UserString::new(addition.user(self.position, name).as_bytes())).transpose()
    }
}
