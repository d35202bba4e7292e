//! Tests of opening, creating and appending to files, on one rank and on several.

use super::*;
use scda_ranks::machine::pretended::MACHINE;
use scda_ranks::{ThreadComm, run_on_threads};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

fn team(comm: ThreadComm, path: &Path) -> Team {
    Team::new(Box::new(comm), &quote_path(path))
}

fn params(atomic: bool) -> WriteOptions {
    let tuning = Tuning { driver: Driver::Posix, ..Tuning::default() };
    WriteOptions { atomic, tuning, ..WriteOptions::default() }
}

/// Opens a file to append, on one rank.
fn append_alone(path: &Path, params: &WriteOptions) -> Result<WritableFile> {
    let mut all = run_on_threads(1, |comm| {
        let mut team = team(comm, path);
        append(&mut team, path, &mut params.clone(), |_, _| Ok(None)).map_err(|failure| team.settle(failure))
    });
    all.remove(0)
}

fn kind(result: Result<WritableFile>) -> ErrorKind {
    result.err().unwrap().kind()
}

#[test]
fn appending_keeps_what_is_there_and_every_rank_may_read_and_write() {
    for size in [1, 3] {
        for atomic in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("f");
            std::fs::write(&path, "old.").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
            let inode = std::fs::metadata(&path).unwrap().ino();
            run_on_threads(size, |comm| {
                let mut team = team(comm, &path);
                let WritableFile { mut file, mut target, size: found } =
                    append(&mut team, &path, &mut params(atomic), |_, _| Ok(None)).ok().unwrap();
                assert_eq!((found, target.goal() == path), (4, !atomic));
                let mut old = [0; 4];
                file.read_at(0, &mut old).unwrap();
                assert_eq!(&old, b"old.");
                file.write_at(4 + team.rank() as u64, &[b"+"]).unwrap();
                assert!(team.agree(file.close()).is_ok());
                if team.rank() == 0 {
                    assert_eq!(std::fs::read(&path).unwrap().len(), if atomic { 4 } else { 4 + size });
                    target.complete(4 + size as u64, |_, _| true).unwrap();
                }
            });
            assert_eq!(std::fs::read(&path).unwrap(), ["old.", &"+".repeat(size)].concat().as_bytes());
            let status = std::fs::metadata(&path).unwrap();
            assert_eq!((status.mode() & 0o777, status.ino() != inode), (0o640, atomic));
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }
}

#[test]
fn only_a_regular_file_that_exists_is_appended_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for atomic in [false, true] {
        let params = params(atomic);
        assert_eq!(kind(append_alone(&path, &params)), ErrorKind::NoSuchFile);
        assert_eq!(kind(append_alone(folder.path(), &params)), ErrorKind::BadFile);
        assert_eq!(kind(append_alone(Path::new("/dev/null"), &params)), ErrorKind::BadFile);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// The errors of two ranks on different machines whose file system appears to be this one.
fn from_two_machines(open: impl Fn(&mut Team) -> Result<()> + Sync) -> Vec<ErrorKind> {
    run_on_threads(2, |comm| {
        MACHINE.set(Some(comm.rank() as u64));
        let mut team = team(comm, Path::new("f"));
        open(&mut team).map_or_else(|error| error.kind(), |()| ErrorKind::Internal)
    })
}

#[test]
fn two_machines_have_no_local_file_in_common() {
    // Not an overlay, as in a container, of which nodes may have copies to read.
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = folder.path().join("f");
    std::fs::write(&path, "old").unwrap();
    let settled = |team: &mut Team, opened: Result<(), Failure>| opened.map_err(|f| team.settle(f));
    for atomic in [false, true] {
        let all = from_two_machines(|team| {
            let created = create(team, &path, &mut params(atomic), b"header").map(drop);
            settled(team, created)
        });
        assert_eq!(all, [ErrorKind::BadFile; 2]);
        let all = from_two_machines(|team| {
            let appended = append(team, &path, &mut params(atomic), |_, _| Ok(None)).map(drop);
            settled(team, appended)
        });
        assert_eq!(all, [ErrorKind::BadFile; 2]);
    }
    let all = from_two_machines(|team| {
        let which = |_: &mut Team, path: &Path, _: &ReadOptions| Ok(path.to_owned());
        let read =
            open(team, &path, &mut ReadOptions::default(), which, |_, size| Ok(Ends::all(size))).map(drop);
        settled(team, read)
    });
    assert_eq!(all, [ErrorKind::BadFile; 2]);
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_name_that_comes_later_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let open = || PosixFile::open(&path, OFlags::RDONLY);
    let never = |_: &Error| Duration::ZERO;
    assert_eq!(open_when_seen(never, open).err().unwrap().kind(), ErrorKind::NoSuchFile);
    let missing = |error: &Error| match error.kind() {
        ErrorKind::NoSuchFile => Duration::from_secs(60),
        _ => Duration::ZERO,
    };
    let mut tries = 0;
    let opened = open_when_seen(missing, || {
        tries += 1;
        if tries == 3 {
            std::fs::write(&path, "").unwrap();
        }
        open()
    });
    assert!(opened.is_ok() && tries == 3);
    // Any other error is returned at once.
    let folder = open_when_seen(missing, || PosixFile::open(folder.path(), OFlags::RDONLY));
    assert_eq!(folder.err().unwrap().kind(), ErrorKind::BadFile);
}

#[test]
fn two_do_not_append_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("f"), folder.path().join("link"));
    std::fs::write(&path, "old").unwrap();
    symlink("f", &link).unwrap();
    for atomic in [false, true] {
        let WritableFile { file, mut target, .. } = append_alone(&path, &params(atomic)).unwrap();
        for other in [false, true] {
            assert_eq!(kind(append_alone(&link, &params(other))), ErrorKind::FileInUse);
        }
        // The first writer is not disturbed.
        assert!(target.goal().exists());
        file.close().unwrap();
        target.complete(3, |_, _| true).unwrap();
        drop(target);
    }
    // The same after an error that leaves the file unchanged.
    let WritableFile { file, mut target, .. } = append_alone(&link, &params(true)).unwrap();
    file.close().unwrap();
    target.discard();
    drop(target);
    append_alone(&path, &params(false)).unwrap().file.close().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
}
