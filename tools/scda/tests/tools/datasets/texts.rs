//! Datasets of items of variable length.

use super::*;

const NAMES: &str = r#"{"type": "D", "user": "names", "data_type": "string", "shape": [2, 2], "chunk": [1, 2], "values": [["Erde", "Vénus"], ["a \"b\"", ""]]}"#;

fn make(place: &Place, sections: &str) {
    place.make("a.scda", format!("{{\"sections\": [{sections}]}}"));
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
    for arguments in ["ls a.scda", "ls --tree a.scda"] {
        let text = place.scda(arguments).good().text().to_owned();
        assert!(text.contains("string") && text.contains("2x2"), "{text}");
    }
    std::fs::rename(place.path("a.scda"), place.path("b.scda")).unwrap();
    make(&place, &format!("{}, {bytes}", NAMES.replace("Erde", "Mars")));
    let found = place.scda("diff b.scda a.scda").bad(1, "");
    let words = "1 of 4 items differs; first [0, 0]: \"Erde\" | \"Mars\"";
    assert!(found.text().contains(words), "{}", found.text());
}

#[test]
fn texts_are_copied() {
    let place = Place::new();
    make(&place, NAMES);
    for options in ["--codec lz4", "--decode", "--chunk names=2,2 --codec zlib"] {
        place.scda(&format!("copy {options} -f a.scda b.scda")).good();
        place.scda("check b.scda").good();
        place.scda("diff a.scda b.scda").good();
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
    let mut file = Writer::create(Solo, place.path("a.scda"), b"", &WriteOptions::default()).unwrap();
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

/// UTF-32 may have numbers that are no characters: halves of pairs, and others that are too large. They are shown as bytes, and stay.
#[test]
fn numbers_that_are_no_characters_are_shown_as_bytes() {
    let place = Place::new();
    let dataset = Dataset::new("t", DataType::Text(2), [4]);
    let data = bytes!([0xd800_u32, 0x61, 0x0011_0000, 0, 0xe9, 0, 0x5c, 0x78]);
    with_one(&place, "a.scda", &dataset, &data);
    let shown = ["\"\\x00\\xd8\\x00\\x00a\"", "\"\\x00\\x00\\x11\"", "\"é\"", "\"\\\\x\""];
    assert_eq!(place.scda("cat a.scda t").good().text(), shown.join("\n") + "\n");
    let little: Vec<u8> =
        data.chunks(4).flat_map(|item| u32::from_ne_bytes(item.try_into().unwrap()).to_le_bytes()).collect();
    assert_eq!(place.scda("cat a.scda t --as bytes").good().out, little);
    place.scda("check --strict a.scda").good();
    place.scda("ls --tree a.scda").good();
    place.scda("copy a.scda b.scda").good();
    assert!(place.read("a.scda") == place.read("b.scda"));
    let other = bytes!([0xd801_u32, 0x61, 0x0011_0000, 0, 0xe9, 0, 0x5c, 0x78]);
    with_one(&place, "c.scda", &dataset, &other);
    let found = place.scda("diff a.scda c.scda").bad(1, "");
    assert!(found.text().contains("\"\\x00\\xd8\\x00\\x00a\" | \"\\x01\\xd8\\x00\\x00a\""), "{found:?}");
    for options in ["--encode auto", "--decode"] {
        place.scda(&format!("copy -f {options} a.scda c.scda")).good();
        place.scda("diff a.scda c.scda").good();
    }
}

/// The bytes that UTF-8 would have of half of a pair are no UTF-8, in chunks as in the metadata.
#[test]
fn halves_of_pairs_are_no_texts() {
    let place = Place::new();
    for (half, is_right) in [("\u{fffd}".as_bytes(), true), (b"\xed\xa0\x80", false)] {
        for is_fill in [false, true] {
            let fill = if is_fill { half } else { b"" };
            let metadata = [
                br#"{"zarr_format":3,"node_type":"array","shape":[1],"data_type":"string","fill_value":""#,
                fill,
                br#"","codecs":["vlen-utf8"],"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}}}"#,
            ];
            let metadata = metadata.concat();
            let item = if is_fill { b"" } else { half };
            let length = |n: usize| u32::try_from(n).unwrap().to_le_bytes().to_vec();
            let chunk = [length(1), length(item.len()), item.to_vec()].concat();
            let path = place.path("a.scda");
            let mut file = Writer::create(Solo, &path, b"", &WriteOptions::default()).unwrap();
            let text = Some(&*metadata);
            file.block(b"scda dataset 00", 0, metadata.len() as u64, text, scda::Encode::None).unwrap();
            let sizes = [chunk.len() as u64];
            let data = scda::Source::Contiguous(&chunk);
            file.varray(b"t", &[1], &sizes, None, data, scda::Encode::None).unwrap();
            file.close().unwrap();
            if is_right {
                place.scda("check a.scda").good();
                let expected = if is_fill { "\"\"\n" } else { "\"\u{fffd}\"\n" };
                assert_eq!(place.scda("cat a.scda t").good().text(), expected);
            } else {
                let found = place.scda("check a.scda").bad(1, "");
                assert!(found.text().contains("UTF-8"), "{found:?}");
                assert_eq!(place.scda("cat a.scda t").bad(1, "UTF-8").text(), "");
            }
        }
    }
}
