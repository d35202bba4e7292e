//! Assembles the groups for VTK: links to the datasets of the view, and boxes of them.

use crate::attribute::Value;
use crate::auxiliary::{AuxiliaryDataset, Mapping, Slab, Source};
use crate::item::{Item, Reason, number_of};
use crate::plan::{Attributes, Plan};
use crate::scales::{Scale, Scales};
use scda_base::error::Result;
use scda_base::numbers::product;
use scda_format::dataset::{DataType, Kind};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The group that VTK reads.
pub const ROOT: &str = "VTKHDF";

/// The records of a dataset to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The last one.
    Last,
    /// All, one after the other.
    All,
}

/// A dataset of the view.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its path.
    pub path: String,
    item: Arc<Item>,
    records: Option<u64>,
}

impl Field {
    /// The shape of a record.
    pub fn shape(&self) -> &[u64] {
        let skipped = usize::from(self.records.is_some());
        self.item.shape.get(skipped..).unwrap_or_default()
    }

    /// The type of its items.
    pub fn data_type(&self) -> DataType {
        self.item.of
    }

    /// The number of records, if it shows all as one dataset.
    pub fn records(&self) -> u64 {
        self.records.unwrap_or(1)
    }

    /// Whether VTK supports its type.
    pub fn is_number(&self) -> bool {
        match self.data_type().kind() {
            Kind::Signed | Kind::Unsigned => true,
            Kind::Float => self.data_type().item_bytes() >= 4,
            _ => false,
        }
    }

    /// Why VTK cannot read it as this many rows, if it cannot.
    pub fn cannot_be(&self, rows: u64) -> Option<Reason> {
        if !self.is_number() {
            return Some("items of a type that VTK does not support");
        }
        if self.shape().first() != Some(&rows) {
            return Some("a number of values that differs from the mesh's");
        }
        self.shape()[1..].contains(&0).then_some("values without components")
    }
}

/// Collects the groups for VTK.
pub struct Canvas<'a> {
    plan: &'a mut Plan,
    /// The paths of progressions, by stride and count.
    progressions: HashMap<(u64, u64), String>,
}

impl<'a> Canvas<'a> {
    /// For the datasets of a plan.
    pub fn new(plan: &'a mut Plan) -> Self {
        Self { plan, progressions: HashMap::new() }
    }

    /// A dataset, if it is shown.
    pub fn field(&self, path: &str) -> Option<Field> {
        let shown = &self.plan.datasets[number_of(&self.plan.datasets, path)?];
        Some(Field { path: path.to_owned(), item: shown.item.clone(), records: shown.records })
    }

    /// The paths of the datasets in the root group.
    pub fn in_root(&self) -> Vec<String> {
        let paths = self.plan.datasets.iter().map(|shown| &shown.path);
        paths.filter(|path| !path.contains('/')).map(|path| path.to_string()).collect()
    }

    /// The names of the dimensions of a record.
    pub fn dimensions(&self, field: &Field) -> Vec<Option<String>> {
        let mut names = field.item.dimensions.clone();
        names.resize(field.item.shape.len(), None);
        names.drain(..usize::from(field.records.is_some()).min(names.len()));
        names
    }

    /// Adds a name that VTK does not get, with the reason.
    pub fn hide(&mut self, path: &str, why: Reason) {
        self.plan.hidden.push((path.to_owned(), format!("not in {ROOT}: {why}")));
    }

    /// Adds a group within the group that VTK reads.
    pub fn group(&mut self, name: &str, attributes: Attributes) {
        let path = inner(name);
        self.plan.add_groups(&path);
        self.plan.groups.insert(path, attributes);
    }

    /// Adds the group that VTK reads.
    pub fn begin(&mut self, kind: &str, version: [i64; 2], mut attributes: Attributes) {
        attributes.insert(0, ("Type".to_owned(), Value::FixedText(kind.to_owned())));
        attributes.insert(0, integers("Version", &version));
        self.group("", attributes);
    }

    /// Adds the group of time steps, with the times.
    pub fn steps(&mut self, count: u64, times: Option<&str>) {
        let number =
            Value::Items { data_type: DataType::Int64, shape: None, bytes: count.to_le_bytes().to_vec() };
        self.group("Steps", vec![("NSteps".to_owned(), number)]);
        match times {
            Some(path) => self.link("Steps/Values", path),
            None => self.progression("Steps/Values", 1, &[count]),
        }
    }

    /// Adds an array of these bytes.
    pub fn bytes(&mut self, name: &str, data_type: DataType, shape: &[u64], bytes: Vec<u8>) {
        self.put(name, data_type, shape, Source::Bytes(bytes));
    }

    /// Adds an array of equal `int64` numbers.
    pub fn constant(&mut self, name: &str, number: u64, shape: &[u64]) {
        let item = if number == 0 { Vec::new() } else { number.to_le_bytes().to_vec() };
        self.put(name, DataType::Int64, shape, Source::Constant(item));
    }

    /// Adds an array of 0, `stride`, twice `stride`, and so on.
    pub fn progression(&mut self, name: &str, stride: u64, shape: &[u64]) {
        let count = shape.iter().product();
        if stride == 0 {
            return self.constant(name, 0, shape);
        }
        match self.progressions.get(&(stride, count)) {
            Some(path) if shape.len() == 1 => {
                let path = path.clone();
                self.link(name, &path);
            }
            _ => {
                self.put(name, DataType::Int64, shape, Source::Progression(stride));
                if shape.len() == 1 {
                    self.progressions.insert((stride, count), inner(name));
                }
            }
        }
    }

    /// Adds an array of boxes of other datasets.
    pub fn boxes(&mut self, name: &str, data_type: DataType, shape: &[u64], boxes: Vec<Mapping>) {
        // h5dump reports an empty list of boxes as an error.
        let source = if boxes.is_empty() { Source::Constant(Vec::new()) } else { Source::Boxes(boxes) };
        self.put(name, data_type, shape, source);
    }

    /// Adds rows of a dataset in VTK's form: with one dimension for components, or none for a single one.
    pub fn rows(&mut self, name: &str, field: &Field, which: Which, rows: Range<u64>) -> Result<()> {
        let components =
            field.shape().iter().skip(1).try_fold(1, |all, &n| product(all, n)).unwrap_or(u64::MAX);
        self.rows_of_width(name, field, which, rows, (components > 1).then_some(components))
    }

    /// Like [`Self::rows`], with this many components; missing ones are 0.
    pub fn rows_of_width(
        &mut self,
        name: &str,
        field: &Field,
        which: Which,
        rows: Range<u64>,
        width: Option<u64>,
    ) -> Result<()> {
        let own = field.shape();
        let components: u64 = own.iter().skip(1).product();
        let mut from = Slab::all(own);
        let count = rows.end - rows.start;
        (from.start[0], from.count[0]) = (rows.start, count);
        let mut steps = 1;
        if let Some(records) = field.records {
            steps = if which == Which::All { records } else { 1 };
            from.start.insert(0, records - steps);
            from.count.insert(0, steps);
        }
        let all = steps.saturating_mul(count);
        let shape: Vec<u64> = [all].into_iter().chain(width).collect();
        if field.item.shape == shape && from.count == shape {
            self.link(name, &field.path);
            return Ok(());
        }
        let mut to = Slab::all(&shape);
        if let Some(last) = to.count.get_mut(1) {
            *last = components;
        }
        let boxes = if all == 0 { Vec::new() } else { vec![Mapping { path: field.path.clone(), from, to }] };
        self.boxes(name, field.data_type(), &shape, boxes);
        Ok(())
    }

    /// Adds a whole record, or all along a first dimension, with this shape.
    pub fn whole(&mut self, name: &str, field: &Field, which: Which, shape: &[u64]) {
        let mut from = Slab::all(&field.item.shape);
        if let (Some(records), Which::Last) = (field.records, which) {
            (from.start[0], from.count[0]) = (records - 1, 1);
        }
        if field.item.shape == shape && from.count == shape {
            return self.link(name, &field.path);
        }
        let mapping = Mapping { path: field.path.clone(), from, to: Slab::all(shape) };
        self.boxes(name, field.data_type(), shape, vec![mapping]);
    }

    /// A name for a field in a group for VTK, which has no groups of fields; `None` if another field has it.
    pub fn field_name(&self, group: &str, field: &str) -> Option<String> {
        let name = format!("{group}/{}", field.replace(['/', '.'], "_"));
        let path = inner(&name);
        let is_taken = self.plan.arrays.contains_key(&path) || self.plan.links.contains_key(&path);
        (!is_taken).then_some(name)
    }

    fn put(&mut self, name: &str, data_type: DataType, shape: &[u64], source: Source) {
        let made = AuxiliaryDataset { data_type, shape: shape.to_vec(), source, attributes: Vec::new() };
        let path = inner(name);
        self.plan.add_groups(&path);
        self.plan.arrays.insert(path, made);
    }

    fn link(&mut self, name: &str, path: &str) {
        if let Some(number) = number_of(&self.plan.datasets, path)
            && self.has_scales_elsewhere(number)
        {
            let item = self.plan.datasets[number].item.clone();
            let (from, to) = (Slab::all(&item.shape), Slab::all(&item.shape));
            let boxes = if item.shape.contains(&0) {
                Vec::new()
            } else {
                vec![Mapping { path: path.to_owned(), from, to }]
            };
            return self.boxes(name, item.of, &item.shape, boxes);
        }
        let own = inner(name);
        self.plan.add_groups(&own);
        self.plan.links.insert(own, path.to_owned());
    }

    /// Whether a dataset is a dimension scale, or has one outside the root group: h5netcdf looks for scales
    /// by name in the groups that contain the link.
    fn has_scales_elsewhere(&self, number: usize) -> bool {
        let Scales { bare, of, datasets } = &self.plan.scales;
        let path = |scale: &Scale| match scale {
            Scale::Dataset(n) => &*self.plan.datasets[*n].path,
            Scale::Bare(n) => &*bare[*n].path,
        };
        datasets.contains(&number) || of[number].iter().any(|scale| path(scale).contains('/'))
    }
}

/// A path within the group that VTK reads.
pub fn inner(name: &str) -> String {
    if name.is_empty() { ROOT.to_owned() } else { format!("{ROOT}/{name}") }
}

/// An attribute of integers.
pub fn integers(name: &str, numbers: &[i64]) -> (String, Value) {
    let bytes = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    let shape = Some(vec![numbers.len() as u64]);
    (name.to_owned(), Value::Items { data_type: DataType::Int64, shape, bytes })
}

/// An attribute of numbers.
pub fn reals(name: &str, numbers: &[f64]) -> (String, Value) {
    let bytes = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    let shape = Some(vec![numbers.len() as u64]);
    (name.to_owned(), Value::Items { data_type: DataType::Float64, shape, bytes })
}
