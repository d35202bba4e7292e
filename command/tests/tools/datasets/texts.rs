//! Datasets of items of variable length.

use super::*;

const NAMES: &str = r#"{"type": "D", "user": "names", "data_type": "string", "shape": [2, 2], "chunk": [1, 2], "values": [["Erde", "Vénus"], ["a \"b\"", ""]]}"#;

fn make(place: &Place, sections: &str) {
    place.with_input("make -f - a.scda", format!("{{\"sections\": [{sections}]}}").as_bytes()).good();
}

#[test]
fn texts_are_shown_checked_and_compared() {
    let place = Place::new();
    let bytes = r#"{"type": "D", "user": "b", "data_type": "variable_length_bytes", "shape": [2], "values": [[0, 255], []]}"#;
    make(&place, &format!("{NAMES}, {bytes}"));
    place.scda("check a.scda").good();
    assert_eq!(place.scda("cat a.scda names").good().text(), "\"Erde\" \"Vénus\"\n\"a \\\"b\\\"\" \"\"\n");
    assert_eq!(place.scda("cat a.scda names --box 0:2,1").good().text(), "\"Vénus\"\n\"\"\n");
    assert_eq!(place.scda("cat a.scda names --as bytes --box 0,:").good().text(), "ErdeVénus");
    assert_eq!(place.scda("cat a.scda b").good().text(), "\"\\x00\\xff\"\n\"\"\n");
    let table = place.scda("cat a.scda names --as csv").good().text().to_owned();
    assert!(table.starts_with("names[0],names[1]\n"), "{table}");
    for arguments in ["ls a.scda", "ls --tree a.scda", "ls -l a.scda"] {
        let text = place.scda(arguments).good().text().to_owned();
        assert!(text.contains("string") && text.contains("2x2"), "{text}");
    }
    let details = place.scda("ls -l a.scda").good().text().to_owned();
    assert!(details.contains("in chunks of 1x2, by zstd\n"), "{details}");
    assert!(details.contains("in chunks of 2, not compressed\n"), "{details}");
    std::fs::rename(place.path("a.scda"), place.path("b.scda")).unwrap();
    make(&place, &format!("{}, {bytes}", NAMES.replace("Erde", "Mars")));
    let found = place.scda("diff b.scda a.scda").bad(1, "");
    let words = "1 of 4 items differs; first [0, 0]: \"Erde\" | \"Mars\"";
    assert!(found.text().contains(words), "{}", found.text());
}

#[test]
fn texts_are_described_copied_and_summed() {
    let place = Place::new();
    make(&place, NAMES);
    let described = place.scda("ls --json --data a.scda").good();
    place.with_input("make -f - again.scda", described.out.as_slice()).good();
    let same =
        std::fs::read(place.path("a.scda")).unwrap() == std::fs::read(place.path("again.scda")).unwrap();
    assert!(same);
    let sum =
        |name: &str| place.scda(&format!("sum {name}")).good().text().split(' ').next().unwrap().to_owned();
    for options in ["--codec lz4", "--decode", "--chunk names=2,2 --codec zlib"] {
        place.scda(&format!("copy {options} -f a.scda b.scda")).good();
        place.scda("check b.scda").good();
        place.scda("diff a.scda b.scda").good();
        assert_eq!(sum("a.scda"), sum("b.scda"), "{options}");
    }
    place
        .scda("copy --chunk names=2,1 a.scda c.scda")
        .bad(2, "expected whole indices of the first dimension");
}

#[test]
fn damaged_texts_are_found() {
    let place = Place::new();
    let metadata = r#"{"zarr_format":3,"node_type":"array","shape":[2],"data_type":"string","fill_value":"","codecs":["vlen-utf8"],
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}}}"#;
    let mut file = Writer::create(Solo, &place.path("a.scda"), b"", &Params::default()).unwrap();
    let text = metadata.as_bytes();
    file.block(b"scda dataset 00", 0, text.len() as u64, Some(text), scda::Encode::None).unwrap();
    let data = b"\x01\0\0\0\x01\0\0\0a\x01\0\0\0\x01\0\0\0\xff";
    file.varray(b"names", &[2], &[9, 9], None, scda::Source::Contiguous(data), scda::Encode::None).unwrap();
    file.close().unwrap();
    let found = place.scda("check a.scda").bad(1, "");
    let words = "byte 617: dataset \"names\": chunk 1: item 0: found bytes that are not UTF-8";
    assert!(found.text().contains(words), "{}", found.text());
    let printed = place.scda("cat a.scda names").bad(1, "not UTF-8");
    assert_eq!(printed.text(), "\"a\"\n");
}
