//! What the command does with datasets.

use crate::run::Place;
use scda::{DataType, Dataset, Layout, Params, Region, Solo, Writer};

/// The bytes of numbers in memory.
macro_rules! bytes {
    ($numbers:expr) => {
        $numbers.into_iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<u8>>()
    };
}

fn density() -> Vec<f64> {
    (0..30).map(|n| f64::from(n) / 4.0).collect()
}

fn all(writer: &mut Writer, dataset: &Dataset, data: &[u8]) {
    writer.dataset(dataset, &[Region::all(&dataset.shape)], data).unwrap();
}

/// Datasets of many kinds and other sections, in a file that is sealed or not. Their numbers:
/// 2 `/`, 3 "note", 5 `flow/`, 7 density, 9 velocity, 11 step, 13 mask, 15 and 17 rho, 19 wave, 21 raw, 23 text.
fn with_datasets(place: &Place, name: &str, seal: bool) {
    let mut params = Params::default();
    params.seal = seal;
    let mut file = Writer::create(Solo, &place.path(name), b"a run", &params).unwrap();
    file.group("/", r#"{"title": "test", "time": 1.50}"#).unwrap();
    file.block(b"note", 0, 5, Some(b"hello"), scda::Encode::None).unwrap();
    file.group("flow", r#"{"scheme": "hydro"}"#).unwrap();
    let mut dataset = Dataset::new("flow/density", DataType::Float64, [6, 5]);
    dataset.layout = Layout::Chunked { shape: Some(vec![4, 2]), text: false };
    dataset.attributes = r#"{"units": "kg m-3"}"#.into();
    all(&mut file, &dataset, &bytes!(density()));
    let dataset = Dataset::new("flow/velocity", DataType::Float32, [2, 3]);
    all(&mut file, &dataset, &bytes!([0.0_f32, 0.5, -1.5, 1e30, f32::NAN, f32::INFINITY]));
    all(&mut file, &Dataset::new("step", DataType::Int32, []), &(-42_i32).to_ne_bytes());
    all(&mut file, &Dataset::new("mask", DataType::Bool, [4]), &[1, 0, 0, 1]);
    for record in [0, 1] {
        all(&mut file, &Dataset::new("rho", DataType::Int16, [3]), &bytes!([record, -1_i16, 300]));
    }
    all(&mut file, &Dataset::new("wave", DataType::Complex64, [2]), &bytes!([1.0_f32, -2.0, 0.25, 3.0]));
    all(&mut file, &Dataset::new("raw", DataType::Raw(3), [1, 2]), &[0, 1, 2, 0xfd, 0xfe, 0xff]);
    let mut dataset = Dataset::new("text", DataType::Uint16, [2, 4]);
    dataset.layout = Layout::Chunked { shape: Some(vec![1, 4]), text: true };
    all(&mut file, &dataset, &bytes!(0..8_u16));
    file.close().unwrap();
}

#[test]
fn a_list_shows_what_datasets_are() {
    let place = Place::new();
    for (name, seal) in [("plain.scda", false), ("sealed.scda", true)] {
        with_datasets(&place, name, seal);
        let list = place.scda(&format!("ls {name}")).good();
        let found: Vec<Vec<&str>> =
            list.text().lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        let columns =
            |line: &Vec<&str>| format!("{} {} {} {} {}", line[0], line[1], line[2], line[3], line[4]);
        let found_columns: Vec<_> = found.iter().map(columns).collect();
        assert_eq!(
            found_columns,
            [
                "2 G - - 108",
                "3 B - 5 5",
                "5 G - - 92",
                "7 D 6x5 4x2 240",
                "9 D 2x3 - 24",
                "11 D - - 4",
                "13 D 4 - 4",
                "15 D 3 - 6",
                "17 D 3 - 6",
                "19 D 2 - 16",
                "21 D 1x2 - 6",
                "23 D 2x4 1x4 16",
            ],
            "{}",
            list.text()
        );
        let ends: Vec<_> = found.iter().map(|line| line[7..].join(" ")).collect();
        assert_eq!(
            ends[3..6],
            ["\"flow/density\" float64, kg m-3", "\"flow/velocity\" float32", "\"step\" int32"]
        );
        assert!(found[3][6].parse::<f64>().unwrap() > 0.1 && found[4][6] == "-", "{}", list.text());
        assert!(found[11][6].parse::<f64>().unwrap() > 0.01, "{}", list.text());
        // Either of the two sections stands for both.
        for numbers in ["6", "7", "6-7", "flow/d*"] {
            let one = place.scda(&format!("ls --select {numbers} {name}")).good();
            assert_eq!(one.text().lines().count(), 3, "{}", one.text());
            assert!(one.text().contains("flow/density"));
        }
        let raw = place.scda(&format!("ls --raw {name}")).good();
        assert_eq!(raw.text().lines().filter(|line| line.contains("\"scda dataset 00\"")).count(), 9);
        let long = place.scda(&format!("ls -l --select flow/density {name}")).good();
        for words in [
            "dataset 7: \"flow/density\"",
            "type        float64",
            "shape       6x5",
            "30 items: 240 bytes",
            "in chunks of 4x2, shuffled, as zlib streams",
            "attribute   units = \"kg m-3\"",
        ] {
            assert!(long.text().contains(words), "{words}: {}", long.text());
        }
        let tree = place.scda(&format!("ls --tree {name}")).good();
        for lines in [
            "\n/\n    title = \"test\"\n    time = 1.50\n  flow/\n      scheme = \"hydro\"\n    density  6x5 in chunks of 4x2, ",
            "kg m-3\n        units = \"kg m-3\"\n    velocity  2x3, float32\n  step  -, int32\n",
            "rho  3, int16, 2 records\n",
        ] {
            assert!(tree.text().contains(lines), "{lines}: {}", tree.text());
        }
        assert!(!tree.text().contains("note"));
    }
}

#[test]
fn values_are_printed_by_their_type() {
    let place = Place::new();
    for (name, seal) in [("plain.scda", false), ("sealed.scda", true)] {
        with_datasets(&place, name, seal);
        let cat = |arguments: &str| place.scda(&format!("cat {name} {arguments}")).good().text().to_owned();
        let rows: Vec<String> = density()
            .chunks(5)
            .map(|row| row.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(" ") + "\n")
            .collect();
        assert_eq!(cat("flow/density"), rows.concat());
        assert_eq!(cat("flow/density --box 1:3,:"), rows[1..3].concat());
        assert_eq!(cat("flow/density --box 0:4,2:4"), "0.5 0.75\n1.75 2.0\n3.0 3.25\n4.25 4.5\n");
        assert_eq!(cat("flow/density --box -1,-2:"), "7.0 7.25\n");
        assert_eq!(cat("flow/density --box 2,1 --cols 1"), "2.75\n");
        assert_eq!(cat("flow/density --box 2:2,1"), "");
        assert_eq!(
            cat("flow/density --cols 12").lines().map(|line| line.split(' ').count()).collect::<Vec<_>>(),
            [12, 12, 6]
        );
        assert_eq!(cat("flow/velocity"), "0.0 0.5 -1.5\n1e30 NaN inf\n");
        assert_eq!(cat("step"), "-42\n");
        assert_eq!(cat("mask"), "true\nfalse\nfalse\ntrue\n");
        assert_eq!(cat("rho --record 0"), "0\n-1\n300\n");
        assert_eq!(cat("rho --record -1 --box :1"), "1\n");
        assert_eq!(cat("17 --box 0"), "1\n");
        assert_eq!(cat("wave"), "(1.0,-2.0)\n(0.25,3.0)\n");
        assert_eq!(cat("raw"), "000102 fdfeff\n");
        assert_eq!(cat("text"), "0 1 2 3\n4 5 6 7\n");
        assert_eq!(cat("note"), "hello");
        assert!(cat("6").starts_with("{\n  \"zarr_format\": 3,"));
        let bytes = place.scda(&format!("cat {name} flow/density --as bytes")).good().out;
        assert_eq!(bytes, density().into_iter().flat_map(f64::to_le_bytes).collect::<Vec<_>>());
        let bytes = place.scda(&format!("cat {name} flow/density --as bytes --box 5,4")).good().out;
        assert_eq!(bytes, 7.25_f64.to_le_bytes());
        // The section as it is stored: four streams and more, none of them the values.
        let raw = place.scda(&format!("cat {name} flow/density --raw --range 0:1")).good().out;
        assert_eq!(raw[0], 0x78);
        assert_eq!(cat("flow/velocity --raw --as 3f32le --range 0:1"), "0.0 0.5 -1.5\n");
    }
    for (arguments, words) in [
        ("rho", "found 2 sections of that name, expected one, or --record:"),
        ("rho --record 2", "--record 2: found 2 sections"),
        ("flow/density --box 0:7,0", "--box: dimension 0: expected a range within 0:6"),
        ("flow/density --box 0", "--box: found 1 ranges, expected one for each of the 2 dimensions"),
        ("flow/density --box a", "expected A:B or an index"),
        ("flow/density --range 0:1", "--range is for sections"),
        ("flow/density --as f64le", "a dataset is shown by its type"),
        ("note --box 0", "--box is for datasets"),
    ] {
        place.scda(&format!("cat plain.scda {arguments}")).bad(2, words);
    }
}

#[test]
fn values_before_damage_are_printed() {
    let place = Place::new();
    with_datasets(&place, "a.scda", false);
    let list = place.scda("ls --raw --json --select 7 a.scda").good().json();
    let data = usize::try_from(list["sections"][0]["data_offset"].as_u64().unwrap()).unwrap();
    let sizes = place.scda("ls --raw --json --data --select 7 a.scda").good().json();
    let sizes: Vec<usize> = sizes["sections"][0]["sizes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| usize::try_from(n.as_u64().unwrap()).unwrap())
        .collect();
    let mut bytes = place.read("a.scda");
    // Chunk 1 has columns 2 and 3 of the first four rows.
    bytes[data + sizes[0] + 1] ^= 0xff;
    place.write("a.scda", &bytes);
    let run = place.scda("cat a.scda flow/density").bad(1, "zlib");
    assert_eq!(run.text(), "0.0 0.25\n");
    let run = place.scda("cat a.scda flow/density --box 4:,:2").good();
    assert_eq!(run.text(), "5.0 5.25\n6.25 6.5\n");
}

/// A file with one dataset.
fn with_one(place: &Place, name: &str, dataset: &Dataset, data: &[u8]) {
    let mut file = Writer::create(Solo, &place.path(name), b"", &Params::default()).unwrap();
    all(&mut file, dataset, data);
    file.close().unwrap();
}

#[test]
fn differences_of_datasets_are_named() {
    let place = Place::new();
    let plain = Dataset::new("x", DataType::Float64, [3, 4]);
    let data: Vec<f64> = (0..12).map(f64::from).collect();
    with_one(&place, "a.scda", &plain, &bytes!(data.clone()));
    let mut chunked = plain.clone();
    chunked.layout = Layout::Chunked { shape: Some(vec![2, 3]), text: false };
    let mut as_text = plain.clone();
    as_text.layout = Layout::Chunked { shape: Some(vec![2, 3]), text: true };
    let sum =
        |name: &str| place.scda(&format!("sum {name}")).good().text().lines().next().unwrap().to_owned();
    // How it is stored is no difference.
    for dataset in [&chunked, &as_text] {
        with_one(&place, "b.scda", dataset, &bytes!(data.clone()));
        assert_eq!(place.scda("diff a.scda b.scda").good().text(), "");
        place.scda("diff --raw a.scda b.scda").bad(1, "");
        assert_eq!(sum("a.scda"), sum("b.scda"));
    }
    let mut other = data.clone();
    other[6] += 1e-9;
    other[11] = 12.0;
    with_one(&place, "b.scda", &chunked, &bytes!(other.clone()));
    assert_ne!(sum("a.scda"), sum("b.scda"));
    let diff = |arguments: &str| {
        let run = place.scda(&format!("diff {arguments}")).bad(1, "");
        run.text().to_owned()
    };
    assert_eq!(diff("a.scda b.scda"), "section 2 (dataset \"x\"): [1, 2]: 6.0 | 6.000000001\n");
    assert_eq!(diff("a.scda b.scda --rtol 1e-8"), "section 2 (dataset \"x\"): [2, 3]: 11.0 | 12.0\n");
    assert_eq!(diff("-q a.scda b.scda"), "");
    assert_eq!(place.scda("diff --atol 1 a.scda b.scda").good().text(), "");
    assert_eq!(place.scda("diff --rtol 0.1 a.scda b.scda").good().text(), "");
    let json = place.scda("diff --json a.scda b.scda").bad(1, "").json();
    assert_eq!(json["differences"][0]["index"], serde_json::json!([1, 2]));
    assert_eq!(json["differences"][0]["b"], "6.000000001");
    // NaN is NaN, if numbers are compared as such.
    (other[6], other[11]) = (6.0, f64::NAN);
    with_one(&place, "a.scda", &plain, &bytes!(other.clone()));
    other[11] = -f64::NAN;
    with_one(&place, "b.scda", &chunked, &bytes!(other.clone()));
    assert_eq!(diff("a.scda b.scda"), "section 2 (dataset \"x\"): [2, 3]: NaN | NaN\n");
    place.scda("diff --rtol 0 a.scda b.scda").good();

    let mut other = plain.clone();
    other.attributes = r#"{"b": 1.0, "units": "m"}"#.into();
    other.dimension_names = vec![Some("y".into()), None];
    other.fill_value = 1.5_f64.to_le_bytes().to_vec();
    with_one(&place, "a.scda", &plain, &bytes!(data.clone()));
    with_one(&place, "b.scda", &other, &bytes!(data.clone()));
    let name = "section 2 (dataset \"x\"):";
    assert_eq!(
        diff("a.scda b.scda"),
        format!(
            "{name} dimension names: [] | [\"y\",null]\n{name} fill value: 0.0 | 1.5\n{name} attribute b: none | 1.0\n"
        )
    );
    // The order of attributes is none.
    let mut again = other.clone();
    again.attributes = r#"{"units": "m", "b": 1.0}"#.into();
    with_one(&place, "a.scda", &again, &bytes!(data.clone()));
    place.scda("diff a.scda b.scda").good();
    let single = Dataset::new("x", DataType::Float32, [3, 4]);
    with_one(&place, "a.scda", &plain, &bytes!(data.clone()));
    with_one(&place, "b.scda", &single, &bytes!((0..12_u16).map(f32::from)));
    assert_eq!(diff("a.scda b.scda"), format!("{name} type: float64 | float32\n"));
    let named = Dataset::new("y", DataType::Float64, [3, 4]);
    with_one(&place, "b.scda", &named, &bytes!(data));
    assert_eq!(diff("a.scda b.scda"), "section 2: dataset float64 3x4, \"x\" | dataset float64 3x4, \"y\"\n");
    with_datasets(&place, "a.scda", false);
    with_datasets(&place, "b.scda", true);
    place.scda("diff a.scda b.scda").good();
    place.scda("diff --rtol -1 a.scda b.scda").bad(2, "not negative");
}

#[test]
fn sums_of_datasets_can_be_computed_by_others() {
    let place = Place::new();
    with_datasets(&place, "a.scda", true);
    let program = r#"
import hashlib, struct
def n(*numbers): return struct.pack("<%dQ" % len(numbers), *numbers)
def s(text): return n(len(text)) + text
def sha(data): print(hashlib.sha256(data).hexdigest())
sha(b"G" + s(b"/") + s(b'{"title":"test","time":1.50}'))
data = b"".join(struct.pack("<d", i / 4) for i in range(30))
sha(b"D" + s(b"flow/density") + s(b"float64") + n(2, 6, 5) + s(bytes(8)) + s(b"") + s(b'{"units":"kg m-3"}') + data)
sha(b"D" + s(b"step") + s(b"int32") + n(0) + s(bytes(4)) + s(b"") + s(b"{}") + struct.pack("<i", -42))
"#;
    place.write("sum.py", program);
    let theirs = place.shell("python3 sum.py").good();
    let ours = place.scda("sum a.scda").good();
    let lines: Vec<_> = ours.text().lines().collect();
    assert_eq!(lines.len(), 13, "{lines:?}");
    for (line, end) in theirs.text().lines().zip(["2 G \"/\"", "7 D \"flow/density\"", "11 D \"step\""]) {
        assert!(
            lines.iter().any(|found| found.starts_with(line) && found.ends_with(end)),
            "{line} {lines:?}"
        );
    }
    let json = place.scda("sum --json a.scda").good().json();
    assert_eq!(json["sections"][3]["type"], "D");
    assert_eq!(json["sections"][3]["shape"], serde_json::json!([6, 5]));
    assert_eq!(json["sections"][3]["sha256"], &lines[3][..64]);
}

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
            let mut params = Params::default();
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
        (format!(r#"{{{start}, "shape": [2]}}"#), "found no data, expected values"),
        (format!(r#"{{{start}, "shape": [2], "values": [1]}}"#), "data: found 1 bytes, expected 2"),
        (
            format!(r#"{{{start}, "shape": [2], "values": [1, 200]}}"#),
            "values: found 200, expected an item of int8",
        ),
        (format!(r#"{{{start}, "shape": [1], "values": [1], "layout": "odd"}}"#), "layout: found \"odd\""),
        (format!(r#"{{{start}, "shape": [1], "values": [1], "chunk": [0]}}"#), "chunk shape: found 0"),
        (
            format!(r#"{{{start}, "shape": [1], "values": [1], "attributes": 3}}"#),
            "attributes: expected a JSON object",
        ),
        (
            format!(r#"{{{start}, "shape": [1], "values": [1], "attributes": {{"a": 1, "a": 2}}}}"#),
            "\"a\" twice",
        ),
        (format!(r#"{{{start}, "shape": [1], "values": [1], "no": 3}}"#), "unknown name \"no\""),
        (
            r#"{"type": "D", "user": "x//y", "data_type": "int8", "shape": [], "values": [1]}"#.into(),
            "name of a dataset",
        ),
        (r#"{"type": "G", "user": "x/"}"#.into(), "name of a dataset"),
    ] {
        make(&dataset).bad(2, words);
    }
    assert_eq!(place.names(), ["a.scda"]);
}

/// The objects of the sections and datasets of a file.
fn objects(place: &Place, name: &str) -> Vec<serde_json::Value> {
    place.scda(&format!("ls --json {name}")).good().json()["sections"].as_array().unwrap().clone()
}

fn named(place: &Place, file: &str, name: &str) -> serde_json::Value {
    objects(place, file).into_iter().find(|object| object["user"] == name).unwrap()
}

#[test]
fn datasets_are_copied_in_other_chunks() {
    let place = Place::new();
    for seal in [false, true] {
        with_datasets(&place, "a.scda", seal);
        let copy = |arguments: &str| {
            let run = place.scda(&format!("copy -f {arguments} a.scda b.scda"));
            assert_eq!(run.code, 0, "{run:?}");
            assert_eq!(place.scda("diff a.scda b.scda").good().text(), "", "{arguments}");
            place.scda("check --strict b.scda").good();
        };
        copy("");
        assert!(place.read("a.scda") == place.read("b.scda"));
        let stored = || named(&place, "b.scda", "flow/density");
        copy("--chunk 3,3");
        assert_eq!((&stored()["chunk"], &stored()["level"]), (&[3, 3].into(), &2.into()));
        assert_eq!(named(&place, "b.scda", "raw")["layout"], "chunks");
        assert_eq!(named(&place, "b.scda", "step")["layout"], "contiguous");
        assert_eq!(named(&place, "b.scda", "text")["layout"], "text");
        copy("--chunk flow/d*=6,1 --level 7");
        assert_eq!((&stored()["chunk"], &stored()["level"]), (&[6, 1].into(), &7.into()));
        assert_eq!(named(&place, "b.scda", "raw")["layout"], "contiguous");
        copy("--chunk auto");
        assert_eq!(stored()["chunk"], serde_json::json!([6, 5]));
        copy("--encode 5");
        assert_eq!((&stored()["chunk"], &stored()["level"]), (&[4, 2].into(), &5.into()));
        assert_eq!(named(&place, "b.scda", "step")["layout"], "chunks");
        assert_eq!(named(&place, "b.scda", "note")["encoded"], true);
        copy("--encode auto");
        assert_eq!(stored()["layout"], "contiguous");
        copy("--decode");
        assert_eq!(stored()["layout"], "contiguous");
        assert!(objects(&place, "b.scda").iter().all(|object| object["encoded"] != true));
        // What the library writes in such chunks has the same bytes.
        let mut dataset = Dataset::new("x", DataType::Float64, [6, 5]);
        with_one(&place, "plain.scda", &dataset, &bytes!(density()));
        dataset.layout = Layout::Chunked { shape: Some(vec![5, 3]), text: false };
        dataset.level = Some(4);
        with_one(&place, "chunks.scda", &dataset, &bytes!(density()));
        place.scda("copy -f --chunk 5,3 --level 4 plain.scda b.scda").good();
        assert!(place.read("b.scda") == place.read("chunks.scda"));
        place.scda("copy -f --decode chunks.scda b.scda").good();
        assert!(place.read("b.scda") == place.read("plain.scda"));
    }
    for (arguments, words) in [
        ("--chunk 0", "expected auto, or numbers"),
        ("--chunk flow/density=3", "--chunk: found 1 numbers, expected 2 for the dataset \"flow/density\""),
        ("--chunk flow/density=40000,40000", "dataset \"flow/density\": chunk: found 12800000000 bytes"),
        ("--chunk flow/density=4000000000000000000,4", "dataset \"flow/density\": "),
        ("--chunk 3 --chunk flow/none=3", "--chunk: the pattern 2 names no dataset that is copied"),
        ("--delete rho --chunk rho=2", "--chunk: the pattern 1 names no dataset that is copied"),
        ("--level 3", "--level is for --chunk"),
        ("--level 3 --encode 4", "expected one of them"),
        ("--decode --chunk 3", "cannot be used with"),
    ] {
        place.scda(&format!("copy -f {arguments} a.scda c.scda")).bad(2, words);
    }
}

#[test]
fn large_data_are_compressed_only_if_they_get_smaller() {
    let place = Place::new();
    let smooth: Vec<f64> = (0..40_000).map(|n| f64::from(n / 7)).collect();
    let mut dataset = Dataset::new("x", DataType::Float64, [200, 200]);
    with_one(&place, "a.scda", &dataset, &bytes!(smooth.clone()));
    place.scda("copy --encode auto a.scda b.scda").good();
    dataset.layout = Layout::Auto { shape: None };
    with_one(&place, "c.scda", &dataset, &bytes!(smooth));
    assert_eq!(named(&place, "b.scda", "x")["layout"], "chunks");
    assert!(place.read("b.scda") == place.read("c.scda"));
    place.scda("diff a.scda b.scda").good();
}

#[test]
fn aligned_data_stay_aligned() {
    let place = Place::new();
    let data: Vec<f64> = (0..10_000).map(f64::from).collect();
    let mut file = Writer::create(Solo, &place.path("a.scda"), b"", &Params::default()).unwrap();
    file.block(b"before", 0, 3, Some(b"abc"), scda::Encode::None).unwrap();
    all(&mut file, &Dataset::new("small", DataType::Float64, [2]), &bytes!([1.0_f64, 2.0]));
    for name in ["x", "y"] {
        all(&mut file, &Dataset::new(name, DataType::Float64, [10_000]), &bytes!(data.clone()));
    }
    file.close().unwrap();
    let offsets =
        |name: &str| ["x", "y"].map(|x| named(&place, name, x)["data_offset"].as_u64().unwrap() % 4096);
    assert_eq!(offsets("a.scda"), [0, 0]);
    place.scda("copy --select 4- a.scda b.scda").good();
    assert_eq!(offsets("b.scda"), [0, 0]);
    assert!(place.scda("check --strict b.scda").good().text().contains("valid"));
    place.scda("attr a.scda small note=changed").good();
    assert_eq!(offsets("a.scda"), [0, 0]);
    place.scda("attr a.scda x units=m").good();
    assert_eq!(offsets("a.scda"), [0, 0]);
    place.scda("copy a.scda c.scda").good();
    assert!(place.read("a.scda") == place.read("c.scda"));
}

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

        let new = r#"{"sections": [{"type": "D", "user": "step", "data_type": "int64", "shape": [2], "values": [1, 2]},
            {"type": "D", "user": "rho", "data_type": "int8", "shape": [], "values": [8]},
            {"type": "D", "user": "rho", "data_type": "int8", "shape": [], "values": [9]}]}"#;
        place.with_input("make -f - new.scda", new.as_bytes()).good();
        place.scda("copy -f --replace step=new.scda --replace rho=new.scda a.scda b.scda").good();
        // What a killed command has left is not removed while it is read.
        place.shell("cp new.scda x.scda.scda-part").good();
        let words = "x.scda.scda-part: was left by an incomplete write of x.scda";
        place.scda("copy --replace rho=x.scda.scda-part a.scda x.scda").bad(2, words);
        place.shell("cmp new.scda x.scda.scda-part && rm x.scda.scda-part").good();
        assert_eq!(names("b.scda"), names("a.scda"));
        assert_eq!(place.scda("cat b.scda step").good().text(), "1\n2\n");
        assert_eq!(place.scda("cat b.scda rho --record 1").good().text(), "9\n");
        place.scda("check --strict b.scda").good();
        let before = place.read("b.scda");
        for (arguments, words) in [
            ("--delete nothing", "--delete: the pattern 1 names no section"),
            ("--replace mask=new.scda", "new.scda: --replace: found no section or dataset named mask"),
            ("--replace mask", "expected NAME=FILE"),
            (
                "--delete 15 --replace rho=new.scda",
                "--replace: found 1 named rho, and 2 in new.scda, expected as many",
            ),
        ] {
            place.scda(&format!("copy -f {arguments} a.scda b.scda")).bad(2, words);
        }
        assert!(place.read("b.scda") == before);
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
        place.scda("copy -f a.scda b.scda").good();
        let rights = std::os::unix::fs::PermissionsExt::from_mode(0o640);
        std::fs::set_permissions(place.path("b.scda"), rights).unwrap();
        assert_eq!(show("b.scda flow/density time=2.50 units=K flags=[1,{\"a\":null}] empty="), "");
        assert_eq!(
            show("b.scda flow/density"),
            "units = \"K\"\ntime = 2.50\nflags = [1,{\"a\":null}]\nempty = \"\"\n"
        );
        show("b.scda / --remove title");
        show("b.scda flow/ scheme=\"mhd\"");
        show("b.scda new/ x=1");
        show("b.scda rho --record 1 second=true");
        assert_eq!(
            show("b.scda /") + &show("b.scda flow/") + &show("b.scda new/"),
            "time = 1.50\nscheme = \"mhd\"\nx = 1\n"
        );
        assert_eq!(show("b.scda rho --record 0") + &show("b.scda rho --record -1"), "second = true\n");
        place.scda("check --strict b.scda").good();
        assert_eq!(place.scda("ls b.scda").good().text().contains(", sealed"), seal);
        let mode = std::os::unix::fs::MetadataExt::mode(&place.path("b.scda").metadata().unwrap());
        assert_eq!(mode & 0o777, 0o640);
        // Nothing else has changed.
        let differences = place.scda("diff a.scda b.scda").bad(1, "").text().lines().count();
        assert_eq!(differences, 5);
        let before = place.read("b.scda");
        for (arguments, words) in [
            ("rho", "found 2 datasets of that name, expected --record"),
            ("rho --record 2 a=1", "--record 2: found 2 datasets"),
            ("nothing a=1", "found no dataset named nothing"),
            ("note a=1", "found no dataset named note"),
            ("mask a", "expected KEY=VALUE"),
            ("mask --remove a", "--remove: found no attribute a"),
            ("flow/ --record 0", "--record is for datasets"),
            ("a//b/ a=1", "name of a dataset"),
        ] {
            place.scda(&format!("attr b.scda {arguments}")).bad(2, words);
        }
        assert!(place.read("b.scda") == before);
        assert_eq!(place.names(), ["a.scda", "b.scda"]);
    }
}

#[test]
fn a_file_with_other_attributes_has_no_more_readers() {
    // Only root can make a file of a group that its owner is not in.
    let place = Place::on_disk();
    if place.shell("id -u").text() != "0\n" {
        return;
    }
    with_datasets(&place, "a.scda", false);
    let line = "cp $(command -v scda) . && chmod 777 . && chown 12345:0 a.scda && chmod 664 a.scda
        setpriv --reuid 12345 --regid 12345 --clear-groups ./scda attr a.scda / x=1
        stat -c '%u %g %a' a.scda";
    assert_eq!(place.shell(line).good().text(), "12345 12345 604\n");
}

#[test]
fn compressed_chunks_wait_beside_the_file_that_a_link_names() {
    // To others than root, a folder can be closed.
    let place = Place::on_disk();
    if place.shell("id -u").text() != "0\n" {
        return;
    }
    with_datasets(&place, "a.scda", false);
    let line = "cp $(command -v scda) . && chmod 755 . a.scda && mkdir -m 777 open && ln -s open/b.scda link
        run='setpriv --reuid 12345 --regid 12345 --clear-groups ./scda'
        $run copy --force --chunk auto a.scda link
        $run ls --json --data a.scda | $run make --force - link";
    place.shell(line).good();
    place.scda("diff a.scda open/b.scda").good();
}

/// A file with metadata of a dataset, and what follows them; metadata of a good dataset behind all.
fn with_metadata(place: &Place, name: &str, metadata: &str, follows: &str) {
    let text = serde_json::json!(metadata);
    let user = "scda dataset 00";
    let text = format!(
        r#"{{"sections": [{{"type": "B", "user": "{user}", "data_text": {text}}}{follows},
        {{"type": "D", "user": "good", "data_type": "int8", "shape": [1], "values": [1]}}]}}"#
    );
    place.with_input(&format!("make -f - {name}"), text.as_bytes()).good();
}

fn metadata(shape: &str, codecs: &str) -> String {
    format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": {shape}, "data_type": "int16",
        "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": {shape}}}}}, "fill_value": 0,
        "codecs": [{{"name": "bytes", "configuration": {{"endian": "big"}}}}{codecs}]}}"#
    )
}

#[test]
fn metadata_are_checked_against_their_sections() {
    let place = Place::new();
    let array = |n: u64, e: u64| {
        format!(r#", {{"type": "A", "user": "x", "N": {n}, "E": {e}, "generate": "zeros"}}"#)
    };
    let good = metadata("[3, 2]", "");
    with_metadata(&place, "a.scda", &good, &array(3, 4));
    place.scda("check a.scda").good();
    let nested = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for (metadata, follows, words) in [
        (good.clone(), array(3, 5), "section 1 (block \"scda dataset 00\"): byte"),
        (good.clone(), array(3, 5), "found an array of 3 elements of 5 bytes, expected 3 of 4 bytes"),
        (good.clone(), array(2, 4), "found an array of 2 elements of 4 bytes"),
        (good.clone(), String::new(), "found the user string \"scda dataset 00\", expected the name"),
        (good.clone(), r#", {"type": "B", "user": "x", "data_text": "b"}"#.into(), "found the type 'B'"),
        (
            good.clone(),
            r#", {"type": "V", "user": "x", "elements_text": ["a", "b"]}"#.into(),
            "varray of 2 elements",
        ),
        (
            good.replace("x", "x/"),
            r#", {"type": "A", "user": "x/", "N": 3, "E": 4, "generate": "zeros"}"#.into(),
            "x/",
        ),
        ("{".into(), array(3, 4), "EOF"),
        (format!("{{\"a\": {nested}}}"), array(3, 4), "levels of nesting"),
        (good.replace("\"shape\"", "\"shape\": [1], \"shape\""), array(3, 4), "\"shape\" twice"),
        (metadata("[4611686018427387904, 4]", ""), array(3, 4), "exceeds 63 bits"),
        (metadata("[3, -2]", ""), array(3, 4), "shape"),
    ] {
        with_metadata(&place, "a.scda", &metadata, &follows);
        for seal in ["", "--seal"] {
            place.scda(&format!("copy -f {seal} a.scda b.scda")).good();
            let run = place.scda("check b.scda").bad(1, "");
            assert!(
                run.text().contains("b.scda: INVALID: ") && run.text().contains(words),
                "{words}: {}",
                run.text()
            );
            assert_eq!(run.text().lines().count(), 1, "{}", run.text());
            // Why it is none.
            let run = place.scda("attr b.scda x").bad(2, "found no dataset named x");
            assert!(run.err.contains(words.rsplit("): ").next().unwrap()), "{words}: {run:?}");
            let json = place.scda("check --json b.scda").bad(1, "").json();
            assert_eq!((&json["valid"], &json["findings"][0]["section"]), (&false.into(), &1.into()));
            // The list says so, too, and shows the others.
            let list = place.scda("ls b.scda");
            assert!(
                list.code == 1 && !list.err.is_empty() && list.text().contains("\"good\"  int8"),
                "{list:?}"
            );
        }
        place.scda("seal a.scda").bad(1, "is not valid, so it is not sealed");
    }
    // At the end of the file.
    let text = serde_json::json!(good);
    let text =
        format!(r#"{{"sections": [{{"type": "B", "user": "scda dataset 00", "data_text": {text}}}]}}"#);
    place.with_input("make -f - a.scda", text.as_bytes()).good();
    let run = place.scda("check a.scda").bad(1, "");
    assert!(run.text().contains("found the end of the file behind its metadata"), "{}", run.text());
    let text = r#"{"sections": [{"type": "I", "user": "scda group 00", "data_text": "Below: attributes of this group\n"}]}"#;
    place.with_input("make -f - a.scda", text.as_bytes()).good();
    let run = place.scda("check a.scda").bad(1, "");
    assert!(run.text().contains("section 1 (inline \"scda group 00\")"), "{}", run.text());
}

#[test]
fn unknown_codecs_are_shown_and_kept() {
    let place = Place::new();
    let codec = r#", {"name": "zstd", "configuration": {"level": 3}}"#;
    let elements = r#", {"type": "V", "user": "x", "elements_text": ["some"]}"#;
    with_metadata(&place, "a.scda", &metadata("[3, 2]", codec), elements);
    let list = place.scda("ls a.scda").good();
    assert!(
        list.text().contains("\"x\"  int16; cannot be read: the codec \"zstd\" at place 1"),
        "{}",
        list.text()
    );
    assert!(place.scda("ls --tree a.scda").good().text().contains("zstd"));
    assert!(objects(&place, "a.scda")[0]["unsupported"].as_str().unwrap().contains("zstd"));
    place.scda("cat a.scda x").bad(2, "the codec \"zstd\" at place 1, which this library cannot read");
    assert_eq!(place.scda("cat --raw a.scda x").good().text(), "some");
    let run = place.scda("check a.scda").good();
    assert!(run.text().contains("a.scda: note: section 2: dataset \"x\": found the codec"), "{}", run.text());
    assert_eq!(place.scda("check -q a.scda").good().text(), "");
    assert_eq!(place.scda("check --json a.scda").good().json()["notes"][0]["section"], 2);
    let all = place.scda("ls --json --data a.scda").good();
    place.with_input("make -f - b.scda", &all.out).good();
    place.scda("diff a.scda b.scda").good();
    assert_eq!(place.scda("sum a.scda").good().text().lines().count(), 4);
    let run = place.scda("copy --encode 6 a.scda c.scda");
    assert!(run.code == 0 && run.err.contains("dataset \"x\" stays as it is"), "{run:?}");
    assert_eq!(place.scda("cat --raw c.scda x").good().text(), "some");
    // A key that may be ignored is lost with new metadata, and otherwise stays.
    let other = metadata("[3, 2]", "").replacen('{', r#"{"other": {"must_understand": false},"#, 1);
    let elements = r#", {"type": "A", "user": "x", "N": 3, "E": 4, "generate": "zeros"}"#;
    with_metadata(&place, "d.scda", &other, elements);
    place.scda("copy d.scda e.scda").good();
    assert!(place.scda("cat e.scda 1").good().text().contains("\"must_understand\": false"));
    for (option, is_new) in [("--chunk 2,2", true), ("--encode 6", true), ("--decode", false)] {
        let run = place.scda(&format!("copy -f {option} d.scda e.scda"));
        let words = "scda: dataset \"x\": left out of its new metadata: other\n";
        assert!(run.code == 0 && run.err.contains(words) == is_new, "{option}: {run:?}");
    }
    // What this library does not know stays as it is written.
    place.scda("attr b.scda x units=m").good();
    assert!(place.scda("cat b.scda 1").good().text().contains("\"name\": \"zstd\""));
    assert_eq!(place.scda("attr b.scda x").good().text(), "units = \"m\"\n");
}

#[test]
fn streams_of_chunks_are_checked() {
    let place = Place::new();
    let mut dataset = Dataset::new("x", DataType::Int32, [64, 64]);
    dataset.layout = Layout::Chunked { shape: Some(vec![16, 64]), text: false };
    with_one(&place, "a.scda", &dataset, &bytes!(0..64 * 64_i32));
    place.scda("check --strict a.scda").good();
    let section = place.scda("ls --raw --json --select 2 a.scda").good().json()["sections"][0].clone();
    let start = usize::try_from(section["data_offset"].as_u64().unwrap()).unwrap();
    let length = usize::try_from(section["bytes"].as_u64().unwrap()).unwrap();
    let bytes = place.read("a.scda");
    // A compressed block that does not say its size.
    let block = br#"{"sections": [{"type": "B", "user": "e", "encoded": true, "data_text": "x"}]}"#;
    place.with_input("make - e.scda", block).good();
    let mut block = place.read("e.scda").split_off(128);
    block[64] = b'!';
    for place_in in [0, length / 3, length / 2, length - 1] {
        let mut damaged = bytes.clone();
        damaged[start + place_in] ^= 0x55;
        place.write("b.scda", &damaged);
        let run = place.scda("check b.scda").bad(1, "");
        assert!(run.text().contains("section 2 (varray \"x\", N 4)"), "{}", run.text());
        // A seal of such a file says that it has these bytes.
        place.scda("seal b.scda").bad(1, "not sealed");
        place.scda("copy -f --seal b.scda c.scda").good();
        place.scda("check c.scda").good();
        place.scda("check --strict c.scda").bad(1, "");
        // Nor is it sealed when it is saved, also behind other damage.
        let mut behind = place.read("b.scda");
        behind.splice(128..128, block.iter().copied());
        for (name, file, number) in [("b.scda", &damaged, 2), ("d.scda", &behind, 3)] {
            place.write(name, file);
            let run = place.scda(&format!("salvage -f --seal {name} c.scda"));
            let words = "scda: c.scda: is not sealed, because of datasets that are not valid";
            assert!(run.code == 0 && run.err.contains(words), "{run:?}");
            assert!(
                run.err.contains(&format!("scda: {name}: section {number} (varray \"x\", N 4)")),
                "{run:?}"
            );
            let saved = format!("c.scda: section {number} is saved as it is\n");
            assert!(run.text().contains(&saved), "{}", run.text());
            assert!(place.read("c.scda")[128..] == damaged[128..]);
        }
    }
    // What is right is.
    place.scda("salvage -f --seal a.scda c.scda").good();
    assert!(place.scda("ls c.scda").good().text().contains(", sealed\n"));
}

#[test]
fn salvage_leaves_no_metadata_without_their_data() {
    let place = Place::new();
    let mut file = Writer::create(Solo, &place.path("a.scda"), b"", &Params::default()).unwrap();
    for name in ["x", "y"] {
        all(&mut file, &Dataset::new(name, DataType::Int32, [100, 4]), &bytes!(0..400_i32));
    }
    file.close().unwrap();
    let bytes = place.read("a.scda");
    place.write("cut.scda", &bytes[..bytes.len() - 1000]);
    let run = place.scda("salvage cut.scda b.scda");
    assert!(run.code == 0, "{run:?}");
    assert!(
        run.text().contains("left out: the metadata of a dataset, group or streams at byte"),
        "{}",
        run.text()
    );
    assert!(run.text().contains("of section 4, a shorter section"), "{}", run.text());
    let kinds: Vec<_> = objects(&place, "b.scda").iter().map(|object| object["type"].to_string()).collect();
    assert_eq!(kinds, ["\"D\"", "\"A\""]);
    place.scda("check --strict b.scda").good();
    // Damaged metadata, of a sealed file: the data are saved as a section.
    place.scda("copy -f --seal a.scda sealed.scda").good();
    let mut sealed = place.read("sealed.scda");
    let user = b"B scda dataset 00";
    let header = sealed.windows(user.len()).enumerate().filter(|(_, bytes)| bytes == user).nth(1).unwrap().0;
    sealed[header + 130] ^= 1;
    sealed[header + 131] ^= 1;
    place.write("sealed.scda", &sealed);
    let run = place.scda("salvage -f sealed.scda b.scda");
    assert!(run.code == 0, "{run:?}");
    let words = "what follows the metadata of section 3 is saved without them";
    assert!(run.text().contains(words), "{}", run.text());
    let kinds: Vec<_> = objects(&place, "b.scda").iter().map(|object| object["type"].to_string()).collect();
    assert_eq!(kinds, ["\"D\"", "\"A\""]);
}
