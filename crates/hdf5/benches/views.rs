//! What views cost of which the file has many datasets: `cargo bench -p scda-hdf5` prints milliseconds and bytes. `-- --quick` takes few
//! datasets; a number takes as many.
#![allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // test data

use scda::{DataType, Dataset, Hdf5, IndexBox, SectionType, Solo, WriteOptions, Writer};
use scda_format::dataset::codecs::Codecs;
use scda_format::dataset::metadata;
use scda_format::dataset::parse::KnownMetadata;
use scda_format::dataset::stored_dataset::{DataSection, StoredDataset};
use scda_hdf5::{Data, DatasetView, Part, Previous, View, check};
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

const DATASETS: u64 = 100_000;
const QUICK_DATASETS: u64 = 2000;
const TURNS: usize = 5;
/// The bytes of a dataset of ten numbers in the file.
const DATASET_BYTES: u64 = 896;

/// What the file says of a dataset of ten numbers.
fn stored() -> StoredDataset {
    let mut dataset = Dataset::new("a", DataType::Float64, [10]);
    dataset.attributes = r#"{"units": "kg m-3"}"#.into();
    let text = metadata::of_dataset(&dataset, &Codecs::of(&dataset, 1)).expect("metadata");
    let section = DataSection {
        section_type: SectionType::Array,
        user: b"a",
        count: 10,
        size: 8,
        is_compressed: false,
    };
    StoredDataset::new(&mut KnownMetadata::default(), text.as_bytes(), 0, section).expect("metadata")
}

fn view(stored: &StoredDataset, names: &[String]) -> View {
    let mut view = View::new();
    for (name, n) in names.iter().zip(0..) {
        let part = Part { stored, data: Data::Plain(1024 + DATASET_BYTES * n) };
        let shown = DatasetView::new(&stored.dataset.attributes, &[part]).expect("a dataset");
        view.dataset(name, &shown).expect("a dataset");
    }
    view
}

/// The median of what some turns take, in milliseconds.
fn milliseconds(mut run: impl FnMut()) -> f64 {
    let mut all: Vec<f64> = (0..TURNS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all[TURNS / 2]
}

fn main() {
    let mut count = DATASETS;
    for argument in std::env::args().skip(1) {
        match &*argument {
            "--quick" => count = QUICK_DATASETS,
            number => count = number.parse().unwrap_or(count), // cargo passes --bench
        }
    }
    let stored = stored();
    println!(
        "| {count} datasets of 10 numbers | list | write | bytes a dataset | one more: write | bytes | check |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (what, groups) in
        [("in one group", 1), ("in groups of 100", count.div_ceil(100)), ("as 100 series", 0)]
    {
        let name = |n: u64| match groups {
            0 => format!("field{:02}", n % 100),
            1 => format!("d{n:07}"),
            _ => format!("g{:05}/d{n:07}", n / 100),
        };
        let names: Vec<String> = (0..=count).map(name).collect();
        let mut before = view(&stored, &names[..count as usize]);
        let now = view(&stored, &names);
        let list = milliseconds(|| drop(black_box(view(&stored, &names[..count as usize]))));
        let offset = 4096 + DATASET_BYTES * (count + 1);
        let written = before.write(offset).expect("a view");
        let write = milliseconds(|| drop(black_box(before.write(offset).expect("a view"))));
        let end = offset + written.bytes.len() as u64;
        let read = |at: u64, to: &mut [u8]| {
            to.copy_from_slice(&written.bytes[(at - offset) as usize..][..to.len()]);
            Ok(())
        };
        let before = before.take_objects().expect("objects");
        let after = || {
            let mut read = read;
            let previous = Previous { root: written.root, read: &mut read };
            now.write_after(end, &before, previous).expect("a view")
        };
        let more = after().bytes.len();
        let write_more = milliseconds(|| drop(black_box(after())));
        let checked = milliseconds(|| {
            let mut read = read;
            let previous = Previous { root: written.root, read: &mut read };
            check(previous, end, &mut |_, _| true).expect("the view is right");
        });
        let each = written.bytes.len() as f64 / count as f64;
        println!(
            "| {what} | {list:.1} ms | {write:.1} ms | {each:.0} | {write_more:.1} ms | {more} | {checked:.1} ms |"
        );
    }
    closing(count);
}

/// A program that closes a file, and how long the close takes and how long all, in milliseconds; the bytes of the file.
fn closed(path: &Path, hdf5: Hdf5, datasets: &[(Dataset, Vec<u8>)]) -> [f64; 3] {
    let mut params = WriteOptions::default();
    (params.seal, params.hdf5, params.sync) = (true, hdf5, false);
    let start = Instant::now();
    let mut writer = Writer::create(Solo, path, b"closing", &params).expect("a file");
    for (dataset, data) in datasets {
        writer.dataset(dataset, &[IndexBox::all(&dataset.shape)], data).expect("a dataset");
    }
    let before = start.elapsed().as_secs_f64() * 1e3;
    writer.close().expect("the file is closed");
    let all = start.elapsed().as_secs_f64() * 1e3;
    let bytes = std::fs::metadata(path).expect("the file").len();
    [all - before, all, bytes as f64]
}

/// The medians.
fn medians(mut run: impl FnMut() -> [f64; 3]) -> [f64; 3] {
    let all: Vec<[f64; 3]> = (0..TURNS).map(|_| run()).collect();
    [0, 1, 2].map(|k| {
        let mut of: Vec<f64> = all.iter().map(|found| found[k]).collect();
        of.sort_by(f64::total_cmp);
        of[TURNS / 2]
    })
}

/// What a view adds to closing a file.
fn closing(count: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file.scda");
    let of = |name: String, shape: &[u64]| {
        let mut dataset = Dataset::new(name, DataType::Float64, shape);
        dataset.attributes = r#"{"units": "kg m-3"}"#.into();
        let bytes = 8 * shape.iter().product::<u64>();
        (dataset, vec![1; bytes as usize])
    };
    println!("\n| closing | close without, with view | all without, with view | bytes without, with view |");
    println!("| --- | --- | --- | --- |");
    for (what, datasets, shape) in
        [("datasets of 10 numbers", count, &[10][..]), ("datasets of 10 MB", 10, &[1_250_000][..])]
    {
        let all: Vec<_> = (0..datasets).map(|n| of(format!("g{:05}/d{n:07}", n / 100), shape)).collect();
        let [plain, view] = [Hdf5::Never, Hdf5::Close].map(|hdf5| medians(|| closed(&path, hdf5, &all)));
        println!(
            "| {datasets} {what} | {:.1}, {:.1} ms | {:.1}, {:.1} ms | {:.0}, {:.0} |",
            plain[0], view[0], plain[1], view[1], plain[2], view[2]
        );
    }
    // A series: a file that is opened and closed for each step.
    let steps = (count / 100).max(10);
    let fields: Vec<_> = (0..20).map(|n| of(format!("field{n:02}"), &[100])).collect();
    let mut results = Vec::new();
    for hdf5 in [Hdf5::Never, Hdf5::Close] {
        let mut params = WriteOptions::default();
        (params.seal, params.hdf5, params.sync) = (true, hdf5, false);
        let start = Instant::now();
        let (mut last, mut first) = (0.0, 0.0);
        for step in 0..steps {
            let mut writer = match step {
                0 => Writer::create(Solo, &path, b"series", &params).expect("a file"),
                _ => Writer::append(Solo, &path, &params).expect("the file"),
            };
            for (dataset, data) in &fields {
                writer.dataset(dataset, &[IndexBox::all(&dataset.shape)], data).expect("a dataset");
            }
            let start = Instant::now();
            writer.close().expect("the file is closed");
            last = start.elapsed().as_secs_f64() * 1e3;
            first = if step == 1 { last } else { first };
        }
        let all = start.elapsed().as_secs_f64() * 1e3;
        results.push((all, first, last, std::fs::metadata(&path).expect("the file").len()));
    }
    for ((all, first, last, bytes), what) in results.into_iter().zip(["without view", "with view"]) {
        println!(
            "{steps} closes of 20 fields of 100 numbers {what}: {all:.0} ms, second close {first:.2} ms, last {last:.2} ms, {bytes} bytes"
        );
    }
}
