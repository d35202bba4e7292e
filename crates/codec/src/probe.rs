//! Estimates whether repetitions make an element shorter, at a small fraction of the cost of finding them.
#![allow(clippy::cast_possible_truncation)] // places in stretches, and in the data

use super::block::{SymbolCounts, histogram};
use super::huffman::{FRACTION, entropy};
use super::matches::Matcher;

/// Nearby repetitions are searched for in samples of this length.
const PROBE_BYTES: usize = 2048;
/// One sample for this number of bytes, within the bounds below.
const BYTES_PER_SAMPLE: usize = 1 << 15;
const MIN_SAMPLES: usize = 2;
const MAX_SAMPLES: usize = 16;

/// Distant repetitions are found by words of this length.
const WORD_BYTES: usize = 8;
/// One word in 2^6 is stored. Its hash decides, so that the same word is chosen again where it repeats.
const CHOSEN_BITS: u32 = 6;
const TABLE_BITS: u32 = 11;
/// The largest distance of deflate.
const WINDOW: usize = 1 << 15;
/// The most bytes that are searched for words, evenly spread in stretches of four windows.
const MAX_SEARCHED: usize = 1 << 20;

/// Whether repetitions make a stream of `data` shorter by more than a hundredth. Depends only on the data.
pub fn repetitions_pay(data: &[u8], matcher: &mut Matcher) -> bool {
    pays_nearby(data, matcher) || pays_far(data)
}

/// Whether it pays to search for repetitions in a part of a plane of at most [`super::matches::MAX_BYTES`]
/// bytes.
pub fn pays(block: &[u8], matcher: &mut Matcher) -> bool {
    let bits = entropy(&histogram(block)) >> FRACTION;
    let bytes = block.len() as u64;
    if bits < FEW_BITS * bytes || block.len() <= 2 * SAMPLE_BYTES {
        return true;
    }
    let sample = &block[(block.len() - SAMPLE_BYTES) / 2..][..SAMPLE_BYTES];
    if bits > MANY_BITS * bytes / 32 {
        // Noise, unless it repeats exactly.
        return repeated_bytes(sample) > SAMPLE_BYTES / 64 || pays_far(block);
    }
    let with = SymbolCounts::of_tokens(matcher.tokens(sample)).code_bits();
    let without = SymbolCounts::of_bytes(sample).code_bits();
    with + without / 64 < without
}

/// The number of bytes that are sampled.
const SAMPLE_BYTES: usize = 1024;
/// With fewer bits a byte, bytes repeat so often that repetitions pay.
const FEW_BITS: u64 = 4;
/// With more bits for 32 bytes, the data are noise.
const MANY_BITS: u64 = 250;

/// In stretches of this length, every four bytes are stored, so that their repetitions are found.
const STRETCH_BYTES: usize = 4096;
const STRETCHES: usize = 4;
const STRETCH_TABLE_BITS: u32 = 13;

/// A low estimate of the size of a stream of `data`: their entropy, without all repeated bytes.
pub fn least_bytes(data: &[u8]) -> usize {
    let counted = (entropy(&histogram(data)) >> FRACTION) as usize / 8;
    if data.len() <= STRETCH_BYTES {
        return counted.saturating_sub(repeated_bytes(data));
    }
    if pays_far(data) {
        return 0;
    }
    let repeated: usize = evenly(data, STRETCHES, STRETCH_BYTES).map(repeated_bytes).sum();
    let all_repeated = repeated as u128 * data.len() as u128 / (STRETCHES * STRETCH_BYTES) as u128;
    counted.saturating_sub(all_repeated as usize)
}

/// An estimate of how many bytes belong to four that occurred before.
fn repeated_bytes(data: &[u8]) -> usize {
    let mut last = [0_u16; 1 << STRETCH_TABLE_BITS];
    let (mut found, mut end) = (0, 0);
    for (at, word) in data.windows(4).enumerate() {
        let Some(word) = word.first_chunk::<4>() else { continue };
        let hash = u32::from_le_bytes(*word).wrapping_mul(0x9E37_79B1);
        let slot = (hash >> (32 - STRETCH_TABLE_BITS)) as usize;
        let earlier = usize::from(std::mem::replace(&mut last[slot], at as u16));
        if earlier < at && data[earlier..].starts_with(word) {
            found += (at + 4 - end).min(4);
            end = at + 4;
        }
    }
    found
}

fn pays_nearby(data: &[u8], matcher: &mut Matcher) -> bool {
    let samples = (data.len() / BYTES_PER_SAMPLE).clamp(MIN_SAMPLES, MAX_SAMPLES);
    let (mut with, mut without) = (0, 0);
    for sample in evenly(data, samples, PROBE_BYTES) {
        with += SymbolCounts::of_tokens(matcher.tokens(sample)).code_bits();
        without += SymbolCounts::of_bytes(sample).code_bits();
    }
    with + without / 100 < without
}

fn pays_far(data: &[u8]) -> bool {
    let stretch = 4 * WINDOW;
    let (mut chosen, mut found) = (0_u32, 0_u32);
    let stretches = (data.len() / stretch).clamp(1, MAX_SEARCHED / stretch);
    for part in evenly(data, stretches, stretch) {
        let mut last = [u32::MAX; 1 << TABLE_BITS];
        for (at, word) in part.windows(WORD_BYTES).enumerate() {
            let Some(word) = word.first_chunk::<WORD_BYTES>() else { continue };
            let hash = u64::from_le_bytes(*word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            if hash >> (64 - CHOSEN_BITS) != 0 {
                continue;
            }
            let slot = (hash >> (64 - CHOSEN_BITS - TABLE_BITS)) as usize;
            let earlier = std::mem::replace(&mut last[slot], at as u32) as usize;
            chosen += 1;
            let same = earlier < at && at - earlier <= WINDOW && part[earlier..].starts_with(word);
            found += u32::from(same);
        }
    }
    found > chosen / 64
}

/// Samples of this length, evenly spread over the data, or all data if they are fewer.
fn evenly(data: &[u8], samples: usize, length: usize) -> impl Iterator<Item = &[u8]> {
    let length = length.min(data.len());
    let room = (data.len() - length) as u128;
    (0..samples).map(move |i| {
        let start = (room * (2 * i as u128 + 1) / (2 * samples as u128)) as usize;
        &data[start..start + length]
    })
}
