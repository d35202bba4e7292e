//! Differences as text and as JSON.

use crate::datasets::{Item, Pair, shape_word};
use crate::facts::{dataset_facts, facts, group_facts, put_bytes};
use crate::output::quote;
use crate::rows::kind;
use scda::{Dataset, Section, SectionType};
use serde_json::{Map, Value, json};

/// One difference.
pub struct Difference {
    pub text: String,
    pub json: Value,
}

/// Where the two things are that are compared.
pub struct Location {
    /// The numbers of their sections in both files.
    pub numbers: (u64, u64),
    /// How many of this name are before them.
    pub record: u64,
}

impl Location {
    /// Their section, or those in both files.
    pub fn sections(&self) -> String {
        match self.numbers {
            (a, b) if a == b => format!("section {a}"),
            (a, b) => format!("section {a} | {b}"),
        }
    }

    /// Both things, by what they are and their name.
    pub fn words(&self, kind: &str, name: &[u8]) -> String {
        let record = if self.record > 0 { format!(", record {}", self.record) } else { String::new() };
        format!("{} ({kind} {}{record})", self.sections(), quote(name))
    }

    /// These, some sections further on.
    pub fn plus(&self, sections: u64) -> Self {
        Self { numbers: (self.numbers.0 + sections, self.numbers.1 + sections), record: self.record }
    }

    /// A difference of theirs; `more` are the members that say what it is.
    pub fn difference(&self, text: String, name: &[u8], what: &str, more: Value) -> Difference {
        let mut object = Map::new();
        object.insert("section".into(), self.numbers.0.into());
        object.insert("other_section".into(), self.numbers.1.into());
        put_bytes(&mut object, "user", name);
        object.insert("record".into(), self.record.into());
        object.insert("what".into(), what.into());
        if let Value::Object(more) = more {
            object.extend(more);
        }
        Difference { text, json: Value::Object(object) }
    }
}

/// A section in words.
pub fn section_in_words(section: &Section) -> String {
    let size = match section.section_type {
        SectionType::Inline => String::new(),
        SectionType::Block => format!(" of {} bytes", section.size),
        SectionType::Array => format!(" of {} elements of {} bytes", section.count, section.size),
        SectionType::Varray => format!(" of {} elements", section.count),
    };
    format!("{}{size}, {}", kind(section), quote(&section.user))
}

/// A section, or what several of them are, in words.
fn item_in_words(item: &Item) -> String {
    if let Some(found) = &item.streams {
        return format!("{} streams, {}", found.streams.tasks(), quote(found.streams.name()));
    }
    match &item.pair {
        None => section_in_words(&item.section),
        Some(Pair::Group(found)) => format!("attributes of the group {}", quote(&found.block.user)),
        Some(Pair::Dataset(found)) => {
            let Dataset { name, data_type, shape, .. } = &found.dataset;
            format!("dataset {data_type} {}, {}", shape_word(shape), quote(name.as_bytes()))
        }
    }
}

fn item_facts(item: &Item) -> Value {
    if let Some(found) = &item.streams {
        let streams = &found.streams;
        let mut object = Map::new();
        object.insert("number".into(), (item.number + 1).into());
        object.insert("type".into(), "S".into());
        put_bytes(&mut object, "user", streams.name());
        object.insert("tasks".into(), streams.tasks().into());
        return Value::Object(object);
    }
    Value::Object(match &item.pair {
        None => facts(item.number, &item.section),
        Some(Pair::Group(found)) => group_facts(item.last(), found),
        Some(Pair::Dataset(found)) => dataset_facts(item.last(), &found.dataset),
    })
}

/// Sections of one name with other headers.
pub fn of_headers(at: &Location, a: &Section, b: &Section) -> Difference {
    let text = format!("{}: {} | {}", at.sections(), section_in_words(a), section_in_words(b));
    let (x, y) = (facts(at.numbers.0, a), facts(at.numbers.1, b));
    at.difference(text, &a.user, "header", json!({ "a": x, "b": y }))
}

/// Things of one name that cannot be compared.
pub fn of_items(at: &Location, a: &Item, b: &Item) -> Difference {
    let text = format!("{}: {} | {}", at.sections(), item_in_words(a), item_in_words(b));
    at.difference(text, a.user(), "header", json!({ "a": item_facts(a), "b": item_facts(b) }))
}

/// What only one of the files has, the first one or the second one.
pub fn only(item: &Item, record: u64, file: &str, is_first: bool) -> Difference {
    let number = super::main_number(item);
    let nth = if record > 0 { format!(", record {record}") } else { String::new() };
    let text = format!("only in {file}: section {number}: {}{nth}", item_in_words(item));
    let (facts, here) = (item_facts(item), Value::from(number));
    let json = match is_first {
        true => {
            json!({ "section": here, "other_section": null, "record": record, "what": "only", "a": facts, "b": null })
        }
        false => {
            json!({ "section": null, "other_section": here, "record": record, "what": "only", "a": null, "b": facts })
        }
    };
    Difference { text, json }
}
