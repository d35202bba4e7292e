//! What is damaged gets into no sealed file, where a seal would make it look valid.

use crate::run::{Place, Run};
use scda::{DataType, Dataset, Hdf5, IndexBox, Solo, WriteOptions, Writer};
use serde_json::Value;

const SECTIONS: &str = r#"{"user": "a run", "sealed": true, "sections": [
  {"type": "G", "user": "/", "attributes": {"title": "a run"}},
  {"type": "I", "user": "step", "data_text": "thirty-two bytes of inline data\n"},
  {"type": "B", "user": "block", "data_text": "a block\n"},
  {"type": "B", "user": "block", "encoded": true, "data_text": "another block"},
  {"type": "A", "user": "array", "N": 10, "E": 8, "generate": "counter"},
  {"type": "V", "user": "pair", "encoded": true, "elements_text": ["abc", "", "defgh"]},
  {"type": "D", "user": "flow/density", "data_type": "float64", "shape": [2, 3], "attributes": {"units": "kg m-3"},
   "values": [1, 2, 3, 1.5, 2.5, 3.5]},
  {"type": "D", "user": "flow/cells", "data_type": "uint64", "shape": [40], "chunk": [10], "generate": "counter"}
]}"#;

/// Sections that are written to another file, and what must not change then.
const COMMANDS: [(&str, &str); 9] = [
    ("copy bad.scda out.scda", ""),
    ("copy --no-seal bad.scda out.scda", ""),
    ("copy --decode bad.scda out.scda", ""),
    ("copy --encode 6 bad.scda out.scda", ""),
    ("copy --encode auto --chunk auto bad.scda out.scda", ""),
    ("copy --style mime bad.scda out.scda", ""),
    ("join good.scda bad.scda -o out.scda", ""),
    ("append sealed.scda good.scda bad.scda", "sealed.scda"),
    ("append --seal plain.scda bad.scda", "plain.scda"),
];

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// Where the sections of a file are, as seals have them: compressed pairs are one.
fn sections(place: &Place, name: &str) -> Vec<(usize, usize)> {
    let report = place.scda(&format!("ls --json --raw {name}")).good().json();
    let mut sections: Vec<(usize, usize)> = Vec::new();
    let mut is_second = false;
    for section in report["sections"].as_array().unwrap() {
        let start = number(&section["offset"]);
        let end = start + number(&section["stored_bytes"]);
        let user = section["user"].as_str().unwrap();
        match user {
            // A part of the header.
            "scda hdf5 00" => continue,
            "scda hdf5 view 00" | "scda index 00" => break,
            _ => {}
        }
        match sections.last_mut().filter(|_| is_second) {
            Some(last) => last.1 = end,
            None => sections.push((start, end)),
        }
        is_second = user.ends_with("compressed scda 00");
    }
    sections
}

/// Files to read and to write.
fn prepared() -> (Place, Vec<u8>) {
    let place = Place::new();
    place.make("good.scda", SECTIONS);
    place.scda("copy good.scda sealed.scda").good();
    place.scda("copy --no-seal good.scda plain.scda").good();
    let good = place.read("good.scda");
    (place, good)
}

/// Runs a command on a file with this byte changed: nothing is written, and no file left.
fn refused(place: &Place, good: &[u8], at: usize, change: u8, command: &str, unchanged: &str) -> Run {
    let mut bad = good.to_vec();
    bad[at] ^= change;
    place.write("bad.scda", bad);
    let names = place.names();
    let before = (!unchanged.is_empty()).then(|| place.read(unchanged));
    let run = place.scda(command);
    assert_eq!((run.code, place.names()), (1, names), "{command}, byte {at}: {run:?}");
    assert!(before.is_none_or(|before| before == place.read(unchanged)), "{command}, byte {at}");
    run
}

#[test]
fn flipped_bits_are_not_copied() {
    let (place, good) = prepared();
    let sections = sections(&place, "good.scda");
    assert_eq!(sections.len(), 11);
    let mut tried = 0;
    for (count, &(start, end)) in (1..).zip(&sections) {
        // Headers, sizes, data and padding, and all of what is short.
        let places = (start..end).step_by(((end - start) / 7).max(1)).chain([end - 1]);
        for (turn, at) in places.enumerate() {
            // A letter of the JSON, a number, or any byte: not all commands at each place.
            for (command, unchanged) in COMMANDS.iter().skip((turn + count) % 3).step_by(3) {
                let run = refused(&place, &good, at, 1 << (at % 8), command, unchanged);
                let found = good[at] ^ 1 << (at % 8);
                let words = format!("byte {at}: ");
                let section = format!("scda: bad.scda: section {count} (");
                let ends =
                    format!("found 0x{found:02x}, expected 0x{:02x}, according to the checksum", good[at]);
                for words in [&section, &words, &ends] {
                    assert!(run.err.contains(words.as_str()), "{command}, byte {at}, {words}: {}", run.err);
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 270, "{tried}");
}

/// What is appended gets a seal of its own, and that of the damaged section still tells.
#[test]
fn attributes_that_are_appended_hide_no_flipped_bits() {
    let (place, good) = prepared();
    let sections = sections(&place, "good.scda");
    // The attributes that are changed, and everything else.
    for (start, end) in &sections[..2] {
        refused(&place, &good, (start + end) / 2, 1, "attr bad.scda / x=1", "bad.scda");
    }
    let (start, end) = sections[7];
    refused(&place, &good, (start + end) / 2, 1, "attr bad.scda flow/density x=1", "bad.scda");
    for (start, end) in &sections[3..] {
        let mut bad = good.clone();
        bad[(start + end) / 2] ^= 1;
        place.write("bad.scda", bad);
        place.scda("attr bad.scda / x=1").good();
        let found = place.scda("check bad.scda").bad(1, "");
        assert!(found.text().contains("according to the checksum"), "{found:?}");
    }
}

#[test]
fn a_damaged_header_or_seal_is_not_copied() {
    let (place, good) = prepared();
    let index = good.windows(16).position(|bytes| bytes == b"A scda index 00 ").unwrap();
    for (command, unchanged) in COMMANDS.into_iter().chain([("attr bad.scda / x=1", "bad.scda")]) {
        // The user string of the file, and the table after the sections.
        let run = refused(&place, &good, 34, 1, command, unchanged);
        assert!(run.err.contains("bad.scda: header of the file: byte 34: "), "{command}: {}", run.err);
        let run = refused(&place, &good, index + 128 + 300, 1, command, unchanged);
        assert!(run.err.contains("bad.scda: seal 1: byte "), "{command}: {}", run.err);
    }
    // Without its seal, nothing tells what is damaged: no file that is sealed gets sections of it.
    for command in [
        "copy --seal bad.scda out.scda",
        "copy --seal --select 1-3 bad.scda out.scda",
        "join good.scda bad.scda -o out.scda",
        "append sealed.scda bad.scda",
    ] {
        let run = refused(&place, &good, good.len() - 288 + 96 + 3, 1, command, "sealed.scda");
        assert!(
            run.err.contains("bad.scda: ") && run.err.contains("the seal at the end of the file is damaged"),
            "{command}: {}",
            run.err
        );
    }
}

#[test]
fn a_damaged_section_may_be_left_out() {
    let (place, good) = prepared();
    let mut bad = good.clone();
    bad[sections(&place, "good.scda")[5].0 + 200] ^= 1;
    place.write("bad.scda", bad);
    for command in ["copy --delete array", "copy --select block"] {
        place.scda(&format!("{command} bad.scda out.scda")).good();
        place.scda("check out.scda").good();
        std::fs::remove_file(place.path("out.scda")).unwrap();
    }
}

#[test]
fn sealed_sections_before_others_are_compared() {
    let (place, good) = prepared();
    let all = sections(&place, "good.scda");
    let (header, section) = (all[0].0, all[4]);
    let plain = place.read("plain.scda");
    // Two seals, and sections that none seals.
    place.scda("append sealed.scda good.scda").good();
    let sealed = [&place.read("sealed.scda")[..], &plain[128..]].concat();
    place.write("tail.scda", &sealed);
    place.scda("copy --seal --unsealed tail.scda out.scda").good();
    place.scda("check out.scda").good();
    std::fs::remove_file(place.path("out.scda")).unwrap();
    for (at, count) in [(section.1 - 1, 5), (good.len() + section.1 - header - 1, 16)] {
        let run = refused(&place, &sealed, at, 1, "copy --seal --unsealed bad.scda out.scda", "sealed.scda");
        assert!(run.err.contains(&format!("bad.scda: section {count} (")), "{}", run.err);
    }
}

#[test]
fn what_salvage_saves_is_whole() {
    let (place, good) = prepared();
    let sections = sections(&place, "good.scda");
    for (start, end) in sections {
        for at in [start, start + 40, end - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            place.write("bad.scda", bad);
            let run = place.scda("salvage bad.scda out.scda");
            assert!(run.code == 0 && run.err.contains(&format!("byte {at}: ")), "{run:?}");
            place.scda("check out.scda").good();
            std::fs::remove_file(place.path("out.scda")).unwrap();
        }
    }
}

/// Records, added rows, and attributes set later, of which any byte may be damaged.
#[test]
fn what_salvage_saves_of_additions_is_valid() {
    let place = Place::new();
    let mut params = WriteOptions::default();
    (params.seal, params.hdf5) = (true, Hdf5::Never);
    let mut file = Writer::create(Solo, place.path("good.scda"), b"", &params).unwrap();
    file.group("flow", r#"{"title":"first"}"#).unwrap();
    let mut rho = Dataset::new("flow/rho", DataType::Int32, [4, 3]);
    for extends in [false, false, true] {
        rho.extends = extends;
        file.dataset(&rho, &[IndexBox::all(&[4, 3])], &[7; 48]).unwrap();
        file.commit().unwrap();
    }
    file.set_attributes("flow/rho", -1, r#"{"units":"kg"}"#).unwrap();
    file.group("flow", r#"{"title":"last"}"#).unwrap();
    file.close().unwrap();
    let good = place.read("good.scda");
    let sections = place.scda("ls --raw good.scda").good().text().lines().count() - 2;
    for at in (128..good.len()).step_by(23) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        place.write("bad.scda", bad);
        let checked = place.scda("check bad.scda");
        assert_eq!(checked.code, 1, "{at}: {checked:?}");
        let saved = place.scda("salvage -f bad.scda out.scda");
        // The datasets that are whole are not called invalid for the damage elsewhere.
        assert!(saved.code == 0 && !saved.text().contains("as it is"), "{at}: {saved:?}");
        place.scda("check --strict out.scda").good();
        // Damage costs what it is in, wherever it is.
        let whole: usize =
            saved.text().split_once(": ").unwrap().1.split_once(" of ").unwrap().0.parse().unwrap();
        assert!(whole + 3 >= sections, "{at}: {saved:?}");
    }
}

/// What `scda check` finds only if it decodes: compressed sections, chunks of numbers and texts, and bools.
const DECODED: &str = r#"{"user": "a run", "sealed": false, "sections": [
  {"type": "B", "user": "block", "encoded": true, "data_text": "a block that is compressed, compressed, compressed"},
  {"type": "A", "user": "array", "N": 20, "E": 8, "encoded": true, "generate": "counter"},
  {"type": "V", "user": "varray", "encoded": true, "elements_text": ["abc", "", "defgh"]},
  {"type": "D", "user": "flow/cells", "data_type": "uint64", "shape": [400], "chunk": [100], "codec": "zstd",
   "generate": "counter"},
  {"type": "D", "user": "flow/zlib", "data_type": "uint64", "shape": [40], "chunk": [10], "codec": "zlib",
   "generate": "counter"},
  {"type": "D", "user": "flow/array", "data_type": "uint32", "shape": [4, 20], "encoded": true, "generate": "counter"},
  {"type": "D", "user": "names", "data_type": "string", "shape": [4], "chunk": [2], "codec": "zstd",
   "values": ["one", "two", "three", "four, four, four, four"]},
  {"type": "D", "user": "mask", "data_type": "bool", "shape": [100], "generate": "zeros"}
]}"#;

/// Commands whose output is sealed, and which file that is.
const SEALING: [(&str, &str); 9] = [
    ("copy --seal bad.scda out.scda", "out.scda"),
    ("copy --seal --decode bad.scda out.scda", "out.scda"),
    ("copy --seal --encode 6 bad.scda out.scda", "out.scda"),
    ("copy --seal --style mime bad.scda out.scda", "out.scda"),
    ("join --seal good.scda bad.scda -o out.scda", "out.scda"),
    ("append sealed.scda bad.scda", "sealed.scda"),
    ("append --seal plain.scda good.scda bad.scda", "plain.scda"),
    ("append --seal bad.scda good.scda", "bad.scda"),
    ("seal bad.scda", "bad.scda"),
];

#[test]
fn what_cannot_be_decoded_is_not_sealed() {
    let place = Place::new();
    place.make("good.scda", DECODED);
    place.scda("copy --seal good.scda sealed.scda").good();
    let (good, sealed) = (place.read("good.scda"), place.read("sealed.scda"));
    let sections = sections(&place, "good.scda");
    assert_eq!(sections.len(), 13);
    let mut refused = vec![0; sections.len()];
    for (index, &(start, end)) in sections.iter().enumerate() {
        for (turn, at) in (start..end).step_by(((end - start) / 9).max(1)).enumerate() {
            let mut bad = good.clone();
            bad[at] ^= 2;
            place.write("bad.scda", &bad);
            let before = place.scda("check bad.scda");
            // Also paddings and line breaks.
            let strict = place.scda("check --strict bad.scda");
            for (command, to) in SEALING.iter().skip((turn + index) % 3).step_by(3) {
                let plain = [("bad.scda", &bad), ("plain.scda", &good), ("sealed.scda", &sealed)];
                plain.iter().for_each(|(name, data)| drop(place.write(name, data)));
                let run = place.scda(command);
                if run.code == 0 {
                    // What nobody notices, or what is noticed without decoding.
                    let after = place.scda(&format!("check --strict {to}"));
                    let codes = before.code..=strict.code;
                    assert!(codes.contains(&after.code), "{command}, byte {at}: {codes:?}, {after:?}");
                } else {
                    assert_eq!((run.code, before.code), (1, 1), "{command}, byte {at}: {run:?}");
                    plain.iter().for_each(|(name, data)| assert!(place.read(name) == **data, "{command}"));
                    refused[index] += 1;
                }
                let _ = std::fs::remove_file(place.path("out.scda"));
            }
        }
    }
    // The blocks of metadata say what is wrong with them also when they are sealed.
    for data in [0, 1, 2, 4, 6, 8, 10, 12] {
        assert!(refused[data] > 0, "{refused:?}");
    }
}

#[test]
fn what_cannot_be_decoded_is_said_as_check_says_it() {
    let place = Place::new();
    place.make("good.scda", DECODED);
    place.scda("copy --seal good.scda sealed.scda").good();
    let good = place.read("good.scda");
    for (start, end) in sections(&place, "good.scda").into_iter().skip(4).step_by(2) {
        let mut bad = good.clone();
        // The last section has bools.
        bad[end - 50] ^= 2;
        place.write("bad.scda", &bad);
        let found = place.scda("check bad.scda").bad(1, "");
        let words = found.text().lines().next().unwrap().replace("INVALID: ", "");
        assert!(words.contains(": byte ") && words.contains("section "), "{start}: {words}");
        for command in [
            "copy --seal bad.scda out.scda",
            "join --seal good.scda bad.scda -o out.scda",
            "append sealed.scda bad.scda",
        ] {
            place.scda(command).bad(1, &format!("scda: {words}; scda salvage saves what is intact"));
        }
        // Without a seal it is copied as it is, and a part of the file that is whole gets a seal.
        place.scda("copy bad.scda out.scda").good();
        place.scda("copy --force --seal --select 1-3 bad.scda out.scda").good();
        place.scda("check --strict out.scda").good();
        std::fs::remove_file(place.path("out.scda")).unwrap();
    }
}

#[test]
fn sections_after_a_seal_or_from_another_file_are_decoded() {
    let place = Place::new();
    place.make("good.scda", DECODED);
    place.scda("copy --seal good.scda sealed.scda").good();
    let (good, sealed) = (place.read("good.scda"), place.read("sealed.scda"));
    let (_, end) = sections(&place, "good.scda")[6];
    let mut bad = good.clone();
    bad[end - 50] ^= 2;
    place.write("bad.scda", &bad);
    place.scda("copy --seal bad.scda out.scda").bad(1, "bad.scda: section ");
    // Sections that no seal has, after others.
    place.write("tail.scda", [&sealed[..], &good[128..]].concat());
    place.scda("copy --seal --unsealed tail.scda out.scda").good();
    place.scda("check --strict out.scda").good();
    place.write("tail.scda", [&sealed[..], &bad[128..]].concat());
    let run =
        place.scda("copy --seal --unsealed --force tail.scda out.scda").bad(1, "tail.scda: section 20 (");
    assert!(run.err.contains("dataset \"flow/zlib\": chunk "), "{}", run.err);
}
