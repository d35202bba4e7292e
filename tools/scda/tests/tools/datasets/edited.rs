//! Datasets that are deleted and replaced, and their attributes.

use super::*;
use crate::skipped::skipped;

#[test]
fn datasets_are_deleted_and_replaced_as_one() {
    let place = Place::new();
    for seal in [false, true] {
        with_datasets(&place, "a.scda", seal);
        let names = |name: &str| -> Vec<String> {
            objects(&place, name).iter().map(|object| object["user"].as_str().unwrap().to_owned()).collect()
        };
        place
            .scda("copy -f --delete flow/* --delete flow/density --delete mask --delete 15 a.scda b.scda")
            .good();
        assert_eq!(names("b.scda"), ["/", "note", "step", "rho", "wave", "raw", "text"]);
        place.scda("check --strict b.scda").good();
        assert_eq!(place.scda("cat b.scda rho --box 0").good().text(), "1\n");
        assert_eq!(place.scda("ls b.scda").good().text().contains(", sealed"), seal);
        // The file itself, which is replaced when the new one is complete.
        place.scda("copy -f --delete rho b.scda b.scda").good();
        assert_eq!(names("b.scda"), ["/", "note", "step", "wave", "raw", "text"]);
        // Either section selects both.
        for select in ["7", "6", "flow/density"] {
            place.scda(&format!("copy -f --select {select} a.scda b.scda")).good();
            assert_eq!(names("b.scda"), ["flow/density"]);
        }
        place.scda("join --select flow/density --select 17 a.scda a.scda -o c.scda -f").good();
        assert_eq!(names("c.scda"), ["flow/density", "rho", "flow/density", "rho"]);
        place.scda("append --select mask c.scda a.scda").good();
        assert_eq!(place.scda("cat c.scda mask").good().text(), "true\nfalse\nfalse\ntrue\n");

        // A dataset of another file in place of one's own.
        let new = r#"{"sections": [{"type": "D", "user": "rho", "data_type": "int8", "shape": [], "values": [9]}]}"#;
        place.make("new.scda", new);
        place.scda("copy -f --delete rho a.scda b.scda").good();
        place.scda("append --select rho b.scda new.scda").good();
        assert_eq!(place.scda("cat b.scda rho").good().text(), "9\n");
        place.scda("check --strict b.scda").good();
        // What a killed command has left is not removed while it is read.
        place.shell("cp new.scda x.scda.scda-part").good();
        let words = "x.scda.scda-part: was left by an incomplete write of x.scda";
        place.scda("copy x.scda.scda-part x.scda").bad(2, words);
        place.shell("cmp new.scda x.scda.scda-part && rm x.scda.scda-part").good();
        let before = place.read("b.scda");
        for (arguments, words) in [
            ("--delete nothing", "--delete: \"nothing\" matches none of its sections"),
            ("--delete 2 --delete 98-99", "--delete: 98-99 matches none of its sections"),
        ] {
            place.scda(&format!("copy -f {arguments} a.scda b.scda")).bad(2, words);
        }
        assert!(place.read("b.scda") == before);
    }
}

#[test]
fn a_group_may_be_named_without_a_slash() {
    let place = Place::new();
    let dataset = |name| {
        format!(r#"{{"type": "D", "user": "{name}", "data_type": "int8", "shape": [1], "values": [1]}}"#)
    };
    let sections = ["flow/u", "flow/v", "else/x"].map(dataset).join(",");
    place.make("a.scda", format!("{{\"sections\": [{sections}]}}"));
    for (name, words) in [
        ("flow", "flow is a group: name one of its datasets: flow/u, flow/v; scda attr shows its attributes"),
        ("else", "else is a group: name one of its datasets: else/x; scda attr shows its attributes"),
        ("flo", "\"flo\": no such section"),
    ] {
        place.scda(&format!("cat a.scda {name}")).bad(2, words);
    }
    place.scda("seal a.scda").good();
    place.scda("attr a.scda flow b=2").bad(2, "there is no dataset or group");
    place.scda("attr a.scda flow/ a=1").good();
    place.scda("cat a.scda flow").bad(2, "flow is a group: name one of its datasets");
    place.scda("attr a.scda flow b=2").good();
    assert_eq!(place.scda("attr --json a.scda flow").good().text(), "{\"a\":1,\"b\":2}\n");
    place.scda("attr a.scda flow --record 0 b=3").bad(2, "there is no dataset or group");
}

/// Sections that are a part of something with a name match none, except with --raw.
#[test]
fn patterns_are_for_names_that_users_gave() {
    let place = Place::new();
    for seal in [false, true] {
        with_datasets(&place, "a.scda", seal);
        if seal {
            place.scda("attr a.scda mask units=K").good();
        }
        let names = |name: &str| -> Vec<String> {
            objects(&place, name).iter().map(|object| object["user"].as_str().unwrap().to_owned()).collect()
        };
        let mut others = names("a.scda");
        others.retain(|name| name != "step");
        place.scda("copy -f --delete s* a.scda b.scda").good();
        assert_eq!(names("b.scda"), others);
        place.scda("copy -f --select s* a.scda b.scda").good();
        assert_eq!(names("b.scda"), ["step"]);
        place.scda("join -f --select s* a.scda a.scda -o c.scda").good();
        place.scda("append --select s* c.scda a.scda").good();
        assert_eq!(names("c.scda"), ["step", "step", "step"]);
        for pattern in ["*0", "scda*", "/1*"] {
            place
                .scda(&format!("copy -f --delete {pattern} a.scda b.scda"))
                .bad(2, "matches none of its sections");
            for command in ["copy -f --select", "ls --select", "ls --json --select"] {
                let out = if command.starts_with("copy") { "b.scda" } else { "" };
                let line = format!("{command} {pattern} a.scda {out}");
                place.scda(&line).bad(2, "--select matches none of its sections");
            }
            place.scda(&format!("cat a.scda {pattern}")).bad(2, "no such section; it has");
        }
        let lines = |arguments: &str| place.scda(arguments).good().text().lines().count();
        // HDF5 does not show one of them.
        assert_eq!(lines("ls --select s* a.scda"), 3 + usize::from(seal));
        assert_eq!(place.scda("cat a.scda s*").good().text(), "-42\n");
        // A section for each group and dataset, and before the attributes if these were appended.
        assert_eq!(lines("ls --raw --select scda* a.scda"), 2 + 11 + 2 * usize::from(seal));
        place.scda("cat --raw a.scda scda*").bad(2, "sections that match");
        place.shell("scda copy -f --delete 'scda group 00' a.scda b.scda").good();
        assert_eq!(names("b.scda").len(), others.len() + 1 - 2);
    }
}

#[test]
fn attributes_are_shown_and_set() {
    let place = Place::new();
    for seal in [false, true] {
        with_datasets(&place, "a.scda", seal);
        let show = |arguments: &str| place.scda(&format!("attr {arguments}")).good().text().to_owned();
        assert_eq!(show("a.scda /"), "title = \"test\"\ntime = 1.50\n");
        assert_eq!(show("a.scda flow/density"), "units = \"kg m-3\"\n");
        assert_eq!(show("a.scda flow/ --json"), "{\"scheme\":\"hydro\"}\n");
        assert_eq!(show("a.scda mask") + &show("a.scda none/"), "");
        if !seal {
            place.scda("attr a.scda / x=1").bad(2, "scda: a.scda: is not sealed; after scda seal");
            continue;
        }
        place.scda("copy -f a.scda b.scda").good();
        let rights = std::os::unix::fs::PermissionsExt::from_mode(0o640);
        std::fs::set_permissions(place.path("b.scda"), rights).unwrap();
        assert_eq!(show("b.scda flow/density time=2.50 units=K flags=[1,{\"a\":null}] empty="), "");
        assert_eq!(
            show("b.scda flow/density"),
            "units = \"K\"\ntime = 2.50\nflags = [1,{\"a\":null}]\nempty = \"\"\n"
        );
        // They are appended to what is sealed; whatever was there stays.
        let begins_with = |old: &[u8]| {
            let new = place.read("b.scda");
            // HDF5 is led to another view.
            let stays = |at: usize| (512..560).contains(&at) || new[at] == old[at];
            new.len() >= old.len() && (0..old.len()).all(stays)
        };
        assert!(begins_with(&place.read("a.scda")));
        let sealed = place.read("b.scda");
        show("b.scda / --remove title");
        assert!(begins_with(&sealed));
        show("b.scda flow/ scheme=\"mhd\"");
        show("b.scda new/ x=1");
        show("b.scda rho --record 1 second=true");
        assert_eq!(
            show("b.scda /") + &show("b.scda flow/") + &show("b.scda new/"),
            "time = 1.50\nscheme = \"mhd\"\nx = 1\n"
        );
        assert_eq!(show("b.scda rho --record 0") + &show("b.scda rho --record -1"), "second = true\n");
        place.scda("check --strict b.scda").good();
        assert!(place.scda("ls b.scda").good().text().contains(", sealed"));
        // In a copy they are those of the datasets, wherever these are then.
        let pairs = |name: &str| {
            place.scda(&format!("ls --raw {name}")).good().text().matches("scda attributes 00").count()
        };
        assert_eq!(pairs("b.scda"), 2);
        assert!(!place.scda("ls b.scda").good().text().contains("scda attributes 00"));
        for copy in ["copy -f --delete note b.scda d.scda", "copy -f --decode --delete note b.scda d.scda"] {
            place.scda(copy).good();
            assert_eq!(pairs("d.scda"), 0);
            place.scda("check --strict d.scda").good();
            let shown =
                |name: &str| show(&format!("{name} flow/density")) + &show(&format!("{name} rho --record 1"));
            assert_eq!(shown("d.scda"), shown("b.scda"));
        }
        place.shell("scda copy -f b.scda d.scda && scda diff b.scda d.scda").good();
        place.shell("rm d.scda").good();
        // It is the same file, not a copy in its place: another link to it shows them, too.
        place.shell("cp b.scda d.scda && ln d.scda e.scda").good();
        show("d.scda / page=2");
        assert_eq!(show("e.scda /"), show("d.scda /"));
        place.shell("rm d.scda e.scda").good();
        let mode = std::os::unix::fs::MetadataExt::mode(&place.path("b.scda").metadata().unwrap());
        assert_eq!(mode & 0o777, 0o640);
        // Nothing else has changed.
        let differences = place.scda("diff a.scda b.scda").bad(1, "").text().lines().count();
        assert_eq!(differences, 8);
        let before = place.read("b.scda");
        for (arguments, words) in [
            ("rho --record 2 a=1", "--record 2: found 2 datasets"),
            ("nothing a=1", "there is no dataset or group named nothing"),
            ("mask a", "expected KEY=VALUE"),
            ("mask =1", "found \"=1\", expected KEY=VALUE"),
            ("mask inf=1e400", "found \"inf=1e400\": number out of range"),
            ("mask a={\"x\":1,\"x\":2}", "found the key \"x\" twice"),
            ("mask --remove a", "--remove: there is no attribute a"),
            ("flow/ --record 0", "--record can be used with datasets only"),
            ("a//b/ a=1", "path of a group"),
        ] {
            place.scda(&format!("attr b.scda {arguments}")).bad(2, words);
        }
        place.scda("attr b.scda note a=1").bad(1, "section \"note\" is not a dataset");
        assert!(place.read("b.scda") == before);
        assert_eq!(place.names(), ["a.scda", "b.scda"]);
    }
}

/// Data elsewhere than before have the same attributes, in a file that is saved from damage, too.
#[test]
fn attributes_are_salvaged() {
    let place = Place::new();
    with_datasets(&place, "a.scda", true);
    place.scda("attr a.scda rho --record 1 units=K").good();
    let mut bytes = place.read("a.scda");
    let at = bytes.windows(5).position(|five| five == b"hello").unwrap();
    bytes[at - 40] ^= 1;
    place.write("a.scda", bytes);
    place.scda("salvage a.scda b.scda");
    assert_eq!(place.scda("attr b.scda rho --record 1").good().text(), "units = \"K\"\n");
    place.scda("check --strict b.scda").good();
}

/// Sections of the user that look like attributes, and attributes whose dataset is not saved, are there.
#[test]
fn nothing_that_looks_like_attributes_is_lost() {
    let place = Place::new();
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::create(Solo, place.path("whole.scda"), b"", &params).unwrap();
    file.block(b"/9/rho", 0, 3, Some(b"own"), scda::Encode::None).unwrap();
    for name in ["rho", "p"] {
        all(&mut file, &Dataset::new(name, DataType::Uint8, [3]), &name.repeat(3).as_bytes()[..3]);
    }
    file.set_attributes("rho", 0, r#"{"units": "m"}"#).unwrap();
    file.set_attributes("rho", 0, r#"{"units": "K"}"#).unwrap();
    file.set_attributes("p", 0, r#"{"units": "Pa"}"#).unwrap();
    file.inline(b"scda attributes 00", 0, Some(b"Below: attributes of a dataset.\n")).unwrap();
    file.block(b"note", 0, 3, Some(b"own"), scda::Encode::None).unwrap();
    file.close().unwrap();
    let whole = place.read("whole.scda");
    let rho = whole.windows(4).position(|bytes| bytes == b"rho\n").unwrap();
    let lines = |place: &Place, word: &str| {
        let shown = place.scda("ls --raw b.scda").good();
        shown.text().lines().filter(|line| line.contains(word)).count()
    };
    for (damaged, saved) in [(None, 0), (Some(rho), 2)] {
        let mut bytes = whole.clone();
        damaged.into_iter().for_each(|at: usize| bytes[at] = b'?');
        place.write("a.scda", &bytes);
        let said = place.scda("salvage -f a.scda b.scda");
        assert_eq!(said.text().matches("are saved as \"salvaged attributes\"").count(), saved, "{said:?}");
        let found =
            ["/9/rho", "salvaged attributes", "note", "scda attributes 00"].map(|word| lines(&place, word));
        assert_eq!(found, [1, saved, 1, 1], "{damaged:?}");
        assert_eq!(place.scda("attr b.scda p").good().text(), "units = \"Pa\"\n");
    }
    // Those of no dataset are in a copy, too.
    for section in ["whole.scda", "a.scda"] {
        place.scda(&format!("salvage -f --no-seal {section} c.scda"));
        place.scda("copy -f c.scda b.scda").good();
        place.shell("cmp c.scda b.scda").good();
    }
}

#[test]
fn attributes_of_no_dataset_are_found() {
    let place = Place::new();
    let mut params = WriteOptions::default();
    params.seal = true;
    let below = b"Below: attributes of a dataset.\n";
    for (user, words) in [
        ("/128/step", "found attributes of no dataset, expected that one's data at byte 128"),
        ("/736/other", "found attributes of no dataset"),
        ("other", "found another section, expected a block with attributes of a dataset"),
    ] {
        let mut file = Writer::create(Solo, place.path("a.scda"), b"", &params).unwrap();
        all(&mut file, &Dataset::new("step", DataType::Int32, []), &[0; 4]);
        file.set_attributes("step", 0, r#"{"units": "s"}"#).unwrap();
        file.inline(b"scda attributes 00", 0, Some(below)).unwrap();
        file.block(user.as_bytes(), 0, 2, Some(b"{}"), scda::Encode::None).unwrap();
        file.close().unwrap();
        let found = place.scda("check a.scda").bad(1, "");
        assert!(found.text().contains(words), "{found:?}");
        assert_eq!(place.scda("attr a.scda step").good().text(), "units = \"s\"\n");
    }
}

/// Whether we may give files away and be somebody else. If not, says so.
fn may_be_others(place: &Place) -> bool {
    let line = "touch it && chown 12345:0 it && rm it && setpriv --reuid 12345 --regid 12345 --clear-groups true && echo yes; true";
    let may = place.shell(line).text() == "yes\n";
    if !may {
        skipped("only root may give a file away and become somebody else");
    }
    may
}

#[test]
fn a_file_that_is_replaced_has_no_more_readers() {
    // Only root can make a file of a group that its owner is not in.
    let place = Place::on_disk();
    if !may_be_others(&place) {
        return;
    }
    with_datasets(&place, "a.scda", false);
    let line = "cp $(command -v scda) . && chmod 777 . && chown 12345:0 a.scda && chmod 664 a.scda
        setpriv --reuid 12345 --regid 12345 --clear-groups ./scda copy -f a.scda a.scda
        stat -c '%u %g %a' a.scda";
    assert_eq!(place.shell(line).good().text(), "12345 12345 604\n");
}

#[test]
fn compressed_chunks_wait_beside_the_file_that_a_link_names() {
    // To others than root, a folder can be closed.
    let place = Place::on_disk();
    if !may_be_others(&place) {
        return;
    }
    with_datasets(&place, "a.scda", false);
    let line = "cp $(command -v scda) . && chmod 755 . a.scda && mkdir -m 777 open && ln -s open/b.scda link
        run='setpriv --reuid 12345 --regid 12345 --clear-groups ./scda'
        $run copy --force --chunk auto a.scda link";
    place.shell(line).good();
    place.scda("diff a.scda open/b.scda").good();
}
