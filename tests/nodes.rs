//! Ranks on several nodes: the same bytes, the same errors, and few messages that leave a node.

mod common;

use common::watched::Watched;
use common::{Data, Model, ModelSection, Want, model, read_on_ranks, write_on};
use scda::{Communicator, Encode, Error, ErrorKind, Params, Result, ThreadComm, run_on};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// For each rank the number of its node: nodes of different size, whose ranks are consecutive or not; one of one rank.
const MAPS: [&[usize]; 4] = [&[0, 0, 1, 1, 1], &[0, 1, 0, 1, 0, 1, 2], &[1, 0, 0, 0, 0, 0], &[0, 0, 0, 0, 1]];

fn params() -> Params {
    let mut params = Params::default();
    (params.check, params.aggregation_bytes) = (false, 9000);
    params
}

/// So many small sections that the ranks look for their nodes when they write, and read ahead by them.
fn many() -> Model {
    let mut all = model(1, 3000);
    for seed in 2..30 {
        all.sections.extend(model(seed, if seed % 10 == 0 { 300_000 } else { 1000 }).sections);
    }
    all
}

#[test]
fn nodes_change_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.scda");
    let model = many();
    for seal in [false, true] {
        let mut params = params();
        params.seal = seal;
        let first = write_on(1, &path, &model, &params, 0);
        for (map, seed) in MAPS.into_iter().zip(1..) {
            let ranks = || ThreadComm::on_nodes(map);
            assert!(common::write_on_ranks(ranks(), &path, &model, &params, seed) == first, "{map:?}");
            for want in [Want::All, Want::Some, Want::Nothing] {
                read_on_ranks(ranks(), &path, &model, &params, want, seed);
            }
            let mut larger = params.clone();
            larger.aggregation_bytes = 1 << 20;
            assert!(common::write_on_ranks(ranks(), &path, &model, &larger, seed) == first, "{map:?}");
            read_on_ranks(ranks(), &path, &model, &larger, Want::All, seed);
        }
    }
}

/// What the ranks exchange: all of them, those of a node, and the leaders of the nodes.
#[derive(Default)]
struct Log {
    /// Gathers and broadcasts of each level.
    messages: [AtomicU64; 3],
    /// How many exchanges are still to go well; the one after them fails.
    countdown: AtomicU64,
}

/// Runs a program on the nodes of a map while the exchange number `k` of `rank` fails. Returns what each rank got, and the logs.
fn run(
    map: &[usize],
    (rank, k): (usize, u64),
    program: impl Fn(Watched) -> Result<()> + Sync,
) -> (Vec<Result<()>>, Vec<Arc<Log>>) {
    let logs: Vec<Arc<Log>> = (0..map.len()).map(|_| Arc::default()).collect();
    for (number, log) in logs.iter().enumerate() {
        log.countdown.store(if number == rank { k } else { u64::MAX / 2 }, Relaxed);
    }
    let results = run_on(ThreadComm::on_nodes(map), |comm| {
        let log = Arc::clone(&logs[comm.rank()]);
        program(Watched::new(comm, move |level, what| {
            if ["broadcast", "gather"].contains(&what) {
                log.messages[level].fetch_add(1, Relaxed);
            }
            log.countdown.fetch_sub(1, Relaxed) == 0
        }))
    });
    (results, logs)
}

/// Small arrays whose elements all ranks have.
fn small(sections: usize) -> Model {
    let data = Data::Array { size: 90, elements: vec![vec![b'a'; 90]; 10] };
    let section = ModelSection { user: b"small".to_vec(), data, encode: Encode::None };
    Model { vendor: Vec::new(), user: b"nodes".to_vec(), sections: vec![section; sections] }
}

fn write(comm: Watched, path: &Path, model: &Model) -> Result<()> {
    common::write(comm, path, model, &params(), 1)
}

fn read(comm: Watched, path: &Path, model: &Model) -> Result<()> {
    common::read(comm, path, model, &params(), Want::All, 1)
}

#[test]
fn what_leaves_a_node_is_sent_by_its_leader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.scda");
    for map in MAPS {
        let messages = |sections: usize, writing: bool| {
            let model = small(sections);
            let none = (0, u64::MAX / 2);
            let (results, logs) = run(map, none, |comm| match writing {
                true => write(comm, &path, &model),
                false => read(comm, &path, &model),
            });
            assert!(results.iter().all(Result::is_ok), "{results:?}");
            logs.iter()
                .map(|log| [0, 1, 2].map(|level| log.messages[level].load(Relaxed)))
                .collect::<Vec<_>>()
        };
        for writing in [true, false] {
            // A file is written before it is read.
            let written = messages(100, true);
            let few = if writing { written } else { messages(100, false) };
            let written = messages(300, true);
            let many = if writing { written } else { messages(300, false) };
            for (rank, (few, many)) in few.iter().zip(&many).enumerate() {
                let is_leader = map.iter().position(|&node| node == map[rank]) == Some(rank);
                let [all, node, leaders] = [0, 1, 2].map(|level| many[level] - few[level]);
                assert_eq!(all, 0, "{map:?}: rank {rank} takes part in an exchange of all ranks");
                assert_eq!(leaders > 0, is_leader, "{map:?}: rank {rank}");
                assert_eq!(node > 0, writing, "{map:?}: rank {rank}");
            }
        }
    }
}

#[test]
fn an_exchange_that_fails_on_a_node_is_an_error_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.scda");
    let model = small(40);
    let whole = write_on(1, &path, &model, &params(), 0);
    let mut cases = 0;
    for map in [&[0, 0, 1, 1, 1][..], &[0, 1, 0, 1, 0]] {
        for writing in [true, false] {
            for rank in 0..map.len() {
                for k in 0.. {
                    if !writing {
                        std::fs::write(&path, &whole).unwrap();
                    }
                    let (results, logs) = run(map, (rank, k), |comm| match writing {
                        true => write(comm, &path, &model),
                        false => read(comm, &path, &model),
                    });
                    let errors: Vec<Option<String>> =
                        results.iter().map(|result| result.as_ref().err().map(Error::to_string)).collect();
                    assert!(
                        errors.windows(2).all(|pair| pair[0] == pair[1]),
                        "{map:?}, exchange {k} of rank {rank}: {errors:?}"
                    );
                    let kind = results[0].as_ref().err().map(Error::kind);
                    assert!(
                        kind.is_none_or(|kind| kind == ErrorKind::Mpi),
                        "exchange {k} of rank {rank}: {errors:?}"
                    );
                    let left = std::fs::read(&path).unwrap();
                    assert!(whole.starts_with(&left) && (kind.is_some() || left == whole));
                    if logs[rank].countdown.load(Relaxed) <= u64::MAX / 2 {
                        assert_eq!(kind, None);
                        break;
                    }
                    cases += 1;
                }
            }
        }
    }
    println!("{cases} exchanges failed");
    assert!(cases > 400, "{cases}");
}
