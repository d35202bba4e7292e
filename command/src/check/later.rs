//! Attributes of datasets that were set later: whether they name a dataset.

use crate::datasets::{Item, Pair, announces_later};
use scda::internals::later::{later_of, later_user};
use scda::{SectionType, UserString};
use std::collections::HashMap;

/// What was seen of the file.
#[derive(Default)]
pub struct Later {
    /// The user strings of the data of all datasets, by where they begin.
    datasets: HashMap<u64, UserString>,
    /// Whether the last section announces attributes.
    is_announced: bool,
}

impl Later {
    /// What is wrong with the next item.
    pub fn look(&mut self, item: &Item) -> Option<String> {
        if let Some(Pair::Dataset(found)) = &item.pair {
            self.datasets.insert(found.data.offset, found.data.user);
        }
        let is_announced = std::mem::replace(&mut self.is_announced, announces_later(&item.section));
        if !is_announced {
            return None;
        }
        let user = &item.section.user;
        let named = later_of(user).filter(|_| item.section.section_type == SectionType::Block);
        let Some((data, _)) = named else {
            return Some("found another section, expected a block with attributes of a dataset".to_owned());
        };
        let found = self.datasets.get(&data).and_then(|name| std::str::from_utf8(name).ok());
        match found.is_some_and(|name| later_user(data, name).as_bytes() == &**user) {
            true => None,
            false => Some(format!("found attributes of no dataset, expected that one's data at byte {data}")),
        }
    }
}
