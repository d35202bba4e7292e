//! What `scda ls`, `cat`, and `diff` tell of datasets.

use super::*;

#[test]
fn a_list_shows_what_datasets_are() {
    let place = Place::new();
    for (name, seal) in [("plain.scda", false), ("sealed.scda", true)] {
        with_datasets(&place, name, seal);
        let list = place.scda(&format!("ls {name}")).good();
        let hidden = |text: &str| text.matches("not shown by HDF5: text: compressed as text\n").count();
        assert_eq!(hidden(list.text()), usize::from(seal));
        let rows = list.text().lines().skip(2 + usize::from(seal));
        let found: Vec<Vec<&str>> = rows.map(|line| line.split_whitespace().collect()).collect();
        let columns =
            |line: &Vec<&str>| format!("{} {} {} {} {}", line[0], line[1], line[2], line[3], line[4]);
        let found_columns: Vec<_> = found.iter().map(columns).collect();
        assert_eq!(
            found_columns,
            [
                "2 G - - 84",
                "3 B - 5 5",
                "5 G - - 74",
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
            assert_eq!(one.text().lines().count(), 3 + usize::from(seal), "{}", one.text());
            assert!(one.text().contains("flow/density"));
        }
        let raw = place.scda(&format!("ls --raw {name}")).good();
        assert_eq!(raw.text().lines().filter(|line| line.contains("\"scda dataset 00\"")).count(), 9);
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
fn the_tree_tells_that_records_have_several_shapes() {
    let place = Place::new();
    let mut file = Writer::create(Solo, place.path("a.scda"), b"", &WriteOptions::default()).unwrap();
    for rows in [3, 4, 3] {
        let dataset = Dataset::new("flow/x", DataType::Uint8, [rows]);
        file.dataset(&dataset, &[IndexBox::all(&[rows])], &vec![0; usize::try_from(rows).unwrap()]).unwrap();
    }
    file.close().unwrap();
    let tree = place.scda("ls --tree a.scda").good();
    assert!(tree.text().contains("x  3, uint8, the last of 3 records of 2 shapes\n"), "{}", tree.text());
    // A slash in front, as in HDF5, makes no difference.
    assert_eq!(place.scda("cat a.scda /flow/x --record 1").good().text(), "0\n0\n0\n0\n");
    assert_eq!(place.scda("ls --select /flow/x a.scda").good().text().matches("flow/x").count(), 3);
    place.scda("attr a.scda /flow/x").good();
}

#[test]
fn a_user_string_that_begins_with_a_slash_takes_precedence() {
    let place = Place::new();
    for seal in [false, true] {
        let mut params = WriteOptions::default();
        params.seal = seal;
        let mut file = Writer::create(Solo, place.path("a.scda"), b"", &params).unwrap();
        for (user, text) in [(&b"x"[..], b"1"), (b"/x", b"2"), (b"x", b"3"), (b"y", b"4")] {
            file.block(user, 0, text.len() as u64, Some(text), scda::Encode::None).unwrap();
        }
        file.close().unwrap();
        for (name, expected) in [("/x", "2"), ("x", "3"), ("/y", "4")] {
            assert_eq!(
                place.scda(&format!("cat a.scda {name}")).good().text(),
                expected,
                "{name}, sealed: {seal}"
            );
        }
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
        assert_eq!(cat("flow/density --box 1:3"), rows[1..3].concat());
        assert_eq!(cat("flow/density --box 0:4,2:4"), "0.5 0.75\n1.75 2.0\n3.0 3.25\n4.25 4.5\n");
        assert_eq!(cat("flow/density --box -1,-2:"), "7.0 7.25\n");
        assert_eq!(cat("flow/density --box 2,1"), "2.75\n");
        assert_eq!(cat("flow/density --box 2:2,1"), "");
        assert_eq!(cat("flow/velocity"), "0.0 0.5 -1.5\n1e30 NaN inf\n");
        assert_eq!(cat("step"), "-42\n");
        assert_eq!(cat("mask"), "true\nfalse\nfalse\ntrue\n");
        assert_eq!(cat("rho --record 0"), "0\n-1\n300\n");
        assert_eq!(cat("rho --record -1 --box :1"), "1\n");
        assert_eq!(cat("rho"), cat("rho --record -1"));
        assert_eq!(cat("17 --box 0"), "1\n");
        assert_eq!(cat("wave"), "(1.0,-2.0)\n(0.25,3.0)\n");
        assert_eq!(cat("raw"), "000102 fdfeff\n");
        assert_eq!(cat("text"), "0 1 2 3\n4 5 6 7\n");
        assert_eq!(cat("note"), "hello");
        assert!(cat("6").starts_with("{\n\"zarr_format\":3,"));
        let bytes = place.scda(&format!("cat {name} flow/density --as bytes")).good().out;
        assert_eq!(bytes, density().into_iter().flat_map(f64::to_le_bytes).collect::<Vec<_>>());
        let bytes = place.scda(&format!("cat {name} flow/density --as bytes --box 5,4")).good().out;
        assert_eq!(bytes, 7.25_f64.to_le_bytes());
        // The section as it is stored: four streams and more, none of them the values.
        let raw = place.scda(&format!("cat {name} flow/density --raw --range 0:1")).good().out;
        assert_eq!(raw[0], 0x78);
        let raw = place.scda(&format!("cat {name} flow/velocity --raw --range 0:1")).good().out;
        assert_eq!(raw, [0, 0, 0, 0, 0, 0, 0, 0x3f, 0, 0, 0xc0, 0xbf]);
    }
    for (arguments, words) in [
        ("rh*", "found 2 sections that match \"rh*\": 15, 17;"),
        ("rho --record 2", "--record 2: found 2 sections"),
        (
            "flow/density --box 0:7,0",
            "scda: plain.scda: dataset \"flow/density\": --box: dimension 0: found 0:7, expected a range within 0:6",
        ),
        (
            "flow/density --box 0,1,2",
            "scda: plain.scda: dataset \"flow/density\": --box: found 3 ranges, expected at most one for each of the 2 dimensions",
        ),
        ("flow/density --box a", "expected A:B or an index"),
        (
            "flow/density --range 0:1",
            "scda: plain.scda: dataset \"flow/density\": --range applies to sections",
        ),
        ("flow/density --as text", "scda: plain.scda: a dataset is shown according to its type"),
        ("note --box 0", "scda: plain.scda: \"note\": --box applies to datasets"),
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
    let sizes = place.sizes("a.scda", data as u64);
    let mut bytes = place.read("a.scda");
    // Chunk 1 has columns 2 and 3 of the first four rows.
    bytes[data + sizes[0] + 1] ^= 0xff;
    place.write("a.scda", &bytes);
    let run = place.scda("cat a.scda flow/density").bad(1, "zlib");
    assert_eq!(run.text(), "0.0 0.25\n");
    let run = place.scda("cat a.scda flow/density --box 4:,:2").good();
    assert_eq!(run.text(), "5.0 5.25\n6.25 6.5\n");
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
    // How it is stored is no difference.
    for dataset in [&chunked, &as_text] {
        with_one(&place, "b.scda", dataset, &bytes!(data.clone()));
        assert_eq!(place.scda("diff a.scda b.scda").good().text(), "");
        assert!(place.read("a.scda") != place.read("b.scda"));
    }
    let mut other = data.clone();
    other[6] += 1e-9;
    other[11] = 12.0;
    with_one(&place, "b.scda", &chunked, &bytes!(other.clone()));
    let diff = |arguments: &str| {
        let run = place.scda(&format!("diff {arguments}")).bad(1, "");
        run.text().to_owned()
    };
    let name = "section 2 (dataset \"x\"):";
    let largest = "largest absolute deviation 1.000e0 at [2, 3]: 11.0 | 12.0; \
                   largest relative deviation 8.333e-2 at [2, 3]: 11.0 | 12.0";
    assert_eq!(
        diff("a.scda b.scda"),
        format!("{name} 2 of 12 items differ; first [1, 2]: 6.0 | 6.000000001; {largest}\n")
    );
    assert_eq!(
        diff("a.scda b.scda --rtol 1e-8"),
        format!("{name} 1 of 12 items differs; first [2, 3]: 11.0 | 12.0; {largest}\n")
    );
    assert_eq!(diff("-q a.scda b.scda"), "");
    assert_eq!(place.scda("diff --atol 1 a.scda b.scda").good().text(), "");
    assert_eq!(place.scda("diff --rtol 0.1 a.scda b.scda").good().text(), "");
    // NaN is NaN, if numbers are compared as such.
    (other[6], other[11]) = (6.0, f64::NAN);
    with_one(&place, "a.scda", &plain, &bytes!(other.clone()));
    other[11] = -f64::NAN;
    with_one(&place, "b.scda", &chunked, &bytes!(other.clone()));
    assert_eq!(
        diff("a.scda b.scda"),
        format!("{name} 1 of 12 items differs; first [2, 3]: NaN | NaN; 1 with NaN\n")
    );
    place.scda("diff --rtol 0 a.scda b.scda").good();

    let mut other = plain.clone();
    other.attributes = r#"{"b": 1.0, "units": "m"}"#.into();
    other.dimension_names = vec![Some("y".into()), None];
    other.fill_value = 1.5_f64.to_le_bytes().to_vec();
    with_one(&place, "a.scda", &plain, &bytes!(data.clone()));
    with_one(&place, "b.scda", &other, &bytes!(data.clone()));
    assert_eq!(
        diff("a.scda b.scda"),
        format!(
            "{name} dimension names: [] | [\"y\",null]\n{name} fill value: 0.0 | 1.5\n{name} attribute b: none | 1.0\n{name} attribute units: none | \"m\"\n"
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
    let only =
        |file: &str, name: &str| format!("only in {file}: section 2: dataset float64 3x4, \"{name}\"\n");
    assert_eq!(diff("a.scda b.scda"), only("a.scda", "x") + &only("b.scda", "y"));
    with_datasets(&place, "a.scda", false);
    with_datasets(&place, "b.scda", true);
    place.scda("diff a.scda b.scda").good();
    place.scda("diff --rtol -1 a.scda b.scda").bad(2, "not negative");
}

#[test]
fn nothing_has_no_ratio() {
    let place = Place::new();
    let mut dataset = Dataset::new("none", DataType::Int32, [0, 3]);
    dataset.layout = Layout::Chunked { shape: Some(vec![2, 3]), text: false };
    with_one(&place, "a.scda", &dataset, &[]);
    place.scda("copy --seal a.scda sealed.scda").good();
    for name in ["a.scda", "sealed.scda"] {
        let list = place.scda(&format!("ls {name}")).good();
        let words: Vec<_> = list.text().lines().last().unwrap().split_whitespace().collect();
        assert_eq!(words, ["2", "D", "0x3", "2x3", "0", "128", "-", "\"none\"", "int32"]);
        let tree = place.scda(&format!("ls --tree {name}")).good();
        assert_eq!(tree.text().lines().last(), Some("  none  0x3 in chunks of 2x3, int32"));
    }
}

/// A small file may say that it has any number of items: chunks of the fill value take no bytes. Nobody who prints a file of 2 KB expects
/// a day of them; who wants them all says so.
#[test]
fn very_many_items_of_a_small_file_are_printed_if_they_are_asked_for() {
    let place = Place::new();
    let mut file = Writer::create(Solo, place.path("a.scda"), b"", &WriteOptions::default()).unwrap();
    let mut dataset = Dataset::new("rho", DataType::Uint8, [1 << 30]);
    dataset.layout = Layout::Chunked { shape: Some(vec![1 << 26]), text: false };
    file.dataset(&dataset, &[], &[]).unwrap();
    let metadata = br#"{"zarr_format":3,"node_type":"array","shape":[1048576,1024],"data_type":"string","fill_value":"none",
        "codecs":["vlen-utf8"],"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[65536,1024]}}}"#;
    file.block(b"scda dataset 00", 0, metadata.len() as u64, Some(metadata), scda::Encode::None).unwrap();
    file.varray(b"names", &[16], &[0; 16], None, scda::Source::Contiguous(&[]), scda::Encode::None).unwrap();
    file.close().unwrap();
    assert!(place.read("a.scda").len() < 4096);
    for (how, hint) in [
        ("rho", "--box 0:10 prints the first ones, --box : all"),
        ("rho --as bytes", "--box 0:10 prints the first ones, --box : all"),
        ("names", "--box 0:10,0:10 prints the first ones, --box : all"),
    ] {
        let found = place.scda(&format!("cat a.scda {how}")).bad(2, hint);
        assert!(found.text().lines().count() <= 1, "{found:?}");
    }
    assert_eq!(place.scda("cat a.scda rho --box 0:3").good().text(), "0\n0\n0\n");
    assert_eq!(place.scda("cat a.scda names --box 0:1,0:2").good().text(), "\"none\" \"none\"\n");
    let found = place.shell("scda cat a.scda rho --box : | head -n 3").good();
    assert_eq!(found.text(), "0\n0\n0\n");
    let found = place.shell("scda cat a.scda rho --box 0:20000000 --as bytes | wc -c").good();
    assert_eq!(found.text().trim(), "20000000");
}

/// They are in JSON as numbers of twice as many bits.
#[test]
fn attributes_of_single_precision_are_short() {
    let place = Place::new();
    let file = r#"{"user": "", "sections": [
      {"type": "D", "user": "u", "data_type": "float32", "shape": [1], "values": [1], "attributes": {
        "_FillValue": 1.0000000200408773e+20, "ours": 1.0000000200408773e+20, "list": [0.10000000149011612, 0.2], "n": 0.1,
        "missing_value": 0.1, "scda_types": {"ours": "float32", "list": ">float32", "n": "float64"}}},
      {"type": "D", "user": "w", "data_type": "float64", "shape": [1], "values": [1], "attributes": {"_FillValue": 1.0000000200408773e+20}}]}"#;
    place.make("t.scda", file);
    let tree = place.scda("ls --tree t.scda").good();
    let attributes = place.scda("attr t.scda u").good();
    for text in [tree.text(), attributes.text()] {
        for line in [
            "_FillValue = 1e20\n",
            "ours = 1e20\n",
            "list = [0.1,0.2]\n",
            "n = 0.1\n",
            "missing_value = 0.1\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
    assert!(tree.text().contains("_FillValue = 1.0000000200408773e+20\n"), "{}", tree.text());
    assert!(place.scda("attr t.scda u --json").good().text().contains("1.0000000200408773e+20"));
}

/// They share a line, so that the metadata have room for them.
#[test]
fn attributes_have_many_numbers() {
    let place = Place::new();
    let numbers: Vec<_> = (0..400_000).map(|n| format!("{}.5", 1000 + n % 9000)).collect();
    let list = numbers.join(",");
    let file = format!(
        r#"{{"sections": [{{"type": "D", "user": "u", "data_type": "int8", "shape": [1], "values": [1], "attributes": {{"a": [{list}]}}}}]}}"#
    );
    place.make("t.scda", &file);
    place.scda("check --strict t.scda").good();
    assert_eq!(place.scda("attr t.scda u").good().text(), format!("a = [{list}]\n"));
}
