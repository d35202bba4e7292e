//! Files made to hurt: each gets its error before anything is allocated or walked on its word.

mod common;

use common::read_anything;
use scda::{ErrorKind, Params, Reader, Sink, Solo, run_on_threads};
use std::fs::File;
use std::io::Write;
use std::path::Path;

fn padded(letter: char, text: &str, width: usize) -> String {
    format!("{letter} {text} {:-<1$}\n", "", width - 4 - text.len())
}

fn header(letter: char, user: &str) -> String {
    padded(letter, user, 64)
}

fn count(letter: char, digits: impl ToString) -> String {
    padded(letter, &digits.to_string(), 32)
}

/// A file of a valid header and this text, made as long as `size` by a hole.
fn file(folder: &Path, text: &str, size: Option<u64>) -> std::path::PathBuf {
    let path = folder.join("hostile.scda");
    let mut file = File::create(&path).unwrap();
    let head =
        format!("scdata0 {}\n{}\n{:=<29}\n\n", "x --------------------- ".trim_end(), header('F', ""), "");
    assert_eq!(head.len(), 128, "{head}");
    file.write_all(head.as_bytes()).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    if let Some(size) = size {
        file.set_len(size).unwrap();
    }
    path
}

fn kind_of(path: &Path, ranks: usize) -> ErrorKind {
    let kinds = run_on_threads(ranks, |comm| {
        read_anything(comm, path, true, &Params::default(), 3).map(drop).unwrap_err().kind()
    });
    assert!(kinds.iter().all(|kind| *kind == kinds[0]), "{kinds:?}");
    kinds[0]
}

#[test]
fn counts_beyond_what_the_file_has_or_numbers_hold() {
    let folder = tempfile::tempdir().unwrap();
    let max = u64::MAX;
    let half = 1_u64 << 63;
    let big = 1_u64 << 40;
    for (text, kinds) in [
        (header('B', "") + &count('E', max), vec![ErrorKind::Range]),
        (header('B', "") + &count('E', half - 300), vec![ErrorKind::ShortFile]),
        (header('A', "") + &count('N', max) + &count('E', 1), vec![ErrorKind::Range]),
        (header('A', "") + &count('N', big) + &count('E', big), vec![ErrorKind::Range]),
        (header('A', "") + &count('N', half) + &count('E', 0), vec![ErrorKind::Range]),
        (header('V', "") + &count('N', max), vec![ErrorKind::Range]),
        (header('V', "") + &count('N', half / 32), vec![ErrorKind::Range]),
        (header('V', "") + &count('N', half / 64), vec![ErrorKind::ShortFile]),
        (header('V', "") + &count('N', big) + &count('E', max), vec![ErrorKind::ShortFile]),
    ] {
        let path = file(folder.path(), &text, None);
        for ranks in [1, 3, 5] {
            assert!(kinds.contains(&kind_of(&path, ranks)), "{text}");
        }
    }
}

#[test]
fn elements_of_no_bytes_may_be_as_many_as_numbers_are() {
    let folder = tempfile::tempdir().unwrap();
    let text = header('A', "") + &count('N', i64::MAX) + &count('E', 0) + &format!("\n={:=<28}\n\n", "");
    let path = file(folder.path(), &text, None);
    for ranks in [1, 3, 5] {
        run_on_threads(ranks, |comm| {
            assert_eq!(read_anything(comm, &path, true, &Params::default(), 0).unwrap().len(), 1);
        });
    }
}

#[test]
fn a_sparse_file_of_a_tebibyte_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let size = 1_u64 << 40;
    let sections = [
        // Entries and compressed elements that are holes.
        header('V', "") + &count('N', 1_u64 << 22),
        header('I', "A compressed scda 00") + &count('U', 8) + &header('V', "") + &count('N', 1_u64 << 34),
        header('A', "V compressed scda 00") + &count('N', 1_u64 << 22) + &count('E', 32),
    ];
    for text in sections {
        let path = file(folder.path(), &text, Some(size));
        let kind = kind_of(&path, 2);
        assert!(matches!(kind, ErrorKind::Format | ErrorKind::Decode), "{kind:?}");
    }
    // A block that says to be all of it is skipped in no time.
    let text = header('B', "") + &count('E', size - 128 - 96 - 32);
    let path = file(folder.path(), &text, Some(size));
    let mut reader = Reader::open(Solo, &path, &Params::default()).unwrap();
    let section = reader.next_section(true).unwrap().unwrap();
    reader.read_block(section.size, 0, None).unwrap();
    assert!(reader.at_end());
}

#[test]
fn a_compressed_element_cannot_stand_for_more_than_deflate_can_give() {
    let folder = tempfile::tempdir().unwrap();
    for (first, second) in [
        (header('I', "B compressed scda 00") + &count('U', 1_u64 << 62), header('B', "") + &count('E', 26)),
        (header('I', "B compressed scda 00") + &count('U', 1_u64 << 30), header('B', "") + &count('E', 26)),
        (header('I', "A compressed scda 00") + &count('U', 1_u64 << 50), header('V', "") + &count('N', 1)),
        (header('I', "A compressed scda 00") + &count('U', 1_u64 << 62), header('V', "") + &count('N', 2)),
    ] {
        let path = file(folder.path(), &(first + &second), Some(4096));
        let kind = kind_of(&path, 2);
        assert!(matches!(kind, ErrorKind::Decode | ErrorKind::Range), "{kind:?}");
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_a_short_file_on_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let text = header('A', "") + &count('N', 1000) + &count('E', 10_000);
    let kinds = run_on_threads(3, |comm| {
        let rank = scda::Communicator::rank(&comm);
        let barrier = comm.clone();
        if rank == 0 {
            file(folder.path(), &text, Some(128 + 128 + 10_000_032));
        }
        scda::Communicator::allreduce_min(&barrier, &mut [0]).unwrap();
        let mut reader = Reader::open(comm, &folder.path().join("hostile.scda"), &Params::default()).unwrap();
        reader.next_section(true).unwrap();
        if rank == 0 {
            let path = folder.path().join("hostile.scda");
            File::options().write(true).open(path).unwrap().set_len(5_000_000).unwrap();
        }
        scda::Communicator::allreduce_min(&barrier, &mut [0]).unwrap();
        let mut data = vec![0; if rank == 2 { 10_000_000 } else { 0 }];
        reader.read_array(&[0, 0, 1000], 10_000, Sink::Contiguous(&mut data)).unwrap_err().kind()
    });
    assert_eq!(kinds, [ErrorKind::ShortFile; 3]);
}
