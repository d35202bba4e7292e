//! What one rank spends in a section as the number of ranks grows, and how much memory the library takes beside
//! the user's: `cargo bench --bench scale` prints both as tables.
//!
//! The other ranks are simulated: they have no elements, so that rank 0 can go on without them, and collectives
//! cost nothing. What remains is what the library itself does.
#![allow(unsafe_code)] // an allocator that counts

#[path = "../tests/common/first.rs"]
mod first;

use first::First;
use scda::{Encode, PartitionTable, ReadOptions, Reader, Result, Sink, Solo, Source, WriteOptions, Writer};
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: `layout` is that which the caller of `alloc` vouches for: of a size that is not 0.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller of `dealloc` passes what `alloc` has returned for this layout, and that is of `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs a program and tells the most KiB that it had allocated at once, beside what was there before.
fn peak_kib(program: impl FnOnce() -> Result<()>) -> usize {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    program().expect("the benchmark's file can be written and read");
    (PEAK.load(Ordering::Relaxed) - before).div_ceil(1024)
}

/// Microseconds of a call, from several.
fn micros(calls: u32, mut call: impl FnMut() -> Result<()>) -> f64 {
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..calls {
                call().expect("the benchmark's file can be written and read");
            }
            start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A small array and one of 1 MiB, of which rank 0 has all elements.
fn ranks(path: &Path) -> Result<()> {
    println!(
        "| ranks | small array, write | read | by a partition, write | array of 1 MiB, write | reading the counts | memory |\n| --- | --- | --- | --- | --- | --- | --- |"
    );
    let large = vec![7; 1 << 20];
    for size in [1, 1000, 1_000_000] {
        let calls = if size > 1000 { 20 } else { 2000 };
        let counts = |elements| {
            // Memory that was never written is one page of zeros, as often as it is read.
            let mut counts = black_box(vec![1; size]);
            counts.fill(0);
            counts[0] = elements;
            counts
        };
        let (few, many) = (counts(125), counts(1 << 17));
        let small = Source::Contiguous(&large[..1000]);
        let mut times = [0.0; 4];
        let part = PartitionTable::new(&few, 0, size)?;
        let memory = peak_kib(|| {
            let mut file = Writer::create(First { size }, path, b"", &WriteOptions::default())?;
            times[0] = micros(calls, || file.array(b"small", &few, 8, small, Encode::None));
            times[3] = micros(2000, || file.array(b"small", &part, 8, small, Encode::None));
            times[2] =
                micros(20, || file.array(b"large", &many, 8, Source::Contiguous(&large), Encode::None));
            file.close()
        });
        let mut out = vec![0; 1000];
        let mut file = Reader::open(First { size }, path, &ReadOptions::default())?;
        times[1] = micros(calls, || {
            file.next_section(true)?;
            file.read_array(&few, 8, Sink::Contiguous(&mut out))
        });
        file.close()?;
        // The least that any call can take that looks at all counts.
        let reading = micros(calls, || {
            black_box(black_box(&few).iter().fold(0, |bits, count| bits | count));
            Ok(())
        });
        println!(
            "| {size} | {:.2} us | {:.2} us | {:.2} us | {:.0} us | {reading:.2} us | {memory} KiB |",
            times[0], times[1], times[3], times[2]
        );
    }
    Ok(())
}

/// What a section is made of.
struct Case {
    name: &'static str,
    varray: bool,
    indirect: bool,
    size: u64,
    encode: Encode,
}

fn write(path: &Path, case: &Case, counts: &[u64], sizes: &[u64], source: Source<'_>) -> Result<()> {
    let mut file = Writer::create(Solo, path, b"", &WriteOptions::default())?;
    if case.varray {
        file.varray(b"", counts, sizes, None, source, case.encode)?;
    } else {
        file.array(b"", counts, case.size, source, case.encode)?;
    }
    file.close()
}

fn read(path: &Path, case: &Case, counts: &[u64], sizes: &mut [u64], sink: Sink<'_>) -> Result<()> {
    let mut file = Reader::open(Solo, path, &ReadOptions::default())?;
    file.next_section(true)?;
    if case.varray {
        file.read_varray_sizes(counts, Some(sizes))?;
        file.read_varray(counts, Some(sizes), None, sink)?;
    } else {
        file.read_array(counts, case.size, sink)?;
    }
    file.close()
}

/// The memory beside the user's, for sections of these numbers of bytes.
fn memory(path: &Path) {
    const MIB: [usize; 3] = [1, 8, 64];
    println!("\n| section | write 1 MiB | 8 MiB | 64 MiB | read 1 MiB | 8 MiB | 64 MiB |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let case = |name, varray, indirect, size, encode| Case { name, varray, indirect, size, encode };
    for case in [
        case("array of 8 bytes", false, false, 8, Encode::None),
        case("array of 4096 bytes", false, false, 4096, Encode::None),
        case("array of 4096 bytes, indirect", false, true, 4096, Encode::None),
        case("varray of 64 bytes", true, false, 64, Encode::None),
        case("array of 4096 bytes, compressed", false, false, 4096, Encode::Always),
        case("varray of 64 bytes, compressed", true, false, 64, Encode::Always),
    ] {
        let mut kib = [[0; 3]; 2];
        for (i, mib) in MIB.into_iter().enumerate() {
            let bytes = mib << 20;
            let count = bytes as u64 / case.size;
            // Half noise, half zeros: compresses to about a half.
            let mut state = 1_u64;
            let mut data: Vec<u8> = (0..bytes)
                .map(|at| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    if at % 2 == 0 { 0 } else { state.to_le_bytes()[7] }
                })
                .collect();
            let element = usize::try_from(case.size).expect("a small number");
            let mut sizes = vec![case.size; usize::try_from(count).expect("a small number")];
            let pieces: Vec<&[u8]> = if case.indirect { data.chunks(element).collect() } else { Vec::new() };
            let source = if case.indirect { Source::Indirect(&pieces) } else { Source::Contiguous(&data) };
            kib[0][i] = peak_kib(|| write(path, &case, &[count], &sizes, source));
            kib[1][i] = if case.indirect {
                let mut pieces: Vec<&mut [u8]> = data.chunks_mut(element).collect();
                peak_kib(|| read(path, &case, &[count], &mut sizes, Sink::Indirect(&mut pieces)))
            } else {
                peak_kib(|| read(path, &case, &[count], &mut sizes, Sink::Contiguous(&mut data)))
            };
        }
        let [w, r] = kib;
        println!("| {} | {} | {} | {} | {} | {} | {} |", case.name, w[0], w[1], w[2], r[0], r[1], r[2]);
    }
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let path = folder.path().join("scale.scda");
    println!("One rank's time in a call, without MPI's, and the library's memory on it:\n");
    ranks(&path)?;
    println!("\nThe library's memory beside the user's, in KiB, by the bytes of a section on one rank:");
    memory(&path);
    Ok(())
}
