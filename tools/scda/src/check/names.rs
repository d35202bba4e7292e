//! Finds sections that have the name of a dataset: a reader that looks for a record of the dataset would get them, and
//! fail.

use super::finding::{Fault, Finding, Rigour};
use crate::datasets::{Item, Walk};
use crate::fail::Result;
use crate::files::Input;
use crate::output::quote;
use scda::{Content, UserString};
use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, RandomState};

/// The names in a file, of which only hashes are kept, because there may be very many.
#[derive(Default)]
pub struct Names {
    hasher: RandomState,
    datasets: HashSet<u64>,
    others: HashSet<u64>,
}

/// The name of an item, and whether it belongs to a dataset. `None` for attributes of groups, whose blocks have other
/// names, and for streams, which have their own note.
fn name(item: &Item, is_of_unknown: bool) -> Option<(&UserString, bool)> {
    match &item.content {
        Content::Group(_) | Content::Streams(_) => None,
        Content::Dataset(_) => Some((item.user(), true)),
        _ => Some((item.user(), is_of_unknown)),
    }
}

impl Names {
    /// Adds the name of the next item. `is_of_unknown` tells that it has the data of a dataset whose type this library
    /// does not have.
    pub fn see(&mut self, item: &Item, is_of_unknown: bool) {
        if let Some((name, is_dataset)) = name(item, is_of_unknown) {
            let names = if is_dataset { &mut self.datasets } else { &mut self.others };
            names.insert(self.hasher.hash_one(&**name));
        }
    }

    /// The sections of a file, all of which have been seen, that have the name of a dataset but are none.
    ///
    /// # Errors
    /// The errors of the reader.
    pub fn shared(&self, input: &Input, rigour: Rigour) -> Result<Vec<Finding>> {
        let shared: HashSet<u64> = self.datasets.intersection(&self.others).copied().collect();
        let mut findings = Vec::new();
        if shared.is_empty() {
            return Ok(findings);
        }
        let (mut datasets, mut others) = (BTreeSet::new(), Vec::new());
        let (mut reader, mut walk) = (input.open_damaged(rigour.is_strict())?, Walk::of_all(input));
        while let Some(item) = walk.next(&mut reader)? {
            let is_of_unknown = walk.is_of_unknown(&item);
            match name(&item, is_of_unknown) {
                Some((name, _)) if !shared.contains(&self.hasher.hash_one(&**name)) => {}
                Some((name, true)) => _ = datasets.insert(*name),
                Some((name, false)) => others.push((*name, item.number, item.section)),
                None => {}
            }
            item.skip(&mut reader)?;
        }
        for (name, number, section) in others.into_iter().filter(|(name, ..)| datasets.contains(name)) {
            let name = quote(&name);
            let words = format!(
                "found no metadata before it, but the name of the dataset {name}, whose record it would be"
            );
            findings.push(Finding::of_dataset(number, &section, Fault::Words(words)));
        }
        Ok(findings)
    }
}
