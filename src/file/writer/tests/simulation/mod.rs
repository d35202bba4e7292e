//! Counts what up to 10,000 simulated ranks write and exchange, and what they would write without this
//! library. It measures no time; `model` computes how long a file system would take.

mod compared;
mod model;
mod strategies;

use super::output::Progress;
use super::{Writer, begin};
use crate::file::options::{Encode, Tuning, WriteOptions};
use crate::file::source::Source;
use crate::file::sums::SummedFile;
use crate::file::target::Target;
use crate::file::team::Team;
use scda_base::error::Result;
use scda_format::header::UserString;
use scda_ranks::Communicator;
use scda_ranks::simulated::{ExchangeCounts, LEVELS, Machine};
use scda_storage::double::Double;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// The offset after the file header.
const START: u64 = 128;

/// A request to the file system.
#[derive(Clone, Copy, Debug)]
struct FileRequest {
    rank: usize,
    offset: u64,
    bytes: u64,
}

/// The file of a rank, which counts requests instead of writing.
fn counted(rank: usize, requests: Arc<Mutex<Vec<FileRequest>>>) -> Double {
    Double::written(move |offset, runs| {
        let bytes = runs.iter().map(|run| run.len() as u64).sum();
        if bytes > 0 {
            requests.lock().unwrap().push(FileRequest { rank, offset, bytes });
        }
    })
}

/// The counts of requests.
#[derive(Debug, PartialEq, Eq)]
struct RequestCounts {
    requests: u64,
    /// Requests of less than 64 KiB.
    small_requests: u64,
    bytes: u64,
    writers: usize,
    stripes: u64,
    /// Stripes with more than one writer.
    shared_stripes: u64,
    /// Stripes with writers on more than one node.
    shared_by_nodes: u64,
    /// The most writers of one stripe.
    most_writers: usize,
}

fn evaluate(requests: &[FileRequest], stripe: u64, node_ranks: usize) -> RequestCounts {
    let mut writers: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut inner = 0;
    for &FileRequest { rank, offset, bytes } in requests {
        // Only this request uses the stripes between the first and the last one.
        let (first, last) = (offset / stripe, (offset + bytes - 1) / stripe);
        for stripe in if first == last { vec![first] } else { vec![first, last] } {
            let all = writers.entry(stripe).or_default();
            if !all.contains(&rank) {
                all.push(rank);
            }
        }
        inner += (last - first).saturating_sub(1);
    }
    let mut ranks: Vec<usize> = requests.iter().map(|request| request.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    RequestCounts {
        requests: requests.len() as u64,
        small_requests: requests.iter().filter(|request| request.bytes < 64 * KIB).count() as u64,
        bytes: requests.iter().map(|request| request.bytes).sum(),
        writers: ranks.len(),
        stripes: inner + writers.len() as u64,
        shared_stripes: writers.values().filter(|all| all.len() > 1).count() as u64,
        shared_by_nodes: writers
            .values()
            .filter(|all| all.iter().any(|rank| rank / node_ranks != all[0] / node_ranks))
            .count() as u64,
        most_writers: writers.values().map(Vec::len).max().unwrap_or(0),
    }
}

/// Runs a program with the writer `times` times on each of many ranks, and counts the last run.
fn simulate(
    (ranks, node_ranks): (usize, usize),
    params: &WriteOptions,
    times: usize,
    program: impl Fn(&mut Writer) -> Result<()>,
) -> (Vec<FileRequest>, Vec<[ExchangeCounts; LEVELS]>) {
    let requests = Arc::<Mutex<Vec<FileRequest>>>::default();
    let exchanged = Machine::new(ranks, node_ranks).run(times, |comm, counts| {
        let rank = comm.rank();
        let requests = if counts { Arc::clone(&requests) } else { Arc::default() };
        let team = Team::new(Box::new(comm), "f");
        let file = SummedFile::new(Box::new(counted(rank, requests)), None);
        let target = Target::new(Path::new("f"), params, true);
        let session = begin(team, file, target, params.clone(), None, Progress::of_new_file(START));
        let user = UserString::new(b"").unwrap();
        let mut file = Writer { session, user, rolled_back: None };
        program(&mut file).unwrap();
        file.flush().unwrap();
        drop(file.session.take());
    });
    (std::mem::take(&mut requests.lock().unwrap()), exchanged)
}

fn params(writers_per_node: u64, stripe_bytes: u64) -> WriteOptions {
    let tuning = Tuning { writers_per_node, stripe_bytes, ..Tuning::default() };
    WriteOptions { tuning, ..WriteOptions::default() }
}

/// Writes an array of which each rank has one element of `part` bytes.
fn array(
    ranks: (usize, usize),
    part: u64,
    params: &WriteOptions,
) -> (Vec<FileRequest>, Vec<[ExchangeCounts; LEVELS]>) {
    let counts = vec![1; ranks.0];
    let data = vec![0; usize::try_from(part).unwrap()];
    // In the first run, the ranks of a node announce their parts.
    simulate(ranks, params, 2, |file| {
        file.array(b"field", &counts, part, Source::Contiguous(&data), Encode::None)
    })
}

/// The counts of independent writes of the same parts.
fn independent((ranks, node_ranks): (usize, usize), part: u64, stripe: u64) -> RequestCounts {
    let request = |rank| FileRequest { rank, offset: 256 + rank as u64 * part, bytes: part };
    evaluate(&(0..ranks).map(request).collect::<Vec<_>>(), stripe, node_ranks)
}

/// Two-phase collective buffering as in ROMIO, with one aggregator for each node, which has an equal range of
/// whole stripes and writes them in steps of 16 MiB; and the number of bytes that leave a node.
fn two_phase((ranks, node_ranks): (usize, usize), part: u64, stripe: u64) -> (RequestCounts, u64) {
    const BUFFER_BYTES: u64 = 16 * MIB;
    let (start, end) = (256, 256 + ranks as u64 * part);
    let aggregators = ranks.div_ceil(node_ranks) as u64;
    let domain = (end / aggregators).next_multiple_of(stripe);
    let (mut requests, mut bytes) = (Vec::new(), 0);
    for aggregator in 0..aggregators {
        let (first, last) = ((aggregator * domain).max(start), ((aggregator + 1) * domain).min(end));
        let rank = usize::try_from(aggregator).unwrap() * node_ranks;
        let mut at = first;
        while at < last {
            let to = last.min((at / BUFFER_BYTES + 1) * BUFFER_BYTES);
            requests.push(FileRequest { rank, offset: at, bytes: to - at });
            // The ranks that send what is written now.
            for sender in (at - start) / part..=(to - 1 - start) / part {
                if sender / node_ranks as u64 != aggregator {
                    let own = start + sender * part;
                    bytes += (own + part).min(to) - own.max(at);
                }
            }
            at = to;
        }
    }
    (evaluate(&requests, stripe, node_ranks), bytes)
}

#[test]
fn counts_of_ten_thousand_ranks() {
    let machine = (10_000, 64);
    let nodes = 157;
    // The table in benches/records/nodes-simulated.md: requests, stripes of several ranks and of several
    // nodes; requests and MiB that leave a node; requests, writers, stripes of several ranks and of several
    // nodes.
    let rows = [
        (KIB, MIB, [10_000, 10, 10], [10, 9], [167, 166, 10, 10]),
        (16 * KIB, MIB, [10_000, 157, 156], [157, 0], [314, 313, 156, 156]),
        (100 * KIB, MIB, [10_000, 977, 156], [193, 947], [1134, 1133, 156, 156]),
        (100 * KIB, 4 * MIB, [10_000, 245, 156], [123, 962], [402, 401, 156, 156]),
        (MIB - 100, MIB, [10_000, 9998, 156], [625, 74], [10_157, 1254, 156, 156]),
        (MIB, 4 * MIB, [10_000, 2500, 156], [626, 0], [2658, 941, 156, 156]),
        (10 * MIB, 4 * MIB, [10_000, 9999, 156], [6251, 0], [10_001, 10_000, 9999, 156]),
    ];
    // Only the first and the last row without `SCDA_EACH`, which scripts/long.sh sets.
    let step = if std::env::var_os("SCDA_EACH").is_some() { 1 } else { rows.len() - 1 };
    for (part, stripe, expected_alone, expected_collective, expected_own) in rows.into_iter().step_by(step) {
        let alone = independent(machine, part, stripe);
        let (collective, sent) = two_phase(machine, part, stripe);
        let (own, exchanged) = array(machine, part, &params(0, stripe));
        let own = evaluate(&own, stripe, machine.1);
        println!(
            "parts of {part} bytes, stripes of {stripe}:\n  {alone:?}\n  {collective:?} {sent}\n  {own:?}"
        );
        let [all, node, leaders] = exchanged[0];
        assert_eq!([alone.requests, alone.shared_stripes, alone.shared_by_nodes], expected_alone);
        assert_eq!([collective.requests, sent / MIB], expected_collective);
        assert_eq!([own.requests, own.writers as u64, own.shared_stripes, own.shared_by_nodes], expected_own);
        assert_eq!(collective.shared_stripes, 0);
        // Every byte is written once; the header and the padding come in addition.
        assert_eq!(alone.bytes, machine.0 as u64 * part);
        assert!((alone.bytes..alone.bytes + 256).contains(&own.bytes));
        // Only messages of agreements leave a node: three find the nodes; each section has two, or one as
        // without nodes; one flushes.
        assert_eq!((leaders, all.sent, all.received), Default::default());
        assert_eq!(all.reductions, if part < stripe { 6 } else { 2 });
        assert!(exchanged.iter().all(|rank| rank[0] == all));
        if part < stripe {
            // Only nodes that share a stripe.
            let nodes_of_a_stripe = stripe.div_ceil(64 * part) + 1;
            assert!(own.shared_stripes <= nodes.min(own.stripes), "{own:?}");
            assert!(own.most_writers as u64 <= nodes_of_a_stripe, "{own:?}");
            // A node's bytes begin and end within a stripe.
            let writers = ((64 * part).div_ceil(stripe) + 1).min(8);
            assert!(own.writers as u64 <= nodes * writers + 10, "{own:?}");
            assert!(own.requests <= own.stripes + nodes + 10, "{own:?}");
        } else {
            assert_eq!(own.requests, alone.requests + 1);
            assert_eq!(node, ExchangeCounts::default());
        }
    }
}

/// The same small sections, one after the other, with independent writes of each rank, and with two-phase
/// collective buffering: as long as a section is smaller than a stripe, one aggregator has all of it, and
/// each rank sends it its part.
fn alone_and_two_phase(
    ranks: usize,
    sections: u64,
    part: u64,
    stripe: u64,
    node_ranks: usize,
) -> [RequestCounts; 2] {
    let bytes = ranks as u64 * part;
    let (mut alone, mut collective) = (Vec::new(), Vec::new());
    for start in (0..sections).map(|section| START + section * bytes) {
        let request = |rank| FileRequest { rank, offset: start + rank as u64 * part, bytes: part };
        alone.extend((0..ranks).map(request));
        let mut at = start;
        while at < start + bytes {
            let end = (start + bytes).min((at / stripe + 1) * stripe);
            let rank = usize::try_from(at / stripe).unwrap() % ranks.div_ceil(node_ranks) * node_ranks;
            collective.push(FileRequest { rank, offset: at, bytes: end - at });
            at = end;
        }
    }
    [alone, collective].map(|requests| evaluate(&requests, stripe, node_ranks))
}

/// Blocks, each from another rank, on 10,000 ranks: they fill the buffer twice.
#[test]
fn small_blocks_of_ten_thousand_ranks() {
    let params = params(0, 4 * MIB);
    for (node_ranks, expected) in [(1, 2 * 9999), (64, 9999 + 63 + 156)] {
        let data = [b'b'; 1000];
        let (own, exchanged) = simulate((10_000, node_ranks), &params, 1, |file| {
            for section in 0..1000 {
                file.block(b"small", 10 * section, 1000, Some(&data), Encode::None)?;
            }
            Ok(())
        });
        let own = evaluate(&own, params.tuning.stripe_bytes, node_ranks);
        let received: u64 = exchanged[0].iter().map(|level| level.received).sum();
        println!("{node_ranks} a node: {own:?}, {:?}; rank 0 received {received}", exchanged[0]);
        assert_eq!((own.writers, own.shared_stripes, own.requests, own.small_requests), (1, 0, 4, 2));
        assert_eq!((received, exchanged[0][0].reductions), (expected, 6));
    }
}

#[test]
fn small_sections_go_through_the_leaders() {
    const SECTIONS: u64 = 1000;
    let ranks = 1000;
    let counts = vec![1; ranks];
    let [alone, collective] = alone_and_two_phase(ranks, SECTIONS, 100, 4 * MIB, 64);
    println!("independent: {alone:?}\ntwo-phase: {collective:?}");
    assert_eq!([alone.requests, alone.small_requests, alone.shared_stripes], [1_000_000, 1_000_000, 24]);
    assert_eq!([collective.requests, collective.small_requests, collective.shared_stripes], [1023, 28, 0]);
    // The ranks look for their nodes after the first of 51 rounds; there are 16.
    for (node_ranks, expected) in [(1, 51 * 999), (64, 999 + 50 * (63 + 15))] {
        let params = params(0, 4 * MIB);
        let (own, exchanged) = simulate((ranks, node_ranks), &params, 1, |file| {
            for _ in 0..SECTIONS {
                file.array(b"small", &counts, 100, Source::Contiguous(&[b'a'; 100]), Encode::None)?;
            }
            Ok(())
        });
        let own = evaluate(&own, params.tuning.stripe_bytes, node_ranks);
        let received: u64 = exchanged[0].iter().map(|level| level.received).sum();
        println!("{node_ranks} a node: {own:?}, {:?}; rank 0 received {received}", exchanged[0]);
        assert_eq!((own.writers, own.shared_stripes, own.requests), (1, 0, 2 * 51));
        assert_eq!((received, own.small_requests, exchanged[0][0].reductions), (expected, 51, 55));
    }
}

/// Each range is written by one aggregator of a node, with all bytes of each of its stripes.
#[test]
fn each_writer_has_whole_stripes() {
    for (ranks, node_ranks, writers) in [(12, 4, 1), (12, 4, 2), (13, 4, 3), (12, 5, 2)] {
        let stripe = 10_000;
        let part = 9_000;
        let mut params = params(writers, stripe);
        params.tuning.aggregation_bytes = 0;
        let (requests, _) = array((ranks, node_ranks), part, &params);
        for node in 0..ranks.div_ceil(node_ranks) {
            let own: Vec<_> = requests.iter().filter(|request| request.rank / node_ranks == node).collect();
            let mut of_node: HashMap<u64, usize> = HashMap::new();
            for FileRequest { rank, offset, bytes } in own {
                // The header comes last: 128 bytes from rank 0.
                if *bytes == 128 {
                    continue;
                }
                for stripe in offset / stripe..=(offset + bytes - 1) / stripe {
                    assert_eq!(*of_node.entry(stripe).or_insert(*rank), *rank, "{requests:?}");
                }
            }
            let mut found: Vec<_> = of_node.values().collect();
            found.sort_unstable();
            found.dedup();
            assert!(found.len() as u64 <= writers && !found.is_empty(), "node {node}: {found:?}");
        }
        let bytes: u64 = requests.iter().map(|request| request.bytes).sum();
        assert!((0..64).contains(&(bytes - 128 - ranks as u64 * part)), "{bytes}");
    }
}
