//! Files that are also HDF5 files (docs/hdf5.md): the superblock leads to a view of what is sealed, whatever happens to the file.

#![allow(clippy::cast_possible_truncation)] // test data

use crate::common::options;
use scda::{
    Codec, Communicator, Content, DataType, Dataset, Encode, ErrorKind, Hdf5, IndexBox, Layout, LineBreak,
    ReadOptions, Reader, Solo, Source, WriteOptions, Writer, run_on_threads,
};
use scda_hdf5::Superblock;
use std::path::Path;

const SUPERBLOCK: std::ops::Range<usize> = 512..560;

fn params() -> WriteOptions {
    let mut params: WriteOptions = options();
    params.seal = true;
    params
}

/// These parameters with a change.
fn with<T>(mut params: T, change: impl FnOnce(&mut T)) -> T {
    change(&mut params);
    params
}

fn superblock(path: &Path) -> Option<Superblock> {
    let bytes = std::fs::read(path).unwrap();
    Superblock::of_bytes(bytes[SUPERBLOCK].first_chunk().unwrap()).unwrap()
}

/// Writes a step: a time, a contiguous field, and one in chunks.
fn step(writer: &mut Writer, rank: u64, ranks: u64, step: u64) {
    let time = Dataset::new("time", DataType::Float64, []);
    let own: &[IndexBox] = if rank == 0 { &[IndexBox::all(&[])] } else { &[] };
    let data = if rank == 0 { (step as f64).to_le_bytes().to_vec() } else { Vec::new() };
    writer.dataset(&time, own, &data).unwrap();
    let rows = 2000; // too few bytes to be aligned
    let (first, end) = (rows * rank / ranks, rows * (rank + 1) / ranks);
    let data: Vec<u8> = (4 * first..4 * end).flat_map(|n| (n + step).to_le_bytes()).collect();
    let own = [IndexBox { start: vec![first, 0], count: vec![end - first, 4] }];
    let mut field = Dataset::new("flow/rho", DataType::Uint64, [rows, 4]);
    field.attributes = r#"{"units":"kg m-3"}"#.into();
    writer.dataset(&field, &own, &data).unwrap();
    field.name = "flow/p".into();
    (field.layout, field.codec) = (Layout::Chunked { shape: Some(vec![700, 4]), text: false }, Codec::Zlib);
    writer.dataset(&field, &own, &data).unwrap();
}

fn write_on(ranks: usize, path: &Path, params: &WriteOptions) {
    run_on_threads(ranks, |comm| {
        let (rank, size) = (comm.rank() as u64, comm.size() as u64);
        let mut writer = Writer::create(comm, path, b"also HDF5", params).unwrap();
        writer.group("flow", r#"{"scheme":"hydro"}"#).unwrap();
        writer.block(b"notes", 0, 5, (rank == 0).then_some(b"calm\n"), Encode::None).unwrap();
        step(&mut writer, rank, size, 0);
        writer.commit().unwrap();
        step(&mut writer, rank, size, 1);
        writer.close().unwrap();
    });
}

fn append(path: &Path, params: &WriteOptions, write: impl FnOnce(&mut Writer)) {
    let mut writer = Writer::append(Solo, path, params).unwrap();
    write(&mut writer);
    writer.close().unwrap();
}

/// The names of what a reader shows, with sections that are no datasets.
fn names(path: &Path, params: &ReadOptions) -> Vec<String> {
    let mut reader = Reader::open(Solo, path, params).unwrap();
    let entries = reader.entries().map(|entry| String::from_utf8(entry.unwrap().name().to_vec()).unwrap());
    entries.collect()
}

/// Reads all by its checksums.
fn verify(path: &Path) {
    let verify = with(options::<ReadOptions>(), |p| {
        p.verify = true;
    });
    let mut reader = Reader::open(Solo, path, &verify).unwrap();
    while reader.next_section(true).unwrap().is_some() {
        reader.skip().unwrap();
    }
    reader.close().unwrap();
}

#[test]
fn views_are_the_same_for_any_ranks_and_readers_do_not_show_them() {
    let folder = tempfile::tempdir().unwrap();
    let [path, plain] = ["f", "plain"].map(|name| folder.path().join(name));
    for style in [LineBreak::Unix, LineBreak::Mime] {
        let base = with(params(), |p| {
            p.line_break = style;
        });
        write_on(1, &path, &base);
        let first = std::fs::read(&path).unwrap();
        for ranks in [2, 3, 5] {
            for (aggregation_bytes, sync, atomic) in
                [(4 << 20, false, false), (0, true, false), (3000, false, true)]
            {
                write_on(
                    ranks,
                    &path,
                    &with(base.clone(), |p| {
                        p.tuning.aggregation_bytes = aggregation_bytes;
                        p.sync = sync;
                        p.atomic = atomic;
                        p.background_bytes = if atomic { 1 << 20 } else { 0 };
                    }),
                );
                assert!(std::fs::read(&path).unwrap() == first, "{ranks} ranks, {aggregation_bytes}");
            }
        }
        let found = superblock(&path).unwrap();
        assert_eq!(found.end, first.len() as u64);
        verify(&path);
        // All that a program sees, and every number of a section, is as without a view.
        write_on(
            2,
            &plain,
            &with(base.clone(), |p| {
                p.hdf5 = Hdf5::Never;
            }),
        );
        let sections = |path: &Path, params: &ReadOptions| {
            let mut reader = Reader::open(Solo, path, params).unwrap();
            assert!(!reader.at_end());
            let mut found = Vec::new();
            while let Some(section) = reader.next_section(true).unwrap() {
                found.push((section.section_type, section.user, section.count, section.size));
                reader.skip().unwrap();
            }
            assert!(reader.at_end());
            let numbers = reader.find_all(b"flow/rho").unwrap();
            (found, numbers)
        };
        for params in [
            options(),
            with(options::<ReadOptions>(), |p| {
                p.to_seal = false;
            }),
        ] {
            assert_eq!(sections(&path, &params), sections(&plain, &params));
            assert_eq!(names(&path, &params), names(&plain, &params));
        }
        // The paper's reader has both blocks as sections.
        let raw = with(options::<ReadOptions>(), |p| {
            p.raw = true;
        });
        let mut reader = Reader::open(Solo, &path, &raw).unwrap();
        let mut users = Vec::new();
        while let Some(section) = reader.next_section(false).unwrap() {
            users.push(String::from_utf8_lossy(&section.user).into_owned());
            reader.skip().unwrap();
        }
        assert_eq!(users[0], "scda hdf5 00");
        assert_eq!(users.iter().filter(|user| **user == "scda hdf5 view 00").count(), 1);
    }
}

#[test]
fn each_byte_but_those_of_the_superblock_is_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut writer = Writer::create(Solo, &path, b"", &params()).unwrap();
    writer.dataset(&Dataset::new("a", DataType::Int8, [3]), &[IndexBox::all(&[3])], &[1, 2, 3]).unwrap();
    writer.close().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let opens = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let verify = with(options::<ReadOptions>(), |p| {
            p.verify = true;
        });
        let mut reader = Reader::open(Solo, &path, &verify)?;
        while reader.next_section(true)?.is_some() {
            reader.skip()?;
        }
        Ok::<_, scda::Error>(())
    };
    opens(&bytes).unwrap();
    for at in (0..bytes.len()).step_by(3).chain(SUPERBLOCK.start - 3..SUPERBLOCK.end + 3) {
        let mut other = bytes.clone();
        other[at] ^= 1;
        assert_eq!(opens(&other).is_ok(), SUPERBLOCK.contains(&at), "byte {at}");
    }
}

#[test]
fn a_file_that_is_appended_to_has_a_view_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    write_on(2, &path, &params());
    let mut last = superblock(&path).unwrap();
    for n in 2..20 {
        let before = std::fs::metadata(&path).unwrap().len();
        append(
            &path,
            &with(params(), |p| {
                p.sync = n % 2 == 0;
                p.atomic = n % 3 == 0;
            }),
            |writer| step(writer, 0, 1, n),
        );
        let now = superblock(&path).unwrap();
        assert!(now.root > before && now.end == std::fs::metadata(&path).unwrap().len());
        verify(&path);
        last = now;
    }
    // Nothing new, and no view of it; what HDF5 cannot show gives no new view either, but the superblock says that it is up to date.
    append(&path, &params(), |_| {});
    assert_eq!(superblock(&path), Some(last));
    append(&path, &params(), |writer| writer.block(b"b", 0, 1, Some(b"x"), Encode::None).unwrap());
    let now = superblock(&path).unwrap();
    assert!(now.root == last.root && now.end == std::fs::metadata(&path).unwrap().len());
    // Who appends need not ask for it.
    append(&path, &with(params(), |p| p.hdf5 = Hdf5::Never), |writer| step(writer, 0, 1, 20));
    assert!(superblock(&path).unwrap().root > now.end);
    verify(&path);
    let count = |name: &str| names(&path, &options()).iter().filter(|found| *found == name).count();
    assert_eq!((count("flow/rho"), count("b")), (21, 1));
    append(&path, &params(), |writer| step(writer, 0, 1, 21));
    verify(&path);
}

#[test]
fn the_superblock_never_points_to_what_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut writer = Writer::create(Solo, &path, b"", &params()).unwrap();
    step(&mut writer, 0, 1, 0);
    writer.close().unwrap();
    let (one, first) = (std::fs::read(&path).unwrap(), superblock(&path));
    append(&path, &params(), |writer| {
        step(writer, 0, 1, 1);
        writer.commit().unwrap();
        step(writer, 0, 1, 2);
    });
    let sections = 6;
    for (kept, expected) in [(2 * sections, first), (sections, first)] {
        // No call follows: the file is as opening it has left it.
        let options = with(params(), |p| {
            p.append_after = kept;
        });
        let writer = Writer::append(Solo, &path, &options).unwrap();
        writer.forget();
        assert_eq!(superblock(&path), expected);
    }
    assert!(std::fs::read(&path).unwrap() == one);
    // A file of which no view stays has no superblock.
    let mut writer = Writer::create(Solo, &path, b"", &params()).unwrap();
    step(&mut writer, 0, 1, 0);
    writer.commit().unwrap();
    assert_eq!(superblock(&path), None);
    step(&mut writer, 0, 1, 1);
    writer.close().unwrap();
    assert!(superblock(&path).is_some());
    Writer::append(
        Solo,
        &path,
        &with(params(), |p| {
            p.append_after = sections;
        }),
    )
    .unwrap()
    .forget();
    assert_eq!(superblock(&path), None);
    append(&path, &params(), |_| {});
    verify(&path);
    assert_eq!(superblock(&path).unwrap().end, std::fs::metadata(&path).unwrap().len());
}

#[test]
fn a_torn_superblock_is_written_again_and_a_foreign_one_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    write_on(1, &path, &params());
    let whole = std::fs::read(&path).unwrap();
    let mut torn = whole.clone();
    torn[530..560].fill(0);
    for atomic in [false, true] {
        std::fs::write(&path, &torn).unwrap();
        verify(&path);
        append(&path, &with(params(), |p| p.atomic = atomic), |_| {});
        assert!(std::fs::read(&path).unwrap() == whole);
    }
    // As another program would write one: with HDF5's checksum.
    let mut foreign = whole;
    foreign[523] = 1;
    let sum = scda_hdf5::checksum(&foreign[512..556]);
    foreign[556..560].copy_from_slice(&sum.to_le_bytes());
    std::fs::write(&path, &foreign).unwrap();
    let error = Writer::append(Solo, &path, &params()).err().unwrap();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Format, Some(512)), "{error}");
    assert!(std::fs::read(&path).unwrap() == foreign);
}

#[test]
fn files_without_datasets_have_no_view_and_those_without_seals_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut writer = Writer::create(Solo, &path, b"", &params()).unwrap();
    writer.block(b"b", 0, 1, Some(b"x"), Encode::None).unwrap();
    writer.close().unwrap();
    assert_eq!(superblock(&path), None);
    verify(&path);
    let empty = Writer::create(Solo, &path, b"", &params()).unwrap();
    empty.close().unwrap();
    verify(&path);
    let mut reader = Reader::open(Solo, &path, &options()).unwrap();
    assert!(reader.at_end() && reader.next_section(true).unwrap().is_none());
    append(&path, &params(), |writer| step(writer, 0, 1, 0));
    assert!(superblock(&path).is_some());
    let mut writer = Writer::create(
        Solo,
        &path,
        b"",
        &with(params(), |p| {
            p.seal = false;
        }),
    )
    .unwrap();
    step(&mut writer, 0, 1, 0);
    writer.close().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert!(!bytes.windows(9).any(|bytes| bytes == b"scda hdf5"));
    // A file that was stopped before its first seal keeps the room.
    let mut writer = Writer::create(Solo, &path, b"", &params()).unwrap();
    step(&mut writer, 0, 1, 0);
    writer.flush().unwrap();
    writer.forget();
    let mut reader = Reader::open(Solo, &path, &options()).unwrap();
    assert!(reader.at_end() && reader.next_section(true).unwrap().is_none());
    append(&path, &params(), |writer| step(writer, 0, 1, 0));
    assert!(superblock(&path).is_some());
    verify(&path);
}

/// Whatever is written first.
#[test]
fn a_sealed_file_with_datasets_is_an_hdf5_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let write = |params: &WriteOptions, first: &dyn Fn(&mut Writer)| {
        let mut writer = Writer::create(Solo, &path, b"", params).unwrap();
        writer.tolerate_arguments().unwrap();
        first(&mut writer);
        step(&mut writer, 0, 1, 0);
        writer.close().unwrap();
        std::fs::read(&path).unwrap()
    };
    let bytes = |n: usize| [u8::try_from(n).unwrap(); 4];
    let all = [IndexBox::all(&[4])];
    let row = Dataset::new("u", DataType::Uint8, [4]);
    let first: [&dyn Fn(&mut Writer); 13] = [
        &|writer| writer.dataset(&row, &all, &bytes(1)).unwrap(),
        &|writer| writer.field(&row, &[4], &bytes(2)).unwrap(),
        &|writer| writer.own_field(&row, 4, &bytes(3)).unwrap(),
        &|writer| writer.incremental().dataset(&row, &mut std::io::Cursor::new(bytes(4))).unwrap(),
        &|writer| writer.group("a", r#"{"n":1}"#).unwrap(),
        &|writer| writer.set_attributes("/", 0, r#"{"n":1}"#).unwrap(),
        // A call that is refused leaves nothing.
        &|writer| writer.dataset(&row, &all, &[0; 3]).map_or((), |()| panic!("3 bytes of 4")),
        &|writer| writer.commit().unwrap(),
        &|writer| writer.flush().unwrap(),
        &|writer| writer.block(b"b", 0, 1, Some(b"x"), Encode::None).unwrap(),
        &|writer| writer.inline(b"i", 0, Some(&[b'x'; 32])).unwrap(),
        &|writer| writer.array(b"a", &[4], 1, Source::Contiguous(&bytes(1)), Encode::Always).unwrap(),
        &|writer| {
            writer.begin_streams(b"log", 64).unwrap();
            writer.write_stream(b"x").unwrap();
            writer.end_streams().unwrap();
        },
    ];
    for first in first {
        let whole = write(&params(), first);
        assert!(superblock(&path).is_some_and(|found| found.end == whole.len() as u64));
        verify(&path);
        let atomic = with(params(), |p| (p.atomic, p.background_bytes) = (true, 1 << 20));
        assert!(write(&atomic, first) == whole);
        write(&with(params(), |p| p.hdf5 = Hdf5::Never), first);
        append(&path, &params(), |writer| step(writer, 0, 1, 1));
        assert!(!std::fs::read(&path).unwrap().windows(9).any(|bytes| bytes == b"scda hdf5"));
    }
}

/// A process that has not closed the file before finds out whether it has datasets; one that has, remembers that.
#[test]
fn a_dataset_of_ten_numbers_takes_less_than_1000_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let length = |datasets: u64| {
        let mut writer = Writer::create(Solo, &path, b"small", &params()).unwrap();
        for n in 0..datasets {
            let dataset = Dataset::new(format!("g{:02}/d{n:04}", n / 100), DataType::Float64, [10]);
            writer.dataset(&dataset, &[IndexBox::all(&[10])], &[0; 80]).unwrap();
        }
        writer.close().unwrap();
        assert!(superblock(&path).is_some());
        std::fs::metadata(&path).unwrap().len()
    };
    let each = (length(1000) - length(500)) / 500;
    assert!((900..1000).contains(&each), "{each}");
}

#[test]
fn a_close_shows_what_was_committed_before() {
    let folder = tempfile::tempdir().unwrap();
    let [path, other] = ["f", "other"].map(|name| folder.path().join(name));
    let plain = |writer: &mut Writer| writer.block(b"b", 0, 1, Some(b"x"), Encode::None).unwrap();
    let forget = || {
        for _ in 0..4 {
            let mut writer = Writer::create(Solo, &other, b"", &params()).unwrap();
            step(&mut writer, 0, 1, 1000);
            writer.close().unwrap();
        }
    };
    let committed: [&dyn Fn(&mut Writer); 3] =
        [&plain, &|writer| step(writer, 0, 1, 0), &|writer| writer.group("a", r#"{"n":1}"#).unwrap()];
    for (first, has_view) in committed.into_iter().zip([false, true, true]) {
        for forgets in [false, true] {
            let mut writer = Writer::create(Solo, &path, b"", &params()).unwrap();
            plain(&mut writer);
            writer.close().unwrap();
            // Killed after a commit, with 20 more on either side.
            let mut writer = Writer::append(Solo, &path, &params()).unwrap();
            for n in 0..41 {
                if n == 20 {
                    first(&mut writer)
                } else {
                    plain(&mut writer)
                }
                writer.commit().unwrap();
            }
            writer.forget();
            for n in 0..3 {
                if forgets {
                    forget();
                }
                append(&path, &params(), |writer| {
                    if n > 0 {
                        plain(writer)
                    }
                });
                assert_eq!(superblock(&path).is_some(), has_view);
                verify(&path);
            }
            append(&path, &params(), |writer| step(writer, 0, 1, 1));
            let end = std::fs::metadata(&path).unwrap().len();
            assert_eq!(superblock(&path).unwrap().end, end);
            verify(&path);
        }
    }
}

/// What the creator of a file leaves that has nothing but its header.
#[test]
fn a_file_without_sections_gets_room_when_it_is_appended_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let sealed = params();
    let never = with(params(), |p| p.hdf5 = Hdf5::Never);
    let plain = |writer: &mut Writer| writer.block(b"b", 0, 1, Some(b"x"), Encode::None).unwrap();
    let killed = || Writer::create(Solo, &path, b"", &never).unwrap().forget();
    killed();
    assert_eq!(std::fs::read(&path).unwrap().len(), 128);
    append(&path, &sealed, |writer| step(writer, 0, 1, 0));
    let whole = std::fs::read(&path).unwrap();
    assert!(superblock(&path).is_some());
    // Only a part of the block came to the disk before the system stopped: with what follows, or without.
    for (zeros, end) in [
        (512..576, 4096),
        (512..576, 576),
        (128..576, 4096),
        (128..512, 4096),
        (512..512, 512),
        (300..300, 300),
    ] {
        let mut torn = whole[..end].to_vec();
        scda_format::hdf5::clear_superblock(0, &mut torn);
        torn[zeros].fill(0);
        std::fs::write(&path, torn).unwrap();
        append(&path, &sealed, |writer| step(writer, 0, 1, 0));
        assert!(std::fs::read(&path).unwrap() == whole);
    }
    verify(&path);
    // Who appends decides.
    killed();
    append(&path, &params(), |writer| {
        plain(writer);
        step(writer, 0, 1, 0);
    });
    assert!(superblock(&path).is_some());
    verify(&path);
    killed();
    append(&path, &never, |writer| step(writer, 0, 1, 0));
    assert!(!std::fs::read(&path).unwrap().windows(9).any(|bytes| bytes == b"scda hdf5"));
    // A file that was closed without sections has room.
    Writer::create(Solo, &path, b"", &sealed).unwrap().close().unwrap();
    append(&path, &sealed, plain);
    append(&path, &sealed, |writer| step(writer, 0, 1, 0));
    assert!(superblock(&path).is_some());
    verify(&path);
}

#[test]
fn what_is_added_later_is_a_part_of_the_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut writer = Writer::create(Solo, &path, b"", &params()).unwrap();
    let dataset = Dataset::new("a", DataType::Int8, [4]);
    writer.dataset(&dataset, &[IndexBox::all(&[4])], &[1, 2, 3, 4]).unwrap();
    writer.set_attributes("a", -1, r#"{"units":"m"}"#).unwrap();
    writer.close().unwrap();
    let mut reader = Reader::open(Solo, &path, &options()).unwrap();
    let all = reader.entries().map(Result::unwrap).collect::<Vec<_>>();
    assert!(matches!(&all[..], [entry] if matches!(&entry.content, Content::Dataset(_))));
    let bytes = std::fs::read(&path).unwrap();
    assert!(
        bytes.windows(5).filter(|bytes| *bytes == b"units").count() == 2,
        "in the section and in the view"
    );
}

#[test]
fn a_commit_has_a_view_if_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let commits = with(params(), |p| p.hdf5 = Hdf5::Commits);
    for ranks in [1, 3] {
        run_on_threads(ranks, |comm| {
            let (rank, size) = (comm.rank() as u64, comm.size() as u64);
            let mut writer = Writer::create(comm, &path, b"", &commits).unwrap();
            for n in 0..4 {
                step(&mut writer, rank, size, n);
                if n % 2 == 0 {
                    writer.commit().unwrap();
                } else {
                    let request = writer.commit_begin().unwrap();
                    request.wait(&mut writer).unwrap();
                }
                // What a job that is killed now leaves.
                let end = std::fs::metadata(&path).unwrap().len();
                assert_eq!(superblock(&path).unwrap().end, end, "{ranks} ranks, step {n}");
                // No rank writes more before.
                writer.flush().unwrap();
            }
            writer.close().unwrap();
        });
        verify(&path);
        append(&path, &commits, |writer| {
            step(writer, 0, 1, 4);
            writer.commit().unwrap();
            assert_eq!(superblock(&path).unwrap().end, std::fs::metadata(&path).unwrap().len());
        });
    }
    write_on(1, &path, &with(params(), |p| p.hdf5 = Hdf5::Never));
    let bytes = std::fs::read(&path).unwrap();
    let wrong = [
        Writer::append(Solo, &path, &commits),
        Writer::create(Solo, &path, b"", &with(commits.clone(), |p| p.seal = false)),
    ];
    for writer in wrong {
        assert_eq!(writer.err().unwrap().kind(), ErrorKind::Argument);
    }
    assert!(std::fs::read(&path).unwrap() == bytes);
}

/// A process remembers the files that it has closed.
#[test]
fn what_is_remembered_changes_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let [known, unknown, other] = ["known", "unknown", "other"].map(|name| folder.path().join(name));
    let forget = || {
        for n in 0..4 {
            let mut writer = Writer::create(Solo, &other, b"", &params()).unwrap();
            step(&mut writer, 0, 1, 1000 + n);
            writer.close().unwrap();
        }
    };
    for path in [&known, &unknown] {
        write_on(1, path, &params());
        for n in 2..12 {
            if path == &unknown {
                forget();
            }
            // Back to the first close, once.
            let after = if n == 7 { 15 } else { 0 };
            append(path, &with(params(), |p| p.append_after = after), |writer| {
                step(writer, 0, 1, n);
                if n % 3 == 0 {
                    writer.commit().unwrap();
                    writer.set_attributes("flow/rho", -1, r#"{"n":1}"#).unwrap();
                }
            });
        }
        verify(path);
    }
    assert!(std::fs::read(&known).unwrap() == std::fs::read(&unknown).unwrap());
}

/// A file that is committed before it has sections begins with room for the superblock and the tables of a seal.
#[test]
fn sections_after_a_commit_without_any_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for hdf5 in [Hdf5::Close, Hdf5::Commits, Hdf5::Never] {
        let mut writer = Writer::create(Solo, &path, b"", &with(params(), |p| p.hdf5 = hdf5)).unwrap();
        writer.commit().unwrap();
        writer.commit().unwrap();
        for user in [&b"a"[..], b"b"] {
            writer.block(user, 0, 1, Some(b"x"), Encode::None).unwrap();
            writer.commit().unwrap();
        }
        writer.array(b"c", &[4], 1, Source::Contiguous(b"abcd"), Encode::Always).unwrap();
        writer.close().unwrap();
        for verify in [false, true] {
            let reading = with(options::<ReadOptions>(), |p| p.verify = verify);
            let mut reader = Reader::open(Solo, &path, &reading).unwrap();
            for user in [&b"a"[..], b"b", b"c"] {
                assert!(!reader.at_end());
                assert_eq!(&*reader.next_section(true).unwrap().unwrap().user, user);
                reader.skip().unwrap();
            }
            assert!(reader.at_end());
            for (number, user) in (0..).zip([&b"a"[..], b"b", b"c"]) {
                assert_eq!(reader.find(user, 0).unwrap(), Some(number));
                reader.seek_section(number).unwrap();
                assert_eq!(&*reader.next_section(true).unwrap().unwrap().user, user);
                reader.skip().unwrap();
            }
        }
    }
}
