//! A file described in JSON: `scda ls --json`.

use crate::datasets::{Item, Walk};
use crate::facts::{dataset_facts, error, facts, failure, group_facts, more_facts, put_bytes};
use crate::fail::{Fail, Result, and_known};
use crate::files::Input;
use crate::output::Output;
use crate::rows::{Faults, measure, measure_item, seals};
use crate::select::{self, Selection};
use scda::{Content, Layout, Reader, Section};
use serde_json::{Map, Value, json};

/// Writes the description of a file, a line for each section, or only for those that are selected. With `raw`,
/// datasets, groups and streams are described as sections.
pub fn write(out: &mut Output, input: &Input, selections: &[Selection], raw: bool) -> Result<()> {
    let mut head = Map::new();
    head.insert("file".into(), input.name().into());
    let mut reader = match input.open_damaged(false) {
        Ok(reader) => reader,
        Err(fault) => {
            head.insert("error".into(), error(&fault));
            out.text(format_args!("{}\n", Value::Object(head)))?;
            return Err(fault.into());
        }
    };
    head.insert("bytes".into(), reader.inspect().file_size().into());
    put_bytes(&mut head, "vendor", &reader.header().vendor);
    put_bytes(&mut head, "user", &reader.header().user);
    let seals = seals(&mut reader)?;
    head.insert("sealed".into(), seals.is_some().into());
    head.insert("seals".into(), seals.map_or(0, |seals| seals.all.len()).into());
    out.text(format_args!("{{\n"))?;
    for (name, value) in &head {
        out.text(format_args!("{}: {value},\n", json!(name)))?;
    }
    out.text(format_args!("\"sections\": ["))?;
    let mut walk = if raw { Walk::new(input, true) } else { Walk::with_streams(input) };
    let mut objects = Objects { comma: "", selected: 0, faults: Faults::default() };
    let result = objects.all(out, &mut reader, &mut walk, selections).and_then(|()| {
        select::check(selections, input.name(), walk.number)?;
        select::check_some(selections, input.name(), objects.selected)
    });
    let ended = end(out, &result);
    // Sections that look like a dataset but are none are described as sections.
    and_known(result.and(ended), || objects.faults.end())
}

/// Writes the end of the description.
fn end(out: &mut Output, result: &Result<()>) -> Result<()> {
    out.text(format_args!("\n]"))?;
    if let Err(fail @ (Fail::Scda(_) | Fail::Invalid(_) | Fail::Trouble(_))) = result {
        out.text(format_args!(",\n\"error\": {}", failure(fail)))?;
    }
    out.text(format_args!("\n}}\n"))
}

/// Writes the objects of the list.
struct Objects {
    comma: &'static str,
    selected: u64,
    faults: Faults,
}

impl Objects {
    /// Writes the objects for the selected items.
    fn all(
        &mut self,
        out: &mut Output,
        reader: &mut Reader,
        walk: &mut Walk<'_>,
        selections: &[Selection],
    ) -> Result<()> {
        while !select::none_from(selections, walk.number + 1) {
            let Some(item) = walk.next(reader)? else { break };
            if select::any_of(selections, &item, walk.finder(reader))? {
                self.item(out, reader, &item)?;
            } else {
                item.skip(reader)?;
            }
        }
        Ok(())
    }

    /// Writes the object for a section, dataset or group, and skips the item.
    fn item(&mut self, out: &mut Output, reader: &mut Reader, item: &Item) -> Result<()> {
        self.selected += 1;
        self.faults.add(item.fault());
        if !matches!(item.content, Content::Dataset(_) | Content::Group(_)) {
            self.section(out, reader, item.number, item.section)?;
            for number in item.number + 1..=item.last() {
                let Some(section) = reader.next_section(true)? else { return Ok(()) };
                self.section(out, reader, number, section)?;
            }
            return Ok(());
        }
        let row = measure_item(reader, item)?;
        let (mut object, attributes) = match &item.content {
            Content::Dataset(dataset) => (dataset_facts(row.number, dataset), &*dataset.attributes),
            Content::Group(group) => (group_facts(row.number, group), &*group.attributes),
            _ => (Map::new(), "{}"),
        };
        if let Some(dataset) = item.dataset() {
            if dataset.layout == Layout::Contiguous {
                object.insert("encoded".into(), dataset.data_section().decoded.into());
            }
            if !dataset.data_type.is_variable() {
                object.insert("bytes".into(), dataset.data_bytes()?.into());
            }
            object.insert("stored_bytes".into(), row.stored.into());
        }
        object.insert("offset".into(), item.section.offset.into());
        object.insert("data_offset".into(), row.section.data_offset.into());
        // In their original text, so that numbers keep their digits.
        self.write(out, object, format_args!(",\"attributes\":{attributes}"))
    }

    /// Writes an object and more of its members.
    fn write(
        &mut self,
        out: &mut Output,
        object: Map<String, Value>,
        more: std::fmt::Arguments<'_>,
    ) -> Result<()> {
        let text = Value::Object(object).to_string();
        out.text(format_args!("{}\n{}{more}}}", self.comma, text.trim_end_matches('}')))?;
        self.comma = ",";
        Ok(())
    }

    fn section(
        &mut self,
        out: &mut Output,
        reader: &mut Reader,
        number: u64,
        section: Section,
    ) -> Result<()> {
        let row = measure(reader, number, section)?;
        let mut object = facts(number, &section);
        more_facts(&mut object, &row);
        self.write(out, object, format_args!(""))
    }
}
