//! Proofs about the parsers of headers, entries, rows and seals, for every value of every byte of a field:
//! they never panic (arithmetic overflow and indices out of bounds included), accept exactly what the paper's
//! rules accept, and what is parsed, written and parsed again is the same.

use super::dataset::additions::{later_of, later_user, rows_of, rows_user};
use super::entry::{CountFormat, parse_count, parse_counts};
use super::header::{
    SectionType, UserString, file_header, parse_file_header, parse_section_header, put_section_header,
};
use super::index::{
    CRC_TAIL_BYTES, INDEX, ROW_BYTES, Row, crc_tail, parse_crc_tail, parse_table_header, table_header,
};
use super::layout::MAX_OFFSET;
use super::names::{End, Name, SealRow, Table, table};
use super::padding::LineBreak;
use super::seal::Seal;
use super::streams::{StreamPart, bytes_entry};
use super::{COUNT_BYTES, FILE_HEADER_BYTES, SECTION_HEADER_BYTES};
use scda_base::error::{Error, ErrorKind};
use std::cell::Cell;

const STYLES: [LineBreak; 2] = [LineBreak::Unix, LineBreak::Mime];
const KINDS: [SectionType; 4] =
    [SectionType::Inline, SectionType::Block, SectionType::Array, SectionType::Varray];
/// Bytes that mean something to a parser, and their neighbours.
const BYTES: &[u8] = b"\0\n\r -.019:AEFNUz\xff";

/// Calls with the bytes and, for each place, with each other byte there.
fn with_each_byte<const N: usize>(bytes: &[u8; N], mut call: impl FnMut(&[u8; N])) {
    let mut changed = *bytes;
    for place in 0..N {
        for byte in 0..=255 {
            changed[place] = byte;
            call(&changed);
        }
        changed[place] = bytes[place];
    }
}

/// Calls with each two bytes that mean something, at each two places.
fn with_two_bytes<const N: usize>(bytes: &[u8; N], mut call: impl FnMut(&[u8; N])) {
    let mut changed = *bytes;
    for second in 0..N {
        for first in 0..second {
            for &byte in BYTES {
                changed[first] = byte;
                for &byte in BYTES {
                    changed[second] = byte;
                    call(&changed);
                }
                changed[second] = bytes[second];
            }
            changed[first] = bytes[first];
        }
    }
}

/// The content of a field, read from its end: two bytes, dashes, a space.
fn plain_content(field: &[u8]) -> Option<&[u8]> {
    let mut end = field.len() - 2;
    while end > 0 && field[end - 1] == b'-' {
        end -= 1;
    }
    (end + 2 < field.len() && end > 0 && field[end - 1] == b' ').then(|| &field[..end - 1])
}

/// The number in an entry.
fn plain_count(entry: &[u8; COUNT_BYTES], letter: u8) -> Result<u64, ErrorKind> {
    let text = plain_content(&entry[2..]).and_then(|text| str::from_utf8(text).ok()).unwrap_or("");
    let is_number = entry[0] == letter && entry[1] == b' ' && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        _ if !is_number || text.is_empty() || text.len() > 1 && text.starts_with('0') => {
            Err(ErrorKind::Format)
        }
        Ok(number) => Ok(number),
        Err(_) => Err(ErrorKind::Range),
    }
}

/// Numbers of each number of digits.
fn numbers() -> impl Iterator<Item = u64> {
    let tens = (0..20).map(|digits| 10_u64.pow(digits));
    tens.flat_map(|ten| [ten - 1, ten, 7 * (ten / 4)]).chain([u64::MAX])
}

#[test]
fn each_entry_is_parsed_as_by_the_plain_rules() {
    let check = |entry: &[u8; COUNT_BYTES]| {
        let found = parse_count(entry, b'N');
        assert_eq!(
            found.as_ref().copied().map_err(Error::kind),
            plain_count(entry, b'N'),
            "{}",
            entry.escape_ascii()
        );
        if let Ok(number) = found {
            let written = CountFormat::new(b'N', LineBreak::Unix).entry(number);
            assert_eq!((&written[..30], parse_count(&written, b'N').unwrap()), (&entry[..30], number));
        }
    };
    for number in numbers() {
        for style in STYLES {
            with_each_byte(&CountFormat::new(b'N', style).entry(number), check);
        }
    }
    for number in [0, 12_345_678, 1_234_567_890, u64::MAX] {
        with_two_bytes(&CountFormat::new(b'N', LineBreak::Unix).entry(number), check);
    }
}

#[test]
fn the_number_of_an_entry_tells_where_an_error_is() {
    let mut entries = Vec::new();
    CountFormat::new(b'E', LineBreak::Unix).append(&[5, 6, 7], &mut entries);
    let parse = |entries: &[u8]| {
        let mut found = Vec::new();
        let result = parse_counts(entries, b'E', 1000, |index, value| {
            found.push((index, value));
            if value == 9 { Err(Error::argument("nine")) } else { Ok(()) }
        });
        (found, result.map_err(|error| error.offset()))
    };
    assert_eq!(parse(&entries), (vec![(0, 5), (1, 6), (2, 7)], Ok(())));
    entries[COUNT_BYTES + 2] = b'9';
    assert_eq!(parse(&entries), (vec![(0, 5), (1, 9)], Err(Some(1032))));
    entries[2] = b'x';
    assert_eq!(parse(&entries), (vec![], Err(Some(1000))));
}

/// The short way to write and read a number is right for all that it takes.
#[test]
#[ignore = "10^8 numbers: scripts/long.sh"]
fn all_numbers_of_eight_digits_come_back() {
    let format = CountFormat::new(b'N', LineBreak::Unix);
    let mut plain = *b"N 00000000 -------------------\0\n";
    for number in 0..100_000_000_u64 {
        let (mut rest, mut place) = (number, 9);
        while rest > 0 || place == 9 {
            plain[place] = b'0' + (rest % 10) as u8;
            (rest, place) = (rest / 10, place - 1);
        }
        let digits = 9 - place;
        let entry = format.entry(number);
        assert!(entry[2..2 + digits] == plain[10 - digits..10] && entry[2 + digits] == b' ', "{number}");
        assert!(entry[3 + digits..31].iter().all(|&byte| byte == b'-'), "{number}");
        assert_eq!(parse_count(&entry, b'N').unwrap(), number);
    }
}

#[test]
fn each_section_header_is_parsed_as_by_the_plain_rules() {
    let check = |header: &[u8; SECTION_HEADER_BYTES]| {
        let found = parse_section_header(header).ok();
        let kind = KINDS.into_iter().find(|kind| kind.letter() == header[0]);
        let plain = kind.filter(|_| header[1] == b' ').zip(plain_content(&header[2..]));
        assert_eq!(found.as_ref().map(|(kind, user)| (*kind, &**user)), plain, "{}", header.escape_ascii());
        if let Some((kind, user)) = found {
            let mut written = [0; SECTION_HEADER_BYTES];
            put_section_header(&mut written, kind, &user, LineBreak::Mime);
            assert_eq!(written[..62], header[..62]);
            assert_eq!(parse_section_header(&written).unwrap(), (kind, user));
        }
    };
    let mut header = [0; SECTION_HEADER_BYTES];
    for style in STYLES {
        for length in 0..=58 {
            for byte in 0..=255 {
                put_section_header(&mut header, SectionType::Array, &vec![byte; length], style);
                check(&header);
            }
        }
        for (kind, user) in KINDS.into_iter().zip([&b""[..], b"u", b"a - b -- ", &[b'-'; 58]]) {
            put_section_header(&mut header, kind, user, style);
            with_each_byte(&header, check);
        }
    }
    put_section_header(&mut header, SectionType::Block, b"two words", LineBreak::Unix);
    with_two_bytes(&header, check);
}

#[test]
fn each_file_header_is_parsed_as_by_the_plain_rules() {
    let check = |header: &[u8; FILE_HEADER_BYTES]| {
        let found = parse_file_header(header).ok();
        let (vendor, user) = (plain_content(&header[8..32]), plain_content(&header[34..96]));
        let plain = vendor.zip(user).filter(|_| header.starts_with(b"scdata0 ") && header[32..34] == *b"F ");
        assert_eq!(found.as_ref().map(|found| (&*found.vendor, &*found.user)), plain);
        if let Some(found) = found {
            let written = file_header(&found.vendor, &found.user, LineBreak::Unix);
            assert_eq!((&written[..30], &written[32..94]), (&header[..30], &header[32..94]));
        }
    };
    for style in STYLES {
        for length in 0..=20 {
            for byte in 0..=255 {
                check(&file_header(&vec![byte; length], &vec![byte; length + 38], style));
            }
        }
        with_each_byte(&file_header(b"libscda sealed", b"state", style), check);
    }
}

fn row(kind: Option<SectionType>, is_compressed: bool, count: u64, size: u64) -> Row {
    let user = UserString::new(b"velocity").unwrap();
    let offset = if kind.is_some() { 128 } else { 0 };
    let row = Row { section: kind, user, is_compressed, offset, bytes: 0, count, size, crc: 77, sorted: 3 };
    let bytes = row.data_section(96).map_or(128, |section| section.end - offset);
    Row { bytes, ..row }
}

#[test]
fn each_row_of_the_index_that_is_accepted_ends_in_the_file_and_comes_back() {
    let (mut accepted, mut bytes, begin) = (0, [0; ROW_BYTES], Cell::new(0));
    let mut check = |bytes: &[u8; ROW_BYTES]| {
        let Ok(row) = Row::parse(bytes, begin.get(), MAX_OFFSET - 1000) else { return };
        assert!(row.end() <= MAX_OFFSET && row.end() == row.offset + row.bytes && row.end() > row.offset);
        assert!(row.first_of_pair().is_none_or(|first| first.start == row.offset && first.end < row.end()));
        let data = row.data_section(0);
        assert!(
            data.is_none_or(|data| data.end <= row.end() && data.start >= row.offset),
            "{row:?}: {data:?}"
        );
        let mut written = [0; ROW_BYTES];
        row.put(&mut written, LineBreak::Unix);
        assert_eq!(Row::parse(&written, row.offset, 0).unwrap(), row);
        accepted += 1;
    };
    let all = [
        row(None, false, 0, 0),
        row(Some(SectionType::Inline), false, 0, 32),
        row(Some(SectionType::Block), false, 0, 1000),
        row(Some(SectionType::Block), true, 0, 1000),
        row(Some(SectionType::Array), false, 10_000, 8),
        row(Some(SectionType::Array), true, 10_000, 8),
        row(Some(SectionType::Varray), false, 5000, 12_345),
        row(Some(SectionType::Varray), true, 5000, 12_345),
    ];
    assert_eq!(all.map(|row| row.anchors()), [0, 0, 0, 0, 0, 2, 1, 1]);
    for row in all {
        row.put(&mut bytes, LineBreak::Unix);
        assert_eq!(Row::parse(&bytes, row.offset, 0).unwrap(), row);
        begin.set(row.offset);
        with_each_byte(&bytes, &mut check);
    }
    assert!(accepted > 8 * ROW_BYTES, "{accepted}");
}

#[test]
fn the_section_of_a_row_is_where_its_pair_has_the_data() {
    let array = |is_compressed| row(Some(SectionType::Array), is_compressed, 10, 8);
    let varray = |is_compressed| row(Some(SectionType::Varray), is_compressed, 10, 80);
    let block = |is_compressed| row(Some(SectionType::Block), is_compressed, 0, 80);
    let ends = |row: Row| {
        let section = row.data_section(500).unwrap();
        (section.start, section.entries, section.data, section.data_bytes)
    };
    assert_eq!(ends(array(false)), (128, 256, 256, 80));
    assert_eq!(ends(varray(false)), (128, 224, 544, 80));
    assert_eq!(ends(block(false)), (128, 224, 224, 80));
    // An inline section before them, or an array of sizes.
    assert_eq!(ends(array(true)), (224, 320, 640, 500));
    assert_eq!(ends(block(true)), (224, 320, 320, 500));
    let first = 64 + 64 + 10 * 32 + 32;
    assert_eq!(ends(varray(true)), (128 + first, 224 + first, 544 + first, 500));
}

#[test]
fn each_row_of_names_and_each_tail_that_is_accepted_comes_back() {
    let user = UserString::new(b"mesh").unwrap();
    let names = [Name { section: SectionType::Varray, user, number: 12 }];
    let seals = [SealRow { offset: 4096, sections: 31, crc: u64::MAX }];
    let text = table(1, &seals, &names, LineBreak::Unix).unwrap();
    let [seal, name] = [128, 224].map(|at| *text[at..].first_chunk::<96>().unwrap());
    assert_eq!(SealRow::parse(&seal, 0).unwrap(), seals[0]);
    assert_eq!(Name::parse(&name, 0).unwrap(), names[0]);
    let again = |seals: &[SealRow], names: &[Name]| {
        let text = table(1, seals, names, LineBreak::Unix).unwrap();
        *text[128..].first_chunk::<96>().unwrap()
    };
    with_each_byte(&seal, |bytes| {
        if let Ok(found) = SealRow::parse(bytes, 5) {
            assert_eq!(SealRow::parse(&again(&[found], &[]), 0).unwrap(), found);
        }
    });
    with_each_byte(&name, |bytes| match Name::parse(bytes, 5) {
        Ok(found) => assert_eq!(Name::parse(&again(&[], &[found]), 0).unwrap(), found),
        Err(error) => assert!([Some(5), Some(69)].contains(&error.offset()), "{error}"),
    });
    let mut accepted = 0;
    with_each_byte(&crc_tail(1234, LineBreak::Mime), |tail: &[u8; CRC_TAIL_BYTES]| {
        if let Ok(crc) = parse_crc_tail(tail, 0) {
            assert!(STYLES.iter().any(|&style| crc_tail(crc, style) == *tail));
            accepted += 1;
        }
    });
    assert!(accepted > CRC_TAIL_BYTES);
}

#[test]
fn an_error_in_the_end_of_a_table_is_where_it_is() {
    let names = [Name { section: SectionType::Block, user: UserString::EMPTY, number: 0 }];
    let text = table(16, &[SealRow::default(); 16], &names, LineBreak::Unix).unwrap();
    let mut end = *text.last_chunk().unwrap();
    assert_eq!(End::parse(&end, 1000, 18).unwrap().seals, 16);
    end[64] = b'x';
    assert_eq!(End::parse(&end, 1000, 18).unwrap_err().offset(), Some(1064));
    end[32] = b'x';
    assert_eq!(End::parse(&end, 1000, 18).unwrap_err().offset(), Some(1032));
}

#[test]
fn each_end_of_a_table_that_is_accepted_fits_its_rows_and_comes_back() {
    let names = [Name { section: SectionType::Block, user: UserString::EMPTY, number: 0 }];
    let (start, index) = (4096, 4096 + 128 + 18 * 96 + 32);
    let mut accepted = 0;
    for style in STYLES {
        let text = table(16, &[SealRow::default(); 16], &names, style).unwrap();
        let check = |bytes: &[u8; 128]| {
            let Ok(Table { rows, names, end }) = Table::parse(start, index, bytes) else { return };
            assert_eq!((rows, names, end.seals + names), (start + 128, 1, 17));
            assert!(end.seal > 0 && end.seal.is_multiple_of(end.seals));
            for (entry, letter, number) in [(&bytes[..30], b'K', end.seal), (&bytes[32..62], b'S', end.seals)]
            {
                assert_eq!(entry, &CountFormat::new(letter, style).entry(number)[..30]);
            }
            assert!(STYLES.iter().any(|&style| bytes.ends_with(&crc_tail(end.crc, style))));
            accepted += 1;
        };
        with_each_byte(text.last_chunk().unwrap(), check);
    }
    assert!(accepted > 2 * 4 * 255, "{accepted}");
}

/// As the proofs with each byte, with each two bytes that mean something.
#[test]
#[ignore = "3 · 10^7 texts: scripts/long.sh"]
fn each_two_bytes_of_rows_seals_and_file_headers_may_be_any() {
    let user = |text: &[u8]| UserString::new(text).unwrap();
    with_two_bytes(&file_header(b"libscda sealed", b"state", LineBreak::Unix), |header| {
        if let Ok(found) = parse_file_header(header) {
            let written = file_header(&found.vendor, &found.user, LineBreak::Unix);
            assert_eq!((&written[..30], &written[32..94]), (&header[..30], &header[32..94]));
        }
    });
    let seal = Seal { index: 2336, previous: 1024, sections: 12, length: 2336 + 160 + 320 + 288, crc: 9 };
    with_two_bytes(&seal.bytes(LineBreak::Unix), |bytes| {
        if let Some(found) = Seal::parse(bytes, seal.offset()) {
            assert!(STYLES.iter().any(|&style| found.bytes(style) == *bytes));
            assert!(found.rows() > 0 && found.index + 160 + 160 * found.rows() == found.offset());
        }
    });
    let mut bytes = [0; ROW_BYTES];
    for row in [
        Row { user: user(b"- a -"), ..row(Some(SectionType::Block), true, 0, 1000) },
        row(Some(SectionType::Varray), false, 5000, 12_345),
    ] {
        row.put(&mut bytes, LineBreak::Unix);
        with_two_bytes(&bytes, |bytes| {
            if let Ok(row) = Row::parse(bytes, row.offset, MAX_OFFSET - 1000) {
                assert!(
                    row.end() <= MAX_OFFSET && row.end() == row.offset + row.bytes && row.end() > row.offset
                );
                assert!(row.first_of_pair().is_none_or(|first| first.end < row.end()));
                assert!(row.data_section(0).is_none_or(|data| data.end <= row.end()));
            }
        });
    }
}

#[test]
fn what_readers_ask_of_headers_and_rows() {
    let mark = |vendor: &[u8]| {
        parse_file_header(&file_header(vendor, b"", LineBreak::Unix)).unwrap().has_seal_mark()
    };
    assert!(mark(b"libscda sealed") && !mark(b"libscda") && !mark(b"libscda sealed."));
    let user = |text: &[u8]| UserString::new(text).unwrap();
    assert!(user(b"a\n") < user(b"b") && format!("{:?}", user(b"a\n")) == "\"a\\n\"");
    assert_eq!(STYLES.map(LineBreak::in_base64), [*b"=\n", *b"\r\n"]);
    for kind in [None, Some(SectionType::Varray)] {
        let (row, mut bytes) = (row(kind, false, 0, 0), [0; ROW_BYTES]);
        row.put(&mut bytes, LineBreak::Unix);
        assert_eq!(Row::parse_name(&bytes).unwrap(), (kind, user(b"velocity")));
        bytes[1] = b'-';
        assert_eq!(Row::parse_name(&bytes).unwrap_err().kind(), ErrorKind::Format);
    }
}

#[test]
fn each_table_header_and_each_set_of_streams_that_is_accepted_comes_back() {
    let mut accepted = 0;
    // The last two bytes of a line may be any. (That of the header has 64 bytes, entries have 32.)
    let same = |written: &[u8], found: &[u8], is_header: bool| {
        let is_break = |at: usize| at % 32 >= 30 && !(is_header && at < 32);
        (0..written.len()).all(|at| is_break(at) || written[at] == found[at])
    };
    with_each_byte(&table_header(INDEX, 12, ROW_BYTES, LineBreak::Unix), |header| {
        if let Some(count) = parse_table_header(header, INDEX, ROW_BYTES) {
            assert!(same(&table_header(INDEX, count, ROW_BYTES, LineBreak::Unix), header, true));
            accepted += 1;
        }
    });
    let part = StreamPart { tasks: 12, chunk_bytes: 4096, part: 1 };
    let text = part.text(128, LineBreak::Unix).unwrap();
    with_each_byte::<96>(text.first_chunk().unwrap(), |text| match StreamPart::parse(text, 128) {
        Ok(found) => {
            let written = found.text(128, LineBreak::Mime).unwrap();
            assert!(same(&written[..96], text, false));
            accepted += 1;
        }
        Err(error) => assert!(error.offset().is_some_and(|at| (128..224).contains(&at)), "{error}"),
    });
    assert!(accepted > 12 * 255, "{accepted}");
}

#[test]
fn each_link_to_a_dataset_that_is_accepted_comes_back() {
    let mut accepted = 0;
    for (user, parse, format) in [
        (
            later_user(1696, "a/b"),
            later_of as fn(&[u8]) -> Option<(u64, &str)>,
            later_user as fn(u64, &str) -> String,
        ),
        (rows_user(1696, "ab/c"), rows_of, rows_user),
    ] {
        with_each_byte::<9>(user.as_bytes().first_chunk().unwrap(), |user| {
            if let Some((data, name)) = parse(user) {
                assert_eq!(format(data, name).as_bytes(), user);
                accepted += 1;
            }
        });
    }
    assert!(accepted > 255, "{accepted}");
}

#[test]
fn the_chunks_that_a_stream_takes() {
    let part = StreamPart { tasks: 3, chunk_bytes: 4096, part: 0 };
    assert_eq!([0, 1, 4096, 4097].map(|bytes| part.rounds(bytes)), [0, 1, 1, 2]);
    assert!([1, 1 << 30].into_iter().all(|bytes| StreamPart::check_chunk_bytes(bytes).is_ok()));
    assert_eq!(&bytes_entry(12, LineBreak::Unix)[..7], b"U 12 --");
}

#[test]
fn each_seal_that_is_accepted_is_written_so() {
    let seal = Seal { index: 2336, previous: 1024, sections: 12, length: 2336 + 160 + 320 + 288, crc: 9 };
    let mut accepted = 0;
    for style in STYLES {
        assert_eq!(Seal::parse(&seal.bytes(style), seal.offset()), Some(seal));
        with_each_byte(&seal.bytes(style), |bytes| {
            if let Some(found) = Seal::parse(bytes, seal.offset()) {
                assert!(STYLES.iter().any(|&style| found.bytes(style) == *bytes));
                assert_eq!((found.offset(), found.length), (seal.offset(), seal.length));
                assert!(found.rows() > 0 && found.index + 160 + 160 * found.rows() == found.offset());
                accepted += 1;
            }
        });
    }
    assert!(accepted > 288, "{accepted}");
}
