//! `Layout::Auto`: decides whether the chunks of a dataset are smaller than its uncompressed data.

use scda_base::error::Result;
use scda_format::COUNT_BYTES;
use scda_format::dataset::codecs::Codecs;
use scda_format::dataset::{ChunkGrid, Dataset, Layout, metadata};
use scda_format::layout::SectionLayout;

/// The most chunks that are tried before all are compressed.
const MOST_SAMPLED: u64 = 32;

/// The two ways to store a dataset.
pub(super) struct Layouts {
    pub contiguous: StoredDataset,
    pub chunked: StoredDataset,
    pub choice: LayoutChoice,
}

/// A dataset as it is stored, and its metadata.
pub(super) struct StoredDataset {
    pub dataset: Dataset,
    pub text: String,
}

/// The sizes that decide between the two layouts.
#[derive(Clone, Copy)]
pub(super) struct LayoutChoice {
    chunks: u64,
    chunk_bytes: u64,
    /// The size of the metadata of each layout.
    chunked_text: u64,
    plain_text: u64,
    rows: u64,
    row_bytes: u64,
}

impl Layouts {
    /// For a dataset whose layout is to be chosen; `text` is its metadata in chunks.
    pub fn new(dataset: &Dataset, text: String, level: u32) -> Result<Self> {
        let grid: ChunkGrid = dataset.grid()?;
        let mut chunked = dataset.clone();
        chunked.layout = Layout::Chunked { shape: Some(grid.chunk_shape().to_vec()), text: false };
        let mut contiguous = dataset.clone();
        contiguous.layout = Layout::Contiguous;
        (contiguous.max_relative_error, contiguous.max_absolute_error) = (0.0, 0.0);
        let plain_text = metadata::of_dataset(&contiguous, &Codecs::of(&contiguous, level))?;
        let (rows, row_bytes) = contiguous.rows()?;
        let choice = LayoutChoice {
            chunks: grid.chunks(),
            chunk_bytes: grid.chunk_bytes(),
            chunked_text: text.len() as u64,
            plain_text: plain_text.len() as u64,
            rows,
            row_bytes,
        };
        let contiguous = StoredDataset { dataset: contiguous, text: plain_text };
        Ok(Self { contiguous, chunked: StoredDataset { dataset: chunked, text }, choice })
    }
}

impl LayoutChoice {
    /// n, if one chunk in n is tried first; `None`: all are compressed at once, because they are few.
    pub fn sample_step(&self) -> Option<u64> {
        (self.chunks > MOST_SAMPLED).then(|| self.chunks.div_ceil(MOST_SAMPLED))
    }

    /// Whether the encoded `bytes` of one chunk in `step` suggest that chunks are smaller.
    pub fn sample_pays(&self, step: u64, bytes: u64) -> bool {
        let sampled = self.chunks.div_ceil(step);
        bytes + sampled * (COUNT_BYTES as u64) < sampled * self.chunk_bytes
    }

    /// Whether all chunks, of `bytes` encoded bytes, are smaller with their metadata than the uncompressed
    /// data with theirs. Both sizes are those at the beginning of a file without alignment, because the
    /// offset must not matter.
    pub fn chunks_are_smaller(&self, bytes: u64) -> bool {
        let start = |text: u64| SectionLayout::block(0, text).map(|block| block.end);
        let chunked =
            start(self.chunked_text).and_then(|start| SectionLayout::varray(start, self.chunks, bytes));
        let plain =
            start(self.plain_text).and_then(|start| SectionLayout::array(start, self.rows, self.row_bytes));
        chunked.is_some_and(|chunked| plain.is_none_or(|plain| chunked.end < plain.end))
    }
}
