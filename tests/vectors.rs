//! Files of an independent writer, with what they contain, and files that are damaged.

#![allow(clippy::cast_possible_truncation)] // test data

mod common;

use common::{Data, Model, ModelSection, Want, folder, manifest, read_anything, read_on, write_on};
use scda::{Encode, Encoder, ErrorKind, LineBreak, Params, run_on_threads};

const VECTORS: [&str; 4] = ["header-only", "raw", "encoded", "mixed"];

#[test]
fn every_vector_of_every_style_is_read_to_what_its_manifest_says() {
    for name in VECTORS {
        let model = manifest(name);
        for style in ["unix", "mime", "wild"] {
            let path = folder().join(format!("{name}.{style}.scda"));
            for size in [1, 2, 3, 5] {
                for want in [Want::All, Want::Some, Want::Nothing] {
                    read_on(size, &path, &model, &Params::default(), want, size as u64);
                }
            }
            let mut small = Params::default();
            small.aggregation_bytes = 0;
            read_on(3, &path, &model, &small, Want::All, 8);
        }
    }
}

/// The bytes of each section, the two of a compressed pair together, by the layout that the model
/// implies.
fn sections<'a>(model: &Model, file: &'a [u8]) -> Vec<&'a [u8]> {
    let padded = |n: usize| n + 7 + (32 - (n + 7) % 32) % 32;
    let count = |at: usize| -> usize {
        let text = std::str::from_utf8(&file[at + 2..at + 28]).unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    };
    let varray = |start: usize| {
        let n = count(start + 64);
        start + 96 + 32 * n + padded((0..n).map(|i| count(start + 96 + 32 * i)).sum())
    };
    let mut start = 128;
    let mut sections = Vec::new();
    for section in &model.sections {
        let encoded = section.encode == Encode::Always;
        let end = match &section.data {
            Data::Inline(_) => start + 96,
            Data::Block(_) if encoded => start + 192 + padded(count(start + 160)),
            Data::Block(data) => start + 96 + padded(data.len()),
            Data::Array { .. } if encoded => varray(start + 96),
            Data::Array { size, elements } => start + 128 + padded(elements.len() * *size as usize),
            Data::Varray(elements) if encoded => varray(start + 128 + padded(32 * elements.len())),
            Data::Varray(_) => varray(start),
        };
        sections.push(&file[start..end]);
        start = end;
    }
    assert_eq!(start, file.len());
    sections
}

#[test]
fn every_vector_is_written_anew() {
    let scratch = tempfile::tempdir().unwrap();
    for name in VECTORS {
        let model = manifest(name);
        for (style, line_break) in [("unix", LineBreak::Unix), ("mime", LineBreak::Mime)] {
            let vector = std::fs::read(folder().join(format!("{name}.{style}.scda"))).unwrap();
            let mut params = Params::default();
            params.line_break = line_break;
            let path = scratch.path().join("again.scda");
            let first = write_on(1, &path, &model, &params, 1);
            for size in [2, 3, 4, 7] {
                assert!(write_on(size, &path, &model, &params, size as u64) == first, "{name} on {size}");
            }
            // All but the vendor string.
            assert_eq!(first[..8], vector[..8]);
            assert_eq!(first[32..128], vector[32..128]);
            let pairs = sections(&model, &first).into_iter().zip(sections(&model, &vector));
            for (index, (ours, theirs)) in pairs.enumerate() {
                let encoded = model.sections[index].encode == Encode::Always;
                assert!(encoded || ours == theirs, "{name}.{style}, section {index}");
            }
            read_on(3, &path, &model, &Params::default(), Want::All, 3);
        }
    }
}

#[test]
fn the_zlib_encoder_writes_what_the_independent_writer_wrote() {
    // Its elements have different levels.
    let scratch = tempfile::tempdir().unwrap();
    for name in ["encoded", "mixed"] {
        let model = manifest(name);
        for (style, line_break) in [("unix", LineBreak::Unix), ("mime", LineBreak::Mime)] {
            let written = [0, 1, 6, 9].map(|level| {
                let mut params = Params::default();
                (params.line_break, params.encoder, params.level) = (line_break, Encoder::Zlib, level);
                write_on(2, &scratch.path().join("z.scda"), &model, &params, 5)
            });
            let vector = std::fs::read(folder().join(format!("{name}.{style}.scda"))).unwrap();
            for (index, theirs) in sections(&model, &vector).into_iter().enumerate() {
                let same = written.iter().any(|file| sections(&model, file)[index] == theirs);
                assert!(same, "{name}.{style}, section {index}");
            }
        }
    }
}

/// What the authors' test program writes, in the order of its file.
fn reference() -> Model {
    let plain = |user: &str, data| ModelSection { user: user.into(), data, encode: Encode::None };
    let inline = *b"Test inline data               \n";
    let array =
        |elements: usize, text: &[u8]| Data::Array { size: 3, elements: vec![text.to_vec(); elements] };
    Model {
        vendor: b"libsc".to_vec(),
        user: b"This is a test file".to_vec(),
        sections: vec![
            plain("Block section test", Data::Block(b"Test block data\n".to_vec()[..15].to_vec())),
            plain("Inline section test without user-defined padding", Data::Inline(inline)),
            plain("", Data::Inline(inline)),
            plain("A block section with the inline data", Data::Block(inline.to_vec())),
            plain("A fixed-length array section", array(12, b"abc")),
            plain("An empty array", array(0, b"")),
            plain("Another fixed-length array section", array(12, b"cba")),
        ],
    }
}

#[test]
fn the_file_of_the_authors_own_code_is_reproduced() {
    let scratch = tempfile::tempdir().unwrap();
    let path = folder().join("libsc-2.8.7-reference.scda");
    let vector = std::fs::read(&path).unwrap();
    for size in [1, 3] {
        let written = write_on(size, &scratch.path().join("r.scda"), &reference(), &Params::default(), 9);
        assert_eq!(written[32..].escape_ascii().to_string(), vector[32..].escape_ascii().to_string());
        assert_eq!(written[..8], vector[..8]);
        read_on(size, &path, &reference(), &Params::default(), Want::All, 4);
    }
}

#[test]
fn damaged_files_get_the_error_that_they_must() {
    let text = std::fs::read_to_string(folder().join("corrupt/EXPECTED.json")).unwrap();
    let expected: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
    assert!(expected.len() > 40);
    for (name, expected) in &expected {
        let expected = expected.as_str().unwrap();
        let path = folder().join("corrupt").join(format!("{name}.scda"));
        for size in [1, 3] {
            for bytes in [0, Params::DEFAULT_AGGREGATION_BYTES] {
                let mut params = Params::default();
                params.aggregation_bytes = bytes;
                let read = |decode, seed| {
                    let all = run_on_threads(size, |comm| {
                        read_anything(comm, &path, decode, &params, seed).map(drop)
                    });
                    let kinds: Vec<_> =
                        all.iter().map(|r| r.as_ref().map_err(|e| e.kind()).copied()).collect();
                    assert!(
                        kinds.windows(2).all(|pair| pair[0] == pair[1]),
                        "{name}: ranks disagree: {kinds:?}"
                    );
                    let texts: Vec<_> =
                        all.iter().map(|r| r.as_ref().err().map(ToString::to_string)).collect();
                    assert!(texts.windows(2).all(|pair| pair[0] == pair[1]), "{name}: {texts:?}");
                    if let Some(text) = &texts[0] {
                        assert!(text.contains(&format!("{name}.scda")) && text.contains("byte "), "{text}");
                    }
                    kinds[0]
                };
                let found = [read(true, 1), read(true, 2)];
                assert_eq!(found[0], found[1], "{name}: depends on the partition");
                let legal: &[ErrorKind] = match expected {
                    "format" => &[ErrorKind::Format],
                    "unsupported version" => &[ErrorKind::UnsupportedVersion],
                    "short file" | "short header" => &[ErrorKind::ShortFile],
                    "decode" | "decode, without allocating 2^62 bytes" => &[ErrorKind::Decode],
                    "decode or short" => &[ErrorKind::Decode, ErrorKind::ShortFile],
                    "short file or range" | "beyond 64 bits or short file" => {
                        &[ErrorKind::ShortFile, ErrorKind::Range]
                    }
                    range if range.starts_with("range") => &[ErrorKind::Range],
                    any if any.starts_with("any") => {
                        let _ = read(false, 1);
                        continue;
                    }
                    other => panic!("unknown expectation {other}"),
                };
                assert!(
                    found[0].is_err_and(|kind| legal.contains(&kind)),
                    "{name}: {:?}, {expected}",
                    found[0]
                );
            }
        }
    }
}
