//! Reading sealed files: the seals are passed over, and nothing else is.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_possible_wrap)] // test data

use crate::common::system::{counted, reads};
use crate::common::{options, seal};
use scda::{
    Communicator, Encode, ErrorKind, LineBreak, ReadOptions, Reader, Solo, Source, WriteOptions, Writer,
    run_on_threads, uniform_partition,
};
use scda_format::crc;
use scda_format::seal::Seal;
use std::path::Path;

/// The bytes of the file that this writes.
fn written(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut writer = Writer::create(Solo, &path, b"user", &options()).unwrap();
    write(&mut writer);
    writer.close().unwrap();
    std::fs::read(&path).unwrap()
}

/// Sections of every kind, each of a name of its own after `prefix`, with `elements` elements.
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

/// The file with these sections appended after it.
fn appended(file: &[u8], write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    [file, &written(write)[128..]].concat()
}

fn seal_of(file: &[u8]) -> u64 {
    file.len() as u64 - 288
}

/// Offsets and user strings of the sections, as any number of ranks find them.
type Walked = Vec<(u64, Vec<u8>)>;

fn walk_on(ranks: usize, path: &Path, params: &ReadOptions, decode: bool) -> Walked {
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
    let found = walk_on(1, &path, &options(), true);
    for ranks in 2..=5 {
        assert_eq!(walk_on(ranks, &path, &options(), true), found, "{ranks} ranks");
    }
    found
}

fn raw_walk(file: &[u8]) -> Walked {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, file).unwrap();
    let mut params: ReadOptions = options();
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
            let mut reader = Reader::open(comm, &path, &options()).unwrap();
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
        w.array(b"scda index 00", &[1], 160, Source::Contiguous(&[b'r'; 160]), Encode::None).unwrap();
        w.block(b"scda seal 00", 0, 160, Some(&[b's'; 160]), Encode::None).unwrap();
        w.block(b"scda seal 00", 0, 160, Some(&user.repeat(3)[..160]), Encode::Always).unwrap();
        w.array(b"scda index 00", &[3], 4, Source::Contiguous(&[b'r'; 12]), Encode::None).unwrap();
        w.array(b"scda index 00", &[1], 160, Source::Contiguous(&[b'r'; 160]), Encode::None).unwrap();
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
            let mut reader = Reader::open(comm, &path, &options()).unwrap();
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

/// Looks everything up and compares with what walking finds, on this rank.
fn look_up(reader: &mut Reader, walked: &Walked) {
    let count = walked.len() as u64;
    assert_eq!(reader.sections().unwrap(), count);
    let mut names: Vec<&[u8]> = walked.iter().map(|(_, user)| &user[..]).collect();
    names.extend([&b"absent"[..], b"", b"user", b"\xff", b"scda index 00"]);
    names.sort_unstable();
    names.dedup();
    for name in names {
        let numbers: Vec<u64> = (0..count).filter(|&n| walked[n as usize].1 == name).collect();
        assert_eq!(reader.find_all(name).unwrap(), numbers, "{name:?}");
        let most = numbers.len() as i64;
        for occurrence in -most - 2..most + 2 {
            let place = if occurrence < 0 { occurrence + most } else { occurrence };
            let expected = usize::try_from(place).ok().and_then(|place| numbers.get(place).copied());
            assert_eq!(reader.find(name, occurrence).unwrap(), expected, "{name:?} {occurrence}");
        }
    }
    for (number, (offset, user)) in walked.iter().enumerate().rev() {
        let found = reader.section(number as u64).unwrap();
        reader.seek_section(number as u64).unwrap();
        let section = reader.next_section(true).unwrap().unwrap();
        assert_eq!((section.offset, &*section.user), (*offset, &user[..]));
        assert_eq!(found, Some(section));
        // What is looked up meanwhile leads away from nothing.
        if number % 3 == 0 {
            assert!(reader.find(user, -1).unwrap() >= Some(number as u64));
        }
        reader.skip().unwrap();
        let next = reader.next_section(true).unwrap().map(|section| section.offset);
        assert_eq!(next, walked.get(number + 1).map(|(offset, _)| *offset));
        if next.is_some() {
            reader.skip().unwrap();
        }
    }
}

#[test]
fn sections_are_found_as_by_walking() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let style = LineBreak::Unix;
    let repeated = |w: &mut Writer| {
        for i in 0..40_u8 {
            let name = [&b"b"[..], b"a", b"a", b"ab", b"", b"user"][usize::from(i) * 7 % 6];
            w.block(name, 0, 1, Some(&[i]), Encode::None).unwrap();
        }
    };
    let first = seal::sealed(&written(repeated), 0, style);
    let second = seal::sealed(&appended(&first, repeated), seal_of(&first), style);
    let empty = seal::sealed(&second, seal_of(&second), style);
    let more = appended(&empty, |w| write_all_kinds(w, "", 4097));
    let files = [
        three_seals(5, style).0,
        first,
        second,
        // Not sealed at its end.
        more.clone(),
        seal::sealed(&more, seal_of(&empty), style),
        seal::sealed(&written(|_| {}), 0, style),
        written(|_| {}),
        empty,
    ];
    for file in files {
        std::fs::write(&path, &file).unwrap();
        let walked = walk(&file);
        for ranks in [1, 2, 5] {
            run_on_threads(ranks, |comm| {
                let mut reader = Reader::open(comm, &path, &options()).unwrap();
                look_up(&mut reader, &walked);
                reader.close().unwrap();
                let mut reader = Reader::open(Solo, &path, &options()).unwrap();
                let number = walked.len() as u64;
                assert_eq!(reader.section(number).unwrap(), None);
                assert_eq!(reader.seek_section(number).unwrap_err().kind(), ErrorKind::Argument);
            });
        }
    }
}

#[test]
fn few_reads_find_one_of_many_sections() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut costs = Vec::new();
    for sections in [10_000_u64, 100_000] {
        let mut params: WriteOptions = options();
        params.seal = true;
        let mut writer = Writer::create(Solo, &path, b"", &params).unwrap();
        for i in 0..sections {
            let name = format!("section {}", i * 7919 % sections);
            writer.inline(name.as_bytes(), 0, Some(&[b' '; 32])).unwrap();
        }
        writer.close().unwrap();
        let own = reads();
        let own = reads() - own;
        let mut cost = [0; 3];
        for number in [0, 1, sections / 3, sections - 1] {
            let count = |worst: &mut u64, action: &mut dyn FnMut()| {
                let before = reads();
                action();
                *worst = (*worst).max(reads() - before - own);
            };
            let mut reader = None;
            count(&mut cost[0], &mut || reader = Some(Reader::open(Solo, &path, &options()).unwrap()));
            let mut reader = reader.unwrap();
            let name = format!("section {}", number * 7919 % sections);
            count(&mut cost[1], &mut || {
                assert_eq!(reader.find(name.as_bytes(), 0).unwrap(), Some(number));
            });
            count(&mut cost[2], &mut || reader.seek_section(number).unwrap());
            assert_eq!(&*reader.next_section(true).unwrap().unwrap().user, name.as_bytes());
            assert!(!reader.at_end() && reader.find(b"none", 0).unwrap().is_none());
        }
        costs.push(cost);
    }
    println!("reads of opening, finding, seeking: {costs:?}");
    assert!(costs[1][0] == costs[0][0] && costs[0][0] <= 8);
    // The names of the first file are read at once, those of the other one bisected.
    assert!(costs[0][1] <= 12 && costs[1][1] <= 45);
    assert!(costs[1][2] <= 8);
}

/// Where a number of a row of an index stands: its letter.
fn number_at(index: u64, row: u64, number: usize) -> usize {
    (index + 128 + 160 * row) as usize + 64 + 19 * number
}

/// The file with another number in a row of its only index, and its checksum made right again if `is_lie`.
fn with_number(file: &[u8], row: u64, number: usize, value: u64, is_lie: bool) -> Vec<u8> {
    let offset = seal_of(file);
    let seal = Seal::parse(file.last_chunk().unwrap(), offset).unwrap();
    let mut file = file.to_vec();
    let at = number_at(seal.index, row, number) + 2;
    file[at..at + 16].copy_from_slice(format!("{value:016x}").as_bytes());
    if is_lie {
        let index = crc::of(&file[seal.index as usize..offset as usize]);
        file.truncate(offset as usize);
        file.extend(seal.with_crc(index, LineBreak::Unix).bytes(LineBreak::Unix));
    }
    file
}

/// Whatever number a row has, a section that is found is the one that walking finds; or it is an error of all ranks.
#[test]
fn an_index_that_lies_leads_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let plain = written(|w| {
        for _ in 0..3 {
            w.block(b"same", 0, 3, Some(b"abc"), Encode::None).unwrap();
        }
        write_all_kinds(w, "", 3);
    });
    let file = seal::sealed(&plain, 0, LineBreak::Unix);
    let walked = walk(&file);
    let index = Seal::parse(file.last_chunk().unwrap(), seal_of(&file)).unwrap().index;
    let (mut errors, mut others) = (0, 0);
    for row in 0..=walked.len() as u64 {
        for place in [0, 1, 2, 4] {
            // Where one pair ends and another one begins is told by what is there.
            let is_pair =
                |number: u64| walked.get(number as usize).is_some_and(|(_, name)| name.ends_with(b"z"));
            let is_among_pairs = place == 0 && row > 0 && is_pair(row - 1) && is_pair(row);
            let is_expected =
                |kind| kind == ErrorKind::Checksum || is_among_pairs && kind == ErrorKind::Format;
            let at = number_at(index, row, place) + 2;
            let text = std::str::from_utf8(&file[at..at + 16]).unwrap();
            let old = u64::from_str_radix(text, 16).unwrap();
            for value in [
                old + 1,
                old + 32,
                old.wrapping_sub(32) % (1 << 62),
                old.wrapping_mul(2) + 96,
                0,
                128,
                1,
                1 << 60,
            ] {
                if value == old {
                    continue;
                }
                for is_lie in [false, true] {
                    std::fs::write(&path, with_number(&file, row, place, value, is_lie)).unwrap();
                    let ranks = 1 + (row as usize + place) % 3;
                    for (number, (offset, name)) in walked.iter().enumerate() {
                        let kinds = run_on_threads(ranks, |comm| {
                            let mut reader = Reader::open(comm, &path, &options()).unwrap();
                            reader.seek_section(number as u64).map_err(|error| error.kind())?;
                            assert_eq!(reader.position(), Some(*offset));
                            Ok(())
                        });
                        assert!(kinds.iter().all(|kind| *kind == kinds[0]));
                        let is_fine = kinds[0].is_ok();
                        assert!(kinds[0].err().is_none_or(is_expected), "{kinds:?}");
                        // A row is compared with those beside it; that before a pair, with the one before that.
                        let before = if is_pair(number as u64) { 2 } else { 1 };
                        let is_near = (number + 1..=number + 2 + before).contains(&(row as usize + before));
                        assert!(is_fine || is_near, "{row} {place} {value} {number}");
                        let is_told = match place {
                            0 => !is_among_pairs,
                            1 | 2 => !name.starts_with(b"varray"),
                            _ => false,
                        };
                        assert!(!(is_fine && is_told && row as usize == number + 1), "{row} {place} {value}");
                        let mut reader = Reader::open(Solo, &path, &options()).unwrap();
                        match reader.find(name, 0) {
                            Ok(found) if is_lie && place == 4 => {
                                // That of this name, or one that the index says is not there.
                                assert!(found.is_none_or(|found| walked[found as usize].1 == *name));
                                others += 1;
                            }
                            Ok(found) => {
                                let first = walked.iter().position(|(_, user)| user == name);
                                assert!(is_lie && found == first.map(|first| first as u64));
                                others += 1;
                            }
                            Err(error) => {
                                assert!(is_expected(error.kind()), "{error}");
                                errors += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    println!("{errors} errors, {others} found");
    assert!(errors > 1000 && others > 500);
}

/// The checksum of a long index is not compared before it is used: a row of it that is damaged must not lead to another
/// occurrence.
#[test]
fn a_damaged_order_of_a_long_index_leads_to_no_other_occurrence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let count = 7200_u64;
    let plain = written(|w| {
        for i in 0..count {
            w.inline([&b"a"[..], b"b", b"c"][i as usize % 3], 0, Some(&[b' '; 32])).unwrap();
        }
    });
    let file = seal::sealed(&plain, 0, LineBreak::Unix);
    // The places of the user strings in the order of hashes, the first and the last of "b", what is beside them, and some others.
    let mut names = [&b"a"[..], b"b", b"c"];
    let hash = |name: &[u8]| crc::of(name) >> 32;
    names.sort_by_key(|name| hash(name));
    let each = count / 3;
    let before = names.iter().position(|&name| name == b"b").unwrap() as u64 * each;
    let (first, end) = (1 + before, 1 + before + each);
    let near = [first, end].into_iter().flat_map(|at| at.saturating_sub(3).max(1)..(at + 3).min(count + 1));
    let places: Vec<u64> = near.chain((1..=count).step_by(397)).collect();
    let row_of = |place: u64| {
        let name = names[((place - 1) / each) as usize][0];
        1 + (place - 1) % each * 3 + u64::from(name - b'a')
    };
    let find_all = |user: &[u8]| Reader::open(Solo, &path, &options()).unwrap().find_all(user);
    std::fs::write(&path, &file).unwrap();
    for (user, remainder) in [(b"a", 0), (b"b", 1), (b"c", 2), (b"d", 3)] {
        assert_eq!(find_all(user).unwrap(), (0..count).filter(|i| i % 3 == remainder).collect::<Vec<_>>());
    }
    let (mut errors, mut right) = (0, 0);
    for place in places {
        let (old, own) = (row_of(place), hash(names[((place - 1) / each) as usize]));
        let rows =
            [old - 1, old + 1, old + 2, old - old % 3, 1, 2, 3, count, count - 1, row_of(first), 0, old];
        let hashes = names.map(hash).into_iter().chain([0, u64::from(u32::MAX)]);
        for (of, value) in hashes.flat_map(|hash| rows.map(|row| (hash, row))) {
            if (value, of) == (old, own) || value > count {
                continue;
            }
            let entry = of << 32 | value;
            std::fs::write(&path, with_number(&file, place, 4, entry, false)).unwrap();
            // Which takes long.
            if value == 1 {
                match find_all(b"b") {
                    Ok(found) => assert!(found.iter().copied().eq((1..count).step_by(3)), "place {place}"),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Checksum, "{error}"),
                }
            }
            for (occurrence, expected) in [(0, 1), (1, 4), (-1, count - 2), (-2, count - 5)] {
                let mut reader = Reader::open(Solo, &path, &options()).unwrap();
                match reader.find(b"b", occurrence) {
                    Ok(found) => {
                        assert_eq!(found, Some(expected), "place {place}: {own} {old}, now {of} {value}");
                        right += 1;
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Checksum, "{error}");
                        errors += 1;
                    }
                }
            }
        }
    }
    assert!(errors > 100 && right > 100, "{errors} {right}");
}

/// Elements of which anchors tell where they are, in a sealed file and in one that is not.
#[test]
fn an_element_far_away_is_found_by_its_anchor() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let elements = 100_000_u64;
    let sizes: Vec<u64> = (0..elements).map(|i| i % 5).collect();
    let element = |i: u64| vec![(i * 31 % 251) as u8; (i % 5) as usize];
    let varray: Vec<u8> = (0..elements).flat_map(element).collect();
    let array: Vec<u8> = (0..elements).flat_map(u64::to_le_bytes).collect();
    let mut bytes = [[0; 2]; 2];
    for is_sealed in [false, true] {
        let mut params: WriteOptions = options();
        params.seal = is_sealed;
        let mut writer = Writer::create(Solo, &path, b"", &params).unwrap();
        for encode in [Encode::None, Encode::Always] {
            writer.varray(b"v", &[elements], &sizes, None, Source::Contiguous(&varray), encode).unwrap();
            writer.array(b"a", &[elements], 8, Source::Contiguous(&array), encode).unwrap();
            if is_sealed {
                writer.commit().unwrap();
            }
        }
        writer.close().unwrap();
        for ranks in [1, 3] {
            let read = run_on_threads(ranks, |comm| {
                let rank = comm.rank() as u64;
                let mut reader = Reader::open(comm, &path, &options()).unwrap();
                let mut cost = [0; 2];
                for number in 0..4 {
                    reader.seek_section(number).unwrap();
                    let section = reader.next_section(true).unwrap().unwrap();
                    // Not in order, at the anchors, before and after them, and the last one.
                    for at in [99_999, 4096 * 20, 4096 * 20 - 1, 4096, 4097, 8191, 0, 50_000, 54_096, 54_097]
                    {
                        let at = at ^ rank;
                        let range = at..(at + 3).min(elements);
                        let before = counted("rchar");
                        match section.section_type {
                            scda::SectionType::Varray => {
                                let own = &sizes[at as usize..range.end as usize];
                                let expected: Vec<u8> = range.clone().flat_map(element).collect();
                                let mut found = vec![0; expected.len()];
                                reader
                                    .ranges()
                                    .read_varray(range, own, scda::Sink::Contiguous(&mut found))
                                    .unwrap();
                                assert_eq!(found, expected);
                            }
                            _ => {
                                let expected: Vec<u8> = range.clone().flat_map(u64::to_le_bytes).collect();
                                let mut found = vec![0; expected.len()];
                                reader
                                    .ranges()
                                    .read_array(range, 8, scda::Sink::Contiguous(&mut found))
                                    .unwrap();
                                assert_eq!(found, expected);
                            }
                        }
                        let place = usize::from(section.decoded);
                        cost[place] = u64::max(cost[place], counted("rchar") - before);
                    }
                    reader.skip().unwrap();
                }
                assert!(reader.at_end());
                cost
            });
            read.iter().for_each(|cost| {
                (0..2).for_each(|i| {
                    bytes[usize::from(is_sealed)][i] = bytes[usize::from(is_sealed)][i].max(cost[i])
                })
            });
        }
    }
    println!("most bytes read for three elements, plain and compressed, unsealed and sealed: {bytes:?}");
    assert!(bytes[0].iter().all(|&most| most > 3_000_000));
    // At most the sizes of 4096 elements of 32 bytes, and little more.
    assert!(bytes[1].iter().all(|&most| most < 4096 * 32 + 10_000));
}

/// Anchors whose bytes differ are not used.
#[test]
fn damaged_anchors_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let file = seal::sealed(&written(|w| write_all_kinds(w, "", 8193)), 0, LineBreak::Unix);
    let raw = raw_walk(&file);
    let (anchors, index) = (raw[7].0 as usize, raw[8].0 as usize);
    assert_eq!(raw[7].1, b"scda anchors 00");
    for place in anchors..index {
        let mut damaged = file.clone();
        damaged[place] ^= 1 << (place % 7);
        std::fs::write(&path, &damaged).unwrap();
        let kinds = run_on_threads(1 + place % 2, |comm| {
            let mut reader = Reader::open(comm, &path, &options()).unwrap();
            reader.seek_section(6).map_err(|error| error.kind())?;
            reader.next_section(true).unwrap();
            let mut sizes = [0];
            reader.ranges().read_varray_sizes(8191..8192, &mut sizes).unwrap();
            let mut found = vec![0; sizes[0] as usize];
            let sink = scda::Sink::Contiguous(&mut found);
            reader.ranges().read_varray(8191..8192, &sizes, sink).map_err(|error| error.kind())
        });
        // Of what is no array of anchors nothing is used.
        let is_header = place < anchors + 128;
        assert!(
            kinds.iter().all(|kind| *kind == Err(ErrorKind::Checksum)) || is_header,
            "{place}: {kinds:?}"
        );
    }
}

fn verifying() -> ReadOptions {
    let mut params: ReadOptions = options();
    params.verify = true;
    params
}

/// Reads all headers with verification, and says how many were read before which error.
fn verify_on(ranks: usize, path: &Path, decode: bool) -> (usize, Option<scda::Error>) {
    let mut all = run_on_threads(ranks, |comm| {
        let mut reader = match Reader::open(comm, path, &verifying()) {
            Ok(reader) => reader,
            Err(error) => return (0, Some(error)),
        };
        let mut read = 0;
        loop {
            match reader.next_section(decode).and_then(|section| reader.skip().map(|()| section)) {
                Ok(Some(_)) => read += 1,
                Ok(None) => return (read, None),
                Err(error) => return (read, Some(error)),
            }
        }
    });
    let first = all.remove(0);
    let text = |end: &(usize, Option<scda::Error>)| (end.0, end.1.as_ref().map(|error| error.to_string()));
    assert!(all.iter().all(|other| text(other) == text(&first)), "{first:?}, {all:?}");
    first
}

/// The words name the section and where it begins.
fn assert_names(error: &scda::Error, offset: u64, name: &[u8]) {
    let words = error.to_string();
    let name = format!("\"{}\": found the checksum", std::str::from_utf8(name).unwrap());
    assert!(words.contains(&format!(": byte {offset}: ")) && words.contains(&name), "{words}");
}

#[test]
fn sealed_files_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for elements in [0, 5, 20_000] {
        let (file, expected) = three_seals(elements, LineBreak::Unix);
        std::fs::write(&path, &file).unwrap();
        for ranks in [1, 2, 5] {
            assert!(matches!(verify_on(ranks, &path, true), (count, None) if count == expected.len()));
            // Each compressed section is two.
            assert!(matches!(verify_on(ranks, &path, false), (count, None) if count == expected.len() + 9));
            let walked = walk_on(1, &path, &options(), true);
            run_on_threads(if elements == 5 { ranks } else { 0 }, |comm| {
                let mut reader = Reader::open(comm, &path, &verifying()).unwrap();
                look_up(&mut reader, &walked);
            });
        }
        if elements == 20_000 {
            // In a large section, in what all ranks read together.
            let (offset, name) = walk_on(1, &path, &options(), true)[2].clone();
            let mut damaged = file.clone();
            damaged[offset as usize + 70_000] ^= 4;
            std::fs::write(&path, &damaged).unwrap();
            for ranks in [1, 2, 5] {
                let (read, error) = verify_on(ranks, &path, true);
                let error = error.unwrap();
                assert_eq!((read, error.kind()), (2, ErrorKind::Checksum));
                assert_names(&error, offset, &name);
            }
        }
    }
    // Without a seal there is nothing to verify by; what follows a seal has none.
    let (file, _) = three_seals(5, LineBreak::Unix);
    for unsealed in [written(|w| write_all_kinds(w, "", 3)), appended(&file, |w| write_all_kinds(w, "", 3))] {
        std::fs::write(&path, &unsealed).unwrap();
        for ranks in [1, 3] {
            let (_, error) = verify_on(ranks, &path, true);
            assert_eq!(error.unwrap().kind(), ErrorKind::Checksum);
        }
    }
    let mut both = verifying();
    both.raw = true;
    let refused = Reader::open(Solo, &path, &both).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Argument);
}

#[test]
fn a_section_is_verified_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut params: WriteOptions = options();
    params.seal = true;
    let mut writer = Writer::create(Solo, &path, b"", &params).unwrap();
    for name in [b"a", b"b"] {
        writer.block(name, 0, 10_000_000, Some(&vec![b'x'; 10_000_000]), Encode::None).unwrap();
    }
    writer.close().unwrap();
    let mut reader = Reader::open(Solo, &path, &verifying()).unwrap();
    assert!(reader.is_sealed());
    let before = counted("rchar");
    for number in [0, 1, 0, 1, 0] {
        reader.seek_section(number).unwrap();
        reader.next_section(true).unwrap();
    }
    assert!((20_000_000..21_000_000).contains(&(counted("rchar") - before)));
}

/// Every byte of a file is under a checksum, or has one form only; also those of a seal without sections.
#[test]
fn verifying_finds_every_flipped_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let first = seal::sealed(&written(|w| write_all_kinds(w, "1", 2)), 0, LineBreak::Unix);
    let second = appended(&first, |w| write_all_kinds(w, "2", 3));
    let second = seal::sealed(&second, seal_of(&first), LineBreak::Mime);
    let third =
        seal::sealed(&appended(&second, |w| write_all_kinds(w, "3", 1)), seal_of(&second), LineBreak::Unix);
    let file = seal::sealed(&third, seal_of(&third), LineBreak::Unix);
    let walked = raw_walk(&file);
    for place in (0..file.len()).step_by(crate::common::sampled::one_of(5)) {
        let mut damaged = file.clone();
        damaged[place] ^= 1 << (place % 8);
        std::fs::write(&path, &damaged).unwrap();
        let (read, error) = verify_on(1 + place % 2, &path, place % 3 > 0);
        let error = error.unwrap_or_else(|| panic!("byte {place} is not under a checksum"));
        let section = walked.partition_point(|(offset, _)| *offset <= place as u64);
        if section == 0 {
            // The header of the file has errors of its own.
            assert_eq!(read, 0);
            continue;
        }
        let (offset, name) = &walked[section - 1];
        assert_eq!(error.kind(), ErrorKind::Checksum, "byte {place} of {name:?}: {error}");
        if !name.starts_with(b"scda ") {
            assert_names(&error, *offset, name);
        }
    }
}

/// In an index that is too long to be checked at once, what is beside the place of a name that is not found is checked: no
/// damaged entry hides a section.
#[test]
fn a_damaged_entry_of_a_long_index_hides_no_section() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut params: WriteOptions = options();
    params.seal = true;
    let mut writer = Writer::create(Solo, &path, b"", &params).unwrap();
    for i in 0..7000 {
        writer.inline(format!("{i}").as_bytes(), 0, Some(&[b' '; 32])).unwrap();
    }
    writer.close().unwrap();
    let file = std::fs::read(&path).unwrap();
    let (mut wrong, mut found) = (0, 0);
    let hash = |name: &str| crc::of(name.as_bytes()) >> 32;
    let mut hashes: Vec<u64> = (0..7000).map(|i| hash(&i.to_string())).collect();
    hashes.sort_unstable();
    // The places of names, and of one that is not there, those beside them, and some others.
    let names = ["0", "2500", "4999", "absent", "3200"];
    let place = |name| 1 + hashes.partition_point(|&found| found < hash(name)) as u64;
    let near = names.iter().flat_map(|name| place(name) - 1..place(name) + 2);
    let rows: Vec<u64> = near.chain([1, 2500, 7000]).collect();
    for (row, value) in rows.iter().flat_map(|&row| [0, 1, 1700, 7000].map(|value| (row, value))) {
        // Each second time its own hash.
        let of = if value % 200 == 0 { hashes[row as usize - 1] } else { u64::from(u32::MAX) / 7000 * value };
        std::fs::write(&path, with_number(&file, row, 4, of << 32 | value, false)).unwrap();
        for name in names {
            let mut reader = Reader::open(Solo, &path, &options()).unwrap();
            match reader.find(name.as_bytes(), 0) {
                Ok(number) => {
                    assert_eq!(number, name.parse().ok(), "entry {row}, now {value}");
                    found += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Checksum, "{error}");
                    wrong += 1;
                }
            }
        }
    }
    assert!(wrong >= 20 && found > 100, "{wrong} {found}");
}

/// Nor does one whose user string is damaged: it has another hash than its place in the order.
#[test]
fn a_damaged_name_of_a_long_index_hides_no_section() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut params: WriteOptions = options();
    params.seal = true;
    let mut writer = Writer::create(Solo, &path, b"", &params).unwrap();
    writer.inline(b"of another seal", 0, Some(&[b' '; 32])).unwrap();
    writer.commit().unwrap();
    for i in 0..7000 {
        writer.inline(format!("{i}").as_bytes(), 0, Some(&[b' '; 32])).unwrap();
    }
    writer.close().unwrap();
    let find = |user: &str| {
        [0, -1].map(|record| {
            let mut reader = Reader::open(Solo, &path, &options()).unwrap();
            reader.find(user.as_bytes(), record).map_err(|error| error.kind())
        })
    };
    for (name, number) in [("0", Some(1)), ("3", Some(4)), ("999", Some(1000)), ("/", None), (":", None)] {
        assert_eq!(find(name), [Ok(number); 2]);
    }
    let mut file = std::fs::read(&path).unwrap();
    let seal = Seal::parse(file.last_chunk().unwrap(), seal_of(&file)).unwrap();
    let name = seal.index as usize + 128 + 160 * 3 + 2;
    assert_eq!(&file[name..name + 3], b"3 -");
    file[name..name + 3].copy_from_slice(b"2: ");
    std::fs::write(&path, file).unwrap();
    assert_eq!(find("3"), [Err(ErrorKind::Checksum); 2]);
}
