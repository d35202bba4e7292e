//! Boxes of an array, and how they lie in memory and in the file.

use crate::layout::{product, sum};
use scda_base::error::{Error, Result};

/// A box of an array: in each dimension, the first index and the number of indices.
///
/// Its items lie in memory in C order: the last index varies fastest. If `count` has a 0, the box has no items. In
/// an array without dimensions both are empty, and the box is the one item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IndexBox {
    /// The first index in each dimension.
    pub start: Vec<u64>,
    /// The number of indices in each dimension.
    pub count: Vec<u64>,
}

impl IndexBox {
    /// The box that begins at these indices and has `count` indices in each dimension.
    pub fn new(start: impl Into<Vec<u64>>, count: impl Into<Vec<u64>>) -> Self {
        Self { start: start.into(), count: count.into() }
    }

    /// The whole of an array of this shape.
    #[must_use]
    pub fn all(shape: &[u64]) -> Self {
        Self { start: vec![0; shape.len()], count: shape.to_vec() }
    }

    /// The index in the array of an item of the box, given its number in C order.
    pub fn index_of(&self, item: u64) -> Vec<u64> {
        let (mut rest, mut index) = (item, self.start.clone());
        for (index, &count) in index.iter_mut().zip(&self.count).rev() {
            *index += rest % count;
            rest /= count;
        }
        index
    }

    /// Returns an error unless the box lies in an array of this shape. `what` names the box in the message.
    ///
    /// # Errors
    /// `Argument`.
    pub fn check(&self, shape: &[u64], what: impl Fn() -> String) -> Result<()> {
        let (starts, counts) = (self.start.len(), self.count.len());
        if starts != shape.len() || counts != shape.len() {
            return Err(Error::argument(format!(
                "{}: found {starts} starts and {counts} counts, expected {} of each",
                what(),
                shape.len()
            )));
        }
        for (dimension, (&start, (&count, &size))) in
            self.start.iter().zip(self.count.iter().zip(shape)).enumerate()
        {
            if sum(start, count).is_none_or(|end| end > size) {
                // Shown signed, as a program may have computed it: -1 from an index of 0 in Fortran.
                let (start, count) = (start.cast_signed(), count.cast_signed());
                return Err(Error::argument(format!(
                    "{}: found start {start} and count {count} in dimension {dimension}, expected indices below {size}",
                    what()
                )));
            }
        }
        Ok(())
    }

    /// The number of items. The product exceeds 63 bits only for a box that lies in no valid array.
    ///
    /// # Errors
    /// `Range`.
    pub fn items(&self) -> Result<u64> {
        items(&self.count).ok_or_else(|| too_many("box", &self.count))
    }

    /// Whether the two boxes have an item in common.
    pub fn meets(&self, other: &Self) -> bool {
        let mut dimensions = self.start.iter().zip(&self.count).zip(other.start.iter().zip(&other.count));
        dimensions.all(|((a, n), (b, m))| a.max(b) < &(a + n).min(b + m))
    }

    /// The items that both boxes have, if there are any.
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let mut both = self.clone();
        for dimension in 0..self.start.len() {
            let start = self.start[dimension].max(other.start[dimension]);
            let ends = [self, other].map(|region| region.start[dimension] + region.count[dimension]);
            let end = ends[0].min(ends[1]);
            if start >= end {
                return None;
            }
            (both.start[dimension], both.count[dimension]) = (start, end - start);
        }
        Some(both)
    }
}

/// The number of items of a box, if it fits 63 bits: 0 if any count is 0, whatever the others are.
pub fn items(count: &[u64]) -> Option<u64> {
    if count.contains(&0) { Some(0) } else { count.iter().try_fold(1, |all, &n| product(all, n)) }
}

/// The error for more items than 63 bits can count. `what` has these numbers of indices.
#[cold]
pub fn too_many(what: &str, numbers: &[u64]) -> Error {
    Error::range(format!("{what}: found {numbers:?}, whose product exceeds 63 bits"))
}

/// A run of items that are consecutive in two arrays, with their positions in C order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonRun {
    /// The first item in the array that is read.
    pub from: u64,
    /// The first item in the array that is written.
    pub to: u64,
    /// The number of items.
    pub items: u64,
}

/// The runs of a box that lies in two arrays, in C order and as few as possible.
pub struct Runs {
    /// The dimensions over which runs repeat: the count, and the items from one index to the next in either
    /// array.
    outer: Vec<(u64, u64, u64)>,
    index: Vec<u64>,
    next: CommonRun,
    left: u64,
}

impl Runs {
    /// The runs of a box with `count` indices in each dimension. `from` and `to` each give the shape of an
    /// array and the box's first index in it.
    ///
    /// The caller has checked that the box lies in both, and that the products of the shapes fit 63 bits.
    pub fn new(count: &[u64], from: (&[u64], &[u64]), to: (&[u64], &[u64])) -> Self {
        let (mut next, mut outer) = (CommonRun { from: 0, to: 0, items: 1 }, Vec::new());
        let (mut from_step, mut to_step) = (1, 1);
        let mut is_dense = true;
        for dimension in (0..count.len()).rev() {
            let n = count[dimension];
            next.from += from.1[dimension] * from_step;
            next.to += to.1[dimension] * to_step;
            if is_dense {
                next.items *= n;
            } else if n != 1 {
                outer.push((n, from_step, to_step));
            }
            is_dense = is_dense && n == from.0[dimension] && n == to.0[dimension];
            from_step *= from.0[dimension];
            to_step *= to.0[dimension];
        }
        outer.reverse();
        let left = if next.items == 0 { 0 } else { outer.iter().map(|(n, ..)| n).product() };
        Self { index: vec![0; outer.len()], outer, next, left }
    }
}

impl Iterator for Runs {
    type Item = CommonRun;

    #[inline]
    fn next(&mut self) -> Option<CommonRun> {
        self.left = self.left.checked_sub(1)?;
        let run = self.next;
        for (index, &(count, from, to)) in self.index.iter_mut().zip(&self.outer).rev() {
            *index += 1;
            if *index < count {
                self.next.from += from;
                self.next.to += to;
                break;
            }
            *index = 0;
            self.next.from -= from * (count - 1);
            self.next.to -= to * (count - 1);
        }
        Some(run)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use scda_base::error::ErrorKind;

    #[test]
    fn a_region_lies_in_the_array() {
        let shape = [4, 0, 7];
        let what = || "box 2".to_owned();
        IndexBox::all(&shape).check(&shape, what).unwrap();
        IndexBox::new([4, 0, 0], [0, 0, 7]).check(&shape, what).unwrap();
        IndexBox::all(&[]).check(&[], what).unwrap();
        for (start, count) in [
            (vec![0, 0], vec![1, 0]),
            (vec![0, 0, 0], vec![1, 0]),
            (vec![0, 0, 1], vec![1, 0, 7]),
            (vec![5, 0, 0], vec![0, 0, 0]),
            (vec![0, 0, u64::MAX], vec![1, 0, 1]),
            (vec![0, 1, 0], vec![1, 0, 1]),
        ] {
            let error = IndexBox::new(start, count).check(&shape, what).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument);
        }
        let error = IndexBox::new([2], [3]).check(&[4], what).unwrap_err();
        assert_eq!(
            error.to_string(),
            "box 2: found start 2 and count 3 in dimension 0, expected indices below 4"
        );
        let error = IndexBox::new([u64::MAX], [3]).check(&[4], what).unwrap_err();
        assert!(error.to_string().starts_with("box 2: found start -1 and count 3"), "{error}");
    }

    #[test]
    fn numbers_of_items() {
        assert_eq!(IndexBox::all(&[]).items().unwrap(), 1);
        assert_eq!(IndexBox::all(&[3, 4]).items().unwrap(), 12);
        assert_eq!(IndexBox::all(&[u64::MAX, u64::MAX, 0]).items().unwrap(), 0);
        assert_eq!(IndexBox::all(&[1 << 32, 1 << 31]).items().unwrap_err().kind(), ErrorKind::Range);
    }

    #[test]
    fn runs_are_as_long_as_both_arrays_allow() {
        let runs = |count: &[u64], from, to| Runs::new(count, from, to).collect::<Vec<_>>();
        let whole = runs(&[3, 4], (&[5, 4], &[1, 0]), (&[3, 4], &[0, 0]));
        assert_eq!(whole, [CommonRun { from: 4, to: 0, items: 12 }]);
        let rows = runs(&[2, 2], (&[5, 4], &[1, 1]), (&[2, 2], &[0, 0]));
        assert_eq!(rows, [CommonRun { from: 5, to: 0, items: 2 }, CommonRun { from: 9, to: 2, items: 2 }]);
        assert_eq!(runs(&[], (&[], &[]), (&[], &[])), [CommonRun { from: 0, to: 0, items: 1 }]);
        assert_eq!(runs(&[0, 2], (&[5, 4], &[1, 1]), (&[0, 2], &[0, 0])), []);
    }

    /// A box of up to 5 dimensions in two arrays: for each dimension the count, and the room before and after
    /// it in each.
    fn boxes() -> impl Strategy<Value = Vec<[u64; 5]>> {
        prop::collection::vec(prop::array::uniform5(0..3_u64), 0..5)
    }

    proptest! {
        #[test]
        fn runs_are_those_of_single_items(dimensions in boxes()) {
            let pick = |f: fn(&[u64; 5]) -> u64| dimensions.iter().map(f).collect::<Vec<u64>>();
            let count = pick(|d| d[0]);
            let (from_start, to_start) = (pick(|d| d[1]), pick(|d| d[3]));
            let from = pick(|d| d[0] + d[1] + d[2]);
            let to = pick(|d| d[0] + d[3] + d[4]);
            // Item by item.
            let place = |shape: &[u64], start: &[u64], index: &[u64]| {
                (0..shape.len()).fold(0, |at, d| at * shape[d] + start[d] + index[d])
            };
            let mut naive = Vec::new();
            for n in 0..items(&count).unwrap() {
                let (mut rest, mut index) = (n, vec![0; count.len()]);
                for d in (0..count.len()).rev() {
                    index[d] = rest % count[d];
                    rest /= count[d];
                }
                naive.push((place(&from, &from_start, &index), place(&to, &to_start, &index)));
            }
            let runs = Runs::new(&count, (&from, &from_start), (&to, &to_start));
            let found: Vec<_> = runs.flat_map(|run| (0..run.items).map(move |i| (run.from + i, run.to + i))).collect();
            prop_assert_eq!(found, naive);
        }
    }
}
