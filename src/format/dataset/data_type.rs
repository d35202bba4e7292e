//! The types of the items of a dataset.

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
    /// So many bytes without a further meaning, 1 to [`DataType::MAX_RAW_BYTES`]; `r24` has 3 of them.
    Raw(u32),
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
    /// Bytes without a further meaning.
    Raw,
}

/// What is to be known of a type.
struct Row {
    data_type: DataType,
    /// That of Zarr v3 and numpy.
    name: &'static CStr,
    kind: Kind,
    number_bytes: u64,
}

impl Row {
    const fn new(data_type: DataType, name: &'static CStr, kind: Kind, number_bytes: u64) -> Self {
        Self { data_type, name, kind, number_bytes }
    }

    fn name(&self) -> &'static str {
        self.name.to_str().unwrap_or_default()
    }
}

impl DataType {
    /// The most bytes of a raw item.
    pub const MAX_RAW_BYTES: u32 = 1 << 16;

    /// The types that have one size each: one row for each, from which everything about it follows. The number of the C interface is that of
    /// the row, from 1 on; so rows stay where they are. docs/design.md says what else a new type needs.
    const TABLE: [Row; 14] = [
        Row::new(Self::Bool, c"bool", Kind::Bool, 1),
        Row::new(Self::Int8, c"int8", Kind::Signed, 1),
        Row::new(Self::Int16, c"int16", Kind::Signed, 2),
        Row::new(Self::Int32, c"int32", Kind::Signed, 4),
        Row::new(Self::Int64, c"int64", Kind::Signed, 8),
        Row::new(Self::Uint8, c"uint8", Kind::Unsigned, 1),
        Row::new(Self::Uint16, c"uint16", Kind::Unsigned, 2),
        Row::new(Self::Uint32, c"uint32", Kind::Unsigned, 4),
        Row::new(Self::Uint64, c"uint64", Kind::Unsigned, 8),
        Row::new(Self::Float16, c"float16", Kind::Float, 2),
        Row::new(Self::Float32, c"float32", Kind::Float, 4),
        Row::new(Self::Float64, c"float64", Kind::Float, 8),
        Row::new(Self::Complex64, c"complex64", Kind::Complex, 4),
        Row::new(Self::Complex128, c"complex128", Kind::Complex, 8),
    ];
    /// The number of [`DataType::Raw`] in the C interface.
    const RAW_CODE: i32 = 15;

    /// The names of all types but those of raw bytes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::TABLE.iter().map(Row::name)
    }

    fn row(self) -> Option<&'static Row> {
        Self::TABLE.iter().find(|row| row.data_type == self)
    }

    /// The number of the type in the C interface.
    pub(crate) fn code(self) -> i32 {
        Self::TABLE
            .iter()
            .zip(1..)
            .find(|(row, _)| row.data_type == self)
            .map_or(Self::RAW_CODE, |(_, code)| code)
    }

    /// The name for C: that of Zarr v3, or `raw bytes` for any number of them.
    pub(crate) fn c_name(self) -> &'static CStr {
        self.row().map_or(c"raw bytes", |row| row.name)
    }

    /// The type of a number of the C interface. Only of raw bytes it has to be said how many an item has.
    pub(crate) fn from_code(code: i32, item_bytes: u64) -> Option<Self> {
        if code == Self::RAW_CODE {
            // What no raw type can have is refused with the dataset.
            return Some(Self::Raw(item_bytes.try_into().unwrap_or(u32::MAX)));
        }
        let place = usize::try_from(code).ok()?.checked_sub(1)?;
        Self::TABLE.get(place).map(|row| row.data_type)
    }

    /// The type of this name: `bool`, `int8`, ..., `complex128`, or `r` and a number of bits, a multiple of 8.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(row) = Self::TABLE.iter().find(|row| row.name() == name) {
            return Some(row.data_type);
        }
        let bits: u32 = name.strip_prefix('r')?.parse().ok()?;
        Some(Self::Raw(bits / 8)).filter(|raw| raw.is_valid() && raw.to_string() == name)
    }

    /// Whether a raw type has a number of bytes that it may have.
    pub(crate) fn is_valid(self) -> bool {
        !matches!(self, Self::Raw(bytes) if !(1..=Self::MAX_RAW_BYTES).contains(&bytes))
    }

    /// What the numbers of an item are.
    #[must_use]
    pub fn kind(self) -> Kind {
        self.row().map_or(Kind::Raw, |row| row.kind)
    }

    /// The bytes of an item.
    #[must_use]
    pub fn item_bytes(self) -> u64 {
        match self {
            Self::Raw(bytes) => u64::from(bytes),
            _ if self.kind() == Kind::Complex => 2 * self.number_bytes(),
            _ => self.number_bytes(),
        }
    }

    /// The bytes of each number of an item, whose order depends on the machine: half an item for complex numbers, 1 for
    /// raw bytes.
    #[must_use]
    pub fn number_bytes(self) -> u64 {
        self.row().map_or(1, |row| row.number_bytes)
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
            _ => f.write_str(self.row().map_or("", Row::name)),
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
            assert_eq!((data_type.code(), DataType::from_code(code, 0)), (code, Some(data_type)));
        }
        assert_eq!((DataType::Complex64.item_bytes(), DataType::Complex64.number_bytes()), (8, 4));
        assert_eq!(DataType::from_code(DataType::Raw(3).code(), 3), Some(DataType::Raw(3)));
        for code in [i32::MIN, -1, 0, 16, i32::MAX] {
            assert_eq!(DataType::from_code(code, 8), None);
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
