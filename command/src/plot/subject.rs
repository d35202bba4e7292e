//! What is to be drawn.

use super::coordinates::{Coordinates, real};
use super::meaning::Meaning;
use super::mesh::{self, Mesh};
use super::sample::{Line, Plane, Points, Samples};
use super::{Args, indices, title};
use crate::datasets::slabs;
use crate::fail::{Fail, Result};
use crate::output::visible;
use crate::ranges::Records;
use scda::{Dataset, Reader, Region, internals};

/// A line.
pub struct Curve {
    pub points: Points,
    pub coordinates: Coordinates,
    /// The indices at its ends.
    pub ends: [f64; 2],
    pub label: String,
    pub title: String,
}

/// An image of two dimensions: from one row to the next, and along a row.
pub struct Image {
    pub samples: [Samples; 2],
    pub numbers: Vec<f64>,
    pub coordinates: [Coordinates; 2],
    pub label: String,
    pub title: String,
}

/// A mesh, with a number of each cell.
pub struct OfMesh {
    pub mesh: Mesh,
    pub numbers: Vec<f64>,
    pub label: String,
    pub title: String,
}

pub enum Subject {
    Curve(Box<Curve>),
    Image(Box<Image>),
    Mesh(Box<OfMesh>),
}

fn trouble<T>(name: &str, words: impl std::fmt::Display) -> Result<T> {
    Err(Fail::Trouble(format!("{}: {words}", visible(name))))
}

/// The dataset of this name and record, which can be drawn, and what its numbers mean.
pub fn dataset(reader: &mut Reader, name: &str, record: u64) -> Result<(Dataset, Meaning)> {
    let Some(dataset) = reader.find_dataset(name, i64::try_from(record).unwrap_or(i64::MAX))? else {
        return trouble(name, "found no dataset of this name");
    };
    if let Some(why) = &dataset.unsupported {
        return trouble(name, format_args!("cannot be read: {}", visible(why)));
    }
    match Meaning::new(&dataset) {
        Some(meaning) => Ok((dataset, meaning)),
        None => trouble(name, format_args!("found items of type {}, expected numbers", dataset.data_type)),
    }
}

/// The mesh that a field belongs to: its group and kind.
pub fn mesh_of_field(reader: &mut Reader, name: &str) -> Result<Option<(String, mesh::Kind)>> {
    for folder in mesh::FIELDS {
        let Some(at) = name.rfind(folder) else { continue };
        let group = &name[..at];
        if let Some(kind) = reader.find_group(group)?.as_deref().and_then(mesh::kind) {
            return Ok(Some((group.to_owned(), kind)));
        }
    }
    Ok(None)
}

/// Finds what the arguments mean, and reads it.
pub fn find(reader: &mut Reader, args: &Args) -> Result<Subject> {
    let name = args.name.trim_end_matches('/');
    let all = reader.find_all(internals::stored_name(name).as_bytes())?;
    if all.is_empty() {
        return match reader.find_group(name)?.as_deref().map(mesh::kind) {
            Some(Some(kind)) => whole_mesh(reader, args, name, kind),
            Some(None) => trouble(name, "found a group that is no mesh"),
            None => trouble(name, "found no dataset of this name"),
        };
    }
    let count = all.len() as u64;
    let chosen = |records: Records| match records.of(count) {
        Some(chosen) => Ok(chosen.collect::<Vec<_>>()),
        None => trouble(name, format_args!("--record {records}: found {count} of this name")),
    };
    let records = match args.record {
        Some(records) => chosen(records)?,
        None if count == 1 => vec![0],
        None => {
            let (dataset, _) = dataset(reader, name, 0)?;
            match dataset.shape.is_empty() {
                true => (0..count).collect(),
                false => {
                    let last = count - 1;
                    return trouble(
                        name,
                        format_args!("found {count} of this name, expected --record 0 to {last}"),
                    );
                }
            }
        }
    };
    let (&[record], None | Some(Records::One(_))) = (&records[..], args.record) else {
        return over_records(reader, args, name, &records);
    };
    let shown = Some(record).filter(|_| count > 1);
    if args.region.is_none()
        && let Some((group, kind)) = mesh_of_field(reader, name)?
    {
        let section = all[scda::internals::to_usize(record)];
        let end = mesh::end_of_step(reader, &group, section)?;
        let mesh = Mesh::load(reader, &group, kind, end, args.cut.map(|cut| (cut.0, cut.1)))?;
        let (dataset, meaning) = dataset(reader, name, record)?;
        let numbers = mesh.of_field(reader, &dataset, args.component)?;
        let (label, title) = (meaning.label(name), title(name, shown, ""));
        return Ok(Subject::Mesh(Box::new(OfMesh { mesh, numbers, label, title })));
    }
    of_dataset(reader, args, name, record, shown)
}

/// A mesh, coloured by the level of its cells.
fn whole_mesh(reader: &mut Reader, args: &Args, name: &str, kind: mesh::Kind) -> Result<Subject> {
    let Some(Records::One(-1)) = args.record.or(Some(Records::One(-1))) else {
        return trouble(name, "--record is for datasets: the last mesh of a group is drawn");
    };
    let mesh = Mesh::load(reader, name, kind, u64::MAX, args.cut.map(|cut| (cut.0, cut.1)))?;
    let numbers = if mesh.levels.is_empty() { vec![0.0; mesh.cells] } else { mesh.levels.clone() };
    let label = if mesh.levels.is_empty() { "cells" } else { "level" }.to_owned();
    let title = title(name, None, &format!(": {} cells", mesh.cells));
    Ok(Subject::Mesh(Box::new(OfMesh { mesh, numbers, label, title })))
}

/// A number of each record as a line.
fn over_records(reader: &mut Reader, args: &Args, name: &str, records: &[u64]) -> Result<Subject> {
    let (mut points, mut label, mut shown) = (Points::default(), String::new(), String::new());
    let mut data = Vec::new();
    for &record in records {
        let (dataset, meaning) = dataset(reader, name, record)?;
        let all = Region::all(&dataset.shape);
        let region = args.region.as_ref().map_or(Ok(all), |bounds| bounds.region(&dataset.shape))?;
        if slabs::items(&region) != 1 {
            return trouble(
                name,
                "a range of records is drawn of one number each: expected one record, or --box",
            );
        }
        slabs::read(reader, &dataset, &region, &mut data)?;
        meaning.append(&data, &mut points.numbers);
        points.indices.push(record);
        (label, shown) = (meaning.label(name), indices(&region.start, &[]));
    }
    let (first, last) = (points.indices.first().copied(), points.indices.last().copied());
    let ends = [real(first.unwrap_or(0)), real(last.unwrap_or(0)).max(real(first.unwrap_or(0)) + 1.0)];
    let coordinates = Coordinates::plain("record");
    Ok(Subject::Curve(Box::new(Curve { points, coordinates, ends, label, title: title(name, None, &shown) })))
}

/// A line or an image of a dataset.
fn of_dataset(
    reader: &mut Reader,
    args: &Args,
    name: &str,
    record: u64,
    shown: Option<u64>,
) -> Result<Subject> {
    let (dataset, meaning) = self::dataset(reader, name, record)?;
    let n = dataset.shape.len();
    let mut region = match &args.region {
        Some(bounds) => bounds.region(&dataset.shape)?,
        None => Region::all(&dataset.shape),
    };
    if args.region.is_none() {
        region.count.iter_mut().take(n.saturating_sub(2)).for_each(|count| *count = 1.min(*count));
    }
    if slabs::items(&region) == 0 {
        return trouble(name, "found nothing to draw: the box has no items");
    }
    let wide: Vec<_> = (0..n).filter(|&dimension| region.count[dimension] > 1).collect();
    let ends =
        |dimension: usize| (region.start[dimension], region.start[dimension] + region.count[dimension]);
    let label = meaning.label(name);
    match wide[..] {
        [] if n == 0 || args.region.is_some() => trouble(name, "found one number, expected several to draw"),
        [] | [_] => {
            let dimension = wide.first().copied().unwrap_or(n - 1);
            let coordinates = Coordinates::find(reader, &dataset, dimension)?;
            let (dataset, meaning) = self::dataset(reader, name, record)?;
            let (from, to) = ends(dimension);
            let most = args.size.0[0] * super::PIXELS;
            let line = Line { dimension, from, to, fixed: region.start.clone() };
            let points = line.read(reader, &dataset, &meaning)?.points(most);
            let ends = [real(from), real(to - 1).max(real(from) + 0.5)];
            let title = title(name, shown, &indices(&region.start, &[dimension]));
            Ok(Subject::Curve(Box::new(Curve { points, coordinates, ends, label, title })))
        }
        [rows, columns] => {
            let coordinates =
                [Coordinates::find(reader, &dataset, rows)?, Coordinates::find(reader, &dataset, columns)?];
            let (dataset, meaning) = self::dataset(reader, name, record)?;
            let most = args.size.0.map(|n| n * super::PIXELS);
            let samples = [(rows, most[1]), (columns, most[0])].map(|(dimension, most)| {
                let (from, to) = ends(dimension);
                Samples::new(from, to, most)
            });
            let plane = Plane { dimensions: [rows, columns], samples, fixed: region.start.clone() };
            let (samples, numbers) = plane.read(reader, &dataset, &meaning)?;
            let title = title(name, shown, &indices(&region.start, &[rows, columns]));
            Ok(Subject::Image(Box::new(Image { samples, numbers, coordinates, label, title })))
        }
        _ => {
            let found = wide.len();
            trouble(
                name,
                format_args!("--box: found {found} dimensions with several indices, expected one or two"),
            )
        }
    }
}
