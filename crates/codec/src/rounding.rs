//! Rounding: sets as many trailing bits of floating-point numbers to zero as the error bounds allow, so that
//! they compress well.

use scda_base::numbers::to_usize;
use scda_format::dataset::rounding::Rounding;
use scda_format::dataset::{DataType, Dataset};

/// The largest item: two numbers of 64 bits.
const MOST_ITEM_BYTES: usize = 16;

/// How the items of a dataset are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemRounder {
    rounding: Rounding,
    data_type: DataType,
    /// The fill value, which is not changed because it means that there is no number.
    fill: [u8; MOST_ITEM_BYTES],
}

impl ItemRounder {
    /// The rounder of a dataset, if it is rounded.
    pub fn of(dataset: &Dataset) -> Option<Self> {
        let rounding = Rounding::of(dataset)?;
        let item = dataset.fill_item();
        let mut fill = [0; MOST_ITEM_BYTES];
        fill[..item.len()].copy_from_slice(&item);
        Some(Self { rounding, data_type: dataset.data_type, fill })
    }

    /// Rounds items in little-endian order.
    #[allow(clippy::cast_possible_truncation)] // a number has as many bits as before
    pub fn round(&self, data: &mut [u8]) {
        let item_bytes = to_usize(self.data_type.item_bytes());
        let fill = &self.fill[..item_bytes];
        for item in data.chunks_exact_mut(item_bytes).filter(|item| *item != fill) {
            match self.data_type.number_bytes() {
                2 => item.as_chunks_mut::<2>().0.iter_mut().for_each(|bytes| {
                    *bytes = (self.number::<10, 5>(u16::from_le_bytes(*bytes).into()) as u16).to_le_bytes();
                }),
                4 => item.as_chunks_mut::<4>().0.iter_mut().for_each(|bytes| {
                    *bytes = (self.number::<23, 8>(u32::from_le_bytes(*bytes).into()) as u32).to_le_bytes();
                }),
                _ => item.as_chunks_mut::<8>().0.iter_mut().for_each(|bytes| {
                    *bytes = self.number::<52, 11>(u64::from_le_bytes(*bytes)).to_le_bytes();
                }),
            }
        }
    }

    /// Rounds a number with this many bits of significand (without the leading one) and of exponent to the
    /// nearest number that has as few bits as the bounds allow.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // an exponent has at most 11 bits
    fn number<const SIGNIFICAND: u32, const EXPONENT: u32>(&self, number: u64) -> u64 {
        let sign = number & 1 << (SIGNIFICAND + EXPONENT);
        // As an integer, in the order of absolute values.
        let value = number ^ sign;
        let infinity = (1 << (SIGNIFICAND + EXPONENT)) - (1 << SIGNIFICAND);
        if value >= infinity || value == 0 {
            return number;
        }
        let exponent = (value >> SIGNIFICAND) as u32;
        let mut dropped = SIGNIFICAND + 2;
        if let Some(kept) = self.rounding.kept_bits {
            // Subnormal numbers have their leading one further to the right.
            let significant = if exponent > 0 { SIGNIFICAND } else { value.ilog2() };
            dropped = significant.saturating_sub(kept);
        }
        if let Some(quantum) = self.rounding.quantum {
            let bias = (1 << (EXPONENT - 1)) - 1;
            let last_bit = exponent.max(1).cast_signed() - bias - SIGNIFICAND.cast_signed();
            dropped = dropped.min((quantum - last_bit).max(0).cast_unsigned());
        }
        let rounded = match dropped {
            0 => value,
            dropped if exponent == 0 || dropped <= SIGNIFICAND => {
                let dropped = dropped.min(SIGNIFICAND + 1);
                let half = (1_u64 << (dropped - 1)) - 1 + (value >> dropped & 1);
                (value + half) >> dropped << dropped
            }
            // It is at least half of the unit, whose multiples are 0 and the next power of two.
            dropped if dropped == SIGNIFICAND + 1 => u64::from(exponent + 1) << SIGNIFICAND,
            _ => 0,
        };
        // A number that would become infinite is not changed.
        if rounded >= infinity { number } else { sign | rounded }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;
    use proptest::prelude::*;
    use scda_format::dataset::Layout;

    fn rounded(data_type: DataType, relative: f64, absolute: f64, fill: &[u8]) -> Option<ItemRounder> {
        let mut dataset = Dataset::new("a", data_type, [4]);
        dataset.layout = Layout::Chunked { shape: None, text: false };
        (dataset.max_relative_error, dataset.max_absolute_error) = (relative, absolute);
        dataset.fill_value = fill.to_vec();
        ItemRounder::of(&dataset)
    }

    /// Whether the bounds are kept. The difference of two numbers of at most 53 bits is exact, except if they
    /// are so far apart that no bound allows it.
    fn is_kept(before: f64, after: f64, relative: f64, absolute: f64) -> bool {
        if !before.is_finite() {
            return before.to_bits() == after.to_bits();
        }
        let error = (after - before).abs();
        let keeps_relative = relative == 0.0 || error == 0.0 || error / before.abs() <= relative;
        let keeps_absolute = absolute == 0.0 || error <= absolute;
        after.is_finite()
            && keeps_relative
            && keeps_absolute
            && (before.is_sign_negative() == after.is_sign_negative())
    }

    fn bound() -> impl Strategy<Value = f64> {
        prop_oneof![
            Just(0.0),
            0.0..0.999_f64,
            (1..300_i32).prop_map(|n| 10_f64.powi(-n)),
            (1..60_i32).prop_map(|n| 0.5_f64.powi(n))
        ]
    }

    fn absolute_bound() -> impl Strategy<Value = f64> {
        prop_oneof![
            bound(),
            (0..308_i32).prop_map(|n| 10_f64.powi(n)),
            any::<u64>().prop_map(|bits| {
                let any = f64::from_bits(bits & (u64::MAX >> 1));
                if any.is_finite() { any } else { 0.0 }
            })
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn the_bound_is_kept_for_every_number(
            relative in bound(), absolute in absolute_bound(), bits: [u64; 4], near: bool, small in 0..1_u64 << 52,
        ) {
            let absolute_is_near = if near && absolute > 0.0 { [absolute.to_bits() + (bits[0] >> 62), (absolute * 1.5).to_bits()] } else { [0; 2] };
            for bits in bits.into_iter().chain([small, small >> 30, 1, f64::MAX.to_bits(), f64::INFINITY.to_bits(), 0x7ff8_0000_0000_0007]).chain(absolute_is_near) {
                let Some(with) = rounded(DataType::Float64, relative, absolute, &[]) else { continue };
                let mut data = bits.to_le_bytes();
                with.round(&mut data);
                let (before, after) = (f64::from_bits(bits), f64::from_le_bytes(data));
                prop_assert!(is_kept(before, after, relative, absolute), "{before:e} {after:e} {relative} {absolute}");
                // Rounding again changes nothing.
                let once = data;
                with.round(&mut data);
                prop_assert_eq!(once, data);

                let single = f32::from_bits((bits >> 7) as u32);
                let mut data = single.to_le_bytes();
                rounded(DataType::Float32, relative, absolute, &[]).unwrap().round(&mut data);
                let after = f32::from_le_bytes(data);
                prop_assert!(single.is_nan() && single.to_bits() == after.to_bits() || is_kept(single.into(), after.into(), relative, absolute));

                let half = f16::from_bits((bits >> 9) as u16);
                let mut data = half.to_le_bytes();
                rounded(DataType::Float16, relative, absolute, &[]).unwrap().round(&mut data);
                let after = f16::from_le_bytes(data);
                prop_assert!(half.is_nan() && half.to_bits() == after.to_bits() || is_kept(half.into(), after.into(), relative, absolute));
            }
        }

        #[test]
        fn as_few_bits_as_the_bound_allows(value in 1e-30..1e30_f64, kept in 0..51_i32) {
            let with = rounded(DataType::Float64, 0.5_f64.powi(kept + 1), 0.0, &[]).unwrap();
            let mut data = value.to_le_bytes();
            with.round(&mut data);
            let zeros = u64::from_le_bytes(data).trailing_zeros();
            prop_assert!(zeros >= 52 - kept.cast_unsigned());
        }
    }

    #[test]
    fn all_halves_keep_their_bounds() {
        for (relative, absolute) in
            [(0.3, 0.0), (0.01, 0.0), (0.0, 0.01), (0.0, 3.0), (0.1, 1e-6), (0.0, 1e9), (0.9, 0.0)]
        {
            let with = rounded(DataType::Float16, relative, absolute, &[]).unwrap();
            let unit = with.rounding.quantum.filter(|_| relative == 0.0).map(|unit| 2_f64.powi(unit));
            for bits in 0..=u16::MAX {
                let mut data = bits.to_le_bytes();
                with.round(&mut data);
                let (before, after) = (f16::from_bits(bits), f16::from_le_bytes(data));
                let is_same = before.is_nan() && before.to_bits() == after.to_bits();
                let is_multiple = |unit: f64| (f64::from(after) / unit).fract() == 0.0;
                assert!(unit.is_none_or(is_multiple) || !before.is_finite(), "{before} {after}");
                assert!(
                    is_same || is_kept(before.into(), after.into(), relative, absolute),
                    "{before} {after}"
                );
            }
        }
    }

    #[test]
    fn what_stands_for_no_number_stays() {
        let fill = (-9999.9_f32).to_le_bytes();
        let with = rounded(DataType::Float32, 0.1, 0.0, &fill).unwrap();
        let mut data = [fill, 9999.9_f32.to_le_bytes()].concat();
        with.round(&mut data);
        assert_eq!(data, [fill, 10240_f32.to_le_bytes()].concat());
        // Both parts of complex numbers are rounded.
        let item = [1.01_f32.to_le_bytes(), 2.02_f32.to_le_bytes()].concat();
        let with = rounded(DataType::Complex64, 0.1, 0.0, &item).unwrap();
        let mut data = [&item[..], &item[..4], &item[..4]].concat();
        with.round(&mut data);
        assert_eq!(data, [&item[..], &1_f32.to_le_bytes(), &1_f32.to_le_bytes()].concat());
    }
}
