//! Files made to hurt: each gets its error before anything is allocated or walked on its word.

use crate::common::{options, read_anything, tuned};
use scda::{
    DataType, Dataset, Encode, ErrorKind, IndexBox, Layout, ReadOptions, Reader, Sink, Solo, Source,
    WriteOptions, Writer, run_on_threads,
};
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
        read_anything(comm, path, true, &options(), 3).map(drop).unwrap_err().kind()
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
            assert_eq!(read_anything(comm, &path, true, &options(), 0).unwrap().len(), 1);
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
    let mut reader = Reader::open(Solo, &path, &options()).unwrap();
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
        let mut reader = Reader::open(comm, folder.path().join("hostile.scda"), &options()).unwrap();
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

/// A file of some KiB whose chunk, block and elements are of 32 MiB.
fn inflated(path: &Path) {
    let data = vec![7; 32 << 20];
    let mut file = Writer::create(Solo, path, b"", &options()).unwrap();
    file.block(b"block", 0, data.len() as u64, Some(&data), Encode::Always).unwrap();
    let mut dataset = Dataset::new("sevens", DataType::Uint8, [data.len() as u64]);
    dataset.layout = Layout::Chunked { shape: Some(vec![data.len() as u64]), text: false };
    file.dataset(&dataset, &[IndexBox::all(&dataset.shape)], &data).unwrap();
    file.close().unwrap();
    assert!(std::fs::metadata(path).unwrap().len() < 1 << 20);
}

#[test]
fn no_more_memory_is_taken_than_max_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inflated.scda");
    inflated(&path);
    let item = [IndexBox { start: vec![5], count: vec![1] }];
    let read = |ranks: usize, max_memory: u64, threads: usize| {
        let mut params: ReadOptions = options();
        (params.tuning.max_memory, params.tuning.threads) = (max_memory, threads);
        let found = run_on_threads(ranks, |comm| {
            let open = || Reader::open(comm.clone(), &path, &params);
            let mut file = open()?;
            file.next_section(true)?.expect("the block");
            let block = file.ranges().read_block(7..8, &mut [0]).map_err(|error| error.to_string());
            let mut file = open()?;
            let sevens = file.dataset_record("sevens", 0)?.expect("the dataset");
            assert_eq!(sevens.shape, [32 << 20]);
            let mut data = [1];
            let chunk =
                sevens.read(&mut file, &item, &mut data).map_err(|error| (error.kind(), error.to_string()));
            assert_eq!(data[0], if chunk.is_ok() { 7 } else { 1 });
            Ok((block, chunk))
        });
        let found: Vec<_> = found.into_iter().collect::<scda::Result<_>>().unwrap();
        assert!(found.iter().all(|other| *other == found[0]), "{found:?}");
        found[0].clone()
    };
    for (ranks, threads) in [(1, 1), (1, 4), (3, 1)] {
        assert_eq!(read(ranks, 0, threads), (Ok(()), Ok(())));
        assert_eq!(read(ranks, 40 << 20, threads), (Ok(()), Ok(())));
        let (block, chunk) = read(ranks, 4 << 20, threads);
        let (kind, chunk) = chunk.unwrap_err();
        assert_eq!(kind, ErrorKind::Memory);
        for (error, at) in [(block.unwrap_err(), "byte 128: "), (chunk, "byte ")] {
            assert!(error.contains("inflated.scda: byte ") && error.contains(at), "{error}");
            assert!(error.contains("the file asks for 33554432 bytes of memory, "), "{error}");
            assert!(error.ends_with(" more than max_memory, 4194304"), "{error}");
        }
    }
}

/// Sections of a file whose parts all fit are read, however many there are.
#[test]
fn a_large_file_is_read_with_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.scda");
    let mut params: WriteOptions = options();
    params.seal = true;
    let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
    let data: Vec<u8> = (0..1_u32 << 20).map(|i| (u64::from(i).pow(2) >> 9).to_le_bytes()[0]).collect();
    let mut dataset = Dataset::new("field", DataType::Uint8, [1 << 10, 1 << 10]);
    for step in 0..12_usize {
        file.array(b"array", &[1 << 10], 1 << 10, Source::Contiguous(&data), Encode::Always).unwrap();
        let sizes: Vec<u64> = (0..1 << 10).map(|i| (i % 2) << 11).collect();
        file.varray(b"varray", &[1 << 10], &sizes, None, Source::Contiguous(&data), Encode::None).unwrap();
        dataset.layout = match step % 3 {
            0 => Layout::Contiguous,
            1 => Layout::Chunked { shape: Some(vec![100, 300]), text: false },
            _ => Layout::Chunked { shape: None, text: true },
        };
        file.dataset(&dataset, &[IndexBox::all(&dataset.shape)], &data).unwrap();
        file.commit().unwrap();
    }
    file.close().unwrap();
    let mut params: ReadOptions = options();
    (params.tuning.max_memory, params.verify) = (4 << 20, true);
    for ranks in [1, 2] {
        run_on_threads(ranks, |comm| {
            assert_eq!(read_anything(comm.clone(), &path, true, &params, 3).unwrap().len(), 48);
            let mut file = Reader::open(comm, &path, &params).unwrap();
            assert_eq!(file.find_all(b"varray").unwrap().len(), 12);
            // Columns, each in runs of some bytes, into one piece of memory and with strides.
            let columns: Vec<_> =
                (0..1 << 10).map(|x| IndexBox { start: vec![0, x], count: vec![1 << 10, 1] }).collect();
            for record in 0..12 {
                let handle = file.dataset_record("field", record).unwrap().expect("a record");
                let mut found = vec![0; data.len()];
                handle.read(&mut file, &columns, &mut found).unwrap();
                assert!((0..data.len()).all(|at| found[(at % 1024) * 1024 + at / 1024] == data[at]));
            }
        });
    }
}

#[test]
fn a_count_that_is_cut_off_is_an_error_with_both_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut params: WriteOptions = options();
    params.seal = false;
    let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
    file.array(b"", &[5], 1, Source::Contiguous(b"abcde"), Encode::None).unwrap();
    file.close().unwrap();
    // The second count, after the headers of the file and of the section.
    let (start, end) = (128 + 64 + 32, 240);
    File::options().write(true).open(&path).unwrap().set_len(end).unwrap();
    let mut file = Reader::open(Solo, &path, &tuned(&params.tuning)).unwrap();
    let error = file.next_section(true).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::ShortFile, Some(start)));
    let words = format!("found the end of the file at byte {end}, expected at least {} bytes", start + 32);
    assert!(error.to_string().contains(&words), "{error}");
}
