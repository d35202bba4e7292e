//! The types of the items of a dataset.

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

impl DataType {
    /// The most bytes of a raw item.
    pub const MAX_RAW_BYTES: u32 = 1 << 16;

    /// The types that have one size each, with their names, sizes, and the sizes of their numbers, in bytes.
    const NAMED: [(Self, &'static str, u64, u64); 14] = [
        (Self::Bool, "bool", 1, 1),
        (Self::Int8, "int8", 1, 1),
        (Self::Int16, "int16", 2, 2),
        (Self::Int32, "int32", 4, 4),
        (Self::Int64, "int64", 8, 8),
        (Self::Uint8, "uint8", 1, 1),
        (Self::Uint16, "uint16", 2, 2),
        (Self::Uint32, "uint32", 4, 4),
        (Self::Uint64, "uint64", 8, 8),
        (Self::Float16, "float16", 2, 2),
        (Self::Float32, "float32", 4, 4),
        (Self::Float64, "float64", 8, 8),
        (Self::Complex64, "complex64", 8, 4),
        (Self::Complex128, "complex128", 16, 8),
    ];

    /// The type of this name: `bool`, `int8`, ..., `complex128`, or `r` and a number of bits, a multiple of 8.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some((data_type, ..)) = Self::NAMED.iter().find(|(_, other, ..)| *other == name) {
            return Some(*data_type);
        }
        let bits: u32 = name.strip_prefix('r')?.parse().ok()?;
        Some(Self::Raw(bits / 8)).filter(|raw| raw.is_valid() && raw.to_string() == name)
    }

    /// Whether a raw type has a number of bytes that it may have.
    pub(crate) fn is_valid(self) -> bool {
        !matches!(self, Self::Raw(bytes) if !(1..=Self::MAX_RAW_BYTES).contains(&bytes))
    }

    /// The size of an item, and that of each number in it, in bytes.
    fn sizes(self) -> (u64, u64) {
        let named = Self::NAMED.iter().find(|(data_type, ..)| *data_type == self);
        match (named, self) {
            (_, Self::Raw(bytes)) => (u64::from(bytes), 1),
            (Some((.., item, number)), _) => (*item, *number),
            (None, _) => (0, 1),
        }
    }

    /// The bytes of an item.
    #[must_use]
    pub fn item_bytes(self) -> u64 {
        self.sizes().0
    }

    /// The bytes of each number of an item, whose order depends on the machine: half an item for complex numbers, 1 for
    /// raw bytes.
    #[must_use]
    pub fn number_bytes(self) -> u64 {
        self.sizes().1
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::NAMED.iter().find(|(data_type, ..)| data_type == self);
        match (named, self) {
            (_, Self::Raw(bytes)) => write!(f, "r{}", u64::from(*bytes) * 8),
            (Some((_, name, ..)), _) => f.write_str(name),
            (None, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sizes_and_numbers() {
        for (data_type, name, item, number) in DataType::NAMED {
            assert_eq!(DataType::from_name(name), Some(data_type));
            assert_eq!(data_type.to_string(), name);
            assert_eq!((data_type.item_bytes(), data_type.number_bytes()), (item, number));
            let digits: String = name.chars().filter(char::is_ascii_digit).collect();
            assert!(digits.is_empty() || digits.parse::<u64>().unwrap() == 8 * item, "{name}");
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
