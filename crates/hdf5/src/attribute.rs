//! Attributes: reading them from JSON, and writing them as messages.

use crate::buffer::ViewBuffer;
use crate::bytes::Bytes;
use crate::datatype::{self, data_type};
use crate::heap::{Heap, HeapObject, put_variable};
use crate::message::{Messages, attribute, kind};
use scda_base::error::Result;
use scda_format::dataset::{DataType, Kind, fill, json};
use serde_json::Value as Json;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text, in h5py's form.
    Text(String),
    /// A text of fixed length, as netCDF-4 and VTK require.
    FixedText(String),
    /// Texts.
    Texts(Vec<String>),
    /// One item or a list of items of a type, in little-endian order.
    Items {
        /// Their type.
        data_type: DataType,
        /// The number of items in each dimension; `None`: a single item.
        shape: Option<Vec<u64>>,
        /// Their bytes.
        bytes: Vec<u8>,
    },
    /// For each dimension, a list with a reference to the object at this address.
    References(Vec<u64>),
}

/// The names that netCDF-4 and HDF5's dimension scales use; attributes of a user with these names are not
/// shown.
const RESERVED: [&str; 8] = [
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_nc3_strict",
    "_NCProperties",
];
/// Attributes whose numbers have the type of the dataset's items.
const OF_ITEMS: [&str; 5] = ["_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"];
/// A longer list is shown as text, because an attribute's message is limited.
const MAX_LIST_BYTES: usize = 60_000;

impl Value {
    /// Converts JSON: a number, a truth value, a text, or a list of these; other JSON becomes a text. Unless
    /// `is_no_number` is set, the texts of NaN and infinities are numbers, alone or in a list of numbers.
    ///
    /// # Errors
    /// `Memory`.
    pub fn of_json(value: &Json, is_no_number: bool) -> Result<Self> {
        let (items, shape) = match value {
            Json::Array(items) => (&items[..], Some(vec![items.len() as u64])),
            one => (std::slice::from_ref(one), None),
        };
        let found = match json::common_type(items, is_no_number) {
            Some(DataType::String) => Self::texts(items, shape.is_some()),
            Some(data_type) => Self::of_type(items, data_type, shape),
            None => None,
        };
        Ok(found.unwrap_or_else(|| Self::Text(value.to_string())))
    }

    /// Texts without U+0000, which HDF5 would cut short.
    fn texts(items: &[Json], is_list: bool) -> Option<Self> {
        let mut texts = items.iter().filter_map(Json::as_str).map(str::to_owned);
        if !items.iter().all(is_text) {
            return None;
        }
        match is_list {
            false => texts.next().map(Self::Text),
            true => (items.len() * 16 <= MAX_LIST_BYTES).then(|| Self::Texts(texts.collect())),
        }
    }

    fn of_type(items: &[Json], data_type: DataType, shape: Option<Vec<u64>>) -> Option<Self> {
        let bytes: Option<Vec<Vec<u8>>> = items.iter().map(|item| fill::of_json(data_type, item)).collect();
        let is_number = |item: &Json| item.is_number() || item.is_boolean() || is_special(item);
        let bytes = bytes.filter(|_| items.iter().all(is_number))?.concat();
        (bytes.len() <= MAX_LIST_BYTES).then_some(Self::Items { data_type, shape, bytes })
    }

    /// The type, the shape and the data of an attribute.
    fn parts(&self, out: &mut ViewBuffer, heap: &mut Heap) -> Result<(Bytes, Option<Vec<u64>>, Bytes)> {
        let (mut of, mut data) = (Bytes::new(), Bytes::new());
        let mut text = |out: &mut ViewBuffer, data: &mut Bytes, text: &str| -> Result<()> {
            let object: Option<HeapObject> =
                if text.is_empty() { None } else { Some(heap.put(out, text.as_bytes())?) };
            put_variable(data, text.len(), object)
        };
        let shape = match self {
            Self::Text(words) => {
                datatype::heap_text(&mut of)?;
                text(out, &mut data, words)?;
                None
            }
            Self::FixedText(words) => {
                datatype::terminated_text(&mut of, words.len() as u64 + 1, !words.is_ascii())?;
                data.put(words.as_bytes())?;
                data.put(&[0])?;
                None
            }
            Self::Texts(all) => {
                datatype::heap_text(&mut of)?;
                all.iter().try_for_each(|words| text(out, &mut data, words))?;
                Some(vec![all.len() as u64])
            }
            Self::Items { data_type: items, shape, bytes } => {
                data_type(&mut of, *items, false)?;
                data.put(bytes)?;
                shape.clone()
            }
            Self::References(addresses) => {
                datatype::heap_references(&mut of)?;
                for address in addresses {
                    let object = heap.put(out, &address.to_le_bytes())?;
                    put_variable(&mut data, 1, Some(object))?;
                }
                Some(vec![addresses.len() as u64])
            }
        };
        Ok((of, shape, data))
    }
}

/// Whether a text is a floating-point number that JSON does not have.
fn is_special(value: &Json) -> bool {
    matches!(value.as_str(), Some("NaN" | "Infinity" | "-Infinity"))
}

fn is_text(value: &Json) -> bool {
    value.as_str().is_some_and(|text| !text.contains('\0'))
}

/// Appends an attribute to messages.
///
/// # Errors
/// `Memory`; `Range` if it is too long.
pub fn put(
    messages: &mut Messages,
    out: &mut ViewBuffer,
    heap: &mut Heap,
    name: &str,
    value: &Value,
) -> Result<()> {
    let (of, shape, data) = value.parts(out, heap)?;
    messages.add(kind::ATTRIBUTE, |message| {
        attribute(message, name, of.as_slice(), shape.as_deref(), data.as_slice())
    })
}

/// The attributes of a JSON object, in order. `items` is the type of a dataset's items.
///
/// # Errors
/// `Memory`; `Format` if the text is not a JSON object.
pub fn of_object(text: &str, items: Option<DataType>) -> Result<Vec<(String, Value)>> {
    /// The longest name of an attribute, so that its message also has room for a value.
    const MAX_NAME_BYTES: usize = 4096;
    let mut found = Vec::new();
    let members = json::members(text.as_bytes())?;
    let types = json::DeclaredTypes::of(&members);
    for member in members {
        let name = member.key;
        let is_no_number = types.get(&name) == Some("string");
        let is_name = !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains('\0');
        if !is_name || RESERVED.contains(&&*name) {
            continue;
        }
        let Some(value) = json::value(member.text) else { continue };
        let of_items = items.filter(|items| is_number(*items) && OF_ITEMS.contains(&&*name));
        let typed = of_items.and_then(|items| match &value {
            Json::Array(list) => Value::of_type(list, items, Some(vec![list.len() as u64])),
            one => Value::of_type(std::slice::from_ref(one), items, None),
        });
        let value = match typed {
            Some(value) => value,
            None => Value::of_json(&value, is_no_number)?,
        };
        found.push((name, value));
    }
    Ok(found)
}

fn is_number(of: DataType) -> bool {
    matches!(of.kind(), Kind::Signed | Kind::Unsigned | Kind::Float)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_json_does_not_have() {
        let text = r#"{"a": "NaN", "b": ["-Infinity", 1, 2.5], "c": "nan", "d": ["NaN", "x"], "e": "Infinity", "f": ["NaN", true],
            "scda_types": {"e": "string"}}"#;
        let found = of_object(text, None).unwrap();
        let floats = |value: &Value| match value {
            Value::Items { data_type: DataType::Float64, shape, bytes } => {
                let numbers = bytes.chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap()));
                Some((shape.clone(), numbers.collect::<Vec<_>>()))
            }
            _ => None,
        };
        let (shape, nan) = floats(&found[0].1).unwrap();
        assert!(shape.is_none() && nan.len() == 1 && nan[0].is_nan());
        assert_eq!(floats(&found[1].1).unwrap(), (Some(vec![3]), vec![f64::NEG_INFINITY, 1.0, 2.5]));
        let text = |text: &str| Value::Text(text.to_owned());
        assert_eq!(found[2].1, text("nan"));
        assert_eq!(found[3].1, Value::Texts(vec!["NaN".to_owned(), "x".to_owned()]));
        assert_eq!((&found[4].1, &found[5].1), (&text("Infinity"), &text("[\"NaN\",true]")));
    }
}
