//! What is wrong in a view is found, and leads to nothing worse.

use crate::appended::mend;
use crate::file::{TestFile, check_root, data_of, view_with_mesh, write, written};
use crate::rng::Rng;
use crate::sampled;
use crate::series::numbers;
use scda::{Codec, DataType, Dataset, ErrorKind, Layout, Solo, WriteOptions, Writer};
use scda_hdf5::Superblock;

fn chunked(name: &str, shape: &[u64], chunk: &[u64]) -> Dataset {
    let mut dataset = Dataset::new(name, DataType::Float64, shape);
    (dataset.layout, dataset.codec) =
        (Layout::Chunked { shape: Some(chunk.to_vec()), text: false }, Codec::Zlib);
    dataset.attributes = r#"{"units": "kg m-3", "list": ["a", "b"], "n": 1}"#.into();
    dataset
}

/// A file whose view, the second one, has every kind of object.
fn all_kinds() -> TestFile {
    let file = written(|writer| {
        writer.group("m", r#"{"scda_particles": 1, "title": "all kinds"}"#)?;
        for n in 0..520 {
            write(writer, &Dataset::new(format!("many/d{n}"), DataType::Int8, []), &[7]);
        }
        for (n, chunks) in [1, 3, 2100].into_iter().enumerate() {
            write(writer, &chunked(&format!("chunks{n}"), &[chunks], &[1]), &numbers(chunks));
        }
        let mut plane = Dataset::new("plane", DataType::Float64, [2, 3]);
        plane.dimension_names = vec![Some("y".into()), Some("x".into())];
        plane.attributes = r#"{"units": "m"}"#.into();
        write(writer, &plane, &numbers(6));
        write(writer, &Dataset::new("m/fields/position", DataType::Float64, [5, 2]), &numbers(10));
        Ok(())
    });
    let before = view_with_mesh(&std::fs::read(&file.path).unwrap());
    file.add(before.clone());
    let mut writer = Writer::append(Solo, &file.path, &WriteOptions::default()).unwrap();
    for step in 0..400 {
        write(&mut writer, &Dataset::new("time", DataType::Float64, []), &numbers(1));
        write(&mut writer, &chunked("series", &[4], &[2]), &numbers(4 + step)[8 * step as usize..]);
    }
    writer.close().unwrap();
    let now = view_with_mesh(&std::fs::read(&file.path).unwrap());
    file.add_after(&now, &before);
    file
}

#[test]
fn what_is_wrong_is_found() {
    let file = all_kinds();
    let bytes = std::fs::read(&file.path).unwrap();
    let (root, data) =
        (Superblock::of_bytes(bytes[512..].first_chunk().unwrap()).unwrap().unwrap().root, data_of(&bytes));
    let whole = check_root(&bytes, root, &data).unwrap();
    assert!(whole.groups >= 9 && whole.datasets > 530 && whole.places > 3000, "{whole:?}");
    // Without the data of the datasets.
    assert_eq!(check_root(&bytes, root, &data[data.len() - 2..]).unwrap_err().kind(), ErrorKind::Format);
    // A group, a leaf of a tree, a page, a block of names.
    let last = bytes.windows(17).rposition(|user| user == b"scda hdf5 view 00").unwrap();
    let first = bytes.windows(17).position(|user| user == b"scda hdf5 view 00").unwrap();
    let signatures: [&[u8]; 8] = [b"OHDR", b"OCHK", b"BTHD", b"BTLF", b"FAHD", b"FADB", b"FHDB", b"FHIB"];
    for signature in signatures {
        let from = if [&b"BTLF"[..], b"BTHD", b"OCHK"].contains(&signature) { last } else { first };
        let at = from + bytes[from..].windows(4).position(|four| four == signature).unwrap();
        let mut other = bytes.clone();
        other[at + 5] ^= 0x40;
        let error = check_root(&other, if from == first { first_root(&bytes, first) } else { root }, &data)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Format, "{signature:?}");
        assert!(error.offset().is_some(), "{error}");
    }
}

/// The offset of the root group of the first view, which libscda writes last.
fn first_root(bytes: &[u8], view: usize) -> u64 {
    let end = view + bytes[view..].windows(7).position(|user| user == b"the end").unwrap();
    bytes[..end].windows(4).rposition(|four| four == b"OHDR").unwrap() as u64
}

#[test]
fn a_mutated_view_is_checked_to_the_end() {
    // `SCDA_MUTATIONS` says how many; more are made with the fuzzer `views`.
    let rounds = std::env::var("SCDA_MUTATIONS").map(|number| number.parse().unwrap());
    let file = all_kinds();
    let bytes = std::fs::read(&file.path).unwrap();
    let (root, data) =
        (Superblock::of_bytes(bytes[512..].first_chunk().unwrap()).unwrap().unwrap().root, data_of(&bytes));
    let first = bytes.windows(17).position(|user| user == b"scda hdf5 view 00").unwrap();
    let signatures: [&[u8]; 9] =
        [b"OHDR", b"OCHK", b"BTHD", b"BTLF", b"BTIN", b"FRHP", b"FAHD", b"FADB", b"GCOL"];
    let objects: Vec<usize> =
        (first..bytes.len() - 4).filter(|&at| signatures.contains(&&bytes[at..at + 4])).collect();
    let mut rng = Rng(11);
    let (mut right, mut wrong) = (0, 0);
    for _ in 0..rounds.unwrap_or(20_000 / sampled::one_of(100)) {
        let mut other = bytes.clone();
        for _ in 0..=rng.below(4) {
            let object = objects[rng.below(objects.len() as u64) as usize];
            let at = (object + rng.below(120) as usize).min(bytes.len() - 1);
            other[at] = if rng.below(2) == 0 { rng.next() as u8 } else { [0, 1, 255][rng.below(3) as usize] };
        }
        if rng.below(4) > 0 {
            mend(&mut other[first..]);
        }
        match check_root(&other, root, &data) {
            Ok(_) => right += 1,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Format, "{error}");
                wrong += 1;
            }
        }
    }
    assert!(wrong > right, "{right} {wrong}");
}
