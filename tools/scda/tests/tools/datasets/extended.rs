//! Rows that were added to datasets later.
#![allow(clippy::cast_possible_truncation)] // test data

use crate::run::Place;
use scda::{Codec, DataType, Dataset, Encode, IndexBox, Layout, Solo, Source, WriteOptions, Writer};
use scda_format::hdf5::clear_superblock;

/// Three kinds of datasets with rows that were added in later commits: plain, in chunks, and bools.
fn extended(place: &Place, name: &str) {
    let path = place.path(name);
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
    for turn in 0..3_u8 {
        for (name, data_type) in [("rho", DataType::Int16), ("c/p", DataType::Int32), ("on", DataType::Bool)]
        {
            let mut dataset = Dataset::new(name, data_type, [2, 3]);
            dataset.extends = turn > 0;
            dataset.attributes = r#"{"units": "m"}"#.into();
            if name == "c/p" && turn < 2 {
                dataset.layout = Layout::Chunked { shape: Some(vec![1 + u64::from(turn), 2]), text: false };
            }
            let item = data_type.item_bytes() as usize;
            let data: Vec<u8> = (0..6 * item)
                .map(|i| if i % item == 0 { (i as u8 / item as u8 + turn) % 2 } else { 0 })
                .collect();
            file.dataset(&dataset, &[IndexBox::all(&[2, 3])], &data).unwrap();
        }
        file.commit().unwrap();
    }
    file.set_attributes("rho", -1, r#"{"n": 1}"#).unwrap();
    file.close().unwrap();
}

#[test]
fn they_are_shown_and_copied_as_one_array() {
    let place = Place::new();
    extended(&place, "a.scda");
    let shown = place.scda("ls a.scda").good();
    let lines = |word: &str| shown.text().lines().filter(|line| line.contains(word)).count();
    assert_eq!((lines(" 6x3 "), lines("rows 00"), shown.text().lines().count()), (3, 0, 5), "{shown:?}");
    let rho = "0 1 0\n1 0 1\n1 0 1\n0 1 0\n0 1 0\n1 0 1\n";
    assert_eq!(place.scda("cat a.scda rho").good().text(), rho);
    assert_eq!(place.scda("ls --raw a.scda").good().text().matches("scda added rows 00").count(), 6);
    place.scda("check --strict a.scda").good();
    // A copy has one section for all rows, as the first ones are stored; what salvage saves has as many as before.
    for (how, sections) in [
        ("copy a.scda b.scda", 6),
        ("copy --encode auto a.scda b.scda", 6),
        ("copy --decode a.scda b.scda", 6),
        ("join a.scda --output b.scda", 6),
        ("salvage a.scda b.scda", 18),
    ] {
        let place = Place::new();
        extended(&place, "a.scda");
        place.scda(how).good();
        assert_eq!(place.scda("cat b.scda rho").good().text(), rho, "{how}");
        place.scda("diff a.scda b.scda").good();
        place.scda("check --strict b.scda").good();
        let raw = place.scda("ls --raw b.scda").good();
        assert_eq!(raw.text().lines().count(), 2 + sections, "{how}: {raw:?}");
    }
    // Of a single dataset, all rows.
    place.scda("copy --select c/p a.scda c.scda").good();
    assert_eq!(place.scda("ls c.scda").good().text().matches(" 6x3 ").count(), 1);
    // The number of a section that was added names the dataset.
    let numbers = |word: &str| {
        let all = place.scda("ls --raw a.scda").good();
        let numbers = all.text().lines().filter(|line| line.contains(word));
        numbers.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let added = [numbers("/rho\""), numbers("scda added rows 00"), numbers("scda attributes 00")];
    let [of_rho, rows, attributes] = &added;
    assert_eq!((of_rho.len(), rows.len(), attributes.len()), (3, 6, 1));
    for number in of_rho.iter().chain([&rows[0], &rows[3], &attributes[0]]) {
        let found = place.scda(&format!("ls -s {number} a.scda")).good();
        assert!(found.text().lines().count() == 3 && found.text().contains("\"rho\""), "{number}: {found:?}");
        let found = place.scda(&format!("ls --json -s {number} a.scda")).good().json();
        assert_eq!(found["sections"][0]["user"], "rho", "{number}");
        for (how, count) in [("--select", 1), ("--delete", 2)] {
            place.scda(&format!("copy -f {how} {number} a.scda d.scda")).good();
            let found = place.scda("ls d.scda").good();
            assert_eq!(found.text().contains("\"rho\""), how == "--select", "{number}: {found:?}");
            assert_eq!(found.text().lines().count(), 2 + count, "{number}: {found:?}");
        }
        place.scda(&format!("join -f -s {number} a.scda -o d.scda")).good();
        assert_eq!(place.scda("cat d.scda rho").good().text(), rho);
    }
    place.scda("copy -f --delete 1-2 --delete 5 a.scda d.scda").good();
    assert_eq!(place.scda("ls d.scda").good().text().lines().count(), 3);
    // A file without a seal has them as sections, until it has one.
    let salvaged = place.scda("salvage -f --no-seal a.scda d.scda").good();
    assert!(salvaged.text().contains("take effect once the file is sealed: scda seal"), "{salvaged:?}");
    assert_eq!(place.scda("ls d.scda").good().text().matches(" 2x3 ").count(), 3);
    place.scda("seal d.scda").good();
    place.scda("diff a.scda d.scda").good();
}

#[test]
fn rows_of_no_dataset_are_found() {
    let place = Place::new();
    extended(&place, "a.scda");
    let all = place.read("a.scda");
    let mut params = WriteOptions::default();
    params.seal = true;
    let metadata = {
        let text = String::from_utf8_lossy(&all);
        let start = text.find("B scda added rows 00").unwrap();
        let start = start + text[start..].find('{').unwrap();
        text[start..start + text[start..].find("}\n=").unwrap() + 2].to_owned()
    };
    for (user, words) in [
        ("/+128/rho", "found rows of no dataset, expected that one's data at byte 128"),
        ("/+960/other", "found rows of no dataset"),
        ("/+0960/rho", "found another section, expected an array or varray with rows of a dataset"),
        ("other", "found another section, expected an array or varray with rows of a dataset"),
    ] {
        place.write("a.scda", &all);
        let mut file = Writer::append(Solo, place.path("a.scda"), &params).unwrap();
        let (text, bytes) = (metadata.as_bytes(), metadata.len() as u64);
        file.block(b"scda added rows 00", 0, bytes, Some(text), Encode::None).unwrap();
        file.array(user.as_bytes(), &[2], 6, Source::Contiguous(&[0; 12]), Encode::None).unwrap();
        file.close().unwrap();
        let found = place.scda("check a.scda").bad(1, "");
        assert!(found.text().contains(words), "{found:?}");
        place.scda("cat a.scda rho").good();
        // Nobody else has them, so they are shown.
        assert_eq!(place.scda("ls a.scda").good().text().matches("scda added rows 00").count(), 1, "{user}");
    }
    // With the right name, the number of rows before is wrong.
    place.write("a.scda", &all);
    let mut file = Writer::append(Solo, place.path("a.scda"), &params).unwrap();
    let (text, bytes) = (metadata.as_bytes(), metadata.len() as u64);
    file.block(b"scda added rows 00", 0, bytes, Some(text), Encode::None).unwrap();
    file.array(b"/+960/rho", &[2], 6, Source::Contiguous(&[0; 12]), Encode::None).unwrap();
    file.close().unwrap();
    let found = place.scda("check a.scda").bad(1, "");
    assert!(found.text().contains("found the first row 2, expected 6"), "{found:?}");
}

/// Where the sections with this user string begin in a file.
fn sections(all: &[u8], start: &str) -> Vec<usize> {
    (0..all.len()).filter(|&at| all[at..].starts_with(start.as_bytes())).collect()
}

#[test]
fn rows_after_damaged_ones_are_saved_by_themselves() {
    let place = Place::new();
    let path = place.path("a.scda");
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
    // Two records of the same shape, so that the second one would stand in the place of the first.
    for record in 0..2_u8 {
        for turn in 0..3_u8 {
            let mut dataset = Dataset::new("rho", DataType::Uint8, [2]);
            dataset.extends = turn > 0;
            let byte = b'a' + 4 * record + turn;
            file.dataset(&dataset, &[IndexBox::all(&[2])], &[byte, byte]).unwrap();
        }
    }
    file.close().unwrap();
    let all = place.read("a.scda");
    place.scda("check a.scda").good();
    let items = |byte: &str| sections(&all, &format!("--\n{byte}{byte}\n"))[0] + 3;
    for (damaged, records, saved) in [
        // The data of the second rows; the third ones are saved by themselves.
        ("b", vec!["97\n97\n", "101\n101\n102\n102\n103\n103\n"], 1),
        // The dataset itself: the rows that were added to it are no part of the other record.
        ("a", vec!["101\n101\n102\n102\n103\n103\n"], 2),
        ("g", vec!["97\n97\n98\n98\n99\n99\n", "101\n101\n102\n102\n"], 0),
    ] {
        let mut bytes = all.clone();
        bytes[items(damaged)] = b'?';
        place.write("b.scda", &bytes);
        let said = place.scda("salvage --force b.scda c.scda").bad(0, "");
        assert_eq!(said.text().matches("\"salvaged rows\"").count(), saved, "{damaged}: {said:?}");
        for (record, expected) in records.iter().enumerate() {
            let shown = place.scda(&format!("cat c.scda rho --record {record}")).good();
            assert_eq!(shown.text(), *expected, "{damaged}");
        }
        place.scda("check --strict c.scda").good();
    }
}

#[test]
fn rows_in_text_are_saved_by_the_new_place() {
    let place = Place::new();
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::create(Solo, place.path("a.scda"), b"", &params).unwrap();
    file.inline(b"lost", 0, Some(&[b'x'; 32])).unwrap();
    for extends in [false, true] {
        let mut dataset = Dataset::new("rho", DataType::Uint8, [2]);
        dataset.layout = Layout::Chunked { shape: None, text: true };
        dataset.extends = extends;
        file.dataset(&dataset, &[IndexBox::all(&[2])], b"ab").unwrap();
    }
    file.close().unwrap();
    let mut bytes = place.read("a.scda");
    let at = sections(&bytes, "xxxx")[0];
    bytes[at] = b'?';
    place.write("a.scda", &bytes);
    place.scda("salvage a.scda b.scda").bad(0, "");
    assert_eq!(place.scda("cat b.scda rho").good().text(), "97\n98\n97\n98\n");
    place.scda("check --strict b.scda").good();
}

/// Rows that are compressed one by one are so in the copy, which has all of them.
#[test]
fn a_copy_keeps_the_compression_of_rows() {
    let place = Place::new();
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::create(Solo, place.path("plain.scda"), b"", &params).unwrap();
    let mut dataset = Dataset::new("rho", DataType::Uint8, [4, 1000]);
    dataset.attributes = r#"{"units": "m"}"#.into();
    file.dataset(&dataset, &[IndexBox::all(&[4, 1000])], &[7; 4000]).unwrap();
    file.close().unwrap();
    let bytes = place.read("plain.scda");
    let start = sections(&bytes, "B scda dataset 00")[0];
    let start = start + sections(&bytes[start..], "{")[0];
    let metadata = &bytes[start..start + sections(&bytes[start..], "\n}\n")[0] + 3];
    let mut file = Writer::create(Solo, place.path("a.scda"), b"", &params).unwrap();
    file.block(b"scda dataset 00", 0, metadata.len() as u64, Some(metadata), Encode::None).unwrap();
    file.array(b"rho", &[4], 1000, Source::Contiguous(&[7; 4000]), Encode::Always).unwrap();
    dataset.extends = true;
    file.dataset(&dataset, &[IndexBox::all(&[4, 1000])], &[8; 4000]).unwrap();
    file.close().unwrap();
    for (how, is_compressed) in [("", true), ("--style mime", true), ("--decode", false)] {
        place.scda(&format!("copy -f {how} a.scda b.scda")).good();
        place.scda("diff a.scda b.scda").good();
        place.scda("check --strict b.scda").good();
        let shown = place.scda("ls --raw b.scda").good();
        assert_eq!(shown.text().contains("A compressed scda 00"), is_compressed, "{how}: {shown:?}");
        assert_eq!(place.read("b.scda").len() < 8000, is_compressed, "{how}");
    }
}

#[test]
fn rows_of_no_dataset_are_copied() {
    let place = Place::new();
    extended(&place, "a.scda");
    // Without a seal, they do not count.
    place.scda("salvage --no-seal a.scda b.scda").good();
    place.scda("copy b.scda c.scda").good();
    assert!(place.read("b.scda") == place.read("c.scda"));
    place.scda("seal c.scda").good();
    place.scda("diff a.scda c.scda").good();
}

/// Appends rows to a dataset as another program does: their metadata, and their data.
fn append_as_others(place: &Place, name: &str, metadata: &str, user: &str) {
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::append(Solo, place.path(name), &params).unwrap();
    let (text, bytes) = (metadata.as_bytes(), metadata.len() as u64);
    file.block(b"scda added rows 00", 0, bytes, Some(text), Encode::None).unwrap();
    let data = Source::Contiguous(b"future!");
    file.varray(user.as_bytes(), &[1], &[7], None, data, Encode::None).unwrap();
    file.close().unwrap();
}

/// Where these data are.
fn future_rows(place: &Place, name: &str) -> Option<usize> {
    place.read(name).windows(7).position(|bytes| bytes == b"future!")
}

/// The metadata of two rows of three items, by a codec that is still to be invented.
fn future(data_type: &str, first: u64) -> String {
    format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": [2, 3], "data_type": {data_type}, "fill_value": 0,
        "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [2, 3]}}}},
        "codecs": [{{"name": "bytes", "configuration": {{"endian": "little"}}}}, {{"name": "future"}}],
        "attributes": {{"scda_first_row": {first}}}}}"#
    )
}

#[test]
fn rows_that_cannot_be_read_are_copied_as_they_are() {
    let place = Place::new();
    extended(&place, "a.scda");
    append_as_others(&place, "a.scda", &future("\"int16\"", 6), "/+960/rho");
    let why = "the codec \"future\" at place 1 in the rows 6 to 7";
    let rho = "0 1 0\n1 0 1\n1 0 1\n0 1 0\n0 1 0\n1 0 1\n";
    let is_right = |name: &str| {
        let found = place.scda(&format!("check --strict {name}")).good();
        assert!(found.text().contains(why), "{found:?}");
        let found = place.scda(&format!("ls {name}")).good();
        assert!(
            found.text().contains("8x3") && found.text().contains("cannot be read: the codec"),
            "{found:?}"
        );
        let found = place.scda(&format!("cat {name} rho")).bad(2, "\"future\"");
        assert_eq!(found.text(), rho);
        assert_eq!(place.scda(&format!("cat {name} rho --box 0:6,:")).good().text(), rho);
        place.scda(&format!("cat {name} c/p")).good();
        assert!(future_rows(&place, name).is_some());
    };
    is_right("a.scda");
    for how in ["copy", "copy --encode auto", "copy --style mime"] {
        let found = place.scda(&format!("{how} --force a.scda b.scda"));
        assert!(
            found.code == 0
                && found
                    .err
                    .contains(&format!("\"rho\" is copied unchanged because it cannot be read: {why}")),
            "{found:?}"
        );
        is_right("b.scda");
        place.scda("diff a.scda b.scda").good();
        // The copy of the copy, too, where the dataset is somewhere else again.
        assert_eq!(place.scda("copy --force --delete on --delete c/p b.scda c.scda").code, 0);
        place.scda("check --strict c.scda").good();
        place.scda("cat c.scda rho").bad(2, "\"future\"");
    }
    assert_eq!(place.scda("join a.scda --output d.scda").code, 0);
    is_right("d.scda");
    place
        .scda("copy --no-seal a.scda e.scda")
        .bad(2, "rows were added to it, which only a sealed file can have");
    // Another byte of these rows is a difference.
    let mut all = place.read("a.scda");
    let at = future_rows(&place, "a.scda").unwrap();
    all[at] = b'F';
    place.write("f.scda", all);
    let found = place.scda("diff b.scda f.scda");
    assert!(found.text().contains("byte 0: 0x66 | 0x46") || found.code == 2, "{found:?}");
}

/// The metadata of a dataset whose type is still to be invented tell nothing; what was added to it goes with it.
#[test]
fn what_was_added_to_a_dataset_of_an_unknown_type_is_copied_with_it() {
    let place = Place::new();
    extended(&place, "a.scda");
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::append(Solo, place.path("a.scda"), &params).unwrap();
    let (text, name) = (future("\"int1024\"", 0), format!("new {}", "x".repeat(54)));
    file.block(b"scda dataset 00", 0, text.len() as u64, Some(text.as_bytes()), Encode::None).unwrap();
    let data = file.position().unwrap();
    file.varray(name.as_bytes(), &[1], &[3], None, Source::Contiguous(b"own"), Encode::None).unwrap();
    file.inline(b"scda attributes 00", 0, Some(b"Below: attributes of a dataset.\n")).unwrap();
    let user = scda_format::dataset::additions::later_user(data, &name);
    file.block(user.as_bytes(), 0, 13, Some(b"{\n  \"n\": 2\n}\n"), Encode::None).unwrap();
    file.close().unwrap();
    let user = scda_format::dataset::additions::rows_user(data, &name);
    append_as_others(&place, "a.scda", &future("\"int1024\"", 2), &user);
    place.scda("check --strict a.scda").good();
    let copied = |name: &str, how: &str| {
        place.scda(&format!("copy {how} a.scda {name}")).good();
        let found = place.scda(&format!("check --strict {name}")).good();
        assert!(found.text().contains("int1024"), "{found:?}");
        assert!(future_rows(&place, name).is_some());
    };
    copied("b.scda", "");
    place.scda("diff a.scda b.scda").good();
    copied("c.scda", "--delete rho --delete c/p");
    let diff = place.scda("diff a.scda c.scda");
    assert!((diff.code, diff.text().lines().count()) == (1, 2), "{diff:?}");
}

/// A dataset in chunks with rows that were added twice, each after a seal. Returns how many bytes are before the last seal.
fn chunked(place: &Place, name: &str) -> usize {
    let path = place.path(name);
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
    let mut end = 0;
    for turn in 0..3_u32 {
        let mut dataset = Dataset::new("rho", DataType::Uint8, [2, 300]);
        dataset.layout = Layout::Chunked { shape: Some(vec![2, 300]), text: false };
        dataset.codec = Codec::Zlib;
        dataset.extends = turn > 0;
        let data: Vec<u8> = (0..600_u32).map(|i| (i * i * 7 + i * turn) as u8 ^ (i / 3) as u8).collect();
        file.dataset(&dataset, &[IndexBox::all(&[2, 300])], &data).unwrap();
        file.flush().unwrap();
        end = file.position().unwrap() as usize;
        file.commit().unwrap();
    }
    file.close().unwrap();
    end
}

#[test]
fn rows_that_no_seal_covers_stay_those_of_their_dataset() {
    let place = Place::new();
    let last_seal = chunked(&place, "sealed.scda");
    place.scda("salvage --no-seal sealed.scda rows.scda").good();
    place.write("tail.scda", &place.read("sealed.scda")[..last_seal]);
    place.make("plain.scda", r#"{"sections": [{"type": "B", "user": "first", "data_text": "1"}]}"#);
    place.scda("append plain.scda rows.scda").good();
    for command in ["copy --delete first plain.scda out.scda", "copy -f --unsealed tail.scda out.scda"] {
        place.scda(command).good();
        place.scda("seal out.scda").good();
        let diff = place.scda("diff out.scda sealed.scda");
        assert!(diff.code == 0, "{command}: {diff:?}");
    }
    for command in [
        "copy -f --decode plain.scda out.scda",
        "copy -f --delete rho plain.scda out.scda",
        "copy -f --unsealed --chunk 1,300 tail.scda out.scda",
    ] {
        let run = place.scda(command);
        assert!(
            run.code == 2 && run.err.contains("found rows of a dataset that is not copied unchanged"),
            "{command}: {run:?}"
        );
    }
    place.scda("diff out.scda sealed.scda").good();
}

#[test]
fn rows_that_no_seal_makes_count_are_decoded() {
    let place = Place::new();
    let last_seal = chunked(&place, "sealed.scda");
    let all = place.read("sealed.scda");
    place.scda("salvage --no-seal sealed.scda plain.scda").good();
    // The second rows are not sealed.
    let mut tail = all[..last_seal].to_vec();
    clear_superblock(0, &mut tail);
    place.write("tail.scda", &tail);
    let seal_commands =
        ["seal bad.scda", "copy -f --seal bad.scda out.scda", "append --seal bad.scda other.scda"];
    let tail_commands = ["copy -f --seal --unsealed bad.scda out.scda"];
    chunked(&place, "other.scda");
    for (name, check, commands) in
        [("plain.scda", "check", &seal_commands[..]), ("tail.scda", "check --unsealed", &tail_commands[..])]
    {
        let good = place.read(name);
        place.scda(&format!("{check} {name}")).good();
        // In the stream of the last chunk, after which is less; and the number of rows before the last ones.
        let stream = good.len() - 100;
        let number = good.windows(18).rposition(|bytes| bytes == b"\"scda_first_row\":4").unwrap() + 17;
        for (at, byte, words) in
            [(stream, good[stream] ^ 1, "chunk 0: "), (number, b'3', "found the first row 3, expected 4")]
        {
            let mut bad = good.clone();
            bad[at] = byte;
            place.write("bad.scda", &bad);
            let found = place.scda(&format!("{check} bad.scda")).bad(1, "");
            assert!(
                found.text().contains(", rows of the dataset \"rho\", ") && found.text().contains(words),
                "{name}: {found:?}"
            );
            for command in commands {
                let run = place.scda(command);
                assert!(run.code == 1 && run.err.contains(words), "{name}, {command}: {run:?}");
                assert!(
                    place.read("bad.scda") == bad && !place.path("out.scda").exists(),
                    "{name}, {command}"
                );
            }
            let run = place.scda("salvage -f --seal bad.scda saved.scda");
            assert!(run.err.contains(words) && run.err.contains("is not sealed"), "{name}: {run:?}");
        }
    }
    place.scda("seal plain.scda").good();
    place.scda("diff plain.scda sealed.scda").good();
}
