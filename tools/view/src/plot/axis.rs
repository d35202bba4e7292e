//! Scales, and their ticks.

use super::tick::{Tick, text_of};

/// How numbers become places.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    pub from: f64,
    pub to: f64,
    pub is_log: bool,
}

impl Scale {
    /// The scale of some numbers, from the least to the greatest one, or as far as `given` says.
    ///
    /// # Errors
    /// Words if there are no numbers for a logarithm.
    pub fn of(numbers: &[f64], is_log: bool, given: [Option<f64>; 2]) -> Result<Self, String> {
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for &number in numbers.iter().filter(|number| number.is_finite() && (!is_log || **number > 0.0)) {
            (from, to) = (from.min(number), to.max(number));
        }
        let is_empty = from > to;
        (from, to) = (given[0].unwrap_or(from), given[1].unwrap_or(to));
        if is_log && (from <= 0.0 || is_empty && given.contains(&None)) {
            return Err("a logarithmic scale needs a number above 0, and there is none".to_owned());
        }
        if !from.is_finite() || !to.is_finite() {
            (from, to) = (0.0, 1.0);
        }
        if to <= from {
            let margin = if from == 0.0 { 1.0 } else { from.abs() / 10.0 };
            (from, to) = if is_log { (from / 2.0, from * 2.0) } else { (from - margin, from + margin) };
        }
        Ok(Self { from, to, is_log })
    }

    /// Symmetric around 0, for maps of colours that have a middle.
    pub fn symmetric(self) -> Self {
        let end = self.from.abs().max(self.to.abs());
        Self { from: -end, to: end, is_log: false }
    }

    /// Where a number is: 0 to 1, or outside.
    pub fn place(&self, number: f64) -> f64 {
        if self.is_log {
            return (number / self.from).ln() / (self.to / self.from).ln();
        }
        // The difference of two numbers may exceed all.
        (number / 2.0 - self.from / 2.0) / (self.to / 2.0 - self.from / 2.0)
    }

    /// Round numbers, at most about `most` of them.
    pub fn ticks(&self, most: f64) -> Vec<Tick> {
        if self.is_log {
            let (first, last) = (self.from.log10(), self.to.log10());
            let step = ((last - first) / most.max(1.0)).ceil().max(1.0);
            let mut ticks = Vec::new();
            let mut exponent = (first / step - 1e-9).ceil() * step;
            while exponent <= last + 1e-9 {
                ticks.push(Tick { value: 10_f64.powf(exponent), text: format!("1e{exponent}") });
                exponent += step;
            }
            if ticks.len() > 1 {
                return ticks;
            }
        }
        let room = (self.to - self.from) / most.max(1.0);
        if !room.is_finite() || room <= 0.0 {
            return vec![Tick { value: self.from, text: text_of(self.from, 0.0) }];
        }
        let power = 10_f64.powf(room.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().find(|n| n * power >= room * 0.999).unwrap_or(10.0) * power;
        let mut ticks = Vec::new();
        let mut n = (self.from / step - 1e-9).ceil();
        while n * step <= self.to + step * 1e-9 && ticks.len() < 100 {
            ticks.push(Tick { value: n * step, text: text_of(n * step, step) });
            n += 1.0;
        }
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(from: f64, to: f64, is_log: bool) -> Vec<String> {
        Scale { from, to, is_log }.ticks(5.0).into_iter().map(|tick| tick.text).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(
            texts(0.0, 1.0, false),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"].map(|t| if t == "0.0" { "0" } else { t })
        );
        assert_eq!(texts(-3.0, 17.0, false), ["0", "5", "10", "15"]);
        assert_eq!(texts(1e9, 1.4e9, false), ["1.0e9", "1.1e9", "1.2e9", "1.3e9", "1.4e9"]);
        assert_eq!(texts(1e-3, 1e3, true), ["1e-2", "1e0", "1e2"]);
        assert!(!texts(-1e308, 1e308, false).is_empty());
    }

    #[test]
    fn scales_end_where_numbers_do() {
        let of = |numbers: &[f64], is_log| Scale::of(numbers, is_log, [None; 2]);
        let scale = of(&[f64::NAN, 2.0, -1.0, f64::INFINITY], false).unwrap();
        assert_eq!((scale.from, scale.to), (-1.0, 2.0));
        assert_eq!(scale.place(0.5), 0.5);
        assert_eq!(of(&[0.0, 1e-2, 1.0], true).unwrap().place(0.1), 0.5);
        assert!(of(&[0.0, -1.0], true).is_err());
        assert!(of(&[], false).unwrap().place(0.5) == 0.5);
    }
}
