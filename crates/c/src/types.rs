//! The types of items: their constants in C, and how a program describes them.

use super::memory::{Out, Values, put};
use super::pointers::Text;
use super::{Outcome, guard};
use scda_base::error::{Error, Result};
use scda_format::dataset::{DataType, Member, Struct, TimeUnit};
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int};
use std::ptr::null;

/// Items of 1 byte that is 0 or 1; writing another value is `SCDA_ERR_ARG`.
pub const SCDA_TYPE_BOOL: c_int = 1;
/// Signed integers of 8 bits: `int8_t`.
pub const SCDA_TYPE_INT8: c_int = 2;
/// Signed integers of 16 bits: `int16_t`.
pub const SCDA_TYPE_INT16: c_int = 3;
/// Signed integers of 32 bits: `int32_t`.
pub const SCDA_TYPE_INT32: c_int = 4;
/// Signed integers of 64 bits: `int64_t`.
pub const SCDA_TYPE_INT64: c_int = 5;
/// Unsigned integers of 8 bits: `uint8_t`.
pub const SCDA_TYPE_UINT8: c_int = 6;
/// Unsigned integers of 16 bits: `uint16_t`.
pub const SCDA_TYPE_UINT16: c_int = 7;
/// Unsigned integers of 32 bits: `uint32_t`.
pub const SCDA_TYPE_UINT32: c_int = 8;
/// Unsigned integers of 64 bits: `uint64_t`.
pub const SCDA_TYPE_UINT64: c_int = 9;
/// Floating-point numbers of 16 bits (IEEE 754 binary16).
pub const SCDA_TYPE_FLOAT16: c_int = 10;
/// Floating-point numbers of 32 bits: `float`.
pub const SCDA_TYPE_FLOAT32: c_int = 11;
/// Floating-point numbers of 64 bits: `double`.
pub const SCDA_TYPE_FLOAT64: c_int = 12;
/// Two numbers of type `float`, the real part first: `float complex`.
pub const SCDA_TYPE_COMPLEX64: c_int = 13;
/// Two numbers of type `double`, the real part first: `double complex`.
pub const SCDA_TYPE_COMPLEX128: c_int = 14;
/// Items of `item_bytes` bytes, 1 to 65536, without further meaning: their order never changes.
pub const SCDA_TYPE_RAW: c_int = 15;
/// Points in time: `int64_t` that count the `unit` of the dataset since the beginning of 1970; `INT64_MIN`
/// means none.
pub const SCDA_TYPE_DATETIME64: c_int = 16;
/// Time spans: `int64_t` that count the `unit` of the dataset; `INT64_MIN` means none.
pub const SCDA_TYPE_TIMEDELTA64: c_int = 17;
/// Texts in UTF-32 of at most `item_bytes` / 4 characters; shorter ones are padded with zeros.
pub const SCDA_TYPE_TEXT: c_int = 18;
/// Strings of at most `item_bytes` bytes, such as `char[8]`; shorter ones are padded with zeros.
pub const SCDA_TYPE_BYTES: c_int = 19;
/// Structs of `item_bytes` bytes in memory with the `members` of the dataset. In the file they have no gaps.
pub const SCDA_TYPE_STRUCT: c_int = 20;
/// Texts of any length, in UTF-8: written by `scda_fwrite_texts`, read by `scda_fread_texts_sizes`.
pub const SCDA_TYPE_STRING: c_int = 21;
/// Byte strings of any length, likewise.
pub const SCDA_TYPE_VARIABLE_BYTES: c_int = 22;

/// A member of a struct: `{ "mass", SCDA_TYPE_FLOAT64, 0, offsetof (particle_t, mass) }`. A list of members
/// ends with `{ NULL }`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct scda_member<'a> {
    /// Its name: a C string in UTF-8. NULL ends the list.
    pub name: Text<'a>,
    /// Its type: `SCDA_TYPE_FLOAT64`, ...
    pub r#type: c_int,
    /// 0 or 1: a single item; otherwise the number of items in an array.
    pub count: c_int,
    /// Its offset in the struct, in bytes.
    pub offset: u64,
    /// The size of an item in bytes. Required for `SCDA_TYPE_RAW`, `SCDA_TYPE_TEXT`, `SCDA_TYPE_BYTES` and
    /// `SCDA_TYPE_STRUCT`; for other types it may be 0.
    pub item_bytes: u64,
    /// The unit of `SCDA_TYPE_DATETIME64` and `SCDA_TYPE_TIMEDELTA64`, as for a dataset.
    pub unit: Text<'a>,
    /// The members of `SCDA_TYPE_STRUCT`, as for a dataset.
    pub members: Values<'a, scda_member<'a>>,
}

/// A member of a struct.
pub type scda_member_t<'a> = scda_member<'a>;

/// The name of an item type, as in docs/datasets.md: "float64", ...; and "raw bytes", "datetime64",
/// "timedelta64", "text", "bytes", "struct", "string" and "variable_length_bytes" for those that need further
/// parameters.
///
/// Not collective.
///
/// @param [in]  type        One of `SCDA_TYPE_FLOAT64`, ...
/// @param [out] item_bytes  The size of an item in bytes; 0 for types whose items may have different sizes,
///                          and for unknown types. NULL: not wanted.
/// @return                  A C string that is valid forever, or NULL for an unknown type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_type_name(r#type: c_int, item_bytes: Out<'_, u64>) -> *const c_char {
    let body = || {
        put(item_bytes, bytes_of_type(r#type));
        let name = DataType::c_name(r#type);
        Ok((name.map_or(null(), |name| name.as_ptr()), Outcome::Success))
    };
    guard(None, null(), body)
}

/// The size of an item of a type; 0 if it can vary.
pub(super) fn bytes_of_type(code: c_int) -> u64 {
    match code {
        SCDA_TYPE_DATETIME64 | SCDA_TYPE_TIMEDELTA64 => 8,
        other => DataType::from_code(other).map_or(0, DataType::item_bytes),
    }
}

/// C's description of a type: its number, and further parameters of some types.
#[derive(Clone, Copy)]
pub(super) struct CType<'a> {
    pub code: c_int,
    pub item_bytes: u64,
    pub unit: Text<'a>,
    pub members: Values<'a, scda_member<'a>>,
}

impl CType<'_> {
    /// The type of the items in memory.
    pub fn data_type(self) -> Result<DataType> {
        self.at_level(0)
    }

    fn at_level(self, level: usize) -> Result<DataType> {
        let Self { code, item_bytes, .. } = self;
        // Impossible sizes are refused together with the dataset.
        let bytes = u32::try_from(item_bytes).unwrap_or(u32::MAX);
        let data_type = match code {
            SCDA_TYPE_RAW => return Ok(DataType::Raw(bytes)),
            SCDA_TYPE_BYTES => return Ok(DataType::Bytes(bytes)),
            SCDA_TYPE_TEXT if bytes % 4 == 0 => return Ok(DataType::Text(bytes / 4)),
            SCDA_TYPE_TEXT => {
                let words = format!("item_bytes: found {bytes} for SCDA_TYPE_TEXT, expected a multiple of 4");
                return Err(Error::argument(words));
            }
            SCDA_TYPE_STRUCT => return self.structure(level),
            SCDA_TYPE_DATETIME64 => DataType::Datetime(self.time_unit()?),
            SCDA_TYPE_TIMEDELTA64 => DataType::Timedelta(self.time_unit()?),
            SCDA_TYPE_STRING => DataType::String,
            SCDA_TYPE_VARIABLE_BYTES => DataType::VariableBytes,
            _ => DataType::from_code(code).ok_or_else(|| {
                Error::argument(format!("type: found {code}, expected SCDA_TYPE_FLOAT64, ..."))
            })?,
        };
        let expected = if data_type.is_variable() { 0 } else { data_type.item_bytes() };
        if ![0, expected].contains(&item_bytes) {
            return Err(Error::argument(format!(
                "item_bytes: found {item_bytes}, expected 0 or {expected} for {data_type}"
            )));
        }
        Ok(data_type)
    }

    fn time_unit(self) -> Result<TimeUnit> {
        let unit = self.unit.utf8("unit")?;
        TimeUnit::from_text(unit)
            .ok_or_else(|| Error::argument(format!("unit: found \"{unit}\", expected \"s\", \"10us\", ...")))
    }

    fn structure(self, level: usize) -> Result<DataType> {
        if self.members.is_null() {
            return Err(Error::argument("members is NULL, but SCDA_TYPE_STRUCT needs them"));
        }
        if level >= Struct::MAX_LEVELS {
            return Err(Error::argument("members: structs are nested too deeply"));
        }
        let mut members = Vec::new();
        for place in 0.. {
            let member = self.members.read(place);
            if member.name.is_null() {
                break;
            }
            if place >= Struct::MAX_MEMBERS {
                return Err(Error::argument("members: found too many, or no terminating member"));
            }
            let name = member.name.utf8("name of a member")?;
            let scda_member { r#type, item_bytes, unit, members: inner, count, offset, .. } = member;
            let one = Self { code: r#type, item_bytes, unit, members: inner };
            let mut data_type = one.at_level(level + 1)?;
            if count < 0 {
                return Err(Error::argument(format!(
                    "count of the member {name}: found {count}, expected 0 or more"
                )));
            }
            if let Ok(count @ 2..) = u64::try_from(count) {
                data_type = DataType::Struct(Struct::array(data_type, count)?);
            }
            members.push(Member { name: name.to_owned(), data_type, offset });
        }
        Ok(DataType::Struct(Struct::new(members, self.item_bytes)?))
    }
}

/// The descriptions of types that C received, and what they point to.
#[derive(Default)]
pub(super) struct OwnedTypes {
    known: HashMap<DataType, CType<'static>>,
    texts: Vec<CString>,
    lists: Vec<Vec<scda_member<'static>>>,
}

// SAFETY: the pointers in descriptions and lists refer to texts and lists that are kept with them and never
// change.
unsafe impl Send for OwnedTypes {}

impl OwnedTypes {
    /// The description of a type for C, the same each time.
    pub fn describe(&mut self, data_type: DataType) -> CType<'static> {
        if let Some(known) = self.known.get(&data_type) {
            return *known;
        }
        let described = self.describe_anew(data_type);
        self.known.insert(data_type, described);
        described
    }

    fn describe_anew(&mut self, data_type: DataType) -> CType<'static> {
        let mut described = CType {
            code: data_type.code(),
            item_bytes: if data_type.is_variable() { 0 } else { data_type.item_bytes() },
            unit: Text::NULL,
            members: Values::NULL,
        };
        match data_type {
            DataType::Datetime(unit) | DataType::Timedelta(unit) => {
                described.unit = self.text(&unit.to_string())
            }
            DataType::Struct(all) => {
                let mut list: Vec<_> = all.members().iter().map(|member| self.member(member)).collect();
                let end = CType { code: 0, item_bytes: 0, unit: Text::NULL, members: Values::NULL };
                list.push(member(Text::NULL, end, 0, 0));
                // SAFETY: the list is kept here.
                described.members = unsafe { Values::at(list.as_ptr()) };
                self.lists.push(list);
            }
            _ => {}
        }
        described
    }

    fn member(&mut self, of: &Member) -> scda_member<'static> {
        let name = self.text(&of.name);
        let array = match of.data_type {
            DataType::Struct(all) => all.as_array().filter(|(_, count)| *count > 1),
            _ => None,
        };
        let (data_type, count) = array.unwrap_or((of.data_type, 1));
        member(name, self.describe(data_type), c_int::try_from(count).unwrap_or(0), of.offset)
    }

    fn text(&mut self, text: &str) -> Text<'static> {
        let text = CString::new(text).unwrap_or_default();
        // SAFETY: the string is kept here.
        let kept = unsafe { Text::at(text.as_ptr()) };
        self.texts.push(text);
        kept
    }
}

fn member<'a>(name: Text<'a>, described: CType<'a>, count: c_int, offset: u64) -> scda_member<'a> {
    let CType { code, item_bytes, unit, members } = described;
    scda_member { name, r#type: code, count, offset, item_bytes, unit, members }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_a_constant() {
        let codes = [
            SCDA_TYPE_BOOL,
            SCDA_TYPE_INT8,
            SCDA_TYPE_INT16,
            SCDA_TYPE_INT32,
            SCDA_TYPE_INT64,
            SCDA_TYPE_UINT8,
            SCDA_TYPE_UINT16,
            SCDA_TYPE_UINT32,
            SCDA_TYPE_UINT64,
            SCDA_TYPE_FLOAT16,
            SCDA_TYPE_FLOAT32,
            SCDA_TYPE_FLOAT64,
            SCDA_TYPE_COMPLEX64,
            SCDA_TYPE_COMPLEX128,
        ];
        assert_eq!(codes.len(), DataType::names().count());
        for (code, name) in codes.into_iter().zip(DataType::names()) {
            let of_rust = DataType::from_name(name).unwrap();
            assert_eq!((DataType::from_code(code), of_rust.code()), (Some(of_rust), code));
        }
        let unit = TimeUnit::new("s", 1).unwrap();
        let all = Struct::packed([("x", DataType::Int8)]).unwrap();
        for (code, of_rust) in [
            (SCDA_TYPE_RAW, DataType::Raw(3)),
            (SCDA_TYPE_DATETIME64, DataType::Datetime(unit)),
            (SCDA_TYPE_TIMEDELTA64, DataType::Timedelta(unit)),
            (SCDA_TYPE_TEXT, DataType::Text(3)),
            (SCDA_TYPE_BYTES, DataType::Bytes(3)),
            (SCDA_TYPE_STRUCT, DataType::Struct(all)),
            (SCDA_TYPE_STRING, DataType::String),
            (SCDA_TYPE_VARIABLE_BYTES, DataType::VariableBytes),
        ] {
            assert_eq!(of_rust.code(), code);
        }
    }
}
