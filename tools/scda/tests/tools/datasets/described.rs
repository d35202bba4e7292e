//! What `ls --json` says of datasets.

use super::*;
use serde_json::json;

#[test]
fn datasets_and_groups_are_described() {
    let place = Place::new();
    for seal in [false, true] {
        with_datasets(&place, "a.scda", seal);
        let list = place.scda("ls --json a.scda").good();
        let json = list.json();
        let types: Vec<_> =
            json["sections"].as_array().unwrap().iter().map(|s| s["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["G", "B", "G", "D", "D", "D", "D", "D", "D", "D", "D", "D"]);
        assert_eq!(json["sections"][3]["chunk"], json!([4, 2]));
        assert_eq!(json["sections"][3]["attributes"]["units"], "kg m-3");
        assert!(list.text().contains(r#""attributes":{"title":"test","time":1.50}"#), "{}", list.text());
    }
}

#[test]
fn types_are_described_as_in_the_metadata() {
    let place = Place::new();
    let of =
        |name: &str, configuration: serde_json::Value| json!({"name": name, "configuration": configuration});
    let moment = of("numpy.datetime64", json!({"unit": "s", "scale_factor": 1}));
    let text = of("fixed_length_utf32", json!({"length_bytes": 8}));
    let pair = of("structured", json!({"fields": [["x", "float32"], ["t", text.clone()]]}));
    for expected in [
        of(
            "structured",
            json!({"fields": [["i", "int16"], ["when", moment.clone()], ["pair", pair.clone()]]}),
        ),
        moment,
        of("numpy.timedelta64", json!({"unit": "us", "scale_factor": 10})),
        text,
        of("null_terminated_bytes", json!({"length_bytes": 3})),
        pair,
        json!("bool"),
        json!("float16"),
        json!("complex64"),
        json!("r24"),
        json!("string"),
        json!("variable_length_bytes"),
    ] {
        let values = match expected.as_str() {
            Some("string") => r#""chunk": [2], "values": ["a", ""]"#,
            Some("variable_length_bytes") => r#""chunk": [2], "values": [[0, 255], []]"#,
            Some("bool") => r#""values": [true, false]"#,
            _ => r#""generate": "counter""#,
        };
        let section =
            format!(r#"{{"type": "D", "user": "d", "data_type": {expected}, "shape": [2], {values}}}"#);
        place.make("a.scda", format!(r#"{{"sections": [{section}]}}"#));
        place.scda("check --strict a.scda").good();
        assert_eq!(objects(&place, "a.scda")[0]["data_type"], expected);
    }
}
