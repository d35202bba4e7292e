//! The time steps of a mesh, and the data that belong to them.

use super::column::{Column, Datasets};
use super::{MeshGroup, MeshResult, wrong};
use scda_format::meshes::attributes::expect_mesh;
use scda_format::meshes::checksum::Checksum;
use scda_format::meshes::parts::TIME;
use scda_format::meshes::{MeshError, Steps};
use std::collections::BTreeMap;
use std::ops::Range;

/// The steps of a mesh, in sections.
pub struct MeshSteps(Steps);

impl MeshSteps {
    /// The steps of a mesh. Its times must be numbers.
    pub fn new(mesh: &MeshGroup, datasets: &mut Datasets) -> MeshResult<Self> {
        let times = mesh.all(TIME.name);
        for &time in times {
            datasets.expect(time, &TIME, 0, None)?;
        }
        Ok(Self(Steps::new(times.to_vec())))
    }

    /// The number of each step, and its sections.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Range<u64>)> {
        self.0.ranges().enumerate()
    }

    /// The sections of a step.
    pub fn range(&self, step: usize) -> Range<u64> {
        self.0.range(step)
    }

    /// The last mesh before the end of a step, or another thing, by its first section. `lacks` says that there is none.
    pub fn last<'a, T>(
        &self,
        step: usize,
        mesh: &MeshGroup,
        found: &'a BTreeMap<u64, T>,
        lacks: &str,
    ) -> MeshResult<(u64, &'a T)> {
        let sections = self.range(step);
        match found.range(..sections.end).next_back() {
            Some((&number, found)) => Ok((number, found)),
            None => {
                let number = sections.start.max(mesh.number);
                wrong(number, format!("{lacks} up to the end of step {step}"))
            }
        }
    }

    /// Calls `check` with each field whose name begins with this prefix: its name, its section, and its step. If a step
    /// has several fields with one name, only with the last one.
    pub fn fields(
        &self,
        mesh: &MeshGroup,
        prefix: &str,
        mut check: impl FnMut(&str, u64, usize) -> MeshResult,
    ) -> MeshResult {
        for (name, numbers) in
            mesh.parts.range(prefix.to_owned()..).take_while(|(name, _)| name.starts_with(prefix))
        {
            for (place, &number) in numbers.iter().enumerate() {
                let Some(step) = self.0.of(number) else {
                    return wrong(number, format!("the field {name} is before the first time"));
                };
                if numbers.get(place + 1).and_then(|&next| self.0.of(next)) != Some(step) {
                    check(name, number, step)?;
                }
            }
        }
        Ok(())
    }
}

/// Requires that a field that refers to a mesh refers to the one of its step, which has this checksum.
pub fn belongs(field: Option<&Column>, number: u64, step: usize, checksum: Checksum) -> MeshResult {
    let Some(field) = field else { return Ok(()) };
    let named = expect_mesh(&field.attributes, "", checksum, &format!("of step {step}"));
    named.or_else(|MeshError { words, .. }| wrong(number, words))
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
