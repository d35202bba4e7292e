//! Files that are much larger than memory may be.

use crate::run::{Place, Run};
use scda::{DataType, Dataset, Hdf5, Layout, LineBreak, SectionType, Solo, UserString, WriteOptions, Writer};
use scda_format::crc;
use scda_format::entry::CountFormat;
use scda_format::header::put_section_header;
use scda_format::index::{INDEX, ROW_BYTES, Row, sort_rows, table_header, table_padding};
use scda_format::padding::{MAX_DATA_PADDING, data_padding};
use scda_format::seal::{SEAL_BYTES, Seal};
use std::fs::File;
use std::os::unix::fs::FileExt;

const UNIX: LineBreak = LineBreak::Unix;

/// A file whose data are holes.
struct Sparse {
    file: File,
    end: u64,
}

impl Sparse {
    fn new(place: &Place, name: &str) -> Self {
        place.make(name, r#"{"user": "sparse", "sections": []}"#);
        let file = File::options().write(true).open(place.path(name)).unwrap();
        Self { file, end: 128 }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.file.write_all_at(bytes, self.end).unwrap();
        self.end += bytes.len() as u64;
    }

    fn section(&mut self, kind: SectionType, user: &str, counts: &[(u8, u64)], sizes: &[u64], bytes: u64) {
        let mut header = [0; 64];
        put_section_header(&mut header, kind, user.as_bytes(), UNIX);
        self.put(&header);
        for &(letter, count) in counts {
            self.put(&CountFormat::new(letter, UNIX).entry(count));
        }
        let mut entries = Vec::new();
        CountFormat::new(b'E', UNIX).append(sizes, &mut entries);
        self.put(&entries);
        self.end += bytes;
        self.put(data_padding(&mut [0; MAX_DATA_PADDING], bytes, Some(0), UNIX));
    }
}

/// Runs with `mib` MiB of memory.
fn bounded(place: &Place, mib: u64, command: &str) -> Run {
    place.shell(&format!("ulimit -v {}; exec scda {command}", mib << 10))
}

/// Runs with 64 MiB of memory and `seconds` seconds of processor time, which other programs do not take from it.
fn quick(place: &Place, seconds: u64, command: &str) -> Run {
    place.shell(&format!("ulimit -v {}; ulimit -t {seconds}; exec scda {command} --threads 1", 64 << 10))
}

#[test]
fn a_list_of_20_gigabytes_is_there_at_once() {
    let place = Place::on_disk();
    let mut file = Sparse::new(&place, "large.scda");
    file.section(SectionType::Array, "field", &[(b'N', 1 << 31), (b'E', 8)], &[], 1 << 34);
    let sizes: Vec<u64> = (0..20_000).map(|i| (i % 200) * 1000).collect();
    file.section(SectionType::Varray, "some", &[(b'N', 20_000)], &sizes, sizes.iter().sum());
    file.section(SectionType::Block, "end", &[(b'E', 2 << 30)], &[], 2 << 30);
    assert!(place.path("large.scda").metadata().unwrap().len() > 20_000_000_000);
    // Reading all would take longer.
    let run = quick(&place, 1, "ls large.scda").good();
    assert!(run.text().contains("  2147483648                  8    17179869184 "), "{}", run.text());
    assert!(run.text().contains(" 0/99500.0/199000 "), "{}", run.text());
    // The end of it is near, too.
    let run = quick(&place, 1, "cat large.scda end --range -4:");
    assert_eq!(run.good().out, [0; 4]);
    let run = quick(&place, 1, "cat large.scda field --range -2:");
    assert_eq!(run.good().out, [0; 16]);
}

/// A sealed file of `count` blocks of `bytes` bytes, which is all holes but for its index and its seal.
fn sealed_holes(place: &Place, name: &str, count: u64, bytes: u64) {
    let mut file = Sparse::new(place, name);
    let row = |section, user: &str, offset, bytes, size| {
        let user = UserString::new(user.as_bytes()).unwrap();
        Row { section, user, is_compressed: false, offset, bytes, count: 0, size, crc: 0, sorted: 0 }
    };
    let mut rows = vec![row(None, "sparse", 0, 128, 0)];
    let padded = bytes + 96 + 32;
    for number in 0..count {
        let offset = 128 + number * padded;
        rows.push(row(Some(SectionType::Block), &format!("block {}", number % 1000), offset, padded, bytes));
    }
    sort_rows(&mut rows).unwrap();
    let mut index = table_header(INDEX, count + 1, ROW_BYTES, UNIX).to_vec();
    for row in &rows {
        let mut text = [0; ROW_BYTES];
        row.put(&mut text, UNIX);
        index.extend(text);
    }
    index.extend(table_padding(count + 1, UNIX));
    file.end = 128 + count * padded;
    let length = file.end + index.len() as u64 + SEAL_BYTES as u64;
    let seal = Seal { index: file.end, previous: 0, sections: count, length, crc: 0 };
    file.put(&index);
    file.put(&seal.with_crc(crc::of(&index), UNIX).bytes(UNIX));
}

#[test]
fn a_sealed_terabyte_is_listed_by_its_index() {
    let place = Place::on_disk();
    // Data of a multiple of 32 bytes have 32 bytes of padding. The number of sections for which a goal is set: less than a second.
    let (count, bytes): (usize, u64) = (1_000_000, 1 << 20);
    sealed_holes(&place, "large.scda", count as u64, bytes);
    assert!(place.path("large.scda").metadata().unwrap().len() > 1_000_000_000_000);
    // Reading the data would take minutes.
    let run = quick(&place, 20, "ls large.scda").good();
    assert_eq!(run.text().lines().count(), count + 2);
    let last = run.text().lines().last().unwrap();
    assert_eq!(
        last.split_whitespace().take(5).collect::<Vec<_>>(),
        [&count.to_string(), "B", "-", &bytes.to_string(), &bytes.to_string()]
    );
    assert!(run.text().lines().next().unwrap().ends_with(", sealed"));
    let run = place.scda(&format!("ls large.scda -s {}-", count - 1)).good();
    assert_eq!(run.text().lines().count(), 4);
}

#[test]
fn memory_does_not_grow_with_the_file() {
    let place = Place::on_disk();
    let mut file = Sparse::new(&place, "a.scda");
    const BYTES: u64 = 80 << 20;
    file.section(SectionType::Block, "block", &[(b'E', BYTES)], &[], BYTES);
    file.section(SectionType::Array, "array", &[(b'N', BYTES >> 15), (b'E', 1 << 15)], &[], BYTES);
    let sizes: Vec<u64> = (0..BYTES >> 15).map(|_| 1 << 15).collect();
    file.section(SectionType::Varray, "varray", &[(b'N', BYTES >> 15)], &sizes, BYTES);
    // Virtual memory: the program, its libraries, and some pieces of 8 MiB.
    for command in [
        "check a.scda",
        "copy a.scda b.scda",
        // A block is one element where it is compressed.
        "copy --encode 1 -s 2-3 a.scda c.scda",
        "copy --decode c.scda d.scda",
        "check c.scda",
        "diff c.scda d.scda",
        "append c.scda c.scda",
    ] {
        bounded(&place, 72, &format!("{command} --threads 1")).good();
    }
    place.scda("copy -f -s 2-3 b.scda e.scda").good();
    assert!(place.read("d.scda") == place.read("e.scda"));
}

#[test]
fn one_large_element_is_held_once() {
    let place = Place::on_disk();
    let text = r#"{"sections": [
      {"type": "A", "user": "a", "N": 1, "E": 30000000, "encoded": true, "generate": "zeros"},
      {"type": "B", "user": "b", "E": 30000000, "encoded": true, "generate": "zeros"}]}"#;
    place.make_with("--level 1", "a.scda", text);
    for command in ["cat a.scda 1 --as text", "cat a.scda 2 --as text", "diff a.scda a.scda"] {
        // One copy; of two files two.
        let mib = if command.starts_with("diff") { 120 } else { 90 };
        bounded(&place, mib, &format!("{command} --threads 1 >/dev/null")).good();
    }
}

#[test]
fn differences_of_many_sections_need_little_memory() {
    let place = Place::on_disk();
    let sections = vec![r#"{"type":"B","user":"a user string of some length","E":0}"#; 200_000].join(",");
    place.make("a.scda", format!(r#"{{"sections":[{sections}]}}"#));
    // Things that have a counterpart are not kept.
    bounded(&place, 40, "diff a.scda a.scda --threads 1").good();
    // Nor are differences.
    place.make("b.scda", r#"{"sections":[]}"#);
    bounded(&place, 60, "diff a.scda b.scda --threads 1 >/dev/null").bad(1, "");
}

/// A checker need not keep the names of all datasets to tell whether attributes that were set later are those of one.
#[test]
fn very_many_datasets_are_checked_with_little_memory() {
    let place = Place::on_disk();
    let mut params = WriteOptions::default();
    (params.seal, params.tuning.check) = (true, false);
    // The places of all objects of a view are kept.
    for (hdf5, mib) in [(Hdf5::Never, 48), (Hdf5::Close, 96)] {
        params.hdf5 = hdf5;
        let mut file = Writer::create(Solo, place.path("a.scda"), b"", &params).unwrap();
        let mut dataset = Dataset::new("a dataset", DataType::Uint8, [0]);
        for number in 0..200_000 {
            dataset.name = format!("{number}");
            file.dataset(&dataset, &[], &[]).unwrap();
        }
        for number in [0, 199_999] {
            file.set_attributes(&number.to_string(), 0, r#"{"units": "m"}"#).unwrap();
        }
        file.close().unwrap();
        bounded(&place, mib, "check a.scda --threads 1").good();
    }
}

/// Files of 2 KB may say that they have a terabyte of items, none of which is in the file.
#[test]
fn items_that_no_file_has_are_not_compared_one_by_one() {
    let place = Place::on_disk();
    let write = |name: &str, rows: u64, data_type: DataType| {
        let mut file = Writer::create(Solo, place.path(name), b"", &WriteOptions::default()).unwrap();
        let mut dataset = Dataset::new("x", data_type, [rows]);
        dataset.layout = Layout::Chunked { shape: Some(vec![1 << 30]), text: false };
        file.dataset(&dataset, &[], &[]).unwrap();
        file.close().unwrap();
    };
    write("a.scda", 1 << 36, DataType::Uint8);
    write("b.scda", 1 << 36, DataType::Uint8);
    write("c.scda", 1 << 35, DataType::Uint8);
    quick(&place, 5, "diff a.scda b.scda").good();
    let run = quick(&place, 5, "diff a.scda c.scda").bad(1, "");
    assert!(run.text().contains("shape: 68719476736 | 34359738368"), "{run:?}");
}

/// Chunks are two rows thick, and two rows do not fit into what is read at once.
#[test]
fn thick_chunks_of_large_planes_are_put_in_order() {
    let place = Place::on_disk();
    let text = |layout: &str| {
        format!(
            r#"{{"sections": [{{"type": "D", "user": "d", "data_type": "uint64", "shape": [3, 4500000], {layout}"generate": "counter"}}]}}"#
        )
    };
    place.make_with("--level 1", "thick.scda", text(r#""chunk": [2, 500000], "#));
    place.make("plain.scda", text(""));
    place.scda("copy --decode thick.scda out.scda").good();
    assert!(place.read("out.scda") == place.read("plain.scda"));
    assert_eq!(place.names(), ["out.scda", "plain.scda", "thick.scda"]);
}

/// The only dataset of a file, in one chunk, or in several.
fn of_fill(place: &Place, name: &str, shape: &[u64], chunk: &[u64], fill: &[u8], data_type: DataType) {
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::create(Solo, place.path(name), b"", &params).unwrap();
    let mut dataset = Dataset::new("x", data_type, shape);
    dataset.layout = Layout::Chunked { shape: Some(chunk.to_vec()), text: false };
    dataset.fill_value = fill.to_vec();
    file.dataset(&dataset, &[], &[]).unwrap();
    file.close().unwrap();
}

/// Files of 2 KB may have one chunk of 2 GiB that is not stored, since all of its items have the fill value.
#[test]
fn a_chunk_that_no_file_has_needs_no_memory() {
    let place = Place::new();
    of_fill(&place, "a.scda", &[i32::MAX as u64], &[i32::MAX as u64], &[7], DataType::Uint8);
    let (rows, columns) = (1 << 10, (1 << 20) + 1);
    of_fill(&place, "b.scda", &[rows, columns], &[1 << 9, 1 << 18], &[1, 2, 3, 4, 5], DataType::Raw(5));
    for name in ["a.scda", "b.scda"] {
        for command in [
            "check NAME",
            "check --strict NAME",
            "copy --codec zstd --chunk 2147483647 a.scda out.scda --force",
            "copy --codec lz4 NAME out.scda --force",
            "diff NAME NAME",
            "salvage NAME out.scda --force",
        ] {
            // The items of b.scda are no numbers.
            if name == "b.scda" && command.contains("a.scda") {
                continue;
            }
            quick(&place, 20, &command.replace("NAME", name)).good();
        }
    }
}

/// As chunks that are there, also where those are between others.
#[test]
fn differences_do_not_depend_on_what_is_stored() {
    let place = Place::new();
    let (rows, columns) = (40_u64, 90_000_u64);
    let write = |name: &str, chunk: [u64; 2], fill: u8| {
        let mut file = Writer::create(Solo, place.path(name), b"", &WriteOptions::default()).unwrap();
        let mut dataset = Dataset::new("x", DataType::Raw(3), [rows, columns]);
        dataset.layout = Layout::Chunked { shape: Some(chunk.to_vec()), text: false };
        dataset.fill_value = vec![fill; 3];
        // All items but those of a box are zeros, which are stored if they are not the fill value.
        let (region, count) = (scda::IndexBox::new([7, 50_000], [9, 30_000]), 9 * 30_000 * 3);
        let box_data: Vec<u8> = (0..count).map(|i: usize| (i % 251).to_le_bytes()[0]).collect();
        if fill == 0 {
            file.dataset(&dataset, &[region], &box_data[..]).unwrap();
        } else {
            let mut all = vec![0; usize::try_from(rows * columns * 3).unwrap()];
            for row in 0..9 {
                let to = ((7 + row) * 90_000 + 50_000) * 3;
                all[to..to + 90_000].copy_from_slice(&box_data[row * 90_000..][..90_000]);
            }
            file.dataset(&dataset, &[scda::IndexBox::all(&[rows, columns])], &all[..]).unwrap();
        }
        file.close().unwrap();
    };
    write("a.scda", [5, 50], 0);
    for chunk in [[40, 90_000], [3, 700], [1, 64_000], [40, 10]] {
        write("b.scda", chunk, 0);
        place.scda("diff a.scda b.scda").good();
    }
    write("c.scda", [3, 700], 9);
    let diff = place.scda("diff a.scda c.scda").bad(1, "");
    assert!(diff.text().lines().count() == 1 && diff.text().contains("fill value"), "{diff:?}");
}

/// What a few bytes say is a chunk of 2 GiB is refused before there is memory for that.
#[test]
fn a_frame_that_lies_needs_no_memory() {
    let place = Place::new();
    let write = |codec| {
        let mut file = Writer::create(Solo, place.path("a.scda"), b"", &WriteOptions::default()).unwrap();
        let mut dataset = Dataset::new("d", DataType::Float64, [(1_u64 << 28) - 1]);
        dataset.layout = Layout::Chunked { shape: Some(vec![(1 << 28) - 1]), text: false };
        dataset.codec = codec;
        file.dataset(&dataset, &[], &[]).unwrap();
        let at = file.position().unwrap();
        file.close().unwrap();
        (at, place.read("a.scda"))
    };
    for codec in [scda::Codec::Zstd, scda::Codec::Lz4, scda::Codec::Zlib, scda::Codec::Pcodec] {
        let (end, whole) = write(codec);
        // The last section has one element, of no bytes: its size, and padding.
        let size = usize::try_from(end).unwrap() - 64;
        let bytes = if codec == scda::Codec::Pcodec { 20 } else { 100_usize };
        let mut file = whole[..size].to_vec();
        file.extend(CountFormat::new(b'E', UNIX).entry(bytes as u64));
        // A frame of Blosc of as many bytes, which says that it has those of the chunk, in one block.
        let mut frame = vec![2, 1, 0x93, 8];
        for word in [i32::MAX - 7, i32::MAX - 7, i32::try_from(bytes).unwrap()] {
            frame.extend(word.to_le_bytes());
        }
        frame.resize(bytes, 0);
        file.extend(&frame);
        let last = frame.last().copied();
        file.extend(data_padding(&mut [0; MAX_DATA_PADDING], bytes as u64, last, UNIX));
        place.write("bad.scda", file);
        for command in ["check", "copy --codec zlib --force"] {
            let out = if command.contains("copy") { "out.scda" } else { "" };
            let run = quick(&place, 10, &format!("{command} bad.scda {out}"));
            let all = run.text().to_owned() + &run.err;
            let words = format!("chunk 0: found {bytes} bytes, which cannot be a chunk of 2147483640");
            assert!(run.code == 1 && all.contains(&words), "{codec:?} {command}: {run:?}");
        }
    }
}
