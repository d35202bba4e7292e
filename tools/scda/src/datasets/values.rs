//! Converts items of a dataset to numbers and text.

use super::times;
use crate::output::push_hex;
use scda::{DataType, Kind, Struct};
use scda_base::numbers::to_usize;
use scda_format::dataset::fill::text_of;
use std::fmt::Write;

/// A number of an item.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    Whole(i128),
    Single(f32),
    Double(f64),
}

impl Number {
    pub fn value(self) -> f64 {
        match self {
            #[allow(clippy::cast_precision_loss)] // the nearest number is wanted
            Self::Whole(number) => number as f64,
            Self::Single(number) => number.into(),
            Self::Double(number) => number,
        }
    }

    fn show(self, text: &mut String) {
        let _ = match self {
            Self::Whole(number) => write!(text, "{number}"),
            Self::Single(number) => write!(text, "{number:?}"),
            Self::Double(number) => write!(text, "{number:?}"),
        };
    }
}

/// The value of the bits of a `float16`, which `float32` represents exactly.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) =
        (u32::from(bits >> 15) << 31, u32::from(bits >> 10) & 31, u32::from(bits) & 0x3ff);
    match exponent {
        0 => {
            let size = f32::from(bits & 0x3ff) / 16_777_216.0;
            f32::from_bits(size.to_bits() | sign)
        }
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// The bits of a number in memory.
fn bits(bytes: &[u8]) -> u64 {
    let byte = |all: u64, &byte: &u8| all << 8 | u64::from(byte);
    if cfg!(target_endian = "big") { bytes.iter().fold(0, byte) } else { bytes.iter().rev().fold(0, byte) }
}

/// The number in memory, for a type whose items have one number or two.
pub fn number(data_type: DataType, bytes: &[u8]) -> Number {
    let word = bits(bytes);
    // The bits of a smaller number fit.
    let low = u32::try_from(word & 0xffff_ffff).unwrap_or(0);
    match (data_type.kind(), data_type.number_bytes()) {
        (Kind::Signed, _) => {
            let unused = 64_usize.saturating_sub(8 * bytes.len()).min(63);
            Number::Whole(((word << unused).cast_signed() >> unused).into())
        }
        (Kind::Float, 2) => Number::Single(half(u16::try_from(low).unwrap_or(0))),
        (Kind::Float | Kind::Complex, 4) => Number::Single(f32::from_bits(low)),
        (Kind::Float | Kind::Complex, _) => Number::Double(f64::from_bits(word)),
        _ => Number::Whole(word.into()),
    }
}

/// Appends an item in memory as text.
pub fn show(data_type: DataType, item: &[u8], text: &mut String) {
    match data_type.kind() {
        Kind::Bool => text.push_str(if item == [0] { "false" } else { "true" }),
        Kind::Raw => push_hex(text, item),
        Kind::Complex => {
            let (real, imaginary) = item.split_at(item.len() / 2);
            text.push('(');
            number(data_type, real).show(text);
            text.push(',');
            number(data_type, imaginary).show(text);
            text.push(')');
        }
        Kind::Time => {
            let count = bits(item).cast_signed();
            match data_type {
                DataType::Datetime(unit) => times::show_moment(count, unit, text),
                DataType::Timedelta(unit) => times::show_span(count, unit, text),
                _ => {}
            }
        }
        Kind::Text => show_text(data_type, item, text),
        Kind::Variable => {
            let _ = match std::str::from_utf8(item) {
                Ok(characters) if data_type == DataType::String => write!(text, "{characters:?}"),
                _ => write!(text, "\"{}\"", item.escape_ascii()),
            };
        }
        Kind::Struct => {
            if let DataType::Struct(all) = data_type {
                show_struct(all, item, text);
            }
        }
        _ => number(data_type, item).show(text),
    }
}

/// Appends a text in quotes, without zeros at its end, with escapes for characters that cannot be shown.
fn show_text(data_type: DataType, item: &[u8], text: &mut String) {
    let mut little = item.to_vec();
    super::to_little(data_type, &mut little);
    let characters = matches!(data_type, DataType::Text(_)).then(|| text_of(&little)).flatten();
    little.truncate(little.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1));
    let _ = match characters {
        Some(characters) => write!(text, "{characters:?}"),
        None => write!(text, "\"{}\"", little.escape_ascii()),
    };
}

/// Appends members in parentheses, or the items of an array in brackets.
fn show_struct(all: Struct, item: &[u8], text: &mut String) {
    let (open, close) = if all.as_array().is_some() { ('[', ']') } else { ('(', ')') };
    text.push(open);
    for (n, member) in all.members().iter().enumerate() {
        if n > 0 {
            text.push(',');
        }
        let start = to_usize(member.offset);
        show(member.data_type, &item[start..start + to_usize(member.data_type.item_bytes())], text);
    }
    text.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_shown_by_their_type() {
        let shown = |data_type, item: &[u8]| {
            let mut text = String::new();
            show(data_type, item, &mut text);
            text
        };
        assert_eq!(shown(DataType::Bool, &[1]), "true");
        assert_eq!(shown(DataType::Int8, &[0xff]), "-1");
        assert_eq!(shown(DataType::Int64, &i64::MIN.to_ne_bytes()), "-9223372036854775808");
        assert_eq!(shown(DataType::Uint64, &u64::MAX.to_ne_bytes()), "18446744073709551615");
        assert_eq!(shown(DataType::Float32, &0.1_f32.to_ne_bytes()), "0.1");
        assert_eq!(shown(DataType::Float64, &f64::NAN.to_ne_bytes()), "NaN");
        let complex = [1.5_f32.to_ne_bytes(), (-2.0_f32).to_ne_bytes()].concat();
        assert_eq!(shown(DataType::Complex64, &complex), "(1.5,-2.0)");
        assert_eq!(shown(DataType::Raw(3), &[0, 0xab, 1]), "00ab01");
        let letters = ['a', 'é', '\0'].map(|letter| u32::from(letter).to_ne_bytes()).concat();
        assert_eq!(shown(DataType::Text(3), &letters), "\"aé\"");
        assert_eq!(shown(DataType::Bytes(4), b"a\n\0\0"), "\"a\\n\"");
        let pair = DataType::Struct(Struct::array(DataType::Int16, 2).unwrap());
        let all = Struct::packed([("id", DataType::Uint8), ("v", pair)]).unwrap();
        let item = [&[7], &1_i16.to_ne_bytes()[..], &(-2_i16).to_ne_bytes()[..]].concat();
        assert_eq!(shown(DataType::Struct(all), &item), "(7,[1,-2])");
    }

    #[test]
    fn half_precision() {
        for (bits, value) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65504.0), (0x0001, 5.960_464_5e-8), (0x8000, -0.0)]
        {
            assert_eq!(half(bits).to_bits(), f32::to_bits(value), "{bits:x}");
        }
        assert_eq!(half(0xfc00), f32::NEG_INFINITY);
        assert!(half(0x7e00).is_nan());
    }
}
