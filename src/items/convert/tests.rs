#![allow(unsafe_code)]
#![allow(clippy::cast_sign_loss)] // test data

use super::*;
use proptest::prelude::*;
use scda_format::dataset::DataType::{self, *};
use scda_format::dataset::Struct;

const NUMBERS: [DataType; 11] =
    [Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Float16, Float32, Float64];

/// A number as what it is: an integer, or a floating-point number, which has all numbers of smaller ones.
#[derive(Clone, Copy, Debug)]
enum Exact {
    Whole(i128),
    Float(f64),
}

fn number_of(data_type: DataType, bytes: &[u8]) -> Exact {
    let mut word = [0; 8];
    let at = if cfg!(target_endian = "big") { 8 - bytes.len() } else { 0 };
    word[at..at + bytes.len()].copy_from_slice(bytes);
    let (bits, unused) = (u64::from_ne_bytes(word), 64 - 8 * bytes.len());
    match data_type.kind() {
        Kind::Signed => Exact::Whole(((bits << unused).cast_signed() >> unused).into()),
        Kind::Unsigned => Exact::Whole(bits.into()),
        _ => Exact::Float(match bytes.len() {
            2 => f16::from_bits(bits as u16).to_f64(),
            4 => f32::from_bits(bits as u32).into(),
            _ => f64::from_bits(bits),
        }),
    }
}

/// What a number must become, if it fits: the nearest one of all halves, or what the language has for larger ones.
fn expected(number: Exact, to: DataType) -> Option<Vec<u8>> {
    let bytes = to.number_bytes() as usize;
    let low = |bits: u64| {
        let word = bits.to_le_bytes()[..bytes].to_vec();
        Some(if cfg!(target_endian = "big") { word.into_iter().rev().collect() } else { word })
    };
    if to.kind() == Kind::Float {
        return match (bytes, number) {
            (2, Exact::Whole(number)) => {
                let half = nearest_half(number as f64);
                if half & 0x7c00 == 0x7c00 { None } else { low(half.into()) }
            }
            (2, Exact::Float(number)) => low(nearest_half(number).into()),
            (4, Exact::Whole(number)) => low((number as f32).to_bits().into()),
            (4, Exact::Float(number)) if number.is_nan() => low(f32::NAN.to_bits().into()),
            (4, Exact::Float(number)) => low((number as f32).to_bits().into()),
            (_, Exact::Whole(number)) => low((number as f64).to_bits()),
            (_, Exact::Float(number)) if number.is_nan() => low(f64::NAN.to_bits()),
            (_, Exact::Float(number)) => low(number.to_bits()),
        };
    }
    let whole = match number {
        Exact::Whole(number) => number,
        // Beyond i128 no integer is meant.
        Exact::Float(number) if number.is_finite() => number.trunc() as i128,
        Exact::Float(_) => return None,
    };
    let bits = 8 * bytes as u32;
    let range = match to.kind() {
        Kind::Signed => -(1_i128 << (bits - 1))..1_i128 << (bits - 1),
        _ => 0..1_i128 << bits,
    };
    range.contains(&whole).then(|| low(whole as u64)).flatten()
}

/// By bisection in all halves, whose bits are in their order; ties to even.
fn nearest_half(number: f64) -> u16 {
    if number.is_nan() {
        return f16::NAN.to_bits();
    }
    let sign = if number.is_sign_negative() { 0x8000 } else { 0 };
    let size = number.abs();
    // The first number after the largest would be 65536.
    let value = |bits: u16| if bits == 0x7c00 { 65536.0 } else { f16::from_bits(bits).to_f64() };
    let (mut low, mut high) = (0_u16, 0x7c00);
    if size >= 65536.0 {
        return sign | 0x7c00;
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if value(middle) <= size { low = middle } else { high = middle }
    }
    let (below, above) = (size - value(low), value(high) - size);
    let near = if below < above || (below == above && low % 2 == 0) { low } else { high };
    sign | near
}

/// Bits of numbers of any type: any, and those near limits.
fn bits() -> impl Strategy<Value = u64> {
    let near = (any::<bool>(), 0..64_u32, -2_i64..3).prop_map(|(is_negative, power, more)| {
        let whole = (1_i128 << power) + i128::from(more);
        (if is_negative { -whole } else { whole }) as u64
    });
    let float = (any::<bool>(), -30..70_i32, -3_i64..4).prop_map(|(is_negative, power, more)| {
        let number = f64::from_bits(2_f64.powi(power).to_bits().wrapping_add_signed(more));
        (if is_negative { -number } else { number }).to_bits()
    });
    let middle_of_halves = (0..0x7c00_u16, -1_i64..2).prop_map(|(bits, more)| {
        let middle = f64::midpoint(f16::from_bits(bits).to_f64(), f16::from_bits(bits + 1).to_f64());
        middle.to_bits().wrapping_add_signed(more)
    });
    let single = any::<f32>().prop_map(|number| f64::from(number).to_bits());
    prop_oneof![any::<u64>(), near, float, middle_of_halves, single, 0..300_u64]
}

/// The bytes of a number of this type that is like these bits, those of a `float64`.
fn like(bits: u64, data_type: DataType) -> Vec<u8> {
    let number = f64::from_bits(bits);
    match (data_type.kind(), data_type.number_bytes()) {
        (Kind::Float, 2) => f16::from_f64(number).to_ne_bytes().to_vec(),
        (Kind::Float, 4) => (number as f32).to_ne_bytes().to_vec(),
        (Kind::Float, _) => number.to_ne_bytes().to_vec(),
        (_, bytes) => {
            let word = bits.to_ne_bytes();
            let at = if cfg!(target_endian = "big") { 8 - bytes as usize } else { 0 };
            word[at..at + bytes as usize].to_vec()
        }
    }
}

/// Converts numbers that lie at strides, and returns them one after the other, with the place of the first that does not fit.
fn converted(
    from: DataType,
    to: DataType,
    numbers: &[Vec<u8>],
    gaps: (usize, usize),
) -> (Option<usize>, Vec<Vec<u8>>) {
    let conversion = Conversion::new(from, to).unwrap().unwrap();
    let (old, new) = (from.item_bytes() as usize + gaps.0, to.item_bytes() as usize + gaps.1);
    let mut memory = vec![0xAA_u8; old * numbers.len() + 1];
    for (place, number) in memory[1..].chunks_mut(old).zip(numbers) {
        place[..number.len()].copy_from_slice(number);
    }
    let mut out = vec![0xBB_u8; new * numbers.len() + 1];
    // SAFETY: both have the items, from the second byte on.
    let misfit = unsafe {
        conversion.row(
            (memory[1..].as_ptr(), old.cast_signed()),
            (out[1..].as_mut_ptr(), new.cast_signed()),
            numbers.len(),
        )
    };
    assert_eq!(out[0], 0xBB);
    let item = to.item_bytes() as usize;
    for place in out[1..].chunks(new) {
        assert!(place[item..].iter().all(|&byte| byte == 0xBB), "a gap was written");
    }
    (misfit, out[1..].chunks(new).map(|place| place[..item].to_vec()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]
    #[test]
    fn numbers_become_what_they_must(
        from in 0..11_usize, to in 0..11_usize, gaps in (prop::sample::select(vec![0_usize, 0, 3, 8]), prop::sample::select(vec![0_usize, 0, 5])),
        bits in prop::collection::vec(bits(), 1..12), repeat in prop::sample::select(vec![1_usize, 1, 60]),
    ) {
        let (from, to) = (NUMBERS[from], NUMBERS[to]);
        prop_assume!(from != to);
        let numbers: Vec<Vec<u8>> = bits.repeat(repeat).into_iter().map(|bits| like(bits, from)).collect();
        let should: Vec<_> = numbers.iter().map(|bytes| expected(number_of(from, bytes), to)).collect();
        let (misfit, found) = converted(from, to, &numbers, gaps);
        prop_assert_eq!(misfit, should.iter().position(Option::is_none), "{} to {}", from, to);
        prop_assert!(misfit.is_none() || !Conversion::new(from, to).unwrap().unwrap().always_fits());
        for (n, (found, should)) in found.iter().zip(&should).enumerate().take(misfit.unwrap_or(usize::MAX)) {
            prop_assert_eq!(Some(found), should.as_ref(), "{} of {} to {}", n, from, to);
        }
    }
}

#[test]
fn complex_numbers_are_two_numbers() {
    let numbers = [[0.1_f64, f64::NAN], [1e300, -2.5]];
    let bytes = numbers.map(|parts| parts.map(f64::to_ne_bytes).concat());
    let should =
        [[0.1_f32, f32::NAN], [f32::INFINITY, -2.5]].map(|parts| parts.map(f32::to_ne_bytes).concat());
    for gaps in [(0, 0), (4, 0), (0, 4), (8, 8)] {
        assert_eq!(converted(Complex128, Complex64, &bytes, gaps), (None, should.to_vec()));
    }
}

#[test]
fn types_that_cannot_be_converted_are_refused() {
    for data_type in NUMBERS.into_iter().chain([Bool, Complex64, Raw(3)]) {
        assert!(Conversion::new(data_type, data_type).unwrap().is_none());
    }
    for (from, to) in [
        (Bool, Int8),
        (Int8, Bool),
        (Raw(8), Float64),
        (Float64, Raw(8)),
        (Float32, Complex64),
        (Complex64, Float32),
    ] {
        Conversion::new(from, to).unwrap_err();
    }
}

#[test]
fn arrays_in_structs_have_the_same_length_on_both_sides() {
    let with = |items| {
        let x = DataType::Struct(Struct::array(Float64, items).unwrap());
        DataType::Struct(Struct::packed([("id", Int64), ("x", x)]).unwrap())
    };
    Conversion::new(with(3), with(3)).unwrap();
    for (found, expected) in [(3, 2), (2, 3)] {
        let error = Conversion::new(with(found), with(expected)).unwrap_err().to_string();
        let words = format!("struct: member \"x\": found float64[{found}], expected float64[{expected}]");
        assert!(error.ends_with(&words), "{error}");
    }
    // Other members may be left out.
    let x = DataType::Struct(Struct::packed([("id", Int64)]).unwrap());
    Conversion::new(with(3), x).unwrap();
}

#[test]
fn every_half_of_every_single_is_the_nearest() {
    for bits in (0..=u32::MAX).step_by(4093) {
        let number = f32::from_bits(bits);
        assert_eq!(half(number).to_bits(), nearest_half(number.into()), "{number:e}");
    }
}
