//! Writes the datasets of a mesh.

use crate::names::part_name;
use crate::notes::GroupNotes;
use scda::{DataType, Dataset, Error, IndexBox, Result, Writer};
use scda_base::memory::reserve;

/// A dataset of a mesh; each rank has some rows of it.
pub(crate) struct Part {
    dataset: Dataset,
    regions: Vec<IndexBox>,
    bytes: Vec<u8>,
}

/// Rows of this rank.
pub(crate) enum Rows<'a> {
    /// A number of rows (the second number), from a row (the first number) on.
    From(u64, u64),
    /// Those with these numbers.
    Numbered(&'a [u64]),
}

impl Part {
    /// From the numbers in this rank's rows.
    pub fn new<const N: usize>(
        (group, part): (&str, &str),
        data_type: DataType,
        shape: impl Into<Vec<u64>>,
        rows: &Rows<'_>,
        numbers: impl ExactSizeIterator<Item = [u8; N]>,
    ) -> Result<Self> {
        let dataset = Dataset::new(part_name(group, part)?, data_type, shape);
        let (mut regions, mut bytes) = (Vec::new(), Vec::new());
        let region = |first: u64, count: u64| {
            let mut region = IndexBox::all(&dataset.shape);
            (region.start[0], region.count[0]) = (first, count);
            region
        };
        match rows {
            Rows::From(first, count) if *count > 0 => regions.push(region(*first, *count)),
            Rows::From(..) => {}
            Rows::Numbered(numbers) => {
                reserve(&mut regions, numbers.len())?;
                regions.extend(numbers.iter().map(|&number| region(number, 1)));
            }
        }
        reserve(&mut bytes, numbers.len() * N)?;
        numbers.for_each(|number| bytes.extend(number));
        Ok(Self { dataset, regions, bytes })
    }

    /// Adds attributes.
    pub fn attributes(mut self, attributes: &str) -> Self {
        attributes.clone_into(&mut self.dataset.attributes);
        self
    }

    /// Names the first dimension.
    pub fn dimension(mut self, name: &str) -> Self {
        self.dataset.dimension_names = vec![None; self.dataset.shape.len()];
        self.dataset.dimension_names[0] = Some(name.to_owned());
        self
    }
}

/// Writes datasets of a mesh.
pub(crate) fn write_parts(file: &mut Writer, parts: &[Part]) -> Result<()> {
    let all = parts.iter().map(|part| (&part.dataset, &*part.regions, &part.bytes));
    file.datasets(&all.collect::<Vec<_>>())
}

/// Writes the attributes of a group, unless the file has them.
pub(crate) fn write_group(
    file: &mut Writer,
    known: &mut GroupNotes,
    group: &str,
    attributes: &str,
) -> Result<()> {
    if !known.has_group {
        file.group(group, attributes)?;
        known.has_group = true;
    }
    Ok(())
}

/// The dataset of a field in a group: its name is in the group's `fields`, and its first number of indices is
/// `rows`.
pub(crate) fn field(group: &str, dataset: &Dataset, rows: u64, dimension: Option<&str>) -> Result<Dataset> {
    let mut field = dataset.clone();
    if field.extends {
        let name = &dataset.name;
        return Err(Error::argument(format!(
            "field {name}: found extends = 1, expected 0: the rows of a field are written in one call"
        )));
    }
    field.name = part_name(group, &format!("fields/{}", dataset.name))?;
    if field.shape.is_empty() {
        field.shape.push(rows);
    }
    field.shape[0] = rows;
    if let Some(dimension) = dimension {
        field.dimension_names.resize(field.shape.len(), None);
        field.dimension_names[0] = Some(dimension.to_owned());
    }
    Ok(field)
}
