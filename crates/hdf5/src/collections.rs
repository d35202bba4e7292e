//! Collections whose size grows with the number of datasets in a file. Failed allocations are errors.

use scda_base::error::{Error, Result};
use scda_base::memory::{push, reserve};
use std::collections::HashSet;
use std::hash::Hash;

/// A list of all items.
pub fn list<T>(items: impl Iterator<Item = T>) -> Result<Vec<T>> {
    let mut all = Vec::new();
    reserve(&mut all, items.size_hint().0)?;
    for item in items {
        push(&mut all, item)?;
    }
    Ok(all)
}

/// A set of all items.
pub fn set<T: Eq + Hash>(items: impl Iterator<Item = T>) -> Result<HashSet<T>> {
    let mut all = HashSet::new();
    reserve_set(&mut all, items.size_hint().0)?;
    for item in items {
        reserve_set(&mut all, 1)?;
        all.insert(item);
    }
    Ok(all)
}

fn reserve_set<T: Eq + Hash>(all: &mut HashSet<T>, more: usize) -> Result<()> {
    all.try_reserve(more).map_err(|_| Error::memory(more.saturating_mul(size_of::<T>())))
}
