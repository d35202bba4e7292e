//! Compares this library with others on a modelled file system: docs/model.md has the tables.

use super::model::{Outcome, Striping, System, Write, run};
use super::strategies::Job;
use super::{FileRequest, MIB, START, params, simulate};
use crate::file::options::Encode;
use crate::file::source::Source;

/// The disks of Orion, the file system of Frontier: 450 servers with two targets each write 4.6 TB/s
/// together.
const ORION: System = System {
    latency: 75e-6,
    node_rate: 10e9,
    process_rate: 5e9,
    servers: 900,
    server_rate: 4.6e12 / 900.0,
    request: 50e-6,
    request_bytes: 4 * MIB,
    creation: 50e-6,
    opening: 20e-6,
    reduction: 70e-6,
    skew: 1e-3,
};
const STRIPE: u64 = 4 * MIB;
/// The time of a reduction within a node.
const NODE_REDUCTION: f64 = 5e-6;

/// The writes of each rank with the library.
fn trace(job: &Job, system: &System, stripe: u64) -> Vec<Vec<Write>> {
    let counts = vec![1; job.ranks];
    let data = vec![0; usize::try_from(job.part).unwrap()];
    let (requests, exchanged) = simulate((job.ranks, job.node_ranks), &params(0, stripe), 2, |file| {
        file.array(b"field", &counts, job.part, Source::Contiguous(&data), Encode::None)
    });
    // All sections are alike, each beginning where the previous one ends.
    let section = requests.iter().map(|request| request.offset + request.bytes).max().unwrap_or(0) - START;
    let mut processes = vec![Vec::new(); job.ranks];
    for number in 0..job.sections {
        for &FileRequest { rank, offset, bytes } in &requests {
            let offset = offset + number * section;
            processes[rank].push(Write { node: rank / job.node_ranks, file: 0, offset, bytes, pause: 0.0 });
        }
    }
    for (writes, [all, node, _]) in processes.iter_mut().zip(exchanged) {
        // Before they write, all ranks agree, twice if there are aggregators, which then copy the bytes of
        // the ranks of their node.
        let met = (all.reductions - 1).min(2) as f64 * system.reduction;
        let copied = if node.reductions > 0 { job.part as f64 / system.process_rate } else { 0.0 };
        let pause = job.sections as f64 * (met + copied + node.reductions as f64 * NODE_REDUCTION);
        let number = writes.len().max(1) as f64;
        writes.iter_mut().for_each(|write| write.pause = pause / number);
    }
    processes
}

/// These writes on the modelled file system. One rank of each node opens the file.
fn library(
    job: &Job,
    system: &System,
    stripe: u64,
    has_group_lock: bool,
    processes: &[Vec<Write>],
) -> Outcome {
    let opened = system.creation + job.nodes() as f64 * system.opening + 2.0 * system.reduction;
    run(system, job.shared(system, stripe, has_group_lock), processes, (opened, 0.0))
}

/// The percentage of the peak.
fn percent(job: &Job, system: &System, outcome: &Outcome) -> f64 {
    assert!((job.bytes()..job.bytes() + 256 * (1 + job.sections)).contains(&outcome.bytes), "{outcome:?}");
    100.0 * job.bytes() as f64 / outcome.seconds / system.peak(job.nodes())
}

fn show(name: &str, job: &Job, system: &System, outcome: &Outcome) -> f64 {
    let percent = percent(job, system, outcome);
    println!(
        "{name}: {percent:.1} % of {:.0} GB/s in {:.0} ms; {} requests, {} locks, {} called back",
        system.peak(job.nodes()) / 1e9,
        outcome.seconds * 1e3,
        outcome.requests,
        outcome.locks,
        outcome.callbacks
    );
    percent
}

/// The percentages of: the library with a group lock, and without; independent writes with the same layout,
/// and with the objects of a default folder; two-phase; a file per process; and a file per node.
fn compare(job: &Job, system: &System, stripe: u64, own: &[Vec<Write>]) -> [f64; 7] {
    println!("{job:?}, stripes of {stripe}:");
    let folder = Job { stripes: 8, ..*job };
    [
        show("library, group lock", job, system, &library(job, system, stripe, true, own)),
        show("library", job, system, &library(job, system, stripe, false, own)),
        show("independent", job, system, &job.independent(system, stripe)),
        show("independent, 8 stripes", job, system, &folder.independent(system, stripe)),
        show("two-phase", job, system, &job.two_phase(system, stripe)),
        show("file per process", job, system, &job.file_per_process(system, stripe)),
        show("file per node", job, system, &job.file_per_node(system, stripe)),
    ]
}

/// Runs on `SCDA_RANKS` ranks, which scripts/long.sh sets, and on up to 10,000 in all sizes.
#[test]
fn the_library_beside_others() {
    let said = std::env::var("SCDA_RANKS").ok().and_then(|ranks| ranks.parse().ok());
    let ranks: usize = said.unwrap_or(1000);
    let parts = [16 << 10, 100 << 10, MIB - 100, 10 * MIB];
    for &part in if said.is_some() && ranks <= 10_000 { &parts[..] } else { &parts[2..3] } {
        let nodes = ranks.div_ceil(64) as u64;
        let sections = if said.is_some() { 16 } else { 8 };
        let job = Job { ranks, node_ranks: 64, sections, part, stripes: nodes };
        let own_writes = trace(&job, &ORION, STRIPE);
        for stripes_per_node in [1, 2] {
            let job = Job { stripes: stripes_per_node * nodes, ..job };
            let [group, own, independent, folder, two_phase, ..] = compare(&job, &ORION, STRIPE, &own_writes);
            assert!(group > own && group > two_phase && own >= 0.9 * independent && independent > folder);
            if part >= MIB - 100 && ranks >= 10_000 && stripes_per_node == 2 {
                assert!(group >= 80.0 && folder < 20.0);
            }
        }
    }
}

/// This many processes on nodes of `node_ranks`, each with a file.
fn files(ranks: usize, node_ranks: usize, sections: u64, part: u64) -> Job {
    Job { ranks, node_ranks, sections, part, stripes: 1 }
}

#[test]
fn files_of_their_own_reach_what_is_published_of_the_whole() {
    let (job, system) = (files(14_400, 16, 1, 64 * MIB), System { creation: 0.0, ..ORION });
    let found = show("Orion, a file per process", &job, &system, &job.file_per_process(&system, STRIPE));
    // 4.6 TB/s, less the cost of requests besides their bytes.
    assert!((80.0..100.0).contains(&found));
}

/// Nodes that take turns in an object of one server: each part comes from the next node.
fn in_turns(nodes: usize, part: u64, stripes: u64, has_group_lock: bool) -> f64 {
    let system = System { servers: 1, skew: 0.0, creation: 0.0, ..ORION };
    const PIECES: u64 = 100;
    let process = |node| {
        let write = |number| Write {
            node,
            file: 0,
            offset: (number * nodes as u64 + node as u64) * part,
            bytes: part,
            pause: 0.0,
        };
        (0..PIECES).map(write).collect()
    };
    let processes: Vec<_> = (0..nodes).map(process).collect();
    let outcome =
        run(&system, Striping { count: stripes, bytes: part, has_group_lock }, &processes, (0.0, 0.0));
    outcome.bytes as f64 / outcome.seconds / system.server_rate
}

/// Moore, Farrell and Cernohous (2017): if no node waits for another's lock, one file is written more than
/// twice as fast in large parts, and more than three times as fast in small ones. Farrell (2019): the same
/// if each node has an object of its own, with several on a server.
#[test]
fn locks_of_extents_cost_what_is_published() {
    for (part, least) in [(4 * MIB, 2.0), (MIB, 3.0)] {
        let [locked, group, objects] =
            [(1, false), (1, true), (8, false)].map(|(stripes, group)| in_turns(8, part, stripes, group));
        println!(
            "parts of {part}: locked {locked:.2}, group {group:.2}, objects {objects:.2} of a server's rate"
        );
        assert!(group > least * locked && objects > least * locked);
    }
}

/// AMReX on 1024 nodes of Frontier (its pull request 4426) took 30 minutes when ranks took turns in each of
/// 256 files and flushed small parts, and 1 minute with a file for each node. The model explains the order,
/// but little of the factor.
#[test]
fn taking_turns_in_few_files_is_slower_than_a_file_per_node() {
    const RANKS: usize = 8192;
    let turns = |files: usize, part: u64| {
        let of_file = RANKS / files;
        let process = |file| {
            (0..of_file as u64 * (32 * MIB / part)).map(move |number| Write {
                node: (file * of_file + (number * part / (32 * MIB)) as usize) / 8,
                file,
                offset: number * part,
                bytes: part,
                pause: 0.0,
            })
        };
        let processes: Vec<Vec<Write>> = (0..files).map(|file| process(file).collect()).collect();
        let striping = Striping { count: 1, bytes: 16 * MIB, has_group_lock: false };
        run(&ORION, striping, &processes, (files as f64 * ORION.creation, 0.0))
    };
    let (before, after) = (turns(256, MIB), turns(1024, 16 * MIB));
    println!(
        "AMReX: {:.2} s and {:.2} s: {:.1}",
        before.seconds,
        after.seconds,
        before.seconds / after.seconds
    );
    assert!((1.2..30.0).contains(&(before.seconds / after.seconds)));
}
