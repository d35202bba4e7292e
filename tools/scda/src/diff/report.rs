//! Describes differences.

use crate::datasets::{Item, shape_word};
use crate::output::quote;
use crate::rows::kind;
use scda::{Content, Dataset, Section, SectionType};

/// The place of two items that are compared.
pub struct Location {
    /// The numbers of their sections in both files.
    pub numbers: (u64, u64),
    /// The number of earlier items with this name.
    pub record: u64,
}

impl Location {
    /// The section, or the sections in both files, as text.
    pub fn sections(&self) -> String {
        match self.numbers {
            (a, b) if a == b => format!("section {a}"),
            (a, b) => format!("section {a} | {b}"),
        }
    }

    /// Describes both items by kind and name.
    pub fn words(&self, kind: &str, name: &[u8]) -> String {
        let record = if self.record > 0 { format!(", record {}", self.record) } else { String::new() };
        format!("{} ({kind} {}{record})", self.sections(), quote(name))
    }

    /// The location some sections further on.
    pub fn plus(&self, sections: u64) -> Self {
        Self { numbers: (self.numbers.0 + sections, self.numbers.1 + sections), record: self.record }
    }
}

/// Describes a section.
fn section_in_words(section: &Section) -> String {
    let size = match section.section_type {
        SectionType::Inline => String::new(),
        SectionType::Block => format!(" of {} bytes", section.size),
        SectionType::Array => format!(" of {} elements of {} bytes", section.count, section.size),
        SectionType::Varray => format!(" of {} elements", section.count),
    };
    format!("{}{size}, {}", kind(section), quote(&section.user))
}

/// Describes a section, or the item that several sections form.
fn item_in_words(item: &Item) -> String {
    match &item.content {
        Content::Streams(streams) => format!("{} streams, {}", streams.tasks(), quote(streams.name())),
        Content::Group(_) => format!("attributes of the group {}", quote(item.user())),
        Content::Dataset(dataset) => {
            let Dataset { name, data_type, shape, .. } = dataset.description();
            format!("dataset {data_type} {}, {}", shape_word(shape), quote(name.as_bytes()))
        }
        _ => section_in_words(&item.section),
    }
}

/// The difference of sections with one name whose headers differ.
pub fn of_headers(at: &Location, a: &Section, b: &Section) -> String {
    format!("{}: {} | {}", at.sections(), section_in_words(a), section_in_words(b))
}

/// The difference of items with one name that cannot be compared.
pub fn of_items(at: &Location, a: &Item, b: &Item) -> String {
    format!("{}: {} | {}", at.sections(), item_in_words(a), item_in_words(b))
}

/// Describes an item that only one of the files has.
pub fn only(item: &Item, record: u64, file: &str) -> String {
    let number = super::main_number(item);
    let nth = if record > 0 { format!(", record {record}") } else { String::new() };
    format!("only in {file}: section {number}: {}{nth}", item_in_words(item))
}
