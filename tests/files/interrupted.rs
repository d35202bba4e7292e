//! Writing without `atomic` that does not come to its end: what can be read of the file that is left is right, up
//! to where it ends.

#![allow(clippy::cast_possible_truncation)] // test data

use crate::common::{self, Data, Model, ModelSection, Rng, options};
use scda::{
    Encode, ErrorKind, Faults, Reader, Result, Solo, Source, ThreadComm, WriteOptions, Writer, run_on_threads,
};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Large and small sections of every kind, plain and encoded, in an order that the seed chooses.
fn model(seed: u64) -> Model {
    let mut rng = Rng(seed);
    let mut section = |index: u64| {
        // So many small ones that the ranks share memory for them before the first large one comes.
        let sizes = if index < 150 { 3 } else { 5 };
        let bytes = [50, 600, 4000, 100_000, 300_000][rng.below(sizes) as usize];
        let count = 1 + rng.below(50);
        let mut element = || vec![1 + rng.below(255) as u8; (bytes / count) as usize];
        let data = match index % 4 {
            0 => Data::Inline([b'0' + (index % 10) as u8; 32]),
            1 => Data::Block(element()),
            2 => Data::Array { size: bytes / count, elements: (0..count).map(|_| element()).collect() },
            _ => Data::Varray((0..count).map(|_| element()).collect()),
        };
        let encode = if index % 12 == 7 { Encode::Always } else { Encode::None };
        ModelSection { user: format!("section {index}").into_bytes(), data, encode }
    };
    let sections = (0..250).map(&mut section).collect();
    Model { vendor: Vec::new(), user: b"interrupted".to_vec(), sections }
}

/// The sections that can be read, each with the offset of its end, and how the first one fails that cannot be.
fn readable(path: &Path) -> (Vec<u64>, Option<ErrorKind>) {
    let mut ends = Vec::new();
    let mut read = || -> Result<()> {
        let mut file = Reader::open(Solo, path, &options())?;
        while file.next_section(false)?.is_some() {
            file.skip()?;
            ends.extend(file.position());
        }
        Ok(())
    };
    let failed = read().err().map(|error| error.kind());
    (ends, failed)
}

/// What can be read must be as it is in the whole file.
fn check_left(path: &Path, whole: &[u8]) -> (Vec<u64>, Option<ErrorKind>) {
    // Read from front to back, and walked through in a copy: other ranks may still be writing.
    let left = std::fs::read(path).unwrap();
    let copy = path.with_extension("left");
    std::fs::write(&copy, &left).unwrap();
    let (ends, failed) = readable(&copy);
    let end = ends.last().map_or(0, |&end| end as usize);
    assert!(left[..end] == whole[..end], "what was read up to byte {end} is not what was written");
    (ends, failed)
}

fn params() -> WriteOptions {
    let mut params: WriteOptions = options();
    (params.tuning.check, params.tuning.aggregation_bytes) = (false, 64 << 10);
    params
}

#[test]
fn after_an_error_of_one_rank_the_file_ends_with_a_whole_section() {
    let folder = tempfile::tempdir().unwrap();
    let model = model(7);
    let whole = common::write_on(1, &folder.path().join("whole"), &model, &params(), 7);
    for ranks in [1, 2, 3] {
        let (mut cut, mut longest) = (0, 0);
        for seed in 0..60 {
            let path = folder.path().join("f");
            let mut params = params();
            params.tuning.faults = Some(Faults { every: 60, seed });
            let results = run_on_threads(ranks, |comm| common::write(comm, &path, &model, &params, 7));
            let (ends, failed) = check_left(&path, &whole);
            longest = longest.max(ends.len());
            if results[0].is_ok() {
                assert_eq!((ends.last().copied(), failed), (Some(whole.len() as u64), None));
            } else if failed.is_none() {
                cut += 1;
            }
            std::fs::remove_file(&path).unwrap();
        }
        // Cutting may fail, too; then the file does not end there, but its next section has no header.
        assert!(cut > 10 && longest > 100, "{ranks} ranks: {cut} cut, at most {longest} sections");
    }
}

/// What one rank does wrong in the call after ten sections.
fn refused(file: &mut Writer, kind: usize, rank: usize, ranks: usize) -> Result<()> {
    let counts = vec![1; ranks];
    let is_last = rank + 1 == ranks;
    match kind {
        // The ranks disagree on a size.
        0 => file.array(
            b"x",
            &counts,
            8 + u64::from(is_last),
            Source::Contiguous(&[0; 9][..8 + usize::from(is_last)]),
            Encode::None,
        ),
        // All pass the same nonsense.
        1 => file.inline(b"x", ranks, Some(&[0; 32])),
        // One rank has too little data.
        2 => file.array(b"x", &counts, 8, Source::Contiguous(&[0; 8][usize::from(is_last)..]), Encode::None),
        // They call different functions.
        3 if is_last => file.flush(),
        3 => file.inline(b"x", 0, Some(&[0; 32])),
        // One rank goes on for a while before they meet.
        4 if is_last => file.inline(b"y", 0, Some(&[1; 32])),
        4 => file.inline(b"x", 0, Some(&[0; 32])).and_then(|()| file.inline(b"z", 0, Some(&[2; 32]))),
        // In a large section.
        5 => file.block(b"x", 0, 1 << 20, Some(&vec![0; (1 << 20) - usize::from(rank == 0)]), Encode::None),
        // In the second section of a compressed pair, whose first one is buffered already.
        _ => file.varray(
            b"x",
            &counts,
            &[8],
            Some(&vec![8 + u64::from(is_last); ranks]),
            Source::Contiguous(&[0; 8]),
            Encode::Always,
        ),
    }
}

#[test]
fn what_was_reported_as_written_is_there_after_a_call_that_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for ranks in [1, 2, 3] {
        for check in [false, true] {
            for aggregation_bytes in [0, 64 << 10, 4 << 20] {
                for (kind, rounds) in (0..7).flat_map(|kind| [(kind, 1), (kind, 100)]) {
                    let mut params: WriteOptions = options();
                    (params.tuning.check, params.tuning.aggregation_bytes) = (check, aggregation_bytes);
                    let write = |comm: ThreadComm| -> Result<()> {
                        let rank = scda::Communicator::rank(&comm);
                        let mut file = Writer::create(comm, &path, b"", &params)?;
                        let own = vec![rank as u8; 300];
                        for _ in 0..rounds * 5 {
                            file.inline(b"a", ranks - 1, Some(&[b'a'; 32]))?;
                            file.array(b"b", &vec![3; ranks], 100, Source::Contiguous(&own), Encode::None)?;
                        }
                        refused(&mut file, kind, rank, ranks)?;
                        file.close()
                    };
                    let results = run_on_threads(ranks, write);
                    // On one rank, the third and fourth are right.
                    if ranks > 1 || !matches!(kind, 0 | 3 | 4 | 6) {
                        let kinds: Vec<_> =
                            results.iter().map(|r| r.as_ref().err().map(scda::Error::kind)).collect();
                        assert!(
                            kinds.iter().all(|&kind| kind == Some(ErrorKind::Argument)),
                            "{kind}: {results:?}"
                        );
                    }
                    let (ends, failed) = readable(&path);
                    assert_eq!(
                        failed, None,
                        "{ranks} ranks, check {check}, {aggregation_bytes}, kind {kind}"
                    );
                    let expected = if results[0].is_ok() { ends.len() } else { rounds * 10 };
                    assert_eq!(
                        ends.len(),
                        expected,
                        "{ranks} ranks, check {check}, {aggregation_bytes}, kind {kind}"
                    );
                }
            }
        }
    }
}

/// The variable that makes of this test program one that writes until it is killed.
const CHILD: &str = "SCDA_TEST_WRITES";

/// Not a test of its own: what the next one starts and kills.
#[test]
fn a_program_that_writes() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let (seed, ranks): (u64, usize) = (
        std::env::var("SCDA_TEST_SEED").unwrap().parse().unwrap(),
        std::env::var("SCDA_TEST_RANKS").unwrap().parse().unwrap(),
    );
    let model = model(3);
    run_on_threads(ranks, |comm| {
        let rng = std::sync::Mutex::new(Rng(seed ^ (scda::Communicator::rank(&comm) as u64) << 32));
        let pause = move || {
            let mut rng = rng.lock().unwrap();
            if rng.below(3) == 0 {
                std::thread::sleep(Duration::from_micros(rng.below(1500)));
            }
        };
        let late = Late { comm, pause: Box::new(pause) };
        common::write(late, Path::new(&path), &model, &params(), 3).unwrap();
    });
}

/// A rank that stops after each of its agreements, until it may go on.
struct Late {
    comm: ThreadComm,
    pause: Box<dyn Fn() + Send>,
}

impl scda::Communicator for Late {
    fn rank(&self) -> usize {
        self.comm.rank()
    }
    fn size(&self) -> usize {
        self.comm.size()
    }
    fn allreduce_min(&self, values: &mut [u64]) -> Result<()> {
        self.comm.allreduce_min(values)?;
        (self.pause)();
        Ok(())
    }
    fn allreduce_sum(&self, values: &mut [u64]) -> Result<()> {
        self.comm.allreduce_sum(values)
    }
    fn exscan_sum(&self, values: &mut [u64]) -> Result<()> {
        self.comm.exscan_sum(values)
    }
    fn allgather(&self, value: u64) -> Result<Vec<u64>> {
        self.comm.allgather(value)
    }
    fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<()> {
        self.comm.broadcast(bytes, root)
    }
    fn gather(&self, bytes: &[u8], all: &mut Vec<u8>) -> Result<()> {
        self.comm.gather(bytes, all)
    }
    #[allow(unsafe_code)]
    unsafe fn share_memory(&self, bytes: usize) -> Result<Option<scda::SharedMemory>> {
        // SAFETY: handed on for the same ranks.
        unsafe { self.comm.share_memory(bytes) }
    }
}

/// As if the job were killed while one rank is late and the others have done what they can.
#[test]
fn what_a_late_rank_has_not_written_is_not_taken_for_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let model = model(3);
    let whole = common::write_on(1, &folder.path().join("whole"), &model, &params(), 3);
    let mut seen = std::collections::BTreeSet::new();
    for late in 0..3 {
        // Taken by the one rank that is late.
        let ends = std::sync::Mutex::new(None);
        std::thread::scope(|scope| {
            let (stopped, stops) = channel();
            let (go, goes) = channel();
            *ends.lock().unwrap() = Some((stopped, goes));
            let job = scope.spawn(|| {
                run_on_threads(3, |comm| {
                    let is_late = scda::Communicator::rank(&comm) == late;
                    let ends = is_late.then(|| ends.lock().unwrap().take().unwrap());
                    let pause = move || {
                        if let Some((stopped, goes)) = &ends {
                            // When the test has failed, the job goes on to its end.
                            let _ = stopped.send(());
                            let _ = goes.recv();
                        }
                    };
                    common::write(Late { comm, pause: Box::new(pause) }, &path, &model, &params(), 3)
                        .unwrap();
                })
            });
            while stops.recv().is_ok() {
                std::thread::sleep(Duration::from_millis(4));
                if std::fs::metadata(&path).is_ok_and(|found| found.len() >= 128) {
                    seen.insert(check_left(&path, &whole).0.len());
                }
                go.send(()).unwrap();
            }
            job.join().unwrap();
        });
    }
    assert!(seen.len() > 20, "{seen:?}");
}

#[test]
fn what_a_killed_program_leaves_is_right_up_to_where_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let whole = common::write_on(1, &folder.path().join("whole"), &model(3), &params(), 3);
    let mut rng = Rng(0x5EED);
    let (mut incomplete, mut complete) = (0, 0);
    // On a busy machine most kills may come too late: then there are more.
    for kill in 0..900_u64 {
        if kill >= 90 && incomplete > 20 {
            break;
        }
        let path = folder.path().join(format!("f{kill}"));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "interrupted::a_program_that_writes"])
            .env(CHILD, &path)
            .env("SCDA_TEST_SEED", kill.to_string())
            .env("SCDA_TEST_RANKS", (1 + kill % 3).to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while !std::fs::metadata(&path).is_ok_and(|found| found.len() >= 128) {
            assert!(child.try_wait().unwrap().is_none_or(|status| status.success()));
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_micros(rng.below(60_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let (ends, _) = check_left(&path, &whole);
        if ends.last() == Some(&(whole.len() as u64)) { complete += 1 } else { incomplete += 1 }
    }
    assert!(
        incomplete > 20,
        "{incomplete} kills hit a file that was being written, {complete} came too late"
    );
}

#[test]
fn a_writer_that_is_dropped_removes_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    std::fs::write(&path, "old").unwrap();
    for ranks in [1, 3] {
        let mut atomic = params();
        atomic.atomic = true;
        // One rank after the other leaves, and waits for none.
        run_on_threads(ranks, |comm| -> Result<()> {
            let mut file = Writer::create(comm, &path, b"", &atomic)?;
            file.inline(b"a", 0, Some(&[b'a'; 32]))
        });
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!((left, std::fs::read(&path).unwrap()), (vec![path.clone()], b"old".to_vec()));
    }
    // What a rank that is alone has reported as written is in the file.
    let mut file = Writer::create(Solo, &path, b"", &params()).unwrap();
    file.inline(b"a", 0, Some(&[b'a'; 32])).unwrap();
    drop(file);
    assert_eq!(readable(&path), (vec![128 + 96], None));
}

#[test]
fn user_strings_of_the_compression_convention_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let write = |raw: bool, write: &dyn Fn(&mut Writer) -> Result<()>| {
        let mut params = params();
        params.raw = raw;
        let mut file = Writer::create(Solo, &path, b"", &params)?;
        write(&mut file)?;
        file.close()
    };
    let inline = |user: &'static [u8]| move |file: &mut Writer| file.inline(user, 0, Some(&[b' '; 32]));
    let array = |user: &'static [u8]| {
        move |file: &mut Writer| file.array(user, &[0], 1, Source::Contiguous(&[]), Encode::None)
    };
    for refused in [
        &inline(b"A compressed scda 00") as &dyn Fn(&mut Writer) -> Result<()>,
        &inline(b"B compressed scda 00"),
        &array(b"V compressed scda 00"),
        &|file: &mut Writer| {
            file.incremental().array(b"V compressed scda 00", 0, 1, &mut [].as_slice(), Encode::None)
        },
    ] {
        let error = write(false, refused).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.to_string().contains("compressed scda 00"), "{error}");
        assert_eq!(readable(&path), (vec![], None));
        write(true, refused).unwrap();
    }
    for fine in [
        &inline(b"V compressed scda 00") as &dyn Fn(&mut Writer) -> Result<()>,
        &array(b"A compressed scda 00"),
    ] {
        write(false, fine).unwrap();
    }
}

/// What one rank passes, and is refused before anything of it is written, leaves the file as it was, if it is to.
#[test]
fn arguments_that_are_refused_are_tolerated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for (seal, buffer, bytes) in
        [(false, 4 << 20, 10), (true, 4 << 20, 10), (true, 0, 10), (true, 4 << 20, 3 << 20)]
    {
        let write = |refuses: bool| {
            let mut params: WriteOptions = options();
            (params.seal, params.tuning.aggregation_bytes) = (seal, buffer);
            let mut file = Writer::create(Solo, &path, b"tolerant", &params).unwrap();
            file.tolerate_arguments().unwrap();
            let data = vec![b'x'; bytes];
            let count = bytes as u64;
            for section in 0..5_u8 {
                if refuses {
                    let long = [b'u'; 59];
                    let refused = match section {
                        0 => file.block(&long, 0, count, Some(&data), Encode::None),
                        1 => file.block(b"short", 0, count + 1, Some(&data), Encode::None),
                        2 => file.array(b"counts", &[count + 1], 1, Source::Contiguous(&data), Encode::None),
                        3 => file.varray(
                            b"v",
                            &[1],
                            &[count + 1],
                            None,
                            Source::Contiguous(&data),
                            Encode::None,
                        ),
                        _ => file.begin_streams(&long, 0),
                    };
                    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Argument);
                    assert!(file.is_open(), "{section}");
                }
                file.array(b"a", &[count], 1, Source::Contiguous(&data), Encode::None).unwrap();
            }
            file.close().unwrap();
            std::fs::read(&path).unwrap()
        };
        assert!(write(false) == write(true), "{seal} {buffer} {bytes}");
    }
    // Anything else closes the file.
    let mut file = Writer::create(Solo, &path, b"tolerant", &options()).unwrap();
    file.tolerate_arguments().unwrap();
    assert_eq!(file.commit().unwrap_err().kind(), ErrorKind::Usage);
    assert!(!file.is_open());
    let several = run_on_threads(2, |comm: ThreadComm| {
        let mut file = Writer::create(comm, &path, b"tolerant", &options()).unwrap();
        file.tolerate_arguments().unwrap_err().kind()
    });
    assert_eq!(several, [ErrorKind::Usage; 2]);
}
