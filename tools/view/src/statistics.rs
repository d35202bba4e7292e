//! The smallest and the largest number of a dataset, and their mean.

use crate::datasets::box_parts::{self, BoxParts};
use crate::datasets::to_little;
use crate::fail::Result;
use crate::plot::cf_decoding::CfDecoding;
use crate::plot::coordinates::real;
use crate::plot::tick::text_of;
use scda::{DatasetHandle, IndexBox, Reader};
use scda_base::numbers::to_usize;

/// The items that are summed up by themselves: so the mean does not depend on the number of threads.
const BLOCK_ITEMS: usize = 1 << 16;

/// What there is to say of all numbers. Those that are none, or infinite, are only counted.
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    pub least: f64,
    pub most: f64,
    sum: f64,
    pub finite: u64,
    pub others: u64,
}

impl Statistics {
    const NONE: Self = Self { least: f64::INFINITY, most: f64::NEG_INFINITY, sum: 0.0, finite: 0, others: 0 };

    fn of_block(numbers: &[f64]) -> Self {
        let mut all = Self::NONE;
        for &number in numbers {
            if number.is_finite() {
                (all.least, all.most) = (all.least.min(number), all.most.max(number));
                all.sum += number;
                all.finite += 1;
            } else {
                all.others += 1;
            }
        }
        all
    }

    /// Those of the same numbers, this number of times.
    fn times(self, n: u64) -> Self {
        let (finite, others) = (self.finite.saturating_mul(n), self.others.saturating_mul(n));
        Self { sum: self.sum * real(n), finite, others, ..self }
    }

    fn add(&mut self, other: &Self) {
        (self.least, self.most) = (self.least.min(other.least), self.most.max(other.most));
        self.sum += other.sum;
        self.finite += other.finite;
        self.others += other.others;
    }

    /// Of all finite numbers, if there are any.
    pub fn mean(&self) -> Option<f64> {
        (self.finite > 0).then(|| self.sum / real(self.finite))
    }

    /// Those of a dataset, of each of these meanings of it.
    pub fn read(
        reader: &mut Reader,
        dataset: &DatasetHandle,
        meanings: &[CfDecoding],
        threads: usize,
    ) -> Result<Vec<Self>> {
        let block = BLOCK_ITEMS * to_usize(dataset.data_type.item_bytes());
        let (mut all, mut data) = (vec![Self::NONE; meanings.len()], Vec::new());
        if meanings.is_empty() {
            return Ok(all);
        }
        for slab in BoxParts::new(dataset, IndexBox::all(&dataset.shape)) {
            // However many items the file has no chunk for, they have one value.
            if dataset.is_fill(reader, &slab)? {
                let mut item = box_parts::fill_item(dataset);
                to_little(dataset.data_type, &mut item);
                let of_item = |meaning: &CfDecoding| {
                    let mut numbers = Vec::new();
                    meaning.append(&item, &mut numbers);
                    Self::of_block(&numbers).times(box_parts::items(&slab))
                };
                all.iter_mut().zip(meanings).for_each(|(all, meaning)| all.add(&of_item(meaning)));
                continue;
            }
            box_parts::read(reader, dataset, &slab, &mut data)?;
            let blocks: Vec<_> = data.chunks(block).collect();
            let of_some = |some: &[&[u8]]| {
                let mut numbers = Vec::with_capacity(BLOCK_ITEMS);
                let mut of_one = |block: &[u8], meaning: &CfDecoding| {
                    numbers.clear();
                    meaning.append(block, &mut numbers);
                    Self::of_block(&numbers)
                };
                let mut of_all =
                    |block: &&[u8]| meanings.iter().map(|meaning| of_one(block, meaning)).collect::<Vec<_>>();
                some.iter().map(&mut of_all).collect::<Vec<_>>()
            };
            let each = blocks.len().div_ceil(threads.max(1)).max(1);
            let found = std::thread::scope(|scope| {
                let of_some = &of_some;
                let workers: Vec<_> =
                    blocks.chunks(each).map(|some| scope.spawn(move || of_some(some))).collect();
                workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect::<Vec<_>>()
            });
            found.iter().for_each(|block| all.iter_mut().zip(block).for_each(|(all, block)| all.add(block)));
        }
        Ok(all)
    }

    /// In words, a line for each meaning.
    pub fn lines(meanings: &[CfDecoding], found: &[Self]) -> Vec<String> {
        let line = |(meaning, found): (&CfDecoding, &Self)| match meaning.member() {
            Some(member) => format!("{member}: {}", found.words(meaning)),
            None => found.words(meaning),
        };
        meanings.iter().zip(found).map(line).collect()
    }

    fn words(&self, meaning: &CfDecoding) -> String {
        let others = match self.others {
            0 => String::new(),
            1 => "; 1 is not finite".to_owned(),
            n => format!("; {n} are not finite"),
        };
        match self.mean() {
            None => format!("no finite numbers{others}"),
            Some(mean) => {
                let text = |number: f64| {
                    let moment = meaning.clock.and_then(|clock| clock.moment(number));
                    moment.unwrap_or_else(|| text_of(number, number.abs() * 1e-6))
                };
                format!("{} to {}, mean {}{others}", text(self.least), text(self.most), text(mean))
            }
        }
    }
}
