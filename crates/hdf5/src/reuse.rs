//! Determines what is unchanged since the previous view.

use crate::collections::{list, set};
use crate::item::number_of;
use crate::plan::Plan;
use crate::scales::{Scale, split};
use scda_base::error::Result;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// What is unchanged, by path.
pub struct Reuse<'a> {
    /// For each dataset, whether it and everything it refers to are unchanged.
    pub datasets: Vec<bool>,
    /// Dimensions without coordinates.
    pub bare: HashSet<&'a str>,
    /// Arrays.
    pub arrays: HashSet<&'a str>,
    /// The groups that have changed, including changes in what they contain.
    pub changed_groups: BTreeSet<String>,
    /// For each dataset, the number of the one at the same path in the previous view.
    before: Vec<Option<usize>>,
}

impl<'a> Reuse<'a> {
    /// Nothing is unchanged, because there is no previous view.
    pub fn none(plan: &'a Plan) -> Result<Self> {
        Ok(Self {
            datasets: list(plan.datasets.iter().map(|_| false))?,
            bare: HashSet::new(),
            arrays: HashSet::new(),
            changed_groups: plan.groups.keys().cloned().chain([String::new()]).collect(),
            before: list(plan.datasets.iter().map(|_| None))?,
        })
    }

    /// Compares the two views.
    pub fn new(plan: &'a Plan, previous: &'a Plan) -> Result<Self> {
        let mut same = Self {
            datasets: Vec::new(),
            bare: HashSet::new(),
            arrays: HashSet::new(),
            changed_groups: BTreeSet::new(),
            before: numbers_before(plan, previous)?,
        };
        let known = set(previous.scales.bare.iter().map(|bare| (&*bare.path, bare)))?;
        same.bare.extend(
            plan.scales
                .bare
                .iter()
                .map(|bare| (&*bare.path, bare))
                .filter(|bare| known.contains(bare))
                .map(|(path, _)| path),
        );
        let known = plan.arrays.iter().filter(|(path, array)| previous.arrays.get(*path) == Some(array));
        same.arrays.extend(known.map(|(path, _)| &**path));
        same.compare_datasets(plan, previous)?;
        same.find_groups(plan, previous)?;
        Ok(same)
    }

    /// The number in the previous view of the dataset at the same path.
    pub fn before(&self, number: usize) -> Option<usize> {
        self.before.get(number).copied().flatten()
    }

    fn compare_datasets(&mut self, plan: &Plan, previous: &Plan) -> Result<()> {
        let alone = |(n, shown): (usize, &crate::item::ViewDataset)| {
            self.before(n).is_some_and(|before| {
                let was = &previous.datasets[before];
                let is_scale = plan.scales.datasets.contains(&n);
                is_scale == previous.scales.datasets.contains(&before)
                    && (Arc::ptr_eq(&was.item, &shown.item) || was.item == shown.item)
                    && paths(plan, n) == paths(previous, before)
            })
        };
        let alone: Vec<bool> = list(plan.datasets.iter().enumerate().map(alone))?;
        let refers_to_same = |scale: &Scale| match scale {
            Scale::Dataset(n) => alone[*n],
            Scale::Bare(n) => self.bare.contains(&*plan.scales.bare[*n].path),
        };
        // A scale refers to nothing.
        let all = (0..alone.len()).map(|n| alone[n] && plan.scales.of[n].iter().all(refers_to_same));
        self.datasets = list(all)?;
        Ok(())
    }

    /// Finds groups in which something is new, changed, or missing.
    fn find_groups(&mut self, plan: &Plan, previous: &Plan) -> Result<()> {
        let mut changed_groups = BTreeSet::new();
        let mut mark = |path: &str| {
            let mut here = path;
            while !here.is_empty() {
                here = split(here).0;
                if !changed_groups.insert(here.to_owned()) {
                    break;
                }
            }
        };
        let is_shown = |path: &str| number_of(&plan.datasets, path).is_some();
        for (shown, is_same) in plan.datasets.iter().zip(&self.datasets) {
            if !is_same {
                mark(&shown.path);
            }
        }
        let mut stay = list(previous.datasets.iter().map(|_| false))?;
        self.before.iter().flatten().for_each(|&before| stay[before] = true);
        let gone = previous.datasets.iter().zip(stay).filter(|(_, stays)| !stays);
        gone.for_each(|(shown, _)| mark(&shown.path));
        let bare = plan.scales.bare.iter().chain(&previous.scales.bare);
        bare.filter(|bare| !self.bare.contains(&*bare.path)).for_each(|bare| mark(&bare.path));
        let arrays = plan.arrays.keys().chain(previous.arrays.keys());
        arrays.filter(|path| !self.arrays.contains(&***path)).for_each(|path| mark(path));
        let changed = plan.datasets.iter().zip(&self.datasets).filter(|(_, same)| !**same);
        let changed_datasets: HashSet<&str> = set(changed.map(|(shown, _)| &*shown.path))?;
        for (path, target) in plan.links.iter().chain(&previous.links) {
            let is_same_array = self.arrays.contains(&**target);
            if plan.links.get(path) != previous.links.get(path)
                || !is_same_array && (changed_datasets.contains(&**target) || !is_shown(target))
            {
                mark(path);
            }
        }
        for path in plan.groups.keys().chain(previous.groups.keys()) {
            let is_new = plan.groups.contains_key(path) != previous.groups.contains_key(path);
            if is_new || plan.attributes(path) != previous.attributes(path) {
                // The group itself.
                mark(&format!("{path}/."));
            }
        }
        self.changed_groups = changed_groups
            .into_iter()
            .filter(|path| path.is_empty() || plan.groups.contains_key(path))
            .collect();
        Ok(())
    }
}

/// For each dataset, the number of the one at the same path in the previous plan.
fn numbers_before(plan: &Plan, previous: &Plan) -> Result<Vec<Option<usize>>> {
    let mut left = previous.datasets.iter().enumerate().peekable();
    // Both are sorted.
    list(plan.datasets.iter().map(|shown| {
        while left.next_if(|(_, before)| before.path < shown.path).is_some() {}
        left.next_if(|(_, before)| before.path == shown.path).map(|(n, _)| n)
    }))
}

/// The paths of the scales of a dataset.
fn paths(plan: &Plan, number: usize) -> Vec<&str> {
    let path = |scale: &Scale| match scale {
        Scale::Dataset(n) => &*plan.datasets[*n].path,
        Scale::Bare(n) => &*plan.scales.bare[*n].path,
    };
    plan.scales.of.get(number).into_iter().flatten().map(path).collect()
}
