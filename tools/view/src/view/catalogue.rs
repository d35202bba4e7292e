//! What is in a file: a line for each section, and one for all datasets of a name.

use crate::datasets::{Item, Pair, Walk, remarks, shape_word, units};
use crate::fail::Result;
use crate::files::Input;
use crate::output::{escape, visible};
use crate::plot::mesh;
use scda::Reader;
use scda_meshes::steps::times_of;
use serde_json::{Value, json};
use std::collections::HashMap;

/// The most lines: a page with more is of no use.
const MOST: usize = 20_000;

/// A line.
pub struct Entry {
    pub kind: &'static str,
    /// The name of a dataset, a group or streams; else the user string, escaped.
    pub name: String,
    /// The number of the first section, from 1 on.
    pub number: u64,
    pub records: u64,
    /// What else there is to say.
    words: String,
    units: Option<String>,
    /// Of a group: whether it is a mesh.
    is_mesh: bool,
}

/// Its kind, its name, and what else there is to say in words.
fn described(item: &Item) -> (&'static str, String, String) {
    match (&item.pair, &item.streams) {
        (Some(Pair::Dataset(dataset)), _) => {
            let dataset = &dataset.dataset;
            let words = format!("{} {}", shape_word(&dataset.shape), remarks(dataset));
            ("dataset", dataset.name.clone(), words)
        }
        (Some(Pair::Group(group)), _) => ("group", group.group.path.clone(), String::new()),
        (None, Some(streams)) => {
            let name = escape(streams.streams.name());
            ("streams", name, format!("{} tasks, {} bytes", streams.streams.tasks(), streams.bytes))
        }
        (None, None) => {
            let section = &item.section;
            let words = match section.section_type {
                scda::SectionType::Inline => "32 bytes".to_owned(),
                scda::SectionType::Block => format!("{} bytes", section.size),
                scda::SectionType::Array => {
                    format!("{} elements of {} bytes", section.count, section.size)
                }
                scda::SectionType::Varray => format!("{} elements", section.count),
            };
            (crate::rows::kind(section), escape(&section.user), words)
        }
    }
}

pub struct Catalogue {
    pub entries: Vec<Entry>,
    /// How many sections are not among them.
    left_out: u64,
    faults: Vec<String>,
}

impl Catalogue {
    /// Goes through the headers of a file. What is damaged ends it, and is told.
    pub fn new(input: &Input, reader: &mut Reader) -> Result<Self> {
        let mut found = Self { entries: Vec::new(), left_out: 0, faults: Vec::new() };
        let mut places = HashMap::new();
        let mut walk = Walk::with_streams(input);
        loop {
            let item = match walk.next(reader) {
                Ok(Some(item)) => item,
                Ok(None) => break,
                Err(error) => {
                    found.faults.push(error.to_string());
                    break;
                }
            };
            found.faults.extend(item.fault.as_ref().map(ToString::to_string));
            let (kind, name, words) = described(&item);
            let (mut of_units, mut is_mesh) = (None, false);
            match &item.pair {
                Some(Pair::Dataset(dataset)) => of_units = units(&dataset.dataset.attributes),
                Some(Pair::Group(group)) => is_mesh = mesh::kind(&group.group.attributes).is_some(),
                None => {}
            }
            let is_named = matches!(kind, "dataset" | "group" | "streams");
            let place = is_named.then(|| places.get(&(kind, name.clone())).copied()).flatten();
            match place {
                Some(place) => {
                    let entry: &mut Entry = &mut found.entries[place];
                    entry.records += 1;
                    (entry.words, entry.units, entry.is_mesh) = (words, of_units, is_mesh);
                }
                None if found.entries.len() == MOST => found.left_out += 1,
                None => {
                    if is_named {
                        places.insert((kind, name.clone()), found.entries.len());
                    }
                    let (number, records, units) = (item.number, 1, of_units);
                    found.entries.push(Entry { kind, name, number, records, words, units, is_mesh });
                }
            }
            if let Err(error) = item.skip(reader) {
                found.faults.push(error.to_string());
                break;
            }
        }
        // A mesh has as many records as time steps.
        for at in 0..found.entries.len() {
            if !found.entries[at].is_mesh {
                continue;
            }
            // In a file that is damaged, the times may not be found.
            let times = times_of(reader, &found.entries[at].name).unwrap_or_default();
            if let Some(&time) = places.get(&("dataset", times)) {
                found.entries[at].records = found.entries[time].records;
            }
        }
        Ok(found)
    }

    pub fn to_json(&self) -> Value {
        let entry = |entry: &Entry| {
            let Entry { kind, name, number, records, words, units, is_mesh } = entry;
            json!({"kind": kind, "name": visible(name), "number": number, "records": records, "words": words, "units": units,
                "mesh": is_mesh})
        };
        let entries: Vec<_> = self.entries.iter().map(entry).collect();
        json!({"entries": entries, "left_out": self.left_out, "faults": self.faults})
    }
}
