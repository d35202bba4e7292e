//! The result of a check: what is wrong, and what is whole.

use crate::fail::{Fail, NO, Result, TROUBLE, is_invalid};
use crate::output::quote;
use crate::rows::kind;
use scda::{Error, ErrorKind, Section, SectionType, UserString};
use scda_format::dataset::additions::addition;
use std::ops::Range;

/// Something wrong.
pub struct Finding {
    /// The section, counted from 1 as by scda ls; 0 for the header of the file.
    pub number: u64,
    /// The seal, counted from 1, if that is wrong.
    pub seal: Option<u64>,
    /// The section, if its header could be read.
    pub section: Option<Section>,
    /// Its user string, if that could be read.
    pub user: Option<UserString>,
    /// The element of an array or varray.
    pub element: Option<u64>,
    /// How many elements of an array or varray before that are whole.
    pub leading: u64,
    /// The sections are whole, but are not the dataset or group that they begin like.
    pub of_dataset: bool,
    pub error: Fault,
}

impl Finding {
    /// In the header of the file.
    pub fn of_header(error: Fault) -> Self {
        Self::of_section(0, error)
    }

    /// In a section of which nothing else is known.
    pub fn of_section(number: u64, error: Fault) -> Self {
        Self {
            number,
            seal: None,
            section: None,
            user: None,
            element: None,
            leading: 0,
            of_dataset: false,
            error,
        }
    }

    /// In a dataset or group whose sections are whole.
    pub fn of_dataset(number: u64, section: &Section, error: Fault) -> Self {
        let user = Some(section.user);
        Self { section: Some(*section), user, of_dataset: true, ..Self::of_section(number, error) }
    }

    /// In a seal.
    pub fn of_seal(number: u64, error: Fault) -> Self {
        Self { seal: Some(number), ..Self::of_header(error) }
    }

    /// Which section it is, in words.
    fn place(&self) -> String {
        let Self { number, seal, section, user, .. } = self;
        if let Some(seal) = seal {
            return format!("seal {seal}");
        }
        match (section, user) {
            _ if *number == 0 => "header of the file".to_owned(),
            (Some(section), _) => {
                let added = addition(&section.user).map_or(String::new(), |words| format!(", {words}"));
                let n = match section.section_type {
                    SectionType::Inline | SectionType::Block => String::new(),
                    SectionType::Array | SectionType::Varray => format!(", N {}", section.count),
                };
                format!("section {number} ({} {}{added}{n})", kind(section), quote(&section.user))
            }
            (None, Some(user)) => format!("section {number} ({})", quote(user)),
            (None, None) => format!("section {number}"),
        }
    }

    /// What can be read of the section, if that is something.
    pub fn rest(&self) -> Option<String> {
        let section = self.section.filter(|_| self.leading > 0)?;
        let leading = self.leading;
        Some(match section.count - leading {
            0 => format!("all {leading} elements"),
            _ => format!("the first {leading} of {} elements", section.count),
        })
    }
}

/// What is wrong.
pub enum Fault {
    /// With the file.
    Invalid(Error),
    /// As before, in words.
    Words(String),
    /// With us: an element does not fit memory, so that it is not known whether it is whole.
    NoMemory(String),
}

impl Fault {
    /// Of an error that reading gave; others say nothing about the section.
    pub fn of(fail: Fail) -> Result<Self> {
        match fail {
            Fail::Scda(error) if is_invalid(&error) => Ok(Self::Invalid(error)),
            Fail::Scda(error) if error.kind() == ErrorKind::Memory => Ok(Self::NoMemory(error.to_string())),
            Fail::Trouble(words) => Ok(Self::NoMemory(words)),
            other => Err(other),
        }
    }

    /// What the command ends with.
    pub fn code(&self) -> u8 {
        match self {
            Self::Invalid(_) | Self::Words(_) => NO,
            Self::NoMemory(_) => TROUBLE,
        }
    }
}

/// What this library cannot read of a section, although nothing is wrong with it.
pub struct Note {
    pub number: u64,
    pub words: String,
}

/// A part of a file that is whole.
pub enum Part {
    /// Sections that lie together: the number of the first one, and where they begin and end.
    Sections(u64, Range<u64>),
    /// The first elements of an array or varray, and their number.
    Leading(Section, u64),
}

impl Part {
    /// The bytes of the file, if they are whole sections.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Sections(_, range) => range.end - range.start,
            Self::Leading(..) => 0,
        }
    }
}

/// How closely a file is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rigour {
    /// What can be read is valid.
    Lenient,
    /// As [`ReadOptions::strict`](scda::ReadOptions::strict).
    Strict,
    /// Likewise; what is sealed is read, too, and not only compared with its checksums.
    Thorough,
}

impl Rigour {
    pub fn is_strict(self) -> bool {
        self != Self::Lenient
    }
}

/// What a file is like.
pub struct Scan {
    /// Sections that were seen, and how many of them are whole.
    pub sections: u64,
    pub whole: u64,
    /// The parts of the file that are whole, in order, but for its header.
    pub parts: Vec<Part>,
    /// Where the header of the file ends.
    pub first_start: u64,
    /// How many sections come before anything that is wrong, and where the last one ends.
    pub first_sections: u64,
    pub first_end: u64,
    pub size: u64,
    pub findings: Vec<Finding>,
    /// What is not wrong, but worth to be known.
    pub notes: Vec<Note>,
    /// What the last seal says, if there is one.
    pub sealed: Option<Sealing>,
    /// Whether only what is sealed counts, in a file that was created to be sealed.
    pub is_to_be_sealed: bool,
    /// Bytes after the last seal that were not looked at, because they were not committed.
    pub left_out: u64,
}

/// What the last seal of a file says.
#[derive(Clone, Copy)]
pub struct Sealing {
    /// The number of seals.
    pub seals: u64,
    /// The sections that are sealed, and the bytes of the file that they and the seals take.
    pub sections: u64,
    pub bytes: u64,
}

impl Scan {
    /// Of a file of `size` bytes, of which nothing is known yet.
    pub fn new(size: u64) -> Self {
        Self {
            sections: 0,
            whole: 0,
            parts: Vec::new(),
            first_start: 0,
            first_sections: 0,
            first_end: 0,
            size,
            findings: Vec::new(),
            notes: Vec::new(),
            sealed: None,
            is_to_be_sealed: false,
            left_out: 0,
        }
    }

    /// Whether all of the file is sealed.
    pub fn is_sealed(&self) -> bool {
        self.sealed.is_some_and(|sealed| sealed.bytes == self.size)
    }

    /// The bytes that were not committed: those after the last seal, or after the header of a file that was to get one.
    pub fn uncommitted(&self) -> Option<u64> {
        let has_none = self.is_to_be_sealed && self.sealed.is_none();
        (self.left_out > 0 || has_none).then_some(self.left_out)
    }

    /// A section is whole.
    pub fn add_whole(&mut self, number: u64, range: Range<u64>) {
        self.whole += 1;
        if self.findings.is_empty() {
            (self.first_sections, self.first_end) = (number, range.end);
        }
        match self.parts.last_mut() {
            Some(Part::Sections(_, part)) if part.end == range.start => part.end = range.end,
            _ => self.parts.push(Part::Sections(number, range)),
        }
    }

    /// A section is not whole, but its first elements may be.
    pub fn add_finding(&mut self, finding: Finding) {
        if let (Some(section), 1..) = (finding.section, finding.leading) {
            self.parts.push(Part::Leading(section, finding.leading));
        }
        self.findings.push(finding);
    }
}

/// Where in the file something is wrong, and what.
pub fn words(finding: &Finding) -> String {
    let mut place = finding.place();
    if let Some(element) = finding.element {
        place += &format!(", element {element}");
    }
    let error = match &finding.error {
        Fault::Invalid(error) => error,
        Fault::Words(words) | Fault::NoMemory(words) => return format!("{place}: {words}"),
    };
    // The message begins with the name of the file, which is said already.
    let message = error.to_string();
    let at = error.offset().and_then(|offset| message.find(&format!("byte {offset}: ")));
    format!("{place}: {}", at.map_or(message.as_str(), |at| &message[at..]))
}

/// What follows what is wrong: up to where the file is whole.
pub fn whole(scan: &Scan) -> String {
    let more = match scan.whole - scan.first_sections {
        0 => String::new(),
        more => format!("; {more} after that"),
    };
    match (scan.first_sections, scan.first_end) {
        (_, 0) => "nothing is whole".to_owned(),
        (0, end) if more.is_empty() => format!("only the header is whole, up to byte {end}"),
        (0, end) => format!("whole up to the end of the header, byte {end}{more}"),
        (count, end) => format!("whole up to section {count}, byte {end}{more}"),
    }
}

/// How many sections, in words.
pub fn sections(count: u64) -> String {
    if count == 1 { "1 section".to_owned() } else { format!("{count} sections") }
}
