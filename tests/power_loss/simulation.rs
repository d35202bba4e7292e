//! Simulated runs: one seed tells the nodes and the order of the ranks and of the threads that write for them, which call or exchange fails or where a rank dies, and the disk that is left; and whether another reads on meanwhile.
//! All ranks must say the same, nobody waits for ever, no commit is lost, and who reads on sees each. `SCDA_SEED` is the first seed, `SCDA_SEEDS` how many.

use crate::common::Rng;
use crate::common::sampled::one_of;
use crate::common::watched::Watched;
use crate::disks::{Event, Loss, Write};
use crate::record::{Log, Record};
use crate::schedule::{self, End, Fault};
use crate::steps::{Content, Steps, params};
use crate::{Job, Run, folder, number};
use scda::{Communicator, Reader, Result, Solo, Writer};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What happened in a simulated run.
struct SimulatedRank {
    fault: Fault,
    /// Whether a call of a thread failed that writes in the background.
    failed_in_thread: bool,
    /// Whether all ranks had success.
    is_good: bool,
    /// How often who read on found more.
    found_more: usize,
    record: Record,
}

/// A job on ranks that are on these nodes, of which a seed tells the order, and the disk that is left.
struct Plan {
    job: Job,
    nodes: Vec<usize>,
    buffer: usize,
    fault: Fault,
    seed: u64,
    /// Whether a thread of rank 0 reads on.
    is_followed: bool,
}

impl Plan {
    /// One seed tells the job, the ranks, the order of them and of their threads, what fails, and which disk is left then.
    fn of(seed: u64, rng: &mut Rng) -> Self {
        let jobs = Job::all([40, 2500][rng.below(2) as usize]);
        let job = jobs[rng.below(jobs.len() as u64) as usize];
        let (ranks, fault) = (rng.below(4) as usize + 1, Fault::random(rng));
        let buffer = [0, 4 << 20][rng.below(2) as usize];
        // One node, or several with up to `most` ranks each.
        let most = rng.below(ranks as u64) as usize + 1;
        let nodes = (0..ranks).step_by(most).map(|first| most.min(ranks - first)).collect();
        let is_followed = seed.is_multiple_of(3) && job.can_be_followed();
        Self { job, nodes, buffer, fault, seed, is_followed }
    }

    /// Runs it, and checks what all ranks say and what is left, whole and on a disk that `rng` chooses.
    fn run(&self, rng: &mut Rng, wholes: &mut BTreeMap<String, [Vec<u8>; 2]>) -> SimulatedRank {
        let Self { job, ref nodes, buffer, fault, seed, is_followed } = *self;
        let ranks = nodes.iter().sum();
        // The bytes of streams depend on the number of ranks.
        let whole =
            wholes.entry(format!("{job:?} {ranks}")).or_insert_with(|| Run::of(job, ranks, 0).whole).clone();
        let what = format!("SCDA_SEED={seed}: {fault:?}, ranks on nodes {nodes:?}, {job:?}");
        let folder = folder();
        let path = folder.path().join("f");
        forget_files(folder.path());
        job.prepare(&path);
        let log = Log::of(folder.path());
        let is_without_error = matches!(fault, Fault::Nothing | Fault::Short);
        let (durable, found_more) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (ends, failed_in_thread) = schedule::run(&what, seed, nodes, fault, |comm| {
            let own = comm.clone();
            let reads_on = is_followed && comm.rank() == 0;
            let watched = Watched::new(comm, move |_, _| own.fails());
            std::thread::scope(|scope| {
                if reads_on {
                    let follow = || job.follow(&path, is_without_error, &durable, &found_more, &what);
                    // If the thread cannot be started, nobody reads.
                    let _ = std::thread::Builder::new().spawn_scoped(scope, follow);
                }
                let note = |count| {
                    log.note_durable(count);
                    durable.fetch_max(count, Ordering::Relaxed);
                };
                job.run(watched, &path, buffer, note).map_err(|error| error.code())
            })
        });
        let is_killed = ends.contains(&End::Killed);
        assert!(
            is_killed || ends.windows(2).all(|pair| pair[0] == pair[1]),
            "{what}: ranks disagree: {ends:?}"
        );
        let is_good = ends == vec![End::Returned(Ok(())); ranks];
        assert!(is_good || !is_without_error, "{what}: {ends:?}");
        if is_good {
            job.note_closed(&log);
        }
        let run = Run { job, ranks, record: log.end(), whole };
        let Record { events, initial, .. } = &run.record;
        let all = events.len();
        run.check(&Loss::OF_KILL.disk(&run.events(all, None), usize::MAX, || true), all, None, &what);
        let count = initial + rng.below((all - initial) as u64 + 1) as usize;
        let loss = Loss::random(rng);
        run.check(&loss.random_disk(&run.events(count, None), rng), count, Some(loss), &what);
        // A call that failed may be one of who reads on.
        let failed_in_thread = failed_in_thread && !is_followed;
        SimulatedRank {
            fault,
            failed_in_thread,
            is_good,
            found_more: found_more.into_inner(),
            record: run.record,
        }
    }
}

/// The process forgets the files that it has closed: what a seed tells must not depend on the runs before.
fn forget_files(folder: &Path) {
    for _ in 0..4 {
        let path = folder.join("another");
        Writer::create(Solo, &path, b"another", &params(false, 0)).unwrap().close().unwrap();
        std::fs::remove_file(path).unwrap();
    }
}

impl Job {
    /// Whether who reads while it writes sees one commit after the other: where nothing that was committed is given up, and a mark tells
    /// what is not.
    fn can_be_followed(self) -> bool {
        self.atomic || !self.goes_back && !self.first_seal && (self.appends || self.old.is_empty())
    }

    /// Reads on while the job writes, by another process.
    fn follow(
        self,
        path: &Path,
        is_without_error: bool,
        durable: &AtomicUsize,
        found_more: &AtomicUsize,
        what: &str,
    ) {
        let (mut reader, mut seen): (Option<Reader>, Option<usize>) = (None, None);
        for look in 0..12 {
            let durable = durable.load(Ordering::Relaxed);
            let mut read = || -> Result<Vec<u8>> {
                match &mut reader {
                    Some(reader) if look % 4 > 0 => drop(reader.refresh()?),
                    reader => drop(reader.replace(Steps::open(path)?)),
                }
                self.steps.read_from(reader.as_mut().unwrap())
            };
            match read() {
                Ok(found) => {
                    let before = seen.replace(found.len()).unwrap_or(found.len());
                    assert!(self.allows(&found, durable), "{what}: reads on: {found:?}, {durable} durable");
                    assert!(!is_without_error || found.len() >= before, "{what}: {found:?} after {before}");
                    found_more.fetch_add(usize::from(found.len() > before), Ordering::Relaxed);
                }
                // Of a new file, there may be nothing yet.
                Err(error) => {
                    let is_new = seen.is_none() && self.old.is_empty();
                    assert!(!is_without_error || is_new, "{what}: cannot read on: {error}");
                    reader = None;
                }
            }
        }
    }
}

fn simulate(seed: u64, wholes: &mut BTreeMap<String, [Vec<u8>; 2]>) -> SimulatedRank {
    let mut rng = Rng(seed);
    Plan::of(seed, &mut rng).run(&mut rng, wholes)
}

#[test]
fn whatever_fails_in_whatever_order_all_ranks_say_the_same_and_no_commit_is_lost() {
    let (first, seeds) = (number("SCDA_SEED", 1), number("SCDA_SEEDS", 350));
    println!("SCDA_SEED={first} SCDA_SEEDS={seeds}");
    let mut wholes = BTreeMap::new();
    let (mut without, mut short, mut in_threads, mut found_more) = (0, 0, 0, 0);
    for seed in first..first + seeds {
        let run = simulate(seed, &mut wholes);
        without += u64::from(run.fault == Fault::Nothing);
        short += u64::from(run.fault == Fault::Short);
        in_threads += u64::from(run.failed_in_thread);
        found_more += run.found_more;
    }
    println!(
        "{without} without a fault, {short} short transfers, {in_threads} faults of threads that write in the background; \
         {found_more} times a reader found more"
    );
    assert!(seeds < 100 || without > 0 && short > 0 && in_threads > 0 && found_more > 0);
}

/// Each call of a thread that writes in the background fails in its turn, alone or with all that follow; in each kind of job but
/// those with streams, which wait for the thread. With `SCDA_EACH`, each kind of job runs on all nodes, and else on some in turn.
#[test]
fn whatever_call_of_a_background_thread_fails_is_an_error_of_all_ranks() {
    let is_one = |job: &Job| !job.background && job.steps.content != Content::Streams;
    let jobs: Vec<Job> =
        Job::all(40).into_iter().filter(is_one).map(|job| Job { background: true, ..job }).collect();
    let (mut wholes, mut failed) = (BTreeMap::new(), 0);
    for (kind, job) in jobs.iter().enumerate() {
        let places = [(vec![1], false), (vec![2], true), (vec![1, 2], false)];
        for (nodes, goes_on) in places.into_iter().skip(kind % one_of(3)).step_by(one_of(3)) {
            for at in 0.. {
                let fault = Fault::InThread(at, libc::EIO, goes_on);
                let plan =
                    Plan { job: *job, nodes: nodes.clone(), buffer: 0, fault, seed: at, is_followed: false };
                let run = plan.run(&mut Rng(at), &mut wholes);
                if !run.failed_in_thread {
                    break;
                }
                assert!(!run.is_good, "{fault:?} {job:?}");
                failed += 1;
            }
        }
    }
    println!("{failed} calls of background threads failed in {} kinds of jobs", jobs.len());
    assert!(failed > 4 * jobs.len() / one_of(3), "{failed}");
}

/// Seeds that failed while the library had these bugs: of the past, with the commit that mended them, or put in for that. When the
/// simulation changes, a seed tells another run: look for one again.
const BUGS: [(u64, &str); 4] = [
    (59, "db7d2559: a seal was in stable storage before what it seals"),
    (62, "db7d2559: a commit was reported before the name of a new file was in stable storage"),
    (94, "put in: an error of the thread that writes in the background was not told"),
    (232, "put in: an atomic file got its name before it was in stable storage"),
];

#[test]
fn the_seeds_that_found_bugs_pass() {
    let mut wholes = BTreeMap::new();
    for (seed, bug) in BUGS {
        println!("SCDA_SEED={seed}: {bug}");
        simulate(seed, &mut wholes);
    }
}

#[test]
fn a_seed_repeats_what_happens() {
    let mut wholes = BTreeMap::new();
    let mut calls = |seed| -> Vec<String> {
        let calls = simulate(seed, &mut wholes).record.events.into_iter().map(|event| match event {
            Event::Write(Write { file, offset, bytes, .. }) => format!("write {file} {offset} {bytes:?}"),
            Event::Truncate(file, length) => format!("truncate {file} {length}"),
            Event::Sync(file, ..) => format!("sync {file}"),
            Event::Old(file, bytes) => format!("old {file} {bytes:?}"),
            Event::Name(name, file) => format!("name {name} {file:?}"),
            Event::SyncFolder => "sync folder".into(),
        });
        calls.collect()
    };
    assert!((1..30).all(|seed| calls(seed) == calls(seed)));
}

#[test]
#[should_panic(expected = "wait for one another for ever")]
fn a_rank_that_waits_for_ever_is_found() {
    schedule::run("", 1, &[2], Fault::Nothing, |comm| comm.rank() == 0 || comm.allgather(1).is_ok());
}
