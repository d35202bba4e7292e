//! Shows meshes of patches as VTK's OverlappingAMR.

use super::canvas::{Canvas, Which, reals};
use super::series::{Series, each_field};
use super::tables::{self, Read};
use crate::attribute::Value;
use crate::item::{Item, Reason};
use scda_base::error::Result;
use scda_base::memory::reserve;
use scda_base::numbers::{product, sum};
use scda_format::dataset::DataType;
use std::ops::Range;
use std::sync::Arc;

/// The most patches: a box of VTK takes 24 bytes in the view.
const MAX_PATCHES: usize = 1 << 16;
const MAX_LEVELS: usize = 64;

/// The datasets of a mesh of patches.
const MESH: [&str; 5] = ["boxes", "level", "ratio", "domain", "geometry"];

/// The patches of a level.
#[derive(Clone, Debug, PartialEq)]
struct Level {
    /// First and last cell on each axis, x first, in VTK's form: `int32`.
    boxes: Vec<u8>,
    spacing: [f64; 3],
    /// The range of these patches' cells among those of all patches.
    cells: Range<u64>,
}

/// The last mesh of patches of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Patches {
    dimension: usize,
    origin: [f64; 3],
    levels: Vec<Level>,
}

impl Patches {
    /// Reads the last mesh of a group. `last` returns the last record of a dataset of the group.
    pub fn read<'a>(
        dimension: usize,
        last: impl Fn(&str) -> Option<&'a Arc<Item>>,
        read: &mut Read<'_>,
    ) -> Result<Result<Self, Reason>> {
        const NONE: Reason = "its patches are compressed, too many, or missing";
        let [Some(boxes), Some(level), Some(ratio), Some(domain), Some(geometry)] = MESH.map(last) else {
            return Ok(Err(NONE));
        };
        let mut all = Vec::new();
        for item in [boxes, level, ratio, domain] {
            match tables::integers(item, read)? {
                Some(found) => all.push(found),
                None => return Ok(Err(NONE)),
            }
        }
        let Some(geometry) = tables::reals(geometry, read)? else { return Ok(Err(NONE)) };
        let [boxes, level, ratio, domain] = &all[..] else { return Ok(Err(NONE)) };
        if level.len() > MAX_PATCHES {
            return Ok(Err(NONE));
        }
        let found = Self::of(dimension, [boxes, level, ratio, domain], &geometry)?;
        Ok(found.ok_or("its patches are inconsistent"))
    }

    /// The mesh in these arrays, if they are consistent.
    fn of(
        dimension: usize,
        [boxes, level, ratio, domain]: [&[i64]; 4],
        geometry: &[f64],
    ) -> Result<Option<Self>> {
        let d = dimension;
        let expected = [2 * d * level.len(), level.len(), ratio.len() / d * d, 2 * d, 2 * d];
        let found = [boxes.len(), level.len(), ratio.len(), domain.len(), geometry.len()];
        let are_levels = ratio.len() / d <= MAX_LEVELS && ratio.iter().all(|&n| n >= 1);
        let are_sizes = geometry[d.min(geometry.len())..].iter().all(|&size| size > 0.0);
        if found != expected || !are_levels || !are_sizes || !geometry.iter().all(|n| n.is_finite()) {
            return Ok(None);
        }
        let mut mesh = Self { dimension, origin: on_three_axes(&geometry[..d], 0.0), levels: Vec::new() };
        let mut spacing = on_three_axes(&geometry[d..], 1.0);
        // The number of cells of the level side by side in one of level 0.
        let mut scale = vec![1_i64; d];
        let (mut patch, mut cells) = (0, 0_u64);
        for (ratios, number) in ratio.chunks_exact(d).zip(0..) {
            for axis in 0..d {
                let Some(more) = scale[axis].checked_mul(ratios[axis]) else { return Ok(None) };
                scale[axis] = more;
                #[allow(clippy::cast_precision_loss)] // far fewer than 2^53
                let ratio = ratios[axis] as f64;
                spacing[axis] /= ratio;
            }
            let first = cells;
            let mut own = Vec::new();
            while level.get(patch) == Some(&number) {
                let Some((bytes, count)) = vtk_box(&boxes[2 * d * patch..][..2 * d], domain, &scale) else {
                    return Ok(None);
                };
                let Some(all) = sum(cells, count) else { return Ok(None) };
                cells = all;
                reserve(&mut own, bytes.len())?;
                own.extend_from_slice(&bytes);
                patch += 1;
            }
            mesh.levels.push(Level { boxes: own, spacing, cells: first..cells });
        }
        // VTK ignores levels without patches at the end, but does not support them between others.
        while mesh.levels.last().is_some_and(|level| level.boxes.is_empty()) {
            mesh.levels.pop();
        }
        let is_whole = patch == level.len() && !mesh.levels.is_empty();
        Ok((is_whole && mesh.levels.iter().all(|level| !level.boxes.is_empty())).then_some(mesh))
    }

    fn cells(&self) -> u64 {
        self.levels.last().map_or(0, |level| level.cells.end)
    }
}

/// A box in VTK's form, counted from the corner of the domain, and the number of its cells.
fn vtk_box(own: &[i64], domain: &[i64], scale: &[i64]) -> Option<([u8; 24], u64)> {
    let d = scale.len();
    let (mut bytes, mut cells) = ([0; 24], 1);
    for axis in 0..d {
        let (first, count) = (own[axis], u64::try_from(own[d + axis]).ok().filter(|&n| n > 0)?);
        let first = first.checked_sub(domain[axis].checked_mul(scale[axis])?)?;
        let last = first.checked_add(own[d + axis])?.checked_sub(1)?;
        for (side, index) in [first, last].into_iter().enumerate() {
            let index = i32::try_from(index).ok()?;
            bytes[4 * (2 * axis + side)..][..4].copy_from_slice(&index.to_le_bytes());
        }
        cells = product(cells, count)?;
    }
    Some((bytes, cells))
}

fn on_three_axes(values: &[f64], rest: f64) -> [f64; 3] {
    std::array::from_fn(|axis| values.get(axis).copied().unwrap_or(rest))
}

/// Adds a mesh, or returns the reason why it cannot be shown.
pub fn add(
    canvas: &mut Canvas<'_>,
    series: &Series<'_>,
    group: &str,
    mesh: &Patches,
) -> Result<Result<(), Reason>> {
    let times = series.times(canvas, &MESH).filter(|times| !times.mesh_changes);
    let description = if mesh.dimension == 3 { "XYZ" } else { "XY" };
    let attributes = vec![
        ("GridDescription".to_owned(), Value::FixedText(description.to_owned())),
        reals("Origin", &mesh.origin),
    ];
    // Later versions have other names for the parts of time steps; VTK still reads those of this version.
    canvas.begin("OverlappingAMR", [2, 2], attributes);
    if let Some(times) = &times {
        canvas.steps(times.count, Some(&times.path));
    }
    for (number, level) in mesh.levels.iter().enumerate() {
        let name = format!("Level{number}");
        canvas.group(&name, vec![reals("Spacing", &level.spacing)]);
        for data in ["PointData", "CellData", "FieldData"] {
            canvas.group(&format!("{name}/{data}"), Vec::new());
        }
        let boxes = level.boxes.len() as u64 / 24;
        canvas.bytes(&format!("{name}/AMRBox"), DataType::Int32, &[boxes, 6], level.boxes.clone());
        if let Some(times) = &times {
            canvas.constant(&format!("Steps/{name}/NumberOfAMRBox"), boxes, &[times.count]);
            canvas.constant(&format!("Steps/{name}/AMRBoxOffset"), 0, &[times.count]);
            for data in ["PointData", "CellData", "FieldData"] {
                canvas.group(&format!("Steps/{name}/{data}Offset"), Vec::new());
            }
        }
    }
    let which = if times.is_some() { Which::All } else { Which::Last };
    each_field(
        canvas,
        series,
        times.as_ref(),
        &format!("{group}/fields/"),
        "fields/",
        |canvas, name, field| {
            if let Some(why) = field.cannot_be(mesh.cells()) {
                return Ok(Err(why));
            }
            for (number, level) in mesh.levels.iter().enumerate() {
                let Some(path) = canvas.field_name(&format!("Level{number}/CellData"), name) else {
                    return Ok(Err("its name is taken"));
                };
                canvas.rows(&path, field, which, level.cells.clone())?;
                if let Some(times) = &times {
                    let offsets = path.replacen("/CellData/", "/CellDataOffset/", 1);
                    let cells = level.cells.end - level.cells.start;
                    canvas.progression(&format!("Steps/{offsets}"), cells, &[times.count]);
                }
            }
            Ok(Ok(()))
        },
    )?;
    Ok(Ok(()))
}
