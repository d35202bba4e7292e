//! How fast and how small compressed arrays are, by encoder, level, kind of data and element size,
//! beside zlib's `compress2` with scalar base64: what the defaults were chosen by.
//!
//! `cargo bench --bench codec` prints a Markdown table. Each figure is the best of three runs, in
//! MB/s of uncompressed data on one core, in one process; size is the compressed section in percent
//! of the data.
#![allow(missing_docs, unsafe_code, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use scda::{Encode, Encoder, Params, Reader, Sink, Solo, Source, Writer};
use std::path::Path;
use std::time::Instant;

/// Bytes of each kind of data.
const BYTES: usize = 4 << 20;

fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// What simulations write.
fn data(kind: &str) -> Vec<u8> {
    let mut state = 1;
    let n = BYTES / 8;
    let wave = |i: usize| (i as f64 * 1e-3).sin() + 0.3 * (i as f64 * 1.7e-2).cos();
    match kind {
        "doubles, noisy" => {
            (0..n).flat_map(|i| (wave(i) + 1e-3 * random(&mut state)).to_le_bytes()).collect()
        }
        "doubles, smooth" => (0..n).flat_map(|i| f64::from(wave(i) as f32).to_le_bytes()).collect(),
        "floats, noisy" => {
            (0..2 * n).flat_map(|i| ((wave(i) + 1e-3 * random(&mut state)) as f32).to_le_bytes()).collect()
        }
        "integers" => (0..2 * n)
            .flat_map(|i| (i as u32 / 3 * 8 + (random(&mut state) * 4.0) as u32).to_le_bytes())
            .collect(),
        "masks" => (0..BYTES).map(|i| u8::from(wave(i / 64) > 0.5)).collect(),
        "text" => (0..)
            .flat_map(|i| format!("cell {i} level {} u = {:.4}\n", i % 7, wave(i)).into_bytes())
            .take(BYTES)
            .collect(),
        other => panic!("{other}"),
    }
}

/// The least seconds of three runs.
fn best<T>(mut run: impl FnMut() -> T) -> (f64, T) {
    let mut least = f64::INFINITY;
    let mut last = None;
    for _ in 0..3 {
        let start = Instant::now();
        last = Some(run());
        least = least.min(start.elapsed().as_secs_f64());
    }
    (least, last.unwrap())
}

/// MB/s of writing and reading, and the bytes of the section.
fn ours(path: &Path, data: &[u8], size: usize, encoder: Encoder, level: u32) -> (f64, f64, usize) {
    let mut params = Params::default();
    (params.encoder, params.level) = (encoder, level);
    let counts = [(data.len() / size) as u64];
    let (writing, ()) = best(|| {
        let mut file = Writer::create(Solo, path, b"", &params).unwrap();
        file.array(b"", &counts, size as u64, Source::Contiguous(data), Encode::Always).unwrap();
        file.close().unwrap();
    });
    let mut found = vec![0; data.len()];
    let (reading, ()) = best(|| {
        let mut file = Reader::open(Solo, path, &params).unwrap();
        file.next_section(true).unwrap();
        file.read_array(&counts, size as u64, Sink::Contiguous(&mut found)).unwrap();
        file.close().unwrap();
    });
    assert!(found == data);
    let speed = |seconds: f64| data.len() as f64 / seconds / 1e6;
    (speed(writing), speed(reading), std::fs::metadata(path).unwrap().len() as usize)
}

/// The same with `compress2`, `uncompress` and scalar base64, one element after the other in memory.
fn plain_zlib(data: &[u8], size: usize, level: i32) -> (f64, f64, usize) {
    let (writing, elements) = best(|| {
        data.chunks(size)
            .map(|element| {
                // SAFETY: no preconditions.
                let mut n = unsafe { libz_sys::compressBound(element.len() as _) };
                let mut stream = vec![0; n as usize];
                // SAFETY: both buffers have the lengths that are said.
                let status = unsafe {
                    libz_sys::compress2(
                        stream.as_mut_ptr(),
                        &raw mut n,
                        element.as_ptr(),
                        element.len() as _,
                        level,
                    )
                };
                assert_eq!(status, libz_sys::Z_OK);
                STANDARD.encode(&stream[..n as usize])
            })
            .collect::<Vec<_>>()
    });
    let mut found = vec![0; data.len()];
    let (reading, ()) = best(|| {
        for (text, element) in elements.iter().zip(found.chunks_mut(size)) {
            let stream = STANDARD.decode(text).unwrap();
            let mut n = element.len() as _;
            // SAFETY: both buffers have the lengths that are said.
            let status = unsafe {
                libz_sys::uncompress(element.as_mut_ptr(), &raw mut n, stream.as_ptr(), stream.len() as _)
            };
            assert_eq!(status, libz_sys::Z_OK);
        }
    });
    assert!(found == data);
    let speed = |seconds: f64| data.len() as f64 / seconds / 1e6;
    // With line breaks and a size entry, as in the file.
    let bytes = elements.iter().map(|text| text.len() + text.len().div_ceil(76) * 2 + 32).sum();
    (speed(writing), speed(reading), bytes)
}

fn main() {
    let folder =
        if Path::new("/dev/shm").is_dir() { Path::new("/dev/shm").into() } else { std::env::temp_dir() };
    let path = folder.join(format!("scda-bench-{}", std::process::id()));
    println!("| data | element | encoder, level | write | read | size % |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for kind in ["doubles, noisy", "doubles, smooth", "floats, noisy", "integers", "masks", "text"] {
        let data = data(kind);
        for size in [64, 512, 4096, 65536] {
            let row = |name: String, (write, read, bytes): (f64, f64, usize)| {
                let percent = 100.0 * bytes as f64 / data.len() as f64;
                println!("| {kind} | {size} | {name} | {write:.0} | {read:.0} | {percent:.1} |");
            };
            for level in [1, 6, 9] {
                row(format!("compress2 {level}"), plain_zlib(&data, size, level));
                row(format!("zlib {level}"), ours(&path, &data, size, Encoder::Zlib, level as u32));
            }
            for level in [0, 1, 2, 4, 6, 9] {
                row(format!("fast {level}"), ours(&path, &data, size, Encoder::Fast, level));
            }
        }
    }
    let _ = std::fs::remove_file(path);
}
