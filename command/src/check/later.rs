//! What was added to datasets later: whether it names a dataset.

use super::walk::header_at;
use crate::datasets::{Added, Addition, Item, Pair, Walk, added_to, announced};
use crate::fail::Result;

/// What was seen of the file.
#[derive(Default)]
pub struct Later {
    /// Where the data of all datasets begin, also of those of a type that this library does not have, in their order. There may be very many, so their names stay in the file.
    datasets: Vec<u64>,
    /// What the last section announces.
    announced: Option<Addition>,
}

impl Later {
    /// What is wrong with the next item, to which the walk has come.
    ///
    /// # Errors
    /// Those of opening the file.
    pub fn look(&mut self, walk: &mut Walk<'_>, item: &Item) -> Result<Option<String>> {
        if let Some(Pair::Dataset(found)) = &item.pair {
            self.datasets.push(found.data.offset);
        } else if walk.is_of_unknown(item) {
            self.datasets.push(item.section.offset);
        }
        let (section_type, user) = (item.section.section_type, &item.section.user);
        let Some(announced) = std::mem::replace(&mut self.announced, announced(section_type, user)) else {
            return Ok(None);
        };
        let (what, expected) = match announced {
            Addition::Attributes => ("attributes", "a block with attributes of a dataset"),
            Addition::Rows => ("rows", "an array or varray with rows of a dataset"),
        };
        let named = added_to(section_type, user).filter(|added| added.addition == announced);
        let Some(Added { data, .. }) = named else {
            return Ok(Some(format!("found another section, expected {expected}")));
        };
        let found = match self.datasets.binary_search(&data) {
            Ok(_) => header_at(walk.dataset_reader()?, data, true),
            Err(_) => None,
        };
        let name = found.as_ref().and_then(|section| std::str::from_utf8(&section.user).ok());
        Ok(match name.is_some_and(|name| announced.user(data, name).as_bytes() == &**user) {
            true => None,
            false => Some(format!("found {what} of no dataset, expected that one's data at byte {data}")),
        })
    }
}
