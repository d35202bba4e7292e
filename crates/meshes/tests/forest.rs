#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // test data
//! A forest on several ranks: the same bytes by any number of them, read by any other.

use scda::{
    Collective, DataType, Dataset, ErrorKind, ReadOptions, Reader, Result, ThreadComm, WriteOptions, Writer,
    run_on_threads,
};
use scda_format::meshes::checksum::{Checksum, term};
use scda_meshes::forest::fields::{self, FieldType};
use scda_meshes::forest::read::{self, Distribution, ReadRequest};
use scda_meshes::forest::write::{self, Arrays, Connectivity};
use scda_meshes::forest::{Forest, GROUP};
use scda_meshes::{MeshNotes, steps};
use std::path::Path;

const HALF: i32 = 1 << 29;
/// Two squares side by side, the first one refined once: of each quadrant its tree, its level, and its corner.
const QUADRANTS: [(u64, u8, [i32; 2]); 5] =
    [(0, 1, [0, 0]), (0, 1, [HALF, 0]), (0, 1, [0, HALF]), (0, 1, [HALF, HALF]), (1, 0, [0, 0])];

fn bytes<const N: usize>(numbers: impl IntoIterator<Item = [u8; N]>) -> Vec<u8> {
    numbers.into_iter().flatten().collect()
}

/// The forest of a rank that has an equal share, with levels that are `finer` than they should be.
fn forest(rank: u64, size: u64, finer: u8) -> (Forest<'static>, Vec<u8>, Vec<u8>) {
    let (first, end) = (5 * rank / size, 5 * (rank + 1) / size);
    let own = &QUADRANTS[first as usize..end as usize];
    let terms =
        (0..).zip(QUADRANTS).map(|(number, (tree, level, _))| term(number, tree, (level + finer).into()));
    let checksum = terms.fold(Checksum::default(), Checksum::and);
    let forest =
        Forest { dimension: 2, trees: 2, quadrants: 5, first, n: end - first, checksum, ..Forest::default() };
    let corners = bytes(own.iter().flat_map(|(.., corner)| corner.map(i32::to_ne_bytes)));
    (forest, corners, own.iter().map(|(_, level, _)| level + finer).collect())
}

fn write(comm: ThreadComm, path: &Path, finer: u8) -> Result<()> {
    let mut file = Writer::create(comm, path, b"forest", &WriteOptions::default())?;
    let (forest, coordinates, level) = forest(file.rank() as u64, file.size() as u64, finer);
    let tree_offsets = bytes([0, 4, 5].map(i64::to_ne_bytes));
    let tree_to_tree = bytes([0, 1, 0, 0, 0, 1, 1, 1].map(i32::to_ne_bytes));
    let tree_to_face = bytes([0, 0, 2, 3, 1, 1, 2, 3].map(i8::to_ne_bytes));
    let connectivity =
        Connectivity { tree_to_tree: &tree_to_tree, tree_to_face: &tree_to_face, ..Connectivity::default() };
    let (data_bytes, data) = (1, &level);
    let (coordinates, level, tree_offsets) = (&*coordinates, &*level, &*tree_offsets);
    let arrays =
        Arrays { coordinates, level, tree_offsets, data_bytes, data, connectivity, ..Arrays::default() };
    let mut notes = MeshNotes::new();
    assert!(write::write_step(&mut file, &mut notes, GROUP, &forest, (0.5, Ok("{}".into())), Ok(arrays))?);
    write::write(&mut file, &mut notes, GROUP, &forest, write::MESH_PARTS | write::DATA, Ok(arrays))?;
    assert!(!write::write_step(&mut file, &mut notes, GROUP, &forest, (1.5, Ok("{}".into())), Ok(arrays))?);
    let what = Dataset::new("level", DataType::Uint8, []);
    let (dataset, regions) = fields::write(&mut file, &mut notes, GROUP, &forest, Ok(&what))?;
    file.dataset(&dataset, &regions, level)?;
    let what = Dataset::new("twice", DataType::Uint8, []);
    let counts = bytes((0..forest.n).map(|_| 2_i64.to_ne_bytes()));
    let twice: Vec<u8> = level.iter().flat_map(|level| [*level; 2]).collect();
    let parts = fields::write_ragged(&mut file, &mut notes, GROUP, &forest, Ok(&what), Ok(&counts))?;
    for ((dataset, regions), bytes) in parts.iter().zip([&counts, &twice]) {
        file.dataset(dataset, regions, bytes)?;
    }
    let other = Forest { checksum: Checksum(1), ..forest };
    let refused = fields::write(&mut file, &mut notes, GROUP, &other, Ok(&what)).unwrap_err();
    assert!(refused.to_string().contains("call scda_forest_write when the mesh has changed"), "{refused}");
    Ok(())
}

fn written(path: &Path, size: usize, finer: u8) -> Vec<u8> {
    run_on_threads(size, |comm| write(comm, path, finer).unwrap());
    std::fs::read(path).unwrap()
}

fn wanted(distribution: Distribution<'_>) -> ReadRequest<'_> {
    ReadRequest { dimension: 2, finest: 29, unit: 30, data_bytes: 1, distribution }
}

fn read(comm: ThreadComm, path: &Path) -> Result<()> {
    let mut file = Reader::open(comm, path, &ReadOptions::default())?;
    let (rank, size) = (file.rank(), file.size());
    let mut last = vec![0; size];
    last.push(5);
    for distribution in [Distribution::Uniform, Distribution::Explicit(&last)] {
        let found = read::read(&mut file, GROUP, 0, &wanted(distribution))?;
        let own = found.first_quadrant[rank] as usize..found.first_quadrant[rank + 1] as usize;
        let packed = QUADRANTS[own.clone()].iter().flat_map(|(_, level, [x, y])| [*x, *y, i32::from(*level)]);
        assert_eq!(found.packed, packed.collect::<Vec<_>>());
        let levels: Vec<u8> = QUADRANTS[own.clone()].iter().map(|(_, level, _)| *level).collect();
        assert_eq!((&found.data, found.trees, found.quadrants), (&levels, 2, 5));
        assert_eq!(found.connectivity.tree_to_face, [0, 0, 2, 3, 1, 1, 2, 3]);
        let (first, n) = (own.start as u64, own.len() as u64);
        let checksum = found.checksum;
        let forest = Forest { dimension: 2, trees: 2, quadrants: 5, first, n, checksum, ..Forest::default() };
        let mut counts = vec![0; 8 * own.len()];
        fields::read_counts(&mut file, (GROUP, -1), &forest, Ok("twice"), Ok(&mut counts))?;
        let is_type = |found| found == DataType::Uint8;
        let of = FieldType { is_type: &is_type, type_name: "uint8", components: 1, in_bytes: false };
        let (dataset, regions) =
            fields::find_ragged(&mut file, (GROUP, 1), &forest, Ok("twice"), &of, Ok(&counts))?;
        let mut twice = vec![9; 2 * own.len()];
        dataset.read(&mut file, &regions, &mut twice)?;
        assert!(twice.chunks(2).zip(&levels).all(|(found, level)| found == [*level; 2]));
        let (dataset, regions) = fields::find(&mut file, (GROUP, 1), &forest, Ok("level"), &of)?;
        let mut found = vec![9; own.len()];
        dataset.read(&mut file, &regions, &mut found)?;
        assert_eq!(found, levels);
    }
    assert_eq!(steps::field(&mut file, GROUP, 0, Ok("level"))?, None);
    let short = vec![0; size + 1];
    let refused = read::read(&mut file, GROUP, 0, &wanted(Distribution::Explicit(&short))).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Argument);
    Ok(())
}

#[test]
fn any_ranks_write_the_same_bytes_and_read_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let expected = written(&path("one"), 1, 0);
    for size in 1..=4 {
        assert!(written(&path("some"), size, 0) == expected, "{size}");
        run_on_threads(size, |comm| read(comm, &path("one")).unwrap());
    }
}

#[test]
fn quadrants_that_do_not_fill_their_tree_are_an_error_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("finer");
    written(&path, 2, 1);
    for size in 1..=3 {
        let errors = run_on_threads(size, |comm| {
            let mut file = Reader::open(comm, &path, &ReadOptions::default()).unwrap();
            read::read(&mut file, GROUP, -1, &wanted(Distribution::Uniform)).unwrap_err()
        });
        assert!(errors.iter().all(|error| error.kind() == ErrorKind::Format));
        assert!(errors.iter().all(|error| error.to_string().contains("quadrant 1, in tree 0")), "{errors:?}");
    }
}
