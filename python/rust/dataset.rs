//! Datasets as Python passes them.

use crate::errors::invalid;
use pyo3::prelude::*;
use scda::{Codec, DataType, Dataset, Layout, Region};

/// The first index of a box in each dimension, and the numbers of indices.
pub type Box = (Vec<u64>, Vec<u64>);

pub fn regions_of(boxes: Vec<Box>) -> Vec<Region> {
    boxes.into_iter().map(|(start, count)| Region::new(start, count)).collect()
}

/// What a dataset is: `scda._description.Description`, a tuple with these fields in this order.
#[derive(FromPyObject, IntoPyObject)]
pub struct Description(
    /// Name.
    String,
    /// Type, by its name in the metadata.
    String,
    /// Shape.
    Vec<u64>,
    /// `contiguous`, `auto`, `chunked` or `text`.
    String,
    /// Shape of the chunks; None: the library's choice, or none.
    Option<Vec<u64>>,
    /// Codec of chunks: `zstd`, `lz4`, `pcodec` or `zlib`.
    String,
    /// Level of compression; None: that of the file. Not known of what was read.
    Option<u32>,
    /// Whether bytes are shuffled.
    bool,
    /// The fill value as an item in little-endian byte order; empty: zeros.
    Vec<u8>,
    /// Names of the dimensions, or none.
    Vec<Option<String>>,
    /// Attributes: JSON.
    String,
    /// Why the data cannot be read.
    Option<String>,
);

impl Description {
    pub fn of(dataset: Dataset) -> Self {
        let (layout, chunks) = match dataset.layout {
            Layout::Chunked { text: false, shape } => ("chunked", shape),
            Layout::Chunked { text: true, shape } => ("text", shape),
            // Nothing else is read.
            _ => ("contiguous", None),
        };
        Self(
            dataset.name,
            dataset.data_type.to_string(),
            dataset.shape,
            layout.to_owned(),
            chunks,
            dataset.codec.to_string(),
            dataset.level,
            dataset.shuffle,
            dataset.fill_value,
            dataset.dimension_names,
            dataset.attributes,
            dataset.unsupported,
        )
    }

    pub fn dataset(self) -> PyResult<Dataset> {
        let Self(name, data_type, shape, layout, chunks, codec, level, shuffle, fill, dims, attributes, _) =
            self;
        let data_type = DataType::from_name(&data_type)
            .ok_or_else(|| invalid(format!("data type: found {data_type:?}")))?;
        let mut dataset = Dataset::new(name, data_type, shape);
        dataset.layout = match &*layout {
            "contiguous" => Layout::Contiguous,
            "auto" => Layout::Auto { shape: chunks },
            "chunked" => Layout::Chunked { shape: chunks, text: false },
            "text" => Layout::Chunked { shape: chunks, text: true },
            _ => return Err(invalid(format!("layout: found {layout:?}"))),
        };
        dataset.codec = Codec::from_name(&codec).ok_or_else(|| invalid(format!("codec: found {codec:?}")))?;
        (dataset.level, dataset.shuffle, dataset.fill_value) = (level, shuffle, fill);
        (dataset.dimension_names, dataset.attributes) = (dims, attributes);
        Ok(dataset)
    }
}
