//! Records: several sections or datasets with one name.

use crate::run::Place;

/// Three records of a number, of a matrix and of a block, the last matrix with one row, and complex numbers.
fn write(place: &Place, name: &str, seal: &str) {
    let mut sections = Vec::new();
    for (record, rows) in [(0, "[[1,2,3],[4,5,6]]"), (1, "[[1.5,2,3],[4,5,\"NaN\"]]"), (2, "[[7,8,9]]")] {
        let count = if record == 2 { 1 } else { 2 };
        sections.push(format!(
            r#"{{"type":"D","user":"time","data_type":"float64","shape":[],"values":[{record}.5]}},
            {{"type":"D","user":"u","data_type":"float64","shape":[{count},3],"values":{rows}}},
            {{"type":"B","user":"log","data_text":"line {record}\n"}}"#
        ));
    }
    sections.push(
        r#"{"type":"D","user":"a, \"b","data_type":"complex64","shape":[2],"values":[[1,-2],[0,3]]}"#.into(),
    );
    sections.push(
        r#"{"type":"D","user":"t","data_type":"int8","shape":[1,2],"attributes":{"columns":["x","y,z"]},"values":[[1,2]]}"#
            .into(),
    );
    sections.push(r#"{"type":"D","user":"cube","data_type":"int8","shape":[1,1,1],"values":[[[1]]]}"#.into());
    let text = format!(r#"{{"sections":[{}]}}"#, sections.join(","));
    place.make_with(seal, name, text);
}

#[test]
fn a_record_is_printed() {
    let place = Place::new();
    // With an index and without.
    for (name, seal) in [("a.scda", ""), ("b.scda", "--seal")] {
        write(&place, name, seal);
        let cat = |arguments: &str| place.scda(&format!("cat {name} {arguments}")).good().text().to_owned();
        assert_eq!(cat("time --record 1"), "1.5\n");
        assert_eq!((cat("time"), cat("log")), ("2.5\n".to_owned(), "line 2\n".to_owned()));
        assert_eq!(cat("u --record -2 --box 0,1:"), "2.0 3.0\n");
        let first = place.scda(&format!("cat {name} u --record 0 --as bytes --box 0,0")).good();
        assert_eq!(first.out, 1.0_f64.to_le_bytes());
        assert_eq!(cat("tim* --record 0"), "0.5\n");
        let bad = |arguments: &str, words| drop(place.scda(&format!("cat {name} {arguments}")).bad(2, words));
        bad("time --record 3", "--record 3: found 3 sections");
        bad("none --record 0", "no such section");
        bad("time --record x", "invalid digit");
    }
}

#[test]
fn a_name_means_the_last_record_unless_a_number_is_given() {
    let place = Place::new();
    write(&place, "a.scda", "--seal");
    place.shell("mkdir old new; printf old >old/log.0; printf new >new/log.0").good();
    place.shell("for d in old new; do scda join-streams $d -o $d.scda --name set; done").good();
    place.shell("scda append a.scda old.scda new.scda && scda copy --no-seal a.scda b.scda").good();
    for name in ["a.scda", "b.scda"] {
        let text = |line: &str| place.shell(&line.replace("FILE", name)).good().text().to_owned();
        // The answer is that of the last one, and not that of the first.
        for line in ["scda cat FILE u", "scda cat FILE log"] {
            let [meant, last, first] = ["", " --record -1", " --record 0"]
                .map(|record| text(&line.replacen(" FILE", &format!("{record} FILE"), 1)));
            assert!(meant == last && meant != first, "{name}: {line}: {meant}");
        }
        for (record, expected) in [("", "new"), ("--record -1", "new"), ("--record 0", "old")] {
            assert_eq!(
                text(&format!("rm -rf out; scda split {record} FILE set out; cat out/*")),
                expected,
                "{name}"
            );
        }
    }
    place.scda("attr a.scda u units=m").good();
    let shown = |record: &str| place.shell(&format!("scda attr {record} a.scda u")).good().text().to_owned();
    assert!(shown("") == shown("--record 2") && shown("") != shown("--record 0"), "{}", shown(""));
    assert!(shown("").contains("units"), "{}", shown(""));
}
