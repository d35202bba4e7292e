//! Shows names of dimensions as dimension scales, which netCDF-4 and xarray understand.

use crate::collections::{list, set};
use crate::item::{Item, ViewDataset, number_of};
use scda_base::error::Result;
use scda_format::dataset::Kind;
use std::collections::{HashMap, HashSet};

/// A dimension scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scale {
    /// The dataset with this number, which has the coordinates of the dimension.
    Dataset(usize),
    /// A dimension without coordinates, by its number.
    Bare(usize),
}

/// A dimension for which no dataset has coordinates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BareScale {
    /// The path of its object.
    pub path: String,
    /// The number of its indices.
    pub size: u64,
    /// Whether it may grow.
    pub may_grow: bool,
}

/// The scales of all datasets.
#[derive(Clone, Debug, Default)]
pub struct Scales {
    /// The scales without coordinates.
    pub bare: Vec<BareScale>,
    /// For each dataset, its scales, one for each dimension; none if it has no names, or is a scale itself.
    pub of: Vec<Vec<Scale>>,
    /// The datasets that are scales.
    pub datasets: HashSet<usize>,
}

/// A dimension, wherever it is looked up.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Dimension<'a> {
    name: &'a str,
    size: u64,
    may_grow: bool,
}

/// The dimension of records has the name of the dataset with their times, or otherwise this one.
const TIME: &str = "time";
const RECORD: &str = "record";

/// The path of a name in a group, whose path is empty for the root.
pub fn joined(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") }
}

/// Splits a path into its group and the last name.
pub fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// A group and all groups that contain it, up to the root.
fn upwards(group: &str) -> impl Iterator<Item = &str> {
    let mut next = Some(group);
    std::iter::from_fn(move || {
        let here = next?;
        next = if here.is_empty() { None } else { Some(split(here).0) };
        Some(here)
    })
}

impl Scales {
    /// The scales of these datasets. `is_taken` tells whether a path is that of a group.
    ///
    /// # Errors
    /// `Memory`.
    pub fn new(datasets: &[ViewDataset], is_taken: impl Fn(&str) -> bool) -> Result<Self> {
        let mut found = Finder { datasets, bare: Vec::new(), bare_paths: HashMap::new() };
        let mut of: Vec<Vec<Scale>> = list((0..datasets.len()).map(|_| Vec::new()))?;
        // Groups come before their contents, so that a dimension there can get a name that differs from those
        // above.
        let mut order = list((0..datasets.len()).filter(|&n| may_have_names(&datasets[n])))?;
        order.sort_by_key(|&n| datasets[n].path.bytes().filter(|byte| *byte == b'/').count());
        order.into_iter().for_each(|n| of[n] = found.scales(n, &is_taken));
        let scales = of.iter().flatten().filter_map(|scale| match scale {
            Scale::Dataset(n) => Some(*n),
            Scale::Bare(_) => None,
        });
        let scales = set(scales)?;
        scales.iter().for_each(|&n| of[n].clear());
        Ok(Self { bare: found.bare, of, datasets: scales })
    }
}

struct Finder<'a> {
    datasets: &'a [ViewDataset],
    bare: Vec<BareScale>,
    bare_paths: HashMap<String, usize>,
}

impl Finder<'_> {
    /// The names of the dimensions of a dataset; empty if none has a name.
    fn names(&self, number: usize) -> Vec<String> {
        let ViewDataset { path, item, records } = &self.datasets[number];
        let mut names = item.dimensions.clone();
        names.resize(item.shape.len(), None);
        if let (Some(records), Some(first)) = (records, names.first_mut()) {
            let is_time = |group: &str| {
                let time = number_of(self.datasets, &joined(group, TIME)).map(|n| &self.datasets[n]);
                time.is_some_and(|time| time.records == Some(*records) && is_coordinate(&time.item))
            };
            let has_time = upwards(split(path).0).any(is_time);
            *first = has_time.then(|| TIME.to_owned());
            if !has_time && !item.dimensions.is_empty() {
                *first = Some(RECORD.to_owned());
            }
        }
        // Names of objects have neither slashes nor control characters, and are not a single dot.
        let known = names.into_iter().map(|name| {
            let name = name?.replace(|c: char| c == '/' || c.is_control(), "_");
            (!name.is_empty() && name != ".").then_some(name)
        });
        let known: Vec<Option<String>> = known.collect();
        if known.iter().all(Option::is_none) {
            return Vec::new();
        }
        // netCDF-4 requires names for all dimensions of a dataset or for none, and xarray allows no name
        // twice.
        let made = |at: usize| {
            let n = item.shape[at];
            let before =
                known.iter().zip(&item.shape).take(at).filter(|(name, size)| name.is_none() && **size == n);
            match before.count() {
                0 => format!("dim_{n}"),
                count => format!("dim_{n}_{}", count + 1),
            }
        };
        known.iter().enumerate().map(|(at, name)| name.clone().unwrap_or_else(|| made(at))).collect()
    }

    fn scales(&mut self, number: usize, is_taken: &impl Fn(&str) -> bool) -> Vec<Scale> {
        let names = self.names(number);
        let ViewDataset { path, item, .. } = &self.datasets[number];
        let group = split(path).0;
        let mut scales = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let dimension = Dimension { name, size: item.shape[at], may_grow: at == 0 && item.may_grow };
            match self.scale(group, dimension, is_taken) {
                Some(scale) => scales.push(scale),
                None => return Vec::new(),
            }
        }
        scales
    }

    /// The scale of a dimension in a group: coordinates there or further up, an existing scale, or a new one.
    fn scale(&mut self, group: &str, of: Dimension<'_>, is_taken: &impl Fn(&str) -> bool) -> Option<Scale> {
        let with_size = format!("{}_{}", of.name, of.size);
        for here in upwards(group) {
            if let Some(n) = number_of(self.datasets, &joined(here, of.name))
                && self.has_coordinates(n, of)
            {
                return Some(Scale::Dataset(n));
            }
            for name in [of.name, &with_size] {
                if let Some(&n) = self.bare_paths.get(&joined(here, name))
                    && (self.bare[n].size, self.bare[n].may_grow) == (of.size, of.may_grow)
                {
                    return Some(Scale::Bare(n));
                }
            }
        }
        let is_free = |path: &String| {
            !is_taken(path) && number_of(self.datasets, path).is_none() && !self.bare_paths.contains_key(path)
        };
        // For xarray's trees, a dimension with this name and another size in a group above would be a
        // contradiction.
        let is_above = upwards(group).skip(1).any(|above| {
            let path = joined(above, of.name);
            let is_scale = |n: usize| is_coordinate(&self.datasets[n].item);
            self.bare_paths.contains_key(&path) || number_of(self.datasets, &path).is_some_and(is_scale)
        });
        let names = [of.name, &with_size].into_iter().skip(usize::from(is_above));
        let path = names.map(|name| joined(group, name)).find(is_free)?;
        let number = self.bare.len();
        self.bare_paths.insert(path.clone(), number);
        self.bare.push(BareScale { path, size: of.size, may_grow: of.may_grow });
        Some(Scale::Bare(number))
    }

    /// Whether a dataset has the coordinates of the dimension with its name.
    fn has_coordinates(&self, number: usize, of: Dimension<'_>) -> bool {
        let ViewDataset { item, records, .. } = &self.datasets[number];
        let own = match item.dimensions.first() {
            Some(Some(own)) => own == of.name,
            _ => true,
        };
        let is_as_long = item.shape == [of.size] && item.may_grow == of.may_grow;
        own && is_as_long && is_coordinate(item) && (records.is_none() || of.name == TIME)
    }
}

/// Whether a dimension of a dataset may have a name: from the user, or because it counts records.
fn may_have_names(ViewDataset { item, records, .. }: &ViewDataset) -> bool {
    records.is_some() || !item.dimensions.is_empty()
}

/// Whether items can be coordinates: netCDF-4 allows numbers and texts.
fn is_coordinate(item: &Item) -> bool {
    item.shape.len() == 1
        && matches!(item.of.kind(), Kind::Signed | Kind::Unsigned | Kind::Float | Kind::Time)
}
