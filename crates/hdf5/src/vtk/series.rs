//! Meshes with time steps, and the fields of a step.

use super::canvas::{Canvas, Field};
use super::steps::{Presence, Steps};
use crate::item::Reason;
use scda_base::error::Result;
use scda_format::dataset::DataType;

/// The datasets of a mesh in time steps.
pub struct Series<'a> {
    /// The group.
    pub group: &'a str,
    /// The dataset whose records begin the steps.
    pub times: String,
    /// Its datasets.
    pub steps: Steps<'a>,
}

/// The time steps that VTK gets.
pub struct Times {
    /// The dataset with the times.
    pub path: String,
    /// The number of steps.
    pub count: u64,
    /// Whether each step has a mesh. Otherwise one mesh is valid for all.
    pub mesh_changes: bool,
}

impl Series<'_> {
    /// The time steps, if these datasets, which form the mesh, are either in every step or valid for all, and
    /// do not change in shape. Otherwise VTK gets the last step.
    pub fn times(&self, canvas: &Canvas<'_>, mesh: &[&str]) -> Option<Times> {
        let count = self.steps.count();
        let field = |name: &str| canvas.field(&format!("{}/{name}", self.group));
        let times =
            canvas.field(&self.times).filter(|times| times.records() == count && times.shape().is_empty())?;
        let is_known = count > 1 && times.data_type() == DataType::Float64;
        let first = self.steps.presence(mesh.first()?);
        let is_alike = |name: &&str| {
            let records = if first == Presence::Each { count } else { 1 };
            self.steps.presence(name) == first && field(name).is_some_and(|field| field.records() == records)
        };
        if !is_known || matches!(first, Presence::Other(_)) || !mesh.iter().all(is_alike) {
            return None;
        }
        Some(Times { path: self.times.clone(), count, mesh_changes: first == Presence::Each })
    }
}

/// Adds the fields in a folder with a function, which returns the reason if one cannot be shown. For a mesh
/// with time steps, these are the fields that every step has; otherwise those of the last step.
pub fn each_field(
    canvas: &mut Canvas<'_>,
    series: &Series<'_>,
    times: Option<&Times>,
    folder: &str,
    inner: &str,
    mut add: impl FnMut(&mut Canvas<'_>, &str, &Field) -> Result<Result<(), Reason>>,
) -> Result<()> {
    for name in series.steps.names(inner) {
        // Fields that are not shown at all are reported elsewhere.
        let path = format!("{folder}{name}");
        let Some(field) = canvas.field(&path) else { continue };
        let presence = series.steps.presence(&format!("{inner}{name}"));
        let added = match times {
            Some(times) if presence == Presence::Each && field.records() == times.count => {
                add(canvas, name, &field)?
            }
            Some(_) => Err("it is not in each time step with the same shape"),
            None if presence == Presence::Other(false) => Err("the last time step does not have it"),
            None if presence == Presence::Static && series.steps.count() > 1 => {
                Err("the last time step does not have it")
            }
            None => add(canvas, name, &field)?,
        };
        if let Err(why) = added {
            canvas.hide(&path, why);
        }
    }
    Ok(())
}
