//! Ranks that go about in a file as they like: ranges of elements, from section to section.

#![allow(clippy::cast_possible_truncation)] // test data

use crate::common::{self, Data, Rng, model, options, write_on};
use scda::{
    Communicator, ErrorKind, ReadOptions, Reader, Result, Section, Sink, Solo, WriteOptions, run_on_threads,
};
use std::path::Path;

fn flat(sizes: &[u64]) -> Vec<u8> {
    vec![0; sizes.iter().sum::<u64>() as usize]
}

/// Reads ranges of the current section, in order and out of order, and compares.
fn read_ranges(file: &mut Reader, section: &Section, expected: &Data, rng: &mut Rng) -> Result<()> {
    let n = section.count;
    let mut next = 0;
    for _ in 0..5 {
        let start = if rng.below(2) == 0 { next } else { rng.below(n + 1) };
        let end = start + rng.below(n - start + 1);
        next = end;
        let own = start as usize..end as usize;
        let mut found;
        let elements = match expected {
            Data::Inline(_) | Data::Block(_) => return Ok(()),
            Data::Array { size, elements } => {
                found = flat(&vec![*size; own.len()]);
                file.ranges().read_array(start..end, *size, Sink::Contiguous(&mut found))?;
                elements
            }
            Data::Varray(elements) => {
                let mut sizes = vec![0; own.len()];
                file.ranges().read_varray_sizes(start..end, &mut sizes)?;
                let lengths: Vec<u64> = elements[own.clone()].iter().map(|e| e.len() as u64).collect();
                assert_eq!(sizes, lengths);
                let mut each: Vec<Vec<u8>> = sizes.iter().map(|&size| vec![0; size as usize]).collect();
                file.ranges().read_varray(start..end, &sizes, Sink::Indirect(&mut each))?;
                found = each.concat();
                elements
            }
        };
        assert!(found == elements[own].concat(), "elements {start} to {end} of {n}");
    }
    Ok(())
}

#[test]
fn ranges_in_any_order_are_what_was_written() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("ranges.scda");
    for seed in 0..6 {
        let model = model(seed, [2_000, 200_000][seed as usize % 2]);
        write_on(2, &path, &model, &options(), seed);
        let mut params: ReadOptions = options();
        params.tuning.threads = seed as usize % 3 + 1;
        let mut rng = Rng(seed);
        let mut file = Reader::open(Solo, &path, &params).unwrap();
        let mut sections = Vec::new();
        for expected in &model.sections {
            let position = file.position().unwrap();
            let section = file.next_section(true).unwrap().unwrap();
            assert_eq!((section.offset, file.position()), (position, Some(position)));
            if rng.below(3) > 0 {
                read_ranges(&mut file, &section, &expected.data, &mut rng).unwrap();
            }
            file.skip().unwrap();
            sections.push((section, expected));
        }
        assert!(file.at_end());
        assert_eq!(file.position(), Some(std::fs::metadata(&path).unwrap().len()));
        // Anywhere, also out of the midst of a section.
        for _ in 0..40 {
            let (section, expected) = &sections[rng.below(sections.len() as u64) as usize];
            file.seek(section.offset).unwrap();
            assert_eq!(file.next_section(true).unwrap().as_ref(), Some(section));
            read_ranges(&mut file, section, &expected.data, &mut rng).unwrap();
        }
        file.close().unwrap();
    }
}

/// Any number of ranks skips, each section entirely or after its sizes.
#[test]
fn skipping_leads_to_the_next_section() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("skip.scda");
    let model = model(3, 200_000);
    write_on(1, &path, &model, &options(), 0);
    for size in [1, 2, 3] {
        let walk = |comm: scda::ThreadComm| {
            let mut file = Reader::open(comm, &path, &options()).unwrap();
            let mut offsets = Vec::new();
            while let Some(section) = file.next_section(true).unwrap() {
                offsets.push(section.offset);
                if section.section_type == scda::SectionType::Varray && offsets.len() % 8 < 4 {
                    let counts = scda::uniform_partition(section.count, size);
                    file.read_varray_sizes(&counts, None).unwrap();
                }
                file.skip().unwrap();
                file.skip().unwrap(); // nothing is left to skip
            }
            for &offset in offsets.iter().rev() {
                file.seek(offset).unwrap();
                assert_eq!(file.next_section(true).unwrap().unwrap().offset, offset);
            }
            file.close().unwrap();
            offsets.len()
        };
        assert_eq!(run_on_threads(size, walk), vec![model.sections.len(); size]);
    }
}

/// Each rank its own ranges: they overlap, are empty, and come in any order.
#[test]
fn each_rank_reads_ranges_of_its_own() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("ranges.scda");
    for seed in 0..6 {
        let model = model(seed, [2_000, 200_000][seed as usize % 2]);
        let mut params: WriteOptions = options();
        params.seal = seed % 3 > 0;
        write_on(2, &path, &model, &params, seed);
        for size in [2, 3, 5] {
            run_on_threads(size, |comm| {
                let (rank, mut common) = (comm.rank() as u64, Rng(seed));
                let mut own = Rng(seed ^ (rank + 1));
                let mut verifying: ReadOptions = options();
                verifying.verify = params.seal;
                let mut file = Reader::open(comm, &path, &verifying).unwrap();
                for expected in &model.sections {
                    let section = file.next_section(true).unwrap().unwrap();
                    let is_read = common.below(3) > 0;
                    if is_read {
                        read_ranges(&mut file, &section, &expected.data, &mut own).unwrap();
                    }
                    if let Data::Block(data) = &expected.data {
                        let start = own.below(section.size + 1);
                        let end = start + own.below(section.size - start + 1);
                        let mut found = vec![0; (end - start) as usize];
                        file.ranges().read_block(start..end, &mut found).unwrap();
                        assert!(found == data[start as usize..end as usize]);
                    }
                    // The next header, too, ends a section of which ranges were read.
                    let needs_skip = match expected.data {
                        Data::Inline(_) => true,
                        Data::Block(_) => false,
                        _ => !is_read,
                    };
                    if needs_skip || common.below(2) == 0 {
                        file.skip().unwrap();
                    }
                }
                assert!(file.next_section(true).unwrap().is_none() && file.at_end());
                file.close().unwrap();
            });
        }
    }
}

#[test]
fn an_error_of_one_range_is_one_of_all_ranks() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("one.scda");
    let section = common::ModelSection {
        user: b"A".to_vec(),
        data: Data::Array { size: 3, elements: vec![b"abc".to_vec(); 10] },
        encode: scda::Encode::None,
    };
    let model = common::Model { vendor: Vec::new(), user: Vec::new(), sections: vec![section] };
    write_on(1, &path, &model, &options(), 0);
    for wrong in 0..3 {
        let errors = run_on_threads(3, |comm| {
            let rank = comm.rank();
            let mut file = Reader::open(comm, &path, &options()).unwrap();
            file.next_section(true).unwrap();
            let end = if rank == wrong { 11 } else { 3 };
            let mut found = vec![0; 3 * end as usize];
            let error = file.ranges().read_array(0..end, 3, Sink::Contiguous(&mut found)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument);
            error.to_string()
        });
        assert!(errors.iter().all(|error| error.contains(&format!("rank {wrong}: "))), "{errors:?}");
    }
    // Ranges and all elements are not the same call.
    let errors = run_on_threads(2, |comm| {
        let rank = comm.rank();
        let mut file = Reader::open(comm, &path, &options()).unwrap();
        file.next_section(true).unwrap();
        let mut found = vec![0; if rank == 0 { 0 } else { 30 }];
        let sink = Sink::Contiguous(&mut found);
        let read = if rank == 0 {
            file.ranges().read_array(0..0, 3, sink)
        } else {
            file.read_array(&[0, 10], 3, sink)
        };
        read.and_then(|()| file.close()).unwrap_err().to_string()
    });
    assert!(errors.iter().all(|error| error.contains("disagree on the function")), "{errors:?}");
}

fn error_of(
    path: &Path,
    size: usize,
    read: impl Fn(&mut Reader, &Section) -> Result<()> + Sync,
) -> ErrorKind {
    let kinds = run_on_threads(size, |comm| {
        let mut file = Reader::open(comm, path, &options()).unwrap();
        let section = file.next_section(true).unwrap().unwrap();
        read(&mut file, &section).unwrap_err().kind()
    });
    assert!(kinds.iter().all(|kind| *kind == kinds[0]));
    kinds[0]
}

#[test]
fn what_is_no_range_is_an_error() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("errors.scda");
    let elements = vec![b"abc".to_vec(); 10];
    for (data, user) in
        [(Data::Array { size: 3, elements: elements.clone() }, "A"), (Data::Varray(elements), "V")]
    {
        let section = common::ModelSection { user: user.into(), data, encode: scda::Encode::Always };
        let model = common::Model { vendor: Vec::new(), user: Vec::new(), sections: vec![section] };
        write_on(1, &path, &model, &options(), 0);
        let read = |range: std::ops::Range<u64>, bytes: usize| {
            move |file: &mut Reader, section: &Section| {
                let mut found = vec![0; bytes];
                if user == "A" {
                    return file.ranges().read_array(
                        range.clone(),
                        section.size,
                        Sink::Contiguous(&mut found),
                    );
                }
                let mut sizes = vec![0; range.clone().count()];
                file.ranges().read_varray_sizes(range.clone(), &mut sizes)?;
                file.ranges().read_varray(range.clone(), &sizes, Sink::Contiguous(&mut found))
            }
        };
        assert_eq!(error_of(&path, 1, read(3..11, 24)), ErrorKind::Argument);
        #[allow(clippy::reversed_empty_ranges)]
        let backwards = 5..4;
        assert_eq!(error_of(&path, 1, read(backwards, 0)), ErrorKind::Argument);
        assert_eq!(error_of(&path, 1, read(3..5, 5)), ErrorKind::Argument);
        assert_eq!(error_of(&path, 2, read(3..11, 24)), ErrorKind::Argument);
    }
    let seek = |offset| move |file: &mut Reader, _: &Section| file.seek(offset);
    assert_eq!(error_of(&path, 1, seek(64)), ErrorKind::Argument);
    assert_eq!(error_of(&path, 2, seek(u64::MAX)), ErrorKind::Argument);
    let wrong_sizes =
        |file: &mut Reader, _: &Section| file.ranges().read_varray(0..1, &[4], Sink::Contiguous(&mut [0; 4]));
    assert_eq!(error_of(&path, 1, wrong_sizes), ErrorKind::Argument);
    for room in [0, 2] {
        let wrong_room =
            |file: &mut Reader, _: &Section| file.ranges().read_varray_sizes(0..1, &mut vec![7; room]);
        assert_eq!(error_of(&path, 1, wrong_room), ErrorKind::Argument);
    }
}

/// Reads element `index`, or the byte of a block, alone.
fn read_one(file: &mut Reader, section: &Section, index: u64) -> Result<Vec<u8>> {
    let (range, mut found) = (index..index + 1, vec![0; 1]);
    match section.section_type {
        scda::SectionType::Inline => unreachable!("no ranges"),
        scda::SectionType::Block if section.decoded => {
            found = vec![0; section.size as usize];
            file.ranges().read_block(0..section.size, &mut found)?;
        }
        scda::SectionType::Block => file.ranges().read_block(range, &mut found)?,
        scda::SectionType::Array => {
            found = vec![0; section.size as usize];
            file.ranges().read_array(range, section.size, Sink::Contiguous(&mut found))?;
        }
        scda::SectionType::Varray => {
            let mut sizes = [0];
            file.ranges().read_varray_sizes(range.clone(), &mut sizes)?;
            found = flat(&sizes);
            file.ranges().read_varray(range, &sizes, Sink::Contiguous(&mut found))?;
        }
    }
    Ok(found)
}

#[test]
fn what_is_left_of_a_section_that_is_cut_is_read() {
    use scda::{Encode, Source, Writer};
    let scratch = tempfile::tempdir().unwrap();
    let (path, cut_path) = (scratch.path().join("whole.scda"), scratch.path().join("cut.scda"));
    let data: Vec<u8> = (0..60_u8).collect();
    let sizes = [7, 0, 13, 20, 20];
    for encode in [Encode::None, Encode::Always] {
        for kind in ["B", "A", "V"] {
            let mut file = Writer::create(Solo, &path, b"", &options()).unwrap();
            file.inline(b"before", 0, Some(&[b'x'; 32])).unwrap();
            let (user, data) = (kind.as_bytes(), Source::Contiguous(&data));
            match (kind, data) {
                ("B", Source::Contiguous(data)) => file.block(user, 0, 60, Some(data), encode).unwrap(),
                ("A", data) => file.array(user, &[5], 12, data, encode).unwrap(),
                (_, data) => file.varray(user, &[5], &sizes, None, data, encode).unwrap(),
            }
            file.close().unwrap();
            let bytes = std::fs::read(&path).unwrap();
            let mut whole = Reader::open(Solo, &path, &options()).unwrap();
            whole.seek(224).unwrap();
            let section = whole.next_section(true).unwrap().unwrap();
            let units = if kind == "B" && encode == Encode::None { 60 } else { section.count.max(1) };
            let expected: Vec<_> =
                (0..units).map(|index| read_one(&mut whole, &section, index).unwrap()).collect();
            let mut most = 0;
            for cut in 225..bytes.len() {
                std::fs::write(&cut_path, &bytes[..cut]).unwrap();
                let mut file = Reader::open(Solo, &cut_path, &options()).unwrap();
                file.inspect().tolerate_damage().unwrap();
                file.seek(224).unwrap();
                let found = match file.next_section(true) {
                    // The header itself is cut, or the first of a pair.
                    Err(error) => {
                        assert!((cut as u64) < section.data_offset, "{cut}: {error}");
                        assert!(error.kind() == ErrorKind::ShortFile, "{cut}: {error}");
                        // The file is still open.
                        file.seek(128).unwrap();
                        assert_eq!(&file.next_section(true).unwrap().unwrap().user[..], b"before");
                        continue;
                    }
                    Ok(found) => found.unwrap(),
                };
                assert_eq!(found, section, "{cut}");
                assert_eq!(file.section(1).unwrap(), Some(section), "{cut}");
                // What is there is there, whatever failed before.
                let mut read = 0;
                for index in (0..units).rev() {
                    match read_one(&mut file, &section, index) {
                        Ok(element) => {
                            assert_eq!(element, expected[index as usize], "{cut}: {index}");
                            read += 1;
                        }
                        Err(error) => {
                            assert!(read == 0 && error.kind() == ErrorKind::ShortFile, "{cut}: {error}")
                        }
                    }
                }
                most = most.max(read);
                assert!(cut as u64 > section.data_offset || read == 0 || kind == "V", "{cut}");
                let error = file.skip().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::ShortFile, "{cut}: {error}");
                assert_eq!(file.position(), Some(224));
                // What reads whole sections has none.
                let error = match kind {
                    "B" => file.read_block(60, 0, Some(&mut [0; 60])),
                    "A" => file.read_array(&[5], 12, Sink::Contiguous(&mut [0; 60])),
                    _ => file.read_varray_sizes(&[5], Some(&mut [0; 5])).and_then(|()| {
                        file.read_varray(&[5], Some(&sizes), None, Sink::Contiguous(&mut [0; 60]))
                    }),
                };
                assert_eq!(error.map_err(|e| e.kind()), Err(ErrorKind::ShortFile), "{kind} {cut}");
            }
            // Of a file without its last padding all is read.
            assert_eq!(most, units, "{kind}");
        }
    }
}

#[test]
fn damage_is_tolerated_by_one_process_only() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("f.scda");
    write_on(1, &path, &model(3, 2000), &options(), 0);
    assert_eq!(error_of(&path, 2, |file, _| file.inspect().tolerate_damage()), ErrorKind::Usage);
}
