//! Fill values: converts an item to JSON, as Zarr v3 writes it, and back.

use super::{DataType, Kind};
use scda_base::numbers::{power_of_two, to_usize};
use serde_json::{Number, Value};

/// A floating-point format: its size in bytes, and the bits of its fraction.
#[derive(Clone, Copy)]
struct Float {
    bytes: usize,
    fraction: u32,
}

impl Float {
    fn of(bytes: u64) -> Self {
        match bytes {
            2 => Self { bytes: 2, fraction: 10 },
            4 => Self { bytes: 4, fraction: 23 },
            _ => Self { bytes: 8, fraction: 52 },
        }
    }

    /// The bits of infinity.
    fn infinity(self) -> u64 {
        let exponent = 8 * self.bytes - 1 - self.fraction as usize;
        ((1 << exponent) - 1) << self.fraction
    }

    /// The bits of the NaN that JSON calls NaN.
    fn nan(self) -> u64 {
        self.infinity() | 1 << (self.fraction - 1)
    }

    fn sign(self) -> u64 {
        1 << (8 * self.bytes - 1)
    }

    /// The number that has these bits.
    fn value(self, bits: u64) -> f64 {
        match self.bytes {
            2 => {
                let (exponent, fraction) = (((bits >> 10) & 31) as i32, (bits & 0x3ff) as f64);
                let size = match exponent {
                    0 => fraction * power_of_two(-24),
                    _ => (1024.0 + fraction) * power_of_two(exponent - 25),
                };
                if bits & self.sign() == 0 { size } else { -size }
            }
            4 => u32::try_from(bits).map_or(0.0, |bits| f64::from(f32::from_bits(bits))),
            _ => f64::from_bits(bits),
        }
    }

    /// The bits of the nearest number of this format, unless the value is beyond the largest one.
    #[allow(clippy::cast_possible_truncation)] // rounding is meant
    fn bits(self, value: f64) -> Option<u64> {
        let bits = match self.bytes {
            2 => half_bits(value),
            4 => u64::from((value as f32).to_bits()),
            _ => value.to_bits(),
        };
        (bits & !self.sign() < self.infinity()).then_some(bits)
    }

    fn to_json(self, bits: u64) -> Value {
        if bits == self.nan() {
            "NaN".into()
        } else if bits == self.infinity() {
            "Infinity".into()
        } else if bits == self.infinity() | self.sign() {
            "-Infinity".into()
        } else if bits & self.infinity() == self.infinity() {
            format!("0x{bits:0width$x}", width = 2 * self.bytes).into()
        } else {
            Number::from_f64(self.value(bits)).into()
        }
    }

    fn of_json(self, value: &Value) -> Option<u64> {
        if let Value::Number(number) = value {
            return self.bits(number.as_f64()?);
        }
        match value.as_str()? {
            "NaN" => Some(self.nan()),
            "Infinity" => Some(self.infinity()),
            "-Infinity" => Some(self.infinity() | self.sign()),
            text => {
                let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 2 * self.bytes)?;
                let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                u64::from_str_radix(digits, 16).ok().filter(|_| is_hex)
            }
        }
    }
}

/// The bits of the `float16` nearest to a number, ties to even.
fn half_bits(value: f64) -> u64 {
    let sign = u64::from(value.is_sign_negative()) << 15;
    let size = value.abs();
    // The distance from one number to the next at this magnitude: a power of 2.
    #[allow(clippy::cast_possible_truncation)] // at most 2047
    let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(-14) - 10;
    let steps = (size / power_of_two(exponent)).round_ties_even();
    if steps > 2048.0 || exponent > 5 {
        return sign | 0x7c00;
    }
    // `steps` counts from the exponent's zero, so that 2048 is the first number of the next exponent.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // small and not negative
    let steps = steps as u64;
    sign | ((u64::from((exponent + 24).cast_unsigned()) << 10) + steps)
}

/// The number with these bytes, in little-endian order.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte))
}

/// An item, in little-endian order, as JSON.
#[must_use]
pub fn to_json(data_type: DataType, item: &[u8]) -> Value {
    let bytes = to_usize(data_type.number_bytes());
    let float = Float::of(data_type.number_bytes());
    let bits = number(item.get(..bytes).unwrap_or_default());
    match data_type.kind() {
        Kind::Bool => (bits != 0).into(),
        Kind::Unsigned => bits.into(),
        Kind::Signed => {
            let unused = 64 - 8 * bytes;
            ((bits << unused).cast_signed() >> unused).into()
        }
        Kind::Float => float.to_json(bits),
        Kind::Complex => Value::from(vec![float.to_json(bits), float.to_json(number(&item[bytes..]))]),
        Kind::Raw => item.into(),
        Kind::Time => number(item).cast_signed().into(),
        Kind::Text => match data_type {
            DataType::Text(_) => text_of(item).map_or_else(|| base64(item), Value::from),
            _ => base64(without_zeros(item)),
        },
        Kind::Struct => base64(item),
        Kind::Variable => match std::str::from_utf8(item) {
            Ok(text) if data_type == DataType::String => text.into(),
            _ => base64(item),
        },
    }
}

/// The item, in little-endian order, that this value stands for; `None` if the type has no such item.
#[must_use]
pub fn of_json(data_type: DataType, value: &Value) -> Option<Vec<u8>> {
    let bytes = to_usize(data_type.number_bytes());
    let float = Float::of(data_type.number_bytes());
    let low = |bits: u64| bits.to_le_bytes()[..bytes].to_vec();
    match data_type.kind() {
        Kind::Bool => value.as_bool().map(|bit| vec![u8::from(bit)]),
        Kind::Unsigned => {
            let n = value.as_u64()?;
            (bytes == 8 || n >> (8 * bytes) == 0).then(|| low(n))
        }
        Kind::Signed => {
            let n = value.as_i64()?;
            let most = i64::MAX >> (64 - 8 * bytes);
            (-most - 1..=most).contains(&n).then(|| low(n.cast_unsigned()))
        }
        Kind::Float => float.of_json(value).map(low),
        Kind::Complex => {
            let [real, imaginary] = value.as_array()?.as_slice() else { return None };
            Some([low(float.of_json(real)?), low(float.of_json(imaginary)?)].concat())
        }
        Kind::Raw => raw_of_json(value).filter(|item| item.len() as u64 == data_type.item_bytes()),
        Kind::Time => match value.as_str() {
            Some("NaT") => Some(low(i64::MIN.cast_unsigned())),
            _ => value.as_i64().map(|n| low(n.cast_unsigned())),
        },
        Kind::Text => {
            let mut item = match data_type {
                DataType::Text(_) => {
                    value.as_str()?.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect()
                }
                _ => raw_of_json(value)?,
            };
            let most = to_usize(data_type.item_bytes());
            (item.len() <= most).then(|| {
                item.resize(most, 0);
                item
            })
        }
        Kind::Struct => raw_of_json(value).filter(|item| item.len() as u64 == data_type.item_bytes()),
        Kind::Variable if data_type == DataType::String => {
            value.as_str().map(|text| text.as_bytes().to_vec())
        }
        Kind::Variable => raw_of_json(value),
    }
}

fn base64(bytes: &[u8]) -> Value {
    base64_simd::STANDARD.encode_to_string(bytes).into()
}

/// The bytes without trailing zeros.
fn without_zeros(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)]
}

/// The text of UTF-32 characters in little-endian order, without trailing zeros; `None` if one of them is
/// invalid.
pub fn text_of(item: &[u8]) -> Option<String> {
    let (characters, _) = item.as_chunks::<4>();
    let end = characters.iter().rposition(|bytes| *bytes != [0; 4]).map_or(0, |last| last + 1);
    characters[..end].iter().map(|bytes| char::from_u32(u32::from_le_bytes(*bytes))).collect()
}

/// Raw bytes, from an array of numbers or, as zarr-python writes them, from base64.
fn raw_of_json(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Array(bytes) => {
            bytes.iter().map(|byte| byte.as_u64().and_then(|byte| u8::try_from(byte).ok())).collect()
        }
        Value::String(text) => base64_simd::STANDARD.decode_to_vec(text).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Converts an item to JSON text and back.
    fn round_trip(data_type: DataType, item: &[u8]) -> String {
        let text = to_json(data_type, item).to_string();
        let back = of_json(data_type, &serde_json::from_str(&text).unwrap());
        assert_eq!(back.as_deref(), Some(item), "{data_type}: {text}");
        text
    }

    #[test]
    fn values_as_zarr_has_them() {
        use DataType::*;
        for (data_type, item, text) in [
            (Bool, &[1][..], "true"),
            (Int8, &[0xff], "-1"),
            (Int64, &i64::MIN.to_le_bytes(), "-9223372036854775808"),
            (Uint64, &u64::MAX.to_le_bytes(), "18446744073709551615"),
            (Float64, &(-0.0_f64).to_le_bytes(), "-0.0"),
            (Float64, &0.1_f64.to_le_bytes(), "0.1"),
            (Float32, &0.1_f32.to_le_bytes(), "0.10000000149011612"),
            (Float64, &f64::NAN.to_le_bytes(), "\"NaN\""),
            (Float32, &f32::INFINITY.to_le_bytes(), "\"Infinity\""),
            (Float16, &0xfc00_u16.to_le_bytes(), "\"-Infinity\""),
            (Float32, &0x7fc0_0001_u32.to_le_bytes(), "\"0x7fc00001\""),
            (Float64, &0xfff8_0000_0000_0000_u64.to_le_bytes(), "\"0xfff8000000000000\""),
            (Float16, &0x7bff_u16.to_le_bytes(), "65504.0"),
            (Float16, &0x0001_u16.to_le_bytes(), "5.960464477539063e-8"),
            // The bytes of files depend on when numbers get an exponent (docs/datasets.md): a new serde_json
            // must not change that.
            (Float64, &9_999_999_999_999_998_f64.to_le_bytes(), "9999999999999998.0"),
            (Float64, &1e16_f64.to_le_bytes(), "1e+16"),
            (Float64, &(-1.25e300_f64).to_le_bytes(), "-1.25e+300"),
            (Float64, &1e-5_f64.to_le_bytes(), "0.00001"),
            (Float64, &9.5e-6_f64.to_le_bytes(), "9.5e-6"),
            (Float64, &5e-324_f64.to_le_bytes(), "5e-324"),
            (Complex64, &[0_f32.to_le_bytes(), f32::NAN.to_le_bytes()].concat(), "[0.0,\"NaN\"]"),
            (Raw(3), &[1, 2, 255], "[1,2,255]"),
            (Text(3), b"a\0\0\0\xe9\0\0\0\0\0\0\0", "\"a\u{e9}\""),
            (Text(1), &[0; 4], "\"\""),
            (Bytes(3), &[1, 2, 255], "\"AQL/\""),
            (Bytes(5), &[1, 0, 2, 0, 0], "\"AQAC\""),
            (Bytes(2), &[0; 2], "\"\""),
            (String, "\u{e9}".as_bytes(), "\"\u{e9}\""),
            (VariableBytes, &[1, 2, 255], "\"AQL/\""),
            (
                Struct(super::super::Struct::packed([("a", Int8), ("b", Int16)]).unwrap()),
                &[1, 2, 255],
                "\"AQL/\"",
            ),
        ] {
            assert_eq!(round_trip(data_type, item), text);
        }
        // Not valid Unicode.
        assert_eq!(to_json(Text(1), &[0, 0xd8, 0, 0]), json!("ANgAAA=="));
        assert_eq!(to_json(String, &[255]), json!("/w=="));
    }

    #[test]
    fn values_that_others_write() {
        let found = |data_type, value| of_json(data_type, &value);
        assert_eq!(found(DataType::Raw(3), json!("AQL/")), Some(vec![1, 2, 255]));
        assert_eq!(found(DataType::Float32, json!(1)), Some(1_f32.to_le_bytes().to_vec()));
        assert_eq!(found(DataType::Float32, json!("0x7fc00000")), found(DataType::Float32, json!("NaN")));
        assert_eq!(
            found(DataType::Float32, json!("0x7FC0000a")),
            Some(0x7fc0_000a_u32.to_le_bytes().to_vec())
        );
        assert_eq!(found(DataType::Float64, json!(-0.0)), Some((-0.0_f64).to_le_bytes().to_vec()));
    }

    #[test]
    fn values_of_another_type_are_none() {
        use DataType::*;
        for (data_type, value) in [
            (Bool, json!(1)),
            (Int8, json!(128)),
            (Int8, json!(-129)),
            (Uint8, json!(-1)),
            (Uint8, json!(256)),
            (Uint64, json!(1.0)),
            (Int64, json!(9_223_372_036_854_775_808_u64)),
            (Int32, json!("1")),
            (Float16, json!(65520)),
            (Float32, json!(1e39)),
            (Float32, json!("nan")),
            (Float32, json!("0x7fc0")),
            (Float32, json!("0x+fc00000")),
            (Float64, json!(null)),
            (Complex64, json!(0)),
            (Complex64, json!([0, 0, 0])),
            (Raw(2), json!([1])),
            (Raw(2), json!([1, 256])),
            (Raw(2), json!("AQ==")),
            (Raw(2), json!("?")),
            (Raw(2), json!(2)),
            (Text(2), json!("abc")),
            (Text(2), json!([1])),
            (Bytes(2), json!("AQL/")),
            (Bytes(2), json!("?")),
        ] {
            assert_eq!(of_json(data_type, &value), None, "{data_type}: {value}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "many minutes")]
    fn each_float16_is_the_one_nearest_to_it() {
        let half = Float::of(2);
        let values: Vec<f64> = (0..0x7c00).map(|bits| half.value(bits)).collect();
        assert!(values.is_sorted() && values[0x3c00] == 1.0);
        for (bits, pair) in (0_u64..).zip(values.windows(2)) {
            assert_eq!((half_bits(pair[0]), half_bits(-pair[0])), (bits, bits | 0x8000));
            let middle = f64::midpoint(pair[0], pair[1]);
            assert_eq!(half_bits(middle), bits + bits % 2, "{middle}: ties to even");
            assert_eq!(half_bits(middle.next_down()), bits);
            assert_eq!(half_bits(middle.next_up()), bits + 1);
        }
        for bits in 0..=u16::MAX {
            round_trip(DataType::Float16, &bits.to_le_bytes());
        }
        assert_eq!([65519.9, 65520.0, 1e308, f64::INFINITY].map(half_bits), [0x7bff, 0x7c00, 0x7c00, 0x7c00]);
    }

    proptest! {
        #[test]
        fn any_item_comes_back(bytes in prop::array::uniform16(any::<u8>()), special in 0..4) {
            let mut bytes = bytes;
            if special == 0 {
                bytes[6..8].copy_from_slice(&[0xf0, 0x7f]);
            }
            for name in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                "float32", "float64", "complex64", "complex128", "r24"] {
                let data_type = DataType::from_name(name).unwrap();
                round_trip(data_type, &bytes[..to_usize(data_type.item_bytes())]);
            }
        }
    }
}
