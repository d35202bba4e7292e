//! Formats moments and spans of time like numpy.

use scda::TimeUnit;
use std::fmt::Write;

/// The size of a unit: how many of them make a second, or how many seconds it has.
enum UnitSize {
    Parts(i128),
    Seconds(i128),
}

fn size(name: &str) -> Option<UnitSize> {
    Some(match name {
        "W" => UnitSize::Seconds(7 * 86_400),
        "D" => UnitSize::Seconds(86_400),
        "h" => UnitSize::Seconds(3600),
        "m" => UnitSize::Seconds(60),
        "s" => UnitSize::Seconds(1),
        "ms" => UnitSize::Parts(1000),
        "us" => UnitSize::Parts(1_000_000),
        "ns" => UnitSize::Parts(1_000_000_000),
        "ps" => UnitSize::Parts(1_000_000_000_000),
        "fs" => UnitSize::Parts(1_000_000_000_000_000),
        "as" => UnitSize::Parts(1_000_000_000_000_000_000),
        _ => return None,
    })
}

/// The days from 0000-03-01 to 1970-01-01.
const BEFORE_1970: i128 = 719_468;

/// The year, month and day of a number of days after 1970-01-01.
fn date(day: i128) -> (i128, i128, i128) {
    let march = |year: i128| 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let day = day + BEFORE_1970;
    // The mean over 400 years, which is off by a year or two at most. Years begin in March, so that the leap day is the
    // last day.
    let mut year = (400 * day).div_euclid(march(400)) + 1;
    while march(year) > day {
        year -= 1;
    }
    let of_year = day - march(year);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

/// A span: the number, and its unit.
pub fn show_span(count: i64, unit: TimeUnit, text: &mut String) {
    let all = i128::from(count) * i128::from(unit.scale());
    let _ = match (count, unit.name()) {
        (i64::MIN, _) => write!(text, "NaT"),
        (_, "generic") => write!(text, "{all}"),
        (_, name) => write!(text, "{all}{name}"),
    };
}

/// A moment, as precise as its unit: `2026-11-24T20:15:00`.
pub fn show_moment(count: i64, unit: TimeUnit, text: &mut String) {
    let all = i128::from(count) * i128::from(unit.scale());
    let name = unit.name();
    let _ = match (count, name, size(name)) {
        (i64::MIN, ..) => write!(text, "NaT"),
        (_, "Y", _) => write!(text, "{:04}", 1970 + all),
        (_, "M", _) => write!(text, "{:04}-{:02}", 1970 + all.div_euclid(12), all.rem_euclid(12) + 1),
        (.., None) => write!(text, "{all}"),
        (.., Some(size)) => {
            let (seconds, rest, parts) = match size {
                UnitSize::Seconds(of_one) => (all * of_one, 0, 1),
                UnitSize::Parts(parts) => (all.div_euclid(parts), all.rem_euclid(parts), parts),
            };
            let (year, month, day) = date(seconds.div_euclid(86_400));
            let second = seconds.rem_euclid(86_400);
            let _ = write!(text, "{year:04}-{month:02}-{day:02}");
            let _ = match name {
                "W" | "D" => Ok(()),
                "h" => write!(text, "T{:02}", second / 3600),
                "m" => write!(text, "T{:02}:{:02}", second / 3600, second / 60 % 60),
                _ => write!(text, "T{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60),
            };
            match parts {
                1 => Ok(()),
                _ => write!(text, ".{rest:0width$}", width = parts.ilog10() as usize),
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_as_numpy_writes_them() {
        let shown = |count, unit: &str| {
            let mut text = String::new();
            show_moment(count, TimeUnit::from_text(unit).unwrap(), &mut text);
            text
        };
        for (count, unit, expected) in [
            (0, "s", "1970-01-01T00:00:00"),
            (1_577_836_800, "s", "2020-01-01T00:00:00"),
            (-1, "s", "1969-12-31T23:59:59"),
            (951_782_400, "s", "2000-02-29T00:00:00"),
            (-1, "ns", "1969-12-31T23:59:59.999999999"),
            (1, "10us", "1970-01-01T00:00:00.000010"),
            (20_000, "D", "2024-10-04"),
            (-719_468, "D", "0000-03-01"),
            (11_016, "D", "2000-02-29"),
            (47_541, "D", "2100-03-01"),
            (2, "W", "1970-01-15"),
            (25, "h", "1970-01-02T01"),
            (61, "m", "1970-01-01T01:01"),
            (-3, "M", "1969-10"),
            (54, "Y", "2024"),
            (i64::MIN, "D", "NaT"),
            (7, "generic", "7"),
            (i64::MAX, "ns", "2262-04-11T23:47:16.854775807"),
        ] {
            assert_eq!(shown(count, unit), expected, "{count} {unit}");
        }
    }

    #[test]
    fn spans_have_a_unit() {
        let mut text = String::new();
        show_span(-3, TimeUnit::from_text("10us").unwrap(), &mut text);
        show_span(i64::MIN, TimeUnit::from_text("s").unwrap(), &mut text);
        assert_eq!(text, "-30usNaT");
    }
}
