//! Collections of as many items as a file has datasets: memory that cannot be allocated is an error.

use scda_base::error::{Error, Result};
use scda_base::memory::reserve;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// A list of all items.
pub fn list<T>(items: impl Iterator<Item = T>) -> Result<Vec<T>> {
    let mut all = Vec::new();
    reserve(&mut all, items.size_hint().0)?;
    for item in items {
        reserve(&mut all, 1)?;
        all.push(item);
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

/// A map of all pairs, of which the last one of a key counts.
pub fn map<K: Eq + Hash, V>(pairs: impl Iterator<Item = (K, V)>) -> Result<HashMap<K, V>> {
    let mut all = HashMap::new();
    let full = |more: usize| Error::memory(more.saturating_mul(size_of::<(K, V)>()));
    let first = pairs.size_hint().0;
    all.try_reserve(first).map_err(|_| full(first))?;
    for (key, value) in pairs {
        all.try_reserve(1).map_err(|_| full(1))?;
        all.insert(key, value);
    }
    Ok(all)
}
