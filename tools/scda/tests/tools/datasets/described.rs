//! Datasets that `scda make` writes from a description.

use super::*;
use serde_json::json;

#[test]
fn a_description_makes_datasets_again() {
    let place = Place::new();
    for seal in [false, true] {
        with_datasets(&place, "a.scda", seal);
        let list = place.scda("ls --json --data a.scda").good();
        let json = list.json();
        let types: Vec<_> =
            json["sections"].as_array().unwrap().iter().map(|s| s["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["G", "B", "G", "D", "D", "D", "D", "D", "D", "D", "D", "D"]);
        assert_eq!(json["sections"][3]["chunk"], serde_json::json!([4, 2]));
        assert_eq!(json["sections"][3]["attributes"]["units"], "kg m-3");
        assert!(list.text().contains(r#""attributes":{"title":"test","time":1.50}"#), "{}", list.text());
        place.with_input("make -f - b.scda", &list.out).good();
        // The same bytes as those that the library has written.
        assert!(place.read("a.scda") == place.read("b.scda"));
        let raw = place.scda("ls --raw --json --data a.scda").good();
        place.with_input("make -f - b.scda", &raw.out).good();
        assert_eq!(place.scda("diff a.scda b.scda").good().text(), "");
    }
}

#[test]
fn the_command_writes_chunks_as_the_library_does() {
    let place = Place::new();
    let shapes: [(&[u64], &[u64]); 6] = [
        (&[], &[]),
        (&[7], &[3]),
        (&[0, 4], &[2, 2]),
        (&[5, 6], &[5, 6]),
        (&[5, 6], &[8, 4]),
        (&[3, 4, 5], &[2, 1, 3]),
    ];
    for (shape, chunk) in shapes {
        for text in [false, true] {
            let mut dataset = Dataset::new("x", DataType::Int32, shape);
            dataset.layout = Layout::Chunked { shape: Some(chunk.into()), text };
            dataset.fill_value = 5_i32.to_le_bytes().to_vec();
            dataset.level = Some(6);
            let items = shape.iter().product::<u64>();
            // The first chunks have nothing but the fill value.
            let data = bytes!((0..items).map(|n| if n < items / 2 { 5 } else { i32::try_from(n).unwrap() }));
            with_one(&place, "a.scda", &dataset, &data);
            let list = place.scda("ls --json --data a.scda").good();
            place.with_input("make --level 6 -f - b.scda", &list.out).good();
            let mut params = WriteOptions::default();
            params.level = 6;
            let mut file = Writer::create(Solo, &place.path("a.scda"), b"", &params).unwrap();
            all(&mut file, &dataset, &data);
            file.close().unwrap();
            assert!(place.read("a.scda") == place.read("b.scda"), "{shape:?} {chunk:?} {text}");
        }
    }
}

#[test]
fn datasets_are_described_by_hand() {
    let place = Place::new();
    let make = |dataset: &str| {
        let text = format!("{{\"sections\": [{dataset}]}}");
        place.with_input("make -f - a.scda", text.as_bytes())
    };
    make(r#"{"type": "D", "user": "a/b", "data_type": "float32", "shape": [2, 2], "values": [[1, 2.5], [-3, "NaN"]],
        "dimension_names": ["y", null], "attributes": {"n": 1.50}},
        {"type": "D", "user": "z", "data_type": "complex128", "shape": [2], "values": [[1, 2], [3, 4]]},
        {"type": "D", "user": "n", "data_type": "uint64", "shape": [100000], "generate": "counter", "chunk": [1000]},
        {"type": "D", "user": "s", "data_type": "bool", "shape": [], "values": [true]},
        {"type": "G", "user": "a", "attributes": {"k": 1e2}}"#)
    .good();
    place.scda("check a.scda").good();
    assert_eq!(place.scda("cat a.scda a/b").good().text(), "1.0 2.5\n-3.0 NaN\n");
    assert_eq!(place.scda("cat a.scda z").good().text(), "(1.0,2.0)\n(3.0,4.0)\n");
    assert_eq!(place.scda("cat a.scda n --box 99998:").good().text(), "99998\n99999\n");
    assert_eq!(place.scda("cat a.scda s").good().text(), "true\n");
    let tree = place.scda("ls --tree a.scda").good();
    assert!(
        tree.text().contains("a/\n      k = 1e2\n    b  2x2, float32\n        n = 1.50\n"),
        "{}",
        tree.text()
    );
    let start = r#""type": "D", "user": "x", "data_type": "int8""#;
    for (dataset, words) in [
        (r#"{"type": "D", "user": "x"}"#.to_owned(), "section 1: expected a \"data_type\""),
        (r#"{"type": "D", "user": "x", "data_type": "int7"}"#.into(), "data_type: found \"int7\""),
        (format!("{{{start}}}"), "expected a \"shape\""),
        (format!(r#"{{{start}, "shape": [2]}}"#), "data are missing: give values"),
        (format!(r#"{{{start}, "shape": [2], "values": [1]}}"#), "data: found 1 bytes, expected 2"),
        (
            format!(r#"{{{start}, "shape": [2], "values": [1, 200]}}"#),
            "values: found 200, expected an item of int8",
        ),
        (format!(r#"{{{start}, "shape": [1], "values": [1], "layout": "odd"}}"#), "layout: found \"odd\""),
        (format!(r#"{{{start}, "shape": [1], "values": [1], "chunk": [0]}}"#), "chunk shape: found 0"),
        (
            format!(r#"{{{start}, "shape": [1], "values": [1], "attributes": 3}}"#),
            "attributes: found \"3\", expected a JSON object",
        ),
        (
            format!(r#"{{{start}, "shape": [1], "values": [1], "attributes": {{"a": 1, "a": 2}}}}"#),
            "\"a\" twice",
        ),
        (
            format!(r#"{{{start}, "shape": [1], "values": [1], "shape": [1]}}"#),
            "scda: standard input: found the key \"shape\" twice at line 1 column",
        ),
        (
            r#"{"type": "D", "user": "x", "data_type": {"name": "odd"}, "shape": [], "values": [1]}"#.into(),
            "data_type: found {\"name\":\"odd\"}, which is no type of datasets",
        ),
        (
            r#"{"type": "D", "user": "x", "data_type": {"name": "structured", "configuration": {"fields": []}}, "shape": []}"#
                .into(),
            "section 1: data_type: ",
        ),
        (format!(r#"{{{start}, "shape": [1], "values": [1], "no": 3}}"#), "unknown name \"no\""),
        (
            r#"{"type": "D", "user": "x//y", "data_type": "int8", "shape": [], "values": [1]}"#.into(),
            "name of a dataset",
        ),
        (r#"{"type": "G", "user": "x//y"}"#.into(), "path of a group"),
    ] {
        make(&dataset).bad(2, words);
    }
    assert_eq!(place.names(), ["a.scda"]);
}

/// Of every type, in the form of the metadata, which `scda make` reads beside the names.
#[test]
fn types_are_described_as_in_the_metadata() {
    let place = Place::new();
    let of =
        |name: &str, configuration: serde_json::Value| json!({"name": name, "configuration": configuration});
    let moment = of("numpy.datetime64", json!({"unit": "s", "scale_factor": 1}));
    let span = of("numpy.timedelta64", json!({"unit": "us", "scale_factor": 10}));
    let text = of("fixed_length_utf32", json!({"length_bytes": 8}));
    let bytes = of("null_terminated_bytes", json!({"length_bytes": 3}));
    let pair = of("structured", json!({"fields": [["x", "float32"], ["t", text.clone()]]}));
    let nested = of(
        "structured",
        json!({"fields": [["i", "int16"], ["when", moment.clone()], ["pair", pair.clone()]]}),
    );
    let all = [
        ("datetime64[s]", moment),
        ("timedelta64[10us]", span),
        ("text[2]", text),
        ("bytes[3]", bytes),
        ("", pair),
        ("", nested),
        ("bool", json!("bool")),
        ("float16", json!("float16")),
        ("complex64", json!("complex64")),
        ("r24", json!("r24")),
        ("string", json!("string")),
        ("variable_length_bytes", json!("variable_length_bytes")),
    ];
    let section = |data_type: &serde_json::Value| {
        let values = match data_type.as_str() {
            Some("string") => r#""chunk": [2], "values": ["a", ""]"#,
            Some("variable_length_bytes") => r#""chunk": [2], "values": [[0, 255], []]"#,
            _ => r#""generate": "counter""#,
        };
        let values = if *data_type == "bool" { r#""values": [true, false]"# } else { values };
        format!(r#"{{"type": "D", "user": "d", "data_type": {data_type}, "shape": [2], {values}}}"#)
    };
    for (name, expected) in all {
        let make = |data_type: &serde_json::Value, to: &str| {
            let text = format!(r#"{{"sections": [{}]}}"#, section(data_type));
            place.with_input(&format!("make -f - {to}"), text.as_bytes()).good();
            place.read(to)
        };
        let file = make(&expected, "a.scda");
        place.scda("check --strict a.scda").good();
        let described = place.scda("ls --json --data a.scda").good();
        assert_eq!(described.json()["sections"][0]["data_type"], expected);
        place.with_input("make -f - again.scda", &described.out).good();
        assert!(place.read("again.scda") == file, "{expected}");
        if !name.is_empty() && name != expected {
            assert!(make(&json!(name), "b.scda") == file, "{name}");
        }
    }
}
