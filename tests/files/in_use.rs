//! Two jobs that write one file: the second one is refused before it changes anything, whatever way the two write.
#![allow(clippy::cast_possible_truncation)] // test data

use crate::common::options;
use scda::{
    Collective, Driver, Encode, ErrorKind, ReadOptions, Reader, Result, Solo, WriteOptions, Writer,
    part_path, run_on_threads,
};
use std::io::{BufRead, BufReader};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The ways to write: create or append, in place or to a part file.
const WAYS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

fn params(atomic: bool) -> WriteOptions {
    let mut params: WriteOptions = options();
    (params.seal, params.atomic, params.tuning.driver) = (true, atomic, Driver::Posix);
    params
}

fn open(
    comm: impl scda::Communicator + 'static,
    path: &Path,
    (appends, atomic): (bool, bool),
) -> Result<Writer> {
    match appends {
        true => Writer::append(comm, path, &params(atomic)),
        false => Writer::create(comm, path, b"u", &params(atomic)),
    }
}

fn block(file: &mut Writer, byte: u8) -> Result<()> {
    file.block(b"b", 0, 1000, Some(&[byte; 1000]), Encode::None)
}

/// The files of a folder, by name.
fn contents(folder: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut all: Vec<_> =
        entries.map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap())).collect();
    all.sort();
    all
}

/// The bytes of the blocks of a file, which must be whole.
fn blocks(path: &Path) -> Vec<u8> {
    let mut params: ReadOptions = options();
    params.verify = true;
    let mut reader = Reader::open(Solo, path, &params).unwrap();
    let mut all = Vec::new();
    while let Some(section) = reader.next_section(true).unwrap() {
        let mut data = vec![0; section.size as usize];
        reader.read_block(section.size, 0, Some(&mut data)).unwrap();
        assert!(data.iter().all(|&byte| byte == data[0]));
        all.push(data[0]);
    }
    all
}

fn old_file(path: &Path) {
    let mut file = Writer::create(Solo, path, b"u", &params(false)).unwrap();
    block(&mut file, b'o').unwrap();
    file.close().unwrap();
}

#[test]
fn who_comes_second_is_refused_and_changes_nothing() {
    for ranks in [1, 3] {
        for first in WAYS {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("f");
            old_file(&path);
            run_on_threads(ranks, |comm| {
                let mut file = open(comm.clone(), &path, first).unwrap();
                block(&mut file, b'1').unwrap();
                file.commit().unwrap();
                let before = contents(folder.path());
                for second in WAYS {
                    let refused = open(comm.clone(), &path, second).err().map(|error| error.kind());
                    assert_eq!(refused, Some(ErrorKind::FileInUse), "{ranks} ranks: {first:?}, {second:?}");
                    assert!(contents(folder.path()) == before, "{first:?}, {second:?}");
                }
                block(&mut file, b'2').unwrap();
                file.close().unwrap();
            });
            assert_eq!(blocks(&path), if first.0 { b"o12".to_vec() } else { b"12".to_vec() });
            // The locks are given back, and nothing is left.
            for second in WAYS {
                open(Solo, &path, second).unwrap().close().unwrap();
            }
            assert_eq!(contents(folder.path()).len(), 1);
        }
    }
}

/// Without an old file to lock, an atomic write has its part file, and only that.
#[test]
fn two_create_a_file_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut first = open(Solo, &path, (false, true)).unwrap();
    block(&mut first, b'1').unwrap();
    let before = contents(folder.path());
    assert_eq!(open(Solo, &path, (false, true)).err().unwrap().kind(), ErrorKind::FileInUse);
    assert!(contents(folder.path()) == before);
    // Another one takes the name meanwhile: it is not replaced as long as it is written.
    let mut second = open(Solo, &path, (false, false)).unwrap();
    block(&mut second, b'2').unwrap();
    assert_eq!(first.close().unwrap_err().kind(), ErrorKind::FileInUse);
    second.close().unwrap();
    assert_eq!(blocks(&path), b"2");
    // What a killed job has left stops nobody.
    std::fs::write(part_path(&path), b"torn").unwrap();
    open(Solo, &path, (false, true)).unwrap().close().unwrap();
    assert_eq!(contents(folder.path()).len(), 1);
}

#[test]
fn ranks_that_only_write_share_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for _ in 0..2 {
        run_on_threads(3, |comm| {
            let mut params = params(false);
            params.seal = false;
            let mut file = Writer::create(comm.clone(), &path, b"u", &params).unwrap();
            let refused = open(comm, &path, (false, false)).err().map(|error| error.kind());
            assert_eq!(refused, Some(ErrorKind::FileInUse));
            block(&mut file, b'1').unwrap();
            file.close().unwrap();
        });
    }
}

/// Programs for HDF5 lock the whole file, by `flock`, when they open it.
#[test]
fn programs_that_lock_the_file_otherwise_are_no_writers() {
    use rustix::fs::{FlockOperation, flock};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    old_file(&path);
    for ranks in [1, 3] {
        for way in WAYS {
            let reader = std::fs::File::open(&path).unwrap();
            flock(&reader, FlockOperation::NonBlockingLockShared).unwrap();
            run_on_threads(ranks, |comm| {
                let mut file = open(comm, &path, way).unwrap();
                let another = std::fs::File::open(&path).unwrap();
                flock(&another, FlockOperation::NonBlockingLockShared).unwrap();
                block(&mut file, b'1').unwrap();
                file.close().unwrap();
            });
            flock(&reader, FlockOperation::NonBlockingLockExclusive).unwrap();
        }
    }
}

#[test]
fn a_commit_whose_name_is_another_file_now_says_so() {
    for ranks in [1, 3] {
        for replaced in [false, true] {
            for appends in [false, true] {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("f");
                old_file(&path);
                run_on_threads(ranks, |comm| {
                    let mut file = open(comm.clone(), &path, (appends, false)).unwrap();
                    file.commit().unwrap();
                    if scda::Communicator::rank(&comm) == 0 {
                        std::fs::rename(&path, folder.path().join("away")).unwrap();
                        if replaced {
                            std::fs::write(&path, b"another").unwrap();
                        }
                    }
                    block(&mut file, b'1').unwrap();
                    let error = file.commit().unwrap_err();
                    let words = if replaced { "another file under its name" } else { "the file removed" };
                    assert!(
                        error.kind() == ErrorKind::FileInUse && error.to_string().contains(words),
                        "{error}"
                    );
                });
                assert_eq!(std::fs::read(&path).ok(), replaced.then(|| b"another".to_vec()));
            }
        }
    }
}

/// The open files of this process in a folder, once more: what a process has that was forked off.
#[allow(unsafe_code)]
fn as_forked(folder: &Path) -> Vec<OwnedFd> {
    let is_there = |entry: &std::fs::DirEntry| {
        std::fs::read_link(entry.path()).is_ok_and(|target| target.parent() == Some(folder))
    };
    let entries = std::fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap()).filter(is_there);
    let numbers = entries.map(|entry| entry.file_name().to_str().unwrap().parse().unwrap());
    // SAFETY: The writer of this test has opened each file of this folder, and closes it later.
    numbers.map(|number| unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned().unwrap()).collect()
}

#[test]
fn locks_are_given_back_although_another_process_has_them_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for first in WAYS {
        for is_given_up in [false, true] {
            old_file(&path);
            let mut file = open(Solo, &path, first).unwrap();
            block(&mut file, b'1').unwrap();
            let forked = as_forked(folder.path());
            assert!(forked.len() > usize::from(first.1), "{first:?}");
            match is_given_up {
                false => file.close().unwrap(),
                true => drop(file.abandon("enough")),
            }
            open(Solo, &path, (false, true)).unwrap().close().unwrap();
        }
    }
}

/// The variables that make of this test program one that writes a file: its name, which of `WAYS`, and whether it waits to be killed.
const CHILD: &str = "SCDA_TEST_PATH";
const WAY: &str = "SCDA_TEST_WAY";
const HOLDS: &str = "SCDA_TEST_HOLDS";
/// The blocks that such a program writes, each committed.
const BLOCKS: usize = 10;

/// Not a test of its own: what the next ones start.
#[test]
fn a_program_that_writes() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let way = WAYS[std::env::var(WAY).unwrap().parse::<usize>().unwrap()];
    let write = || -> Result<()> {
        let mut file = open(Solo, Path::new(&path), way)?;
        for _ in 0..BLOCKS {
            block(&mut file, std::process::id() as u8)?;
            file.commit()?;
        }
        if std::env::var_os(HOLDS).is_some() {
            eprintln!("holds");
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        file.close()
    };
    eprintln!("{}", write().map_or_else(|error| error.kind().code(), |()| 0));
}

fn start(path: &Path, way: usize, holds: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "in_use::a_program_that_writes", "--nocapture"]);
    command.env(CHILD, path).env(WAY, way.to_string()).stdout(Stdio::null()).stderr(Stdio::piped());
    if holds {
        command.env(HOLDS, "1");
    }
    command.spawn().unwrap()
}

/// The first line that it says.
fn answer(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

#[test]
fn another_process_is_refused_until_the_first_one_is_killed() {
    let in_use = ErrorKind::FileInUse.code().to_string();
    for first in 0..WAYS.len() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        old_file(&path);
        let mut holder = start(&path, first, true);
        assert_eq!(answer(&mut holder), "holds");
        let before = contents(folder.path());
        for second in 0..WAYS.len() {
            let mut other = start(&path, second, false);
            assert_eq!(answer(&mut other), in_use, "{first}, {second}");
            other.wait().unwrap();
            assert!(contents(folder.path()) == before, "{first}, {second}");
        }
        holder.kill().unwrap();
        holder.wait().unwrap();
        let left = blocks(&path).len();
        assert_eq!(left, [BLOCKS, 1, 1 + BLOCKS, 1][first]);
        for second in [2, 3, 1, 0] {
            let mut other = start(&path, second, false);
            assert_eq!(answer(&mut other), "0", "{first}, {second}");
            other.wait().unwrap();
        }
        assert_eq!((blocks(&path).len(), contents(folder.path()).len()), (BLOCKS, 1));
    }
}

/// Whoever reports success of its commits has them in the file, unless it was created anew after it.
#[test]
fn of_two_that_create_at_once_the_file_is_one() {
    let (mut refused, mut done) = (0, 0);
    for round in 0..24 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        if round % 2 == 0 {
            old_file(&path);
        }
        let mut both = [round / 2 % 2, round / 4 % 2].map(|way| start(&path, way, false));
        let answers = both.each_mut().map(|child| (child.id() as u8, answer(child)));
        for child in &mut both {
            child.wait().unwrap();
        }
        let whole: Vec<_> = answers.iter().filter(|(_, code)| code == "0").map(|(id, _)| *id).collect();
        assert!(!whole.is_empty(), "{round}: {answers:?}");
        let found = blocks(&path);
        assert!(found.len() == BLOCKS && found.iter().all(|byte| *byte == found[0]), "{round}: {found:?}");
        assert!(whole.contains(&found[0]), "{round}: {answers:?}, {found:?}");
        refused += 2 - whole.len();
        done += whole.len();
    }
    println!("{refused} refused, {done} done");
}
