//! Offsets of the items of a box in memory.

use scda_base::error::{Error, Result};
use scda_base::numbers::to_usize;
use scda_format::dataset::{MAX_DIMENSIONS, items, too_many};

/// Where the items of a box are in memory, counted from the first one.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// The numbers of indices in memory.
    count: Vec<u64>,
    item_bytes: usize,
    /// The dimensions with more than one index, after joining those that one stride can describe: the number
    /// of indices, and the bytes from one to the next. The last one varies fastest.
    steps: Vec<(usize, isize)>,
}

/// Consecutive items, in C order, with one stride: where the first is, and how many.
pub(super) struct StridedRow {
    pub(super) place: isize,
    pub(super) items: usize,
}

/// The shape in memory of a box with these counts: `shape` if it is given, otherwise `count`.
pub(crate) fn in_memory<'a>(shape: Option<&'a [u64]>, count: &'a [u64]) -> Result<&'a [u64]> {
    let Some(shape) = shape else { return Ok(count) };
    if shape.len() > MAX_DIMENSIONS || items(shape) != items(count) {
        let words = format!("shape in memory: found {shape:?}, expected as many items as a box of {count:?}");
        return Err(Error::argument(words));
    }
    Ok(shape)
}

impl Places {
    pub(super) fn new(count: &[u64], strides: Option<&[i64]>, item_bytes: u64) -> Result<Self> {
        let all = items(count).ok_or_else(|| too_many("box", count))?;
        if let Some(strides) = strides.filter(|strides| strides.len() != count.len()) {
            let words = format!("strides: found {}, expected {}", strides.len(), count.len());
            return Err(Error::argument(words));
        }
        let far = || Error::range(format!("strides: with {strides:?}, the box exceeds the memory"));
        let mut steps: Vec<(usize, isize)> = Vec::new();
        let (mut packed, mut extent) = (item_bytes.cast_signed(), item_bytes.cast_signed());
        for dimension in (0..count.len()).rev().filter(|_| all > 0) {
            let n = i64::try_from(count[dimension]).map_err(|_| far())?;
            let stride = strides.map_or(packed, |strides| strides[dimension]);
            let length = (n - 1).checked_mul(stride).and_then(i64::checked_abs).ok_or_else(far)?;
            extent = extent.checked_add(length).ok_or_else(far)?;
            packed = packed.checked_mul(n).ok_or_else(far)?;
            let step = isize::try_from(stride).map_err(|_| far())?;
            let n = usize::try_from(n).map_err(|_| far())?;
            match steps.last_mut() {
                _ if n == 1 => {}
                Some((inner, inner_step)) if inner_step.checked_mul((*inner).cast_signed()) == Some(step) => {
                    *inner *= n
                }
                _ => steps.push((n, step)),
            }
        }
        isize::try_from(extent).map_err(|_| far())?;
        steps.reverse();
        Ok(Self { count: count.to_vec(), item_bytes: to_usize(item_bytes), steps })
    }

    /// The number of items.
    pub(super) fn items(&self) -> u64 {
        self.count.iter().product()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.items() * self.item_bytes as u64
    }

    /// Whether the items are consecutive in memory.
    pub(super) fn is_packed(&self) -> bool {
        match &*self.steps {
            [] => true,
            [(_, step)] => *step == self.item_bytes.cast_signed(),
            _ => false,
        }
    }

    /// The bytes that the items occupy, as a range counted from the first item.
    pub(super) fn extent(&self) -> (isize, isize) {
        let (mut least, mut most) = (0, 0);
        for &(n, step) in &self.steps {
            let length = (n.cast_signed() - 1) * step;
            if length < 0 { least += length } else { most += length }
        }
        (least, most + self.item_bytes.cast_signed())
    }

    /// Returns an error unless all items are in memory of `room` bytes, in which the first one is at byte
    /// `first`.
    pub(super) fn check(&self, first: usize, room: usize) -> Result<()> {
        if self.items() == 0 {
            return Ok(());
        }
        let (least, most) = self.extent();
        let fits = first.checked_add_signed(least).is_some()
            && first.checked_add_signed(most).is_some_and(|end| end <= room);
        if fits {
            return Ok(());
        }
        Err(Error::argument(format!(
            "box: found items from byte {} to byte {}, expected them in memory of {room} bytes",
            first as i128 + least as i128,
            first as i128 + most as i128
        )))
    }

    /// Returns an error if a stride is shorter than an item, or 0, so that not all items could be read there.
    pub(super) fn check_distinct(&self) -> Result<()> {
        if self.steps.iter().all(|&(_, step)| step.unsigned_abs() >= self.item_bytes) || self.items() < 2 {
            return Ok(());
        }
        let words = format!(
            "strides: one is less than the {} bytes of an item, so items that are read would overlap",
            self.item_bytes
        );
        Err(Error::argument(words))
    }

    /// Passes `items` items, in C order from item `number` on, to `each` as rows of one stride, with the
    /// number of items before each row.
    #[inline]
    pub(super) fn rows(&self, number: u64, items: usize, mut each: impl FnMut(StridedRow, usize)) {
        let Some((&(inner, step), outer)) = self.steps.split_last() else {
            return each(StridedRow { place: 0, items }, 0);
        };
        let number = to_usize(number);
        let (mut column, mut rest) = (number % inner, number / inner);
        let mut index = [0; MAX_DIMENSIONS];
        let mut place = 0;
        for (index, &(n, step)) in index.iter_mut().zip(outer).rev() {
            (*index, rest) = (rest % n, rest / n);
            place += index.cast_signed() * step;
        }
        let mut done = 0;
        while done < items {
            let now = (inner - column).min(items - done);
            each(StridedRow { place: place + column.cast_signed() * step, items: now }, done);
            done += now;
            column = 0;
            for (index, &(n, step)) in index.iter_mut().zip(outer).rev() {
                *index += 1;
                place += step;
                if *index < n {
                    break;
                }
                *index = 0;
                place -= n.cast_signed() * step;
            }
        }
    }

    /// The bytes from one item of a row to the next.
    pub(super) fn step(&self) -> isize {
        self.steps.last().map_or(self.item_bytes.cast_signed(), |&(_, step)| step)
    }
}
