//! What one append costs a process that has not had the file open before.

use crate::common::Rng;
use crate::common::options;
use crate::common::system::{counted, reads};
use scda::{
    Codec, DataType, Dataset, Encode, Hdf5, IndexBox, Layout, Reader, Solo, SuperblockState, WriteOptions,
    Writer,
};
use scda_hdf5::{Outline, Previous, Superblock};
use std::path::Path;
use std::process::Command;

/// A step of a series: three records, or rows of three datasets.
fn add_step(file: &mut Writer, extends: bool, step: u64) {
    for (name, width) in [("time", 1), ("flow/u", 100), ("flow/v", 100)] {
        let shape = if extends { vec![1, width] } else { vec![width] };
        let mut dataset = Dataset::new(name, DataType::Uint8, shape.clone());
        dataset.extends = extends && step > 0;
        dataset.attributes = if dataset.extends { "{}".into() } else { r#"{"units": "m"}"#.into() };
        let data = vec![u8::try_from(step % 251).unwrap(); usize::try_from(width).unwrap()];
        file.dataset(&dataset, &[IndexBox::all(&shape)], &data).unwrap();
    }
}

fn params(hdf5: Hdf5) -> WriteOptions {
    let mut params: WriteOptions = options();
    (params.seal, params.hdf5) = (true, hdf5);
    params
}

/// Appends a step to the file that the environment names, and prints what that has read.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn child() {
    let Ok(path) = std::env::var("SCDA_APPENDED") else { return };
    let (path, extends) = (Path::new(&path), std::env::var("SCDA_EXTENDS").is_ok());
    let costs = ["syscr", "rchar"].map(counted);
    let own = ["syscr", "rchar"].map(counted);
    let mut file = Writer::append(Solo, path, &params(Hdf5::Close)).unwrap();
    add_step(&mut file, extends, 1);
    file.close().unwrap();
    let now = ["syscr", "rchar"].map(counted);
    let [reads, bytes] = [0, 1].map(|n| now[n] - own[n] - (own[n] - costs[n]));
    println!("cost {reads} {bytes} end");
}

/// The reads, and their bytes, of one append by another process.
fn cost(path: &Path, extends: bool) -> [u64; 2] {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--ignored", "--exact", "appends::child", "--nocapture"]).env("SCDA_APPENDED", path);
    if extends {
        child.env("SCDA_EXTENDS", "1");
    }
    let output = child.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.split("cost ").nth(1).unwrap_or_else(|| panic!("{text}"));
    let mut words = words.split(' ').map(|word| word.parse().unwrap_or(0));
    [words.next().unwrap(), words.next().unwrap()]
}

#[test]
fn one_append_of_a_new_process_reads_little() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for hdf5 in [Hdf5::Never, Hdf5::Close] {
        for extends in [false, true] {
            let mut all = Vec::new();
            let params = params(hdf5);
            Writer::create(Solo, &path, b"", &params).unwrap().close().unwrap();
            let mut step = 0;
            for steps in [10, 400, 405, 412, 3000] {
                while step < steps {
                    let mut file = Writer::append(Solo, &path, &params).unwrap();
                    add_step(&mut file, extends, step);
                    file.close().unwrap();
                    step += 1;
                }
                all.push(cost(&path, extends));
                step += 1;
            }
            println!("{hdf5:?} {extends}: {all:?}");
            let is_little = |&[reads, bytes]: &[u64; 2]| reads <= 30 && bytes <= 200_000;
            assert!(all.iter().all(is_little), "{hdf5:?} {extends}: {all:?}");
        }
    }
}

#[test]
fn an_open_writer_reads_nothing_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for extends in [false, true] {
        let mut file = Writer::create(Solo, &path, b"", &params(Hdf5::Close)).unwrap();
        (0..10).for_each(|step| {
            add_step(&mut file, extends, step);
            file.commit().unwrap();
        });
        file.close().unwrap();
        let mut file = Writer::append(Solo, &path, &params(Hdf5::Close)).unwrap();
        let own = reads();
        let own = reads() - own;
        let costs: Vec<u64> = (10..50)
            .map(|step| {
                let before = reads();
                add_step(&mut file, extends, step);
                file.commit().unwrap();
                reads() - before - own
            })
            .collect();
        file.close().unwrap();
        // The first commit with a table of names needs those that the file had before.
        assert!(
            costs[1..].iter().sum::<u64>() <= 16 && costs[16..].iter().all(|&cost| cost == 0),
            "{costs:?}"
        );
    }
}

/// Writes so many files with views that this process remembers none of those before.
fn forget(folder: &Path) {
    for number in 0..4 {
        let path = folder.join(format!("other{number}"));
        let mut file = Writer::create(Solo, &path, b"", &params(Hdf5::Close)).unwrap();
        add_step(&mut file, false, 0);
        file.close().unwrap();
    }
}

/// A file to which things are added, and how many records each dataset has.
struct Added {
    file: Writer,
    records: Vec<(String, u64)>,
}

impl Added {
    fn dataset(&mut self, rng: &mut Rng, dataset: &Dataset) {
        let data = rng.bytes(usize::try_from(dataset.data_bytes().unwrap()).unwrap());
        self.file.dataset(dataset, &[IndexBox::all(&dataset.shape)], &data).unwrap();
        match self.records.iter_mut().find(|(name, _)| *name == dataset.name) {
            Some((_, records)) => *records += u64::from(!dataset.extends),
            None => self.records.push((dataset.name.clone(), 1)),
        }
    }

    /// Records that are alike and others, rows, attributes, groups, other sections, steps of a mesh.
    fn something(&mut self, rng: &mut Rng, with_mesh: bool) {
        let packed = |shape: Vec<u64>| Layout::Chunked { shape: Some(shape), text: false };
        match rng.below(if with_mesh { 12 } else { 10 }) {
            0..4 => {
                for (name, shape) in [("time", vec![]), ("flow/u", vec![4, 6]), ("flow/v", vec![4, 6])] {
                    let mut dataset = Dataset::new(name, DataType::Int8, shape);
                    dataset.attributes = r#"{"units": "m"}"#.into();
                    match name {
                        "flow/v" => (dataset.layout, dataset.codec) = (packed(vec![2, 6]), Codec::Zlib),
                        "flow/u" => dataset.dimension_names = ["y", "x"].map(|name| Some(name.into())).into(),
                        _ => {}
                    }
                    self.dataset(rng, &dataset);
                }
            }
            4 => {
                // Now and then, records are not alike.
                let mut dataset = Dataset::new("other", DataType::Uint8, [2 + u64::from(rng.below(40) == 0)]);
                dataset.attributes = format!(r#"{{"n": {}}}"#, rng.below(3));
                self.dataset(rng, &dataset);
            }
            5 | 6 => {
                for (name, most) in [("rows", 1), ("even", 2), ("packed", 2)] {
                    // Rows come by twos, but for some.
                    let count = if rng.below(60) == 0 { 1 } else { most };
                    let mut dataset = Dataset::new(name, DataType::Uint8, [count, 3]);
                    if name == "packed" {
                        (dataset.layout, dataset.codec) = (packed(vec![2, 3]), Codec::Zlib);
                    }
                    dataset.extends = self.records.iter().any(|(known, _)| known == name);
                    self.dataset(rng, &dataset);
                }
            }
            7 if !self.records.is_empty() => {
                let (name, records) =
                    &self.records[usize::try_from(rng.below(self.records.len() as u64)).unwrap()];
                let back = if rng.below(4) == 0 { rng.below(*records) } else { 0 };
                let attributes = format!(r#"{{"set": {}}}"#, rng.below(5));
                self.file.set_attributes(name, -1 - i64::try_from(back).unwrap(), &attributes).unwrap();
            }
            8 => self
                .file
                .group(["flow", "more"][usize::from(rng.below(2) == 0)], r#"{"of": "a flow"}"#)
                .unwrap(),
            10.. => {
                self.file.group("mesh", r#"{"scda_particles": 1}"#).unwrap();
                self.dataset(rng, &Dataset::new("mesh/time", DataType::Float64, []));
                self.dataset(rng, &Dataset::new("mesh/position", DataType::Float64, [5, 3]));
            }
            _ => self.file.block(b"section", 0, 3, Some(b"abc"), Encode::None).unwrap(),
        }
    }
}

/// A process that knows all of a file writes the same view as others that read the outline of the one before.
#[test]
fn views_do_not_depend_on_what_a_process_remembers() {
    let folder = tempfile::tempdir().unwrap();
    let [one, many] = ["one", "many"].map(|name| folder.path().join(name));
    let params = params(Hdf5::Close);
    for seed in 0..6 {
        let mut rng = Rng(seed);
        let mut records = [Vec::new(), Vec::new()];
        for turn in 0..40 {
            let next = rng.next();
            for (path, records) in [&one, &many].into_iter().zip(&mut records) {
                let mut rng = Rng(next);
                if *path == many {
                    forget(folder.path());
                }
                let file = match turn {
                    0 => Writer::create(Solo, path, b"", &params),
                    _ => Writer::append(Solo, path, &params),
                };
                let mut added = Added { file: file.unwrap(), records: std::mem::take(records) };
                for _ in 0..1 + rng.below(2) {
                    added.something(&mut rng, seed % 3 == 2);
                    if rng.below(4) == 0 {
                        added.file.commit().unwrap();
                    }
                }
                added.file.close().unwrap();
                *records = added.records;
            }
            let [a, b] = [&one, &many].map(|path| std::fs::read(path).unwrap());
            let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            assert!(a == b, "seed {seed}, turn {turn}: they differ from byte {same} on of {}", a.len());
            let mut reader = Reader::open(Solo, &many, &options()).unwrap();
            let seals = reader.inspect().seals().unwrap().all;
            reader.inspect().check_seal(&seals).unwrap();
            if let Some(SuperblockState::View(view)) = reader.inspect().superblock().unwrap() {
                reader.inspect().check_outline(view.root, &seals).unwrap();
            }
        }
    }
}

/// The outline of the last view of a file.
fn outline(bytes: &[u8]) -> Outline {
    let superblock = Superblock::of_bytes(bytes[512..].first_chunk().unwrap()).unwrap().unwrap();
    let mut read = |offset: u64, to: &mut [u8]| {
        let at = usize::try_from(offset).unwrap();
        to.copy_from_slice(&bytes[at..at + to.len()]);
        Ok(())
    };
    Outline::read(Previous { root: superblock.root, read: &mut read }, superblock.end).unwrap().unwrap()
}

#[test]
fn a_damaged_outline_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let params = params(Hdf5::Close);
    let append = |step: u64| {
        forget(folder.path());
        let mut file = match step {
            0 => Writer::create(Solo, &path, b"", &params),
            _ => Writer::append(Solo, &path, &params),
        }
        .unwrap();
        add_step(&mut file, false, step);
        file.close().unwrap();
        std::fs::read(&path).unwrap()
    };
    let mut before = Vec::new();
    (0..5).for_each(|step| before = append(step));
    let known = outline(&before);
    let expected = append(5);
    for (part, is_constant) in [(&known.extents, false), (&known.constants, true)] {
        let at = before.windows(part.len()).rposition(|bytes| bytes == part).unwrap();
        for place in (at..at + part.len()).step_by(if is_constant { 11 } else { 3 }) {
            let mut damaged = before.clone();
            damaged[place] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            let after = append(5);
            if is_constant {
                // The next outline refers to none that are damaged.
                assert_eq!(outline(&after).constants, known.constants, "{place}");
            } else {
                assert!(after[before.len()..] == expected[before.len()..], "{place}");
            }
        }
    }
}
