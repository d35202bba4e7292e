//! Files that are not completed: abandoned, interrupted, ended by a fault or a panic.

use super::{Scratch, error_of_all, params, small_model};
use crate::common::watched::Watched;
use crate::common::{self, Rng, Want, options, tuned};
use scda::{
    Collective, Communicator, Elements, Encode, Error, ErrorKind, Faults, Interrupt, Reader, Result, Sink,
    Source, ThreadComm, WriteOptions, Writer, run_on_threads,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn a_rank_that_abandons_a_file_tells_the_others() {
    let scratch = Scratch::new();
    let mut params: WriteOptions = params(false);
    params.atomic = true;
    let write = |comm: ThreadComm, leaves: bool| {
        let rank = comm.rank();
        let mut file = Writer::create(comm, scratch.path(), b"", &params)?;
        file.array(b"", &[1; 3], 1, Source::Contiguous(b"x"), Encode::None)?;
        if leaves && rank == 1 {
            return Err(file.abandon("the simulation has diverged"));
        }
        file.close()
    };
    let error = error_of_all(3, |comm| write(comm, true));
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains("rank 1: the simulation has diverged"), "{error}");
    assert!(scratch.names().is_empty());
    assert!(run_on_threads(3, |comm| write(comm, false)).iter().all(Result::is_ok));

    let error = error_of_all(3, |comm| {
        let rank = comm.rank();
        let mut file = Reader::open(comm, scratch.path(), &options())?;
        let section = file.next_section(true)?.expect("an array");
        if rank == 2 {
            return Err(file.abandon("out of patience"));
        }
        file.read_array(&[1; 3], section.size, Sink::Skip)?;
        file.close()
    });
    assert!(error.to_string().contains("rank 2: out of patience"), "{error}");
}

#[test]
fn an_incomplete_file_is_marked_if_that_is_wanted() {
    for (size, mark, atomic) in [(1, true, false), (3, true, false), (3, false, false), (3, true, true)] {
        for error in ["abandon", "argument"] {
            let scratch = Scratch::new();
            let mut params: WriteOptions = params(false);
            (params.mark_incomplete, params.atomic) = (mark, atomic);
            let failed = error_of_all(size, |comm| {
                let rank = comm.rank();
                let mut file = Writer::create(comm, scratch.path(), b"", &params)?;
                file.inline(b"kept", 0, Some(&[b'x'; 32]))?;
                file.flush()?;
                if error == "abandon" && rank == size - 1 {
                    return Err(file.abandon("no more"));
                }
                file.block(&[b'u'; 59], 0, 0, Some(b""), Encode::None)?;
                file.close()
            });
            assert_eq!(failed.kind(), ErrorKind::Argument);
            if atomic {
                assert!(scratch.names().is_empty());
                continue;
            }
            let length = std::fs::read(scratch.path()).unwrap().len();
            assert_eq!(length, 128 + 96 + if mark { 35 } else { 0 }, "{size} {error}");
            let mut file = Reader::open(scda::Solo, scratch.path(), &options()).unwrap();
            assert_eq!(file.next_section(true).unwrap().unwrap().user[..], b"kept"[..]);
            file.read_inline(0, None).unwrap();
            let next = file.next_section(true).map(|section| section.is_some());
            assert_eq!(
                next.as_ref().map_err(Error::kind),
                if mark { Err(ErrorKind::ShortFile) } else { Ok(&false) }
            );
        }
    }
}

/// Creates a file or appends to it, seals a section if it commits, and if it fails, fails after sections that are not sealed.
fn write_and_fail(
    comm: ThreadComm,
    path: &Path,
    params: &WriteOptions,
    [append, fails]: [bool; 2],
) -> Result<()> {
    let counts = scda::uniform_partition(60_000, comm.size());
    let data = vec![b'x'; 8 * counts[comm.rank()] as usize];
    let mut file = match append {
        true => Writer::append(comm, path, params)?,
        false => Writer::create(comm, path, b"", params)?,
    };
    if params.seal {
        file.block(b"kept", 0, 4, Some(b"kept"), Encode::None)?;
        file.commit()?;
    }
    if fails {
        file.array(b"lost", &counts, 8, Source::Contiguous(&data), Encode::None)?;
        file.inline(b"lost, too", 0, Some(&[b'x'; 32]))?;
        file.flush()?;
        file.block(b"and this", 0, 4, Some(b"lost"), Encode::None)?;
        file.block(&[b'u'; 59], 0, 0, Some(b""), Encode::None)?;
    }
    file.close()
}

#[test]
fn a_file_that_would_be_marked_ends_at_its_last_seal_or_where_it_ended_before() {
    // What is appended to: nothing, a file without seal and sections, a sealed one.
    for (size, before) in
        [1, 3].into_iter().flat_map(|size| [None, Some(false), Some(true)].map(|b| (size, b)))
    {
        for seal in [false, true] {
            if !seal && before.is_none() {
                continue;
            }
            let [expected, found] = [false, true].map(|fails| {
                let scratch = Scratch::new();
                let write = |seal: bool, append: bool, fails: bool| {
                    let mut params: WriteOptions = params(false);
                    (params.mark_incomplete, params.seal) = (true, seal);
                    let run = |comm| write_and_fail(comm, &scratch.path(), &params, [append, fails]);
                    assert!(run_on_threads(size, run).iter().all(|result| result.is_err() == fails));
                };
                before.into_iter().for_each(|seal| write(seal, false, false));
                write(seal, before.is_some(), fails);
                std::fs::read(scratch.path()).unwrap()
            });
            assert!(found == expected, "{size} ranks: {} bytes, expected {}", found.len(), expected.len());
        }
    }
}

/// Giving back what the ranks share takes all of them.
#[test]
fn what_the_ranks_share_stays_when_one_forgets_a_file() {
    let scratch = Scratch::new();
    run_on_threads(2, |comm| {
        let kept = Arc::new(());
        let shared = Arc::clone(&kept);
        let comm = Watched::new(comm, move |_, _| Arc::strong_count(&shared) == 0);
        Writer::create(comm, scratch.path(), b"", &params(false)).unwrap().forget();
        assert_eq!(Arc::strong_count(&kept), 2);
    });
}

#[test]
fn compression_is_stopped_from_another_thread() {
    for size in [1, 2] {
        let scratch = Scratch::new();
        let interrupt = Interrupt::default();
        let mut params: WriteOptions = params(false);
        params.interrupt = interrupt.clone();
        params.tuning.threads = 2;
        // Longer than anybody would wait.
        let data: Vec<u8> = (0..1 << 21).map(|i: u32| (i.wrapping_mul(i) / 7) as u8).collect();
        let element: &[u8] = &data;
        let elements = vec![element; 20_000];
        let start = std::time::Instant::now();
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(300));
                interrupt.stop();
            });
            error_of_all(size, |comm| {
                let mut file = Writer::create(comm, scratch.path(), b"", &params)?;
                let counts = vec![elements.len() as u64; size];
                file.array(b"", &counts, data.len() as u64, Source::Indirect(&elements), Encode::Always)
            })
        });
        assert!(error.to_string().contains("interrupted by the program"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(start.elapsed().as_secs() < 100, "{:?}", start.elapsed());
    }
}

#[test]
fn after_an_error_there_is_no_file() {
    let scratch = Scratch::new();
    let mut file = Writer::create(scda::Solo, scratch.path(), b"", &params(false)).unwrap();
    file.inline(b"kept", 0, Some(b"the sections before an error...\n")).unwrap();
    assert_eq!(file.inline(b"", 1, Some(&[0; 32])).unwrap_err().kind(), ErrorKind::Argument);
    assert_eq!(file.inline(b"", 0, Some(&[0; 32])).unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(file.close().unwrap_err().kind(), ErrorKind::Usage);
    // One rank: what was reported as written is in the file.
    assert_eq!(std::fs::read(scratch.path()).unwrap().len(), 128 + 96);
}

/// Everything there is, so that every access can fail.
fn write_and_read(comm: ThreadComm, path: &Path, params: &WriteOptions, seed: u64) -> Result<()> {
    let model = small_model();
    common::write(comm.clone(), path, &model, params, seed)?;
    common::read(comm, path, &model, &tuned(&params.tuning), Want::All, seed)
}

#[test]
fn injected_faults_are_errors_of_all_ranks_and_never_a_hang() {
    let scratch = Scratch::new();
    let mut failures = 0;
    for size in [1, 2, 3, 5] {
        for seed in 0..60 {
            for bytes in [0, 1 << 20] {
                let mut params: WriteOptions = params(false);
                params.tuning.aggregation_bytes = bytes;
                params.atomic = seed % 2 == 0;
                params.tuning.faults = Some(Faults { every: [1, 4, 30][seed as usize % 3], seed });
                let all = run_on_threads(size, |comm| {
                    write_and_read(comm, &scratch.path(), &params, Rng(seed).next())
                });
                let kinds: Vec<_> = all.iter().map(|r| r.as_ref().err().map(Error::kind)).collect();
                assert!(kinds.windows(2).all(|pair| pair[0] == pair[1]), "{kinds:?}");
                assert!(kinds[0].is_none_or(|kind| kind == ErrorKind::Io), "{kinds:?}");
                failures += usize::from(kinds[0].is_some());
                assert!(scratch.names().iter().all(|name| name == "file.scda"), "{:?}", scratch.names());
            }
        }
    }
    assert!((270..480).contains(&failures), "{failures}");
}

/// Elements whose memory is asked for once on checking, and after some further times no more.
struct Panicking {
    element: Vec<u8>,
    left: AtomicUsize,
}

impl Elements for Panicking {
    fn count(&self) -> usize {
        10
    }
    fn element(&self, _: usize) -> &[u8] {
        assert!(self.left.fetch_sub(1, Ordering::Relaxed) > 0, "deliberately");
        &self.element
    }
}

#[test]
fn a_panic_while_encoding_is_an_error_of_all() {
    let scratch = Scratch::new();
    for (threads, encode) in [(1, Encode::Always), (3, Encode::Always), (1, Encode::Auto)] {
        let mut params: WriteOptions = params(false);
        params.tuning.threads = threads;
        let error = error_of_all(3, |comm| {
            let times = if comm.rank() == 1 { 12 } else { usize::MAX };
            let elements = Panicking { element: vec![7; 100_000], left: AtomicUsize::new(times) };
            let mut file = Writer::create(comm, scratch.path(), b"", &params)?;
            file.array(b"", &[10; 3], 100_000, Source::Indirect(&elements), encode)?;
            file.close()
        });
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(error.to_string().contains("rank 1: panic: deliberately"), "{error}");
    }
}
