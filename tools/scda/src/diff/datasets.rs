//! Finds differences between datasets and attributes.

use super::report::Location;
use crate::datasets::box_parts::{self, BoxParts};
use crate::datasets::compare::{Deviation, Tolerance, are_numbers, for_each_unlike};
use crate::datasets::{attributes_of, shape_word, values};
use crate::fail::Result;
use crate::output::visible;
use crate::progress;
use scda::{Dataset, DatasetHandle, IndexBox, Reader};
use scda_format::dataset::fill;
use scda_format::dataset::json::compact;
use serde_json::json;
use std::collections::BTreeMap;

/// Differences of attributes. Their order does not matter.
pub fn of_attributes(at: &Location, kind: &str, user: &[u8], a: &str, b: &str) -> Vec<String> {
    let sorted = |text| -> BTreeMap<String, String> {
        attributes_of(text).into_iter().map(|member| (member.key, compact(member.text))).collect()
    };
    let (a, mut b) = (sorted(a), sorted(b));
    let mut all: BTreeMap<_, _> =
        a.into_iter().map(|(key, x)| (key.clone(), (Some(x), b.remove(&key)))).collect();
    all.extend(b.into_iter().map(|(key, y)| (key, (None, Some(y)))));
    let name = at.words(kind, user);
    let show = |value: &Option<String>| value.as_ref().map_or("none".to_owned(), |value| visible(value));
    let unlike = all.into_iter().filter(|(_, (x, y))| x != y);
    let difference = |(key, (x, y)): (String, (Option<String>, Option<String>))| {
        format!("{name}: attribute {}: {} | {}", visible(&key), show(&x), show(&y))
    };
    unlike.map(difference).collect()
}

/// Differences between two datasets with one name, except in their data.
pub fn of_metadata(at: &Location, a: &Dataset, b: &Dataset) -> Vec<String> {
    let name = at.words("dataset", a.name.as_bytes());
    let facts = |dataset: &Dataset| {
        let fill = dataset.fill_item();
        [
            ("type", dataset.data_type.to_string()),
            ("shape", shape_word(&dataset.shape)),
            ("dimension names", json!(dataset.dimension_names).to_string()),
            ("fill value", fill::to_json(dataset.data_type, &fill).to_string()),
        ]
    };
    let unlike = facts(a).into_iter().zip(facts(b)).filter(|(x, y)| x != y);
    let difference = |((what, x), (_, y)): ((&str, String), (&str, String))| {
        format!("{name}: {what}: {} | {}", visible(&x), visible(&y))
    };
    let mut differences: Vec<_> = unlike.map(difference).collect();
    differences.extend(of_attributes(at, "dataset", a.name.as_bytes(), &a.attributes, &b.attributes));
    differences
}

/// An item that differs.
struct ItemDifference {
    index: Vec<u64>,
    a: String,
    b: String,
}

/// The number of items that differ, and their deviations.
#[derive(Default)]
struct Summary {
    count: u64,
    /// The number of items that have NaN in one of the files.
    nans: u64,
    first: Option<ItemDifference>,
    /// The largest deviations, absolute and relative.
    largest: [Option<(f64, ItemDifference)>; 2],
}

impl Summary {
    /// Adds an item that differs.
    fn add(&mut self, apart: Deviation, unlike: impl Fn() -> ItemDifference) {
        self.count += 1;
        self.first.get_or_insert_with(&unlike);
        self.nans += u64::from(apart.absolute.is_nan());
        for (largest, value) in self.largest.iter_mut().zip([apart.absolute, apart.relative]) {
            let most = largest.as_ref().map_or(f64::NEG_INFINITY, |(most, _)| *most);
            if value > most {
                *largest = Some((value, unlike()));
            }
        }
    }

    fn difference(self, at: &Location, dataset: &Dataset) -> Option<String> {
        let Self { count, nans, first, largest: [absolute, relative] } = self;
        let first = first?;
        let items: u64 = dataset.shape.iter().product();
        let words = |ItemDifference { index, a, b }: &ItemDifference| format!("{index:?}: {a} | {b}");
        let s = if count == 1 { "s" } else { "" };
        let name = at.words("dataset", dataset.name.as_bytes());
        let mut text = format!("{name}: {count} of {items} items differ{s}; first {}", words(&first));
        if are_numbers(dataset.data_type) {
            let is_whole = !dataset.data_type.has_floats();
            for (what, largest, is_whole) in
                [("absolute", &absolute, is_whole), ("relative", &relative, false)]
            {
                if let Some((value, unlike)) = largest {
                    let value = in_words(*value, is_whole);
                    text = format!("{text}; largest {what} deviation {value} at {}", words(unlike));
                }
            }
            if nans > 0 {
                text = format!("{text}; {nans} with NaN");
            }
        }
        Some(text)
    }
}

/// A deviation as text.
fn in_words(value: f64, is_whole: bool) -> String {
    match value {
        value if value.is_infinite() => "inf".to_owned(),
        value if is_whole || value == 0.0 => format!("{value:.0}"),
        value => format!("{value:.3e}"),
    }
}

/// Compares the values of two datasets with one type and shape. With `quiet`, reads nothing after the first difference.
pub fn of_values(
    at: &Location,
    (a, b): (&DatasetHandle, &DatasetHandle),
    (in_a, in_b): (&mut Reader, &mut Reader),
    tolerance: Option<Tolerance>,
    quiet: bool,
) -> Result<Option<String>> {
    let (mut x, mut y, mut found) = (Vec::new(), Vec::new(), Summary::default());
    let have_same_fill = a.fill_item() == b.fill_item();
    for slab in BoxParts::new(a, IndexBox::all(&a.shape)) {
        // A small file may have any number of such items.
        if have_same_fill && a.is_fill(in_a, &slab)? && b.is_fill(in_b, &slab)? {
            continue;
        }
        box_parts::read(in_a, a, &slab, &mut x)?;
        box_parts::read(in_b, b, &slab, &mut y)?;
        progress::add(x.len() as u64);
        for_each_unlike(a.data_type, (&x, &y), tolerance, |place, apart| {
            let show = |data: &[u8]| {
                let mut text = String::new();
                let item = box_parts::each_item(a.data_type, data).nth(place).unwrap_or_default();
                values::show(a.data_type, item, &mut text);
                text
            };
            let index = || box_parts::index_of(&slab, place as u64);
            found.add(apart, || ItemDifference { index: index(), a: show(&x), b: show(&y) });
        });
        if quiet && found.count > 0 {
            break;
        }
    }
    Ok(found.difference(at, a))
}

/// Reads a dataset, because damaged data are not a difference but a failure.
pub fn read_all(reader: &mut Reader, dataset: &DatasetHandle) -> Result<()> {
    let mut data = Vec::new();
    BoxParts::new(dataset, IndexBox::all(&dataset.shape)).try_for_each(|slab| {
        match dataset.is_fill(reader, &slab)? {
            true => Ok(()),
            false => box_parts::read(reader, dataset, &slab, &mut data),
        }
    })
}
