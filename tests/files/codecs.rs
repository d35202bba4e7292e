//! Chunks by each codec: their bytes stay as they are, on every machine; and what others have compressed is read.

#![allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // test data

use super::TYPES;
use crate::common::options;
use scda::{
    Codec, Communicator, Content, DataType, Dataset, Encoder, IndexBox, Layout, LineBreak, Reader,
    WriteOptions, Writer, run_on_threads,
};
use scda_codec::chunk::{ChunkCodec, ChunkDecoder, ChunkEncoder};
use scda_format::crc;
use scda_format::dataset::codecs::Codecs;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn vectors(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name)
}

/// The bits of a number of `bytes` bytes: of a smooth field, or of noise.
fn bits(data_type: DataType, bytes: u64, number: u64, is_noise: bool) -> u64 {
    if is_noise {
        let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        return (mixed ^ (mixed >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb) >> (64 - 8 * bytes);
    }
    // Exact in all types: no rounding, and no function of a mathematical library.
    let value = number * number / 97 % 2000;
    match (data_type, bytes) {
        (DataType::Float32 | DataType::Complex64, _) => u64::from((value as f32 / 8.0).to_bits()),
        (DataType::Float64 | DataType::Complex128, _) => (value as f64 / 8.0).to_bits(),
        (DataType::Float16, _) => 0x3c00 + value,
        (_, 1) => value / 40,
        _ => value,
    }
}

/// Items in the byte order of the file.
fn items(data_type: DataType, numbers: impl Iterator<Item = u64>, is_noise: bool) -> Vec<u8> {
    let mut data = Vec::new();
    let bytes = data_type.number_bytes();
    for number in numbers {
        for part in 0..data_type.item_bytes() / bytes {
            let mut bits = bits(data_type, bytes, number + 1000 * part, is_noise);
            if data_type == DataType::Bool {
                bits %= 2;
            }
            data.extend(&bits.to_le_bytes()[..bytes as usize]);
        }
    }
    data
}

/// Turns the numbers to the byte order of the machine, or back.
fn turned(mut data: Vec<u8>, data_type: DataType) -> Vec<u8> {
    if cfg!(target_endian = "big") {
        data.chunks_mut(data_type.number_bytes() as usize).for_each(<[u8]>::reverse);
    }
    data
}

fn dataset(name: String, data_type: DataType, shape: [u64; 2], codec: Codec) -> Dataset {
    let mut dataset = Dataset::new(name, data_type, shape);
    dataset.layout = Layout::Chunked { shape: Some(vec![12, 11]), text: false };
    dataset.codec = codec;
    dataset
}

/// The chunks whose bytes are frozen: a full one; one at an edge, where the rest has the fill value; noise, which frames store.
fn chunks(data_type: DataType) -> [Vec<u8>; 3] {
    let item = data_type.item_bytes() as usize;
    let full = items(data_type, 0..2000, false);
    let edge = full.chunks(40 * item).flat_map(|row| [&row[..25 * item], &vec![0; 15 * item]].concat());
    [full.clone(), edge.collect(), items(data_type, 0..700, true)]
}

#[test]
fn each_codec_type_and_level_keeps_its_bytes() {
    let (mut table, mut decoder) = (String::new(), ChunkDecoder::new(true));
    for (codec, name) in Codec::NAMES {
        for data_type in TYPES {
            write!(table, "{name} {data_type}").unwrap();
            for level in 0..=9 {
                let mut dataset = dataset("a".into(), data_type, [1, 1], codec);
                dataset.level = Some(level);
                // The bytes of the other encoder for zlib may change with its version.
                let chunk_codec = ChunkCodec::of(&dataset, Encoder::Zlib, 2, LineBreak::Unix);
                let mut encoder = ChunkEncoder::new(chunk_codec).unwrap();
                let mut all = Vec::new();
                for chunk in chunks(data_type) {
                    let length = encoder.encode(&chunk, &mut all).unwrap();
                    let stream = &all[all.len() - length..];
                    decoder.stream(length as u64).unwrap().copy_from_slice(stream);
                    let mut found = vec![1; chunk.len()];
                    let codecs = Codecs::of(&dataset, 2);
                    decoder.decode(length as u64, &codecs, &mut found).unwrap();
                    assert!(found == chunk, "{name} {data_type} {level}");
                }
                write!(table, " {}:{:016x}", all.len(), crc::of(&all)).unwrap();
            }
            table.push('\n');
        }
    }
    let path = vectors("codecs.txt");
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    for (found, expected) in table.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    if std::env::var_os("SCDA_UPDATE").is_some() && table.starts_with(&expected) {
        std::fs::write(path, table).unwrap(); // with what is new
    } else {
        assert_eq!(table.len(), expected.len());
    }
}

/// The array that is written, in chunks of 12 x 11: full ones, those at edges, and some of which nothing is passed.
const SHAPE: [u64; 2] = [31, 27];
const PASSED: [([u64; 2], [u64; 2]); 2] = [([0, 0], [14, 27]), ([24, 0], [7, 14])];

/// The items of a box of it, in the byte order of the machine.
fn own(data_type: DataType, (start, count): ([u64; 2], [u64; 2]), is_noise: bool) -> Vec<u8> {
    let rows = start[0]..start[0] + count[0];
    let numbers = rows.flat_map(|i| (start[1]..start[1] + count[1]).map(move |j| SHAPE[1] * i + j));
    turned(items(data_type, numbers, is_noise), data_type)
}

/// Smooth fields of each type, and noise of some.
fn written() -> Vec<(Dataset, bool)> {
    let mut all = Vec::new();
    for (codec, name) in Codec::NAMES {
        for data_type in TYPES {
            let is_short = data_type.item_bytes() <= 4;
            all.push((dataset(format!("{name}/{data_type}"), data_type, SHAPE, codec), false));
            if is_short && codec != Codec::Zlib {
                all.push((dataset(format!("{name}/{data_type} noise"), data_type, SHAPE, codec), true));
            }
        }
    }
    all
}

#[test]
fn files_of_each_codec_keep_their_bytes_and_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for (ranks, threads) in [(1, 1), (2, 1), (3, 2)] {
        let mut params: WriteOptions = options();
        (params.encoder, params.tuning.threads) = (Encoder::Zlib, threads);
        run_on_threads(ranks, |comm| {
            let mine = || PASSED.into_iter().skip(comm.rank()).step_by(ranks);
            let regions: Vec<IndexBox> = mine().map(|(start, count)| IndexBox::new(start, count)).collect();
            let mut file = Writer::create(comm.clone(), &path, b"by each codec", &params).unwrap();
            for (dataset, is_noise) in written() {
                let data: Vec<u8> = mine().flat_map(|part| own(dataset.data_type, part, is_noise)).collect();
                file.dataset(&dataset, &regions, &data).unwrap();
            }
            file.close().unwrap();
        });
        let written = std::fs::read(&path).unwrap();
        let vector = vectors("codecs.scda");
        let expected = std::fs::read(&vector).unwrap_or_default();
        // All but the vendor string.
        let (found, before) = (&written[32..], expected.get(32..).unwrap_or_default());
        let same = found.iter().zip(before).take_while(|(a, b)| a == b).count();
        assert!(same == before.len(), "{ranks} ranks: they differ from byte {} on", 32 + same);
        if std::env::var_os("SCDA_UPDATE").is_some() {
            std::fs::write(vector, &written).unwrap(); // with what is new
        } else {
            assert!(same == found.len(), "{ranks} ranks: found {} bytes more", found.len() - same);
        }
    }
    run_on_threads(2, |comm| {
        let mut file = Reader::open(comm, vectors("codecs.scda"), &options()).unwrap();
        for (dataset, is_noise) in written() {
            let handle = file.dataset(&dataset.name).unwrap().unwrap();
            for part in PASSED {
                let expected = own(dataset.data_type, part, is_noise);
                let mut found = vec![1; expected.len()];
                handle.read(&mut file, &[IndexBox::new(part.0, part.1)], &mut found).unwrap();
                assert!(found == expected, "{}", dataset.name);
            }
        }
    });
}

#[test]
fn what_zarr_compresses_by_codecs_of_others_is_read() {
    // As in vectors/zarr/make_codecs.py.
    const SHAPE: [u64; 2] = [30, 29];
    let expected = |data_type: DataType| -> Vec<u8> {
        let values = (0..SHAPE[0] * SHAPE[1]).map(|k| k * k / 499);
        match data_type {
            DataType::Float32 => values.flat_map(|value| (value as f32 / 8.0).to_ne_bytes()).collect(),
            DataType::Int16 => values.flat_map(|value| (value as i16).to_ne_bytes()).collect(),
            DataType::Int64 => values.flat_map(u64::to_ne_bytes).collect(),
            other => panic!("{other}"),
        }
    };
    let counts = run_on_threads(2, |comm| {
        let mut file = Reader::open(comm, vectors("zarr/codecs.scda"), &options()).unwrap();
        let mut count = 0;
        let mut next = 0;
        while let Some(entry) = file.next_entry(next).unwrap() {
            next = entry.end();
            let Content::Dataset(found) = entry.content else { panic!("{entry:?}") };
            assert_eq!((&found.shape[..], &found.unsupported), (&SHAPE[..], &None), "{}", found.name);
            let expected = expected(found.data_type);
            let mut data = vec![1; expected.len()];
            found.read(&mut file, &[IndexBox::all(&SHAPE)], &mut data).unwrap();
            assert!(data == expected, "{}", found.name);
            count += 1;
        }
        count
    });
    assert_eq!(counts, [77, 77]);
}
