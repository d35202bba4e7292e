//! Writes blocks of a deflate stream: stored, with the fixed code, or with a code of their own, whichever is
//! shortest (RFC 1951, sections 3.2.4 to 3.2.7).
//!
//! **Algorithm.** The symbols of a block are counted ([`SymbolCounts`]). The counts give the exact length of
//! the block with the fixed code, its exact length when stored, and a lower estimate of its length with a
//! code of its own: the entropy, and the description of the code, estimated from the symbols used and the
//! gaps between them. Only if the estimate is the least is the code built ([`super::huffman`]) and its exact
//! length compared.
//!
//! **Why not a library.** zlib and libdeflate cannot write blocks of tokens that others have chosen. zlib
//! builds three codes for each block (literals, distances, the description) before it compares, which short
//! elements hardly ever reward. `fast 6` encodes noisy doubles in elements of 64 bytes 4.8 times as fast as
//! zlib's `compress2 6`, and in elements of 64 KiB, where bytes are only counted
//! ([`Blocks::write_literals`]), 11 times as fast, to the same size within 1 %
//! (`benches/records/codec-2026-11-20.md`). [`super::matches`] discusses zlib-rs and zlib-ng.
//!
//! **Trade-offs.**
//! - One block for a short element, one for each 32 KiB of bytes that are only counted: there is no search
//!   for better borders, which homogeneous data do not reward.
//! - A stored block wins if it is at most four bytes, or a 128th, longer, because it is decoded ten times as
//!   fast.
//! - Code words of literals and lengths have at most 14 bits, not 15, so that four literals, or a repetition,
//!   fit between two flushes of the [`BitWriter`].
//! - Decisions use only integers, so that the bytes are the same on every machine.
#![allow(clippy::cast_possible_truncation)] // as in the alphabets

use super::huffman::{BitWriter, FRACTION, Word, code_lengths, code_words, entropy, used};

/// The shortest and the longest repetition.
pub const MIN_MATCH: usize = 3;
pub const MAX_MATCH: usize = 258;

/// The most bytes of a stored block; any block may become one.
const MAX_BLOCK_BYTES: usize = 65_535;

const LITERALS: usize = 288;
const DISTANCES: usize = 30;
const END_OF_BLOCK: usize = 256;
/// The longest code words, with which a repetition, or four literals, fit between two flushes of a
/// [`BitWriter`].
const LONGEST_LITERAL: usize = 14;
const LONGEST_DISTANCE: usize = 15;
/// The number of symbols in the code of code lengths.
const PRECODE: usize = 19;
const LONGEST_PRECODE: usize = 7;
const PRECODE_ORDER: [usize; PRECODE] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// A literal byte, or a repetition of bytes: its length and its distance back.
#[derive(Clone, Copy)]
pub struct Token(u32);

impl Token {
    const MATCH: u32 = 1 << 31;

    pub fn literal(byte: u8) -> Self {
        Self(u32::from(byte))
    }

    /// A repetition of 3 to 258 bytes, from 1 to 32768 bytes back.
    #[allow(clippy::cast_possible_truncation)] // 8 and 15 bits
    pub fn repetition(length: usize, distance: usize) -> Self {
        debug_assert!((MIN_MATCH..=MAX_MATCH).contains(&length) && (1..=32_768).contains(&distance));
        Self(Self::MATCH | ((length - MIN_MATCH) as u32) << 15 | (distance - 1) as u32)
    }

    fn is_match(self) -> bool {
        self.0 & Self::MATCH != 0
    }

    pub fn is_literal(self) -> bool {
        !self.is_match()
    }

    /// The literal, or the length and distance.
    #[cfg(test)]
    pub fn parts(self) -> Result<u8, (usize, usize)> {
        if self.is_match() {
            Err((self.index() + MIN_MATCH, self.distance() as usize + 1))
        } else {
            Ok(self.0 as u8)
        }
    }

    /// The literal, or the length minus 3.
    fn index(self) -> usize {
        usize::from(if self.is_match() { (self.0 >> 15) as u8 } else { self.0 as u8 })
    }

    /// The distance minus 1.
    fn distance(self) -> u32 {
        self.0 & 0x7fff
    }
}

/// The symbols of lengths, by length minus 3: symbol, extra bits, and the least length of the symbol minus 3.
const LENGTH_SYMBOLS: [(u16, u8, u8); 256] = {
    let mut table = [(0, 0, 0); 256];
    let mut i = 0;
    while i < 255 {
        let (index, extra) = split_in_parts(i as u32, 4);
        table[i] = (257 + index as u16, extra as u8, (i as u32 & !((1 << extra) - 1)) as u8);
        i += 1;
    }
    table[255] = (285, 0, 255);
    table
};

/// The symbol of a number, in an alphabet that doubles its steps every `parts` symbols, and its extra bits.
const fn split_in_parts(number: u32, parts: u32) -> (u32, u32) {
    if number < 2 * parts {
        return (number, 0);
    }
    let extra = number.ilog2() - parts.ilog2();
    (extra * parts + (number >> extra), extra)
}

/// The symbol of a distance minus 1, and its extra bits.
fn distance_symbol(distance: u32) -> (usize, u32) {
    let (symbol, extra) = split_in_parts(distance, 2);
    (symbol as usize, extra)
}

/// The code lengths of the fixed code.
const FIXED_LENGTHS: [u8; LITERALS] = {
    let mut lengths = [8; LITERALS];
    let mut i = 144;
    while i < 280 {
        lengths[i] = if i < 256 { 9 } else { 7 };
        i += 1;
    }
    lengths
};

/// The code words of a block.
struct Code {
    literals: [Word; LITERALS],
    distances: [Word; DISTANCES],
}

impl Code {
    const EMPTY: Self = Self {
        literals: [Word { bits: 0, length: 0 }; LITERALS],
        distances: [Word { bits: 0, length: 0 }; DISTANCES],
    };
}

/// How often the symbols of a block occur.
pub struct SymbolCounts {
    literals: [u32; LITERALS],
    distances: [u32; DISTANCES],
    /// The number of extra bits of all repetitions.
    extra_bits: u64,
}

impl SymbolCounts {
    /// Counts the symbols of tokens.
    pub fn of_tokens(tokens: &[Token]) -> Self {
        let mut this = Self { literals: [0; LITERALS], distances: [0; DISTANCES], extra_bits: 0 };
        for &token in tokens {
            if token.is_match() {
                let (symbol, extra, _) = LENGTH_SYMBOLS[token.index()];
                let (distance, more) = distance_symbol(token.distance());
                this.literals[usize::from(symbol)] += 1;
                this.distances[distance] += 1;
                this.extra_bits += u64::from(extra) + u64::from(more);
            } else {
                this.literals[token.index()] += 1;
            }
        }
        this.literals[END_OF_BLOCK] = 1;
        this
    }

    /// Counts bytes as literals.
    pub fn of_bytes(data: &[u8]) -> Self {
        let mut this = Self { literals: [0; LITERALS], distances: [0; DISTANCES], extra_bits: 0 };
        this.literals[..256].copy_from_slice(&histogram(data));
        this.literals[END_OF_BLOCK] = 1;
        this
    }

    /// The number of bits of the tokens with these code lengths.
    fn bits(&self, literals: &[u8], distances: &[u8]) -> u64 {
        // At most 2^16 tokens of less than 2^4 bits.
        let sum = |frequencies: &[u32], lengths: &[u8]| -> u32 {
            frequencies.iter().zip(lengths).map(|(&frequency, &length)| frequency * u32::from(length)).sum()
        };
        u64::from(sum(&self.literals, literals))
            + u64::from(sum(&self.distances, distances))
            + self.extra_bits
    }

    /// The approximate number of bits of the tokens with a code of their own, without its description.
    pub fn code_bits(&self) -> u64 {
        let least = |frequencies: &[u32]| {
            let tokens: u32 = frequencies.iter().sum();
            (entropy(frequencies) >> FRACTION).max(u64::from(tokens))
        };
        least(&self.literals) + least(&self.distances) + self.extra_bits
    }

    /// A lower estimate of the bits of a block with a code of its own: the entropy, and the description of
    /// the code, estimated from the symbols used and the gaps between them.
    fn least_dynamic_bits(&self) -> u64 {
        let mut half_bits = 58;
        let mut next = 0;
        for (symbol, _) in used(&self.literals) {
            // A length takes a bit or two, a run of zeros its code and its extra bits.
            half_bits += match symbol - next {
                0 => 3,
                1 | 2 => 5,
                3..=10 => 11,
                _ => 19,
            };
            next = symbol + 1;
        }
        half_bits / 2 + self.code_bits()
    }
}

/// How often each byte occurs.
pub fn histogram(data: &[u8]) -> [u32; 256] {
    // Four tables, so that runs of equal bytes do not wait for each other's sum.
    let mut counts = [[0_u32; 256]; 4];
    let (fours, rest) = data.as_chunks::<4>();
    for four in fours {
        for (count, &byte) in counts.iter_mut().zip(four) {
            count[usize::from(byte)] += 1;
        }
    }
    for &byte in rest {
        counts[0][usize::from(byte)] += 1;
    }
    std::array::from_fn(|i| counts.iter().map(|count| count[i]).sum())
}

/// A part of a code's description: a length, or a run of lengths with its extra bits.
#[derive(Clone, Copy, Default)]
struct Run {
    symbol: u8,
    extra: u8,
}

/// The extra bits of the symbols of runs.
const EXTRA_BITS: [u32; PRECODE] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 7];

/// The code of a block and its description.
struct DynamicCode {
    lengths: [u8; LITERALS + DISTANCES],
    literals: usize,
    distances: usize,
    runs: [Run; LITERALS + DISTANCES],
    run_count: usize,
    precode: [u8; PRECODE],
    precode_count: usize,
    /// The bits of the description.
    bits: u64,
}

impl DynamicCode {
    fn new(statistics: &SymbolCounts) -> Self {
        let mut lengths = [0; LITERALS + DISTANCES];
        let (literals, distances) = lengths.split_at_mut(LITERALS);
        code_lengths(&statistics.literals, LONGEST_LITERAL, literals);
        code_lengths(&statistics.distances, LONGEST_DISTANCE, distances);
        let end = |lengths: &[u8], least: usize| {
            lengths.iter().rposition(|&n| n > 0).map_or(least, |i| least.max(i + 1))
        };
        let (literals, distances) = (end(literals, 257), end(distances, 1));
        let mut this = Self {
            lengths,
            literals,
            distances,
            runs: [Run::default(); LITERALS + DISTANCES],
            run_count: 0,
            precode: [0; PRECODE],
            precode_count: 0,
            bits: 0,
        };
        this.describe();
        this
    }

    fn describe(&mut self) {
        // The description covers both alphabets together.
        let mut all = [0; LITERALS + DISTANCES];
        all[..self.literals].copy_from_slice(&self.lengths[..self.literals]);
        let count = self.literals + self.distances;
        all[self.literals..count].copy_from_slice(&self.lengths[LITERALS..LITERALS + self.distances]);
        let mut frequencies = [0; PRECODE];
        let mut rest = &all[..count];
        while let Some(&length) = rest.first() {
            let run = rest.iter().take_while(|&&n| n == length).count();
            let (symbol, extra, taken) = match (length, run) {
                (0, 3..=10) => (17, run - 3, run),
                (0, 11..) => (18, run.min(138) - 11, run.min(138)),
                (1.., 4..) => {
                    self.push(length, 0, &mut frequencies);
                    (16, (run - 1).min(6) - 3, (run - 1).min(6) + 1)
                }
                _ => (length, 0, 1),
            };
            self.push(symbol, extra, &mut frequencies);
            rest = &rest[taken..];
        }
        code_lengths(&frequencies, LONGEST_PRECODE, &mut self.precode);
        let last = PRECODE_ORDER.iter().rposition(|&symbol| self.precode[symbol] > 0);
        self.precode_count = last.map_or(4, |last| (last + 1).max(4));
        let words: u32 = frequencies.iter().zip(&self.precode).map(|(&n, &bits)| n * u32::from(bits)).sum();
        let extra: u32 = (16..=18).map(|symbol| frequencies[symbol] * EXTRA_BITS[symbol]).sum();
        self.bits = 14 + 3 * self.precode_count as u64 + u64::from(words + extra);
    }

    fn push(&mut self, symbol: u8, extra: usize, frequencies: &mut [u32; PRECODE]) {
        // At most 127.
        self.runs[self.run_count] = Run { symbol, extra: u8::try_from(extra).unwrap_or(0) };
        self.run_count += 1;
        frequencies[usize::from(symbol)] += 1;
    }

    /// Writes the description.
    #[allow(clippy::cast_possible_truncation)] // fewer than 32
    fn write(&self, out: &mut BitWriter<'_>) {
        out.add((self.literals - 257) as u32, 5);
        out.add((self.distances - 1) as u32, 5);
        out.add((self.precode_count - 4) as u32, 4);
        out.flush();
        // As many as fit between two flushes.
        for symbols in PRECODE_ORDER[..self.precode_count].chunks(16) {
            for &symbol in symbols {
                out.add(u32::from(self.precode[symbol]), 3);
            }
            out.flush();
        }
        let mut words = [Word::default(); PRECODE];
        code_words(&self.precode, &mut words);
        for runs in self.runs[..self.run_count].chunks(4) {
            for run in runs {
                let symbol = usize::from(run.symbol);
                out.code(words[symbol]);
                out.add(u32::from(run.extra), EXTRA_BITS[symbol]);
            }
            out.flush();
        }
    }
}

/// Writes blocks, reusing its memory.
pub struct Blocks {
    fixed: Code,
    dynamic: Code,
}

impl Blocks {
    pub fn new() -> Self {
        let mut this = Self { fixed: Code::EMPTY, dynamic: Code::EMPTY };
        code_words(&FIXED_LENGTHS, &mut this.fixed.literals);
        code_words(&[5; DISTANCES], &mut this.fixed.distances);
        this
    }

    /// Writes `data`, at most [`MAX_BLOCK_BYTES`], as these tokens, or stored if that is shorter.
    pub fn write_tokens(&mut self, data: &[u8], tokens: &[Token], last: bool, out: &mut BitWriter<'_>) {
        let statistics = SymbolCounts::of_tokens(tokens);
        if let Some(code) = self.begin(&statistics, data, last, out) {
            // The number of literals since the last flush: four fit.
            let mut literals = 0;
            for &token in tokens {
                if token.is_literal() {
                    out.code(code.literals[token.index()]);
                    literals += 1;
                    if literals == 4 {
                        out.flush();
                        literals = 0;
                    }
                    continue;
                }
                if literals > 0 {
                    out.flush();
                    literals = 0;
                }
                let (symbol, extra, base) = LENGTH_SYMBOLS[token.index()];
                out.code(code.literals[usize::from(symbol)]);
                out.add(token.index() as u32 - u32::from(base), u32::from(extra));
                let (symbol, extra) = distance_symbol(token.distance());
                out.code(code.distances[symbol]);
                out.add(token.distance() & ((1 << extra) - 1), extra);
                out.flush();
            }
            if literals > 0 {
                out.flush();
            }
            out.code(code.literals[END_OF_BLOCK]);
            out.flush();
        }
    }

    /// Writes `data`, at most [`MAX_BLOCK_BYTES`], without repetitions, or stored if that is shorter.
    pub fn write_literals(&mut self, data: &[u8], last: bool, out: &mut BitWriter<'_>) {
        let statistics = SymbolCounts::of_bytes(data);
        if let Some(code) = self.begin(&statistics, data, last, out) {
            let (fours, rest) = data.as_chunks::<4>();
            for four in fours {
                for &byte in four {
                    out.code(code.literals[usize::from(byte)]);
                }
                out.flush();
            }
            for &byte in rest {
                out.code(code.literals[usize::from(byte)]);
            }
            out.code(code.literals[END_OF_BLOCK]);
            out.flush();
        }
    }

    /// Writes the beginning of a block and returns its code; or the whole block, if it is stored.
    fn begin(
        &mut self,
        statistics: &SymbolCounts,
        data: &[u8],
        last: bool,
        out: &mut BitWriter<'_>,
    ) -> Option<&Code> {
        debug_assert!(data.len() <= MAX_BLOCK_BYTES);
        let head = u32::from(last);
        let padding = (out.bits_beyond_bytes() + 3).next_multiple_of(8) - out.bits_beyond_bytes() - 3;
        // Stored data are decoded so much faster that they may be four bytes, or a 128th, longer; fewer for
        // short blocks.
        let stored = u64::from(padding) + 32 + 8 * data.len() as u64;
        let stored = stored - (stored / 128).max(32.min(data.len() as u64 / 2));
        let fixed = statistics.bits(&FIXED_LENGTHS, &[5; DISTANCES]);
        let best = stored.min(fixed);
        if statistics.least_dynamic_bits() < best {
            let dynamic = DynamicCode::new(statistics);
            let (literals, distances) = dynamic.lengths.split_at(LITERALS);
            if dynamic.bits + statistics.bits(literals, distances) < best {
                out.add(head | 2 << 1, 3);
                dynamic.write(out);
                code_words(literals, &mut self.dynamic.literals);
                code_words(distances, &mut self.dynamic.distances);
                return Some(&self.dynamic);
            }
        }
        if fixed < stored {
            out.add(head | 1 << 1, 3);
            return Some(&self.fixed);
        }
        let length = u16::try_from(data.len()).unwrap_or(u16::MAX);
        out.add(head, 3);
        out.align();
        out.bytes(&length.to_le_bytes());
        out.bytes(&(!length).to_le_bytes());
        out.bytes(data);
        None
    }
}
