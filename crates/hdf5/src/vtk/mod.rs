//! Writes the group with which VTK and ParaView open a mesh: VTKHDF.

mod canvas;
mod cells;
mod images;
mod particles;
mod patches;
mod series;
mod steps;
mod tables;

use crate::attribute::Value;
use crate::item::Reason;
use crate::names::Datasets;
use crate::plan::Plan;
use canvas::{Canvas, ROOT};
use images::Axes;
use patches::Patches;
use scda_base::error::Result;
use scda_format::meshes::parts::TIME;
use scda_format::meshes::{Convention, DIMENSION, OF_MESH};
use series::Series;
use std::collections::BTreeMap;
use steps::Steps;

pub use tables::Read;

/// What was read from the file for VTK.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Meshes of patches, by group.
    patches: BTreeMap<String, Result<Patches, Reason>>,
    axes: Axes,
}

/// The most meshes that are considered.
const MAX_MESHES: usize = 8;

/// The kind of a group, according to its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Cells,
    Patches(usize),
    Particles,
}

impl Kind {
    fn of(attributes: &[(String, Value)]) -> Option<Self> {
        let number = |name: &str| {
            let (_, value) = attributes.iter().rev().find(|(key, _)| key == name)?;
            match value {
                Value::Items { shape: None, bytes, .. } => {
                    bytes.first_chunk().map(|n| i64::from_le_bytes(*n))
                }
                _ => None,
            }
        };
        let is = |kind: Convention| number(kind.attribute()) == Some(1);
        match number(DIMENSION) {
            _ if is(Convention::Cells) => Some(Self::Cells),
            Some(dimension @ 1..=3) if is(Convention::Patches) => {
                Some(Self::Patches(usize::try_from(dimension).ok()?))
            }
            _ if is(Convention::Particles) => Some(Self::Particles),
            _ => None,
        }
    }
}

/// The meshes of a file, in the order in which they are preferred.
fn meshes(groups: &BTreeMap<String, Vec<(String, Value)>>) -> Vec<(String, Kind)> {
    let mut found: Vec<(String, Kind)> =
        groups.iter().filter_map(|(path, attributes)| Some((path.clone(), Kind::of(attributes)?))).collect();
    found.sort_by_key(|(_, kind)| *kind == Kind::Particles);
    found
}

/// The dataset whose records begin the steps of a group: its own times, or for particles without times, those
/// of their mesh.
fn times_of(datasets: &Datasets, group: &str, attributes: &[(String, Value)]) -> String {
    let own = inside(group, TIME.name);
    if Kind::of(attributes) != Some(Kind::Particles) || datasets.contains(&own) {
        return own;
    }
    match attributes.iter().rev().find(|(key, _)| key == OF_MESH) {
        Some((_, Value::Text(mesh))) => inside(mesh, TIME.name),
        _ => own,
    }
}

/// The path of a dataset in a group, which may be the root.
fn inside(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") }
}

impl Tables {
    /// Reads from these datasets and groups what the group for VTK needs.
    pub fn read(
        datasets: &Datasets,
        groups: &BTreeMap<String, Vec<(String, Value)>>,
        read: &mut Read<'_>,
    ) -> Result<Self> {
        let mut tables = Self::default();
        let meshes = meshes(groups);
        for (path, kind) in meshes.iter().take(MAX_MESHES) {
            let Kind::Patches(dimension) = kind else { continue };
            let last = |name: &str| datasets.last(&inside(path, name));
            let found = Patches::read(*dimension, last, read)?;
            tables.patches.insert(path.clone(), found);
        }
        if meshes.is_empty() {
            tables.axes = images::axes(datasets, read)?;
        }
        Ok(tables)
    }
}

/// Adds the group for VTK to a plan: for the first mesh, or for a grid of points if there is no mesh.
pub fn add(plan: &mut Plan, datasets: &Datasets, tables: &Tables) -> Result<()> {
    let is_taken = plan.groups.contains_key(ROOT) || datasets.contains(ROOT);
    if is_taken {
        return Ok(());
    }
    let meshes = meshes(&plan.groups);
    let times = |(group, _): &(String, Kind)| times_of(datasets, group, &plan.groups[group]);
    let times: Vec<String> = meshes.iter().take(MAX_MESHES).map(times).collect();
    let mut canvas = Canvas::new(plan);
    let mut shown = false;
    for ((group, kind), times) in meshes.iter().zip(times) {
        if shown {
            canvas.hide(group, "VTK opens only one mesh of a file");
            continue;
        }
        let series = Series { group, steps: Steps::new(datasets.in_order(), group, &times), times };
        let added = match kind {
            Kind::Cells => cells::add(&mut canvas, &series, group)?,
            Kind::Particles => particles::add(&mut canvas, &series, group)?,
            Kind::Patches(_) => match tables.patches.get(group) {
                Some(Ok(mesh)) => patches::add(&mut canvas, &series, group, mesh)?,
                Some(Err(why)) => Err(*why),
                None => Err("it was not read"),
            },
        };
        match added {
            Ok(()) => shown = true,
            Err(why) => canvas.hide(group, why),
        }
    }
    if meshes.is_empty()
        && let Some(Err(why)) = images::add(&mut canvas, &tables.axes)
    {
        canvas.hide("/", why);
    }
    Ok(())
}
