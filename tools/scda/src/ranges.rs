//! Arguments that select records, indices and elements.

use crate::fail::{Fail, Result};
use crate::files::Input;
use crate::output::visible;
use scda::{Dataset, IndexBox};
use std::fmt;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::str::FromStr;

/// The argument of --box: the range of indices in each dimension, or in the first ones, of which the others are whole.
#[derive(Clone)]
pub struct Bounds(Vec<Ends>);

impl FromStr for Bounds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let range = |text: &str| match text.contains(':') {
            true => parse_range(text),
            false => {
                let index: i64 =
                    text.parse().map_err(|_| format!("expected A:B or an index, found \"{text}\""))?;
                // Up to the end of the dimension.
                Ok((Some(index), index.checked_add(1).filter(|&end| end != 0)))
            }
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(Self)
    }
}

impl Bounds {
    /// The box in a dataset of the file; without bounds, all of the dataset.
    pub fn region(bounds: Option<&Self>, input: &Input, dataset: &Dataset) -> Result<IndexBox> {
        let (shape, mut region) = (&dataset.shape, IndexBox::all(&dataset.shape));
        let Some(Self(ranges)) = bounds else { return Ok(region) };
        let trouble = |words: String| {
            let name = visible(&dataset.name);
            Fail::file(input.name(), format_args!("dataset \"{name}\": --box: {words}"))
        };
        if ranges.len() > shape.len() {
            let (found, most) = (ranges.len(), shape.len());
            let words =
                format!("found {found} ranges, expected at most one for each of the {most} dimensions");
            return Err(trouble(words));
        }
        for (dimension, (&range, &n)) in ranges.iter().zip(shape).enumerate() {
            let range = part(range, n).map_err(|words| trouble(format!("dimension {dimension}: {words}")))?;
            (region.start[dimension], region.count[dimension]) = (range.start, range.end - range.start);
        }
        Ok(region)
    }
}

/// A range from one element up to, but without, another one. Missing ends are the first and the last element; negative
/// numbers count from the end.
pub type Ends = (Option<i64>, Option<i64>);

/// A range in the form of the argument.
fn given((from, to): Ends) -> String {
    let end = |end: Option<i64>| end.map(|end| end.to_string()).unwrap_or_default();
    format!("{}:{}", end(from), end(to))
}

pub fn parse_range(text: &str) -> Result<Ends, String> {
    let end = |text: &str| match text {
        "" => Ok(None),
        number => number.parse().map(Some).map_err(|_| format!("\"{number}\" is not a whole number")),
    };
    let (from, to) = text.split_once(':').ok_or("expected A:B, such as 0:10, 5: or :-1")?;
    Ok((end(from)?, end(to)?))
}

/// The units in a range, out of `all`.
///
/// # Errors
/// If some of them do not exist: what was found and expected, in words.
pub fn part(range: Ends, all: u64) -> Result<Range<u64>, String> {
    within(range, all).ok_or_else(|| format!("found {}, expected a range within 0:{all}", given(range)))
}

/// Like [`part`]; `None` if some of them do not exist.
pub fn within((from, to): Ends, all: u64) -> Option<Range<u64>> {
    let place = |end: i64| match u64::try_from(end) {
        Ok(end) => Some(end),
        Err(_) => all.checked_sub(end.unsigned_abs()),
    };
    let from = from.map_or(Some(0), place);
    let to = to.map_or(Some(all), place);
    match (from, to) {
        (Some(from), Some(to)) if from <= to && to <= all => Some(from..to),
        _ => None,
    }
}

/// The argument of --record.
#[derive(Clone, Copy)]
pub enum Records {
    One(i64),
    /// The records from A up to B, every STEP-th.
    Some(Option<i64>, Option<i64>, NonZeroUsize),
}

impl FromStr for Records {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((from, rest)) = text.split_once(':') else {
            let number = text.parse().map_err(|_| format!("expected K or A:B:STEP, found \"{text}\""));
            return number.map(Self::One);
        };
        let (to, step) = rest.split_once(':').unwrap_or((rest, "1"));
        let (from, to) = parse_range(&format!("{from}:{to}"))?;
        let step =
            step.parse().map_err(|_| format!("step: expected a number from 1 on, found \"{step}\""))?;
        Ok(Self::Some(from, to, step))
    }
}

impl Records {
    /// The record, if there is a single one.
    pub fn only(self) -> Option<i64> {
        match self {
            Self::One(record) => Some(record),
            Self::Some(..) => None,
        }
    }

    /// The selected records out of `count`; `None` if one of them does not exist.
    pub fn of(self, count: u64) -> Option<impl Iterator<Item = u64>> {
        let (range, step) = match self {
            Self::One(record) => {
                let end = record.checked_add(1).filter(|&end| end != 0);
                (within((Some(record), end), count)?, NonZeroUsize::MIN)
            }
            Self::Some(from, to, step) => (within((from, to), count)?, step),
        };
        Some(range.step_by(step.get()))
    }
}

impl fmt::Display for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::One(record) => write!(f, "{record}"),
            Self::Some(from, to, NonZeroUsize::MIN) => f.write_str(&given((from, to))),
            Self::Some(from, to, step) => write!(f, "{}:{step}", given((from, to))),
        }
    }
}
