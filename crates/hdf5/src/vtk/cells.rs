//! Shows meshes of points and cells as VTK's UnstructuredGrid.

use super::canvas::{Canvas, Field, Which};
use super::series::{Series, each_field};
use crate::item::Reason;
use scda_base::error::Result;
use scda_format::meshes::parts::CELLS;

/// The points and the cells of a mesh.
struct Mesh {
    points: Field,
    corners: Field,
    offsets: Field,
    types: Field,
}

impl Mesh {
    fn find(canvas: &Canvas<'_>, group: &str) -> Result<Self, Reason> {
        let found = CELLS.map(|part| canvas.field(&format!("{group}/{}", part.name)));
        let [Some(points), Some(corners), Some(offsets), Some(types)] = found else {
            return Err("its points or cells are not shown");
        };
        let ends = types.shape().first().and_then(|cells| cells.checked_add(1));
        let rows = [None, None, ends, None];
        let fits = [&points, &corners, &offsets, &types]
            .into_iter()
            .zip(CELLS)
            .zip(rows)
            .all(|((field, part), rows)| part.check((field.data_type(), field.shape()), 0, rows).is_ok());
        let mesh = Self { points, corners, offsets, types };
        if fits { Ok(mesh) } else { Err("its points or cells have an unexpected form") }
    }

    fn parts(&self) -> [(&'static str, &Field); 4] {
        [
            ("Points", &self.points),
            ("Connectivity", &self.corners),
            ("Offsets", &self.offsets),
            ("Types", &self.types),
        ]
    }
}

/// Adds a mesh, or returns the reason why it cannot be shown.
pub fn add(canvas: &mut Canvas<'_>, series: &Series<'_>, group: &str) -> Result<Result<(), Reason>> {
    let mesh = match Mesh::find(canvas, group) {
        Ok(mesh) => mesh,
        Err(why) => return Ok(Err(why)),
    };
    let times = series.times(canvas, &CELLS.map(|part| part.name));
    // The number of meshes.
    let (which, meshes) = match &times {
        Some(times) if times.mesh_changes => (Which::All, times.count),
        _ => (Which::Last, 1),
    };
    let count = |field: &Field| field.shape()[0];
    let (points, cells, corners) = (count(&mesh.points), count(&mesh.types), count(&mesh.corners));
    canvas.begin("UnstructuredGrid", [2, 0], Vec::new());
    for (name, field) in mesh.parts() {
        canvas.rows(name, field, which, 0..count(field))?;
    }
    for (name, number) in
        [("NumberOfPoints", points), ("NumberOfCells", cells), ("NumberOfConnectivityIds", corners)]
    {
        canvas.constant(name, number, &[meshes]);
    }
    if let Some(times) = &times {
        let all = times.count;
        let stride = |number: u64| if times.mesh_changes { number } else { 0 };
        canvas.steps(all, Some(&times.path));
        canvas.progression("Steps/PartOffsets", stride(1), &[all]);
        canvas.constant("Steps/NumberOfParts", 1, &[all]);
        canvas.progression("Steps/PointOffsets", stride(points), &[all]);
        canvas.progression("Steps/CellOffsets", stride(cells), &[all, 1]);
        canvas.progression("Steps/ConnectivityIdOffsets", stride(corners), &[all, 1]);
    }
    for (folder, data, rows) in [("cell_fields/", "CellData", cells), ("point_fields/", "PointData", points)]
    {
        each_field(
            canvas,
            series,
            times.as_ref(),
            &format!("{group}/{folder}"),
            folder,
            |canvas, name, field| {
                if let Some(why) = field.cannot_be(rows) {
                    return Ok(Err(why));
                }
                let Some(path) = canvas.field_name(data, name) else { return Ok(Err("its name is taken")) };
                let which = if times.is_some() { Which::All } else { Which::Last };
                canvas.rows(&path, field, which, 0..rows)?;
                if let Some(times) = &times {
                    let offsets = path.replacen('/', "Offsets/", 1);
                    canvas.progression(&format!("Steps/{offsets}"), rows, &[times.count]);
                }
                Ok(Ok(()))
            },
        )?;
    }
    Ok(Ok(()))
}
