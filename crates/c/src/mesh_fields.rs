//! Fields of meshes: the rows of this rank in a dataset, consecutive in memory.

use super::boxes::PackedBoxes;
use super::memory::{Room, Values};
use super::write::lent;
use scda::bindings::{Operation, ReaderCalls, WriterCalls};
use scda::{Data, DataType, Dataset, DatasetHandle, IndexBox, Reader, Writer};
use scda_base::error::Result;
use std::ffi::c_void;

/// Writes rows, whose items have this type in memory.
pub(super) fn write_rows(
    writer: &mut Writer,
    (dataset, regions): (Dataset, Vec<IndexBox>),
    data_type: DataType,
    data: Values<'_, c_void>,
    lend: bool,
) -> Result<()> {
    let items = PackedBoxes::of(&dataset, regions).and_then(|boxes| boxes.items(data, &dataset, data_type));
    let boxes = items.as_ref().map(|(regions, items)| (&**regions, items.borrowed()));
    let memory = match &boxes {
        Ok((_, Data::Packed(items))) if lend => lent(&Ok::<_, ()>(*items)),
        _ => None,
    };
    writer.write(memory, Operation::Dataset { dataset: &dataset, boxes })
}

/// Reads rows, whose items get this type in memory.
pub(super) fn read_rows(
    reader: &mut Reader,
    (dataset, regions): (DatasetHandle, Vec<IndexBox>),
    data_type: DataType,
    data: Room<'_, c_void>,
) -> Result<()> {
    let boxes = PackedBoxes::of(&dataset, regions).and_then(|boxes| boxes.room(data, &dataset, data_type));
    reader.read_dataset_if_valid(&dataset, boxes)
}
