//! Reads all items of a dataset in C order, part by part. Items without a chunk in the file take neither memory nor
//! time.

use super::box_parts::{self, BoxParts, items};
use super::to_little;
use crate::fail::Result;
use scda::{Dataset, DatasetHandle, IndexBox, Layout, Reader};
use scda_base::numbers::to_usize;

/// The most bytes of a part that is as thick as the chunks, unless a chunk is larger.
const MOST_LAYER_BYTES: u64 = 256 << 20;
/// The most bytes of fill values that [`OrderedItems::next`] returns at once.
const FILL_BYTES: u64 = 1 << 20;

/// Reads the items. Parts end with chunks, so that each chunk is decompressed once, unless a part would then be too
/// large.
pub struct OrderedItems {
    parts: BoxParts,
    /// An item with the fill value, and how many of these [`Self::next`] still has to return.
    fill: Vec<u8>,
    fill_left: u64,
}

impl OrderedItems {
    /// All items of this dataset.
    pub fn new(found: &DatasetHandle) -> Self {
        let mut chunk = vec![1; found.shape.len()];
        match &found.layout {
            // A row is an element, which is decompressed as a whole.
            Layout::Contiguous if found.data_section().decoded => {
                chunk.iter_mut().zip(&found.shape).skip(1).for_each(|(chunk, &n)| *chunk = n);
            }
            Layout::Contiguous => {}
            // The shape of a chunk does not determine its size.
            _ if found.data_type.is_variable() => {}
            _ => chunk = found.chunk_shape(),
        }
        Self { parts: parts(found, &chunk), fill: box_parts::fill_item(found), fill_left: 0 }
    }

    /// Reads the next items, in little-endian byte order; returns false at the end.
    pub fn next(&mut self, reader: &mut Reader, found: &DatasetHandle, data: &mut Vec<u8>) -> Result<bool> {
        if self.fill_left == 0 {
            let Some(part) = self.parts.next() else { return Ok(false) };
            if !found.is_fill(reader, &part)? {
                box_parts::read(reader, found, &part, data)?;
                to_little(found.data_type, data);
                return Ok(true);
            }
            self.fill_left = items(&part);
        }
        let most = FILL_BYTES / (self.fill.len() as u64).max(1);
        let items = self.fill_left.min(most.max(1));
        self.fill_left -= items;
        box_parts::resize(data, to_usize(items) * self.fill.len(), box_parts::PART)?;
        data.chunks_exact_mut(self.fill.len().max(1)).for_each(|item| item.copy_from_slice(&self.fill));
        Ok(true)
    }
}

/// All items of a dataset in parts that end at the ends of chunks of this shape, as far as memory allows.
fn parts(dataset: &Dataset, chunk: &[u64]) -> BoxParts {
    let item_bytes = box_parts::about_item_bytes(dataset.data_type);
    let bytes_of = |counts: &mut dyn Iterator<Item = u64>| counts.fold(item_bytes, u64::saturating_mul);
    let cut = chunk.iter().position(|&n| n > 1).unwrap_or(chunk.len());
    // The thinnest parts that end at the ends of chunks.
    let layer =
        bytes_of(&mut chunk.iter().skip(cut).take(1).chain(dataset.shape.iter().skip(cut + 1)).copied());
    let most = MOST_LAYER_BYTES.max(bytes_of(&mut chunk.iter().copied()));
    let most = layer.clamp(box_parts::MOST_BYTES, most);
    BoxParts::cut(IndexBox::all(&dataset.shape), item_bytes, chunk, most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scda::DataType;

    #[test]
    fn parts_are_as_thick_as_chunks() {
        let rows = |shape: [u64; 2], chunk: [u64; 2]| {
            let dataset = Dataset::new("x", DataType::Uint8, shape);
            parts(&dataset, &chunk).map(|part| part.count[0]).collect::<Vec<_>>()
        };
        const MIB: u64 = 1 << 20;
        assert_eq!(rows([10, MIB], [4, 1000]), [10]);
        assert_eq!(rows([200, MIB], [100, 1000]), [100, 100]);
        assert_eq!(rows([130, MIB], [50, 1000]), [50, 50, 30]);
        // Too much for a part that is as thick, unless one chunk has as much.
        assert_eq!(rows([200, 4 * MIB], [100, 1000])[..2], [64, 36]);
        assert_eq!(rows([200, 4 * MIB], [100, 4 * MIB]), [100, 100]);
    }
}
