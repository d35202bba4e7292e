//! Units of time, as in numpy.

use std::fmt;

/// The unit that times are counted in: a multiple of a named unit, such as 10 µs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeUnit {
    /// The index of its name in [`NAMES`].
    place: u8,
    scale: u32,
}

/// From years to attoseconds, as numpy and Zarr name them. `generic` means no unit.
const NAMES: [&str; 14] = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic"];

impl TimeUnit {
    /// A multiple of a unit: `scale` is 1 to 2^31 - 1; `name` is `Y`, `M`, `W`, `D`, `h`, `m`, `s`, `ms`,
    /// `us`, `ns`, `ps`, `fs`, `as`, or `generic` for no unit.
    #[must_use]
    pub fn new(name: &str, scale: u32) -> Option<Self> {
        let place = NAMES.iter().position(|known| *known == name || (name, *known) == ("μs", "us"))?;
        let is_valid = (1..1 << 31).contains(&scale);
        is_valid.then_some(Self { place: u8::try_from(place).ok()?, scale })
    }

    /// A unit as [`Display`](fmt::Display) shows it: `s`, `10us`.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (scale, name) = text.split_at(digits);
        let scale = if scale.is_empty() { Some(1) } else { scale.parse().ok() };
        Self::new(name, scale?).filter(|unit| unit.to_string() == text)
    }

    /// The name of the unit, without the multiple.
    #[must_use]
    pub fn name(&self) -> &'static str {
        NAMES[usize::from(self.place)]
    }

    /// The multiple of the unit.
    #[must_use]
    pub fn scale(&self) -> u32 {
        self.scale
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scale != 1 {
            write!(f, "{}", self.scale)?;
        }
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_there_and_back() {
        for text in ["Y", "M", "10us", "generic", "2147483647as"] {
            assert_eq!(TimeUnit::from_text(text).unwrap().to_string(), text);
        }
        for text in ["", "1s", "0s", "2147483648s", "sec", "-1s", "s ", "10"] {
            assert_eq!(TimeUnit::from_text(text), None, "{text}");
        }
    }
}
