//! Serial equivalence: the same data give the same bytes for any number of ranks, any partition and
//! addressing, any setting that does not concern the bytes; and any number of ranks reads them.

#![allow(clippy::cast_possible_truncation)] // test data

use crate::common::{self, Data, Model, ModelSection, Rng, Want, model, options, read_on, tuned, write_on};
use scda::{
    Communicator, DataType, Dataset, Encode, Encoder, IndexBox, Layout, LineBreak, Reader, WriteOptions,
    Writer, run_on_threads,
};

fn params(change: impl FnOnce(&mut WriteOptions)) -> WriteOptions {
    let mut params: WriteOptions = options();
    change(&mut params);
    params
}

#[test]
fn the_bytes_do_not_depend_on_the_ranks_nor_on_how_they_are_written() {
    let scratch = tempfile::tempdir().unwrap();
    for seed in 0..6 {
        let model = model(seed, [2_000, 200_000][seed as usize % 2]);
        for style in [LineBreak::Unix, LineBreak::Mime] {
            let base = || params(|p| (p.line_break, p.level) = (style, 3));
            let path = scratch.path().join("m.scda");
            let first = write_on(1, &path, &model, &base(), 0);
            for (case, size) in [1, 2, 3, 4, 7].into_iter().enumerate() {
                // Bringing files to the disk takes its time: a few are enough.
                for variant in 0..if seed < 2 { 5 } else { 3 } {
                    let mut params = base();
                    match variant {
                        0 => {}
                        1 => params.tuning.aggregation_bytes = 0,
                        2 => (params.tuning.aggregation_bytes, params.tuning.check) = (3000, false),
                        3 => {
                            (params.atomic, params.tuning.check, params.tuning.aggregation_bytes) =
                                (true, false, 100_000)
                        }
                        _ => (params.tuning.threads, params.sync, params.tuning.check) = (3, true, false),
                    }
                    let seed = seed * 1000 + case as u64 * 10 + variant;
                    let again = write_on(size, &path, &model, &params, seed);
                    assert!(again == first, "seed {seed}, {size} ranks, variant {variant}");
                    read_on(size % 5 + 1, &path, &model, &tuned(&params.tuning), Want::Some, seed);
                }
                read_on(
                    size,
                    &path,
                    &model,
                    &tuned(&params(|p| p.tuning.check = false).tuning),
                    Want::All,
                    seed + 77,
                );
                read_on(
                    size,
                    &path,
                    &model,
                    &tuned(&params(|p| p.tuning.aggregation_bytes = 3000).tuning),
                    Want::All,
                    seed,
                );
                read_on(size, &path, &model, &options(), Want::Nothing, seed);
            }
        }
    }
}

/// Small sections that fill the buffer many times over, with some larger ones in between.
#[test]
fn many_small_sections_give_the_same_bytes_and_are_read() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("many.scda");
    let mut model = model(1, 3000);
    for seed in 2..40 {
        let largest = if seed % 10 == 0 { 300_000 } else { 3000 };
        model.sections.extend(common::model(seed, largest).sections);
    }
    let params = params(|p| p.tuning.check = false);
    let first = write_on(1, &path, &model, &params, 0);
    assert!(first.len() > 3 << 20);
    for size in [2, 3, 5] {
        assert!(write_on(size, &path, &model, &params, size as u64) == first, "{size} ranks");
        read_on(size, &path, &model, &tuned(&params.tuning), Want::All, 3);
        read_on(size, &path, &model, &tuned(&params.tuning), Want::Some, 4);
    }
}

#[test]
fn auto_compresses_what_gets_smaller_whatever_the_partition() {
    // So few bytes that all are tried, and so many that a sample is.
    auto_compresses_what_gets_smaller(200);
    auto_compresses_what_gets_smaller(20_000);
}

fn auto_compresses_what_gets_smaller(element_bytes: u64) {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("auto.scda");
    let mut rng = Rng(1);
    let noise: Vec<Vec<u8>> =
        (0..50).map(|_| (0..element_bytes).map(|_| rng.next() as u8).collect()).collect();
    let smooth = vec![vec![b'x'; element_bytes as usize]; 50];
    let sections = |encode, encode_noise| {
        let mut sections = Vec::new();
        for (elements, encode) in [(&noise, encode_noise), (&smooth, encode)] {
            for data in [
                Data::Block(elements.concat()),
                Data::Array { size: element_bytes, elements: elements.clone() },
                Data::Varray(elements.iter().zip(1..).map(|(e, i)| e[..e.len() * i / 50].to_vec()).collect()),
                Data::Varray(Vec::new()),
                Data::Block(Vec::new()),
            ] {
                let is_empty =
                    matches!(&data, Data::Block(d) if d.is_empty()) || data == Data::Varray(vec![]);
                let encode = if is_empty && encode == Encode::Always { Encode::None } else { encode };
                sections.push(ModelSection { user: b"u".to_vec(), data, encode });
            }
        }
        Model { vendor: Vec::new(), user: Vec::new(), sections }
    };
    let auto = sections(Encode::Auto, Encode::Auto);
    let chosen = sections(Encode::Always, Encode::None);
    let expected = write_on(1, &path, &chosen, &options(), 1);
    for size in [1, 2, 3, 7] {
        for seed in 0..3 {
            let threads = |threads| params(|p| p.tuning.threads = threads);
            let found = write_on(size, &path, &auto, &threads(1 + seed as usize), seed);
            assert!(found == expected, "{size} ranks, seed {seed}");
            read_on(size, &path, &chosen, &tuned(&threads(3).tuning), Want::All, seed);
            read_on(1, &path, &chosen, &tuned(&threads(2 + seed as usize).tuning), Want::Some, seed);
        }
    }
}

#[test]
fn both_encoders_at_every_level_are_read_alike() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("levels.scda");
    let model = model(3, 20_000);
    for encoder in [Encoder::Fast, Encoder::Zlib] {
        for level in 0..=9 {
            let params = params(|p| (p.encoder, p.level) = (encoder, level));
            let first = write_on(1, &path, &model, &params, 1);
            assert!(write_on(3, &path, &model, &params, 2) == first);
            read_on(2, &path, &model, &options(), Want::All, 3);
        }
    }
}

/// The ranks write columns of a dataset in chunks of rows, so that all have parts of each chunk; then each reads all of it.
#[test]
fn ranks_may_have_different_numbers_of_threads() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("threads.scda");
    for rows in [5, 70] {
        let mut dataset = Dataset::new("d", DataType::Uint64, [rows, 2400]);
        dataset.layout = Layout::Chunked { shape: Some(vec![1, 2400]), text: false };
        let item = |row: u64, column: u64| (row * row + column / 7).to_ne_bytes();
        let all: Vec<u8> =
            (0..rows).flat_map(|row| (0..2400).flat_map(move |column| item(row, column))).collect();
        let mut first = None;
        for threads in [&[1][..], &[40, 1], &[1, 40], &[1, 2, 40, 3]] {
            let columns = 2400 / threads.len() as u64;
            let found = run_on_threads(threads.len(), |comm| {
                let rank = comm.rank();
                let (mut params, begin) = (options::<WriteOptions>(), columns * rank as u64);
                params.tuning.threads = threads[rank];
                let columns = begin..begin + columns;
                let data: Vec<u8> = (0..rows)
                    .flat_map(|row| columns.clone().flat_map(move |column| item(row, column)))
                    .collect();
                let region = IndexBox::new([0, begin], [rows, columns.end - begin]);
                let mut file = Writer::create(comm.clone(), &path, b"", &params).unwrap();
                file.dataset(&dataset, &[region], &data).unwrap();
                file.close().unwrap();
                let mut file = Reader::open(comm, &path, &tuned(&params.tuning)).unwrap();
                let found = file.dataset_record("d", 0).unwrap().unwrap();
                let mut data = vec![0; all.len()];
                found.read(&mut file, &[IndexBox::all(&dataset.shape)], &mut data).unwrap();
                file.close().unwrap();
                data
            });
            assert!(found.iter().all(|data| *data == all), "{rows} rows, {threads:?} threads");
            let bytes = std::fs::read(&path).unwrap();
            assert!(*first.get_or_insert_with(|| bytes.clone()) == bytes, "{rows} rows, {threads:?} threads");
        }
    }
}
