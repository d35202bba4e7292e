//! `WriteOptions::atomic`: the file is written beside its place and renamed when it is complete.

use super::{Scratch, error_of_all, params, small_model};
use crate::common::skipped::skipped;
use crate::common::{Want, read_on, tuned, write_on};
use scda::{Communicator, Encode, ErrorKind, WriteOptions, Writer, run_on_threads};
use std::path::Path;

#[test]
fn an_atomic_write_leaves_the_old_file_until_it_is_complete() {
    let scratch = Scratch::new();
    let mut atomic: WriteOptions = params(false);
    atomic.atomic = true;
    std::fs::write(scratch.path(), "old").unwrap();
    // What a killed job left behind is replaced.
    for end in ["", ".locktest.0", ".locktest.1"] {
        std::fs::write(scratch.0.path().join(format!("file.scda.scda-part{end}")), "stale").unwrap();
    }
    let old = || std::fs::read(scratch.path()).unwrap() == b"old";
    let error = error_of_all(3, |comm| {
        let mut file = Writer::create(comm, scratch.path(), b"", &atomic)?;
        assert!(old());
        file.block(b"", 0, 3, Some(b"new"), Encode::None)?;
        file.flush()?;
        assert!(old());
        file.inline(b"", 7, None)
    });
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(old());
    assert_eq!(scratch.names(), ["file.scda"]);
    write_on(3, &scratch.path(), &small_model(), &atomic, 1);
    read_on(2, &scratch.path(), &small_model(), &tuned(&atomic.tuning), Want::All, 1);
    assert_eq!(scratch.names(), ["file.scda"]);
}

#[test]
fn an_atomic_write_follows_a_link_and_keeps_the_permissions() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let scratch = Scratch::new();
    let mut atomic: WriteOptions = params(false);
    atomic.atomic = true;
    let folder = scratch.0.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("real"), "old").unwrap();
    std::fs::set_permissions(folder.join("real"), std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("folder/real", scratch.path()).unwrap();
    write_on(2, &scratch.path(), &small_model(), &atomic, 1);
    assert!(std::fs::symlink_metadata(scratch.path()).unwrap().is_symlink());
    read_on(2, &folder.join("real"), &small_model(), &tuned(&atomic.tuning), Want::All, 1);
    assert_eq!(std::fs::metadata(folder.join("real")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    // What the link points to need not exist.
    std::fs::remove_file(folder.join("real")).unwrap();
    write_on(2, &scratch.path(), &small_model(), &atomic, 1);
    assert!(std::fs::symlink_metadata(scratch.path()).unwrap().is_symlink());
    read_on(2, &folder.join("real"), &small_model(), &tuned(&atomic.tuning), Want::All, 1);
}

/// Of a thread alone: what the C library has sets it for all of them. Tells whether that is allowed.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn become_nobody() -> bool {
    // SAFETY: takes numbers only.
    unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534) == 0 }
}

/// Where renaming would fail at the end, with all data written, opening fails.
#[test]
#[cfg(target_os = "linux")]
fn a_file_of_somebody_else_in_a_sticky_folder_is_not_replaced() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let scratch = Scratch::new();
    let path = scratch.path();
    std::fs::write(&path, "old").unwrap();
    if !std::thread::spawn(become_nobody).join().unwrap() {
        return skipped("only root may become somebody else");
    }
    mode(&path, 0o666);
    mode(scratch.0.path(), 0o1777);
    let mut params: WriteOptions = params(false);
    let write = |comm, params: &WriteOptions| {
        assert!(become_nobody());
        Writer::create(comm, &path, b"", params)?.close()
    };
    params.atomic = true;
    let error = error_of_all(2, |comm| write(comm, &params));
    assert_eq!(error.kind(), ErrorKind::Access, "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    // What an earlier write has left there cannot be removed.
    let part = scratch.0.path().join("other.scda.scda-part");
    std::fs::write(&part, "left").unwrap();
    let other = scratch.0.path().join("other.scda");
    let error = error_of_all(2, |comm| {
        assert!(become_nobody());
        Writer::create(comm, &other, b"", &params).map(drop)
    });
    assert_eq!(error.kind(), ErrorKind::Access, "{error}");
    // In a folder that is not sticky all that works; and so does writing in place.
    params.atomic = false;
    run_on_threads(2, |comm| write(comm, &params).unwrap());
    mode(scratch.0.path(), 0o777);
    params.atomic = true;
    run_on_threads(2, |comm| write(comm, &params).unwrap());
    let status = std::fs::metadata(&path).unwrap();
    assert_eq!((status.uid(), status.gid(), status.mode() & 0o777), (65_534, 0, 0o666));
    // A group to which it cannot be given is replaced by another one, which gets nothing.
    std::os::unix::fs::chown(&path, Some(0), Some(65_533)).unwrap();
    run_on_threads(2, |comm| write(comm, &params).unwrap());
    let status = std::fs::metadata(&path).unwrap();
    assert_eq!((status.uid(), status.gid(), status.mode() & 0o777), (65_534, 0, 0o606));
    // Who may give files away leaves them to whom they belong.
    mode(&path, 0o660);
    std::os::unix::fs::chown(&path, Some(65_534), Some(65_533)).unwrap();
    run_on_threads(2, |comm| Writer::create(comm, &path, b"", &params).unwrap().close().unwrap());
    let status = std::fs::metadata(&path).unwrap();
    assert_eq!((status.uid(), status.gid(), status.mode() & 0o777), (65_534, 65_533, 0o660));
}

#[test]
fn an_atomic_write_takes_names_of_any_length() {
    for length in [245, 246, 250, 255] {
        let scratch = Scratch::new();
        let mut atomic: WriteOptions = params(false);
        atomic.atomic = true;
        let path = scratch.0.path().join("n".repeat(length));
        run_on_threads(2, |comm| {
            let file = Writer::create(comm.clone(), &path, b"", &atomic).unwrap();
            let names = scratch.names();
            assert!(
                names.len() == 1 && names[0].ends_with(".scda-part") && names[0].len() <= 255,
                "{names:?}"
            );
            comm.allreduce_min(&mut [1]).unwrap();
            file.close().unwrap();
        });
        assert_eq!(scratch.names(), ["n".repeat(length)]);
    }
    let scratch = Scratch::new();
    for is_atomic in [false, true] {
        let mut params: WriteOptions = params(false);
        params.atomic = is_atomic;
        let path = scratch.0.path().join("n".repeat(256));
        let error = error_of_all(2, |comm| Writer::create(comm, &path, b"", &params).map(drop));
        assert_eq!(error.kind(), ErrorKind::BadFile);
        assert!(error.to_string().contains("too long") && error.to_string().len() < 400, "{error}");
    }
}

#[test]
fn what_somebody_put_in_the_place_of_the_neighbour_is_not_followed() {
    use std::os::unix::fs::symlink;
    let outer = Scratch::new();
    let mut atomic: WriteOptions = params(false);
    atomic.atomic = true;
    let folder = outer.0.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    let (path, part) = (folder.join("file.scda"), folder.join("file.scda.scda-part"));
    let victim = outer.0.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    let is_untouched = || std::fs::read(&victim).unwrap() == b"precious";
    // A link to a file, and one to a file that would be made.
    for to in [victim.clone(), outer.0.path().join("not there")] {
        symlink(&to, &part).unwrap();
        write_on(2, &path, &small_model(), &atomic, 1);
        assert!(std::fs::symlink_metadata(&path).unwrap().is_file() && is_untouched());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    }
    // One that comes while the file is being written.
    let error = error_of_all(2, |comm| {
        let rank = comm.rank();
        let file = Writer::create(comm.clone(), &path, b"", &atomic)?;
        comm.allreduce_min(&mut [1])?;
        if rank == 0 {
            std::fs::remove_file(&part).unwrap();
            symlink(&victim, &part).unwrap();
        }
        file.close()
    });
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(is_untouched() && std::fs::symlink_metadata(&path).unwrap().is_file());
    std::fs::remove_file(&part).unwrap();
    // A folder.
    std::fs::create_dir(&part).unwrap();
    let error = error_of_all(2, |comm| Writer::create(comm, &path, b"", &atomic).map(drop));
    assert_eq!(error.kind(), ErrorKind::BadFile, "{error}");
    std::fs::remove_dir(&part).unwrap();
    // Nothing beside the folder.
    assert_eq!(outer.names().len(), 2);
    // Links that go round in circles.
    let circle = folder.join("circle");
    symlink("circle", &circle).unwrap();
    for is_atomic in [false, true] {
        let mut params: WriteOptions = params(false);
        params.atomic = is_atomic;
        let error = error_of_all(2, |comm| Writer::create(comm, &circle, b"", &params).map(drop));
        assert_eq!(error.kind(), ErrorKind::BadFile, "{error}");
    }
}

#[test]
fn an_atomic_write_is_never_open_to_more_people_than_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    let mut atomic: WriteOptions = params(false);
    atomic.atomic = true;
    let part = scratch.0.path().join("file.scda.scda-part");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    // A new file: as every other new file.
    std::fs::write(scratch.0.path().join("other"), "").unwrap();
    let usual = mode(&scratch.0.path().join("other"));
    write_on(1, &scratch.path(), &small_model(), &atomic, 1);
    assert_eq!(mode(&scratch.path()), usual);
    for wanted in [0o600, 0o400, 0o644, 0o666, 0o755] {
        std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(wanted)).unwrap();
        if std::fs::OpenOptions::new().write(true).open(scratch.path()).is_err() {
            continue; // it could not be written in its place, either
        }
        let file = Writer::create(scda::Solo, scratch.path(), b"", &atomic).unwrap();
        assert_eq!(mode(&part), wanted);
        file.close().unwrap();
        assert_eq!(mode(&scratch.path()), wanted);
    }
}
