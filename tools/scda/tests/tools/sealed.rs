//! Sealed files: checked, cut back, appended to, and made by all commands.

use crate::run::{Place, with_few_elements, with_sections};
use crate::sampled::one_of;
use scda::{
    Communicator, DataType, Dataset, Encode, IndexBox, Layout, LineBreak, ReadOptions, Reader, Solo,
    WriteOptions, Writer, run_on_threads,
};
use scda_format::truncation;
use serde_json::Value;

/// A sealed file with these sections twice, each with a seal of its own.
fn sealed_twice(place: &Place, name: &str, style: &str) {
    with_few_elements(place, "few.scda");
    place.scda(&format!("copy -f --seal --style {style} few.scda {name}")).good();
    place.scda(&format!("append {name} few.scda")).good();
    std::fs::remove_file(place.path("few.scda")).unwrap();
}

fn offset(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// Where the sections of a file begin and end.
fn sections(place: &Place, name: &str) -> Vec<(usize, usize)> {
    let list = place.scda(&format!("ls --json {name}")).good().json();
    let range = |section: &Value| {
        let start = offset(&section["offset"]);
        (start, start + offset(&section["stored_bytes"]))
    };
    list["sections"].as_array().unwrap().iter().map(range).collect()
}

/// The reports of the file with one bit flipped in each of these bytes; without `SCDA_EACH`, in some.
fn flipped(place: &Place, good: &[u8], bytes: impl Iterator<Item = usize>) -> Vec<(usize, Value)> {
    let mut found = Vec::new();
    let places: Vec<usize> = bytes.step_by(one_of(3)).collect();
    for places in places.chunks(256) {
        let mut command = "check --json".to_owned();
        for &at in places {
            let mut bad = good.to_vec();
            bad[at] ^= 1 << (at % 8);
            place.write(&format!("flip{at}"), bad);
            command += &format!(" flip{at}");
        }
        let run = place.scda(&command);
        assert_eq!((run.code, run.err.as_str()), (1, ""));
        let reports = run.text().lines().map(|line| serde_json::from_str(line).unwrap());
        found.extend(places.iter().copied().zip(reports));
        places.iter().for_each(|at| std::fs::remove_file(place.path(&format!("flip{at}"))).unwrap());
    }
    assert_eq!(found.len(), places.len());
    found
}

#[test]
fn a_file_may_have_both_line_breaks() {
    let place = Place::new();
    let path = place.path("a.scda");
    for (first, then) in [(LineBreak::Unix, LineBreak::Mime), (LineBreak::Mime, LineBreak::Unix)] {
        let params = |line_break| {
            let mut params = WriteOptions::default();
            (params.seal, params.line_break) = (true, line_break);
            params
        };
        let file = Writer::create(Solo, &path, b"", &params(first)).unwrap();
        let run = place.scda("check a.scda");
        let expected = "a.scda: NOT COMPLETE: no seal, and nothing after the header\n";
        assert_eq!((run.code, run.text()), (1, expected));
        file.close().unwrap();
        for style in [then, first] {
            let mut file = Writer::append(Solo, &path, &params(style)).unwrap();
            file.block(b"b", 0, 3, Some(b"abc"), Encode::None).unwrap();
            file.close().unwrap();
        }
        place.scda("check --strict a.scda").good();
    }
}

#[test]
fn each_flipped_bit_is_found_and_named() {
    let place = Place::new();
    for style in ["unix", "mime"] {
        sealed_twice(&place, "a.scda", style);
        let good = place.read("a.scda");
        let sections = sections(&place, "a.scda");
        assert_eq!(sections.len(), 20);
        let mut named = 0;
        // Of the second file, every fifth byte: the styles differ in ends of lines only.
        let step = if style == "unix" { 1 } else { 5 };
        for (at, report) in flipped(&place, &good, (0..good.len()).step_by(step)) {
            assert_eq!(
                (&report["valid"], &report["complete"]),
                (&false.into(), &false.into()),
                "{at}: {report}"
            );
            let Some(number) = sections.iter().position(|&(start, end)| (start..end).contains(&at)) else {
                continue;
            };
            let findings = report["findings"].as_array().unwrap();
            assert_eq!(findings.len(), 1, "{at}: {report}");
            let (section, error) = (&findings[0]["section"], &findings[0]["error"]);
            assert_eq!((section, &error["offset"]), (&(number + 1).into(), &at.into()), "{report}");
            let words = format!(
                "0x{:02x}, expected 0x{:02x}, according to the checksum",
                good[at] ^ 1 << (at % 8),
                good[at]
            );
            assert!(error["message"].as_str().unwrap().ends_with(&words), "{error}\n{words}");
            assert_eq!(
                (&report["whole_sections"], &report["sections"]),
                (&19.into(), &20.into()),
                "{report}"
            );
            named += 1;
        }
        assert!(named > 1500 / one_of(3), "{named}");
    }
}

/// Where the sections of a file begin and end, those of datasets and streams one by one.
fn single_sections(place: &Place, name: &str) -> Vec<(usize, usize)> {
    let mut file = Reader::open(Solo, place.path(name), &ReadOptions::default()).unwrap();
    let (mut all, at) = (Vec::new(), |offset| usize::try_from(offset).unwrap());
    while let Some(section) = file.next_section(true).unwrap() {
        file.skip().unwrap();
        all.push((at(section.offset), at(file.position().unwrap())));
    }
    all
}

/// Requires of each of these reports that it names the byte, and of a byte of a section also the section.
fn check_reports(reports: Vec<(usize, Value)>, sections: &[(usize, usize)]) {
    for (at, report) in reports {
        assert_eq!((&report["valid"], &report["complete"]), (&false.into(), &false.into()), "{at}: {report}");
        let Some(number) = sections.iter().position(|&(start, end)| (start..end).contains(&at)) else {
            continue;
        };
        let findings = report["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{at}: {report}");
        let found = (&findings[0]["section"], &findings[0]["error"]["offset"]);
        assert_eq!(found, (&(number + 1).into(), &at.into()), "{at}: {report}");
    }
}

/// Datasets of each layout, a group, and streams in two parts with holes.
#[test]
fn each_flipped_bit_of_datasets_and_streams_is_found_and_named() {
    let place = Place::new();
    let wrote = run_on_threads(3, |comm| {
        let rank = comm.rank();
        let mut params = WriteOptions::default();
        params.seal = true;
        let mut file = Writer::create(comm, place.path("a.scda"), b"all", &params)?;
        file.group("flow", r#"{"a": 1}"#)?;
        let mut dataset = Dataset::new("flow/rows", DataType::Int16, [3, 2]);
        let put = |file: &mut Writer, dataset: &Dataset| {
            let row = IndexBox::new([rank as u64, 0], [1, 2]);
            file.dataset(dataset, &[row], &[0, u8::try_from(rank).unwrap(), 1, 2])
        };
        put(&mut file, &dataset)?;
        // A chunk of the last ones has the fill value alone, and no bytes.
        dataset.shape = vec![9, 2];
        for (name, text) in [("chunks", false), ("text", true)] {
            dataset.name = name.into();
            dataset.layout = Layout::Chunked { shape: Some(vec![2, 2]), text };
            put(&mut file, &dataset)?;
        }
        file.begin_streams(b"log", 64)?;
        file.write_stream(&vec![b'x'; 70 * rank])?;
        file.commit()?;
        file.write_stream(b"behind")?;
        file.end_streams()?;
        file.close()
    });
    wrote.into_iter().for_each(|result| result.unwrap());
    place.scda("check --strict a.scda").good();
    // All but the superblock of HDF5, which is wrong or torn then.
    let is_sealed = |at: &usize| !(512..560).contains(at);
    let (good, sections) = (place.read("a.scda"), single_sections(&place, "a.scda"));
    assert_eq!(sections.len(), 2 + 3 * 2 + 2 * 3);
    check_reports(flipped(&place, &good, (0..good.len()).filter(is_sealed)), &sections);

    // Spaces of the metadata, by which the data begin at a multiple of 4096.
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::create(Solo, place.path("b.scda"), b"", &params).unwrap();
    let dataset = Dataset::new("aligned", DataType::Uint8, [1 << 16]);
    file.dataset(&dataset, &[IndexBox::all(&[1 << 16])], &[7; 1 << 16]).unwrap();
    file.close().unwrap();
    let (good, sections) = (place.read("b.scda"), single_sections(&place, "b.scda"));
    assert!(sections[0].1 - sections[0].0 > 3000 && good[3000..3100] == [b' '; 100]);
    check_reports(flipped(&place, &good, (0..4400).step_by(11).filter(is_sealed)), &sections);
}

#[test]
fn each_flipped_bit_of_anchors_is_found() {
    let place = Place::new();
    let text = r#"{"sealed": true, "sections": [
      {"type": "V", "user": "v", "N": 8200, "generate_size_min": 0, "generate_size_max": 3, "generate": "counter"},
      {"type": "A", "user": "a", "N": 4097, "E": 1, "encoded": true, "generate": "counter"}]}"#;
    place.make("a.scda", text);
    place.scda("check a.scda").good();
    let good = place.read("a.scda");
    let end = sections(&place, "a.scda")[1].1;
    assert!(good[end..].starts_with(b"A scda anchors 00 "));
    let places = (0..end).step_by(397).chain(end..good.len());
    for (at, report) in flipped(&place, &good, places) {
        assert_eq!(report["valid"], false, "{at}: {report}");
    }
}

#[test]
fn each_part_of_a_section_is_named() {
    let place = Place::new();
    let text = r#"{"sealed": true, "sections": [
      {"type": "I", "user": "i", "data_text": "thirty-two bytes of inline data\n"},
      {"type": "A", "user": "plain", "N": 10, "E": 3, "generate": "counter"},
      {"type": "V", "user": "sizes", "elements_text": ["abc", "", "defgh"]},
      {"type": "V", "user": "pair", "encoded": true, "elements_text": ["abc", "", "defgh"]}]}"#;
    place.make("a.scda", text);
    let good = place.read("a.scda");
    let starts: Vec<usize> = sections(&place, "a.scda").into_iter().map(|(start, _)| start).collect();
    let pair = starts[3] + 128 + 3 * 32 + 32;
    assert!(good[pair..].starts_with(b"V pair"));
    for (at, words) in [
        (10, "header of the file: byte 10: header: found 0x"),
        (starts[0] + 5, "section 1 (\"i\"): byte 581: header: "),
        (starts[0] + 70, "section 1 (inline \"i\"): byte 646: data: "),
        (starts[1] + 128 + 10, "section 2 (array \"plain\", N 10), element 3: byte 810: data: "),
        (starts[1] + 128 + 30, "section 2 (array \"plain\", N 10): byte 830: padding: "),
        (starts[2] + 64 + 3, "section 3 (\"sizes\"): byte "),
        (starts[2] + 96 + 32 + 2, "section 3 (varray \"sizes\", N 3): byte "),
        (starts[2] + 96 + 96 + 3, "section 3 (varray \"sizes\", N 3), element 2: byte "),
        (starts[3] + 128 + 20, "section 4 (varray \"pair\", N 3): byte "),
        (pair + 96 + 96 + 30, "section 4 (varray \"pair\", N 3), element 1: byte 1566: data: "),
    ] {
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        place.write("b.scda", &bad);
        let run = place.scda("check b.scda").bad(1, "");
        assert!(
            run.text().starts_with(&format!("b.scda: INVALID: {words}")),
            "{at}: {}\n{words}",
            run.text()
        );
    }
    // More than a byte: the checksum tells only that the section differs, and its parts where it may be.
    for (at, words) in [
        (starts[1] + 64, "section 2 (\"plain\"): byte 736: header: "),
        (starts[1] + 130, "section 2 (array \"plain\", N 10): byte 800: data: found the checksum "),
        (
            starts[1] + 160,
            "section 2 (array \"plain\", N 10): byte 800: data or padding: found the checksum ",
        ),
        (starts[2] + 98, "section 3 (varray \"sizes\", N 3): byte "),
    ] {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        bad[at + 2] ^= 0x10;
        place.write("b.scda", &bad);
        let run = place.scda("check b.scda").bad(1, "");
        assert!(
            run.text().starts_with(&format!("b.scda: INVALID: {words}")),
            "{at}: {}\n{words}",
            run.text()
        );
    }
}

#[test]
fn all_threads_find_the_same() {
    let place = Place::new();
    let text = r#"{"sealed": true, "sections": [
      {"type": "A", "user": "a", "N": 3000000, "E": 8, "generate": "random"}, {"type": "B", "user": "b", "E": 0},
      {"type": "B", "user": "c", "E": 9000000, "generate": "random"}]}"#;
    place.make("a.scda", text);
    let mut bytes = place.read("a.scda");
    bytes[20_000_000] ^= 4;
    place.write("b.scda", bytes);
    for threads in [1, 2, 5] {
        place.scda(&format!("check a.scda --threads {threads}")).good();
        let run = place.scda(&format!("check b.scda --threads {threads}")).bad(1, "");
        let words = "b.scda: INVALID: section 1 (array \"a\", N 3000000), element 2499912: byte 20000000: data: found 0x";
        assert!(run.text().starts_with(words), "{}", run.text());
        assert!(run.text().ends_with("intact up to the end of the header, byte 576, and 2 sections after the damage; scda salvage saves what is intact\n"));
    }
}

#[test]
fn files_that_were_joined_or_cut_are_told() {
    let place = Place::new();
    let text = r#"{"sealed": true, "sections": [{"type": "D", "user": "x", "data_type": "int8", "shape": [3], "values": [1, 2, 3]}]}"#;
    place.make("a.scda", text);
    let good = place.read("a.scda");
    let (one, two) = (good.len(), 2 * good.len());
    // As by cat.
    place.write("b.scda", [&good[..], &good[..]].concat());
    let words =
        format!("the seal at the end of the file is that of a file of {one} bytes; this one has {two}");
    place.scda("ls b.scda").bad(1, &words);
    let run = place.scda("check b.scda").bad(1, "");
    let header =
        "section type: found the header of another scda file, \"scdata0 \", expected 'I', 'B', 'A' or 'V'\n";
    assert!(run.text().contains(&words) && run.text().contains(header), "{run:?}");
    // As by a copy that ended early, with and without a seal that is left.
    place.write("c.scda", &good);
    place.scda("append c.scda a.scda").good();
    let longer = place.read("c.scda");
    for (bytes, sealed) in [(&good, 0), (&longer, 2)] {
        let end = bytes.len() - 100;
        place.write("cut.scda", &bytes[..end]);
        let run = place.scda("check cut.scda").bad(1, "");
        let words = format!(
            "cut.scda: INVALID: seal {}: byte {end}: truncated after it was sealed: found the end of the file at byte {end}, expected at least {} bytes\n\
             cut.scda: all {} sections are intact; scda salvage saves them\n",
            sealed / 2 + 1,
            bytes.len(),
            sealed + 2
        );
        assert_eq!(run.text(), words);
        let list = place.scda("ls cut.scda");
        assert!(list.code == 0 && !list.text().contains("HDF5"), "{list:?}");
        assert!(list.err.contains("scda ls --unsealed lists them"), "{list:?}");
    }
    // Cut at a seal: what other programs are told is wrong, as commits are missing.
    place.write("cut.scda", &longer[..one]);
    place.scda("check cut.scda").bad(1, "");
}

#[test]
fn what_only_looks_like_a_seal_is_told() {
    let place = Place::new();
    sealed_twice(&place, "a.scda", "unix");
    let good = place.read("a.scda");
    let list = place.scda("rewind --list --json a.scda").good().json();
    let first = offset(&list["seals"][0]["bytes"]);
    assert_eq!(
        (list["seals"].as_array().unwrap().len(), offset(&list["seals"][1]["bytes"])),
        (2, good.len())
    );
    // A digit of the last seal: the sections before it are read without checksums, but for those of the first seal.
    let mut bad = good.clone();
    bad[good.len() - 288 + 96 + 3] ^= 1;
    place.write("b.scda", bad);
    let run = place.scda("check b.scda").bad(1, "");
    let words = format!(
        "b.scda: INVALID: seal 2: byte {}: the seal at the end of the file is damaged\n\
         b.scda: all 20 sections are intact; scda salvage saves them\n",
        good.len() - 288
    );
    assert_eq!(run.text(), words);
    let report = place.scda("check --json b.scda").json();
    assert_eq!(report["sealed"]["bytes"], first);
    // Where the commits end is not known. What is there is listed by walking.
    place.scda("ls b.scda").bad(1, "the seal at the end of the file is damaged");
    assert_eq!(place.scda("ls --unsealed b.scda").good().text().lines().count(), 2 + 22);
    // Also if its name and size are damaged.
    let mut bad = good.clone();
    let seal = good.len() - 288;
    bad[seal..seal + 96].fill(b'x');
    place.write("b.scda", bad);
    place.scda("ls b.scda").bad(1, "the seal at the end of the file is damaged");
    let run = place.scda("check b.scda").bad(1, "");
    assert!(!run.text().contains("scda index 00"), "{}", run.text());
    place.scda("append b.scda a.scda").bad(1, "the seal at the end of the file is damaged");
    place.scda("rewind b.scda").bad(2, "the seal at the end of the file is damaged); --force does so");
    // An index: the sections are read without it, and saved.
    let index = good.windows(16).position(|part| part == b"A scda index 00 ").unwrap();
    let mut bad = good.clone();
    bad[index + 128 + 300] ^= 1;
    place.write("b.scda", bad);
    let run = place.scda("check b.scda").bad(1, "");
    assert!(
        run.text().starts_with(&format!("b.scda: INVALID: seal 1: byte {index}: index of the seal ")),
        "{}",
        run.text()
    );
    let run = place.scda("ls b.scda").bad(1, "index of the seal");
    assert_eq!(run.text().lines().count(), 2 + 20);
    place.scda("salvage b.scda saved.scda");
    place.scda("check saved.scda").good();
    place.scda("diff a.scda saved.scda").good();
}

#[test]
fn what_is_sealed_is_sealed_again() {
    let place = Place::new();
    with_sections(&place, "plain.scda");
    place.scda("copy --seal --no-hdf5 plain.scda sealed.scda").good();
    assert_eq!(place.scda("seal plain.scda plain.scda").good().text().lines().count(), 2);
    // Only a file that was created to be sealed says so in its header.
    let sealed = place.read("sealed.scda");
    assert!(sealed[..32] != place.read("plain.scda")[..32] && sealed.len() == place.read("plain.scda").len());
    let sealing = |name: &str| {
        let run = place.scda(&format!("check --json --strict {name}")).good();
        run.json()["sealed"]["seals"].clone()
    };
    with_sections(&place, "plain.scda");
    assert!(sealed[128..].starts_with(&place.read("plain.scda")[128..]));
    for (command, count) in [
        ("copy sealed.scda out.scda", 1),
        ("copy --no-seal sealed.scda out.scda", 0),
        ("copy plain.scda out.scda", 0),
        ("copy --seal --no-hdf5 plain.scda out.scda", 1),
        ("salvage sealed.scda out.scda", 1),
        ("salvage --no-seal sealed.scda out.scda", 0),
        ("salvage --seal --no-hdf5 plain.scda out.scda", 1),
    ] {
        place.scda(command).good();
        assert_eq!(sealing("out.scda"), if count == 0 { Value::Null } else { count.into() }, "{command}");
        // Compressed pairs among them, which have one row.
        assert!(place.read("out.scda") == if count == 1 { sealed.clone() } else { place.read("plain.scda") });
        place.scda("diff sealed.scda out.scda").good();
        std::fs::remove_file(place.path("out.scda")).unwrap();
    }
    place.scda("diff sealed.scda plain.scda").good();
    for (options, count) in
        [("--encode 1", 1), ("--decode", 1), ("--style mime", 1), ("--encode auto --no-seal", 0)]
    {
        let run = place.scda(&format!("copy -f {options} sealed.scda out.scda"));
        assert_eq!(run.code, 0);
        assert_eq!(sealing("out.scda"), if count == 0 { Value::Null } else { count.into() }, "{options}");
        place.scda("diff out.scda plain.scda").good();
    }
    // The first file of several decides.
    for (files, count) in
        [("sealed.scda plain.scda", 1), ("plain.scda sealed.scda", 0), ("--seal plain.scda plain.scda", 1)]
    {
        place.scda(&format!("join -f {files} -o out.scda")).good();
        assert_eq!(sealing("out.scda"), if count == 0 { Value::Null } else { count.into() }, "{files}");
        assert_eq!(place.scda("ls out.scda").good().text().lines().count(), 22);
    }
    for name in ["sealed.scda", "plain.scda"] {
        let list = place.scda(&format!("ls --json {name}")).good();
        assert_eq!(list.json()["sealed"], name == "sealed.scda");
    }
    place.scda("copy --seal --no-seal plain.scda no.scda").bad(2, "--no-seal");
}

#[test]
fn sealed_files_are_appended_to_in_place() {
    use std::os::unix::fs::MetadataExt;
    let place = Place::new();
    with_sections(&place, "more.scda");
    place.scda("copy --seal more.scda a.scda").good();
    let (before, inode) = (place.read("a.scda"), place.path("a.scda").metadata().unwrap().ino());
    place.scda("append a.scda more.scda more.scda").good();
    let after = place.read("a.scda");
    assert!(after.starts_with(&before) && place.path("a.scda").metadata().unwrap().ino() == inode);
    place.scda("check --strict a.scda").good();
    assert_eq!(
        place.scda("ls a.scda").good().text().lines().next().unwrap().split(", ").last(),
        Some("sealed: 2 seals")
    );
    // Onto itself.
    place.scda("append -s 1-3 a.scda a.scda").good();
    assert_eq!(place.scda("check --json a.scda").good().json()["sealed"]["sections"], 33);
    // Nothing changes if it fails, not even after what was appended already.
    let before = place.read("a.scda");
    let bytes = place.read("more.scda");
    place.write("cut.scda", &bytes[..bytes.len() - 32]);
    place.scda("append a.scda more.scda cut.scda").bad(1, "scda: cut.scda: section 10 ");
    place.scda("append a.scda more.scda missing.scda").bad(2, "missing.scda");
    place.scda("append -s nothing a.scda more.scda").bad(2, "no section");
    assert!(place.read("a.scda") == before);
    // What follows the last seal is lost only if told so, whole sections or not.
    for tail in [&bytes[128..], &bytes[128..1000]] {
        let torn = [&before[..], tail].concat();
        place.write("a.scda", &torn);
        let words = format!(
            "scda: a.scda: {} bytes after its last seal are not sealed; scda rewind removes them, and scda salvage --seal ",
            tail.len()
        );
        for command in ["append -s 1 a.scda more.scda", "append a.scda a.scda", "attr a.scda / x=1"] {
            place.scda(command).bad(2, &words);
            assert!(place.read("a.scda") == torn, "{command}");
        }
    }
    // A cut section after the whole ones is an error, also for who reads these on demand.
    for command in ["ls", "ls --json", "check"] {
        place.scda(&format!("{command} --unsealed a.scda")).bad(1, "");
    }
    place.scda("copy --unsealed a.scda out.scda").bad(1, "found the end of the file");
    place.scda("rewind --force a.scda").good();
    place.scda("append -s 1 a.scda more.scda").good();
    assert!(place.read("a.scda").starts_with(&before));
    place.scda("check a.scda").good();
    // A file that is not sealed is replaced, sealed if that is wanted.
    place.scda("copy more.scda b.scda").good();
    let inode = place.path("b.scda").metadata().unwrap().ino();
    place.scda("append b.scda more.scda").good();
    assert!(place.scda("check b.scda").good().text().contains("would not be noticed"));
    place.scda("append --seal b.scda more.scda").good();
    assert!(place.scda("check b.scda").good().text().ends_with(" bytes, sealed\n"));
    assert_ne!(place.path("b.scda").metadata().unwrap().ino(), inode);
    assert_eq!(place.names(), ["a.scda", "b.scda", "cut.scda", "more.scda"]);
}

#[test]
fn a_signal_while_appending_in_place_removes_nothing() {
    let place = Place::new();
    with_sections(&place, "few.scda");
    place.scda("copy --seal few.scda a.scda").good();
    let before = place.read("a.scda");
    let large = r#"{"sections": [{"type": "A", "user": "x", "N": 4000, "E": 2000, "generate": "counter"}]}"#;
    place.make("large.scda", large);
    // Enough files that the signal comes before the end, however late.
    let many = "large.scda ".repeat(400);
    for signal in ["HUP", "TERM", "KILL"] {
        let size = before.len();
        let grown = format!("while test $(stat -c %s a.scda) -le {size}; do sleep 0.01; done");
        let run =
            place.shell(&format!("scda append a.scda {many} & {grown}; kill -{signal} $!; wait $!; echo $?"));
        assert!(run.text().trim().parse::<i32>().unwrap() > 128, "{run:?}");
        assert!(place.read("a.scda").starts_with(&before), "{signal}");
        let list = place.scda("rewind --list --json a.scda").good().json();
        assert_eq!(list["seals"][0]["bytes"], before.len());
        // Whole sections, and one that is not.
        place.scda("rewind --force a.scda").good();
        assert!(place.read("a.scda") == before, "{signal}");
    }
    assert_eq!(place.names(), ["a.scda", "few.scda", "large.scda"]);
}

#[test]
fn a_file_is_cut_back_to_its_seals() {
    let place = Place::new();
    sealed_twice(&place, "a.scda", "unix");
    let good = place.read("a.scda");
    let list = place.scda("rewind --list a.scda").good();
    let lines: Vec<Vec<&str>> = list.text().lines().map(|line| line.split_whitespace().collect()).collect();
    let first: usize = lines[1][2].parse().unwrap();
    assert_eq!(lines[0], ["seal", "sections", "bytes"]);
    assert_eq!((lines[1][..2].to_vec(), lines[2][..2].to_vec()), (vec!["1", "10"], vec!["2", "20"]));
    assert_eq!(place.scda("rewind a.scda").good().text(), "a.scda: already ends with seal 2\n");
    // What is not whole is removed, and whole sections only if told so.
    for torn in [&b"A something"[..], &[0; 4000], &good[128..200]] {
        place.write("b.scda", [&good[..], torn].concat());
        assert!(place.scda("rewind --list b.scda").good().text().lines().count() == 4);
        let run = place.scda("rewind b.scda").good();
        let n = torn.len();
        let words = format!("b.scda: removes what follows seal 2: {n} bytes of an incomplete section\n");
        assert_eq!(run.text(), words);
        assert!(place.read("b.scda") == good);
    }
    let cut = good.len() - first;
    let words = format!("would remove what follows seal 1: {cut} bytes with 10 sections; --force does so");
    place.scda("rewind b.scda 1").bad(2, &words);
    assert!(place.read("b.scda") == good);
    place.scda("rewind --force b.scda 1").good();
    assert!(place.read("b.scda") == good[..first]);
    place.scda("check b.scda").good();
    // Power was lost meanwhile: what is removed is damaged already.
    let mut stopped = [&good[..], &truncation::bytes(first as u64, LineBreak::Unix)].concat();
    stopped[first..first.next_multiple_of(4096).min(good.len())].fill(0);
    place.write("b.scda", &stopped);
    assert_eq!(place.scda("rewind --list b.scda").good().text().lines().count(), 3);
    place.scda("rewind b.scda").good();
    assert!(place.read("b.scda") == good[..first]);
    place.write("b.scda", [&good[..], &good[128..224]].concat());
    place.scda("rewind b.scda").bad(2, "what follows seal 2: 96 bytes with 1 section; ");
    place.scda("rewind -f b.scda").good();
    assert!(place.read("b.scda") == good);
    // Damage does not hide a seal after it.
    let mut bad = [&good[..], b"torn"].concat();
    bad[first] = b'?';
    place.write("b.scda", &bad);
    place.scda("rewind b.scda").good();
    assert!(place.read("b.scda") == bad[..good.len()]);
    // Nothing is given up for a seal that is damaged.
    let index = good.windows(16).position(|part| part == b"A scda index 00 ").unwrap();
    bad.truncate(good.len());
    bad[index + 200] ^= 1;
    place.write("b.scda", &bad);
    place.scda("rewind -f b.scda 1").bad(1, "index of the seal");
    assert!(place.read("b.scda") == bad);
    for (command, words) in [
        ("rewind a.scda 3", "found 2 seals, but no seal 3"),
        ("rewind a.scda 0", "0"),
        ("rewind --list a.scda 1", "--list"),
        ("rewind -", "only a file can be rolled back"),
    ] {
        place.scda(command).bad(2, words);
    }
    with_sections(&place, "plain.scda");
    place.scda("rewind plain.scda").bad(2, "it has no seal");
    // While somebody appends, nothing is removed.
    place.write("b.scda", [&good[..], b"torn"].concat());
    let in_use = "another program is writing the file";
    place.while_written("b.scda", || place.scda("rewind b.scda").bad(2, in_use));
    assert!(place.read("b.scda") == [&good[..], b"torn"].concat());
}

#[test]
fn rewind_keeps_the_steps_up_to_one_that_no_seal_follows() {
    let place = Place::new();
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::create(Solo, place.path("a.scda"), b"", &params).unwrap();
    for step in 0..5 {
        for name in ["amr/time", "amr/rho"] {
            let dataset = Dataset::new(name, DataType::Uint8, []);
            file.dataset(&dataset, &[IndexBox::all(&[])], &[step]).unwrap();
        }
    }
    file.close().unwrap();
    let before = std::fs::read(place.path("a.scda")).unwrap();
    place
        .scda("rewind a.scda --after amr/time 1")
        .bad(2, "would remove what follows record 1 of \"amr/time\"; --force does so");
    place.scda("rewind -f a.scda --after amr/time 5").bad(2, "the seals of the file cover 5 records");
    place.scda("rewind -f a.scda --after amr/time x").bad(2, "expected a number");
    assert!(std::fs::read(place.path("a.scda")).unwrap() == before);
    let said = place.scda("rewind -f a.scda --after amr/time -2").good();
    let said = said.text();
    assert!(said.starts_with("a.scda: removed what follows record -2 of amr/time: "), "{said}");
    place.scda("check a.scda").good();
    let steps = |place: &Place| place.scda("ls a.scda").good().text().matches("amr/rho").count();
    let list = place.scda("rewind --list --json a.scda").good().json();
    assert_eq!((list["seals"].as_array().unwrap().len(), &list["seals"][0]["sections"]), (1, &16.into()));
    place.scda("rewind -f a.scda --after amr/ 0").good();
    place.scda("check a.scda").good();
    let list = place.scda("rewind --list --json a.scda").good().json();
    assert_eq!(list["seals"][0]["sections"], 4);
    assert_eq!(steps(&place), 1);
}

#[test]
fn old_files_are_sealed() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    let plain = place.read("a.scda");
    let run = place.scda("seal a.scda").good();
    assert_eq!(run.text(), format!("a.scda: sealed: 10 sections, {} bytes\n", place.read("a.scda").len()));
    let sealed = place.read("a.scda");
    assert!(sealed.starts_with(&plain));
    assert_eq!(place.scda("seal a.scda").good().text(), "a.scda: is already sealed\n");
    // What follows a seal may be what a killed program has left: it is neither sealed nor removed.
    let tail = [&sealed[..], &plain[128..]].concat();
    place.write("b.scda", &tail);
    let run = place.scda("check b.scda").good();
    assert!(
        run.text().contains(&format!(", sealed up to section 10, byte {}; ", sealed.len())),
        "{}",
        run.text()
    );
    place.scda("seal b.scda").bad(2, "bytes after its last seal are not sealed; scda rewind ");
    place.scda("attr b.scda / x=1").bad(2, "scda rewind removes them, and scda salvage --seal ");
    // As advised: also if the last section is cut.
    place.write("cut.scda", &tail[..tail.len() - 32]);
    place.scda("attr cut.scda / x=1").bad(2, "scda salvage --seal saves what is intact");
    let run = place.scda("salvage --seal cut.scda saved.scda");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.text().contains("19 of 20 sections") && run.err.contains("section 20 "),
        "{}{}",
        run.text(),
        run.err
    );
    place.scda("check saved.scda").good();
    place.scda("append b.scda b.scda").bad(2, "bytes after its last seal are not sealed; scda rewind ");
    assert!(place.read("b.scda") == tail);
    place.scda("copy --seal b.scda c.scda").good();
    assert_eq!(place.scda("check --json c.scda").good().json()["sealed"]["sections"], 20);
    // What is not whole is not sealed, and stays.
    for bad in [&plain[..plain.len() - 32], &[&sealed[..], &plain[128..200]].concat()] {
        place.write("b.scda", bad);
        place.scda("seal b.scda").bad(1, "is not valid, so no seal is added; scda ");
        assert!(place.read("b.scda") == bad);
    }
    let mut bad = sealed.clone();
    bad[200] ^= 1;
    place.write("b.scda", &bad);
    place.scda("seal b.scda a.scda").bad(1, "byte 200: ");
    place.scda("seal missing.scda").bad(2, "missing.scda");
    place.scda("seal -").bad(2, "into a file");
    // A seal that was not completed.
    for end in [sealed.len() - 288, sealed.len() - 1000] {
        place.write("b.scda", &sealed[..end]);
        let run = place.scda("seal b.scda");
        let words = format!("scda: b.scda: removed {} bytes of an incomplete seal\n", end - plain.len());
        assert_eq!((run.code, run.err), (0, words));
        assert!(place.read("b.scda") == sealed);
    }
    // What follows the header of a file that was to be sealed may be half a step.
    let mut marked = plain.clone();
    marked[8..32].copy_from_slice(b"libscda 0.1 sealed ----\n");
    place.write("b.scda", &marked);
    for command in ["seal b.scda", "append b.scda a.scda", "attr b.scda / x=1"] {
        place.scda(command).bad(2, "its writer was stopped before its first seal");
        assert!(place.read("b.scda") == marked, "{command}");
    }
    place.scda("salvage --seal b.scda saved.scda --force").good();
    assert_eq!(place.scda("check --json saved.scda").good().json()["sealed"]["sections"], 10);
    place.write("b.scda", &marked[..128]);
    place.scda("append b.scda a.scda").good();
    assert_eq!(place.scda("check --json b.scda").good().json()["sealed"]["sections"], 10);
    place.write("b.scda", &marked[..128]);
    assert!(place.scda("seal b.scda").good().text().contains("sealed: 0 sections"));
    // It may be one that somebody goes on to write.
    let begun = &sealed[..sealed.len() - 288];
    place.write("b.scda", begun);
    for command in ["seal b.scda", "copy -f a.scda b.scda"] {
        let run = place.while_written("b.scda", || place.scda(command));
        run.bad(2, "another program is writing the file");
    }
    assert!(place.read("b.scda") == begun);
    // One that is damaged is left as it is.
    let mut bad = sealed.clone();
    bad[sealed.len() - 200] ^= 1;
    place.write("b.scda", &bad);
    place.scda("seal b.scda").bad(1, "is not valid");
    assert!(place.read("b.scda") == bad);
}

#[test]
fn sections_after_damage_are_saved_by_the_seal() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    place.scda("copy --seal a.scda b.scda").good();
    let good = place.read("b.scda");
    let sections = sections(&place, "b.scda");
    let lost = |number: usize, saved: &str| {
        let others = format!("-s 1-{} -s {}-", number - 1, number + 1);
        place.scda(&format!("copy -f {others} a.scda expected.scda")).good();
        place.scda(&format!("diff expected.scda {saved}")).good();
    };
    // All of a header, which without a seal hides everything after it.
    let mut bad = good.clone();
    bad[sections[3].0..][..160].fill(0);
    place.write("b.scda", &bad);
    let run = place.scda("salvage b.scda c.scda");
    assert!(run.code == 0 && run.text().starts_with("c.scda: 9 of 10 sections, "), "{run:?}");
    assert!(run.err.contains("section 4 (\"array\"): byte "), "{}", run.err);
    place.scda("check c.scda").good();
    lost(4, "c.scda");
    // A byte of data: what is before it is saved.
    let mut bad = good;
    bad[sections[3].0 + 128 + 8 * 70] ^= 1;
    place.write("b.scda", &bad);
    let run = place.scda("salvage -f b.scda c.scda");
    assert!(run.text().ends_with("of section 4, only the first 70 of 1000 elements\n"), "{run:?}");
    let expected = place.scda("cat a.scda 4 --range :70").good().out;
    assert!(place.scda("cat c.scda 4").good().out == expected);
    // Without the seal nobody would have noticed.
    place.write("b.scda", &bad[..sections[9].1]);
    place.scda("check --unsealed b.scda").good();
}

#[test]
fn a_closed_standard_output_is_an_error() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    for command in ["cat a.scda 3", "ls a.scda", "check a.scda"] {
        place.shell(&format!("scda {command} >&-")).bad(2, "scda: standard output: is closed");
        // What nobody wants to see is no trouble.
        place.shell(&format!("scda {command} >/dev/null")).good();
        place.shell(&format!("scda {command} 1<>/dev/null")).good();
    }
}

#[test]
fn records_are_found_by_the_index() {
    let place = Place::new();
    let record = |value: u32| {
        format!(
            r#"{{"type": "D", "user": "rho", "data_type": "int32", "shape": [], "values": [{value}], "attributes": {{"step": {value}}}}}"#
        )
    };
    let text = format!(
        r#"{{"sealed": true, "sections": [{{"type": "I", "user": "first", "data_text": "thirty-two bytes of inline data\n"}},
          {}, {}, {{"type": "G", "user": "flow", "attributes": {{"a": 1}}}},
          {{"type": "D", "user": "one", "data_type": "int32", "shape": [], "values": [7], "attributes": {{"b": 2}}}},
          {{"type": "B", "user": "tail", "encoded": true, "data_text": "tail"}}, {}]}}"#,
        record(10),
        record(11),
        record(12)
    );
    place.make("a.scda", &text);
    let answers = [
        ("cat a.scda rho --record 0", "10\n"),
        ("cat a.scda rho --record 2", "12\n"),
        ("cat a.scda rho --record -2", "11\n"),
        ("cat a.scda rho", "12\n"),
        ("cat a.scda one", "7\n"),
        ("cat a.scda tail", "tail"),
        ("cat a.scda 10", "tail"),
        ("cat a.scda 9", "7\n"),
        ("attr a.scda rho --record 1", "step = 11\n"),
        ("attr a.scda rho --record -1", "step = 12\n"),
        ("attr a.scda rho", "step = 12\n"),
        ("attr a.scda one", "b = 2\n"),
        ("attr a.scda flow/", "a = 1\n"),
    ];
    let wrong = [
        ("cat a.scda rho --record 3", "--record 3: found 3 sections"),
        ("cat a.scda none", "no such section; it has 12 sections"),
        ("cat a.scda 13", "no such section"),
        ("attr a.scda rho --record 3", "--record 3: found 3 datasets"),
        ("attr a.scda none", "there is no dataset or group named none"),
        ("attr a.scda flow/ --record 0", "--record can be used with datasets only"),
    ];
    let check = || {
        for (command, answer) in answers {
            assert_eq!(place.scda(command).good().text(), answer, "{command}");
        }
    };
    let refuse = || {
        for (command, words) in wrong {
            place.scda(command).bad(2, words);
        }
    };
    check();
    refuse();
    // The same without an index.
    let sealed = place.read("a.scda");
    place.scda("copy -f --no-seal a.scda a.scda").good();
    check();
    refuse();
    // No header of another section is read: that of the first one, of which nobody can tell where it ends, is damaged.
    let mut bad = sealed;
    bad[128] = b'?';
    place.write("a.scda", &bad);
    place.scda("ls --raw a.scda").bad(1, "byte 128");
    check();
}

#[test]
fn what_changes_files_does_so_although_nobody_reads_it() {
    let place = Place::new();
    with_sections(&place, "a.scda");
    place.shell("cp a.scda b.scda; cp a.scda c.scda").good();
    place.shell("{ sleep 0.1; scda seal a.scda b.scda c.scda; echo $? >&2; } | :").bad(0, "0\n");
    for name in ["a.scda", "b.scda", "c.scda"] {
        assert!(place.scda(&format!("check {name}")).good().text().ends_with(", sealed\n"), "{name}");
    }
    let sealed = place.read("a.scda");
    place.write("a.scda", [&sealed[..], b"torn"].concat());
    place.shell("{ sleep 0.1; scda rewind a.scda; echo $? >&2; } | :").bad(0, "0\n");
    assert!(place.read("a.scda") == sealed);
}

/// Anchors are left out where there are none.
#[test]
fn an_empty_table_of_anchors_is_none() {
    use scda_format::seal::Seal;
    use scda_format::{crc, index};
    let place = Place::new();
    with_sections(&place, "plain.scda");
    place.scda("copy --seal plain.scda a.scda").good();
    let mut file = place.read("a.scda");
    let seal = Seal::parse(file.last_chunk().unwrap(), file.len() as u64 - 288).unwrap();
    let (at, style) = (usize::try_from(seal.index).unwrap(), LineBreak::Unix);
    assert!(!file.windows(15).any(|name| name == b"scda anchors 00"));
    let mut empty = index::table_header(index::ANCHORS, 1, 32, style).to_vec();
    empty.extend(index::crc_tail(crc::of(&empty), style));
    let bytes = empty.len() as u64;
    file.splice(at..at, empty);
    let end = file.len() - 288;
    let rows = crc::of(&file[at + usize::try_from(bytes).unwrap()..end]);
    let forged =
        Seal { index: seal.index + bytes, length: seal.length + bytes, ..seal }.with_crc(rows, style);
    file[end..].copy_from_slice(&forged.bytes(style));
    place.write("b.scda", file);
    let run = place.scda("check b.scda");
    assert!(run.code == 1 && run.text().contains("INVALID: seal 1: "), "{run:?}");
}
