use super::*;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use proptest::prelude::*;

fn encode(encoder: Encoder, level: u32, style: LineBreak, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    ElementEncoder::new(encoder, level, style).unwrap().encode(data, &mut out).unwrap();
    out
}

fn decode(text: &[u8], size: usize) -> Result<Vec<u8>> {
    let mut out = vec![0xee; size];
    ElementDecoder::new(false).unwrap().decode(text, &mut out).map(|()| out)
}

/// An element with this stream, size and mark.
fn element(size: u64, mark: u8, stream: &[u8]) -> Vec<u8> {
    let raw = [&size.to_be_bytes()[..], &[mark], stream].concat();
    let mut out = vec![0; base64::encoded_bytes(raw.len())];
    base64::encode(&raw, *b"=\n", &mut out);
    out
}

fn zlib(data: &[u8], level: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() * 2 + 100);
    Compress::new(Compression::new(level), true).compress_vec(data, &mut out, FlushCompress::Finish).unwrap();
    out
}

#[test]
fn an_empty_element_is_not_empty() {
    for encoder in [Encoder::Fast, Encoder::Zlib] {
        let text = encode(encoder, 9, LineBreak::Unix, b"");
        assert!(text.ends_with(b"=\n") && text.len() as u64 >= MIN_ENCODED_BYTES);
        assert_eq!(decode(&text, 0).unwrap(), b"");
    }
}

#[test]
fn each_redundant_check_fails_as_a_decode_error() {
    let data = b"some data, some data, some data";
    let n = data.len();
    let stream = zlib(data, 9);
    assert_eq!(decode(&element(n as u64, b'z', &stream), n).unwrap(), data);
    assert_eq!((n, max_encoded_bytes(1)), (31, 65_538));
    let mut adler = stream.clone();
    *adler.last_mut().unwrap() ^= 1;
    for (what, text, size) in [
        ("found size 32, expected 31", element(n as u64 + 1, b'z', &stream), n),
        ("found size 4611686018427387904, expected 31", element(1 << 62, b'z', &stream), n),
        ("expected 'z' after its size", element(n as u64, b'Z', &stream), n),
        // A wrong checksum; streams that are truncated, missing, or have a dictionary, another method, a
        // larger window, or a header that fails its check.
        ("zlib stream: found corrupt data", element(n as u64, b'z', &adler), n),
        ("zlib stream: found corrupt data", element(n as u64, b'z', &stream[..stream.len() - 5]), n),
        ("zlib stream: found corrupt data", element(n as u64, b'z', b""), n),
        (
            "zlib stream: found corrupt data",
            element(n as u64, b'z', &[&[0x78, 0xbb][..], &stream[2..]].concat()),
            n,
        ),
        (
            "zlib stream: found corrupt data",
            element(n as u64, b'z', &[&[0x79, 0x18][..], &stream[2..]].concat()),
            n,
        ),
        (
            "zlib stream: found corrupt data",
            element(n as u64, b'z', &[&[0x88, 0x1c][..], &stream[2..]].concat()),
            n,
        ),
        (
            "zlib stream: found corrupt data",
            element(n as u64, b'z', &[&[0x78, 0x02][..], &stream[2..]].concat()),
            n,
        ),
        ("it does not end with its checksum", element(n as u64, b'z', &[&stream[..], b"x"].concat()), n),
        ("found data of 31 bytes, expected 30", element(n as u64 - 1, b'z', &stream), n - 1),
        ("found data of 31 bytes, expected 32", element(n as u64 + 1, b'z', &stream), n + 1),
        ("found data of more than the expected 9000 bytes", element(9000, b'z', &zlib(&[7; 9001], 6)), 9000),
        ("found data of 9000 bytes, expected 9001", element(9001, b'z', &zlib(&[7; 9000], 6)), 9001),
        ("found 0 decoded bytes, expected at least 9", Vec::new(), 0),
        ("found 65539 encoded bytes, expected at most 65538 for 1 bytes", vec![b'A'; 65_539], 1),
        ("found size 0, expected 1", vec![b'A'; 65_538], 1),
    ] {
        let error = decode(&text, size).unwrap_err();
        assert!(error.kind() == ErrorKind::Decode && error.to_string().contains(what), "{what}: {error}");
    }
}

#[test]
fn memory_is_kept_for_the_next_element_unless_it_is_much() {
    for (bytes, kept) in [(KEPT_BYTES, KEPT_BYTES), (KEPT_BYTES + 1, 0), (9, 9)] {
        let mut buffer = vec![0; bytes];
        trim(&mut buffer);
        assert_eq!(buffer.capacity(), kept);
    }
}

#[test]
fn a_stream_that_is_cut_is_an_error_even_if_zeros_are_missing() {
    // Data whose checksum is 0. Its first sum, 1 plus all bytes, is 65520 before the last byte; until then
    // zeros subtract 1 from the second sum, that of the first sums.
    let mut zero = [vec![255; 256], vec![239]].concat();
    let second = libdeflater::adler32(&zero) >> 16;
    zero.resize(zero.len() + second as usize, 0);
    zero.push(1);
    assert_eq!(libdeflater::adler32(&zero), 0);
    for data in [&zero[..], &[255], b"", b"some data"] {
        let stream = zlib(data, 6);
        let n = data.len();
        assert_eq!(decode(&element(n as u64, b'z', &stream), n).unwrap(), data);
        for cut in 0..stream.len() {
            assert!(decode(&element(n as u64, b'z', &stream[..cut]), n).is_err(), "{n} bytes, {cut}");
        }
    }
}

/// Whether zlib decompresses a whole stream to `size` bytes.
fn zlib_accepts(stream: &[u8], size: usize) -> bool {
    let mut found = Vec::with_capacity(size + 1);
    let mut inflate = Decompress::new(true);
    let status = inflate.decompress_vec(stream, &mut found, FlushDecompress::Finish);
    matches!(status, Ok(Status::StreamEnd))
        && (inflate.total_in(), found.len()) == (stream.len() as u64, size)
}

#[test]
fn a_strict_decoder_accepts_what_zlib_accepts_and_another_more() {
    let mut decoders = [false, true].map(|strict| ElementDecoder::new(strict).unwrap());
    let (mut flips, mut forbidden) = (0, 0);
    let text = b"a rank, a communicator, a partition; ranks, communicators, partitions. ".repeat(4);
    let mut all = [kinds(300), kinds(700)].concat();
    all.push(("text", text));
    // The symbol 285, for 258 bytes: changing a bit makes it the invalid 287.
    all.extend((1..9).map(|period: u8| ("period", (0..period).cycle().take(1200).collect())));
    for (kind, data) in all {
        for (encoder, level) in [(Encoder::Fast, 2), (Encoder::Zlib, 6)] {
            let n = data.len();
            let raw = encode(encoder, level, LineBreak::Unix, &data);
            let mut stream = vec![0; base64::decoded_room(raw.len())];
            let end = base64::decode(&raw, &mut stream).unwrap();
            let mut stream = stream[PREFIX_BYTES..end].to_vec();
            for bit in 0..8 * stream.len() {
                stream[bit / 8] ^= 1 << (bit % 8);
                let text = element(n as u64, b'z', &stream);
                let [any, strict] = decoders.each_mut().map(|decoder| {
                    let mut out = vec![0; n];
                    decoder.decode(&text, &mut out).map_err(|error| error.to_string()).map(|()| out)
                });
                let zlib = zlib_accepts(&stream, n);
                assert_eq!(strict.is_ok(), zlib, "{kind}, {encoder:?}, bit {bit}: {strict:?}");
                // The checksum detects all others.
                assert!(any.as_ref().map_or(!zlib, |out| *out == data), "{kind}, {encoder:?}, bit {bit}");
                let says_so = |error: &String| error.contains("violation of RFC 1951");
                assert!(zlib || any.is_err() || strict.as_ref().is_err_and(says_so), "{strict:?}");
                flips += 1;
                forbidden += usize::from(any.is_ok() && !zlib);
                stream[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
    println!("{flips} bits flipped, {forbidden} forbidden streams decoded");
    assert!(forbidden > 20, "{forbidden} of {flips}: nothing was tested");
}

#[test]
fn a_level_beyond_9_is_an_argument_error() {
    assert!(ElementEncoder::new(Encoder::Fast, 10, LineBreak::Unix).is_err());
}

/// Data for each of the adaptive encoder's ways, by name.
fn kinds(bytes: usize) -> Vec<(&'static str, Vec<u8>)> {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 48) as u16
    };
    let noise: Vec<u8> = (0..bytes).map(|_| random() as u8).collect();
    // Like the high bytes of numbers that vary in all bits.
    let skewed = (0..bytes).map(|i| if i % 8 > 1 { random() as u8 } else { (random() % 5) as u8 });
    vec![
        ("skewed noise", skewed.collect()),
        ("noise that comes again", noise.iter().copied().cycle().skip(3).take(bytes).collect()),
        ("ghosts", noise[..bytes.min(9_999)].iter().copied().cycle().take(bytes).collect()),
        ("noise", noise),
        ("zeros", vec![0; bytes]),
        ("records", (0..bytes).map(|i| if i % 12 == 0 { random() as u8 } else { (i % 12) as u8 }).collect()),
    ]
}

#[test]
fn every_way_of_compressing_is_decoded_and_as_short_as_zlibs() {
    let sizes = [0, 1, 2, 3, 4, 57, 64, 255, 256, 700, 4096, 16_384, 16_385, 65_535, 65_536, 100_000];
    for bytes in sizes {
        for (kind, data) in kinds(bytes) {
            for level in [1, 2, 6, 9] {
                let text = encode(Encoder::Fast, level, LineBreak::Unix, &data);
                assert_eq!(decode(&text, bytes).unwrap(), data, "{kind} {bytes} {level}");
                // zlib reads it, too, and so can everybody.
                let mut raw = vec![0; base64::decoded_room(text.len())];
                let n = base64::decode(&text, &mut raw).unwrap();
                let mut found = Vec::with_capacity(bytes + 1);
                let mut inflate = flate2::Decompress::new(true);
                let status = inflate.decompress_vec(&raw[9..n], &mut found, flate2::FlushDecompress::Finish);
                assert_eq!(status.unwrap(), flate2::Status::StreamEnd, "{kind} {bytes} {level}");
                assert_eq!(found, data);
                let zlib = encode(Encoder::Zlib, level, LineBreak::Unix, &data).len();
                assert!(text.len() <= zlib + zlib / 16 + 8, "{kind} {bytes} {level}: {} {zlib}", text.len());
            }
        }
    }
}

#[test]
fn words_that_come_again_nearby_are_found_though_longer_ones_do_not() {
    let noise = |bytes: usize| kinds(bytes)[3].1.clone();
    let (words, picks) = (noise(4 * 800), noise(2 * 16_000));
    let data: Vec<u8> = picks
        .as_chunks()
        .0
        .iter()
        .flat_map(|pick| &words[4 * (usize::from(u16::from_le_bytes(*pick)) % 800)..][..4])
        .copied()
        .collect();
    let [fast, zlib] = [Encoder::Fast, Encoder::Zlib].map(|e| encode(e, 6, LineBreak::Unix, &data).len());
    assert!(fast <= zlib + zlib / 16 && zlib < data.len(), "{fast} {zlib}");
}

/// Elements that libdeflate does not compress. If these bytes change, so do those of users' files, which
/// CHANGELOG.md must mention.
#[test]
fn the_bytes_of_short_elements_and_of_noise_stay() {
    let found = [1, 2, 3, 6, 7, 9].map(|level| {
        let mut all = Vec::new();
        for bytes in (0..80).chain([100, 150, 200, 255, 256]) {
            for (_, data) in kinds(bytes) {
                all.extend(encode(Encoder::Fast, level, LineBreak::Unix, &data));
            }
        }
        for bytes in [16_385, 40_000, 70_000] {
            for (_, data) in kinds(bytes).into_iter().filter(|(kind, _)| kind.ends_with("noise")) {
                all.extend(encode(Encoder::Fast, level, LineBreak::Unix, &data));
            }
        }
        scda_format::crc::of(&all)
    });
    let expected = [
        0x3ff2_48b8_c1cb_cd45,
        0x0866_b285_b226_ac6c,
        0x1bf1_d806_fd0c_dcb1,
        0xab7f_a3cc_774b_4395,
        0x1e7c_cde8_b95d_75f5,
        0x1e7c_cde8_b95d_75f5,
    ];
    assert_eq!(found, expected, "{found:#x?}");
}

#[test]
fn an_estimate_is_not_more_than_it_takes_and_for_noise_not_much_less() {
    let noise = |bytes: usize| kinds(bytes)[3].1.clone();
    for bytes in [64, 256, 1000, 4096, 30_000] {
        let mut all = kinds(bytes);
        // Noise that repeats near or far, and values of a dictionary.
        for period in [300, 1500, 2048, 3000, 5000] {
            all.push(("again", noise(period).iter().copied().cycle().take(bytes).collect()));
        }
        for values in [100, 300, 1000] {
            let dictionary = noise(4 * values);
            let picks = noise(bytes);
            let value = |i: usize| 4 * ((usize::from(picks[i]) * 251 + i) % values);
            let data = (0..bytes / 4).flat_map(|i| dictionary[value(i)..][..4].to_vec());
            all.push(("dictionary", data.collect()));
        }
        for (kind, data) in all {
            let encoded = encode(Encoder::Fast, 6, LineBreak::Unix, &data).len();
            let estimate = ElementEncoder::estimate(&data);
            // Data that the estimate gets wrong by a few percent are not taken for noise.
            assert!(estimate <= encoded.max(bytes + bytes / 16), "{kind} {bytes}: {estimate} {encoded}");
            assert!(kind != "noise" || estimate > bytes + bytes / 8, "{bytes}: {estimate}");
        }
    }
}

#[test]
fn what_is_next_to_nothing_takes_no_more_than_from_zlib() {
    for bytes in 0..24 {
        for (kind, data) in kinds(bytes) {
            let [fast, zlib] =
                [Encoder::Fast, Encoder::Zlib].map(|e| encode(e, 6, LineBreak::Unix, &data).len());
            assert!(fast <= zlib, "{kind} {bytes}: {fast} {zlib}");
        }
    }
    assert_eq!(encode(Encoder::Fast, 6, LineBreak::Unix, b"").len() as u64, MIN_ENCODED_BYTES);
}

proptest! {
    #[test]
    fn elements_come_back_and_state_leaves_no_trace(
        elements in proptest::collection::vec(proptest::collection::vec(0..8_u8, 0..3000), 1..4),
        level in 0..=9_u32, mime in any::<bool>(),
    ) {
        let style = if mime { LineBreak::Mime } else { LineBreak::Unix };
        for encoder in [Encoder::Fast, Encoder::Zlib] {
            let mut shared = ElementEncoder::new(encoder, level, style).unwrap();
            for data in &elements {
                let mut text = b"before".to_vec();
                let n = shared.encode(data, &mut text).unwrap();
                prop_assert_eq!(n + 6, text.len());
                prop_assert_eq!(&text[6..], encode(encoder, level, style, data));
                prop_assert_eq!(&decode(&text[6..], data.len()).unwrap(), data);
            }
        }
    }

    #[test]
    fn the_zlib_encoder_gives_the_stream_of_compress2(
        data in proptest::collection::vec(any::<u8>(), 0..3000), level in 0..=9_u32,
    ) {
        prop_assert_eq!(
            encode(Encoder::Zlib, level, LineBreak::Unix, &data),
            element(data.len() as u64, b'z', &compress2(&data, level))
        );
    }

    #[test]
    fn any_text_is_decoded_without_panic(text in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode(&text, 40);
    }
}

/// zlib's own one-shot function.
#[allow(unsafe_code, clippy::cast_possible_wrap)]
fn compress2(data: &[u8], level: u32) -> Vec<u8> {
    // SAFETY: compressBound has no preconditions.
    let mut length = unsafe { libz_sys::compressBound(data.len() as _) };
    let mut out = vec![0; length as usize];
    // SAFETY: both buffers have the lengths that are passed.
    let status = unsafe {
        libz_sys::compress2(out.as_mut_ptr(), &mut length, data.as_ptr(), data.len() as _, level as i32)
    };
    assert_eq!(status, libz_sys::Z_OK);
    out.truncate(length as usize);
    out
}
