//! Seals a file in memory, the naive way: every section is read again, and rows are text. From docs/format.md.

use super::options;
use scda::{LineBreak, ReadOptions, Reader, SectionType, Solo};
use scda_format::crc;

/// Text padded to 64 or 32 bytes, as that of a section or entry.
fn line(text: &[u8], length: usize, style: LineBreak) -> Vec<u8> {
    let end: &[u8] = if style == LineBreak::Unix { b"-\n" } else { b"\r\n" };
    [text, b" ", &vec![b'-'; length - text.len() - 3], end].concat()
}

/// A number and its letter.
pub fn entry(letter: char, value: u64, style: LineBreak) -> Vec<u8> {
    line(format!("{letter} {value}").as_bytes(), 32, style)
}

fn header(letter: char, user: &[u8], style: LineBreak) -> Vec<u8> {
    line(&[format!("{letter} ").as_bytes(), user].concat(), 64, style)
}

/// The padding of data that fill a multiple of 32 bytes.
pub fn padding(is_empty: bool, style: LineBreak) -> Vec<u8> {
    let (first, last) = if style == LineBreak::Unix { ("\n=", "\n\n") } else { ("\r\n", "\r\n\r\n") };
    let first = if is_empty { first } else { "==" };
    format!("{first}{}{last}", "=".repeat(30 - last.len())).into_bytes()
}

/// The file with the vendor string of one that was created to be sealed.
#[allow(dead_code)] // not every test needs it
pub fn marked(file: &[u8], style: LineBreak) -> Vec<u8> {
    marked_by(concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR")), file, style)
}

/// The same, by this version of the library.
#[allow(dead_code)] // not every test needs it
pub fn marked_by(version: &str, file: &[u8], style: LineBreak) -> Vec<u8> {
    let start = line(format!("scdata0 libscda {version} sealed").as_bytes(), 32, style);
    [&start, &file[32..]].concat()
}

fn number(entry: &[u8]) -> u64 {
    std::str::from_utf8(entry).unwrap().split(' ').nth(1).unwrap().parse().unwrap()
}

/// By which user strings are sorted.
fn hash(user: &[u8]) -> u64 {
    crc::of(user) >> 32
}

/// Rows without their last number, and what they are sorted by.
struct Table {
    rows: Vec<(bool, Vec<u8>, Vec<u8>)>,
    anchors: Vec<u64>,
}

impl Table {
    #[allow(clippy::too_many_arguments)] // what a row has
    fn add(
        &mut self,
        file: &[u8],
        kind: char,
        user: &[u8],
        at: [u64; 2],
        n: u64,
        letter: char,
        e: u64,
        style: LineBreak,
    ) {
        let bytes = &file[at[0] as usize..at[1] as usize];
        let numbers = [('L', at[1]), ('N', n), (letter, e), ('C', crc::of(bytes))];
        let numbers: String =
            numbers.iter().map(|(letter, value)| format!("{letter} {value:016x} ")).collect();
        self.rows.push((kind != 'F', user.to_vec(), [header(kind, user, style), numbers.into()].concat()));
    }
}

/// The file with a seal for the sections after the previous one, which is at this offset, or 0. Sections before it are
/// not read; seals among the others are taken for sections.
pub fn sealed(file: &[u8], previous: u64, style: LineBreak) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, file).unwrap();
    let mut params: ReadOptions = options();
    params.raw = true;
    let mut reader = Reader::open(Solo, &path, &params).unwrap();
    let (mut table, mut sections) = (Table { rows: Vec::new(), anchors: Vec::new() }, 0);
    if previous == 0 {
        let has_room = file[128..].starts_with(b"B scda hdf5 00 ");
        let end = if has_room { 576 } else { 128 };
        table.add(file, 'F', &reader.header().user, [0, end], 0, 'E', 0, style);
        reader.seek(end).unwrap();
    } else {
        sections = number(&file[previous as usize + 160..][..32]);
        reader.seek(previous + 288).unwrap();
    }
    while let Some(section) = reader.next_section(true).unwrap() {
        let mut size = section.size;
        match section.section_type {
            SectionType::Inline => size = 32,
            SectionType::Varray => {
                let mut sizes = vec![0; section.count as usize];
                reader.read_varray_sizes(&[section.count], Some(&mut sizes)).unwrap();
                size = sizes.iter().sum();
            }
            _ => {}
        }
        reader.skip().unwrap();
        let letter = char::from(section.section_type.letter());
        let at = [section.offset, reader.position().unwrap()];
        let (n, e) = (section.count, if section.decoded { 'U' } else { 'E' });
        table.add(file, letter, &section.user, at, n, e, size, style);
        sections += 1;
        if letter == 'V' || (letter == 'A' && section.decoded) {
            let mut place = section.data_offset;
            for k in 0..n {
                if k > 0 && k % 4096 == 0 {
                    table.anchors.push(place);
                }
                place += number(&file[(section.data_offset - 32 * (n - k)) as usize..][..32]);
            }
        }
    }
    let mut order: Vec<_> = table
        .rows
        .iter()
        .enumerate()
        .map(|(i, (is_section, user, _))| (is_section, if *is_section { hash(user) } else { 0 }, user, i))
        .collect();
    order.sort();
    let rows: Vec<_> = table
        .rows
        .iter()
        .zip(order)
        .map(|((.., row), (_, hash, _, i))| {
            let end = if style == LineBreak::Unix { "-\n" } else { "\r\n" };
            [row.clone(), format!("S {hash:08x}{i:08x}{end}").into()].concat()
        })
        .collect();

    let mut all = file.to_vec();
    let end_with_crc = |all: &mut Vec<u8>, start: usize| {
        let crc = crc::of(&all[start..]);
        all.extend([entry('C', crc, style), padding(false, style)].concat());
    };
    if !table.anchors.is_empty() {
        let n = table.anchors.len() as u64 + 1;
        all.extend(
            [header('A', b"scda anchors 00", style), entry('N', n, style), entry('E', 32, style)].concat(),
        );
        table.anchors.iter().for_each(|&anchor| all.extend(entry('O', anchor, style)));
        end_with_crc(&mut all, file.len());
    }
    let names = names(file, previous, &table, sections, style);
    if !names.is_empty() {
        let start = all.len();
        all.extend(names);
        end_with_crc(&mut all, start);
    }
    let index = all.len();
    let head =
        [header('A', b"scda index 00", style), entry('N', rows.len() as u64, style), entry('E', 160, style)];
    all.extend([head.concat(), rows.concat(), padding(rows.is_empty(), style)].concat());
    let length = all.len() as u64 + 288;
    let entries = [('E', 160), ('I', index as u64), ('P', previous), ('N', sections), ('L', length)];
    all.extend(header('B', b"scda seal 00", style));
    entries.iter().for_each(|&(letter, value)| all.extend(entry(letter, value, style)));
    end_with_crc(&mut all, index);
    all
}

/// The table of names of the next seal without its last entry, if it has one: after this seal, with these rows and `sections`
/// sections in all.
fn names(file: &[u8], previous: u64, table: &Table, sections: u64, style: LineBreak) -> Vec<u8> {
    let entry_at = |at: u64| number(&file[at as usize..][..32]);
    // Offset, number of sections, checksum and index of each seal.
    let mut seals = vec![[0; 4]];
    let mut at = previous;
    while at > 0 {
        seals.insert(1, [at, entry_at(at + 160), entry_at(at + 224), entry_at(at + 96)]);
        at = entry_at(at + 128);
    }
    let (seal, mut span) = (seals.len(), 1);
    while seal.is_multiple_of(16 * span) && sections - seals[seal - 16 * span][1] <= 1 << 18 {
        span *= 16;
    }
    if span == 1 {
        return Vec::new();
    }
    let first = seals[seal - span][1];
    let mut rows: Vec<(char, Vec<u8>)> = Vec::new();
    for &[offset, .., index] in &seals[seal - span + 1..] {
        for row in file[index as usize + 128..offset as usize - 32].chunks(160) {
            let text = &row[2..62];
            let end = text.iter().rposition(|&byte| byte != b'-').unwrap();
            rows.push((row[0].into(), text[..end].to_vec()));
        }
    }
    rows.retain(|(kind, _)| *kind != 'F');
    for (is_section, user, row) in &table.rows {
        if *is_section {
            rows.push((row[0].into(), user.clone()));
        }
    }
    let mut rows: Vec<_> =
        rows.into_iter().zip(first..).map(|((kind, user), n)| (hash(&user), user, n, kind)).collect();
    rows.sort();
    let count = (span + rows.len() + 1) as u64;
    let mut bytes = header('A', b"scda names 00", style);
    bytes.extend([entry('N', count, style), entry('E', 96, style)].concat());
    for [offset, sections, crc, _] in &seals[seal - span..] {
        let entries = [('O', offset), ('N', sections), ('C', crc)];
        entries.iter().for_each(|&(letter, value)| bytes.extend(entry(letter, *value, style)));
    }
    for (_, user, n, kind) in rows {
        bytes.extend([header(kind, &user, style), entry('N', n, style)].concat());
    }
    bytes.extend([entry('K', seal as u64, style), entry('S', span as u64, style)].concat());
    bytes
}
