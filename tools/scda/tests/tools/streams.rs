//! Sets of streams in `ls`, `cat`, `copy`, `check`, and `split` and `join-streams`.

use crate::run::{Place, Run};
use scda::{
    Communicator, DataType, Dataset, Encode, IndexBox, Layout, LineBreak, ReadOptions, Reader, Solo, Source,
    WriteOptions, Writer, run_on_threads,
};
use std::io::Read;
use std::path::Path;

fn run(place: &Place, arguments: &[&str]) -> Run {
    place.scda(&arguments.join(" "))
}

/// A block, the set "log" of three tasks in two parts, if the file is sealed, "other/log", a second set "log", and an array.
fn write(place: &Place, name: &str, seal: bool) {
    let path = place.path(name);
    let wrote = run_on_threads(3, |comm| {
        let rank = comm.rank();
        let mut params = WriteOptions::default();
        params.seal = seal;
        let mut file = Writer::create(comm, &path, b"streams", &params)?;
        file.block(b"before", 0, 3, Some(b"abc"), Encode::None)?;
        file.begin_streams(b"log", 1000)?;
        file.write_stream("first ".repeat(rank * 300).as_bytes())?;
        if seal {
            file.commit()?;
        }
        file.write_stream(format!("task {rank}\n").as_bytes())?;
        file.end_streams()?;
        file.begin_streams(b"other/log", 64)?;
        file.end_streams()?;
        file.begin_streams(b"log", 4096)?;
        file.write_stream(b"second")?;
        file.end_streams()?;
        file.array(b"behind", &[1; 3], 1, Source::Contiguous(b"x"), Encode::None)?;
        file.close()
    });
    wrote.into_iter().for_each(|result| result.unwrap());
}

/// The stream of a task of the first set "log".
fn expected(task: usize) -> Vec<u8> {
    format!("{}task {task}\n", "first ".repeat(task * 300)).into_bytes()
}

/// Those of all tasks.
fn expected_all() -> Vec<u8> {
    (0..3).flat_map(expected).collect()
}

/// A file with the varray "log", whose elements are these streams.
fn write_varray(place: &Place, name: &str, encode: Encode) {
    let sizes: Vec<u64> = (0..3).map(|task| expected(task).len() as u64).collect();
    let mut file = Writer::create(Solo, place.path(name), b"", &WriteOptions::default()).unwrap();
    file.varray(b"log", &[3], &sizes, None, Source::Contiguous(&expected_all()), encode).unwrap();
    file.close().unwrap();
}

fn streams(path: &Path, name: &[u8], record: i64) -> Vec<Vec<u8>> {
    let mut params = ReadOptions::default();
    params.verify = true;
    let mut file = match Reader::open(Solo, path, &params) {
        Err(_) => Reader::open(Solo, path, &ReadOptions::default()).unwrap(),
        sealed => sealed.unwrap(),
    };
    let set = file.streams_record(name, record).unwrap().unwrap();
    let read = |task| {
        let stream = set.stream(&mut file, task).unwrap();
        let mut data = Vec::new();
        stream.reader(&mut file).read_to_end(&mut data).unwrap();
        data
    };
    (0..set.tasks()).map(read).collect()
}

#[test]
fn streams_are_listed_as_such() {
    let place = Place::new();
    write(&place, "plain.scda", false);
    write(&place, "sealed.scda", true);
    let lines = |text: &str| -> Vec<String> {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        text.lines().skip(2).map(words).collect()
    };
    let plain = run(&place, &["ls", "plain.scda"]).good();
    let found = lines(plain.text());
    let starts = ["1 B", "3 S 3 1000 5421 ", "6 S 3 64 0 ", "9 S 3 4096 18 ", "11 A 3 1 3 "];
    let ends =
        ["\"before\"", "- \"log\" streams", "- \"other/log\" streams", "- \"log\" streams", "\"behind\""];
    assert_eq!(found.len(), 5, "{found:?}");
    for ((line, start), end) in found.iter().zip(starts).zip(ends) {
        assert!(line.starts_with(start) && line.ends_with(end), "{line}");
    }
    // By the index of a sealed file, and by walking through it.
    let sealed = run(&place, &["ls", "sealed.scda"]).good();
    let found = lines(sealed.text());
    assert!(found[1].starts_with("3 S 3 1000 5400 ") && found[1].ends_with("\"log\" streams"), "{found:?}");
    assert!(
        found[2].starts_with("6 S 3 1000 21 ") && found[2].ends_with("\"log\" streams, part 1"),
        "{found:?}"
    );
    assert_eq!(found.len(), 6);
    for select in ["2", "3", "4", "log"] {
        let some = run(&place, &["ls", "sealed.scda", "--select", select]).good();
        assert_eq!(lines(some.text())[0], found[1]);
    }
    // All sections, with --raw.
    assert_eq!(run(&place, &["ls", "--raw", "sealed.scda"]).good().text().lines().count(), 2 + 14);
}

#[test]
fn the_stream_of_a_task_is_printed() {
    let place = Place::new();
    for seal in [true, false] {
        write(&place, "f.scda", seal);
        let cat = |args: &[&str]| run(&place, &[&["cat", "f.scda"], args].concat());
        for task in 0..3 {
            let text = task.to_string();
            let all = cat(&["log", "--record", "0", "--stream", &text]).good();
            assert!(all.out == expected(task));
            assert_eq!(cat(&["log", "--record", "-1", "--stream", &text]).good().out, b"second");
        }
        let part = cat(&["log", "--record", "0", "--stream", "2", "--range", "3598:-1"]).good();
        assert_eq!(part.text(), "t task 2");
        assert_eq!(cat(&["other/log", "--stream", "1"]).good().out, b"");
        assert_eq!(cat(&["log", "--stream", "0"]).good().out, b"second");
        cat(&["lo*", "--stream", "0"]).bad(2, "scda: f.scda: there are no streams \"lo*\"");
        cat(&["3", "--stream", "0"]).bad(2, "--stream: found 3, expected the name of streams");
        cat(&["log", "--stream", "0", "--record", "2"]).bad(2, "there are no streams \"log\", record 2");
        cat(&["log", "--stream", "3", "--record", "0"])
            .bad(2, "--stream 3: there are 3 streams, from 0 to 2");
        cat(&["log", "--stream", "0", "--record", "0", "--range", "9:"])
            .bad(2, "\"log\": --range: found 9:, expected a range within 0:7");
        cat(&["before", "--stream", "0"]).bad(1, "section \"before\" is not a set of streams");
        // A varray of streams.
        write_varray(&place, "packed.scda", Encode::None);
        let packed = |args: &[&str]| run(&place, &[&["cat", "packed.scda", "log"], args].concat());
        assert!(packed(&["--record", "0", "--stream", "2"]).good().out == expected(2));
        assert_eq!(packed(&["--record", "0", "--stream", "2", "--range=-7:"]).good().text(), "task 2\n");
        packed(&["--record", "0", "--stream", "3"]).bad(2, "--stream 3: there are 3 streams, from 0 to 2");
        write_varray(&place, "encoded.scda", Encode::Always);
        run(&place, &["cat", "encoded.scda", "log", "--record", "0", "--stream", "2"])
            .bad(1, "it is no uncompressed varray");
        cat(&["absent", "--stream", "0"]).bad(2, "there are no streams \"absent\"");
        cat(&["log", "--stream", "0", "--as", "text"]).bad(2, "cannot be used");
    }
}

#[test]
fn the_chunks_of_a_dataset_are_no_streams() {
    let place = Place::new();
    let mut dataset = Dataset::new("rho", DataType::Uint8, [12]);
    dataset.layout = Layout::Chunked { shape: Some(vec![4]), text: false };
    let mut file = Writer::create(Solo, place.path("f.scda"), b"", &WriteOptions::default()).unwrap();
    file.dataset(&dataset, &[IndexBox::new([0], [12])], &[7; 12]).unwrap();
    file.close().unwrap();
    let words = "section \"rho\" is a dataset, not a set of streams";
    run(&place, &["cat", "f.scda", "rho", "--stream", "0"]).bad(1, words);
    run(&place, &["split", "f.scda", "rho", "logs"]).bad(1, words);
}

#[test]
fn copies_keep_streams() {
    let place = Place::new();
    for seal in [true, false] {
        write(&place, "f.scda", seal);
        // Compressed streams would be none.
        for options in
            [&[][..], &["--encode", "6"], &["--decode"], &["--style", "mime"], &["--encode", "auto"]]
        {
            let done = run(&place, &[&["copy", "--force", "f.scda", "copy.scda"], options].concat());
            assert_eq!(done.code, 0, "{}", done.err);
            let path = place.path("copy.scda");
            assert_eq!(streams(&path, b"log", 0), [0, 1, 2].map(expected));
            assert_eq!(streams(&path, b"log", -1), [b"second"; 3]);
            run(&place, &["check", "copy.scda"]).good();
        }
        // Any of their sections stands for all of a part.
        run(&place, &["copy", "--force", "--select", "3", "f.scda", "copy.scda"]).good();
        assert_eq!(streams(&place.path("copy.scda"), b"log", 0).len(), 3);
        run(&place, &["copy", "--force", "--delete", "log", "f.scda", "copy.scda"]).good();
        assert_eq!(run(&place, &["ls", "copy.scda"]).good().text().lines().count(), 5);
    }
    // Damage in a later part is found.
    write(&place, "f.scda", true);
    let mut bad = std::fs::read(place.path("f.scda")).unwrap();
    let at = bad.windows(6).position(|text| text == b"task 1").unwrap();
    bad[at] = b'T';
    std::fs::write(place.path("bad.scda"), &bad).unwrap();
    run(&place, &["copy", "bad.scda", "none.scda"]).bad(1, "section 6");
    write(&place, "f.scda", true);
    write(&place, "other.scda", false);
    run(&place, &["join", "f.scda", "other.scda", "-o", "joined.scda", "--encode", "1"]);
    assert_eq!(streams(&place.path("joined.scda"), b"log", 2), [0, 1, 2].map(expected));
}

#[test]
fn streams_are_split_into_files_and_joined_again() {
    let place = Place::new();
    write(&place, "f.scda", true);
    run(&place, &["split", "f.scda", "log", "logs", "--record", "0"]).good();
    let file = |task: usize| place.path(&format!("logs/log.00000{task}"));
    for task in 0..3 {
        assert!(std::fs::read(file(task)).unwrap() == expected(task));
    }
    assert_eq!(place.path("logs").read_dir().unwrap().count(), 3);
    run(&place, &["split", "f.scda", "log", "logs", "--record", "-1"])
        .bad(2, "the file exists; --force replaces it");
    run(&place, &["split", "f.scda", "other/log", "others"]).good();
    assert_eq!(std::fs::read(place.path("others/other_log.000002")).unwrap(), b"");

    run(&place, &["join-streams", "logs", "-o", "all.scda", "--name", "log"]).good();
    assert_eq!(streams(&place.path("all.scda"), b"log", 0), [0, 1, 2].map(expected));
    run(&place, &["check", "all.scda"]).good();
    let list = run(&place, &["ls", "all.scda"]).good();
    assert!(list.text().contains(", sealed") && list.text().contains(" 4096 "), "{}", list.text());
    // In any order, with other chunks, twice.
    let options = ["--chunk-bytes", "7", "--no-seal", "--force"];
    let files = ["logs/log.000002", "logs/log.000000", "logs/log.000002", "-o", "all.scda", "--name", "x"];
    run(&place, &[&["join-streams"][..], &options, &files].concat()).good();
    assert_eq!(streams(&place.path("all.scda"), b"x", 0), [2, 0, 2].map(expected));
    run(&place, &["split", "all.scda", "x", "again"]).good();
    assert!(std::fs::read(place.path("again/x.000001")).unwrap() == expected(0));

    // The elements of a varray.
    write_varray(&place, "packed.scda", Encode::None);
    run(&place, &["split", "packed.scda", "log", "packed"]).good();
    assert!(std::fs::read(place.path("packed/log.000002")).unwrap() == expected(2));

    run(&place, &["split", "f.scda", "behind", "behind"])
        .bad(1, "section \"behind\" is not a set of streams");
    run(&place, &["join-streams", "absent", "-o", "new.scda", "--name", "log"]).bad(2, "absent");
    run(&place, &["join-streams", "logs", "-o", "all.scda", "--name", "log"]).bad(2, "the file exists");
    run(&place, &["join-streams", "logs", "again", "-o", "new.scda", "--name", "log"])
        .bad(2, "logs: a folder");
    run(&place, &["join-streams", "--force", "all.scda", "-o", "all.scda", "--name", "log"])
        .bad(2, "is one of the files to join");
    run(&place, &["join-streams", "logs", "-o", "new.scda"]).bad(2, "--name");
    run(&place, &["join-streams", "logs", "-o", "new.scda", "--name", &"n".repeat(59)]).bad(2, "58");
    run(&place, &["join-streams", "--chunk-bytes", "0", "logs", "-o", "new.scda", "--name", "n"])
        .bad(2, "1..=1073741824");
    std::fs::create_dir(place.path("empty")).unwrap();
    run(&place, &["join-streams", "empty", "-o", "new.scda", "--name", "log"])
        .bad(2, "found no file of a task in it");
    assert!(!place.path("new.scda").exists());
}

#[test]
fn files_that_differ_in_length_take_no_room_for_it() {
    let place = Place::new();
    std::fs::create_dir(place.path("in")).unwrap();
    for task in 0..50 {
        std::fs::write(
            place.path(&format!("in/out.{task}")),
            vec![b'a'; if task == 9 { 8 << 20 } else { task }],
        )
        .unwrap();
    }
    run(&place, &["join-streams", "in", "-o", "out.scda", "--name", "out"]).good();
    let path = place.path("out.scda");
    let found = streams(&path, b"out", 0);
    assert!(
        found.iter().enumerate().all(|(task, data)| data.len() == if task == 9 { 8 << 20 } else { task })
    );
    let status = std::fs::metadata(&path).unwrap();
    let on_disk = std::os::unix::fs::MetadataExt::blocks(&status) * 512;
    assert!(status.len() > 300 << 20 && on_disk < 16 << 20, "{} {on_disk}", status.len());
}

#[test]
fn copies_have_the_holes_of_streams() {
    let place = Place::new();
    std::fs::create_dir(place.path("in")).unwrap();
    for task in 0..8 {
        let bytes = if task == 3 { 5 << 20 } else { task };
        std::fs::write(place.path(&format!("in/out.{task}")), vec![b'a'; bytes]).unwrap();
    }
    for seal in ["", "--no-seal"] {
        let join = format!("join-streams in -o out.scda --name out --chunk-bytes 1048576 {seal} --force");
        place.scda(&join).good();
        for command in ["copy", "salvage"] {
            place.scda(&format!("{command} --force out.scda copy.scda"));
            place.scda("check copy.scda").good();
            assert!(place.read("copy.scda") == place.read("out.scda"), "{command} {seal}");
            let status = std::fs::metadata(place.path("copy.scda")).unwrap();
            let on_disk = std::os::unix::fs::MetadataExt::blocks(&status) * 512;
            assert!(status.len() > 40 << 20 && on_disk < 8 << 20, "{command}: {} {on_disk}", status.len());
        }
    }
}

#[test]
fn damaged_streams_are_found() {
    let place = Place::new();
    write(&place, "f.scda", false);
    let good = std::fs::read(place.path("f.scda")).unwrap();
    let at = good.windows(5).position(|text| text == b"U 7 -").unwrap();
    let mut bad = good.clone();
    bad[at..at + 7].copy_from_slice(b"U 9999 ");
    std::fs::write(place.path("bad.scda"), &bad).unwrap();
    let words = "found 9999 bytes, expected at most 4000, as there are chunks";
    let check = run(&place, &["check", "bad.scda"]);
    assert!(check.code == 1 && check.text().contains(words), "{check:?}");
    let list = run(&place, &["ls", "bad.scda"]);
    assert!(list.code == 1 && list.err.contains(words), "{list:?}");
    // As the sections that they are.
    assert!(list.text().contains("\"scda streams 00\"") && list.text().contains("\"behind\""));
    assert_eq!(list.text().lines().count(), 2 + 1 + 3 + 1 + 1 + 1);
    let json = run(&place, &["ls", "--json", "bad.scda"]).bad(1, words).json();
    assert_eq!(json["sections"].as_array().unwrap().len(), 11);
    // Another set is whole.
    assert!(run(&place, &["cat", "bad.scda", "log", "--stream", "0"]).good().out == b"second");
    run(&place, &["cat", "bad.scda", "log", "--record", "0", "--stream", "0"]).bad(1, words);
    // Of what is removed, the block alone is no streams.
    for length in [at - 200, at - 400] {
        std::fs::write(place.path("cut.scda"), &good[..length]).unwrap();
        let saved = run(&place, &["salvage", "--force", "cut.scda", "saved.scda"]);
        assert!(saved.code == 0 && saved.text().contains("the metadata of streams at byte"), "{saved:?}");
        run(&place, &["check", "saved.scda"]).good();
        assert!(!run(&place, &["ls", "saved.scda"]).good().text().contains("scda streams 00"));
    }
    // What is removed.
    std::fs::write(place.path("cut.scda"), &good[..at - 200]).unwrap();
    let cut = run(&place, &["ls", "cut.scda"]);
    assert!(cut.code == 1 && cut.text().contains("\"before\""), "{cut:?}");
}

#[test]
fn parts_that_are_no_set_are_found() {
    let place = Place::new();
    let path = place.path("f.scda");
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::create(Solo, &path, b"streams", &params).unwrap();
    file.begin_streams(b"log", 1000).unwrap();
    for part in 0..3 {
        file.write_stream(format!("part {part}").as_bytes()).unwrap();
        if part < 2 { file.commit().unwrap() } else { file.end_streams().unwrap() }
    }
    file.close().unwrap();
    run(&place, &["check", "f.scda"]).good();
    for (select, found, expected) in [("1-3,7-9", 2, 1), ("4-6", 1, 0)] {
        place.scda(&format!("copy --force --no-seal --select {select} f.scda part.scda"));
        let words = format!(
            "streams: found part {found} of 1 tasks with chunks of 1000 bytes, expected part {expected} of 1 tasks"
        );
        let check = run(&place, &["check", "part.scda"]);
        assert!(check.code == 1 && check.text().contains(&words), "{select}: {check:?}");
        let cat = run(&place, &["cat", "part.scda", "log", "--stream", "0"]);
        assert!(cat.code != 0, "{select}: {cat:?}");
    }
    // Chunks of another size.
    place.scda("copy --force --no-seal f.scda part.scda").good();
    let mut bytes = place.read("part.scda");
    let at = bytes
        .windows(7)
        .enumerate()
        .filter(|(_, text)| *text == b"C 1000 ")
        .map(|(at, _)| at)
        .nth(1)
        .unwrap();
    bytes[at + 2] = b'2';
    place.write("part.scda", bytes);
    let check = run(&place, &["check", "part.scda"]);
    assert!(check.code == 1, "{check:?}");
}

/// Where words are first in a file.
fn place_of(data: &[u8], words: &[u8]) -> usize {
    data.windows(words.len()).position(|text| text == words).unwrap()
}

#[test]
fn damage_that_may_hide_more_of_a_stream_is_no_success() {
    let place = Place::new();
    write(&place, "f.scda", true);
    let good = std::fs::read(place.path("f.scda")).unwrap();
    let after = place_of(&good, b"task 2\n");
    // The end of the file is removed, a number is damaged, a name of a part is another one: all in the second part or after it.
    let cut = good[..after].to_vec();
    let mut number = good.clone();
    let at = place_of(&good, b"U 7 -");
    number[at..at + 7].copy_from_slice(b"U 9999 ");
    let mut block = good.clone();
    let second = after - 2500 + place_of(&good[after - 2500..], b"A log ");
    let at = good[..second].windows(15).rposition(|text| text == b"scda streams 00").unwrap();
    block[at] = b'S';
    let mut name = good.clone();
    let at = place_of(&good, b"A log ");
    name[at + 3] = b'u';
    for (which, bad) in [cut, number, block, name].into_iter().enumerate() {
        std::fs::write(place.path("bad.scda"), bad).unwrap();
        let cat = run(&place, &["cat", "bad.scda", "log", "--record", "0", "--stream", "1"]);
        let split = run(&place, &["split", "--force", "bad.scda", "log", "out", "--record", "0"]);
        // What was committed before the end that is removed is whole, and so is the stream of another task.
        let whole = [Some("first ".repeat(300).into_bytes()), Some(expected(1)), None, None][which].clone();
        assert_eq!(
            (cat.code, split.code),
            (i32::from(which > 1), i32::from(which > 0)),
            "{which}: {cat:?} {split:?}"
        );
        assert!(whole.is_none_or(|whole| cat.out == whole), "{which}");
        assert!(which > 0 || place.read("out/log.000001") == cat.out);
    }
    // What is before the set hides nothing of it.
    let last = run(&place, &["cat", "bad.scda", "log", "--stream", "1"]);
    assert_eq!((last.code, last.out.as_slice()), (0, b"second".as_slice()), "{}", last.err);
}

#[test]
fn files_are_not_split_over_what_is_read() {
    let place = Place::new();
    write(&place, "all.scda", false);
    run(&place, &["copy", "--select", "8-10", "all.scda", "log.000000"]).good();
    std::fs::copy(place.path("log.000000"), place.path("log.000001.scda-part")).unwrap();
    let before = place.read("log.000000");
    run(&place, &["split", "--force", "log.000000", "log", "."])
        .bad(2, "is the file to split, which must not change; give another name");
    assert!(place.read("log.000000") == before);
    run(&place, &["split", "--force", "log.000001.scda-part", "log", "."])
        .bad(2, "was left by an incomplete write of ./log.000001");
    assert!(place.read("log.000001.scda-part") == before);
    // What a killed command has left is not followed.
    place.shell("mkdir out; echo mine >mine; ln -s ../mine out/log.000002.scda-part").good();
    run(&place, &["split", "log.000001.scda-part", "log", "out"]).good();
    assert_eq!((place.read("mine"), place.read("out/log.000002")), (b"mine\n".to_vec(), b"second".to_vec()));
    assert_eq!(place.path("out").read_dir().unwrap().count(), 3);
    run(&place, &["split", "log.000001.scda-part", "log", "/dev/full"]).bad(2, "/dev/full");
}

/// Runs the command with another `fsync`.
fn with_fsync(place: &Place, body: &str, command: &str) -> Run {
    let code = format!(
        "#include <errno.h>\n#include <stdio.h>\n#include <unistd.h>\nint fsync (int fd) {{ {body} }}\n"
    );
    place.write("fsync.c", code);
    place.shell("cc -shared -fPIC -o fsync.so fsync.c").good();
    place.shell(&format!("LD_PRELOAD=$PWD/fsync.so scda {command}"))
}

#[test]
fn what_did_not_reach_the_disk_is_an_error() {
    let place = Place::new();
    write(&place, "f.scda", true);
    let split = with_fsync(&place, "errno = EIO; return -1 + 0 * fd;", "split f.scda other/log out");
    split.bad(2, "out/other_log.000000: fsync: Input/output error");
    assert_eq!(place.path("out").read_dir().unwrap().count(), 0);
}

/// Two commands that split into one folder: none gives its name to the part file of the other.
#[test]
fn a_part_file_of_somebody_else_is_left_alone() {
    let place = Place::new();
    write(&place, "f.scda", true);
    let part = "out/other_log.000000.scda-part";
    let body = format!(
        "FILE *other; unlink (\"{part}\"); other = fopen (\"{part}\", \"w\"); fputs (\"half\", other); fclose (other); return 0 * fd;"
    );
    let split = with_fsync(&place, &body, "split f.scda other/log out");
    split.bad(2, "out/other_log.000000: close: found another file under its name");
    assert_eq!(place.read(part), b"half");
    assert_eq!(place.path("out").read_dir().unwrap().count(), 1);
}

#[test]
fn files_that_are_replaced_keep_permissions_and_links_are_not_followed() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    write(&place, "f.scda", true);
    let line = "mkdir out; echo old >there; ln -s ../there out/log.000001; echo old >out/log.000002; chmod 600 out/log.000002";
    place.shell(line).good();
    run(&place, &["split", "f.scda", "log", "out", "--record", "0"])
        .bad(2, "out/log.000001: the file exists");
    run(&place, &["split", "--force", "f.scda", "log", "out", "--record", "0"]).good();
    assert!(!place.path("out/log.000001").is_symlink());
    assert_eq!((place.read("there"), place.read("out/log.000001")), (b"old\n".to_vec(), expected(1)));
    assert_eq!(place.read("out/log.000002"), expected(2));
    assert_eq!(place.path("out/log.000002").metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_stands_among_the_parts_of_a_set_is_told() {
    let place = Place::new();
    write(&place, "f.scda", true);
    // Another section of the name among the parts.
    place.make(
        "array.scda",
        r#"{"sections": [{"type": "A", "user": "log", "N": 1, "E": 1, "data_text": "x"}]}"#,
    );
    run(&place, &["copy", "--select", "2-4", "f.scda", "first.scda"]).good();
    run(&place, &["copy", "--select", "5-7", "f.scda", "second.scda"]).good();
    // A part that does not go on with the one before: an error that names the file.
    run(&place, &["join", "first.scda", "second.scda", "second.scda", "-o", "twice.scda"]).good();
    let words = "scda: twice.scda: byte ";
    run(&place, &["cat", "twice.scda", "log", "--stream", "0"]).bad(1, words);
    run(&place, &["join", "first.scda", "array.scda", "second.scda", "-o", "mixed.scda"]).good();
    run(&place, &["cat", "mixed.scda", "log", "--stream", "1"])
        .bad(1, "section \"log\" is not a set of streams");
    let check = run(&place, &["check", "mixed.scda"]).good();
    assert!(
        check.text().contains("note: section 4: has the name of the streams \"log\""),
        "{}",
        check.text()
    );
}

/// Elements of a varray that are not compressed are streams.
#[test]
fn another_section_of_the_name_of_streams_is_noted() {
    let place = Place::new();
    write(&place, "f.scda", false);
    run(&place, &["copy", "--select", "2-7", "f.scda", "some.scda"]).good();
    write_varray(&place, "packed.scda", Encode::None);
    write_varray(&place, "small.scda", Encode::Always);
    for (order, section) in [
        ("some.scda packed.scda", 0),
        ("packed.scda some.scda", 0),
        ("some.scda small.scda", 7),
        ("small.scda some.scda", 1),
    ] {
        run(&place, &["join", order, "--force", "--seal", "-o", "both.scda"]).good();
        let check = run(&place, &["check", "both.scda"]).good();
        let words = format!("both.scda: note: section {section}: has the name of the streams \"log\"");
        assert_eq!(check.text().contains(&words), section > 0, "{}", check.text());
        assert_eq!(check.text().contains("note"), section > 0, "{}", check.text());
        let mut file = Reader::open(Solo, place.path("both.scda"), &ReadOptions::default()).unwrap();
        let found = [0, -1].map(|record| file.streams_record(b"log", record).is_ok());
        assert_eq!(found == [true, true], section == 0, "{order}");
        if section == 0 {
            for record in ["0", "1"] {
                let cat = run(&place, &["cat", "both.scda", "log", "--stream", "1", "--record", record]);
                assert!(cat.good().out == expected(1));
            }
        }
    }
    assert!(!run(&place, &["check", "f.scda"]).good().text().contains("note"));
}

#[test]
fn a_terminal_gets_no_control_characters_of_a_stream() {
    let place = Place::new();
    if !place.has_terminals() {
        return;
    }
    let text = format!("{}\u{1b}]0;title\u{7}\u{202e}\u{e4}\n", "a line\n".repeat(1000));
    place.write("log.0", text.repeat(200));
    place.write("log.1", [0, 1, 2]);
    run(&place, &["join-streams", "log.0", "log.1", "-o", "f.scda", "--name", "log"]).good();
    let shown = place.terminal("cat f.scda log --stream 0", "").replace('\r', "");
    let line = "\\x1b]0;title\\x07\\xe2\\x80\\xae\u{e4}\n";
    let expected = format!("{}{line}", "a line\n".repeat(1000)).repeat(200);
    let differs = shown.lines().zip(expected.lines()).position(|(shown, expected)| shown != expected);
    assert!(shown == expected, "{} bytes of {}, line {differs:?}", shown.len(), expected.len());
    let shown = place.terminal("cat f.scda log --stream 1 --range 1:", "");
    assert!(shown.contains("the bytes of \"log\" are not printed to a terminal: pipe them to"), "{shown:?}");
}

#[test]
fn files_are_not_joined_with_what_is_written() {
    let place = Place::new();
    std::fs::create_dir(place.path("logs")).unwrap();
    place.write("logs/a", "task 0");
    place.write("logs/out.scda.scda-part", "left");
    let words = "logs/out.scda.scda-part: was left by an incomplete write of logs/out.scda";
    place.shell("ulimit -f 2000; scda join-streams logs -o logs/out.scda --name log").bad(2, words);
    assert_eq!(place.read("logs/out.scda.scda-part"), b"left");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_read_is_named() {
    let place = Place::new();
    place.write("a", "task 0");
    run(&place, &["join-streams", "a", "/proc/self/mem", "-o", "f.scda", "--name", "log"])
        .bad(2, "/proc/self/mem: Input/output error");
    assert_eq!(place.names(), ["a"]);
}

/// As if the job was killed while it wrote.
#[test]
fn streams_that_were_not_ended_are_saved() {
    let place = Place::new();
    let written = |rank: usize| "more ".repeat(rank * 300).into_bytes();
    for seal in [true, false] {
        let path = place.path("f.scda");
        run_on_threads(3, |comm| {
            let rank = comm.rank();
            let mut params = WriteOptions::default();
            params.seal = seal;
            let mut file = Writer::create(comm, &path, b"streams", &params).unwrap();
            file.block(b"before", 0, 3, Some(b"abc"), Encode::None).unwrap();
            file.begin_streams(b"log", 1000).unwrap();
            if seal {
                file.write_stream(b"committed").unwrap();
                file.commit().unwrap();
            }
            file.write_stream(&written(rank)).unwrap();
            file.flush().unwrap();
            file.forget();
        });
        let part = u8::from(seal);
        let words = format!(
            "begins part {part} of streams of 3 tasks that were not ended: scda salvage saves their bytes"
        );
        let found = run(&place, &["check", "--unsealed", "f.scda"]);
        assert!(found.code == 1 && found.text().contains(&words), "{found:?}");
        let ls = format!("f.scda: section {}: {words}", 2 + 3 * part);
        run(&place, &["ls", "--unsealed", "f.scda"]).bad(1, &ls);
        if seal {
            // What was committed is complete.
            let committed = run(&place, &["ls", "f.scda"]);
            assert!(committed.code == 0 && committed.err.contains("incomplete: "), "{committed:?}");
        }
        let saved = run(&place, &["salvage", "--force", "f.scda", "saved.scda"]);
        assert!(
            saved.code == 0 && saved.text().contains("streams of 3 tasks that were not ended"),
            "{saved:?}"
        );
        assert!(
            saved.text().contains(": 4500 bytes, for each task") && !saved.text().contains("left out"),
            "{saved:?}"
        );
        run(&place, &["check", "saved.scda"]).good();
        let path = place.path("saved.scda");
        assert_eq!(streams(&path, b"salvaged streams", 0), [0, 1, 2].map(written));
        if seal {
            assert_eq!(streams(&path, b"log", 0), [b"committed"; 3]);
        }
        // A file that is cut has what is before; with something where the header should be, it is another damage.
        let whole = std::fs::read(place.path("f.scda")).unwrap();
        let data = whole.windows(5).position(|text| text == b"more ").unwrap();
        place.write("f.scda", &whole[..data + 7]);
        let saved = run(&place, &["salvage", "--force", "f.scda", "saved.scda"]);
        assert!(saved.text().contains(": 7 bytes, for each task"), "{saved:?}");
        assert_eq!(streams(&path, b"salvaged streams", 0), [&b""[..], b"more mo", b""]);
        let mut other = whole.clone();
        other[data - 1000 - 100] = b'x';
        place.write("f.scda", &other);
        let saved = run(&place, &["salvage", "--force", "f.scda", "saved.scda"]);
        assert!(saved.text().contains("left out: the metadata of streams at byte"), "{saved:?}");
    }
}

/// As if the job was killed while it ended the streams: after the bytes of the streams it writes the padding, the header of the chunks,
/// and their lengths, of which several ranks write the first bytes last.
#[test]
fn streams_that_were_ended_in_part_are_saved() {
    let place = Place::new();
    // The last bytes of stream 1 are 0.
    let written = [b"a".repeat(700), [b"b".repeat(1500), vec![0; 100]].concat(), b"c".repeat(2000)];
    let least = [written[0].clone(), written[1][..1500].to_vec(), written[2].clone()];
    for (style, name) in [(LineBreak::Unix, "unix.scda"), (LineBreak::Mime, "mime.scda")] {
        let path = place.path(name);
        run_on_threads(3, |comm| {
            let rank = comm.rank();
            let mut params = WriteOptions::default();
            params.line_break = style;
            let mut file = Writer::create(comm, &path, b"streams", &params).unwrap();
            file.block(b"before", 0, 3, Some(b"abc"), Encode::None).unwrap();
            file.begin_streams(b"log", 1000).unwrap();
            file.write_stream(&written[rank]).unwrap();
            file.end_streams().unwrap();
            file.block(b"behind", 0, 3, Some(b"abc"), Encode::None).unwrap();
            file.close().unwrap();
        });
        let whole = place.read(name);
        let header = place_of(&whole, b"A log ");
        let lengths = place_of(&whole, b"A scda stream bytes 00 ");
        assert_eq!(lengths - header - 128, 6016, "6000 bytes and their padding");
        let end = lengths + 128 + 3 * 32;
        let some = [written[0].clone(), least[1].clone(), written[2].clone()];
        let zeroed = |place: std::ops::Range<usize>, end: usize| {
            let mut data = whole[..end].to_vec();
            data[place].fill(0);
            data
        };
        let mut one_length = zeroed(lengths..lengths + 32, end + 16);
        one_length[lengths + 128 + 32..].fill(0);
        let least_words = "4200 bytes, for each task, those up to the last nonzero one";
        for (left, words, expected) in [
            // The padding, whole and in part.
            (zeroed(header..header + 128, lengths), least_words, &least),
            (zeroed(header..header + 128, lengths - 5), least_words, &least),
            // The header of the chunks, and some or all of what follows.
            (whole[..lengths].to_vec(), least_words, &least),
            (whole[..lengths + 10].to_vec(), least_words, &least),
            (whole[..lengths + 128].to_vec(), least_words, &least),
            (whole[..lengths + 128 + 40].to_vec(), "for 2 tasks, those up to the last nonzero one", &some),
            (zeroed(lengths..lengths + 32, lengths + 90), least_words, &least),
            (one_length, "for 2 tasks, those up to the last nonzero one", &some),
            (zeroed(lengths..lengths + 32, end), "4300 bytes, all that were written", &written),
            (whole[..end].to_vec(), "4300 bytes, all that were written", &written),
            (zeroed(lengths..lengths + 32, whole.len()), "4300 bytes, all that were written", &written),
        ] {
            place.write("cut.scda", &left);
            let check = run(&place, &["check", "cut.scda"]);
            // Only a padding may be missing, which readers of the streams do not need.
            let can_be_read = left.len() == end;
            let said = "section 2: begins part 0 of streams of 3 tasks that were not ended: scda salvage saves their bytes";
            assert!(
                check.code == 1 && (can_be_read || check.text().contains(said)),
                "{} {check:?}",
                left.len()
            );
            let saved = run(&place, &["salvage", "--force", "cut.scda", "saved.scda"]);
            assert!(saved.code == 0 && saved.text().contains(words), "{} {saved:?}", left.len());
            for other in ["left out", "shorter", "saved as it is"] {
                assert!(!saved.text().contains(other), "{saved:?}");
            }
            let list = run(&place, &["ls", "saved.scda"]).good();
            assert_eq!(list.text().lines().count(), 2 + 2, "{list:?}");
            assert!(streams(&place.path("saved.scda"), b"salvaged streams", 0) == *expected, "{words}");
        }
    }
}

/// Of what rank 0 of a job writes last, a kill leaves the first bytes: here each number of them, of the header of the chunks and of the
/// text that makes the lengths a section. A set that was ended is before them.
#[test]
fn a_torn_write_while_streams_are_ended_loses_nothing() {
    let place = Place::new();
    let path = place.path("whole.scda");
    let written = [b"a".repeat(700), b"b".repeat(1500), b"c".repeat(2000)];
    run_on_threads(3, |comm| {
        let rank = comm.rank();
        let mut file = Writer::create(comm, &path, b"streams", &WriteOptions::default()).unwrap();
        for _ in 0..2 {
            file.begin_streams(b"log", 1000).unwrap();
            file.write_stream(&written[rank]).unwrap();
            file.end_streams().unwrap();
        }
        file.block(b"behind", 0, 3, Some(b"abc"), Encode::None).unwrap();
        file.close().unwrap();
    });
    let whole = place.read("whole.scda");
    let last_of = |words: &[u8]| whole.windows(words.len()).rposition(|text| text == words).unwrap();
    let (header, lengths) = (last_of(b"A log "), last_of(b"A scda stream bytes 00 "));
    let torn_header = (1..128).map(|bytes| (header + bytes..header + 128, lengths));
    let torn_lengths = (1..32).map(|bytes| (lengths + bytes..lengths + 32, whole.len()));
    for (zeros, end) in torn_header.chain(torn_lengths) {
        let mut left = whole[..end].to_vec();
        left[zeros.clone()].fill(0);
        place.write("torn.scda", left);
        let saved = run(&place, &["salvage", "--force", "torn.scda", "saved.scda"]);
        assert!(saved.code == 0 && saved.text().contains("4200 bytes, "), "{zeros:?}: {saved:?}");
        assert!(!saved.text().contains("left out"), "{zeros:?}: {saved:?}");
        let path = place.path("saved.scda");
        assert!(streams(&path, b"log", -1) == written, "{zeros:?}");
        assert!(streams(&path, b"salvaged streams", -1) == written, "{zeros:?}");
    }
}

/// The block of a set, its chunks or its lengths are damaged: the other sets of its name are read, and the chunks are saved.
#[test]
fn chunks_that_are_saved_without_their_metadata_hide_no_other_streams() {
    let place = Place::new();
    write(&place, "f.scda", true);
    let whole = place.read("f.scda");
    let data = place_of(&whole, b"second");
    let lengths = data + place_of(&whole[data..], b"A scda stream bytes 00 ");
    let block = whole[..data].windows(17).rposition(|text| text == b"B scda streams 00").unwrap();
    for (at, is_left_out) in [(block + 128 + 3, false), (data + 4096, true), (lengths + 128 + 2, true)] {
        let mut bad = whole.clone();
        bad[at] ^= 0x10;
        place.write("bad.scda", bad);
        let saved = run(&place, &["salvage", "--force", "bad.scda", "saved.scda"]);
        assert!(saved.code == 0, "{at}: {saved:?}");
        assert_eq!(saved.text().contains("left out: the metadata of"), is_left_out, "{at}: {saved:?}");
        assert!(saved.text().contains("the chunks of the streams \"log\" at byte"), "{at}: {saved:?}");
        let path = place.path("saved.scda");
        assert_eq!(streams(&path, b"log", -1), (0..3).map(expected).collect::<Vec<_>>(), "{at}");
        let list = run(&place, &["ls", "saved.scda"]).good();
        assert!(list.text().contains("\"salvaged chunks\""), "{at}: {list:?}");
    }
}

/// The header of their chunks is zero, as of streams that were not ended, but what follows is known.
#[test]
fn ended_streams_without_their_header_are_left_out() {
    let place = Place::new();
    place.write("a", "stream 0");
    place.write("b", "stream 1");
    run(&place, &["join-streams", "a", "b", "-o", "f.scda", "--name", "log", "--chunk-bytes", "8"]).good();
    let mut sealed = place.read("f.scda");
    let index = place_of(&sealed, b"A scda index 00 ");
    let header = place_of(&sealed, b"A log ");
    sealed[header..header + 128].fill(0);
    let mut no_index = sealed.clone();
    no_index[index + 200] ^= 1;
    let no_seal = sealed[..index].to_vec();
    for bad in [sealed, no_index, no_seal] {
        place.write("bad.scda", bad);
        let saved = run(&place, &["salvage", "--force", "bad.scda", "saved.scda"]);
        assert!(saved.code == 0 && saved.text().contains("left out: the metadata of"), "{saved:?}");
        assert!(!run(&place, &["ls", "saved.scda"]).good().text().contains("salvaged streams"));
        for command in ["salvage --force bad.scda saved.scda", "check bad.scda", "ls bad.scda"] {
            let run = run(&place, &[command]);
            assert!(!run.text().contains("not ended") && !run.err.contains("not ended"), "{run:?}");
        }
    }
}

#[test]
fn a_varray_without_elements_has_no_streams() {
    let place = Place::new();
    place.make("f.scda", r#"{"sections": [{"type": "V", "user": "none", "elements_text": []}]}"#);
    run(&place, &["cat", "f.scda", "none", "--stream", "0"])
        .bad(2, "scda: f.scda: --stream 0: there are no streams");
}

/// The chunks of a dataset are a varray, but no streams.
#[test]
fn a_dataset_of_the_name_of_streams_is_noted() {
    let place = Place::new();
    write(&place, "f.scda", false);
    run(&place, &["copy", "--select", "2-4", "f.scda", "some.scda"]).good();
    let text = r#"{"sections": [{"type": "D", "user": "log", "data_type": "uint8", "shape": [4], "chunk": [2], "generate": "counter"}]}"#;
    place.make("set.scda", text);
    for (order, section) in [("some.scda set.scda", 5), ("set.scda some.scda", 2)] {
        run(&place, &["join", order, "--force", "--no-seal", "-o", "both.scda"]).good();
        let check = run(&place, &["check", "both.scda"]).good();
        let words = format!("both.scda: note: section {section}: has the name of the streams \"log\"");
        assert!(check.text().contains(&words), "{order}: {}", check.text());
    }
}
