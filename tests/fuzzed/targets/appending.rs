//! Hostile files that are sealed, or nearly so: appending to them, and looking up what they have.

#![allow(clippy::cast_possible_wrap)] // test data

use super::Scratch;
use super::input::{Input, hash};
use super::reading::MEMORY_OF_A_RANK;
use crate::common::seal::entry;
use crate::common::{Rng, options};
use crate::memory;
use scda::{
    Encode, ErrorKind, LineBreak, ReadOptions, Reader, Result, SectionType, Sink, Solo, Source, WriteOptions,
    Writer, run_on_threads,
};
use scda_format::crc;
use scda_format::index::parse_table_header;
use scda_format::names::{NAME_BYTES, NAMES};
use scda_format::seal::{SEAL_BYTES, Seal};
use std::path::Path;
use std::sync::OnceLock;

/// Elements of the varray of the template: it has two anchors.
const ELEMENTS: u64 = 8200;

/// A file of two seals and a whole section after them, with repeated names and with anchors; and where its first table begins.
fn template() -> &'static (Vec<u8>, usize) {
    static FILE: OnceLock<(Vec<u8>, usize)> = OnceLock::new();
    FILE.get_or_init(|| {
        let scratch = Scratch::new();
        let mut params: WriteOptions = options();
        params.seal = true;
        let mut file = Writer::create(Solo, &scratch.0, b"template", &params).unwrap();
        let sizes: Vec<u64> = (0..ELEMENTS).map(|i| i % 3).collect();
        let data: Vec<u8> = (0..sizes.iter().sum()).map(|i: u64| (i % 250) as u8).collect();
        file.block(b"a", 0, 5, Some(b"first"), Encode::None).unwrap();
        file.varray(b"v", &[ELEMENTS], &sizes, None, Source::Contiguous(&data), Encode::None).unwrap();
        file.flush().unwrap();
        let tables = std::fs::metadata(&scratch.0).unwrap().len() as usize;
        file.commit().unwrap();
        for name in [&b"a"[..], b"b", b"a", b""] {
            file.array(name, &[8], 4, Source::Contiguous(&[b'x'; 32]), Encode::None).unwrap();
        }
        file.block(b"z", 0, 300, Some(&[b'z'; 300]), Encode::Always).unwrap();
        file.close().unwrap();
        let mut all = std::fs::read(&scratch.0).unwrap();
        let mut file = Writer::create(Solo, &scratch.0, b"", &options()).unwrap();
        file.inline(b"i", 0, Some(&[b'i'; 32])).unwrap();
        file.close().unwrap();
        all.extend_from_slice(&std::fs::read(&scratch.0).unwrap()[128..]);
        (all, tables)
    })
}

/// A file of 17 seals, of which one has a table of names; and where that begins.
fn many_seals() -> &'static (Vec<u8>, usize) {
    static FILE: OnceLock<(Vec<u8>, usize)> = OnceLock::new();
    FILE.get_or_init(|| {
        let scratch = Scratch::new();
        let mut params: WriteOptions = options();
        params.seal = true;
        let mut file = Writer::create(Solo, &scratch.0, b"many seals", &params).unwrap();
        for number in 0..17 {
            file.inline([&b"a"[..], b"b", b"v"][number % 3], 0, Some(&[b'i'; 32])).unwrap();
            file.commit().unwrap();
        }
        file.close().unwrap();
        let all = std::fs::read(&scratch.0).unwrap();
        let tables = all.windows(16).position(|text| text == b"A scda names 00 ").unwrap();
        (all, tables)
    })
}

/// The input as a file, or changes of a template: a number of bytes that are missing at its end, and a place and a byte
/// each. What has the form of a seal may get the checksum of what is there: a lie.
fn hostile(input: &[u8]) -> Vec<u8> {
    let mut input = Input(input);
    let how = input.byte();
    let mut file = input.0.to_vec();
    if how % 4 < 2 {
        let (template, tables) = if how < 224 { template() } else { many_seals() };
        file.clone_from(template);
        let cut = [0, 96, 96, input.below(3000)][input.below(4)];
        file.truncate(file.len() - cut);
        while !input.0.is_empty() {
            let far = input.below(8) == 0;
            let place = if far { input.below(65536) * 5 } else { tables - 300 + input.below(5000) };
            let end = file.len();
            file[place % end] = input.byte();
        }
    }
    if how % 2 == 0 {
        mend_names(&mut file);
        for at in (0..file.len().saturating_sub(SEAL_BYTES - 1)).step_by(32) {
            let Some(seal) = Seal::parse(file[at..].first_chunk().unwrap(), at as u64) else { continue };
            let index = crc::of(&file[seal.index as usize..at]);
            let mended = seal.with_crc(index, LineBreak::Unix).bytes(LineBreak::Unix);
            file[at..at + SEAL_BYTES].copy_from_slice(&mended);
        }
    }
    file
}

/// Gives what has the form of a table of names the checksum of what is there.
fn mend_names(file: &mut [u8]) {
    for at in (0..file.len()).step_by(32) {
        let Some(header) = file[at..].first_chunk() else { break };
        let Some(count) = parse_table_header(header, NAMES, NAME_BYTES) else { continue };
        let end = usize::try_from(count).ok().and_then(|count| count.checked_mul(NAME_BYTES));
        let Some(end) = end.and_then(|end| end.checked_add(at + 128)).filter(|&end| end <= file.len()) else {
            continue;
        };
        if end >= at + 128 + NAME_BYTES {
            let entry = entry('C', crc::of(&file[at..end - 32]), LineBreak::Unix);
            file[end - 32..end].copy_from_slice(&entry);
        }
    }
}

/// What may be wrong with a file.
fn is_of_file(kind: ErrorKind) -> bool {
    use ErrorKind::{Checksum, Decode, Format, Range, ShortFile, UnsupportedVersion};
    [Checksum, Decode, Format, Range, ShortFile, UnsupportedVersion].contains(&kind)
}

/// Appends to any bytes: they are refused and as they were, or what is before the new section is as it was, up to after the
/// last seal at least.
pub fn append(input: &[u8]) {
    let file = hostile(input);
    let seed = hash(input);
    let seed_bytes = seed.to_be_bytes();
    let mut choice = Input(&seed_bytes);
    let mut params: WriteOptions = options();
    choice.access(&mut params.tuning);
    let ranks = 1 + choice.below(3);
    (params.seal, params.atomic) = (choice.below(4) > 0, choice.below(4) == 0);
    let scratch = Scratch::with(&file);
    let append = |comm| -> Result<u64> {
        let mut writer = Writer::append(comm, &scratch.0, &params)?;
        writer.inline(b"appended", 0, Some(&[b'a'; 32]))?;
        let cut = writer.bytes_rolled_back();
        writer.close().map(|()| cut)
    };
    let (peak, results) = memory::peak(|| run_on_threads(ranks, append));
    let limit = ranks * (MEMORY_OF_A_RANK + (8 << 20) + 8 * file.len());
    assert!(peak <= limit, "{peak} bytes of memory for a file of {} on {ranks} ranks", file.len());
    let results: Vec<_> = results.into_iter().map(|result| result.map_err(|error| error.kind())).collect();
    assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
    let left = std::fs::read(&scratch.0).unwrap();
    match results[0] {
        Err(kind) => {
            // A torn header is that of a file that does not exist yet.
            let is_none = kind == ErrorKind::NoSuchFile && file.len() < 128;
            assert!(is_of_file(kind) || is_none, "{kind:?}");
            assert!(left == file, "refused and changed");
        }
        Ok(cut) => {
            let kept = file.len() - cut as usize;
            assert!(left[..kept] == file[..kept], "what was there has changed");
            // What had no seal may get one first.
            let is_sealed_first = params.seal && left[kept..].starts_with(b"A scda ");
            let appended = left[kept..].windows(12).position(|bytes| bytes == b"I appended -");
            assert!(appended == Some(0) || is_sealed_first && appended.is_some());
            let places = (0..file.len().saturating_sub(SEAL_BYTES - 1)).step_by(32);
            let is_seal = |at: &usize| Seal::parse(file[*at..].first_chunk().unwrap(), *at as u64).is_some();
            let last = places.rev().find(is_seal).map_or(0, |at| at + SEAL_BYTES);
            assert!(kept >= last, "{last} bytes were sealed, {kept} are left");
            // What has a seal stays sealed.
            let is_sealed = Reader::open(Solo, &scratch.0, &options()).unwrap().is_sealed();
            assert!(is_sealed || !params.seal);
        }
    }
}

/// What a rank finds of a file.
#[derive(Debug, PartialEq)]
struct Found {
    sections: u64,
    number: Option<u64>,
    offset: Option<u64>,
    data: Vec<u8>,
}

/// The number of sections, one by name and one by number, and some elements of the latter.
fn find(mut reader: Reader, names: &[Vec<u8>], seed: u64) -> Result<Found> {
    let mut rng = Rng(seed);
    let sections = reader.sections()?;
    let name = &names[rng.below(names.len() as u64) as usize];
    let number = reader.find(name, rng.below(5).cast_signed() - 2)?;
    let mut found = Found { sections, number, offset: None, data: Vec::new() };
    let wanted = number.unwrap_or_else(|| rng.below(sections));
    if wanted >= sections {
        return Ok(found);
    }
    reader.seek_section(wanted)?;
    found.offset = reader.position();
    let Some(section) = reader.next_section(true)? else { return Ok(found) };
    if number.is_some() {
        assert_eq!(*section.user, **name, "another section was found");
    }
    let first = rng.below(section.count.min(20_000) + 1);
    let count = rng.below(section.count - first + 1).min(1000);
    let range = first..first + count;
    match section.section_type {
        SectionType::Inline => reader.skip()?,
        SectionType::Block => {
            let first = rng.below(section.size + 1);
            let count = rng.below(section.size - first + 1).min(1 << 20);
            found.data = vec![0; count as usize];
            reader.ranges().read_block(first..first + count, &mut found.data)?;
        }
        SectionType::Array => {
            let bytes = count.checked_mul(section.size).filter(|&bytes| bytes <= 1 << 20);
            let Some(bytes) = bytes else { return Ok(found) };
            found.data = vec![0; bytes as usize];
            reader.ranges().read_array(range, section.size, Sink::Contiguous(&mut found.data))?;
        }
        SectionType::Varray => {
            let mut sizes = vec![0; count as usize];
            reader.ranges().read_varray_sizes(range.clone(), &mut sizes)?;
            let bytes = sizes.iter().fold(0_u64, |sum, &size| sum.saturating_add(size));
            if bytes > 1 << 20 {
                return Ok(found);
            }
            found.data = vec![0; bytes as usize];
            reader.ranges().read_varray(range, &sizes, Sink::Contiguous(&mut found.data))?;
        }
    }
    Ok(found)
}

/// The user strings of a file and where its sections begin, up to an error.
fn walk(path: &Path, sections: &mut Vec<(u64, Vec<u8>)>) -> Result<()> {
    let mut reader = Reader::open(Solo, path, &options())?;
    while let Some(section) = reader.next_section(true)? {
        reader.skip()?;
        sections.push((section.offset, section.user.to_vec()));
    }
    Ok(())
}

/// Looks up sections and ranges of any bytes: all ranks find the same, or have the same error; without a seal at the end it is
/// what walking finds.
pub fn look_up(input: &[u8]) {
    let file = hostile(input);
    let seed = hash(input);
    let seed_bytes = seed.to_be_bytes();
    let mut choice = Input(&seed_bytes);
    let mut params: ReadOptions = options();
    choice.access(&mut params.tuning);
    let ranks = 1 + choice.below(3);
    params.verify = choice.below(4) == 0;
    let scratch = Scratch::with(&file);
    let mut walked = Vec::new();
    let is_whole = walk(&scratch.0, &mut walked).is_ok();
    let mut names: Vec<_> = walked.iter().map(|(_, name)| name.clone()).collect();
    names.extend([&b"a"[..], b"z", b"scda index 00", b"absent"].map(<[u8]>::to_vec));
    for seed in [seed, seed ^ 1, seed ^ 2] {
        let look_up = |comm| {
            let reader = Reader::open(comm, &scratch.0, &params)?;
            let is_sealed = reader.is_sealed();
            find(reader, &names, seed).map(|found| (is_sealed, found))
        };
        let (peak, results) = memory::peak(|| run_on_threads(ranks, look_up));
        let limit = ranks * (MEMORY_OF_A_RANK + (4 << 20) + 8 * file.len());
        assert!(peak <= limit, "{peak} bytes of memory for a file of {} on {ranks} ranks", file.len());
        let results: Vec<_> =
            results.into_iter().map(|result| result.map_err(|error| error.kind())).collect();
        assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
        match &results[0] {
            Err(kind) => assert!(is_of_file(*kind), "{kind:?}"),
            Ok((false, found)) if is_whole => {
                assert_eq!(found.sections, walked.len() as u64);
                assert!(found.offset.is_none_or(|offset| walked.iter().any(|(at, _)| *at == offset)));
            }
            Ok(_) => {}
        }
    }
}
