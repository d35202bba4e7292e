//! Reads small arrays of the file that the groups for VTK need, when a view is made.

use crate::BASE;
use crate::bytes::Bytes;
use crate::datatype;
use crate::item::{DataLayout, Item};
use scda_base::error::Result;
use scda_base::memory::{reserve, resize};
use scda_format::dataset::DataType;

/// Reads bytes of the file at an offset.
pub type Read<'a> = dyn FnMut(u64, &mut [u8]) -> Result<()> + 'a;

/// The largest array that is read.
const MAX_BYTES: u64 = 4 << 20;

/// The items of an array, if it is not too large, contiguous and little-endian.
pub fn bytes(item: &Item, read: &mut Read<'_>) -> Result<Option<Vec<u8>>> {
    let DataLayout::Contiguous(address) = item.layout else { return Ok(None) };
    let bytes = item.bytes()?;
    let mut little = Bytes::new();
    datatype::data_type(&mut little, item.of, false)?;
    if bytes > MAX_BYTES || item.data_type != little {
        return Ok(None);
    }
    let mut found = Vec::new();
    resize(&mut found, bytes)?;
    read(address.saturating_add(BASE), &mut found)?;
    Ok(Some(found))
}

/// The numbers in these bytes.
pub fn numbers<T, const N: usize>(bytes: &[u8], of: fn([u8; N]) -> T) -> Result<Vec<T>> {
    let mut all = Vec::new();
    reserve(&mut all, bytes.len() / N)?;
    all.extend(bytes.as_chunks().0.iter().map(|item| of(*item)));
    Ok(all)
}

/// The floating-point numbers of an array.
pub fn reals(item: &Item, read: &mut Read<'_>) -> Result<Option<Vec<f64>>> {
    let Some(bytes) = bytes(item, read)? else { return Ok(None) };
    match item.of {
        DataType::Float64 => numbers(&bytes, f64::from_le_bytes).map(Some),
        DataType::Float32 => numbers(&bytes, |bytes| f64::from(f32::from_le_bytes(bytes))).map(Some),
        _ => Ok(None),
    }
}
