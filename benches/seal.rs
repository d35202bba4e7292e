//! What seals cost one rank that writes, and how fast `scda check` is: `cargo bench --bench seal` prints it as
//! tables. Arguments: folders for the files (else the system's for temporary ones); `--quick` for little data, `--only=crc`,
//! `parts`, `pieces`, `write`, `small` or `check` for one of the tables.
//!
//! Variants take turns, each also goes first, and ratios are those within one turn: what else the machine does meets all of
//! them. Time of the processor is that of the process, in its own code and in the system's.
#![allow(unsafe_code, clippy::cast_possible_truncation)] // getrusage; test data

use scda::{Encode, Result, Solo, Source, WriteOptions, Writer};
use scda_format::crc;
use scda_format::header::{SectionType, UserString};
use scda_format::index::{ROW_BYTES, Row, sort_rows};
use scda_format::padding::LineBreak;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How much data.
struct Scale {
    turns: usize,
    large_bytes: usize,
    small_sections: usize,
}

const FULL: Scale = Scale { turns: 7, large_bytes: 1 << 30, small_sections: 20_000 };
const QUICK: Scale = Scale { turns: 2, large_bytes: 1 << 24, small_sections: 1000 };

impl Scale {
    /// The bytes of a large section.
    fn large_data(&self) -> Vec<u8> {
        (0..251).cycle().take(self.large_bytes).collect()
    }
}

/// Seconds that something took, and that the processor worked for it.
#[derive(Clone, Copy)]
struct Lap {
    wall: f64,
    cpu: f64,
}

/// Seconds that processors have worked for this process, or for those that it has started.
fn cpu(whose: libc::c_int) -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: `usage` has room for what the system writes there.
    let status = unsafe { libc::getrusage(whose, usage.as_mut_ptr()) };
    assert_eq!(status, 0, "getrusage");
    // SAFETY: the call above has succeeded, so all of it was written.
    let usage = unsafe { usage.assume_init() };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn lap<T>(run: impl FnOnce() -> Result<T>) -> (Lap, T) {
    let (cpu_before, start) = (cpu(libc::RUSAGE_SELF), Instant::now());
    let value = run().expect("the benchmark's file can be written and read");
    (Lap { wall: start.elapsed().as_secs_f64(), cpu: cpu(libc::RUSAGE_SELF) - cpu_before }, value)
}

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn sync(folder: &Path) {
    let folder = std::fs::File::open(folder).expect("the folder can be opened");
    rustix::fs::syncfs(&folder).expect("the folder can be synced");
}

/// A way to write a file.
struct Variant {
    name: &'static str,
    seal: bool,
    sync: bool,
}

const PLAIN: Variant = Variant { name: "plain", seal: false, sync: false };
const SEALED: Variant = Variant { name: "sealed", seal: true, sync: false };
/// With as many bytes in the end as an index takes: what the file system alone takes for those of a seal.
const FILLED: Variant = Variant { name: "plain, with the bytes of an index", seal: false, sync: false };
const SYNCED: Variant = Variant { name: "plain, sync", seal: false, sync: true };
const SEALED_SYNCED: Variant = Variant { name: "sealed, sync", seal: true, sync: true };

const RACE_HEADING: &str = "| file | | ms | ms of the processor | more than plain | of the processor |\n\
    | --- | --- | --- | --- | --- | --- |";

/// Writes files in all of these variants, in turn, and prints how long each took, by itself and beside the one named.
fn race(
    what: &str,
    path: &Path,
    turns: usize,
    variants: &[(&Variant, usize)],
    write: impl Fn(&mut Writer, &Variant) -> Result<()>,
) {
    let mut laps = vec![Vec::new(); variants.len()];
    for turn in 0..=turns {
        for i in 0..variants.len() {
            let place = (turn + i) % variants.len();
            let variant = variants[place].0;
            let mut params = WriteOptions::default();
            (params.seal, params.sync) = (variant.seal, variant.sync);
            let _ = std::fs::remove_file(path);
            sync(path.parent().expect("a folder"));
            let (lap, ()) = lap(|| {
                let mut file = Writer::create(Solo, path, b"", &params)?;
                write(&mut file, variant)?;
                file.close()
            });
            // The first turn is for the caches.
            if turn > 0 {
                laps[place].push(lap);
            }
        }
    }
    for (i, &(variant, beside)) in variants.iter().enumerate() {
        let ratio = |of: fn(&Lap) -> f64| {
            median(laps[i].iter().zip(&laps[beside]).map(|(a, b)| 100.0 * (of(a) / of(b) - 1.0)))
        };
        let millis = |of: fn(&Lap) -> f64| 1e3 * median(laps[i].iter().map(of));
        print!(
            "| {what} | {} | {:.2} | {:.2} |",
            variant.name,
            millis(|lap| lap.wall),
            millis(|lap| lap.cpu)
        );
        if i == beside {
            println!(" | |");
        } else {
            println!(" {:+.1} % | {:+.1} % |", ratio(|lap| lap.wall), ratio(|lap| lap.cpu));
        }
    }
}

fn checksums() {
    println!("\n## Checksums alone\n\n| bytes of a piece | GB/s |\n| --- | --- |");
    let data = vec![7; 64 << 20];
    for bytes in [64, 256, 1 << 10, 16 << 10, 256 << 10, 64 << 20] {
        let piece = &data[..bytes];
        let calls = (1 << 28) / bytes;
        let seconds = median((0..5).map(|_| {
            lap(|| {
                for _ in 0..calls {
                    black_box(crc::of(black_box(piece)));
                }
                Ok(())
            })
            .0
            .cpu
        }));
        println!("| {bytes} | {:.1} |", (calls * bytes) as f64 / seconds / 1e9);
    }
}

/// What a seal does for each small section, in memory alone.
fn parts(scale: &Scale) {
    println!("\n## What a seal does for a block of 100 bytes\n\n| | ns of the processor |\n| --- | --- |");
    let (count, section_bytes) = (scale.small_sections, 224);
    let row = |number: usize| Row {
        section: Some(SectionType::Block),
        user: UserString::new(format!("block {number}").as_bytes()).expect("a short name"),
        is_compressed: false,
        offset: (96 + section_bytes * number) as u64,
        bytes: section_bytes as u64,
        count: 0,
        size: 100,
        crc: crc::of(&number.to_le_bytes()),
        sorted: 0,
    };
    let mut rows: Vec<Row> = (0..count).map(row).collect();
    let data = vec![8; 64 * section_bytes];
    let mut text = vec![0; 512 * ROW_BYTES];
    let mut print = |what: &str, run: &mut dyn FnMut(&mut [Row])| {
        let seconds = median((0..5 * scale.turns).map(|_| {
            let (lap, ()) = lap(|| {
                run(&mut rows);
                Ok(())
            });
            lap.cpu
        }));
        println!("| {what} | {:.0} |", 1e9 * seconds / count as f64);
    };
    print("its checksum", &mut |rows| {
        for i in 0..rows.len() {
            black_box(crc::of(&data[i % 64 * section_bytes..][..section_bytes]));
        }
    });
    print("its note, in new memory", &mut |rows| {
        let mut noted = Vec::new();
        rows.iter().for_each(|row| noted.push(*black_box(row)));
        black_box(noted);
    });
    print("its place in the order of names", &mut |rows| sort_rows(rows).expect("few rows"));
    print("its row's text", &mut |rows| {
        for (i, row) in rows.iter().enumerate() {
            row.put(&mut text.as_chunks_mut().0[i % 512], LineBreak::Unix);
        }
        black_box(&text);
    });
    let text = vec![8; 512 * ROW_BYTES];
    print("its row's checksum", &mut |rows| {
        for _ in rows.chunks(512) {
            black_box(crc::of(black_box(&text)));
        }
    });
}

/// Writing a large section in pieces of several lengths, by the system's calls, and summing up each piece after its call:
/// which length a sealed file should use here. Pieces that are aligned end at multiples of their length in the file.
fn pieces(path: &Path, scale: &Scale) {
    println!(
        "\n## Writing in pieces\n\n| KiB of a piece | ms of the processor | aligned | summed up, too | aligned and summed up |\n\
         | --- | --- | --- | --- | --- |"
    );
    let data = scale.large_data();
    let lengths = [64, 128, 256, 512, 1 << 10, 4 << 10];
    let mut laps = vec![[const { Vec::new() }; 4]; lengths.len()];
    // From the offset where a first section has its data.
    let start = 256;
    for turn in 0..=scale.turns {
        for i in 0..4 * lengths.len() {
            let place = (turn + i) % (4 * lengths.len());
            let (length, is_aligned, is_summed) = (lengths[place / 4] << 10, place % 2 == 1, place % 4 > 1);
            let first = if is_aligned { length - start } else { length };
            let _ = std::fs::remove_file(path);
            sync(path.parent().expect("a folder"));
            let file = std::fs::File::create(path).expect("the file can be made");
            let (lap, ()) = lap(|| {
                let (mut rest, mut offset, mut step) = (&data[..], start, first);
                while !rest.is_empty() {
                    let (piece, later) = rest.split_at(step.min(rest.len()));
                    file.write_all_at(piece, offset as u64).expect("the file can be written");
                    if is_summed {
                        black_box(crc::of(black_box(piece)));
                    }
                    (rest, offset, step) = (later, offset + step, length);
                }
                Ok(())
            });
            // The first turn is for the caches.
            if turn > 0 {
                laps[place / 4][place % 4].push(1e3 * lap.cpu);
            }
        }
    }
    for (length, laps) in lengths.iter().zip(laps) {
        let [plain, aligned, summed, both] = laps.map(median);
        println!("| {length} | {plain:.0} | {aligned:.0} | {summed:.0} | {both:.0} |");
    }
}

fn writing(path: &Path, scale: &Scale) {
    println!("\n## Writing a large section\n\n{RACE_HEADING}");
    let data = scale.large_data();
    let four = [(&PLAIN, 0), (&SEALED, 0), (&SYNCED, 2), (&SEALED_SYNCED, 2)];
    let title = format!("array of {} MiB", scale.large_bytes >> 20);
    race(&title, path, scale.turns, &four, |file, _| {
        file.array(b"large", &[scale.large_bytes as u64 / 8], 8, Source::Contiguous(&data), Encode::None)
    });
    drop(data);
}

/// Sections that are buffered. The row of a section in the index has 256 bytes.
fn writing_small(path: &Path, scale: &Scale) {
    println!("\n## Writing small sections\n\n{RACE_HEADING}");
    let data = vec![8; 32 << 10];
    let many = scale.small_sections;
    for (bytes, sections) in
        [(100, 2000), (100, many), (1000, 2000), (1000, many), (4 << 10, 2000), (32 << 10, 2000)]
    {
        let three = [(&PLAIN, 0), (&FILLED, 0), (&SEALED, 0)];
        let index = vec![b'-'; 256 * (sections + 1)];
        race(
            &format!("{sections} blocks of {bytes} bytes"),
            path,
            3 * scale.turns,
            &three,
            |file, variant| {
                (0..sections).try_for_each(|_| {
                    file.block(b"block", 0, bytes as u64, Some(&data[..bytes]), Encode::None)
                })?;
                match variant.name == FILLED.name {
                    true => file.block(b"index", 0, index.len() as u64, Some(&index), Encode::None),
                    false => Ok(()),
                }
            },
        );
    }
}

/// `scda check` of a sealed file that is in memory, with one thread and with as many as it takes by itself.
fn checking(path: &Path, scale: &Scale) {
    let Some(command) = std::env::var_os("SCDA_COMMAND") else {
        println!("\n`scda check` does not take part: SCDA_COMMAND does not name the command.");
        return;
    };
    println!("\n## `scda check`\n\n| threads | GB/s | GB in a second of a processor |\n| --- | --- | --- |");
    let data = scale.large_data();
    let mut params = WriteOptions::default();
    params.seal = true;
    let mut file = Writer::create(Solo, path, b"", &params).expect("the file can be made");
    for part in data.chunks(data.len() / 4) {
        file.array(b"large", &[part.len() as u64], 1, Source::Contiguous(part), Encode::None)
            .expect("written");
    }
    file.close().expect("closed");
    for threads in ["1", "all"] {
        let laps: Vec<Lap> = (0..scale.turns)
            .map(|_| {
                let mut check = std::process::Command::new(&command);
                check.args(["check", "--quiet"]).arg(path);
                if threads == "1" {
                    check.args(["--threads", threads]);
                }
                let (cpu_before, start) = (cpu(libc::RUSAGE_CHILDREN), Instant::now());
                assert!(check.status().expect("the command runs").success(), "the file is valid");
                Lap { wall: start.elapsed().as_secs_f64(), cpu: cpu(libc::RUSAGE_CHILDREN) - cpu_before }
            })
            .collect();
        let rate = |of: fn(&Lap) -> f64| data.len() as f64 / 1e9 / median(laps.iter().map(of));
        println!("| {threads} | {:.2} | {:.2} |", rate(|lap| lap.wall), rate(|lap| lap.cpu));
    }
}

fn main() {
    let mut scale = &FULL;
    let mut folders = Vec::new();
    let mut only = String::new();
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--quick" => scale = &QUICK,
            "--bench" => {}
            _ if argument.starts_with("--only=") => only = argument[7..].to_owned(),
            folder => folders.push(PathBuf::from(folder)),
        }
    }
    if folders.is_empty() {
        folders.push(std::env::temp_dir());
    }
    if only.is_empty() || only == "crc" {
        checksums();
    }
    if only.is_empty() || only == "parts" {
        parts(scale);
    }
    for folder in folders {
        let folder = tempfile::tempdir_in(&folder).expect("a folder for temporary files");
        let path = folder.path().join("seal.scda");
        println!("\n# {}", folder.path().display());
        if only.is_empty() || only == "pieces" {
            pieces(&path, scale);
        }
        if only.is_empty() || only == "write" {
            writing(&path, scale);
        }
        if only.is_empty() || only == "small" {
            writing_small(&path, scale);
        }
        if only.is_empty() || only == "check" {
            checking(&path, scale);
        }
    }
}
