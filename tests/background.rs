//! Writing in the background: the bytes are those of the synchronous way, on any number of ranks; an error is the same one on
//! all ranks, told by the request that failed or by the next call; what was waited for is in the file.

#![allow(clippy::cast_possible_truncation)] // test data

mod common;

use common::{Rng, options};
use scda::{
    Codec, Collective, CommitRequest, Data, DataType, Dataset, Encode, ErrorKind, Faults, IndexBox, Layout,
    Reader, Result, Sink, Solo, Source, WriteOptions, Writer, run_on_threads,
};
use std::path::Path;

/// With as little memory for the background as there may be, or none.
fn params(background: bool) -> WriteOptions {
    let mut params: WriteOptions = options();
    (params.background_bytes, params.seal, params.tuning.check) = (u64::from(background) << 20, true, false);
    params
}

/// Writes a step: sections of every kind, small and large, and datasets, contiguous and in chunks.
fn step(file: &mut Writer, (rank, size): (usize, usize), step: u64) -> Result<()> {
    let mut rng = Rng(step);
    let counts = rng.partition(60, size);
    let own = counts[rank] as usize;
    let before: u64 = counts[..rank].iter().sum();
    let root = step as usize % size;
    file.inline(b"time", root, (rank == root).then_some(&[b'0' + step as u8 % 10; 32]))?;
    let block = (rank == root).then(|| vec![step as u8; 100]);
    file.block(b"parameters", root, 100, block.as_deref(), Encode::None)?;
    let element = [9, 3000, 30_000][step as usize % 3];
    let byte = |index: u64| (index / 7 + step) as u8;
    let data: Vec<u8> = (before * element..(before + own as u64) * element).map(byte).collect();
    for encode in [Encode::None, Encode::Always] {
        file.array(b"array", &counts, element, Source::Contiguous(&data), encode)?;
        let sizes: Vec<u64> = (before..before + own as u64).map(|index| index % 5 * element / 4).collect();
        let varied: Vec<u8> =
            (before..).zip(&sizes).flat_map(|(index, &size)| vec![byte(index); size as usize]).collect();
        file.varray(b"varray", &counts, &sizes, None, Source::Contiguous(&varied), encode)?;
    }
    for layout in [Layout::Contiguous, Layout::Chunked { shape: None, text: false }] {
        let mut dataset = Dataset::new("field", DataType::Uint8, [60, element]);
        dataset.layout = layout;
        file.dataset(&dataset, &[IndexBox::new([before, 0], [own as u64, element])], &data)?;
    }
    Ok(())
}

/// Writes a file of `steps` steps, each committed, in the background or not.
fn write(size: usize, path: &Path, params: &WriteOptions, steps: u64, halves: bool) -> Vec<u8> {
    run_on_threads(size, |comm| {
        let ranks = (scda::Communicator::rank(&comm), size);
        let mut file = Writer::create(comm, path, b"steps", params).unwrap();
        let mut begun: Option<CommitRequest> = None;
        for number in 0..steps {
            step(&mut file, ranks, number).unwrap();
            if !halves {
                file.commit().unwrap();
                continue;
            }
            if let (Some(begun), 0) = (begun.take(), number % 3) {
                // Its commit was completed by the calls since.
                assert!(file.statistics().is_some());
                begun.wait(&mut file).unwrap();
            }
            let request = file.commit_begin().unwrap();
            while number % 2 == 0 && !request.test(&file) {
                std::thread::yield_now();
            }
            if number % 4 == 1 {
                request.wait(&mut file).unwrap();
            } else {
                begun = Some(request);
            }
        }
        if params.background_bytes > 0 {
            let statistics = file.statistics().unwrap();
            assert!(statistics.copied_bytes > 0 || ranks.0 > 0, "{statistics:?}");
        }
        match halves {
            true => file.close_begin().unwrap().wait().unwrap(),
            false => file.close().unwrap(),
        }
    });
    std::fs::read(path).unwrap()
}

#[test]
fn the_bytes_are_those_of_the_synchronous_way_on_any_number_of_ranks() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("steps.scda");
    let first = write(1, &path, &params(false), 7, false);
    for size in 1..=8 {
        let mut params = params(true);
        (params.atomic, params.sync) = (size % 3 == 0, size % 2 == 0);
        params.tuning.aggregation_bytes = if size == 5 { 0 } else { params.tuning.aggregation_bytes };
        assert!(write(size, &path, &params, 7, true) == first, "{size} ranks");
        assert!(write(size, &path, &params, 7, false) == first, "{size} ranks, commits in one");
    }
    // Without memory for it, a commit has two halves all the same.
    assert!(write(3, &path, &params(false), 7, true) == first);
}

#[test]
fn files_without_a_seal_and_appended_ones_are_the_same_too() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("plain.scda");
    for seal in [false, true] {
        let mut files = Vec::new();
        for (size, background) in [(1, false), (1, true), (3, true)] {
            let mut params = params(background);
            params.seal = seal;
            for part in 0..3 {
                run_on_threads(size, |comm| {
                    let ranks = (scda::Communicator::rank(&comm), size);
                    let mut file = match part {
                        0 => Writer::create(comm, &path, b"steps", &params),
                        _ => Writer::append(comm, &path, &params),
                    }
                    .unwrap();
                    step(&mut file, ranks, part).unwrap();
                    let closing = file.close_begin().unwrap();
                    while !closing.test() {
                        std::thread::yield_now();
                    }
                    closing.wait().unwrap();
                });
            }
            files.push(std::fs::read(&path).unwrap());
        }
        assert!(files.windows(2).all(|pair| pair[0] == pair[1]), "seal {seal}");
    }
}

/// The compressed datasets of a call wait for their place after those of the calls before, in every codec; and what is plain after them.
fn compressed(file: &mut Writer, (rank, size): (usize, usize), seed: u64, calls: u64) -> Result<()> {
    let (mut rng, mut parts) = (Rng(seed), Rng(seed + size as u64));
    for number in 0..calls {
        let mut all = Vec::new();
        for which in 0..=number % 3 {
            let mut dataset = Dataset::new(format!("field {number} {which}"), DataType::Float32, [90, 31]);
            let (rows, how) = (1 + rng.below(40), rng.below(6) as usize);
            let shape = Some(vec![rows, 8]);
            dataset.layout = match how {
                5 => Layout::Auto { shape },
                _ => Layout::Chunked { shape, text: how == 4 },
            };
            dataset.codec = Codec::NAMES.get(how).map_or(Codec::default(), |&(codec, _)| codec);
            all.push(dataset);
        }
        let counts = parts.partition(90, size);
        let before: u64 = counts[..rank].iter().sum();
        let cells = before * 31..(before + counts[rank]) * 31;
        // Some chunks have the fill value everywhere.
        let value = |cell: u64| if cell < 500 { 0.0 } else { (cell as f32).sin() };
        let data: Vec<u8> = cells.flat_map(|cell| value(cell).to_le_bytes()).collect();
        let regions = [IndexBox::new([before, 0], [counts[rank], 31])];
        match &all[..] {
            [one] if rng.below(2) == 0 => file.field(one, &counts, &*data)?,
            [one] => file.dataset(one, &regions, &data)?,
            several => {
                let several: Vec<_> =
                    several.iter().map(|one| (one, &regions[..], Data::Packed(&data))).collect();
                file.datasets(&several)?;
            }
        }
        let root = parts.below(size as u64) as usize;
        let is_root = rank == root;
        let plain = |name: &str| Dataset::new(name, DataType::Float32, [90, 31]);
        match rng.below(9) {
            0 => file.inline(b"time", root, is_root.then_some(&[b'0' + number as u8; 32]))?,
            1 => file.block(b"parameters", root, 100, is_root.then_some(&[7; 100]), Encode::None)?,
            2 => file.array(b"rows", &counts, 31 * 4, Source::Contiguous(&data), Encode::None)?,
            3 => {
                let sizes = vec![31 * 4; counts[rank] as usize];
                let rows: Vec<&[u8]> = data.chunks(31 * 4).collect();
                file.varray(b"varied", &counts, &sizes, None, Source::Indirect(&rows), Encode::None)?;
            }
            4 => file.group("plain", r#"{"a": 1}"#)?,
            5 => file.field(&plain("plain/field"), &counts, &*data)?,
            6 => {
                let [a, b] = ["plain/a", "plain/b"].map(plain);
                file.datasets(&[
                    (&a, &regions[..], Data::Packed(&data)),
                    (&b, &regions[..], Data::Packed(&data)),
                ])?;
            }
            7 => {
                // Neither a sample of many chunks nor all of a few get smaller.
                let mut noise = plain("noise");
                let rows = if seed.is_multiple_of(2) { 1 } else { 45 };
                noise.layout = Layout::Auto { shape: Some(vec![rows, 31]) };
                let cells = 31 * before..31 * (before + counts[rank]);
                let data: Vec<u8> = cells.flat_map(|cell| (Rng(cell).next() as u32).to_le_bytes()).collect();
                file.field(&noise, &counts, &*data)?;
            }
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn compressed_datasets_wait_for_their_place_and_are_the_same() {
    let scratch = tempfile::tempdir().unwrap();
    for seed in 0..16 {
        println!("seed {seed}");
        let path = |size: usize| scratch.path().join(format!("{size}.scda"));
        let write = |size: usize, background| {
            run_on_threads(size, |comm| {
                let ranks = (scda::Communicator::rank(&comm), size);
                let mut file = Writer::create(comm, path(size), b"fields", &params(background)).unwrap();
                compressed(&mut file, ranks, seed, 4).unwrap();
                assert_eq!(file.position().is_none(), background, "whether the datasets wait");
                let begun = file.commit_begin().unwrap();
                compressed(&mut file, ranks, seed + 100, 4).unwrap();
                begun.wait(&mut file).unwrap();
                assert_eq!(file.position().is_none(), background, "those after the commit wait");
                file.block(b"plain", 0, 3, Some(b"xyz"), Encode::None).unwrap();
                assert_eq!(file.position().is_none(), background, "what follows them waits, too");
                file.flush().unwrap();
                assert!(file.position().is_some());
                compressed(&mut file, ranks, seed + 200, 4).unwrap();
                // What was passed before an error is in the file, whether all ranks meet in it or one rank leaves.
                let mut refused = Dataset::new("refused", DataType::Uint8, [2]);
                refused.layout = Layout::Chunked { shape: None, text: false };
                let twice = [IndexBox::new([0], [2]), IndexBox::new([1], [1])];
                let is_last = ranks.0 + 1 == size;
                let (regions, data) = if is_last { (&twice[..], &b"123"[..]) } else { (&[][..], &b""[..]) };
                match seed % 5 {
                    4 => {
                        // The rank that notices it may be alone.
                        let data = Source::Contiguous(if is_last { b"12" } else { b"" });
                        let counts: Vec<u64> = (1..=size as u64).map(|rank| rank / size as u64).collect();
                        let written = file.array(b"refused", &counts, 1, data, Encode::None);
                        assert!(written.and_then(|()| file.flush()).is_err());
                    }
                    0 => assert!(file.dataset(&refused, regions, data).is_err()),
                    1 if is_last => drop(file.abandon("deliberately")),
                    1 => assert!(file.flush().is_err()),
                    2 => file.close_begin().unwrap().wait().unwrap(),
                    _ => file.close().unwrap(),
                }
            });
            std::fs::read(path(size)).unwrap()
        };
        let first = write(1, false);
        for size in [1, 1 + seed as usize % 8] {
            assert!(write(size, true) == first, "{size} ranks");
        }
    }
}

/// The close that has begun has completed the commits, so they may still be waited for.
#[test]
fn a_commit_may_be_waited_for_while_the_file_is_being_closed() {
    let scratch = tempfile::tempdir().unwrap();
    for background in [false, true] {
        let path = scratch.path().join("f.scda");
        run_on_threads(2, |comm| {
            let mut file = Writer::create(comm, &path, b"f", &params(background)).unwrap();
            file.block(b"b", 0, 4, Some(b"abcd"), Encode::None).unwrap();
            let commits = [(); 2].map(|()| file.commit_begin().unwrap());
            scda::bindings::WriterCalls::begin_close(&mut file).unwrap();
            assert!(commits[1].test(&file));
            commits.into_iter().for_each(|commit| commit.wait(&mut file).unwrap());
            file.close().unwrap();
        });
        let mut file = Reader::open(Solo, &path, &scda::ReadOptions::default()).unwrap();
        assert!(file.is_sealed() && file.next_section(false).unwrap().is_some());
        // A rank that waits twice leaves no other waiting for it.
        run_on_threads(2, |comm| {
            let rank = scda::Communicator::rank(&comm);
            let mut file = Writer::create(comm, &path, b"f", &params(background)).unwrap();
            let commit = file.commit_begin().unwrap();
            scda::bindings::WriterCalls::begin_close(&mut file).unwrap();
            commit.wait(&mut file).unwrap();
            let error = if rank == 1 { commit.wait(&mut file) } else { file.close() };
            assert_eq!(error.unwrap_err().kind(), ErrorKind::Usage);
        });
    }
}

/// A dataset in one chunk of `bytes` bytes.
fn chunk(bytes: u64) -> Dataset {
    let mut dataset = Dataset::new("chunk", DataType::Uint8, [bytes]);
    dataset.layout = Layout::Chunked { shape: Some(vec![bytes]), text: false };
    dataset
}

#[test]
fn what_waits_of_many_small_datasets_is_bounded() {
    let path = tempfile::tempdir().unwrap().path().with_extension("scda");
    let mut file = Writer::create(Solo, &path, b"many", &params(true)).unwrap();
    for _ in 0..1000 {
        file.dataset(&chunk(3), &[IndexBox::all(&[3])], b"abc").unwrap();
    }
    assert!(file.statistics().unwrap().encoded_bytes > 0, "none was given its place");
    file.close().unwrap();
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_request_is_waited_for_once_and_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    run_on_threads(2, |comm| {
        let mut file = Writer::create(comm, folder.path().join("f"), b"", &params(false)).unwrap();
        let requests = [(); 3].map(|()| file.commit_begin().unwrap());
        for index in [1, 2, 0] {
            requests[index].wait(&mut file).unwrap();
        }
        let error = requests[2].wait(&mut file).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains("waited for already"), "{error}");
    });
}

/// Streams are written by the thread, too, and go on when a commit in two halves was waited for.
#[test]
fn streams_are_the_same_too() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("streams.scda");
    let write = |background| {
        run_on_threads(3, |comm| {
            let (rank, another) = (scda::Communicator::rank(&comm), comm.clone());
            let mut file = Writer::create(comm, &path, b"streams", &params(background)).unwrap();
            file.begin_streams(b"log", 4096).unwrap();
            for part in 0..5_usize {
                file.write_stream(&vec![part as u8; 40_000 * (rank + part)]).unwrap();
                if part == 2 && !background {
                    file.commit().unwrap();
                } else if part == 2 {
                    let (request, bytes) = (file.commit_begin().unwrap(), file.stream_bytes());
                    assert_eq!(bytes, 40_000 * (3 * rank as u64 + 3));
                    request.wait(&mut file).unwrap();
                    assert_eq!(file.stream_bytes(), bytes);
                }
            }
            file.end_streams().unwrap();
            let request = file.commit_begin().unwrap();
            request.wait(&mut file).unwrap();
            // What is written before the wait is refused, on all ranks.
            let path = path.with_extension(if background { "a" } else { "b" });
            let mut other = Writer::create(another, &path, b"streams", &params(background)).unwrap();
            other.begin_streams(b"log", 4096).unwrap();
            let request = other.commit_begin().unwrap();
            let refused = if rank == 1 { other.write_stream(b"x") } else { Ok(()) };
            assert_eq!(refused.is_err(), rank == 1);
            let error = request.wait(&mut other).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage);
            assert!(error.to_string().contains("a commit was begun; wait for it"), "{error}");
            file.close().unwrap();
        });
        std::fs::read(&path).unwrap()
    };
    let [first, second] = [write(false), write(true)];
    assert!(first == second);
}

/// Several files at once, whose commits are begun, tested, completed and passed over at random.
#[test]
fn whatever_the_schedule_the_files_are_the_same() {
    // In memory, if there is such a folder: the disk would take most of the time.
    let scratch = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let schedules = std::env::var("SCDA_SCHEDULES").map_or(25, |number| number.parse().unwrap());
    for seed in 0..schedules {
        println!("schedule {seed}");
        let size = 1 + seed as usize % 4;
        let path = |file: usize, how: &str| scratch.path().join(format!("{how}{file}.scda"));
        for (how, background) in [("a", false), ("b", true)] {
            run_on_threads(size, |comm| {
                let ranks = (scda::Communicator::rank(&comm), size);
                let mut rng = Rng(seed);
                let comms = [comm.clone(), comm.clone(), comm];
                let mut files: Vec<_> = comms
                    .into_iter()
                    .enumerate()
                    .map(|(number, comm)| {
                        let file =
                            Writer::create(comm, path(number, how), b"f", &params(background)).unwrap();
                        (file, None::<CommitRequest>)
                    })
                    .collect();
                for action in 0..24 {
                    let (file, request) = &mut files[rng.below(3) as usize];
                    match rng.below(6) {
                        0 => *request = Some(file.commit_begin().unwrap()),
                        1 => drop(request.map(|request| request.test(file))),
                        2 => request.take().map_or(Ok(()), |request| request.wait(file)).unwrap(),
                        3 => file.block(b"b", 0, 40, Some(&[action as u8; 40]), Encode::None).unwrap(),
                        4 => compressed(file, ranks, seed + action, 1).unwrap(),
                        _ => step(file, ranks, action).unwrap(),
                    }
                }
                let mut closing = Vec::new();
                for (file, _) in files {
                    closing.push(file.close_begin().unwrap());
                }
                closing.into_iter().rev().for_each(|file| file.wait().unwrap());
            });
        }
        for file in 0..3 {
            let [a, b] = ["a", "b"].map(|how| std::fs::read(path(file, how)).unwrap());
            assert!(a == b, "schedule {seed}, file {file}");
        }
    }
}

/// Faults of the file on any rank: all ranks get the same error, from the wait or from the next call; and what an earlier wait
/// has said is in the file.
#[test]
fn an_error_is_that_of_all_ranks_and_loses_nothing_that_was_waited_for() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("faults.scda");
    let (mut failed, mut named) = (0, 0);
    for seed in 0..150 {
        let size = 1 + seed as usize % 4;
        let results = run_on_threads(size, |comm| -> (u64, Option<String>) {
            let ranks = (scda::Communicator::rank(&comm), size);
            let mut params = params(true);
            params.tuning.faults = Some(Faults { every: 4 + seed % 60, seed });
            let mut durable = 0;
            let write = || -> Result<()> {
                let mut file = Writer::create(comm, &path, b"steps", &params)?;
                for number in 0..5 {
                    step(&mut file, ranks, number)?;
                    compressed(&mut file, ranks, number, 2)?;
                    let request = file.commit_begin()?;
                    if number % 2 == 0 {
                        if let Err(error) = request.wait(&mut file) {
                            // A request that failed says so each time.
                            let again = request.wait(&mut file).unwrap_err();
                            assert_eq!(error.to_string(), again.to_string());
                            return Err(error);
                        }
                        durable = number + 1;
                    }
                }
                file.close_begin()?.wait()
            };
            let error = write().err().map(|error| error.to_string());
            (durable, error)
        });
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "seed {seed}: {results:?}");
        let (durable, error) = &results[0];
        let Some(error) = error else { continue };
        failed += 1;
        named += u32::from(error.contains("request"));
        if *durable > 0 {
            let mut file = Reader::open(Solo, &path, &options()).unwrap();
            let sealed = file.inspect().sealed_sections().unwrap();
            assert!(sealed >= durable * 10, "seed {seed}: {sealed} sections, {durable} steps: {error}");
        }
    }
    assert!(failed > 80 && named > 10, "{failed} failed, {named} named a request");
}

#[test]
fn what_cannot_be_begun_is_an_error() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("f.scda");
    let kind = |params: &WriteOptions| {
        let mut file = Writer::create(Solo, &path, b"", params)?;
        file.commit_begin().map(drop)
    };
    let (mut unsealed, mut little) = (params(true), params(true));
    (unsealed.seal, little.background_bytes) = (false, 1000);
    assert_eq!(kind(&unsealed).unwrap_err().kind(), ErrorKind::Usage);
    let error = kind(&little).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains("background_bytes: found 1000, expected 0 or at least 1048576"));
    let mut file = Writer::create(Solo, &path, b"", &params(true)).unwrap();
    let request = file.commit_begin().unwrap();
    let mut other = Writer::create(Solo, scratch.path().join("g.scda"), b"", &params(true)).unwrap();
    assert_eq!(request.wait(&mut other).unwrap_err().kind(), ErrorKind::Usage);
    request.wait(&mut file).unwrap();
    file.close().unwrap();
}

/// A file that nobody completes is not sealed after what was committed; what a process that is alone has written is there.
#[test]
fn a_commit_that_is_not_waited_for_is_none() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("f.scda");
    for forgotten in [false, true] {
        let mut file = Writer::create(Solo, &path, b"", &params(true)).unwrap();
        step(&mut file, (0, 1), 0).unwrap();
        file.commit().unwrap();
        step(&mut file, (0, 1), 1).unwrap();
        let _ = file.commit_begin().unwrap();
        if forgotten {
            file.forget()
        } else {
            drop(file)
        }
        let mut file = Reader::open(Solo, &path, &options()).unwrap();
        assert_eq!(file.inspect().sealed_sections().unwrap(), 10);
    }
}

#[test]
fn statistics_tell_where_the_bytes_went() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("f.scda");
    let data = vec![7; 8 << 20];
    for background in [false, true] {
        let mut file = Writer::create(Solo, &path, b"", &params(background)).unwrap();
        file.array(b"a", &[8], 1 << 20, Source::Contiguous(&data), Encode::None).unwrap();
        file.array(b"a", &[8], 1 << 20, Source::Contiguous(&data), Encode::Always).unwrap();
        let request = file.commit_begin().unwrap();
        request.wait(&mut file).unwrap();
        let statistics = file.statistics().unwrap();
        let bytes = data.len() as u64;
        assert!(statistics.written_bytes > bytes && statistics.encoded_bytes < bytes, "{statistics:?}");
        assert_eq!(statistics.copied_bytes > bytes, background, "{statistics:?}");
        assert!(statistics.writing.as_nanos() > 0 && statistics.encoding.as_nanos() > 0, "{statistics:?}");
        file.close().unwrap();
        let mut file = Reader::open(Solo, &path, &options()).unwrap();
        let mut found = vec![0; data.len()];
        for encoded in [0, bytes] {
            file.next_section(true).unwrap().unwrap();
            file.read_array(&[8], 1 << 20, Sink::Contiguous(&mut found)).unwrap();
            let statistics = file.statistics().unwrap();
            assert!(found == data && statistics.decoded_bytes == encoded, "{statistics:?}");
            assert!(statistics.read_bytes > bytes && statistics.reading.as_nanos() > 0, "{statistics:?}");
            assert_eq!(statistics.decoding.as_nanos() > 0, encoded > 0, "{statistics:?}");
        }
        file.close().unwrap();
    }
}

#[test]
fn chunks_that_the_thread_compresses_are_copied_for_it() {
    let scratch = tempfile::tempdir().unwrap();
    let data = vec![7; 1 << 18];
    let mut dataset = Dataset::new("d", DataType::Uint8, [data.len() as u64]);
    dataset.layout = Layout::Chunked { shape: Some(vec![1 << 16]), text: false };
    let mut file = Writer::create(Solo, scratch.path().join("f.scda"), b"", &params(true)).unwrap();
    file.dataset(&dataset, &[IndexBox::all(&dataset.shape)], &data).unwrap();
    let statistics = file.statistics().unwrap();
    assert!(
        statistics.copied_bytes >= data.len() as u64 && statistics.copying.as_nanos() > 0,
        "{statistics:?}"
    );
    file.close().unwrap();
}
