//! Text and numbers: count entries, headers, encoded elements.

use super::input::Input;
use crate::{memory, naive};
use scda::{Encoder, ErrorKind, LineBreak};
use scda_codec::{ElementDecoder, ElementEncoder};
use scda_format::entry::{CountFormat, parse_counts};
use scda_format::header::{parse_file_header, parse_section_header};

/// The first 64 bytes of the input as count entries, as a section's header and, with more, a file's.
pub fn parsers(input: &[u8]) {
    let (entries, _) = input.as_chunks::<32>();
    for letter in [b'N', b'E', b'U'] {
        for (index, entry) in entries.iter().enumerate() {
            let mut parsed = None;
            let result = parse_counts(entry, letter, 0, |_, value| {
                parsed = Some(value);
                Ok(())
            });
            let expected = naive::count(entry, letter);
            assert_eq!(result.ok().and(parsed), expected, "{}", entry.escape_ascii());
            if let Some(value) = expected {
                for style in [LineBreak::Unix, LineBreak::Mime] {
                    let formatted = CountFormat::new(letter, style).entry(value);
                    assert_eq!(formatted[..28], entry[..28]);
                    assert_eq!(naive::count(&formatted, letter), Some(value));
                }
            }
            // Any number of them at once must not be told from one after the other.
            let mut values = Vec::new();
            let result = parse_counts(entries[index..].as_flattened(), letter, 0, |at, value| {
                assert_eq!(at, values.len());
                values.push(value);
                Ok(())
            });
            let singly: Vec<Option<u64>> = entries[index..].iter().map(|e| naive::count(e, letter)).collect();
            let good: Vec<u64> = singly.iter().map_while(|value| *value).collect();
            assert_eq!(result.is_ok(), good.len() == singly.len());
            assert_eq!(values, good);
            if let Err(error) = result {
                assert_eq!(error.offset(), Some(32 * good.len() as u64));
            }
        }
    }
    if let Some(header) = input.first_chunk::<64>() {
        let expected =
            naive::undash(&header[2..]).filter(|_| header[1] == b' ' && b"IBAV".contains(&header[0]));
        let parsed = parse_section_header(header);
        assert_eq!(
            parsed.ok().map(|(kind, user)| (kind.letter(), user.to_vec())),
            expected.map(|u| (header[0], u))
        );
    }
    let parsed = parse_file_header(&input[..input.len().min(128)]);
    assert_eq!(parsed.ok().map(|header| header.user.to_vec()), naive::file_user(input));
    // The numbers of the input come back, whatever they are.
    let values: Vec<u64> = input.chunks(8).map(|word| Input(word).word() >> (word[0] % 64)).collect();
    for style in [LineBreak::Unix, LineBreak::Mime] {
        let format = CountFormat::new(b'E', style);
        let mut text = Vec::new();
        format.append(&values, &mut text);
        let one_by_one: Vec<u8> = values.iter().flat_map(|&value| format.entry(value)).collect();
        assert!(text == one_by_one);
        let mut back = Vec::new();
        parse_counts(&text, b'E', 0, |_, value| {
            back.push(value);
            Ok(())
        })
        .unwrap();
        assert_eq!(back, values);
    }
}

/// Hostile text: two bytes say the size of the element, then its text; or a stream that is put into text first.
pub fn codec_decode(input: &[u8]) {
    let mut rest = Input(input);
    let size = rest.below(65536);
    let text = match size % 2 {
        0 => rest.0.to_vec(),
        _ => {
            // A stream of the input in a text of the right form, so that the fuzzer reaches the inflater.
            let raw = [&(size as u64).to_be_bytes()[..], b"z", rest.0].concat();
            let line = |bytes: &[u8]| {
                use base64::Engine;
                base64::engine::general_purpose::STANDARD.encode(bytes) + "=\n"
            };
            raw.chunks(57).map(line).collect::<String>().into_bytes()
        }
    };
    let mut decoder = ElementDecoder::new(false).unwrap();
    let mut out = vec![0xee; size];
    let (peak, result) = memory::peak(|| decoder.decode(&text, &mut out));
    // The harness of the tests, which may report another one meanwhile, takes some KiB at times.
    assert!(peak <= 3 * text.len() + (16 << 10), "{peak} bytes of memory for {} of text", text.len());
    match (result, naive::element(&text, size)) {
        (Ok(()), expected) => assert!(expected.is_some_and(|expected| expected == out), "accepted"),
        (Err(error), expected) => {
            assert_eq!(error.kind(), ErrorKind::Decode);
            assert!(expected.is_none(), "refused: {error}");
        }
    }
    // An error leaves no trace in the decoder.
    let mut good = Vec::new();
    ElementEncoder::new(Encoder::Fast, 1, LineBreak::Unix).unwrap().encode(b"good", &mut good).unwrap();
    let mut out = [0; 4];
    decoder.decode(&good, &mut out).unwrap();
    assert_eq!(&out, b"good");
}

/// Elements go through one encoder and one decoder, and the encoder's state is not seen.
pub fn codec_round_trip(input: &[u8]) {
    let mut input = Input(input);
    let level = input.below(10) as u32;
    let encoder = [Encoder::Fast, Encoder::Zlib][input.below(2)];
    let (style, line_break) = [(LineBreak::Unix, b"=\n"), (LineBreak::Mime, b"\r\n")][input.below(2)];
    let mut shared = ElementEncoder::new(encoder, level, style).unwrap();
    let mut decoder = ElementDecoder::new(false).unwrap();
    for _ in 0..4 {
        let n = input.length();
        let data = input.bytes(n);
        let mut text = b"before".to_vec();
        let length = shared.encode(&data, &mut text).unwrap();
        let text = &text[6..];
        assert_eq!(length, text.len());
        assert_eq!(length, shared.measure(&data).unwrap());
        assert!(text.chunks(78).all(|line| line.ends_with(line_break)));
        // Not much larger than stored: 5 bytes a block, then four thirds and the line breaks.
        assert!(length <= data.len() * 7 / 5 + 100, "{length} of {}", data.len());
        let mut alone = Vec::new();
        ElementEncoder::new(encoder, level, style).unwrap().encode(&data, &mut alone).unwrap();
        assert!(text == alone, "the encoder's state is seen");
        let mut out = vec![0xee; data.len()];
        decoder.decode(text, &mut out).unwrap();
        assert!(out == data);
        assert!(naive::element(text, data.len()).unwrap() == data, "another decoder");
        if input.0.is_empty() {
            break;
        }
    }
}
