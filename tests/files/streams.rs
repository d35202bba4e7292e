//! Streams of tasks: each rank writes and reads what it likes, when it likes.

#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // test data

use crate::common::system::reads;
use crate::common::{Rng, options};
use scda::{
    Communicator, Content, DataType, Dataset, Encode, ErrorKind, Faults, IndexBox, Layout, LineBreak,
    ReadOptions, Reader, Result, Sink, Solo, Source, ThreadComm, WriteOptions, Writer, run_on_threads,
    uniform_partition,
};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The bytes of a stream.
fn stream(seed: u64, task: usize) -> Vec<u8> {
    let mut rng = Rng(seed * 1000 + task as u64 + 1);
    let most = [0, 1, 700, 5000, 300_000][rng.below(5) as usize];
    let bytes = rng.below(most + 1);
    (0..bytes).map(|i| (i * 31 + task as u64 + seed) as u8 | 1).collect()
}

fn params(seal: bool) -> WriteOptions {
    let mut params: WriteOptions = options();
    params.seal = seal;
    params
}

/// Writes a section, two sets of streams of one name with a commit in the second, and a section.
fn write(comm: ThreadComm, path: &Path, chunk_bytes: u64, seal: bool) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut file = Writer::create(comm, path, b"streams", &params(seal))?;
    file.block(b"before", 0, 3, Some(b"abc"), Encode::None)?;
    for seed in 0..2 {
        file.begin_streams(b"log", chunk_bytes)?;
        let mut rng = Rng(seed + rank as u64);
        let all = stream(seed, rank);
        let mut rest = all.as_slice();
        while !rest.is_empty() {
            let most = [3, 1000, 400_000][rng.below(3) as usize];
            let (now, later) = rest.split_at((rng.below(most) as usize + 1).min(rest.len()));
            file.write_stream(now)?;
            rest = later;
        }
        assert_eq!(file.stream_bytes(), all.len() as u64);
        if seed == 1 && seal {
            file.commit()?;
            file.flush()?;
            file.commit()?;
            file.write_stream(&[rank as u8; 10])?;
            assert_eq!(file.stream_bytes(), all.len() as u64 + 10);
        }
        file.end_streams()?;
    }
    file.array(b"behind", &vec![1; size], 1, Source::Contiguous(&[7]), Encode::None)?;
    file.close()
}

/// Reads all streams of this rank's share, in several partitions, and compares them with what each is by itself.
fn read_shares(
    file: &mut Reader,
    streams: &scda::Streams,
    ranks: usize,
    rank: usize,
    seed: u64,
) -> Result<()> {
    let mut rng = Rng(seed);
    for turn in 0..3 {
        let mut counts = uniform_partition(streams.tasks(), ranks);
        if turn > 0 {
            // Any part of all goes to another rank.
            let (from, to) = (rng.below(ranks as u64) as usize, rng.below(ranks as u64) as usize);
            let moved = rng.below(counts[from] + 1);
            counts[from] -= moved;
            counts[to] += moved;
        }
        let first: u64 = counts[..rank].iter().sum();
        let mut sizes = vec![0; counts[rank] as usize];
        streams.read_sizes(file, &counts, Some(&mut sizes))?;
        streams.read_sizes(file, &counts, None)?;
        let mut data = vec![0; sizes.iter().sum::<u64>() as usize];
        streams.read(file, &counts, &sizes, Sink::Contiguous(&mut data))?;
        let mut each: Vec<Vec<u8>> = sizes.iter().map(|bytes| vec![0; *bytes as usize]).collect();
        streams.read(file, &counts, &sizes, Sink::Indirect(&mut each))?;
        streams.read(file, &counts, &[], Sink::Skip)?;
        assert!(each.concat() == data);
        for (found, task) in each.iter().zip(first..) {
            let mut expected = Vec::new();
            let stream = streams.stream(file, task)?;
            stream.reader(file).read_to_end(&mut expected).unwrap();
            assert!(*found == expected);
        }
    }
    Ok(())
}

/// Reads random parts of all streams on `size` ranks.
fn read(
    comm: impl Communicator + 'static,
    path: &Path,
    tasks: usize,
    chunk_bytes: u64,
    seal: bool,
) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut rng = Rng(rank as u64 + 5);
    let mut params: ReadOptions = options();
    params.verify = seal;
    let mut file = Reader::open(comm, path, &params)?;
    for (record, seed) in [(0, 0), (1, 1), (-1, 1), (-2, 0)] {
        let streams = file.streams_record(b"log", record)?.expect("a set of streams");
        assert_eq!((streams.tasks(), streams.chunk_bytes()), (tasks as u64, chunk_bytes));
        for task in 0..tasks {
            let mut expected = stream(seed, task);
            if seed == 1 && seal {
                expected.extend([task as u8; 10]);
            }
            let stream = streams.stream(&mut file, task as u64)?;
            assert_eq!(stream.bytes(), expected.len() as u64);
            for _ in 0..rng.below(3) {
                let from = rng.below(stream.bytes() + 1);
                let mut found = vec![0; rng.below(stream.bytes() - from + 1) as usize];
                stream.read(&mut file, from, &mut found)?;
                assert!(found == expected[from as usize..][..found.len()]);
            }
            let beyond = stream.read(&mut file, expected.len() as u64, &mut [0]).unwrap_err();
            assert_eq!(beyond.kind(), ErrorKind::Argument);
            let mut found = Vec::new();
            let mut reader = stream.reader(&mut file);
            reader.read_to_end(&mut found).unwrap();
            assert!(found == expected);
            assert_eq!(reader.seek(SeekFrom::End(0)).unwrap(), expected.len() as u64);
            assert_eq!(reader.seek(SeekFrom::End(7)).unwrap(), expected.len() as u64 + 7);
            assert_eq!(reader.read(&mut [0; 3]).unwrap(), 0);
            reader.seek(SeekFrom::End(0)).unwrap();
            assert!(reader.seek(SeekFrom::Current(-(expected.len() as i64) - 1)).is_err());
        }
        assert_eq!(streams.stream(&mut file, tasks as u64).unwrap_err().kind(), ErrorKind::Argument);
        // With chunks of a byte, that is a call of the system for each.
        if chunk_bytes > 1 {
            read_shares(&mut file, &streams, size, rank, record.unsigned_abs())?;
        }
    }
    assert!(file.streams_record(b"log", 2)?.is_none() && file.streams_record(b"log", -3)?.is_none());
    assert!(file.streams_record(b"absent", 0)?.is_none());
    file.close()
}

#[test]
fn any_rank_reads_any_stream() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.scda");
    for (tasks, chunk_bytes) in [(1, 4096), (3, 1), (3, 1000), (2, 1 << 20), (5, 777), (4, 65536)] {
        for seal in [true, false] {
            // With chunks of a byte, few bytes.
            if chunk_bytes == 1 && !seal {
                continue;
            }
            for result in run_on_threads(tasks, |comm| write(comm, &path, chunk_bytes, seal)) {
                result.unwrap();
            }
            for ranks in [1, 4] {
                for result in run_on_threads(ranks, |comm| read(comm, &path, tasks, chunk_bytes, seal)) {
                    result.unwrap();
                }
            }
            // For a reader that knows nothing of streams they are a block and two arrays, with the right checksums.
            let mut params: ReadOptions = options();
            params.verify = seal;
            let mut file = Reader::open(Solo, &path, &params).unwrap();
            let mut names = Vec::new();
            while let Some(section) = file.next_section(true).unwrap() {
                names.push((section.section_type.letter(), section.user.to_vec()));
                file.skip().unwrap();
            }
            // Each commit ends a part of the second set.
            let parts = if seal { 4 } else { 2 };
            assert_eq!(names.len(), 2 + 3 * parts);
            assert_eq!(
                names[1..4],
                [
                    (b'B', b"scda streams 00".to_vec()),
                    (b'A', b"log".to_vec()),
                    (b'A', b"scda stream bytes 00".to_vec())
                ]
            );
        }
    }
}

#[test]
fn chunks_lie_where_they_are_said_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.scda");
    run_on_threads(3, |comm| {
        let rank = comm.rank();
        let mut file = Writer::create(comm, &path, b"", &options()).unwrap();
        file.begin_streams(b"s", 4).unwrap();
        file.write_stream(&b"abcdefghijkl"[..[6, 0, 9][rank]]).unwrap();
        file.end_streams().unwrap();
        file.close().unwrap();
    });
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    let mut next = |kind: u8, count: u64, size: u64| {
        let section = file.next_section(true).unwrap().unwrap();
        assert_eq!((section.section_type.letter(), section.count, section.size), (kind, count, size));
        let mut data = vec![0; (count.max(1) * size) as usize];
        match kind {
            b'B' => file.read_block(size, 0, Some(&mut data)).unwrap(),
            _ => file.read_array(&[count], size, Sink::Contiguous(&mut data)).unwrap(),
        }
        data
    };
    let dashes = |text: &str| format!("{text} {}\n", "-".repeat(30 - text.len()));
    assert_eq!(next(b'B', 0, 96), ["P 3", "C 4", "K 0"].map(dashes).concat().into_bytes());
    assert_eq!(next(b'A', 9, 4), b"abcd\0\0\0\0abcdef\0\0\0\0\0\0efgh\0\0\0\0\0\0\0\0i\0\0\0");
    assert_eq!(next(b'A', 3, 32), ["U 6", "U 0", "U 9"].map(dashes).concat().into_bytes());
    assert!(file.next_section(true).unwrap().is_none());
}

#[test]
fn ranks_that_differ_on_shares_all_get_the_error() {
    /// Changes counts, sizes and memory on a rank.
    type Spoil = dyn Fn(usize, &mut [u64], &mut [u64], &mut Vec<u8>) + Sync;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.scda");
    for result in run_on_threads(3, |comm| write(comm, &path, 4096, true)) {
        result.unwrap();
    }
    let share = |wrong: &Spoil| {
        let errors = run_on_threads(3, |comm| {
            let rank = comm.rank();
            let mut file = Reader::open(comm, &path, &options()).unwrap();
            let streams = file.streams_record(b"log", 0).unwrap().unwrap();
            let (mut counts, mut sizes) = ([1; 3], [0]);
            streams.read_sizes(&mut file, &counts, Some(&mut sizes)).unwrap();
            let mut data = vec![0; sizes[0] as usize];
            wrong(rank, &mut counts, &mut sizes, &mut data);
            let error = streams.read(&mut file, &counts, &sizes, Sink::Contiguous(&mut data)).unwrap_err();
            assert_eq!(file.close().unwrap_err().kind(), ErrorKind::Usage);
            (error.kind(), error.to_string())
        });
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
        assert_eq!(errors[0].0, ErrorKind::Argument, "{errors:?}");
        errors[0].1.clone()
    };
    let not_all = share(&|_, counts, _, _| counts[1] = 2);
    assert!(not_all.contains("the sum of the counts N_q: found 4, expected 3"), "{not_all}");
    let counts = share(&|rank, counts, _, _| counts.copy_from_slice([&[1, 1, 1], &[2, 0, 1]][rank / 2]));
    assert!(counts.contains("the ranks disagree on the counts"), "{counts}");
    let sizes = share(&|rank, _, sizes, _| sizes[0] += u64::from(rank == 1));
    assert!(sizes.contains("the sizes E_i differ from those in the file"), "{sizes}");
    let room = share(&|rank, _, _, data| data.resize(data.len() + rank / 2, 0));
    assert!(room.contains("data: found"), "{room}");
    // Other sets of the same name.
    run_on_threads(3, |comm| {
        let rank = comm.rank() as i64;
        let mut file = Reader::open(comm, &path, &options()).unwrap();
        let sets = [0, 1].map(|record| file.streams_record(b"log", record).unwrap().unwrap());
        let error = sets[usize::from(rank == 1)].read_sizes(&mut file, &[1; 3], None).unwrap_err();
        assert!(error.to_string().contains("the ranks disagree on where in the file they read"), "{error}");
    });
}

/// Finds and reads all streams of a file. An error is fine.
fn read_all(path: &Path) -> Result<u64> {
    let mut file = Reader::open(Solo, path, &options())?;
    let mut bytes = 0;
    for record in 0..3 {
        let Some(streams) = file.streams_record(b"s", record)? else { break };
        for task in 0..streams.tasks().min(5) {
            let stream = streams.stream(&mut file, task)?;
            let mut data = vec![0; stream.bytes().min(100) as usize];
            stream.read(&mut file, stream.bytes() - data.len() as u64, &mut data)?;
            bytes += data.len() as u64;
        }
        // All at once, to no room.
        let mut sizes = vec![0; streams.tasks().min(5) as usize];
        streams.read_sizes(&mut file, &[streams.tasks()], Some(&mut sizes))?;
        let mut data = vec![0; sizes.iter().sum::<u64>().min(100) as usize];
        streams.read(&mut file, &[streams.tasks()], &sizes, Sink::Contiguous(&mut data))?;
    }
    Ok(bytes)
}

#[test]
fn damage_is_an_error_or_other_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.scda");
    run_on_threads(3, |comm| {
        let rank = comm.rank();
        let mut file = Writer::create(comm, &path, b"", &options()).unwrap();
        for _ in 0..2 {
            file.begin_streams(b"s", 4).unwrap();
            file.write_stream(&b"abcdefghijkl"[..[6, 0, 9][rank]]).unwrap();
            file.end_streams().unwrap();
        }
        file.close().unwrap();
    });
    let good = std::fs::read(&path).unwrap();
    assert_eq!(read_all(&path).unwrap(), 30);
    let (mut errors, mut fine) = (0, 0);
    for at in 128..good.len() {
        for byte in [b'0', b'9', good[at] ^ 1] {
            let mut bad = good.clone();
            bad[at] = byte;
            std::fs::write(&path, &bad).unwrap();
            if read_all(&path).is_err() { errors += 1 } else { fine += 1 }
        }
        std::fs::write(&path, &good[..at]).unwrap();
        assert!(read_all(&path).map_or(true, |bytes| bytes == 0 || bytes == 15));
    }
    assert!(errors > 1000 && fine > 500, "{errors} errors, {fine} without");
    // What the sections say of each other.
    let find = |text: &[u8]| good.windows(text.len()).position(|part| part == text).unwrap();
    for (text, other, expected) in [
        (&b"P 3 "[..], &b"P 2 "[..], "streams: found 9 chunks, expected a multiple of the 2 tasks"),
        (b"C 4 ", b"C 5 ", "streams: the chunks are missing: no array of elements of 5 bytes follows"),
        (b"K 0 ", b"K 1 ", "streams: found part 1 of 3 tasks with chunks of 4 bytes, expected part 0"),
        (b"U 9 ", b"U 13", "streams: found 13 bytes, expected at most 12, as there are chunks"),
        (
            b"scda stream bytes",
            b"scda stream Bytes",
            "streams: their bytes are missing: no array \"scda stream bytes 00\"",
        ),
    ] {
        let mut bad = good.clone();
        bad[find(text)..][..other.len()].copy_from_slice(other);
        if other == b"U 13" {
            bad[find(text) + 4..][..2].copy_from_slice(b" -");
        }
        std::fs::write(&path, &bad).unwrap();
        let error = read_all(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn nothing_else_is_written_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.scda");
    let usage = |wrong: &(dyn Fn(&mut Writer) -> Result<()> + Sync)| {
        run_on_threads(2, |comm| {
            let mut file = Writer::create(comm, &path, b"", &params(true)).unwrap();
            let error = wrong(&mut file).and_then(|()| file.flush()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        });
    };
    usage(&|file| file.write_stream(b"a"));
    usage(&Writer::end_streams);
    usage(&|file| {
        file.begin_streams(b"s", 0)?;
        file.begin_streams(b"s", 0)
    });
    usage(&|file| {
        file.begin_streams(b"s", 0)?;
        let dataset = scda::Dataset::new("d", scda::DataType::Uint8, []);
        file.datasets(&[(&dataset, &[], &[])])
    });
    usage(&|file| {
        file.begin_streams(b"s", 0)?;
        file.inline(b"i", 0, Some(&[b'i'; 32]))
    });
    run_on_threads(2, |comm| {
        let mut file = Writer::create(comm, &path, b"", &params(false)).unwrap();
        file.begin_streams(b"s", 0).unwrap();
        assert_eq!(file.close().unwrap_err().kind(), ErrorKind::Usage);
    });
    let refused: [(&[u8], u64); 4] =
        [(b"s", 1 << 31), (b"s", u64::MAX), (b"scda streams 00", 0), (b"scda stream bytes 00", 0)];
    for (name, chunk_bytes) in refused {
        run_on_threads(2, |comm| {
            let mut file = Writer::create(comm, &path, b"", &params(false)).unwrap();
            assert_eq!(file.begin_streams(name, chunk_bytes).unwrap_err().kind(), ErrorKind::Argument);
        });
    }
}

#[test]
fn the_position_stays_where_it_was_when_streams_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.scda");
    for result in run_on_threads(2, |comm| write(comm, &path, 4096, true)) {
        result.unwrap();
    }
    run_on_threads(3, |comm| {
        let is_root = comm.rank() == 0;
        let mut file = Reader::open(comm, &path, &options()).unwrap();
        let next = |file: &mut Reader| {
            let user = file.next_section(true).unwrap().map(|section| section.user.to_vec());
            file.skip().unwrap();
            user.unwrap()
        };
        let first = next(&mut file);
        for record in [0, -2, 1, -1] {
            assert!(file.streams_record(b"log", record).unwrap().is_some());
        }
        assert_eq!((first.as_slice(), next(&mut file).as_slice()), (&b"before"[..], &b"scda streams 00"[..]));
        // Also between the header of a section and its data.
        file.seek_section(0).unwrap();
        let section = file.next_section(true).unwrap().unwrap();
        assert!(file.streams_record(b"log", 2).unwrap().is_none());
        let mut data = [0; 3];
        file.read_block(section.size, 0, Some(&mut data)).unwrap();
        assert_eq!(&data, if is_root { b"abc" } else { &[0; 3] });
        file.close().unwrap();
    });
}

#[test]
fn a_rank_learns_of_its_own_error_at_once_and_of_others_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.scda");
    let mut failed = [0; 2];
    for seed in 0..40 {
        let results = run_on_threads(3, |comm| {
            let rank = comm.rank();
            let mut params = params(seed % 2 == 0);
            params.tuning.faults = Some(Faults { every: 20, seed });
            let mut file = Writer::create(comm, &path, b"", &params).ok()?;
            file.begin_streams(b"s", 4096).ok()?;
            let mut mine = Ok(());
            for _ in 0..4 {
                mine = mine.and_then(|()| file.write_stream(&[rank as u8; 300_000]));
            }
            if let Err(error) = &mine {
                assert!(error.to_string().contains("f.scda"), "{error}");
                assert_eq!(file.write_stream(b"more").unwrap_err().kind(), ErrorKind::Io);
            }
            let ended = file.end_streams().and_then(|()| file.close());
            Some((mine.is_err(), ended.map_err(|error| error.to_string())))
        });
        let results: Vec<_> = results.into_iter().flatten().collect();
        for pair in results.windows(2) {
            assert_eq!(pair[0].1, pair[1].1);
        }
        if results.iter().any(|(mine, _)| *mine) {
            assert!(results.iter().all(|(_, ended)| ended.is_err()));
            failed[0] += 1;
        } else {
            failed[1] += 1;
        }
        // What is left can be read up to its end.
        let file = Reader::open(Solo, &path, &options());
        if let (Ok(mut file), true) = (file, results.len() == 3) {
            while file.next_section(true).unwrap().is_some() {
                file.skip().unwrap();
            }
        }
    }
    assert!(failed[0] > 5, "{failed:?}");
}

#[test]
fn one_process_writes_the_streams_of_all_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("f.scda"), folder.path().join("other.scda"));
    for (tasks, chunk_bytes, seed) in [(1, 4096, 0), (3, 1000, 1), (5, 777, 2), (4, 0, 3), (2, 1 << 20, 4)] {
        for seal in [true, false] {
            run_on_threads(tasks, |comm| {
                let rank = comm.rank();
                let mut file = Writer::create(comm, &path, b"streams", &params(seal)).unwrap();
                file.begin_streams(b"log", chunk_bytes).unwrap();
                file.write_stream(&stream(seed, rank)).unwrap();
                file.end_streams().unwrap();
                file.close().unwrap();
            });
            let mut file = Writer::create(Solo, &other, b"streams", &params(seal)).unwrap();
            let mut open = |task| -> std::io::Result<Box<dyn Read>> {
                Ok(Box::new(std::io::Cursor::new(stream(seed, task as usize))))
            };
            file.incremental().streams(b"log", chunk_bytes, tasks as u64, &mut open).unwrap();
            file.close().unwrap();
            assert!(std::fs::read(&path).unwrap() == std::fs::read(&other).unwrap(), "{tasks} {chunk_bytes}");
        }
    }
    // What is wrong.
    let mut none = |_| -> std::io::Result<Box<dyn Read>> { Err(std::io::Error::other("no stream")) };
    let new = || Writer::create(Solo, &other, b"", &options()).unwrap();
    assert_eq!(new().incremental().streams(b"log", 0, 0, &mut none).unwrap_err().kind(), ErrorKind::Argument);
    let error = new().incremental().streams(b"log", 0, 2, &mut none).unwrap_err();
    assert!(error.to_string().contains("no stream"), "{error}");
    for error in run_on_threads(2, |comm| {
        let mut file = Writer::create(comm, &other, b"", &options()).unwrap();
        let mut none = |_| -> std::io::Result<Box<dyn Read>> { Err(std::io::Error::other("no stream")) };
        file.incremental().streams(b"log", 0, 2, &mut none).unwrap_err()
    }) {
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}

#[test]
fn parts_are_found_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.scda");
    let mut file = Writer::create(Solo, &path, b"", &params(true)).unwrap();
    file.block(b"before", 0, 3, Some(b"abc"), Encode::None).unwrap();
    file.begin_streams(b"s", 4).unwrap();
    file.write_stream(b"first").unwrap();
    file.commit().unwrap();
    file.write_stream(b"second").unwrap();
    file.end_streams().unwrap();
    file.close().unwrap();
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    file.next_section(true).unwrap();
    // The reader stays where it was.
    let begin = file.position().unwrap();
    assert!(matches!(file.inspect().content_at(begin).unwrap().unwrap().0, Content::Section));
    let mut data = [0; 3];
    file.read_block(3, 0, Some(&mut data)).unwrap();
    let mut parts = Vec::new();
    for number in 0..2 {
        let begin = file.position().unwrap();
        let Some((Content::Streams(part), sections)) = file.inspect().content_at(begin).unwrap() else {
            panic!("no streams at byte {begin}")
        };
        for section in sections {
            assert_eq!(file.next_section(true).unwrap(), Some(section));
            file.skip().unwrap();
        }
        assert_eq!((part.part(), &**part.name(), part.tasks()), (number, &b"s"[..], 1));
        parts.push(part);
    }
    assert!(file.next_section(true).unwrap().is_none());
    let mut text = |streams: &scda::Streams| {
        let stream = streams.stream(&mut file, 0).unwrap();
        let mut text = String::new();
        stream.reader(&mut file).read_to_string(&mut text).unwrap();
        text
    };
    assert_eq!((&*text(&parts[0]), &*text(&parts[1])), ("first", "second"));
    let mut whole = parts[0].clone();
    whole.extend(&parts[1]).unwrap();
    assert_eq!(text(&whole), "firstsecond");
    assert_eq!(whole.extend(&parts[1]).unwrap_err().kind(), ErrorKind::Format);
}

/// As if the job was killed while it wrote.
#[test]
fn without_its_end_a_part_is_lost_and_nothing_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.scda");
    for ranks in [1, 3] {
        for seal in [false, true] {
            run_on_threads(ranks, |comm| {
                let mut file = Writer::create(comm, &path, b"", &params(seal)).unwrap();
                file.block(b"before", 0, 3, Some(b"abc"), Encode::None).unwrap();
                file.begin_streams(b"log", 4096).unwrap();
                file.write_stream(b"committed").unwrap();
                if seal {
                    file.commit().unwrap();
                }
                file.write_stream(&vec![b'x'; 1 << 20]).unwrap();
                file.flush().unwrap();
                file.forget();
            });
            let mut file = Reader::open(Solo, &path, &options()).unwrap();
            for expected in [&b"before"[..], b"scda streams 00"] {
                let section = file.next_section(true).unwrap().unwrap();
                assert_eq!(&*section.user, expected);
                file.skip().unwrap();
            }
            if !seal {
                assert!(!matches!(file.next_section(true), Ok(Some(_))));
            }
            let mut file = Reader::open(Solo, &path, &options()).unwrap();
            assert_eq!(file.streams_record(b"log", 0).is_ok_and(|found| found.is_some()), seal);
            if seal {
                let file = Writer::append(Solo, &path, &params(true)).unwrap();
                assert!(file.bytes_rolled_back() > 1 << 20);
                file.close().unwrap();
                let mut file = Reader::open(Solo, &path, &options()).unwrap();
                let streams = file.streams_record(b"log", 0).unwrap().unwrap();
                for task in 0..ranks as u64 {
                    let stream = streams.stream(&mut file, task).unwrap();
                    let mut text = String::new();
                    stream.reader(&mut file).read_to_string(&mut text).unwrap();
                    assert_eq!(text, "committed");
                }
            }
        }
    }
}

#[test]
fn a_set_shares_its_name_with_no_other_section() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for is_before in [true, false] {
        let mut file = Writer::create(Solo, &path, b"", &params(true)).unwrap();
        let array = |file: &mut Writer| {
            file.array(b"log", &[1], 3, Source::Contiguous(b"abc"), Encode::None).unwrap();
        };
        if is_before {
            array(&mut file);
        }
        file.begin_streams(b"log", 64).unwrap();
        file.write_stream(b"text").unwrap();
        file.end_streams().unwrap();
        if !is_before {
            array(&mut file);
        }
        file.close().unwrap();
        let mut file = Reader::open(Solo, &path, &options()).unwrap();
        // Of the parts of a name, each is looked at up to the one that begins the next set.
        let error = file.streams_record(b"log", 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Format);
        assert!(error.to_string().contains("section \"log\" is not a set of streams"), "{error}");
    }
}

#[test]
fn without_a_choice_a_chunk_is_a_stripe() {
    let folder = tempfile::tempdir().unwrap();
    for (stripe_bytes, chunk_bytes, expected) in
        [(4 << 20, 0, 4 << 20), (3000, 0, 1 << 20), (4 << 30, 0, 64 << 20), (4 << 20, 4096, 4096)]
    {
        let path = folder.path().join("f.scda");
        let read = || {
            let mut file = Reader::open(Solo, &path, &options()).unwrap();
            let streams = file.streams_record(b"s", 0).unwrap().unwrap();
            let stream = streams.stream(&mut file, streams.tasks() - 1).unwrap();
            assert_eq!((streams.chunk_bytes(), stream.bytes()), (expected, 5));
            path.metadata().unwrap().len()
        };
        let mut params = params(false);
        params.tuning.stripe_bytes = stripe_bytes;
        run_on_threads(3, |comm| {
            let mut file = Writer::create(comm, &path, b"", &params).unwrap();
            file.begin_streams(b"s", chunk_bytes).unwrap();
            file.write_stream(b"hello").unwrap();
            file.end_streams().unwrap();
            file.close().unwrap();
        });
        let bytes = read();
        let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
        let mut hello = |_| -> std::io::Result<Box<dyn Read>> { Ok(Box::new(&b"hello"[..])) };
        file.incremental().streams(b"s", chunk_bytes, 3, &mut hello).unwrap();
        file.close().unwrap();
        assert_eq!(read(), bytes);
    }
}

#[test]
fn chunks_of_a_gib_are_holes() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.scda");
    run_on_threads(6, |comm| {
        let rank = comm.rank();
        let mut file = Writer::create(comm, &path, b"", &params(true)).unwrap();
        file.begin_streams(b"s", 1 << 30).unwrap();
        file.write_stream(&[b'a' + rank as u8; 10]).unwrap();
        file.end_streams().unwrap();
        file.block(b"behind", 0, 3, Some(b"abc"), Encode::None).unwrap();
        file.close().unwrap();
    });
    let status = path.metadata().unwrap();
    assert!(status.len() > 6 << 30 && status.blocks() * 512 < 16 << 20, "{status:?}");
    run_on_threads(2, |comm| {
        let rank = comm.rank();
        let mut file = Reader::open(comm, &path, &options()).unwrap();
        let streams = file.streams_record(b"s", 0).unwrap().unwrap();
        assert_eq!((streams.tasks(), streams.chunk_bytes()), (6, 1 << 30));
        let mut data = [0; 30];
        streams.read(&mut file, &[3, 3], &[10; 3], Sink::Contiguous(&mut data)).unwrap();
        let expected: Vec<u8> = (0..30_usize).map(|i| b'a' + (i / 10) as u8 + 3 * rank as u8).collect();
        assert_eq!(data[..], expected);
        assert_eq!(file.find(b"behind", 0).unwrap(), Some(3));
        file.close().unwrap();
    });
}

/// Each element of a varray is a stream.
#[test]
fn the_elements_of_a_varray_are_streams() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.scda");
    // More than there are between two anchors.
    let count = 9000_u64;
    let size = |task: u64| task % 7 * 3;
    let element = |task: u64| vec![task as u8; size(task) as usize];
    for seal in [false, true] {
        let mut file = Writer::create(Solo, &path, b"", &params(seal)).unwrap();
        let sizes: Vec<u64> = (0..count).map(size).collect();
        let all: Vec<Vec<u8>> = (0..count).map(element).collect();
        file.varray(b"first", &[2], &[1, 1], None, Source::Contiguous(b"ab"), Encode::None).unwrap();
        file.varray(b"log", &[count], &sizes, None, Source::Indirect(&all), Encode::None).unwrap();
        file.begin_streams(b"log", 4).unwrap();
        file.write_stream(b"a set").unwrap();
        file.end_streams().unwrap();
        file.varray(b"log", &[1], &[4], None, Source::Contiguous(b"last"), Encode::None).unwrap();
        file.varray(b"packed", &[1], &[4], None, Source::Contiguous(b"last"), Encode::Always).unwrap();
        file.close().unwrap();
        for ranks in [1, 3] {
            run_on_threads(ranks, |comm| {
                let rank = comm.rank();
                let mut file = Reader::open(comm, &path, &options()).unwrap();
                for record in [0, -3] {
                    let streams = file.streams_record(b"log", record).unwrap().unwrap();
                    assert_eq!((streams.tasks(), streams.chunk_bytes()), (count, 0));
                    for task in [8000, 0, 1, 4097, 8999, 5].into_iter().skip(rank) {
                        let stream = streams.stream(&mut file, task).unwrap();
                        let mut data = Vec::new();
                        stream.reader(&mut file).read_to_end(&mut data).unwrap();
                        assert_eq!(data, element(task));
                    }
                    assert_eq!(streams.stream(&mut file, count).unwrap_err().kind(), ErrorKind::Argument);
                    read_shares(&mut file, &streams, ranks, rank, 1).unwrap();
                }
                let mut text = |name: &[u8], record, task| {
                    let streams = file.streams_record(name, record).unwrap().unwrap();
                    let stream = streams.stream(&mut file, task).unwrap();
                    let mut text = String::new();
                    stream.reader(&mut file).read_to_string(&mut text).unwrap();
                    text
                };
                assert_eq!((text(b"first", -1, 1), text(b"log", 1, 0)), ("b".into(), "a set".into()));
                assert_eq!((text(b"log", -2, 0), text(b"log", 2, 0)), ("a set".into(), "last".into()));
                assert_eq!(text(b"log", -1, 0), "last");
                assert!(file.streams_record(b"log", 3).unwrap().is_none());
                let error = file.streams_record(b"packed", 0).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Format);
                assert!(error.to_string().contains("it is no uncompressed varray"), "{error}");
            });
        }
        // While another varray is read.
        let mut file = Reader::open(Solo, &path, &options()).unwrap();
        file.next_section(true).unwrap().unwrap();
        let mut sizes = [0; 2];
        file.read_varray_sizes(&[2], Some(&mut sizes)).unwrap();
        file.streams_record(b"log", 1).unwrap().unwrap();
        file.read_varray(&[2], Some(&sizes), None, Sink::Skip).unwrap();
    }
    // A varray whose sizes say more than the file has.
    let good = std::fs::read(&path).unwrap();
    let at = good.windows(4).position(|text| text == b"E 3 ").unwrap();
    let mut bad = good.clone();
    bad[at..at + 11].copy_from_slice(b"E 99999999 ");
    std::fs::write(&path, &bad).unwrap();
    let mut file = Reader::open(Solo, &path, &options()).unwrap();
    let streams = file.streams_record(b"log", 0).unwrap().unwrap();
    // Sizes are read from the nearest anchor on: the last element is found, the second is not.
    assert_eq!(streams.stream(&mut file, count - 1).unwrap().bytes(), size(count - 1));
    let error = streams.stream(&mut file, 2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShortFile);
    assert!(error.to_string().contains("byte 768: varray: found the end of the file at byte"), "{error}");
}

#[test]
fn shares_of_many_elements_cost_few_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.scda");
    let count = 200_000;
    let size = |task: u64| task % 4;
    let byte = |task: u64| (task % 251) as u8;
    for seal in [false, true] {
        let sizes: Vec<u64> = (0..count).map(size).collect();
        let data: Vec<u8> = (0..count).flat_map(|task| vec![byte(task); size(task) as usize]).collect();
        let mut file = Writer::create(Solo, &path, b"", &params(seal)).unwrap();
        file.varray(b"log", &[count], &sizes, None, Source::Contiguous(&data), Encode::None).unwrap();
        file.close().unwrap();
        run_on_threads(3, |comm| {
            let rank = comm.rank();
            let mut file = Reader::open(comm, &path, &options()).unwrap();
            let streams = file.streams_record(b"log", 0).unwrap().unwrap();
            let counts = [120_000, 0, 80_000];
            let first: u64 = counts[..rank].iter().sum();
            let mut sizes = vec![0; counts[rank] as usize];
            let own = reads();
            let own = reads() - own;
            let mut costs = Vec::new();
            let mut count = |action: &mut dyn FnMut()| {
                let before = reads();
                action();
                costs.push(reads() - before - own);
            };
            count(&mut || streams.read_sizes(&mut file, &counts, Some(&mut sizes)).unwrap());
            let mut data = vec![0; sizes.iter().sum::<u64>() as usize];
            let sink = &mut data;
            count(&mut || streams.read(&mut file, &counts, &sizes, Sink::Contiguous(sink)).unwrap());
            let mut each: Vec<Vec<u8>> = sizes.iter().map(|&bytes| vec![0; bytes as usize]).collect();
            count(&mut || streams.read(&mut file, &counts, &sizes, Sink::Indirect(&mut each)).unwrap());
            for (found, task) in each.iter().zip(first..) {
                assert!(found.len() as u64 == size(task) && found.iter().all(|&found| found == byte(task)));
            }
            assert!(each.concat() == data);
            // A MiB at a time: the sizes of the share, again with the data, and those of all elements before it.
            let most = if rank == 1 { 0 } else { 20 };
            assert!(costs.iter().all(|&cost| cost <= most), "rank {rank}: {costs:?} calls");
            let mut wrong = sizes.clone();
            if let Some(size) = wrong.last_mut() {
                *size += 1;
            }
            let error = streams.read(&mut file, &counts, &wrong, Sink::Contiguous(&mut data)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument);
        });
    }
}

#[test]
fn the_chunks_of_a_dataset_are_no_streams() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.scda");
    let shape = Some(vec![4]);
    let layouts = [
        Layout::Chunked { shape: shape.clone(), text: false },
        Layout::Chunked { shape, text: true },
        Layout::Contiguous,
    ];
    for (layout, seal) in layouts.into_iter().flat_map(|layout| [(layout.clone(), false), (layout, true)]) {
        let mut file = Writer::create(Solo, &path, b"", &params(seal)).unwrap();
        file.varray(b"log", &[2], &[1, 1], None, Source::Contiguous(b"ab"), Encode::None).unwrap();
        let mut dataset = Dataset::new("rho", DataType::Uint8, [12]);
        dataset.layout = layout;
        file.dataset(&dataset, &[IndexBox::new([0], [12])], &[7; 12]).unwrap();
        file.close().unwrap();
        run_on_threads(2, |comm| {
            for record in [0, -1] {
                let mut file = Reader::open(comm.clone(), &path, &options()).unwrap();
                assert_eq!(file.streams_record(b"log", record).unwrap().unwrap().tasks(), 2);
                let error = file.streams_record(b"rho", record).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Format);
                let words = "section \"rho\" is a dataset, not a set of streams";
                assert!(error.to_string().contains(words), "{error}");
            }
        });
    }
}

/// The padding depends on the last byte of the data: that of the last stream if it fills the last chunk, else a zero.
#[test]
fn streams_are_canonical_whatever_their_last_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for streams in [["a", "abc\n"], ["abcd", "abc\n"], ["abcde", "abc\n"], ["a", "abc\nabc\n"], ["a", "abc"]]
    {
        run_on_threads(2, |comm| {
            let own = streams[comm.rank()].as_bytes();
            let mut file = Writer::create(comm, &path, b"", &params(false)).unwrap();
            file.begin_streams(b"log", 4).unwrap();
            file.write_stream(own).unwrap();
            file.end_streams().unwrap();
            file.close().unwrap();
        });
        let mut file = Reader::open(Solo, &path, &ReadOptions::default()).unwrap();
        file.inspect().check_canonical(LineBreak::Unix).unwrap();
        while file.next_section(true).unwrap().is_some() {
            file.inspect().check_canonical(LineBreak::Unix).unwrap();
            file.skip().unwrap();
        }
    }
}

#[test]
fn a_stream_that_cannot_be_read_is_an_error_of_its_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut file = Writer::create(Solo, &path, b"", &params(false)).unwrap();
    file.begin_streams(b"log", 4096).unwrap();
    file.write_stream(&[1; 300_000]).unwrap();
    file.end_streams().unwrap();
    file.close().unwrap();
    let mut file = Reader::open(Solo, &path, &ReadOptions::default()).unwrap();
    let streams = file.streams_record(b"log", 0).unwrap().unwrap();
    let stream = streams.stream(&mut file, 0).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(10_000).unwrap();
    let error = stream.reader(&mut file).read_to_end(&mut Vec::new()).unwrap_err();
    assert!(error.get_ref().is_some_and(|inner| inner.is::<scda::Error>()), "{error}");
}
