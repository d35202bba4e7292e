//! What is written comes back, however it was written.

use crate::run::{Place, vector, vectors, with_sections};
use crate::sampled::one_of;

#[test]
fn copies_have_the_same_data_and_say_so() {
    let place = Place::new();
    with_sections(&place, "kinds.scda");
    let mut files = vectors("");
    files.push("kinds.scda".to_owned());
    let encodings = ["", "--decode", "--encode 0", "--encode 9 --encoder zlib", "--encode auto"];
    let styles = ["", "--style unix", "--style mime"];
    let pairs: Vec<_> =
        encodings.iter().flat_map(|encoding| styles.map(|style| (*encoding, style))).collect();
    for (number, file) in files.into_iter().enumerate() {
        for &(encoding, style) in pairs.iter().skip(number % one_of(4)).step_by(one_of(4)) {
            let run = place.scda(&format!("copy -f {encoding} {style} {file} copy.scda"));
            // Without the seals, of which a file may have any number.
            let size = |name: &str| -> u64 {
                let list = place.scda(&format!("ls --json --raw {name}")).good().json();
                let sections = list["sections"].as_array().unwrap().iter();
                let own = sections.filter(|section| {
                    let user = section["user"].as_str().unwrap_or("");
                    !["scda anchors 00", "scda names 00", "scda index 00", "scda seal 00"].contains(&user)
                });
                own.map(|section| section["stored_bytes"].as_u64().unwrap()).sum()
            };
            let compresses_all = encoding.starts_with("--encode") && encoding != "--encode auto";
            let tells = compresses_all && size("copy.scda") > size(&file);
            assert!(run.code == 0 && run.err.contains("compression turned") == tells, "{run:?}");
            assert_eq!(place.scda(&format!("diff {file} copy.scda")).good().text(), "");
            // Compressed data of strange style stay as they are, if not told otherwise.
            if !file.contains("wild") || !style.is_empty() || !encoding.is_empty() {
                place.scda("check --strict copy.scda").good();
            }
            let list = place.scda("ls --json copy.scda").good().json();
            let mut before = "";
            for section in list["sections"].as_array().unwrap() {
                // Groups and streams are not compressed, and datasets say so of their chunks.
                let user = section["user"].as_str().unwrap_or("");
                let is_chunks = std::mem::replace(&mut before, user) == "scda streams 00";
                if section["type"] == "G"
                    || section["type"] == "D"
                    || is_chunks
                    || ["scda streams 00", "scda stream bytes 00"].contains(&user)
                {
                    continue;
                }
                let may = section["type"] != "I";
                assert!(encoding != "--decode" || section["encoded"] == false);
                assert!(!compresses_all || section["encoded"] == may);
                let (bytes, stored) = (&section["bytes"], &section["stored_bytes"]);
                let is_smaller = stored.as_u64() < bytes.as_u64().map(|bytes| bytes + 128);
                assert!(encoding != "--encode auto" || section["encoded"] == false || is_smaller);
            }
        }
        place.scda(&format!("copy -f {file} copy.scda")).good();
        // Of several seals it has one.
        if (file.contains("unix") || file.contains("mime")) && !file.contains("sealed") {
            // As it was, byte for byte, but for the name of the writer.
            assert!(place.read("copy.scda")[32..] == std::fs::read(&file).unwrap()[32..], "{file}");
        }
    }
}

#[test]
fn differences_are_found_and_named() {
    let place = Place::new();
    let make = |name: &str, sections: &str| {
        let text = format!("{{\"user\": \"u\", \"sections\": [{sections}]}}");
        place.make(name, &text);
    };
    let array =
        |data: &str| format!(r#"{{"type": "A", "user": "a", "N": 4, "E": 2, "data_text": "{data}"}}"#);
    let block = r#"{"type": "B", "user": "b", "encoded": true, "data_text": "block"}"#;
    make("a.scda", &format!("{}, {block}", array("abcdefgh")));
    make("b.scda", &format!("{}, {block}", array("abcdeXgh")));
    let found = place.scda("diff a.scda b.scda");
    assert_eq!(found.text(), "section 1 (array \"a\"): element 2, byte 1: 0x66 | 0x58\n");
    assert_eq!((found.code, found.err.as_str()), (1, ""));
    assert_eq!(place.scda("diff -q a.scda b.scda").bad(1, "").text(), "");

    make("b.scda", &array("abcdefgh"));
    let found = place.scda("diff a.scda b.scda").bad(1, "");
    assert_eq!(found.text(), "only in a.scda: section 2: block of 5 bytes, \"b\"\n");
    let varray = |elements: &str| format!(r#"{{"type": "V", "user": "v", "elements_text": {elements}}}"#);
    make("a.scda", &varray(r#"["", "ab", "", "cdef"]"#));
    make("b.scda", &varray(r#"["", "abc", "", "def"]"#));
    let found = place.scda("diff a.scda b.scda").bad(1, "");
    assert_eq!(found.text(), "section 1 (varray \"v\"): element 1: 2 bytes | 3 bytes\n");
    make("b.scda", &varray(r#"["", "ab", "", "cdxf"]"#));
    let found = place.scda("diff a.scda b.scda").bad(1, "");
    assert_eq!(found.text(), "section 1 (varray \"v\"): element 3, byte 2: 0x65 | 0x78\n");

    // Compressed or not is a difference in the files only.
    assert_eq!(place.scda("copy --encode 2 a.scda c.scda").code, 0);
    place.scda("diff a.scda c.scda").good();
    assert!(place.read("a.scda") != place.read("c.scda"));
    place.scda("diff a.scda missing.scda").bad(2, "scda: missing.scda: ");
    place.write("not.scda", "something else");
    place.scda("diff a.scda not.scda").bad(2, "not an scda file");
    // Data that are damaged are trouble, also where the headers differ already, and after a difference.
    for name in ["element-size", "element-adler", "element-character"] {
        let file = place.bad_data(&format!("{name}.scda"));
        for other in ["raw.unix.scda", "mixed.unix.scda"] {
            place.scda(&format!("diff {file} {}", vector(other))).bad(2, &format!("{name}.scda: byte "));
            place.scda(&format!("diff {} {file}", vector(other))).bad(2, &format!("{name}.scda: byte "));
        }
    }
    // One of two is compressed, and has no bytes.
    let empty = r#"{"type": "B", "user": "b", "data_text": ""}"#;
    make("a.scda", empty);
    make("b.scda", &empty.replace("\"data", "\"encoded\": true, \"data"));
    place.scda("diff a.scda b.scda").good();
    let mut bytes = place.read("b.scda");
    let at = bytes.windows(4).rposition(|part| part == b"AAAA").unwrap();
    bytes[at] = b'?';
    place.write("c.scda", bytes);
    place.scda("diff a.scda c.scda").bad(2, "scda: c.scda: byte ");
    place.scda("diff c.scda a.scda").bad(2, "scda: c.scda: byte ");
}

#[test]
fn sections_are_joined_and_appended() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    let (raw, mixed) = (vector("raw.unix.scda"), vector("mixed.mime.scda"));
    place.scda(&format!("join a.scda {raw} {mixed} -o all.scda")).good();
    place.scda("check --strict all.scda").good();
    let sections = |files: &[&str]| -> Vec<String> {
        let of_file = |file: &&str| {
            let list = place.scda(&format!("ls --json {file}")).good().json();
            let mut all = list["sections"].as_array().unwrap().clone();
            for section in &mut all {
                let number = section["number"].clone();
                let is_place = |key: &str| ["number", "offset", "data_offset", "stored_bytes"].contains(&key);
                section.as_object_mut().unwrap().retain(|key, _| !is_place(key));
                section["data"] = place.scda(&format!("cat {file} {number}")).good().out.into();
            }
            all.into_iter().map(|section| section.to_string())
        };
        files.iter().flat_map(of_file).collect()
    };
    let expected = sections(&["a.scda", &raw, &mixed]);
    assert_eq!(sections(&["all.scda"]), expected);
    std::fs::set_permissions(place.path("a.scda"), std::os::unix::fs::PermissionsExt::from_mode(0o640))
        .unwrap();
    place.scda(&format!("append a.scda {raw} {mixed}")).good();
    assert!(place.read("a.scda") == place.read("all.scda"));
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&place.path("a.scda").metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o640);

    // Some sections; and parts of a file make it anew.
    place.scda("copy -s 1-10 all.scda first.scda").good();
    place.scda("copy -s 11- all.scda rest.scda").good();
    place.scda("join first.scda rest.scda -o again.scda").good();
    assert!(place.read("again.scda") == place.read("all.scda"));
    place.scda("append -s varray* rest.scda first.scda").good();
    assert_eq!(sections(&["rest.scda"])[105..], expected[5..7]);

    // A damaged file is not appended, and the old file stays.
    let before = place.read("rest.scda");
    let bytes = place.read("all.scda");
    place.write("cut.scda", &bytes[..bytes.len() - 32]);
    place.scda("append rest.scda cut.scda").bad(1, "scda: cut.scda: byte ");
    place.scda("append rest.scda missing.scda").bad(2, "missing.scda");
    assert!(place.read("rest.scda") == before);
    place.scda("join all.scda cut.scda -o none.scda").bad(1, "");
    place.scda("copy -s 200 all.scda none.scda").bad(2, "beyond its 115 sections");
    place.scda("copy -s nothing all.scda none.scda").bad(2, "matches none of its sections");
    place.scda("join -s nothing all.scda -o none.scda").bad(2, "no section");
    place.scda("append -s nothing rest.scda all.scda").bad(2, "no section");
    assert!(!place.path("none.scda").exists());
    // Nor is anything left behind.
    assert!(place.names().iter().all(|name| name.ends_with(".scda")), "{:?}", place.names());
}

#[test]
fn a_file_that_exists_is_not_replaced_unless_told_so() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    place.write("old", "something precious");
    for command in ["copy a.scda old", "join a.scda -o old", "salvage a.scda old"] {
        place.scda(command).bad(2, "scda: old: the file exists; --force replaces it");
        assert_eq!(place.read("old"), b"something precious");
    }
    for command in ["copy -f a.scda old", "join -f a.scda -o old", "salvage -f a.scda old"] {
        place.write("old", "something precious");
        place.scda(command);
        assert_eq!(place.read("old")[..8], *b"scdata0 ", "{command}");
    }
    // Onto itself.
    place.scda("copy -f --decode a.scda a.scda").good();
    place.scda("check a.scda").good();
    assert_eq!(place.names(), ["a.scda", "old"]);
}

#[test]
fn a_file_that_a_program_writes_is_not_replaced() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    place.scda("copy a.scda b.scda").good();
    place.shell("ln -s a.scda soft").good();
    let before = place.read("a.scda");
    for command in [
        "attr a.scda / x=1",
        "copy -f a.scda a.scda",
        "copy -f a.scda soft",
        "copy -f - a.scda <a.scda",
        "join -f b.scda a.scda -o a.scda",
    ] {
        let run = place.while_written("a.scda", || place.shell(&format!("scda {command}")));
        run.bad(2, ": another program is writing the file");
        assert!(place.read("a.scda") == before, "{command}");
    }
    place.while_written("a.scda", || place.shell("scda attr a.scda / && scda copy a.scda c.scda").good());
    // Programs for HDF5 lock the file to read it.
    place
        .shell("scda copy --seal a.scda s.scda && flock -s s.scda scda attr s.scda / x=1 && rm s.scda")
        .good();
    place.write("a.scda", &before);
    // One that does not ask for the lock writes while the pipe is read.
    let is_open = "ls -l /proc/$!/fd | grep -q deleted"; // the copy of the pipe
    let line = format!(
        "mkfifo pipe; scda join -f a.scda - -o a.scda <pipe & exec 3>pipe
        for i in $(seq 3000); do {is_open} && break; sleep 0.01; done; sleep 0.1
        touch a.scda; cat b.scda >&3; exec 3>&-; wait $!"
    );
    place.shell(&line).bad(2, "a.scda: the file was changed by another program; it stays as it is");
    assert!(place.read("a.scda") == before);
    assert_eq!(place.names(), ["a.scda", "b.scda", "c.scda", "pipe", "soft"]);
}

#[test]
fn what_an_incomplete_write_has_left_is_not_removed_while_it_is_read() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    let left = place.read("a.scda");
    let long = "x".repeat(246);
    for name in ["b.scda", "link", &long] {
        std::os::unix::fs::symlink("nowhere", place.path("link")).unwrap();
        let part = scda::part_path(&place.path(name)).file_name().unwrap().to_str().unwrap().to_owned();
        assert!(name != "link" || part == "nowhere.scda-part");
        place.write(&part, &left);
        for command in [
            format!("copy {part} {name}"),
            format!("copy ./{part} {name}"),
            format!("join a.scda {part} -o {name}"),
        ] {
            let force = if name == "link" { " -f" } else { "" };
            place.scda(&format!("{command}{force}")).bad(2, "was left by an incomplete write of");
            assert!(place.read(&part) == left);
        }
        place.shell(&format!("scda copy -f - {name} <{part}")).bad(2, "standard input: was left by");
        assert!(place.read(&part) == left);
        assert!(!place.path(name).exists());
        std::fs::remove_file(place.path("link")).unwrap();
        std::fs::remove_file(place.path(&part)).unwrap();
    }
    place.write("a.scda.scda-part", &left);
    place.scda("append a.scda a.scda.scda-part").bad(2, "was left by an incomplete write of");
    // Another file's may be read, and salvaged all may be.
    place.scda("copy a.scda.scda-part c.scda").good();
    place.scda("salvage a.scda.scda-part d.scda").good();
    assert_eq!(place.names(), ["a.scda", "a.scda.scda-part", "c.scda", "d.scda"]);
    assert!(place.read("a.scda") == left && place.read("a.scda.scda-part") == left);
}

#[test]
fn salvage_replaces_files_only_and_not_the_damaged_one() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    with_sections(&place, "a.scda");
    let bytes = place.read("a.scda");
    let bytes = &bytes[..bytes.len() - 32];
    place.write("cut.scda", bytes);
    place.shell("mkfifo pipe; ln cut.scda hard; ln -s cut.scda soft").good();
    place.scda("salvage -f a.scda pipe").bad(2, "scda: pipe: a folder, pipe or device, not a file");
    place.scda("salvage -f a.scda .").bad(2, "scda: .: a folder");
    for name in ["cut.scda", "hard", "soft"] {
        place.scda(&format!("salvage -f cut.scda {name}")).bad(2, "is the damaged file itself");
        place.shell(&format!("scda salvage -f - {name} <cut.scda")).bad(2, "is the damaged file itself");
    }
    assert!(place.read("cut.scda") == bytes);
    let long = "é".repeat(127);
    for name in ["old", &long] {
        place.write(name, "something");
        std::fs::set_permissions(place.path(name), PermissionsExt::from_mode(0o600)).unwrap();
        assert_eq!(place.scda(&format!("salvage -f cut.scda {name}")).code, 0);
        place.scda(&format!("check {name}")).good();
        assert_eq!(place.path(name).metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(place.names(), ["a.scda", "cut.scda", "hard", "old", "pipe", "soft", &long]);
}

#[test]
fn auto_compresses_what_gets_smaller_and_growing_is_said() {
    let place = Place::new();
    // Longer than what is read at once, so that the file is read again to find out.
    let text = r#"{"sections": [
      {"type": "A", "user": "zeros", "N": 300000, "E": 16, "generate": "zeros"},
      {"type": "A", "user": "noise", "N": 300000, "E": 16, "generate": "random"},
      {"type": "A", "user": "large noise", "N": 5, "E": 1000000, "generate": "random"},
      {"type": "V", "user": "large zeros", "N": 40, "generate_size_min": 100000, "generate_size_max": 200000, "generate": "zeros"},
      {"type": "V", "user": "more noise", "N": 40, "generate_size_min": 100000, "generate_size_max": 200000, "generate": "random"}]}"#;
    place.make("a.scda", text);
    let encoded = |name: &str| -> Vec<bool> {
        let list = place.scda(&format!("ls --json {name}")).good().json();
        list["sections"].as_array().unwrap().iter().map(|section| section["encoded"] == true).collect()
    };
    place.scda("copy --encode auto a.scda auto.scda").good();
    assert_eq!(encoded("auto.scda"), [false, false, false, true, false]);
    place.scda("diff a.scda auto.scda").good();
    let (before, after) = (place.read("a.scda").len(), place.read("auto.scda").len());
    assert!(after < before, "{before} {after}");
    // What was compressed and should not be is plain again.
    let run = place.scda("join --encode 1 -s 2 a.scda -o all.scda");
    place.scda("copy -s 2 a.scda one.scda").good();
    let (before, grown) = (place.read("one.scda").len(), place.read("all.scda").len());
    let words = format!("scda: all.scda: compression turned {before} bytes into {grown}; --encode auto ");
    assert!(run.code == 0 && run.err.starts_with(&words), "{run:?}\n{words}");
    place.scda("join --encode auto all.scda -o again.scda").good();
    assert!(place.read("again.scda") == place.read("one.scda"));
    place.scda("copy --encode 1 -s 4 a.scda small.scda").good();
}

/// Whoever may not read a file may not read what is made from it.
#[test]
fn files_made_from_private_ones_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let text = r#"{"sections": [{"type": "D", "user": "d", "data_type": "uint8", "shape": [4], "chunk": [2], "generate": "counter"}]}"#;
    place.write("data", b"x");
    place.make("a.scda", text);
    place.make("b.scda", text);
    let set = |name: &str, mode| {
        std::fs::set_permissions(place.path(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    let mode = |name: &str| place.path(name).metadata().unwrap().permissions().mode() & 0o777;
    for own in [0o600, 0o640, 0o644] {
        ["a.scda", "data"].iter().for_each(|name| set(name, own));
        for command in [
            "copy a.scda out.scda",
            "copy --codec lz4 - out.scda <a.scda",
            "salvage a.scda out.scda",
            "join b.scda a.scda -o out.scda",
            "join-streams data -o out.scda --name s",
        ] {
            let out = "out.scda";
            let _ = std::fs::remove_file(place.path(out));
            place.shell(&format!("umask 022; scda {command}")).good();
            assert_eq!(mode(out), own, "{command}");
            std::fs::remove_file(place.path(out)).unwrap();
            place.shell(&format!("umask 077; scda {command}")).good();
            assert_eq!(mode(out), 0o600, "{command}");
        }
    }
    // A pipe tells nothing.
    place.shell("rm out.scda; umask 022; scda copy b.scda - | scda copy - out.scda").good();
    assert_eq!(mode("out.scda"), 0o644);
}

/// A terminal obeys some characters, also those of C1 and those that turn text around.
#[test]
fn json_shows_nothing_that_a_terminal_would_obey() {
    let place = Place::new();
    let name = "a\u{9b}31m\u{202e}b\u{7f}";
    let text = serde_json::json!({"sections": [
        {"type": "D", "user": "d", "data_type": "uint8", "shape": [1], "values": [1], "dimension_names": [name],
         "attributes": {name: [name, 1.50]}},
        {"type": "B", "user": name, "data_text": name},
    ]});
    place.make("a.scda", text.to_string());
    place.make("b.scda", r#"{"sections": []}"#);
    for command in
        ["ls --json a.scda", "ls --json b.scda a.scda", "check --json a.scda", "attr --json a.scda d"]
    {
        let run = place.scda(command);
        let shown = run.text().to_owned() + &run.err;
        assert!(shown.chars().all(|c| c == '\n' || !scda_base::error::is_unseen(c)), "{command}: {shown:?}");
    }
    let json = place.scda("ls --json a.scda").good();
    assert!(json.text().contains("a\\u009b31m\\u202eb\\u007f"), "{json:?}");
    assert_eq!(json.json()["sections"][1]["user"], name);
}
