//! The datasets of a file by name. Those of one name are records.

use crate::item::Item;
use scda_base::error::Result;
use scda_base::memory::{push, reserve};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All datasets of a name.
#[derive(Clone, Debug)]
pub struct RecordSeries {
    /// The name.
    pub path: Arc<str>,
    /// The number of datasets before these, of which nothing else is known.
    pub earlier: u64,
    /// The datasets in the order of the file, at least one.
    pub records: Vec<Arc<Item>>,
    /// All records as one dataset, if there are several and they are alike.
    pub series: Option<Arc<Item>>,
}

impl RecordSeries {
    /// The number of datasets with this name.
    pub fn count(&self) -> u64 {
        self.earlier + self.records.len() as u64
    }

    /// Replaces the last record. False if the new one cannot be shown in the series.
    fn replace_last(&mut self, item: &Arc<Item>) -> bool {
        let (count, Some(last)) = (self.count(), self.records.last_mut()) else { return false };
        if count > 1 {
            let Some(series) = self.series.as_mut().filter(|_| last.is_like(item)) else { return false };
            Arc::make_mut(series).set_attributes(&item.attributes);
        }
        last.clone_from(item);
        true
    }

    /// Adds a record. The cost does not grow with the number of records.
    fn push(&mut self, item: Arc<Item>) -> Result<()> {
        reserve(&mut self.records, 1)?;
        let last = &self.records[self.records.len() - 1];
        if !last.is_like(&item) {
            self.series = None;
        } else if self.count() == 1 {
            if let Some(mut series) = Item::series(last)? {
                series.add_record(last, &item)?;
                self.series = Some(Arc::new(series));
            }
        } else if let Some(series) = &mut self.series {
            Arc::make_mut(series).add_record(last, &item)?;
        }
        self.records.push(item);
        Ok(())
    }
}

/// All datasets.
#[derive(Clone, Debug, Default)]
pub struct Datasets {
    named: Vec<RecordSeries>,
    /// The numbers of the names that were greater than all before them when they were added, as most are.
    rising: Vec<usize>,
    /// The numbers of the other names.
    others: BTreeMap<Arc<str>, usize>,
    /// For each dataset, in the order of the file, the number of its name.
    order: Vec<usize>,
}

impl Datasets {
    /// Adds a dataset after all others.
    pub fn push(&mut self, name: &str, item: Arc<Item>) -> Result<()> {
        reserve(&mut self.order, 1)?;
        let number = match self.number(name) {
            Some(number) => {
                self.named[number].push(item)?;
                number
            }
            None => self.add(name, 0, item, None)?,
        };
        self.order.push(number);
        Ok(())
    }

    /// Adds a name, and returns its number.
    fn add(&mut self, name: &str, earlier: u64, last: Arc<Item>, series: Option<Arc<Item>>) -> Result<usize> {
        let (number, path) = (self.named.len(), Arc::<str>::from(name));
        reserve(&mut self.named, 1)?;
        if self.is_next(name) {
            push(&mut self.rising, number)?;
        } else {
            self.others.insert(path.clone(), number);
        }
        self.named.push(RecordSeries { path, earlier, records: vec![last], series });
        Ok(number)
    }

    /// Whether a name is greater than all in `rising`.
    fn is_next(&self, name: &str) -> bool {
        self.rising.last().is_none_or(|&last| *self.named[last].path < *name)
    }

    /// The number of a name.
    fn number(&self, name: &str) -> Option<usize> {
        let other = || self.others.get(name).copied();
        if self.is_next(name) {
            return other();
        }
        let place = self.rising.binary_search_by(|&number| (*self.named[number].path).cmp(name));
        place.ok().map(|place| self.rising[place]).or_else(other)
    }

    /// Adds the datasets of a name, of which the last one is known, and the dataset that shows them as one,
    /// but not their places in the order.
    pub fn restore(
        &mut self,
        name: &str,
        earlier: u64,
        (last, series): (Arc<Item>, Option<Arc<Item>>),
    ) -> Result<()> {
        self.add(name, earlier, last, series).map(drop)
    }

    /// Drops all records that are shown with later ones as one dataset.
    pub fn forget_earlier(&mut self) {
        for named in self.named.iter_mut().filter(|named| named.series.is_some()) {
            let earlier = named.records.len() - 1;
            named.earlier += earlier as u64;
            named.records.drain(..earlier);
        }
    }

    /// For each dataset, in the order of the file, the number of its name.
    pub fn order(&mut self) -> &mut Vec<usize> {
        &mut self.order
    }

    /// The datasets of a name.
    pub fn named(&self, name: &str) -> Option<&RecordSeries> {
        self.number(name).map(|number| &self.named[number])
    }

    /// Replaces the last record of a name if it is `before`; returns whether it is.
    pub fn replace(&mut self, name: &str, before: &Arc<Item>, item: &Arc<Item>) -> bool {
        let Some(number) = self.number(name) else { return false };
        let named = &mut self.named[number];
        named.records.last().is_some_and(|last| Arc::ptr_eq(last, before)) && named.replace_last(item)
    }

    /// Whether there is a dataset of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.number(name).is_some()
    }

    /// The last record of a name.
    pub fn last(&self, name: &str) -> Option<&Arc<Item>> {
        self.named(name)?.records.last()
    }

    /// The names of all datasets in the order of the file.
    pub fn in_order(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(|&number| &*self.named[number].path)
    }

    /// The names in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &RecordSeries> {
        self.named.iter()
    }

    /// The names in sorted order.
    pub fn sorted(&self) -> Result<Vec<&RecordSeries>> {
        let mut all = Vec::new();
        reserve(&mut all, self.named.len())?;
        all.extend(self.rising.iter().chain(self.others.values()).map(|&number| &self.named[number]));
        if !self.others.is_empty() {
            // Two sorted runs.
            all.sort_by(|a, b| a.path.cmp(&b.path));
        }
        Ok(all)
    }
}
