//! Seals as they are written: byte for byte what a naive program makes of the finished file, whatever ranks,
//! partitions, buffers, threads and flushes there were.

#![allow(clippy::cast_possible_truncation)] // test data

use crate::common::seal::{marked, sealed};
use crate::common::{self, Data, Model, ModelSection, Rng, options, write_sections};
use scda::{
    DataStream, DataType, Dataset, ElementStream, Encode, ErrorKind, Hdf5, IndexBox, LineBreak, ReadOptions,
    Reader, Result, SectionType, Sink, Solo, Source, ThreadComm, WriteOptions, Writer, run_on_threads,
};
use std::io::{Cursor, Read};
use std::path::Path;

fn params(seal: bool, style: LineBreak, aggregation_bytes: usize) -> WriteOptions {
    let mut params: WriteOptions = options();
    (params.seal, params.line_break, params.tuning.aggregation_bytes) = (seal, style, aggregation_bytes);
    // Even a file that is sealed before it has a section.
    params.hdf5 = Hdf5::Never;
    params
}

/// Some sections of every kind, and varrays long enough for anchors.
fn model(seed: u64, largest: u64) -> Model {
    let mut model = common::model(seed, largest);
    let mut rng = Rng(seed);
    for (count, encode) in
        [(4096, Encode::None), (4097, Encode::None), (9000, Encode::Always), (12_289, Encode::Auto)]
    {
        let elements: Vec<Vec<u8>> = (0..count).map(|i: usize| vec![b'e'; i % 3]).collect();
        model.sections.push(ModelSection { user: rng.bytes(5), data: Data::Varray(elements), encode });
        let elements: Vec<Vec<u8>> = (0..count).map(|_| vec![b'a'; 2]).collect();
        model.sections.push(ModelSection {
            user: b"a".to_vec(),
            data: Data::Array { size: 2, elements },
            encode,
        });
    }
    model
}

/// The file with a seal after each of these numbers of sections, and at its end, made of the file without.
fn expected(plain: &[u8], ends: &[usize], commits: &[usize], style: LineBreak) -> Vec<u8> {
    let (mut file, mut done, mut previous) = (Vec::new(), 0, 0);
    for &commit in commits {
        let end = if commit == 0 { 128 } else { ends[commit - 1] };
        if end == done {
            continue;
        }
        file.extend_from_slice(&plain[done..end]);
        file = sealed(&file, previous, style);
        (previous, done) = (file.len() as u64 - 288, end);
    }
    file
}

fn write(
    comm: ThreadComm,
    path: &Path,
    model: &Model,
    params: &WriteOptions,
    seed: u64,
    commits: &[usize],
) -> Result<()> {
    let ranks = (scda::Communicator::rank(&comm), scda::Communicator::size(&comm));
    let mut file = Writer::create(comm, path, &model.user, params)?;
    if commits.contains(&0) {
        file.commit()?;
    }
    write_sections(file, ranks, &model.sections, seed, |file, count| {
        // The last one is written by closing.
        if commits.contains(&count) && count < model.sections.len() { file.commit() } else { Ok(()) }
    })
}

#[test]
fn a_seal_is_the_same_for_any_ranks_and_says_what_is_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for seed in 0..2 {
        let style = [LineBreak::Unix, LineBreak::Mime][seed as usize % 2];
        let model = model(seed, 40_000);
        let last = model.sections.len();
        let plain = common::write_on(1, &path, &model, &params(false, style, 4 << 20), seed);
        let plain = marked(&plain, style);
        let ends: Vec<usize> = common::section_ends(&path).into_iter().map(|end| end as usize).collect();
        for commits in [vec![last], vec![0, last], vec![3, 4, 20, 20, last - 1, last]] {
            let expected = expected(&plain, &ends, &commits, style);
            for (ranks, aggregation_bytes) in
                [(1, 4 << 20), (1, 0), (2, 4 << 20), (3, 100_000), (5, 0), (4, 4 << 20)]
            {
                for sync in [false, true] {
                    let mut params = params(true, style, aggregation_bytes);
                    (params.sync, params.tuning.threads) = (sync, 1 + ranks % 2);
                    params.tuning.check = ranks == 2;
                    for written in run_on_threads(ranks, |comm| {
                        write(comm, &path, &model, &params, seed + ranks as u64, &commits)
                    }) {
                        written.unwrap();
                    }
                    let found = std::fs::read(&path).unwrap();
                    let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
                    assert!(
                        found == expected,
                        "seed {seed}, {ranks} ranks, {aggregation_bytes}, {commits:?}: {} bytes, expected {}, first at {differs:?}",
                        found.len(),
                        expected.len()
                    );
                }
            }
        }
    }
}

/// Appends the sections from `first` on.
fn append(
    comm: ThreadComm,
    path: &Path,
    sections: &[ModelSection],
    params: &WriteOptions,
    seed: u64,
) -> Result<u64> {
    let ranks = (scda::Communicator::rank(&comm), scda::Communicator::size(&comm));
    let file = Writer::append(comm, path, params)?;
    let cut = file.bytes_rolled_back();
    write_sections(file, ranks, sections, seed, |_, _| Ok(())).map(|()| cut)
}

fn append_on(ranks: usize, path: &Path, sections: &[ModelSection], params: &WriteOptions) -> Result<u64> {
    run_on_threads(ranks, |comm| append(comm, path, sections, params, ranks as u64)).pop().unwrap()
}

#[test]
fn appending_goes_on_where_a_file_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let model = model(5, 3000);
    let style = LineBreak::Unix;
    let last = model.sections.len();
    let plain = common::write_on(1, &path, &model, &params(false, style, 4 << 20), 5);
    let ends: Vec<usize> = common::section_ends(&path).into_iter().map(|end| end as usize).collect();
    let middle = last - 5;
    let to_be_sealed = marked(&plain, style);
    let twice = expected(&to_be_sealed, &ends, &[middle, last], style);
    let once = expected(&to_be_sealed, &ends, &[last], style);
    let first_seal = expected(&plain, &ends, &[middle], style).len();
    for (ranks, atomic) in [(1, false), (1, true), (3, false), (3, true)] {
        let mut params = params(true, style, 100_000);
        params.atomic = atomic;
        let append_to = |start: &[u8], from: usize, params: &WriteOptions| {
            std::fs::write(&path, start).unwrap();
            let cut = append_on(ranks, &path, &model.sections[from..], params);
            (cut.map_err(|error| error.kind()), std::fs::read(&path).unwrap())
        };
        let same =
            |found: &(std::result::Result<u64, scda::ErrorKind>, Vec<u8>), cut: u64, expected: &[u8]| {
                assert_eq!(found.0, Ok(cut), "{ranks} ranks, atomic {atomic}");
                let differs = found.1.iter().zip(expected).position(|(a, b)| a != b);
                if let Some(at) = differs {
                    let text = |bytes: &[u8]| {
                        String::from_utf8_lossy(&bytes[at.saturating_sub(300)..at + 40]).into_owned()
                    };
                    panic!("at {at}: {}\nexpected {}", text(&found.1), text(expected));
                }
                assert_eq!(found.1.len(), expected.len());
            };
        // A sealed file, which stays sealed; one with a seal, and sections after it that were not committed; one without a seal.
        let mut unsealing = params.clone();
        unsealing.seal = false;
        same(&append_to(&twice[..first_seal], middle, &params), 0, &twice);
        same(&append_to(&twice[..first_seal], middle, &unsealing), 0, &twice);
        let uncommitted = &plain[ends[middle - 1]..ends[middle + 1]];
        let begun = [&twice[..first_seal], uncommitted].concat();
        same(&append_to(&begun, middle, &params), uncommitted.len() as u64, &twice);
        // What a file had without a seal is sealed before anything is appended.
        for commits in [vec![middle, last], vec![0, last], vec![last]] {
            let end = if commits[0] == 0 { 128 } else { ends[commits[0] - 1] };
            let sealed = expected(&plain, &ends, &commits, style);
            same(&append_to(&plain[..end], commits[0], &params), 0, &sealed);
        }
        same(&append_to(&plain[..ends[middle - 1]], middle, &unsealing), 0, &plain);
        // A file that was to be sealed has only its header before its first seal.
        for end in [128, 129, ends[middle - 1], once.len() - 288, once.len() - 1] {
            same(&append_to(&once[..end], 0, &params), end as u64 - 128, &once);
            same(&append_to(&once[..end], 0, &unsealing), end as u64 - 128, &once);
        }
        let mut rng = Rng(1);
        for _ in 0..10 {
            // Whatever was not committed is removed after a seal.
            let torn = first_seal + 1 + rng.below((twice.len() - first_seal - 1) as u64) as usize;
            same(&append_to(&twice[..torn], middle, &params), (torn - first_seal) as u64, &twice);
            // Without a seal, what is not whole is refused.
            let cut = 1 + rng.below(plain.len() as u64 - 1) as usize;
            if !ends.contains(&cut) && cut != 128 {
                let (result, left) = append_to(&plain[..cut], 0, &params);
                assert!(result.is_err() && left == plain[..cut], "{cut}");
            }
        }
        // Also if nothing but the seal is missing: the disk may not have had the sections when it had the index.
        let tail = (twice.len() - first_seal) as u64;
        for missing in [288, 287, 1] {
            let mut torn = twice[..twice.len() - missing].to_vec();
            torn[first_seal + 130] ^= 1;
            same(&append_to(&torn, middle, &params), tail - missing as u64, &twice);
        }
        // A seal of which a sector is missing is none.
        for missing in [0..288, 0..32, 256..288] {
            let mut torn = twice.clone();
            torn[twice.len() - 288..][missing].fill(0);
            same(&append_to(&torn, middle, &params), tail, &twice);
        }
        // A file whose creation was interrupted is none.
        let torn = [&once[..0], &once[..1], &once[..64], &once[..127], &[0; 1], &[0; 128]];
        let no_files = torn.iter().map(|&torn| (torn, scda::ErrorKind::NoSuchFile));
        let others = [
            (&b"something else"[..], scda::ErrorKind::Format),
            (&[0; 129], scda::ErrorKind::Format),
            (b"scdata0 x", scda::ErrorKind::NoSuchFile),
        ];
        for (no_scda, kind) in no_files.chain(others) {
            let (result, left) = append_to(no_scda, 0, &params);
            assert_eq!((result, left), (Err(kind), no_scda.to_vec()));
        }
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(append_on(2, &path, &[], &options()).unwrap_err().kind(), scda::ErrorKind::NoSuchFile);
}

/// A file with two seals, of some sections each, where the parts of it begin, and what follows the second one.
fn two_seals_and_a_torn_tail(folder: &Path) -> (Vec<u8>, [usize; 4], Vec<u8>) {
    let path = folder.join("two");
    let params = params(true, LineBreak::Unix, 0);
    let mut ends = [0; 4];
    for i in 0..2 {
        let mut file = match i {
            0 => Writer::create(Solo, &path, b"u", &params).unwrap(),
            _ => Writer::append(Solo, &path, &params).unwrap(),
        };
        for size in [1, 3] {
            let data = vec![b'a'; 50 * size as usize];
            file.array(b"a", &[50], size, scda::Source::Contiguous(&data), Encode::None).unwrap();
        }
        // With an anchor.
        let count = 4097 * i as u64;
        let sizes = vec![0; count as usize];
        file.varray(b"v", &[count], &sizes, None, scda::Source::Contiguous(&[]), Encode::None).unwrap();
        file.flush().unwrap();
        ends[2 * i] = std::fs::metadata(&path).unwrap().len() as usize;
        file.close().unwrap();
        ends[2 * i + 1] = std::fs::metadata(&path).unwrap().len() as usize;
    }
    let mut tail = b"A torn ----".to_vec();
    tail.resize(1_500_000, b'x');
    (std::fs::read(&path).unwrap(), ends, tail)
}

/// Removed is what a killed job has left, not what is sealed and damaged.
#[test]
fn what_is_sealed_is_never_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let (file, [_, first, tables, second], tail) = two_seals_and_a_torn_tail(folder.path());
    let params = params(true, LineBreak::Unix, 0);
    let (mut refused, mut taken) = (0, 0);
    // In a section's header, and in tables and seal.
    let places = (first..first + 150).chain(tables - 40..tables + 300).chain(second - 420..second);
    let places: Vec<usize> = places.step_by(3).collect();
    for (i, &place) in places.iter().enumerate() {
        for rest in [&b""[..], &tail[..1], &tail] {
            if rest.len() > 1 && i % 16 != 0 {
                continue;
            }
            let mut damaged = [&file, rest].concat();
            damaged[place] ^= 1 << (i % 7);
            std::fs::write(&path, &damaged).unwrap();
            let results = run_on_threads(1 + i % 3, |comm| {
                Writer::append(comm, &path, &params)
                    .map(|file| file.bytes_rolled_back())
                    .map_err(|e| e.to_string())
            });
            assert!(results.iter().all(|result| *result == results[0]), "{place}: {results:?}");
            let left = std::fs::read(&path).unwrap();
            match &results[0] {
                Err(_) => {
                    assert!(left == damaged, "{place}: changed");
                    refused += 1;
                }
                Ok(cut) => {
                    assert!(place < second - 420, "{place}: in the index, or the seal");
                    assert_eq!(*cut as usize, rest.len(), "{place}");
                    assert!(left == damaged[..second]);
                    taken += 1;
                }
            }
        }
    }
    assert!(refused > 100 && taken > 100, "{refused} {taken}");
}

/// Sections of a user that have the names of tables, but not what tables have.
#[test]
fn sections_that_are_named_like_tables_are_not_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let row = [b'r'; 512];
    let write = |ends_with: &dyn Fn(&mut Writer) -> Result<()>| {
        let mut file = Writer::create(Solo, &path, b"u", &params(false, LineBreak::Unix, 0)).unwrap();
        file.inline(b"i", 0, Some(&[b'i'; 32])).unwrap();
        ends_with(&mut file).unwrap();
        file.close().unwrap();
        std::fs::read(&path).unwrap()
    };
    let index = |n: u64| {
        move |file: &mut Writer| {
            file.array(
                b"scda index 00",
                &[n],
                160,
                scda::Source::Contiguous(&row[..160 * n as usize]),
                Encode::None,
            )
        }
    };
    let anchors = |n: u64| {
        move |file: &mut Writer| {
            file.array(
                b"scda anchors 00",
                &[n],
                32,
                scda::Source::Contiguous(&row[..32 * n as usize]),
                Encode::None,
            )
        }
    };
    // Two rows are those of the file and of the section before: that may be an index.
    for (n, is_cut) in [(0, false), (1, false), (2, true)] {
        let file = write(&index(n));
        let cut = append_on(2, &path, &[], &params(true, LineBreak::Unix, 0)).unwrap();
        assert_eq!(cut > 0, is_cut, "{n} rows");
        let left = std::fs::read(&path).unwrap();
        assert!(left.starts_with(&file[..file.len() - cut as usize]));
    }
    for n in [0, 1, 2] {
        let file = write(&anchors(n));
        assert_eq!(append_on(2, &path, &[], &params(true, LineBreak::Unix, 0)).unwrap(), 0);
        assert!(std::fs::read(&path).unwrap().starts_with(&file));
    }
}

#[test]
fn a_file_without_sections_is_sealed_and_committing_twice_adds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = Writer::create(Solo, &path, b"u", &params(true, LineBreak::Unix, 0)).unwrap();
    file.commit().unwrap();
    file.commit().unwrap();
    file.close().unwrap();
    let found = std::fs::read(&path).unwrap();
    assert_eq!(found, sealed(&found[..128], 0, LineBreak::Unix));
    let mut file = Writer::create(Solo, &path, b"u", &options()).unwrap();
    assert_eq!(file.commit().unwrap_err().kind(), scda::ErrorKind::Usage);
}

#[test]
fn streams_are_sealed_as_other_sections() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let bytes: Vec<u8> = (0..9_000_000_u32).map(|i| (i / 1000) as u8).collect();
    for encode in [Encode::None, Encode::Always, Encode::Auto] {
        let write = |seal: bool, streams: bool| -> Result<Vec<u8>> {
            let mut file = Writer::create(Solo, &path, b"u", &params(seal, LineBreak::Unix, 4 << 20))?;
            if streams {
                file.incremental().block(
                    b"block",
                    9_000_000,
                    &mut bytes.as_slice(),
                    if encode == Encode::Auto { Encode::None } else { encode },
                )?;
                file.incremental().array(b"array", 9_000, 1000, &mut std::io::Cursor::new(&bytes), encode)?;
                let mut elements = Elements { data: Cursor::new(&bytes), sizes: &[100; 90_000], next: 0 };
                file.incremental().varray(b"varray", 90_000, &mut elements, encode)?;
            } else {
                let source = scda::Source::Contiguous(&bytes);
                file.block(
                    b"block",
                    0,
                    9_000_000,
                    Some(&bytes),
                    if encode == Encode::Auto { Encode::None } else { encode },
                )?;
                file.array(b"array", &[9_000], 1000, source, encode)?;
                file.varray(b"varray", &[90_000], &[100; 90_000], None, source, encode)?;
            }
            file.close()?;
            Ok(std::fs::read(&path).unwrap())
        };
        let plain = write(false, false).unwrap();
        let expected = sealed(&marked(&plain, LineBreak::Unix), 0, LineBreak::Unix);
        assert!(write(true, false).unwrap() == expected, "{encode:?}");
        assert!(write(true, true).unwrap() == expected, "{encode:?}, streams");
    }
}

/// Sizes whose sum exceeds 63 bits, but not those of 4096 elements one after the other.
struct Huge(u64);

impl std::io::Read for Huge {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::UnexpectedEof.into())
    }
}

impl scda::DataStream for Huge {}

impl scda::ElementStream for Huge {
    fn read_sizes(&mut self, sizes: &mut [u64]) -> std::io::Result<()> {
        for size in sizes {
            *size = if self.0.is_multiple_of(4096) { u64::MAX >> 1 } else { 0 };
            self.0 += 1;
        }
        Ok(())
    }
}

#[test]
fn impossible_sizes_of_a_stream_are_an_error_of_a_sealed_file_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let errors = [false, true].map(|seal| {
        let mut file = Writer::create(Solo, &path, b"u", &params(seal, LineBreak::Unix, 0)).unwrap();
        file.incremental().varray(b"v", 20_000, &mut Huge(0), Encode::None).unwrap_err().to_string()
    });
    assert_eq!(errors[0], errors[1]);
}

#[test]
fn what_could_not_be_synced_is_not_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for ranks in [1, 3] {
        let (mut before, mut after) = (0, 0);
        for seed in 0..100 {
            let mut params = params(true, LineBreak::Unix, 4 << 20);
            (params.sync, params.tuning.faults) = (true, Some(scda::Faults { every: 8, seed }));
            let errors = run_on_threads(ranks, |comm| {
                let mut file = Writer::create(comm, &path, b"u", &params)?;
                file.inline(b"a", 0, Some(&[b'a'; 32]))?;
                file.close()
            });
            if errors[0].as_ref().is_err_and(|error| error.to_string().contains("sync")) {
                let left = std::fs::read(&path).unwrap();
                // The seal alone may be lost, not what it seals.
                if left.len() == 224 { before += 1 } else { after += 1 }
            }
        }
        assert!(before > 0 && after > 0, "{ranks} ranks: {before} without a seal, {after} with one");
    }
}

/// The sections of a program, and how many there are before each commit.
fn random_model(seed: u64, rng: &mut Rng) -> (Model, Vec<usize>) {
    let model = common::model(seed, [200, 40_000, 100_000][rng.below(3) as usize]);
    let count = model.sections.len();
    let commits = (1..count).filter(|_| rng.below(3) == 0).chain([count]).collect();
    (model, commits)
}

#[test]
fn faults_leave_what_was_committed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, plain_path) = (folder.path().join("f"), folder.path().join("plain"));
    let mut failed = 0;
    for seed in 0..40 {
        let mut rng = Rng(seed * 77 + 1);
        let (ranks, style) =
            (1 + rng.below(4) as usize, [LineBreak::Unix, LineBreak::Mime][seed as usize % 2]);
        let (model, commits) = random_model(seed, &mut rng);
        let mut params = params(false, style, [0, 64 << 10, 4 << 20][rng.below(3) as usize]);
        (params.tuning.check, params.sync) = (rng.below(2) == 0, rng.below(2) == 0);
        let plain = marked(&common::write_on(1, &plain_path, &model, &params, seed), style);
        let ends: Vec<usize> =
            common::section_ends(&plain_path).into_iter().map(|end| end as usize).collect();
        let expected = expected(&plain, &ends, &commits, style);
        params.seal = true;
        params.tuning.faults = Some(scda::Faults { every: 1 + rng.below(150), seed });
        let committed = std::sync::Mutex::new(0);
        let errors = run_on_threads(ranks, |comm| {
            let ranks = (scda::Communicator::rank(&comm), ranks);
            let file = Writer::create(comm, &path, &model.user, &params)?;
            write_sections(file, ranks, &model.sections, seed, |file, count| {
                if commits.contains(&count) && count < model.sections.len() {
                    file.commit()?;
                    let mut committed = committed.lock().unwrap();
                    *committed = count.max(*committed);
                }
                Ok(())
            })
        });
        let errors: Vec<_> = errors.into_iter().map(|result| result.err().map(|e| e.to_string())).collect();
        assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "seed {seed}: {errors:?}");
        let left = std::fs::read(&path).unwrap_or_default();
        let _ = std::fs::remove_file(&path);
        let Some(error) = &errors[0] else {
            assert!(left == expected, "seed {seed}");
            continue;
        };
        failed += 1;
        let right = left.iter().zip(&expected).take_while(|(a, b)| a == b).count();
        // Truncating works, if it says so or not.
        assert_eq!(right, left.len(), "seed {seed}: {error}");
        let committed = committed.into_inner().unwrap();
        let done: Vec<usize> = commits.iter().copied().filter(|&count| count <= committed).collect();
        let least = self::expected(&plain, &ends, &done, style);
        assert!(left.starts_with(&least), "seed {seed}: {error}");
    }
    assert!(failed > 20, "{failed} failed");
}

/// Injected faults while sections are appended after a torn tail: the committed part stays, byte for byte.
#[test]
fn faults_while_appending_leave_what_was_committed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, plain_path) = (folder.path().join("f"), folder.path().join("plain"));
    let (mut refused, mut failed, mut done) = (0, 0, 0);
    for seed in 0..60 {
        let mut rng = Rng(seed * 31 + 5);
        let (ranks, style) = (1 + rng.below(3) as usize, LineBreak::Unix);
        let (model, mut commits) = random_model(seed, &mut rng);
        let first = model.sections.len() / 3;
        commits.retain(|&count| count > first);
        commits.insert(0, first);
        let mut params = params(false, style, [0, 64 << 10, 4 << 20][rng.below(3) as usize]);
        (params.tuning.check, params.sync) = (rng.below(2) == 0, rng.below(2) == 0);
        let plain = marked(&common::write_on(1, &plain_path, &model, &params, seed), style);
        let ends: Vec<usize> =
            common::section_ends(&plain_path).into_iter().map(|end| end as usize).collect();
        let whole = expected(&plain, &ends, &commits, style);
        let committed = expected(&plain, &ends, &[first], style);
        let torn = rng.below(3000) as usize;
        let before = [&committed[..], &vec![b'x'; torn]].concat();
        std::fs::write(&path, &before).unwrap();
        (params.seal, params.atomic) = (true, rng.below(4) == 0);
        params.tuning.faults = Some(scda::Faults { every: 1 + rng.below(100), seed });
        let sealed_until = std::sync::Mutex::new(first);
        let errors = run_on_threads(ranks, |comm| {
            let ranks = (scda::Communicator::rank(&comm), ranks);
            let file = Writer::append(comm, &path, &params)?;
            assert_eq!(file.bytes_rolled_back(), torn as u64);
            write_sections(file, ranks, &model.sections[first..], seed, |file, count| {
                let count = first + count;
                if commits.contains(&count) && count < model.sections.len() {
                    file.commit()?;
                    *sealed_until.lock().unwrap() = count;
                }
                Ok(())
            })
        });
        let errors: Vec<_> = errors.into_iter().map(|result| result.err().map(|e| e.to_string())).collect();
        assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "seed {seed}: {errors:?}");
        let left = std::fs::read(&path).unwrap();
        let names = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, 2, "seed {seed}: a file is left");
        let Some(error) = &errors[0] else {
            assert!(left == whole, "seed {seed}");
            done += 1;
            continue;
        };
        if left == before {
            refused += 1;
        } else {
            let sealed_until = sealed_until.into_inner().unwrap();
            let sealed: Vec<usize> = commits.iter().copied().filter(|&count| count <= sealed_until).collect();
            let least = expected(&plain, &ends, &sealed, style);
            assert!(
                !params.atomic && left.starts_with(&least) && whole.starts_with(&left),
                "seed {seed}: {error}"
            );
            failed += 1;
        }
        // The next one goes on.
        params.tuning.faults = None;
        append_on(ranks, &path, &[], &params).unwrap();
        assert!(std::fs::read(&path).unwrap().starts_with(&committed));
    }
    println!("{refused} refused, {failed} failed, {done} done");
    assert!(refused > 10 && failed > 10 && done > 0, "{refused} {failed} {done}");
}

/// Elements one after the other.
struct Elements<'a> {
    data: Cursor<&'a Vec<u8>>,
    sizes: &'a [u64],
    next: usize,
}

impl Read for Elements<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.data.read(buffer)
    }
}

impl DataStream for Elements<'_> {
    fn rewind(&mut self) -> std::io::Result<()> {
        self.next = 0;
        self.data.set_position(0);
        Ok(())
    }
}

impl ElementStream for Elements<'_> {
    fn read_sizes(&mut self, sizes: &mut [u64]) -> std::io::Result<()> {
        sizes.copy_from_slice(&self.sizes[self.next..][..sizes.len()]);
        self.next += sizes.len();
        Ok(())
    }
}

/// Copies all sections of a file as they lie in it, both of a compressed pair, into a sealed file.
fn copy_raw(from: &Path, to: &Path, style: LineBreak, streams: bool) {
    let mut reader = Reader::open(Solo, from, &options()).unwrap();
    let mut params = params(true, style, 4 << 20);
    params.raw = true;
    let mut writer = Writer::create(Solo, to, &reader.header().user, &params).unwrap();
    while let Some(section) = reader.next_section(false).unwrap() {
        let (user, none, count) = (&*section.user, Encode::None, section.count);
        match section.section_type {
            SectionType::Inline => {
                let mut data = [0; 32];
                reader.read_inline(0, Some(&mut data)).unwrap();
                writer.inline(user, 0, Some(&data)).unwrap();
            }
            SectionType::Block => {
                let mut data = vec![0; section.size as usize];
                reader.read_block(section.size, 0, Some(&mut data)).unwrap();
                match streams {
                    true => writer.incremental().block(user, section.size, &mut &data[..], none).unwrap(),
                    false => writer.block(user, 0, section.size, Some(&data), none).unwrap(),
                }
            }
            SectionType::Array => {
                let mut data = vec![0; (count * section.size) as usize];
                reader.read_array(&[count], section.size, Sink::Contiguous(&mut data)).unwrap();
                match streams {
                    true => {
                        writer.incremental().array(user, count, section.size, &mut &data[..], none).unwrap()
                    }
                    false => {
                        let source = Source::Contiguous(&data);
                        writer.array(user, &[count], section.size, source, none).unwrap();
                    }
                }
            }
            SectionType::Varray => {
                let mut sizes = vec![0; count as usize];
                reader.read_varray_sizes(&[count], Some(&mut sizes)).unwrap();
                let mut data = vec![0; sizes.iter().sum::<u64>() as usize];
                reader.read_varray(&[count], Some(&sizes), None, Sink::Contiguous(&mut data)).unwrap();
                match streams {
                    true => {
                        let mut stream = Elements { data: Cursor::new(&data), sizes: &sizes, next: 0 };
                        writer.incremental().varray(user, count, &mut stream, none).unwrap();
                    }
                    false => {
                        let source = Source::Contiguous(&data);
                        writer.varray(user, &[count], &sizes, None, source, none).unwrap();
                    }
                }
            }
        }
    }
    writer.close().unwrap();
}

#[test]
fn a_pair_that_is_written_as_two_sections_has_one_row() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("f"), folder.path().join("copy"));
    for (seed, style) in [(3, LineBreak::Unix), (4, LineBreak::Mime)] {
        let mut model = model(seed, 40_000);
        // Longer than what a stream reads at once.
        let elements = vec![b"element".to_vec(); 140_000];
        model.sections.push(ModelSection {
            user: b"long".to_vec(),
            data: Data::Varray(elements),
            encode: Encode::Always,
        });
        let expected = common::write_on(1, &path, &model, &params(true, style, 4 << 20), seed);
        for streams in [false, true] {
            copy_raw(&path, &copy, style, streams);
            assert!(std::fs::read(&copy).unwrap() == expected, "seed {seed}, streams {streams}");
        }
    }
}

#[test]
fn half_a_pair_is_not_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut raw = params(true, LineBreak::Unix, 4 << 20);
    raw.raw = true;
    let entry = |letter| -> [u8; 32] { common::seal::entry(letter, 5, LineBreak::Unix).try_into().unwrap() };
    let none = Encode::None;
    type Step<'a> = &'a dyn Fn(&mut Writer) -> Result<()>;
    let first: Step<'_> = &|file| file.inline(b"A compressed scda 00", 0, Some(&entry('U')));
    let sizes: Step<'_> =
        &|file| file.array(b"V compressed scda 00", &[1], 32, Source::Contiguous(&entry('U')), none);
    let entries = entry('E');
    let wrong: [(Step<'_>, Step<'_>); 6] = [
        (first, &|file| file.commit()),
        (first, &|file| file.block(b"b", 0, 0, None, none)),
        (first, &|file| file.inline(b"i", 0, Some(&[b'i'; 32]))),
        (sizes, &|file| file.varray(b"v", &[2], &[0, 0], None, Source::Contiguous(&[]), none)),
        (&|_| Ok(()), &|file| file.inline(b"B compressed scda 00", 0, Some(&entries))),
        (&|_| Ok(()), &|file| {
            file.array(b"V compressed scda 00", &[1], 5, Source::Contiguous(b"abcde"), none)
        }),
    ];
    for (number, (begin, end)) in wrong.into_iter().enumerate() {
        let mut file = Writer::create(Solo, &path, b"", &raw).unwrap();
        file.block(b"before", 0, 3, Some(b"abc"), none).unwrap();
        begin(&mut file).unwrap();
        assert!(end(&mut file).is_err(), "{number}");
        drop(file);
        // What was whole before it is there.
        let mut all: ReadOptions = options();
        all.to_seal = false;
        assert_eq!(Reader::open(Solo, &path, &all).unwrap().sections().unwrap(), 1, "{number}");
        assert_eq!(Reader::open(Solo, &path, &options()).unwrap().sections().unwrap(), 0, "{number}");
    }
    let mut file = Writer::create(Solo, &path, b"", &raw).unwrap();
    first(&mut file).unwrap();
    assert!(file.close().is_err());
    // The ranks but one would not know the sizes.
    for written in run_on_threads(2, |comm| {
        let mut file = Writer::create(comm, &path, b"", &raw)?;
        file.inline(b"A compressed scda 00", 0, Some(&entries))
    }) {
        assert_eq!(written.unwrap_err().kind(), ErrorKind::Argument);
    }
}

/// What a job leaves that was killed before its first commit.
#[test]
fn a_file_of_nothing_but_its_header_is_appended_to_by_any_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let mut params: WriteOptions = options();
    params.seal = true;
    let files: Vec<Vec<u8>> = (1..=4)
        .map(|ranks| {
            let path = folder.path().join(ranks.to_string());
            Writer::create(Solo, &path, b"killed", &params).unwrap().close().unwrap();
            std::fs::File::options().write(true).open(&path).unwrap().set_len(128).unwrap();
            run_on_threads(ranks, |comm| {
                let rank = scda::Communicator::rank(&comm);
                let mut file = Writer::append(comm, &path, &params).unwrap();
                let dataset = Dataset::new("time", DataType::Uint8, []);
                let one = [IndexBox::all(&[])];
                let (one, data) = if rank == 0 { (&one[..], &b"1"[..]) } else { (&[][..], &[][..]) };
                file.dataset(&dataset, one, data).unwrap();
                file.close().unwrap();
            });
            let mut options: ReadOptions = common::options();
            options.verify = true;
            let mut file = Reader::open(Solo, &path, &options).unwrap();
            assert!(file.dataset("time").unwrap().is_some());
            std::fs::read(&path).unwrap()
        })
        .collect();
    assert!(files.iter().all(|file| *file == files[0]));
}
