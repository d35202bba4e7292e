//! Boxes of a dataset that are read one by one: each chunk is read and decompressed once, as long as it is kept.

#![allow(clippy::cast_possible_truncation)] // test data

use crate::common::{options, system::reads};
use scda::{
    Codec, Communicator, DataType, Dataset, ErrorKind, IndexBox, Layout, ReadOptions, Reader, Solo, Writer,
    run_on_threads,
};
use std::path::Path;

const SIDE: u64 = 64;
const CHUNK: u64 = 16;

fn item(name: &str, y: u64, x: u64) -> f64 {
    (y * SIDE + x) as f64 + if name == "p" { 0.5 } else { 0.0 }
}

/// Two datasets in chunks of 2 KiB.
fn write(path: &Path) {
    let mut file = Writer::create(Solo, path, b"", &options()).unwrap();
    for (name, codec) in [("rho", Codec::Zstd), ("p", Codec::Zlib)] {
        let mut dataset = Dataset::new(name, DataType::Float64, [SIDE, SIDE]);
        dataset.layout = Layout::Chunked { shape: Some(vec![CHUNK, CHUNK]), text: false };
        dataset.codec = codec;
        let items = (0..SIDE * SIDE).flat_map(|n| item(name, n / SIDE, n % SIDE).to_ne_bytes());
        file.dataset(&dataset, &[IndexBox::all(&[SIDE, SIDE])], &items.collect::<Vec<u8>>()).unwrap();
    }
    file.close().unwrap();
}

fn open(path: &Path, cache_bytes: u64) -> Reader {
    let mut params: ReadOptions = options();
    // Nothing is read ahead, as in a large file.
    (params.cache_bytes, params.tuning.aggregation_bytes) = (cache_bytes, 0);
    Reader::open(Solo, path, &params).unwrap()
}

/// Reads boxes of 3 times 5 items at many places, and compares them.
fn read_boxes(file: &mut Reader, name: &str, first: u64) -> u64 {
    let found = file.dataset_record(name, 0).unwrap().unwrap();
    let mut count = 0;
    for place in first..first + 400 {
        let (y, x) = (place * 7 % (SIDE - 2), place * 13 % (SIDE - 4));
        let mut data = [0; 3 * 5 * 8];
        found.read(file, &[IndexBox { start: vec![y, x], count: vec![3, 5] }], &mut data).unwrap();
        for (n, bytes) in (0..).zip(data.as_chunks().0) {
            assert_eq!(f64::from_ne_bytes(*bytes), item(name, y + n / 5, x + n % 5));
        }
        count += 1;
    }
    count
}

#[test]
fn a_chunk_that_is_kept_is_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write(&path);
    let cost = |cache_bytes| {
        let mut file = open(&path, cache_bytes);
        file.dataset_record("rho", 0).unwrap().unwrap();
        let before = reads();
        let own = reads() - before;
        let boxes = read_boxes(&mut file, "rho", 0);
        (reads() - before - own, boxes)
    };
    let (without, boxes) = cost(0);
    assert!(without >= boxes, "{without} reads of {boxes} boxes");
    let (with, _) = cost(ReadOptions::DEFAULT_CACHE_BYTES);
    // Two for each of 16 chunks, and the metadata.
    assert!(with <= 48, "{with} reads of {boxes} boxes");
    // One chunk alone is better than none, and what is smaller than a chunk keeps nothing.
    let chunk = CHUNK * CHUNK * 8;
    let (one, _) = cost(chunk);
    assert!(with < one && one < without, "{with} {one} {without}");
    assert_eq!(cost(chunk - 1).0, without);
}

#[test]
fn chunks_of_several_datasets_on_any_ranks_are_not_mixed_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write(&path);
    for cache_bytes in [0, 5000, 20_000, 1 << 20] {
        for ranks in [1, 3] {
            run_on_threads(ranks, |comm| {
                let first = comm.rank() as u64;
                let mut params: ReadOptions = options();
                params.cache_bytes = cache_bytes;
                let mut file = Reader::open(comm, &path, &params).unwrap();
                for turn in 0..4 {
                    read_boxes(&mut file, if turn % 2 == 0 { "rho" } else { "p" }, first + turn);
                }
                // All of it goes past the cache.
                let found = file.dataset_record("p", 0).unwrap().unwrap();
                let mut all = vec![0; (SIDE * SIDE * 8) as usize];
                found.read(&mut file, &[IndexBox::all(&[SIDE, SIDE])], &mut all).unwrap();
                let expected = (0..SIDE * SIDE).flat_map(|n| item("p", n / SIDE, n % SIDE).to_ne_bytes());
                assert!(all.into_iter().eq(expected));
            });
        }
    }
}

#[test]
fn a_damaged_chunk_is_never_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write(&path);
    let mut bytes = std::fs::read(&path).unwrap();
    // The second half of the zstd frames of "rho", from the middle of one on.
    let frame = bytes.windows(4).position(|bytes| bytes == [0x28, 0xb5, 0x2f, 0xfd]).unwrap();
    bytes[frame + 10..frame + 40].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let mut file = open(&path, 1 << 20);
    file.inspect().tolerate_damage().unwrap();
    let mut data = [0; 8];
    let mut read = |y, x| {
        let found = file.dataset_record("rho", 0).unwrap().unwrap();
        let region = IndexBox { start: vec![y, x], count: vec![1, 1] };
        let result = found.read(&mut file, &[region], &mut data);
        result.map(|()| f64::from_ne_bytes(data)).map_err(|error| error.kind())
    };
    for _ in 0..3 {
        assert_eq!(read(0, 0), Err(ErrorKind::Decode));
        assert_eq!(read(0, CHUNK), Ok(item("rho", 0, CHUNK)));
    }
}
