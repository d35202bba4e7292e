//! `Layout::Auto`: whether the chunks of a dataset are smaller than its plain data.

use super::DatasetWriter;
use super::chunked::EncodedChunks;
use super::pieces::{Passed, Plan};
use crate::file::team::Failure;
use scda_base::error::Result;
use scda_format::COUNT_BYTES;
use scda_format::dataset::codecs::Codecs;
use scda_format::dataset::{ChunkGrid, Dataset, Layout, metadata};
use scda_format::layout::SectionLayout;

/// The most chunks that are tried before all of them are compressed.
const MOST_SAMPLED: u64 = 32;

/// The two ways to store a dataset.
#[derive(Clone)]
pub(super) struct Layouts {
    pub contiguous: ToStore,
    pub chunked: ToStore,
    chunks: u64,
    chunk_bytes: u64,
}

/// A dataset as it is stored, and its metadata.
#[derive(Clone)]
pub(super) struct ToStore {
    pub dataset: Dataset,
    pub text: String,
}

impl Layouts {
    /// Those of a dataset whose layout is chosen; `text` are its metadata in chunks.
    pub fn new(dataset: &Dataset, text: String, level: u32) -> Result<Self> {
        let grid: ChunkGrid = dataset.grid()?;
        let mut chunked = dataset.clone();
        chunked.layout = Layout::Chunked { shape: Some(grid.chunk_shape().to_vec()), text: false };
        let mut contiguous = dataset.clone();
        contiguous.layout = Layout::Contiguous;
        (contiguous.max_relative_error, contiguous.max_absolute_error) = (0.0, 0.0);
        let plain_text = metadata::of_dataset(&contiguous, &Codecs::of(&contiguous, level))?;
        Ok(Self {
            contiguous: ToStore { dataset: contiguous, text: plain_text },
            chunked: ToStore { dataset: chunked, text },
            chunks: grid.chunks(),
            chunk_bytes: grid.chunk_bytes(),
        })
    }

    /// n, if one chunk in n is tried first; `None`: all are compressed at once, because they are few.
    pub fn sample_step(&self) -> Option<u64> {
        (self.chunks > MOST_SAMPLED).then(|| self.chunks.div_ceil(MOST_SAMPLED))
    }

    /// Whether the encoded `bytes` of one chunk in `step` suggest that chunks are smaller.
    pub fn sample_pays(&self, step: u64, bytes: u64) -> bool {
        let sampled = self.chunks.div_ceil(step);
        bytes + sampled * (COUNT_BYTES as u64) < sampled * self.chunk_bytes
    }

    /// Whether all chunks, of `bytes` encoded bytes, are smaller with their metadata than the plain data with theirs. Both as if at the
    /// beginning of the file, and not aligned: where they begin does not matter.
    pub fn chunks_are_smaller(&self, bytes: u64) -> Result<bool> {
        let behind =
            |stored: &ToStore| SectionLayout::block(0, stored.text.len() as u64).map(|block| block.end);
        let (rows, row_bytes) = self.contiguous.dataset.rows()?;
        let chunked =
            behind(&self.chunked).and_then(|start| SectionLayout::varray(start, self.chunks, bytes));
        let plain = behind(&self.contiguous).and_then(|start| SectionLayout::array(start, rows, row_bytes));
        Ok(chunked.is_some_and(|chunked| plain.is_none_or(|plain| chunked.end < plain.end)))
    }
}

impl DatasetWriter<'_> {
    /// How the chunks of a dataset lie, if some of them tell that they may be smaller than the plain data. `counts` says how many rows each rank has, if all have them in order.
    pub(super) fn plan_if_it_pays<'a>(
        &mut self,
        layouts: &Layouts,
        passed: Passed<'a>,
        counts: Option<&[u64]>,
    ) -> Result<Option<Plan<'a>>, Failure> {
        let dataset = &layouts.chunked.dataset;
        let mut plan = self.plan_of(dataset, passed, counts)?;
        if let Some(step) = layouts.sample_step() {
            plan = plan.sampling(step);
            let EncodedChunks { bytes, .. } = self.encode_dataset(dataset, &plan)?;
            plan = plan.sampling(1);
            if !layouts.sample_pays(step, bytes.total) {
                return Ok(None);
            }
        }
        Ok(Some(plan))
    }
}
