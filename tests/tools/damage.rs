//! Files that are cut, damaged or something else.

use crate::run::{Place, Run, vector, vectors, with_few_elements, with_sections};
use serde_json::Value;

/// Numbers that look like chance.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[test]
fn valid_files_are_valid() {
    let place = Place::new();
    for file in vectors("") {
        let run = place.scda(&format!("check {file}")).good();
        assert!(run.text().starts_with(&format!("{file}: valid: ")), "{}", run.text());
        let strict = place.scda(&format!("check --strict {file}"));
        assert_eq!(strict.code, i32::from(file.contains("wild")), "{}", strict.text());
    }
    let wild = place.scda(&format!("check --strict {}", vector("raw.wild.scda")));
    assert!(
        wild.text().contains("INVALID: header of the file: byte 30: file header: found "),
        "{}",
        wild.text()
    );
}

#[test]
fn strict_looks_at_each_padding_and_line_break() {
    let place = Place::new();
    let text = r#"{"sections": [
      {"type": "V", "user": "v", "encoded": true, "elements_text": ["abc"]},
      {"type": "A", "user": "a", "N": 1, "E": 3, "data_text": "abc"}]}"#;
    place.with_input("make - a.scda", text.as_bytes()).good();
    let good = place.read("a.scda");
    // What no reader looks at: each byte of it is changed in turn. Compressed data are not bound to one form.
    let raw = place.scda("ls --json --raw --data a.scda").good().json();
    let text = usize::try_from(raw["sections"][1]["data_offset"].as_u64().unwrap()).unwrap();
    let length = usize::try_from(raw["sections"][1]["bytes"].as_u64().unwrap()).unwrap();
    let mut changed = 0;
    for index in (32..good.len()).filter(|index| !(text..text + length - 2).contains(index)) {
        let mut bytes = good.clone();
        bytes[index] ^= 0x10;
        place.write("b.scda", &bytes);
        if place.scda("check b.scda").code == 0 && place.scda("diff -q a.scda b.scda").code == 0 {
            changed += 1;
            let run = place.scda("check --strict b.scda");
            assert!(run.code == 1, "byte {index}");
            assert!(run.text().contains(&format!("byte {index}: ")), "{index}: {}", run.text());
        }
    }
    // The two bytes after each of the 11 headers and counts, of the line of the element; paddings of 4 data.
    assert!(changed > 100, "{changed}");
}

#[test]
fn each_corrupt_vector_is_found_out() {
    let place = Place::new();
    let expected = std::fs::read_to_string(vector("corrupt/EXPECTED.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    for file in vectors("corrupt") {
        let name = file.rsplit('/').next().unwrap().strip_suffix(".scda").unwrap();
        let words = expected[name].as_str().unwrap_or_else(|| panic!("{name}"));
        let run = place.scda(&format!("check --json {file}"));
        let report = run.json();
        if words.starts_with("any") {
            continue;
        }
        assert_eq!((run.code, &report["valid"]), (1, &Value::Bool(false)), "{file}");
        let kind = report["findings"][0]["error"]["kind"].as_str().unwrap();
        let kinds: &[&str] = match words.split([' ', ',', ':']).next().unwrap() {
            "format" => &["not a valid scda file"],
            "unsupported" => &["unsupported version of the scda format"],
            "short" => &["short file: it ends before its sections do", "count, product or sum out of range"],
            "range" | "beyond" => &["count, product or sum out of range"],
            _ => &[
                "compressed section breaks the compression convention",
                "short file: it ends before its sections do",
            ],
        };
        assert!(kinds.contains(&kind), "{name}: {kind}, expected {words}");
        let run = place.scda(&format!("check {file}"));
        assert!(run.text().contains("INVALID") && run.text().contains(": byte "), "{}", run.text());
        assert_eq!((run.code, run.err.as_str()), (1, ""));
        // Others say so, too; what is JSON stays JSON.
        for data in ["", "--data", "--raw --data"] {
            let run = place.scda(&format!("ls --json {data} {file}"));
            assert_eq!(run.code != 0, run.json()["error"].is_object(), "{file}: {}", run.text());
            assert!(run.code == 1 || data != "--data", "{file}");
            assert!(run.code == 0 || place.with_input("make - copy.scda", &run.out).code == 2);
        }
        place.scda(&format!("sum {file}")).bad(1, "scda: ");
        place.scda(&format!("copy --encode 1 {file} copy.scda")).bad(1, "scda: ");
        place.scda(&format!("diff {file} {file}")).bad(2, "scda: ");
        assert_eq!(place.names(), [] as [&str; 0]);
    }
}

#[test]
fn a_damaged_element_is_named() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    let list = place.scda("ls --json a.scda").good().json();
    let raw = place.scda("ls --json --raw --data a.scda").good().json();
    let good = place.read("a.scda");
    for (number, broken) in [(5_usize, 123_usize), (7, 77)] {
        let section = &list["sections"][number - 1];
        // The sizes as they are in the file tell where the element is.
        let data_offset = section["data_offset"].as_u64().unwrap();
        let stored = raw["sections"].as_array().unwrap();
        let stored = stored.iter().find(|section| section["data_offset"] == data_offset).unwrap();
        let sizes: Vec<u64> =
            stored["sizes"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
        let at = usize::try_from(data_offset + sizes[..broken].iter().sum::<u64>()).unwrap();
        let mut bytes = good.clone();
        bytes[at + 3] = b'!';
        place.write("b.scda", &bytes);
        let run = place.scda("check b.scda");
        let user = section["user"].as_str().unwrap();
        let words = format!("(\"{user}\"), element {broken}: byte {at}: compressed element: found text");
        let words = words.replace("(\"", if number == 5 { "(array \"" } else { "(varray \"" });
        assert!(run.code == 1 && run.text().contains(&words), "{}\n{words}", run.text());
        let whole = format!(
            "whole up to section {}, byte {}; {} after that",
            number - 1,
            section["offset"],
            10 - number
        );
        assert!(run.text().contains(&whole), "{}\n{whole}", run.text());

        // What is whole can be saved: all but this section.
        let run = place.scda("salvage -f b.scda c.scda").bad_or_good();
        assert!(run.err.contains(&words), "{}", run.err);
        place.scda("check c.scda").good();
        place.shell(&format!("scda copy -f -s 1-{} -s {}- a.scda d.scda", number - 1, number + 1)).good();
        assert!(place.read("c.scda") == place.read("d.scda"));
    }
}

impl Run {
    /// Something was said, and yet it was done.
    #[track_caller]
    fn bad_or_good(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }
}

#[test]
fn a_file_is_cut_anywhere() {
    let place = Place::new();
    with_few_elements(&place, "a.scda");
    let good = place.read("a.scda");
    let list = place.scda("ls --json a.scda").good().json();
    let ends: Vec<usize> = list["sections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|section| {
            usize::try_from(section["offset"].as_u64().unwrap() + section["stored_bytes"].as_u64().unwrap())
                .unwrap()
        })
        .collect();
    assert_eq!(ends.last(), Some(&good.len()));
    for cut in (0..good.len()).step_by(32).chain([1, 127, 129, good.len() - 1]) {
        place.write("b.scda", &good[..cut]);
        let whole = ends.iter().filter(|&&end| end <= cut).count();
        let end = if cut < 128 { 0 } else { whole.checked_sub(1).map_or(128, |last| ends[last]) };
        let run = place.scda("check --json b.scda");
        let report = run.json();
        assert_eq!(run.code, i32::from(end != cut || cut == 0), "{cut}");
        assert_eq!(report["whole"]["bytes"], end, "{cut}: {report}");
        assert_eq!(report["whole"]["sections"], whole, "{cut}");
        if cut % 64 == 0 {
            let listed = place.scda("ls b.scda");
            assert_eq!(listed.code, i32::from(end != cut || cut == 0), "{cut}");
            if cut >= 128 {
                assert_eq!(listed.text().lines().count(), 2 + whole);
            }
            let saved = place.scda("salvage -f b.scda c.scda");
            assert_eq!(saved.code, i32::from(cut < 128), "{cut}: {saved:?}");
            if cut >= 128 {
                assert!(place.read("c.scda") == good[..end], "{cut}");
            }
        }
    }
}

#[test]
fn any_damage_is_an_answer_and_never_a_crash() {
    let place = Place::new();
    with_few_elements(&place, "a.scda");
    let mut state = 20;
    for file in ["a.scda", &vector("mixed.mime.scda")] {
        let good = std::fs::read(if file == "a.scda" { place.path(file) } else { file.into() }).unwrap();
        for round in 0..60 {
            let mut bytes = good.clone();
            for _ in 0..=round % 4 {
                let at = usize::try_from(random(&mut state) % bytes.len() as u64).unwrap();
                let values = [b'0', b'9', b'-', b' ', b'\n', u8::try_from(random(&mut state) & 255).unwrap()];
                bytes[at] = values[usize::try_from(random(&mut state) % 6).unwrap()];
            }
            if round % 5 == 0 {
                bytes.truncate(usize::try_from(random(&mut state) % bytes.len() as u64).unwrap());
            }
            place.write("b.scda", &bytes);
            // `Run` sees to it that each ends with 0, 1 or 2.
            let check = place.scda("check b.scda");
            for command in [
                "ls -l b.scda",
                "ls --json --data b.scda",
                "sum b.scda",
                "check --strict b.scda",
                "copy -f --encode 1 b.scda c.scda",
                "diff a.scda b.scda",
                "cat b.scda 4 --as hex",
                "salvage -f b.scda d.scda",
            ] {
                let run = place.scda(command);
                assert!(
                    check.code == 0 || !command.starts_with("copy") || run.code != 0,
                    "{command}: {}",
                    check.text()
                );
                if command.starts_with("salvage") && run.code == 0 {
                    place.scda("check d.scda").good();
                }
            }
        }
    }
}

#[test]
fn what_is_before_damage_is_there() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    let data = place.scda("cat a.scda array").good().out;
    let bytes = place.read("a.scda");
    place.write("cut.scda", &bytes[..bytes.len() - 40]);
    let run = place.scda("cat cut.scda array").bad(0, "scda: cut.scda: byte ");
    assert!(run.out == data && run.err.lines().count() == 1, "{}", run.err);
    place.scda("cat cut.scda varray*").bad(2, "2 sections are meant by that");
    place.scda("cat cut.scda nothing").bad(1, "scda: cut.scda: byte ");
    for json in ["", "--json"] {
        place.scda(&format!("ls {json} -s 1-4 cut.scda")).good();
        place.scda(&format!("ls {json} cut.scda")).bad(1, "scda: cut.scda: byte ");
    }
    // Its own damage is said once: that of the first size.
    let list = place.scda("ls --json a.scda").good().json();
    let at = usize::try_from(list["sections"][5]["offset"].as_u64().unwrap()).unwrap();
    let mut broken = bytes.clone();
    broken[at + 64 + 32] = b'?';
    place.write("cut.scda", &broken);
    let run = place.scda("cat cut.scda varray").bad(1, "byte ");
    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    // Directly behind the last section that is wanted.
    let mut broken = bytes.clone();
    broken[at] = b'?';
    place.write("cut.scda", &broken);
    place.scda("ls -s 2-5 cut.scda").good();
    place.scda("ls -s 2-6 cut.scda").bad(1, "byte ");
}

#[test]
fn half_a_compressed_section_is_no_section() {
    let place = Place::new();
    // Without the second half, the two sections after it; and where nothing tells its end, none.
    for (name, words, saved) in [
        ("enc-U-bad", "whole up to the end of the header, byte 128; 2 after that", "2 of 3"),
        ("enc-pair-type", "only the header is whole, up to byte 128", "0 of 1"),
    ] {
        let file = vector(&format!("corrupt/{name}.scda"));
        let run = place.scda(&format!("check {file}"));
        assert!(run.code == 1 && run.text().ends_with(&format!("{file}: {words}\n")), "{}", run.text());
        let report = place.scda(&format!("check --json {file}")).json();
        assert_eq!(format!("{} of {}", report["whole_sections"], report["sections"]), saved);
        assert_eq!(
            (report["findings"].as_array().unwrap().len(), &report["whole"]["sections"]),
            (1, &0.into())
        );
        let run = place.scda(&format!("salvage -f {file} saved.scda"));
        assert!(
            run.code == 0 && run.text().starts_with(&format!("saved.scda: {saved} sections, ")),
            "{run:?}"
        );
        let list = place.scda("ls --raw saved.scda").good();
        assert!(!list.text().contains("blk"), "{}", list.text());
    }
}

#[test]
fn a_size_beyond_memory_costs_no_other_section() {
    let place = Place::new();
    let text = r#"{"sections": [
      {"type": "I", "user": "i", "data_text": "thirty-two bytes of inline data\n"},
      {"type": "B", "user": "b", "encoded": true, "E": 4000000, "generate": "random"},
      {"type": "A", "user": "a", "N": 1, "E": 3, "data_text": "abc"}]}"#;
    place.with_input("make - a.scda", text.as_bytes()).good();
    let mut bytes = place.read("a.scda");
    let at = bytes.windows(10).position(|part| part == b"U 4000000 ").unwrap();
    bytes[at..at + 13].copy_from_slice(b"U 4000000000 ");
    place.write("b.scda", &bytes);
    // With memory for what is claimed, the data are found to be fewer.
    let few = "ulimit -v 1000000; scda";
    let run = place.shell(&format!("{few} check --threads 1 b.scda")).bad(2, "");
    let words =
        "b.scda: NOT CHECKED: section 2 (block \"b\"): not enough memory: cannot allocate 4000000000 bytes";
    assert!(run.text().starts_with(words) && run.text().contains("; 1 after that"), "{}", run.text());
    let report = place.shell(&format!("{few} check --json --threads 1 b.scda")).bad(2, "").json();
    assert_eq!(report["valid"], Value::Null);
    let run = place.shell(&format!("{few} salvage --threads 1 b.scda c.scda"));
    assert!(run.code == 0 && run.text().starts_with("c.scda: 2 of 3 sections, "), "{run:?}");
    place.scda("copy -s 1,3 a.scda d.scda").good();
    assert!(place.read("c.scda") == place.read("d.scda"));
}

#[test]
fn the_worst_of_several_files_counts() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    place.write("b.scda", &place.read("a.scda")[..200]);
    let run = place.scda("check a.scda b.scda a.scda").bad(1, "");
    assert_eq!(run.text().lines().count(), 4, "{}", run.text());
    let run = place.scda("check b.scda missing.scda a.scda").bad(2, "scda: missing.scda: ");
    assert!(
        run.text().ends_with(&format!("a.scda: valid: 10 sections, {} bytes\n", place.read("a.scda").len()))
    );
    place.scda("check /").bad(2, "scda: /: ");
    place.scda("check /dev/null").bad(2, "device or pipe");
    assert_eq!(place.scda("check -q a.scda b.scda").bad(1, "").text().lines().count(), 2);
    assert_eq!(place.scda("ls missing.scda a.scda").bad(2, "missing").text().lines().count(), 13);
}
