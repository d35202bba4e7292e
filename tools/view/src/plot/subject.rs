//! What is to be drawn.

use super::cf_decoding::{CfDecoding, readable};
use super::clock::Clock;
use super::coordinates::{Coordinates, real};
use super::mesh::{FieldPlace, Mesh};
use super::sample::{Line, Plane, Points, Samples, THOROUGH};
use super::{Args, indices, title};
use crate::datasets::box_parts;
use crate::fail::{Fail, Result};
use crate::files::Input;
use crate::output::visible;
use crate::ranges::{Bounds, Records};
use scda::{DatasetHandle, Reader};
/// A line.
pub struct Curve {
    pub points: Points,
    pub coordinates: Coordinates,
    /// The indices at its ends.
    pub ends: [f64; 2],
    pub label: String,
    /// If the numbers are moments.
    pub clock: Option<Clock>,
    pub title: String,
}

/// An image of two dimensions: from one row to the next, and along a row.
pub struct Image {
    pub samples: [Samples; 2],
    pub numbers: Vec<f64>,
    pub coordinates: [Coordinates; 2],
    pub label: String,
    /// If the numbers are moments.
    pub clock: Option<Clock>,
    pub title: String,
}

/// A mesh, with a number of each cell.
pub struct MeshPlot {
    pub mesh: Mesh,
    pub numbers: Vec<f64>,
    pub label: String,
    pub title: String,
}

pub enum Subject {
    Curve(Box<Curve>),
    Image(Box<Image>),
    Mesh(Box<MeshPlot>),
}

fn trouble<T>(name: &str, words: impl std::fmt::Display) -> Result<T> {
    Err(Fail::Trouble(format!("{}: {words}", visible(name))))
}

/// The dataset of this name and record, which can be drawn, and what its numbers mean: of structs, those of a member.
pub fn dataset(
    reader: &mut Reader,
    name: &str,
    record: u64,
    component: Option<&str>,
) -> Result<(DatasetHandle, CfDecoding)> {
    let dataset = readable(reader, name, record)?;
    let meaning = CfDecoding::of_items(&dataset, component)?;
    Ok((dataset, meaning))
}

/// Finds what the arguments mean, and reads it.
pub fn find(reader: &mut Reader, input: &Input, args: &Args) -> Result<Subject> {
    let name = args.name.trim_end_matches('/');
    let all = reader.find_all(scda_format::dataset::stored_name(name).as_bytes())?;
    if all.is_empty() {
        let step = match args.record.unwrap_or(Records::One(-1)) {
            Records::One(step) => step,
            Records::Some(..) => return trouble(name, "expected one --record, a time step of the mesh"),
        };
        let what = args.record.map_or(String::new(), |step| format!(", step {step}"));
        return match FieldPlace::find(reader, name, step)? {
            Some(place) => of_mesh(reader, args, &place, &what),
            None if reader.group(name)?.is_some() => trouble(name, "this group is no mesh"),
            None => trouble(name, "there is no dataset of this name"),
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
        None => match readable(reader, name, 0)?.shape.is_empty() {
            true => (0..count).collect(),
            false => vec![count - 1],
        },
    };
    let (&[record], None | Some(Records::One(_))) = (&records[..], args.record) else {
        return over_records((reader, input), args, name, &records);
    };
    let shown = Some(record).filter(|_| count > 1);
    if args.region.is_none()
        && let Some(place) = FieldPlace::find(reader, name, i64::try_from(record).unwrap_or(i64::MAX))?
    {
        let what = shown.map_or(String::new(), |record| format!(", record {record}"));
        return of_mesh(reader, args, &place, &what);
    }
    of_dataset((reader, input), args, name, record, shown)
}

/// A mesh, or a field on it.
fn of_mesh(reader: &mut Reader, args: &Args, place: &FieldPlace, what: &str) -> Result<Subject> {
    let mesh = place.mesh(reader, args.cut.map(|cut| (cut.0, cut.1)))?;
    let (numbers, label) = place.numbers(reader, &mesh, args.component.as_deref())?;
    let cut = args.cut.map_or(String::new(), |cut| format!(", {} = {}", ["x", "y", "z"][cut.0], cut.1));
    let count = match place.is_alone() {
        true => format!(": {} {}s", mesh.cells, mesh.kind.cell()),
        false => String::new(),
    };
    let title = format!("{}{what}{cut}{count}", visible(&args.name));
    Ok(Subject::Mesh(Box::new(MeshPlot { mesh, numbers, label, title })))
}

/// A number of each record as a line.
fn over_records(
    (reader, input): (&mut Reader, &Input),
    args: &Args,
    name: &str,
    records: &[u64],
) -> Result<Subject> {
    let (mut points, mut label, mut shown) = (Points::default(), String::new(), String::new());
    let (mut data, mut clock) = (Vec::new(), None);
    for &record in records {
        let (dataset, meaning) = dataset(reader, name, record, args.component.as_deref())?;
        let region = Bounds::region(args.region.as_ref(), input, &dataset)?;
        if box_parts::items(&region) != 1 {
            return trouble(
                name,
                "a range of records is drawn of one number each: expected one record, or --box",
            );
        }
        box_parts::read(reader, &dataset, &region, &mut data)?;
        meaning.append(&data, &mut points.numbers);
        points.indices.push(record);
        (label, clock) = (meaning.label(name), meaning.clock);
        shown = indices(&region.start, &[]);
    }
    let (first, last) = (points.indices.first().copied(), points.indices.last().copied());
    let ends = [real(first.unwrap_or(0)), real(last.unwrap_or(0)).max(real(first.unwrap_or(0)) + 1.0)];
    let coordinates = Coordinates::plain("record");
    Ok(Subject::Curve(Box::new(Curve {
        points,
        coordinates,
        ends,
        label,
        clock,
        title: title(name, None, &shown),
    })))
}

/// A line or an image of a dataset.
fn of_dataset(
    (reader, input): (&mut Reader, &Input),
    args: &Args,
    name: &str,
    record: u64,
    shown: Option<u64>,
) -> Result<Subject> {
    let (dataset, meaning) = self::dataset(reader, name, record, args.component.as_deref())?;
    let n = dataset.shape.len();
    let mut region = Bounds::region(args.region.as_ref(), input, &dataset)?;
    if args.region.is_none() {
        region.count.iter_mut().take(n.saturating_sub(2)).for_each(|count| *count = 1.min(*count));
    }
    if box_parts::items(&region) == 0 {
        return trouble(name, "there is nothing to draw: the box has no items");
    }
    let wide: Vec<_> = (0..n).filter(|&dimension| region.count[dimension] > 1).collect();
    let ends =
        |dimension: usize| (region.start[dimension], region.start[dimension] + region.count[dimension]);
    let (label, clock) = (meaning.label(name), meaning.clock);
    match wide[..] {
        [] if n == 0 || args.region.is_some() => trouble(name, "one number cannot be drawn, only several"),
        [] | [_] => {
            let dimension = wide.first().copied().unwrap_or(n - 1);
            let coordinates = Coordinates::find(reader, &dataset, dimension)?;
            let (dataset, meaning) = self::dataset(reader, name, record, args.component.as_deref())?;
            let (from, to) = ends(dimension);
            let most = args.size.0[0] * super::PIXELS;
            let line = Line { dimension, from, to, fixed: region.start.clone() };
            let points = line.read(reader, &dataset, &meaning)?.points(most);
            let ends = [real(from), real(to - 1).max(real(from) + 0.5)];
            let title = title(name, shown, &indices(&region.start, &[dimension]));
            Ok(Subject::Curve(Box::new(Curve { points, coordinates, ends, label, clock, title })))
        }
        [rows, columns] => {
            let coordinates =
                [Coordinates::find(reader, &dataset, rows)?, Coordinates::find(reader, &dataset, columns)?];
            let (dataset, meaning) = self::dataset(reader, name, record, args.component.as_deref())?;
            let most = args.size.0.map(|n| n * super::PIXELS);
            let samples = [(rows, most[1]), (columns, most[0])].map(|(dimension, most)| {
                let (from, to) = ends(dimension);
                Samples::new(from, to, most)
            });
            let plane = Plane {
                dimensions: [rows, columns],
                samples,
                fixed: region.start.clone(),
                most_bytes: THOROUGH,
            };
            let (samples, numbers) = plane.read(reader, &dataset, &meaning)?;
            let title = title(name, shown, &indices(&region.start, &[rows, columns]));
            Ok(Subject::Image(Box::new(Image { samples, numbers, coordinates, label, clock, title })))
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
