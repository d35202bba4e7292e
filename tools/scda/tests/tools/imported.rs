//! `scda import`: files that the codes of SDF and SIONlib have made become what their manifests say.

use crate::run::{Place, vector};
use scda::{DataType, IndexBox, ReadOptions, Reader, Sink, Solo};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};

/// Paths of the files, and their manifests, of those that are complete or not.
fn foreign(format: &str, complete: bool) -> Vec<(String, Value)> {
    let manifests = std::fs::read_to_string(vector(&format!("foreign/{format}/manifests.json"))).unwrap();
    let manifests: BTreeMap<String, Value> = serde_json::from_str(&manifests).unwrap();
    let wanted = manifests.into_iter().filter(|(_, manifest)| manifest["complete"] == complete);
    wanted.map(|(name, manifest)| (vector(&format!("foreign/{format}/{name}")), manifest)).collect()
}

fn file(name: &str) -> String {
    let format = if name.ends_with(".sdf") { "sdf" } else { "sion" };
    vector(&format!("foreign/{format}/{name}"))
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn open(place: &Place, name: &str) -> Reader {
    let mut params = ReadOptions::default();
    params.verify = true;
    Reader::open(Solo, &place.path(name), &params).unwrap()
}

fn attributes(reader: &mut Reader) -> Value {
    let group = reader.group("/").unwrap().unwrap().attributes;
    serde_json::from_str::<Value>(&group).unwrap()["imported"].take()
}

/// A dataset of numbers with 8 bytes, or 1.
fn numbers(reader: &mut Reader, name: &str) -> (Vec<u64>, Vec<u64>) {
    let dataset = reader.dataset_record(name, 0).unwrap().unwrap_or_else(|| panic!("{name}"));
    let mut data = vec![0; usize::try_from(dataset.data_bytes().unwrap()).unwrap()];
    dataset.read(reader, &[IndexBox::all(&dataset.shape)], &mut data).unwrap();
    let numbers = match dataset.data_type {
        DataType::Bool => data.iter().map(|&byte| byte.into()).collect(),
        _ => data.as_chunks::<8>().0.iter().map(|&bytes| u64::from_ne_bytes(bytes)).collect(),
    };
    (dataset.shape.clone(), numbers)
}

fn streams(reader: &mut Reader) -> Vec<Vec<u8>> {
    let number = reader.find(b"sion/streams", 0).unwrap().unwrap();
    reader.seek_section(number).unwrap();
    let count = reader.next_section(true).unwrap().unwrap().count;
    let mut sizes = vec![0; usize::try_from(count).unwrap()];
    reader.read_varray_sizes(&[count], Some(&mut sizes)).unwrap();
    let mut data = vec![0; usize::try_from(sizes.iter().sum::<u64>()).unwrap()];
    reader.read_varray(&[count], Some(&sizes), None, Sink::Contiguous(&mut data)).unwrap();
    let mut rest = data.as_slice();
    let streams =
        sizes.iter().map(|&size| rest.split_off(..usize::try_from(size).unwrap()).unwrap().to_vec());
    streams.collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The numbers of a member of all objects of a list.
fn all(objects: &Value, name: &str) -> Vec<u64> {
    list(objects).iter().map(|object| object[name].as_u64().unwrap()).collect()
}

/// Compares an SDF array with what the manifest says of it.
fn check_array(reader: &mut Reader, name: &str, record: i64, expected: &Value) {
    let dataset = reader.dataset_record(name, record).unwrap().unwrap_or_else(|| panic!("{name} {record}"));
    let found: Value = serde_json::from_str::<Value>(&dataset.attributes).unwrap()["sdf"].take();
    for key in ["order", "label", "type", "bytes_per_word", "dims"] {
        assert_eq!(found[key], expected[key], "{name} {record}: {key}");
    }
    assert_eq!(json!(dataset.shape), expected["dims"]);
    let letter = expected["type"].as_str().unwrap();
    let word = expected["bytes_per_word"].as_u64().unwrap();
    let (data_type, number) = match (letter, word) {
        ("f", 4) => (DataType::Float32, 4),
        ("f", 8) => (DataType::Float64, 8),
        ("i", 1) => (DataType::Int8, 1),
        ("i", 2) => (DataType::Int16, 2),
        ("i", 4) => (DataType::Int32, 4),
        ("i", 8) => (DataType::Int64, 8),
        ("b", 1) => (DataType::Uint8, 1),
        ("c", 4) => (DataType::Complex64, 4),
        ("c", 8) => (DataType::Complex128, 8),
        _ => (DataType::Raw(u32::try_from(word).unwrap()), 1),
    };
    assert_eq!(dataset.data_type, data_type);
    assert_eq!(found.get("byte_order").is_some(), matches!(data_type, DataType::Raw(_)));
    let mut data = vec![0; usize::try_from(dataset.data_bytes().unwrap()).unwrap()];
    dataset.read(reader, &[IndexBox::all(&dataset.shape)], &mut data).unwrap();
    for (index, expected) in list(&expected["first_values"]).iter().enumerate() {
        let bytes = &data[index * number..][..number];
        let mut word = [0; 8];
        word[..number].copy_from_slice(bytes);
        let found = match (letter, number) {
            ("f" | "c", 4) => f64::from(f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
            ("f" | "c", _) => f64::from_ne_bytes(word),
            ("b", _) => bytes[0].into(),
            _ => {
                let unused = 64 - 8 * number;
                #[allow(clippy::cast_precision_loss)] // as the manifest has them
                let number = ((u64::from_le_bytes(word) << unused).cast_signed() >> unused) as f64;
                number
            }
        };
        // Infinities and the like are strings.
        let Some(expected) = expected.as_f64() else { continue };
        assert!(found == expected, "{name} {record}: item {index}: {found}, expected {expected}");
    }
    data.chunks_mut(number).for_each(<[u8]>::reverse);
    assert_eq!(data.len() as u64, expected["nbytes"].as_u64().unwrap());
    assert_eq!(sha256(&data), expected["sha256"].as_str().unwrap(), "{name} {record}");
}

#[test]
fn every_array_of_sdf_becomes_its_dataset() {
    let place = Place::new();
    let names = HashMap::from([
        ("x\ty", "x_y~4"),
        ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", ""),
    ]);
    let mut arrays = 0;
    for (path, manifest) in foreign("sdf", true) {
        let run = place.scda(&format!("import --force {path} a.scda"));
        if path.ends_with("sdf_odd_types.sdf") {
            assert_eq!((run.code, run.err.matches("the bytes stay as they are").count()), (0, 4), "{run:?}");
        } else {
            run.good();
        }
        place.scda("check a.scda").good();
        let mut reader = open(&place, "a.scda");
        assert!(reader.is_sealed());
        let found = attributes(&mut reader);
        let name = path.rsplit('/').next().unwrap();
        assert_eq!((&found["format"], &found["file"]), (&json!("SDF"), &json!(name)));
        assert_eq!((&found["bytes"], &found["complete"]), (&manifest["size"], &json!(true)));
        assert_eq!(&found["arrays"], &manifest["header"]["ndatasets"]);
        assert_eq!(reader.header().user.as_ref(), name.as_bytes());
        let mut records = HashMap::new();
        for expected in list(&manifest["datasets"]) {
            let label = expected["label"].as_str().unwrap();
            let long = format!("{}~9", "A".repeat(56));
            let name = names.get(label).map_or(label, |name| if name.is_empty() { &long } else { name });
            let record = records.entry(name.to_owned()).or_insert(0);
            check_array(&mut reader, name, *record, expected);
            *record += 1;
            arrays += 1;
        }
        assert_eq!(records.values().sum::<i64>(), i64::try_from(list(&manifest["datasets"]).len()).unwrap());
    }
    assert!(arrays > 60, "{arrays}");
}

#[test]
fn every_stream_of_sionlib_becomes_its_element() {
    let place = Place::new();
    let mut tasks = 0;
    for (path, manifest) in foreign("sion", true) {
        place.scda(&format!("import --force {path} a.scda")).good();
        place.scda("check a.scda").good();
        let mut reader = open(&place, "a.scda");
        assert!(reader.is_sealed());
        let expected = &manifest["tasks"];
        let n = list(expected).len();
        let found = streams(&mut reader);
        for (stream, expected) in found.iter().zip(list(expected)) {
            assert_eq!(sha256(stream), expected["sha256"].as_str().unwrap(), "{path}: {}", expected["index"]);
        }
        assert_eq!(found.len(), n);
        // The same to who reads streams of tasks.
        let set = reader.streams_record(b"sion/streams", 0).unwrap().unwrap();
        assert_eq!(set.tasks(), n as u64);
        for (task, expected) in (0..).zip(&found) {
            let stream = set.stream(&mut reader, task).unwrap();
            let mut data = vec![0; expected.len()];
            stream.read(&mut reader, 0, &mut data).unwrap();
            assert!(stream.bytes() == expected.len() as u64 && data == *expected, "{path}: {task}");
        }
        if n > 2 {
            assert!(place.scda("cat a.scda sion/streams --stream 2").good().out == found[2]);
        }
        let sizes: Vec<_> = found.iter().map(|stream| stream.len() as u64).collect();
        assert_eq!(sizes, all(expected, "nbytes"));
        let shape = vec![n as u64];
        assert_eq!(numbers(&mut reader, "sion/global_ranks"), (shape.clone(), all(expected, "globalrank")));
        assert_eq!(
            numbers(&mut reader, "sion/chunk_bytes"),
            (shape.clone(), all(expected, "chunksize_stored"))
        );
        let blocks =
            list(expected).iter().map(|task| list(&task["block_bytes"]).len() as u64).collect::<Vec<_>>();
        assert_eq!(numbers(&mut reader, "sion/blocks"), (shape.clone(), blocks));
        let headers = list(&manifest["headers"]);
        if headers.len() > 1 {
            let files = all(expected, "physical_file");
            assert_eq!(numbers(&mut reader, "sion/physical_files"), (shape, files));
        }
        let rows = headers.iter().map(|header| header["maxchunks"].as_u64().unwrap()).max().unwrap();
        let (shape, bytes) = numbers(&mut reader, "sion/block_bytes");
        assert_eq!(shape, [rows, n as u64]);
        for (task, expected) in list(expected).iter().enumerate() {
            let column: Vec<_> = bytes.iter().skip(task).step_by(n).copied().collect();
            let expected = list(&expected["block_bytes"]);
            let padded = expected.iter().map(|bytes| bytes.as_u64().unwrap()).chain(std::iter::repeat(0));
            assert_eq!(column, padded.take(column.len()).collect::<Vec<_>>(), "{path}: {task}");
        }
        check_facts(&attributes(&mut reader), &manifest);
        check_records(&mut reader, &found, &manifest);
        tasks += n;
    }
    assert!(tasks > 80, "{tasks}");
}

/// Compares attributes with what the manifest says of the headers.
fn check_facts(found: &Value, manifest: &Value) {
    let first = &manifest["headers"][0];
    assert_eq!((&found["format"], &found["complete"]), (&json!("SIONlib"), &json!(true)));
    assert_eq!(found["file"], manifest["name"]);
    for (name, expected) in [
        ("format_version", "fileformat_version"),
        ("version", "version"),
        ("patch_level", "patchlevel"),
        ("fs_block_bytes", "fsblksize"),
    ] {
        assert_eq!(found[name], first[expected], "{name}");
    }
    assert_eq!(found["flags"], json!([first["flag1"], first["flag2"]]));
    let order = found["byte_order"].as_str().unwrap();
    assert_eq!(format!("{order}-endian"), first["integers"].as_str().unwrap());
    let claims = &first["endianness_word"].as_str().unwrap()[2..4];
    assert_eq!(found["data_byte_order"], if claims == "01" { "big" } else { "little" });
    assert_eq!(found["key_values"], if first["keyval_mode"] == 51 { "inline" } else { "none" });
    assert_eq!(found["tasks_in_order"], true);
    let files = list(&found["physical_files"]);
    assert_eq!(files.len(), list(&manifest["headers"]).len());
    for (index, (found, header)) in files.iter().zip(list(&manifest["headers"])).enumerate() {
        assert_eq!(found["file"], manifest["physical_files"][index]["file"]);
        assert_eq!(found["bytes"], manifest["physical_files"][index]["size"]);
        let expected = [
            ("number", "filenumber"),
            ("tasks", "ntasks"),
            ("max_blocks", "maxchunks"),
            ("name_when_made", "prefix"),
        ];
        expected.iter().for_each(|(name, expected)| assert_eq!(found[name], header[expected], "{name}"));
    }
}

/// Compares the list of key-value records, and their values in the streams, with the manifest.
fn check_records(reader: &mut Reader, streams: &[Vec<u8>], manifest: &Value) {
    if manifest["headers"][0]["keyval_mode"] != 51 {
        assert!(reader.dataset_record("sion/records", 0).unwrap().is_none());
        return;
    }
    let (shape, found) = numbers(reader, "sion/records");
    let mut found = found.chunks(4);
    let mut count = 0;
    for (task, expected) in list(&manifest["tasks"]).iter().enumerate() {
        for expected in list(&expected["records"]) {
            let &[of, key, offset, bytes] = found.next().unwrap() else { unreachable!() };
            assert_eq!(
                (of, key, bytes),
                (task as u64, expected["key"].as_u64().unwrap(), expected["len"].as_u64().unwrap())
            );
            let value = &streams[task][usize::try_from(offset).unwrap()..][..usize::try_from(bytes).unwrap()];
            assert_eq!(sha256(value), expected["sha256"].as_str().unwrap());
            count += 1;
        }
    }
    assert_eq!((shape, found.next()), (vec![count, 4], None));
    assert!(count > 10);
}

#[test]
fn files_of_sionlib_that_were_not_closed_keep_all_bytes() {
    let place = Place::new();
    let mut checked = 0;
    for (path, manifest) in foreign("sion", false) {
        let Some(expected) = manifest["written_but_lengths_lost"].as_array() else { continue };
        let name = path.rsplit('/').next().unwrap();
        let run = place.scda(&format!("import --force {path} a.scda"));
        run.bad(
            0,
            &format!("{name}: the file was never closed: how many bytes the tasks have written is not known"),
        );
        place.scda("check a.scda").good();
        let mut reader = open(&place, "a.scda");
        let facts = attributes(&mut reader);
        assert_eq!(facts["complete"], false);
        assert_eq!(numbers(&mut reader, "sion/lengths_known").1, [0, 0, 0]);
        let sizes = numbers(&mut reader, "sion/chunk_bytes").1;
        let (least, blocks) =
            (numbers(&mut reader, "sion/least_bytes").1, numbers(&mut reader, "sion/blocks").1);
        let found = streams(&mut reader);
        assert_eq!(found.len(), expected.len());
        for (task, (stream, expected)) in found.iter().zip(expected).enumerate() {
            // What the tasks have written into each chunk, as in the closed file: sion_a3_serial has the same calls.
            let written: &[usize] = [&[1000, 500], &[0][..], &[500, 500, 200]][task];
            let chunk = usize::try_from(sizes[task]).unwrap();
            let all: Vec<u8> = stream
                .chunks(chunk)
                .zip(written)
                .flat_map(|(chunk, &bytes)| &chunk[..bytes])
                .copied()
                .collect();
            assert_eq!(sha256(&all), expected["sha256"].as_str().unwrap());
            assert_eq!(stream.len().div_ceil(chunk) as u64, blocks[task]);
            let last = stream.iter().rposition(|&byte| byte != 0).map_or(0, |last| last as u64 + 1);
            assert_eq!(least[task], last);
            assert!(written.iter().sum::<usize>() == 0 || last > 1000);
            checked += 1;
        }
        assert!(reader.dataset_record("sion/block_bytes", 0).unwrap().is_none());
    }
    assert_eq!(checked, 6);
}

#[test]
fn a_second_metadata_block_that_is_cut_off_loses_only_the_lengths() {
    let place = Place::new();
    let whole = std::fs::read(file("sion_a3_serial.sion")).unwrap();
    for name in ["sion_e3_trunc_meta2.sion", "sion_e3_trunc_meta2_none.sion"] {
        let run = place.scda(&format!("import --force {} a.scda", file(name)));
        run.bad(0, "byte 9216: second metadata block, without which it is not known");
        let mut reader = open(&place, "a.scda");
        let found = streams(&mut reader);
        // Three blocks of chunks of 1024, 1024 and 512 bytes, and nothing of what follows them.
        let (mut at, mut expected) = (1536, vec![Vec::new(); 3]);
        for (task, size) in [1024, 1024, 512].into_iter().enumerate().cycle().take(9) {
            expected[task].extend_from_slice(&whole[at..][..size]);
            at += size;
        }
        assert_eq!(at, 9216);
        assert_eq!(found, expected);
        assert_eq!(attributes(&mut reader)["complete"], false);
    }
    let records = std::fs::read(file("sion_d3_keyval.sion")).unwrap();
    place.write("a.sion", &records[..records.len() - 12]);
    let run = place.scda("import --force a.sion a.scda");
    run.bad(0, "a.sion: its key-value records are not listed, because the lengths are not known");
    assert!(open(&place, "a.scda").dataset_record("sion/records", 0).unwrap().is_none());
}

#[test]
fn a_file_of_sionlib_that_ends_elsewhere_is_told() {
    let place = Place::new();
    let mut sion = std::fs::read(file("sion_a3_serial.sion")).unwrap();
    place.write("a.sion", &sion);
    place.scda("import a.sion a.scda").good();
    let expected = streams(&mut open(&place, "a.scda"));
    // Without the last word, the number of tasks in a mapping, all is there that matters.
    place.write("a.sion", &sion[..sion.len() - 4]);
    let run = place.scda("import -f a.sion a.scda");
    run.bad(0, "a.sion: byte 9312: end of the file: found 9312, expected 9316; no data are missing");
    assert_eq!(streams(&mut open(&place, "a.scda")), expected);
    assert_eq!(attributes(&mut open(&place, "a.scda"))["complete"], false);
    sion.extend(b"more");
    place.write("a.sion", &sion);
    let run = place.scda("import -f a.sion a.scda");
    run.bad(0, "a.sion: byte 9316: end of the file: found 9320, expected 9316; no data are missing");
    assert_eq!(streams(&mut open(&place, "a.scda")), expected);
}

#[test]
fn a_pipe_can_be_imported() {
    let place = Place::new();
    let sdf = std::fs::read(file("sdf_c_basic.sdf")).unwrap();
    place.with_input("import - a.scda", &sdf).good();
    assert_eq!(attributes(&mut open(&place, "a.scda"))["file"], "standard input");
    let all = foreign("sdf", true);
    let (_, manifest) = all.iter().find(|(path, _)| path.ends_with("sdf_c_basic.sdf")).unwrap();
    check_array(&mut open(&place, "a.scda"), "deltat(s)", 0, &manifest["datasets"][0]);
}

#[test]
fn what_is_cut_off_is_an_error_unless_it_is_to_be_salvaged() {
    let place = Place::new();
    for (path, words) in [
        (
            "sion_e3_trunc_head.sion",
            "byte 0: header of SIONlib: found the end of the file at byte 30, expected at least 32 bytes",
        ),
        ("sion_e3_trunc_meta1.sion", "found the end of the file at byte 1100, expected at least 1136 bytes"),
        ("sion_e3_trunc_data.sion", "found the end of the file at byte 5000, expected at least 9216 bytes"),
        ("sdf_trunc_magic.sdf", "byte 0: it begins with none of \"SDF format\", \"sion\""),
        ("sdf_trunc_fixed.sdf", "found the end of the file at byte 25, expected at least 39 bytes"),
        ("sdf_trunc_header.sdf", "byte 39: texts of the arrays: found the end of the file at byte 70"),
        ("sdf_trunc_data.sdf", "found the end of the file at byte 2116, expected at least 2136 bytes"),
    ] {
        let run = place.scda(&format!("import {} a.scda", file(path)));
        assert!(run.err.contains(path), "{}", run.err);
        run.bad(1, words);
        assert!(place.names().is_empty(), "{path}");
    }
    // All arrays but the last.
    let run = place.scda(&format!("import --salvage {} a.scda", file("sdf_trunc_data.sdf")));
    run.bad(0, "array 4, \"e\": is skipped, because its data are not whole");
    let whole =
        foreign("sdf", true).into_iter().find(|(path, _)| path.ends_with("edit_0_before.sdf")).unwrap().1;
    let mut reader = open(&place, "a.scda");
    for expected in &list(&whole["datasets"])[..4] {
        check_array(&mut reader, expected["label"].as_str().unwrap(), 0, expected);
    }
    assert!(reader.dataset_record("e", 0).unwrap().is_none());
    assert_eq!(attributes(&mut reader)["complete"], false);
    let cut = std::fs::read(file("sdf_trunc_data.sdf")).unwrap();
    place.write("cut.sdf", &cut);
    place.scda("import --salvage --force cut.sdf cut.sdf").bad(2, "cut.sdf: is the file to import itself");
    assert!(place.read("cut.sdf") == cut);
    // All bytes of the chunks that are left.
    let run = place.scda(&format!("import -f --salvage {} a.scda", file("sion_e3_trunc_data.sion")));
    run.bad(0, "second metadata block, without which it is not known");
    let found = streams(&mut open(&place, "a.scda"));
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [1024 + 904, 1024, 512]);
}

#[test]
fn several_physical_files_belong_together() {
    let place = Place::new();
    let [first, second] =
        ["", ".000001"].map(|end| std::fs::read(file(&format!("sion_b4_rr.sion{end}"))).unwrap());
    place.write("a.sion", &first);
    place.scda("import a.sion a.scda").bad(2, "a.sion.000001: open: No such file");
    place.write("a.sion.000001", &second);
    let words = "a.sion.000001: byte 32: number of the physical file: found 1, expected 0, that of the first of several files, whose name has no number at its end";
    place.scda("import a.sion.000001 a.scda").bad(1, words);
    place.write("a.sion.000001", &first);
    place
        .scda("import a.sion a.scda")
        .bad(1, "a.sion.000001: byte 32: number of the physical file: found 0, expected 1");
    place.write("a.sion.000001", std::fs::read(file("sion_a3_mpi.sion")).unwrap());
    place.scda("import a.sion a.scda").bad(1, "a.sion.000001: byte 28: physical files: found 1, expected 2");
    place.write("a.sion.000001", &second);
    place.scda("import a.sion a.scda").good();
    let mapped = streams(&mut open(&place, "a.scda"));
    // The limit for the files that are open is no limit for them, but for that which no process can raise.
    place.shell("ulimit -S -n 5; scda import -f a.sion a.scda").good();
    // None of them is replaced.
    place.shell("ln a.sion hard; ln -s a.sion.000001 soft").good();
    for name in ["a.sion", "a.sion.000001", "hard", "soft"] {
        let run = place.scda(&format!("import --salvage --force a.sion {name}"));
        run.bad(2, &format!("scda: {name}: is the file to import itself, which must not change"));
        assert!(place.read("a.sion") == first && place.read("a.sion.000001") == second);
    }
    // Without the mapping the tasks come in the order of the files: 0, 2 and 1, 3.
    place.write("a.sion", &first[..first.len() - 1]);
    place.scda("import -f a.sion a.scda").bad(0, "there is no mapping of the tasks");
    let mut reader = open(&place, "a.scda");
    let [zero, one, two, three] = mapped.try_into().unwrap();
    assert_eq!(streams(&mut reader), [zero, two, one, three]);
    assert_eq!(numbers(&mut reader, "sion/global_ranks").1, [0, 2, 1, 3]);
    assert_eq!(attributes(&mut reader)["tasks_in_order"], false);
    // A mapping that names a task twice.
    let mut twice = first.clone();
    let end = twice.len();
    twice.copy_within(end - 16..end - 8, end - 8);
    place.write("a.sion", &twice);
    let run = place.scda("import -f a.sion a.scda");
    run.bad(1, "file and task of task 3: found (0, 1), expected each task once");
}

/// A set of two physical files, of which the tasks take turns: 0, 2 in the first, and 1, 3.
#[test]
fn tasks_of_the_physical_files_that_are_there_are_saved() {
    let place = Place::new();
    let [first, second] =
        ["", ".000001"].map(|end| std::fs::read(file(&format!("sion_b4_rr.sion{end}"))).unwrap());
    place.write("a.sion", &first);
    place.write("a.sion.000001", &second);
    place.scda("import a.sion a.scda").good();
    let [zero, one, two, three] = <[_; 4]>::try_from(streams(&mut open(&place, "a.scda"))).unwrap();
    let blocks = numbers(&mut open(&place, "a.scda"), "sion/blocks").1;
    let ranks = numbers(&mut open(&place, "a.scda"), "sion/global_ranks").1;

    // The second is missing, no file, removed, of another set, or no file of SIONlib.
    let other = std::fs::read(file("sion_a3_mpi.sion")).unwrap();
    let cut = second[..1100].to_vec();
    for (bad, words, code) in [
        (None, "a.sion.000001: open: No such file", 2),
        (Some(cut), "a.sion.000001: byte 0: first metadata block: found the end of the file at byte 1100", 1),
        (Some(other), "a.sion.000001: byte 28: physical files: found 1, expected 2, as in the first", 1),
        (Some(first.clone()), "a.sion.000001: byte 32: number of the physical file: found 0, expected 1", 1),
        (Some(b"noise".repeat(100)), "a.sion.000001: byte 0: SIONlib", 1),
    ] {
        match bad {
            Some(bad) => drop(place.write("a.sion.000001", bad)),
            None => std::fs::remove_file(place.path("a.sion.000001")).unwrap(),
        }
        std::fs::remove_file(place.path("a.scda")).unwrap();
        place.scda("import a.sion a.scda").bad(code, words);
        assert!(!place.path("a.scda").exists());
        let run = place.scda("import --salvage a.sion a.scda").bad(0, words);
        assert!(run.err.contains("; tasks 1, 3 are missing"), "{}", run.err);
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
        place.scda("check a.scda").good();
        let mut reader = open(&place, "a.scda");
        assert_eq!(streams(&mut reader), [zero.clone(), vec![], two.clone(), vec![]]);
        assert_eq!(numbers(&mut reader, "sion/found").1, [1, 0, 1, 0]);
        assert_eq!(numbers(&mut reader, "sion/physical_files").1, [0, 1, 0, 1]);
        assert_eq!(numbers(&mut reader, "sion/blocks").1, [blocks[0], 0, blocks[2], 0]);
        assert_eq!(numbers(&mut reader, "sion/global_ranks").1, [ranks[0], u64::MAX, ranks[2], u64::MAX]);
        let bytes = numbers(&mut reader, "sion/block_bytes");
        let sums = |task: usize| bytes.1.iter().skip(task).step_by(4).sum::<u64>();
        assert_eq!([0, 1, 2, 3].map(sums), [zero.len() as u64, 0, two.len() as u64, 0]);
        let facts = attributes(&mut reader);
        assert_eq!((&facts["complete"], &facts["missing_files"]), (&json!(false), &json!(1)));
        assert_eq!((&facts["tasks_in_order"], list(&facts["physical_files"]).len()), (&json!(true), 1));
    }

    // The first is missing, and with it the order of the tasks.
    place.write("a.sion.000001", &second);
    std::fs::remove_file(place.path("a.sion")).unwrap();
    place.scda("import -f --salvage a.sion a.scda").bad(2, "a.sion: ");
    place.scda("import -f a.sion.000001 a.scda").bad(1, "byte 32: number of the physical file: found 1");
    let run = place.scda("import -f --salvage a.sion.000001 a.scda").bad(0, "a.sion: open: No such file");
    assert!(run.err.contains("; which tasks are missing is not known"), "{}", run.err);
    assert!(run.err.contains("there is no mapping of the tasks"), "{}", run.err);
    assert_eq!(run.err.lines().count(), 2, "{}", run.err);
    let mut reader = open(&place, "a.scda");
    assert_eq!(streams(&mut reader), [one.clone(), three.clone()]);
    assert_eq!(numbers(&mut reader, "sion/found").1, [1, 1]);
    assert_eq!(numbers(&mut reader, "sion/global_ranks").1, [ranks[1], ranks[3]]);
    // If it is there, any of them stands for all.
    place.write("a.sion", &first);
    place.scda("import -f --salvage a.sion.000001 a.scda").good();
    assert_eq!(streams(&mut open(&place, "a.scda")), [zero, one, two, three]);

    // A file can claim any number of others.
    let mut many = first.clone();
    many[28..32].copy_from_slice(&i32::MAX.to_le_bytes());
    place.write("b.sion", &many);
    place.scda("import --salvage b.sion b.scda").bad(2, "b.sion.001001: open: No such file");
}

#[test]
fn lengths_and_mappings_that_are_wrong_are_as_if_they_were_missing() {
    let place = Place::new();
    // After 3 block counts: more bytes in the first block of task 0 than its chunk has.
    let mut sion = std::fs::read(file("sion_a3_mpi.sion")).unwrap();
    place.write("a.sion", &sion[..9216]);
    place.scda("import a.sion a.scda").bad(0, "second metadata block, without which");
    let expected = streams(&mut open(&place, "a.scda"));
    sion[9216 + 24..][..8].copy_from_slice(&1025_i64.to_le_bytes());
    place.write("a.sion", &sion);
    let words = "a.sion: byte 9240: bytes in a block: found 1025, expected 0 to 1024, the size of the chunk";
    place.scda("import -f a.sion a.scda").bad(1, words);
    let run = place.scda("import -f --salvage a.sion a.scda").bad(0, words);
    assert!(run.err.contains("the streams of these tasks are all bytes of their chunks"), "{}", run.err);
    let mut reader = open(&place, "a.scda");
    assert_eq!(streams(&mut reader), expected);
    assert_eq!(numbers(&mut reader, "sion/lengths_known").1, [0, 0, 0]);
    assert_eq!(attributes(&mut reader)["complete"], false);

    let mut first = std::fs::read(file("sion_b4_rr.sion")).unwrap();
    place.write("b.sion.000001", std::fs::read(file("sion_b4_rr.sion.000001")).unwrap());
    place.write("b.sion", &first);
    place.scda("import b.sion b.scda").good();
    let [zero, one, two, three] = <[_; 4]>::try_from(streams(&mut open(&place, "b.scda"))).unwrap();
    let end = first.len();
    first.copy_within(end - 16..end - 8, end - 8);
    place.write("b.sion", &first);
    let words = "file and task of task 3: found (0, 1), expected each task once";
    let run = place.scda("import -f --salvage b.sion b.scda").bad(0, words);
    assert!(run.err.contains("there is no mapping of the tasks"), "{}", run.err);
    assert_eq!(streams(&mut open(&place, "b.scda")), [zero, two, one, three]);
    assert_eq!(attributes(&mut open(&place, "b.scda"))["complete"], false);
}

/// SIONlib's header has these modes; no file of them was seen.
#[test]
fn records_of_other_modes_stay_in_their_streams() {
    let place = Place::new();
    let mut sion = std::fs::read(file("sion_d3_keyval.sion")).unwrap();
    place.write("a.sion", &sion);
    place.scda("import a.sion a.scda").good();
    let expected = streams(&mut open(&place, "a.scda"));
    for mode in [52, 53_u32] {
        sion[40..44].copy_from_slice(&mode.to_le_bytes());
        place.write("a.sion", &sion);
        let words = format!("a.sion: key-value mode {mode} is not known: its records are not listed");
        place.scda("import -f a.sion a.scda").bad(0, &words);
        let mut reader = open(&place, "a.scda");
        assert_eq!(streams(&mut reader), expected);
        assert!(reader.dataset_record("sion/records", 0).unwrap().is_none());
        assert_eq!(attributes(&mut reader)["key_values"], mode);
    }
}

#[test]
fn older_formats_round_the_sizes_of_chunks() {
    let place = Place::new();
    // sion_coll3 has chunks that are no multiples of blocks; a file of version 3 has the sizes that were asked for.
    let newest = std::fs::read(file("sion_a3_mpi.sion")).unwrap();
    place.write("5.sion", &newest);
    place.scda("import 5.sion 5.scda").good();
    let expected = streams(&mut open(&place, "5.scda"));
    let mut third = newest.clone();
    third[16..20].copy_from_slice(&3_u32.to_le_bytes());
    let sizes_at = 1076 + 8 * 3;
    for (task, asked) in [700_u64, 1024, 300].into_iter().enumerate() {
        third[sizes_at + 8 * task..][..8].copy_from_slice(&asked.to_le_bytes());
    }
    place.write("3.sion", &third);
    // Task 0 has 1000 bytes in its first block: only the rounded size has room for them.
    place.scda("import 3.sion 3.scda").good();
    let mut reader = open(&place, "3.scda");
    assert_eq!(streams(&mut reader), expected);
    assert_eq!(numbers(&mut reader, "sion/chunk_bytes").1, [700, 1024, 300]);
    // Version 2 has neither the number of the file nor flags: 20 bytes less, before chunks that stay where they are.
    let mut second = third.clone();
    second[16..20].copy_from_slice(&2_u32.to_le_bytes());
    second.drain(32..52);
    second.splice(1116..1116, [0; 20]);
    place.write("2.sion", &second);
    place.scda("import 2.sion 2.scda").good();
    let mut reader = open(&place, "2.scda");
    assert_eq!(streams(&mut reader), expected);
    assert_eq!(attributes(&mut reader)["flags"], Value::Null);
    for version in [0, 1, 6, 255_u32] {
        third[16..20].copy_from_slice(&version.to_le_bytes());
        place.write("x.sion", &third);
        let words = format!("byte 16: version of the format of SIONlib: found {version}, expected 2 to 5");
        place.scda("import x.sion x.scda").bad(1, &words);
    }
}

#[test]
fn unused_chunks_may_have_minus_one_byte() {
    let place = Place::new();
    let mut sion = std::fs::read(file("sion_a3_mpi.sion")).unwrap();
    place.write("a.sion", &sion);
    place.scda("import a.sion a.scda").good();
    let expected = streams(&mut open(&place, "a.scda"));
    // After 3 block counts: task 1 has used none of the second block, nor of the third one.
    for row in [1, 2] {
        sion[9216 + 24 + 24 * row + 8..][..8].copy_from_slice(&(-1_i64).to_le_bytes());
    }
    place.write("b.sion", &sion);
    place.scda("import b.sion b.scda").good();
    assert_eq!(streams(&mut open(&place, "b.scda")), expected);
    sion[9216 + 24 + 24 + 8..][..8].copy_from_slice(&7_i64.to_le_bytes());
    place.write("b.sion", &sion);
    place
        .scda("import -f b.sion b.scda")
        .bad(1, "b.sion: byte 9272: bytes in a block: found 7, expected none after 1 blocks");
}

#[test]
fn records_that_do_not_fit_their_stream_are_found() {
    let place = Place::new();
    let mut sion = std::fs::read(file("sion_d3_keyval.sion")).unwrap();
    // The length of the first record of task 0.
    sion[1536 + 8..][..8].copy_from_slice(&1065_u64.to_le_bytes());
    place.write("a.sion", &sion);
    let words = "a.sion: byte 1536: key-value record of task 0, byte 0 of its stream: found a value of 1065 bytes, expected at most 1064";
    place.scda("import a.sion a.scda").bad(1, words);
    assert_eq!(place.names(), ["a.sion"]);
    place.scda("import --salvage a.sion a.scda").bad(0, "its key-value records are not listed");
    let mut reader = open(&place, "a.scda");
    assert_eq!(streams(&mut reader)[0].len(), 1080);
    assert_eq!(attributes(&mut reader)["complete"], false);
    assert!(reader.dataset_record("sion/records", 0).unwrap().is_none());
}

/// A file of SDF whose arrays, of two bytes each, have these labels.
fn sdf_of_labels(labels: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut texts = Vec::new();
    for (order, label) in labels.iter().enumerate() {
        texts.extend([format!("{order} ").as_bytes(), label.as_ref(), b" b 1 1 2 \n"].concat());
    }
    sdf_of_texts(&texts, labels.len())
}

/// A file of SDF with these texts of `arrays` arrays, which have two bytes each.
fn sdf_of_texts(texts: &[u8], arrays: usize) -> Vec<u8> {
    let (texts_end, bytes) = (39 + texts.len(), 2 * arrays);
    let mut sdf = b"SDF format\0".to_vec();
    sdf.extend((texts_end as u64).to_be_bytes());
    sdf.extend(((texts_end + bytes) as u64).to_be_bytes());
    sdf.extend(u32::try_from(arrays).unwrap().to_be_bytes());
    sdf.extend((texts_end as u64 - 19).to_be_bytes());
    sdf.extend(texts);
    sdf.extend((0..=u8::MAX).cycle().take(bytes));
    sdf
}

#[test]
fn labels_that_no_dataset_can_have_get_other_names() {
    let place = Place::new();
    let labels: [&[u8]; 7] = [b"x\ty", b"/x", b"x_y~0", b"\xff", b"x\ty", b"_x~1", b"scda"];
    place.write("a.sdf", sdf_of_labels(&labels));
    place.scda("import --no-seal a.sdf a.scda").good();
    let mut reader = Reader::open(Solo, &place.path("a.scda"), &ReadOptions::default()).unwrap();
    assert!(!reader.is_sealed());
    for (order, (name, record)) in
        [("x_y~1", 0), ("_x~2", 0), ("x_y~0", 0), ("_~3", 0), ("x_y~1", 1), ("_x~1", 0), ("scda", 0)]
            .into_iter()
            .enumerate()
    {
        let found = reader.dataset_record(name, record).unwrap().unwrap_or_else(|| panic!("{name}"));
        let facts = serde_json::from_str::<Value>(&found.attributes).unwrap()["sdf"].take();
        assert_eq!(facts["order"], order);
        match std::str::from_utf8(labels[order]) {
            Ok(label) => assert_eq!(facts["label"], label),
            Err(_) => assert_eq!(facts["label_hex"], "ff"),
        }
        let mut data = [0; 2];
        found.read(&mut reader, &[IndexBox::all(&[2])], &mut data).unwrap();
        assert_eq!(data.map(usize::from), [2 * order, 2 * order + 1]);
    }
}

/// As the original code in IDL writes them: no blank before the line feed.
#[test]
fn texts_may_end_without_a_blank() {
    let place = Place::new();
    place.write("a.sdf", sdf_of_texts(b"0 x i 2 0\n1 y b 1 2 2 1\n", 2));
    place.scda("import a.sdf a.scda").good();
    let mut reader = open(&place, "a.scda");
    let x = reader.dataset_record("x", 0).unwrap().unwrap();
    assert_eq!((x.data_type, x.shape.clone()), (DataType::Int16, vec![]));
    let mut data = [0; 2];
    x.read(&mut reader, &[IndexBox::all(&[])], &mut data).unwrap();
    assert_eq!(i16::from_ne_bytes(data), 0x0001);
    assert_eq!(reader.dataset_record("y", 0).unwrap().unwrap().shape, [2, 1]);
}

/// As a program leaves it that is killed between the text of an array and the other numbers of the header.
#[test]
fn arrays_before_one_that_was_not_written_are_saved() {
    let place = Place::new();
    let texts = b"0 a b 1 1 2 \n1 b b 1 1 2 \n2 c b 1 1 2 \n";
    let killed = sdf_of_texts(texts, 2);
    let words = "a.sdf: byte 27: ndatasets: found 2, expected 3, the number of texts";
    for (end, words) in [
        (&b""[..], words),
        // Some of its data, and a text that is not whole.
        (b"x", words),
        (b"torn", "a.sdf: byte 65: text of an array: found"),
    ] {
        let mut file = killed.clone();
        if end == b"torn" {
            file[65..78].fill(0);
        } else {
            file.extend(end);
        }
        place.write("a.sdf", &file);
        place.scda("import --force a.sdf a.scda").bad(1, words);
        assert!(!place.path("a.scda").exists());
        place.scda("import --force --salvage a.sdf a.scda").bad(0, words);
        let mut reader = open(&place, "a.scda");
        for (name, expected) in [("a", [0, 1]), ("b", [2, 3])] {
            let found = reader.dataset_record(name, 0).unwrap().unwrap();
            let mut data = [0; 2];
            found.read(&mut reader, &[IndexBox::all(&[2])], &mut data).unwrap();
            assert_eq!(data, expected);
        }
        assert!(reader.dataset_record("c", 0).unwrap().is_none());
        assert_eq!(attributes(&mut reader)["complete"], false);
        std::fs::remove_file(place.path("a.scda")).unwrap();
    }
    // Which of the texts is wrong is not known here: nothing is saved.
    for (texts, arrays) in [
        (&b"0 a b 1 1 2 \n1 b b 1 1 4 \n"[..], 2),
        (b"0 a b 1 1 3 \n1 b b 1 1 1 \n2 c b 1 1 2 \n", 3),
        (b"0 a b 1 1 2 \n1 b b 1 1 x \n", 2),
    ] {
        let mut file = sdf_of_texts(texts, arrays);
        if arrays == 3 {
            file[25] = 0;
            file[26] = u8::try_from(39 + texts.len() + 4).unwrap();
        }
        place.write("a.sdf", &file);
        place.scda("import --salvage a.sdf a.scda").bad(1, "a.sdf: byte");
        assert!(!place.path("a.scda").exists());
    }
}

#[test]
fn a_long_label_whose_names_are_taken_takes_no_time() {
    let place = Place::new();
    let taken = |number: usize| {
        let end = format!("~{number}");
        format!("{}{end}", "a".repeat(58 - end.len()))
    };
    let labels: Vec<_> = std::iter::once("a".repeat(1 << 26)).chain((0..4000).map(taken)).collect();
    place.write("a.sdf", sdf_of_labels(&labels));
    // Only to make a name of it: attributes cannot have a label of this length.
    place.shell("timeout 60 scda import a.sdf a.scda").bad(2, "attributes");
}

#[test]
fn pipes_and_devices_are_not_waited_for() {
    let place = Place::new();
    let words = "a folder, pipe or device, not a file";
    place.shell("mkfifo pipe pipe.h5").good();
    for name in ["pipe", "pipe.h5", "/dev/zero"] {
        place.shell(&format!("timeout 60 scda import {name} a.scda")).bad(2, &format!("{name}: {words}"));
    }
    // A later part of a file of several.
    std::fs::copy(file("sion_b4_2files.sion"), place.path("a.sion")).unwrap();
    place.shell("mkfifo a.sion.000001").good();
    let run = |options: &str| place.shell(&format!("timeout 60 scda import {options} a.sion a.scda"));
    run("").bad(2, &format!("a.sion.000001: {words}"));
    run("--salvage").bad(0, &format!("a.sion.000001: {words}"));
}
