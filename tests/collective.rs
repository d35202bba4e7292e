//! Errors on one rank and on all: the same code everywhere, no rank that waits for another, and
//! nothing left behind.

#![allow(clippy::cast_possible_truncation)] // test data

mod common;

use common::{Data, Model, ModelSection, Rng, Want, write_on};
use scda::{
    Communicator, Elements, Encode, Error, ErrorKind, Faults, Interrupt, Params, Reader, Result, Sink,
    Source, ThreadComm, Writer, run_on_threads,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder with room for one file.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
    fn path(&self) -> PathBuf {
        self.0.path().join("file.scda")
    }
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn params(check: bool) -> Params {
    let mut params = Params::default();
    params.check = check;
    params
}

/// Runs a program on ranks and gives the error that all of them got.
fn error_of_all(size: usize, program: impl Fn(ThreadComm) -> Result<()> + Sync) -> Error {
    let mut errors: Vec<Error> = run_on_threads(size, program)
        .into_iter()
        .enumerate()
        .map(|(rank, result)| result.err().unwrap_or_else(|| panic!("rank {rank} of {size} had success")))
        .collect();
    for error in &errors {
        assert_eq!(error.to_string(), errors[0].to_string());
        assert_eq!(error.kind(), errors[0].kind());
    }
    errors.swap_remove(0)
}

/// All agreements have one form: a rank that fails meets the others wherever they are.
#[test]
fn an_error_of_one_rank_meets_the_others_where_they_share_a_value() {
    let scratch = Scratch::new();
    for bad in 0..3 {
        let error = error_of_all(3, |comm| {
            let mut params = params(false);
            params.level = if comm.rank() == bad { 77 } else { 6 };
            Writer::create(comm, &scratch.path(), b"", &params).map(drop)
        });
        assert!(error.to_string().contains("level: found 77"), "{error}");
        let error = error_of_all(3, |comm| {
            let root = if comm.rank() == bad { 9 } else { 1 };
            let mut file = Writer::create(comm, &scratch.path(), b"", &params(false))?;
            file.block(b"", root, 500, Some(&[7; 500]), Encode::Always)?;
            file.close()
        });
        assert!(error.to_string().contains("root: found 9"), "{error}");
    }
}

#[test]
fn an_error_of_one_rank_comes_up_at_once_with_check_and_at_close_without() {
    let scratch = Scratch::new();
    for size in [1, 2, 3, 5] {
        for check in [true, false] {
            for bad in 0..size {
                let error = error_of_all(size, |comm| {
                    let rank = comm.rank();
                    let mut file = Writer::create(comm, &scratch.path(), b"", &params(check))?;
                    // Of the wrong length on one rank.
                    let data = if rank == bad { &b"ab"[..] } else { b"abc" };
                    let written = file.array(b"", &vec![1; size], 3, Source::Contiguous(data), Encode::None);
                    assert_eq!(written.is_err(), check || size == 1);
                    written?;
                    file.inline(b"", 0, Some(&[b'i'; 32]))?;
                    file.close()
                });
                assert_eq!(error.kind(), ErrorKind::Argument);
                assert!(error.to_string().contains("found 2 bytes, expected 3"), "{error}");
                assert!(error.to_string().contains(&format!("rank {bad}")) || size == 1, "{error}");
            }
        }
    }
}

#[test]
fn ranks_that_disagree_all_get_an_argument_error_that_names_the_argument() {
    let scratch = Scratch::new();
    let path = scratch.path();
    type Program = fn(&mut Writer, bool) -> Result<()>;
    let cases: [(&str, Program); 7] = [
        ("user string", |f, odd| f.inline(if odd { b"a" } else { b"b" }, 0, Some(&[0; 32]))),
        ("root", |f, odd| f.inline(b"", usize::from(odd), Some(&[0; 32]))),
        ("size E", |f, odd| {
            let size = if odd { 2 } else { 3 };
            f.block(b"", 0, size, Some(&vec![0; size as usize]), Encode::None)
        }),
        ("counts", |f, odd| {
            let counts = if odd { [1, 0, 0] } else { [0, 0, 0] };
            f.array(b"", &counts, 0, Source::Contiguous(b""), Encode::None)
        }),
        ("encode", |f, odd| {
            let encode = if odd { Encode::Always } else { Encode::None };
            f.block(b"", 0, 1, Some(b"1"), encode)
        }),
        ("function", |f, odd| {
            if odd { f.inline(b"", 0, Some(&[0; 32])) } else { f.block(b"", 0, 1, Some(b"1"), Encode::None) }
        }),
        ("sizes S_q", |f, odd| {
            let sums = if odd { [0, 0, 0] } else { [0, 1, 0] };
            f.varray(b"", &[0, 0, 0], &[], Some(&sums), Source::Contiguous(b""), Encode::None)
        }),
    ];
    for (name, program) in cases {
        for check in [true, false] {
            let error = error_of_all(3, |comm| {
                let odd = comm.rank() == 1;
                let mut file = Writer::create(comm, &path, b"", &params(check))?;
                let written = program(&mut file, odd);
                assert!(written.is_err() || !check);
                written?;
                file.close()
            });
            assert_eq!(error.kind(), ErrorKind::Argument, "{name}: {error}");
            assert!(error.to_string().contains(name) || name == "sizes S_q", "{name}: {error}");
        }
    }
}

#[test]
fn ranks_that_open_differently_get_an_error() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path(), "").unwrap();
    let modes = error_of_all(2, |comm| match comm.rank() {
        0 => Writer::create(comm, &scratch.path(), b"", &params(true)).map(drop),
        _ => Reader::open(comm, &scratch.path(), &params(true)).map(drop),
    });
    assert_eq!(modes.kind(), ErrorKind::Argument);
    let users = error_of_all(2, |comm| {
        let user = [comm.rank() as u8];
        Writer::create(comm, &scratch.path(), &user, &params(true)).map(drop)
    });
    assert!(users.to_string().contains("user string"), "{users}");
    let settings = error_of_all(2, |comm| {
        let mut params = params(false);
        params.atomic = comm.rank() == 1;
        Writer::create(comm, &scratch.path(), b"", &params).map(drop)
    });
    assert!(settings.to_string().contains("parameter"), "{settings}");
}

#[test]
fn a_rank_that_fails_early_meets_the_others_later() {
    // Rank 1 has an argument that is wrong for it alone although it should be the same on all; the
    // others go on, and learn of it when they next meet.
    let scratch = Scratch::new();
    let error = error_of_all(3, |comm| {
        let root = if comm.rank() == 1 { 99 } else { 0 };
        let mut file = Writer::create(comm, &scratch.path(), b"", &params(false))?;
        file.inline(b"", root, Some(&[0; 32]))?;
        file.inline(b"", 0, Some(&[0; 32]))?;
        file.flush()?;
        file.close()
    });
    assert!(error.to_string().contains("rank 1: root: found 99"), "{error}");
}

#[test]
fn the_counts_of_all_ranks_are_made_of_each_ranks_own() {
    let scratch = Scratch::new();
    for size in 1..=4 {
        let counts: Vec<u64> = (0..size as u64).map(|rank| rank << 61).collect();
        let found = run_on_threads(size, |comm| {
            let rank = comm.rank();
            let mut file = Writer::create(comm.clone(), &scratch.path(), b"", &params(false))?;
            let written = file.proc_counts(counts[rank])?;
            file.close()?;
            let mut file = Reader::open(comm, &scratch.path(), &params(false))?;
            let read = file.proc_counts(counts[rank])?;
            file.close()?;
            Ok::<_, Error>([written, read])
        });
        for found in found {
            assert_eq!(found.unwrap(), [counts.clone(), counts.clone()]);
        }
    }
    let error = error_of_all(3, |comm| {
        let odd = comm.rank() == 1;
        let mut file = Writer::create(comm, &scratch.path(), b"", &params(false))?;
        if odd { file.proc_counts(3) } else { file.proc_sizes(&[3]) }.map(drop)
    });
    assert!(error.to_string().contains("the ranks disagree on the function that is called"), "{error}");
}

#[test]
fn a_rank_that_abandons_a_file_tells_the_others() {
    let scratch = Scratch::new();
    let mut params = params(false);
    params.atomic = true;
    let write = |comm: ThreadComm, leaves: bool| {
        let rank = comm.rank();
        let mut file = Writer::create(comm, &scratch.path(), b"", &params)?;
        file.array(b"", &[1; 3], 1, Source::Contiguous(b"x"), Encode::None)?;
        if leaves && rank == 1 {
            return Err(file.abandon("the simulation has diverged"));
        }
        file.close()
    };
    let error = error_of_all(3, |comm| write(comm, true));
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains("rank 1: the simulation has diverged"), "{error}");
    assert!(scratch.names().is_empty());
    assert!(run_on_threads(3, |comm| write(comm, false)).iter().all(Result::is_ok));

    let error = error_of_all(3, |comm| {
        let rank = comm.rank();
        let mut file = Reader::open(comm, &scratch.path(), &Params::default())?;
        let section = file.next_section(true)?.expect("an array");
        if rank == 2 {
            return Err(file.abandon("out of patience"));
        }
        file.read_array(&[1; 3], section.size, Sink::Skip)?;
        file.close()
    });
    assert!(error.to_string().contains("rank 2: out of patience"), "{error}");
}

#[test]
fn an_incomplete_file_is_marked_if_that_is_wanted() {
    for (size, mark, atomic) in [(1, true, false), (3, true, false), (3, false, false), (3, true, true)] {
        for error in ["abandon", "argument"] {
            let scratch = Scratch::new();
            let mut params = params(false);
            (params.mark_incomplete, params.atomic) = (mark, atomic);
            let failed = error_of_all(size, |comm| {
                let rank = comm.rank();
                let mut file = Writer::create(comm, &scratch.path(), b"", &params)?;
                file.inline(b"kept", 0, Some(&[b'x'; 32]))?;
                file.flush()?;
                if error == "abandon" && rank == size - 1 {
                    return Err(file.abandon("no more"));
                }
                file.block(&[b'u'; 59], 0, 0, Some(b""), Encode::None)?;
                file.close()
            });
            assert_eq!(failed.kind(), ErrorKind::Argument);
            if atomic {
                assert!(scratch.names().is_empty());
                continue;
            }
            let length = std::fs::read(scratch.path()).unwrap().len();
            assert_eq!(length, 128 + 96 + if mark { 35 } else { 0 }, "{size} {error}");
            let mut file = Reader::open(scda::Solo, &scratch.path(), &Params::default()).unwrap();
            assert_eq!(file.next_section(true).unwrap().unwrap().user[..], b"kept"[..]);
            file.read_inline(0, None).unwrap();
            let next = file.next_section(true).map(|section| section.is_some());
            assert_eq!(
                next.as_ref().map_err(Error::kind),
                if mark { Err(ErrorKind::ShortFile) } else { Ok(&false) }
            );
        }
    }
}

#[test]
fn compression_is_stopped_from_another_thread() {
    for size in [1, 2] {
        let scratch = Scratch::new();
        let interrupt = Interrupt::default();
        let mut params = params(false);
        params.interrupt = interrupt.clone();
        params.threads = 2;
        // Longer than anybody would wait.
        let data: Vec<u8> = (0..1 << 21).map(|i: u32| (i.wrapping_mul(i) / 7) as u8).collect();
        let element: &[u8] = &data;
        let elements = vec![element; 20_000];
        let start = std::time::Instant::now();
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(300));
                interrupt.stop();
            });
            error_of_all(size, |comm| {
                let mut file = Writer::create(comm, &scratch.path(), b"", &params)?;
                let counts = vec![elements.len() as u64; size];
                file.array(b"", &counts, data.len() as u64, Source::Indirect(&elements), Encode::Always)
            })
        });
        assert!(error.to_string().contains("interrupted by the program"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
}

#[test]
fn after_an_error_there_is_no_file() {
    let scratch = Scratch::new();
    let mut file = Writer::create(scda::Solo, &scratch.path(), b"", &params(false)).unwrap();
    file.inline(b"kept", 0, Some(b"the sections before an error...\n")).unwrap();
    assert_eq!(file.inline(b"", 1, Some(&[0; 32])).unwrap_err().kind(), ErrorKind::Argument);
    assert_eq!(file.inline(b"", 0, Some(&[0; 32])).unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(file.close().unwrap_err().kind(), ErrorKind::Usage);
    // One rank: what was reported as written is in the file.
    assert_eq!(std::fs::read(scratch.path()).unwrap().len(), 128 + 96);
}

/// A file with one section of each kind.
fn small_model() -> Model {
    let elements = vec![b"a".to_vec(), b"bc".to_vec(), b"def".to_vec()];
    let plain = [
        Data::Inline([b'i'; 32]),
        Data::Block(b"block".to_vec()),
        Data::Array { size: 2, elements: vec![b"ab".to_vec(); 3] },
        Data::Varray(elements),
    ];
    let mut sections = Vec::new();
    for encode in [Encode::None, Encode::Always] {
        for data in plain.iter().skip(usize::from(encode == Encode::Always)) {
            sections.push(ModelSection { user: b"u".to_vec(), data: data.clone(), encode });
        }
    }
    Model { vendor: Vec::new(), user: b"small".to_vec(), sections }
}

#[test]
fn calls_out_of_order_are_usage_errors_on_all_ranks() {
    let scratch = Scratch::new();
    write_on(1, &scratch.path(), &small_model(), &params(true), 1);
    type Program = fn(&mut Reader) -> Result<()>;
    let counts = [1, 2];
    let _ = counts;
    let cases: [(&str, usize, Program); 9] = [
        ("header, header", 0, |f| f.next_section(false).map(drop)),
        ("I as B", 0, |f| f.read_block(32, 0, None)),
        ("B as I", 1, |f| f.read_inline(0, None)),
        ("B as A", 1, |f| f.read_array(&[1, 2], 5, Sink::Skip)),
        ("A as V", 2, |f| f.read_varray_sizes(&[1, 2], None)),
        ("V as A", 3, |f| f.read_array(&[1, 2], 0, Sink::Skip)),
        ("V without sizes", 3, |f| f.read_varray(&[1, 2], None, None, Sink::Skip)),
        ("sizes twice", 3, |f| {
            f.read_varray_sizes(&[1, 2], None).unwrap();
            f.read_varray_sizes(&[1, 2], None)
        }),
        ("header after sizes", 3, |f| {
            f.read_varray_sizes(&[1, 2], None).unwrap();
            f.next_section(false).map(drop)
        }),
    ];
    let skip = |file: &mut Reader, index: usize| -> Result<()> {
        for section in 0..=index {
            file.next_section(false)?;
            if section == index {
                break;
            }
            match section {
                0 => file.read_inline(0, None)?,
                1 => file.read_block(5, 0, None)?,
                _ => file.read_array(&[1, 2], 2, Sink::Skip)?,
            }
        }
        Ok(())
    };
    for (name, index, program) in cases {
        for check in [true, false] {
            let error = error_of_all(2, |comm| {
                let mut file = Reader::open(comm, &scratch.path(), &params(check)).unwrap();
                skip(&mut file, index).unwrap();
                program(&mut file)
            });
            assert_eq!(error.kind(), ErrorKind::Usage, "{name}: {error}");
        }
    }
    let error = error_of_all(2, |comm| {
        let mut file = Reader::open(comm, &scratch.path(), &params(false)).unwrap();
        file.read_inline(0, None)
    });
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn what_the_header_said_must_be_repeated() {
    let scratch = Scratch::new();
    write_on(1, &scratch.path(), &small_model(), &params(true), 1);
    type Program = fn(&mut Reader) -> Result<()>;
    fn at_varray(file: &mut Reader) {
        file.read_block(5, 0, None).unwrap();
        file.next_section(true).unwrap();
        file.read_array(&[1, 2], 2, Sink::Skip).unwrap();
        file.next_section(true).unwrap();
    }
    let cases: [Program; 8] = [
        |f| f.read_block(4, 0, None),
        |f| f.read_block(5, 2, None),
        |f| f.read_block(5, 0, Some(&mut [0; 4])).and_then(|()| f.next_section(false).map(drop)),
        |f| {
            f.read_block(5, 0, None).unwrap();
            f.next_section(true).unwrap();
            f.read_array(&[1, 1], 2, Sink::Skip)
        },
        |f| {
            f.read_block(5, 0, None).unwrap();
            f.next_section(true).unwrap();
            f.read_array(&[1, 2], 3, Sink::Skip)
        },
        |f| {
            at_varray(f);
            f.read_varray_sizes(&[3, 3], None)
        },
        |f| {
            at_varray(f);
            f.read_varray_sizes(&[3, 0], None).unwrap();
            f.read_varray(&[3, 0], Some(&[1, 3, 2]), None, Sink::Contiguous(&mut [0; 6]))
        },
        |f| {
            at_varray(f);
            f.read_varray_sizes(&[3, 0], None).unwrap();
            f.read_varray(&[3, 0], None, Some(&[5, 1]), Sink::Skip)
        },
    ];
    for (index, program) in cases.into_iter().enumerate() {
        let error = error_of_all(2, |comm| {
            let mut file = Reader::open(comm, &scratch.path(), &params(true)).unwrap();
            file.next_section(true).unwrap();
            file.read_inline(0, None).unwrap();
            file.next_section(true).unwrap();
            program(&mut file)
        });
        assert_eq!(error.kind(), ErrorKind::Argument, "case {index}: {error}");
    }
}

#[test]
fn files_that_cannot_be_opened_say_why() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.0.path().join(name);
    std::fs::write(path("file"), "").unwrap();
    let create = |path: PathBuf| {
        error_of_all(2, |comm| Writer::create(comm, &path, b"", &Params::default()).map(drop)).kind()
    };
    let open = |path: PathBuf| {
        error_of_all(2, |comm| Reader::open(comm, &path, &Params::default()).map(drop)).kind()
    };
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
    common::read_on(2, &scratch.path(), &small_model(), &params(false), Want::All, 1);
}

#[test]
fn an_atomic_write_leaves_the_old_file_until_it_is_complete() {
    let scratch = Scratch::new();
    let mut atomic = params(false);
    atomic.atomic = true;
    std::fs::write(scratch.path(), "old").unwrap();
    // What a killed job left behind is replaced.
    for end in ["", ".locktest.0", ".locktest.1"] {
        std::fs::write(scratch.0.path().join(format!("file.scda.scda-part{end}")), "stale").unwrap();
    }
    let old = || std::fs::read(scratch.path()).unwrap() == b"old";
    let error = error_of_all(3, |comm| {
        let mut file = Writer::create(comm, &scratch.path(), b"", &atomic)?;
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
    common::read_on(2, &scratch.path(), &small_model(), &atomic, Want::All, 1);
    assert_eq!(scratch.names(), ["file.scda"]);
}

#[test]
fn an_old_file_is_not_touched_before_the_ranks_agree() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path(), "old").unwrap();
    error_of_all(2, |comm| {
        let user = if comm.rank() == 1 { vec![0; 59] } else { vec![] };
        Writer::create(comm, &scratch.path(), &user, &params(false)).map(drop)
    });
    assert_eq!(std::fs::read(scratch.path()).unwrap(), b"old");
}

#[test]
fn an_atomic_write_follows_a_link_and_keeps_the_permissions() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let scratch = Scratch::new();
    let mut atomic = params(false);
    atomic.atomic = true;
    let folder = scratch.0.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("real"), "old").unwrap();
    std::fs::set_permissions(folder.join("real"), std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("folder/real", scratch.path()).unwrap();
    write_on(2, &scratch.path(), &small_model(), &atomic, 1);
    assert!(std::fs::symlink_metadata(scratch.path()).unwrap().is_symlink());
    common::read_on(2, &folder.join("real"), &small_model(), &atomic, Want::All, 1);
    assert_eq!(std::fs::metadata(folder.join("real")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    // What the link points to need not exist.
    std::fs::remove_file(folder.join("real")).unwrap();
    write_on(2, &scratch.path(), &small_model(), &atomic, 1);
    assert!(std::fs::symlink_metadata(scratch.path()).unwrap().is_symlink());
    common::read_on(2, &folder.join("real"), &small_model(), &atomic, Want::All, 1);
}

/// Of a thread alone: what the C library has sets it for all of them.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn become_nobody() {
    // SAFETY: takes numbers only.
    assert_eq!(unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534) }, 0);
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
    if std::fs::metadata(&path).unwrap().uid() != 0 {
        return; // only root may become somebody else
    }
    mode(&path, 0o666);
    mode(scratch.0.path(), 0o1777);
    let mut params = params(false);
    let write = |comm, params: &Params| {
        become_nobody();
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
        become_nobody();
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
fn a_file_that_is_removed_or_replaced_while_it_is_written_is_an_error() {
    for atomic in [false, true] {
        for replace in [false, true] {
            let scratch = Scratch::new();
            let mut params = params(false);
            params.atomic = atomic;
            let name = if atomic { "file.scda.scda-part" } else { "file.scda" };
            let victim = scratch.0.path().join(name);
            let error = error_of_all(2, |comm| {
                let rank = comm.rank();
                let mut file = Writer::create(comm, &scratch.path(), b"", &params)?;
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

/// Everything there is, so that every access can fail.
fn write_and_read(comm: ThreadComm, path: &Path, params: &Params, seed: u64) -> Result<()> {
    let rank = comm.rank();
    let model = small_model();
    common::write(comm.clone(), path, &model, params, seed)?;
    let _ = rank;
    common::read(comm, path, &model, params, Want::All, seed)
}

#[test]
fn injected_faults_are_errors_of_all_ranks_and_never_a_hang() {
    let scratch = Scratch::new();
    let mut failures = 0;
    for size in [1, 2, 3, 5] {
        for seed in 0..60 {
            for bytes in [0, 1 << 20] {
                let mut params = params(false);
                params.aggregation_bytes = bytes;
                params.atomic = seed % 2 == 0;
                params.faults = Some(Faults { every: [1, 4, 30][seed as usize % 3], seed });
                let all = run_on_threads(size, |comm| {
                    write_and_read(comm, &scratch.path(), &params, Rng(seed).next())
                });
                let kinds: Vec<_> = all.iter().map(|r| r.as_ref().err().map(Error::kind)).collect();
                assert!(kinds.windows(2).all(|pair| pair[0] == pair[1]), "{kinds:?}");
                assert!(kinds[0].is_none_or(|kind| kind == ErrorKind::Io), "{kinds:?}");
                failures += usize::from(kinds[0].is_some());
                assert!(scratch.names().iter().all(|name| name == "file.scda"), "{:?}", scratch.names());
            }
        }
    }
    assert!((270..480).contains(&failures), "{failures}");
}

#[test]
fn an_atomic_write_takes_names_of_any_length() {
    for length in [245, 246, 250, 255] {
        let scratch = Scratch::new();
        let mut atomic = params(false);
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
        let mut params = params(false);
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
    let mut atomic = params(false);
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
        let mut params = params(false);
        params.atomic = is_atomic;
        let error = error_of_all(2, |comm| Writer::create(comm, &circle, b"", &params).map(drop));
        assert_eq!(error.kind(), ErrorKind::BadFile, "{error}");
    }
}

#[test]
fn an_atomic_write_is_never_open_to_more_people_than_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    let mut atomic = params(false);
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
        let file = Writer::create(scda::Solo, &scratch.path(), b"", &atomic).unwrap();
        assert_eq!(mode(&part), wanted);
        file.close().unwrap();
        assert_eq!(mode(&scratch.path()), wanted);
    }
}

/// Elements whose memory is asked for once on checking, and after some further times no more.
struct Panicking {
    element: Vec<u8>,
    left: AtomicUsize,
}

impl Elements for Panicking {
    fn count(&self) -> usize {
        10
    }
    fn element(&self, _: usize) -> &[u8] {
        assert!(self.left.fetch_sub(1, Ordering::Relaxed) > 0, "deliberately");
        &self.element
    }
}

#[test]
fn a_panic_while_encoding_is_an_error_of_all() {
    let scratch = Scratch::new();
    for (threads, encode) in [(1, Encode::Always), (3, Encode::Always), (1, Encode::Auto)] {
        let mut params = params(false);
        params.threads = threads;
        let error = error_of_all(3, |comm| {
            let times = if comm.rank() == 1 { 12 } else { usize::MAX };
            let elements = Panicking { element: vec![7; 100_000], left: AtomicUsize::new(times) };
            let mut file = Writer::create(comm, &scratch.path(), b"", &params)?;
            file.array(b"", &[10; 3], 100_000, Source::Indirect(&elements), encode)?;
            file.close()
        });
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(error.to_string().contains("rank 1: panic: deliberately"), "{error}");
    }
}

/// Fails each exchange of this name on rank 1, after it was made.
struct FailingIn(ThreadComm, &'static str);

impl FailingIn {
    fn then(&self, what: &str, result: Result<()>) -> Result<()> {
        if self.1 == what && self.0.rank() == 1 {
            Err(Error::communication("injected fault"))
        } else {
            result
        }
    }
}

impl Communicator for FailingIn {
    fn rank(&self) -> usize {
        self.0.rank()
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn allreduce_min(&self, values: &mut [u64]) -> Result<()> {
        self.0.allreduce_min(values)
    }
    fn allreduce_sum(&self, values: &mut [u64]) -> Result<()> {
        self.then("allreduce_sum", self.0.allreduce_sum(values))
    }
    fn exscan_sum(&self, values: &mut [u64]) -> Result<()> {
        self.then("exscan_sum", self.0.exscan_sum(values))
    }
    fn allgather(&self, value: u64) -> Result<Vec<u64>> {
        self.0.allgather(value)
    }
    fn broadcast(&self, bytes: &mut [u8], root: usize) -> Result<()> {
        self.0.broadcast(bytes, root)
    }
    fn gather(&self, bytes: &[u8], all: &mut Vec<u8>) -> Result<()> {
        self.0.gather(bytes, all)
    }
}

/// A program with a barrier of its own between its calls waits for ever if only some ranks return from one.
#[test]
fn where_sizes_are_summed_up_all_ranks_fail_in_the_same_call() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut params = Params::default();
    params.check = false;
    for what in ["exscan_sum", "allreduce_sum"] {
        for (encode, bytes) in
            [(Encode::None, 9), (Encode::Always, 9), (Encode::Auto, 5000), (Encode::Always, 200_000)]
        {
            let kinds = run_on_threads(3, |comm| -> Result<ErrorKind> {
                let mut file = Writer::create(FailingIn(comm, what), &path, b"", &params)?;
                let data = vec![b'x'; bytes];
                let written =
                    file.varray(b"v", &[1; 3], &[bytes as u64], None, Source::Contiguous(&data), encode);
                Ok(written.expect_err("an error of this call").kind())
            });
            assert!(
                kinds.iter().all(|kind| matches!(kind, Ok(ErrorKind::Mpi))),
                "{what}, {encode:?}: {kinds:?}"
            );
        }
    }
}
