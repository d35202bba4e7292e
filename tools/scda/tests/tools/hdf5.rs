//! Files that are HDF5 files as well.

use crate::run::{Place, with_sections};
use scda::{
    DataType, Dataset, IndexBox, Layout, ReadOptions, Reader, Solo, SuperblockState, WriteOptions, Writer,
};
use scda_format::crc;
use scda_format::hdf5::{BLOCK_HEAD_BYTES, VIEW, VIEW_TAIL_BYTES, view_section};
use scda_format::padding::LineBreak;
use scda_hdf5::{Outline, Previous};

/// A file with room for a superblock, and so many steps, each closed by itself.
fn series(place: &Place, name: &str, steps: u8) {
    let mut params = WriteOptions::default();
    params.seal = true;
    for step in 0..steps {
        let mut writer = match step {
            0 => Writer::create(Solo, place.path(name), b"series", &params).unwrap(),
            _ => Writer::append(Solo, place.path(name), &params).unwrap(),
        };
        writer.dataset(&Dataset::new("u", DataType::Uint8, [3]), &[IndexBox::all(&[3])], &[step; 3]).unwrap();
        writer.close().unwrap();
    }
}

/// The offsets of the root group and of the end of the file, as HDF5 finds them.
fn superblock(place: &Place, name: &str) -> Option<(u64, u64)> {
    let mut reader = Reader::open(Solo, place.path(name), &ReadOptions::default()).unwrap();
    match reader.inspect().superblock().unwrap() {
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
    place.scda("hdf5 c.scda").bad(2, "scda copy --hdf5 makes a copy that has room");
    place.scda("copy --hdf5 c.scda d.scda").good();
    assert!(place.read("d.scda") == place.read("b.scda"));
    // What a killed job has committed is sealed, and HDF5 does not show it yet.
    let mut writer = Writer::append(Solo, place.path("a.scda"), &WriteOptions::default()).unwrap();
    writer.dataset(&Dataset::new("u", DataType::Uint8, [3]), &[IndexBox::all(&[3])], &[9; 3]).unwrap();
    writer.commit().unwrap();
    writer.forget();
    assert!(first("a.scda").ends_with(", sealed: 4 seals, HDF5 as of seal 3"), "{}", first("a.scda"));
    let run = place.scda("check --json a.scda").good().json();
    assert_eq!(run["valid"], true);
    assert!(run["notes"][0]["message"].as_str().unwrap().contains("as of seal 3 of 4"), "{run}");
    let run = place.scda("check a.scda").good();
    assert!(run.text().contains("a.scda: note: HDF5: other programs"), "{run:?}");
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
    let run = place.scda("check a.scda").bad(1, "");
    let words = format!(
        "header of the file: byte 540: superblock of HDF5: found {:#04x}, expected {:#04x}, so other programs",
        torn[540], before[540]
    );
    assert!(run.text().contains(&words) && run.text().contains("sections are intact"), "{run:?}");
    place.scda("hdf5 a.scda").good();
    assert_eq!(place.read("a.scda"), before);
    place.write("a.scda", &before);
    let mut reader = Reader::open(Solo, place.path("a.scda"), &ReadOptions::default()).unwrap();
    let Ok(Some(SuperblockState::View(mut other))) = reader.inspect().superblock() else {
        panic!("no superblock")
    };
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
    // What HDF5 does not show.
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut writer = Writer::create(Solo, place.path("t.scda"), b"", &params).unwrap();
    for n in 0..7 {
        let mut dataset = Dataset::new(format!("t{n}"), DataType::Uint8, [9]);
        dataset.layout = Layout::Chunked { shape: Some(vec![9]), text: true };
        writer.dataset(&dataset, &[IndexBox::all(&[9])], &[n; 9]).unwrap();
    }
    writer.close().unwrap();
    let hidden = "not shown by HDF5: t0, t1, t2, t3, t4 and 2 more: compressed as text\n";
    let listed = place.scda("ls t.scda").good();
    assert!(listed.text().contains(&format!("\n{hidden}")), "{listed:?}");
    let run = place.scda("check t.scda").good();
    assert!(run.text().ends_with(&format!("t.scda: note: {hidden}")), "{run:?}");
    let run = place.scda("check --json t.scda").good().json();
    assert_eq!((&run["valid"], run["notes"][0]["message"].as_str()), (&true.into(), Some(hidden.trim_end())));
    // A salvaged file has a view, too.
    place.write("a.scda", &before);
    place.scda("salvage a.scda saved.scda").good();
    place.scda("check saved.scda").good();
    assert!(superblock(&place, "saved.scda").is_some());
}

/// Where a text begins for the first time.
fn find(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).position(|found| found == what).unwrap()
}

/// Where the section with the last view of a file begins.
fn last_view(bytes: &[u8]) -> usize {
    let view = bytes.windows(VIEW.len()).rposition(|found| found == VIEW).unwrap();
    bytes[..view].iter().rposition(|&byte| byte == b'\n').unwrap() + 1
}

/// Gives the section of a view the checksum of what is there.
fn mend_view(bytes: &mut [u8], view: usize, root: u64) {
    let size = String::from_utf8(bytes[view + 64..view + BLOCK_HEAD_BYTES].to_vec()).unwrap();
    let size: usize = size.split(' ').nth(1).unwrap().parse().unwrap();
    let objects = view + BLOCK_HEAD_BYTES..view + BLOCK_HEAD_BYTES + size - 64;
    let section = view_section(&bytes[objects.clone()], root, LineBreak::Unix).unwrap();
    assert!(objects.end + VIEW_TAIL_BYTES == view + section.len());
    bytes[view..view + section.len()].copy_from_slice(&section);
}

/// The outline of a view is sealed, and its own checksum is right, but the file has other datasets.
#[test]
fn a_wrong_outline_is_found() {
    let place = Place::new();
    series(&place, "a.scda", 5);
    place.scda("check --strict a.scda").good();
    let mut bytes = place.read("a.scda");
    let (root, end) = superblock(&place, "a.scda").unwrap();
    let mut read = |offset: u64, to: &mut [u8]| {
        let at = usize::try_from(offset).unwrap();
        to.copy_from_slice(&bytes[at..at + to.len()]);
        Ok(())
    };
    let mut outline = Outline::read(Previous { root, read: &mut read }, end).unwrap().unwrap();
    let at = find(&bytes, &outline.extents);
    // Each byte but those of the checksum.
    let sum = outline.extents.len() - 8;
    for place_of in 0..sum {
        outline.extents[place_of] ^= 1;
        let found = crc::extend(crc::of(&outline.constants), &outline.extents[..sum]);
        outline.extents[sum..].copy_from_slice(&found.to_le_bytes());
        bytes[at..at + outline.extents.len()].copy_from_slice(&outline.extents);
        outline.extents[place_of] ^= 1;
        let view = last_view(&bytes);
        mend_view(&mut bytes, view, root);
        place.write("b.scda", &bytes);
        let run = place.scda("check b.scda");
        assert!(run.code == 1 && run.text().contains("another outline"), "{place_of}: {run:?}");
    }
}

/// The view of a file is sealed, but leads to bytes that are no data: what another program than libscda has written.
#[test]
fn a_wrong_view_is_found() {
    let place = Place::new();
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut writer = Writer::create(Solo, place.path("a.scda"), b"", &params).unwrap();
    let dataset = Dataset::new("u", DataType::Uint8, [77]);
    writer.dataset(&dataset, &[IndexBox::all(&[77])], &[b'x'; 77]).unwrap();
    writer.close().unwrap();
    place.scda("check --strict a.scda").good();
    let (root, _) = superblock(&place, "a.scda").unwrap();
    let mut bytes = place.read("a.scda");
    let data = find(&bytes, &[b'x'; 77]) as u64;
    let view = last_view(&bytes);
    let address = view + find(&bytes[view..], &(data - 512).to_le_bytes());
    bytes[address] += 8;
    // HDF5's checksum of the object header, and the one of scda.
    let header = view + bytes[view..address].windows(4).rposition(|four| four == b"OHDR").unwrap();
    let end = header + 7 + usize::from(bytes[header + 6]);
    assert_eq!(bytes[header + 5], 0, "a header of less than 256 bytes");
    let sum = scda_hdf5::checksum(&bytes[header..end]);
    bytes[end..end + 4].copy_from_slice(&sum.to_le_bytes());
    mend_view(&mut bytes, view, root);
    place.write("b.scda", &bytes);
    let run = place.scda("check b.scda");
    assert!(run.code == 1 && run.text().contains("are not data of a section"), "{run:?}");
    // A program for HDF5 that writes changes the superblock: nobody goes on from there.
    let good = place.read("a.scda");
    for (more, root) in [(&b"8 bytes."[..], root), (b"", root - 8)] {
        let mut bytes = [&good, more].concat();
        let superblock = scda_hdf5::Superblock { root, end: bytes.len() as u64 };
        bytes[512..560].copy_from_slice(&superblock.to_bytes().unwrap());
        place.write("b.scda", &bytes);
        let run = place.scda("check b.scda");
        assert!(run.code == 1 && run.text().contains("superblock of HDF5"), "{run:?}");
        let error = Writer::append(Solo, place.path("b.scda"), &WriteOptions::default()).err().unwrap();
        assert!(error.to_string().contains("one that another program has written"), "{error}");
        assert!(place.read("b.scda") == bytes);
    }
}
