//! Boxes of datasets, in C's representation.

use super::guard;
use super::memory::{Room, Values, slice, slice_mut};
use super::pointers::Text;
use super::types::{CType, scda_member_t};
use super::versioned::{StructOut, Structs, versioned, zeros};
use scda::bindings::shape_in_memory;
use scda::{Data, DataMut, Memory, MemoryMut};
use scda_base::error::{Error, Result};
use scda_base::memory::reserve;
use scda_base::numbers::to_usize;
use scda_format::dataset::{DataType, Dataset, IndexBox, MAX_DIMENSIONS};
use scda_format::layout::{product, sum};
use std::borrow::Cow;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// A box of a dataset, and where its items are in memory: in C order (the last index varies fastest), or with
/// a stride for each dimension, as in an array with ghost layers. Fill it by `scda_box_init`, then set what
/// you need, at least `data`. What it points to is used only during the call.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct scda_box<'a> {
    /// The size of this struct in bytes, as `scda_box_init` sets it. It may be that of an older or newer
    /// version, the same for all boxes of a call.
    pub size: usize,
    /// The first item. All items have the machine's byte order. Not changed in writing. NULL (default):
    /// without `stride`, the items follow those of the previous box, if that has no `stride` either; or there
    /// are none.
    pub data: *mut c_void,
    /// The first index of the box in each dimension. NULL (default): 0.
    pub start: Values<'a, u64>,
    /// The number of indices of the box in each dimension; 0 is allowed. NULL (default): up to the end of the array.
    pub count: Values<'a, u64>,
    /// The distance in bytes from one index to the next in each dimension. It may be negative; 0 is allowed
    /// only in writing, which then writes an item several times. NULL (default): the items are in C order,
    /// without gaps.
    pub stride: Values<'a, i64>,
    /// The number of indices in memory in each of `memory_ndims` dimensions, if they differ from the
    /// dataset's, as for a patch whose cells are part of the only dimension of a dataset of all cells. Their
    /// product is that of `count`, unless there are no items. `stride` then has these dimensions. NULL
    /// (default): as `count`.
    pub memory_shape: Values<'a, u64>,
    /// The number of dimensions of `memory_shape`, up to `SCDA_MAX_DIMS`.
    pub memory_ndims: u64,
    /// The type of the items in memory: `SCDA_TYPE_FLOAT64`, ...; 0 (default): that of the dataset. Integers
    /// and floating-point numbers are converted to one another, and complex numbers to one another.
    /// Conversion to floating-point numbers rounds to the nearest one, conversion to integers truncates. A
    /// number that does not fit is `SCDA_ERR_RANGE`; types that cannot be converted are `SCDA_ERR_ARG`.
    pub r#type: c_int,
    /// Zero.
    pub reserved: c_int,
    /// The size of an item in memory, as in a dataset. 0 (default) if `type` determines it.
    pub item_bytes: u64,
    /// If `type` is a type of times, their unit, as in a dataset. NULL (default): none.
    pub unit: Text<'a>,
    /// If `type` is a struct, its members in memory, as in a dataset. Structs may have gaps. In reading,
    /// members may be left out, and each may have another type than in the file, but an array has as many
    /// items as there. NULL (default): none.
    pub members: Values<'a, scda_member_t<'a>>,
}

/// A box of a dataset, and where its items are in memory.
pub type scda_box_t<'a> = scda_box<'a>;

versioned!(scda_box_t<'_>, "box", "scda_box_init", zeros(), members: Values<'_, scda_member_t<'_>>);

/// Fills a box with the defaults, for a program that knows its first `size` bytes; `scda_box_init` calls it.
///
/// Not collective.
///
/// @param [out] b    The box. Must not be NULL.
/// @param [in] size  The size of `*b` when the program was compiled, which is stored in its `size`.
/// @return           0, or a negative value for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_box_init_size(b: StructOut<'_, scda_box_t>, size: usize) -> c_int {
    guard(None, -1, || b.init(size))
}

/// The boxes of several datasets, one dataset after the other. Each list may be an error of this rank.
pub(super) struct BoxLists<'a> {
    nboxes: Result<Option<&'a [usize]>>,
    boxes: Result<Cow<'a, [scda_box_t<'a>]>>,
    /// The first box of the next dataset.
    next: usize,
}

impl<'a> BoxLists<'a> {
    /// `nboxes` has `n` numbers, whose sum is the number of boxes; NULL: one box each.
    pub fn new(n: usize, nboxes: Values<'a, usize>, boxes: Structs<'a, scda_box_t<'a>>) -> Self {
        let nboxes = nboxes.optional(n as u64, "nboxes");
        let all = match &nboxes {
            Ok(Some(numbers)) => numbers.iter().try_fold(0, |all, &n| sum(all, n as u64)),
            Ok(None) => Some(n as u64),
            // An error is returned without reading any box.
            Err(_) => Some(0),
        };
        let all = all.ok_or_else(|| Error::range("nboxes: the sum exceeds 63 bits"));
        let boxes = all.and_then(|all| boxes.read(all, "boxes"));
        Self { nboxes, boxes, next: 0 }
    }

    /// The boxes of the dataset with this number, which must be the next one.
    pub fn next(&mut self, index: usize) -> Result<&[scda_box_t<'a>]> {
        let numbers = self.nboxes.as_ref().map_err(Error::again)?;
        let boxes = self.boxes.as_ref().map_err(Error::again)?;
        let first = self.next;
        self.next += numbers.map_or(1, |numbers| numbers[index]);
        Ok(&boxes[first..self.next])
    }
}

/// Boxes whose items are consecutive in memory.
pub(super) struct PackedBoxes {
    pub regions: Vec<IndexBox>,
    /// The bytes of all items.
    pub bytes: u64,
}

impl PackedBoxes {
    /// Boxes within an array, from one number for each box and dimension.
    pub fn new(
        dataset: &Dataset,
        nboxes: usize,
        start: Values<'_, u64>,
        count: Values<'_, u64>,
    ) -> Result<Self> {
        let shape = &dataset.shape;
        if nboxes == 1 && start.is_null() && count.is_null() {
            return Ok(Self { regions: vec![IndexBox::all(shape)], bytes: dataset.data_bytes()? });
        }
        let too_many = || Error::range(format!("nboxes: found {nboxes}, more than memory can hold"));
        let numbers = product(nboxes as u64, shape.len() as u64).ok_or_else(too_many)?;
        let (starts, counts) = (start.get(numbers, "start")?, count.get(numbers, "count")?);
        let (mut regions, mut bytes) = (Vec::new(), 0);
        reserve(&mut regions, nboxes)?;
        for index in 0..nboxes {
            let numbers = index * shape.len()..(index + 1) * shape.len();
            let region = IndexBox::new(&starts[numbers.clone()], &counts[numbers]);
            bytes = add_bytes(dataset, index, &region, bytes)?;
            regions.push(region);
        }
        Ok(Self { regions, bytes })
    }

    /// From these boxes, which are within the array.
    pub fn of(dataset: &Dataset, regions: Vec<IndexBox>) -> Result<Self> {
        let boxes = regions.iter().enumerate();
        let bytes =
            boxes.clone().try_fold(0, |bytes, (index, region)| add_bytes(dataset, index, region, bytes))?;
        Ok(Self { regions, bytes })
    }

    /// The boxes with their items, which have this type in memory.
    pub fn items<'a>(
        self,
        data: Values<'a, c_void>,
        dataset: &Dataset,
        data_type: DataType,
    ) -> Result<(Vec<IndexBox>, CItems<'a>)> {
        if data_type == dataset.data_type {
            return Ok((self.regions, CItems::Packed(data.bytes(self.bytes)?)));
        }
        let (mut memories, mut data) = (Vec::new(), data.pointer().cast::<u8>());
        reserve(&mut memories, self.regions.len())?;
        for region in &self.regions {
            // SAFETY: C passes the items of the boxes.
            memories.push(unsafe { Memory::at(data, None) }.of_type(data_type));
            let bytes = product(region.items()?, data_type.item_bytes()).ok_or_else(exceeds)?;
            data = if data.is_null() { data } else { data.wrapping_add(to_usize(bytes)) };
        }
        Ok((self.regions, CItems::Boxes(memories)))
    }
}

impl PackedBoxes {
    /// The boxes with room for their items, which have this type in memory.
    pub fn room<'a>(
        self,
        data: Room<'a, c_void>,
        dataset: &Dataset,
        data_type: DataType,
    ) -> Result<(Vec<IndexBox>, DataMut<'a>)> {
        if data_type == dataset.data_type {
            return Ok((self.regions, DataMut::Packed(data.bytes(self.bytes)?)));
        }
        let bytes_of =
            |region: &IndexBox| product(region.items()?, data_type.item_bytes()).ok_or_else(exceeds);
        let all =
            self.regions.iter().try_fold(0, |all, region| sum(all, bytes_of(region)?).ok_or_else(exceeds))?;
        let (mut memories, mut rest) = (Vec::new(), data.bytes(all)?);
        reserve(&mut memories, self.regions.len())?;
        for region in &self.regions {
            let (own, more) = rest.split_at_mut(to_usize(bytes_of(region)?));
            memories.push(MemoryMut::packed(own).of_type(data_type));
            rest = more;
        }
        Ok((self.regions, DataMut::Boxes(memories)))
    }
}

/// Adds the bytes of one more box, after checking that it is within the array, so that wrong numbers cause no
/// access to memory.
fn add_bytes(dataset: &Dataset, index: usize, region: &IndexBox, bytes: u64) -> Result<u64> {
    dataset.check_region(index, region)?;
    let more = region.items().ok().and_then(|items| product(items, dataset.data_type.item_bytes()));
    more.and_then(|more| sum(bytes, more)).ok_or_else(exceeds)
}

#[cold]
fn exceeds() -> Error {
    Error::range("boxes: the number of their bytes exceeds 63 bits")
}

/// Boxes within an array, anywhere in memory.
pub(super) enum CBoxes<'a> {
    /// The items are consecutive in memory.
    PackedBoxes { regions: Vec<IndexBox>, data: *mut u8, bytes: u64 },
    /// Each box has memory of its own.
    Apart(Vec<IndexBox>, Vec<BoxMemory<'a>>),
}

/// Where the items of a box are, and their type in memory.
pub(super) struct BoxMemory<'a> {
    data: *mut u8,
    stride: Option<&'a [i64]>,
    shape: Option<&'a [u64]>,
    data_type: DataType,
}

impl<'a> BoxMemory<'a> {
    fn items(self) -> Memory<'a> {
        // SAFETY: C passes the items of the box.
        let memory = unsafe { Memory::at(self.data, self.stride) }.of_type(self.data_type);
        self.shape.map_or(memory, |shape| memory.shaped(shape))
    }

    fn room(self) -> MemoryMut<'a> {
        // SAFETY: C passes room for the items of the box, which no other box uses.
        let memory = unsafe { MemoryMut::at(self.data, self.stride) }.of_type(self.data_type);
        match self.shape {
            Some(shape) => memory.shaped(shape),
            None => memory,
        }
    }
}

/// The type of the items of a box in memory.
fn type_in_memory(one: &scda_box_t<'_>, default: DataType) -> Result<DataType> {
    let &scda_box_t { r#type: code, item_bytes, unit, members, .. } = one;
    match code {
        0 => Ok(default),
        // A box that does not specify the type uses the dataset's.
        code if code == default.code() && members.is_null() && unit.is_null() && item_bytes == 0 => {
            Ok(default)
        }
        code => CType { code, item_bytes, unit, members }.data_type(),
    }
}

/// The shape in memory, if it differs from the box's.
fn memory_shape<'a>(one: &scda_box_t<'a>) -> Result<Option<&'a [u64]>> {
    if !one.memory_shape.is_null() && one.memory_ndims > MAX_DIMENSIONS as u64 {
        let words =
            format!("memory_ndims of a box: found {}, expected at most {MAX_DIMENSIONS}", one.memory_ndims);
        return Err(Error::argument(words));
    }
    one.memory_shape.optional(one.memory_ndims, "memory_shape of a box")
}

/// The items of boxes.
pub(super) enum CItems<'a> {
    Packed(&'a [u8]),
    Boxes(Vec<Memory<'a>>),
}

impl CItems<'_> {
    pub fn borrowed(&self) -> Data<'_> {
        match self {
            Self::Packed(data) => Data::Packed(data),
            Self::Boxes(memories) => Data::Boxes(memories),
        }
    }
}

impl<'a> CBoxes<'a> {
    /// Boxes whose items have the type `in_memory`, unless a box specifies another one.
    pub fn new(dataset: &Dataset, in_memory: DataType, boxes: &[scda_box_t<'a>]) -> Result<Self> {
        let dimensions = dataset.shape.len() as u64;
        let (mut regions, mut places) = (Vec::new(), Vec::new());
        reserve(&mut regions, boxes.len())?;
        reserve(&mut places, boxes.len())?;
        let (mut bytes, mut first, mut after, mut is_flat) = (0, null_mut::<u8>(), None, true);
        for (index, one) in boxes.iter().enumerate() {
            if one.reserved != 0 {
                return Err(Error::argument(format!(
                    "reserved member of box {index}: found a nonzero value, expected 0"
                )));
            }
            let mut region = IndexBox::all(&dataset.shape);
            if let Some(start) = one.start.optional(dimensions, "start of a box")? {
                region.start.copy_from_slice(start);
                region.count.iter_mut().zip(&region.start).for_each(|(n, at)| *n = n.saturating_sub(*at));
            }
            if let Some(count) = one.count.optional(dimensions, "count of a box")? {
                region.count.copy_from_slice(count);
            }
            let data_type = type_in_memory(one, in_memory)?;
            let all = add_bytes(dataset, index, &region, bytes)?;
            // An item may have another size in memory.
            let own = product(region.items()?, data_type.item_bytes()).ok_or_else(exceeds)?;
            let before = bytes;
            bytes = all;
            let has_items = bytes > before;
            let shape = memory_shape(one)?;
            let strides = shape.map_or(dataset.shape.len(), <[u64]>::len) as u64;
            // A box without items needs no memory.
            let shape = shape.filter(|_| has_items);
            shape_in_memory(shape, &region.count)
                .map_err(|error| Error::argument(format!("box {index}: {error}")))?;
            regions.push(region);
            let stride = one.stride.optional(strides, "stride of a box")?;
            let data = match (one.data.cast::<u8>(), stride, after) {
                (data, None, Some(after)) if data.is_null() => after,
                (data, ..) if data.is_null() && has_items => {
                    let words = format!("data of box {index}: NULL instead of {} bytes", bytes - before);
                    return Err(Error::argument(words));
                }
                (data, ..) => data,
            };
            if has_items {
                let is_as_stored = stride.is_none() && data_type == dataset.data_type;
                is_flat = is_flat && is_as_stored && (first.is_null() || after == Some(data));
                first = if first.is_null() { data } else { first };
            }
            after = (stride.is_none() && !data.is_null()).then(|| data.wrapping_add(to_usize(own)));
            places.push(BoxMemory { data, stride: stride.filter(|_| has_items), shape, data_type });
        }
        Ok(if is_flat {
            Self::PackedBoxes { regions, data: first, bytes }
        } else {
            Self::Apart(regions, places)
        })
    }

    /// The boxes with their items.
    pub fn items(self) -> Result<(Vec<IndexBox>, CItems<'a>)> {
        Ok(match self {
            Self::PackedBoxes { regions, data, bytes } => {
                // SAFETY: C passes the items of the boxes.
                (regions, CItems::Packed(unsafe { slice(data, bytes, "data") }?))
            }
            Self::Apart(regions, places) => {
                (regions, CItems::Boxes(places.into_iter().map(BoxMemory::items).collect()))
            }
        })
    }

    /// The boxes with room for their items.
    pub fn room(self) -> Result<(Vec<IndexBox>, DataMut<'a>)> {
        Ok(match self {
            Self::PackedBoxes { regions, data, bytes } => {
                // SAFETY: C passes room for the items of the boxes.
                (regions, DataMut::Packed(unsafe { slice_mut(data, bytes, "data") }?))
            }
            Self::Apart(regions, places) => {
                (regions, DataMut::Boxes(places.into_iter().map(BoxMemory::room).collect()))
            }
        })
    }
}
