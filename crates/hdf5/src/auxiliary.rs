//! Datasets of the view that are not datasets of the file: arrays in the view, and views of other datasets.

use crate::attribute::Value;
use crate::bytes::Bytes;
use crate::checksum::checksum;
use scda_base::error::{Error, Result};
use scda_base::numbers::{product, to_usize};
use scda_format::dataset::DataType;

/// A dataset that exists only in the view.
#[derive(Clone, Debug, PartialEq)]
pub struct AuxiliaryDataset {
    /// The type of its items.
    pub data_type: DataType,
    /// The number of items in each dimension.
    pub shape: Vec<u64>,
    /// Its items.
    pub source: Source,
    /// Its attributes.
    pub attributes: Vec<(String, Value)>,
}

/// The items of a dataset that exists only in the view.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// These bytes, which are stored in the view.
    Bytes(Vec<u8>),
    /// This item everywhere; zeros if it is empty. Nothing is stored.
    Constant(Vec<u8>),
    /// 0, this number, twice this number, and so on. More are stored than needed, so that a later view need
    /// not store them again.
    Progression(u64),
    /// Boxes of other datasets.
    Boxes(Vec<Mapping>),
}

/// A box of a dataset, and the box of another dataset that it fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The path of the dataset.
    pub path: String,
    /// The box of this dataset.
    pub from: Slab,
    /// The box that receives its items, in the same order.
    pub to: Slab,
}

/// A box: its first index and its number of indices, at least one, in each dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slab {
    /// The first indices.
    pub start: Vec<u64>,
    /// The numbers of indices.
    pub count: Vec<u64>,
}

impl Slab {
    /// A box with all indices of a shape.
    pub fn all(shape: &[u64]) -> Self {
        Self { start: vec![0; shape.len()], count: shape.to_vec() }
    }
}

impl AuxiliaryDataset {
    /// The size of all items.
    pub fn bytes(&self) -> Result<u64> {
        let bytes = self.shape.iter().try_fold(self.data_type.item_bytes(), |all, &n| product(all, n));
        bytes.ok_or_else(|| Error::range("HDF5: the bytes of an array exceed 63 bits"))
    }
}

/// How many numbers of a progression are stored if `count` are needed.
pub fn progression_capacity(count: u64) -> u64 {
    const LEAST: u64 = 64;
    count.checked_next_power_of_two().unwrap_or(count).max(LEAST)
}

/// The numbers of a progression, as `int64`.
pub fn progression(stride: u64, count: u64) -> Result<Bytes> {
    let mut bytes = Bytes::new();
    bytes.reserve(to_usize(count).saturating_mul(8))?;
    for n in 0..count {
        // Unused numbers after `count` may exceed 64 bits: their values do not matter.
        bytes.long(n.wrapping_mul(stride))?;
    }
    Ok(bytes)
}

/// HDF5's list of mappings for a dataset of boxes, all in this file, for the global heap.
pub fn mappings(boxes: &[Mapping]) -> Result<Bytes> {
    let mut out = Bytes::new();
    out.put(&[0])?;
    out.long(boxes.len() as u64)?;
    for Mapping { path, from, to } in boxes {
        out.put(b".\0/")?;
        // In names, HDF5 replaces %b by numbers, and %% by %.
        out.put(path.replace('%', "%%").as_bytes())?;
        out.put(&[0])?;
        selection(&mut out, from)?;
        selection(&mut out, to)?;
    }
    let sum = checksum(out.as_slice());
    out.number(sum.into(), 4)?;
    Ok(out)
}

/// A box as HDF5's selection: version 1, with first and last indices of 32 bits, or version 2 if these do not
/// suffice.
fn selection(out: &mut Bytes, of: &Slab) -> Result<()> {
    const BOXES: u64 = 2;
    let rank = of.start.len() as u64;
    let last: Option<Vec<u64>> =
        of.start.iter().zip(&of.count).map(|(start, count)| (start + count).checked_sub(1)).collect();
    let last = last.ok_or_else(|| Error::range("HDF5: an empty box of a dataset"))?;
    out.number(BOXES, 4)?;
    if last.iter().all(|&last| last < u64::from(u32::MAX)) {
        for number in [1, 0, 8 + 8 * rank, rank, 1] {
            out.number(number, 4)?;
        }
        return of.start.iter().chain(&last).try_for_each(|&index| out.number(index, 4));
    }
    out.number(2, 4)?;
    out.put(&[1])?;
    out.number(4 + 32 * rank, 4)?;
    out.number(rank, 4)?;
    for (&start, &count) in of.start.iter().zip(&of.count) {
        for number in [start, 1, 1, count] {
            out.long(number)?;
        }
    }
    Ok(())
}
