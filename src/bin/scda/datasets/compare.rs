//! Whether items of two datasets are the same.

use super::values::{Number, number};
use crate::numbers::to_usize;
use scda::DataType;

/// How far numbers may lie apart.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// As a part of the second number.
    pub relative: f64,
    pub absolute: f64,
}

impl Tolerance {
    fn are_near(self, a: Number, b: Number) -> bool {
        if a == b {
            return true;
        }
        let distance = match (a, b) {
            #[allow(clippy::cast_precision_loss)] // the nearest one is meant
            (Number::Whole(a), Number::Whole(b)) => (a - b).unsigned_abs() as f64,
            _ => (a.value() - b.value()).abs(),
        };
        let (a, b) = (a.value(), b.value());
        // An infinite number is near no other one.
        let is_near = distance <= self.absolute + self.relative * b.abs() && distance.is_finite();
        a.is_nan() && b.is_nan() || is_near
    }
}

/// The number of the first item that differs.
pub fn first_unlike(data_type: DataType, a: &[u8], b: &[u8], tolerance: Option<Tolerance>) -> Option<usize> {
    let item = to_usize(data_type.item_bytes());
    let Some(tolerance) = tolerance.filter(|_| !matches!(data_type, DataType::Raw(_) | DataType::Bool))
    else {
        if a == b {
            return None;
        }
        return a.iter().zip(b).position(|(a, b)| a != b).map(|byte| byte / item);
    };
    let bytes = to_usize(data_type.number_bytes());
    let numbers = a.chunks_exact(bytes).zip(b.chunks_exact(bytes));
    let are_unlike =
        |(a, b): (&[u8], &[u8])| a != b && !tolerance.are_near(number(data_type, a), number(data_type, b));
    numbers.map(are_unlike).position(|are_unlike| are_unlike).map(|place| place * bytes / item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_near_or_not() {
        let near = |a: f64, b: f64, relative, absolute| {
            let tolerance = Tolerance { relative, absolute };
            first_unlike(DataType::Float64, &a.to_ne_bytes(), &b.to_ne_bytes(), Some(tolerance)).is_none()
        };
        assert!(near(1.0, 1.0, 0.0, 0.0) && near(0.0, -0.0, 0.0, 0.0));
        assert!(near(f64::NAN, -f64::NAN, 0.0, 0.0) && !near(f64::NAN, 1.0, 1.0, 1.0));
        assert!(near(101.0, 100.0, 0.01, 0.0) && !near(102.0, 100.0, 0.01, 0.0));
        assert!(near(1.0, 1.25, 0.0, 0.25) && !near(1.0, 1.5, 0.0, 0.25));
        assert!(near(f64::INFINITY, f64::INFINITY, 0.0, 0.0) && !near(f64::INFINITY, 1.0, 1.0, 1.0));
        assert!(!near(1.0, f64::INFINITY, 0.5, 0.0) && !near(f64::NEG_INFINITY, f64::INFINITY, 0.5, 0.0));
        let exact = first_unlike(DataType::Float64, &0.0_f64.to_ne_bytes(), &(-0.0_f64).to_ne_bytes(), None);
        assert_eq!(exact, Some(0));
        let whole = |a: u64, b: u64, absolute| {
            let tolerance = Tolerance { relative: 0.0, absolute };
            first_unlike(DataType::Uint64, &a.to_ne_bytes(), &b.to_ne_bytes(), Some(tolerance)).is_none()
        };
        assert!(whole(u64::MAX, u64::MAX - 1, 1.0) && !whole(u64::MAX, u64::MAX - 2, 1.0));
        let place =
            first_unlike(DataType::Complex64, &[0; 32], &[[0; 20].as_slice(), &[1; 12]].concat(), None);
        assert_eq!(place, Some(2));
    }
}
