//! What the disk may have after a loss of power, while a file is written: each commit that was reported is there, no check accepts
//! a wrong byte, and the next job goes on.
//!
//! And what it has if a job is killed at any call: all that was done before.
//!
//! The calls of the system on the files of a small run are recorded. From the record, disks are made up. What a completed sync covers is
//! there. Of what came later, any part is: each write whole, by pages or by sectors; each truncation; the size or zeros where
//! it grew; each change of names up to any one. Of the smallest runs, all disks are tried that differ in up to `SCDA_CHANGES`
//! changes. `SCDA_SEED` chooses others, `SCDA_STATES` how many. Several ranks make their calls in another order each time.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // test data
#![allow(unsafe_code, clippy::cast_sign_loss)] // stands between the library and the system

use scda::AtomicFile;
use scda::{CommitRequest, Communicator, Hdf5, Reader, Result, Solo, Writer, run_on_threads};
use scda_format::hdf5::clear_superblock;
use scda_hdf5::Superblock;
use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

#[path = "../common/mod.rs"]
mod common;
mod disks;
mod record;
mod schedule;
mod simulation;
mod steps;
mod threads;

use common::sampled::one_of;
use common::{Rng, options};
use disks::{Disk, Event, Loss, Write};
use record::{Log, Record};
use steps::{Content, Steps, params, valid_length};

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// Calls a function with each number below `count`.
fn on_all_cores(count: u64, each: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                std::iter::from_fn(|| {
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|next| *next < count)
                })
                .for_each(&each);
            });
        }
    });
}

/// A folder in memory, if there is one: nothing here depends on the disk.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// What a job does with a file of some steps.
#[derive(Clone, Copy, Debug)]
struct Job {
    steps: Steps,
    /// The steps that the file has before; without any, there is none.
    old: &'static [u8],
    /// Bytes after its last seal, that a killed job has left: most of a step, or one that lacks only its seal.
    torn: Torn,
    appends: bool,
    /// Whether it continues after the first of the old steps.
    goes_back: bool,
    /// Whether the old steps have one seal together.
    one_seal: bool,
    /// Whether the old file has no seal: the job adds the first one.
    first_seal: bool,
    /// Whether the name of the old file may be lost, because its writer has not synced it.
    unnamed: bool,
    atomic: bool,
    /// Whether an atomic file gets its name before it is in stable storage.
    later: bool,
    /// How many older files are kept. One of them is there before, with the step `o`.
    keep: u64,
    /// Whether a thread of each rank writes.
    background: bool,
    /// Whether each commit writes a view, too.
    hdf5: Hdf5,
    /// The steps that the job writes, each committed.
    new: &'static [u8],
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Torn {
    No,
    Half,
    Unsealed,
}

impl Job {
    /// Jobs that write sections in all ways, and everything else in the most important ones.
    fn all(count: u64) -> Vec<Self> {
        let steps = Steps { content: Content::Sections, count };
        let job = Job {
            steps,
            old: b"",
            torn: Torn::No,
            appends: false,
            goes_back: false,
            one_seal: false,
            first_seal: false,
            unnamed: false,
            atomic: false,
            later: false,
            keep: 0,
            background: false,
            hdf5: Hdf5::Close,
            new: b"abc",
        };
        let mut jobs = vec![
            Job { old: b"xy", ..job },
            Job { old: b"xy", atomic: true, keep: 1, ..job },
            Job { old: b"xy", atomic: true, keep: 2, ..job },
            Job { old: b"xy", appends: true, ..job },
            Job { old: b"xy", appends: true, torn: Torn::Unsealed, ..job },
            Job { old: b"xy", appends: true, unnamed: true, ..job },
            Job { old: b"xy", unnamed: true, ..job },
            Job { old: b"xyz", appends: true, goes_back: true, atomic: true, ..job },
        ];
        let contents = [
            (Content::Sections, false),
            (Content::Sections, true),
            (Content::Streams, false),
            (Content::Datasets, false),
            (Content::Datasets, true),
            (Content::Rows, false),
            (Content::Rows, true),
            (Content::Codecs, false),
            (Content::Codecs, true),
        ];
        for (content, background) in contents {
            let job = Job { steps: Steps { content, count }, background, ..job };
            jobs.extend([
                job,
                Job { old: b"xy", atomic: true, ..job },
                Job { old: b"xy", appends: true, torn: Torn::Half, ..job },
                Job { old: b"xyz", appends: true, goes_back: true, ..job },
                Job { old: b"xyz", appends: true, goes_back: true, one_seal: true, ..job },
                Job { old: b"xy", appends: true, first_seal: true, ..job },
                Job { old: b"xy", appends: true, atomic: true, ..job },
                Job { old: b"xy", atomic: true, later: true, ..job },
            ]);
        }
        for content in [Content::Datasets, Content::Rows] {
            let job = Job { steps: Steps { content, count }, hdf5: Hdf5::Commits, ..job };
            jobs.extend([
                job,
                Job { old: b"xy", appends: true, torn: Torn::Half, ..job },
                Job { old: b"xyz", appends: true, goes_back: true, ..job },
                Job { old: b"xyz", appends: true, goes_back: true, one_seal: true, ..job },
                Job { old: b"xy", appends: true, atomic: true, ..job },
            ]);
        }
        // Streams without a commit are one set; and the thread has nothing to do with what comes before it.
        jobs.retain(|job| !(job.one_seal && (job.background || job.steps.content == Content::Streams)));
        // Rows are added, and attributes set, only in a file that has seals.
        jobs.retain(|job| !(job.first_seal && matches!(job.steps.content, Content::Rows | Content::Codecs)));
        jobs
    }

    /// Whether the file is also an HDF5 file: a sealed one with datasets.
    fn has_view(self) -> bool {
        !self.first_seal && !matches!(self.steps.content, Content::Sections | Content::Streams)
    }

    /// Makes the old file.
    fn prepare(self, path: &Path) {
        let write = |path: &Path, steps: &[u8]| {
            let mut params = params(false, 0);
            (params.seal, params.hdf5) = (!self.first_seal, self.hdf5);
            let mut file = Writer::create(Solo, path, b"series", &params).unwrap();
            self.steps.begin(&mut file).unwrap();
            for (number, &step) in steps.iter().enumerate() {
                if number > 0 && !self.first_seal && !self.one_seal {
                    file.commit().unwrap();
                }
                self.steps.write(&mut file, step, (0, 1)).unwrap();
            }
            self.steps.end(&mut file).unwrap();
            file.close().unwrap();
        };
        if self.keep > 0 {
            write(&path.with_file_name("f.1"), b"o");
        }
        if self.old.is_empty() {
            return;
        }
        write(path, self.old);
        if self.torn != Torn::No {
            let whole = std::fs::read(path).unwrap();
            let before = whole.len();
            assert_eq!(self.steps.go_on(path).unwrap(), self.old);
            let mut bytes = std::fs::read(path).unwrap();
            let end = if self.torn == Torn::Half { before.midpoint(bytes.len()) } else { bytes.len() - 288 };
            bytes.truncate(end);
            if self.has_view() {
                // Only a close writes the superblock.
                bytes[512..560].copy_from_slice(&whole[512..560]);
            }
            // A page that did not come to the disk.
            let page = before.next_multiple_of(4096).min(end);
            bytes[page..end.min(page + 4096)].fill(0);
            std::fs::write(path, bytes).unwrap();
        }
    }

    /// Writes; tells how many steps it was told to be durable.
    fn run(
        self,
        comm: impl Communicator + 'static,
        path: &Path,
        buffer: usize,
        durable: impl Fn(usize),
    ) -> Result<()> {
        let ranks = (comm.rank(), comm.size());
        let mut params = params(self.atomic, buffer);
        (params.keep, params.hdf5) = (self.keep, self.hdf5);
        params.append_after = if self.goes_back { self.steps.sections_of_first() } else { 0 };
        (params.later, params.sync) = (self.later, !self.later);
        params.background_bytes = u64::from(self.background) << 20;
        let mut file = match self.appends {
            true => Writer::append(comm, path, &params)?,
            false => Writer::create(comm, path, b"series", &params)?,
        };
        let durable = |count| {
            if !self.atomic {
                durable(count)
            }
        };
        durable(0);
        let mut begun: Option<(usize, CommitRequest)> = None;
        self.steps.begin(&mut file)?;
        for (count, &step) in (1..).zip(self.new) {
            self.steps.write(&mut file, step, ranks)?;
            if let Some((count, request)) = begun.take() {
                request.wait(&mut file)?;
                durable(count);
            }
            if self.atomic && count == self.new.len() {
                // Closing commits the last step, too.
            } else if self.background {
                begun = Some((count, file.commit_begin()?));
            } else {
                file.commit()?;
                durable(count);
            }
        }
        self.steps.end(&mut file)?;
        file.close()
    }

    /// Notes that closing succeeded.
    fn note_closed(self, log: &Log) {
        if !self.later {
            log.note_durable(self.new.len());
        }
    }

    /// Whether a file may have these steps, when `durable` steps were said to be durable.
    fn allows(self, found: &[u8], durable: usize) -> bool {
        let kept = match (self.appends, self.goes_back) {
            (true, true) => &self.old[..1],
            (true, false) => self.old,
            (false, _) => b"",
        };
        let all = [kept, self.new].concat();
        let is_new = all.starts_with(found) && found.len() >= kept.len() + durable;
        let is_old = durable == 0 && (found == self.old || self.unnamed && found.is_empty());
        match (self.atomic, self.appends) {
            (true, _) => is_old || found == all,
            (false, true) => is_old || is_new,
            // Who creates a file gives up the old one.
            (false, false) => is_new || durable == 0 && self.old.starts_with(found),
        }
    }
}

/// A job that was run on some ranks, and what it did.
struct Run {
    job: Job,
    ranks: usize,
    record: Record,
    /// The file before and after it.
    whole: [Vec<u8>; 2],
}

impl Run {
    /// With steps of `count` elements.
    fn all(count: u64) -> Vec<Self> {
        let ways = [(1, 0), (2, 4 << 20), (3, 0), (4, 4 << 20)];
        let runs = Job::all(count).into_iter();
        runs.flat_map(|job| ways.map(|(ranks, buffer)| Self::of(job, ranks, buffer))).collect()
    }

    fn of(job: Job, ranks: usize, buffer: usize) -> Self {
        let folder = folder();
        let path = folder.path().join("f");
        job.prepare(&path);
        let old = std::fs::read(&path).unwrap_or_default();
        let log = Log::of(folder.path());
        if job.unnamed {
            log.forget_names();
        }
        for result in run_on_threads(ranks, |comm| {
            let is_first = comm.rank() == 0;
            job.run(comm, &path, buffer, |count| {
                if is_first {
                    log.note_durable(count)
                }
            })
        }) {
            result.unwrap();
        }
        job.note_closed(&log);
        Self { job, ranks, record: log.end(), whole: [old, std::fs::read(&path).unwrap()] }
    }

    /// Lets the next job run on a disk that was left after a number of events, by a loss or a kill. Tells whether all of the file was committed, and
    /// how many steps were left.
    fn check(&self, disk: &Disk, count: usize, loss: Option<Loss>, what: &str) -> (bool, usize) {
        let (job, durable) = (self.job, self.record.durable_after(count));
        // A name that came to the disk before the bytes: nothing is promised but that wrong ones are not valid.
        let may_be_torn = job.later && loss.is_some();
        let what =
            format!("{what}, {loss:?}, {count} events of {job:?} on {} ranks, {durable} durable", self.ranks);
        let folder = folder();
        disk.iter().for_each(|(name, bytes)| std::fs::write(folder.path().join(name), bytes).unwrap());
        let path = folder.path().join("f");
        let seen = job.steps.read(&path);
        let reader = Reader::open(Solo, &path, &options());
        let is_whole = reader.is_ok_and(|reader| reader.left_out() == Some(0));
        let valid = valid_length(&path).ok().flatten();
        if let Some(length) = valid {
            // The superblock of HDF5 is under no checksum: it is checked below.
            let sealed = |bytes: &Vec<u8>| {
                let mut bytes = bytes.get(..length)?.to_vec();
                if job.has_view() {
                    clear_superblock(0, &mut bytes);
                }
                Some(bytes)
            };
            let is_right = |whole: &Vec<u8>| sealed(whole) == sealed(&disk["f"]);
            assert!(self.whole.iter().any(is_right), "{what}: {length} wrong bytes are valid");
        }
        if job.has_view()
            && let Some(superblock) =
                disk.get("f").and_then(|bytes| bytes.get(512..)).and_then(<[u8]>::first_chunk)
        {
            // It leads HDF5 to what is sealed, or is one by which HDF5 finds nothing.
            let superblock = Superblock::of_bytes(superblock).ok().flatten();
            let is_sealed =
                superblock.is_none_or(|found| valid.is_some_and(|length| found.end <= length as u64));
            assert!(is_sealed, "{what}: {superblock:?} leads beyond {valid:?}");
        }
        // Without the mark in its header, a file with a torn end is read by nobody before the next job has removed that.
        let is_readable = seen.is_ok() && valid.is_some();
        assert!(durable == 0 || job.first_seal || is_readable, "{what}: cannot be read: {seen:?}");
        if let Ok(found) = &seen {
            // While a file is rolled back to a place before its first seal, readers see its header.
            let is_between = job.one_seal && durable == 0 && found.is_empty();
            assert!(
                job.allows(found, durable) || is_between || may_be_torn && job.new.starts_with(found),
                "{what}: verified {found:?}"
            );
        }
        if job.keep > 0 {
            // As many whole files as before have the names, and no two the same; the one that was replaced is there, perhaps on
            // its way to its name; the one before it, too, if two are kept.
            let read = |name: String| job.steps.read(&folder.path().join(name)).ok();
            let names = ["f".to_owned()].into_iter().chain((1..=job.keep).map(|age| format!("f.{age}")));
            let found: BTreeSet<_> = names.filter_map(read).collect();
            let waiting = [1, 2].into_iter().filter_map(|age| read(format!("f.{age}.scda-kept")));
            let all: Vec<_> = found.iter().cloned().chain(waiting).collect();
            assert!(seen.is_ok() && found.len() >= 2, "{what}: {found:?}");
            assert!(all.contains(&b"xy".to_vec()), "{what}: {all:?}");
            assert!(job.keep == 1 || all.contains(&b"o".to_vec()), "{what}: {all:?}");
        }
        match job.steps.go_on(&path) {
            _ if may_be_torn => (is_whole, 0),
            // Who cannot tell what a torn end is, refuses the file and changes nothing.
            Err(_) if job.first_seal && !self.record.is_open_after(count) => {
                let left = std::fs::read(&path).unwrap();
                assert!(
                    left == disk["f"] && left.starts_with(&self.whole[0]),
                    "{what}: the old file has changed"
                );
                (false, 0)
            }
            Ok(found) => {
                assert!(job.allows(&found, durable), "{what}: continued after {found:?}");
                (is_whole, found.len())
            }
            Err(error) => panic!("{what}: does not go on: {error}"),
        }
    }

    /// The first `count` events, and this one.
    fn events<'a>(&'a self, count: usize, torn: Option<&'a Event>) -> Vec<&'a Event> {
        self.record.events[..count].iter().chain(torn).collect()
    }
}

#[test]
fn after_a_loss_of_power_each_commit_is_there_and_the_next_job_goes_on() {
    let (seed, states) = (number("SCDA_SEED", 24), number("SCDA_STATES", 1200));
    println!("SCDA_SEED={seed} SCDA_STATES={states}");
    let (base, runs) = (Rng(seed).next(), Run::all(2500));
    let (torn, most) = (AtomicU64::new(0), AtomicUsize::new(0));
    on_all_cores(states, |state| {
        let mut rng = Rng(Rng(base ^ state).next());
        let run = &runs[(state % runs.len() as u64) as usize];
        let Record { events, initial, .. } = &run.record;
        let count = initial + rng.below((events.len() - initial) as u64 + 1) as usize;
        let loss = Loss::random(&mut rng);
        let disk = loss.random_disk(&run.events(count, None), &mut rng);
        let (is_whole, left) =
            run.check(&disk, count, Some(loss), &format!("SCDA_SEED={seed}, state {state}"));
        torn.fetch_add(u64::from(!is_whole), Ordering::Relaxed);
        most.fetch_max(left, Ordering::Relaxed);
    });
    let (torn, most) = (torn.into_inner(), most.into_inner());
    assert!(torn > states / 5 && most == 5, "{torn} of {states} states had a torn end");
}

/// Whatever is lost before each sync, of steps that are smaller than a sector.
#[test]
fn after_a_loss_of_power_all_disks_of_a_small_run_are_right() {
    let most = number("SCDA_CHANGES", 3) as usize;
    let (mut tried, mut differ, mut coarse, mut left_out) = (0, 0, 0, 0);
    for run in Run::all(40) {
        let mut known = HashSet::new();
        let Record { events, initial, .. } = &run.record;
        let is_sync =
            |count: &usize| matches!(events.get(*count), None | Some(Event::Sync(..) | Event::SyncFolder));
        for count in (*initial..=events.len()).filter(is_sync) {
            let past = run.events(count, None);
            for (by_descriptor, keeps_size) in [(false, false), (false, true), (true, false)] {
                let mut pieces = [512, 4096, usize::MAX].into_iter();
                let found = pieces.position(|piece| {
                    let loss = Loss { piece, by_descriptor, keeps_size };
                    loss.all_disks(&past, most, |disk| {
                        tried += 1;
                        let mut hash = DefaultHasher::new();
                        (&disk, run.record.durable_after(count)).hash(&mut hash);
                        if known.insert(hash.finish()) {
                            run.check(&disk, count, Some(loss), "");
                            differ += 1;
                        }
                    })
                });
                coarse += u64::from(found.is_some_and(|found| found > 0));
                left_out += u64::from(found.is_none());
            }
        }
    }
    println!(
        "SCDA_CHANGES={most}: {tried} disks, {differ} differ; {coarse} moments not by sectors, {left_out} left out"
    );
    assert!(differ > 2000, "{differ}");
}

/// Before each call that changes something, and in the middle of each write; of them a sample.
#[test]
fn after_a_kill_at_any_call_the_next_job_goes_on() {
    let (mut kills, mut moments) = (0, 0);
    for run in Run::all(2500).into_iter().filter(|run| run.ranks % 2 == 1) {
        let Record { events, initial, .. } = &run.record;
        for count in *initial..=events.len() {
            moments += 1;
            if !usize::is_multiple_of(moments, one_of(4)) {
                continue;
            }
            let mut check = |torn: Option<&Event>| {
                let disk = Loss::OF_KILL.disk(&run.events(count, torn), usize::MAX, || true);
                run.check(&disk, count, None, "killed");
                kills += 1;
            };
            check(None);
            if let Some(Event::Write(write)) = events.get(count) {
                let half = write.bytes[..write.bytes.len() / 2].to_vec();
                check(Some(&Event::Write(Write { bytes: half, ..write.clone() })));
            }
        }
    }
    println!("{kills} kills");
    assert!(kills > 800 / one_of(4), "{kills}");
}

/// The file may be one that its writer has left to the system, as `later` says.
#[test]
fn who_appends_nothing_to_a_copy_syncs_the_file_and_its_name() {
    for (sync, later) in [(false, false), (true, false), (true, true), (false, true)] {
        let recorded = folder();
        let path = recorded.path().join("f");
        let mut params = params(false, 0);
        let mut file = Writer::create(Solo, &path, b"series", &params).unwrap();
        file.inline(b"step", 0, Some(&[1; 32])).unwrap();
        file.close().unwrap();
        (params.atomic, params.sync, params.later) = (true, sync, later);
        let log = Log::of(recorded.path());
        log.forget_names();
        Writer::append(Solo, &path, &params).unwrap().close().unwrap();
        let Record { events, initial, .. } = log.end();
        let Some(Event::Old(old, _)) = events.first() else { panic!("no file before") };
        let mut new = events[initial..].iter();
        let has_both = new.any(|event| matches!(event, Event::Sync(file, ..) if file == old))
            && new.any(|event| matches!(event, Event::SyncFolder));
        assert_eq!(has_both, sync || !later, "sync {sync}, later {later}");
    }
}

/// A file of any bytes that is written whole.
#[test]
fn a_whole_file_is_the_old_one_or_the_new_one() {
    let new: Vec<u8> = (0..4000_u32).map(|byte| (byte / 7 + 1) as u8 | 1).collect();
    let write = |path: &Path| -> Result<()> {
        let mut file = AtomicFile::create(path, 0o666)?;
        new.chunks(1300).try_for_each(|chunk| file.write(chunk))?;
        file.finish()
    };
    let mut tried = 0;
    for old in [None, Some(vec![2; 3000])] {
        let recorded = folder();
        let path = recorded.path().join("f");
        old.iter().for_each(|old| std::fs::write(&path, old).unwrap());
        let log = Log::of(recorded.path());
        write(&path).unwrap();
        log.note_durable(1);
        let record = log.end();
        for count in record.initial..=record.events.len() {
            let events: Vec<&Event> = record.events[..count].iter().collect();
            for (piece, keeps_size) in [(512, false), (512, true), (4096, false), (usize::MAX, true)] {
                let loss = Loss { piece, by_descriptor: false, keeps_size };
                let is_tried = loss.all_disks(&events, 12, |disk| {
                    let found = disk.get("f");
                    let is_old = record.durable_after(count) == 0 && found == old.as_ref();
                    assert!(is_old || found == Some(&new), "{loss:?}, {count} events, old {}", old.is_some());
                    tried += 1;
                });
                assert!(is_tried);
            }
            // What is left does not stop the next one.
            let next = folder();
            let disk = Loss::OF_KILL.disk(&events, usize::MAX, || true);
            disk.iter().for_each(|(name, bytes)| std::fs::write(next.path().join(name), bytes).unwrap());
            write(&next.path().join("f")).unwrap();
            assert_eq!(std::fs::read(next.path().join("f")).unwrap(), new);
            assert_eq!(std::fs::read_dir(next.path()).unwrap().count(), 1);
        }
    }
    println!("{tried} disks");
    assert!(tried > 1000, "{tried}");
}
