//! Files that were committed to many times: what looking sections up costs, and that it stays right.
#![allow(clippy::cast_possible_wrap)] // test data
#![allow(clippy::cast_possible_truncation)] // test data

use crate::common::system::reads;
use crate::common::{options, seal};
use scda::{
    Content, DataType, Dataset, Encode, ErrorKind, Faults, Hdf5, IndexBox, LineBreak, ReadOptions, Reader,
    Solo, ThreadComm, WriteOptions, Writer, run_on_threads,
};
use scda_format::seal::Seal;
use std::path::Path;

/// A file of this many commits: in each the sections "step", "u" of this many bytes, and one of a name of its own.
fn write(path: &Path, commits: u64, bytes: u64) {
    let mut params: WriteOptions = options();
    params.seal = true;
    let mut writer = Writer::create(Solo, path, b"many commits", &params).unwrap();
    let data = vec![7; usize::try_from(bytes).unwrap()];
    for step in 0..commits {
        writer.inline(b"step", 0, Some(&[b' '; 32])).unwrap();
        writer.block(b"u", 0, bytes, Some(&data), Encode::None).unwrap();
        writer.inline(format!("only {step}").as_bytes(), 0, Some(&[b' '; 32])).unwrap();
        if step + 1 < commits {
            writer.commit().unwrap();
        }
    }
    writer.close().unwrap();
}

fn open(path: &Path) -> Reader {
    Reader::open(Solo, path, &options()).unwrap()
}

/// What this costs, in calls of the system that read.
fn cost(action: impl FnOnce()) -> u64 {
    let own = reads();
    let own = reads() - own;
    let before = reads();
    action();
    reads() - before - own
}

/// Look-ups in a file of `commits` commits: the number of reads with opening, of each as the first one.
fn costs(path: &Path, commits: u64) -> Vec<u64> {
    let look_ups: [&dyn Fn(&mut Reader); 7] = [
        &|reader| assert_eq!(reader.find(b"absent", 0).unwrap(), None),
        &|reader| assert_eq!(reader.find(b"absent", -1).unwrap(), None),
        &|reader| assert_eq!(reader.find(b"u", 5).unwrap(), Some(16)),
        &|reader| assert_eq!(reader.find(b"u", -(commits as i64)).unwrap(), Some(1)),
        &|reader| assert_eq!(reader.find_all(b"only 3").unwrap(), [11]),
        &|reader| reader.seek_section(0).unwrap(),
        &|reader| assert_eq!(reader.find(b"u", -1).unwrap(), Some(3 * commits - 2)),
    ];
    let mut costs = Vec::new();
    for look_up in look_ups {
        let mut reader = None;
        costs.push(cost(|| look_up(reader.insert(open(path)))));
        let mut reader = reader.unwrap();
        // What was read of the seals is not read again.
        look_ups.iter().for_each(|look_up| look_up(&mut reader));
        let again: Vec<u64> = look_ups.iter().map(|look_up| cost(|| look_up(&mut reader))).collect();
        assert!(again.iter().all(|&reads| reads <= 6), "{again:?}");
    }
    // The last one needs the last seal only.
    assert!(costs[6] <= 16);
    // All steps, one after the other.
    let all = cost(|| {
        let mut reader = open(path);
        for step in 0..commits {
            assert_eq!(reader.find(b"u", step as i64).unwrap(), Some(3 * step + 1));
        }
    });
    assert!(all <= costs[0] + 6 * commits, "{commits} commits: {all} reads of all steps");
    costs
}

#[test]
fn seals_that_are_near_are_read_several_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for bytes in [1, 5000, 60_000] {
        let [few, many] = [10, 1000].map(|commits| {
            write(&path, commits, bytes);
            costs(&path, commits)
        });
        let is_good = |(&few, &many): (&u64, &u64)| many <= 35 && many <= 5 * few;
        assert!(
            few.iter().zip(&many).all(is_good),
            "{bytes} bytes: {few:?} for 10 commits, {many:?} for 1000"
        );
    }
}

#[test]
fn seals_that_are_far_apart_are_read_by_tables_of_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let [few, many] = [10, 1000].map(|commits| {
        write(&path, commits, 100_000);
        costs(&path, commits)
    });
    println!("far apart: {few:?} for 10 commits, {many:?} for 1000");
    let is_good = |(&few, &many): (&u64, &u64)| many <= 60 && many <= 3 * few;
    assert!(few.iter().zip(&many).all(is_good), "{few:?} for 10 commits, {many:?} for 1000");
}

/// What cannot be read is no damage, beside which a table of names would count as right.
#[test]
fn a_table_of_names_is_right_only_where_all_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write(&path, 17, 100_000);
    let check = |faults| {
        let mut params: ReadOptions = options();
        params.tuning.faults = faults;
        let mut reader = Reader::open(Solo, &path, &params).ok()?;
        let seals = reader.inspect().seals().ok()?.all;
        let number = seals.iter().rposition(|sealed| sealed.names_bytes() > 0)?;
        let mut found = None;
        let reads = cost(|| found = Some(reader.inspect().check_seal(&seals[..=number])));
        Some((found?, reads))
    };
    let (whole, reads) = check(None).unwrap();
    whole.unwrap();
    let (mut right, mut failed) = (0, 0);
    for (found, now) in (0..400).filter_map(|seed| check(Some(Faults { every: 60, seed }))) {
        match found {
            Ok(()) => {
                assert_eq!(now, reads);
                right += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                failed += 1;
            }
        }
    }
    assert!(right > 50 && failed > 50, "{right} {failed}");
}

/// Each commit as docs/format.md has it; by one process or several, which may be another one for each commit.
#[test]
fn tables_of_names_are_as_specified() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, ranks: usize, commits: u64, step: usize| {
        run_on_threads(ranks, |comm: ThreadComm| {
            let rank = scda::Communicator::rank(&comm);
            let mut params: WriteOptions = options();
            params.seal = true;
            for first in (0..commits).step_by(step) {
                let comm = comm.clone();
                let mut writer = match first {
                    0 => Writer::create(comm, path(name), b"names", &params),
                    _ => Writer::append(comm, path(name), &params),
                }
                .unwrap();
                for number in first..commits.min(first + step as u64) {
                    for user in ["u", "mesh", &format!("only {number}"), "u"] {
                        writer.inline(user.as_bytes(), 0, (rank == 0).then_some(&[b' '; 32])).unwrap();
                    }
                    writer.commit().unwrap();
                }
                writer.close().unwrap();
            }
        });
        std::fs::read(path(name)).unwrap()
    };
    let commits = 290;
    let file = write("file", 1, commits, 1000);
    // The sections of each commit, and a naive seal.
    let mut expected = file[..576].to_vec();
    let (mut at, mut previous) = (576, 0);
    for _ in 0..commits {
        expected.extend(&file[at..at + 4 * 96]);
        let length = expected.len();
        expected = seal::sealed(&expected, previous, LineBreak::Unix);
        assert!(file.starts_with(&expected), "after byte {length}");
        (at, previous) = (expected.len(), expected.len() as u64 - 288);
    }
    assert_eq!(file.len(), expected.len());
    assert_eq!(file.windows(16).filter(|text| text == b"A scda names 00 ").count(), 18);
    for (ranks, step) in [(3, 1000), (1, 1), (1, 7), (2, 50)] {
        assert!(write("other", ranks, commits, step) == file, "{ranks} ranks, {step} commits each");
    }
}

/// In a long index, a name that is not there costs as much as one that is.
#[test]
fn a_missed_name_costs_like_a_hit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut params: WriteOptions = options();
    params.seal = true;
    let mut writer = Writer::create(Solo, &path, b"", &params).unwrap();
    for number in 0..40_000 {
        writer.inline(format!("section {number:06}").as_bytes(), 0, Some(&[b' '; 32])).unwrap();
    }
    writer.close().unwrap();
    let find = |user: &str| open(&path).find(user.as_bytes(), 0).unwrap();
    let hit = cost(|| assert_eq!(find("section 012345"), Some(12345)));
    let misses = ["section 012345x", "a", "z"].map(|user| cost(|| assert_eq!(find(user), None)));
    assert!(misses.iter().all(|&miss| miss <= hit + 4), "{hit} reads of a hit, {misses:?} of misses");
}

/// A damaged index matters to those look-ups only that need it.
#[test]
fn a_damaged_index_among_many() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let commits = 40_u64;
    write(&path, commits, 500);
    let mut file = std::fs::read(&path).unwrap();
    // The seals, the last one first.
    let mut seals = vec![Seal::parse(file.last_chunk().unwrap(), file.len() as u64 - 288).unwrap()];
    while let Some(&Seal { previous: previous @ 1.., .. }) = seals.last() {
        let at = usize::try_from(previous).unwrap();
        seals.push(Seal::parse(file[at..].first_chunk().unwrap(), previous).unwrap());
    }
    assert_eq!(seals.len() as u64, commits);
    // The user string of "u" of step 24.
    let damaged = 24;
    let index = usize::try_from(seals[15].index).unwrap();
    let name = index + 128 + 160 + 2;
    assert_eq!(&file[name..name + 2], b"u ");
    file[name] = b'v';
    std::fs::write(&path, &file).unwrap();
    let find = |user: &[u8], record| open(&path).find(user, record).map_err(|error| error.kind());
    let found = |step: u64| [step as i64, step as i64 - commits as i64].map(|record| find(b"u", record));
    // The last table of names, of the seal of step 31, has the name; that it is right shows at the section.
    for step in 0..commits {
        let expected = if step == damaged { Err(ErrorKind::Checksum) } else { Ok(Some(3 * step + 1)) };
        assert_eq!(found(step), [expected; 2], "{step}");
    }
    assert_eq!(find(b"v", 0), Ok(None));
    // Whoever goes to a section compares its row.
    assert_eq!(
        open(&path).find_all(b"u").unwrap(),
        (0..commits).map(|step| 3 * step + 1).collect::<Vec<_>>()
    );
    // Without this table, the index of the step is needed for all steps before or after it.
    let end = usize::try_from(seals[usize::try_from(commits).unwrap() - 32].index).unwrap() - 128;
    assert!(file[end..].starts_with(b"K 32 "));
    file[end + 64 + 3] ^= 1;
    std::fs::write(&path, file).unwrap();
    for step in 0..commits {
        let (expected, error) = (Ok(Some(3 * step + 1)), Err(ErrorKind::Checksum));
        let forward = if step < damaged { expected } else { error };
        let backward = if step > damaged { expected } else { error };
        assert_eq!(found(step), [forward, backward], "{step}");
    }
    assert_eq!(find(b"v", 0), Err(ErrorKind::Checksum));
}

/// A job that opens the file, adds a row to a dataset, and closes it, reads about as much when that was done 1000 times before.
#[test]
fn adding_rows_costs_the_same_after_many_additions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut params: WriteOptions = options();
    params.seal = true;
    let add = |file: &mut Writer, extends: bool| {
        let mut rows = Dataset::new("rho", DataType::Uint8, [1, 3]);
        rows.extends = extends;
        file.dataset(&rows, &[IndexBox::all(&[1, 3])], b"abc").unwrap();
    };
    // A view for HDF5 is made of the seals, too.
    for (data_bytes, hdf5, most) in [(1, Hdf5::Never, 25), (100_000, Hdf5::Never, 30), (1, Hdf5::Close, 45)] {
        params.hdf5 = hdf5;
        let data = vec![7; data_bytes as usize];
        let [few, many] = [10, 1000].map(|commits| {
            let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
            for step in 0..commits {
                add(&mut file, step > 0);
                file.block(b"u", 0, data_bytes, Some(&data), Encode::None).unwrap();
                file.commit().unwrap();
            }
            file.close().unwrap();
            // One with a table of names of few seals after the last one, and one with many.
            let costs = [0, 7].map(|more| {
                for _ in 0..more {
                    let mut file = Writer::append(Solo, &path, &params).unwrap();
                    add(&mut file, true);
                    file.close().unwrap();
                }
                cost(|| {
                    let mut file = Writer::append(Solo, &path, &params).unwrap();
                    add(&mut file, true);
                    file.close().unwrap();
                })
            });
            let mut reader = open(&path);
            let found = reader.dataset_record("rho", -1).unwrap().unwrap();
            assert_eq!(found.shape, [commits + 9, 3]);
            let mut all = vec![0; (commits as usize + 9) * 3];
            found.read(&mut reader, &[IndexBox::all(&found.shape)], &mut all).unwrap();
            assert!(all.chunks(3).all(|row| row == b"abc"));
            costs[0].max(costs[1])
        });
        println!(
            "{data_bytes} bytes between rows, {hdf5:?}: {few} reads after 10 additions, {many} after 1000"
        );
        assert!(many <= most && many <= 3 * few, "{few} reads after 10 additions, {many} after 1000");
    }
}

/// A reader keeps the names of the seals after and before those with many sections, whose names it searches for in the file.
#[test]
fn seals_of_many_sections_make_the_others_cost_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut params: WriteOptions = options();
    params.seal = true;
    let costs = [50, 400].map(|commits| {
        let mut writer = Writer::create(Solo, &path, b"", &params).unwrap();
        for step in 0..commits {
            let name = format!("x{step}");
            let dataset = Dataset::new(&name, DataType::Uint8, [1]);
            writer.dataset(&dataset, &[IndexBox::all(&[1])], b"a").unwrap();
            writer.inline(b"u", 0, Some(&[b' '; 32])).unwrap();
            if step == commits / 2 || step + 1 == commits {
                for number in 0..4200 {
                    let user: &[u8] = if number % 2000 == 7 { b"u" } else { b"other" };
                    writer.inline(user, 0, Some(&[b' '; 32])).unwrap();
                }
                writer.set_attributes(&name, -1, r#"{"later": 1}"#).unwrap();
            }
            writer.commit().unwrap();
        }
        writer.close().unwrap();
        // Each seal stands for itself: no table of names has its checksum.
        let mut file = std::fs::read(&path).unwrap();
        let tables = file.windows(16).enumerate().filter(|(_, text)| text == b"A scda names 00 ");
        let tables: Vec<usize> = tables.map(|(place, _)| place).collect();
        assert_eq!(tables.len(), commits / 16);
        tables.iter().for_each(|&place| file[place + 128 + 2] ^= 1);
        std::fs::write(&path, &file).unwrap();

        let (mut numbers, mut later, mut datasets) = (Vec::new(), 0, 0);
        let walk = cost(|| {
            let mut reader = open(&path);
            let mut number = 0;
            while let Some(section) = reader.next_section(true).unwrap() {
                if *section.user == *b"u" {
                    numbers.push(number);
                }
                if let Some((Content::Dataset(dataset), _)) =
                    reader.inspect().content_at(section.offset).unwrap()
                {
                    later += usize::from(dataset.attributes.contains("later"));
                    reader.skip().unwrap();
                    reader.next_section(true).unwrap();
                    (number, datasets) = (number + 1, datasets + 1);
                }
                reader.skip().unwrap();
                number += 1;
            }
        });
        assert_eq!((datasets, later, numbers.len()), (commits, 2, commits + 6));
        let mut kept = open(&path);
        let count = numbers.len() as i64;
        for (&number, record) in numbers.iter().zip(0..) {
            for record in [record, record - count] {
                assert_eq!(kept.find(b"u", record).unwrap(), Some(number), "{record}");
                if record % 7 == 0 {
                    assert_eq!(open(&path).find(b"u", record).unwrap(), Some(number), "{record}");
                }
            }
        }
        assert_eq!((kept.find(b"u", count).unwrap(), kept.find(b"u", -count - 1).unwrap()), (None, None));
        assert_eq!(
            (open(&path).find_all(b"u").unwrap(), kept.find_all(b"u").unwrap()),
            (numbers.clone(), numbers)
        );
        // What the last seal has needs no other one.
        assert!(cost(|| assert!(open(&path).find(b"other", -1).unwrap().is_some())) <= 100);
        walk
    });
    println!("{costs:?} reads for 50 and 400 commits");
    assert!(costs[1] - costs[0] <= 150 * 350, "{costs:?}");
}
