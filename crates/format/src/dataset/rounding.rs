//! Rounding of floating-point numbers before compression: the bounds, and the attributes that record them.

use super::json::{members, value};
use super::{DataType, Dataset, Layout};
use scda_base::error::{Error, Result};
use scda_base::floats::in_default;
use scda_base::numbers::power_of_two;
use serde_json::Value;

/// The attribute with the largest relative error of a number.
pub const RELATIVE: &str = "scda_max_relative_error";
/// The attribute with the largest absolute error.
pub const ABSOLUTE: &str = "scda_max_absolute_error";
/// The attribute with the number of significand bits that are kept after the leading one, named as in NetCDF.
pub const BITS: &str = "_QuantizeBitRoundNumberOfSignificantBits";

/// Which trailing bits of numbers become zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounding {
    /// The number of significand bits that are kept after the leading one; `None`: all.
    pub kept_bits: Option<u32>,
    /// Numbers become multiples of 2 to this power; `None`: no such rounding.
    pub quantum: Option<i32>,
}

/// The number of significand bits after the leading one.
fn significand_bits(data_type: DataType) -> Option<u32> {
    data_type.has_floats().then_some(match data_type.number_bytes() {
        2 => 10,
        4 => 23,
        _ => 52,
    })
}

impl Rounding {
    /// The rounding of a valid dataset; `None` if its numbers stay as they are.
    pub fn of(dataset: &Dataset) -> Option<Self> {
        in_default(|| Self::of_bounds(dataset))
    }

    fn of_bounds(dataset: &Dataset) -> Option<Self> {
        let Dataset { max_relative_error: relative, max_absolute_error: absolute, .. } = *dataset;
        if dataset.layout == Layout::Contiguous || (relative == 0.0 && absolute == 0.0) {
            return None;
        }
        let all = significand_bits(dataset.data_type)?;
        // Rounding to n bits after the leading one changes a number by 2^-(n + 1) of it at most.
        let bits = (0..all).find(|&bits| power_of_two(-1 - bits.cast_signed()) <= relative);
        let kept_bits = (relative > 0.0).then_some(bits.unwrap_or(all));
        // Rounding to multiples of 2^k changes it by 2^(k - 1) at most. No number has bits below 2^-1074.
        let quantum = (-1073..=1024).rev().find(|&k| power_of_two(k - 1) <= absolute);
        Some(Self { kept_bits, quantum })
    }
}

/// Returns an error unless the dataset can have its error bounds.
///
/// # Errors
/// `Argument` if it cannot.
pub fn check(dataset: &Dataset) -> Result<()> {
    let Dataset { max_relative_error: relative, max_absolute_error: absolute, .. } = *dataset;
    if !(0.0..1.0).contains(&relative) {
        let message = format!("max_relative_error: found {relative}, expected 0 or more, and less than 1");
        return Err(Error::argument(message));
    }
    if !(absolute >= 0.0 && absolute.is_finite()) {
        return Err(Error::argument(format!(
            "max_absolute_error: found {absolute}, expected a finite number of at least 0"
        )));
    }
    if relative == 0.0 && absolute == 0.0 {
        return Ok(());
    }
    if significand_bits(dataset.data_type).is_none() {
        let found = dataset.data_type;
        return Err(Error::argument(format!(
            "rounding: found the type {found}, expected floating-point or complex numbers"
        )));
    }
    if dataset.layout == Layout::Contiguous {
        let message = "rounding needs chunks: a contiguous layout is not compressed";
        return Err(Error::argument(message));
    }
    Ok(())
}

/// Adds the attributes of the rounding to `attributes`, an object without white space. If the data were
/// rounded before, the bounds are those of both roundings together.
///
/// # Errors
/// `Argument` if the data were rounded in a way that no one bound tells together with this one.
pub fn record(dataset: &Dataset, attributes: String) -> Result<String> {
    let Some(rounding) = Rounding::of(dataset) else { return Ok(attributes) };
    let Dataset { max_relative_error: mut relative, max_absolute_error: mut absolute, .. } = *dataset;
    let mut bits = rounding.kept_bits;
    let mut all = Vec::new();
    for member in members(attributes.as_bytes())? {
        let value = value(member.text).unwrap_or_default();
        match (&*member.key, value.as_f64()) {
            (RELATIVE, Some(old)) if absolute == 0.0 && relative > 0.0 => {
                if old != relative {
                    relative = old + relative + old * relative;
                }
            }
            (ABSOLUTE, Some(old)) if relative == 0.0 && absolute > 0.0 => {
                if old != absolute {
                    absolute += old;
                }
            }
            // Data with this attribute have no other error, or its bound is an attribute, too.
            (BITS, _) => {
                bits = bits.into_iter().chain(value.as_u64().and_then(|old| old.try_into().ok())).min()
            }
            (key @ (RELATIVE | ABSOLUTE), _) => {
                return Err(Error::argument(format!(
                    "rounding: the data were rounded before with another bound, {key}: {}",
                    member.text
                )));
            }
            _ => all.push(format!("{}:{}", Value::from(member.key), member.text)),
        }
    }
    let mut put = |key: &str, value: Value| all.push(format!("{}:{value}", Value::from(key)));
    if let Some(bits) = bits {
        put(BITS, bits.into());
    }
    for (key, bound) in [(RELATIVE, relative), (ABSOLUTE, absolute)] {
        if bound > 0.0 {
            put(key, bound.into());
        }
    }
    Ok(format!("{{{}}}", all.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scda_base::error::ErrorKind;

    fn dataset(data_type: DataType, relative: f64, absolute: f64) -> Dataset {
        let mut dataset = Dataset::new("a", data_type, [4]);
        dataset.layout = Layout::Chunked { shape: None, text: false };
        (dataset.max_relative_error, dataset.max_absolute_error) = (relative, absolute);
        dataset
    }

    #[test]
    fn bits_that_keep_the_bound() {
        let of = |relative, absolute| Rounding::of(&dataset(DataType::Float32, relative, absolute));
        assert_eq!(of(0.0, 0.0), None);
        for (relative, kept) in
            [(0.9, 0), (0.5, 0), (0.25, 1), (0.24, 2), (1e-3, 9), (1e-7, 23), (1e-300, 23)]
        {
            assert_eq!(
                of(relative, 0.0),
                Some(Rounding { kept_bits: Some(kept), quantum: None }),
                "{relative}"
            );
        }
        let most = f64::MAX;
        for (absolute, quantum) in [
            (0.5, 0),
            (0.49, -1),
            (1.0, 1),
            (1e-3, -9),
            (f64::MIN_POSITIVE, -1021),
            (5e-324, -1073),
            (most, 1024),
        ] {
            let expected = Some(Rounding { kept_bits: None, quantum: Some(quantum) });
            assert_eq!(of(0.0, absolute), expected, "{absolute}");
        }
        let mut plain = dataset(DataType::Float64, 0.1, 0.0);
        plain.layout = Layout::Contiguous;
        assert_eq!(Rounding::of(&plain), None);
    }

    #[test]
    fn bounds_that_cannot_be() {
        for (data_type, relative, absolute) in [
            (DataType::Float64, -0.1, 0.0),
            (DataType::Float64, 1.0, 0.0),
            (DataType::Float64, f64::NAN, 0.0),
            (DataType::Float64, 0.0, -1.0),
            (DataType::Float64, 0.0, f64::INFINITY),
            (DataType::Float64, 0.0, f64::NAN),
            (DataType::Int32, 0.1, 0.0),
            (DataType::Raw(8), 0.0, 1.0),
        ] {
            let dataset = dataset(data_type, relative, absolute);
            assert_eq!(check(&dataset).unwrap_err().kind(), ErrorKind::Argument, "{dataset:?}");
        }
        let mut plain = dataset(DataType::Complex64, 0.1, 0.0);
        check(&plain).unwrap();
        plain.layout = Layout::Contiguous;
        assert_eq!(check(&plain).unwrap_err().kind(), ErrorKind::Argument);
    }

    #[test]
    fn attributes_tell_the_bound() {
        let told = |relative, absolute, old: &str| {
            record(&dataset(DataType::Float32, relative, absolute), old.into())
        };
        assert_eq!(told(0.0, 0.0, r#"{"a":1.50}"#).unwrap(), r#"{"a":1.50}"#);
        let first = told(0.25, 0.0, r#"{"a":1.50}"#).unwrap();
        let expected =
            r#"{"a":1.50,"_QuantizeBitRoundNumberOfSignificantBits":1,"scda_max_relative_error":0.25}"#;
        assert_eq!(first, expected);
        assert_eq!(told(0.25, 0.0, &first).unwrap(), first);
        let second = told(0.5, 0.0, &first).unwrap();
        assert_eq!(
            second,
            r#"{"a":1.50,"_QuantizeBitRoundNumberOfSignificantBits":0,"scda_max_relative_error":0.875}"#
        );
        let absolute = told(0.0, 0.125, "{}").unwrap();
        assert_eq!(absolute, r#"{"scda_max_absolute_error":0.125}"#);
        assert_eq!(told(0.0, 0.25, &absolute).unwrap(), r#"{"scda_max_absolute_error":0.375}"#);
        // No bound of one kind covers both.
        for (relative, bound, old) in [(0.0, 1.0, &first), (0.5, 0.0, &absolute), (0.5, 1.0, &first)] {
            assert_eq!(told(relative, bound, old).unwrap_err().kind(), ErrorKind::Argument);
        }
    }
}
