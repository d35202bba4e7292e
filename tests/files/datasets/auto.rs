//! Datasets that are compressed if that makes them smaller.

use super::case::{Case, Random};
use super::chunked;
use crate::common::options;
use scda::{Codec, Communicator, DataType, Dataset, IndexBox, Layout, Writer, run_on_threads};

#[test]
fn auto_takes_the_smaller_one() {
    let folder = tempfile::tempdir().unwrap();
    let write = |dataset: &Dataset, data: &[u8], ranks: usize| {
        let path = folder.path().join("f");
        run_on_threads(ranks, |comm| {
            let rank = comm.rank() as u64;
            // Indices in turns.
            let mine: Vec<u64> = (0..dataset.shape[0]).filter(|i| i / 100 % ranks as u64 == rank).collect();
            let regions: Vec<IndexBox> = mine.iter().map(|&i| IndexBox::new([i], [1])).collect();
            let own: Vec<u8> = mine.iter().flat_map(|&i| data[i as usize * 8..][..8].to_vec()).collect();
            let mut file = Writer::create(comm, &path, b"", &options()).unwrap();
            file.dataset(dataset, &regions, &own).unwrap();
            file.close().unwrap();
        });
        std::fs::read(path).unwrap()
    };
    let mut random = Random(1);
    let noise: Vec<u8> = (0..80_000).map(|_| random.below(256) as u8).collect();
    let smooth: Vec<u8> = (0..10_000_u64).flat_map(u64::to_ne_bytes).collect();
    // Noise in the chunks that are tried, or in some of the others.
    let mixed = [&smooth[..60_000], &noise[..20_000]].concat();
    for (chunk, (codec, _)) in [100, 10_000].into_iter().flat_map(|n| Codec::NAMES.map(|codec| (n, codec))) {
        for (data, is_smaller) in [(&noise, false), (&smooth, true), (&mixed, true)] {
            let mut dataset = Dataset::new("rho", DataType::Uint64, [10_000]);
            dataset.codec = codec;
            dataset.layout = if is_smaller { chunked(&[chunk]) } else { Layout::Contiguous };
            let expected = write(&dataset, data, 1);
            dataset.layout = Layout::Auto { shape: Some(vec![chunk]) };
            for ranks in [1, 3] {
                assert!(write(&dataset, data, ranks) == expected, "{chunk} {codec} {is_smaller} {ranks}");
            }
        }
    }
}

#[test]
fn auto_makes_the_smaller_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut chosen = [0; 2];
    for seed in 0..300 {
        let mut case = Case::random(3000 + seed);
        let Layout::Chunked { shape, .. } = case.dataset.layout.clone() else { continue };
        // What is that large is aligned, which takes room, too; and of many chunks some are tried first.
        let count = || case.dataset.shape.iter().zip(case.dataset.chunk_shape());
        if case.array.len() >= 65536 || count().map(|(n, c)| n.div_ceil(c)).product::<u64>() > 32 {
            continue;
        }
        let mut file = |layout| {
            case.dataset.layout = layout;
            case.write(&path, &options());
            std::fs::read(&path).unwrap()
        };
        let plain = file(Layout::Contiguous);
        let chunks = file(Layout::Chunked { shape: shape.clone(), text: false });
        let is_smaller = chunks.len() < plain.len();
        assert!(file(Layout::Auto { shape }) == if is_smaller { chunks } else { plain }, "{seed}");
        chosen[usize::from(is_smaller)] += 1;
    }
    assert!(chosen[0] > 20 && chosen[1] > 20, "{chosen:?}");
}
