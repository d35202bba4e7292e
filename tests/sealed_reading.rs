//! Reading sealed files: the seals are passed over, and nothing else is.
#![allow(clippy::cast_possible_truncation)] // test data

#[path = "common/seal.rs"]
mod seal;

use scda::internals::seal::Seal;
use scda::{Encode, LineBreak, Params, Reader, Solo, Source, Writer, run_on_threads, uniform_partition};
use std::path::Path;

/// The bytes of the file that this writes.
fn written(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut writer = Writer::create(Solo, &path, b"user", &Params::default()).unwrap();
    write(&mut writer);
    writer.close().unwrap();
    std::fs::read(&path).unwrap()
}

/// Sections of every kind, each of a name of its own after `prefix`, with so many elements.
fn write_all_kinds(writer: &mut Writer, prefix: &str, elements: u64) {
    let sizes: Vec<u64> = (0..elements).map(|i| i % 5).collect();
    let data: Vec<u8> = (0..4 * elements).map(|i| (i * i % 251) as u8).collect();
    let varray = &data[..sizes.iter().sum::<u64>() as usize];
    let name = |text: &str| [prefix, text].concat().into_bytes();
    writer.inline(&name("inline"), 0, Some(&[b'x'; 32])).unwrap();
    for (encode, letter) in [(Encode::None, ""), (Encode::Always, "z")] {
        let name = |text: &str| name(&[text, letter].concat());
        let bytes = data.len() as u64;
        writer.block(&name("block"), 0, bytes, Some(&data), encode).unwrap();
        writer.array(&name("array"), &[elements], 4, Source::Contiguous(&data), encode).unwrap();
        let varray = Source::Contiguous(varray);
        writer.varray(&name("varray"), &[elements], &sizes, None, varray, encode).unwrap();
    }
}

/// The file with these sections appended behind it.
fn appended(file: &[u8], write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    [file, &written(write)[128..]].concat()
}

fn seal_of(file: &[u8]) -> u64 {
    file.len() as u64 - 288
}

/// Offsets and user strings of the sections, as any number of ranks find them.
type Walked = Vec<(u64, Vec<u8>)>;

fn walk_on(ranks: usize, path: &Path, params: &Params, decode: bool) -> Walked {
    let mut all = run_on_threads(ranks, |comm| {
        let mut reader = Reader::open(comm, path, params).unwrap();
        let mut found = Vec::new();
        loop {
            let at_end = reader.at_end();
            let Some(section) = reader.next_section(decode).unwrap() else {
                assert!(at_end);
                break;
            };
            assert!(!at_end);
            found.push((section.offset, section.user.to_vec()));
            if section.count % 2 == 1 && section.section_type == scda::SectionType::Varray {
                reader.read_varray_sizes(&uniform_partition(section.count, ranks), None).unwrap();
            }
            reader.skip().unwrap();
        }
        reader.close().unwrap();
        found
    });
    let first = all.remove(0);
    assert!(all.iter().all(|other| *other == first));
    first
}

/// What 1 to 5 ranks find must be the same.
fn walk(file: &[u8]) -> Walked {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, file).unwrap();
    let found = walk_on(1, &path, &Params::default(), true);
    for ranks in 2..=5 {
        assert_eq!(walk_on(ranks, &path, &Params::default(), true), found, "{ranks} ranks");
    }
    found
}

fn raw_walk(file: &[u8]) -> Walked {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, file).unwrap();
    let mut params = Params::default();
    params.raw = true;
    walk_on(2, &path, &params, true)
}

fn names(walked: &Walked) -> Vec<String> {
    walked.iter().map(|(_, user)| String::from_utf8_lossy(user).into_owned()).collect()
}

/// A file of three seals, with anchors if there are enough elements; and the same sections without seals.
fn three_seals(elements: u64, style: LineBreak) -> (Vec<u8>, Vec<String>) {
    let first = seal::sealed(&written(|w| write_all_kinds(w, "1", elements)), 0, style);
    let second = appended(&first, |w| write_all_kinds(w, "2", 3));
    let second = seal::sealed(&second, seal_of(&first), style);
    let third = appended(&second, |w| write_all_kinds(w, "3", elements));
    let plain = written(|w| {
        write_all_kinds(w, "1", elements);
        write_all_kinds(w, "2", 3);
        write_all_kinds(w, "3", elements);
    });
    (seal::sealed(&third, seal_of(&second), style), names(&walk(&plain)))
}

#[test]
fn seals_are_no_sections() {
    for (elements, style) in [(5, LineBreak::Unix), (8193, LineBreak::Mime), (4097, LineBreak::Unix)] {
        let (file, expected) = three_seals(elements, style);
        assert_eq!(names(&walk(&file)), expected);
        let seals = if elements > 4096 { 3 + 3 + 2 } else { 3 + 3 };
        assert_eq!(raw_walk(&file).len(), expected.len() + seals);
        // A file of no sections, and a seal of none.
        let empty = seal::sealed(&written(|_| {}), 0, style);
        assert!(walk(&empty).is_empty());
        let twice = seal::sealed(&file, seal_of(&file), style);
        assert_eq!(names(&walk(&twice)), expected);
    }
}

#[test]
fn a_torn_tail_leaves_the_seals_before_it() {
    let (file, expected) = three_seals(5, LineBreak::Unix);
    let raw = raw_walk(&file);
    // At the end of each section the file can end, sealed or not.
    for (place, (offset, name)) in raw.iter().enumerate() {
        let cut = walk(&file[..*offset as usize]);
        let before: Vec<&Vec<u8>> = raw[..place].iter().map(|(_, user)| user).collect();
        // The seals that are whole, of two sections each, are not shown; of a torn one the index is.
        let seals = before.iter().filter(|user| user.starts_with(b"scda seal")).count();
        assert_eq!(cut.len(), before.len() - 2 * seals, "{place} {name:?}");
    }
    let cut = &file[..file.len() - 32];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, cut).unwrap();
    for ranks in [1, 3] {
        let shown = run_on_threads(ranks, |comm| {
            let mut reader = Reader::open(comm, &path, &Params::default()).unwrap();
            let mut shown = 0;
            loop {
                match reader.next_section(true) {
                    Ok(section) => assert!(section.is_some()),
                    Err(error) => break (shown, error.kind()),
                }
                reader.skip().unwrap();
                shown += 1;
            }
        });
        // The index is shown, its seal is cut.
        assert!(shown.iter().all(|end| *end == (expected.len() + 1, scda::ErrorKind::ShortFile)));
    }
}

/// Sections of a user that look like parts of a seal.
#[test]
fn what_is_no_seal_is_shown() {
    let style = LineBreak::Unix;
    let decoys = |w: &mut Writer| {
        let entry = seal::entry('O', 128, style);
        let user = [entry.clone(), entry.clone()].concat();
        w.array(b"scda anchors 00", &[2], 32, Source::Contiguous(&user), Encode::None).unwrap();
        w.array(b"scda index 00", &[1], 256, Source::Contiguous(&[b'r'; 256]), Encode::None).unwrap();
        w.block(b"scda seal 00", 0, 160, Some(&[b's'; 160]), Encode::None).unwrap();
        w.block(b"scda seal 00", 0, 160, Some(&user.repeat(3)[..160]), Encode::Always).unwrap();
        w.array(b"scda index 00", &[3], 4, Source::Contiguous(&[b'r'; 12]), Encode::None).unwrap();
        w.array(b"scda index 00", &[1], 256, Source::Contiguous(&[b'r'; 256]), Encode::None).unwrap();
        w.array(b"scda anchors 00", &[2], 32, Source::Contiguous(&user), Encode::None).unwrap();
    };
    let plain = written(decoys);
    assert_eq!(walk(&plain).len(), 7);
    let sealed = seal::sealed(&plain, 0, style);
    // The last one stands right before the index, where anchors would, but has a row.
    assert_eq!(walk(&sealed).len(), 7);
    let more = appended(&sealed, decoys);
    assert_eq!(walk(&more).len(), 14);
    let both = seal::sealed(&more, seal_of(&sealed), style);
    assert_eq!(walk(&both).len(), 14);

    // Joined files: the seals of the second one say other lengths.
    let (file, expected) = three_seals(5, style);
    let joined = [&file[..], &file[128..]].concat();
    assert_eq!(walk(&joined).len(), 2 * expected.len() + 6);
    // The same of a longer first file.
    let joined = [&both[..], &file[128..]].concat();
    assert_eq!(walk(&joined).len(), 14 + expected.len() + 6);
    // A copied tail.
    let copied = [&file[..], &file[file.len() - 288..]].concat();
    assert_eq!(walk(&copied).len(), expected.len() + 1);
    // Sections without their index.
    let index = raw_walk(&sealed)[7].0 as usize;
    let without = [&sealed[..index], &sealed[sealed.len() - 288..]].concat();
    assert_eq!(walk(&without).len(), 8);
}

/// A flipped bit of a seal makes it none, so that its sections are shown, unless it makes its checksum another number.
#[test]
fn a_damaged_seal_is_shown() {
    let file = seal::sealed(&written(|w| write_all_kinds(w, "", 2)), 0, LineBreak::Unix);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let (whole, seal) = (walk(&file).len(), seal_of(&file));
    let mut still_seals = 0;
    for place in seal as usize..file.len() {
        let mut damaged = file.clone();
        damaged[place] ^= 1 << (place % 7);
        std::fs::write(&path, &damaged).unwrap();
        let shown = run_on_threads(1 + place % 3, |comm| {
            let mut reader = Reader::open(comm, &path, &Params::default()).unwrap();
            let mut shown = 0;
            while let Ok(Some(_)) = reader.next_section(true) {
                reader.skip().unwrap();
                shown += 1;
            }
            shown
        });
        let is_seal = Seal::parse(damaged.last_chunk().unwrap(), seal).is_some();
        still_seals += usize::from(is_seal);
        // The index, and the seal itself if it has a header still.
        let expected = if is_seal { whole..=whole } else { whole + 1..=whole + 2 };
        assert!(shown.iter().all(|shown| expected.contains(shown)), "byte {place}: {shown:?}");
    }
    assert!((1..20).contains(&still_seals), "{still_seals}");
}
