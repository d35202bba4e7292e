//! The datasets of a file by their names. Those of one name are records.

use crate::item::Item;
use scda_base::error::Result;
use scda_base::memory::reserve;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All datasets of a name.
#[derive(Clone, Debug)]
pub struct Named {
    /// The name.
    pub path: Arc<str>,
    /// The datasets in the order of the file, at least one.
    pub records: Vec<Arc<Item>>,
    /// More than one record as one dataset, if they are alike.
    pub series: Option<Arc<Item>>,
}

impl Named {
    /// Adds a record. One after the other costs the same, however many there are.
    fn push(&mut self, item: Arc<Item>) -> Result<()> {
        reserve(&mut self.records, 1)?;
        let last = &self.records[self.records.len() - 1];
        if !last.is_like(&item) {
            self.series = None;
        } else if self.records.len() == 1 {
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
    named: Vec<Named>,
    numbers: BTreeMap<Arc<str>, usize>,
    /// For each dataset, in the order of the file, the number of its name.
    order: Vec<usize>,
}

impl Datasets {
    /// Adds a dataset, the last one of the file.
    pub fn push(&mut self, name: &str, item: Arc<Item>) -> Result<()> {
        reserve(&mut self.order, 1)?;
        let number = match self.numbers.get(name) {
            Some(&number) => {
                self.named[number].push(item)?;
                number
            }
            None => {
                let (number, path) = (self.named.len(), Arc::<str>::from(name));
                reserve(&mut self.named, 1)?;
                self.numbers.insert(path.clone(), number);
                self.named.push(Named { path, records: vec![item], series: None });
                number
            }
        };
        self.order.push(number);
        Ok(())
    }

    /// Whether there is one of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.numbers.contains_key(name)
    }

    /// The last record of a name.
    pub fn last(&self, name: &str) -> Option<&Arc<Item>> {
        self.named[*self.numbers.get(name)?].records.last()
    }

    /// The names of all datasets in the order of the file.
    pub fn in_order(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(|&number| &*self.named[number].path)
    }

    /// The names, in the order in which they came into the file.
    pub fn iter(&self) -> impl Iterator<Item = &Named> {
        self.named.iter()
    }

    /// The names in their order.
    pub fn sorted(&self) -> Result<Vec<&Named>> {
        let mut all = Vec::new();
        reserve(&mut all, self.named.len())?;
        all.extend(&self.named);
        // Those of a program are mostly sorted already, or consist of sorted runs.
        all.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(all)
    }
}
