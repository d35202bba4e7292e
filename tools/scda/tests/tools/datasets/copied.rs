//! Datasets that `scda copy` writes in another layout.

use super::*;

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
        ("--chunk 3 --chunk flow/none=3", "--chunk: the pattern 2 matches no dataset that is copied"),
        ("--delete rho --chunk rho=2", "--chunk: the pattern 1 matches no dataset that is copied"),
        ("--level 3", "--level goes with --chunk"),
        ("--level 3 --encode 4", "--encode LEVEL and --level cannot be combined"),
        ("--decode --chunk 3", "cannot be used with"),
        ("--decode --max-relative-error 0.1", "cannot be used with"),
        ("--max-relative-error 0", "expected a number above 0"),
        ("--max-relative-error 1", "max_relative_error: found 1, expected 0 or more, and less than 1"),
        (
            "--max-absolute-error none=1",
            "--max-absolute-error: the pattern 1 matches no dataset that is copied",
        ),
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
fn numbers_are_rounded() {
    let place = Place::new();
    let smooth: Vec<f64> = (0..10_000).map(|n| f64::from(n).sqrt()).collect();
    let mut file = Writer::create(Solo, place.path("a.scda"), b"", &WriteOptions::default()).unwrap();
    for name in ["rho", "u"] {
        all(&mut file, &Dataset::new(name, DataType::Float64, [10_000]), &bytes!(smooth.clone()));
    }
    let numbers: Vec<i64> = (0..10_000).collect();
    all(&mut file, &Dataset::new("i", DataType::Int64, [10_000]), &bytes!(numbers));
    file.close().unwrap();
    place.scda("copy --max-relative-error 1e-4 a.scda b.scda").good();
    place.scda("diff a.scda b.scda").bad(1, "");
    let told = |file: &str, name: &str| {
        let found = named(&place, file, name);
        (found["layout"].clone(), found["attributes"].clone())
    };
    for name in ["rho", "u"] {
        let attributes = serde_json::json!({"_QuantizeBitRoundNumberOfSignificantBits": 13, "scda_max_relative_error": 1e-4});
        assert_eq!(told("b.scda", name), (serde_json::json!("chunks"), attributes));
    }
    assert_eq!(told("b.scda", "i"), (serde_json::json!("contiguous"), serde_json::json!({})));
    place.scda("copy --encode auto a.scda c.scda").good();
    place.scda("copy --encode auto --max-relative-error 1e-4 a.scda g.scda").good();
    assert!(2 * place.read("g.scda").len() < place.read("c.scda").len());
    place.scda("copy --max-relative-error u=1e-2 b.scda d.scda").good();
    assert_eq!(told("d.scda", "rho"), told("b.scda", "rho"));
    let attributes = serde_json::json!({"_QuantizeBitRoundNumberOfSignificantBits": 6, "scda_max_relative_error": 1e-4 + 1e-2 + 1e-4 * 1e-2});
    assert_eq!(told("d.scda", "u").1, attributes);
    place
        .scda("copy --max-absolute-error u=0.25 b.scda e.scda")
        .bad(2, "the data were rounded before with another bound");
    place.scda("copy --max-absolute-error 0.25 a.scda e.scda").good();
    assert_eq!(told("e.scda", "u").1, serde_json::json!({"scda_max_absolute_error": 0.25}));
    place.scda("copy --decode b.scda f.scda").good();
    assert_eq!(told("f.scda", "u").1, told("b.scda", "u").1);
}

#[test]
fn aligned_data_stay_aligned() {
    let place = Place::new();
    let data: Vec<f64> = (0..10_000).map(f64::from).collect();
    let mut file = Writer::create(Solo, place.path("a.scda"), b"", &WriteOptions::default()).unwrap();
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
    place.scda("seal a.scda").good();
    place.scda("attr a.scda small note=changed").good();
    place.scda("attr a.scda x units=m").good();
    // In a copy, their metadata have other lengths.
    place.scda("copy a.scda c.scda").good();
    assert_eq!(offsets("c.scda"), [0, 0]);
    place.scda("copy c.scda d.scda").good();
    assert!(place.read("c.scda") == place.read("d.scda"));
}
