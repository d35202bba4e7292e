//! Datasets, as Python passes them.

use crate::errors::invalid;
use crate::{Bytes, BytesMut};
use pyo3::prelude::*;
use scda::{Codec, DataMut, DataType, Dataset, IndexBox, Layout, Memory, MemoryMut};

/// A box: its first index and the number of indices in each dimension.
pub type Box = (Vec<u64>, Vec<u64>);

/// The memory of a box to write: bytes; how many of them precede the first item; the strides, or None if the
/// items fill the bytes in C order; and the name of the type of the items in memory.
pub type Items<'py> = (Bytes<'py>, usize, Option<Vec<i64>>, String);

/// # Errors
/// If the bytes are not contiguous.
pub fn memories_of<'a>(items: &'a [Items<'_>]) -> PyResult<Vec<Memory<'a>>> {
    let memory = |(bytes, first, strides, name): &'a Items<'_>| {
        let bytes = bytes.as_slice()?;
        let memory =
            strides.as_ref().map_or(Memory::packed(bytes), |strides| Memory::strided(bytes, *first, strides));
        Ok(memory.of_type(type_of(name)?))
    };
    items.iter().map(memory).collect()
}

/// Memory for boxes to read: for a single box if it has strides, otherwise for boxes one after another. The
/// items get the type with this name.
///
/// # Errors
/// As for [`memories_of`], and if the memory is too short.
pub fn room_of<'a>(
    out: &'a mut BytesMut<'_>,
    (first, strides): (usize, Option<&'a [i64]>),
    name: &str,
    regions: &[IndexBox],
) -> PyResult<DataMut<'a>> {
    let (mut rest, data_type) = (out.as_slice_mut()?, type_of(name)?);
    if let Some(strides) = strides {
        return Ok(DataMut::Boxes(vec![MemoryMut::strided(rest, first, strides).of_type(data_type)]));
    }
    let own = |region: &IndexBox| {
        let items = region.count.iter().try_fold(data_type.item_bytes(), |all, &n| all.checked_mul(n));
        let bytes = items.and_then(|bytes| usize::try_from(bytes).ok());
        let (own, later) = std::mem::take(&mut rest).split_at_mut_checked(bytes?)?;
        rest = later;
        Some(MemoryMut::packed(own).of_type(data_type))
    };
    let rooms: Option<Vec<_>> = regions.iter().map(own).collect();
    Ok(DataMut::Boxes(rooms.ok_or_else(|| invalid("memory: found too little for the boxes".into()))?))
}

fn type_of(name: &str) -> PyResult<DataType> {
    let found = scda_format::dataset::type_of_text(name).map_err(|error| invalid(error.to_string()))?;
    found.ok_or_else(|| invalid(format!("type: found {name}")))
}

pub fn regions_of(boxes: &[Box]) -> Vec<IndexBox> {
    boxes.iter().map(|(start, count)| IndexBox::new(&**start, &**count)).collect()
}

/// The description of a dataset: the members of `scda._description.Description`, converted from a tuple, and to a dict.
#[derive(FromPyObject, IntoPyObject)]
pub struct Description {
    name: String,
    /// The name of the type in the metadata.
    r#type: String,
    shape: Vec<u64>,
    /// `contiguous`, `auto`, `chunked` or `text`.
    layout: String,
    /// The shape of the chunks; None: the library chooses it, or there are no chunks.
    chunks: Option<Vec<u64>>,
    /// The codec of chunks, by its name in `Codec::NAMES`.
    codec: String,
    /// The level of compression; None: the default of the file. Unknown for a dataset that was read.
    level: Option<u32>,
    /// True if bytes are shuffled.
    shuffle: bool,
    /// The largest relative and absolute errors that rounding may make.
    max_errors: (f64, f64),
    /// The fill value as an item in little-endian byte order; empty for zero.
    fill: Vec<u8>,
    /// The names of the dimensions, or none.
    dims: Vec<Option<String>>,
    /// The attributes as JSON.
    attributes: String,
    /// The reason why the data cannot be read.
    unsupported: Option<String>,
    /// True if these are rows to be added to the last dataset of this name.
    extends: bool,
    /// For a dataset that was read, the number of rows at its end that were added later.
    added_rows: u64,
}

impl Description {
    /// The description of a dataset that was read, with the number of rows that were added later.
    pub fn of((dataset, added_rows): (Dataset, u64)) -> Self {
        let (layout, chunks) = match dataset.layout {
            Layout::Chunked { text: false, shape } => ("chunked", shape),
            Layout::Chunked { text: true, shape } => ("text", shape),
            // Datasets that are read have no other layout.
            _ => ("contiguous", None),
        };
        Self {
            name: dataset.name,
            r#type: scda_format::dataset::type_text(dataset.data_type),
            shape: dataset.shape,
            layout: layout.to_owned(),
            chunks,
            codec: dataset.codec.to_string(),
            level: dataset.level,
            shuffle: dataset.shuffle,
            max_errors: (dataset.max_relative_error, dataset.max_absolute_error),
            fill: dataset.fill_value,
            dims: dataset.dimension_names,
            attributes: dataset.attributes,
            unsupported: dataset.unsupported,
            extends: dataset.extends,
            added_rows,
        }
    }

    pub fn dataset(self) -> PyResult<Dataset> {
        let Self { name, r#type, shape, layout, chunks, codec, .. } = self;
        let data_type = type_of(&r#type)?;
        let mut dataset = Dataset::new(name, data_type, shape);
        dataset.layout = match &*layout {
            "contiguous" => Layout::Contiguous,
            "auto" => Layout::Auto { shape: chunks },
            "chunked" => Layout::Chunked { shape: chunks, text: false },
            "text" => Layout::Chunked { shape: chunks, text: true },
            _ => return Err(invalid(format!("layout: found {layout:?}"))),
        };
        dataset.codec = Codec::from_name(&codec).ok_or_else(|| invalid(format!("codec: found {codec:?}")))?;
        (dataset.level, dataset.shuffle, dataset.fill_value) = (self.level, self.shuffle, self.fill);
        (dataset.max_relative_error, dataset.max_absolute_error) = self.max_errors;
        (dataset.dimension_names, dataset.attributes) = (self.dims, self.attributes);
        dataset.extends = self.extends;
        Ok(dataset)
    }
}
