//! Writes the datasets of a mesh.

use crate::notes::GroupNotes;
use scda::{Dataset, Error, ErrorKind, IndexBox, Result, Writer};
use scda_base::memory::reserve;
use scda_format::meshes::part_name;
use scda_format::meshes::parts::{Items, Part};
use std::borrow::Cow;

/// Rows of this rank.
#[derive(Clone, Copy)]
pub(crate) enum Rows<'a> {
    /// A number of rows (the second number), from a row (the first number) on.
    From(u64, u64),
    /// Those with these numbers.
    Numbered(&'a [u64]),
}

impl Rows<'_> {
    /// Their boxes in a dataset of this shape.
    fn boxes(self, shape: &[u64]) -> Result<Vec<IndexBox>> {
        match self {
            Self::From(first, n) => Ok(rows(shape, first, n)),
            Self::Numbered(numbers) => {
                let mut boxes = Vec::new();
                reserve(&mut boxes, numbers.len())?;
                boxes.extend(numbers.iter().flat_map(|&number| rows(shape, number, 1)));
                Ok(boxes)
            }
        }
    }
}

/// `n` rows from `first` on; no box if there are none.
pub(crate) fn rows(shape: &[u64], first: u64, n: u64) -> Vec<IndexBox> {
    let mut region = IndexBox::all(shape);
    (region.start[0], region.count[0]) = (first, n);
    if n == 0 { Vec::new() } else { vec![region] }
}

/// The bytes of numbers.
pub(crate) fn bytes_of<const N: usize>(numbers: impl ExactSizeIterator<Item = [u8; N]>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reserve(&mut bytes, numbers.len() * N)?;
    numbers.for_each(|number| bytes.extend(number));
    Ok(bytes)
}

/// Parts of a mesh, of which each rank has some rows.
pub(crate) struct Columns<'a> {
    group: &'a str,
    dimension: usize,
    is_first: bool,
    all: Vec<(Dataset, Vec<IndexBox>, Cow<'a, [u8]>)>,
}

impl<'a> Columns<'a> {
    /// For a mesh of this dimension, on the first rank or another one.
    pub fn new(group: &'a str, dimension: usize, is_first: bool) -> Self {
        Self { group, dimension, is_first, all: Vec::new() }
    }

    /// Adds a part of `all` rows, and this rank's rows of it. Returns its dataset, to which attributes can be added.
    pub fn push(
        &mut self,
        part: &Part,
        all: u64,
        own: Rows<'_>,
        bytes: impl Into<Cow<'a, [u8]>>,
    ) -> Result<&mut Dataset> {
        let data_type = match part.items {
            Items::Of(data_type) => data_type,
            Items::Reals | Items::Bytes => {
                return Err(Error::new(ErrorKind::Internal, format!("{}: no type to write", part.name)));
            }
        };
        let shape: Vec<u64> = part.extents(self.dimension, Some(all)).flatten().collect();
        let boxes = own.boxes(&shape)?;
        let mut dataset = Dataset::new(part_name(self.group, part.name)?, data_type, shape);
        dataset.dimension_names = part.dimensions.iter().map(|name| Some((*name).to_owned())).collect();
        let bytes = if boxes.is_empty() { Cow::Borrowed(&[][..]) } else { bytes.into() };
        let at = self.all.len();
        self.all.push((dataset, boxes, bytes));
        Ok(&mut self.all[at].0)
    }

    /// Adds a part that all ranks have, and the first one writes.
    pub fn of_first(
        &mut self,
        part: &Part,
        all: u64,
        bytes: impl Into<Cow<'a, [u8]>>,
    ) -> Result<&mut Dataset> {
        let own = if self.is_first { all } else { 0 };
        self.push(part, all, Rows::From(0, own), bytes)
    }

    /// Writes the datasets.
    pub fn write(&self, file: &mut Writer) -> Result<()> {
        let all = self.all.iter().map(|(dataset, boxes, bytes)| (dataset, &**boxes, bytes));
        file.datasets(&all.collect::<Vec<_>>())
    }
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
