//! Shows meshes of patches as VTK's OverlappingAMR.

use super::canvas::{Canvas, Which, reals};
use super::series::{Series, each_field};
use super::tables::{self, Read};
use crate::attribute::Value;
use crate::item::{Item, Reason};
use scda_base::error::Result;
use scda_base::memory::reserve;
use scda_format::dataset::DataType;
use scda_format::meshes::parts::{PATCH_LEVEL, PATCHES};
use scda_format::meshes::patches::{Frame, PatchChecker};
use std::ops::Range;
use std::sync::Arc;

/// The most patches: a box of VTK takes 24 bytes in the view.
const MAX_PATCHES: usize = 1 << 16;
const MAX_LEVELS: usize = 64;

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
        const WRONG: Reason = "its patches are inconsistent";
        let found = PATCHES.map(|part| last(part.name));
        let patches = found[0].and_then(|boxes| boxes.shape.first().copied());
        let mut all = Vec::new();
        for (part, item) in PATCHES.iter().zip(found) {
            let Some(item) = item else { return Ok(Err(NONE)) };
            if part
                .check((item.of, &item.shape), dimension, patches.filter(|_| part.name == PATCH_LEVEL.name))
                .is_err()
            {
                return Ok(Err(WRONG));
            }
            match tables::bytes(item, read)? {
                Some(bytes) => all.push(bytes),
                None => return Ok(Err(NONE)),
            }
        }
        let [boxes, level, ratio, domain, geometry] = &all[..] else { return Ok(Err(NONE)) };
        let level = tables::numbers(level, i32::from_le_bytes)?;
        if level.len() > MAX_PATCHES {
            return Ok(Err(NONE));
        }
        let frame = Frame {
            dimension,
            ratio: tables::numbers(ratio, i32::from_le_bytes)?,
            domain: tables::numbers(domain, i64::from_le_bytes)?,
            geometry: tables::numbers(geometry, f64::from_le_bytes)?,
        };
        Ok(Self::of(&frame, &level, &tables::numbers(boxes, i64::from_le_bytes)?)?.ok_or(WRONG))
    }

    /// The mesh of these patches, if VTK can show it.
    fn of(frame: &Frame, level: &[i32], boxes: &[i64]) -> Result<Option<Self>> {
        let d = frame.dimension;
        let is_finite = frame.geometry.iter().all(|n| n.is_finite());
        if frame.check().is_err() || frame.levels() > MAX_LEVELS || !is_finite {
            return Ok(None);
        }
        let origin = on_three_axes(&frame.geometry[..d], 0.0);
        let mut mesh = Self { dimension: d, origin, levels: Vec::new() };
        let mut spacing = on_three_axes(&frame.geometry[d..], 1.0);
        // The number of cells of the level side by side in one of level 0.
        let mut scale = vec![1_i64; d];
        let mut checked = PatchChecker::new(frame, 0);
        let mut patches = level.iter().zip(boxes.chunks_exact(2 * d)).peekable();
        for (ratios, number) in frame.ratio.chunks_exact(d).zip(0..) {
            for axis in 0..d {
                let Some(more) = scale[axis].checked_mul(ratios[axis].into()) else { return Ok(None) };
                scale[axis] = more;
                spacing[axis] /= f64::from(ratios[axis]);
            }
            let first = checked.cells;
            let mut own = Vec::new();
            while let Some((_, cells)) = patches.next_if(|(level, _)| **level == number) {
                let checked = checked.add(number, cells).ok();
                let Some(bytes) = checked.and_then(|_| vtk_box(cells, &frame.domain, &scale)) else {
                    return Ok(None);
                };
                reserve(&mut own, bytes.len())?;
                own.extend_from_slice(&bytes);
            }
            mesh.levels.push(Level { boxes: own, spacing, cells: first..checked.cells });
        }
        // VTK ignores levels without patches at the end, but does not support them between others.
        while mesh.levels.last().is_some_and(|level| level.boxes.is_empty()) {
            mesh.levels.pop();
        }
        let is_whole = patches.next().is_none() && !mesh.levels.is_empty();
        Ok((is_whole && mesh.levels.iter().all(|level| !level.boxes.is_empty())).then_some(mesh))
    }

    fn cells(&self) -> u64 {
        self.levels.last().map_or(0, |level| level.cells.end)
    }
}

/// A box in VTK's form, counted from the corner of the domain.
fn vtk_box(own: &[i64], domain: &[i64], scale: &[i64]) -> Option<[u8; 24]> {
    let (d, mut bytes) = (scale.len(), [0; 24]);
    for axis in 0..d {
        let first = own[axis].checked_sub(domain[axis].checked_mul(scale[axis])?)?;
        let last = first.checked_add(own[d + axis])?.checked_sub(1)?;
        for (side, index) in [first, last].into_iter().enumerate() {
            let index = i32::try_from(index).ok()?;
            bytes[4 * (2 * axis + side)..][..4].copy_from_slice(&index.to_le_bytes());
        }
    }
    Some(bytes)
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
    let times = series.times(canvas, &PATCHES.map(|part| part.name)).filter(|times| !times.mesh_changes);
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
