//! The items that a rank passes, as they are in the file.

use super::Boxes;
use crate::file::limits::Limits;
use crate::file::writer::sections::too_large;
use crate::items::{Data, Items};
use scda_base::error::{Error, Result};
use scda_base::memory::{copy, reserve, resize};
use scda_base::numbers::to_usize;
use scda_codec::chunk::swap_items;
use scda_format::dataset::bools::{find_other_item, has_bools};
use scda_format::dataset::{Dataset, Layout, Region, does_not_fit};
use scda_format::layout::{self};
use std::borrow::Cow;

/// The items of this rank as they are written: compared with the regions, in little-endian order, and bools are 0 or 1.
pub(in crate::file::writer) enum Ready<'a> {
    /// One box after the other, each in C order.
    Packed(Cow<'a, [u8]>),
    /// Each box as it lies in memory.
    Boxes(Vec<Items<'a>>),
}

impl Ready<'_> {
    pub const NONE: Self = Self::Packed(Cow::Borrowed(&[]));
}

/// # Errors
/// `Argument` for another number of boxes than of regions, for memory that does not fit them, and for other bools; `Range`; `Memory`.
pub(super) fn ready<'a>(dataset: &Dataset, (regions, data): Boxes<'a>, limits: &Limits) -> Result<Ready<'a>> {
    let memories = match data {
        Data::Packed(data) => return Ok(Ready::Packed(little_endian(dataset, data)?)),
        Data::Boxes(memories) => memories,
    };
    if memories.len() != regions.len() {
        let words = format!("data: found memory for {} boxes, expected {}", memories.len(), regions.len());
        return Err(Error::argument(words));
    }
    let (mut boxes, mut bytes) = (Vec::new(), 0);
    reserve(&mut boxes, regions.len())?;
    for (number, (region, memory)) in regions.iter().zip(memories).enumerate() {
        dataset.check_region(number, region)?;
        let items = memory.items(&region.count, dataset.data_type)?;
        bytes = layout::sum(bytes, items.bytes()).ok_or_else(too_large)?;
        boxes.push(items);
    }
    if let [one] = &*boxes
        && let Some(data) = one.packed()
    {
        return Ok(Ready::Packed(little_endian(dataset, data)?));
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
        return Ok(Ready::Packed(Cow::Owned(data)));
    }
    let (mut piece, mut before) = (Vec::new(), 0);
    let is_bool = has_bools(dataset.data_type);
    let most = limits.gathered(dataset.data_type.item_bytes());
    for (items, region) in boxes.iter().zip(regions).filter(|(items, _)| is_bool || items.may_misfit()) {
        for start in (0..items.bytes()).step_by(to_usize(most)) {
            resize(&mut piece, most.min(items.bytes() - start))?;
            check_fit(dataset, region, items.gather_bytes(start, &mut piece))?;
            check_bools(dataset, &piece, before + start)?;
        }
        before += items.bytes();
    }
    Ok(Ready::Boxes(boxes))
}

/// An error for an item of a region that has no number of the type in the file.
fn check_fit(dataset: &Dataset, region: &Region, misfit: Option<u64>) -> Result<()> {
    misfit.map_or(Ok(()), |item| Err(does_not_fit(dataset, &region.index_of(item))))
}

/// The bytes of items in little-endian order. An error for bools that are neither 0 nor 1.
fn little_endian<'a>(dataset: &Dataset, data: &'a [u8]) -> Result<Cow<'a, [u8]>> {
    check_bools(dataset, data, 0)?;
    if cfg!(target_endian = "little") || !dataset.data_type.has_byte_order() {
        return Ok(Cow::Borrowed(data));
    }
    let mut swapped = copy(data)?;
    swap_items(&mut swapped, dataset.data_type);
    Ok(Cow::Owned(swapped))
}

/// An error for bools that are neither 0 nor 1, which others may take for either; `before` bytes are before `data`.
fn check_bools(dataset: &Dataset, data: &[u8], before: u64) -> Result<()> {
    find_other_item(dataset.data_type, data).map_or(Ok(()), |(place, byte)| {
        let place = before / dataset.data_type.item_bytes() + place as u64;
        Err(Error::argument(format!("data: found the bool {byte} at item {place}, expected 0 or 1")))
    })
}

/// Whether the chunks are elements of the compression convention.
pub(super) fn is_text(dataset: &Dataset) -> bool {
    matches!(dataset.layout, Layout::Chunked { text: true, .. })
}
