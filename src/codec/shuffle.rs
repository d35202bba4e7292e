//! Sorts the bytes of items: the first bytes of all items, then the second ones, and so on. Numbers that are near one
//! another have the same first or last bytes, which then follow one another.
//!
//! These are the bytes of `numcodecs.shuffle` and of HDF5's shuffle filter. Bytes behind the last whole item stay
//! where they are.
//!
//! **Algorithm.** Sixteen items of 2, 4, 8 or 16 bytes are a matrix whose transpose is wanted. The address of a byte in
//! it has four bits for the item and one to four for the byte. To interleave the bytes of the first half of the matrix
//! with those of the second half rotates the bits of all addresses by one ([`turn`]): so four steps bring the bits of the
//! byte to the front, and as many steps as these have bits bring them back. Processors have an instruction that
//! interleaves 16 bytes.

/// The items of a block that is transposed at once, and the bytes of a register.
const LANES: usize = 16;
/// Items of other sizes are moved so many at a time, so that they are still in the cache for their next byte.
const BLOCK_ITEMS: usize = 64;

/// Sorts `data`, items of so many bytes, into `out`, which has the same length.
pub fn shuffle(data: &[u8], item_bytes: usize, out: &mut [u8]) {
    if item_bytes <= 1 {
        return out.copy_from_slice(data);
    }
    let count = data.len() / item_bytes;
    let done = match item_bytes {
        _ if count < LANES => 0,
        2 => fast::shuffle::<2>(data, out, count),
        4 => fast::shuffle::<4>(data, out, count),
        8 => fast::shuffle::<8>(data, out, count),
        16 => fast::shuffle::<16>(data, out, count),
        _ => 0,
    };
    for first in (done..count).step_by(BLOCK_ITEMS) {
        let last = (first + BLOCK_ITEMS).min(count);
        let items = &data[first * item_bytes..last * item_bytes];
        for byte in 0..item_bytes {
            let plane = &mut out[byte * count + first..byte * count + last];
            for (to, item) in plane.iter_mut().zip(items.chunks_exact(item_bytes)) {
                *to = item[byte];
            }
        }
    }
    out[count * item_bytes..].copy_from_slice(&data[count * item_bytes..]);
}

/// The opposite of [`shuffle`].
pub fn unshuffle(data: &[u8], item_bytes: usize, out: &mut [u8]) {
    if item_bytes <= 1 {
        return out.copy_from_slice(data);
    }
    let count = data.len() / item_bytes;
    let done = match item_bytes {
        _ if count < LANES => 0,
        2 => fast::unshuffle::<2>(data, out, count),
        4 => fast::unshuffle::<4>(data, out, count),
        8 => fast::unshuffle::<8>(data, out, count),
        16 => fast::unshuffle::<16>(data, out, count),
        _ => 0,
    };
    for first in (done..count).step_by(BLOCK_ITEMS) {
        let last = (first + BLOCK_ITEMS).min(count);
        let items = &mut out[first * item_bytes..last * item_bytes];
        for byte in 0..item_bytes {
            let plane = &data[byte * count + first..byte * count + last];
            for (from, item) in plane.iter().zip(items.chunks_exact_mut(item_bytes)) {
                item[byte] = *from;
            }
        }
    }
    out[count * item_bytes..].copy_from_slice(&data[count * item_bytes..]);
}

/// With the instructions of the processor. The functions return how many of the items they have moved.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[allow(unsafe_code)]
mod fast {
    use super::LANES;
    use std::array::from_fn;

    type Bytes = [u8; LANES];

    #[cfg(target_arch = "x86_64")]
    mod register {
        use super::Bytes;
        use std::arch::x86_64::{
            __m128i, _mm_cvtsi128_si64, _mm_set_epi64x, _mm_unpackhi_epi8, _mm_unpackhi_epi64,
            _mm_unpacklo_epi8,
        };

        /// 16 bytes.
        pub type Register = __m128i;

        #[inline]
        #[target_feature(enable = "sse2")]
        pub fn load(bytes: &Bytes) -> Register {
            let [low, high] = super::words(bytes).map(u64::cast_signed);
            _mm_set_epi64x(high, low)
        }

        #[inline]
        #[target_feature(enable = "sse2")]
        pub fn store(register: Register) -> Bytes {
            let low = _mm_cvtsi128_si64(register);
            let high = _mm_cvtsi128_si64(_mm_unpackhi_epi64(register, register));
            super::bytes([low, high].map(i64::cast_unsigned))
        }

        /// The bytes of the lower halves of both, interleaved.
        #[inline]
        #[target_feature(enable = "sse2")]
        pub fn low(a: Register, b: Register) -> Register {
            _mm_unpacklo_epi8(a, b)
        }

        /// The bytes of the upper halves of both, interleaved.
        #[inline]
        #[target_feature(enable = "sse2")]
        pub fn high(a: Register, b: Register) -> Register {
            _mm_unpackhi_epi8(a, b)
        }
    }

    #[cfg(target_arch = "aarch64")]
    mod register {
        use super::Bytes;
        use std::arch::aarch64::{
            uint8x16_t, vcombine_u8, vcreate_u8, vgetq_lane_u64, vreinterpretq_u64_u8, vzip1q_u8, vzip2q_u8,
        };

        /// 16 bytes.
        pub type Register = uint8x16_t;

        #[inline]
        #[target_feature(enable = "neon")]
        pub fn load(bytes: &Bytes) -> Register {
            let [low, high] = super::words(bytes);
            vcombine_u8(vcreate_u8(low), vcreate_u8(high))
        }

        #[inline]
        #[target_feature(enable = "neon")]
        pub fn store(register: Register) -> Bytes {
            let words = vreinterpretq_u64_u8(register);
            super::bytes([vgetq_lane_u64::<0>(words), vgetq_lane_u64::<1>(words)])
        }

        /// The bytes of the lower halves of both, interleaved.
        #[inline]
        #[target_feature(enable = "neon")]
        pub fn low(a: Register, b: Register) -> Register {
            vzip1q_u8(a, b)
        }

        /// The bytes of the upper halves of both, interleaved.
        #[inline]
        #[target_feature(enable = "neon")]
        pub fn high(a: Register, b: Register) -> Register {
            vzip2q_u8(a, b)
        }
    }

    use register::{Register, high, load, low, store};

    /// The bytes of a register as two numbers; of these the order of the bytes does not matter here.
    #[inline]
    fn words(bytes: &Bytes) -> [u64; 2] {
        let (words, _) = bytes.as_chunks();
        from_fn(|i| u64::from_le_bytes(words[i]))
    }

    /// The opposite.
    #[inline]
    fn bytes(words: [u64; 2]) -> Bytes {
        let mut bytes = [0; LANES];
        for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    /// Interleaves the bytes of the first half of the registers with those of the second half.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse2"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    fn turn<const N: usize>(v: [Register; N]) -> [Register; N] {
        from_fn(|i| {
            let (a, b) = (v[i / 2], v[i / 2 + N / 2]);
            if i % 2 == 0 { low(a, b) } else { high(a, b) }
        })
    }

    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse2"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    fn shuffle_blocks<const N: usize>(blocks: &[[Bytes; N]], mut planes: [&mut [Bytes]; N]) {
        for (at, block) in blocks.iter().enumerate() {
            let mut v: [Register; N] = from_fn(|i| load(&block[i]));
            for _ in 0..LANES.ilog2() {
                v = turn(v);
            }
            for (plane, register) in planes.iter_mut().zip(v) {
                plane[at] = store(register);
            }
        }
    }

    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse2"))]
    #[cfg_attr(target_arch = "aarch64", target_feature(enable = "neon"))]
    fn unshuffle_blocks<const N: usize>(planes: [&[Bytes]; N], blocks: &mut [[Bytes; N]]) {
        for (at, block) in blocks.iter_mut().enumerate() {
            let mut v: [Register; N] = from_fn(|i| load(&planes[i][at]));
            for _ in 0..N.ilog2() {
                v = turn(v);
            }
            *block = from_fn(|i| store(v[i]));
        }
    }

    /// `count` is at least [`LANES`].
    pub fn shuffle<const N: usize>(data: &[u8], out: &mut [u8], count: usize) -> usize {
        let blocks = data.as_chunks().0.as_chunks().0;
        let blocks = &blocks[..count / LANES];
        let mut rest = out;
        let planes = from_fn(|_| {
            let (plane, others) = std::mem::take(&mut rest).split_at_mut(count);
            rest = others;
            plane.as_chunks_mut().0
        });
        // SAFETY: SSE2 is a part of x86-64, and NEON of aarch64.
        unsafe { shuffle_blocks::<N>(blocks, planes) };
        blocks.len() * LANES
    }

    /// `count` is at least [`LANES`].
    pub fn unshuffle<const N: usize>(data: &[u8], out: &mut [u8], count: usize) -> usize {
        let blocks = &mut out.as_chunks_mut().0.as_chunks_mut().0[..count / LANES];
        let planes = from_fn(|byte| data[byte * count..(byte + 1) * count].as_chunks().0);
        // SAFETY: SSE2 is a part of x86-64, and NEON of aarch64.
        unsafe { unshuffle_blocks::<N>(planes, blocks) };
        blocks.len() * LANES
    }
}

/// Without such instructions, nothing is moved here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod fast {
    pub fn shuffle<const N: usize>(_: &[u8], _: &mut [u8], _: usize) -> usize {
        0
    }

    pub fn unshuffle<const N: usize>(_: &[u8], _: &mut [u8], _: usize) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One byte after the other.
    fn naive(data: &[u8], item_bytes: usize) -> Vec<u8> {
        let count = data.len() / item_bytes;
        let mut out: Vec<u8> =
            (0..item_bytes).flat_map(|byte| (0..count).map(move |i| data[i * item_bytes + byte])).collect();
        out.extend(&data[count * item_bytes..]);
        out
    }

    fn check(data: &[u8], item_bytes: usize) {
        let mut sorted = vec![0; data.len()];
        shuffle(data, item_bytes, &mut sorted);
        assert_eq!(sorted, naive(data, item_bytes), "{} bytes, items of {item_bytes}", data.len());
        let mut back = vec![0; data.len()];
        unshuffle(&sorted, item_bytes, &mut back);
        assert_eq!(back, data, "{} bytes, items of {item_bytes}", data.len());
    }

    #[test]
    fn bytes_are_sorted_and_come_back() {
        let data: Vec<u8> = (0..3000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for item_bytes in [1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 100, 2999, 3001] {
            for count in [0, 1, 2, 15, 16, 17, 31, 32, 33, 80] {
                for more in [0, 1, item_bytes - 1] {
                    check(&data[..(count * item_bytes + more).min(data.len())], item_bytes);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_sorted_and_come_back(
            data in prop::collection::vec(any::<u8>(), 0..2000), item_bytes in 1..20_usize,
        ) {
            check(&data, item_bytes);
        }
    }
}
