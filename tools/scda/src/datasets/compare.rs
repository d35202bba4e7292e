//! Compares items of two datasets, and measures how far they differ.

use super::box_parts::each_item;
use super::values::{Number, number};
use scda::{DataType, Kind};
use scda_base::numbers::to_usize;

/// How far numbers may differ.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// As a fraction of the second number.
    pub relative: f64,
    pub absolute: f64,
}

/// How far two items differ; NaN if one of their numbers is NaN, or if they have none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    pub absolute: f64,
    /// As a fraction of the second number.
    pub relative: f64,
}

impl Deviation {
    fn of(a: Number, b: Number) -> Self {
        let absolute = match (a, b) {
            _ if a == b => 0.0,
            #[allow(clippy::cast_precision_loss)] // the nearest number is wanted
            (Number::Whole(a), Number::Whole(b)) => (a - b).unsigned_abs() as f64,
            _ => (a.value() - b.value()).abs(),
        };
        let relative = if absolute == 0.0 { 0.0 } else { absolute / b.value().abs() };
        Self { absolute, relative }
    }

    /// The larger deviations of the two parts of a complex number.
    fn or(self, other: Self) -> Self {
        let larger = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) };
        Self {
            absolute: larger(self.absolute, other.absolute),
            relative: larger(self.relative, other.relative),
        }
    }
}

impl Tolerance {
    fn are_near(self, a: Number, b: Number, apart: Deviation) -> bool {
        let (x, y) = (a.value(), b.value());
        // An infinite number is close to no other one.
        let is_near = apart.absolute <= self.absolute + self.relative * y.abs() && apart.absolute.is_finite();
        a == b || x.is_nan() && y.is_nan() || is_near
    }
}

/// True if items of this type have numbers, which can differ by an amount.
pub fn are_numbers(data_type: DataType) -> bool {
    matches!(data_type.kind(), Kind::Signed | Kind::Unsigned | Kind::Float | Kind::Complex)
}

/// Calls a function with the number of each item that differs, and with its deviation.
pub fn for_each_unlike(
    data_type: DataType,
    (a, b): (&[u8], &[u8]),
    tolerance: Option<Tolerance>,
    mut each: impl FnMut(usize, Deviation),
) {
    if a == b {
        return;
    }
    let none = Deviation { absolute: f64::NAN, relative: f64::NAN };
    let bytes = to_usize(data_type.number_bytes());
    for (place, (a, b)) in each_item(data_type, a).zip(each_item(data_type, b)).enumerate() {
        if a == b {
            continue;
        }
        if !are_numbers(data_type) {
            each(place, none);
            continue;
        }
        let parts = a.chunks_exact(bytes).zip(b.chunks_exact(bytes)).filter(|(a, b)| a != b);
        let apart = parts.filter_map(|(a, b)| {
            let (a, b) = (number(data_type, a), number(data_type, b));
            let apart = Deviation::of(a, b);
            tolerance.is_none_or(|tolerance| !tolerance.are_near(a, b, apart)).then_some(apart)
        });
        if let Some(apart) = apart.reduce(Deviation::or) {
            each(place, apart);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unlike(
        data_type: DataType,
        a: &[u8],
        b: &[u8],
        tolerance: Option<Tolerance>,
    ) -> Vec<(usize, Deviation)> {
        let mut found = Vec::new();
        for_each_unlike(data_type, (a, b), tolerance, |place, apart| found.push((place, apart)));
        found
    }

    #[test]
    fn numbers_are_near_or_not() {
        let near = |a: f64, b: f64, relative, absolute| {
            let tolerance = Tolerance { relative, absolute };
            unlike(DataType::Float64, &a.to_ne_bytes(), &b.to_ne_bytes(), Some(tolerance)).is_empty()
        };
        assert!(near(1.0, 1.0, 0.0, 0.0) && near(0.0, -0.0, 0.0, 0.0));
        assert!(near(f64::NAN, -f64::NAN, 0.0, 0.0) && !near(f64::NAN, 1.0, 1.0, 1.0));
        assert!(near(101.0, 100.0, 0.01, 0.0) && !near(102.0, 100.0, 0.01, 0.0));
        assert!(near(1.0, 1.25, 0.0, 0.25) && !near(1.0, 1.5, 0.0, 0.25));
        assert!(near(f64::INFINITY, f64::INFINITY, 0.0, 0.0) && !near(f64::INFINITY, 1.0, 1.0, 1.0));
        assert!(!near(1.0, f64::INFINITY, 0.5, 0.0) && !near(f64::NEG_INFINITY, f64::INFINITY, 0.5, 0.0));
        let exact = unlike(DataType::Float64, &0.0_f64.to_ne_bytes(), &(-0.0_f64).to_ne_bytes(), None);
        assert_eq!(exact, [(0, Deviation { absolute: 0.0, relative: 0.0 })]);
        let whole = |a: u64, b: u64, absolute| {
            let tolerance = Tolerance { relative: 0.0, absolute };
            unlike(DataType::Uint64, &a.to_ne_bytes(), &b.to_ne_bytes(), Some(tolerance)).is_empty()
        };
        assert!(whole(u64::MAX, u64::MAX - 1, 1.0) && !whole(u64::MAX, u64::MAX - 2, 1.0));
        let place = unlike(DataType::Complex64, &[0; 32], &[[0; 20].as_slice(), &[1; 12]].concat(), None);
        assert_eq!(place.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn items_lie_apart() {
        let bytes = |numbers: &[f32]| numbers.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>();
        let (a, b) = (bytes(&[1.0, 2.0, 5.0, f32::NAN]), bytes(&[1.0, 4.0, 0.0, 1.0]));
        let found = unlike(DataType::Float32, &a, &b, None);
        assert_eq!(found[0], (1, Deviation { absolute: 2.0, relative: 0.5 }));
        assert_eq!(found[1], (2, Deviation { absolute: 5.0, relative: f64::INFINITY }));
        assert!(found[2].0 == 3 && found[2].1.absolute.is_nan() && found.len() == 3);
        // The larger deviation of the parts; a part with NaN has none.
        let (a, b) = (bytes(&[1.0, 2.0, f32::NAN, 2.0]), bytes(&[2.0, 6.0, 1.0, 1.0]));
        let found = unlike(DataType::Complex64, &a, &b, None);
        assert_eq!(found[0], (0, Deviation { absolute: 4.0, relative: 4.0 / 6.0 }));
        assert!(found[1].1.absolute.is_nan());
        let found = unlike(DataType::Raw(3), b"abcdef", b"abcdeg", None);
        assert!(found.len() == 1 && found[0].0 == 1 && found[0].1.absolute.is_nan());
    }
}
