//! The offsets of a dataset's chunks, as far as they are known.

use scda_codec::chunk::swap_items;
use scda_format::dataset::IndexBox;
use scda_format::dataset::stored_dataset::StoredDataset;

/// What is known about the chunks of a dataset while they are read.
pub(super) struct ChunkOffsets {
    /// The last chunk that is wanted.
    pub last: u64,
    /// The first chunk whose offset is known; where it begins, and where it and each following one ends.
    pub first: u64,
    pub ends: Vec<u64>,
    /// The fill value in the byte order of the file.
    pub fill: Vec<u8>,
}

impl ChunkOffsets {
    pub fn new(stored: &StoredDataset, regions: &[IndexBox]) -> Self {
        let mut fill = stored.dataset.fill_item().into_owned();
        if stored.codecs.big_endian {
            swap_items(&mut fill, stored.dataset.data_type);
        }
        let last = regions.iter().filter_map(|region| {
            let touched = stored.grid.touched_by(region);
            touched.nth(touched.count().checked_sub(1)?)
        });
        Self { last: last.max().unwrap_or(0), first: 0, ends: Vec::new(), fill }
    }
}
