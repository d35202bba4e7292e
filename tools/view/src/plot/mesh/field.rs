//! A mesh that can be drawn, and what colours it.

use super::parts::{self, Parts};
use super::{Cut, Mesh, MeshKind, kind};
use crate::fail::{Fail, Result};
use crate::output::visible;
use crate::plot::cf_decoding::{CfDecoding, readable};
use crate::plot::figure::units;
use scda::{DatasetHandle, Reader};
use scda_base::numbers::to_usize;
use scda_format::dataset::stored_name;
use scda_meshes::steps;
use std::ops::Range;

/// The folders of a group in which fields stand.
const FIELDS: [&str; 3] = ["/fields/", "/cell_fields/", "/point_fields/"];

/// What is drawn.
#[derive(Clone, PartialEq)]
pub struct FieldPlace {
    /// The group of the mesh.
    pub group: String,
    pub kind: MeshKind,
    /// The sections at which the step begins and ends.
    begin: u64,
    pub end: u64,
    /// The dataset that colours it, and its record; without one, the level of the cells does.
    field: Option<(String, u64)>,
}

/// The mesh that a field of this name belongs to: its group and kind.
fn mesh_of(reader: &mut Reader, name: &str) -> Result<Option<(String, MeshKind)>> {
    for folder in FIELDS {
        let Some(at) = name.rfind(folder) else { continue };
        let group = &name[..at];
        if let Some(kind) = reader.group(group)?.and_then(|group| kind(&group.attributes)) {
            return Ok(Some((group.to_owned(), kind)));
        }
    }
    Ok(None)
}

fn sections(reader: &mut Reader, name: &str) -> Result<Vec<u64>> {
    Ok(reader.find_all(stored_name(name).as_bytes())?)
}

impl FieldPlace {
    /// Whether a dataset is a field of a mesh.
    pub fn is_field(reader: &mut Reader, name: &str) -> Result<bool> {
        Ok(mesh_of(reader, name)?.is_some())
    }

    /// Whether a field has a number of values of its own for each cell.
    pub fn is_ragged(reader: &mut Reader, name: &str) -> Result<bool> {
        Ok(!sections(reader, &format!("{name}:count"))?.is_empty())
    }

    /// A record of a field, or a step of a group: from 0 on, or from -1, the last one, back. `None` if that is no mesh.
    pub fn find(reader: &mut Reader, name: &str, record: i64) -> Result<Option<Self>> {
        let all = sections(reader, name)?;
        let at = if record < 0 { record + i64::try_from(all.len()).unwrap_or(0) } else { record };
        let record_at = usize::try_from(at).ok().filter(|&at| at < all.len());
        if let (Some(record), Some((group, kind))) = (record_at, mesh_of(reader, name)?) {
            let times = steps::times_of(reader, &group).map(|name| sections(reader, &name))??;
            let step = times.partition_point(|&number| number <= all[record]);
            let begin = step.checked_sub(1).map_or(0, |step| times[step]);
            let end = times.get(step).copied().unwrap_or(u64::MAX);
            return Ok(Some(Self { group, kind, begin, end, field: Some((name.to_owned(), record as u64)) }));
        }
        let Some(kind) = reader.group(name)?.and_then(|group| kind(&group.attributes)) else {
            return Ok(None);
        };
        let Range { start: begin, end } = steps::sections(reader, name, record)?;
        Ok(Some(Self { group: name.to_owned(), kind, begin, end, field: None }))
    }

    /// Whether no field colours it.
    pub fn is_alone(&self) -> bool {
        self.field.is_none()
    }

    pub fn mesh(&self, reader: &mut Reader, cut: Cut) -> Result<Mesh> {
        Mesh::load(reader, &self.group, self.kind, (self.begin, self.end), cut)
    }

    /// A number for each cell, and what these are called.
    pub fn numbers(
        &self,
        reader: &mut Reader,
        mesh: &Mesh,
        column: Option<&str>,
    ) -> Result<(Vec<f64>, String)> {
        let Some((name, record)) = &self.field else { return Ok(mesh.alone()) };
        let count = format!("{}:count", &name[self.group.len() + 1..]);
        let counts = Parts { reader, group: &self.group, end: self.end }.last(&count, self.begin)?;
        let (mut numbers, label) = match counts {
            Some((_, counts)) => self.of_ragged(reader, mesh, &counts, column)?,
            None => {
                let dataset = readable(reader, name, *record)?;
                mesh.of_field(reader, &dataset, column)?
            }
        };
        numbers
            .iter_mut()
            .zip(&mesh.covered)
            .filter(|(_, covered)| **covered)
            .for_each(|(n, _)| *n = f64::NAN);
        Ok((numbers, label))
    }

    /// Of a field with a number of values of its own for each cell: that number, or one of the values.
    fn of_ragged(
        &self,
        reader: &mut Reader,
        mesh: &Mesh,
        counts: &[f64],
        column: Option<&str>,
    ) -> Result<(Vec<f64>, String)> {
        let (name, record) = self.field.clone().unwrap_or_default();
        mesh.expect_rows(&name, counts.len())?;
        let Some(column) = column else {
            let name = name.rsplit('/').next().unwrap_or_default();
            return Ok((counts.to_vec(), format!("values of {} per {}", visible(name), self.kind.cell())));
        };
        let dataset = readable(reader, &name, record)?;
        let (meaning, at) = CfDecoding::column(&dataset, Some(column))?;
        let values = parts::read(reader, &dataset, &meaning)?;
        let rows = dataset.shape.first().copied().map_or(0, to_usize);
        let (per_row, mut begin, at) = (values.len() / rows.max(1), 0, at.unwrap_or(0));
        let of_cell = |&count: &f64| {
            let count = parts::index(count).saturating_mul(per_row);
            let found = if at < count { values.get(begin + at).copied() } else { None };
            begin = begin.saturating_add(count).min(values.len());
            found.unwrap_or(f64::NAN)
        };
        Ok((counts.iter().map(of_cell).collect(), meaning.label_of(&name, |what| format!("{what}[{at}]"))))
    }
}

impl Mesh {
    fn expect_rows(&self, name: &str, rows: usize) -> Result<()> {
        if rows == self.cells {
            return Ok(());
        }
        let (name, cells, cell) = (visible(name), self.cells, self.kind.cell());
        Err(Fail::Trouble(format!(
            "{name}: found {rows} rows, expected {cells}, one for each {cell} of the mesh"
        )))
    }

    /// A number for each cell from a field: of several in a cell the one with this number, or without it the mean of those at corners,
    /// and the length of a vector.
    fn of_field(
        &self,
        reader: &mut Reader,
        dataset: &DatasetHandle,
        column: Option<&str>,
    ) -> Result<(Vec<f64>, String)> {
        let (meaning, component) = CfDecoding::column(dataset, column)?;
        let values = parts::read(reader, dataset, &meaning)?;
        let rows = dataset.shape.first().copied().map_or(0, to_usize);
        let per_row = values.len() / rows.max(1);
        if component.is_some_and(|component| component >= per_row) {
            return Err(Fail::Trouble(format!("each row has {per_row} numbers, numbered from 0")));
        }
        let at_corners = dataset.dimension_names.get(1).is_some_and(|name| name.as_deref() == Some("corner"));
        let is_vector = !at_corners && (2..=3).contains(&per_row) && dataset.shape.len() <= 2;
        let of_row = |row: usize| {
            let all = &values[row * per_row..(row + 1) * per_row];
            match component {
                Some(component) => all[component],
                None if at_corners => all.iter().sum::<f64>() / units(all.len().max(1)),
                None if is_vector => all.iter().map(|number| number * number).sum::<f64>().sqrt(),
                None => all.first().copied().unwrap_or(f64::NAN),
            }
        };
        let label = meaning.label_of(&dataset.name, |what| match component {
            Some(component) if per_row > 1 => format!("{what}[{component}]"),
            None if is_vector => format!("|{what}|"),
            None if per_row > 1 && !at_corners => format!("{what}[0]"),
            _ => what,
        });
        if dataset.name.contains("/point_fields/")
            && let Some((points, begins)) = &self.corners
        {
            let mean = |ends: &[usize]| {
                let some = points.get(ends[0]..ends[1]).unwrap_or_default();
                let sum: f64 =
                    some.iter().map(|&point| if point < rows { of_row(point) } else { f64::NAN }).sum();
                sum / units(some.len())
            };
            return Ok((begins.windows(2).map(mean).collect(), label));
        }
        self.expect_rows(&dataset.name, rows)?;
        Ok(((0..rows).map(of_row).collect(), label))
    }
}
