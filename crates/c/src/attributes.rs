//! Single attributes: a number, a text, a bool, or a list of these, as C holds them in memory.

use super::arguments::Arguments;
use super::context::{Context, on_writer, scda_fcontext_t, with};
use super::dataset::json;
use super::memory::{Out, Room, Values};
use super::pointers::Text;
use super::read_datasets::SCDA_LAST;
use super::types::SCDA_TYPE_STRING;
use super::{Outcome, guard};
use scda::Writer;
use scda_base::error::{Error, Result};
use scda_base::floats::in_default;
use scda_base::memory::reserve;
use scda_base::numbers::to_usize;
use scda_codec::chunk::swap_items;
use scda_format::dataset::json::{DeclaredTypes, common_type, members, value};
use scda_format::dataset::{DataType, Kind, additions, fill, metadata, named_group};
use serde_json::Value;
use std::ffi::{c_char, c_int, c_void};

/// Reads one attribute of a dataset or group: a number, a text, a bool, or a list of these. To read all of
/// them at once, use the JSON text that `scda_ffind_dataset` and `scda_ffind_group` return, with
/// `scda_get_attribute`.
///
/// If there is no such attribute, dataset or group, `*count` becomes 0 and `values` are not changed: set them
/// to the default before.
///
/// Collective; `values` may differ between the ranks. All ranks receive the same values.
///
/// @param [in] f          The file, open for reading. Its position does not change.
/// @param [in] name       The name of the dataset, a C string; or the path of a group, such as "flow", with a
///                        slash at its end if a dataset also has this name; or "/" for the whole file.
/// @param [in] record     Which of the datasets of this name, as for `scda_ffind_dataset`: `SCDA_LAST` is the
///                        last. Ignored for a group.
/// @param [in] key        The name of the attribute, a C string.
/// @param [in] type       As for `scda_get_attribute`.
/// @param [out] values    As for `scda_get_attribute`.
/// @param [in,out] count  As for `scda_get_attribute`.
/// @param [out] err       The error code: 0 also if there is no such attribute.
/// @return                `f`, or NULL on error.
/// Errors: those of `scda_get_attribute`, `scda_ffind_dataset` and `scda_ffind_group`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fread_attribute(
    f: *mut scda_fcontext_t,
    name: Text<'_>,
    record: i64,
    key: Text<'_>,
    r#type: c_int,
    values: Room<'_, c_void>,
    count: Option<&mut u64>,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |context: &mut Context| {
        let reader = context.reader()?;
        let name = reader.require(name.utf8("name of a dataset or path of a group"))?;
        let dataset = match named_group(name) {
            Some(_) => None,
            None => reader.dataset_record(name, record)?.map(|dataset| dataset.attributes.clone()),
        };
        let attributes = match dataset {
            // A name without a slash refers to a group only if no dataset has it, in any record.
            None if named_group(name).is_some() || reader.dataset_record(name, SCDA_LAST)?.is_none() => {
                reader.group(name)?.map(|group| group.attributes)
            }
            found => found,
        };
        let attributes = attributes.as_deref().unwrap_or("{}");
        let read = get(attributes, key, r#type, values, count).map_err(|error| error.of(name));
        reader.require(read)
    };
    with(f, err, body)
}

/// Sets one attribute of an existing dataset or group to a number, a text, a bool, or a list of these. Other
/// attributes do not change. `scda_fset_attributes` sets several at once, which takes less space in the file,
/// and can remove some.
///
/// Collective. All ranks pass the same arguments and values.
///
/// @param [in] f       The file, open for writing.
/// @param [in] name    As for `scda_fset_attributes`.
/// @param [in] record  As for `scda_fset_attributes`.
/// @param [in] key     The name of the attribute, a C string in UTF-8.
/// @param [in] type    As for `scda_set_attribute`.
/// @param [in] values  As for `scda_set_attribute`.
/// @param [in] count   As for `scda_set_attribute`.
/// @param [out] err    The error code.
/// @return             `f`, or NULL on error.
/// Errors: those of `scda_set_attribute` and `scda_fset_attributes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_fset_attribute(
    f: *mut scda_fcontext_t,
    name: Text<'_>,
    record: i64,
    key: Text<'_>,
    r#type: c_int,
    values: Values<'_, c_void>,
    count: u64,
    err: Out<'_, c_int>,
) -> *mut scda_fcontext_t {
    let body = |writer: &mut Writer| {
        let name = writer.require(name.utf8("name of a dataset or path of a group"))?;
        let change = writer.require(change(key, r#type, values, count))?;
        writer.set_attributes(name, record, &change)
    };
    on_writer(f, err, body)
}

/// Reads one attribute from a JSON object, such as the `attributes` of a dataset that `scda_ffind_dataset` has found: a
/// number, a text, a bool, or a list of these.
///
/// Not collective.
///
/// @param [in] attributes  The JSON object, a C string. NULL or "": an empty one.
/// @param [in] key         The name of the attribute, a C string.
/// @param [in] type        The type of `values`: integers or floating-point numbers of any size,
///                         `SCDA_TYPE_BOOL`, or `SCDA_TYPE_STRING` for a text.
/// @param [out] values     Receives the value, or all values of a list. For `SCDA_TYPE_STRING` they are
///                         characters: each text is followed by a NUL. May be NULL to set only `*count`.
/// @param [in,out] count   In: the number of values that fit, or of characters for `SCDA_TYPE_STRING`. Out:
///                         the number of values of the attribute, or of characters with the NULs; 0 if there
///                         is no such attribute, or for an empty list; `values` are then not written. Must
///                         not be NULL.
/// @param [out] err        The error code: 0 also if there is no such attribute.
/// @return                 0, or -1 on error.
/// Errors: `SCDA_ERR_ARG` also if `values` are too small, and for an attribute that does not match `type`,
/// such as a number with a fraction for an integer type; `SCDA_ERR_RANGE` for a number that does not fit;
/// `SCDA_ERR_FORMAT` for text that is not a JSON object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_get_attribute(
    attributes: Text<'_>,
    key: Text<'_>,
    r#type: c_int,
    values: Room<'_, c_void>,
    count: Option<&mut u64>,
    err: Out<'_, c_int>,
) -> c_int {
    let body = || {
        get(object(&attributes)?, key, r#type, values, count)?;
        Ok((0, Outcome::Success))
    };
    guard(err, -1, body)
}

/// Lists the attributes of a JSON object, such as the `attributes` of a dataset that `scda_ffind_dataset` has
/// found: their names and types. `scda_get_attribute` then reads each. With NULL for `keys` and `types`, only
/// returns how much room they need.
///
/// Not collective.
///
/// @param [in] attributes  The JSON object, a C string. NULL or "": an empty one.
/// @param [out] keys       Receives the names in the order of the text, each followed by a NUL. A NUL in a name becomes
///                         "\u0000". May be NULL.
/// @param [in,out] bytes   In: the number of characters that fit in `keys`. Out: that of all names with their
///                         NULs. Must not be NULL.
/// @param [out] types      Receives for each attribute the type by which `scda_get_attribute` reads it:
///                         `SCDA_TYPE_BOOL`, `SCDA_TYPE_INT64`, `SCDA_TYPE_UINT64` for integers that are
///                         larger, `SCDA_TYPE_FLOAT64` for other numbers, also NaN and infinities, and for an
///                         empty list, or `SCDA_TYPE_STRING`; 0 for anything else, such as an object. May be
///                         NULL.
/// @param [in,out] number  In: the number of `types` that fit. Out: the number of attributes. Must not be NULL.
/// @param [out] err        The error code.
/// @return                 0, or -1 on error.
/// Errors: `SCDA_ERR_ARG` also if `keys` or `types` are too small; `SCDA_ERR_FORMAT` for text that is not a
/// JSON object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_list_attributes(
    attributes: Text<'_>,
    keys: Room<'_, c_char>,
    bytes: Option<&mut u64>,
    types: Room<'_, c_int>,
    number: Option<&mut u64>,
    err: Out<'_, c_int>,
) -> c_int {
    let body = || {
        let (Some(bytes), Some(number)) = (bytes, number) else {
            return Err(Error::argument("bytes or number is NULL"));
        };
        let all = members(object(&attributes)?.as_bytes()).map_err(|error| error.of("attributes"))?;
        let (mut names, mut codes) = (Vec::new(), Vec::new());
        reserve(&mut codes, all.len())?;
        let declared = DeclaredTypes::of(&all);
        for member in &all {
            // A NUL would end the name.
            let name = member.key.replace('\0', "\\u0000");
            reserve(&mut names, name.len() + 1)?;
            names.extend(name.bytes());
            names.push(0);
            let is_text = declared.get(&member.key).is_some_and(|name| name.starts_with("string"));
            codes.push(common_type(&values_of(member.text), is_text).map_or(0, DataType::code));
        }
        let rooms =
            (std::mem::replace(bytes, names.len() as u64), std::mem::replace(number, all.len() as u64));
        let room = |what: &str, found: u64, needed: usize| match found >= needed as u64 {
            true => Ok(()),
            false => {
                Err(Error::argument(format!("{what}: found room for {found}, expected room for {needed}")))
            }
        };
        if !keys.is_null() {
            room("keys", rooms.0, names.len())?;
            keys.put_text(names.strip_suffix(&[0]).unwrap_or_default(), names.len());
        }
        if !types.is_null() {
            room("types", rooms.1, codes.len())?;
            types.get(codes.len() as u64, "types")?.copy_from_slice(&codes);
        }
        Ok((0, Outcome::Success))
    };
    guard(err, -1, body)
}

/// Sets one attribute in a JSON object, for the `attributes` of a dataset or group to be written. Other
/// attributes do not change.
///
/// Not collective.
///
/// @param [in,out] attributes  The JSON object, a C string; "" is an empty one.
/// @param [in] size            The size of `attributes`, in bytes.
/// @param [in] key             The name of the attribute, a C string in UTF-8.
/// @param [in] type            The type of `values`: integers or floating-point numbers of any size,
///                             `SCDA_TYPE_BOOL`, or `SCDA_TYPE_STRING`.
/// @param [in] values          The value, or the values of a list. For `SCDA_TYPE_STRING`, C strings in
///                             UTF-8, each directly after the NUL of the previous one. May be NULL if there
///                             are none.
/// @param [in] count           1: a single value; otherwise the number of values in a list.
/// @param [out] err            The error code.
/// @return                     0, or -1 on error, in which case `attributes` have not changed.
/// Errors: `SCDA_ERR_ARG`, also if `attributes` are not a JSON object, if the result does not fit, and for
/// values that cannot be an attribute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_set_attribute(
    attributes: Room<'_, c_char>,
    size: usize,
    key: Text<'_>,
    r#type: c_int,
    values: Values<'_, c_void>,
    count: u64,
    err: Out<'_, c_int>,
) -> c_int {
    let body = || {
        let present = json(Text::in_room(&attributes))?;
        let present = if present.is_empty() { "{}".into() } else { metadata::attributes(&present)? };
        let text = additions::changed(&present, &change(key, r#type, values, count)?)?;
        if text.len() >= size {
            let words = format!("size: found {size}, expected at least {} for {text}", text.len() + 1);
            return Err(Error::argument(words));
        }
        attributes.put_text(text.as_bytes(), size);
        Ok((0, Outcome::Success))
    };
    guard(err, -1, body)
}

/// The type of values that an attribute can have.
fn type_of_values(code: c_int) -> Result<DataType> {
    let data_type = if code == SCDA_TYPE_STRING { Some(DataType::String) } else { DataType::from_code(code) };
    let kinds = [Kind::Bool, Kind::Signed, Kind::Unsigned, Kind::Float, Kind::Variable];
    data_type.filter(|data_type| kinds.contains(&data_type.kind())).ok_or_else(|| {
        let words = "expected integers, floating-point numbers, SCDA_TYPE_BOOL or SCDA_TYPE_STRING";
        Error::argument(format!("type of an attribute: found {code}, {words}"))
    })
}

/// The text of a JSON object. NULL and "" are an empty one.
pub(super) fn object<'a>(attributes: &'a Text<'_>) -> Result<&'a str> {
    match attributes.optional() {
        None => Ok("{}"),
        Some(_) => attributes.utf8("attributes").map(|text| if text.is_empty() { "{}" } else { text }),
    }
}

/// Copies the values of an attribute to C. A missing attribute has none.
fn get(
    attributes: &str,
    key: Text<'_>,
    code: c_int,
    room: Room<'_, c_void>,
    count: Option<&mut u64>,
) -> Result<()> {
    let (key, data_type) = (key.utf8("key")?, type_of_values(code)?);
    let count = count.ok_or_else(|| Error::argument("count is NULL"))?;
    let found = members(attributes.as_bytes()).map_err(|error| error.of("attributes"))?;
    let Some(member) = found.iter().find(|member| member.key == key) else {
        *count = 0;
        return Ok(());
    };
    let wrong = |kind: fn(String) -> Error, expected: &str| {
        const MOST: usize = 40;
        let mut found: String = member.text.chars().take(MOST).collect();
        if found.len() < member.text.len() {
            found.push_str("...");
        }
        kind(format!("attribute \"{key}\": found {found}, expected {expected}"))
    };
    let all = values_of(member.text);
    let mut bytes = Vec::new();
    for one in &all {
        let item = in_default(|| item(data_type, one));
        let item = item.ok_or_else(|| match (data_type.kind(), one) {
            (Kind::Signed | Kind::Unsigned, Value::Number(number))
                if number.as_f64().is_some_and(is_whole) =>
            {
                wrong(Error::range, &format!("what fits {data_type}"))
            }
            (Kind::Float, Value::Number(_)) => wrong(Error::range, &format!("what fits {data_type}")),
            _ => wrong(Error::argument, &format!("{data_type}")),
        })?;
        reserve(&mut bytes, item.len() + 1)?;
        bytes.extend(item);
        if data_type == DataType::String {
            bytes.push(0);
        }
    }
    // Texts are counted in characters.
    let each = if data_type == DataType::String { 1 } else { to_usize(data_type.item_bytes()) };
    let (has, there_is) = (bytes.len() / each, *count);
    *count = has as u64;
    if room.is_null() || has == 0 {
        return Ok(());
    }
    if has as u64 > there_is {
        let what =
            if data_type == DataType::String { "bytes of text with the NUL after each" } else { "values" };
        let words =
            format!("attribute \"{key}\": found {has} {what}, expected at most {there_is}, the room passed");
        return Err(Error::argument(words));
    }
    swap_on_big_endian(&mut bytes, data_type);
    room.bytes(bytes.len() as u64)?.copy_from_slice(&bytes);
    Ok(())
}

/// The values of a list, or the only value.
fn values_of(text: &str) -> Vec<Value> {
    match value(text) {
        Some(Value::Array(all)) => all,
        one => one.into_iter().collect(),
    }
}

fn is_whole(number: f64) -> bool {
    number.fract() == 0.0
}

/// A value as an item of this type, in little-endian order; of a text, only what precedes a NUL.
fn item(data_type: DataType, value: &Value) -> Option<Vec<u8>> {
    if let Value::String(text) = value
        && data_type == DataType::String
    {
        return Some(text.split('\0').next().unwrap_or_default().as_bytes().to_vec());
    }
    fill::of_json(data_type, value).or_else(|| {
        // 3.0 counts as the integer 3.
        let number = value.as_f64().filter(|&number| is_whole(number) && number.abs() < 9e15)?;
        #[allow(clippy::cast_possible_truncation)] // it is whole, and has few digits
        let whole = Value::from(number as i64);
        fill::of_json(data_type, &whole)
    })
}

/// Converts items between the machine's byte order and little-endian.
fn swap_on_big_endian(items: &mut [u8], data_type: DataType) {
    if cfg!(target_endian = "big") {
        swap_items(items, data_type);
    }
}

/// A number or bool in little-endian order as JSON. A number that JSON does not have becomes a string; all
/// NaNs become the same one.
fn json_of(data_type: DataType, item: &[u8]) -> Value {
    let is_nan = match item {
        [a, b, c, d] => f32::from_le_bytes([*a, *b, *c, *d]).is_nan(),
        [a, b, c, d, e, f, g, h] => f64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]).is_nan(),
        _ => false,
    };
    match data_type.kind() {
        Kind::Float if is_nan => "NaN".into(),
        _ => fill::to_json(data_type, item),
    }
}

/// The text of a JSON object with a single attribute.
fn change(key: Text<'_>, code: c_int, values: Values<'_, c_void>, count: u64) -> Result<String> {
    let (key, data_type) = (key.utf8("key")?, type_of_values(code)?);
    let mut all = Vec::new();
    if data_type == DataType::String {
        let mut at = values.pointer().cast::<c_char>();
        for _ in 0..count {
            // SAFETY: C passes this many C strings, one directly after the other, or NULL.
            let text = unsafe { Text::at(at) }.utf8("values")?;
            at = at.wrapping_add(text.len() + 1);
            all.push(Value::from(text));
        }
    } else {
        let each = data_type.item_bytes();
        let bytes =
            count.checked_mul(each).ok_or_else(|| Error::range("count: found more than memory can hold"))?;
        let mut bytes = values.bytes(bytes)?.to_vec();
        swap_on_big_endian(&mut bytes, data_type);
        all.extend(in_default(|| {
            bytes.chunks(to_usize(each)).map(|item| json_of(data_type, item)).collect::<Vec<_>>()
        }));
    }
    let value = if count == 1 { all.remove(0) } else { Value::from(all) };
    Ok(format!("{{{}:{value}}}", Value::from(key)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{SCDA_TYPE_FLOAT32, SCDA_TYPE_FLOAT64};

    #[test]
    fn numbers_have_the_fewest_digits() {
        let of = |bytes: &[u8], code| {
            // SAFETY: no type has more bytes.
            let values = unsafe { Values::at(bytes.as_ptr().cast()) };
            // SAFETY: a C string.
            change(unsafe { Text::at(c"a".as_ptr()) }, code, values, 1)
        };
        for (number, expected) in [
            (0.25, "0.25"),
            (-0.0, "-0.0"),
            (1e-310, "1e-310"),
            (-f64::NAN, "\"NaN\""),
            (f64::INFINITY, "\"Infinity\""),
        ] {
            let expected = format!("{{\"a\":{expected}}}");
            assert_eq!(of(&f64::to_ne_bytes(number), SCDA_TYPE_FLOAT64).unwrap(), expected);
        }
        assert_eq!(of(&0.5_f32.to_ne_bytes(), SCDA_TYPE_FLOAT32).unwrap(), "{\"a\":0.5}");
        of(&[0; 8], 0).unwrap_err();
    }
}
