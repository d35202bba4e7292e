//! Shows meshes of points and cells as VTK's UnstructuredGrid.

use super::canvas::{Canvas, Field, Which};
use super::series::{Series, each_field};
use crate::item::Reason;
use scda_base::error::Result;
use scda_format::dataset::DataType;

/// The points and the cells of a mesh.
struct Mesh {
    points: Field,
    corners: Field,
    offsets: Field,
    types: Field,
}

impl Mesh {
    fn find(canvas: &Canvas<'_>, group: &str) -> Result<Self, Reason> {
        let part =
            |name: &str| canvas.field(&format!("{group}/{name}")).ok_or("its points or cells are not shown");
        let mesh = Self {
            points: part("points")?,
            corners: part("cell_points")?,
            offsets: part("cell_offsets")?,
            types: part("cell_types")?,
        };
        let is_of = |field: &Field, of: DataType| field.data_type() == of && field.shape().len() == 1;
        let are_points = mesh.points.shape().len() == 2 && mesh.points.shape()[1] == 3;
        let is_float = matches!(mesh.points.data_type(), DataType::Float32 | DataType::Float64);
        let fits = are_points
            && is_float
            && is_of(&mesh.corners, DataType::Int64)
            && is_of(&mesh.offsets, DataType::Int64)
            && is_of(&mesh.types, DataType::Uint8)
            && mesh.offsets.shape()[0].checked_sub(1) == Some(mesh.types.shape()[0]);
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
    let times = series.times(canvas, &["points", "cell_points", "cell_offsets", "cell_types"]);
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
