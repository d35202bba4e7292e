//! Ranks on several nodes: the same bytes, the same errors, and few messages that leave a node.

mod common;

use common::watched::Watched;
use common::{Data, Model, ModelSection, Want, model, read_on_ranks, write_on};
use scda::{Communicator, Encode, Error, ErrorKind, Faults, Params, Result, ThreadComm, run_on};
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

/// Parameters with which some ranks of each node write and read.
fn relaying(writers_per_node: u64, stripe_bytes: u64) -> Params {
    let mut params = params();
    (params.writers_per_node, params.stripe_bytes) = (writers_per_node, stripe_bytes);
    params
}

#[test]
fn writers_of_a_node_change_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.scda");
    let mut model = model(1, 200_000);
    model.sections.extend(common::model(2, 30_000).sections);
    let all: Vec<&[usize]> = MAPS.into_iter().chain([&[0; 3][..], &[0, 1, 2]]).collect();
    for (seal, maps) in [(false, &all[..]), (true, &all[1..2])] {
        let sealed = |mut params: Params| {
            (params.seal, params.verify) = (seal, seal);
            params
        };
        let first = write_on(1, &path, &model, &sealed(params()), 0);
        for (map, seed) in maps.iter().zip(1..) {
            // Stripes of which each rank has several, that all ranks have parts of, and that end anywhere.
            for (writers, stripe) in [(0, 1 << 16), (1, 1 << 32), (2, 5003), (7, 70_001)] {
                let params = sealed(relaying(writers, stripe));
                let ranks = || ThreadComm::on_nodes(map);
                let written = common::write_on_ranks(ranks(), &path, &model, &params, seed);
                assert!(written == first, "{map:?}, {writers} writers, stripes of {stripe}");
                for want in [Want::All, Want::Some, Want::Nothing] {
                    read_on_ranks(ranks(), &path, &model, &params, want, seed);
                }
            }
        }
    }
}

#[test]
fn an_access_that_fails_on_a_writer_is_an_error_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.scda");
    let model = model(1, 60_000);
    let whole = write_on(1, &path, &model, &params(), 0);
    let (mut failed, mut fine) = (0, 0);
    for map in MAPS {
        for seed in 0..60 {
            let mut params = relaying(1 + seed % 3, 3000 + 1000 * (seed % 7));
            params.faults = Some(Faults { every: 1 + seed * seed / 2, seed });
            let writing = seed % 2 == 0;
            if !writing {
                std::fs::write(&path, &whole).unwrap();
            }
            let results = run_on(ThreadComm::on_nodes(map), |comm| match writing {
                true => common::write(comm, &path, &model, &params, seed),
                false => common::read(comm, &path, &model, &params, Want::All, seed),
            });
            let errors: Vec<_> =
                results.iter().map(|result| result.as_ref().err().map(Error::to_string)).collect();
            assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "{map:?}, seed {seed}: {errors:?}");
            match &results[0] {
                Ok(()) => fine += 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                    failed += 1;
                }
            }
            let left = std::fs::read(&path).unwrap();
            assert!(results[0].is_err() || left == whole);
        }
    }
    println!("{failed} failed, {fine} went well");
    assert!(failed > 60 && fine > 60, "{failed} failed, {fine} went well");
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

fn write(comm: Watched, path: &Path, model: &Model, params: &Params) -> Result<()> {
    common::write(comm, path, model, params, 1)
}

fn read(comm: Watched, path: &Path, model: &Model, params: &Params) -> Result<()> {
    common::read(comm, path, model, params, Want::All, 1)
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
                true => write(comm, &path, &model, &params()),
                false => read(comm, &path, &model, &params()),
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
    let cases = fail_each_exchange(&small(40), &params());
    println!("{cases} exchanges failed");
    assert!(cases > 400, "{cases}");
}

#[test]
fn an_exchange_that_fails_among_writers_is_an_error_of_all() {
    let array = Data::Array { size: 900, elements: vec![vec![b'a'; 900]; 20] };
    let varray = Data::Varray(vec![vec![b'v'; 700]; 20]);
    let section = |data, encode| ModelSection { user: b"large".to_vec(), data, encode };
    let sections = vec![
        section(array.clone(), Encode::None),
        section(varray.clone(), Encode::None),
        section(varray, Encode::Always),
        section(array, Encode::None),
    ];
    let model = Model { vendor: Vec::new(), user: b"nodes".to_vec(), sections };
    let cases = fail_each_exchange(&model, &relaying(2, 5000));
    println!("{cases} exchanges failed");
    assert!(cases > 700, "{cases}");
}

/// Writes and reads on two maps of nodes while each exchange of each rank fails in turn. Returns how many these are.
fn fail_each_exchange(model: &Model, params: &Params) -> u32 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.scda");
    let whole = write_on(1, &path, model, params, 0);
    let mut cases = 0;
    for map in [&[0, 0, 1, 1, 1][..], &[0, 1, 0, 1, 0]] {
        for writing in [true, false] {
            for rank in 0..map.len() {
                for k in 0.. {
                    if !writing {
                        std::fs::write(&path, &whole).unwrap();
                    }
                    let (results, logs) = run(map, (rank, k), |comm| match writing {
                        true => write(comm, &path, model, params),
                        false => read(comm, &path, model, params),
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
    cases
}
