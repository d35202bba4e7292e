//! Datasets of every type, written on a machine of either byte order, are one file: `vectors/datasets.scda`. Each machine reads it to its
//! own byte order. `scripts/sanitize.sh big-endian` runs this on a machine where the highest byte of a number comes first.

use super::TYPES;
use crate::common::options;
use scda::{
    Codec, Communicator, DataType, Dataset, Encoder, IndexBox, Layout, Reader, WriteOptions, Writer,
    run_on_threads,
};
use std::path::{Path, PathBuf};

const SHAPE: [u64; 2] = [5, 7];
/// Where the array is written; the rest has the fill value.
const BOXES: [([u64; 2], [u64; 2]); 3] = [([0, 0], [1, 7]), ([1, 2], [2, 1]), ([1, 0], [3, 2])];

/// The bytes of a number in the byte order of this machine, and those of the file.
fn number(seed: u64, bytes: u64) -> (Vec<u8>, Vec<u8>) {
    let bits = seed.wrapping_mul(0x0123_4567_89AB_CDEF);
    let [a, b, c, d, e, f, g, h] = bits.to_le_bytes();
    match bytes {
        1 => (vec![a], vec![a]),
        2 => (u16::from_le_bytes([a, b]).to_ne_bytes().into(), vec![a, b]),
        4 => (u32::from_le_bytes([a, b, c, d]).to_ne_bytes().into(), vec![a, b, c, d]),
        _ => (bits.to_ne_bytes().into(), vec![a, b, c, d, e, f, g, h]),
    }
}

/// An item, likewise.
fn item(data_type: DataType, seed: u64) -> (Vec<u8>, Vec<u8>) {
    if data_type == DataType::Bool {
        let value = vec![u8::from(seed % 2 == 1)];
        return (value.clone(), value);
    }
    let (mut here, mut little) = (Vec::new(), Vec::new());
    for part in 0..data_type.item_bytes() / data_type.number_bytes() {
        let (ours, theirs) = number(seed + 1000 * part, data_type.number_bytes());
        here.extend(ours);
        little.extend(theirs);
    }
    (here, little)
}

fn datasets() -> Vec<(Dataset, u64)> {
    let mut datasets = Vec::new();
    for (seed, data_type) in (1..).zip(TYPES) {
        for (name, layout) in [
            ("contiguous", Layout::Contiguous),
            ("chunks", Layout::Chunked { shape: Some(vec![2, 3]), text: false }),
            ("text", Layout::Chunked { shape: Some(vec![2, 3]), text: true }),
        ] {
            let mut dataset = Dataset::new(format!("{data_type}/{name}"), data_type, SHAPE);
            dataset.layout = layout;
            dataset.codec = Codec::Zlib;
            dataset.fill_value = item(data_type, 99 * seed).1;
            dataset.attributes = r#"{"units": "m"}"#.into();
            datasets.push((dataset, seed));
        }
    }
    datasets
}

/// The item at an index.
fn at(data_type: DataType, seed: u64, row: u64, column: u64) -> Vec<u8> {
    item(data_type, 7919 * seed + 31 * row + column).0
}

fn regions(of: impl IntoIterator<Item = ([u64; 2], [u64; 2])>) -> Vec<IndexBox> {
    of.into_iter().map(|(start, count)| IndexBox::new(start, count)).collect()
}

fn items(data_type: DataType, seed: u64, regions: &[IndexBox]) -> Vec<u8> {
    let mut data = Vec::new();
    for region in regions {
        for row in region.start[0]..region.start[0] + region.count[0] {
            for column in region.start[1]..region.start[1] + region.count[1] {
                data.extend(at(data_type, seed, row, column));
            }
        }
    }
    data
}

fn vector() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/datasets.scda")
}

#[test]
fn a_machine_of_either_byte_order_writes_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut params: WriteOptions = options();
    params.encoder = Encoder::Zlib; // the bytes of the other one may change with its version
    for ranks in [1, 2, 3] {
        run_on_threads(ranks, |comm| {
            let own = regions(BOXES.into_iter().skip(comm.rank()).step_by(ranks));
            let mut file = Writer::create(comm.clone(), &path, b"of every type", &params).unwrap();
            file.group("/", r#"{"title": "datasets of every type"}"#).unwrap();
            for (dataset, seed) in datasets() {
                file.dataset(&dataset, &own, &items(dataset.data_type, seed, &own)).unwrap();
            }
            file.close().unwrap();
        });
        let written = std::fs::read(&path).unwrap();
        if !vector().exists() && std::env::var_os("SCDA_UPDATE").is_some() {
            std::fs::write(vector(), &written).unwrap();
        }
        let expected = std::fs::read(vector()).unwrap();
        // All but the vendor string.
        assert_eq!(written[..8], expected[..8]);
        let same = written[32..].iter().zip(&expected[32..]).take_while(|(a, b)| a == b).count();
        assert!(written[32..] == expected[32..], "{ranks} ranks: they differ from byte {} on", 32 + same);
    }
}

#[test]
fn what_one_machine_wrote_the_others_read_in_their_byte_order() {
    for ranks in [1, 3] {
        run_on_threads(ranks, |comm| {
            let mut file = Reader::open(comm, vector(), &options()).unwrap();
            for (dataset, seed) in datasets() {
                let found = file.dataset_record(&dataset.name, 0).unwrap().unwrap();
                assert_eq!((found.data_type, &found.fill_value), (dataset.data_type, &dataset.fill_value));
                let all = IndexBox::all(&SHAPE);
                let mut data = vec![0; items(dataset.data_type, seed, std::slice::from_ref(&all)).len()];
                found.read(&mut file, &[all], &mut data).unwrap();
                let (fill, _) = item(dataset.data_type, 99 * seed);
                let mut rest = data.as_slice();
                for row in 0..SHAPE[0] {
                    for column in 0..SHAPE[1] {
                        let is_written = BOXES.iter().any(|(start, count)| {
                            (start[0]..start[0] + count[0]).contains(&row)
                                && (start[1]..start[1] + count[1]).contains(&column)
                        });
                        let expected =
                            if is_written { at(dataset.data_type, seed, row, column) } else { fill.clone() };
                        let (value, others) = rest.split_at(expected.len());
                        assert_eq!(value, expected, "{} at {row}, {column}", dataset.name);
                        rest = others;
                    }
                }
            }
            file.close().unwrap();
        });
    }
}

#[test]
fn the_vector_has_the_bytes_that_it_should() {
    // Without the library: a row of each plain dataset, in little-endian order.
    let file = std::fs::read(vector()).unwrap();
    for (dataset, seed) in datasets().into_iter().filter(|(dataset, _)| dataset.layout == Layout::Contiguous)
    {
        let row: Vec<u8> = (0..SHAPE[1]).flat_map(|j| item(dataset.data_type, 7919 * seed + j).1).collect();
        let header = format!("A {} -", dataset.name);
        let place = file.windows(header.len()).position(|text| text == header.as_bytes()).unwrap();
        assert_eq!(file[place + 128..][..row.len()], row, "{}", dataset.name);
    }
}
