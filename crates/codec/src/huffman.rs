//! Huffman codes of bounded length, and writing their bits (RFC 1951, section 3.2).
#![allow(clippy::cast_possible_truncation)] // alphabets of fewer than 2^9 symbols, words of fewer than 2^4 bits

/// Writes bits from the lowest of each byte upwards.
pub struct BitWriter<'a> {
    out: &'a mut [u8],
    /// The number of whole bytes written.
    length: usize,
    bits: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    /// The bytes that `out` must have after the end of what is written.
    pub const SLACK: usize = 8;

    /// Writes to `out` from byte `length` on.
    pub fn new(out: &'a mut [u8], length: usize) -> Self {
        Self { out, length, bits: 0, count: 0 }
    }

    /// Appends the low `count` bits of `bits`, whose other bits are zero. At most 56 bits may be appended
    /// between two calls of [`Self::flush`].
    #[inline]
    pub fn add(&mut self, bits: u32, count: u32) {
        self.bits |= u64::from(bits) << self.count;
        self.count += count;
    }

    /// Appends a code word.
    #[inline]
    pub fn code(&mut self, word: Word) {
        self.add(u32::from(word.bits), u32::from(word.length));
    }

    /// Writes the whole bytes.
    #[inline]
    pub fn flush(&mut self) {
        self.out[self.length..self.length + 8].copy_from_slice(&self.bits.to_le_bytes());
        let bytes = self.count / 8;
        self.length += bytes as usize;
        self.bits >>= 8 * bytes;
        self.count %= 8;
    }

    /// Ends at a byte boundary, between two blocks, by an empty stored block.
    pub fn end_of_part(&mut self) {
        self.add(0, 3);
        self.align();
        self.bytes(&[0, 0, 0xff, 0xff]);
    }

    /// Ends the stream after a block that was not marked as the last, by an empty block with the fixed code.
    pub fn end_of_stream(&mut self) {
        self.add(1 | 1 << 1, 3 + 7);
        self.align();
    }

    /// Fills the last byte with zero bits.
    pub fn align(&mut self) {
        self.count = self.count.next_multiple_of(8);
        self.flush();
    }

    /// Copies bytes, at a byte boundary.
    pub fn bytes(&mut self, bytes: &[u8]) {
        debug_assert_eq!(self.count, 0);
        self.out[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// The number of bits used of the last byte.
    pub fn bits_beyond_bytes(&self) -> u32 {
        self.count
    }

    /// The number of bytes in the buffer, from its beginning.
    pub fn length(&self) -> usize {
        self.length
    }
}

/// The code word of a symbol: its bits in writing order, and their number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Word {
    pub bits: u16,
    pub length: u8,
}

/// The most symbols of an alphabet.
const MAX_SYMBOLS: usize = 288;
/// The longest code word.
const MAX_LENGTH: usize = 15;

/// The symbols with a frequency, or a length, other than 0.
#[inline]
pub fn used<T: Copy + Default + PartialEq>(values: &[T]) -> impl Iterator<Item = (usize, T)> {
    values.chunks(64).enumerate().flat_map(|(i, part)| {
        let bits = part.iter().enumerate().map(|(bit, &value)| u64::from(value != T::default()) << bit);
        let mut left: u64 = bits.fold(0, |all, bit| all | bit);
        std::iter::from_fn(move || {
            let bit = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            part.get(bit).map(|&value| (64 * i + bit, value))
        })
    })
}

/// A symbol and how often it occurs.
#[derive(Clone, Copy, Default)]
struct Leaf {
    frequency: u32,
    symbol: u16,
}

/// Up to this many leaves are sorted by comparison.
const FEW_LEAVES: usize = 64;

/// Sorts by frequency; equal ones stay in the order of symbols. Many are sorted byte by byte, beginning with
/// the lowest.
fn sort(leaves: &mut [Leaf]) {
    if leaves.len() <= FEW_LEAVES {
        leaves.sort_unstable_by_key(|leaf| u64::from(leaf.frequency) << 16 | u64::from(leaf.symbol));
        return;
    }
    let all = leaves.iter().fold(0, |all, leaf| all | leaf.frequency);
    let mut other = [Leaf::default(); MAX_SYMBOLS];
    for shift in (0..32).step_by(8).take_while(|&shift| all >> shift > 0) {
        let digit = |leaf: &Leaf| usize::from((leaf.frequency >> shift) as u8);
        // No digit has a bit higher than those of all combined.
        let digits = usize::from((all >> shift) as u8 | 1).next_power_of_two();
        let mut starts = [0_u16; 257];
        for leaf in leaves.iter() {
            starts[digit(leaf) + 1] += 1;
        }
        for i in 1..digits {
            starts[i] += starts[i - 1];
        }
        for leaf in leaves.iter() {
            let place = &mut starts[digit(leaf)];
            other[usize::from(*place)] = *leaf;
            *place += 1;
        }
        leaves.copy_from_slice(&other[..leaves.len()]);
    }
}

/// Finds the lengths, at most `longest`, of an optimal code for symbols with these frequencies, and 0 for
/// unused ones. At least two symbols get a code word, as some decoders require.
pub fn code_lengths(frequencies: &[u32], longest: usize, lengths: &mut [u8]) {
    lengths.fill(0);
    let mut leaves = [Leaf::default(); MAX_SYMBOLS];
    let mut count = 0;
    for (symbol, frequency) in used(frequencies) {
        // Fewer than 2^16 symbols.
        leaves[count] = Leaf { frequency, symbol: symbol as u16 };
        count += 1;
    }
    let leaves = &mut leaves[..count];
    if count < 2 {
        let only = leaves.first().map_or(0, |leaf| usize::from(leaf.symbol));
        lengths[only] = 1;
        lengths[usize::from(only == 0)] = 1;
        return;
    }
    sort(leaves);
    let mut counts = length_counts(leaves);
    shorten(&mut counts, longest);
    // The rarest symbols get the longest words.
    let mut symbols = leaves.iter().map(|leaf| usize::from(leaf.symbol));
    for length in (1..=longest).rev() {
        for symbol in symbols.by_ref().take(usize::from(counts[length])) {
            lengths[symbol] = length as u8;
        }
    }
}

/// How many words of each length an optimal code has. Uses two queues: the leaves by frequency, and the inner
/// nodes, which are created in that order.
fn length_counts(leaves: &[Leaf]) -> [u16; MAX_SYMBOLS] {
    let n = leaves.len();
    let mut weights = [0_u32; MAX_SYMBOLS];
    let mut leaf_parents = [0_u16; MAX_SYMBOLS];
    let mut parents = [0_u16; MAX_SYMBOLS];
    let (mut leaf, mut inner) = (0, 0);
    for node in 0..n - 1 {
        for _ in 0..2 {
            if leaf < n && (inner == node || leaves[leaf].frequency <= weights[inner]) {
                weights[node] += leaves[leaf].frequency;
                leaf_parents[leaf] = node as u16;
                leaf += 1;
            } else {
                weights[node] += weights[inner];
                parents[inner] = node as u16;
                inner += 1;
            }
        }
    }
    // Starting from the root, which is the last node.
    let mut depths = [0_u16; MAX_SYMBOLS];
    for node in (0..n - 2).rev() {
        depths[node] = depths[usize::from(parents[node])] + 1;
    }
    let mut counts = [0; MAX_SYMBOLS];
    for &parent in &leaf_parents[..n] {
        counts[usize::from(depths[usize::from(parent)]) + 1] += 1;
    }
    counts
}

/// Makes a code with these counts of lengths complete again, with no word longer than `longest`.
fn shorten(counts: &mut [u16; MAX_SYMBOLS], longest: usize) {
    let (short, long) = counts.split_at_mut(longest + 1);
    let too_long: u16 = long.iter().sum();
    if too_long == 0 {
        return;
    }
    short[longest] += too_long;
    // The space of the code, in units of the longest word.
    let room = 1_usize << longest;
    let mut taken: usize = (1..=longest).map(|length| usize::from(short[length]) << (longest - length)).sum();
    while taken > room {
        // One word becomes one bit longer, which makes room for one of the longest next to it.
        let Some(length) = (1..longest).rev().find(|&length| short[length] > 0) else { return };
        short[length] -= 1;
        short[length + 1] += 2;
        short[longest] -= 1;
        taken -= 1;
    }
}

/// The canonical code with these lengths. Words of unused symbols are not changed.
pub fn code_words(lengths: &[u8], words: &mut [Word]) {
    let mut counts = [0_u16; MAX_LENGTH + 1];
    for &length in lengths {
        counts[usize::from(length)] += 1;
    }
    counts[0] = 0;
    let mut next = [0_u16; MAX_LENGTH + 1];
    for length in 1..=MAX_LENGTH {
        // The first word of a length follows the last one of the previous length.
        next[length] = next[length - 1].wrapping_add(counts[length - 1]) << 1;
    }
    for (symbol, length) in used(lengths) {
        let first = &mut next[usize::from(length)];
        words[symbol] = Word { bits: first.reverse_bits() >> (16 - u32::from(length)), length };
        *first = first.wrapping_add(1);
    }
}

/// Fractional bits of logarithms and of costs.
pub const FRACTION: u32 = 8;

/// The logarithms of 1 + i / 256 to base 2, in units of 1 / 256. Computed from integers, so that they are the
/// same on every machine.
const LOG2: [u16; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut x = (256 + i as u64) << 22;
        let mut bit = 0;
        while bit < FRACTION {
            x = (x * x) >> 30;
            table[i] <<= 1;
            if x >= 2 << 30 {
                table[i] |= 1;
                x >>= 1;
            }
            bit += 1;
        }
        i += 1;
    }
    table
};

/// The logarithm to base 2 of a positive number, in units of 1 / 256.
fn log2(x: u32) -> u64 {
    let whole = x.ilog2();
    let mantissa = (u64::from(x) << 8 >> whole) & 0xff;
    u64::from(whole << FRACTION) + u64::from(LOG2[usize::from(mantissa as u8)])
}

/// The entropy of symbols with these frequencies, in units of 1 / 256 bit, a lower bound for any code.
pub fn entropy(frequencies: &[u32]) -> u64 {
    let (mut total, mut parts) = (0, 0);
    for (_, frequency) in used(frequencies) {
        total += frequency;
        parts += u64::from(frequency) * log2(frequency);
    }
    if total == 0 { 0 } else { (u64::from(total) * log2(total)).saturating_sub(parts) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_those_of_the_rfc() {
        let mut words = [Word::default(); 8];
        code_words(&[3, 3, 3, 3, 3, 2, 4, 4], &mut words);
        let text =
            words.map(|w| format!("{:0n$b}", w.bits.reverse_bits() >> (16 - w.length), n = w.length.into()));
        assert_eq!(text, ["010", "011", "100", "101", "110", "00", "1110", "1111"]);
    }

    #[test]
    fn logarithms_are_nearly_right() {
        for x in (1..5000).chain([65_535, 1 << 20, u32::MAX]) {
            let exact = f64::from(x).log2() * 256.0;
            assert!((log2(x) as f64 - exact).abs() < 2.5, "{x}");
        }
    }

    proptest! {
        #[test]
        fn codes_are_complete_and_bounded_and_rarer_is_not_shorter(
            frequencies in proptest::collection::vec(prop_oneof![Just(0_u32), 1..4_u32, 1..60_000_u32], 2..288),
            longest in 9..=15_usize,
        ) {
            let mut lengths = vec![0; frequencies.len()];
            code_lengths(&frequencies, longest, &mut lengths);
            let taken: usize = lengths.iter().filter(|&&n| n > 0).map(|&n| 1 << (longest - usize::from(n))).sum();
            prop_assert_eq!(taken, 1 << longest);
            for (i, f) in frequencies.iter().enumerate() {
                prop_assert!(*f == 0 || lengths[i] > 0);
                for (j, g) in frequencies.iter().enumerate() {
                    prop_assert!(*f == 0 || g <= f || lengths[j] <= lengths[i]);
                }
            }
        }

        #[test]
        fn codes_are_as_short_as_the_entropy_allows(
            frequencies in proptest::collection::vec(1..1000_u32, 2..288),
        ) {
            let mut lengths = vec![0; frequencies.len()];
            code_lengths(&frequencies, 15, &mut lengths);
            let bits: u64 = frequencies.iter().zip(&lengths).map(|(&f, &n)| u64::from(f) * u64::from(n)).sum();
            let total: u64 = frequencies.iter().map(|&f| u64::from(f)).sum();
            let least = entropy(&frequencies) >> FRACTION;
            prop_assert!(bits + total / 64 + 1 >= least && bits <= least + total + 1, "{} {}", bits, least);
        }
    }
}
