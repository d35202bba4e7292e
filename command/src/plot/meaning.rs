//! What the numbers of a dataset mean: as doubles, by the CF conventions.

use crate::datasets::values::number;
use crate::output::visible;
use scda::internals::to_usize;
use scda::{DataType, Dataset, Kind};
use serde_json::{Map, Value};

/// How items of a dataset become numbers that are drawn.
pub struct Meaning {
    data_type: DataType,
    item_bytes: usize,
    scale: f64,
    offset: f64,
    /// Numbers, as they are stored, that stand for none.
    missing: Vec<f64>,
    pub units: Option<String>,
    pub long_name: Option<String>,
}

/// The attributes of a dataset or group, which were checked.
pub fn attributes(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}

/// A number of an attribute, also of one that is a string, as of the largest numbers and of those that are none.
pub fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Array(all) if all.len() == 1 => number_of(&all[0]),
        Value::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        other => other.as_f64(),
    }
}

/// Whether items of this kind have no place on an axis.
fn is_no_number(kind: Kind) -> bool {
    matches!(kind, Kind::Raw | Kind::Time | Kind::Text | Kind::Struct | Kind::Variable)
}

impl Meaning {
    /// That of a dataset; `None` if its items are bytes without a meaning.
    pub fn new(dataset: &Dataset) -> Option<Self> {
        let data_type = dataset.data_type;
        if is_no_number(data_type.kind()) || dataset.unsupported.is_some() {
            return None;
        }
        let attributes = attributes(&dataset.attributes);
        let get = |key: &str| attributes.get(key).and_then(number_of);
        let text = |key: &str| attributes.get(key).and_then(Value::as_str).map(visible);
        let mut missing: Vec<f64> = ["_FillValue", "missing_value"].into_iter().filter_map(get).collect();
        let is_float = matches!(data_type, DataType::Float16 | DataType::Float32 | DataType::Float64);
        let item_bytes = to_usize(data_type.item_bytes());
        if is_float && dataset.fill_value.len() == item_bytes {
            let mut item = dataset.fill_value.clone();
            crate::datasets::to_little(data_type, &mut item);
            missing.extend(Some(number(data_type, &item).value()).filter(|&fill| fill != 0.0));
        }
        if data_type == DataType::Float32 {
            // A text has more digits than the number in the file.
            #[allow(clippy::cast_possible_truncation)]
            missing.iter_mut().for_each(|number| *number = f64::from(*number as f32));
        }
        let (scale, offset) = (get("scale_factor").unwrap_or(1.0), get("add_offset").unwrap_or(0.0));
        let (units, long_name) = (text("units"), text("long_name").or_else(|| text("standard_name")));
        Some(Self { data_type, item_bytes, scale, offset, missing, units, long_name })
    }

    /// Appends the numbers of items in memory: of complex ones the absolute value.
    pub fn append(&self, data: &[u8], numbers: &mut Vec<f64>) {
        let from = numbers.len();
        numbers.reserve(data.len() / self.item_bytes.max(1));
        #[allow(clippy::cast_precision_loss)] // the nearest one is meant
        match self.data_type {
            DataType::Float64 => {
                numbers.extend(data.as_chunks().0.iter().map(|item| f64::from_ne_bytes(*item)));
            }
            DataType::Float32 => {
                numbers.extend(data.as_chunks().0.iter().map(|item| f64::from(f32::from_ne_bytes(*item))));
            }
            DataType::Int32 => {
                numbers.extend(data.as_chunks().0.iter().map(|item| f64::from(i32::from_ne_bytes(*item))));
            }
            DataType::Uint8 | DataType::Bool => numbers.extend(data.iter().map(|&item| f64::from(item))),
            DataType::Complex64 | DataType::Complex128 => {
                numbers.extend(data.chunks_exact(self.item_bytes).map(|item| {
                    let (re, im) = item.split_at(self.item_bytes / 2);
                    number(self.data_type, re).value().hypot(number(self.data_type, im).value())
                }));
            }
            other => {
                numbers.extend(data.chunks_exact(self.item_bytes).map(|item| number(other, item).value()));
            }
        }
        let new = &mut numbers[from..];
        for missing in &self.missing {
            new.iter_mut().filter(|number| *number == missing).for_each(|number| *number = f64::NAN);
        }
        #[allow(clippy::float_cmp)] // as it was set
        if (self.scale, self.offset) != (1.0, 0.0) {
            new.iter_mut().for_each(|number| *number = *number * self.scale + self.offset);
        }
    }

    /// What an axis or a colour bar of these numbers is called.
    pub fn label(&self, name: &str) -> String {
        let what = self.long_name.clone().unwrap_or_else(|| visible(name));
        let what = if matches!(self.data_type, DataType::Complex64 | DataType::Complex128) {
            format!("|{what}|")
        } else {
            what
        };
        with_units(&what, self.units.as_deref())
    }
}

/// A name with its units.
pub fn with_units(name: &str, units: Option<&str>) -> String {
    match units {
        Some(units) if !units.is_empty() && units != "1" => format!("{name} [{units}]"),
        _ => name.to_owned(),
    }
}
