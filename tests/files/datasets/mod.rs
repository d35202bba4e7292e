//! Datasets are written from any boxes of any ranks: the bytes of the file are the same, and are those that a plain
//! array, flate2 and a plain loop say.
#![allow(clippy::cast_possible_truncation)] // test data

mod auto;
mod case;
mod conversion;
mod errors;
mod exchanges;
mod extended;
mod later;
mod memory;
mod streamed;

use self::case::{Case, check_file, expect, items, little_endian, read_back};
use crate::common::{Options, options};
use scda::{
    Codec, Communicator, DataType, Dataset, Encode, Encoder, ErrorKind, IndexBox, Layout, ReadOptions,
    Reader, SectionType, Solo, ThreadComm, WriteOptions, Writer, run_on_threads, uniform_partition,
};
use std::path::Path;

fn with<T: Options>(change: impl FnOnce(&mut T)) -> T {
    let mut params: T = options();
    change(&mut params);
    params
}

/// Where this text first stands in the bytes of a file.
fn offset_of(bytes: &[u8], text: &str) -> usize {
    bytes.windows(text.len()).position(|found| found == text.as_bytes()).unwrap()
}

/// The parameters change how the ranks meet, but not the file.
fn ways() -> Vec<WriteOptions> {
    let few = with(|params: &mut WriteOptions| {
        (params.tuning.aggregation_bytes, params.tuning.threads) = (4096, 3)
    });
    vec![options(), with(|params: &mut WriteOptions| params.tuning.check = false), few]
}

#[test]
fn the_file_does_not_depend_on_who_passes_what() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..150 {
        let mut case = Case::random(seed);
        let path = folder.path().join("f");
        let alone = folder.path().join("alone");
        let whole = [IndexBox::all(&case.dataset.shape)];
        let mut file = Writer::create(Solo, &alone, b"", &options()).unwrap();
        file.dataset(&case.dataset, &whole, &case.array).unwrap();
        file.close().unwrap();
        check_file(&alone, &case.dataset, &case.array);
        read_back(&alone, &case.dataset, &case.array, 1 + seed as usize % 3, seed);
        let expected = std::fs::read(&alone).unwrap();
        for params in ways() {
            case.write(&path, &params);
            assert!(std::fs::read(&path).unwrap() == expected, "seed {seed}: {:?}", case.dataset);
            // Other ranks have the boxes, in another order.
            case.ranks.rotate_left(1);
            if let Some(boxes) = case.ranks.pop() {
                case.ranks.insert(0, boxes.into_iter().rev().collect());
            }
        }
    }
}

#[test]
fn a_dataset_from_a_stream_is_that_from_memory() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["memory", "stream"].map(|name| folder.path().join(name));
    // None, few and many bytes; those that are aligned, and more than are read at once.
    for shape in [&[][..], &[0, 3], &[7], &[3, 2731], &[9, 1024], &[3, 400_000]] {
        let dataset = Dataset::new("a", DataType::Float64, shape);
        let items = u32::try_from(shape.iter().product::<u64>()).unwrap();
        let array: Vec<u8> = (0..items).flat_map(|i| f64::from(i).to_ne_bytes()).collect();
        let params = with(|params: &mut WriteOptions| params.seal = true);
        let mut files = paths.each_ref().map(|path| Writer::create(Solo, path, b"", &params).unwrap());
        files[0].dataset(&dataset, &[IndexBox::all(shape)], &array).unwrap();
        files[1].incremental().dataset(&dataset, &mut little_endian(&dataset, &array).as_slice()).unwrap();
        files.into_iter().for_each(|file| file.close().unwrap());
        let [memory, stream] = paths.each_ref().map(|path| std::fs::read(path).unwrap());
        assert!(memory == stream, "{shape:?}");
    }
    let create = || Writer::create(Solo, &paths[0], b"", &options()).unwrap();
    let dataset = Dataset::new("a", DataType::Uint8, [1 << 23]);
    let mut file = create();
    file.block(b"before", 0, 1, Some(b"x"), Encode::None).unwrap();
    // A stream that ends early: neither metadata nor data stay in the file.
    let error = file.incremental().dataset(&dataset, &mut &vec![0; 5 << 20][..]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    drop(file);
    let mut file = Reader::open(Solo, &paths[0], &options()).unwrap();
    expect(&mut file, SectionType::Block, b"before", false);
    file.skip().unwrap();
    assert!(file.next_section(false).unwrap().is_none());
    let mut dataset = Dataset::new("a", DataType::Float64, [400, 20]);
    dataset.layout = Layout::Auto { shape: None };
    let error = create().incremental().dataset(&dataset, &mut &vec![0; 64_000][..]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
}

#[test]
fn large_contiguous_datasets_of_blocks_and_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (path, alone) = (folder.path().join("f"), folder.path().join("alone"));
    let shape = [50_u64, 40, 30];
    let array: Vec<u8> = (0..60_000_u32).flat_map(|i| f64::from(i).to_ne_bytes()).collect();
    for layout in [Layout::Contiguous, chunked(&[16, 16, 16])] {
        let mut dataset = Dataset::new("rho", DataType::Float64, shape);
        dataset.layout = layout;
        let mut file = Writer::create(Solo, &alone, b"", &options()).unwrap();
        file.dataset(&dataset, &[IndexBox::all(&shape)], &array).unwrap();
        file.close().unwrap();
        check_file(&alone, &dataset, &array);
        let expected = std::fs::read(&alone).unwrap();
        for ranks in [2, 3, 6] {
            // Blocks of the second dimension, and rows: as boxes and as counts, also uneven ones.
            for how in 0..5 {
                run_on_threads(ranks, |comm| {
                    let rank = comm.rank();
                    let dimension = usize::from(how == 0);
                    let mut counts = uniform_partition(shape[dimension], ranks);
                    if how > 2 {
                        // All on one rank, or a few on one, none on others, the rest on the last one.
                        counts.fill(0);
                        counts[ranks / 2] = if how == 3 { shape[0] } else { 5 };
                        counts[ranks - 1] += shape[0] - counts[ranks / 2];
                    }
                    let mut region = IndexBox::all(&shape);
                    region.start[dimension] = counts[..rank].iter().sum();
                    region.count[dimension] = counts[rank];
                    let data = items(&array, 8, &shape, &region);
                    let mut file = Writer::create(comm, &path, b"", &options()).unwrap();
                    match how {
                        2.. => file.field(&dataset, &counts, &data).unwrap(),
                        _ => file.dataset(&dataset, &[region], &data).unwrap(),
                    }
                    file.close().unwrap();
                });
                assert!(std::fs::read(&path).unwrap() == expected, "{ranks} ranks, {how}");
            }
        }
    }
}

#[test]
fn ranks_may_have_other_rows_of_each_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let (path, alone) = (folder.path().join("f"), folder.path().join("alone"));
    let shape = [50_u64, 1200];
    let array: Vec<u8> = (0..60_000_u32).flat_map(|i| f64::from(i).to_ne_bytes()).collect();
    let dataset = Dataset::new("rho", DataType::Float64, shape);
    let small = Dataset::new("p", DataType::Float64, [50]);
    // In turn: uniform; all on the last rank, or on the first one; uniform in the reverse order; as at first.
    let rows = |ranks: usize, rank: usize, turn: usize| {
        let uniform = uniform_partition(shape[0], ranks);
        let before = |rank: usize| (uniform[..rank].iter().sum(), uniform[rank]);
        match turn {
            2 | 3 => (0, if rank == (turn - 2) * (ranks - 1) { shape[0] } else { 0 }),
            4 => before(ranks - 1 - rank),
            _ => before(rank),
        }
    };
    for seal in [false, true] {
        let params = with(|params: &mut WriteOptions| params.seal = seal);
        let write = |comm: ThreadComm, path: &Path| {
            let (rank, ranks) = (comm.rank(), comm.size());
            let mut file = Writer::create(comm, path, b"", &params).unwrap();
            for turn in 0..7 {
                if turn == 3 {
                    file.block(b"between", 0, 3, Some(b"abc"), Encode::None).unwrap();
                }
                let (start, count) = rows(ranks, rank, turn);
                for dataset in [&dataset, &small] {
                    let mut region = IndexBox::all(&dataset.shape);
                    (region.start[0], region.count[0]) = (start, count);
                    let data = items(&array, 8, &dataset.shape, &region);
                    file.dataset(dataset, &[region], &data).unwrap();
                }
            }
            file.close().unwrap();
        };
        run_on_threads(1, |comm| write(comm, &alone));
        let expected = std::fs::read(&alone).unwrap();
        for ranks in [2, 3, 5] {
            run_on_threads(ranks, |comm| write(comm, &path));
            assert!(std::fs::read(&path).unwrap() == expected, "{ranks} ranks, sealed: {seal}");
        }
        let mut file =
            Reader::open(Solo, &path, &with(|params: &mut ReadOptions| params.verify = seal)).unwrap();
        assert_eq!(file.sections().unwrap(), 29);
        for record in 0..7 {
            let mut found = vec![0; array.len()];
            let handle = file.dataset_record("rho", record).unwrap().unwrap();
            assert_eq!(handle.shape, shape);
            handle.read(&mut file, &[IndexBox::all(&shape)], &mut found).unwrap();
            assert!(found == array);
        }
    }
}

#[test]
fn several_datasets_are_the_same_as_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for (group, params) in ways().iter().enumerate() {
        let cases: Vec<Case> = (0..40).map(|seed| Case::random(1000 + 40 * group as u64 + seed)).collect();
        let mut file = Writer::create(Solo, &path, b"", params).unwrap();
        for case in &cases {
            let regions = case.ranks.concat();
            file.dataset(&case.dataset, &regions, &case.data(&regions)).unwrap();
        }
        file.close().unwrap();
        let expected = std::fs::read(&path).unwrap();
        for ranks in [1, 2, 5] {
            run_on_threads(ranks, |comm| {
                // Each has what every `ranks`-th rank of the case has.
                let own = |case: &Case| {
                    case.ranks.iter().skip(comm.rank()).step_by(ranks).flatten().cloned().collect()
                };
                let regions: Vec<Vec<IndexBox>> = cases.iter().map(own).collect();
                let data: Vec<Vec<u8>> =
                    cases.iter().zip(&regions).map(|(case, regions)| case.data(regions)).collect();
                let all: Vec<(&Dataset, &[IndexBox], &[u8])> = cases
                    .iter()
                    .zip(regions.iter().zip(&data))
                    .map(|(case, (regions, data))| (&case.dataset, regions.as_slice(), data.as_slice()))
                    .collect();
                let mut file = Writer::create(comm.clone(), &path, b"", params).unwrap();
                file.datasets(&all[..1]).unwrap();
                file.datasets::<&[u8]>(&[]).unwrap();
                file.datasets(&all[1..]).unwrap();
                file.close().unwrap();
            });
            assert!(std::fs::read(&path).unwrap() == expected, "{group}, {ranks} ranks");
        }
    }
}

fn chunked(shape: &[u64]) -> Layout {
    Layout::Chunked { shape: Some(shape.to_vec()), text: false }
}

#[test]
fn sealed_files_have_rows_for_both_sections() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for ranks in [1, 2, 5] {
        let path = folder.path().join(ranks.to_string());
        run_on_threads(ranks, |comm| {
            let (rank, size) = (comm.rank() as u64, comm.size() as u64);
            let params = with(|params: &mut WriteOptions| params.seal = true);
            let mut file = Writer::create(comm, &path, b"", &params).unwrap();
            for (step, layout) in
                [Layout::Contiguous, chunked(&[64]), Layout::Contiguous].into_iter().enumerate()
            {
                let mut dataset = Dataset::new("rho", DataType::Int32, [20_000]);
                dataset.layout = layout;
                // Every n-th index of the array: nobody has whole rows that follow one another.
                let regions: Vec<IndexBox> =
                    (0..20_000).filter(|i| i / 500 % size == rank).map(|i| IndexBox::new([i], [1])).collect();
                let data: Vec<u8> =
                    regions.iter().flat_map(|r| (r.start[0] as u32 * step as u32).to_ne_bytes()).collect();
                file.dataset(&dataset, &regions, &data).unwrap();
                if step == 1 {
                    file.commit().unwrap();
                }
            }
            file.close().unwrap();
        });
        let mut file =
            Reader::open(Solo, &path, &with(|params: &mut ReadOptions| params.verify = true)).unwrap();
        assert!(file.is_sealed());
        assert_eq!(file.sections().unwrap(), 6);
        for occurrence in 0..3 {
            assert!(file.find(b"rho", occurrence).unwrap().is_some());
            file.next_section(true).unwrap().unwrap();
            file.skip().unwrap();
        }
        file.close().unwrap();
        files.push(std::fs::read(&path).unwrap());
    }
    assert!(files.windows(2).all(|pair| pair[0] == pair[1]));
}

/// The sections of a file, all of which can be read.
fn walk(path: &Path) -> usize {
    let mut file = Reader::open(Solo, path, &options()).unwrap();
    let mut count = 0;
    while file.next_section(true).unwrap().is_some() {
        file.skip().unwrap();
        count += 1;
    }
    count
}

#[test]
fn groups_have_attributes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for seal in [false, true] {
        run_on_threads(3, |comm| {
            let params = with(|params: &mut WriteOptions| params.seal = seal);
            let mut file = Writer::create(comm, &path, b"", &params).unwrap();
            file.group("/", r#"{"title": "a flow"}"#).unwrap();
            file.group("flow", r#"{"time": 0.5}"#).unwrap();
            file.group("flow/", r#"{"time": 0.75}"#).unwrap(); // the slash makes no difference
            file.close().unwrap();
        });
        let mut file = Reader::open(Solo, &path, &options()).unwrap();
        assert_eq!(file.sections().unwrap(), 6);
        assert_eq!(
            file.group("/").unwrap().map(|group| group.attributes).as_deref(),
            Some(r#"{"title":"a flow"}"#)
        );
        for path in ["flow", "flow/"] {
            let found = file.group(path).unwrap().map(|group| group.attributes);
            assert_eq!(found.as_deref(), Some(r#"{"time":0.75}"#), "{path}");
        }
        assert_eq!(file.group("other").unwrap(), None);
    }
    let errors = run_on_threads(2, |comm| {
        let rank = comm.rank();
        let mut file = Writer::create(comm, &path, b"", &options()).unwrap();
        let attributes = [r#"{"a": 1}"#, r#"{"a": 2}"#][rank];
        file.group("/", attributes).and_then(|()| file.close()).unwrap_err().to_string()
    });
    let expected =
        |e: &String| e.contains("the ranks disagree on the dataset or group: rank 0 passes the metadata ");
    assert!(errors.iter().all(|e| expected(e) && e.contains("1}") && e.contains("2}")), "{errors:?}");
    for (group, attributes, words) in [
        ("a//", "{}", "no slash at either end"),
        ("", "{}", "found 0 bytes"),
        ("a", "[]", "found \"[]\", expected a JSON object"),
        ("a", "title: x", "found \"title: x\", expected a JSON object"),
        ("a", "{", "EOF"),
        ("a", r#"{"a":1,"a":2}"#, "twice"),
    ] {
        let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
        let error = file.group(group, attributes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{attributes}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn zlib_is_an_encoder_of_chunks_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut dataset = Dataset::new("rho", DataType::Int32, [3000]);
    (dataset.layout, dataset.codec) = (chunked(&[1000]), Codec::Zlib);
    let data: Vec<u8> = (0..3000_u32).flat_map(u32::to_ne_bytes).collect();
    let params = with(|params: &mut WriteOptions| params.encoder = Encoder::Zlib);
    let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
    file.dataset(&dataset, &[IndexBox::all(&[3000])], &data).unwrap();
    file.close().unwrap();
    check_file(&path, &dataset, &data);
}

#[test]
fn numbers_are_rounded_before_they_are_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let fill = 1e20_f32;
    let values: Vec<f32> =
        (0..3000_u16).map(|i| if i % 7 == 0 { fill } else { (f32::from(i) / 100.0).sin() }).collect();
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let mut sizes = Vec::new();
    for (relative, absolute) in [(0.0, 0.0), (1e-3, 0.0), (0.0, 1e-2), (0.1, 1e-2)] {
        for codec in Codec::NAMES.map(|(codec, _)| codec) {
            let mut dataset = Dataset::new("rho", DataType::Float32, [3000]);
            (dataset.layout, dataset.codec) = (chunked(&[1000]), codec);
            (dataset.max_relative_error, dataset.max_absolute_error) = (relative, absolute);
            dataset.fill_value = fill.to_le_bytes().to_vec();
            dataset.attributes = r#"{"units":"m"}"#.into();
            let write = |ranks: usize| {
                run_on_threads(ranks, |comm| {
                    let (rank, ranks) = (comm.rank(), comm.size());
                    let (start, end) = (3000 * rank / ranks, 3000 * (rank + 1) / ranks);
                    let region = IndexBox::new([start as u64], [(end - start) as u64]);
                    let mut file = Writer::create(comm, &path, b"", &options()).unwrap();
                    file.dataset(&dataset, &[region], &data[4 * start..4 * end]).unwrap();
                    file.close().unwrap();
                });
                std::fs::read(&path).unwrap()
            };
            let file = write(1);
            assert_eq!(file, write(3), "{codec} {relative} {absolute}");
            sizes.push(file.len());

            let mut file = Reader::open(Solo, &path, &options()).unwrap();
            let found = file.dataset_record("rho", 0).unwrap().unwrap();
            let told = |key: &str| found.attributes.contains(key);
            assert_eq!(told("\"scda_max_relative_error\":"), relative > 0.0);
            assert_eq!(told("\"scda_max_absolute_error\":0.01"), absolute > 0.0);
            assert_eq!(told("\"_QuantizeBitRoundNumberOfSignificantBits\":"), relative > 0.0);
            assert_eq!((found.max_relative_error, found.max_absolute_error), (0.0, 0.0));
            let mut read = vec![0; data.len()];
            found.read(&mut file, &[IndexBox::all(&[3000])], &mut read).unwrap();
            let (read, _) = read.as_chunks();
            for (value, found) in values.iter().zip(read.iter().map(|bytes| f32::from_ne_bytes(*bytes))) {
                let (error, value) = ((f64::from(*value) - f64::from(found)).abs(), f64::from(*value));
                assert!(error == 0.0 || relative > 0.0 || absolute > 0.0);
                assert!(value < 1e10 || error == 0.0, "the fill value stays");
                assert!(relative == 0.0 || error <= relative * value.abs(), "{value} {found}");
                assert!(absolute == 0.0 || error <= absolute, "{value} {found}");
            }
        }
    }
    let (plain, rounded) = sizes.split_at(Codec::NAMES.len());
    for sizes in rounded.chunks(Codec::NAMES.len()) {
        assert!(sizes.iter().zip(plain).all(|(rounded, plain)| rounded < plain), "{plain:?} {sizes:?}");
    }
    // What is not compressed is not rounded, and says so.
    let mut dataset = Dataset::new("rho", DataType::Float32, [3000]);
    dataset.max_relative_error = 0.1;
    let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
    let error = file.dataset(&dataset, &[IndexBox::all(&[3000])], &data).unwrap_err();
    assert!(error.to_string().contains("rounding needs chunks: a contiguous layout"), "{error}");
    let noise: Vec<u8> = {
        let mut random = case::Random(1);
        (0..12_000).map(|_| random.below(256) as u8).collect()
    };
    dataset.layout = Layout::Auto { shape: None };
    dataset.max_relative_error = 1e-7;
    let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
    file.dataset(&dataset, &[IndexBox::all(&[3000])], &noise).unwrap();
    file.close().unwrap();
    dataset.max_relative_error = 0.0;
    check_file(&path, &dataset, &noise);
}

#[test]
fn a_long_name_finds_its_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let name = "a group/".repeat(10) + "u";
    let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
    let group = name.trim_end_matches("/u");
    file.group(&scda_format::dataset::stored_path(group), "{\"title\": \"long\"}").unwrap();
    let mut dataset = Dataset::new(&*scda_format::dataset::stored_name(&name), DataType::Uint8, [3]);
    dataset.attributes = format!("{{\"scda_name\": \"{name}\"}}");
    file.dataset(&dataset, &[IndexBox::all(&[3])], b"abc").unwrap();
    file.close().unwrap();
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    assert_eq!(file.dataset_record(&name, 0).unwrap().unwrap().shape, [3]);
    assert!(file.dataset_record(&(name.clone() + "v"), 0).unwrap().is_none());
    assert_eq!(file.group(group).unwrap().unwrap().attributes, "{\"title\":\"long\"}");
    file.close().unwrap();
}
