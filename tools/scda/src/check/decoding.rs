//! Finds items that are wrong although their section is intact.

use super::finding::{Fault, Finding};
use crate::datasets::box_parts::{self, BoxParts};
use crate::fail::Result;
use scda::{AddedRows, DataType, Dataset, DatasetHandle, IndexBox, Layout, Reader};
use scda_base::numbers::to_usize;

/// The most chunks that are decompressed together.
const MOST_CHUNKS: u64 = 4096;

/// Finds an error in the items of a dataset whose last section has this number. `of_dataset` reads it; `reader` is
/// another reader of the file.
pub(super) fn undecodable(
    of_dataset: &mut Reader,
    reader: &mut Reader,
    number: u64,
    found: &DatasetHandle,
) -> Result<Option<Finding>> {
    let own = RowRange::of(found);
    let error = match own.iter().try_for_each(|rows| decode((of_dataset, found), reader, rows)) {
        Ok(()) => return Ok(None),
        Err(fail) => Fault::of(fail)?,
    };
    Ok(Some(Finding::of_dataset(number, found.data_section(), error)))
}

/// The rows of a dataset in one section.
struct RowRange {
    /// The dataset as if it had no other rows.
    dataset: Dataset,
    /// The offset of the section.
    data: u64,
    /// The number of rows of the dataset before these.
    first: u64,
}

impl RowRange {
    /// All rows of a dataset.
    fn of(found: &DatasetHandle) -> Vec<Self> {
        let mut own = found.description().clone();
        if let (Some(rows), Some(added)) = (own.shape.first_mut(), found.added_rows().next()) {
            *rows = added.first;
        }
        let own = Self { dataset: own, data: found.data_section().offset, first: 0 };
        std::iter::once(own).chain(found.added_rows().map(|rows| Self::added(&rows))).collect()
    }

    fn added(rows: &AddedRows) -> Self {
        Self { dataset: rows.dataset.clone(), data: rows.data, first: rows.first }
    }

    /// Converts a box of these rows to a box of the dataset.
    fn whole(&self, mut region: IndexBox) -> IndexBox {
        region.start.iter_mut().take(1).for_each(|row| *row += self.first);
        region
    }
}

/// [`decode`] for rows that were added to a dataset.
pub(super) fn decode_rows(
    reader: &mut Reader,
    beside: &mut Reader,
    dataset: &DatasetHandle,
    rows: &AddedRows,
) -> Result<()> {
    let rows = RowRange::added(rows);
    decode((reader, dataset), beside, &rows)
}

/// Reads those items of some rows that can be wrong although their section is intact: compressed chunks, and bools.
/// `beside` is another reader of the file.
fn decode(
    (reader, dataset): (&mut Reader, &DatasetHandle),
    beside: &mut Reader,
    rows: &RowRange,
) -> Result<()> {
    let (own, mut data) = (&rows.dataset, Vec::new());
    let all = IndexBox::all(&own.shape);
    let mut read = |slab| box_parts::read(reader, dataset, &rows.whole(slab), &mut data);
    match own.layout {
        Layout::Chunked { text: false, .. } => decode_chunks((reader, dataset), beside, rows),
        _ if own.data_type != DataType::Bool => Ok(()),
        Layout::Contiguous => BoxParts::new(own, all).try_for_each(&mut read),
        _ => {
            box_parts::of_chunks(&all, &own.chunk_shape(), own.data_type.item_bytes(), box_parts::MOST_BYTES)
                .try_for_each(&mut read)
        }
    }
}

/// Decompresses chunks that are streams, in their order, so that each is decompressed once. Chunks without bytes have
/// the fill value, in which nothing can be wrong, and may claim any number of items: they are skipped.
fn decode_chunks(
    (reader, dataset): (&mut Reader, &DatasetHandle),
    beside: &mut Reader,
    rows: &RowRange,
) -> Result<()> {
    let own = &rows.dataset;
    let (all, chunk) = (IndexBox::all(&own.shape), own.chunk_shape());
    let counts: Vec<u64> = all.count.iter().zip(&chunk).map(|(n, chunk)| n.div_ceil(*chunk)).collect();
    let chunk_bytes = chunk.iter().product::<u64>().saturating_mul(own.data_type.item_bytes());
    beside.seek(rows.data)?;
    beside.next_section(true)?;
    let (mut sizes, mut data, mut first) = (Vec::new(), Vec::new(), 0);
    for slab in BoxParts::of_grid(
        &counts,
        chunk_bytes.max(box_parts::MOST_BYTES / MOST_CHUNKS),
        box_parts::MOST_BYTES,
    ) {
        let count = box_parts::items(&slab);
        sizes.resize(to_usize(count), 0);
        beside.ranges().read_varray_sizes(first..first + count, &mut sizes)?;
        first += count;
        let one = |index| IndexBox::new(box_parts::index_of(&slab, index), vec![1; slab.count.len()]);
        let boxes: Vec<IndexBox> = match sizes.contains(&0) {
            false => vec![slab.clone()],
            true => (0..).zip(&sizes).filter(|(_, size)| **size > 0).map(|(index, _)| one(index)).collect(),
        };
        let regions = boxes.iter().map(|slab| rows.whole(box_parts::of_slab(slab, &chunk, &all)));
        let regions: Vec<_> = regions.collect();
        box_parts::read_all(reader, dataset, &regions, &mut data)?;
    }
    Ok(())
}
