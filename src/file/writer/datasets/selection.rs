//! The boxes of a dataset that a rank has, and their items as stored in the file.

use super::Boxes;
use crate::file::limits::Limits;
use crate::file::writer::sections::{Gather, too_large};
use crate::items::{Data, Items, Misfit, check_memories};
use scda_base::error::{Error, Result};
use scda_base::memory::{copy, reserve, resize};
use scda_base::numbers::to_usize;
use scda_codec::chunk::swap_items;
use scda_format::dataset::bools::{find_other_item, has_bools};
use scda_format::dataset::{Dataset, IndexBox};
use scda_format::layout::sum;
use std::borrow::Cow;
use std::ops::Range;

/// The most boxes that are compared with each other before anything is written.
const MOST_COMPARED: usize = 256;

/// The items of a selection. They match its boxes, are in little-endian order, and bools are 0 or 1.
enum Buffer<'a> {
    /// One box after the other, each in C order.
    Packed(Cow<'a, [u8]>),
    /// Each box in its own layout in memory.
    Boxes(Vec<Items<'a>>),
}

/// The boxes of this rank, and their items.
pub(in crate::file::writer) struct Selection<'a> {
    regions: Cow<'a, [IndexBox]>,
    /// Where each box would begin if they were consecutive, and where the last one would end.
    starts: Vec<u64>,
    buffer: Buffer<'a>,
}

/// Where items are.
#[derive(Clone, Copy)]
pub(super) enum Origin<'a> {
    /// Consecutive, perhaps followed by others.
    Bytes(&'a [u8]),
    /// In a box with its own layout in memory.
    Items(&'a Items<'a>),
}

impl<'a> Selection<'a> {
    pub const EMPTY: Self =
        Self { regions: Cow::Borrowed(&[]), starts: Vec::new(), buffer: Buffer::Packed(Cow::Borrowed(&[])) };

    /// # Errors
    /// `Argument` for boxes outside the array, for the wrong number of memories, for memory that does not fit
    /// its box, and for values that the type of the dataset does not have; `Range`; `Memory`.
    pub fn new(dataset: &Dataset, (regions, data): Boxes<'a>, limits: &Limits) -> Result<Self> {
        Self::with_buffer(dataset, regions, Buffer::new(dataset, (regions, data), limits)?)
    }

    /// From items that are already as in the file.
    ///
    /// # Errors
    /// `Argument` for boxes outside the array and data of another length; `Memory`.
    pub fn of_bytes(dataset: &Dataset, regions: &'a [IndexBox], items: &'a [u8]) -> Result<Self> {
        Self::with_buffer(dataset, regions, Buffer::Packed(Cow::Borrowed(items)))
    }

    fn with_buffer(dataset: &Dataset, regions: &'a [IndexBox], buffer: Buffer<'a>) -> Result<Self> {
        let starts = dataset.starts_of(regions)?;
        let end = starts[regions.len()];
        if let Buffer::Packed(data) = &buffer
            && end != data.len() as u64
        {
            return Err(Error::argument(format!(
                "data: found {} bytes, expected the {end} of the boxes",
                data.len()
            )));
        }
        Ok(Self { regions: Cow::Borrowed(regions), starts, buffer })
    }

    /// The same, with a copy of its items.
    ///
    /// # Errors
    /// `Memory`.
    pub fn copied(&self) -> Result<Selection<'static>> {
        let mut items = Vec::new();
        match self.packed() {
            Some(packed) => items = copy(packed)?,
            None => {
                resize(&mut items, self.bytes())?;
                self.gather(0, &mut items);
            }
        }
        let (regions, starts) = (copy(&self.regions)?, copy(&self.starts)?);
        Ok(Selection { regions: Cow::Owned(regions), starts, buffer: Buffer::Packed(Cow::Owned(items)) })
    }

    /// The size of all boxes.
    pub fn bytes(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The data of all boxes, if they are contiguous in memory.
    pub fn packed(&self) -> Option<&[u8]> {
        match &self.buffer {
            Buffer::Packed(data) => Some(data),
            Buffer::Boxes(_) => None,
        }
    }

    /// Copies whole items from byte `start` on, as many as fit `out`.
    pub fn gather(&self, start: u64, out: &mut [u8]) {
        let boxes = match &self.buffer {
            Buffer::Packed(data) => {
                let start = to_usize(start);
                return out.copy_from_slice(&data[start..start + out.len()]);
            }
            Buffer::Boxes(boxes) => boxes,
        };
        let first = self.starts.partition_point(|&other| other <= start).saturating_sub(1);
        let (mut at, mut rest) = (start, out);
        for (items, range) in boxes.iter().zip(self.starts.windows(2)).skip(first) {
            let now = to_usize(range[1].saturating_sub(at)).min(rest.len());
            let (own, later) = rest.split_at_mut(now);
            // It was checked that all of them fit the type.
            items.gather_bytes(at - range[0], own);
            at += now as u64;
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
    }

    /// All boxes.
    pub fn regions(&self) -> &[IndexBox] {
        &self.regions
    }

    /// The items of a box.
    pub(super) fn items(&self, number: usize) -> Origin<'_> {
        match &self.buffer {
            Buffer::Packed(data) => Origin::Bytes(&data[to_usize(self.starts[number])..]),
            Buffer::Boxes(boxes) => {
                boxes[number].packed().map_or(Origin::Items(&boxes[number]), Origin::Bytes)
            }
        }
    }

    /// The range of indices of the first dimension that the boxes cover, if they cover everything there, one
    /// box after the other.
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

impl Gather for Selection<'_> {
    fn batch<'b>(&'b self, start: u64, most: u64, buffer: &'b mut Vec<u8>) -> Result<&'b [u8]> {
        if let Some(data) = self.packed() {
            return Ok(&data[to_usize(start)..]);
        }
        resize(buffer, most.min(self.bytes() - start))?;
        self.gather(start, buffer);
        Ok(buffer)
    }
}

impl<'a> Buffer<'a> {
    /// # Errors
    /// `Argument` for the wrong number of memories, for memory that does not fit its box, and for invalid
    /// bools; `Range`; `Memory`.
    fn new(dataset: &Dataset, (regions, data): Boxes<'a>, limits: &Limits) -> Result<Self> {
        let memories = match data {
            Data::Packed(data) => return Ok(Self::Packed(little_endian(dataset, data)?)),
            Data::Boxes(memories) => memories,
        };
        check_memories(memories.len(), regions)?;
        let (mut boxes, mut bytes) = (Vec::new(), 0);
        reserve(&mut boxes, regions.len())?;
        for (number, (region, memory)) in regions.iter().zip(memories).enumerate() {
            dataset.check_region(number, region)?;
            let items = memory
                .items(&region.count, dataset.data_type)
                .map_err(|error| error.of(&format!("dataset \"{}\"", dataset.name)))?;
            bytes = sum(bytes, items.bytes()).ok_or_else(too_large)?;
            boxes.push(items);
        }
        if let [one] = &*boxes
            && let Some(data) = one.packed()
        {
            return Ok(Self::Packed(little_endian(dataset, data)?));
        }
        let is_swapped = cfg!(target_endian = "big") && dataset.data_type.has_byte_order();
        if bytes <= limits.gathered_bytes || is_swapped {
            let mut data = Vec::new();
            resize(&mut data, bytes)?;
            let mut rest = &mut *data;
            for (items, region) in boxes.iter().zip(regions) {
                let (own, later) = rest.split_at_mut(to_usize(items.bytes()));
                check_fit(dataset, region, items.gather(0, own))?;
                rest = later;
            }
            check_bools(dataset, &data, 0)?;
            if is_swapped {
                swap_items(&mut data, dataset.data_type);
            }
            return Ok(Self::Packed(Cow::Owned(data)));
        }
        let (mut batch, mut before) = (Vec::new(), 0);
        let is_bool = has_bools(dataset.data_type);
        let most = limits.gathered(dataset.data_type.item_bytes());
        for (items, region) in boxes.iter().zip(regions).filter(|(items, _)| is_bool || items.may_misfit()) {
            for start in (0..items.bytes()).step_by(to_usize(most)) {
                resize(&mut batch, most.min(items.bytes() - start))?;
                check_fit(dataset, region, items.gather_bytes(start, &mut batch))?;
                check_bools(dataset, &batch, before + start)?;
            }
            before += items.bytes();
        }
        Ok(Self::Boxes(boxes))
    }
}

/// Returns an error if an item of a box does not fit the type in the file.
fn check_fit(dataset: &Dataset, region: &IndexBox, misfit: Option<Misfit>) -> Result<()> {
    misfit.map_or(Ok(()), |misfit| Err(misfit.error(dataset, &region.index_of(misfit.item))))
}

/// The bytes of items in little-endian order. Bools that are neither 0 nor 1 are an error.
fn little_endian<'a>(dataset: &Dataset, data: &'a [u8]) -> Result<Cow<'a, [u8]>> {
    check_bools(dataset, data, 0)?;
    if cfg!(target_endian = "little") || !dataset.data_type.has_byte_order() {
        return Ok(Cow::Borrowed(data));
    }
    let mut swapped = copy(data)?;
    swap_items(&mut swapped, dataset.data_type);
    Ok(Cow::Owned(swapped))
}

/// Returns an error for bools that are neither 0 nor 1, which other programs may interpret as either;
/// `before` bytes precede `data`.
fn check_bools(dataset: &Dataset, data: &[u8], before: u64) -> Result<()> {
    find_other_item(dataset.data_type, data).map_or(Ok(()), |(place, byte)| {
        let place = before / dataset.data_type.item_bytes() + place as u64;
        Err(Error::argument(format!("data: found the bool {byte} at item {place}, expected 0 or 1")))
    })
}

/// Returns an error if two boxes have an index in common, for a rank that writes alone, before anything is
/// written. If there are very many boxes, assembling them detects it. Boxes outside the dataset are ignored.
pub(super) fn check_separate(dataset: &Dataset, regions: &[IndexBox]) -> Result<()> {
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
pub(super) fn overlapping(dataset: &Dataset, index: &[u64]) -> Error {
    Error::argument(format!("{}: index {index:?} is in two boxes", dataset.title()))
}

impl Origin<'_> {
    /// Appends `items` items from `item` on. The memory is reserved.
    #[inline]
    pub(super) fn append(&self, item: u64, items: usize, item_bytes: usize, out: &mut Vec<u8>) {
        match self {
            Self::Bytes(bytes) => {
                let start = to_usize(item) * item_bytes;
                out.extend_from_slice(&bytes[start..start + items * item_bytes]);
            }
            Self::Items(own) => {
                let end = out.len();
                out.resize(end + items * item_bytes, 0);
                own.gather(item, &mut out[end..]);
            }
        }
    }

    /// Copies items from `item` on, as many as fit.
    #[inline]
    pub(super) fn copy(&self, item: u64, item_bytes: usize, to: &mut [u8]) {
        match self {
            Self::Bytes(bytes) => {
                let start = to_usize(item) * item_bytes;
                copy_few(&bytes[start..start + to.len()], to);
            }
            // It was checked that all of them fit the type.
            Self::Items(items) => _ = items.gather(item, to),
        }
    }
}

/// A copy that is fast for few bytes, too.
#[inline]
fn copy_few(from: &[u8], to: &mut [u8]) {
    match (from, to) {
        (&[a, b, c, d], [x, y, z, w]) => (*x, *y, *z, *w) = (a, b, c, d),
        (&[a, b, c, d, e, f, g, h], to) => to.copy_from_slice(&[a, b, c, d, e, f, g, h]),
        (from, to) => to.copy_from_slice(from),
    }
}
