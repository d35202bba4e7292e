//! Datasets that are damaged or unknown.

use super::*;

/// A file with metadata of a dataset, and what follows them; metadata of a good dataset after all.
fn with_metadata(place: &Place, name: &str, metadata: &str, follows: &str) {
    let text = serde_json::json!(metadata);
    let user = "scda dataset 00";
    let text = format!(
        r#"{{"sections": [{{"type": "B", "user": "{user}", "data_text": {text}}}{follows},
        {{"type": "D", "user": "good", "data_type": "int8", "shape": [1], "values": [1]}}]}}"#
    );
    place.make(name, &text);
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
        (good.clone(), array(3, 5), "section 1 (block \"scda dataset 00\" of \"x\"): byte"),
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
            // Why it is none, if a section has the name.
            let run = place.scda("attr b.scda x");
            let (code, why) = match &*follows {
                "" => (2, "there is no dataset or group named x"),
                other if other.contains("x/") => (1, "section \"x/\" is not a group"),
                _ => (1, words.rsplit("): ").next().unwrap()),
            };
            run.bad(code, why);
            let json = place.scda("check --json b.scda").bad(1, "").json();
            assert_eq!((&json["valid"], &json["findings"][0]["section"]), (&false.into(), &1.into()));
            // The list says so, too, and shows the others.
            let list = place.scda("ls b.scda");
            assert!(
                list.code == 1 && !list.err.is_empty() && list.text().contains("\"good\"  int8"),
                "{list:?}"
            );
        }
        place.scda("seal a.scda").bad(1, "is not valid, so no seal is added");
    }
    // At the end of the file.
    let text = serde_json::json!(good);
    let text =
        format!(r#"{{"sections": [{{"type": "B", "user": "scda dataset 00", "data_text": {text}}}]}}"#);
    place.make("a.scda", &text);
    let run = place.scda("check a.scda").bad(1, "");
    assert!(run.text().contains("the file ends after its metadata, without its data"), "{}", run.text());
    let text = r#"{"sections": [{"type": "I", "user": "scda group 00", "data_text": "Below: attributes of this group\n"}]}"#;
    place.make("a.scda", text);
    let run = place.scda("check a.scda").bad(1, "");
    assert!(run.text().contains("section 1 (inline \"scda group 00\")"), "{}", run.text());
}

#[test]
fn unknown_codecs_are_shown_and_kept() {
    let place = Place::new();
    let codec = r#", {"name": "zstd2", "configuration": {"level": 3}}"#;
    let elements = r#", {"type": "V", "user": "x", "elements_text": ["some"]}"#;
    with_metadata(&place, "a.scda", &metadata("[3, 2]", codec), elements);
    let list = place.scda("ls a.scda").good();
    assert!(
        list.text().contains("\"x\"  int16; cannot be read: the codec \"zstd2\" at place 1"),
        "{}",
        list.text()
    );
    assert!(place.scda("ls --tree a.scda").good().text().contains("zstd"));
    assert!(objects(&place, "a.scda")[0]["unsupported"].as_str().unwrap().contains("zstd"));
    place.scda("cat a.scda x").bad(2, "the codec \"zstd2\" at place 1, which this library cannot read");
    assert_eq!(place.scda("cat --raw a.scda x").good().text(), "some");
    let run = place.scda("check a.scda").good();
    assert!(run.text().contains("a.scda: note: section 2: dataset \"x\": found the codec"), "{}", run.text());
    assert_eq!(place.scda("check -q a.scda").good().text(), "");
    assert_eq!(place.scda("check --json a.scda").good().json()["notes"][0]["section"], 2);
    let run = place.scda("copy --encode 6 a.scda c.scda");
    assert!(run.code == 0 && run.err.contains("dataset \"x\" is copied unchanged"), "{run:?}");
    assert_eq!(place.scda("cat --raw c.scda x").good().text(), "some");
    // A key that may be ignored is lost with new metadata, and otherwise stays.
    let other = metadata("[3, 2]", "").replacen('{', r#"{"other": {"must_understand": false},"#, 1);
    let elements = r#", {"type": "A", "user": "x", "N": 3, "E": 4, "generate": "zeros"}"#;
    with_metadata(&place, "d.scda", &other, elements);
    place.scda("copy d.scda e.scda").good();
    assert!(place.scda("cat e.scda 1").good().text().contains("\"must_understand\": false"));
    for (option, is_new) in [("--chunk 2,2", true), ("--encode 6", true), ("--decode", false)] {
        let run = place.scda(&format!("copy -f {option} d.scda e.scda"));
        let words = "scda: dataset \"x\": left out of the new metadata: other\n";
        assert!(run.code == 0 && run.err.contains(words) == is_new, "{option}: {run:?}");
    }
}

/// Seals a copy by the library, which decodes nothing.
fn sealed_as_it_is(place: &Place, from: &str, to: &str) {
    let path = place.write(to, place.read(from));
    let mut params = WriteOptions::default();
    params.seal = true;
    Writer::append(Solo, &path, &params).unwrap().close().unwrap();
}

#[test]
fn streams_of_chunks_are_checked() {
    let place = Place::new();
    let mut dataset = Dataset::new("x", DataType::Int32, [64, 64]);
    dataset.layout = Layout::Chunked { shape: Some(vec![16, 64]), text: false };
    dataset.codec = Codec::Zlib;
    with_one(&place, "a.scda", &dataset, &bytes!(0..64 * 64_i32));
    place.scda("check --strict a.scda").good();
    let section = place.scda("ls --raw --json --select 2 a.scda").good().json()["sections"][0].clone();
    let start = usize::try_from(section["data_offset"].as_u64().unwrap()).unwrap();
    let length = usize::try_from(section["bytes"].as_u64().unwrap()).unwrap();
    let bytes = place.read("a.scda");
    // A compressed block that does not say its size.
    let block = r#"{"sections": [{"type": "B", "user": "e", "encoded": true, "data_text": "x"}]}"#;
    place.make("e.scda", block);
    let mut block = place.read("e.scda").split_off(128);
    block[64] = b'!';
    for place_in in [0, length / 3, length / 2, length - 1] {
        let mut damaged = bytes.clone();
        damaged[start + place_in] ^= 0x55;
        place.write("b.scda", &damaged);
        let run = place.scda("check b.scda").bad(1, "");
        assert!(run.text().contains("section 2 (varray \"x\", N 4)"), "{}", run.text());
        // The seal of a program says that it has these bytes.
        place.scda("seal b.scda").bad(1, "no seal is added");
        place.scda("copy -f --seal b.scda c.scda").bad(1, "section 2 (varray \"x\", N 4)");
        sealed_as_it_is(&place, "b.scda", "c.scda");
        place.scda("check c.scda").good();
        place.scda("check --strict c.scda").bad(1, "");
        // Nor is it sealed when it is saved, also after other damage.
        let mut after = place.read("b.scda");
        after.splice(128..128, block.iter().copied());
        for (name, file, number) in [("b.scda", &damaged, 2), ("d.scda", &after, 3)] {
            place.write(name, file);
            let run = place.scda(&format!("salvage -f --seal {name} c.scda"));
            let words = "scda: c.scda: is not sealed, because it has invalid datasets";
            assert!(run.code == 0 && run.err.contains(words), "{run:?}");
            assert!(
                run.err.contains(&format!("scda: {name}: section {number} (varray \"x\", N 4)")),
                "{run:?}"
            );
            let saved = format!("c.scda: section {number} is saved unchanged, although it is not valid\n");
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
    let mut file = Writer::create(Solo, place.path("a.scda"), b"", &WriteOptions::default()).unwrap();
    for name in ["x", "y"] {
        all(&mut file, &Dataset::new(name, DataType::Int32, [100, 4]), &bytes!(0..400_i32));
    }
    file.close().unwrap();
    let bytes = place.read("a.scda");
    place.write("cut.scda", &bytes[..bytes.len() - 1000]);
    let run = place.scda("salvage cut.scda b.scda");
    assert!(run.code == 0, "{run:?}");
    assert!(run.text().contains("left out: the metadata of dataset \"y\" at byte"), "{}", run.text());
    assert!(run.text().contains("of section 4, only the first"), "{}", run.text());
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
    assert!(run.text().contains("data of the dataset \"y\" at byte "), "{}", run.text());
    assert!(run.err.contains("section 3 (block \"scda dataset 00\" of \"y\"): byte "), "{run:?}");
    assert!(run.text().contains(" are saved as \"salvaged data\"\n"), "{}", run.text());
    let kinds: Vec<_> = objects(&place, "b.scda").iter().map(|object| object["type"].to_string()).collect();
    assert_eq!(kinds, ["\"D\"", "\"A\""]);
    // Of data that are damaged as well, the elements before the damage.
    sealed[header] ^= 1;
    let data = sealed.windows(3).position(|bytes| bytes == b"A y").unwrap() + 128 + 800;
    sealed[data] ^= 1;
    place.write("sealed.scda", &sealed);
    place.scda("salvage -f sealed.scda b.scda").bad(0, "");
    let saved = objects(&place, "b.scda");
    assert_eq!((&saved[1]["user"], &saved[1]["N"]), (&"salvaged data".into(), &50.into()), "{saved:?}");
}

/// What is left of a damaged record, or group, does not hide the whole ones before it.
#[test]
fn salvage_saves_nothing_under_a_name_that_then_cannot_be_read() {
    let place = Place::new();
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::create(Solo, place.path("a.scda"), b"", &params).unwrap();
    for title in ["first", "last"] {
        file.group("flow", &format!(r#"{{"title":"{title}"}}"#)).unwrap();
    }
    for step in 0..3 {
        all(&mut file, &Dataset::new("rho", DataType::Int32, [100]), &bytes!(step..step + 100_i32));
    }
    file.close().unwrap();
    let whole = place.read("a.scda");
    let headers = |user: &[u8]| -> Vec<_> {
        whole.windows(user.len()).enumerate().filter(|(_, bytes)| *bytes == user).map(|(at, _)| at).collect()
    };
    let metadata = headers(b"B scda dataset 00");
    // The metadata of the last record, its header, its data, and the section that announces the last attributes of the group.
    let places =
        [metadata[2] + 140, metadata[2] + 4, headers(b"A rho")[2] + 130, headers(b"I scda group 00")[1] + 70];
    for at in places {
        let mut bytes = whole.clone();
        bytes[at..at + 2].iter_mut().for_each(|byte| *byte ^= 1);
        place.write("b.scda", &bytes);
        place.scda("check b.scda").bad(1, "");
        let run = place.scda("salvage -f b.scda c.scda");
        assert_eq!(run.code, 0, "{run:?}");
        place.scda("check --strict c.scda").good();
        let mut reader =
            scda::Reader::open(Solo, place.path("c.scda"), &scda::ReadOptions::default()).unwrap();
        let rho = reader.dataset("rho").unwrap().unwrap();
        let mut data = [0; 400];
        rho.read(&mut reader, &[IndexBox::all(&[100])], &mut data).unwrap();
        let is_of_group = at == places[3];
        assert_eq!(data[0], if is_of_group { 2 } else { 1 }, "{at}");
        let title = if is_of_group { "first" } else { "last" };
        assert_eq!(reader.group("flow").unwrap().unwrap().attributes, format!(r#"{{"title":"{title}"}}"#));
    }
}

/// A damaged index is one error, not one of each dataset.
#[test]
fn a_damaged_index_does_not_make_datasets_invalid() {
    let place = Place::new();
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::create(Solo, place.path("a.scda"), b"", &params).unwrap();
    for name in ["x", "y", "z"] {
        all(&mut file, &Dataset::new(name, DataType::Int32, [100]), &bytes!(0..100_i32));
    }
    file.commit().unwrap();
    all(&mut file, &Dataset::new("x", DataType::Int32, [100]), &bytes!(0..100_i32));
    file.close().unwrap();
    let whole = place.read("a.scda");
    let user = b"A scda index 00";
    let headers = whole.windows(user.len()).enumerate().filter(|(_, bytes)| bytes == user);
    let headers: Vec<_> = headers.map(|(at, _)| at).collect();
    assert_eq!(headers.len(), 2);
    for header in headers {
        let mut bytes = whole.clone();
        bytes[header + 300] ^= 1;
        place.write("b.scda", &bytes);
        let run = place.scda("check b.scda");
        assert_eq!(run.code, 1, "{run:?}");
        assert!(!run.text().contains("scda dataset 00"), "{}", run.text());
        assert!(run.text().contains("; scda salvage saves "), "{}", run.text());
        // Said once, although no dataset can be read.
        assert_eq!(place.scda("ls b.scda").bad(1, "").err.lines().count(), 1);
        let run = place.scda("salvage -f b.scda c.scda");
        assert!(run.code == 0 && !run.text().contains("as it is"), "{run:?}");
        place.scda("check --strict c.scda").good();
        assert!(
            scda::Reader::open(Solo, place.path("c.scda"), &scda::ReadOptions::default())
                .unwrap()
                .is_sealed()
        );
    }
}

#[test]
fn bytes_that_are_no_bools_are_found() {
    let place = Place::new();
    let layouts = [Layout::Contiguous, Layout::Chunked { shape: Some(vec![2, 2]), text: true }];
    for layout in layouts {
        let mut dataset = Dataset::new("mask", DataType::Bool, [3, 4]);
        dataset.layout = layout.clone();
        with_one(&place, "a.scda", &dataset, &[1, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0]);
        place.scda("check a.scda").good();
        // As an array of bytes that nobody compressed.
        place.scda("copy -f --decode a.scda plain.scda").good();
        let mut bad = place.read("plain.scda");
        let data =
            usize::try_from(named(&place, "plain.scda", "mask")["data_offset"].as_u64().unwrap()).unwrap();
        bad[data + 7] = 2;
        place.write("bad.scda", bad);
        let words = "dataset \"mask\": item [1, 3]: found the bool 2, expected 0 or 1";
        let run = place.scda("check bad.scda").bad(1, "");
        assert!(
            run.text().contains("INVALID: section 2 (array \"mask\", N 3)") && run.text().contains(words),
            "{run:?}"
        );
        place.scda("cat bad.scda mask").bad(1, words);
        assert_eq!(place.scda("cat bad.scda mask --box 2,:").good().text(), "false true true false\n");
        place.scda("copy -f --chunk auto bad.scda copy.scda").bad(1, words);
        // What is sealed is compared with its checksum only, unless --strict says otherwise.
        place.scda("copy -f --seal bad.scda sealed.scda").bad(1, words);
        sealed_as_it_is(&place, "bad.scda", "sealed.scda");
        place.scda("check sealed.scda").good();
        let run = place.scda("check --strict sealed.scda").bad(1, "");
        assert!(run.text().contains(words), "{run:?}");
    }
}

#[test]
fn bytes_that_are_no_bools_are_not_written() {
    let place = Place::new();
    for shape in [None, Some(vec![3])] {
        let mut file = Writer::create(Solo, place.path("a.scda"), b"", &WriteOptions::default()).unwrap();
        let mut dataset = Dataset::new("m", DataType::Bool, [5]);
        if shape.is_some() {
            dataset.layout = Layout::Chunked { shape, text: false };
        }
        let error = file.incremental().dataset(&dataset, &mut &[1, 0, 1, 0, 255][..]).unwrap_err();
        assert!(error.to_string().contains("found the bool 255 at item 4, expected 0 or 1"), "{error}");
    }
}

/// Chunks of the fill value have no bytes in the file, and nothing can be wrong in them.
#[test]
fn chunks_without_bytes_take_no_time() {
    let place = Place::new();
    let mut dataset = Dataset::new("large", DataType::Uint64, [1 << 37]);
    dataset.layout = Layout::Chunked { shape: Some(vec![1 << 27]), text: false };
    let mut file = Writer::create(Solo, place.path("a.scda"), b"", &WriteOptions::default()).unwrap();
    file.dataset(&dataset, &[], &[]).unwrap();
    // One among them that has.
    (dataset.name, dataset.shape) = ("one".into(), vec![3, 1 << 20]);
    dataset.layout = Layout::Chunked { shape: Some(vec![1, 1 << 10]), text: false };
    dataset.codec = Codec::Zlib;
    let region = IndexBox::new([1, 5000], [1, 1]);
    file.dataset(&dataset, &[region], &7_u64.to_ne_bytes()).unwrap();
    file.close().unwrap();
    place.shell("ulimit -t 5; exec scda check a.scda").good();
    let mut bad = place.read("a.scda");
    let stream = bad
        .windows(2)
        .rposition(|bytes| bytes[0] == 0x78 && (0x7800 + u32::from(bytes[1])) % 31 == 0)
        .unwrap();
    bad[stream + 3] ^= 0x40;
    place.write("bad.scda", bad);
    let run = place.scda("check bad.scda").bad(1, "");
    assert!(run.text().contains("dataset \"one\": chunk 1028: "), "{run:?}");
}
