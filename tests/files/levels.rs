//! A higher level makes no larger files: for each codec, and for fields as simulations have them.
#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // test data

#[path = "../../benches/fields.rs"]
mod fields;

use scda::{Codec, Dataset, Encoder, Layout, LineBreak};
use scda_codec::chunk::{ChunkCodec, ChunkEncoder};

#[test]
fn no_level_is_larger_than_one_below_it() {
    let mut wrong = Vec::new();
    // Chunks as small and as large as the library makes them by itself.
    let all = [(1 << 16, 1 << 18), (1 << 18, 1 << 20)];
    for &(items, chunk_bytes) in &all[..all.len() / crate::common::sampled::one_of(2)] {
        for (name, data_type, data) in &fields::fields(items) {
            let codecs = Codec::NAMES.map(|(codec, _)| (codec, false));
            for (codec, text) in codecs.into_iter().chain([(Codec::Zlib, true)]) {
                let sizes = (1..=9).map(|level| {
                    let mut dataset = Dataset::new("a", *data_type, [items as u64]);
                    dataset.layout = Layout::Chunked { shape: None, text };
                    (dataset.codec, dataset.level) = (codec, Some(level));
                    let codec = ChunkCodec::of(&dataset, Encoder::Fast, 2, LineBreak::Unix);
                    let mut encoder = ChunkEncoder::new(codec).unwrap();
                    let mut out = Vec::new();
                    data.chunks(chunk_bytes).map(|chunk| encoder.encode(chunk, &mut out).unwrap()).sum()
                });
                let sizes: Vec<usize> = sizes.collect();
                let least = |level: usize| sizes[..level].iter().min().copied().unwrap_or(usize::MAX);
                if (1..sizes.len()).any(|level| 100 * sizes[level] > 101 * least(level)) {
                    wrong.push(format!("{name}, {codec}, text {text}: {sizes:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
