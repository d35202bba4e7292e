//! Outlines of views: whatever one says, a process appends to the file, or there is an error.

use super::Scratch;
use super::input::Input;
use super::reading::MEMORY_OF_A_RANK;
use crate::common::options;
use crate::memory;
use scda::{DataType, Dataset, ErrorKind, Hdf5, IndexBox, Reader, Solo, WriteOptions, Writer};
use scda_format::crc;
use scda_hdf5::{Outline, Previous, Superblock};
use std::sync::OnceLock;

fn params() -> WriteOptions {
    let mut params: WriteOptions = options();
    (params.seal, params.hdf5) = (true, Hdf5::Close);
    params
}

/// A step: a record, rows, and attributes of the record before.
fn add_step(file: &mut Writer, step: u8) -> scda::Result<()> {
    if step > 0 {
        file.set_attributes("flow/u", -1, &format!(r#"{{"step": {step}}}"#))?;
    }
    for (name, shape) in [("flow/u", &[4][..]), ("rows", &[1, 3]), ("time", &[])] {
        let mut dataset = Dataset::new(name, DataType::Uint8, shape);
        dataset.extends = name == "rows" && step > 0;
        let items = usize::try_from(shape.iter().product::<u64>()).unwrap();
        file.dataset(&dataset, &[IndexBox::all(shape)], &vec![step; items])?;
    }
    Ok(())
}

/// A file with a view that has an outline, that outline, and where its two parts are.
fn template() -> &'static (Vec<u8>, Outline, [usize; 2]) {
    static FILE: OnceLock<(Vec<u8>, Outline, [usize; 2])> = OnceLock::new();
    FILE.get_or_init(|| {
        let scratch = Scratch::new();
        for step in 0..4 {
            let mut file = match step {
                0 => Writer::create(Solo, &scratch.0, b"template", &params()),
                _ => Writer::append(Solo, &scratch.0, &params()),
            }
            .unwrap();
            if step == 0 {
                file.group("flow", r#"{"of": "a flow"}"#).unwrap();
            }
            add_step(&mut file, step).unwrap();
            file.close().unwrap();
        }
        // The process remembers four other files instead.
        for _ in 0..4 {
            let scratch = Scratch::new();
            let mut file = Writer::create(Solo, &scratch.0, b"another", &params()).unwrap();
            add_step(&mut file, 0).unwrap();
            file.close().unwrap();
        }
        let all = std::fs::read(&scratch.0).unwrap();
        let superblock = Superblock::of_bytes(all[512..].first_chunk().unwrap()).unwrap().unwrap();
        let mut read = |offset: u64, to: &mut [u8]| {
            to.copy_from_slice(&all[offset as usize..][..to.len()]);
            Ok(())
        };
        let previous = Previous { root: superblock.root, read: &mut read };
        let outline = Outline::read(previous, superblock.end).unwrap().unwrap();
        let place = |part: &[u8]| all.windows(part.len()).rposition(|bytes| bytes == part).unwrap();
        let places = [place(&outline.constants), place(&outline.extents)];
        (all, outline, places)
    })
}

/// Changes of the outline of a template, which gets its checksum: a place and a byte each. Then a step is appended.
pub fn outlines(input: &[u8]) {
    let (template, outline, places) = template();
    let mut file = template.clone();
    let mut parts = [outline.constants.clone(), outline.extents.clone()];
    let sum = parts[1].len() - 8;
    let mut input = Input(input);
    while !input.0.is_empty() {
        let place = input.below(parts[0].len() + sum);
        let byte = input.byte();
        match place.checked_sub(sum) {
            Some(place) => parts[0][place] ^= byte,
            None => parts[1][place] ^= byte,
        }
    }
    let found = crc::extend(crc::of(&parts[0]), &parts[1][..sum]);
    parts[1][sum..].copy_from_slice(&found.to_le_bytes());
    for (part, at) in parts.iter().zip(places) {
        file[*at..at + part.len()].copy_from_slice(part);
    }
    let scratch = Scratch::with(&file);
    let append = || {
        let mut writer = Writer::append(Solo, &scratch.0, &params())?;
        add_step(&mut writer, 4)?;
        writer.close()
    };
    let (peak, result) = memory::peak(append);
    let limit = MEMORY_OF_A_RANK + (8 << 20) + 8 * file.len();
    assert!(peak <= limit, "{peak} bytes of memory for a file of {}", file.len());
    // What was there stays, but for the superblock; what was added is read.
    let left = std::fs::read(&scratch.0).unwrap();
    assert!(left[..512] == file[..512] && left[560..file.len()] == file[560..]);
    if let Err(error) = result {
        // As of a dataset with a type of a later version.
        assert!(error.kind() == ErrorKind::Unsupported || error.kind().is_of_file(), "{error}");
        return;
    }
    let mut reader = Reader::open(Solo, &scratch.0, &options()).unwrap();
    assert!(reader.is_sealed());
    let found = reader.dataset("flow/u").unwrap().unwrap();
    let mut items = [0; 4];
    found.read(&mut reader, &[IndexBox::all(&[4])], &mut items).unwrap();
    assert_eq!(items, [4; 4]);
}
