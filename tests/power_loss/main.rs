//! What the disk may have after a loss of power, while a file is written: each commit that was reported is there, no check accepts
//! a wrong byte, and the next job goes on.
//!
//! And what it has if a job is killed at any call: all that was done before.
//!
//! The calls of the system on the files of a small run are recorded. From the record, disks are made up. What a completed sync covers is
//! there. Of what came later, any part is: each write whole, by pages or by sectors; each truncation; the size or zeros where
//! it grew; each change of names up to any one. `SCDA_SEED` chooses others, `SCDA_STATES` how many.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // test data
#![allow(unsafe_code)] // stands between the library and the system

use scda::{
    Driver, Encode, ErrorKind, Params, Reader, Result, Solo, Source, ThreadComm, Writer, run_on_threads,
    uniform_partition,
};
use std::collections::BTreeMap;
use std::path::Path;

#[path = "../common/mod.rs"]
mod common;
mod record;

use common::Rng;
use record::{Event, Log, Record};

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// A folder in memory, if there is one: nothing here depends on the disk.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Elements of a step.
const COUNT: u64 = 2500;

/// A step is two sections, which belong together.
fn write_step(file: &mut Writer, step: u8, (rank, ranks): (usize, usize)) -> Result<()> {
    let counts = uniform_partition(COUNT, ranks);
    file.inline(b"step", 0, (rank == 0).then_some(&[step; 32]))?;
    let data = vec![step; 8 * counts[rank] as usize];
    file.array(b"u", &counts, 8, Source::Contiguous(&data), Encode::None)
}

/// The steps of a file, all of whose bytes are compared with its checksums.
fn steps(path: &Path) -> Result<Vec<u8>> {
    let mut params = Params::default();
    params.verify = true;
    let mut file = Reader::open(Solo, path, &params)?;
    let (mut steps, mut data) = (Vec::new(), vec![0; 8 * COUNT as usize]);
    while let Some(section) = file.next_section(true)? {
        let mut number = [0; 32];
        assert_eq!(&*section.user, b"step");
        file.read_inline(0, Some(&mut number))?;
        assert_eq!(&*file.next_section(true)?.expect("half a step").user, b"u");
        file.read_array(&[COUNT], 8, scda::Sink::Contiguous(&mut data))?;
        assert!(number.iter().chain(&data).all(|&byte| byte == number[0]), "wrong bytes were accepted");
        steps.push(number[0]);
    }
    Ok(steps)
}

fn params(atomic: bool, buffer: usize) -> Params {
    let mut params = Params::default();
    (params.seal, params.sync, params.atomic, params.driver) = (true, true, atomic, Driver::Posix);
    params.aggregation_bytes = buffer;
    params
}

/// What a job does with a file of some steps.
#[derive(Clone, Copy, Debug)]
struct Job {
    /// The steps that the file has before; without any, there is none.
    old: &'static [u8],
    /// Bytes behind its last seal, that a killed job has left: most of a step, or one that lacks only its seal.
    torn: Torn,
    appends: bool,
    atomic: bool,
    /// How many older files are kept. One of them is there before, with the step `o`.
    keep: u64,
    /// The steps that the job writes, each committed.
    new: &'static [u8],
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Torn {
    No,
    Half,
    Unsealed,
}

const JOBS: [Job; 8] = {
    let job = Job { old: b"", torn: Torn::No, appends: false, atomic: false, keep: 0, new: b"abc" };
    [
        job,
        Job { old: b"xy", ..job },
        Job { old: b"xy", atomic: true, ..job },
        Job { old: b"xy", atomic: true, keep: 1, ..job },
        Job { old: b"xy", atomic: true, keep: 2, ..job },
        Job { old: b"xy", appends: true, ..job },
        Job { old: b"xy", appends: true, torn: Torn::Half, ..job },
        Job { old: b"xy", appends: true, torn: Torn::Unsealed, ..job },
    ]
};

impl Job {
    /// Makes the old file.
    fn prepare(self, path: &Path) {
        if self.keep > 0 {
            let older = path.with_file_name("f.1");
            let mut file = Writer::create(Solo, &older, b"series", &params(false, 0)).unwrap();
            write_step(&mut file, b'o', (0, 1)).unwrap();
            file.close().unwrap();
        }
        if self.old.is_empty() {
            return;
        }
        let mut file = Writer::create(Solo, path, b"series", &params(false, 0)).unwrap();
        self.old.iter().for_each(|&step| {
            write_step(&mut file, step, (0, 1)).unwrap();
            file.commit().unwrap();
        });
        if self.torn != Torn::No {
            let before = file.position().unwrap();
            write_step(&mut file, b'z', (0, 1)).unwrap();
            file.close().unwrap();
            let mut bytes = std::fs::read(path).unwrap();
            let end = if self.torn == Torn::Half { before as usize + 5000 } else { bytes.len() - 288 };
            bytes.truncate(end);
            // A page that did not come to the disk.
            let page = (before as usize).next_multiple_of(4096);
            bytes[page..end.min(page + 4096)].fill(0);
            std::fs::write(path, bytes).unwrap();
        }
    }

    /// Writes; tells how many steps it was told to be durable.
    fn run(self, comm: ThreadComm, path: &Path, buffer: usize, durable: impl Fn(usize)) -> Result<()> {
        let ranks = (scda::Communicator::rank(&comm), scda::Communicator::size(&comm));
        let mut params = params(self.atomic, buffer);
        params.keep = self.keep;
        let mut file = match self.appends {
            true => Writer::append(comm, path, &params)?,
            false => Writer::create(comm, path, b"series", &params)?,
        };
        for (count, &step) in (1..).zip(self.new) {
            write_step(&mut file, step, ranks)?;
            file.commit()?;
            if !self.atomic {
                durable(count);
            }
        }
        file.close()?;
        durable(self.new.len());
        Ok(())
    }

    /// Whether a file may have these steps, when so many were told to be durable.
    fn allows(self, found: &[u8], durable: usize) -> bool {
        let all = if self.appends { [self.old, self.new].concat() } else { self.new.to_vec() };
        let least = if self.appends { self.old.len() + durable } else { durable };
        let is_new = all.starts_with(found) && found.len() >= least;
        match (self.appends, self.atomic) {
            (true, _) => is_new,
            (false, true) => found == self.old && durable == 0 || found == self.new,
            // Who creates a file gives up the old one.
            (false, false) => is_new || durable == 0 && self.old.starts_with(found),
        }
    }
}

/// What of the changes that no sync covers is on the disk.
struct Loss {
    /// How many of ten.
    kept: u64,
    /// The bytes of a write that are there or not together.
    piece: u64,
    /// Whether files are as long as the program saw them.
    keeps_size: bool,
    keeps_names: bool,
}

impl Loss {
    /// Power is lost.
    fn of_power(rng: &mut Rng) -> Self {
        let kept = [0, 1, 5, 9, 10][rng.below(5) as usize];
        let piece = [u64::MAX, 4096, 512][rng.below(3) as usize];
        Self { kept, piece, keeps_size: rng.below(3) == 0, keeps_names: false }
    }

    /// The program is killed: the system goes on.
    const OF_KILL: Self = Self { kept: 10, piece: u64::MAX, keeps_size: true, keeps_names: true };
}

/// A disk that is left after these events.
fn disk<'a>(
    events: impl Iterator<Item = &'a Event>,
    loss: &Loss,
    rng: &mut Rng,
) -> BTreeMap<String, Vec<u8>> {
    let &Loss { kept, piece, keeps_size, keeps_names } = loss;
    let is_kept = |rng: &mut Rng| rng.below(10) < kept;
    let mut files: BTreeMap<u64, [Vec<u8>; 2]> = BTreeMap::new(); // as on the disk, and as the program sees them
    let (mut names, mut pending) = (BTreeMap::new(), Vec::new());
    for event in events {
        match event {
            Event::Name(name, file) => pending.push((name, *file)),
            Event::SyncFolder => names.extend(pending.drain(..)),
            Event::Sync(file, bytes) => *files.entry(*file).or_default() = [bytes.clone(), bytes.clone()],
            Event::Truncate(file, length) => {
                let [stored, seen] = files.entry(*file).or_default();
                seen.resize(*length, 0);
                if is_kept(rng) {
                    stored.resize(*length, 0);
                }
            }
            Event::Write(file, offset, bytes) => {
                let [stored, seen] = files.entry(*file).or_default();
                put(seen, *offset, bytes);
                let (mut at, end) = (*offset as u64, (*offset + bytes.len()) as u64);
                while at < end {
                    let next = (at / piece).saturating_add(1).saturating_mul(piece).min(end);
                    if is_kept(rng) {
                        put(stored, at as usize, &bytes[at as usize - offset..next as usize - offset]);
                    }
                    at = next;
                }
            }
        }
    }
    let some = if keeps_names { pending.len() } else { rng.below(pending.len() as u64 + 1) as usize };
    names.extend(pending.into_iter().take(some));
    let mut disk = BTreeMap::new();
    for (name, file) in names {
        let Some(file) = file else { continue };
        let [mut stored, seen] = files.get(&file).cloned().unwrap_or_default();
        if keeps_size {
            stored.resize(seen.len(), 0);
        }
        disk.insert(name.clone(), stored);
    }
    disk
}

fn put(file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[offset..end].copy_from_slice(bytes);
}

/// What the next job finds: it appends a step, or creates the file if there is none.
fn go_on(path: &Path) -> Result<Vec<u8>> {
    let mut file = match Writer::append(Solo, path, &params(false, 0)) {
        Err(error) if error.kind() == ErrorKind::NoSuchFile => {
            Writer::create(Solo, path, b"series", &params(false, 0))?
        }
        file => file?,
    };
    write_step(&mut file, b'!', (0, 1))?;
    file.close()?;
    let mut found = steps(path)?;
    assert_eq!(found.pop(), Some(b'!'));
    Ok(found)
}

/// A job that was run on some ranks, and what it did.
struct Run {
    job: Job,
    ranks: usize,
    record: Record,
}

impl Run {
    fn all() -> Vec<Self> {
        let ways = [(1, 0), (1, 4 << 20), (2, 0), (3, 4 << 20)];
        JOBS.iter().flat_map(|&job| ways.map(|(ranks, buffer)| Self::of(job, ranks, buffer))).collect()
    }

    fn of(job: Job, ranks: usize, buffer: usize) -> Self {
        let folder = folder();
        let path = folder.path().join("f");
        job.prepare(&path);
        let log = Log::of(folder.path());
        for result in run_on_threads(ranks, |comm| {
            let is_first = scda::Communicator::rank(&comm) == 0;
            job.run(comm, &path, buffer, |count| {
                if is_first {
                    log.note_durable(count)
                }
            })
        }) {
            result.unwrap();
        }
        Self { job, ranks, record: log.end() }
    }

    /// Lets the next job run on a disk that was left after so many events. Tells whether all of the file was committed, and
    /// how many steps were left.
    fn check(&self, disk: &BTreeMap<String, Vec<u8>>, count: usize, what: &str) -> (bool, usize) {
        let (job, durable) = (self.job, self.record.durable_after(count));
        let what = format!("{what}, {count} events of {job:?} on {} ranks, {durable} durable", self.ranks);
        let folder = folder();
        disk.iter().for_each(|(name, bytes)| std::fs::write(folder.path().join(name), bytes).unwrap());
        let path = folder.path().join("f");
        let seen = steps(&path);
        let reader = Reader::open(Solo, &path, &Params::default());
        let is_whole = reader.is_ok_and(|reader| reader.left_out() == Some(0));
        assert!(durable == 0 || seen.is_ok(), "{what}: cannot be read: {seen:?}");
        if let Ok(found) = &seen {
            assert!(job.allows(found, durable), "{what}: verified {found:?}");
        }
        if job.keep > 0 {
            // The file that was replaced is there, under one name or the other; the one before it, if two are kept.
            let kept = |age: u64| steps(&folder.path().join(format!("f.{age}"))).ok();
            let newest = seen.ok();
            let is_there =
                |step: &[u8]| [&newest, &kept(1), &kept(2)].into_iter().flatten().any(|kept| kept == step);
            assert!(newest.is_some() && is_there(b"xy"), "{what}: {newest:?} {:?}", kept(1));
            assert!(job.keep == 1 || is_there(b"o"), "{what}: {:?} {:?}", kept(1), kept(2));
        }
        match go_on(&path) {
            Ok(found) => {
                assert!(job.allows(&found, durable), "{what}: went on behind {found:?}");
                (is_whole, found.len())
            }
            Err(error) => panic!("{what}: does not go on: {error}"),
        }
    }
}

#[test]
fn after_a_loss_of_power_each_commit_is_there_and_the_next_job_goes_on() {
    let (seed, states) = (number("SCDA_SEED", 24), number("SCDA_STATES", 4000));
    println!("SCDA_SEED={seed} SCDA_STATES={states}");
    let (mut rng, runs) = (Rng(seed), Run::all());
    let (mut torn, mut most) = (0, 0);
    for state in 0..states {
        let run = &runs[(state % runs.len() as u64) as usize];
        let Record { events, initial, .. } = &run.record;
        let count = initial + rng.below((events.len() - initial) as u64 + 1) as usize;
        let loss = Loss::of_power(&mut rng);
        let disk = disk(events[..count].iter(), &loss, &mut rng);
        let (is_whole, left) = run.check(&disk, count, &format!("SCDA_SEED={seed}, state {state}"));
        torn += u64::from(!is_whole);
        most = most.max(left);
    }
    assert!(torn > states / 5 && most == 5, "{torn} of {states} states had a torn end");
}

/// Before each call that changes something, and in the middle of each write.
#[test]
fn after_a_kill_at_any_call_the_next_job_goes_on() {
    let (mut rng, mut kills) = (Rng(1), 0);
    for run in Run::all() {
        let Record { events, initial, .. } = &run.record;
        for count in *initial..=events.len() {
            let mut check = |torn: Option<&Event>| {
                let disk = disk(events[..count].iter().chain(torn), &Loss::OF_KILL, &mut rng);
                run.check(&disk, count, "killed");
                kills += 1;
            };
            check(None);
            if let Some(Event::Write(file, offset, bytes)) = events.get(count) {
                check(Some(&Event::Write(*file, *offset, bytes[..bytes.len() / 2].to_vec())));
            }
        }
    }
    println!("{kills} kills");
    assert!(kills > 800, "{kills}");
}
