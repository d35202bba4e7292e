//! Assigns the datasets of a mesh to time steps, by their order in the file.

use scda_format::meshes;
use std::collections::BTreeMap;

/// How the records of a dataset are distributed over the time steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// One record, before the end of the first step.
    Static,
    /// One in each step; the first one may precede the first step.
    Each,
    /// Any other way. True if the last step has one.
    Other(bool),
}

/// The datasets of a group, and its time steps.
pub struct Steps<'a> {
    /// For each name in the group, the places of its records in the file.
    places: BTreeMap<&'a str, Vec<u64>>,
    steps: meshes::Steps,
}

impl<'a> Steps<'a> {
    /// For a group, from the names of all datasets of the file in their order. The records of `time` begin
    /// the steps.
    pub fn new(names: impl Iterator<Item = &'a str>, group: &str, time: &str) -> Self {
        let mut places: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        let mut times = Vec::new();
        for (place, name) in (0..).zip(names) {
            if name == time {
                times.push(place);
            }
            let inner = name.strip_prefix(group).and_then(|name| name.strip_prefix('/'));
            if let Some(inner) = if group.is_empty() { Some(name) } else { inner } {
                places.entry(inner).or_default().push(place);
            }
        }
        Self { places, steps: meshes::Steps::new(times) }
    }

    /// The number of steps.
    pub fn count(&self) -> u64 {
        self.steps.count() as u64
    }

    /// For the datasets whose names in the group have this beginning, the rest of the names.
    pub fn names(&self, beginning: &str) -> Vec<&'a str> {
        self.places.keys().filter_map(|name| name.strip_prefix(beginning)).collect()
    }

    /// How the records of a dataset are distributed over the steps.
    pub fn presence(&self, name: &str) -> Presence {
        let places = self.places.get(name).map(Vec::as_slice).unwrap_or_default();
        let steps = self.steps.count();
        let is_in = |(step, place): (usize, &u64)| {
            let range = self.steps.range(step);
            (step == 0 || range.start <= *place) && *place < range.end
        };
        if places.len() == 1 && is_in((0, &places[0])) {
            return Presence::Static;
        }
        if places.len() == steps && places.iter().enumerate().all(is_in) {
            return Presence::Each;
        }
        let last = self.steps.range(steps - 1).start;
        Presence::Other(places.last().is_some_and(|&place| place >= last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_in_steps() {
        let names = "m/a m/time m/b m/c m/a m/time m/b m/d m/e m/d m/time m/b m/d";
        let steps = Steps::new(names.split(' '), "m", "m/time");
        assert_eq!(steps.count(), 3);
        assert_eq!(steps.names(""), ["a", "b", "c", "d", "e", "time"]);
        let found = ["a", "b", "c", "d", "e", "f"].map(|name| steps.presence(name));
        let other = Presence::Other;
        assert_eq!(
            found,
            [other(false), Presence::Each, Presence::Static, other(true), other(false), other(false)]
        );
        let steps = Steps::new("a a b".split(' '), "", "time");
        assert_eq!(
            (steps.count(), steps.presence("a"), steps.presence("b")),
            (1, other(true), Presence::Static)
        );
    }
}
