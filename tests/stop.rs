//! A job that gets a signal, and some time later SIGKILL, as a batch system does it: what it has written is whole.

#![cfg(unix)]
#![allow(unsafe_code)] // signals

use scda::{
    DataType, Dataset, IndexBox, ReadOptions, Reader, Solo, WriteOptions, Writer, run_on_threads, stop,
};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The file of a child that is this program, and what it watches: signals, or a deadline.
const FILE: &str = "SCDA_TEST_STOP_FILE";
const WATCHES: &str = "SCDA_TEST_STOP_WATCHES";

/// The job: steps that are not committed, until it is told to stop.
fn job(path: &Path, watches: &str) {
    match watches {
        "signals" => stop::watch(&[libc::SIGTERM, libc::SIGUSR1], None).unwrap(),
        "deadline" => stop::watch(&[], Some(Duration::from_millis(300))).unwrap(),
        _ => {}
    }
    let mut options = WriteOptions::default();
    options.seal = true;
    let mut file = Writer::append_or_create(Solo, path, b"a series", &options).unwrap();
    for step in 0_u32.. {
        let dataset = Dataset::new("step", DataType::Uint32, []);
        file.dataset(&dataset, &[IndexBox::all(&[])], &step.to_ne_bytes()).unwrap();
        if step == 0 {
            file.commit().unwrap();
        }
        println!("step {step}");
        if stop::requested(&Solo).unwrap() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // A large last checkpoint.
    let zeros = vec![0; 32 << 20];
    let state = Dataset::new("state", DataType::Uint8, [zeros.len() as u64]);
    file.dataset(&state, &[IndexBox::all(&state.shape)], &zeros).unwrap();
    file.close().unwrap();
    println!("closed");
}

#[test]
fn child() {
    if let (Some(path), Ok(watches)) = (std::env::var_os(FILE), std::env::var(WATCHES)) {
        job(Path::new(&path), &watches);
    }
}

/// A job that has begun its steps; its output goes on.
fn begin(path: &Path, watches: &str) -> (Child, impl Iterator<Item = String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["child", "--exact", "--nocapture", "--test-threads=1"])
        .env(FILE, path)
        .env(WATCHES, watches)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.ends_with("step 20")));
    (child, lines)
}

fn send(child: &Child, signal: i32) {
    // SAFETY: it was not waited for, so the number is that of this child.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), signal) }, 0);
}

/// How many steps a whole file has, and whether it has the last checkpoint.
fn found(path: &Path) -> (u64, bool) {
    let mut options = ReadOptions::default();
    options.verify = true;
    let mut file = Reader::open(Solo, path, &options).unwrap();
    let steps = file.find_all(b"step").unwrap().len() as u64;
    (steps, file.dataset("state").unwrap().is_some())
}

#[test]
fn a_job_that_is_told_in_time_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (number, (watches, signal)) in
        [("signals", libc::SIGTERM), ("signals", libc::SIGUSR1), ("deadline", 0)].into_iter().enumerate()
    {
        let path = folder.path().join(number.to_string());
        let (mut child, lines) = begin(&path, watches);
        if signal != 0 {
            send(&child, signal);
        }
        // The batch system waits as long before it kills.
        let begun = Instant::now();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if begun.elapsed() > Duration::from_secs(30) => send(&child, libc::SIGKILL),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        assert!(status.success(), "{watches}: {status}");
        let lines: Vec<String> = lines.collect();
        assert!(lines.iter().any(|line| line == "closed"));
        let last = lines.iter().rev().find_map(|line| line.strip_prefix("step ")?.parse::<u64>().ok());
        let (steps, has_state) = found(&path);
        assert!(has_state && steps == last.unwrap_or(20) + 1, "{steps}, {last:?}");
    }
}

#[test]
fn a_job_that_does_not_listen_loses_what_it_has_not_committed() {
    let folder = tempfile::tempdir().unwrap();
    for signal in [libc::SIGTERM, libc::SIGKILL] {
        let path = folder.path().join(signal.to_string());
        let (mut child, _lines) = begin(&path, "nothing");
        send(&child, signal);
        assert_eq!(child.wait().unwrap().signal(), Some(signal));
        assert_eq!(found(&path), (1, false));
    }
}

#[test]
fn all_ranks_have_the_same_answer() {
    let answers = run_on_threads(3, |comm| stop::requested(&comm).unwrap());
    assert_eq!(answers, [false; 3]);
}
