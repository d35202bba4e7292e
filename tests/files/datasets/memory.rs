//! Boxes that lie in memory in any way: the file is that of the same items in C order.

#![allow(clippy::cast_possible_wrap, clippy::cast_sign_loss)] // test data

use super::case::{Case, Random, items};
use super::{chunked, with};
use crate::common::{options, tuned};
use scda::{
    Communicator, Data, DataMut, DataType, Dataset, ErrorKind, IndexBox, Layout, Memory, MemoryMut,
    ReadOptions, Reader, Request, Solo, WriteOptions, Writer, run_on_threads, uniform_partition,
};
use std::path::Path;

/// A box in memory of its own: the bytes, with others between the items, where the first item is, and the strides.
pub struct Scattered {
    pub bytes: Vec<u8>,
    pub first: usize,
    pub strides: Vec<i64>,
}

impl Scattered {
    /// With any order of the dimensions, gaps in each of them, and steps back. In one of three cases the items are packed.
    pub fn new(random: &mut Random, count: &[u64], item: usize) -> Self {
        let mut order: Vec<usize> = (0..count.len()).collect();
        let is_packed = random.one_in(3);
        if random.one_in(2) && !is_packed {
            order.reverse();
        }
        let (mut strides, mut first) = (vec![0; count.len()], 0);
        let mut extent =
            (item as u64 * if random.one_in(2) || is_packed { 1 } else { 1 + random.below(3) }) as i64;
        for &dimension in order.iter().rev() {
            let gap = if is_packed { 0 } else { random.below(3) as i64 };
            strides[dimension] = extent;
            if !is_packed && random.one_in(5) {
                first += (count[dimension].max(1) as i64 - 1) * extent;
                strides[dimension] = -extent;
            }
            extent *= count[dimension].max(1) as i64 + gap;
        }
        Self { bytes: vec![0xE5; extent as usize], first: first as usize, strides }
    }

    /// Where each item is, in C order.
    fn places(&self, count: &[u64]) -> Vec<usize> {
        let mut places = vec![self.first as i64];
        for (&n, stride) in count.iter().zip(&self.strides) {
            places = places.iter().flat_map(|at| (0..n as i64).map(move |i| at + i * stride)).collect();
        }
        places.into_iter().map(|at| at as usize).collect()
    }

    pub fn put(&mut self, count: &[u64], data: &[u8], item: usize) {
        for (at, item) in self.places(count).into_iter().zip(data.chunks(item)) {
            self.bytes[at..at + item.len()].copy_from_slice(item);
        }
    }
}

fn scattered(random: &mut Random, case: &Case, regions: &[IndexBox]) -> Vec<Scattered> {
    let new = |region: &IndexBox| {
        let mut memory = Scattered::new(random, &region.count, case.item());
        memory.put(&region.count, &items(&case.array, case.item(), &case.dataset.shape, region), case.item());
        memory
    };
    regions.iter().map(new).collect()
}

fn memories(boxes: &[Scattered]) -> Vec<Memory<'_>> {
    boxes.iter().map(|one| Memory::strided(&one.bytes, one.first, &one.strides)).collect()
}

fn write_scattered(case: &Case, seed: u64, path: &Path, params: &WriteOptions) {
    run_on_threads(case.ranks.len(), |comm| {
        let mut random = Random(seed + 77 * comm.rank() as u64);
        let regions = &case.ranks[comm.rank()];
        let boxes = scattered(&mut random, case, regions);
        let mut file = Writer::create(comm, path, b"", params).unwrap();
        file.dataset(&case.dataset, regions, Data::Boxes(&memories(&boxes))).unwrap();
        file.close().unwrap();
    });
}

#[test]
fn any_memory_makes_the_same_file_and_is_read_into() {
    let folder = tempfile::tempdir().unwrap();
    let [packed, path] = ["packed", "scattered"].map(|name| folder.path().join(name));
    for seed in 0..300 {
        let case = Case::random(5000 + seed);
        let params = with(|params: &mut WriteOptions| params.seal = seed % 3 == 0);
        case.write(&packed, &params);
        write_scattered(&case, seed, &path, &params);
        assert!(
            std::fs::read(&packed).unwrap() == std::fs::read(&path).unwrap(),
            "{seed}: {:?}",
            case.dataset
        );
        run_on_threads(1 + seed as usize % 4, |comm| {
            let mut random = Random(seed + 1000 * comm.rank() as u64);
            let mut file = Reader::open(comm, &path, &tuned(&params.tuning)).unwrap();
            let handle = file.dataset(&case.dataset.name).unwrap().unwrap();
            let shape = &case.dataset.shape;
            let regions: Vec<IndexBox> = (0..random.below(4))
                .map(|_| {
                    let start: Vec<u64> = shape.iter().map(|&n| random.below(n + 1)).collect();
                    let count: Vec<u64> =
                        shape.iter().zip(&start).map(|(n, start)| random.below(n - start + 1)).collect();
                    IndexBox::new(start, count)
                })
                .collect();
            let mut found: Vec<Scattered> = regions
                .iter()
                .map(|region| Scattered::new(&mut random, &region.count, case.item()))
                .collect();
            let into =
                found.iter_mut().map(|one| MemoryMut::strided(&mut one.bytes, one.first, &one.strides));
            handle.read(&mut file, &regions, DataMut::Boxes(into.collect())).unwrap();
            for (region, found) in regions.iter().zip(&found) {
                // What lies between the items is as before.
                let bytes = vec![0xE5; found.bytes.len()];
                let mut right = Scattered { bytes, first: found.first, strides: found.strides.clone() };
                right.put(&region.count, &items(&case.array, case.item(), shape, region), case.item());
                assert!(found.bytes == right.bytes, "{seed}: {region:?} of {:?}", case.dataset);
            }
        });
    }
}

/// Rows of a long array, of which some ranks have ghost cells and others do not.
#[test]
fn rows_of_any_memory_are_written_by_all() {
    let folder = tempfile::tempdir().unwrap();
    let [packed, path] = ["packed", "scattered"].map(|name| folder.path().join(name));
    let shape = [301, 7, 5];
    let array: Vec<u8> = (0..301 * 7 * 5 * 8_u64).map(|n| (n * n / 77) as u8).collect();
    for layout in [Layout::Contiguous, chunked(&[40, 7, 5]), Layout::Auto { shape: None }] {
        let mut dataset = Dataset::new("rho", DataType::Float64, shape);
        dataset.layout = layout;
        let mut file = Writer::create(Solo, &packed, b"", &options()).unwrap();
        for _ in 0..3 {
            file.dataset(&dataset, &[IndexBox::all(&shape)], &array).unwrap();
        }
        file.close().unwrap();
        for ranks in [1, 2, 3, 5] {
            for ghosts in 0..4_usize {
                run_on_threads(ranks, |comm| {
                    let (rank, mut random) = (comm.rank(), Random(ghosts as u64));
                    let at = |rank: usize| 301 * rank as u64 / ranks as u64;
                    let region = IndexBox::new([at(rank), 0, 0], [at(rank + 1) - at(rank), 7, 5]);
                    let data = items(&array, 8, &shape, &region);
                    let mut memory = Scattered::new(&mut random, &region.count, 8);
                    memory.put(&region.count, &data, 8);
                    let mut file = Writer::create(comm, &path, b"", &options()).unwrap();
                    for _ in 0..3 {
                        // Two boxes, one after the other.
                        if (rank + ghosts) % 3 == 0 {
                            file.dataset(&dataset, std::slice::from_ref(&region), &data).unwrap();
                        } else {
                            let own = [region.clone(), IndexBox::new([at(rank + 1), 0, 0], [0, 7, 5])];
                            let none = Memory::packed(&[]);
                            let some = Memory::strided(&memory.bytes, memory.first, &memory.strides);
                            file.dataset(&dataset, &own, Data::Boxes(&[some, none])).unwrap();
                        }
                    }
                    file.close().unwrap();
                });
                assert!(
                    std::fs::read(&packed).unwrap() == std::fs::read(&path).unwrap(),
                    "{ranks} {ghosts} {:?}",
                    dataset.layout
                );
            }
        }
    }
}

#[test]
fn memory_that_is_wrong_on_one_rank_is_an_error_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let dataset = Dataset::new("flags", DataType::Bool, [3, 3000]);
    let bytes = vec![0; 9000];
    let mut wrong = bytes.clone();
    wrong[4001] = 7;
    let strides = [3000, 1];
    let texts = [
        (
            Memory::strided(&bytes, 4000, &strides),
            "box: found items from byte 4000 to byte 10000, expected them in memory of 9000 bytes",
        ),
        (Memory::strided(&bytes, 0, &[1]), "strides: found 1, expected 2"),
        (Memory::packed(&bytes), "data: found 9000 bytes, expected 6000"),
        (Memory::strided(&wrong, 1, &strides), "data: found the bool 7 at item 4000, expected 0 or 1"),
    ];
    for (memory, text) in texts {
        let errors = run_on_threads(3, |comm| {
            let rank = comm.rank();
            let mut file = Writer::create(comm, &path, b"", &options()).unwrap();
            let region = [IndexBox::new([0, 0], [2, 3000])];
            let result = match rank {
                1 => file.dataset(&dataset, &region, Data::Boxes(&[memory])),
                _ => file.dataset(&dataset, &[], &[]),
            };
            result.and_then(|()| file.close()).unwrap_err()
        });
        for error in &errors {
            assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
            assert!(error.to_string().contains(text), "{error}");
        }
    }
    let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
    file.dataset(&dataset, &[], &[]).unwrap();
    file.close().unwrap();
    let mut room = vec![0; 10];
    let region = [IndexBox::new([0, 0], [2, 3])];
    for (strides, text) in [([0, 1], "strides: one is less"), ([8, 1], "found items from byte 0 to byte 11")]
    {
        let mut file = Reader::open(Solo, &path, &ReadOptions::default()).unwrap();
        let found = file.dataset("flags").unwrap().unwrap();
        let error =
            found.read(&mut file, &region, DataMut::Boxes(vec![MemoryMut::strided(&mut room, 0, &strides)]));
        let error = error.unwrap_err();
        assert!(error.kind() == ErrorKind::Argument && error.to_string().contains(text), "{error}");
    }
}

/// Rows of a number of interleaved variables on each rank; of one variable the ranks have the rows of others.
#[test]
fn interleaved_variables_of_one_call_are_those_of_a_call_each() {
    const VARIABLES: usize = 11;
    let folder = tempfile::tempdir().unwrap();
    let (one, each) = (folder.path().join("one"), folder.path().join("each"));
    let params = with(|params: &mut WriteOptions| params.tuning.aggregation_bytes = 4096);
    let shape = [61, 4, 3];
    let value = |variable: usize, item: usize| ((variable * 1000 + item) as f64).to_ne_bytes();
    let mut all: Vec<Dataset> =
        (0..VARIABLES).map(|n| Dataset::new(format!("v{n}"), DataType::Float64, shape)).collect();
    all.iter_mut().for_each(|dataset| dataset.layout = Layout::Contiguous);
    all[9].layout = Layout::Chunked { shape: Some(vec![7, 4, 3]), text: false };
    for ranks in 1..5 {
        run_on_threads(ranks, |comm| {
            let mut counts = uniform_partition(61, ranks);
            let rank = comm.rank();
            if ranks > 2 {
                counts[1] += std::mem::take(&mut counts[2]);
            }
            let rows = |rank: usize| {
                let start: u64 = counts[..rank].iter().sum();
                [IndexBox::new([start, 0, 0], [counts[rank], 4, 3])]
            };
            let regions: Vec<_> =
                (0..VARIABLES).map(|n| rows(if n == 2 { ranks - 1 - rank } else { rank })).collect();
            // One item after the other, each of all variables; a rank has room for all.
            let mut memory = vec![0; 61 * 12 * VARIABLES * 8];
            for (item, bytes) in memory.chunks_exact_mut(8).enumerate() {
                bytes.copy_from_slice(&value(item % VARIABLES, item / VARIABLES));
            }
            let step = VARIABLES as i64 * 8;
            let strides = [12 * step, 3 * step, step];
            let first = |n: usize| (regions[n][0].start[0] as usize * 12 * VARIABLES + n) * 8;
            let boxes: Vec<[Memory<'_>; 1]> =
                (0..VARIABLES).map(|n| [Memory::strided(&memory, first(n), &strides)]).collect();
            let given: Vec<_> =
                (0..VARIABLES).map(|n| (&all[n], &regions[n][..], Data::Boxes(&boxes[n]))).collect();
            let mut file = Writer::create(comm.clone(), &one, b"", &params).unwrap();
            file.datasets(&given).unwrap();
            file.close().unwrap();
            let mut file = Writer::create(comm.clone(), &each, b"", &params).unwrap();
            for (dataset, regions, data) in given {
                file.dataset(dataset, regions, data).unwrap();
            }
            file.close().unwrap();

            let mut found = vec![vec![0xEE; memory.len()]; VARIABLES];
            let mut file = Reader::open(comm, &one, &tuned(&params.tuning)).unwrap();
            let handles: Vec<_> = all.iter().map(|one| file.dataset(&one.name).unwrap().unwrap()).collect();
            let requests = found.iter_mut().enumerate().map(|(n, room)| Request {
                dataset: &handles[n],
                regions: &regions[n],
                data: DataMut::Boxes(vec![MemoryMut::strided(room, first(n), &strides)]),
            });
            file.read_datasets(requests.collect()).unwrap();
            for (n, found) in found.iter().enumerate() {
                let mut expected = vec![0xEE; memory.len()];
                for item in 0..counts.iter().sum::<u64>() as usize * 12 {
                    let row = (item / 12) as u64;
                    let region = &regions[n][0];
                    if (region.start[0]..region.start[0] + region.count[0]).contains(&row) {
                        let at = (item * VARIABLES + n) * 8;
                        expected[at..at + 8].copy_from_slice(&value(n, item));
                    }
                }
                assert!(*found == expected, "{ranks} ranks, variable {n}");
            }
        });
        assert!(std::fs::read(&one).unwrap() == std::fs::read(&each).unwrap(), "{ranks} ranks");
    }
}
