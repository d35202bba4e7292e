//! Datasets are written from any boxes of any ranks: the bytes of the file are the same, and are those that a plain
//! array, flate2 and a plain loop say.
#![allow(clippy::cast_possible_truncation)] // test data

use flate2::read::ZlibDecoder;
use scda::{
    Communicator, DataType, Dataset, Encode, Encoder, Error, ErrorKind, Faults, Layout, Params, Reader,
    Region, Result, Section, SectionType, Sink, Solo, ThreadComm, Writer, run_on_threads, uniform_partition,
};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n.max(1)
    }
    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// Cuts a box into boxes without common items.
fn cut(random: &mut Random, region: &Region, pieces: &mut Vec<Region>) {
    let longest = (0..region.count.len()).filter(|&d| region.count[d] > 1);
    let dimension = longest.max_by_key(|_| random.below(100));
    match dimension {
        Some(d) if !random.one_in(4) => {
            let at = 1 + random.below(region.count[d] - 1);
            let (mut low, mut high) = (region.clone(), region.clone());
            low.count[d] = at;
            high.start[d] += at;
            high.count[d] -= at;
            cut(random, &low, pieces);
            cut(random, &high, pieces);
        }
        _ => pieces.push(region.clone()),
    }
}

/// The places of a box's items in an array, in C order.
fn places(shape: &[u64], region: &Region) -> Vec<usize> {
    let mut places = vec![0_u64];
    for ((&n, &start), &count) in shape.iter().zip(&region.start).zip(&region.count) {
        places = places.iter().flat_map(|at| (start..start + count).map(move |i| at * n + i)).collect();
    }
    places.into_iter().map(|at| at as usize).collect()
}

/// The items of a box of an array.
fn items(array: &[u8], item: usize, shape: &[u64], region: &Region) -> Vec<u8> {
    places(shape, region).into_iter().flat_map(|at| array[at * item..(at + 1) * item].to_vec()).collect()
}

/// An array with what each rank passes of it; the rest has the fill value.
struct Case {
    dataset: Dataset,
    array: Vec<u8>,
    ranks: Vec<Vec<Region>>,
}

fn little_endian(dataset: &Dataset, data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(dataset.data_type.number_bytes() as usize).for_each(<[u8]>::reverse);
    }
    bytes
}

impl Case {
    fn random(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let types = [
            DataType::Bool,
            DataType::Int16,
            DataType::Float32,
            DataType::Float64,
            DataType::Complex128,
            DataType::Raw(3),
        ];
        let data_type = types[random.below(6) as usize];
        let dimensions = random.below(8) as usize;
        let most = [1, 9000, 100, 25, 9, 6, 5, 4][dimensions];
        let shape: Vec<u64> =
            (0..dimensions).map(|_| if random.one_in(30) { 0 } else { 1 + random.below(most) }).collect();
        let mut dataset = Dataset::new(format!("group/{seed}"), data_type, shape.clone());
        let item = data_type.item_bytes() as usize;
        if random.one_in(2) {
            dataset.fill_value = (0..item).map(|_| random.below(2) as u8).collect();
        }
        dataset.shuffle = !random.one_in(3);
        dataset.level = (!random.one_in(2)).then(|| random.below(10) as u32);
        dataset.attributes = r#"{"units": "m"}"#.into();
        if !random.one_in(3) {
            let mut chunk = Vec::new();
            for n in &shape {
                let most = if random.one_in(3) { n + 3 } else { n / 2 + 1 };
                chunk.push(1 + random.below(most));
            }
            let shape = (!random.one_in(5)).then_some(chunk);
            dataset.layout = Layout::Chunked { shape, text: random.one_in(3) };
        }
        let count = shape.iter().product::<u64>() as usize;
        let fill = match dataset.fill_value.as_slice() {
            [] => vec![0; item],
            fill => fill.to_vec(),
        };
        let mut array = little_endian(&dataset, &fill).repeat(count);
        let mut pieces = Vec::new();
        cut(&mut random, &Region::all(&shape), &mut pieces);
        let mut ranks = vec![Vec::new(); 1 + random.below(6) as usize];
        let gaps = if random.one_in(2) { 1 } else { 5 };
        for piece in pieces {
            if gaps == 1 || !random.one_in(gaps) {
                let uniform = random.one_in(4);
                for at in places(&shape, &piece) {
                    let value = if uniform { 1 } else { random.below(256) as u8 };
                    array[at * item..(at + 1) * item].fill(if data_type == DataType::Bool {
                        value % 2
                    } else {
                        value
                    });
                }
                let rank = random.below(ranks.len() as u64) as usize;
                ranks[rank].push(piece);
            }
        }
        Self { dataset, array, ranks }
    }

    fn item(&self) -> usize {
        self.dataset.data_type.item_bytes() as usize
    }

    fn data(&self, regions: &[Region]) -> Vec<u8> {
        regions
            .iter()
            .flat_map(|region| items(&self.array, self.item(), &self.dataset.shape, region))
            .collect()
    }

    /// Writes it by the ranks as they are.
    fn write(&self, path: &Path, params: &Params) {
        run_on_threads(self.ranks.len(), |comm| {
            let regions = &self.ranks[comm.rank()];
            let mut file = Writer::create(comm, path, b"", params).unwrap();
            file.dataset(&self.dataset, regions, &self.data(regions)).unwrap();
            file.close().unwrap();
        });
    }
}

fn expect(file: &mut Reader, kind: SectionType, user: &[u8], decode: bool) -> Section {
    let section = file.next_section(decode).unwrap().unwrap();
    assert_eq!((section.section_type, &*section.user), (kind, user));
    section
}

fn unshuffled(data: &[u8], item: usize) -> Vec<u8> {
    let count = data.len() / item;
    (0..count).flat_map(|i| (0..item).map(move |byte| data[byte * count + i])).collect()
}

/// Reads a file as a stranger would: what it must have is the array in little-endian order.
fn check_file(path: &Path, dataset: &Dataset, array: &[u8]) {
    let mut file = Reader::open(Solo, path, &Params::default()).unwrap();
    let block = expect(&mut file, SectionType::Block, b"scda dataset 00", true);
    let mut text = vec![0; block.size as usize];
    file.read_block(block.size, 0, Some(&mut text)).unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(metadata["shape"], serde_json::json!(dataset.shape));
    let (name, shape) = (dataset.name.as_bytes(), &dataset.shape);
    let item = dataset.data_type.item_bytes() as usize;
    let array = little_endian(dataset, array);
    match &dataset.layout {
        Layout::Chunked { text, .. } => {
            let chunk = dataset.chunk_shape();
            let bytes = item * chunk.iter().product::<u64>() as usize;
            let grid: Vec<u64> = shape.iter().zip(&chunk).map(|(n, c)| n.div_ceil(*c)).collect();
            let count = grid.iter().product::<u64>();
            let section = if *text {
                let section = expect(&mut file, SectionType::Array, name, true);
                assert!(section.decoded && section.size == bytes as u64);
                section
            } else {
                expect(&mut file, SectionType::Varray, name, false)
            };
            assert_eq!(section.count, count);
            let mut sizes = vec![bytes as u64; count as usize];
            if !text {
                file.read_varray_sizes(&[count], Some(&mut sizes)).unwrap();
            }
            let mut data = vec![0; sizes.iter().sum::<u64>() as usize];
            if *text {
                file.read_array(&[count], bytes as u64, Sink::Contiguous(&mut data)).unwrap();
            } else {
                file.read_varray(&[count], Some(&sizes), None, Sink::Contiguous(&mut data)).unwrap();
            }
            let fill = match dataset.fill_value.as_slice() {
                [] => vec![0; item],
                fill => fill.to_vec(),
            };
            let mut rest = &data[..];
            for (number, size) in sizes.iter().enumerate() {
                let (stream, others) = rest.split_at(*size as usize);
                rest = others;
                let mut found = stream.to_vec();
                if !text && *size > 0 {
                    found.clear();
                    ZlibDecoder::new(stream).read_to_end(&mut found).unwrap();
                }
                if dataset.shuffle {
                    found = unshuffled(&found, item);
                }
                // The chunk as a box, whole even where it reaches beyond the array.
                let (mut rest, mut start) = (number as u64, vec![0; shape.len()]);
                for d in (0..shape.len()).rev() {
                    start[d] = rest % grid[d] * chunk[d];
                    rest /= grid[d];
                }
                let count = (0..shape.len()).map(|d| chunk[d].min(shape[d] - start[d])).collect::<Vec<_>>();
                let mut expected = fill.repeat(bytes / item);
                let own = Region::new(start, count.clone());
                let inside = Region::new(vec![0; shape.len()], count);
                let values = items(&array, item, shape, &own);
                for (at, value) in places(&chunk, &inside).into_iter().zip(values.chunks_exact(item)) {
                    expected[at * item..(at + 1) * item].copy_from_slice(value);
                }
                let is_fill = expected == fill.repeat(bytes / item);
                assert_eq!(*size == 0, is_fill && !text, "chunk {number} of {dataset:?}");
                if *size > 0 {
                    assert!(found == expected, "chunk {number} of {dataset:?}");
                }
            }
        }
        _ => {
            let section = expect(&mut file, SectionType::Array, name, true);
            let (rows, size) = (section.count, section.size);
            assert_eq!(rows, shape.first().copied().unwrap_or(1));
            assert_eq!(size as usize, item * shape.iter().skip(1).product::<u64>() as usize);
            let mut data = vec![0; array.len()];
            if array.len() >= 65536 {
                assert!((block_end(path) + 128).is_multiple_of(4096), "{dataset:?}");
            }
            file.read_array(&[rows], size, Sink::Contiguous(&mut data)).unwrap();
            assert!(data == array, "{dataset:?}");
        }
    }
    assert!(file.next_section(true).unwrap().is_none());
    file.close().unwrap();
}

/// Reads boxes of it, on each rank others, and compares what the file says of it.
fn read_back(path: &Path, dataset: &Dataset, array: &[u8], ranks: usize, seed: u64) {
    let item = dataset.data_type.item_bytes() as usize;
    run_on_threads(ranks, |comm| {
        let mut random = Random(seed + comm.rank() as u64);
        let mut file = Reader::open(comm, path, &Params::default()).unwrap();
        let found = file.find_dataset(&dataset.name, 0).unwrap().unwrap();
        assert_eq!(
            (&found.name, found.data_type, &found.shape),
            (&dataset.name, dataset.data_type, &dataset.shape)
        );
        match (&found.layout, &dataset.layout) {
            (Layout::Chunked { shape, text }, Layout::Chunked { text: expected, .. }) => {
                assert_eq!((shape.as_ref(), text), (Some(&dataset.chunk_shape()), expected));
            }
            (found, expected) => assert_eq!(found, expected),
        }
        let mut regions = Vec::new();
        for _ in 0..random.below(4) {
            let mut region = Region::all(&dataset.shape);
            for d in 0..region.count.len() {
                region.start[d] = random.below(dataset.shape[d] + 1);
                region.count[d] = random.below(dataset.shape[d] - region.start[d] + 1);
            }
            regions.push(region);
        }
        let expected: Vec<u8> = regions.iter().flat_map(|r| items(array, item, &dataset.shape, r)).collect();
        let mut data = vec![9; expected.len()];
        file.read_dataset(&regions, &mut data).unwrap();
        assert!(data == expected, "{dataset:?} {regions:?}");
        file.close().unwrap();
    });
}

/// Where the first section ends.
fn block_end(path: &Path) -> u64 {
    let mut file = Reader::open(Solo, path, &Params::default()).unwrap();
    file.next_section(false).unwrap();
    file.skip().unwrap();
    let end = file.position().unwrap();
    file.close().unwrap();
    end
}

fn with(change: impl FnOnce(&mut Params)) -> Params {
    let mut params = Params::default();
    change(&mut params);
    params
}

/// The parameters change how the ranks meet, but not the file.
fn ways() -> Vec<Params> {
    let few = with(|params| (params.aggregation_bytes, params.threads) = (4096, 3));
    vec![Params::default(), with(|params| params.check = false), few]
}

#[test]
fn the_file_does_not_depend_on_who_passes_what() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..150 {
        let mut case = Case::random(seed);
        let path = folder.path().join("f");
        let alone = folder.path().join("alone");
        let whole = [Region::all(&case.dataset.shape)];
        let mut file = Writer::create(Solo, &alone, b"", &Params::default()).unwrap();
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
        let params = with(|params| params.seal = true);
        let mut files = paths.each_ref().map(|path| Writer::create(Solo, path, b"", &params).unwrap());
        files[0].dataset(&dataset, &[Region::all(shape)], &array).unwrap();
        files[1].dataset_from(&dataset, &mut little_endian(&dataset, &array).as_slice()).unwrap();
        files.into_iter().for_each(|file| file.close().unwrap());
        let [memory, stream] = paths.each_ref().map(|path| std::fs::read(path).unwrap());
        assert!(memory == stream, "{shape:?}");
    }
    let create = || Writer::create(Solo, &paths[0], b"", &Params::default()).unwrap();
    let mut dataset = Dataset::new("a", DataType::Uint8, [1 << 23]);
    let mut file = create();
    file.block(b"before", 0, 1, Some(b"x"), Encode::None).unwrap();
    // A stream that ends early: neither metadata nor data stay in the file.
    let error = file.dataset_from(&dataset, &mut &vec![0; 5 << 20][..]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    drop(file);
    let mut file = Reader::open(Solo, &paths[0], &Params::default()).unwrap();
    expect(&mut file, SectionType::Block, b"before", false);
    file.skip().unwrap();
    assert!(file.next_section(false).unwrap().is_none());
    dataset.layout = chunked(&[100]);
    let error = create().dataset_from(&dataset, &mut &[0; 8][..]).unwrap_err();
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
        let mut file = Writer::create(Solo, &alone, b"", &Params::default()).unwrap();
        file.dataset(&dataset, &[Region::all(&shape)], &array).unwrap();
        file.close().unwrap();
        check_file(&alone, &dataset, &array);
        let expected = std::fs::read(&alone).unwrap();
        for ranks in [2, 3, 6] {
            // Blocks of the second dimension, and rows: as boxes and as counts.
            for how in 0..3 {
                run_on_threads(ranks, |comm| {
                    let rank = comm.rank();
                    let dimension = usize::from(how == 0);
                    let counts = uniform_partition(shape[dimension], ranks);
                    let mut region = Region::all(&shape);
                    region.start[dimension] = counts[..rank].iter().sum();
                    region.count[dimension] = counts[rank];
                    let data = items(&array, 8, &shape, &region);
                    let mut file = Writer::create(comm, &path, b"", &Params::default()).unwrap();
                    match how {
                        2 => file.field(&dataset, &counts, &data).unwrap(),
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
                // Each has what every so many ranks of the case have.
                let own = |case: &Case| {
                    case.ranks.iter().skip(comm.rank()).step_by(ranks).flatten().cloned().collect()
                };
                let regions: Vec<Vec<Region>> = cases.iter().map(own).collect();
                let data: Vec<Vec<u8>> =
                    cases.iter().zip(&regions).map(|(case, regions)| case.data(regions)).collect();
                let all: Vec<(&Dataset, &[Region], &[u8])> = cases
                    .iter()
                    .zip(regions.iter().zip(&data))
                    .map(|(case, (regions, data))| (&case.dataset, regions.as_slice(), data.as_slice()))
                    .collect();
                let mut file = Writer::create(comm.clone(), &path, b"", params).unwrap();
                file.datasets(&all[..1]).unwrap();
                file.datasets(&[]).unwrap();
                file.datasets(&all[1..]).unwrap();
                file.close().unwrap();
            });
            assert!(std::fs::read(&path).unwrap() == expected, "{group}, {ranks} ranks");
        }
    }
}

#[test]
fn wrong_ones_of_several_datasets_are_the_errors_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let datasets = ["a", "b", "c"].map(|name| {
        let mut dataset = Dataset::new(name, DataType::Float64, [40, 30]);
        dataset.layout = chunked(&[7, 5]);
        dataset
    });
    let run = |own: &(dyn Fn(usize, usize) -> Vec<Region> + Sync), ranks: usize, some: bool| {
        let errors = run_on_threads(ranks, |comm| {
            let rank = comm.rank();
            let regions: Vec<Vec<Region>> = (0..3).map(|number| own(rank, number)).collect();
            let bytes = |regions: &[Region]| 8 * regions.iter().map(|r| r.items().unwrap()).sum::<u64>();
            let data: Vec<Vec<u8>> = regions.iter().map(|regions| vec![1; bytes(regions) as usize]).collect();
            let mut all: Vec<(&Dataset, &[Region], &[u8])> = datasets
                .iter()
                .zip(regions.iter().zip(&data))
                .map(|(dataset, (regions, data))| (dataset, regions.as_slice(), data.as_slice()))
                .collect();
            if some && rank == 1 {
                all.pop();
            }
            let mut file = Writer::create(comm, &path, b"", &Params::default()).unwrap();
            file.dataset(&datasets[0], &[], &[]).unwrap();
            file.datasets(&all).and_then(|()| file.close()).unwrap_err().to_string()
        });
        assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "{errors:?}");
        // A rank that is alone writes one after the other.
        assert_eq!(walk(&path), if ranks == 1 { 4 } else { 2 });
        errors[0].clone()
    };
    let corner = Region::new([33, 21], [2, 3]);
    // The one of the first dataset that has any is named.
    for ranks in [1, 3] {
        let overlap = run(
            &|rank, number| match (rank, number) {
                (0, 0) => vec![Region::all(&[40, 30])],
                (0, _) => vec![Region::all(&[40, 30]), corner.clone()],
                _ => vec![],
            },
            ranks,
            false,
        );
        assert!(overlap.contains("dataset \"b\": found index [33, 21] in two regions"), "{overlap}");
    }
    let outside =
        run(&|_, number| if number == 2 { vec![Region::new([39, 0], [2, 1])] } else { vec![] }, 2, false);
    assert!(outside.contains("region"), "{outside}");
    let fewer = run(&|_, _| vec![], 2, true);
    assert!(fewer.contains("the ranks disagree on"), "{fewer}");
}

fn chunked(shape: &[u64]) -> Layout {
    Layout::Chunked { shape: Some(shape.to_vec()), text: false }
}

/// A program on all ranks fails with the same error on all of them.
fn error(ranks: usize, dataset: &Dataset, boxes: &[Vec<Region>]) -> (ErrorKind, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let errors = run_on_threads(ranks, |comm| {
        let regions = &boxes[comm.rank()];
        let bytes: u64 =
            regions.iter().map(|r| r.items().unwrap()).sum::<u64>() * dataset.data_type.item_bytes();
        let mut file = Writer::create(comm, &path, b"", &Params::default()).unwrap();
        file.array(b"before", &vec![1; ranks], 1, scda::Source::Contiguous(b"x"), scda::Encode::None)
            .unwrap();
        let result = file.dataset(dataset, regions, &vec![1; bytes as usize]);
        let error = result.and_then(|()| file.close()).unwrap_err();
        let text = error.to_string();
        (error.kind(), text.split_once("dataset").map_or(text.clone(), |(_, text)| text.to_owned()))
    });
    assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "{errors:?}");
    // What was written before stays, and nothing else.
    let mut file = Reader::open(Solo, &path, &Params::default()).unwrap();
    assert_eq!(&*file.next_section(true).unwrap().unwrap().user, b"before");
    file.skip().unwrap();
    assert!(file.next_section(true).unwrap().is_none());
    errors[0].clone()
}

#[test]
fn an_index_that_two_boxes_have_is_named() {
    for layout in [Layout::Contiguous, chunked(&[7, 5]), chunked(&[100, 100])] {
        let mut dataset = Dataset::new("rho", DataType::Float64, [40, 30]);
        dataset.layout = layout;
        let all = Region::all(&[40, 30]);
        let corner = Region::new([33, 21], [2, 3]);
        let told = |index: &str| {
            let words = format!(" \"rho\": found index {index} in two regions, expected each in one at most");
            (ErrorKind::Argument, words)
        };
        // On one rank, on two, and everything by everybody.
        assert_eq!(error(1, &dataset, &[vec![all.clone(), corner.clone()]]), told("[33, 21]"));
        let boxes = [vec![Region::new([0, 0], [35, 30])], vec![], vec![corner.clone()]];
        assert_eq!(error(3, &dataset, &boxes), told("[33, 21]"));
        assert_eq!(error(3, &dataset, &[vec![all.clone()], vec![all.clone()], vec![all]]), told("[0, 0]"));
        // Many small boxes.
        let mut points: Vec<Region> = (0..1200)
            .map(|i| Region::new([i / 30, i % 30], [1, 1]))
            .filter(|p| p.start != [33, 22])
            .collect();
        points.push(corner);
        let (few, many) = points.split_at(700);
        assert_eq!(error(2, &dataset, &[many.to_vec(), few.to_vec()]), told("[33, 21]"));
    }
}

#[test]
fn wrong_arguments_are_the_errors_of_all_ranks() {
    let good = Dataset::new("rho", DataType::Float64, [4, 3]);
    let outside = vec![Region::new([3, 0], [2, 3])];
    assert_eq!(error(2, &good, &[vec![], outside]).0, ErrorKind::Argument);
    let mut bad = good.clone();
    bad.layout = chunked(&[0, 1]);
    assert_eq!(error(2, &bad, &[vec![], vec![]]).0, ErrorKind::Argument);
    bad.layout = Layout::Contiguous;
    bad.attributes = "[]".into();
    assert_eq!(error(3, &bad, &[vec![], vec![], vec![]]).0, ErrorKind::Argument);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let run = |program: &(dyn Fn(usize, &mut Writer) -> Result<()> + Sync)| {
        let errors = run_on_threads(2, |comm| {
            let rank = comm.rank();
            let mut file = Writer::create(comm, &path, b"", &Params::default()).unwrap();
            program(rank, &mut file).and_then(|()| file.close()).unwrap_err().to_string()
        });
        assert_eq!(errors[0], errors[1]);
        errors[0].split_once(": ").unwrap().1.to_owned()
    };
    let none = run(&|rank, file| file.dataset(&good, &[], &[0; 8][..8 * rank]));
    assert_eq!(none, "rank 1: data: found 8 bytes, expected the 0 of the regions");
    let differ = run(&|rank, file| {
        let shape = [4, 3 + rank as u64];
        file.dataset(&Dataset::new("rho", DataType::Float64, shape), &[], &[])
    });
    assert_eq!(differ, "the ranks disagree on the dataset or group");
    let sum = run(&|_, file| file.field(&good, &[1, 2], &[0; 72]));
    assert_eq!(sum, "rank 0: counts N_q: found the sum 3, expected the 4 indices of the first dimension");
    let short = run(&|_, file| file.field(&good, &[2, 2], &[0; 40]));
    assert_eq!(short, "rank 0: data: found 40 bytes, expected the 48 of the regions");
    let scalar = run(&|_, file| file.field(&Dataset::new("a", DataType::Int8, []), &[0, 0], &[]));
    assert!(scalar.contains("without dimensions"), "{scalar}");
}

#[test]
fn sealed_files_have_rows_for_both_sections() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for ranks in [1, 2, 5] {
        let path = folder.path().join(ranks.to_string());
        run_on_threads(ranks, |comm| {
            let (rank, size) = (comm.rank() as u64, comm.size() as u64);
            let params = with(|params| params.seal = true);
            let mut file = Writer::create(comm, &path, b"", &params).unwrap();
            for (step, layout) in
                [Layout::Contiguous, chunked(&[64]), Layout::Contiguous].into_iter().enumerate()
            {
                let mut dataset = Dataset::new("rho", DataType::Int32, [20_000]);
                dataset.layout = layout;
                // Every so many indices of the array: nobody has whole rows that follow one another.
                let regions: Vec<Region> =
                    (0..20_000).filter(|i| i / 500 % size == rank).map(|i| Region::new([i], [1])).collect();
                let data: Vec<u8> =
                    regions.iter().flat_map(|r| (r.start[0] as u32 * step as u32).to_ne_bytes()).collect();
                file.dataset(&dataset, &regions, &data).unwrap();
                if step == 1 {
                    file.commit().unwrap();
                }
            }
            file.close().unwrap();
        });
        let mut file = Reader::open(Solo, &path, &with(|params| params.verify = true)).unwrap();
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

/// A communicator that fails one exchange of its rank, after it was made: the others know nothing of it.
struct Failing(ThreadComm, Arc<AtomicU64>);

impl Failing {
    fn then<T>(&self, result: Result<T>) -> Result<T> {
        match self.1.fetch_sub(1, Ordering::Relaxed) {
            0 => Err(Error::communication("injected fault")),
            _ => result,
        }
    }
}

impl Communicator for Failing {
    fn rank(&self) -> usize {
        self.0.rank()
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn allreduce_min(&self, values: &mut [u64]) -> Result<()> {
        self.then(self.0.allreduce_min(values))
    }
    fn allreduce_sum(&self, values: &mut [u64]) -> Result<()> {
        self.then(self.0.allreduce_sum(values))
    }
    fn exscan_sum(&self, values: &mut [u64]) -> Result<()> {
        self.then(self.0.exscan_sum(values))
    }
    fn allgather(&self, value: u64) -> Result<Vec<u64>> {
        self.then(self.0.allgather(value))
    }
    fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<()> {
        self.then(self.0.broadcast(bytes, root))
    }
    fn gather(&self, bytes: &[u8], all: &mut Vec<u8>) -> Result<()> {
        self.then(self.0.gather(bytes, all))
    }
    fn alltoallv(
        &self,
        sent: &[u8],
        sent_bytes: &[usize],
        received: &mut [u8],
        received_bytes: &[usize],
    ) -> Result<()> {
        self.then(self.0.alltoallv(sent, sent_bytes, received, received_bytes))
    }
}

/// Writes datasets in all ways.
fn program(comm: impl Communicator + 'static, path: &Path, params: &Params) -> Result<()> {
    let (rank, size) = (comm.rank() as u64, comm.size() as u64);
    let mut file = Writer::create(comm, path, b"", params)?;
    for layout in [Layout::Contiguous, chunked(&[100, 3])] {
        let mut dataset = Dataset::new("rho", DataType::Int32, [900, 6]);
        dataset.layout = layout;
        let columns = uniform_partition(6, size as usize);
        let region = Region::new([0, columns[..rank as usize].iter().sum()], [900, columns[rank as usize]]);
        let data: Vec<u8> = (0..900 * columns[rank as usize] as u32).flat_map(u32::to_ne_bytes).collect();
        file.dataset(&dataset, std::slice::from_ref(&region), &data)?;
        let counts = uniform_partition(900, size as usize);
        let bytes = counts[rank as usize] as usize * 24;
        file.field(&dataset, &counts, &vec![1; bytes])?;
        let other = Dataset::new("p", DataType::Int32, [900, 6]);
        let region = [region];
        file.datasets(&[(&dataset, &region, &data), (&dataset, &region, &data), (&other, &region, &data)])?;
    }
    file.close()
}

/// The sections of a file, all of which can be read.
fn walk(path: &Path) -> usize {
    let mut file = Reader::open(Solo, path, &Params::default()).unwrap();
    let mut count = 0;
    while file.next_section(true).unwrap().is_some() {
        file.skip().unwrap();
        count += 1;
    }
    count
}

#[test]
fn each_exchange_may_fail_on_each_rank() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for check in [false, true] {
        let params = with(|params| params.check = check);
        for failing in 0..3 {
            for countdown in (0..).step_by(if check { 3 } else { 1 }) {
                let _ = std::fs::remove_file(&path);
                let results = run_on_threads(3, |comm| {
                    let left = if comm.rank() == failing { countdown } else { u64::MAX };
                    program(Failing(comm, Arc::new(AtomicU64::new(left))), &path, &params)
                        .map_err(|error| error.kind())
                });
                assert!(
                    results.windows(2).all(|pair| pair[0] == pair[1]),
                    "{failing} {countdown}: {results:?}"
                );
                if results[0].is_ok() {
                    // What failed was the last exchange, if any.
                    assert_eq!(walk(&path), 20);
                    break;
                }
                assert_eq!(results[0], Err(ErrorKind::Mpi));
                if path.exists() && std::fs::metadata(&path).unwrap().len() > 0 {
                    assert!(walk(&path).is_multiple_of(2), "{failing} {countdown}: metadata without data");
                }
            }
        }
    }
}

#[test]
fn accesses_may_fail() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for seed in 0..60 {
        let faults = Some(Faults { every: 6, seed });
        let params = with(|params| (params.faults, params.aggregation_bytes) = (faults, 4096));
        let results = run_on_threads(3, |comm| program(comm, &path, &params).map_err(|error| error.kind()));
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{seed}: {results:?}");
    }
}

#[test]
fn auto_takes_the_smaller_one() {
    let folder = tempfile::tempdir().unwrap();
    let write = |dataset: &Dataset, data: &[u8], ranks: usize| {
        let path = folder.path().join("f");
        run_on_threads(ranks, |comm| {
            let rank = comm.rank() as u64;
            // Indices in turns.
            let mine: Vec<u64> = (0..dataset.shape[0]).filter(|i| i / 100 % ranks as u64 == rank).collect();
            let regions: Vec<Region> = mine.iter().map(|&i| Region::new([i], [1])).collect();
            let own: Vec<u8> = mine.iter().flat_map(|&i| data[i as usize * 8..][..8].to_vec()).collect();
            let mut file = Writer::create(comm, &path, b"", &Params::default()).unwrap();
            file.dataset(dataset, &regions, &own).unwrap();
            file.close().unwrap();
        });
        std::fs::read(path).unwrap()
    };
    let mut random = Random(1);
    let noise: Vec<u8> = (0..80_000).map(|_| random.below(256) as u8).collect();
    let smooth: Vec<u8> = (0..10_000_u64).flat_map(u64::to_ne_bytes).collect();
    // Noise in the chunks that are tried, or in some of the others.
    let mixed = [&smooth[..60_000], &noise[..20_000]].concat();
    for chunk in [100, 10_000] {
        for (data, is_smaller) in [(&noise, false), (&smooth, true), (&mixed, true)] {
            let mut dataset = Dataset::new("rho", DataType::Uint64, [10_000]);
            dataset.layout = if is_smaller { chunked(&[chunk]) } else { Layout::Contiguous };
            let expected = write(&dataset, data, 1);
            dataset.layout = Layout::Auto { shape: Some(vec![chunk]) };
            for ranks in [1, 3] {
                assert!(write(&dataset, data, ranks) == expected, "{chunk} {is_smaller} {ranks}");
            }
        }
    }
}

#[test]
fn auto_makes_the_smaller_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut chosen = [0; 2];
    for seed in 0..300 {
        let mut case = Case::random(3000 + seed);
        let Layout::Chunked { shape, .. } = case.dataset.layout.clone() else { continue };
        // What is that large is aligned, which takes room, too; and of many chunks some are tried first.
        let count = || case.dataset.shape.iter().zip(case.dataset.chunk_shape());
        if case.array.len() >= 65536 || count().map(|(n, c)| n.div_ceil(c)).product::<u64>() > 32 {
            continue;
        }
        let mut file = |layout| {
            case.dataset.layout = layout;
            case.write(&path, &Params::default());
            std::fs::read(&path).unwrap()
        };
        let plain = file(Layout::Contiguous);
        let chunks = file(Layout::Chunked { shape: shape.clone(), text: false });
        let is_smaller = chunks.len() < plain.len();
        assert!(file(Layout::Auto { shape }) == if is_smaller { chunks } else { plain }, "{seed}");
        chosen[usize::from(is_smaller)] += 1;
    }
    assert!(chosen[0] > 20 && chosen[1] > 20, "{chosen:?}");
}

#[test]
fn groups_have_attributes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for seal in [false, true] {
        run_on_threads(3, |comm| {
            let params = with(|params| params.seal = seal);
            let mut file = Writer::create(comm, &path, b"", &params).unwrap();
            file.group("/", r#"{"title": "a flow"}"#).unwrap();
            file.group("flow", r#"{"time": 0.5}"#).unwrap();
            file.group("flow", r#"{"time": 0.75}"#).unwrap();
            file.close().unwrap();
        });
        let mut file = Reader::open(Solo, &path, &Params::default()).unwrap();
        assert_eq!(file.sections().unwrap(), 6);
        assert_eq!(file.find_group("/").unwrap().as_deref(), Some(r#"{"title":"a flow"}"#));
        assert_eq!(file.find_group("flow").unwrap().as_deref(), Some(r#"{"time":0.75}"#));
        assert_eq!(file.find_group("other").unwrap(), None);
    }
    let errors = run_on_threads(2, |comm| {
        let rank = comm.rank();
        let mut file = Writer::create(comm, &path, b"", &Params::default()).unwrap();
        let attributes = [r#"{"a": 1}"#, r#"{"a": 2}"#][rank];
        file.group("/", attributes).and_then(|()| file.close()).unwrap_err().to_string()
    });
    assert!(errors.iter().all(|e| e.ends_with("the ranks disagree on the dataset or group")), "{errors:?}");
    for (group, attributes) in [("a/", "{}"), ("", "{}"), ("a", "[]"), ("a", "{"), ("a", r#"{"a":1,"a":2}"#)]
    {
        let mut file = Writer::create(Solo, &path, b"", &Params::default()).unwrap();
        assert_eq!(file.group(group, attributes).unwrap_err().kind(), ErrorKind::Argument, "{attributes}");
    }
}

/// The exchanges that each further call costs, among so many ranks; the same on all of them.
fn exchanges(ranks: usize, call: impl Fn(&mut Writer, usize) -> Result<()> + Sync) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let count = |calls| {
        let counts = run_on_threads(ranks, |comm| {
            let rank = comm.rank();
            let left = Arc::new(AtomicU64::new(u64::MAX));
            let params = with(|params| params.check = false);
            let mut file = Writer::create(Failing(comm, Arc::clone(&left)), &path, b"", &params).unwrap();
            (0..calls).for_each(|_| call(&mut file, rank).unwrap());
            file.close().unwrap();
            u64::MAX - left.load(Ordering::Relaxed)
        });
        assert!(counts.windows(2).all(|pair| pair[0] == pair[1]));
        counts[0]
    };
    (count(14) - count(4)) / 10
}

#[test]
fn datasets_cost_few_exchanges() {
    for ranks in [2, 5] {
        let mut dataset = Dataset::new("rho", DataType::Float64, [10 * ranks as u64]);
        let counts = vec![10; ranks];
        let own = |rank: usize| [Region::new([10 * rank as u64], [10])];
        // The short way: nothing but what buffered sections cost.
        assert_eq!(exchanges(ranks, |file, _| file.field(&dataset, &counts, &[1; 80])), 0);
        // An agreement and the counts, and an agreement that they are those of rows.
        assert_eq!(exchanges(ranks, |file, rank| file.dataset(&dataset, &own(rank), &[1; 80])), 3);
        // Whether all have their own chunks; two and a sum twice where compressed chunks lie.
        dataset.layout = chunked(&[10]);
        assert_eq!(exchanges(ranks, |file, rank| file.dataset(&dataset, &own(rank), &[1; 80])), 5);
        // Two agreements, lengths and parts in each round.
        dataset.layout = chunked(&[15]);
        assert_eq!(exchanges(ranks, |file, rank| file.dataset(&dataset, &own(rank), &[1; 80])), 9);
        // Once for many datasets.
        let many = |file: &mut Writer, rank| {
            let own = own(rank);
            file.datasets(&[(&dataset, &own[..], &[1; 80][..]); 30])
        };
        // And what buffered sections cost.
        let exchanges = exchanges(ranks, many);
        assert!((9..13).contains(&exchanges), "{exchanges}");
    }
}

#[test]
fn zlib_is_an_encoder_of_chunks_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut dataset = Dataset::new("rho", DataType::Int32, [3000]);
    dataset.layout = chunked(&[1000]);
    let data: Vec<u8> = (0..3000_u32).flat_map(u32::to_ne_bytes).collect();
    let params = with(|params| params.encoder = Encoder::Zlib);
    let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
    file.dataset(&dataset, &[Region::all(&[3000])], &data).unwrap();
    file.close().unwrap();
    check_file(&path, &dataset, &data);
}
