//! The types of the items of a dataset.

use super::{Struct, TimeUnit};
use scda_base::error::Result;
use std::ffi::CStr;
use std::fmt;

/// The type of each item of a dataset, with the names of Zarr v3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DataType {
    /// A byte that is 0 or 1.
    Bool,
    /// A signed integer of 8 bits.
    Int8,
    /// A signed integer of 16 bits.
    Int16,
    /// A signed integer of 32 bits.
    Int32,
    /// A signed integer of 64 bits.
    Int64,
    /// An unsigned integer of 8 bits.
    Uint8,
    /// An unsigned integer of 16 bits.
    Uint16,
    /// An unsigned integer of 32 bits.
    Uint32,
    /// An unsigned integer of 64 bits.
    Uint64,
    /// A floating-point number of 16 bits (IEEE 754 binary16).
    Float16,
    /// A floating-point number of 32 bits.
    Float32,
    /// A floating-point number of 64 bits.
    Float64,
    /// Two numbers `float32`, the real part first.
    Complex64,
    /// Two numbers `float64`, the real part first.
    Complex128,
    /// This number of bytes without further meaning, 1 to [`DataType::MAX_RAW_BYTES`]; `r24` has 3.
    Raw(u32),
    /// A point in time: the time since the beginning of 1970, UTC, as an integer of 64 bits. The least
    /// integer means "no time" (NaT).
    Datetime(TimeUnit),
    /// A span of time, likewise.
    Timedelta(TimeUnit),
    /// A text of at most this number of characters, in UTF-32, padded with zeros. 1 to [`DataType::MAX_RAW_BYTES`] / 4.
    Text(u32),
    /// At most this number of bytes, 1 to [`DataType::MAX_RAW_BYTES`], padded with zeros.
    Bytes(u32),
    /// A struct, with members of any type but the two below.
    Struct(Struct),
    /// A text of any length, in UTF-8. `Writer::texts` writes such items.
    String,
    /// Any number of bytes, likewise.
    VariableBytes,
}

/// What the numbers of an item are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// 0 or 1.
    Bool,
    /// An integer with a sign.
    Signed,
    /// An integer without a sign.
    Unsigned,
    /// A floating-point number.
    Float,
    /// Two floating-point numbers.
    Complex,
    /// Bytes without further meaning.
    Raw,
    /// A moment or a span.
    Time,
    /// Characters or bytes, up to the zeros at the end.
    Text,
    /// Members.
    Struct,
    /// A text or bytes of any length.
    Variable,
}

/// The properties of a type.
struct TypeRow {
    /// The number in the C interface, which never changes.
    code: i32,
    data_type: DataType,
    /// The name in Zarr v3 and numpy.
    name: &'static CStr,
    kind: Kind,
    number_bytes: u64,
}

impl TypeRow {
    const fn new(code: i32, data_type: DataType, name: &'static CStr, kind: Kind, number_bytes: u64) -> Self {
        Self { code, data_type, name, kind, number_bytes }
    }

    fn name(&self) -> &'static str {
        self.name.to_str().unwrap_or_default()
    }
}

impl DataType {
    /// The most bytes of a raw item.
    pub const MAX_RAW_BYTES: u32 = 1 << 16;

    /// The bytes that store the length of an item of variable length.
    pub const LENGTH_BYTES: u64 = 4;

    /// The types of fixed size, one row each, from which everything about them follows. docs/design.md says
    /// what else a new type needs.
    const TABLE: [TypeRow; 14] = [
        TypeRow::new(1, Self::Bool, c"bool", Kind::Bool, 1),
        TypeRow::new(2, Self::Int8, c"int8", Kind::Signed, 1),
        TypeRow::new(3, Self::Int16, c"int16", Kind::Signed, 2),
        TypeRow::new(4, Self::Int32, c"int32", Kind::Signed, 4),
        TypeRow::new(5, Self::Int64, c"int64", Kind::Signed, 8),
        TypeRow::new(6, Self::Uint8, c"uint8", Kind::Unsigned, 1),
        TypeRow::new(7, Self::Uint16, c"uint16", Kind::Unsigned, 2),
        TypeRow::new(8, Self::Uint32, c"uint32", Kind::Unsigned, 4),
        TypeRow::new(9, Self::Uint64, c"uint64", Kind::Unsigned, 8),
        TypeRow::new(10, Self::Float16, c"float16", Kind::Float, 2),
        TypeRow::new(11, Self::Float32, c"float32", Kind::Float, 4),
        TypeRow::new(12, Self::Float64, c"float64", Kind::Float, 8),
        TypeRow::new(13, Self::Complex64, c"complex64", Kind::Complex, 4),
        TypeRow::new(14, Self::Complex128, c"complex128", Kind::Complex, 8),
    ];
    /// The numbers of the other types in the C interface, and their names there.
    const OTHERS: [(i32, &'static CStr); 8] = [
        (15, c"raw bytes"),
        (16, c"datetime64"),
        (17, c"timedelta64"),
        (18, c"text"),
        (19, c"bytes"),
        (20, c"struct"),
        (21, c"string"),
        (22, c"variable_length_bytes"),
    ];

    /// The names of the types of fixed size.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::TABLE.iter().map(TypeRow::name)
    }

    fn row(self) -> Option<&'static TypeRow> {
        Self::TABLE.iter().find(|row| row.data_type == self)
    }

    /// The number of the type in the C interface, and its name there.
    fn c_type(self) -> (i32, &'static CStr) {
        let number = |place: usize| Self::OTHERS[place];
        match self {
            Self::Raw(_) => number(0),
            Self::Datetime(_) => number(1),
            Self::Timedelta(_) => number(2),
            Self::Text(_) => number(3),
            Self::Bytes(_) => number(4),
            Self::Struct(_) => number(5),
            Self::String => number(6),
            Self::VariableBytes => number(7),
            _ => self.row().map_or(number(0), |row| (row.code, row.name)),
        }
    }

    /// The number of the type in the C interface.
    pub fn code(self) -> i32 {
        self.c_type().0
    }

    /// The C interface's name for the type with this number, if there is one: the name of Zarr v3, or a
    /// collective one such as `raw bytes` for raw bytes of any size.
    pub fn c_name(code: i32) -> Option<&'static CStr> {
        let named = Self::from_code(code).map(|data_type| data_type.c_type().1);
        named.or_else(|| Self::OTHERS.iter().find(|(other, _)| *other == code).map(|(_, name)| *name))
    }

    /// The type with this number in the C interface, if its size is fixed.
    pub fn from_code(code: i32) -> Option<Self> {
        Self::TABLE.iter().find(|row| row.code == code).map(|row| row.data_type)
    }

    /// The type with this name, as [`Display`](fmt::Display) shows it: `bool`, `int8`, ..., `complex128`; `r`
    /// and a number of bits, a multiple of 8; `datetime64[s]`, `timedelta64[10us]`; `text[8]`, `bytes[8]`;
    /// `string`, `variable_length_bytes`. Structs have no name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(row) = Self::TABLE.iter().find(|row| row.name() == name) {
            return Some(row.data_type);
        }
        match name {
            "string" => return Some(Self::String),
            "variable_length_bytes" => return Some(Self::VariableBytes),
            _ => {}
        }
        let found = match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
            Some(("datetime64", unit)) => Self::Datetime(TimeUnit::from_text(unit)?),
            Some(("timedelta64", unit)) => Self::Timedelta(TimeUnit::from_text(unit)?),
            Some(("text", characters)) => Self::Text(characters.parse().ok()?),
            Some(("bytes", bytes)) => Self::Bytes(bytes.parse().ok()?),
            _ => Self::Raw(name.strip_prefix('r')?.parse::<u32>().ok()? / 8),
        };
        Some(found).filter(|found| found.is_valid() && found.to_string() == name)
    }

    /// Whether the size of a raw, text or bytes type is within its limits.
    pub fn is_valid(self) -> bool {
        match self {
            Self::Raw(bytes) | Self::Bytes(bytes) => (1..=Self::MAX_RAW_BYTES).contains(&bytes),
            Self::Text(characters) => (1..=Self::MAX_RAW_BYTES / 4).contains(&characters),
            _ => true,
        }
    }

    /// The type of such items in a file, where structs have no gaps.
    ///
    /// # Errors
    /// `Argument`: the errors of [`Struct::new`].
    pub fn in_file(self) -> Result<Self> {
        match self {
            Self::Struct(all) => Ok(Self::Struct(all.in_file()?)),
            other => Ok(other),
        }
    }

    /// What the numbers of an item are.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Datetime(_) | Self::Timedelta(_) => Kind::Time,
            Self::Text(_) | Self::Bytes(_) => Kind::Text,
            Self::Struct(_) => Kind::Struct,
            Self::String | Self::VariableBytes => Kind::Variable,
            _ => self.row().map_or(Kind::Raw, |row| row.kind),
        }
    }

    /// Whether each item has a length of its own.
    #[must_use]
    pub fn is_variable(self) -> bool {
        self.kind() == Kind::Variable
    }

    /// The bytes of an item; for a type of variable length, the bytes that store the length
    /// ([`Self::LENGTH_BYTES`]).
    #[must_use]
    pub fn item_bytes(self) -> u64 {
        match self {
            Self::Raw(bytes) | Self::Bytes(bytes) => u64::from(bytes),
            Self::Text(characters) => 4 * u64::from(characters),
            Self::Struct(all) => all.item_bytes(),
            Self::String | Self::VariableBytes => Self::LENGTH_BYTES,
            _ if self.kind() == Kind::Complex => 2 * self.number_bytes(),
            _ => self.number_bytes(),
        }
    }

    /// The bytes of each number of an item, the unit of byte order: half an item for complex numbers, 4 for
    /// texts, 1 for raw bytes. 1 for a struct, whose members each have their own.
    #[must_use]
    pub fn number_bytes(self) -> u64 {
        match self {
            Self::Datetime(_) | Self::Timedelta(_) => 8,
            Self::Text(_) => 4,
            _ => self.row().map_or(1, |row| row.number_bytes),
        }
    }

    /// Whether its bytes depend on the byte order of the machine.
    pub fn has_byte_order(self) -> bool {
        self.number_bytes() > 1 || self.kind() == Kind::Struct
    }

    /// Calls `each` with every part of an item that is not a struct, and the number of bytes before it.
    pub fn for_each_leaf(self, each: &mut impl FnMut(u64, Self)) {
        match self {
            Self::Struct(all) => all.for_each_leaf(0, each),
            other => each(0, other),
        }
    }

    /// Whether an item is a floating-point or a complex number.
    #[must_use]
    pub fn has_floats(self) -> bool {
        matches!(self.kind(), Kind::Float | Kind::Complex)
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Raw(bytes) => write!(f, "r{}", u64::from(*bytes) * 8),
            Self::Datetime(unit) => write!(f, "datetime64[{unit}]"),
            Self::Timedelta(unit) => write!(f, "timedelta64[{unit}]"),
            Self::Text(characters) => write!(f, "text[{characters}]"),
            Self::Bytes(bytes) => write!(f, "bytes[{bytes}]"),
            Self::Struct(all) => fmt::Display::fmt(all, f),
            Self::String | Self::VariableBytes => f.write_str(self.c_type().1.to_str().unwrap_or_default()),
            _ => f.write_str(self.row().map_or("", TypeRow::name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sizes_and_numbers() {
        for (name, code) in DataType::names().zip(1..) {
            let data_type = DataType::from_name(name).unwrap();
            assert_eq!(data_type.to_string(), name);
            let item = data_type.item_bytes();
            let digits: String = name.chars().filter(char::is_ascii_digit).collect();
            assert!(digits.is_empty() || digits.parse::<u64>().unwrap() == 8 * item, "{name}");
            assert_eq!((data_type.code(), DataType::from_code(code)), (code, Some(data_type)));
            assert_eq!(DataType::c_name(code).unwrap().to_str().unwrap(), name);
        }
        assert_eq!((DataType::Complex64.item_bytes(), DataType::Complex64.number_bytes()), (8, 4));
        for code in [i32::MIN, -1, 0, 15, 20, i32::MAX] {
            assert_eq!(DataType::from_code(code), None);
        }
        assert_eq!(DataType::c_name(DataType::Raw(3).code()), Some(c"raw bytes"));
        assert_eq!(DataType::c_name(DataType::Text(3).code()), Some(c"text"));
        assert_eq!((DataType::c_name(0), DataType::c_name(23)), (None, None));
        for (name, data_type) in
            [("string", DataType::String), ("variable_length_bytes", DataType::VariableBytes)]
        {
            assert_eq!((DataType::from_name(name), data_type.to_string().as_str()), (Some(data_type), name));
            assert_eq!(DataType::c_name(data_type.code()).unwrap().to_str(), Ok(name));
            assert!(data_type.is_variable());
        }
    }

    #[test]
    fn types_of_any_size_have_it_in_their_names() {
        for (name, item_bytes, number_bytes) in [
            ("text[3]", 12, 4),
            ("text[16384]", 65_536, 4),
            ("bytes[3]", 3, 1),
            ("bytes[65536]", 65_536, 1),
            ("datetime64[s]", 8, 8),
            ("timedelta64[10us]", 8, 8),
        ] {
            let data_type = DataType::from_name(name).unwrap();
            assert_eq!(data_type.to_string(), name);
            assert_eq!(
                (data_type.item_bytes(), data_type.number_bytes()),
                (item_bytes, number_bytes),
                "{name}"
            );
            assert_eq!(data_type.has_byte_order(), number_bytes > 1, "{name}");
        }
        for name in
            ["text[0]", "text[16385]", "text[03]", "text[]", "bytes[0]", "bytes[65537]", "int8[3]", "[3]"]
        {
            assert_eq!(DataType::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn raw_types_have_whole_bytes() {
        assert_eq!(DataType::from_name("r24"), Some(DataType::Raw(3)));
        assert_eq!(DataType::Raw(3).to_string(), "r24");
        assert_eq!((DataType::Raw(3).item_bytes(), DataType::Raw(3).number_bytes()), (3, 1));
        let most = format!("r{}", 8_u64 << 16);
        assert_eq!(DataType::from_name(&most), Some(DataType::Raw(1 << 16)));
        for name in [
            "r0",
            "r7",
            "r12",
            "r-8",
            "r+8",
            "r08",
            "r",
            "r 8",
            "r524296",
            "r99999999999",
            "int128",
            "",
            "Bool",
        ] {
            assert_eq!(DataType::from_name(name), None, "{name}");
        }
    }
}
