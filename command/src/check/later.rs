//! What was added to datasets later: whether it names a dataset.

use crate::datasets::{Addition, Item, Pair, added_to, announced};
use scda::UserString;
use std::collections::HashMap;

/// What was seen of the file.
#[derive(Default)]
pub struct Later {
    /// The user strings of the data of all datasets, by where they begin.
    datasets: HashMap<u64, UserString>,
    /// What the last section announces.
    announced: Option<Addition>,
}

impl Later {
    /// What is wrong with the next item.
    pub fn look(&mut self, item: &Item) -> Option<String> {
        if let Some(Pair::Dataset(found)) = &item.pair {
            self.datasets.insert(found.data.offset, found.data.user);
        }
        let (section_type, user) = (item.section.section_type, &item.section.user);
        let announced = std::mem::replace(&mut self.announced, announced(section_type, user))?;
        let (what, expected) = match announced {
            Addition::Attributes => ("attributes", "a block with attributes of a dataset"),
            Addition::Rows => ("rows", "an array or varray with rows of a dataset"),
        };
        let named = added_to(section_type, user).filter(|(_, addition)| *addition == announced);
        let Some((data, _)) = named else {
            return Some(format!("found another section, expected {expected}"));
        };
        let found = self.datasets.get(&data).and_then(|name| std::str::from_utf8(name).ok());
        match found.is_some_and(|name| announced.user(data, name).as_bytes() == &**user) {
            true => None,
            false => Some(format!("found {what} of no dataset, expected that one's data at byte {data}")),
        }
    }
}
