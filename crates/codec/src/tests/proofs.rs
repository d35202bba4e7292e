//! Proofs about the parsers of frames and elements, for every value of every byte and for all short streams:
//! they never panic (arithmetic overflow and indices out of bounds included), and what they accept means what
//! the plain rules say.

use super::chunk::blosc::BloscDecoder;
use super::chunk::zstd::can_expand_by_zstd;
use super::chunk::{blosclz, can_be_chunk};
use super::element::{ElementDecoder, ElementEncoder};
use super::inflate::Inflater;
use super::{Encoder, base64, can_expand, max_encoded_bytes, texts};
use scda_format::dataset::DataType;
use scda_format::dataset::codecs::{Codecs, Compressor, Gzip, Zlib, Zstd};
use scda_format::padding::LineBreak;
use std::io::Read;

/// Calls with each position of the bytes, and with the bytes that have each other value there.
fn with_each_byte(bytes: &[u8], mut call: impl FnMut(usize, &[u8])) {
    let mut changed = bytes.to_vec();
    for place in 0..bytes.len() {
        for byte in (0..=255).filter(|byte| *byte != bytes[place]) {
            changed[place] = byte;
            call(place, &changed);
        }
        changed[place] = bytes[place];
    }
}

/// Calls with all sequences of at most `most` of these bytes.
fn with_all(bytes: &[u8], most: usize, call: &mut impl FnMut(&[u8])) {
    fn longer(made: &mut Vec<u8>, bytes: &[u8], most: usize, call: &mut impl FnMut(&[u8])) {
        call(made);
        if made.len() < most {
            for &byte in bytes {
                made.push(byte);
                longer(made, bytes, most, call);
                made.pop();
            }
        }
    }
    longer(&mut Vec::new(), bytes, most, call);
}

/// Frames of the C library, each with the size of its data.
fn frames() -> Vec<(usize, Vec<u8>)> {
    let all = std::fs::read("../../tests/vectors/blosc/frames.bin").unwrap();
    let (mut rest, mut frames) = (&all[..], Vec::new());
    while let Some((numbers, after)) = rest.split_first_chunk::<12>() {
        let [n, length] = [0, 4].map(|at| u32::from_le_bytes(*numbers[at..].first_chunk().unwrap()) as usize);
        frames.push((n, after[..length].to_vec()));
        rest = &after[length..];
    }
    frames
}

#[test]
fn each_byte_of_a_frame_may_have_any_value() {
    let mut decoder = BloscDecoder::default();
    let (mut formats, mut accepted, mut refused) = ([0; 8], 0, 0);
    for (n, frame) in frames().iter().filter(|(_, frame)| frame.len() <= 130) {
        formats[usize::from(frame[2] >> 5)] += 1;
        let mut out = vec![0; *n];
        with_each_byte(frame, |place, frame| {
            let is_data = decoder.decode(frame, &mut out).unwrap().is_ok();
            assert!(!is_data || BloscDecoder::data_bytes(frame) == Ok(*n as u64));
            // The version, and the sizes of the data and of the frame.
            assert!(!is_data || !matches!(place, 4..8 | 12..16) && (place > 0 || frame[0] == 1));
            *(if is_data { &mut accepted } else { &mut refused }) += 1;
        });
    }
    println!("{accepted} frames accepted, {refused} refused");
    assert!([0, 1, 3, 4].iter().all(|&format| formats[format] > 3) && accepted > 1000 && refused > 1000);
}

/// What a stream of BloscLZ appends to these bytes, by the rules of the format.
fn plain_blosclz(stream: &[u8], mut out: Vec<u8>) -> Option<Vec<u8>> {
    let mut bytes = stream.iter().map(|&byte| usize::from(byte));
    let Some(mut control) = bytes.next() else { return Some(out) };
    if out.is_empty() {
        control %= 32;
    }
    loop {
        if control < 32 {
            for _ in 0..=control {
                out.push(bytes.next()? as u8);
            }
        } else {
            let mut length = control / 32 + 2;
            while length >= 9 && (length - 9) % 255 == 0 {
                let more = bytes.next()?;
                length += more;
                if more < 255 {
                    break;
                }
            }
            let mut back = control % 32 * 256 + bytes.next()?;
            if back == 8191 {
                back += bytes.next()? * 256 + bytes.next()?;
            }
            for _ in 0..length {
                out.push(*out.get(out.len().checked_sub(back + 1)?)?);
            }
        }
        match bytes.next() {
            Some(next) => control = next,
            None => return Some(out),
        }
    }
}

/// After a stream that has produced some bytes, compares the results of all short ones with the rules.
fn all_streams_are_plain(before: &[u8], bytes: &[u8], most: usize) {
    let (mut accepted, mut refused) = (0, 0);
    let made = plain_blosclz(before, Vec::new()).unwrap();
    with_all(bytes, most, &mut |more| {
        let stream = [before, more].concat();
        // Memory for more bytes than there are, and for fewer.
        for room in [made.len() + 40, made.len() + 2] {
            let plain = plain_blosclz(more, made.clone()).filter(|plain| plain.len() <= room);
            let mut out = vec![0; room];
            let found = blosclz::decode(&stream, &mut out).ok();
            assert_eq!(found, plain.as_ref().map(Vec::len), "{more:?}");
            assert!(plain.is_none_or(|plain| out.starts_with(&plain)), "{more:?}");
            *(if found.is_some() { &mut accepted } else { &mut refused }) += 1;
        }
    });
    assert!(accepted > 100 && refused > 100, "{accepted} {refused}");
}

#[test]
fn all_short_streams_of_blosclz_mean_what_the_rules_say() {
    let bytes = [0, 1, 2, 31, 32, 64, 223, 224, 255];
    all_streams_are_plain(&[], &bytes, 6);
    // Matches that reach far back, into bytes that repeat at a distance that no error has.
    let mut before = [&[30][..], &Vec::from_iter(1..=31), &[224]].concat();
    before.extend([255; 35]);
    before.extend([50, 30]);
    all_streams_are_plain(&before, &bytes, 5);
}

#[test]
fn each_element_that_is_accepted_is_the_one_that_was_encoded() {
    let data: Vec<u8> = (0..90_u32).map(|i| (i * i % 7) as u8).collect();
    let mut decoder = ElementDecoder::new(false).unwrap();
    for (encoder, level) in [(Encoder::Fast, 6), (Encoder::Zlib, 9), (Encoder::Fast, 0)] {
        let mut text = Vec::new();
        let mut encoder = ElementEncoder::new(encoder, level, LineBreak::Unix).unwrap();
        encoder.encode(&data, &mut text).unwrap();
        assert_eq!(encoder.measure(&data).unwrap(), text.len());
        let (mut accepted, mut out) = (0, vec![0; data.len()]);
        with_each_byte(&text, |_, text| {
            let is_data = decoder.decode(text, &mut out).is_ok();
            assert!(!is_data || out == data);
            accepted += usize::from(is_data);
        });
        // The bytes of line breaks.
        assert!(accepted >= 2 * 255, "{accepted}");
    }
}

#[test]
fn each_text_that_is_accepted_is_that_of_its_bytes() {
    for n in [1, 2, 3, 55, 56, 57, 58, 59, 60] {
        let data: Vec<u8> = (0..n).map(|i: u32| (i * 37) as u8).collect();
        let encoded = |data: &[u8]| {
            let mut text = vec![0; base64::encoded_bytes(data.len())];
            base64::encode(data, *b"=\n", &mut text);
            text
        };
        let text = encoded(&data);
        let is_break = |at: usize| at % 78 >= 76 || at + 2 >= text.len();
        with_each_byte(&text, |_, changed| {
            let mut out = vec![0; base64::decoded_room(text.len())];
            if let Some(n) = base64::decode(changed, &mut out) {
                let again = encoded(&out[..n]);
                assert!((0..text.len()).all(|at| is_break(at) || again[at] == changed[at]));
            }
        });
    }
}

#[test]
fn each_chunk_of_texts_that_is_accepted_is_that_of_its_items() {
    let mut accepted = 0;
    let mut check = |chunk: &[u8]| {
        for items in 0..4 {
            let found = texts::parse(chunk, items, DataType::VariableBytes).unwrap();
            let Ok(places) = found else { continue };
            let mut again = Vec::new();
            texts::put_count(&mut again, items).unwrap();
            places.iter().for_each(|place| texts::put(&mut again, &chunk[place.clone()]).unwrap());
            assert_eq!(again, chunk);
            for fill in [&b""[..], b"\0", b"\x01\0", b"\x01\0\0"] {
                let is_all = places.iter().all(|place| chunk[place.clone()] == *fill);
                assert_eq!(texts::is_all(chunk, items, fill), is_all);
            }
            accepted += 1;
        }
    };
    with_all(&[0, 1, 3], 10, &mut check);
    with_each_byte(b"\x02\0\0\0\x02\0\0\0ab\x01\0\0\0c", |_, chunk| check(chunk));
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn how_many_bytes_can_be_an_element_or_a_chunk() {
    assert!(can_expand(0, 1031) && can_expand(1, 2063) && !can_expand(1, 2064) && !can_expand(0, 1032));
    assert_eq!(max_encoded_bytes(1000), 67_536);
    let plain = Codecs::default();
    let by = |compressor| Codecs { compressor: Some(compressor), ..plain };
    let zlib = by(Compressor::Zlib(Zlib { level: 1 }));
    for (codecs, least, most) in [
        (plain, 10_000, 10_000),
        (Codecs { shuffle: Some(2), ..plain }, 10_000, 10_000),
        (Codecs { crc32c: true, ..plain }, 10_004, 10_004),
        (zlib, 9, 85_536),
        (Codecs { crc32c: true, ..zlib }, 13, 85_540),
        (by(Compressor::Gzip(Gzip { level: 1 })), 9, 85_536),
        (by(Compressor::Zstd(Zstd { level: 1, checksum: false })), 0, 85_536),
    ] {
        let can = |bytes: u64| can_be_chunk(&codecs, bytes, 10_000);
        assert!(can(least) && can(most) && !can(most + 1), "{codecs:?}");
        assert!(least == 0 || !can(least - 1), "{codecs:?}");
    }
    assert!(can_expand_by_zstd(4, 128 << 10) && can_expand_by_zstd(4, (160 << 10) - 1));
    assert!(!can_expand_by_zstd(4, 160 << 10));
}

#[test]
fn each_gzip_stream_that_is_accepted_is_whole_and_the_last() {
    let data: Vec<u8> = (0..90_u32).map(|i| (i * i % 7) as u8).collect();
    let mut stream = Vec::new();
    flate2::read::GzEncoder::new(&data[..], flate2::Compression::best()).read_to_end(&mut stream).unwrap();
    let (mut inflater, mut out) = (Inflater::new(false).unwrap(), vec![0; data.len()]);
    with_each_byte(&stream, |_, stream| assert!(inflater.gunzip(stream, &mut out).is_err() || out == data));
    for end in 0..stream.len() {
        assert!(inflater.gunzip(&stream[..end], &mut out).is_err(), "{end}");
    }
    for n in [data.len() - 1, data.len() + 1] {
        assert!(inflater.gunzip(&stream, &mut vec![0; n]).is_err());
    }
    stream.push(0);
    assert!(inflater.gunzip(&stream, &mut out).unwrap_err().contains("found data after its end"));
}

#[test]
fn frames_of_snappy_are_read() {
    let data: Vec<u8> = (0..2000_u32).map(|i| (i % 300 / 7) as u8).collect();
    let stream = snap::raw::Encoder::new().compress_vec(&data).unwrap();
    let mut frame = vec![2, 1, 2 << 5 | 0x10, 1];
    let words = [data.len(), data.len(), 24 + stream.len(), 20, stream.len()];
    words.iter().for_each(|&word| frame.extend_from_slice(&(word as u32).to_le_bytes()));
    frame.extend_from_slice(&stream);
    let (mut decoder, mut out) = (BloscDecoder::default(), vec![0; data.len()]);
    decoder.decode(&frame, &mut out).unwrap().unwrap();
    assert!(out == data);
    // A stream with another length, and a damaged one.
    for (at, byte, expected) in [(24, 1, "found 1"), (frame.len() - 1, 255, "Snappy")] {
        let mut frame = frame.clone();
        frame[at] = byte;
        let found = decoder.decode(&frame, &mut out).unwrap().unwrap_err();
        assert!(found.contains(expected), "{found}");
    }
}
