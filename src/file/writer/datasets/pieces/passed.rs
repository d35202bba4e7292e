//! What a rank passes of a dataset.

use super::Origin;
use crate::file::writer::datasets::ready::Ready;
use crate::file::writer::sections::InPieces;
use scda_base::error::{Error, Result};
use scda_base::memory::{reserve, resize};
use scda_base::numbers::to_usize;
use scda_format::dataset::{Dataset, Region};
use scda_format::layout::{product, sum};
use std::ops::Range;

/// The most boxes that are compared with one another before anything is written.
const MOST_COMPARED: usize = 256;

/// The data that this rank passes: boxes, and their items.
pub(in crate::file::writer) struct Passed<'a> {
    regions: &'a [Region],
    /// Where the bytes of each begin if they follow one another, and where those of the last one end.
    starts: Vec<u64>,
    data: &'a Ready<'a>,
}

impl<'a> Passed<'a> {
    /// Nothing.
    pub const NONE: Self = Self { regions: &[], starts: Vec::new(), data: &Ready::NONE };

    /// # Errors
    /// `Argument` for regions outside of the array and data of another length; `Memory`.
    pub fn new(dataset: &Dataset, regions: &'a [Region], data: &'a Ready<'a>) -> Result<Self> {
        let item_bytes = dataset.data_type.item_bytes();
        let mut starts = Vec::new();
        reserve(&mut starts, regions.len() + 1)?;
        let mut end = 0;
        starts.push(end);
        for (number, region) in regions.iter().enumerate() {
            dataset.check_region(number, region)?;
            let bytes = product(region.items()?, item_bytes);
            end = bytes
                .and_then(|bytes| sum(end, bytes))
                .ok_or_else(|| Error::range("boxes: the number of bytes exceeds 63 bits"))?;
            starts.push(end);
        }
        if let Ready::Packed(data) = data
            && end != data.len() as u64
        {
            return Err(Error::argument(format!(
                "data: found {} bytes, expected the {end} of the boxes",
                data.len()
            )));
        }
        Ok(Self { regions, starts, data })
    }

    /// The bytes of all regions.
    pub fn bytes(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The data of all regions, if they lie one after the other.
    pub fn packed(&self) -> Option<&'a [u8]> {
        match self.data {
            Ready::Packed(data) => Some(data),
            Ready::Boxes(_) => None,
        }
    }

    /// Copies the data from a byte on, as many as there is room for: whole items.
    pub fn gather(&self, start: u64, out: &mut [u8]) {
        let boxes = match self.data {
            Ready::Packed(data) => {
                let start = to_usize(start);
                return out.copy_from_slice(&data[start..start + out.len()]);
            }
            Ready::Boxes(boxes) => boxes,
        };
        let first = self.starts.partition_point(|&other| other <= start).saturating_sub(1);
        let (mut at, mut rest) = (start, out);
        for (items, range) in boxes.iter().zip(self.starts.windows(2)).skip(first) {
            let now = to_usize(range[1].saturating_sub(at)).min(rest.len());
            let (own, later) = rest.split_at_mut(now);
            // That all of them fit was checked.
            items.gather_bytes(at - range[0], own);
            at += now as u64;
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
    }

    /// A box.
    pub(super) fn region(&self, number: usize) -> &'a Region {
        &self.regions[number]
    }

    /// All boxes.
    pub fn regions(&self) -> &'a [Region] {
        self.regions
    }

    /// The items of a region.
    pub(super) fn items(&self, number: usize) -> Origin<'a> {
        match self.data {
            Ready::Packed(data) => Origin::Bytes(&data[to_usize(self.starts[number])..]),
            Ready::Boxes(boxes) => {
                boxes[number].packed().map_or(Origin::Items(&boxes[number]), Origin::Bytes)
            }
        }
    }

    /// The indices of the first dimension that the regions have, if these are all that the array has there, one region
    /// after the other.
    pub fn rows(&self, shape: &[u64]) -> Option<Range<u64>> {
        let mut rows: Option<Range<u64>> = None;
        let (&all, inner) = shape.split_first().unwrap_or((&1, &[]));
        for region in self.regions.iter().filter(|region| !region.count.contains(&0)) {
            let (&start, starts) = region.start.split_first().unwrap_or((&0, &[]));
            let (&count, counts) = region.count.split_first().unwrap_or((&1, &[]));
            let is_whole = starts.iter().all(|&start| start == 0) && counts == inner;
            let follows = rows.as_ref().is_none_or(|rows| rows.end == start);
            if !is_whole || !follows || start + count > all {
                return None;
            }
            rows = Some(rows.map_or(start, |rows| rows.start)..start + count);
        }
        Some(rows.unwrap_or(0..0))
    }
}

impl InPieces for Passed<'_> {
    fn piece<'b>(&'b self, start: u64, most: u64, buffer: &'b mut Vec<u8>) -> Result<&'b [u8]> {
        if let Some(data) = self.packed() {
            return Ok(&data[to_usize(start)..]);
        }
        resize(buffer, most.min(self.bytes() - start))?;
        self.gather(start, buffer);
        Ok(buffer)
    }
}

/// An error if two boxes have an index in common: for a rank that writes alone, before anything is written. Of very many boxes, who assembles
/// them finds it. Boxes outside of the dataset are not looked at.
pub(in crate::file::writer::datasets) fn check_apart(dataset: &Dataset, regions: &[Region]) -> Result<()> {
    let compared = if (2..=MOST_COMPARED).contains(&regions.len()) { regions } else { &[] };
    if compared.iter().enumerate().any(|(number, region)| dataset.check_region(number, region).is_err()) {
        return Ok(());
    }
    for (number, region) in compared.iter().enumerate() {
        let mut common = compared[..number].iter().filter(|other| other.meets(region));
        if let Some(both) = common.find_map(|other| other.intersection(region)) {
            return Err(overlapping(dataset, &both.start));
        }
    }
    Ok(())
}

#[cold]
pub(in crate::file::writer::datasets) fn overlapping(dataset: &Dataset, index: &[u64]) -> Error {
    Error::argument(format!("{}: index {index:?} is in two boxes", dataset.title()))
}
