//! Repeats what the fuzzers of `tests/fuzzers` have found: the inputs that made the library err once, and a small corpus that
//! reaches what they reach.
#![allow(clippy::cast_possible_truncation)] // test data

#[path = "../common/mod.rs"]
mod common;
mod memory;
mod naive;
mod targets;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[global_allocator]
static HEAP: memory::Counted = memory::Counted;

/// One test after the other, because the memory of all threads is counted together.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// No input takes longer, on a busy machine without optimisation.
const MOST_TIME: Duration = Duration::from_secs(20);

fn run(name: &str, target: targets::Target, input: &[u8]) {
    let start = Instant::now();
    target(input);
    assert!(start.elapsed() < MOST_TIME, "{name}: {} bytes take {:?}", input.len(), start.elapsed());
}

/// The files of an archive (ustar) that `scripts/fuzz.sh pack` or `bad-data/make.py` has made, with their names.
fn unpacked(archive: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let all = std::fs::read(archive).unwrap();
    let (mut files, mut rest) = (Vec::new(), &all[..]);
    while rest[0] != 0 {
        let (header, data) = rest.split_at(512);
        let text = |field: &[u8]| {
            String::from_utf8(field.split(|&byte| byte == 0).next().unwrap().to_vec()).unwrap()
        };
        let bytes = usize::from_str_radix(&text(&header[124..136]), 8).unwrap();
        files.push((archive.join(text(&header[..100])), data[..bytes].to_vec()));
        rest = &data[bytes.next_multiple_of(512)..];
    }
    files
}

/// The inputs for a target, with the names of their files: what was found, and files that are right or nearly so.
fn inputs(name: &str) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut folders = vec![here.join("fuzzed/regressions").join(name)];
    let corpus = here.join(format!("fuzzed/corpus/{name}.tar"));
    let mut inputs = if corpus.exists() { unpacked(&corpus) } else { Vec::new() };
    if name.starts_with("read_") {
        folders.push(here.join("vectors"));
        inputs.extend(unpacked(&here.join("bad-data/files.tar")));
    }
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() && path.extension().is_none_or(|extension| extension != "json") {
                inputs.push((path.clone(), std::fs::read(path).unwrap()));
            }
        }
    }
    inputs.sort();
    inputs
}

#[test]
fn what_was_found_stays_mended() {
    let _alone = alone();
    for (name, target) in targets::ALL {
        let inputs = inputs(name);
        assert!(!inputs.is_empty(), "{name} has a corpus");
        for (path, input) in inputs {
            println!("{}", path.display()); // shown if it fails
            run(name, target, &input);
        }
    }
}

/// Puts this number in the place of the first one from byte `at` on.
fn put_number(input: &mut Vec<u8>, at: usize, number: &str) {
    if let Some(start) = input[at..].iter().position(u8::is_ascii_digit).map(|after| at + after) {
        let digits = input[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        input.splice(start..start + digits, number.bytes());
    }
}

/// Without a fuzzer's feedback, but on any machine: bytes at random, and right files with a few bytes changed.
#[test]
fn inputs_at_random_find_nothing() {
    let _alone = alone();
    let mut rng = common::Rng(20_26);
    let words =
        include_str!("dictionary").lines().filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'));
    let numbers: Vec<&str> = words.filter(|word| word.parse::<u128>().is_ok()).collect();
    for (name, target) in targets::ALL {
        let seeds = inputs(name);
        for _ in 0..200 {
            let mut input = match rng.below(3) {
                0 => {
                    let n = rng.below(600) as usize;
                    rng.bytes(n)
                }
                _ => seeds[rng.below(seeds.len() as u64) as usize].1.clone(),
            };
            for _ in 0..rng.below(4) {
                if !input.is_empty() {
                    let at = rng.below(input.len() as u64) as usize;
                    match rng.below(4) {
                        0 => input[at] = rng.next() as u8,
                        1 => input.truncate(at),
                        2 => put_number(&mut input, at, numbers[rng.below(numbers.len() as u64) as usize]),
                        _ => input[at] ^= 1 << rng.below(8),
                    }
                }
            }
            run(name, target, &input);
        }
    }
}

/// The check of memory that all targets rely on sees what it is for.
#[test]
fn memory_is_counted() {
    let _alone = alone();
    let (peak, length) = memory::peak(|| vec![1_u8; 3 << 20].len());
    // The thread that runs the tests may free something in between.
    assert!(peak >= length - (1 << 16), "{peak}");
}

/// The processor time that this thread has used, in microseconds.
#[cfg(target_os = "linux")]
fn processor_time() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    (time.tv_sec * 1_000_000 + time.tv_nsec / 1000).try_into().unwrap()
}

/// The fuzzers' inputs are too short to tell time that grows with the square of their length: these are 3.2 MB long.
#[test]
#[cfg(target_os = "linux")]
fn time_grows_no_faster_than_the_file() {
    let _alone = alone();
    let entry = |letter: char, value: usize| format!("{letter} {:-<28}-\n", format!("{value} "));
    let header = |letter: char, user: &str| format!("{letter} {:-<60}-\n", format!("{user} "));
    let padding = |n: usize| {
        let p = (7..39_usize).find(|p| (n + p).is_multiple_of(32)).unwrap();
        format!("\n={:=<1$}\n\n", "", p - 4)
    };
    let head = format!("scdata0 {:-<22}-\n{}{}", "x ", header('F', ""), padding(0));
    // An element of no bytes, compressed.
    let element = "AAAAAAAAAAB6eAEDAAAAAAE==\n";
    let pair = header('I', "B compressed scda 00") + &entry('U', 0) + &header('B', "") + &entry('E', 26);
    let times = |n: usize, text: &str| text.repeat(n / text.len());
    let array = |n: usize| {
        let n = n / 64;
        let sections =
            header('I', "A compressed scda 00") + &entry('U', 0) + &header('V', "") + &entry('N', n);
        sections + &entry('E', 26).repeat(n) + &element.repeat(n) + &padding(26 * n)
    };
    let varray = |n: usize| {
        let n = n / 100;
        let first = header('A', "V compressed scda 00") + &entry('N', n) + &entry('E', 32);
        let second = header('V', "") + &entry('N', n) + &entry('E', 26).repeat(n);
        first + &entry('U', 0).repeat(n) + &padding(32 * n) + &second + &element.repeat(n) + &padding(26 * n)
    };
    type Make<'a> = Box<dyn Fn(usize) -> String + 'a>;
    let families: [(&str, Make); 6] = [
        ("inline", Box::new(|n| times(n, &(header('I', "") + &".".repeat(32))))),
        ("blocks", Box::new(|n| times(n, &(header('B', "") + &entry('E', 0) + &padding(0))))),
        (
            "jumps",
            Box::new(|n| {
                times(n, &(header('B', "") + &entry('E', 70_000) + &".".repeat(70_000) + &padding(70_000)))
            }),
        ),
        ("pairs", Box::new(|n| times(n, &(pair.clone() + element + &padding(26))))),
        ("array", Box::new(array)),
        ("varray", Box::new(varray)),
    ];
    for (name, make) in families {
        let measure = |bytes: usize| {
            let file = head.clone() + &make(bytes);
            let start = processor_time();
            targets::read_decoded(file.as_bytes());
            processor_time() - start
        };
        let (short, long) = (measure(200_000), measure(3_200_000));
        assert!(long <= 64 * short.max(50), "{name}: {short} us for 200 kB, {long} us for 3.2 MB");
    }
}
