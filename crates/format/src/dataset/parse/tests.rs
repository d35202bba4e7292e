use super::super::Layout;
use super::super::codecs::{Compressor, Zlib};
use super::super::metadata::{of_dataset, of_group};
use super::*;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

/// The names and metadata of the arrays by zarr-python.
fn zarr() -> Vec<(String, String)> {
    fn find(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                find(&path, found);
            } else if path.ends_with("zarr.json") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/zarr/store.zarr");
    let mut paths = Vec::new();
    find(&root, &mut paths);
    let name = |path: &Path| path.parent().unwrap().strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    paths.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn metadata_by_zarr_python_mean_the_same() {
    let all = zarr();
    assert_eq!(all.len(), 9);
    for (name, text) in all {
        let mut expected: Value = serde_json::from_str(&text).unwrap();
        if expected["node_type"] == "group" {
            let attributes = group(text.as_bytes()).unwrap();
            let written = of_group(&attributes).unwrap();
            let members = expected.as_object_mut().unwrap();
            members.remove("consolidated_metadata");
            assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), expected, "{name}");
            continue;
        }
        let mut found = dataset(&name, text.as_bytes()).unwrap();
        found.dataset.layout = Layout::Chunked { shape: Some(found.chunk_shape), text: false };
        assert_eq!(found.dataset.unsupported, None, "{name}");
        assert_eq!(found.codecs.big_endian, name == "big_endian");
        let written = of_dataset(&found.dataset, &found.codecs).unwrap();
        // What is not used, or the default.
        let members = expected.as_object_mut().unwrap();
        members.remove("storage_transformers");
        members.remove("chunk_key_encoding");
        if members["attributes"] == serde_json::json!({}) {
            members.remove("attributes");
        }
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), expected, "{name}");
    }
}

/// Metadata that are valid.
const VALID: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4,6],"data_type":"float32",
"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,3]}},
"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},
"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.zlib","configuration":{"level":1}}],
"fill_value":0.0,"attributes":{"a":1.50}}"#;

fn with(from: &str, to: &str) -> String {
    assert!(VALID.contains(from), "{from}");
    VALID.replacen(from, to, 1)
}

#[test]
fn what_is_wrong_is_said_with_key_and_byte() {
    assert_eq!(dataset("a", VALID.as_bytes()).unwrap().dataset.attributes, r#"{"a":1.50}"#);
    for (from, to, kind, expected) in [
        (
            "\"zarr_format\":3",
            "\"zarr_format\":2",
            ErrorKind::Format,
            "byte 15: metadata: zarr_format: found \"2\", expected 3",
        ),
        ("\"zarr_format\":3,", "", ErrorKind::Format, "byte 0: metadata: the key \"zarr_format\" is missing"),
        ("array", "group", ErrorKind::Format, "byte 29: metadata: node_type: found"),
        (
            "[4,6]",
            "[4,-6]",
            ErrorKind::Format,
            "byte 45: metadata: shape: found \"[4,-6]\", expected a list of integers",
        ),
        ("[4,6]", "[4,6.0]", ErrorKind::Format, "byte 45: metadata: shape: found"),
        ("[4,6]", "[4,18446744073709551616]", ErrorKind::Format, "byte 45: metadata: shape: found"),
        (
            "[4,6]",
            "[4,9223372036854775807]",
            ErrorKind::Range,
            "byte 45: shape: found [4, 9223372036854775807], whose product exceeds 63 bits",
        ),
        ("[4,6]", "4", ErrorKind::Format, "byte 45: metadata: shape: found"),
        ("[4,6]", "[4]", ErrorKind::Format, "byte 85: chunk shape: found 2 dimensions, expected 1"),
        ("\"shape\":[4,6],", "", ErrorKind::Format, "byte 0: metadata: the key \"shape\" is missing"),
        (
            "\"float32\"",
            "\"vstring\"",
            ErrorKind::Unsupported,
            "byte 63: metadata: data_type: found \"vstring\", which",
        ),
        ("\"float32\"", "7", ErrorKind::Format, "byte 63: metadata: data_type: found"),
        (
            "\"float32\"",
            r#"{"name":"struct","configuration":{"fields":[["a","int8"],["a","int8"]]}}"#,
            ErrorKind::Format,
            "byte 63: metadata: data_type: struct: found the name \"a\", expected a unique, nonempty name",
        ),
        (
            "[2,3]",
            "[2,0]",
            ErrorKind::Format,
            "byte 87: chunk shape: found 0 in dimension 1, expected at least 1",
        ),
        ("[2,3]", "[1000000000,10000000000]", ErrorKind::Range, "byte 87: chunk shape: found [1000000000, 1"),
        (
            "\"chunk_shape\"",
            "\"shape\"",
            ErrorKind::Format,
            "byte 87: metadata: chunk_grid: chunk_shape is missing",
        ),
        (
            "\"endian\":\"little\"",
            "\"endian\":\"middle\"",
            ErrorKind::Format,
            "byte 229: metadata: codecs: found",
        ),
        ("{\"endian\":\"little\"}", "{}", ErrorKind::Format, "byte 229: metadata: codecs: found"),
        ("{\"endian\":\"little\"}", "[]", ErrorKind::Format, "byte 229: metadata: codecs: found"),
        ("{\"level\":1}", "{\"level\":10}", ErrorKind::Format, "byte 229: metadata: codecs: found"),
        (
            "numcodecs.zlib\",\"configuration\":{\"level\":1}",
            "numcodecs.shuffle\",\"configuration\":{\"elementsize\":0}",
            ErrorKind::Format,
            "byte 229: metadata: codecs: found",
        ),
        (
            "0.0",
            "null",
            ErrorKind::Format,
            "byte 352: metadata: fill_value: found \"null\", expected an item of the type float32",
        ),
        ("0.0", "\"nan\"", ErrorKind::Format, "byte 352: metadata: fill_value: found"),
        (
            "{\"a\":1.50}",
            "[]",
            ErrorKind::Format,
            "byte 369: metadata: attributes: found \"[]\", expected an object",
        ),
        (
            "{\"a\":1.50}",
            "{},\"dimension_names\":[1,null]",
            ErrorKind::Format,
            "byte 390: metadata: dimension_names: found",
        ),
        (
            "{\"a\":1.50}",
            "{},\"dimension_names\":[null]",
            ErrorKind::Format,
            "byte 390: metadata: dimension_names: found \"[null]\", expected one for each of 2 dimensions",
        ),
        (
            "{\"a\":1.50}",
            "{},\"dimension_names\":3",
            ErrorKind::Format,
            "byte 390: metadata: dimension_names: found \"3\", expected a list of strings and nulls",
        ),
        (
            "{\"a\":1.50}",
            "{},\"shape\":[]",
            ErrorKind::Format,
            "byte 378: metadata: found the key \"shape\" twice",
        ),
    ] {
        let error = dataset("a", with(from, to).as_bytes()).unwrap_err();
        assert_eq!(error.kind(), kind, "{to}: {error}");
        assert!(error.to_string().starts_with(expected), "{to}: {error}");
    }
    // Of what order the members of a big-endian struct are, nothing says.
    let text = with("\"float32\"", r#"{"name":"struct","configuration":{"fields":[["a","int16"]]}}"#);
    let text = text.replace("little", "big").replace("0.0", "\"AQI=\"");
    let found = dataset("a", text.as_bytes()).unwrap().dataset;
    assert_eq!(found.unsupported.as_deref(), Some("a big-endian struct"));
    let error = group(VALID.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), r#"byte 29: metadata: node_type: found "\"array\"", expected "group""#);
    let codecs = &VALID[VALID.find("[{\"name\":\"bytes").unwrap()..VALID.find(",\n\"fill").unwrap()];
    let error = dataset("a", with(codecs, "[]").as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "byte 229: metadata: codecs: \"bytes\" is missing");
    assert_eq!(dataset("", VALID.as_bytes()).unwrap_err().kind(), ErrorKind::Format);
}

#[test]
fn what_this_library_does_not_have_is_shown() {
    for (from, to, expected) in [
        ("numcodecs.zlib", "blosc2", Some("the codec \"blosc2\" at place 1")),
        ("\"name\":\"bytes\"", "\"name\":\"transpose\"", Some("the codec \"transpose\" at place 0")),
        (
            "\"name\":\"bytes\"",
            "\"name\":\"numcodecs.zlib\"",
            Some("the codec \"numcodecs.zlib\" at place 0"),
        ),
        (
            "numcodecs.zlib\",\"configuration\":{\"level\":1}",
            "bytes\",\"configuration\":{\"endian\":\"big\"}",
            Some("the codec \"bytes\" at place 1"),
        ),
        ("regular", "rectilinear", Some("the chunk grid \"rectilinear\"")),
        ("{\"a\":1.50}", "{},\"storage_transformers\":[{\"name\":\"x\"}]", Some("storage transformers")),
        ("{\"a\":1.50}", "{},\"storage_transformers\":[]", None),
        ("{\"a\":1.50}", "{},\"extra\":1", Some("the key \"extra\" of the metadata")),
        (
            "{\"a\":1.50}",
            "{},\"extra\":{\"must_understand\":true}",
            Some("the key \"extra\" of the metadata"),
        ),
        ("{\"a\":1.50}", "{},\"extra\":{\"must_understand\":false}", None),
        ("{\"a\":1.50}", "{},\"dimension_names\":null", None),
        ("\"float32\"", "{\"name\":\"float32\"}", None),
        ("\"float32\"", "{\"name\":\"float32\",\"configuration\":{}}", None),
        ("{\"a\":1.50}", "{},\"dimension_names\":[]", None),
        (",\"attributes\":{\"a\":1.50}", "", None),
    ] {
        let found = dataset("a", with(from, to).as_bytes()).unwrap().dataset;
        assert_eq!(found.unsupported.as_deref(), expected, "{to}");
        assert_eq!(found.shape, [4, 6]);
    }
}

#[test]
fn codecs_without_configuration_have_that_of_numcodecs() {
    let codecs = |list: &str| {
        let text =
            with(&VALID[VALID.find("[{\"name\":\"bytes").unwrap()..VALID.find(",\n\"fill").unwrap()], list);
        let found = dataset("a", text.as_bytes()).unwrap().codecs;
        (found.shuffle, found.compressor)
    };
    let zlib = |level| Some(Compressor::Zlib(Zlib { level }));
    let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    let size = |n: u64| format!(r#"{{"name":"numcodecs.shuffle","configuration":{{"elementsize":{n}}}}}"#);
    assert_eq!(codecs(&format!(r#"[{bytes},"numcodecs.shuffle","numcodecs.zlib"]"#)), (Some(4), zlib(1)));
    assert_eq!(codecs(&format!(r#"[{bytes},{{"name":"numcodecs.zlib"}}]"#)), (None, zlib(1)));
    // Not the size of an item, which has 4 bytes; and more than any chunk has.
    for n in [3, u64::MAX] {
        assert_eq!(codecs(&format!("[{bytes},{}]", size(n))), (Some(n), None));
    }
    let level = r#"{"name":"numcodecs.zlib","configuration":{"level":-1}}"#;
    assert_eq!(codecs(&format!("[{bytes},{level}]")), (None, zlib(-1)));
}

#[test]
fn raw_bytes_of_zarr_python() {
    let raw = r#"{"name":"raw_bytes","configuration":{"length_bytes":3}}"#;
    let text = with("\"float32\"", raw).replace("0.0", "\"AQL/\"");
    let found = dataset("a", text.as_bytes()).unwrap().dataset;
    assert_eq!((found.data_type, found.fill_value), (DataType::Raw(3), vec![1, 2, 255]));
    for bad in ["0", "-1", "99999999999", "\"3\""] {
        let text = text.replace(":3}}", &format!(":{bad}}}}}"));
        assert_eq!(dataset("a", text.as_bytes()).unwrap_err().kind(), ErrorKind::Unsupported, "{bad}");
    }
}

proptest! {
    #[test]
    fn damaged_metadata_are_an_error_or_a_dataset(
        changes in prop::collection::vec((0..VALID.len(), any::<u8>()), 1..4), cut in 0..VALID.len() + 200,
    ) {
        let mut text = VALID.as_bytes().to_vec();
        for (at, byte) in changes {
            text[at] = byte;
        }
        text.truncate(cut.max(1));
        match dataset("a", &text) {
            Ok(found) => found.dataset.validate().unwrap(),
            Err(error) => prop_assert!(error.offset().is_some_and(|at| at <= text.len() as u64), "{}", error),
        }
    }
}
