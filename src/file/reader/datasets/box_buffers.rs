//! The user's memory into which boxes of a dataset are read.

use crate::file::limits::Limits;
use crate::items::{DataMut, ItemsMut, Misfit, check_memories};
use scda_base::error::{Error, Result};
use scda_base::memory::{self, reserve, resize};
use scda_base::numbers::to_usize;
use scda_format::dataset::{CommonRun, DataType, IndexBox};

/// Memory for boxes, addressed as if the boxes followed one another, each in C order.
pub(super) enum BoxBuffers<'a> {
    /// The boxes follow one another.
    Packed(&'a mut [u8]),
    /// Each box has memory of its own.
    Boxes(SeparateBuffers<'a>),
}

/// Memory of its own for each box.
pub(super) struct SeparateBuffers<'a> {
    /// The offset and the items of each box.
    boxes: Vec<(u64, ItemsMut<'a>)>,
    /// The size of an item in the file.
    item_bytes: u64,
    /// Scattered or converted items are handled in steps of at most this many bytes.
    most: u64,
    /// Whether the numbers have another byte order in the file.
    is_swapped: bool,
    /// The bytes of one such step.
    batch: Vec<u8>,
}

impl<'a> BoxBuffers<'a> {
    /// Memory for boxes of items of this type in the file. The bytes of box i begin at `starts[i]`; the last
    /// number in `starts` is where all end.
    ///
    /// # Errors
    /// `Argument` for memory that does not fit them; `Range`; `Memory`.
    pub fn new(
        data: DataMut<'a>,
        regions: &[IndexBox],
        starts: &[u64],
        (data_type, is_swapped): (DataType, bool),
        limits: &Limits,
    ) -> Result<Self> {
        let bytes = starts[regions.len()];
        let memories = match data {
            DataMut::Packed(data) if data.len() as u64 == bytes => return Ok(Self::Packed(data)),
            DataMut::Packed(data) => {
                return Err(Error::argument(format!("data: found {} bytes, expected {bytes}", data.len())));
            }
            DataMut::Boxes(memories) => memories,
        };
        check_memories(memories.len(), regions)?;
        let mut boxes = Vec::new();
        reserve(&mut boxes, regions.len())?;
        for ((region, memory), &start) in regions.iter().zip(memories).zip(starts) {
            boxes.push((start, memory.items(&region.count, data_type)?));
        }
        let item_bytes = data_type.item_bytes();
        let most = limits.gathered(item_bytes);
        Ok(Self::Boxes(SeparateBuffers { boxes, item_bytes, most, is_swapped, batch: Vec::new() }))
    }

    /// The bytes of all boxes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Packed(data) => data.len() as u64,
            Self::Boxes(SeparateBuffers { boxes, .. }) => {
                boxes.last().map_or(0, |(start, items)| start + items.bytes())
            }
        }
    }

    /// Whether the items of some box do not follow one another in memory.
    pub fn is_separate(&self) -> bool {
        match self {
            Self::Packed(_) => false,
            Self::Boxes(SeparateBuffers { boxes, .. }) => !boxes.iter().all(|(_, items)| items.are_packed()),
        }
    }

    /// The memory of a run, if it is contiguous.
    pub fn slice(&mut self, run: CommonRun) -> Option<&mut [u8]> {
        match self {
            Self::Packed(data) => data.get_mut(to_usize(run.to)..to_usize(run.to + run.items)),
            Self::Boxes(SeparateBuffers { boxes, .. }) => {
                let (start, items) = at(boxes, run.to)?;
                items.packed()?.get_mut(to_usize(run.to - start)..to_usize(run.to - start + run.items))
            }
        }
    }

    /// Copies whole items of one box to their place.
    #[inline]
    pub fn put(&mut self, to: u64, bytes: &[u8]) {
        match self {
            Self::Packed(data) => data[to_usize(to)..to_usize(to) + bytes.len()].copy_from_slice(bytes),
            Self::Boxes(SeparateBuffers { boxes, item_bytes, is_swapped, .. }) => {
                if let Some((start, items)) = at(boxes, to) {
                    items.scatter((to - start) / *item_bytes, bytes, *is_swapped);
                }
            }
        }
    }

    /// Reads a run. `next` fills each step of it, and gets the offset of that step in the run.
    ///
    /// # Errors
    /// `Memory`; those of `next`.
    pub fn take(&mut self, run: CommonRun, mut next: impl FnMut(u64, &mut [u8]) -> Result<()>) -> Result<()> {
        if let Some(memory) = self.slice(run) {
            return next(0, memory);
        }
        let Self::Boxes(SeparateBuffers { most, batch, .. }) = self else { return Ok(()) };
        let (most, mut batch, mut done) = (*most, std::mem::take(batch), 0);
        while done < run.items {
            resize(&mut batch, most.min(run.items - done))?;
            next(done, &mut batch)?;
            self.put(run.to + done, &batch);
            done += batch.len() as u64;
        }
        if let Self::Boxes(apart) = self {
            apart.batch = batch;
        }
        Ok(())
    }

    /// The first item whose value does not fit the type in memory, and its box.
    pub fn misfit(&self) -> Option<(usize, &Misfit)> {
        let Self::Boxes(SeparateBuffers { boxes, .. }) = self else { return None };
        boxes.iter().enumerate().find_map(|(region, (_, items))| Some((region, items.misfit()?)))
    }

    /// Changes all bytes that were not converted, in place and in steps of whole items. `change` gets the
    /// offset of each step.
    ///
    /// # Errors
    /// `Memory`; those of `change`.
    pub fn change(&mut self, mut change: impl FnMut(u64, &mut [u8]) -> Result<()>) -> Result<()> {
        let (boxes, item_bytes, most) = match self {
            Self::Packed(data) => return change(0, data),
            Self::Boxes(SeparateBuffers { boxes, item_bytes, most, .. }) => (boxes, *item_bytes, *most),
        };
        let _temporary = memory::temporary();
        let mut batch = Vec::new();
        for (start, items) in boxes.iter_mut().filter(|(_, items)| !items.are_converted()) {
            let mut done = 0;
            while done < items.bytes() {
                resize(&mut batch, most.min(items.bytes() - done))?;
                items.as_items().gather(done / item_bytes, &mut batch);
                change(*start + done, &mut batch)?;
                items.scatter(done / item_bytes, &batch, false);
                done += batch.len() as u64;
            }
        }
        Ok(())
    }
}

/// The box that contains this byte, and where it begins.
fn at<'b, 'a>(boxes: &'b mut [(u64, ItemsMut<'a>)], byte: u64) -> Option<(u64, &'b mut ItemsMut<'a>)> {
    // Boxes without items begin where the next one does.
    let number = boxes.partition_point(|(start, _)| *start <= byte).checked_sub(1)?;
    boxes.get_mut(number).map(|(start, items)| (*start, items))
}
