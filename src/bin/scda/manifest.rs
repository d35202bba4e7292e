//! A file described in JSON: what `scda ls --json` writes and `scda make` reads.

use crate::datasets::FoundGroup;
use crate::fail::{Fail, Result};
use crate::files::Input;
use crate::ls::{Row, measure, seals};
use crate::output::Output;
use crate::pieces::{Pieces, for_each_sizes};
use crate::select::{self, Selection};
use scda::internals::fill;
use scda::{Dataset, Layout, Reader, Section, SectionType};
use serde_json::{Map, Value, json};

/// Data of at most so many bytes are written as text, if they are text.
const TEXT_BYTES: u64 = 1 << 16;

/// So many bytes become base64 at a time.
const BASE64_BYTES: usize = 1 << 16;

/// Hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes as a string if they are UTF-8, else in hexadecimal, under a name that says so.
pub fn put_bytes(object: &mut Map<String, Value>, name: &str, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => object.insert(name.to_owned(), text.into()),
        Err(_) => object.insert(format!("{name}_hex"), hex(bytes).into()),
    };
}

/// The facts of a section; `row` has those that need reading on.
pub fn facts(number: u64, section: &Section) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("number".into(), number.into());
    object.insert("type".into(), char::from(section.section_type.letter()).to_string().into());
    put_bytes(&mut object, "user", &section.user);
    if matches!(section.section_type, SectionType::Array | SectionType::Varray) {
        object.insert("N".into(), section.count.into());
    }
    if matches!(section.section_type, SectionType::Array | SectionType::Block) {
        object.insert("E".into(), section.size.into());
    }
    object
}

/// The facts of a dataset, whose second section has this number; without attributes, whose text is kept as it is.
pub fn dataset_facts(number: u64, dataset: &Dataset) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("number".into(), number.into());
    object.insert("type".into(), "D".into());
    object.insert("user".into(), dataset.name.as_str().into());
    object.insert("data_type".into(), dataset.data_type.to_string().into());
    object.insert("shape".into(), json!(dataset.shape));
    let layout = match dataset.layout {
        Layout::Chunked { text: true, .. } => "text",
        Layout::Chunked { .. } => "chunks",
        _ => "contiguous",
    };
    object.insert("layout".into(), layout.into());
    if layout != "contiguous" {
        object.insert("chunk".into(), json!(dataset.chunk_shape()));
        object.insert("shuffle".into(), dataset.shuffle.into());
        if let Some(level) = dataset.level {
            object.insert("level".into(), level.into());
        }
    }
    if !dataset.fill_value.is_empty() {
        object.insert("fill_value".into(), fill::to_json(dataset.data_type, &dataset.fill_value));
    }
    if !dataset.dimension_names.is_empty() {
        object.insert("dimension_names".into(), json!(dataset.dimension_names));
    }
    if let Some(why) = &dataset.unsupported {
        object.insert("unsupported".into(), why.as_str().into());
    }
    object
}

/// The facts of a group, whose second section has this number; without attributes.
pub fn group_facts(number: u64, found: &FoundGroup) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("number".into(), number.into());
    object.insert("type".into(), "G".into());
    object.insert("user".into(), found.group.path.as_str().into());
    object
}

/// The facts of a section that `scda make` does not need.
fn more_facts(object: &mut Map<String, Value>, row: &Row) {
    object.insert("encoded".into(), row.section.decoded.into());
    if let Some((least, most)) = row.extremes {
        object.insert("size_min".into(), least.into());
        object.insert("size_mean".into(), row.mean().into());
        object.insert("size_max".into(), most.into());
    }
    object.insert("bytes".into(), row.bytes.into());
    object.insert("stored_bytes".into(), row.stored.into());
    object.insert("offset".into(), row.section.offset.into());
    object.insert("data_offset".into(), row.section.data_offset.into());
}

/// An error as an object.
pub fn error(error: &scda::Error) -> Value {
    json!({ "code": error.code(), "kind": error.kind().text(), "message": error.to_string(), "offset": error.offset() })
}

/// Why a command ends early, as an object.
pub fn failure(fail: &Fail) -> Value {
    match fail {
        Fail::Scda(fault) => error(fault),
        Fail::Trouble(words) => json!({ "message": words }),
        Fail::Said(_) | Fail::Quiet => Value::Null,
    }
}

/// Writes the description of a file, a line for each section.
pub fn write(out: &mut Output, input: &Input, raw: bool, data: bool, selections: &[Selection]) -> Result<()> {
    let mut head = Map::new();
    head.insert("file".into(), input.name().into());
    let mut reader = match input.open() {
        Ok(reader) => reader,
        Err(fault) => {
            head.insert("error".into(), error(&fault));
            out.text(format_args!("{}\n", Value::Object(head)))?;
            return Err(fault.into());
        }
    };
    head.insert("bytes".into(), reader.file_size().into());
    put_bytes(&mut head, "vendor", reader.vendor());
    put_bytes(&mut head, "user", reader.user());
    let seals = seals(&reader, input)?;
    head.insert("sealed".into(), seals.is_some().into());
    head.insert("seals".into(), seals.map_or(0, |seals| seals.all.len()).into());
    out.text(format_args!("{{\n"))?;
    for (name, value) in &head {
        out.text(format_args!("{}: {value},\n", json!(name)))?;
    }
    out.text(format_args!("\"sections\": ["))?;
    let mut written = false;
    let mut selected = 0;
    let mut one = |out: &mut Output, reader: &mut Reader, number| -> Result<bool> {
        let Some(section) = reader.next_section(!raw)? else { return Ok(false) };
        if !select::any(selections, number, &section.user) {
            reader.skip()?;
            return Ok(true);
        }
        selected += 1;
        let row = measure(reader, number, section)?;
        let mut object = facts(number, &section);
        more_facts(&mut object, &row);
        let text = Value::Object(object).to_string();
        out.text(format_args!("{}\n{}", if written { "," } else { "" }, text.trim_end_matches('}')))?;
        written = true;
        // Whatever happens, what was begun is ended.
        let result = if data { again(out, reader, &section, raw, row.bytes) } else { Ok(()) };
        out.text(format_args!("}}"))?;
        result.map(|()| true)
    };
    let mut number = 1;
    let result = loop {
        if select::none_from(selections, number) {
            break Ok(());
        }
        match one(out, &mut reader, number) {
            Ok(true) => number += 1,
            Ok(false) => break Ok(()),
            Err(fail) => break Err(fail),
        }
    };
    let result = result.and_then(|()| {
        select::check(selections, input.name(), number - 1)?;
        select::check_some(selections, input.name(), selected)
    });
    out.text(format_args!("\n]"))?;
    if let Err(fail @ (Fail::Scda(_) | Fail::Trouble(_))) = &result {
        out.text(format_args!(",\n\"error\": {}", failure(fail)))?;
    }
    out.text(format_args!("\n}}\n"))?;
    result
}

/// Goes back to a section, writes its data, and is behind it again.
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

fn write_base64(out: &mut Output, reader: &mut Reader, mut pieces: Pieces) -> Result<()> {
    // Groups of three bytes; others wait for the next ones.
    let mut rest = Vec::new();
    while pieces.next(reader)? {
        for chunk in pieces.data().chunks(BASE64_BYTES) {
            rest.extend_from_slice(chunk);
            let whole = rest.len() / 3 * 3;
            out.text(format_args!("{}", base64_simd::STANDARD.encode_to_string(&rest[..whole])))?;
            rest.drain(..whole);
        }
    }
    out.text(format_args!("{}", base64_simd::STANDARD.encode_to_string(&rest)))
}

/// Writes the data of the reader's current section, which are not held in memory. What was read before an
/// error is whole JSON.
fn write_data(out: &mut Output, reader: &mut Reader, section: &Section, bytes: u64) -> Result<()> {
    let mut pieces = Pieces::all(section);
    if section.section_type == SectionType::Varray {
        out.text(format_args!(",\"sizes\":["))?;
        let result = write_sizes(out, reader, section.count);
        out.text(format_args!("]"))?;
        result?;
    }
    let is_block = matches!(section.section_type, SectionType::Inline | SectionType::Block);
    if is_block && bytes <= TEXT_BYTES {
        let mut all = Vec::new();
        while pieces.next(reader)? {
            all.extend_from_slice(pieces.data());
        }
        if let Ok(text) = std::str::from_utf8(&all) {
            return out.text(format_args!(",\"data_text\":{}", json!(text)));
        }
        return out
            .text(format_args!(",\"data_base64\":\"{}\"", base64_simd::STANDARD.encode_to_string(all)));
    }
    out.text(format_args!(",\"data_base64\":\""))?;
    let result = write_base64(out, reader, pieces);
    out.text(format_args!("\""))?;
    result
}
