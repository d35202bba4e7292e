//! How fast and how small elements are compressed, by encoder, level, kind of data and element size,
//! beside zlib's `compress2` with scalar base64 in the same convention: what the defaults were chosen by.
//! How fast count entries are formatted and parsed, and how fast the bytes of items are sorted (shuffle), beside plain
//! implementations. And what `Encode::Auto` costs where nothing is gained.
//!
//! `cargo bench --bench codec` prints Markdown tables. Each figure is the best of three runs, in
//! MB/s of uncompressed data (of entries) on one core, from memory to memory; size is the encoded
//! elements in percent of the data. An argument that names a kind of data measures that kind alone.
#![allow(missing_docs, unsafe_code, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

#[path = "fields.rs"]
mod fields;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fields::{fields, flash};
use scda::{
    Codec, Communicator, Data, DataMut, DataType, Dataset, DatasetHandle, Encode, Encoder, IndexBox, Layout,
    LineBreak, Memory, MemoryMut, ReadOptions, Reader, Solo, Source, WriteOptions, Writer, run_on_threads,
};
use scda_codec::chunk::{ChunkCodec, ChunkDecoder, ChunkEncoder, Method};
use scda_codec::shuffle::{shuffle, unshuffle};
use scda_codec::{ElementDecoder, ElementEncoder};
use scda_format::dataset::codecs::{Codecs, Compressor, Zlib};
use scda_format::entry::{CountFormat, parse_counts};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Bytes of each kind of data.
const BYTES: usize = 2 << 20;

const KINDS: [&str; 9] = [
    "doubles, full mantissa",
    "doubles, noisy",
    "doubles, smooth",
    "floats, noisy",
    "floats, smooth",
    "integers",
    "masks",
    "text",
    "repeated noise",
];

fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// What simulations write.
fn data(kind: &str) -> Vec<u8> {
    bytes_of(kind, BYTES)
}

/// The bytes of what simulations write.
fn bytes_of(kind: &str, bytes: usize) -> Vec<u8> {
    let mut state = 1;
    let n = bytes / 8;
    let wave = |i: usize| (i as f64 * 1e-3).sin() + 0.3 * (i as f64 * 1.7e-2).cos();
    match kind {
        "doubles, full mantissa" => (0..n).flat_map(|i| wave(i).to_le_bytes()).collect(),
        "doubles, noisy" => {
            (0..n).flat_map(|i| (wave(i) + 1e-3 * random(&mut state)).to_le_bytes()).collect()
        }
        "doubles, smooth" => (0..n).flat_map(|i| f64::from(wave(i) as f32).to_le_bytes()).collect(),
        "floats, noisy" => {
            (0..2 * n).flat_map(|i| ((wave(i) + 1e-3 * random(&mut state)) as f32).to_le_bytes()).collect()
        }
        "floats, smooth" => (0..2 * n).flat_map(|i| (wave(i) as f32).to_le_bytes()).collect(),
        "integers" => (0..2 * n)
            .flat_map(|i| (i as u32 / 3 * 8 + (random(&mut state) * 4.0) as u32).to_le_bytes())
            .collect(),
        "masks" => (0..bytes).map(|i| u8::from(wave(i / 64) > 0.5)).collect(),
        "text" => (0..)
            .flat_map(|i| format!("cell {i} level {} u = {:.4}\n", i % 7, wave(i)).into_bytes())
            .take(bytes)
            .collect(),
        // Ghost layers: noise that comes again, but not soon.
        "repeated noise" => {
            let noise: Vec<u8> = (0..15_000).map(|_| (random(&mut state) * 256.0) as u8).collect();
            noise.into_iter().cycle().take(bytes).collect()
        }
        other => panic!("{other}"),
    }
}

/// The processor time of this thread in seconds: other work on the machine does not count.
fn now() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a value of the right type.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(status, 0);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The least seconds of three runs.
fn best<T>(mut run: impl FnMut() -> T) -> (f64, T) {
    let mut least = f64::INFINITY;
    let mut last = None;
    for _ in 0..3 {
        let start = now();
        last = Some(run());
        least = least.min(now() - start);
    }
    (least, last.unwrap())
}

/// MB/s of encoding and decoding, and the encoded bytes.
#[derive(Clone, Copy)]
struct Figures {
    encode: f64,
    decode: f64,
    bytes: usize,
}

impl Figures {
    fn new(data: &[u8], (encoding, decoding): (f64, f64), bytes: usize) -> Self {
        let speed = |seconds: f64| data.len() as f64 / seconds / 1e6;
        Self { encode: speed(encoding), decode: speed(decoding), bytes }
    }
}

fn ours(data: &[u8], size: usize, encoder: Encoder, level: u32) -> Figures {
    let mut encoder = ElementEncoder::new(encoder, level, LineBreak::Unix).unwrap();
    let mut text = Vec::new();
    let (encoding, sizes) = best(|| {
        text.clear();
        data.chunks(size).map(|element| encoder.encode(element, &mut text).unwrap()).collect::<Vec<_>>()
    });
    let mut found = vec![0; data.len()];
    let mut decoder = ElementDecoder::new(false).unwrap();
    let (decoding, ()) = best(|| {
        let mut rest = text.as_slice();
        for (&length, element) in sizes.iter().zip(found.chunks_mut(size)) {
            let (text, others) = rest.split_at(length);
            rest = others;
            decoder.decode(text, element).unwrap();
        }
    });
    assert!(found == data);
    Figures::new(data, (encoding, decoding), text.len())
}

/// The same with `compress2`, `uncompress` and scalar base64 without line breaks.
fn plain_zlib(data: &[u8], size: usize, level: i32) -> Figures {
    let mut raw = Vec::new();
    let mut text = String::new();
    let (encoding, sizes) = best(|| {
        text.clear();
        data.chunks(size)
            .map(|element| {
                // SAFETY: no preconditions.
                let mut n = unsafe { libz_sys::compressBound(element.len() as _) };
                raw.clear();
                raw.extend_from_slice(&(element.len() as u64).to_be_bytes());
                raw.push(b'z');
                raw.resize(9 + n as usize, 0);
                // SAFETY: both buffers have the lengths that are said.
                let status = unsafe {
                    libz_sys::compress2(
                        raw[9..].as_mut_ptr(),
                        &raw mut n,
                        element.as_ptr(),
                        element.len() as _,
                        level,
                    )
                };
                assert_eq!(status, libz_sys::Z_OK);
                let before = text.len();
                STANDARD.encode_string(&raw[..9 + n as usize], &mut text);
                text.len() - before
            })
            .collect::<Vec<_>>()
    });
    let mut found = vec![0; data.len()];
    let (decoding, ()) = best(|| {
        let mut rest = text.as_str();
        for (&length, element) in sizes.iter().zip(found.chunks_mut(size)) {
            let (text, others) = rest.split_at(length);
            rest = others;
            raw.clear();
            STANDARD.decode_vec(text, &mut raw).unwrap();
            let mut n = element.len() as _;
            // SAFETY: both buffers have the lengths that are said.
            let status = unsafe {
                libz_sys::uncompress(
                    element.as_mut_ptr(),
                    &raw mut n,
                    raw[9..].as_ptr(),
                    (raw.len() - 9) as _,
                )
            };
            assert_eq!(status, libz_sys::Z_OK);
        }
    });
    assert!(found == data);
    // With the line breaks that it would have in a file.
    let bytes = sizes.iter().map(|length| length + length.div_ceil(76) * 2).sum();
    Figures::new(data, (encoding, decoding), bytes)
}

fn elements(kinds: &[&str]) {
    println!(
        "| data | element | encoder, level | encode | x compress2 6 | decode | x | size % | of compress2 6 |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let default = WriteOptions::DEFAULT_LEVEL;
    let mut knee = [(0.0, 0.0); 10];
    for kind in kinds {
        let data = data(kind);
        for size in [64, 512, 4096, 65536] {
            let peer = plain_zlib(&data, size, 6);
            let row = |name: String, found: Figures| {
                println!(
                    "| {kind} | {size} | {name} | {:.0} | {:.2} | {:.0} | {:.2} | {:.1} | {:.3} |",
                    found.encode,
                    found.encode / peer.encode,
                    found.decode,
                    found.decode / peer.decode,
                    100.0 * found.bytes as f64 / data.len() as f64,
                    found.bytes as f64 / peer.bytes as f64
                );
            };
            row("compress2 6".into(), peer);
            row("compress2 9".into(), plain_zlib(&data, size, 9));
            row("zlib 6".into(), ours(&data, size, Encoder::Zlib, 6));
            for level in [0, 1, 2, 3, 4, 6, 9] {
                let found = ours(&data, size, Encoder::Fast, level);
                knee[level as usize].0 += found.encode.ln();
                knee[level as usize].1 += (found.bytes as f64 / peer.bytes as f64).ln();
                let mark = if level == default { " (default)" } else { "" };
                row(format!("fast {level}{mark}"), found);
            }
        }
    }
    println!();
    println!("The encoder `fast` over all kinds and sizes, geometric means:");
    println!();
    println!("| level | encode | size, of compress2 6 |");
    println!("| --- | --- | --- |");
    let rows = (kinds.len() * 4) as f64;
    for level in [0, 1, 2, 3, 4, 6, 9] {
        let (speed, size): (f64, f64) = knee[level];
        println!("| {level} | {:.0} | {:.3} |", (speed / rows).exp(), (size / rows).exp());
    }
}

/// An entry as one would write it.
fn plain_entry(value: u64) -> String {
    let number = format!("E {value} ");
    format!("{number:-<31}\n")
}

fn plain_parse(entry: &[u8]) -> u64 {
    let text = std::str::from_utf8(&entry[..30]).unwrap();
    let number = text.strip_prefix("E ").unwrap().trim_end_matches('-').strip_suffix(' ').unwrap();
    assert!(number == "0" || !number.starts_with('0'));
    number.parse().unwrap()
}

fn entries() {
    const COUNT: usize = 1 << 20;
    println!("| entries of | format | plain | x | parse | plain | x |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (name, most) in
        [("0 to 64", 65), ("up to 10^6", 1_000_000), ("up to 10^15", 1_000_000_000_000_000_u64)]
    {
        let mut state = 1;
        let values: Vec<u64> = (0..COUNT).map(|_| (random(&mut state) * most as f64) as u64).collect();
        let speed = |seconds: f64| 32.0 * COUNT as f64 / seconds / 1e6;
        let format = CountFormat::new(b'E', LineBreak::Unix);
        let mut text = Vec::with_capacity(32 * 1024);
        // As they are written, in chunks.
        let (ours, ()) = best(|| {
            for chunk in values.chunks(1024) {
                text.clear();
                format.append(chunk, &mut text);
                black_box(&text);
            }
        });
        let (plain, all) = best(|| values.iter().map(|&v| plain_entry(v)).collect::<String>());
        let sum: u64 = values.iter().sum();
        let (parse, found) = best(|| {
            let mut sum = 0_u64;
            for chunk in all.as_bytes().chunks(1 << 20) {
                parse_counts(chunk, b'E', 0, |_, value| {
                    sum += value;
                    Ok(())
                })
                .unwrap();
            }
            sum
        });
        assert_eq!(found, sum);
        let (plain_parse, found) = best(|| all.as_bytes().chunks(32).map(plain_parse).sum::<u64>());
        assert_eq!(found, sum);
        println!(
            "| {name} | {:.0} | {:.0} | {:.1} | {:.0} | {:.0} | {:.1} |",
            speed(ours),
            speed(plain),
            plain / ours,
            speed(parse),
            speed(plain_parse),
            plain_parse / parse
        );
    }
}

/// The bytes that zlib's `compress2` makes.
fn compress2(data: &[u8], level: u32, out: &mut [u8]) -> usize {
    let mut n = out.len() as libz_sys::uLong;
    // SAFETY: both buffers have the lengths that are said.
    let status = unsafe {
        libz_sys::compress2(out.as_mut_ptr(), &raw mut n, data.as_ptr(), data.len() as _, level.cast_signed())
    };
    assert_eq!(status, libz_sys::Z_OK);
    n as usize
}

/// Chunks as zlib streams.
fn zlib(item_bytes: usize, level: u32) -> ChunkCodec {
    let method = Method::Compressor(Compressor::Zlib(Zlib { level: level.into() }));
    ChunkCodec { item_bytes, method, encoder: Encoder::Fast, rounder: None }
}

/// Shuffled chunks, beside zlib's `compress2` after a plain shuffle.
fn chunks(kinds: &[&str]) {
    println!(
        "| data | chunks | level | MB/s | ratio | as one MB/s | ratio | zlib MB/s | ratio | times | inflate MB/s | of zlib's |"
    );
    println!("|{}", " --- |".repeat(12));
    let mut all = vec![("FLASH".to_owned(), 8, flash(32))];
    all.extend(kinds.iter().map(|kind| {
        let item = if kind.starts_with("doubles") { 8 } else { 4 };
        ((*kind).to_owned(), item, data(kind))
    }));
    for (name, item_bytes, data) in &all {
        for chunk_bytes in [1 << 15, 1 << 19] {
            for level in [1, 2, 6, 9] {
                let codec = zlib(*item_bytes, level);
                let mut encoder = ChunkEncoder::new(codec).unwrap();
                let mut out = Vec::new();
                let (ours, sizes) = best(|| {
                    out.clear();
                    let encode = |chunk| encoder.encode(chunk, &mut out).unwrap();
                    data.chunks(chunk_bytes).map(encode).collect::<Vec<usize>>()
                });
                let mut sorted = vec![0; chunk_bytes];
                let whole = ChunkCodec { item_bytes: 1, ..codec };
                let mut encoder = ChunkEncoder::new(whole).unwrap();
                let mut plain = Vec::new();
                let (as_one, ()) = best(|| {
                    plain.clear();
                    for chunk in data.chunks(chunk_bytes) {
                        shuffle(chunk, *item_bytes, &mut sorted[..chunk.len()]);
                        encoder.encode(&sorted[..chunk.len()], &mut plain).unwrap();
                    }
                });
                let mut room = vec![0; 2 * chunk_bytes];
                let mut streams = Vec::new();
                let (zlib, ()) = best(|| {
                    streams.clear();
                    for chunk in data.chunks(chunk_bytes) {
                        plain_shuffle(chunk, *item_bytes, &mut sorted[..chunk.len()]);
                        let n = compress2(&sorted[..chunk.len()], level, &mut room);
                        streams.push(room[..n].to_vec());
                    }
                });
                let theirs: usize = streams.iter().map(Vec::len).sum();
                let mut inflater = libdeflater::Decompressor::new();
                let (inflating, ()) = best(|| {
                    let mut rest = &out[..];
                    for (size, chunk) in sizes.iter().zip(data.chunks(chunk_bytes)) {
                        let (stream, others) = rest.split_at(*size);
                        rest = others;
                        let n = inflater.zlib_decompress(stream, &mut sorted[..chunk.len()]).unwrap();
                        assert_eq!(n, chunk.len());
                    }
                });
                let (inflating_theirs, ()) = best(|| {
                    for (stream, chunk) in streams.iter().zip(data.chunks(chunk_bytes)) {
                        inflater.zlib_decompress(stream, &mut sorted[..chunk.len()]).unwrap();
                    }
                });
                let speed = |seconds: f64| data.len() as f64 / seconds / 1e6;
                println!(
                    "| {name} | {} KiB | {level} | {:.0} | {:.3} | {:.0} | {:.3} | {:.0} | {:.3} | {:.2} | {:.0} | {:.2} |",
                    chunk_bytes >> 10,
                    speed(ours),
                    data.len() as f64 / out.len() as f64,
                    speed(as_one),
                    data.len() as f64 / plain.len() as f64,
                    speed(zlib),
                    data.len() as f64 / theirs as f64,
                    zlib / ours,
                    speed(inflating),
                    inflating_theirs / inflating,
                );
            }
        }
    }
}

/// The codecs of datasets at each level, in chunks of 1 MiB, beside zlib at level 6; and the geometric means of all fields.
fn codecs() {
    let mut means: Vec<((Codec, u32), [f64; 5], i32)> = Vec::new();
    println!(
        "| data | codec | level | ratio | of zlib 6 | write MB/s | times zlib 6 | read MB/s | times zlib 6 |"
    );
    println!("|{}", " --- |".repeat(9));
    for (name, data_type, data) in &fields(1 << 20) {
        let mut of_zlib = None;
        let all = [
            (Codec::Zlib, &[6, 2][..]),
            (Codec::Zstd, &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
            (Codec::Lz4, &[1, 3, 6, 9]),
            (Codec::Pcodec, &[4, 8]),
        ];
        for (codec, level) in
            all.into_iter().flat_map(|(codec, levels)| levels.iter().map(move |level| (codec, *level)))
        {
            let mut dataset = Dataset::new("a", *data_type, [1 << 20]);
            dataset.layout = Layout::Chunked { shape: None, text: false };
            (dataset.codec, dataset.level) = (codec, Some(level));
            let mut encoder =
                ChunkEncoder::new(ChunkCodec::of(&dataset, Encoder::Fast, 2, LineBreak::Unix)).unwrap();
            let mut out = Vec::new();
            let (writing, sizes) = best(|| {
                out.clear();
                data.chunks(1 << 20)
                    .map(|chunk| encoder.encode(chunk, &mut out).unwrap())
                    .collect::<Vec<usize>>()
            });
            let (codecs, mut decoder) = (Codecs::of(&dataset, 2), ChunkDecoder::new(false));
            let mut found = vec![0; data.len()];
            let (reading, ()) = best(|| {
                let mut rest = &out[..];
                for (size, chunk) in sizes.iter().zip(found.chunks_mut(1 << 20)) {
                    let (stream, others) = rest.split_at(*size);
                    rest = others;
                    decoder.stream(*size as u64).unwrap().copy_from_slice(stream);
                    decoder.decode(*size as u64, &codecs, chunk).unwrap();
                }
            });
            assert!(found == *data, "{name} {codec}");
            let speed = |seconds: f64| data.len() as f64 / seconds / 1e6;
            let (bytes, wrote, read) = *of_zlib.get_or_insert((out.len(), writing, reading));
            let figures = [
                out.len() as f64 / bytes as f64,
                speed(writing),
                wrote / writing,
                speed(reading),
                read / reading,
            ];
            let ratio = data.len() as f64 / out.len() as f64;
            let [size, writes, faster, reads, read_faster] = figures;
            println!(
                "| {name} | {codec} | {level} | {ratio:.3} | {size:.3} | {writes:.0} | {faster:.2} | {reads:.0} | {read_faster:.2} |"
            );
            match means.iter_mut().find(|(of, ..)| *of == (codec, level)) {
                Some((_, products, count)) => {
                    products.iter_mut().zip(figures).for_each(|(product, figure)| *product *= figure);
                    *count += 1;
                }
                None => means.push(((codec, level), figures, 1)),
            }
        }
    }
    for ((codec, level), products, count) in means {
        let [size, writes, faster, reads, read_faster] =
            products.map(|product| product.powf(1.0 / f64::from(count)));
        println!(
            "| geometric mean | {codec} | {level} | | {size:.3} | {writes:.0} | {faster:.2} | {reads:.0} | {read_faster:.2} |"
        );
    }
}

/// How size and speed depend on the bytes of a chunk: what the default was chosen by. With each chunk goes its entry of 32
/// bytes.
fn curves() {
    println!("| data | level | chunk KiB | ratio | encode MB/s | decode MB/s |");
    println!("|{}", " --- |".repeat(6));
    let mut all = vec![("FLASH".to_owned(), 8, flash(128))];
    for (kind, item) in [
        ("doubles, noisy", 8),
        ("doubles, smooth", 8),
        ("floats, noisy", 4),
        ("floats, smooth", 4),
        ("integers", 4),
        ("masks", 1),
    ] {
        all.push((kind.to_owned(), item, bytes_of(kind, 8 << 20)));
    }
    for (name, item_bytes, data) in &all {
        for level in [WriteOptions::DEFAULT_LEVEL, 6] {
            for chunk_bytes in (13..23).map(|log| 1 << log) {
                let codec = zlib(*item_bytes, level);
                let mut encoder = ChunkEncoder::new(codec).unwrap();
                let mut out = Vec::new();
                let (encoding, sizes) = best(|| {
                    out.clear();
                    let encode = |chunk| encoder.encode(chunk, &mut out).unwrap();
                    data.chunks(chunk_bytes).map(encode).collect::<Vec<usize>>()
                });
                let (mut sorted, mut found) = (vec![0; chunk_bytes], vec![0; chunk_bytes]);
                let mut inflater = libdeflater::Decompressor::new();
                let (decoding, ()) = best(|| {
                    let mut rest = &out[..];
                    for (size, chunk) in sizes.iter().zip(data.chunks(chunk_bytes)) {
                        let (stream, others) = rest.split_at(*size);
                        rest = others;
                        let sorted = &mut sorted[..chunk.len()];
                        inflater.zlib_decompress(stream, sorted).unwrap();
                        unshuffle(sorted, *item_bytes, black_box(&mut found[..chunk.len()]));
                    }
                });
                let speed = |seconds: f64| data.len() as f64 / seconds / 1e6;
                println!(
                    "| {name} | {level} | {} | {:.3} | {:.0} | {:.0} |",
                    chunk_bytes >> 10,
                    data.len() as f64 / (out.len() + 32 * sizes.len()) as f64,
                    speed(encoding),
                    speed(decoding),
                );
            }
        }
    }
}

/// One byte after the other.
fn plain_shuffle(data: &[u8], size: usize, out: &mut [u8]) {
    let count = data.len() / size;
    for (i, item) in data.chunks_exact(size).enumerate() {
        for (byte, &value) in item.iter().enumerate() {
            out[byte * count + i] = value;
        }
    }
}

/// The bytes of items sorted and back, in a cache and beyond, in MB/s.
fn shuffling() {
    println!("| items of | data | shuffle | unshuffle | both | a plain loop | ratio |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for bytes in [1 << 15, 1 << 18, 1 << 20, 64 << 20] {
        let data: Vec<u8> = (0..bytes as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let (mut sorted, mut back) = (vec![0; bytes], vec![0; bytes]);
        let rounds = (256 << 20) / bytes;
        let speed = |seconds: f64| (rounds * bytes) as f64 / seconds / 1e6;
        for size in [2, 4, 8, 16, 3, 24] {
            let (there, ()) = best(|| {
                (0..rounds).for_each(|_| shuffle(black_box(&data), size, black_box(&mut sorted)));
            });
            let (again, ()) = best(|| {
                (0..rounds).for_each(|_| unshuffle(black_box(&sorted), size, black_box(&mut back)));
            });
            assert_eq!(back, data);
            let (plain, ()) = best(|| {
                (0..rounds).for_each(|_| plain_shuffle(black_box(&data), size, black_box(&mut sorted)));
            });
            println!(
                "| {size} bytes | {} KiB | {:.0} | {:.0} | {:.0} | {:.0} | {:.1} |",
                bytes >> 10,
                speed(there),
                speed(again),
                speed(there + again),
                speed(plain),
                plain / there
            );
        }
    }
}

/// Seconds of writing one array to memory, from open to close.
fn write(path: &Path, data: &[u8], size: usize, encode: Encode) -> f64 {
    let counts = [(data.len() / size) as u64];
    let start = Instant::now();
    let mut file = Writer::create(Solo, path, b"", &WriteOptions::default()).unwrap();
    file.array(b"", &counts, size as u64, Source::Contiguous(data), encode).unwrap();
    file.close().unwrap();
    let seconds = start.elapsed().as_secs_f64();
    std::fs::remove_file(path).unwrap();
    seconds
}

/// What trying costs where nothing is gained.
fn auto() {
    let path = path();
    println!("| incompressible array of | elements of | plain MB/s | auto, of plain |");
    println!("| --- | --- | --- | --- |");
    let mut state = 1;
    let half = (1_u64 << 32) as f64;
    let data: Vec<u8> =
        (0..16 << 20).flat_map(|_| ((random(&mut state) * half) as u32).to_le_bytes()).collect();
    for bytes in [1 << 14, 1 << 17, 1 << 20, 8 << 20, 64 << 20] {
        for size in [64, 512, 4096, 65536, 1 << 20].into_iter().filter(|&size| size <= bytes) {
            let data = &data[..bytes];
            let modes = [Encode::None, Encode::Auto];
            let runs = (0..9).map(|_| modes.map(|mode| write(&path, data, size, mode)));
            let runs: Vec<[f64; 2]> = runs.collect();
            let median = |value: &dyn Fn(&[f64; 2]) -> f64| {
                let mut values: Vec<f64> = runs.iter().map(value).collect();
                values.sort_by(f64::total_cmp);
                values[values.len() / 2]
            };
            println!(
                "| {} KiB | {size} | {:.0} | {:.2} |",
                bytes >> 10,
                bytes as f64 / median(&|run| run[0]) / 1e6,
                median(&|run| run[0] / run[1])
            );
        }
    }
}

/// Many datasets of few chunks, one after the other and together, on threads that are ranks.
fn together() {
    let path = path();
    println!("| datasets | MB | ranks | one after the other, ms | together, ms | times |");
    println!("|{}", " --- |".repeat(6));
    for (what, count, items) in [
        ("108 of 100 to 1100 doubles", 108, 100),
        ("108 of 10^4 to 11 x 10^4", 108, 10_000),
        ("24 of 10^6", 24, 0),
    ] {
        let shapes: Vec<u64> =
            (0..count).map(|i| if items == 0 { 1_000_000 } else { items * (1 + i * i % 11) }).collect();
        let datasets: Vec<Dataset> = (0_u64..)
            .zip(&shapes)
            .map(|(i, &n)| {
                let mut dataset = Dataset::new(format!("variable {i}"), DataType::Float64, [n]);
                dataset.layout = Layout::Chunked { shape: None, text: false };
                dataset
            })
            .collect();
        let data = bytes_of("doubles, smooth", 8_000_000);
        let megabytes = shapes.iter().sum::<u64>() as f64 * 8e-6;
        for ranks in [1, 2, 4] {
            let run = |is_together: bool| {
                let start = Instant::now();
                run_on_threads(ranks, |comm| {
                    let rank = comm.rank() as u64;
                    let own: Vec<[IndexBox; 1]> = shapes
                        .iter()
                        .map(|n| {
                            let [start, end] = [rank, rank + 1].map(|rank| n * rank / ranks as u64);
                            [IndexBox::new([start], [end - start])]
                        })
                        .collect();
                    let all: Vec<(&Dataset, &[IndexBox], &[u8])> = datasets
                        .iter()
                        .zip(&own)
                        .map(|(dataset, own)| {
                            let [start, count] = [own[0].start[0], own[0].count[0]].map(|n| n as usize * 8);
                            (dataset, &own[..], &data[start..start + count])
                        })
                        .collect();
                    let mut file = Writer::create(comm, &path, b"", &WriteOptions::default()).unwrap();
                    if is_together {
                        file.datasets(&all).unwrap();
                    } else {
                        all.iter().for_each(|one| file.dataset(one.0, one.1, one.2).unwrap());
                    }
                    file.close().unwrap();
                });
                start.elapsed().as_secs_f64() * 1e3
            };
            let runs: Vec<[f64; 2]> = (0..5).map(|_| [false, true].map(run)).collect();
            let median = |value: &dyn Fn(&[f64; 2]) -> f64| {
                let mut values: Vec<f64> = runs.iter().map(value).collect();
                values.sort_by(f64::total_cmp);
                values[values.len() / 2]
            };
            println!(
                "| {what} | {megabytes:.2} | {ranks} | {:.1} | {:.1} | {:.2} |",
                median(&|run| run[0]),
                median(&|run| run[1]),
                median(&|run| run[0] / run[1])
            );
        }
    }
    std::fs::remove_file(path).unwrap();
}

/// Where a file is written that is measured, in memory if there is such a folder.
fn path() -> PathBuf {
    let folder = if Path::new("/dev/shm").is_dir() { "/dev/shm".into() } else { std::env::temp_dir() };
    folder.join(format!("scda-bench-{}", std::process::id()))
}

/// Small boxes that are read one by one, with the cache of chunks and without, and in one call.
fn boxes() {
    let path = path();
    let (shape, count) = ([512, 512, 8], [4, 4, 8]);
    let mut dataset = Dataset::new("rho", DataType::Float64, shape);
    dataset.layout = Layout::Chunked { shape: Some(vec![64, 64, 8]), text: false };
    let data = bytes_of("doubles, smooth", 512 * 512 * 8 * 8);
    let mut file = Writer::create(Solo, &path, b"", &WriteOptions::default()).unwrap();
    file.dataset(&dataset, &[IndexBox::all(&shape)], &data).unwrap();
    file.close().unwrap();
    let boxes: Vec<IndexBox> =
        (0..1000).map(|i| IndexBox::new([i * 7919 % 508, i * 104_729 % 508, 0], count)).collect();
    let bytes = 4 * 4 * 8 * 8;
    let time = |cache_bytes: u64, read: &dyn Fn(&mut Reader, &DatasetHandle)| {
        let mut params = ReadOptions::default();
        params.cache_bytes = cache_bytes;
        let once = || {
            let mut file = Reader::open(Solo, &path, &params).unwrap();
            let found = file.dataset_record("rho", 0).unwrap().unwrap();
            let start = Instant::now();
            read(&mut file, &found);
            start.elapsed().as_secs_f64() * 1e3
        };
        (0..5).map(|_| once()).fold(f64::INFINITY, f64::min)
    };
    let one_by_one = |file: &mut Reader, found: &DatasetHandle| {
        let mut memory = vec![0; bytes];
        boxes.iter().for_each(|one| found.read(file, std::slice::from_ref(one), &mut memory).unwrap());
    };
    let in_one_call = |file: &mut Reader, found: &DatasetHandle| {
        found.read(file, &boxes, &mut vec![0; 1000 * bytes]).unwrap()
    };
    let whole = |file: &mut Reader, found: &DatasetHandle| {
        found.read(file, &[IndexBox::all(&shape)], &mut vec![0; data.len()]).unwrap()
    };
    println!("| 1000 boxes of 1 KiB, ms | cache | no cache |");
    println!("|{}", " --- |".repeat(3));
    for (what, read) in [
        ("one by one", &one_by_one as &dyn Fn(&mut Reader, &DatasetHandle)),
        ("in one call", &in_one_call),
        ("all items", &whole),
    ] {
        println!("| {what} | {:.2} | {:.2} |", time(ReadOptions::DEFAULT_CACHE_BYTES, read), time(0, read));
    }
    let _ = std::fs::remove_file(&path);
}

/// Plain data written from and read into memory of another type, beside memory of the file's type, and of that with a copy that the
/// program makes: GB/s of the bytes in memory of the wider type.
fn converted() {
    let path = path();
    let items = 1 << 23;
    let shape = [items as u64];
    println!(
        "| in memory | in the file | | as in the file | with a copy | converted | converted / with a copy |"
    );
    println!("|{}", " --- |".repeat(7));
    for (wide, narrow) in [(DataType::Float64, DataType::Float32), (DataType::Int64, DataType::Int32)] {
        // Whole numbers, which both types have.
        let numbers = (0..items).map(|i| i % 99_991);
        let data: Vec<u8> = match wide {
            DataType::Float64 => numbers.flat_map(|i| (i as f64).to_ne_bytes()).collect(),
            _ => numbers.flat_map(|i| (i as i64).to_ne_bytes()).collect(),
        };
        let (mut copy, mut found) = (vec![0; data.len()], vec![0; data.len()]);
        let speed = |seconds: f64| data.len() as f64 / seconds / 1e9;
        let write = |in_file: DataType, data: Data<'_>| {
            let _ = std::fs::remove_file(&path);
            let mut file = Writer::create(Solo, &path, b"", &WriteOptions::default()).unwrap();
            file.dataset(&Dataset::new("u", in_file, shape), &[IndexBox::all(&shape)], data).unwrap();
            file.close().unwrap();
        };
        let read = |data: DataMut<'_>| {
            let mut file = Reader::open(Solo, &path, &ReadOptions::default()).unwrap();
            let found = file.dataset_record("u", 0).unwrap().unwrap();
            found.read(&mut file, &[IndexBox::all(&shape)], data).unwrap();
        };
        let half = data.len() / 2;
        let memory = Memory::packed(&data).of_type(wide);
        let written = [
            best(|| write(narrow, Data::Packed(&data[..half]))).0,
            best(|| {
                copy[..half].copy_from_slice(&data[..half]);
                write(narrow, Data::Packed(&copy[..half]));
            })
            .0,
            best(|| write(narrow, Data::Boxes(std::slice::from_ref(&memory)))).0,
        ];
        let converted = best(|| read(DataMut::Boxes(vec![MemoryMut::packed(&mut found).of_type(wide)]))).0;
        assert!(found == data, "{wide:?}");
        let plain = best(|| read(DataMut::Packed(&mut copy[..half]))).0;
        let (copied, ()) = best(|| {
            read(DataMut::Packed(&mut copy[..half]));
            found[..half].copy_from_slice(&copy[..half]);
        });
        for (what, [plain, copied, converted]) in [("write", written), ("read", [plain, copied, converted])] {
            println!(
                "| {wide} | {narrow} | {what} | {:.2} | {:.2} | {:.2} | {:.2} |",
                speed(plain),
                speed(copied),
                speed(converted),
                copied / converted
            );
        }
    }
    let _ = std::fs::remove_file(&path);
}

fn main() {
    let named: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let kinds: Vec<&str> = KINDS
        .into_iter()
        .filter(|kind| named.is_empty() || named.iter().any(|n| kind.contains(n.as_str())))
        .collect();
    let others: [(&str, fn()); 9] = [
        ("entries", entries),
        ("chunks", || chunks(&KINDS[..6])),
        ("codecs", codecs),
        ("curves", curves),
        ("together", together),
        ("boxes", boxes),
        ("converted", converted),
        ("shuffle", shuffling),
        ("auto", auto),
    ];
    for (name, measure) in others {
        if named.is_empty() || named.iter().any(|other| other == name) {
            measure();
            println!();
        }
    }
    if !kinds.is_empty() {
        elements(&kinds);
    }
}
