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
    place.make("a.scda", text);
    let good = place.read("a.scda");
    // What no reader looks at: each byte of it is changed in turn. Compressed data are not bound to one form.
    let raw = place.scda("ls --json --raw a.scda").good().json();
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
fn each_bad_file_is_found_out() {
    let expected = std::fs::read_to_string(vector("../bad-data/expected.json")).unwrap();
    let expected: serde_json::Map<String, Value> = serde_json::from_str(&expected).unwrap();
    let mut wrong = Vec::new();
    for (name, expected) in expected {
        let place = Place::new();
        let file = place.bad_data(&name);
        let run = place.scda(&format!("check --json {file}"));
        let report = run.json();
        let found = &report["findings"][0]["error"];
        let is_right = match expected["error"].as_str() {
            // Not complete.
            None => {
                let left =
                    std::fs::metadata(place.path(&file)).unwrap().len() - report["bytes"].as_u64().unwrap();
                let is_whole = report["whole"]["sections"] == expected["whole"] && found.is_null();
                run.code == 1 && report["complete"] == false && is_whole && expected["left_out"] == left
            }
            // What it cannot read may be right.
            Some("unsupported") => run.code == 0 && report["notes"].is_array(),
            Some(_) => {
                // Of one byte that was changed, it tells which.
                let is_there =
                    |found: &Value| ["offset", "byte"].iter().any(|key| found["offset"] == expected[*key]);
                let mut findings = report["findings"].as_array().unwrap().iter();
                run.code == 1
                    && report["valid"] == false
                    && found["code"] == expected["code"]
                    && findings.any(|found| is_there(&found["error"]))
                    && (report["whole"]["sections"] == expected["whole"]
                        || expected["whole"] == 0
                        || expected["reader"] == "dataset")
            }
        };
        if !is_right {
            wrong.push(format!("{name}: {} {report}\n   {expected}", run.code));
        }
        assert_eq!(run.err, "");
        if expected["reader"] != "plain" && expected["reader"] != "decode" {
            continue;
        }
        // Others say so, too; what is JSON stays JSON.
        for raw in ["", "--raw"] {
            let run = place.scda(&format!("ls --json {raw} {file}"));
            assert_eq!(run.code != 0, run.json()["error"].is_object(), "{file}: {}", run.text());
        }
        place.scda(&format!("copy --encode 1 {file} copy.scda")).bad(1, "scda: ");
        place.scda(&format!("diff {file} {file}")).bad(2, "scda: ");
        assert_eq!(place.names(), [file]);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_damaged_element_is_named() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    let list = place.scda("ls --json a.scda").good().json();
    let good = place.read("a.scda");
    for (number, broken) in [(5_usize, 123_usize), (7, 77)] {
        let section = &list["sections"][number - 1];
        // The sizes as they are in the file tell where the element is.
        let data_offset = section["data_offset"].as_u64().unwrap();
        let sizes = place.sizes("a.scda", data_offset);
        let at = usize::try_from(data_offset).unwrap() + sizes[..broken].iter().sum::<usize>();
        let mut bytes = good.clone();
        bytes[at + 3] = b'!';
        place.write("b.scda", &bytes);
        let run = place.scda("check b.scda");
        let user = section["user"].as_str().unwrap();
        let kind = if number == 5 { "array" } else { "varray" };
        let n = section["N"].as_u64().unwrap();
        let words = format!(
            "({kind} \"{user}\", N {n}), element {broken}: byte {at}: compressed element: found text"
        );
        assert!(run.code == 1 && run.text().contains(&words), "{}\n{words}", run.text());
        let whole = format!(
            "intact up to section {}, byte {}, and {} section{} after the damage; scda salvage saves what is intact",
            number - 1,
            section["offset"],
            10 - number,
            if number == 9 { "" } else { "s" }
        );
        assert!(run.text().contains(&whole), "{}\n{whole}", run.text());

        assert!(
            run.text().contains(&format!("intact in section {number}: the first {broken} of {n} elements\n"))
        );

        // What is whole can be saved: all but this section, of which it is what is before the damage.
        let run = place.scda("salvage -f b.scda c.scda").bad_or_good();
        assert!(run.err.contains(&words), "{}", run.err);
        let shorter = format!("of section {number}, only the first {broken} of {n} elements\n");
        assert!(run.text().ends_with(&shorter), "{}", run.text());
        place.scda("check c.scda").good();
        let others = format!("-s 1-{} -s {}-", number - 1, number + 1);
        place
            .shell(&format!("scda copy -f {others} a.scda d.scda; scda copy -f {others} c.scda e.scda"))
            .good();
        assert!(place.read("d.scda") == place.read("e.scda"));
        let before = place.scda(&format!("cat a.scda {number} --range :{broken}")).good().out;
        assert!(place.scda(&format!("cat c.scda {number}")).good().out == before);
        // The same is read of the damaged file, and what follows the damage.
        assert!(place.scda(&format!("cat b.scda {number}")).bad(1, "scda: b.scda: byte ").out == before);
        let after = format!("{number} --range {}:", broken + 1);
        let expected = place.scda(&format!("cat a.scda {after}")).good().out;
        assert!(place.scda(&format!("cat b.scda {after}")).good().out == expected);
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
    let mut shorter = 0;
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
                // And what is intact of the section that is cut.
                let saved = place.read("c.scda");
                assert!(saved[..end] == good[..end], "{cut}");
                let sections = place.scda("check --json c.scda").good().json()["sections"].as_u64().unwrap();
                let more = report["findings"][0]["whole_elements"].as_u64().unwrap_or(0) > 0;
                assert_eq!(sections, (whole + usize::from(more)) as u64, "{cut}");
                assert!(more || saved.len() == end, "{cut}");
                shorter += usize::from(more);
            }
        }
    }
    // Of arrays and varrays, plain and compressed.
    assert!(shorter > 15, "{shorter}");
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
                "ls b.scda",
                "ls --json b.scda",
                "check --strict b.scda",
                "copy -f --encode 1 b.scda c.scda",
                "diff a.scda b.scda",
                "cat b.scda 4 --as text",
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
    place.scda("cat cut.scda varray*").bad(2, "found 2 sections that match");
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
    // Directly after the last section that is wanted.
    let mut broken = bytes.clone();
    broken[at] = b'?';
    place.write("cut.scda", &broken);
    place.scda("ls -s 2-5 cut.scda").good();
    place.scda("ls -s 2-6 cut.scda").bad(1, "byte ");
}

#[test]
fn half_a_compressed_section_is_no_section() {
    let place = Place::new();
    // Without the second half, the section after it.
    for (name, words, saved) in [
        (
            "pair-number",
            "intact up to section 1, byte 224, and 1 section after the damage; scda salvage saves what is intact",
            "2 of 3",
        ),
        ("pair-type", "intact up to section 1, byte 224; scda salvage saves what is intact", "1 of 2"),
    ] {
        let file = place.bad_data(&format!("{name}.scda"));
        let run = place.scda(&format!("check {file}"));
        assert!(run.code == 1 && run.text().ends_with(&format!("{file}: {words}\n")), "{}", run.text());
        let report = place.scda(&format!("check --json {file}")).json();
        assert_eq!(format!("{} of {}", report["whole_sections"], report["sections"]), saved);
        assert_eq!(
            (report["findings"].as_array().unwrap().len(), &report["whole"]["sections"]),
            (1, &1.into())
        );
        let run = place.scda(&format!("salvage -f {file} saved.scda"));
        assert!(
            run.code == 0 && run.text().starts_with(&format!("saved.scda: {saved} sections, ")),
            "{run:?}"
        );
        let list = place.scda("ls --raw saved.scda").good();
        assert!(!list.text().contains("compressed scda"), "{}", list.text());
    }
}

#[test]
fn a_size_beyond_memory_costs_no_other_section() {
    let place = Place::new();
    let text = r#"{"sections": [
      {"type": "I", "user": "i", "data_text": "thirty-two bytes of inline data\n"},
      {"type": "B", "user": "b", "encoded": true, "E": 4000000, "generate": "random"},
      {"type": "A", "user": "a", "N": 1, "E": 3, "data_text": "abc"}]}"#;
    place.make("a.scda", text);
    let mut bytes = place.read("a.scda");
    let at = bytes.windows(10).position(|part| part == b"U 4000000 ").unwrap();
    bytes[at..at + 13].copy_from_slice(b"U 4000000000 ");
    place.write("b.scda", &bytes);
    // With memory for what is claimed, the data are found to be fewer.
    let few = "ulimit -v 1000000; scda";
    let run = place.shell(&format!("{few} check --threads 1 b.scda")).bad(2, "");
    let words =
        "b.scda: NOT CHECKED: section 2 (block \"b\"): not enough memory: cannot allocate 4000000000 bytes";
    assert!(
        run.text().starts_with(words) && run.text().contains(", and 1 section after the damage; "),
        "{}",
        run.text()
    );
    let report = place.shell(&format!("{few} check --json --threads 1 b.scda")).bad(2, "").json();
    assert_eq!(report["valid"], Value::Null);
    let run = place.shell(&format!("{few} salvage --threads 1 b.scda c.scda"));
    assert!(run.code == 0 && run.text().starts_with("c.scda: 2 of 3 sections, "), "{run:?}");
    place.scda("copy -s 1,3 a.scda d.scda").good();
    assert!(place.read("c.scda") == place.read("d.scda"));
    // The same with a limit, whatever the machine has.
    let run = place.scda("check --max-memory 3000000 b.scda").bad(2, "");
    let words = "the file asks for 4000000000 bytes of memory, more than max_memory, 3000000";
    assert!(run.text().contains("NOT CHECKED: section 2") && run.text().contains(words), "{}", run.text());
    place.scda("cat --max-memory 3000000 b.scda 2").bad(2, words);
    place.scda("cat --max-memory 3000000 a.scda 2").bad(2, "the file asks for 4000000 bytes of memory");
    place.scda("cat --max-memory 20000000 a.scda 2").good();
}

#[test]
fn the_worst_of_several_files_counts() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    place.write("b.scda", &place.read("a.scda")[..200]);
    let run = place.scda("check a.scda b.scda a.scda").bad(1, "");
    assert_eq!(run.text().lines().count(), 4, "{}", run.text());
    let run = place.scda("check b.scda missing.scda a.scda").bad(2, "scda: missing.scda: ");
    assert!(run.text().ends_with(&format!(
        "a.scda: valid: 10 sections, {} bytes; sections missing at its end would not be noticed\n",
        place.read("a.scda").len()
    )));
    place.scda("check /").bad(2, "scda: /: ");
    place.scda("check /dev/null").bad(2, "device or pipe");
    assert_eq!(place.scda("check -q a.scda b.scda").bad(1, "").text().lines().count(), 2);
    assert_eq!(place.scda("ls missing.scda a.scda").bad(2, "missing").text().lines().count(), 13);
}

#[test]
fn a_cut_section_is_named_and_its_elements_are_read() {
    let place = Place::new();
    for (kind, n) in [
        (r#""type": "A", "N": 100, "E": 24"#, 100),
        (r#""type": "V", "N": 50, "generate_size_min": 20, "generate_size_max": 20"#, 50),
    ] {
        for encoded in ["", r#""encoded": true, "#] {
            let text = format!(
                r#"{{"sections": [{{"type": "B", "user": "b", "E": 0}},
              {{{kind}, {encoded}"user": "field", "generate": "random"}}]}}"#
            );
            place.make("a.scda", &text);
            let bytes = place.read("a.scda");
            place.write("cut.scda", &bytes[..bytes.len() - 500]);
            let word = if n == 100 { "array" } else { "varray" };
            let run = place.scda("check cut.scda").bad(1, "");
            let words = format!("cut.scda: INVALID: section 2 ({word} \"field\", N {n}), element ");
            assert!(run.text().starts_with(&words), "{}", run.text());
            let report = place.scda("check --json cut.scda").bad(1, "").json();
            let finding = &report["findings"][0];
            assert_eq!((&finding["user"], &finding["N"]), (&"field".into(), &n.into()));
            let whole = finding["whole_elements"].as_u64().unwrap();
            assert!(whole > n / 3 && whole < n && finding["element"] == whole, "{finding}");
            for range in [format!("--range 0:{whole}"), "--range 3:7".to_owned()] {
                let expected = place.scda(&format!("cat a.scda field {range}")).good().out;
                for section in ["2", "field"] {
                    assert!(place.scda(&format!("cat cut.scda {section} {range}")).good().out == expected);
                }
            }
            // All that is there, and then an error.
            let all = place.scda(&format!("cat a.scda field --range :{whole}")).good().out;
            assert!(place.scda("cat cut.scda field").bad(1, "scda: cut.scda: byte ").out == all);
            place.scda(&format!("cat cut.scda field --range {whole}:")).bad(1, "scda: cut.scda: byte ");
            let run = place.scda("salvage -f cut.scda saved.scda").bad_or_good();
            let words = format!("saved.scda: of section 2, only the first {whole} of {n} elements\n");
            assert!(run.text().ends_with(&words), "{}", run.text());
            assert!(place.scda("cat saved.scda field").good().out == all);
            let list = place.scda("ls --json saved.scda").good().json();
            assert_eq!(list["sections"][1]["encoded"], !encoded.is_empty());
        }
    }
    // A plain block is read as far as it goes, but not saved: no part of it is a whole.
    place.make("a.scda", r#"{"sections": [{"type": "B", "data_text": "0123456789"}]}"#);
    place.write("cut.scda", &place.read("a.scda")[..128 + 96 + 4]);
    assert_eq!(place.scda("cat cut.scda 1").bad(1, "block: found the end").text(), "0123");
    assert!(place.scda("salvage -f cut.scda saved.scda").bad_or_good().text().contains("0 of 1 sections"));
}

#[test]
fn one_bad_size_hides_no_other_element() {
    let place = Place::new();
    let text = r#"{"sections": [{"type": "V", "user": "field", "N": 50, "encoded": true, "generate": "random",
      "generate_size_min": 100, "generate_size_max": 100}, {"type": "B", "E": 0}]}"#;
    place.make("a.scda", text);
    let list = place.scda("ls --json --raw a.scda").good().json();
    let first = usize::try_from(list["sections"][0]["data_offset"].as_u64().unwrap()).unwrap();
    let second = usize::try_from(list["sections"][1]["offset"].as_u64().unwrap()).unwrap() + 64 + 32;
    for entries in [first, second] {
        let mut bytes = place.read("a.scda");
        bytes[entries + 20 * 32] = b'?';
        place.write("b.scda", &bytes);
        let run = place.scda("check b.scda").bad(1, "");
        let words = "b.scda: INVALID: section 1 (varray \"field\", N 50), element 20: byte ";
        assert!(run.text().starts_with(words), "{}", run.text());
        let expected = place.scda("cat a.scda field --range :20").good().out;
        assert!(place.scda("cat b.scda field --range :20").good().out == expected);
        assert!(place.scda("cat b.scda field").bad(1, "count entry").out == expected);
        place.scda("salvage -f b.scda saved.scda").bad_or_good();
        assert!(place.scda("cat saved.scda field").good().out == expected);
        // The other entries tell where the elements after it are, if it is one of the first.
        let after = place.scda("cat a.scda field --range 21:").good().out;
        let run = place.scda("cat b.scda field --range 21:");
        assert_eq!((run.code, run.out == after), if entries == first { (0, true) } else { (1, false) });
    }
    // Where even the kind is not known, the user string is.
    let text = r#"{"sections": [{"type": "A", "user": "field", "N": 5, "E": 8, "encoded": true, "generate": "zeros"}]}"#;
    place.make("a.scda", text);
    let mut bytes = place.read("a.scda");
    let at = bytes.windows(4).position(|part| part == b"U 8 ").unwrap();
    bytes[at + 2] = b'?';
    place.write("b.scda", &bytes);
    let run = place.scda("check b.scda").bad(1, "");
    assert!(run.text().starts_with("b.scda: INVALID: section 1 (\"field\"): byte "), "{}", run.text());
    assert_eq!(place.scda("check --json b.scda").json()["findings"][0]["user"], "field");
}

#[test]
fn an_empty_compressed_block_is_decoded() {
    let place = Place::new();
    let text = r#"{"sections": [{"type": "B", "user": "b", "encoded": true, "data_text": "nine byte"}]}"#;
    place.make("a.scda", text);
    let empty = text.replace("nine byte", "");
    place.make("empty.scda", &empty);
    place.scda("check empty.scda").good();
    assert_eq!(place.scda("cat empty.scda 1").good().text(), "");
    // A size that is not that of the data, and data that are none.
    let mut size = place.read("a.scda");
    let at = size.windows(4).position(|part| part == b"U 9 ").unwrap();
    size[at + 2] = b'0';
    let mut garbage = place.read("empty.scda");
    let end = garbage.len();
    let at = garbage.windows(4).rposition(|part| part == b"AAAA").unwrap();
    garbage[at..end - 40].fill(b'?');
    for bytes in [size, garbage] {
        place.write("b.scda", bytes);
        let run = place.scda("check b.scda").bad(1, "");
        assert!(run.text().contains("INVALID: section 1 (block \"b\"): byte "), "{}", run.text());
        for command in ["cat b.scda 1", "copy --decode b.scda c.scda"] {
            place.scda(command).bad(1, "scda: b.scda: byte ");
        }
        place.scda("diff b.scda b.scda").bad(2, "scda: b.scda: byte ");
        assert!(place.scda("salvage -f b.scda d.scda").bad_or_good().text().contains("0 of 1 sections"));
    }
    assert!(!place.path("c.scda").exists());
}

/// One bit makes of the symbol for 258 bytes one that RFC 1951 forbids: libdeflate reads both alike.
#[test]
fn what_only_some_decoders_read_is_not_valid() {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let place = Place::new();
    let zeros = "0".repeat(600);
    let text =
        format!(r#"{{"sections": [{{"type": "B", "user": "b", "encoded": true, "data_text": "{zeros}"}}]}}"#);
    place.make("a.scda", &text);
    let good = place.read("a.scda");
    let start = good.windows(4).position(|part| part == b"AAAA").unwrap();
    let length = good[start..].iter().position(|&byte| byte == b'\n').unwrap() - 1;
    // The padding's '=' is followed by the line break's.
    let stored = STANDARD.decode(&good[start..start + length]).unwrap();
    let is_found = (8 * 11..8 * (stored.len() - 4)).any(|bit| {
        let (mut stored, mut file) = (stored.clone(), good.clone());
        stored[bit / 8] ^= 1 << (bit % 8);
        file[start..start + length].copy_from_slice(STANDARD.encode(&stored).as_bytes());
        place.write("b.scda", &file);
        let run = place.scda("cat b.scda 1");
        if run.code != 0 {
            return false;
        }
        assert_eq!(run.text(), zeros);
        let run = place.scda("check b.scda").bad(1, "");
        assert!(run.text().contains("zlib: found a violation of RFC 1951: invalid "), "{}", run.text());
        // What can be read can be saved.
        assert!(place.scda("salvage -f b.scda c.scda").good().text().contains("1 of 1 sections"));
        true
    });
    assert!(is_found);
}

#[test]
fn check_says_what_it_cannot_know() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    let list = place.scda("ls --json a.scda").good().json();
    let end = usize::try_from(list["sections"][5]["offset"].as_u64().unwrap()).unwrap();
    place.write("cut.scda", &place.read("a.scda")[..end]);
    let run = place.scda("check cut.scda").good();
    let words = format!(
        "cut.scda: valid: 5 sections, {end} bytes; sections missing at its end would not be noticed\n"
    );
    assert_eq!(run.text(), words);
    assert_eq!(place.scda("check --json cut.scda").good().json()["complete"], Value::Null);
    assert_eq!(place.scda("check --json a.scda").good().json()["complete"], Value::Null);
    place.write("short.scda", &place.read("a.scda")[..end - 32]);
    assert_eq!(place.scda("check --json short.scda").json()["complete"], false);
}

/// Who asks for a record of the dataset gets that section, and an error.
#[test]
fn a_section_of_the_name_of_a_dataset_is_told() {
    let place = Place::new();
    let dataset = r#"{"type": "D", "user": "d", "data_type": "uint8", "shape": [2], "values": [1, 2]}"#;
    for (kind, other) in [("array", r#""type": "A", "N": 1, "E": 1"#), ("block", r#""type": "B""#)] {
        let other = format!(r#"{{{other}, "user": "d", "data_text": "a"}}"#);
        for (sections, number) in
            [(format!("{other}, {dataset}"), 1), (format!("{dataset}, {other}, {dataset}"), 3)]
        {
            for options in ["--seal", "--no-seal"] {
                let text = format!(r#"{{"sections": [{sections}]}}"#);
                place.make_with(options, "a.scda", text);
                for strict in ["", "--strict"] {
                    let words = format!(
                        "a.scda: INVALID: section {number} ({kind} \"d\"{}): found no metadata before it, but the name of the dataset \"d\"",
                        if kind == "array" { ", N 1" } else { "" }
                    );
                    let run = place.scda(&format!("check {strict} a.scda"));
                    assert!(run.code == 1 && run.text().contains(&words), "{words} {run:?}");
                }
            }
        }
    }
    // Others of one name, and records of a dataset, are right.
    let text = format!(
        r#"{{"sections": [{dataset}, {dataset}, {{"type": "B", "user": "e", "data_text": "a"}}, {{"type": "B", "user": "e", "data_text": "b"}}]}}"#
    );
    place.make("b.scda", &text);
    place.scda("check b.scda").good();
}
