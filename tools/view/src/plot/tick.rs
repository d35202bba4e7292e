//! What stands on an axis, and numbers as texts.

/// A place on an axis, from 0 to 1, and what stands there.
#[derive(Debug, PartialEq)]
pub struct Tick {
    pub value: f64,
    pub text: String,
}

/// A number in as few digits as tell it from those a step away.
pub fn text_of(number: f64, step: f64) -> String {
    let size = number.abs().max(step);
    if number == 0.0 || size == 0.0 {
        return "0".to_owned();
    }
    let step = if step > 0.0 { step } else { size / 1e4 };
    let digits = |power: f64| usize::try_from(whole(-power)).unwrap_or(0).min(17);
    if (1e-4..1e6).contains(&size) {
        return format!("{number:.*}", digits((step.log10() + 1e-9).floor()));
    }
    let after = digits((step.log10() + 1e-9).floor() - size.log10().floor());
    let text = format!("{number:.after$e}");
    text
}

/// A number that is whole, or the next one towards 0.
#[allow(clippy::cast_possible_truncation)] // a number out of range is the last one in range
pub fn whole(number: f64) -> i64 {
    number as i64
}
