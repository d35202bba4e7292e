//! Appending after any section of a sealed file, or a record of a dataset, wherever the seals are.

#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // test data

use crate::common::options;
use scda::{
    Communicator, DataType, Dataset, Encode, ErrorKind, IndexBox, Layout, ReadOptions, Reader, Solo, Source,
    ThreadComm, WriteOptions, Writer, run_on_threads,
};
use scda_format::truncation::{NEW_END_HEADER_BYTES, NewEnd, offset};
use std::path::Path;

fn params() -> WriteOptions {
    let mut params: WriteOptions = options();
    params.seal = true;
    params
}

/// Section k of a file in which all kinds occur, and most have anchors.
fn section(file: &mut Writer, k: usize) {
    let bytes: Vec<u8> = (0..5000).map(|i| (i / (k + 1)) as u8).collect();
    let name = format!("section {}", k % 5);
    let sizes: Vec<u64> = (0..9000).map(|i| (i + k as u64) % 2).collect();
    let all = Source::Contiguous(&bytes[..4500]);
    match k % 4 {
        0 => file.inline(name.as_bytes(), 0, Some(&[k as u8; 32])),
        1 => file.varray(name.as_bytes(), &[9000], &sizes, None, all, Encode::None),
        2 => file.array(name.as_bytes(), &[4500], 1, all, Encode::Always),
        _ => file.block(name.as_bytes(), 0, 5000, Some(&bytes), Encode::Always),
    }
    .unwrap();
}

/// A file of so many sections, with a commit after each of these numbers of them.
fn written(path: &Path, sections: usize, commits: &[usize]) -> Vec<u8> {
    let mut file = Writer::create(Solo, path, b"series", &params()).unwrap();
    for k in 0..sections {
        section(&mut file, k);
        if commits.contains(&(k + 1)) {
            file.commit().unwrap();
        }
    }
    file.close().unwrap();
    std::fs::read(path).unwrap()
}

/// As if the later sections had never been written, and there had been a commit.
#[test]
fn what_stays_gets_a_seal_if_none_follows_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("series.scda");
    let often: Vec<usize> = (1..20).map(|k| 2 * k).collect();
    for (commits, all, after) in [
        (&[][..], 12, vec![1, 2, 3, 5, 8, 11]),
        (&[10, 20][..], 24, vec![4, 10, 11, 19, 23]),
        // More seals than a table of names has, and up to its seal.
        (&often[..], 40, vec![1, 31, 33, 39]),
    ] {
        for (place, &kept) in after.iter().enumerate() {
            let before: Vec<usize> = commits.iter().copied().filter(|&k| k < kept).collect();
            let expected = written(&path, kept, &before);
            written(&path, all, commits);
            let (ranks, atomic) = ([1, 3, 2][place % 3], place % 2 == 1);
            let mut params = params();
            (params.append_after, params.atomic) = (kept as u64, atomic);
            run_on_threads(ranks, |comm: ThreadComm| {
                let file = Writer::append(comm, &path, &params).unwrap();
                assert!(file.bytes_rolled_back() > 0);
                file.close().unwrap();
            });
            assert!(std::fs::read(&path).unwrap() == expected, "{kept} of {all}, {commits:?}");
        }
    }
}

/// What a job leaves that is stopped when it has announced the new end: readers find the seal that stays, and the next job goes there.
#[test]
fn a_new_end_that_was_announced_is_completed_by_the_next_job() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("series.scda");
    for commits in [&[][..], &[4]] {
        let expected = written(&path, 6, commits);
        let whole = written(&path, 12, commits);
        let (cut, stays) = match commits {
            [] => (end_of(&whole, 6), 576),
            _ => (end_of(&whole, 6), written(&path, 4, commits).len() as u64),
        };
        let length = expected.len() as u64;
        let at = offset(whole.len() as u64, length);
        let new_end = NewEnd { tables: at + NEW_END_HEADER_BYTES as u64, offset: cut, length, stays };
        let tables = &expected[cut as usize..];
        let style = Reader::open(Solo, &path, &options()).unwrap().header().line_break;
        let mut announced = whole.clone();
        announced.resize(at as usize, 0);
        let block = new_end.block(tables, style).unwrap();
        // Without the end of the block, it is what a killed job has left.
        std::fs::write(&path, [&announced[..], &block[0]].concat()).unwrap();
        let reader = Reader::open(Solo, &path, &options()).unwrap();
        assert_eq!(reader.left_out(), Some(at + block[0].len() as u64 - whole.len() as u64));
        announced.extend(block.concat());
        // Half of the tables are there already.
        for copied in [0, tables.len() / 2, tables.len()] {
            let mut left = announced.clone();
            left[cut as usize..cut as usize + copied].copy_from_slice(&tables[..copied]);
            for (ranks, after) in [(1, 0), (3, 0), (2, 5)] {
                std::fs::write(&path, &left).unwrap();
                let mut reader = Reader::open(Solo, &path, &options()).unwrap();
                assert_eq!(reader.sections().unwrap(), commits.first().map_or(0, |&k| k as u64));
                assert!(!reader.refresh().unwrap());
                let mut params = params();
                params.append_after = after;
                run_on_threads(ranks, |comm: ThreadComm| {
                    Writer::append(comm, &path, &params).unwrap().close().unwrap();
                });
                let mut now = Reader::open(Solo, &path, &options()).unwrap();
                assert_eq!(now.sections().unwrap(), if after == 0 { 6 } else { 5 });
                assert!(after > 0 || std::fs::read(&path).unwrap() == expected);
                assert!(reader.refresh().unwrap());
            }
        }
    }
}

/// Where the first sections of a file end.
fn end_of(bytes: &[u8], sections: u64) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.scda");
    std::fs::write(&path, bytes).unwrap();
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    file.seek_section(sections).unwrap();
    file.position().unwrap()
}

#[test]
fn a_place_that_is_none_is_refused_and_nothing_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("series.scda");
    let mut file = Writer::create(Solo, &path, b"series", &params()).unwrap();
    for step in 0..3 {
        write_step(&mut file, step, 0);
    }
    file.begin_streams(b"log", 64).unwrap();
    file.write_stream(b"a").unwrap();
    file.end_streams().unwrap();
    file.close().unwrap();
    let before = std::fs::read(&path).unwrap();
    let of = |name: &str, record| (0, Some((name.to_owned(), record)));
    for (after, words) in [
        ((1, None), "append_after: 1: section 1 belongs to the one before it, which stays"),
        ((13, None), "section 13 belongs to the one before it"),
        ((14, None), "section 14 belongs to the one before it"),
        ((16, None), "16 sections are more than the 15 that the seals of the file cover"),
        (of("time", 3), "record 3: the seals of the file cover 3 records of \"time\""),
        (of("time", -4), "record -4: the seals of the file cover 3 records"),
        (of("none", -1), "no seal of the file covers a dataset \"none\""),
        (of("", 0), "the name of the dataset to append after: found an empty one"),
        ((3, Some(("time".to_owned(), 0))), "append_after, append_record: found both"),
    ] {
        let is_missing = words.contains("the seals of the file cover 3") || words.starts_with("no seal");
        let kind = if is_missing { ErrorKind::NotFound } else { ErrorKind::Argument };
        for (ranks, atomic) in [(1, false), (1, true), (3, false)] {
            let mut params = params();
            (params.append_after, params.append_record, params.atomic) = (after.0, after.1.clone(), atomic);
            run_on_threads(ranks, |comm: ThreadComm| {
                let error = Writer::append(comm, &path, &params).err().unwrap();
                assert_eq!(error.kind(), kind, "{error}");
                assert!(error.to_string().contains(words), "{error}");
            });
            assert!(std::fs::read(&path).unwrap() == before, "{words}");
        }
    }
    let mut params = params();
    params.append_record = Some(("time".into(), 0));
    let error = Writer::create(Solo, &path, b"", &params).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Argument);
}

/// A step: its time, and a field of another length each time.
fn write_step(file: &mut Writer, step: u8, rank: usize) {
    let boxes = |dataset: &Dataset| if rank == 0 { vec![IndexBox::all(&dataset.shape)] } else { Vec::new() };
    let time = Dataset::new("time", DataType::Uint8, []);
    let bytes = [step];
    file.dataset(&time, &boxes(&time), if rank == 0 { &bytes[..] } else { &[] }).unwrap();
    let mut rho = Dataset::new("rho", DataType::Uint8, [20 + u64::from(step)]);
    if step % 2 == 1 {
        rho.layout = Layout::Chunked { shape: None, text: false };
    }
    let data = if rank == 0 { vec![step; 20 + usize::from(step)] } else { Vec::new() };
    file.dataset(&rho, &boxes(&rho), &data).unwrap();
}

/// The times and the first numbers of a file.
fn steps(path: &Path) -> Vec<(u8, u8)> {
    let mut params: ReadOptions = options();
    params.verify = true;
    let mut file = Reader::open(Solo, path, &params).unwrap();
    let mut steps = Vec::new();
    while let Some(time) = file.dataset_record("time", steps.len() as i64).unwrap() {
        let mut found = [[0], [0]];
        time.read(&mut file, &[IndexBox::all(&[])], &mut found[0]).unwrap();
        let rho = file.dataset_record("rho", steps.len() as i64).unwrap().unwrap();
        rho.read(&mut file, &[IndexBox::new([0], [1])], &mut found[1]).unwrap();
        steps.push((found[0][0], found[1][0]));
    }
    assert!(file.dataset_record("rho", steps.len() as i64).unwrap().is_none());
    assert_eq!((file.left_out(), file.sections().unwrap()), (Some(0), 4 * steps.len() as u64));
    steps
}

#[test]
fn a_run_goes_on_after_a_step_wherever_it_was_committed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("series.scda");
    for every in [1, 3, 7, 100] {
        for (record, kept) in [(0, 1), (4, 5), (9, 10), (-1, 10), (-2, 9), (-10, 1)] {
            for (ranks, atomic) in [(1, false), (3, false), (2, true)] {
                let mut file = Writer::create(Solo, &path, b"series", &params()).unwrap();
                for step in 0..10 {
                    write_step(&mut file, step, 0);
                    if step % every == every - 1 {
                        file.commit().unwrap();
                    }
                }
                file.close().unwrap();
                let mut open = Reader::open(Solo, &path, &options()).unwrap();
                let mut params = params();
                (params.append_record, params.atomic) = (Some(("time".into(), record)), atomic);
                run_on_threads(ranks, |comm: ThreadComm| {
                    let rank = comm.rank();
                    let mut file = Writer::append(comm, &path, &params).unwrap();
                    (kept..kept + 2).for_each(|step| write_step(&mut file, 100 + step, rank));
                    file.close().unwrap();
                });
                let expected: Vec<_> =
                    (0..kept).chain(100 + kept..102 + kept).map(|step| (step, step)).collect();
                assert_eq!(steps(&path), expected, "{every}, {record}");
                if !atomic && kept < 10 {
                    // A reader that has the file open notices.
                    assert_eq!(open.refresh().unwrap_err().kind(), ErrorKind::FileInUse);
                }
            }
        }
    }
}

#[test]
fn the_steps_of_a_mesh_are_those_of_its_times() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("series.scda");
    let mut file = Writer::create(Solo, &path, b"series", &params()).unwrap();
    for step in 0..4_u8 {
        for name in ["amr/time", "amr/level 0/rho"] {
            file.dataset(&Dataset::new(name, DataType::Uint8, []), &[IndexBox::all(&[])], &[step]).unwrap();
        }
    }
    file.close().unwrap();
    let mut params = params();
    params.append_record = Some(("amr".into(), 1));
    let error = Writer::append(Solo, &path, &params).err().unwrap().to_string();
    assert!(error.contains("covers a dataset \"amr\"; \"amr/\" has steps"), "{error}");
    params.append_record = Some(("amr/".into(), 1));
    Writer::append(Solo, &path, &params).unwrap().close().unwrap();
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    assert_eq!((file.sections().unwrap(), file.find(b"amr/time", -1).unwrap()), (8, Some(5)));
}
