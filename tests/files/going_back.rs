//! Going back in a sealed file (`WriteOptions::append_after`), and keeping older files of a name (`WriteOptions::keep`).

use crate::common::options;
use scda::{
    Communicator, ErrorKind, ReadOptions, Reader, Result, Solo, ThreadComm, WriteOptions, Writer,
    run_on_threads,
};
use scda_format::truncation;
use std::path::Path;

fn params() -> WriteOptions {
    let mut params: WriteOptions = options();
    params.seal = true;
    params
}

/// Writes these steps, each of two sections, and commits it.
fn write_steps(file: &mut Writer, rank: usize, steps: &[u8]) -> Result<()> {
    for &step in steps {
        file.inline(b"step", 0, (rank == 0).then_some(&[step; 32]))?;
        file.inline(b"u", 0, (rank == 0).then_some(&[step; 32]))?;
        file.commit()?;
    }
    Ok(())
}

/// The steps of a file, compared with its checksums.
fn steps(path: &Path) -> Vec<u8> {
    let mut params: ReadOptions = options();
    params.verify = true;
    let mut file = Reader::open(Solo, path, &params).unwrap();
    let (mut steps, mut data) = (Vec::new(), [0; 32]);
    while file.next_section(true).unwrap().is_some() {
        file.read_inline(0, Some(&mut data)).unwrap();
        steps.push(data[0]);
        assert!(file.next_section(true).unwrap().is_some());
        file.skip().unwrap();
    }
    assert_eq!(file.left_out(), Some(0));
    steps
}

fn create(path: &Path, written: &[u8]) -> Vec<u8> {
    let mut file = Writer::create(Solo, path, b"series", &params()).unwrap();
    write_steps(&mut file, 0, written).unwrap();
    file.close().unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn appending_after_an_earlier_seal_drops_a_damaged_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("series.scda");
    let mut damaged = create(&path, b"ab");
    // In the last row of the last index.
    let place = damaged.len() - 288 - 100;
    damaged[place] ^= 1;
    for ranks in [1, 3] {
        std::fs::write(&path, &damaged).unwrap();
        let append = |after| {
            let mut params = params();
            params.append_after = after;
            let write = |comm: ThreadComm| {
                let rank = comm.rank();
                let mut file = Writer::append(comm, &path, &params).map_err(|error| error.kind())?;
                write_steps(&mut file, rank, b"c").unwrap();
                file.close().map_err(|error| error.kind())
            };
            run_on_threads(ranks, write)
        };
        assert_eq!(append(0), vec![Err(ErrorKind::Checksum); ranks]);
        assert!(std::fs::read(&path).unwrap() == damaged);
        assert_eq!(append(2), vec![Ok(()); ranks]);
        assert_eq!(steps(&path), b"ac");
    }
}

#[test]
fn sections_are_appended_after_the_requested_seal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("series.scda");
    // More than a table of names has, and up to its seal.
    let all: Vec<u8> = (b'a'..b'a' + 20).collect();
    for (kept, ranks, atomic) in
        [(1, 1, false), (3, 2, false), (15, 3, false), (16, 1, true), (19, 2, true), (20, 1, false)]
    {
        let expected = create(&path, &[&all[..kept], b"xyz"].concat());
        create(&path, &all);
        let mut params = params();
        (params.append_after, params.atomic) = (2 * kept as u64, atomic);
        run_on_threads(ranks, |comm: ThreadComm| {
            let rank = scda::Communicator::rank(&comm);
            let mut file = Writer::append(comm, &path, &params).unwrap();
            assert_eq!(file.bytes_rolled_back() > 0, kept < all.len());
            write_steps(&mut file, rank, b"xyz").unwrap();
            file.close().unwrap();
        });
        // As if the later steps had never been written.
        assert!(std::fs::read(&path).unwrap() == expected, "{kept}");
    }
}

#[test]
fn a_job_that_is_stopped_has_only_gone_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("series.scda");
    create(&path, b"abcdef");
    let mut back = params();
    back.append_after = 6;
    let mut file = Writer::append(Solo, &path, &back).unwrap();
    assert_eq!(steps(&path), b"abc");
    file.inline(b"step", 0, Some(&[b'!'; 32])).unwrap();
    file.flush().unwrap();
    // As a kill leaves it.
    std::mem::forget(file);
    let reader = Reader::open(Solo, &path, &options()).unwrap();
    assert_eq!(reader.left_out(), Some(96));
    drop(reader);
    let copy = folder.path().join("copy.scda");
    std::fs::copy(&path, &copy).unwrap();
    let mut file = Writer::append(Solo, &copy, &params()).unwrap();
    write_steps(&mut file, 0, b"g").unwrap();
    file.close().unwrap();
    assert_eq!(steps(&copy), b"abcg");
    // An atomic one has not even gone back.
    create(&copy, b"abcdef");
    back.atomic = true;
    drop(Writer::append(Solo, &copy, &back).unwrap());
    assert_eq!(steps(&copy), b"abcdef");
}

/// As a loss of power may leave it: the page of the cut has come to the disk, the new length has not.
#[test]
fn a_job_finishes_the_truncation_that_another_one_has_begun() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("series.scda");
    let whole = create(&path, b"abc");
    let expected = create(&path, b"ab!");
    let before = create(&path, b"abcdef");
    let style = Reader::open(Solo, &path, &options()).unwrap().header().line_break;
    let note = truncation::bytes(create(&path, b"ab").len() as u64, style);
    for torn in [0, 40] {
        // Also after what a killed job has left, of any length.
        let mut left = [&before[..], &b"torn"[..torn.min(4)]].concat();
        left.resize(left.len().next_multiple_of(32), 0);
        left.extend(note);
        let cut = create(&path, b"ab").len();
        left[cut..cut.next_multiple_of(4096)].fill(0);
        std::fs::write(&path, &left).unwrap();
        assert_eq!(
            Reader::open(Solo, &path, &options()).unwrap().left_out(),
            Some((left.len() - cut) as u64)
        );
        let mut raw: ReadOptions = options();
        raw.to_seal = false;
        let seals = Reader::open(Solo, &path, &raw).unwrap().inspect().seals().unwrap();
        assert_eq!((seals.all.len(), seals.fault.is_none()), (2, true));
        for (after, is_back) in [(0, false), (2, true)] {
            for ranks in [1, 3] {
                std::fs::write(&path, &left).unwrap();
                let mut params = params();
                params.append_after = after;
                run_on_threads(ranks, |comm: ThreadComm| {
                    let rank = comm.rank();
                    let mut file = Writer::append(comm, &path, &params).unwrap();
                    write_steps(&mut file, rank, b"!").unwrap();
                    file.close().unwrap();
                });
                let found = steps(&path);
                assert_eq!(found, if is_back { &b"a!"[..] } else { b"ab!" });
                assert!(is_back || std::fs::read(&path).unwrap() == expected);
            }
        }
    }
    // A note that leads to no seal, or has not all come to the disk, is what a killed job has left.
    for (length, is_torn) in [(whole.len() - 32, false), (whole.len(), true)] {
        let mut note = truncation::bytes(length as u64, style);
        if is_torn {
            note[64..].fill(0);
        }
        std::fs::write(&path, [&before[..], &note].concat()).unwrap();
        let reader = Reader::open(Solo, &path, &options()).unwrap();
        assert_eq!(reader.left_out(), Some(96));
        drop(reader);
        drop(Writer::append(Solo, &path, &params()).unwrap());
        assert_eq!(steps(&path), b"abcdef");
    }
}

#[test]
fn appending_after_a_seal_that_does_not_exist_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("series.scda");
    let before = create(&path, b"abc");
    let plain = folder.path().join("plain.scda");
    Writer::create(Solo, &plain, b"", &options()).unwrap().close().unwrap();
    for (path, after) in [(&path, 7), (&path, u64::MAX), (&plain, 1)] {
        let mut params = params();
        params.append_after = after;
        for ranks in [1, 3] {
            run_on_threads(ranks, |comm: ThreadComm| {
                let error = Writer::append(comm, path, &params).err().unwrap();
                assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
                assert!(error.to_string().contains("are more than the"), "{error}");
            });
        }
    }
    assert!(std::fs::read(&path).unwrap() == before);
}

/// At opening, not when all is written.
#[test]
fn a_name_that_leaves_no_room_for_that_of_a_kept_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    // With ".10", 255 bytes.
    let path = folder.path().join(format!("{}.scda", "y".repeat(247)));
    let mut params = params();
    params.atomic = true;
    for (keep, is_refused) in [(10, false), (99, false), (100, true), (1, false)] {
        params.keep = keep;
        for ranks in [1, 2] {
            run_on_threads(ranks, |comm: ThreadComm| {
                let rank = scda::Communicator::rank(&comm);
                match Writer::create(comm, &path, b"", &params) {
                    Ok(mut file) => {
                        assert!(!is_refused, "{keep}");
                        write_steps(&mut file, rank, b"a").unwrap();
                        file.close().unwrap();
                    }
                    Err(error) => {
                        assert!(is_refused && error.kind() == ErrorKind::BadFile, "{keep}: {error}");
                        assert!(error.to_string().contains("keep: yyy"), "{error}");
                    }
                }
            });
        }
    }
}

#[test]
fn the_last_checkpoints_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.scda");
    let mut params = params();
    (params.atomic, params.keep) = (true, 2);
    for (step, ranks) in (b'a'..=b'e').zip([1, 2, 3, 1, 2]) {
        run_on_threads(ranks, |comm: ThreadComm| {
            let rank = scda::Communicator::rank(&comm);
            let mut file = Writer::create(comm, &path, b"", &params).unwrap();
            write_steps(&mut file, rank, &[step]).unwrap();
            file.close().unwrap();
        });
    }
    let found = |name: &str| steps(&folder.path().join(name));
    assert_eq!([found("state.scda"), found("state.1.scda"), found("state.2.scda")], [b"e", b"d", b"c"]);
    // Appending replaces it, too; a writer that is not completed changes nothing.
    let mut file = Writer::append(Solo, &path, &params).unwrap();
    write_steps(&mut file, 0, b"f").unwrap();
    file.close().unwrap();
    drop(Writer::create(Solo, &path, b"", &params).unwrap());
    assert_eq!([found("state.scda"), found("state.1.scda"), found("state.2.scda")], [&b"ef"[..], b"e", b"d"]);
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names.retain(|name| !name.to_string_lossy().ends_with("-part"));
    assert_eq!(names, ["state.1.scda", "state.2.scda", "state.scda"]);
    for (keep, atomic, later) in [(1, false, false), (1, true, true), (1001, true, false)] {
        (params.keep, params.atomic, params.later) = (keep, atomic, later);
        let error = Writer::create(Solo, &path, b"", &params).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.to_string().contains("keep: "), "{error}");
    }
    for (to_seal, raw) in [(false, false), (true, true)] {
        let mut params: ReadOptions = options();
        (params.keep, params.to_seal, params.raw) = (2, to_seal, raw);
        let error = Reader::open(Solo, &path, &params).err().unwrap();
        assert!(error.to_string().contains("keep: 2 needs to_seal, and not raw"), "{error}");
    }
}

/// Writes a checkpoint of one step, and keeps two older ones.
fn write_state(path: &Path, step: u8, ranks: usize) {
    run_on_threads(ranks, |comm: ThreadComm| {
        let rank = comm.rank();
        let mut params = params();
        (params.atomic, params.keep) = (true, 2);
        let mut file = Writer::create(comm, path, b"", &params).unwrap();
        write_steps(&mut file, rank, &[step]).unwrap();
        file.close().unwrap();
    });
}

#[test]
fn who_appends_nothing_keeps_the_older_files() {
    let folder = tempfile::tempdir().unwrap();
    let [path, older] = ["state.scda", "state.1.scda"].map(|name| folder.path().join(name));
    let mut params = params();
    (params.atomic, params.keep) = (true, 2);
    let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
    write_steps(&mut file, 0, b"ab").unwrap();
    file.close().unwrap();
    for ranks in [1, 3] {
        let before = std::fs::read(&path).unwrap();
        run_on_threads(ranks, |comm: ThreadComm| {
            Writer::append(comm, &path, &params).unwrap().close().unwrap()
        });
        assert!(std::fs::read(&path).unwrap() == before && !older.exists());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    // A file of the same length is another one if it has gone back.
    params.append_after = 2;
    let mut file = Writer::append(Solo, &path, &params).unwrap();
    write_steps(&mut file, 0, b"c").unwrap();
    file.close().unwrap();
    assert_eq!([steps(&path), steps(&older)], [b"ac", b"ab"]);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), std::fs::metadata(&older).unwrap().len());
}

#[test]
fn who_appends_nothing_leaves_a_copy_if_the_file_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let [path, moved] = ["state.scda", "moved"].map(|name| folder.path().join(name));
    let mut params = params();
    params.atomic = true;
    for other in [None, Some(&b"another file"[..])] {
        let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
        write_steps(&mut file, 0, b"ab").unwrap();
        file.close().unwrap();
        let file = Writer::append(Solo, &path, &params).unwrap();
        std::fs::rename(&path, &moved).unwrap();
        other.iter().for_each(|other| std::fs::write(&path, other).unwrap());
        file.close().unwrap();
        assert!(std::fs::read(&path).unwrap() == std::fs::read(&moved).unwrap());
        assert_eq!((steps(&path), std::fs::read_dir(folder.path()).unwrap().count()), (b"ab".to_vec(), 2));
    }
}

#[test]
fn torn_files_do_not_count_and_what_belongs_to_others_stays() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let path = at("state.scda");
    (b'a'..=b'c').for_each(|step| write_state(&path, step, 1));
    for name in ["state.scda", "state.1.scda"] {
        std::fs::File::options().write(true).open(at(name)).unwrap().set_len(300).unwrap();
    }
    let torn = std::fs::read(at("state.1.scda")).unwrap();
    let last = || {
        let mut params: ReadOptions = options();
        params.keep = 2;
        run_on_threads(2, |comm: ThreadComm| Reader::open(comm, &path, &params).unwrap().age())[0]
    };
    assert_eq!(last(), 2);
    let found = |name: &str| steps(&at(name))[0];
    write_state(&path, b'd', 2);
    assert_eq!((found("state.scda"), found("state.2.scda")), (b'd', b'a'));
    (b'e'..=b'g').for_each(|step| write_state(&path, step, 2));
    assert_eq!(["state.scda", "state.2.scda", "state.3.scda"].map(found), *b"gfe");
    assert!(std::fs::read(at("state.1.scda")).unwrap() == torn);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    std::fs::write(&path, "").unwrap();
    assert_eq!(last(), 2);

    // A text, a folder, a link, and a name on the way to which there is something else.
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let path = at("state.scda");
    std::fs::write(at("state.1.scda"), "notes of the user\n").unwrap();
    std::fs::create_dir(at("state.2.scda")).unwrap();
    std::os::unix::fs::symlink("state.scda", at("state.3.scda")).unwrap();
    std::fs::write(at("state.4.scda.scda-kept"), "?").unwrap();
    (b'a'..=b'e').for_each(|step| write_state(&path, step, 1));
    let found = |name: &str| steps(&at(name))[0];
    assert_eq!(["state.scda", "state.5.scda", "state.6.scda"].map(found), *b"edc");
    assert_eq!(std::fs::read(at("state.1.scda")).unwrap(), b"notes of the user\n");
    assert!(at("state.2.scda").is_dir() && std::fs::read_link(at("state.3.scda")).is_ok());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 7);
    std::fs::remove_file(&path).unwrap();
    let mut params: ReadOptions = options();
    params.keep = 2;
    assert_eq!(Reader::open(Solo, &path, &params).unwrap().age(), 5);
}

#[test]
fn a_file_that_a_killed_job_appended_to_is_kept_and_one_without_seals_too() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let path = at("state.scda");
    create(&path, b"ab");
    let mut file = Writer::append(Solo, &path, &params()).unwrap();
    file.inline(b"step", 0, Some(&[b'!'; 32])).unwrap();
    file.flush().unwrap();
    std::mem::forget(file);
    let torn = std::fs::read(&path).unwrap();
    // Another process may not be given the lock of the one above.
    let copy = at("copy.scda");
    std::fs::copy(&path, &copy).unwrap();
    (b'c'..=b'd').for_each(|step| write_state(&copy, step, 1));
    assert!(std::fs::read(at("copy.1.scda")).unwrap() == torn);
    assert_eq!(steps(&at("copy.2.scda")), b"c");
    let mut params: WriteOptions = options();
    (params.atomic, params.keep) = (true, 1);
    let plain = at("plain.scda");
    for step in 0..3 {
        let mut file = Writer::create(Solo, &plain, b"", &params).unwrap();
        file.inline(b"step", 0, Some(&[step; 32])).unwrap();
        file.close().unwrap();
    }
    let steps = ["plain.scda", "plain.1.scda"].map(|name| std::fs::read(at(name)).unwrap()[192]);
    assert_eq!(steps, [2, 1]);
}
