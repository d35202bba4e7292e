#![allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // test data
//! Patches and particles on several ranks: the same bytes by any number of them, read by any other.

use scda::{
    Collective, Data, DataMut, DataType, Dataset, Memory, MemoryMut, ReadOptions, Reader, ThreadComm,
    WriteOptions, Writer, run_on_threads,
};
use scda_format::meshes::patches::Frame;
use scda_meshes::particles::{self, OwnCells};
use scda_meshes::patches::{self, FieldMemory, OwnPatches};
use scda_meshes::{MeshNotes, steps};
use std::path::Path;

/// Of each patch its level, its first cell, and its number of cells: two on level 0, the first of which is refined
/// twice.
const PATCHES: [(i32, i64, i64); 4] = [(0, -2, 4), (0, 2, 3), (1, -4, 2), (1, 0, 4)];

fn frame() -> Frame {
    Frame { dimension: 1, ratio: vec![1, 2], domain: vec![-2, 7], geometry: vec![0.5, 0.25] }
}

/// The patches of a rank, if they are dealt out.
fn own(rank: usize, size: usize) -> Vec<u64> {
    (0..4).filter(|number| (number + 1) % size == rank).map(|number| number as u64).collect()
}

fn values(number: u64) -> Vec<u8> {
    let (_, first, n) = PATCHES[usize::try_from(number).unwrap()];
    (first..first + n).flat_map(|cell| (cell as f64 + 100.0 * number as f64).to_ne_bytes()).collect()
}

const MEMORY: FieldMemory =
    FieldMemory { data_type: DataType::Float64, components: 1, ghost: 0, cell_bytes: 0 };

fn write(comm: ThreadComm, path: &Path, dealt: bool) -> scda::Result<()> {
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::create(comm, path, b"meshes", &params)?;
    let (rank, size, mut notes) = (file.rank(), file.size(), MeshNotes::new());
    let share = |rank: usize| 4 * rank / size;
    let numbers: Vec<u64> =
        if dealt { own(rank, size) } else { (share(rank)..share(rank + 1)).map(|n| n as u64).collect() };
    let of = |number: &u64| PATCHES[*number as usize];
    let level: Vec<i32> = numbers.iter().map(|number| of(number).0).collect();
    let boxes: Vec<i64> = numbers.iter().flat_map(|number| [of(number).1, of(number).2]).collect();
    steps::write_time(&mut file, &mut notes, "patches", 0.5, Ok("{\"units\":\"s\"}".into()))?;
    let mine = OwnPatches { level: &level, boxes: &boxes, number: dealt.then_some(&numbers) };
    let mesh = patches::write(&mut file, &mut notes, "patches", frame(), Ok(mine))?;
    assert_eq!((mesh.patches, mesh.cells), (4, 13));
    let rho = Dataset::new("rho", DataType::Float64, []);
    let data: Vec<_> = numbers.iter().map(|&number| values(number)).collect();
    let places: Vec<_> = numbers.iter().map(|&number| mesh.memory(number, MEMORY).unwrap()).collect();
    let memory = data.iter().zip(&places);
    let memory: Vec<_> =
        memory.map(|(data, at)| Memory::strided(data, at.first, &at.strides).shaped(&at.shape)).collect();
    let fields = [(rho, 1)];
    for (dataset, boxes) in patches::fields(&mut file, &mut notes, "patches", &mesh, &numbers, Ok(&fields))? {
        file.dataset(&dataset, &boxes, Data::Boxes(&memory))?;
    }

    let counts: Vec<i64> = numbers.iter().map(|&number| number.cast_signed() % 3).collect();
    let cells = OwnCells { counts: &counts, number: dealt.then_some(&numbers), without_cells: 0 };
    let found = particles::write(&mut file, &mut notes, "particles", Some("patches"), Ok(cells))?;
    let ids: Vec<u8> = numbers
        .iter()
        .flat_map(|&number| vec![u8::try_from(number).unwrap(); (number % 3) as usize])
        .collect();
    let id = Dataset::new("id", DataType::Uint8, []);
    let (id, boxes) = particles::field(&mut file, &mut notes, "particles", &found, &id)?;
    file.dataset(&id, &boxes, &ids)?;
    file.close()
}

fn read(comm: ThreadComm, path: &Path) -> scda::Result<()> {
    let mut file = Reader::open(comm, path, &ReadOptions::default())?;
    assert_eq!((steps::count(&mut file, "patches")?, steps::read_time(&mut file, "patches", -1)?), (1, 0.5));
    assert_eq!(steps::count(&mut file, "others")?, 0);
    let mesh = patches::read(&mut file, "patches", 0)?;
    let numbers = own(file.rank(), file.size());
    let data = read_as(&mut file, &mesh, &numbers, DataType::Float64)?;
    assert!(numbers.iter().zip(&data).all(|(&number, data)| *data == values(number)));
    let converted = read_as(&mut file, &mesh, &numbers, DataType::Float32)?;
    for (&number, found) in numbers.iter().zip(&converted) {
        let expected = values(number);
        let expected = expected.as_chunks().0.iter().map(|&bytes| f64::from_ne_bytes(bytes));
        assert!(found.as_chunks().0.iter().map(|&bytes| f64::from(f32::from_ne_bytes(bytes))).eq(expected));
    }

    let found = particles::read(&mut file, "particles", -1, Some(numbers.len() as u64), Ok(Some(&numbers)))?;
    let mut ids = vec![9; found.n as usize];
    let id = Dataset::new("id", DataType::Uint8, []);
    let (dataset, boxes) = particles::find_field(&mut file, "particles", -1, &found, &id)?;
    dataset.read(&mut file, &boxes, &mut ids)?;
    let expected: Vec<u8> =
        numbers.iter().flat_map(|&number| vec![number as u8; (number % 3) as usize]).collect();
    assert_eq!(ids, expected);
    let shared = particles::read(&mut file, "particles", -1, None, Ok(None))?;
    assert_eq!((shared.particles, shared.all_cells), (3, 4));
    let refused = read_as(&mut file, &mesh, &numbers, DataType::Bool).unwrap_err();
    assert!(refused.to_string().contains("cannot be converted"), "{refused}");
    Ok(())
}

/// Reads the field into memory of another type.
fn read_as(
    file: &mut Reader,
    mesh: &patches::Patches,
    numbers: &[u64],
    data_type: DataType,
) -> scda::Result<Vec<Vec<u8>>> {
    let layout = FieldMemory { data_type, ..MEMORY };
    let bytes = data_type.item_bytes() as usize;
    let places: Vec<_> = numbers.iter().map(|&number| mesh.memory(number, layout).unwrap()).collect();
    let mut data: Vec<_> = numbers.iter().map(|&number| vec![0; values(number).len() / 8 * bytes]).collect();
    let memory = data.iter_mut().zip(&places);
    let memory = memory.map(|(data, at)| {
        MemoryMut::strided(data, at.first, &at.strides).shaped(&at.shape).of_type(data_type)
    });
    let memory = memory.collect();
    let fields = [(Dataset::new("rho", data_type, []), 1)];
    let found = patches::find_fields(file, "patches", 0, mesh, numbers, Ok(&fields))?;
    found[0].0.read(file, &found[0].1, DataMut::Boxes(memory))?;
    Ok(data)
}

#[test]
fn any_ranks_write_the_same_bytes_and_read_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    run_on_threads(1, |comm| write(comm, &path("one"), false).unwrap());
    let expected = std::fs::read(path("one")).unwrap();
    for size in 1..=5 {
        for dealt in [false, true] {
            let name = path(&format!("{size}-{dealt}"));
            run_on_threads(size, |comm| write(comm, &name, dealt).unwrap());
            assert!(std::fs::read(&name).unwrap() == expected, "{size} {dealt}");
        }
        run_on_threads(size, |comm| read(comm, &path("one")).unwrap());
    }
}

#[test]
fn an_error_of_one_rank_is_one_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong");
    type Change = fn(&mut Vec<i64>, &mut Vec<u64>);
    let cases: [(Change, &str); 3] = [
        (
            |boxes, _| boxes[0] = -3,
            "patches/boxes: patch 0: found 4 cells from -3 on axis 0, expected cells inside the domain",
        ),
        (|boxes, _| boxes.truncate(1), "patches: boxes: found 1 numbers, expected 2, 2 for each patch"),
        (|_, numbers| numbers[0] = 1, "patches: found number 1, expected each number below 2 once"),
    ];
    for (change, words) in cases {
        run_on_threads(3, |comm| {
            let mut file = Writer::create(comm, &path, b"", &WriteOptions::default()).unwrap();
            let (mut boxes, mut numbers, rank) = (vec![-2, 4], vec![0], file.rank());
            match rank {
                0 => change(&mut boxes, &mut numbers),
                1 => (boxes, numbers) = (vec![2, 3], vec![1]),
                _ => (boxes, numbers) = (vec![], vec![]),
            }
            let level = vec![0; usize::from(rank < 2)];
            let own = OwnPatches { level: &level, boxes: &boxes, number: (rank < 2).then_some(&numbers) };
            let found = patches::write(&mut file, &mut MeshNotes::new(), "patches", frame(), Ok(own));
            let found = found.map(|_| ()).unwrap_err().to_string();
            assert!(found.contains(words), "rank {rank}: {found}");
        });
    }
}

#[test]
fn cells_have_a_positive_finite_size() {
    for size in [f64::INFINITY, f64::NAN, 0.0, -1.0] {
        let wrong = Frame { geometry: vec![0.5, size], ..frame() }.check().unwrap_err();
        let error = wrong.error(scda::ErrorKind::Argument, "patches").to_string();
        let expected = format!("found cells of size {size}, expected a positive, finite number");
        assert!(error.contains(&expected), "{error}");
    }
    for size in [f64::MIN_POSITIVE, f64::MAX] {
        assert!(Frame { geometry: vec![0.5, size], ..frame() }.check().is_ok());
    }
}
