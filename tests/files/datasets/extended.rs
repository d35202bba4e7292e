//! Rows that are added to a dataset that is in the file already.

use super::case::{Case, Random, cut, items};
use super::{offset_of, with};
use crate::common::options;
use scda::{
    Communicator, Content, DataMut, DataType, Dataset, Encode, ErrorKind, Faults, IndexBox, Layout,
    MemoryMut, ReadOptions, Reader, Request, Solo, Texts, WriteOptions, Writer, run_on_threads,
};
use std::path::Path;

fn sealed() -> WriteOptions {
    with(|params: &mut WriteOptions| params.seal = true)
}

fn append(path: &Path) -> Writer {
    Writer::append(Solo, path, &sealed()).unwrap()
}

/// Rows of an array, and who writes them.
struct Addition {
    dataset: Dataset,
    /// Those of the dataset before.
    first: u64,
    ranks: Vec<Vec<IndexBox>>,
    commits: bool,
    reopens: bool,
}

/// The rows of the case in several parts; what no rank passes is the fill value.
fn additions(case: &Case, random: &mut Random) -> Vec<Addition> {
    let (mut all, mut first, rows) = (Vec::new(), 0, case.dataset.shape[0]);
    while all.len() < 2 || first < rows {
        let count = if random.one_in(8) { 0 } else { random.below(rows - first).max(1).min(rows - first) };
        let mut dataset = case.dataset.clone();
        dataset.shape[0] = count;
        dataset.extends = !all.is_empty();
        if random.one_in(3) {
            dataset.layout = Layout::Auto { shape: None };
        } else if let Layout::Chunked { shape: Some(shape), .. } = &mut dataset.layout {
            shape[0] = 1 + random.below(5);
        }
        let mut pieces = Vec::new();
        if count > 0 {
            cut(random, &IndexBox::all(&dataset.shape), &mut pieces);
        }
        let mut ranks = vec![Vec::new(); 4];
        pieces.into_iter().for_each(|piece| ranks[random.below(4) as usize].push(piece));
        all.push(Addition { dataset, first, ranks, commits: random.one_in(3), reopens: random.one_in(3) });
        first += count;
    }
    all
}

/// The items of boxes of these rows.
fn data(case: &Case, first: u64, regions: &[IndexBox]) -> Vec<u8> {
    let moved = regions.iter().map(|region| {
        let mut region = region.clone();
        region.start[0] += first;
        region
    });
    moved.flat_map(|region| items(&case.array, case.item(), &case.dataset.shape, &region)).collect()
}

/// Writes all on `ranks` ranks: a rank has the boxes of all with its remainder.
fn write(path: &Path, case: &Case, all: &[Addition], ranks: usize, params: &WriteOptions) {
    let other = Dataset::new("other", DataType::Uint8, [3]);
    run_on_threads(ranks, |comm| {
        let rank = comm.rank();
        let mut file = Some(Writer::create(comm.clone(), path, b"", params).unwrap());
        for one in all {
            let own = one.ranks.iter().skip(rank).step_by(ranks).flatten().cloned();
            let own: Vec<_> = own.collect();
            let now = file.as_mut().unwrap();
            now.dataset(&one.dataset, &own, &data(case, one.first, &own)).unwrap();
            let mine = if rank == 0 { vec![IndexBox::all(&[3])] } else { vec![] };
            now.dataset(&other, &mine, if rank == 0 { &b"abc"[..] } else { &[] }).unwrap();
            if one.reopens {
                file.take().unwrap().close().unwrap();
                file = Some(Writer::append(comm.clone(), path, params).unwrap());
            } else if one.commits {
                now.commit().unwrap();
            }
        }
        file.unwrap().close().unwrap();
    });
}

/// Reads all, and boxes, on `ranks` ranks; also into memory that is scattered, and together with another dataset.
fn read(path: &Path, case: &Case, ranks: usize, seed: u64) {
    let Case { dataset, array, .. } = case;
    let (item, shape) = (case.item(), &dataset.shape);
    run_on_threads(ranks, |comm| {
        let mut random = Random(seed + 31 * comm.rank() as u64);
        let mut file = Reader::open(comm, path, &options()).unwrap();
        for turn in 0..3 {
            let found = file.dataset_record(&dataset.name, if turn == 1 { 0 } else { -1 }).unwrap().unwrap();
            assert_eq!((&found.shape, found.data_type), (shape, dataset.data_type));
            assert_eq!(found.attributes, r#"{"units":"m"}"#);
            let mut all = vec![7; array.len()];
            found.read(&mut file, &[IndexBox::all(shape)], &mut all).unwrap();
            assert!(all == *array, "seed {seed}");
            let boxes: Vec<IndexBox> = (0..random.below(4))
                .map(|_| {
                    let start: Vec<u64> = shape.iter().map(|&n| random.below(n + 1)).collect();
                    let count = shape.iter().zip(&start).map(|(&n, start)| random.below(n - start + 1));
                    let count: Vec<u64> = count.collect();
                    IndexBox::new(start, count)
                })
                .collect();
            let expected: Vec<Vec<u8>> = boxes.iter().map(|one| items(array, item, shape, one)).collect();
            let mut packed = vec![7; expected.concat().len()];
            found.read(&mut file, &boxes, &mut packed).unwrap();
            assert!(packed == expected.concat(), "seed {seed}: {boxes:?}");
            // Every other item of memory.
            let strides: Vec<Vec<i64>> = boxes
                .iter()
                .map(|one| {
                    let inner = (0..shape.len()).map(|d| one.count[d + 1..].iter().product::<u64>());
                    inner.map(|items| (2 * item as u64 * items).cast_signed()).collect()
                })
                .collect();
            let mut memories: Vec<Vec<u8>> = expected.iter().map(|one| vec![7; 2 * one.len()]).collect();
            let scattered = memories.iter_mut().zip(&strides);
            let scattered = scattered.map(|(memory, strides)| MemoryMut::strided(memory, 0, strides));
            let request = |regions, data| Request { dataset: &found, regions, data };
            let mut again = vec![7; packed.len()];
            let requests = vec![
                request(&boxes, DataMut::Boxes(scattered.collect())),
                request(&boxes, DataMut::Packed(&mut again)),
            ];
            file.read_datasets(requests).unwrap();
            assert!(again == packed);
            for (memory, expected) in memories.iter().zip(&expected) {
                let found = memory.chunks(item.max(1)).step_by(2).flatten().copied();
                assert!(found.eq(expected.iter().copied()), "seed {seed}");
            }
        }
        file.close().unwrap();
    });
}

#[test]
fn any_rows_are_read_as_one_array() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut cases = 0;
    for seed in 0..160 {
        let mut case = Case::random(seed);
        if case.dataset.shape.is_empty() {
            continue;
        }
        cases += 1;
        // All items are passed by somebody: what case left out is the fill value.
        case.ranks.clear();
        let all = additions(&case, &mut Random(seed));
        let mut expected = None;
        for ranks in 1..=4 {
            let params = with(|params: &mut WriteOptions| {
                params.seal = true;
                params.background_bytes = if ranks == 3 { 1 << 20 } else { 0 };
            });
            write(&path, &case, &all, ranks, &params);
            let bytes = std::fs::read(&path).unwrap();
            assert!(*expected.get_or_insert_with(|| bytes.clone()) == bytes, "seed {seed}: {ranks} ranks");
        }
        read(&path, &case, 1 + seed as usize % 3, seed);
    }
    assert!(cases > 100);
}

fn numbers(name: &str, rows: u64, extends: bool) -> Dataset {
    let mut dataset = Dataset::new(name, DataType::Uint8, [rows, 2]);
    dataset.extends = extends;
    dataset
}

fn put(file: &mut Writer, dataset: &Dataset, data: &[u8]) {
    file.dataset(dataset, &[IndexBox::all(&dataset.shape)], data).unwrap();
}

/// The last dataset of the name, and its items.
fn all_of(path: &Path, name: &str) -> (Dataset, Vec<u8>) {
    let mut file = Reader::open(Solo, path, &options()).unwrap();
    let found = file.dataset_record(name, -1).unwrap().unwrap();
    let mut data = vec![0; found.data_bytes().unwrap() as usize];
    found.read(&mut file, &[IndexBox::all(&found.shape)], &mut data).unwrap();
    file.close().unwrap();
    (found.description().clone(), data)
}

#[test]
fn the_bytes_are_those_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = Writer::create(Solo, &path, b"", &sealed()).unwrap();
    put(&mut file, &numbers("rho", 1, false), b"ab");
    file.close().unwrap();
    let old = std::fs::read(&path).unwrap();
    let mut file = append(&path);
    put(&mut file, &numbers("rho", 2, true), b"cdef");
    file.close().unwrap();
    let new = String::from_utf8_lossy(&std::fs::read(&path).unwrap()[old.len()..]).into_owned();
    let data = offset_of(&old, "A rho");
    assert!(new.starts_with("B scda added rows 00 -----"), "{new}");
    assert!(new.contains("\n\"attributes\":{\"scda_first_row\":1}\n"), "{new}");
    let user = format!("A {:-<61}\n", format!("/+{data}/rho "));
    assert!(new.contains(&user), "{new}");
    let (found, all) = all_of(&path, "rho");
    assert_eq!((found.shape, &*all), (vec![3, 2], &b"abcdef"[..]));
}

#[test]
fn a_dataset_is_extended_in_the_job_that_writes_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = Writer::create(Solo, &path, b"", &sealed()).unwrap();
    let (one, more) = (numbers("a", 1, false), numbers("a", 1, true));
    let all = [IndexBox::all(&[1, 2])];
    // One call, in which the dataset comes first, and rows twice.
    file.datasets(&[(&one, &all, b"ab"), (&more, &all, b"cd"), (&more, &all, b"ef")]).unwrap();
    file.field(&more, &[1], b"gh").unwrap();
    file.own_field(&numbers("a", 99, true), 2, b"ijkl").unwrap();
    file.set_attributes("a", -1, r#"{"units": "m"}"#).unwrap();
    file.commit().unwrap();
    put(&mut file, &more, b"mn");
    file.close().unwrap();
    let (found, data) = all_of(&path, "a");
    assert_eq!((found.shape, found.attributes.as_str()), (vec![7, 2], r#"{"units":"m"}"#));
    assert_eq!(data, b"abcdefghijklmn");

    // Another record is another dataset, which gets the rows that follow.
    let mut file = append(&path);
    put(&mut file, &more, b"op");
    put(&mut file, &one, b"AB");
    put(&mut file, &more, b"CD");
    file.close().unwrap();
    assert_eq!(all_of(&path, "a").1, b"ABCD");
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    let mut shapes = Vec::new();
    for entry in file.entries() {
        let entry = entry.unwrap();
        let Content::Dataset(dataset) = &entry.content else { panic!("{entry:?}") };
        assert_eq!((entry.record, entry.records), (shapes.len() as u64, 2));
        shapes.push(dataset.shape.clone());
    }
    assert_eq!(shapes, [[8, 2], [2, 2]]);
}

#[test]
fn what_is_not_sealed_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = Writer::create(Solo, &path, b"", &sealed()).unwrap();
    put(&mut file, &numbers("a", 1, false), b"ab");
    file.commit().unwrap();
    let mut reader = Reader::open(Solo, &path, &options()).unwrap();
    assert_eq!(reader.dataset_record("a", -1).unwrap().unwrap().shape, [1, 2]);
    put(&mut file, &numbers("a", 1, true), b"cd");
    file.flush().unwrap();
    let shape = |reader: &mut Reader| reader.dataset_record("a", -1).unwrap().unwrap().shape.clone();
    assert!(!reader.refresh().unwrap());
    assert_eq!(shape(&mut reader), [1, 2]);
    file.commit().unwrap();
    assert!(reader.refresh().unwrap());
    assert_eq!(shape(&mut reader), [2, 2]);
    put(&mut file, &numbers("a", 1, true), b"ef");
    file.flush().unwrap();
    // As if the job were killed.
    file.forget();
    let mut file = append(&path);
    put(&mut file, &numbers("a", 1, true), b"EF");
    file.close().unwrap();
    assert_eq!(all_of(&path, "a").1, b"abcdEF");
    assert!(reader.refresh().unwrap());
    assert_eq!(shape(&mut reader), [3, 2]);
}

#[test]
fn texts_are_added() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let words = ["Merkur", "Vénus", "", "Mars", "x", "Jupiter", "Saturn"];
    for (ranks, split) in [(1, 3), (3, 1), (2, 7)] {
        run_on_threads(ranks, |comm| {
            let rank = comm.rank();
            let mut file = Writer::create(comm, &path, b"", &sealed()).unwrap();
            let mut names = Dataset::new("names", DataType::String, [0]);
            names.fill_value = b"x".to_vec();
            for (part, extends) in [(&words[..split], false), (&words[split..], true), (&words[..2], true)] {
                let own = part.chunks(part.len().div_ceil(ranks).max(1)).nth(rank).unwrap_or_default();
                names.extends = extends;
                let texts: Texts = own.iter().copied().collect();
                file.texts(&names, own.len() as u64, &texts).unwrap();
            }
            file.close().unwrap();
        });
        let mut file = Reader::open(Solo, &path, &options()).unwrap();
        let found = file.dataset("names").unwrap().unwrap();
        assert_eq!(found.shape, [9]);
        let read = found.read_texts(&mut file, &[IndexBox::new([1], [7]), IndexBox::all(&[9])]).unwrap();
        let all = [&words[..], &words[..2]].concat();
        assert!(read.strs().eq(all[1..8].iter().chain(&all).copied()), "{split}");
    }
}

#[test]
fn fill_values_of_rows_are_known_without_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = Writer::create(Solo, &path, b"", &sealed()).unwrap();
    let mut dataset = Dataset::new("a", DataType::Uint8, [4]);
    dataset.layout = Layout::Chunked { shape: Some(vec![2]), text: false };
    file.dataset(&dataset, &[IndexBox::new([0], [1])], b"a").unwrap();
    dataset.extends = true;
    file.dataset(&dataset, &[IndexBox::new([2], [1])], b"b").unwrap();
    file.close().unwrap();
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    let found = file.dataset("a").unwrap().unwrap();
    for (start, count, expected) in [(0, 2, false), (2, 4, true), (2, 5, false), (6, 2, false), (8, 0, true)]
    {
        assert_eq!(found.is_fill(&mut file, &IndexBox::new([start], [count])).unwrap(), expected, "{start}");
    }
    let error = found.is_fill(&mut file, &IndexBox::new([8], [1])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
}

#[test]
fn what_is_no_row_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = Writer::create(Solo, &path, b"", &sealed()).unwrap();
    let mut dataset = numbers("a", 1, false);
    dataset.attributes = r#"{"scda_max_shape": [3, null]}"#.into();
    put(&mut file, &dataset, b"ab");
    let mut floats = Dataset::new("f", DataType::Float32, [1]);
    floats.layout = Layout::Chunked { shape: None, text: false };
    floats.max_relative_error = 0.25;
    put(&mut file, &floats, &[0; 4]);
    put(&mut file, &Dataset::new("scalar", DataType::Uint8, []), b"a");
    file.close().unwrap();
    let old = std::fs::read(&path).unwrap();
    let mut file = append(&path);
    file.tolerate_arguments().unwrap();
    let mut fill = numbers("a", 1, true);
    fill.fill_value = vec![1];
    floats.extends = true;
    let mut rounded = floats.clone();
    rounded.max_relative_error = 0.5;
    let mut absolute = floats;
    absolute.max_absolute_error = 0.5;
    let mut scalar = Dataset::new("scalar", DataType::Uint8, []);
    scalar.extends = true;
    let of = |data_type, shape: &[u64]| {
        let mut dataset = Dataset::new("a", data_type, shape);
        dataset.extends = true;
        dataset
    };
    for (dataset, words) in [
        (numbers("b", 1, true), "there is no dataset of this name"),
        (numbers("/+1/b", 1, true), "name of a dataset"),
        (numbers("/+1/b", 1, false), "name of a dataset"),
        (of(DataType::Int8, &[1, 2]), "found int8, expected uint8"),
        (of(DataType::Uint8, &[1, 3]), "found the shape [1, 3], expected [rows, 2]"),
        (of(DataType::Uint8, &[2]), "found the shape [2], expected [rows, 2]"),
        (
            of(DataType::Uint8, &[3, 2]),
            "found 4 rows in all, expected at most 3, according to scda_max_shape",
        ),
        (fill, "the fill value differs from that of the dataset"),
        (rounded, "scda_max_relative_error: found 0.5, expected at most the 0.25 of the dataset"),
        (absolute, "scda_max_absolute_error: found 0.5, expected at most the 0 of the dataset"),
        (scalar, "expected a dataset with dimensions"),
    ] {
        let data = vec![0; dataset.data_bytes().unwrap() as usize];
        let error = file.dataset(&dataset, &[IndexBox::all(&dataset.shape)], &data).unwrap_err();
        let kind = if words.starts_with("there is no") { ErrorKind::NotFound } else { ErrorKind::Argument };
        assert_eq!(error.kind(), kind, "{error}, expected {words}");
        assert!(error.to_string().contains(words), "{error}");
    }
    // What failed is not counted.
    let error = file.dataset(&numbers("a", 1, true), &[IndexBox::new([1, 0], [1, 2])], b"cd").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    file.close().unwrap();
    assert!(std::fs::read(&path).unwrap() == old);
    let mut file = append(&path);
    file.tolerate_arguments().unwrap();
    put(&mut file, &numbers("a", 1, true), b"cd");
    file.dataset(&numbers("a", 1, true), &[IndexBox::new([1, 0], [1, 2])], b"xx").unwrap_err();
    put(&mut file, &numbers("a", 1, true), b"ef");
    file.close().unwrap();
    assert_eq!(all_of(&path, "a").1, b"abcdef");

    // It is called by the name that users know.
    let other = folder.path().join("other");
    for (regions, words) in [
        ([IndexBox::new([1, 0], [1, 2])].as_slice(), r#"rows of the dataset "a": box 0"#),
        (
            &[IndexBox::all(&[1, 2]), IndexBox::all(&[1, 2])],
            r#"rows of the dataset "a": index [0, 0] is in two"#,
        ),
    ] {
        std::fs::write(&other, &old).unwrap();
        let mut rows = numbers("a", 1, true);
        rows.layout = Layout::Chunked { shape: Some(vec![1, 1]), text: false };
        let error = append(&other).dataset(&rows, regions, &b"cdcd"[..2 * regions.len()]).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }

    // As others write them.
    let mut file = append(&path);
    let text = r#"{"zarr_format":3,"node_type":"array","shape":[1],"data_type":"uint16","chunk_grid":{"name":"regular",
        "configuration":{"chunk_shape":[1]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,"attributes":{},
        "codecs":[{"name":"bytes","configuration":{"endian":"big"}}]}"#;
    file.block(b"scda dataset 00", 0, text.len() as u64, Some(text.as_bytes()), Encode::None).unwrap();
    file.array(b"big", &[1], 2, scda::Source::Contiguous(b"ab"), Encode::None).unwrap();
    let mut big = Dataset::new("big", DataType::Uint16, [1]);
    big.extends = true;
    let error = file.dataset(&big, &[IndexBox::all(&[1])], b"cd").unwrap_err();
    assert!(error.to_string().contains("its numbers are big-endian"), "{error}");

    let plain = folder.path().join("plain");
    let mut file = Writer::create(Solo, &plain, b"", &options()).unwrap();
    put(&mut file, &numbers("a", 1, false), b"ab");
    let error = file.dataset(&numbers("a", 1, true), &[], &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    // All ranks have the error of rank 0, and one that does not extend is noticed.
    for extends in [true, false] {
        let errors = run_on_threads(3, |comm| {
            let rank = comm.rank();
            let mut file = Writer::append(comm, &path, &sealed()).unwrap();
            let name = if extends { "b" } else { "a" };
            let dataset = numbers(name, 1, extends || rank == 1);
            let error = file.dataset(&dataset, &[], &[]).and_then(|()| file.close()).unwrap_err();
            (error.kind(), error.to_string())
        });
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    }
}

#[test]
fn a_pair_that_is_none_is_an_error_at_its_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let write = |path: &Path| {
        let mut file = Writer::create(Solo, path, b"", &sealed()).unwrap();
        put(&mut file, &numbers("a", 1, false), b"ab");
        put(&mut file, &numbers("b", 1, false), b"ab");
        put(&mut file, &numbers("b", 1, true), b"cd");
        file.close().unwrap();
    };
    write(&path);
    let bytes = std::fs::read(&path).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let data = offset_of(&bytes, "A a ");
    let start = text[text.find("B scda added rows 00").unwrap()..].find('{').unwrap()
        + text.find("B scda added rows 00").unwrap();
    let good = &text[start..start + text[start..].find("}\n=").unwrap() + 2];
    for (convention, text, (rows, size), words) in [
        ("scda added rows 01", good.to_owned(), (1, 2), "found another section before them"),
        ("scda dataset 00", good.into(), (1, 2), "found another section before them"),
        (
            "scda added rows 00",
            good.replace("row\":1", "row\":2"),
            (1, 2),
            "found the first row 2, expected 1",
        ),
        ("scda added rows 00", good.replace("row\":1", "row\":-1"), (1, 2), "no first row"),
        ("scda added rows 00", good.replace("scda_first", "first"), (1, 2), "no first row"),
        ("scda added rows 00", good.replace("uint8", "int8"), (1, 2), "found int8, expected uint8"),
        ("scda added rows 00", good.replace("[1,2]", "[1,3]"), (1, 3), "expected [rows, 2]"),
        (
            "scda added rows 00",
            good.replace("\"fill_value\":0", "\"fill_value\":1"),
            (1, 2),
            "the fill value differs from that of the dataset",
        ),
        ("scda added rows 00", good.into(), (2, 2), "found an array of 2 elements"),
        ("scda added rows 00", "{}".into(), (1, 2), "zarr_format"),
    ] {
        write(&path);
        let mut file = append(&path);
        let at = file.position().unwrap();
        file.block(convention.as_bytes(), 0, text.len() as u64, Some(text.as_bytes()), Encode::None).unwrap();
        let user = format!("/+{data}/a");
        let bytes = vec![b'x'; (size * rows) as usize];
        file.array(user.as_bytes(), &[rows], size, scda::Source::Contiguous(&bytes), Encode::None).unwrap();
        file.close().unwrap();
        assert_eq!(all_of(&path, "b").1, b"abcd");
        for ranks in [1, 3] {
            let errors = run_on_threads(ranks, |comm| {
                let mut file = Reader::open(comm, &path, &options()).unwrap();
                file.dataset_record("a", 0).unwrap_err()
            });
            for error in &errors {
                assert_eq!(
                    (error.kind(), error.offset()),
                    (ErrorKind::Format, errors[0].offset()),
                    "{error}"
                );
                assert!(
                    error.offset().unwrap() >= at && error.to_string().contains(words),
                    "{error} {words}"
                );
                assert!(!error.to_string().contains("/+"), "{error}");
            }
        }
        // A reader that goes on can read the others.
        let mut file = Reader::open(Solo, &path, &options()).unwrap();
        file.inspect().tolerate_damage().unwrap();
        assert!(file.dataset_record("a", 0).is_err());
        assert_eq!(file.dataset_record("b", -1).unwrap().unwrap().shape, [2, 2]);
    }
}

#[test]
fn rows_keep_each_bound_of_the_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = Writer::create(Solo, &path, b"", &sealed()).unwrap();
    file.tolerate_arguments().unwrap();
    let mut floats = Dataset::new("f", DataType::Float32, [1]);
    floats.layout = Layout::Chunked { shape: None, text: false };
    (floats.max_relative_error, floats.max_absolute_error) = (0.25, 0.5);
    put(&mut file, &floats, &[0; 4]);
    floats.extends = true;
    for (relative, absolute, is_right) in
        [(0.25, 0.5, true), (0.0, 0.0, true), (0.1, 0.1, true), (0.25, 0.0, false), (0.0, 0.5, false)]
    {
        (floats.max_relative_error, floats.max_absolute_error) = (relative, absolute);
        let added = file.dataset(&floats, &[IndexBox::all(&[1])], &[0; 4]);
        assert_eq!(added.is_ok(), is_right, "{relative} {absolute}: {added:?}");
    }
    // Also after rows that are not rounded, by the same program or by another one.
    for (relative, absolute) in [(0.0, 0.0), (0.25, 0.5), (0.0, 0.0), (0.25, 0.5)] {
        file.close().unwrap();
        file = append(&path);
        file.tolerate_arguments().unwrap();
        for (relative, absolute) in [(relative, absolute), (0.0, 0.0), (0.25, 0.5), (0.0, 0.0)] {
            (floats.max_relative_error, floats.max_absolute_error) = (relative, absolute);
            put(&mut file, &floats, &[0; 4]);
        }
    }
}

#[test]
fn attributes_that_were_set_between_additions_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = Writer::create(Solo, &path, b"", &sealed()).unwrap();
    file.tolerate_arguments().unwrap();
    put(&mut file, &numbers("a", 1, false), b"ab");
    put(&mut file, &numbers("a", 1, true), b"ab");
    file.set_attributes("a", -1, r#"{"scda_max_shape": [2, 2]}"#).unwrap();
    let error = file.dataset(&numbers("a", 1, true), &[IndexBox::all(&[1, 2])], b"cd").unwrap_err();
    assert!(error.to_string().contains("scda_max_shape"), "{error}");
}

#[test]
fn ranks_that_disagree_on_what_is_extended_all_fail() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    // Rank 1 writes something else than "a", of which the others may know how long it is.
    for (background, is_chunked) in [(0, false), (0, true), (1 << 20, false), (1 << 20, true)] {
        for (name, extends) in [("a", false), ("b", true), ("none", true), ("/", true)] {
            for is_known in [false, true] {
                let errors = run_on_threads(3, |comm| {
                    let rank = comm.rank();
                    let params = with(|params: &mut WriteOptions| {
                        (params.seal, params.background_bytes) = (true, background)
                    });
                    let mut file = Writer::create(comm, &path, b"", &params).unwrap();
                    let of = |name: &str, extends| {
                        let mut one = numbers(name, 3, extends);
                        if is_chunked {
                            one.layout = Layout::Chunked { shape: None, text: false };
                        }
                        one
                    };
                    let own = [IndexBox::new([rank as u64, 0], [1, 2])];
                    for (name, extends) in [("a", false), ("b", false), ("a", true)] {
                        if is_known || !extends {
                            file.dataset(&of(name, extends), &own, b"ab").unwrap();
                        }
                    }
                    let one = if rank == 1 { of(name, extends) } else { of("a", true) };
                    file.dataset(&one, &own, b"ab").and_then(|()| file.close()).is_err()
                });
                assert_eq!(errors, [true; 3], "{background} {is_chunked} {name} {extends} {is_known}");
            }
        }
    }
}

#[test]
fn many_rows_are_read_with_their_checksums() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = Writer::create(Solo, &path, b"", &sealed()).unwrap();
    let long = "x".repeat(58);
    put(&mut file, &numbers(&long, 0, false), b"");
    put(&mut file, &numbers("a", 1, false), b"ab");
    file.commit().unwrap();
    for turn in 0..300 {
        let rows = turn % 3;
        put(&mut file, &numbers(&long, rows, true), &b"abcd"[..2 * rows as usize]);
        put(&mut file, &numbers("a", 1, true), b"cd");
        if turn % 7 == 0 {
            file.commit().unwrap();
        }
    }
    file.close().unwrap();
    for ranks in [1, 3] {
        run_on_threads(ranks, |comm| {
            let mut file =
                Reader::open(comm, &path, &with(|params: &mut ReadOptions| params.verify = true)).unwrap();
            for _ in 0..2 {
                assert_eq!(file.dataset_record(&long, -1).unwrap().unwrap().shape, [300, 2]);
                let found = file.dataset_record("a", -1).unwrap().unwrap();
                let mut data = vec![0; 602];
                found.read(&mut file, &[IndexBox::all(&found.shape)], &mut data).unwrap();
                assert_eq!(data, ["ab", &"cd".repeat(300)].concat().as_bytes());
            }
            let mut shapes = Vec::new();
            for entry in file.entries() {
                let Content::Dataset(dataset) = entry.unwrap().content else { panic!("another entry") };
                shapes.push(dataset.shape.clone());
            }
            assert_eq!(shapes, [[300, 2], [301, 2]]);
            file.close().unwrap();
        });
    }
}

#[test]
fn what_others_put_into_the_metadata_of_rows_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = Writer::create(Solo, &path, b"", &sealed()).unwrap();
    put(&mut file, &numbers("a", 1, false), b"ab");
    put(&mut file, &numbers("a", 1, true), b"ab");
    file.commit().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let (data, start) = (text.find("A a ").unwrap(), text.find("B scda added rows 00").unwrap());
    let start = start + text[start..].find('{').unwrap();
    let good = &text[start..start + text[start..].find("}\n=").unwrap() + 2];
    let more = format!("\"x\": \"{}\", \"scda_first_row\": 2", "x".repeat(1 << 20));
    let text = good.replace("\"scda_first_row\":1", &more);
    file.block(b"scda added rows 00", 0, text.len() as u64, Some(text.as_bytes()), Encode::Always).unwrap();
    let user = format!("/+{data}/a");
    file.array(user.as_bytes(), &[1], 2, scda::Source::Contiguous(b"xx"), Encode::None).unwrap();
    file.close().unwrap();
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    let found = file.dataset("a").unwrap().unwrap();
    assert_eq!(found.shape, [3, 2]);
    let kept: Vec<_> = found.added_rows().map(|rows| rows.dataset.attributes).collect();
    assert_eq!(kept, [r#"{"scda_first_row":1}"#, r#"{"scda_first_row":2}"#]);
}

#[test]
fn going_back_takes_rows_away() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = Writer::create(Solo, &path, b"", &sealed()).unwrap();
    let mut sections = Vec::new();
    for (step, data) in [b"ab", b"cd", b"ef"].iter().enumerate() {
        put(&mut file, &numbers("a", 1, step > 0), *data);
        file.commit().unwrap();
        sections.push(2 * (step as u64 + 1));
    }
    file.close().unwrap();
    let whole = std::fs::read(&path).unwrap();
    for (after, more, expected) in [
        (sections[2], b"gh", &b"abcdefgh"[..]),
        (sections[1], b"gh", b"abcdgh"),
        (sections[0], b"ef", b"abef"),
    ] {
        std::fs::write(&path, &whole).unwrap();
        let params = with(|params: &mut WriteOptions| (params.seal, params.append_after) = (true, after));
        let mut file = Writer::append(Solo, &path, &params).unwrap();
        put(&mut file, &numbers("a", 1, true), more);
        file.close().unwrap();
        assert_eq!(all_of(&path, "a").1, expected);
    }
}

#[test]
fn commits_in_halves_have_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let steps: Vec<Vec<u8>> = (0..6_u8).map(|step| vec![step; 1000]).collect();
    let mut expected = None;
    for background in [0, 1 << 20] {
        let params =
            with(|params: &mut WriteOptions| (params.seal, params.background_bytes) = (true, background));
        run_on_threads(2, |comm| {
            let rank = comm.rank() as u64;
            let mut file = Writer::create(comm, &path, b"", &params).unwrap();
            let mut request = None;
            for (number, step) in steps.iter().enumerate() {
                let mut rows = Dataset::new("a", DataType::Uint8, [2, 1000]);
                rows.extends = number > 0;
                if number % 2 == 1 {
                    rows.layout = Layout::Chunked { shape: None, text: false };
                }
                file.dataset(&rows, &[IndexBox::new([rank, 0], [1, 1000])], step).unwrap();
                if number == 2 {
                    request = Some(file.commit_begin().unwrap());
                }
            }
            request.unwrap().wait(&mut file).unwrap();
            file.close().unwrap();
        });
        let bytes = std::fs::read(&path).unwrap();
        assert!(*expected.get_or_insert_with(|| bytes.clone()) == bytes, "{background}");
        let rows = steps.iter().flat_map(|step| [step.as_slice(), step].concat());
        assert!(all_of(&path, "a").1.into_iter().eq(rows));
    }
}

#[test]
fn sections_of_datasets_that_are_read_in_turns_are_gone_through_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = Writer::create(Solo, &path, b"", &sealed()).unwrap();
    for step in 0..100 {
        for name in ["a", "b", "c"] {
            put(&mut file, &numbers(name, 1, step > 0), b"ab");
        }
    }
    file.close().unwrap();
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    let mut read_all = || {
        for name in ["a", "b", "c"] {
            assert_eq!(file.dataset_record(name, -1).unwrap().unwrap().shape, [100, 2]);
        }
        file.statistics().unwrap().read_bytes
    };
    let first = read_all();
    let again = (0..4).map(|_| read_all()).last().unwrap() - first;
    assert!(again < first / 2, "{first} bytes, then {again}");
}

#[test]
fn memory_for_rows_is_limited() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = Writer::create(Solo, &path, b"", &sealed()).unwrap();
    for step in 0..2000 {
        for name in ["a", "b"] {
            put(&mut file, &numbers(name, 1, step > 0), b"ab");
        }
    }
    file.close().unwrap();
    let read = |max_memory| {
        let mut file = Reader::open(
            Solo,
            &path,
            &with(|params: &mut ReadOptions| params.tuning.max_memory = max_memory),
        )
        .unwrap();
        let mut bytes = Vec::new();
        for _ in 0..3 {
            for name in ["a", "b"] {
                assert_eq!(file.dataset_record(name, -1)?.unwrap().shape, [2000, 2]);
            }
            bytes.push(file.statistics().unwrap().read_bytes);
        }
        // What is read the first time, and again.
        Ok::<_, scda::Error>((bytes[0], bytes[2] - bytes[1]))
    };
    let (first, again) = read(0).unwrap();
    assert!(again < first / 10, "{first} bytes, then {again}");
    // Less is kept.
    let (first, again) = read(4 << 20).unwrap();
    assert!(again > first / 4, "{first} bytes, then {again}");
    let error = read(1 << 20).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory);
    assert!(error.to_string().ends_with("more than max_memory, 1048576"), "{error}");
}

/// What others write as sections counts as it does for readers.
#[test]
fn sections_that_are_written_as_they_are_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = Writer::create(Solo, &path, b"", &sealed()).unwrap();
    put(&mut file, &numbers("a", 1, false), b"ab");
    put(&mut file, &numbers("a", 1, true), b"cd");
    file.commit().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let data = text.find("A a ").unwrap();
    let metadata = |convention: &str| {
        let start = text.find(&format!("B {convention}")).unwrap();
        let start = start + text[start..].find('{').unwrap();
        text[start..start + text[start..].find("\n}\n").unwrap() + 3].to_owned()
    };
    let write = |file: &mut Writer, convention: &str, text: &str, user: &str, data: &[u8]| {
        file.block(convention.as_bytes(), 0, text.len() as u64, Some(text.as_bytes()), Encode::None).unwrap();
        file.array(user.as_bytes(), &[1], 2, scda::Source::Contiguous(data), Encode::None).unwrap();
    };
    // Rows.
    let rows = metadata("scda added rows 00").replace("\"scda_first_row\":1", "\"scda_first_row\":2");
    write(&mut file, "scda added rows 00", &rows, &format!("/+{data}/a"), b"ef");
    put(&mut file, &numbers("a", 1, true), b"gh");
    // Another record.
    write(&mut file, "scda dataset 00", &metadata("scda dataset 00"), "a", b"ij");
    put(&mut file, &numbers("a", 1, true), b"kl");
    // A section that is no dataset.
    file.array(b"a", &[1], 2, scda::Source::Contiguous(b"xx"), Encode::None).unwrap();
    file.commit().unwrap();
    file.tolerate_arguments().unwrap();
    let error = file.dataset(&numbers("a", 1, true), &[IndexBox::all(&[1, 2])], b"mn").unwrap_err();
    assert!(error.to_string().contains("is not a dataset: no metadata precede it"), "{error}");
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    for (record, expected) in (0..).zip([b"abcdefgh".as_slice(), b"ijkl"]) {
        let found = file.dataset_record("a", record).unwrap().unwrap();
        let mut all = vec![0; found.data_bytes().unwrap() as usize];
        found.read(&mut file, &[IndexBox::all(&found.shape)], &mut all).unwrap();
        assert_eq!(all, expected);
    }
}

/// What the thread could not write of rows has the name of the dataset: their user string, and that of their metadata, tell users nothing.
#[test]
fn errors_of_what_is_written_in_the_background_name_the_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut named = [0; 2];
    for seed in 0..180 {
        let params = with(|params: &mut WriteOptions| {
            (params.seal, params.background_bytes) = (true, 1 << 20);
            params.tuning.faults = Some(Faults { every: 8, seed });
        });
        let write = || -> scda::Result<()> {
            let mut file = Writer::create(Solo, &path, b"", &params)?;
            for extends in [false, true, true, true] {
                let mut rows = numbers("rho", 100_000, extends);
                if seed % 2 == 0 {
                    rows.layout = Layout::Chunked { shape: Some(vec![1000, 2]), text: false };
                }
                let data: Vec<u8> =
                    (0..200_000u32).map(|k| (k.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
                file.dataset(&rows, &[IndexBox::all(&rows.shape)], &data)?;
                file.commit()?;
            }
            file.close()
        };
        let Err(error) = write() else { continue };
        let words = error.to_string();
        assert!(!words.contains("\"/") && !words.contains("scda added rows"), "{words}");
        named[0] += u32::from(words.contains("rows of the dataset \"rho\": "));
        named[1] += u32::from(words.contains(" section \"rho\": "));
    }
    assert!(named.iter().all(|&count| count > 2), "{named:?}");
}
