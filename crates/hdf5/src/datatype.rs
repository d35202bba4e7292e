//! The types of items as datatype messages of HDF5.

use crate::bytes::{Bytes, width_of};
use scda_base::error::{Error, ErrorKind, Result};
use scda_format::dataset::{DataType, Kind, Struct};

/// Classes of HDF5's datatypes.
const FIXED: u8 = 0;
const FLOAT: u8 = 1;
const STRING: u8 = 3;
const OPAQUE: u8 = 5;
const COMPOUND: u8 = 6;
const REFERENCE: u8 = 7;
const ENUM: u8 = 8;
const VARIABLE: u8 = 9;
const ARRAY: u8 = 10;

/// The size of a reference to an object.
pub const REFERENCE_BYTES: u64 = 8;
/// The size of a text or list in a global heap: its length, the address of the heap, and its number there.
pub const VARIABLE_BYTES: u64 = 16;

/// Version and class, the bits of the class, and the size of an item.
fn head(out: &mut Bytes, version: u8, class: u8, bits: u32, size: u64) -> Result<()> {
    out.put(&[version << 4 | class])?;
    out.number(u64::from(bits), 3)?;
    let size = u32::try_from(size).map_err(|_| Error::range(format!("HDF5: an item of {size} bytes")))?;
    out.number(size.into(), 4)
}

/// An integer of this size.
pub fn integer(out: &mut Bytes, bytes: u64, signed: bool, big_endian: bool) -> Result<()> {
    head(out, 1, FIXED, u32::from(signed) << 3 | u32::from(big_endian), bytes)?;
    out.number(0, 2)?;
    out.number(8 * bytes, 2)
}

/// An IEEE 754 floating-point number of 2, 4 or 8 bytes.
pub fn float(out: &mut Bytes, bytes: u64, big_endian: bool) -> Result<()> {
    let (exponent, fraction) = match bytes {
        2 => (5_u8, 10_u8),
        4 => (8, 23),
        _ => (11, 52),
    };
    let sign = u32::from(exponent + fraction);
    head(out, 1, FLOAT, sign << 8 | 0x20 | u32::from(big_endian), bytes)?;
    out.number(0, 2)?;
    out.number(8 * bytes, 2)?;
    out.put(&[fraction, exponent, 0, fraction])?;
    out.number((1 << (exponent - 1)) - 1, 4)
}

/// A text of fixed length that ends with a NUL, as dimension scales require.
pub fn terminated_text(out: &mut Bytes, bytes: u64, is_utf8: bool) -> Result<()> {
    head(out, 1, STRING, u32::from(is_utf8) << 4, bytes)
}

/// A text in UTF-8 in a global heap, in h5py's form.
pub fn heap_text(out: &mut Bytes) -> Result<()> {
    head(out, 1, VARIABLE, 1 | 1 << 8, VARIABLE_BYTES)?;
    integer(out, 1, false, false)
}

/// A list of references to objects, in a global heap.
pub fn heap_references(out: &mut Bytes) -> Result<()> {
    head(out, 1, VARIABLE, 0, VARIABLE_BYTES)?;
    head(out, 1, REFERENCE, 0, REFERENCE_BYTES)
}

/// h5py's type for booleans.
pub fn boolean(out: &mut Bytes) -> Result<()> {
    head(out, 3, ENUM, 2, 1)?;
    integer(out, 1, true, false)?;
    out.put(b"FALSE\0TRUE\0\x00\x01")
}

/// Opaque bytes. The tag tells h5py the corresponding numpy type.
fn opaque(out: &mut Bytes, bytes: u64, tag: &str) -> Result<()> {
    let length = tag.len().next_multiple_of(8);
    head(out, 1, OPAQUE, u32::try_from(length).unwrap_or(0), bytes)?;
    out.put(tag.as_bytes())?;
    out.zeros(length - tag.len())
}

/// A compound of these members: name, offset, and a function that writes the type.
fn compound(
    out: &mut Bytes,
    size: u64,
    members: usize,
    mut member: impl FnMut(&mut Bytes, usize) -> Result<()>,
) -> Result<()> {
    let count = u32::try_from(members).unwrap_or(u32::MAX);
    head(out, 3, COMPOUND, count, size)?;
    (0..members).try_for_each(|n| member(out, n))
}

fn member_head(out: &mut Bytes, name: &str, offset: u64, size: u64) -> Result<()> {
    out.put(name.as_bytes())?;
    out.put(&[0])?;
    out.number(offset, width_of(size))
}

fn structure(out: &mut Bytes, all: Struct) -> Result<()> {
    if let Some((item, count)) = all.as_array() {
        head(out, 3, ARRAY, 0, all.item_bytes())?;
        out.put(&[1])?;
        out.number(count as u64, 4)?;
        return data_type(out, item, false);
    }
    let members = all.members();
    compound(out, all.item_bytes(), members.len(), |out, n| {
        let member = &members[n];
        member_head(out, &member.name, member.offset, all.item_bytes())?;
        data_type(out, member.data_type, false)
    })
}

/// The type of items of a fixed size.
///
/// # Errors
/// `Memory`; `Unsupported` for items of variable length.
pub fn data_type(out: &mut Bytes, of: DataType, big_endian: bool) -> Result<()> {
    let number = of.number_bytes();
    match of.kind() {
        Kind::Bool => boolean(out),
        Kind::Signed | Kind::Time => integer(out, number, true, big_endian),
        Kind::Unsigned => integer(out, number, false, big_endian),
        Kind::Float => float(out, number, big_endian),
        Kind::Complex => compound(out, 2 * number, 2, |out, n| {
            member_head(out, if n == 0 { "r" } else { "i" }, n as u64 * number, 2 * number)?;
            float(out, number, big_endian)
        }),
        Kind::Raw => opaque(out, of.item_bytes(), ""),
        Kind::Text => match of {
            DataType::Text(characters) => {
                let order = if big_endian { '>' } else { '<' };
                opaque(out, of.item_bytes(), &format!("NUMPY:{order}U{characters}"))
            }
            _ => {
                const PADDED_WITH_NUL: u32 = 1;
                head(out, 1, STRING, PADDED_WITH_NUL, of.item_bytes())
            }
        },
        Kind::Struct => match of {
            DataType::Struct(all) => structure(out, all),
            _ => opaque(out, of.item_bytes(), ""),
        },
        _ => Err(Error::new(ErrorKind::Unsupported, "HDF5: items of variable length")),
    }
}
