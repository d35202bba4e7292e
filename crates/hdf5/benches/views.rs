//! What views cost of which the file has many datasets: `cargo bench -p scda-hdf5` prints milliseconds and bytes. `-- --quick` takes few
//! datasets; a number takes as many.
#![allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // test data

use scda::{DataType, Dataset, SectionType};
use scda_format::dataset::codecs::Codecs;
use scda_format::dataset::metadata;
use scda_format::dataset::parse::KnownMetadata;
use scda_format::dataset::stored_dataset::{DataSection, StoredDataset};
use scda_hdf5::{Data, Entry, Part, Previous, View, check};
use std::hint::black_box;
use std::time::Instant;

const DATASETS: u64 = 100_000;
const QUICK_DATASETS: u64 = 2000;
const TURNS: usize = 5;
/// The bytes of a dataset of ten numbers in the file.
const DATASET_BYTES: u64 = 1340;

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
        let entry = Entry { name, attributes: &stored.dataset.attributes, parts: &[part] };
        view.dataset(&entry).expect("a dataset");
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
        let before = view(&stored, &names[..count as usize]);
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
}
