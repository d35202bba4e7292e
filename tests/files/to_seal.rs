//! A file that was created to be sealed is read up to its last seal, whatever follows it.
#![allow(clippy::cast_possible_truncation)] // test data

use crate::common::options;
use scda::{
    Communicator, Encode, ErrorKind, LineBreak, ReadAt, ReadAtFile, ReadOptions, Reader, Sink, Solo, Source,
    WriteOptions, Writer, run_on_threads, uniform_partition,
};
use scda_format::index::{INDEX, table_header, table_padding};
use scda_format::seal::Seal;
use std::io;
use std::path::Path;
use std::sync::{Barrier, Mutex};

const STYLE: LineBreak = LineBreak::Unix;

fn sealing() -> WriteOptions {
    let mut params: WriteOptions = options();
    params.seal = true;
    params
}

/// A section of each kind, with the number of the step in it.
fn write_step(writer: &mut Writer, step: u8) {
    writer.block(b"step", 0, 1, Some(&[step]), Encode::None).unwrap();
    writer.array(b"field", &[100], 8, Source::Contiguous(&[step; 800]), Encode::Always).unwrap();
    writer.varray(b"list", &[2], &[1, 40], None, Source::Contiguous(&[step; 41]), Encode::None).unwrap();
}

/// A file of `steps` steps, and where it ends after each.
fn series(path: &Path, steps: u8) -> Vec<usize> {
    let mut writer = Writer::create(Solo, path, b"series", &sealing()).unwrap();
    let end = || std::fs::metadata(path).unwrap().len() as usize;
    let mut ends = vec![end()];
    for step in 0..steps {
        write_step(&mut writer, step);
        writer.commit().unwrap();
        ends.push(end());
    }
    writer.close().unwrap();
    ends
}

/// The number of whole steps that any number of ranks read, to the end of the file.
fn steps(path: &Path, ranks: usize) -> usize {
    let all = run_on_threads(ranks, |comm| {
        let counts = uniform_partition(100, ranks);
        let own = counts[comm.rank()] as usize * 8;
        let mut reader = Reader::open(comm, path, &options()).unwrap();
        let sections = reader.sections().unwrap() as usize;
        let mut found = 0;
        while let Some(section) = reader.next_section(true).unwrap() {
            if *section.user == *b"field" {
                let mut data = vec![0xff; own];
                reader.read_array(&counts, 8, Sink::Contiguous(&mut data)).unwrap();
                assert!(data.iter().all(|&byte| usize::from(byte) == found / 3));
            } else {
                reader.skip().unwrap();
            }
            found += 1;
        }
        assert!(reader.at_end() && found % 3 == 0 && sections == found);
        assert_eq!(reader.find(b"step", -1).unwrap(), (found as u64).checked_sub(3));
        assert_eq!(reader.find(b"none", 0).unwrap(), None);
        reader.close().unwrap();
        found / 3
    });
    assert!(all.iter().all(|found| *found == all[0]));
    all[0]
}

#[test]
fn a_torn_commit_is_as_if_it_were_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let ends = series(&path, 3);
    let file = std::fs::read(&path).unwrap();
    // Each byte of the last commit, of its seal, and of the first commit; or some, and those around each end.
    let near = |length: usize| ends.iter().any(|&end| length.abs_diff(end) < 3);
    let cut = |length: &usize| length.is_multiple_of(crate::common::sampled::one_of(5)) || near(*length);
    for length in (128..ends[1] + 40).chain(ends[2] - 3..=file.len()).filter(cut) {
        std::fs::write(&path, &file[..length]).unwrap();
        let whole = ends.iter().filter(|&&end| end <= length).count().saturating_sub(1);
        assert_eq!(steps(&path, 1 + length % 3), whole, "cut to {length}");
        let mut reader = Reader::open(Solo, &path, &options()).unwrap();
        let header = if length < 576 { 128 } else { 576 };
        let end = if whole > 0 { ends[whole] } else { header };
        let sealed = ends.contains(&length);
        let left_out = if sealed { 0 } else { length - end };
        assert_eq!(
            (reader.left_out(), reader.inspect().file_size()),
            (Some(left_out as u64), Some(length as u64))
        );
        assert_eq!(reader.is_sealed(), whole > 0);
    }
    // All that is there, if that is wanted.
    let mut params: ReadOptions = options();
    params.to_seal = false;
    std::fs::write(&path, &file[..ends[3] - 288]).unwrap();
    let mut reader = Reader::open(Solo, &path, &params).unwrap();
    // The index without its seal is a section, and those of seals before it are none.
    assert_eq!((reader.sections().unwrap(), reader.left_out()), (10, Some(0)));
}

#[test]
fn verification_ends_at_the_last_seal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let ends = series(&path, 2);
    let file = std::fs::read(&path).unwrap();
    let mut params: ReadOptions = options();
    params.verify = true;
    std::fs::write(&path, &file[..ends[2] - 1]).unwrap();
    let mut reader = Reader::open(Solo, &path, &params).unwrap();
    assert_eq!(reader.sections().unwrap(), 3);
    while reader.next_section(true).unwrap().is_some() {
        reader.skip().unwrap();
    }
    // Zeros that a loss of power has left.
    let mut zeros = file[..ends[1]].to_vec();
    zeros.resize(ends[2], 0);
    std::fs::write(&path, &zeros).unwrap();
    assert_eq!(steps(&path, 2), 1);
}

#[test]
fn a_damaged_seal_at_the_end_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let ends = series(&path, 2);
    let file = std::fs::read(&path).unwrap();
    for place in ends[2] - 288..ends[2] {
        let mut damaged = file.clone();
        damaged[place] ^= 1 << (place % 7);
        std::fs::write(&path, &damaged).unwrap();
        let result = run_on_threads(1 + place % 3, |comm| {
            Reader::open(comm, &path, &options()).map(|reader| reader.left_out()).map_err(|e| e.kind())
        });
        // A digit of the checksum: the seal is one still, and verifying finds it.
        let is_seal = result[0] == Ok(Some(0));
        assert!(is_seal || result[0] == Err(ErrorKind::Checksum), "byte {place}: {result:?}");
        assert!(result.iter().all(|each| *each == result[0]));
    }
}

/// Whatever is damaged: of a seal that did not all come to the disk, the first or the last line is zero.
#[test]
fn a_seal_of_which_more_is_damaged_is_no_torn_end() {
    let folder = tempfile::tempdir().unwrap();
    let (path, older) = (folder.path().join("f"), folder.path().join("f.1"));
    let ends = series(&path, 2);
    std::fs::copy(&path, &older).unwrap();
    let seal = |file: &[u8]| file.len() - 288;
    let file = std::fs::read(&path).unwrap();
    // One without new sections, whose index has no rows.
    let end = ends[2] as u64;
    let again = Seal { index: end, previous: end - 288, sections: 6, length: end + 160 + 288, crc: 0 };
    let index = [table_header(INDEX, 0, 160, STYLE).as_slice(), &table_padding(0, STYLE)].concat();
    let empty = [&file[..], &index, &again.bytes(STYLE)].concat();
    let mut kept: ReadOptions = options();
    kept.keep = 1;
    for (file, cut) in [(&file, ends[1]), (&empty, ends[2])] {
        for (range, byte, is_damaged) in [
            (0..16, b'x', true),
            (0..32, 0xff, true),
            (0..256, 0xa5, true),
            (31..287, 0, true),
            (0..288, b'\n', true),
            (0..32, 0, false),
            (256..288, 0, false),
        ] {
            let (mut damaged, at) = (file.clone(), seal(file));
            damaged[at + range.start..at + range.end].fill(byte);
            std::fs::write(&path, &damaged).unwrap();
            let opened = Reader::open(Solo, &path, &options());
            let opened =
                opened.map(|reader| reader.left_out()).map_err(|error| (error.kind(), error.offset()));
            let reader = Reader::open(Solo, &path, &kept).unwrap();
            if is_damaged {
                assert_eq!(opened, Err((ErrorKind::Checksum, Some(at as u64))), "{range:?} {byte}");
                // The older file is whole.
                assert_eq!((reader.age(), reader.left_out()), (1, Some(0)));
                // Nor is it removed, even if the walk to it ends before.
                for place in [None, Some(ends[1] + 20)] {
                    place.into_iter().for_each(|place| damaged[place] ^= 1);
                    std::fs::write(&path, &damaged).unwrap();
                    for ranks in [1, 3] {
                        let kinds = run_on_threads(ranks, |comm| {
                            Writer::append(comm, &path, &sealing()).map_err(|error| error.kind()).err()
                        });
                        let kind = if place.is_none() { ErrorKind::Checksum } else { ErrorKind::Format };
                        assert_eq!(kinds, vec![Some(kind); ranks], "{range:?} {byte} {place:?}");
                        assert!(std::fs::read(&path).unwrap() == damaged);
                    }
                }
            } else {
                assert_eq!(opened, Ok(Some((file.len() - cut) as u64)), "{range:?} {byte}");
                assert_eq!(reader.age(), 0);
                let writer = Writer::append(Solo, &path, &sealing()).unwrap();
                assert_eq!(writer.bytes_rolled_back(), (file.len() - cut) as u64);
            }
        }
    }
}

#[test]
fn a_reader_follows_a_series_that_grows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for ranks in [1, 3] {
        let _ = std::fs::remove_file(&path);
        let mut writer = Writer::create(Solo, &path, b"series", &sealing()).unwrap();
        let (writing, meet) = (Mutex::new(&mut writer), Barrier::new(ranks));
        run_on_threads(ranks, |comm| {
            let rank = comm.rank();
            let mut reader = Reader::open(comm, &path, &options()).unwrap();
            assert!(!reader.refresh().unwrap());
            for step in 0..8 {
                assert!(reader.next_section(true).unwrap().is_none() && reader.at_end());
                if rank == 0 {
                    let mut writer = writing.lock().unwrap();
                    write_step(&mut writer, step);
                    if step % 2 == 1 { writer.commit().unwrap() } else { writer.flush().unwrap() }
                }
                meet.wait();
                // Nobody sees an even step before the next commit.
                assert_eq!(reader.refresh().unwrap(), step % 2 == 1);
                let sections = u64::from(step + 1) / 2 * 6;
                assert_eq!(reader.sections().unwrap(), sections);
                assert_eq!(reader.find(b"step", -1).unwrap(), sections.checked_sub(3));
                let mut found = 0;
                while reader.next_section(true).unwrap().is_some() {
                    reader.skip().unwrap();
                    found += 1;
                }
                assert_eq!(found, if step % 2 == 1 { 6 } else { 0 });
            }
        });
        writer.close().unwrap();
        assert_eq!(steps(&path, ranks), 8);
        // A file that got shorter.
        let mut reader = Reader::open(Solo, &path, &options()).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(500).unwrap();
        assert_eq!(reader.refresh().unwrap_err().kind(), ErrorKind::FileInUse);
    }
}

#[test]
fn a_reader_does_not_follow_a_series_that_has_gone_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    // As many bytes as before, and more.
    for (steps, ranks, to_seal) in [(2, 1, true), (2, 3, true), (3, 2, true), (3, 1, false)] {
        series(&path, 3);
        let kinds = run_on_threads(ranks, |comm| {
            let (rank, others) = (comm.rank(), comm.clone());
            let (mut reading, mut going_back) = (options::<ReadOptions>(), options::<WriteOptions>());
            (reading.to_seal, going_back.append_after) = (to_seal, 3);
            let mut reader = Reader::open(comm, &path, &reading).unwrap();
            assert!(!reader.refresh().unwrap());
            if rank == 0 {
                let mut writer = Writer::append(Solo, &path, &going_back).unwrap();
                (0..steps).for_each(|step| {
                    write_step(&mut writer, 20 + step);
                    writer.commit().unwrap();
                });
                writer.close().unwrap();
            }
            others.allgather(0).unwrap();
            let kind = reader.refresh().unwrap_err().kind();
            assert!(reader.find(b"step", -1).is_err());
            kind
        });
        assert_eq!(kinds, vec![ErrorKind::FileInUse; ranks], "{steps} steps");
    }
}

#[test]
fn a_job_that_has_gone_back_and_ends_with_the_same_commit_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let commit = |writer: &mut Writer, name: &[u8], data: &[u8]| {
        writer.block(name, 0, data.len() as u64, Some(data), Encode::None).unwrap();
        writer.commit().unwrap();
    };
    // With names in a table, too; and one more commit after.
    for (others, more) in [(0, false), (40, false), (1, true)] {
        let mut writer = Writer::create(Solo, &path, b"series", &sealing()).unwrap();
        commit(&mut writer, b"first", b"");
        commit(&mut writer, b"value", b"old");
        (0..others).for_each(|_| commit(&mut writer, b"other", b""));
        commit(&mut writer, b"end of step", b"done");
        writer.close().unwrap();
        let mut reader = Reader::open(Solo, &path, &options()).unwrap();
        assert_eq!(reader.find(b"value", 0).unwrap(), Some(1));
        assert!(!reader.refresh().unwrap());
        let mut going_back: WriteOptions = options();
        going_back.append_after = 1;
        let mut writer = Writer::append(Solo, &path, &going_back).unwrap();
        commit(&mut writer, b"value", b"new");
        (0..others).for_each(|_| commit(&mut writer, b"other", b""));
        commit(&mut writer, b"end of step", b"done");
        if more {
            commit(&mut writer, b"later", b"");
        }
        writer.close().unwrap();
        let error = reader.refresh().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileInUse, "{error}");
    }
}

/// What a reader sees when another job appends between its question for the size and its first look.
struct CutOff {
    bytes: Vec<u8>,
    /// The answers, of which the last one stays.
    sizes: Vec<u64>,
}

impl ReadAt for CutOff {
    fn size(&mut self) -> io::Result<u64> {
        Ok(if self.sizes.len() > 1 { self.sizes.remove(0) } else { self.sizes[0] })
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset as usize + buffer.len();
        let found = self.bytes.get(offset as usize..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(found);
        Ok(())
    }
}

#[test]
fn what_is_cut_off_while_a_file_is_opened_was_not_committed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.scda");
    series(&path, 3);
    let bytes = std::fs::read(&path).unwrap();
    let size = bytes.len() as u64;
    for more in [1, 31, 32, 500, 4096, 100_000] {
        let cut = CutOff { bytes: bytes.clone(), sizes: vec![size + more, size] };
        let mut reader = Reader::open_at(ReadAtFile(cut), Path::new("a"), &options()).unwrap();
        assert_eq!((reader.sections().unwrap(), reader.find(b"step", -1).unwrap()), (9, Some(6)));
        assert_eq!(reader.left_out(), Some(0));
        reader.close().unwrap();
    }
    // A size that stays is wrong.
    let cut = CutOff { bytes, sizes: vec![size + 1] };
    let opened = Reader::open_at(ReadAtFile(cut), Path::new("a"), &options());
    assert_eq!(opened.err().unwrap().kind(), ErrorKind::ShortFile);
}
