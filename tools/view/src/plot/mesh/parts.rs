//! The datasets of a mesh: those of one step.

use crate::datasets::box_parts;
use crate::fail::{Fail, Result};
use crate::output::visible;
use crate::plot::cf_decoding::CfDecoding;
use scda::{DatasetHandle, IndexBox, Reader};
use scda_format::dataset::stored_name;
use scda_meshes::steps::last;

/// The most cells of a mesh that are drawn: all of them are in memory.
pub const MOST: u64 = 1 << 25;

/// The numbers of a dataset, and its shape.
pub type Numbers = (Vec<u64>, Vec<f64>);

/// Finds the datasets of a group up to the end of a step.
pub struct Parts<'a> {
    pub reader: &'a mut Reader,
    pub group: &'a str,
    /// The section that ends the step.
    pub end: u64,
}

impl Parts<'_> {
    pub fn fail<T>(&self, words: impl std::fmt::Display) -> Result<T> {
        Err(Fail::Trouble(format!("{}: {words}", visible(self.group))))
    }

    /// The last record of a name from section `begin` on, before the end of the step, and the name as it is stored.
    fn record(&mut self, name: &str, begin: u64) -> Result<(String, Option<i64>)> {
        let name = stored_name(&format!("{}/{name}", self.group)).into_owned();
        let record = last(self.reader, &name, &(begin..self.end))?;
        Ok((name, record))
    }

    /// The section of the last dataset of a name before the end of the step; 0 if there is none.
    pub fn section(&mut self, name: &str) -> Result<u64> {
        let (name, record) = self.record(name, 0)?;
        let section = record.map(|record| self.reader.find(name.as_bytes(), record)).transpose()?;
        Ok(section.flatten().unwrap_or(0))
    }

    /// The last dataset of a name from section `begin` on, before the end of the step.
    pub fn dataset(&mut self, name: &str, begin: u64) -> Result<Option<DatasetHandle>> {
        let (_, Some(record)) = self.record(name, begin)? else { return Ok(None) };
        Ok(self.reader.dataset_record(&format!("{}/{name}", self.group), record)?)
    }

    /// Its numbers.
    pub fn last(&mut self, name: &str, begin: u64) -> Result<Option<Numbers>> {
        let Some(dataset) = self.dataset(name, begin)? else { return Ok(None) };
        let (meaning, _) = CfDecoding::column(&dataset, None)?;
        Ok(Some((dataset.shape.clone(), read(self.reader, &dataset, &meaning)?)))
    }

    pub fn need(&mut self, name: &str, begin: u64) -> Result<Numbers> {
        match self.last(name, begin)? {
            Some(found) => Ok(found),
            None => self.fail(format_args!("{name} is missing, which a mesh has")),
        }
    }
}

/// All numbers of a dataset.
pub fn read(reader: &mut Reader, dataset: &DatasetHandle, meaning: &CfDecoding) -> Result<Vec<f64>> {
    let items = dataset.shape.iter().fold(1_u64, |all, &n| all.saturating_mul(n));
    if items > 32 * MOST {
        let name = visible(&dataset.name);
        return Err(Fail::Trouble(format!("{name}: cannot be drawn: {items} items are too many")));
    }
    let (mut numbers, mut data) = (Vec::new(), Vec::new());
    for slab in box_parts::BoxParts::new(dataset, IndexBox::all(&dataset.shape)) {
        box_parts::read(reader, dataset, &slab, &mut data)?;
        meaning.append(&data, &mut numbers);
    }
    Ok(numbers)
}

/// A whole number of a file as an index; what is none is an index that nothing has.
pub fn index(number: f64) -> usize {
    usize::try_from(whole(number)).unwrap_or(usize::MAX)
}

pub use crate::plot::tick::whole;

/// A point among the coordinates of points, three of each.
pub fn point(coordinates: &[f64], number: usize) -> Option<[f64; 3]> {
    let begin = number.saturating_mul(3);
    coordinates.get(begin..begin.saturating_add(3)).map(|at| [at[0], at[1], at[2]])
}
