//! The time steps of a group.

use std::ops::Range;

/// Where the time steps of a group begin: the places of its times in the file, counted in sections or in datasets.
#[derive(Clone, Debug)]
pub struct Steps {
    begins: Vec<u64>,
}

impl Steps {
    /// For times in these places. Without any, the whole file is a single step.
    #[must_use]
    pub fn new(times: Vec<u64>) -> Self {
        Self { begins: if times.is_empty() { vec![0] } else { times } }
    }

    /// The number of steps.
    #[must_use]
    pub fn count(&self) -> usize {
        self.begins.len()
    }

    /// The step of a place; `None` before the first time.
    #[must_use]
    pub fn of(&self, place: u64) -> Option<usize> {
        self.begins.partition_point(|&begin| begin <= place).checked_sub(1)
    }

    /// The places of a step.
    #[must_use]
    pub fn range(&self, step: usize) -> Range<u64> {
        let at = |step: usize| self.begins.get(step).copied().unwrap_or(u64::MAX);
        at(step)..at(step + 1)
    }

    /// The places of each step.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        (0..self.count()).map(|step| self.range(step))
    }
}
