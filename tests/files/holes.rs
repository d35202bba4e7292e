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

const SHAPE: [u64; 2] = [64, 1 << 15];
const BYTES: u64 = SHAPE[0] * SHAPE[1] * 8;

/// Datasets with their fill values, and the rows and columns that are written of each: from one row to the next, the columns leave 192 KiB.
const DATASETS: [(&str, f64, [u64; 2], [u64; 2]); 3] = [
    ("rows", 0.0, [20, 26], [0, SHAPE[1]]),
    ("columns", 0.0, [0, SHAPE[0]], [3 << 12, 5 << 12]),
    ("ones", 1.0, [20, 26], [0, SHAPE[1]]),
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

/// One column of many narrow rows: each value in a block or call of its own would take more than the zeros beside it.
#[test]
fn short_gaps_are_filled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for (columns, ranks) in [(3, 1), (3, 2), (520, 1), (520, 2)] {
        let shape = [(4 << 20) / 8 / columns, columns];
        let calls = run_on_threads(ranks, |comm: ThreadComm| {
            let (rank, ranks) = (comm.rank() as u64, ranks as u64);
            let count = shape[0] / ranks;
            let own = IndexBox::new([rank * count, 1], [count, 1]);
            let data = 1.5_f64.to_le_bytes().repeat(count as usize);
            let before = counted("syscw");
            let mut writer = Writer::create(comm, &path, b"gaps", &WriteOptions::default()).unwrap();
            writer.dataset(&Dataset::new("a", DataType::Float64, shape), &[own], &data).unwrap();
            writer.close().unwrap();
            counted("syscw") - before
        });
        assert!(calls.iter().sum::<u64>() < 200, "{calls:?}");
        let mut reader = Reader::open(Solo, &path, &options()).unwrap();
        let found = reader.dataset("a").unwrap().unwrap();
        let mut all = vec![0; (shape[0] * shape[1] * 8) as usize];
        found.read(&mut reader, &[IndexBox::all(&shape)], &mut all).unwrap();
        for (at, bytes) in all.as_chunks::<8>().0.iter().enumerate() {
            let is_there =
                at as u64 % columns == 1 && at as u64 / columns < shape[0] / ranks as u64 * ranks as u64;
            assert_eq!(f64::from_le_bytes(*bytes), if is_there { 1.5 } else { 0.0 }, "{at}");
        }
    }
}

/// How the ranks share an array: the number of its columns, those that are written, and whether the ranks take rows
/// in turn; otherwise each has some of the columns.
const PARTS: [(u64, [u64; 2], bool); 6] = [
    // Rows of 16 KiB, of which 1, 128 and 12 numbers are written.
    (2 << 10, [700, 701], true),
    (2 << 10, [700, 828], true),
    (2 << 10, [700, 712], false),
    // Almost half of each row.
    (1 << 11, [3, 1 << 10], true),
    // No holes: more than half is written, or the gaps are too short.
    (1 << 11, [3, 1500], true),
    (1 << 9, [9, 20], false),
];

/// With or without holes, a file has the bytes that one rank writes if it passes all zeros.
#[test]
fn a_file_with_holes_has_the_bytes_of_one_without() {
    let folder = tempfile::tempdir().unwrap();
    let [path, filled] = ["holes", "filled"].map(|name| folder.path().join(name));
    for (columns, [first, end], in_turn) in PARTS {
        let shape = [(6 << 20) / 8 / columns, columns];
        let item = |row: u64, column: u64| ((row * 31 + column) as f64).to_le_bytes();
        let all: Vec<u8> = (0..shape[0] * columns)
            .flat_map(|i| match i % columns {
                column if (first..end).contains(&column) => item(i / columns, column),
                _ => [0; 8],
            })
            .collect();
        let dataset = Dataset::new("a", DataType::Float64, shape);
        let mut writer = Writer::create(Solo, &filled, b"", &WriteOptions::default()).unwrap();
        writer.dataset(&dataset, &[IndexBox::all(&shape)], &all).unwrap();
        writer.close().unwrap();
        for (ranks, background) in [(1, 0), (2, 0), (3, 0), (2, 8 << 20)] {
            let written = run_on_threads(ranks, |comm: ThreadComm| {
                let (rank, ranks) = (comm.rank() as u64, ranks as u64);
                let boxes: Vec<IndexBox> = if in_turn {
                    (rank..shape[0])
                        .step_by(ranks as usize)
                        .map(|row| IndexBox::new([row, first], [1, end - first]))
                        .collect()
                } else {
                    let column = |rank| first + (end - first) * rank / ranks;
                    let width = column(rank + 1) - column(rank);
                    vec![IndexBox::new([0, column(rank)], [shape[0], width])]
                };
                let data: Vec<u8> = boxes
                    .iter()
                    .flat_map(|one| {
                        let [row, column] = [one.start[0], one.start[1]];
                        let [height, width] = [one.count[0], one.count[1]];
                        (0..height * width).flat_map(move |i| item(row + i / width, column + i % width))
                    })
                    .collect();
                let mut params = WriteOptions::default();
                params.background_bytes = background;
                let before = [counted("wchar"), counted("syscw")];
                let mut writer = Writer::create(comm, &path, b"", &params).unwrap();
                writer.dataset(&dataset, &boxes, &data).unwrap();
                writer.close().unwrap();
                [counted("wchar") - before[0], counted("syscw") - before[1]]
            });
            assert!(std::fs::read(&path).unwrap() == std::fs::read(&filled).unwrap(), "{columns} {ranks}");
            let [bytes, calls] = [0, 1].map(|i| written.iter().map(|one| one[i]).sum::<u64>());
            println!("{columns} columns, {ranks} ranks: {bytes} bytes in {calls} calls");
            if background == 0 {
                let is_sparse = columns > 1 << 9 && (end - first) * 2 <= columns;
                // A row takes at most two pages more than its numbers.
                let most = all.len() as u64 / 8 * 7;
                assert_eq!(bytes < most, is_sparse, "{columns} {first} {end} {ranks}: {bytes}");
                assert!(calls < if is_sparse { shape[0] + 100 } else { 100 }, "{calls}");
            }
        }
    }
}
