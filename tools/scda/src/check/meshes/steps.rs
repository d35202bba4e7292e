//! The time steps of a mesh, and the data that belong to them.

use super::column::{Column, Datasets};
use super::{MeshGroup, MeshResult, wrong};
use scda::DataType;
use scda_meshes::MeshError;
use scda_meshes::attributes::expect_mesh;
use scda_meshes::checksum::Checksum;

/// The beginnings of a mesh's steps.
pub struct MeshSteps {
    /// The sections of the times; a mesh without times has one step that begins with the file.
    begins: Vec<u64>,
}

impl MeshSteps {
    /// The steps of a mesh. Its times must be numbers.
    pub fn new(mesh: &MeshGroup, datasets: &mut Datasets) -> MeshResult<Self> {
        let times = mesh.all("time");
        for &time in times {
            datasets.expect(time, |found| found == DataType::Float64, "float64", &[])?;
        }
        Ok(Self { begins: if times.is_empty() { vec![0] } else { times.to_vec() } })
    }

    /// The number of each step, and its range of sections.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u64, u64)> + '_ {
        let ends = self.begins.iter().skip(1).copied().chain([u64::MAX]);
        self.begins.iter().zip(ends).enumerate().map(|(step, (&begin, end))| (step, begin, end))
    }

    /// The step of a section; `None` before the first time.
    pub fn of(&self, number: u64) -> Option<usize> {
        self.begins.partition_point(|&begin| begin <= number).checked_sub(1)
    }

    /// Calls `check` with each field whose name begins with this prefix, and with the `rows` of the mesh of its step.
    /// If a step has several fields with one name, only with the last one.
    pub fn fields(
        &self,
        mesh: &MeshGroup,
        prefix: &str,
        rows: &[u64],
        mut check: impl FnMut(&str, u64, u64) -> MeshResult,
    ) -> MeshResult {
        for (name, numbers) in
            mesh.parts.range(prefix.to_owned()..).take_while(|(name, _)| name.starts_with(prefix))
        {
            for (place, &number) in numbers.iter().enumerate() {
                let Some(step) = self.of(number) else {
                    return wrong(number, format!("the field {name} is before the first time"));
                };
                if numbers.get(place + 1).and_then(|&next| self.of(next)) != Some(step) {
                    check(name, number, rows[step])?;
                }
            }
        }
        Ok(())
    }

    /// Requires that a field that refers to a mesh refers to the mesh of its step.
    pub fn belongs(&self, field: Option<&Column>, number: u64, checksums: &[Checksum]) -> MeshResult {
        let (Some(field), Some(step)) = (field, self.of(number)) else { return Ok(()) };
        let named = expect_mesh(&field.attributes, "", checksums[step], &format!("of step {step}"));
        named.or_else(|MeshError { words, .. }| wrong(number, words))
    }

    /// The range of sections of a section's step.
    pub fn range(&self, number: u64) -> (u64, u64) {
        let step = self.of(number);
        let begin = step.map_or(0, |step| self.begins[step]);
        (begin, self.begins.get(step.map_or(0, |step| step + 1)).copied().unwrap_or(u64::MAX))
    }
}

/// Requires that a field has as many rows as the mesh has of `what`; returns it if it can be read.
pub fn expect_rows(
    datasets: &mut Datasets,
    number: u64,
    rows: u64,
    what: &str,
) -> MeshResult<Option<Column>> {
    let Some(values) = datasets.open(number)? else { return Ok(None) };
    let found = values.rows();
    if values.shape.is_empty() || found != rows {
        return wrong(number, format!("found {found} rows, expected {rows}, one for each {what}"));
    }
    Ok(Some(values))
}
