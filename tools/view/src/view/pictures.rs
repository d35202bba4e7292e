//! Parts of datasets, as many items as are seen: images, lines, tables.

use super::http::{Answer, bytes_of};
use super::open::OpenFile;
use super::parameters::Parameters;
use crate::datasets::{box_parts, values};
use crate::fail::{Fail, Result};
use crate::output::visible;
use crate::plot::cf_decoding::CfDecoding;
use crate::plot::coordinates::real;
use crate::plot::sample::{Items, Line, Plane, QUICK, Samples, THOROUGH};
use crate::plot::subject;
use scda::{DataType, Dataset, DatasetHandle, IndexBox, Member};
use scda_base::numbers::to_usize;
use serde_json::json;

/// The most samples along an axis, and cells of a table.
const MOST: usize = 4096;
const MOST_CELLS: u64 = 20_000;

fn trouble<T>(words: impl Into<String>) -> Result<T> {
    Err(Fail::Trouble(words.into()))
}

/// The index of each dimension that is not shown.
fn fixed(parameters: &Parameters, dataset: &Dataset) -> Result<Vec<u64>> {
    let fixed = parameters.list("fixed")?;
    match fixed.len() == dataset.shape.len() && fixed.iter().zip(&dataset.shape).all(|(index, n)| index < n) {
        true => Ok(fixed),
        false => {
            let shape = &dataset.shape;
            trouble(format!("parameter fixed: found {fixed:?}, expected an index within the shape {shape:?}"))
        }
    }
}

/// A dimension and a range of its indices.
fn range(parameters: &Parameters, dataset: &Dataset, keys: [&str; 3]) -> Result<(usize, u64, u64)> {
    let dimension: usize = parameters.get(keys[0])?;
    let Some(&n) = dataset.shape.get(dimension) else {
        return trouble(format!("parameter {}: there is no dimension {dimension}", keys[0]));
    };
    let from: u64 = parameters.maybe(keys[1])?.unwrap_or(0);
    let to: u64 = parameters.maybe(keys[2])?.unwrap_or(n);
    match from < to && to <= n {
        true => Ok((dimension, from, to)),
        false => {
            let [_, first, last] = keys;
            let expected = format!("expected a range within 0:{n} that is not empty");
            trouble(format!("parameters {first}, {last}: found {from}:{to}, {expected}"))
        }
    }
}

/// An image of two dimensions.
pub fn plane(open: &mut OpenFile, parameters: &Parameters) -> Result<Answer> {
    let (_, _, dataset, meaning) = open.dataset(parameters)?;
    let (rows, y0, y1) = range(parameters, &dataset, ["rows", "y0", "y1"])?;
    let (columns, x0, x1) = range(parameters, &dataset, ["columns", "x0", "x1"])?;
    if rows == columns {
        return trouble(format!("parameters rows, columns: found {rows} twice, expected two dimensions"));
    }
    let most = [parameters.get::<usize>("height")?.min(MOST), parameters.get::<usize>("width")?.min(MOST)];
    let samples = [Samples::new(y0, y1, most[0]), Samples::new(x0, x1, most[1])];
    let most_bytes = if parameters.text("thorough").is_some() { THOROUGH } else { QUICK };
    let plane =
        Plane { dimensions: [rows, columns], samples, fixed: fixed(parameters, &dataset)?, most_bytes };
    let (found, numbers) = plane.read(&mut open.reader, &dataset, &meaning)?;
    // Whether there is more to see if more is read.
    let is_coarse = found != samples;
    let samples = found;
    let axes = samples.map(|s| json!({"from": s.from, "to": s.to, "count": s.count}));
    Ok(Answer::binary(
        &json!({"rows": axes[0], "columns": axes[1], "coarse": is_coarse}),
        &[&bytes_of(&numbers)],
    ))
}

/// The items of a line, before those that are seen are chosen.
pub struct LineItems {
    shape: Vec<u64>,
    items: Items,
}

impl LineItems {
    /// Points of the line.
    pub fn answer(&self, parameters: &Parameters) -> Result<Answer> {
        let most = parameters.get::<usize>("width")?.clamp(1, MOST);
        let points = self.items.points(most);
        let indices: Vec<_> = points.indices.iter().map(|&index| real(index)).collect();
        let head = json!({"count": indices.len(), "sampled": points.are_sampled});
        Ok(Answer::binary(&head, &[&bytes_of(&indices), &bytes_of(&points.numbers)]))
    }
}

/// A line.
pub fn read_line(open: &mut OpenFile, parameters: &Parameters) -> Result<LineItems> {
    let (_, _, dataset, meaning) = open.dataset(parameters)?;
    line_of(open, parameters, dataset, &meaning)
}

fn line_of(
    open: &mut OpenFile,
    parameters: &Parameters,
    dataset: DatasetHandle,
    meaning: &CfDecoding,
) -> Result<LineItems> {
    let (dimension, from, to) = range(parameters, &dataset, ["columns", "x0", "x1"])?;
    let line = Line { dimension, from, to, fixed: fixed(parameters, &dataset)? };
    let items = line.read(&mut open.reader, &dataset, meaning)?;
    Ok(LineItems { shape: dataset.shape.clone(), items })
}

/// The line of the dataset of the same name in another file, minus this one.
pub fn difference(
    first: LineItems,
    other: &mut OpenFile,
    name: &str,
    parameters: &Parameters,
) -> Result<Answer> {
    let (dataset, meaning) =
        subject::dataset(&mut other.reader, name, parameters.get("record")?, parameters.text("component"))?;
    if dataset.shape != first.shape {
        let (found, expected) = (&dataset.shape, &first.shape);
        return trouble(format!(
            "{}: no difference: found shape {found:?}, expected {expected:?}",
            visible(name)
        ));
    }
    let mut second = line_of(other, parameters, dataset, &meaning)?;
    if second.items.samples != first.items.samples {
        return trouble(format!("{}: no difference: its chunks differ much", visible(name)));
    }
    for (number, other) in second.items.numbers.iter_mut().zip(&first.items.numbers) {
        *number -= other;
    }
    second.answer(parameters)
}

/// An item of each record as a line.
pub fn records(open: &mut OpenFile, parameters: &Parameters) -> Result<Answer> {
    let (name, ..) = open.dataset(parameters)?;
    let count = open.reader.find_all(scda_format::dataset::stored_name(&name).as_bytes())?.len() as u64;
    let samples = Samples::new(0, count, MOST);
    let (mut indices, mut numbers, mut data) = (Vec::new(), Vec::new(), Vec::new());
    for record in samples.indices() {
        let (dataset, meaning) =
            subject::dataset(&mut open.reader, &name, record, parameters.text("component"))?;
        let at = parameters.list("fixed")?;
        let is_in =
            at.len() == dataset.shape.len() && at.iter().zip(&dataset.shape).all(|(index, n)| index < n);
        indices.push(real(record));
        if !is_in {
            numbers.push(f64::NAN);
            continue;
        }
        box_parts::read(
            &mut open.reader,
            &dataset,
            &IndexBox::new(at.clone(), vec![1; at.len()]),
            &mut data,
        )?;
        meaning.append(&data, &mut numbers);
    }
    let head = json!({"count": indices.len(), "sampled": samples.count as u64 != count});
    Ok(Answer::binary(&head, &[&bytes_of(&indices), &bytes_of(&numbers)]))
}

/// Items as text: of structs the members, or a range of them, one after the other.
pub fn table(open: &mut OpenFile, parameters: &Parameters) -> Result<Answer> {
    let entry = open.name(parameters)?;
    let record: i64 = parameters.get("record")?;
    let found = open.reader.dataset_record(&entry, record)?;
    let dataset = found.ok_or_else(|| Fail::Trouble("there is no such dataset".to_owned()))?;
    let fixed = fixed(parameters, &dataset)?;
    let mut region = IndexBox::new(fixed.clone(), vec![1; fixed.len()]);
    let mut are_turned = false;
    if !fixed.is_empty() {
        let (columns, x0, x1) = range(parameters, &dataset, ["columns", "x0", "x1"])?;
        (region.start[columns], region.count[columns]) = (x0, x1 - x0);
        if parameters.text("rows").is_some() {
            let (rows, y0, y1) = range(parameters, &dataset, ["rows", "y0", "y1"])?;
            (region.start[rows], region.count[rows]) = (y0, y1 - y0);
            are_turned = rows > columns;
        }
    }
    // Of each item the cells: their types, and where they are in it.
    let mut columns = vec![(dataset.data_type, 0..to_usize(dataset.data_type.item_bytes()))];
    if let DataType::Struct(all) = dataset.data_type {
        let members = all.members();
        let (from, to) =
            (parameters.maybe("m0")?.unwrap_or(0), parameters.maybe("m1")?.unwrap_or(members.len()));
        let Some(members) = members.get(from..to).filter(|members| !members.is_empty()) else {
            let expected = format!("expected a range within 0:{} that is not empty", members.len());
            return trouble(format!("parameters m0, m1: found {from}:{to}, {expected}"));
        };
        let place = |member: &Member| {
            let from = to_usize(member.offset);
            (member.data_type, from..from + to_usize(member.data_type.item_bytes()))
        };
        columns = members.iter().map(place).collect();
    }
    let cells = box_parts::items(&region).saturating_mul(columns.len() as u64);
    if cells > MOST_CELLS {
        return trouble(format!("found {cells} cells, expected at most {MOST_CELLS}"));
    }
    let mut data = Vec::new();
    box_parts::read(&mut open.reader, &dataset, &region, &mut data)?;
    let mut cells = Vec::new();
    for item in box_parts::each_item(dataset.data_type, &data) {
        for (data_type, place) in &columns {
            let mut text = String::new();
            // An item of any length is shown whole.
            values::show(
                *data_type,
                if data_type.is_variable() { item } else { &item[place.clone()] },
                &mut text,
            );
            cells.push(text);
        }
    }
    Ok(Answer::json(&json!({"cells": cells, "turned": are_turned})))
}
