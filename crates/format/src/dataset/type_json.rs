//! Types of items in metadata, as zarr-python writes them.

use super::json::value;
use super::{DataType, Kind, Member, Struct, TimeUnit};
use scda_base::error::Result;
use serde_json::{Map, Value, json};

/// The JSON of a type in the metadata: a name, or an object with its keys in a fixed order.
pub fn to_json(data_type: DataType) -> String {
    let with = |name: &str, configuration: String| {
        format!(r#"{{"name":"{name}","configuration":{{{configuration}}}}}"#)
    };
    let time = |unit: TimeUnit| format!(r#""unit":"{}","scale_factor":{}"#, unit.name(), unit.scale());
    let length = || format!(r#""length_bytes":{}"#, data_type.item_bytes());
    match data_type {
        DataType::Datetime(unit) => with("numpy.datetime64", time(unit)),
        DataType::Timedelta(unit) => with("numpy.timedelta64", time(unit)),
        DataType::Text(_) => with("fixed_length_utf32", length()),
        DataType::Bytes(_) => with("null_terminated_bytes", length()),
        DataType::Struct(all) => {
            let field = |member: &Member| format!("[{},{}]", json!(member.name), to_json(member.data_type));
            let fields: Vec<String> = all.members().iter().map(field).collect();
            with("structured", format!(r#""fields":[{}]"#, fields.join(",")))
        }
        other => json!(other.to_string()).to_string(),
    }
}

/// The type as text: its name, or for a struct the JSON of the metadata.
#[must_use]
pub fn type_text(data_type: DataType) -> String {
    if data_type.kind() == Kind::Struct { to_json(data_type) } else { data_type.to_string() }
}

/// The type that a text of [`type_text`] stands for; `None` if there is no such type. A struct may have gaps,
/// as in memory: then each field also has its offset, after its type, and `length_bytes` stands beside the
/// fields.
///
/// # Errors
/// `Memory`; `Argument` for a struct that cannot be.
pub fn type_of_text(text: &str) -> Result<Option<DataType>> {
    match value(text) {
        Some(value @ Value::Object(_)) => of_json(&value),
        _ => Ok(DataType::from_name(text)),
    }
}

/// The type that a value of the metadata stands for; `None` if this library has no such type.
///
/// # Errors
/// `Memory`; `Argument` for a struct that cannot be.
pub fn of_metadata(value: &Value) -> Result<Option<DataType>> {
    let found = of_json(value)?;
    let is_packed = found.map_or(Ok(true), |found| Ok(found.in_file()? == found));
    Ok(if is_packed? { found } else { None })
}

/// The type that a value stands for. A struct may have gaps.
fn of_json(value: &Value) -> Result<Option<DataType>> {
    let (name, configuration) = match value {
        Value::String(name) => (name.as_str(), None),
        Value::Object(object) => match (object.get("name"), object.get("configuration")) {
            (Some(Value::String(name)), None) => (name.as_str(), None),
            (Some(Value::String(name)), Some(Value::Object(all))) => (name.as_str(), Some(all)),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let get = |key: &str| configuration?.get(key);
    let length = || u32::try_from(get("length_bytes")?.as_u64()?).ok();
    let unit = || {
        let scale = get("scale_factor").map_or(Some(1), Value::as_u64)?;
        TimeUnit::new(get("unit")?.as_str()?, scale.try_into().ok()?)
    };
    let found = match name {
        // The name in zarr-python.
        "raw_bytes" => length().map(DataType::Raw),
        "numpy.datetime64" => unit().map(DataType::Datetime),
        "numpy.timedelta64" => unit().map(DataType::Timedelta),
        "fixed_length_utf32" => {
            length().filter(|bytes| bytes % 4 == 0).map(|bytes| DataType::Text(bytes / 4))
        }
        "null_terminated_bytes" => length().map(DataType::Bytes),
        "structured" | "struct" => {
            let item_bytes = get("length_bytes").and_then(Value::as_u64);
            return get("fields").map_or(Ok(None), |fields| struct_of(fields, item_bytes));
        }
        // The name in the extensions of Zarr.
        "bytes" => Some(DataType::VariableBytes).filter(|_| configuration.is_none_or(Map::is_empty)),
        // The metadata use this library's names only for types of fixed size and raw bytes.
        name if name.contains('[') => None,
        name => DataType::from_name(name).filter(|_| configuration.is_none_or(Map::is_empty)),
    };
    Ok(found.filter(|data_type| data_type.is_valid()))
}

/// The struct with these members, each a list of name and type or an object with `name` and `data_type`. It
/// may have gaps if `item_bytes` is given.
fn struct_of(fields: &Value, item_bytes: Option<u64>) -> Result<Option<DataType>> {
    let Value::Array(fields) = fields else { return Ok(None) };
    let (mut members, mut end) = (Vec::new(), 0);
    for field in fields {
        let (name, value, offset) = match field {
            Value::Array(pair) => match &**pair {
                [Value::String(name), value] if item_bytes.is_none() => (name, value, end),
                [Value::String(name), value, Value::Number(offset)] if item_bytes.is_some() => {
                    (name, value, offset.as_u64().unwrap_or(u64::MAX))
                }
                _ => return Ok(None),
            },
            Value::Object(object) => match (object.get("name"), object.get("data_type")) {
                (Some(Value::String(name)), Some(value)) => (name, value, end),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let Some(data_type) = of_json(value)? else { return Ok(None) };
        end = offset.saturating_add(data_type.item_bytes());
        members.push(Member { name: name.clone(), data_type, offset });
    }
    Ok(Some(DataType::Struct(Struct::new(members, item_bytes.unwrap_or(end))?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(data_type: DataType) -> String {
        let text = to_json(data_type);
        let found = of_json(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(found, Some(data_type), "{text}");
        text
    }

    #[test]
    fn types_as_zarr_python_writes_them() {
        assert_eq!(there_and_back(DataType::Float32), r#""float32""#);
        assert_eq!(there_and_back(DataType::Raw(3)), r#""r24""#);
        assert_eq!(there_and_back(DataType::String), r#""string""#);
        assert_eq!(there_and_back(DataType::VariableBytes), r#""variable_length_bytes""#);
        assert_eq!(of_json(&json!("bytes")).unwrap(), Some(DataType::VariableBytes));
        let unit = TimeUnit::new("us", 10).unwrap();
        assert_eq!(
            there_and_back(DataType::Timedelta(unit)),
            r#"{"name":"numpy.timedelta64","configuration":{"unit":"us","scale_factor":10}}"#
        );
        assert_eq!(
            there_and_back(DataType::Text(3)),
            r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":12}}"#
        );
        let inner =
            DataType::Struct(Struct::packed([("a", DataType::Int32), ("b", DataType::Bytes(2))]).unwrap());
        let outer = Struct::packed([("i", DataType::Int16), ("s \"é", inner)]).unwrap();
        assert_eq!(
            there_and_back(DataType::Struct(outer)),
            concat!(
                r#"{"name":"structured","configuration":{"fields":[["i","int16"],["s \"é",{"name":"structured","#,
                r#""configuration":{"fields":[["a","int32"],["b",{"name":"null_terminated_bytes","configuration":{"length_bytes":2}}]]}}]]}}"#
            )
        );
        let of_spec =
            json!({"name": "struct", "configuration": {"fields": [{"name": "x", "data_type": "float64"}]}});
        let x = Struct::packed([("x", DataType::Float64)]).unwrap();
        assert_eq!(of_json(&of_spec).unwrap(), Some(DataType::Struct(x)));
    }

    #[test]
    fn other_types_are_none() {
        for value in [
            json!("int128"),
            json!("text[3]"),
            json!({"name": "string", "configuration": {"x": 1}}),
            json!({"name": "numpy.datetime64", "configuration": {"unit": "parsec", "scale_factor": 1}}),
            json!({"name": "fixed_length_utf32", "configuration": {"length_bytes": 6}}),
            json!({"name": "null_terminated_bytes", "configuration": {"length_bytes": 0}}),
            json!({"name": "structured", "configuration": {"fields": [["x", "int128"]]}}),
            json!({"name": "structured", "configuration": {"fields": [["x"]]}}),
            json!({"name": "structured", "configuration": {"fields": "x"}}),
            json!({"name": "structured", "configuration": {"fields": ["x"]}}),
            json!({"name": "structured", "configuration": {"fields": [{"name": "x"}]}}),
            json!({"name": "structured", "configuration": {"fields": [["x", "int8", 0]]}}),
            json!({"name": "structured", "configuration": {"fields": [["x", "int8"]], "length_bytes": 1}}),
            json!({"name": "structured"}),
            json!({"name": "structured", "configuration": []}),
            json!({"name": 3}),
            json!(["float64"]),
        ] {
            assert_eq!(of_json(&value).unwrap(), None, "{value}");
        }
        let variable = json!({"name": "structured", "configuration": {"fields": [["x", "string"]]}});
        of_json(&variable).unwrap_err();
        let twice =
            json!({"name": "structured", "configuration": {"fields": [["x", "int8"], ["x", "int8"]]}});
        of_json(&twice).unwrap_err();
        of_json(&json!({"name": "structured", "configuration": {"fields": []}})).unwrap_err();
    }

    #[test]
    fn types_as_text_have_gaps_only_in_memory() {
        let member = |name: &str, data_type, offset| Member { name: name.into(), data_type, offset };
        let members = [member("a", DataType::Int8, 0), member("b", DataType::Text(1), 4)];
        let with_gap = DataType::Struct(Struct::new(members, 12).unwrap());
        let text = r#"{"name":"structured","configuration":{"fields":[["a","int8",0],["b","text",4]],"length_bytes":12}}"#;
        let text = text.replace(r#""text""#, &to_json(DataType::Text(1)));
        assert_eq!(type_of_text(&text).unwrap(), Some(with_gap));
        assert_eq!(of_metadata(&serde_json::from_str(&text).unwrap()).unwrap(), None);
        let packed = with_gap.in_file().unwrap();
        assert_eq!(packed.item_bytes(), 5);
        for data_type in [packed, DataType::Text(2), DataType::Bytes(3), DataType::Float64, DataType::String]
        {
            assert_eq!(type_of_text(&type_text(data_type)).unwrap(), Some(data_type));
        }
        let negative = text.replace(",4]", ",-4]");
        assert!(type_of_text(&negative).unwrap_err().to_string().contains("expected it within 12 bytes"));
        assert_eq!((type_of_text("[1]").unwrap(), type_of_text("float65").unwrap()), (None, None));
    }
}
