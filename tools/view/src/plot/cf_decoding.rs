//! What the numbers of a dataset mean: as doubles, by the CF conventions.

use crate::datasets::values::number;
use crate::fail::{Fail, Result};
use crate::output::visible;
use scda::{DataType, Dataset, DatasetHandle, Kind, Reader, Struct};
use scda_base::numbers::to_usize;
use serde_json::{Map, Value};

/// The dataset of this name and record.
pub fn readable(reader: &mut Reader, name: &str, record: u64) -> Result<DatasetHandle> {
    let Some(dataset) = reader.dataset_record(name, i64::try_from(record).unwrap_or(i64::MAX))? else {
        return Err(Fail::Trouble(format!("{}: there is no dataset of this name", visible(name))));
    };
    match &dataset.unsupported {
        Some(why) => Err(Fail::Trouble(format!("{}: cannot be read: {}", visible(name), visible(why)))),
        None => Ok(dataset),
    }
}

/// What is drawn of complex numbers.
#[derive(Clone, Copy)]
enum ComplexPart {
    AbsoluteValue,
    Phase,
    Real,
    Imaginary,
}

/// By their names; the first one unless another is asked for.
const PARTS: [(&str, ComplexPart); 4] = [
    ("absolute", ComplexPart::AbsoluteValue),
    ("phase", ComplexPart::Phase),
    ("real", ComplexPart::Real),
    ("imaginary", ComplexPart::Imaginary),
];

impl ComplexPart {
    fn of(self, real: f64, imaginary: f64) -> f64 {
        match self {
            Self::AbsoluteValue => real.hypot(imaginary),
            Self::Phase => imaginary.atan2(real),
            Self::Real => real,
            Self::Imaginary => imaginary,
        }
    }

    fn label(self, what: &str) -> String {
        match self {
            Self::AbsoluteValue => format!("|{what}|"),
            Self::Phase => format!("arg({what})"),
            Self::Real => format!("Re({what})"),
            Self::Imaginary => format!("Im({what})"),
        }
    }
}

fn is_complex(data_type: DataType) -> bool {
    matches!(data_type, DataType::Complex64 | DataType::Complex128)
}

/// How items of a dataset become numbers that are drawn.
pub struct CfDecoding {
    data_type: DataType,
    item_bytes: usize,
    /// If they are complex.
    part: ComplexPart,
    /// Of structs: the bytes of each, and where the numbers of a member are in it.
    places: Option<(usize, Vec<usize>)>,
    /// The name of the member.
    member: Option<String>,
    scale: f64,
    offset: f64,
    /// Numbers, as they are stored, that stand for none.
    missing: Vec<f64>,
    units: Option<String>,
    long_name: Option<String>,
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
    matches!(kind, Kind::Raw | Kind::Text | Kind::Struct | Kind::Variable)
}

impl CfDecoding {
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
        Some(Self {
            data_type,
            item_bytes,
            part: ComplexPart::AbsoluteValue,
            places: None,
            member: None,
            scale,
            offset,
            missing,
            units,
            long_name,
        })
    }

    /// The members of structs that are numbers, or several of one type, and how many; of other datasets none.
    pub fn members(dataset: &Dataset) -> Vec<(String, usize)> {
        let DataType::Struct(all) = dataset.data_type else { return Vec::new() };
        let count = |data_type| Some(leaves(data_type)?.1.len());
        all.members()
            .iter()
            .filter_map(|member| Some((member.name.clone(), count(member.data_type)?)))
            .collect()
    }

    /// The names of what can be drawn of complex numbers; of others none.
    pub fn parts(dataset: &Dataset) -> Vec<&'static str> {
        PARTS.iter().filter(|_| is_complex(dataset.data_type)).map(|(name, _)| *name).collect()
    }

    /// That of a column, and which number of it is meant, if only one is: a number counts those in a row; of complex numbers, it is the name
    /// of a part; of structs, that of a member, or that and, after a dot, a number. Without a name, it is the first one that is no position.
    pub fn column(dataset: &Dataset, column: Option<&str>) -> Result<(Self, Option<usize>)> {
        let name = visible(&dataset.name);
        let trouble = |words: String| Err(Fail::Trouble(format!("{name}: {words}")));
        let number = |text: &str| text.parse::<usize>().ok();
        let DataType::Struct(all) = dataset.data_type else {
            let Some(mut meaning) = Self::new(dataset) else {
                return trouble(format!("found items of type {}, expected numbers", dataset.data_type));
            };
            let Some(text) = column else { return Ok((meaning, None)) };
            if let Some(at) = number(text) {
                return Ok((meaning, Some(at)));
            }
            let parts = Self::parts(dataset);
            let found = PARTS.into_iter().find(|(name, _)| *name == text && !parts.is_empty());
            let Some((_, part)) = found else {
                let others: String = parts.iter().map(|name| format!(" or {name}")).collect();
                return trouble(format!(
                    "--component: found \"{}\", expected a number{others}",
                    visible(text)
                ));
            };
            meaning.part = part;
            if matches!(part, ComplexPart::Phase) {
                (meaning.scale, meaning.offset, meaning.units) = (1.0, 0.0, Some("rad".to_owned()));
            }
            return Ok((meaning, None));
        };
        let members = Self::members(dataset);
        let is_there = |wanted: &str| members.iter().any(|(name, _)| name == wanted);
        let (member, at) = match column {
            None => match members.iter().find(|(name, _)| name != "position").or(members.first()) {
                Some((name, _)) => (name.as_str(), None),
                None => return trouble("the structs have no numbers".to_owned()),
            },
            Some(text) if is_there(text) => (text, None),
            Some(text) => match text.rsplit_once('.').and_then(|(name, at)| Some((name, number(at)?))) {
                Some((name, at)) if is_there(name) => (name, Some(at)),
                _ => {
                    let names: Vec<_> = members.iter().map(|(name, _)| visible(name)).collect();
                    return trouble(format!(
                        "--component: found \"{}\", expected one of {}",
                        visible(text),
                        names.join(", ")
                    ));
                }
            },
        };
        Ok((Self::of_member(dataset, all, member), at))
    }

    /// That of a member, which has numbers.
    fn of_member(dataset: &Dataset, all: Struct, name: &str) -> Self {
        let member = all.members().iter().find(|member| member.name == name);
        let (data_type, mut places) =
            member.and_then(|member| leaves(member.data_type)).unwrap_or((DataType::Uint8, Vec::new()));
        let offset = member.map_or(0, |member| to_usize(member.offset));
        places.iter_mut().for_each(|place| *place += offset);
        let units = attributes(&dataset.attributes)
            .get("units")
            .and_then(|units| units.get(name))
            .and_then(Value::as_str)
            .map(visible);
        Self {
            data_type,
            item_bytes: to_usize(data_type.item_bytes()),
            part: ComplexPart::AbsoluteValue,
            places: Some((to_usize(all.item_bytes()), places)),
            member: Some(visible(name)),
            scale: 1.0,
            offset: 0.0,
            missing: Vec::new(),
            units,
            long_name: None,
        }
    }

    /// Appends the numbers of items in memory.
    pub fn append(&self, data: &[u8], numbers: &mut Vec<f64>) {
        let Some((bytes, places)) = &self.places else { return self.append_plain(data, numbers) };
        let mut items = Vec::with_capacity(data.len() / bytes * places.len() * self.item_bytes);
        for item in data.chunks_exact(*bytes) {
            places.iter().for_each(|&place| items.extend_from_slice(&item[place..place + self.item_bytes]));
        }
        self.append_plain(&items, numbers);
    }

    fn append_plain(&self, data: &[u8], numbers: &mut Vec<f64>) {
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
            DataType::Datetime(unit) | DataType::Timedelta(unit) => {
                let scale = f64::from(unit.scale());
                let number = |item: &[u8; 8]| match i64::from_ne_bytes(*item) {
                    i64::MIN => f64::NAN,
                    count => count as f64 * scale,
                };
                numbers.extend(data.as_chunks().0.iter().map(number));
            }
            DataType::Uint8 | DataType::Bool => numbers.extend(data.iter().map(|&item| f64::from(item))),
            complex if is_complex(complex) => {
                numbers.extend(data.chunks_exact(self.item_bytes).map(|item| {
                    let (real, imaginary) = item.split_at(self.item_bytes / 2);
                    self.part.of(number(complex, real).value(), number(complex, imaginary).value())
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

    /// What a colour bar of what is made of these numbers is called: the end of the name, unless there is a long one.
    pub fn label_of(&self, name: &str, make: impl FnOnce(String) -> String) -> String {
        with_units(&make(self.what(name)), self.units.as_deref())
    }

    fn what(&self, name: &str) -> String {
        let what = self
            .long_name
            .clone()
            .or_else(|| self.member.clone())
            .unwrap_or_else(|| visible(name.rsplit('/').next().unwrap_or(name)));
        if is_complex(self.data_type) { self.part.label(&what) } else { what }
    }
}

/// The type of the numbers of a member, and where each of them is in it, if they have one type.
fn leaves(data_type: DataType) -> Option<(DataType, Vec<usize>)> {
    let DataType::Struct(all) = data_type else {
        return (!is_no_number(data_type.kind())).then(|| (data_type, vec![0]));
    };
    let mut found: Option<(DataType, Vec<usize>)> = None;
    for member in all.members() {
        let (of_member, places) = leaves(member.data_type)?;
        let (all, offsets) = found.get_or_insert((of_member, Vec::new()));
        if *all != of_member {
            return None;
        }
        offsets.extend(places.into_iter().map(|place| place + to_usize(member.offset)));
    }
    found
}

/// A name with its units.
pub fn with_units(name: &str, units: Option<&str>) -> String {
    match units {
        Some(units) if !units.is_empty() && units != "1" => format!("{name} [{units}]"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_complex_numbers_any_part_is_drawn() {
        let mut wave = Dataset::new("wave", DataType::Complex64, [2]);
        wave.attributes = r#"{"units": "V"}"#.to_owned();
        let data = [3.0, -4.0, 0.0, 2.0].map(f32::to_ne_bytes).concat();
        for (column, label, expected) in [
            (None, "|wave| [V]", [5.0, 2.0]),
            (Some("absolute"), "|wave| [V]", [5.0, 2.0]),
            (Some("phase"), "arg(wave) [rad]", [f64::atan2(-4.0, 3.0), std::f64::consts::FRAC_PI_2]),
            (Some("real"), "Re(wave) [V]", [3.0, 0.0]),
            (Some("imaginary"), "Im(wave) [V]", [-4.0, 2.0]),
        ] {
            let (meaning, _) = CfDecoding::column(&wave, column).ok().unwrap();
            let mut numbers = Vec::new();
            meaning.append(&data, &mut numbers);
            assert_eq!((meaning.label_of("wave", |what| what).as_str(), numbers), (label, expected.to_vec()));
        }
        let wrong = CfDecoding::column(&wave, Some("angle")).err().unwrap();
        let Fail::Trouble(words) = wrong else { panic!("expected words") };
        assert!(words.ends_with("expected a number or absolute or phase or real or imaginary"), "{words}");
        let real = Dataset::new("rho", DataType::Float64, [2]);
        assert!(CfDecoding::column(&real, Some("phase")).is_err());
    }
}
