//! Values that nobody writes: those of a contiguous dataset are a hole in the file where the fill value has no other bytes than 0.
#![allow(clippy::cast_possible_truncation)] // test data

use crate::common::options;
use crate::common::system::counted;
use scda::{
    Communicator, DataType, Dataset, IndexBox, ReadOptions, Reader, Solo, ThreadComm, WriteOptions, Writer,
    run_on_threads,
};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const SHAPE: [u64; 2] = [1024, 2048];
const BYTES: u64 = SHAPE[0] * SHAPE[1] * 8;

/// Datasets with their fill values, and the rows and columns that are written of each.
const DATASETS: [(&str, f64, [u64; 2], [u64; 2]); 3] = [
    ("rows", 0.0, [300, 402], [0, SHAPE[1]]),
    ("columns", 0.0, [0, SHAPE[0]], [800, 1312]),
    ("ones", 1.0, [300, 402], [0, SHAPE[1]]),
];

/// Writes them; each rank writes a box of some columns. The bytes that all ranks have handed to the system.
fn write(path: &Path, ranks: usize, seal: bool, background: bool) -> u64 {
    let written = run_on_threads(ranks, |comm: ThreadComm| {
        let rank = comm.rank() as u64;
        let mut params = WriteOptions::default();
        params.seal = seal;
        params.background_bytes = if background { 64 << 20 } else { 0 };
        let before = counted("wchar");
        let mut writer = Writer::create(comm, path, b"holes", &params).unwrap();
        for (name, fill, rows, columns) in DATASETS {
            let mut dataset = Dataset::new(name, DataType::Float64, SHAPE);
            if fill > 0.0 {
                dataset.fill_value = f64::to_le_bytes(fill).to_vec();
            }
            // Those of all ranks are beside each other.
            let (height, width) = (rows[1] - rows[0], (columns[1] - columns[0]) / ranks as u64);
            let own = IndexBox::new([rows[0], columns[0] + rank * width], [height, width]);
            let data: Vec<u8> =
                (0..height * width).flat_map(|i| ((i % 251 + 1) as f64).to_le_bytes()).collect();
            writer.dataset(&dataset, &[own], &data).unwrap();
        }
        writer.close().unwrap();
        counted("wchar") - before
    });
    written.iter().sum()
}

#[test]
fn what_nobody_writes_is_a_hole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for seal in [false, true] {
        for (ranks, background) in [(1, false), (2, false), (4, false), (1, true)] {
            let written = write(&path, ranks, seal, background);
            let size = std::fs::metadata(&path).unwrap();
            println!(
                "{ranks} ranks: {written} bytes written, {} of {} on the disk",
                size.blocks() * 512,
                size.size()
            );
            // All of the last dataset, a tenth of the first one, and a quarter of the second one, in blocks.
            if !background {
                assert!(written < BYTES + BYTES / 10 + BYTES / 4 + BYTES / 16, "{written}");
            }
            assert!(size.size() > 3 * BYTES && size.blocks() * 512 < BYTES + BYTES / 4 * 3);
            let mut params: ReadOptions = options();
            params.verify = seal;
            let mut reader = Reader::open(Solo, &path, &params).unwrap();
            for (name, fill, rows, columns) in DATASETS {
                let found = reader.dataset(name).unwrap().unwrap();
                let mut all = vec![0; BYTES as usize];
                found.read(&mut reader, &[IndexBox::all(&SHAPE)], &mut all).unwrap();
                let width = (columns[1] - columns[0]) / ranks as u64;
                for (at, bytes) in all.as_chunks::<8>().0.iter().enumerate() {
                    let (row, column) = (at as u64 / SHAPE[1], at as u64 % SHAPE[1]);
                    let is_there =
                        (rows[0]..rows[1]).contains(&row) && (columns[0]..columns[1]).contains(&column);
                    let number = || (row - rows[0]) * width + (column - columns[0]) % width;
                    let expected = if is_there { (number() % 251 + 1) as f64 } else { fill };
                    assert_eq!(f64::from_le_bytes(*bytes), expected, "{name} {row} {column}");
                }
            }
        }
    }
}
