//! Checks additions to datasets: each must name a dataset, and be valid.

use super::decoding::decode_rows;
use super::finding::{Fault, Finding};
use super::walk::header_at;
use crate::datasets::{Addition, AdditionName, Item, added_to, announced, dataset_at};
use crate::fail::{Result, is_invalid};
use scda::{ErrorKind, Reader};
use std::collections::{BTreeMap, HashMap};

/// What has been seen of the file.
#[derive(Default)]
pub struct AdditionsCheck {
    /// For all datasets, also those of types that this library does not have: the offset of the data, and that of the
    /// metadata if known. There may be very many, so their names stay in the file.
    datasets: BTreeMap<u64, Option<u64>>,
    /// What the last section announces.
    announced: Option<Announcement>,
    /// The number of rows of a dataset, including those that no seal makes valid, by the offset of its data.
    rows: HashMap<u64, u64>,
}

/// A section that announces the next one.
struct Announcement {
    addition: Addition,
    number: u64,
    offset: u64,
}

/// The relation of an item to datasets before it.
pub enum Relation {
    /// None, or attributes.
    Other,
    /// Rows of a dataset. If no seal ends the file, they are not valid, and no part of the dataset.
    Rows(Rows),
    /// A failed addition to a dataset, with the reason.
    Wrong(String),
}

/// Rows that were added to a dataset.
pub struct Rows {
    /// The offsets of the dataset's metadata and data.
    block: u64,
    data: u64,
    /// The offset of the rows' own metadata.
    metadata: u64,
}

impl AdditionsCheck {
    /// Examines the next item of the walk; `reader` is another reader of the file. `is_of_unknown` tells that the item
    /// has the data of a dataset whose type this library does not have.
    pub fn look(&mut self, item: &Item, is_of_unknown: bool, reader: &mut Reader) -> Relation {
        if item.dataset().is_some() {
            self.datasets.insert(item.last_offset(), Some(item.section.offset));
        } else if is_of_unknown {
            self.datasets.insert(item.section.offset, None);
        }
        let (section_type, user) = (item.section.section_type, &item.section.user);
        let next = announced(section_type, user).map(|addition| Announcement {
            addition,
            number: item.number,
            offset: item.section.offset,
        });
        let before = std::mem::replace(&mut self.announced, next);
        let Some(before) = before.filter(|before| before.number + 1 == item.number) else {
            return Relation::Other;
        };
        let expected = match before.addition {
            Addition::Attributes => "a block with attributes of a dataset",
            Addition::Rows => "an array or varray with rows of a dataset",
        };
        let named = added_to(section_type, user).filter(|added| added.addition == before.addition);
        let Some(AdditionName { addition, data }) = named else {
            return Relation::Wrong(format!("found another section, expected {expected}"));
        };
        let dataset = self.datasets.get(&data);
        let found = dataset.and_then(|_| header_at(reader, data, true));
        let name = found.as_ref().and_then(|section| std::str::from_utf8(&section.user).ok());
        if name.is_none_or(|name| addition.user(data, name).as_bytes() != &**user) {
            let words = format!("found {addition} of no dataset, expected that one's data at byte {data}");
            return Relation::Wrong(words);
        }
        match (addition, dataset) {
            (Addition::Rows, Some(&Some(block))) => {
                Relation::Rows(Rows { block, data, metadata: before.offset })
            }
            _ => Relation::Other,
        }
    }

    /// Checks rows, in this item, that are not valid yet as if they were, and returns the error. `of_dataset` and
    /// `reader` are two readers of the file. `is_whole` tells that damage cannot hide rows before them; their items are
    /// decoded if `decodes`.
    ///
    /// # Errors
    /// Errors that say nothing about the file.
    pub fn check_rows(
        &mut self,
        (of_dataset, reader): (&mut Reader, &mut Reader),
        item: &Item,
        rows: &Rows,
        (is_whole, decodes): (bool, bool),
    ) -> Result<Option<Finding>> {
        // Errors in the dataset itself are reported there.
        let Ok(Some(dataset)) = dataset_at(of_dataset, rows.block) else { return Ok(None) };
        let own = dataset.shape.first().copied().unwrap_or(0);
        let before = self.rows.get(&rows.data).copied().unwrap_or(own);
        let with_rows = dataset.with_unsealed_rows(of_dataset, rows.metadata, is_whole.then_some(before));
        let dataset = match with_rows {
            Ok(dataset) => dataset,
            Err(error) if is_invalid(&error) => {
                return Ok(Some(Finding::of_dataset(item.number, &item.section, Fault::Invalid(error))));
            }
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let Some(added) = dataset.added_rows().next() else { return Ok(None) };
        let count = added.dataset.shape.first().copied().unwrap_or(0);
        self.rows.insert(rows.data, added.first + count);
        if !decodes || dataset.unsupported.is_some() || added.dataset.unsupported.is_some() {
            return Ok(None);
        }
        let error = match decode_rows(of_dataset, reader, &dataset, &added) {
            Ok(()) => return Ok(None),
            Err(fail) => Fault::of(fail)?,
        };
        Ok(Some(Finding::of_dataset(item.number, &item.section, error)))
    }
}
