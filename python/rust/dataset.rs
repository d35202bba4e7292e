//! Datasets as Python passes them.

use crate::errors::invalid;
use crate::{Bytes, BytesMut};
use pyo3::prelude::*;
use scda::{Codec, DataMut, DataType, Dataset, IndexBox, Layout, Memory, MemoryMut};

/// The first index of a box in each dimension, and the numbers of indices.
pub type Box = (Vec<u64>, Vec<u64>);

/// The memory of a box to be written: bytes, the number of them before the first item, the strides; None: the items are all
/// of the bytes, in C order; and the name of the type of the items in memory.
pub type Items<'py> = (Bytes<'py>, usize, Option<Vec<i64>>, String);

/// # Errors
/// If the bytes do not follow one another.
pub fn memories_of<'a>(items: &'a [Items<'_>]) -> PyResult<Vec<Memory<'a>>> {
    let memory = |(bytes, first, strides, name): &'a Items<'_>| {
        let bytes = bytes.as_slice()?;
        let memory =
            strides.as_ref().map_or(Memory::packed(bytes), |strides| Memory::strided(bytes, *first, strides));
        Ok(memory.of_type(type_of(name)?))
    };
    items.iter().map(memory).collect()
}

/// Memory for boxes that are read: for one of them, if it has strides; else for one after the other. The items get the type of this name.
///
/// # Errors
/// As of [`memories_of`], and if the memory is too short.
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

/// What a dataset is: the members of `scda._description.Description`, from a tuple with these names, as a dict.
#[derive(FromPyObject, IntoPyObject)]
pub struct Description {
    name: String,
    /// By its name in the metadata.
    r#type: String,
    shape: Vec<u64>,
    /// `contiguous`, `auto`, `chunked` or `text`.
    layout: String,
    /// Shape of the chunks; None: the library's choice, or none.
    chunks: Option<Vec<u64>>,
    /// Codec of chunks, by its name in `Codec::NAMES`.
    codec: String,
    /// Level of compression; None: that of the file. Not known of what was read.
    level: Option<u32>,
    /// Whether bytes are shuffled.
    shuffle: bool,
    /// The largest relative and absolute errors that rounding may make.
    max_errors: (f64, f64),
    /// The fill value as an item in little-endian byte order; empty: zeros.
    fill: Vec<u8>,
    /// Names of the dimensions, or none.
    dims: Vec<Option<String>>,
    /// JSON.
    attributes: String,
    /// Why the data cannot be read.
    unsupported: Option<String>,
    /// Whether these are rows that are added to the last dataset of this name.
    extends: bool,
    /// Of a dataset that was read: how many of its rows, the last ones, were added later.
    added_rows: u64,
}

impl Description {
    /// Of a dataset that was read, with the number of rows that were added later.
    pub fn of((dataset, added_rows): (Dataset, u64)) -> Self {
        let (layout, chunks) = match dataset.layout {
            Layout::Chunked { text: false, shape } => ("chunked", shape),
            Layout::Chunked { text: true, shape } => ("text", shape),
            // Nothing else is read.
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
