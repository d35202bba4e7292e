//! Finds repetitions (LZ77) in elements of up to 32 KiB, without clearing tables for each element.
//!
//! **Why not a library.** Every element is a stream of its own. zlib and libdeflate clear 64 to 200 KiB of
//! tables before each stream; so do zlib-rs and zlib-ng, the latter not measured. In elements of 64 bytes,
//! this encoder is 1.7 to 4.6 times as fast as libdeflate (`benches/records/libdeflate-2026-11-24.md`) and
//! 3.5 times as fast as zlib (`benches/records/zlib-rs-2026-11-22.md`). Longer elements go to libdeflate
//! (`super::adaptive`).
//!
//! **Algorithm.** Two hash tables hold the last position of each sequence of three and four bytes, and a
//! chain links the earlier positions of the same four. At each byte, [`Matcher::find`] follows the chain over
//! a number of positions that depends on the level ([`Effort`]), and takes the most valuable repetition:
//! longer and nearer ones are better ([`Match::merit`]). Levels 4 to 9 also try the next byte before they
//! take a short repetition (lazy matching). The result is a list of [`Token`]s, for which [`super::block`]
//! makes the code.
//!
//! Positions are counted over all elements (`base`). A table entry below the element's first position comes
//! from an earlier element and is ignored, so nothing is cleared until the count approaches 2^32.
//!
//! **Trade-offs.**
//! - The hash tables are small (48 KiB in all; the chain takes 4 bytes for each byte of the element), so that
//!   they stay in the cache.
//! - Where nothing repeats, the matcher skips up to 7 bytes at a time, but still stores them. A repetition
//!   that is found later is extended backwards over them.
//! - A repetition that takes about as many bits as its bytes would as literals is not taken. The bits of
//!   literals are estimated from the entropy of the whole element.

use super::block::{MAX_MATCH, MIN_MATCH, Token, histogram};
use super::huffman::{FRACTION, entropy, used};
use scda_base::error::Result;
use scda_base::memory::{reserve, zeros};

/// The longest element. Its distances fit deflate's.
pub const MAX_BYTES: usize = 1 << 15;

const HASH3_BITS: u32 = 12;
const HASH4_BITS: u32 = 13;

/// After this many literals without a repetition, one byte is skipped; after twice as many, two.
const PATIENCE: usize = 64;
/// The most bytes that are skipped.
const MAX_SKIP: usize = 7;
/// Within a longer repetition, not every position is stored.
const LONG_MATCH: usize = 64;

/// How much work a level spends.
#[derive(Clone, Copy)]
struct Effort {
    /// How many earlier positions with the same four bytes are compared in an element with few different
    /// bytes.
    places_in_text: u32,
    /// The same for an element with many: its best repetitions are near.
    places_in_numbers: u32,
    /// A repetition of at least this length is taken at once.
    good: usize,
    /// Whether the next byte is tried before a shorter repetition is taken.
    lazy: bool,
}

/// The first four bytes at a position, and the last earlier positions with the same ones. 0: none.
struct HashEntry {
    word: u32,
    last3: u32,
    last4: u32,
}

impl Effort {
    fn of_level(level: u32) -> Self {
        let ([places_in_text, places_in_numbers], good, lazy) = match level {
            0..=1 => ([2, 2], 32, false),
            2 => ([6, 6], 32, false),
            3 => ([8, 8], 64, false),
            4..=6 => ([8, 4], 64, true),
            7 => ([40, 16], 128, true),
            _ => ([300, 300], MAX_MATCH, true),
        };
        Self { places_in_text, places_in_numbers, good, lazy }
    }
}

/// Finds repetitions. Its tables hold positions counted over all elements, so that a position in an earlier
/// element is recognized.
pub struct Matcher {
    effort: Effort,
    /// The last position of each three bytes, and of each four.
    last3: Box<[u32; 1 << HASH3_BITS]>,
    last4: Box<[u32; 1 << HASH4_BITS]>,
    /// For each byte of the element, the previous position with the same four bytes.
    before: Box<[u32; MAX_BYTES]>,
    /// The position of the element's first byte.
    base: u32,
    tokens: Vec<Token>,
}

#[derive(Clone, Copy, Default)]
struct Match {
    length: usize,
    distance: usize,
}

impl Match {
    /// Its value: one more byte outweighs a distance sixteen times as long.
    fn merit(self) -> usize {
        4 * self.length + 15 - self.distance.max(1).ilog2() as usize
    }
}

#[inline]
fn word4(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..).and_then(<[u8]>::first_chunk).map(|bytes| u32::from_le_bytes(*bytes))
}

#[inline]
fn slot(word: u32, bits: u32) -> usize {
    // A factor whose products are well distributed in their high bits.
    (word.wrapping_mul(0x9E37_79B1) >> (32 - bits)) as usize
}

/// The length of the common bytes at `a` and at `b`, at most `most`.
fn common(data: &[u8], a: usize, b: usize, most: usize) -> usize {
    let (a, b) = (&data[a..a + most], &data[b..b + most]);
    let ((a8, a1), (b8, b1)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (i, (x, y)) in a8.iter().zip(b8).enumerate() {
        let differ = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differ != 0 {
            return 8 * i + differ.trailing_zeros() as usize / 8;
        }
    }
    most - a1.len() + a1.iter().zip(b1).take_while(|(x, y)| x == y).count()
}

/// What is known of an element's literals.
#[derive(Clone, Copy)]
struct Literals {
    /// The estimated average bits of one, in units of 1 / 256.
    bits: u64,
    /// Whether a repetition of three bytes can be shorter than the bytes.
    threes: bool,
    /// Whether the element has few different bytes.
    few: bool,
}

/// The most different bytes that count as few.
const FEW_VALUES: usize = 100;

impl Literals {
    fn new(data: &[u8]) -> Self {
        // Short elements do not pay for a code of their own.
        if data.len() < 256 {
            return Self { bits: 8 << FRACTION, threes: true, few: true };
        }
        let histogram = histogram(data);
        let bits = entropy(&histogram) / data.len() as u64;
        let few = used(&histogram).count() <= FEW_VALUES;
        // If all bytes occur, three bytes repeat only by chance, and far away.
        Self { bits, threes: 2 * bits < 13 << FRACTION, few }
    }
}

impl Matcher {
    /// # Errors
    /// `Memory`.
    pub fn new(level: u32) -> Result<Self> {
        // Elements of any length fit: see [`Self::tokens`].
        let mut tokens = Vec::new();
        reserve(&mut tokens, MAX_BYTES)?;
        Ok(Self {
            effort: Effort::of_level(level),
            last3: zeros()?,
            last4: zeros()?,
            before: zeros()?,
            base: 1,
            tokens,
        })
    }

    /// `data`, of at most [`MAX_BYTES`], as literals and repetitions.
    #[allow(clippy::cast_possible_truncation)] // lengths of at most 2^15
    pub fn tokens(&mut self, data: &[u8]) -> &[Token] {
        debug_assert!(data.len() <= MAX_BYTES);
        if self.base > u32::MAX - 2 * MAX_BYTES as u32 {
            self.last3.fill(0);
            self.last4.fill(0);
            self.base = 1;
        }
        self.tokens.clear();
        let literals = Literals::new(data);
        // The literals since the last repetition.
        let mut misses = 0;
        let mut at = 0;
        while at < data.len() {
            let mut found = self.find(data, at, MIN_MATCH - 1, literals);
            if found.length == 0 {
                // The longer nothing is found, the fewer positions are tried; but every position can be
                // found.
                let end = (at + 1 + (misses / PATIENCE).min(MAX_SKIP)).min(data.len());
                misses += end - at;
                for place in at + 1..end {
                    self.note(data, place, literals.threes);
                }
                self.tokens.extend(data[at..end].iter().map(|&byte| Token::literal(byte)));
                at = end;
                continue;
            }
            let is_lazy = self.effort.lazy && found.length < self.effort.good;
            while self.effort.lazy && found.length < self.effort.good && at + 1 < data.len() {
                let other = self.find(data, at + 1, found.length - 1, literals);
                if other.length == 0 || other.merit() < found.merit() + 3 {
                    break;
                }
                self.tokens.push(Token::literal(data[at]));
                at += 1;
                found = other;
            }
            // Its first position, and the next byte if that was tried, are already stored.
            let tried = is_lazy && found.length < self.effort.good;
            let end = at + found.length;
            // Within long repetitions, not every position is worth storing.
            let step = if found.length > LONG_MATCH { 8 } else { 1 };
            for place in (at + 1 + usize::from(tried)..end).step_by(step) {
                self.note(data, place, literals.threes);
            }
            // Skipped bytes may belong to it.
            if misses >= PATIENCE {
                while found.length < MAX_MATCH
                    && at > found.distance
                    && data[at - 1] == data[at - 1 - found.distance]
                    && self.tokens.pop_if(|token| token.is_literal()).is_some()
                {
                    at -= 1;
                    found.length += 1;
                }
            }
            self.tokens.push(Token::repetition(found.length, found.distance));
            misses = 0;
            at = end;
        }
        self.base += data.len() as u32;
        &self.tokens
    }

    /// Stores the bytes at a position; `None` at the end, where there are too few. With `threes`, also stores
    /// the first three of them.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    fn note(&mut self, data: &[u8], at: usize, threes: bool) -> Option<HashEntry> {
        let word = word4(data, at)?;
        let place = self.base + at as u32;
        let last3 = match threes {
            true => std::mem::replace(&mut self.last3[slot(word << 8, HASH3_BITS)], place),
            false => 0,
        };
        let last4 = std::mem::replace(&mut self.last4[slot(word, HASH4_BITS)], place);
        self.before[at % MAX_BYTES] = last4;
        Some(HashEntry { word, last3, last4 })
    }

    /// The best repetition at a position that is longer than `least` and takes fewer bits than its literals.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    fn find(&mut self, data: &[u8], at: usize, least: usize, literals: Literals) -> Match {
        let HashEntry { word, last3, last4: mut place } =
            match (self.note(data, at, literals.threes), &data[at..]) {
                (Some(noted), _) => noted,
                // The last three bytes are looked up, too.
                (None, &[a, b, c]) => {
                    let word = u32::from_le_bytes([a, b, c, 0]);
                    HashEntry { word, last3: self.last3[slot(word << 8, HASH3_BITS)], last4: 0 }
                }
                (None, _) => return Match::default(),
            };
        let base = self.base;
        let most = (data.len() - at).min(MAX_MATCH);
        let mut best = Match { length: least, distance: 0 };
        if literals.threes && least < 3 && last3 >= base {
            let earlier = (last3 - base) as usize;
            if word4(data, earlier).is_some_and(|other| (other ^ word) << 8 == 0) {
                best = Match { length: 3, distance: at - earlier };
            }
        }
        let Effort { places_in_text, places_in_numbers, .. } = self.effort;
        let mut left = if literals.few { places_in_text } else { places_in_numbers };
        while place >= base && left > 0 {
            let earlier = (place - base) as usize;
            left -= 1;
            place = self.before[earlier % MAX_BYTES];
            // The byte that would make the match longer is the most likely to differ.
            if best.length < most && data[earlier + best.length] == data[at + best.length] {
                let length = common(data, earlier, at, most);
                let other = Match { length, distance: at - earlier };
                if length > best.length && (best.distance == 0 || other.merit() > best.merit()) {
                    best = other;
                    if length >= self.effort.good {
                        break;
                    }
                }
            }
        }
        if best.distance == 0 {
            return Match::default();
        }
        // A length and a distance take about 12 bits plus those of the distance; the short distances of
        // records are frequent and take fewer.
        let extra = u64::from((best.distance as u32).ilog2().saturating_sub(1));
        let bits = (12 + extra).min(8 + 2 * extra);
        if best.length < 6 && best.length as u64 * literals.bits <= bits << FRACTION {
            return Match::default();
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expand(tokens: &[Token]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for token in tokens {
            match token.parts() {
                Ok(literal) => bytes.push(literal),
                Err((length, distance)) => {
                    assert!((MIN_MATCH..=MAX_MATCH).contains(&length) && distance <= bytes.len());
                    (0..length).for_each(|_| bytes.push(bytes[bytes.len() - distance]));
                }
            }
        }
        bytes
    }

    #[test]
    fn a_repetition_after_many_misses_is_found_whole() {
        let noise: Vec<u8> = (0..3000_u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 13) as u8).collect();
        let data = [&noise[..], &noise[301..2000]].concat();
        for level in [1, 2, 6, 9] {
            let mut matcher = Matcher::new(level).unwrap();
            let tokens = matcher.tokens(&data);
            assert!(tokens.len() < 3000 + 8 * 1699 / MAX_MATCH, "{}", tokens.len());
            assert_eq!(expand(tokens), data);
        }
    }

    #[test]
    fn places_do_not_run_over() {
        let mut matcher = Matcher::new(2).unwrap();
        let data = [7; 1000];
        let few = matcher.tokens(&data).len();
        matcher.base = u32::MAX - 2 * MAX_BYTES as u32 - 1500;
        for _ in 0..4 {
            assert_eq!(matcher.tokens(&data).len(), few);
        }
        assert!(matcher.base < 5000);
    }

    proptest! {
        #[test]
        fn tokens_stand_for_the_data(
            elements in proptest::collection::vec(
                (1..=255_u8, proptest::collection::vec(any::<u8>(), 0..2000)), 1..4,
            ),
            level in 1..=9_u32,
        ) {
            let mut matcher = Matcher::new(level).unwrap();
            for (most, mut data) in elements {
                data.iter_mut().for_each(|byte| *byte %= most);
                prop_assert_eq!(expand(matcher.tokens(&data)), &data[..]);
                // Earlier elements must not affect the result.
                let count = matcher.tokens(&data).len();
                prop_assert_eq!(Matcher::new(level).unwrap().tokens(&data).len(), count);
            }
        }
    }
}
