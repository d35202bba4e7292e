//! Rows that were added to datasets later.
#![allow(clippy::cast_possible_truncation)] // test data

use crate::run::Place;
use scda::{DataType, Dataset, Encode, Layout, Params, Region, Solo, Source, Writer};

/// Three kinds of datasets with rows that were added in later commits: plain, in chunks, and bools.
fn extended(place: &Place, name: &str) {
    let path = place.path(name);
    let mut params = Params::default();
    params.seal = true;
    let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
    for turn in 0..3_u8 {
        for (name, data_type) in [("rho", DataType::Int16), ("c/p", DataType::Int32), ("on", DataType::Bool)]
        {
            let mut dataset = Dataset::new(name, data_type, [2, 3]);
            dataset.extends = turn > 0;
            dataset.attributes = r#"{"units": "m"}"#.into();
            if name == "c/p" && turn < 2 {
                dataset.layout = Layout::Chunked { shape: Some(vec![1 + u64::from(turn), 2]), text: false };
            }
            let item = data_type.item_bytes() as usize;
            let data: Vec<u8> = (0..6 * item)
                .map(|i| if i % item == 0 { (i as u8 / item as u8 + turn) % 2 } else { 0 })
                .collect();
            file.dataset(&dataset, &[Region::all(&[2, 3])], &data).unwrap();
        }
        file.commit().unwrap();
    }
    file.set_attributes("rho", -1, r#"{"n": 1}"#).unwrap();
    file.close().unwrap();
}

#[test]
fn they_are_shown_and_copied_as_one_array() {
    let place = Place::new();
    extended(&place, "a.scda");
    let shown = place.scda("ls a.scda").good();
    let lines = |word: &str| shown.text().lines().filter(|line| line.contains(word)).count();
    assert_eq!((lines(" 6x3 "), lines("rows 00"), shown.text().lines().count()), (3, 0, 5), "{shown:?}");
    let shown = place.scda("ls -l a.scda").good();
    for words in ["  rows added  2 from row 2 on, at byte ", "  rows added  2 from row 4 on, at byte "] {
        assert_eq!(shown.text().matches(words).count(), 3, "{shown:?}");
    }
    let rho = "0 1 0\n1 0 1\n1 0 1\n0 1 0\n0 1 0\n1 0 1\n";
    assert_eq!(place.scda("cat a.scda rho").good().text(), rho);
    assert_eq!(place.scda("ls --raw a.scda").good().text().matches("scda rows 00").count(), 6);
    place.scda("check --strict a.scda").good();
    // A copy has one section for all rows, as the first ones are stored; what salvage saves has as many as before.
    for (how, sections) in [
        ("copy a.scda b.scda", 6),
        ("copy --encode auto a.scda b.scda", 6),
        ("copy --decode a.scda b.scda", 6),
        ("join a.scda --output b.scda", 6),
        ("salvage a.scda b.scda", 18),
    ] {
        let place = Place::new();
        extended(&place, "a.scda");
        place.scda(how).good();
        assert_eq!(place.scda("cat b.scda rho").good().text(), rho, "{how}");
        place.scda("diff a.scda b.scda").good();
        place.scda("check --strict b.scda").good();
        let raw = place.scda("ls --raw b.scda").good();
        assert_eq!(raw.text().lines().count(), 2 + sections, "{how}: {raw:?}");
    }
    // Of a single dataset, all rows.
    place.scda("copy --select c/p a.scda c.scda").good();
    assert_eq!(place.scda("ls c.scda").good().text().matches(" 6x3 ").count(), 1);
    // A file without a seal has them as sections, until it has one.
    let salvaged = place.scda("salvage --no-seal a.scda d.scda").good();
    assert!(salvaged.text().contains("counts when the file is sealed: scda seal"), "{salvaged:?}");
    assert_eq!(place.scda("ls d.scda").good().text().matches(" 2x3 ").count(), 3);
    place.scda("seal d.scda").good();
    place.scda("diff a.scda d.scda").good();
}

#[test]
fn rows_of_no_dataset_are_found() {
    let place = Place::new();
    extended(&place, "a.scda");
    let all = place.read("a.scda");
    let mut params = Params::default();
    params.seal = true;
    let metadata = {
        let text = String::from_utf8_lossy(&all);
        let start = text.find("B scda rows 00").unwrap();
        let start = start + text[start..].find('{').unwrap();
        text[start..start + text[start..].find("}\n=").unwrap() + 2].to_owned()
    };
    for (user, words) in [
        ("/+128/rho", "found rows of no dataset, expected that one's data at byte 128"),
        ("/+768/other", "found rows of no dataset"),
        ("/+0768/rho", "found another section, expected an array or varray with rows of a dataset"),
        ("other", "found another section, expected an array or varray with rows of a dataset"),
    ] {
        place.write("a.scda", &all);
        let mut file = Writer::append(Solo, &place.path("a.scda"), &params).unwrap();
        let (text, bytes) = (metadata.as_bytes(), metadata.len() as u64);
        file.block(b"scda rows 00", 0, bytes, Some(text), Encode::None).unwrap();
        file.array(user.as_bytes(), &[2], 6, Source::Contiguous(&[0; 12]), Encode::None).unwrap();
        file.close().unwrap();
        let found = place.scda("check a.scda").bad(1, "");
        assert!(found.text().contains(words), "{found:?}");
        place.scda("cat a.scda rho").good();
    }
    // With the right name, the number of rows before is wrong.
    place.write("a.scda", &all);
    let mut file = Writer::append(Solo, &place.path("a.scda"), &params).unwrap();
    let (text, bytes) = (metadata.as_bytes(), metadata.len() as u64);
    file.block(b"scda rows 00", 0, bytes, Some(text), Encode::None).unwrap();
    file.array(b"/+768/rho", &[2], 6, Source::Contiguous(&[0; 12]), Encode::None).unwrap();
    file.close().unwrap();
    let found = place.scda("check a.scda").bad(1, "");
    assert!(found.text().contains("found the first row 2, expected 6"), "{found:?}");
}
