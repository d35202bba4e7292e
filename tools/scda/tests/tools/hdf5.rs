//! Files that are HDF5 files as well.

use crate::run::{Place, with_sections};
use scda::{DataType, Dataset, IndexBox, ReadOptions, Reader, Solo, SuperblockState, WriteOptions, Writer};

/// A file with room for a superblock, and so many steps, each closed by itself.
fn series(place: &Place, name: &str, steps: u8) {
    let mut params = WriteOptions::default();
    (params.seal, params.hdf5) = (true, true);
    for step in 0..steps {
        let mut writer = match step {
            0 => Writer::create(Solo, &place.path(name), b"series", &params).unwrap(),
            _ => Writer::append(Solo, &place.path(name), &params).unwrap(),
        };
        writer.dataset(&Dataset::new("u", DataType::Uint8, [3]), &[IndexBox::all(&[3])], &[step; 3]).unwrap();
        writer.close().unwrap();
    }
}

/// The offsets of the root group and of the end of the file, as HDF5 finds them.
fn superblock(place: &Place, name: &str) -> Option<(u64, u64)> {
    let mut reader = Reader::open(Solo, &place.path(name), &ReadOptions::default()).unwrap();
    match reader.superblock().unwrap() {
        Some(SuperblockState::View(found)) => Some((found.root, found.end)),
        _ => None,
    }
}

#[test]
fn commands_show_and_write_views() {
    let place = Place::new();
    series(&place, "a.scda", 3);
    let first =
        |name: &str| place.scda(&format!("ls {name}")).good().text().lines().next().unwrap().to_owned();
    assert!(first("a.scda").ends_with(", sealed: 3 seals, HDF5"), "{}", first("a.scda"));
    let run = place.scda("check --json a.scda").good().json();
    assert_eq!((&run["valid"], run["notes"].is_null()), (&true.into(), true), "{run}");
    // A copy has a view of its own, or none.
    place.scda("copy a.scda b.scda").good();
    place.scda("check b.scda").good();
    assert!(superblock(&place, "b.scda").is_some());
    place.scda("copy --no-hdf5 a.scda c.scda").good();
    place.scda("hdf5 c.scda").bad(2, "scda copy --hdf5 writes a copy that has");
    place.scda("copy --hdf5 c.scda d.scda").good();
    assert!(place.read("d.scda") == place.read("b.scda"));
    // What a killed job has committed is sealed, and HDF5 does not show it yet.
    let mut writer = Writer::append(Solo, &place.path("a.scda"), &WriteOptions::default()).unwrap();
    writer.dataset(&Dataset::new("u", DataType::Uint8, [3]), &[IndexBox::all(&[3])], &[9; 3]).unwrap();
    writer.commit().unwrap();
    writer.forget();
    assert!(first("a.scda").ends_with(", sealed: 4 seals, HDF5 as of seal 3"), "{}", first("a.scda"));
    let run = place.scda("check --json a.scda").good().json();
    assert_eq!(run["valid"], true);
    assert!(run["notes"][0]["message"].as_str().unwrap().contains("as of seal 3 of 4"), "{run}");
    place.scda("hdf5 a.scda").good();
    assert!(first("a.scda").ends_with(", sealed: 5 seals, HDF5"), "{}", first("a.scda"));
    place.scda("check --strict a.scda").good();
    // Back to a seal.
    let before = place.read("a.scda");
    place.scda("rewind --force a.scda 2").good();
    let (_, end) = superblock(&place, "a.scda").unwrap();
    assert_eq!(end, place.read("a.scda").len() as u64);
    place.scda("check a.scda").good();
    place.write("a.scda", &before);
    // Each byte that another program has changed there is wrong, or such that HDF5 finds nothing.
    let mut torn = before.clone();
    torn[540] ^= 1;
    place.write("a.scda", &torn);
    let run = place.scda("check --json a.scda").good().json();
    assert!(run["notes"][0]["message"].as_str().unwrap().contains("was not written whole"), "{run}");
    place.write("a.scda", &before);
    let mut reader = Reader::open(Solo, &place.path("a.scda"), &ReadOptions::default()).unwrap();
    let Ok(Some(SuperblockState::View(mut other))) = reader.superblock() else { panic!("no superblock") };
    other.end -= 32;
    let mut wrong = before.clone();
    wrong[512..560].copy_from_slice(&other.to_bytes().unwrap());
    place.write("a.scda", &wrong);
    let run = place.scda("check --json a.scda");
    assert!(run.code == 1 && run.text().contains("expected the end of a seal"), "{run:?}");
    // Attributes are seen.
    place.write("a.scda", &before);
    place.scda("attr a.scda u units='\"m\"'").good();
    place.scda("check a.scda").good();
    assert!(superblock(&place, "a.scda").unwrap().0 > before.len() as u64);
    with_sections(&place, "plain.scda");
    place.scda("hdf5 plain.scda").bad(2, "has no room");
    // A salvaged file has a view, too.
    place.write("a.scda", &before);
    place.scda("salvage a.scda saved.scda").good();
    place.scda("check saved.scda").good();
    assert!(superblock(&place, "saved.scda").is_some());
}
