//! Errors on one rank and on all: the same code everywhere, no rank that waits for another, and
//! nothing left behind.

#![allow(clippy::cast_possible_truncation)] // test data

mod agreement;
mod atomic;
mod calls;
mod ending;
mod opening;

use crate::common::{Data, Model, ModelSection, Options, options};
use scda::{Encode, Error, Result, ThreadComm, run_on_threads};
use std::path::PathBuf;

/// A folder with room for one file.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
    fn path(&self) -> PathBuf {
        self.0.path().join("file.scda")
    }
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn params<T: Options>(check: bool) -> T {
    let mut params: T = options();
    params.tuning().check = check;
    params
}

/// Runs a program on ranks and gives the error that all of them got.
fn error_of_all(size: usize, program: impl Fn(ThreadComm) -> Result<()> + Sync) -> Error {
    let mut errors: Vec<Error> = run_on_threads(size, program)
        .into_iter()
        .enumerate()
        .map(|(rank, result)| result.err().unwrap_or_else(|| panic!("rank {rank} of {size} had success")))
        .collect();
    for error in &errors {
        assert_eq!(error.to_string(), errors[0].to_string());
        assert_eq!(error.kind(), errors[0].kind());
    }
    errors.swap_remove(0)
}

/// A file with one section of each kind.
fn small_model() -> Model {
    let elements = vec![b"a".to_vec(), b"bc".to_vec(), b"def".to_vec()];
    let plain = [
        Data::Inline([b'i'; 32]),
        Data::Block(b"block".to_vec()),
        Data::Array { size: 2, elements: vec![b"ab".to_vec(); 3] },
        Data::Varray(elements),
    ];
    let mut sections = Vec::new();
    for encode in [Encode::None, Encode::Always] {
        for data in plain.iter().skip(usize::from(encode == Encode::Always)) {
            sections.push(ModelSection { user: b"u".to_vec(), data: data.clone(), encode });
        }
    }
    Model { vendor: Vec::new(), user: b"small".to_vec(), sections }
}
