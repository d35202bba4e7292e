//! What is there before a file is opened, and what others do to it meanwhile.

use super::{Scratch, error_of_all, params, small_model};
use crate::common::{Want, options, read_on, write_on};
use scda::{Communicator, ErrorKind, Reader, ThreadComm, WriteOptions, Writer, run_on_threads};
use std::path::PathBuf;

#[test]
fn files_that_cannot_be_opened_say_why() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.0.path().join(name);
    std::fs::write(path("file"), "").unwrap();
    let create =
        |path: PathBuf| error_of_all(2, |comm| Writer::create(comm, &path, b"", &options()).map(drop)).kind();
    let open = |path: PathBuf| error_of_all(2, |comm| Reader::open(comm, &path, &options()).map(drop)).kind();
    assert_eq!(open(path("missing")), ErrorKind::NoSuchFile);
    assert_eq!(open(path("file/below")), ErrorKind::NoSuchFile);
    assert_eq!(open(path("")), ErrorKind::BadFile);
    assert_eq!(open(PathBuf::from("/dev/null")), ErrorKind::BadFile);
    assert_eq!(open(path(&"x".repeat(300))), ErrorKind::BadFile);
    assert_eq!(create(path("missing/below")), ErrorKind::NoSuchFile);
    assert_eq!(create(path("")), ErrorKind::BadFile);
    let pipe = path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_eq!(open(pipe.clone()), ErrorKind::BadFile);
    assert_eq!(create(pipe), ErrorKind::BadFile);
    assert_eq!(create(PathBuf::from("/dev/full")), ErrorKind::NoSpace);
    assert_eq!(create(PathBuf::from("/proc/scda")), ErrorKind::NoSuchFile);
}

#[test]
fn writing_empties_what_was_there() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path(), vec![b'x'; 100_000]).unwrap();
    write_on(3, &scratch.path(), &small_model(), &params(false), 1);
    read_on(2, &scratch.path(), &small_model(), &params(false), Want::All, 1);
}

#[test]
fn an_old_file_is_not_touched_before_the_ranks_agree() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path(), "old").unwrap();
    error_of_all(2, |comm| {
        let user = if comm.rank() == 1 { vec![0; 59] } else { vec![] };
        Writer::create(comm, scratch.path(), &user, &params(false)).map(drop)
    });
    assert_eq!(std::fs::read(scratch.path()).unwrap(), b"old");
}

#[test]
fn a_file_that_is_removed_or_replaced_while_it_is_written_is_an_error() {
    for atomic in [false, true] {
        for replace in [false, true] {
            let scratch = Scratch::new();
            let mut params: WriteOptions = params(false);
            params.atomic = atomic;
            let name = if atomic { "file.scda.scda-part" } else { "file.scda" };
            let victim = scratch.0.path().join(name);
            let error = error_of_all(2, |comm| {
                let rank = comm.rank();
                let mut file = Writer::create(comm, scratch.path(), b"", &params)?;
                if rank == 0 {
                    std::fs::remove_file(&victim).unwrap();
                    if replace {
                        std::fs::write(&victim, vec![0; 128]).unwrap();
                    }
                }
                file.flush()?;
                file.close()
            });
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        }
    }
}

/// Whoever wants to append to it gets an error, as long as a rank of the job lives that writes.
#[test]
fn nobody_appends_to_a_file_that_is_being_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut params: WriteOptions = params(false);
    (params.seal, params.tuning.driver) = (true, scda::Driver::Posix);
    for ranks in [1, 3] {
        for appends in [false, true] {
            run_on_threads(ranks, |comm| {
                let rank = comm.rank();
                let open = |comm: ThreadComm| match appends {
                    true => Writer::append(comm, &path, &params),
                    false => Writer::create(comm, &path, b"u", &params),
                };
                let mut file = open(comm.clone()).unwrap();
                file.inline(b"i", 0, Some(&[b'i'; 32])).unwrap();
                file.commit().unwrap();
                let size = || std::fs::metadata(&path).unwrap().len();
                let before = size();
                for is_late in [false, true] {
                    let kind = Writer::append(comm.clone(), &path, &params).err().map(|error| error.kind());
                    assert_eq!(
                        kind,
                        Some(ErrorKind::FileInUse),
                        "{ranks} ranks, append {appends}, late {is_late}"
                    );
                    assert_eq!(size(), before);
                    if is_late || ranks == 1 {
                        break;
                    }
                    // As if all ranks but the last one had been killed.
                    if rank + 1 < ranks {
                        file.forget();
                        let other = folder.path().join(rank.to_string());
                        file = Writer::create(scda::Solo, &other, b"", &params).unwrap();
                    }
                    comm.allreduce_sum(&mut [1]).unwrap();
                }
                file.forget();
            });
            // Nobody is left.
            Writer::append(scda::Solo, &path, &params).unwrap().close().unwrap();
        }
    }
}
