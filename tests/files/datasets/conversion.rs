//! Numbers of another type in memory than in the file: the file is that of converted numbers, and any type is read back.

use super::case::{Case, Random, items};
use super::memory::Scattered;
use crate::common::{options, tuned};
use scda::{
    Communicator, Data, DataMut, DataType, Dataset, ErrorKind, IndexBox, Layout, Member, Memory, MemoryMut,
    Reader, Solo, Struct, TimeUnit, Writer, run_on_threads,
};

const NUMBERS: [DataType; 9] = [
    DataType::Int8,
    DataType::Int16,
    DataType::Int64,
    DataType::Uint8,
    DataType::Uint16,
    DataType::Uint32,
    DataType::Float32,
    DataType::Float64,
    DataType::Complex64,
];

/// A number from 0 to 99, which all types have, as an item.
fn item(data_type: DataType, number: u8) -> Vec<u8> {
    match data_type {
        DataType::Float32 => f32::from(number).to_ne_bytes().into(),
        DataType::Float64 => f64::from(number).to_ne_bytes().into(),
        DataType::Complex64 => [f32::from(number), 0.5].map(f32::to_ne_bytes).concat(),
        DataType::Complex128 => [f64::from(number), 0.5].map(f64::to_ne_bytes).concat(),
        _ => {
            let mut bytes = vec![0; data_type.item_bytes() as usize];
            let place = if cfg!(target_endian = "big") { bytes.len() - 1 } else { 0 };
            bytes[place] = number;
            bytes
        }
    }
}

fn all_of(data_type: DataType, numbers: &[u8]) -> Vec<u8> {
    numbers.iter().flat_map(|&number| item(data_type, number)).collect()
}

fn another(random: &mut Random, data_type: DataType) -> DataType {
    if data_type == DataType::Complex64 {
        return DataType::Complex128;
    }
    NUMBERS[random.below(8) as usize]
}

fn scattered(
    random: &mut Random,
    regions: &[IndexBox],
    data_type: DataType,
    numbers: &[u8],
    shape: &[u64],
) -> Vec<Scattered> {
    let bytes = data_type.item_bytes() as usize;
    let new = |region: &IndexBox| {
        let mut memory = Scattered::new(random, &region.count, bytes);
        memory.put(&region.count, &all_of(data_type, &items(numbers, 1, shape, region)), bytes);
        memory
    };
    regions.iter().map(new).collect()
}

#[test]
fn any_type_in_memory_makes_the_same_file_and_is_read_into() {
    let folder = tempfile::tempdir().unwrap();
    let [packed, path] = ["packed", "converted"].map(|name| folder.path().join(name));
    let params = options();
    for seed in 0..300 {
        let mut random = Random(seed + 99);
        let Case { mut dataset, ranks, .. } = Case::random(9000 + seed);
        dataset.data_type = NUMBERS[random.below(9) as usize];
        dataset.fill_value = Vec::new();
        let shape = dataset.shape.clone();
        // Where no rank passes anything, it is the fill value.
        let mut numbers = vec![0; shape.iter().product::<u64>() as usize];
        for region in ranks.iter().flatten() {
            for place in super::case::places(&shape, region) {
                numbers[place] = random.below(100) as u8;
            }
        }
        let mut file = Writer::create(Solo, &packed, b"", &params).unwrap();
        let all: Vec<IndexBox> = ranks.iter().flatten().cloned().collect();
        let data: Vec<u8> = all
            .iter()
            .flat_map(|region| all_of(dataset.data_type, &items(&numbers, 1, &shape, region)))
            .collect();
        file.dataset(&dataset, &all, &data).unwrap();
        file.close().unwrap();
        run_on_threads(ranks.len(), |comm| {
            let mut random = Random(seed + 31 * comm.rank() as u64);
            let regions = &ranks[comm.rank()];
            // Each rank has a type of its own.
            let data_type = another(&mut random, dataset.data_type);
            let boxes = scattered(&mut random, regions, data_type, &numbers, &shape);
            let memories: Vec<Memory<'_>> = boxes
                .iter()
                .map(|one| Memory::strided(&one.bytes, one.first, &one.strides).of_type(data_type))
                .collect();
            let mut file = Writer::create(comm, &path, b"", &params).unwrap();
            file.dataset(&dataset, regions, Data::Boxes(&memories)).unwrap();
            file.close().unwrap();
        });
        assert!(std::fs::read(&packed).unwrap() == std::fs::read(&path).unwrap(), "{seed}: {dataset:?}");
        run_on_threads(1 + seed as usize % 4, |comm| {
            let mut random = Random(seed + 1000 * comm.rank() as u64);
            let data_type = another(&mut random, dataset.data_type);
            let bytes = data_type.item_bytes() as usize;
            let regions = &ranks[comm.rank() % ranks.len()];
            let mut file = Reader::open(comm, &path, &tuned(&params.tuning)).unwrap();
            let handle = file.dataset(&dataset.name).unwrap().unwrap();
            let mut found: Vec<Scattered> =
                regions.iter().map(|region| Scattered::new(&mut random, &region.count, bytes)).collect();
            let into = found
                .iter_mut()
                .map(|one| MemoryMut::strided(&mut one.bytes, one.first, &one.strides).of_type(data_type));
            handle.read(&mut file, regions, DataMut::Boxes(into.collect())).unwrap();
            for (region, found) in regions.iter().zip(&found) {
                let empty = vec![0xE5; found.bytes.len()];
                let mut right =
                    Scattered { bytes: empty, first: found.first, strides: found.strides.clone() };
                let mut expected = all_of(data_type, &items(&numbers, 1, &shape, region));
                if dataset.data_type == DataType::Complex64 {
                    // The imaginary part of the fill value is 0.
                    let fill = [0_f64; 2].map(f64::to_ne_bytes).concat();
                    let passed =
                        all.iter().flat_map(|region| super::case::places(&shape, region)).collect::<Vec<_>>();
                    for (n, place) in super::case::places(&shape, region).into_iter().enumerate() {
                        if !passed.contains(&place) {
                            expected[n * bytes..(n + 1) * bytes].copy_from_slice(&fill);
                        }
                    }
                }
                right.put(&region.count, &expected, bytes);
                assert!(found.bytes == right.bytes, "{seed}: {region:?} as {data_type} of {dataset:?}");
            }
        });
    }
}

#[test]
fn numbers_that_do_not_fit_are_errors_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let numbers: Vec<u8> = (0..40_000_i32).flat_map(i32::to_ne_bytes).collect();
    let dataset = Dataset::new("n", DataType::Int16, [100, 400]);
    let errors = run_on_threads(3, |comm| {
        let rank = comm.rank();
        let mut file = Writer::create(comm, &path, b"", &options()).unwrap();
        let memory = Memory::packed(&numbers).of_type(DataType::Int32);
        let all = [IndexBox::all(&dataset.shape)];
        let result = match rank {
            1 => file.dataset(&dataset, &all, Data::Boxes(&[memory])),
            _ => file.dataset(&dataset, &[], &[]),
        };
        result.and_then(|()| file.close()).unwrap_err()
    });
    for error in errors {
        assert!(error.kind() == ErrorKind::Range && error.to_string().contains("item [81, 368]"), "{error}");
    }
    let stored = Dataset::new("n", DataType::Int32, [100, 400]);
    let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
    file.dataset(&stored, &[IndexBox::all(&stored.shape)], &numbers).unwrap();
    file.close().unwrap();
    let errors = run_on_threads(3, |comm| {
        let region = [IndexBox::new([comm.rank() as u64 * 40, 0], [20, 400])];
        let mut room = vec![0; 20 * 400 * 2];
        let mut file = Reader::open(comm, &path, &options()).unwrap();
        let found = file.dataset_record("n", 0).unwrap().unwrap();
        let into = MemoryMut::packed(&mut room).of_type(DataType::Int16);
        found.read(&mut file, &region, DataMut::Boxes(vec![into])).unwrap_err()
    });
    for error in errors {
        assert!(
            error.kind() == ErrorKind::Range && error.to_string().contains("of int32: item [81, 368]"),
            "{error}"
        );
    }
}

fn member(name: &str, data_type: DataType, offset: u64) -> Member {
    Member { name: name.into(), data_type, offset }
}

/// Structs with gaps and in another order, on 4 ranks, make the file of packed ones; 3 ranks read some members.
#[test]
fn structs_are_members_that_are_found_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let [packed, path] = ["packed", "gaps"].map(|name| folder.path().join(name));
    let pair = DataType::Struct(Struct::array(DataType::Int16, 2).unwrap());
    let day = DataType::Datetime(TimeUnit::new("D", 1).unwrap());
    let members = [("alive", DataType::Bool), ("x", DataType::Float64), ("v", pair), ("day", day)];
    let in_file = Struct::packed(members).unwrap();
    let with_gaps = [
        member("x", DataType::Float64, 8),
        member("v", pair, 0),
        member("day", day, 24),
        member("alive", DataType::Bool, 5),
    ];
    let with_gaps = DataType::Struct(Struct::new(with_gaps, 40).unwrap());
    let few = [member("v", pair, 4), member("x", DataType::Float32, 0)];
    let few = DataType::Struct(Struct::new(few, 12).unwrap());
    let (n, item) = (1000_usize, in_file.item_bytes() as usize);
    assert_eq!((item, in_file.in_file().unwrap()), (21, in_file));
    let one = |i: usize| {
        let i = i16::try_from(i).unwrap();
        [
            &[u8::from(i % 3 == 0)][..],
            &(f64::from(i) / 4.0).to_ne_bytes(),
            &i.to_ne_bytes(),
            &(-i).to_ne_bytes(),
            &(i64::from(i) * 1000).to_ne_bytes(),
        ]
        .concat()
    };
    let all: Vec<u8> = (0..n).flat_map(one).collect();
    for layout in [
        Layout::Contiguous,
        Layout::Chunked { shape: Some(vec![77]), text: false },
        Layout::Auto { shape: None },
    ] {
        let mut dataset = Dataset::new("particles", DataType::Struct(in_file), [n as u64]);
        dataset.layout = layout;
        let mut file = Writer::create(Solo, &packed, b"", &options()).unwrap();
        file.dataset(&dataset, &[IndexBox::all(&dataset.shape)], &all).unwrap();
        file.close().unwrap();
        run_on_threads(4, |comm| {
            let (start, end) = (n * comm.rank() / 4, n * (comm.rank() + 1) / 4);
            let mut memory = vec![0xE5; 40 * (end - start)];
            for (place, i) in memory.chunks_mut(40).zip(start..end) {
                let bytes = one(i);
                place[5] = bytes[0];
                place[8..16].copy_from_slice(&bytes[1..9]);
                place[0..4].copy_from_slice(&bytes[9..13]);
                place[24..32].copy_from_slice(&bytes[13..21]);
            }
            let region = [IndexBox::new([start as u64], [(end - start) as u64])];
            let memory = Memory::packed(&memory).of_type(with_gaps);
            let mut file = Writer::create(comm, &path, b"", &options()).unwrap();
            file.dataset(&dataset, &region, Data::Boxes(&[memory])).unwrap();
            file.close().unwrap();
        });
        assert!(std::fs::read(&packed).unwrap() == std::fs::read(&path).unwrap(), "{:?}", dataset.layout);
        run_on_threads(3, |comm| {
            let (start, end) = (n * comm.rank() / 3, n * (comm.rank() + 1) / 3);
            let region = [IndexBox::new([start as u64], [(end - start) as u64])];
            let mut room = vec![0xE5; 12 * (end - start)];
            let mut file = Reader::open(comm, &path, &options()).unwrap();
            let found = file.dataset_record("particles", 0).unwrap().unwrap();
            assert_eq!(found.data_type, DataType::Struct(in_file));
            let into = MemoryMut::packed(&mut room).of_type(few);
            found.read(&mut file, &region, DataMut::Boxes(vec![into])).unwrap();
            for (place, i) in room.chunks(12).zip(start..end) {
                let expected = [&(i as f32 / 4.0).to_ne_bytes()[..], &one(i)[9..13], &[0xE5; 4]].concat();
                assert_eq!(place, expected);
            }
        });
    }
    // A bool in a struct is one, too.
    let mut wrong = all.clone();
    wrong[21 * 70] = 2;
    let dataset = Dataset::new("particles", DataType::Struct(in_file), [n as u64]);
    let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
    let error = file.dataset(&dataset, &[IndexBox::all(&dataset.shape)], &wrong).unwrap_err();
    assert!(error.to_string().contains("found the bool 2 at item 70"), "{error}");
    // Members that are not there.
    let other = DataType::Struct(Struct::packed([("y", DataType::Float64)]).unwrap());
    let mut file = Reader::open(Solo, &packed, &options()).unwrap();
    let found = file.dataset_record("particles", 0).unwrap().unwrap();
    let mut room = vec![0; 8 * n];
    let into = MemoryMut::packed(&mut room).of_type(other);
    let error = found.read(&mut file, &[IndexBox::all(&[n as u64])], DataMut::Boxes(vec![into])).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Argument && error.to_string().contains("no member \"y\" of"),
        "{error}"
    );
}
