//! Ranks that fail alone or disagree: all learn of it, wherever they are.

use super::{Scratch, error_of_all, params};
use crate::common::{options, watched::Watched};
use scda::{
    Collective, Communicator, DataType, Dataset, Encode, Error, ErrorKind, IndexBox, Layout, PartitionTable,
    Reader, Result, Sink, Source, ThreadComm, WriteOptions, Writer, run_on_threads,
};

/// All agreements have one form: a rank that fails meets the others wherever they are.
#[test]
fn an_error_of_one_rank_meets_the_others_where_they_share_a_value() {
    let scratch = Scratch::new();
    for bad in 0..3 {
        let error = error_of_all(3, |comm| {
            let mut params: WriteOptions = params(false);
            params.level = if comm.rank() == bad { 77 } else { 6 };
            Writer::create(comm, scratch.path(), b"", &params).map(drop)
        });
        assert!(error.to_string().contains("level: found 77"), "{error}");
        let error = error_of_all(3, |comm| {
            let root = if comm.rank() == bad { 9 } else { 1 };
            let mut file = Writer::create(comm, scratch.path(), b"", &params(false))?;
            file.block(b"", root, 500, Some(&[7; 500]), Encode::Always)?;
            file.close()
        });
        assert!(error.to_string().contains("root: found 9"), "{error}");
    }
}

#[test]
fn an_error_of_one_rank_comes_up_at_once_with_check_and_at_close_without() {
    let scratch = Scratch::new();
    for size in [1, 2, 3, 5] {
        for check in [true, false] {
            for bad in 0..size {
                let error = error_of_all(size, |comm| {
                    let rank = comm.rank();
                    let mut file = Writer::create(comm, scratch.path(), b"", &params(check))?;
                    // Of the wrong length on one rank.
                    let data = if rank == bad { &b"ab"[..] } else { b"abc" };
                    let written = file.array(b"", &vec![1; size], 3, Source::Contiguous(data), Encode::None);
                    assert_eq!(written.is_err(), check || size == 1);
                    written?;
                    file.inline(b"", 0, Some(&[b'i'; 32]))?;
                    file.close()
                });
                assert_eq!(error.kind(), ErrorKind::Argument);
                assert!(error.to_string().contains("found 2 bytes, expected 3"), "{error}");
                assert!(error.to_string().contains(&format!("rank {bad}")) || size == 1, "{error}");
            }
        }
    }
}

#[test]
fn ranks_that_disagree_all_get_an_argument_error_that_names_the_argument() {
    let scratch = Scratch::new();
    let path = scratch.path();
    type Program = fn(&mut Writer, bool) -> Result<()>;
    let cases: [(&str, Program); 7] = [
        ("user string", |f, odd| f.inline(if odd { b"a" } else { b"b" }, 0, Some(&[0; 32]))),
        ("root", |f, odd| f.inline(b"", usize::from(odd), Some(&[0; 32]))),
        ("a size", |f, odd| {
            let size = if odd { 2 } else { 3 };
            f.block(b"", 0, size, Some(&vec![0; size as usize]), Encode::None)
        }),
        ("counts", |f, odd| {
            let counts = if odd { [1, 0, 0] } else { [0, 0, 0] };
            f.array(b"", &counts, 0, Source::Contiguous(b""), Encode::None)
        }),
        ("encode", |f, odd| {
            let encode = if odd { Encode::Always } else { Encode::None };
            f.block(b"", 0, 1, Some(b"1"), encode)
        }),
        ("function", |f, odd| {
            if odd { f.inline(b"", 0, Some(&[0; 32])) } else { f.block(b"", 0, 1, Some(b"1"), Encode::None) }
        }),
        ("sizes S_q", |f, odd| {
            let sums = if odd { [0, 0, 0] } else { [0, 1, 0] };
            f.varray(b"", &[0, 0, 0], &[], Some(&sums), Source::Contiguous(b""), Encode::None)
        }),
    ];
    for (name, program) in cases {
        for check in [true, false] {
            let error = error_of_all(3, |comm| {
                let odd = comm.rank() == 1;
                let mut file = Writer::create(comm, &path, b"", &params(check))?;
                let written = program(&mut file, odd);
                assert!(written.is_err() || !check);
                written?;
                file.close()
            });
            assert_eq!(error.kind(), ErrorKind::Argument, "{name}: {error}");
            assert!(error.to_string().contains(name), "{name}: {error}");
        }
    }
}

/// Where both wait for chunks that the thread compresses.
#[test]
fn a_group_on_one_rank_and_a_dataset_on_another_are_different_functions() {
    let scratch = Scratch::new();
    let error = error_of_all(3, |comm| {
        let is_odd = comm.rank() == 1;
        let mut params: WriteOptions = params(true);
        params.background_bytes = 1 << 20;
        let mut file = Writer::create(comm, scratch.path(), b"", &params)?;
        let mut dataset = Dataset::new("d", DataType::Uint8, [9]);
        dataset.layout = Layout::Chunked { shape: None, text: false };
        let all = [IndexBox::all(&[9])];
        let mine = if is_odd { &all[..] } else { &[] };
        file.dataset(&dataset, mine, if is_odd { &b"123456789"[..] } else { b"" })?;
        if is_odd { file.dataset(&dataset, mine, b"123456789") } else { file.group("g", "{}") }
    });
    assert!(error.to_string().contains("the ranks disagree on the function that is called"), "{error}");
}

#[test]
fn ranks_that_open_differently_get_an_error() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path(), "").unwrap();
    let modes = error_of_all(2, |comm| match comm.rank() {
        0 => Writer::create(comm, scratch.path(), b"", &params(true)).map(drop),
        _ => Reader::open(comm, scratch.path(), &params(true)).map(drop),
    });
    assert_eq!(modes.kind(), ErrorKind::Argument);
    let users = error_of_all(2, |comm| {
        let user = [comm.rank() as u8];
        Writer::create(comm, scratch.path(), &user, &params(true)).map(drop)
    });
    assert!(users.to_string().contains("user string"), "{users}");
    let settings = error_of_all(2, |comm| {
        let mut params: WriteOptions = params(false);
        params.atomic = comm.rank() == 1;
        Writer::create(comm, scratch.path(), b"", &params).map(drop)
    });
    assert!(settings.to_string().contains("parameter"), "{settings}");
}

#[test]
fn a_rank_that_fails_early_meets_the_others_later() {
    // Rank 1 has an argument that is wrong for it alone although it should be the same on all; the
    // others go on, and learn of it when they next meet.
    let scratch = Scratch::new();
    let error = error_of_all(3, |comm| {
        let root = if comm.rank() == 1 { 99 } else { 0 };
        let mut file = Writer::create(comm, scratch.path(), b"", &params(false))?;
        file.inline(b"", root, Some(&[0; 32]))?;
        file.inline(b"", 0, Some(&[0; 32]))?;
        file.flush()?;
        file.close()
    });
    assert!(error.to_string().contains("rank 1: root: found 99"), "{error}");
}

#[test]
fn the_counts_of_all_ranks_are_made_of_each_ranks_own() {
    let scratch = Scratch::new();
    for size in 1..=4 {
        let counts: Vec<u64> = (0..size as u64).map(|rank| rank << 61).collect();
        let found = run_on_threads(size, |comm| {
            let rank = comm.rank();
            let mut file = Writer::create(comm.clone(), scratch.path(), b"", &params(false))?;
            let written = file.proc_counts(counts[rank])?;
            file.close()?;
            let mut file = Reader::open(comm, scratch.path(), &params(false))?;
            let read = file.proc_counts(counts[rank])?;
            file.close()?;
            Ok::<_, Error>([written, read])
        });
        for found in found {
            assert_eq!(found.unwrap(), [counts.clone(), counts.clone()]);
        }
    }
    let error = error_of_all(3, |comm| {
        let odd = comm.rank() == 1;
        let mut file = Writer::create(comm, scratch.path(), b"", &params(false))?;
        if odd { file.proc_counts(3) } else { file.proc_sizes(&[3]) }.map(drop)
    });
    assert!(error.to_string().contains("the ranks disagree on the function that is called"), "{error}");
}

#[test]
fn a_partition_stands_for_the_counts_of_all_ranks() {
    let scratch = Scratch::new();
    for size in 1..=4 {
        let counts: Vec<u64> = (0..size as u64).map(|rank| rank * rank % 3).collect();
        let total: u64 = counts.iter().sum();
        let dataset = |name, rows| Dataset::new(name, DataType::Uint16, [rows, 3]);
        let write = |made: bool| {
            for done in run_on_threads(size, |comm| {
                let rank = comm.rank();
                let own = usize::try_from(counts[rank]).unwrap_or(0);
                let mut file = Writer::create(comm, scratch.path(), b"", &params(false))?;
                let known = file.partition(counts[rank])?;
                assert_eq!(known, PartitionTable::new(&counts, rank, size)?);
                let parts: &[u64] = if made { &known } else { &counts };
                let data = vec![u8::try_from(rank).unwrap_or(0); own * 6];
                file.array(b"a", parts, 6, Source::Contiguous(&data), Encode::Always)?;
                file.varray(b"v", parts, &vec![6; own], None, Source::Contiguous(&data), Encode::None)?;
                for chunked in [false, true] {
                    let mut field = dataset("f", total);
                    if chunked {
                        field.layout = Layout::Chunked { shape: Some(vec![2, 2]), text: false };
                    }
                    file.field(&field, parts, &data[..])?;
                    if made {
                        file.own_field(&field, counts[rank], &data[..])
                    } else {
                        file.field(&field, parts, &data[..])
                    }?;
                }
                file.close()
            }) {
                done.unwrap();
            }
            std::fs::read(scratch.path()).unwrap()
        };
        assert_eq!(write(true), write(false), "{size} ranks");
        for done in run_on_threads(size, |comm| {
            let rank = comm.rank();
            let mut file = Reader::open(comm, scratch.path(), &params(false))?;
            let known = file.partition(counts[rank])?;
            let mut data = vec![9; usize::try_from(counts[rank] * 6).unwrap_or(0)];
            file.next_section(true)?;
            file.read_array(&known, 6, Sink::Contiguous(&mut data))?;
            assert!(data.iter().all(|&byte| usize::from(byte) == rank));
            file.close()
        }) {
            done.unwrap();
        }
    }
    // On some ranks a partition, on others counts; one of another rank; and too many elements.
    let error = error_of_all(3, |comm| {
        let odd = comm.rank() == 1;
        let mut file = Writer::create(comm, scratch.path(), b"", &params(false))?;
        let known = file.partition(1)?;
        let parts: &[u64] = if odd { &known } else { &[1; 3] };
        file.array(b"a", parts, 1, Source::Contiguous(b"x"), Encode::None)?;
        file.close()
    });
    assert!(error.to_string().contains("the ranks disagree on the counts of elements N_q"), "{error}");
    let error = error_of_all(3, |comm| {
        let mut file = Writer::create(comm, scratch.path(), b"", &params(false))?;
        let other = PartitionTable::new(&[1; 3], 0, 3)?;
        file.array(b"a", &other, 1, Source::Contiguous(b"x"), Encode::None)?;
        file.close()
    });
    assert!(error.to_string().contains("partition: found that of rank 0 of 3"), "{error}");
    let error = error_of_all(3, |comm| {
        let mut file = Writer::create(comm, scratch.path(), b"", &params(false))?;
        file.partition(1 << 62).map(drop)
    });
    assert_eq!(error.kind(), ErrorKind::Range);
}

/// Fails each exchange of this name on rank 1, after it was made.
fn failing_in(comm: ThreadComm, name: &'static str) -> Watched {
    let fails = comm.rank() == 1;
    Watched::new(comm, move |_, what| fails && what == name)
}

/// A program with a barrier of its own between its calls waits for ever if only some ranks return from one.
#[test]
fn where_sizes_are_summed_up_all_ranks_fail_in_the_same_call() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut params: WriteOptions = options();
    params.tuning.check = false;
    for what in ["exscan_sum", "allreduce_sum"] {
        for (encode, bytes) in
            [(Encode::None, 9), (Encode::Always, 9), (Encode::Auto, 5000), (Encode::Always, 200_000)]
        {
            let kinds = run_on_threads(3, |comm| -> Result<ErrorKind> {
                let mut file = Writer::create(failing_in(comm, what), &path, b"", &params)?;
                let data = vec![b'x'; bytes];
                let written =
                    file.varray(b"v", &[1; 3], &[bytes as u64], None, Source::Contiguous(&data), encode);
                Ok(written.expect_err("an error of this call").kind())
            });
            assert!(
                kinds.iter().all(|kind| matches!(kind, Ok(ErrorKind::Mpi))),
                "{what}, {encode:?}: {kinds:?}"
            );
        }
    }
}

/// As above.
#[test]
fn where_numbers_are_gathered_or_memory_is_shared_all_ranks_fail_in_the_same_call() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut params: WriteOptions = options();
    (params.tuning.check, params.tuning.aggregation_bytes) = (false, 64 << 10);
    let calls = run_on_threads(3, |comm| -> Result<_> {
        let mut file = Writer::create(failing_in(comm.clone(), "allgather"), &path, b"", &params)?;
        let gathered = file.proc_counts(3).expect_err("an error of this call").kind();
        let mut file = Writer::create(failing_in(comm, "share_memory"), &path, b"", &params)?;
        let failed =
            (0..10_000).find_map(|i| file.inline(b"i", 0, Some(&[b'i'; 32])).err().map(|e| (i, e.kind())));
        Ok((gathered, failed.expect("an error where memory is shared")))
    });
    let calls: Vec<_> = calls.into_iter().map(Result::unwrap).collect();
    assert!(
        calls.iter().all(|call| *call == calls[0] && call.0 == ErrorKind::Mpi && call.1.1 == ErrorKind::Mpi),
        "{calls:?}"
    );
}
