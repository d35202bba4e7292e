//! The bytes of sealed files: docs/format.md, the pure functions, and a reader in Python say the same.
#![allow(clippy::cast_possible_truncation)] // test data

use crate::common::options;
use crate::common::seal::{entry, marked_by, sealed};
use scda::{Encode, LineBreak, ReadOptions, Reader, Solo, Source, WriteOptions, Writer};
use scda_format::crc;
use scda_format::index::{
    ANCHORS, INDEX, ROW_BYTES, Row, parse_crc_tail, parse_table_header, sort_rows, table_header,
    table_padding,
};
use scda_format::seal::{SEAL_BYTES, Seal};
use std::path::Path;
use std::process::Command;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/format.md");
/// The version in the vendor strings of the files of the page. Checksums cover it: it stays when the library gets another version.
const ON_THE_PAGE: &str = "0.2";

/// The bytes of the file that this writes.
fn written(
    user: &[u8],
    params: &WriteOptions,
    write: impl FnOnce(&mut Writer) -> scda::Result<()>,
) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut writer = Writer::create(Solo, &path, user, params).unwrap();
    write(&mut writer).unwrap();
    writer.close().unwrap();
    std::fs::read(&path).unwrap()
}

/// The sections of a file, without its header.
fn sections(params: &WriteOptions, write: impl FnOnce(&mut Writer) -> scda::Result<()>) -> Vec<u8> {
    written(b"", params, write)[128..].to_vec()
}

/// The file of docs/format.md.
fn example() -> Vec<u8> {
    let mut params: WriteOptions = options();
    params.encoder = scda::Encoder::Zlib;
    let file = written(b"a sealed file", &params, |writer| {
        writer.inline(b"time step", 0, Some(b"42                              "))?;
        writer.block(b"notes", 0, 31, Some(b"calm, calm, calm, calm, breeze\n"), Encode::Always)
    });
    sealed(&marked_by(ON_THE_PAGE, &file, LineBreak::Unix), 0, LineBreak::Unix)
}

/// The file of docs/format.md with anchors.
fn example_with_anchors() -> Vec<u8> {
    let mut params: WriteOptions = options();
    params.encoder = scda::Encoder::Zlib;
    let file = written(b"with anchors", &params, |writer| {
        let grid = Source::Contiguous(b"000000000000111111111111222222222222");
        writer.array(b"grid", &[3], 12, grid, Encode::Always)?;
        let names = Source::Contiguous(b"MarsVenusSaturn");
        writer.varray(b"names", &[3], &[4, 5, 6], None, names, Encode::Always)?;
        writer.varray(b"runs", &[8193], &[1; 8193], None, Source::Contiguous(&[b'r'; 8193]), Encode::None)?;
        writer.array(b"cells", &[4097], 2, Source::Contiguous(&[b'c'; 2 * 4097]), Encode::Always)
    });
    sealed(&marked_by(ON_THE_PAGE, &file, LineBreak::Unix), 0, LineBreak::Unix)
}

/// A file of all kinds of sections with two seals, and the offset of the first.
fn all_kinds(line_break: LineBreak, elements: u64) -> (Vec<u8>, u64) {
    let mut params: WriteOptions = options();
    params.line_break = line_break;
    let sizes: Vec<u64> = (0..elements).map(|i| i % 3).collect();
    let data: Vec<u8> = (0..4 * elements).map(|i| (i % 251) as u8).collect();
    let varray = &data[..sizes.iter().sum::<u64>() as usize];
    let first = written(b"all kinds\n", &params, |writer| {
        writer.inline(b"b", 0, Some(&[b'x'; 32]))?;
        writer.varray(b"v", &[elements], &sizes, None, Source::Contiguous(varray), Encode::Always)?;
        writer.array(b"", &[elements], 4, Source::Contiguous(&data), Encode::None)?;
        writer.block(b"b", 0, 5, Some(b"12345"), Encode::Always)
    });
    let first = sealed(&first, 0, line_break);
    let seal = (first.len() - SEAL_BYTES) as u64;
    let more = sections(&params, |writer| {
        writer.array(b"a\0", &[elements], 4, Source::Contiguous(&data), Encode::Always)?;
        writer.varray(b"b", &[elements], &sizes, None, Source::Contiguous(varray), Encode::None)?;
        writer.array(b"empty", &[0], 4, Source::Contiguous(&[]), Encode::Always)
    });
    (sealed(&[first, more].concat(), seal, line_break), seal)
}

/// Runs Python beside its reader of sealed files.
fn python(arguments: &[&str]) -> (bool, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ffi-tests");
    let output = Command::new("python3")
        .args(arguments)
        .env("PYTHONPATH", &folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(&folder)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// What the pure functions make of all seals of a file, which must be its bytes.
fn check_with_the_pure_functions(file: &[u8], line_break: LineBreak) {
    let at = |offset: u64| &file[offset as usize..];
    let mut offset = (file.len() - SEAL_BYTES) as u64;
    loop {
        let bytes = at(offset).first_chunk().unwrap();
        let seal = Seal::parse(bytes, offset).unwrap();
        let table = &file[seal.index as usize..offset as usize];
        let header = table.first_chunk().unwrap();
        assert_eq!(parse_table_header(header, INDEX, ROW_BYTES), Some(seal.rows()));
        let (texts, padding) = table[header.len()..].as_chunks::<ROW_BYTES>();
        let mut end = if seal.previous == 0 { 0 } else { seal.previous + SEAL_BYTES as u64 };
        let mut rows: Vec<Row> = Vec::new();
        for text in texts {
            let row = Row::parse(text, end, 0).unwrap();
            assert_eq!(row.crc, crc::of(&file[end as usize..row.end() as usize]));
            assert_eq!(Row::parse_end(text), Some(row.end()));
            end = row.end();
            rows.push(row);
        }

        rows.iter_mut().for_each(|row| row.sorted = 0);
        sort_rows(&mut rows).unwrap();
        let mut made = table_header(INDEX, seal.rows(), ROW_BYTES, line_break).to_vec();
        for row in &rows {
            let mut text = [0; ROW_BYTES];
            row.put(&mut text, line_break);
            made.extend(text);
        }
        made.extend(table_padding(seal.rows(), line_break));
        assert_eq!((&made[..], padding.len()), (table, 32));
        assert_eq!(Seal { crc: 0, ..seal }.with_crc(crc::of(&made), line_break), seal);
        assert_eq!(seal.bytes(line_break), *bytes);

        let anchors: u64 = rows.iter().map(Row::anchors).sum();
        assert_eq!(end < seal.index, anchors > 0);
        if anchors > 0 {
            let table = &file[end as usize..seal.index as usize];
            assert_eq!(parse_table_header(table.first_chunk().unwrap(), ANCHORS, 32), Some(anchors + 1));
            let (covered, tail) = table.split_last_chunk().unwrap();
            assert_eq!(parse_crc_tail(tail, 0).unwrap(), crc::of(covered));
        }
        if seal.previous == 0 {
            break;
        }
        let previous = Seal::parse(at(seal.previous).first_chunk().unwrap(), seal.previous).unwrap();
        seal.check_previous(&previous).unwrap();
        offset = seal.previous;
    }
}

/// The seal at the end of a file.
fn last_seal(file: &[u8]) -> Seal {
    Seal::parse(file.last_chunk().unwrap(), (file.len() - SEAL_BYTES) as u64).unwrap()
}

/// Compares the text under a heading of docs/format.md, up to the next heading, with bytes and words that it must have.
fn compare_with_the_page(heading: &str, bytes: &[u8], words: &[String]) {
    let text = std::str::from_utf8(bytes).unwrap();
    let page = std::fs::read_to_string(PAGE).unwrap();
    let heading = format!("### {heading}\n");
    let (before, rest) = page.split_once(&heading).unwrap();
    let (old, after) = rest.split_once("\n### ").unwrap();
    let (lead, shown) = old.split_once("```text\n").unwrap();
    let (shown, tail) = shown.split_once("```\n").unwrap();
    if std::env::var_os("SCDA_UPDATE").is_some() {
        let new = format!("{before}{heading}{lead}```text\n{text}```\n{tail}\n### {after}");
        std::fs::write(PAGE, new).unwrap();
    }
    assert_eq!(shown, text, "with SCDA_UPDATE=1, this test writes it; mend the offsets in the text");
    words.iter().for_each(|words| assert!(old.contains(words), "{words}"));
}

#[test]
fn the_page_on_the_format_shows_the_bytes() {
    let file = example();
    let seal = last_seal(&file);
    check_with_the_pure_functions(&file, LineBreak::Unix);
    let with_anchors = example_with_anchors();
    check_with_the_pure_functions(&with_anchors, LineBreak::Unix);
    let index = last_seal(&with_anchors);
    let header = with_anchors.windows(7).position(|bytes| bytes == b"V runs ").unwrap();
    let runs = header + 96 + 32 * 8193;
    let anchors = with_anchors.windows(16).position(|bytes| bytes == b"A scda anchors 0").unwrap();
    for (number, element) in [(0, 4096), (1, 8192)] {
        let expected = entry('O', (runs + element) as u64, LineBreak::Unix);
        assert_eq!(with_anchors[anchors + 128 + 32 * number..][..32], expected);
    }
    compare_with_the_page(
        "An example",
        &file,
        &[
            format!("{} index, {} seal", seal.index, seal.offset()),
            format!("P = {} and N = 5", seal.offset()),
            format!("begins at {}", seal.length),
        ],
    );
    compare_with_the_page(
        "An example with anchors",
        &with_anchors[anchors..index.index as usize],
        &[format!("begin at byte {runs},")],
    );
}

#[test]
fn the_pure_functions_and_the_reader_in_python_agree() {
    let folder = tempfile::tempdir().unwrap();
    for (line_break, elements) in
        [(LineBreak::Unix, 8193), (LineBreak::Mime, 4097), (LineBreak::Mime, 4096), (LineBreak::Unix, 0)]
    {
        let (file, first) = all_kinds(line_break, elements);
        check_with_the_pure_functions(&file, line_break);
        let path = folder.path().join("file.scda");
        std::fs::write(&path, &file).unwrap();
        let (is_good, text) = python(&["scda_seal.py", path.to_str().unwrap()]);
        assert!(
            is_good && text.contains(&format!("sealed, 7 sections, {} bytes of {0}", file.len())),
            "{text}"
        );
        assert!(text.contains(&format!("A b'a\\x00' {elements} 4 compressed")) || elements == 0, "{text}");

        // A torn tail, whatever it is, is told from what is sealed.
        std::fs::write(&path, &file[..file.len() - 32]).unwrap();
        let (is_good, text) = python(&["scda_seal.py", path.to_str().unwrap()]);
        assert!(!is_good && text.contains("not sealed"), "{text}");
        let (is_good, text) = python(&["scda_seal.py", "--torn", path.to_str().unwrap()]);
        let words = format!("sealed, 4 sections, {} bytes of {}", first + SEAL_BYTES as u64, file.len() - 32);
        assert!(is_good && text.contains(&words), "{text}");
    }
}

#[test]
fn the_parts_of_a_seal_may_have_different_line_breaks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.scda");
    let is_sealed = |file: &[u8]| {
        std::fs::write(&path, file).unwrap();
        let (is_good, text) = python(&["scda_seal.py", path.to_str().unwrap()]);
        let mut params: ReadOptions = options();
        params.verify = true;
        let opened = Reader::open(Solo, &path, &params);
        assert_eq!(opened.is_ok(), is_good, "{text}");
        is_good
    };
    let (mut file, _) = all_kinds(LineBreak::Unix, 2);
    let seal = last_seal(&file);
    let (index, at) = (seal.index as usize, seal.offset() as usize);
    // Of the rows, each line ends with another pair of bytes; the block is one of the other kind.
    let rows = index + 128..at - 32;
    for (number, row) in file[rows].chunks_mut(ROW_BYTES).enumerate() {
        for (line, end) in [64, ROW_BYTES].into_iter().enumerate() {
            row[end - 2..end].copy_from_slice([b"-\n", b"\r\n", b"xy"][(number + line) % 3]);
        }
    }
    let seal = seal.with_crc(crc::of(&file[index..at]), LineBreak::Mime);
    file[at..].copy_from_slice(&seal.bytes(LineBreak::Mime));
    assert!(is_sealed(&file));
    // One line of the block, under the checksum.
    file[at + 62..at + 64].copy_from_slice(b"-\n");
    let crc = Seal::crc_of(crc::of(&file[index..at]), file[at..].first_chunk().unwrap());
    file[at + 224..at + 256].copy_from_slice(&entry('C', crc, LineBreak::Mime));
    assert!(!is_sealed(&file));
}

#[test]
fn the_reader_in_python_finds_every_flipped_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.scda");
    let (file, _) = all_kinds(LineBreak::Unix, 2);
    std::fs::write(&path, &file).unwrap();
    let program = "
import sys, zlib, scda_seal
data = bytearray(open(sys.argv[1], 'rb').read())
scda_seal.check(bytes(data), False)
found = 0
for place in range(len(data)):
    data[place] ^= 1 << place % 8
    try:
        scda_seal.check(bytes(data), False)
    except (scda_seal.Bad, ValueError, zlib.error):
        found += 1
    data[place] ^= 1 << place % 8
print(len(data), found)";
    let (is_good, text) = python(&["-c", program, path.to_str().unwrap()]);
    assert!(is_good && text.trim() == format!("{0} {0}", file.len()), "{text}");
}
