//! Attributes that are set when their dataset or group is in the file already.

use super::{offset_of, with};
use crate::common::options;
use crate::common::system::{counted, cpu_nanoseconds};
use scda::{
    Communicator, Content, DataType, Dataset, Encode, ErrorKind, IndexBox, Layout, ReadOptions, Reader, Solo,
    WriteOptions, Writer, run_on_threads,
};
use std::collections::BTreeMap;
use std::path::Path;

fn sealed() -> WriteOptions {
    with(|params: &mut WriteOptions| params.seal = true)
}

fn step(name: &str, attributes: &str, chunks: bool) -> Dataset {
    let mut dataset = Dataset::new(name, DataType::Uint8, [4]);
    dataset.attributes = attributes.into();
    if chunks {
        dataset.layout = Layout::Chunked { shape: None, text: false };
    }
    dataset
}

fn append(path: &Path) -> Writer {
    Writer::append(Solo, path, &sealed()).unwrap()
}

fn write(file: &mut Writer, dataset: &Dataset) {
    file.dataset(dataset, &[IndexBox::all(&dataset.shape)], b"abcd").unwrap();
}

/// A sealed file with two records of `rho`, and attributes of the file.
fn create(path: &Path) {
    let mut file = Writer::create(Solo, path, b"", &sealed()).unwrap();
    file.group("/", r#"{"title":"a"}"#).unwrap();
    write(&mut file, &step("rho", r#"{"n":1.50}"#, false));
    file.commit().unwrap();
    write(&mut file, &step("rho", r#"{"n":2}"#, true));
    file.close().unwrap();
}

/// The attributes of all datasets in the order of the file.
fn walked(file: &mut Reader) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in file.entries() {
        if let Content::Dataset(dataset) = entry.unwrap().content {
            found.push((dataset.name.clone(), dataset.attributes.clone()));
        }
    }
    found
}

fn of(path: &Path, name: &str, record: i64) -> String {
    let mut file = Reader::open(Solo, path, &options()).unwrap();
    let found = file.dataset_record(name, record).unwrap().unwrap();
    let mut data = [0; 4];
    found.read(&mut file, &[IndexBox::all(&[4])], &mut data).unwrap();
    assert_eq!(&data, b"abcd");
    found.attributes.clone()
}

#[test]
fn any_number_of_ranks_sets_them() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> = (1..=4).map(|ranks| folder.path().join(ranks.to_string())).collect();
    for (ranks, path) in (1..).zip(&paths) {
        create(path);
        let old = std::fs::read(path).unwrap();
        run_on_threads(ranks, |comm| {
            let is_last = comm.rank() + 1 == ranks;
            let background = with(|params: &mut WriteOptions| {
                params.background_bytes = if ranks > 2 { 1 << 20 } else { 0 }
            });
            let mut file = Writer::append(comm, path, &background).unwrap();
            file.set_attributes("rho", 0, r#"{"units": "kg m-3"}"#).unwrap();
            file.set_attributes("/", 7, r#"{"n": 1}"#).unwrap();
            let all = [IndexBox::all(&[4])];
            let mine = if is_last { &all[..] } else { &[] };
            file.dataset(&step("a/p", "{}", true), mine, if is_last { &b"abcd"[..] } else { &[] }).unwrap();
            file.set_attributes("a/p", 0, r#"{"units": "Pa"}"#).unwrap();
            file.set_attributes("rho", -1, r#"{"n": null, "m": {"é": [null]}}"#).unwrap();
            // They are merged with what was set before, in this job, too.
            file.set_attributes("rho", 0, r#"{"n": null, "o": "p"}"#).unwrap();
            file.set_attributes("a/", 0, r#"{"q": 0.10}"#).unwrap();
            file.set_attributes("/", 0, r#"{"title": null}"#).unwrap();
            file.close().unwrap();
        });
        let bytes = std::fs::read(path).unwrap();
        // HDF5 is led to another view.
        let is_old = |at: usize| (512..560).contains(&at) || bytes[at] == old[at];
        assert!((0..old.len()).all(is_old));
        assert!(bytes == std::fs::read(&paths[0]).unwrap(), "{ranks} ranks");
        let expected = [
            ("rho", r#"{"units":"kg m-3","o":"p"}"#),
            ("rho", r#"{"m":{"é":[null]}}"#),
            ("a/p", r#"{"units":"Pa"}"#),
        ];
        run_on_threads(ranks, |comm| {
            let mut file = Reader::open(comm, path, &options()).unwrap();
            let expected = expected.map(|(name, attributes)| (name.to_owned(), attributes.to_owned()));
            assert_eq!(walked(&mut file), expected);
            assert_eq!(file.group("/").unwrap().unwrap().attributes, r#"{"n":1}"#);
            assert_eq!(file.group("a").unwrap().unwrap().attributes, r#"{"q":0.10}"#);
            file.close().unwrap();
        });
        for (name, record, place) in [("rho", 0, 0), ("rho", -2, 0), ("rho", -1, 1), ("a/p", 0, 2)] {
            assert_eq!(of(path, name, record), expected[place].1);
        }
    }
}

#[test]
fn the_bytes_are_those_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    create(&path);
    let old = std::fs::read(&path).unwrap();
    let mut file = append(&path);
    file.set_attributes("rho", 0, r#"{"units": "m"}"#).unwrap();
    file.close().unwrap();
    let new = String::from_utf8_lossy(&std::fs::read(&path).unwrap()[old.len()..]).into_owned();
    let data = offset_of(&old, "A rho");
    let user = format!("/{data}/rho ");
    let expected = format!(
        "I scda attributes 00 ------------------------------------------\n\
         Below: attributes of a dataset.\n\
         B {user:-<61}\n\
         E 26 --------------------------\n{{\n\"n\":1.50,\n\"units\":\"m\"\n}}\n="
    );
    assert!(new.starts_with(&expected), "{new}\n{expected}");
}

#[test]
fn what_is_not_sealed_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    create(&path);
    let old = std::fs::read(&path).unwrap();
    let mut file = append(&path);
    file.set_attributes("rho", -1, r#"{"n": 3}"#).unwrap();
    file.flush().unwrap();
    // As if the job were killed.
    file.forget();
    assert!(std::fs::read(&path).unwrap().len() > old.len());
    let last = with(|params: &mut ReadOptions| params.to_seal = true);
    let mut file = Reader::open(Solo, &path, &last).unwrap();
    assert_eq!(file.dataset_record("rho", -1).unwrap().unwrap().attributes, r#"{"n":2}"#);
    file.close().unwrap();
    append(&path).close().unwrap();
    assert!(std::fs::read(&path).unwrap() == old);

    // Of a step that is cut, which is two sections, what was set goes, and is not that of the step that is then written at its place.
    let sections = Reader::open(Solo, &path, &options()).unwrap().sections().unwrap();
    let mut file = append(&path);
    file.set_attributes("rho", -1, r#"{"n": 3}"#).unwrap();
    file.set_attributes("rho", 0, r#"{"n": 4}"#).unwrap();
    file.close().unwrap();
    assert_eq!([of(&path, "rho", -1), of(&path, "rho", 0)], [r#"{"n":3}"#, r#"{"n":4}"#]);
    let back = with(|params: &mut WriteOptions| (params.seal, params.append_after) = (true, sections - 2));
    let mut file = Writer::append(Solo, &path, &back).unwrap();
    write(&mut file, &step("rho", r#"{"n":2}"#, true));
    file.close().unwrap();
    assert!(std::fs::read(&path).unwrap() == old);
    assert_eq!([of(&path, "rho", -1), of(&path, "rho", 0)], [r#"{"n":2}"#, r#"{"n":1.50}"#]);
}

#[test]
fn a_name_without_a_slash_is_that_of_a_group_if_no_dataset_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    create(&path);
    for number in [1, 2] {
        run_on_threads(3, |comm| {
            let mut file = Writer::append(comm, &path, &sealed()).unwrap();
            file.set_attributes("both/", -1, r#"{"group":1}"#).unwrap();
            file.set_attributes("only/", -1, r#"{"a":0}"#).unwrap();
            file.set_attributes("only", -1, &format!("{{\"b\":{number}}}")).unwrap();
            file.dataset(&Dataset::new("both", DataType::Uint8, [0]), &[], &[]).unwrap();
            // A slash in front, as in HDF5, makes no difference.
            file.set_attributes("/both", -1, r#"{"dataset":1}"#).unwrap();
            file.set_attributes("/only/", -1, r#"{"c":0}"#).unwrap();
            file.close().unwrap();
        });
        let mut file = Reader::open(Solo, &path, &ReadOptions::default()).unwrap();
        let mut of = |path: &str| file.group(path).unwrap().unwrap().attributes;
        assert_eq!(
            [of("only"), of("/both")],
            [format!("{{\"a\":0,\"b\":{number},\"c\":0}}"), r#"{"group":1}"#.into()]
        );
        for name in ["both", "/both"] {
            assert_eq!(file.dataset(name).unwrap().unwrap().attributes, r#"{"dataset":1}"#);
        }
        assert!(file.dataset("//both").unwrap().is_none());
    }
}

#[test]
fn what_cannot_be_set_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    create(&path);
    let old = std::fs::read(&path).unwrap();
    let mut file = append(&path);
    file.tolerate_arguments().unwrap();
    for (name, record, changes) in [
        ("p", -1, "{}"),
        ("rho", 2, "{}"),
        ("rho", -3, "{}"),
        ("rho", 0, "[]"),
        ("rho", 0, r#"{"a":1,"a":2}"#),
        ("rho", 0, r#"{"scda_name":"p"}"#),
        ("//", 0, "{}"),
    ] {
        let error = file.set_attributes(name, record, changes).unwrap_err();
        let is_missing = name == "p" || record == 2 || record == -3;
        let kind = if is_missing { ErrorKind::NotFound } else { ErrorKind::Argument };
        assert_eq!(error.kind(), kind, "{name} {record} {changes}: {error}");
    }
    file.close().unwrap();
    assert!(std::fs::read(&path).unwrap() == old);
    let errors = run_on_threads(2, |comm| {
        let changes = if comm.rank() == 0 { r#"{"a":1}"# } else { r#"{"a":2}"# };
        let mut file = Writer::append(comm, &path, &sealed()).unwrap();
        file.set_attributes("rho", 0, changes).and_then(|()| file.close()).unwrap_err().to_string()
    });
    let expected = r#"the ranks disagree on the dataset or group: rank 0 passes the attributes of "rho": "{\"a\":1}" to set_attributes, rank 1 "{\"a\":2}""#;
    assert!(errors.iter().all(|e| e.ends_with(expected)), "{errors:?}");
    let errors = run_on_threads(2, |comm| {
        let record = i64::try_from(comm.rank()).unwrap();
        let mut file = Writer::append(comm, &path, &sealed()).unwrap();
        file.set_attributes("rho", record, "{}").and_then(|()| file.close()).unwrap_err().to_string()
    });
    let expected = "the ranks disagree on a size, an offset, or the number of a section or record: rank 0 passes the record 0 to \
                    set_attributes, rank 1 1";
    assert!(errors.iter().all(|e| e.ends_with(expected)), "{errors:?}");
    let plain = folder.path().join("plain");
    let mut file = Writer::create(Solo, &plain, b"", &options()).unwrap();
    write(&mut file, &step("rho", "{}", false));
    assert_eq!(file.set_attributes("rho", 0, "{}").unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn a_pair_that_is_none_is_an_error_at_its_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let (convention, below) = (&b"scda attributes 00"[..], b"Below: attributes of a dataset.\n");
    let before = "attributes of the dataset \"rho\" at byte 1184: the section before them is not the one that announces";
    for (user, is_inline, text, words) in [
        (convention, true, "{\"a\": }", "not JSON: found \"}\", expected value"),
        (convention, true, "[1]", "expected an object"),
        (b"another", true, "{}", before),
        (convention, false, "{}", before),
    ] {
        create(&path);
        let data = offset_of(&std::fs::read(&path).unwrap(), "A rho");
        let mut file = append(&path);
        // So that there is one at all.
        file.set_attributes("rho", -1, r#"{"n": 3}"#).unwrap();
        let at = file.position().unwrap();
        match is_inline {
            true => file.inline(user, 0, Some(below)).unwrap(),
            false => file.block(user, 0, 32, Some(below), Encode::None).unwrap(),
        }
        let user = format!("/{data}/rho");
        file.block(user.as_bytes(), 0, text.len() as u64, Some(text.as_bytes()), Encode::None).unwrap();
        file.close().unwrap();
        assert_eq!(of(&path, "rho", -1), r#"{"n":3}"#);
        for ranks in [1, 3] {
            let errors = run_on_threads(ranks, |comm| {
                let mut file = Reader::open(comm, &path, &options()).unwrap();
                file.dataset_record("rho", 0).unwrap_err()
            });
            for error in &errors {
                assert_eq!((error.kind(), error.offset()), (ErrorKind::Format, errors[0].offset()));
                assert!(error.offset().unwrap() >= at && error.to_string().contains(words), "{error}");
            }
        }
        // A reader that goes on can read the others.
        let mut file = Reader::open(Solo, &path, &options()).unwrap();
        file.inspect().tolerate_damage().unwrap();
        assert!(file.dataset_record("rho", 0).is_err());
        assert_eq!(file.dataset_record("rho", -1).unwrap().unwrap().attributes, r#"{"n":3}"#);
    }
}

/// Whatever is set when, of which record, in a file of how many seals, with and without tables of names.
#[test]
fn each_record_has_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for seed in 0..12_u64 {
        let mut random = seed;
        let mut below = |most: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % most
        };
        let long = format!("{}/name", "x".repeat(50 + 3 * seed as usize));
        let names = ["a", "group/b", &*scda_format::dataset::stored_name(&long)].map(str::to_owned);
        let mut expected: BTreeMap<(usize, u64), BTreeMap<String, u64>> = BTreeMap::new();
        let mut file = Writer::create(Solo, &path, b"", &sealed()).unwrap();
        let mut order = Vec::new();
        for number in 0..100 {
            let name = below(3) as usize;
            let records = expected.keys().filter(|(other, _)| *other == name).count() as u64;
            match below(5) {
                0..2 => {
                    write(&mut file, &step(&names[name], &format!("{{\"k{number}\":0}}"), number % 2 == 0));
                    order.push((name, records));
                    expected.insert((name, records), [(format!("k{number}"), 0)].into());
                }
                2..4 if records > 0 => {
                    let (record, key) = (below(records), format!("k{}", below(number)));
                    let value = below(3);
                    let signed = record.cast_signed() - if below(2) == 0 { records.cast_signed() } else { 0 };
                    let text = if value == 0 { "null".into() } else { value.to_string() };
                    file.set_attributes(&names[name], signed, &format!("{{\"{key}\":{text}}}")).unwrap();
                    let all = expected.get_mut(&(name, record)).unwrap();
                    if value == 0 {
                        all.remove(&key)
                    } else {
                        all.insert(key, value)
                    };
                }
                4 if below(4) == 0 => {
                    file.close().unwrap();
                    file = append(&path);
                }
                _ => file.commit().unwrap(),
            }
        }
        file.close().unwrap();
        let parsed = |text: &str| serde_json::from_str::<BTreeMap<String, u64>>(text).unwrap();
        let params = with(|params: &mut ReadOptions| params.verify = seed % 2 == 0);
        let mut file = Reader::open(Solo, &path, &params).unwrap();
        let all = walked(&mut file);
        assert_eq!(all.len(), order.len());
        for ((name, record), (found, attributes)) in order.iter().zip(&all) {
            assert_eq!(
                (&names[*name], &parsed(attributes)),
                (found, &expected[&(*name, *record)]),
                "seed {seed}"
            );
            let record = i64::try_from(*record).unwrap();
            let alone = of(&path, found, record);
            assert_eq!(alone, *attributes, "seed {seed}");
            assert_eq!(file.dataset_record(found, record).unwrap().unwrap().attributes, alone);
        }
    }
}

/// A loop over all datasets of a file must not take time that grows with their square.
#[test]
fn a_call_costs_the_same_however_many_sections_are_not_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = Writer::create(Solo, folder.path().join("f"), b"", &sealed()).unwrap();
    let mut costs = Vec::new();
    for block in 0..12 {
        let names = || (500 * block..500 * (block + 1)).map(|number| number.to_string());
        names().for_each(|name| write(&mut file, &step(&name, "{}", false)));
        let before = cpu_nanoseconds();
        names().for_each(|name| file.set_attributes(&name, 0, r#"{"n":1}"#).unwrap());
        costs.push(cpu_nanoseconds() - before);
    }
    file.close().unwrap();
    assert!(costs[11] < 2 * costs[0], "{costs:?}");
}

#[test]
fn names_of_sealed_datasets_are_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = Writer::create(Solo, &path, b"", &sealed()).unwrap();
    (0..1000).for_each(|name| write(&mut file, &step(&name.to_string(), "{}", false)));
    file.close().unwrap();
    let mut file = append(&path);
    let before = counted("rchar");
    (0..200).for_each(|name| file.set_attributes(&name.to_string(), -1, r#"{"n":1}"#).unwrap());
    let read = counted("rchar") - before;
    file.close().unwrap();
    assert!(read < 200 * 16 * 1024, "{read} bytes");
    assert_eq!(of(&path, "199", 0), r#"{"n":1}"#);
    assert_eq!(of(&path, "200", 0), "{}");
}
