use super::*;
use proptest::prelude::*;
use scda_base::error::ErrorKind;

/// Like `data` in tests/vectors/blosc/make.py.
fn data(n: usize, seed: u32) -> Vec<u8> {
    let (mut out, mut state) = (Vec::new(), seed);
    let next = |state: &mut u32| {
        *state = state.wrapping_mul(1_103_515_245).wrapping_add(12345) % (1 << 31);
        *state as usize
    };
    while out.len() < n {
        let drawn = next(&mut state);
        let (kind, run) = (drawn >> 28, (drawn >> 16) % 97);
        if kind < 3 || out.is_empty() {
            out.extend(std::iter::repeat_n((drawn >> 8) as u8, run + 1));
        } else if kind < 7 {
            let from = out.len() - (drawn >> 4) % out.len() - 1;
            out.extend_from_within(from..(from + run).min(out.len()));
        } else {
            (0..run).for_each(|_| out.push((next(&mut state) >> 16) as u8));
        }
    }
    out.truncate(n);
    out
}

#[test]
fn frames_of_the_c_library_are_read() {
    let folder = std::env::var("SCDA_FRAMES").unwrap_or("../../tests/vectors/blosc".into());
    let all = std::fs::read(format!("{folder}/frames.bin")).unwrap();
    let (mut rest, mut read) = (&all[..], 0);
    let mut decoder = BloscDecoder::default();
    while !rest.is_empty() {
        let [n, length, seed] = [0, 4, 8].map(|at| word(rest, at).unwrap());
        let (frame, after) = rest[12..].split_at(length as usize);
        let mut out = vec![0; n as usize];
        decoder.decode(frame, &mut out).unwrap().unwrap_or_else(|what| panic!("{seed}: {what}"));
        assert!(out == data(n as usize, seed), "{seed}: {n} bytes, {:?}", &frame[..16]);
        (rest, read) = (after, read + 1);
    }
    assert!(read >= 100, "{read} frames");
}

fn encoder(compressor: BloscCompressor, level: u32, item_bytes: u8) -> BloscEncoder {
    let shuffle = if item_bytes > 1 { BloscShuffle::Bytes } else { BloscShuffle::None };
    BloscEncoder::new(Blosc { compressor, level, shuffle, item_bytes, block_bytes: 0 }).unwrap()
}

#[test]
fn what_cannot_be_made_is_told() {
    let told = |compressor, level| {
        let made = Blosc { compressor, level, shuffle: BloscShuffle::None, item_bytes: 1, block_bytes: 0 };
        let error = BloscEncoder::new(made).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Argument);
        error.to_string()
    };
    assert_eq!(told(BloscCompressor::Zstd, 10), "level: found 10, expected 0 to 9");
    assert_eq!(told(BloscCompressor::Snappy, 1), "frames with Snappy can be read, but not written");
}

#[test]
fn a_frame_is_stored_unless_it_saves_a_128th() {
    let (n, noise) = (4096, data(20_000, 7));
    let mut stored = Vec::new();
    for zeros in 0..80 {
        // All bytes but a few are noise.
        let noise: Vec<u8> = noise.iter().zip(0..n - zeros).map(|(a, i)| a ^ ((i * i) >> 4) as u8).collect();
        let chunk = [noise, vec![0; zeros]].concat();
        let (mut frame, mut stream) = (Vec::new(), Vec::new());
        let compressed = Lz4::new(1).unwrap().encode(&chunk, &mut stream).unwrap();
        let length = encoder(BloscCompressor::Lz4, 1, 1).encode(&chunk, &mut frame).unwrap();
        let saves = BEFORE_STREAM + compressed < HEADER + n - n / LEAST_GAIN;
        assert_eq!(Flags(frame[2]).has(Flags::STORED), !saves, "{zeros} {compressed}");
        assert_eq!(length, if saves { BEFORE_STREAM + compressed } else { HEADER + n });
        stored.push(!saves);
    }
    assert!(stored.is_sorted_by(|a, b| a >= b) && stored[0] && !stored[79]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn frames_come_back(
        n in 0..20_000_usize, seed: u32, lz4: bool, level in 0..=9_u32, item_bytes in 1..20_u8, shuffles: bool,
        change: prop::sample::Index, bit in 0..8_u8,
    ) {
        let compressor = if lz4 { BloscCompressor::Lz4 } else { BloscCompressor::Zstd };
        let shuffle = if shuffles { BloscShuffle::Bytes } else { BloscShuffle::None };
        let mut encoder = BloscEncoder::new(Blosc { compressor, level, shuffle, item_bytes, block_bytes: 0 }).unwrap();
        let data = data(n, seed);
        let mut frame = b"before".to_vec();
        let length = encoder.encode(&data, &mut frame).unwrap();
        prop_assert_eq!(frame.len(), 6 + length);
        let mut out = vec![1; n];
        let mut decoder = BloscDecoder::default();
        decoder.decode(&frame[6..], &mut out).unwrap().unwrap();
        prop_assert!(out == data);
        prop_assert!(length <= n + HEADER);
        // Damage gives an error or other data, nothing worse.
        let at = 6 + change.index(length);
        frame[at] ^= 1_u8 << bit;
        let _ = decoder.decode(&frame[6..], &mut out).unwrap();
    }
}

#[test]
fn what_cannot_be_read_is_told() {
    let mut frame = Vec::new();
    encoder(BloscCompressor::Zstd, 1, 4).encode(&data(1000, 1), &mut frame).unwrap();
    let mut decoder = BloscDecoder::default();
    let mut told = |change: fn(&mut Vec<u8>), expected: &str| {
        let mut frame = frame.clone();
        change(&mut frame);
        let found = decoder.decode(&frame, &mut [0; 1000]).unwrap().unwrap_err();
        assert!(found.contains(expected), "{found}");
    };
    told(|frame| frame.truncate(15), "expected a header of 16");
    told(|frame| _ = frame.pop(), "of its header");
    told(|frame| frame[0] = 5, "version 5");
    told(|frame| frame[2] |= 5, "Blosc 2");
    told(|frame| frame[3] = 0, "items of 0");
    told(|frame| frame[5] = 11, "found 3048 bytes of data, expected 1000");
    told(|frame| frame[8..12].fill(0), "blocks of 0");
    told(|frame| frame[2] = frame[2] & 31 | 5 << 5, "the compressor 5");
    told(|frame| frame[16] = 255, "no stream at byte");
    told(|frame| frame[19] = 255, "no stream at byte");
    told(|frame| frame[23] = 127, "no stream at byte");
    told(|frame| frame[24] = 0, "zstd: ");
}

/// A frame of `bytes` bytes of data in one block, with these bytes after its header.
fn frame(flags: u8, item_bytes: u8, bytes: usize, rest: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 1, flags, item_bytes];
    for word in [bytes, bytes, HEADER + rest.len()] {
        frame.extend_from_slice(&(word as u32).to_le_bytes());
    }
    [&frame, rest].concat()
}

#[test]
fn streams_that_are_not_those_of_their_blocks_are_told() {
    // After the offset of the only block, and the length of its stream.
    let block = |stream: &[u8]| {
        let words = [HEADER + 4, stream.len()].map(|word| (word as u32).to_le_bytes());
        [words.as_flattened(), stream].concat()
    };
    let zlib = || {
        let mut out = Vec::with_capacity(900);
        let mut zlib = flate2::Compress::new(flate2::Compression::new(6), true);
        zlib.compress_vec(&data(400, 1), &mut out, flate2::FlushCompress::Finish).unwrap();
        out
    };
    let zstd = zstd::bulk::compress(&data(399, 1), 1).unwrap();
    let format = |format: u8| format << Flags::FORMAT | Flags::NOT_SPLIT;
    let mut decoder = BloscDecoder::default();
    let mut told = |frame: Vec<u8>| decoder.decode(&frame, &mut [0; 400]).unwrap();
    assert_eq!(told(frame(format(Flags::ZLIB), 1, 400, &block(&zlib()))), Ok(()));
    for (frame, expected) in [
        (frame(Flags::STORED, 1, 400, &[0; 399]), "found 399 stored bytes, expected 400"),
        (frame(0, 3, 400, &block(&[0; 9])), "block 0: found 3 streams for 400 bytes"),
        (frame(0, 1, 400, &block(&[])), "block 0: found 0 bytes in a stream, expected 400"),
        (frame(format(Flags::ZLIB), 1, 400, &block(&zlib()[..40])), "zlib: the stream does not end"),
        (frame(format(Flags::ZLIB), 1, 400, &block(&[0; 40])), "zlib: "),
        (frame(format(Flags::ZSTD), 1, 400, &block(&zstd)), "zstd: found 399 bytes, expected 400"),
        (frame(0, 1, 400, &[1, 2, 3]), "block 0: its offset is missing"),
    ] {
        let found = told(frame).unwrap_err();
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn a_frame_has_no_more_data_than_its_bytes_can_have() {
    let told = |bytes: usize, length: usize| {
        BloscDecoder::data_bytes(&frame(0, 1, bytes, &vec![0; length - HEADER]))
    };
    for length in [HEADER, 40_000, 70_000] {
        let most = ((length << 15) | 0x7fff).min(MAX_CHUNK_BYTES as usize);
        assert_eq!(told(0, length), Ok(0));
        assert_eq!(told(1000, length), Ok(1000));
        assert_eq!(told(most, length), Ok(most as u64));
        let found = told(most + 1, length).unwrap_err();
        assert_eq!(found, format!("found {} bytes of data in a frame of {length}", most + 1));
    }
}
