//! The known offsets of the chunks of a dataset.

use scda_codec::chunk::swap_items;
use scda_format::dataset::IndexBox;
use scda_format::dataset::stored_dataset::StoredDataset;

/// What is known of the chunks of a dataset, as they are read.
pub(super) struct ChunkOffsets {
    /// The last one that is wanted.
    pub last: u64,
    /// The first one whose place is known; where it begins, and where each one from there on ends.
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
