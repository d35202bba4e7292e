//! An encoder of LZ4 blocks. The output of the LZ4 libraries depends on the word size and byte order of the
//! machine, but the bytes of a file must not. Decoding uses liblz4.
//!
//! A block is a sequence of literals and matches. The upper four bits of a token are the number of literals,
//! the lower four the length of the match minus 4; 15 means that more bytes of the length follow, the last of
//! which is less than 255. Two bytes after the literals are the distance back to the match. The last five
//! bytes of a block are literals, and no match begins within its last twelve.

use crate::{MOST_SHORTENED, shortest};
use lz4::block::decompress_to_buffer;
use scda_base::error::{Error, Result};
use scda_base::memory::{grow, reserve};
use scda_base::numbers::to_usize;

const HASH_BITS: u32 = 14;
/// The shortest match.
const LEAST: usize = 4;
/// The largest distance of a match.
const FAR: usize = 65_535;
/// The bytes at the end of a block in which no match may begin, and in which none may end.
const NO_MATCH: usize = 12;
const LITERALS: usize = 5;

/// How levels 1 to 9 search for matches. `patience`: after 2^`patience` bytes without a match, every second
/// position is tried, then every third. `depth`: how many earlier positions with the same hash are compared.
#[derive(Clone, Copy)]
struct Search {
    patience: u32,
    depth: u32,
}

/// A quick search, which may be better for data that repeat at a distance.
const QUICK: Search = Search { patience: 9, depth: 1 };
const fn thorough(patience: u32, depth: u32) -> [Search; 2] {
    [Search { patience, depth }, QUICK]
}
/// The searches of levels 1 to 9, including those that [`shortest`] also tries.
const LEVELS: [&[Search]; 9] = [
    &[Search { patience: 6, depth: 1 }],
    &[Search { patience: 7, depth: 1 }],
    &[QUICK],
    &thorough(12, 4),
    &thorough(12, 8),
    &thorough(16, 16),
    &thorough(16, 32),
    &thorough(16, 96),
    &thorough(16, 384),
];

/// Compresses blocks, reusing its memory.
pub struct Lz4 {
    searches: &'static [Search],
    /// The current search.
    search: Search,
    /// The last position with each hash.
    last: Vec<u32>,
    /// For each recent position, how far back its hash occurred before; 0 if it did not.
    before: Vec<u16>,
}

#[derive(Clone, Copy)]
struct Lz4Match {
    at: usize,
    from: usize,
    length: usize,
}

impl Lz4 {
    /// # Errors
    /// `Argument` for a level other than 1 to 9; `Memory`.
    pub fn new(level: u32) -> Result<Self> {
        let searches = to_usize(level.into()).checked_sub(1).and_then(|place| LEVELS.get(place)).copied();
        let searches =
            searches.ok_or_else(|| Error::argument(format!("level: found {level}, expected 1 to 9")))?;
        let (mut last, mut before) = (Vec::new(), Vec::new());
        grow(&mut last, 1 << HASH_BITS)?;
        if searches.iter().any(|search| search.depth > 1) {
            grow(&mut before, FAR + 1)?;
        }
        Ok(Self { searches, search: QUICK, last, before })
    }

    /// Compresses `data`, of less than 2 GiB, to the start of `out`, which grows as needed, and returns the
    /// length.
    ///
    /// # Errors
    /// `Memory`.
    pub fn encode(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        shortest(self.searches.len(), data.len() / MOST_SHORTENED, out, |way, out| {
            self.search = self.searches[way];
            if self.search.depth > 1 {
                self.encode_once::<true>(data, out)
            } else {
                self.encode_once::<false>(data, out)
            }
        })
    }

    /// `DEEP` is true if the depth is more than 1. Knowing it, the compiler makes faster code for the other
    /// search.
    fn encode_once<const DEEP: bool>(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        out.clear();
        reserve(out, data.len() + data.len() / 255 + 16)?;
        self.last.fill(0);
        let mut done = 0;
        let end = data.len().saturating_sub(NO_MATCH);
        let (mut at, mut misses) = (0, 1_usize << self.search.patience);
        while at < end {
            let Some(mut found) = self.find::<DEEP>(data, at, done) else {
                at += misses >> self.search.patience;
                misses += 1;
                continue;
            };
            if DEEP {
                // A longer match at the next position is worth a literal.
                while found.at + 1 < end
                    && let Some(next) = self.find::<DEEP>(data, found.at + 1, done)
                    && next.length > found.length + 1
                {
                    found = next;
                }
            }
            sequence(&data[done..found.at], found, out);
            done = found.at + found.length;
            self.insert_within::<DEEP>(data, found, end);
            at = done;
            misses = 1 << self.search.patience;
        }
        last_literals(&data[done..], out);
        Ok(out.len())
    }

    /// The longest match among the candidates for a position, extended back at most to `done`. Stores the
    /// position.
    #[inline(always)]
    fn find<const DEEP: bool>(&mut self, data: &[u8], at: usize, done: usize) -> Option<Lz4Match> {
        let mut from = self.insert::<DEEP>(data, at);
        let mut best: Option<Lz4Match> = None;
        let here = word(data, at);
        for _ in 0..if DEEP { self.search.depth } else { 1 } {
            if from >= at || at - from > FAR {
                break;
            }
            if word(data, from) == here {
                let length = LEAST + same(data, from + LEAST, at + LEAST, data.len() - LITERALS);
                if best.is_none_or(|best| length > best.length) {
                    best = Some(Lz4Match { at, from, length });
                }
            }
            if !DEEP {
                break;
            }
            let Some(&back) = self.before.get(from & FAR).filter(|back| **back > 0) else { break };
            let Some(earlier) = from.checked_sub(usize::from(back)) else { break };
            from = earlier;
        }
        best.map(|mut found| {
            while found.at > done && found.from > 0 && data[found.at - 1] == data[found.from - 1] {
                found = Lz4Match { at: found.at - 1, from: found.from - 1, length: found.length + 1 };
            }
            found
        })
    }

    /// Stores a position, and returns the last one with the same hash.
    #[inline(always)]
    fn insert<const DEEP: bool>(&mut self, data: &[u8], at: usize) -> usize {
        let entry = &mut self.last[hash(data, at)];
        let from = to_usize(u64::from(*entry));
        // Blocks have less than 2 GiB.
        *entry = u32::try_from(at).unwrap_or(u32::MAX);
        if DEEP && let Some(before) = self.before.get_mut(at & FAR) {
            *before = if from < at { u16::try_from(at - from).unwrap_or(0) } else { 0 };
        }
        from
    }

    /// Stores positions that a match covers: all of them, or one near its end.
    fn insert_within<const DEEP: bool>(&mut self, data: &[u8], found: Lz4Match, end: usize) {
        let after = (found.at + found.length).min(end);
        if DEEP {
            (found.at + 2..after).for_each(|at| _ = self.insert::<DEEP>(data, at));
        } else if after >= 2 {
            self.insert::<DEEP>(data, after - 2);
        }
    }
}

/// Four bytes as a number.
#[inline(always)]
fn word(data: &[u8], at: usize) -> u32 {
    data[at..].first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Eight bytes as a number.
#[inline(always)]
fn long_word(data: &[u8], at: usize) -> u64 {
    data[at..].first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A hash of the five bytes at a position that is followed by at least eight.
#[inline(always)]
fn hash(data: &[u8], at: usize) -> usize {
    const PRIME: u64 = 889_523_592_379;
    to_usize((long_word(data, at) << 24).wrapping_mul(PRIME) >> (u64::BITS - HASH_BITS))
}

/// The length of the common bytes at two positions, up to `end` for the second.
#[inline(always)]
fn same(data: &[u8], mut from: usize, mut at: usize, end: usize) -> usize {
    let start = at;
    while at + 32 <= end && data[from..from + 32] == data[at..at + 32] {
        (from, at) = (from + 32, at + 32);
    }
    while at + 8 <= end {
        let other = long_word(data, from) ^ long_word(data, at);
        if other != 0 {
            return at - start + to_usize(u64::from(other.trailing_zeros() / 8));
        }
        (from, at) = (from + 8, at + 8);
    }
    while at < end && data[from] == data[at] {
        (from, at) = (from + 1, at + 1);
    }
    at - start
}

/// The half of a token for a length; appends the further bytes if it is 15.
fn put_rest(mut length: usize, out: &mut Vec<u8>) {
    if length < 15 {
        return;
    }
    length -= 15;
    while length >= 255 {
        out.push(255);
        length -= 255;
    }
    out.extend(u8::try_from(length));
}

fn nibble(length: usize) -> u8 {
    u8::try_from(length.min(15)).unwrap_or(15)
}

fn sequence(literals: &[u8], Lz4Match { at, from, length }: Lz4Match, out: &mut Vec<u8>) {
    out.push(nibble(literals.len()) << 4 | nibble(length - LEAST));
    put_rest(literals.len(), out);
    out.extend_from_slice(literals);
    out.extend_from_slice(&u16::try_from(at - from).unwrap_or(u16::MAX).to_le_bytes());
    put_rest(length - LEAST, out);
}

fn last_literals(literals: &[u8], out: &mut Vec<u8>) {
    out.push(nibble(literals.len()) << 4);
    put_rest(literals.len(), out);
    out.extend_from_slice(literals);
}

/// Decodes a block into `out`, and returns the number of bytes. The error is what was found instead. liblz4
/// decodes a match at distance 0, which the format forbids, as zeros.
pub fn decode(block: &[u8], out: &mut [u8]) -> Result<usize, String> {
    let n = out.len();
    let (Ok(room), Ok(_)) = (i32::try_from(n), i32::try_from(block.len())) else {
        return Err(format!("LZ4: found a block of {} bytes for {n}, expected less than 2 GiB", block.len()));
    };
    decompress_to_buffer(block, Some(room), out)
        .map_err(|_| format!("LZ4: found a damaged block, or one of more than {n} bytes of data"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a block decodes to by the rules of the format, including those for its end.
    fn plain(mut block: &[u8], total: usize) -> Vec<u8> {
        fn taken<'a>(block: &mut &'a [u8], n: usize) -> &'a [u8] {
            let (first, rest) = block.split_at(n);
            *block = rest;
            first
        }
        fn length(block: &mut &[u8], nibble: u8) -> usize {
            let mut all = usize::from(nibble);
            while all >= 15 && (all - 15) % 255 == 0 {
                let more = taken(block, 1)[0];
                all += usize::from(more);
                if more < 255 {
                    break;
                }
            }
            all
        }
        let mut out = Vec::new();
        loop {
            let token = taken(&mut block, 1)[0];
            let literals = length(&mut block, token >> 4);
            out.extend_from_slice(taken(&mut block, literals));
            if block.is_empty() {
                assert!(token & 15 == 0 && literals >= LITERALS.min(total), "{literals} literals at the end");
                return out;
            }
            let back = u16::from_le_bytes(*taken(&mut block, 2).first_chunk().unwrap());
            let from = out.len() - usize::from(back);
            assert!(out.len() + NO_MATCH <= total, "a match within the last bytes");
            (from..from + LEAST + length(&mut block, token & 15)).for_each(|at| out.push(out[at]));
        }
    }

    fn round_trip(data: &[u8], level: u32) -> usize {
        let mut out = Vec::new();
        let length = Lz4::new(level).unwrap().encode(data, &mut out).unwrap();
        let mut found = vec![0; data.len()];
        assert_eq!(decode(&out[..length], &mut found), Ok(data.len()));
        assert!(found == data && plain(&out[..length], data.len()) == data, "level {level}");
        length
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn blocks_come_back(
            words in prop::collection::vec((any::<u8>(), 1..40_usize, 1..300_usize), 0..200), level in 1..=9_u32,
        ) {
            let mut data: Vec<u8> = Vec::new();
            for (byte, run, back) in words {
                for i in 0..run {
                    let earlier = data.len().checked_sub(back).map(|at| data[at]);
                    data.push(if byte % 3 == 0 { earlier.unwrap_or(byte) } else { byte.wrapping_add((i / 5) as u8) });
                }
            }
            round_trip(&data, level);
        }
    }

    #[test]
    fn what_is_no_block_is_told() {
        let most = "LZ4: found a damaged block, or one of more than";
        for (block, room) in [
            (&[][..], 99),
            (&[0x10], 99),
            (&[0xf0], 99),
            (&[0xf0, 255], 99),
            // A block that ends after the distance of a match, within the match length, or after it.
            (&[0x10, 7, 1], 99),
            (&[0x1f, 7, 1, 0], 99),
            (&[0x10, 7, 1, 0], 99),
            // A match before the beginning of the data.
            (&[0x10, 7, 2, 0, 0x50, 1, 2, 3, 4, 5], 99),
            // More data than fit: literals, or a match.
            (&[0x60, 1, 2, 3, 4, 5, 6], 5),
            (&[0x1f, 7, 1, 0, 200, 0x50, 1, 2, 3, 4, 5], 200),
        ] {
            let found = decode(block, &mut vec![0; room]);
            assert_eq!(found, Err(format!("{most} {room} bytes of data")), "{block:?}");
        }
        let long = vec![0; 1 << 31]; // costs no memory
        let told = decode(&long, &mut [0; 7]).unwrap_err();
        assert_eq!(told, "LZ4: found a block of 2147483648 bytes for 7, expected less than 2 GiB");
        let mut found = [1; 13];
        assert_eq!(decode(&[0x13, 7, 0, 0, 0x50, 1, 2, 3, 4, 5], &mut found), Ok(13));
        assert_eq!(found, [7, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5]);
        let whole = [0x1f, 7, 1, 0, 20, 0x50, 1, 2, 3, 4, 5];
        assert_eq!(decode(&whole, &mut [0; 99]), Ok(1 + 4 + 15 + 20 + 5));
    }

    #[test]
    fn short_and_long_blocks_come_back() {
        for level in 1..=9 {
            for n in (0..40).chain([254, 255, 256, 270, 65_535, 65_536, 200_000]) {
                assert!(round_trip(&vec![7; n], level) <= n / 200 + 24);
                let ramp: Vec<u8> = (0..n).map(|i| (i * i / 97) as u8).collect();
                round_trip(&ramp, level);
            }
        }
    }

    #[test]
    fn matches_begin_as_far_back_as_they_may() {
        let next = |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        let noise: Vec<u8> =
            std::iter::successors(Some(1), next).map(|state| (state >> 56) as u8).take(4000).collect();
        for level in 1..=9 {
            let length = |distance: usize| {
                let between = vec![0; distance - noise.len()];
                round_trip(&[&noise[..], &between, &noise, &[7; 20]].concat(), level)
            };
            let [near, far, too_far] = [4100, FAR, FAR + 1].map(length);
            assert!(far < near + 300 && too_far > near + 3900, "level {level}: {near} {far} {too_far}");
        }
    }

    #[test]
    fn a_level_beyond_9_is_an_argument_error() {
        for level in [0, 10] {
            assert_eq!(Lz4::new(level).err().unwrap().kind(), scda_base::error::ErrorKind::Argument);
        }
    }
}
