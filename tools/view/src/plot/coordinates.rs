//! The coordinates of a dimension: the dataset of its name.

use super::axis::Scale;
use super::cf_decoding::{CfDecoding, with_units};
use super::clock::Clock;
use super::figure::PlacedTick;
use super::sample::{Line, Points};
use crate::fail::Result;
use scda::{Dataset, Reader};

/// The most coordinates that are read.
const MOST: usize = 4096;

/// A dimension as an axis: some indices, and the coordinate of each. Those between are in proportion.
#[derive(Clone, Debug)]
pub struct Coordinates {
    pub name: String,
    /// If they are moments.
    pub clock: Option<Clock>,
    indices: Vec<f64>,
    values: Vec<f64>,
}

#[allow(clippy::cast_precision_loss)] // the nearest one is meant
pub fn real(n: u64) -> f64 {
    n as f64
}

impl Coordinates {
    /// Those of a dimension of a dataset: the indices, unless there are numbers that ascend or descend.
    pub fn find(reader: &mut Reader, dataset: &Dataset, dimension: usize) -> Result<Self> {
        let named = dataset.dimension_names.get(dimension).and_then(Option::as_deref);
        let name = named.map_or_else(|| format!("dimension {dimension}"), crate::output::visible);
        let alone = Self::plain(&name);
        let Some(named) = named else { return Ok(alone) };
        let mut folder = dataset.name.as_str();
        while let Some((outer, _)) =
            folder.rsplit_once('/').or(if folder.is_empty() { None } else { Some(("", "")) })
        {
            folder = outer;
            let full = if folder.is_empty() { named.to_owned() } else { format!("{folder}/{named}") };
            // What is no dataset has no coordinates.
            let Ok(Some(found)) = reader.dataset(&full) else { continue };
            if found.shape != [dataset.shape[dimension]] || found.name == dataset.name {
                continue;
            }
            let Some(meaning) = CfDecoding::new(&found) else { continue };
            let line = Line { dimension: 0, from: 0, to: found.shape[0], fixed: vec![0] };
            let Points { indices, numbers, .. } = line.read(reader, &found, &meaning)?.points(MOST);
            let ascends = numbers.is_sorted_by(|a, b| a < b) || numbers.is_sorted_by(|a, b| a > b);
            if numbers.len() < 2 || !ascends || numbers.iter().any(|number| !number.is_finite()) {
                continue;
            }
            let label = match meaning.clock {
                Some(_) => alone.name,
                None => with_units(&alone.name, meaning.units.as_deref()),
            };
            let indices = indices.into_iter().map(real).collect();
            return Ok(Self { name: label, clock: meaning.clock, indices, values: numbers });
        }
        Ok(alone)
    }

    /// The indices themselves.
    pub fn plain(name: &str) -> Self {
        Self { name: name.to_owned(), clock: None, indices: vec![0.0, 1.0], values: vec![0.0, 1.0] }
    }

    /// The scale of the coordinates between two of them.
    fn scale(&self, first: f64, last: f64) -> Scale {
        Scale { from: first.min(last), to: first.max(last), is_log: false, clock: self.clock }
    }

    /// The name of the axis of the indices from `from` to `to`.
    pub fn name_of(&self, from: f64, to: f64) -> String {
        self.scale(self.value(from), self.value(to)).name(&self.name)
    }

    /// The ticks of an axis from one coordinate to another one.
    pub fn ticks_by_value(&self, first: f64, last: f64, most: f64) -> Vec<PlacedTick> {
        let place = |value: f64| (value - first) / (last - first);
        self.scale(first, last).ticks(most).into_iter().map(|tick| (place(tick.value), tick.text)).collect()
    }

    /// The indices and their coordinates.
    pub fn pairs(&self) -> [&[f64]; 2] {
        [&self.indices, &self.values]
    }

    /// The coordinate at an index, which need not be whole.
    pub fn value(&self, index: f64) -> f64 {
        between(&self.indices, &self.values, index)
    }

    /// Whether they descend.
    pub fn descend(&self) -> bool {
        self.values[0] > self.values[1]
    }

    /// The ticks of the indices from `from` to `to`.
    pub fn ticks(&self, from: f64, to: f64, most: f64) -> Vec<PlacedTick> {
        let scale = self.scale(self.value(from), self.value(to));
        let sign = if self.descend() { -1.0 } else { 1.0 };
        let values: Vec<_> = self.values.iter().map(|value| value * sign).collect();
        let place = |value: f64| (between(&values, &self.indices, value * sign) - from) / (to - from);
        scale.ticks(most).into_iter().map(|tick| (place(tick.value), tick.text)).collect()
    }
}

/// What is at a place between numbers that ascend, in proportion; at the ends as next to them.
fn between(numbers: &[f64], values: &[f64], at: f64) -> f64 {
    let after = numbers.partition_point(|&number| number < at).clamp(1, numbers.len() - 1);
    let (a, b) = (numbers[after - 1], numbers[after]);
    let part = (at - a) / (b - a);
    values[after - 1] + part * (values[after] - values[after - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_stand_at_their_coordinates() {
        let name = "x".to_owned();
        let down =
            Coordinates { name, clock: None, indices: vec![0.0, 1.0, 2.0], values: vec![10.0, 5.0, -5.0] };
        assert_eq!((down.value(0.5), down.value(2.5), down.value(-1.0)), (7.5, -10.0, 15.0));
        let ticks = down.ticks(0.0, 2.0, 3.0);
        let texts: Vec<_> = ticks.iter().map(|(place, text)| (*place, text.as_str())).collect();
        assert_eq!(texts, [(1.0, "-5"), (0.75, "0"), (0.5, "5"), (0.0, "10")]);
    }
}
