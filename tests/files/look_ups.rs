//! What looking datasets up by name costs in files of many.

use crate::common::options;
use crate::common::system::reads;
use scda::{DataType, Dataset, IndexBox, Reader, Solo, WriteOptions, Writer};
use std::path::Path;

/// A file of this many datasets, in an order that is not that of their names.
fn write(path: &Path, count: u64) {
    let mut params: WriteOptions = options();
    params.seal = true;
    let mut writer = Writer::create(Solo, path, b"many datasets", &params).unwrap();
    for number in 0..count {
        let name = name_of(number);
        let dataset = Dataset::new(&name, DataType::Uint8, [1]);
        writer.dataset(&dataset, &[IndexBox::all(&[1])], b"a").unwrap();
    }
    writer.close().unwrap();
}

fn name_of(number: u64) -> String {
    format!("group {}/field {number}", number * 7919 % 1000)
}

/// The reads of opening each of `count` datasets by name, far from one another, in tenths on average.
fn cost(reader: &mut Reader, datasets: u64, count: u64) -> u64 {
    let own = reads();
    let own = reads() - own;
    let before = reads();
    for turn in 0..count {
        let name = name_of((turn + 1) * 611_953 % datasets);
        assert!(reader.dataset(&name).unwrap().is_some());
    }
    (reads() - before - own) * 10 / count
}

/// The names of a long index are read once it has cost as much to search for some.
#[test]
fn few_reads_open_one_of_many_datasets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for datasets in [1000, 2000, 2500, 8000, 60_000] {
        write(&path, datasets);
        let open = || Reader::open(Solo, &path, &options()).unwrap();
        let mut reader = open();
        let costs = [30, 300].map(|count| cost(&mut reader, datasets, count));
        let (mut reader, mut listed) = (open(), 0);
        for entry in reader.entries() {
            listed += u64::from(entry.is_ok());
        }
        let after = cost(&mut reader, datasets, 300);
        println!("{datasets} datasets: {costs:?} tenths of a read, {after} after listing");
        assert_eq!(listed, datasets);
        assert!(reader.dataset("group 1/none").unwrap().is_none());
        // Pages of the index of the last one do not all fit in the memory for them.
        let most = if datasets < 60_000 { 13 } else { 18 };
        assert!(costs[0] <= 60 && costs[1] <= 25 && after <= most, "{datasets}: {costs:?} {after}");
    }
}

/// The first look-ups in a long index read a few pages of it, however many names it has, and so do those of names that it has not.
#[test]
fn the_first_look_ups_in_a_long_index_read_little() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut params: WriteOptions = options();
    params.seal = true;
    let sections = 150_000_u64;
    let mut writer = Writer::create(Solo, &path, b"many sections", &params).unwrap();
    for number in 0..sections {
        writer.inline(name_of(number).as_bytes(), 0, Some(&[b' '; 32])).unwrap();
    }
    // Two names of the same hash, several times.
    let same: [&[u8]; 2] = [b"b49070953", b"1e8a011168"];
    for number in 0..300 {
        writer.inline(same[number % 2], 0, Some(&[b' '; 32])).unwrap();
    }
    writer.close().unwrap();
    let cost = |user: &[u8], record: i64| {
        let own = reads();
        let own = reads() - own;
        let mut reader = Reader::open(Solo, &path, &options()).unwrap();
        let before = reads();
        let found = reader.find(user, record).unwrap();
        (found, reads() - before - own)
    };
    let costs = (0..40).map(|turn| {
        let number = (turn + 1) * 611_953 % sections;
        let record = if turn % 2 == 0 { 0 } else { -1 };
        let (found, first) = cost(name_of(number).as_bytes(), record);
        assert_eq!(found, Some(number));
        let (none, absent) = cost(format!("absent {turn}").as_bytes(), 0);
        assert_eq!(none, None);
        [first, absent]
    });
    let costs: Vec<[u64; 2]> = costs.collect();
    println!("reads of a first look-up: {costs:?}");
    assert!(costs.iter().flatten().all(|&cost| cost <= 12), "{costs:?}");
    for (name, record, expected) in [(0, 0, 0), (0, -1, 298), (1, 0, 1), (1, 2, 5), (1, -1, 299)] {
        assert_eq!(cost(same[name], record).0, Some(sections + expected));
    }
    let mut reader = Reader::open(Solo, &path, &options()).unwrap();
    for (name, first) in same.into_iter().zip(0..) {
        let all = reader.find_all(name).unwrap();
        assert!(all.into_iter().eq((0..150).map(|i| sections + first + 2 * i)));
    }
}
