//! Calendars of the CF conventions: days as dates.

/// The days before 1970 began, counted as [`Calendar::day`] does.
pub const BEFORE_1970: i128 = 719_468;
/// The day on which the Gregorian calendar followed the Julian one.
const REFORM: (i128, i128, i128) = (1582, 10, 15);

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Calendar {
    /// The Julian calendar, and the Gregorian one from 1582-10-15 on.
    Standard,
    Gregorian,
    Julian,
    NoLeap,
    AllLeap,
    Days360,
}

impl Calendar {
    /// What an attribute `calendar` means.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "standard" | "gregorian" => Self::Standard,
            "proleptic_gregorian" => Self::Gregorian,
            "julian" => Self::Julian,
            "noleap" | "365_day" => Self::NoLeap,
            "all_leap" | "366_day" => Self::AllLeap,
            "360_day" => Self::Days360,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Gregorian => "proleptic_gregorian",
            Self::Julian => "julian",
            Self::NoLeap => "noleap",
            Self::AllLeap => "all_leap",
            Self::Days360 => "360_day",
        }
    }

    /// The first of March of a year. So the leap day is the last of what begins there.
    fn march(self, year: i128) -> i128 {
        let quarter = year.div_euclid(4);
        match self {
            Self::Standard | Self::Gregorian => {
                365 * year + quarter - year.div_euclid(100) + year.div_euclid(400)
            }
            // The day that is 0000-03-01 in the Gregorian calendar is two days later in this one.
            Self::Julian => 365 * year + quarter - 2,
            Self::NoLeap => 365 * year,
            Self::AllLeap => 366 * year,
            Self::Days360 => 360 * year,
        }
    }

    /// How many days a date is after the first of March of the year 0, of the Gregorian calendar if this is one.
    pub fn day(self, year: i128, month: i128, day: i128) -> i128 {
        if self == Self::Standard && (year, month, day) < REFORM {
            return Self::Julian.day(year, month, day);
        }
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let before = if self == Self::Days360 { 30 * month } else { (153 * month + 2) / 5 };
        self.march(year) + before + day - 1
    }

    /// The year, month and day.
    pub fn date(self, day: i128) -> (i128, i128, i128) {
        if self == Self::Standard && day < Self::Gregorian.day(REFORM.0, REFORM.1, REFORM.2) {
            return Self::Julian.date(day);
        }
        // Of 400 years, the mean; so at most a year or two beside it.
        let mut year = (400 * day).div_euclid(self.march(400) - self.march(0));
        while self.march(year + 1) <= day {
            year += 1;
        }
        while self.march(year) > day {
            year -= 1;
        }
        let of_year = day - self.march(year);
        let (month, before) = match self {
            Self::Days360 => (of_year / 30, of_year / 30 * 30),
            _ => {
                let month = (5 * of_year + 2) / 153;
                (month, (153 * month + 2) / 5)
            }
        };
        let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
        (year, month, of_year - before + 1)
    }

    /// Whether there is such a date.
    pub fn has(self, date: (i128, i128, i128)) -> bool {
        (1..=12).contains(&date.1) && self.date(self.day(date.0, date.1, date.2)) == date
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        for (calendar, day, date) in [
            (Calendar::Gregorian, 0, (0, 3, 1)),
            (Calendar::Gregorian, BEFORE_1970, (1970, 1, 1)),
            (Calendar::Gregorian, BEFORE_1970 + 11_016, (2000, 2, 29)),
            (Calendar::Standard, 578_041, (1582, 10, 15)),
            (Calendar::Standard, 578_040, (1582, 10, 4)),
            (Calendar::Standard, -2, (0, 3, 1)),
            (Calendar::NoLeap, 365 * 2000 - 1, (2000, 2, 28)),
            (Calendar::AllLeap, 366 * 1999 - 1, (1999, 2, 29)),
            (Calendar::Days360, 360 * 2000 - 1, (2000, 2, 30)),
        ] {
            assert_eq!(
                (calendar.date(day), calendar.day(date.0, date.1, date.2)),
                (date, day),
                "{calendar:?}"
            );
        }
        for name in ["standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day"] {
            let calendar = Calendar::from_name(name).unwrap();
            assert_eq!(calendar.name(), name);
            for day in (-1_000_000..1_000_000).step_by(37).chain([-(1 << 90), 1 << 90]) {
                let (year, month, of_month) = calendar.date(day);
                assert!((1..=12).contains(&month) && (1..=31).contains(&of_month));
                assert_eq!(calendar.day(year, month, of_month), day, "{name}");
            }
        }
        assert!(Calendar::NoLeap.has((2001, 2, 28)) && !Calendar::NoLeap.has((2000, 2, 29)));
        assert!(!Calendar::Standard.has((1582, 10, 10)) && !Calendar::Gregorian.has((2000, 13, 1)));
    }
}
