//! Files that were committed to many times: what looking sections up costs, and that it stays right.
#![allow(clippy::cast_possible_wrap)] // test data

#[path = "common/system.rs"]
mod system;

use scda::internals::seal::Seal;
use scda::{Encode, ErrorKind, Params, Reader, Solo, Writer};
use std::path::Path;
use system::reads;

/// A file of this many commits: in each the sections "step", "u" and one of a name of its own.
fn write(path: &Path, commits: u64) {
    let mut params = Params::default();
    params.seal = true;
    let mut writer = Writer::create(Solo, path, b"many commits", &params).unwrap();
    for step in 0..commits {
        writer.inline(b"step", 0, Some(&[b' '; 32])).unwrap();
        writer.block(b"u", 0, 5000, Some(&[7; 5000]), Encode::None).unwrap();
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

#[test]
fn each_index_of_many_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for commits in [10, 1000] {
        write(&path, commits);
        let look_ups: [&dyn Fn(&mut Reader); 6] = [
            &|reader| assert_eq!(reader.find(b"absent", 0).unwrap(), None),
            &|reader| assert_eq!(reader.find(b"absent", -1).unwrap(), None),
            &|reader| assert_eq!(reader.find(b"u", 5).unwrap(), Some(16)),
            &|reader| assert_eq!(reader.find(b"u", -(commits as i64)).unwrap(), Some(1)),
            &|reader| assert_eq!(reader.find_all(b"only 3").unwrap(), [11]),
            &|reader| reader.seek_section(0).unwrap(),
        ];
        for (number, look_up) in look_ups.iter().enumerate() {
            let mut reader = None;
            // All at once: opening, and walking the seals.
            let first = cost(|| look_up(reader.insert(open(&path))));
            assert!(first <= commits + 12, "{commits} commits: {first} reads of look-up {number}");
            let mut reader = reader.unwrap();
            let all: Vec<u64> = look_ups[..5].iter().map(|look_up| cost(|| look_up(&mut reader))).collect();
            // Seeking by number has read the seals, but not all names.
            let again: Vec<u64> = look_ups.iter().map(|look_up| cost(|| look_up(&mut reader))).collect();
            println!("{commits} commits: {first} reads of look-up {number}, then {all:?}, then {again:?}");
            assert!(again.iter().all(|&reads| reads <= 6), "{again:?}");
        }
        // The last record is near.
        let last = cost(|| assert_eq!(open(&path).find(b"u", -1).unwrap(), Some(3 * commits - 2)));
        assert!(last <= 16, "{last}");
        // All steps, one after the other.
        let all = cost(|| {
            let mut reader = open(&path);
            for step in 0..commits {
                assert_eq!(reader.find(b"u", step as i64).unwrap(), Some(3 * step + 1));
            }
        });
        assert!(all <= 7 * commits + 12, "{commits} commits: {all} reads of all steps");
    }
}

/// A damaged index matters to those look-ups only that need it.
#[test]
fn a_damaged_index_among_many() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let commits = 40_u64;
    write(&path, commits);
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
