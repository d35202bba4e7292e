//! What a seal and its index say.

use crate::common::seal::{entry, padding};
use crate::naive;
use scda::LineBreak;
use scda_format::index::{
    INDEX, ROW_BYTES, Row, parse_crc_tail, parse_table_header, row_of_sorted, sort_rows,
};
use scda_format::names::{End, NAME_BYTES, Name, SealRow};
use scda_format::seal::{SEAL_BYTES, Seal};

/// The end of the input as a seal, what is before it as its index; all of it as rows and as ends of anchors.
pub fn seals(input: &[u8]) {
    let rows = |bytes: &[u8]| -> Vec<Row> {
        bytes.as_chunks::<ROW_BYTES>().0.iter().filter_map(check_row).collect()
    };
    for row in input.windows(ROW_BYTES).step_by(32) {
        check_row(row.try_into().unwrap());
    }
    for row in input.windows(NAME_BYTES).step_by(32) {
        check_names(row.try_into().unwrap());
    }
    for end in input.windows(NAME_BYTES + 32).step_by(32) {
        check_end(end.try_into().unwrap());
    }
    for tail in input.windows(64).step_by(32) {
        let crc = naive::count(&tail[..32], b'C').filter(|&crc| {
            STYLES.iter().any(|&style| [entry('C', crc, style), padding(false, style)].concat() == tail)
        });
        assert_eq!(parse_crc_tail(tail.try_into().unwrap(), 1 << 40).ok(), crc);
    }
    let Some((before, bytes)) = input.split_last_chunk::<SEAL_BYTES>() else { return };
    let numbers: Option<Vec<u64>> =
        (0..5).map(|i| naive::count(&bytes[96 + 32 * i..][..32], b"IPNLC"[i])).collect();
    let says = numbers.as_ref().map_or(0, |numbers| numbers[3].wrapping_sub(SEAL_BYTES as u64));
    for offset in [before.len() as u64, says, says.wrapping_add(32)] {
        let seal = Seal::parse(bytes, offset);
        let found = seal.map(|seal| vec![seal.index, seal.previous, seal.sections, seal.length, seal.crc]);
        assert_eq!(found, numbers.clone().filter(|numbers| is_seal(numbers, bytes, offset)));
        let Some(seal) = seal else { continue };
        assert_eq!(seal.offset(), offset);
        assert!(STYLES.iter().any(|&style| seal.bytes(style) == *bytes));
        let table = usize::try_from(seal.index).ok().and_then(|index| before.get(index..));
        let Some((header, table)) = table.and_then(|table| table.split_first_chunk()) else { continue };
        if parse_table_header(header, INDEX, ROW_BYTES) == Some(seal.rows()) {
            let mut rows = rows(table);
            sort_rows(&mut rows).unwrap();
            let sorted: Vec<_> = rows.iter().map(|row| &rows[row_of_sorted(row.sorted) as usize]).collect();
            let name = |row: &Row| (row.section.is_some(), row.hash(), row.user.to_vec());
            assert!(sorted.windows(2).all(|pair| name(pair[0]) <= name(pair[1])));
        }
    }
}

const STYLES: [LineBreak; 2] = [LineBreak::Unix, LineBreak::Mime];

/// Whether these bytes, which have these numbers, are a seal at an offset.
fn is_seal(numbers: &[u64], bytes: &[u8], offset: u64) -> bool {
    let written = |style| {
        let entries =
            numbers.iter().zip("IPNLC".chars()).map(|(&number, letter)| entry(letter, number, style));
        let data: Vec<u8> = entries.flatten().collect();
        let mut line = format!("B scda seal 00 {}", "-".repeat(47)).into_bytes();
        line.extend(if style == LineBreak::Unix { b"-\n" } else { b"\r\n" });
        [line, entry('E', 160, style), data, padding(false, style)].concat()
    };
    let numbers: Vec<u128> = numbers.iter().map(|&number| u128::from(number)).collect();
    let &[index, previous, sections, length, _] = &numbers[..] else { unreachable!() };
    let offset = u128::from(offset);
    let rows = offset.checked_sub(index + 160).filter(|bytes| bytes % 160 == 0).map(|bytes| bytes / 160);
    let is_in_place = previous + 288 == index || (previous + 288 < index && rows > Some(0));
    let follows = previous % 32 == 0 && is_in_place && rows <= Some(sections);
    STYLES.iter().any(|&style| written(style) == bytes)
        && length == offset + 288
        && length < 1 << 63
        && index % 32 == 0
        && 128 + 96 * sections <= index
        && rows.is_some()
        && if previous == 0 { rows == Some(sections + 1) } else { follows }
}

/// A row of a table of names, of a section or of a seal, as the naive way reads it.
fn check_names(bytes: &[u8; NAME_BYTES]) {
    let numbers = |letters: &str, from: usize| -> Option<Vec<u64>> {
        let entries = bytes[from..].chunks(32).zip(letters.bytes());
        entries.map(|(entry, letter)| naive::count(entry, letter)).collect()
    };
    let line = naive::undash(&bytes[2..64]).filter(|_| b"IBAV".contains(&bytes[0]) && bytes[1] == b' ');
    let name = Name::parse(bytes, 1 << 40).ok().map(|name| (name.user.to_vec(), vec![name.number]));
    assert_eq!(name, line.zip(numbers("N", 64)), "{}", bytes.escape_ascii());
    let seal = SealRow::parse(bytes, 1 << 40).ok().map(|row| vec![row.offset, row.sections, row.crc]);
    assert_eq!(seal, numbers("ONC", 0), "{}", bytes.escape_ascii());
}

/// The end of a table of names, as the naive way reads it.
fn check_end(bytes: &[u8; NAME_BYTES + 32]) {
    let [seal, seals, crc] =
        [(0, b'K'), (32, b'S'), (64, b'C')].map(|(at, letter)| naive::count(&bytes[at..at + 32], letter));
    for rows in [0, 18, 300, 1 << 20] {
        let is_end = seals.is_some_and(|seals| {
            (1..16).any(|power| seals == 16_u64.pow(power))
                && seal.is_some_and(|seal| seal > 0 && seal % seals == 0)
                && seals + 1 < rows
                && rows - 1 - seals <= 1 << 18
        });
        let is_tail = crc.is_some_and(|crc| {
            STYLES
                .iter()
                .any(|&style| [entry('C', crc, style), padding(false, style)].concat() == bytes[64..])
        });
        let found = End::parse(bytes, 1 << 40, rows).ok();
        let found = found.map(|end| [end.seal, end.seals, end.crc]);
        let expected = seal.zip(seals).zip(crc).map(|((seal, seals), crc)| [seal, seals, crc]);
        assert_eq!(found, expected.filter(|_| is_end && is_tail), "{}", bytes.escape_ascii());
    }
}

/// A row, if these bytes are one; which the naive way says, too.
fn check_row(bytes: &[u8; ROW_BYTES]) -> Option<Row> {
    let begin = begin_of(bytes);
    for begin in [0, 32, begin.unwrap_or(128)] {
        let found = Row::parse(bytes, begin, 1 << 40).ok();
        assert_eq!(found.is_some(), is_row(bytes, begin), "{}", bytes.escape_ascii());
    }
    let row = Row::parse(bytes, begin?, 1 << 40).ok()?;
    assert_eq!(Row::parse_end(bytes), Some(row.end()));
    assert_eq!(*row.user, naive::undash(&bytes[2..64])?);
    let mut again = [0; ROW_BYTES];
    row.put(&mut again, LineBreak::Unix);
    // All but the line breaks, of which any is taken.
    let is_break = |at: usize| [62, 63, 158, 159].contains(&at);
    assert!((0..ROW_BYTES).all(|at| is_break(at) || again[at] == bytes[at]));
    assert_eq!(Row::parse(&again, row.offset, 0).ok(), Some(row));
    Some(row)
}

/// The numbers of these bytes, `L`, `N`, `E` and others, if they have the form of a row; the fewest bytes of the section, and whether it has
/// no more.
fn row_of(bytes: &[u8; ROW_BYTES]) -> Option<([u128; 3], u128, bool)> {
    let is_plain = bytes[102] != b'U';
    let line = std::str::from_utf8(&bytes[64..158]).ok()?;
    let words: Vec<&str> = line.split(' ').collect();
    let letters = ["L", "N", if is_plain { "E" } else { "U" }, "C", "S"];
    let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let is_number = |text: &str| text.len() == 16 && text.chars().all(is_digit);
    let is_form = words.len() == 10
        && words.iter().step_by(2).zip(letters).all(|(word, letter)| *word == letter)
        && words.iter().skip(1).step_by(2).all(|word| is_number(word));
    if !is_form || bytes[1] != b' ' || naive::undash(&bytes[2..64]).is_none() {
        return None;
    }
    let number = |at: usize| u128::from_str_radix(words[at], 16).unwrap();
    let numbers @ [end, n, e] = [1, 3, 5].map(number);
    let padded = |bytes: u128| naive::padding(bytes) + bytes;
    let least = match (char::from(bytes[0]), is_plain) {
        ('F', true) if (n, e) == (0, 0) => {
            if end == 576 {
                576
            } else {
                128
            }
        }
        ('I', true) if (n, e) == (0, 32) => 96,
        ('B', true) if n == 0 => 96 + padded(e),
        ('A', true) => 128 + padded(n * e),
        ('V', true) => 96 + 32 * n + padded(e),
        ('B', false) if n == 0 => 96 + 96 + padded(0),
        ('A', false) => 96 + 96 + 32 * n + padded(0),
        ('V', false) => 128 + padded(32 * n) + 96 + 32 * n + padded(0),
        _ => return None,
    };
    Some((numbers, least, is_plain))
}

/// Where the section of this row begins at most.
fn begin_of(bytes: &[u8; ROW_BYTES]) -> Option<u64> {
    let ([end, ..], least, _) = row_of(bytes)?;
    u64::try_from(end.checked_sub(least)?).ok()
}

/// Whether these bytes are a row whose numbers agree, of a section that begins here.
fn is_row(bytes: &[u8; ROW_BYTES], begin: u64) -> bool {
    let begin = u128::from(begin);
    row_of(bytes).is_some_and(|([end, ..], least, is_plain)| {
        let fits = if is_plain { end == begin + least } else { end >= begin + least };
        fits && end % 32 == 0 && begin % 32 == 0 && end < 1 << 63 && (bytes[0] != b'F' || begin == 0)
    })
}
