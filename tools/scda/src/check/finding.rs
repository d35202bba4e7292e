//! The result of a check: errors, and intact parts.

use crate::fail::{Fail, NO, Result, TROUBLE, is_invalid};
use crate::output::quote;
use crate::rows::kind;
use scda::{Error, ErrorKind, Reader, Section, SectionType, UserString};
use scda_format::dataset::additions::addition;
use scda_format::dataset::{DATASET_CONVENTION, GROUP_CONVENTION};
use std::ops::Range;

/// An error.
pub struct Finding {
    /// The section, counted from 1 as in scda ls; 0 for the header of the file.
    pub number: u64,
    /// The seal, counted from 1, if the error is in a seal.
    pub seal: Option<u64>,
    /// The section, if its header could be read.
    pub section: Option<Section>,
    /// Its user string, if that could be read.
    pub user: Option<UserString>,
    /// The end of the section, if an index tells it.
    pub end: Option<u64>,
    /// If the section is the first of a dataset or group: the name of that.
    pub name: Option<UserString>,
    /// The element of an array or varray.
    pub element: Option<u64>,
    /// The number of intact elements of an array or varray before that one.
    pub leading: u64,
    /// True if the sections are intact, but are not the dataset or group that they seem to be.
    pub of_dataset: bool,
    pub error: Fault,
}

impl Finding {
    /// An error in the header of the file.
    pub fn of_header(error: Fault) -> Self {
        Self::of_section(0, error)
    }

    /// An error in a section of which nothing else is known.
    pub fn of_section(number: u64, error: Fault) -> Self {
        Self {
            number,
            seal: None,
            section: None,
            user: None,
            end: None,
            name: None,
            element: None,
            leading: 0,
            of_dataset: false,
            error,
        }
    }

    /// An error in a dataset or group whose sections are intact.
    pub fn of_dataset(number: u64, section: &Section, error: Fault) -> Self {
        let user = Some(section.user);
        Self { section: Some(*section), user, of_dataset: true, ..Self::of_section(number, error) }
    }

    /// An error in a seal.
    pub fn of_seal(number: u64, error: Fault) -> Self {
        Self { seal: Some(number), ..Self::of_header(error) }
    }

    /// A description of the section.
    fn place(&self) -> String {
        let Self { number, seal, section, user, name, .. } = self;
        if let Some(seal) = seal {
            return format!("seal {seal}");
        }
        let name = name.map_or(String::new(), |name| format!(" of {}", quote(&name)));
        match (section, user) {
            _ if *number == 0 => "header of the file".to_owned(),
            (Some(section), _) => {
                let added = addition(&section.user).map_or(String::new(), |words| format!(", {words}"));
                let n = match section.section_type {
                    SectionType::Inline | SectionType::Block => String::new(),
                    SectionType::Array | SectionType::Varray => format!(", N {}", section.count),
                };
                format!("section {number} ({} {}{name}{added}{n})", kind(section), quote(&section.user))
            }
            (None, Some(user)) => format!("section {number} ({}{name})", quote(user)),
            (None, None) => format!("section {number}"),
        }
    }

    /// True if the error is in the metadata of a dataset, or in the section that announces the attributes of a group.
    pub fn is_of_metadata(&self) -> bool {
        self.user.is_some_and(|user| *user == *DATASET_CONVENTION || *user == *GROUP_CONVENTION)
    }

    /// Goes to the end of the section, where for metadata the section begins that they describe. Returns its offset.
    pub fn go_to_end(&self, reader: &mut Reader) -> Option<u64> {
        if let Some(end) = self.end {
            reader.seek(end).ok()?;
            return Some(end);
        }
        reader.seek(self.section?.offset).ok()?;
        reader.next_section(true).ok()?;
        reader.skip().ok()?;
        reader.position()
    }

    /// Finds the name of the dataset or group to which the section belongs, if it is the first one of it.
    pub fn find_name(&mut self, reader: &mut Reader) {
        if self.is_of_metadata() && self.go_to_end(reader).is_some() {
            let next = reader.next_section(true).ok().flatten();
            self.name = next.filter(|next| next.section_type != SectionType::Inline).map(|next| next.user);
        }
    }

    /// A description of what can be read of the section, if anything can.
    pub fn rest(&self) -> Option<String> {
        let section = self.section.filter(|_| self.leading > 0)?;
        let leading = self.leading;
        Some(match section.count - leading {
            0 => format!("all {leading} elements"),
            _ => format!("the first {leading} of {} elements", section.count),
        })
    }
}

/// The cause of an error.
pub enum Fault {
    /// An error of the file.
    Invalid(Error),
    /// An error of the file, described in words.
    Words(String),
    /// A lack of memory: an element does not fit into it, so it is not known whether the element is intact.
    NoMemory(String),
}

impl Fault {
    /// The cause, given the error of a reader; errors that say nothing about the section are returned.
    pub fn of(fail: Fail) -> Result<Self> {
        match fail {
            Fail::Scda(error) if is_invalid(&error) => Ok(Self::Invalid(error)),
            Fail::Scda(error) if error.kind() == ErrorKind::Memory => Ok(Self::NoMemory(error.to_string())),
            Fail::Trouble(words) => Ok(Self::NoMemory(words)),
            other => Err(other),
        }
    }

    /// The offset of the error, if it has one.
    fn offset(&self) -> Option<u64> {
        match self {
            Self::Invalid(error) => error.offset(),
            Self::Words(_) | Self::NoMemory(_) => None,
        }
    }

    /// The exit code of the command.
    pub fn code(&self) -> u8 {
        match self {
            Self::Invalid(_) | Self::Words(_) => NO,
            Self::NoMemory(_) => TROUBLE,
        }
    }
}

/// Something that this library cannot read in a section, although nothing is wrong with it.
pub struct Note {
    pub number: u64,
    pub words: String,
}

/// An intact part of a file.
pub enum Part {
    /// Consecutive sections: the number of the first one, and their range of bytes.
    Sections(u64, Range<u64>),
    /// The first elements of an array or varray, and their number.
    Leading(Section, u64),
}

impl Part {
    /// The size in the file in bytes, for whole sections.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Sections(_, range) => range.end - range.start,
            Self::Leading(..) => 0,
        }
    }
}

/// How closely a file is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rigour {
    /// What can be read is valid.
    Lenient,
    /// Like [`ReadOptions::strict`](scda::ReadOptions::strict).
    Strict,
    /// Likewise; sealed sections are also read, and not only compared with their checksums.
    Thorough,
}

impl Rigour {
    pub fn is_strict(self) -> bool {
        self != Self::Lenient
    }
}

/// The state of a file.
#[derive(Default)]
pub struct Scan {
    /// The number of sections seen, and the number of intact ones.
    pub sections: u64,
    pub whole: u64,
    /// The intact parts of the file, in order, without its header.
    pub parts: Vec<Part>,
    /// The end of the header of the file.
    pub first_start: u64,
    /// The number of sections before any error, and the end of the last one.
    pub first_sections: u64,
    pub first_end: u64,
    pub size: u64,
    pub findings: Vec<Finding>,
    /// Remarks that are no errors.
    pub notes: Vec<Note>,
    /// The contents of the last seal, if there is one.
    pub sealed: Option<Sealing>,
    /// True if only sealed sections are valid, because the file was created to be sealed.
    pub is_to_be_sealed: bool,
    /// The number of bytes after the last seal that were not checked, because they were not committed.
    pub left_out: u64,
}

/// The contents of the last seal of a file.
#[derive(Clone, Copy)]
pub struct Sealing {
    /// The number of seals.
    pub seals: u64,
    /// The sealed sections, and the bytes of the file that they and the seals take.
    pub sections: u64,
    pub bytes: u64,
}

impl Scan {
    /// The state of a file of `size` bytes that has not been checked yet.
    pub fn new(size: u64) -> Self {
        Self { size, ..Self::default() }
    }

    /// True if all of the file is sealed.
    pub fn is_sealed(&self) -> bool {
        self.sealed.is_some_and(|sealed| sealed.bytes == self.size)
    }

    /// The uncommitted bytes: those after the last seal, or after the header of a file that was to be sealed.
    pub fn uncommitted(&self) -> Option<u64> {
        let has_none = self.is_to_be_sealed && self.sealed.is_none();
        (self.left_out > 0 || has_none).then_some(self.left_out)
    }

    /// Adds an intact section.
    pub fn add_whole(&mut self, number: u64, range: Range<u64>) {
        self.whole += 1;
        // A seal may be damaged that follows these sections.
        if self.findings.iter().all(|finding| finding.error.offset().is_some_and(|at| range.end <= at)) {
            (self.first_sections, self.first_end) = (number, range.end);
        }
        match self.parts.last_mut() {
            Some(Part::Sections(_, part)) if part.end == range.start => part.end = range.end,
            _ => self.parts.push(Part::Sections(number, range)),
        }
    }

    /// True if a seal is damaged.
    pub fn has_damaged_seal(&self) -> bool {
        self.findings.iter().any(|finding| finding.seal.is_some())
    }

    /// Adds a damaged section, whose first elements may be intact.
    pub fn add_finding(&mut self, finding: Finding) {
        if let (Some(section), 1..) = (finding.section, finding.leading) {
            self.parts.push(Part::Leading(section, finding.leading));
        }
        self.findings.push(finding);
    }
}

/// Describes an error and its place in the file.
pub fn words(finding: &Finding) -> String {
    let mut place = finding.place();
    if let Some(element) = finding.element {
        place += &format!(", element {element}");
    }
    let error = match &finding.error {
        Fault::Invalid(error) => error,
        Fault::Words(words) | Fault::NoMemory(words) => return format!("{place}: {words}"),
    };
    format!("{place}: {}", without_file(error))
}

/// The message of an error without the name of the file at its beginning, which has already been printed.
pub fn without_file(error: &Error) -> String {
    let message = error.to_string();
    let at = error.offset().and_then(|offset| message.find(&format!("byte {offset}: ")));
    message[at.unwrap_or(0)..].to_owned()
}

/// Describes the intact part, to follow an error.
pub fn whole(scan: &Scan) -> String {
    let more = match scan.whole - scan.first_sections {
        0 => String::new(),
        more => format!(", and {} after the damage", sections(more)),
    };
    let advice = if scan.whole > 0 { "; scda salvage saves what is intact" } else { "" };
    if scan.whole == scan.sections && scan.whole > 0 {
        return format!("all {} are intact; scda salvage saves them", sections(scan.whole));
    }
    let parts = match (scan.first_sections, scan.first_end) {
        (_, 0) => "nothing is intact".to_owned(),
        (0, end) if more.is_empty() => format!("only the header is intact, up to byte {end}"),
        (0, end) => format!("intact up to the end of the header, byte {end}{more}"),
        (count, end) => format!("intact up to section {count}, byte {end}{more}"),
    };
    format!("{parts}{advice}")
}

/// A number of sections in words.
pub fn sections(count: u64) -> String {
    if count == 1 { "1 section".to_owned() } else { format!("{count} sections") }
}
