//! What the page asks, and what is answered.

use super::http::Answer;
use super::meshes;
use super::open::{OpenFile, View};
use super::parameters::Parameters;
use crate::data_batches::{DataBatches, units};
use crate::datasets::{box_parts, stream_part_at, values};
use crate::fail::{Fail, Result};
use crate::output::{escape, hex, visible};
use crate::plot::cf_decoding::{CfDecoding, attributes, readable};
use crate::plot::colour::Map;
use crate::plot::mesh::FieldPlace;
use scda::IndexBox;
use scda_base::numbers::to_usize;
use serde_json::{Value, json};

/// The page, its style, and its modules.
const PAGES: [(&str, &str, &str); 12] = [
    ("", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("style.css", "text/css; charset=utf-8", include_str!("page/style.css")),
    ("main.js", SCRIPT, include_str!("page/main.js")),
    ("tree.js", SCRIPT, include_str!("page/tree.js")),
    ("axes.js", SCRIPT, include_str!("page/axes.js")),
    ("controls.js", SCRIPT, include_str!("page/controls.js")),
    ("mesh.js", SCRIPT, include_str!("page/mesh.js")),
    ("now.js", SCRIPT, include_str!("page/now.js")),
    ("panels.js", SCRIPT, include_str!("page/panels.js")),
    ("picture.js", SCRIPT, include_str!("page/picture.js")),
    ("text.js", SCRIPT, include_str!("page/text.js")),
    ("kit.js", SCRIPT, include_str!("page/kit.js")),
];
const SCRIPT: &str = "text/javascript; charset=utf-8";
/// The most bytes of a section in one answer.
const MOST_BYTES: u64 = 1 << 16;

/// Answers a request for a path after the token.
pub fn answer(view: &View, path: &str) -> Answer {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    if let Some((_, kind, text)) = PAGES.iter().find(|(name, ..)| *name == path) {
        return Answer { code: 200, kind, data: text.as_bytes().to_vec() };
    }
    let parameters = Parameters::new(query);
    match asked(view, path, &parameters) {
        Ok(Some(answer)) => answer,
        Ok(None) => Answer::text(404, "404: no such page\n"),
        Err(Fail::Scda(error)) => Answer::text(422, &visible(&error.to_string())),
        Err(Fail::Invalid(words) | Fail::Trouble(words)) => Answer::text(422, &visible(&words)),
        Err(Fail::Said(_) | Fail::Quiet) => Answer::text(422, "cannot be read"),
    }
}

fn asked(view: &View, path: &str, parameters: &Parameters) -> Result<Option<Answer>> {
    if path == "api/files" {
        return files(view).map(Some);
    }
    let number: usize = parameters.maybe("file")?.unwrap_or(0);
    let mut open = view.file(number)?;
    let open = &mut *open;
    Ok(Some(match path {
        "api/item" => item(open, parameters)?,
        "api/bytes" => bytes(open, parameters)?,
        "api/values" => values_of(open, parameters)?,
        "api/stream" => stream(open, parameters)?,
        "api/mesh" => meshes::mesh(open, parameters)?,
        "api/raster" => meshes::raster(open, parameters)?,
        _ => return Ok(None),
    }))
}

fn files(view: &View) -> Result<Answer> {
    let mut files = Vec::new();
    for number in 0..view.files.len() {
        let mut open = view.file(number)?;
        let mut file = open.catalogue.to_json();
        file["name"] = visible(open.input.name()).into();
        file["user"] = escape(&open.reader.header().user).into();
        file["bytes"] = open.reader.inspect().file_size().into();
        file["sealed"] = open.reader.is_sealed().into();
        files.push(file);
    }
    let colours = |map: Map| (0..=255_u16).map(|k| map.at(f64::from(k) / 255.0)).collect::<Vec<_>>();
    let maps = json!({"viridis": colours(Map::Viridis), "diverging": colours(Map::Diverging), "gray": colours(Map::Gray)});
    Ok(Answer::json(&json!({"files": files, "maps": maps})))
}

/// What there is to say of a line of the catalogue, or of a record of it.
fn item(open: &mut OpenFile, parameters: &Parameters) -> Result<Answer> {
    let entry = open.entry(parameters)?;
    let (kind, name, number) = (entry.kind, entry.name.clone(), entry.number);
    if kind == "group" {
        let found = open.reader.group(&name)?.map(|group| group.attributes).unwrap_or_default();
        return Ok(Answer::json(&json!({"kind": kind, "attributes": attributes(&found)})));
    }
    if kind != "dataset" {
        let section = go_to(open, number)?;
        return Ok(Answer::json(&json!({"kind": kind, "units": units(&section), "size": section.size})));
    }
    let record: u64 = parameters.get("record")?;
    let Some(dataset) = open.reader.dataset_record(&name, i64::try_from(record).unwrap_or(i64::MAX))? else {
        return Err(Fail::Trouble(format!("{}: there is no record {record}", visible(&name))));
    };
    let is_number = CfDecoding::column(&dataset, None).is_ok();
    let mesh = is_number && FieldPlace::is_field(&mut open.reader, &name)?;
    let is_ragged = mesh && FieldPlace::is_ragged(&mut open.reader, &name)?;
    Ok(Answer::json(&json!({
        "kind": kind,
        "shape": dataset.shape,
        "type": dataset.data_type.to_string(),
        "bytes": dataset.data_bytes().ok().filter(|_| !dataset.data_type.is_variable()),
        "dimensions": dataset.dimension_names,
        "attributes": attributes(&dataset.attributes),
        "unreadable": dataset.unsupported.as_deref().map(visible),
        "members": CfDecoding::members(&dataset),
        "parts": CfDecoding::parts(&dataset),
        "ragged": is_ragged,
        "mesh": mesh,
    })))
}

/// Goes to the section with a number, from 1 on, and reads its header.
fn go_to(open: &mut OpenFile, number: u64) -> Result<scda::Section> {
    open.reader.seek_section(number.saturating_sub(1))?;
    let section = open.reader.next_section(true)?;
    section.ok_or_else(|| Fail::file(open.input.name(), "the file has changed"))
}

/// As text where it is text, else in hexadecimal.
fn shown(data: &[u8]) -> Value {
    let is_text = std::str::from_utf8(data)
        .is_ok_and(|text| !text.contains(|c: char| c.is_control() && !c.is_whitespace()));
    match is_text {
        true => json!({"text": String::from_utf8_lossy(data)}),
        false => {
            let line = |(row, some): (usize, &[u8])| {
                let hex: Vec<_> = some.iter().map(|byte| hex(&[*byte])).collect();
                format!("{:08x}  {}", row * 16, hex.join(" "))
            };
            let lines: Vec<_> = data.chunks(16).enumerate().map(line).collect();
            json!({"hex": lines.join("\n")})
        }
    }
}

/// The beginning of a section, or of some of its elements.
fn bytes(open: &mut OpenFile, parameters: &Parameters) -> Result<Answer> {
    let number = open.entry(parameters)?.number;
    let section = go_to(open, number)?;
    let all = units(&section);
    let from: u64 = parameters.maybe("from")?.unwrap_or(0).min(all);
    let unit = if section.section_type == scda::SectionType::Array { section.size.max(1) } else { 1 };
    let most =
        if section.section_type == scda::SectionType::Varray { 64 } else { (MOST_BYTES / unit).max(1) };
    let to = from.saturating_add(most).min(all);
    if unit > MOST_BYTES * 256 {
        return Err(Fail::Trouble(format!("elements of {unit} bytes are not shown: scda cat writes them")));
    }
    let (mut pieces, mut data) = (DataBatches::new(&section, from..to), Vec::new());
    while data.len() < to_usize(MOST_BYTES) && pieces.next(&mut open.reader)? {
        data.extend_from_slice(pieces.data());
    }
    data.truncate(to_usize(MOST_BYTES));
    let mut found = shown(&data);
    (found["from"], found["to"], found["all"]) = (from.into(), to.into(), all.into());
    Ok(Answer::json(&found))
}

/// The values of a dataset from a row on, each row in a line.
fn values_of(open: &mut OpenFile, parameters: &Parameters) -> Result<Answer> {
    let (name, record) = (open.name(parameters)?, parameters.get("record")?);
    let dataset = readable(&mut open.reader, &name, record)?;
    let (mut region, of_row) = (IndexBox::all(&dataset.shape), dataset.shape.iter().skip(1).product::<u64>());
    let most = (MOST_BYTES / 8).min(MOST_BYTES / dataset.data_type.item_bytes().max(1)).max(1);
    if of_row > most {
        return Err(Fail::Trouble(format!(
            "rows of {of_row} items are not shown: scda cat --box prints some"
        )));
    }
    let all = dataset.shape.first().copied().unwrap_or(1);
    let from: u64 = parameters.maybe("from")?.unwrap_or(0).min(all);
    let to = from.saturating_add(most / of_row.max(1)).min(all);
    if let (Some(start), Some(count)) = (region.start.first_mut(), region.count.first_mut()) {
        (*start, *count) = (from, to - from);
    }
    let (mut data, mut text) = (Vec::new(), String::new());
    box_parts::read(&mut open.reader, &dataset, &region, &mut data)?;
    for (number, item) in (1..).zip(box_parts::each_item(dataset.data_type, &data)) {
        values::show(dataset.data_type, item, &mut text);
        text.push(if u64::is_multiple_of(number, of_row) { '\n' } else { ' ' });
    }
    Ok(Answer::json(&json!({"text": text, "from": from, "to": to, "all": all})))
}

/// The beginning of the stream of a task, or of what follows a byte.
fn stream(open: &mut OpenFile, parameters: &Parameters) -> Result<Answer> {
    let number = open.entry(parameters)?.number;
    let offset = go_to(open, number)?.offset;
    let streams = stream_part_at(&mut open.reader, offset)?
        .ok_or_else(|| Fail::Trouble("there are no streams".to_owned()))?;
    let task: u64 = parameters.get("task")?;
    if task >= streams.tasks() {
        return Err(Fail::Trouble(format!("there are {} tasks, and no task {task}", streams.tasks())));
    }
    let stream = streams.stream(&mut open.reader, task)?;
    let from: u64 = parameters.maybe("from")?.unwrap_or(0).min(stream.bytes());
    let to = from.saturating_add(MOST_BYTES).min(stream.bytes());
    let mut data = vec![0; to_usize(to - from)];
    stream.read(&mut open.reader, from, &mut data)?;
    let mut found = shown(&data);
    (found["from"], found["to"], found["all"]) = (from.into(), to.into(), stream.bytes().into());
    found["tasks"] = streams.tasks().into();
    Ok(Answer::json(&found))
}
