//! Shows datasets on a uniform grid of points as VTK's ImageData.

use super::canvas::{Canvas, Field, Which, integers, reals};
use super::tables::{self, Read};
use crate::item::{Item, Reason};
use crate::names::{Datasets, RecordSeries};
use scda_base::error::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most dimensions of a grid, and the most components of a value.
const MAX_DIMENSIONS: usize = 3;
const MAX_COMPONENTS: u64 = 9;
/// Points are equally spaced if each is at most this far from its ideal place, relative to the spacing.
const TOLERANCE: f64 = 1e-3;

/// For each axis, the first point and the spacing; `None` if points are not equally spaced.
pub type Axes = BTreeMap<String, Option<(f64, f64)>>;

/// Reads the coordinates in the root group: one-dimensional datasets whose dimension has their name, or no
/// name.
pub fn axes(datasets: &Datasets, read: &mut Read<'_>) -> Result<Axes> {
    // The last record counts.
    let last = |named: &'_ RecordSeries| named.records.last().cloned();
    let in_root = || datasets.iter().filter(|named| !named.path.contains('/'));
    let grids: Vec<Arc<Item>> = in_root().filter_map(last).filter(|item| item.shape.len() > 1).collect();
    let names: BTreeSet<&String> = grids.iter().flat_map(|item| item.dimensions.iter().flatten()).collect();
    let mut found = Axes::new();
    for name in names {
        let Some(item) = datasets.last(name).filter(|_| !name.contains('/')) else { continue };
        let is_own = item.dimensions.first().is_none_or(|own| own.as_ref().is_none_or(|own| own == name));
        if item.shape.len() != 1 || !is_own {
            continue;
        }
        if let Some(places) = tables::reals(item, read)? {
            found.insert(name.clone(), spacing(&places));
        }
    }
    Ok(found)
}

fn spacing(places: &[f64]) -> Option<(f64, f64)> {
    let (first, last) = (*places.first()?, *places.last()?);
    if places.len() == 1 {
        return first.is_finite().then_some((first, 1.0));
    }
    #[allow(clippy::cast_precision_loss)] // far fewer than 2^53
    let number = |n: usize| n as f64;
    let step = (last - first) / number(places.len() - 1);
    let is_there =
        |(n, place): (usize, &f64)| (place - (first + step * number(n))).abs() <= TOLERANCE * step.abs();
    let is_uniform = step != 0.0 && step.is_finite() && places.iter().enumerate().all(is_there);
    is_uniform.then_some((first, step))
}

/// A grid of points.
struct Grid {
    shape: Vec<u64>,
    dimensions: Vec<Option<String>>,
    fields: Vec<Field>,
}

impl Grid {
    /// The grid with most dimensions in the root group, and the datasets on it.
    fn find(canvas: &Canvas<'_>) -> Option<Self> {
        let paths = canvas.in_root();
        let all: Vec<Field> = { paths.iter() }
            .filter_map(|path| canvas.field(path))
            .filter(|field| field.shape().first().is_some_and(|&n| field.cannot_be(n).is_none()))
            .filter(|field| !field.shape().contains(&0))
            .collect();
        let shapes: BTreeSet<&[u64]> = all.iter().map(Field::shape).collect();
        let has_components = |field: &Field| match field.shape() {
            [own @ .., last] => own.len() > 1 && *last <= MAX_COMPONENTS && shapes.contains(own),
            [] => false,
        };
        let scalars = all.iter().filter(|field| (2..=MAX_DIMENSIONS).contains(&field.shape().len()));
        let scalars: Vec<&Field> = scalars.filter(|field| !has_components(field)).collect();
        let most = scalars.iter().map(|field| field.shape().len()).max()?;
        let first = scalars.iter().find(|field| field.shape().len() == most)?;
        let shape = first.shape().to_vec();
        let dimensions = canvas.dimensions(first);
        let is_on = |field: &&Field| {
            let names = canvas.dimensions(field);
            let is_same = names.iter().zip(&dimensions).all(|(a, b)| a.is_none() || b.is_none() || a == b);
            let own = field.shape();
            is_same
                && (own == shape
                    || own.len() == most + 1 && own[..most] == shape && own[most] <= MAX_COMPONENTS)
        };
        let fields = all.iter().filter(is_on).cloned().collect();
        Some(Self { shape, dimensions, fields })
    }
}

/// Adds a grid, or returns the reason why it cannot be shown; `None` if there is none.
pub fn add(canvas: &mut Canvas<'_>, axes: &Axes) -> Option<Result<(), Reason>> {
    let Grid { shape, dimensions, fields } = Grid::find(canvas)?;
    // In VTK x is the first dimension, here it is the last.
    let (mut extent, mut origin, mut spacing, mut direction) = ([0; 6], [0.0; 3], [1.0; 3], [0.0; 9]);
    for axis in 0..MAX_DIMENSIONS {
        direction[4 * axis] = 1.0;
        let Some(at) = shape.len().checked_sub(axis + 1) else { continue };
        let Ok(points) = i32::try_from(shape[at]) else { return Some(Err("too many points")) };
        extent[2 * axis + 1] = i64::from(points) - 1;
        match dimensions[at].as_ref().and_then(|name| axes.get(name)) {
            Some(None) => return Some(Err("its points are not equally spaced")),
            Some(Some((first, step))) => {
                (origin[axis], spacing[axis]) = (*first, step.abs());
                direction[4 * axis] = step.signum();
            }
            None => {}
        }
    }
    let steps = fields.iter().map(Field::records).max().unwrap_or(1);
    let attributes = vec![
        integers("WholeExtent", &extent),
        reals("Origin", &origin),
        reals("Spacing", &spacing),
        reals("Direction", &direction),
    ];
    canvas.begin("ImageData", [2, 0], attributes);
    if steps > 1 {
        let is_time = |field: &Field| field.records() == steps && field.shape().is_empty();
        let times = canvas.field("time").filter(is_time).filter(|field| field.is_number());
        canvas.steps(steps, times.as_ref().map(|field| &*field.path));
    }
    for field in fields {
        if ![1, steps].contains(&field.records()) {
            canvas.hide(&field.path, "its number of records differs from that of other fields");
            continue;
        }
        let Some(name) = canvas.field_name("PointData", &field.path) else { continue };
        // VTK requires more than one point on each axis, and an index for the step.
        let own = field.shape();
        let records = (steps > 1).then_some(field.records());
        let points = own[..shape.len()].iter().copied().filter(|&n| n > 1);
        let all: Vec<u64> =
            records.into_iter().chain(points).chain(own[shape.len()..].iter().copied()).collect();
        let all = if all.is_empty() { vec![1] } else { all };
        canvas.whole(&name, &field, Which::All, &all);
        if steps > 1 && field.records() == 1 {
            canvas.constant(&format!("Steps/{}", name.replacen('/', "Offsets/", 1)), 0, &[steps]);
        }
    }
    Some(Ok(()))
}
