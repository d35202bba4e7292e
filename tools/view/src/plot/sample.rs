//! Some of the items of a dataset: as many as can be seen. So a picture of a large dataset reads a small part of it.

use super::cf_decoding::CfDecoding;
use crate::datasets::box_parts;
use crate::fail::Result;
use scda::{Dataset, DatasetHandle, IndexBox, Layout, Reader};
use scda_base::numbers::to_usize;

/// The most bytes that are read at once.
const MOST_BYTES: u64 = 64 << 20;
/// The most bytes of chunks that are decompressed for a picture at once, unless one row of samples needs more.
pub const QUICK: u64 = 1 << 30;
/// Likewise for a picture that need not be there at once.
pub const THOROUGH: u64 = 1 << 34;
/// Items of a row that lie at least this number of bytes apart are read one by one.
const FAR_BYTES: u64 = 1 << 14;
/// The most items of a line of which all are read.
const MOST_OF_LINE: u64 = 1 << 23;

/// Indices of a dimension, evenly spaced in a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Samples {
    pub from: u64,
    pub to: u64,
    pub count: usize,
}

impl Samples {
    /// At most `most` indices of a range, all if it has no more.
    pub fn new(from: u64, to: u64, most: usize) -> Self {
        let n = to.saturating_sub(from);
        Self { from, to, count: to_usize(n.min(most as u64)) }
    }

    /// The k-th of them.
    pub fn index(&self, k: usize) -> u64 {
        let n = u128::from(self.to - self.from);
        let step = (2 * k as u128 + 1) * n / (2 * self.count.max(1) as u128);
        self.from + u64::try_from(step).unwrap_or(0)
    }

    pub fn indices(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.count).map(|k| self.index(k))
    }

    /// Whether they are the whole range.
    pub fn are_all(&self) -> bool {
        self.to - self.from == self.count as u64
    }

    /// How many chunks they touch.
    fn chunks(&self, chunk: u64) -> u64 {
        let chunk = chunk.max(1);
        let all = self.to.div_ceil(chunk) - self.from / chunk;
        all.min(self.count as u64)
    }
}

/// A rectangle of two dimensions of a dataset; those of other dimensions have one index.
#[derive(Clone)]
pub struct Plane {
    /// The dimension of each axis: from one row to the next, and along a row.
    pub dimensions: [usize; 2],
    /// What is shown of them.
    pub samples: [Samples; 2],
    /// The index in each other dimension.
    pub fixed: Vec<u64>,
    /// The most bytes of chunks that are decompressed, such as [`QUICK`].
    pub most_bytes: u64,
}

impl Plane {
    /// Fewer samples, if otherwise too many chunks had to be decompressed.
    fn bounded(&self, dataset: &Dataset) -> [Samples; 2] {
        let mut samples = self.samples;
        if matches!(dataset.layout, Layout::Contiguous) {
            return samples;
        }
        let chunk = dataset.chunk_shape();
        let bytes = chunk.iter().product::<u64>().saturating_mul(dataset.data_type.item_bytes());
        let chunk = self.dimensions.map(|dimension| chunk.get(dimension).copied().unwrap_or(1));
        let chunks = |samples: &[Samples; 2]| [0, 1].map(|axis| samples[axis].chunks(chunk[axis]));
        loop {
            let [rows, columns] = chunks(&samples);
            if rows.saturating_mul(columns).saturating_mul(bytes) <= self.most_bytes || rows.max(columns) <= 1
            {
                return samples;
            }
            let axis = usize::from(columns > rows);
            samples[axis].count = samples[axis].count.min(to_usize(rows.max(columns))) * 9 / 10;
        }
    }

    /// Reads it: the samples of each axis, of which there may be fewer than were asked for, and the numbers, row by row.
    pub fn read(
        &self,
        reader: &mut Reader,
        dataset: &DatasetHandle,
        meaning: &CfDecoding,
    ) -> Result<([Samples; 2], Vec<f64>)> {
        let samples = self.bounded(dataset);
        // Rows are read along the later dimension, whose items are near each other.
        let is_turned = self.dimensions[0] > self.dimensions[1];
        let (outer, inner) = if is_turned { (1, 0) } else { (0, 1) };
        let item = dataset.data_type.item_bytes();
        let numbers = self.read_rows(reader, dataset, meaning, samples, [outer, inner], item)?;
        if !is_turned {
            return Ok((samples, numbers));
        }
        let (rows, columns) = (samples[0].count, samples[1].count);
        let turned = (0..rows * columns).map(|at| numbers[at % columns * rows + at / columns]).collect();
        Ok((samples, turned))
    }

    fn read_rows(
        &self,
        reader: &mut Reader,
        dataset: &DatasetHandle,
        meaning: &CfDecoding,
        samples: [Samples; 2],
        [outer, inner]: [usize; 2],
        item: u64,
    ) -> Result<Vec<f64>> {
        let (rows, columns) = (samples[outer], samples[inner]);
        let [row_dimension, column_dimension] = [outer, inner].map(|axis| self.dimensions[axis]);
        let mut numbers = Vec::new();
        if rows.count == 0 || columns.count == 0 {
            return Ok(numbers);
        }
        let all = columns.to - columns.from;
        let stride: u64 = dataset.shape[column_dimension + 1..].iter().product();
        let apart = (all / columns.count as u64).saturating_mul(stride).saturating_mul(item);
        let is_sparse = !columns.are_all() && apart > FAR_BYTES && dataset.layout == Layout::Contiguous
            || all.saturating_mul(item) > MOST_BYTES;
        let region = |row: u64, from: u64, count: u64| {
            let mut region = IndexBox::new(self.fixed.clone(), vec![1; self.fixed.len()]);
            region.start[row_dimension] = row;
            (region.start[column_dimension], region.count[column_dimension]) = (from, count);
            region
        };
        let of_row = if is_sparse { columns.count as u64 } else { all };
        let at_once = to_usize((MOST_BYTES / of_row.saturating_mul(item).max(1)).max(1));
        let (mut regions, mut data) = (Vec::new(), Vec::new());
        let indices: Vec<_> = rows.indices().collect();
        for some in indices.chunks(at_once) {
            regions.clear();
            for &row in some {
                if is_sparse {
                    regions.extend(columns.indices().map(|column| region(row, column, 1)));
                } else {
                    regions.push(region(row, columns.from, all));
                }
            }
            box_parts::read_all(reader, dataset, &regions, &mut data)?;
            if is_sparse || columns.are_all() {
                meaning.append(&data, &mut numbers);
                continue;
            }
            let item = to_usize(item);
            for row in data.chunks_exact(to_usize(all) * item) {
                for column in columns.indices() {
                    let at = to_usize(column - columns.from) * item;
                    meaning.append(&row[at..at + item], &mut numbers);
                }
            }
        }
        Ok(numbers)
    }
}

/// A line along one dimension of a dataset.
#[derive(Clone)]
pub struct Line {
    pub dimension: usize,
    pub from: u64,
    pub to: u64,
    /// The index in each other dimension.
    pub fixed: Vec<u64>,
}

/// Items of a line.
pub struct Items {
    pub samples: Samples,
    pub numbers: Vec<f64>,
    /// Whether only some items were read, so that extremes may be missing.
    are_sampled: bool,
}

/// Some points of a line, in order.
#[derive(Default)]
pub struct Points {
    pub indices: Vec<u64>,
    pub numbers: Vec<f64>,
    /// Whether only some items were read, so that extremes may be missing.
    pub are_sampled: bool,
}

impl Line {
    /// Reads it; of very many items, some.
    pub fn read(&self, reader: &mut Reader, dataset: &DatasetHandle, meaning: &CfDecoding) -> Result<Items> {
        let n = self.to - self.from;
        let are_sampled = n > MOST_OF_LINE;
        let samples = Samples::new(self.from, self.to, if are_sampled { 1 << 14 } else { to_usize(n) });
        // As a plane of one row.
        let other = usize::from(self.dimension == 0);
        let (samples, numbers) = if self.fixed.len() < 2 {
            (samples, self.read_alone(reader, dataset, meaning, samples)?)
        } else {
            let at = self.fixed[other];
            let dimensions = [other, self.dimension];
            let plane = Plane {
                dimensions,
                samples: [Samples::new(at, at + 1, 1), samples],
                fixed: self.fixed.clone(),
                most_bytes: QUICK,
            };
            let ([_, samples], numbers) = plane.read(reader, dataset, meaning)?;
            (samples, numbers)
        };
        Ok(Items { samples, numbers, are_sampled: are_sampled || samples.count as u64 != n })
    }

    /// Of a dataset with one dimension.
    fn read_alone(
        &self,
        reader: &mut Reader,
        dataset: &DatasetHandle,
        meaning: &CfDecoding,
        samples: Samples,
    ) -> Result<Vec<f64>> {
        let regions: Vec<_> = match samples.are_all() {
            true => vec![IndexBox::new([self.from], [self.to - self.from])],
            false => samples.indices().map(|index| IndexBox::new([index], [1])).collect(),
        };
        let (mut data, mut numbers) = (Vec::new(), Vec::new());
        box_parts::read_all(reader, dataset, &regions, &mut data)?;
        meaning.append(&data, &mut numbers);
        Ok(numbers)
    }
}

impl Items {
    /// What is drawn of them: of more than about `most`, the least and the greatest of those that are drawn at one place.
    pub fn points(&self, most: usize) -> Points {
        let (samples, numbers) = (&self.samples, &self.numbers);
        let mut found = Points { are_sampled: self.are_sampled, ..Points::default() };
        let per_place = numbers.len().div_ceil(most.max(1));
        if per_place <= 4 {
            found.indices = samples.indices().collect();
            found.numbers.clone_from(numbers);
            return found;
        }
        for (place, some) in numbers.chunks(per_place).enumerate() {
            let (mut least, mut most) = (None::<usize>, None::<usize>);
            for (k, number) in some.iter().enumerate().filter(|(_, number)| number.is_finite()) {
                least = least.filter(|&least| some[least] <= *number).or(Some(k));
                most = most.filter(|&most| some[most] >= *number).or(Some(k));
            }
            let mut ends = [least.unwrap_or(0), most.unwrap_or(0)];
            ends.sort_unstable();
            let count = if ends[0] == ends[1] { 1 } else { 2 };
            for &k in &ends[..count] {
                found.indices.push(samples.index(place * per_place + k));
                found.numbers.push(some[k]);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_in_the_range_and_ascend() {
        for (from, to, most) in [(0, 10, 10), (3, 10, 4), (0, 1 << 60, 800), (5, 5, 3), (7, 8, 1)] {
            let samples = Samples::new(from, to, most);
            let all: Vec<_> = samples.indices().collect();
            assert!(all.is_sorted_by(|a, b| a < b) && all.iter().all(|i| (from..to).contains(i)), "{all:?}");
            assert_eq!(samples.count, most.min(to_usize(to - from)));
        }
        assert_eq!(Samples::new(2, 5, 9).indices().collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(Samples::new(0, 100, 2).indices().collect::<Vec<_>>(), [25, 75]);
    }
}
