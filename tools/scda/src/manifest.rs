//! A file described in JSON, as `scda ls --json` writes and `scda make` reads it.

use crate::check::VerifyingReader;
use crate::data_batches::{DataBatches, for_each_sizes};
use crate::datasets::ordered_items::OrderedItems;
use crate::datasets::{Item, Walk, unsupported};
use crate::facts::{dataset_facts, error, facts, failure, group_facts, more_facts, put_bytes};
use crate::fail::{Fail, Result, and_known};
use crate::files::{Input, temporary_file};
use crate::output::Output;
use crate::rows::{Faults, measure, measure_item, seals};
use crate::select::{self, Selection};
use scda::{Content, DatasetHandle, Layout, Reader, Section, SectionType};
use serde_json::{Map, Value, json};

/// The most bytes of data that are written as text, provided that they are text.
const TEXT_BYTES: u64 = 1 << 16;

/// The bytes that are converted to base64 at a time.
const BASE64_BYTES: usize = 1 << 16;

/// What a description contains.
pub struct Contents<'a> {
    /// Only these sections, unless empty.
    pub select: &'a [Selection],
    /// Describes datasets, groups and streams as sections.
    pub raw: bool,
    /// Includes the data, so that the file can be made again.
    pub data: bool,
}

/// Writes the description of a file, a line for each section.
pub fn write(out: &mut Output, input: &Input, contents: &Contents<'_>) -> Result<()> {
    let &Contents { select: selections, raw, data } = contents;
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
    let is_sealed = seals.is_some();
    head.insert("sealed".into(), is_sealed.into());
    head.insert("seals".into(), seals.map_or(0, |seals| seals.all.len()).into());
    out.text(format_args!("{{\n"))?;
    for (name, value) in &head {
        out.text(format_args!("{}: {value},\n", json!(name)))?;
    }
    out.text(format_args!("\"sections\": ["))?;
    let mut walk = if raw { Walk::new(input, true) } else { Walk::with_streams(input) };
    let mut objects = Objects { raw, data, comma: "", selected: 0, faults: Faults::default() };
    // If damage were described, a file made from the description would get a seal, and the damage would look valid.
    let verified = (data && is_sealed).then(|| verified(input, raw)).transpose();
    let result = verified.and_then(|mut verified| {
        loop {
            if select::none_from(selections, walk.number + 1) {
                break Ok(());
            }
            let position = reader.position();
            let item = match (walk.next(&mut reader), &mut verified) {
                (Ok(Some(item)), _) => item,
                (Ok(None), _) => break Ok(()),
                (Err(error), Some(verified)) => break verified.explain(position, error),
                (Err(error), None) => break Err(error.into()),
            };
            let mut compare = || match &mut verified {
                Some(verified) if !raw => verified.compare(&item),
                _ => Ok(()),
            };
            let passed = match select::any_of(selections, &item, walk.finder(&mut reader))? {
                true => compare().and_then(|()| objects.item(out, &mut reader, &item)),
                false => item.skip(&mut reader).map_err(Fail::from),
            };
            if passed.is_err() {
                break passed;
            }
        }
    });
    let Objects { selected, faults, .. } = objects;
    let number = walk.number;
    let result = result.and_then(|()| {
        select::check(selections, input.name(), number)?;
        select::check_some(selections, input.name(), selected)
    });
    let ended = end(out, &result);
    // Sections that look like a dataset but are none are described as sections.
    and_known(result.and(ended), || faults.end())
}

/// Writes the end of the description.
fn end(out: &mut Output, result: &Result<()>) -> Result<()> {
    out.text(format_args!("\n]"))?;
    if let Err(fail @ (Fail::Scda(_) | Fail::Invalid(_) | Fail::Trouble(_))) = result {
        out.text(format_args!(",\n\"error\": {}", failure(fail)))?;
    }
    out.text(format_args!("\n}}\n"))
}

/// Compares a sealed file with its checksums: with `raw`, where sections are not those of the index, all of it; otherwise its
/// header.
fn verified(input: &Input, raw: bool) -> Result<VerifyingReader> {
    let mut verified = VerifyingReader::new(input)?;
    if raw {
        verified.compare_all()?;
    }
    Ok(verified)
}

/// Writes the objects of the list.
struct Objects {
    raw: bool,
    data: bool,
    comma: &'static str,
    selected: u64,
    faults: Faults,
}

impl Objects {
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
        if let (Some(dataset), true) = (item.dataset(), self.data)
            && let Some(why) = unsupported(dataset)
        {
            if dataset.added_rows().next().is_some() {
                let name = &dataset.name;
                let words =
                    format!("dataset \"{name}\": it cannot be read: {why}, and rows were added to it");
                return Err(Fail::Trouble(words));
            }
            // Only as sections can it be made again.
            self.section(out, reader, item.number, item.section)?;
            let Some(section) = reader.next_section(true)? else { return Ok(()) };
            return self.section(out, reader, item.last(), section);
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
        self.begin(out, object)?;
        // In their original text, so that numbers keep their digits.
        out.text(format_args!(",\"attributes\":{attributes}"))?;
        let result = match item.dataset() {
            Some(dataset) if self.data => write_items(out, reader, dataset),
            _ => Ok(()),
        };
        out.text(format_args!("}}"))?;
        result
    }

    /// Writes an object without its end.
    fn begin(&mut self, out: &mut Output, object: Map<String, Value>) -> Result<()> {
        let text = Value::Object(object).to_string();
        out.text(format_args!("{}\n{}", self.comma, text.trim_end_matches('}')))?;
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
        self.begin(out, object)?;
        // The JSON is completed also after an error.
        let result = if self.data { again(out, reader, &section, self.raw, row.bytes) } else { Ok(()) };
        out.text(format_args!("}}"))?;
        result
    }
}

/// Writes the items of a dataset.
fn write_items(out: &mut Output, reader: &mut Reader, dataset: &DatasetHandle) -> Result<()> {
    let (mut base64, mut data) = (Base64::default(), Vec::new());
    out.text(format_args!(",\"data_base64\":\""))?;
    let mut order = OrderedItems::new(dataset, temporary_file);
    let result = loop {
        let written = match order.next(reader, dataset, &mut data) {
            Ok(true) => base64.write(out, &data),
            Ok(false) => break Ok(()),
            Err(fail) => Err(fail),
        };
        if written.is_err() {
            break written;
        }
    };
    base64.finish(out)?;
    out.text(format_args!("\""))?;
    result
}

/// Goes back to a section, writes its data, and goes to its end again.
fn again(out: &mut Output, reader: &mut Reader, section: &Section, raw: bool, bytes: u64) -> Result<()> {
    let end = reader.position();
    reader.seek(section.offset)?;
    reader.next_section(!raw)?;
    write_data(out, reader, section, bytes)?;
    Ok(reader.seek(end.unwrap_or(0))?)
}

fn write_sizes(out: &mut Output, reader: &mut Reader, count: u64) -> Result<()> {
    let mut comma = "";
    for_each_sizes(reader, count, |sizes| {
        for size in sizes {
            out.text(format_args!("{comma}{size}"))?;
            comma = ",";
        }
        Ok(())
    })
}

/// Converts bytes to base64 batch by batch.
#[derive(Default)]
struct Base64 {
    /// Fewer than three bytes, which wait for the next ones.
    rest: Vec<u8>,
}

impl Base64 {
    fn write(&mut self, out: &mut Output, bytes: &[u8]) -> Result<()> {
        bytes.chunks(BASE64_BYTES).try_for_each(|chunk| {
            self.rest.extend_from_slice(chunk);
            let whole = self.rest.len() / 3 * 3;
            out.text(format_args!("{}", base64_simd::STANDARD.encode_to_string(&self.rest[..whole])))?;
            self.rest.drain(..whole);
            Ok(())
        })
    }

    fn finish(self, out: &mut Output) -> Result<()> {
        out.text(format_args!("{}", base64_simd::STANDARD.encode_to_string(&self.rest)))
    }
}

fn write_base64(out: &mut Output, reader: &mut Reader, mut batches: DataBatches) -> Result<()> {
    let mut base64 = Base64::default();
    while batches.next(reader)? {
        base64.write(out, batches.data())?;
    }
    base64.finish(out)
}

/// Writes the data of the reader's current section without holding them in memory. If there is an error, what was read
/// before is still complete JSON.
fn write_data(out: &mut Output, reader: &mut Reader, section: &Section, bytes: u64) -> Result<()> {
    let mut batches = DataBatches::all(section);
    if section.section_type == SectionType::Varray {
        out.text(format_args!(",\"sizes\":["))?;
        let result = write_sizes(out, reader, section.count);
        out.text(format_args!("]"))?;
        result?;
    }
    let is_block = matches!(section.section_type, SectionType::Inline | SectionType::Block);
    if is_block && bytes <= TEXT_BYTES {
        let mut all = Vec::new();
        while batches.next(reader)? {
            all.extend_from_slice(batches.data());
        }
        if let Ok(text) = std::str::from_utf8(&all) {
            return out.text(format_args!(",\"data_text\":{}", json!(text)));
        }
        return out
            .text(format_args!(",\"data_base64\":\"{}\"", base64_simd::STANDARD.encode_to_string(all)));
    }
    out.text(format_args!(",\"data_base64\":\""))?;
    let result = write_base64(out, reader, batches);
    out.text(format_args!("\""))?;
    result
}
