//! The objects of a view, by their paths.

use crate::attribute::{self, Value};
use crate::auxiliary::{AuxiliaryDataset, Mapping, Slab, Source};
use crate::chunks::unread;
use crate::collections::{list, set};
use crate::item::{Item, ViewDataset};
use crate::names::{Datasets, RecordSeries};
use crate::scales::Scales;
use scda_base::error::{Error, Result};
use scda_base::memory::reserve;
use scda_base::numbers::sum;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The suffix, after the name of a dataset, of the group with its records if they differ.
const RECORDS: &str = "_records";

/// The suffix, after the name of a dataset, of the group with its parts if added rows do not continue its
/// chunks.
const ROWS: &str = "_rows";

/// The attribute of the root group that lists what is not shown, one line each.
pub const NOT_SHOWN: &str = "scda_not_shown";

/// The attributes of an object.
pub type Attributes = Vec<(String, Value)>;

/// The contents of a view.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The datasets, sorted by their paths.
    pub datasets: Vec<ViewDataset>,
    /// Their scales.
    pub scales: Scales,
    /// The attributes of groups, by path; that of the root is empty.
    pub groups: BTreeMap<String, Attributes>,
    /// Datasets that exist only in the view.
    pub arrays: BTreeMap<String, AuxiliaryDataset>,
    /// Links to datasets, including those that exist only in the view.
    pub links: BTreeMap<String, String>,
    /// What is not shown, and why.
    pub hidden: Vec<(String, String)>,
}

/// Adds all datasets to a plan; records that are alike become one dataset.
pub fn show(plan: &mut Plan, datasets: &Datasets) -> Result<()> {
    let all = datasets.sorted()?;
    let others: Vec<String> = list(plan.arrays.keys().chain(plan.groups.keys()).cloned())?;
    let mut group = None;
    for RecordSeries { path, .. } in &all {
        // The datasets of a group are consecutive.
        let own = path.rsplit_once('/').map(|(group, _)| group);
        if group != Some(own) {
            plan.add_groups(path);
            group = Some(own);
        }
    }
    others.iter().for_each(|path| plan.add_groups(path));
    let paths = plan.groups.keys().chain(plan.arrays.keys());
    let taken: HashSet<String> = set(paths.filter(|path| datasets.contains(path)).cloned())?;
    reserve(&mut plan.datasets, all.len())?;
    let mut are_sorted = true;
    for named in all {
        let RecordSeries { path, records, series, .. } = named;
        if !taken.is_empty() && taken.contains(&**path) {
            plan.hidden.push((path.to_string(), "its name is also that of a group".into()));
            continue;
        }
        let path = path.clone();
        match (&records[..], series) {
            ([one], None) if named.earlier == 0 => {
                plan.datasets.push(ViewDataset { path, item: one.alone(), records: None })
            }
            (_, Some(series)) => {
                let records = Some(named.count());
                plan.datasets.push(ViewDataset { path, item: series.clone(), records });
            }
            _ if named.earlier > 0 => return Err(unread()),
            _ => {
                plan.show_each(&path, records, datasets)?;
                are_sorted = false;
            }
        }
    }
    if !are_sorted {
        plan.datasets.sort_by(|a, b| a.path.cmp(&b.path));
    }
    plan.scales =
        Scales::new(&plan.datasets, |path| plan.groups.contains_key(path) || plan.arrays.contains_key(path))?;
    Ok(())
}

/// Datasets with their names.
pub type NamedItems = Vec<(String, Arc<Item>)>;

/// The parts of a dataset whose rows do not continue its chunks, with names of their own, and the dataset
/// that shows them as one.
pub fn joined(name: &str, parts: &[Arc<Item>]) -> Result<(NamedItems, AuxiliaryDataset)> {
    let mut named = Vec::new();
    reserve(&mut named, parts.len())?;
    let mut boxes = Vec::new();
    reserve(&mut boxes, parts.len())?;
    let mut shape = parts.first().map(|first| first.shape.clone()).unwrap_or_default();
    let mut rows = 0_u64;
    for (n, part) in parts.iter().enumerate() {
        let path = format!("{name}{ROWS}/{n}");
        if !part.shape.contains(&0) {
            let mut to = Slab::all(&part.shape);
            to.start[0] = rows;
            boxes.push(Mapping { path: path.clone(), from: Slab::all(&part.shape), to });
        }
        rows = sum(rows, part.shape[0]).ok_or_else(|| Error::range("HDF5: too many rows"))?;
        named.push((path, part.clone()));
    }
    shape[0] = rows;
    let first = &parts[0];
    let attributes = attribute::of_object(&first.attributes, Some(first.of))?;
    Ok((named, AuxiliaryDataset { data_type: first.of, shape, source: Source::Boxes(boxes), attributes }))
}

impl Plan {
    /// The attributes of a group; those of the root list what is not shown.
    pub fn attributes(&self, path: &str) -> Attributes {
        let mut own = self.groups.get(path).cloned().unwrap_or_default();
        if path.is_empty() && !self.hidden.is_empty() {
            let lines: Vec<String> = self.hidden.iter().map(|(name, why)| format!("{name}: {why}")).collect();
            own.push((NOT_SHOWN.to_owned(), Value::Text(lines.join("\n").replace('\0', " "))));
        }
        own
    }

    /// Shows the last record under the name, and the others in a group.
    fn show_each(&mut self, path: &str, records: &[Arc<Item>], names: &Datasets) -> Result<()> {
        let group = format!("{path}{RECORDS}");
        let is_taken = self.groups.contains_key(&group) || names.contains(&group);
        reserve(&mut self.datasets, records.len())?;
        let last = records.len() - 1;
        for (n, item) in records.iter().enumerate() {
            if n == last || !is_taken {
                let path = if n == last { path.into() } else { format!("{group}/{n}").into() };
                self.datasets.push(ViewDataset { path, item: item.alone(), records: None });
            }
        }
        if is_taken {
            self.hidden.push((path.to_owned(), "all records but the last one".into()));
        } else {
            self.groups.insert(group, Vec::new());
        }
        Ok(())
    }

    /// Adds the groups that contain a path.
    pub fn add_groups(&mut self, path: &str) {
        let outer = path.match_indices('/').map(|(at, _)| &path[..at]).chain([""]);
        for group in outer {
            if !self.groups.contains_key(group) {
                self.groups.insert(group.to_owned(), Vec::new());
            }
        }
    }
}
