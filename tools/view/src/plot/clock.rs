//! Numbers that stand for moments: the dates of an axis. `view/page/dates.js` makes the same ticks; `tests/dates.json` tests both.

use super::tick::{Tick, whole};
use crate::datasets::calendar::{BEFORE_1970, Calendar};
use crate::datasets::times::seconds_of;
use crate::datasets::values::Number;
use scda::DataType;
use serde_json::{Value, json};

const DAY: f64 = 86_400.0;
/// Steps of ticks, in seconds, each a part of a day; in days of a month; and in months.
const SECONDS: [f64; 26] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0,
    300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 10_800.0, 21_600.0, 43_200.0,
];
const DAYS: [u8; 5] = [1, 2, 5, 10, 15];
const MONTHS: [u8; 4] = [1, 2, 3, 6];
/// Moments farther away than this number of seconds have no date.
const FAR: f64 = 1e15;

/// What numbers count: multiples of a second, or of a month.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Unit {
    Seconds(f64),
    Months(f64),
}

/// How numbers are moments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clock {
    calendar: Calendar,
    unit: Unit,
    /// The moment of the number 0, in seconds after that of [`Calendar::day`] 0.
    origin: f64,
}

#[allow(clippy::cast_precision_loss)] // days near to us
fn real(n: i128) -> f64 {
    n as f64
}

fn day_of(seconds: f64) -> i128 {
    i128::from(whole((seconds / DAY).floor()))
}

impl Clock {
    /// That of a type whose items are moments.
    pub fn of_type(data_type: DataType) -> Option<Self> {
        let DataType::Datetime(unit) = data_type else { return None };
        let unit = match unit.name() {
            "Y" => Unit::Months(12.0),
            "M" => Unit::Months(1.0),
            name => Unit::Seconds(seconds_of(name)?),
        };
        Some(Self { calendar: Calendar::Gregorian, unit, origin: real(BEFORE_1970) * DAY })
    }

    /// That of the attributes `units` and `calendar` of the CF conventions, such as "hours since 2000-01-01 06:00".
    pub fn of_units(units: &str, calendar: Option<&str>) -> Option<Self> {
        let calendar = Calendar::from_name(calendar.unwrap_or("standard"))?;
        let (name, since) = units.split_once(" since ")?;
        let seconds = match name.trim().to_ascii_lowercase().as_str() {
            "nanoseconds" | "nanosecond" | "nanosec" | "ns" => 1e-9,
            "microseconds" | "microsecond" | "microsec" | "us" => 1e-6,
            "milliseconds" | "millisecond" | "millisec" | "msec" | "ms" => 1e-3,
            "seconds" | "second" | "secs" | "sec" | "s" => 1.0,
            "minutes" | "minute" | "mins" | "min" => 60.0,
            "hours" | "hour" | "hrs" | "hr" | "h" => 3600.0,
            "days" | "day" | "d" => DAY,
            "weeks" | "week" => 7.0 * DAY,
            // Else months and years have no certain length.
            "months" | "month" if calendar == Calendar::Days360 => 30.0 * DAY,
            "years" | "year" if calendar == Calendar::Days360 => 360.0 * DAY,
            _ => return None,
        };
        Some(Self { calendar, unit: Unit::Seconds(seconds), origin: origin(since, calendar)? })
    }

    /// As the page takes it.
    pub fn to_json(self) -> Value {
        let Self { calendar, unit, origin } = self;
        let (seconds, months) = match unit {
            Unit::Seconds(seconds) => (Some(seconds), None),
            Unit::Months(months) => (None, Some(months)),
        };
        json!({"calendar": calendar.name(), "seconds": seconds, "months": months, "origin": origin})
    }

    /// The beginning of a month, which is counted from the year 0 on.
    fn month(&self, month: i128) -> i128 {
        self.calendar.day(month.div_euclid(12), month.rem_euclid(12) + 1, 1)
    }

    /// The month in which a day is.
    fn month_of(&self, day: i128) -> i128 {
        let (year, month, _) = self.calendar.date(day);
        year * 12 + month - 1
    }

    /// The moment of a number, in seconds; that of a part of a month is in proportion.
    fn seconds(&self, number: f64) -> f64 {
        match self.unit {
            Unit::Seconds(seconds) => self.origin + number * seconds,
            Unit::Months(months) => {
                let count = number * months;
                let month = self.month_of(day_of(self.origin)) + i128::from(whole(count.floor()));
                let (first, next) = (real(self.month(month)), real(self.month(month + 1)));
                (first + (count - count.floor()) * (next - first)) * DAY
            }
        }
    }

    /// The number of a moment.
    fn number(&self, seconds: f64) -> f64 {
        match self.unit {
            Unit::Seconds(unit) => (seconds - self.origin) / unit,
            Unit::Months(months) => {
                let month = self.month_of(day_of(seconds));
                let (first, next) = (real(self.month(month)), real(self.month(month + 1)));
                let part = (seconds / DAY - first) / (next - first);
                (real(month - self.month_of(day_of(self.origin))) + part) / months
            }
        }
    }

    /// The ends of an axis, if they have dates.
    fn ends(&self, from: f64, to: f64) -> Option<[f64; 2]> {
        let is_near = |number: f64| match self.unit {
            Unit::Seconds(seconds) => (number * seconds).abs() < FAR,
            Unit::Months(months) => (number * months).abs() < FAR / (31.0 * DAY),
        };
        (is_near(from) && is_near(to)).then(|| [self.seconds(from), self.seconds(to)])
    }

    fn date(&self, day: i128) -> String {
        let (year, month, day) = self.calendar.date(day);
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// The day of all that is between two numbers, if it is one: what times on an axis leave out.
    pub fn day(&self, from: f64, to: f64) -> Option<String> {
        let [from, to] = self.ends(from, to)?;
        (day_of(from) == day_of(to)).then(|| self.date(day_of(from)))
    }

    /// A moment, up to its microsecond; `None` for a number that stands for none of these, such as one of nanoseconds.
    pub fn exact_moment(&self, number: Number) -> Option<String> {
        const SECOND: i128 = 1_000_000_000;
        self.ends(number.value(), number.value())?;
        let Unit::Seconds(unit) = self.unit else { return self.moment(number.value()) };
        // After the origin, and how far from that a number of floating point may be by its own rounding.
        let (nanos, margin) = match number {
            Number::Whole(count) => (count.checked_mul(whole((unit * 1e9).round()).into())?, 0),
            _ => {
                let seconds = number.value() * unit;
                let below = whole(((seconds - seconds.floor()) * 1e9).round());
                let margin = whole(seconds.abs() * 1e9 * 2.0 * f64::EPSILON);
                (i128::from(whole(seconds.floor())) * SECOND + i128::from(below), 1 + i128::from(margin))
            }
        };
        let all = i128::from(whole((self.origin * 1e3).round())) * 1_000_000 + nanos;
        let near = |step: i128| {
            let rest = (all + step / 2).rem_euclid(step) - step / 2;
            (rest.abs() <= margin).then_some(all - rest)
        };
        if near(1_000_000).is_some() {
            return self.moment(number.value());
        }
        let all = near(1000).filter(|_| margin < 300)?;
        let (day, rest) = (all.div_euclid(86_400 * SECOND), all.rem_euclid(86_400 * SECOND));
        let (seconds, micros) = (rest / SECOND, rest % SECOND / 1000);
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        Some(format!("{}T{hours:02}:{minutes:02}:{seconds:02}.{micros:06}", self.date(day)))
    }

    /// A moment, up to its millisecond, without zeros that say nothing.
    pub fn moment(&self, number: f64) -> Option<String> {
        let [seconds, _] = self.ends(number, number)?;
        let all = whole((seconds * 1e3).round());
        let (day, rest) = (all.div_euclid(86_400_000), all.rem_euclid(86_400_000));
        let (minutes, seconds, parts) = (rest / 60_000, rest / 1000 % 60, rest % 1000);
        let date = self.date(day.into());
        let time = format!("{date}T{:02}:{:02}", minutes / 60, minutes % 60);
        Some(match (rest, seconds, parts) {
            (0, ..) => date,
            (_, 0, 0) => time,
            (.., 0) => format!("{time}:{seconds:02}"),
            _ => format!("{time}:{seconds:02}.{parts:03}"),
        })
    }

    /// Round dates and times, at most about `most` of them; none if numbers are too far away or too near each other for that.
    pub fn ticks(&self, from: f64, to: f64, most: f64) -> Option<Vec<Tick>> {
        let [from, to] = self.ends(from, to)?;
        let room = (to - from) / most.max(1.0) * 0.999;
        if room < SECONDS[0] {
            return None;
        }
        let mut ticks = Vec::new();
        // Numbers as large as moments are not exact.
        let margin = room * 1e-6 + 2e-5;
        let mut put = |seconds: f64, text: String| {
            if seconds >= from - margin && seconds <= to + margin {
                ticks.push(Tick { value: self.number(seconds), text });
            }
        };
        let months = self.month_of(day_of(from))..=self.month_of(day_of(to));
        if let Some(step) = SECONDS.into_iter().find(|&step| step >= room) {
            // From midnight on.
            let begin = real(day_of(from)) * DAY;
            let place = |seconds: f64| (seconds - begin) / step;
            for n in whole((place(from) - 0.01).ceil())..=whole((place(to) + 0.01).floor()) {
                let seconds = begin + real(n.into()) * step;
                put(seconds, self.time(seconds, step));
            }
        } else if let Some(step) = DAYS.into_iter().find(|&step| f64::from(step) * DAY >= room) {
            for month in months {
                let (mut day, next) = (self.month(month), self.month(month + 1));
                // None is close to the next month, which has one.
                while real(next - day) >= 0.75 * f64::from(step) {
                    put(real(day) * DAY, self.date(day));
                    day += i128::from(step);
                }
            }
        } else {
            let room = room / (30.5 * DAY);
            let of_year = MONTHS.into_iter().map(f64::from).find(|&step| step >= room);
            let step = of_year.unwrap_or_else(|| {
                let power = 10_f64.powf((room / 12.0).log10().floor()).max(1.0);
                12.0 * power * [1.0, 2.0, 5.0].into_iter().find(|n| n * power * 12.0 >= room).unwrap_or(10.0)
            });
            let step = i128::from(whole(step)).max(1);
            let mut month = months.start().div_euclid(step) * step;
            while month <= *months.end() {
                let (year, of_year) = (month.div_euclid(12), month.rem_euclid(12) + 1);
                let text = if step < 12 { format!("{year:04}-{of_year:02}") } else { format!("{year:04}") };
                put(real(self.month(month)) * DAY, text);
                month += step;
            }
        }
        Some(ticks)
    }

    /// The time of a tick: at midnight the date.
    fn time(&self, seconds: f64, step: f64) -> String {
        let all = whole((seconds * 1e3).round());
        let rest = all.rem_euclid(86_400_000);
        let (minutes, seconds) = (rest / 60_000, rest / 1000 % 60);
        let time = format!("{:02}:{:02}", minutes / 60, minutes % 60);
        match rest {
            0 => self.date(all.div_euclid(86_400_000).into()),
            _ if step >= 60.0 => time,
            _ if step >= 1.0 => format!("{time}:{seconds:02}"),
            _ => format!("{time}:{seconds:02}.{:03}", rest % 1000),
        }
    }
}

/// A date, perhaps with a time and its distance from Greenwich, in seconds.
fn origin(text: &str, calendar: Calendar) -> Option<f64> {
    let text = text.trim();
    let (sign, body) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (date, time) = body.split_once([' ', 'T', 't']).unwrap_or((body, ""));
    let mut parts = date.split('-').map(|part| part.parse::<u32>().ok().map(i128::from));
    let (year, month, day) =
        (parts.next()??, parts.next().unwrap_or(Some(1))?, parts.next().unwrap_or(Some(1))?);
    let date = (sign * year, month, day);
    if parts.next().is_some() || !calendar.has(date) {
        return None;
    }
    let midnight = real(calendar.day(date.0, date.1, date.2)) * DAY;
    let time =
        time.trim().trim_end_matches("UTC").trim_end_matches("GMT").trim_end_matches(['Z', 'z']).trim_end();
    // Where the distance begins.
    let at = time.rfind(['+', '-']).unwrap_or(time.len());
    let (time, zone) = time.split_at(at);
    let seconds = if time.trim().is_empty() { 0.0 } else { of_day(time.trim())? };
    let zone = match (zone.get(..1), zone.get(1..)) {
        (Some(sign), Some(zone)) => {
            let zone = if zone.len() == 4 && !zone.contains(':') {
                format!("{}:{}", zone.get(..2)?, zone.get(2..)?)
            } else {
                zone.to_owned()
            };
            of_day(&zone)? * if sign == "-" { -1.0 } else { 1.0 }
        }
        _ => 0.0,
    };
    Some(midnight + seconds - zone)
}

/// Hours, minutes and seconds as seconds.
fn of_day(text: &str) -> Option<f64> {
    let mut all = 0.0;
    let parts: Vec<_> = text.split(':').collect();
    for (part, unit) in parts.iter().zip([3600.0, 60.0, 1.0]) {
        all += part.parse::<f64>().ok().filter(|number| (0.0..61.0).contains(number))? * unit;
    }
    (parts.len() <= 3).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_dates() {
        let all: Value = serde_json::from_str(include_str!("../../tests/dates.json")).unwrap();
        for case in all.as_array().unwrap() {
            let calendar = case["calendar"].as_str();
            let clock = Clock::of_units(case["units"].as_str().unwrap(), calendar).unwrap();
            let number = |key: &str| case[key].as_f64().unwrap();
            let ticks = clock.ticks(number("from"), number("to"), number("most")).unwrap();
            let texts: Vec<_> = ticks.iter().map(|tick| tick.text.as_str()).collect();
            let expected: Vec<_> =
                case["ticks"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            assert_eq!(texts, expected, "{case}");
            assert_eq!(clock.moment(number("from")).as_deref(), case["moment"].as_str(), "{case}");
            assert_eq!(clock.to_json(), case["clock"], "{case}");
        }
    }

    #[test]
    fn what_has_no_dates() {
        for (units, calendar) in [
            ("m", None),
            ("months since 2000-01-01", None),
            ("days since 2000-02-30", None),
            ("days since 2000-02-29", Some("noleap")),
            ("days since 2000-01-01", Some("none")),
            ("days since 2000-01-01 12:00 somewhere", None),
            ("days since launch", None),
        ] {
            assert_eq!(Clock::of_units(units, calendar), None, "{units}");
        }
        let clock = Clock::of_units("seconds since 2000-01-01", None).unwrap();
        for (from, to) in [(0.0, 1e18), (f64::NAN, 1.0), (0.0, 1e-4), (-1e308, 1e308)] {
            assert_eq!(clock.ticks(from, to, 5.0), None, "{from}");
        }
    }

    #[test]
    fn what_is_finer_than_a_date_is_none() {
        let moment = |units: &str, number| Clock::of_units(units, None).unwrap().exact_moment(number);
        let (double, whole) = (Number::Double, Number::Whole);
        assert_eq!(moment("hours since 1990-01-01", double(87648.0)).unwrap(), "2000-01-01");
        assert_eq!(moment("hours since 1990-01-01", double(87648.1)).unwrap(), "2000-01-01T00:06");
        assert_eq!(moment("days since 0001-01-01", double(730_121.3)).unwrap(), "2000-01-01T07:12");
        assert_eq!(moment("days since 2000-01-01", double(0.1)).unwrap(), "2000-01-01T02:24");
        assert_eq!(moment("milliseconds since 2000-01-01", whole(1)).unwrap(), "2000-01-01T00:00:00.001");
        assert_eq!(moment("microseconds since 1970-01-01", whole(1)).unwrap(), "1970-01-01T00:00:00.000001");
        assert_eq!(moment("microseconds since 1970-01-01", whole(-1)).unwrap(), "1969-12-31T23:59:59.999999");
        assert_eq!(
            moment("nanoseconds since 1970-01-01", whole(10_i128.pow(18))).unwrap(),
            "2001-09-09T01:46:40"
        );
        assert_eq!(moment("nanoseconds since 1970-01-01", whole(10_i128.pow(18) + 1)), None);
        assert_eq!(moment("nanoseconds since 1970-01-01", whole(1)), None);
        assert_eq!(moment("days since 2000-01-01", double(f64::NAN)), None);
        assert_eq!(moment("days since 2000-01-01", double(1e30)), None);
    }

    #[test]
    fn zones_and_types() {
        let moment = |units: &str| Clock::of_units(units, None).unwrap().moment(0.0).unwrap();
        assert_eq!(moment("hours since 2000-1-1 0:0:0.0"), "2000-01-01");
        assert_eq!(moment("hours since 2000-01-01T06:00:00Z"), "2000-01-01T06:00");
        assert_eq!(moment("hours since 2000-01-01 06:00 UTC"), "2000-01-01T06:00");
        assert_eq!(moment("hours since 2000-01-01 00:00 +01:00"), "1999-12-31T23:00");
        assert_eq!(moment("hours since 2000-01-01 00:00:30.5 -0130"), "2000-01-01T01:30:30.500");
        assert_eq!(moment("days since 1-1-1"), "0001-01-01");
        let nanoseconds = Clock::of_units("nanoseconds since 1970-01-01", None).unwrap();
        assert_eq!(nanoseconds.moment(1e18).unwrap(), "2001-09-09T01:46:40");
        let of_type =
            |unit: &str| Clock::of_type(DataType::Datetime(scda::TimeUnit::from_text(unit).unwrap()));
        assert_eq!(of_type("ns").unwrap().moment(1e18).unwrap(), "2001-09-09T01:46:40");
        assert_eq!(of_type("M").unwrap().moment(361.5).unwrap(), "2000-02-15T12:00");
        let years: Vec<_> = of_type("Y").unwrap().ticks(25.0, 35.0, 5.0).unwrap();
        let years: Vec<_> = years.iter().map(|tick| (tick.value, tick.text.as_str())).collect();
        assert_eq!(years, [(26.0, "1996"), (28.0, "1998"), (30.0, "2000"), (32.0, "2002"), (34.0, "2004")]);
        assert_eq!(of_type("generic"), None);
    }
}
