//! Files that were committed to many times: what looking sections up costs, and that it stays right.
#![allow(clippy::cast_possible_wrap)] // test data

#[path = "common/system.rs"]
mod system;

use scda::internals::seal::Seal;
use scda::{Encode, ErrorKind, Params, Reader, Solo, Writer};
use std::path::Path;
use system::reads;

/// A file of this many commits: in each the sections "step", "u" of this many bytes, and one of a name of its own.
fn write(path: &Path, commits: u64, bytes: u64) {
    let mut params = Params::default();
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
    Reader::open(Solo, path, &Params::default()).unwrap()
}

/// What this costs, in calls of the system that read.
fn cost(action: impl FnOnce()) -> u64 {
    let own = reads();
    let own = reads() - own;
    let before = reads();
    action();
    reads() - before - own
}

/// Look-ups in a file of so many commits: the number of reads with opening, of each as the first one.
fn costs(path: &Path, commits: u64) -> Vec<u64> {
    let look_ups: [&dyn Fn(&mut Reader); 7] = [
        &|reader| assert_eq!(reader.find(b"absent", 0).unwrap(), None),
        &|reader| assert_eq!(reader.find(b"absent", -1).unwrap(), None),
        &|reader| assert_eq!(reader.find(b"u", 5).unwrap(), Some(16)),
        &|reader| assert_eq!(reader.find(b"u", 5 - commits as i64).unwrap(), Some(16)),
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
        let is_good = |(&few, &many): (&u64, &u64)| many <= 60 && many <= 4 * few;
        assert!(
            few.iter().zip(&many).all(is_good),
            "{bytes} bytes: {few:?} for 10 commits, {many:?} for 1000"
        );
    }
}

#[test]
fn seals_that_are_far_apart_are_read_once_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for commits in [10, 100] {
        write(&path, commits, 100_000);
        let costs = costs(&path, commits);
        assert!(costs.iter().all(|&reads| reads <= commits + 12), "{costs:?}");
    }
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
    let name = index + 128 + 256 + 2;
    assert_eq!(&file[name..name + 2], b"u ");
    file[name] = b'v';
    std::fs::write(&path, file).unwrap();
    let find = |user: &[u8], record| open(&path).find(user, record).map_err(|error| error.kind());
    for step in 0..commits {
        let forward = find(b"u", step as i64);
        let backward = find(b"u", step as i64 - commits as i64);
        let expected = Ok(Some(3 * step + 1));
        let error = Err(ErrorKind::Checksum);
        assert_eq!(forward, if step < damaged { expected } else { error }, "{step}");
        assert_eq!(backward, if step > damaged { expected } else { error }, "{step}");
    }
    assert_eq!(find(b"v", 0), Err(ErrorKind::Checksum));
    assert_eq!(open(&path).find_all(b"u").unwrap_err().kind(), ErrorKind::Checksum);
}
