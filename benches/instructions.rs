//! The pure parts of the library, and whole calls for small sections, for `scripts/instructions.sh`, which
//! counts their instructions.
//!
//! Without argument: prints their names. With a name: runs this one in the function `counted`, and
//! what has to be made before it elsewhere.
#![allow(missing_docs)]

use scda::{
    Encode, Encoder, LineBreak, ReadOptions, Reader, SectionType, Sink, Solo, Source, UserString,
    WriteOptions, Writer,
};
use scda_codec::{ElementDecoder, ElementEncoder};
use scda_format::entry::{CountFormat, parse_counts};
use scda_format::header::put_section_header;
use scda_format::padding::{MAX_DATA_PADDING, data_padding};
use std::hint::black_box;

/// What is counted: this function and all that it calls.
#[inline(never)]
fn counted(run: &mut dyn FnMut()) {
    run();
    black_box(()); // lest the call become a jump
}

/// Runs a part, counted if it is the one that the argument names.
fn part(name: &str, mut run: impl FnMut()) {
    match std::env::args().nth(1) {
        Some(wanted) if wanted == name => counted(&mut run),
        Some(wanted) if !wanted.starts_with('-') => run(),
        _ => {
            println!("{name}");
            run();
        }
    }
}

/// Numbers that look random.
fn random(count: usize) -> impl Iterator<Item = u64> {
    let mut state = 1_u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 11
    })
    .take(count)
}

/// 64 KiB of what looks like doubles, by integers alone, so that it is the same on every machine.
fn doubles(kind: &str) -> Vec<u8> {
    let value = |(i, random): (usize, u64)| {
        let i = i as u64;
        match kind {
            "noise" => (0x3fe0_0000 + i / 16) << 32 | random & 0xffff_ffff,
            _ => (0x3fe0_0000_0000 + i * i / 8 + random % 4) << 16,
        }
    };
    random(1 << 13).enumerate().flat_map(|pair| value(pair).to_le_bytes()).collect()
}

/// Sections as small as 1000 arrays of 1000 bytes and 1000 blocks of 100 bytes, by one rank alone.
fn small_sections() {
    let folder = tempfile::tempdir().unwrap();
    let (path, params) = (folder.path().join("small.scda"), WriteOptions::default());
    let (array, block) = (vec![7; 1000], [8; 100]);
    let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
    part("write 1000 arrays of 1000 bytes", || {
        for _ in 0..1000 {
            let data = Source::Contiguous(&array);
            file.array(b"density", &[125], 8, data, Encode::None).unwrap();
        }
    });
    part("write 1000 blocks of 100 bytes", || {
        for _ in 0..1000 {
            file.block(b"parameters", 0, 100, Some(&block), Encode::None).unwrap();
        }
    });
    file.close().unwrap();
    let mut file = Reader::open(Solo, &path, &ReadOptions::default()).unwrap();
    let mut found = vec![0; 1000];
    part("read 1000 arrays of 1000 bytes", || {
        for _ in 0..1000 {
            let section = file.next_section(false).unwrap().unwrap();
            file.read_array(&[section.count], section.size, Sink::Contiguous(&mut found)).unwrap();
        }
    });
    assert!(found == array);
    part("read 1000 blocks of 100 bytes", || {
        for _ in 0..1000 {
            let section = file.next_section(false).unwrap().unwrap();
            file.read_block(section.size, 0, Some(&mut found[..100])).unwrap();
        }
    });
    assert!(found[..100] == block && file.at_end());
    file.close().unwrap();

    let mut params = params;
    params.seal = true;
    let mut file = Writer::create(Solo, &path, b"", &params).unwrap();
    part("write 1000 arrays of 1000 bytes, and a seal", || {
        for _ in 0..1000 {
            let data = Source::Contiguous(&array);
            file.array(b"density", &[125], 8, data, Encode::None).unwrap();
        }
        file.commit().unwrap();
    });
    file.close().unwrap();
}

fn main() {
    small_sections();
    let values: Vec<u64> = random(10_000).map(|n| n % 5000).collect();
    let mut text = Vec::with_capacity(32 * values.len());
    part("format 10000 entries", || CountFormat::new(b'E', LineBreak::Unix).append(&values, &mut text));
    let mut sum = 0;
    part("parse 10000 entries", || {
        parse_counts(&text, b'E', 0, |_, value| {
            sum += value;
            Ok(())
        })
        .unwrap();
    });
    assert_eq!(sum, values.iter().sum::<u64>());
    let user = UserString::new(b"density").unwrap();
    let mut header = [0; 64];
    part("1000 section headers", || {
        for _ in 0..1000 {
            put_section_header(&mut header, SectionType::Array, black_box(&user), LineBreak::Unix);
            black_box(&header);
        }
    });
    let mut padding = [0; MAX_DATA_PADDING];
    part("1000 paddings", || {
        for n in 0..1000 {
            black_box(data_padding(&mut padding, black_box(n), Some(b'x'), LineBreak::Unix));
        }
    });
    let mut encoder = ElementEncoder::new(Encoder::Fast, 6, LineBreak::Unix).unwrap();
    let mut decoder = ElementDecoder::new(false).unwrap();
    for kind in ["noise", "smooth"] {
        let data = doubles(kind);
        for size in [64, 512, 4096, 65536] {
            let mut sizes = Vec::with_capacity(data.len() / size);
            text.clear();
            part(&format!("encode 64 KiB of {kind} in elements of {size}"), || {
                for element in data.chunks(size) {
                    sizes.push(encoder.encode(element, &mut text).unwrap());
                }
            });
            let mut found = vec![0; data.len()];
            part(&format!("decode 64 KiB of {kind} in elements of {size}"), || {
                let mut rest = text.as_slice();
                for (&length, element) in sizes.iter().zip(found.chunks_mut(size)) {
                    let (text, others) = rest.split_at(length);
                    rest = others;
                    decoder.decode(text, element).unwrap();
                }
            });
            assert!(found == data);
        }
    }
}
