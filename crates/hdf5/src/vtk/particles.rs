//! Shows particles as VTK's PolyData: points, each with a vertex.

use super::canvas::{Canvas, Which, inner};
use super::series::{Series, each_field};
use crate::auxiliary::{Mapping, Slab};
use crate::item::Reason;
use scda_base::error::Result;
use scda_format::dataset::DataType;

/// The most points in a part, unless there would be too many parts. Numbers up to this one are stored once,
/// for all parts.
const PART_POINTS: u64 = (1 << 12) - 1;
const MAX_PARTS: u64 = 64;

const FOLDER: &str = "fields/";
const POSITION: &str = "fields/position";
/// The name of the numbers from 0 on, which VTK ignores.
const NUMBERS: &str = "Numbers";

/// Adds particles, or returns the reason why they cannot be shown.
pub fn add(canvas: &mut Canvas<'_>, series: &Series<'_>, group: &str) -> Result<Result<(), Reason>> {
    let Some(position) = canvas.field(&format!("{group}/{POSITION}")) else {
        return Ok(Err("there is no dataset with the positions"));
    };
    let is_float = matches!(position.data_type(), DataType::Float32 | DataType::Float64);
    let count = match position.shape() {
        [count] | [count, 1..=3] if is_float => *count,
        _ => return Ok(Err("its positions have an unexpected form")),
    };
    let times = series.times(canvas, &[POSITION]).filter(|times| times.mesh_changes);
    let which = if times.is_some() { Which::All } else { Which::Last };
    canvas.begin("PolyData", [2, 0], Vec::new());
    canvas.rows_of_width("Points", &position, which, 0..count, Some(3))?;
    vertices(canvas, count);
    if let Some(times) = &times {
        let all = times.count;
        let parts = parts(count).len() as u64;
        canvas.steps(all, Some(&times.path));
        canvas.constant("Steps/PartOffsets", 0, &[all]);
        canvas.constant("Steps/NumberOfParts", parts, &[all]);
        canvas.progression("Steps/PointOffsets", count, &[all]);
        canvas.constant("Steps/CellOffsets", 0, &[all, 4]);
        canvas.constant("Steps/ConnectivityIdOffsets", 0, &[all, 4]);
    }
    let folder = format!("{group}/{FOLDER}");
    each_field(canvas, series, times.as_ref(), &folder, FOLDER, |canvas, name, field| {
        if name == "position" {
            return Ok(Ok(()));
        }
        if let Some(why) = field.cannot_be(count) {
            return Ok(Err(why));
        }
        let Some(path) = canvas.field_name("PointData", name) else { return Ok(Err("its name is taken")) };
        canvas.rows(&path, field, which, 0..count)?;
        Ok(Ok(()))
    })?;
    Ok(Ok(()))
}

/// The number of points in each part.
fn parts(points: u64) -> Vec<u64> {
    let most = points.div_ceil(MAX_PARTS).next_power_of_two() - 1;
    let most = if most < points.div_ceil(MAX_PARTS) { 2 * most + 1 } else { most }.max(PART_POINTS);
    let mut counts = vec![most; usize::try_from(points / most).unwrap_or(0)];
    if !points.is_multiple_of(most) || counts.is_empty() {
        counts.push(points % most);
    }
    counts
}

/// Adds a vertex for each point. In each part, points and vertices are numbered from 0.
fn vertices(canvas: &mut Canvas<'_>, points: u64) {
    let parts = parts(points);
    let count = parts.len() as u64;
    let shape = [count];
    let bytes: Vec<u8> = parts.iter().flat_map(|n| n.to_le_bytes()).collect();
    for name in ["NumberOfPoints", "Vertices/NumberOfCells", "Vertices/NumberOfConnectivityIds"] {
        canvas.bytes(name, DataType::Int64, &shape, bytes.clone());
    }
    let most = parts.first().copied().unwrap_or(0);
    canvas.progression(NUMBERS, 1, &[most + 1]);
    for (name, more) in [("Vertices/Connectivity", 0), ("Vertices/Offsets", 1)] {
        let mut begin = 0;
        let mut boxes = Vec::new();
        for part in &parts {
            let slab = |start: u64| Slab { start: vec![start], count: vec![part + more] };
            if part + more > 0 {
                boxes.push(Mapping { path: inner(NUMBERS), from: slab(0), to: slab(begin) });
            }
            begin += part + more;
        }
        canvas.boxes(name, DataType::Int64, &[begin], boxes);
    }
    for kind in ["Lines", "Polygons", "Strips"] {
        for name in ["NumberOfCells", "NumberOfConnectivityIds", "Offsets"] {
            canvas.constant(&format!("{kind}/{name}"), 0, &shape);
        }
        canvas.constant(&format!("{kind}/Connectivity"), 0, &[0]);
    }
}
