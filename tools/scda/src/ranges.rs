//! Arguments that select records, indices and elements.

use crate::fail::{Fail, Result};
use crate::files::Input;
use crate::output::visible;
use scda::{Dataset, IndexBox};
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
    let place = |end: i64| match u64::try_from(end) {
        Ok(end) => Some(end),
        Err(_) => all.checked_sub(end.unsigned_abs()),
    };
    match (range.0.map_or(Some(0), place), range.1.map_or(Some(all), place)) {
        (Some(from), Some(to)) if from <= to && to <= all => Ok(from..to),
        _ => Err(format!("found {}, expected a range within 0:{all}", given(range))),
    }
}
