//! The files of tests/bad-data: each gets the error that it must, at its byte, on any number of ranks, and what is whole is read.

use crate::common::{options, read_into};
use scda::{Communicator, IndexBox, ReadOptions, Reader, Result, Solo, Tuning, run_on_threads};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad-data")
}

fn unpacked() -> TempDir {
    let files = tempfile::tempdir().unwrap();
    let mut tar = Command::new("tar");
    let run = tar.arg("-xf").arg(folder().join("files.tar")).arg("-C").arg(files.path()).status();
    assert!(run.unwrap().success());
    files
}

fn expected() -> serde_json::Map<String, Value> {
    serde_json::from_str(&std::fs::read_to_string(folder().join("expected.json")).unwrap()).unwrap()
}

/// How a file is read.
struct Way<'a> {
    reader: &'a str,
    verify: bool,
    decode: bool,
    aggregation_bytes: u64,
    seed: u64,
}

/// Reads everything. Tells how many sections were whole.
fn read(comm: impl Communicator + 'static, path: &Path, way: &Way<'_>) -> (usize, Result<()>) {
    let mut params: ReadOptions = options();
    params.tuning.aggregation_bytes = usize::try_from(way.aggregation_bytes).unwrap();
    params.verify = way.verify;
    if way.reader == "dataset" {
        let read = Reader::open(comm, path, &params).and_then(|mut file| {
            let found = file.dataset_record("d", -1)?.expect("there is one");
            found.read(&mut file, &[IndexBox::new([0], [4])], &mut [0; 4][..])
        });
        return (1, read);
    }
    let mut sections = Vec::new();
    let read = read_into(&mut sections, comm, path, way.decode, &params, way.seed);
    (sections.len(), read)
}

#[test]
fn each_file_gets_the_error_that_it_must() {
    let (files, mut wrong) = (unpacked(), Vec::new());
    for (name, expected) in expected() {
        let path = files.path().join(&name);
        let reader = expected["reader"].as_str().unwrap();
        let verify = expected["error"] == "checksum";
        for size in [1, 3] {
            for aggregation_bytes in [0, Tuning::DEFAULT_AGGREGATION_BYTES as u64] {
                for (seed, decode) in [(1, true), (2, true), (3, false)] {
                    if reader == "decode" && !decode {
                        // Sections like any others, except one that the end of the file truncates.
                        let way = Way { reader, verify, decode, aggregation_bytes, seed };
                        assert!(read(Solo, &path, &way).1.is_ok(), "{name}");
                        continue;
                    }
                    let way = Way { reader, verify, decode, aggregation_bytes, seed };
                    let all = run_on_threads(size, |comm| {
                        let (whole, read) = read(comm, &path, &way);
                        let error = read.err();
                        let code = error.as_ref().map_or(0, scda::Error::code);
                        (whole, code, error.map(|error| error.to_string()))
                    });
                    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{name}: ranks disagree: {all:?}");
                    let (whole, code, text) = &all[0];
                    let place = format!("{name}: byte {}: ", expected["offset"]);
                    let is_right = i64::from(*code) == expected["code"]
                        && *whole as u64 == expected["whole"]
                        && text.as_ref().is_none_or(|text| text.contains(&place));
                    if !is_right {
                        wrong.push(format!("{name}: {whole} {code} {text:?}\n   {expected}"));
                    }
                }
            }
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn bytes_after_the_last_seal_are_left_out() {
    let files = unpacked();
    for (name, expected) in expected().iter().filter(|(_, expected)| expected["error"].is_null()) {
        let reader = Reader::open(Solo, files.path().join(name), &options()).unwrap();
        assert_eq!(reader.left_out(), expected["left_out"].as_u64(), "{name}");
    }
}

#[test]
fn the_files_are_those_of_the_script() {
    let run = Command::new("python3").arg(folder().join("make.py")).arg("--check").output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
