//! Boxes of datasets, as C passes them.

use super::guard;
use super::memory::{slice, slice_mut};
use super::types::{Described, scda_member_t};
use super::versioned::{self, versioned};
use crate::error::{Error, Result};
use crate::format::dataset::{DataType, Dataset, MAX_DIMENSIONS, Region};
use crate::format::layout::{product, sum};
use crate::items::{Data, DataMut, Memory, MemoryMut};
use crate::memory::reserve;
use crate::numbers::to_usize;
use std::borrow::Cow;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};

/// A box of a dataset, and where its items lie in memory: in C order (the last index varies fastest), or with a stride of its own for each
/// dimension, as in an array with ghost layers. Fill it by `scda_box_init`, then set what you need: at least `data`. What it points to
/// is used only during the call.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct scda_box {
    /// The size of this struct in bytes, as `scda_box_init` sets it. It may be that of an older or newer version; all boxes of a call have
    /// the same one.
    pub size: usize,
    /// The first item, in the machine's byte order, as all others. Writing: not changed. NULL (default): without `stride` the items lie behind
    /// those of the box before, if that has no `stride`, either; or there are none.
    pub data: *mut c_void,
    /// The first index of the box in each dimension. NULL (default): 0.
    pub start: *const u64,
    /// The number of indices of the box in each dimension; 0 is allowed. NULL (default): up to the end of the array.
    pub count: *const u64,
    /// The bytes from one index to the next in each dimension, which may be negative; 0 only when writing: then an item is written
    /// several times. NULL (default): the items lie in C order, without gaps.
    pub stride: *const i64,
    /// The number of indices in memory in each of `memory_ndims` dimensions, if they are others than in the dataset, such as those of a
    /// patch whose cells are one dimension of a dataset with all cells. Together as many as `count`. `stride` is then for
    /// these. NULL (default): as `count`.
    pub memory_shape: *const u64,
    /// The number of dimensions of `memory_shape`, up to `SCDA_MAX_DIMS`.
    pub memory_ndims: u64,
    /// The type of the items in memory: `SCDA_TYPE_FLOAT64`, ...; 0 (default): that of the dataset. Integers and floating-point numbers are
    /// converted to one another, and complex numbers: to the nearest floating-point number; to the integer part. A number that does not fit is
    /// `SCDA_ERR_RANGE`, and two types that cannot be converted are `SCDA_ERR_ARG`.
    pub r#type: c_int,
    /// Zero.
    pub reserved: c_int,
    /// The bytes of an item in memory, as in a dataset. 0 (default) where `type` says it.
    pub item_bytes: u64,
    /// With a `type` of times: their unit, as in a dataset. NULL (default): none.
    pub unit: *const c_char,
    /// With a `type` of structs: their members in memory, as in a dataset. Structs may have gaps; of those that are read, members may be
    /// left out, and each may have another type than in the file. NULL (default): none.
    pub members: *const scda_member_t,
}

/// A box of a dataset, and where its items lie in memory.
pub type scda_box_t = scda_box;

versioned!(scda_box_t, "box", "scda_box_init", defaults(), members: *const scda_member_t);

fn defaults() -> scda_box_t {
    let size = size_of::<scda_box_t>();
    scda_box_t {
        size,
        data: null_mut(),
        start: null(),
        count: null(),
        stride: null(),
        memory_shape: null(),
        memory_ndims: 0,
        r#type: 0,
        reserved: 0,
        item_bytes: 0,
        unit: null(),
        members: null(),
    }
}

/// Fills the box of a program that knows its first `size` bytes with the defaults: what `scda_box_init` calls.
///
/// Not collective.
///
/// @param [out] b    The box. Must not be NULL.
/// @param [in] size  The size of `*b` where the program was compiled, which it gets as its `size`.
/// @return           0, or a negative value for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scda_box_init_size(b: *mut scda_box_t, size: usize) -> c_int {
    // SAFETY: C passes NULL, or `size` bytes that may be written.
    guard(None, -1, || unsafe { versioned::init(b, size) })
}

/// The boxes of several datasets, one dataset after the other. Each list may be an error of this rank.
pub(super) struct Lists<'a> {
    nboxes: Result<Option<&'a [usize]>>,
    boxes: Result<Cow<'a, [scda_box_t]>>,
    /// The first one of the dataset that comes next.
    next: usize,
}

impl<'a> Lists<'a> {
    /// # Safety
    /// As of [`slice`], for `n` numbers, and as many boxes as these say in all, or `n`.
    pub unsafe fn new(n: usize, nboxes: *const usize, boxes: *const scda_box_t) -> Self {
        // SAFETY: the caller has a number for each dataset, or NULL.
        let nboxes = unsafe { each(nboxes, n, "nboxes") };
        let all = match &nboxes {
            Ok(Some(numbers)) => numbers.iter().try_fold(0, |all, &n| sum(all, n as u64)),
            Ok(None) => Some(n as u64),
            // Then nothing is looked at.
            Err(_) => Some(0),
        };
        let all = all.ok_or_else(|| Error::range("nboxes: the sum exceeds 63 bits"));
        // SAFETY: the caller has `all` boxes there.
        let boxes = all.and_then(|all| unsafe { versioned::read_all(boxes, all, "boxes") });
        Self { nboxes, boxes, next: 0 }
    }

    /// Those of the dataset of this number, which comes next.
    pub fn next(&mut self, index: usize) -> Result<&[scda_box_t]> {
        let numbers = self.nboxes.as_ref().map_err(Error::again)?;
        let boxes = self.boxes.as_ref().map_err(Error::again)?;
        let first = self.next;
        self.next += numbers.map_or(1, |numbers| numbers[index]);
        Ok(&boxes[first..self.next])
    }
}

/// What is passed for each of `n` datasets; `None` for NULL.
///
/// # Safety
/// As of [`slice`].
pub(super) unsafe fn each<'a, T>(pointer: *const T, n: usize, name: &str) -> Result<Option<&'a [T]>> {
    // SAFETY: the caller has `n` values there, if it is not NULL.
    (!pointer.is_null()).then(|| unsafe { slice(pointer, n as u64, name) }).transpose()
}

/// Boxes whose items follow one another in memory.
pub(super) struct Flat {
    regions: Vec<Region>,
    data: *mut u8,
    bytes: u64,
}

impl Flat {
    /// Boxes of an array, which lie in it, given by all their numbers.
    ///
    /// # Safety
    /// `start` and `count` are NULL, or a number for each box and dimension may be read there.
    pub unsafe fn new(
        dataset: &Dataset,
        data: *mut c_void,
        nboxes: usize,
        start: *const u64,
        count: *const u64,
    ) -> Result<Self> {
        let (shape, data) = (&dataset.shape, data.cast());
        if nboxes == 1 && start.is_null() && count.is_null() {
            return Ok(Self { regions: vec![Region::all(shape)], data, bytes: dataset.data_bytes()? });
        }
        let too_many = || Error::range(format!("nboxes: found {nboxes}, more than memory can hold"));
        let numbers = product(nboxes as u64, shape.len() as u64).ok_or_else(too_many)?;
        // SAFETY: the caller has a number for each box and dimension there.
        let starts = unsafe { slice(start, numbers, "start") }?;
        // SAFETY: the caller has a number for each box and dimension there.
        let counts = unsafe { slice(count, numbers, "count") }?;
        let (mut regions, mut bytes) = (Vec::new(), 0);
        reserve(&mut regions, nboxes)?;
        for index in 0..nboxes {
            let numbers = index * shape.len()..(index + 1) * shape.len();
            let region = Region::new(&starts[numbers.clone()], &counts[numbers]);
            bytes = add_bytes(dataset, index, &region, bytes)?;
            regions.push(region);
        }
        Ok(Self { regions, data, bytes })
    }

    /// The boxes without their items.
    pub fn regions(self) -> Vec<Region> {
        self.regions
    }

    /// As boxes whose items have this type in memory.
    pub fn of_type<'a>(self, dataset: &Dataset, data_type: DataType) -> Result<CBoxes<'a>> {
        if data_type == dataset.data_type {
            return Ok(CBoxes::Flat(self));
        }
        let (mut places, mut data) = (Vec::new(), self.data);
        reserve(&mut places, self.regions.len())?;
        for region in &self.regions {
            places.push(BoxMemory { data, stride: None, shape: None, data_type });
            let bytes = product(region.items()?, data_type.item_bytes()).ok_or_else(exceeds)?;
            data = if data.is_null() { data } else { data.wrapping_add(to_usize(bytes)) };
        }
        Ok(CBoxes::Apart(self.regions, places))
    }

    /// With their items.
    ///
    /// # Safety
    /// As of [`slice`].
    pub unsafe fn items<'a>(self) -> Result<(Vec<Region>, &'a [u8])> {
        // SAFETY: the caller has the items of the boxes.
        Ok((self.regions, unsafe { slice(self.data, self.bytes, "data") }?))
    }

    /// With room for their items.
    ///
    /// # Safety
    /// As of [`slice_mut`].
    pub unsafe fn room<'a>(self) -> Result<(Vec<Region>, &'a mut [u8])> {
        // SAFETY: the caller has room for the items of the boxes.
        Ok((self.regions, unsafe { slice_mut(self.data, self.bytes, "data") }?))
    }
}

/// The bytes of boxes with those of one more, which lies in the array: so nothing is read or written for numbers that are not meant.
fn add_bytes(dataset: &Dataset, index: usize, region: &Region, bytes: u64) -> Result<u64> {
    dataset.check_region(index, region)?;
    let more = region.items().ok().and_then(|items| product(items, dataset.data_type.item_bytes()));
    more.and_then(|more| sum(bytes, more)).ok_or_else(exceeds)
}

#[cold]
fn exceeds() -> Error {
    Error::range("boxes: the number of their bytes exceeds 63 bits")
}

/// Boxes of an array, which lie in it, and anywhere in memory.
pub(super) enum CBoxes<'a> {
    /// Their items follow one another.
    Flat(Flat),
    /// Each in a place of its own.
    Apart(Vec<Region>, Vec<BoxMemory<'a>>),
}

/// Where the items of a box lie, and what they are in memory.
pub(super) struct BoxMemory<'a> {
    data: *mut u8,
    stride: Option<&'a [i64]>,
    shape: Option<&'a [u64]>,
    data_type: DataType,
}

/// The type of the items of a box in memory.
///
/// # Safety
/// What the type points to may be read.
unsafe fn type_in_memory(one: &scda_box_t, default: DataType) -> Result<DataType> {
    let &scda_box_t { r#type: code, item_bytes, unit, members, .. } = one;
    match code {
        0 => Ok(default),
        // What is not said is that of the dataset.
        code if code == default.code() && members.is_null() && unit.is_null() && item_bytes == 0 => {
            Ok(default)
        }
        // SAFETY: as the caller promises.
        code => unsafe { Described { code, item_bytes, unit, members }.data_type() },
    }
}

/// The numbers of indices in memory, if they are others than those of the box.
///
/// # Safety
/// `memory_shape` is NULL, or has `memory_ndims` numbers that may be read.
unsafe fn memory_shape<'a>(one: &scda_box_t) -> Result<Option<&'a [u64]>> {
    if one.memory_shape.is_null() {
        return Ok(None);
    }
    if one.memory_ndims > MAX_DIMENSIONS as u64 {
        let words =
            format!("memory_ndims of a box: found {}, expected at most {MAX_DIMENSIONS}", one.memory_ndims);
        return Err(Error::argument(words));
    }
    // SAFETY: the caller has `memory_ndims` numbers there.
    unsafe { slice(one.memory_shape, one.memory_ndims, "memory_shape of a box") }.map(Some)
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
    /// # Safety
    /// A number for each dimension may be read where a box points to some. `in_memory` is the type of the items where a box names none.
    pub unsafe fn new(dataset: &Dataset, in_memory: DataType, boxes: &[scda_box_t]) -> Result<Self> {
        let dimensions = dataset.shape.len() as u64;
        let (mut regions, mut places) = (Vec::new(), Vec::new());
        reserve(&mut regions, boxes.len())?;
        reserve(&mut places, boxes.len())?;
        let (mut bytes, mut first, mut behind, mut is_flat) = (0, null_mut::<u8>(), None, true);
        for (index, one) in boxes.iter().enumerate() {
            if one.reserved != 0 {
                return Err(Error::argument(format!("reserved number of box {index}: it is not zero")));
            }
            let mut region = Region::all(&dataset.shape);
            if !one.start.is_null() {
                // SAFETY: not NULL, so C passes a number for each dimension.
                region.start.copy_from_slice(unsafe { slice(one.start, dimensions, "start of a box") }?);
                region.count.iter_mut().zip(&region.start).for_each(|(n, at)| *n = n.saturating_sub(*at));
            }
            if !one.count.is_null() {
                // SAFETY: not NULL, so C passes a number for each dimension.
                region.count.copy_from_slice(unsafe { slice(one.count, dimensions, "count of a box") }?);
            }
            // SAFETY: C passes members and a unit where the type needs them.
            let data_type = unsafe { type_in_memory(one, in_memory) }?;
            let all = add_bytes(dataset, index, &region, bytes)?;
            // In memory, an item may have another size.
            let own = product(region.items()?, data_type.item_bytes()).ok_or_else(exceeds)?;
            let before = bytes;
            bytes = all;
            regions.push(region);
            // SAFETY: not NULL, so C passes a number for each dimension.
            let shape = unsafe { memory_shape(one) }?;
            let strides = shape.map_or(dataset.shape.len(), <[u64]>::len);
            // SAFETY: not NULL, so C passes a number for each dimension.
            let stride = unsafe { each(one.stride, strides, "stride of a box") }?;
            let data = match (one.data.cast::<u8>(), stride, behind) {
                (data, None, Some(behind)) if data.is_null() => behind,
                (data, ..) if data.is_null() && bytes > before => {
                    let words = format!("data of box {index}: NULL instead of {} bytes", bytes - before);
                    return Err(Error::argument(words));
                }
                (data, ..) => data,
            };
            if bytes > before {
                let is_as_stored = stride.is_none() && data_type == dataset.data_type;
                is_flat = is_flat && is_as_stored && (first.is_null() || behind == Some(data));
                first = if first.is_null() { data } else { first };
            }
            behind = (stride.is_none() && !data.is_null()).then(|| data.wrapping_add(to_usize(own)));
            places.push(BoxMemory { data, stride, shape, data_type });
        }
        Ok(if is_flat {
            Self::Flat(Flat { regions, data: first, bytes })
        } else {
            Self::Apart(regions, places)
        })
    }

    /// With their items.
    ///
    /// # Safety
    /// The items of the boxes may be read there for the lifetime.
    pub unsafe fn items(self) -> Result<(Vec<Region>, CItems<'a>)> {
        let (regions, places) = match self {
            Self::Flat(flat) => {
                // SAFETY: the caller has the items of the boxes.
                let (regions, data) = unsafe { flat.items() }?;
                return Ok((regions, CItems::Packed(data)));
            }
            Self::Apart(regions, places) => (regions, places),
        };
        let memory = |place: BoxMemory<'a>| {
            // SAFETY: the caller has the items of the boxes.
            let memory = unsafe { Memory::at(place.data, place.stride) }.of_type(place.data_type);
            place.shape.map_or(memory, |shape| memory.shaped(shape))
        };
        Ok((regions, CItems::Boxes(places.into_iter().map(memory).collect())))
    }

    /// With room for their items.
    ///
    /// # Safety
    /// The items of the boxes may be written there for the lifetime, and are not reached otherwise.
    pub unsafe fn room(self) -> Result<(Vec<Region>, DataMut<'a>)> {
        let (regions, places) = match self {
            Self::Flat(flat) => {
                // SAFETY: the caller has room for the items of the boxes.
                let (regions, data) = unsafe { flat.room() }?;
                return Ok((regions, DataMut::Packed(data)));
            }
            Self::Apart(regions, places) => (regions, places),
        };
        let memory = |place: BoxMemory<'a>| {
            // SAFETY: the caller has room for the items of the boxes.
            let memory = unsafe { MemoryMut::at(place.data, place.stride) }.of_type(place.data_type);
            match place.shape {
                Some(shape) => memory.shaped(shape),
                None => memory,
            }
        };
        Ok((regions, DataMut::Boxes(places.into_iter().map(memory).collect())))
    }
}
